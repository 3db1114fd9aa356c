/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ridge problem by the singular values of its rows. Moments square the condition of X: a direction whose spread is
 * 1e-8 of the largest is lost in their rounding, whatever is done afterwards. Here nothing is squared, and half as many
 * digits are lost; the price is four to ten times the flops, so this is the last resort of select/refine.c.
 *
 *   D < N      [X Y] = Q [Rx Rxy; 0 Ry], row block by row block in (D+K)^2 memory; Rx = U S V'
 *              z = U'Rxy, rest_k = |column k of Ry|^2: what no column reaches of y_k, not a difference of squares
 *   N <= D     X = L Q' with all rows in memory; L = U S V'; z = U'Y, rest = 0
 *
 * Rows are centred by means from a pass of their own (about the first row, so that an offset costs no digits) and
 * multiplied by the roots of their weights. Normalisation rounds a value for its size before the mean is taken off,
 * which may be far more than what is left: `blur` is the Frobenius norm of these roundings, and no singular value below
 * it says anything about the rows. One-sided Jacobi would keep tiny columns beside huge ones to the last digit; it was
 * refused for its cost, ten times that of dgesdd, which is off by eps times the largest singular value. Oracle:
 * tests/ref/ref_evidence.c in long double, tests/unit/test_precision.c. */
#include "algebra/blas.h"
#include "learn/ridge/ridge.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

typedef struct root_job {
    const tn_feed *const *feeds;
    size_t count;
    const tnp_targets *y;
    bool intercept;
    tnp_ridge *r;
    double *origin;  /* (dim): the first row, zeros without an intercept */
    double *mean;    /* (dim): of the rows less the origin */
    double *share;   /* (dim): what a value is rounded by, against x + taken: tnp_feed_rounding */
    double *taken;   /* (dim): taken off by the feed */
    double largest;  /* deviation of a value */
    double blur;     /* sum of squares of all values' roundings */
    double *targets; /* (classes, rows), centred and weighted */
} root_job;

static bool goes_by_rows(size_t rows, size_t dim, bool intercept)
{
    return dim + (intercept ? 1 : 0) >= rows;
}

void tnp_ridge_root_cost(size_t rows, size_t dim, size_t classes, bool intercept, double *flops, double *bytes)
{
    bool by_rows = goes_by_rows(rows, dim, intercept);
    double n = (double)rows, d = (double)dim, p = d + (double)classes, order = by_rows ? n : d;
    *flops = (by_rows ? 2 * n * n * d : 4 * n * p * p) + 22 * order * order * order;
    *bytes = 8 * ((by_rows ? n * d : 2 * p * p) + 9 * order * order + (double)classes * (n + 2 * order));
}

/* Rows [start, start + n) side by side, ld apart. */
static tn_status read_rows(tn_ctx *ctx, const root_job *job, size_t start, size_t n, double *out, size_t ld)
{
    tn_status st = tnp_feeds_read_wide(ctx, job->feeds, job->count, start, n, out, ld);
    return st == TN_OK ? tnp_progress(ctx, "reading", start, job->y->rows) : st;
}

static void find_rounding(root_job *job)
{
    for (size_t f = 0, at = 0; f < job->count; at += tn_feed_cols(job->feeds[f++]))
        for (size_t j = 0; j < tn_feed_cols(job->feeds[f]); ++j) {
            job->share[at + j] = tnp_feed_rounding(job->feeds[f]);
            job->taken[at + j] = tnp_feed_taken_off(job->feeds[f], j);
        }
}

/* The first row and the weighted means about it; zeros without an intercept. block (most, dim) is scratch. */
static tn_status find_means(tn_ctx *ctx, root_job *job, double *block, size_t most)
{
    tn_status st = TN_OK;
    size_t dim = job->r->dim;
    if (!job->intercept)
        return TN_OK;
    TN_TRY(read_rows(ctx, job, 0, 1, job->origin, dim));
    for (size_t start = 0; start < job->y->rows; start += most) {
        size_t n = tnp_min(most, job->y->rows - start);
        TN_TRY(read_rows(ctx, job, start, n, block, dim));
        for (size_t i = 0; i < n; ++i) {
            double g = job->y->weight ? job->y->weight[start + i] : 1;
            for (size_t j = 0; j < dim; ++j)
                job->mean[j] += g * (block[i * dim + j] - job->origin[j]);
        }
    }
    for (size_t j = 0; j < dim; ++j)
        job->mean[j] /= job->r->weight;
done:
    return st;
}

