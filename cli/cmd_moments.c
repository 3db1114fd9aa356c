/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon moments: sums over rows as a file, files of sums as one, one file without another. */
#include "cli.h"

#include <string.h>

typedef enum action { GATHER, MERGE, SUBTRACT } action;

static action action_of(const cli_app *app)
{
    return strcmp(app->args[0], "merge") == 0 ? MERGE : strcmp(app->args[0], "subtract") == 0 ? SUBTRACT : GATHER;
}

static int check_line(const cli_app *app, action what)
{
    static const char always[] = "output|force|json|quiet|progress|no-color|threads|mem|help";
    if (what == MERGE && app->arg_count < 2)
        return cli_fail(app, EXIT_USAGE, "merge takes at least one file of moments; usage: tenon moments %s",
                        app->command->arguments);
    if (what == SUBTRACT && app->arg_count < 3)
        return cli_fail(app, EXIT_USAGE,
                        "subtract takes a file of moments and at least one that is in it; usage: tenon "
                        "moments %s",
                        app->command->arguments);
    for (size_t i = 0; what != GATHER && i < app->given_count; ++i)
        if (!cli_is_one_of(always, app->given[i]->name))
            return cli_fail(app, EXIT_USAGE, "--%s is for tenon moments REP...; got %s", app->given[i]->name,
                            app->args[0]);
    int code = what == GATHER ? cli_need_labels(app) : EXIT_FINE;
    return code == 0 ? cli_need_output(app) : code;
}

static int gather(cli_app *app, tn_tally **out)
{
    int code = EXIT_FINE;
    cli_features features = {.count = 0};
    tn_labels *labels = NULL;
    CLI_TRY(cli_features_open(app, app->args, app->arg_count, &features));
    CLI_TRY(cli_labels_open(app, app->options.labels, (tn_task)app->options.task, &labels));
    CLI_TRY(cli_rows_agree(app, &features, labels));
    if (app->options.weights)
        CLI_TRY(cli_check(app, tn_labels_open_weights(app->ctx, labels, app->options.weights)));
    CLI_TRY(cli_check(
        app, tn_tally_gather(app->ctx, cli_features_view(&features), features.count, labels, app->library, out)));
done:
    tn_labels_free(labels);
    cli_features_close(&features);
    return code;
}

static int subtract(cli_app *app, double *digits, tn_tally **out)
{
    int code = EXIT_FINE;
    tn_tally *part = NULL;
    CLI_TRY(cli_check(app, tn_tally_load(app->ctx, app->args[1], out)));
    for (size_t i = 2; i < app->arg_count; ++i) {
        double lost = 0;
        CLI_TRY(cli_check(app, tn_tally_load(app->ctx, app->args[i], &part)));
        CLI_TRY(cli_check(app, tn_tally_subtract(app->ctx, *out, part, &lost)));
        *digits = lost > *digits ? lost : *digits;
        tn_tally_free(part);
        part = NULL;
    }
done:
    tn_tally_free(part);
    return code;
}

static void print_json(const cli_app *app, action what, const tn_tally *t, double digits)
{
    static const char *const names[] = {"moments", "moments merge", "moments subtract"};
    printf("{\"command\":\"%s\",\"task\":\"%s\",\"rows\":%zu,\"rows_left_out\":%zu,\"columns\":%zu,\"classes\":%zu,"
           "\"folds\":%zu,\"inputs\":%zu",
           names[what], tn_task_name(tn_tally_task(t)), tn_tally_rows(t), tn_tally_left_out(t), tn_tally_cols(t),
           tn_tally_classes(t), tn_tally_folds(t), tn_tally_input_count(t));
    if (what == SUBTRACT) {
        fputs(",\"digits_lost\":", stdout);
        cli_json_number(stdout, digits);
    }
    fputs(",\"moments\":", stdout);
    cli_json_string(stdout, app->options.output);
    cli_json_end(app, stdout);
}

