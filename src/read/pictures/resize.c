/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Antialiased resize, one axis after the other. Sample j of the input covers [j, j + 1); result i is centred at
 *
 *   c[i] = (i + 1/2) scale          scale = extent / to          radius = max(scale, 1)
 *   w[i,j] = max(0, 1 - |j + 1/2 - c[i]| / radius) / (the sum of these over j)
 *
 * the triangle that is as wide as two results: every input sample has its share in about the same amount, and
 * enlarging is linear interpolation. Of the same size it is the identity, exactly. A cubic or Lanczos kernel was
 * refused for descriptors: their negative lobes make gradients at edges that are not in the picture, and descriptors
 * are gradients. Networks were trained with one of two: for them there is also the cubic, with t the distance over radius
 *
 *   w = 1.5 t^3 - 2.5 t^2 + 1 (t < 1)      -0.5 t^3 + 2.5 t^2 - 4 t + 2 (t < 2)
 *
 * Rows come one at a time: each is added, by its weight, to the one, two or more results it has a share in, and a result
 * that is complete is resized along x. Along y first: those are long sums over whole rows, and fewer rows are left for
 * the short sums along x. A picture that becomes much higher goes along x first: one row has a share in many results,
 * which would all be kept at the width of the file. Oracle: test_resize.c, the formula in long double; Pillow's
 * BILINEAR has the same kernel. */
#include "read/pictures/resize.h"

#include <math.h>
#include <string.h>

static double weight_of(const tnp_axis *axis, size_t i, size_t j)
{
    double distance = fabs((double)j + 0.5 - ((double)i + 0.5) * axis->scale) / axis->radius;
    if (axis->kernel == TNP_CUBIC && distance < 1)
        return (1.5 * distance - 2.5) * distance * distance + 1;
    if (axis->kernel == TNP_CUBIC && distance < 2)
        return ((-0.5 * distance + 2.5) * distance - 4) * distance + 2;
    return distance < 1 ? 1 - distance : 0;
}

/* Weights of result i; one that is beyond all samples, by rounding, is the nearest sample. */
static void fill_weights(tnp_axis *axis, size_t i)
{
    double centre = ((double)i + 0.5) * axis->scale, sum = 0;
    double reach = axis->kernel == TNP_CUBIC ? 2 * axis->radius : axis->radius;
    double low = floor(centre - reach - 0.5) + 1; /* the first j with j + 1/2 > centre - reach */
    size_t first = tnp_min(low < 0 ? 0 : (size_t)low, axis->from - 1);
    float *weights = axis->weights + i * axis->taps;
    axis->first[i] = first;
    for (size_t t = 0; t < axis->taps && first + t < axis->from; ++t) {
        double weight = weight_of(axis, i, first + t);
        weights[t] = (float)weight;
        sum += weight;
    }
    for (size_t t = 0; t < axis->taps && first + t < axis->from; ++t)
        weights[t] = sum > 0 ? (float)((double)weights[t] / sum) : (float)(t == 0);
}

/* taps is a bound; where the last ones have no weight in any result, they only cost. */
static void drop_empty_taps(tnp_axis *axis)
{
    size_t most = 1;
    for (size_t i = 0; i < axis->to; ++i)
        for (size_t t = most; t < axis->taps; ++t)
            if (axis->weights[i * axis->taps + t] != 0)
                most = t + 1;
    for (size_t i = 0; i < axis->to; ++i)
        memmove(axis->weights + i * most, axis->weights + i * axis->taps, most * sizeof *axis->weights);
    axis->taps = most;
}

