/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weak duality for the multinomial model. For any probabilities q_i of the rows, with theta_i = c_i (q_i - e_y)
 *
 *   min f >= D(q) = sum_i c_i H(q_i) - 1/2 sum_k |sum_i theta_ik x_i|^2,    H the entropy,
 *
 * and with free intercepts only if also sum_i theta_ik = 0 for every class k. The softmax of the scores misses that by
 * the slopes in b, e_k = m_k - n_k with m_k = sum c q_k the mass that class k gets and n_k what its rows have. A q'
 * that fits takes the share e_k / m_k from every row of a class with too much and gives it to those with too little:
 *
 *   -q' log q' >= (1 - e_k / m_k) (-q log q) where mass is taken, -q log q - (what is given) where it is given,
 *   |sum theta'_ik x_i| <= |sum theta_ik x_i| + |e_k| max |x_i|,
 *
 * so that D(q') is bounded without another pass. At the best b for w all e are 0. Where they cost too much, the pass is
 * made again with another b for q alone. Oracle: ref_logistic. */
#include "learn/softmax/certify_softmax.h"
#include "learn/linear/certify.h"

#include <math.h>
#include <string.h>

static const double ABSENT = -60, MOST_PART = 0.7, WORTH = 0.1; /* exp of ABSENT is nothing */
enum { ROUNDS = 8, CHUNK = 16 };

/* log sum_j exp(s_j - s_own). The largest term is taken out, and log1p of the others: what is left of a row that is
 * certain is below the last digit of its scores. */
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

void tnp_softmax_measure(void *arg, const tnp_wide_panel *at)
{
    const tnp_softmax_claimed *g = arg;
    const tnp_targets *y = g->loss->y;
    size_t k = y->classes;
    for (size_t i = 0; i < at->count; ++i) {
        size_t row = at->start + i, own = y->cls[y->first[row]];
        const double *s = at->s + i * k;
        double c = tnp_softmax_cost(g->loss, row), *t = at->t + i * k;
        double moved = s[0] + g->shift[0], other = 0;
        for (size_t j = 1; j < k; ++j)
            moved = fmax(moved, s[j] + g->shift[j]);
        for (size_t j = 0; j < k; ++j)
            other += t[j] = exp(s[j] + g->shift[j] - moved);
        at->sums[0] += c * tnp_softmax_row_loss(s, k, own);
        for (size_t j = 0; j < k; ++j) {
            double q = t[j] / other;
            at->sums[1 + j] += c * q;
            at->sums[1 + k + j] += q > 0 ? -c * q * (s[j] + g->shift[j] - moved - log(other)) : 0;
            at->sums[1 + 2 * k + j] += c * q * (1 - q);
            t[j] = c * (q - (j == own ? 1 : 0));
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
        const double *own = back + j * (dim + 1);
        double length = sqrt(tnp_dot_wide(own, own, dim + (bias && penalised))) + fabs(off) * sqrt(sums->longest);
        bound += (1 - share) * sums->disorder[j] - fmax(0, off) - length * length / 2;
        size += sums->disorder[j] + length * length / 2;
    }
    return bound - tnp_certify_rounding(size);
}

/* Moves b for q towards where every class has its mass: Newton's step where all classes share alike, a part of it where
 * two are each other's only rivals. */
static void move_intercepts(const tnp_softmax_sums *sums, size_t k, const double *bend, double *shift)
{
    double part = fmin(((double)k - 1) / (double)k, MOST_PART);
    for (size_t j = 0; j < k; ++j) {
        double off = sums->mass[j] - sums->own[j];
        shift[j] += sums->own[j] == 0 ? ABSENT : bend[j] > 0 ? -part * off / bend[j] : 0;
    }
}

size_t tnp_certify_softmax_bytes(size_t dim, size_t k)
{
    return tnp_wide_pass_bytes(dim, k, CHUNK, 1 + 3 * k) + 16 * k * (dim + 1) + 8 * (1 + 5 * k);
}

/* Weights of the claim in double, and their penalty. */
static double widen(const tnp_softmax_claim *claim, size_t k, size_t dim, double *w)
{
    double penalty = 0;
    for (size_t i = 0; i < k * (dim + 1); ++i) {
        w[i] = (double)claim->w[i];
        penalty += i % (dim + 1) < dim || claim->penalised ? w[i] * w[i] / 2 : 0;
    }
    return penalty;
}

tn_status tnp_certify_softmax(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax_claim *claim, double *objective,
                              double *gap)
{
    tn_status st = TN_OK;
    const tnp_softmax *l = claim->loss;
    size_t dim = x->dim, width = dim + 1, k = l->y->classes;
    tnp_softmax_sums sums = {0};
    double *w = NULL, *back = NULL, *all = NULL, *shift = NULL, best = 0, f = 0; /* no f is below 0 */
    bool fixed = claim->bias && !claim->penalised;
    TN_TRY(tnp_alloc_raw(ctx, k * width, sizeof *w, &w));
    TN_TRY(tnp_alloc_raw(ctx, k * width, sizeof *back, &back));
    TN_TRY(tnp_alloc(ctx, 1 + 3 * k, sizeof *all, &all));
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &sums.own));
    TN_TRY(tnp_alloc(ctx, k, sizeof(double), &shift));
    sums.mass = all + 1;
    sums.disorder = sums.mass + k;
    for (size_t i = 0; i < l->y->rows; ++i)
        sums.own[l->y->cls[l->y->first[i]]] += tnp_softmax_cost(l, i);
    double penalty = widen(claim, k, dim, w);
    tnp_wide_pass pass = {.k = k,
                          .w = w,
                          .body = tnp_softmax_measure,
                          .arg = &(tnp_softmax_claimed){l, shift},
                          .chunk = CHUNK,
                          .work = 64 * (double)k,
                          .back = back,
                          .sum_count = 1 + 3 * k,
                          .sums = all,
                          .longest = &sums.longest};
    for (size_t round = 0; round < ROUNDS; ++round) {
        TN_TRY(tnp_rows_wide_pass(ctx, x, &pass));
        f = all[0] + penalty;
        best = fmax(best, tnp_softmax_bound(&sums, k, dim, claim->bias, claim->penalised, back));
        double loose = tnp_softmax_bound(&sums, k, dim, false, false, back); /* as if all e were 0 */
        if (!fixed || f - best <= claim->tolerance * f || loose - best <= WORTH * (f - best))
            break;
        move_intercepts(&sums, k, sums.disorder + k, shift);
    }
    *objective = f;
    *gap = fmax(0, f - best) + tnp_certify_rounding(f);
done:
    tnp_free_all(w, back, all, sums.own, shift);
    return st;
}
