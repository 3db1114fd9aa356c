/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the bytes of an .onnx file to its graph. Fields that are read, by their number in onnx.proto:
 *
 *   ModelProto       7 graph   8 opset_import {1 domain, 2 version}   20 training_info (ignored)   25 functions {7 node}
 *   GraphProto       1 node   5 initializer   11 input   12 output   13 value_info   15 sparse_initializer
 *   NodeProto        1 input   2 output   4 op_type   5 attribute
 *   AttributeProto   5 t   6 g   10 tensors   11 graphs   22 sparse_tensor   23 sparse_tensors
 *   TensorProto      1 dims   8 name   13 external_data   14 data_location
 *   ValueInfoProto   1 name   2 type {1 tensor_type {1 elem_type, 2 shape {1 dim {1 dim_value}}}}
 *
 * A file is refused before an engine sees it when a tensor anywhere in it lies in another file (a path that the file
 * chooses is opened by nobody), or claims more elements than its own bytes can hold: two per byte, which is what the
 * narrowest type takes. Offsets are nowhere trusted: every message is read within the bytes of the one around it, and
 * graphs within graphs TNP_ONNX_DEPTH deep. Fuzzed: tests/fuzz/fuzz_onnx.c. */
#include "read/onnx/graph.h"

#include <string.h>

uint64_t tnp_bytes_hash(tnp_bytes bytes)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes.size; ++i)
        hash = (hash ^ bytes.data[i]) * 1099511628211u;
    return hash;
}

static tn_status broken(tn_ctx *ctx, const tnp_onnx *o, const unsigned char *at, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: %s; expected an .onnx model", o->path,
                    (size_t)(at - o->bytes.data), what);
}

/* ---- what must not be in it ---- */

typedef struct walk {
    tn_ctx *ctx;
    tnp_onnx *onnx;
} walk;

/* Elements of `dims`, one field of them: packed, or one number. False: negative, or too many. */
static bool multiply(const tnp_proto_field *f, double *elements)
{
    tnp_message packed = tnp_message_of(f->inside);
    tnp_proto_field number = {.value = f->value};
    if (f->wire == 0) {
        *elements *= (double)(int64_t)f->value;
        return (int64_t)f->value >= 0;
    }
    while (packed.at < packed.end) {
        /* a packed number is what follows the key of a field of wire 0 */
        unsigned shift = 0;
        number.value = 0;
        do {
            if (packed.at == packed.end || shift > 63)
                return false;
            number.value |= (uint64_t)(*packed.at & 0x7F) << shift;
            shift += 7;
        } while (*packed.at++ >= 0x80);
        if ((int64_t)number.value < 0)
            return false;
        *elements *= (double)(int64_t)number.value;
    }
    return true;
}

static tn_status check_tensor(walk *w, tnp_bytes bytes, double most)
{
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    double elements = 1;
    while (tnp_message_next(&m, &f)) {
        if (f.number == 13 || (f.number == 14 && f.wire == 0 && f.value == 1))
            return tnp_fail(w->ctx, TN_ERR_UNSUPPORTED,
                            "%s: a tensor lies in another file (external data), which is not read; save the model as "
                            "one file",
                            w->onnx->path);
        if (f.number == 1 && !multiply(&f, &elements))
            return broken(w->ctx, w->onnx, f.whole.data, "a tensor with a negative or broken size");
    }
    if (m.bad)
        return broken(w->ctx, w->onnx, m.at, "a broken tensor");
    if (elements > most)
        return broken(w->ctx, w->onnx, bytes.data, "a tensor claims more elements than it has bytes for");
    return TN_OK;
}

/* values {1}, indices {2} of a sparse tensor, and its dims {3} as a whole one. */
static tn_status check_sparse(walk *w, tnp_bytes bytes)
{
    tn_status st = TN_OK;
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    double elements = 1;
    while (st == TN_OK && tnp_message_next(&m, &f)) {
        if (f.number == 3 && (!multiply(&f, &elements) || elements > 1e8))
            st = broken(w->ctx, w->onnx, f.whole.data, "a sparse tensor of more than 1e8 elements");
        else if ((f.number == 1 || f.number == 2) && f.wire == 2)
            st = check_tensor(w, f.inside, 2 * (double)f.inside.size);
    }
    return st != TN_OK || !m.bad ? st : broken(w->ctx, w->onnx, m.at, "a broken sparse tensor");
}

static tn_status check_graph(walk *w, tnp_bytes bytes, size_t depth);

static tn_status check_attribute(walk *w, tnp_bytes bytes, size_t depth)
{
    tn_status st = TN_OK;
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    while (st == TN_OK && tnp_message_next(&m, &f)) {
        if (f.wire != 2)
            continue;
        if (f.number == 5 || f.number == 10)
            st = check_tensor(w, f.inside, 2 * (double)f.inside.size);
        else if (f.number == 22 || f.number == 23)
            st = check_sparse(w, f.inside);
        else if (f.number == 6 || f.number == 11) {
            w->onnx->branches = true;
            st = check_graph(w, f.inside, depth + 1);
        }
    }
    return st != TN_OK || !m.bad ? st : broken(w->ctx, w->onnx, m.at, "a broken attribute");
}

