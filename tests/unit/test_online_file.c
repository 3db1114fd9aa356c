/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners as files: one that is loaded goes on to the bytes of one that was never saved; the file is a head
 * too; files that are cut or damaged are refused; failures leave nothing. */
#include "chunks_of.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "pipeline/options.h"

#include "learn/online/online_chunks.h"
#include "fixtures/tensors.h"

static void same_floats(const float *a, const float *b, size_t n)
{
    assert_true((a == NULL) == (b == NULL));
    if (a)
        assert_memory_equal(a, b, n * sizeof *a);
}

static void same_learners(const tn_online *a, const tn_online *b)
{
    const tnp_online *x = a->learner, *y = b->learner;
    size_t n = x->shape.classes * x->width;
    assert_true(x->shape.scheme == y->shape.scheme && x->shape.average == y->shape.average);
    assert_true(x->shape.bias == y->shape.bias && x->shape.classes == y->shape.classes && x->width == y->width);
    assert_true(x->rule.kind == y->rule.kind && x->rule.cost == y->rule.cost && x->rule.phi == y->rule.phi);
    same_floats(x->mu, y->mu, n);
    same_floats(x->u, y->u, n);
    same_floats(x->sigma, y->sigma, n);
    assert_true(x->seen == y->seen && x->updates == y->updates && x->mistakes == y->mistakes);
    assert_true(a->seed == b->seed && a->nan == b->nan && a->expectations == b->expectations);
    assert_true((a->negatives == NULL) == (b->negatives == NULL));
    assert_true(tnp_heads_alike(a->head, b->head));
    assert_string_equal(a->head->options, b->head->options);
}

static tn_online *saved_and_loaded(const tn_online *o)
{
    tn_online *twin = NULL;
    assert_fine(test_ctx, tn_online_save(test_ctx, o, "test", file_path("learner.safetensors")));
    assert_fine(test_ctx, tn_online_load(test_ctx, file_path("learner.safetensors"), &twin));
    return twin;
}

static void check_going_on(const rows *r, const chunk *list, size_t count, const tnp_fit_options *opt)
{
    tn_online *never = learner_of(r, opt), *often = learner_of(r, opt);
    tn_head *now = NULL, *file = NULL;
    if (opt->online.multiclass >= TNP_ONLINE_E_OVR) {
        expect_all(never, r);
        expect_all(often, r);
    }
    for (size_t i = 0; i < count; ++i) {
        assert_fine(test_ctx, update(never, &list[i], NULL));
        assert_fine(test_ctx, update(often, &list[i], NULL));
        tn_online *twin = saved_and_loaded(often);
        same_learners(twin, often);
        tn_online_free(often);
        often = twin;
    }
    same_learners(never, often);
    assert_fine(test_ctx, tn_online_head(test_ctx, never, &now));
    assert_fine(test_ctx, tn_head_load(test_ctx, file_path("learner.safetensors"), &file));
    assert_memory_equal(now->weight, file->weight, CLASSES * WIDE * sizeof *now->weight);
    assert_memory_equal(now->bias, file->bias, CLASSES * sizeof *now->bias);
    assert_string_equal(now->options, file->options);
    tn_head_free(now);
    tn_head_free(file);
    tn_online_free(never);
    tn_online_free(often);
}

static void a_learner_that_is_saved_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
        rows r = rows_of((tn_task)task);
        size_t count = 0;
        chunk *list = cut(&r, 30, 60, &count);
        for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method) {
            tnp_fit_options opt = online_of(method, method % 4);
            opt.online.no_average = method % 5 == 0;
            opt.rank.evidence.intercept = method % 3 != 0;
            opt.rank.nan = method % 3;
            opt.rank.seed = SIZE_MAX - (size_t)method; /* all 64 bits */
            check_going_on(&r, list, count, &opt);
        }
        cut_free(list, count);
        rows_free(&r);
    }
}

/* What it was told to expect, maps and further classes are kept as well. */
static void all_of_the_object_is_kept(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    const char *const more[] = {"sixth", "seventh"};
    chunk half = chunk_of(&r, 0, 75), rest = chunk_of(&r, 75, 75);
    tnp_fit_options opt = online_of(TNP_METHOD_AROW, TNP_ONLINE_E_OVR);
    opt.rank.transform = "js";
    tn_online *o = learner_of(&r, &opt);
    expect_all(o, &r);
    assert_fine(test_ctx, update(o, &half, NULL));
    tn_online *twin = saved_and_loaded(o);
    assert_fine(test_ctx, update(o, &rest, NULL));
    assert_fine(test_ctx, update(twin, &rest, NULL));
    same_learners(o, twin);
    assert_memory_equal(&o->negatives->rng, &twin->negatives->rng, sizeof twin->negatives->rng);
    assert_fails(test_ctx, TN_ERR_DATA, "are left of those expected", update(twin, &rest, NULL));
    for (int i = 0; i < 2; ++i) { /* the next pass of draws is another one in both */
        tn_online *of = i ? twin : o;
        size_t positives[CLASSES + 2] = {30, 30, 30, 30, 30, 10, 10};
        assert_fine(test_ctx, tn_online_add_classes(test_ctx, of, more, 2));
        assert_fine(test_ctx, tn_online_expect(test_ctx, of, 200, positives));
        assert_fine(test_ctx, update(of, &half, NULL));
    }
    same_learners(o, twin);
    tn_online_free(twin);
    twin = saved_and_loaded(o);
    assert_string_equal(tn_online_class_names(twin)[CLASSES + 1], "seventh");
    tn_online_free(twin);
    tn_online_free(o);
    chunk_free(&half);
    chunk_free(&rest);
    rows_free(&r);
}

/* ---- files that are none ---- */

