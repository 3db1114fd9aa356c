/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A problem beside one whose form is known, against dense Cholesky of all its columns: in long double for small ones,
 * where the inner form is LAPACK's tridiagonal one; by LAPACK for one that goes by way of a band.
 *
 * Tolerances. Forming A from sums of N products moves it by N u |A|, its two halves by n u |A| more, u = 2^-53; the
 * inverse makes cond = (|A| + lambda) / lambda of that in R against y'y, and n times as much in the logarithm. */
#include "algebra/blas.h"
#include "ctx_of.h"
#include "learn/ridge/border.h"
#include "learn/ridge/ridge.h"
#include "ref_dense.h"
#include "ref_random.h"

#include <math.h>
#include <string.h>

enum { PARTS = 5, K = 3 };
static const double U = 0x1p-53;

typedef struct joint {
    size_t n, d;
    tnp_range part[PARTS];
    double *x, *y; /* (n,d), (n,K) */
    tnp_moments *moments;
} joint;

static joint joint_of(tn_ctx *ctx, size_t n, const size_t *widths)
{
    joint j = {.n = n};
    ref_rng rng = ref_rng_of(n);
    for (size_t p = 0; p < PARTS; j.d += widths[p++])
        j.part[p] = (tnp_range){j.d, j.d + widths[p]};
    double *block = ref_alloc(n * j.d, sizeof *block);
    j.x = ref_alloc(n * j.d, sizeof *j.x);
    j.y = ref_alloc(n * K, sizeof *j.y);
    for (size_t i = 0; i < n * K; ++i)
        j.y[i] = ref_normal(&rng);
    for (size_t i = 0; i < n * j.d; ++i)
        j.x[i] = 2 + ref_normal(&rng) + 0.3 * j.y[i / j.d * K + i % K];
    assert_fine(ctx, tnp_moments_new(ctx, j.d, K, true, &j.moments));
    tnp_targets y = {.rows = n, .classes = K, .values = j.y};
    for (size_t from = 0; from < n; from += 512) {
        size_t count = tnp_min(512, n - from);
        memcpy(block, j.x + from * j.d, count * j.d * sizeof *block);
        assert_fine(ctx, tnp_moments_add_wide(ctx, j.moments, block, &y, from, count));
    }
    free(block);
    return j;
}

static void joint_free(joint *j)
{
    tn_moments_free(j->moments);
    free(j->x);
    free(j->y);
}

/* Columns of all parts, less their means with an intercept, as (n, d); the same of y. */
static ref_real *about_mean(const double *x, size_t n, size_t d, bool intercept)
{
    ref_real *out = ref_widen(x, n * d);
    for (size_t c = 0; c < d && intercept; ++c) {
        ref_real mean = 0;
        for (size_t i = 0; i < n; ++i)
            mean += out[i * d + c] / (ref_real)n;
        for (size_t i = 0; i < n; ++i)
            out[i * d + c] -= mean;
    }
    return out;
}

typedef struct wanted {
    double logdet, r[K], yy[K], size;
} wanted;

static wanted by_cholesky(const joint *j, bool intercept, double lambda)
{
    size_t d = j->d, n = j->n;
    wanted out = {0, {0}, {0}, 0};
    ref_real *x = about_mean(j->x, n, d, intercept), *y = about_mean(j->y, n, K, intercept);
    ref_real *a = ref_alloc(d * d, sizeof *a), *h = ref_alloc(d, sizeof *h), *u = ref_alloc(d, sizeof *u);
    ref_gram(x, n, d, a);
    for (size_t i = 0; i < d; ++i) {
        out.size += (double)a[i * d + i];
        a[i * d + i] += lambda;
    }
    assert_true(ref_cholesky(a, d));
    out.logdet = (double)ref_cholesky_logdet(a, d);
    for (size_t k = 0; k < K; ++k) {
        ref_real r = 0;
        memset(h, 0, d * sizeof *h);
        for (size_t i = 0; i < n; ++i) {
            r += y[i * K + k] * y[i * K + k];
            for (size_t c = 0; c < d; ++c)
                h[c] += x[i * d + c] * y[i * K + k];
        }
        out.yy[k] = (double)r;
        memcpy(u, h, d * sizeof *u);
        ref_cholesky_solve(a, d, u);
        for (size_t c = 0; c < d; ++c)
            r -= h[c] * u[c];
        out.r[k] = (double)r;
    }
    free(x);
    free(y);
    free(a);
    free(h);
    free(u);
    return out;
}

/* The border of parts 1 and 3 by the others, of which one lies before, one between and one behind them. */
static tnp_border *border_of(tn_ctx *ctx, const joint *j, bool intercept, tnp_ridge **ridge)
{
    const tnp_range inner[] = {j->part[1], j->part[3]}, outer[] = {j->part[0], j->part[2], j->part[4]};
    const tnp_border_columns columns = {inner, outer, 2, 3, intercept};
    tnp_border *border = NULL;
    assert_fine(ctx, tnp_ridge_primal(ctx, j->moments, inner, 2, intercept, ridge));
    assert_fine(ctx, tnp_border_new(ctx, (*ridge)->spectrum, j->moments, &columns, &border));
    assert_int_equal(tnp_border_outer(border), j->d - (*ridge)->dim);
    return border;
}

