/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 7, transfer: what was learned from other classifiers (sources) for a task of few rows. Made and freed by
 * tenon/pipeline.h, printed by tenon/report.h. */
#ifndef TENON_TRANSFER_H
#define TENON_TRANSFER_H

#include "tenon/select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A column with a weight. */
typedef struct tn_pick {
    bool is_source;
    size_t index; /* among the features, or among the columns of all sources */
    char *name;   /* "vgg[17]", or the source's "wolf", "scores[3]" */
    double weight;
} tn_pick;

/* What was found for one class against the rest. */
typedef struct tn_transfer_class {
    const char *name;   /* of the positive class; borrowed from the info */
    const char *method; /* that was used */
    size_t pick_count;
    tn_pick
        *picks; /* greedytl, forward: in their order; others: what has a weight, of dense methods the sources only */
    size_t step_count;
    double *objective; /* (step_count): greedytl and forward, after each pick */
    double *path;      /* (step_count + 1): leave-one-out error of so many picks, made anew without the row */
    double loo_error;  /* class-balanced share of leave-one-out predictions of the wrong sign, class against the rest */
    double none, rls, greedy; /* of auto's candidates, everything done anew without the row; NaN where not tried */
    double lambda, tau;       /* 0 where the method has none */
} tn_transfer_class;

typedef struct tn_transfer_info {
    size_t rows, features, source_columns, classes;
    size_t count; /* results: 1 for two classes (the second against the first), else one a class */
    tn_transfer_class *results;
    /* Classes that an arg-max compares: more than two, of which a row has one. Else false and the rest of no meaning. */
    bool joint;
    const char *method;       /* the one for all */
    double loo_error, loo_se; /* share of rows that the arg-max gets wrong without them, and its standard error */
    size_t loo_rows;          /* rows whose class has another row; of 0, or of 1, the two (the second) are NaN */
    double none, rls, greedy; /* errors of auto's candidates, as loo_error; NaN where not tried */
    double class_means;  /* share of the nearest class mean in the heads: 5/16 where classes have few rows, else 0 */
    double source_share; /* of the sources in the squares of all columns, classes that are compared; 0: even parts */
    char **names;        /* classes */
    double seconds;
} tn_transfer_info;

#ifdef __cplusplus
}
#endif
#endif
