/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sparse logistic regression: the optimality condition and the certificate in long double, scikit-learn's optimum, warm
 * starts, rows left out, threads and failing allocations; and the choice of lambda by refits. */
#include "fixtures/transfer/sklearn_sparse.h"
#include "transfer/sparse_logistic.h"
#include "ref_sparse_logistic.h"
#include "transfer/logistic.h"
#include "transfer_of.h"

typedef struct scene {
    size_t m, p;
    tnp_tiles z;
    double *unscale, *y, *cost;
    ref_real *a, *c; /* the same for the reference */
} scene;

/* a_ij = unscale_i z_ij, both from x, with unscale at random when uneven. */
static scene scene_of(tn_ctx *ctx, size_t m, size_t p, const double *x, const double *y, const double *cost,
                      bool uneven)
{
    scene s = {.m = m, .p = p};
    ref_rng rng = ref_rng_of(m + p);
    assert_fine(ctx, tnp_tiles_init(ctx, m, p, &s.z));
    s.unscale = ref_alloc(m, sizeof *s.unscale);
    s.y = ref_alloc(m, sizeof *s.y);
    s.cost = ref_alloc(m, sizeof *s.cost);
    s.a = ref_alloc(m * p, sizeof *s.a);
    s.c = ref_alloc(m, sizeof *s.c);
    for (size_t i = 0; i < m; ++i) {
        s.unscale[i] = uneven ? 1 + ref_unit(&rng) : 1;
        s.y[i] = y[i];
        s.c[i] = s.cost[i] = cost ? cost[i] : 1;
        for (size_t j = 0; j < p; ++j) {
            double *z = tnp_tile_at(&s.z, i, j);
            *z = x[i * p + j] / s.unscale[i];
            s.a[i * p + j] = (ref_real)*z * s.unscale[i];
        }
    }
    return s;
}

static void scene_free(scene *s)
{
    tnp_tiles_destroy(&s->z);
    free(s->unscale);
    free(s->y);
    free(s->cost);
    free(s->a);
    free(s->c);
}

static tnp_sparse_problem problem_at(const scene *s, double lambda, double mix)
{
    return (tnp_sparse_problem){&s->z, s->unscale, s->y, s->cost, lambda, mix};
}

static ref_sparse reference_at(const scene *s, double lambda, double mix)
{
    return (ref_sparse){s->m, s->p, s->a, s->y, s->c, lambda, mix};
}

/* Objective and scores are those of the weights; the least by the reference lies within the certified gap. */
static void check_fit(const scene *s, const tnp_sparse_fit *fit, double lambda, double mix, double tolerance,
                      const ref_real *least)
{
    ref_sparse ref = reference_at(s, lambda, mix);
    ref_real *w = ref_widen(fit->w, s->p), value = ref_sparse_objective(&ref, w, fit->intercept);
    assert_true(fit->converged && fit->gap <= tolerance * fit->objective);
    assert_near(fit->objective, (double)value, 1e-12);
    assert_true(fit->gap >= -1e-13 * fit->objective);
    for (size_t i = 0; i < s->m; ++i) {
        ref_real sum = fit->intercept;
        for (size_t j = 0; j < s->p; ++j)
            sum += s->a[i * s->p + j] * w[j];
        assert_near_at(i, fit->scores[i], (double)sum, 1e-10);
    }
    if (least) {
        assert_true(value >= *least * (1 - 1e-12L));
        assert_true(value - *least <= fit->gap + 1e-12L * value);
    }
    free(w);
}

/* Against the slow reference, solved to a violation of 1e-12. */
static void optimum_of_the_reference(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{6, 4}, {9, 30}, {20, 7}, {2, 3}};
    static const double lambdas[] = {100, 1, 0.1, 0.01}, mixes[] = {1, 0.5, 0.05};
    tn_ctx *ctx = ctx_of(1);
    for (size_t shape = 0; shape < 4; ++shape)
        for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
            for (size_t l = 0; l < 4; ++l)
                for (size_t x = 0; x < 3; ++x) {
                    ref_transfer r =
                        ref_transfer_of((ref_columns)kind, shapes[shape][0], shapes[shape][1], true, shape);
                    scene s = scene_of(ctx, r.m, r.p, r.x, r.y, r.weights, true);
                    tnp_sparse_problem p = problem_at(&s, lambdas[l], mixes[x]);
                    tnp_sparse_fit fit;
                    ref_real *w = ref_alloc(s.p, sizeof *w), b = 0;
                    ref_sparse ref = reference_at(&s, lambdas[l], mixes[x]);
                    assert_fine(ctx, tnp_sparse_fit_init(ctx, s.m, s.p, &fit));
                    assert_fine(ctx, tnp_sparse_logistic(ctx, &p, 1e-9, &fit));
                    ref_sparse_solve(&ref, 1e-10L, w, &b);
                    ref_real least = ref_sparse_objective(&ref, w, b);
                    check_fit(&s, &fit, lambdas[l], mixes[x], 1e-9, &least);
                    free(w);
                    tnp_sparse_fit_destroy(&fit);
                    scene_free(&s);
                    ref_transfer_free(&r);
                }
    ctx_done(ctx);
}

