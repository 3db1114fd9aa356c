/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The closed-form rivals against the whole grid refitted without every row. */
#include "transfer/ridge.h"
#include "transfer_of.h"

#include <float.h>

/* Eigenvalues are known to p eps, so a fit to p eps/lambda; 16 for the sums on the way. */
static double slack_of(size_t p, double lambda)
{
    return 1e-11 + 16 * DBL_EPSILON * (double)p / lambda;
}

static size_t *counted(size_t n)
{
    size_t *s = ref_alloc(n, sizeof *s);
    for (size_t j = 0; j < n; ++j)
        s[j] = j;
    return s;
}

/* (y + tau h)/(1 + tau), h the mean raw score of the columns behind the features. */
static void drawn(const ref_transfer *r, size_t features, double tau, double *t)
{
    for (size_t i = 0; i < r->m; ++i) {
        ref_real mean = 0;
        for (size_t j = features; j < r->p; ++j)
            mean += (ref_real)r->x[i * r->p + j] / (ref_real)(r->p - features);
        t[i] = tau > 0 ? (double)((r->y[i] + tau * mean) / (1 + tau)) : r->y[i];
    }
}

/* Least class-balanced error over the grids by refits, and where. */
static tnp_transfer_score literal(const ref_transfer *r, size_t features, tnp_ridge_method method, double *lambda,
                                  double *tau)
{
    size_t n = method == TNP_TRANSFER_RLS ? r->p : features, *s = counted(n);
    ref_real *out = ref_alloc(r->m, sizeof *out);
    double *t = ref_alloc(r->m, sizeof *t), *rounded = ref_alloc(r->m, sizeof *rounded);
    tnp_transfer_score best = {2, 0};
    for (int l = 4; l >= -4; --l)
        for (int k = -3; k <= (method == TNP_TRANSFER_DAM ? 3 : -3); ++k) {
            double pull = method == TNP_TRANSFER_DAM ? pow(10, k) : 0;
            drawn(r, features, pull, t);
            ref_transfer_loo(r, t, s, n, powl(10, l) / (1 + pull), out);
            for (size_t i = 0; i < r->m; ++i)
                rounded[i] = (double)out[i];
            tnp_transfer_score score = tnp_transfer_score_of(r->m, r->y, rounded);
            if (score.error < best.error - 1e-12 ||
                (fabs(score.error - best.error) < 1e-12 && score.squares < best.squares)) {
                best = score;
                *lambda = pow(10, l);
                *tau = pull;
            }
        }
    free(s);
    free(out);
    free(t);
    free(rounded);
    return best;
}

/* again: with the columns and the basis of a fit to other labels. */
static void check(tn_ctx *ctx, const ref_transfer *r, size_t features, tnp_ridge_method method, bool again)
{
    tnp_transfer_problem *p = again ? turned_problem_of(ctx, r) : problem_of(ctx, r);
    tnp_transfer_model *model = NULL;
    tnp_ridge_basis *kept = NULL;
    double lambda = 0, tau = 0, *t = ref_alloc(r->m, sizeof *t);
    size_t n = method == TNP_TRANSFER_RLS ? r->p : features, *s = counted(n);
    ref_real *out = ref_alloc(r->m, sizeof *out), *w = ref_alloc(n, sizeof *w), b = 0;
    tnp_transfer_score score = literal(r, features, method, &lambda, &tau);
    if (again) {
        assert_fine(ctx, tnp_transfer_ridge(ctx, p, features, method, &kept, NULL, &model));
        tnp_transfer_model_free(model);
        assert_fine(ctx, tnp_transfer_problem_relabel(ctx, p, r->y));
    }
    const tnp_ridge_basis *before = kept;
    assert_fine(ctx, tnp_transfer_ridge(ctx, p, features, method, again ? &kept : NULL, NULL, &model));
    assert_ptr_equal(kept, before);
    assert_near(model->lambda, lambda, 1e-12);
    assert_near(model->tau, tau, 1e-12);
    double slack = slack_of(n, lambda / (1 + tau));
    assert_near(model->score.error, score.error, 1e-12);
    assert_near(model->score.squares, score.squares, 10 * slack);
    drawn(r, features, tau, t);
    ref_transfer_loo(r, t, s, n, (ref_real)lambda / (1 + (ref_real)tau), out);
    for (size_t i = 0; i < r->m; ++i)
        assert_near_at(i, model->loo[i], (double)out[i], slack);
    ref_transfer_ridge(r, t, s, n, (ref_real)lambda / (1 + (ref_real)tau), w, &b);
    for (size_t j = 0; j < r->p; ++j)
        assert_near_at(j, model->weights[j], j < n ? (double)w[j] : 0, slack);
    assert_near(model->intercept, (double)b, slack);
    free(s);
    free(t);
    free(w);
    free(out);
    tnp_transfer_model_free(model);
    tnp_ridge_basis_free(kept);
    problem_done(p);
}

