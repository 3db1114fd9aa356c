/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linear discriminants with a shrunk covariance. Classes of n_k rows with means m_k about the mean of all rows, S the
 * scatter of the rows about their class means:
 *
 *   score_k(x) = c (m_k'P x - m_k'P m_k / 2) + log n_k/N           P = (S + lambda I)^-1,   c = N - K
 *
 * the log-odds of normal classes of one covariance (S + lambda I) / c. Ridge regression on targets of 0 and 1 knows
 * nothing of how rows of a class lie about their mean as opposed to how the means lie about each other: classes between
 * others are masked, the more of them there are the worse.
 *
 * Nothing has to be factored for it. A = S + sum_k n_k m_k m_k' is the matrix of the ridge problem, whose scores less
 * their mean are f(x) = Y'X (A + lambda I)^-1 x; with C = Y'X (A + lambda I)^-1 X'Y (K, K), Y about its mean, and n the
 * n_k, Woodbury's formula gives
 *
 *   (m_k'P x)_k = Q^-1 f(x)        m_k'P m_k = (Q^-1)_kk - 1/n_k        Q = diag(n) - C
 *
 * so that discriminants are a matrix of classes by classes behind the ridge, from the tridiagonal form that is there, for
 * every lambda. In the dual C = Y'Y - lambda h'u, and Q = n n'/N + lambda h'u is no difference: where columns can
 * interpolate the labels diag(n) - C has no digits left.
 *
 * Sums of weights take the place of counts. A class without rows has a score too, the mean of the others' by their
 * shares, which is the same for every row since sum_k n_k m_k = 0, and is never above the largest of them, less the
 * log-odds of half a row against all. A score of 0 was refused: between distant classes all scores are far below it.
 *
 * Oracle: scatter, inverse and scores by loops, tests/ref/ref_lda.c. */
#include "learn/ridge/discriminant.h"
#include "algebra/blas.h"

#include <math.h>

void tnp_discriminant_free(tnp_discriminant *d)
{
    if (d)
        tnp_free_all(d->map, d->shift, d);
}

/* out (classes, classes) = h'u, where u = (T + lambda I)^-1 h; of singular values S the solution is S u, and out is h'S S
 * u, which is C. */
static tn_status quadratic_forms(tn_ctx *ctx, const tnp_spectrum *s, double lambda, double *out)
{
    tn_status st = TN_OK;
    size_t k = s->classes, order = s->order;
    double *h = NULL, *u = NULL, *lambdas = NULL;
    TN_TRY(tnp_alloc_raw(ctx, k * order, sizeof *h, &h));
    TN_TRY(tnp_alloc_raw(ctx, k * order, sizeof *u, &u));
    TN_TRY(tnp_alloc_raw(ctx, k, sizeof *lambdas, &lambdas));
    for (size_t c = 0; c < k; ++c) {
        const double *tile = s->h + c / TNP_LANES * order * TNP_LANES + c % TNP_LANES;
        lambdas[c] = lambda;
        for (size_t i = 0; i < order; ++i)
            h[c * order + i] = tile[i * TNP_LANES] * (s->root ? s->root[i] : 1);
    }
    TN_TRY(tnp_spectrum_solve(ctx, s, lambdas, false, u));
    TN_TRY(tnp_dgemm_nt(ctx, k, k, order, h, order, u, order, 0, out, k));
done:
    tnp_free_all(h, u, lambdas);
    return st;
}

/* Q in the place of the forms; 1 on the diagonal of a class without rows. */
static void fill_matrix(const tnp_ridge *r, double lambda, double *q)
{
    size_t k = r->classes;
    bool by_rows = r->spectrum->dual && !r->spectrum->root;
    for (size_t a = 0; a < k; ++a)
        for (size_t b = 0; b < k; ++b) {
            double size = r->weight * r->ymean[a], both = r->weight * r->ymean[a] * r->ymean[b];
            double *at = &q[a * k + b];
            *at = by_rows ? both + lambda * *at : (a == b ? size : 0) - *at;
            if (a == b && !(r->ymean[a] > 0))
                *at = 1;
        }
}

/* map holds Q^-1: the scale, and the shifts. */
static void finish(const tnp_ridge *r, tnp_discriminant *d)
{
    size_t k = d->classes, present = 0;
    for (size_t a = 0; a < k; ++a)
        present += r->ymean[a] > 0;
    double free_rows = r->rows > present ? (double)(r->rows - present) : 1,
           scale = free_rows * r->weight / (double)r->rows, mean = 0;
    for (size_t a = 0; a < k; ++a) {
        double own = d->map[a * k + a] - 1 / (r->weight * r->ymean[a]), sum = 0;
        for (size_t b = 0; b < k; ++b) {
            d->map[a * k + b] *= scale;
            sum += d->map[a * k + b] * r->ymean[b];
        }
        if (!(r->ymean[a] > 0))
            continue;
        d->shift[a] = log(r->ymean[a]) - scale * own / 2 - sum;
        mean += r->ymean[a] * (d->shift[a] + sum);
    }
    for (size_t a = 0; a < k; ++a)
        if (!(r->ymean[a] > 0))
            d->shift[a] = mean - log(2 * (double)r->rows + 1);
}

tn_status tnp_discriminant_new(tn_ctx *ctx, const tnp_ridge *r, double lambda, tnp_discriminant **out)
{
    tn_status st = TN_OK;
    tnp_discriminant *d = NULL;
    double *q = NULL;
    size_t k = r->classes;
    lambda = fmax(lambda, r->spectrum->floor);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *d, &d));
    d->classes = k;
    TN_TRY(tnp_alloc_raw(ctx, k * k, sizeof *d->map, &d->map));
    TN_TRY(tnp_alloc_raw(ctx, k, sizeof *d->shift, &d->shift));
    TN_TRY(tnp_alloc_raw(ctx, k * k, sizeof *q, &q));
    TN_TRY(quadratic_forms(ctx, r->spectrum, lambda, q));
    fill_matrix(r, lambda, q);
    st = tnp_invert(ctx, k, q, d->map);
    if (st == TN_ERR_NUMERIC)
        st = tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                      "discriminants: at lambda %g rows of a class do not differ by more than rounding, expected a "
                      "larger one",
                      lambda);
    TN_TRY(st);
    finish(r, d);
    *out = d;
    d = NULL;
