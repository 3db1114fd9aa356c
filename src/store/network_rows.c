/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of networks: into .npy files with a sidecar, or into features; by way of a cache where there is one.
 *
 *   CACHE/KEY/000000.npy 000001.npy ...    blocks of rows, float32; together a folder of shards, read as any other
 *   KEY                                    FNV-1a of (path, size, time of change) of every picture, of the rows of a
 *                                          block, and of the network's hash, layer and preparation: 16 hexadecimal digits
 *
 * A block is written beside and renamed: it is there whole or not at all, and two programs that make the same one write
 * the same bytes. What a killed run finished stays. The rows of a block depend on nothing but its number, so an output
 * that was interrupted comes out the same the next time.
 *
 * Contents of pictures are not hashed: that would read all of them before the first is used. A picture that is replaced
 * by one of the same size and time of change is taken for the old one, as make does. */
#define _POSIX_C_SOURCE 200809L
#include "base/text.h"
#include "describe/net/network.h"
#include "read/features.h"
#include "read/pictures/list.h"
#include "store/store.h"
#include "tenon/store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_ROWS = 256, BLOCK_BYTES = 64 << 20 };

typedef struct work {
    const tn_pictures *pictures;
    const tn_network *const *networks;
    size_t count, rows;
    size_t block;   /* rows of one */
    char **folders; /* (count): of the cache; NULL: there is none */
    float **values; /* (count): one block of rows */
    tnp_share whole;
} work;

/* Who gets the blocks: network k, rows [first, first + count). */
typedef tn_status sink(tn_ctx *ctx, void *arg, size_t k, size_t first, size_t count, const float *values);

/* ---- the cache ---- */

static tn_status make_folder(tn_ctx *ctx, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: cannot make this folder: %s", path, strerror(errno));
}

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ b[i]) * 1099511628211u;
    return hash;
}

static tn_status hash_pictures(tn_ctx *ctx, const tn_pictures *pictures, uint64_t *out)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < pictures->count; ++i) {
        const char *path = pictures->files[i].path;
        struct stat about;
        if (stat(path, &about) != 0)
            return tnp_fail(ctx, TN_ERR_IO, "%s: %s", path, strerror(errno));
        const int64_t facts[] = {(int64_t)about.st_size, (int64_t)about.st_mtim.tv_sec, (int64_t)about.st_mtim.tv_nsec};
        hash = hash_more(hash, path, strlen(path) + 1);
        hash = hash_more(hash, facts, sizeof facts);
    }
    *out = hash;
    return TN_OK;
}

/* Folders of all networks, made. What `about` says behind the path of the network is what rows depend on. */
static tn_status open_cache(tn_ctx *ctx, work *w, const char *cache)
{
    tn_status st = TN_OK;
    uint64_t pictures = 0;
    TN_TRY(make_folder(ctx, cache));
    TN_TRY(hash_pictures(ctx, w->pictures, &pictures));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof(char *), &w->folders));
    for (size_t k = 0; k < w->count; ++k) {
        const char *whole = tn_network_about(w->networks[k]), *hash = strstr(whole, "\",\"hash\":\"");
        const char *about = hash ? hash : whole;
        size_t size = strlen(cache) + 20;
        TN_TRY(tnp_alloc(ctx, size, 1, &w->folders[k]));
        uint64_t key = hash_more(hash_more(pictures, &w->block, sizeof w->block), about, strlen(about));
        snprintf(w->folders[k], size, "%s/%016" PRIx64, cache, key);
        TN_TRY(make_folder(ctx, w->folders[k]));
    }
done:
    return st;
}

static tn_status block_path(tn_ctx *ctx, const work *w, size_t k, size_t first, char **out)
{
    size_t size = strlen(w->folders[k]) + 32;
    tn_status st = tnp_alloc(ctx, size, 1, out);
    if (st == TN_OK)
        snprintf(*out, size, "%s/%06zu.npy", w->folders[k], first / w->block);
    return st;
}

/* The rows of a block that is in the cache; *found false: it is not, or is not what it should be. */
static tn_status get_block(tn_ctx *ctx, const work *w, size_t k, size_t first, size_t count, bool *found)
{
    tn_status st = TN_OK;
    char *path = NULL;
    tn_features *features = NULL;
    size_t cols = tnp_network_values(w->networks[k]);
    struct stat about;
    *found = false;
    if (!w->folders)
        return TN_OK;
    TN_TRY(block_path(ctx, w, k, first, &path));
    if (stat(path, &about) != 0 || tn_features_open(ctx, path, &features) != TN_OK)
        goto done;
    *found = features->rows == count && features->cols == cols && features->dtype == TN_F32;
    if (*found)
        TN_TRY(tn_features_read(ctx, features, NULL, 0, count, 0, cols, w->values[k]));
done:
    tn_features_close(features);
    tnp_free(path);
    return st;
}

static tn_status put_block(tn_ctx *ctx, const work *w, size_t k, size_t first, size_t count)
{
    tn_status st = TN_OK;
    char *path = NULL;
    tn_npy_writer *writer = NULL;
    TN_TRY(block_path(ctx, w, k, first, &path));
    TN_TRY(tn_npy_writer_open(ctx, path, count, tnp_network_values(w->networks[k]), &writer));
    TN_TRY(tn_npy_writer_rows(ctx, writer, w->values[k], count));
    TN_TRY(tn_npy_writer_commit(ctx, writer));
done:
    tn_npy_writer_close(writer);
    tnp_free(path);
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
        TN_TRY(open_cache(ctx, w, cache));
done:
    return st;
}

static void end(work *w)
{
    for (size_t k = 0; k < w->count; ++k) {
        if (w->folders)
            tnp_free(w->folders[k]);
        if (w->values)
            tnp_free(w->values[k]);
    }
    tnp_free(w->folders);
    tnp_free(w->values);
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
    tnp_free(networks);
    tnp_free(rows);
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
        for (size_t k = 0; k < w->count; ++k)
            TN_TRY(get_block(ctx, w, k, first, count, &found[k]));
        TN_TRY(compute(ctx, w, found, first, count));
        for (size_t k = 0; k < w->count; ++k) {
            if (w->folders && !found[k])
                TN_TRY(put_block(ctx, w, k, first, count));
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
    if (!w->folders)
        TN_TRY(tnp_alloc_raw(ctx, values, sizeof(float), &(*out)->owned));
done:
    return st;
}

static tn_status finish_features(tn_ctx *ctx, const work *w, size_t k, const char *name, tn_features **features)
{
    tn_status st = TN_OK;
    if (w->folders) {
        tn_features_close(*features);
        *features = NULL;
        TN_TRY(tnp_features_open_path(ctx, w->folders[k], name, features));
        if ((*features)->rows != w->rows)
            TN_TRY(tnp_fail(ctx, TN_ERR_IO, "%s: %zu rows in the cache, expected %zu", w->folders[k], (*features)->rows,
                            w->rows));
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
