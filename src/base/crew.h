/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work on many items by threads that each have a context of their own, so that they may allocate, fail and multiply. */
#ifndef TNP_CREW_H
#define TNP_CREW_H

#include "base/base.h"

typedef struct tnp_crew {
    size_t count;
    tn_ctx **ctxs; /* (count), of one thread each; the caller's where there is one */
} tnp_crew;

/* As many as the context has threads; one where the budget does not have `each` bytes for all of them. All zero before,
 * tnp_crew_free after, also when this fails. */
tn_status tnp_crew_new(tn_ctx *ctx, size_t each, tnp_crew *out);
void tnp_crew_free(tn_ctx *ctx, tnp_crew *crew);

/* Of one item, by one of the crew; what it does must depend on the item only. */
typedef tn_status (*tnp_crew_fn)(tn_ctx *ctx, void *arg, size_t item);
/* All items, in any order; the failure of the lowest item that failed, whose sentence is then the caller's. Progress is
 * told under `stage`; NULL: none is. */
tn_status tnp_crew_run(tn_ctx *ctx, const tnp_crew *crew, const char *stage, size_t items, tnp_crew_fn fn, void *arg);

#endif
