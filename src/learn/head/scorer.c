/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Applying a head: representations are matched by name, prepared as in training (map, normalisation, centre), laid side
 * by side, multiplied.
 *
 *   scores (rows, K) = [x_1 | x_2 | ... | h] W' + b            one matrix product a block of rows
 *
 * h are the scores of the sources that a transfer head names: columns of a file, or of another head's scorer. Heads
 * that prepare their rows alike are one head with the classes of all: a library of them is one product too. */
#include "algebra/blas.h"
#include "base/team.h"
#include "learn/head/head.h"
#include "transform/feed.h"
#include "transform/map.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_ROWS = 1024,
    BLOCK_VALUES = 1 << 23, /* rows of a product; mapped ones are wide, and 32 MB of them enough */
    TEAM_ROWS = 64          /* whole multiples go to a member of a team */
};

/* A source of the head, joined to what was offered. */
typedef struct bound_source {
    tn_feed *feed;     /* a file of scores, */
    tn_scorer *scorer; /* or a head on the same rows */
    size_t cols;
    float *block; /* (block_rows, cols) */
} bound_source;

struct tn_scorer {
    const tn_head *head;
    bound_source *bound; /* as many as the head has sources at most */
    size_t bound_count;
    size_t *from;    /* sources of the head: which bound_source */
    tn_feed **feeds; /* one per representation of the head */
    size_t rows;
    bool *keep; /* rows without NaN; NULL when no row is to be dropped */
    float *block;
    size_t block_rows;
};

static tn_status find(tn_ctx *ctx, const tn_head *head, size_t rep, const tn_features *const *features, size_t count,
                      const tn_features **out)
{
    const tnp_rep *wanted = &head->reps[rep];
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(tn_features_name(features[i]), wanted->name) != 0)
            continue;
        if (tn_features_cols(features[i]) != wanted->dim)
            return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu columns, but the head's '%s' has %zu",
                            tn_features_path(features[i]), tn_features_cols(features[i]), wanted->name, wanted->dim);
        *out = features[i];
        return TN_OK;
    }
    return tnp_fail(ctx, TN_ERR_ARG, "the head needs a representation named '%s' (%zu columns); give it as %s=FILE",
                    wanted->name, wanted->dim, wanted->name);
}

typedef struct offer {
    const tn_features *const *features;
    size_t count;
    const tn_source *sources;
    size_t source_count;
    tn_nan_policy nan;
    const size_t *rows; /* (row_count): which are scored; NULL: all of the sources */
    size_t row_count;
} offer;

static tn_status open_feed(tn_ctx *ctx, const tn_head *head, size_t rep, size_t offset, const tn_features *features,
                           const size_t *rows, size_t row_count, tn_nan_policy nan, tn_feed **out)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    tn_normalize kind = head->reps[rep].normalize;
    bool zscore = kind == TN_NORM_ZSCORE;
    size_t count = rows ? row_count : tn_features_rows(features);
    TN_TRY(tn_feed_new(ctx, features, rows, count, zscore ? TN_NORM_NONE : kind, nan, head->reps[rep].map, &feed));
    if (zscore)
        TN_TRY(tn_feed_set_zscore(ctx, feed, head->means + offset, head->scales + offset));
    if (head->centre)
        TN_TRY(tnp_feed_set_centre(ctx, feed, head->centre + offset));
    *out = feed;
    feed = NULL;
done:
    tn_feed_free(feed);
    return st;
}

tn_status tnp_head_feeds(tn_ctx *ctx, const tn_head *head, const tn_features *const *features, size_t count,
                         const size_t *rows, size_t row_count, tn_nan_policy nan, tn_feed **feeds)
{
    tn_status st = TN_OK;
    const tn_features *first = NULL, *found = NULL;
    for (size_t r = 0, at = 0; r < head->rep_count; at += tnp_rep_cols(&head->reps[r++])) {
        TN_TRY(find(ctx, head, r, features, count, &found));
        if (first && tn_features_rows(found) != tn_features_rows(first))
            TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu rows, but %s has %zu", tn_features_path(found),
                            tn_features_rows(found), tn_features_path(first), tn_features_rows(first)));
        first = first ? first : found;
        TN_TRY(open_feed(ctx, head, r, at, found, rows, row_count, nan, &feeds[r]));
    }
