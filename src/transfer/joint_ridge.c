/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lambda, and tau of DAM, of a ridge model for all classes, by leave-one-out residuals for which the rows that stay take over the
 * weight of the row that leaves, those of its class in equal parts: columns, centring and scaling are kept.
 *
 * In standardised rows r = P t is the residual of the fit to all rows and L = P - u u' = I - H, the intercept inside H. Changing
 * the weights of the rows C of one class, n of them, by the factors 1 + delta, delta = -1 for row i and 1/(n - 1) for the
 * others, makes their residuals (I + H_CC diag(delta))^-1 r_C: the weighted normal equations change by a matrix of rank n. With
 * R = (I - L_CC/n)^-1 row i of that is
 *
 *   e_i = (R r_C)_i / (R L_CC)_ii                  prediction: t_i - e_i/u_i
 *
 * and with n large r_i/L_ii, the form without siblings. Eigenvalues of L are in [0, 1], so R is at most n/(n - 1) and nothing
 * cancels. The form without siblings was refused: a class of two rows is half as frequent as the others when one of them is to
 * be told, smaller lambdas make up for it, and the heads lose a point of accuracy (docs/math.md).
 *
 * The share of the sources. With L the least sum of squared residuals over the grid, of ridge on the features (share 0), on both
 * in even parts, and on the sources (share 1), n rows that count:
 *
 *   share = sum_m w_m share_m / sum_m w_m             w_m = L_m^(-n/2)
 *
 * the likelihood of n residuals whose variance is not known: the K residuals of one row come from one row, and count as one. Even
 * parts for all were refused: sources that have nothing to do with the classes cost 15 points with two rows per class, and sources
 * that know them better than the features are worth 9 more; so was the share of least L, which few rows often miss (docs/math.md).
 * Oracle: tests/unit/test_transfer_joint.c, refits without the row. */
#include "algebra/blas.h"
#include "transfer/joint.h"

#include <math.h>
#include <string.h>

typedef struct choice_job {
    const tnp_joint *joint;
    tnp_transfer_problem *problem;
    const tnp_ridge_basis *basis;
    const double *pull; /* (rows): the sources' mean; NULL without DAM */
    double *counts;     /* (rows) */
    size_t *members;    /* (rows): rows that take part, class by class */
    size_t *first;      /* (classes + 1): of a class among them */
    double *shares;     /* a class after the other, (n, n): R over the diagonal of R L */
    double *work;       /* (3 rows + rank) */
    double *square;     /* (n n + n) of the largest class */
    double *gathered;   /* (rank (1 + n)) of it */
} choice_job;

static void list_members(const choice_job *job, const double *weights)
{
    size_t at = 0;
    for (size_t k = 0; k < job->joint->classes; ++k) {
        job->first[k] = at;
        for (size_t i = 0; i < job->joint->columns->rows; ++i)
            if (weights[i] > 0 && job->joint->class_of[i] == k)
                job->members[at++] = i;
    }
    job->first[job->joint->classes] = at;
}

/* left (n, n): L of some rows. */
static void left_of(const choice_job *job, double lambda, const size_t *rows, size_t n, double *left)
{
    const tnp_ridge_basis *b = job->basis;
    bool whole = b->count >= b->rows;
    const double *u = job->problem->root;
    double *part = job->gathered, *v = part + b->rank; /* (rank); (n, rank): the directions, row by row */
    for (size_t k = 0; k < b->rank; ++k) {
        part[k] = lambda / (lambda + fmax(b->s[k], 0));
        for (size_t i = 0; i < n; ++i)
            v[i * b->rank + k] = b->v[k * b->rows + rows[i]];
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            const double *x = v + i * b->rank, *y = v + j * b->rank;
            double off = i == j || whole ? 0 : 1; /* what the directions leave has no closed form beside the diagonal */
            double sum = i == j ? b->outside[rows[i]] : -off * u[rows[i]] * u[rows[j]];
            for (size_t k = 0; k < b->rank; ++k)
                sum += (part[k] - off) * x[k] * y[k];
            left[i * n + j] = left[j * n + i] = sum;
        }
}

