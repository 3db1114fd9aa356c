/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tridiagonal form and what is read off it; formulas in spectrum.h.
 *
 * An eigenvalue counts towards the rank when it stands above rounding: n eps times the largest, or twice the most
 * negative one. The latter measures the noise that is really there, which for Grams summed from float products is
 * far above n eps. The same figures bound lambda from below: under the floor T + lambda I may be indefinite, and F
 * would be made of noise. Eigenvectors (syevd) were refused: 6.6 s against 2.9 s at order 4096, and nothing here needs
 * them.
 *
 * From TNP_TWO_STAGES on T is made by way of a band (algebra/band.h): nearly twice as fast from 2048 on, while below it
 * A is in the cache, where LAPACK's single stage does not wait for memory. Factors of the band itself at every lambda
 * were refused: with a lambda per class they have more operations than the second stage, which leaves a lambda O(order)
 * and gives the eigenvalues. */
#include "learn/ridge/spectrum.h"
#include "algebra/band.h"
#include "algebra/blas.h"
#include "algebra/reflect.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifndef TNP_TWO_STAGES
#define TNP_TWO_STAGES 1536
#endif

static bool has_two_stages(size_t order)
{
    return order >= TNP_TWO_STAGES;
}

void tnp_pack_tiles(const double *rows, size_t count, size_t n, size_t lanes, double *tiles)
{
    size_t padded = (count + lanes - 1) / lanes * lanes;
    for (size_t r = 0; r < padded; ++r) {
        double *tile = tiles + r / lanes * n * lanes + r % lanes;
        for (size_t i = 0; i < n; ++i)
            tile[i * lanes] = r < count ? rows[r * n + i] : 0;
    }
}

size_t tnp_spectrum_bytes(size_t order, size_t classes)
{
    size_t stages = has_two_stages(order) ? 8 * order * (2 * TNP_BAND + 1) + tnp_two_stage_bytes(order) : 0;
    return 8 * (order * (classes + TNP_LANES + 5) + classes) + stages;
}

/* Keeps the eigenvalues that stand above rounding, and sets the floor of lambda. */
static void cut_noise(tnp_spectrum *s)
{
    size_t n = s->order, first = 0;
    double smallest = s->values[0], noise;
    s->largest = fmax(s->values[n - 1], 0);
    noise = fmax((double)n * DBL_EPSILON * s->largest, smallest < 0 ? -2 * smallest : 0);
    while (first < n && s->values[first] <= noise)
        ++first;
    s->rank = n - first;
    memmove(s->values, s->values + first, s->rank * sizeof *s->values);
    s->floor = fmax(1e-12 * s->largest, 8 * noise);
}

static tn_status spectrum_alloc(tn_ctx *ctx, bool dual, bool by_rows, size_t order, size_t classes, double dof,
                                tnp_spectrum **out)
{
    tn_status st = TN_OK;
    tnp_spectrum *s = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->dual = dual;
    s->by_rows = by_rows;
    s->order = order;
    s->classes = classes;
    s->dof = dof;
    s->tiles = (classes + TNP_LANES - 1) / TNP_LANES;
    TN_TRY(tnp_alloc(ctx, order, sizeof(double), &s->diag));
    TN_TRY(tnp_alloc(ctx, order, sizeof(double), &s->off));
    TN_TRY(tnp_alloc(ctx, order, sizeof(double), &s->values));
    TN_TRY(tnp_alloc_raw(ctx, s->tiles * TNP_LANES * order, sizeof(double), &s->h));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &s->yy));
    *out = s;
    s = NULL;
done:
    tnp_spectrum_free(s);
    return st;
}

/* Entries of the lower triangle to the upper one (`up`) or the other way, in squares that stay in the cache. */
static void mirror(size_t n, bool up, const double *from, double *to)
{
    enum { SIDE = 32 };
    size_t down = up ? 1 : n, right = up ? n : 1; /* steps in `from`; in `to` they change places */
    for (size_t rows = 0; rows < n; rows += SIDE)
        for (size_t columns = 0; columns < n; columns += SIDE)
            for (size_t i = rows; i < tnp_min(rows + SIDE, n); ++i)
                for (size_t j = tnp_max(columns, i + 1); j < tnp_min(columns + SIDE, n); ++j)
                    to[i * right + j * down] = from[i * down + j * right];
}

/* Keeps A below the diagonal of a, which LAPACK's reduction does not touch. */
static tn_status keep_matrix(tn_ctx *ctx, tnp_spectrum *s, double *a)
{
    tn_status st = tnp_alloc_raw(ctx, s->order, sizeof(double), &s->own);
    if (st != TN_OK)
        return st;
    mirror(s->order, false, a, a);
    for (size_t i = 0; i < s->order; ++i)
        s->own[i] = a[i * s->order + i];
    return TN_OK;
}