done:
    return st;
}

/* Rows of src that hold NaN are to have no score. */
static tn_status drop_bad(tn_ctx *ctx, tn_scorer *s, const tn_features *features)
{
    tn_status st = TN_OK;
    if (!s->keep) {
        TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->keep, &s->keep));
        memset(s->keep, true, s->rows);
    }
    TN_TRY(tn_rows_finite(ctx, features, s->keep));
done:
    return st;
}

/* A dropped row is scored as zeros and overwritten: rows keep their places. */
static tn_status bind_all(tn_ctx *ctx, tn_scorer *s, const offer *o)
{
    tn_status st = TN_OK;
    tn_nan_policy nan = o->nan == TN_NAN_DROP ? TN_NAN_ZERO : o->nan;
    TN_TRY(tnp_head_feeds(ctx, s->head, o->features, o->count, o->rows, o->row_count, nan, s->feeds));
    for (size_t r = 0; r < s->head->rep_count; ++r) {
        s->rows = tn_feed_rows(s->feeds[r]);
        if (o->nan == TN_NAN_DROP && !o->rows)
            TN_TRY(drop_bad(ctx, s, tn_feed_features(s->feeds[r])));
    }
done:
    return st;
}

/* ---- sources ---- */

/* The source of this name, or a file among the sources. */
static tn_status find_source(tn_ctx *ctx, const tnp_head_source *wanted, const offer *o, tn_source *out)
{
    for (size_t i = 0; i < o->source_count; ++i)
        if (strcmp(o->sources[i].name, wanted->name) == 0 && (o->sources[i].head != NULL) == wanted->is_head) {
            *out = o->sources[i];
            return TN_OK;
        }
    for (size_t i = 0; !wanted->is_head && i < o->count; ++i)
        if (strcmp(tn_features_name(o->features[i]), wanted->name) == 0) {
            *out = (tn_source){wanted->name, o->features[i], NULL};
            return TN_OK;
        }
    return tnp_fail(ctx, TN_ERR_ARG, "the head needs the source '%s' (%s); give it with option source", wanted->name,
                    wanted->is_head ? "a head" : "a file of scores");
}

static tn_status bind_source(tn_ctx *ctx, tn_scorer *s, const tnp_head_source *wanted, const offer *o)
{
    tn_status st = TN_OK;
    tn_source source = {NULL, NULL, NULL};
    bound_source *g = &s->bound[s->bound_count];
    TN_TRY(find_source(ctx, wanted, o, &source));
    ++s->bound_count;
    if (source.head) {
        if (source.head->source_count > 0)
            TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "source '%s' is a transfer head itself", wanted->name));
        TN_TRY(tn_scorer_new(ctx, source.head, o->features, o->count, o->nan, &g->scorer));
        g->cols = source.head->classes;
    } else {
        tn_nan_policy reading = o->nan == TN_NAN_DROP ? TN_NAN_ZERO : o->nan;
        TN_TRY(tn_feed_new(ctx, source.scores, NULL, tn_features_rows(source.scores), TN_NORM_NONE, reading, NULL,
                           &g->feed));
        g->cols = tn_features_cols(source.scores);
    }
    size_t rows = source.head ? g->scorer->rows : tn_features_rows(source.scores);
    if (s->head->rep_count == 0 && s->bound_count == 1)
        s->rows = rows;
    if (rows != s->rows)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "source '%s': %zu rows, but there are %zu", wanted->name, rows, s->rows));
    if (wanted->column >= g->cols)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "source '%s': %zu columns, but the head uses column %zu", wanted->name,
                        g->cols, wanted->column));
    if (o->nan == TN_NAN_DROP && !source.head)
        TN_TRY(drop_bad(ctx, s, source.scores));
done:
    return st;
}

