/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sydorov, Sakurada, Lampert, CVPR 2014: (1), (2) and the appendix as loops. */
#include "ref_fisher_back.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mixture {
    size_t k, d;
    ref_float *pi, *mu, *sigma; /* (k), (k, d), (k, d) */
} mixture;

static mixture mixture_of(const ref_theta *t)
{
    size_t k = t->k, kd = t->k * t->d;
    mixture m = {k, t->d, malloc((k + 2 * kd) * sizeof(ref_float)), NULL, NULL};
    ref_float sum = 0, top = t->values[0];
    m.mu = m.pi + k;
    m.sigma = m.mu + kd;
    for (size_t c = 0; c < k; ++c)
        top = fmaxl(top, t->values[c]);
    for (size_t c = 0; c < k; ++c)
        sum += m.pi[c] = expl(t->values[c] - top);
    for (size_t c = 0; c < k; ++c)
        m.pi[c] /= sum;
    for (size_t i = 0; i < kd; ++i) {
        m.mu[i] = t->values[k + i];
        m.sigma[i] = expl(t->values[k + kd + i]);
    }
    return m;
}

/* gamma (k), alpha (k, d) of one descriptor. */
static void posteriors(const mixture *m, const ref_float *x, ref_float *gamma, ref_float *alpha)
{
    ref_float top = -INFINITY, sum = 0;
    for (size_t c = 0; c < m->k; ++c) {
        gamma[c] = logl(m->pi[c]);
        for (size_t j = 0; j < m->d; ++j) {
            size_t at = c * m->d + j;
            alpha[at] = (x[j] - m->mu[at]) / m->sigma[at];
            gamma[c] -= logl(m->sigma[at]) + alpha[at] * alpha[at] / 2;
        }
        top = fmaxl(top, gamma[c]);
    }
    for (size_t c = 0; c < m->k; ++c)
        sum += gamma[c] = expl(gamma[c] - top);
    for (size_t c = 0; c < m->k; ++c)
        gamma[c] /= sum;
}

void ref_fisher_of(const ref_theta *theta, const ref_float *x, size_t n, ref_float *out)
{
    mixture m = mixture_of(theta);
    size_t k = m.k, d = m.d, kd = k * d;
    ref_float *gamma = malloc((k + kd) * sizeof *gamma), *alpha = gamma + k;
    for (size_t i = 0; i < 2 * kd; ++i)
        out[i] = 0;
    for (size_t t = 0; t < n; ++t) {
        posteriors(&m, x + t * d, gamma, alpha);
        for (size_t i = 0; i < kd; ++i) {
            ref_float share = gamma[i / d] / (ref_float)n;
            out[i] += share * alpha[i] / sqrtl(m.pi[i / d]);
            out[kd + i] += share * (alpha[i] * alpha[i] - 1) / sqrtl(2 * m.pi[i / d]);
        }
    }
    free(gamma);
    free(m.pi);
}

/* Adds the derivatives of one descriptor's F and G of component p, place q, to two rows of the Jacobian. */
static void add_row(const mixture *m, const ref_float *gamma, const ref_float *alpha, size_t p, size_t q,
                    ref_float over, ref_float *f, ref_float *g)
{
    size_t k = m->k, d = m->d, kd = k * d;
    ref_float a = alpha[p * d + q], b = a * a - 1, root = sqrtl(m->pi[p]), root2 = sqrtl(2 * m->pi[p]);
    for (size_t c = 0; c < k; ++c) {
        ref_float same = c == p, turn = m->pi[c] + same - 2 * gamma[c], away = same - gamma[c];
        f[c] += over * m->pi[c] * gamma[p] * a / (2 * m->pi[c] * root) * turn;  /* (7) */
        g[c] += over * m->pi[c] * gamma[p] * b / (2 * m->pi[c] * root2) * turn; /* (10) */
        for (size_t j = 0; j < d; ++j) {
            size_t at = c * d + j;
            ref_float s = m->sigma[at], z = alpha[at], both = same * (j == q);
            f[k + at] += over * gamma[p] / (s * root) * (a * z * away - both);                    /* (8) */
            g[k + at] += over * gamma[p] * z / (s * root2) * (b * away - 2 * both);               /* (11) */
            f[k + kd + at] += over * s * gamma[p] * a / (s * root) * ((z * z - 1) * away - both); /* (9) */
            g[k + kd + at] +=
                over * s * gamma[p] / (s * root2) * (b * (z * z - 1) * away - 2 * both * z * z); /* (12) */
        }
    }
}

void ref_fisher_jacobian(const ref_theta *theta, const float *x, size_t n, ref_float *out)
{
    mixture m = mixture_of(theta);
    size_t k = m.k, d = m.d, kd = k * d, width = k + 2 * kd;
    ref_float *gamma = malloc((k + kd + d) * sizeof *gamma), *alpha = gamma + k, *row = alpha + kd;
    for (size_t i = 0; i < 2 * kd * width; ++i)
        out[i] = 0;
    for (size_t t = 0; t < n; ++t) {
        for (size_t j = 0; j < d; ++j)
            row[j] = (ref_float)x[t * d + j];
        posteriors(&m, row, gamma, alpha);
        for (size_t i = 0; i < kd; ++i)
            add_row(&m, gamma, alpha, i / d, i % d, 1 / (ref_float)n, out + i * width, out + (kd + i) * width);
    }
    free(gamma);
    free(m.pi);
}
