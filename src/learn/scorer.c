/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Applying a head: representations are matched by name, prepared as in training (map, normalisation, centre), laid side by side,
 * multiplied.
 *
 *   scores (rows, K) = [x_1 | x_2 | ... | h] W' + b            one matrix product a block of rows
 *
 * h are the scores of the donors that a transfer head names: columns of a file, or of another head's scorer. Heads that prepare
 * their rows alike are one head with the classes of all: a library of them is one product too. */
#include "base/blas.h"
#include "learn/head.h"
#include "transform/feed.h"
#include "transform/map.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_ROWS = 1024,
    BLOCK_VALUES = 1 << 23
}; /* rows of a product; mapped ones are wide, and 32 MB of them enough */

/* One that gives columns of h. */
typedef struct giver {
    tn_feed *feed;     /* a file of scores, */
    tn_scorer *scorer; /* or a head on the same rows */
    size_t cols;
    float *block; /* (block_rows, cols) */
} giver;

struct tn_scorer {
    const tn_head *head;
    giver *givers; /* as many as the head has sources at most */
    size_t giver_count;
    size_t *from;    /* sources of the head: which giver */
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

typedef struct offer {
    const tn_source *const *sources;
    size_t count;
    const tn_donor *donors;
    size_t donor_count;
    tn_nan_policy nan;
    const size_t *rows; /* (row_count): which are scored; NULL: all of the sources */
    size_t row_count;
} offer;

static tn_status open_feed(tn_ctx *ctx, const tn_head *head, size_t rep, size_t offset, const tn_source *src,
                           const offer *o, tn_feed **out)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    tn_normalize kind = head->reps[rep].normalize;
    bool zscore = kind == TN_NORM_ZSCORE;
    /* A dropped row is scored as zeros and overwritten: rows keep their places. */
    tn_nan_policy nan = o->nan == TN_NAN_DROP ? TN_NAN_ZERO : o->nan;
    size_t rows = o->rows ? o->row_count : tn_source_rows(src);
    TN_TRY(tn_feed_new(ctx, src, o->rows, rows, zscore ? TN_NORM_NONE : kind, nan, head->reps[rep].map, &feed));
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

/* Rows of src that hold NaN are to have no score. */
static tn_status drop_bad(tn_ctx *ctx, tn_scorer *s, const tn_source *src)
{
    tn_status st = TN_OK;
    if (!s->keep) {
        TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->keep, &s->keep));
        memset(s->keep, true, s->rows);
    }
    TN_TRY(tn_rows_finite(ctx, src, s->keep));
done:
    return st;
}

static tn_status bind_all(tn_ctx *ctx, tn_scorer *s, const offer *o)
{
    tn_status st = TN_OK;
    const tn_head *head = s->head;
    const tn_source *first = NULL;
    for (size_t r = 0, at = 0; r < head->rep_count; at += tnp_rep_cols(&head->reps[r++])) {
        const tn_source *src = NULL;
        TN_TRY(find(ctx, head, r, o->sources, o->count, &src));
        if (first && tn_source_rows(src) != tn_source_rows(first))
            TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu rows, but %s has %zu", tn_source_path(src), tn_source_rows(src),
                            tn_source_path(first), tn_source_rows(first)));
        first = first ? first : src;
        TN_TRY(open_feed(ctx, head, r, at, src, o, &s->feeds[r]));
        s->rows = tn_feed_rows(s->feeds[r]);
        if (o->nan == TN_NAN_DROP && !o->rows)
            TN_TRY(drop_bad(ctx, s, src));
    }
done:
    return st;
}

/* ---- donors ---- */

/* The donor of this name, or a file among the sources. */
static tn_status find_donor(tn_ctx *ctx, const tnp_head_source *wanted, const offer *o, tn_donor *out)
{
    for (size_t i = 0; i < o->donor_count; ++i)
        if (strcmp(o->donors[i].name, wanted->name) == 0 && (o->donors[i].head != NULL) == wanted->is_head) {
            *out = o->donors[i];
            return TN_OK;
        }
    for (size_t i = 0; !wanted->is_head && i < o->count; ++i)
        if (strcmp(tn_source_name(o->sources[i]), wanted->name) == 0) {
            *out = (tn_donor){wanted->name, o->sources[i], NULL};
            return TN_OK;
        }
    return tnp_fail(ctx, TN_ERR_ARG, "the head needs the source '%s' (%s); give it with --source", wanted->name,
                    wanted->is_head ? "a head" : "a file of scores");
}

