/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal transfer methods; see ref_transfer.h. */
#include "ref_transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double column_value(ref_columns kind, size_t j, const double *row, double common, double label, ref_rng *rng)
{
    double own = ref_normal(rng) + (j % 5 == 0 ? 0.5 * label : 0);
    if (kind == REF_CORRELATED)
        return own + common;
    if (kind == REF_TWINS && j % 2 == 1)
        return j % 4 == 1 ? row[j - 1] : 1 - 3 * row[j - 1];
    return kind == REF_DEAD && j % 3 == 2 ? 0.1 * (double)j : own;
}

ref_transfer ref_transfer_of(ref_columns kind, size_t m, size_t p, bool weighted, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    double *x = ref_alloc(m * p, sizeof *x), *y = ref_alloc(m, sizeof *y);
    double *weights = weighted ? ref_alloc(m, sizeof *weights) : NULL;
    for (size_t i = 0; i < m; ++i) {
        double common = ref_normal(&rng);
        y[i] = i == 0 ? -1 : i == 1 || ref_unit(&rng) > 0.5 ? 1 : -1;
        for (size_t j = 0; j < p; ++j)
            x[i * p + j] = column_value(kind, j, x + i * p, common, y[i], &rng);
        if (weighted)
            weights[i] = 0.2 + ref_unit(&rng);
    }
    return ref_transfer_from(m, p, x, y, weights);
}

/* out (m) = sqrt(share) (x - mean)/scale of a column; 0 when all its values are the same. */
static void standardise(const ref_transfer *r, const double *x, size_t step, ref_real *out, size_t out_step,
                        ref_real *mean, ref_real *scale)
{
    ref_real square = 0;
    bool same = true;
    *mean = 0;
    for (size_t i = 0; i < r->m; ++i) {
        *mean += r->share[i] * x[i * step];
        same = same && x[i * step] == x[0];
    }
    for (size_t i = 0; i < r->m; ++i)
        square += r->share[i] * (x[i * step] - *mean) * (x[i * step] - *mean);
    *scale = same ? 0 : sqrtl(square);
    for (size_t i = 0; i < r->m; ++i)
        out[i * out_step] = same ? 0 : sqrtl(r->share[i]) * (x[i * step] - *mean) / *scale;
}

ref_transfer ref_transfer_from(size_t m, size_t p, double *x, double *y, double *weights)
{
    ref_transfer r = {.m = m, .p = p, .x = x, .y = y, .weights = weights};
    ref_real total = 0;
    r.z = ref_alloc(m * p, sizeof *r.z);
    r.t = ref_alloc(m, sizeof *r.t);
    r.share = ref_alloc(m, sizeof *r.share);
    r.mean = ref_alloc(p, sizeof *r.mean);
    r.scale = ref_alloc(p, sizeof *r.scale);
    for (size_t i = 0; i < m; ++i)
        total += weights ? weights[i] : 1;
    for (size_t i = 0; i < m; ++i)
        r.share[i] = (weights ? weights[i] : 1) / total;
    for (size_t j = 0; j < p; ++j)
        standardise(&r, x + j, p, r.z + j, p, &r.mean[j], &r.scale[j]);
    standardise(&r, y, 1, r.t, 1, &r.y_mean, &r.y_scale);
    return r;
}

void ref_transfer_narrow(ref_transfer *r)
{
    double *x = r->x, *y = r->y, *weights = r->weights;
    for (size_t i = 0; i < r->m * r->p; ++i)
        x[i] = (double)(float)x[i];
    r->x = r->y = r->weights = NULL;
    ref_transfer_free(r);
    *r = ref_transfer_from(r->m, r->p, x, y, weights);
}

