/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The front of a graph of bytes (read/onnx/front.h), done here in the place of the engine, which walks over the whole
 * picture for each of its nodes and allocates what they make. Per picture of 224 x 224 that is 0.1 ms of 5 to 7, and a
 * third of a small network.
 *
 * Without a resize every value is looked up. With one, rows of the picture become rows of floats, two at a time, and a
 * result is, with x1, x2 and y1, y2 the samples around it and d their distances to it,
 *
 *   (d_x2 d_y2) v[y1,x1] + (d_x1 d_y2) v[y1,x2] + (d_x2 d_y1) v[y2,x1] + (d_x1 d_y1) v[y2,x2]
 *
 * with products and sums in this order, in float, which is the engine's. That is no promise of an engine's: when a
 * network is opened, the graph that ends with the front is run by the engine on a picture of noise, and unless it gives
 * our bits the network keeps its front. */
#include "describe/net/network.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Both sides of each place along an axis; as the engine computes them, in float. */
static void fill_taps(size_t from, size_t to, tnp_front_tap *taps)
{
    float scale = (float)to / (float)from, last = (float)(from - 1);
    for (size_t i = 0; i < to; ++i) {
        float at = from == to ? (float)i : ((float)i + 0.5F) / scale - 0.5F;
        at = at < 0 ? 0 : at > last ? last : at;
        size_t low = (size_t)at, high = tnp_min(low + 1, from - 1);
        taps[i] = (tnp_front_tap){low, high, 0.5F, 0.5F};
        if (low != high) {
            taps[i].of_low = fabsf(at - (float)high);
            taps[i].of_high = fabsf(at - (float)low);
        }
    }
}

static size_t line_floats(const tnp_recipe *r)
{
    return 3 * r->width + 1; /* the last is never used: pixels are read four floats at a time */
}

size_t tnp_network_space(const tn_network *n)
{
    const tnp_network_front *f = n->front;
    return !f ? 0 : 3 * f->plan.width * f->plan.height + (f->plan.resizes ? 2 * line_floats(&n->recipe) : 0);
}

/* Channel c of `count` pixels, `step` floats apart in out. */
static void look_up(const tnp_network_front *f, const tnp_recipe *r, size_t c, const unsigned char *bytes, size_t first,
                    size_t count, float *restrict out, size_t step)
{
    const float *table = f->plan.table[c];
    size_t source = f->plan.source[c], apart = r->nhwc ? 3 : 1;
    const unsigned char *from = bytes + (r->nhwc ? first * 3 + source : source * r->width * r->height + first);
    for (size_t i = 0; i < count; ++i)
        out[i * step] = table[from[i * apart]];
}

/* Row y as floats, colours next to each other. */
static void fill_line(const tnp_network_front *f, const tnp_recipe *r, const unsigned char *bytes, size_t y,
                      float *line)
{
    for (size_t i = 0; f->plain && i < 3 * r->width; ++i)
        line[i] = (float)bytes[y * 3 * r->width + i];
    for (size_t c = 0; !f->plain && c < 3; ++c)
        look_up(f, r, c, bytes, y * r->width, r->width, line + c, 3);
}

/* Three colours of a pixel together; the fourth is not looked at. */
typedef float quad __attribute__((vector_size(16)));

static inline quad load(const float *line, size_t x)
{
    quad pixel;
    memcpy(&pixel, line + 3 * x, sizeof pixel);
    return pixel;
}

static inline quad step_on(tnp_front_op op, quad pixel, quad value)
{
    switch (op) {
    case TNP_FRONT_ADD:
        return pixel + value;
    case TNP_FRONT_SUB:
        return pixel - value;
    case TNP_FRONT_MUL:
        return pixel * value;
    default:
        return pixel / value;
    }
}

static void resize_row(const tnp_network_front *f, const float *low, const float *high, size_t y, float *restrict out)
{
    const tnp_front *plan = &f->plan;
    const tnp_front_tap b = f->y[y];
    size_t plane = plan->width * plan->height, count = plan->step_count;
    tnp_front_op ops[TNP_FRONT_STEPS];
    quad values[TNP_FRONT_STEPS];
    for (size_t s = 0; s < count; ++s) {
        const float *v = plan->steps[s].value;
        ops[s] = plan->steps[s].op;
        values[s] = (quad){v[0], v[1], v[2], 1};
    }
    for (size_t x = 0; x < plan->width; ++x) {
        const tnp_front_tap a = f->x[x];
        quad sum = (a.of_low * b.of_low) * load(low, a.low);
        sum += (a.of_high * b.of_low) * load(low, a.high);
        sum += (a.of_low * b.of_high) * load(high, a.low);
        sum += (a.of_high * b.of_high) * load(high, a.high);
        for (size_t s = 0; s < count; ++s)
            sum = step_on(ops[s], sum, values[s]);
        for (size_t c = 0; c < 3; ++c)
            out[c * plane + y * plan->width + x] = sum[c];
    }
}

/* Division by a power of two is the product with its reciprocal, to the bit, and a fifth of the time. */
static void ease_divisions(tnp_front *plan)
{
    for (size_t s = 0; s < plan->step_count; ++s) {
        tnp_front_step *step = &plan->steps[s];
        int exponents[3];
        bool powers = step->op == TNP_FRONT_DIV;
        for (size_t c = 0; c < 3; ++c)
            powers = powers && fabsf(frexpf(step->value[c], &exponents[c])) == 0.5F && abs(exponents[c]) < 64;
        for (size_t c = 0; powers && c < 3; ++c)
            step->value[c] = 1 / step->value[c];
        step->op = powers ? TNP_FRONT_MUL : step->op;
    }
}

