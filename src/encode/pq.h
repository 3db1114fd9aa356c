/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a product quantiser, for the file that stores it. */
#ifndef TNP_PQ_H
#define TNP_PQ_H

#include "read/codes.h"
#include "tenon/encode.h"

struct tn_pq {
    tnp_codebook book;
    float *lanes; /* group after group (columns of the group, TNP_CODES): what the kernel searches */
};

/* Takes the codebook over, also when it fails; the lanes are those of its table as it is. */
tn_status tnp_pq_new(tn_ctx *ctx, tnp_codebook book, tn_pq **out);

#endif
