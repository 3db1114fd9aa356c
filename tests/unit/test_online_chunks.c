/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners that are given chunks: the same bytes as tn_fit for any chunking, weights, averages and variances;
 * the literal loop over samples; further classes; a head to go on from; rows that take no part. */
#include "chunks_of.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "pipeline/options.h"

#include "algebra/blas.h"
#include "learn/online/online_chunks.h"
#include "ref_online.h"
#include "read/safetensors.h"

/* First chunk and all others: single rows, whole blocks of 64 and one row about them, blocks cut anywhere, all. */
static const size_t chunkings[][2] = {{1, 1}, {64, 64}, {63, 65}, {65, 7}, {130, 130}, {ROWS, ROWS}};
enum { CHUNKINGS = sizeof chunkings / sizeof *chunkings };

typedef struct cuts {
    chunk *list[CHUNKINGS];
    size_t count[CHUNKINGS];
} cuts;

static cuts cuts_of(const rows *r)
{
    cuts c;
    for (size_t i = 0; i < CHUNKINGS; ++i)
        c.list[i] = cut(r, chunkings[i][0], chunkings[i][1], &c.count[i]);
    return c;
}

static void cuts_free(cuts *c)
{
    for (size_t i = 0; i < CHUNKINGS; ++i)
        cut_free(c->list[i], c->count[i]);
}

/* ---- the same bytes as tn_fit ---- */

/* Rows of one pass of tn_fit: the head, and the state behind it, which its checkpoint holds. */
typedef struct fitted {
    tn_head *head;
    float *state[3]; /* mu, u, sigma (CLASSES, width); NULL where the rule has none */
    double counts[3];
    size_t width;
} fitted;

static fitted fit_all(const rows *r, tnp_fit_options opt, const float *weights)
{
    static const char *const names[] = {"mu.0", "u.0", "sigma.0"};
    fitted f = {.width = tnp_row_stride(WIDE + 1)};
    tn_fit_info *info = NULL;
    tnp_safetensors *file = NULL;
    char path[700];
    snprintf(path, sizeof path, "%s", file_path("fit.ckpt"));
    opt.online.checkpoint = path;
    double wide[ROWS];
    for (size_t i = 0; weights && i < ROWS; ++i)
        wide[i] = (double)weights[i];
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, r->whole.labels, weights ? wide : NULL, weights ? ROWS : 0));
    unlink(path);
    assert_fine(test_ctx, tnp_fit(test_ctx, features_in(&r->whole), REPS, r->whole.labels, &opt, &info, &f.head));
    tn_fit_info_free(info);
    assert_fine(test_ctx, tnp_safetensors_load(test_ctx, path, &file));
    for (int i = 0; i < 3; ++i)
        if (tnp_safetensors_has(file, names[i])) {
            f.state[i] = ref_alloc(CLASSES * f.width, sizeof(float));
            assert_fine(test_ctx, tnp_safetensors_values(test_ctx, file, names[i], 1, CLASSES * f.width, TNP_FINITE,
                                                         f.state[i], NULL));
        }
    assert_fine(test_ctx, tnp_safetensors_values(test_ctx, file, "counts", 1, 3, TNP_FINITE, NULL, f.counts));
    tnp_safetensors_close(file);
    unlink(path);
    return f;
}

static void fitted_free(fitted *f)
{
    tn_head_free(f->head);
    for (int i = 0; i < 3; ++i)
        free(f->state[i]);
}

static void same_heads(const tn_head *a, const tn_head *b)
{
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->dim, b->dim);
    assert_memory_equal(a->weight, b->weight, a->classes * a->dim * sizeof *a->weight);
    assert_memory_equal(a->bias, b->bias, a->classes * sizeof *a->bias);
    assert_true(tnp_heads_alike(a, b) && a->threshold == b->threshold && a->task == b->task);
    assert_string_equal(a->method, b->method);
    for (size_t k = 0; k < a->classes; ++k)
        assert_string_equal(a->names[k], b->names[k]);
}

static void check_state(const tn_online *o, const fitted *f)
{
    const tnp_online *l = o->learner;
    float *const state[] = {l->mu, l->u, l->sigma};
    for (int i = 0; i < 3; ++i) {
        assert_true((state[i] == NULL) == (f->state[i] == NULL));
        if (state[i])
            assert_memory_equal(state[i], f->state[i], CLASSES * f->width * sizeof(float));
    }
    assert_true((double)tn_online_samples(o) == f->counts[0]);
    assert_true((double)tn_online_updates(o) == f->counts[1]);
    assert_true((double)tn_online_mistakes(o) == f->counts[2]);
}

