/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a picture becomes the input of a network. */
#ifndef TNP_RECIPE_H
#define TNP_RECIPE_H

#include "base/base.h"
#include "read/onnx/graph.h"
#include "read/pictures/resize.h"

/* The picture is resized, cut in the middle to width x height, and each value v, from 0 to 255, becomes
 * (v scale - mean[c]) / std[c]; of a graph that takes bytes it stays v. */
typedef struct tnp_recipe {
    size_t width, height;
    size_t shorter;                     /* the shorter side is resized to this; 0: both sides, to the two below */
    size_t resize_width, resize_height; /* whatever the shape of the picture was */
    int kernel;                         /* tnp_kernel */
    double mean[3], std[3], scale;
    bool bgr, nhwc;
    size_t channels;
    bool bytes; /* uint8 goes in, not float */
} tnp_recipe;

/* What may be told of it by name; 0, -1 (first word) and no text: not told. */
typedef struct tnp_recipe_options {
    size_t size;
    double crop; /* share of the resized picture that is kept */
    tnp_reals mean, std;
    double scale;
    int resample, channels, layout;
    const char *config;
} tnp_recipe_options;

const tn_field *tnp_recipe_fields(size_t *count);
void tnp_recipe_options_default(tnp_recipe_options *options);

/* From the graph, from the JSON beside it, from options: the later ones win. TN_ERR_ARG: sizes that the graph refuses;
 * TN_ERR_FORMAT of the JSON; TN_ERR_UNSUPPORTED: an input that is no picture. */
tn_status tnp_recipe_make(tn_ctx *ctx, const tnp_onnx *onnx, const tnp_recipe_options *options, tnp_recipe *out);
/* What the graph alone tells: type, channels, layout; width and height 0 where they may be any. */
tn_status tnp_recipe_of_graph(tn_ctx *ctx, const tnp_onnx *onnx, int layout, tnp_recipe *out);
/* From JSON with the keys of Hugging Face's preprocessor_config.json or of timm's pretrained_cfg, also within an object
 * of that name. What it does not tell stays. */
tn_status tnp_recipe_from_json(tn_ctx *ctx, const char *path, const char *text, size_t size, tnp_recipe *recipe);

#endif
