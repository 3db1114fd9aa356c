/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 2, describe: pictures to bags of local descriptors. Square patches of several sizes are taken on regular grids,
 * and each becomes a vector:
 *
 *   sift (128), rootsift (128), lbp (1024)     of the grey picture
 *   csift (384), gist (960)                    of red, green and blue
 *
 * Descriptors come in the order of the patch sizes, each row by row; where each was taken is kept: x and y of its middle
 * as shares of width and height, and its side as a share of sqrt(width height). */
#ifndef TENON_DESCRIBE_H
#define TENON_DESCRIBE_H

#include "tenon/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Name of the i-th descriptor and the length of its vectors; NULL behind the last. */
TN_API const char *tn_descriptor_name(size_t i);
TN_API size_t tn_descriptor_dim(size_t i);

/* The descriptors of one picture: descriptors (n x dim) and positions (n x 3), both owned by the caller, free with
 * tn_mat_free; n is 0 when no patch has space in it. options: of "describe". TN_ERR_ARG, TN_ERR_MEMORY, TN_ERR_BUDGET.
 * The same for every number of threads. */
TN_API tn_status tn_describe(tn_ctx *ctx, const tn_picture *picture, const tn_options *options, tn_mat **descriptors,
                             tn_mat **positions);

/* ---- networks ---- */

/* An .onnx model that turns pictures into vectors, or into bags, by one of its layers. It runs in ONNX Runtime, which is
 * loaded when the first network is opened: TENON_ONNXRUNTIME names the library or its folder, else it is found where the
 * system, Python or npm have it. A model is a program: run only those whose maker you trust. The memory that the engine
 * takes is not counted. */
typedef struct tn_network tn_network;

/* path: FILE.onnx, or FILE.onnx:LAYER. options: of "network". How pictures are prepared comes from the graph, from the
 * JSON beside the model, and from options; the later win. Owned by the caller, free with tn_network_free.
 * TN_ERR_UNSUPPORTED: no engine, with the ways to get one, or the engine refuses the model, or the model is not one of a
 * picture, or keeps tensors in other files; TN_ERR_FORMAT: broken; TN_ERR_ARG: no such layer, with a near name;
 * TN_ERR_IO, TN_ERR_MEMORY. */
TN_API tn_status tn_network_open(tn_ctx *ctx, const char *path, const tn_options *options, tn_network **out);
/* The network of a tn_network_about, with everything as it was then; path NULL: the file it names. TN_ERR_DATA when the
 * file is another one by its hash, unless force. */
TN_API tn_status tn_network_recall(tn_ctx *ctx, const char *about, const char *path, bool force, tn_network **out);
/* NULL is legal. */
TN_API void tn_network_free(tn_network *network);
TN_API size_t tn_network_cols(const tn_network *network); /* values of a vector, or of a descriptor of a bag */
TN_API size_t tn_network_bag(const tn_network *network);  /* descriptors of a bag; 0: one vector per picture */
/* Borrowed while it lives. */
TN_API const char *tn_network_layer(const tn_network *network);
/* File, hash, layer and preparation as a JSON object, for tn_features_set_about; borrowed while it lives. */
TN_API const char *tn_network_about(const tn_network *network);

/* Inputs, outputs and layers of an .onnx file with their shapes, as a JSON object or as lines for people. Shapes that the
 * file does not tell are asked of the engine where there is one. Owned by the caller, free with tn_text_free. */
TN_API tn_status tn_network_look(tn_ctx *ctx, const char *path, bool json, char **text);

typedef struct tn_engine {
    char version[32], path[512];
} tn_engine;
/* The engine that networks would run in. TN_ERR_UNSUPPORTED: there is none. */
TN_API tn_status tn_engine_look(tn_ctx *ctx, tn_engine *out);

#ifdef __cplusplus
}
#endif
#endif
