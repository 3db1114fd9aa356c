/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cross-validation's result: figures of every fold, asked for by the name of the metric. */
#include "evaluate/cv_result.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(tn_metrics, member)
const tnp_cv_metric tnp_cv_metrics[TNP_CV_METRICS] = {
    [TNP_CV_ACCURACY] = {"accuracy", "accuracy", AT(accuracy), false},
    [TNP_CV_TOP5] = {"top5_accuracy", "top 5 accuracy", AT(top5_accuracy), false},
    [TNP_CV_MEAN_CLASS] = {"mean_class_accuracy", "mean class accuracy", AT(mean_class_accuracy), false},
    [TNP_CV_MEAN_AP] = {"mean_ap", "mean AP", AT(mean_ap), false},
    [TNP_CV_MEAN_AP_VOC07] = {"mean_ap_voc07", "mean AP (VOC 2007)", AT(mean_ap_voc07), false},
    [TNP_CV_MEAN_AUC] = {"mean_auc", "mean AUC", AT(mean_auc), false},
    [TNP_CV_BALANCED] = {"balanced_accuracy", "balanced accuracy", AT(balanced_accuracy), false},
    [TNP_CV_R2] = {"r2", "r2", AT(r2), false},
    [TNP_CV_MSE] = {"mse", "mean squared error", AT(mse), true},
    [TNP_CV_NLL] = {"nll", "negative log-likelihood", AT(nll), true},
    [TNP_CV_ECE] = {"ece", "calibration error", AT(ece), true},
};

static tn_status method_init(tn_ctx *ctx, size_t count, tnp_cv_method *m)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, TNP_CV_METRICS * count, sizeof *m->values, &m->values));
    TN_TRY(tnp_alloc(ctx, count, sizeof *m->selected, &m->selected));
    TN_TRY(tnp_alloc(ctx, count, sizeof *m->cost, &m->cost));
    for (size_t i = 0; i < TNP_CV_METRICS * count; ++i)
        m->values[i] = (double)NAN;
    for (size_t i = 0; i < count; ++i)
        m->cost[i] = (double)NAN;
done:
    return st;
}

tn_status tnp_cv_result_new(tn_ctx *ctx, const tn_cv_result *sizes, bool scores, tn_cv_result **out)
{
    tn_status st = TN_OK;
    tn_cv_result *r = NULL;
    size_t count = 0, rows = 0, cells = 0;
    TN_TRY(tnp_mul(ctx, sizes->folds, sizes->repeats, &count));
    TN_TRY(tnp_mul(ctx, sizes->file_rows, sizes->repeats, &rows));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    *r = *sizes;
    memset(r->methods, 0, sizeof r->methods);
    r->fold = NULL;
    r->scores = NULL;
    TN_TRY(tnp_alloc_raw(ctx, rows, sizeof *r->fold, &r->fold));
    memset(r->fold, 0xff, rows * sizeof *r->fold);
    for (size_t m = 0; m < r->method_count; ++m)
        TN_TRY(method_init(ctx, count, &r->methods[m]));
    if (scores) {
        TN_TRY(tnp_mul(ctx, r->file_rows, r->classes, &cells));
        TN_TRY(tnp_alloc_raw(ctx, cells, sizeof *r->scores, &r->scores));
        for (size_t i = 0; i < cells; ++i)
            r->scores[i] = NAN;
    }
    *out = r;
    r = NULL;
done:
    tn_cv_free(r);
    return st;
}

void tn_cv_free(tn_cv_result *r)
{
    if (!r)
        return;
    for (size_t m = 0; m < r->method_count; ++m) {
        tnp_cv_method *method = &r->methods[m];
        for (size_t j = 0; method->selected && j < r->folds * r->repeats; ++j)
            tnp_free(method->selected[j]);
        tnp_free_all(method->selected, method->values, method->cost);
    }
    tnp_free_all(r->fold, r->scores, r);
}

/* ---- figures ---- */

