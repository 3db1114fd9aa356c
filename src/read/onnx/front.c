/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The front of a graph is the chain of nodes that its input goes through, each the only one that looks at what the one
 * before it made:
 *
 *   Cast to float      Transpose to (N, C, H, W)      Gather: channels in another order      Identity
 *   Add, Sub, Mul, Div by one constant or one per channel
 *   Resize, linear, half_pixel; its sizes may be computed from the Shape of what is resized
 *
 * It ends where something else comes. On bytes everything up to the resize is a table of 256 values per channel, made by
 * the same operations in the same order in float: the same bits. Graphs within nodes see names from outside: such a
 * model has no front. What is recognised here is compared with the engine before it is used (describe/net/front.c). */
#include "read/onnx/front.h"

#include <string.h>

/* ---- nodes and constants ---- */

typedef struct node_view {
    const tnp_onnx_node *node;
    tnp_bytes inputs[5], output;
    size_t input_count;
} node_view;

static bool is(tnp_bytes bytes, const char *text)
{
    return tnp_bytes_same(bytes, (tnp_bytes){(const unsigned char *)text, strlen(text)});
}

static node_view view_of(const tnp_onnx_node *node)
{
    node_view v = {.node = node};
    tnp_message m = tnp_message_of(node->inside);
    tnp_proto_field f;
    while (tnp_message_next(&m, &f)) {
        if (f.number == 1 && f.wire == 2 && v.input_count < 5)
            v.inputs[v.input_count++] = f.inside;
        if (f.number == 2 && f.wire == 2 && v.output.size == 0)
            v.output = f.inside;
    }
    return v;
}

/* The first field of that number and wire; all zero: there is none. */
static tnp_proto_field first_of(tnp_bytes bytes, uint64_t number, unsigned wire)
{
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    while (tnp_message_next(&m, &f))
        if (f.number == number && f.wire == wire)
            return f;
    return (tnp_proto_field){.number = 0};
}

static tnp_bytes part_of(tnp_bytes bytes, uint64_t number)
{
    return first_of(bytes, number, 2).inside;
}

static uint64_t number_of(tnp_bytes bytes, uint64_t number)
{
    return first_of(bytes, number, 0).value;
}

/* The attribute of that name; size 0: there is none. */
static tnp_bytes attribute_of(const node_view *v, const char *name)
{
    tnp_message m = tnp_message_of(v->node->inside);
    tnp_proto_field f;
    while (tnp_message_next(&m, &f))
        if (f.number == 5 && f.wire == 2 && is(part_of(f.inside, 1), name))
            return f.inside;
    return (tnp_bytes){NULL, 0};
}

/* An attribute of words, where there is one, is one of these. */
static bool says(const node_view *v, const char *name, const char *word)
{
    tnp_bytes attribute = attribute_of(v, name);
    return attribute.size == 0 || is(part_of(attribute, 4), word);
}

/* The tensor of a name that is an initialiser; size 0: it is none. */
static tnp_bytes constant_of(const tnp_onnx *o, tnp_bytes name)
{
    tnp_message m = tnp_message_of(o->graph);
    tnp_proto_field f;
    while (tnp_message_next(&m, &f))
        if (f.number == 5 && f.wire == 2 && tnp_bytes_same(part_of(f.inside, 8), name))
            return f.inside;
    return (tnp_bytes){NULL, 0};
}

/* Sizes of a tensor, one number per field as writers have them; SIZE_MAX: packed, or too many. */
static size_t dims_of(tnp_bytes tensor, uint64_t dims[4])
{
    tnp_message m = tnp_message_of(tensor);
    tnp_proto_field f;
    size_t rank = 0;
    while (tnp_message_next(&m, &f))
        if (f.number == 1) {
            if (f.wire != 0 || rank == 4)
                return SIZE_MAX;
            dims[rank++] = f.value;
        }
    return rank;
}

/* ---- steps ---- */

typedef struct state {
    const tnp_onnx *onnx;
    tnp_front front;
    tnp_bytes at; /* the tensor that has been reached */
    bool nhwc, floats;
} state;

