/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole way in two calls: rank candidates by evidence; fit a head on the best set of them. A candidate is a
 * representation with a transform and a normalisation, named "vgg", or "vgg+chi2+root" when several of them compete.
 * The results are structs of tenon/select.h. */
#ifndef TENON_PIPELINE_H
#define TENON_PIPELINE_H

#include "tenon/encode.h"
#include "tenon/evaluate.h"
#include "tenon/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a call, with its defaults: "rank", "fit", "cv", "moments" (tn_tally_gather), "transfer", "kernel"
 * (tn_map_learn), "pq" (tn_pq_fit) or "evidence" (tn_moments_evidence); which ones they are is told by
 * tn_options_field, and by the help of the command of that name. Owned by the caller, free with tn_options_free before
 * the context. */
TN_API tn_status tn_options_new(tn_ctx *ctx, const char *call, tn_options **out);

/* Objects as options of "fit" and "cv". They are borrowed until the call returns; NULL takes back what was set.
 *   valid         features of rows to choose by, matched by name; the list is copied
 *   valid-labels  their labels. They are rewritten over the classes of the training labels (tn_labels_map): one that is
 * not
 *                 among them is TN_ERR_DATA. They then belong to the context of the call, and must be freed before it
 *   from          a head to go on from. The labels must have its classes first, in its order (tn_labels_join); classes
 * that
 *                 come after them begin at zero; online methods only
 *   groups, fold-file   of "cv": see tn_cv */
TN_API tn_status tn_options_set_features(tn_ctx *ctx, tn_options *options, const char *name,
                                         const tn_features *const *features, size_t count);
TN_API tn_status tn_options_set_labels(tn_ctx *ctx, tn_options *options, const char *name, tn_labels *labels);
TN_API tn_status tn_options_set_head(tn_ctx *ctx, tn_options *options, const char *name, const tn_head *head);

/* Is the head of this method of "fit" made from the evidence, also of a single candidate? False for a word that is
 * none. */
TN_API bool tn_method_needs_evidence(const char *word);

/* Evidence of every candidate, best first; options: of "rank". features and labels are borrowed until return. Owned by
 * the caller, free with tn_ranking_free. Cost per candidate: N D^2 for the Gram (or N^2 D when N < D) and 4/3
 * min(N,D)^3. TN_ERR_ARG, TN_ERR_SHAPE, TN_ERR_DATA (one class, no labelled rows, NaN), TN_ERR_BUDGET, TN_ERR_MEMORY.
 * */
TN_API tn_status tn_rank(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                         const tn_options *options, tn_ranking **out);
TN_API void tn_ranking_free(tn_ranking *ranking);

/* Chooses among the candidates, trains a head on the chosen set, returns it with an account of how; options: of "fit".
 * Ownership, cost and failures as tn_rank; the search reuses the Gram blocks and reads no file again. */
TN_API tn_status tn_fit(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                        const tn_options *options, tn_fit_info **info, tn_head **head);
TN_API void tn_fit_info_free(tn_fit_info *info);

/* Cross-validation of everything that tn_fit does with the same options: for every fold of every repeat candidates are
 * chosen and a head is trained again without its rows, then measured by them. options: of "cv", those of "fit" and
 *   folds, repeats  how the rows are dealt: class by class, seeded
 *   groups          labels of one class per row: rows of one class of theirs are never on both sides of a fold
 *   fold-file       labels again: the fold of every row instead; rows without a label always train, and are never judged
 *   against         a second method, on the same folds; an option that one of the two has a use for goes to that one
 *   inner-folds     what is called folds in "fit"
 *   scores          keep the scores of held-out rows: rows x classes floats
 * A row whose class no row outside its fold has is not judged. features, labels and the objects among the options are
 * borrowed until return. Owned by the caller, free with tn_cv_free. Cost: folds * repeats times that of tn_fit, memory
 * that of one. Failures as tn_fit; TN_ERR_DATA where no fold can judge anything, as with one row per class. */
TN_API tn_status tn_cv(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                       const tn_options *options, tn_cv_result **out);

/* ---- ranking and fitting from moments: the rows may be anywhere ---- */

