/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The literal algorithm: weights after every sample are added up for the average, nothing is blocked. */
#include "ref_online.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct learner {
    ref_rule rule;
    double c, phi; /* c: of the present sample */
    size_t d, k;   /* d with the constant */
    double *mu, *sigma;
    size_t close; /* decisions that hang on rounding */
} learner;

/* Steps of C on values of few bits are exact; so are weights that are all 0. */
static void note_close(learner *l, double m, double v)
{
    bool wide = l->rule == REF_CW || l->rule == REF_SCW || l->rule == REF_SCW2;
    double asked = wide ? l->phi * sqrt(v) : l->rule == REF_PERCEPTRON ? 0 : 1;
    bool exact = m == 0 || (l->rule <= REF_SGD && m == asked);
    l->close += !exact && fabs(m - asked) < 1e-5 * fmax(1, asked);
}

static bool step(const learner *l, double m, double v, double length, double *a, double *b)
{
    double phi = l->phi, c = l->c, psi = 1 + phi * phi / 2, zeta = 1 + phi * phi;
    *a = *b = 0;
    if (l->rule == REF_PERCEPTRON && m <= 0)
        *a = c;
    if (l->rule == REF_SGD && m < 1)
        *a = c;
    if (l->rule == REF_PA && m < 1 && length > 0)
        *a = fmin(c, (1 - m) / length);
    if (l->rule == REF_PA2 && m < 1)
        *a = (1 - m) / (length + 1 / (2 * c));
    if ((l->rule == REF_AROW || l->rule == REF_NHERD) && m < 1) {
        *a = (1 - m) / (v + 1 / c);
        *b = l->rule == REF_AROW ? c : 2 * c + c * c * v;
    }
    if ((l->rule == REF_CW || l->rule == REF_SCW) && v > 0 && m < phi * sqrt(v)) {
        *a = fmax(0, (-m * psi + sqrt(m * m * pow(phi, 4) / 4 + v * phi * phi * zeta)) / (v * zeta));
        if (l->rule == REF_SCW)
            *a = fmin(c, *a);
    }
    if (l->rule == REF_SCW2 && v > 0 && m < phi * sqrt(v)) {
        double n = v + 1 / (2 * c), g = phi * sqrt(phi * phi * m * m * v * v + 4 * n * v * (n + v * phi * phi));
        *a = fmax(0, (-(2 * m * n + phi * phi * m * v) + g) / (2 * (n * n + n * v * phi * phi)));
    }
    if ((l->rule == REF_CW || l->rule == REF_SCW || l->rule == REF_SCW2) && *a > 0 && phi > 0)
        *b = 2 / (-v + sqrt(v * v + 4 * v / (*a * *a * phi * phi)));
    return *a > 0;
}

static void move(learner *l, size_t c, const double *x, double a, double b)
{
    for (size_t i = 0; i < l->d; ++i) {
        double *s = &l->sigma[c * l->d + i];
        l->mu[c * l->d + i] += a * (l->rule >= REF_CW ? *s : 1) * x[i];
        *s = 1 / (1 / *s + b * x[i] * x[i]);
    }
}

static double score(const learner *l, size_t c, const double *x)
{
    double s = 0;
    for (size_t i = 0; i < l->d; ++i)
        s += l->mu[c * l->d + i] * x[i];
    return s;
}

static double spread(const learner *l, size_t c, const double *x)
{
    double s = 0;
    for (size_t i = 0; i < l->d; ++i)
        s += l->sigma[c * l->d + i] * x[i] * x[i];
    return s;
}

static size_t one_multiclass(learner *l, const double *x, const bool *positive, double length)
{
    size_t y = 0, r = 0;
    double a, b, best = -INFINITY;
    while (!positive[y])
        ++y;
    for (size_t c = 0; c < l->k; ++c)
        if (c != y && score(l, c, x) > best) {
            best = score(l, c, x);
            r = c;
        }
    note_close(l, score(l, y, x) - best, spread(l, y, x) + spread(l, r, x));
    if (!step(l, score(l, y, x) - best, spread(l, y, x) + spread(l, r, x), 2 * length, &a, &b))
        return 0;
    move(l, y, x, a, b);
    move(l, r, x, -a, b);
    return 1;
}

static size_t one_against_rest(learner *l, const double *x, const bool *positive, const bool *skip, const double *side,
                               double length)
{
    size_t updates = 0;
    double cost = l->c;
    for (size_t c = 0; c < l->k; ++c) {
        double sign = positive[c] ? 1 : -1, a, b;
        l->c = cost * (side ? side[2 * c + positive[c]] : 1);
        if (skip && skip[c])
            continue;
        note_close(l, sign * score(l, c, x), spread(l, c, x));
        if (!step(l, sign * score(l, c, x), spread(l, c, x), length, &a, &b))
            continue;
        move(l, c, x, sign * a, b);
        ++updates;
    }
    return updates;
}

static size_t one_sample(learner *l, const ref_online_job *j, size_t t, double *row)
{
    const bool *positive = j->positive + t * j->k, *skip = j->skip ? j->skip + t * j->k : NULL;
    double length = 0;
    memcpy(row, j->x + t * j->d, j->d * sizeof *row);
    row[j->d] = j->bias ? 1 : 0;
    for (size_t i = 0; i <= j->d; ++i)
        length += row[i] * row[i];
    l->c = j->cost * (j->weight ? j->weight[t] : 1);
    if (l->c == 0)
        return 0;
    return j->ovr ? one_against_rest(l, row, positive, skip, j->side, length)
                  : one_multiclass(l, row, positive, length);
}

size_t ref_online(const ref_online_job *j, double *w, size_t *close)
{
    size_t width = j->d + 1, size = j->k * width, updates = 0;
    learner l = {j->rule, 0, j->phi, width, j->k, calloc(size, sizeof(double)), malloc(size * sizeof(double)), 0};
    double *sum = calloc(size, sizeof *sum), *row = malloc(width * sizeof *row);
    for (size_t i = 0; i < size; ++i)
        l.sigma[i] = 1;
    if (j->start)
        memcpy(l.mu, j->start, size * sizeof *l.mu);
    for (size_t pass = 0; pass < j->passes; ++pass)
        for (size_t t = 0; t < j->n; ++t) {
            updates += one_sample(&l, j, t, row);
            for (size_t i = 0; i < size; ++i)
                sum[i] += l.mu[i];
        }
    for (size_t i = 0; i < size; ++i)
        w[i] = j->average ? sum[i] / (double)(j->n * j->passes) : l.mu[i];
    *close = l.close;
    free(l.mu);
    free(l.sigma);
    free(sum);
    free(row);
    return updates;
}