/* One value, or one per channel, along the axis of channels. */
static bool read_values(const state *s, tnp_bytes name, float out[3])
{
    tnp_bytes tensor = constant_of(s->onnx, name), raw = part_of(tensor, 9);
    uint64_t dims[4] = {0};
    size_t rank = dims_of(tensor, dims), count = 1, axis = s->nhwc ? 1 : 3; /* from the last */
    if (tensor.size == 0 || number_of(tensor, 2) != TNP_ONNX_FLOAT || rank > 4)
        return false;
    for (size_t i = 0; i < rank; ++i) {
        if (dims[i] != 1 && (dims[i] != 3 || rank - i != axis))
            return false;
        count *= (size_t)dims[i];
    }
    if (raw.size != count * sizeof *out)
        return false;
    for (size_t c = 0; c < 3; ++c)
        memcpy(&out[c], raw.data + (count == 3 ? c : 0) * sizeof *out, sizeof *out);
    return true;
}

float tnp_front_step_do(const tnp_front_step *step, size_t channel, float x)
{
    float value = step->value[channel];
    switch (step->op) {
    case TNP_FRONT_ADD:
        return x + value;
    case TNP_FRONT_SUB:
        return x - value;
    case TNP_FRONT_MUL:
        return x * value;
    default:
        return x / value;
    }
}

static bool arithmetic(state *s, const node_view *v)
{
    static const char *const names[] = {"Add", "Sub", "Mul", "Div"};
    tnp_front_step step = {.op = TNP_FRONT_ADD};
    tnp_front *f = &s->front;
    size_t op = 0;
    while (op < 4 && !is(v->node->op, names[op]))
        ++op;
    if (op == 4 || !s->floats || v->input_count != 2)
        return false;
    step.op = (tnp_front_op)op;
    bool second = tnp_bytes_same(v->inputs[0], s->at);
    if ((!second && op % 2 == 1) || !read_values(s, v->inputs[second ? 1 : 0], step.value))
        return false;
    if (f->resizes) {
        if (f->step_count == TNP_FRONT_STEPS)
            return false;
        f->steps[f->step_count++] = step;
        return true;
    }
    for (size_t c = 0; c < 3; ++c)
        for (size_t i = 0; i < 256; ++i)
            f->table[c][i] = tnp_front_step_do(&step, c, f->table[c][i]);
    return true;
}

static bool cast(state *s, const node_view *v)
{
    if (!is(v->node->op, "Cast") || s->floats || number_of(attribute_of(v, "to"), 3) != TNP_ONNX_FLOAT)
        return false;
    s->floats = true;
    return true;
}

static bool transpose(state *s, const node_view *v)
{
    static const uint64_t wanted[] = {0, 3, 1, 2};
    tnp_message m = tnp_message_of(attribute_of(v, "perm"));
    tnp_proto_field f;
    size_t count = 0;
    if (!is(v->node->op, "Transpose") || !s->nhwc)
        return false;
    while (tnp_message_next(&m, &f))
        if (f.number == 8) {
            if (f.wire != 0 || count == 4 || f.value != wanted[count])
                return false;
            ++count;
        }
    s->nhwc = false;
    return count == 4;
}

/* Channels in another order: indices of a vector of three, none of them counted from the end. */
static bool gather(state *s, const node_view *v)
{
    tnp_bytes tensor = v->input_count == 2 ? constant_of(s->onnx, v->inputs[1]) : (tnp_bytes){NULL, 0};
    tnp_bytes raw = part_of(tensor, 9);
    uint64_t dims[4] = {0};
    int64_t order[3];
    tnp_front old = s->front;
    if (!is(v->node->op, "Gather") || !tnp_bytes_same(v->inputs[0], s->at) || old.resizes ||
        number_of(attribute_of(v, "axis"), 3) != (s->nhwc ? 3 : 1))
        return false;
    if (number_of(tensor, 2) != 7 || dims_of(tensor, dims) != 1 || dims[0] != 3 || raw.size != sizeof order)
        return false;
    memcpy(order, raw.data, sizeof order);
    for (size_t c = 0; c < 3; ++c) {
        if (order[c] < 0 || order[c] > 2)
            return false;
        s->front.source[c] = old.source[order[c]];
        memcpy(s->front.table[c], old.table[order[c]], sizeof *old.table);
    }
    return true;
}