/* Moments of some rows; options: of "moments", among them
 *   transform, signed, normalize, nan
 *           as of "rank": they happen row by row, before anything is summed up. zscore, which takes all rows to know, is
 *           TN_ERR_ARG
 *   rows    "FROM:TO", rows of the files that take part, from 0, TO not among them; "": all. Of features in memory: the
 *           numbers that their rows have, for the folds
 *   folds   moments per fold, for method ridge-cv; the fold of a row is a hash of its input, its number and the seed
 * Weights of the labels (tn_labels_set_weights) count. Rows without a label are left out; no row at all is no fault.
 * Owned by the caller, free with tn_tally_free. O(N D^2), memory O(folds D^2), whatever N. TN_ERR_ARG, TN_ERR_SHAPE,
 * TN_ERR_DATA (NaN, values out of range), TN_ERR_BUDGET. */
TN_API tn_status tn_tally_gather(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                                 const tn_options *options, tn_tally **out);
/* As tn_rank and tn_fit of the rows behind it. Their options have two more:
 *   rows, labels   some of the rows that went in, by the names of the representations, and their labels
 *                  (tn_options_set_features, tn_options_set_labels): leave-one-out figures are theirs
 * What else takes rows is not there: leave-one-out figures without these, probabilities that are calibrated, class means
 * in heads of few rows per class, other methods than evidence, ridge-cv and lda with a lambda (auto is evidence here),
 * validation rows: TN_ERR_ARG where an option asks for it. ridge-cv chooses by the R^2 of targets of held-out folds.
 * TN_ERR_DATA: not more rows than columns in a set, one class only. */
TN_API tn_status tn_tally_rank(tn_ctx *ctx, const tn_tally *tally, const tn_options *options, tn_ranking **out);
TN_API tn_status tn_tally_fit(tn_ctx *ctx, const tn_tally *tally, const tn_options *options, tn_fit_info **info,
                              tn_head **head);

/* ---- online learning, chunk by chunk: tenon/learn.h ---- */

/* A learner of an online method for a task (multi-class or multi-label) with these classes. Of the options of fit it
 * goes by method, C, eta, multiclass, ratio, no-average, intercept, seed, nan, one transform, one normalisation, and
 * `from`; everything is copied. With `from` the learner begins with the weights of that head, its representations,
 * maps, z-scores and centre, and its classes, which must be the first of `names` (NULL and 0: the head's alone). What
 * can only be known when all rows are is TN_ERR_ARG: class weight balanced, normalisation zscore without `from`, tune,
 * valid; so is a checkpoint, for which there is tn_online_save.
 * epochs, shuffle and patience do not matter: the caller owns the order of rows. Owned by the caller, free with
 * tn_online_free. */
TN_API tn_status tn_online_new(tn_ctx *ctx, const tn_options *options, tn_task task, const char *const *names,
                               size_t count, tn_online **out);

/* One pass over these rows in their order. The first call tells names and columns of the representations, side by side
 * in the order given; later ones are matched by name. Classes are matched by name. Rows have the weights of
 * their labels (tn_labels_set_weights). Rows without a label are left out, and bad ones with nan drop. Columns far from
 * zero are not centred as in tn_fit, for that takes all rows to know, unless `from` has a centre: they lose digits, and
 * a warning says so.
 *
 * A call that fails before its first row is learned leaves the object as it was: labels that do not agree
 * (TN_ERR_SHAPE), a class that is not known (TN_ERR_DATA), memory. One that fails later, by a bad row, a file that went
 * away, memory or a cancelled context, cannot be undone: the object is spent, and every later call, tn_online_head and
 * tn_online_save too, returns the same failure. O(rows * classes * dim). */
TN_API tn_status tn_online_update(tn_ctx *ctx, tn_online *online, const tn_features *const *features, size_t count,
                                  const tn_labels *labels);

/* ---- transfer from other classifiers, for few rows: docs/math.md, section 5 ---- */

/* Trains a head for `labels` on the target's representations and the scores of the sources, which must have as many
 * rows or be heads that apply to the representations. The head names the sources that it uses: tn_scorer_new_transfer
 * needs them. Weights of the labels (tn_labels_set_weights) count in fits and in the choice of lambda; figures are shares
 * of rows. options: of "transfer". Owned by the caller, free with tn_transfer_info_free and tn_head_free. TN_ERR_ARG,
 * TN_ERR_SHAPE, TN_ERR_DATA. */
TN_API tn_status tn_transfer(tn_ctx *ctx, const tn_features *const *targets, size_t count, const tn_labels *labels,
                             const tn_source *sources, size_t source_count, const tn_options *options,
                             tn_transfer_info **info, tn_head **head);
