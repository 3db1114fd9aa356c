/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Details of metrics as JSON, and as tables for people. Lists are short whatever the number of rows: cells of the
 * confusion matrix that are not 0, PAIRS confused pairs, ROWS mistakes; curves per class up to CURVES classes, beyond
 * that their mean only. */
#include "report/details_out.h"
#include "report/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 50, SHOWN_PAIRS = 5, ROWS = 24, CURVES = 100 };

/* ---- JSON ---- */

static void add_prf(tnp_text *text, const char *name, tnp_prf value, bool first)
{
    tnp_text_add(text, "%s\"%s\":{\"precision\":", first ? "" : ",", name);
    tnp_text_number(text, value.precision);
    tnp_text_value(text, "recall", value.recall);
    tnp_text_value(text, "f1", value.f1);
    tnp_text_add(text, "}");
}

static void add_residuals(tnp_text *text, const tnp_residuals *r)
{
    tnp_text_add(text, ",\"residuals\":{\"mean\":");
    tnp_text_number(text, r->mean);
    tnp_text_value(text, "sd", r->sd);
    tnp_text_value(text, "mean_absolute", r->mean_absolute);
    tnp_text_value(text, "correlation", r->correlation);
    tnp_text_numbers(text, "quantile_levels", tnp_quantile_levels, TNP_QUANTILES);
    tnp_text_numbers(text, "quantiles", r->quantiles, TNP_QUANTILES);
    tnp_text_value(text, "low", r->low);
    tnp_text_value(text, "high", r->high);
    tnp_text_add(text, ",\"histogram\":[");
    for (size_t i = 0; i < TNP_HIST; ++i)
        tnp_text_add(text, "%s%zu", i ? "," : "", r->bars[i]);
    tnp_text_add(text, "]}");
}

void tnp_class_details_json(tnp_text *text, const tn_details *d, size_t k)
{
    if (d->residuals) {
        add_residuals(text, &d->residuals[k]);
        return;
    }
    const tnp_tally *t = &d->tallies[k];
    tnp_prf prf = tnp_prf_of(t);
    tnp_interval recall = tnp_wilson(t->hits, t->support);
    tnp_text_value(text, "precision", prf.precision);
    tnp_text_value(text, "recall", prf.recall);
    tnp_text_value(text, "f1", prf.f1);
    tnp_text_add(text, ",\"support\":%zu,\"predicted\":%zu,\"hits\":%zu", t->support, t->predicted, t->hits);
    if (t->support > 0)
        tnp_text_numbers(text, "recall_interval", (const double[]){recall.low, recall.high}, 2);
}

static void add_intervals(tnp_text *text, const tn_details *d)
{
    tnp_text_add(text, ",\"intervals\":{\"level\":0.95,\"resamples\":%zu", d->resamples);
    for (size_t f = 0; f < TNP_FIGURES; ++f) {
        const tnp_interval *i = &d->intervals[f];
        if (isnan(i->low))
            continue;
        tnp_text_add(text, ",\"%s\":{\"low\":", tnp_figure_name(f));
        tnp_text_number(text, i->low);
        tnp_text_value(text, "high", i->high);
        if (!isnan(i->se))
            tnp_text_value(text, "se", i->se);
        tnp_text_add(text, ",\"by\":\"%s\"}", isnan(i->se) ? "wilson" : "bootstrap");
    }
    tnp_text_add(text, "}");
}

static int most_first(const void *a, const void *b)
{
    const tnp_cell *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->truth != y->truth)
        return x->truth < y->truth ? -1 : 1;
    return x->predicted < y->predicted ? -1 : x->predicted > y->predicted;
}

/* The largest cells outside the diagonal, at most PAIRS. */
static size_t confused_pairs(const tn_details *d, tnp_cell out[PAIRS])
{
    size_t count = 0;
    for (size_t i = 0; i < d->cell_count; ++i) {
        const tnp_cell *cell = &d->cells[i];
        if (cell->truth == cell->predicted || (count == PAIRS && most_first(cell, &out[PAIRS - 1]) > 0))
            continue;
        size_t at = count < PAIRS ? count++ : PAIRS - 1;
        for (; at > 0 && most_first(cell, &out[at - 1]) < 0; --at)
            out[at] = out[at - 1];
        out[at] = *cell;
    }
    return count;
}

