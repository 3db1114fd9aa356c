/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method on the active rows from where the last solution was (linear/active.c), certified in double; a class
 * that floats do not bring near enough goes on with whole Hessians in double (linear/exact.c). At the optimum of w the
 * derivative of min_w f by a vector is that of f with w held: nothing has to be known of how w would follow. */
#include "pipeline/refine/machines.h"

#include "algebra/blas.h"
#include "learn/design/design.h"
#include "learn/linear/active.h"
#include "learn/linear/certify.h"
#include "learn/linear/exact.h"

#include <math.h>
#include <string.h>

enum { PASSES = 300 };

tn_status tnp_machines_new(tn_ctx *ctx, const tnp_targets *y, size_t dim, bool bias, tnp_machines *out)
{
    tn_status st = TN_OK;
    size_t *seen = NULL;
    *out = (tnp_machines){.rows = y->rows, .dim = dim, .classes = y->classes, .y = *y, .cost = 1, .bias = bias};
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *out->constant, &out->constant));
    TN_TRY(tnp_alloc(ctx, y->classes * (dim + 1), sizeof *out->w, &out->w));
    TN_TRY(tnp_alloc(ctx, y->rows * y->classes, sizeof *out->scores, &out->scores));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *seen, &seen));
    for (size_t p = 0; p < y->first[y->rows]; ++p)
        ++seen[y->cls[p]];
    for (size_t l = 0; l < y->classes; ++l)
        out->constant[l] = seen[l] == 0 || seen[l] == y->rows;
done:
    tnp_free(seen);
    return st;
}

void tnp_machines_free(tnp_machines *m)
{
    tnp_free(m->constant);
    tnp_free(m->w);
    tnp_free(m->scores);
    *m = (tnp_machines){.rows = 0};
}

/* ---- scores ---- */

tn_status tnp_machines_score(tn_ctx *ctx, const tnp_machines *m, const float *phi, size_t rows, float *out)
{
    tn_status st = rows == 0
                       ? TN_OK
                       : tnp_sgemm_nt(ctx, rows, m->classes, m->dim, phi, m->dim, m->w, m->dim + 1, 0, out, m->classes);
    for (size_t i = 0; st == TN_OK && i < rows; ++i)
        for (size_t l = 0; l < m->classes; ++l)
            out[i * m->classes + l] += m->w[l * (m->dim + 1) + m->dim];
    return st;
}

static bool has_class(const tnp_targets *y, size_t row, size_t l)
{
    for (size_t p = y->first[row]; p < y->first[row + 1]; ++p)
        if (y->cls[p] == l)
            return true;
    return false;
}

/* max(0, 1 - y s), and y itself; 0 of a class that is left out. */
static double short_of_margin(const tnp_machines *m, size_t row, size_t l, double *sign)
{
    *sign = has_class(&m->y, row, l) ? 1 : -1;
    return m->constant[l] ? 0 : fmax(0, 1 - *sign * (double)m->scores[row * m->classes + l]);
}

tn_status tnp_machines_look(tn_ctx *ctx, tnp_machines *m, const float *phi)
{
    tn_status st = tnp_machines_score(ctx, m, phi, m->rows, m->scores);
    double losses = 0, squares = 0, sign;
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < m->rows; ++i)
        for (size_t l = 0; l < m->classes; ++l) {
            double lack = short_of_margin(m, i, l, &sign);
            losses += lack * lack;
        }
    for (size_t l = 0; l < m->classes; ++l)
        for (size_t j = 0; j <= m->dim && !m->constant[l]; ++j)
            squares += (double)m->w[l * (m->dim + 1) + j] * (double)m->w[l * (m->dim + 1) + j];
    m->loss = m->cost / (double)m->rows * losses;
    m->objective = 0.5 * squares + m->loss;
    return TN_OK;
}

void tnp_machines_slope(const tnp_machines *m, size_t row, double *out)
{
    memset(out, 0, m->dim * sizeof *out);
    for (size_t l = 0; l < m->classes; ++l) {
        double sign, lack = short_of_margin(m, row, l, &sign);
        double factor = -2 * m->cost / (double)m->rows * lack * sign;
        const float *w = m->w + l * (m->dim + 1);
        for (size_t j = 0; lack > 0 && j < m->dim; ++j)
            out[j] += factor * (double)w[j];
    }
}

