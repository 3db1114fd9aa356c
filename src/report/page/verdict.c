/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a result says, in one sentence, and its figures as tiles: which representation, how sure, what goes wrong. A lead
 * below two standard errors is called one that the rows cannot tell. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>

static void strong(tnp_text *html, const char *text)
{
    tnp_text_raw(html, "<strong>");
    tnp_html_text(html, text ? text : "?");
    tnp_text_raw(html, "</strong>");
}

static bool is(const tnp_result *r, const char *command)
{
    return strcmp(r->command, command) == 0;
}

static void add_percent(tnp_text *html, const char *before, double value, double se)
{
    if (isnan(value))
        return;
    tnp_text_raw(html, before);
    tnp_html_percent(html, value);
    if (!isnan(se))
        tnp_text_add(html, " ± %.1f", 100 * se);
}

/* ---- rank ---- */

static void say_rank(tnp_text *html, const json_t *root)
{
    const json_t *list = tnp_member_list(root, "candidates"), *first = json_array_get(list, 0),
                 *second = json_array_get(list, 1);
    if (!first)
        return;
    strong(html, tnp_member_text(first, "name"));
    tnp_text_add(html, " suits these labels best of %zu candidate%s", json_array_size(list),
                 json_array_size(list) == 1 ? "" : "s");
    add_percent(html, ": leave-one-out accuracy ", tnp_member(first, "loo_accuracy"), tnp_member(first, "loo_se"));
    if (!isnan(tnp_member(first, "loo_r2"))) {
        tnp_text_raw(html, ": leave-one-out r2 ");
        tnp_html_number(html, tnp_member(first, "loo_r2"));
    }
    tnp_text_raw(html, ".");
    double lead = tnp_member(first, "log_evidence") - tnp_member(second, "log_evidence");
    double a = tnp_member(first, "loo_accuracy"), b = tnp_member(second, "loo_accuracy"),
           se = tnp_member(first, "loo_se");
    if (!second || isnan(lead))
        return;
    tnp_text_raw(html, " Next is ");
    strong(html, tnp_member_text(second, "name"));
    tnp_text_add(html, ", %.1f nats of log evidence behind", lead);
    if (!isnan(a) && !isnan(b) && !isnan(se))
        tnp_text_raw(html, fabs(a - b) > 2 * se ? "; their accuracies differ by more than two standard errors."
                                                : "; by accuracy alone these rows cannot tell them apart.");
    else
        tnp_text_raw(html, ".");
}

/* ---- fit ---- */

/* Leave-one-out figures are the ridge's, which beside another head speak for the representations. */
static bool is_ridge(const json_t *root)
{
    const char *method = tnp_member_text(root, "method");
    return json_is_array(json_object_get(root, "lambda")) && !(method && strcmp(method, "lda") == 0);
}

static void say_fit(tnp_text *html, const json_t *root)
{
    const json_t *selected = tnp_member_list(root, "selected"), *valid = json_object_get(root, "validation");
    tnp_text_raw(html, "The head uses ");
    for (size_t i = 0; i < json_array_size(selected); ++i) {
        tnp_text_raw(html, i == 0 ? "" : " and ");
        strong(html, json_string_value(json_array_get(selected, i)));
    }
    tnp_text_raw(html, ", trained by ");
    strong(html, tnp_member_text(root, "method"));
    add_percent(html, is_ridge(root) ? ": leave-one-out accuracy " : ": leave-one-out accuracy of a ridge head ",
                tnp_member(root, "loo_accuracy"), tnp_member(root, "loo_se"));
    if (valid && !isnan(tnp_member(valid, "value"))) {
        tnp_text_raw(html, "; ");
        tnp_html_text(html, tnp_member_text(valid, "metric"));
        tnp_text_raw(html, " on other rows ");
        tnp_html_number(html, tnp_member(valid, "value"));
    }
    tnp_text_raw(html, ".");
}

/* ---- eval ---- */

