/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A .safetensors file: tensors by name and the strings of its __metadata__. Also read by the report stage, whose
 * heads, encoders and kernels are such files. */
#ifndef TNP_SAFETENSORS_H
#define TNP_SAFETENSORS_H

#include "read/source.h"

typedef struct tnp_safetensors tnp_safetensors;

/* Maps a file and reads its header. Owned by the caller, free with tnp_safetensors_close. TN_ERR_IO,
 * TN_ERR_FORMAT with the byte position, TN_ERR_MEMORY. */
tn_status tnp_safetensors_load(tn_ctx *ctx, const char *path, tnp_safetensors **out);
void tnp_safetensors_close(tnp_safetensors *file);

/* Tensor by name, checked against the file's length: dtype, ndim, shape, data (borrowed while `file` lives).
 * TN_ERR_FORMAT when missing or malformed, TN_ERR_UNSUPPORTED for types without a tn_dtype. */
tn_status tnp_safetensors_find(tn_ctx *ctx, const tnp_safetensors *file, const char *name, tnp_array *out);
bool tnp_safetensors_has(const tnp_safetensors *file, const char *name);
/* Metadata string by key, or NULL; borrowed while `file` lives. */
const char *tnp_safetensors_meta(const tnp_safetensors *file, const char *key);
/* Name of tensor i in the file's order, or NULL from their number on. */
const char *tnp_safetensors_name(const tnp_safetensors *file, size_t i);
/* The whole file, borrowed while `file` lives. */
const tnp_map *tnp_safetensors_bytes(const tnp_safetensors *file);
/* TN_ERR_IO when the file is shorter now than when it was mapped; ask before values are read. */
tn_status tnp_safetensors_still_there(tn_ctx *ctx, const tnp_safetensors *file);

#endif
