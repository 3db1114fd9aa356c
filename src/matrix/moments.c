/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streaming second moments.
 *
 *   gram = sum_i (x_i - c)(x_i - c)'     sum = sum_i (x_i - c)     xty[k] = sum_i y_ik (x_i - c)
 *
 * c is the mean of the first block, in float only where it is large (set_shift). Float blocks are multiplied in float
 * and the products added up in double (algebra/gram.c): half the time of an all-double Gram; on four real data sets it
 * keeps the log evidence within 1e-7 of the double one. A single float sum over all rows was refused: its error grows
 * with N. Double input stays double throughout. What the rounding leaves is estimated along the way (tnp_moments_noise):
 * whether that is little is for the spectrum to say.
 *
 * xty is not a matrix product for labels: a row is added to the sums of its classes, N D additions instead of
 * 2 N D K operations. Threads own ranges of columns, so the order of additions never depends on them.
 *
 * Another shift c' is another frame of the same numbers, with d = c - c':
 *   gram' = gram + sum d' + d sum' + n d d'     sum' = sum + n d     xty' = xty + ysum d'
 * which is how merge and the uncentred moments are made. */
#include "matrix/moments.h"
#include "algebra/blas.h"
#include "algebra/gram.h"
#include "simd/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LEAST_COLUMNS = 64 };

size_t tnp_moments_block(size_t dim, bool wide)
{
    return wide ? 512 : tnp_max(256, tnp_min(dim, 1024));
}

size_t tnp_moments_bytes(size_t dim, size_t classes, bool wide)
{
    if (dim > ((size_t)1 << 30) || classes > ((size_t)1 << 30))
        return SIZE_MAX;
    return 8 * dim * dim + 8 * dim * (classes + 2) + 16 * classes + (wide ? 0 : 20 * dim) +
           tnp_moments_scratch(dim, wide);
}

size_t tnp_moments_scratch(size_t dim, bool wide)
{
    return wide ? 0 : tnp_gram_scratch(tnp_moments_block(dim, false), dim);
}

static void clear_row(void *arg, size_t i)
{
    const tnp_moments *s = arg;
    memset(s->gram + i * s->dim, 0, s->dim * sizeof *s->gram);
}

tn_status tnp_moments_new(tn_ctx *ctx, size_t dim, size_t classes, bool wide, tnp_moments **out)
{
    tn_status st = TN_OK;
    tnp_moments *s = NULL;
    size_t square = 0;
    TN_TRY(tnp_mul(ctx, dim, dim, &square));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->dim = dim;
    s->classes = classes;
    s->wide = wide;
    TN_TRY(tnp_alloc_raw(ctx, square, sizeof(double), &s->gram));
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)square), dim, clear_row, s);
    TN_TRY(tnp_alloc(ctx, dim, sizeof(double), &s->shift));
    TN_TRY(tnp_alloc(ctx, dim, sizeof(double), &s->sum));
    TN_TRY(tnp_alloc(ctx, classes * dim, sizeof(double), &s->xty));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &s->ysum));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &s->yy));
    if (!wide) {
        TN_TRY(tnp_alloc(ctx, dim, sizeof(float), &s->shift_f32));
        TN_TRY(tnp_alloc(ctx, dim, sizeof(double), &s->excess));
        TN_TRY(tnp_alloc(ctx, dim, sizeof(double), &s->squares));
        TN_TRY(tnp_alloc_raw(ctx, tnp_moments_scratch(dim, wide), 1, &s->scratch));
    }
    *out = s;
    s = NULL;
done:
    tn_moments_free(s);
    return st;
}

void tnp_moments_frame(tnp_moments *s, const double *shift)
{
    for (size_t j = 0; j < s->dim; ++j) {
        s->shift[j] = shift[j];
        if (s->shift_f32)
            s->shift_f32[j] = (float)shift[j];
    }
    s->framed = true;
}

void tn_moments_free(tnp_moments *s)
{
    if (!s)
        return;
    tnp_free_all(s->gram, s->shift, s->sum, s->xty, s->ysum, s->yy, s->shift_f32, s->excess, s->squares, s->scratch, s);
}

