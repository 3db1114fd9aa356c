/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole way in two calls: rank candidates by evidence; fit a head on the best set of them. A candidate is a
 * representation with a transform and a normalisation, named "vgg", or "vgg+chi2+root" when several of them compete.
 * The results are plain structs of tenon/select.h. */
#ifndef TENON_PIPELINE_H
#define TENON_PIPELINE_H

#include "tenon/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TRANSFORM_WORDS "none|" TN_MAP_WORDS

typedef struct tn_rank_options {
    tn_evidence_options evidence;
    const char *
        transform; /* list of TN_TRANSFORM_WORDS and of files of learned kernels; "none": whether a map helps depends on the features */
    int sign;              /* tn_signed, of the maps that go by name; odd: no wider than it must be */
    const char *normalize; /* list, "l2": the scale of a row says little about its class */
    int nan;               /* tn_nan_policy; error: bad rows are a fault upstream, not something to hide */
    const char *loo;       /* rows of the leave-one-out sample: a number, "all", "0" off; "2000": s.e. near 1 % */
    size_t seed;           /* of the sample; 0 */
} tn_rank_options;

TN_API void tn_rank_options_default(tn_rank_options *options);
/* Fields of tn_rank_options; those of tn_evidence_options come on top, at offset `evidence`. */
TN_API const tn_field *tn_rank_fields(size_t *count);

/* Evidence of every candidate, best first. sources and labels are borrowed until return. Owned by the caller, free
 * with tn_ranking_free. Cost a candidate: N D^2 for the Gram (or N^2 D when N < D) and 4/3 min(N,D)^3.
 * TN_ERR_ARG, TN_ERR_SHAPE, TN_ERR_DATA (one class, no labelled rows, NaN), TN_ERR_BUDGET, TN_ERR_MEMORY. */
TN_API tn_status tn_rank(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                         const tn_rank_options *options, tn_ranking **out);
TN_API void tn_ranking_free(tn_ranking *ranking);

/* Rows to choose by, for the online methods. Sources are matched by name. labels are rewritten over the classes of the
 * training labels (tn_labels_map): one that is not among them is TN_ERR_DATA. They then belong to the context of the
 * call, and must be freed before it. */
typedef struct tn_valid {
    const tn_features *const *features;
    size_t count;
    tn_labels *labels;
} tn_valid;

typedef struct tn_fit_options {
    tn_rank_options rank;
    int method; /* tn_method; evidence: no grid, no folds */
    int select; /* tn_search, by evidence whatever the method; greedy: as good as exhaustive in the paper's Table 3 */
    const char *lambda; /* of method evidence: rule or number, see tn_lambda_parse; "auto" */
    tn_learn_options learn;
    tn_online_options online;
    const tn_valid *valid; /* online methods: borrowed until return; NULL for none */
    /* Online methods: a head to go on from, borrowed until return; NULL: from zero. The labels must have its classes
     * first, in its order (tn_labels_join); classes that come after them begin at zero. */
    const tn_head *from;
} tn_fit_options;

TN_API void tn_fit_options_default(tn_fit_options *options);
/* Fields of tn_fit_options; those of tn_learn_options (offset `learn`), tn_online_options (`online`) and
 * tn_rank_options come on top. */
TN_API const tn_field *tn_fit_fields(size_t *count);
/* Options of all of them, and `valid`, `valid-labels` and `from`, that not every method has a use for. An options struct does not
 * tell what was set on purpose: who knows, as a command line does, refuses by this table. */
TN_API const tn_use *tn_fit_uses(size_t *count);

/* Chooses among the candidates, trains a head on the chosen set, returns it with an account of how.
 * Ownership, cost and failures as tn_rank; the search reuses the Gram blocks and reads no file again. */
TN_API tn_status tn_fit(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                        const tn_fit_options *options, tn_fit_info **info, tn_head **head);
TN_API void tn_fit_info_free(tn_fit_info *info);

/* ---- transfer from other classifiers, for few rows: docs/math.md, section 5 ---- */

