/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon eval: metrics of a head on representations, or of a file of scores. */
#include "cli.h"

#include <math.h>

/* What is measured: scores with a name per column, and the decision point of multi-label classes. */
typedef struct measured {
    tn_labels *labels;
    tn_mat *scores;
    double threshold;
    tn_head *head; /* NULL: the scores are from a file */
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
static void forget_nan_rows(measured *m)
{
    for (size_t i = 0; i < m->scores->rows && i < tn_labels_rows(m->labels); ++i)
        if (row_is_nan(m->scores, i))
            tn_labels_forget(m->labels, i);
}

enum { BLOCK = 4096 };

static int score_head(cli_app *app, const cli_features *features, measured *m)
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
    for (size_t start = 0; start < rows; start += BLOCK) {
        size_t count = rows - start < BLOCK ? rows - start : BLOCK;
        cli_progress_show("scores", (double)start / (double)rows);
        CLI_TRY(cli_check(app, tn_scorer_read(app->ctx, scorer, start, count, m->scores->data + start * classes)));
    }
    if (nan == TN_NAN_DROP)
        forget_nan_rows(m);
done:
    tn_scorer_free(scorer);
    cli_sources_close(&sources);
    return code;
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

static int measure_head(cli_app *app, measured *m)
{
    int code = EXIT_FINE;
    cli_features features = {NULL, 0};
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
    m->threshold = tn_head_threshold(head);
    CLI_TRY(score_head(app, &features, m));
done:
    app->head = NULL;
    cli_features_close(&features);
    return code;
}

static int measure_scores(cli_app *app, measured *m)
{
    int code = EXIT_FINE;
    tn_features *features = NULL;
    const char *path = app->options.scores;
    tn_nan_policy nan = (tn_nan_policy)app->options.nan;
    CLI_TRY(cli_check(app, tn_features_open(app->ctx, path, &features)));
    CLI_TRY(open_labels(app, (tn_task)app->options.task, m));
    if (!app->options.positive)
        CLI_TRY(cli_labels_all(app, m->labels));
    CLI_TRY(cli_check(app, tn_rows_agree(app->ctx, (const tn_features *const *)&features, 1, m->labels)));
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features);
    if (cols != tn_labels_classes(m->labels))
        CLI_TRY(cli_fail(app, EXIT_DATA, "%s: %zu columns, but %s has %zu classes", path, cols, app->options.labels,
                         tn_labels_classes(m->labels)));
    CLI_TRY(cli_check(app, tn_mat_new(app->ctx, rows, cols, &m->scores)));
    CLI_TRY(cli_check(app, tn_features_read(app->ctx, features, NULL, 0, rows, 0, cols, m->scores->data)));
    m->threshold = 0.5;
    if (nan == TN_NAN_DROP)
        forget_nan_rows(m);
    for (size_t i = 0; nan == TN_NAN_ZERO && i < rows * cols; ++i)
        if (!isfinite(m->scores->data[i]))
            m->scores->data[i] = 0;
done:
    tn_features_close(features);
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

/* Where there are probabilities, how far they can be believed. The scores become them in place: last use. */
static int measure_probabilities(cli_app *app, measured *m, tn_metrics *metrics)
{
    bool from_head = m->head && tn_head_temperature(m->head) > 0;
    if (!from_head && !app->options.proba)
        return EXIT_FINE;
    int code = EXIT_FINE;
    if (from_head)
        CLI_TRY(cli_check(app, tn_head_probabilities(app->ctx, m->head, m->scores->rows, m->scores->data)));
    CLI_TRY(cli_check(app, tn_probability_metrics_compute(app->ctx, tn_mat_view(m->scores), m->labels, &metrics->nll,
                                                          &metrics->ece)));
done:
    return code;
}

int cmd_eval(cli_app *app)
{
    int code = EXIT_FINE;
    measured m = {.scores = NULL};
    tn_metrics *metrics = NULL;
    char *text = NULL;
    CLI_TRY(check_line(app));
    CLI_TRY(app->options.scores ? measure_scores(app, &m) : measure_head(app, &m));
    const double *thresholds = m.head ? tn_head_thresholds(m.head) : NULL;
    tn_view scores = tn_mat_view(m.scores);
    CLI_TRY(cli_check(app, thresholds ? tn_metrics_compute_at(app->ctx, scores, m.labels, thresholds, &metrics)
                                      : tn_metrics_compute(app->ctx, scores, m.labels, m.threshold, &metrics)));
    CLI_TRY(measure_probabilities(app, &m, metrics));
    const char *const *names = tn_labels_class_names(m.labels);
    CLI_TRY(cli_check(app, app->options.json ? tn_metrics_json(app->ctx, metrics, names, &text)
                                             : tn_metrics_table(app->ctx, metrics, names, app->options.per_class,
                                                                app->color, &text)));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_metrics_free(metrics);
    tn_mat_free(m.scores);
    tn_labels_free(m.labels);
    tn_head_free(m.head);
    return code;
}