typedef struct block_job {
    const tnp_simd *k;
    tnp_moments *s;
    float *x;
    double *x_wide;
    const tnp_targets *y;
    size_t start, count;
    size_t columns; /* a thread owns at once */
} block_job;

/* The mean of the first block, or 0. In float an offset above the deviation costs digits. A smaller one costs more where
 * it is taken off: features behind a ReLU are 0 in most rows, which less the mean are all the same number, and products
 * of the same number round the same way each time: five times the error at 5011 x 4096 with three zeros of four. */
static void set_shift(void *arg, size_t chunk)
{
    block_job *job = arg;
    size_t dim = job->s->dim, from = chunk * job->columns, n = tnp_min(job->columns, dim - from);
    double *shift = job->s->shift + from, *square = job->s->excess + from; /* which nothing is in yet */
    for (size_t i = 0; i < job->count; ++i) {
        const float *x = job->x + i * dim + from;
        job->k->add_to_double(x, shift, n);
        for (size_t j = 0; j < n; ++j)
            square[j] += (double)x[j] * (double)x[j];
    }
    for (size_t j = 0; j < n; ++j) {
        double mean = shift[j] / (double)job->count;
        bool far = mean * mean > square[j] / (double)job->count / 2; /* mean^2 > variance */
        shift[j] = job->s->shift_f32[from + j] = far ? (float)mean : 0;
        square[j] = 0;
    }
}

static void set_shift_wide(void *arg, size_t chunk)
{
    block_job *job = arg;
    size_t dim = job->s->dim, from = chunk * job->columns, n = tnp_min(job->columns, dim - from);
    double *shift = job->s->shift + from;
    for (size_t i = 0; i < job->count; ++i)
        for (size_t j = 0; j < n; ++j)
            shift[j] += job->x_wide[i * dim + from + j];
    for (size_t j = 0; j < n; ++j)
        shift[j] /= (double)job->count;
}

/* Shifts the columns [from, from + n) of every row and adds them to the sums. */
static void sum_columns(void *arg, size_t chunk)
{
    block_job *job = arg;
    const tnp_targets *y = job->y;
    size_t dim = job->s->dim, from = chunk * job->columns, n = tnp_min(job->columns, dim - from);
    for (size_t i = 0; i < job->count; ++i) {
        size_t row = job->start + i;
        float *x = job->x + i * dim + from;
        job->k->shift_scale(x, job->s->shift_f32 + from, 1.0f, x, n);
        job->k->add_to_double(x, job->s->sum + from, n);
        for (size_t j = 0; j < n; ++j)
            job->s->excess[from + j] -= (double)x[j] * (double)x[j];
        for (size_t p = y->first ? y->first[row] : 0; y->first && p < y->first[row + 1]; ++p)
            job->k->add_to_double(x, job->s->xty + y->cls[p] * dim + from, n);
        for (size_t k = 0; y->values && k < y->classes; ++k)
            for (size_t j = 0; j < n; ++j)
                job->s->xty[k * dim + from + j] += y->values[row * y->classes + k] * (double)x[j];
    }
}

/* The rows are left multiplied by the root of their weight, as the Gram needs them. */
static void sum_columns_wide(void *arg, size_t chunk)
{
    block_job *job = arg;
    const tnp_targets *y = job->y;
    size_t dim = job->s->dim, from = chunk * job->columns, n = tnp_min(job->columns, dim - from);
    for (size_t i = 0; i < job->count; ++i) {
        size_t row = job->start + i;
        double *x = job->x_wide + i * dim + from, weight = y->weight ? y->weight[row] : 1, root = sqrt(weight);
        for (size_t j = 0; j < n; ++j) {
            x[j] -= job->s->shift[from + j];
            job->s->sum[from + j] += weight * x[j];
        }
        for (size_t p = y->first ? y->first[row] : 0; y->first && p < y->first[row + 1]; ++p)
            for (size_t j = 0; j < n; ++j)
                job->s->xty[y->cls[p] * dim + from + j] += weight * x[j];
        for (size_t k = 0; y->values && k < y->classes; ++k)
            for (size_t j = 0; j < n; ++j)
                job->s->xty[k * dim + from + j] += weight * y->values[row * y->classes + k] * x[j];
        for (size_t j = 0; y->weight && j < n; ++j)
            x[j] *= root;
    }
}

