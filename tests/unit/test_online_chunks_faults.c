/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners that are given chunks: what is refused, and what becomes of the object when a chunk fails or is
 * cancelled, before and after its first row. */
#include "chunks_of.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "pipeline/options.h"

#include "interrupt.h"
#include "learn/online/online_chunks.h"

/* ---- what is refused ---- */

static tn_status try_new(const rows *r, const tnp_fit_options *opt)
{
    tn_online *o = NULL;
    tn_status st = tnp_online_begin(test_ctx, opt, r->task, (const char *const *)r->whole.labels->names, CLASSES, &o);
    assert_true(st != TN_OK && !o);
    return st;
}

static void what_needs_all_rows_is_refused(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    tn_online *o = NULL;
    const char *const twice[] = {"x", "x"}, *const empty[] = {"x", ""};
    const tnp_fit_options fine = online_of(TNP_METHOD_PA, TNP_ONLINE_MUL);
    const tnp_valid valid = {features_in(&r.whole), REPS, r.whole.labels};
    tnp_fit_options opt = fine;
    opt.learn.class_weight = TNP_WEIGHT_BALANCED;
    assert_fails(test_ctx, TN_ERR_ARG, "needs the size of every class before the first row", try_new(&r, &opt));
    opt = fine;
    opt.rank.normalize = "zscore";
    assert_fails(test_ctx, TN_ERR_ARG, "needs the means and deviations of all rows", try_new(&r, &opt));
    opt.rank.normalize = "l2,root";
    assert_fails(test_ctx, TN_ERR_ARG, "expected one word each", try_new(&r, &opt));
    opt = fine;
    opt.online.tune = true;
    assert_fails(test_ctx, TN_ERR_ARG, "choose between passes", try_new(&r, &opt));
    opt = fine;
    opt.valid = valid;
    assert_fails(test_ctx, TN_ERR_ARG, "choose between passes", try_new(&r, &opt));
    opt = fine;
    opt.online.checkpoint = "x";
    assert_fails(test_ctx, TN_ERR_ARG, "call tn_online_save", try_new(&r, &opt));
    opt = fine;
    opt.method = TNP_METHOD_SVM;
    assert_fails(test_ctx, TN_ERR_ARG, "method svm learns from all rows at once", try_new(&r, &opt));
    assert_fails(test_ctx, TN_ERR_ARG, "got task regression",
                 tnp_online_begin(test_ctx, &fine, TN_TASK_REGRESSION, twice, 2, &o));
    assert_fails(test_ctx, TN_ERR_ARG, "two classes are called 'x'",
                 tnp_online_begin(test_ctx, &fine, TN_TASK_MULTICLASS, twice, 2, &o));
    assert_fails(test_ctx, TN_ERR_ARG, "the name of class 1 is empty",
                 tnp_online_begin(test_ctx, &fine, TN_TASK_MULTICLASS, empty, 2, &o));
    rows_free(&r);
}

/* Draws go by counts that must be known: none, too few of a class, too few rows. Nothing was learned by then. */
static void draws_need_to_know_what_comes(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    for (int multiclass = TNP_ONLINE_E_OVR; multiclass <= TNP_ONLINE_W_OVR; ++multiclass) {
        tnp_fit_options opt = online_of(TNP_METHOD_PA, multiclass);
        tn_online *o = learner_of(&r, &opt);
        size_t many[CLASSES] = {100, 100, 100, 100, 100}, few[CLASSES] = {100, 1, 100, 100, 100};
        assert_fails(test_ctx, TN_ERR_ARG, "call tn_online_expect", update(o, &r.whole, NULL));
        assert_fails(test_ctx, TN_ERR_ARG, "100 rows of class 'class0' are expected among 99",
                     tn_online_expect(test_ctx, o, 99, many));
        assert_fine(test_ctx, tn_online_expect(test_ctx, o, 149, many));
        assert_fails(test_ctx, TN_ERR_DATA, "150 rows", update(o, &r.whole, NULL));
        assert_fine(test_ctx, tn_online_expect(test_ctx, o, 1000, few));
        assert_fails(test_ctx, TN_ERR_DATA, "of class 'class1', but 1000 and 1 are left", update(o, &r.whole, NULL));
        assert_int_equal(tn_online_samples(o), 0);
        expect_all(o, &r);
        assert_fine(test_ctx, update(o, &r.whole, NULL));
        assert_fails(test_ctx, TN_ERR_DATA, "but 0 and 0 are left", update(o, &r.whole, NULL));
        assert_int_equal(tn_online_samples(o), ROWS);
        expect_all(o, &r); /* another pass */
        assert_fine(test_ctx, update(o, &r.whole, NULL));
        tn_online_free(o);
    }
    rows_free(&r);
}

