/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fisher vectors and their reverse pass in double: for the record, and to tell rounding from a fault. All components of
 * every descriptor are met, none is left out as too far. Formulas as in fisher_back.c. */
#include "encode/fisher_back.h"

#include <math.h>
#include <string.h>

/* One descriptor at hand. */
typedef struct meeting {
    const tnp_fisher_point *p;
    double *x;     /* (d): as the mixture sees it */
    double *q, *e; /* (K): posteriors; dL/dq, then d */
    double *alpha; /* (K, d): (x - mean) / sigma */
    double *pull;  /* (d): dL/dx */
} meeting;

static tn_status make_meeting(tn_ctx *ctx, const tnp_fisher_point *p, meeting *m)
{
    tn_status st = TN_OK;
    m->p = p;
    TN_TRY(tnp_alloc_raw(ctx, p->dim, sizeof *m->x, &m->x));
    TN_TRY(tnp_alloc_raw(ctx, p->count, sizeof *m->q, &m->q));
    TN_TRY(tnp_alloc_raw(ctx, p->count, sizeof *m->e, &m->e));
    TN_TRY(tnp_alloc_raw(ctx, p->count * p->dim, sizeof *m->alpha, &m->alpha));
    TN_TRY(tnp_alloc_raw(ctx, p->dim, sizeof *m->pull, &m->pull));
done:
    return st;
}

static void free_meeting(meeting *m)
{
    tnp_free_all(m->x, m->q, m->e, m->alpha, m->pull);
}

/* x of the descriptor t: from its row, or projected from what it was before. */
static void look_at(const meeting *m, const float *rows, const float *raw, size_t t)
{
    const tnp_fisher_point *p = m->p;
    size_t d = p->dim, width = p->from + d - p->to;
    for (size_t j = 0; j < d; ++j) {
        m->x[j] = p->to ? 0 : (double)rows[t * d + j];
        for (size_t i = 0; j < p->to && i < p->from; ++i)
            m->x[j] += p->basis[j * p->from + i] * (double)raw[t * width + i];
        if (p->to && j >= p->to)
            m->x[j] = (double)raw[t * width + p->from + j - p->to];
    }
}

/* Posteriors, and alpha. */
static void measure(const meeting *m)
{
    const tnp_fisher_point *p = m->p;
    size_t d = p->dim, kd = p->count * d;
    const double *means = p->theta + p->count, *log_sigma = means + kd;
    double top = -HUGE_VAL, sum = 0, *q = m->q;
    for (size_t k = 0; k < p->count; ++k) {
        q[k] = p->log_weight[k];
        for (size_t i = k * d; i < (k + 1) * d; ++i) {
            m->alpha[i] = (m->x[i - k * d] - means[i]) / p->sigma[i];
            q[k] -= log_sigma[i] + 0.5 * m->alpha[i] * m->alpha[i];
        }
        top = fmax(top, q[k]);
    }
    for (size_t k = 0; k < p->count; ++k)
        sum += q[k] = exp(q[k] - top);
    for (size_t k = 0; k < p->count; ++k)
        q[k] /= sum;
}

/* e: first dL/dq of every component, then, less its mean and times q, dL/d(log density). */
static void turn(const meeting *m, const double *u, const double *v)
{
    size_t d = m->p->dim;
    double mean = 0;
    for (size_t k = 0; k < m->p->count; ++k) {
        m->e[k] = 0;
        for (size_t i = k * d; i < (k + 1) * d; ++i)
            m->e[k] += m->alpha[i] * u[i] + (m->alpha[i] * m->alpha[i] - 1) * v[i];
        mean += m->q[k] * m->e[k];
    }
    for (size_t k = 0; k < m->p->count; ++k)
        m->e[k] = m->q[k] * (m->e[k] - mean);
}

