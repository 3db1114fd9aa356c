/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon fit: chooses representations, trains a head, saves it. */
#include "cli.h"

/* Everything that is opened for a fit. */
typedef struct inputs {
    cli_sources sources, valid_sources;
    tn_labels *labels, *valid_labels;
    tn_head *from;
    tn_valid valid;
} inputs;

/* ---- options of use under a condition only ---- */

static size_t count_words(const char *list)
{
    size_t n = 1;
    for (; *list; ++list)
        n += *list == ',';
    return n;
}

/* Nothing asks for the evidence: the head is no ridge and there is one set to take. */
static bool without_evidence(const cli_app *app)
{
    const tn_fit_options *fit = &app->options.fit;
    size_t candidates = app->arg_count * count_words(fit->rank.transform) * count_words(fit->rank.normalize);
    return fit->method >= TN_METHOD_SVM && (candidates < 2 || fit->select == TN_SEARCH_ALL || app->options.from);
}

static bool without_folds(const cli_app *app)
{
    const tn_fit_options *fit = &app->options.fit;
    bool one = fit->method == TN_METHOD_SVM || fit->method == TN_METHOD_LOGISTIC;
    return one && fit->learn.calibrate != TN_CALIBRATE_YES;
}

static bool without_ratio(const cli_app *app)
{
    return app->options.fit.online.multiclass != TN_ONLINE_W_OVR;
}

static bool without_valid(const cli_app *app)
{
    return app->options.valid.count == 0;
}

static int check_conditions(const cli_app *app)
{
    static const struct {
        const char *option;
        bool (*pointless)(const cli_app *app);
        const char *needs;
    } conditions[] = {
        {"optimizer|tolerance|max-iterations|start", without_evidence,
         "is for --method evidence, ridge-cv, and for the choice among several candidates; here nothing is chosen by "
         "evidence"},
        {"folds", without_folds,
         "is for --method ridge-cv, svm-cv, with --calibrate yes also svm, logistic; here nothing is "
         "cross-validated"},
        {"ratio", without_ratio, "is for --multiclass w-ovr"},
        {"patience", without_valid, "is for --valid REP... --valid-labels FILE"},
    };
    for (size_t i = 0; i < app->given_count; ++i)
        for (size_t c = 0; c < sizeof conditions / sizeof *conditions; ++c)
            if (cli_is_one_of(conditions[c].option, app->given[i]->name) && conditions[c].pointless(app))
                return cli_fail(app, EXIT_USAGE, "--%s %s", app->given[i]->name, conditions[c].needs);
    return EXIT_FINE;
}

static int check_line(const cli_app *app)
{
    const cli_options *options = &app->options;
    int code = cli_need_labels(app);
    if (code == 0 && (options->valid.count != 0) != (options->valid_labels != NULL))
        code = cli_fail(app, EXIT_USAGE, "--valid REP... and --valid-labels FILE go together, got one of them");
    if (code == 0)
        code = check_conditions(app);
    return code != 0 ? code : cli_need_output(app);
}

/* What the labels leave no room for. */
static int check_task(const cli_app *app, const tn_labels *labels)
{
    const tn_fit_options *fit = &app->options.fit;
    if (labels->task == TN_TASK_REGRESSION && fit->learn.calibrate == TN_CALIBRATE_YES)
        return cli_fail(app, EXIT_USAGE, "--calibrate yes: a regression has no classes, and so no probabilities");
    if (labels->task == TN_TASK_MULTILABEL && cli_was_given(app, "multiclass") &&
        fit->online.multiclass == TN_ONLINE_MUL)
        return cli_fail(app, EXIT_USAGE,
                        "--multiclass mul: rows of %s have several classes, and are learned one against "
                        "the rest; expected u-ovr|e-ovr|w-ovr",
                        labels->path);
    return EXIT_FINE;
}

static int open_validation(cli_app *app, inputs *in)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    CLI_TRY(cli_sources_open(app, options->valid.items, options->valid.count, &in->valid_sources));
    CLI_TRY(cli_labels_open(app, options->valid_labels, in->labels->task, &in->valid_labels));
    in->valid = (tn_valid){cli_sources_view(&in->valid_sources), in->valid_sources.count, in->valid_labels};
    app->options.fit.valid = &in->valid;
done:
    return code;
}

/* A file of weights that is not there is told before the work, whatever the method. */
static int check_weights(cli_app *app)
{
    tn_source *weights = NULL;
    const char *path = app->options.fit.learn.sample_weight;
    int code = *path ? cli_check(app, tn_source_open(app->ctx, path, &weights)) : EXIT_FINE;
    tn_source_close(weights);
    return code;
}

static int open_all(cli_app *app, inputs *in)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    CLI_TRY(cli_sources_open(app, app->args, app->arg_count, &in->sources));
    bool weighted = options->fit.learn.class_weight == TN_WEIGHT_BALANCED;
    CLI_TRY(cli_labels_train(app, options->labels, weighted, &in->labels));
    CLI_TRY(check_task(app, in->labels));
    CLI_TRY(cli_rows_agree(app, &in->sources, in->labels));
    CLI_TRY(check_weights(app));
    if (options->from) {
        CLI_TRY(cli_check(app, tn_head_load(app->ctx, options->from, &in->from)));
        CLI_TRY(cli_check(
            app, tn_labels_join(app->ctx, in->labels, tn_head_class_names(in->from), tn_head_classes(in->from))));
        app->options.fit.from = in->from;
    }
    if (options->valid.count != 0)
        CLI_TRY(open_validation(app, in));
done:
    return code;
}

static void close_all(inputs *in)
{
    tn_head_free(in->from);
    tn_labels_free(in->labels);
    tn_labels_free(in->valid_labels);
    cli_sources_close(&in->sources);
    cli_sources_close(&in->valid_sources);
}

int cmd_fit(cli_app *app)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    inputs in = {.labels = NULL};
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    char *text = NULL;
    CLI_TRY(check_line(app));
    CLI_TRY(open_all(app, &in));
    CLI_TRY(cli_check(app, tn_fit(app->ctx, cli_sources_view(&in.sources), in.sources.count, in.labels, &options->fit,
                                  &info, &head)));
    CLI_TRY(cli_check(app, options->json ? tn_fit_json(app->ctx, info, options->output, &text)
                                         : tn_fit_table(app->ctx, info, options->output, app->color, &text)));
    CLI_TRY(cli_check(app, tn_head_save(app->ctx, head, app->line, options->output)));
    if (*options->fit.online.checkpoint) /* the head is safe: what it could be made from again is not needed */
        remove(options->fit.online.checkpoint);
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_head_free(head);
    tn_fit_info_free(info);
    close_all(&in);
    return code;
}
