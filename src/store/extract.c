/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures and bags to vectors in .npy files, one per encoder, with a sidecar of what they are.
 *
 *   FILE.npy    rows x columns                FILE.json    {"format":"tenon-rows","rows":N,"cols":D,"created_by":..,
 *                                                           "encoder":{"name":..,"hash":..,"kind":..},"ids":[..]}
 *
 * With option resume rows are first kept in parts (extract_parts.c). */
#include "base/text.h"
#include "store/extract.h"
#include "store/extract_parts.h"
#include "store/extract_rows.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

/* ---- options ---- */

enum { TYPE_F32, TYPE_F16 };

typedef struct extract_options {
    int type;    /* f32 */
    bool resume; /* no */
} extract_options;

static void defaults(void *values)
{
    *(extract_options *)values = (extract_options){TYPE_F32, false};
}

static const tn_field *fields(size_t *count)
{
    static const tn_field all[] = {
        {"type", TN_FIELD_CHOICE, offsetof(extract_options, type), 0, 0, "f32|f16", "of the values that are written"},
        {"resume", TN_FIELD_FLAG, offsetof(extract_options, resume), 0, 0, NULL,
         "keep rows in FILE.npy.parts until all are there, and go on from those that an interrupted run left"},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

static const tnp_options_table tables[] = {{"Extraction", fields, 0}, {NULL, NULL, 0}};
const tnp_options_kind tnp_extract_kind = {"extract", sizeof(extract_options), defaults, tables, NULL, 0, NULL, NULL,
                                           0};

/* ---- the sidecar ---- */

tn_status tnp_encoder_hash(tn_ctx *ctx, const tn_encoder *encoder, uint64_t *out)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    tn_status st = tn_encoder_to_bytes(ctx, encoder, NULL, (void **)&bytes, &size);
    *out = 1469598103934665603u;
    for (size_t i = 0; st == TN_OK && i < size; ++i)
        *out = (*out ^ bytes[i]) * 1099511628211u;
    tn_bytes_free(bytes);
    return st;
}

static const char *const *ids_of(const tnp_extraction *x)
{
    return x->stream.pictures ? tn_pictures_ids(x->stream.pictures) : tn_bags_ids(x->stream.bags);
}

static tn_status write_sidecar(tn_ctx *ctx, const tnp_extraction *x, size_t e, const char *path, const char *command)
{
    tn_status st = TN_OK;
    const tn_encoder *encoder = x->encoders[e];
    const char *const *ids = ids_of(x);
    char *created = NULL, hash[20];
    uint64_t number = 0;
    tnp_text text;
    tnp_text_init(&text, ctx);
    TN_TRY(tnp_encoder_hash(ctx, encoder, &number));
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    snprintf(hash, sizeof hash, "%016" PRIx64, number);
    tnp_text_add(&text, "{\"format\":\"tenon-rows\",\"rows\":%zu,\"cols\":%zu,\"created_by\":", x->stream.count,
                 tn_encoder_cols(encoder));
    tnp_text_quote(&text, created);
    tnp_text_add(&text, ",\"encoder\":{\"kind\":\"%s\",\"descriptor\":", tn_encoder_kind(encoder));
    tnp_text_quote(&text, tn_encoder_descriptor(encoder) ? tn_encoder_descriptor(encoder) : "");
    tnp_text_add(&text, ",\"words\":%zu,\"pyramid\":\"%s\",\"hash\":\"%s\"}", tn_encoder_words(encoder),
                 tn_encoder_pyramid(encoder), hash);
    TN_TRY(tnp_sidecar_save(ctx, &text, ids, x->stream.count, path));
done:
    tnp_text_destroy(&text);
    tn_text_free(created);
    return st;
}

/* ---- files ---- */

/* Where the vectors of one encoder go. */
typedef struct target {
    const char *path;
    tn_npy_writer *writer;
    tnp_parts parts; /* with resume */
} target;

static tn_status open_writer(tn_ctx *ctx, const tnp_extraction *x, size_t e, const char *path, size_t rows, int type,
                             tn_npy_writer **out)
{
    return tn_npy_writer_open_as(ctx, path, rows, tn_encoder_cols(x->encoders[e]), type == TYPE_F16 ? TN_F16 : TN_F32,
                                 out);
}

/* Rows [first, end) to the writers. */
static tn_status write_rows(tn_ctx *ctx, tnp_extraction *x, target *targets, tnp_share whole, size_t first, size_t end)
{
    tn_status st = TN_OK;
    for (size_t count = 0; first < end; first += count) {
        TN_TRY(tnp_progress_step(ctx, whole, "extract", first, x->stream.count));
        TN_TRY(tnp_extraction_rows(ctx, x, first, end - first, &count));
        for (size_t e = 0; e < x->count; ++e)
            TN_TRY(tn_npy_writer_rows(ctx, targets[e].writer, x->rows[e], count));
    }
done:
    return st;
}

static tn_status write_at_once(tn_ctx *ctx, tnp_extraction *x, target *targets, int type)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_begin(ctx);
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(open_writer(ctx, x, e, targets[e].path, x->stream.count, type, &targets[e].writer));
    TN_TRY(write_rows(ctx, x, targets, whole, 0, x->stream.count));
    TN_TRY(tnp_progress_end(ctx));
done:
    return st;
}

/* ---- in parts ---- */