/* ---- the solution ---- */

typedef struct solving {
    tnp_design design;
    tnp_rows x;
    tnp_columns columns;
    float *positive, *negative; /* (classes): costs */
    size_t *cols, count;
    double *objective, *gap; /* (classes) */
} solving;

static tn_status begin(tn_ctx *ctx, const tnp_machines *m, float *phi, solving *v)
{
    tn_status st = TN_OK;
    float cost = (float)(m->cost / (double)m->rows);
    v->design = (tnp_design){.rows = m->rows, .dim = m->dim, .resident = true, .data = phi};
    v->design.block = tnp_design_block_rows(m->rows, m->dim);
    v->design.blocks = (m->rows + v->design.block - 1) / v->design.block;
    v->x = tnp_design_rows(&v->design);
    TN_TRY(tnp_alloc(ctx, m->classes, sizeof *v->positive, &v->positive));
    TN_TRY(tnp_alloc(ctx, m->classes, sizeof *v->negative, &v->negative));
    TN_TRY(tnp_alloc(ctx, m->classes, sizeof *v->cols, &v->cols));
    TN_TRY(tnp_alloc(ctx, m->classes, sizeof *v->objective, &v->objective));
    TN_TRY(tnp_alloc(ctx, m->classes, sizeof *v->gap, &v->gap));
    v->columns =
        (tnp_columns){.y = &m->y, .count = m->classes, .positive_cost = v->positive, .negative_cost = v->negative};
    for (size_t l = 0; l < m->classes; ++l) {
        v->positive[l] = v->negative[l] = m->constant[l] ? 0 : cost;
        if (!m->constant[l])
            v->cols[v->count++] = l;
    }
done:
    return st;
}

static void end(solving *v)
{
    tnp_free(v->positive);
    tnp_free(v->negative);
    tnp_free(v->cols);
    tnp_free(v->objective);
    tnp_free(v->gap);
}

/* Columns that are not near enough stay in cols. */
static tn_status keep_unsolved(tn_ctx *ctx, const tnp_machines *m, double tolerance, solving *v)
{
    tnp_claim claim = {.columns = &v->columns,
                       .loss = TNP_SQUARED_HINGE,
                       .bias = m->bias,
                       .penalised = true,
                       .count = v->count,
                       .cols = v->cols,
                       .w = m->w};
    tn_status st = v->count ? tnp_certify(ctx, &v->x, &claim, v->objective, v->gap) : TN_OK;
    size_t left = 0;
    for (size_t i = 0; st == TN_OK && i < v->count; ++i)
        if (v->gap[v->cols[i]] > tolerance * v->objective[v->cols[i]])
            v->cols[left++] = v->cols[i];
    v->count = left;
    return st;
}

tn_status tnp_machines_solve(tn_ctx *ctx, tnp_machines *m, float *phi, double tolerance)
{
    tn_status st = TN_OK;
    solving v = {.count = 0};
    size_t passes = 0;
    TN_TRY(begin(ctx, m, phi, &v));
    if (v.count)
        TN_TRY(tnp_active_solve(ctx, &v.x, &v.columns, v.cols, v.count,
                                &(tnp_active_options){m->bias, true, tolerance, PASSES}, m->w, &passes));
    TN_TRY(keep_unsolved(ctx, m, tolerance, &v));
    if (v.count)
        TN_TRY(tnp_exact_solve(ctx, &v.x, &v.columns, v.cols, v.count,
                               &(tnp_exact_options){TNP_SQUARED_HINGE, m->bias, true, tolerance, PASSES}, NULL, m->w,
                               v.objective, v.gap, &passes));
    m->gap = 0;
    for (size_t l = 0; l < m->classes; ++l)
        m->gap += v.gap[l];
    TN_TRY(tnp_machines_look(ctx, m, phi));
done:
    end(&v);
    return st;
}
