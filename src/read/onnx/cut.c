/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model that ends at the wanted layers. An engine returns what a graph declares as its outputs and computes everything
 * that leads to one of them; so the wanted names become the outputs, and nodes and initialisers that lead to none of
 * them are left out. Everything else is copied byte for byte: what is computed has the same bits. A declared output
 * keeps its type; of another layer only the name is written, and the engine infers the rest. It may begin later too: a
 * tensor that is given becomes the input, and what leads to it alone is left out.
 *
 * Graphs within nodes see names from outside without naming them as inputs: such a model keeps all of its nodes. */
#include "read/onnx/graph.h"

#include <string.h>

/* ---- who makes a tensor ---- */

typedef struct maker {
    tnp_bytes name;
    size_t node; /* SIZE_MAX: the constant of that number */
    size_t constant;
} maker;

typedef struct cutting {
    const tnp_onnx *onnx;
    const tnp_onnx_given *given; /* NULL: nothing */
    maker *makers;               /* open addressing, `size` a power of two */
    size_t size;
    size_t *stack, depth; /* nodes whose inputs are still to be looked at */
    bool *nodes, *constants;
} cutting;

static maker *slot_of(const cutting *c, tnp_bytes name)
{
    size_t i = (size_t)tnp_bytes_hash(name) & (c->size - 1);
    while (c->makers[i].name.data && !tnp_bytes_same(c->makers[i].name, name))
        i = (i + 1) & (c->size - 1);
    return &c->makers[i];
}

/* Of two that make one name the first counts: the engine refuses such a graph. */
static void add(cutting *c, tnp_bytes name, size_t node, size_t constant)
{
    maker *slot = name.size ? slot_of(c, name) : NULL;
    if (slot && !slot->name.data)
        *slot = (maker){name, node, constant};
}

static void add_node(cutting *c, size_t i)
{
    tnp_message m = tnp_message_of(c->onnx->nodes[i].inside);
    tnp_proto_field f;
    while (tnp_message_next(&m, &f))
        if (f.number == 2 && f.wire == 2)
            add(c, f.inside, i, 0);
}

static tn_status begin(tn_ctx *ctx, const tnp_onnx *o, cutting *c)
{
    tn_status st = TN_OK;
    c->onnx = o;
    c->size = 16;
    while (c->size < 2 * (o->layer_count + o->constant_count))
        c->size *= 2;
    TN_TRY(tnp_alloc(ctx, c->size, sizeof *c->makers, &c->makers));
    TN_TRY(tnp_alloc(ctx, o->node_count, sizeof *c->stack, &c->stack));
    TN_TRY(tnp_alloc(ctx, o->node_count, sizeof *c->nodes, &c->nodes));
    TN_TRY(tnp_alloc(ctx, o->constant_count, sizeof *c->constants, &c->constants));
    for (size_t i = 0; i < o->node_count; ++i)
        add_node(c, i);
    for (size_t i = 0; i < o->constant_count; ++i)
        add(c, o->constants[i], SIZE_MAX, i);
done:
    return st;
}

static void end(cutting *c)
{
    tnp_free_all(c->makers, c->stack, c->nodes, c->constants);
}

static void want(cutting *c, tnp_bytes name)
{
    const maker *m = name.size ? slot_of(c, name) : NULL;
    if (c->given && tnp_bytes_same(c->given->name, name))
        return;
    if (!m || !m->name.data)
        return;
    if (m->node == SIZE_MAX)
        c->constants[m->constant] = true;
    else if (!c->nodes[m->node]) {
        c->nodes[m->node] = true;
        c->stack[c->depth++] = m->node;
    }
}

static void mark(cutting *c, const tnp_bytes *layers, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        want(c, layers[i]);
    while (c->depth != 0) {
        tnp_message m = tnp_message_of(c->onnx->nodes[c->stack[--c->depth]].inside);
        tnp_proto_field f;
        while (tnp_message_next(&m, &f))
            if (f.number == 1 && f.wire == 2)
                want(c, f.inside);
    }
}

/* ---- writing ---- */

static void put_whole(tnp_text *text, tnp_bytes bytes)
{
    tnp_text_bytes(text, (const char *)bytes.data, bytes.size);
}

static const tnp_onnx_value *declared(const tnp_onnx *o, tnp_bytes name)
{
    for (size_t i = 0; i < o->output_count; ++i)
        if (tnp_bytes_same(o->outputs[i].name, name))
            return &o->outputs[i];
    return NULL;
}

static void put_output(const tnp_onnx *o, tnp_bytes name, tnp_text *text)
{
    const tnp_onnx_value *value = declared(o, name);
    if (value) {
        put_whole(text, value->whole);
        return;
    }
    tnp_proto_put_head(text, 12, 1 + tnp_proto_varint_size(name.size) + name.size);
    tnp_proto_put(text, 1, name.data, name.size);
}

/* A ValueInfoProto of floats: name {1}, type {2 {1 tensor_type {1 elem_type, 2 shape {1 dim {1 dim_value}}}}}. Sizes of
 * messages around others are the bytes within and a key and a length, one byte each, as all are below 128 but the
 * name. */
