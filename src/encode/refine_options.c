/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of the refinement of a mixture. Defaults are those that held up on pictures of flowers, scenes and the air: 5
 * to 12 rounds gain, later ones learn the training pictures by heart, which the penalty and the held-out part
 * prevent. */
#include "encode/encoder.h"

void tnp_refine_options_default(tnp_refine_options *options)
{
    *options = (tnp_refine_options){.task = "shared",
                                    .rounds = 12,
                                    .penalty = 0.003,
                                    .soften = 0.05,
                                    .rate = 0.05,
                                    .part = 1,
                                    .holdout = 0.2,
                                    .patience = 5,
                                    .intercept = true,
                                    .twice = true,
                                    .cache = "",
                                    .checkpoint = ""};
}

#define AT(member) offsetof(tnp_refine_options, member)

const tn_field *tnp_refine_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"task", TN_FIELD_TEXT, AT(task), 0, 0, "shared|each|NAME",
         "what the mixture is to tell apart: shared, all classes by one mixture; NAME, that class from all others; "
         "each, "
         "one class after the other, a mixture for each: -o is then a folder"},
        {"learn", TN_FIELD_CHOICE, AT(learn), 0, 0, "mixture|projection|both",
         "what is learned: the Gaussians; the projection (PCA) before them, which stay; or both"},
        {"optimizer", TN_FIELD_CHOICE, AT(optimizer), 0, 0, "lbfgs|gd|adam",
         "lbfgs with the support vector machines solved anew at every step; gd: Algorithm 1 of the paper, with neither "
         "penalty nor soften; adam"},
        {"objective", TN_FIELD_CHOICE, AT(objective), 0, 0, "svm|cv|multinomial",
         "svm: the paper's, support vector machines on all pictures; cv: losses of four folds by machines that have "
         "not "
         "seen them; multinomial: logistic regression over all classes"},
        {"rounds", TN_FIELD_INT, AT(rounds), 0, 1e6, "N", "steps at most"},
        {"C", TN_FIELD_REAL_OR_WORD, AT(cost), 1e-30, 1e30, "auto|X",
         "C of the support vector machines, over the number of pictures; auto: the best of 30, 100, 300 and 1000 on "
         "the "
         "validation pictures, 100 without any"},
        {"penalty", TN_FIELD_REAL, AT(penalty), 0, 1e6, "X",
         "C times this times the squared moves of all parameters, in deviations, by the weights of the Gaussians"},
        {"soften", TN_FIELD_REAL, AT(soften), 0, 1e6, "X",
         "slope of the signed root as if X times the mean size were added to every value; 0: the exact gradient"},
        {"rate", TN_FIELD_REAL, AT(rate), 1e-12, 1e3, "X", "of adam, in deviations"},
        {"part", TN_FIELD_REAL, AT(part), 1e-6, 1, "F",
         "share of the descriptors of every picture that the gradient is made of, drawn anew in every round"},
        {"dropout", TN_FIELD_REAL, AT(dropout), 0, 0.999, "F",
         "share of the descriptors of every training picture that a round does without, in its vectors too"},
        {"threshold", TN_FIELD_REAL, AT(threshold), 0, 0.5, "X",
         "posteriors below X do not count in the gradient; 0: those below 2e-6"},
        {"holdout", TN_FIELD_REAL, AT(holdout), 0, 0.9, "F",
         "share of the pictures that choose C and the round, where no others are given; 0: none"},
        {"patience", TN_FIELD_INT, AT(patience), 0, 1e6, "N",
         "rounds in a row that the validation pictures find clearly worse than the best before the end; 0: all rounds"},
        {"intercept", TN_FIELD_YESNO, AT(intercept), 0, 0, "yes|no",
         "give the support vector machines an intercept; the paper has none, and gains what a constant gives for "
         "nothing"},
        {"twice", TN_FIELD_YESNO, AT(twice), 0, 0, "yes|no",
         "learn a mixture of twice as many Gaussians by EM too and tell which is better"},
        {"precision", TN_FIELD_CHOICE, AT(precision), 0, 0, "f32|f64", "of vectors and gradient; f64 is far slower"},
        {"cache", TN_FIELD_TEXT, AT(cache), 0, 0, "FILE",
         "keep the descriptors there, two bytes a value, instead of in memory, and go by them when they are there; "
         "they "
         "are projected ones, unless the projection is learned"},
        {"checkpoint", TN_FIELD_TEXT, AT(checkpoint), 0, 0, "FILE",
         "write the state there after every round, and go on from it, to the same bytes"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}
