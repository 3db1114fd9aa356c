/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of the pipeline's calls as the code reads them, and the calls that take them. Callers set options by name
 * (tn_options); tests fill these. */
#ifndef TNP_PIPELINE_OPTIONS_H
#define TNP_PIPELINE_OPTIONS_H

#include "pipeline/methods.h"
#include "select/options.h"
#include "tenon/pipeline.h"

#define TNP_TRANSFORM_WORDS "none|" TN_MAP_WORDS

/* Words in the place of whole numbers: "N|all|loo". */
#define TNP_ALL SIZE_MAX
#define TNP_BY_LOO (SIZE_MAX - 1)

/* What a ranking goes by, in the order of TNP_RANK_WORDS. */
typedef enum tnp_by {
    TNP_RANK_EVIDENCE, /* log evidence, every class at its own lambda */
    TNP_RANK_LOO,      /* leave-one-out accuracy, mean AP or R^2 of the ridge at the shared lambda */
    TNP_RANK_NLL,      /* log-loss of the same scores at the temperature that suits them */
    TNP_RANK_KNN,      /* leave-one-out accuracy, mean AP or R^2 of the nearest rows */
    TNP_RANK_CV,       /* five-fold accuracy, mean AP or R^2 of the ridge, everything chosen again without the fold */
    TNP_RANK_COUNT
} tnp_by;
#define TNP_RANK_WORDS "evidence|loo|nll|knn|cv"

/* Rows to choose and to judge by. Sources are matched by name. labels are rewritten over the classes of the
 * training labels (tn_labels_map): one that is not among them is TN_ERR_DATA. They then belong to the context of the
 * call, and must be freed before it. */
typedef struct tnp_valid {
    const tn_features *const *features;
    size_t count;
    tn_labels *labels;
} tnp_valid;

typedef struct tnp_rank_options {
    tnp_evidence_options evidence;
    /* List of TNP_TRANSFORM_WORDS and of files of learned kernels; "none": whether a map helps depends on features. */
    const char *transform;
    int sign;              /* tn_signed, of the maps that go by name; odd: no wider than it must be */
    const char *normalize; /* list, "l2": the scale of a row says little about its class */
    int nan;               /* tn_nan_policy; error: bad rows are a fault upstream, not something to hide */
    size_t loo;            /* rows of the leave-one-out sample; TNP_ALL, 0 off; 2000: s.e. near 1 % */
    size_t seed;           /* of the sample; 0 */
    tnp_valid rows;        /* of moments: some of the rows that went in, to be left out; of 0 representations: none */
    int by; /* tnp_by, of tn_rank alone; evidence: no other is better by docs/results/transferability.md, and it is free */
} tnp_rank_options;

void tnp_rank_options_default(tnp_rank_options *options);
const tn_field *tnp_rank_fields(size_t *count);
const tn_field *tnp_by_fields(size_t *count);

/* Where a multi-label class begins, in the order of TNP_THRESHOLD_WORDS. */
typedef enum tnp_threshold_rule {
    TNP_THRESHOLD_AUTO, /* f1 with method auto, none with others */
    TNP_THRESHOLD_F1,   /* per class, where held-out scores have the largest F1 */
    TNP_THRESHOLD_NONE, /* the method's own, one for all classes: 0.5 for 0/1 targets, 0 for margins */
    TNP_THRESHOLD_FIXED /* a number for all classes */
} tnp_threshold_rule;
#define TNP_THRESHOLD_WORDS "auto|f1|none|X"

typedef struct tnp_fit_options {
    tnp_rank_options rank;
    int method;                 /* tnp_method_name; auto: no head suits all features, and rows that are held out tell */
    int select;                 /* tnp_search_kind, by evidence; greedy: as good as exhaustive in the paper's Table 3 */
    tnp_real_or_word lambda;    /* evidence: a tnp_lambda_rule, with FIXED the number; lda: FIXED or AUTO; auto */
    double budget;              /* of method auto, in seconds; 0: none, it ends when nothing is left to be gained */
    tnp_real_or_word threshold; /* multi-label: a tnp_threshold_rule, with FIXED the number; auto */
    tnp_learn_options learn;
    tnp_online_options online;
    tnp_valid valid; /* borrowed until return; of 0 representations: none */
    /* Online methods: a head to go on from, borrowed until return; NULL: from zero. The labels must have its classes
     * first, in its order (tn_labels_join); classes that come after them begin at zero. */
    const tn_head *from;
} tnp_fit_options;