static void put_input(const tnp_onnx_given *given, tnp_text *text)
{
    size_t shape = 0, name = 1 + tnp_proto_varint_size(given->name.size) + given->name.size;
    for (size_t d = 0; d < 4; ++d)
        shape += 2 + 1 + tnp_proto_varint_size(given->dims[d]);
    tnp_proto_put_head(text, 11, name + 2 + 2 + 2 + 2 + shape);
    tnp_proto_put(text, 1, given->name.data, given->name.size);
    tnp_proto_put_head(text, 2, 2 + 2 + 2 + shape);
    tnp_proto_put_head(text, 1, 2 + 2 + shape);
    tnp_proto_put_number(text, 1, TNP_ONNX_FLOAT);
    tnp_proto_put_head(text, 2, shape);
    for (size_t d = 0; d < 4; ++d) {
        tnp_proto_put_head(text, 1, 1 + tnp_proto_varint_size(given->dims[d]));
        tnp_proto_put_number(text, 1, given->dims[d]);
    }
}

static void put_graph(const cutting *c, const tnp_bytes *layers, size_t count, tnp_text *text)
{
    tnp_message m = tnp_message_of(c->onnx->graph);
    tnp_proto_field f;
    size_t node = 0, constant = 0;
    if (c->given)
        put_input(c->given, text);
    while (tnp_message_next(&m, &f)) {
        bool keep = true;
        if (f.number == 1 && f.wire == 2)
            keep = c->nodes[node++];
        else if (f.number == 5 && f.wire == 2)
            keep = c->constants[constant++];
        else if (f.number == 12 || (f.number == 11 && c->given))
            keep = false; /* an initialiser needs no input of its name */
        if (keep || (c->onnx->branches && f.number != 12))
            put_whole(text, f.whole);
    }
    for (size_t i = 0; i < count; ++i)
        put_output(c->onnx, layers[i], text);
}

tn_status tnp_onnx_cut(tn_ctx *ctx, const tnp_onnx *o, const tnp_onnx_given *given, const tnp_bytes *layers,
                       size_t count, tnp_text *out)
{
    tn_status st = TN_OK;
    cutting c = {.given = given};
    tnp_text graph;
    tnp_proto_field f;
    tnp_text_init(&graph, ctx);
    TN_TRY(begin(ctx, o, &c));
    mark(&c, layers, count);
    put_graph(&c, layers, count, &graph);
    TN_TRY(graph.status);
    for (tnp_message m = tnp_message_of(o->bytes); tnp_message_next(&m, &f);)
        if (f.number == 7 && f.wire == 2)
            tnp_proto_put(out, 7, graph.data ? graph.data : "", graph.used);
        else if (f.number != 20)
            put_whole(out, f.whole);
    TN_TRY(out->status);
done:
    tnp_text_destroy(&graph);
    end(&c);
    return st;
}

/* ---- names ---- */

enum { LONGEST = 200 };

/* Edits from one name to the other: insert, delete, change. Names are cut to LONGEST bytes. */
static size_t distance(tnp_bytes a, const char *b)
{
    size_t row[LONGEST + 1], n = tnp_min(a.size, LONGEST), m = tnp_min(strlen(b), LONGEST);
    for (size_t j = 0; j <= m; ++j)
        row[j] = j;
    for (size_t i = 1; i <= n; ++i) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; ++j) {
            size_t change = corner + (a.data[i - 1] != (unsigned char)b[j - 1]);
            corner = row[j];
            row[j] = tnp_min(change, tnp_min(row[j], row[j - 1]) + 1);
        }
    }
    return row[m];
}

typedef struct nearest {
    const char *wanted;
    tnp_bytes best;
    size_t edits;
    bool found;
} nearest;

/* One that ends in what was asked for is near, whatever stands before it: /layer4/conv/Conv_output_0. */
static void compare(void *arg, const tnp_onnx_node *node, tnp_bytes name)
{
    nearest *n = arg;
    size_t length = strlen(n->wanted), edits = distance(name, n->wanted);
    (void)node;
    n->found = n->found || tnp_bytes_same(name, (tnp_bytes){(const unsigned char *)n->wanted, length});
    if (length != 0 && name.size > length && memcmp(name.data + name.size - length, n->wanted, length) == 0)
        edits = 1;
    if (edits < n->edits) {
        n->edits = edits;
        n->best = name;
    }
}

tn_status tnp_onnx_check_layer(tn_ctx *ctx, const tnp_onnx *o, const char *layer)
{
    nearest n = {.wanted = layer, .edits = SIZE_MAX};
    tnp_onnx_layers(o, compare, &n);
    if (n.found)
        return TN_OK;
    if (n.edits > (strlen(layer) + 1) / 2)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: no layer '%.100s' among %zu, which tenon info lists", o->path, layer,
                        o->layer_count);
    return tnp_fail(ctx, TN_ERR_ARG, "%s: no layer '%.100s' among %zu; did you mean %.*s?", o->path, layer,
                    o->layer_count, (int)tnp_min(n.best.size, LONGEST), (const char *)n.best.data);
}
