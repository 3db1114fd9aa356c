/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The evidence by definition; see ref_evidence.h. */
#include "ref_evidence.h"

#include <math.h>
#include <stdlib.h>

static const ref_real two_pi = 6.283185307179586476925286766559L;

/* Rows of the problem, or their contrasts, as (rows, cols). */
static ref_real *rows_of(const double *x, size_t n, size_t cols, bool intercept)
{
    ref_real *wide = ref_widen(x, n * cols);
    if (!intercept)
        return wide;
    ref_real *out = ref_alloc(n * cols, sizeof *out);
    ref_contrasts(wide, n, cols, out);
    free(wide);
    return out;
}

ref_real ref_dense_evidence(const ref_problem *p, bool intercept, size_t c, ref_real alpha, ref_real beta)
{
    size_t n = p->n - (intercept ? 1 : 0);
    ref_real *x = rows_of(p->x, p->n, p->d, intercept), *y = rows_of(p->y, p->n, p->k, intercept);
    ref_real *cov = ref_alloc(n * n, sizeof *cov), *v = ref_alloc(n, sizeof *v), form = 0;
    ref_outer(x, n, p->d, cov);
    for (size_t i = 0; i < n * n; ++i)
        cov[i] = cov[i] / alpha + (i / n == i % n ? 1 / beta : 0);
    if (!ref_cholesky(cov, n))
        form = NAN;
    for (size_t i = 0; i < n; ++i)
        v[i] = y[i * p->k + c];
    ref_cholesky_solve(cov, n, v);
    for (size_t i = 0; i < n; ++i)
        form += v[i] * y[i * p->k + c];
    form = -(form + ref_cholesky_logdet(cov, n) + (ref_real)n * logl(two_pi)) / 2;
    free(x);
    free(y);
    free(cov);
    free(v);
    return form;
}

ref_eigen ref_eigen_of(const ref_problem *p, bool intercept)
{
    size_t n = p->n - (intercept ? 1 : 0), d = p->d, k = p->k, m = n < d ? n : d;
    ref_eigen q = {n, m, k, ref_alloc(m, sizeof *q.s), ref_alloc(k * m, sizeof *q.e), ref_alloc(k, sizeof *q.rest), 0};
    ref_real *x = rows_of(p->x, p->n, d, intercept), *y = rows_of(p->y, p->n, k, intercept);
    ref_real *a = ref_alloc(m * m, sizeof *a), *v = ref_alloc(m * m, sizeof *v);
    if (n > d)
        ref_qr(x, n, d, y, k);
    ref_outer(x, m, d, a);
    ref_jacobi(a, m, q.s, v);
    for (size_t i = 0; i < m; ++i)
        q.largest = fmaxl(q.largest, q.s[i]);
    /* Long double keeps 2^-64 of the largest: what is smaller than m times a few of that is a zero. */
    for (size_t i = 0; i < m; ++i)
        if (q.s[i] < 1e-18L * (ref_real)(m + 10) * q.largest)
            q.s[i] = 0;
    for (size_t c = 0; c < k; ++c) {
        for (size_t i = 0; i < m; ++i) {
            ref_real dot = 0;
            for (size_t r = 0; r < m; ++r)
                dot += v[r * m + i] * y[r * k + c];
            q.e[c * m + i] = dot * dot;
        }
        for (size_t r = m; r < n; ++r)
            q.rest[c] += y[r * k + c] * y[r * k + c];
    }
    free(x);
    free(y);
    free(a);
    free(v);
    return q;
}

void ref_eigen_free(ref_eigen *q)
{
    free(q->s);
    free(q->e);
    free(q->rest);
}

ref_real ref_r(const ref_eigen *q, size_t c, ref_real lambda)
{
    ref_real sum = q->rest[c];
    for (size_t i = 0; i < q->m; ++i)
        sum += q->e[c * q->m + i] / (1 + q->s[i] / lambda);
    return sum;
}

ref_real ref_ww(const ref_eigen *q, size_t c, ref_real lambda)
{
    ref_real sum = 0;
    for (size_t i = 0; i < q->m; ++i)
        sum += q->e[c * q->m + i] * q->s[i] / ((lambda + q->s[i]) * (lambda + q->s[i]));
    return sum;
}

ref_real ref_residual(const ref_eigen *q, size_t c, ref_real lambda)
{
    ref_real sum = q->rest[c];
    for (size_t i = 0; i < q->m; ++i) {
        ref_real left = lambda / (lambda + q->s[i]);
        sum += q->e[c * q->m + i] * left * left;
    }
    return sum;
}