void ref_transfer_group(ref_transfer *r, size_t groups, size_t targets, const size_t *ends, double given)
{
    size_t all = 0, large = 0, foreign = 0;
    for (size_t j = 0, g = 0; j < r->p; ++j) {
        while (j >= ends[g])
            ++g;
        all += r->scale[j] > 0;
        foreign += g >= targets && r->scale[j] > 0;
    }
    for (size_t g = 0; g < targets; ++g)
        for (size_t j = g ? ends[g - 1] : 0; j < ends[g]; ++j)
            if (r->scale[j] > 0) {
                ++large;
                break;
            }
    large += foreign > 0;
    for (size_t g = 0; g < groups; ++g) {
        ref_real sum = 0;
        size_t n = 0, first = g ? ends[g - 1] : 0;
        for (size_t j = first; j < ends[g]; ++j) {
            sum += r->scale[j] * r->scale[j];
            n += r->scale[j] > 0;
        }
        ref_real parts = (ref_real)large, share = (ref_real)all / parts;
        if (given > 0 && foreign > 0 && large > 1)
            share = (ref_real)all * (g < targets ? (1 - (ref_real)given) / (parts - 1) : (ref_real)given);
        ref_real own = sqrtl(sum / share);
        if (g >= targets)
            own = sqrtl(sum / (ref_real)n) * sqrtl((ref_real)foreign / share);
        for (size_t j = first; j < ends[g]; ++j)
            for (size_t i = 0; r->scale[j] > 0 && i < r->m; ++i)
                r->z[i * r->p + j] *= r->scale[j] / own;
        for (size_t j = first; j < ends[g]; ++j)
            r->scale[j] = r->scale[j] > 0 ? own : 0;
    }
}

void ref_transfer_free(ref_transfer *r)
{
    free(r->x);
    free(r->y);
    free(r->weights);
    free(r->z);
    free(r->t);
    free(r->share);
    free(r->mean);
    free(r->scale);
}

static ref_real product(const ref_transfer *r, size_t i, size_t j)
{
    ref_real sum = 0;
    for (size_t row = 0; row < r->m; ++row)
        sum += r->z[row * r->p + i] * (j < r->p ? r->z[row * r->p + j] : r->t[row]);
    return sum;
}

bool ref_transfer_objective(const ref_transfer *r, const size_t *s, size_t n, ref_real lambda, ref_real *value,
                            ref_real *w)
{
    ref_real *a = ref_alloc(n * n, sizeof *a), *b = ref_alloc(n, sizeof *b), *v = ref_alloc(n, sizeof *v);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j)
            a[i * n + j] = product(r, s[i], s[j]) + (i == j ? lambda : 0);
        v[i] = b[i] = product(r, s[i], r->p);
    }
    bool fine = ref_cholesky(a, n) && (lambda > 0 || n == 0 || a[n * n - 1] * a[n * n - 1] > 1e-10L);
    *value = 0;
    if (fine) {
        ref_cholesky_solve(a, n, v);
        for (size_t i = 0; i < n; ++i) {
            *value += b[i] * v[i];
            if (w)
                w[i] = v[i];
        }
    }
    free(a);
    free(b);
    free(v);
    return fine;
}

static bool chosen(const size_t *picks, size_t n, size_t i)
{
    for (size_t s = 0; s < n; ++s)
        if (picks[s] == i)
            return true;
    return false;
}

size_t ref_transfer_greedy(const ref_transfer *r, ref_real lambda, ref_real delta, size_t most, size_t *picks,
                           ref_real *objective)
{
    size_t n = 0;
    while (n < most && n < r->p) {
        ref_real before = n ? objective[n - 1] : 0, best = before, value = 0;
        size_t at = r->p;
        for (size_t i = 0; i < r->p; ++i) {
            if (r->scale[i] == 0 || chosen(picks, n, i))
                continue;
            picks[n] = i;
            if (ref_transfer_objective(r, picks, n + 1, lambda, &value, NULL) &&
                value > best + (at == r->p ? 0 : 1e-13L)) {
                best = value;
                at = i;
            }
        }
        if (at == r->p || (n > 0 && best - before < delta))
            break;
        picks[n] = at;
        objective[n++] = best;
    }
    return n;
}

ref_real ref_transfer_exhaustive(const ref_transfer *r, size_t n, ref_real lambda)
{
    ref_real best = 0, value = 0;
    size_t s[16];
    for (unsigned set = 0; set < 1u << r->p; ++set) {
        size_t count = 0;
        for (size_t j = 0; j < r->p; ++j)
            if (set >> j & 1u && count <= n)
                s[count++] = j;
        if (count == n && ref_transfer_objective(r, s, n, lambda, &value, NULL) && value > best)
            best = value;
    }
    return best;
}

/* Column s of the design: (x - mean)/scale, or 1 behind the last. */
static ref_real entry(const ref_transfer *r, size_t i, const size_t *s, size_t n, size_t c)
{
    if (c == n)
        return 1;
    return r->scale[s[c]] > 0 ? ((ref_real)r->x[i * r->p + s[c]] - r->mean[s[c]]) / r->scale[s[c]] : 0;
}

