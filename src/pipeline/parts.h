/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of the pipeline that would hide its plot: candidates, the figures of a set, the head of a set. */
#ifndef TNP_PIPELINE_PARTS_H
#define TNP_PIPELINE_PARTS_H

#include "learn/ridge/loo.h"
#include "learn/ridge/class_means.h"
#include "learn/head/cross.h"
#include "learn/head/head.h"
#include "learn/head/task.h"
#include "select/ensemble.h"
#include "select/evidence.h"
#include "select/search.h"
#include "pipeline/options.h"

/* What --transform says: a map, or none, and what it is called. */
typedef struct tnp_transform {
    char *name;
    tn_map *map; /* NULL: none */
} tnp_transform;

/* One word of it; out is zero first, and what it then holds is the caller's also after a failure. */
tn_status tnp_transform_read(tn_ctx *ctx, const char *word, tn_signed sign, tnp_transform *out);

/* Every triple of source, transform and normalisation, with its feed over the task's rows. */
typedef struct tnp_candidates {
    size_t count;
    tn_feed **feeds;
    char **names;
    const char **transform_names; /* count; NULL when --transform says nothing but none */
    tnp_transform *transforms;    /* transform_count; the feeds borrow their maps */
    size_t transform_count;
} tnp_candidates;

/* count 0: none. */
tn_status tnp_candidates_new(tn_ctx *ctx, const tn_features *const *features, size_t count, const tnp_task *task,
                             const tnp_rank_options *options, tnp_candidates **out);
/* Centres of their columns from `far` deviations on (transform/feed.h; INFINITY: none), and the largest value they may
 * have. */
tn_status tnp_candidates_survey(tn_ctx *ctx, tnp_candidates *candidates, double far, double limit);
void tnp_candidates_free(tnp_candidates *candidates);

/* A figure of a candidate as a mean of what single rows say, or single labels where it is a mean AP, so that two
 * candidates can be compared unit by unit. weight sums to 1; a unit that cannot judge has weight 0. */
typedef struct tnp_units {
    size_t count;
    double *value, *weight;
    double mean;
    bool labels; /* the units are labels */
} tnp_units;

/* Everything that the figures of a set need besides the set. */
typedef struct tnp_selection {
    const tnp_task *task;
    const tnp_candidates *candidates;
    tnp_ensemble *ensemble;
    const tnp_rank_options *options;
    const tnp_sample *sample; /* NULL: no leave-one-out */
    bool loo_off;             /* it was not asked for */
    tnp_units *units;         /* TNP_RANK_COUNT, zero, for the candidate that is measured next; NULL: not asked for */
} tnp_selection;

/* Evidence and leave-one-out of a set into *out (named by its members), its ridge problem and evidence to the caller
 * when it asks for them. */
tn_status tnp_measure_set(tn_ctx *ctx, const tnp_selection *selection, const size_t *members, size_t count,
                          tn_candidate *out, tnp_ridge **ridge, tn_evidence **evidence);
/* As tnp_set_fn: log evidence of a set; arg is a tnp_selection. */
tn_status tnp_set_evidence(tn_ctx *ctx, void *arg, const tnp_ask *ask, double *log_evidence, bool *exact);

/* Feeds of a set, or of all candidates when members is NULL, in order; the array is the caller's, free with tnp_free.
 * */
tn_status tnp_pick_feeds(tn_ctx *ctx, const tnp_candidates *candidates, const size_t *members, size_t count,
                         const tn_feed ***out);
/* Leave-one-out of a set over the selection's sample. */
tn_status tnp_loo_of_set(tn_ctx *ctx, const tnp_selection *selection, const tnp_ridge *ridge, const size_t *members,
                         size_t count, tnp_loo **out);

/* Further lambdas, each for all classes, to score held-out rows at: with the tridiagonal form of a fold at hand they cost
 * little. take: receives the scores (count, classes) of the rows of one fold at grid[g], by the ridge or by its
 * discriminants (learn/ridge/discriminant.h), which where there are none it does not. */
