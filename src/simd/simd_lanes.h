/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops over eight doubles side by side: each file of kernels includes them and so compiles them for its own
 * instruction set. In vectors of the compiler (GCC's and Clang's), as wide as a register of the set: constant trip
 * counts alone were left as scalar code by GCC 12, and vectors of more than a register go through memory there. */
#ifndef TNP_SIMD_LANES_H
#define TNP_SIMD_LANES_H

#include "simd/simd.h"

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define PACK_BYTES 64
#elif defined(__AVX2__)
#define PACK_BYTES 32
#else
#define PACK_BYTES 16
#endif

enum { PACK = PACK_BYTES / 8, PACKS = TNP_LANES / PACK }; /* doubles a pack, packs of eight lanes */

typedef double pack __attribute__((vector_size(PACK_BYTES)));
typedef float pack_floats __attribute__((vector_size(PACK_BYTES / 2)));
typedef int64_t pack_mask __attribute__((vector_size(PACK_BYTES)));

/* By pointers: how vectors are passed depends on the instruction set. */
static inline void load_pack(const double *x, pack *to)
{
    memcpy(to, x, sizeof *to);
}

static inline void load_floats(const float *x, pack *to)
{
    pack_floats values;
    memcpy(&values, x, sizeof values);
    *to = __builtin_convertvector(values, pack);
}

static inline void store_pack(const pack *from, double *x)
{
    memcpy(x, from, sizeof *from);
}

/* Some tiles together: the sums of one alone would wait for each other. */
enum { TOGETHER = PACKS > 2 ? 2 : 4 };

static void products_together(const double *x, size_t rows, const double *q, double *t)
{
    pack sum[TOGETHER][PACKS] = {0}, v;
    for (size_t i = 0; i < rows; ++i, x += TNP_LANES)
        for (size_t b = 0; b < TOGETHER; ++b)
            for (size_t p = 0; p < PACKS; ++p) {
                load_pack(x + b * rows * TNP_LANES + p * PACK, &v);
                sum[b][p] += q[i] * v;
            }
    for (size_t b = 0; b < TOGETHER; ++b)
        for (size_t p = 0; p < PACKS; ++p)
            store_pack(&sum[b][p], t + b * TNP_LANES + p * PACK);
}

static void tile_products(const double *x, size_t tiles, size_t rows, const double *q, double *t)
{
    for (; tiles >= TOGETHER; tiles -= TOGETHER, t += TOGETHER * TNP_LANES, x += TOGETHER * rows * TNP_LANES)
        products_together(x, rows, q, t);
    for (size_t b = 0; b < tiles; ++b, t += TNP_LANES) {
        pack sum[PACKS] = {0}, v;
        for (size_t i = 0; i < rows; ++i, x += TNP_LANES)
            for (size_t p = 0; p < PACKS; ++p) {
                load_pack(x + p * PACK, &v);
                sum[p] += q[i] * v;
            }
        for (size_t p = 0; p < PACKS; ++p)
            store_pack(&sum[p], t + p * PACK);
    }
}

static void centred_products(const float *x, size_t tiles, size_t rows, const double *q, const double *u,
                             const double *mean, const double *inverse, double *t)
{
    for (size_t b = 0; b < tiles; ++b, mean += TNP_LANES, inverse += TNP_LANES, t += TNP_LANES) {
        pack sum[PACKS] = {0}, centre[PACKS], v;
        for (size_t p = 0; p < PACKS; ++p)
            load_pack(mean + p * PACK, &centre[p]);
        for (size_t i = 0; i < rows; ++i, x += TNP_LANES) {
            double a = q[i] * u[i];
            for (size_t p = 0; p < PACKS; ++p) {
                load_floats(x + p * PACK, &v);
                sum[p] += a * (v - centre[p]);
            }
        }
        for (size_t p = 0; p < PACKS; ++p) {
            load_pack(inverse + p * PACK, &v);
            sum[p] *= v;
            store_pack(&sum[p], t + p * PACK);
        }
    }
}

/* Where a lane of `when` is set that of a, else that of b. */
static inline void choose_pack(const pack_mask *when, const pack *a, const pack *b, pack *to)
{
    *to = (pack)((*when & (pack_mask)*a) | (~*when & (pack_mask)*b));
}

static double greedy_gains(size_t n, const double *t, double step, double inverse, double lambda, double least,
                           double *g, double *c)
{
    pack best = {0}, none = {0};
    double most = 0;
    for (size_t j = 0; j < n; j += PACK) {
        pack by, slope, left;
        load_pack(t + j, &by);
        load_pack(g + j, &slope);
        load_pack(c + j, &left);
        slope -= by * step;
        left -= by * by * inverse;
        store_pack(&slope, g + j);
        store_pack(&left, c + j);
        pack den = lambda + left, gain = slope * slope / den;
        pack_mask counts = den > least;
        choose_pack(&counts, &gain, &none, &gain);
        pack_mask better = gain > best;
        choose_pack(&better, &gain, &best, &best);
    }
    for (size_t l = 0; l < PACK; ++l)
        most = best[l] > most ? best[l] : most;
    return most;
}

static inline double dot_of_packs(const double *x, const double *y, size_t n)
{
    pack sum[PACKS] = {0}, a, b;
    double all = 0;
    for (size_t i = 0; i < n; i += TNP_LANES)
        for (size_t p = 0; p < PACKS; ++p) {
            load_pack(x + i + p * PACK, &a);
            load_pack(y + i + p * PACK, &b);
            sum[p] += a * b;
        }
    for (size_t p = 1; p < PACKS; ++p)
        sum[0] += sum[p];
    for (size_t l = 0; l < PACK / 2; ++l)
        all += sum[0][l] + sum[0][PACK / 2 + l];
    return all;
}

static double descend(const tnp_descent *d)
{
    double largest = 0, *move = d->move;
    for (size_t k = 0; k < d->count; ++k) {
        const double *a = d->a + k * d->rows;
        double now = d->next[k], inverse = d->inverse[k], sum = d->gradient[k] + d->ridge * (now - d->w[k]);
        sum += dot_of_packs(d->bent + k * d->rows, move, d->rows);
        double at = now - sum * inverse, by = d->bound * inverse;
        double next = at > by ? at - by : at < -by ? at + by : 0, change = next - now;
        if (change == 0 || inverse == 0)
            continue;
        d->next[k] = next;
        for (size_t i = 0; i < d->rows; i += PACK) {
            pack to, of;
            load_pack(move + i, &to);
            load_pack(a + i, &of);
            to += change * of;
            store_pack(&to, move + i);
        }
        double size = fabs(change / inverse);
        largest = size > largest ? size : largest;
    }
    return largest;
}

#endif
