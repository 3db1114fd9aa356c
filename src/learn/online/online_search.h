/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training of online learners: passes, validation after each, early stopping, and the choice among values of C and eta.
 * */
#ifndef TNP_ONLINE_SEARCH_H
#define TNP_ONLINE_SEARCH_H

#include "learn/online/online_pass.h"

/* One pair of values that is tried. */
typedef struct tnp_online_trial {
    double cost, eta;
    double value;     /* best on the validation rows; NaN: not measured */
    size_t best_pass; /* passes done when it was best; without validation, all */
} tnp_online_trial;

/* One pass of one trial. */
typedef struct tnp_account {
    double updates, mistakes, value, seconds;
} tnp_account;

/* Everything that a run needs to go on after a pass: what a checkpoint holds. */
typedef struct tnp_online_search {
    size_t trial_count, epochs;
    tnp_online_trial *trials;
    tnp_account *accounts;       /* (trial_count, epochs) */
    size_t first, group, passes; /* trials [first, first + group) are at work and have done so many passes */
    tnp_online **learners;       /* group */
    size_t size;                 /* values in the weights: classes padded rows, see tnp_online */
    float *best;                 /* weights of the best trial so far, at its best pass */
    size_t best_trial;           /* trial_count: none yet */
} tnp_online_search;

typedef struct tnp_online_plan {
    tnp_online_rule rule;
    tnp_online_shape shape;
    const double *cost, *eta; /* trials */
    size_t trials, epochs;
    size_t patience;    /* passes without a better validation before a trial ends; 0: none end early */
    const float *start; /* weights to begin with; NULL: zeros */
    bool mix;           /* members of a team pass over parts of the rows, this one over that share of them */
    double share;
    tn_status (*measure)(tn_ctx *ctx, void *arg, const float *w,
                         double *value); /* higher is better; NULL: no validation */
    tn_status (*after_pass)(tn_ctx *ctx, void *arg, const tnp_online_search *search);
    void *arg;
} tnp_online_plan;

/* A search that has not begun. As many trials as memory has room for learn side by side from the same blocks. */
tn_status tnp_online_search_new(tn_ctx *ctx, const tnp_online_plan *plan, tnp_online_search **out);
void tnp_online_search_free(tnp_online_search *search);
/* Makes learners for a group: at its beginning, and for a checkpoint that is loaded. */
tn_status tnp_online_search_group(tn_ctx *ctx, const tnp_online_plan *plan, size_t group, tnp_online_search *search);
/* Goes on to the end. search->best are the weights to use. passes: NULL for a member without
 * rows. */
tn_status tnp_online_search_run(tn_ctx *ctx, const tnp_online_plan *plan, tnp_passes *passes,
                                tnp_online_search *search);

#endif