void tnp_spectrum_matrix(const tnp_spectrum *s, double lambda, double *out)
{
    mirror(s->order, true, s->q, out);
    for (size_t i = 0; i < s->order; ++i)
        out[i * s->order + i] = s->own[i] + lambda;
}

/* T from a, which keeps Q together with tau or factors. */
static tn_status reduce(tn_ctx *ctx, tnp_spectrum *s, double *a)
{
    tn_status st = TN_OK;
    if (has_two_stages(s->order)) {
        TN_TRY(tnp_alloc(ctx, s->order * TNP_BAND, sizeof(double), &s->factors));
        TN_TRY(tnp_alloc_raw(ctx, s->order * (TNP_BAND + 1), sizeof(double), &s->band));
        TN_TRY(tnp_two_stage(ctx, s->order, a, s->diag, s->off, s->factors, s->band));
    } else {
        TN_TRY(tnp_alloc(ctx, s->order, sizeof(double), &s->tau));
        TN_TRY(tnp_progress(ctx, "tridiagonal form", 0, 1));
        if (!s->dual)
            TN_TRY(keep_matrix(ctx, s, a));
        TN_TRY(tnp_tridiagonalise(ctx, s->order, a, s->diag, s->off, s->tau));
        TN_TRY(tnp_progress(ctx, "tridiagonal form", 1, 1));
    }
done:
    return st;
}

tn_status tnp_spectrum_new(tn_ctx *ctx, bool dual, size_t order, size_t classes, double dof, double *a, double *rhs,
                           const double *yy, tnp_spectrum **out)
{
    tn_status st = TN_OK;
    tnp_spectrum *s = NULL;
    TN_TRY(spectrum_alloc(ctx, dual, dual, order, classes, dof, &s));
    memcpy(s->yy, yy, classes * sizeof *yy);
    for (size_t i = 0; i < order; ++i)
        if (!isfinite(a[i * order + i]))
            TN_TRY(tnp_fail(ctx, TN_ERR_NUMERIC,
                            "evidence: squares of the features leave the range of numbers "
                            "(column %zu); normalise or rescale them",
                            i));
    TN_TRY(reduce(ctx, s, a));
    s->q = a; /* the caller's until the end */
    TN_TRY(tnp_spectrum_rotate(ctx, s, true, classes, rhs));
    TN_TRY(tnp_tridiagonal_values(ctx, order, s->diag, s->off, s->values));
    tnp_pack_tiles(rhs, classes, order, TNP_LANES, s->h);
    cut_noise(s);
    *out = s;
    s = NULL;
done:
    if (s)
        s->q = NULL;
    tnp_spectrum_free(s);
    return st;
}

/* The smallest part of a target's square that no direction reaches, among targets that are not zero. */
static double least_rest(const tnp_spectrum *s, const double *h)
{
    double least = 1;
    for (size_t k = 0; k < s->classes; ++k) {
        double rest = s->rest[k];
        for (size_t i = s->rank; i < s->order; ++i)
            rest += h[k * s->order + i] * h[k * s->order + i];
        least = s->yy[k] > 0 ? fmin(least, rest / s->yy[k]) : least;
    }
    return least;
}

/* A singular value below sqrt(order) eps of the largest, or below what the rows were rounded by, is a zero. Solves with
 * a diagonal T lose nothing at any lambda, so its floor is where F has nothing more to show. Where as many directions
 * as degrees of freedom interpolate the targets, F is level below the smallest square. Where fewer do, to the last
 * digit of the targets, F has no bound, and is cut where that of moments is. Else R ends at what no direction reaches,
 * and lambda not far below, though it may be as small as the digits of a target allow. */
static void take_singular(tnp_spectrum *s, const double *singular, double blur, const double *h)
{
    double cut = 4 * fmax(sqrt((double)s->order) * DBL_EPSILON * singular[0], blur);
    double noise = fmax(DBL_EPSILON * singular[0], blur);
    for (size_t i = 0; i < s->order && singular[i] > cut; ++i)
        s->rank = i + 1;
    for (size_t i = 0; i < s->rank; ++i) {
        s->diag[i] = singular[i] * singular[i];
        s->values[s->rank - 1 - i] = s->diag[i];
        if (s->root)
            s->root[i] = singular[i];
    }
    if (s->rank == 0)
        return;
    s->largest = s->diag[0];
    double rounding = 1e3 * noise * noise / s->values[0]; /* of a direction, in a target's square */
    bool level = (double)s->rank >= s->dof, endless = !level && least_rest(s, h) < rounding;
    s->floor = level     ? fmin(1e-12 * s->largest, 1e-10 * s->values[0])
               : endless ? fmin(1e-12 * s->largest, 1e-2 * s->values[0])
                         : 1e-32 * s->values[0];
    s->noise = (tnp_noise){.norm = noise * noise};
}

