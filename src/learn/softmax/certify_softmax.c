/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weak duality for the multinomial model. For any probabilities q_i of the rows, with theta_i = c_i (q_i - e_y)
 *
 *   min f >= D(q) = sum_i c_i H(q_i) - 1/2 sum_k |sum_i theta_ik x_i|^2,    H the entropy,
 *
 * and with free intercepts only if also sum_i theta_ik = 0 for every class k. The softmax of the scores misses that by the
 * slopes in b, e_k = m_k - n_k with m_k = sum c q_k the mass that class k gets and n_k what its rows have. A q' that fits takes
 * the share e_k / m_k from every row of a class with too much and gives it to those with too little:
 *
 *   -q' log q' >= (1 - e_k / m_k) (-q log q) where mass is taken, -q log q - (what is given) where it is given,
 *   |sum theta'_ik x_i| <= |sum theta_ik x_i| + |e_k| max |x_i|,
 *
 * so that D(q') is bounded without another pass. At the best b for w all e are 0. Where they cost too much, the pass is made again
 * with another b for q alone. Oracle: ref_logistic. */
#include "learn/softmax/certify_softmax.h"
#include "learn/linear/certify.h"
#include "learn/design/sweep.h"

#include <math.h>
#include <string.h>

static const double ABSENT = -60, MOST_PART = 0.7, WORTH = 0.1; /* exp of ABSENT is nothing */
enum { ROUNDS = 8, CHUNK = 16, MOST_CHUNKS = 16 };

typedef struct work {
    tn_ctx *ctx;
    const tnp_softmax *l;
    tnp_sweep *sweep;
    size_t k, start, count;
    const double *s;
    double *t;
    double *shift;   /* k: what b is moved by for q */
    double *partial; /* (chunks, 2 + 3 k): loss, longest, mass, disorder, bend */
} work;

/* log sum_j exp(s_j - s_own). The largest term is taken out, and log1p of the others: what is left of a row that is certain is
 * below the last digit of its scores. */
double tnp_softmax_row_loss(const double *s, size_t classes, size_t own)
{
    size_t most = 0;
    double rest = 0;
    for (size_t j = 1; j < classes; ++j)
        most = s[j] > s[most] ? j : most;
    for (size_t j = 0; j < classes; ++j)
        rest += j == most ? 0 : exp(s[j] - s[most]);
    return (s[most] - s[own]) + log1p(rest);
}

/* Row i of the panel into column i of t. */
static void measure_row(const work *g, size_t i, double *sum)
{
    const tnp_targets *y = g->l->y;
    size_t k = g->k, row = g->start + i, own = y->cls[y->first[row]];
    const double *s = g->s + i * k;
    double c = (double)g->l->cost * (g->l->row_weight ? (double)g->l->row_weight[row] : 1);
    double moved = s[0] + g->shift[0], other = 0;
    for (size_t j = 1; j < k; ++j)
        moved = fmax(moved, s[j] + g->shift[j]);
    for (size_t j = 0; j < k; ++j) {
        double *t = g->t + j * g->count + i;
        *t = exp(s[j] + g->shift[j] - moved);
        other += *t;
    }
    sum[0] += c * tnp_softmax_row_loss(s, k, own);
    for (size_t j = 0; j < k; ++j) {
        double *t = g->t + j * g->count + i, q = *t / other;
        sum[2 + j] += c * q;
        sum[2 + k + j] += q > 0 ? -c * q * (s[j] + g->shift[j] - moved - log(other)) : 0;
        sum[2 + 2 * k + j] += c * q * (1 - q);
        *t = c * (q - (j == own ? 1 : 0));
    }
}

static void measure_chunk(void *arg, size_t chunk)
{
    const work *g = arg;
    size_t dim = g->sweep->x->dim;
    double *sum = g->partial + chunk * (2 + 3 * g->k);
    memset(sum, 0, (2 + 3 * g->k) * sizeof *sum);
    for (size_t i = chunk * CHUNK; i < tnp_min(g->count, (chunk + 1) * CHUNK); ++i) {
        measure_row(g, i, sum);
        sum[1] = fmax(sum[1], tnp_square(g->sweep->rows + i * dim, dim));
    }
}

typedef struct pass {
    work g;
    tnp_softmax_sums sums;
    double *bend; /* k: sum c q (1 - q), the curvature in b */
} pass;

static void measure(void *arg, size_t start, size_t count, const double *s, double *t)
{
    pass *p = arg;
    work *g = &p->g;
    size_t chunks = (count + CHUNK - 1) / CHUNK;
    g->start = start;
    g->count = count;
    g->s = s;
    g->t = t;
    tnp_parallel(g->ctx,
                 tnp_threads_for(g->ctx, (64.0 * (double)g->k + 2.0 * (double)g->sweep->x->dim) * (double)count),
                 chunks, measure_chunk, g);
    for (size_t c = 0; c < chunks; ++c) {
        const double *sum = g->partial + c * (2 + 3 * g->k);
        p->sums.loss += sum[0];
        p->sums.longest = fmax(p->sums.longest, sum[1]);
        for (size_t j = 0; j < g->k; ++j) {
            p->sums.mass[j] += sum[2 + j];
            p->sums.disorder[j] += sum[2 + g->k + j];
            p->bend[j] += sum[2 + 2 * g->k + j];
        }
    }
}

double tnp_softmax_bound(const tnp_softmax_sums *sums, size_t k, size_t dim, bool bias, bool penalised,
                         const double *back)
{
    bool fixed = bias && !penalised;
    double bound = 0, size = 0;
    for (size_t j = 0; j < k; ++j) {
        double off = fixed ? sums->mass[j] - sums->own[j] : 0, share = off > 0 ? off / sums->mass[j] : 0;
        double length =
            sqrt(tnp_square(back + j * (dim + 1), dim + (bias && penalised))) + fabs(off) * sqrt(sums->longest);
        bound += (1 - share) * sums->disorder[j] - fmax(0, off) - length * length / 2;
        size += sums->disorder[j] + length * length / 2;
    }
    return bound - tnp_certify_rounding(size);
}

static void clear(pass *p)
{
    size_t bytes = p->g.k * sizeof(double);
    p->sums.loss = p->sums.longest = 0;
    memset(p->sums.mass, 0, bytes);
    memset(p->sums.disorder, 0, bytes);
    memset(p->bend, 0, bytes);
}

/* Moves b for q towards where every class has its mass: Newton's step where all classes share alike, a part of it where two are
 * each other's only rivals. */
static void shift(pass *p)
{
    double k = (double)p->g.k, part = fmin((k - 1) / k, MOST_PART);
    for (size_t j = 0; j < p->g.k; ++j) {
        double off = p->sums.mass[j] - p->sums.own[j];
        p->g.shift[j] += p->sums.own[j] == 0 ? ABSENT : p->bend[j] > 0 ? -part * off / p->bend[j] : 0;
    }
}

static tn_status pass_alloc(tn_ctx *ctx, pass *p, size_t k)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &p->sums.mass));
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &p->sums.own));
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &p->sums.disorder));
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &p->bend));
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &p->g.shift));
    TN_TRY(tnp_alloc_raw(ctx, MOST_CHUNKS * (2 + 3 * k), sizeof(double), &p->g.partial));
