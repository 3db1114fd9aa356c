/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures through networks. A view is a window of width x height of the resized picture, perhaps mirrored:
 *
 *   centre   the middle        flip   it and its mirror image        ten   middle and four corners, each and mirrored
 *
 *   row = mean over views of the pooled layer
 *
 * Values of a tensor, with v from 0 to 1 the picture's, cut to that range (a cubic kernel leaves it):
 *
 *   float: (255 v scale - mean[c]) / std[c]        uint8: the nearest whole number to 255 v
 *
 * A grey picture has three equal colours; a network of one channel gets 0.299 R + 0.587 G + 0.114 B.
 *
 * Each thread takes the next picture and does all of it: decodes, resizes, fills tensors, runs every network. No thread
 * waits for another's stage, and the engine's own threads, which would, are not used. */
#include "describe/net/network.h"

#include "read/pictures/list.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { AHEAD = 8 }; /* pictures per thread and block: the threads that end first wait for a small part of the block */

/* ---- tensors ---- */

size_t tnp_recipe_bytes(const tnp_recipe *r)
{
    return r->width * r->height * r->channels * (r->bytes ? 1 : sizeof(float));
}

size_t tnp_view_count(tnp_views views)
{
    return views == TNP_VIEW_CENTRE ? 1 : views == TNP_VIEW_FLIP ? 2 : 10;
}

tnp_picture_options tnp_recipe_picture(const tnp_recipe *r, tnp_views views)
{
    tnp_picture_options options;
    tnp_picture_options_default(&options);
    options.shorter = r->shorter;
    options.width = r->shorter ? 0 : r->resize_width;
    options.height = r->shorter ? 0 : r->resize_height;
    options.kernel = (tnp_kernel)r->kernel;
    options.middle_width = views == TNP_VIEW_TEN ? 0 : r->width;
    options.middle_height = views == TNP_VIEW_TEN ? 0 : r->height;
    return options;
}

/* Where window i of five begins: the middle, then the corners. */
static void window(const tnp_recipe *r, const tn_picture *p, size_t i, size_t *x, size_t *y)
{
    size_t left = p->width - r->width, above = p->height - r->height;
    *x = i == 0 ? tnp_picture_middle(left) : i % 2 ? 0 : left;
    *y = i == 0 ? tnp_picture_middle(above) : i < 3 ? 0 : above;
}

/* One row of a channel, `step` apart in out; the pixel after is `stride` floats on. */
typedef struct fill_row {
    const float *pixels;
    size_t stride, width, step;
    bool mixed;           /* of red, green and blue, which follow each other; else the value there */
    float factor, offset; /* v factor - offset */
} fill_row;