/* shares (n, n) of one class. */
static tn_status share_class(tn_ctx *ctx, const choice_job *job, double lambda, const size_t *rows, size_t n,
                             double *shares)
{
    tn_status st = TN_OK;
    double *e = job->square, *values = e + n * n;
    left_of(job, lambda, rows, n, e);
    TN_TRY(tnp_eigen(ctx, n, e, values));
    memset(shares, 0, n * n * sizeof *shares);
    for (size_t a = 0; a < n; ++a) {
        double own = 0;
        for (size_t k = 0; k < n; ++k) {
            double value = fmax(values[k], 0), growth = e[k * n + a] / (1 - value / (double)n);
            own += growth * value * e[k * n + a];
            for (size_t b = 0; b < n; ++b)
                shares[a * n + b] += growth * e[k * n + b];
        }
        for (size_t b = 0; b < n; ++b)
            shares[a * n + b] = own > 0 ? shares[a * n + b] / own : NAN;
    }
done:
    return st;
}

static tn_status share_all(tn_ctx *ctx, const choice_job *job, double lambda)
{
    tn_status st = TN_OK;
    double *shares = job->shares;
    for (size_t k = 0; k < job->joint->classes; ++k) {
        size_t n = job->first[k + 1] - job->first[k];
        if (n > 1)
            TN_TRY(share_class(ctx, job, lambda, job->members + job->first[k], n, shares));
        shares += n * n;
    }
done:
    return st;
}

/* Squared residuals of the class whose y is in the problem, rows that count, for the lambda of the shares. */
static double loss_of(const choice_job *job, double lambda, double tau)
{
    const tnp_transfer_problem *p = job->problem;
    size_t m = p->rows;
    double *t = job->work, *centred = t + m, *r = centred + m, *room = r + m, sum = 0;
    const double *shares = job->shares;
    for (size_t i = 0; i < m; ++i)
        t[i] = (p->y[i] + (job->pull ? tau * job->pull[i] : 0)) / (1 + tau);
    (void)tnp_transfer_centre(p, t, centred);
    tnp_ridge_residual(job->basis, lambda, centred, room, r);
    for (size_t k = 0; k < job->joint->classes; ++k) {
        const size_t *rows = job->members + job->first[k];
        size_t n = job->first[k + 1] - job->first[k];
        for (size_t a = 0; n > 1 && a < n; ++a) {
            double e = 0;
            for (size_t b = 0; b < n; ++b)
                e += shares[a * n + b] * r[rows[b]];
            double off = p->y[rows[a]] - (t[rows[a]] - e / p->root[rows[a]]);
            sum += isnan(off) ? INFINITY : job->counts[rows[a]] * off * off;
        }
        shares += n * n;
    }
    return sum;
}

/* The whole grid. */
static tn_status search(tn_ctx *ctx, const choice_job *job, double *y, size_t *at, double *least)
{
    const tnp_joint *joint = job->joint;
    tn_status st = TN_OK;
    size_t taus = job->pull ? TNP_TAUS : 1;
    for (size_t g = 0; g < TNP_JOINT_LAMBDAS * taus; ++g) {
        double tau = job->pull ? tnp_transfer_tau(g % taus) : 0, loss = 0;
        double lambda = tnp_ridge_lambda(job->problem, job->basis, g / taus) / (1 + tau);
        TN_TRY(tnp_progress(ctx, "choice of lambda", g, TNP_JOINT_LAMBDAS * taus));
        TN_TRY(share_all(ctx, job, lambda));
        for (size_t k = 0; k < joint->classes; ++k) {
            if (job->first[k + 1] == job->first[k])
                continue;
            tnp_joint_labels(joint, k, y);
            TN_TRY(tnp_transfer_problem_relabel(ctx, job->problem, y));
            loss += loss_of(job, lambda, tau);
        }
        if (loss < *least) {
            *least = loss;
            *at = g;
        }
    }
done:
    return st;
}

static tn_status job_init(tn_ctx *ctx, choice_job *job, const double *weights)
{
    tn_status st = TN_OK;
    size_t rows = job->joint->columns->rows, classes = job->joint->classes, sum = 0, largest = 0;
    TN_TRY(tnp_alloc(ctx, rows, sizeof *job->members, &job->members));
    TN_TRY(tnp_alloc(ctx, classes + 1, sizeof *job->first, &job->first));
    list_members(job, weights);
    for (size_t k = 0; k < classes; ++k) {
        size_t n = job->first[k + 1] - job->first[k];
        sum += n * n;
        largest = tnp_max(largest, n);
    }
    TN_TRY(tnp_alloc(ctx, sum, sizeof(double), &job->shares));
    TN_TRY(tnp_alloc(ctx, largest * (largest + 1), sizeof(double), &job->square));
    TN_TRY(tnp_alloc(ctx, largest + 1, job->basis->rank * sizeof(double), &job->gathered));
    TN_TRY(tnp_alloc(ctx, 3 * rows + job->basis->rank, sizeof(double), &job->work));
done:
    return st;
}