tn_status tnp_spectrum_new_root(tn_ctx *ctx, bool by_rows, size_t order, size_t classes, double dof, double *basis,
                                const double *singular, double blur, const double *h, const double *rest,
                                tnp_spectrum **out)
{
    tn_status st = TN_OK;
    tnp_spectrum *s = NULL;
    TN_TRY(spectrum_alloc(ctx, true, by_rows, order, classes, dof, &s));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &s->rest));
    if (!by_rows)
        TN_TRY(tnp_alloc(ctx, order, sizeof(double), &s->root));
    for (size_t k = 0; k < classes; ++k) {
        s->rest[k] = s->yy[k] = rest[k];
        for (size_t i = 0; i < order; ++i)
            s->yy[k] += h[k * order + i] * h[k * order + i];
    }
    tnp_pack_tiles(h, classes, order, TNP_LANES, s->h);
    take_singular(s, singular, blur, h);
    s->q = basis;
    *out = s;
    s = NULL;
done:
    tnp_spectrum_free(s);
    return st;
}

void tnp_spectrum_set_noise(tnp_spectrum *s, const tnp_noise *noise)
{
    size_t zeros = s->order - s->rank;
    s->noise = *noise;
    s->noise.norm += 4 * DBL_EPSILON * s->largest; /* the reduction to tridiagonal form */
    s->noise.form += DBL_EPSILON * s->largest;
    while (zeros < s->order && s->values[zeros - (s->order - s->rank)] < 3 * s->noise.norm)
        ++zeros;
    s->hidden = zeros > noise->flat ? zeros - noise->flat : 0;
}

tn_status tnp_spectrum_rotate(tn_ctx *ctx, const tnp_spectrum *s, bool transpose, size_t count, double *c)
{
    tn_status st = TN_OK;
    double *in = NULL;
    size_t n = s->order;
    if (s->factors)
        return tnp_two_stage_apply(ctx, n, s->q, s->factors, transpose, count, c);
    if (s->tau)
        return tnp_apply_q(ctx, n, s->q, s->tau, transpose, count, c);
    TN_TRY(tnp_alloc_raw(ctx, count * n, sizeof *in, &in));
    memcpy(in, c, count * n * sizeof *in);
    if (transpose)
        TN_TRY(tnp_dgemm_nn(ctx, count, n, n, in, n, s->q, n, 0, c, n));
    else
        TN_TRY(tnp_dgemm_nt(ctx, count, n, n, in, n, s->q, n, 0, c, n));
done:
    tnp_free(in);
    return st;
}

void tnp_spectrum_free(tnp_spectrum *s)
{
    if (!s)
        return;
    tnp_free_all(s->q, s->tau, s->factors, s->own, s->band, s->diag, s->off, s->values, s->h, s->yy, s->rest, s->root,
                 s->scale, s);
}

typedef struct tile_job {
    void (*body)(void *arg, size_t tile, double *scratch);
    void *arg;
    double *scratch;
    size_t size, slots, count;
} tile_job;

/* Slot `slot` takes tiles slot, slot + slots, ...: scratch is one a slot, not one a tile. */
static void run_slot(void *arg, size_t slot)
{
    const tile_job *job = arg;
    for (size_t tile = slot; tile < job->count; tile += job->slots)
        job->body(job->arg, tile, job->scratch + slot * job->size);
}

tn_status tnp_spectrum_tiles(tn_ctx *ctx, const tnp_spectrum *s, size_t count,
                             void (*body)(void *arg, size_t tile, double *scratch), void *arg)
{
    tn_status st = TN_OK;
    size_t threads = tnp_threads_for(ctx, 40.0 * (double)count * TNP_LANES * (double)s->order);
    tile_job job = {body, arg, NULL, 4 * s->order * TNP_LANES, tnp_min(count, 2 * threads), count};
    TN_TRY(tnp_alloc_raw(ctx, job.slots * job.size, sizeof(double), &job.scratch));
    tnp_parallel(ctx, threads, job.slots, run_slot, &job);
done:
    tnp_free(job.scratch);
    return st;
}

