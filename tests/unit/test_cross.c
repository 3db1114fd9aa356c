/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid of a cross-validation: its order, its summaries and ties; and support vector machines along it, each value
 * against trainings of its own. */
#include "design_of.h"
#include "learn/head/cross.h"
#include "learn/head/folds.h"

static tnp_cross *cross_of(const double *grid, size_t count, size_t folds)
{
    tnp_cross *c = NULL;
    assert_fine(test_ctx, tnp_cross_new(test_ctx, grid, count, folds, &c));
    return c;
}

/* Means, standard errors, the best by hand; of equals the first, or the last when more is simpler. */
static void summaries_and_ties(void **state)
{
    (void)state;
    const double grid[] = {10, 0.1, 1, 5}, value[] = {0.25, 0.75, 0.5, 1, 0.75, 0.75, 0, 0.25};
    tnp_cross *c = cross_of(grid, 4, 2);
    assert_true(c->grid[0] == 0.1 && c->grid[1] == 1 && c->grid[2] == 5 && c->grid[3] == 10);
    memcpy(c->value, value, sizeof value);
    for (int simpler = 0; simpler < 2; ++simpler) {
        tnp_cross_finish(c, simpler);
        assert_int_equal(c->best, simpler ? 2 : 1);
        assert_true(c->mean[0] == 0.5 && c->mean[1] == 0.75 && c->mean[2] == 0.75 && c->mean[3] == 0.125);
        assert_near(c->se[0], 0.25, 1e-15); /* deviations of 1/4 each way: sqrt(2/16 / 1 / 2) */
        assert_near(c->se[1], 0.25, 1e-15);
        assert_true(c->se[2] == 0);
        assert_near(c->se[3], 0.125, 1e-15);
    }
    tnp_cross_free(c);
    tnp_cross_free(NULL);
    c = cross_of(grid, 4, 2);
    tnp_cross_finish(c, false); /* all equal */
    assert_int_equal(c->best, 0);
    tnp_cross_finish(c, true);
    assert_int_equal(c->best, 3);
    tnp_cross_free(c);
    for (size_t k = 1; k < 6; ++k) {
        c = NULL;
        tnp_fail_allocation(test_ctx, k);
        assert_int_equal(tnp_cross_new(test_ctx, grid, 4, 2, &c), TN_ERR_MEMORY);
        tnp_fail_allocation(test_ctx, 0);
        assert_null(c);
    }
}

/* ---- support vector machines ---- */

enum { N = 60, D = 6, K = 3, FOLDS = 4 };

typedef struct scene {
    setting s;
    tnp_task *task;
    tnp_design *x;
    tnp_learn_options options;
    uint32_t fold[N];
    float *alpha, *w;
    tnp_linear linear;
    size_t calls, fail_at;
} scene;

static scene *scene_of(tn_task kind)
{
    scene *e = ref_alloc(1, sizeof *e);
    e->s = setting_of(REF_NOISE, N, D, K, kind, AS_F32);
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)e->s.features, 2, e->s.labels,
                                       TN_NAN_ERROR, true, &e->task));
    e->x = design_of(&e->s);
    tnp_learn_options_default(&e->options);
    e->options.gap = 1e-5;
    e->options.max_passes = 20000;
    for (size_t i = 0; i < N; ++i)
        e->fold[i] = (uint32_t)(i * 7 % FOLDS);
    e->alpha = ref_alloc(N * FOLDS * K, sizeof *e->alpha);
    e->w = ref_alloc(FOLDS * K * (D + 1), sizeof *e->w);
    e->linear = (tnp_linear){.rows = tnp_design_rows(e->x),
                             .design = e->x,
                             .task = e->task,
                             .options = &e->options,
                             .bias = true,
                             .row_fold = e->fold,
                             .folds = FOLDS,
                             .alpha = e->alpha};
    return e;
}

static void scene_free(scene *e)
{
    tnp_task_free(e->task);
    tnp_design_free(e->x);
    setting_free(&e->s);
    free(e->alpha);
    free(e->w);
    free(e);
}