static void count_targets(tnp_moments *s, const tnp_targets *y, size_t start, size_t count)
{
    for (size_t row = start; row < start + count; ++row) {
        double weight = y->weight ? y->weight[row] : 1;
        for (size_t p = y->first ? y->first[row] : 0; y->first && p < y->first[row + 1]; ++p) {
            s->ysum[y->cls[p]] += weight;
            s->yy[y->cls[p]] += weight;
        }
        for (size_t k = 0; y->values && k < y->classes; ++k) {
            double v = y->values[row * y->classes + k];
            s->ysum[k] += weight * v;
            s->yy[k] += weight * v * v;
        }
        s->weight += weight;
        s->log_weight += y->weight ? log(weight) : 0;
    }
    s->rows += count;
}

double tnp_block_noise(size_t rows, bool wide, double trace)
{
    /* A sum of n squares that grows evenly rounds n times, by u/sqrt(3) of what it has reached: u sqrt(n)/3 of its end.
     * Entries off the diagonal do no worse against sqrt(g_ii g_jj), and the squares of those add up to the trace's. */
    double unit = wide ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2, share = unit * sqrt((double)rows) / 3;
    return share * share * trace * trace;
}

/* Columns a thread owns: long stretches of a row, since short ones at a stride of whole pages fall into the same cache
 * sets. Sums of a column do not depend on which other columns go with it, so the width may follow the threads. */
static size_t columns_a_thread(const tn_ctx *ctx, size_t dim)
{
    size_t width = dim / (2 * tn_ctx_threads(ctx)) + 1;
    return tnp_max(LEAST_COLUMNS, (width + LEAST_COLUMNS - 1) / LEAST_COLUMNS * LEAST_COLUMNS);
}

tn_status tnp_moments_add(tn_ctx *ctx, tnp_moments *s, float *x, const tnp_targets *y, size_t start, size_t count)
{
    block_job job = {tnp_simd_get(), s, x, NULL, y, start, count, columns_a_thread(ctx, s->dim)};
    size_t chunks = (s->dim + job.columns - 1) / job.columns;
    size_t threads = tnp_threads_for(ctx, 4.0 * (double)count * (double)s->dim);
    if (s->rows == 0 && !s->framed)
        tnp_parallel(ctx, threads, chunks, set_shift, &job);
    tnp_parallel(ctx, threads, chunks, sum_columns, &job);
    tn_status st = tnp_gram_add(ctx, count, s->dim, x, s->scratch, s->gram, s->squares);
    if (st != TN_OK)
        return st;
    double trace = 0;
    for (size_t j = 0; j < s->dim; ++j) {
        trace += s->squares[j];
        s->excess[j] += s->squares[j];
    }
    s->trace += trace;
    s->noise += tnp_block_noise(count, false, trace);
    count_targets(s, y, start, count);
    return TN_OK;
}

void tnp_moments_complete(tnp_moments *s)
{
    tnp_free(s->scratch);
    s->scratch = NULL;
}

static double trace_of(const tnp_moments *s)
{
    double trace = 0;
    for (size_t j = 0; j < s->dim; ++j)
        trace += s->gram[j * s->dim + j];
    return trace;
}

tn_status tnp_moments_add_wide(tn_ctx *ctx, tnp_moments *s, double *x, const tnp_targets *y, size_t start, size_t count)
{
    block_job job = {tnp_simd_get(), s, NULL, x, y, start, count, columns_a_thread(ctx, s->dim)};
    size_t chunks = (s->dim + job.columns - 1) / job.columns;
    size_t threads = tnp_threads_for(ctx, 4.0 * (double)count * (double)s->dim);
    double before = trace_of(s);
    if (s->rows == 0 && !s->framed)
        tnp_parallel(ctx, threads, chunks, set_shift_wide, &job);
    tnp_parallel(ctx, threads, chunks, sum_columns_wide, &job);
    tn_status st = tnp_dsyrk_cols(ctx, count, s->dim, x, s->dim, 1, s->gram);
    if (st != TN_OK)
        return st;
    s->trace += trace_of(s) - before;
    s->noise += tnp_block_noise(count, true, trace_of(s) - before);
    count_targets(s, y, start, count);
    return TN_OK;
}