/* w (n + 1), intercept last, without row `out` (m: with all). */
static void fit(const ref_transfer *r, const double *t, const size_t *s, size_t n, ref_real lambda, size_t out,
                ref_real *w)
{
    ref_real *a = ref_alloc((n + 1) * (n + 1), sizeof *a);
    memset(w, 0, (n + 1) * sizeof *w);
    for (size_t i = 0; i < r->m; ++i)
        for (size_t c = 0; i != out && c <= n; ++c) {
            ref_real u = r->share[i] * entry(r, i, s, n, c);
            w[c] += u * t[i];
            for (size_t d = 0; d <= n; ++d)
                a[c * (n + 1) + d] += u * entry(r, i, s, n, d);
        }
    for (size_t c = 0; c < n; ++c)
        a[c * (n + 1) + c] += lambda;
    if (!ref_cholesky(a, n + 1))
        abort();
    ref_cholesky_solve(a, n + 1, w);
    free(a);
}

void ref_transfer_loo(const ref_transfer *r, const double *t, const size_t *s, size_t n, ref_real lambda, ref_real *out)
{
    ref_real *w = ref_alloc(n + 1, sizeof *w);
    for (size_t i = 0; i < r->m; ++i) {
        fit(r, t, s, n, lambda, i, w);
        out[i] = 0;
        for (size_t c = 0; c <= n; ++c)
            out[i] += w[c] * entry(r, i, s, n, c);
    }
    free(w);
}

void ref_transfer_ridge(const ref_transfer *r, const double *t, const size_t *s, size_t n, ref_real lambda, ref_real *w,
                        ref_real *b)
{
    ref_real *v = ref_alloc(n + 1, sizeof *v);
    fit(r, t, s, n, lambda, r->m, v);
    *b = v[n];
    for (size_t c = 0; c < n; ++c) {
        w[c] = r->scale[s[c]] > 0 ? v[c] / r->scale[s[c]] : 0;
        *b -= w[c] * r->mean[s[c]];
    }
    free(v);
}

ref_transfer ref_transfer_without(const ref_transfer *r, const size_t *part, size_t which, bool balanced)
{
    double *x = ref_alloc(r->m * r->p, sizeof *x), *y = ref_alloc(r->m, sizeof *y);
    double *weights = ref_alloc(r->m, sizeof *weights), count[2] = {0};
    size_t n = 0;
    for (size_t i = 0; i < r->m; ++i)
        if (part[i] != which) {
            memcpy(x + n * r->p, r->x + i * r->p, r->p * sizeof *x);
            weights[n] = r->weights ? r->weights[i] : 1;
            count[r->y[i] > 0] += weights[n];
            y[n++] = r->y[i];
        }
    for (size_t i = 0; i < n; ++i)
        weights[i] /= balanced ? count[y[i] > 0] : 1;
    return ref_transfer_from(n, r->p, x, y, weights);
}

void ref_transfer_greedy_without(const ref_transfer *r, const size_t *part, size_t which, bool balanced,
                                 ref_real lambda, ref_real delta, size_t most, ref_real *out)
{
    ref_transfer others = ref_transfer_without(r, part, which, balanced);
    size_t *picks = ref_alloc(most + 1, sizeof *picks), count = 0;
    ref_real *objective = ref_alloc(most + 1, sizeof *objective), *w = ref_alloc(most + 1, sizeof *w), b = 0;
    bool both = others.y_scale > 0;
    if (both)
        count = ref_transfer_greedy(&others, lambda, delta, most, picks, objective);
    for (size_t s = 0; s <= most; ++s) {
        size_t n = s < count ? s : count;
        if (both)
            ref_transfer_ridge(&others, others.y, picks, n, lambda, w, &b);
        for (size_t i = 0; i < r->m; ++i) {
            ref_real sum = both ? b : (ref_real)others.y[0];
            for (size_t c = 0; c < n; ++c)
                sum += w[c] * r->x[i * r->p + picks[c]];
            if (part[i] == which)
                out[s * r->m + i] = sum;
        }
    }
    free(picks);
    free(objective);
    free(w);
    ref_transfer_free(&others);
}