static inline float within_one(float v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

static inline float value_of(const fill_row *f, size_t x)
{
    const float *p = f->pixels + x * f->stride;
    return within_one(f->mixed ? 0.299F * p[0] + 0.587F * p[1] + 0.114F * p[2] : p[0]);
}

/* Cut as a whole number: compilers make lanes of that, not of comparisons of floats. */
static inline unsigned char byte_of(float v)
{
    int whole = (int)(255 * v + 0.5F);
    whole = whole < 0 ? 0 : whole;
    return (unsigned char)(whole > 255 ? 255 : whole);
}

static void fill_floats(const fill_row *f, float *restrict out)
{
    for (size_t x = 0; x < f->width; ++x)
        out[x * f->step] = value_of(f, x) * f->factor - f->offset;
}

static void fill_bytes(const fill_row *f, unsigned char *restrict out)
{
    for (size_t x = 0; x < f->width; ++x)
        out[x * f->step] = byte_of(value_of(f, x));
}

/* Values that lie as they are wanted. */
static void copy_bytes(const float *restrict values, size_t n, unsigned char *restrict out)
{
    for (size_t i = 0; i < n; ++i)
        out[i] = byte_of(values[i]);
}

/* Channel c of a window whose first pixel is at (x0, y0). */
static void fill_channel(const tnp_recipe *r, const tn_picture *p, size_t c, size_t x0, size_t y0, void *out)
{
    size_t colour = p->channels == 3 && r->channels == 3 ? (r->bgr ? 2 - c : c) : 0;
    fill_row f = {.width = r->width,
                  .step = r->nhwc ? r->channels : 1,
                  .mixed = p->channels == 3 && r->channels == 1,
                  .factor = (float)(255 * r->scale / r->std[c]),
                  .offset = (float)(r->mean[c] / r->std[c]),
                  .stride = p->channels};
    for (size_t y = 0; y < r->height; ++y) {
        size_t to = r->nhwc ? y * r->width * r->channels + c : (c * r->height + y) * r->width;
        f.pixels = p->pixels + ((y0 + y) * p->width + x0) * p->channels + colour;
        if (r->bytes)
            fill_bytes(&f, (unsigned char *)out + to);
        else
            fill_floats(&f, (float *)out + to);
    }
}

/* Rows of `width` elements of `size` bytes, each turned round in place. The size is known where this is inlined. */
static inline void turn_rows(unsigned char *rows, size_t count, size_t width, size_t size)
{
    for (size_t y = 0; y < count; ++y) {
        unsigned char *left = rows + y * width * size, *right = left + (width - 1) * size, kept[3 * sizeof(float)];
        for (; left < right; left += size, right -= size) {
            memcpy(kept, left, size);
            memcpy(left, right, size);
            memcpy(right, kept, size);
        }
    }
}

/* The mirror image of a filled tensor: cheaper than filling it backwards, which compilers make no lanes of. */
static void mirror(const tnp_recipe *r, void *tensor)
{
    size_t element = r->bytes ? 1 : sizeof(float), rows = r->nhwc ? r->height : r->height * r->channels;
    size_t size = r->nhwc ? r->channels * element : element;
    if (size == 3)
        turn_rows(tensor, rows, r->width, 3);
    else if (size == sizeof(float))
        turn_rows(tensor, rows, r->width, sizeof(float));
    else
        turn_rows(tensor, rows, r->width, size);
}

void tnp_recipe_fill(const tnp_recipe *r, const tn_picture *p, size_t view, void *out)
{
    size_t x0 = 0, y0 = 0, line = r->width * r->channels;
    window(r, p, view / 2, &x0, &y0);
    if (r->bytes && r->nhwc && !r->bgr && p->channels == r->channels)
        for (size_t y = 0; y < r->height; ++y)
            copy_bytes(p->pixels + ((y0 + y) * p->width + x0) * p->channels, line, (unsigned char *)out + y * line);
    else
        for (size_t c = 0; c < r->channels; ++c)
            fill_channel(r, p, c, x0, y0, out);
    if (view % 2 == 1)
        mirror(r, out);
}

void tnp_recipe_dims(const tnp_recipe *r, int64_t dims[4])
{
    int64_t c = (int64_t)r->channels, h = (int64_t)r->height, w = (int64_t)r->width;
    const int64_t all[4] = {1, r->nhwc ? h : c, r->nhwc ? w : h, r->nhwc ? c : w};
    memcpy(dims, all, sizeof all);
}

bool tnp_network_run(const tn_network *n, const void *tensor, float *space, tnp_result *out, char *message)
{
    const tnp_recipe *r = &n->recipe;
    const tnp_network_front *f = n->front;
    int64_t dims[4];
    if (f) {
        const int64_t floats[4] = {1, 3, (int64_t)f->plan.height, (int64_t)f->plan.width};
        tnp_front_fill(f, r, tensor, space);
        return tnp_session_run(n->session, f->name, TNP_ONNX_FLOAT, space,
                               3 * f->plan.height * f->plan.width * sizeof *space, floats, 4, n->layer, out, message);
    }
    tnp_recipe_dims(r, dims);
    return tnp_session_run(n->session, n->input, r->bytes ? TNP_ONNX_UINT8 : TNP_ONNX_FLOAT, tensor,
                           tnp_recipe_bytes(r), dims, 4, n->layer, out, message);
}

/* ---- pooling ---- */

/* values: descriptor t has its value j at t * step_t + j * step_j. */
void tnp_network_pool(const tn_network *n, const float *values, const size_t *dims, float weight, float *row)
{
    size_t places = n->rank == 2 ? 1 : n->rank == 3 ? dims[1] : dims[2] * dims[3];
    size_t step_t = n->rank == 4 ? 1 : n->dim, step_j = n->rank == 4 ? places : 1;
    for (size_t j = 0; j < n->dim; ++j) {
        const float *x = values + j * step_j;
        double sum = 0;
        float most = x[0];
        if (n->as == TNP_AS_BAG) {
            for (size_t t = 0; t < places; ++t)
                row[t * n->dim + j] += weight * x[t * step_t];
            continue;
        }
        for (size_t t = 0; t < places && n->as == TNP_AS_MEAN; ++t)
            sum += (double)x[t * step_t];
        for (size_t t = 1; t < places && n->as == TNP_AS_MAX; ++t)
            most = x[t * step_t] > most ? x[t * step_t] : most;
        row[j] += weight * (n->as == TNP_AS_MEAN ? (float)(sum / (double)places) : most);
    }
}

/* ---- many pictures ---- */

typedef struct slot {
    tnp_bytes bytes;
    tnp_decoding *decodings; /* one per size of picture */
    void *tensor;
    float *space;              /* of fronts */
    float *values;             /* of a layer whose elements are no floats */
    const tn_network *refused; /* the network that failed, and why */
    char message[TNP_ENGINE_MESSAGE];
} slot;

typedef struct job {
    tn_ctx *ctx;
    const tn_network *const *networks;
    size_t network_count;
    size_t *groups; /* (network_count): the decoding that a network sees */
    size_t group_count;
    slot *slots;
    size_t some;
    size_t first; /* row of slot 0 */
    float *const *rows;
} job;

static bool see_alike(const tn_network *m, const tn_network *n)
{
    tnp_picture_options a = tnp_recipe_picture(&m->recipe, m->views), b = tnp_recipe_picture(&n->recipe, n->views);
    return a.shorter == b.shorter && a.kernel == b.kernel && a.width == b.width && a.height == b.height &&
           a.middle_width == b.middle_width && a.middle_height == b.middle_height;
}

static const float *as_floats(const tn_network *n, const tnp_result *r, float *space)
{
    if (r->type == TNP_ONNX_FLOAT)
        return r->data;
    const double *wide = r->data;
    if (r->type == TNP_ONNX_FLOAT16)
        tnp_simd_get()->half_to_float(r->data, space, n->elements);
    for (size_t i = 0; r->type == TNP_ONNX_DOUBLE && i < n->elements; ++i)
        space[i] = (float)wide[i];
    return space;
}

static bool same_shape(const tn_network *n, const tnp_result *r)
{
    size_t elements = 1;
    for (size_t i = 0; i < r->rank; ++i)
        elements *= r->dims[i];
    return r->rank == n->rank && r->type == n->type && elements == n->elements;
}

static bool one_network(const tn_network *n, const tn_picture *picture, slot *s, float *row)
{
    size_t views = tnp_view_count(n->views);
    memset(row, 0, tnp_network_values(n) * sizeof *row);
    for (size_t v = 0; v < views; ++v) {
        tnp_result result;
        if (v % 2 == 0)
            tnp_recipe_fill(&n->recipe, picture, v, s->tensor);
        else
            mirror(&n->recipe, s->tensor); /* of the window before */
        if (!tnp_network_run(n, s->tensor, s->space, &result, s->message))
            return false;
        bool same = same_shape(n, &result);
        if (same)
            tnp_network_pool(n, as_floats(n, &result, s->values), result.dims, 1 / (float)views, row);
        else
            snprintf(s->message, sizeof s->message, "its layer changes its shape from picture to picture");
        tnp_result_free(n->session, &result);
        if (!same)
            return false;
    }
    return true;
}

static void one_picture(void *arg, size_t i)
{
    job *j = arg;
    slot *s = &j->slots[i];
    for (size_t g = 0; g < j->group_count; ++g) {
        tnp_decoding_run(&s->decodings[g]);
        if (s->decodings[g].message[0] != 0)
            return;
    }
    for (size_t k = 0; k < j->network_count && !s->refused; ++k) {
        const tn_network *n = j->networks[k];
        float *row = j->rows[k] + (j->first + i) * tnp_network_values(n);
        if (!one_network(n, s->decodings[j->groups[k]].picture, s, row))
            s->refused = n;
    }
}

static void clear(job *j)
{
    for (size_t i = 0; j->slots && i < j->some; ++i) {
        for (size_t g = 0; j->slots[i].decodings && g < j->group_count; ++g)
            tnp_decoding_end(j->ctx, &j->slots[i].decodings[g]);
        tnp_bytes_free(&j->slots[i].bytes);
    }
}

static tn_status block(tn_ctx *ctx, job *j, const tn_pictures *pictures, size_t first, size_t count)
{
    tn_status st = TN_OK;
    for (size_t i = 0; i < count; ++i) {
        const char *path = pictures->files[first + i].path;
        slot *s = &j->slots[i];
        TN_TRY(tnp_picture_bytes(ctx, pictures, first + i, &s->bytes));
        for (size_t k = 0; k < j->network_count; ++k) {
            tnp_picture_options options = tnp_recipe_picture(&j->networks[k]->recipe, j->networks[k]->views);
            if (s->decodings[j->groups[k]].picture == NULL)
                TN_TRY(tnp_decoding_begin(ctx, path, s->bytes, &options, &s->decodings[j->groups[k]]));
        }
    }
    tnp_parallel(ctx, tn_ctx_threads(ctx), count, one_picture, j);
    for (size_t i = 0; i < count; ++i) {
        const char *path = pictures->files[first + i].path;
        const slot *s = &j->slots[i];
        for (size_t g = 0; g < j->group_count; ++g)
            if (s->decodings[g].message[0] != 0)
                TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: %s", path, s->decodings[g].message));
        if (s->refused)
            TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: %s: %s", s->refused->path, path, s->message));
    }
done:
    clear(j);
    return st;
}

static tn_status begin(tn_ctx *ctx, job *j)
{
    tn_status st = TN_OK;
    size_t tensor = 0, space = 0, values = 0;
    TN_TRY(tnp_alloc(ctx, j->network_count, sizeof *j->groups, &j->groups));
    for (size_t k = 0; k < j->network_count; ++k) {
        const tn_network *n = j->networks[k];
        size_t like = 0;
        while (like < k && !see_alike(j->networks[like], n))
            ++like;
        j->groups[k] = like < k ? j->groups[like] : j->group_count++;
        tensor = tnp_max(tensor, tnp_recipe_bytes(&n->recipe));
        space = tnp_max(space, tnp_network_space(n));
        values = tnp_max(values, n->type == TNP_ONNX_FLOAT ? 0 : n->elements);
    }
    TN_TRY(tnp_alloc(ctx, j->some, sizeof *j->slots, &j->slots));
    for (size_t i = 0; i < j->some; ++i) {
        TN_TRY(tnp_alloc(ctx, j->group_count, sizeof(tnp_decoding), &j->slots[i].decodings));
        TN_TRY(tnp_alloc_raw(ctx, tensor, 1, &j->slots[i].tensor));
        TN_TRY(tnp_alloc_raw(ctx, space, sizeof(float), &j->slots[i].space));
        TN_TRY(tnp_alloc_raw(ctx, values, sizeof(float), &j->slots[i].values));
    }
done:
    return st;
}

static void end(job *j)
{
    clear(j);
    for (size_t i = 0; j->slots && i < j->some; ++i)
        tnp_free_all(j->slots[i].decodings, j->slots[i].tensor, j->slots[i].space, j->slots[i].values);
    tnp_free_all(j->slots, j->groups);
}

size_t tnp_networks_block(const tn_ctx *ctx)
{
    return AHEAD * tn_ctx_threads(ctx);
}

tn_status tnp_networks_rows(tn_ctx *ctx, const tn_network *const *networks, size_t network_count,
                            const tn_pictures *pictures, size_t first, size_t count, float *const *rows)
{
    tn_status st = TN_OK;
    job j = {.ctx = ctx, .networks = networks, .network_count = network_count, .rows = rows};
    j.some = tnp_min(count, tnp_networks_block(ctx));
    TN_TRY(begin(ctx, &j));
    for (; j.first < count; j.first += j.some) {
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(block(ctx, &j, pictures, first + j.first, tnp_min(j.some, count - j.first)));
    }
done:
    end(&j);
    return st;
}
