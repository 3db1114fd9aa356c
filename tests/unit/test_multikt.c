/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MultiKT: projections against bisection, leave-one-out predictions against refits, the hinge against its exact minimum
 * where there is one source. */
#include "transfer/multikt.h"
#include "transfer_of.h"

static const tnp_ball balls[] = {TNP_BALL_L1, TNP_BALL_L2};

static double norm_of(tnp_ball ball, size_t n, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < n; ++j)
        sum += ball == TNP_BALL_L1 ? fabs(b[j]) : b[j] * b[j];
    return ball == TNP_BALL_L1 ? sum : sqrt(sum);
}

/* |b_j| shrunk by the theta that meets the ball, by bisection. */
static void bisected(size_t n, double tau, const double *b, double *out)
{
    long double low = 0, high = 10; /* above every |b| */
    memcpy(out, b, n * sizeof *out);
    for (int step = 0; step < 200 && norm_of(TNP_BALL_L1, n, b) > tau; ++step) {
        long double middle = (low + high) / 2, size = 0;
        for (size_t j = 0; j < n; ++j) {
            long double v = fmaxl(fabsl((long double)b[j]) - middle, 0);
            out[j] = copysign((double)v, b[j]);
            size += v;
        }
        if (size > tau)
            low = middle;
        else
            high = middle;
    }
}

static void projections(void **state)
{
    (void)state;
    double b[40], got[40], want[40], room[40];
    for (uint64_t seed = 0; seed < 300; ++seed) {
        ref_rng rng = ref_rng_of(seed);
        size_t n = 1 + seed % 40;
        double tau = pow(10, 4 * ref_unit(&rng) - 2);
        for (size_t j = 0; j < n; ++j)
            b[j] = seed % 3 == 0 ? (double)ref_below(&rng, 3) - 1 : ref_normal(&rng); /* with ties, and without */
        memcpy(got, b, sizeof got);
        tnp_project_l1(n, tau, got, room);
        bisected(n, tau, b, want);
        for (size_t j = 0; j < n; ++j)
            assert_near_at(j, got[j], want[j], 1e-13);
        assert_true(norm_of(TNP_BALL_L1, n, got) <= tau * (1 + 1e-13));
    }
}

static double hinge_of(const ref_transfer *r, const double *predicted)
{
    double sum = 0;
    for (size_t i = 0; i < r->m; ++i)
        sum += (double)r->share[i] * fmax(0, 1 - r->y[i] * predicted[i]);
    return sum;
}

/* Predictions of rows left out: H beta, and the refitted ridge model of y - H beta. */
static void literal(const ref_transfer *r, size_t features, const double *beta, double lambda, double *rest,
                    double *predicted)
{
    size_t *s = ref_alloc(features, sizeof *s);
    ref_real *out = ref_alloc(r->m, sizeof *out);
    for (size_t j = 0; j < features; ++j)
        s[j] = j;
    for (size_t i = 0; i < r->m; ++i) {
        ref_real sum = 0;
        for (size_t j = features; j < r->p; ++j)
            sum += (ref_real)beta[j - features] * r->x[i * r->p + j];
        predicted[i] = (double)sum;
        rest[i] = (double)(r->y[i] - sum);
    }
    ref_transfer_loo(r, rest, s, features, lambda, out);
    for (size_t i = 0; i < r->m; ++i)
        predicted[i] += (double)out[i];
    free(s);
    free(out);
}

