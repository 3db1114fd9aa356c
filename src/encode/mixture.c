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
 * All l are computed from the differences themselves, which is exact to rounding and costs two multiplications per value
 * as the product of [x, x^2] with [mu/var, -1/(2 var)] does, whose l is good to 1e-4 only and has to be computed again
 * where it counts. Rows lie side by side in panels, one per lane, so that no sum runs across lanes. Components that are
 * more than REACH below the highest of a row get no share of it: their posterior is below exp(-13) = 2e-6. The others,
 * 5 to 15 as a rule of 32 components and of 256, are pairs of a row and a component, and only they are added up. All
 * sums are of differences from the component's own mean, so that nothing cancels: sum q x^2 - mu^2 sum q was refused
 * for that.
 *
 * The reverse pass finds the same posteriors again, which costs less than to keep them for all rows, and adds up with the
 * derivatives d[i,k] of the log densities where the sums above have q[i,k]: no other loop over columns is new than that
 * of e[i,k]. The mean of e over a row's components needs them all, so that pairs are met twice: e of every pair, then
 * d. dL/dx[i,j] = sum_k q (a + 2 b z) - d z / var, a and b the slopes, is one loop more, where it is asked for.
 *
 * Rows in blocks of BLOCK, each summed in float by one thread, blocks added up in double in order: the same sums for
 * every number of threads. Oracle: tests/ref/ref_encode.c; VLFeat's vl_fisher_encode (tests/peers). */
#include "encode/mixture.h"

#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512, AT_ONCE = 8 };
/* Rows whose pairs are found together: at most MOST_ROWS, and so many that their densities are at most CROWD floats, or a
 * panel of them. More rows give each component longer runs to add up, fewer stay in the nearer cache. */
enum { CROWD = 1 << 17, MOST_ROWS = 256 };
enum { SLACK = 16 }; /* what the loops may look at or write behind the last pair */
static const float REACH = 13;

tn_status tnp_mixture_new(tn_ctx *ctx, size_t count, size_t dim, tnp_mixture *out)
{
    tn_status st = TN_OK;
    size_t all = 0;
    out->count = count;
    out->dim = dim;
    TN_TRY(tnp_mul(ctx, count, dim, &all));
    TN_TRY(tnp_alloc(ctx, count, sizeof(float), &out->weights));
    TN_TRY(tnp_alloc(ctx, count, sizeof(float), &out->whole));
    TN_TRY(tnp_alloc(ctx, all, sizeof(float), &out->means));
    TN_TRY(tnp_alloc(ctx, all, sizeof(float), &out->variances));
    TN_TRY(tnp_alloc(ctx, all, sizeof(float), &out->inverse));
done:
    return st;
}

void tnp_mixture_free(tnp_mixture *m)
{
    tnp_free_all(m->weights, m->means, m->variances, m->inverse, m->whole);
}