done:
    tnp_discriminant_free(d);
    tnp_free(q);
    return st;
}

tn_status tnp_discriminant_scores(tn_ctx *ctx, const tnp_discriminant *d, size_t rows, float *scores)
{
    enum { BLOCK = 256 };
    tn_status st = TN_OK;
    size_t k = d->classes, most = tnp_min(rows, BLOCK);
    double *from = NULL, *to = NULL;
    TN_TRY(tnp_alloc_raw(ctx, most * k, sizeof *from, &from));
    TN_TRY(tnp_alloc_raw(ctx, most * k, sizeof *to, &to));
    for (size_t start = 0; start < rows; start += BLOCK) {
        size_t n = tnp_min(BLOCK, rows - start);
        float *block = scores + start * k;
        for (size_t i = 0; i < n * k; ++i) {
            from[i] = (double)block[i];
            to[i] = d->shift[i % k];
        }
        TN_TRY(tnp_dgemm_nn(ctx, n, k, k, from, k, d->map, k, 1, to, k));
        for (size_t i = 0; i < n * k; ++i)
            block[i] = (float)to[i];
    }
done:
    tnp_free_all(from, to);
    return st;
}

tn_status tnp_discriminant_weights(tn_ctx *ctx, const tnp_discriminant *d, size_t dim, float *weight, float *bias)
{
    tn_status st = TN_OK;
    size_t k = d->classes;
    double *from = NULL, *to = NULL;
    TN_TRY(tnp_alloc_raw(ctx, k * dim, sizeof *from, &from));
    TN_TRY(tnp_alloc_raw(ctx, k * dim, sizeof *to, &to));
    for (size_t i = 0; i < k * dim; ++i)
        from[i] = (double)weight[i];
    TN_TRY(tnp_dgemm_nn(ctx, k, dim, k, d->map, k, from, dim, 0, to, dim));
    for (size_t i = 0; i < k * dim; ++i)
        weight[i] = (float)to[i];
    for (size_t a = 0; a < k; ++a) {
        to[a] = d->shift[a];
        for (size_t b = 0; b < k; ++b)
            to[a] += d->map[a * k + b] * (double)bias[b];
    }
    for (size_t a = 0; a < k; ++a)
        bias[a] = (float)to[a];
done:
    tnp_free_all(from, to);
    return st;
}