static tn_status bind_giver(tn_ctx *ctx, tn_scorer *s, const tnp_head_source *wanted, const offer *o)
{
    tn_status st = TN_OK;
    tn_donor donor = {NULL, NULL, NULL};
    giver *g = &s->givers[s->giver_count];
    TN_TRY(find_donor(ctx, wanted, o, &donor));
    ++s->giver_count;
    if (donor.head) {
        if (donor.head->source_count > 0)
            TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "source '%s' is a transfer head itself", wanted->name));
        TN_TRY(tn_scorer_new(ctx, donor.head, o->sources, o->count, o->nan, &g->scorer));
        g->cols = donor.head->classes;
    } else {
        tn_nan_policy reading = o->nan == TN_NAN_DROP ? TN_NAN_ZERO : o->nan;
        TN_TRY(
            tn_feed_new(ctx, donor.scores, NULL, tn_source_rows(donor.scores), TN_NORM_NONE, reading, NULL, &g->feed));
        g->cols = tn_source_cols(donor.scores);
    }
    size_t rows = donor.head ? g->scorer->rows : tn_source_rows(donor.scores);
    if (s->head->rep_count == 0 && s->giver_count == 1)
        s->rows = rows;
    if (rows != s->rows)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "source '%s': %zu rows, but there are %zu", wanted->name, rows, s->rows));
    if (wanted->column >= g->cols)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "source '%s': %zu columns, but the head uses column %zu", wanted->name,
                        g->cols, wanted->column));
    if (o->nan == TN_NAN_DROP && !donor.head)
        TN_TRY(drop_bad(ctx, s, donor.scores));
done:
    return st;
}

static tn_status bind_givers(tn_ctx *ctx, tn_scorer *s, const offer *o)
{
    tn_status st = TN_OK;
    const tn_head *head = s->head;
    size_t n = head->source_count;
    const tnp_head_source **first = NULL; /* giver_count: the source it was bound for */
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->givers, &s->givers));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->from, &s->from));
    TN_TRY(tnp_alloc(ctx, n, sizeof *first, &first));
    for (size_t i = 0; i < n; ++i) {
        const tnp_head_source *wanted = &head->sources[i];
        size_t g = 0;
        while (g < s->giver_count &&
               (strcmp(first[g]->name, wanted->name) != 0 || first[g]->is_head != wanted->is_head))
            ++g;
        if (g == s->giver_count) {
            first[g] = wanted;
            TN_TRY(bind_giver(ctx, s, wanted, o));
        } else if (wanted->column >= s->givers[g].cols) {
            TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "source '%s': %zu columns, but the head uses column %zu", wanted->name,
                            s->givers[g].cols, wanted->column));
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
    for (size_t g = 0; g < s->giver_count; ++g)
        TN_TRY(s->givers[g].feed ? tn_feed_read(ctx, s->givers[g].feed, start, n, s->givers[g].block, s->givers[g].cols)
                                 : tn_scorer_read(ctx, s->givers[g].scorer, start, n, s->givers[g].block));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < head->source_count; ++j) {
            const giver *g = &s->givers[s->from[j]];
            s->block[i * head->dim + at + j] = g->block[i * g->cols + head->sources[j].column];
        }
done:
    return st;
}

tn_status tn_scorer_new(tn_ctx *ctx, const tn_head *head, const tn_source *const *sources, size_t count,
                        tn_nan_policy nan, tn_scorer **out)
{
    return tn_scorer_new_transfer(ctx, head, sources, count, NULL, 0, nan, out);
}