void tnp_mixture_ready(tnp_mixture *m)
{
    const double log_two_pi = 1.8378770664093453;
    size_t d = m->dim;
    for (size_t k = 0; k < m->count; ++k) {
        double whole = log((double)m->weights[k]);
        for (size_t j = 0; j < d; ++j) {
            double var = (double)m->variances[k * d + j];
            whole -= 0.5 * (log_two_pi + log(var));
            m->inverse[k * d + j] = (float)(1 / var);
        }
        m->whole[k] = (float)whole;
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
    tnp_free_all(sums->zero, sums->first, sums->second);
}

/* Pairs of a row and a component that has a share of it, of the rows at hand: by component, whose mean and sums then
 * stay in registers while its rows pass. */
typedef struct pairs {
    float *most, *sum; /* (BLOCK): the highest log density of a row; its sum of exponentials over the highest's */
    uint32_t *near;    /* (components, some / TNP_ABREAST): bits of rows that a component has a share of */
    uint32_t *row;     /* (some + SLACK), in a reverse pass (crowd + SLACK): which of the rows at hand */
    float *share;      /* the same: posterior */
    /* Of a reverse pass only. */
    uint32_t *starts; /* (components + 1): of the components' pairs in row, share and slope */
    float *slope;     /* (crowd + SLACK): e */
    float *bent;      /* (some + SLACK): derivatives of the log density, of one component */
    float *mean;      /* (some): the mean of e of a row */
} pairs;

/* Blocks of rows on their way, each with its own place in every array. */
typedef struct work {
    const tnp_mixture *m;
    const float *x;    /* (rows, dim) */
    size_t rows, part; /* part: floats of what a block sums: zero, first, second, in the reverse pass posteriors too */
    size_t at_once;    /* blocks */
    size_t some;       /* rows whose pairs are found together: a multiple of TNP_ABREAST */
    float *panels;     /* (at_once, dim TNP_ABREAST) */
    float *logs;       /* (at_once, count some): l, then its exponential over that of the row's highest */
    float *parts;      /* (at_once, part) */
    double logs_sum[AT_ONCE];
    pairs pairs[AT_ONCE];
    float *posteriors;                /* (rows, count), or NULL */
    const tnp_mixture_slopes *slopes; /* of a reverse pass, or NULL */
    float *dx;                        /* (rows, dim), of a reverse pass to the rows, or NULL */
} work;

static size_t whole_panels(size_t rows)
{
    return (rows + TNP_ABREAST - 1) / TNP_ABREAST * TNP_ABREAST;
}

static float reach_of(const work *w)
{
    return w->slopes && w->slopes->reach > 0 ? fminf(REACH, w->slopes->reach) : REACH;
}

/* Rows [first, first + n) of the block: all exponentials into logs (count, some), their sums over components. */
static void weigh_rows(const work *w, size_t block, size_t first, size_t n)
{
    const tnp_mixture *m = w->m;
    const tnp_mixture_loops *loops = tnp_simd_get()->mixtures;
    const pairs *p = w->pairs + block;
    const float *x = w->x + (block * BLOCK + first) * m->dim;
    float *panel = w->panels + block * m->dim * TNP_ABREAST, *logs = w->logs + block * m->count * w->some;
    for (size_t i = first; i < first + whole_panels(n); ++i) {
        p->most[i] = -HUGE_VALF;
        p->sum[i] = 0;
    }
    for (size_t i = 0; i < n; i += TNP_ABREAST) {
        loops->turn(x + i * m->dim, tnp_min(TNP_ABREAST, n - i), m->dim, panel);
        loops->densities(panel, m->dim, m->count, m->means, m->inverse, m->whole, w->some, logs + i,
                         p->most + first + i);
    }
    for (size_t k = 0; k < m->count; ++k)
        loops->weigh(logs + k * w->some, n, p->most + first, reach_of(w), p->near + k * w->some / TNP_ABREAST,
                     p->sum + first);
}

/* Rows [first, end): their sums of exponentials become factors, 0 for those that fill the last panel. Returns the sum of
 * log p(x). The sums are from 1 to the number of components: those of LOGS rows are multiplied before one logarithm is
 * taken. */
static double share_out(const pairs *p, size_t first, size_t end)
{
    enum { LOGS = 16 };
    double total = 0, product = 1;
    for (size_t i = first; i < end; ++i) {
        if (!(p->sum[i] > 0))
            continue; /* no component: densities beyond the range of floats */
        total += (double)p->most[i];
        product *= (double)p->sum[i];
        p->sum[i] = 1 / p->sum[i];
        if (i % LOGS == 0) {
            total += log(product);
            product = 1;
        }
    }
    for (size_t i = end; i < first + whole_panels(end - first); ++i)
        p->sum[i] = 0;
    return total + log(product);
}

/* Pairs of component k and the rows [first, first + n) from exponentials and factors, at `at`; the sum of their
 * posteriors is added to *total. Returns how many there are. */
static size_t find_pairs(const work *w, size_t block, size_t first, size_t n, size_t k, size_t at, float *total)
{
    const pairs *p = w->pairs + block;
    size_t count = w->m->count;
    size_t found =
        tnp_simd_get()->mixtures->share(w->logs + (block * count + k) * w->some, n, p->sum + first,
                                        p->near + k * w->some / TNP_ABREAST, 0, p->row + at, p->share + at, total);
    memset(p->row + at + found, 0, 3 * sizeof *p->row); /* slopes are found of four pairs at once */
    for (size_t j = at; w->posteriors && j < at + found; ++j)
        w->posteriors[(block * BLOCK + first + p->row[j]) * count + k] = p->share[j];
    return found;
}

/* Where a block adds up: components one after the other. */
typedef struct part_sums {
    float *zero, *first, *second, *shares; /* (count), (count, dim), (count, dim); shares: of a reverse pass */
} part_sums;

/* Adds what rows [first, first + n) of the block say. */
static void add_rows_forth(const work *w, size_t block, size_t first, size_t n, const part_sums *to)
{
    const tnp_mixture *m = w->m;
    const pairs *p = w->pairs + block;
    size_t d = m->dim;
    for (size_t k = 0; k < m->count; ++k) {
        size_t count = find_pairs(w, block, first, n, k, 0, to->zero + k);
        tnp_simd_get()->mixtures->add(w->x + (block * BLOCK + first) * d, d, p->row, p->share, count, m->means + k * d,
                                      to->first + k * d, to->second + k * d);
    }
}

/* The same of a reverse pass: e of all pairs and their means, then what becomes of the posteriors. */
static void add_rows_back(const work *w, size_t block, size_t first, size_t n, const part_sums *to)
{
    const tnp_mixture *m = w->m;
    const tnp_mixture_slopes *e = w->slopes;
    const tnp_mixture_loops *loops = tnp_simd_get()->mixtures;
    const pairs *p = w->pairs + block;
    size_t d = m->dim, panels = w->some / TNP_ABREAST, rows = (block * BLOCK + first) * d;
    const float *x = w->x + rows;
    memset(p->mean, 0, whole_panels(n) * sizeof *p->mean);
    p->starts[0] = 0;
    for (size_t k = 0; k < m->count; ++k) {
        size_t at = p->starts[k], count = find_pairs(w, block, first, n, k, at, to->shares + k);
        loops->slopes(x, d, p->row + at, count, m->means + k * d, e->linear + k * d, e->square + k * d, e->level[k],
                      p->slope + at);
        loops->spread(p->share + at, p->slope + at, p->row + at, count, p->near + k * panels, n, p->mean);
        p->starts[k + 1] = (uint32_t)(at + count);
    }
    for (size_t k = 0; k < m->count; ++k) {
        size_t at = p->starts[k], count = p->starts[k + 1] - at;
        loops->bend(p->share + at, p->slope + at, p->row + at, count, p->near + k * panels, n, p->mean, p->bent,
                    to->zero + k);
        if (w->dx)
            loops->pull(x, d, p->row + at, count,
                        &(tnp_pull){p->share + at, p->slope + at, p->mean, m->means + k * d, m->inverse + k * d,
                                    e->linear + k * d, e->square + k * d, to->first + k * d, to->second + k * d,
                                    w->dx + rows});
        else
            loops->add(x, d, p->row + at, p->bent, count, m->means + k * d, to->first + k * d, to->second + k * d);
    }
}

/* Adds what rows [first, first + n) of the block say to its sums. */
static void add_some(work *w, size_t block, size_t first, size_t n)
{
    float *part = w->parts + block * w->part;
    size_t k = w->m->count, kd = k * w->m->dim;
    part_sums to = {part, part + k, part + k + kd, part + k + 2 * kd};
    weigh_rows(w, block, first, n);
    w->logs_sum[block] += share_out(w->pairs + block, first, first + n);
    if (w->slopes)
        add_rows_back(w, block, first, n, &to);
    else
        add_rows_forth(w, block, first, n, &to);
}

static void sum_block(void *arg, size_t block)
{
    work *w = arg;
    size_t rows = tnp_min(BLOCK, w->rows - block * BLOCK);
    memset(w->parts + block * w->part, 0, w->part * sizeof *w->parts);
    w->logs_sum[block] = 0;
    if (w->dx)
        memset(w->dx + block * BLOCK * w->m->dim, 0, rows * w->m->dim * sizeof *w->dx);
    for (size_t first = 0; first < rows; first += w->some)
        add_some(w, block, first, tnp_min(w->some, rows - first));
}

static void add_part(const work *w, size_t block, double *shares, tnp_mixture_sums *sums)
{
    const tnp_simd *simd = tnp_simd_get();
    size_t k = w->m->count, kd = k * w->m->dim;
    const float *zero = w->parts + block * w->part;
    simd->add_to_double(zero, sums->zero, k);
    simd->add_to_double(zero + k, sums->first, kd);
    simd->add_to_double(zero + k + kd, sums->second, kd);
    if (w->slopes)
        simd->add_to_double(zero + k + 2 * kd, shares, k);
    sums->log_likelihood += w->logs_sum[block];
}

static tn_status make_pairs(tn_ctx *ctx, const work *w, size_t crowd, pairs *p)
{
    tn_status st = TN_OK;
    size_t all = (w->slopes ? crowd : w->some) + SLACK;
    TN_TRY(tnp_alloc_raw(ctx, crowd / TNP_ABREAST, sizeof *p->near, &p->near));
    TN_TRY(tnp_alloc_raw(ctx, all, sizeof *p->row, &p->row));
    TN_TRY(tnp_alloc_raw(ctx, all, sizeof *p->share, &p->share));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK, sizeof *p->most, &p->most));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK, sizeof *p->sum, &p->sum));
    if (w->slopes) {
        TN_TRY(tnp_alloc_raw(ctx, w->m->count + 1, sizeof *p->starts, &p->starts));
        TN_TRY(tnp_alloc_raw(ctx, all, sizeof *p->slope, &p->slope));
        TN_TRY(tnp_alloc_raw(ctx, w->some + SLACK, sizeof *p->bent, &p->bent));
        TN_TRY(tnp_alloc_raw(ctx, w->some, sizeof *p->mean, &p->mean));
    }
