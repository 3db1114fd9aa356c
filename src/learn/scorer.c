/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Applying a head: representations are matched by name, prepared as in training, laid side by side, multiplied.
 *
 *   scores (rows, K) = [x_1 | x_2 | ...] W' + b                one matrix product a block of rows */
#include "base/blas.h"
#include "learn/head.h"

#include <math.h>
#include <string.h>

struct tn_scorer {
    const tn_head *head;
    tn_feed **feeds; /* one a representation of the head */
    size_t rows;
    bool *keep; /* rows without NaN; NULL when no row is to be dropped */
    float *block;
    size_t block_rows;
};

static tn_status find(tn_ctx *ctx, const tn_head *head, size_t rep, const tn_source *const *sources, size_t count,
                      const tn_source **out)
{
    const tnp_rep *wanted = &head->reps[rep];
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(tn_source_name(sources[i]), wanted->name) != 0)
            continue;
        if (tn_source_cols(sources[i]) != wanted->dim)
            return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu columns, but the head's '%s' has %zu",
                            tn_source_path(sources[i]), tn_source_cols(sources[i]), wanted->name, wanted->dim);
        *out = sources[i];
        return TN_OK;
    }
    return tnp_fail(ctx, TN_ERR_ARG, "the head needs a representation named '%s' (%zu columns); give it as %s=FILE",
                    wanted->name, wanted->dim, wanted->name);
}

static tn_status open_feed(tn_ctx *ctx, const tn_head *head, size_t rep, size_t offset, const tn_source *src,
                           tn_nan_policy nan, tn_feed **out)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    tn_normalize kind = head->reps[rep].normalize;
    bool zscore = kind == TN_NORM_ZSCORE;
    TN_TRY(tn_feed_new(ctx, src, NULL, tn_source_rows(src), zscore ? TN_NORM_NONE : kind, nan, &feed));
    if (zscore)
        TN_TRY(tn_feed_set_zscore(ctx, feed, head->means + offset, head->scales + offset));
    *out = feed;
    feed = NULL;
done:
    tn_feed_free(feed);
    return st;
}

static tn_status bind_all(tn_ctx *ctx, tn_scorer *s, const tn_source *const *sources, size_t count, tn_nan_policy nan)
{
    tn_status st = TN_OK;
    const tn_head *head = s->head;
    const tn_source *first = NULL;
    /* A dropped row is scored as zeros and overwritten: rows keep their places. */
    tn_nan_policy reading = nan == TN_NAN_DROP ? TN_NAN_ZERO : nan;
    for (size_t r = 0, at = 0; r < head->rep_count; at += head->reps[r++].dim) {
        const tn_source *src = NULL;
        TN_TRY(find(ctx, head, r, sources, count, &src));
        if (first && tn_source_rows(src) != tn_source_rows(first))
            TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu rows, but %s has %zu", tn_source_path(src), tn_source_rows(src),
                            tn_source_path(first), tn_source_rows(first)));
        first = first ? first : src;
        s->rows = tn_source_rows(src);
        TN_TRY(open_feed(ctx, head, r, at, src, reading, &s->feeds[r]));
        if (nan == TN_NAN_DROP && !s->keep) {
            TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->keep, &s->keep));
            memset(s->keep, true, s->rows);
        }
        if (s->keep)
            TN_TRY(tn_rows_finite(ctx, src, s->keep));
    }
done:
    return st;
}

tn_status tn_scorer_new(tn_ctx *ctx, const tn_head *head, const tn_source *const *sources, size_t count,
                        tn_nan_policy nan, tn_scorer **out)
{
    tn_status st = TN_OK;
    tn_scorer *s = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->head = head;
    TN_TRY(tnp_alloc(ctx, head->rep_count, sizeof *s->feeds, &s->feeds));
    TN_TRY(bind_all(ctx, s, sources, count, nan));
    s->block_rows = tnp_max(1, tnp_min(1024, s->rows));
    TN_TRY(tnp_alloc_raw(ctx, s->block_rows * head->dim, sizeof *s->block, &s->block));
    *out = s;
    s = NULL;
done:
    tn_scorer_free(s);
    return st;
}

void tn_scorer_free(tn_scorer *s)
{
    if (!s)
        return;
    for (size_t r = 0; s->feeds && r < s->head->rep_count; ++r)
        tn_feed_free(s->feeds[r]);
    tnp_free(s->feeds);
    tnp_free(s->keep);
    tnp_free(s->block);
    tnp_free(s);
}

size_t tn_scorer_rows(const tn_scorer *s)
{
    return s->rows;
}

static tn_status score_block(tn_ctx *ctx, tn_scorer *s, size_t start, size_t n, float *out)
{
    const tn_head *head = s->head;
    for (size_t r = 0, at = 0; r < head->rep_count; at += head->reps[r++].dim) {
        tn_status st = tn_feed_read(ctx, s->feeds[r], start, n, s->block + at, head->dim);
        if (st != TN_OK)
            return st;
    }
    for (size_t i = 0; i < n; ++i)
        memcpy(out + i * head->classes, head->bias, head->classes * sizeof *out);
    tn_status st = tnp_sgemm_nt(ctx, n, head->classes, head->dim, s->block, head->dim, head->weight, head->dim, 1, out,
                                head->classes);
    for (size_t i = 0; s->keep && i < n; ++i)
        for (size_t k = 0; !s->keep[start + i] && k < head->classes; ++k)
            out[i * head->classes + k] = NAN;
    return st;
}

tn_status tn_scorer_read(tn_ctx *ctx, tn_scorer *s, size_t start, size_t count, float *out)
{
    if (start > s->rows || count > s->rows - start)
        return tnp_fail(ctx, TN_ERR_ARG, "scores: rows %zu to %zu asked for, there are %zu", start, start + count,
                        s->rows);
    for (size_t done = 0, n; done < count; done += n) {
        n = tnp_min(s->block_rows, count - done);
        tn_status st = score_block(ctx, s, start + done, n, out + done * s->head->classes);
        if (st == TN_OK)
            st = tnp_cancelled(ctx);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}
