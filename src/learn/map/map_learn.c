/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared part of many machines' weights (Kobayashi, BMVC 2016). Task c has weights V_c (M, D) on the functions of
 * every entry; with V_c = B V'_c, because the machines were trained on B'f:
 *
 *   A = sum_c V_c V_c' = B (sum_c V'_c V'_c') B' = P diag(e) P'      lambda = sqrt(e), descending
 *   W = P_K diag(lambda_1 .. lambda_K)^p      tau(K) = (e_1 + .. + e_K) / sum e
 *
 * Weights are float, their products are summed in double. Eigenvalues below 1e-12 of the largest are rounding: float
 * weights are known to 1e-7 of the largest, and e is their square. Oracle: tests/ref/ref_map_learn.c. */
#include "learn/map/map_learn.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { M = TN_BASIS_SIZE, PIECE = 4096 };

tn_status tnp_map_add_weights(tn_ctx *ctx, const float *w, size_t count, size_t entries, size_t rank, double *a)
{
    tn_status st = TN_OK;
    double *wide = NULL;
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(entries, PIECE) * rank, sizeof *wide, &wide));
    for (size_t c = 0; c < count; ++c)
        for (size_t at = 0, n; at < entries; at += n) {
            const float *v = w + c * (entries * rank + 1) + at * rank;
            n = tnp_min(PIECE, entries - at);
            for (size_t i = 0; i < n * rank; ++i)
                wide[i] = (double)v[i];
            TN_TRY(tnp_dsyrk_cols(ctx, n, rank, wide, rank, 1, a));
        }
done:
    tnp_free(wide);
    return st;
}

/* whole (M, M) = B a B', a with its upper triangle. */
static void expand(const double *b, size_t rank, const double *a, double *whole)
{
    double half[M * M]; /* (M, rank): B a */
    for (size_t m = 0; m < M; ++m)
        for (size_t j = 0; j < rank; ++j) {
            double sum = 0;
            for (size_t i = 0; i < rank; ++i)
                sum += b[m * rank + i] * a[i < j ? i * rank + j : j * rank + i];
            half[m * rank + j] = sum;
        }
    for (size_t m = 0; m < M; ++m)
        for (size_t n = 0; n < M; ++n) {
            double sum = 0;
            for (size_t j = 0; j < rank; ++j)
                sum += half[m * rank + j] * b[n * rank + j];
            whole[m * M + n] = sum;
        }
}

tn_status tnp_map_decompose(tn_ctx *ctx, const double *b, size_t rank, const double *a, tnp_map_parts *out)
{
    double whole[M * M], values[M], total = 0, sum = 0;
    expand(b, rank, a, whole);
    tn_status st = tnp_eigen(ctx, M, whole, values);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < M; ++i)
        total += fmax(values[i], 0);
    if (!(total > 0))
        return tnp_fail(ctx, TN_ERR_DATA, "kernel: every machine's weights are zero, there is nothing to learn from");
    out->holds = 0;
    for (size_t i = 0; i < M; ++i) {
        const double *v = whole + (M - 1 - i) * M;
        double e = fmax(values[M - 1 - i], 0);
        size_t largest = 0;
        for (size_t m = 1; m < M; ++m)
            largest = fabs(v[m]) > fabs(v[largest]) ? m : largest;
        for (size_t m = 0; m < M; ++m)
            out->vectors[m * M + i] = v[largest] < 0 ? -v[m] : v[m];
        sum += e;
        out->singular_values[i] = sqrt(e);
        out->rates[i] = fmin(sum / total, 1);
        out->holds += e > 1e-12 * values[M - 1];
    }
    return TN_OK;
}

void tnp_map_weights(const tnp_map_parts *parts, size_t rank, double power, double *weight)
{
    for (size_t m = 0; m < M; ++m)
        for (size_t k = 0; k < rank; ++k)
            weight[m * rank + k] = parts->vectors[m * M + k] * pow(parts->singular_values[k], power);
}