done:
    return st;
}

/* One block at once for each thread: what one works on stays in its cache. */
static tn_status make_work(tn_ctx *ctx, const tnp_mixture *m, size_t rows, work *w)
{
    tn_status st = TN_OK;
    size_t crowd = 0;
    w->m = m;
    w->part = m->count * (1 + 2 * m->dim + (w->slopes ? 1 : 0));
    w->at_once = tnp_min(tnp_min(AT_ONCE, tn_ctx_threads(ctx)), (rows + BLOCK - 1) / BLOCK);
    w->some = whole_panels(tnp_min(tnp_max(CROWD / m->count, 1), MOST_ROWS));
    TN_TRY(tnp_mul(ctx, m->count, w->some, &crowd));
    TN_TRY(tnp_alloc_raw(ctx, w->at_once * m->dim * TNP_ABREAST, sizeof(float), &w->panels));
    TN_TRY(tnp_alloc_raw(ctx, w->at_once * crowd, sizeof(float), &w->logs));
    TN_TRY(tnp_alloc_raw(ctx, w->at_once * w->part, sizeof(float), &w->parts));
    for (size_t b = 0; b < w->at_once; ++b)
        TN_TRY(make_pairs(ctx, w, crowd, w->pairs + b));
done:
    return st;
}

static void free_work(work *w)
{
    tnp_free_all(w->panels, w->logs, w->parts);
    for (size_t b = 0; b < AT_ONCE; ++b) {
        pairs *p = w->pairs + b;
        tnp_free_all(p->starts, p->near, p->row, p->share, p->most, p->sum, p->slope, p->bent, p->mean);
    }
}

