/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nearest neighbours of the rows of a sample, each among all rows but itself. With u = x / |x| (0 for a row of zeros),
 * s_ij = u_i'u_j, and the rows j != i in descending order of s_ij, ties to the lower row,
 *
 *   weight of the n-th   w_n = (s_n - s_(k+1) + LEAST) g_n          n = 1 .. k; g: weight of the row, 1 without weights
 *   prediction           p_ic = sum w_n y_nc / sum w_n
 *
 * With fewer than k + 1 other rows s_(k+1) is that of the last. The border's weight is next to nothing, so that p does
 * not jump where rounding changes who is the k-th: plain votes were refused, which do. LEAST is about what a float
 * product cannot tell; it makes rows that are all equally near count alike.
 *
 * Rows are as the feed prepares them, less its centre where it has one. Distances instead of cosines were refused: they
 * are the same for l2 and root, and elsewhere long rows would be the neighbours of nobody.
 *
 * A band of the sample (b, D) stays; blocks of all rows (n, D) are read past it, S = U_b U_n' (b, n) is one product, and
 * every row of S is looked through for what is nearer than the last of its list. Members of a team have parts of the
 * sample, and each reads all rows.
 * Oracle: double loops over all pairs, tests/unit/test_knn.c; scikit-learn by tests/fixtures/make_knn.py. */
#include "select/knn.h"
#include "algebra/blas.h"
#include "base/team.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 4 << 20, BAND_BYTES = 128 << 20, LEAST_ROWS = 256, LEAST_BAND = 16 };

static const double LEAST = 0x1p-20;

typedef struct neighbour {
    float near;
    size_t row;
} neighbour;

typedef struct knn_job {
    tn_ctx *ctx;
    const tn_feed *const *feeds;
    size_t feed_count;
    const tnp_targets *y;
    const tnp_sample *sample;
    size_t dim, k;
    size_t block, band;   /* rows of each at most */
    float *x, *u;         /* (block, dim), (band, dim) */
    float *s;             /* (band, block) */
    neighbour *list;      /* (band, k + 1), nearest first */
    size_t *found;        /* band: entries of each list */
    size_t first, taken;  /* rows of the sample that the band holds */
    size_t start, length; /* rows that the block holds */
    double *out;
} knn_job;

/* ---- rows of unit length ---- */

typedef struct unit_job {
    float *x;
    size_t dim;
} unit_job;

static void make_unit(void *arg, size_t i)
{
    const unit_job *job = arg;
    float *x = job->x + i * job->dim;
    double square = 0;
    for (size_t j = 0; j < job->dim; ++j)
        square += (double)x[j] * (double)x[j];
    double scale = square > 0 ? 1 / sqrt(square) : 0;
    for (size_t j = 0; j < job->dim; ++j)
        x[j] = (float)(scale * (double)x[j]);
}

static void make_units(tn_ctx *ctx, float *x, size_t rows, size_t dim)
{
    unit_job job = {x, dim};
    tnp_parallel(ctx, tnp_threads_for(ctx, 4 * (double)rows * (double)dim), rows, make_unit, &job);
}

/* The next rows of the sample, in runs of neighbours in the file. */
static tn_status read_band(const knn_job *job)
{
    const size_t *rows = job->sample->rows + job->first;
    for (size_t i = 0, run; i < job->taken; i += run) {
        run = 1;
        while (i + run < job->taken && rows[i + run] == rows[i] + run)
            ++run;
        tn_status st =
            tnp_feeds_read(job->ctx, job->feeds, job->feed_count, rows[i], run, job->u + i * job->dim, job->dim);
        if (st != TN_OK)
            return st;
    }
    make_units(job->ctx, job->u, job->taken, job->dim);
    return TN_OK;
}

static tn_status read_block(const knn_job *job)
{
    tn_status st = tnp_feeds_read(job->ctx, job->feeds, job->feed_count, job->start, job->length, job->x, job->dim);
    if (st == TN_OK)
        make_units(job->ctx, job->x, job->length, job->dim);
    return st;
}

/* ---- lists ---- */

/* Rows come in ascending order, and go behind those that are as near. */
static void insert(neighbour *list, size_t count, float near, size_t row)
{
    size_t at = count;
    for (; at > 0 && list[at - 1].near < near; --at)
        list[at] = list[at - 1];
    list[at] = (neighbour){near, row};
}

/* Row i of the band looks through the block. */
static void look_through(void *arg, size_t i)
{
    const knn_job *job = arg;
    const float *s = job->s + i * job->block;
    size_t most = job->k + 1, own = job->sample->rows[job->first + i], found = job->found[i];
    neighbour *list = job->list + i * most;
    for (size_t j = 0; j < job->length; ++j) {
        if ((found == most && s[j] <= list[most - 1].near) || job->start + j == own)
            continue;
        insert(list, found == most ? most - 1 : found, s[j], job->start + j);
        found += found < most;
    }
    job->found[i] = found;
}

