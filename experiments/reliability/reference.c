/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the evidence of a ridge model needs of its data, in long double and without a Gram matrix: the non-zero squared
 * singular values s of X (N, D), z = U'y for each column of Y (N, K), and the part of y outside U.
 *
 *   N >= D:  X = Q R by Householder with column pivots, y <- Q'y;    N < D:  X' = Q R, and R' stands for X
 *   then one-sided Jacobi on the n x n factor, n = min(N, D):  B V = U S, columns b_i = s_i u_i,  z_i = b_i'y / |b_i|
 *
 * A singular value counts above 4 max(N, D) eps of the largest one, eps that of long double. The rest of y is what
 * subtracting its projections, twice, leaves: no difference of squares. Slow on purpose; nothing of it is in the
 * library. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

typedef long double real;

/* A problem in work: a (n columns of `rows` values), b (n, n) by columns, y (K columns of N values). */
typedef struct work {
    size_t N, D, K, rows, n;
    real *a, *b, *y, *v;
} work;

static real dot(const real *a, const real *b, size_t n)
{
    real sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

static void swap(real *a, real *b, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        real t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* a (n) mirrored at the plane of v, f = 2/v'v. */
static void mirror(const real *v, real f, real *a, size_t n)
{
    real t = f * dot(v, a, n);
    for (size_t i = 0; i < n; ++i)
        a[i] -= t * v[i];
}

/* The longest of the columns from j on, below row j, comes to place j; returns its length. For N < D columns are rows
 * of X, and y changes its order with them. */
static real pivot(work *w, size_t j)
{
    size_t best = j;
    real most = -1;
    for (size_t c = j; c < w->n; ++c) {
        real size = dot(w->a + c * w->rows + j, w->a + c * w->rows + j, w->rows - j);
        if (size > most) {
            most = size;
            best = c;
        }
    }
    if (best != j)
        swap(w->a + j * w->rows, w->a + best * w->rows, w->rows);
    for (size_t k = 0; best != j && w->N < w->D && k < w->K; ++k)
        swap(w->y + k * w->N + j, w->y + k * w->N + best, 1);
    return sqrtl(most);
}

/* a becomes R, in its upper triangle. For N >= D y is turned with it. */
static void triangle(work *w)
{
    for (size_t j = 0; j < w->n; ++j) {
        real *x = w->a + j * w->rows + j, norm = pivot(w, j);
        size_t m = w->rows - j;
        if (!(norm > 0))
            return;
        for (size_t i = 0; i < m; ++i)
            w->v[i] = x[i];
        w->v[0] += x[0] < 0 ? -norm : norm;
        real f = 2 / dot(w->v, w->v, m);
        for (size_t c = j; c < w->n; ++c)
            mirror(w->v, f, w->a + c * w->rows + j, m);
        for (size_t k = 0; w->N >= w->D && k < w->K; ++k)
            mirror(w->v, f, w->y + k * w->N + j, m);
    }
}

/* b = R for N >= D, else R'. */
static void take_factor(work *w)
{
    for (size_t j = 0; j < w->n; ++j)
        for (size_t i = 0; i < w->n; ++i)
            w->b[j * w->n + i] =
                w->N >= w->D ? (i <= j ? w->a[j * w->rows + i] : 0) : (j <= i ? w->a[i * w->rows + j] : 0);
}

/* Two columns turned until they are orthogonal; false when they were. */
static bool rotate(real *x, real *y, size_t n)
{
    real xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
    if (xy == 0 || fabsl(xy) <= 4 * LDBL_EPSILON * sqrtl(xx) * sqrtl(yy))
        return false;
    real tau = (yy - xx) / (2 * xy);
    real t = (tau < 0 ? -1 : 1) / (fabsl(tau) + hypotl(1, tau)), c = 1 / hypotl(1, t), s = c * t;
    for (size_t i = 0; i < n; ++i) {
        real u = x[i], v = y[i];
        x[i] = c * u - s * v;
        y[i] = s * u + c * v;
    }
    return true;
}

static void jacobi(real *b, size_t n)
{
    bool turned = true;
    for (int sweep = 0; turned && sweep < 60; ++sweep) {
        turned = false;
        for (size_t p = 0; p + 1 < n; ++p)
            for (size_t q = p + 1; q < n; ++q)
                turned |= rotate(b + p * n, b + q * n, n);
    }
}

/* Projections on column j of b, which has length `size`; y keeps the rest. */
static void project(work *w, size_t j, real size, real *z)
{
    real *u = w->b + j * w->n;
    for (size_t i = 0; i < w->n; ++i)
        u[i] /= size;
    for (size_t k = 0; k < w->K; ++k) {
        z[k * w->n] = 0;
        for (int twice = 0; twice < 2; ++twice) {
            real *y = w->y + k * w->N, h = dot(u, y, w->n);
            z[k * w->n] += h;
            for (size_t i = 0; i < w->n; ++i)
                y[i] -= h * u[i];
        }
    }
}

static int collect(work *w, real *s, real *z, real *outside)
{
    int rank = 0;
    real top = 0;
    for (size_t j = 0; j < w->n; ++j)
        top = fmaxl(top, sqrtl(dot(w->b + j * w->n, w->b + j * w->n, w->n)));
    for (size_t j = 0; j < w->n; ++j) {
        real size = sqrtl(dot(w->b + j * w->n, w->b + j * w->n, w->n));
        if (size <= 4 * (real)w->rows * LDBL_EPSILON * top)
            continue;
        s[rank] = size * size;
        project(w, j, size, z + rank++);
    }
    for (size_t k = 0; k < w->K; ++k)
        outside[k] = dot(w->y + k * w->N, w->y + k * w->N, w->N);
    return rank;
}

/* x (N, D) and y (N, K) by rows, centred where there is an intercept. s (min(N, D)); z (K, min(N, D)); outside (K):
 * |rest of y|^2. Returns how many singular values count, or -1 without memory. */
int reference_spectrum(size_t N, size_t D, size_t K, const real *x, const real *y, real *s, real *z, real *outside)
{
    size_t rows = N >= D ? N : D, n = N >= D ? D : N;
    work w = {N, D, K, rows, n, NULL, NULL, NULL, NULL};
    int rank = -1;
    w.a = malloc(rows * n * sizeof *w.a);
    w.b = malloc(n * n * sizeof *w.b);
    w.y = malloc(N * K * sizeof *w.y);
    w.v = malloc(rows * sizeof *w.v);
    if (w.a && w.b && w.y && w.v) {
        for (size_t i = 0; i < N * D; ++i)
            w.a[N >= D ? i % D * N + i / D : i] = x[i];
        for (size_t i = 0; i < N * K; ++i)
            w.y[i % K * N + i / K] = y[i];
        triangle(&w);
        take_factor(&w);
        jacobi(w.b, n);
        rank = collect(&w, s, z, outside);
    }
    free(w.a);
    free(w.b);
    free(w.y);
    free(w.v);
    return rank;
}
