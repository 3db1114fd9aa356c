/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon eval: metrics of a head on representations, or of a file of scores. */
#include "cli.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

/* What is measured: scores with a name per column, and the decision points of multi-label classes. */
typedef struct measured {
    tn_labels *labels; /* of the first only, whose classes the other's are brought to */
    tn_mat *scores;
    double *thresholds; /* classes */
    tn_head *head;      /* NULL: the scores are from a file */
    tn_metrics *metrics;
} measured;

static bool row_is_nan(const tn_mat *scores, size_t row)
{
    const float *values = scores->data + row * scores->cols;
    for (size_t k = 0; k < scores->cols; ++k)
        if (isnan(values[k]))
            return true;
    return false;
}

/* Rows that --nan drop left out have NaN scores: they do not count, as if they had no label. */
static void forget_nan_rows(const tn_mat *scores, tn_labels *labels)
{
    for (size_t i = 0; i < scores->rows && i < tn_labels_rows(labels); ++i)
        if (row_is_nan(scores, i))
            tn_labels_forget(labels, i);
}

enum { BLOCK = 4096 };

static int score_head(cli_app *app, const cli_features *features, tn_labels *labels, measured *m)
{
    int code = EXIT_FINE;
    const tn_head *head = m->head;
    tn_scorer *scorer = NULL;
    cli_sources sources = {NULL, NULL, 0};
    tn_nan_policy nan = (tn_nan_policy)app->options.nan;
    CLI_TRY(cli_sources_open(app, &app->options.features, &sources));
    CLI_TRY(cli_check(app, tn_scorer_new_transfer(app->ctx, head, cli_features_view(features), features->count,
                                                  sources.list, sources.count, nan, &scorer)));
    size_t rows = tn_scorer_rows(scorer), classes = tn_head_classes(head);
    CLI_TRY(cli_check(app, tn_mat_new(app->ctx, rows, classes, &m->scores)));
    const size_t most = BLOCK * tn_team_size(app->ctx);
    for (size_t start = 0; start < rows; start += most) {
        size_t count = rows - start < most ? rows - start : most;
        cli_progress_show("scores", (double)start / (double)rows);
        CLI_TRY(cli_check(app, tn_scorer_read(app->ctx, scorer, start, count, m->scores->data + start * classes)));
    }
    if (nan == TN_NAN_DROP)
        forget_nan_rows(m->scores, labels);
done:
    tn_scorer_free(scorer);
    cli_sources_close(&sources);
    return code;
}

/* The thresholds of a head, or `one` for every class. */
static int take_thresholds(cli_app *app, double one, measured *m)
{
    const double *own = m->head ? tn_head_thresholds(m->head) : NULL;
    size_t classes = m->scores->cols;
    m->thresholds = malloc((classes ? classes : 1) * sizeof *m->thresholds);
    if (!m->thresholds)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused %zu classes", classes);
    for (size_t k = 0; k < classes; ++k)
        m->thresholds[k] = own ? own[k] : one;
    return EXIT_FINE;
}

/* With --class, whatever task the file's own labels are of. */
static int open_labels(cli_app *app, tn_task task, measured *m)
{
    const char *path = app->options.labels, *positive = app->options.positive;
    int code = cli_labels_open(app, path, positive ? TN_TASK_AUTO : task, &m->labels);
    if (code == EXIT_FINE && positive)
        code = cli_check(app, tn_labels_against_rest(app->ctx, m->labels, positive));
    return code;
}

/* Rows that the labels do not name keep the names of the representations: mistakes are told by them. */
static int name_rows(cli_app *app, const cli_features *features, tn_labels *labels)
{
    for (size_t i = 0; !tn_labels_ids(labels) && i < features->count; ++i)
        if (tn_features_ids(features->items[i]))
            return cli_check(app, tn_labels_set_ids(app->ctx, labels, tn_features_ids(features->items[i])));
    return EXIT_FINE;
}

static int place_of(const tn_head *head, const char *name, size_t *out)
{
    const char *const *names = tn_head_class_names(head);
    for (*out = 0; *out < tn_head_classes(head); ++*out)
        if (strcmp(names[*out], name) == 0)
            return EXIT_FINE;
    return EXIT_DATA;
}