static tn_status axis_new(tn_ctx *ctx, tnp_kernel kernel, size_t from, size_t to, double extent, tnp_axis *axis)
{
    tn_status st = TN_OK;
    size_t count = 0;
    axis->from = from;
    axis->to = to;
    axis->scale = extent / (double)to;
    axis->radius = fmax(axis->scale, 1);
    axis->kernel = kernel;
    axis->taps = tnp_min(from, (size_t)((kernel == TNP_CUBIC ? 4 : 2) * axis->radius) + 2);
    TN_TRY(tnp_mul(ctx, to, axis->taps, &count));
    TN_TRY(tnp_alloc(ctx, count, sizeof *axis->weights, &axis->weights));
    TN_TRY(tnp_alloc_raw(ctx, to, sizeof *axis->first, &axis->first));
    for (size_t i = 0; i < to; ++i)
        fill_weights(axis, i);
    drop_empty_taps(axis);
done:
    return st;
}

enum { MOST_OPEN = 8 }; /* two thirds and more of the height that it becomes, and all that shrinks */

/* The most results that have some, not all, of their rows at once. */
static size_t most_open(const tnp_axis *y)
{
    size_t most = 1;
    for (size_t i = 0, low = 0; i < y->to; ++i) {
        while (y->first[low] + y->taps <= y->first[i])
            ++low;
        most = tnp_max(most, i - low + 1);
    }
    return most;
}

tn_status tnp_resize_new(tn_ctx *ctx, size_t from_width, size_t from_height, double extent_x, double extent_y,
                         size_t width, size_t height, size_t channels, tnp_resize *out)
{
    return tnp_resize_new_by(ctx, TNP_TRIANGLE, from_width, from_height, extent_x, extent_y, width, height, channels,
                             out);
}

tn_status tnp_resize_new_by(tn_ctx *ctx, tnp_kernel kernel, size_t from_width, size_t from_height, double extent_x,
                            double extent_y, size_t width, size_t height, size_t channels, tnp_resize *out)
{
    tn_status st = TN_OK;
    out->width = width;
    out->height = height;
    out->channels = channels;
    TN_TRY(axis_new(ctx, kernel, from_width, width, extent_x, &out->x));
    TN_TRY(axis_new(ctx, kernel, from_height, height, extent_y, &out->y));
    out->open = most_open(&out->y);
    out->enlarges = out->open > MOST_OPEN;
    out->open = out->enlarges ? 1 : out->open;
    out->line = (from_width + out->x.taps) * channels + 1;
    TN_TRY(tnp_alloc(ctx, out->open * out->line, sizeof *out->sums, &out->sums));
    TN_TRY(tnp_alloc_raw(ctx, out->enlarges ? width * channels : 1, sizeof *out->across, &out->across));
done:
    return st;
}

static void keep_results(tnp_axis *axis, size_t first, size_t count)
{
    memmove(axis->first, axis->first + first, count * sizeof *axis->first);
    memmove(axis->weights, axis->weights + first * axis->taps, count * axis->taps * sizeof *axis->weights);
    axis->to = count;
}

void tnp_resize_window(tnp_resize *resize, size_t x, size_t y, size_t width, size_t height)
{
    keep_results(&resize->x, x, width);
    keep_results(&resize->y, y, height);
    resize->width = width;
    resize->height = height;
}

void tnp_resize_free(tnp_resize *resize)
{
    tnp_free_all(resize->x.first, resize->x.weights, resize->y.first, resize->y.weights, resize->sums, resize->across);
}

void tnp_resize_begin(tnp_resize *resize, float *out)
{
    resize->out = out;
    resize->row = resize->low = resize->next = 0;
    if (resize->enlarges)
        memset(out, 0, resize->height * resize->width * resize->channels * sizeof *out);
}

static void across_grey(const tnp_resize *r, const float *row, float *out)
{
    for (size_t i = 0; i < r->width; ++i) {
        const float *w = r->x.weights + i * r->x.taps, *x = row + r->x.first[i];
        size_t n = tnp_min(r->x.taps, r->x.from - r->x.first[i]);
        float sum = 0;
        for (size_t t = 0; t < n; ++t)
            sum += w[t] * x[t];
        out[i] = sum;
    }
}

/* Red, green and blue together; the fourth is not looked at. */
typedef float quad __attribute__((vector_size(16)));

