/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon predict: applies a head, block of rows by block of rows, so that the memory needed does not grow with the
 * number of rows. A row that --nan drop left out has NaN scores: an empty line, null in JSON, no cells in CSV.
 *
 * Decisions and order are by the scores also where probabilities are shown: those that round to the same number would
 * tie. --top shows probabilities where the head has them; the matrix of --scores only with --proba. The table of --csv
 * is written beside its place until all rows are there. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    float score;
    size_t index;
} ranked;

typedef struct printer {
    const tn_head *head;
    const char *const *names;
    size_t classes, top;
    double threshold;
    const double *thresholds; /* classes, or NULL: the one for all */
    bool json;
    bool proba;             /* numbers that are shown are probabilities */
    bool alone;             /* a class stands without its number */
    bool silent;            /* nothing goes to standard output */
    const char *const *ids; /* of the rows, or NULL */
    cli_csv *csv;           /* NULL: none is written */
    ranked *order;          /* classes, for --top and --csv */
} printer;

static int best_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* One class with its number, which is a score or a probability. */
static void print_pair(const printer *p, size_t k, double value, const char *between)
{
    if (p->json) {
        fputs("{\"class\":", stdout);
        cli_json_string(stdout, p->names[k]);
        printf(",\"%s\":%.9g}", p->proba ? "probability" : "score", value);
    } else {
        cli_plain(stdout, p->names[k]);
        printf("%s%.9g", between, value);
    }
}

static void sort_classes(const printer *p, const float *scores)
{
    for (size_t k = 0; k < p->classes; ++k)
        p->order[k] = (ranked){scores[k], k};
    qsort(p->order, p->classes, sizeof *p->order, best_first);
}

static void print_top(const printer *p, const float *scores, const float *shown)
{
    sort_classes(p, scores);
    if (p->json)
        fputc('[', stdout);
    for (size_t i = 0; i < p->top; ++i) {
        if (i)
            fputc(p->json ? ',' : '\t', stdout);
        print_pair(p, p->order[i].index, (double)shown[p->order[i].index], ":");
    }
    if (p->json)
        fputc(']', stdout);
}

static void print_name(const printer *p, size_t k)
{
    if (p->json)
        cli_json_string(stdout, p->names[k]);
    else
        cli_plain(stdout, p->names[k]);
}

static void print_class(const printer *p, const float *scores, const float *shown)
{
    size_t best = 0;
    for (size_t k = 1; k < p->classes; ++k)
        if (scores[k] > scores[best])
            best = k;
    if (p->alone)
        print_name(p, best);
    else
        print_pair(p, best, (double)shown[best], "\t");
}

static void print_set(const printer *p, const float *scores, const float *shown)
{
    bool first = true;
    if (p->json)
        fputc('[', stdout);
    for (size_t k = 0; k < p->classes; ++k) {
        if (!((double)scores[k] > (p->thresholds ? p->thresholds[k] : p->threshold)))
            continue;
        if (!first)
            fputc(p->json ? ',' : p->alone ? '|' : '\t', stdout);
        if (p->alone)
            print_name(p, k);
        else
            print_pair(p, k, (double)shown[k], ":");
        first = false;
    }
    if (p->json)
        fputc(']', stdout);
}

static void print_values(const printer *p, const float *scores)
{
    if (p->json)
        fputc('[', stdout);
    for (size_t k = 0; k < p->classes; ++k)
        printf("%s%.9g", k == 0 ? "" : p->json ? "," : "\t", (double)scores[k]);
    if (p->json)
        fputc(']', stdout);
}

/* ---- CSV ---- */

