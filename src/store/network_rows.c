/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of networks: into .npy files with a sidecar, or into features; by way of a cache (row_cache.c) where there is
 * one. */
#define _POSIX_C_SOURCE 200809L
#include "base/text.h"
#include "describe/net/network.h"
#include "read/features.h"
#include "store/row_cache.h"
#include "store/store.h"
#include "tenon/store.h"

#include <string.h>

enum { BLOCK_ROWS = 256, BLOCK_BYTES = 64 << 20 };

typedef struct work {
    const tn_pictures *pictures;
    const tn_network *const *networks;
    size_t count, rows;
    size_t block;          /* rows of one */
    tnp_row_cache *caches; /* (count); NULL: there are none */
    float **values;        /* (count): one block of rows */
    tnp_share whole;
} work;

/* Who gets the blocks: network k, rows [first, first + count). */
typedef tn_status sink(tn_ctx *ctx, void *arg, size_t k, size_t first, size_t count, const float *values);

/* Caches of all networks. What `about` says behind the path of the network is what rows depend on. */
static tn_status open_caches(tn_ctx *ctx, work *w, const char *cache)
{
    tn_status st = TN_OK;
    uint64_t pictures = 0;
    TN_TRY(tnp_pictures_hash(ctx, w->pictures, &pictures));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof *w->caches, &w->caches));
    for (size_t k = 0; k < w->count; ++k) {
        const char *whole = tn_network_about(w->networks[k]), *hash = strstr(whole, "\",\"hash\":\"");
        TN_TRY(tnp_row_cache_open(ctx, cache, pictures, hash ? hash : whole, w->rows,
                                  tnp_network_values(w->networks[k]), w->block, &w->caches[k]));
    }
done:
    return st;
}

/* ---- all rows, block by block ---- */

static tn_status begin(tn_ctx *ctx, const char *cache, work *w)
{
    tn_status st = TN_OK;
    size_t widest = 1;
    if (w->count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "networks: none given"));
    w->rows = tn_pictures_count(w->pictures);
    for (size_t k = 0; k < w->count; ++k)
        widest = tnp_max(widest, tnp_network_values(w->networks[k]));
    w->block = tnp_min(BLOCK_ROWS, tnp_max(1, BLOCK_BYTES / (widest * sizeof(float))));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof(float *), &w->values));
    for (size_t k = 0; k < w->count; ++k)
        TN_TRY(tnp_alloc_raw(ctx, tnp_min(w->block, w->rows) * tnp_network_values(w->networks[k]), sizeof(float),
                             &w->values[k]));
    if (cache)
        TN_TRY(open_caches(ctx, w, cache));
done:
    return st;
}

static void end(work *w)
{
    for (size_t k = 0; k < w->count; ++k) {
        if (w->caches)
            tnp_row_cache_close(&w->caches[k]);
        if (w->values)
            tnp_free(w->values[k]);
    }
    tnp_free_all(w->caches, w->values);
}

/* Rows [first, first + count) by those networks whose block is not there. */
static tn_status compute(tn_ctx *ctx, work *w, const bool *found, size_t first, size_t count)
{
    tn_status st = TN_OK;
    size_t n = 0, some = tnp_networks_block(ctx);
    const tn_network **networks = NULL;
    float **rows = NULL;
    TN_TRY(tnp_alloc(ctx, w->count, sizeof(tn_network *), &networks));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof(float *), &rows));
    for (size_t k = 0; k < w->count; ++k)
        if (!found[k])
            networks[n++] = w->networks[k];
    for (size_t at = 0; n != 0 && at < count; at += some) {
        TN_TRY(tnp_progress_step(ctx, w->whole, "networks", first + at, w->rows));
        for (size_t k = 0, i = 0; k < w->count; ++k)
            if (!found[k])
                rows[i++] = w->values[k] + at * tnp_network_values(w->networks[k]);
        TN_TRY(tnp_networks_rows(ctx, networks, n, w->pictures, first + at, tnp_min(some, count - at), rows));
    }
done:
    tnp_free_all(networks, rows);
    return st;
}

static tn_status each_block(tn_ctx *ctx, work *w, sink *use, void *arg)
{
    tn_status st = TN_OK;
    bool *found = NULL;
    w->whole = tnp_progress_begin(ctx);
    TN_TRY(tnp_alloc(ctx, w->count, sizeof *found, &found));
    for (size_t first = 0; first < w->rows; first += w->block) {
        size_t count = tnp_min(w->block, w->rows - first);
        for (size_t k = 0; w->caches && k < w->count; ++k)
            TN_TRY(tnp_row_cache_get(ctx, &w->caches[k], first, w->values[k], &found[k]));
        TN_TRY(compute(ctx, w, found, first, count));
        for (size_t k = 0; k < w->count; ++k) {
            if (w->caches && !found[k])
                TN_TRY(tnp_row_cache_put(ctx, &w->caches[k], first, w->values[k]));
            TN_TRY(use(ctx, arg, k, first, count, w->values[k]));
        }
    }
    TN_TRY(tnp_progress_end(ctx));
done:
    tnp_free(found);
    return st;
}

/* ---- files ---- */

typedef struct outputs {
    tn_npy_writer **writers;
} outputs;

static tn_status write_block(tn_ctx *ctx, void *arg, size_t k, size_t first, size_t count, const float *values)
{
    (void)first;
    return tn_npy_writer_rows(ctx, ((outputs *)arg)->writers[k], values, count);
}

