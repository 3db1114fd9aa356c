/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows for many passes. A block is small enough to stay in the last-level cache between the two products that most
 * learners make with it (X W' and then X'R), and large enough for them to run at full speed. */
#include "learn/design/design.h"
#include "base/team.h"
#include "learn/design/gather.h"
#include "transform/feed.h"

#include <string.h>

enum { BLOCK_BYTES = 8 << 20, LEAST_ROWS = 256, RUNS = 64 }; /* RUNS: of a block at least; 128 KB each, or a row */

size_t tnp_design_block_rows(size_t rows, size_t dim)
{
    return tnp_min(rows, tnp_max(BLOCK_BYTES / (dim * sizeof(float)), LEAST_ROWS));
}

static tn_status read_rows(tn_ctx *ctx, const tnp_design *d, size_t start, size_t count, float *out)
{
    return tnp_feeds_read(ctx, d->feeds, d->feed_count, start, count, out, d->dim);
}

static tn_status load_all(tn_ctx *ctx, tnp_design *d)
{
    for (size_t b = 0; b < d->blocks; ++b) {
        size_t start = b * d->block, n = tnp_min(d->block, d->rows - start);
        tn_status st = tnp_progress(ctx, "reading", start, d->rows);
        if (st == TN_OK)
            st = read_rows(ctx, d, start, n, d->data + start * d->dim);
        if (st != TN_OK)
            return st;
    }
    return tnp_progress(ctx, "reading", d->rows, d->rows);
}

static tn_status design_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t reserve, bool keep,
                            size_t most, tnp_design **out);

/* Rows of the largest part. */
static size_t most_rows(const tnp_design *d, size_t members)
{
    size_t most = 0;
    for (size_t r = 0; r < members; ++r)
        most = tnp_max(most, d->cut[r + 1] - d->cut[r]);
    return most;
}

/* Rows [d->from, to) as a design of their own. It takes memory for as many rows as any member has, which the system
 * gives only where it is written to: what is left of their budgets, and all that goes by it, is then the same. */
static tn_status own_design(tn_ctx *ctx, tnp_design *d, size_t to, size_t reserve, bool keep)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, d->feed_count, sizeof *d->slices, &d->slices));
    TN_TRY(tnp_alloc(ctx, d->feed_count, sizeof *d->own_feeds, &d->own_feeds));
    for (size_t f = 0; f < d->feed_count; ++f) {
        d->slices[f] = tnp_feed_slice(d->feeds[f], d->from, to - d->from);
        d->own_feeds[f] = &d->slices[f];
    }
    size_t most = most_rows(d, tnp_team_size(ctx));
    bool was = tnp_team_pause(ctx);
    st = design_new(ctx, d->own_feeds, d->feed_count, reserve, keep, most, &d->own);
    tnp_team_resume(ctx, was);
done:
    return st;
}

/* The member's part. Whether all parts are in memory is the same for all. */
static tn_status take_part(tn_ctx *ctx, tnp_design *d, size_t reserve, bool keep)
{
    tn_status st = TN_OK;
    size_t to;
    double missing = 0;
    TN_TRY(tnp_feeds_cut(ctx, d->feeds, d->feed_count, 1, &d->cut));
    tnp_team_own(ctx, d->cut, &d->from, &to);
    d->shared = true;
    if (d->from < to)
        TN_TRY(own_design(ctx, d, to, reserve, keep));
    missing = d->own && !d->own->resident;
    TN_TRY(tnp_team_most(ctx, &missing, 1));
    d->at_hand = missing == 0;
done:
    return st;
}

/* Memory of a resident design is taken for `most` rows, or for as many as it has. */
static tn_status design_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t reserve, bool keep,
                            size_t most, tnp_design **out)
{
    tn_status st = TN_OK;
    tnp_design *d = NULL;
    size_t bytes = 0, scratch = 0, left = tnp_budget_left(ctx);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *d, &d));
    d->feeds = feeds;
    d->feed_count = count;
    d->rows = tn_feed_rows(feeds[0]);
    d->dim = tnp_feeds_cols(feeds, count);
    if (d->rows == 0 || d->dim == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "training: %zu rows of %zu columns, expected at least one", d->rows, d->dim));
    d->block = tnp_design_block_rows(d->rows, d->dim);
    d->blocks = (d->rows + d->block - 1) / d->block;
    for (size_t f = 0; f < count; ++f)
        scratch = tnp_max(scratch, tnp_feed_scratch(feeds[f], d->block, d->dim));
    reserve += scratch;
    most = tnp_max(most, d->rows);
    TN_TRY(tnp_mul(ctx, most, d->dim, &bytes));
    TN_TRY(tnp_mul(ctx, bytes, sizeof(float), &bytes));
    if (tnp_team_shares(ctx))
        TN_TRY(take_part(ctx, d, reserve, keep));
    d->resident = keep && !d->shared && reserve < left && bytes <= left - reserve;
    if (!d->resident && !d->shared)
        TN_TRY(tnp_need(ctx, d->block * d->dim * sizeof(float) + reserve, "training"));
    TN_TRY(tnp_alloc_raw(ctx, (d->resident ? most : d->block) * d->dim, sizeof(float), &d->data));
    if (d->resident)
        TN_TRY(load_all(ctx, d));
    *out = d;
    d = NULL;
done:
    tnp_design_free(d);
    return st;
}

tn_status tnp_design_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t reserve, tnp_design **out)
{
    return design_new(ctx, feeds, count, reserve, true, 0, out);
}

tn_status tnp_design_new_streamed(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t reserve,
                                  tnp_design **out)
{
    return design_new(ctx, feeds, count, reserve, false, 0, out);
}

void tnp_design_free(tnp_design *d)
{
    if (!d)
        return;
    tnp_design_free(d->own);
    tnp_free_all(d->cut, d->slices, d->own_feeds, d->data, d->gram, d);
}

tn_status tnp_design_block(tn_ctx *ctx, tnp_design *d, size_t b, const float **x, size_t *start, size_t *count)
{
    tn_status st = tnp_cancelled(ctx);
    *start = b * d->block;
    *count = tnp_min(d->block, d->rows - *start);
    if (st == TN_OK && !d->resident)
        st = read_rows(ctx, d, *start, *count, d->data);
    *x = d->resident ? d->data + *start * d->dim : d->data;
    return st;
}

size_t tnp_design_run(const tnp_design *d)
{
    return tnp_max(1, d->block / RUNS);
}

tn_status tnp_design_runs(tn_ctx *ctx, tnp_design *d, const size_t *runs, size_t count, const float **x, size_t *place,
                          size_t *rows)
{
    size_t run = tnp_design_run(d), at = 0;
    for (size_t r = 0; r < count; ++r) {
        size_t start = runs[r] * run, n = tnp_min(run, d->rows - start);
        tn_status st = read_rows(ctx, d, start, n, d->data + at * d->dim);
        if (st != TN_OK)
            return st;
        for (size_t i = 0; i < n; ++i)
            place[at++] = start + i;
    }
    *x = d->data;
    *rows = at;
    return tnp_cancelled(ctx);
}
