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

/* Twice the digits of long double where the compiler has them. A covariance whose least eigenvalue is 1e-12 of its
 * largest, the floor of lambda, leaves long double 1e-19 / 1e-12 = 1e-7 per pivot of log det: a reference that is
 * worse than what it judges. */
#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 wide;
#else
typedef long double wide;
#endif

/* The lower triangle of xx' / alpha + I / beta, (n,n), for x (n,d). */
static wide *covariance_of(const ref_real *x, size_t n, size_t d, ref_real alpha, ref_real beta)
{
    wide *cov = ref_alloc(n * n, sizeof *cov);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            wide sum = 0;
            for (size_t c = 0; c < d; ++c)
                sum += (wide)x[i * d + c] * x[j * d + c];
            cov[i * n + j] = sum / alpha + (i == j ? 1 / (wide)beta : 0);
        }
    return cov;
}

/* log det a + y'a^-1 y by a = L diag(p) L', unit L: no roots. The lower triangle of a, and y, are destroyed. */
static ref_real deviance(wide *a, size_t n, wide *y)
{
    ref_real sum = 0;
    for (size_t j = 0; j < n; ++j) {
        wide pivot = a[j * n + j];
        if (!(pivot > 0))
            return NAN;
        sum += logl((ref_real)pivot) + (ref_real)(y[j] * y[j] / pivot);
        for (size_t i = j + 1; i < n; ++i) {
            wide l = a[i * n + j] / pivot;
            y[i] -= l * y[j];
            for (size_t q = j + 1; q <= i; ++q)
                a[i * n + q] -= l * a[q * n + j];
        }
    }
    return sum;
}

ref_real ref_dense_evidence(const ref_problem *p, bool intercept, size_t c, ref_real alpha, ref_real beta)
{
    size_t n = p->n - (intercept ? 1 : 0);
    ref_real *x = rows_of(p->x, p->n, p->d, intercept), *y = rows_of(p->y, p->n, p->k, intercept);
    wide *cov = covariance_of(x, n, p->d, alpha, beta), *v = ref_alloc(n, sizeof *v);
    for (size_t i = 0; i < n; ++i)
        v[i] = y[i * p->k + c];
    ref_real f = -(deviance(cov, n, v) + (ref_real)n * logl(two_pi)) / 2;
    free(x);
    free(y);
    free(cov);
    free(v);
    return f;
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

/* Rows times the roots of their weights, less their part along those roots, done twice. */
static ref_real *weighted_rows(const double *x, size_t n, size_t cols, const double *weight, bool intercept)
{
    ref_real *out = ref_widen(x, n * cols);
    for (size_t j = 0; j < cols; ++j) {
        for (size_t i = 0; i < n && weight; ++i)
            out[i * cols + j] *= sqrtl(weight[i]);
        for (int round = 0; round < 2 && intercept; ++round) {
            ref_real dot = 0, square = 0;
            for (size_t i = 0; i < n; ++i) {
                ref_real root = weight ? sqrtl(weight[i]) : 1;
                dot += root * out[i * cols + j];
                square += root * root;
            }
            for (size_t i = 0; i < n; ++i)
                out[i * cols + j] -= dot / square * (weight ? sqrtl(weight[i]) : 1);
        }
    }
    return out;
}

/* The columns of a (n,m) made orthogonal by rotations of pairs (Hestenes). */
static void rotate_columns(ref_real *a, size_t n, size_t m)
{
    for (int sweep = 0; sweep < 60; ++sweep) {
        ref_real worst = 0;
        for (size_t p = 0; p < m; ++p)
            for (size_t q = p + 1; q < m; ++q) {
                ref_real pp = 0, qq = 0, pq = 0;
                for (size_t i = 0; i < n; ++i) {
                    pp += a[i * m + p] * a[i * m + p];
                    qq += a[i * m + q] * a[i * m + q];
                    pq += a[i * m + p] * a[i * m + q];
                }
                if (pp == 0 || qq == 0 || fabsl(pq) <= 1e-19L * sqrtl(pp) * sqrtl(qq))
                    continue;
                worst = fmaxl(worst, fabsl(pq) / (sqrtl(pp) * sqrtl(qq)));
                ref_real zeta = (qq - pp) / (2 * pq);
                ref_real t = copysignl(1, zeta) / (fabsl(zeta) + hypotl(1, zeta)), c = 1 / hypotl(1, t);
                for (size_t i = 0; i < n; ++i) {
                    ref_real x = a[i * m + p], y = a[i * m + q];
                    a[i * m + p] = c * (x - t * y);
                    a[i * m + q] = c * (y + t * x);
                }
            }
        if (worst < 1e-18L)
            return;
    }
}

/* X (n,d) with more columns than rows: a (n,n) with a a' = X X'. */
static ref_real *narrow_root(const ref_real *x, size_t n, size_t d)
{
    ref_real *t = ref_alloc(n * d, sizeof *t), *none = ref_alloc(d, sizeof *none), *a = ref_alloc(n * n, sizeof *a);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < d; ++j)
            t[j * n + i] = x[i * d + j];
    ref_qr(t, d, n, none, 1);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j)
            a[i * n + j] = t[j * n + i];
    free(t);
    free(none);
    return a;
}

/* Energies of class c along the columns of a (n,m), which are orthogonal with squares q->s; y loses them, and is what
 * rests. */
static void energies(const ref_real *a, size_t n, size_t m, const ref_real *y, size_t c, ref_eigen *q)
{
    ref_real *left = ref_alloc(n, sizeof *left);
    for (size_t i = 0; i < n; ++i)
        left[i] = y[i * q->k + c];
    for (int round = 0; round < 2; ++round)
        for (size_t j = 0; j < m; ++j) {
            ref_real dot = 0;
            for (size_t i = 0; i < n && q->s[j] > 0; ++i)
                dot += a[i * m + j] * left[i];
            for (size_t i = 0; i < n && q->s[j] > 0; ++i)
                left[i] -= dot / q->s[j] * a[i * m + j];
            q->e[c * m + j] += round == 0 && q->s[j] > 0 ? dot * dot / q->s[j] : 0;
        }
    for (size_t i = 0; i < n; ++i)
        q->rest[c] += left[i] * left[i];
    free(left);
}

ref_eigen ref_eigen_exact(const ref_problem *p, const double *weight, bool intercept)
{
    size_t n = p->n, d = p->d, m = n < d ? n : d;
    ref_eigen q = {
        n - (intercept ? 1 : 0),         m, p->k, ref_alloc(m, sizeof *q.s), ref_alloc(p->k * m, sizeof *q.e),
        ref_alloc(p->k, sizeof *q.rest), 0};
    ref_real *x = weighted_rows(p->x, n, d, weight, intercept), *y = weighted_rows(p->y, n, p->k, weight, intercept);
    ref_real *a = n < d ? narrow_root(x, n, d) : x;
    rotate_columns(a, n, m);
    for (size_t j = 0; j < m; ++j) {
        for (size_t i = 0; i < n; ++i)
            q.s[j] += a[i * m + j] * a[i * m + j];
        q.largest = fmaxl(q.largest, q.s[j]);
    }
    /* Half as many digits are lost as in ref_eigen_of: a zero is (2^-64 of the root)^2, with room for the sums. */
    for (size_t j = 0; j < m; ++j)
        if (q.s[j] < 1e-34L * (ref_real)(n * m) * q.largest)
            q.s[j] = 0;
    for (size_t c = 0; c < p->k; ++c)
        energies(a, n, m, y, c, &q);
    if (a != x)
        free(a);
    free(x);
    free(y);
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
