/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 6, learn: heads. A head is a linear classifier together with how its input was prepared: weights (K, D),
 * intercepts (K), classes, and the representations that stand side by side in its D columns. */
#ifndef TENON_LEARN_H
#define TENON_LEARN_H

#include "tenon/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_head tn_head;

/* One representation of a head, in column order. */
typedef struct tn_rep {
    const char *name;
    size_t dim; /* columns of its file */
    tn_normalize normalize;
    const char *transform; /* "none", one of TN_MAP_WORDS, or the name of a learned kernel's file up to its first dot */
    const tn_map *map;     /* that it stands for; NULL for "none" */
    size_t cols;           /* of the weights: dim, times the values per entry that the map makes */
} tn_rep;

/* A column of scores by another classifier, behind the representations of a transfer head. */
typedef struct tn_head_source {
    const char *name;  /* of the file of scores, or of the head */
    const char *label; /* the class of that head, or the number of the column */
    size_t column;
    bool is_head;
} tn_head_source;

TN_API void tn_head_free(tn_head *head);

/* Everything returned is borrowed while the head lives. */
TN_API tn_task tn_head_task(const tn_head *head);
TN_API size_t tn_head_classes(const tn_head *head);
TN_API const char *const *tn_head_class_names(const tn_head *head);
TN_API size_t tn_head_dim(const tn_head *head);
TN_API size_t tn_head_rep_count(const tn_head *head);
TN_API tn_rep tn_head_rep(const tn_head *head, size_t i);
/* What made the rows of representation i, as JSON: tn_features_about of what it was trained on; NULL: nobody said. */
TN_API const char *tn_head_about(const tn_head *head, size_t i);
TN_API size_t tn_head_source_count(const tn_head *head); /* the last columns of dim; 0 but for transfer heads */
TN_API tn_head_source tn_head_source_at(const tn_head *head, size_t i);
TN_API const float *tn_head_weight(const tn_head *head); /* classes x dim */
TN_API const float *tn_head_bias(const tn_head *head);   /* classes: of columns less their centre */
/* (dim): what is taken off the prepared columns, in double, before they become float: columns whose mean is far above
 * their deviation have one, others 0. NULL when no column has one. A score is weight . (x - centre) + bias. */
TN_API const double *tn_head_centre(const tn_head *head);
/* Ridge heads: classes values each, else NULL. Infinite lambda: the null model, no weights. Heads of method lda have
 * lambda alone. */
TN_API const double *tn_head_lambda(const tn_head *head);
TN_API const double *tn_head_alpha(const tn_head *head);
TN_API const double *tn_head_beta(const tn_head *head);
TN_API const char *tn_head_method(const tn_head *head);
TN_API const char *tn_head_options(const tn_head *head);    /* JSON object: how it was made */
TN_API const char *tn_head_created_by(const tn_head *head); /* program version and command */
TN_API double tn_head_log_evidence(const tn_head *head);    /* NaN when the method has none */
/* C that the head was trained with, where its method has one; NaN where not. */
TN_API double tn_head_cost(const tn_head *head);

/* A column that a transfer picked. */
typedef struct tn_head_pick {
    size_t column;    /* of the head's dim */
    size_t source;    /* it is a source's: which one, see tn_head_source_at; SIZE_MAX: a feature */
    const char *name; /* of the representation or source */
    size_t place;     /* column of the representation, as it is prepared, or of the source's scores */
    size_t cls;       /* of two classes the second, else the one with the largest weight there */
    double weight;    /* of that class */
} tn_head_pick;

/* Whether tn_transfer made it, which picks columns: all sources, and features where at most half of them have a weight.
 * */
TN_API bool tn_head_is_transfer(const tn_head *head);
/* What was picked, by column, features first; none for other heads. Owned by the caller, free with tn_head_picks_free;
 * names are borrowed from the head. */
TN_API tn_status tn_head_picks(tn_ctx *ctx, const tn_head *head, tn_head_pick **out, size_t *count);
TN_API void tn_head_picks_free(tn_head_pick *picks);
/* Decision point of a class's score in multi-label work: 0.5 for heads fitted to 0/1 targets. */
TN_API double tn_head_threshold(const tn_head *head);
/* Multi-label heads that were fitted with option threshold: classes of them, in the place of that one; else NULL.
 * Probabilities go by tn_head_threshold all the same. */
TN_API const double *tn_head_thresholds(const tn_head *head);

/* Probabilities: scores divided by this temperature, through softmax (multi-class) or the logistic function about the
 * threshold (multi-label). 0: the head was not calibrated and has none. */
