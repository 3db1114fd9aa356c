/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mixture of K Gaussians with diagonal covariance.
 *
 *   l[i,k] = log w[k] - (1/2) sum_j (log(2 pi var[k,j]) + (x[i,j] - mu[k,j])^2 / var[k,j])
 *   q[i,k] = exp(l[i,k]) / sum_k exp(l[i,k])          log p(x[i]) = log of that sum
 *   EM:     n[k] = sum_i q[i,k]   w = n / N   mu = sum q x / n   var = sum q (x - mu)^2 / n, at least the floor
 *   Fisher: u[k,j] = sum_i q[i,k] z[i,k,j] / (N sqrt w[k])     z[i,k,j] = (x[i,j] - mu[k,j]) / sqrt var[k,j]
 *           v[k,j] = sum_i q[i,k] (z[i,k,j]^2 - 1) / (N sqrt(2 w[k]))                    Perronnin, Sanchez, Mensink 2010
 *
 * In two steps. All l at once, by one product of [y, y^2], y = x - shift, with [mu/var, -1/(2 var)]: good to about 1e-4.
 * Then, row by row, those components within REACH of the highest are computed again from the differences themselves,
 * which is exact to rounding, and only they get a share: one that is left out has a posterior below exp(-13) = 2e-6. All
 * sums are of differences from the component's own mean, so that nothing cancels: sum q x^2 - mu^2 sum q was refused for
 * that. Of 256 components 5 to 10 have a share of a descriptor: the second step costs less than the product.
 *
 * Rows in blocks of BLOCK, each summed in float by one thread, blocks added up in double in order: the same sums for
 * every number of threads. Oracle: tests/ref/ref_encode.c; VLFeat's vl_fisher_encode (tests/peers). */
#include "encode/mixture.h"

#include "algebra/blas.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512, AT_ONCE = 8 };
static const float REACH = 13;

tn_status tnp_mixture_new(tn_ctx *ctx, size_t count, size_t dim, tnp_mixture *out)
{
    tn_status st = TN_OK;
    size_t all = 0;
    out->count = count;
    out->dim = dim;
    TN_TRY(tnp_mul(ctx, count, dim, &all));
    TN_TRY(tnp_mul(ctx, all, 2, &all));
    TN_TRY(tnp_alloc(ctx, count, sizeof(float), &out->weights));
    TN_TRY(tnp_alloc(ctx, count, sizeof(float), &out->level));
    TN_TRY(tnp_alloc(ctx, count, sizeof(float), &out->whole));
    TN_TRY(tnp_alloc(ctx, dim, sizeof(float), &out->shift));
    TN_TRY(tnp_alloc(ctx, all / 2, sizeof(float), &out->means));
    TN_TRY(tnp_alloc(ctx, all / 2, sizeof(float), &out->variances));
    TN_TRY(tnp_alloc(ctx, all / 2, sizeof(float), &out->inverse));
    TN_TRY(tnp_alloc(ctx, all, sizeof(float), &out->linear));
done:
    return st;
}

void tnp_mixture_free(tnp_mixture *m)
{
    void *const blocks[] = {m->weights, m->means, m->variances, m->inverse, m->linear, m->level, m->whole, m->shift};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i)
        tnp_free(blocks[i]);
}

static void make_shift(tnp_mixture *m)
{
    for (size_t j = 0; j < m->dim; ++j) {
        double sum = 0;
        for (size_t k = 0; k < m->count; ++k)
            sum += (double)m->weights[k] * (double)m->means[k * m->dim + j];
        m->shift[j] = (float)sum;
    }
}

void tnp_mixture_ready(tnp_mixture *m)
{
    const double log_two_pi = 1.8378770664093453;
    size_t d = m->dim;
    make_shift(m);
    for (size_t k = 0; k < m->count; ++k) {
        double whole = log((double)m->weights[k]), level = 0;
        for (size_t j = 0; j < d; ++j) {
            double var = (double)m->variances[k * d + j], mean = (double)m->means[k * d + j] - (double)m->shift[j];
            whole -= 0.5 * (log_two_pi + log(var));
            level -= 0.5 * mean * mean / var;
            m->inverse[k * d + j] = (float)(1 / var);
            m->linear[k * 2 * d + j] = (float)(mean / var);
            m->linear[k * 2 * d + d + j] = (float)(-0.5 / var);
        }
        m->whole[k] = (float)whole;
        m->level[k] = (float)(whole + level);
    }
}

/* ---- sums ---- */