/* basis (to, from) += dL/dx (r - mean)'; raw: r - mean. */
static void turn_basis(const meeting *m, const double *u, const double *v, const float *raw, double *basis)
{
    const tnp_fisher_point *p = m->p;
    size_t d = p->dim;
    memset(m->pull, 0, d * sizeof *m->pull);
    for (size_t i = 0; i < p->count * d; ++i)
        m->pull[i % d] += (m->q[i / d] * (u[i] + 2 * m->alpha[i] * v[i]) - m->e[i / d] * m->alpha[i]) / p->sigma[i];
    for (size_t i = 0; i < p->to * p->from; ++i)
        basis[i] += m->pull[i / p->from] * (double)raw[i % p->from];
}

/* sums += weight[k] (1, x - mean, (x - mean)^2). */
static void add_weighted(const meeting *m, const double *weight, tnp_mixture_sums *sums)
{
    size_t d = m->p->dim;
    for (size_t i = 0; i < m->p->count * d; ++i) {
        double z = m->alpha[i] * m->p->sigma[i];
        sums->first[i] += weight[i / d] * z;
        sums->second[i] += weight[i / d] * z * z;
    }
    for (size_t k = 0; k < m->p->count; ++k)
        sums->zero[k] += weight[k];
}

tn_status tnp_fisher_wide_back(tn_ctx *ctx, const tnp_fisher_point *p, const tnp_fisher_atom *atom, double *shares,
                               tnp_mixture_sums *sums, double *basis)
{
    tn_status st = TN_OK;
    size_t width = p->from + p->dim - p->to;
    meeting m = {.p = NULL};
    TN_TRY(make_meeting(ctx, p, &m));
    if (p->to)
        memset(basis, 0, p->to * p->from * sizeof *basis);
    for (size_t t = 0; t < atom->count; ++t) {
        look_at(&m, atom->rows, atom->raw, t);
        measure(&m);
        turn(&m, atom->u, atom->v);
        for (size_t k = 0; k < p->count; ++k)
            shares[k] += m.q[k];
        add_weighted(&m, m.e, sums);
        if (p->to)
            turn_basis(&m, atom->u, atom->v, atom->raw + t * width, basis);
    }
done:
    free_meeting(&m);
    return st;
}

/* One cell from the sums over its descriptors. */
static void write_cell(const tnp_fisher_point *p, const tnp_mixture_sums *sums, size_t rows, double *out)
{
    size_t d = p->dim, kd = p->count * d;
    for (size_t i = 0; i < kd; ++i) {
        double over = rows ? 1 / ((double)rows * sqrt(p->weight[i / d])) : 0, sigma = p->sigma[i];
        out[i] = sums->first[i] / sigma * over;
        out[kd + i] = (sums->second[i] / (sigma * sigma) - sums->zero[i / d]) * over / sqrt(2);
    }
}

tn_status tnp_fisher_wide(tn_ctx *ctx, const tn_encoder *e, const tnp_fisher_point *p, const tnp_fisher_bag *bag,
                          double *out)
{
    tn_status st = TN_OK;
    size_t counts[TNP_MOST_CELLS];
    const size_t *starts = bag->starts;
    meeting m = {.p = NULL};
    tnp_mixture_sums sums = {.rows = 0};
    tnp_encoder_cell_rows(e, starts, counts);
    TN_TRY(make_meeting(ctx, p, &m));
    TN_TRY(tnp_mixture_sums_new(ctx, &e->mixture, &sums));
    for (size_t c = 0; c < e->pyramid.cells; ++c) {
        tnp_mixture_sums_clear(&e->mixture, &sums);
        for (size_t a = 0; a < tnp_encoder_atoms(e); ++a)
            for (size_t t = starts[a]; tnp_pyramid_holds(&e->pyramid, c, a) && t < starts[a + 1]; ++t) {
                look_at(&m, bag->rows, bag->raw, t);
                measure(&m);
                add_weighted(&m, m.q, &sums);
            }
        write_cell(p, &sums, counts[c], out + c * tnp_encoder_cell(e));
    }
done:
    free_meeting(&m);
    tnp_mixture_sums_free(&sums);
    return st;
}
