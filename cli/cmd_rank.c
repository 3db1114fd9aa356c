/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon rank: evidence of every candidate, best first. */
#include "cli.h"

int cmd_rank(cli_app *app)
{
    int code = EXIT_FINE;
    cli_sources sources = {NULL, 0};
    tn_labels *labels = NULL;
    tn_ranking *ranking = NULL;
    char *text = NULL;
    CLI_TRY(cli_need_labels(app));
    CLI_TRY(cli_sources_open(app, app->args, app->arg_count, &sources));
    CLI_TRY(cli_check(app, tn_labels_open(app->ctx, app->options.labels, (tn_task)app->options.task, &labels)));
    CLI_TRY(cli_check(
        app, tn_rank(app->ctx, cli_sources_view(&sources), sources.count, labels, &app->options.fit.rank, &ranking)));
    CLI_TRY(cli_check(app, app->options.json ? tn_ranking_json(app->ctx, ranking, &text)
                                             : tn_ranking_table(app->ctx, ranking, app->color, &text)));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_ranking_free(ranking);
    tn_labels_free(labels);
    cli_sources_close(&sources);
    return code;
}
