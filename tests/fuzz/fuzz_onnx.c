/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target of .onnx files: whatever is read is cut at each of its first outputs and layers, from its input and from
 * where its front ends, and what comes out is read again. No engine runs: what it makes of a model is its own affair. */
#include "fuzz.h"
#include "read/onnx/front.h"
#include "read/onnx/recipe.h"

typedef struct layers {
    tnp_bytes names[4];
    size_t count;
} layers;

static void gather(void *arg, const tnp_onnx_node *node, tnp_bytes name)
{
    layers *l = arg;
    (void)node;
    if (l->count < 4)
        l->names[l->count++] = name;
}

static void cut_at(tn_ctx *ctx, const tnp_onnx *onnx, const tnp_onnx_given *given, const tnp_bytes *layer)
{
    tnp_onnx again = {.path = NULL};
    tnp_text text;
    tnp_text_init(&text, ctx);
    if (tnp_onnx_cut(ctx, onnx, given, layer, 1, &text) == TN_OK &&
        tnp_onnx_parse(ctx, "cut", (tnp_bytes){(const unsigned char *)text.data, text.used}, &again) == TN_OK &&
        (again.output_count != 1 || (given && again.input_count != 1)))
        abort();
    tnp_onnx_free(&again);
    tnp_text_destroy(&text);
}

static void cut(tn_ctx *ctx, const tnp_onnx *onnx)
{
    layers l = {.count = 0};
    tnp_front front;
    tnp_onnx_layers(onnx, gather, &l);
    for (size_t i = 0; i < l.count; ++i) {
        cut_at(ctx, onnx, NULL, &l.names[i]);
        for (size_t k = 0; k < onnx->input_count; ++k)
            if (tnp_onnx_front(onnx, &onnx->inputs[k], true, l.names[i], &front))
                cut_at(ctx, onnx, &(tnp_onnx_given){front.name, {1, 3, 224, 224}}, &l.names[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_ctx *ctx = fuzz_begin();
    tnp_onnx onnx = {.path = NULL};
    tnp_recipe recipe = {.width = 0};
    if (tnp_onnx_parse(ctx, "fuzzed", (tnp_bytes){data, size}, &onnx) == TN_OK) {
        (void)tnp_recipe_of_graph(ctx, &onnx, 0, &recipe);
        (void)tnp_onnx_check_layer(ctx, &onnx, "nowhere");
        cut(ctx, &onnx);
    }
    tnp_onnx_free(&onnx);
    (void)tnp_recipe_from_json(ctx, "fuzzed", (const char *)data, size, &recipe);
    if (tnp_live_blocks(ctx) != 0)
        abort();
    tn_ctx_free(ctx);
    return 0;
}
