/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a graph of bytes does to a picture before anything else: its front. Whoever fills the tensor can do it on the
 * way. */
#ifndef TNP_ONNX_FRONT_H
#define TNP_ONNX_FRONT_H

#include "read/onnx/graph.h"

enum { TNP_FRONT_STEPS = 8 };
typedef enum tnp_front_op { TNP_FRONT_ADD, TNP_FRONT_SUB, TNP_FRONT_MUL, TNP_FRONT_DIV } tnp_front_op;

/* x op value[c] */
typedef struct tnp_front_step {
    tnp_front_op op;
    float value[3];
} tnp_front_step;

/* Bytes (1, H, W, 3) or (1, 3, H, W) become floats (1, 3, height, width):
 *
 *   x[c,i,j] = table[c][byte[source[c],i,j]]      then, where it resizes, y = resize(x), and the steps on y
 *
 * resize: linear, half a pixel off, each result from the four samples around it, whatever the scale. */
typedef struct tnp_front {
    tnp_bytes name;   /* of the tensor that it ends at; size 0: there is no front */
    size_t source[3]; /* the colour of the input that channel c is */
    float table[3][256];
    bool resizes;
    size_t width, height; /* of what comes out; the file does not tell them where it resizes: 0 */
    tnp_front_step steps[TNP_FRONT_STEPS];
    size_t step_count;
} tnp_front;

/* The front of a graph that takes three bytes per pixel, not beyond the layer; false: it has none. */
bool tnp_onnx_front(const tnp_onnx *onnx, const tnp_onnx_value *input, bool nhwc, tnp_bytes layer, tnp_front *out);
float tnp_front_step_do(const tnp_front_step *step, size_t channel, float x);

#endif
