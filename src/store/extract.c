/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures and bags to vectors: into .npy files, one per encoder, with a sidecar of what they are; or into features in
 * memory, for what reads its rows many times. One pass over the pictures: each is decoded once, and described once for
 * all encoders that describe alike.
 *
 *   FILE.npy    rows x columns, float32       FILE.json    {"format":"tenon-rows","rows":N,"cols":D,"created_by":..,
 *                                                           "encoder":{"name":..,"hash":..,"kind":..},"ids":[..]}
 *
 * The hash is FNV-1a, 64 bits, of the encoder's tensors and settings as they are saved: it tells encoders apart, not
 * forgeries. */
#include "encode/encoder.h"
#include "base/text.h"
#include "read/features.h"
#include "read/pictures/list.h"
#include "store/store.h"
#include "tenon/store.h"

#include <inttypes.h>
#include <string.h>

/* ---- one row of every encoder ---- */

typedef struct extraction {
    const tn_encoder *const *encoders;
    size_t count;
    tnp_bag_stream stream;
    tnp_described *described; /* (count): what an encoder's own describer made; one that is shared stays empty */
    float **rows;             /* (count): a vector each */
} extraction;

static bool alike(const tnp_describer *a, const tnp_describer *b)
{
    return a->kind == b->kind && a->step == b->step && a->contrast == b->contrast && a->side_count == b->side_count &&
           memcmp(a->sides, b->sides, a->side_count * sizeof *a->sides) == 0;
}

/* The encoder before e, or e itself, whose descriptors it can use. */
static size_t describes_for(const extraction *x, size_t e)
{
    size_t first = 0;
    while (!alike(&x->encoders[first]->describer, &x->encoders[e]->describer))
        ++first;
    return first;
}

static tn_status encode_picture(tn_ctx *ctx, extraction *x, size_t i)
{
    tn_status st = TN_OK;
    const tn_picture *picture = NULL;
    TN_TRY(tnp_bag_stream_picture(ctx, &x->stream, i, &picture));
    for (size_t e = 0; e < x->count; ++e) {
        size_t from = describes_for(x, e);
        tnp_described *d = x->described + from;
        if (from == e)
            TN_TRY(tnp_describe(ctx, &x->encoders[e]->describer, picture, d));
        TN_TRY(tnp_encode(ctx, x->encoders[e], d->descriptors, d->positions, d->count, x->rows[e]));
    }
done:
    return st;
}

static tn_status encode_bag(tn_ctx *ctx, extraction *x, size_t i)
{
    tn_status st = TN_OK;
    tnp_bag bag;
    TN_TRY(tnp_bag_stream_get(ctx, &x->stream, i, &bag));
    size_t dim = x->stream.dim;
    tn_view places = {bag.places, bag.rows, 3, 3};
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(tn_encoder_encode(ctx, x->encoders[e], (tn_view){bag.x, bag.rows, dim, dim}, places, x->rows[e]));
done:
    return st;
}

static tn_status check(tn_ctx *ctx, const tn_encoder *const *encoders, size_t count, bool pictures)
{
    if (count == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "extract: no encoder");
    for (size_t e = 0; e < count; ++e) {
        if (pictures && !encoders[e]->describer.kind)
            return tnp_fail(ctx, TN_ERR_ARG, "extract: encoder %zu was trained on bags and does not know pictures", e);
        if (e > 0 && pictures &&
            (encoders[e]->picture.pixels != encoders[0]->picture.pixels ||
             encoders[e]->picture.side != encoders[0]->picture.side))
            return tnp_fail(ctx, TN_ERR_ARG,
                            "extract: encoders 0 and %zu want pictures of different sizes; extract them apart", e);
    }
    return TN_OK;
}

static tn_status begin(tn_ctx *ctx, const tn_pictures *pictures, const tn_bags *bags, extraction *x)
{
    tn_status st = TN_OK;
    TN_TRY(check(ctx, x->encoders, x->count, pictures != NULL));
    TN_TRY(tnp_alloc(ctx, x->count, sizeof *x->described, &x->described));
    TN_TRY(tnp_alloc(ctx, x->count, sizeof *x->rows, &x->rows));
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(tnp_alloc(ctx, tn_encoder_cols(x->encoders[e]), sizeof(float), &x->rows[e]));
    if (pictures)
        TN_TRY(
            tnp_bag_stream_pictures(ctx, pictures, &x->encoders[0]->describer, &x->encoders[0]->picture, &x->stream));
    else
        TN_TRY(tnp_bag_stream_bags(ctx, bags, &x->stream));
    x->stream.picture.on_error = TNP_ON_ERROR_STOP; /* rows are promised */
done:
    return st;
}

static void end(extraction *x)
{
    for (size_t e = 0; e < x->count; ++e) {
        if (x->described)
            tnp_described_free(x->described + e);
        if (x->rows)
            tnp_free(x->rows[e]);
    }
    tnp_free(x->described);
    tnp_free(x->rows);
    tnp_bag_stream_close(&x->stream);
}

static tn_status encode_row(tn_ctx *ctx, extraction *x, size_t i)
{
    return x->stream.pictures ? encode_picture(ctx, x, i) : encode_bag(ctx, x, i);
}

/* ---- the sidecar ---- */

static tn_status hash_of(tn_ctx *ctx, const tn_encoder *encoder, uint64_t *out)
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

/* path with .json in the place of .npy, or behind it. */
static tn_status sidecar_path(tn_ctx *ctx, const char *path, char **out)
{
    size_t n = strlen(path), cut = n > 4 && strcmp(path + n - 4, ".npy") == 0 ? n - 4 : n;
    tn_status st = tnp_alloc(ctx, cut + 6, 1, out);
    if (st == TN_OK)
        snprintf(*out, cut + 6, "%.*s.json", (int)cut, path);
    return st;
}

