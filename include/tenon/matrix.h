/* SPDX-License-Identifier: BSD-3-Clause
 *
 * THE statement of layout: matrices are row-major, rows are samples, stride is counted in elements.
 * tn_view borrows and never frees; tn_mat owns and always frees. Features and scores are float; sums, moments
 * and factorizations inside the library are double. */
#ifndef TENON_MATRIX_H
#define TENON_MATRIX_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_view {
    const float *data;
    size_t rows, cols, stride;
} tn_view;

typedef struct tn_mat {
    float *data; /* rows * cols, compact */
    size_t rows, cols;
} tn_mat;

/* A zeroed matrix, owned by the caller, free with tn_mat_free. TN_ERR_MEMORY, TN_ERR_BUDGET. */
TN_API tn_status tn_mat_new(tn_ctx *ctx, size_t rows, size_t cols, tn_mat **out);
TN_API void tn_mat_free(tn_mat *mat);
/* The whole matrix, borrowed while `mat` lives. */
TN_API tn_view tn_mat_view(const tn_mat *mat);

/* Element types that files hold. */
typedef enum tn_dtype {
    TN_F16,
    TN_BF16,
    TN_F32,
    TN_F64,
    TN_I8,
    TN_U8,
    TN_I16,
    TN_U16,
    TN_I32,
    TN_U32,
    TN_I64,
    TN_U64,
    TN_BOOL
} tn_dtype;

/* Bytes of one element; its name as NumPy prints it, "float16". */
TN_API size_t tn_dtype_size(tn_dtype type);
TN_API const char *tn_dtype_name(tn_dtype type);

#ifdef __cplusplus
}
#endif
#endif