ref_real ref_gamma(const ref_eigen *q, ref_real lambda)
{
    ref_real sum = 0;
    for (size_t i = 0; i < q->m; ++i)
        sum += q->s[i] / (lambda + q->s[i]);
    return sum;
}

ref_real ref_logdet(const ref_eigen *q, ref_real lambda)
{
    ref_real sum = 0;
    for (size_t i = 0; i < q->m; ++i)
        sum += log1pl(q->s[i] / lambda);
    return sum;
}

ref_real ref_f_at(const ref_eigen *q, size_t c, ref_real alpha, ref_real beta)
{
    return -((ref_real)q->n * (logl(two_pi) - logl(beta)) + ref_logdet(q, alpha / beta) +
             beta * ref_r(q, c, alpha / beta)) /
           2;
}

ref_real ref_f(const ref_eigen *q, size_t c, ref_real lambda)
{
    ref_real beta = (ref_real)q->n / ref_r(q, c, lambda);
    return ref_f_at(q, c, lambda * beta, beta);
}

ref_real ref_f_sum(const ref_eigen *q, ref_real lambda)
{
    ref_real sum = 0;
    for (size_t c = 0; c < q->k; ++c)
        sum += ref_f(q, c, lambda);
    return sum;
}

static ref_real value(const ref_eigen *q, size_t c, ref_real x)
{
    return c < q->k ? ref_f(q, c, expl(x)) : ref_f_sum(q, expl(x));
}

ref_real ref_best(const ref_eigen *q, size_t c, ref_real from, ref_real to, size_t points, ref_real *lambda)
{
    ref_real low = logl(from), step = (logl(to) - low) / (ref_real)(points - 1), best = value(q, c, low), at = low;
    for (size_t g = 1; g < points; ++g) {
        ref_real f = value(q, c, low + step * (ref_real)g);
        if (f > best) {
            best = f;
            at = low + step * (ref_real)g;
        }
    }
    ref_real a = fmaxl(at - step, low), b = fminl(at + step, logl(to));
    for (int i = 0; i < 40; ++i) { /* thirds: no memory of earlier points to get wrong */
        ref_real l = a + (b - a) / 3, r = b - (b - a) / 3;
        if (value(q, c, l) < value(q, c, r))
            a = l;
        else
            b = r;
    }
    ref_real refined = value(q, c, (a + b) / 2);
    *lambda = expl(refined > best ? (a + b) / 2 : at);
    return fmaxl(refined, best);
}

/* H (n,n) = M K (K + lambda I)^-1 + (I - M), with K = M XX' M and M the centring (or the identity). */
static void hat_matrix(const ref_problem *p, bool intercept, ref_real lambda, ref_real *hat)
{
    size_t n = p->n, d = p->d;
    ref_real *x = ref_widen(p->x, n * d), *k = ref_alloc(n * n, sizeof *k), *l = ref_alloc(n * n, sizeof *l);
    for (size_t c = 0; c < d && intercept; ++c) {
        ref_real mean = 0;
        for (size_t i = 0; i < n; ++i)
            mean += x[i * d + c] / (ref_real)n;
        for (size_t i = 0; i < n; ++i)
            x[i * d + c] -= mean;
    }
    ref_outer(x, n, d, k);
    for (size_t i = 0; i < n * n; ++i)
        l[i] = k[i] + (i / n == i % n ? lambda : 0);
    ref_cholesky(l, n);
    for (size_t i = 0; i < n; ++i) { /* row i of K (K + lambda I)^-1: both are symmetric */
        for (size_t j = 0; j < n; ++j)
            hat[i * n + j] = k[i * n + j];
        ref_cholesky_solve(l, n, hat + i * n);
        for (size_t j = 0; j < n && intercept; ++j)
            hat[i * n + j] += 1 / (ref_real)n;
    }
    free(x);
    free(k);
    free(l);
}

ref_real ref_gcv(const ref_problem *p, bool intercept, ref_real lambda)
{
    size_t n = p->n;
    ref_real *hat = ref_alloc(n * n, sizeof *hat), trace = 0, sum = 0;
    hat_matrix(p, intercept, lambda, hat);
    for (size_t i = 0; i < n; ++i) {
        trace += 1 - hat[i * n + i];
        for (size_t c = 0; c < p->k; ++c) {
            ref_real error = p->y[i * p->k + c];
            for (size_t j = 0; j < n; ++j)
                error -= hat[i * n + j] * p->y[j * p->k + c];
            sum += error * error;
        }
    }
    free(hat);
    return (ref_real)n * sum / (trace * trace);
}