static tn_status write_sidecar(tn_ctx *ctx, const extraction *x, size_t e, const char *path, const char *command)
{
    tn_status st = TN_OK;
    const tn_encoder *encoder = x->encoders[e];
    const char *const *ids = x->stream.pictures ? tn_pictures_ids(x->stream.pictures) : tn_bags_ids(x->stream.bags);
    char *created = NULL, *name = NULL, hash[20];
    uint64_t number = 0;
    tnp_text text;
    tnp_text_init(&text, ctx);
    TN_TRY(hash_of(ctx, encoder, &number));
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    TN_TRY(sidecar_path(ctx, path, &name));
    snprintf(hash, sizeof hash, "%016" PRIx64, number);
    tnp_text_add(&text, "{\"format\":\"tenon-rows\",\"rows\":%zu,\"cols\":%zu,\"created_by\":", x->stream.count,
                 tn_encoder_cols(encoder));
    tnp_text_quote(&text, created);
    tnp_text_add(&text, ",\"encoder\":{\"kind\":\"%s\",\"descriptor\":", tn_encoder_kind(encoder));
    tnp_text_quote(&text, tn_encoder_descriptor(encoder) ? tn_encoder_descriptor(encoder) : "");
    tnp_text_add(&text, ",\"words\":%zu,\"pyramid\":\"%s\",\"hash\":\"%s\"}", tn_encoder_words(encoder),
                 tn_encoder_pyramid(encoder), hash);
    if (ids) {
        tnp_text_add(&text, ",\"ids\":");
        tnp_text_quotes(&text, ids, x->stream.count);
    }
    tnp_text_add(&text, "}\n");
    TN_TRY(tnp_text_save(&text, name));
done:
    tnp_text_destroy(&text);
    tn_text_free(created);
    tnp_free(name);
    return st;
}

/* ---- files ---- */

static tn_status write_rows(tn_ctx *ctx, extraction *x, tn_npy_writer **writers, const char *const *paths)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_begin(ctx);
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(tn_npy_writer_open(ctx, paths[e], x->stream.count, tn_encoder_cols(x->encoders[e]), &writers[e]));
    for (size_t i = 0; i < x->stream.count; ++i) {
        TN_TRY(tnp_progress_step(ctx, whole, "extract", i, x->stream.count));
        TN_TRY(encode_row(ctx, x, i));
        for (size_t e = 0; e < x->count; ++e)
            TN_TRY(tn_npy_writer_rows(ctx, writers[e], x->rows[e], 1));
    }
    TN_TRY(tnp_progress_end(ctx));
done:
    return st;
}

static tn_status extract(tn_ctx *ctx, const tn_pictures *pictures, const tn_bags *bags,
                         const tn_encoder *const *encoders, size_t count, const char *const *paths, const char *command)
{
    tn_status st = TN_OK;
    extraction x = {.encoders = encoders, .count = count};
    tn_npy_writer **writers = NULL;
    TN_TRY(begin(ctx, pictures, bags, &x));
    TN_TRY(tnp_alloc(ctx, count, sizeof(tn_npy_writer *), &writers));
    TN_TRY(write_rows(ctx, &x, writers, paths));
    for (size_t e = 0; e < count; ++e) {
        TN_TRY(write_sidecar(ctx, &x, e, paths[e], command));
        TN_TRY(tn_npy_writer_commit(ctx, writers[e]));
    }
done:
    for (size_t e = 0; writers && e < count; ++e)
        tn_npy_writer_close(writers[e]);
    tnp_free(writers);
    end(&x);
    return st;
}

tn_status tn_extract(tn_ctx *ctx, const tn_pictures *pictures, const tn_encoder *const *encoders, size_t count,
                     const char *const *paths, const char *command)
{
    return extract(ctx, pictures, NULL, encoders, count, paths, command);
}

tn_status tn_extract_bags(tn_ctx *ctx, const tn_bags *bags, const tn_encoder *encoder, const char *path,
                          const char *command)
{
    return extract(ctx, NULL, bags, &encoder, 1, &path, command);
}

/* ---- features ---- */

static tn_status encode_all(tn_ctx *ctx, const tn_pictures *pictures, const tn_encoder *encoder, float *out)
{
    tn_status st = TN_OK;
    extraction x = {.encoders = &encoder, .count = 1};
    size_t cols = tn_encoder_cols(encoder);
    tnp_share whole = tnp_progress_begin(ctx);
    TN_TRY(begin(ctx, pictures, NULL, &x));
    for (size_t i = 0; i < x.stream.count; ++i) {
        TN_TRY(tnp_progress_step(ctx, whole, "encode", i, x.stream.count));
        TN_TRY(encode_row(ctx, &x, i));
        memcpy(out + i * cols, x.rows[0], cols * sizeof *out);
    }
    TN_TRY(tnp_progress_end(ctx));
done:
    end(&x);
    return st;
}

tn_status tn_features_from_pictures(tn_ctx *ctx, const char *name, const tn_pictures *pictures,
                                    const tn_encoder *encoder, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    size_t rows = tn_pictures_count(pictures), cols = tn_encoder_cols(encoder), values = 0;
    TN_TRY(tnp_features_new(ctx, name, name, &features));
    TN_TRY(tnp_mul(ctx, rows, cols, &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof(float), &features->owned));
    TN_TRY(encode_all(ctx, pictures, encoder, features->owned));
    TN_TRY(tnp_features_own(ctx, features, TN_F32, rows, cols));
    features->format = "pictures";
    features->from_memory = true;
    TN_TRY(tn_features_set_ids(ctx, features, tn_pictures_ids(pictures)));
    *out = features;
    features = NULL;
done:
    tn_features_close(features);
    return st;
}