static void csv_head(const printer *p)
{
    tn_task task = tn_head_task(p->head);
    const char *number = p->proba ? "probability" : "score";
    cli_csv_text(p->csv, "id");
    for (size_t k = 0; task == TN_TASK_REGRESSION && k < p->classes; ++k)
        cli_csv_text(p->csv, p->names[k]);
    if (task != TN_TASK_REGRESSION && p->top == 0) {
        cli_csv_text(p->csv, task == TN_TASK_MULTILABEL ? "classes" : "class");
        cli_csv_text(p->csv, task == TN_TASK_MULTILABEL ? "count" : number);
    }
    for (size_t i = 1; i <= p->top; ++i) {
        char name[48];
        snprintf(name, sizeof name, "class_%zu", i);
        cli_csv_text(p->csv, name);
        snprintf(name, sizeof name, "%s_%zu", number, i);
        cli_csv_text(p->csv, name);
    }
    cli_csv_end(p->csv);
}

/* The classes over their thresholds, and how many they are. */
static void csv_set(const printer *p, const float *scores)
{
    size_t count = 0;
    cli_csv_open(p->csv);
    for (size_t k = 0; k < p->classes; ++k)
        if ((double)scores[k] > (p->thresholds ? p->thresholds[k] : p->threshold)) {
            cli_csv_more(p->csv, count++ ? "|" : "");
            cli_csv_more(p->csv, p->names[k]);
        }
    cli_csv_close(p->csv);
    cli_csv_number(p->csv, (double)count);
}

static void csv_row(const printer *p, size_t row, const float *scores, const float *shown)
{
    tn_task task = tn_head_task(p->head);
    if (p->ids)
        cli_csv_text(p->csv, p->ids[row]);
    else
        cli_csv_number(p->csv, (double)row);
    bool left_out = isnan(scores[0]);
    for (size_t k = 0; task == TN_TASK_REGRESSION && k < p->classes; ++k)
        cli_csv_number(p->csv, (double)scores[k]);
    if (task == TN_TASK_MULTILABEL && p->top == 0 && !left_out)
        csv_set(p, scores);
    else if (task != TN_TASK_REGRESSION) {
        sort_classes(p, scores);
        for (size_t i = 0; i < (p->top ? p->top : 1); ++i) {
            cli_csv_text(p->csv, left_out ? "" : p->names[p->order[i].index]);
            cli_csv_number(p->csv, left_out ? (double)NAN : (double)shown[p->order[i].index]);
        }
    }
    cli_csv_end(p->csv);
}

/* shown: the probabilities of the row, or its scores again. */
static void print_row(const printer *p, const float *scores, const float *shown)
{
    tn_task task = tn_head_task(p->head);
    if (isnan(scores[0]))
        fputs(p->json ? "null" : "", stdout);
    else if (task == TN_TASK_REGRESSION)
        print_values(p, scores);
    else if (p->top != 0)
        print_top(p, scores, shown);
    else if (task == TN_TASK_MULTILABEL)
        print_set(p, scores, shown);
    else
        print_class(p, scores, shown);
}

/* {"command":"predict","rows":N,"classes":[...],"labels":[ and the rows follow. */
static void open_json(const printer *p, size_t rows)
{
    printf("{\"command\":\"predict\",\"rows\":%zu,\"task\":\"%s\",\"classes\":[", rows,
           tn_task_name(tn_head_task(p->head)));
    for (size_t k = 0; k < p->classes; ++k) {
        fputs(k ? "," : "", stdout);
        cli_json_string(stdout, p->names[k]);
    }
    fputs("],\"labels\":[", stdout);
}

/* Rows [start, start + count) of what is read from. */
typedef struct block {
    tn_scorer *scorer;
    size_t start, count;
} block;

/* Rows a block: about 4096, fewer when there are very many classes. */
static size_t block_rows(size_t classes)
{
    const size_t most = 4096, values = 1u << 24;
    size_t rows = values / (classes ? classes : 1);
    return rows > most ? most : rows ? rows : 1;
}

