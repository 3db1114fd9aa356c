/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal smooth classifiers; see ref_logistic.h. */
#include "ref_logistic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ref_real feature(const ref_smooth *p, size_t i, size_t j)
{
    return j < p->d ? (ref_real)p->x[i * p->d + j] : p->bias ? 1 : 0;
}

static void scores(const ref_smooth *p, const ref_real *w, size_t i, ref_real *s)
{
    for (size_t k = 0; k < p->k; ++k) {
        s[k] = 0;
        for (size_t j = 0; j <= p->d; ++j)
            s[k] += feature(p, i, j) * w[k * (p->d + 1) + j];
    }
}

/* Value, slopes (k) and second derivatives (k,k) of one row's loss. */
static ref_real row_loss(const ref_smooth *p, size_t i, const ref_real *s, ref_real *slope, ref_real *curve)
{
    const double *y = p->y + i * p->k, *c = p->c + i * p->k;
    ref_real value = 0, total = 0, most = s[0];
    memset(curve, 0, p->k * p->k * sizeof *curve);
    for (size_t k = 1; k < p->k; ++k)
        most = fmaxl(most, s[k]);
    for (size_t k = 0; k < p->k; ++k)
        total += expl(s[k] - most);
    for (size_t k = 0; k < p->k; ++k) {
        ref_real sign = y[k] > 0.5 ? 1 : -1, m = sign * s[k], cost = (ref_real)c[k];
        if (p->loss == REF_LOGISTIC) {
            ref_real q = 1 / (1 + expl(m));
            value += cost * (m > 0 ? log1pl(expl(-m)) : -m + log1pl(expl(m)));
            slope[k] = -cost * sign * q;
            curve[k * p->k + k] = cost * q * (1 - q);
        } else if (p->loss == REF_SQUARED_HINGE) {
            ref_real slack = fmaxl(0, 1 - m);
            value += cost * slack * slack;
            slope[k] = -2 * cost * sign * slack;
            curve[k * p->k + k] = slack > 0 ? 2 * cost : 0;
        } else {
            ref_real q = expl(s[k] - most) / total;
            cost = (ref_real)c[0];
            value += sign > 0 ? cost * (most + logl(total) - s[k]) : 0;
            slope[k] = cost * (q - (sign > 0 ? 1 : 0));
            for (size_t l = 0; l < p->k; ++l)
                curve[k * p->k + l] = cost * q * ((k == l ? 1 : 0) - expl(s[l] - most) / total);
        }
    }
    return value;
}

static bool penalised(const ref_smooth *p, size_t j)
{
    return j < p->d || (p->bias && p->penalised);
}

/* f; also its gradient (k,d+1) when g is given, and its Hessian when h is. */
static ref_real derivatives(const ref_smooth *p, const ref_real *w, ref_real *g, ref_real *h)
{
    size_t width = p->d + 1, m = p->k * width;
    ref_real f = 0, *s = ref_alloc(p->k, sizeof *s), *slope = ref_alloc(p->k, sizeof *slope),
             *curve = ref_alloc(p->k * p->k, sizeof *curve);
    for (size_t a = 0; a < m; ++a) {
        ref_real ridge = penalised(p, a % width) ? 1 : 0;
        f += ridge * w[a] * w[a] / 2;
        if (g)
            g[a] = ridge * w[a];
        for (size_t b = 0; h && b < m; ++b)
            h[a * m + b] = a == b ? ridge : 0;
    }
    for (size_t i = 0; i < p->n; ++i) {
        scores(p, w, i, s);
        f += row_loss(p, i, s, slope, curve);
        for (size_t a = 0; g && a < m; ++a)
            g[a] += slope[a / width] * feature(p, i, a % width);
        for (size_t a = 0; h && a < m; ++a)
            for (size_t b = 0; b < m; ++b)
                h[a * m + b] +=
                    curve[a / width * p->k + b / width] * feature(p, i, a % width) * feature(p, i, b % width);
    }
    free(s);
    free(slope);
    free(curve);
    return f;
}

ref_real ref_smooth_objective(const ref_smooth *p, const ref_real *w)
{
    return derivatives(p, w, NULL, NULL);
}

void ref_smooth_gradient(const ref_smooth *p, const ref_real *w, ref_real *g)
{
    derivatives(p, w, g, NULL);
}

/* One Newton step, halved until f falls; false when it does not any more. The softmax does not see a constant added to
 * all its free intercepts: a shift far below every curvature that matters keeps the factor definite and moves no
 * optimum. */
static bool step(const ref_smooth *p, ref_real *w, ref_real *g, ref_real *h, ref_real *d, ref_real *next)
{
    size_t m = p->k * (p->d + 1);
    ref_real f = derivatives(p, w, g, h), most = 0;
    for (size_t a = 0; a < m; ++a)
        most = fmaxl(most, h[a * m + a]);
    for (size_t a = 0; a < m; ++a) {
        h[a * m + a] += 1e-13L * most + (most == 0 ? 1 : 0);
        d[a] = -g[a];
    }
    if (!ref_cholesky(h, m))
        abort();
    ref_cholesky_solve(h, m, d);
    for (ref_real t = 1; t > 1e-9L; t /= 2) {
        for (size_t a = 0; a < m; ++a)
            next[a] = w[a] + t * d[a];
        if (derivatives(p, next, NULL, NULL) < f) {
            memcpy(w, next, m * sizeof *w);
            return true;
        }
    }
    return false;
}

ref_real ref_smooth_solve(const ref_smooth *p, ref_real *w)
{
    size_t m = p->k * (p->d + 1);
    ref_real *g = ref_alloc(m, sizeof *g), *h = ref_alloc(m * m, sizeof *h), *d = ref_alloc(m, sizeof *d),
             *next = ref_alloc(m, sizeof *next);
    memset(w, 0, m * sizeof *w);
    for (int i = 0; i < 200 && step(p, w, g, h, d, next); ++i)
        ;
    free(g);
    free(h);
    free(d);
    free(next);
    return ref_smooth_objective(p, w);
}

ref_real ref_smooth_rounding(const ref_smooth *p, const ref_real *w, ref_real u)
{
    size_t width = p->d + 1;
    ref_real sum = ref_smooth_objective(p, w), *s = ref_alloc(p->k, sizeof *s), *slope = ref_alloc(p->k, sizeof *slope),
             *curve = ref_alloc(p->k * p->k, sizeof *curve);
    for (size_t i = 0; i < p->n; ++i) {
        scores(p, w, i, s);
        row_loss(p, i, s, slope, curve);
        for (size_t k = 0; k < p->k; ++k) {
            ref_real size = 0;
            for (size_t j = 0; j <= p->d; ++j)
                size += fabsl(feature(p, i, j) * w[k * width + j]);
            sum += (fabsl(slope[k]) + u * size * curve[k * p->k + k]) * size;
        }
    }
    free(s);
    free(slope);
    free(curve);
    return u * sum;
}
