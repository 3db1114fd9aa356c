/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon rank: evidence of every candidate, best first. */
#include "cli.h"

static int rank_rows(cli_app *app, tn_ranking **out)
{
    int code = EXIT_FINE;
    cli_features features = {.count = 0};
    tn_labels *labels = NULL;
    CLI_TRY(cli_no_sample(app));
    CLI_TRY(cli_need_labels(app));
    CLI_TRY(cli_features_open(app, app->args, app->arg_count, &features));
    CLI_TRY(cli_labels_train(app, app->options.labels, false, &labels));
    CLI_TRY(cli_rows_agree(app, &features, labels));
    CLI_TRY(cli_check(app, tn_rank(app->ctx, cli_features_view(&features), features.count, labels, app->library, out)));
done:
    tn_labels_free(labels);
    cli_features_close(&features);
    return code;
}

static int rank_moments(cli_app *app, tn_ranking **out)
{
    cli_moments in = {.tally = NULL};
    int code = cli_moments_open(app, &in);
    if (code == 0)
        code = cli_check(app, tn_tally_rank(app->ctx, in.tally, app->library, out));
    cli_moments_close(&in);
    return code;
}

int cmd_rank(cli_app *app)
{
    int code = EXIT_FINE;
    tn_ranking *ranking = NULL;
    char *text = NULL, *page = NULL;
    CLI_TRY(app->options.moments.count > 0 ? rank_moments(app, &ranking) : rank_rows(app, &ranking));
    CLI_TRY(cli_check(app, app->options.json ? tn_ranking_json(app->ctx, ranking, &text)
                                             : tn_ranking_table(app->ctx, ranking, app->color, &text)));
    if (app->options.report)
        CLI_TRY(cli_report(app, tn_ranking_json(app->ctx, ranking, &page), &page, NULL));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_ranking_free(ranking);
    return code;
}
