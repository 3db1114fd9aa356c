/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of evidence and search as the code reads them. Callers set them by name (tn_options). */
#ifndef TNP_SELECT_OPTIONS_H
#define TNP_SELECT_OPTIONS_H

#include "learn/options.h"
#include "tenon/select.h"

/* How the maximum over lambda is found. All are safeguarded: started from a scan, kept inside a bracket. */
typedef enum tnp_optimizer { TNP_OPT_AITKEN, TNP_OPT_MACKAY, TNP_OPT_EM, TNP_OPT_NEWTON } tnp_optimizer;
#define TNP_OPTIMIZER_WORDS "aitken|mackay|em|newton"

typedef struct tnp_evidence_options {
    int optimizer;  /* tnp_optimizer; aitken: fewest of the paper's three on real features */
    bool intercept; /* unpenalised intercept; yes: features of today's networks are not centred */
    /* Stop when lambda is this close to the optimum, relatively; 1e-6: costs a step over the paper's 1e-5. */
    double tolerance;
    size_t max_iterations; /* evaluations per class; 500: only em comes near */
    double start;          /* first lambda; 0: from a coarse scan, which also finds a second maximum */
} tnp_evidence_options;

void tnp_evidence_options_default(tnp_evidence_options *options);
const tn_field *tnp_evidence_fields(size_t *count);
extern const tnp_options_kind tnp_evidence_kind;

/* tn_moments_evidence of values. */
tn_status tnp_moments_evidence(tn_ctx *ctx, const tn_moments *moments, const tnp_evidence_options *options,
                               tn_evidence **out);

/* How representations are put together: the best one; the paper's greedy pass; forward selection; all subsets
 * (at most 12 candidates); everything. */
typedef enum tnp_search_kind {
    TNP_SEARCH_BEST,
    TNP_SEARCH_GREEDY,
    TNP_SEARCH_FORWARD,
    TNP_SEARCH_EXHAUSTIVE,
    TNP_SEARCH_ALL
} tnp_search_kind;
#define TNP_SEARCH_WORDS "best|greedy|forward|exhaustive|all"

/* Which lambda a ridge head is trained with, in the order of TNP_LAMBDA_WORDS. */
typedef enum tnp_lambda_rule {
    TNP_LAMBDA_AUTO,      /* shared for multi-class, per-class for multi-label and regression */
    TNP_LAMBDA_SHARED,    /* maximises the summed evidence: scores of classes stay comparable */
    TNP_LAMBDA_PER_CLASS, /* each class its own, as in the paper */
    TNP_LAMBDA_GCV,       /* minimises generalised cross-validation; one lambda */
    TNP_LAMBDA_LOO,       /* minimises leave-one-out squared error over the --loo rows; one lambda */
    TNP_LAMBDA_FIXED      /* a number given by the user */
} tnp_lambda_rule;
#define TNP_LAMBDA_WORDS "auto|shared|per-class|gcv|loo|X"
#endif
