/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an .onnx file holds: input, outputs, layers. The shape of a layer is what the file tells; where it tells nothing
 * and there is an engine, that is asked: every layer becomes an output of a copy that is loaded without rewriting, and
 * has the type that was inferred. */
#include "describe/net/network.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

typedef struct looked {
    tnp_bytes *names;
    const tnp_onnx_node **nodes;
    tnp_onnx_value *values;
    size_t count;
} looked;

static void gather(void *arg, const tnp_onnx_node *node, tnp_bytes name)
{
    looked *l = arg;
    l->nodes[l->count] = node;
    l->names[l->count++] = name;
}

static void fill_known(const tnp_onnx *o, looked *l)
{
    for (size_t i = 0; i < l->count; ++i) {
        const tnp_onnx_value *known = tnp_onnx_find(o, l->names[i]);
        l->values[i] = known ? *known : (tnp_onnx_value){.name = l->names[i], .rank = SIZE_MAX};
    }
}

/* What the engine infers of those that the file tells nothing of; it may refuse, or be absent: then they stay so. */
static tn_status fill_inferred(tn_ctx *ctx, const tnp_onnx *o, looked *l)
{
    tn_status st = TN_OK;
    tnp_engine *engine = NULL;
    tnp_session *session = NULL;
    tnp_text bytes;
    tnp_text_init(&bytes, ctx);
    TN_TRY(tnp_onnx_cut(ctx, o, NULL, l->names, l->count, &bytes));
    if (tnp_engine_open(ctx, &engine) != TN_OK ||
        tnp_session_open(ctx, engine, o->path, bytes.data, bytes.used, true, &session) != TN_OK)
        goto done;
    for (size_t i = 0; i < l->count; ++i) {
        int type = 0;
        size_t rank = 0;
        int64_t dims[TNP_TENSOR_RANK];
        tnp_onnx_value *v = &l->values[i];
        if (v->rank != SIZE_MAX || !tnp_session_output(session, i, &type, &rank, dims))
            continue;
        v->type = (uint64_t)type;
        v->rank = rank;
        memcpy(v->dims, dims, rank * sizeof *dims);
    }
done:
    tnp_text_destroy(&bytes);
    tnp_session_close(session);
    tnp_engine_close(engine);
    return st;
}

static tn_status look(tn_ctx *ctx, const tnp_onnx *o, looked *l)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, o->layer_count, sizeof *l->names, &l->names));
    TN_TRY(tnp_alloc(ctx, o->layer_count, sizeof(tnp_onnx_node *), &l->nodes));
    TN_TRY(tnp_alloc(ctx, o->layer_count, sizeof *l->values, &l->values));
    tnp_onnx_layers(o, gather, l);
    fill_known(o, l);
    TN_TRY(fill_inferred(ctx, o, l));
done:
    return st;
}

/* ---- texts ---- */

static const char *type_name(uint64_t type)
{
    static const char *const names[] = {"",      "float32", "uint8", "int8",    "uint16",  "int16",
                                        "int32", "int64",   "text",  "boolean", "float16", "float64"};
    return type < sizeof names / sizeof *names ? names[type] : "other";
}

static void put_quoted(tn_ctx *ctx, tnp_text *text, tnp_bytes bytes)
{
    char *name = NULL;
    tn_status st = tnp_utf8_copy(ctx, (const char *)bytes.data, bytes.size, &name);
    if (st == TN_OK)
        tnp_text_quote(text, name);
    else
        text->status = st;
    tnp_free(name);
}

static void put_value(tn_ctx *ctx, tnp_text *text, const tnp_onnx_value *v, const tnp_onnx_node *node)
{
    tnp_text_add(text, "{\"name\":");
    put_quoted(ctx, text, v->name);
    if (node) {
        tnp_text_add(text, ",\"op\":");
        put_quoted(ctx, text, node->op);
    }
    tnp_text_add(text, ",\"type\":\"%s\",\"shape\":", type_name(v->type));
    if (v->rank == SIZE_MAX)
        tnp_text_add(text, "null");
    for (size_t d = 0; v->rank != SIZE_MAX && d < v->rank; ++d)
        if (v->dims[d] < 0)
            tnp_text_add(text, d ? ",null" : "[null");
        else
            tnp_text_add(text, d ? ",%" PRId64 : "[%" PRId64, v->dims[d]);
    tnp_text_add(text, v->rank == SIZE_MAX ? "}" : v->rank == 0 ? "[]}" : "]}");
}