static void chunks_that_do_not_belong(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS), other = rows_of(TN_TASK_MULTILABEL);
    chunk part = chunk_of(&r, 3, 40);
    const tn_features *wrong[] = {part.features[0], part.features[0]}, *const wide[] = {part.features[1], NULL};
    float weights[ROWS] = {0};
    tnp_fit_options opt = online_of(TNP_METHOD_PA, TNP_ONLINE_MUL);
    tn_head *head = NULL;
    tn_online *o = NULL;
    assert_fine(test_ctx, tnp_online_begin(test_ctx, &opt, r.task, NULL, 0, &o));
    assert_fails(test_ctx, TN_ERR_DATA, "0 classes, expected at least 2", update(o, &part, NULL));
    tn_online_free(o);
    o = learner_of(&r, &opt);
    assert_fails(test_ctx, TN_ERR_DATA, "no row was learned yet", tn_online_head(test_ctx, o, &head));
    assert_fails(test_ctx, TN_ERR_DATA, "multilabel labels", update(o, &other.whole, NULL));
    assert_fails(test_ctx, TN_ERR_SHAPE, "150 rows",
                 tn_online_update(test_ctx, o, features_in(&r.whole), REPS, part.labels));
    assert_fails(test_ctx, TN_ERR_ARG, "both named 'a'", tn_online_update(test_ctx, o, wrong, REPS, part.labels));
    weights[20] = -1;
    assert_fails(test_ctx, TN_ERR_DATA, "the weight of row 17 is -1", update(o, &part, weights));
    assert_int_equal(tn_online_samples(o), 0);
    assert_null(o->learner);
    assert_fine(test_ctx, update(o, &part, NULL));
    assert_fails(test_ctx, TN_ERR_ARG, "needs a representation named 'a'",
                 tn_online_update(test_ctx, o, wide, 1, part.labels));
    assert_int_equal(tn_online_samples(o), 40);
    assert_fine(test_ctx, tn_online_head(test_ctx, o, &head));
    tn_head_free(head);
    tn_online_free(o);
    chunk_free(&part);
    rows_free(&r);
    rows_free(&other);
}

static void note_warning(void *user, const char *text)
{
    *(size_t *)user += strstr(text, "a column's mean has more than 128 deviations") != NULL;
}

/* A centre would go by the chunk: it is not taken, and that is said once. */
static void far_columns_are_told_of(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    size_t warnings = 0, count = 0;
    tnp_fit_options opt = online_of(TNP_METHOD_PA, TNP_ONLINE_MUL);
    opt.rank.normalize = "none";
    for (size_t i = 0; i < ROWS; ++i)
        r.x[0][i * LEFT] += 1e5;
    chunk *list = cut(&r, 50, 50, &count);
    tn_online *o = learner_of(&r, &opt);
    tn_ctx_set_warning(test_ctx, note_warning, &warnings);
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, update(o, &list[i], NULL));
    tn_ctx_set_warning(test_ctx, NULL, NULL);
    assert_int_equal(warnings, 1);
    tn_online_free(o);
    cut_free(list, count);
    rows_free(&r);
}

/* ---- in the middle ---- */

/* Each allocation of an update fails in turn. Before the first row was learned the object is as it was, and goes on to
 * the bytes of one that never failed. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    chunk half = chunk_of(&r, 0, 75), rest = chunk_of(&r, 75, 75);
    tnp_fit_options opt = online_of(TNP_METHOD_AROW, TNP_ONLINE_W_OVR);
    opt.rank.transform = "chi2";
    opt.rank.nan = TN_NAN_DROP;
    tn_ctx_set_threads(test_ctx, 1);
    size_t outside = tnp_live_blocks(test_ctx);
    tn_online *want = learner_of(&r, &opt), *const untouched = (tn_online *)test_folder, *o = untouched, *made = NULL;
    expect_all(want, &r);
    assert_fine(test_ctx, update(want, &half, NULL));
    assert_fine(test_ctx, update(want, &rest, NULL));
    size_t k = 1, failed[4] = {0};
    for (;; ++k) {
        size_t before = tnp_live_blocks(test_ctx);
        tnp_fail_allocation(test_ctx, k);
        tn_status st =
            tnp_online_begin(test_ctx, &opt, r.task, (const char *const *)r.whole.labels->names, CLASSES, &o);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_ptr_equal(o, untouched);
        assert_int_equal(tnp_live_blocks(test_ctx), before);
    }
    failed[0] = k;
    made = o;
    size_t positives[CLASSES] = {0};
    for (size_t i = 0; i < ROWS * CLASSES; ++i)
        positives[i % CLASSES] += r.y[i] > 0.5;
    for (int step = 1; step < 4; ++step)
        for (k = 1;; ++k) {
            size_t before = tnp_live_blocks(test_ctx), seen = tn_online_samples(made);
            tnp_fail_allocation(test_ctx, k);
            tn_status st = step == 1 ? tn_online_expect(test_ctx, made, ROWS, positives)
                                     : update(made, step == 2 ? &half : &rest, NULL);
            tnp_fail_allocation(test_ctx, 0);
            failed[step] = k;
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_int_equal(tn_online_samples(made), seen);
            assert_int_equal(tnp_live_blocks(test_ctx), before);
        }
    for (int step = 0; step < 4; ++step)
        assert_true(failed[step] > 3);
    assert_memory_equal(made->learner->mu, want->learner->mu, CLASSES * want->learner->width * sizeof(float));
    assert_memory_equal(made->learner->sigma, want->learner->sigma, CLASSES * want->learner->width * sizeof(float));
    tn_online_free(made);
    tn_online_free(want);
    assert_int_equal(tnp_live_blocks(test_ctx), outside);
    tn_ctx_set_threads(test_ctx, 0);
    chunk_free(&half);
    chunk_free(&rest);
    rows_free(&r);
}

/* Rows so wide that 4 MB, 256 of them, are read at a time: the rest of the chunk fails after those were learned. */
typedef struct broad {
    double *x;
    tn_features *features;
    tn_labels *labels;
    tn_online *online;
} broad;

