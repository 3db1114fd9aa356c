/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Support vector machines with the squared hinge by their active rows: against literal optima in long double, from no
 * weights and from others, at costs from small to where the margin is hard.
 *
 * Tolerances. A column is left when it is within half the tolerance of its optimum by doubles; its weights are rounded
 * to floats, which moves the objective by ref_svm_rounding at u = 2^-24: 1e-5 of it covers that for rows of length 10
 * at C = 1e4, where it matters most. Literal optima (ref_svm_barrier) are no less than the minimum and within 1e-11. */
#include "design_of.h"
#include "learn/linear/active.h"
#include "learn/linear/linear.h"

enum { CLASSES = 3 };
static const double GAP = 1e-4, SLOP = 1e-5;

/* One solve of all columns; w is where it starts, and the result. */
static tn_status solve_in(tn_ctx *ctx, tnp_design *x, const side_by_side *c, bool bias, bool penalised, float *w,
                          size_t *passes)
{
    tnp_rows rows = tnp_design_rows(x);
    tnp_active_options options = {bias, penalised, GAP, 1000, false};
    size_t *cols = ref_alloc(c->columns.count, sizeof *cols);
    double *objective = ref_alloc(2 * c->columns.count, sizeof *objective);
    for (size_t j = 0; j < c->columns.count; ++j)
        cols[j] = j;
    *passes = 0;
    tn_status st = tnp_active_solve(ctx, &rows, &c->columns, cols, c->columns.count, &options, w, objective,
                                    objective + c->columns.count, passes);
    free(cols);
    free(objective);
    return st;
}

static size_t solve(tnp_design *x, const side_by_side *c, bool bias, float *w)
{
    size_t passes;
    assert_fine(test_ctx, solve_in(test_ctx, x, c, bias, true, w, &passes));
    return passes;
}

static float *weights_for(const tnp_design *x, const side_by_side *c)
{
    return ref_alloc(c->columns.count * (x->dim + 1), sizeof(float));
}

static double objective(const setting *s, const side_by_side *c, size_t j, bool bias, const float *w)
{
    ref_svm p = svm_of(s, c, j, true, bias);
    ref_real *wide = widened(w + j * (s->p.d + 1), s->p.d + 1);
    double f = (double)ref_svm_primal(&p, wide);
    free(wide);
    return f;
}

/* Largest distance of a column from its literal optimum, beside that. */
static double distance(const setting *s, const side_by_side *c, bool bias, const float *w)
{
    double most = 0;
    for (size_t j = 0; j < c->columns.count; ++j) {
        ref_svm p = svm_of(s, c, j, true, bias);
        double best = (double)ref_svm_barrier(&p), f = objective(s, c, j, bias, w);
        assert_true(f >= best * (1 - 1e-10));
        most = fmax(most, f / best - 1);
    }
    return most;
}

/* ---- optima ---- */

/* Separable and not, more columns than rows, columns and rows that repeat, rows of zeros, a row per class; from no
 * weights, at costs up to where the margin is hard. */
static void literal_optima_at_every_cost(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{30, 6}, {18, 30}, {CLASSES, 8}};
    const double costs[] = {0.01, 1, 100, 1e4};
    for (size_t z = 0; z < 3; ++z)
        for (int kind = 0; kind < REF_KINDS; ++kind) {
            setting s = setting_of((ref_kind)kind, shapes[z][0], shapes[z][1], CLASSES, TN_TASK_MULTICLASS, AS_F32);
            tnp_design *x = design_of(&s);
            for (size_t i = 0; i < 8; ++i) {
                double cost = costs[i / 2];
                bool bias = i % 2;
                side_by_side c = columns_of(&s, cost, 0.5 * cost, 1, NULL, NULL);
                float *w = weights_for(x, &c);
                solve(x, &c, bias, w);
                double far = distance(&s, &c, bias, w);
                if (!(far <= GAP + SLOP))
                    print_error("%s, %zu x %zu, C %g, bias %d: %.3g above\n", ref_kind_name((ref_kind)kind),
                                shapes[z][0], shapes[z][1], cost, bias, far);
                assert_true(far <= GAP + SLOP);
                free(w);
                columns_free(&c);
            }
            tnp_design_free(x);
            setting_free(&s);
        }
}

