/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With A_ss = Q B Q' of the inner columns, s of them, and m outer ones:
 *
 *   A = [A_ss A_so]     C = Q'A_so (s,m)     B + lambda I = L L'     G = L^-1 C     P = A_oo + lambda I - G'G = R'R
 *       [A_os A_oo]     z = Q'h_s            g = L^-1 z              t = R'^-1 (h_o - G'g)
 *
 *   log det(A + lambda I) = log det(B + lambda I) + 2 sum log R_ii     h'(A + lambda I)^-1 h = |g|^2 + |t|^2
 *
 * G and g are columns of one matrix, whose products of columns are all that P and t need. B is the band of the first
 * stage; of an order that has none it is T itself. Carrying Q over to the larger problem was refused: the border fills
 * the band, and what follows costs as much as a new form.
 *
 * Oracle: dense Cholesky of all columns in long double, tests/unit/test_border.c. */
#include "learn/ridge/border.h"
#include "algebra/band.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

struct tnp_border {
    const tnp_spectrum *spectrum;
    size_t inner, outer, classes, width; /* width: outer + classes */
    double *band;                        /* B where the spectrum has none */
    tnp_band_factor *factor;
    double *tiles;    /* C and z as band.h's solves take them */
    double *corner;   /* (outer, outer), upper triangle: A_oo */
    double *xty;      /* (classes, outer): h_o */
    double *solved;   /* (inner, width): G and g */
    double *products; /* (width, width) */
    double *root;     /* (outer, outer): P, then R */
    double *rest;     /* (classes, outer): t */
};

static size_t round_up(size_t n)
{
    return (n + TNP_BAND - 1) / TNP_BAND * TNP_BAND;
}

void tnp_border_free(tnp_border *b)
{
    if (!b)
        return;
    tnp_band_factor_free(b->factor);
    tnp_free_all(b->band, b->tiles, b->corner, b->xty, b->solved, b->products, b->root, b->rest, b);
}

size_t tnp_border_outer(const tnp_border *b)
{
    return b->outer;
}

double tnp_border_trace(const tnp_border *b)
{
    double trace = 0;
    for (size_t i = 0; i < b->outer; ++i)
        trace += b->corner[i * b->outer + i];
    return trace;
}

size_t tnp_border_bytes(size_t inner, size_t outer, size_t classes)
{
    size_t width = round_up(outer + classes);
    return 8 * (3 * inner * width + inner * (3 * TNP_BAND + 1) + width * width + 2 * outer * outer +
                2 * classes * outer + outer + 2 * classes);
}

double tnp_spectrum_cost(size_t order)
{
    const double speed = 0.67; /* of products of matrices: measured at 4096 columns, both stages */
    double n = (double)order;
    return 4.0 / 3 * n * n * n / speed;
}

double tnp_border_cost(size_t inner, size_t outer, size_t classes, size_t lambdas)
{
    const double speed = 0.9; /* the same */
    double s = (double)inner, m = (double)outer, w = m + (double)classes;
    return (2 * s * s * w + (double)lambdas * (s * w * w + m * m * m / 3 + 4 * TNP_BAND * s * w)) / speed;
}

/* T as a band. */
static tn_status take_tridiagonal(tn_ctx *ctx, tnp_border *b)
{
    const tnp_spectrum *s = b->spectrum;
    tn_status st = tnp_alloc(ctx, b->inner * (TNP_BAND + 1), sizeof *b->band, &b->band);
    for (size_t i = 0; st == TN_OK && i < b->inner; ++i) {
        b->band[i * (TNP_BAND + 1)] = s->diag[i];
        if (i + 1 < b->inner)
            b->band[i * (TNP_BAND + 1) + 1] = s->off[i];
    }
    return st;
}

/* C and z from the moments. scratch (outer + 2 classes): means and squares, which the caller has no use for. */
static tn_status take_sides(tn_ctx *ctx, tnp_border *b, const tnp_moments *moments, const tnp_border_columns *c,
                            double *scratch)
{
    tn_status st = TN_OK;
    double *rows = NULL; /* (width, inner) */
    TN_TRY(tnp_alloc_raw(ctx, b->width * b->inner, sizeof *rows, &rows));
    tnp_moments_cross(moments, c->outer, c->outer_count, c->inner, c->inner_count, c->intercept, rows);
    tnp_moments_targets(moments, c->inner, c->inner_count, c->intercept, rows + b->outer * b->inner, scratch,
                        scratch + b->classes);
    if (b->spectrum->band)
        TN_TRY(tnp_band_apply(ctx, b->inner, b->spectrum->q, b->spectrum->factors, true, b->width, rows));
    else
        TN_TRY(tnp_spectrum_rotate(ctx, b->spectrum, true, b->width, rows));
    tnp_pack_tiles(rows, b->width, b->inner, TNP_BAND, b->tiles);
done:
    tnp_free(rows);
    return st;
}

tn_status tnp_border_new(tn_ctx *ctx, const tnp_spectrum *spectrum, const tnp_moments *moments,
                         const tnp_border_columns *c, tnp_border **out)
{
    tn_status st = TN_OK;
    tnp_border *b = NULL;
    double *scratch = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *b, &b));
    b->spectrum = spectrum;
    b->inner = spectrum->order;
    b->outer = tnp_range_columns(c->outer, c->outer_count);
    b->classes = spectrum->classes;
    b->width = b->outer + b->classes;
    TN_TRY(tnp_alloc_raw(ctx, b->inner * round_up(b->width), sizeof(double), &b->tiles));
    TN_TRY(tnp_alloc_raw(ctx, b->outer * b->outer, sizeof(double), &b->corner));
    TN_TRY(tnp_alloc_raw(ctx, b->classes * b->outer, sizeof(double), &b->xty));
    TN_TRY(tnp_alloc_raw(ctx, b->outer + 2 * b->classes, sizeof *scratch, &scratch));
    TN_TRY(take_sides(ctx, b, moments, c, scratch));
    tnp_moments_of(moments, c->outer, c->outer_count, c->intercept, b->corner, b->xty, scratch,
                   scratch + 2 * b->classes, scratch + b->classes);
    if (!spectrum->band)
        TN_TRY(take_tridiagonal(ctx, b));
    TN_TRY(tnp_band_factor_new(ctx, b->inner, spectrum->band ? spectrum->band : b->band, &b->factor));
    TN_TRY(tnp_alloc_raw(ctx, b->inner * b->width, sizeof(double), &b->solved));
    TN_TRY(tnp_alloc_raw(ctx, b->width * b->width, sizeof(double), &b->products));
    TN_TRY(tnp_alloc_raw(ctx, b->outer * b->outer, sizeof(double), &b->root));
    TN_TRY(tnp_alloc_raw(ctx, b->classes * b->outer, sizeof(double), &b->rest));
    *out = b;
    b = NULL;