TN_API double tn_head_temperature(const tn_head *head);
/* Turns scores (rows x classes) into probabilities in place. TN_ERR_UNSUPPORTED when the head has none. */
TN_API tn_status tn_head_probabilities(tn_ctx *ctx, const tn_head *head, size_t rows, float *scores);

/* ---- an online learner that is given its rows chunk by chunk ---- */

/* Made by tn_online_new and taught by tn_online_update (tenon/pipeline.h), kept by tn_online_save (tenon/store.h). The
 * state after some rows is the same to the bit however they were cut into chunks, and the head is that of tn_fit with
 * epochs 1 and shuffle no on all of them. One thread at a time. */
typedef struct tn_online tn_online;

TN_API void tn_online_free(tn_online *online);

/* The head as of now: the mean of the weights after every row, or the last weights, as the options say. Owned by the
 * caller, free with tn_head_free. TN_ERR_DATA before the first row, TN_ERR_NUMERIC. O(classes * dim). */
TN_API tn_status tn_online_head(tn_ctx *ctx, const tn_online *online, tn_head **out);

/* Further classes, behind those that are there. They begin at zero, and were zero in the average so far. What was
 * expected (tn_online_expect) is forgotten. TN_ERR_ARG for a name that is empty or taken. O(classes * dim). */
TN_API tn_status tn_online_add_classes(tn_ctx *ctx, tn_online *online, const char *const *names, size_t count);

/* Multiclass e-ovr and w-ovr only, and before the first chunk: the next `rows` rows that take part have positives[c] of
 * class c. These schemes show a class as many negatives as it has positives, or a multiple, drawn from all rows: which
 * ones cannot be drawn without these numbers. Rows that take part are those with a label, of no weight 0 and, with nan
 * drop, without NaN. After those rows, or in place of what is left of them, it is called again: that is the next pass.
 * TN_ERR_ARG when positives[c] > rows. */
TN_API tn_status tn_online_expect(tn_ctx *ctx, tn_online *online, size_t rows, const size_t *positives);

/* Rows that were learned; updates of weights and scores on the wrong side, one per row (multiclass mul) or per row and
 * class. */
TN_API size_t tn_online_samples(const tn_online *online);
TN_API size_t tn_online_updates(const tn_online *online);
TN_API size_t tn_online_mistakes(const tn_online *online);
/* Borrowed while the object lives, or until classes are added. */
TN_API size_t tn_online_classes(const tn_online *online);
TN_API const char *const *tn_online_class_names(const tn_online *online);

/* ---- moments: what a ridge model needs of its data, in O(D^2 + K D) memory ---- */

/* Gram, X'Y and sums of a part of the rows. Parts made anywhere can be merged, saved and loaded (tenon/store.h), and
 * give the evidence of all rows together (tenon/select.h) without the features. */
typedef struct tnp_moments tn_moments;

/* Statistics of one representation with its labels, streamed in blocks. Unlabelled rows are left out, and bad ones
 * with TN_NAN_DROP. Parts that are to be merged need the same classes (tn_labels_map) and a row-wise normalisation:
 * TN_NORM_ZSCORE is TN_ERR_ARG. Owned by the caller, free with tn_moments_free. O(N D^2). */
TN_API tn_status tn_moments_gather(tn_ctx *ctx, const tn_features *features, const tn_labels *labels,
                                   tn_normalize normalize, tn_nan_policy nan, tn_moments **out);
/* into += from. TN_ERR_SHAPE when columns or classes differ. O(D^2 + K D). */
TN_API tn_status tn_moments_merge(tn_ctx *ctx, tn_moments *into, const tn_moments *from);
TN_API void tn_moments_free(tn_moments *moments);
TN_API size_t tn_moments_rows(const tn_moments *moments);
TN_API size_t tn_moments_cols(const tn_moments *moments);
TN_API size_t tn_moments_classes(const tn_moments *moments);

/* ---- tallies: moments that know what is behind them ---- */

/* Moments in double of several representations side by side, with their names and how their rows are prepared, classes by
 * name, and which rows of which inputs went in. Made by tn_tally_gather from some rows, anywhere; merged in any order;
 * kept by tn_tally_save (tenon/store.h); ranked and fitted without a row in sight by tn_tally_rank and tn_tally_fit
 * (tenon/pipeline.h). 8 folds D^2 bytes for D columns. */
typedef struct tn_tally tn_tally;

TN_API void tn_tally_free(tn_tally *tally);
/* into += from. Classes are united by name: a part that does not know a class has no row of it. The result depends on the
 * order of merging by rounding only. TN_ERR_SHAPE: other representations, columns, preparation or folds; TN_ERR_DATA:
 * another task or other outputs, rows that are in already. O(folds (D^2 + K D)). */
