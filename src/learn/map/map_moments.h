/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the entries of L1-normalised rows are distributed, and what of a basis of functions can be told apart on them. */
#ifndef TNP_MAP_MOMENTS_H
#define TNP_MAP_MOMENTS_H

#include "base/base.h"
#include "tenon/transform.h"

/* Sizes |x| counted by the leading 19 bits of the float: bins are 1/2048 of an octave wide, or narrower. */
typedef struct tnp_entries {
    uint64_t *count; /* of entries other than 0 */
    uint64_t zeros, total;
} tnp_entries;

/* Destroy is legal after failure, and on zeros. */
tn_status tnp_entries_init(tn_ctx *ctx, tnp_entries *entries);
void tnp_entries_destroy(tnp_entries *entries);
/* Counts all rows of a feed of L1-normalised rows. */
tn_status tnp_entries_add(tn_ctx *ctx, tnp_entries *entries, const tn_feed *feed);

/* The size that `share` of all entries do not exceed, linear within a bin; the largest bin's end when share is 1; 0
 * when that many entries are 0. */
double tnp_entries_quantile(const tnp_entries *entries, double share);
/* bins (TN_MAP_BINS): entries other than 0 in equal parts of [0, 1] after multiplication with scale, the last with all
 * beyond; *beyond: how many these are. A counted bin goes where its middle lies. */
void tnp_entries_histogram(const tnp_entries *entries, double scale, double *bins, double *beyond);

/* b (TN_BASIS_SIZE, *rank), orthonormal columns: the eigenvectors of the second moment E f f' of the basis over the
 * entries that leave out no more than `left_out` of its trace. */
tn_status tnp_entries_directions(tn_ctx *ctx, const tnp_entries *entries, tn_basis basis, double scale, double left_out,
                                 double *b, size_t *rank);

#endif
