/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge regression for all classes at once.
 *
 *   minimise |y_k - b_k - X w_k|^2 + lambda_k |w_k|^2          X (N,D), w_k (D), k = 1..K
 *
 * The unpenalised intercept is the same as centring X and y: b = mean(y) - mean(x)'w. In the dual w = X'v, and
 * v of centred problems sums to zero, so the rows need not be centred to form w.
 *
 * Weighted rows, sum_i g_i (y_i - b - x_i'w)^2: the same with rows and targets times r_i = sqrt g_i and means weighted
 * by g. Centring then takes off the direction r instead of the ones; the dual has w = sum_i r_i v_i x_i. Oracle: the
 * gradient of the objective is zero, tests/unit/test_ridge.c. */
#include "learn/ridge/ridge.h"
#include "algebra/blas.h"

#include <float.h>
#include <math.h>
#include <string.h>

double tnp_target(const tnp_targets *y, size_t row, size_t k)
{
    if (y->values)
        return y->values[row * y->classes + k];
    for (size_t p = y->first[row]; p < y->first[row + 1]; ++p)
        if (y->cls[p] == k)
            return 1;
    return 0;
}

static tn_status ridge_alloc(tn_ctx *ctx, size_t rows, size_t dim, size_t classes, bool intercept, tnp_ridge **out)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &r->ymean));
    r->rows = rows;
    r->weight = (double)rows;
    r->dim = dim;
    r->classes = classes;
    r->intercept = intercept;
    *out = r;
    r = NULL;
done:
    tnp_ridge_free(r);
    return st;
}

tn_status tnp_ridge_new(tn_ctx *ctx, const tnp_targets *y, size_t dim, bool intercept, bool by_rows, tnp_ridge **out)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL;
    TN_TRY(ridge_alloc(ctx, y->rows, dim, y->classes, intercept, &r));
    r->wide = true;
    if (y->weight) {
        r->weight = 0;
        for (size_t i = 0; i < y->rows; ++i)
            r->weight += y->weight[i];
    }
    if (y->weight && by_rows) {
        TN_TRY(tnp_alloc(ctx, y->rows, sizeof(double), &r->root));
        for (size_t i = 0; i < y->rows; ++i)
            r->root[i] = sqrt(y->weight[i]);
    }
    *out = r;
    r = NULL;
done:
    tnp_ridge_free(r);
    return st;
}

void tnp_ridge_set_offset(tnp_ridge *r, double log_weight)
{
    r->spectrum->offset = (log_weight - (r->intercept ? log(r->weight / (double)r->rows) : 0)) / 2;
}

void tnp_ridge_free(tnp_ridge *r)
{
    if (!r)
        return;
    tnp_spectrum_free(r->spectrum);
    tnp_free_all(r->root, r->mean, r->ymean, r->left_out, r->left_out_lambda, r);
}

static double degrees(size_t rows, bool intercept)
{
    return (double)rows - (intercept ? 1 : 0);
}

/* gram (d,d): where the moments go and the spectrum's from then on, also on failure. */
static tn_status primal_in(tn_ctx *ctx, const tnp_moments *moments, const tnp_range *parts, size_t count,
                           bool intercept, double *gram, size_t dim, tnp_ridge **out)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL;
    double *xty = NULL, *yy = NULL, *scale = NULL;
    size_t classes = moments->classes;
    tnp_noise noise;
    TN_TRY(tnp_alloc(ctx, dim, sizeof *scale, &scale));
    tnp_moments_noise(moments, parts, count, intercept, scale,
                      &noise); /* gram may be the statistics' own, and change */
    TN_TRY(ridge_alloc(ctx, moments->rows, dim, classes, intercept, &r));
    r->weight = moments->weight;
    r->wide = moments->wide;
    TN_TRY(tnp_alloc(ctx, dim, sizeof(double), &r->mean));
    TN_TRY(tnp_alloc_raw(ctx, classes * dim, sizeof *xty, &xty));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *yy, &yy));
    tnp_moments_of(moments, parts, count, intercept, gram, xty, yy, r->mean, r->ymean);
    TN_TRY(tnp_spectrum_new(ctx, false, dim, classes, degrees(moments->rows, intercept), gram, xty, yy, &r->spectrum));
    gram = NULL; /* the spectrum's now */
    tnp_spectrum_set_noise(r->spectrum, &noise);
    r->spectrum->scale = scale;
    scale = NULL;
    tnp_ridge_set_offset(r, moments->log_weight);
    *out = r;
    r = NULL;