/* scikit-learn stops by the change of its weights, at 1e-10 of the largest: its objective is above the least by
 * little. */
static void optimum_of_scikit_learn(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t k = 0; k < sizeof sparse_results / sizeof *sparse_results; ++k) {
        const sparse_result *want = &sparse_results[k];
        const sparse_case *c = &sparse_cases[want->problem];
        double *x = ref_alloc(c->rows * c->cols, sizeof *x), *y = ref_alloc(c->rows, sizeof *y);
        double *cost = ref_alloc(c->rows, sizeof *cost);
        for (size_t i = 0; i < c->rows * c->cols; ++i)
            x[i] = c->x[i] / 64.0;
        for (size_t i = 0; i < c->rows; ++i) {
            y[i] = c->y[i];
            cost[i] = c->cost[i] / 8.0;
        }
        scene s = scene_of(ctx, c->rows, c->cols, x, y, cost, false);
        tnp_sparse_problem p = problem_at(&s, want->lambda, want->mix);
        tnp_sparse_fit fit;
        assert_fine(ctx, tnp_sparse_fit_init(ctx, s.m, s.p, &fit));
        assert_fine(ctx, tnp_sparse_logistic(ctx, &p, 1e-10, &fit));
        check_fit(&s, &fit, want->lambda, want->mix, 1e-10, NULL);
        assert_true(fit.objective <= want->objective * (1 + 1e-10));
        assert_true(fit.objective >= want->objective * (1 - 1e-7));
        tnp_sparse_fit_destroy(&fit);
        scene_free(&s);
        free(x);
        free(y);
        free(cost);
    }
    ctx_done(ctx);
}

/* Many columns, several growths of the set, warm starts down the grid; the same bits for every thread count. */
static void paths_and_threads(void **state)
{
    (void)state;
    static const size_t threads[] = {1, 2, 3, 7};
    ref_transfer r = ref_transfer_of(REF_TWINS, 15, 30000, false, 6);
    double *first = ref_alloc(r.p, sizeof *first);
    for (size_t t = 0; t < 4; ++t) {
        tn_ctx *ctx = ctx_of(threads[t]);
        scene s = scene_of(ctx, r.m, r.p, r.x, r.y, NULL, false);
        tnp_sparse_fit fit;
        assert_fine(ctx, tnp_sparse_fit_init(ctx, s.m, s.p, &fit));
        for (double lambda = 10; lambda > 5e-4; lambda /= 10) {
            tnp_sparse_problem p = problem_at(&s, lambda, lambda < 0.05 ? 0.3 : 1);
            assert_fine(ctx, tnp_sparse_logistic(ctx, &p, 1e-7, &fit));
            if (t == 0)
                check_fit(&s, &fit, lambda, p.mix, 1e-7, NULL);
        }
        if (t == 0)
            memcpy(first, fit.w, r.p * sizeof *first);
        assert_memory_equal(fit.w, first, r.p * sizeof *first);
        tnp_sparse_fit_destroy(&fit);
        scene_free(&s);
        ctx_done(ctx);
    }
    free(first);
    ref_transfer_free(&r);
}

enum { ROWS = 9, COLS = 6 };

/* Predictions of the rows left out, and the fit to all, w and b: all by the reference, from w and b as they are. The
 * violation is to be a thousandth of lambda: that moves a weight by about as much. */
static tnp_transfer_score refitted(const ref_transfer *r, ref_sparse *ref, ref_real *c, ref_real *w, ref_real *b,
                                   double *predicted)
{
    ref_real one[COLS];
    ref_sparse_solve(ref, ref->lambda / 1000, w, b);
    for (size_t i = 0; i < ROWS; ++i) {
        ref_real kept = c[i], sum = *b;
        c[i] = 0;
        memcpy(one, w, sizeof one);
        ref_sparse_solve(ref, ref->lambda / 1000, one, &sum);
        c[i] = kept;
        for (size_t j = 0; j < COLS; ++j)
            sum += one[j] * ref->a[i * COLS + j];
        predicted[i] = (double)tanhl(sum / 2);
    }
    return tnp_transfer_score_of(ROWS, r->y, predicted);
}

