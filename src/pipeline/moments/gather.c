/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows into a tally: one pass, in blocks, in memory that does not depend on how many there are.
 *
 *   fold      moments of the rows whose hash says so; rows wait in a block per fold, so that products are of full blocks
 *   shift     mean of the first block, the same for all folds
 *   id        SHA-256 over the sizes of the files and 16 rows of each, evenly spread, as they are stored: enough to tell
 *             whether two parts are of the same files, without reading all of a file of which only a range is wanted
 *   digest    sum over rows of hash(prepared row, its number): whether a part is the same rows
 *
 * Everything is summed in double, also of float files: what a learner on rows can do when digits are missing, read them
 * again, is not to be had later. That is half the speed of float products. The hashes catch accidents, nobody's malice.
 *
 * Of a team every member sums its own blocks, about the shift of the first. */
#include "pipeline/moments/moments.h"
#include "base/sha256.h"
#include "base/team.h"
#include "learn/design/gather.h"
#include "read/features.h"
#include "transform/feed.h"

#include <string.h>

typedef struct gathering {
    const tn_features *const *features;
    size_t count;
    const tnp_tally_options *options;
    tn_labels labels; /* those of the caller, but unlabelled outside the range of rows */
    bool *known;
    tnp_input input;
    size_t first;    /* number of row 0 of the features */
    size_t from, to; /* rows of the task that this member of a team reads; all of them without one */
    tnp_task *task;
    tnp_candidates *candidates;
    tn_tally *tally;
    size_t dim, most;  /* columns; rows of a block */
    size_t *fold;      /* of every row of the task; NULL with one fold */
    size_t *next;      /* folds: the first row in `picked` that is not yet summed up */
    tnp_picked picked; /* targets, fold by fold */
    double *block;     /* (most, dim) */
    double *waiting;   /* (folds, most, dim) */
    size_t *filled;    /* folds */
    uint64_t *hashes;  /* most */
} gathering;

static bool in_memory(const gathering *g)
{
    return g->features[0]->from_memory;
}

/* "FROM:TO", either may be left out. */
static tn_status read_range(tn_ctx *ctx, const char *text, size_t rows, size_t *from, size_t *to)
{
    char left[32] = "", right[32] = "";
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    *from = 0;
    *to = rows;
    if (!*text)
        return TN_OK;
    bool fine = colon && n < sizeof left && strlen(colon + 1) < sizeof right;
    if (fine) {
        memcpy(left, text, n);
        memcpy(right, colon + 1, strlen(colon + 1));
        fine = (!*left || tnp_digits(left, from)) && (!*right || tnp_digits(right, to)) && *from < *to;
    }
    return fine ? TN_OK
                : tnp_fail(ctx, TN_ERR_ARG,
                           "option rows: got '%.60s', expected FROM:TO, whole numbers with FROM below TO", text);
}

/* Of files the rows that take part; of features in memory the numbers that their rows have. */
static tn_status take_range(tn_ctx *ctx, const tn_labels *labels, gathering *g)
{
    tn_status st = TN_OK;
    size_t rows = tn_features_rows(g->features[0]), from = 0, to = rows;
    TN_TRY(tn_rows_agree(ctx, g->features, g->count, labels));
    TN_TRY(read_range(ctx, g->options->rows, rows, &from, &to));
    if (in_memory(g) ? *g->options->rows && to - from != rows : to > rows)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "%s: option rows %s, but there are %zu rows",
                        tn_features_path(g->features[0]), g->options->rows, rows));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *g->known, &g->known));
    g->first = in_memory(g) ? from : 0;
    g->input.from = in_memory(g) ? 0 : from;
    g->input.to = in_memory(g) ? rows : to;
    for (size_t i = g->input.from; i < g->input.to; ++i)
        g->known[i] = labels->known[i];
    g->labels = *labels;
    g->labels.known = g->known;
    TN_TRY(tnp_strdup(ctx, tn_features_path(g->features[0]), &g->input.path));