/* FNV-1a of all ids, each with the zero behind it. */
static uint64_t hash_ids(const tnp_extraction *x)
{
    const char *const *ids = ids_of(x);
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; ids && i < x->stream.count; ++i)
        for (size_t j = 0; j <= strlen(ids[i]); ++j)
            hash = (hash ^ (unsigned char)ids[i][j]) * 1099511628211u;
    return hash;
}

static tn_status open_parts(tn_ctx *ctx, const tnp_extraction *x, size_t e, target *to)
{
    tn_status st = TN_OK;
    char key[256];
    uint64_t encoder = 0;
    size_t cols = tn_encoder_cols(x->encoders[e]);
    TN_TRY(tnp_encoder_hash(ctx, x->encoders[e], &encoder));
    snprintf(
        key, sizeof key,
        "{\"format\":\"tenon-parts\",\"version\":\"%s\",\"rows\":%zu,\"cols\":%zu,\"part\":%d,\"encoder\":\"%016" PRIx64
        "\",\"ids\":\"%016" PRIx64 "\"}\n",
        tn_version(), x->stream.count, cols, TNP_PART_ROWS, encoder, hash_ids(x));
    TN_TRY(tnp_parts_open(ctx, to->path, key, x->stream.count, cols, &to->parts));
done:
    return st;
}

static tn_status make_part(tn_ctx *ctx, tnp_extraction *x, target *targets, tnp_share whole, size_t part)
{
    tn_status st = TN_OK;
    size_t first = part * TNP_PART_ROWS, rows = tnp_parts_rows(&targets[0].parts, part);
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(open_writer(ctx, x, e, tnp_parts_name(&targets[e].parts, part), rows, TYPE_F32, &targets[e].writer));
    TN_TRY(write_rows(ctx, x, targets, whole, first, first + rows));
    for (size_t e = 0; e < x->count; ++e) {
        TN_TRY(tn_npy_writer_commit(ctx, targets[e].writer));
        tn_npy_writer_close(targets[e].writer);
        targets[e].writer = NULL;
    }
done:
    return st;
}

static tn_status join_parts(tn_ctx *ctx, const tnp_extraction *x, size_t e, int type, target *to)
{
    tn_status st = TN_OK;
    float *rows = NULL;
    TN_TRY(tnp_alloc_raw(ctx, TNP_PART_ROWS * to->parts.cols, sizeof *rows, &rows));
    TN_TRY(open_writer(ctx, x, e, to->path, x->stream.count, type, &to->writer));
    for (size_t i = 0; i < tnp_parts_count(&to->parts); ++i) {
        TN_TRY(tnp_parts_read(ctx, &to->parts, i, rows));
        TN_TRY(tn_npy_writer_rows(ctx, to->writer, rows, tnp_parts_rows(&to->parts, i)));
    }
done:
    tnp_free(rows);
    return st;
}

static tn_status write_in_parts(tn_ctx *ctx, tnp_extraction *x, target *targets, int type)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_begin(ctx);
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(open_parts(ctx, x, e, targets + e));
    for (size_t part = 0; part < tnp_parts_count(&targets[0].parts); ++part) {
        bool have = true;
        for (size_t e = 0; e < x->count; ++e)
            have = have && tnp_parts_has(&targets[e].parts, part);
        if (!have)
            TN_TRY(make_part(ctx, x, targets, whole, part));
    }
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(join_parts(ctx, x, e, type, targets + e));
    TN_TRY(tnp_progress_end(ctx));
done:
    return st;
}

tn_status tn_extract_rows(tn_ctx *ctx, const tn_pictures *pictures, const tn_bags *bags,
                          const tn_encoder *const *encoders, size_t count, const char *const *paths,
                          const char *command, const tn_options *options)
{
    tn_status st = TN_OK;
    tnp_extraction x = {.encoders = encoders, .count = count};
    target *targets = NULL;
    extract_options o;
    if (!pictures == !bags)
        return tnp_fail(ctx, TN_ERR_ARG, "extract: expected either pictures or bags");
    TN_TRY(tnp_options_read(ctx, options, &tnp_extract_kind, &o));
    TN_TRY(tnp_extraction_begin(ctx, pictures, bags, &x));
    TN_TRY(tnp_alloc(ctx, count, sizeof *targets, &targets));
    for (size_t e = 0; e < count; ++e)
        targets[e].path = paths[e];
    TN_TRY(o.resume ? write_in_parts(ctx, &x, targets, o.type) : write_at_once(ctx, &x, targets, o.type));
    for (size_t e = 0; e < count; ++e) {
        TN_TRY(write_sidecar(ctx, &x, e, paths[e], command));
        TN_TRY(tn_npy_writer_commit(ctx, targets[e].writer));
    }
    for (size_t e = 0; o.resume && e < count; ++e)
        tnp_parts_remove(&targets[e].parts);
done:
    for (size_t e = 0; targets && e < count; ++e) {
        tn_npy_writer_close(targets[e].writer);
        tnp_parts_close(&targets[e].parts);
    }
    tnp_free(targets);
    tnp_extraction_end(ctx, &x);
    return st;
}

tn_status tn_extract(tn_ctx *ctx, const tn_pictures *pictures, const tn_encoder *const *encoders, size_t count,
                     const char *const *paths, const char *command)
{
    return tn_extract_rows(ctx, pictures, NULL, encoders, count, paths, command, NULL);
}

tn_status tn_extract_bags(tn_ctx *ctx, const tn_bags *bags, const tn_encoder *encoder, const char *path,
                          const char *command)
{
    return tn_extract_rows(ctx, NULL, bags, &encoder, 1, &path, command, NULL);
}
