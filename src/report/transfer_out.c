/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results of a transfer, as JSON and for people. */
#include "report/cells.h"
#include "tenon/report.h"

#include <math.h>

/* ---- JSON ---- */

static void add_candidates(tnp_text *text, double none, double rls, double greedy)
{
    tnp_text_add(text, ",\"candidates\":{\"none\":");
    tnp_text_number(text, none);
    tnp_text_value(text, "rls", rls);
    tnp_text_value(text, "greedytl", greedy);
    tnp_text_add(text, "}");
}

/* What is said of all classes together. */
static void add_joint(tnp_text *text, const tn_transfer_info *info)
{
    tnp_text_add(text, "\"method\":\"%s\"", info->method);
    tnp_text_value(text, "loo_error", info->loo_error);
    tnp_text_value(text, "loo_se", info->loo_se);
    tnp_text_add(text, ",\"loo_rows\":%zu", info->loo_rows);
    add_candidates(text, info->none, info->rls, info->greedy);
    if (info->class_means > 0)
        tnp_text_value(text, "class_means", info->class_means);
    if (info->source_share > 0)
        tnp_text_value(text, "source_share", info->source_share);
    tnp_text_add(text, ",");
}

/* Members of one result, the first without a comma. */
static void add_result(tnp_text *text, const tn_transfer_class *c)
{
    tnp_text_add(text, "\"class\":");
    tnp_text_quote(text, c->name);
    tnp_text_add(text, ",\"method\":\"%s\",\"selected\":[", c->method);
    for (size_t i = 0; i < c->pick_count; ++i) {
        const tn_pick *p = &c->picks[i];
        tnp_text_add(text, "%s{\"kind\":\"%s\",\"index\":%zu,\"name\":", i ? "," : "",
                     p->is_source ? "source" : "feature", p->index);
        tnp_text_quote(text, p->name);
        tnp_text_value(text, "weight", p->weight);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "]");
    tnp_text_numbers(text, "objective", c->objective, c->step_count);
    tnp_text_value(text, "loo_error", c->loo_error);
    tnp_text_numbers(text, "loo_path", c->path, c->step_count ? c->step_count + 1 : 0);
    add_candidates(text, c->none, c->rls, c->greedy);
    tnp_text_value(text, "lambda", c->lambda);
    tnp_text_value(text, "tau", c->tau);
}

tn_status tn_transfer_json(tn_ctx *ctx, const tn_transfer_info *info, const char *model, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"transfer\",");
    if (info->count == 1) {
        add_result(&text, &info->results[0]);
    } else {
        if (info->joint)
            add_joint(&text, info);
        tnp_text_add(&text, "\"per_class\":[");
        for (size_t r = 0; r < info->count; ++r) {
            tnp_text_add(&text, r ? ",{" : "{");
            add_result(&text, &info->results[r]);
            tnp_text_add(&text, "}");
        }
        tnp_text_add(&text, "]");
    }
    tnp_text_add(&text, ",\"rows\":%zu,\"features\":%zu,\"sources\":%zu,\"classes\":%zu", info->rows, info->features,
                 info->source_columns, info->classes);
    tnp_text_value(&text, "seconds", info->seconds);
    tnp_text_add(&text, ",\"model\":");
    tnp_text_quote(&text, model);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

/* ---- for people ---- */

enum { SHOWN = 20 }; /* picks per class */

static void add_candidate(tnp_text *text, const char *name, double error)
{
    if (!isnan(error))
        tnp_text_add(text, "  %-10s %5.1f %%\n", name, 100 * error);
}

static void list_candidates(tnp_text *text, double none, double rls, double greedy)
{
    add_candidate(text, "none", none);
    add_candidate(text, "rls", rls);
    add_candidate(text, "greedytl", greedy);
}

static void add_picks(tnp_text *text, const tn_transfer_class *c, bool errors)
{
    for (size_t i = 0; i < c->pick_count && i < SHOWN; ++i) {
        const tn_pick *p = &c->picks[i];
        tnp_text_add(text, "  %s: '%s' %.3g", p->is_source ? "source" : "feature", p->name, p->weight);
        if (errors && c->step_count)
            tnp_text_add(text, "   (leave-one-out error with it %.1f %%)", 100 * c->path[i + 1]);
        tnp_text_add(text, "\n");
    }
    if (c->pick_count > SHOWN)
        tnp_text_add(text, "  and %zu more\n", c->pick_count - SHOWN);
}

/* What transfer was worth, where the candidates tell. */
static void add_verdict(tnp_text *text, double none, double error)
{
    if (isnan(none))
        return;
    double gain = 100 * (none - error);
    if (gain > 0)
        tnp_text_add(text, "The sources help: %.1f points of leave-one-out error less than without transfer.\n", gain);
    else
        tnp_text_add(text, "The sources do not lower the leave-one-out error of the features alone.\n");
}

static void add_class(tnp_text *text, const tn_transfer_class *c, bool color)
{
    tnp_text_strong(text, color, c->name);
    tnp_text_add(text, ": %s, leave-one-out error %.1f %%\n", c->method, 100 * c->loo_error);
    list_candidates(text, c->none, c->rls, c->greedy);
    add_picks(text, c, true);
    add_verdict(text, c->none, c->loo_error);
    tnp_text_add(text, "\n");
}

/* Classes that are compared: the errors of each against the rest are in the JSON only, for no row is classified by
 * them. */
static void add_compared(tnp_text *text, const tn_transfer_info *info, bool color)
{
    tnp_text_raw(text, tnp_bold(color));
    tnp_text_add(text, "all %zu classes", info->classes);
    tnp_text_raw(text, tnp_plain(color));
    tnp_text_add(text, ": %s", info->method);
    if (info->loo_rows == 0)
        tnp_text_add(text, ", one row of each: leave-one-out cannot judge it\n");
    else
        tnp_text_add(text, ", leave-one-out error %.1f %%", 100 * info->loo_error);
    if (info->loo_rows > 1)
        tnp_text_add(text, " (standard error %.1f)", 100 * info->loo_se);
    if (info->loo_rows > 0 && info->loo_rows < info->rows)
        tnp_text_add(text, " of the %zu rows whose class has another", info->loo_rows);
    tnp_text_add(text, info->loo_rows ? "\n" : "");
    if (info->class_means > 0)
        tnp_text_add(text, "%.0f %% of the scores is the nearest class mean's on the same columns: few rows\n",
                     100 * info->class_means);
    list_candidates(text, info->none, info->rls, info->greedy);
    add_verdict(text, info->none, info->loo_error);
    tnp_text_add(text, "\n");
    for (size_t r = 0; r < info->count; ++r) {
        tnp_text_strong(text, color, info->results[r].name);
        tnp_text_add(text, "\n");
        add_picks(text, &info->results[r], false);
        tnp_text_add(text, "\n");
    }
}

tn_status tn_transfer_table(tn_ctx *ctx, const tn_transfer_info *info, const char *model, bool color, char **out)
{
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    tnp_text_add(&text, "%zu rows, %zu features, %zu source columns\n\n", info->rows, info->features,
                 info->source_columns);
    if (info->joint)
        add_compared(&text, info, color);
    for (size_t r = 0; !info->joint && r < info->count; ++r)
        add_class(&text, &info->results[r], color);
    if (model)
        tnp_text_add(&text, "model         %s\n", model);
    tnp_text_add(&text, "seconds       %.2f\n", info->seconds);
    return tnp_text_take(&text, out);
}
