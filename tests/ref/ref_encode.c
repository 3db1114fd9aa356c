/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The formulas at the heads of encode/mixture.c and encode/encoder.c as loops. */
#include "ref_encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ref_posteriors(const float *x, size_t n, size_t d, const float *w, const float *mu, const float *var, size_t k,
                    ref_float *q, ref_float *log_likelihood)
{
    const ref_float two_pi = 6.283185307179586476925286766559L;
    *log_likelihood = 0;
    for (size_t i = 0; i < n; ++i) {
        ref_float top = -INFINITY, sum = 0;
        for (size_t c = 0; c < k; ++c) {
            ref_float l = logl((ref_float)w[c]);
            for (size_t j = 0; j < d; ++j) {
                ref_float v = (ref_float)var[c * d + j], z = (ref_float)x[i * d + j] - (ref_float)mu[c * d + j];
                l -= (logl(two_pi * v) + z * z / v) / 2;
            }
            q[i * k + c] = l;
            top = l > top ? l : top;
        }
        for (size_t c = 0; c < k; ++c)
            sum += expl(q[i * k + c] - top);
        for (size_t c = 0; c < k; ++c)
            q[i * k + c] = expl(q[i * k + c] - top) / sum;
        *log_likelihood += top + logl(sum);
    }
}

void ref_fisher(const float *x, size_t n, size_t d, const float *w, const float *mu, const float *var, size_t k,
                ref_float *out)
{
    ref_float *q = malloc((n * k + 1) * sizeof *q), unused;
    ref_posteriors(x, n, d, w, mu, var, k, q, &unused);
    for (size_t c = 0; c < k; ++c)
        for (size_t j = 0; j < d; ++j) {
            ref_float u = 0, v = 0;
            for (size_t i = 0; i < n; ++i) {
                ref_float z = ((ref_float)x[i * d + j] - (ref_float)mu[c * d + j]) / sqrtl((ref_float)var[c * d + j]);
                u += q[i * k + c] * z;
                v += q[i * k + c] * (z * z - 1);
            }
            out[c * d + j] = u / ((ref_float)n * sqrtl((ref_float)w[c]));
            out[k * d + c * d + j] = v / ((ref_float)n * sqrtl(2 * (ref_float)w[c]));
        }
    free(q);
}

static ref_float distance(const float *a, const float *b, size_t d)
{
    ref_float sum = 0;
    for (size_t j = 0; j < d; ++j)
        sum += ((ref_float)a[j] - (ref_float)b[j]) * ((ref_float)a[j] - (ref_float)b[j]);
    return sum;
}

static size_t nearest_of(const float *x, const float *words, size_t k, size_t d)
{
    size_t best = 0;
    for (size_t c = 1; c < k; ++c)
        if (distance(x, words + c * d, d) < distance(x, words + best * d, d))
            best = c;
    return best;
}

void ref_vlad(const float *x, size_t n, size_t d, const float *words, size_t k, ref_float *out)
{
    for (size_t i = 0; i < k * d; ++i)
        out[i] = 0;
    for (size_t i = 0; i < n; ++i) {
        size_t c = nearest_of(x + i * d, words, k, d);
        for (size_t j = 0; j < d; ++j)
            out[c * d + j] += (ref_float)x[i * d + j] - (ref_float)words[c * d + j];
    }
}

void ref_bovw(const float *x, size_t n, size_t d, const float *words, size_t k, ref_float *out)
{
    for (size_t i = 0; i < k; ++i)
        out[i] = 0;
    for (size_t i = 0; i < n; ++i)
        out[nearest_of(x + i * d, words, k, d)] += 1 / (ref_float)n;
}

/* a (m, m + 1): solved in place by Gauss and Jordan, with pivots. */
static void solve(ref_float *a, size_t m)
{
    for (size_t p = 0; p < m; ++p) {
        size_t best = p;
        for (size_t r = p + 1; r < m; ++r)
            if (fabsl(a[r * (m + 1) + p]) > fabsl(a[best * (m + 1) + p]))
                best = r;
        for (size_t c = 0; c <= m; ++c) {
            ref_float swap = a[p * (m + 1) + c];
            a[p * (m + 1) + c] = a[best * (m + 1) + c];
            a[best * (m + 1) + c] = swap;
        }
        for (size_t r = 0; r < m; ++r)
            for (size_t c = m + 1; r != p && c-- > p;)
                a[r * (m + 1) + c] -= a[r * (m + 1) + p] / a[p * (m + 1) + p] * a[p * (m + 1) + c];
    }
    for (size_t p = 0; p < m; ++p)
        a[p * (m + 1) + m] /= a[p * (m + 1) + p];
}

void ref_llc(const float *x, size_t n, size_t d, const float *words, size_t k, size_t nearest, ref_float *out)
{
    size_t *order = malloc(k * sizeof *order);
    ref_float *a = malloc(nearest * (nearest + 1) * sizeof *a);
    for (size_t i = 0; i < k; ++i)
        out[i] = 0;
    for (size_t i = 0; i < n; ++i) {
        const float *y = x + i * d;
        ref_float trace = 0, sum = 0;
        for (size_t c = 0; c < k; ++c)
            order[c] = c;
        for (size_t p = 0; p < nearest; ++p)
            for (size_t c = p + 1; c < k; ++c)
                if (distance(y, words + order[c] * d, d) < distance(y, words + order[p] * d, d)) {
                    size_t swap = order[p];
                    order[p] = order[c];
                    order[c] = swap;
                }
        for (size_t p = 0; p < nearest; ++p)
            for (size_t r = 0; r < nearest; ++r) {
                ref_float dot = 0;
                for (size_t j = 0; j < d; ++j)
                    dot += ((ref_float)words[order[p] * d + j] - (ref_float)y[j]) *
                           ((ref_float)words[order[r] * d + j] - (ref_float)y[j]);
                a[p * (nearest + 1) + r] = dot;
                trace += p == r ? dot : 0;
            }
        for (size_t p = 0; p < nearest; ++p) {
            a[p * (nearest + 1) + p] += 1e-4L * trace;
            a[p * (nearest + 1) + nearest] = 1;
        }
        solve(a, nearest);
        for (size_t p = 0; p < nearest; ++p)
            sum += a[p * (nearest + 1) + nearest];
        for (size_t p = 0; p < nearest; ++p)
            out[order[p]] = fmaxl(out[order[p]], a[p * (nearest + 1) + nearest] / sum);
    }
    free(order);
    free(a);
}

void ref_root(ref_float *x, size_t n)
{
    ref_float sum = 0;
    for (size_t i = 0; i < n; ++i) {
        sum += fabsl(x[i]);
        x[i] = copysignl(sqrtl(fabsl(x[i])), x[i]);
    }
    for (size_t i = 0; i < n && sum > 0; ++i)
        x[i] /= sqrtl(sum);
}