size_t tn_moments_rows(const tnp_moments *s)
{
    return s->rows;
}

size_t tn_moments_cols(const tnp_moments *s)
{
    return s->dim;
}

size_t tn_moments_classes(const tnp_moments *s)
{
    return s->classes;
}

/* into += sign * from, brought into into's frame and to its targets: y of into is y of from + m, so that
 *   xty = xty + m sum'     yy = yy + 2 m ysum + n m^2     ysum = ysum + n m
 * before the columns are moved. */
static void combine_targets(tnp_moments *into, const tnp_moments *from, double sign, const tnp_match *match)
{
    size_t dim = into->dim;
    double n = from->weight;
    for (size_t k = 0; k < from->classes; ++k) {
        size_t to = match->place ? match->place[k] : k;
        double m = match->moved ? match->moved[k] : 0, ysum = from->ysum[k] + n * m;
        for (size_t i = 0; i < dim; ++i) {
            double xty = from->xty[k * dim + i] + (match->moved ? m * from->sum[i] : 0);
            into->xty[to * dim + i] += sign * (xty + ysum * (from->shift[i] - into->shift[i]));
        }
        into->yy[to] += sign * (from->yy[k] + (match->moved ? m * (2 * from->ysum[k] + n * m) : 0));
        into->ysum[to] += sign * ysum;
    }
}

static void combine(tnp_moments *into, const tnp_moments *from, double sign, const tnp_match *match)
{
    size_t dim = into->dim;
    double n = from->weight;
    combine_targets(into, from, sign, match);
    for (size_t i = 0; i < dim; ++i) {
        double di = from->shift[i] - into->shift[i];
        for (size_t j = i; j < dim; ++j) {
            double dj = from->shift[j] - into->shift[j];
            double moved = from->gram[i * dim + j] + from->sum[i] * dj + di * from->sum[j] + n * di * dj;
            into->gram[i * dim + j] += sign * moved;
        }
        into->sum[i] += sign * (from->sum[i] + n * di);
        if (into->excess && from->excess)
            into->excess[i] += sign * from->excess[i];
    }
    into->weight += sign * from->weight;
    into->log_weight += sign * from->log_weight;
    into->trace += from->trace;
    into->noise += from->noise;
}

static const tnp_match same = {NULL, NULL};

tn_status tn_moments_merge(tn_ctx *ctx, tnp_moments *into, const tnp_moments *from)
{
    size_t dim = into->dim;
    if (from->dim != dim || from->classes != into->classes)
        return tnp_fail(ctx, TN_ERR_SHAPE, "statistics: %zu columns and %zu classes cannot be added to %zu and %zu",
                        from->dim, from->classes, dim, into->classes);
    if (from->rows == 0)
        return TN_OK;
    if (into->rows == 0) { /* no frame yet: take the other's */
        memcpy(into->shift, from->shift, dim * sizeof *into->shift);
        for (size_t j = 0; into->shift_f32 && j < dim; ++j)
            into->shift_f32[j] = (float)into->shift[j];
    }
    combine(into, from, 1, &same);
    into->rows += from->rows;
    return TN_OK;
}

void tnp_moments_subtract(tnp_moments *into, const tnp_moments *from)
{
    combine(into, from, -1, &same);
    into->rows -= from->rows;
}

void tnp_moments_add_part(tnp_moments *into, const tnp_moments *from, const tnp_match *match)
{
    combine(into, from, 1, match);
    into->rows += from->rows;
}

void tnp_moments_take_part(tnp_moments *into, const tnp_moments *from, const tnp_match *match)
{
    double trace = into->trace;
    combine(into, from, -1, match);
    into->rows -= from->rows;
    /* The rounding of both stays while the sums shrink: it is a larger share of what is left. */
    into->trace = fmax(trace - from->trace, DBL_EPSILON * trace);
}