/* Fewer columns than rows, as many, more; features alone on either side of it. */
static void the_grid_refitted(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{10, 7, 4}, {9, 9, 3}, {8, 20, 12}, {3, 5, 2}, {14, 16, 13}};
    tn_ctx *ctx = ctx_of(1);
    for (size_t shape = 0; shape < 5; ++shape)
        for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
            for (int method = 0; method <= TNP_TRANSFER_DAM; ++method) {
                ref_transfer r = ref_transfer_of((ref_columns)kind, shapes[shape][0], shapes[shape][1],
                                                 (shape + (size_t)kind) % 2, shape);
                check(ctx, &r, shapes[shape][2], (tnp_ridge_method)method, false);
                check(ctx, &r, shapes[shape][2], (tnp_ridge_method)method, true);
                ref_transfer_free(&r);
            }
    ctx_done(ctx);
}

/* P t and 1 - H_ii at a lambda so small that a subtraction would have no digit left, against the leave-one-out refit. */
static void small_lambda_keeps_its_digits(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 6, 400, true, 9);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_ridge_basis *basis = NULL;
    double left[6], rest[6], room[6], predicted[6];
    ref_real out[6];
    size_t *s = counted(400);
    assert_fine(ctx, tnp_ridge_basis_new(ctx, p, 0, 400, &basis));
    tnp_ridge_left(basis, 1e-12, left);
    tnp_ridge_residual(basis, 1e-12, p->target, room, rest);
    tnp_transfer_loo(p, r.y, p->target_scale, rest, left, predicted);
    ref_transfer_loo(&r, r.y, s, 400, 1e-6L, out); /* all smallest eigenvalues are above 10: 1e-6 is 0 to 1e-7 */
    for (size_t i = 0; i < 6; ++i)
        assert_near_at(i, predicted[i], (double)out[i], 1e-6);
    free(s);
    tnp_ridge_basis_free(basis);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

static void average_of_sources(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_DEAD, 7, 9, true, 2);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_transfer_model *model = NULL;
    double want[7];
    assert_fine(ctx, tnp_transfer_average(ctx, p, 4, &model));
    for (size_t i = 0; i < 7; ++i) {
        want[i] = 0;
        for (size_t j = 4; j < 9; ++j)
            want[i] += r.x[i * 9 + j] / 5;
        assert_near_at(i, model->loo[i], want[i], 1e-14);
    }
    tnp_transfer_score score = tnp_transfer_score_of(7, r.y, want);
    assert_near(model->score.error, score.error, 1e-14);
    assert_near(model->score.squares, score.squares, 1e-13);
    for (size_t j = 0; j < 9; ++j)
        assert_near_at(j, model->weights[j], j < 4 ? 0 : 0.2, 1e-15);
    assert_true(model->intercept == 0);
    tnp_transfer_model_free(model);
    model = NULL;
    assert_fails(ctx, TN_ERR_ARG, "works on sources", tnp_transfer_average(ctx, p, 9, &model));
    assert_fails(ctx, TN_ERR_ARG, "works on sources",
                 tnp_transfer_ridge(ctx, p, 9, TNP_TRANSFER_DAM, NULL, NULL, &model));
    assert_fails(ctx, TN_ERR_ARG, "works on features",
                 tnp_transfer_ridge(ctx, p, 0, TNP_TRANSFER_DAM, NULL, NULL, &model));
    assert_fails(ctx, TN_ERR_ARG, "works on features",
                 tnp_transfer_ridge(ctx, p, 0, TNP_TRANSFER_NONE, NULL, NULL, &model));
    assert_null(model);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 6, 10, false, 3);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    size_t blocks = tnp_live_blocks(ctx);
    for (int method = 0; method <= TNP_TRANSFER_DAM + 1; ++method)
        for (size_t features = 3; features <= 8; features += 5) {
            tnp_transfer_model *model = NULL;
            size_t k = 1;
            for (;; ++k) {
                tnp_fail_allocation(ctx, k);
                tn_status st = method > TNP_TRANSFER_DAM
                                   ? tnp_transfer_average(ctx, p, features, &model)
                                   : tnp_transfer_ridge(ctx, p, features, (tnp_ridge_method)method, NULL, NULL, &model);
                tnp_fail_allocation(ctx, 0);
                if (st == TN_OK)
                    break;
                assert_int_equal(st, TN_ERR_MEMORY);
                assert_null(model);
                assert_int_equal(tnp_live_blocks(ctx), blocks);
            }
            assert_true(k > 3);
            tnp_transfer_model_free(model);
        }
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grid_refitted),
        cmocka_unit_test(small_lambda_keeps_its_digits),
        cmocka_unit_test(average_of_sources),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