typedef struct tnp_also {
    const double *grid;
    size_t count;
    bool discriminants;
    tn_status (*take)(tn_ctx *ctx, void *arg, size_t g, const size_t *rows, size_t count, const float *scores);
    void *arg;
} tnp_also;

/* A ridge problem, class means, or both, of a set: what tnp_left_out_scores makes again without some rows. */
typedef struct tnp_left_out {
    const tnp_selection *selection;
    const tn_feed *const *feeds; /* the set's */
    size_t count;
    const tnp_ridge *ridge;
    const double *lambda;         /* classes */
    const tnp_class_means *means; /* NULL where share is 0 */
    double share;                 /* of the class means' scores: 0, 1, or between where classes are few rows */
} tnp_left_out;

/* Rows of the largest class of many if that is small enough to leave one row of every class out at a time, and as many
 * refits are some seconds at most; else 0. dim: columns. */
tn_status tnp_few_rows(tn_ctx *ctx, const tnp_task *task, size_t dim, size_t *few);

/* Tells every one of `also` the scores of the rows of every fold by ridge heads without that fold. ridge: of all rows,
 * which says how they are read and whether there is an intercept. */
tn_status tnp_ridge_folds(tn_ctx *ctx, const tnp_ridge *ridge, const tn_feed *const *feeds, size_t count,
                          const tnp_targets *y, const tnp_also *also, size_t also_count, const uint32_t *fold,
                          size_t folds);
/* Scores (rows, classes) of the rows of every fold by models without that fold; 0 of rows in none. also (also_count): not
 * asked where the head has no ridge in it. */
tn_status tnp_left_out_folds(tn_ctx *ctx, const tnp_left_out *left_out, const tnp_also *also, size_t also_count,
                             const uint32_t *fold, size_t folds, double *out);
/* Scores (sample rows, classes) of the sample's rows by models without them. */
tn_status tnp_left_out_scores(tn_ctx *ctx, const tnp_left_out *left_out, const tnp_sample *sample, double *out);
/* The same, by the scores that the ridge problem keeps where they are of these models: rotating the rows of the sample
 * is most of the work. */
tn_status tnp_left_out_again(tn_ctx *ctx, const tnp_left_out *left_out, const tnp_sample *sample, double *out);
/* The class means to take instead of the ridge where lambda is infinite, or beyond all eigenvalues, for all of many
 * classes; *out is NULL where it is not, or where they are of no use either. Then every lambda is infinite. Free with
 * tnp_class_means_free. */
tn_status tnp_means_of_null(tn_ctx *ctx, const tnp_selection *selection, const tn_feed *const *feeds, size_t count,
                            const tnp_ridge *ridge, double *lambda, tnp_class_means **out);
/* The class means that share a head of few rows with the ridge, TNP_HALF each; *out is NULL where classes have many
 * rows, no weights, or where rows that are left out speak for the ridge alone. */
#define TNP_HALF 0.5
tn_status tnp_means_of_few(tn_ctx *ctx, const tnp_selection *selection, const tn_feed *const *feeds, size_t count,
                           const tnp_ridge *ridge, const double *lambda, tnp_class_means **out);
/* The lambda that all classes share, infinite also where it gains less than rounding can tell: with as many rows as
 * classes F may be flat in lambda. */
double tnp_shared_or_null(const tn_evidence *evidence);

/* Weights and intercepts at info->lambda into a head, mixed with class means where they are not NULL. */
tn_status tnp_fill_ridge(tn_ctx *ctx, const tnp_chosen *chosen, const tnp_ridge *ridge, const tnp_class_means *means,
                         tn_head *head);

/* Leave-one-out figures of predictions (sample rows, classes), into the loo_ members of *out. */
tn_status tnp_judge_left_out(tn_ctx *ctx, const tnp_selection *selection, const double *predicted, tn_candidate *out);

/* A set that was chosen, and what its training may look at; figures go to info. */
struct tnp_chosen {
    const tnp_selection *selection;
    const tn_labels *labels;
    const tnp_fit_options *options;
    const size_t *members;
    size_t count;
    const tn_feed **feeds;
    const tnp_ridge *ridge;      /* of the set, and */
    const tn_evidence *evidence; /* where they were measured */
    tn_fit_info *info;
    tnp_search *search; /* that found the set; method auto may take another one */
    double begin;       /* seconds, when the call began */
};

