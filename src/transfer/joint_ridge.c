/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lambda, and tau of DAM, of a ridge model for all classes, by leave-one-out residuals for which the rows that stay
 * take over the weight of the row that leaves, those of its class in the proportions of their own: columns, centring and
 * scaling are kept.
 *
 * In standardised rows r = P t is the residual of the fit to all rows and L = P - u u' = I - H, the intercept inside H.
 * Changing the weights of the rows C of one class, n of them, by the factors 1 + delta, delta = -1 for row i and 1/(n -
 * 1) for the others, makes their residuals (I + H_CC diag(delta))^-1 r_C: the weighted normal equations change by a
 * matrix of rank n. With R = (I - L_CC/n)^-1 row i of that is
 *
 *   e_i = (R r_C)_i / (R L_CC)_ii                  prediction: t_i - e_i/u_i
 *
 * and with n large r_i/L_ii, the form without siblings. Eigenvalues of L are in [0, 1], so R is at most n/(n - 1) and
 * nothing cancels. The form without siblings was refused: a class of two rows is half as frequent as the others when
 * one of them is to be told, smaller lambdas make up for it, and the heads lose a point of accuracy (docs/math.md).
 *
 * With weights g of rows, 1/n is q_i = g_i / sum of g over C, delta = q_i/(1 - q_i) for the others, and R one for every
 * row: those come from eigenvectors of L_CC.
 *
 * All classes go through the same directions, so residuals of a block of them are one product of matrices, (classes,
 * rank) with (rank, rows), and what the labels have along the directions is found once for the whole grid.
 *
 * The share of the sources. With L the least sum of squared residuals over the grid, of ridge on the features (share
 * 0), on both in even parts, and on the sources (share 1), n rows that count:
 *
 *   share = sum_m w_m share_m / sum_m w_m             w_m = L_m^(-n/2)
 *
 * the likelihood of n residuals whose variance is not known: the K residuals of one row come from one row, and count as
 * one. Even parts for all were refused: sources that have nothing to do with the classes cost 15 points with two rows
 * per class, and sources that know them better than the features are worth 9 more; so was the share of least L, which
 * few rows often miss (docs/math.md). Oracle: tests/unit/test_transfer_joint.c, refits without the row. */
#include "algebra/blas.h"
#include "transfer/joint.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256 }; /* rows of a class between two looks for an interrupt */

/* Labels of all classes in the directions of a basis: t_k = u (y_k - mean_k), and that of DAM, which is drawn to the
 * sources' mean score: (t_k + tau pull)/(1 + tau), linear in both. */
typedef struct class_targets {
    double *mean;                  /* (classes) */
    double *along;                 /* (classes, rank): V't_k */
    double pull_mean, *pull_along; /* (rank); 0 without DAM */
} class_targets;

typedef struct choice_job {
    const tnp_joint *joint;
    tnp_transfer_problem *problem;
    const tnp_ridge_basis *basis;
    const double *pull; /* (rows): the sources' mean; NULL without DAM */
    double *counts;     /* (rows) */
    size_t *members;    /* (rows): rows that take part, class by class */
    size_t *first;      /* (classes + 1): of a class among them */
    double *shares;     /* a class after the other, (n, n): R over the diagonal of R L */
    class_targets targets;
    size_t block;       /* classes at a time: */
    double *r, *scaled; /* (block, rows), (block, rank) */
    double *square;     /* (2 n n) of the largest class */
    double *gathered;   /* (rank (1 + 2 n)) of it */
} choice_job;

static double drawn(double value, double tau, double pull)
{
    return (value + tau * pull) / (1 + tau);
}

/* Classes that are worked on together: enough for a matrix product, at most some MB of rows. */
static size_t classes_at_once(const tnp_joint *joint)
{
    return tnp_min(joint->classes, tnp_max(1, ((size_t)1 << 20) / joint->columns->rows));
}

static void targets_destroy(class_targets *t)
{
    tnp_free_all(t->mean, t->along, t->pull_along);
}

