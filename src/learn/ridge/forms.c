/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A row costs 2 order^2 flops to be brought to the coordinates of T, and as much again where T was made by way of a band
 * B (algebra/band.h). There rows stay in the coordinates of B: a lambda then costs 4 TNP_BAND order flops per row, at
 * twice the speed, and those of the order / TNP_BAND first lambdas together less than the second half of the way.
 *
 *   A = Q1 B Q1', B = Q2 T Q2'     z = Q1'x     form = z'(B + lambda I)^-1 z     score = z'Q2 u, u = (T + lambda I)^-1 h
 *
 * and with z = Q'x, T in the place of B and no Q2 otherwise.
 *
 * Where A is at hand and one lambda is asked for, rows stay as they are: order^3 / 3 flops for A + lambda I = R'R, and
 * half of that way's for form = |R'^-1 x|^2. The second lambda takes the way, which all others then share. Below CLEAR
 * of the largest eigenvalue lambda is left to T, whose pivots hold where A's are rounding.
 *
 * Oracle: tests/unit/test_loo.c by way of leave-one-out. */
#include "learn/ridge/forms.h"
#include "algebra/band.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256 };
static const double CLEAR = 1e-6;

struct tnp_forms {
    const tnp_spectrum *s;
    size_t count, asked;     /* asked: lambdas so far */
    bool turned;             /* z is z, not x */
    double *z;               /* (count, order) */
    double *tiles;           /* the same for solves with a band, TNP_BAND columns a tile; NULL: coordinates of T */
    double *u;               /* (classes, order) */
    tnp_band_factor *factor; /* NULL: coordinates of T */
};

static size_t round_up(size_t n, size_t size)
{
    return (n + size - 1) / size * size;
}

tn_status tnp_forms_new(tn_ctx *ctx, const tnp_spectrum *s, size_t count, double *rows, tnp_forms **out)
{
    tn_status st = TN_OK;
    tnp_forms *f = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *f, &f));
    f->s = s;
    f->count = count;
    f->z = rows;
    rows = NULL;
    TN_TRY(tnp_alloc_raw(ctx, s->classes * s->order, sizeof(double), &f->u));
    *out = f;
    f = NULL;
done:
    tnp_free(rows);
    tnp_forms_free(f);
    return st;
}

void tnp_forms_free(tnp_forms *f)
{
    if (!f)
        return;
    tnp_band_factor_free(f->factor);
    tnp_free_all(f->z, f->tiles, f->u, f);
}

/* Brings the rows to the coordinates of B, or of T. */
static tn_status turn(tn_ctx *ctx, tnp_forms *f)
{
    tn_status st = TN_OK;
    const tnp_spectrum *s = f->s;
    f->turned = true;
    if (!s->band)
        return tnp_spectrum_rotate(ctx, s, true, f->count, f->z);
    TN_TRY(tnp_band_factor_new(ctx, s->order, s->band, &f->factor));
    TN_TRY(tnp_band_apply(ctx, s->order, s->q, s->factors, true, f->count, f->z));
    TN_TRY(tnp_alloc_raw(ctx, round_up(f->count, TNP_BAND) * s->order, sizeof(double), &f->tiles));
    tnp_pack_tiles(f->z, f->count, s->order, TNP_BAND, f->tiles);
done:
    return st;
}

static tn_status leave_band(tn_ctx *ctx, tnp_forms *f)
{
    tn_status st = tnp_chase_apply(ctx, f->s->order, f->s->q, true, f->count, f->z);
    if (st != TN_OK)
        return st;
    tnp_band_factor_free(f->factor);
    tnp_free(f->tiles);
    f->factor = NULL;
    f->tiles = NULL;
    return TN_OK;
}

tn_status tnp_forms_expect(tn_ctx *ctx, tnp_forms *f, size_t lambdas)
{
    tn_status st = TN_OK;
    size_t n = f->s->order;
    bool many = f->count > n / 3 && 8 * (n + CHUNK) * n <= tnp_budget_left(ctx);
    f->asked += lambdas;
    if (!f->turned && !(f->s->own && f->asked <= 1 && many))
        TN_TRY(turn(ctx, f));
    if (f->factor && lambdas > n / TNP_BAND)
        TN_TRY(leave_band(ctx, f));
done:
    return st;
}

