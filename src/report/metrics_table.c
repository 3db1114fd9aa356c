/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics for people: one line per metric that exists for the task, with its interval where details are there, and on
 * request one line per class, the worst first. */
#include "report/cells.h"
#include "report/details_out.h"
#include "tenon/report.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct metric {
    const char *name;
    size_t offset;
    bool share;    /* a fraction, shown in percent beside the number */
    size_t figure; /* whose interval it has; of the metrics of a class none */
} metric;

static const metric overall[] = {
    {"accuracy", offsetof(tn_metrics, accuracy), true, TNP_CV_ACCURACY},
    {"top 5 accuracy", offsetof(tn_metrics, top5_accuracy), true, TNP_CV_TOP5},
    {"mean class accuracy", offsetof(tn_metrics, mean_class_accuracy), true, TNP_CV_MEAN_CLASS},
    {"balanced accuracy", offsetof(tn_metrics, balanced_accuracy), true, TNP_CV_BALANCED},
    {"mean AP", offsetof(tn_metrics, mean_ap), true, TNP_CV_MEAN_AP},
    {"mean AP (VOC 2007)", offsetof(tn_metrics, mean_ap_voc07), true, TNP_CV_MEAN_AP_VOC07},
    {"mean AUC", offsetof(tn_metrics, mean_auc), true, TNP_CV_MEAN_AUC},
    {"r2", offsetof(tn_metrics, r2), false, TNP_CV_R2},
    {"mean squared error", offsetof(tn_metrics, mse), false, TNP_CV_MSE},
    {"negative log-likelihood", offsetof(tn_metrics, nll), false, TNP_CV_NLL},
    {"calibration error", offsetof(tn_metrics, ece), true, TNP_CV_ECE},
};

static const metric by_class[] = {
    {"accuracy", offsetof(tn_class_metrics, accuracy), true, TNP_FIGURES},
    {"balanced", offsetof(tn_class_metrics, balanced_accuracy), true, TNP_FIGURES},
    {"AP", offsetof(tn_class_metrics, ap), true, TNP_FIGURES},
    {"AP07", offsetof(tn_class_metrics, ap_voc07), true, TNP_FIGURES},
    {"AUC", offsetof(tn_class_metrics, auc), true, TNP_FIGURES},
    {"r2", offsetof(tn_class_metrics, r2), false, TNP_FIGURES},
    {"mse", offsetof(tn_class_metrics, mse), false, TNP_FIGURES},
};
enum { CLASS_METRICS = sizeof by_class / sizeof *by_class };

static double value_at(const void *object, const metric *m)
{
    return *(const double *)(const void *)((const char *)object + m->offset);
}

static void cell_value(tnp_table *table, double value, bool share)
{
    if (share && !isnan(value))
        tnp_table_cell(table, "%.4f", value);
    else
        tnp_table_value(table, value);
}

static void cell_interval(tnp_table *table, const tnp_interval *interval)
{
    if (isnan(interval->low))
        tnp_table_cell(table, "%s", "");
    else
        tnp_table_cell(table, "%.4f to %.4f", interval->low, interval->high);
}

static void add_overall(tnp_text *text, const tn_metrics *metrics, bool color)
{
    tnp_table table;
    const tn_details *d = metrics->details;
    tnp_table_init(&table, text->ctx, d ? "lrrl" : "lrr");
    tnp_table_cell(&table, "metric");
    tnp_table_cell(&table, "value");
    tnp_table_cell(&table, "%%");
    if (d)
        tnp_table_cell(&table, "95 %% interval");
    for (size_t i = 0; i < sizeof overall / sizeof *overall; ++i) {
        double value = value_at(metrics, &overall[i]);
        if (isnan(value))
            continue;
        tnp_table_cell(&table, "%s", overall[i].name);
        tnp_table_cell(&table, "%.4f", value);
        if (overall[i].share)
            tnp_table_cell(&table, "%.1f", 100 * value);
        else
            tnp_table_cell(&table, "%s", "");
        if (d)
            cell_interval(&table, &d->intervals[overall[i].figure]);
    }
    tnp_table_finish(&table, text, color);
}