typedef enum tn_transfer_method {
    TN_TRANSFER_AUTO, /* none, rls or greedytl, by leave-one-out error */
    TN_TRANSFER_GREEDYTL,
    TN_TRANSFER_NONE,
    TN_TRANSFER_AVERAGE,
    TN_TRANSFER_RLS,
    TN_TRANSFER_FORWARD,
    TN_TRANSFER_L1_LOGISTIC,
    TN_TRANSFER_ELASTIC_NET,
    TN_TRANSFER_MULTIKT_L2,
    TN_TRANSFER_MULTIKT_L1,
    TN_TRANSFER_DAM
} tn_transfer_method;
#define TN_TRANSFER_METHOD_WORDS                                                                                       \
    "auto|greedytl|none|average|rls|forward|l1-logistic|elastic-net|multikt-l2|multikt-l1|dam"

typedef struct tn_transfer_options {
    int method;    /* tn_transfer_method; auto: the paper's winner is not always the best */
    double lambda; /* of greedytl; 0: one class against the rest: 1, the paper's; classes that are compared: by LOO */
    const char *k; /* columns at most: a number, "all", or "loo" for the best leave-one-out error; "all" */
    double delta;  /* a column must gain this much; 1e-4, the paper's */
    bool features; /* use the target's own columns beside the sources; yes */
    int class_weight;      /* tn_class_weight; none */
    const char *transform; /* of the target's representations, one of TN_TRANSFORM_WORDS or a file; "none" */
    int sign;              /* tn_signed, of a map that goes by its name; odd */
    const char *normalize; /* of the target's representations, one word; "l2" */
    int nan;               /* tn_nan_policy; error */
} tn_transfer_options;

TN_API void tn_transfer_options_default(tn_transfer_options *options);
TN_API const tn_field *tn_transfer_fields(size_t *count);
TN_API const tn_use *tn_transfer_uses(size_t *count); /* as tn_fit_uses */

/* Trains a head for `labels` on the target's representations and the scores of the sources, which must have as many rows or
 * be heads that apply to the representations. The head names the sources that it uses: tn_scorer_new_transfer needs them.
 * Owned by the caller, free with tn_transfer_info_free and tn_head_free. TN_ERR_ARG, TN_ERR_SHAPE, TN_ERR_DATA. */
TN_API tn_status tn_transfer(tn_ctx *ctx, const tn_features *const *targets, size_t count, const tn_labels *labels,
                             const tn_source *sources, size_t source_count, const tn_transfer_options *options,
                             tn_transfer_info **info, tn_head **head);
TN_API void tn_transfer_info_free(tn_transfer_info *info);

/* ---- maps of additive kernels, learned: docs/math.md, section 6 ---- */

/* Rows and what they are to tell apart; both borrowed. */
typedef struct tn_map_data {
    const tn_features *features;
    const tn_labels *labels; /* multi-class or multi-label; rows without a label are left out */
} tn_map_data;

typedef struct tn_map_options {
    size_t rank;       /* values an entry, 1 to TN_BASIS_SIZE; 6: the paper finds 5 to 7 alike */
    double rate;       /* above 0: the fewest values with at least this contributing rate, instead of rank; 0 */
    double power;      /* of the singular values in the weights, 0 to 1; 0.5, the best of the paper's three */
    const char *scale; /* a number, or "auto": 1 over the 99.99 % quantile of the L1-normalised entries; "auto" */
    int basis;         /* tn_basis; scaled-fourier: zero stays zero, and the paper finds it better */
    int sign;          /* tn_signed; odd */
    double cost;       /* C of the support vector machines; 1, the paper's */
    double gap;        /* certified, relative, at which they stop; 1e-4 */
    size_t max_passes; /* over the rows at most; 1000 */
    int nan;           /* tn_nan_policy; error */
    size_t seed;       /* of the order of rows; 0 */
} tn_map_options;

TN_API void tn_map_options_default(tn_map_options *options);
TN_API const tn_field *tn_map_fields(size_t *count);

/* Learns the map of an additive kernel: linear support vector machines on all functions of the basis for every task, then the
 * directions that their weights share. Everything is borrowed until return; info may be NULL. Owned by the caller, free with
 * tn_map_free. Rows of one set need not have the columns of another. Cost a set: N^2 x functions x columns flops for the
 * products of rows; memory 4 N^2 bytes and some hundred MB, within the budget.
 * TN_ERR_ARG; TN_ERR_SHAPE; TN_ERR_DATA: a regression, one class only, NaN, all entries zero; TN_ERR_BUDGET. */
TN_API tn_status tn_map_learn(tn_ctx *ctx, const tn_map_data *data, size_t count, const tn_map_options *options,
                              tn_map_info *info, tn_map **out);

#ifdef __cplusplus
}
#endif
#endif