static void check_chunking(const rows *r, const tnp_fit_options *opt, const fitted *want, const chunk *list,
                           size_t count, const float *weights)
{
    tn_online *o = learner_of(r, opt);
    tn_head *head = NULL;
    if (opt->online.multiclass >= TNP_ONLINE_E_OVR)
        expect_all(o, r);
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, update(o, &list[i], weights));
    check_state(o, want);
    assert_fine(test_ctx, tn_online_head(test_ctx, o, &head));
    same_heads(head, want->head);
    tn_head_free(head);
    tn_online_free(o);
}

static void check_all(tn_task task, bool average, const char *normalize, const float *weights)
{
    rows r = rows_of(task);
    cuts c = cuts_of(&r);
    for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method)
        for (int multiclass = TNP_ONLINE_MUL; multiclass <= TNP_ONLINE_W_OVR; ++multiclass) {
            tnp_fit_options opt = online_of(method, multiclass);
            opt.online.no_average = !average;
            opt.rank.normalize = normalize;
            opt.rank.evidence.intercept = average;
            fitted want = fit_all(&r, opt, weights);
            for (size_t i = 0; i < CHUNKINGS; ++i)
                check_chunking(&r, &opt, &want, c.list[i], c.count[i], weights);
            fitted_free(&want);
        }
    cuts_free(&c);
    rows_free(&r);
}

static void any_chunking_is_one_pass_of_fit(void **state)
{
    (void)state;
    check_all(TN_TASK_MULTICLASS, true, "l2", NULL);
}

static void any_chunking_of_the_last_weights(void **state)
{
    (void)state;
    check_all(TN_TASK_MULTICLASS, false, "none", NULL);
}

static void any_chunking_of_labels_with_weights(void **state)
{
    (void)state;
    float weights[ROWS];
    for (size_t i = 0; i < ROWS; ++i)
        weights[i] = (float)(i * 7 % 5 + 1) / 4;
    check_all(TN_TASK_MULTILABEL, true, "root", weights);
}

/* Maps widen the columns; all else is the same. The head's file is that of tn_fit, byte by byte. */
static void the_file_of_the_head_is_that_of_fit(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    tnp_fit_options opt = online_of(TNP_METHOD_AROW, TNP_ONLINE_MUL);
    tn_fit_info *info = NULL;
    tn_head *want = NULL, *got = NULL;
    size_t count = 0, sizes[2];
    opt.rank.transform = "hellinger";
    opt.rank.normalize = "l1";
    chunk *list = cut(&r, 40, 33, &count);
    assert_fine(test_ctx, tnp_fit(test_ctx, features_in(&r.whole), REPS, r.whole.labels, &opt, &info, &want));
    opt.online.epochs = 10; /* what the learner has no use for does not matter */
    opt.online.shuffle = true;
    tn_online *o = learner_of(&r, &opt);
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, update(o, &list[i], NULL));
    assert_fine(test_ctx, tn_online_head(test_ctx, o, &got));
    assert_fine(test_ctx, tn_head_save(test_ctx, want, "test", file_path("want.safetensors")));
    assert_fine(test_ctx, tn_head_save(test_ctx, got, "test", file_path("got.safetensors")));
    tnp_bytes file[2];
    assert_fine(test_ctx, tnp_bytes_read(test_ctx, file_path("want.safetensors"), &file[0]));
    assert_fine(test_ctx, tnp_bytes_read(test_ctx, file_path("got.safetensors"), &file[1]));
    for (int i = 0; i < 2; ++i)
        sizes[i] = file[i].size;
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(file[0].data, file[1].data, sizes[0]);
    for (int i = 0; i < 2; ++i)
        tnp_bytes_free(&file[i]);
    tn_head_free(want);
    tn_head_free(got);
    tn_fit_info_free(info);
    tn_online_free(o);
    cut_free(list, count);
    rows_free(&r);
}

/* ---- the literal loop ---- */

static double *literal(const rows *r, const tnp_fit_options *opt, const double *x, const bool *skip,
                       const double *start)
{
    double *w = ref_alloc(CLASSES * (WIDE + 1), sizeof *w);
    bool *positive = ref_alloc(ROWS * CLASSES, sizeof *positive);
    size_t close = 0;
    int rule = opt->method - TNP_METHOD_PERCEPTRON;
    for (size_t i = 0; i < ROWS * CLASSES; ++i)
        positive[i] = r->y[i] > 0.5;
    const ref_online_job job = {.rule = (ref_rule)rule,
                                .cost = opt->learn.cost,
                                .phi = tnp_rule_new((tnp_online_rule)rule, 1, opt->online.eta).phi,
                                .ovr = opt->online.multiclass != TNP_ONLINE_MUL,
                                .average = !opt->online.no_average,
                                .bias = true,
                                .n = ROWS,
                                .d = WIDE,
                                .k = CLASSES,
                                .passes = 1,
                                .x = x,
                                .positive = positive,
                                .skip = skip,
                                .start = start};
    assert_true(ref_online(&job, w, &close) > 0);
    assert_int_equal(close, 0);
    free(positive);
    return w;
}