/* The class with the most rows that were missed; NULL where none was. */
static const json_t *worst_class(const json_t *root)
{
    const json_t *list = tnp_member_list(root, "per_class"), *worst = NULL;
    double most = 0;
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *c = json_array_get(list, i);
        double missed = tnp_member(c, "support") - tnp_member(c, "hits");
        if (missed > most) {
            most = missed;
            worst = c;
        }
    }
    return worst;
}

static void say_worst(tnp_text *html, const json_t *root)
{
    const json_t *worst = worst_class(root), *pairs = tnp_member_list(root, "confused");
    if (!worst)
        return;
    const char *name = tnp_member_text(worst, "class");
    double support = tnp_member(worst, "support");
    tnp_text_raw(html, " ");
    strong(html, name);
    tnp_text_add(html, " goes wrong most, %.0f of %.0f rows", support - tnp_member(worst, "hits"), support);
    for (size_t i = 0; name && i < json_array_size(pairs); ++i) {
        const json_t *pair = json_array_get(pairs, i);
        const char *truth = tnp_member_text(pair, "true");
        if (!truth || strcmp(truth, name) != 0)
            continue;
        tnp_text_raw(html, ", mostly taken for ");
        strong(html, tnp_member_text(pair, "predicted"));
        break;
    }
    tnp_text_raw(html, ".");
}

static void say_eval(tnp_text *html, const json_t *root)
{
    const json_t *m = json_object_get(root, "metrics"), *intervals = json_object_get(root, "intervals");
    const char *key = isnan(tnp_member(m, "accuracy")) ? "r2" : "accuracy";
    const json_t *interval = json_object_get(intervals, key);
    const char *task = tnp_member_text(root, "task");
    if (strcmp(key, "r2") == 0) {
        tnp_text_raw(html, "The predictions explain ");
        tnp_html_percent(html, tnp_member(m, key));
        tnp_text_add(html, " of the variance (r2) of %.0f rows", tnp_member(root, "rows"));
    } else {
        tnp_html_percent(html, tnp_member(m, key));
        tnp_text_add(html, " of %.0f %s are right", tnp_member(root, "rows"),
                     task && strcmp(task, "multilabel") == 0 ? "rows times classes" : "rows");
    }
    if (interval)
        tnp_text_add(html, " (95 %% interval %.1f to %.1f)", 100 * tnp_member(interval, "low"),
                     100 * tnp_member(interval, "high"));
    tnp_text_raw(html, ".");
    say_worst(html, root);
}

/* ---- cv, transfer, kernel ---- */

static void say_cv(tnp_text *html, const json_t *root)
{
    const json_t *methods = tnp_member_list(root, "methods"), *c = json_object_get(root, "comparison");
    for (size_t i = 0; i < json_array_size(methods); ++i) {
        const json_t *m = json_array_get(methods, i);
        tnp_text_raw(html, i ? "; " : "");
        strong(html, tnp_member_text(m, "method"));
        tnp_text_raw(html, " has ");
        tnp_html_text(html, tnp_member_text(m, "metric"));
        tnp_text_raw(html, " ");
        tnp_html_number(html, tnp_member(m, "mean"));
        if (!isnan(tnp_member(m, "se"))) {
            tnp_text_raw(html, " ± ");
            tnp_html_number(html, tnp_member(m, "se"));
        }
    }
    tnp_text_add(html, " on rows that were held out (%.0f folds).", tnp_member(root, "folds"));
    double p = tnp_member(c, "p");
    if (!isnan(p))
        tnp_text_add(
            html,
            p < 0.05 ? " The difference is real (p = %.2g)." : " These folds cannot tell the two apart (p = %.2g).", p);
}