static void add_confusion(tnp_text *text, const tn_details *d, const char *const *names)
{
    tnp_cell pairs[PAIRS];
    tnp_text_add(text, ",\"confusion\":[");
    for (size_t i = 0; i < d->cell_count; ++i)
        tnp_text_add(text, "%s[%u,%u,%zu]", i ? "," : "", (unsigned)d->cells[i].truth, (unsigned)d->cells[i].predicted,
                     d->cells[i].count);
    tnp_text_add(text, "],\"confused\":[");
    size_t count = confused_pairs(d, pairs);
    for (size_t i = 0; i < count; ++i) {
        tnp_text_add(text, "%s{\"true\":", i ? "," : "");
        tnp_text_quote(text, names[pairs[i].truth]);
        tnp_text_add(text, ",\"predicted\":");
        tnp_text_quote(text, names[pairs[i].predicted]);
        tnp_text_add(text, ",\"count\":%zu", pairs[i].count);
        tnp_text_value(text, "share", (double)pairs[i].count / (double)d->tallies[pairs[i].truth].support);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "]");
    tnp_text_numbers(text, "top_k", d->top, d->top_count);
}

/* Rows that are decided wrong, or right, with the largest confidence, of class k or of all (SIZE_MAX). */
static size_t surest_rows(const tn_details *d, bool right, size_t k, size_t most, size_t *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->labels->rows; ++i) {
        if (!d->scored[i] || (d->place[i] == 0) != right || (k != SIZE_MAX && d->predicted[i] != k) ||
            (count == most && !(d->confidence[i] > d->confidence[out[most - 1]])))
            continue;
        size_t at = count < most ? count++ : most - 1;
        for (; at > 0 && d->confidence[i] > d->confidence[out[at - 1]]; --at)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return count;
}

static void add_row(tnp_text *text, const tn_details *d, const char *const *names, size_t i, bool first)
{
    const tn_labels *labels = d->labels;
    tnp_text_add(text, "%s{\"row\":%zu", first ? "" : ",", i);
    if (labels->ids) {
        tnp_text_add(text, ",\"id\":");
        tnp_text_quote(text, labels->ids[i]);
    }
    tnp_text_add(text, ",\"true\":");
    tnp_text_quote(text, names[labels->cls[labels->first[i]]]);
    tnp_text_add(text, ",\"predicted\":");
    tnp_text_quote(text, names[d->predicted[i]]);
    tnp_text_value(text, d->has_probabilities ? "probability" : "lead", (double)d->confidence[i]);
    tnp_text_add(text, "}");
}

static void add_rows(tnp_text *text, const tn_details *d, const char *const *names)
{
    size_t rows[ROWS];
    size_t count = surest_rows(d, false, SIZE_MAX, ROWS, rows);
    tnp_text_add(text, ",\"mistakes\":[");
    for (size_t i = 0; i < count; ++i)
        add_row(text, d, names, rows[i], i == 0);
    tnp_text_add(text, "],\"typical\":[");
    bool first = true;
    for (size_t k = 0; d->labels->classes <= CURVES && k < d->labels->classes; ++k)
        if (surest_rows(d, true, k, 1, rows) > 0) {
            add_row(text, d, names, rows[0], first);
            first = false;
        }
    tnp_text_add(text, "]");
}

static void add_reliability(tnp_text *text, const tn_details *d)
{
    tnp_text_add(text, ",\"reliability\":[");
    for (size_t b = 0; b < TNP_BINS; ++b) {
        const tnp_bin *bin = &d->bins[b];
        double count = bin->count ? (double)bin->count : (double)NAN;
        tnp_text_add(text, "%s{\"confidence\":", b ? "," : "");
        tnp_text_number(text, bin->confidence / count);
        tnp_text_value(text, "accuracy", (double)bin->right / count);
        tnp_text_add(text, ",\"rows\":%zu}", bin->count);
    }
    tnp_text_add(text, "]");
}

