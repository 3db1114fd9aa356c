/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon pq: trains a product quantiser, or writes a representation as its codes. */
#include "cli.h"

#include <string.h>

static void print_json(const cli_app *app, const tn_pq *pq, const tn_features *features, const tn_pq_info *info)
{
    bool train = strcmp(app->args[0], "train") == 0;
    printf("{\"command\":\"pq %s\",\"rows\":%zu", app->args[0], tn_features_rows(features));
    if (train)
        printf(",\"sample\":%zu,\"iterations\":%zu,\"unfinished\":%zu", info->rows, info->iterations, info->unfinished);
    printf(",\"dim\":%zu,\"sub\":%zu,\"groups\":%zu,\"centroids\":%zu,\"compression\":", tn_pq_dim(pq), tn_pq_sub(pq),
           tn_pq_groups(pq), tn_pq_centroids(pq));
    cli_json_number(stdout, 4.0 * (double)tn_pq_dim(pq) / (double)tn_pq_groups(pq));
    fputs(",\"relative_error\":", stdout);
    cli_json_number(stdout, info->energy > 0 ? info->error / info->energy : 0);
    fputs(",\"seconds\":", stdout);
    cli_json_number(stdout, info->seconds);
    printf(",\"%s\":", train ? "quantiser" : "codes");
    cli_json_string(stdout, app->options.output);
    cli_json_end(app, stdout);
}

static void print_lines(const cli_app *app, const tn_pq *pq, const tn_features *features, const tn_pq_info *info)
{
    size_t dim = tn_pq_dim(pq), groups = tn_pq_groups(pq);
    if (strcmp(app->args[0], "train") == 0) {
        printf("quantiser   %zu columns, %zu a code, %zu centroids each\n", dim, tn_pq_sub(pq), tn_pq_centroids(pq));
        printf("trained on  %zu of %zu rows in %.2f s, at most %zu iterations a code\n", info->rows,
               tn_features_rows(features), info->seconds, info->iterations);
    } else {
        cli_say(stdout, "codes       %zu rows of %s in %.2f s\n", info->rows, tn_features_path(features),
                info->seconds);
    }
    printf(
        "size        %zu bytes per row instead of %zu: %.4g times smaller than float32, and %zu bytes of centroids\n",
        groups, 4 * dim, 4.0 * (double)dim / (double)groups, 4 * dim * tn_pq_centroids(pq));
    printf("error       %.4g of the mean squared norm\n", info->energy > 0 ? info->error / info->energy : 0);
    cli_say(stdout, "saved as    %s\n", app->options.output);
}

static int check_line(const cli_app *app, bool train)
{
    static const char suffix[] = ".safetensors";
    if (app->arg_count != (train ? 2 : 3))
        return cli_fail(app, EXIT_USAGE, "%s takes %s; usage: tenon pq %s", app->args[0],
                        train ? "one representation" : "a quantiser and one representation", app->command->arguments);
    int code = cli_need_output(app);
    size_t length = code == 0 ? strlen(app->options.output) : 0, n = sizeof suffix - 1;
    bool ends = length > n && strcmp(app->options.output + length - n, suffix) == 0;
    if (code == 0 && !train && !ends)
        code = cli_fail(app, EXIT_USAGE, "%s: codes are read from files that end in %s", app->options.output, suffix);
    return code;
}

int cmd_pq(cli_app *app)
{
    int code = EXIT_FINE;
    bool train = strcmp(app->args[0], "train") == 0;
    const char *output = app->options.output;
    tn_features *features = NULL;
    tn_pq *pq = NULL;
    tn_pq_info info = {0};
    CLI_TRY(check_line(app, train));
    if (!train)
        CLI_TRY(cli_check_order(app, 1, "tenon-pq", "quantiser"));
    if (!train)
        CLI_TRY(cli_check(app, tn_pq_load(app->ctx, app->args[1], &pq)));
    CLI_TRY(cli_check(app, tn_features_open(app->ctx, app->args[app->arg_count - 1], &features)));
    if (train) {
        CLI_TRY(cli_check(app, tn_pq_fit(app->ctx, features, app->library, &info, &pq)));
        CLI_TRY(cli_check(app, tn_pq_save(app->ctx, pq, app->line, output)));
    } else {
        CLI_TRY(cli_check(app, tn_codes_save(app->ctx, pq, features, app->line, output, &info)));
    }
    cli_progress_clear();
    if (app->options.json)
        print_json(app, pq, features, &info);
    else if (!cli_says_nothing(app))
        print_lines(app, pq, features, &info);
done:
    tn_pq_free(pq);
    tn_features_close(features);
    return code;
}
