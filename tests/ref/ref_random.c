/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random problems; see ref_random.h. */
#include "ref_random.h"
#include "ref_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ref_rng ref_rng_of(uint64_t seed)
{
    ref_rng rng = {(seed + 1) * UINT64_C(0x9fb21c651e98df25)};
    for (int i = 0; i < 8; ++i)
        ref_bits(&rng);
    return rng;
}

uint64_t ref_bits(ref_rng *rng)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * UINT64_C(0x2545f4914f6cdd1d);
}

double ref_unit(ref_rng *rng)
{
    return (double)(ref_bits(rng) >> 12) * 0x1p-52;
}

size_t ref_below(ref_rng *rng, size_t n)
{
    return (size_t)(ref_unit(rng) * (double)n);
}

double ref_normal(ref_rng *rng)
{
    double u = 1 - ref_unit(rng), angle = 6.283185307179586 * ref_unit(rng);
    return sqrt(-2 * log(u)) * cos(angle);
}

const char *ref_kind_name(ref_kind kind)
{
    static const char *const names[] = {"signed",     "non-negative", "noise",    "low rank",
                                        "duplicated", "constant",     "zero rows"};
    return names[kind];
}

/* x = centre of the row's class + noise; low rank: the same in `inner` dimensions, then spread over d. */
static void fill_features(ref_rng *rng, ref_problem *p, const size_t *cls, double signal, size_t inner)
{
    double *centre = ref_alloc(p->k * inner, sizeof *centre), *spread = ref_alloc(inner * p->d, sizeof *spread);
    double *row = ref_alloc(inner, sizeof *row);
    for (size_t i = 0; i < p->k * inner; ++i)
        centre[i] = signal * ref_normal(rng);
    for (size_t i = 0; i < inner * p->d; ++i)
        spread[i] = ref_normal(rng);
    for (size_t i = 0; i < p->n; ++i) {
        for (size_t j = 0; j < inner; ++j)
            row[j] = centre[cls[i] * inner + j] + ref_normal(rng);
        for (size_t c = 0; c < p->d; ++c) {
            double sum = inner == p->d ? row[c] : 0;
            for (size_t j = 0; inner != p->d && j < inner; ++j)
                sum += row[j] * spread[j * p->d + c];
            p->x[i * p->d + c] = sum;
        }
    }
    free(centre);
    free(spread);
    free(row);
}

static void rectify(ref_problem *p)
{
    for (size_t i = 0; i < p->n; ++i) {
        double norm = 0;
        for (size_t c = 0; c < p->d; ++c) {
            double *v = &p->x[i * p->d + c];
            *v = fmax(*v, 0);
            norm += *v * *v;
        }
        for (size_t c = 0; c < p->d && norm > 0; ++c)
            p->x[i * p->d + c] /= sqrt(norm);
    }
}

ref_problem ref_problem_of(ref_kind kind, size_t n, size_t d, size_t k, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    ref_problem p = {n, d, k, ref_alloc(n * d, sizeof(double)), ref_alloc(n * k, sizeof(double))};
    size_t *cls = ref_alloc(n, sizeof *cls);
    for (size_t i = 0; i < n; ++i) {
        cls[i] = i < k ? i : ref_below(&rng, k);
        p.y[i * k + cls[i]] = 1;
    }
    size_t side = n < d ? n : d, inner = kind == REF_LOW_RANK && side > 2 ? side / 3 : d;
    fill_features(&rng, &p, cls, kind == REF_NOISE ? 0 : 1, inner);
    if (kind == REF_NONNEG)
        rectify(&p);
    for (size_t i = 0; i < n * d; ++i) {
        size_t r = i / d, c = i % d, half = d / 2;
        if (kind == REF_DUPLICATED && c >= half && c < 2 * half)
            p.x[i] = p.x[r * d + c - half];
        if (kind == REF_CONSTANT && c % 3 == 2)
            p.x[i] = (double)c + 0.5;
        if (kind == REF_ZERO_ROWS && r % 4 == 3)
            p.x[i] = 0;
    }
    free(cls);
    return p;
}

void ref_problem_free(ref_problem *p)
{
    free(p->x);
    free(p->y);
}

static void centre_columns(ref_real *x, size_t n, size_t d)
{
    for (size_t c = 0; c < d; ++c) {
        ref_real mean = 0;
        for (size_t i = 0; i < n; ++i)
            mean += x[i * d + c] / (ref_real)n;
        for (size_t i = 0; i < n; ++i)
            x[i * d + c] -= mean;
    }
}

void ref_moments(const ref_problem *p, bool dual, bool intercept, double *a, double *rhs, double *yy)
{
    size_t n = p->n, d = p->d, k = p->k, order = dual ? n : d;
    ref_real *x = ref_widen(p->x, n * d), *y = ref_widen(p->y, n * k), *g = ref_alloc(order * order, sizeof *g);
    if (intercept) {
        centre_columns(x, n, d);
        centre_columns(y, n, k);
    }
    if (dual)
        ref_outer(x, n, d, g);
    else
        ref_gram(x, n, d, g);
    for (size_t i = 0; i < order * order; ++i)
        a[i] = (double)g[i];
    for (size_t c = 0; c < k; ++c) {
        ref_real square = 0;
        for (size_t i = 0; i < n; ++i)
            square += y[i * k + c] * y[i * k + c];
        yy[c] = (double)square;
        for (size_t j = 0; j < order; ++j) {
            ref_real sum = dual ? y[j * k + c] : 0;
            for (size_t i = 0; !dual && i < n; ++i)
                sum += y[i * k + c] * x[i * d + j];
            rhs[c * order + j] = (double)sum;
        }
    }
    free(x);
    free(y);
    free(g);
}
