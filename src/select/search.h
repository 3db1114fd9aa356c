/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Search for the set of candidates with the highest joint evidence. Knows nothing of features: a function gives the
 * evidence of a set. */
#ifndef TNP_SEARCH_H
#define TNP_SEARCH_H

#include "base/base.h"
#include "select/options.h"

enum { TNP_EXHAUSTIVE_MOST = 12 };

/* How far a rough log evidence may be from the exact one, relatively. */
#define TNP_ROUGH 1e-7
/* Log evidences that differ by less, relatively, are level: figures are promised to be right by as much (refine.c). */
#define TNP_LEVEL 1e-6

/* A set whose log evidence is asked for. */
typedef struct tnp_ask {
    const size_t *members; /* ascending */
    size_t count;
    size_t added; /* the one that is new in it */
    size_t alike; /* sets that will be asked for with the same others, from this one on; 1: it is likely to be taken */
    bool exact;   /* a rough one will not do, or the set is likely to be the last */
} tnp_ask;

/* Its log evidence; *exact: it is not rough. */
typedef tn_status (*tnp_set_fn)(tn_ctx *ctx, void *arg, const tnp_ask *ask, double *log_evidence, bool *exact);

typedef struct tnp_trial {
    size_t *members; /* the set that was tried, ascending */
    size_t count;
    size_t added; /* the candidate that was new in it; SIZE_MAX in exhaustive search */
    bool accepted;
    bool exact; /* its log evidence */
    double log_evidence;
} tnp_trial;

typedef struct tnp_search {
    size_t *members; /* chosen, ascending */
    size_t count;
    double log_evidence; /* exact */
    tnp_trial *trials;
    size_t trial_count;
} tnp_search;

/* singles: log evidence of each of `candidates` alone. Of level ones the lower index goes first, and a set that is
 * level with the chosen one is not taken. TN_ERR_ARG for an exhaustive search over more than TNP_EXHAUSTIVE_MOST. */
tn_status tnp_search_new(tn_ctx *ctx, tnp_search_kind how, size_t candidates, const double *singles,
                         tnp_set_fn evidence, void *arg, tnp_search **out);
/* The full set without asking: no trials, log evidence NaN. */
tn_status tnp_search_all(tn_ctx *ctx, size_t candidates, tnp_search **out);
void tnp_search_free(tnp_search *search);

#endif
