/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Additive kernels and their explicit maps, literally. */
#include "ref_map.h"

#include <math.h>

static const ref_real PI = 3.14159265358979323846264338327950288L;

static void learned_positive(int plain, const double *weight, size_t rank, ref_real x, ref_real *out)
{
    static const ref_real eta[20] = {0,    0.1L, 0.2L, 0.3L, 0.4L, 0.5L, 0.6L, 0.7L, 0.8L, 0.9L,
                                     1.0L, 2.0L, 3.0L, 4.0L, 5.0L, 6.0L, 7.0L, 8.0L, 9.0L, 10.0L};
    ref_real f[39], factor;
    x = x > 1 ? 1 : x;
    factor = plain ? 1 : x;
    for (size_t i = 0, m = 0; i < 20; ++i) {
        f[m++] = factor * cosl(2 * PI * eta[i] * x);
        if (i > 0)
            f[m++] = factor * sinl(2 * PI * eta[i] * x);
    }
    for (size_t k = 0; k < rank; ++k) {
        out[k] = 0;
        for (size_t m = 0; m < 39; ++m)
            out[k] += weight[m * rank + k] * f[m];
    }
}

void ref_map_learned(int plain, int split, const double *weight, size_t rank, ref_real x, ref_real *out)
{
    if (split) {
        learned_positive(plain, weight, rank, x > 0 ? x : 0, out);
        learned_positive(plain, weight, rank, x < 0 ? -x : 0, out + rank);
        return;
    }
    learned_positive(plain, weight, rank, fabsl(x), out);
    for (size_t k = 0; k < rank && x < 0; ++k)
        out[k] = -out[k];
}

ref_real ref_kernel_named(int kind, ref_real x, ref_real y)
{
    if (kind == 0)
        return sqrtl(x * y);
    if (kind == 1)
        return 2 * x * y / (x + y);
    if (kind == 2)
        return x < y ? x : y;
    return x / 2 * log2l((x + y) / x) + y / 2 * log2l((x + y) / y);
}

static ref_real period_of(int kind)
{
    if (kind == 1)
        return 8.80L * sqrtl(3 + 4.44L) - 12.6L;
    return kind == 2 ? 2.00L * logl(3 + 0.99L) + 3.52L : 9.63L * sqrtl(3 + 1.00L) - 2.93L;
}

ref_real ref_signature_coefficient(int kind, int j, int points)
{
    ref_real sum = 0;
    for (int i = 0; i < points; ++i) {
        ref_real share = (i + 0.5L) / points - 0.5L, u = share * period_of(kind);
        sum += ref_kernel_named(kind, expl(u / 2), expl(-u / 2)) * cosl(2 * PI * j * share);
    }
    return sum / points;
}

static void named_positive(int kind, ref_real x, ref_real *out)
{
    static ref_real known[4][4];
    if (kind == 0) {
        out[0] = sqrtl(x);
        return;
    }
    for (int j = 0; j <= 3; ++j) {
        if (known[kind][j] == 0)
            known[kind][j] = fmaxl(0, ref_signature_coefficient(kind, j, 200000));
        ref_real size = sqrtl(x * known[kind][j] * (j ? 2 : 1));
        ref_real angle = x > 0 ? 2 * PI * j / period_of(kind) * logl(x) : 0;
        if (j > 0)
            out[2 * j - 1] = size * cosl(angle);
        out[2 * j] = j ? size * sinl(angle) : size;
    }
}

void ref_map_named(int kind, int split, ref_real x, ref_real *out)
{
    size_t rank = kind ? 7 : 1;
    if (split) {
        named_positive(kind, x > 0 ? x : 0, out);
        named_positive(kind, x < 0 ? -x : 0, out + rank);
        return;
    }
    named_positive(kind, fabsl(x), out);
    for (size_t k = 0; k < rank && x < 0; ++k)
        out[k] = -out[k];
}