TN_API void tn_transfer_info_free(tn_transfer_info *info);

/* ---- maps of additive kernels, learned: docs/math.md, section 6 ---- */

/* Rows and what they are to tell apart; both borrowed. */
typedef struct tn_map_data {
    const tn_features *features;
    const tn_labels *labels; /* multi-class or multi-label; rows without a label are left out */
} tn_map_data;

/* Learns the map of an additive kernel: linear support vector machines on all functions of the basis for every task,
 * then the directions that their weights share; options: of "kernel". Everything is borrowed until return; info may be
 * NULL. Owned by the caller, free with tn_map_free. Rows of one set need not have the columns of another. Cost per set:
 * N^2 x functions x columns flops for the products of rows; memory 4 N^2 bytes and some hundred MB, within the budget.
 * TN_ERR_ARG; TN_ERR_SHAPE; TN_ERR_DATA: a regression, one class only, NaN, all entries zero; TN_ERR_BUDGET. */
TN_API tn_status tn_map_learn(tn_ctx *ctx, const tn_map_data *data, size_t count, const tn_options *options,
                              tn_map_info *info, tn_map **out);

/* ---- mixtures of Fisher vectors, learned with their classifier: docs/math.md, section 7 ---- */

/* Pictures or bags, the other NULL, and what they show; all borrowed. */
typedef struct tn_refine_data {
    const tn_pictures *pictures;
    const tn_bags *bags;
    const tn_labels *labels; /* multi-class or multi-label, one row per picture or bag */
} tn_refine_data;

typedef struct tn_refine_round {
    double objective; /* of the support vector machines of all classes, and the penalty */
    double loss;      /* of that, what is lost on the training pictures */
    double step;      /* the largest move of a parameter, in deviations */
    double valid;     /* mean average precision of the validation pictures; NaN without any */
    size_t trials;    /* places that were tried */
    double seconds;
} tn_refine_round;

/* Made by tn_encoder_refine, free with tn_refine_info_free. */
typedef struct tn_refine_info {
    size_t classes, training, validation; /* classes that were learned; pictures or bags */
    size_t descriptors;                   /* of all of them */
    double cost;                          /* C */
    size_t round_count, best; /* rounds[0] is before any step; rounds[best] is what was kept: the last that is
                                             not clearly worse than the best on the validation pictures */
    const tn_refine_round *rounds;
    size_t words; /* of the mixture */
    double
        twice_valid; /* mean average precision with an EM mixture of twice as many words; NaN: not asked, or unknown */
    const char *advice; /* "refined", "given", "twice": which is best on the validation pictures; "" without any */
    const char
        *stopped; /* "rounds", "patience", "converged", or "no step" that makes the objective smaller was found */
    double encode_seconds, solve_seconds, gradient_seconds, seconds;
} tn_refine_info;

/* Learns the mixture of a Fisher encoder anew, from where it is, together with support vector machines on its vectors:
 * weights, means and deviations, or by option learn the projection before it, by the gradient of their objective. The
 * result is an encoder like any other. options: of
 * "encoder", its group Refining, and seed. valid NULL: a part of the training data, by option holdout. Everything is
 * borrowed until return; info may be NULL. Owned by the caller, free with tn_encoder_free and tn_refine_info_free.
 * TN_ERR_ARG: another kind of encoder, no such class; TN_ERR_SHAPE: labels of another number of rows; TN_ERR_DATA; as
 * pictures, bags and files fail. Cost of a round: about three times that of encoding all descriptors. Memory: two bytes
 * for each value of all descriptors, projected ones unless the projection is learned, or with option cache none for them,
 * and 8 bytes for each value of the vectors. */
TN_API tn_status tn_encoder_refine(tn_ctx *ctx, const tn_encoder *encoder, const tn_refine_data *train,
                                   const tn_refine_data *valid, const tn_options *options, tn_refine_info **info,
                                   tn_encoder **out);
/* NULL is legal. */
TN_API void tn_refine_info_free(tn_refine_info *info);
/* One JSON object: what `encoder refine --json` says beside encoder and file. Free with tn_text_free. */
TN_API tn_status tn_refine_json(tn_ctx *ctx, const tn_refine_info *info, char **out);

#ifdef __cplusplus
}
#endif
#endif
