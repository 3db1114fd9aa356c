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
 * Of few components all l are computed from the differences themselves. Of more, in two steps. All l at once, by one product of [y, y^2], y = x - shift, with [mu/var, -1/(2 var)]: good to about 1e-4.
 * Then, row by row, those components within REACH of the highest are computed again from the differences themselves,
 * which is exact to rounding, and only they get a share: one that is left out has a posterior below exp(-13) = 2e-6. All
 * sums are of differences from the component's own mean, so that nothing cancels: sum q x^2 - mu^2 sum q was refused for
 * that. Of 256 components 5 to 15 have a share of a descriptor: the second step costs less than the product. Of 32 as many
 * have one, and the product with the second step costs more than all differences.
 *
 * The reverse pass finds the same posteriors again, which costs less than to keep them for all rows, and adds up with the
 * derivatives d[i,k] of the log densities where the sums above have q[i,k]: no other loop is new than that of e[i,k].
 * dL/dx[i,j] = sum_k q (a + 2 b z) - d z / var, a and b the slopes, is one loop more, where it is asked for.
 *
 * Rows in blocks of BLOCK, each summed in float by one thread, blocks added up in double in order: the same sums for
 * every number of threads. Oracle: tests/ref/ref_encode.c; VLFeat's vl_fisher_encode (tests/peers). */
#include "encode/mixture.h"

#include "algebra/blas.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512, AT_ONCE = 8, CROWD = 4096, FEW = 64 };
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
    tnp_free_all(m->weights, m->means, m->variances, m->inverse, m->linear, m->level, m->whole, m->shift);
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
    tnp_free_all(sums->zero, sums->first, sums->second);
}

/* Pairs of a row and a component that has a share of it: at most CROWD and those of one row more, then all are added.
 * Sorted by component, whose mean and sums then stay in registers while its rows pass. */
typedef struct pairs {
    size_t count;
    uint32_t *component, *of; /* (capacity): by row; which component, which row of the block */
    uint32_t *starts;         /* (components + 1): of the components' pairs in what follows */
    uint32_t *row;            /* (capacity): by component; which row of the block */
    float *share;             /* (capacity): by component; log density, then posterior */
    float *most, *sum;        /* (rows of a block): the highest log density by the product; sum of exponentials */
    float *slope, *mean;      /* (capacity): e of the pairs; (rows of a block): the mean of e. Reverse pass only */
    float *posterior;         /* (capacity): by component; of a reverse pass to the rows only */
} pairs;

/* Blocks of rows on their way. */
typedef struct work {
    const tnp_mixture *m;
    const float *x;    /* (rows, dim) */
    size_t rows, part; /* part: floats of what a block sums: zero, first, second, in the reverse pass posteriors too */
    size_t at_once;    /* blocks */
    float *powers;     /* (at_once BLOCK, 2 dim): [y, y^2]; NULL: few components */
    float *logs;       /* (at_once BLOCK, count): of the product, without level; of few (at_once, CROWD): all of l */
    float *tilts;      /* (at_once, CROWD): of few components in a reverse pass, all of e but for level */
    uint32_t *every;   /* (BLOCK): 0, 1, .. */
    float *parts;      /* (at_once, part) */
    double logs_sum[AT_ONCE];
    pairs pairs[AT_ONCE];
    float *posteriors;                /* (rows, count), or NULL */
    const tnp_mixture_slopes *slopes; /* of a reverse pass, or NULL */
    float *dx;                        /* (rows, dim), of a reverse pass to the rows, or NULL */
} work;

static void make_powers(void *arg, size_t block)
{
    const work *w = arg;
    size_t d = w->m->dim, start = block * BLOCK, n = tnp_min(BLOCK, w->rows - start);
    for (size_t i = start; i < start + n; ++i)
        tnp_simd_get()->mixtures->powers(w->x + i * d, w->m->shift, d, w->powers + i * 2 * d);
}

static void sort_pairs(const tnp_mixture *m, pairs *p)
{
    memset(p->starts, 0, (m->count + 1) * sizeof *p->starts);
    for (size_t i = 0; i < p->count; ++i)
        ++p->starts[p->component[i] + 1];
    for (size_t k = 0; k < m->count; ++k)
        p->starts[k + 1] += p->starts[k];
    for (size_t i = 0; i < p->count; ++i)
        p->row[p->starts[p->component[i]]++] = p->of[i];
    memmove(p->starts + 1, p->starts, m->count * sizeof *p->starts);
    p->starts[0] = 0;
}