static bool any_class_has(const tn_metrics *metrics, const metric *m)
{
    for (size_t k = 0; k < metrics->classes; ++k)
        if (!isnan(value_at(&metrics->per_class[k], m)))
            return true;
    return false;
}

/* Cells of class k: name, positives, the metrics that some class has, and of details what it is taken for. */
static void cells_of_class(tnp_table *table, const tn_metrics *metrics, const char *const *names, size_t k,
                           const metric *const *shown, size_t count)
{
    const tn_details *d = metrics->details;
    tnp_table_cell(table, "%s", names[k]);
    tnp_table_cell(table, "%zu", metrics->per_class[k].positives);
    for (size_t i = 0; i < count; ++i)
        cell_value(table, value_at(&metrics->per_class[k], shown[i]), shown[i]->share);
    if (!d || !d->tallies)
        return;
    tnp_prf prf = tnp_prf_of(&d->tallies[k]);
    cell_value(table, prf.precision, true);
    if (!d->cells) /* of rows with one class it is the accuracy */
        cell_value(table, prf.recall, true);
    cell_value(table, prf.f1, true);
    if (!d->cells)
        return;
    size_t times = 0, other = tnp_taken_for(d, k, &times);
    if (times == 0)
        tnp_table_cell(table, "%s", "");
    else
        tnp_table_cell(table, "%s (%zu)", names[other], times);
}

static void add_classes(tnp_text *text, const tn_metrics *metrics, const char *const *names, const size_t *order,
                        bool color)
{
    const metric *shown[CLASS_METRICS];
    const tn_details *d = metrics->details;
    char align[CLASS_METRICS + 7] = "lr";
    size_t count = 0;
    for (size_t i = 0; i < CLASS_METRICS; ++i)
        if (any_class_has(metrics, &by_class[i])) {
            align[count + 2] = 'r';
            shown[count++] = &by_class[i];
        }
    if (d && d->tallies)
        strcat(align, d->cells ? "rrl" : "rrr");
    tnp_table table;
    tnp_table_init(&table, text->ctx, align);
    tnp_table_cell(&table, "class");
    tnp_table_cell(&table, "positives");
    for (size_t i = 0; i < count; ++i)
        tnp_table_cell(&table, "%s", shown[i]->name);
    if (d && d->tallies) {
        tnp_table_cell(&table, "precision");
        if (!d->cells)
            tnp_table_cell(&table, "recall");
        tnp_table_cell(&table, "F1");
    }
    if (d && d->cells)
        tnp_table_cell(&table, "mostly taken for");
    for (size_t k = 0; k < metrics->classes; ++k)
        cells_of_class(&table, metrics, names, order ? order[k] : k, shown, count);
    tnp_table_finish(&table, text, color);
}

tn_status tn_metrics_table(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names, bool per_class,
                           bool color, char **out)
{
    tnp_text text;
    size_t *order = NULL;
    tn_status st = per_class && metrics->details ? tnp_worst_first(ctx, metrics, &order) : TN_OK;
    if (st != TN_OK)
        return st;
    tnp_text_init_shown(&text, ctx);
    add_overall(&text, metrics, color);
    if (per_class) {
        tnp_text_add(&text, "\n");
        add_classes(&text, metrics, class_names, order, color);
        tnp_free(order);
    }
    tnp_text_raw(&text, "\n");
    if (metrics->details)
        tnp_details_text(&text, metrics, class_names, color);
    tnp_text_add(&text, "%zu rows, %zu %s, %s.\n", metrics->rows, metrics->classes,
                 metrics->task == TN_TASK_REGRESSION ? "outputs" : "classes", tn_task_name(metrics->task));
    return tnp_text_take(&text, out);
}
