/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transfer at work: shared by its frame (transfer.c), what is done for one class (transfer_class.c) and
 * for classes that are compared (transfer_joint.c). */
#ifndef TNP_PIPELINE_TRANSFER_H
#define TNP_PIPELINE_TRANSFER_H

#include "pipeline/parts.h"
#include "transfer/greedy.h"
#include "transfer/ridge.h"
#include "pipeline/options.h"

typedef struct transfer_job {
    const tn_features *const *targets;
    size_t target_count;
    const tn_labels *labels;
    const tn_source *sources;
    size_t source_count;
    const tnp_transfer_options *options;
    size_t most; /* picks of the greedy methods */
    bool by_loo; /* their number by leave-one-out */
    bool joint;  /* several classes, of which one is right */
    tnp_task *task;
    tnp_candidates *candidates;            /* the target's representations, all of them; none without --features */
    size_t rows, cols, features;           /* labelled rows; columns in all, of them features */
    tnp_transfer_columns *columns;         /* raw, read once for all classes */
    tnp_transfer_problem *problem;         /* of the class at work; with equal row weights only its labels change */
    tnp_ridge_basis *of_features, *of_all; /* of the problem's columns, as soon as a method asked for them */
    double *row_weight;                    /* (rows): how much each counts, 1 on average; NULL: all alike */
    double *weights;                       /* (results, cols), raw */
    double *intercepts;                    /* results */
} transfer_job;

/* What a method found: raw weights (cols), and the path of a greedy one. */
typedef struct transfer_found {
    int method;
    double *w; /* of the caller */
    double intercept;
    tnp_transfer_score score;
    double lambda, tau;
    double *loo;               /* (rows), of the caller or NULL: predictions without the row */
    tnp_greedy_path *path;     /* greedytl, forward */
    tnp_transfer_score *steps; /* (path->count + 1): of its prefixes */
    size_t picks;              /* of it, that are used */
} transfer_found;

/* The error that class k has no row, or every one. */
tn_status tnp_transfer_constant(tn_ctx *ctx, const transfer_job *job, size_t k);
void tnp_transfer_found_destroy(transfer_found *found);
/* A method without a path on job->problem, its values its own choice or another's (transfer/ridge.h). */
tn_status tnp_transfer_run(tn_ctx *ctx, transfer_job *job, const tnp_transfer_choice *choice, transfer_found *found);
/* What was found, for people to read. */
tn_status tnp_transfer_account(tn_ctx *ctx, const transfer_job *job, const transfer_found *found,
                               tn_transfer_class *out);

/* All classes of a task whose scores are compared. */
tn_status tnp_transfer_joint(tn_ctx *ctx, transfer_job *job, tn_transfer_info *info);
/* Class k against the rest, as result number r. */
tn_status tnp_transfer_class(tn_ctx *ctx, transfer_job *job, size_t k, size_t r, tn_transfer_class *out);
void tnp_transfer_drop_problem(transfer_job *job);
/* "wolf" of a head, "3" or "scores[3]" of a file. Free with tn_text_free. */
tn_status tnp_transfer_source_name(tn_ctx *ctx, const transfer_job *job, size_t j, bool with_source, char **out);

#endif
