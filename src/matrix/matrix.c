/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Owned matrices: compact, row-major, zeroed. The data is one aligned block of its own, so that the view of a
 * matrix starts on a cache line. */
#include "tenon/matrix.h"
#include "base/base.h"

tn_status tn_mat_new(tn_ctx *ctx, size_t rows, size_t cols, tn_mat **out)
{
    tn_status st = TN_OK;
    tn_mat *mat = NULL;
    size_t count = 0;
    TN_TRY(tnp_mul(ctx, rows, cols, &count));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *mat, &mat));
    TN_TRY(tnp_alloc(ctx, count, sizeof *mat->data, &mat->data));
    mat->rows = rows;
    mat->cols = cols;
    *out = mat;
    mat = NULL;
done:
    tn_mat_free(mat);
    return st;
}

void tn_mat_free(tn_mat *mat)
{
    if (!mat)
        return;
    tnp_free_all(mat->data, mat);
}

tn_view tn_mat_view(const tn_mat *mat)
{
    return (tn_view){mat->data, mat->rows, mat->cols, mat->cols};
}