/* 1e-5 of the largest weight, as in test_online.c. */
static void check_literal(const tn_online *o, const double *want)
{
    tn_head *head = NULL;
    double most = 0;
    assert_fine(test_ctx, tn_online_head(test_ctx, o, &head));
    for (size_t i = 0; i < CLASSES * (WIDE + 1); ++i)
        most = fmax(most, fabs(want[i]));
    for (size_t i = 0; i < CLASSES * (WIDE + 1); ++i) {
        size_t c = i / (WIDE + 1), j = i % (WIDE + 1);
        double got = (double)(j < WIDE ? head->weight[c * WIDE + j] : head->bias[c]);
        assert_near_at(i, got / most, want[i] / most, 1e-5);
    }
    tn_head_free(head);
}

static double *side_by_side(const rows *r)
{
    return beside(r->x[0], LEFT, r->x[1], RIGHT, ROWS);
}

static void chunks_are_the_literal_loop(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    size_t count = 0;
    chunk *list = cut(&r, 70, 9, &count);
    double *x = side_by_side(&r);
    for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method)
        for (int multiclass = TNP_ONLINE_MUL; multiclass <= TNP_ONLINE_U_OVR; ++multiclass) {
            tnp_fit_options opt = online_of(method, multiclass);
            opt.rank.normalize = "none";
            tn_online *o = learner_of(&r, &opt);
            double *want = literal(&r, &opt, x, NULL, NULL);
            for (size_t i = 0; i < count; ++i)
                assert_fine(test_ctx, update(o, &list[i], NULL));
            check_literal(o, want);
            free(want);
            tn_online_free(o);
        }
    free(x);
    cut_free(list, count);
    rows_free(&r);
}

/* ---- classes ---- */

/* One against the rest: a class that is added after some rows has not seen them, and was zero in the average so far. */
static void a_class_that_is_added_begins_at_zero(void **state)
{
    (void)state;
    enum { BEFORE = 50 };
    rows r = rows_of(TN_TASK_MULTICLASS);
    const char *const *names = (const char *const *)r.whole.labels->names;
    size_t count = 0;
    for (size_t i = 0; i < BEFORE; ++i) /* no row of the last class yet */
        if (r.y[i * CLASSES + CLASSES - 1] > 0.5) {
            r.y[i * CLASSES + CLASSES - 1] = 0;
            r.y[i * CLASSES] = 1;
        }
    chunk *list = cut(&r, BEFORE, 13, &count);
    double *x = side_by_side(&r);
    bool skip[ROWS * CLASSES] = {false};
    for (size_t i = 0; i < BEFORE; ++i)
        skip[i * CLASSES + CLASSES - 1] = true;
    for (int method = TNP_METHOD_SGD; method <= TNP_METHOD_SCW2; ++method) {
        tnp_fit_options opt = online_of(method, TNP_ONLINE_U_OVR);
        tn_online *o = NULL;
        opt.rank.normalize = "none";
        assert_fine(test_ctx, tnp_online_begin(test_ctx, &opt, r.task, names, 2, &o));
        assert_fine(test_ctx, tn_online_add_classes(test_ctx, o, names + 2, CLASSES - 3)); /* before the first row */
        double *want = literal(&r, &opt, x, skip, NULL);
        assert_fine(test_ctx, update(o, &list[0], NULL));
        assert_fails(test_ctx, TN_ERR_ARG, "two classes are called 'class1'",
                     tn_online_add_classes(test_ctx, o, names + 1, 1));
        assert_fails(test_ctx, TN_ERR_DATA, "class 'class4' is not one of the learner's", update(o, &list[1], NULL));
        assert_fine(test_ctx, tn_online_add_classes(test_ctx, o, names + CLASSES - 1, 1));
        assert_int_equal(tn_online_classes(o), CLASSES);
        assert_string_equal(tn_online_class_names(o)[CLASSES - 1], names[CLASSES - 1]);
        for (size_t i = 1; i < count; ++i)
            assert_fine(test_ctx, update(o, &list[i], NULL));
        check_literal(o, want);
        free(want);
        tn_online_free(o);
    }
    free(x);
    cut_free(list, count);
    rows_free(&r);
}

