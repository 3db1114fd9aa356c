/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A .safetensors file: tensors by name and the strings of its __metadata__. Also read by store/, whose
 * heads, quantisers and maps are such files. */
#ifndef TNP_SAFETENSORS_H
#define TNP_SAFETENSORS_H

#include "read/features.h"

typedef struct tnp_safetensors tnp_safetensors;

/* Opens a file and reads its header. Owned by the caller, free with tnp_safetensors_close. TN_ERR_IO,
 * TN_ERR_FORMAT with the byte position, TN_ERR_MEMORY, TN_ERR_BUDGET. */
tn_status tnp_safetensors_load(tn_ctx *ctx, const char *path, tnp_safetensors **out);
/* The same of bytes in memory, which live as long; path is what messages call them. bytes NULL: the file of that path.
 * */
tn_status tnp_safetensors_parse(tn_ctx *ctx, const char *path, const tnp_bytes *bytes, tnp_safetensors **out);
/* NULL is legal. */
void tnp_safetensors_close(tnp_safetensors *file);
const char *tnp_safetensors_path(const tnp_safetensors *file);

/* Tensor by name, checked against the file's length: dtype, ndim, shape, where it begins.
 * TN_ERR_FORMAT when missing or malformed, TN_ERR_UNSUPPORTED for types without a tn_dtype. */
tn_status tnp_safetensors_find(tn_ctx *ctx, const tnp_safetensors *file, const char *name, tnp_array *out);
bool tnp_safetensors_has(const tnp_safetensors *file, const char *name);
/* Metadata string by key, or NULL; borrowed while `file` lives. */
const char *tnp_safetensors_meta(const tnp_safetensors *file, const char *key);
/* Name of tensor i in the file's order, or NULL from their number on. */
const char *tnp_safetensors_name(const tnp_safetensors *file, size_t i);

/* Values of a tensor that must be F32 (narrow) or F64 (wide) and of shape (rows, cols), cols 0: (rows). Those that are
 * not what `kind` allows are refused with their position. */
typedef enum tnp_kind { TNP_FINITE, TNP_NOT_NAN, TNP_ANY } tnp_kind;
tn_status tnp_safetensors_values(tn_ctx *ctx, const tnp_safetensors *file, const char *name, size_t rows, size_t cols,
                                 tnp_kind kind, float *narrow, double *wide);
/* Bytes [offset, offset + size) of a tensor that was found. */
tn_status tnp_safetensors_bytes(tn_ctx *ctx, const tnp_safetensors *file, const tnp_array *array, size_t offset,
                                size_t size, void *out);
/* Hands the open file to features; names and metadata stay, values are theirs to read from then on. */
tn_status tnp_safetensors_give(tn_ctx *ctx, tnp_safetensors *file, tn_features *features, size_t *index);

#endif