/* The literal optimum of a free intercept, by ref_smooth_solve. */
static void free_intercepts(void **state)
{
    (void)state;
    for (int kind = 0; kind < REF_KINDS; ++kind) {
        enum { N = 40, D = 6 };
        setting s = setting_of((ref_kind)kind, N, D, CLASSES, TN_TASK_MULTICLASS, AS_F32);
        tnp_design *x = design_of(&s);
        side_by_side c = columns_of(&s, 10, 10, 1, NULL, NULL);
        float *w = weights_for(x, &c);
        size_t passes;
        double y[N];
        ref_real best[D + 1];
        assert_fine(test_ctx, solve_in(test_ctx, x, &c, true, false, w, &passes));
        for (size_t j = 0; j < CLASSES; ++j) {
            for (size_t i = 0; i < N; ++i)
                y[i] = c.sign[j * N + i] > 0;
            ref_smooth p = {N, D, 1, s.p.x, y, c.cost + j * N, REF_SQUARED_HINGE, true, false};
            memset(best, 0, sizeof best);
            ref_real *wide = widened(w + j * (D + 1), D + 1);
            double least = (double)ref_smooth_solve(&p, best), f = (double)ref_smooth_objective(&p, wide);
            assert_true(f <= least * (1 + GAP + SLOP));
            free(wide);
        }
        free(w);
        columns_free(&c);
        tnp_design_free(x);
        setting_free(&s);
    }
}

/* ---- starts ---- */

/* Along costs, from the optimum of the last and from nothing, with and without folds: both are as close to the same
 * optimum. */
static void a_path_ends_where_single_solves_do(void **state)
{
    (void)state;
    enum { N = 60, D = 20, FOLDS = 4 };
    const double costs[] = {0.1, 1, 3, 30, 1000, 10};
    uint32_t fold[N];
    float weight[N];
    for (size_t i = 0; i < N; ++i) {
        fold[i] = (uint32_t)(i * 7 % FOLDS);
        weight[i] = 0.5f + (float)(i % 3);
    }
    for (int folds = 1; folds <= FOLDS; folds += FOLDS - 1) {
        setting s = setting_of(REF_NONNEG, N, D, CLASSES, TN_TASK_MULTICLASS, AS_F32);
        tnp_design *x = design_of(&s);
        float *warm = NULL;
        for (size_t i = 0; i < 6; ++i) {
            side_by_side c = columns_of(&s, costs[i], costs[i], (size_t)folds, folds > 1 ? fold : NULL, weight);
            float *cold = weights_for(x, &c);
            warm = warm ? warm : weights_for(x, &c);
            solve(x, &c, true, cold);
            solve(x, &c, true, warm);
            assert_true(distance(&s, &c, true, cold) <= GAP + SLOP);
            assert_true(distance(&s, &c, true, warm) <= GAP + SLOP);
            free(cold);
            columns_free(&c);
        }
        free(warm);
        tnp_design_free(x);
        setting_free(&s);
    }
}

/* Where coordinate descent takes thousands of passes: rows of length 1 that no weights separate, and those that some
 * separate by little. Twice as many passes at C = 1e4 as at C = 1 would be two steps per doubling of C less. */
static void passes_hardly_grow_with_the_cost(void **state)
{
    (void)state;
    const ref_kind kinds[] = {REF_NONNEG, REF_NOISE};
    for (size_t z = 0; z < 2; ++z) {
        setting s = setting_of(kinds[z], 400, 30, 4, TN_TASK_MULTICLASS, AS_F32);
        tnp_design *x = design_of(&s);
        size_t passes[2];
        for (int hard = 0; hard < 2; ++hard) {
            double cost = hard ? 1e4 : 1;
            side_by_side c = columns_of(&s, cost, cost, 1, NULL, NULL);
            float *w = weights_for(x, &c);
            passes[hard] = solve(x, &c, true, w);
            free(w);
            columns_free(&c);
        }
        assert_true(passes[1] <= 4 * passes[0]);
        tnp_design_free(x);
        setting_free(&s);
    }
}

/* The whole training of wide rows that some hundreds of positives make inseparable: coordinate descent alone has not
 * reached its gap after a thousand passes. */