TN_API tn_status tn_tally_merge(tn_ctx *ctx, tn_tally *into, const tn_tally *from);
/* into -= from, a part that was merged into it, as it was; classes that no row is left of go too. *digits, unless NULL:
 * decimal digits, of about 15, that the variance of the worst column has lost at most; moments of the rows that are left,
 * made anew, have lost none. TN_ERR_DATA: rows that are not in. After TN_ERR_MEMORY `into` can only be freed. */
TN_API tn_status tn_tally_subtract(tn_ctx *ctx, tn_tally *into, const tn_tally *from, double *digits);

TN_API size_t tn_tally_rows(const tn_tally *tally);     /* that take part */
TN_API size_t tn_tally_left_out(const tn_tally *tally); /* without a label, bad, or of weight 0 */
TN_API size_t tn_tally_cols(const tn_tally *tally);     /* of all representations, as they are prepared */
TN_API size_t tn_tally_folds(const tn_tally *tally);    /* 1: none */
TN_API tn_task tn_tally_task(const tn_tally *tally);
TN_API size_t tn_tally_classes(const tn_tally *tally);
/* This, and what follows, borrowed until the tally is changed or freed. */
TN_API const char *const *tn_tally_class_names(const tn_tally *tally);
/* Rows of a class by their weights; of a regression the sum of the output. */
TN_API double tn_tally_positives(const tn_tally *tally, size_t class_number);
TN_API size_t tn_tally_rep_count(const tn_tally *tally);
TN_API tn_rep tn_tally_rep(const tn_tally *tally, size_t i);

/* Rows [from, to) of an input that went in. */
typedef struct tn_tally_input {
    const char *path; /* of its first representation, as it was then */
    const char *id;   /* the same for the same rows in whatever file; "" for rows from memory, which are only counted */
    size_t from, to;
    size_t used; /* of them, those that take part */
} tn_tally_input;
TN_API size_t tn_tally_input_count(const tn_tally *tally);
TN_API tn_tally_input tn_tally_input_at(const tn_tally *tally, size_t i);

/* ---- prediction ---- */

typedef struct tn_scorer tn_scorer;

/* Joins a head to the representations it needs, matched by name; others are ignored; a missing one is
 * TN_ERR_ARG, another width TN_ERR_SHAPE, differing row counts TN_ERR_SHAPE. head and sources are borrowed
 * while the scorer lives. Owned by the caller, free with tn_scorer_free. */
TN_API tn_status tn_scorer_new(tn_ctx *ctx, const tn_head *head, const tn_features *const *features, size_t count,
                               tn_nan_policy nan, tn_scorer **out);
/* One that gives scores to a transfer head: a matrix of them, or a head that is applied to the same representations. */
typedef struct tn_source {
    const char *name;
    const tn_features *scores; /* one of the two */
    const tn_head *head;
} tn_source;

/* The same for a head that names sources: its sources, matched by name, borrowed while the scorer lives; a file of
 * scores may also be among the sources. A missing one is TN_ERR_ARG. */
TN_API tn_status tn_scorer_new_transfer(tn_ctx *ctx, const tn_head *head, const tn_features *const *features,
                                        size_t count, const tn_source *sources, size_t source_count, tn_nan_policy nan,
                                        tn_scorer **out);
TN_API void tn_scorer_free(tn_scorer *scorer);
TN_API size_t tn_scorer_rows(const tn_scorer *scorer);
/* Scores of rows [start, start+count) into out (count x classes). With TN_NAN_DROP a bad row gets NaN scores.
 * O(count * dim * classes). */
TN_API tn_status tn_scorer_read(tn_ctx *ctx, tn_scorer *scorer, size_t start, size_t count, float *out);

/* How the map of an additive kernel was learned, by tn_map_learn in tenon/pipeline.h. */
typedef struct tn_map_info {
    size_t rank;                           /* values per entry */
    size_t wanted;                         /* as the options had it; more than rank when the data hold no more */
    size_t sets, rows, tasks;              /* data sets, their labelled rows, one-vs-rest tasks that are not constant */
    size_t functions;                      /* of the basis, as far as they differ on these data: what was trained on */
    double scale;                          /* used */
    double rates[TN_BASIS_SIZE];           /* contributing rates tau(1) .. */
    double singular_values[TN_BASIS_SIZE]; /* descending */
    double zeros, beyond;                  /* shares of all entries: 0, and above 1 on the scaled axis */
    double objective, gap;                 /* sums over all tasks: the machines' objective, its certified distance */
    size_t passes;                         /* of the data set that took most */
    bool converged;
    double svm_seconds, svd_seconds, seconds; /* training; decomposition; all, reading included */
} tn_map_info;

#ifdef __cplusplus
}
#endif
#endif