/* Four digits behind the point: points of a picture. */
static void add_points(tnp_text *text, const char *key, const double *values, bool first)
{
    tnp_text_add(text, "%s\"%s\":[", first ? "" : ",", key);
    for (size_t i = 0; i < TNP_POINTS; ++i)
        tnp_text_add(text, "%s%.4g", i ? "," : "", values[i]);
    tnp_text_add(text, "]");
}

static bool mean_curve(const double *curves, size_t classes, double out[TNP_POINTS])
{
    double count = 0;
    for (size_t i = 0; i < TNP_POINTS; ++i)
        out[i] = 0;
    for (size_t c = 0; c < classes; ++c) {
        if (isnan(curves[c * TNP_POINTS]))
            continue;
        count += 1;
        for (size_t i = 0; i < TNP_POINTS; ++i)
            out[i] += curves[c * TNP_POINTS + i];
    }
    for (size_t i = 0; i < TNP_POINTS; ++i)
        out[i] /= count;
    return count > 0;
}

static void add_curves(tnp_text *text, const tn_details *d)
{
    double rates[TNP_POINTS], roc[TNP_POINTS], pr[TNP_POINTS];
    const size_t classes = d->labels->classes;
    if (!mean_curve(d->roc, classes, roc) || !mean_curve(d->pr, classes, pr))
        return;
    for (size_t i = 0; i < TNP_POINTS; ++i)
        rates[i] = (double)i / (TNP_POINTS - 1);
    tnp_text_add(text, ",\"curves\":{");
    add_points(text, "rates", rates, true);
    add_points(text, "mean_roc", roc, false);
    add_points(text, "mean_pr", pr, false);
    tnp_text_add(text, ",\"per_class\":");
    for (size_t c = 0; classes <= CURVES && c < classes; ++c) {
        tnp_text_add(text, c ? "," : "[");
        if (isnan(d->roc[c * TNP_POINTS])) {
            tnp_text_add(text, "null");
            continue;
        }
        tnp_text_add(text, "{");
        add_points(text, "roc", d->roc + c * TNP_POINTS, true);
        add_points(text, "pr", d->pr + c * TNP_POINTS, false);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, classes <= CURVES ? "]}" : "null}");
}

static void add_comparison(tnp_text *text, const tnp_comparison *c)
{
    tnp_text_add(text, ",\"comparison\":{\"with\":");
    tnp_text_quote(text, c->name);
    if (!isnan(c->mcnemar_p)) {
        tnp_text_add(text, ",\"mcnemar\":{\"only_first\":%zu,\"only_other\":%zu", c->only_first, c->only_other);
        tnp_text_value(text, "p", c->mcnemar_p);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, ",\"metrics\":{");
    for (size_t f = 0, shown = 0; f < TNP_FIGURES; ++f) {
        if (isnan(c->difference[f]))
            continue;
        tnp_text_add(text, "%s\"%s\":{\"difference\":", shown++ ? "," : "", tnp_figure_name(f));
        tnp_text_number(text, c->difference[f]);
        tnp_text_value(text, "se", c->se[f]);
        tnp_text_value(text, "p", c->p[f]);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "}}");
}

void tnp_details_json(tnp_text *text, const tn_metrics *metrics, const char *const *names)
{
    const tn_details *d = metrics->details;
    if (metrics->task != TN_TASK_REGRESSION) {
        tnp_text_add(text, ",\"averages\":{");
        add_prf(text, "micro", d->micro, true);
        add_prf(text, "macro", d->macro, false);
        add_prf(text, "weighted", d->weighted, false);
        tnp_text_add(text, "}");
        if (d->has_probabilities)
            add_reliability(text, d);
        add_curves(text, d);
    }
    if (metrics->task == TN_TASK_MULTICLASS) {
        add_confusion(text, d, names);
        add_rows(text, d, names);
    }
    add_intervals(text, d);
    if (d->comparison)
        add_comparison(text, d->comparison);
}

