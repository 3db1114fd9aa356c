/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon transfer: a head for few rows, from their features and the scores that other classifiers give them. */
#include "cli.h"

static int check_line(const cli_app *app)
{
    int code = cli_need_labels(app);
    if (code == 0 && app->options.target.count == 0)
        code = cli_fail(app, EXIT_USAGE, "--target is missing; usage: tenon transfer %s", app->command->arguments);
    return code != 0 ? code : cli_need_output(app);
}

int cmd_transfer(cli_app *app)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    cli_features targets = {.count = 0};
    cli_sources sources = {NULL, NULL, 0};
    tn_labels *labels = NULL;
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    char *text = NULL, *page = NULL;
    CLI_TRY(check_line(app));
    CLI_TRY(cli_features_open(app, options->target.items, options->target.count, &targets));
    CLI_TRY(cli_labels_train(app, options->labels, cli_has_value(app, "class-weight", "balanced"), &labels));
    CLI_TRY(cli_rows_agree(app, &targets, labels));
    if (options->weights)
        CLI_TRY(cli_check(app, tn_labels_open_weights(app->ctx, labels, options->weights)));
    if (options->positive)
        CLI_TRY(cli_check(app, tn_labels_against_rest(app->ctx, labels, options->positive)));
    CLI_TRY(cli_sources_open(app, &options->features, &sources));
    CLI_TRY(cli_check(app, tn_transfer(app->ctx, cli_features_view(&targets), targets.count, labels, sources.list,
                                       sources.count, app->library, &info, &head)));
    CLI_TRY(cli_check(app, options->json ? tn_transfer_json(app->ctx, info, options->output, &text)
                                         : tn_transfer_table(app->ctx, info, options->output, app->color, &text)));
    CLI_TRY(cli_check(app, tn_head_save(app->ctx, head, app->line, options->output)));
    if (options->report)
        CLI_TRY(cli_report(app, tn_transfer_json(app->ctx, info, options->output, &page), &page, NULL));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_head_free(head);
    tn_transfer_info_free(info);
    tn_labels_free(labels);
    cli_sources_close(&sources);
    cli_features_close(&targets);
    return code;
}