done:
    return st;
}

static tn_status name_input(tn_ctx *ctx, gathering *g)
{
    enum { ROWS = 16 };
    tn_status st = TN_OK;
    tnp_sha256 sha;
    uint8_t sum[32];
    double *row = NULL;
    tnp_sha256_init(&sha);
    for (size_t f = 0; f < g->count && !in_memory(g); ++f) {
        const tn_features *features = g->features[f];
        uint64_t size[2] = {tn_features_rows(features), tn_features_cols(features)};
        tnp_sha256_add(&sha, size, sizeof size);
        TN_TRY(tnp_alloc_raw(ctx, size[1], sizeof *row, &row));
        for (size_t i = 0; i < ROWS; ++i) {
            size_t at = (size_t)((double)(size[0] - 1) * (double)i / (ROWS - 1));
            TN_TRY(tn_features_read_wide(ctx, features, NULL, at, 1, 0, size[1], row));
            tnp_sha256_add(&sha, row, size[1] * sizeof *row);
        }
        tnp_free(row);
        row = NULL;
    }
    tnp_sha256_end(&sha, sum);
    for (size_t i = 0; i < 16 && !in_memory(g); ++i)
        snprintf(g->input.id + 2 * i, 3, "%02x", sum[i]);
done:
    tnp_free(row);
    return st;
}

/* Squares of targets far from zero would have no digits of their variance. */
static void centre_targets(tnp_task *task)
{
    size_t n = task->y.rows, k = task->y.classes;
    for (size_t i = 0; task->values && i < n * k; ++i)
        task->offset[i % k] += task->values[i] / (double)n;
    for (size_t i = 0; task->values && i < n * k; ++i)
        task->values[i] -= task->offset[i % k];
}

static tn_status check_normalisations(tn_ctx *ctx, const tnp_candidates *candidates)
{
    for (size_t c = 0; c < candidates->count; ++c)
        if (tn_feed_normalize(candidates->feeds[c]) == TN_NORM_ZSCORE)
            return tnp_fail(ctx, TN_ERR_ARG,
                            "option normalize zscore: it takes all rows to know, and moments are of some; expected l2, "
                            "root, l1 or none");
    return TN_OK;
}

/* Task, candidates and a tally without rows. */
static tn_status prepare(tn_ctx *ctx, gathering *g)
{
    tn_status st = TN_OK;
    tn_head *like = NULL;
    size_t *cut = NULL;
    tnp_learn_options weights;
    tnp_learn_options_default(&weights);
    TN_TRY(tnp_task_chunk(ctx, g->features, g->count, &g->labels, (tn_nan_policy)g->options->rank.nan, &g->task));
    TN_TRY(tnp_task_weigh(ctx, g->task, &weights));
    centre_targets(g->task);
    g->input.used = g->task->y.rows;
    TN_TRY(tnp_candidates_new(ctx, g->features, g->count, g->task, &g->options->rank, &g->candidates));
    TN_TRY(check_normalisations(ctx, g->candidates));
    for (size_t c = 0; c < g->candidates->count; ++c)
        tnp_feed_set_limit(g->candidates->feeds[c], TNP_FEED_LARGEST);
    g->dim = tnp_feeds_cols((const tn_feed *const *)g->candidates->feeds, g->candidates->count);
    g->most = tnp_moments_block(g->dim, true);
    TN_TRY(tnp_feeds_cut(ctx, (const tn_feed *const *)g->candidates->feeds, g->candidates->count, g->most, &cut));
    tnp_team_own(ctx, cut, &g->from, &g->to);
    size_t folds = g->options->folds, one = tnp_moments_bytes(g->dim, g->labels.classes, true);
    TN_TRY(tnp_need(ctx, folds * one + (folds + 1) * g->most * g->dim * sizeof(double), g->input.path));
    TN_TRY(tnp_head_of_set(ctx, g->task, &g->labels, "moments", g->candidates, NULL, g->candidates->count, 0, &like));
    TN_TRY(tnp_tally_new(ctx, like, folds, folds > 1 ? g->options->rank.seed : 0, &g->tally));
    g->tally->left_out = g->input.to - g->input.from - g->task->y.rows;
    memcpy(g->tally->offset, g->task->offset, g->labels.classes * sizeof *g->tally->offset);
done:
    tnp_free(cut);
    return st;
}

