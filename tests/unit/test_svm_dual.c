/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent of all columns side by side against the same visits one after the other in long double, against
 * the optimum, and against its own certificate.
 *
 * Tolerances. u = 2^-24. A score is a sum of d + 1 products in float, so that a primal objective is off by
 * ref_svm_rounding at (d + 3) u. w is brought up to date once a block: after m blocks it has drifted from sum y alpha x by m
 * roundings of random sign, 4 sqrt(m) u of it, which enters the dual as that part of |w|^2. */
#include "design_of.h"
#include "learn/svm_dual.h"

enum { BLOCK = 128 };

typedef struct solved {
    float *alpha, *w; /* (n, count), (count, d+1) */
    double *objective, *gap;
    tnp_dual_info info;
} solved;

static solved room_for(const tnp_design *x, const side_by_side *c)
{
    size_t count = c->columns.count;
    return (solved){.alpha = ref_alloc(x->rows * count, sizeof(float)),
                    .w = ref_alloc(count * (x->dim + 1), sizeof(float)),
                    .objective = ref_alloc(count, sizeof(double)),
                    .gap = ref_alloc(count, sizeof(double))};
}

static void solved_free(solved *v)
{
    free(v->alpha);
    free(v->w);
    free(v->objective);
    free(v->gap);
}

static solved solve(tnp_design *x, const side_by_side *c, const tnp_dual_options *opt)
{
    solved v = room_for(x, c);
    assert_fine(test_ctx, tnp_dual_solve(test_ctx, x, &c->columns, opt, v.alpha, v.w, v.objective, v.gap, &v.info));
    return v;
}

/* ---- the visits ---- */

static void shuffle(tnp_rng *rng, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        order[i] = i;
    tnp_rng_shuffle(rng, order, count);
}

/* Rows in the order of pass `number`: all shuffled; streamed: blocks shuffled, and rows within each. */
static void order_of_pass(const tnp_design *x, uint64_t seed, size_t number, size_t *order)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, number);
    if (x->resident) {
        shuffle(&rng, order, x->rows);
        return;
    }
    size_t *blocks = ref_alloc(x->blocks, sizeof *blocks), at = 0;
    shuffle(&rng, blocks, x->blocks);
    for (size_t b = 0; b < x->blocks; ++b) {
        size_t start = blocks[b] * x->block, n = tnp_min(x->block, x->rows - start);
        shuffle(&rng, order + at, n);
        for (size_t t = 0; t < n; ++t)
            order[at++] += start;
    }
    free(blocks);
}

/* Largest difference of w from the sequential algorithm's, over the columns; `other`: visit in the opposite order. */
static double distance(const setting *s, const tnp_design *x, const side_by_side *c, const tnp_dual_options *opt,
                       const solved *v, bool other)
{
    size_t n = s->p.n, width = s->p.d + 1, *order = ref_alloc(n, sizeof *order);
    double most = 0;
    for (size_t j = 0; j < c->columns.count; ++j) {
        ref_svm p = svm_of(s, c, j, opt->squared, opt->bias);
        ref_real *alpha = ref_alloc(n, sizeof *alpha), *w = ref_alloc(width, sizeof *w);
        for (size_t pass = 0; pass < opt->max_passes; ++pass) {
            order_of_pass(x, opt->seed, pass, order);
            for (size_t t = 0; other && t < n / 2; ++t) {
                size_t keep = order[t];
                order[t] = order[n - 1 - t];
                order[n - 1 - t] = keep;
            }
            ref_svm_visit(&p, order, n, alpha, w);
        }
        for (size_t i = 0; i < width; ++i)
            most = fmax(most, fabs((double)(w[i] - (ref_real)v->w[j * width + i])));
        free(alpha);
        free(w);
    }
    free(order);
    return most;
}

/* Each visit rounds a score of size S = max |x| |w| (a sum of d products, changed up to BLOCK times) and with it alpha by
 * S / |x|^2, which moves w by S / |x|. Exact visits do not enlarge an error (they are projections in the norm of the dual),
 * and roundings have random signs: 4 sqrt(visits (d + BLOCK)) u S / |x|. */