/* Brings columns and thresholds of the other head into the order of the first's classes. */
static int reorder(cli_app *app, const tn_head *first, measured *other)
{
    int code = EXIT_FINE;
    size_t classes = tn_head_classes(first);
    const char *const *names = tn_head_class_names(first);
    size_t *from = calloc(classes + 1, sizeof *from);
    double *thresholds = calloc(classes + 1, sizeof *thresholds);
    float *row = calloc(classes + 1, sizeof *row);
    if (!from || !thresholds || !row)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused %zu classes", classes));
    for (size_t k = 0; k < classes; ++k) {
        if (place_of(other->head, names[k], &from[k]) != EXIT_FINE)
            CLI_TRY(cli_fail(app, EXIT_DATA, "%s: no class %s, which %s has", app->options.compare, names[k],
                             app->args[0]));
        thresholds[k] = other->thresholds[from[k]];
    }
    memcpy(other->thresholds, thresholds, classes * sizeof *thresholds);
    for (size_t i = 0; i < other->scores->rows; ++i) {
        float *at = other->scores->data + i * classes;
        memcpy(row, at, classes * sizeof *row);
        for (size_t k = 0; k < classes; ++k)
            at[k] = row[from[k]];
    }
done:
    free(from);
    free(thresholds);
    free(row);
    return code;
}

static int score_other(cli_app *app, const cli_features *features, const measured *m, measured *other)
{
    int code = EXIT_FINE;
    const char *path = app->options.compare;
    CLI_TRY(cli_check(app, tn_head_load(app->ctx, path, &other->head)));
    if (tn_head_task(other->head) != tn_head_task(m->head) || tn_head_classes(other->head) != tn_head_classes(m->head))
        CLI_TRY(cli_fail(app, EXIT_DATA, "%s: a %s head of %zu classes; expected %s of %zu, as %s is", path,
                         tn_task_name(tn_head_task(other->head)), tn_head_classes(other->head),
                         tn_task_name(tn_head_task(m->head)), tn_head_classes(m->head), app->args[0]));
    CLI_TRY(score_head(app, features, m->labels, other));
    CLI_TRY(take_thresholds(app, tn_head_threshold(other->head), other));
    CLI_TRY(reorder(app, m->head, other));
done:
    return code;
}

static int measure_head(cli_app *app, measured *m, measured *other)
{
    int code = EXIT_FINE;
    cli_features features = {.count = 0};
    const char *path = app->options.labels;
    CLI_TRY(cli_check_order(app, 0, "tenon-head", "head"));
    CLI_TRY(cli_check(app, tn_head_load(app->ctx, app->args[0], &m->head)));
    const tn_head *head = app->head = m->head;
    tn_task task = tn_head_task(head), asked = (tn_task)app->options.task;
    if (asked != TN_TASK_AUTO && asked != task)
        CLI_TRY(cli_fail(app, EXIT_USAGE, "--task: got %s, but %s is a %s head", tn_task_name(asked), app->args[0],
                         tn_task_name(task)));
    CLI_TRY(cli_features_open(app, app->args + 1, app->arg_count - 1, &features));
    CLI_TRY(open_labels(app, task, m));
    CLI_TRY(cli_rows_agree(app, &features, m->labels));
    if (task != TN_TASK_REGRESSION)
        CLI_TRY(cli_check(app, tn_labels_map(app->ctx, m->labels, tn_head_class_names(head), tn_head_classes(head))));
    else if (tn_labels_classes(m->labels) != tn_head_classes(head))
        CLI_TRY(cli_fail(app, EXIT_DATA, "%s: %zu columns, but the head has %zu outputs", path,
                         tn_labels_classes(m->labels), tn_head_classes(head)));
    CLI_TRY(score_head(app, &features, m->labels, m));
    CLI_TRY(take_thresholds(app, tn_head_threshold(head), m));
    CLI_TRY(name_rows(app, &features, m->labels));
    if (app->options.compare)
        CLI_TRY(score_other(app, &features, m, other));
done:
    app->head = NULL;
    cli_features_close(&features);
    return code;
}

/* Scores of a file, over the classes of the labels. */
static int read_scores(cli_app *app, const tn_features *features, tn_labels *labels, measured *m)
{
    int code = EXIT_FINE;
    const char *path = tn_features_path(features);
    tn_nan_policy nan = (tn_nan_policy)app->options.nan;
    CLI_TRY(cli_check(app, tn_rows_agree(app->ctx, &features, 1, labels)));
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features);
    if (cols != tn_labels_classes(labels))
        CLI_TRY(cli_fail(app, EXIT_DATA, "%s: %zu columns, but %s has %zu classes", path, cols, app->options.labels,
                         tn_labels_classes(labels)));
    CLI_TRY(cli_check(app, tn_mat_new(app->ctx, rows, cols, &m->scores)));
    CLI_TRY(cli_check(app, tn_features_read(app->ctx, features, NULL, 0, rows, 0, cols, m->scores->data)));
    if (nan == TN_NAN_DROP)
        forget_nan_rows(m->scores, labels);
    for (size_t i = 0; nan == TN_NAN_ZERO && i < rows * cols; ++i)
        if (!isfinite(m->scores->data[i]))
            m->scores->data[i] = 0;
    CLI_TRY(take_thresholds(app, 0.5, m));