static size_t number_of(const gathering *g, size_t row)
{
    return g->first + g->task->rows[row];
}

/* Which fold every row is of, and the targets of each fold one after the other. */
static tn_status deal(tn_ctx *ctx, gathering *g)
{
    tn_status st = TN_OK;
    size_t n = g->task->y.rows, folds = g->tally->folds, *order = NULL, *at = NULL;
    TN_TRY(tnp_alloc(ctx, n, sizeof *g->fold, &g->fold));
    TN_TRY(tnp_alloc(ctx, folds, sizeof *g->next, &g->next));
    TN_TRY(tnp_alloc(ctx, folds, sizeof *g->filled, &g->filled));
    TN_TRY(tnp_alloc(ctx, folds + 1, sizeof *at, &at));
    TN_TRY(tnp_alloc(ctx, n, sizeof *order, &order));
    for (size_t i = 0; i < n; ++i) {
        g->fold[i] = tnp_tally_fold(g->tally, g->input.id, number_of(g, i));
        ++at[g->fold[i] + 1];
    }
    for (size_t f = 0; f < folds; ++f)
        at[f + 1] += at[f];
    memcpy(g->next, at, folds * sizeof *at);
    for (size_t i = 0; i < n; ++i) {
        g->next[g->fold[i]] += i < g->from;
        order[at[g->fold[i]]++] = i;
    }
    TN_TRY(tnp_picked_init(ctx, &g->task->y, order, n, &g->picked));
    TN_TRY(tnp_alloc_raw(ctx, folds * g->most * g->dim, sizeof *g->waiting, &g->waiting));
done:
    tnp_free_all(order, at);
    return st;
}

/* The mean of the first block, which the first member has read; count 0: this one has not. */
static tn_status set_frame(tn_ctx *ctx, gathering *g, size_t count)
{
    double *shift = g->tally->fold[0]->shift;
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < g->dim; ++j)
            shift[j] += g->block[i * g->dim + j];
    for (size_t j = 0; count > 0 && j < g->dim; ++j)
        shift[j] /= (double)count;
    tn_status st = tnp_team_share(ctx, shift, g->dim * sizeof *shift);
    g->tally->fold[0]->framed = true;
    for (size_t f = 1; f < g->tally->folds; ++f)
        tnp_moments_frame(g->tally->fold[f], shift);
    return st;
}

enum { HASHED = 16 }; /* rows per task of a thread */

typedef struct hash_job {
    const gathering *g;
    size_t start, count;
} hash_job;

static void hash_rows(void *arg, size_t chunk)
{
    const hash_job *job = arg;
    const gathering *g = job->g;
    for (size_t i = chunk * HASHED; i < tnp_min(job->count, (chunk + 1) * HASHED); ++i)
        g->hashes[i] = tnp_hash_doubles(g->block + i * g->dim, g->dim, number_of(g, job->start + i));
}

static tn_status flush(tn_ctx *ctx, gathering *g, size_t f)
{
    size_t n = g->filled[f], start = g->next[f];
    if (n == 0)
        return TN_OK;
    g->filled[f] = 0;
    g->next[f] += n;
    return tnp_moments_add_wide(ctx, g->tally->fold[f], g->waiting + f * g->most * g->dim, &g->picked.y, start, n);
}

