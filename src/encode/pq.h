/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options and inside of a product quantiser. */
#ifndef TNP_PQ_H
#define TNP_PQ_H

#include "base/options.h"
#include "read/codes.h"
#include "tenon/encode.h"

typedef struct tnp_pq_options {
    size_t sub;        /* columns of a code; 8: the paper's, 32 bytes become one */
    size_t centroids;  /* of a group, 1 to 256; 256: all that a byte can name; never more than rows */
    size_t sample;     /* rows trained on, drawn by the seed; 20000, 78 per centroid; 0: all */
    size_t iterations; /* of k-means at most; 25: few groups need more for the rule below */
    size_t seed;       /* 0 */
} tnp_pq_options;

void tnp_pq_options_default(tnp_pq_options *options);
const tn_field *tnp_pq_fields(size_t *count);
extern const tnp_options_kind tnp_pq_kind;

/* tn_pq_fit of values. */
tn_status tnp_pq_fit(tn_ctx *ctx, const tn_features *features, const tnp_pq_options *options, tn_pq_info *info,
                     tn_pq **out);

struct tn_pq {
    tnp_codebook book;
    float *lanes; /* group after group (columns of the group, TNP_CODES): what the kernel searches */
};

/* Takes the codebook over, also when it fails; the lanes are those of its table as it is. */
tn_status tnp_pq_new(tn_ctx *ctx, tnp_codebook book, tn_pq **out);

#endif
