/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon fit: chooses representations, trains a head, saves it. */
#include "nets.h"

int cli_check_valid(const cli_app *app)
{
    const cli_options *options = &app->options;
    int code = cli_need_labels(app);
    bool images = options->valid.count != 0 && cli_takes_images(app, options->valid.items, options->valid.count);
    if (code == 0 && !images && (options->valid.count != 0) != (options->valid_labels != NULL))
        code = cli_fail(app, EXIT_USAGE, "--valid REP... and --valid-labels FILE go together, got one of them");
    return code;
}

static int check_line(const cli_app *app)
{
    int code = cli_check_valid(app);
    if (code == 0)
        code = cli_need_output(app);
    const char *checkpoint = tn_options_text(app->library, "checkpoint");
    return code == 0 && *checkpoint ? cli_check(app, tn_output_check(app->ctx, checkpoint)) : code;
}

/* What the labels leave no room for. */
static int check_task(const cli_app *app, const tn_labels *labels)
{
    if (tn_labels_task(labels) == TN_TASK_REGRESSION && cli_has_value(app, "calibrate", "yes"))
        return cli_fail(app, EXIT_USAGE, "--calibrate yes: a regression has no classes, and so no probabilities");
    if (tn_labels_task(labels) == TN_TASK_MULTILABEL && cli_was_given(app, "multiclass") &&
        cli_has_value(app, "multiclass", "mul"))
        return cli_fail(app, EXIT_USAGE,
                        "--multiclass mul: rows of %s have several classes, and are learned one against "
                        "the rest; expected u-ovr|e-ovr|w-ovr",
                        tn_labels_path(labels));
    return EXIT_FINE;
}

static int open_validation(cli_app *app, cli_fit_inputs *in)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    tn_pictures *own = app->pictures; /* which pages show */
    app->pictures = NULL;
    CLI_TRY(cli_features_open(app, options->valid.items, options->valid.count, &in->valid_features));
    CLI_TRY(cli_labels_open(app, options->valid_labels, tn_labels_task(in->labels), &in->valid_labels));
    CLI_TRY(cli_check(app, tn_options_set_features(app->ctx, app->library, "valid",
                                                   cli_features_view(&in->valid_features), in->valid_features.count)));
    CLI_TRY(cli_check(app, tn_options_set_labels(app->ctx, app->library, "valid-labels", in->valid_labels)));
done:
    tn_pictures_free(app->pictures);
    app->pictures = own;
    return code;
}

int cli_fit_open(cli_app *app, cli_fit_inputs *in)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    CLI_TRY(cli_features_open(app, app->args, app->arg_count, &in->features));
    bool weighted = cli_has_value(app, "class-weight", "balanced");
    CLI_TRY(cli_labels_train(app, options->labels, weighted, &in->labels));
    CLI_TRY(check_task(app, in->labels));
    CLI_TRY(cli_rows_agree(app, &in->features, in->labels));
    const char *weights = tn_options_text(app->library, "sample-weight");
    if (*weights)
        CLI_TRY(cli_check(app, tn_labels_open_weights(app->ctx, in->labels, weights)));
    if (options->from) {
        CLI_TRY(cli_check(app, tn_head_load(app->ctx, options->from, &in->from)));
        CLI_TRY(cli_check(
            app, tn_labels_join(app->ctx, in->labels, tn_head_class_names(in->from), tn_head_classes(in->from))));
        CLI_TRY(cli_check(app, tn_options_set_head(app->ctx, app->library, "from", in->from)));
    }
    if (options->valid.count != 0)
        CLI_TRY(open_validation(app, in));
done:
    return code;
}

void cli_fit_close(cli_fit_inputs *in)
{
    tn_head_free(in->from);
    tn_labels_free(in->labels);
    tn_labels_free(in->valid_labels);
    cli_features_close(&in->features);
    cli_features_close(&in->valid_features);
}

static int fit_rows(cli_app *app, tn_fit_info **info, tn_head **head)
{
    int code = EXIT_FINE;
    cli_fit_inputs in = {.labels = NULL};
    CLI_TRY(cli_no_sample(app));
    CLI_TRY(check_line(app));
    CLI_TRY(cli_fit_open(app, &in));
    CLI_TRY(cli_check(app, tn_fit(app->ctx, cli_features_view(&in.features), in.features.count, in.labels, app->library,
                                  info, head)));
done:
    cli_fit_close(&in);
    return code;
}

static int fit_moments(cli_app *app, tn_fit_info **info, tn_head **head)
{
    cli_moments in = {.tally = NULL};
    int code = cli_need_output(app);
    if (code == 0)
        code = cli_moments_open(app, &in);
    if (code == 0)
        code = cli_check(app, tn_tally_fit(app->ctx, in.tally, app->library, info, head));
    cli_moments_close(&in);
    return code;
}

int cmd_fit(cli_app *app)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    char *text = NULL, *page = NULL;
    CLI_TRY(options->moments.count > 0 ? fit_moments(app, &info, &head) : fit_rows(app, &info, &head));
    CLI_TRY(cli_check(app, options->json ? tn_fit_json(app->ctx, info, options->output, &text)
                                         : tn_fit_table(app->ctx, info, options->output, app->color, &text)));
    CLI_TRY(cli_check(app, tn_head_save(app->ctx, head, app->line, options->output)));
    const char *checkpoint = tn_options_text(app->library, "checkpoint");
    if (*checkpoint) /* the head is safe: what it could be made from again is not needed */
        remove(checkpoint);
    if (options->report)
        CLI_TRY(cli_report(app, tn_fit_json(app->ctx, info, options->output, &page), &page, NULL));
    cli_print_result(app, text);
    if (info->interrupted) /* the head is the best so far, and a script must see that it is no more */
        code = EXIT_INTERRUPTED;
done:
    tn_text_free(text);
    tn_head_free(head);
    tn_fit_info_free(info);
    return code;
}
