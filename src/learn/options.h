/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of the learners as the code reads them. Callers set them by name (tn_options). */
#ifndef TNP_LEARN_OPTIONS_H
#define TNP_LEARN_OPTIONS_H

#include "base/options.h"
#include "tenon/learn.h"

typedef enum tnp_svm_loss { TNP_SVM_SQUARED_HINGE, TNP_SVM_HINGE } tnp_svm_loss;
typedef enum tnp_class_weight { TNP_WEIGHT_NONE, TNP_WEIGHT_BALANCED } tnp_class_weight;
typedef enum tnp_calibrate { TNP_CALIBRATE_AUTO, TNP_CALIBRATE_YES, TNP_CALIBRATE_NO } tnp_calibrate;

/* Options of svm, logistic, lda and the methods that end in -cv; C and the weights of classes and rows also of the
 * online methods. */
typedef struct tnp_learn_options {
    double cost;               /* C of 1/2 |w|^2 + C sum loss; 1, as LIBLINEAR and scikit-learn */
    int loss;                  /* tnp_svm_loss; squared hinge: smooth, and the default of LIBLINEAR */
    bool mean_cost;            /* C / rows instead of C: the same C for data sets of any size; no */
    int class_weight;          /* tnp_class_weight; none */
    const char *sample_weight; /* .npy of one weight per row of the files; "" for none */
    bool penalise_bias;        /* the intercept as one more weight; yes, as LIBLINEAR */
    double gap;                /* stop when the certified distance from the optimum is below this part of it; 1e-4 */
    size_t max_passes;         /* over the rows (steps of logistic); 1000: only the hinge at a large C comes near */
    size_t folds;              /* of a cross-validation; 5, as in the evidence paper */
    double holdout;            /* share of the rows to choose or to judge by instead; 0: none */
    tnp_reals grid; /* values tried by a cross-validation; none: found from the rows, of lambda the paper's */
    int calibrate;  /* tnp_calibrate; auto: where held-out scores are there anyway */
} tnp_learn_options;

void tnp_learn_options_default(tnp_learn_options *options);
const tn_field *tnp_learn_fields(size_t *count);

/* How an online learner treats several classes: the true one against the best wrong one; or each against the rest with
 * all negatives, with as many as positives, or with `ratio` times as many. */
typedef enum tnp_online_multiclass {
    TNP_ONLINE_MUL,
    TNP_ONLINE_U_OVR,
    TNP_ONLINE_E_OVR,
    TNP_ONLINE_W_OVR
} tnp_online_multiclass;

/* Options of the online methods, perceptron to scw2. */
typedef struct tnp_online_options {
    int multiclass;  /* tnp_online_multiclass; mul: the paper's advice. Multi-label rows always go one-vs-rest */
    bool average;    /* use the mean of the weights after every sample; it is the default, the flag for scripts */
    bool no_average; /* use the last weights instead */
    size_t epochs;   /* passes over the rows, with validation at most; 10: averages hardly move after */
    double eta;      /* confidence of cw and scw, 0.5 to 1; 0.9 */
    bool shuffle;    /* visit the rows in a new random order each pass; yes */
    double ratio;    /* negatives per positive of w-ovr; 10 */
    size_t patience; /* with validation rows: passes without a better figure before the end; 3, 0: never */
    bool tune;       /* choose C and eta on the validation rows over the paper's grids; no */
    const char *checkpoint; /* file written after every pass, from which the same call goes on; "" for none */
} tnp_online_options;

void tnp_online_options_default(tnp_online_options *options);
const tn_field *tnp_online_fields(size_t *count);

#endif
