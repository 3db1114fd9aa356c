/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the ensemble share: ensemble.c reads moments and makes problems of them, reuse.c keeps the problems
 * of sets and asks them about larger ones. */
#ifndef TNP_ENSEMBLE_INSIDE_H
#define TNP_ENSEMBLE_INSIDE_H

#include "select/ensemble.h"

/* A set with its problem and evidence; no ridge: none. */
typedef struct tnp_solved {
    size_t *members, count;
    tnp_ridge *ridge;
    tn_evidence *evidence;
} tnp_solved;

/* The least and the largest log lambda of a candidate by itself, over its classes; infinite, and minus that, when it is
 * of use for none. The largest is one of the classes that gain something by it. */
typedef struct tnp_own {
    bool known;
    double least, most;
} tnp_own;

struct tnp_ensemble {
    const tn_feed *const *feeds; /* NULL: the rows are elsewhere, and so are y and products */
    size_t count;
    const tnp_targets *y;
    size_t rows, classes;
    bool intercept, once;   /* once: one candidate, asked for a single time */
    const tn_feed **narrow; /* candidates that can be in a primal set */
    size_t narrow_count;
    tnp_range *columns;         /* count: of each candidate in the joint statistics; empty for the others */
    tnp_moments *owned;         /* what moments is, unless it is another's */
    const tnp_moments *moments; /* or NULL */
    double **products;          /* count: (N,N) each, or NULL */
    bool later;                 /* products are made for each set that needs them, not kept */
    tnp_solved best;            /* the best set that was measured, while there is memory for it: no set twice */
    tnp_solved base;            /* a set that others were asked for beside, the same */
    tnp_own *own;               /* count */
    size_t rough_from;          /* columns from which on sets are asked for beside others; 0: as reuse.c says */
    double rough_worth;         /* and what of the operations of a form they may then take */
    size_t in_vain;             /* sets in turn that were asked for beside another, and had to be measured after all */
};

/* The dual as soon as the features can interpolate the targets: the primal R would have no digits left there. */
bool tnp_ensemble_is_dual(const tnp_ensemble *ensemble, size_t cols);
size_t tnp_ensemble_columns(const tnp_ensemble *ensemble, const size_t *members, size_t count);
/* Forgets the sets that are kept. */
void tnp_ensemble_forget(tnp_ensemble *ensemble);
/* Notes what the evidence of a single candidate says. */
void tnp_ensemble_note(tnp_ensemble *ensemble, size_t member, const tn_evidence *evidence);

#endif