size_t tnp_joint_without(tnp_ridge_method method)
{
    enum { LAMBDA = 3, TAU = 3 };
    return method == TNP_TRANSFER_DAM ? LAMBDA * TNP_TAUS + TAU : LAMBDA;
}

/* *at and *least stay as they came when no row counts. */
static tn_status search_basis(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                              tnp_ridge_method method, const tnp_ridge_basis *basis, size_t *at, double *least)
{
    tn_status st = TN_OK;
    size_t rows = joint->columns->rows;
    choice_job job = {.joint = joint, .problem = problem, .basis = basis};
    double *work = NULL;
    TN_TRY(tnp_alloc(ctx, rows, 3 * sizeof *work, &work));
    job.counts = work;
    if (!tnp_joint_counts(joint, weights, job.counts))
        goto done;
    TN_TRY(job_init(ctx, &job, weights));
    if (method == TNP_TRANSFER_DAM) {
        job.pull = work + 2 * rows;
        tnp_transfer_mean_score(problem, joint->features, work + 2 * rows);
    }
    TN_TRY(search(ctx, &job, work + rows, at, least));
done:
    tnp_free(job.members);
    tnp_free(job.first);
    tnp_free(job.shares);
    tnp_free(job.square);
    tnp_free(job.gathered);
    tnp_free(job.work);
    tnp_free(work);
    return st;
}

tn_status tnp_joint_ridge(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                          tnp_ridge_method method, tnp_ridge_basis **kept, size_t *at)
{
    tn_status st = TN_OK;
    double least = INFINITY;
    if (!*kept)
        TN_TRY(
            tnp_ridge_basis_new(ctx, problem, 0, method == TNP_TRANSFER_RLS ? problem->cols : joint->features, kept));
    *at = tnp_joint_without(method);
    TN_TRY(search_basis(ctx, joint, problem, weights, method, *kept, at, &least));
done:
    return st;
}

/* ---- how much the sources count for ---- */

/* The mean of the shares of three models, weights (losses): 0 of features alone, `even` of both, 1 of sources alone. */
static double mean_share(const double losses[3], size_t rows, double even)
{
    static const double LEAST = 1e-3; /* neither side vanishes: every method must find its columns */
    const double shares[3] = {0, even, 1}, best = fmin(fmin(losses[0], losses[1]), losses[2]);
    double sum = 0, mean = 0;
    for (size_t m = 0; m < 3; ++m) {
        double weight = pow(best / losses[m], (double)rows / 2);
        sum += weight;
        mean += weight * shares[m];
    }
    return best > 0 && isfinite(best) ? fmin(fmax(mean / sum, LEAST), 1 - LEAST) : 0;
}

tn_status tnp_joint_share(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                          double *share)
{
    tn_status st = TN_OK;
    const size_t first[3] = {0, 0, joint->features}, end[3] = {joint->features, problem->cols, problem->cols};
    double losses[3] = {INFINITY, INFINITY, INFINITY}, trace[3], *counts = NULL;
    size_t rows = 0, at = 0;
    tnp_ridge_basis *basis = NULL;
    *share = 0;
    if (joint->features == 0 || joint->features == problem->cols)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, problem->rows, sizeof *counts, &counts));
    (void)tnp_joint_counts(joint, weights, counts);
    for (size_t i = 0; i < problem->rows; ++i)
        rows += counts[i] > 0;
    for (size_t m = 0; rows > 0 && m < 3; ++m) {
        TN_TRY(tnp_ridge_basis_new(ctx, problem, first[m], end[m] - first[m], &basis));
        TN_TRY(search_basis(ctx, joint, problem, weights, TNP_TRANSFER_RLS, basis, &at, &losses[m]));
        trace[m] = basis->trace;
        tnp_ridge_basis_free(basis);
        basis = NULL;
    }
    if (rows > 0 && trace[0] > 0 && trace[2] > 0)
        *share = mean_share(losses, rows, trace[2] / trace[1]);
done:
    tnp_ridge_basis_free(basis);
    tnp_free(counts);
    return st;
}