void tnp_fit_options_default(tnp_fit_options *options);
/* Whether the method is to find its lambda or C by rows that are held out: one that does, and none was given. */
bool tnp_chooses(const tnp_fit_options *options);
const tn_field *tnp_fit_fields(size_t *count);
tn_status tnp_rank(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                   const tnp_rank_options *options, tn_ranking **out);
tn_status tnp_fit(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                  const tnp_fit_options *options, tn_fit_info **info, tn_head **head);

typedef struct tnp_tally_options {
    tnp_rank_options rank; /* transform, sign, normalize, nan; seed of the folds */
    const char *rows;      /* "FROM:TO", those that take part; "": all */
    size_t folds;          /* 1: none, for every one is a Gram matrix */
} tnp_tally_options;

void tnp_tally_options_default(tnp_tally_options *options);
const tn_field *tnp_tally_fields(size_t *count);

/* Options of a method as if those that it has no use for had not been set. */
void tnp_fit_options_for(const tnp_fit_options *options, int method, tnp_fit_options *out);

typedef struct tnp_cv_options {
    tnp_fit_options fit; /* of every fold; learn.folds is inner_folds where that is set */
    size_t folds;        /* 5, as everywhere */
    size_t repeats;      /* 1 */
    size_t inner_folds;  /* of methods that choose by folds of their own; 0: as fit has them */
    int against;         /* 1 + the tnp_method_name of a second method; 0: none */
    bool scores;         /* keep scores of held-out rows; no: they are rows x classes floats */
    /* Both borrowed until return, multi-class labels of the same rows, or NULL: the class of a row is its group, its
     * fold. */
    const tn_labels *groups, *fold_file;
} tnp_cv_options;
#define TNP_AGAINST_WORDS "none" TNP_METHODS(TNP_METHOD_WORD)

void tnp_cv_options_default(tnp_cv_options *options);
const tn_field *tnp_cv_fields(size_t *count);
tn_status tnp_cv(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                 const tnp_cv_options *options, tn_cv_result **out);
/* Of one candidate of a ranking, number c in the order of tnp_candidates_new, by a method; held-out scores are kept. It
 * is a part of the call around it as tnp_progress_within says. */
tn_status tnp_cv_candidate(tn_ctx *ctx, const tn_features *const *features, const tn_labels *labels,
                           const tnp_rank_options *rank, size_t c, int method, size_t folds, tn_cv_result **out);

typedef struct tnp_transfer_options {
    int method;    /* tnp_transfer_name; auto: the paper's winner is not always the best */
    double lambda; /* of greedytl; 0: one class against the rest: 1, the paper's; classes that are compared: by LOO */
    size_t k;      /* columns at most; TNP_ALL; TNP_BY_LOO: as many as have the best leave-one-out error; all */
    double delta;  /* a column must gain this much; 1e-4, the paper's */
    bool features; /* use the target's own columns beside the sources; yes */
    int class_weight;      /* tnp_class_weight; none */
    const char *transform; /* of the target's representations: one of TN_TRANSFORM_WORDS or a file; "none" */
    int sign;              /* tn_signed, of a map that goes by its name; odd */
    int normalize;         /* tn_normalize, of the target's representations; l2 */
    int nan;               /* tn_nan_policy; error */
} tnp_transfer_options;

void tnp_transfer_options_default(tnp_transfer_options *options);
const tn_field *tnp_transfer_fields(size_t *count);
tn_status tnp_transfer(tn_ctx *ctx, const tn_features *const *targets, size_t count, const tn_labels *labels,
                       const tn_source *sources, size_t source_count, const tnp_transfer_options *options,
                       tn_transfer_info **info, tn_head **head);

typedef struct tnp_map_options {
    size_t rank;            /* values per entry, 1 to TN_BASIS_SIZE; 6: the paper finds 5 to 7 alike */
    double rate;            /* above 0: the fewest values with at least this contributing rate, instead of rank; 0 */
    double power;           /* of the singular values in the weights, 0 to 1; 0.5, the best of the paper's three */
    tnp_real_or_word scale; /* a number, or auto: 1 over the 99.99 % quantile of the L1-normalised entries; auto */
    int basis;              /* tn_basis; scaled-fourier: zero stays zero, and the paper finds it better */
    int sign;               /* tn_signed; odd */
    double cost;            /* C of the support vector machines; 1, the paper's */
    double gap;             /* certified, relative, at which they stop; 1e-4 */
    size_t max_passes;      /* over the rows at most; 1000 */
    int nan;                /* tn_nan_policy; error */
    size_t seed;            /* of the order of rows; 0 */
} tnp_map_options;

void tnp_map_options_default(tnp_map_options *options);
const tn_field *tnp_map_fields(size_t *count);
tn_status tnp_map_learn(tn_ctx *ctx, const tn_map_data *data, size_t count, const tnp_map_options *options,
                        tn_map_info *info, tn_map **out);

#endif
