/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mean |x - mean|^2 of rows at hand, or mean |x|^2: times C the variance of scores a priori. */
#include "learn/design/rows.h"
#include "simd/simd.h"

tn_status tnp_spread(tn_ctx *ctx, const float *x, size_t ld, size_t n, size_t dim, bool centred, double *out)
{
    double *sum = NULL, square = 0;
    tn_status st = tnp_alloc(ctx, tnp_max(1, dim), sizeof *sum, &sum);
    for (size_t i = 0; i < n && st == TN_OK; ++i) {
        tnp_simd_get()->add_to_double(x + i * ld, sum, dim);
        square += tnp_simd_get()->sum_squares(x + i * ld, dim);
    }
    for (size_t j = 0; j < dim && centred && st == TN_OK; ++j)
        square -= sum[j] * sum[j] / (double)n;
    *out = square / (double)tnp_max(1, n);
    tnp_free(sum);
    return st;
}