/* A fit on the rows at hand (pipeline.c): tnp_fit without its checks, figures of validation rows, and beginning and end
 * of its progress. */
tn_status tnp_fit_rows(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                       const tnp_fit_options *options, tn_fit_info **info, tn_head **head);

/* Method auto: the best of the others by rows that were held out; race_auto.c. */
tn_status tnp_train_auto(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);
/* Methods evidence and ridge-cv: the ridge head of the set, lambda by rule or by cross-validation. */
tn_status tnp_train_ridge(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);
/* lambda (classes) of the info by the rule that the options name, of a problem and its evidence; one for all classes that
 * have one; and the values that ridge-cv tries, ascending, the caller's to free with tnp_free. */
tn_status tnp_lambda_by_rule(tn_ctx *ctx, const tnp_chosen *chosen, const tnp_ridge *ridge,
                             const tn_evidence *evidence);
void tnp_set_lambda(const tnp_chosen *chosen, double lambda);
const char *tnp_lambda_word(tnp_lambda_rule rule);
tn_status tnp_lambda_grid(tn_ctx *ctx, const tnp_fit_options *options, double **grid, size_t *count);
/* cross: qualities of the rows of option valid, by the head of all rows at every lambda of its grid, and the best. */
tn_status tnp_judge_by_valid(tn_ctx *ctx, const tnp_chosen *chosen, tnp_task *valid, tnp_cross *cross);

/* Method lda: linear discriminants of the ridge problem, lambda as given or by rows that are held out. */
tn_status tnp_train_lda(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);
/* Labels or options that it is not for: TN_ERR_ARG. */
tn_status tnp_check_lda(tn_ctx *ctx, const tnp_fit_options *options, tn_task task);
/* A head with the weights and intercepts of the ridge at one lambda gets those of its discriminants.
 * TN_ERR_UNSUPPORTED: there are none. */
tn_status tnp_discriminate(tn_ctx *ctx, const tnp_ridge *ridge, double lambda, tn_head *head);
/* The temperature of discriminants without scores that were held out. */
double tnp_plain_temperature(const tnp_ridge *ridge);

/* ---- lambda_search.c: one lambda for all classes by rows that are held out ---- */

/* Powers of 4 about the lambda that all classes share, which is method evidence's own where classes are many, and which
 * may be too large as well as too small; without one about the largest eigenvalue. */
enum { TNP_LAMBDA_COUNT = 11, TNP_LAMBDA_MIDDLE = 6 };
double tnp_middle_lambda(const tnp_chosen *chosen);
/* grid (TNP_LAMBDA_COUNT), ascending; every second of them is enough for discriminants. How many there are. */
size_t tnp_lambdas_about(double middle, bool discriminants, double *grid);

typedef struct tnp_lambda_search {
    const tnp_task *task;
    const uint32_t *fold;     /* of its rows */
    tnp_cross *cross;         /* the grid, and what was found of it */
    bool discriminants, keep; /* keep: the scores will be asked for */
    size_t rows, *place;      /* in some fold; (task rows): which of them a row is */
    size_t *stored;           /* (grid): rows that have scores */
    float *scores;            /* (grid, rows, classes), where they are kept */
} tnp_lambda_search;

/* All members up to keep are the caller's; destroy is legal after failure. */
tn_status tnp_lambda_search_init(tn_ctx *ctx, tnp_lambda_search *search);
void tnp_lambda_search_destroy(tnp_lambda_search *search);
/* What tnp_ridge_folds is to tell it. */
tnp_also tnp_lambda_search_asks(tnp_lambda_search *search);
/* When it was told: figures and the best value of cross, never one at which some row has no scores. */
void tnp_lambda_search_end(tnp_lambda_search *search);
/* Scores (task rows, classes) at value g, 0 of rows in no fold; *out is NULL where some row has none, or they were not
 * kept. The caller's, free with tnp_free. */