static void put_list(tn_ctx *ctx, tnp_text *text, const char *key, const tnp_onnx_value *values,
                     const tnp_onnx_node *const *nodes, size_t count)
{
    tnp_text_add(text, ",\"%s\":[", key);
    for (size_t i = 0; i < count; ++i) {
        if (i)
            tnp_text_add(text, ",");
        put_value(ctx, text, &values[i], nodes ? nodes[i] : NULL);
    }
    tnp_text_add(text, "]");
}

static void put_json(tn_ctx *ctx, tnp_text *text, const tnp_onnx *o, const looked *l)
{
    tnp_text_add(text, "{\"path\":");
    tnp_text_quote(text, o->path);
    tnp_text_add(text, ",\"kind\":\"network\",\"hash\":\"%016" PRIx64 "\",\"opset\":%" PRIu64 ",\"bytes\":%zu", o->hash,
                 o->opset, o->bytes.size);
    put_list(ctx, text, "inputs", o->inputs, NULL, o->input_count);
    put_list(ctx, text, "outputs", o->outputs, NULL, o->output_count);
    put_list(ctx, text, "layers", l->values, l->nodes, l->count);
    tnp_text_add(text, "}");
}

static void say_value(tnp_text *text, const char *what, const tnp_onnx_value *v, const tnp_onnx_node *node)
{
    char shape[200] = "";
    for (size_t d = 0, used = 0; v->rank != SIZE_MAX && d < v->rank; ++d)
        used += (size_t)(v->dims[d] < 0
                             ? snprintf(shape + used, sizeof shape - used, d ? " x ?" : "?")
                             : snprintf(shape + used, sizeof shape - used, d ? " x %" PRId64 : "%" PRId64, v->dims[d]));
    tnp_text_add(text, "  %-8s %.*s", what, (int)v->name.size, v->name.data ? (const char *)v->name.data : "");
    if (node && node->op.data)
        tnp_text_add(text, " (%.*s)", (int)node->op.size, (const char *)node->op.data);
    tnp_text_add(text, v->rank == SIZE_MAX ? "\n" : ": %s %s\n", shape, type_name(v->type));
}

static void put_lines(tnp_text *text, const tnp_onnx *o, const looked *l)
{
    tnp_text_add(text, "%s: network of %zu nodes, opset %" PRIu64 ", hash %016" PRIx64 "\n", o->path, o->node_count,
                 o->opset, o->hash);
    for (size_t i = 0; i < o->input_count; ++i)
        say_value(text, "input", &o->inputs[i], NULL);
    for (size_t i = 0; i < l->count; ++i)
        say_value(text, "layer", &l->values[i], l->nodes[i]);
    for (size_t i = 0; i < o->output_count; ++i)
        say_value(text, "output", &o->outputs[i], NULL);
}

tn_status tn_network_look(tn_ctx *ctx, const char *path, bool json, char **out)
{
    tn_status st = TN_OK;
    tnp_bytes bytes = {NULL, 0};
    tnp_onnx onnx = {.path = NULL};
    looked l = {.names = NULL};
    tnp_text text;
    if (json)
        tnp_text_init(&text, ctx);
    else
        tnp_text_init_shown(&text, ctx);
    TN_TRY(tnp_onnx_open(ctx, path, &bytes, &onnx));
    TN_TRY(look(ctx, &onnx, &l));
    if (json)
        put_json(ctx, &text, &onnx, &l);
    else
        put_lines(&text, &onnx, &l);
    TN_TRY(tnp_text_take(&text, out));
done:
    tnp_text_destroy(&text);
    tnp_free_all(l.names, l.nodes, l.values);
    tnp_onnx_free(&onnx);
    tnp_bytes_free(&bytes);
    return st;
}