static void print_lines(const cli_app *app, action what, const tn_tally *t, double digits)
{
    printf("moments   %zu rows of %zu columns, %zu %s\n", tn_tally_rows(t), tn_tally_cols(t), tn_tally_classes(t),
           tn_tally_task(t) == TN_TASK_REGRESSION ? "outputs" : "classes");
    if (tn_tally_left_out(t) > 0)
        printf("left out  %zu row%s\n", tn_tally_left_out(t), tn_tally_left_out(t) == 1 ? "" : "s");
    if (tn_tally_folds(t) > 1)
        printf("folds     %zu\n", tn_tally_folds(t));
    if (what == SUBTRACT)
        printf("digits    %.1f of about 15 lost in the variance of a column, at most\n", digits);
    cli_say(stdout, "saved as  %s\n", app->options.output);
}

int cmd_moments(cli_app *app)
{
    int code = EXIT_FINE;
    action what = action_of(app);
    tn_tally *tally = NULL;
    double digits = 0;
    CLI_TRY(check_line(app, what));
    CLI_TRY(what == GATHER  ? gather(app, &tally)
            : what == MERGE ? cli_check(app, tn_tally_open(app->ctx, app->args + 1, app->arg_count - 1, &tally))
                            : subtract(app, &digits, &tally));
    CLI_TRY(cli_check(app, tn_tally_save(app->ctx, tally, app->line, app->options.output)));
    cli_progress_clear();
    if (app->options.json)
        print_json(app, what, tally, digits);
    else if (!cli_says_nothing(app))
        print_lines(app, what, tally, digits);
done:
    tn_tally_free(tally);
    return code;
}

/* ---- --moments of rank and fit ---- */

static int check_moments(const cli_app *app)
{
    static const char rows[] =
        "encoder|on-error|net|transform|signed|normalize|loo|sample-weight|class-weight|calibrate|"
        "holdout|valid|valid-labels|from|folds|budget";
    static const char sample[] = "labels|classes|task|nan";
    if (app->arg_count > 0)
        return cli_fail(app, EXIT_USAGE, "--moments stands in the place of representations, but got %s too",
                        app->args[0]);
    for (size_t i = 0; i < app->given_count; ++i) {
        const char *name = app->given[i]->name;
        if (cli_is_one_of(rows, name) || (app->options.rows.count == 0 && cli_is_one_of(sample, name)))
            return cli_fail(app, EXIT_USAGE, "--%s is for rows, and --moments has only their sums: tenon help moments",
                            name);
    }
    return app->options.rows.count > 0 ? cli_need_labels(app) : EXIT_FINE;
}

static int open_rows(cli_app *app, cli_moments *in)
{
    int code = EXIT_FINE;
    const cli_options *o = &app->options;
    tn_task task = o->task == TN_TASK_AUTO ? tn_tally_task(in->tally) : (tn_task)o->task;
    CLI_TRY(cli_features_open(app, o->rows.items, o->rows.count, &in->rows));
    CLI_TRY(cli_labels_open(app, o->labels, task, &in->labels));
    CLI_TRY(cli_rows_agree(app, &in->rows, in->labels));
    CLI_TRY(cli_check(
        app, tn_options_set_features(app->ctx, app->library, "rows", cli_features_view(&in->rows), in->rows.count)));
    CLI_TRY(cli_check(app, tn_options_set_labels(app->ctx, app->library, "labels", in->labels)));
done:
    return code;
}

int cli_moments_open(cli_app *app, cli_moments *in)
{
    int code = EXIT_FINE;
    CLI_TRY(check_moments(app));
    CLI_TRY(
        cli_check(app, tn_tally_open(app->ctx, app->options.moments.items, app->options.moments.count, &in->tally)));
    if (app->options.rows.count > 0)
        CLI_TRY(open_rows(app, in));
done:
    return code;
}

void cli_moments_close(cli_moments *in)
{
    tn_tally_free(in->tally);
    tn_labels_free(in->labels);
    cli_features_close(&in->rows);
}

int cli_no_sample(const cli_app *app)
{
    return app->options.rows.count == 0
               ? EXIT_FINE
               : cli_fail(app, EXIT_USAGE, "--rows is a sample beside --moments FILE..., which are not given");
}
