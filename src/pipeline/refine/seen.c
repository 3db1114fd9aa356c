/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags as the mixture sees them. Where the projection is learned they are kept as they are before it, and projected
 * anew whenever they are looked at: y = P (x - mean), one product, beside which the mixture costs several times as
 * much. */
#include "pipeline/refine/refining.h"

#include "algebra/blas.h"

#include <string.h>

tn_status tnp_seen_new(tn_ctx *ctx, const tnp_refining *r, const tnp_descriptors *from, tnp_seen *out)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_described_bag_new(ctx, from, &out->bag));
    if (from->raw)
        TN_TRY(tnp_alloc_raw(ctx, from->most * r->e->dim, sizeof *out->projected, &out->projected));
done:
    return st;
}

void tnp_seen_free(tnp_seen *seen)
{
    tnp_described_bag_free(&seen->bag);
    tnp_free(seen->projected);
}

tn_status tnp_seen_look(tn_ctx *ctx, const tn_encoder *e, const tnp_descriptors *from, tnp_seen *seen)
{
    tn_status st = TN_OK;
    size_t n = seen->bag.starts[from->atoms], to = e->projection.to, left = e->dim - to;
    seen->rows = seen->bag.rows;
    if (!from->raw || n == 0)
        goto done;
    TN_TRY(tnp_sgemm_nt(ctx, n, to, e->from, seen->bag.rows, from->dim, e->projection.basis, e->from, 0,
                        seen->projected, e->dim));
    for (size_t i = 0; left != 0 && i < n; ++i)
        memcpy(seen->projected + i * e->dim + to, seen->bag.rows + i * from->dim + e->from,
               left * sizeof *seen->projected);
    seen->rows = seen->projected;
done:
    return st;
}

tnp_fisher_bag tnp_seen_bag(const tnp_seen *seen)
{
    return (tnp_fisher_bag){
        .rows = seen->rows, .raw = seen->projected ? seen->bag.rows : NULL, .starts = seen->bag.starts};
}