/* Mean margin: smooth in the scores, so that values can be compared. Scores of each row are kept. */
static tn_status mean_margin(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores,
                             double *value)
{
    scene *e = arg;
    double sum = 0;
    if (e->fail_at && e->calls + 1 == e->fail_at)
        return tnp_fail(ctx, TN_ERR_DATA, "the measure refuses");
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e->fold[rows[i]], e->calls % FOLDS);
        for (size_t k = 0; k < K; ++k) {
            double s = (double)scores[i * K + k];
            sum += e->s.p.y[rows[i] * K + k] > 0.5 ? s : -s;
        }
    }
    *value = sum / (double)(count * K);
    ++e->calls;
    return TN_OK;
}

/* Value of fold f at C by literal trainings on the rows outside it. Weights are within sqrt(2 gap) of the optimum, and so
 * are scores, times |x|. */
static double literal_value(const scene *e, const side_by_side *c, size_t f, bool squared, double *tolerance)
{
    double sum = 0, rows = 0, longest = 0, apart = 0;
    for (size_t k = 0; k < K; ++k) {
        ref_svm p = svm_of(&e->s, c, f * K + k, squared, true);
        ref_real w[D + 1];
        double best = (double)ref_svm_solve(&p, NULL, w);
        apart = fmax(apart, sqrt(2 * 2e-5 * best));
        for (size_t i = 0; i < N; ++i) {
            if (e->fold[i] != f)
                continue;
            double s = (double)w[D], square = 1;
            for (size_t j = 0; j < D; ++j) {
                s += (double)w[j] * e->s.p.x[i * D + j];
                square += e->s.p.x[i * D + j] * e->s.p.x[i * D + j];
            }
            sum += e->s.p.y[i * K + k] > 0.5 ? s : -s;
            longest = fmax(longest, sqrt(square));
            rows += k == 0;
        }
    }
    *tolerance = apart * longest;
    return sum / (rows * K);
}

/* Along ascending C from the multipliers before: the values of trainings from nothing; and the scores kept are those of
 * the best C. */
static void values_along_the_grid(void **state)
{
    (void)state;
    const double grid[] = {1, 0.05, 0.2};
    for (int form = 0; form < 4; ++form) { /* squared hinge and hinge, kept or streamed; multi-label when streamed */
        scene *e = scene_of(form & 2 ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS);
        tnp_cross *cross = cross_of(grid, 3, FOLDS);
        float scores[N * K];
        size_t best = 0;
        e->options.loss = form & 1 ? TNP_SVM_HINGE : TNP_SVM_SQUARED_HINGE;
        if (form & 2)
            cut(e->x, 13, false);
        assert_fine(test_ctx, tnp_linear_cv(test_ctx, &e->linear, mean_margin, e, cross, e->w, scores));
        assert_int_equal(e->calls, 3 * FOLDS);
        for (size_t g = 0; g < 3; ++g) {
            side_by_side c = columns_of(&e->s, cross->grid[g], cross->grid[g], FOLDS, e->fold, NULL);
            double mean = 0;
            for (size_t f = 0; f < FOLDS; ++f) {
                double tolerance, want = literal_value(e, &c, f, !(form & 1), &tolerance);
                assert_true(tolerance < 0.2);
                assert_true(fabs(cross->value[g * FOLDS + f] - want) <= tolerance);
                mean += cross->value[g * FOLDS + f] / FOLDS;
            }
            assert_near(cross->mean[g], mean, 1e-14);
            best = cross->mean[g] > cross->mean[best] ? g : best;
            columns_free(&c);
        }
        assert_int_equal(cross->best, best);
        double sum = 0;
        for (size_t i = 0; i < N; ++i)
            for (size_t k = 0; k < K; ++k)
                sum += (e->s.p.y[i * K + k] > 0.5 ? 1 : -1) * (double)scores[i * K + k] / (N * K);
        assert_near(sum, cross->mean[best], 1e-6); /* folds are of one size */
        tnp_cross_free(cross);
        scene_free(e);
    }
}

/* One fold beside rows that are in none: its value is that of a training on all others, and rows in no fold have no
 * score. */