/* Rows [start, start + n) of the task, which are in the block. */
static tn_status add_block(tn_ctx *ctx, gathering *g, size_t start, size_t n)
{
    tn_status st = TN_OK;
    hash_job job = {g, start, n};
    tnp_parallel(ctx, tnp_threads_for(ctx, 4.0 * (double)n * (double)g->dim), (n + HASHED - 1) / HASHED, hash_rows,
                 &job);
    for (size_t i = 0; i < n; ++i)
        g->input.digest += g->hashes[i];
    if (!g->fold)
        return tnp_moments_add_wide(ctx, g->tally->fold[0], g->block, &g->task->y, start, n);
    for (size_t i = 0; i < n; ++i) {
        size_t f = g->fold[start + i], at = f * g->most + g->filled[f]++;
        memcpy(g->waiting + at * g->dim, g->block + i * g->dim, g->dim * sizeof *g->block);
        if (g->filled[f] == g->most)
            TN_TRY(flush(ctx, g, f));
    }
done:
    return st;
}

/* Sums of all members. The digest, a number of 64 bits, goes in pieces whose sums double holds. */
static tn_status join_members(tn_ctx *ctx, gathering *g)
{
    tn_status st = TN_OK;
    double piece[4];
    for (size_t i = 0; i < 4; ++i)
        piece[i] = (double)(g->input.digest >> 16 * i & 0xffff);
    TN_TRY(tnp_team_sum(ctx, piece, 4));
    g->input.digest = 0;
    for (size_t i = 0; i < 4; ++i)
        g->input.digest += (uint64_t)piece[i] << 16 * i;
    for (size_t f = 0; f < g->tally->folds; ++f)
        TN_TRY(tnp_moments_sum(ctx, g->tally->fold[f]));
done:
    return st;
}

static tn_status pour(tn_ctx *ctx, gathering *g)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, g->most * g->dim, sizeof *g->block, &g->block));
    TN_TRY(tnp_alloc_raw(ctx, g->most, sizeof *g->hashes, &g->hashes));
    if (g->from > 0)
        TN_TRY(set_frame(ctx, g, 0));
    for (size_t start = g->from, n; start < g->to; start += n) {
        n = tnp_min(g->most, g->to - start);
        TN_TRY(tnp_progress(ctx, "reading", start - g->from, g->to - g->from));
        TN_TRY(tnp_feeds_read_wide(ctx, (const tn_feed *const *)g->candidates->feeds, g->candidates->count, start, n,
                                   g->block, g->dim));
        if (start == 0)
            TN_TRY(set_frame(ctx, g, n));
        TN_TRY(add_block(ctx, g, start, n));
    }
    for (size_t f = 0; g->fold && f < g->tally->folds; ++f)
        TN_TRY(flush(ctx, g, f));
    TN_TRY(join_members(ctx, g));
    for (size_t f = 0; f < g->tally->folds; ++f)
        if (g->tally->fold[f]->rows > 0)
            TN_TRY(tnp_check_squares(ctx, g->tally->fold[f]));
done:
    return st;
}

static void gathering_free(gathering *g)
{
    tnp_free_all(g->known, g->input.path);
    tnp_task_free(g->task);
    tnp_candidates_free(g->candidates);
    tn_tally_free(g->tally);
    tnp_free_all(g->fold, g->next);
    tnp_picked_destroy(&g->picked);
    tnp_free_all(g->block, g->waiting, g->filled, g->hashes);
}

tn_status tnp_tally_gather(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                           const tnp_tally_options *options, tn_tally **out)
{
    tn_status st = TN_OK;
    gathering g = {.features = features, .count = count, .options = options};
    (void)tnp_progress_begin(ctx);
    TN_TRY(tnp_check_names(ctx, features, count, labels));
    TN_TRY(take_range(ctx, labels, &g));
    TN_TRY(name_input(ctx, &g));
    TN_TRY(prepare(ctx, &g));
    if (options->folds > 1)
        TN_TRY(deal(ctx, &g));
    TN_TRY(pour(ctx, &g));
    TN_TRY(tnp_tally_add_input(ctx, g.tally, &g.input));
    TN_TRY(tnp_progress_end(ctx));
    *out = g.tally;
    g.tally = NULL;
done:
    gathering_free(&g);
    return st;
}