done:
    tnp_border_free(b);
    tnp_free(scratch);
    return st;
}

/* Products of the columns of `solved`, so many rows at a time that an interrupt is heard in between. */
static tn_status multiply(tn_ctx *ctx, tnp_border *b)
{
    tn_status st = TN_OK;
    size_t rows = tnp_max(64, (size_t)(4e9 / ((double)b->width * (double)b->width)));
    for (size_t from = 0; from < b->inner; from += rows) {
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_dsyrk_cols(ctx, tnp_min(rows, b->inner - from), b->width, b->solved + from * b->width, b->width,
                              from ? 1 : 0, b->products));
    }
done:
    return st;
}

tn_status tnp_border_at(tn_ctx *ctx, tnp_border *b, double lambda, double *logdet, double *r)
{
    tn_status st = TN_OK;
    size_t m = b->outer, w = b->width;
    TN_TRY(tnp_band_factor_at(ctx, b->factor, lambda, logdet));
    tnp_band_half(ctx, b->factor, b->tiles, w, b->solved);
    TN_TRY(multiply(ctx, b));
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = i; j < m; ++j)
            b->root[i * m + j] = b->corner[i * m + j] - b->products[i * w + j] + (i == j ? lambda : 0);
        for (size_t k = 0; k < b->classes; ++k)
            b->rest[k * m + i] = b->xty[k * m + i] - b->products[i * w + m + k];
    }
    TN_TRY(tnp_cholesky(ctx, m, b->root));
    TN_TRY(tnp_solve_right(ctx, b->classes, m, b->root, b->rest));
    for (size_t i = 0; i < m; ++i)
        *logdet += 2 * log(b->root[i * m + i]);
    for (size_t k = 0; k < b->classes; ++k) {
        r[k] = b->spectrum->yy[k] - b->products[(m + k) * w + m + k];
        for (size_t i = 0; i < m; ++i)
            r[k] -= b->rest[k * m + i] * b->rest[k * m + i];
    }
done:
    return st;
}