static void inseparable_classes_reach_their_gap_at_a_large_cost(void **state)
{
    (void)state;
    setting s = setting_of(REF_NOISE, 900, 300, 2, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    tnp_task *task = NULL;
    tnp_learn_options options;
    tnp_training out;
    float *w = ref_alloc(2 * (x->dim + 1), sizeof *w);
    assert_fine(test_ctx,
                tnp_task_new(test_ctx, (const tn_features *const *)s.features, 2, s.labels, TN_NAN_ERROR, true, &task));
    tnp_learn_options_default(&options);
    tnp_linear linear = {
        .rows = tnp_design_rows(x), .design = x, .task = task, .options = &options, .bias = true, .folds = 1};
    for (double cost = 1; cost <= 1e4; cost *= 10) {
        memset(w, 0, 2 * (x->dim + 1) * sizeof *w);
        assert_fine(test_ctx, tnp_linear_train(test_ctx, &linear, cost, w, &out));
        assert_true(out.converged);
        assert_true(out.passes < 200);
    }
    tnp_task_free(task);
    free(w);
    tnp_design_free(x);
    setting_free(&s);
}

/* ---- surroundings ---- */

/* Own loops do not know the number of threads, and products by BLAS differ by roundings. */
static void threads_change_roundings_only(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 300, 40, CLASSES, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 100, 100, 1, NULL, NULL);
    double f[2] = {0};
    for (int many = 0; many < 2; ++many) {
        tn_ctx *other = ctx_of(many ? 3 : 1);
        float *w = weights_for(x, &c);
        size_t passes;
        assert_fine(other, solve_in(other, x, &c, true, true, w, &passes));
        for (size_t j = 0; j < CLASSES; ++j)
            f[many] += objective(&s, &c, j, true, w);
        free(w);
        ctx_done(other);
    }
    assert_near(f[0] / f[1], 1, GAP);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 6, CLASSES, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 100, 100, 1, NULL, NULL);
    float *w = weights_for(x, &c);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1, passes;
    for (;; ++k) {
        memset(w, 0, CLASSES * 7 * sizeof *w);
        tnp_fail_allocation(test_ctx, k);
        tn_status st = solve_in(test_ctx, x, &c, true, true, w, &passes);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 30);
    free(w);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

static void a_cancel_stops_it(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 6, CLASSES, TN_TASK_MULTICLASS, AS_F32);
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    tn_ctx *other = ctx_of(0);
    tnp_design *x = NULL;
    size_t passes;
    assert_fine(other, tnp_design_new(other, (const tn_feed *const *)s.feed, 2, 0, &x));
    float *w = weights_for(x, &c);
    tn_ctx_cancel(other);
    assert_fails(other, TN_ERR_INTERRUPTED, "", solve_in(other, x, &c, true, true, w, &passes));
    free(w);
    tnp_design_free(x);
    ctx_done(other);
    columns_free(&c);
    setting_free(&s);
}

/* What it says it needs covers what it takes. */
static void the_estimate_covers_the_memory(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{20, 4}, {300, 10}, {1500, 40}, {60, 400}};
    for (size_t z = 0; z < 4; ++z) {
        setting s = setting_of(REF_SIGNED, shapes[z][0], shapes[z][1], 8, TN_TASK_MULTICLASS, AS_F32);
        tnp_design *x = design_of(&s);
        side_by_side c = columns_of(&s, 10, 10, 1, NULL, NULL);
        float *w = weights_for(x, &c);
        size_t passes;
        tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + tnp_active_bytes(x->rows, x->dim));
        tn_status st = solve_in(test_ctx, x, &c, true, true, w, &passes);
        tn_ctx_set_memory(test_ctx, 0);
        assert_int_equal(st, TN_OK);
        free(w);
        columns_free(&c);
        tnp_design_free(x);
        setting_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_optima_at_every_cost),
        cmocka_unit_test(free_intercepts),
        cmocka_unit_test(a_path_ends_where_single_solves_do),
        cmocka_unit_test(passes_hardly_grow_with_the_cost),
        cmocka_unit_test(inseparable_classes_reach_their_gap_at_a_large_cost),
        cmocka_unit_test(threads_change_roundings_only),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_cancel_stops_it),
        cmocka_unit_test(the_estimate_covers_the_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
