/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a team shares the rows of feeds: by the bytes that they take in their files, of all feeds side by side. Shards may
 * be of different types, so that a row of one is twice as many bytes as a row of another; in one file, or in shards of
 * one type, the parts have as many rows each.
 *
 *   target of member r   r / P of the bytes of all rows
 *   its part begins at   a shard's first row, where that is within SLACK of a part's bytes; else at the target's row
 *
 * then at the next multiple of `unit` rows. So with many shards for each member they are read whole by one, and no
 * member has more than 1 + 2 SLACK times its share of bytes, and a unit. Shares of rows were refused: members would wait
 * for the one whose rows are the largest. Where working on rows takes longer than reading them, as in a ranking of many
 * columns from a fast disk, rows would be the better measure of shards of different types; who has such makes them one.
 *
 * Rows of the files in another order (found by their ids) have no shards that follow each other; any cut serves them. */
#include "base/team.h"
#include "read/features.h"
#include "transform/feed.h"

#include <stdlib.h>

enum { SLACK = 20 }; /* the part of a share */

/* From row `at` of the feeds on, rows take `more` bytes more and `less` less. */
typedef struct knot {
    size_t at, more, less;
    size_t rate, before; /* bytes of a row, from here on; of all rows up to here */
} knot;

static int compare_knots(const void *a, const void *b)
{
    size_t x = ((const knot *)a)->at, y = ((const knot *)b)->at;
    return (x > y) - (x < y);
}

/* The first row of the feed that is not below `row` of the features. */
static size_t place_of(const tn_feed *feed, size_t row)
{
    if (!feed->rows)
        return row > feed->first ? tnp_min(row - feed->first, feed->count) : 0;
    return tnp_count_below(feed->rows, feed->count, row);
}

/* What a producer makes its rows of is its own affair: they count as what comes out. */
static size_t pieces_of(const tn_features *features)
{
    return features->producer.read ? 1 : tnp_max(features->part_count, 1);
}

static size_t row_bytes(const tn_features *features, size_t piece)
{
    bool stored = !features->producer.read && features->part_count > 0;
    return features->cols * tn_dtype_size(stored ? features->parts[piece].dtype : features->dtype);
}

/* Knots of one feed; returns how many. */
static size_t add_feed(const tn_feed *feed, knot *knots)
{
    const tn_features *features = feed->features;
    size_t n = pieces_of(features), at = 0, last = 0;
    for (size_t p = 0; p < n; ++p) {
        size_t bytes = row_bytes(features, p);
        if (p > 0)
            at = tnp_max(at, place_of(feed, features->parts[p].first));
        knots[p] = (knot){.at = at, .more = bytes, .less = last};
        last = bytes;
    }
    return n;
}

/* Knots in the order of the rows, with what lies before each; returns the bytes of all rows. */
static size_t add_up(knot *knots, size_t n, size_t rows)
{
    size_t total = 0, rate = 0, at = 0;
    qsort(knots, n, sizeof *knots, compare_knots);
    for (size_t i = 0; i < n; ++i) {
        total += (knots[i].at - at) * rate;
        at = knots[i].at;
        rate += knots[i].more - knots[i].less;
        knots[i].rate = rate;
        knots[i].before = total;
    }
    return total + (rows - at) * rate;
}

/* The row where `target` bytes, less than all, lie before it, or a knot near it. */
static size_t cut_near(const knot *knots, size_t n, size_t target, size_t slack)
{
    size_t low = 0, high = n; /* the last knot with no more before it */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (knots[middle].before <= target)
            low = middle;
        else
            high = middle;
    }
    size_t past = target - knots[low].before, ahead = high < n ? knots[high].before - target : SIZE_MAX;
    if (tnp_min(past, ahead) <= slack)
        return past <= ahead ? knots[low].at : knots[high].at;
    return knots[low].at + (past + knots[low].rate - 1) / knots[low].rate;
}

tn_status tnp_feeds_cut(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t unit, size_t **out)
{
    tn_status st = TN_OK;
    knot *knots = NULL;
    size_t *cut = NULL, n = 0, members = tnp_team_size(ctx), rows = feeds[0]->count;
    for (size_t f = 0; f < count; ++f)
        n += pieces_of(feeds[f]->features);
    TN_TRY(tnp_alloc(ctx, n, sizeof *knots, &knots));
    TN_TRY(tnp_alloc(ctx, members + 1, sizeof *cut, &cut));
    n = 0;
    for (size_t f = 0; f < count; ++f)
        n += add_feed(feeds[f], knots + n);
    size_t total = add_up(knots, n, rows), each = total / members, left = total % members;
    for (size_t r = 1; rows > 0 && r < members; ++r) {
        size_t at = cut_near(knots, n, r * each + (r * left + members - 1) / members, each / SLACK);
        cut[r] = tnp_min(rows, (at + unit - 1) / unit * unit);
    }
    cut[members] = rows;
    *out = cut;
    cut = NULL;
done:
    tnp_free_all(knots, cut);
    return st;
}
