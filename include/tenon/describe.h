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

#ifdef __cplusplus
}
#endif
#endif
