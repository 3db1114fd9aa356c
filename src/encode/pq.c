/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Product quantisation (Jegou, Douze, Schmid, PAMI 2011) of whole representations:
 *
 *   x (dim) = x_1 .. x_groups, `sub` columns each, the last one maybe fewer
 *   codes[g] = argmin_c |x_g - centroid_g,c|^2          centroid_g (count, columns of g): k-means of x_g over a sample
 *
 * Groups do not know of each other: each is clustered by one thread with the random stream of its number, so that the
 * result does not depend on the number of threads. The sample is read in bands of columns of BAND values in all; of a
 * Fisher vector with 65536 columns 20000 rows would be 5 GB.
 *
 * Scores of codes come from decoded rows and a matrix product, not from tables of w'centroid for every class and group.
 * With one thread a row of K = 20, D = 4096 takes 0.7 + 2.4 us decoded and multiplied, 2.5 from tables; making these
 * costs 5.1 us a row when the weights change every 256 rows, as in online training. docs/math.md has the other sizes.
 *
 * Decoding is read/codes.c, files are report/pq_file.c. Oracle: tests/ref/ref_pq.c. */
#include "encode/pq.h"

#include "encode/kmeans.h"

#include <float.h>
#include <string.h>

enum { BLOCK = 64, BAND = 1 << 22 };

void tnp_pq_options_default(tnp_pq_options *options)
{
    *options = (tnp_pq_options){.sub = 8, .centroids = TNP_CODES, .sample = 20000, .iterations = 25, .seed = 0};
}

const tn_field *tnp_pq_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"sub", TN_FIELD_INT, offsetof(tnp_pq_options, sub), 1, 1 << 20, "N", "columns that one code stands for"},
        {"centroids", TN_FIELD_INT, offsetof(tnp_pq_options, centroids), 1, TNP_CODES, "N",
         "centroids of a group of columns, at most one per row"},
        {"sample", TN_FIELD_INT, offsetof(tnp_pq_options, sample), 0, 1e12, "N",
         "rows to train on, drawn by the seed; 0: all"},
        {"iterations", TN_FIELD_INT, offsetof(tnp_pq_options, iterations), 0, 1e6, "N",
         "iterations of k-means at most"},
        {"seed", TN_FIELD_INT, offsetof(tnp_pq_options, seed), 0, 9007199254740992.0, "N",
         "seed of the sample and the start"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static void defaults(void *values)
{
    tnp_pq_options_default(values);
}

static const tnp_options_table tables[] = {{"Training", tnp_pq_fields, 0}, {NULL, NULL, 0}};
const tnp_options_kind tnp_pq_kind = {"pq", sizeof(tnp_pq_options), defaults, tables, NULL, 0, NULL, NULL, 0};

/* ---- the object ---- */

tn_status tnp_pq_new(tn_ctx *ctx, tnp_codebook book, tn_pq **out)
{
    tn_status st = TN_OK;
    tn_pq *pq = NULL;
    float *lanes = NULL;
    TN_TRY(tnp_alloc_raw(ctx, book.dim * TNP_CODES, sizeof *lanes, &lanes));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *pq, &pq));
    pq->book = book;
    pq->lanes = lanes;
    for (size_t g = 0; g < book.groups; ++g)
        tnp_kmeans_lanes(tnp_codebook_group(&book, g), book.count, tnp_codebook_width(&book, g),
                         lanes + g * book.sub * TNP_CODES);
    *out = pq;
    book.table = lanes = NULL;
done:
    tnp_free_all(book.table, lanes);
    return st;
}

void tn_pq_free(tn_pq *pq)
{
    if (!pq)
        return;
    tnp_free_all(pq->book.table, pq->lanes, pq);
}

size_t tn_pq_dim(const tn_pq *pq)
{
    return pq->book.dim;
}

size_t tn_pq_sub(const tn_pq *pq)
{
    return pq->book.sub;
}

