/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal learning of an additive kernel; see ref_map_learn.h. */
#include "ref_map_learn.h"
#include "ref_map.h"

#include <math.h>

void ref_map_features(int plain, int split, double scale, const double *x, size_t n, size_t d, double *out)
{
    double one[REF_BASIS * REF_BASIS] = {0};
    size_t width = split ? 2 * REF_BASIS : REF_BASIS;
    for (size_t m = 0; m < REF_BASIS; ++m)
        one[m * REF_BASIS + m] = 1;
    for (size_t i = 0; i < n; ++i) {
        ref_real sum = 0, f[2 * REF_BASIS];
        for (size_t j = 0; j < d; ++j)
            sum += fabsl((ref_real)x[i * d + j]);
        for (size_t j = 0; j < d; ++j) {
            ref_map_learned(plain, split, one, REF_BASIS, sum > 0 ? (ref_real)scale * (ref_real)x[i * d + j] / sum : 0,
                            f);
            for (size_t m = 0; m < width; ++m)
                out[(i * d + j) * width + m] = (double)f[m];
        }
    }
}

void ref_map_add(const ref_real *w, size_t entries, ref_real *a)
{
    for (size_t m = 0; m < REF_BASIS; ++m)
        for (size_t l = 0; l < REF_BASIS; ++l)
            for (size_t e = 0; e < entries; ++e)
                a[m * REF_BASIS + l] += w[e * REF_BASIS + m] * w[e * REF_BASIS + l];
}