tn_status tnp_lambda_search_scores(tn_ctx *ctx, const tnp_lambda_search *search, size_t g, float **out);

/* Methods svm, svm-cv, logistic and logistic-cv. */
tn_status tnp_train_linear(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);
/* Methods perceptron to scw2. */
tn_status tnp_train_online(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);
/* Quality of scores that were made without their rows: accuracy, mean AP, R^2 over the classes that the models could
 * know, NaN where there is none. Of a fold, by models of all other rows: what a cross-validation goes by (a
 * tnp_measure_fn; arg is the tnp_task). Or of rows that were left out one by one. */
tn_status tnp_measure_rows(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores,
                           double *value);
/* The same of a fold, class by class (output by output) into each (classes): NaN where a class cannot be judged. */
tn_status tnp_measure_each(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count, const float *scores,
                           double *each);
tn_status tnp_measure_left_out(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count, const float *scores,
                               double *value);
/* Average precisions (classes) of such rows, whose mean is that figure of a multi-label task; NaN where there is none. */
tn_status tnp_precisions_left_out(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count,
                                  const float *scores, double *each);
/* Scores (count, classes) of rows that were left out one by one become NaN where the class has the same label in all
 * other rows. */
tn_status tnp_hide_left_out(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count, float *scores);
/* "accuracy", "mean_ap" or "r2": what these measure. */
const char *tnp_metric_name(tn_task task);
/* Whether a multi-label head is to have the thresholds of the largest F1. */
bool tnp_wants_f1(const tnp_chosen *chosen);
/* The number of folds that the rows allow, into info->folds, and what is to be said of it; a method that chooses by a
 * hold-out has one. Then the folds themselves, the caller's, free with tnp_free. */
tn_status tnp_plan_folds(tn_ctx *ctx, const tnp_chosen *chosen);
tn_status tnp_make_folds(tn_ctx *ctx, const tnp_chosen *chosen, uint32_t **out);

/* ---- validation rows (validate.c) ---- */

/* Rows and task of option valid agree with each other and with the training labels, whose classes its labels get. */
tn_status tnp_valid_check(tn_ctx *ctx, const tnp_valid *valid, const tn_labels *labels);
/* Those of its rows that can judge, as a task; TN_ERR_DATA where there is none. Free with tnp_task_free. */
tn_status tnp_valid_open(tn_ctx *ctx, const tnp_chosen *chosen, tnp_task **out);
/* Scores (task rows, classes) of them by a head, less the offsets of the task. */
tn_status tnp_valid_scores(tn_ctx *ctx, const tnp_valid *valid, const tnp_task *task, const tn_head *head,
                           float *scores);
/* The same, and their quality. */
tn_status tnp_valid_judge(tn_ctx *ctx, const tnp_valid *valid, tnp_task *task, const tn_head *head, float *scores,
                          double *value);
/* A tnp_measure_fn; arg is their tnp_task: every row of it was out of the training. */
tn_status tnp_measure_valid(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores,
                            double *value);
/* What the figure info->validation_value is and by how many rows; its standard error where there is one. */
void tnp_keep_validation(tn_fit_info *info, const char *by, tn_task task, size_t rows);

/* A temperature of 0, where one was to be fitted: TN_ERR_DATA when the user insists, else a note. */
tn_status tnp_say_no_probabilities(tn_ctx *ctx, const tnp_chosen *chosen, double temperature);
/* The temperature that suits scores (rows, classes) that were held out: of the rows of valid, or by folds of the task's
 * where that is NULL. Scores that models could not know become NaN. */
tn_status tnp_held_out_temperature(tn_ctx *ctx, const tnp_chosen *chosen, const tnp_task *valid, const uint32_t *fold,
                                   float *scores, tn_head *head);
