/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of a learner that passes over them many times: feeds side by side, in float, block by block. They are kept
 * in memory when the budget has room for them and read again from their files otherwise. Of a team every member keeps its
 * part of them; who reads blocks of a shared design gets them from the files. */
#ifndef TNP_DESIGN_H
#define TNP_DESIGN_H

#include "base/base.h"
#include "learn/design/rows.h"
#include "tenon/transform.h"

typedef struct tnp_design {
    size_t rows, dim;
    size_t block, blocks; /* rows per block, number of blocks */
    bool resident;
    const tn_feed *const *feeds;
    size_t feed_count;
    float *data; /* (rows, dim) when resident, else (block, dim): the block read last */
    float *gram; /* (rows, rows), or NULL: see tnp_design_gram */
    /* Of a team: this member's rows [from, from + own->rows), NULL where it has none, and the feeds of them. */
    bool shared;
    bool at_hand;      /* every member has its rows in memory */
    size_t from, *cut; /* cut (members + 1): where the parts of all members begin */
    struct tnp_design *own;
    struct tn_feed *slices;
    const tn_feed **own_feeds;
} tnp_design;

/* feeds are borrowed while it lives. reserve: bytes that the learner will need besides. Owned by the caller, free with
 * tnp_design_free. TN_ERR_BUDGET when not even a block fits. */
tn_status tnp_design_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t reserve, tnp_design **out);
/* The same, read again each time whatever the budget: for learners that ask for every row only once or twice. */
tn_status tnp_design_new_streamed(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t reserve,
                                  tnp_design **out);
void tnp_design_free(tnp_design *design);

/* What learners that need no single rows see of it; valid while it lives. Members of a team see the rows of all. */
tnp_rows tnp_design_rows(tnp_design *design);
/* The design for learners that need single rows; NULL when other processes have some. */
tnp_design *tnp_design_here(tnp_design *design);
/* team_rows.c: asks every member of the team for its part. Samples and moments are made as in one process: by picking
 * rows, and by a gathering that is shared itself. */
extern const tnp_rows_ops tnp_team_rows_ops;
tn_status tnp_design_sample(tn_ctx *ctx, void *design, size_t stride, const float **x, size_t *ld, float **kept);
tn_status tnp_design_moments(tn_ctx *ctx, void *design, const tnp_targets *y, const double *shift, tnp_moments **out);

/* Rows [*start, *start + *count) as x (count, dim), valid until the next call. Safe for one thread at a time. */
tn_status tnp_design_block(tn_ctx *ctx, tnp_design *design, size_t b, const float **x, size_t *start, size_t *count);
/* Rows of a run: neighbours that are read together when blocks are put together from all over the files. */
size_t tnp_design_run(const tnp_design *design);
/* Of a streamed design: the runs runs[0..count) one after the other as x (*rows, dim), valid until the next call;
 * together at most a block of rows. place (block) receives the number of each. */
tn_status tnp_design_runs(tn_ctx *ctx, tnp_design *design, const size_t *runs, size_t count, const float **x,
                          size_t *place, size_t *rows);
/* Products of the rows, (rows, rows), symmetric, as float; made by the first call and kept while the design lives. One
 * product of rows^2 dim flops. Streamed designs are read about rows / (rows of a band) / 2 times. */
tn_status tnp_design_gram(tn_ctx *ctx, tnp_design *design, const float **gram);
/* Bytes that it needs at least, while it is made. */
size_t tnp_design_gram_bytes(size_t rows, size_t dim);

#endif