/* Centres and weighs n rows of x, ld apart, and takes note of their largest deviation and of their rounding. The origin
 * goes first: the mean itself is rounded by eps of the offset, and columns that are off by a constant can no longer
 * reproduce labels that they do reproduce. */
static void prepare(root_job *job, size_t start, size_t n, double *x, size_t ld)
{
    for (size_t i = 0; i < n; ++i) {
        double root = job->y->weight ? sqrt(job->y->weight[start + i]) : 1;
        for (size_t j = 0; j < job->r->dim; ++j) {
            double v = x[i * ld + j] - job->origin[j] - job->mean[j];
            double rounding = job->share[j] * (x[i * ld + j] + job->taken[j]) * root;
            job->largest = fabs(v) > job->largest ? fabs(v) : job->largest;
            job->blur += rounding * rounding;
            x[i * ld + j] = v * root;
        }
    }
}

/* values, z (classes, n) and rest from Rx (n,n), which is used up; with by_rows it is L, and `left` is the basis. */
static tn_status decompose(tn_ctx *ctx, root_job *job, bool by_rows, size_t n, double *a, const double *rhs,
                           const double *rest)
{
    tn_status st = TN_OK;
    size_t k = job->y->classes;
    double *left = NULL, *right = NULL, *basis = NULL, *values = NULL, *z = NULL, dof = (double)job->y->rows;
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *left, &left));
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *right, &right));
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *values, &values));
    TN_TRY(tnp_alloc_raw(ctx, k * n, sizeof *z, &z));
    TN_TRY(tnp_svd(ctx, n, a, left, values, right));
    TN_TRY(tnp_dgemm_nn(ctx, k, n, n, rhs, n, left, n, 0, z, n));
    basis = by_rows ? left : right;
    for (size_t i = 0; !by_rows && i < n; ++i) /* by columns */
        for (size_t j = 0; j < i; ++j) {
            double swap = right[i * n + j];
            right[i * n + j] = right[j * n + i];
            right[j * n + i] = swap;
        }
    TN_TRY(tnp_spectrum_new_root(ctx, by_rows, n, k, dof - (job->intercept ? 1 : 0), basis, values, sqrt(job->blur), z,
                                 rest, &job->r->spectrum));
    job->r->spectrum->noise.entry = sqrt(job->blur / (dof * (double)job->r->dim));
    if (by_rows)
        left = NULL; /* the spectrum's now */
    else
        right = NULL;
done:
    tnp_free_all(left, right, values, z);
    return st;
}

static tn_status by_rows_root(tn_ctx *ctx, root_job *job)
{
    tn_status st = TN_OK;
    size_t n = job->y->rows, dim = job->r->dim;
    double *x = NULL, *l = NULL, *rest = NULL;
    TN_TRY(tnp_alloc_raw(ctx, n * dim, sizeof *x, &x));
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *l, &l));
    TN_TRY(tnp_alloc(ctx, job->y->classes, sizeof *rest, &rest));
    TN_TRY(find_means(ctx, job, x, n));
    TN_TRY(read_rows(ctx, job, 0, n, x, dim));
    prepare(job, 0, n, x, dim);
    TN_TRY(tnp_check_range(ctx, job->largest));
    TN_TRY(tnp_lq_root(ctx, n, dim, x, l));
    tnp_free(x);
    x = NULL;
    TN_TRY(decompose(ctx, job, true, n, l, job->targets, rest));
done:
    tnp_free_all(x, l, rest);
    return st;
}