tn_status tn_scorer_new_transfer(tn_ctx *ctx, const tn_head *head, const tn_source *const *sources, size_t count,
                                 const tn_donor *donors, size_t donor_count, tn_nan_policy nan, tn_scorer **out)
{
    tn_status st = TN_OK;
    tn_scorer *s = NULL;
    const offer o = {sources, count, donors, donor_count, nan, NULL, 0};
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->head = head;
    TN_TRY(tnp_alloc(ctx, head->rep_count, sizeof *s->feeds, &s->feeds));
    TN_TRY(bind_all(ctx, s, &o));
    TN_TRY(bind_givers(ctx, s, &o));
    s->block_rows = tnp_max(1, tnp_min(tnp_min(BLOCK_ROWS, BLOCK_VALUES / tnp_max(1, head->dim)), s->rows));
    for (size_t g = 0; g < s->giver_count; ++g)
        TN_TRY(tnp_alloc_raw(ctx, s->block_rows * s->givers[g].cols, sizeof(float), &s->givers[g].block));
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
    for (size_t g = 0; g < s->giver_count; ++g) {
        tn_feed_free(s->givers[g].feed);
        tn_scorer_free(s->givers[g].scorer);
        tnp_free(s->givers[g].block);
    }
    tnp_free(s->givers);
    tnp_free(s->from);
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
    for (size_t r = 0, at = 0; r < head->rep_count; at += tnp_rep_cols(&head->reps[r++])) {
        tn_status st = tn_feed_read(ctx, s->feeds[r], start, n, s->block + at, head->dim);
        if (st != TN_OK)
            return st;
    }
    if (s->giver_count > 0) {
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

/* ---- several heads at once ---- */

bool tnp_heads_alike(const tn_head *a, const tn_head *b)
{
    if (a->source_count + b->source_count > 0 || a->rep_count != b->rep_count || a->dim != b->dim ||
        !a->means != !b->means || !a->centre != !b->centre)
        return false;
    for (size_t r = 0; r < a->rep_count; ++r)
        if (strcmp(a->reps[r].name, b->reps[r].name) != 0 || a->reps[r].dim != b->reps[r].dim ||
            a->reps[r].normalize != b->reps[r].normalize || !tnp_phi_same(a->reps[r].map, b->reps[r].map))
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

tn_status tnp_heads_score(tn_ctx *ctx, const tn_head *const *heads, size_t head_count, const tn_source *const *sources,
                          size_t count, const size_t *rows, size_t row_count, tn_nan_policy nan, float *out)
{
    tn_status st = TN_OK;
    const offer o = {sources, count, NULL, 0, nan, rows, row_count};
    tn_scorer *s = NULL;
    float *x = NULL, *weight = NULL, *bias = NULL;
    size_t classes = 0, dim = heads[0]->dim, size = 0, weights = 0;
    for (size_t h = 0; h < head_count; ++h)
        classes += heads[h]->classes;
    TN_TRY(tnp_mul(ctx, row_count, dim, &size));
    TN_TRY(tnp_mul(ctx, classes, dim, &weights));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->head = heads[0];
    TN_TRY(tnp_alloc(ctx, heads[0]->rep_count, sizeof *s->feeds, &s->feeds));
    TN_TRY(bind_all(ctx, s, &o));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *x, &x));
    TN_TRY(tnp_alloc_raw(ctx, weights, sizeof *weight, &weight));
    TN_TRY(tnp_alloc_raw(ctx, classes, sizeof *bias, &bias));
    for (size_t r = 0, at = 0; r < heads[0]->rep_count; at += tnp_rep_cols(&heads[0]->reps[r++]))
        TN_TRY(tn_feed_read(ctx, s->feeds[r], 0, row_count, x + at, dim));
    stack(heads, head_count, weight, bias);
    for (size_t i = 0; i < row_count; ++i)
        memcpy(out + i * classes, bias, classes * sizeof *out);
    TN_TRY(tnp_sgemm_nt(ctx, row_count, classes, dim, x, dim, weight, dim, 1, out, classes));
done:
    tn_scorer_free(s);
    tnp_free(x);
    tnp_free(weight);
    tnp_free(bias);
    return st;
}