/* One block: read, made probabilities where they are wanted, printed, written. */
static int print_block(cli_app *app, const printer *p, const block *at, tn_mat *scores, tn_mat *proba,
                       tn_npy_writer *writer)
{
    int code = EXIT_FINE;
    const float *shown = proba ? proba->data : scores->data;
    CLI_TRY(cli_check(app, tn_scorer_read(app->ctx, at->scorer, at->start, at->count, scores->data)));
    if (proba) {
        memcpy(proba->data, scores->data, at->count * p->classes * sizeof *scores->data);
        CLI_TRY(cli_check(app, tn_head_probabilities(app->ctx, p->head, at->count, proba->data)));
    }
    cli_progress_clear();
    for (size_t i = 0; i < at->count; ++i) {
        if (p->json)
            fputs(at->start + i ? "," : "", stdout);
        if (!p->silent)
            print_row(p, scores->data + i * p->classes, shown + i * p->classes);
        if (!p->json && !p->silent)
            fputc('\n', stdout);
        if (p->csv)
            csv_row(p, at->start + i, scores->data + i * p->classes, shown + i * p->classes);
    }
    const float *written = app->options.proba ? shown : scores->data;
    if (writer)
        CLI_TRY(cli_check(app, tn_npy_writer_rows(app->ctx, writer, written, at->count)));
done:
    return code;
}

static int print_rows(cli_app *app, const printer *p, tn_scorer *scorer, tn_npy_writer *writer)
{
    int code = EXIT_FINE;
    size_t rows = tn_scorer_rows(scorer), most = block_rows(p->classes) * tn_team_size(app->ctx);
    tn_mat *scores = NULL, *proba = NULL;
    CLI_TRY(cli_check(app, tn_mat_new(app->ctx, most < rows ? most : rows, p->classes, &scores)));
    if (p->proba)
        CLI_TRY(cli_check(app, tn_mat_new(app->ctx, scores->rows, p->classes, &proba)));
    if (p->json)
        open_json(p, rows);
    for (size_t start = 0; start < rows && !ferror(stdout); start += most) {
        block at = {scorer, start, rows - start < most ? rows - start : most};
        CLI_TRY(print_block(app, p, &at, scores, proba, writer));
    }
    if (p->json) {
        fputs("]", stdout);
        for (size_t i = 0; p->ids && i < rows; ++i) {
            fputs(i ? "," : ",\"ids\":[", stdout);
            cli_json_string(stdout, p->ids[i]);
        }
        fputs(p->ids && rows ? "]" : "", stdout);
        cli_json_end(app, stdout);
    }
    CLI_TRY(cli_finish_output(app));
done:
    tn_mat_free(scores);
    tn_mat_free(proba);
    return code;
}

/* Before anything is printed: has the head what --top and --proba ask for? */
static int check_head(cli_app *app, const tn_head *head)
{
    const cli_options *options = &app->options;
    if ((options->top != 0 || options->proba) && tn_head_task(head) == TN_TASK_REGRESSION)
        return cli_fail(app, EXIT_USAGE, "--%s: %s is a regression head, it has no classes",
                        options->top ? "top" : "proba", app->args[0]);
    if (options->proba && tn_head_probabilities(app->ctx, head, 0, NULL) != TN_OK)
        return cli_fail(app, EXIT_DATA, "%s: %s", app->args[0], tn_ctx_message(app->ctx));
    return EXIT_FINE;
}

static int make_printer(cli_app *app, const tn_head *head, printer *p)
{
    /* A ridge head has probabilities only once it was calibrated: --top and --csv ask, --proba insists. */
    bool wanted = tn_head_task(head) != TN_TASK_REGRESSION && (app->options.top != 0 || app->options.csv);
    bool proba = app->options.proba || (wanted && tn_head_probabilities(app->ctx, head, 0, NULL) == TN_OK);
    *p = (printer){.head = head,
                   .names = tn_head_class_names(head),
                   .classes = tn_head_classes(head),
                   .top = app->options.top,
                   .threshold = tn_head_threshold(head),
                   .thresholds = tn_head_thresholds(head),
                   .json = app->options.json,
                   .proba = proba,
                   .alone = !app->options.proba,
                   .silent = app->rank > 0 || (app->options.quiet && app->options.csv && !app->options.json)};
    if (p->top > p->classes)
        p->top = p->classes;
    p->order = calloc(p->classes ? p->classes : 1, sizeof *p->order);
    return p->order ? EXIT_FINE : cli_fail(app, EXIT_FAILED, "memory: the system refused %zu classes", p->classes);
}

