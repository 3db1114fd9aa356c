/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rounds of a refinement, and their state as a file. */
#ifndef TNP_REFINE_RUN_H
#define TNP_REFINE_RUN_H

#include "pipeline/refine/refining.h"
#include "pipeline/refine/steps.h"

typedef struct tnp_refine_run {
    tnp_refining r;
    tnp_steps steps;
    double *x, *best_x;      /* (size): where it is, and the place that is kept */
    double *move, *before;   /* (size): the last move, and the gradient that it started from */
    double *g, *d, *trial;   /* (size): scratch of a round */
    bool moved;              /* move and before are there */
    double eta;              /* the last length of a step along the gradient; 0: none yet */
    tn_refine_round *rounds; /* (capacity): those that are done, rounds[0] the start */
    double *ap;              /* (capacity, classes): of the validation bags after each round */
    size_t done, capacity;
    size_t top, best;    /* the round of the highest figure; the one that is kept */
    const char *stopped; /* NULL: it goes on */
} tnp_refine_run;

/* ---- rounds.c ---- */

/* One step by the options' way; stopped is set when there is none. `round` is filled but for valid and seconds. */
tn_status tnp_refine_step(tn_ctx *ctx, tnp_refine_run *run, tn_refine_round *round);

/* ---- state.c ---- */

/* Written beside and renamed. TN_ERR_OUTPUT. */
tn_status tnp_refine_save(tn_ctx *ctx, const tnp_refine_run *run, const char *path);
/* Puts a run that has not begun where the file was, but for vectors and scores. *found false: there is no such file.
 * TN_ERR_DATA: of another run; TN_ERR_FORMAT. */
tn_status tnp_refine_load(tn_ctx *ctx, tnp_refine_run *run, const char *path, bool *found);

/* ---- twice.c ---- */

/* Mean average precision of the validation bags with an EM mixture of twice as many Gaussians. The refinement's own
 * encoder is gone afterwards. */
tn_status tnp_refine_twice(tn_ctx *ctx, tnp_refining *r, const tn_encoder *given, double *mean_ap);

#endif