/* pull (rows), or NULL. The arrays are freed by targets_destroy, also after failure. */
static tn_status targets_init(tn_ctx *ctx, const tnp_joint *joint, const tnp_transfer_problem *problem,
                              const tnp_ridge_basis *basis, const double *pull, class_targets *out)
{
    tn_status st = TN_OK;
    size_t m = basis->rows, rank = basis->rank, most = classes_at_once(joint);
    double *t = NULL;
    TN_TRY(tnp_alloc(ctx, joint->classes, sizeof(double), &out->mean));
    TN_TRY(tnp_alloc(ctx, joint->classes, rank * sizeof(double), &out->along));
    TN_TRY(tnp_alloc(ctx, rank, sizeof(double), &out->pull_along));
    TN_TRY(tnp_alloc(ctx, most, m * sizeof *t, &t));
    for (size_t k = 0, n; k < joint->classes; k += n) {
        n = tnp_min(most, joint->classes - k);
        for (size_t c = 0; c < n; ++c) {
            tnp_joint_labels(joint, k + c, t + c * m);
            out->mean[k + c] = tnp_transfer_centre(problem, t + c * m, t + c * m);
        }
        if (rank > 0)
            TN_TRY(tnp_dgemm_nt(ctx, n, rank, m, t, m, basis->v, m, 0, out->along + k * rank, rank));
    }
    if (pull)
        out->pull_mean = tnp_transfer_centre(problem, pull, t);
    if (pull && rank > 0)
        TN_TRY(tnp_dgemm_nt(ctx, 1, rank, m, t, m, basis->v, m, 0, out->pull_along, rank));
done:
    tnp_free(t);
    return st;
}

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

/* left (n, n): L of some rows. Products of a block of rows at a time, so that an interrupt need not wait for a large
 * class. */
static tn_status left_of(tn_ctx *ctx, const choice_job *job, double lambda, const size_t *rows, size_t n, double *left)
{
    tn_status st = TN_OK;
    const tnp_ridge_basis *b = job->basis;
    const double *u = job->problem->root;
    size_t rank = b->rank;
    double off = b->count >= b->rows ? 0 : 1; /* what the directions leave has no closed form beside the diagonal */
    double *part = job->gathered, *v = part + rank,
           *scaled = v + n * rank; /* (rank); (n, rank): row by row; (n, rank) */
    for (size_t k = 0; k < rank; ++k) {
        part[k] = lambda / (lambda + fmax(b->s[k], 0));
        for (size_t i = 0; i < n; ++i) {
            v[i * rank + k] = b->v[k * b->rows + rows[i]];
            scaled[i * rank + k] = (part[k] - off) * v[i * rank + k];
        }
    }
    memset(left, 0, n * n * sizeof *left);
    for (size_t i = 0, some; i < n; i += some) {
        some = tnp_min(BLOCK, n - i);
        TN_TRY(tnp_cancelled(ctx));
        if (rank > 0)
            TN_TRY(tnp_dgemm_nt(ctx, some, n - i, rank, scaled + i * rank, rank, v + i * rank, rank, 0,
                                left + i * n + i, n));
    }
    for (size_t i = 0; i < n; ++i) {
        left[i * n + i] = b->outside[rows[i]];
        for (size_t k = 0; k < rank; ++k)
            left[i * n + i] += part[k] * v[i * rank + k] * v[i * rank + k];
        for (size_t j = i + 1; j < n; ++j)
            left[i * n + j] = left[j * n + i] = left[i * n + j] - off * u[rows[i]] * u[rows[j]];
    }
done:
    return st;
}

/* inverse (n, n), upper triangle = (I - left/n)^-1 = S S', S the inverse of its triangular factor; s (n, n) is scratch
 * for S. */
static tn_status invert(tn_ctx *ctx, size_t n, const double *left, double *s, double *inverse)
{
    tn_status st = TN_OK;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j)
            inverse[i * n + j] = (i == j) - left[i * n + j] / (double)n;
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(tnp_cholesky(ctx, n, inverse));
    memset(s, 0, n * n * sizeof *s);
    for (size_t i = 0, some; i < n; i += some) {
        some = tnp_min(BLOCK, n - i);
        for (size_t j = i; j < i + some; ++j)
            s[j * n + j] = 1;
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_solve_right(ctx, some, n, inverse, s + i * n));
    }
    for (size_t i = 0, some; i < n; i += some) {
        some = tnp_min(BLOCK, n - i);
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_dgemm_nt(ctx, some, n - i, n - i, s + i * n + i, n, s + i * n + i, n, 0, inverse + i * n + i, n));
    }