static tn_status bind_bound(tn_ctx *ctx, tn_scorer *s, const offer *o)
{
    tn_status st = TN_OK;
    const tn_head *head = s->head;
    size_t n = head->source_count;
    const tnp_head_source **first = NULL; /* bound_count: the source it was bound for */
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->bound, &s->bound));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->from, &s->from));
    TN_TRY(tnp_alloc(ctx, n, sizeof *first, &first));
    for (size_t i = 0; i < n; ++i) {
        const tnp_head_source *wanted = &head->sources[i];
        size_t g = 0;
        while (g < s->bound_count &&
               (strcmp(first[g]->name, wanted->name) != 0 || first[g]->is_head != wanted->is_head))
            ++g;
        if (g == s->bound_count) {
            first[g] = wanted;
            TN_TRY(bind_source(ctx, s, wanted, o));
        } else if (wanted->column >= s->bound[g].cols) {
            TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "source '%s': %zu columns, but the head uses column %zu", wanted->name,
                            s->bound[g].cols, wanted->column));
        }
        s->from[i] = g;
    }
done:
    tnp_free(first);
    return st;
}

/* Columns of h for rows [start, start + n) into the end of the block's rows. */
static tn_status give(tn_ctx *ctx, tn_scorer *s, size_t start, size_t n)
{
    tn_status st = TN_OK;
    const tn_head *head = s->head;
    size_t at = head->dim - head->source_count;
    for (size_t g = 0; g < s->bound_count; ++g)
        TN_TRY(s->bound[g].feed ? tn_feed_read(ctx, s->bound[g].feed, start, n, s->bound[g].block, s->bound[g].cols)
                                : tn_scorer_read(ctx, s->bound[g].scorer, start, n, s->bound[g].block));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < head->source_count; ++j) {
            const bound_source *g = &s->bound[s->from[j]];
            s->block[i * head->dim + at + j] = g->block[i * g->cols + head->sources[j].column];
        }
done:
    return st;
}

tn_status tn_scorer_new(tn_ctx *ctx, const tn_head *head, const tn_features *const *features, size_t count,
                        tn_nan_policy nan, tn_scorer **out)
{
    return tn_scorer_new_transfer(ctx, head, features, count, NULL, 0, nan, out);
}

tn_status tn_scorer_new_transfer(tn_ctx *ctx, const tn_head *head, const tn_features *const *features, size_t count,
                                 const tn_source *sources, size_t source_count, tn_nan_policy nan, tn_scorer **out)
{
    tn_status st = TN_OK;
    tn_scorer *s = NULL;
    const offer o = {features, count, sources, source_count, nan, NULL, 0};
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->head = head;
    TN_TRY(tnp_alloc(ctx, head->rep_count, sizeof *s->feeds, &s->feeds));
    TN_TRY(bind_all(ctx, s, &o));
    TN_TRY(bind_bound(ctx, s, &o));
    s->block_rows = tnp_max(1, tnp_min(tnp_min(BLOCK_ROWS, BLOCK_VALUES / tnp_max(1, head->dim)), s->rows));
    for (size_t g = 0; g < s->bound_count; ++g)
        TN_TRY(tnp_alloc_raw(ctx, s->block_rows * s->bound[g].cols, sizeof(float), &s->bound[g].block));
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
    for (size_t g = 0; g < s->bound_count; ++g) {
        tn_feed_free(s->bound[g].feed);
        tn_scorer_free(s->bound[g].scorer);
        tnp_free(s->bound[g].block);
    }
    tnp_free_all(s->bound, s->from, s->feeds, s->keep, s->block, s);
}

size_t tn_scorer_rows(const tn_scorer *s)
{
    return s->rows;
}