/* The second labels of the same columns and basis, as a class that is not the first has them. */
static void check(tn_ctx *ctx, const ref_transfer *r, size_t features, tnp_ball ball)
{
    tnp_transfer_problem *p = turned_problem_of(ctx, r);
    tnp_transfer_model *model = NULL;
    tnp_ridge_basis *kept = NULL;
    double *rest = ref_alloc(r->m, sizeof *rest), *want = ref_alloc(r->m, sizeof *want);
    size_t *s = ref_alloc(features, sizeof *s);
    ref_real *w = ref_alloc(features, sizeof *w), b = 0;
    assert_fine(ctx, tnp_multikt(ctx, p, features, ball, &kept, NULL, &model));
    tnp_transfer_model_free(model);
    assert_fine(ctx, tnp_transfer_problem_relabel(ctx, p, r->y));
    assert_fine(ctx, tnp_multikt(ctx, p, features, ball, &kept, NULL, &model));
    const double *beta = model->weights + features;
    assert_true(norm_of(ball, r->p - features, beta) <= model->tau * (1 + 1e-12));
    literal(r, features, beta, model->lambda, rest, want);
    for (size_t i = 0; i < r->m; ++i)
        assert_near_at(i, model->loo[i], want[i], 1e-8);
    tnp_transfer_score score = tnp_transfer_score_of(r->m, r->y, want);
    assert_near(model->score.error, score.error, 1e-12);
    for (size_t j = 0; j < features; ++j)
        s[j] = j;
    ref_transfer_ridge(r, rest, s, features, model->lambda, w, &b);
    for (size_t j = 0; j < features; ++j)
        assert_near_at(j, model->weights[j], (double)w[j], 1e-8);
    assert_near(model->intercept, (double)b, 1e-8);
    double *none = ref_alloc(r->p, sizeof *none), *without = ref_alloc(r->m, sizeof *without);
    literal(r, features, none, model->lambda, rest, without);
    assert_true(hinge_of(r, want) <= hinge_of(r, without) + 1e-12);
    free(none);
    free(without);
    free(rest);
    free(want);
    free(s);
    free(w);
    tnp_transfer_model_free(model);
    tnp_ridge_basis_free(kept);
    problem_done(p);
}

static void leave_one_out_is_a_refit(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{10, 7, 4}, {8, 20, 12}, {3, 5, 2}, {14, 16, 13}, {12, 40, 12}};
    tn_ctx *ctx = ctx_of(2);
    for (size_t shape = 0; shape < 5; ++shape)
        for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
            for (size_t k = 0; k < 2; ++k) {
                ref_transfer r =
                    ref_transfer_of((ref_columns)kind, shapes[shape][0], shapes[shape][1], (shape + k) % 2, shape);
                check(ctx, &r, shapes[shape][2], balls[k]);
                ref_transfer_free(&r);
            }
    ctx_done(ctx);
}

/* One source: predictions are a line in beta, the hinge is piecewise linear, and its minimum within +-tau is at a
 * corner or an end. T normalised steps of tau/sqrt(t) from within tau of it come to G tau (1 + sum 1/t)/(2 sum 1/sqrt
 * t) of the minimum, which is 0.11 G tau at T = 300, with G the hinge's steepest slope. */
static void one_source_is_minimised(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 12; ++seed) {
        ref_transfer r = ref_transfer_of(REF_PLAIN, 11, 6, seed % 2, seed);
        tnp_transfer_problem *p = problem_of(ctx, &r);
        tnp_transfer_model *model = NULL;
        double rest[11], at0[11], at1[11], mixed[11], steepest = 0, zero = 0, one = 1;
        assert_fine(ctx, tnp_multikt(ctx, p, 5, balls[seed % 2], NULL, NULL, &model));
        literal(&r, 5, &zero, model->lambda, rest, at0);
        literal(&r, 5, &one, model->lambda, rest, at1);
        double least = INFINITY;
        for (size_t k = 0; k < 13; ++k) {
            size_t row = k < 11 ? k : 0;
            double corner = (r.y[row] - at0[row]) / (at1[row] - at0[row]); /* 1 = y predicted */
            double beta = k == 11 ? model->tau : k == 12 ? -model->tau : fmax(-model->tau, fmin(model->tau, corner));
            for (size_t i = 0; i < 11; ++i)
                mixed[i] = at0[i] + beta * (at1[i] - at0[i]);
            least = fmin(least, hinge_of(&r, mixed));
        }
        for (size_t i = 0; i < 11; ++i)
            steepest += (double)r.share[i] * fabs(at1[i] - at0[i]);
        double got = hinge_of(&r, model->loo);
        assert_true(got >= least - 1e-9);
        assert_true(got <= least + 0.11 * steepest * model->tau + 1e-9);
        tnp_transfer_model_free(model);
        problem_done(p);
        ref_transfer_free(&r);
    }
    ctx_done(ctx);
}