/* Exact densities, over exp(most) of their row. */
static void measure_pairs(const tnp_mixture *m, const float *x, pairs *p)
{
    const tnp_mixture_loops *loops = tnp_simd_get()->mixtures;
    for (size_t k = 0; k < m->count; ++k) {
        size_t first = p->starts[k], end = p->starts[k + 1];
        loops->distances(x, m->dim, p->row + first, end - first, m->means + k * m->dim, m->inverse + k * m->dim,
                         p->share + first);
        for (size_t j = first; j < end; ++j)
            p->share[j] = m->whole[k] - 0.5F * p->share[j] - p->most[p->row[j]];
    }
    loops->exp(p->share, p->count);
}

/* Rows [first, end): their sums of exponentials become factors. Returns the sum of log p(x). The sums are about from 1 to
 * the number of components: those of LOGS rows are multiplied before one logarithm is taken. */
static double share_out(pairs *p, size_t first, size_t end)
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
    return total + log(product);
}

/* In eight lanes, which do not wait for each other. */
static float sum_of(const float *x, size_t n)
{
    enum { WIDTH = 8 };
    float lanes[WIDTH] = {0}, sum = 0;
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH)
        for (size_t l = 0; l < WIDTH; ++l)
            lanes[l] += x[i + l];
    for (; i < n; ++i)
        sum += x[i];
    for (size_t l = 0; l < WIDTH; ++l)
        sum += lanes[l];
    return sum;
}

/* Shares become posteriors, whose sums over rows are added to zero (count). */
static void take_shares(const work *w, size_t block, const pairs *p, float *zero)
{
    size_t count = w->m->count;
    for (size_t k = 0; k < count; ++k) {
        size_t start = p->starts[k], end = p->starts[k + 1];
        for (size_t j = start; j < end; ++j)
            p->share[j] *= p->sum[p->row[j]];
        for (size_t j = start; w->posteriors && j < end; ++j)
            w->posteriors[(block * BLOCK + p->row[j]) * count + k] = p->share[j];
        zero[k] += sum_of(p->share + start, end - start);
    }
}

/* Posteriors of the rows [first, end) become derivatives of the log densities, whose sums are added to zero (count). */
static void take_slopes(const work *w, const float *x, const pairs *p, size_t first, size_t end, float *zero)
{
    const tnp_mixture *m = w->m;
    const tnp_mixture_slopes *e = w->slopes;
    size_t d = m->dim;
    memset(p->mean + first, 0, (end - first) * sizeof *p->mean);
    for (size_t k = 0; k < m->count; ++k) {
        size_t start = p->starts[k], n = p->starts[k + 1] - start;
        if (w->powers) /* of few components they came with the distances */
            tnp_simd_get()->mixtures->slopes(x, d, p->row + start, n, m->means + k * d, e->linear + k * d,
                                             e->square + k * d, p->slope + start);
        for (size_t j = start; j < start + n; ++j) {
            p->slope[j] -= e->level[k];
            p->mean[p->row[j]] += p->share[j] * p->slope[j];
        }
    }
    for (size_t k = 0; k < m->count; ++k) {
        size_t start = p->starts[k], n = p->starts[k + 1] - start;
        for (size_t j = start; j < start + n; ++j)
            p->share[j] *= p->slope[j] - p->mean[p->row[j]];
        zero[k] += sum_of(p->share + start, n);
    }
}

/* Adds what the pairs say to the slopes of their rows. */
static void pull_rows(const work *w, size_t block, const pairs *p)
{
    const tnp_mixture *m = w->m;
    size_t d = m->dim, rows = block * BLOCK * d;
    for (size_t k = 0; k < m->count; ++k) {
        size_t start = p->starts[k];
        tnp_simd_get()->mixtures->pull(w->x + rows, d, p->row + start, p->posterior + start, p->share + start,
                                       p->starts[k + 1] - start, m->means + k * d, m->inverse + k * d,
                                       w->slopes->linear + k * d, w->slopes->square + k * d, w->dx + rows);
    }
}