/* Adds weight * target of a row to p. */
static void add_target(const tnp_targets *y, size_t row, double weight, double *p)
{
    if (y->values)
        for (size_t c = 0; c < y->classes; ++c)
            p[c] += weight * y->values[row * y->classes + c];
    else
        for (size_t at = y->first[row]; at < y->first[row + 1]; ++at)
            p[y->cls[at]] += weight;
}

static void ask_neighbours(const knn_job *job, size_t i)
{
    const tnp_targets *y = job->y;
    const neighbour *list = job->list + i * (job->k + 1);
    size_t asked = tnp_min(job->found[i], job->k);
    double border = job->found[i] > 0 ? (double)list[job->found[i] - 1].near : 0, sum = 0;
    double *p = job->out + (job->first + i) * y->classes;
    memset(p, 0, y->classes * sizeof *p);
    for (size_t n = 0; n < asked; ++n) {
        double g = y->weight ? y->weight[list[n].row] : 1, w = ((double)list[n].near - border + LEAST) * g;
        add_target(y, list[n].row, w, p);
        sum += w;
    }
    for (size_t c = 0; c < y->classes && sum > 0; ++c)
        p[c] /= sum;
}

/* ---- bands ---- */

/* As many rows of the sample as the budget has room for beside a block. */
static tn_status plan(knn_job *job)
{
    size_t scratch = 0, left = tnp_budget_left(job->ctx), rows = job->y->rows;
    job->block = tnp_min(rows, tnp_max(BLOCK_BYTES / (job->dim * sizeof(float)), LEAST_ROWS));
    for (size_t f = 0; f < job->feed_count; ++f)
        scratch = tnp_max(scratch, tnp_feed_scratch(job->feeds[f], job->block, job->dim));
    size_t fixed = job->block * job->dim * sizeof(float) + scratch;
    size_t each = (job->dim + job->block) * sizeof(float) + (job->k + 1) * sizeof(neighbour) + sizeof(size_t);
    size_t most = tnp_min(BAND_BYTES, left > fixed ? left - fixed : 0) / each;
    job->band = tnp_min(job->sample->count, tnp_max(most, LEAST_BAND));
    return tnp_need(job->ctx, fixed + job->band * each, "nearest neighbours");
}

static tn_status do_band(knn_job *job)
{
    tn_status st = TN_OK;
    size_t rows = job->y->rows, total = (job->sample->count + job->band - 1) / job->band * rows;
    memset(job->found, 0, job->band * sizeof *job->found);
    TN_TRY(read_band(job));
    for (job->start = 0; job->start < rows; job->start += job->length) {
        job->length = tnp_min(job->block, rows - job->start);
        TN_TRY(tnp_progress(job->ctx, "neighbours", job->first / job->band * rows + job->start, total));
        TN_TRY(read_block(job));
        TN_TRY(tnp_sgemm_nt(job->ctx, job->taken, job->length, job->dim, job->u, job->dim, job->x, job->dim, 0, job->s,
                            job->block));
        tnp_parallel(job->ctx, tnp_threads_for(job->ctx, 2 * (double)job->taken * (double)job->length), job->taken,
                     look_through, job);
    }
    for (size_t i = 0; i < job->taken; ++i)
        ask_neighbours(job, i);
done:
    return st;
}

/* All rows of job.sample. */
static tn_status predict(tn_ctx *ctx, knn_job job)
{
    tn_status st = TN_OK;
    size_t k = job.k, count = job.feed_count;
    const tn_feed *const *feeds = job.feeds;
    const tnp_sample *sample = job.sample;
    job.dim = tnp_feeds_cols(feeds, count);
    TN_TRY(plan(&job));
    TN_TRY(tnp_alloc_raw(ctx, job.block * job.dim, sizeof(float), &job.x));
    TN_TRY(tnp_alloc_raw(ctx, job.band * job.dim, sizeof(float), &job.u));
    TN_TRY(tnp_alloc_raw(ctx, job.band * job.block, sizeof(float), &job.s));
    TN_TRY(tnp_alloc_raw(ctx, job.band * (k + 1), sizeof(neighbour), &job.list));
    TN_TRY(tnp_alloc(ctx, job.band, sizeof(size_t), &job.found));
    for (; job.first < sample->count; job.first += job.taken) {
        job.taken = tnp_min(job.band, sample->count - job.first);
        TN_TRY(do_band(&job));
    }
done:
    tnp_free_all(job.x, job.u, job.s, job.list, job.found);
    return st;
}

tn_status tnp_knn_predict(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                          const tnp_sample *sample, size_t k, double *out)
{
    tn_status st = TN_OK;
    size_t from, to;
    tnp_team_part(ctx, sample->count, 1, &from, &to);
    tnp_sample part = *sample;
    part.rows += from;
    part.count = to - from;
    knn_job job = {.ctx = ctx, .feeds = feeds, .feed_count = count, .y = y, .sample = &part, .k = k};
    job.out = out + from * y->classes;
    if (part.count > 0)
        TN_TRY(predict(ctx, job));
    TN_TRY(tnp_team_gather(ctx, out, sample->count, 1, y->classes * sizeof *out));
done:
    return st;
}