/* Labels of a chunk name its own classes, in an order of their own. */
static void classes_go_by_name(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
        rows r = rows_of((tn_task)task);
        size_t count = 0;
        chunk *list = cut(&r, 20, 31, &count);
        tnp_fit_options opt = online_of(TNP_METHOD_PA, TNP_ONLINE_E_OVR); /* draws go by the order of a row's classes */
        tn_online *plain = learner_of(&r, &opt), *turned = learner_of(&r, &opt);
        expect_all(plain, &r);
        expect_all(turned, &r);
        for (size_t i = 0; i < count; ++i) {
            assert_fine(test_ctx, update(plain, &list[i], NULL));
            tn_labels *l = list[i].labels;
            for (size_t c = 0; c < CLASSES; ++c)
                snprintf(l->names[c], 32, "class%zu", (2 * CLASSES - 1 - c + i) % CLASSES);
            for (size_t row = 0; row < l->rows; ++row) {
                size_t at = l->first[row];
                for (size_t c = 0; c < CLASSES; ++c) {
                    size_t named = (2 * CLASSES - 1 - c + i) % CLASSES;
                    if (r.y[(list[i].from + row) * CLASSES + named] > 0.5)
                        l->cls[at++] = (uint32_t)c;
                }
            }
            assert_fine(test_ctx, update(turned, &list[i], NULL));
        }
        assert_memory_equal(plain->learner->mu, turned->learner->mu, CLASSES * plain->learner->width * sizeof(float));
        tn_online_free(plain);
        tn_online_free(turned);
        cut_free(list, count);
        rows_free(&r);
    }
}

/* ---- a head to go on from ---- */

/* Means and scales of z-scores come from a head; so do its weights, and its classes when none are given. */
static void z_scores_come_from_a_head(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    size_t count = 0;
    chunk *list = cut(&r, 5, 29, &count);
    tnp_fit_options opt = online_of(TNP_METHOD_PA2, TNP_ONLINE_MUL);
    tn_fit_info *info = NULL;
    tn_head *from = NULL;
    tn_online *o = NULL;
    opt.rank.normalize = "zscore";
    assert_fine(test_ctx, tnp_fit(test_ctx, features_in(&r.whole), REPS, r.whole.labels, &opt, &info, &from));
    double *start = ref_alloc(CLASSES * (WIDE + 1), sizeof *start), *x = side_by_side(&r);
    for (size_t c = 0; c < CLASSES; ++c)
        for (size_t j = 0; j <= WIDE; ++j)
            start[c * (WIDE + 1) + j] = (double)(j < WIDE ? from->weight[c * WIDE + j] : from->bias[c]);
    for (size_t i = 0; i < ROWS * WIDE; ++i)
        x[i] = (double)(float)((x[i] - from->means[i % WIDE]) * from->scales[i % WIDE]);
    opt = online_of(TNP_METHOD_AROW, TNP_ONLINE_MUL);
    opt.from = from;
    assert_fine(test_ctx, tnp_online_begin(test_ctx, &opt, r.task, NULL, 0, &o));
    assert_int_equal(tn_online_classes(o), CLASSES);
    double *want = literal(&r, &opt, x, NULL, start);
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, update(o, &list[i], NULL));
    check_literal(o, want);
    tn_online_free(o);
    assert_fails(test_ctx, TN_ERR_ARG, "another task",
                 tnp_online_begin(test_ctx, &opt, TN_TASK_MULTILABEL, NULL, 0, &o));
    tn_head_free(from);
    tn_fit_info_free(info);
    free(start);
    free(want);
    free(x);
    cut_free(list, count);
    rows_free(&r);
}

/* ---- rows that take no part ---- */

/* A chunk without a labelled row, or whose rows are all dropped, is no fault. */
static void rows_without_labels_are_left_out(void **state)
{
    (void)state;
    rows r = rows_of(TN_TASK_MULTICLASS);
    r.x[1][20 * RIGHT + 2] = NAN;
    for (size_t i = 0; i < 9; ++i)
        r.y[i * CLASSES] = NAN;
    chunk_free(&r.whole);
    r.whole = chunk_of(&r, 0, ROWS);
    tnp_fit_options opt = online_of(TNP_METHOD_SCW, TNP_ONLINE_MUL);
    opt.rank.nan = TN_NAN_DROP;
    cuts c = cuts_of(&r);
    fitted want = fit_all(&r, opt, NULL);
    assert_true(want.counts[0] == ROWS - 10);
    for (size_t i = 0; i < CHUNKINGS; ++i)
        check_chunking(&r, &opt, &want, c.list[i], c.count[i], NULL);
    fitted_free(&want);
    cuts_free(&c);
    rows_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_chunking_is_one_pass_of_fit),
        cmocka_unit_test(any_chunking_of_the_last_weights),
        cmocka_unit_test(any_chunking_of_labels_with_weights),
        cmocka_unit_test(the_file_of_the_head_is_that_of_fit),
        cmocka_unit_test(chunks_are_the_literal_loop),
        cmocka_unit_test(a_class_that_is_added_begins_at_zero),
        cmocka_unit_test(classes_go_by_name),
        cmocka_unit_test(z_scores_come_from_a_head),
        cmocka_unit_test(rows_without_labels_are_left_out),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
