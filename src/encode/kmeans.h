/* SPDX-License-Identifier: BSD-3-Clause
 *
 * k-means of one set of short vectors. Everything is the caller's storage, nothing fails or allocates, so that many
 * sets can be clustered side by side, each by one thread. */
#ifndef TNP_KMEANS_H
#define TNP_KMEANS_H

#include "base/base.h"
#include "simd/simd.h"

typedef struct tnp_kmeans {
    const float *x; /* (rows, dim), compact, finite */
    size_t rows, dim, count;
    float *centers;  /* (count, dim): 1 <= count <= min(rows, TNP_CODES) */
    float *lanes;    /* (dim, TNP_CODES): the same as the kernel wants them */
    uint8_t *code;   /* (rows): the nearest centre of each row */
    float *distance; /* (rows): its squared distance */
    double *sums;    /* (count, dim): scratch */
    size_t *members; /* (count): rows of each centre */
    tnp_rng rng;
} tnp_kmeans;

/* lanes from centers (count, dim); the places behind them get infinity. */
void tnp_kmeans_lanes(const float *centers, size_t count, size_t dim, float *lanes);
/* As many lanes as the kernel is to look at. */
static inline size_t tnp_kmeans_width(size_t count)
{
    return (count + 15) / 16 * 16;
}

/* count rows, drawn without replacement, become the centres. */
void tnp_kmeans_start(tnp_kmeans *km);
/* Gives every row its nearest centre; returns the sum of squared distances. */
double tnp_kmeans_assign(tnp_kmeans *km);
/* Every centre to the mean of its rows. One without rows moves to a row drawn with probability proportional to its
 * squared distance, while there is one that is not 0; returns how many moved so. Uses up `distance`. */
size_t tnp_kmeans_update(tnp_kmeans *km);
/* From start to end; *objective is that of the centres left, *finished whether the rule ended it. Returns the updates.
 * */
size_t tnp_kmeans_run(tnp_kmeans *km, size_t iterations, double *objective, bool *finished);

#endif
