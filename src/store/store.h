/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one container for everything fitted: a .safetensors file with named tensors and metadata strings. */
#ifndef TNP_STORE_H
#define TNP_STORE_H

#include "read/safetensors.h"
#include "base/text.h"
#include "tenon/matrix.h"

typedef struct tnp_tensor {
    const char *name;
    tn_dtype dtype; /* TN_F32, TN_F64 or TN_U8 */
    size_t shape[2], ndim;
    const void *data;
} tnp_tensor;

typedef struct tnp_meta {
    const char *key, *value;
} tnp_meta;

/* Where a container goes: into the file `path`, written beside and renamed; or, where `bytes` is not NULL, into a block
 * that the caller frees with tn_bytes_free. path is what messages call it. */
typedef struct tnp_store_to {
    const char *path;
    void **bytes;
    size_t *size;
} tnp_store_to;

/* Tensors of wide elements should come first: then all data is aligned to its type. */
tn_status tnp_store_write(tn_ctx *ctx, const tnp_store_to *to, const tnp_meta *meta, size_t meta_count,
                          const tnp_tensor *tensors, size_t tensor_count);
/* The same into a file. */
tn_status tnp_store_save(tn_ctx *ctx, const char *path, const tnp_meta *meta, size_t meta_count,
                         const tnp_tensor *tensors, size_t tensor_count);
/* The same in two parts, for tensors that are too large to be in memory at once: the header is written here, from all
 * but `data`; their bytes in order, commit and close are the caller's. */
tn_status tnp_store_open(tn_ctx *ctx, const char *path, const tnp_meta *meta, size_t meta_count,
                         const tnp_tensor *tensors, size_t tensor_count, tn_output **out);
/* Reads a tensor of just this name, type (TN_F32 or TN_F64) and shape to where its `data` points; values are what
 * `kind` allows. */
tn_status tnp_store_read(tn_ctx *ctx, const tnp_safetensors *file, const tnp_tensor *to, tnp_kind kind);
/* A whole number in [0, end). */
bool tnp_whole_below(double value, double end);
/* "tenon 0.1.0: command", for the metadata created_by; free with tn_text_free. */
tn_status tnp_store_created_by(tn_ctx *ctx, const char *command, char **out);
/* Ends a sidecar, an object that is open, with the ids of its rows (count; NULL: none) and writes it beside the .npy file
 * at path: .json in the place of .npy, or behind the name. */
tn_status tnp_sidecar_save(tn_ctx *ctx, tnp_text *text, const char *const *ids, size_t count, const char *path);

/* tn_npy_writer_open of a file of shape (rows, bag, cols / bag); bag 0: as that. */
typedef struct tn_npy_writer tn_npy_writer;
tn_status tnp_npy_writer_open_bags(tn_ctx *ctx, const char *path, size_t rows, size_t bag, size_t cols,
                                   tn_npy_writer **out);

/* A kind of object. make, called for a container of this format and version, writes to *(object **)out on success. */
typedef struct tnp_store_kind {
    const char *format, *version, *in_memory; /* what messages call bytes that have no name */
    tn_status (*make)(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out);
} tnp_store_kind;

/* The object of a file; of bytes, which `name` or NULL is the name of. */
tn_status tnp_store_load(tn_ctx *ctx, const char *path, const tnp_store_kind *kind, void *out);
tn_status tnp_store_parse(tn_ctx *ctx, const void *bytes, size_t size, const char *name, const tnp_store_kind *kind,
                          void *out);
/* Is an open container of this format (TN_ERR_FORMAT) and of one of these versions, joined by | (TN_ERR_UNSUPPORTED)? */
tn_status tnp_store_check(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *format,
                          const char *version);

#endif
