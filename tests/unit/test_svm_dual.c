/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent of all columns side by side against the same visits one after the other in long double, against
 * the optimum, and against its own certificate.
 *
 * Tolerances. u = 2^-24. A score is a sum of d + 1 products in float, so that a primal objective is off by
 * ref_svm_rounding at (d + 3) u. w is brought up to date once a block: after m blocks it has drifted from sum y alpha x
 * by m roundings of random sign, 4 sqrt(m) u of it, which enters the dual as that part of |w|^2. By the Gram a score is
 * a sum of alpha_t x_t'x_i, each off by (d + 2) u |x_t| |x_i|, and kept over m blocks; it enters primal and dual:
 * gram_slop. */
#include "dual_of.h"

enum { BLOCK = 128 };

/* ---- the visits ---- */

static void shuffle(tnp_rng *rng, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        order[i] = i;
    tnp_rng_shuffle(rng, order, count);
}

/* Rows in the order of pass `number`: all shuffled; streamed rows: runs shuffled, put together into blocks, and the
 * rows of each block shuffled. */
static void order_of_pass(const tnp_design *x, const tnp_dual_options *opt, size_t number, size_t *order)
{
    tnp_rng rng;
    tnp_rng_init(&rng, opt->seed, number);
    if (x->resident || opt->gram) {
        shuffle(&rng, order, x->rows);
        return;
    }
    size_t run = tnp_max(1, x->block / 64), count = (x->rows + run - 1) / run, each = x->block / run, at = 0;
    size_t *runs = ref_alloc(count, sizeof *runs), *lies = ref_alloc(x->block, sizeof *lies),
           *mixed = ref_alloc(x->block, sizeof *mixed);
    shuffle(&rng, runs, count);
    for (size_t r = 0; r < count; r += each) {
        size_t n = 0;
        for (size_t b = r; b < tnp_min(count, r + each); ++b)
            for (size_t i = runs[b] * run; i < tnp_min(x->rows, (runs[b] + 1) * run); ++i)
                lies[n++] = i;
        shuffle(&rng, mixed, n);
        for (size_t t = 0; t < n; ++t)
            order[at++] = lies[mixed[t]];
    }
    free(runs);
    free(lies);
    free(mixed);
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
            order_of_pass(x, opt, pass, order);
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

/* |x_i|, the constant included. */
static double length_of(const setting *s, size_t i, bool bias)
{
    double square = bias;
    for (size_t j = 0; j < s->p.d; ++j)
        square += s->p.x[i * s->p.d + j] * s->p.x[i * s->p.d + j];
    return sqrt(square);
}

/* Each visit rounds a score of size S = max |x| |w| (a sum of d products, changed up to BLOCK times) and with it alpha by
 * S / |x|^2, which moves w by S / |x|. Exact visits do not enlarge an error (they are projections in the norm of the
 * dual), and roundings have random signs: 4 sqrt(visits (d + BLOCK)) u S / |x|. By the Gram S is max |x| sum alpha
 * |x|. */
static void check_visits(size_t n, size_t d, size_t k, int form, size_t stream)
{
    bool squared = form & 1, bias = form & 2, gram = form & 4;
    setting s = setting_of(REF_SIGNED, n, d, k, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 0.7, 0.3, 1, NULL, NULL);
    if (stream)
        cut(x, stream, false);
    for (size_t passes = 1; passes < 4; ++passes) {
        tnp_dual_options opt = {squared, bias, 0, passes, 11, gram, false, false};
        solved v = solve(x, &c, &opt);
        double longest = 0, shortest = INFINITY, weights = 0;
        for (size_t i = 0; i < n; ++i) {
            longest = fmax(longest, length_of(&s, i, bias));
            shortest = fmin(shortest, length_of(&s, i, bias));
        }
        for (size_t j = 0; j < k; ++j) {
            double square = 0, sum = 0;
            for (size_t i = 0; i <= d; ++i)
                square += (double)v.w[j * (d + 1) + i] * (double)v.w[j * (d + 1) + i];
            for (size_t i = 0; i < n; ++i)
                sum += (double)v.alpha[i * k + j] * length_of(&s, i, bias);
            weights = fmax(weights, gram ? sum : sqrt(square));
        }
        double tolerance = 4 * sqrt((double)(passes * n * (d + BLOCK))) * U * longest * weights / shortest;
        double got = distance(&s, x, &c, &opt, &v, false), reversed = distance(&s, x, &c, &opt, &v, true);
        if (!(got <= tolerance))
            print_error("n %zu d %zu k %zu form %d stream %zu passes %zu: %g > %g\n", n, d, k, form, stream, passes,
                        got, tolerance);
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
    for (int form = 0; form < 8; ++form) {
        for (size_t r = 0; r < 5; ++r)
            check_visits(rows[r], 12, 3, form, 0);
        check_visits(140, 12, 33, form, 0); /* more columns than one thread takes at once */
        check_visits(300, 12, 3, form, form & 1 ? 70 : 150);
        check_visits(130, 200, 3, form, form & 1 ? 0 : 40);
    }
}

/* Threads take ranges of columns; rows so wide that a panel is 128 of them, and that the products of a block are summed
 * up piece by piece. */
static void threads_and_panels_equal_single_visits(void **state)
{
    (void)state;
    size_t before = tn_ctx_threads(test_ctx);
    tn_ctx_set_threads(test_ctx, 3);
    check_visits(140, 4100, 3, 1, 0);
    check_visits(140, 4100, 3, 2, 70);
    check_visits(70, 1000, 65, 3, 0);
    check_visits(110, 500, 25, 0, 0);
    tn_ctx_set_threads(test_ctx, before);
}

/* ---- the optimum ---- */

static double slop(const ref_svm *p, const ref_real *w, size_t passes)
{
    double square = 0, blocks = (double)(passes * ((p->n + BLOCK - 1) / BLOCK));
    for (size_t j = 0; j <= p->d; ++j)
        square += (double)(w[j] * w[j]);
    return (double)ref_svm_rounding(p, w, ((double)p->d + 3) * U) + 4 * sqrt(blocks) * U * square;
}

static double gram_slop(const setting *s, const ref_svm *p, const ref_real *w, const float *alpha, size_t count,
                        size_t passes)
{
    double blocks = (double)(passes * ((p->n + BLOCK - 1) / BLOCK)), sum = 0, move = 0;
    for (size_t t = 0; t < p->n; ++t)
        sum += (double)alpha[t * count] * length_of(s, t, p->bias);
    for (size_t i = 0; i < p->n; ++i) {
        double e = ((double)p->d + 2 + 4 * sqrt(blocks)) * U * sum * length_of(s, i, p->bias), score = (double)w[p->d];
        for (size_t j = 0; j < p->d; ++j)
            score += p->x[i * p->d + j] * (double)w[j];
        double slack = fmax(0, 1 - p->y[i] * score);
        move += p->c[i] * (p->squared ? 2 * slack + e : 1) * e + (double)alpha[i * count] * e;
    }
    return move + (double)ref_svm_rounding(p, w, ((double)p->d + 3) * U);
}

/* Feasible multipliers, w made of them, the objective of w, a gap that covers the distance from the optimum. */
static void check_column(const setting *s, const side_by_side *c, size_t j, const tnp_dual_options *opt,
                         const solved *v)
{
    size_t n = s->p.n, width = s->p.d + 1;
    ref_svm p = svm_of(s, c, j, opt->squared, opt->bias);
    ref_real *w = widened(v->w + j * width, width), *best = ref_alloc(width, sizeof *best);
    double optimum = (double)ref_svm_solve(&p, NULL, best), f = (double)ref_svm_primal(&p, w);
    double rounding =
        opt->gram ? gram_slop(s, &p, w, v->alpha + j, c->columns.count, v->info.passes) : slop(&p, w, v->info.passes);
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
        for (int form = 0; form < 8; ++form) {
            bool squared = form & 1, bias = form & 2, gram = form & 4;
            setting s =
                setting_of((ref_kind)kind, 30, 5, 3, kind % 2 ? TN_TASK_MULTICLASS : TN_TASK_MULTILABEL, AS_F32);
            tnp_design *x = design_of(&s);
            for (size_t z = 0; z < 3; ++z) {
                side_by_side c = columns_of(&s, costs[z], 0.5 * costs[z], 1, NULL, NULL);
                tnp_dual_options opt = {squared, bias, 1e-4, 2000, 3, gram, false, false};
                solved v = solve(x, &c, &opt);
                bool slow = z == 2; /* a large C needs tens of thousands of passes in any precision */
                if (!v.info.converged && !slow)
                    print_error("%s, form %d, C %g: not converged in %zu passes\n", ref_kind_name((ref_kind)kind), form,
                                costs[z], v.info.passes);
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
    for (int gram = 0; gram < 2; ++gram) {
        tnp_dual_options opt = {false, false, 1e-4, 1000, 3, gram, false, false};
        solved v = solve(x, &c, &opt);
        assert_true(v.info.converged);
        assert_true(v.gap[0] < 0.1 && v.gap[1] < 0.1);
        assert_true(v.alpha[3 * 2] == 1);
        solved_free(&v);
    }
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
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
    for (int form = 0; form < 4; ++form) {
        side_by_side c = columns_of(&s, 2, 1, 4, fold, weight);
        tnp_dual_options opt = {form & 1, true, 1e-5, 5000, 9, form & 2, false, false};
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
    for (int form = 0; form < 16; ++form) {
        bool squared = form & 1, bias = form & 2, gram = form & 8;
        tnp_design *x = design_of(&s);
        solved warm = {0};
        if (form & 4)
            cut(x, 17, false);
        for (double cost = 0.25; cost < 5; cost *= 4) {
            side_by_side c = columns_of(&s, cost, cost, 1, NULL, NULL);
            tnp_dual_options opt = {squared, bias, 1e-5, 5000, 4, gram, false, false};
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
    for (size_t passes = 1; passes < 17; ++passes) {
        tnp_dual_options opt = {true, true, 1e-4, 1 + passes / 2, 4, passes % 2, false, false};
        solved v = solve(x, &c, &opt);
        size_t done = 0;
        for (size_t j = 0; j < 4; ++j) {
            ref_svm p = svm_of(&s, &c, j, true, true);
            ref_real *w = widened(v.w + j * 9, 9);
            double rounding =
                opt.gram ? gram_slop(&s, &p, w, v.alpha + j, 4, opt.max_passes) : slop(&p, w, opt.max_passes);
            assert_true(fabs(v.objective[j] - (double)ref_svm_primal(&p, w)) <= rounding);
            done += v.gap[j] <= 1e-4 * v.objective[j];
            free(w);
        }
        mixed += done > 0 && done < 4;
        solved_free(&v);
    }
    assert_true(mixed > 4);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

/* Fewer rows than columns; a class of all rows, a class of none, columns that repeat; either loss. */
static void wide_designs_by_the_gram(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{1, 3}, {2, 40}, {25, 60}, {40, 300}};
    for (size_t z = 0; z < 4; ++z)
        for (int form = 0; form < 8; ++form) {
            size_t n = shapes[z][0], d = shapes[z][1];
            setting s = setting_of(form & 4 ? REF_SIGNED : REF_DUPLICATED, n, d, 3, TN_TASK_MULTILABEL, AS_F32);
            size_t *first = ref_alloc(n + 1, sizeof *first);
            uint32_t *cls = ref_alloc(2 * n, sizeof *cls);
            for (size_t i = 0, at = 0; i < n; ++i) { /* class 0 has all rows, 1 some, 2 none */
                cls[at++] = 0;
                if (i % 3 == 1)
                    cls[at++] = 1;
                first[i + 1] = at;
                for (size_t j = 0; j < 3; ++j)
                    s.p.y[i * 3 + j] = j == 0 || (j == 1 && i % 3 == 1);
            }
            s.y.first = first;
            s.y.cls = cls;
            tnp_design *x = design_of(&s);
            side_by_side c = columns_of(&s, 1, 0.5, 1, NULL, NULL);
            tnp_dual_options opt = {form & 1, form & 2, 1e-4, 20000, 3, true, false, false};
            solved v = solve(x, &c, &opt);
            assert_true(v.info.converged);
            for (size_t j = 0; j < 3; ++j)
                check_column(&s, &c, j, &opt, &v);
            solved_free(&v);
            columns_free(&c);
            tnp_design_free(x);
            free(first);
            free(cls);
            setting_free(&s);
        }
}

/* Long rows and classes apart: |w|^2 is so small that roundings of the scores of support vectors, at full price, are
 * more than the gap asked for. It is reached all the same, and holds for the w that is handed out. */
static void long_rows_have_a_certificate(void **state)
{
    (void)state;
    enum { N = 60, D = 200 };
    setting s = setting_of(REF_SIGNED, N, D, 3, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    for (size_t i = 0; i < (size_t)N * D; ++i) {
        s.p.x[i] *= 1024;
        x->data[i] *= 1024;
    }
    side_by_side c = columns_of(&s, 1e3, 1e3, 1, NULL, NULL);
    for (int gram = 0; gram < 2; ++gram) {
        tnp_dual_options opt = {false, true, 1e-4, 2000, 3, gram, false, false};
        solved v = solve(x, &c, &opt);
        assert_true(v.info.converged);
        for (size_t j = 0; j < 3; ++j) {
            ref_svm p = svm_of(&s, &c, j, false, true);
            ref_real *w = widened(v.w + j * (D + 1), D + 1), *best = ref_alloc(D + 1, sizeof *best);
            double optimum = (double)ref_svm_solve(&p, NULL, best), f = (double)ref_svm_primal(&p, w);
            /* no row is below the margin: what is left of the objective is |w|^2 / 2, exact to (D + 3) u */
            assert_true(f >= optimum * (1 - 1e-11) && f <= optimum * (1 + 1.1e-4));
            assert_true(fabs(v.objective[j] - f) <= (D + 3) * U * f);
            free(w);
            free(best);
        }
        solved_free(&v);
    }
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

/* Our own loops give the same for every number of threads; the BLAS to rounding. */
static void threads_change_nothing_by_the_gram(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 300, 40, 70, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    const float *gram = NULL;
    assert_fine(test_ctx, tnp_design_gram(test_ctx, x, &gram));
    tnp_dual_options opt = {false, true, 1e-4, 40, 3, true, false, false};
    size_t before = tn_ctx_threads(test_ctx);
    tn_ctx_set_threads(test_ctx, 1);
    solved one = solve(x, &c, &opt);
    const size_t threads[] = {2, 3, 7};
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx_set_threads(test_ctx, threads[t]);
        solved v = solve(x, &c, &opt);
        for (size_t j = 0; j < 70; ++j)
            assert_true(fabs(v.objective[j] - one.objective[j]) <= v.gap[j] + one.gap[j]);
        solved_free(&v);
    }
    tn_ctx_set_threads(test_ctx, before);
    solved_free(&one);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

/* ---- faults ---- */

static void check_allocations(bool gram)
{
    setting s = setting_of(REF_SIGNED, 20, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    tnp_dual_options opt = {true, true, 1e-3, 500, 3, gram, false, false};
    solved v = room_for(x, &c);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tnp_free(x->gram); /* which a solve leaves with the design */
        x->gram = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_dual_solve(test_ctx, x, &c.columns, &opt, v.alpha, v.w, v.objective, v.gap, &v.info);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks + (x->gram ? 1 : 0));
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_true(v.objective[0] == 0 && v.gap[0] == 0);
    }
    assert_true(k > 8);
    solved_free(&v);
    columns_free(&c);
    tnp_design_free(x);
    setting_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    check_allocations(false);
    check_allocations(true);
}

static void a_cancel_stops_it(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    tn_ctx *other = NULL;
    tnp_design *x = NULL;
    side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
    for (int form = 0; form < 3; ++form) {
        const float *gram = NULL;
        tnp_dual_options opt = {true, true, 0, 500, 3, form > 0, false, false};
        other = ctx_of(0);
        assert_fine(other, tnp_design_new(other, (const tn_feed *const *)s.feed, 2, 0, &x));
        solved v = room_for(x, &c);
        if (form == 2)
            assert_fine(other, tnp_design_gram(other, x, &gram)); /* then it stops within the passes */
        tn_ctx_cancel(other);
        assert_fails(other, TN_ERR_INTERRUPTED, "",
                     tnp_dual_solve(other, x, &c.columns, &opt, NULL, v.w, v.objective, v.gap, &v.info));
        tnp_design_free(x);
        ctx_done(other);
        solved_free(&v);
    }
    columns_free(&c);
    setting_free(&s);
}

/* What the solve says it needs covers what it takes. */
static void the_estimate_covers_the_memory(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{20, 4}, {300, 10}, {1500, 40}, {100, 4000}};
    for (size_t z = 0; z < 8; ++z) {
        bool gram = z >= 4;
        setting s = setting_of(REF_SIGNED, shapes[z % 4][0], shapes[z % 4][1], 3, TN_TASK_MULTICLASS, AS_F32);
        tnp_design *x = design_of(&s);
        side_by_side c = columns_of(&s, 1, 1, 1, NULL, NULL);
        tnp_dual_options opt = {true, true, 1e-3, 20, 3, gram, false, false};
        size_t now = tn_ctx_memory_now(test_ctx), need = tnp_dual_bytes(x->rows, x->dim, c.columns.count, gram);
        if (z == 7) { /* products of streamed rows: a band besides, and what a feed takes for one of two sides */
            x->resident = false;
            need += x->rows * (x->dim / 2 * sizeof(float) + 1);
        }
        tn_ctx_set_memory(test_ctx, now + need);
        solved v = room_for(x, &c);
        tn_status st = tnp_dual_solve(test_ctx, x, &c.columns, &opt, NULL, v.w, v.objective, v.gap, &v.info);
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
        cmocka_unit_test(threads_and_panels_equal_single_visits),
        cmocka_unit_test(optimum_and_certificate),
        cmocka_unit_test(a_row_of_zeros_has_its_full_multiplier),
        cmocka_unit_test(folds_are_trainings_on_the_rest),
        cmocka_unit_test(warm_cold_and_streamed),
        cmocka_unit_test(figures_of_columns_that_were_not_solved),
        cmocka_unit_test(wide_designs_by_the_gram),
        cmocka_unit_test(long_rows_have_a_certificate),
        cmocka_unit_test(threads_change_nothing_by_the_gram),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_cancel_stops_it),
        cmocka_unit_test(the_estimate_covers_the_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