static void compare(const joint *j, const wanted *want, double lambda, double logdet, const double *r)
{
    double tolerance = 4 * (double)(j->n + j->d) * U * (want->size + lambda) / lambda;
    assert_near(logdet, want->logdet, (double)j->d * tolerance);
    for (size_t k = 0; k < K; ++k)
        assert_near_at(k, r[k] / want->yy[k], want->r[k] / want->yy[k], tolerance);
}

static void every_lambda_is_that_of_all_columns(void **state)
{
    (void)state;
    const size_t widths[][PARTS] = {{1, 1, 1, 1, 1}, {7, 20, 3, 25, 11}, {31, 40, 33, 1, 2}};
    const double relative[] = {1e-6, 1e-3, 0.1, 10};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 3 * 4 * 2; ++z) {
        bool intercept = z % 2 != 0;
        joint j = joint_of(ctx, 150, widths[z / 8]);
        tnp_ridge *ridge = NULL;
        tnp_border *border = border_of(ctx, &j, intercept, &ridge);
        double logdet = 0, r[K], lambda = relative[z / 2 % 4] * ridge->spectrum->largest;
        wanted want = by_cholesky(&j, intercept, lambda);
        assert_fine(ctx, tnp_border_at(ctx, border, lambda, &logdet, r));
        compare(&j, &want, lambda, logdet, r);
        assert_fails(ctx, TN_ERR_NUMERIC, "positive definite",
                     tnp_border_at(ctx, border, -2 * ridge->spectrum->largest, &logdet, r));
        tnp_border_free(border);
        tnp_ridge_free(ridge);
        joint_free(&j);
    }
    ctx_done(ctx);
}

/* An order that has a band, by LAPACK's Cholesky in double, which has an error of the same size. */
static void beside_a_band(void **state)
{
    (void)state;
    const size_t widths[PARTS] = {20, 1000, 33, 560, 15};
    tn_ctx *ctx = ctx_of(2);
    joint j = joint_of(ctx, 1900, widths);
    tnp_ridge *ridge = NULL;
    tnp_border *border = border_of(ctx, &j, true, &ridge);
    const tnp_range all = {0, j.d};
    double *a = ref_alloc(j.d * j.d, sizeof *a), *xty = ref_alloc(K * j.d, sizeof *xty), *mean = ref_alloc(j.d, 8);
    double ymean[K], r[K], logdet = 0, lambda = 1e-2 * ridge->spectrum->largest;
    wanted want = {0, {0}, {0}, 0};
    assert_non_null(ridge->spectrum->band);
    tnp_moments_of(j.moments, &all, 1, true, a, xty, want.yy, mean, ymean);
    for (size_t i = 0; i < j.d; ++i) {
        want.size += a[i * j.d + i];
        a[i * j.d + i] += lambda;
    }
    assert_fine(ctx, tnp_cholesky(ctx, j.d, a));
    assert_fine(ctx, tnp_solve_right(ctx, K, j.d, a, xty));
    for (size_t i = 0; i < j.d; ++i)
        want.logdet += 2 * log(a[i * j.d + i]);
    for (size_t k = 0; k < K; ++k) {
        want.r[k] = want.yy[k];
        for (size_t i = 0; i < j.d; ++i)
            want.r[k] -= xty[k * j.d + i] * xty[k * j.d + i];
    }
    assert_fine(ctx, tnp_border_at(ctx, border, lambda, &logdet, r));
    compare(&j, &want, lambda, logdet, r);
    free(a);
    free(xty);
    free(mean);
    tnp_border_free(border);
    tnp_ridge_free(ridge);
    joint_free(&j);
    ctx_done(ctx);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const size_t widths[PARTS] = {7, 20, 3, 25, 11};
    tn_ctx *ctx = ctx_of(2);
    joint j = joint_of(ctx, 90, widths);
    const tnp_range inner = j.part[1], outer = j.part[2];
    const tnp_border_columns columns = {&inner, &outer, 1, 1, true};
    tnp_ridge *ridge = NULL;
    assert_fine(ctx, tnp_ridge_primal(ctx, j.moments, &inner, 1, true, &ridge));
    size_t blocks = tnp_live_blocks(ctx), before = tn_ctx_memory_now(ctx), k = 1;
    for (tn_status st = TN_ERR_MEMORY; st != TN_OK; ++k) {
        tnp_border *border = NULL;
        double logdet, r[K];
        tnp_fail_allocation(ctx, k);
        st = tnp_border_new(ctx, ridge->spectrum, j.moments, &columns, &border);
        if (st == TN_OK)
            st = tnp_border_at(ctx, border, 1, &logdet, r);
        tnp_fail_allocation(ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        assert_true(tn_ctx_memory_now(ctx) - before <= tnp_border_bytes(20, 3, K));
        tnp_border_free(border);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
    }
    assert_true(k > 10);
    tnp_ridge_free(ridge);
    joint_free(&j);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lambda_is_that_of_all_columns),
        cmocka_unit_test(beside_a_band),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
