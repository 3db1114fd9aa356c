/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph of an .onnx file: its input, its outputs and layers, and a copy of the file that ends at one of them. */
#ifndef TNP_ONNX_GRAPH_H
#define TNP_ONNX_GRAPH_H

#include "read/onnx/proto.h"

enum { TNP_ONNX_RANK = 8, TNP_ONNX_DEPTH = 16 };
/* Element types that we name; numbers of onnx.proto. */
enum { TNP_ONNX_FLOAT = 1, TNP_ONNX_UINT8 = 2, TNP_ONNX_FLOAT16 = 10, TNP_ONNX_DOUBLE = 11 };

/* A tensor that goes in, comes out, or is on the way. */
typedef struct tnp_onnx_value {
    tnp_bytes name;
    uint64_t type;               /* of elements; 0: not told */
    size_t rank;                 /* SIZE_MAX: not told */
    int64_t dims[TNP_ONNX_RANK]; /* -1: any */
    tnp_bytes whole;
} tnp_onnx_value;

typedef struct tnp_onnx_node {
    tnp_bytes op, inside, whole;
    size_t outputs; /* with a name */
} tnp_onnx_node;

typedef struct tnp_onnx {
    char *path; /* for messages */
    tnp_bytes bytes, graph;
    uint64_t hash;  /* FNV-1a, 64 bits, of the bytes: tells files apart, not forgeries */
    uint64_t opset; /* of the default domain */
    tnp_onnx_node *nodes;
    tnp_onnx_value *inputs, *outputs, *hints; /* hints: tensors on the way whose shape the file tells */
    tnp_bytes *constants;                     /* names of initialisers */
    size_t node_count, input_count, output_count, hint_count, constant_count;
    size_t layer_count; /* outputs of all nodes */
    bool branches;      /* a node holds a graph of its own (If, Loop, Scan), which sees names from outside */
} tnp_onnx;

/* Of bytes that the caller keeps. TN_ERR_FORMAT: no model, broken, tensors that claim more elements than the file has
 * bytes for; TN_ERR_UNSUPPORTED: tensors in other files. All zero before; tnp_onnx_free after, also on failure. */
tn_status tnp_onnx_parse(tn_ctx *ctx, const char *path, tnp_bytes bytes, tnp_onnx *out);
/* Of a file, whose bytes are the caller's: tnp_bytes_free. TN_ERR_IO too. */
tn_status tnp_onnx_open(tn_ctx *ctx, const char *path, tnp_bytes *bytes, tnp_onnx *out);
void tnp_onnx_free(tnp_onnx *onnx);

/* The input that is no initialiser; TN_ERR_UNSUPPORTED when there is not one. */
tn_status tnp_onnx_input(tn_ctx *ctx, const tnp_onnx *onnx, const tnp_onnx_value **out);
/* Calls `each` with every layer: outputs of nodes, in the order of the file. */
void tnp_onnx_layers(const tnp_onnx *onnx, void (*each)(void *arg, const tnp_onnx_node *node, tnp_bytes name),
                     void *arg);
/* What the file tells of a tensor; NULL: nothing. */
const tnp_onnx_value *tnp_onnx_find(const tnp_onnx *onnx, tnp_bytes name);
/* Is it a layer or an output? TN_ERR_ARG with the nearest name there is. */
tn_status tnp_onnx_check_layer(tn_ctx *ctx, const tnp_onnx *onnx, const char *layer);

/* A tensor of floats that is put in, in the place of the input. */
typedef struct tnp_onnx_given {
    tnp_bytes name;
    size_t dims[4];
} tnp_onnx_given;

/* The model with these tensors as its only outputs, and without nodes and initialisers that do not lead to them; a graph
 * with branches keeps everything. given: what it begins at, of a graph without branches; NULL: its input. Into *out, an
 * empty text; destroy it. */
tn_status tnp_onnx_cut(tn_ctx *ctx, const tnp_onnx *onnx, const tnp_onnx_given *given, const tnp_bytes *layers,
                       size_t count, tnp_text *out);

static inline bool tnp_bytes_same(tnp_bytes a, tnp_bytes b)
{
    return a.size == b.size && (a.size == 0 || __builtin_memcmp(a.data, b.data, a.size) == 0);
}

uint64_t tnp_bytes_hash(tnp_bytes bytes);

#endif