size_t tnp_cv_metric_of(const char *name)
{
    for (size_t i = 0; i < TNP_CV_METRICS; ++i)
        if (strcmp(tnp_cv_metrics[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

size_t tnp_cv_main(const tn_cv_result *r)
{
    return r->task == TN_TASK_MULTICLASS ? TNP_CV_ACCURACY : r->task == TN_TASK_MULTILABEL ? TNP_CV_MEAN_AP : TNP_CV_R2;
}

const double *tnp_cv_values(const tn_cv_result *r, size_t method, size_t metric)
{
    return r->methods[method].values + metric * r->folds * r->repeats;
}

bool tnp_cv_exists(const tn_cv_result *r, size_t metric)
{
    for (size_t m = 0; m < r->method_count; ++m)
        for (size_t j = 0; j < r->folds * r->repeats; ++j)
            if (!isnan(tnp_cv_values(r, m, metric)[j]))
                return true;
    return false;
}

tnp_resampled tnp_cv_mean(const tn_cv_result *r, size_t method, size_t metric)
{
    return tnp_resample(tnp_cv_values(r, method, metric), r->folds * r->repeats, r->ratio);
}

tnp_resampled tnp_cv_difference(const tn_cv_result *r, size_t metric)
{
    return tnp_resample_pairs(tnp_cv_values(r, 0, metric), tnp_cv_values(r, 1, metric), r->folds * r->repeats,
                              r->ratio);
}

/* ---- for callers ---- */

size_t tn_cv_folds(const tn_cv_result *r)
{
    return r->folds;
}

size_t tn_cv_repeats(const tn_cv_result *r)
{
    return r->repeats;
}

size_t tn_cv_rows(const tn_cv_result *r)
{
    return r->file_rows;
}

size_t tn_cv_classes(const tn_cv_result *r)
{
    return r->classes;
}

const char *tn_cv_method(const tn_cv_result *r, size_t method)
{
    return method < r->method_count ? r->methods[method].word : NULL;
}

const char *tn_cv_metric(const tn_cv_result *r, size_t i)
{
    size_t main = tnp_cv_main(r);
    if (i == 0)
        return tnp_cv_metrics[main].name;
    for (size_t metric = 0; metric < TNP_CV_METRICS; ++metric)
        if (metric != main && tnp_cv_exists(r, metric) && --i == 0)
            return tnp_cv_metrics[metric].name;
    return NULL;
}

const double *tn_cv_values(const tn_cv_result *r, size_t method, const char *metric)
{
    size_t place = tnp_cv_metric_of(metric);
    return method < r->method_count && place != SIZE_MAX ? tnp_cv_values(r, method, place) : NULL;
}

bool tn_cv_mean(const tn_cv_result *r, size_t method, const char *metric, double *mean, double *se)
{
    size_t place = tnp_cv_metric_of(metric);
    if (method >= r->method_count || place == SIZE_MAX || !tnp_cv_exists(r, place))
        return false;
    tnp_resampled figure = tnp_cv_mean(r, method, place);
    *mean = figure.mean;
    *se = figure.se;
    return true;
}

bool tn_cv_compare(const tn_cv_result *r, const char *metric, double *difference, double *se, double *p)
{
    size_t place = tnp_cv_metric_of(metric);
    if (r->method_count < 2 || place == SIZE_MAX || !tnp_cv_exists(r, place))
        return false;
    tnp_resampled figure = tnp_cv_difference(r, place);
    *difference = figure.mean;
    *se = figure.se;
    *p = figure.p;
    return true;
}

const char *tn_cv_selected(const tn_cv_result *r, size_t method, size_t fold)
{
    return method < r->method_count && fold < r->folds * r->repeats ? r->methods[method].selected[fold] : NULL;
}

double tn_cv_seconds(const tn_cv_result *r, size_t method)
{
    return method < r->method_count ? r->methods[method].seconds : (double)NAN;
}

const uint32_t *tn_cv_fold_of(const tn_cv_result *r, size_t repeat)
{
    return repeat < r->repeats ? r->fold + repeat * r->file_rows : NULL;
}

const float *tn_cv_scores(const tn_cv_result *r)
{
    return r->scores;
}