static void rows_of_no_fold_are_never_judged(void **state)
{
    (void)state;
    for (int logistic = 0; logistic < 2; ++logistic) {
        scene *e = scene_of(TN_TASK_MULTICLASS);
        float scores[N * K];
        tnp_training training;
        for (size_t i = 0; i < N; ++i)
            e->fold[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : TNP_NO_FOLD;
        e->linear.folds = 1;
        e->linear.alpha = NULL;
        e->linear.logistic = logistic;
        assert_fine(test_ctx, tnp_linear_train(test_ctx, &e->linear, 0.2, e->w, &training));
        assert_fine(test_ctx, tnp_linear_held_out(test_ctx, &e->linear, e->w, scores));
        for (size_t i = 0; i < N; ++i)
            for (size_t k = 0; k < K; ++k) {
                double s = (double)e->w[k * (D + 1) + D];
                for (size_t j = 0; j < D; ++j)
                    s += (double)e->w[k * (D + 1) + j] * e->s.p.x[i * D + j];
                assert_int_equal(isnan(scores[i * K + k]) != 0, e->fold[i] != 0);
                if (e->fold[i] == 0)
                    assert_near(scores[i * K + k], s, 1e-5); /* of a float product of D terms near 1 */
            }
        if (!logistic) {
            side_by_side c = columns_of(&e->s, 0.2, 0.2, 1, e->fold, NULL);
            double sum = 0, tolerance, want = literal_value(e, &c, 0, true, &tolerance);
            for (size_t i = 0; i < N; i += 3)
                for (size_t k = 0; k < K; ++k)
                    sum += (e->s.p.y[i * K + k] > 0.5 ? 1 : -1) * (double)scores[i * K + k] / (N / 3 * K);
            assert_true(fabs(sum - want) <= tolerance);
            columns_free(&c);
        }
        scene_free(e);
    }
}

/* Of equal values the smallest C, and its scores. */
static tn_status always_one(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores,
                            double *value)
{
    (void)ctx;
    (void)arg;
    (void)rows;
    (void)count;
    (void)scores;
    *value = 1;
    return TN_OK;
}

static void ties_go_to_the_smallest_cost(void **state)
{
    (void)state;
    const double grid[] = {0.01, 1};
    scene *e = scene_of(TN_TASK_MULTICLASS);
    tnp_cross *cross = cross_of(grid, 2, FOLDS), *one = cross_of(grid, 1, FOLDS);
    float scores[N * K], want[N * K];
    assert_fine(test_ctx, tnp_linear_cv(test_ctx, &e->linear, always_one, NULL, cross, e->w, scores));
    assert_int_equal(cross->best, 0);
    memset(e->alpha, 0, N * FOLDS * K * sizeof *e->alpha);
    memset(e->w, 0, FOLDS * K * (D + 1) * sizeof *e->w);
    assert_fine(test_ctx, tnp_linear_cv(test_ctx, &e->linear, always_one, NULL, one, e->w, want));
    assert_memory_equal(scores, want, sizeof scores);
    tnp_cross_free(cross);
    tnp_cross_free(one);
    scene_free(e);
}

static void faults(void **state)
{
    (void)state;
    const double grid[] = {0.1, 1};
    scene *e = scene_of(TN_TASK_MULTICLASS);
    float scores[N * K];
    size_t blocks, k = 1;
    tnp_cross *cross = cross_of(grid, 2, FOLDS);
    blocks = tnp_live_blocks(test_ctx);
    for (size_t call = 1; call <= 2 * FOLDS; ++call) {
        e->calls = 0;
        e->fail_at = call;
        assert_fails(test_ctx, TN_ERR_DATA, "the measure refuses",
                     tnp_linear_cv(test_ctx, &e->linear, mean_margin, e, cross, e->w, scores));
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    e->fail_at = 0;
    for (;; ++k) {
        e->calls = 0;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_linear_cv(test_ctx, &e->linear, mean_margin, e, cross, e->w, scores);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 20);
    tnp_cross_free(cross);
    scene_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_and_ties),
        cmocka_unit_test(values_along_the_grid),
        cmocka_unit_test(rows_of_no_fold_are_never_judged),
        cmocka_unit_test(ties_go_to_the_smallest_cost),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