static tn_status score_block(tn_ctx *ctx, tn_scorer *s, size_t start, size_t n, float *out)
{
    const tn_head *head = s->head;
    for (size_t r = 0, at = 0; r < head->rep_count; at += tnp_rep_cols(&head->reps[r++])) {
        tn_status st = tn_feed_read(ctx, s->feeds[r], start, n, s->block + at, head->dim);
        if (st != TN_OK)
            return st;
    }
    if (s->bound_count > 0) {
        tn_status st = give(ctx, s, start, n);
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
    size_t from, to;
    tn_status st = TN_OK;
    tnp_team_part(ctx, count, TEAM_ROWS, &from, &to);
    bool was = tnp_team_pause(ctx); /* sources are read here, row by row of this part */
    for (size_t done = from, n; st == TN_OK && done < to; done += n) {
        n = tnp_min(s->block_rows, to - done);
        st = score_block(ctx, s, start + done, n, out + done * s->head->classes);
        if (st == TN_OK)
            st = tnp_cancelled(ctx);
    }
    tnp_team_resume(ctx, was);
    return st == TN_OK ? tnp_team_gather(ctx, out, count, TEAM_ROWS, s->head->classes * sizeof *out) : st;
}

/* ---- several heads at once ---- */

bool tnp_reps_alike(const tn_head *a, const tn_head *b)
{
    bool alike = a->rep_count == b->rep_count;
    for (size_t r = 0; alike && r < a->rep_count; ++r)
        alike = strcmp(a->reps[r].name, b->reps[r].name) == 0 && a->reps[r].dim == b->reps[r].dim &&
                a->reps[r].normalize == b->reps[r].normalize && tnp_map_same(a->reps[r].map, b->reps[r].map);
    return alike;
}

bool tnp_heads_alike(const tn_head *a, const tn_head *b)
{
    if (a->source_count + b->source_count > 0 || a->dim != b->dim || !a->means != !b->means ||
        !a->centre != !b->centre || !tnp_reps_alike(a, b))
        return false;
    size_t size = a->dim * sizeof(double);
    return (!a->means || (memcmp(a->means, b->means, size) == 0 && memcmp(a->scales, b->scales, size) == 0)) &&
           (!a->centre || memcmp(a->centre, b->centre, size) == 0);
}

/* weight (sum of classes, dim) and bias (sum of classes) of all heads, one below the other. */
static void stack(const tn_head *const *heads, size_t head_count, float *weight, float *bias)
{
    for (size_t h = 0; h < head_count; ++h) {
        size_t k = heads[h]->classes, dim = heads[h]->dim;
        memcpy(weight, heads[h]->weight, k * dim * sizeof *weight);
        memcpy(bias, heads[h]->bias, k * sizeof *bias);
        weight += k * dim;
        bias += k;
    }
}

tn_status tnp_heads_score(tn_ctx *ctx, const tn_head *const *heads, size_t head_count,
                          const tn_features *const *features, size_t count, const size_t *rows, size_t row_count,
                          tn_nan_policy nan, float *out)
{
    tn_status st = TN_OK;
    size_t from, to;
    tnp_team_part(ctx, row_count, TEAM_ROWS, &from, &to);
    const offer o = {features, count, NULL, 0, nan, rows + from, to - from};
    tn_scorer *s = NULL;
    float *x = NULL, *weight = NULL, *bias = NULL;
    size_t classes = 0, dim = heads[0]->dim, size = 0, weights = 0;
    for (size_t h = 0; h < head_count; ++h)
        classes += heads[h]->classes;
    TN_TRY(tnp_mul(ctx, to - from, dim, &size));
    TN_TRY(tnp_mul(ctx, classes, dim, &weights));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->head = heads[0];
    TN_TRY(tnp_alloc(ctx, heads[0]->rep_count, sizeof *s->feeds, &s->feeds));
    TN_TRY(bind_all(ctx, s, &o));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *x, &x));
    TN_TRY(tnp_alloc_raw(ctx, weights, sizeof *weight, &weight));
    TN_TRY(tnp_alloc_raw(ctx, classes, sizeof *bias, &bias));
    for (size_t r = 0, at = 0; r < heads[0]->rep_count; at += tnp_rep_cols(&heads[0]->reps[r++]))
        TN_TRY(tn_feed_read(ctx, s->feeds[r], 0, to - from, x + at, dim));
    stack(heads, head_count, weight, bias);
    for (size_t i = from; i < to; ++i)
        memcpy(out + i * classes, bias, classes * sizeof *out);
    TN_TRY(tnp_sgemm_nt(ctx, to - from, classes, dim, x, dim, weight, dim, 1, out + from * classes, classes));
    TN_TRY(tnp_team_gather(ctx, out, row_count, TEAM_ROWS, classes * sizeof *out));
done:
    tn_scorer_free(s);
    tnp_free_all(x, weight, bias);
    return st;
}
