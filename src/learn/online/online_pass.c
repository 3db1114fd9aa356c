/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass: rows in the order of visit_order.c, read in chunks straight from their files, prepared, learned. While a
 * stretch is learned the system is told to read the next one, and that it may forget the last: reading overlaps
 * computing without a thread of our own, and what stays resident is two stretches, however long the file is. Which
 * negatives a class is shown is drawn once for all learners (negatives.c). */
#include "learn/online/online_pass.h"
#include "learn/online/visit_order.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

enum { CHUNK_BYTES = 4 << 20 };

struct tnp_passes {
    tnp_online_data data;
    const tnp_online_options *options;
    size_t seed, dim, block;
    size_t chunk; /* rows that are read at once: whole blocks, about CHUNK_BYTES */
    tnp_visit_order order;
    tnp_negatives *own;       /* of these rows; each pass begins it anew */
    tnp_negatives *negatives; /* that are drawn: the caller's or these, or NULL: classes see all of them */
    float *x, *weight;        /* (chunk, dim), chunk */
    size_t *first;            /* chunk + 1 */
    uint32_t *cls;            /* labels of the chunk */
    unsigned char *skip;      /* (block, classes), where negatives are drawn, else NULL */
    float *side;              /* (classes, 2): weights that balance the classes, or NULL */
};

/* n / 2 n_side for each side of n visited samples; 1 where a class has one side only. */
static void balance_sides(tnp_passes *p)
{
    for (size_t c = 0; c < p->data.y->classes; ++c) {
        double positives = (double)p->own->positives[c], negatives = (double)tnp_negatives_taken(p->own, c);
        bool both = positives > 0 && negatives > 0;
        p->side[2 * c] = both ? (float)((positives + negatives) / (2 * negatives)) : 1;
        p->side[2 * c + 1] = both ? (float)((positives + negatives) / (2 * positives)) : 1;
    }
}

/* ---- rows ---- */

/* The runs of a stretch will be read. */
static void expect(const tnp_passes *p, size_t stretch)
{
    const tnp_visit_order *o = &p->order;
    size_t per = o->stretch / o->run, from = stretch * per, to = tnp_min(o->run_count, from + per);
    for (size_t r = from; r < to; ++r) {
        size_t start = o->runs[r] * o->run, count = tnp_min(o->run, o->rows - start);
        for (size_t f = 0; f < p->data.feed_count; ++f)
            tnp_feed_expect(p->data.feeds[f], start, count, true);
    }
}

/* Nothing that was read is needed again in this pass. The whole file, not the runs of the last stretch: a fault maps
 * pages of neighbouring runs too, and left alone they add up to the file. */
static void forget(const tnp_passes *p)
{
    for (size_t f = 0; f < p->data.feed_count; ++f)
        tnp_feed_expect(p->data.feeds[f], 0, p->order.rows, false);
}

/* Rows order[start ..] with their labels. */
static tn_status read_chunk(tn_ctx *ctx, tnp_passes *p, size_t start, size_t n)
{
    tn_status st = TN_OK;
    const tnp_online_data *d = &p->data;
    const size_t *rows = p->order.order + start;
    size_t at = 0;
    for (size_t t = 0; t < n; ++t) {
        size_t row = rows[t];
        p->first[t] = at;
        for (size_t i = d->y->first[row]; i < d->y->first[row + 1]; ++i)
            p->cls[at++] = d->y->cls[i];
        p->weight[t] = d->weight ? d->weight[row] : 1;
    }
    p->first[n] = at;
    for (size_t f = 0, col = 0; f < d->feed_count; col += tn_feed_cols(d->feeds[f++]))
        TN_TRY(tnp_feed_pick(ctx, d->feeds[f], rows, n, p->x + col, p->dim));
done:
    return st;
}

/* All learners, block by block. */
static void learn_chunk(tn_ctx *ctx, tnp_passes *p, size_t n, tnp_online *const *learners, size_t count)
{
    for (size_t from = 0; from < n; from += p->block) {
        const tnp_samples samples = {.count = tnp_min(p->block, n - from),
                                     .x = p->x + from * p->dim,
                                     .first = p->first + from,
                                     .cls = p->cls,
                                     .weight = p->data.weight ? p->weight + from : NULL,
                                     .skip = p->skip,
                                     .side = p->side};
        if (p->skip)
            tnp_negatives_draw(p->negatives, samples.first, p->cls, samples.count, p->skip);
        for (size_t i = 0; i < count; ++i)
            if (learners[i])
                tnp_online_update(ctx, learners[i], &samples);
    }
}

