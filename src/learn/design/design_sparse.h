/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of rows whose columns come in groups that are mostly zero: behind a rectifier and a map, most entries are 0
 * and all values of such an entry are. */
#ifndef TNP_DESIGN_SPARSE_H
#define TNP_DESIGN_SPARSE_H

#include "learn/design/design.h"

/* Columns that are zero together, or 1 when the design has no such groups: values of an entry behind one map for all
 * feeds. */
size_t tnp_design_group(const tnp_design *design);
/* Whether enough groups of the first block are zero for leaving them out to pay, and the budget has room for it. */
tn_status tnp_design_is_sparse(tn_ctx *ctx, tnp_design *design, size_t group, bool *out);
/* gram (rows, rows), upper triangle, = X X'. */
tn_status tnp_design_gram_sparse(tn_ctx *ctx, tnp_design *design, size_t group, float *gram);

#endif