static tn_status check_node(walk *w, tnp_bytes bytes, size_t depth)
{
    tn_status st = TN_OK;
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    while (st == TN_OK && tnp_message_next(&m, &f))
        if (f.number == 5 && f.wire == 2)
            st = check_attribute(w, f.inside, depth);
    return st != TN_OK || !m.bad ? st : broken(w->ctx, w->onnx, m.at, "a broken node");
}

static tn_status check_graph(walk *w, tnp_bytes bytes, size_t depth)
{
    tn_status st = TN_OK;
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    if (depth > TNP_ONNX_DEPTH)
        return broken(w->ctx, w->onnx, bytes.data, "graphs within graphs, too deep");
    while (st == TN_OK && tnp_message_next(&m, &f)) {
        if (f.wire == 2 && f.number == 1)
            st = check_node(w, f.inside, depth);
        else if (f.wire == 2 && f.number == 5)
            st = check_tensor(w, f.inside, 2 * (double)f.inside.size);
        else if (f.wire == 2 && f.number == 15)
            st = check_sparse(w, f.inside);
    }
    return st != TN_OK || !m.bad ? st : broken(w->ctx, w->onnx, m.at, "a broken graph");
}

/* Nodes of a function, whose bodies are graphs by another name. */
static tn_status check_function(walk *w, tnp_bytes bytes)
{
    tn_status st = TN_OK;
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    while (st == TN_OK && tnp_message_next(&m, &f))
        if (f.number == 7 && f.wire == 2)
            st = check_node(w, f.inside, 1);
    return st != TN_OK || !m.bad ? st : broken(w->ctx, w->onnx, m.at, "a broken function");
}

/* ---- what is in it ---- */

static tnp_bytes field_of(tnp_bytes bytes, uint64_t number)
{
    tnp_message m = tnp_message_of(bytes);
    tnp_proto_field f;
    tnp_bytes found = {NULL, 0};
    while (tnp_message_next(&m, &f))
        if (f.number == number && f.wire == 2)
            found = f.inside;
    return found;
}

static void read_shape(tnp_bytes bytes, tnp_onnx_value *v)
{
    tnp_message m = tnp_message_of(bytes), dim;
    tnp_proto_field f, d;
    v->rank = 0;
    while (tnp_message_next(&m, &f)) {
        if (f.number != 1 || f.wire != 2)
            continue;
        if (v->rank == TNP_ONNX_RANK) {
            v->rank = SIZE_MAX;
            return;
        }
        v->dims[v->rank] = -1;
        for (dim = tnp_message_of(f.inside); tnp_message_next(&dim, &d);)
            if (d.number == 1 && d.wire == 0 && (int64_t)d.value > 0)
                v->dims[v->rank] = (int64_t)d.value;
        ++v->rank;
    }
}

static void read_value(const tnp_proto_field *field, tnp_onnx_value *v)
{
    tnp_bytes tensor = field_of(field_of(field->inside, 2), 1);
    tnp_message m = tnp_message_of(tensor);
    tnp_proto_field f;
    *v = (tnp_onnx_value){.name = field_of(field->inside, 1), .rank = SIZE_MAX, .whole = field->whole};
    while (tnp_message_next(&m, &f))
        if (f.number == 1 && f.wire == 0)
            v->type = f.value;
        else if (f.number == 2 && f.wire == 2)
            read_shape(f.inside, v);
}

static size_t count_outputs(tnp_bytes node)
{
    tnp_message m = tnp_message_of(node);
    tnp_proto_field f;
    size_t count = 0;
    while (tnp_message_next(&m, &f))
        count += f.number == 2 && f.wire == 2 && f.inside.size != 0;
    return count;
}

/* Counts where lists are NULL, fills them where there is memory. */
static void gather(tnp_onnx *o)
{
    tnp_message m = tnp_message_of(o->graph);
    tnp_proto_field f;
    size_t n[5] = {0, 0, 0, 0, 0};
    while (tnp_message_next(&m, &f)) {
        if (f.wire != 2)
            continue;
        if (f.number == 1 && o->nodes) {
            tnp_onnx_node *node = &o->nodes[n[0]];
            *node = (tnp_onnx_node){field_of(f.inside, 4), f.inside, f.whole, count_outputs(f.inside)};
            o->layer_count += node->outputs;
        } else if (f.number == 5 && o->nodes) {
            o->constants[n[1]] = field_of(f.inside, 8);
        } else if (f.number >= 11 && f.number <= 13 && o->nodes) {
            tnp_onnx_value *const lists[] = {o->inputs, o->outputs, o->hints};
            read_value(&f, &lists[f.number - 11][n[f.number - 9]]);
        }
        n[0] += f.number == 1;
        n[1] += f.number == 5;
        if (f.number >= 11 && f.number <= 13)
            ++n[f.number - 9];
    }
    o->node_count = n[0];
    o->constant_count = n[1];
    o->input_count = n[2];
    o->output_count = n[3];
    o->hint_count = n[4];
}