done:
    return st;
}

static void pass_destroy(pass *p)
{
    tnp_free(p->sums.mass);
    tnp_free(p->sums.own);
    tnp_free(p->sums.disorder);
    tnp_free(p->bend);
    tnp_free(p->g.shift);
    tnp_free(p->g.partial);
}

size_t tnp_certify_softmax_bytes(size_t dim, size_t k)
{
    return tnp_sweep_bytes(dim, k) + 16 * k * (dim + 1) + 8 * (5 * k + MOST_CHUNKS * (2 + 3 * k));
}

tn_status tnp_certify_softmax(tn_ctx *ctx, tnp_design *design, const tnp_softmax_claim *claim, double *objective,
                              double *gap)
{
    tn_status st = TN_OK;
    tnp_sweep sweep = {0};
    pass p = {.g = {.ctx = ctx}};
    double *w = NULL, *back = NULL, best = 0, f = 0, penalty = 0; /* no f is below 0 */
    const tnp_softmax *l = claim->loss;
    size_t dim = design->dim, width = dim + 1, k = l->y->classes;
    bool fixed = claim->bias && !claim->penalised;
    TN_TRY(tnp_sweep_init(ctx, design, k, &sweep));
    TN_TRY(tnp_alloc_raw(ctx, k * width, sizeof *w, &w));
    TN_TRY(tnp_alloc_raw(ctx, k * width, sizeof *back, &back));
    TN_TRY(pass_alloc(ctx, &p, k));
    p.g.l = l;
    p.g.sweep = &sweep;
    p.g.k = k;
    for (size_t i = 0; i < l->y->rows; ++i)
        p.sums.own[l->y->cls[l->y->first[i]]] += (double)l->cost * (l->row_weight ? (double)l->row_weight[i] : 1);
    for (size_t i = 0; i < k * width; ++i) {
        w[i] = (double)claim->w[i];
        penalty += i % width < dim || claim->penalised ? w[i] * w[i] / 2 : 0;
    }
    for (size_t round = 0; round < ROUNDS; ++round) {
        clear(&p);
        TN_TRY(tnp_sweep_run(&sweep, k, w, measure, &p, back));
        f = p.sums.loss + penalty;
        best = fmax(best, tnp_softmax_bound(&p.sums, k, dim, claim->bias, claim->penalised, back));
        double loose = tnp_softmax_bound(&p.sums, k, dim, false, false, back); /* as if all e were 0 */
        if (!fixed || f - best <= claim->tolerance * f || loose - best <= WORTH * (f - best))
            break;
        shift(&p);
    }
    *objective = f;
    *gap = fmax(0, f - best) + tnp_certify_rounding(f);
done:
    tnp_sweep_destroy(&sweep);
    tnp_free(w);
    tnp_free(back);
    pass_destroy(&p);
    return st;
}
