/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the codes of a product quantiser stand for: the reader of coded representations and the quantiser itself share
 * the table and the one function that decodes. */
#ifndef TNP_CODES_H
#define TNP_CODES_H

#include "base/base.h"
#include "simd/simd.h"
#include "read/safetensors.h"
#include "read/features.h"

/* Values stored as codes, a byte for every `sub` columns. */
typedef struct tnp_codebook {
    size_t dim, sub, groups, count; /* groups = ceil(dim / sub); count: centroids of a group */
    float *table;                   /* group after group (256, columns of the group): a place for every byte there is */
} tnp_codebook;

/* Columns of group g: sub, fewer in the last one. */
static inline size_t tnp_codebook_width(const tnp_codebook *book, size_t g)
{
    return tnp_min(book->sub, book->dim - g * book->sub);
}

/* The centroids of group g: (TNP_CODES, width), compact. */
static inline float *tnp_codebook_group(const tnp_codebook *book, size_t g)
{
    return book->table + g * book->sub * TNP_CODES;
}

/* Sizes and a table full of NaN, which the caller frees. sub is cut to dim. */
tn_status tnp_codebook_new(tn_ctx *ctx, size_t dim, size_t sub, size_t count, tnp_codebook *out);

/* Opener of a file that calls itself tenon-codes, whose header safetensors.c has open. */
tn_status tnp_codes_open(tn_ctx *ctx, tn_features *features, tnp_safetensors *tensors);

/* From an open container: the tensor centroids (count, dim) and the metadata sub. TN_ERR_FORMAT. The caller frees
 * out->table. */
tn_status tnp_codebook_load(tn_ctx *ctx, const tnp_safetensors *file, tnp_codebook *out);

/* The columns of groups [first, first + count) of n rows into out, whose rows have all dim columns. codes are those of
 * these groups, row after row `step` bytes apart. */
void tnp_codes_decode(const tnp_codebook *book, const unsigned char *codes, size_t step, size_t n, size_t first,
                      size_t count, float *out);

#endif