static void check_visits(size_t n, size_t k, bool squared, bool bias, size_t stream)
{
    setting s = setting_of(REF_SIGNED, n, 12, k, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 0.7, 0.3, 1, NULL, NULL);
    if (stream)
        cut(x, stream, false);
    for (size_t passes = 1; passes < 4; ++passes) {
        tnp_dual_options opt = {squared, bias, 0, passes, 11};
        solved v = solve(x, &c, &opt);
        double longest = 0, shortest = INFINITY, weights = 0;
        for (size_t i = 0; i < n; ++i) {
            double square = bias;
            for (size_t j = 0; j < 12; ++j)
                square += s.p.x[i * 12 + j] * s.p.x[i * 12 + j];
            longest = fmax(longest, sqrt(square));
            shortest = fmin(shortest, sqrt(square));
        }
        for (size_t j = 0; j < k; ++j) {
            double square = 0;
            for (size_t i = 0; i < 13; ++i)
                square += (double)v.w[j * 13 + i] * (double)v.w[j * 13 + i];
            weights = fmax(weights, sqrt(square));
        }
        double tolerance = 4 * sqrt((double)(passes * n) * (12 + BLOCK)) * U * longest * weights / shortest;
        double got = distance(&s, x, &c, &opt, &v, false), reversed = distance(&s, x, &c, &opt, &v, true);
        if (!(got <= tolerance))
            print_error("n %zu k %zu squared %d bias %d stream %zu passes %zu: %g > %g\n", n, k, squared, bias, stream,
                        passes, got, tolerance);
        assert_true(got <= tolerance);
        assert_true(n < 100 || reversed > 10 * tolerance); /* the order is seen, so the comparison can fail */
        assert_int_equal(v.info.passes, passes);
        assert_false(v.info.converged);
        solved_free(&v);
    }
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

static void blocks_equal_single_visits(void **state)
{
    (void)state;
    const size_t rows[] = {5, 127, 128, 129, 300};
    for (size_t r = 0; r < 5; ++r)
        for (int form = 0; form < 4; ++form)
            check_visits(rows[r], 3, form & 1, form & 2, 0);
    check_visits(140, 33, true, true, 0); /* more columns than one thread takes at once */
    check_visits(300, 3, true, true, 70);
    check_visits(300, 3, false, false, 150);
}

/* ---- the optimum ---- */

static double slop(const ref_svm *p, const ref_real *w, size_t passes)
{
    double square = 0, blocks = (double)(passes * ((p->n + BLOCK - 1) / BLOCK));
    for (size_t j = 0; j <= p->d; ++j)
        square += (double)(w[j] * w[j]);
    return (double)ref_svm_rounding(p, w, ((double)p->d + 3) * U) + 4 * sqrt(blocks) * U * square;
}

/* Feasible multipliers, w made of them, the objective of w, a gap that covers the distance from the optimum. */
static void check_column(const setting *s, const side_by_side *c, size_t j, const tnp_dual_options *opt,
                         const solved *v)
{
    size_t n = s->p.n, width = s->p.d + 1;
    ref_svm p = svm_of(s, c, j, opt->squared, opt->bias);
    ref_real *w = widened(v->w + j * width, width), *best = ref_alloc(width, sizeof *best);
    double optimum = (double)ref_svm_solve(&p, NULL, best), f = (double)ref_svm_primal(&p, w);
    double rounding = slop(&p, w, v->info.passes);
    for (size_t i = 0; i < n; ++i) {
        float alpha = v->alpha[i * c->columns.count + j];
        assert_true(alpha >= 0 && (opt->squared || (double)alpha <= p.c[i]));
        assert_true(p.c[i] > 0 || alpha == 0);
    }
    assert_true(fabs(v->objective[j] - f) <= rounding);
    assert_true(f >= optimum * (1 - 1e-11));
    assert_true(f - optimum <= v->gap[j] + rounding);
    assert_true(v->gap[j] >= 0);
    assert_true(opt->bias || v->w[j * width + width - 1] == 0);
    double apart = 0; /* 1-strongly convex: |w - w*|^2 <= 2 (f - f*) */
    for (size_t i = 0; i < width; ++i)
        apart += (double)((w[i] - best[i]) * (w[i] - best[i]));
    assert_true(apart <= 2 * (v->gap[j] + rounding));
    free(w);
    free(best);
}

static void optimum_and_certificate(void **state)
{
    (void)state;
    const double costs[] = {0.02, 0.5, 5};
    for (int kind = 0; kind < REF_KINDS; ++kind)
        for (int form = 0; form < 4; ++form) {
            bool squared = form & 1, bias = form & 2;
            setting s =
                setting_of((ref_kind)kind, 30, 5, 3, kind % 2 ? TN_TASK_MULTICLASS : TN_TASK_MULTILABEL, AS_F32);
            tnp_design *x = design_of(&s);
            for (size_t z = 0; z < 3; ++z) {
                side_by_side c = columns_of(&s, costs[z], 0.5 * costs[z], 1, NULL, NULL);
                tnp_dual_options opt = {squared, bias, 1e-4, 2000, 3};
                solved v = solve(x, &c, &opt);
                bool slow = z == 2; /* a large C needs tens of thousands of passes in any precision */
                if (!v.info.converged && !slow)
                    print_error("%s, squared %d, bias %d, C %g: not converged in %zu passes\n",
                                ref_kind_name((ref_kind)kind), squared, bias, costs[z], v.info.passes);
                assert_true(v.info.converged || slow);
                for (size_t j = 0; j < 3; ++j) {
                    check_column(&s, &c, j, &opt, &v);
                    assert_true(v.gap[j] <= 1e-4 * v.objective[j] || slow);
                }
                solved_free(&v);
                columns_free(&c);
            }
            tnp_design_free(x);
            setting_free(&s);
        }
}

/* Without an intercept a row of zeros has loss 1 whatever w is: its multiplier is c, or the gap never closes. */
static void a_row_of_zeros_has_its_full_multiplier(void **state)
{
    (void)state;
    setting s = setting_of(REF_ZERO_ROWS, 40, 6, 2, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    tnp_dual_options opt = {false, false, 1e-4, 1000, 3};
    solved v = solve(x, &c, &opt);
    double sure[2] = {v.gap[0], v.gap[1]};
    bool converged = v.info.converged;
    float zero_row = v.alpha[3 * 2];
    solved_free(&v);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
    assert_true(converged);
    assert_true(sure[0] < 0.1 && sure[1] < 0.1);
    assert_true(zero_row == 1);
}

/* Folds side by side are trainings on the rows that remain; held-out rows cost nothing and get nothing. */
static void folds_are_trainings_on_the_rest(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 60, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    uint32_t fold[60];
    float weight[60];
    for (size_t i = 0; i < 60; ++i) {
        fold[i] = (uint32_t)(i * 7 % 4);
        weight[i] = (float)(1 + i % 3);
    }
    for (int squared = 0; squared < 2; ++squared) {
        side_by_side c = columns_of(&s, 2, 1, 4, fold, weight);
        tnp_dual_options opt = {squared, true, 1e-5, 5000, 9};
        solved v = solve(x, &c, &opt);
        assert_true(v.info.converged);
        for (size_t j = 0; j < 12; ++j)
            check_column(&s, &c, j, &opt, &v);
        solved_free(&v);
        columns_free(&c);
    }
    tnp_design_free(x);
    setting_free(&s);
}

/* From the multipliers of a smaller C, from nothing, streamed or not: one optimum. */
static void warm_cold_and_streamed(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 60, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    for (int form = 0; form < 8; ++form) {
        bool squared = form & 1, bias = form & 2;
        tnp_design *x = design_of(&s);
        solved warm = {0};
        if (form & 4)
            cut(x, 17, false);
        for (double cost = 0.25; cost < 5; cost *= 4) {
            side_by_side c = columns_of(&s, cost, cost, 1, NULL, NULL);
            tnp_dual_options opt = {squared, bias, 1e-5, 5000, 4};
            solved cold = solve(x, &c, &opt);
            if (warm.w)
                assert_fine(test_ctx, tnp_dual_solve(test_ctx, x, &c.columns, &opt, warm.alpha, warm.w, warm.objective,
                                                     warm.gap, &warm.info));
            else
                warm = solve(x, &c, &opt);
            assert_true(cold.info.converged && warm.info.converged);
            for (size_t j = 0; j < 3; ++j) {
                check_column(&s, &c, j, &opt, &cold);
                check_column(&s, &c, j, &opt, &warm);
            }
            solved_free(&cold);
            columns_free(&c);
        }
        solved_free(&warm);
        tnp_design_free(x);
    }
    setting_free(&s);
}

/* When the passes run out, some columns solved and some not, each column still gets its own figures. */
static void figures_of_columns_that_were_not_solved(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 80, 8, 4, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    const double costs[] = {1e-4, 50, 3e-4, 200};
    size_t mixed = 0;
    for (size_t j = 0; j < 4; ++j) {
        c.positive[j] = c.negative[j] = (float)costs[j];
        for (size_t i = 0; i < 80; ++i)
            c.cost[j * 80 + i] = (double)c.positive[j];
    }
    for (size_t passes = 1; passes < 9; ++passes) {
        tnp_dual_options opt = {true, true, 1e-4, passes, 4};
        solved v = solve(x, &c, &opt);
        size_t done = 0;
        for (size_t j = 0; j < 4; ++j) {
            ref_svm p = svm_of(&s, &c, j, true, true);
            ref_real *w = widened(v.w + j * 9, 9);
            assert_true(fabs(v.objective[j] - (double)ref_svm_primal(&p, w)) <= slop(&p, w, passes));
            done += v.gap[j] <= 1e-4 * v.objective[j];
            free(w);
        }
        mixed += done > 0 && done < 4;
        solved_free(&v);
    }
    assert_true(mixed > 2);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

/* ---- faults ---- */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    tnp_dual_options opt = {true, true, 1e-3, 500, 3};
    solved v = room_for(x, &c);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_dual_solve(test_ctx, x, &c.columns, &opt, v.alpha, v.w, v.objective, v.gap, &v.info);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_true(v.w[0] == 0 && v.objective[0] == 0);
    }
    assert_true(k > 8);
    solved_free(&v);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

static void a_cancel_stops_it(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    tn_ctx *other = NULL;
    tnp_design *x = NULL;
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    tnp_dual_options opt = {true, true, 0, 500, 3};
    assert_int_equal(tn_ctx_new(&other), TN_OK);
    assert_fine(other, tnp_design_new(other, (const tn_feed *const *)s.feed, 2, 0, &x));
    solved v = room_for(x, &c);
    tn_ctx_cancel(other);
    assert_fails(other, TN_ERR_INTERRUPTED, "",
                 tnp_dual_solve(other, x, &c.columns, &opt, NULL, v.w, v.objective, v.gap, &v.info));
    tnp_design_free(x);
    assert_int_equal(tnp_live_blocks(other), 0);
    tn_ctx_free(other);
    solved_free(&v);
    columns_free(&c);
    setting_free(&s);
}

/* What the solve says it needs covers what it takes. */
static void the_estimate_covers_the_memory(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{20, 4}, {300, 10}, {1500, 40}};
    for (size_t z = 0; z < 3; ++z) {
        setting s = setting_of(REF_SIGNED, shapes[z][0], shapes[z][1], 3, TN_TASK_MULTICLASS, AS_F32);
        tnp_design *x = design_of(&s);
        side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
        tnp_dual_options opt = {true, true, 1e-3, 20, 3};
        size_t now = tn_ctx_memory_now(test_ctx), need = tnp_dual_bytes(x->rows, x->dim, c.columns.count);
        tn_ctx_set_memory(test_ctx, now + need);
        solved v = room_for(x, &c);
        tn_status st = tnp_dual_solve(test_ctx, x, &c.columns, &opt, v.alpha, v.w, v.objective, v.gap, &v.info);
        tn_ctx_set_memory(test_ctx, 0);
        solved_free(&v);
        columns_free(&c);
        tnp_design_free(x);
        setting_free(&s);
        assert_int_equal(st, TN_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_equal_single_visits),
        cmocka_unit_test(optimum_and_certificate),
        cmocka_unit_test(a_row_of_zeros_has_its_full_multiplier),
        cmocka_unit_test(folds_are_trainings_on_the_rest),
        cmocka_unit_test(warm_cold_and_streamed),
        cmocka_unit_test(figures_of_columns_that_were_not_solved),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_cancel_stops_it),
        cmocka_unit_test(the_estimate_covers_the_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
