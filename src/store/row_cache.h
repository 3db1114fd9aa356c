/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows that were made of pictures, kept in a folder (row_cache.c). */
#ifndef TNP_ROW_CACHE_H
#define TNP_ROW_CACHE_H

#include "base/base.h"
#include "tenon/read.h"

/* FNV-1a of bytes, on top of a hash before them. */
#define TNP_FNV_START 14695981039346656037u
uint64_t tnp_fnv(uint64_t hash, const void *bytes, size_t size);
/* Of (path, size, time of change) of every picture. TN_ERR_IO: one cannot be looked at. */
tn_status tnp_pictures_hash(tn_ctx *ctx, const tn_pictures *pictures, uint64_t *out);

typedef struct tnp_row_cache {
    char *folder;
    size_t rows, cols, block; /* rows of all, values of a row, rows of a block */
} tnp_row_cache;

/* The folder of those rows, made where it is not there. pictures: tnp_pictures_hash; about: what else the rows depend
 * on. All zero before, tnp_row_cache_close after. TN_ERR_OUTPUT. */
tn_status tnp_row_cache_open(tn_ctx *ctx, const char *cache, uint64_t pictures, const char *about, size_t rows,
                             size_t cols, size_t block, tnp_row_cache *out);
void tnp_row_cache_close(tnp_row_cache *cache);
/* Rows of the block that begins at `first` into out, which may be NULL; *found false: it is not there, or is not what it
 * should be. */
tn_status tnp_row_cache_get(tn_ctx *ctx, const tnp_row_cache *cache, size_t first, float *out, bool *found);
tn_status tnp_row_cache_put(tn_ctx *ctx, const tnp_row_cache *cache, size_t first, const float *values);
/* All of them as features, read from there. TN_ERR_IO: some are missing. */
tn_status tnp_row_cache_features(tn_ctx *ctx, const tnp_row_cache *cache, const char *name, tn_features **out);

#endif