static void say_transfer(tnp_text *html, const json_t *root)
{
    double error = tnp_member(root, "loo_error"), none = tnp_member(json_object_get(root, "candidates"), "none");
    strong(html, tnp_member_text(root, "method"));
    tnp_text_add(html, " learned from %.0f rows with %.0f source columns", tnp_member(root, "rows"),
                 tnp_member(root, "sources"));
    add_percent(html, ": leave-one-out error ", error, tnp_member(root, "loo_se"));
    tnp_text_raw(html, ".");
    if (isnan(none) || isnan(error))
        return;
    if (none > error)
        tnp_text_add(html, " The sources help: %.1f points less than without transfer.", 100 * (none - error));
    else
        tnp_text_raw(html, " The sources do not lower the error of the features alone.");
}

static void say_kernel(tnp_text *html, const json_t *root)
{
    double rank = tnp_member(root, "rank");
    double rate = tnp_item(json_object_get(root, "contributing_rate"), isnan(rank) || rank < 1 ? 0 : (size_t)rank - 1);
    tnp_text_add(html, "A kernel whose map has %.0f value%s per entry", rank, rank == 1 ? "" : "s");
    add_percent(html, ", which hold ", rate, (double)NAN);
    tnp_text_raw(html, isnan(rate) ? "." : " of what the machines' weights share.");
}

void tnp_page_verdict(tnp_text *html, const tnp_result *r)
{
    static const struct {
        const char *command;
        void (*say)(tnp_text *html, const json_t *root);
    } all[] = {{"rank", say_rank},         {"fit", say_fit},
               {"eval", say_eval},         {"cv", say_cv},
               {"transfer", say_transfer}, {"kernel learn", say_kernel},
               {"kernel show", say_kernel}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (is(r, all[i].command)) {
            tnp_text_raw(html, "<p class=\"verdict\">");
            all[i].say(html, r->json.root);
            tnp_text_raw(html, "</p>\n");
        }
}

/* ---- tiles ---- */

static void tile(tnp_text *html, const char *name, double value, bool share, const json_t *interval)
{
    if (isnan(value))
        return;
    tnp_text_add(html, "<div><dt>%s</dt><dd data-v=\"", name);
    tnp_text_number(html, value);
    tnp_text_raw(html, "\">");
    if (share)
        tnp_html_percent(html, value);
    else
        tnp_html_number(html, value);
    if (interval)
        tnp_text_add(html, share ? "<small>%.1f to %.1f</small>" : "<small>%.4g to %.4g</small>",
                     (share ? 100 : 1) * tnp_member(interval, "low"), (share ? 100 : 1) * tnp_member(interval, "high"));
    tnp_text_raw(html, "</dd></div>\n");
}

void tnp_page_tiles(tnp_text *html, const tnp_result *r, bool alone)
{
    static const struct {
        const char *key, *name;
        bool share;
    } metrics[] = {{"accuracy", "accuracy", true},
                   {"top5_accuracy", "top 5 accuracy", true},
                   {"mean_class_accuracy", "mean class accuracy", true},
                   {"mean_ap", "mean AP", true},
                   {"r2", "r2", false},
                   {"mse", "mean squared error", false},
                   {"ece", "calibration error", true}};
    const json_t *root = r->json.root, *m = json_object_get(root, "metrics"),
                 *intervals = json_object_get(root, "intervals");
    const json_t *best = json_array_get(json_object_get(root, "candidates"), 0);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; ++i)
        tile(html, metrics[i].name, tnp_member(m, metrics[i].key), metrics[i].share,
             json_object_get(intervals, metrics[i].key));
    double loo = tnp_member(root, "loo_accuracy");
    tile(html, "leave-one-out accuracy", isnan(loo) ? tnp_member(best, "loo_accuracy") : loo, true, NULL);
    double gain = tnp_member(root, "gain_per_label");
    tile(html, "gain per label, nats", isnan(gain) ? tnp_member(best, "gain_per_label") : gain, false, NULL);
    if (!alone)
        return;
    tile(html, "rows", tnp_member(root, "rows"), false, NULL);
    tile(html, is(r, "eval") || is(r, "rank") ? "classes" : "columns",
         tnp_member(root, is(r, "eval") || is(r, "rank") ? "classes" : "dim"), false, NULL);
    tile(html, "seconds", tnp_member(root, "seconds"), false, NULL);
}
