/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal support vector machine; see ref_svm.h. */
#include "ref_svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x_ij, with the 1 of the intercept at j = d. */
static ref_real feature(const ref_svm *p, size_t i, size_t j)
{
    return j < p->d ? (ref_real)p->x[i * p->d + j] : p->bias ? 1 : 0;
}

static ref_real score(const ref_svm *p, const ref_real *w, size_t i)
{
    ref_real s = 0;
    for (size_t j = 0; j <= p->d; ++j)
        s += feature(p, i, j) * w[j];
    return s;
}

ref_real ref_svm_primal(const ref_svm *p, const ref_real *w)
{
    ref_real f = 0;
    for (size_t j = 0; j <= p->d; ++j)
        f += w[j] * w[j] / 2;
    for (size_t i = 0; i < p->n; ++i) {
        ref_real slack = fmaxl(0, 1 - (ref_real)p->y[i] * score(p, w, i));
        f += (ref_real)p->c[i] * (p->squared ? slack * slack : slack);
    }
    return f;
}

void ref_svm_weights(const ref_svm *p, const ref_real *alpha, ref_real *w)
{
    for (size_t j = 0; j <= p->d; ++j) {
        w[j] = 0;
        for (size_t i = 0; i < p->n; ++i)
            w[j] += (ref_real)p->y[i] * alpha[i] * feature(p, i, j);
    }
}

ref_real ref_svm_dual(const ref_svm *p, const ref_real *alpha)
{
    ref_real f = 0, *w = ref_alloc(p->d + 1, sizeof *w);
    ref_svm_weights(p, alpha, w);
    for (size_t j = 0; j <= p->d; ++j)
        f -= w[j] * w[j] / 2;
    for (size_t i = 0; i < p->n; ++i)
        if (p->c[i] > 0)
            f += alpha[i] - (p->squared ? alpha[i] * alpha[i] / (4 * (ref_real)p->c[i]) : 0);
    free(w);
    return f;
}

void ref_svm_visit(const ref_svm *p, const size_t *order, size_t count, ref_real *alpha, ref_real *w)
{
    for (size_t t = 0; t < count; ++t) {
        size_t i = order[t];
        ref_real y = (ref_real)p->y[i], c = (ref_real)p->c[i], curve = 0, before = alpha[i];
        if (c == 0)
            continue;
        for (size_t j = 0; j <= p->d; ++j)
            curve += feature(p, i, j) * feature(p, i, j);
        curve += p->squared ? 1 / (2 * c) : 0;
        ref_real slope = y * score(p, w, i) - 1 + (p->squared ? before / (2 * c) : 0);
        ref_real next =
            curve > 0 ? before - slope / curve : c; /* a row of zeros: nothing but -alpha is left of the dual */
        next = fmaxl(0, next);
        alpha[i] = !p->squared && next > c ? c : next;
        for (size_t j = 0; j <= p->d; ++j)
            w[j] += y * (alpha[i] - before) * feature(p, i, j);
    }
}

ref_real ref_svm_solve(const ref_svm *p, ref_real *alpha, ref_real *w)
{
    ref_real *a = ref_alloc(p->n, sizeof *a), primal = 0;
    size_t *order = ref_alloc(p->n, sizeof *order);
    memset(w, 0, (p->d + 1) * sizeof *w);
    for (size_t i = 0; i < p->n; ++i)
        order[i] = i;
    for (int pass = 0;; ++pass) {
        ref_svm_visit(p, order, p->n, a, w);
        if (pass % 20 != 19)
            continue;
        ref_svm_weights(p, a, w);
        primal = ref_svm_primal(p, w);
        if (primal - ref_svm_dual(p, a) <= 1e-11L * primal)
            break;
        if (pass > 2000000)
            abort();
    }
    if (alpha)
        memcpy(alpha, a, p->n * sizeof *a);
    free(a);
    free(order);
    return primal;
}

ref_real ref_svm_rounding(const ref_svm *p, const ref_real *w, ref_real u)
{
    ref_real sum = ref_svm_primal(p, w);
    for (size_t i = 0; i < p->n; ++i) {
        ref_real slack = fmaxl(0, 1 - (ref_real)p->y[i] * score(p, w, i)), size = 0;
        for (size_t j = 0; j <= p->d; ++j)
            size += fabsl(feature(p, i, j) * w[j]);
        sum += (ref_real)p->c[i] * (p->squared ? 2 * slack + u * size : 1) * size;
    }
    return u * sum;
}

