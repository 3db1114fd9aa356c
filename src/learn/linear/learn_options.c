/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of the linear classifiers: their defaults and names. */
#include "learn/options.h"

#include <stddef.h>

void tnp_learn_options_default(tnp_learn_options *options)
{
    *options = (tnp_learn_options){
        .cost = 1, .sample_weight = "", .penalise_bias = true, .gap = 1e-4, .max_passes = 1000, .folds = 5};
}

const tn_field *tnp_learn_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"C", TN_FIELD_REAL, offsetof(tnp_learn_options, cost), 1e-30, 1e30, "X",
         "weight of the losses against 1/2 |w|^2 in svm and logistic"},
        {"loss", TN_FIELD_CHOICE, offsetof(tnp_learn_options, loss), 0, 0, "squared-hinge|hinge",
         "loss of svm and svm-cv"},
        {"mean-cost", TN_FIELD_YESNO, offsetof(tnp_learn_options, mean_cost), 0, 0, "yes|no",
         "divide C by the number of rows"},
        {"class-weight", TN_FIELD_CHOICE, offsetof(tnp_learn_options, class_weight), 0, 0, "none|balanced",
         "balanced gives every class the same weight in training"},
        {"sample-weight", TN_FIELD_TEXT, offsetof(tnp_learn_options, sample_weight), 0, 0, "FILE.npy",
         "a weight for each row of the files"},
        {"penalise-bias", TN_FIELD_YESNO, offsetof(tnp_learn_options, penalise_bias), 0, 0, "yes|no",
         "treat the intercept of svm as one more weight"},
        {"gap", TN_FIELD_REAL, offsetof(tnp_learn_options, gap), 1e-12, 1, "X",
         "stop svm and logistic when they are certainly this close to the optimum, relatively"},
        {"max-passes", TN_FIELD_INT, offsetof(tnp_learn_options, max_passes), 1, 1e9, "N",
         "most passes over the rows, or steps of logistic"},
        {"folds", TN_FIELD_INT, offsetof(tnp_learn_options, folds), 2, 1e6, "N",
         "folds of lda and the methods that end in -cv"},
        {"holdout", TN_FIELD_REAL, offsetof(tnp_learn_options, holdout), 0, 1, "F",
         "keep this share of the rows, of every class, from training: lda and methods that end in -cv choose by it "
         "instead of "
         "folds, others report how well they do on it; the head is then trained on all rows; 0: none"},
        {"grid", TN_FIELD_REALS, offsetof(tnp_learn_options, grid), 1e-30, 1e30, "X,X,...|LO:HI:COUNT",
         "values of C or lambda that are tried; LO:HI:COUNT is that many, each the same multiple of the one before"},
        {"calibrate", TN_FIELD_CHOICE, offsetof(tnp_learn_options, calibrate), 0, 0, "auto|yes|no",
         "fit a temperature to held-out scores for predict option proba; auto where they are there anyway"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}