done:
    tnp_ridge_free(r);
    tnp_free_all(scale, gram, xty, yy);
    return st;
}

tn_status tnp_ridge_primal(tn_ctx *ctx, const tnp_moments *moments, const tnp_range *parts, size_t count,
                           bool intercept, tnp_ridge **out)
{
    double *gram = NULL;
    size_t dim = tnp_range_columns(parts, count);
    tn_status st = tnp_alloc_raw(ctx, dim * dim, sizeof *gram, &gram);
    return st == TN_OK ? primal_in(ctx, moments, parts, count, intercept, gram, dim, out) : st;
}

tn_status tnp_ridge_primal_take(tn_ctx *ctx, tnp_moments *moments, bool intercept, tnp_ridge **out)
{
    tnp_range all = {0, moments->dim};
    double *gram = moments->gram;
    tn_status st = primal_in(ctx, moments, &all, 1, intercept, gram, moments->dim, out);
    moments->gram = NULL;
    return st;
}

/* K <- P K P with P = I - rr'/r'r on the upper triangle, r the roots of the weights (NULL: ones); mean (N) is scratch.
 * */
static void centre_products(double *k, size_t n, const double *root, double *mean)
{
    double all = 0, weight = 0;
    memset(mean, 0, n * sizeof *mean);
    for (size_t i = 0; i < n; ++i) {
        double ri = root ? root[i] : 1;
        for (size_t j = i; j < n; ++j) {
            mean[i] += k[i * n + j] * (root ? root[j] : 1);
            mean[j] += j > i ? k[i * n + j] * ri : 0;
        }
        weight += ri * ri;
    }
    for (size_t i = 0; i < n; ++i) {
        mean[i] /= weight;
        all += mean[i] * (root ? root[i] : 1);
    }
    all /= weight;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j)
            k[i * n + j] +=
                root ? all * root[i] * root[j] - mean[i] * root[j] - mean[j] * root[i] : all - mean[i] - mean[j];
}

void tnp_ridge_targets(const tnp_targets *y, bool intercept, double *rows, double *ymean)
{
    size_t n = y->rows;
    memset(rows, 0, y->classes * n * sizeof *rows);
    for (size_t i = 0; i < n; ++i) {
        for (size_t p = y->first ? y->first[i] : 0; y->first && p < y->first[i + 1]; ++p)
            rows[y->cls[p] * n + i] = 1;
        for (size_t k = 0; y->values && k < y->classes; ++k)
            rows[k * n + i] = y->values[i * y->classes + k];
    }
    for (size_t k = 0; k < y->classes; ++k) {
        double sum = 0, weight = 0;
        for (size_t i = 0; i < n; ++i) {
            double g = y->weight ? y->weight[i] : 1;
            sum += intercept ? g * rows[k * n + i] : 0;
            weight += g;
        }
        ymean[k] = sum / weight;
        for (size_t i = 0; i < n; ++i)
            rows[k * n + i] = (rows[k * n + i] - ymean[k]) * (y->weight ? sqrt(y->weight[i]) : 1);
    }
}

/* What rounding may have left in products of rows in double: gather.c has no better than the diagonal to tell by. */
static void product_noise(const double *k, size_t n, size_t cols, bool intercept, tnp_noise *out)
{
    double trace = 0, square = 0, largest = 0;
    for (size_t i = 0; i < n; ++i) {
        double g = k[i * n + i];
        trace += g;
        square += g * g;
        largest = fmax(largest, g);
    }
    double share = trace > 0 ? sqrt(tnp_block_noise(cols, true, trace)) / trace : 0;
    *out = (tnp_noise){.norm = 2 * share * sqrt(square), .form = share * largest, .flat = intercept ? 1 : 0};
    for (size_t j = 0; j < n; ++j)
        for (size_t i = 0; i < j; ++i)
            if (fabs(k[i * n + i] + k[j * n + j] - 2 * k[i * n + j]) <= 4 * DBL_EPSILON * k[j * n + j]) {
                ++out->twins;
                break;
            }
}