tn_status tnp_mixture_sums_new(tn_ctx *ctx, const tnp_mixture *m, tnp_mixture_sums *out)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, m->count, sizeof(double), &out->zero));
    TN_TRY(tnp_alloc(ctx, m->count * m->dim, sizeof(double), &out->first));
    TN_TRY(tnp_alloc(ctx, m->count * m->dim, sizeof(double), &out->second));
done:
    return st;
}

void tnp_mixture_sums_clear(const tnp_mixture *m, tnp_mixture_sums *sums)
{
    memset(sums->zero, 0, m->count * sizeof *sums->zero);
    memset(sums->first, 0, m->count * m->dim * sizeof *sums->first);
    memset(sums->second, 0, m->count * m->dim * sizeof *sums->second);
    sums->log_likelihood = 0;
    sums->rows = 0;
}

void tnp_mixture_sums_free(tnp_mixture_sums *sums)
{
    tnp_free(sums->zero);
    tnp_free(sums->first);
    tnp_free(sums->second);
}

/* AT_ONCE blocks of rows on their way. */
typedef struct work {
    const tnp_mixture *m;
    const float *x;    /* (rows, dim) */
    size_t rows, part; /* part: floats of what a block sums: zero, first, second */
    float *pairs;      /* (AT_ONCE BLOCK, 2 dim): [y, y^2] */
    float *logs;       /* (AT_ONCE BLOCK, count) */
    float *parts;      /* (AT_ONCE, part) */
    double logs_sum[AT_ONCE];
    uint32_t *which;   /* (AT_ONCE, count) */
    float *posteriors; /* (rows, count), or NULL */
} work;

static void make_pairs(void *arg, size_t block)
{
    const work *w = arg;
    size_t d = w->m->dim, start = block * BLOCK, n = tnp_min(BLOCK, w->rows - start);
    for (size_t i = start; i < start + n; ++i) {
        float *to = w->pairs + i * 2 * d;
        for (size_t j = 0; j < d; ++j) {
            float y = w->x[i * d + j] - w->m->shift[j];
            to[j] = y;
            to[d + j] = y * y;
        }
        memcpy(w->logs + i * w->m->count, w->m->level, w->m->count * sizeof *w->logs);
    }
}

/* The exact log densities of the components that count, in place of l: found of them. Returns log p(x). */
static double share_out(const tnp_mixture *m, const tnp_mixture_loops *loops, const float *x, float *l, uint32_t *which,
                        size_t *found)
{
    *found = loops->near(l, m->count, REACH, which);
    for (size_t f = 0; f < *found; ++f) {
        size_t k = which[f];
        l[f] = m->whole[k] - 0.5F * loops->distance(x, m->means + k * m->dim, m->inverse + k * m->dim, m->dim);
    }
    return tnp_simd_get()->softmax(l, l, *found);
}

static void sum_block(void *arg, size_t block)
{
    work *w = arg;
    const tnp_mixture *m = w->m;
    const tnp_mixture_loops *loops = tnp_simd_get()->mixtures;
    size_t d = m->dim, start = block * BLOCK, n = tnp_min(BLOCK, w->rows - start), found = 0;
    float *zero = w->parts + block * w->part, *first = zero + m->count, *second = first + m->count * d;
    uint32_t *which = w->which + block * m->count;
    double total = 0;
    memset(zero, 0, w->part * sizeof *zero);
    for (size_t i = start; i < start + n; ++i) {
        const float *x = w->x + i * d;
        float *l = w->logs + i * m->count;
        total += share_out(m, loops, x, l, which, &found);
        for (size_t f = 0; f < found; ++f) {
            size_t k = which[f];
            zero[k] += l[f];
            loops->add(x, m->means + k * d, l[f], d, first + k * d, second + k * d);
            if (w->posteriors)
                w->posteriors[i * m->count + k] = l[f];
        }
    }
    w->logs_sum[block] = total;
}

static void add_part(const work *w, size_t block, tnp_mixture_sums *sums)
{
    size_t k = w->m->count, kd = k * w->m->dim;
    const float *zero = w->parts + block * w->part;
    for (size_t i = 0; i < k; ++i)
        sums->zero[i] += (double)zero[i];
    for (size_t i = 0; i < kd; ++i) {
        sums->first[i] += (double)zero[k + i];
        sums->second[i] += (double)zero[k + kd + i];
    }
    sums->log_likelihood += w->logs_sum[block];
}