/* R, |w|^2 and the residual of a tile's classes from its solve; lambda (TNP_LANES). */
static void ridge_values(const tnp_spectrum *s, size_t tile, const double *lambda, const tnp_tri_out *v,
                         tnp_ridge_values *out)
{
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        double yy = c < s->classes ? s->yy[c] : 0;
        if (s->dual) {
            double rest = c < s->classes && s->rest ? s->rest[c] : 0;
            out->r[l] = rest + lambda[l] * v->hu[l];
            out->ww[l] = fmax(v->utu[l], 0);
            out->residual[l] = rest + lambda[l] * lambda[l] * v->uu[l];
        } else {
            /* A perfect fit leaves rounding noise of y'y: never less, or log R would run away. */
            out->r[l] = fmax(yy - v->hu[l], DBL_EPSILON * yy);
            out->ww[l] = v->uu[l];
            out->residual[l] = fmax(out->r[l] - lambda[l] * v->uu[l], 0);
        }
    }
}

void tnp_spectrum_eval(const tnp_spectrum *s, const tnp_simd *k, size_t tile, const double *lambda, double *scratch,
                       tnp_ridge_values *out)
{
    tnp_tri_out v;
    k->tri_solve(s->order, s->diag, s->off, lambda, s->h + tile * s->order * TNP_LANES, scratch,
                 scratch + s->order * TNP_LANES, &v);
    ridge_values(s, tile, lambda, &v, out);
}

void tnp_spectrum_pivots(const tnp_spectrum *s, double lambda, double *inverse)
{
    for (size_t i = 0; i < s->order; ++i) {
        double e = i ? s->off[i - 1] : 0;
        inverse[i] = 1 / (s->diag[i] + lambda - (i ? e * e * inverse[i - 1] : 0));
    }
}

void tnp_spectrum_eval_known(const tnp_spectrum *s, const tnp_simd *k, size_t tile, double lambda,
                             const double *inverse, double *scratch, tnp_ridge_values *out)
{
    tnp_tri_out v;
    double same[TNP_LANES];
    for (size_t l = 0; l < TNP_LANES; ++l)
        same[l] = lambda;
    k->tri_solve_known(s->order, s->diag, s->off, inverse, s->h + tile * s->order * TNP_LANES, scratch, &v);
    ridge_values(s, tile, same, &v, out);
}

double tnp_spectrum_gamma(const tnp_spectrum *s, double lambda)
{
    double part[TNP_LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + TNP_LANES <= s->rank; i += TNP_LANES)
        for (size_t l = 0; l < TNP_LANES; ++l)
            part[l] += s->values[i + l] / (lambda + s->values[i + l]);
    for (; i < s->rank; ++i)
        sum += s->values[i] / (lambda + s->values[i]);
    for (size_t l = 0; l < TNP_LANES; ++l)
        sum += part[l];
    return sum;
}

double tnp_spectrum_gamma_slope(const tnp_spectrum *s, double lambda)
{
    double sum = 0;
    for (size_t i = 0; i < s->rank; ++i) {
        double t = lambda + s->values[i];
        sum += lambda * s->values[i] / (t * t);
    }
    return sum;
}

/* Factors are multiplied before the logarithm is taken, while the product stays in range: a tenth of the logs. */
double tnp_spectrum_logdet(const tnp_spectrum *s, double lambda)
{
    double sum = 0, product = 1;
    for (size_t i = 0; i < s->rank; ++i) {
        double ratio = s->values[i] / lambda;
        if (ratio < 1e-4) { /* 1 + ratio would round the ratio away */
            sum += log1p(ratio);
            continue;
        }
        product *= 1 + ratio;
        if (product > 1e150) {
            sum += log(product);
            product = 1;
        }
    }
    return sum + log(product);
}

void tnp_tile_lambdas(const tnp_spectrum *s, size_t tile, const double *lambda, double out[TNP_LANES])
{
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        out[l] = c < s->classes && isfinite(lambda[c]) ? lambda[c] : fmax(s->largest, 1);
    }
}

typedef struct solve_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const double *lambda; /* classes */
    double *out;          /* (classes, order) */
} solve_job;

static void solve_tile(void *arg, size_t tile, double *u)
{
    const solve_job *job = arg;
    const tnp_spectrum *s = job->s;
    double lambda[TNP_LANES];
    tnp_ridge_values values;
    tnp_tile_lambdas(s, tile, job->lambda, lambda);
    tnp_spectrum_eval(s, job->k, tile, lambda, u, &values);
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        for (size_t i = 0; c < s->classes && i < s->order; ++i)
            job->out[c * s->order + i] =
                isfinite(job->lambda[c]) ? u[i * TNP_LANES + l] * (s->root ? s->root[i] : 1) : 0;
    }
}

tn_status tnp_spectrum_solve(tn_ctx *ctx, const tnp_spectrum *s, const double *lambda, bool rotate, double *out)
{
    solve_job job = {s, tnp_simd_get(), lambda, out};
    tn_status st = tnp_spectrum_tiles(ctx, s, s->tiles, solve_tile, &job);
    if (st == TN_OK && rotate)
        st = tnp_spectrum_rotate(ctx, s, false, s->classes, out);
    return st;
}