tn_status tnp_class_sums_init(tn_ctx *ctx, const tnp_moments *s, size_t classes, const size_t *place,
                              tnp_class_sums *out)
{
    tn_status st = TN_OK;
    out->classes = classes;
    TN_TRY(tnp_alloc(ctx, classes * s->dim, sizeof *out->xty, &out->xty));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *out->ysum, &out->ysum));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *out->yy, &out->yy));
    for (size_t k = 0; k < s->classes; ++k) {
        if (place[k] == SIZE_MAX)
            continue;
        memcpy(out->xty + place[k] * s->dim, s->xty + k * s->dim, s->dim * sizeof *out->xty);
        out->ysum[place[k]] = s->ysum[k];
        out->yy[place[k]] = s->yy[k];
    }
done:
    return st;
}

void tnp_class_sums_destroy(tnp_class_sums *sums)
{
    tnp_free_all(sums->xty, sums->ysum, sums->yy);
}

void tnp_moments_swap_sums(tnp_moments *s, tnp_class_sums *sums)
{
    const tnp_class_sums had = {s->classes, s->xty, s->ysum, s->yy};
    s->classes = sums->classes;
    s->xty = sums->xty;
    s->ysum = sums->ysum;
    s->yy = sums->yy;
    *sums = had;
}

void tnp_moments_move_targets(tnp_moments *s, const double *by)
{
    for (size_t k = 0; k < s->classes; ++k) {
        for (size_t i = 0; by[k] != 0 && i < s->dim; ++i)
            s->xty[k * s->dim + i] += by[k] * s->sum[i];
        s->yy[k] += by[k] * (2 * s->ysum[k] + s->weight * by[k]);
        s->ysum[k] += s->weight * by[k];
    }
}

/* Row i of the moment matrix, columns [from, to) behind the diagonal, into every step-th value of out: about the mean, or
 * about zero (the frame's shift undone). */
static void moment_row(const tnp_moments *s, bool intercept, size_t i, size_t from, size_t to, double *out, size_t step)
{
    const double *gram = s->gram + i * s->dim;
    double n = s->weight, mean = s->sum[i] / n;
    if (intercept)
        for (size_t j = from; j < to; ++j)
            out[(j - from) * step] = gram[j] - mean * s->sum[j];
    else
        for (size_t j = from; j < to; ++j)
            out[(j - from) * step] = gram[j] + s->sum[i] * s->shift[j] + s->shift[i] * (s->sum[j] + n * s->shift[j]);
}

/* xty and yy of class k, and its mean. */
static void class_moments(const tnp_moments *s, const tnp_range *parts, size_t count, bool intercept, size_t k,
                          double *xty, double *yy, double *ymean)
{
    double n = s->weight;
    for (size_t p = 0, at = 0; p < count; ++p)
        for (size_t i = parts[p].from; i < parts[p].to; ++i)
            xty[at++] = s->xty[k * s->dim + i] + s->ysum[k] * (intercept ? -s->sum[i] / n : s->shift[i]);
    *ymean = intercept ? s->ysum[k] / n : 0;
    *yy = s->yy[k] - (intercept ? s->ysum[k] * s->ysum[k] / n : 0);
}

size_t tnp_range_columns(const tnp_range *parts, size_t count)
{
    size_t columns = 0;
    for (size_t p = 0; p < count; ++p)
        columns += parts[p].to - parts[p].from;
    return columns;
}

void tnp_moments_targets(const tnp_moments *s, const tnp_range *parts, size_t count, bool intercept, double *xty,
                         double *yy, double *ymean)
{
    size_t d = tnp_range_columns(parts, count);
    for (size_t k = 0; k < s->classes; ++k)
        class_moments(s, parts, count, intercept, k, xty + k * d, &yy[k], &ymean[k]);
}

void tnp_moments_of(const tnp_moments *s, const tnp_range *parts, size_t count, bool intercept, double *gram,
                    double *xty, double *yy, double *mean, double *ymean)
{
    size_t d = tnp_range_columns(parts, count), row = 0;
    for (size_t p = 0; p < count; ++p)
        for (size_t i = parts[p].from; i < parts[p].to; ++i, ++row) {
            double *out = gram + row * d + row;
            for (size_t q = p; q < count; ++q) {
                size_t from = q == p ? i : parts[q].from;
                moment_row(s, intercept, i, from, parts[q].to, out, 1);
                out += parts[q].to - from;
            }
            mean[row] = intercept ? s->shift[i] + s->sum[i] / s->weight : 0;
        }
    tnp_moments_targets(s, parts, count, intercept, xty, yy, ymean);
}