tn_status tnp_passes_run(tn_ctx *ctx, tnp_passes *p, size_t pass, tnp_online *const *learners, size_t count)
{
    tn_status st = TN_OK;
    const tnp_visit_order *o = &p->order;
    tnp_share whole = tnp_progress_now(ctx);
    char stage[40];
    snprintf(stage, sizeof stage, "pass %zu", pass + 1);
    tnp_visit_order_draw(&p->order, p->seed, pass);
    if (p->negatives && p->negatives == p->own)
        tnp_negatives_begin(p->own, pass);
    for (size_t start = 0, n, reached = SIZE_MAX; start < o->rows; start += n) {
        size_t stretch = start / o->stretch;
        n = tnp_min(p->chunk, o->rows - start);
        if (o->runs && stretch != reached) {
            expect(p, stretch + 1);
            forget(p);
            reached = stretch;
        }
        TN_TRY(read_chunk(ctx, p, start, n));
        learn_chunk(ctx, p, n, learners, count);
        TN_TRY(tnp_progress_step(ctx, whole, stage, start + n, o->rows));
    }
done:
    return st;
}

/* ---- making ---- */

double tnp_negatives_share(const tnp_online_options *options)
{
    return options->multiclass == TNP_ONLINE_E_OVR   ? 1
           : options->multiclass == TNP_ONLINE_W_OVR ? options->ratio
                                                     : INFINITY;
}

/* Rows and positives of a pass; returns the most labels that a chunk can have. */
static size_t count_labels(tnp_passes *p)
{
    const tnp_targets *y = p->data.y;
    size_t most = 0;
    p->own->rows = y->rows;
    for (size_t row = 0; row < y->rows; ++row) {
        most = tnp_max(most, y->first[row + 1] - y->first[row]);
        for (size_t at = y->first[row]; at < y->first[row + 1]; ++at)
            ++p->own->positives[y->cls[at]];
    }
    return most * p->chunk;
}

static tn_status passes_alloc(tn_ctx *ctx, tnp_passes *p)
{
    tn_status st = TN_OK;
    size_t k = p->data.y->classes, bytes = 0;
    double share = tnp_negatives_share(p->options);
    for (size_t f = 0; f < p->data.feed_count; ++f) {
        const tn_features *features = tn_feed_features(p->data.feeds[f]);
        p->dim += tn_feed_cols(p->data.feeds[f]);
        bytes += tn_features_cols(features) * tn_dtype_size(tn_features_dtype(features));
    }
    TN_TRY(tnp_visit_order_init(ctx, p->data.y->rows, bytes, p->options->shuffle, &p->order));
    p->chunk = tnp_min(p->data.y->rows, tnp_max(CHUNK_BYTES / (p->dim * sizeof *p->x * p->block), 1) * p->block);
    TN_TRY(tnp_alloc_raw(ctx, p->chunk * p->dim, sizeof *p->x, &p->x));
    TN_TRY(tnp_alloc(ctx, p->chunk, sizeof *p->weight, &p->weight));
    TN_TRY(tnp_alloc(ctx, p->chunk + 1, sizeof *p->first, &p->first));
    TN_TRY(tnp_negatives_new(ctx, k, share, p->seed, &p->own));
    TN_TRY(tnp_alloc(ctx, count_labels(p), sizeof *p->cls, &p->cls));
    if (isfinite(share)) {
        p->negatives = p->data.negatives ? p->data.negatives : p->own;
        TN_TRY(tnp_alloc(ctx, p->block * k, sizeof *p->skip, &p->skip));
    }
    if (p->data.balance) {
        TN_TRY(tnp_alloc(ctx, 2 * k, sizeof *p->side, &p->side));
        balance_sides(p);
    }
done:
    return st;
}

tn_status tnp_passes_new(tn_ctx *ctx, const tnp_online_data *data, const tnp_online_options *options, size_t seed,
                         size_t block, tnp_passes **out)
{
    tn_status st = TN_OK;
    tnp_passes *p = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *p, &p));
    p->data = *data;
    p->options = options;
    p->seed = seed;
    p->block = tnp_max(tnp_min(block, data->y->rows), 1);
    TN_TRY(passes_alloc(ctx, p));
    *out = p;
    p = NULL;
done:
    tnp_passes_free(p);
    return st;
}

void tnp_passes_free(tnp_passes *p)
{
    if (!p)
        return;
    void *all[] = {p->x, p->weight, p->first, p->cls, p->skip, p->side};
    tnp_negatives_free(p->own);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        tnp_free(all[i]);
    tnp_visit_order_destroy(&p->order);
    tnp_free(p);
}
