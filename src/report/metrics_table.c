/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics for people: one line per metric that exists for the task, and on request one line per class. */
#include "report/cells.h"
#include "tenon/report.h"

#include <math.h>
#include <stddef.h>

typedef struct metric {
    const char *name;
    size_t offset;
    bool share; /* a fraction, shown in percent beside the number */
} metric;

static const metric overall[] = {
    {"accuracy", offsetof(tn_metrics, accuracy), true},
    {"top 5 accuracy", offsetof(tn_metrics, top5_accuracy), true},
    {"mean class accuracy", offsetof(tn_metrics, mean_class_accuracy), true},
    {"balanced accuracy", offsetof(tn_metrics, balanced_accuracy), true},
    {"mean AP", offsetof(tn_metrics, mean_ap), true},
    {"mean AP (VOC 2007)", offsetof(tn_metrics, mean_ap_voc07), true},
    {"mean AUC", offsetof(tn_metrics, mean_auc), true},
    {"r2", offsetof(tn_metrics, r2), false},
    {"mean squared error", offsetof(tn_metrics, mse), false},
    {"negative log-likelihood", offsetof(tn_metrics, nll), false},
    {"calibration error", offsetof(tn_metrics, ece), true},
};

static const metric by_class[] = {
    {"accuracy", offsetof(tn_class_metrics, accuracy), true},
    {"balanced", offsetof(tn_class_metrics, balanced_accuracy), true},
    {"AP", offsetof(tn_class_metrics, ap), true},
    {"AP07", offsetof(tn_class_metrics, ap_voc07), true},
    {"AUC", offsetof(tn_class_metrics, auc), true},
    {"r2", offsetof(tn_class_metrics, r2), false},
    {"mse", offsetof(tn_class_metrics, mse), false},
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

static void add_overall(tnp_text *text, const tn_metrics *metrics, bool color)
{
    tnp_table table;
    tnp_table_init(&table, text->ctx, "lrr");
    tnp_table_cell(&table, "metric");
    tnp_table_cell(&table, "value");
    tnp_table_cell(&table, "%%");
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

static void add_classes(tnp_text *text, const tn_metrics *metrics, const char *const *names, bool color)
{
    const metric *shown[CLASS_METRICS];
    char align[CLASS_METRICS + 3] = "lr";
    size_t count = 0;
    for (size_t i = 0; i < CLASS_METRICS; ++i)
        if (any_class_has(metrics, &by_class[i])) {
            align[count + 2] = 'r';
            shown[count++] = &by_class[i];
        }
    tnp_table table;
    tnp_table_init(&table, text->ctx, align);
    tnp_table_cell(&table, "class");
    tnp_table_cell(&table, "positives");
    for (size_t i = 0; i < count; ++i)
        tnp_table_cell(&table, "%s", shown[i]->name);
    for (size_t k = 0; k < metrics->classes; ++k) {
        tnp_table_cell(&table, "%s", names[k]);
        tnp_table_cell(&table, "%zu", metrics->per_class[k].positives);
        for (size_t i = 0; i < count; ++i)
            cell_value(&table, value_at(&metrics->per_class[k], shown[i]), shown[i]->share);
    }
    tnp_table_finish(&table, text, color);
}

tn_status tn_metrics_table(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names, bool per_class,
                           bool color, char **out)
{
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    add_overall(&text, metrics, color);
    if (per_class) {
        tnp_text_add(&text, "\n");
        add_classes(&text, metrics, class_names, color);
    }
    tnp_text_add(&text, "\n%zu rows, %zu %s, %s.\n", metrics->rows, metrics->classes,
                 metrics->task == TN_TASK_REGRESSION ? "outputs" : "classes", tn_task_name(metrics->task));
    return tnp_text_take(&text, out);
}
