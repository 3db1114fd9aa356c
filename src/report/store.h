/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one container for everything fitted: a .safetensors file with named tensors and metadata strings. */
#ifndef TNP_STORE_H
#define TNP_STORE_H

#include "read/safetensors.h"
#include "report/text.h"
#include "tenon/matrix.h"

typedef struct tnp_tensor {
    const char *name;
    tn_dtype dtype; /* TN_F32 or TN_F64 */
    size_t shape[2], ndim;
    const void *data;
} tnp_tensor;

typedef struct tnp_meta {
    const char *key, *value;
} tnp_meta;

/* Writes beside and renames. Double tensors should come first: then all data is aligned to its type. */
tn_status tnp_store_save(tn_ctx *ctx, const char *path, const tnp_meta *meta, size_t meta_count,
                         const tnp_tensor *tensors, size_t tensor_count);
/* Is an open container of this format (TN_ERR_FORMAT) and version (TN_ERR_UNSUPPORTED)? */
tn_status tnp_store_check(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *format,
                          const char *version);

#endif