/* q: where posteriors go, or NULL. With slopes it is a reverse pass, and their sums go to shares; dx as of
 * tnp_mixture_back. */
typedef struct wanted {
    float *q;
    const tnp_mixture_slopes *slopes;
    double *shares;
    float *dx;
} wanted;

static tn_status add_rows(tn_ctx *ctx, const tnp_mixture *m, const float *x, size_t n, const wanted *to,
                          tnp_mixture_sums *sums)
{
    tn_status st = TN_OK;
    work w = {.m = m, .slopes = to->slopes};
    TN_TRY(make_work(ctx, m, n, &w));
    for (size_t start = 0; start < n; start += w.rows) {
        w.x = x + start * m->dim;
        w.rows = tnp_min(w.at_once * BLOCK, n - start);
        w.posteriors = to->q ? to->q + start * m->count : NULL;
        w.dx = to->dx ? to->dx + start * m->dim : NULL;
        size_t blocks = (w.rows + BLOCK - 1) / BLOCK;
        size_t threads = tnp_threads_for(ctx, 4.0 * (double)w.rows * (double)m->dim * (double)m->count);
        tnp_parallel(ctx, threads, blocks, sum_block, &w);
        for (size_t b = 0; b < blocks; ++b)
            add_part(&w, b, to->shares, sums);
        sums->rows += to->slopes ? 0 : w.rows;
    }
done:
    free_work(&w);
    return st;
}

tn_status tnp_mixture_add(tn_ctx *ctx, const tnp_mixture *m, const float *x, size_t n, tnp_mixture_sums *sums)
{
    return n == 0 ? TN_OK : add_rows(ctx, m, x, n, &(wanted){.q = NULL}, sums);
}

tn_status tnp_mixture_back(tn_ctx *ctx, const tnp_mixture *m, const tnp_mixture_slopes *slopes, const float *x,
                           size_t n, double *shares, tnp_mixture_sums *sums, float *dx)
{
    return n == 0 ? TN_OK : add_rows(ctx, m, x, n, &(wanted){NULL, slopes, shares, dx}, sums);
}

tn_status tnp_mixture_posteriors(tn_ctx *ctx, const tnp_mixture *m, const float *x, size_t n, float *q)
{
    tn_status st = TN_OK;
    tnp_mixture_sums sums = {.rows = 0};
    memset(q, 0, n * m->count * sizeof *q);
    TN_TRY(tnp_mixture_sums_new(ctx, m, &sums));
    TN_TRY(n == 0 ? TN_OK : add_rows(ctx, m, x, n, &(wanted){.q = q}, &sums));
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