enum { MANY = 300, BROAD = 4096 };

static broad broad_of(size_t bad_row)
{
    broad b = {.x = ref_alloc(MANY * BROAD, sizeof(double))};
    double y[MANY * 2];
    tnp_fit_options opt = online_of(TNP_METHOD_PA, TNP_ONLINE_MUL);
    for (size_t i = 0; i < MANY; ++i) {
        b.x[i * BROAD + i] = i == bad_row ? NAN : 1;
        y[2 * i] = i % 2 == 0;
        y[2 * i + 1] = i % 2 == 1;
    }
    b.features = open_features(write_matrix("broad.npy", b.x, MANY, BROAD, AS_F32));
    b.labels = labels_of(y, MANY, 2, TN_TASK_MULTICLASS);
    assert_fine(test_ctx, tnp_online_begin(test_ctx, &opt, TN_TASK_MULTICLASS, (const char *const *)b.labels->names, 2,
                                           &b.online));
    return b;
}

static tn_status learn_broad(tn_ctx *ctx, broad *b)
{
    return tn_online_update(ctx, b->online, (const tn_features *const *)&b->features, 1, b->labels);
}

static void broad_free(broad *b)
{
    tn_online_free(b->online);
    tn_features_close(b->features);
    labels_done(b->labels);
    free(b->x);
}

/* Every later call says the same. */
static void check_spent(broad *b, tn_status status, const char *part)
{
    const char *const name = "more";
    const size_t none[2] = {0};
    tn_head *head = NULL;
    assert_int_equal(tn_online_samples(b->online), 256);
    assert_fails(test_ctx, status, part, learn_broad(test_ctx, b));
    assert_fails(test_ctx, status, part, tn_online_head(test_ctx, b->online, &head));
    assert_fails(test_ctx, status, part, tn_online_save(test_ctx, b->online, NULL, file_path("spent.safetensors")));
    assert_fails(test_ctx, status, part, tn_online_add_classes(test_ctx, b->online, &name, 1));
    assert_fails(test_ctx, status, part, tn_online_expect(test_ctx, b->online, 0, none));
    assert_int_equal(access(file_path("spent.safetensors"), F_OK), -1);
    assert_int_equal(tn_online_samples(b->online), 256);
}

static void a_chunk_that_fails_in_its_middle_spends_the_object(void **state)
{
    (void)state;
    broad b = broad_of(280);
    assert_fails(test_ctx, TN_ERR_DATA, "row 280 holds NaN", learn_broad(test_ctx, &b));
    check_spent(&b, TN_ERR_DATA, "row 280 holds NaN");
    broad_free(&b);
    b = broad_of(30); /* before anything was learned */
    assert_fails(test_ctx, TN_ERR_DATA, "row 30 holds NaN", learn_broad(test_ctx, &b));
    assert_int_equal(tn_online_samples(b.online), 0);
    b.x[30 * BROAD + 30] = 1;
    tn_features_close(b.features);
    b.features = open_features(write_matrix("broad.npy", b.x, MANY, BROAD, AS_F32));
    assert_fine(test_ctx, learn_broad(test_ctx, &b));
    assert_int_equal(tn_online_samples(b.online), MANY);
    broad_free(&b);
}

/* Cancelled after the first 256 rows; the object remembers it in any context. */
static void a_chunk_that_is_cancelled_in_its_middle(void **state)
{
    (void)state;
    broad b = broad_of(MANY);
    interrupt i = {NULL, 0, 1};
    i.ctx = ctx_of(0);
    tn_ctx_set_progress(i.ctx, cancel_at, &i);
    tn_status st = learn_broad(i.ctx, &b);
    assert_int_equal(st, TN_ERR_INTERRUPTED);
    check_spent(&b, TN_ERR_INTERRUPTED, "spent, a chunk failed after some of its rows");
    tn_online_free(b.online);
    b.online = NULL;
    tn_ctx_free(i.ctx);
    broad_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_all_rows_is_refused),
        cmocka_unit_test(draws_need_to_know_what_comes),
        cmocka_unit_test(chunks_that_do_not_belong),
        cmocka_unit_test(far_columns_are_told_of),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_chunk_that_fails_in_its_middle_spends_the_object),
        cmocka_unit_test(a_chunk_that_is_cancelled_in_its_middle),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
