/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Product quantisers and what they make as files; the layout is described in docs/formats.md.
 *
 *   tenon-pq      centroids (count x dim, F32)
 *   tenon-codes   the same, and codes (rows x groups, U8); read/codes.c reads it
 *   metadata      format, version, sub, created_by
 *
 * Codes carry their centroids: 1 KB per column against the trouble of two files that must stay together. They are
 * written block by block, so that the memory needed does not grow with the rows. Row identifiers are not kept. */
#include "encode/pq.h"
#include "simd/simd.h"
#include "store/store.h"
#include "tenon/store.h"

#include <float.h>
#include <string.h>

enum { META = 4, BLOCK_VALUES = 1 << 22 };

static const char format_name[] = "tenon-pq", codes_name[] = "tenon-codes", format_version[] = "1";
static const char in_memory[] = "quantiser in memory";

/* (count, dim) as the file has it; the caller frees it. */
static tn_status list_centroids(tn_ctx *ctx, const tnp_codebook *book, float **out)
{
    tn_status st = tnp_alloc_raw(ctx, book->count * book->dim, sizeof **out, out);
    for (size_t c = 0; st == TN_OK && c < book->count; ++c)
        for (size_t g = 0; g < book->groups; ++g) {
            size_t width = tnp_codebook_width(book, g);
            memcpy(*out + c * book->dim + g * book->sub, tnp_codebook_group(book, g) + c * width, width * sizeof **out);
        }
    return st;
}

static void list_meta(const char *format, const char *sub, const char *created, tnp_meta *meta)
{
    const tnp_meta list[META] = {
        {"format", format}, {"version", format_version}, {"sub", sub}, {"created_by", created}};
    memcpy(meta, list, sizeof list);
}

static tn_status put(tn_ctx *ctx, const tn_pq *pq, const char *command, const tnp_store_to *to)
{
    tn_status st = TN_OK;
    float *centroids = NULL;
    char *created = NULL, sub[32];
    tnp_meta meta[META];
    TN_TRY(list_centroids(ctx, &pq->book, &centroids));
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    snprintf(sub, sizeof sub, "%zu", pq->book.sub);
    list_meta(format_name, sub, created, meta);
    tnp_tensor tensor = {"centroids", TN_F32, {pq->book.count, pq->book.dim}, 2, centroids};
    TN_TRY(tnp_store_write(ctx, to, meta, META, &tensor, 1));
done:
    tn_text_free(created);
    tnp_free(centroids);
    return st;
}

tn_status tn_pq_save(tn_ctx *ctx, const tn_pq *pq, const char *command, const char *path)
{
    return put(ctx, pq, command, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_pq_to_bytes(tn_ctx *ctx, const tn_pq *pq, const char *command, void **bytes, size_t *size)
{
    return put(ctx, pq, command, &(tnp_store_to){in_memory, bytes, size});
}

/* out: tn_pq **. */
static tn_status make_pq(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out)
{
    tnp_codebook book;
    (void)path;
    tn_status st = tnp_codebook_load(ctx, file, &book);
    return st == TN_OK ? tnp_pq_new(ctx, book, out) : st;
}

static const tnp_store_kind kind = {format_name, format_version, in_memory, make_pq};

tn_status tn_pq_load(tn_ctx *ctx, const char *path, tn_pq **out)
{
    return tnp_store_load(ctx, path, &kind, out);
}

tn_status tn_pq_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_pq **out)
{
    return tnp_store_parse(ctx, bytes, size, name, &kind, out);
}

/* ---- codes ---- */

typedef struct writing {
    const tn_pq *pq;
    const tn_features *features;
    tn_output *output;
    float *x;       /* (block, dim) */
    uint8_t *codes; /* (block, groups) */
    size_t block;
    tnp_share whole;
    tn_pq_info info;
} writing;

static tn_status write_block(tn_ctx *ctx, writing *w, size_t start)
{
    tn_status st = TN_OK;
    const tnp_simd *k = tnp_simd_get();
    size_t dim = w->pq->book.dim, rows = tnp_min(w->block, tn_features_rows(w->features) - start);
    double error = 0;
    TN_TRY(tnp_progress_step(ctx, w->whole, "pq apply", start, tn_features_rows(w->features)));
    TN_TRY(tn_features_read(ctx, w->features, NULL, start, rows, 0, dim, w->x));
    for (size_t i = 0; i < rows; ++i) {
        if (!k->all_within(w->x + i * dim, dim, FLT_MAX))
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                            "%s: row %zu holds NaN, infinity or a number beyond float32, which no code can stand for",
                            tn_features_path(w->features), start + i));
        w->info.energy += k->sum_squares(w->x + i * dim, dim);
    }
    TN_TRY(tn_pq_encode(ctx, w->pq, (tn_view){w->x, rows, dim, dim}, w->codes, &error));
    w->info.error += error;
    w->info.rows += rows;
    TN_TRY(tn_output_write(ctx, w->output, w->codes, rows * w->pq->book.groups));
done:
    return st;
}

static tn_status write_all(tn_ctx *ctx, writing *w, const char *command, const char *path)
{
    tn_status st = TN_OK;
    const tnp_codebook *book = &w->pq->book;
    size_t rows = tn_features_rows(w->features);
    float *centroids = NULL;
    char *created = NULL, sub[32];
    tnp_meta meta[META];
    TN_TRY(list_centroids(ctx, book, &centroids));
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    snprintf(sub, sizeof sub, "%zu", book->sub);
    list_meta(codes_name, sub, created, meta);
    const tnp_tensor tensors[] = {{"centroids", TN_F32, {book->count, book->dim}, 2, centroids},
                                  {"codes", TN_U8, {rows, book->groups}, 2, NULL}};
    TN_TRY(tnp_store_open(ctx, path, meta, META, tensors, 2, &w->output));
    TN_TRY(tn_output_write(ctx, w->output, centroids, book->count * book->dim * sizeof *centroids));
    for (size_t start = 0; start < rows; start += w->block)
        TN_TRY(write_block(ctx, w, start));
    TN_TRY(tnp_progress_end(ctx));
    TN_TRY(tn_output_commit(ctx, w->output));
done:
    tn_text_free(created);
    tnp_free(centroids);
    return st;
}

tn_status tn_codes_save(tn_ctx *ctx, const tn_pq *pq, const tn_features *features, const char *command,
                        const char *path, tn_pq_info *info)
{
    tn_status st = TN_OK;
    double begin = tnp_seconds();
    size_t dim = pq->book.dim;
    writing w = {.pq = pq,
                 .features = features,
                 .block = tnp_max(1, tnp_min(tn_features_rows(features), BLOCK_VALUES / dim)),
                 .whole = tnp_progress_begin(ctx)};
    if (tn_features_cols(features) != dim)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu columns, but the quantiser was trained on %zu",
                        tn_features_path(features), tn_features_cols(features), dim);
    TN_TRY(tnp_alloc_raw(ctx, w.block * dim, sizeof *w.x, &w.x));
    TN_TRY(tnp_alloc_raw(ctx, w.block * pq->book.groups, sizeof *w.codes, &w.codes));
    TN_TRY(write_all(ctx, &w, command, path));
    w.info.seconds = tnp_seconds() - begin;
    if (info)
        *info = w.info;
done:
    tn_output_close(w.output);
    tnp_free_all(w.x, w.codes);
    return st;
}
