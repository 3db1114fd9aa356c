/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method on the active rows from where the last solution was (linear/active.c), certified in double; a column
 * that floats do not bring near enough goes on with whole Hessians in double (linear/exact.c). The multinomial is
 * softmax.c's. At the optimum of w the derivative of min_w f by a vector is that of f with w held: nothing has to be
 * known of how w would follow. Of cv it has: machines_cv.c. */
#include "pipeline/refine/machines.h"

#include "algebra/blas.h"
#include "learn/design/design.h"
#include "learn/head/folds.h"
#include "learn/linear/active.h"
#include "learn/linear/certify.h"
#include "learn/linear/exact.h"
#include "learn/softmax/softmax.h"

#include <math.h>
#include <string.h>

enum { PASSES = 300, FOLDS = 4 };

/* ---- what they are ---- */

static tn_status count_classes(tn_ctx *ctx, tnp_machines *m)
{
    size_t *seen = NULL;
    tn_status st = tnp_alloc(ctx, m->classes, sizeof *seen, &seen);
    if (st != TN_OK)
        return st;
    for (size_t p = 0; p < m->y.first[m->rows]; ++p)
        ++seen[m->y.cls[p]];
    for (size_t l = 0; l < m->classes; ++l)
        m->constant[l] = seen[l] == 0 || seen[l] == m->rows;
    tnp_free(seen);
    return TN_OK;
}

/* Rows of one class each are dealt class by class. */
static tn_status deal_folds(tn_ctx *ctx, size_t seed, tnp_machines *m)
{
    bool single = true;
    for (size_t i = 0; i < m->rows; ++i)
        single = single && m->y.first[i + 1] == m->y.first[i] + 1;
    m->folds = tnp_min(FOLDS, m->rows);
    return tnp_folds_new(ctx, &m->y, single ? TN_TASK_MULTICLASS : TN_TASK_MULTILABEL, m->folds, seed, &m->row_fold);
}

tn_status tnp_machines_new(tn_ctx *ctx, const tnp_targets *y, size_t dim, const tnp_refine_options *options,
                           size_t seed, tnp_machines *out)
{
    tn_status st = TN_OK;
    bool cv = options->objective == TNP_OBJECTIVE_CV;
    *out = (tnp_machines){.rows = y->rows, .dim = dim, .classes = y->classes, .y = *y, .cost = 1};
    out->kind = (tnp_refine_objective)options->objective;
    out->bias = options->intercept;
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *out->constant, &out->constant));
    TN_TRY(count_classes(ctx, out));
    if (cv)
        TN_TRY(deal_folds(ctx, seed, out));
    out->columns = y->classes * (out->folds + 1);
    TN_TRY(tnp_alloc(ctx, out->columns, sizeof *out->fold, &out->fold));
    for (size_t j = 0; j < out->columns; ++j)
        out->fold[j] = (uint32_t)(j / y->classes);
    TN_TRY(tnp_alloc(ctx, out->columns * (dim + 1), sizeof *out->w, &out->w));
    TN_TRY(tnp_alloc(ctx, y->rows * out->columns, sizeof *out->scores, &out->scores));
    TN_TRY(tnp_alloc(ctx, y->rows * out->columns, sizeof *out->by_w, &out->by_w));
    if (cv) {
        TN_TRY(tnp_alloc(ctx, y->rows * out->columns, sizeof *out->by_p, &out->by_p));
        TN_TRY(tnp_alloc(ctx, out->columns * (dim + 1), sizeof *out->p, &out->p));
    }
done:
    return st;
}

void tnp_machines_free(tnp_machines *m)
{
    tnp_free_all(m->constant, m->row_fold, m->fold, m->w, m->scores, m->by_w, m->by_p, m->p);
    *m = (tnp_machines){.rows = 0};
}

/* ---- scores ---- */

/* out (rows, count) by w (count, dim + 1). */
static tn_status score(tn_ctx *ctx, const tnp_machines *m, const float *phi, size_t rows, const float *w, size_t count,
                       float *out)
{
    tn_status st =
        rows == 0 ? TN_OK : tnp_sgemm_nt(ctx, rows, count, m->dim, phi, m->dim, w, m->dim + 1, 0, out, count);
    for (size_t i = 0; st == TN_OK && i < rows; ++i)
        for (size_t j = 0; j < count; ++j)
            out[i * count + j] += w[j * (m->dim + 1) + m->dim];
    return st;
}