/* The number of taps is known where this is inlined. Taps beyond the last sample have no weight, and line holds zeros for
 * them. */
static inline void across_by(const tnp_resize *r, size_t taps, const float *row, float *restrict out)
{
    for (size_t i = 0; i < r->width; ++i) {
        const float *w = r->x.weights + i * taps, *x = row + 3 * r->x.first[i];
        quad sum = {0}, colours;
        for (size_t t = 0; t < taps; ++t) {
            memcpy(&colours, x + 3 * t, sizeof colours);
            sum += w[t] * colours;
        }
        memcpy(out + 3 * i, &sum, 3 * sizeof *out);
    }
}

static void across_colour(const tnp_resize *r, const float *row, float *out)
{
    if (r->x.taps == 2) /* all that enlarges */
        across_by(r, 2, row, out);
    else
        across_by(r, r->x.taps, row, out);
}

static void begin_sum(float *restrict sum, const float *restrict row, float w, size_t n)
{
    for (size_t k = 0; k < n; ++k)
        sum[k] = w * row[k];
}

static void add_to_sum(float *restrict sum, const float *restrict row, float w, size_t n)
{
    for (size_t k = 0; k < n; ++k)
        sum[k] += w * row[k];
}

static void resize_across(const tnp_resize *r, const float *row, float *out)
{
    if (r->channels == 1)
        across_grey(r, row, out);
    else
        across_colour(r, row, out);
}

/* Row j has its share in results low .. */
static void share_row(tnp_resize *r, const float *row, size_t j)
{
    const tnp_axis *y = &r->y;
    size_t values = r->x.from * r->channels;
    for (size_t i = r->low; i < r->height && y->first[i] <= j; ++i) {
        float w = y->weights[i * y->taps + j - y->first[i]], *sum = r->sums + i % r->open * r->line;
        if (i >= r->next)
            begin_sum(sum, row, w, values);
        else if (w != 0)
            add_to_sum(sum, row, w, values);
        r->next = tnp_max(r->next, i + 1);
    }
    for (; r->low < r->next && (y->first[r->low] + y->taps <= j + 1 || j + 1 == y->from); ++r->low)
        resize_across(r, r->sums + r->low % r->open * r->line, r->out + r->low * r->width * r->channels);
}

/* The same of a picture that becomes higher. */
static void spread_row(tnp_resize *r, const float *row, size_t j)
{
    const tnp_axis *y = &r->y;
    size_t values = r->width * r->channels;
    memcpy(r->sums, row, r->x.from * r->channels * sizeof *row);
    resize_across(r, r->sums, r->across);
    while (r->low < r->height && y->first[r->low] + y->taps <= j)
        ++r->low;
    for (size_t i = r->low; i < r->height && y->first[i] <= j; ++i)
        add_to_sum(r->out + i * values, r->across, y->weights[i * y->taps + j - y->first[i]], values);
}

void tnp_resize_row(tnp_resize *r, const float *row)
{
    size_t j = r->row++;
    if (r->enlarges)
        spread_row(r, row, j);
    else
        share_row(r, row, j);
}

void tnp_resize_size(size_t width, size_t height, size_t pixels, size_t side, size_t *out_width, size_t *out_height)
{
    double factor = 1, all = (double)width * (double)height, longer = (double)tnp_max(width, height);
    if (pixels != 0 && all > (double)pixels)
        factor = sqrt((double)pixels / all);
    if (side != 0 && longer * factor > (double)side)
        factor = (double)side / longer;
    *out_width = factor < 1 ? tnp_max(1, (size_t)((double)width * factor + 1e-9)) : width;
    *out_height = factor < 1 ? tnp_max(1, (size_t)((double)height * factor + 1e-9)) : height;
    /* One that is a thousand times as long as wide: the side that cannot shrink leaves less for the other. */
    if (pixels != 0 && *out_width == 1)
        *out_height = tnp_min(*out_height, pixels);
    if (pixels != 0 && *out_height == 1)
        *out_width = tnp_min(*out_width, pixels);
}