size_t tn_pq_groups(const tn_pq *pq)
{
    return pq->book.groups;
}

size_t tn_pq_centroids(const tn_pq *pq)
{
    return pq->book.count;
}

/* ---- training ---- */

/* One band: groups [first, first + count), columns [first * sub, first * sub + cols) of the sample. */
typedef struct training {
    tn_pq *pq;
    const tn_features *features;
    size_t *rows, row_count; /* the sample, ascending */
    size_t iterations, most; /* groups of a band at most */
    uint64_t seed;
    tnp_share whole;
    size_t first, count, cols, begun; /* begun: groups of the band that were begun before */
    float *band;                      /* (row_count, cols) */
    float *x, *distance;
    uint8_t *code;
    double *sums, *objective;
    size_t *members, *updates; /* (most, centroids); (most) */
    bool *finished;
} training;

static tn_status draw_sample(tn_ctx *ctx, const tnp_pq_options *opt, training *t)
{
    size_t all = tn_features_rows(t->features), taken = 0;
    tnp_rng rng;
    t->row_count = opt->sample == 0 ? all : tnp_min(opt->sample, all);
    tn_status st = tnp_alloc_raw(ctx, t->row_count, sizeof *t->rows, &t->rows);
    if (st != TN_OK)
        return st;
    tnp_rng_init(&rng, opt->seed, 0);
    for (size_t i = 0; taken < t->row_count; ++i)
        if (tnp_rng_below(&rng, all - i) < t->row_count - taken)
            t->rows[taken++] = i;
    return TN_OK;
}

static tn_status make_scratch(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    const tnp_codebook *book = &t->pq->book;
    size_t rows = 0, values = 0;
    TN_TRY(tnp_mul(ctx, t->row_count, book->sub, &values));
    t->most = tnp_min(book->groups, tnp_max(1, BAND / values));
    TN_TRY(tnp_mul(ctx, t->row_count, t->most, &rows));
    TN_TRY(tnp_mul(ctx, rows, book->sub, &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *t->band, &t->band));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *t->x, &t->x));
    TN_TRY(tnp_alloc_raw(ctx, rows, sizeof *t->distance, &t->distance));
    TN_TRY(tnp_alloc_raw(ctx, rows, sizeof *t->code, &t->code));
    TN_TRY(tnp_alloc_raw(ctx, t->most * book->count * book->sub, sizeof *t->sums, &t->sums));
    TN_TRY(tnp_alloc_raw(ctx, t->most * book->count, sizeof *t->members, &t->members));
    TN_TRY(tnp_alloc(ctx, t->most, sizeof *t->objective, &t->objective));
    TN_TRY(tnp_alloc(ctx, t->most, sizeof *t->updates, &t->updates));
    TN_TRY(tnp_alloc(ctx, t->most, sizeof *t->finished, &t->finished));
done:
    return st;
}

static void free_scratch(training *t)
{
    tnp_free_all(t->rows, t->band, t->x, t->distance, t->code, t->sums, t->members, t->objective, t->updates,
                 t->finished);
}

/* Reads the columns of the band; adds its squares to *energy. */
static tn_status read_band(tn_ctx *ctx, training *t, double *energy)
{
    const tnp_simd *k = tnp_simd_get();
    tn_status st =
        tn_features_read(ctx, t->features, t->rows, 0, t->row_count, t->first * t->pq->book.sub, t->cols, t->band);
    for (size_t i = 0; st == TN_OK && i < t->row_count; ++i) {
        if (!k->all_within(t->band + i * t->cols, t->cols, FLT_MAX))
            return tnp_fail(
                ctx, TN_ERR_DATA,
                "%s: row %zu holds NaN, infinity or a number beyond float32, which no centroid can be near to",
                tn_features_path(t->features), t->rows[i]);
        *energy += k->sum_squares(t->band + i * t->cols, t->cols);
    }
    return st;
}