tn_status tnp_machines_score(tn_ctx *ctx, const tnp_machines *m, const float *phi, size_t rows, float *out)
{
    return score(ctx, m, phi, rows, m->w + (m->columns - m->classes) * (m->dim + 1), m->classes, out);
}

static bool has_class(const tnp_targets *y, size_t row, size_t l)
{
    for (size_t p = y->first[row]; p < y->first[row + 1]; ++p)
        if (y->cls[p] == l)
            return true;
    return false;
}

double tnp_machines_lack(const tnp_machines *m, size_t row, size_t column, double *sign)
{
    size_t l = column % m->classes;
    *sign = has_class(&m->y, row, l) ? 1 : -1;
    return m->constant[l] ? 0 : fmax(0, 1 - *sign * (double)m->scores[row * m->columns + column]);
}

/* ---- objectives ---- */

/* Of the columns that judge a row: all of svm, of cv those without its fold. */
static double hinge_losses(const tnp_machines *m)
{
    double sum = 0, sign;
    for (size_t i = 0; i < m->rows; ++i) {
        size_t first = m->folds ? m->row_fold[i] * m->classes : 0;
        for (size_t j = first; j < first + m->classes; ++j) {
            double lack = tnp_machines_lack(m, i, j, &sign);
            sum += lack * lack;
        }
    }
    return sum;
}

/* log of the sum of exponentials. */
static double log_sum(const float *s, size_t n)
{
    double top = -HUGE_VAL, all = 0;
    for (size_t l = 0; l < n; ++l)
        top = fmax(top, (double)s[l]);
    for (size_t l = 0; l < n; ++l)
        all += exp((double)s[l] - top);
    return top + log(all);
}

static double softmax_losses(const tnp_machines *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->rows; ++i) {
        const float *s = m->scores + i * m->columns;
        sum += log_sum(s, m->classes) - (double)s[m->y.cls[m->y.first[i]]];
    }
    return sum;
}

static double half_squares(const tnp_machines *m)
{
    double sum = 0;
    for (size_t l = 0; l < m->classes; ++l)
        for (size_t j = 0; j <= m->dim && (!m->constant[l] || m->kind == TNP_OBJECTIVE_MULTINOMIAL); ++j)
            sum += 0.5 * (double)m->w[l * (m->dim + 1) + j] * (double)m->w[l * (m->dim + 1) + j];
    return sum;
}

tn_status tnp_machines_look(tn_ctx *ctx, tnp_machines *m, const float *phi)
{
    tn_status st = score(ctx, m, phi, m->rows, m->w, m->columns, m->scores);
    if (st != TN_OK)
        return st;
    double losses = m->kind == TNP_OBJECTIVE_MULTINOMIAL ? softmax_losses(m) : hinge_losses(m);
    m->loss = m->cost / (double)m->rows * losses;
    m->objective = m->loss + (m->kind == TNP_OBJECTIVE_CV ? 0 : half_squares(m));
    return TN_OK;
}

/* ---- slopes ---- */

static void turn_softmax(const tnp_machines *m)
{
    for (size_t i = 0; i < m->rows; ++i) {
        const float *s = m->scores + i * m->columns;
        float *to = m->by_w + i * m->columns;
        double all = log_sum(s, m->classes), cost = m->cost / (double)m->rows;
        for (size_t l = 0; l < m->classes; ++l)
            to[l] = (float)(cost * (exp((double)s[l] - all) - (has_class(&m->y, i, l) ? 1 : 0)));
    }
}

static void turn_hinge(const tnp_machines *m)
{
    double sign, factor = -2 * m->cost / (double)m->rows;
    for (size_t i = 0; i < m->rows; ++i)
        for (size_t j = 0; j < m->columns; ++j) {
            double lack = tnp_machines_lack(m, i, j, &sign);
            m->by_w[i * m->columns + j] = (float)(factor * lack * sign);
        }
}

tn_status tnp_machines_turn(tn_ctx *ctx, tnp_machines *m, const float *phi)
{
    if (m->kind == TNP_OBJECTIVE_CV)
        return tnp_machines_turn_cv(ctx, m, phi);
    if (m->kind == TNP_OBJECTIVE_MULTINOMIAL)
        turn_softmax(m);
    else
        turn_hinge(m);
    return TN_OK;
}

static void add_scaled(float factor, const float *x, size_t n, double *out)
{
    for (size_t j = 0; factor != 0 && j < n; ++j)
        out[j] += (double)factor * (double)x[j];
}

