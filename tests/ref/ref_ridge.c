/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal ridge regression; see ref_ridge.h. */
#include "ref_ridge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Row i with its one behind it: d + 1 values, or d. */
static ref_real feature(const ref_problem *p, size_t i, size_t j)
{
    return j < p->d ? (ref_real)p->x[i * p->d + j] : 1;
}

static void null_model(const ref_problem *p, bool intercept, ref_real *w, ref_real *b)
{
    for (size_t c = 0; c < p->k; ++c) {
        b[c] = 0;
        for (size_t j = 0; j < p->d; ++j)
            w[c * p->d + j] = 0;
        for (size_t i = 0; intercept && i < p->n; ++i)
            b[c] += (ref_real)p->y[i * p->k + c] / (ref_real)p->n;
    }
}

void ref_ridge(const ref_problem *p, bool intercept, ref_real lambda, ref_real *w, ref_real *b)
{
    size_t m = p->d + (intercept ? 1 : 0);
    if (isinf(lambda)) {
        null_model(p, intercept, w, b);
        return;
    }
    ref_real *a = ref_alloc(m * m, sizeof *a), *v = ref_alloc(m, sizeof *v);
    for (size_t r = 0; r < m; ++r)
        for (size_t c = 0; c < m; ++c) {
            for (size_t i = 0; i < p->n; ++i)
                a[r * m + c] += feature(p, i, r) * feature(p, i, c);
            a[r * m + c] += r == c && r < p->d ? lambda : 0;
        }
    if (!ref_cholesky(a, m))
        abort();
    for (size_t c = 0; c < p->k; ++c) {
        memset(v, 0, m * sizeof *v);
        for (size_t j = 0; j < m; ++j)
            for (size_t i = 0; i < p->n; ++i)
                v[j] += feature(p, i, j) * (ref_real)p->y[i * p->k + c];
        ref_cholesky_solve(a, m, v);
        memcpy(w + c * p->d, v, p->d * sizeof *v);
        b[c] = intercept ? v[p->d] : 0;
    }
    free(a);
    free(v);
}

void ref_ridge_gradient(const ref_problem *p, size_t c, ref_real lambda, const ref_real *w, ref_real b, ref_real *out)
{
    for (size_t j = 0; j < p->d; ++j)
        out[j] = lambda * w[j];
    out[p->d] = 0;
    for (size_t i = 0; i < p->n; ++i) {
        ref_real residual = (ref_real)p->y[i * p->k + c] - b;
        for (size_t j = 0; j < p->d; ++j)
            residual -= (ref_real)p->x[i * p->d + j] * w[j];
        for (size_t j = 0; j <= p->d; ++j)
            out[j] -= residual * feature(p, i, j);
    }
}

void ref_loo(const ref_problem *p, bool intercept, ref_real lambda, ref_real *out)
{
    size_t n = p->n, d = p->d, k = p->k;
    ref_problem rest = {n - 1, d, k, ref_alloc(n * d, sizeof(double)), ref_alloc(n * k, sizeof(double))};
    ref_real *w = ref_alloc(k * d, sizeof *w), *b = ref_alloc(k, sizeof *b);
    for (size_t i = 0; i < n; ++i) {
        for (size_t r = 0, to = 0; r < n; ++r) {
            if (r == i)
                continue;
            memcpy(rest.x + to * d, p->x + r * d, d * sizeof(double));
            memcpy(rest.y + to++ * k, p->y + r * k, k * sizeof(double));
        }
        ref_ridge(&rest, intercept, lambda, w, b);
        for (size_t c = 0; c < k; ++c) {
            out[i * k + c] = b[c];
            for (size_t j = 0; j < d; ++j)
                out[i * k + c] += w[c * d + j] * (ref_real)p->x[i * d + j];
        }
    }
    ref_problem_free(&rest);
    free(w);
    free(b);
}

ref_real ref_loo_error(const ref_problem *p, bool intercept, ref_real lambda)
{
    ref_real *out = ref_alloc(p->n * p->k, sizeof *out), sum = 0;
    ref_loo(p, intercept, lambda, out);
    for (size_t i = 0; i < p->n * p->k; ++i)
        sum += (out[i] - (ref_real)p->y[i]) * (out[i] - (ref_real)p->y[i]) / (ref_real)p->n;
    free(out);
    return sum;
}
