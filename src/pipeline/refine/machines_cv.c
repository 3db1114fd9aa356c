/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the losses of held-out rows change with the vectors. For one class and one fold, w solved on the other rows, phi
 * with a 1 behind it where there is an intercept, A the training rows short of their margin:
 *
 *   v = dL/dw = -2c sum_{held} a_i y_i phi_i        H = I + 2c sum_A phi_j phi_j'        p = H^-1 v
 *   dL/dphi_i = -2c a_i y_i w                        of a held-out row: its score
 *   dL/dphi_j = 2c a_j y_j p - 2c (phi_j'p) w        of a row of A: it moves w by -H^-1 d(gradient)
 *
 * With G the products of all rows, p = sum_i beta_i phi_i, beta = -2c a y on the held-out rows and -z on A, where
 * (I/2c + G_AA) z = G_A,held beta_held: everything is rows by rows. Oracle: differences of the solved losses. */
#include "pipeline/refine/machines.h"

#include "algebra/blas.h"

#include <string.h>

typedef struct turning {
    tn_ctx *ctx;
    const tnp_machines *m;
    size_t n;
    float *gram;    /* (n, n), whole */
    double *k, *z;  /* (n, n), (n): the system of the column at hand */
    size_t *active; /* (n) */
    double *lack;   /* (n): a y */
    float *beta;    /* (columns, n) */
} turning;

static tn_status make_turning(tn_ctx *ctx, const tnp_machines *m, const float *phi, turning *t)
{
    tn_status st = TN_OK;
    size_t n = t->n;
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *t->gram, &t->gram));
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *t->k, &t->k));
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *t->z, &t->z));
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *t->active, &t->active));
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *t->lack, &t->lack));
    TN_TRY(tnp_alloc(ctx, m->columns * n, sizeof *t->beta, &t->beta));
    TN_TRY(tnp_ssyrk_rows(ctx, n, m->dim, phi, m->dim, 0, t->gram));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j) {
            t->gram[i * n + j] += m->bias ? 1 : 0;
            t->gram[j * n + i] = t->gram[i * n + j];
        }
done:
    return st;
}

/* z <- (R'R)^-1 z. */
static void substitute(size_t n, const double *r, double *z)
{
    for (size_t i = 0; i < n; ++i) {
        z[i] /= r[i * n + i];
        for (size_t j = i + 1; j < n; ++j)
            z[j] -= r[i * n + j] * z[i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; ++j)
            z[i] -= r[i * n + j] * z[j];
        z[i] /= r[i * n + i];
    }
}

static double product(const float *g, const float *beta, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += (double)g[i] * (double)beta[i];
    return sum;
}

/* beta of the column: that of the held-out rows is there. */
static tn_status solve_active(turning *t, size_t count, double c, float *beta)
{
    size_t n = t->n;
    for (size_t a = 0; a < count; ++a) {
        const float *row = t->gram + t->active[a] * n;
        for (size_t b = a; b < count; ++b)
            t->k[a * count + b] = (double)row[t->active[b]] + (a == b ? 0.5 / c : 0);
        t->z[a] = product(row, beta, n);
    }
    tn_status st = count ? tnp_cholesky(t->ctx, count, t->k) : TN_OK;
    if (st != TN_OK)
        return st;
    substitute(count, t->k, t->z);
    for (size_t a = 0; a < count; ++a)
        beta[t->active[a]] = (float)-t->z[a];
    return TN_OK;
}

static tn_status turn_column(turning *t, size_t column)
{
    const tnp_machines *m = t->m;
    size_t n = t->n, count = 0;
    double c = m->cost / (double)m->rows, sign;
    float *beta = t->beta + column * n;
    for (size_t i = 0; i < n; ++i) {
        double lack = tnp_machines_lack(m, i, column, &sign);
        bool held = m->row_fold[i] == m->fold[column];
        t->lack[i] = lack * sign;
        beta[i] = held ? (float)(-2 * c * t->lack[i]) : 0;
        m->by_w[i * m->columns + column] = beta[i];
        if (!held && lack > 0)
            t->active[count++] = i;
    }
    tn_status st = solve_active(t, count, c, beta);
    for (size_t a = 0; st == TN_OK && a < count; ++a) {
        size_t i = t->active[a];
        m->by_p[i * m->columns + column] = (float)(2 * c * t->lack[i]);
        m->by_w[i * m->columns + column] = (float)(-2 * c * product(t->gram + i * n, beta, n));
    }
    return st;
}

tn_status tnp_machines_turn_cv(tn_ctx *ctx, tnp_machines *m, const float *phi)
{
    tn_status st = TN_OK;
    turning t = {.ctx = ctx, .m = m, .n = m->rows};
    TN_TRY(make_turning(ctx, m, phi, &t));
    memset(m->by_w, 0, m->rows * m->columns * sizeof *m->by_w);
    memset(m->by_p, 0, m->rows * m->columns * sizeof *m->by_p);
    for (size_t j = 0; j < m->folds * m->classes; ++j) {
        TN_TRY(tnp_cancelled(ctx));
        if (!m->constant[j % m->classes])
            TN_TRY(turn_column(&t, j));
    }
    TN_TRY(tnp_sgemm_nn(ctx, m->columns, m->dim, m->rows, t.beta, m->rows, phi, m->dim, 0, m->p, m->dim + 1));
done:
    tnp_free_all(t.gram, t.k, t.z, t.active, t.lack, t.beta);
    return st;
}
