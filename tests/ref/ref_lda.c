/* SPDX-License-Identifier: BSD-3-Clause */
#include "ref_lda.h"

#include <math.h>
#include <stdlib.h>

typedef struct parts {
    ref_real *mean, *all, *scatter, *size, *solved; /* (k,d), (d), (d,d), (k), (k,d) */
    ref_real total;
    size_t present;
} parts;

static size_t class_of(const ref_problem *p, size_t row)
{
    size_t c = 0;
    while (p->y[row * p->k + c] != 1)
        ++c;
    return c;
}

static void find_means(const ref_problem *p, const double *weight, parts *s)
{
    size_t d = p->d;
    for (size_t i = 0; i < p->n; ++i) {
        size_t c = class_of(p, i);
        ref_real w = weight ? (ref_real)weight[i] : 1;
        s->present += s->size[c] == 0;
        s->size[c] += w;
        s->total += w;
        for (size_t j = 0; j < d; ++j) {
            s->mean[c * d + j] += w * (ref_real)p->x[i * d + j];
            s->all[j] += w * (ref_real)p->x[i * d + j];
        }
    }
    for (size_t j = 0; j < d; ++j)
        s->all[j] /= s->total;
    for (size_t c = 0; c < p->k; ++c)
        for (size_t j = 0; j < d; ++j)
            s->mean[c * d + j] = s->size[c] > 0 ? s->mean[c * d + j] / s->size[c] - s->all[j] : 0;
}

static void find_scatter(const ref_problem *p, const double *weight, ref_real lambda, parts *s)
{
    size_t d = p->d;
    for (size_t i = 0; i < p->n; ++i) {
        const ref_real *m = s->mean + class_of(p, i) * d, w = weight ? (ref_real)weight[i] : 1;
        for (size_t a = 0; a < d; ++a)
            for (size_t b = 0; b < d; ++b)
                s->scatter[a * d + b] +=
                    w * ((ref_real)p->x[i * d + a] - s->all[a] - m[a]) * ((ref_real)p->x[i * d + b] - s->all[b] - m[b]);
    }
    for (size_t a = 0; a < d; ++a)
        s->scatter[a * d + a] += lambda;
}

/* Scores (k) of one row. */
static void score(const ref_problem *p, const parts *s, const double *x, ref_real *out)
{
    ref_real free_rows = p->n > s->present ? (ref_real)(p->n - s->present) : 1,
             scale = free_rows * s->total / (ref_real)p->n, absent = -logl(2 * (ref_real)p->n + 1);
    for (size_t c = 0; c < p->k; ++c) {
        out[c] = s->size[c] > 0 ? logl(s->size[c] / s->total) : 0;
        for (size_t j = 0; j < p->d; ++j)
            out[c] += scale * s->solved[c * p->d + j] * ((ref_real)x[j] - s->all[j] - s->mean[c * p->d + j] / 2);
        absent += s->size[c] / s->total * out[c];
    }
    for (size_t c = 0; c < p->k; ++c)
        out[c] = s->size[c] > 0 ? out[c] : absent;
}

void ref_lda(const ref_problem *p, const double *weight, ref_real lambda, const double *x, size_t count, ref_real *out,
             ref_real *quadratic)
{
    size_t d = p->d, k = p->k;
    parts s = {.mean = ref_alloc(k * d, sizeof(ref_real)),
               .all = ref_alloc(d, sizeof(ref_real)),
               .scatter = ref_alloc(d * d, sizeof(ref_real)),
               .size = ref_alloc(k, sizeof(ref_real)),
               .solved = ref_alloc(k * d, sizeof(ref_real))};
    find_means(p, weight, &s);
    find_scatter(p, weight, lambda, &s);
    if (!ref_cholesky(s.scatter, d))
        abort();
    for (size_t c = 0; c < k; ++c) {
        for (size_t j = 0; j < d; ++j)
            s.solved[c * d + j] = s.mean[c * d + j];
        ref_cholesky_solve(s.scatter, d, s.solved + c * d);
        if (quadratic)
            quadratic[c] = 0;
        for (size_t j = 0; quadratic && j < d; ++j)
            quadratic[c] += s.solved[c * d + j] * s.mean[c * d + j];
    }
    for (size_t i = 0; i < count; ++i)
        score(p, &s, x + i * d, out + i * k);
    free(s.mean);
    free(s.all);
    free(s.scatter);
    free(s.size);
    free(s.solved);
}