done:
    return st;
}

/* shares (n, n) = R over the diagonal of R L; inverse (n, n) is scratch. I - L/n is as good as I for many rows, and
 * never worse than a half of it: its inverse has all its digits. Eigenvectors of L were refused: twenty times the work,
 * in one call that no interrupt ends. */
static tn_status share_alike(tn_ctx *ctx, size_t n, const double *left, double *inverse, double *shares)
{
    tn_status st = TN_OK;
    TN_TRY(invert(ctx, n, left, shares, inverse));
    for (size_t a = 0; a < n; ++a) {
        double own = 0;
        for (size_t b = 0; b < n; ++b) {
            shares[a * n + b] = inverse[tnp_min(a, b) * n + tnp_max(a, b)];
            own += shares[a * n + b] * left[a * n + b];
        }
        for (size_t b = 0; b < n; ++b)
            shares[a * n + b] = own > 0 ? shares[a * n + b] / own : NAN;
    }
done:
    return st;
}

/* The same with an R for every row: left (n, n) becomes its eigenvectors; values (n) is scratch. */
static tn_status share_weighted(tn_ctx *ctx, const choice_job *job, const size_t *rows, size_t n, double *left,
                                double *values, double *shares)
{
    tn_status st = TN_OK;
    double sum = 0, *e = left;
    for (size_t a = 0; a < n; ++a)
        sum += job->joint->row_weight[rows[a]];
    TN_TRY(tnp_eigen(ctx, n, e, values));
    memset(shares, 0, n * n * sizeof *shares);
    for (size_t a = 0; a < n; ++a) {
        double own = 0, part = job->joint->row_weight[rows[a]] / sum;
        TN_TRY(tnp_cancelled(ctx));
        for (size_t k = 0; k < n; ++k) {
            double value = fmin(fmax(values[k], 0), 1), growth = e[k * n + a] / (1 - part * value);
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

/* shares (n, n) of one class. */
static tn_status share_class(tn_ctx *ctx, const choice_job *job, double lambda, const size_t *rows, size_t n,
                             double *shares)
{
    double *left = job->square, *scratch = left + n * n;
    tn_status st = left_of(ctx, job, lambda, rows, n, left);
    if (st != TN_OK)
        return st;
    return job->joint->row_weight ? share_weighted(ctx, job, rows, n, left, scratch, shares)
                                  : share_alike(ctx, n, left, scratch, shares);
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

/* Squared residuals of class k, rows that count, for the lambda of the shares; r (rows): residuals of its fit. */
static double loss_of(const choice_job *job, size_t k, double tau, const double *r)
{
    const double *shares = job->shares;
    double sum = 0;
    for (size_t c = 0; c < job->joint->classes; ++c) {
        const size_t *rows = job->members + job->first[c];
        size_t n = job->first[c + 1] - job->first[c];
        double y = c == k ? 1 : -1;
        for (size_t a = 0; n > 1 && a < n; ++a) {
            double e = 0, t = drawn(y, tau, job->pull ? job->pull[rows[a]] : 0);
            for (size_t b = 0; b < n; ++b)
                e += shares[a * n + b] * r[rows[b]];
            double off = y - (t - e / job->problem->root[rows[a]]);
            sum += isnan(off) ? INFINITY : job->counts[rows[a]] * off * off;
        }
        shares += n * n;
    }
    return sum;
}

/* r (count, rows) = P t of classes [first, first + count). Kernel directions span all of t, which is then not worth a
 * subtraction. */
static tn_status residuals(tn_ctx *ctx, const choice_job *job, double lambda, double tau, size_t first, size_t count,
                           double *r)
{
    const tnp_ridge_basis *b = job->basis;
    const double *u = job->problem->root;
    size_t m = b->rows;
    bool whole = b->count >= m;
    for (size_t k = 0; k < count; ++k) {
        double mean = drawn(job->targets.mean[first + k], tau, job->targets.pull_mean);
        for (size_t i = 0; !whole && i < m; ++i) {
            double y = job->joint->class_of[i] == first + k ? 1 : -1;
            r[k * m + i] = u[i] * (drawn(y, tau, job->pull ? job->pull[i] : 0) - mean);
        }
        for (size_t d = 0; d < b->rank; ++d) {
            double s = fmax(b->s[d], 0), part = (whole ? lambda : -s) / (lambda + s);
            job->scaled[k * b->rank + d] =
                part * drawn(job->targets.along[(first + k) * b->rank + d], tau, job->targets.pull_along[d]);
        }
    }
    return b->rank == 0 ? TN_OK
                        : tnp_dgemm_nn(ctx, count, m, b->rank, job->scaled, b->rank, b->v, m, whole ? 0 : 1, r, m);
}

/* Squared residuals of all classes that have rows. */
static tn_status loss_of_all(tn_ctx *ctx, const choice_job *job, double lambda, double tau, double *loss)
{
    tn_status st = TN_OK;
    size_t classes = job->joint->classes, rows = job->basis->rows;
    for (size_t k = 0, n; k < classes; k += n) {
        n = tnp_min(job->block, classes - k);
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(residuals(ctx, job, lambda, tau, k, n, job->r));
        for (size_t c = 0; c < n; ++c)
            if (job->first[k + c + 1] > job->first[k + c])
                *loss += loss_of(job, k + c, tau, job->r + c * rows);
    }
done:
    return st;
}

/* The whole grid. */
static tn_status search(tn_ctx *ctx, const choice_job *job, size_t *at, double *least)
{
    tn_status st = TN_OK;
    size_t taus = job->pull ? TNP_TAUS : 1;
    for (size_t g = 0; g < TNP_JOINT_LAMBDAS * taus; ++g) {
        double tau = job->pull ? tnp_transfer_tau(g % taus) : 0, loss = 0;
        double lambda = tnp_ridge_lambda(job->problem, job->basis, g / taus) / (1 + tau);
        TN_TRY(tnp_progress(ctx, "choice of lambda", g, TNP_JOINT_LAMBDAS * taus));
        TN_TRY(share_all(ctx, job, lambda));
        TN_TRY(loss_of_all(ctx, job, lambda, tau, &loss));
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
    TN_TRY(tnp_alloc(ctx, largest * largest, 2 * sizeof(double), &job->square));
    TN_TRY(tnp_alloc(ctx, 2 * largest + 1, job->basis->rank * sizeof(double), &job->gathered));
    job->block = classes_at_once(job->joint);
    TN_TRY(tnp_alloc(ctx, job->block, rows * sizeof(double), &job->r));
    TN_TRY(tnp_alloc(ctx, job->block, job->basis->rank * sizeof(double), &job->scaled));
    TN_TRY(targets_init(ctx, job->joint, job->problem, job->basis, job->pull, &job->targets));
done:
    return st;
}

size_t tnp_joint_without(tnp_ridge_method method)
{
    enum { LAMBDA = 3, TAU = 3 };
    return method == TNP_TRANSFER_DAM ? LAMBDA * TNP_TAUS + TAU : LAMBDA;
}

/* mean (rows), filled where the method is drawn to the mean score; else NULL. */
static const double *pull_of(const tnp_joint *joint, const tnp_transfer_problem *problem, tnp_ridge_method method,
                             double *mean)
{
    if (method != TNP_TRANSFER_DAM)
        return NULL;
    tnp_transfer_mean_score(problem, joint->features, mean);
    return mean;
}

/* *at and *least stay as they came when no row counts. */
static tn_status search_basis(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                              tnp_ridge_method method, const tnp_ridge_basis *basis, size_t *at, double *least)
{
    tn_status st = TN_OK;
    size_t rows = joint->columns->rows;
    choice_job job = {.joint = joint, .problem = problem, .basis = basis};
    double *work = NULL;
    TN_TRY(tnp_alloc(ctx, rows, 2 * sizeof *work, &work));
    job.counts = work;
    if (!tnp_joint_counts(joint, weights, job.counts))
        goto done;
    job.pull = pull_of(joint, problem, method, work + rows);
    TN_TRY(job_init(ctx, &job, weights));
    TN_TRY(search(ctx, &job, at, least));
done:
    tnp_free_all(job.members, job.first, job.shares, job.square, job.gathered, job.r, job.scaled);
    targets_destroy(&job.targets);
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

/* ---- predictions ---- */

/* products (count, rows) = X Z' of the columns of the basis, X the standardised values of rows that need not take part.
 */
static tn_status rows_by_rows(tn_ctx *ctx, const tnp_transfer_problem *p, const tnp_ridge_basis *basis,
                              const size_t *rows, size_t count, double *products)
{
    enum { WIDE = 512 }; /* columns at a time */
    tn_status st = TN_OK;
    double *x = NULL, *z = NULL;
    TN_TRY(tnp_alloc_raw(ctx, count * WIDE, sizeof *x, &x));
    TN_TRY(tnp_alloc_raw(ctx, p->rows * WIDE, sizeof *z, &z));
    for (size_t at = 0, n; at < basis->count; at += n) {
        n = tnp_min(WIDE, basis->count - at);
        tnp_transfer_rows(p, basis->first + at, n, z);
        for (size_t i = 0; i < count; ++i)
            for (size_t c = 0, j = basis->first + at; c < n; ++c, ++j)
                x[i * n + c] = (tnp_transfer_value(p->columns, rows[i], j) - p->mean[j]) * p->inverse[j];
        TN_TRY(tnp_dgemm_nt(ctx, count, p->rows, n, x, n, z, n, 1, products, p->rows));
    }
done:
    tnp_free_all(x, z);
    return st;
}

/* predicted (classes, count) += along (classes, rank) V Z X', some rows of X at a time. */
static tn_status add_scores(tn_ctx *ctx, const tnp_transfer_problem *problem, const tnp_ridge_basis *basis,
                            size_t classes, const double *along, const size_t *rows, size_t count, double *predicted)
{
    tn_status st = TN_OK;
    size_t m = problem->rows, rank = basis->rank, most = tnp_min(count, tnp_max(16, ((size_t)1 << 22) / m));
    double *products = NULL, *there = NULL;
    TN_TRY(tnp_alloc_raw(ctx, most, m * sizeof *products, &products));
    TN_TRY(tnp_alloc_raw(ctx, most, rank * sizeof *there, &there));
    for (size_t start = 0, n; rank > 0 && start < count; start += n) {
        n = tnp_min(most, count - start);
        memset(products, 0, n * m * sizeof *products);
        TN_TRY(rows_by_rows(ctx, problem, basis, rows + start, n, products));
        TN_TRY(tnp_dgemm_nt(ctx, n, rank, m, products, m, basis->v, m, 0, there, rank));
        TN_TRY(tnp_dgemm_nt(ctx, classes, n, rank, along, rank, there, rank, 1, predicted + start, count));
    }
done:
    tnp_free_all(products, there);
    return st;
}

/* f_k(x) = mean_k + x'Z'a_k, a_k = V (V't_k)/(s + lambda): for all classes at once three products of matrices. */
tn_status tnp_joint_ridge_predict(tn_ctx *ctx, const tnp_joint *joint, const tnp_transfer_problem *problem,
                                  tnp_ridge_method method, const tnp_ridge_basis *basis, size_t at, const size_t *rows,
                                  size_t count, double *predicted)
{
    tn_status st = TN_OK;
    size_t rank = basis->rank, taus = method == TNP_TRANSFER_DAM ? TNP_TAUS : 1;
    double tau = taus > 1 ? tnp_transfer_tau(at % taus) : 0, *mean = NULL;
    double lambda = tnp_ridge_lambda(problem, basis, at / taus) / (1 + tau);
    class_targets t = {0};
    TN_TRY(tnp_alloc(ctx, problem->rows, sizeof *mean, &mean));
    TN_TRY(targets_init(ctx, joint, problem, basis, pull_of(joint, problem, method, mean), &t));
    for (size_t k = 0; k < joint->classes; ++k) {
        for (size_t d = 0; d < rank; ++d)
            t.along[k * rank + d] =
                drawn(t.along[k * rank + d], tau, t.pull_along[d]) / (lambda + fmax(basis->s[d], 0));
        for (size_t i = 0; i < count; ++i)
            predicted[k * count + i] = drawn(t.mean[k], tau, t.pull_mean);
    }
    TN_TRY(add_scores(ctx, problem, basis, joint->classes, t.along, rows, count, predicted));
done:
    targets_destroy(&t);
    tnp_free(mean);
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