/* The factor of [X Y] in the first p = D + K rows of buffer (2 p, p). */
static tn_status factor_rows(tn_ctx *ctx, root_job *job, size_t p, double *buffer)
{
    tn_status st = TN_OK;
    size_t rows = job->y->rows, dim = job->r->dim, k = job->y->classes;
    double *more = buffer + p * p;
    TN_TRY(find_means(ctx, job, more, p));
    for (size_t start = 0; start < rows; start += p) {
        size_t n = tnp_min(p, rows - start);
        TN_TRY(read_rows(ctx, job, start, n, more, p));
        prepare(job, start, n, more, p);
        for (size_t i = 0; i < n; ++i)
            for (size_t c = 0; c < k; ++c)
                more[i * p + dim + c] = job->targets[c * rows + start + i];
        TN_TRY(tnp_qr_root(ctx, p + n, p, buffer));
    }
    TN_TRY(tnp_check_range(ctx, job->largest));
done:
    return st;
}

static tn_status by_columns_root(tn_ctx *ctx, root_job *job)
{
    tn_status st = TN_OK;
    size_t dim = job->r->dim, k = job->y->classes, p = dim + k;
    double *buffer = NULL, *rx = NULL, *rhs = NULL, *rest = NULL;
    TN_TRY(tnp_alloc(ctx, 2 * p * p, sizeof *buffer, &buffer));
    TN_TRY(tnp_alloc(ctx, dim * dim, sizeof *rx, &rx));
    TN_TRY(tnp_alloc(ctx, k * dim, sizeof *rhs, &rhs));
    TN_TRY(tnp_alloc(ctx, k, sizeof *rest, &rest));
    TN_TRY(factor_rows(ctx, job, p, buffer));
    for (size_t i = 0; i < dim; ++i)
        memcpy(rx + i * dim + i, buffer + i * p + i, (dim - i) * sizeof *rx);
    for (size_t c = 0; c < k; ++c) {
        for (size_t i = 0; i < dim; ++i)
            rhs[c * dim + i] = buffer[i * p + dim + c];
        for (size_t i = dim; i <= dim + c; ++i)
            rest[c] += buffer[i * p + dim + c] * buffer[i * p + dim + c];
    }
    tnp_free(buffer);
    buffer = NULL;
    TN_TRY(decompose(ctx, job, false, dim, rx, rhs, rest));
    for (size_t j = 0; j < dim; ++j)
        job->mean[j] += job->origin[j];
    job->r->mean = job->mean;
    job->mean = NULL; /* the ridge problem's now */
done:
    tnp_free_all(buffer, rx, rhs, rest);
    return st;
}

tn_status tnp_ridge_root(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y, bool intercept,
                         tnp_ridge **out)
{
    tn_status st = TN_OK;
    root_job job = {.feeds = feeds, .count = count, .y = y, .intercept = intercept};
    size_t dim = 0;
    for (size_t f = 0; f < count; ++f)
        dim += tn_feed_cols(feeds[f]);
    bool by_rows = goes_by_rows(y->rows, dim, intercept);
    double log_weight = 0;
    TN_TRY(tnp_ridge_new(ctx, y, dim, intercept, by_rows, &job.r));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *job.origin, &job.origin));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *job.mean, &job.mean));
    TN_TRY(tnp_alloc_raw(ctx, dim, sizeof *job.share, &job.share));
    TN_TRY(tnp_alloc_raw(ctx, dim, sizeof *job.taken, &job.taken));
    find_rounding(&job);
    TN_TRY(tnp_alloc_raw(ctx, y->classes * y->rows, sizeof *job.targets, &job.targets));
    tnp_ridge_targets(y, intercept, job.targets, job.r->ymean);
    TN_TRY(by_rows ? by_rows_root(ctx, &job) : by_columns_root(ctx, &job));
    for (size_t i = 0; y->weight && i < y->rows; ++i)
        log_weight += log(y->weight[i]);
    tnp_ridge_set_offset(job.r, log_weight);
    *out = job.r;
    job.r = NULL;
done:
    tnp_ridge_free(job.r);
    tnp_free_all(job.origin, job.mean, job.share, job.taken, job.targets);
    return st;
}
