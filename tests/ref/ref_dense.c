/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense linear algebra by definition; see ref_dense.h. */
#include "ref_dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void *ref_alloc(size_t count, size_t size)
{
    void *array = calloc(count + 1, size);
    if (!array) {
        fprintf(stderr, "reference: no memory\n");
        exit(99);
    }
    return array;
}

ref_real *ref_widen(const double *x, size_t count)
{
    ref_real *out = ref_alloc(count, sizeof *out);
    for (size_t i = 0; i < count; ++i)
        out[i] = x[i];
    return out;
}

void ref_gram(const ref_real *x, size_t n, size_t d, ref_real *g)
{
    for (size_t i = 0; i < d; ++i)
        for (size_t j = 0; j < d; ++j) {
            ref_real sum = 0;
            for (size_t r = 0; r < n; ++r)
                sum += x[r * d + i] * x[r * d + j];
            g[i * d + j] = sum;
        }
}

void ref_outer(const ref_real *x, size_t n, size_t d, ref_real *k)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            ref_real sum = 0;
            for (size_t c = 0; c < d; ++c)
                sum += x[i * d + c] * x[j * d + c];
            k[i * n + j] = sum;
        }
}

int ref_cholesky(ref_real *a, size_t n)
{
    for (size_t j = 0; j < n; ++j)
        for (size_t i = j; i < n; ++i) {
            ref_real sum = a[i * n + j];
            for (size_t p = 0; p < j; ++p)
                sum -= a[i * n + p] * a[j * n + p];
            if (i == j && !(sum > 0))
                return 0;
            a[i * n + j] = i == j ? sqrtl(sum) : sum / a[j * n + j];
        }
    return 1;
}

void ref_cholesky_solve(const ref_real *l, size_t n, ref_real *b)
{
    for (size_t i = 0; i < n; ++i) {
        for (size_t p = 0; p < i; ++p)
            b[i] -= l[i * n + p] * b[p];
        b[i] /= l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t p = i + 1; p < n; ++p)
            b[i] -= l[p * n + i] * b[p];
        b[i] /= l[i * n + i];
    }
}

ref_real ref_cholesky_logdet(const ref_real *l, size_t n)
{
    ref_real sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += 2 * logl(l[i * n + i]);
    return sum;
}

/* Rows and columns p, q of a, and columns p, q of v, by the angle that makes a[p][q] zero. */
static void rotate(ref_real *a, ref_real *v, size_t n, size_t p, size_t q)
{
    ref_real theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    ref_real t = (theta >= 0 ? 1 : -1) / (fabsl(theta) + sqrtl(theta * theta + 1));
    ref_real c = 1 / sqrtl(t * t + 1), s = t * c;
    for (size_t i = 0; i < n; ++i) {
        ref_real x = a[i * n + p], y = a[i * n + q];
        a[i * n + p] = c * x - s * y;
        a[i * n + q] = s * x + c * y;
    }
    for (size_t i = 0; i < n; ++i) {
        ref_real x = a[p * n + i], y = a[q * n + i];
        a[p * n + i] = c * x - s * y;
        a[q * n + i] = s * x + c * y;
        x = v[i * n + p];
        y = v[i * n + q];
        v[i * n + p] = c * x - s * y;
        v[i * n + q] = s * x + c * y;
    }
}

void ref_jacobi(ref_real *a, size_t n, ref_real *values, ref_real *v)
{
    ref_real size = 0;
    for (size_t i = 0; i < n * n; ++i) {
        v[i] = i / n == i % n;
        size = fmaxl(size, fabsl(a[i]));
    }
    for (int sweep = 0; sweep < 60; ++sweep) {
        size_t turned = 0;
        for (size_t p = 0; p < n; ++p)
            for (size_t q = p + 1; q < n; ++q)
                if (fabsl(a[p * n + q]) > 1e-22L * size) {
                    rotate(a, v, n, p, q);
                    ++turned;
                }
        if (turned == 0)
            break;
    }
    for (size_t i = 0; i < n; ++i)
        values[i] = a[i * n + i];
}

/* Columns of a (n,cols) from `from` on, rows from j on: a -= 2 v v'a / v'v. */
static void reflect(const ref_real *v, ref_real vv, size_t n, size_t j, ref_real *a, size_t cols, size_t from)
{
    for (size_t c = from; c < cols; ++c) {
        ref_real dot = 0;
        for (size_t i = j; i < n; ++i)
            dot += v[i] * a[i * cols + c];
        for (size_t i = j; i < n; ++i)
            a[i * cols + c] -= 2 * dot / vv * v[i];
    }
}

void ref_qr(ref_real *x, size_t n, size_t d, ref_real *y, size_t k)
{
    ref_real *v = ref_alloc(n, sizeof *v);
    for (size_t j = 0; j < d; ++j) {
        ref_real norm = 0, vv = 0;
        for (size_t i = j; i < n; ++i) {
            v[i] = x[i * d + j];
            norm += v[i] * v[i];
        }
        v[j] += v[j] >= 0 ? sqrtl(norm) : -sqrtl(norm);
        for (size_t i = j; i < n; ++i)
            vv += v[i] * v[i];
        if (vv > 0) {
            reflect(v, vv, n, j, x, d, j);
            reflect(v, vv, n, j, y, k, 0);
        }
        for (size_t i = j + 1; i < n; ++i)
            x[i * d + j] = 0;
    }
    free(v);
}

void ref_orthonormalise(ref_real *a, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        ref_real norm = 0;
        for (int twice = 0; twice < 2; ++twice)
            for (size_t j = 0; j < i; ++j) {
                ref_real dot = 0;
                for (size_t c = 0; c < n; ++c)
                    dot += a[i * n + c] * a[j * n + c];
                for (size_t c = 0; c < n; ++c)
                    a[i * n + c] -= dot * a[j * n + c];
            }
        for (size_t c = 0; c < n; ++c)
            norm += a[i * n + c] * a[i * n + c];
        for (size_t c = 0; c < n; ++c)
            a[i * n + c] /= sqrtl(norm);
    }
}

void ref_contrasts(const ref_real *x, size_t n, size_t d, ref_real *out)
{
    for (size_t c = 0; c < d; ++c) {
        ref_real before = 0;
        for (size_t i = 1; i < n; ++i) {
            before += x[(i - 1) * d + c];
            out[(i - 1) * d + c] = (before - (ref_real)i * x[i * d + c]) / sqrtl((ref_real)i * (ref_real)(i + 1));
        }
    }
}
