/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nearest class mean on the columns that every class uses, in the scale of scores for labels of -1 and 1. With z
 * the columns as the problem scales them, m_k the mean of the rows of class k that have a weight, m the mean of these K
 * means, and d_k = m_k - m where class k uses the column, else 0:
 *
 *   g_k(z) = 2 c (d_k'(z - m) - |d_k|^2 / 2)          c = K / sum_k |d_k|^2
 *
 * which is 1 at the own mean and -1 at m, on average over classes: 2 score - 1 of learn/ridge/class_means.c, where all
 * classes use all columns. Mixed scores are f_k = (1 - a) s_k + a g_k, s_k the method's own score and a =
 * TNP_MEANS_SHARE.
 *
 * The means of all columns were refused: a head of few picks would have weights everywhere, for no gain
 * (docs/math.md 5.6). Means are weighted as the rows are. Values are taken
 * about the problem's means: a common offset costs no digits. Oracle: tests/unit/test_transfer_joint.c, literal means.
 */
#include "transfer/joint.h"

/* rows by class, those with a weight; centre about the problem's mean. */
static void gather(tnp_joint_means *m, const double *weights)
{
    const tnp_joint *joint = m->joint;
    size_t at = 0;
    for (size_t k = 0; k < joint->classes; ++k) {
        m->first[k] = at;
        for (size_t i = 0; i < joint->columns->rows; ++i)
            if (weights[i] > 0 && joint->class_of[i] == k)
                m->members[at++] = i;
        m->present += at > m->first[k];
    }
    m->first[joint->classes] = at;
}

/* Mean of class k in a column, about the problem's mean. */
static double mean_of(const tnp_joint_means *m, size_t k, size_t column)
{
    double sum = 0, n = 0;
    for (size_t a = m->first[k]; a < m->first[k + 1]; ++a) {
        double weight = tnp_joint_row_weight(m->joint, m->members[a]);
        n += weight;
        sum += weight * (tnp_transfer_value(m->problem->columns, m->members[a], column) - m->problem->mean[column]);
    }
    return n > 0 ? sum / n : 0;
}

tn_status tnp_joint_means_new(tn_ctx *ctx, const tnp_joint *joint, const tnp_transfer_problem *problem,
                              const double *weights, tnp_joint_means **out)
{
    tn_status st = TN_OK;
    tnp_joint_means *m = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *m, &m));
    m->joint = joint;
    m->problem = problem;
    TN_TRY(tnp_alloc(ctx, problem->rows, sizeof *m->members, &m->members));
    TN_TRY(tnp_alloc(ctx, joint->classes + 1, sizeof *m->first, &m->first));
    TN_TRY(tnp_alloc(ctx, problem->cols, sizeof *m->centre, &m->centre));
    gather(m, weights);
    for (size_t j = 0; j < problem->cols; ++j)
        for (size_t k = 0; k < joint->classes; ++k)
            m->centre[j] += mean_of(m, k, j) / (double)m->present;
    *out = m;
    m = NULL;
done:
    tnp_joint_means_free(m);
    return st;
}

void tnp_joint_means_free(tnp_joint_means *means)
{
    if (!means)
        return;
    tnp_free_all(means->members, means->first, means->centre, means);
}

double tnp_joint_away(const tnp_joint_means *means, size_t k, size_t column)
{
    return (mean_of(means, k, column) - means->centre[column]) * means->problem->inverse[column];
}

double tnp_joint_place(const tnp_joint_means *means, size_t row, size_t column)
{
    const tnp_transfer_problem *p = means->problem;
    return (tnp_transfer_value(p->columns, row, column) - p->mean[column] - means->centre[column]) * p->inverse[column];
}

double tnp_joint_means_scale(const tnp_joint_means *means, double squares)
{
    return squares > 0 ? (double)means->present / squares : 0;
}

double tnp_joint_means_square(const tnp_joint_means *means, size_t k, const size_t *picks, size_t count)
{
    double sum = 0;
    for (size_t c = 0; c < count; ++c) {
        double away = tnp_joint_away(means, k, picks ? picks[c] : c);
        sum += away * away;
    }
    return sum;
}

void tnp_joint_means_mix(const tnp_joint_means *means, size_t k, const size_t *picks, size_t count, double scale,
                         double *w, double *intercept)
{
    const tnp_transfer_problem *p = means->problem;
    double square = 0, shift = 0;
    for (size_t j = 0; j < p->cols; ++j)
        w[j] *= 1 - TNP_MEANS_SHARE;
    for (size_t c = 0; c < count; ++c) {
        size_t j = picks ? picks[c] : c;
        double away = tnp_joint_away(means, k, j), own = 2 * TNP_MEANS_SHARE * scale * away * p->inverse[j];
        square += away * away;
        shift += own * (p->mean[j] + means->centre[j]);
        w[j] += own;
    }
    *intercept = (1 - TNP_MEANS_SHARE) * *intercept - shift - TNP_MEANS_SHARE * scale * square;
}