static bool resize(state *s, const node_view *v)
{
    if (!is(v->node->op, "Resize") || s->nhwc || !s->floats || s->front.resizes ||
        !tnp_bytes_same(v->inputs[0], s->at) || attribute_of(v, "mode").size == 0 || !says(v, "mode", "linear") ||
        !says(v, "coordinate_transformation_mode", "half_pixel") || number_of(attribute_of(v, "antialias"), 3) != 0)
        return false;
    s->front.resizes = true;
    return true;
}

static bool identity(const state *s, const node_view *v)
{
    (void)s;
    return is(v->node->op, "Identity");
}

/* ---- who looks at a tensor ---- */

static bool looks_at(const tnp_onnx_node *node, tnp_bytes name)
{
    tnp_message m = tnp_message_of(node->inside);
    tnp_proto_field f;
    while (tnp_message_next(&m, &f))
        if (f.number == 1 && f.wire == 2 && tnp_bytes_same(f.inside, name))
            return true;
    return false;
}

/* Of the chain, and of what is computed from a shape: each is looked for among all nodes, and a file may be there to
 * waste time, or go round. */
enum { MOST_NODES = 32, MOST_OF_SHAPES = 16 };

/* What is computed from the shape of a tensor ends at one node: `tensors` are names on that way, `count` of them. */
static bool shapes_end_at(const tnp_onnx *o, tnp_bytes *tensors, size_t count, const tnp_onnx_node *end)
{
    for (size_t at = 0; at < count; ++at)
        for (size_t i = 0; i < o->node_count; ++i) {
            const tnp_onnx_node *node = &o->nodes[i];
            if (node == end || !looks_at(node, tensors[at]))
                continue;
            if (node->outputs != 1 || count == MOST_OF_SHAPES)
                return false;
            tensors[count++] = view_of(node).output;
        }
    return true;
}

/* The one node that uses a tensor; beside a Resize others may ask for the shape of what it resizes, for it alone. */
static bool only_user(const tnp_onnx *o, tnp_bytes name, node_view *out)
{
    const tnp_onnx_node *user = NULL;
    tnp_bytes shapes[MOST_OF_SHAPES];
    size_t shape_count = 0;
    for (size_t i = 0; i < o->node_count; ++i) {
        const tnp_onnx_node *node = &o->nodes[i];
        if (!looks_at(node, name))
            continue;
        if (is(node->op, "Shape") && shape_count < MOST_OF_SHAPES)
            shapes[shape_count++] = view_of(node).output;
        else if (user)
            return false;
        else
            user = node;
    }
    if (!user || user->outputs != 1)
        return false;
    *out = view_of(user);
    return shape_count == 0 || (is(user->op, "Resize") && shapes_end_at(o, shapes, shape_count, user));
}

bool tnp_onnx_front(const tnp_onnx *o, const tnp_onnx_value *input, bool nhwc, tnp_bytes layer, tnp_front *out)
{
    state s = {.onnx = o, .at = input->name, .nhwc = nhwc};
    node_view v;
    for (size_t c = 0; c < 3; ++c) {
        s.front.source[c] = c;
        for (size_t i = 0; i < 256; ++i)
            s.front.table[c][i] = (float)i;
    }
    out->name = (tnp_bytes){NULL, 0};
    for (size_t i = 0; i < MOST_NODES && !o->branches; ++i) {
        if (tnp_bytes_same(s.at, layer) || !only_user(o, s.at, &v) || tnp_bytes_same(v.output, layer) ||
            !(cast(&s, &v) || transpose(&s, &v) || gather(&s, &v) || arithmetic(&s, &v) || resize(&s, &v) ||
              identity(&s, &v)))
            break;
        s.at = v.output;
        if (s.floats && !s.nhwc) {
            *out = s.front;
            out->name = s.at;
        }
    }
    return out->name.size != 0;
}