/* Moves the grid and its figures into the info. rows: those that judged, where they are no folds; else 0. */
void tnp_keep_cross(const tnp_chosen *chosen, tnp_cross *cross, size_t rows);
/* Options and the table that tells of them. */
typedef struct tnp_option_table {
    const tn_field *(*fields)(size_t *count);
    const void *options;
} tnp_option_table;
/* How a head is made, from the same tables as the command line. Free with tn_text_free. */
tn_status tnp_tables_json(tn_ctx *ctx, const tnp_option_table *tables, size_t count, char **out);
tn_status tnp_options_json(tn_ctx *ctx, const tnp_fit_options *options, char **out);
/* A head of a set, as of tnp_pick_feeds, with `sources` columns behind its own: everything but its options and its
 * numbers. */
tn_status tnp_head_of_set(tn_ctx *ctx, const tnp_task *task, const tn_labels *labels, const char *method,
                          const tnp_candidates *candidates, const size_t *members, size_t count, size_t sources,
                          tn_head **out);
/* A head with everything but its numbers. */
tn_status tnp_begin_head(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);

/* Multi-class tasks: how many classes have a row, but no more than `most`; else 0. */
tn_status tnp_count_small(tn_ctx *ctx, const tnp_task *task, size_t most, size_t *count);

/* ---- opinions.c: what a ranking goes by ---- */

const char *tnp_by_word(tnp_by by);
/* A figure that the rows cannot give: TN_ERR_ARG, TN_ERR_DATA. */
tn_status tnp_check_by(tn_ctx *ctx, const tnp_selection *selection);
/* Figures of scores (sample rows, classes) that were made without their rows: quality by task; log-loss. units of zeros
 * first; free with tnp_units_destroy, also after a failure. */
tn_status tnp_units_of_quality(tn_ctx *ctx, const tnp_selection *selection, const double *scores, tnp_units *units);
tn_status tnp_units_of_loss(tn_ctx *ctx, const tnp_selection *selection, const double *scores, tnp_units *units);
/* The same of the nearest rows. */
tn_status tnp_units_of_neighbours(tn_ctx *ctx, const tnp_selection *selection, const tn_feed *const *feeds,
                                  size_t count, tnp_units *units);
/* The same of candidate c by heads that were trained without the row's fold. */
tn_status tnp_units_of_folds(tn_ctx *ctx, const tnp_selection *selection, const tn_features *const *features, size_t c,
                             tnp_units *units);
void tnp_units_destroy(tnp_units *units);
/* Candidates, as they were measured, become best first by options->by, with their scores and the ranking's opinions.
 * units (candidates, TNP_RANK_COUNT). */
tn_status tnp_ranking_settle(tn_ctx *ctx, const tnp_selection *selection, const tnp_units *units, tn_ranking *ranking);

/* Results under construction. */
tn_status tnp_ranking_new(tn_ctx *ctx, const tnp_task *task, size_t count, tn_ranking **out);
void tnp_ranking_sort(tn_ranking *ranking);
void tnp_candidate_free(tn_candidate *candidate);
tn_status tnp_fit_info_new(tn_ctx *ctx, const tnp_task *task, size_t candidates, const tnp_fit_options *options,
                           tn_fit_info **out);
/* Options out of bounds or that contradict each other: TN_ERR_ARG before any file is read. */
tn_status tnp_check_rank(tn_ctx *ctx, const tnp_rank_options *options);
tn_status tnp_check_fit(tn_ctx *ctx, const tnp_fit_options *options);
/* Rows that stand beside moments are given where there are rows anyway. */
tn_status tnp_check_no_sample(tn_ctx *ctx, const tnp_rank_options *options);
/* Figures of a set that was taken without asking for its evidence: all NaN. */
tn_status tnp_unmeasured(tn_ctx *ctx, const tnp_candidates *candidates, const tnp_search *search, tn_fit_info *info);
tn_status tnp_fit_info_steps(tn_ctx *ctx, const tnp_candidates *candidates, const tnp_search *search,
                             tn_fit_info *info);

/* At least one source, no two of one name, none the labels themselves: TN_ERR_ARG. */
tn_status tnp_check_names(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels);
/* Names of a set joined by " + ". */
tn_status tnp_join_names(tn_ctx *ctx, const tnp_candidates *candidates, const size_t *members, size_t count,
                         char **out);

#endif
