/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The methods of a fit, one line each: everything else that goes by the method is made from this table. A new one is a
 * line here and a function that trains. */
#ifndef TNP_METHODS_H
#define TNP_METHODS_H

#include "base/options.h"
#include "learn/online/online_rules.h"
#include "tenon/learn.h"

/* Options that not every method has a use for; which ones they are stands in methods.c. */
enum {
    TNP_USES_LAMBDA = 1,
    TNP_USES_COST = 2,
    TNP_USES_MARGIN = 4,
    TNP_USES_SOLVER = 8,
    TNP_USES_FOLDS = 16,
    TNP_USES_GRID = 32,
    TNP_USES_CALIBRATE = 64,
    TNP_USES_ONLINE = 128,
    TNP_USES_HOLDOUT = 256,
    TNP_USES_BUDGET = 512,
    TNP_USES_THRESHOLD = 1024
};
#define TNP_USES_SVM (TNP_USES_MARGIN | TNP_USES_SOLVER | TNP_USES_FOLDS | TNP_USES_CALIBRATE | TNP_USES_HOLDOUT)
#define TNP_USES_RIDGE (TNP_USES_CALIBRATE | TNP_USES_HOLDOUT | TNP_USES_THRESHOLD)
#define TNP_USES_LDA (TNP_USES_FOLDS | TNP_USES_GRID | TNP_USES_CALIBRATE | TNP_USES_HOLDOUT)
#define TNP_USES_RULE (TNP_USES_COST | TNP_USES_ONLINE)

/* name, word, family, trained by, goes by the evidence, cross-validates, rule of the online ones, options it has a use
 * for */
#define TNP_METHODS(X)                                                                                                 \
    X(AUTO, "auto", AUTO, auto, true, false, 0, TNP_USES_FOLDS | TNP_USES_RIDGE | TNP_USES_BUDGET)                     \
    X(EVIDENCE, "evidence", RIDGE, ridge, true, false, 0, TNP_USES_LAMBDA | TNP_USES_RIDGE)                            \
    X(RIDGE_CV, "ridge-cv", RIDGE, ridge, true, true, 0, TNP_USES_FOLDS | TNP_USES_GRID | TNP_USES_RIDGE)              \
    X(LDA, "lda", RIDGE, lda, true, true, 0, TNP_USES_LAMBDA | TNP_USES_LDA)                                           \
    X(SVM, "svm", LINEAR, linear, false, false, 0, TNP_USES_SVM | TNP_USES_COST)                                       \
    X(SVM_CV, "svm-cv", LINEAR, linear, false, true, 0, TNP_USES_SVM | TNP_USES_GRID)                                  \
    X(LOGISTIC, "logistic", LINEAR, linear, false, false, 0, (TNP_USES_SVM & ~TNP_USES_MARGIN) | TNP_USES_COST)        \
    X(LOGISTIC_CV, "logistic-cv", LINEAR, linear, false, true, 0, (TNP_USES_SVM & ~TNP_USES_MARGIN) | TNP_USES_GRID)   \
    X(PERCEPTRON, "perceptron", ONLINE, online, false, false, TNP_PERCEPTRON, TNP_USES_RULE)                           \
    X(SGD, "sgd", ONLINE, online, false, false, TNP_SGD, TNP_USES_RULE)                                                \
    X(PA, "pa", ONLINE, online, false, false, TNP_PA, TNP_USES_RULE)                                                   \
    X(PA2, "pa2", ONLINE, online, false, false, TNP_PA2, TNP_USES_RULE)                                                \
    X(CW, "cw", ONLINE, online, false, false, TNP_CW, TNP_USES_RULE)                                                   \
    X(AROW, "arow", ONLINE, online, false, false, TNP_AROW, TNP_USES_RULE)                                             \
    X(NHERD, "nherd", ONLINE, online, false, false, TNP_NHERD, TNP_USES_RULE)                                          \
    X(SCW, "scw", ONLINE, online, false, false, TNP_SCW, TNP_USES_RULE)                                                \
    X(SCW2, "scw2", ONLINE, online, false, false, TNP_SCW2, TNP_USES_RULE)