void tnp_moments_cross(const tnp_moments *s, const tnp_range *rows, size_t row_count, const tnp_range *columns,
                       size_t column_count, bool intercept, double *out)
{
    size_t d = tnp_range_columns(columns, column_count);
    for (size_t p = 0; p < row_count; out += (rows[p].to - rows[p].from) * d, ++p)
        for (size_t q = 0, at = 0; q < column_count; at += columns[q].to - columns[q].from, ++q) {
            if (rows[p].from < columns[q].from)
                for (size_t i = rows[p].from; i < rows[p].to; ++i)
                    moment_row(s, intercept, i, columns[q].from, columns[q].to, out + (i - rows[p].from) * d + at, 1);
            else
                for (size_t j = columns[q].from; j < columns[q].to; ++j)
                    moment_row(s, intercept, j, rows[p].from, rows[p].to, out + at + j - columns[q].from, d);
        }
}

bool tnp_moments_in_range(const tnp_moments *s)
{
    const double least = 0x1p-90, most = 0x1p+120; /* squares of float lose digits below 2^-126 and end at 2^128 */
    double largest = 0;
    for (size_t j = 0; j < s->dim; ++j) {
        double g = s->gram[j * s->dim + j] / (double)s->rows;
        if (!(g <= most) || (g < least && (g > 0 || s->sum[j] != 0)))
            return false;
        largest = fmax(largest, g);
    }
    return largest >= least;
}

/* Rounding of the diagonal as it was, against its entries: root mean square. Features of few different values round the
 * same way again and again, and what tnp_block_noise expects to cancel adds up. */
static double diagonal_share(const tnp_moments *s, const tnp_range *parts, size_t count)
{
    double sum = 0;
    size_t taken = 0;
    for (size_t p = 0; s->excess && p < count; ++p)
        for (size_t i = parts[p].from; i < parts[p].to; ++i) {
            double g = s->gram[i * s->dim + i];
            if (g > 0) {
                sum += s->excess[i] / g * (s->excess[i] / g);
                ++taken;
            }
        }
    return taken ? sqrt(sum / (double)taken) : 0;
}

void tnp_moments_noise(const tnp_moments *s, const tnp_range *parts, size_t count, bool intercept, double *scale,
                       tnp_noise *out)
{
    double square = 0, largest = 0, n = s->weight, fine = 0, raw = 0;
    *out = (tnp_noise){0};
    for (size_t p = 0; p < count; ++p)
        for (size_t i = parts[p].from; i < parts[p].to; ++i) {
            double g = s->gram[i * s->dim + i], shift = s->shift[i];
            *scale++ = g;
            square += g * g;
            largest = fmax(largest, g);
            fine += intercept ? g : g + n * shift * shift; /* what the frame is moved by is added up in double */
            raw += n * shift * shift + g;
        }
    double share = fmax(s->trace > 0 ? sqrt(s->noise) / s->trace : 0, diagonal_share(s, parts, count));
    out->share = share;
    out->norm = 2 * share * sqrt(square) + DBL_EPSILON * fine;
    out->form = share * largest + DBL_EPSILON * fine;
    out->entry = (s->wide ? DBL_EPSILON : (double)FLT_EPSILON) / 4 * sqrt(raw / (n * (double)s->dim));
    for (size_t p = 0; p < count; ++p)
        for (size_t i = parts[p].from; i < parts[p].to; ++i) {
            double g = s->gram[i * s->dim + i] - (intercept ? s->sum[i] * s->sum[i] / n : 0);
            bool flat = s->gram[i * s->dim + i] == 0 && (intercept || s->shift[i] == 0);
            out->flat += flat;
            out->faint += !flat && g < 10 * out->norm;
        }
}

void tnp_moments_assume_noise(tnp_moments *s)
{
    double blocks = fmax((double)s->rows / (double)tnp_moments_block(s->dim, s->wide), 1);
    s->trace = trace_of(s);
    s->noise = tnp_block_noise((size_t)ceil((double)s->rows / blocks), s->wide, s->trace) / blocks;
}