/* ---- for people ---- */

int tnp_order_worst(const void *a, const void *b)
{
    const tnp_ranked *x = a, *y = b;
    if (x->missed != y->missed)
        return x->missed > y->missed ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

tn_status tnp_worst_first(tn_ctx *ctx, const tn_metrics *metrics, size_t **out)
{
    tn_status st = TN_OK;
    tnp_ranked *list = NULL;
    size_t *order = NULL;
    const tn_details *d = metrics->details;
    TN_TRY(tnp_alloc(ctx, metrics->classes, sizeof *list, &list));
    TN_TRY(tnp_alloc(ctx, metrics->classes, sizeof *order, &order));
    for (size_t k = 0; k < metrics->classes; ++k) {
        list[k] = (tnp_ranked){0, metrics->per_class[k].r2, k};
        if (metrics->task == TN_TASK_MULTICLASS)
            list[k] = (tnp_ranked){(double)(d->tallies[k].support - d->tallies[k].hits),
                                   tnp_prf_of(&d->tallies[k]).recall, k};
        else if (metrics->task == TN_TASK_MULTILABEL)
            list[k].value = tnp_prf_of(&d->tallies[k]).f1;
        if (isnan(list[k].value)) /* nothing to get wrong */
            list[k].value = INFINITY;
    }
    qsort(list, metrics->classes, sizeof *list, tnp_order_worst);
    for (size_t k = 0; k < metrics->classes; ++k)
        order[k] = list[k].index;
    *out = order;
    order = NULL;
done:
    tnp_free_all(list, order);
    return st;
}

size_t tnp_taken_for(const tn_details *d, size_t k, size_t *count)
{
    size_t best = SIZE_MAX;
    *count = 0;
    for (size_t i = 0; i < d->cell_count; ++i)
        if (d->cells[i].truth == k && d->cells[i].predicted != k && d->cells[i].count > *count) {
            best = d->cells[i].predicted;
            *count = d->cells[i].count;
        }
    return best;
}

static void add_pairs(tnp_text *text, const tn_details *d, const char *const *names)
{
    tnp_cell pairs[PAIRS];
    size_t count = tnp_min(SHOWN_PAIRS, confused_pairs(d, pairs));
    for (size_t i = 0; i < count; ++i)
        tnp_text_add(text, "%s%s taken for %s %zu of %zu times", i ? ", " : "Most confused: ", names[pairs[i].truth],
                     names[pairs[i].predicted], pairs[i].count, d->tallies[pairs[i].truth].support);
    tnp_text_raw(text, count ? ".\n" : "");
}

static void add_compared(tnp_text *text, const tn_metrics *metrics, bool color)
{
    const tnp_comparison *c = metrics->details->comparison;
    tnp_table table;
    tnp_text_add(text, "Difference to %s, of the same rows:\n\n", c->name);
    tnp_table_init(&table, text->ctx, "lrrr");
    tnp_table_cell(&table, "metric");
    tnp_table_cell(&table, "difference");
    tnp_table_cell(&table, "±");
    tnp_table_cell(&table, "p");
    for (size_t f = 0; f < TNP_FIGURES; ++f) {
        if (isnan(c->difference[f]))
            continue;
        tnp_table_cell(&table, "%s", tnp_figure_name(f));
        tnp_table_cell(&table, "%+.4f", c->difference[f]);
        tnp_table_value(&table, c->se[f]);
        tnp_table_value(&table, c->p[f]);
    }
    tnp_table_finish(&table, text, color);
    tnp_text_raw(text, "\n");
    if (!isnan(c->mcnemar_p))
        tnp_text_add(text, "%zu rows are right here only, %zu there only: p = %.2g by McNemar's exact test.\n",
                     c->only_first, c->only_other, c->mcnemar_p);
}

void tnp_details_text(tnp_text *text, const tn_metrics *metrics, const char *const *names, bool color)
{
    if (metrics->details->comparison)
        add_compared(text, metrics, color);
    if (metrics->task == TN_TASK_MULTICLASS)
        add_pairs(text, metrics->details, names);
}