static void resize(const tnp_network_front *f, const tnp_recipe *r, const unsigned char *bytes, float *out)
{
    float *lines = out + 3 * f->plan.width * f->plan.height;
    size_t have[2] = {SIZE_MAX, SIZE_MAX}; /* rows that the two lines hold: row y is in line y modulo 2 */
    lines[line_floats(r) - 1] = lines[2 * line_floats(r) - 1] = 0;
    for (size_t y = 0; y < f->plan.height; ++y) {
        const size_t rows[2] = {f->y[y].low, f->y[y].high};
        for (size_t i = 0; i < 2; ++i)
            if (have[rows[i] % 2] != rows[i]) {
                fill_line(f, r, bytes, rows[i], lines + rows[i] % 2 * line_floats(r));
                have[rows[i] % 2] = rows[i];
            }
        resize_row(f, lines + rows[0] % 2 * line_floats(r), lines + rows[1] % 2 * line_floats(r), y, out);
    }
}

void tnp_front_fill(const tnp_network_front *f, const tnp_recipe *r, const unsigned char *bytes, float *out)
{
    size_t pixels = r->width * r->height;
    if (f->plan.resizes)
        resize(f, r, bytes, out);
    else
        for (size_t c = 0; c < 3; ++c)
            look_up(f, r, c, bytes, 0, pixels, out + c * pixels, 1);
}

/* ---- is it the engine's? ---- */

static bool is_plain(const tnp_front *plan, const tnp_recipe *r)
{
    bool plain = r->nhwc;
    for (size_t c = 0; c < 3; ++c) {
        plain = plain && plan->source[c] == c;
        for (size_t i = 0; i < 256; ++i)
            plain = plain && plan->table[c][i] == (float)i;
    }
    return plain;
}

static bool is_picture(const tnp_recipe *r, const tnp_front *plan, const tnp_result *theirs)
{
    const size_t *d = theirs->dims;
    return theirs->type == TNP_ONNX_FLOAT && theirs->rank == 4 && d[0] == 1 && d[1] == 3 && d[2] > 0 && d[3] > 0 &&
           (plan->resizes || (d[2] == r->height && d[3] == r->width));
}

/* What a resize is computed with, for the size that the engine's came out with. */
static tn_status prepare(tn_ctx *ctx, const tnp_recipe *r, const tnp_result *theirs, tnp_network_front *f)
{
    tn_status st = TN_OK;
    f->plan.height = theirs->dims[2];
    f->plan.width = theirs->dims[3];
    f->plain = is_plain(&f->plan, r);
    ease_divisions(&f->plan);
    TN_TRY(tnp_alloc(ctx, f->plan.width, sizeof *f->x, &f->x));
    TN_TRY(tnp_alloc(ctx, f->plan.height, sizeof *f->y, &f->y));
    fill_taps(r->width, f->plan.width, f->x);
    fill_taps(r->height, f->plan.height, f->y);
done:
    return st;
}

/* Ours and the engine's on a picture of noise: *same. */
static tn_status compare(tn_ctx *ctx, const tnp_session *session, tn_network *n, bool *same)
{
    tn_status st = TN_OK;
    const tnp_recipe *r = &n->recipe;
    tnp_network_front *f = n->front;
    char message[TNP_ENGINE_MESSAGE];
    unsigned char *bytes = NULL;
    float *ours = NULL;
    tnp_result theirs = {.value = NULL};
    int64_t dims[4];
    size_t size = tnp_recipe_bytes(r);
    tnp_recipe_dims(r, dims);
    TN_TRY(tnp_alloc(ctx, size, 1, &bytes));
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (unsigned char)((i * 2654435761u) >> 11);
    if (!tnp_session_run(session, n->input, TNP_ONNX_UINT8, bytes, size, dims, 4, f->name, &theirs, message) ||
        !is_picture(r, &f->plan, &theirs))
        goto done;
    TN_TRY(prepare(ctx, r, &theirs, f));
    TN_TRY(tnp_alloc(ctx, tnp_network_space(n), sizeof *ours, &ours));
    tnp_front_fill(f, r, bytes, ours);
    *same = memcmp(ours, theirs.data, 3 * f->plan.width * f->plan.height * sizeof *ours) == 0;
done:
    tnp_result_free(session, &theirs);
    tnp_free_all(bytes, ours);
    return st;
}

void tnp_network_front_free(tn_network *n)
{
    if (n->front)
        tnp_free_all(n->front->name, n->front->x, n->front->y, n->front);
    n->front = NULL;
}

tn_status tnp_network_find_front(tn_ctx *ctx, const tnp_onnx *o, const tnp_onnx_value *in, tn_network *n)
{
    tn_status st = TN_OK;
    bool same = false;
    tnp_session *session = NULL;
    tnp_text bytes;
    tnp_text_init(&bytes, ctx);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *n->front, &n->front));
    tnp_front *plan = &n->front->plan;
    tnp_bytes layer = {(const unsigned char *)n->layer, strlen(n->layer)};
    if (!n->recipe.bytes || n->recipe.channels != 3 || !tnp_onnx_front(o, in, n->recipe.nhwc, layer, plan))
        goto done;
    TN_TRY(tnp_strndup(ctx, (const char *)plan->name.data, plan->name.size, &n->front->name));
    TN_TRY(tnp_onnx_cut(ctx, o, NULL, &plan->name, 1, &bytes));
    st = tnp_session_open(ctx, n->engine, o->path, bytes.data, bytes.used, false, &session);
    if (st == TN_OK)
        TN_TRY(compare(ctx, session, n, &same));
    else if (st != TN_ERR_MEMORY)
        st = TN_OK; /* what is wrong with the graph, the whole of it will tell */
done:
    tnp_session_close(session);
    tnp_text_destroy(&bytes);
    if (!same)
        tnp_network_front_free(n);
    return st;
}
