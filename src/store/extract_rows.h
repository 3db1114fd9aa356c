/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures or bags to vectors of several encoders, some rows after the other. */
#ifndef TNP_EXTRACT_ROWS_H
#define TNP_EXTRACT_ROWS_H

#include "encode/encoder.h"

/* One thread's: a picture is its own from its pixels to its vectors. Threads that share the work on each picture were
 * refused: they wait for each other at every step, above all on a machine that has other work. */
typedef struct tnp_extraction_worker {
    tn_ctx *ctx;              /* of one thread; the caller's where there is one worker */
    tnp_described *described; /* (encoders): what an encoder's own describer made; one that is shared stays empty */
} tnp_extraction_worker;

typedef struct tnp_extraction {
    const tn_encoder *const *encoders;
    size_t count;
    tnp_bag_stream stream;
    tnp_extraction_worker *workers;
    size_t worker_count, capacity; /* capacity: rows at once */
    float **rows;                  /* (count): (capacity, cols) each */
} tnp_extraction;

/* encoders and count are set, all else zero before; tnp_extraction_end after, also when this fails. */
tn_status tnp_extraction_begin(tn_ctx *ctx, const tn_pictures *pictures, const tn_bags *bags, tnp_extraction *x);
void tnp_extraction_end(tn_ctx *ctx, tnp_extraction *x);
/* Rows from `first` on, at most `most`, into x->rows; *count: how many, at least one. */
tn_status tnp_extraction_rows(tn_ctx *ctx, tnp_extraction *x, size_t first, size_t most, size_t *count);

#endif
