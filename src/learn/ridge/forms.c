/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A row costs 2 order^2 flops to be brought to the coordinates of T, and as much again where T was made by way of a band
 * B (algebra/band.h). There rows stay in the coordinates of B: a lambda then costs 4 TNP_BAND order flops per row, at
 * twice the speed, and those of the order / TNP_BAND first lambdas together less than the second half of the way.
 *
 *   A = Q1 B Q1', B = Q2 T Q2'     z = Q1'x     form = z'(B + lambda I)^-1 z     score = z'Q2 u, u = (T + lambda I)^-1 h
 *
 * and with z = Q'x, T in the place of B and no Q2 otherwise. Oracle: tests/unit/test_loo.c by way of leave-one-out. */
#include "learn/ridge/forms.h"
#include "algebra/band.h"
#include "algebra/blas.h"

#include <math.h>

struct tnp_forms {
    const tnp_spectrum *s;
    size_t count;
    double *z;               /* (count, order) */
    double *tiles;           /* the same for the solves, TNP_BAND columns a tile or TNP_LANES */
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
    TN_TRY(tnp_alloc_raw(ctx, round_up(count, TNP_BAND) * s->order, sizeof(double), &f->tiles));
    TN_TRY(tnp_alloc_raw(ctx, s->classes * s->order, sizeof(double), &f->u));
    if (s->band) {
        TN_TRY(tnp_band_factor_new(ctx, s->order, s->band, &f->factor));
        TN_TRY(tnp_band_apply(ctx, s->order, s->q, s->factors, true, count, f->z));
    } else {
        TN_TRY(tnp_spectrum_rotate(ctx, s, true, count, f->z));
    }
    tnp_pack_tiles(f->z, count, s->order, f->factor ? TNP_BAND : TNP_LANES, f->tiles);
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

tn_status tnp_forms_expect(tn_ctx *ctx, tnp_forms *f, size_t lambdas)
{
    if (!f->factor || lambdas <= f->s->order / TNP_BAND)
        return TN_OK;
    tn_status st = tnp_chase_apply(ctx, f->s->order, f->s->q, true, f->count, f->z);
    if (st != TN_OK)
        return st;
    tnp_pack_tiles(f->z, f->count, f->s->order, TNP_LANES, f->tiles);
    tnp_band_factor_free(f->factor);
    f->factor = NULL;
    return TN_OK;
}

typedef struct form_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const double *tiles;
    double *out;
    double lambda;
    size_t count;
} form_job;

static void form_tile(void *arg, size_t tile, double *u)
{
    const form_job *job = arg;
    size_t n = job->s->order;
    double lambda[TNP_LANES];
    tnp_tri_out v;
    for (size_t l = 0; l < TNP_LANES; ++l)
        lambda[l] = job->lambda;
    job->k->tri_solve(n, job->s->diag, job->s->off, lambda, job->tiles + tile * n * TNP_LANES, u, u + n * TNP_LANES,
                      &v);
    for (size_t l = 0; l < TNP_LANES && tile * TNP_LANES + l < job->count; ++l)
        job->out[tile * TNP_LANES + l] = v.hu[l];
}

tn_status tnp_forms_at(tn_ctx *ctx, tnp_forms *f, double lambda, double *out)
{
    double logdet = 0;
    if (!f->factor) {
        form_job job = {f->s, tnp_simd_get(), f->tiles, out, lambda, f->count};
        return tnp_spectrum_tiles(ctx, f->s, round_up(f->count, TNP_LANES) / TNP_LANES, form_tile, &job);
    }
    tn_status st = tnp_band_factor_at(ctx, f->factor, lambda, &logdet);
    if (st == TN_OK)
        tnp_band_forms(ctx, f->factor, f->tiles, f->count, out);
    return st;
}

tn_status tnp_forms_scores(tn_ctx *ctx, tnp_forms *f, const double *lambda, double *out)
{
    tn_status st = TN_OK;
    size_t n = f->s->order, k = f->s->classes;
    TN_TRY(tnp_spectrum_solve(ctx, f->s, lambda, false, f->u));
    if (f->factor)
        TN_TRY(tnp_chase_apply(ctx, n, f->s->q, false, k, f->u));
    TN_TRY(tnp_dgemm_nt(ctx, f->count, k, n, f->z, n, f->u, n, 0, out, k));
done:
    return st;
}
