/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 5, select: the Bayesian evidence of a representation for a task, and the search for the best set of
 * representations. The mathematics is in docs/math.md, section 1. */
#ifndef TENON_SELECT_H
#define TENON_SELECT_H

#include "tenon/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tn_class_state {
    TN_CLASS_FITTED,    /* 0 < lambda < infinity */
    TN_CLASS_NULL,      /* no features is the better model: lambda infinite, weights 0 */
    TN_CLASS_DEGENERATE /* constant target: left out of every sum, constant score */
} tn_class_state;

/* Result for one set of representations; arrays have `classes` entries. Owned by the caller of whatever made
 * it, free with tn_evidence_free. */
typedef struct tn_evidence {
    size_t rows, dim, classes, rank;
    double log_evidence;        /* sum over classes, each at its own lambda */
    double log_evidence_shared; /* sum over classes at the one lambda that maximises it */
    double log_null;            /* the same sum for the model without features */
    double lambda_shared;       /* may be infinite */
    double lambda_median;       /* of the fitted and null classes */
    double gain_per_label;      /* (log_evidence - log_null) / (rows * classes that count) */
    size_t null_classes, degenerate_classes, iterations_max;
    /* Classes whose F still rises at the smallest lambda: labels that fewer directions than rows reproduce. */
    size_t unbounded_classes;
    double error; /* of log_evidence, relative: what rounding may have left, estimated; 1e-6 and less is as promised */
    double iterations_mean;
    bool converged;
    double *lambda, *alpha, *beta, *log_class, *log_class_null;
    tn_class_state *state;
    size_t *iterations;
} tn_evidence;

TN_API void tn_evidence_free(tn_evidence *evidence);

/* Evidence of the rows behind the statistics; options: of "evidence". TN_ERR_DATA when every class is constant, or when
 * there are not more rows than columns: the labels can then be interpolated, which second moments cannot tell from
 * noise. 4/3 D^3 flops. */
TN_API tn_status tn_moments_evidence(tn_ctx *ctx, const tn_moments *moments, const tn_options *options,
                                     tn_evidence **out);

/* ---- results: made and freed by tenon/pipeline.h, printed by tenon/report.h ---- */

/* Figures of one candidate, or of a set of them. */
typedef struct tn_candidate {
    char *name;
    char *transform; /* "chi2"; NULL of a set, and where no transform was asked for */
    size_t dim;      /* columns that the learner sees: those of the file, times the values per entry of the transform */
    double log_evidence, log_evidence_shared, gain_per_label;
    double loo_accuracy, loo_se; /* multi-class: accuracy; multi-label: share of right decisions; NaN when off */
    double loo_mean_ap;          /* multi-label: mean average precision of the same scores; 0 when there is none */
    double loo_r2;               /* regression, else NaN */
    double lambda_median, lambda_shared;
    size_t iterations_max, null_classes, degenerate_classes, unbounded_classes;
    double iterations_mean;
    double evidence_error; /* as tn_evidence.error */
    double seconds;
    /* Of tn_rank: the figure that the ranking goes by, and its standard error over rows, NaN where it has none. */
    double score, score_se;
} tn_candidate;

/* Which candidate a figure speaks for, and how far that one is ahead of the first of the ranking by this figure: 0 when
 * it is the first itself. Of evidence: in nats per label. */
typedef struct tn_opinion {
    const char *by;       /* a word of option by; static */
    const char *first;    /* the name of a candidate of the same ranking */
    double score, other;  /* figures of that candidate and of the first of the ranking */
    double lead, lead_se; /* standard error of the difference over the same rows, mean AP: labels; NaN where none is */
} tn_opinion;

/* Candidates in order. */
typedef struct tn_ranking {
    tn_task task;
    size_t rows, rows_left_out, classes, degenerate_classes;
    size_t single_classes; /* multi-class: classes of one row, which no row that is left out can judge */
    double null_log_evidence;
    size_t count;
    tn_candidate **candidates; /* best first */
    double seconds;
    /* Of tn_rank, else NULL and 0: the word of option by; lead of the first over the second by it; what all figures that
     * were measured speak for, the one that ranks among them. */
    const char *by;
    double lead, lead_se;
    size_t opinion_count;
    tn_opinion *opinions;
} tn_ranking;

