/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal sparse logistic regression; see ref_sparse_logistic.h. */
#include "ref_sparse_logistic.h"

#include <math.h>
#include <stdlib.h>

static ref_real score(const ref_sparse *s, size_t i, const ref_real *w, ref_real b)
{
    for (size_t j = 0; j < s->p; ++j)
        b += s->a[i * s->p + j] * w[j];
    return b;
}

ref_real ref_sparse_objective(const ref_sparse *s, const ref_real *w, ref_real b)
{
    ref_real sum = 0;
    for (size_t i = 0; i < s->m; ++i) {
        ref_real x = -s->y[i] * score(s, i, w, b);
        sum += s->c[i] * (x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)));
    }
    for (size_t j = 0; j < s->p; ++j)
        sum += s->lambda * (s->mix * fabsl(w[j]) + (1 - s->mix) / 2 * w[j] * w[j]);
    return sum;
}

/* Slope and curvature of the loss along column j, or along the intercept for j = p. */
static ref_real slope(const ref_sparse *s, const ref_real *scores, size_t j, ref_real *curvature)
{
    ref_real g = 0;
    *curvature = 0;
    for (size_t i = 0; i < s->m; ++i) {
        ref_real a = j < s->p ? s->a[i * s->p + j] : 1, q = 1 / (1 + expl(s->y[i] * scores[i]));
        g -= s->c[i] * s->y[i] * a * q;
        *curvature += s->c[i] * a * a * q * (1 - q);
    }
    return g;
}

static ref_real *scores_of(const ref_sparse *s, const ref_real *w, ref_real b)
{
    ref_real *scores = ref_alloc(s->m, sizeof *scores);
    for (size_t i = 0; i < s->m; ++i)
        scores[i] = score(s, i, w, b);
    return scores;
}

ref_real ref_sparse_violation(const ref_sparse *s, const ref_real *w, ref_real b)
{
    ref_real *scores = scores_of(s, w, b), unused, worst = fabsl(slope(s, scores, s->p, &unused));
    for (size_t j = 0; j < s->p; ++j) {
        ref_real g = slope(s, scores, j, &unused) + s->lambda * (1 - s->mix) * w[j], bound = s->lambda * s->mix;
        ref_real off = w[j] > 0 ? fabsl(g + bound) : w[j] < 0 ? fabsl(g - bound) : fmaxl(fabsl(g) - bound, 0);
        worst = fmaxl(worst, off);
    }
    free(scores);
    return worst;
}

/* w_j to the minimum along it: the penalty is kept exact, the loss is bounded by a curvature twice its own (or its
 * greatest, a quarter of c a^2, when that is less), which a step that short does not exceed. */
static void one_coordinate(const ref_sparse *s, ref_real *scores, size_t j, ref_real *w)
{
    ref_real own, ridge = j < s->p ? s->lambda * (1 - s->mix) : 0, bound = j < s->p ? s->lambda * s->mix : 0, most = 0;
    ref_real g = slope(s, scores, j, &own) + ridge * *w;
    for (size_t i = 0; i < s->m; ++i) {
        ref_real a = j < s->p ? s->a[i * s->p + j] : 1;
        most += s->c[i] * a * a / 4;
    }
    ref_real h = fminl(2 * own, most) + ridge;
    if (!(h > 0))
        return;
    ref_real x = *w - g / h, to = x > bound / h ? x - bound / h : x < -bound / h ? x + bound / h : 0, step = to - *w;
    step = fmaxl(-0.5L, fminl(0.5L, step));
    for (size_t i = 0; i < s->m; ++i)
        scores[i] += step * (j < s->p ? s->a[i * s->p + j] : 1);
    *w = step == to - *w ? to : *w + step;
}

void ref_sparse_solve(const ref_sparse *s, ref_real small, ref_real *w, ref_real *b)
{
    ref_real *scores = scores_of(s, w, *b);
    for (size_t round = 0; round < 2000000; ++round) {
        for (size_t j = 0; j <= s->p; ++j)
            one_coordinate(s, scores, j, j < s->p ? &w[j] : b);
        if (round % 20 == 19 && ref_sparse_violation(s, w, *b) <= small)
            break;
    }
    free(scores);
}