done:
    return code;
}

static int measure_scores(cli_app *app, measured *m, measured *other)
{
    int code = EXIT_FINE;
    tn_features *first = NULL, *second = NULL;
    CLI_TRY(cli_check(app, tn_features_open(app->ctx, app->options.scores, &first)));
    if (app->options.compare)
        CLI_TRY(cli_check(app, tn_features_open(app->ctx, app->options.compare, &second)));
    CLI_TRY(open_labels(app, (tn_task)app->options.task, m));
    if (!app->options.positive)
        CLI_TRY(cli_labels_all(app, m->labels));
    CLI_TRY(read_scores(app, first, m->labels, m));
    if (second)
        CLI_TRY(read_scores(app, second, m->labels, other));
done:
    tn_features_close(first);
    tn_features_close(second);
    return code;
}

static int check_line(const cli_app *app)
{
    int code = cli_need_labels(app);
    if (code != 0)
        return code;
    if (app->options.scores && app->arg_count != 0)
        return cli_fail(app, EXIT_USAGE, "got both --scores and %s, expected one of them", app->args[0]);
    if (app->options.scores && app->options.features.count != 0)
        return cli_fail(app, EXIT_USAGE, "--source is for a head; got --scores, which are all that is measured");
    if (!app->options.scores && app->arg_count < (app->options.features.count ? 1 : 2))
        return cli_fail(app, EXIT_USAGE, "expected HEAD and REP..., or --scores FILE.npy; usage: tenon eval %s",
                        app->command->arguments);
    if (app->options.proba && !app->options.scores)
        return cli_fail(app, EXIT_USAGE, "--proba is about --scores; a head that has probabilities needs no asking");
    return EXIT_FINE;
}

/* Metrics with their details. The scores become probabilities in place where there are some: last use. */
static int measure(cli_app *app, tn_labels *labels, measured *m)
{
    int code = EXIT_FINE;
    tn_view scores = tn_mat_view(m->scores);
    bool from_head = m->head && tn_head_temperature(m->head) > 0;
    CLI_TRY(cli_check(app, tn_metrics_compute_at(app->ctx, scores, labels, m->thresholds, &m->metrics)));
    CLI_TRY(cli_check(app, tn_metrics_detail(app->ctx, m->metrics, scores, labels, m->thresholds,
                                             app->options.resamples, app->options.seed)));
    if (from_head)
        CLI_TRY(cli_check(app, tn_head_probabilities(app->ctx, m->head, m->scores->rows, m->scores->data)));
    if (from_head || app->options.proba)
        CLI_TRY(cli_check(app, tn_metrics_probabilities(app->ctx, m->metrics, scores, labels)));
done:
    return code;
}

static void measured_free(measured *m)
{
    tn_metrics_free(m->metrics);
    free(m->thresholds);
    tn_mat_free(m->scores);
    tn_labels_free(m->labels);
    tn_head_free(m->head);
}

int cmd_eval(cli_app *app)
{
    int code = EXIT_FINE;
    measured m = {.scores = NULL}, other = {.scores = NULL};
    char *text = NULL, *page = NULL;
    CLI_TRY(check_line(app));
    CLI_TRY(app->options.scores ? measure_scores(app, &m, &other) : measure_head(app, &m, &other));
    if (app->rank > 0) /* it has scored its rows; the figures are the first one's */
        goto done;
    CLI_TRY(measure(app, m.labels, &m));
    if (app->options.compare) {
        CLI_TRY(measure(app, m.labels, &other));
        CLI_TRY(cli_check(app, tn_metrics_compare(app->ctx, m.metrics, other.metrics, app->options.compare)));
    }
    const char *const *names = tn_labels_class_names(m.labels);
    CLI_TRY(cli_check(app, app->options.json ? tn_metrics_json(app->ctx, m.metrics, names, &text)
                                             : tn_metrics_table(app->ctx, m.metrics, names, app->options.per_class,
                                                                app->color, &text)));
    if (app->options.report)
        CLI_TRY(cli_report(app, tn_metrics_json(app->ctx, m.metrics, names, &page), &page, NULL));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    measured_free(&other);
    measured_free(&m);
    return code;
}