/* Forms of rows that were not turned. */
static tn_status by_cholesky(tn_ctx *ctx, const tnp_forms *f, double lambda, double *out)
{
    tn_status st = TN_OK;
    size_t n = f->s->order;
    double *root = NULL, *rows = NULL;
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *root, &root));
    TN_TRY(tnp_alloc_raw(ctx, CHUNK * n, sizeof *rows, &rows));
    tnp_spectrum_matrix(f->s, lambda, root);
    TN_TRY(tnp_cholesky(ctx, n, root));
    for (size_t from = 0; from < f->count; from += CHUNK) {
        size_t some = tnp_min(CHUNK, f->count - from);
        TN_TRY(tnp_cancelled(ctx));
        memcpy(rows, f->z + from * n, some * n * sizeof *rows);
        TN_TRY(tnp_solve_right(ctx, some, n, root, rows));
        for (size_t i = 0; i < some; ++i) {
            double sum[TNP_LANES] = {0};
            for (size_t j = 0; j < n; ++j)
                sum[j % TNP_LANES] += rows[i * n + j] * rows[i * n + j];
            out[from + i] = 0;
            for (size_t l = 0; l < TNP_LANES; ++l)
                out[from + i] += sum[l];
        }
    }
done:
    tnp_free_all(root, rows);
    return st;
}

typedef struct form_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const double *z;
    double *out;
    double lambda;
    size_t count;
} form_job;

static void form_tile(void *arg, size_t tile, double *u)
{
    const form_job *job = arg;
    size_t n = job->s->order, first = tile * TNP_LANES;
    double lambda[TNP_LANES], *rows = u + 2 * n * TNP_LANES; /* which a solve does not touch */
    tnp_tri_out v;
    for (size_t l = 0; l < TNP_LANES; ++l)
        lambda[l] = job->lambda;
    tnp_pack_tiles(job->z + first * n, tnp_min(TNP_LANES, job->count - first), n, TNP_LANES, rows);
    job->k->tri_solve(n, job->s->diag, job->s->off, lambda, rows, u, u + n * TNP_LANES, &v);
    for (size_t l = 0; l < TNP_LANES && tile * TNP_LANES + l < job->count; ++l)
        job->out[tile * TNP_LANES + l] = v.hu[l];
}

tn_status tnp_forms_at(tn_ctx *ctx, tnp_forms *f, double lambda, double *out)
{
    tn_status st = TN_OK;
    double logdet = 0;
    if (!f->turned && lambda >= CLEAR * f->s->largest) {
        st = by_cholesky(ctx, f, lambda, out);
        if (st != TN_ERR_NUMERIC)
            return st;
    }
    if (!f->turned)
        st = turn(ctx, f);
    if (st != TN_OK)
        return st;
    if (!f->factor) {
        form_job job = {f->s, tnp_simd_get(), f->z, out, lambda, f->count};
        return tnp_spectrum_tiles(ctx, f->s, round_up(f->count, TNP_LANES) / TNP_LANES, form_tile, &job);
    }
    st = tnp_band_factor_at(ctx, f->factor, lambda, &logdet);
    if (st == TN_OK)
        tnp_band_forms(ctx, f->factor, f->tiles, f->count, out);
    return st;
}

tn_status tnp_forms_scores(tn_ctx *ctx, tnp_forms *f, const double *lambda, double *out)
{
    tn_status st = TN_OK;
    size_t n = f->s->order, k = f->s->classes;
    TN_TRY(tnp_spectrum_solve(ctx, f->s, lambda, !f->turned, f->u));
    if (f->factor)
        TN_TRY(tnp_chase_apply(ctx, n, f->s->q, false, k, f->u));
    TN_TRY(tnp_dgemm_nt(ctx, f->count, k, n, f->z, n, f->u, n, 0, out, k));
done:
    return st;
}
