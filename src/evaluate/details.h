/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the details of metrics: filled by details.c, curves.c, residuals.c, bootstrap.c and compare.c, printed by
 * report/details_out.c. N scored rows, K classes. */
#ifndef TNP_DETAILS_H
#define TNP_DETAILS_H

#include "evaluate/cv_result.h"
#include "evaluate/evaluate.h"

enum {
    TNP_BINS = 15,   /* of the reliability diagram, as of the calibration error */
    TNP_POINTS = 41, /* of a curve: rates 0, 1/40 .. 1 */
    TNP_TOP = 10,    /* k of the top-k accuracies goes up to here */
    TNP_HIST = 24,   /* bars of a histogram of residuals */
    TNP_QUANTILES = 7
};

/* Headline figures that have an interval: those of tnp_cv_metrics, then these three. */
enum { TNP_FIGURE_PRECISION = TNP_CV_METRICS, TNP_FIGURE_RECALL, TNP_FIGURE_F1, TNP_FIGURES };
const char *tnp_figure_name(size_t figure);

typedef struct tnp_cell {
    uint32_t truth, predicted;
    size_t count;
} tnp_cell;

/* Decisions about one class. */
typedef struct tnp_tally {
    size_t hits, predicted, support;
} tnp_tally;

typedef struct tnp_prf {
    double precision, recall, f1;
} tnp_prf;

typedef struct tnp_interval {
    double low, high; /* 95 %; NaN: there is none */
    double se;        /* of the resamples; NaN for Wilson's */
} tnp_interval;

typedef struct tnp_bin {
    double confidence; /* sum */
    size_t right, count;
} tnp_bin;

/* Of y - prediction of one output. */
typedef struct tnp_residuals {
    double mean, sd, mean_absolute, correlation; /* correlation of y and prediction; NaN where one is constant */
    double quantiles[TNP_QUANTILES];             /* at tnp_quantile_levels */
    double low, high;                            /* ends of the histogram: least and largest */
    size_t bars[TNP_HIST];
} tnp_residuals;
extern const double tnp_quantile_levels[TNP_QUANTILES];

/* Two sets of scores for the same rows. */
typedef struct tnp_comparison {
    char *name;                    /* of the other */
    size_t only_first, only_other; /* rows that only one of them decides right; multi-class */
    double mcnemar_p;              /* exact, two-sided; NaN unless multi-class */
    double difference[TNP_FIGURES], se[TNP_FIGURES], p[TNP_FIGURES]; /* first less other; NaN where there is none */
} tnp_comparison;

struct tn_details {
    const tn_labels *labels; /* borrowed */
    size_t rows;             /* scored */
    unsigned char *scored;   /* labels->rows */
    /* multi-class */
    uint32_t *predicted; /* labels->rows */
    uint32_t *place;     /* labels->rows: classes before the true one */
    float *confidence;   /* labels->rows: probability of the predicted class, or its lead over the second score */
    bool has_probabilities;
    tnp_cell *cells; /* by true class, then predicted */
    size_t cell_count;
    size_t top_count;
    double top[TNP_TOP]; /* [k - 1] */
    /* both classifications */
    tnp_tally *tallies; /* classes */
    tnp_prf micro, macro, weighted;
    double *roc, *pr; /* (classes, TNP_POINTS), NaN for a class without both kinds of rows */
    tnp_bin bins[TNP_BINS];
    /* regression */
    tnp_residuals *residuals; /* classes */
    /* resamples: weight of row i in resample b at [i * resamples + b] */
    size_t resamples;
    uint8_t *weights;
    double *values; /* (TNP_FIGURES, resamples), NaN: does not exist there */
    tnp_interval intervals[TNP_FIGURES];
    tnp_comparison *comparison;
};

/* Wilson's interval of `hits` among `count`, 95 %; NaN for none. */
tnp_interval tnp_wilson(size_t hits, size_t count);
/* f1 is 2 hits / (predicted + support); what has no denominator is NaN. */
tnp_prf tnp_prf_of(const tnp_tally *tally);
/* Value of a headline figure. */
double tnp_figure_of(const tn_metrics *metrics, size_t figure);

/* Arguments of these are trusted. residuals.c. */
tn_status tnp_details_residuals(tn_ctx *ctx, tn_details *details, tn_view scores);
/* curves.c: roc and pr, and the ranking metrics of every resample. */
tn_status tnp_details_curves(tn_ctx *ctx, tn_details *details, tn_view scores);

/* bootstrap.c: draws the rows, at most `wanted` times; figures of every resample that need no ranking. */
tn_status tnp_bootstrap_draw(tn_ctx *ctx, tn_details *details, size_t wanted, uint64_t seed);
tn_status tnp_bootstrap_scores(tn_ctx *ctx, tn_details *details, tn_view scores, const double *thresholds);
tn_status tnp_bootstrap_probabilities(tn_ctx *ctx, tn_details *details, tn_view probabilities);
/* probability_metrics.c: as tn_probability_metrics_compute, with the bins behind the ece; bins may be NULL. */
tn_status tnp_probability_bins(tn_ctx *ctx, tn_view probabilities, const tn_labels *labels, double *nll, double *ece,
                               tnp_bin bins[TNP_BINS]);
/* One row that counts: mean loss of its decisions, and per bin the sum of p less what came true over their number. */
void tnp_probability_row(tn_view probabilities, const tn_labels *labels, size_t i, double *loss,
                         double apart[TNP_BINS]);
/* Standard deviation of values[b], or of values[b] - less[b] unless that is NULL, where it is a number; NaN of fewer than
 * two. */
double tnp_deviation(const double *values, const double *less, size_t count);
/* Intervals of every figure that has a value, from the resamples or by Wilson. */
void tnp_bootstrap_intervals(const tn_metrics *metrics, tn_details *details);

void tnp_details_free(tn_details *details);

#endif
