/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of pictures that are kept:
 *
 *   CACHE/KEY/000000.npy 000001.npy ...    blocks of rows, float32; together a folder of shards, read as any other
 *   KEY                                    FNV-1a of (path, size, time of change) of every picture, of the rows of a
 *                                          block, and of what made the rows: 16 hexadecimal digits
 *
 * A block is written beside and renamed: it is there whole or not at all, and two programs that make the same one write
 * the same bytes. What a killed run finished stays. The rows of a block depend on nothing but its number, so an output
 * that was interrupted comes out the same the next time. Of a team rank 0 writes them, and all others wait for that
 * before they read.
 *
 * Contents of pictures are not hashed: that would read all of them before the first is used. A picture that is replaced
 * by one of the same size and time of change is taken for the old one, as make does. */
#define _POSIX_C_SOURCE 200809L
#include "store/row_cache.h"

#include "base/team.h"

#include "read/features.h"
#include "read/pictures/list.h"
#include "tenon/store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

uint64_t tnp_fnv(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ b[i]) * 1099511628211u;
    return hash;
}

tn_status tnp_pictures_hash(tn_ctx *ctx, const tn_pictures *pictures, uint64_t *out)
{
    uint64_t hash = TNP_FNV_START;
    for (size_t i = 0; i < pictures->count; ++i) {
        const char *path = pictures->files[i].path;
        struct stat about;
        if (stat(path, &about) != 0)
            return tnp_fail(ctx, TN_ERR_IO, "%s: %s", path, strerror(errno));
        const int64_t facts[] = {(int64_t)about.st_size, (int64_t)about.st_mtim.tv_sec, (int64_t)about.st_mtim.tv_nsec};
        hash = tnp_fnv(hash, path, strlen(path) + 1);
        hash = tnp_fnv(hash, facts, sizeof facts);
    }
    *out = hash;
    return TN_OK;
}

static tn_status make_folder(tn_ctx *ctx, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: cannot make this folder: %s", path, strerror(errno));
}

tn_status tnp_row_cache_open(tn_ctx *ctx, const char *cache, uint64_t pictures, const char *about, size_t rows,
                             size_t cols, size_t block, tnp_row_cache *out)
{
    tn_status st = TN_OK;
    size_t size = strlen(cache) + 20;
    uint64_t key = tnp_fnv(tnp_fnv(pictures, &block, sizeof block), about, strlen(about));
    *out = (tnp_row_cache){.rows = rows, .cols = cols, .block = block};
    TN_TRY(tnp_alloc(ctx, size, 1, &out->folder));
    snprintf(out->folder, size, "%s/%016" PRIx64, cache, key);
    TN_TRY(make_folder(ctx, cache));
    TN_TRY(make_folder(ctx, out->folder));
done:
    return st;
}

void tnp_row_cache_close(tnp_row_cache *cache)
{
    tnp_free(cache->folder);
    cache->folder = NULL;
}

static tn_status block_path(tn_ctx *ctx, const tnp_row_cache *c, size_t first, char **out)
{
    size_t size = strlen(c->folder) + 32;
    tn_status st = tnp_alloc(ctx, size, 1, out);
    if (st == TN_OK)
        snprintf(*out, size, "%s/%06zu.npy", c->folder, first / c->block);
    return st;
}

tn_status tnp_row_cache_get(tn_ctx *ctx, const tnp_row_cache *c, size_t first, float *out, bool *found)
{
    tn_status st = TN_OK;
    char *path = NULL;
    tn_features *features = NULL;
    size_t count = tnp_min(c->block, c->rows - first);
    struct stat about;
    *found = false;
    TN_TRY(block_path(ctx, c, first, &path));
    if (stat(path, &about) != 0 || tn_features_open(ctx, path, &features) != TN_OK)
        goto done;
    *found = features->rows == count && features->cols == c->cols && features->dtype == TN_F32;
    if (*found && out)
        TN_TRY(tn_features_read(ctx, features, NULL, 0, count, 0, c->cols, out));
done:
    tn_features_close(features);
    tnp_free(path);
    return st;
}

tn_status tnp_row_cache_put(tn_ctx *ctx, const tnp_row_cache *c, size_t first, const float *values)
{
    tn_status st = TN_OK;
    char *path = NULL;
    tn_npy_writer *writer = NULL;
    size_t count = tnp_min(c->block, c->rows - first);
    TN_TRY(block_path(ctx, c, first, &path));
    TN_TRY(tn_npy_writer_open(ctx, path, count, c->cols, &writer));
    TN_TRY(tn_npy_writer_rows(ctx, writer, values, count));
    TN_TRY(tn_npy_writer_commit(ctx, writer));
done:
    tn_npy_writer_close(writer);
    tnp_free(path);
    return st;
}

tn_status tnp_row_cache_features(tn_ctx *ctx, const tnp_row_cache *c, const char *name, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    TN_TRY(tnp_team_same(ctx, c->folder, &c->rows, sizeof c->rows));
    TN_TRY(tnp_features_open_path(ctx, c->folder, name, &features));
    if (features->rows != c->rows)
        TN_TRY(tnp_fail(ctx, TN_ERR_IO, "%s: %zu rows in the cache, expected %zu", c->folder, features->rows, c->rows));
    *out = features;
    features = NULL;
done:
    tn_features_close(features);
    return st;
}