static tn_status read_model(tn_ctx *ctx, tnp_onnx *o)
{
    tn_status st = TN_OK;
    tnp_message m = tnp_message_of(o->bytes), opset;
    tnp_proto_field f, part;
    walk w = {ctx, o};
    while (st == TN_OK && tnp_message_next(&m, &f)) {
        if (f.wire != 2)
            continue;
        if (f.number == 7 && o->graph.data)
            st = broken(ctx, o, f.whole.data, "a second graph");
        else if (f.number == 7) {
            o->graph = f.inside;
            st = check_graph(&w, f.inside, 0);
        } else if (f.number == 25)
            st = check_function(&w, f.inside);
        else if (f.number == 8 && field_of(f.inside, 1).size == 0)
            for (opset = tnp_message_of(f.inside); tnp_message_next(&opset, &part);)
                o->opset = part.number == 2 && part.wire == 0 ? part.value : o->opset;
    }
    if (st == TN_OK && m.bad)
        st = broken(ctx, o, m.at, "no field of a model");
    return st == TN_OK && !o->graph.data ? broken(ctx, o, o->bytes.data, "no graph") : st;
}

static tn_status read_graph(tn_ctx *ctx, tnp_onnx *o)
{
    tn_status st = TN_OK;
    gather(o);
    TN_TRY(tnp_alloc(ctx, o->constant_count, sizeof *o->constants, &o->constants));
    TN_TRY(tnp_alloc(ctx, o->input_count, sizeof *o->inputs, &o->inputs));
    TN_TRY(tnp_alloc(ctx, o->output_count, sizeof *o->outputs, &o->outputs));
    TN_TRY(tnp_alloc(ctx, o->hint_count, sizeof *o->hints, &o->hints));
    TN_TRY(tnp_alloc(ctx, o->node_count, sizeof *o->nodes, &o->nodes));
    gather(o);
done:
    return st;
}

tn_status tnp_onnx_parse(tn_ctx *ctx, const char *path, tnp_bytes bytes, tnp_onnx *out)
{
    tn_status st = TN_OK;
    out->bytes = bytes;
    TN_TRY(tnp_strdup(ctx, path, &out->path));
    TN_TRY(read_model(ctx, out));
    TN_TRY(read_graph(ctx, out));
    if (out->output_count == 0 || out->node_count == 0)
        TN_TRY(broken(ctx, out, out->graph.data, "a graph without nodes or outputs"));
    out->hash = tnp_bytes_hash(bytes);
done:
    return st;
}

tn_status tnp_onnx_open(tn_ctx *ctx, const char *path, tnp_bytes *bytes, tnp_onnx *out)
{
    tn_status st = tnp_bytes_read(ctx, path, bytes);
    return st == TN_OK ? tnp_onnx_parse(ctx, path, *bytes, out) : st;
}

void tnp_onnx_free(tnp_onnx *o)
{
    tnp_free_all(o->path, o->nodes, o->inputs, o->outputs, o->hints, o->constants);
    memset(o, 0, sizeof *o);
}

tn_status tnp_onnx_input(tn_ctx *ctx, const tnp_onnx *o, const tnp_onnx_value **out)
{
    size_t count = 0;
    for (size_t i = 0; i < o->input_count; ++i) {
        bool constant = false;
        for (size_t c = 0; c < o->constant_count && !constant; ++c)
            constant = tnp_bytes_same(o->constants[c], o->inputs[i].name);
        if (!constant && count++ == 0)
            *out = &o->inputs[i];
    }
    if (count != 1)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: a graph of %zu inputs, expected one, the picture", o->path,
                        count);
    return TN_OK;
}

const tnp_onnx_value *tnp_onnx_find(const tnp_onnx *o, tnp_bytes name)
{
    const tnp_onnx_value *const lists[] = {o->outputs, o->hints, o->inputs};
    const size_t counts[] = {o->output_count, o->hint_count, o->input_count};
    for (size_t l = 0; l < 3; ++l)
        for (size_t i = 0; i < counts[l]; ++i)
            if (tnp_bytes_same(lists[l][i].name, name))
                return &lists[l][i];
    return NULL;
}

void tnp_onnx_layers(const tnp_onnx *o, void (*each)(void *arg, const tnp_onnx_node *node, tnp_bytes name), void *arg)
{
    for (size_t i = 0; i < o->node_count; ++i) {
        tnp_message m = tnp_message_of(o->nodes[i].inside);
        tnp_proto_field f;
        while (tnp_message_next(&m, &f))
            if (f.number == 2 && f.wire == 2 && f.inside.size != 0)
                each(arg, &o->nodes[i], f.inside);
    }
}
