/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Randomised Nystrom approximation of A = X'X (Frangella, Tropp, Udell 2021):
 *
 *   Omega (r, w) Gaussian,  Y = Omega A  in one pass,  Y <- Y + nu Omega  with nu ~ eps |Y|, or what makes C definite
 *   C = Y Omega' = R'R,   B = R^-T Y  so that  A + nu I ~ B'B,   B B' = V S V',   U' = S^-1/2 V' B,   values = S - nu
 *
 * Features of networks have a few hundred strong directions; the rest of the spectrum is close to the ridge. A full
 * Gram and its Cholesky factor were refused: at D = 4096 and 51 classes they cost as much as twenty Hessian products.
 * */
#include "learn/softmax/sketch.h"
#include "algebra/blas.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SHIFTS = 8 };
static const double MORE = 10; /* of the shift before: the last is about |Y| */

/* Two standard normal values from two uniform ones (Box and Muller). */
static void fill_normal(uint64_t seed, float *x, size_t n)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 1);
    for (size_t i = 0; i < n; i += 2) {
        double r = sqrt(-2 * log(1 - tnp_rng_unit(&rng))), angle = 6.283185307179586477 * tnp_rng_unit(&rng);
        x[i] = (float)(r * cos(angle));
        if (i + 1 < n)
            x[i + 1] = (float)(r * sin(angle));
    }
}

/* t = z, and sums += its columns, rounded to float as the products beside them are. */
static void keep_panel(void *arg, const tnp_panel *at)
{
    size_t r = *(const size_t *)arg;
    memcpy(at->t, at->s, at->count * r * sizeof *at->t);
    for (size_t i = 0; i < at->count * r; ++i)
        at->sums[i % r] = (double)((float)at->sums[i % r] + at->s[i]);
}

/* y (r, w) = omega A: z = X omega' + its last column, then z'X with the column sums as last; sums (r) is scratch. */
static tn_status multiply(tn_ctx *ctx, const tnp_rows *x, size_t r, const float *omega, double *sums, float *y)
{
    tnp_pass pass = {.k = r, .w = omega, .body = keep_panel, .arg = &r, .back = y, .sum_count = r, .sums = sums};
    tn_status st = tnp_rows_pass(ctx, x, &pass);
    for (size_t j = 0; j < r; ++j)
        y[j * (x->dim + 1) + x->dim] = (float)sums[j];
    return st;
}

/* core (r,r) = Y Omega' made symmetric, Cholesky-factored; b (w, r) = Y' R^-1: the columns of B as rows. *found is
 * false where the core is not definite. */
static tn_status factor(tn_ctx *ctx, size_t r, size_t w, const float *omega, const float *y, double nu, double *core,
                        double *b, bool *found)
{
    tn_status st = TN_OK;
    double *o = NULL, *product = NULL;
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *o, &o));
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *product, &product));
    for (size_t i = 0; i < r * w; ++i) {
        o[i] = (double)omega[i];
        product[i] = (double)y[i] + nu * o[i];
    }
    TN_TRY(tnp_dgemm_nt(ctx, r, r, w, product, w, o, w, 0, core, r));
    for (size_t i = 0; i < r; ++i)
        for (size_t j = i; j < r; ++j)
            core[i * r + j] = (core[i * r + j] + core[j * r + i]) / 2;
    st = tnp_cholesky(ctx, r, core);
    *found = st == TN_OK;
    if (st == TN_ERR_NUMERIC)
        st = TN_OK;
    for (size_t i = 0; i < r; ++i)
        for (size_t j = 0; j < w; ++j)
            b[j * r + i] = product[i * w + j];
    if (*found)
        st = tnp_solve_right(ctx, w, r, core, b);
done:
    tnp_free_all(o, product);
    return st;
}