void tnp_machines_slope(const tnp_machines *m, size_t row, double *out)
{
    memset(out, 0, m->dim * sizeof *out);
    for (size_t j = 0; j < m->columns; ++j) {
        size_t at = row * m->columns + j;
        add_scaled(m->by_w[at], m->w + j * (m->dim + 1), m->dim, out);
        if (m->by_p)
            add_scaled(m->by_p[at], m->p + j * (m->dim + 1), m->dim, out);
    }
}

/* ---- the solution ---- */

typedef struct solving {
    tnp_design design;
    tnp_rows x;
    tnp_columns columns;
    float *positive, *negative; /* (columns): costs */
    size_t *cols, count;
    double *objective, *gap; /* (columns) */
} solving;

static tn_status begin(tn_ctx *ctx, const tnp_machines *m, float *phi, solving *v)
{
    tn_status st = TN_OK;
    float cost = (float)(m->cost / (double)m->rows);
    v->design = (tnp_design){.rows = m->rows, .dim = m->dim, .resident = true, .data = phi};
    v->design.block = tnp_design_block_rows(m->rows, m->dim);
    v->design.blocks = (m->rows + v->design.block - 1) / v->design.block;
    v->x = tnp_design_rows(&v->design);
    TN_TRY(tnp_alloc(ctx, m->columns, sizeof *v->positive, &v->positive));
    TN_TRY(tnp_alloc(ctx, m->columns, sizeof *v->negative, &v->negative));
    TN_TRY(tnp_alloc(ctx, m->columns, sizeof *v->cols, &v->cols));
    TN_TRY(tnp_alloc(ctx, m->columns, sizeof *v->objective, &v->objective));
    TN_TRY(tnp_alloc(ctx, m->columns, sizeof *v->gap, &v->gap));
    v->columns = (tnp_columns){.y = &m->y,
                               .count = m->columns,
                               .fold = m->folds ? m->fold : NULL,
                               .row_fold = m->row_fold,
                               .positive_cost = v->positive,
                               .negative_cost = v->negative};
    for (size_t j = 0; j < m->columns; ++j) {
        v->positive[j] = v->negative[j] = m->constant[j % m->classes] ? 0 : cost;
        if (!m->constant[j % m->classes])
            v->cols[v->count++] = j;
    }
done:
    return st;
}

static void end(solving *v)
{
    tnp_free_all(v->positive, v->negative, v->cols, v->objective, v->gap);
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

static tn_status solve_hinge(tn_ctx *ctx, tnp_machines *m, double tolerance, solving *v)
{
    tn_status st = TN_OK;
    size_t passes = 0;
    if (v->count)
        TN_TRY(tnp_active_solve(ctx, &v->x, &v->columns, v->cols, v->count,
                                &(tnp_active_options){m->bias, true, tolerance, PASSES, false}, m->w, v->objective,
                                v->gap, &passes));
    TN_TRY(keep_unsolved(ctx, m, tolerance, v));
    if (v->count)
        TN_TRY(tnp_exact_solve(ctx, &v->x, &v->columns, v->cols, v->count,
                               &(tnp_exact_options){TNP_SQUARED_HINGE, m->bias, true, tolerance, PASSES}, NULL, m->w,
                               v->objective, v->gap, &passes));
    m->gap = 0;
    for (size_t j = 0; j < m->columns; ++j)
        m->gap += v->gap[j];
done:
    return st;
}

static tn_status solve_softmax(tn_ctx *ctx, tnp_machines *m, double tolerance, const solving *v)
{
    tnp_softmax loss = {&m->y, (float)(m->cost / (double)m->rows), NULL};
    tnp_newton_options options = {tolerance, PASSES, m->bias, true, 0};
    tnp_newton_info info = {0};
    double objective = 0;
    return tnp_softmax_solve(ctx, &v->x, &loss, &options, m->w, &objective, &m->gap, &info);
}

tn_status tnp_machines_solve(tn_ctx *ctx, tnp_machines *m, float *phi, double tolerance)
{
    tn_status st = TN_OK;
    solving v = {.count = 0};
    TN_TRY(begin(ctx, m, phi, &v));
    TN_TRY(m->kind == TNP_OBJECTIVE_MULTINOMIAL ? solve_softmax(ctx, m, tolerance, &v)
                                                : solve_hinge(ctx, m, tolerance, &v));
    TN_TRY(tnp_machines_look(ctx, m, phi));
done:
    end(&v);
    return st;
}