static void train_group(void *arg, size_t number)
{
    training *t = arg;
    const tnp_codebook *book = &t->pq->book;
    size_t i = t->begun + number, g = t->first + i, width = tnp_codebook_width(book, g), n = t->row_count;
    float *x = t->x + i * n * book->sub;
    for (size_t r = 0; r < n; ++r)
        memcpy(x + r * width, t->band + r * t->cols + i * book->sub, width * sizeof *x);
    tnp_kmeans km = {.x = x,
                     .rows = n,
                     .dim = width,
                     .count = book->count,
                     .centers = tnp_codebook_group(book, g),
                     .lanes = t->pq->lanes + g * book->sub * TNP_CODES,
                     .code = t->code + i * n,
                     .distance = t->distance + i * n,
                     .sums = t->sums + i * book->count * book->sub,
                     .members = t->members + i * book->count};
    tnp_rng_init(&km.rng, t->seed, g + 1);
    t->updates[i] = tnp_kmeans_run(&km, t->iterations, &t->objective[i], &t->finished[i]);
}

/* A few groups at a time, so that progress is told and a cancel is heard. */
static tn_status train_band(tn_ctx *ctx, training *t, tn_pq_info *info)
{
    size_t few = tnp_max(16, 4 * tn_ctx_threads(ctx));
    for (t->begun = 0; t->begun < t->count; t->begun += few) {
        tn_status st = tnp_progress_step(ctx, t->whole, "pq train", t->first + t->begun, t->pq->book.groups);
        if (st != TN_OK)
            return st;
        size_t n = tnp_min(few, t->count - t->begun), values = t->row_count * t->pq->book.sub * t->pq->book.count;
        tnp_parallel(ctx, tnp_threads_for(ctx, 3.0 * (double)n * (double)values * (double)(t->iterations + 1)), n,
                     train_group, t);
    }
    for (size_t i = 0; i < t->count; ++i) {
        info->error += t->objective[i];
        info->iterations = tnp_max(info->iterations, t->updates[i]);
        info->unfinished += !t->finished[i];
    }
    return TN_OK;
}

static tn_status check(tn_ctx *ctx, const tnp_pq_options *options)
{
    size_t count = 0;
    const tn_field *fields = tnp_pq_fields(&count);
    return tnp_fields_check(ctx, fields, count, options);
}

tn_status tnp_pq_fit(tn_ctx *ctx, const tn_features *features, const tnp_pq_options *options, tn_pq_info *info,
                     tn_pq **out)
{
    tn_status st = TN_OK;
    double begin = tnp_seconds();
    training t = {.features = features,
                  .iterations = options->iterations,
                  .seed = options->seed,
                  .whole = tnp_progress_begin(ctx)};
    tn_pq_info told = {0};
    tnp_codebook book;
    TN_TRY(check(ctx, options));
    TN_TRY(draw_sample(ctx, options, &t));
    TN_TRY(tnp_codebook_new(ctx, tn_features_cols(features), options->sub, tnp_min(options->centroids, t.row_count),
                            &book));
    TN_TRY(tnp_pq_new(ctx, book, &t.pq));
    TN_TRY(make_scratch(ctx, &t));
    for (; t.first < book.groups; t.first += t.count) {
        t.count = tnp_min(t.most, book.groups - t.first);
        t.cols = tnp_min(t.count * book.sub, book.dim - t.first * book.sub);
        TN_TRY(read_band(ctx, &t, &told.energy));
        TN_TRY(train_band(ctx, &t, &told));
    }
    TN_TRY(tnp_progress_end(ctx));
    told.rows = t.row_count;
    told.seconds = tnp_seconds() - begin;
    if (info)
        *info = told;
    *out = t.pq;
    t.pq = NULL;
done:
    tn_pq_free(t.pq);
    free_scratch(&t);
    return st;
}

tn_status tn_pq_fit(tn_ctx *ctx, const tn_features *features, const tn_options *options, tn_pq_info *info, tn_pq **out)
{
    tnp_pq_options values;
    tn_status st = tnp_options_read(ctx, options, &tnp_pq_kind, &values);
    return st == TN_OK ? tnp_pq_fit(ctx, features, &values, info, out) : st;
}