/* Left singular vectors of b (w, r) and its squared singular values less nu, into the sketch, largest first. */
static tn_status decompose(tn_ctx *ctx, const double *b, double nu, tnp_sketch *s)
{
    tn_status st = TN_OK;
    size_t r = s->rank, w = s->width, kept = 0;
    double *small = NULL, *values = NULL, *u = NULL;
    TN_TRY(tnp_alloc(ctx, r * r, sizeof *small, &small));
    TN_TRY(tnp_alloc(ctx, r, sizeof *values, &values));
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *u, &u));
    TN_TRY(tnp_dsyrk_cols(ctx, w, r, b, r, 0, small));
    TN_TRY(tnp_eigen(ctx, r, small, values));
    TN_TRY(tnp_dgemm_nt(ctx, r, w, r, small, r, b, r, 0, u, w));
    for (size_t i = r; i-- > 0;) {
        if (!(values[i] > 1e-10 * values[r - 1]))
            break;
        double scale = 1 / sqrt(values[i]);
        for (size_t j = 0; j < w; ++j)
            s->u[kept * w + j] = (float)(u[i * w + j] * scale);
        s->values[kept++] = fmax(values[i] - nu, 0);
    }
    s->rank = kept;
done:
    tnp_free_all(small, values, u);
    return st;
}

/* The rest of the sketch from y = omega A. Float products of rows of one strong direction are off by more than the weak
 * ones are long, by how much depends on the rows: the shift grows until the core is definite. Rows whose products leave
 * the range of float give a sketch of rank 0, which changes nothing. */
static tn_status complete(tn_ctx *ctx, const float *omega, const float *y, double *core, double *b, tnp_sketch *s)
{
    tn_status st = TN_OK;
    size_t r = s->rank, w = s->width;
    double norm = 0, nu;
    bool found = false;
    for (size_t i = 0; i < r * w; ++i)
        norm += (double)y[i] * (double)y[i];
    nu = fmax(FLT_EPSILON * sqrt(norm), DBL_MIN);
    for (int i = 0; i < SHIFTS && !found && isfinite(norm); ++i, nu *= found ? 1 : MORE)
        TN_TRY(factor(ctx, r, w, omega, y, nu, core, b, &found));
    if (found)
        TN_TRY(decompose(ctx, b, nu, s));
    else
        s->rank = 0;
done:
    return st;
}

tn_status tnp_sketch_new(tn_ctx *ctx, const tnp_rows *x, size_t rank, uint64_t seed, tnp_sketch **out)
{
    tn_status st = TN_OK;
    tnp_sketch *s = NULL;
    float *omega = NULL, *y = NULL;
    double *core = NULL, *b = NULL;
    size_t w = x->dim + 1, r = tnp_min(rank, tnp_min(w, x->rows));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->width = w;
    s->rank = r;
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *s->u, &s->u));
    TN_TRY(tnp_alloc(ctx, r, sizeof *s->values, &s->values));
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *omega, &omega));
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *y, &y));
    TN_TRY(tnp_alloc_raw(ctx, r * r, sizeof *core, &core));
    TN_TRY(tnp_alloc_raw(ctx, r * w, sizeof *b, &b));
    fill_normal(seed, omega, r * w);
    TN_TRY(multiply(ctx, x, r, omega, s->values, y));
    TN_TRY(complete(ctx, omega, y, core, b, s));
    *out = s;
    s = NULL;
done:
    tnp_sketch_free(s);
    tnp_free_all(omega, y, core, b);
    return st;
}

void tnp_sketch_free(tnp_sketch *s)
{
    if (!s)
        return;
    tnp_free_all(s->u, s->values, s);
}

/* M^-1 = I + U diag((1 + rho last) / (1 + rho value) - 1) U', up to a factor that conjugate gradients do not see. */
tn_status tnp_sketch_apply(tn_ctx *ctx, const tnp_sketch *s, size_t count, const double *rho, const float *in,
                           float *coefficient, float *out)
{
    size_t w = s->width, r = s->rank;
    double last = r ? s->values[r - 1] : 0;
    memcpy(out, in, count * w * sizeof *out);
    if (r == 0)
        return TN_OK;
    tn_status st = tnp_sgemm_nt(ctx, count, r, w, in, w, s->u, w, 0, coefficient, r);
    for (size_t k = 0; k < count; ++k)
        for (size_t j = 0; j < r; ++j)
            coefficient[k * r + j] *= (float)((1 + rho[k] * last) / (1 + rho[k] * s->values[j]) - 1);
    return st != TN_OK ? st : tnp_sgemm_nn(ctx, count, w, r, coefficient, r, s->u, w, 1, out, w);
}