static tn_online *small(const rows *r)
{
    tnp_fit_options opt = online_of(TNP_METHOD_SCW, TNP_ONLINE_W_OVR);
    tn_online *o = learner_of(r, &opt);
    expect_all(o, r);
    assert_fine(test_ctx, update(o, &r->whole, NULL));
    return o;
}

/* Writes value `place` of a tensor of the file anew. */
static void change(const unsigned char *whole, size_t size, const char *tensor, size_t place, double value, bool wide)
{
    char type[8];
    size_t shape[2], range[2], length = 0;
    unsigned char *copy = ref_alloc(size + 1, 1);
    memcpy(copy, whole, size);
    for (int i = 0; i < 8; ++i)
        length |= (size_t)copy[i] << (8 * i);
    char *header = ref_alloc(length + 1, 1);
    memcpy(header, copy + 8, length);
    assert_true(tensor_entry(header, tensor, type, shape, range));
    float narrow = (float)value;
    memcpy(copy + 8 + length + range[0] + place * (wide ? 8 : 4), wide ? (const void *)&value : (const void *)&narrow,
           wide ? 8 : 4);
    write_file("changed.safetensors", copy, size);
    free(header);
    free(copy);
}

static void files_that_are_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        size_t place;
        double value;
        bool wide;
        const char *message;
    } cases[] = {
        {"online.settings", 0, 9, true, "settings"},   {"online.settings", 1, 4, true, "settings"},
        {"online.settings", 1, 0.5, true, "settings"}, {"online.settings", 2, 2, true, "settings"},
        {"online.settings", 4, 3, true, "settings"},   {"online.settings", 5, 0, true, "settings"},
        {"online.settings", 6, 1, true, "settings"},   {"online.settings", 7, -1, true, "settings"},
        {"online.settings", 8, NAN, true, "finite"},   {"online.counts", 0, -1, true, "counts or variances"},
        {"online.counts", 2, 1e300, true, "counts"},   {"online.seed", 1, 0x1p32, true, "counts"},
        {"online.draws", 0, 1.5, true, "counts"},      {"online.draws", 1, 151, true, "counts"},
        {"online.draws", 9, -1, true, "counts"},       {"online.expected", 0, 151, true, "counts"},
        {"online.expected", 1, 151, true, "counts"},   {"online.expected", 2, 1e9, true, "counts"},
        {"online.mu", 3, INFINITY, false, "finite"},   {"online.u", 3, NAN, false, "finite"},
        {"online.sigma", 3, 1.5, false, "variances"},  {"online.sigma", 0, -0.5, false, "variances"},
    };
    rows r = rows_of(TN_TASK_MULTICLASS);
    tn_online *o = small(&r), *twin = NULL;
    size_t size = 0, blocks;
    assert_fine(test_ctx, tn_online_save(test_ctx, o, NULL, file_path("learner.safetensors")));
    unsigned char *whole = read_whole(file_path("learner.safetensors"), &size);
    blocks = tnp_live_blocks(test_ctx);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        change(whole, size, cases[i].tensor, cases[i].place, cases[i].value, cases[i].wide);
        assert_fails(test_ctx, TN_ERR_FORMAT, cases[i].message,
                     tn_online_load(test_ctx, file_path("changed.safetensors"), &twin));
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    for (size_t cut_at = 0; cut_at < size; cut_at += 1 + size / 60) {
        write_file("changed.safetensors", whole, cut_at);
        assert_int_equal(tn_online_load(test_ctx, file_path("changed.safetensors"), &twin), TN_ERR_FORMAT);
    }
    tn_head *head = NULL;
    assert_fine(test_ctx, tn_online_head(test_ctx, o, &head));
    assert_fine(test_ctx, tn_head_save(test_ctx, head, NULL, file_path("head.safetensors")));
    assert_fails(test_ctx, TN_ERR_FORMAT, "a head without the state of a learner",
                 tn_online_load(test_ctx, file_path("head.safetensors"), &twin));
    assert_fails(test_ctx, TN_ERR_IO, "none.safetensors",
                 tn_online_load(test_ctx, file_path("none.safetensors"), &twin));
    tn_head_free(head);
    free(whole);
    tn_online_free(o);
    rows_free(&r);
}

static void every_allocation_and_call_may_fail(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    tn_online *o = small(&r), *const untouched = (tn_online *)test_folder;
    const char *path = "kept.safetensors";
    assert_fine(test_ctx, tn_online_save(test_ctx, o, NULL, file_path(path)));
    for (int io = 0; io < 2; ++io)
        for (int loading = 0; loading < 2; ++loading) {
            void (*fail_at)(tn_ctx *, size_t) = io ? tnp_fail_io : tnp_fail_allocation;
            size_t blocks = tnp_live_blocks(test_ctx), k = 1;
            for (;; ++k) {
                tn_online *twin = untouched;
                fail_at(test_ctx, k);
                tn_status st = loading ? tn_online_load(test_ctx, file_path(path), &twin)
                                       : tn_online_save(test_ctx, o, NULL, file_path(path));
                fail_at(test_ctx, 0);
                if (st == TN_OK && loading)
                    tn_online_free(twin);
                if (st == TN_OK)
                    break;
                assert_int_equal(st, !io ? TN_ERR_MEMORY : loading ? TN_ERR_IO : TN_ERR_OUTPUT);
                assert_ptr_equal(twin, untouched);
                assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            }
            assert_true(k > 3);
        }
    tn_online_free(o);
    rows_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_learner_that_is_saved_goes_on_to_the_same_bytes),
        cmocka_unit_test(all_of_the_object_is_kept),
        cmocka_unit_test(files_that_are_damaged),
        cmocka_unit_test(every_allocation_and_call_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
