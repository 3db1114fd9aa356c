/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line for every method that raced: its C or lambda, its figure over rows that it was not trained with and the standard
 * error of that, how many rows these are, its time, and what became of it. */
#include "report/race_out.h"

#include <math.h>
#include <string.h>

const tn_tried *tnp_race_chosen(const tn_fit_info *info)
{
    for (size_t i = 0; i < info->tried_count; ++i)
        if (info->tried[i]->chosen)
            return info->tried[i];
    return NULL;
}

void tnp_race_json(tnp_text *text, const tn_fit_info *info)
{
    tnp_text_add(text, ",\"tried\":[");
    for (size_t i = 0; i < info->tried_count; ++i) {
        const tn_tried *t = info->tried[i];
        tnp_text_add(text, "%s{\"method\":", i ? "," : "");
        tnp_text_quote(text, t->method);
        tnp_text_value(text, "C", t->cost);
        tnp_text_value(text, "lambda", t->lambda);
        tnp_text_value(text, "mean", t->mean);
        tnp_text_value(text, "se", t->se);
        tnp_text_value(text, "log_loss", t->log_loss);
        tnp_text_value(text, "seconds", t->seconds);
        tnp_text_add(text, ",\"rows\":%zu,\"set\":", t->rows);
        tnp_text_quote(text, t->set);
        tnp_text_add(text, ",\"chosen\":%s,\"note\":", t->chosen ? "true" : "false");
        if (t->note)
            tnp_text_quote(text, t->note);
        else
            tnp_text_add(text, "null");
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "],\"tried_metric\":");
    tnp_text_quote(text, info->tried_metric);
    if (info->tried_note) {
        tnp_text_add(text, ",\"tried_note\":");
        tnp_text_quote(text, info->tried_note);
    }
    if (info->interrupted)
        tnp_text_add(text, ",\"interrupted\":true");
}

/* Whether more than one set raced. */
static bool has_sets(const tn_fit_info *info)
{
    for (size_t i = 1; i < info->tried_count; ++i)
        if (strcmp(info->tried[i]->set, info->tried[0]->set) != 0)
            return true;
    return false;
}

static void figure_cell(tnp_table *table, double mean, double se)
{
    if (isnan(mean))
        tnp_table_cell(table, "-");
    else if (isnan(se))
        tnp_table_cell(table, "%.4f", mean);
    else
        tnp_table_cell(table, "%.4f ± %.4f", mean, se);
}

static void value_cell(tnp_table *table, double value, const char *format)
{
    if (isnan(value))
        tnp_table_cell(table, "%s", "");
    else if (*format == 'g')
        tnp_table_cell(table, "%.4g", value);
    else
        tnp_table_cell(table, "%.4f", value);
}

void tnp_race_table(tnp_text *text, const tn_fit_info *info, bool color)
{
    tnp_table table;
    bool sets = has_sets(info);
    tnp_table_init(&table, text->ctx, sets ? "lrrrrrll" : "lrrrrrl");
    tnp_table_cell(&table, "method");
    tnp_table_cell(&table, "C or lambda");
    tnp_table_cell(&table, "held-out %s", info->tried_metric);
    tnp_table_cell(&table, "log loss");
    tnp_table_cell(&table, "rows");
    tnp_table_cell(&table, "seconds");
    tnp_table_cell(&table, "taken");
    if (sets) /* the longest comes last */
        tnp_table_cell(&table, "set");
    for (size_t i = 0; i < info->tried_count; ++i) {
        const tn_tried *t = info->tried[i];
        tnp_table_cell(&table, "%s", t->method);
        value_cell(&table, isnan(t->cost) ? t->lambda : t->cost, "g");
        figure_cell(&table, t->mean, t->se);
        value_cell(&table, t->log_loss, "f");
        tnp_table_cell(&table, "%zu", t->rows);
        tnp_table_cell(&table, "%.2f", t->seconds);
        tnp_table_cell(&table, "%s", t->chosen ? "yes" : t->note ? t->note : "no");
        if (sets)
            tnp_table_cell(&table, "%s", t->set);
    }
    tnp_table_finish(&table, text, color);
    tnp_text_add(text, "\n");
}

void tnp_race_remarks(tnp_text *text, const tn_fit_info *info)
{
    const tn_tried *chosen = tnp_race_chosen(info);
    if (chosen && strstr(chosen->method, " + "))
        tnp_text_add(text, "Rows that were held out cannot tell %s apart: the head is the mean of their log-odds.\n",
                     chosen->method);
    if (info->tried_note)
        tnp_text_add(text, "Method auto: %s.\n", info->tried_note);
}