/* Features of noise and one source among many that knows the labels: no error is left, and its weight is the largest. */
static void a_perfect_source_is_found(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    for (size_t k = 0; k < 2; ++k) {
        ref_transfer made = ref_transfer_of(REF_PLAIN, 16, 60, false, 77);
        for (size_t i = 0; i < 16; ++i)
            made.x[i * 60 + 37] = 1.5 * made.y[i];
        tnp_transfer_problem *p = problem_of(ctx, &made);
        tnp_transfer_model *model = NULL;
        assert_fine(ctx, tnp_multikt(ctx, p, 20, balls[k], NULL, NULL, &model));
        assert_true(model->score.error == 0);
        for (size_t j = 20; j < 60; ++j)
            assert_true(j == 37 || fabs(model->weights[j]) < model->weights[37]);
        tnp_transfer_model_free(model);
        problem_done(p);
        ref_transfer_free(&made);
    }
    ctx_done(ctx);
}

/* The kernel and its eigenvectors are the BLAS's and agree to rounding, 300 columns times eps over lambda >= 1e-4; what
 * is made of them does not depend on the threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    static const size_t threads[] = {1, 2, 3, 7};
    ref_transfer r = ref_transfer_of(REF_CORRELATED, 12, 300, true, 4);
    tnp_transfer_model *first = NULL;
    tn_ctx *ctx[4];
    for (size_t t = 0; t < 4; ++t) {
        ctx[t] = ctx_of(threads[t]);
        tnp_transfer_problem *p = problem_of(ctx[t], &r);
        tnp_transfer_model *model = NULL;
        assert_fine(ctx[t], tnp_multikt(ctx[t], p, 50, TNP_BALL_L1, NULL, NULL, &model));
        problem_done(p);
        if (t == 0) {
            first = model;
            continue;
        }
        assert_true(model->lambda == first->lambda && model->tau == first->tau);
        for (size_t j = 0; j < 300; ++j)
            assert_near_at(j, model->weights[j], first->weights[j], 1e-9);
        for (size_t i = 0; i < 12; ++i)
            assert_near_at(i, model->loo[i], first->loo[i], 1e-9);
        tnp_transfer_model_free(model);
        ctx_done(ctx[t]);
    }
    tnp_transfer_model_free(first);
    ctx_done(ctx[0]);
    ref_transfer_free(&r);
}

static void refusals_and_failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 5, 8, false, 3);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_transfer_model *model = NULL;
    size_t blocks = tnp_live_blocks(ctx), k = 1;
    assert_fails(ctx, TN_ERR_ARG, "got 8 and 0", tnp_multikt(ctx, p, 8, TNP_BALL_L2, NULL, NULL, &model));
    assert_fails(ctx, TN_ERR_ARG, "got 0 and 8", tnp_multikt(ctx, p, 0, TNP_BALL_L2, NULL, NULL, &model));
    for (;; ++k) {
        tnp_fail_allocation(ctx, k);
        tn_status st = tnp_multikt(ctx, p, 3, TNP_BALL_L2, NULL, NULL, &model);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(model);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
    }
    assert_true(k > 12);
    tnp_transfer_model_free(model);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projections),
        cmocka_unit_test(leave_one_out_is_a_refit),
        cmocka_unit_test(one_source_is_minimised),
        cmocka_unit_test(a_perfect_source_is_found),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(refusals_and_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