/* ---- applying ---- */

typedef struct coding {
    const tn_pq *pq;
    tn_view x;
    uint8_t *codes;
    double *error; /* a block each */
} coding;

static void encode_block(void *arg, size_t block)
{
    coding *job = arg;
    const tnp_simd *k = tnp_simd_get();
    const tnp_codebook *book = &job->pq->book;
    size_t start = block * BLOCK, n = tnp_min(BLOCK, job->x.rows - start);
    const float *x = job->x.data + start * job->x.stride;
    float distance[BLOCK];
    double sum = 0;
    for (size_t g = 0; g < book->groups; ++g) {
        k->nearest(x + g * book->sub, job->x.stride, n, tnp_codebook_width(book, g),
                   job->pq->lanes + g * book->sub * TNP_CODES, tnp_kmeans_width(book->count),
                   job->codes + start * book->groups + g, book->groups, distance);
        for (size_t i = 0; i < n; ++i)
            sum += (double)distance[i];
    }
    job->error[block] = sum;
}

static tn_status check_rows(tn_ctx *ctx, const tn_pq *pq, tn_view x)
{
    const tnp_simd *k = tnp_simd_get();
    if (x.cols != pq->book.dim)
        return tnp_fail(ctx, TN_ERR_SHAPE, "pq: rows of %zu columns, the quantiser was trained on %zu", x.cols,
                        pq->book.dim);
    for (size_t i = 0; i < x.rows; ++i)
        if (!k->all_within(x.data + i * x.stride, x.cols, FLT_MAX))
            return tnp_fail(ctx, TN_ERR_DATA, "pq: row %zu holds NaN or infinity, which no code can stand for", i);
    return TN_OK;
}

tn_status tn_pq_encode(tn_ctx *ctx, const tn_pq *pq, tn_view x, uint8_t *codes, double *error)
{
    tn_status st = TN_OK;
    coding job = {pq, x, codes, NULL};
    size_t blocks = (x.rows + BLOCK - 1) / BLOCK;
    double sum = 0;
    TN_TRY(check_rows(ctx, pq, x));
    TN_TRY(tnp_alloc_raw(ctx, blocks, sizeof *job.error, &job.error));
    double work = 3.0 * (double)x.rows * (double)x.cols * (double)pq->book.count;
    tnp_parallel(ctx, tnp_threads_for(ctx, work), blocks, encode_block, &job);
    for (size_t b = 0; b < blocks; ++b)
        sum += job.error[b];
    if (error)
        *error = sum;
done:
    tnp_free(job.error);
    return st;
}

typedef struct decoding {
    const tn_pq *pq;
    const uint8_t *codes;
    size_t rows;
    float *out;
} decoding;

static void decode_block(void *arg, size_t block)
{
    const decoding *job = arg;
    const tnp_codebook *book = &job->pq->book;
    size_t start = block * BLOCK, n = tnp_min(BLOCK, job->rows - start);
    tnp_codes_decode(book, job->codes + start * book->groups, book->groups, n, 0, book->groups,
                     job->out + start * book->dim);
}

tn_status tn_pq_decode(tn_ctx *ctx, const tn_pq *pq, const uint8_t *codes, size_t rows, float *out)
{
    decoding job = {pq, codes, rows, out};
    size_t groups = pq->book.groups, blocks = (rows + BLOCK - 1) / BLOCK;
    for (size_t i = 0; i < rows * groups; ++i)
        if (codes[i] >= pq->book.count)
            return tnp_fail(ctx, TN_ERR_DATA, "pq: row %zu, group %zu holds code %d, but there are %zu centroids",
                            i / groups, i % groups, (int)codes[i], pq->book.count);
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)rows * (double)pq->book.dim), blocks, decode_block, &job);
    return TN_OK;
}