static tn_status make_work(tn_ctx *ctx, const tnp_mixture *m, size_t rows, work *w)
{
    tn_status st = TN_OK;
    size_t n = tnp_min(rows, AT_ONCE * BLOCK), blocks = (n + BLOCK - 1) / BLOCK;
    w->m = m;
    w->part = m->count * (1 + 2 * m->dim);
    TN_TRY(tnp_alloc_raw(ctx, n * 2 * m->dim, sizeof(float), &w->pairs));
    TN_TRY(tnp_alloc_raw(ctx, n * m->count, sizeof(float), &w->logs));
    TN_TRY(tnp_alloc_raw(ctx, blocks * w->part, sizeof(float), &w->parts));
    TN_TRY(tnp_alloc_raw(ctx, blocks * m->count, sizeof *w->which, &w->which));
done:
    return st;
}

static tn_status add_rows(tn_ctx *ctx, const tnp_mixture *m, const float *x, size_t n, float *posteriors,
                          tnp_mixture_sums *sums)
{
    tn_status st = TN_OK;
    work w = {.m = m};
    TN_TRY(make_work(ctx, m, n, &w));
    for (size_t start = 0; start < n; start += w.rows) {
        w.x = x + start * m->dim;
        w.rows = tnp_min(AT_ONCE * BLOCK, n - start);
        w.posteriors = posteriors ? posteriors + start * m->count : NULL;
        size_t blocks = (w.rows + BLOCK - 1) / BLOCK;
        size_t threads = tnp_threads_for(ctx, 50.0 * (double)w.rows * (double)m->dim);
        tnp_parallel(ctx, threads, blocks, make_pairs, &w);
        TN_TRY(tnp_sgemm_nt(ctx, w.rows, m->count, 2 * m->dim, w.pairs, 2 * m->dim, m->linear, 2 * m->dim, 1, w.logs,
                            m->count));
        tnp_parallel(ctx, threads, blocks, sum_block, &w);
        for (size_t b = 0; b < blocks; ++b)
            add_part(&w, b, sums);
        sums->rows += w.rows;
    }
done:
    tnp_free(w.pairs);
    tnp_free(w.logs);
    tnp_free(w.parts);
    tnp_free(w.which);
    return st;
}

tn_status tnp_mixture_add(tn_ctx *ctx, const tnp_mixture *m, const float *x, size_t n, tnp_mixture_sums *sums)
{
    return n == 0 ? TN_OK : add_rows(ctx, m, x, n, NULL, sums);
}

tn_status tnp_mixture_posteriors(tn_ctx *ctx, const tnp_mixture *m, const float *x, size_t n, float *q)
{
    tn_status st = TN_OK;
    tnp_mixture_sums sums = {.rows = 0};
    memset(q, 0, n * m->count * sizeof *q);
    TN_TRY(tnp_mixture_sums_new(ctx, m, &sums));
    TN_TRY(n == 0 ? TN_OK : add_rows(ctx, m, x, n, q, &sums));
done:
    tnp_mixture_sums_free(&sums);
    return st;
}

/* ---- EM and Fisher vectors ---- */

void tnp_mixture_update(tnp_mixture *m, const tnp_mixture_sums *sums, const double *floor)
{
    const double least = 1e-8;
    double n = (double)sums->rows, total = 0;
    for (size_t k = 0; k < m->count; ++k)
        total += fmax(sums->zero[k], least * n);
    for (size_t k = 0; k < m->count; ++k) {
        double share = sums->zero[k];
        m->weights[k] = (float)(fmax(share, least * n) / total);
        for (size_t j = 0; share > least * n && j < m->dim; ++j) {
            size_t at = k * m->dim + j;
            double move = sums->first[at] / share, var = sums->second[at] / share - move * move;
            m->means[at] = (float)((double)m->means[at] + move);
            m->variances[at] = (float)fmax(var, floor[j]);
        }
    }
    tnp_mixture_ready(m);
}

void tnp_fisher(const tnp_mixture *m, const tnp_mixture_sums *sums, float *out)
{
    size_t kd = m->count * m->dim;
    if (sums->rows == 0) {
        memset(out, 0, 2 * kd * sizeof *out);
        return;
    }
    for (size_t k = 0; k < m->count; ++k) {
        double scale = 1 / ((double)sums->rows * sqrt((double)m->weights[k]));
        for (size_t j = 0; j < m->dim; ++j) {
            size_t at = k * m->dim + j;
            double inverse = 1 / (double)m->variances[at];
            out[at] = (float)(sums->first[at] * sqrt(inverse) * scale);
            out[kd + at] = (float)((sums->second[at] * inverse - sums->zero[k]) * scale / sqrt(2));
        }
    }
}