static double log_weights(const tnp_targets *y)
{
    double sum = 0;
    for (size_t i = 0; y->weight && i < y->rows; ++i)
        sum += log(y->weight[i]);
    return sum;
}

tn_status tnp_ridge_dual(tn_ctx *ctx, double *products, const tnp_targets *y, size_t dim, bool intercept,
                         tnp_ridge **out)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL;
    double *rhs = NULL, *yy = NULL, *mean = NULL;
    tnp_noise noise;
    size_t n = y->rows;
    TN_TRY(tnp_ridge_new(ctx, y, dim, intercept, true, &r));
    TN_TRY(tnp_alloc_raw(ctx, y->classes * n, sizeof *rhs, &rhs));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *yy, &yy));
    TN_TRY(tnp_alloc(ctx, n, sizeof *mean, &mean));
    for (size_t i = 0; r->root && i < n; ++i)
        for (size_t j = i; j < n; ++j)
            products[i * n + j] *= r->root[i] * r->root[j];
    product_noise(products, n, dim, intercept, &noise);
    if (intercept)
        centre_products(products, n, r->root, mean);
    tnp_ridge_targets(y, intercept, rhs, r->ymean);
    for (size_t i = 0; i < y->classes * n; ++i)
        yy[i / n] += rhs[i] * rhs[i];
    TN_TRY(tnp_spectrum_new(ctx, true, n, y->classes, degrees(n, intercept), products, rhs, yy, &r->spectrum));
    products = NULL; /* the spectrum's now */
    tnp_spectrum_set_noise(r->spectrum, &noise);
    tnp_ridge_set_offset(r, log_weights(y));
    *out = r;
    r = NULL;
done:
    tnp_ridge_free(r);
    tnp_free_all(products, rhs, yy, mean);
    return st;
}

/* v times the roots of the weights. That of a centred problem then sums to zero; rounding of the solve leaves eps |K|
 * |v| / lambda, which the mean of the rows would multiply. */
static void centre_solution(const tnp_ridge *r, double *v)
{
    for (size_t k = 0; k < r->classes; ++k) {
        double sum = 0;
        for (size_t i = 0; i < r->rows; ++i)
            sum += v[k * r->rows + i] * (r->root ? r->root[i] : 1);
        for (size_t i = 0; i < r->rows; ++i) {
            double root = r->root ? r->root[i] : 1;
            v[k * r->rows + i] = (v[k * r->rows + i] - (r->intercept ? sum * root / r->weight : 0)) * root;
        }
    }
}

/* w (K, cols) = V X for V (K,N), and the mean of the rows (cols), for one feed. With an intercept the first row is
 * taken off all others: the same w, and a common offset costs no digits. */
static tn_status dual_weights(tn_ctx *ctx, const tnp_ridge *r, const tn_feed *feed, const double *v, double *w,
                              double *mean)
{
    enum { ROWS = 512, VALUES = 1 << 22 };
    tn_status st = TN_OK;
    double *block = NULL, *origin = NULL;
    size_t cols = tn_feed_cols(feed), most = tnp_min(r->rows, tnp_min(ROWS, VALUES / cols + 1));
    TN_TRY(tnp_alloc_raw(ctx, most * cols, sizeof *block, &block));
    TN_TRY(tnp_alloc(ctx, cols, sizeof *origin, &origin));
    if (r->intercept)
        TN_TRY(tn_feed_read_wide(ctx, feed, 0, 1, origin, cols));
    for (size_t start = 0; start < r->rows; start += most) {
        size_t n = tnp_min(most, r->rows - start);
        TN_TRY(tnp_progress(ctx, "weights", start, r->rows));
        TN_TRY(tn_feed_read_wide(ctx, feed, start, n, block, cols));
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < cols; ++j) {
                double g = r->root ? r->root[start + i] * r->root[start + i] : 1;
                block[i * cols + j] -= origin[j];
                mean[j] += g * block[i * cols + j] / r->weight;
            }
        TN_TRY(tnp_dgemm_nn(ctx, r->classes, cols, n, v + start, r->rows, block, cols, start ? 1 : 0, w, r->dim));
    }
    for (size_t j = 0; j < cols; ++j)
        mean[j] += origin[j];