/* Names of the rows: of --ids, or of the first representation that has some. */
static int find_ids(cli_app *app, const cli_features *features, tn_labels **owner, printer *p)
{
    int code = EXIT_FINE;
    if (app->options.ids) {
        CLI_TRY(cli_check(app, tn_labels_open(app->ctx, app->options.ids, TN_TASK_AUTO, owner)));
        p->ids = tn_labels_ids(*owner);
        if (!p->ids)
            CLI_TRY(
                cli_fail(app, EXIT_DATA, "%s: no ids, expected lines of an id, a tab and a label", app->options.ids));
        CLI_TRY(cli_rows_agree(app, features, *owner));
    }
    for (size_t i = 0; !p->ids && i < features->count; ++i)
        p->ids = tn_features_ids(features->items[i]);
done:
    return code;
}

int cmd_predict(cli_app *app)
{
    int code = EXIT_FINE;
    tn_labels *named = NULL;
    const cli_options *options = &app->options;
    tn_head *head = NULL;
    cli_features features = {.count = 0};
    cli_sources sources = {NULL, NULL, 0};
    tn_scorer *scorer = NULL;
    tn_npy_writer *writer = NULL;
    printer p = {.order = NULL};
    if (app->arg_count < 2 && options->features.count == 0)
        CLI_TRY(cli_fail(app, EXIT_USAGE, "too few arguments; usage: tenon predict %s", app->command->arguments));
    if (options->scores)
        CLI_TRY(cli_check(app, tn_output_check(app->ctx, options->scores)));
    if (options->csv)
        CLI_TRY(cli_check(app, tn_output_check(app->ctx, options->csv)));
    CLI_TRY(cli_check_order(app, 0, "tenon-head", "head"));
    CLI_TRY(cli_check(app, tn_head_load(app->ctx, app->args[0], &head)));
    app->head = head;
    CLI_TRY(check_head(app, head));
    CLI_TRY(make_printer(app, head, &p));
    CLI_TRY(cli_features_open(app, app->args + 1, app->arg_count - 1, &features));
    CLI_TRY(cli_sources_open(app, &options->features, &sources));
    CLI_TRY(cli_check(app, tn_scorer_new_transfer(app->ctx, head, cli_features_view(&features), features.count,
                                                  sources.list, sources.count, (tn_nan_policy)options->nan, &scorer)));
    if (options->scores)
        CLI_TRY(
            cli_check(app, tn_npy_writer_open(app->ctx, options->scores, tn_scorer_rows(scorer), p.classes, &writer)));
    CLI_TRY(find_ids(app, &features, &named, &p));
    if (options->csv) {
        CLI_TRY(cli_csv_new(app, options->csv, &p.csv));
        csv_head(&p);
    }
    CLI_TRY(print_rows(app, &p, scorer, writer));
    if (writer)
        CLI_TRY(cli_check(app, tn_npy_writer_commit(app->ctx, writer)));
    if (p.csv)
        CLI_TRY(cli_csv_commit(app, p.csv));
done:
    free(p.order);
    cli_csv_free(p.csv);
    tn_labels_free(named);
    tn_npy_writer_close(writer);
    tn_scorer_free(scorer);
    cli_sources_close(&sources);
    cli_features_close(&features);
    app->head = NULL;
    tn_head_free(head);
    return code;
}
