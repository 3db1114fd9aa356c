/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon fit: chooses representations, trains a head, saves it. */
#include "cli.h"

int cmd_fit(cli_app *app)
{
    int code = EXIT_FINE;
    const cli_options *options = &app->options;
    cli_sources sources = {NULL, 0};
    tn_labels *labels = NULL;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    char *text = NULL;
    CLI_TRY(cli_need_labels(app));
    CLI_TRY(cli_need_output(app));
    CLI_TRY(cli_sources_open(app, app->args, app->arg_count, &sources));
    CLI_TRY(cli_check(app, tn_labels_open(app->ctx, options->labels, (tn_task)options->task, &labels)));
    CLI_TRY(cli_check(
        app, tn_fit(app->ctx, cli_sources_view(&sources), sources.count, labels, &options->fit, &info, &head)));
    CLI_TRY(cli_check(app, options->json ? tn_fit_json(app->ctx, info, options->output, &text)
                                         : tn_fit_table(app->ctx, info, options->output, app->color, &text)));
    CLI_TRY(cli_check(app, tn_head_save(app->ctx, head, app->line, options->output)));
    cli_progress_clear();
    printf("%s%s", text, options->json ? "\n" : "");
done:
    tn_text_free(text);
    tn_head_free(head);
    tn_fit_info_free(info);
    tn_labels_free(labels);
    cli_sources_close(&sources);
    return code;
}