done:
    tnp_free_all(block, origin);
    return st;
}

/* Heads are float: weights of features that are very small or large may not fit, and would come out infinite or as
 * zeros. */
static tn_status check_weights(tn_ctx *ctx, const double *w, size_t n)
{
    const double least = 0x1p-116, most = 0x1p+126; /* ten bits above the smallest normal one; room for sums */
    double largest = 0;
    for (size_t j = 0; j < n; ++j)
        largest = fmax(largest, fabs(w[j]));
    if (largest == 0 || (largest >= least && largest <= most))
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_DATA,
                    "head: a weight of %.1e, which float cannot hold; rescale or normalise the features", largest);
}

tn_status tnp_ridge_weights(tn_ctx *ctx, const tnp_ridge *r, const tn_feed *const *feeds, size_t count,
                            const double *lambda, float *weight, float *bias)
{
    tn_status st = TN_OK;
    double *solution = NULL, *w = NULL, *mean = NULL;
    const double *weights, *means = r->mean;
    TN_TRY(tnp_alloc_raw(ctx, r->classes * r->spectrum->order, sizeof *solution, &solution));
    TN_TRY(tnp_spectrum_solve(ctx, r->spectrum, lambda, true, solution));
    weights = solution;
    if (r->spectrum->by_rows) {
        TN_TRY(tnp_alloc_raw(ctx, r->classes * r->dim, sizeof *w, &w));
        TN_TRY(tnp_alloc(ctx, r->dim, sizeof *mean, &mean));
        if (r->intercept || r->root)
            centre_solution(r, solution);
        for (size_t f = 0, at = 0; f < count; at += tn_feed_cols(feeds[f++]))
            TN_TRY(dual_weights(ctx, r, feeds[f], solution, w + at, mean + at));
        weights = w;
        means = mean;
    }
    for (size_t k = 0; k < r->classes; ++k) {
        double offset = 0, constant = 0;
        TN_TRY(check_weights(ctx, weights + k * r->dim, r->dim));
        for (size_t j = 0; j < r->dim; ++j) {
            constant += !r->intercept && r->centre ? weights[k * r->dim + j] * r->centre[j] : 0;
            weight[k * r->dim + j] = (float)weights[k * r->dim + j];
            offset += (means[j] - (r->centre ? r->centre[j] : 0)) *
                      (double)weight[k * r->dim + j]; /* as rounded: the scores' mean stays that of the labels */
        }
        bias[k] = (float)(r->intercept ? r->ymean[k] - offset : constant);
    }
done:
    tnp_free_all(solution, w, mean);
    return st;
}

bool tnp_ridge_rounds_bias(const tnp_ridge *ridge, const float *bias)
{
    bool found = false;
    for (size_t k = 0; k < ridge->classes; ++k) {
        double size = sqrt(ridge->spectrum->yy[k] / ridge->weight) + fabs(ridge->ymean[k]);
        found |= fabs((double)bias[k]) * (double)FLT_EPSILON / 4 > 1e-4 * size;
    }
    return found;
}

typedef struct precision_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const double *lambda;
    double *alpha, *beta;
} precision_job;

static void precision_tile(void *arg, size_t tile, double *scratch)
{
    const precision_job *job = arg;
    const tnp_spectrum *s = job->s;
    double lambda[TNP_LANES];
    tnp_ridge_values v;
    tnp_tile_lambdas(s, tile, job->lambda, lambda);
    tnp_spectrum_eval(s, job->k, tile, lambda, scratch, &v);
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        if (c >= s->classes)
            break;
        job->beta[c] = s->dof / (isfinite(job->lambda[c]) ? v.r[l] : s->yy[c]);
        job->alpha[c] = isfinite(job->lambda[c]) ? job->lambda[c] * job->beta[c] : INFINITY;
    }
}

tn_status tnp_ridge_precisions(tn_ctx *ctx, const tnp_ridge *r, const double *lambda, double *alpha, double *beta)
{
    precision_job job = {r->spectrum, tnp_simd_get(), lambda, alpha, beta};
    return tnp_spectrum_tiles(ctx, r->spectrum, r->spectrum->tiles, precision_tile, &job);
}
