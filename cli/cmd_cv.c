/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon cv: figures of one method, or of two, by heads that have not seen the rows they are measured by. */
#include "cli.h"

static int check_line(const cli_app *app)
{
    const cli_options *options = &app->options;
    int code = cli_check_valid(app);
    if (code == 0 && options->fold_file && cli_was_given(app, "folds"))
        code = cli_fail(app, EXIT_USAGE, "--fold-file says how many folds there are; got --folds too");
    return code == 0 && options->scores ? cli_check(app, tn_output_check(app->ctx, options->scores)) : code;
}

/* A name or number per row, as an option of the call. */
static int open_parts(cli_app *app, const char *option, const char *path, tn_labels **out)
{
    int code = EXIT_FINE;
    if (!path)
        return EXIT_FINE;
    CLI_TRY(cli_check(app, tn_labels_open(app->ctx, path, TN_TASK_MULTICLASS, out)));
    CLI_TRY(cli_check(app, tn_options_set_labels(app->ctx, app->library, option, *out)));
done:
    return code;
}

static int write_scores(cli_app *app, const tn_cv_result *result)
{
    int code = EXIT_FINE;
    tn_npy_writer *writer = NULL;
    size_t rows = tn_cv_rows(result);
    CLI_TRY(cli_check(app, tn_npy_writer_open(app->ctx, app->options.scores, rows, tn_cv_classes(result), &writer)));
    CLI_TRY(cli_check(app, tn_npy_writer_rows(app->ctx, writer, tn_cv_scores(result), rows)));
    CLI_TRY(cli_check(app, tn_npy_writer_commit(app->ctx, writer)));
done:
    tn_npy_writer_close(writer);
    return code;
}

int cmd_cv(cli_app *app)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    cli_fit_inputs in = {.labels = NULL};
    tn_labels *groups = NULL, *folds = NULL;
    tn_cv_result *result = NULL;
    char *text = NULL, *page = NULL;
    CLI_TRY(check_line(app));
    CLI_TRY(cli_fit_open(app, &in));
    CLI_TRY(open_parts(app, "groups", options->groups, &groups));
    CLI_TRY(open_parts(app, "fold-file", options->fold_file, &folds));
    CLI_TRY(cli_check(app, tn_options_set_flag(app->ctx, app->library, "scores", options->scores != NULL)));
    CLI_TRY(cli_check(
        app, tn_cv(app->ctx, cli_features_view(&in.features), in.features.count, in.labels, app->library, &result)));
    CLI_TRY(cli_check(app, options->json ? tn_cv_json(app->ctx, result, options->scores, &text)
                                         : tn_cv_table(app->ctx, result, options->scores, app->color, &text)));
    if (options->scores)
        CLI_TRY(write_scores(app, result));
    if (options->report)
        CLI_TRY(cli_report(app, tn_cv_json(app->ctx, result, options->scores, &page), &page, NULL));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_cv_free(result);
    tn_labels_free(groups);
    tn_labels_free(folds);
    cli_fit_close(&in);
    return code;
}