/* One trial of the search. */
typedef struct tn_fit_step {
    char *candidate; /* the set tried, names joined by " + " in exhaustive search, else the one added */
    bool accepted;
    double log_evidence;
} tn_fit_step;

/* One pass of an online learner. */
typedef struct tn_epoch {
    double updates, mistakes; /* whole numbers */
    double valid;             /* accuracy (multi-label: mean AP) on the validation rows; NaN without them */
    double seconds;
} tn_epoch;

/* One pair of values that --tune tried. */
typedef struct tn_trial {
    double cost, eta, valid;
    size_t epochs; /* passes done when it was best */
} tn_trial;

/* One method in the race of method auto. The library makes these: the struct grows at its end. */
typedef struct tn_tried {
    char *method;    /* its word, with what it was raced with: "logistic", "ridge-cv" */
    char *set;       /* the candidates that it was raced with, joined by " + " */
    double cost;     /* C, or NaN */
    double lambda;   /* or NaN */
    double mean, se; /* of the metric over rows that it was not trained with */
    double log_loss; /* per such row, multi-class; else NaN */
    double seconds;
    size_t rows; /* that judged it */
    bool chosen;
    const char *note; /* why it went no further; NULL: it went to the end. Static text */
} tn_tried;

/* How a head was found. */
typedef struct tn_fit_info {
    tn_ranking *ranking; /* the single candidates */
    size_t selected_count, step_count, classes;
    char **selected; /* candidate names in column order of the head */
    tn_fit_step *steps;
    tn_candidate *chosen;    /* figures of the chosen set, leave-one-out included */
    const char *method;      /* as on the command line */
    double *lambda;          /* classes; NULL unless a ridge head or discriminants */
    const char *lambda_rule; /* word of the rule that was used; NULL where there is no lambda */
    double cost;             /* C of svm and logistic, else NaN */
    double objective, gap;   /* of their training: sum over classes, certified distance from the optimum; else NaN */
    size_t passes;           /* over the rows */
    bool converged;
    size_t grid_count, grid_best; /* cross-validation: 0 without one; best SIZE_MAX where no fold could judge */
    double *grid, *grid_mean, *grid_se;
    const char *grid_metric; /* "accuracy", "mean_ap" or "r2" */
    double temperature;      /* of the head's probabilities; 0: none */
    size_t epoch_count;      /* online methods: passes of the values that were used; else 0 */
    tn_epoch *epochs;
    size_t epoch_best;              /* passes that the weights of the head have seen */
    double eta;                     /* of cw, scw and scw2; else NaN */
    size_t trial_count, trial_best; /* --tune: values tried; else 0 */
    tn_trial *trials;
    double seconds;
    /* Share of the nearest class mean in a ridge head of many classes: 1 where lambda is infinite, 1/2 where classes
     * have few rows; else 0. */
    double class_means;
    size_t folds; /* of the cross-validation or calibration; 0 without one */
    /* Why a figure that was asked for does not exist or is another; NULL where nothing is to be said. Static text. */
    const char *loo_note, *grid_note, *temperature_note;
    /* Path along C: values of the grid that were not tried, for it had clearly become worse or nothing was wrong; values
     * beyond the ends of a grid that was found from the rows, for the best was there. */
    size_t grid_skipped, grid_added;
    bool grid_found; /* the grid was found from the rows, not given */
    /* Rows that judged the method, or by which it chose, and that are no folds: "holdout", "valid", or NULL. The metric
     * is one of grid_metric's, the standard error NaN where there is none. */
    const char *validation, *validation_metric;
    size_t validation_rows;
    double validation_value, validation_se;
    /* Method auto: who raced, in the order of the race; 0 and NULL for other methods. */
    size_t tried_count;
    tn_tried **tried;
    const char *tried_metric;   /* "accuracy", "mean_ap" or "r2" */
    const char *tried_note;     /* why there was no race, or what ended it; NULL: all is as it should be */
    bool interrupted;           /* option budget was given and the call was cancelled: the head is the best so far */
    const char *threshold_rule; /* multi-label: "f1" or "fixed" where the head has a threshold per class; else NULL */
    /* grid_count: folds that a value was judged by; 0: all. One of fewer was given up as clearly worse than the best,
     * and its mean is that of those folds. */
    size_t *grid_folds;
} tn_fit_info;

#ifdef __cplusplus
}
#endif
#endif