/* Adds what the pairs of rows [first_row, end) say, their shares exponentials, to the block's sums, and forgets them. */
static void add_pairs(work *w, size_t block, size_t first_row, size_t end)
{
    const tnp_mixture *m = w->m;
    const float *x = w->x + block * BLOCK * m->dim;
    float *zero = w->parts + block * w->part, *first = zero + m->count, *second = first + m->count * m->dim;
    pairs *p = w->pairs + block;
    w->logs_sum[block] += share_out(p, first_row, end);
    take_shares(w, block, p, w->slopes ? second + m->count * m->dim : zero);
    if (w->dx)
        memcpy(p->posterior, p->share, p->count * sizeof *p->share);
    if (w->slopes)
        take_slopes(w, x, p, first_row, end, zero);
    for (size_t k = 0; k < m->count; ++k) {
        size_t start = p->starts[k];
        tnp_simd_get()->mixtures->add(x, m->dim, p->row + start, p->share + start, p->starts[k + 1] - start,
                                      m->means + k * m->dim, first + k * m->dim, second + k * m->dim);
    }
    if (w->dx)
        pull_rows(w, block, p);
    p->count = 0;
}

/* Pairs that were found by the product. */
static void add_found(work *w, size_t block, size_t first_row, size_t end)
{
    pairs *p = w->pairs + block;
    sort_pairs(w->m, p);
    measure_pairs(w->m, w->x + block * BLOCK * w->m->dim, p);
    for (size_t i = first_row; i < end; ++i)
        p->sum[i] = 0;
    for (size_t j = 0; j < p->count; ++j)
        p->sum[p->row[j]] += p->share[j];
    add_pairs(w, block, first_row, end);
}

static float reach_of(const work *w)
{
    return w->slopes && w->slopes->reach > 0 ? fminf(REACH, w->slopes->reach) : REACH;
}

static void begin_block(work *w, size_t block)
{
    memset(w->parts + block * w->part, 0, w->part * sizeof *w->parts);
    w->logs_sum[block] = 0;
    w->pairs[block].count = 0;
    if (w->dx) {
        size_t start = block * BLOCK, n = tnp_min(BLOCK, w->rows - start);
        memset(w->dx + start * w->m->dim, 0, n * w->m->dim * sizeof *w->dx);
    }
}

/* n rows from `first` of the block on, all components of each: l and its highest, exponentials and their sums, pairs. */
static void find_few(const work *w, size_t block, size_t first, size_t n)
{
    const tnp_mixture *m = w->m;
    const tnp_mixture_loops *loops = tnp_simd_get()->mixtures;
    const pairs *p = w->pairs + block;
    const float *x = w->x + (block * BLOCK + first) * m->dim, least = expf(-reach_of(w));
    float *logs = w->logs + block * CROWD;
    for (size_t i = first; i < first + n; ++i) {
        p->most[i] = -HUGE_VALF;
        p->sum[i] = 0;
    }
    for (size_t k = 0; k < m->count; ++k) {
        const float *means = m->means + k * m->dim, *inverse = m->inverse + k * m->dim;
        if (w->slopes)
            loops->both(x, m->dim, n, means, inverse, w->slopes->linear + k * m->dim, w->slopes->square + k * m->dim,
                        logs + k * n, w->tilts + block * CROWD + k * n);
        else
            loops->distances(x, m->dim, w->every, n, means, inverse, logs + k * n);
        loops->level(logs + k * n, n, m->whole[k], p->most + first);
    }
    p->starts[0] = 0;
    for (size_t k = 0; k < m->count; ++k) {
        uint32_t start = p->starts[k];
        loops->weigh(logs + k * n, n, p->most + first, least, p->sum + first);
        p->starts[k + 1] = start + (uint32_t)loops->select(logs + k * n, n, first, p->row + start, p->share + start);
        for (size_t j = start; w->slopes && j < p->starts[k + 1]; ++j)
            p->slope[j] = w->tilts[block * CROWD + k * n + p->row[j] - first];
    }
}

/* The same sums as sum_block's of few components; CROWD / count rows at a time stay in the nearest cache. */
static void sum_block_of_few(void *arg, size_t block)
{
    work *w = arg;
    size_t rows = tnp_min(BLOCK, w->rows - block * BLOCK), some = tnp_min(BLOCK, CROWD / w->m->count);
    begin_block(w, block);
    for (size_t first = 0; first < rows; first += some) {
        size_t n = tnp_min(some, rows - first);
        find_few(w, block, first, n);
        w->pairs[block].count = w->pairs[block].starts[w->m->count];
        add_pairs(w, block, first, first + n);
    }
}