/* Every lambda of the grid and every row by the reference, without the row. Fits to 1e-6 of the objective and refits to a
 * thousandth of lambda agree to about 1e-3 in the scores and so in the predictions. */
static void check_choice(const ref_transfer *r, const tnp_transfer_model *model, double mix)
{
    ref_real a[ROWS * COLS], c[ROWS], w[COLS] = {0}, b = 0;
    tnp_transfer_score best = {2, 0}, here = {2, 0};
    double predicted[ROWS];
    for (size_t i = 0; i < ROWS; ++i) {
        c[i] = ROWS * r->share[i];
        for (size_t j = 0; j < COLS; ++j)
            a[i * COLS + j] = r->z[i * COLS + j] / sqrtl(r->share[i]);
    }
    for (int power = 4; power >= -4; --power) {
        ref_sparse ref = {ROWS, COLS, a, r->y, c, powl(10, power), mix};
        tnp_transfer_score score = refitted(r, &ref, c, w, &b, predicted);
        if (score.error < best.error - 1e-9 || (score.error < best.error + 1e-9 && score.squares < best.squares))
            best = score;
        if (fabs(log10(model->lambda) - power) > 1e-9)
            continue;
        here = score;
        for (size_t i = 0; i < ROWS; ++i) { /* raw weights score raw rows as standardised ones do */
            ref_real sum = b;
            double raw = model->intercept;
            for (size_t j = 0; j < COLS; ++j) {
                sum += w[j] * a[i * COLS + j];
                raw += model->weights[j] * r->x[i * COLS + j];
            }
            assert_near_at(i, model->loo[i], predicted[i], 5e-3);
            assert_near_at(i, tanh(raw / 2), (double)tanhl(sum / 2), 5e-3);
        }
    }
    assert_near(model->score.error, here.error, 1e-12);
    assert_near(here.error, best.error, 1e-12);
    assert_true(here.squares <= best.squares + 0.02);
}

static void lambda_by_refits(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 6; ++seed) {
        ref_transfer r = ref_transfer_of(seed % 2 ? REF_PLAIN : REF_DEAD, ROWS, COLS, seed > 2, seed);
        tnp_transfer_problem *p = problem_of(ctx, &r);
        tnp_transfer_model *model = NULL;
        double mix = seed % 2 ? 1 : 0.5;
        assert_fine(ctx, tnp_transfer_logistic(ctx, p, mix, NULL, &model));
        check_choice(&r, model, mix);
        tnp_transfer_model_free(model);
        problem_done(p);
        ref_transfer_free(&r);
    }
    ctx_done(ctx);
}

/* One positive row: without it there is only one class, so it is predicted as that. */
static void the_only_one_of_its_class(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 6, 5, false, 8);
    for (size_t i = 0; i < 6; ++i)
        r.y[i] = i == 3 ? 1 : -1;
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_transfer_model *model = NULL;
    assert_fine(ctx, tnp_transfer_logistic(ctx, p, 1, NULL, &model));
    assert_true(model->loo[3] == -1);
    assert_true(model->score.error >= 0.5);
    tnp_transfer_model_free(model);
    scene s = scene_of(ctx, 6, 5, r.x, r.y, NULL, false);
    s.cost[3] = 0;
    tnp_sparse_problem bad = problem_at(&s, 1, 1);
    tnp_sparse_fit fit;
    assert_fine(ctx, tnp_sparse_fit_init(ctx, 6, 5, &fit));
    assert_fails(ctx, TN_ERR_DATA, "all rows are negative", tnp_sparse_logistic(ctx, &bad, 1e-6, &fit));
    s.cost[3] = 1;
    bad.lambda = 0;
    assert_fails(ctx, TN_ERR_ARG, "got lambda 0", tnp_sparse_logistic(ctx, &bad, 1e-6, &fit));
    bad.lambda = 1;
    bad.mix = 0;
    assert_fails(ctx, TN_ERR_ARG, "mix 0", tnp_sparse_logistic(ctx, &bad, 1e-6, &fit));
    tnp_sparse_fit_destroy(&fit);
    scene_free(&s);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 4, 40, false, 3);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_transfer_model *model = NULL;
    size_t blocks = tnp_live_blocks(ctx), k = 1;
    for (;; ++k) {
        tnp_fail_allocation(ctx, k);
        tn_status st = tnp_transfer_logistic(ctx, p, 0.2, NULL, &model);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(model);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
    }
    assert_true(k > 50);
    tnp_transfer_model_free(model);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimum_of_the_reference),  cmocka_unit_test(optimum_of_scikit_learn),
        cmocka_unit_test(paths_and_threads),         cmocka_unit_test(lambda_by_refits),
        cmocka_unit_test(the_only_one_of_its_class), cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