static tn_status write_sidecar(tn_ctx *ctx, const work *w, size_t k, const char *path, const char *command)
{
    tn_status st = TN_OK;
    char *created = NULL;
    tnp_text text;
    tnp_text_init(&text, ctx);
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    tnp_text_add(&text, "{\"format\":\"tenon-rows\",\"rows\":%zu,\"cols\":%zu,\"bag\":%zu,\"created_by\":", w->rows,
                 tn_network_cols(w->networks[k]), tn_network_bag(w->networks[k]));
    tnp_text_quote(&text, created);
    tnp_text_add(&text, ",\"network\":");
    tnp_text_raw(&text, tn_network_about(w->networks[k]));
    TN_TRY(tnp_sidecar_save(ctx, &text, tn_pictures_ids(w->pictures), w->rows, path));
done:
    tnp_text_destroy(&text);
    tn_text_free(created);
    return st;
}

tn_status tn_extract_networks(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *const *networks, size_t count,
                              const char *const *paths, const char *cache, const char *command)
{
    tn_status st = TN_OK;
    work w = {.pictures = pictures, .networks = networks, .count = count};
    outputs out = {NULL};
    TN_TRY(begin(ctx, cache, &w));
    TN_TRY(tnp_alloc(ctx, count, sizeof(tn_npy_writer *), &out.writers));
    for (size_t k = 0; k < count; ++k)
        TN_TRY(tnp_npy_writer_open_bags(ctx, paths[k], w.rows, tn_network_bag(networks[k]),
                                        tnp_network_values(networks[k]), &out.writers[k]));
    TN_TRY(each_block(ctx, &w, write_block, &out));
    for (size_t k = 0; k < count; ++k) {
        TN_TRY(write_sidecar(ctx, &w, k, paths[k], command));
        TN_TRY(tn_npy_writer_commit(ctx, out.writers[k]));
    }
done:
    for (size_t k = 0; out.writers && k < count; ++k)
        tn_npy_writer_close(out.writers[k]);
    tnp_free(out.writers);
    end(&w);
    return st;
}

/* ---- features ---- */

typedef struct kept {
    const work *work;
    tn_features **features;
} kept;

static tn_status keep_block(tn_ctx *ctx, void *arg, size_t k, size_t first, size_t count, const float *values)
{
    (void)ctx;
    const kept *to = arg;
    float *all = to->features[k]->owned;
    size_t cols = tn_network_cols(to->work->networks[k]);
    if (all)
        memcpy(all + first * cols, values, count * cols * sizeof *values);
    return TN_OK;
}

/* Features without values yet; those of a cache are opened when it is full. */
static tn_status make_features(tn_ctx *ctx, const work *w, size_t k, const char *name, tn_features **out)
{
    tn_status st = TN_OK;
    size_t cols = tn_network_cols(w->networks[k]), values = 0;
    if (tn_network_bag(w->networks[k]) != 0)
        TN_TRY(
            tnp_fail(ctx, TN_ERR_ARG, "%s: option as bag makes bags, no rows; extract them, and encode those", name));
    TN_TRY(tnp_features_new(ctx, name, name, out));
    TN_TRY(tnp_mul(ctx, w->rows, cols, &values));
    if (!w->caches)
        TN_TRY(tnp_alloc_raw(ctx, values, sizeof(float), &(*out)->owned));
done:
    return st;
}

static tn_status finish_features(tn_ctx *ctx, const work *w, size_t k, const char *name, tn_features **features)
{
    tn_status st = TN_OK;
    if (w->caches) {
        tn_features_close(*features);
        *features = NULL;
        TN_TRY(tnp_row_cache_features(ctx, &w->caches[k], name, features));
    } else {
        TN_TRY(tnp_features_own(ctx, *features, TN_F32, w->rows, tn_network_cols(w->networks[k])));
        (*features)->format = "pictures";
        (*features)->from_memory = true;
    }
    TN_TRY(tn_features_set_ids(ctx, *features, tn_pictures_ids(w->pictures)));
    TN_TRY(tn_features_set_about(ctx, *features, tn_network_about(w->networks[k])));
done:
    return st;
}

tn_status tn_features_from_networks(tn_ctx *ctx, const char *const *names, const tn_pictures *pictures,
                                    const tn_network *const *networks, size_t count, const char *cache,
                                    tn_features **out)
{
    tn_status st = TN_OK;
    work w = {.pictures = pictures, .networks = networks, .count = count};
    tn_features **features = NULL;
    TN_TRY(tnp_alloc(ctx, count, sizeof(tn_features *), &features));
    TN_TRY(begin(ctx, cache, &w));
    for (size_t k = 0; k < count; ++k)
        TN_TRY(make_features(ctx, &w, k, names[k], &features[k]));
    TN_TRY(each_block(ctx, &w, keep_block, &(kept){&w, features}));
    for (size_t k = 0; k < count; ++k)
        TN_TRY(finish_features(ctx, &w, k, names[k], &features[k]));
    memcpy(out, features, count * sizeof *out);
    memset(features, 0, count * sizeof *features);
done:
    for (size_t k = 0; features && k < count; ++k)
        tn_features_close(features[k]);
    tnp_free(features);
    end(&w);
    return st;
}