static void sum_block(void *arg, size_t block)
{
    work *w = arg;
    const tnp_mixture *m = w->m;
    pairs *p = w->pairs + block;
    size_t start = block * BLOCK, n = tnp_min(BLOCK, w->rows - start), added = 0;
    float reach = reach_of(w);
    begin_block(w, block);
    for (size_t i = 0; i < n; ++i) {
        size_t found = tnp_simd_get()->mixtures->near(w->logs + (start + i) * m->count, m->level, m->count, reach,
                                                      p->component + p->count, p->most + i);
        for (size_t f = 0; f < found; ++f)
            p->of[p->count + f] = (uint32_t)i;
        p->count += found;
        if (p->count >= CROWD || i + 1 == n) {
            add_found(w, block, added, i + 1);
            added = i + 1;
        }
    }
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

static tn_status make_pairs(tn_ctx *ctx, const tnp_mixture *m, bool back, pairs *p)
{
    tn_status st = TN_OK;
    size_t capacity = CROWD + m->count;
    TN_TRY(tnp_alloc_raw(ctx, capacity, sizeof *p->component, &p->component));
    TN_TRY(tnp_alloc_raw(ctx, capacity, sizeof *p->of, &p->of));
    TN_TRY(tnp_alloc_raw(ctx, capacity, sizeof *p->row, &p->row));
    TN_TRY(tnp_alloc_raw(ctx, m->count + 1, sizeof *p->starts, &p->starts));
    TN_TRY(tnp_alloc_raw(ctx, capacity, sizeof *p->share, &p->share));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK, sizeof *p->most, &p->most));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK, sizeof *p->sum, &p->sum));
    if (back) {
        TN_TRY(tnp_alloc_raw(ctx, capacity, sizeof *p->slope, &p->slope));
        TN_TRY(tnp_alloc_raw(ctx, BLOCK, sizeof *p->mean, &p->mean));
        TN_TRY(tnp_alloc_raw(ctx, capacity, sizeof *p->posterior, &p->posterior));
    }
done:
    return st;
}

/* One block at once for each thread: what one works on stays in its cache. */
static tn_status make_work(tn_ctx *ctx, const tnp_mixture *m, size_t rows, work *w)
{
    tn_status st = TN_OK;
    w->m = m;
    w->part = m->count * (1 + 2 * m->dim + (w->slopes ? 1 : 0));
    w->at_once = tnp_min(tnp_min(AT_ONCE, tn_ctx_threads(ctx)), (rows + BLOCK - 1) / BLOCK);
    bool few = m->count <= FEW;
    size_t n = tnp_min(rows, w->at_once * BLOCK);
    if (!few)
        TN_TRY(tnp_alloc_raw(ctx, n * 2 * m->dim, sizeof(float), &w->powers));
    TN_TRY(tnp_alloc_raw(ctx, few ? w->at_once * CROWD : n * m->count, sizeof(float), &w->logs));
    if (few && w->slopes)
        TN_TRY(tnp_alloc_raw(ctx, w->at_once * CROWD, sizeof(float), &w->tilts));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK, sizeof *w->every, &w->every));
    for (size_t i = 0; i < BLOCK; ++i)
        w->every[i] = (uint32_t)i;
    TN_TRY(tnp_alloc_raw(ctx, w->at_once * w->part, sizeof(float), &w->parts));
    for (size_t b = 0; b < w->at_once; ++b)
        TN_TRY(make_pairs(ctx, m, w->slopes, w->pairs + b));
done:
    return st;
}

static void free_work(work *w)
{
    tnp_free_all(w->powers, w->logs, w->parts, w->every, w->tilts);
    for (size_t b = 0; b < AT_ONCE; ++b) {
        pairs *p = w->pairs + b;
        tnp_free_all(p->component, p->of, p->row, p->starts, p->share, p->most, p->sum, p->slope, p->mean,
                     p->posterior);
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
        size_t threads = tnp_threads_for(ctx, 50.0 * (double)w.rows * (double)m->dim);
        if (w.powers) {
            tnp_parallel(ctx, threads, blocks, make_powers, &w);
            TN_TRY(tnp_sgemm_nt(ctx, w.rows, m->count, 2 * m->dim, w.powers, 2 * m->dim, m->linear, 2 * m->dim, 0,
                                w.logs, m->count));
        }
        tnp_parallel(ctx, threads, blocks, w.powers ? sum_block : sum_block_of_few, &w);
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