/* t (1/2 a'Qa - sum a [+ sum a^2 / 4 c]) - sum log a [- sum log(c - a)] over the rows with a cost; Q from q (n,n). */
static ref_real barrier_value(const ref_svm *p, const ref_real *q, const ref_real *a, ref_real t)
{
    ref_real f = 0;
    for (size_t i = 0; i < p->n; ++i) {
        ref_real c = (ref_real)p->c[i], sum = 0;
        if (c == 0)
            continue;
        if (a[i] <= 0 || (!p->squared && a[i] >= c))
            return INFINITY;
        for (size_t j = 0; j < p->n; ++j)
            sum += p->c[j] > 0 ? q[i * p->n + j] * a[j] : 0;
        f += t * (a[i] * sum / 2 - a[i] + (p->squared ? a[i] * a[i] / (4 * c) : 0)) - logl(a[i]) -
             (p->squared ? 0 : logl(c - a[i]));
    }
    return f;
}

/* One Newton step, halved until the value falls; false when it does not. */
static bool barrier_step(const ref_svm *p, const ref_real *q, ref_real t, ref_real *a, ref_real *h, ref_real *d,
                         ref_real *next)
{
    size_t n = p->n;
    ref_real f = barrier_value(p, q, a, t), decrement = 0;
    for (size_t i = 0; i < n; ++i) {
        ref_real c = (ref_real)p->c[i], slope = -t;
        for (size_t j = 0; j < n; ++j) {
            bool both = p->c[i] > 0 && p->c[j] > 0;
            h[i * n + j] = both ? t * q[i * n + j] : 0;
            slope += both ? t * q[i * n + j] * a[j] : 0;
        }
        if (c == 0) {
            h[i * n + i] = 1;
            d[i] = 0;
            continue;
        }
        slope += (p->squared ? t * a[i] / (2 * c) : 1 / (c - a[i])) - 1 / a[i];
        h[i * n + i] += (p->squared ? t / (2 * c) : 1 / ((c - a[i]) * (c - a[i]))) + 1 / (a[i] * a[i]);
        d[i] = -slope;
        next[i] = slope;
    }
    if (!ref_cholesky(h, n))
        return false;
    ref_cholesky_solve(h, n, d);
    for (size_t i = 0; i < n; ++i)
        decrement -= p->c[i] > 0 ? next[i] * d[i] : 0;
    if (decrement < 1e-6L)
        return false;
    for (ref_real step = 1; step > 1e-12L; step /= 2) {
        for (size_t i = 0; i < n; ++i)
            next[i] = a[i] + step * d[i];
        if (barrier_value(p, q, next, t) < f - 1e-3L * step * decrement) {
            memcpy(a, next, n * sizeof *a);
            return true;
        }
    }
    return false;
}

ref_real ref_svm_barrier(const ref_svm *p)
{
    size_t n = p->n;
    ref_real *q = ref_alloc(n * n, sizeof *q), *h = ref_alloc(n * n, sizeof *h), *a = ref_alloc(n, sizeof *a),
             *d = ref_alloc(n, sizeof *d), *next = ref_alloc(n, sizeof *next), *w = ref_alloc(p->d + 1, sizeof *w);
    ref_real best = 0, least = INFINITY;
    for (size_t i = 0; i < n; ++i) {
        a[i] = p->c[i] > 0 ? (ref_real)p->c[i] / 2 : 0;
        for (size_t j = 0; j < n; ++j)
            for (size_t l = 0; l <= p->d; ++l)
                q[i * n + j] += (ref_real)(p->y[i] * p->y[j]) * feature(p, i, l) * feature(p, j, l);
    }
    for (ref_real t = 1e-6L; t < 1e30L; t *= 4) {
        for (int i = 0; i < 60 && barrier_step(p, q, t, a, h, d, next); ++i)
            ;
        best = fmaxl(best, ref_svm_dual(p, a));
        ref_svm_weights(p, a, w);
        least = fminl(least, ref_svm_primal(p, w));
        if (least - best <= 1e-12L * least)
            break;
    }
    free(q);
    free(h);
    free(a);
    free(d);
    free(next);
    free(w);
    return least;
}
