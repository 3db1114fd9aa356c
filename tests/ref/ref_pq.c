/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Product quantisation by plain loops. */
#include "ref_pq.h"

ref_real ref_distance(const float *a, const float *b, size_t d)
{
    ref_real sum = 0;
    for (size_t j = 0; j < d; ++j)
        sum += ((ref_real)a[j] - b[j]) * ((ref_real)a[j] - b[j]);
    return sum;
}

size_t ref_nearest(const float *x, const float *centers, size_t k, size_t d)
{
    size_t best = 0;
    for (size_t c = 1; c < k; ++c)
        if (ref_distance(x, centers + c * d, d) < ref_distance(x, centers + best * d, d))
            best = c;
    return best;
}

ref_real ref_lloyd(const float *x, size_t n, const float *centers, size_t k, size_t d, size_t *code, ref_real *means)
{
    ref_real objective = 0;
    for (size_t i = 0; i < n; ++i) {
        code[i] = ref_nearest(x + i * d, centers, k, d);
        objective += ref_distance(x + i * d, centers + code[i] * d, d);
    }
    for (size_t c = 0; c < k; ++c)
        for (size_t j = 0; j < d; ++j) {
            ref_real sum = 0;
            size_t count = 0;
            for (size_t i = 0; i < n; ++i)
                if (code[i] == c) {
                    sum += x[i * d + j];
                    ++count;
                }
            means[c * d + j] = count ? sum / (ref_real)count : (ref_real)centers[c * d + j];
        }
    return objective;
}

float ref_decoded(const float *centroids, size_t dim, size_t sub, const unsigned char *codes, size_t j)
{
    return centroids[codes[j / sub] * dim + j];
}
