/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which negatives a class is shown when one class is learned against fewer than all others. */
#ifndef TNP_NEGATIVES_H
#define TNP_NEGATIVES_H

#include "matrix/moments.h"

/* The draws of one pass over `rows` rows, of which positives[c] are of class c. The rows may come in any number of
 * parts: what is drawn depends on the rows' order only. */
typedef struct tnp_negatives {
    size_t classes, rows, rows_left;
    double share;      /* negatives per positive, at most; INFINITY: all of them, and nothing is drawn */
    uint64_t seed;     /* of all passes */
    tnp_rng rng;       /* of the present pass */
    size_t *positives; /* classes: in all rows of a pass */
    size_t *wanted;    /* classes: negatives still to be taken in this pass */
    size_t *left;      /* classes: negatives still to come in this pass */
} tnp_negatives;

/* No rows are counted yet. */
tn_status tnp_negatives_new(tn_ctx *ctx, size_t classes, double share, uint64_t seed, tnp_negatives **out);
void tnp_negatives_free(tnp_negatives *negatives);
/* Begins a pass over the rows that are counted; its random stream is numbered by the pass. */
void tnp_negatives_begin(tnp_negatives *negatives, size_t pass);
/* Negatives of class c that a pass takes. */
size_t tnp_negatives_taken(const tnp_negatives *negatives, size_t c);
/* For the next `count` samples, with classes as in tnp_samples: skip (count, classes) is 0 for the positives and for
 * the negatives that are taken. */
void tnp_negatives_draw(tnp_negatives *negatives, const size_t *first, const uint32_t *cls, size_t count,
                        unsigned char *skip);

#endif
