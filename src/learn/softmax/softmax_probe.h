/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The certificate of a multinomial head with many classes for less than two products in double. */
#ifndef TNP_SOFTMAX_PROBE_H
#define TNP_SOFTMAX_PROBE_H

#include "learn/softmax/certify_softmax.h"

/* What float sums have found of claim->w: scores s (rows, k), and g (k, dim + 1) = w + sum_i c_i (p_i - e_y) x_i at
 * them. */
typedef struct tnp_probe {
    const float *s, *g;
    uint64_t seed;
} tnp_probe;

/* As tnp_certify_softmax. The gap holds but for a probability of 1e-6 over seeds, and may be much too large: then that
 * one is to be asked. */
tn_status tnp_probe_softmax(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax_claim *claim, const tnp_probe *probe,
                            double *objective, double *gap);
/* Whether it is the cheaper way. */
bool tnp_probe_pays(size_t classes);
size_t tnp_probe_bytes(size_t dim, size_t classes);

#endif