#define TNP_METHOD_NAME(name, ...) TNP_METHOD_##name,
typedef enum tnp_method_name { TNP_METHODS(TNP_METHOD_NAME) TNP_METHOD_COUNT } tnp_method_name;

/* "evidence|ridge-cv|...": every word with a bar before it, less the first bar. */
#define TNP_METHOD_WORD(name, word, ...) "|" word
#define TNP_METHOD_WORDS (&("" TNP_METHODS(TNP_METHOD_WORD))[1])

typedef enum tnp_family { TNP_FAMILY_AUTO, TNP_FAMILY_RIDGE, TNP_FAMILY_LINEAR, TNP_FAMILY_ONLINE } tnp_family;

typedef struct tnp_chosen tnp_chosen;

typedef struct tnp_method {
    tnp_method_uses uses; /* word, family, options */
    tn_status (*train)(tn_ctx *ctx, const tnp_chosen *chosen, tn_head **out);
    bool evidence;        /* its head is made from the evidence: there is no training without */
    bool cross_validates; /* unless told not to: tnp_chooses of pipeline/options.h */
    tnp_online_rule rule; /* online methods only */
} tnp_method;

/* By its name; by its place for the options, NULL behind the last. */
const tnp_method *tnp_method_of(int name);
const tnp_method_uses *tnp_method_at(size_t i);
enum { TNP_FIT_USE_COUNT = 11 };
extern const tnp_use tnp_fit_uses[TNP_FIT_USE_COUNT];

/* ---- the methods of a transfer ---- */

enum { TNP_USES_GREEDY_LAMBDA = 1, TNP_USES_PICKS = 2 };
#define TNP_USES_GREEDY (TNP_USES_GREEDY_LAMBDA | TNP_USES_PICKS)

/* name, word, family, learns from features only, options it has a use for */
#define TNP_TRANSFERS(X)                                                                                               \
    X(AUTO, "auto", BEST, false, TNP_USES_GREEDY) /* none, rls or greedytl, by leave-one-out error */                  \
    X(GREEDYTL, "greedytl", GREEDY, false, TNP_USES_GREEDY)                                                            \
    X(NONE, "none", RIDGE, true, 0)                                                                                    \
    X(AVERAGE, "average", AVERAGE, false, 0)                                                                           \
    X(RLS, "rls", RIDGE, false, 0)                                                                                     \
    X(FORWARD, "forward", GREEDY, false, TNP_USES_PICKS)                                                               \
    X(L1_LOGISTIC, "l1-logistic", LOGISTIC, false, 0)                                                                  \
    X(ELASTIC_NET, "elastic-net", LOGISTIC, false, 0)                                                                  \
    X(MULTIKT_L2, "multikt-l2", MULTIKT, true, 0)                                                                      \
    X(MULTIKT_L1, "multikt-l1", MULTIKT, true, 0)                                                                      \
    X(DAM, "dam", RIDGE, true, 0)

#define TNP_TRANSFER_NAME(name, ...) TNP_TRANSFER_BY_##name,
typedef enum tnp_transfer_name { TNP_TRANSFERS(TNP_TRANSFER_NAME) TNP_TRANSFER_BY_COUNT } tnp_transfer_name;
#define TNP_TRANSFER_WORDS (&("" TNP_TRANSFERS(TNP_METHOD_WORD))[1])

typedef enum tnp_transfer_family {
    TNP_TRANSFER_BEST,    /* of several */
    TNP_TRANSFER_GREEDY,  /* picks column after column */
    TNP_TRANSFER_RIDGE,   /* on all columns, on features, on what the sources predict */
    TNP_TRANSFER_AVERAGE, /* of the sources */
    TNP_TRANSFER_LOGISTIC,
    TNP_TRANSFER_MULTIKT
} tnp_transfer_family;

typedef struct tnp_transfer_method {
    tnp_method_uses uses; /* word, family, options */
    bool features;        /* has nothing to learn but features */
} tnp_transfer_method;

const tnp_transfer_method *tnp_transfer_method_of(int name);
const tnp_method_uses *tnp_transfer_method_at(size_t i);
enum { TNP_TRANSFER_USE_COUNT = 2 };
extern const tnp_use tnp_transfer_uses[TNP_TRANSFER_USE_COUNT];

#endif
