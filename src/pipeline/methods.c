/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of methods, and what is made from it. */
#include "pipeline/methods.h"
#include "pipeline/parts.h"

#define ROW(name, word, family, trainer, evidence, cross, rule, uses)                                                  \
    {{word, TNP_FAMILY_##family, uses}, tnp_train_##trainer, evidence, cross, rule},
static const tnp_method methods[] = {TNP_METHODS(ROW)};

const tnp_use tnp_fit_uses[TNP_FIT_USE_COUNT] = {
    {TNP_USES_LAMBDA, "lambda", NULL},
    {TNP_USES_COST, "C", NULL},
    {TNP_USES_MARGIN, "loss|penalise-bias", NULL},
    {TNP_USES_SOLVER, "mean-cost|gap|max-passes", NULL},
    {TNP_USES_FOLDS, "folds", "auto, ridge-cv, lda, svm-cv, logistic-cv, with option calibrate yes also svm, logistic"},
    {TNP_USES_GRID, "grid", NULL},
    {TNP_USES_CALIBRATE, "calibrate", NULL},
    {TNP_USES_HOLDOUT, "holdout", NULL},
    {TNP_USES_ONLINE, "from|multiclass|average|no-average|epochs|eta|shuffle|ratio|patience|tune|checkpoint", NULL},
    {TNP_USES_BUDGET, "budget", NULL},
    {TNP_USES_THRESHOLD, "threshold", NULL},
};

const tnp_method *tnp_method_of(int name)
{
    return &methods[name];
}

const tnp_method_uses *tnp_method_at(size_t i)
{
    return i < TNP_METHOD_COUNT ? &methods[i].uses : NULL;
}

bool tnp_chooses(const tnp_fit_options *options)
{
    const tnp_method *m = &methods[options->method];
    return m->cross_validates && !(m->uses.uses & TNP_USES_LAMBDA && options->lambda.word == TNP_LAMBDA_FIXED);
}

bool tn_method_needs_evidence(const char *word)
{
    int name = tnp_find_choice(TNP_METHOD_WORDS, word);
    return name >= 0 && methods[name].evidence;
}

/* ---- transfer ---- */

#define TRANSFER_ROW(name, word, family, features, uses) {{word, TNP_TRANSFER_##family, uses}, features},
static const tnp_transfer_method transfers[] = {TNP_TRANSFERS(TRANSFER_ROW)};

const tnp_use tnp_transfer_uses[TNP_TRANSFER_USE_COUNT] = {
    {TNP_USES_GREEDY_LAMBDA, "lambda", NULL},
    {TNP_USES_PICKS, "k|delta", NULL},
};

const tnp_transfer_method *tnp_transfer_method_of(int name)
{
    return &transfers[name];
}

const tnp_method_uses *tnp_transfer_method_at(size_t i)
{
    return i < TNP_TRANSFER_BY_COUNT ? &transfers[i].uses : NULL;
}
