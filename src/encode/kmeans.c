/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lloyd's k-means:
 *
 *   code[i]   = argmin_c |x[i] - centers[c]|^2          objective = sum_i |x[i] - centers[code[i]]|^2
 *   centers[c] = mean of the x[i] with code[i] = c
 *
 * Neither step can raise the objective, and a centre without rows may be put anywhere: it goes to a row drawn by its
 * squared distance. Ends when an iteration lowers the objective by at most TOLERANCE of it and no centre had to be
 * moved.
 *
 * The start is count distinct rows. k-means++ was refused: it costs as much as five of our iterations, and what it is
 * good for, centres that no row wants, is what the rule for empty ones mends. Equal rows are common in features (many
 * are zero), so that part of the centres are empty after the first step. Sums are double. Oracle: tests/ref/ref_pq.c.
 * */
#include "encode/kmeans.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-4;

void tnp_kmeans_lanes(const float *centers, size_t count, size_t dim, float *lanes)
{
    for (size_t j = 0; j < dim; ++j)
        for (size_t c = 0; c < TNP_CODES; ++c)
            lanes[j * TNP_CODES + c] = c < count ? centers[c * dim + j] : INFINITY;
}

/* One pass: row i is taken with probability (still wanted) / (still there). */
void tnp_kmeans_start(tnp_kmeans *km)
{
    size_t taken = 0;
    for (size_t i = 0; taken < km->count; ++i)
        if (tnp_rng_below(&km->rng, km->rows - i) < km->count - taken)
            memcpy(km->centers + taken++ * km->dim, km->x + i * km->dim, km->dim * sizeof *km->x);
    tnp_kmeans_lanes(km->centers, km->count, km->dim, km->lanes);
}

double tnp_kmeans_assign(tnp_kmeans *km)
{
    double sum = 0;
    tnp_simd_get()->nearest(km->x, km->dim, km->rows, km->dim, km->lanes, tnp_kmeans_width(km->count), km->code, 1,
                            km->distance);
    for (size_t i = 0; i < km->rows; ++i)
        sum += (double)km->distance[i];
    return sum;
}

/* Moves centre c to a row drawn by squared distance; false when every row lies on its centre. */
static bool move_empty(tnp_kmeans *km, size_t c)
{
    double total = 0, below = 0;
    size_t row = km->rows;
    for (size_t i = 0; i < km->rows; ++i)
        total += (double)km->distance[i];
    double draw = tnp_rng_unit(&km->rng) * total;
    for (size_t i = 0; i < km->rows && (row == km->rows || below <= draw); ++i)
        if (km->distance[i] > 0) {
            row = i;
            below += (double)km->distance[i];
        }
    if (row == km->rows)
        return false;
    memcpy(km->centers + c * km->dim, km->x + row * km->dim, km->dim * sizeof *km->x);
    km->distance[row] = 0; /* taken: the next empty centre goes elsewhere */
    return true;
}

size_t tnp_kmeans_update(tnp_kmeans *km)
{
    size_t moved = 0;
    memset(km->sums, 0, km->count * km->dim * sizeof *km->sums);
    memset(km->members, 0, km->count * sizeof *km->members);
    for (size_t i = 0; i < km->rows; ++i) {
        double *sum = km->sums + km->code[i] * km->dim;
        for (size_t j = 0; j < km->dim; ++j)
            sum[j] += (double)km->x[i * km->dim + j];
        ++km->members[km->code[i]];
    }
    for (size_t c = 0; c < km->count; ++c) {
        if (km->members[c] == 0) {
            moved += move_empty(km, c);
            continue;
        }
        for (size_t j = 0; j < km->dim; ++j)
            km->centers[c * km->dim + j] = (float)(km->sums[c * km->dim + j] / (double)km->members[c]);
    }
    tnp_kmeans_lanes(km->centers, km->count, km->dim, km->lanes);
    return moved;
}

size_t tnp_kmeans_run(tnp_kmeans *km, size_t iterations, double *objective, bool *finished)
{
    size_t updates = 0;
    tnp_kmeans_start(km);
    *objective = tnp_kmeans_assign(km);
    *finished = false;
    while (updates < iterations && !*finished) {
        size_t moved = tnp_kmeans_update(km);
        double before = *objective;
        *objective = tnp_kmeans_assign(km);
        ++updates;
        *finished = moved == 0 && before - *objective <= TOLERANCE * before;
    }
    return updates;
}
