/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon kernel: learns the map of an additive kernel, maps rows by one, compares kernels, shows one. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel by its name, or from its file. */
static int open_kernel(cli_app *app, const char *word, tn_map **out)
{
    static const char *const names[] = {"hellinger", "chi2", "intersection", "js"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(word, names[i]) == 0)
            return cli_check(
                app, tn_map_new_named(app->ctx, word,
                                      cli_has_value(app, "signed", "split") ? TN_SIGNED_SPLIT : TN_SIGNED_ODD, out));
    tn_status status = tn_map_load(app->ctx, word, out);
    if (status == TN_ERR_IO)
        return cli_fail(app, EXIT_INPUT, "%s; expected a kernel file or %s", tn_ctx_message(app->ctx), TN_MAP_WORDS);
    return cli_check(app, status);
}

static int check_count(const cli_app *app, bool fine, const char *takes)
{
    if (fine)
        return EXIT_FINE;
    return cli_fail(app, EXIT_USAGE, "%s takes %s; see tenon help kernel", app->args[0], takes);
}

/* ---- learn ---- */

/* The words of --data as sources and labels, both (count). */
static int open_data(cli_app *app, size_t count, tn_map_data *data)
{
    int code = EXIT_FINE;
    for (size_t i = 0; code == 0 && i < count; ++i) {
        tn_features *features = NULL;
        tn_labels *labels = NULL;
        const char *const *words = app->options.data.items + 2 * i;
        code = cli_check(app, tn_features_open(app->ctx, words[0], &features));
        data[i].features = features;
        if (code == 0)
            code = cli_labels_train(app, words[1], true, &labels);
        data[i].labels = labels;
    }
    return code;
}

static int learn(cli_app *app)
{
    int code = EXIT_FINE;
    size_t count = app->options.data.count / 2;
    tn_map_data *data = NULL;
    tn_map_info info;
    tn_map *map = NULL;
    char *text = NULL, *page = NULL, *table = NULL;
    const char *output = app->options.output;
    CLI_TRY(check_count(app, app->arg_count == 1, "its data from --data"));
    if (count == 0 || app->options.data.count % 2 != 0)
        CLI_TRY(
            cli_fail(app, EXIT_USAGE, "--data: got %zu of REP and LABELS, expected pairs", app->options.data.count));
    CLI_TRY(cli_need_output(app));
    data = calloc(count, sizeof *data);
    if (!data)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu data sets", count));
    CLI_TRY(open_data(app, count, data));
    CLI_TRY(cli_check(app, tn_map_learn(app->ctx, data, count, app->library, &info, &map)));
    CLI_TRY(cli_check(app, app->options.json ? tn_map_learn_json(app->ctx, &info, map, output, &text)
                                             : tn_map_learn_text(app->ctx, &info, map, output, app->color, &text)));
    CLI_TRY(cli_check(app, tn_map_save(app->ctx, map, app->line, output)));
    if (app->options.report) {
        CLI_TRY(cli_check(app, tn_map_json(app->ctx, map, output, &table)));
        CLI_TRY(cli_report(app, tn_map_learn_json(app->ctx, &info, map, output, &page), &page, &table));
    }
    cli_print_result(app, text);
done:
    for (size_t i = 0; data && i < count; ++i) {
        tn_features_close((tn_features *)(uintptr_t)data[i].features);
        tn_labels_free((tn_labels *)(uintptr_t)data[i].labels);
    }
    free(data);
    tn_map_free(map);
    tn_text_free(table);
    tn_text_free(text);
    return code;
}

/* ---- apply ---- */

static int check_apply(const cli_app *app)
{
    int code = check_count(app, app->arg_count == 3, "a kernel and one representation");
    if (code == 0 && app->options.normalize == TN_NORM_ZSCORE)
        code = cli_fail(app, EXIT_USAGE,
                        "--normalize zscore: depends on all rows of a file; expected l2, root, l1 or none");
    if (code == 0 && cli_has_value(app, "nan", "drop"))
        code = cli_fail(app, EXIT_USAGE,
                        "--nan drop: rows would no longer be those of their labels; expected error or zero");
    return code != 0 ? code : cli_need_output(app);
}

static int apply(cli_app *app)
{
    int code = EXIT_FINE;
    tn_map *map = NULL;
    tn_features *features = NULL;
    const cli_options *options = &app->options;
    CLI_TRY(check_apply(app));
    CLI_TRY(cli_check_order(app, 1, "tenon-kernel", "kernel"));
    CLI_TRY(open_kernel(app, app->args[1], &map));
    CLI_TRY(cli_check(app, tn_features_open(app->ctx, app->args[2], &features)));
    CLI_TRY(cli_check(app, tn_map_rows_save(app->ctx, map, features, (tn_normalize)options->normalize,
                                            cli_has_value(app, "nan", "zero") ? TN_NAN_ZERO : TN_NAN_ERROR,
                                            options->output)));
    cli_progress_clear();
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features), width = tn_map_width(map);
    if (options->json) {
        printf("{\"command\":\"kernel apply\",\"rows\":%zu,\"dim\":%zu,\"width\":%zu,\"file\":", rows, cols * width,
               width);
        cli_json_string(stdout, options->output);
        cli_json_end(app, stdout);
    } else if (!cli_says_nothing(app)) {
        cli_say(stdout, "%s: %zu rows, %zu columns became %zu\n", options->output, rows, cols, cols * width);
    }
done:
    tn_features_close(features);
    tn_map_free(map);
    return code;
}

/* ---- compare ---- */

static void print_cosines(const cli_app *app, const char *const *names, size_t count, const double *cosine)
{
    size_t width = 8;
    for (size_t i = 0; i < count; ++i)
        width = strlen(names[i]) > width ? strlen(names[i]) : width;
    if (app->options.json) {
        fputs("{\"command\":\"kernel compare\",\"kernels\":[", stdout);
        for (size_t i = 0; i < count; ++i) {
            fputs(i ? "," : "", stdout);
            cli_json_string(stdout, names[i]);
        }
        fputs("],\"cosine\":[", stdout);
        for (size_t i = 0; i < count * count; ++i) {
            fputs(i % count ? "," : i ? "],[" : "[", stdout);
            cli_json_number(stdout, cosine[i]);
        }
        fputs("]]", stdout);
        cli_json_end(app, stdout);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        cli_say(stdout, "%-*s", (int)width, names[i]);
        for (size_t j = 0; j < count; ++j)
            printf("  %8.5f", cosine[i * count + j]);
        puts("");
    }
}

static int compare(cli_app *app)
{
    int code = EXIT_FINE;
    size_t count = app->arg_count - 1;
    tn_map **maps = calloc(count + 1, sizeof *maps);
    double *cosine = calloc(count * count + 1, sizeof *cosine);
    if (!maps || !cosine)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu kernels", count));
    CLI_TRY(check_count(app, count >= 2, "at least two kernels"));
    for (size_t i = 0; i < count; ++i)
        CLI_TRY(open_kernel(app, app->args[i + 1], &maps[i]));
    for (size_t i = 0; i < count; ++i)
        for (size_t j = i; j < count; ++j) {
            CLI_TRY(cli_check(app, tn_map_similarity(app->ctx, maps[i], maps[j], &cosine[i * count + j])));
            cosine[j * count + i] = cosine[i * count + j];
        }
    print_cosines(app, app->args + 1, count, cosine);
done:
    for (size_t i = 0; maps && i < count; ++i)
        tn_map_free(maps[i]);
    free(maps);
    free(cosine);
    return code;
}

/* ---- show ---- */

static int show(cli_app *app)
{
    int code = EXIT_FINE;
    tn_map *map = NULL;
    char *text = NULL;
    CLI_TRY(check_count(app, app->arg_count == 2, "one kernel"));
    const char *name = app->args[1], *csv = app->options.csv, *picture = app->options.picture;
    if (csv)
        CLI_TRY(cli_check(app, tn_output_check(app->ctx, csv)));
    if (picture)
        CLI_TRY(cli_check(app, tn_output_check(app->ctx, picture)));
    CLI_TRY(open_kernel(app, name, &map));
    CLI_TRY(cli_check(app, app->options.json ? tn_map_json(app->ctx, map, name, &text)
                                             : tn_map_text(app->ctx, map, name, app->color, &text)));
    if (csv)
        CLI_TRY(cli_check(app, tn_map_csv_save(app->ctx, map, csv)));
    if (picture)
        CLI_TRY(cli_check(app, tn_map_picture_save(app->ctx, map, name, picture)));
    cli_print_result(app, text);
done:
    tn_text_free(text);
    tn_map_free(map);
    return code;
}

int cmd_kernel(cli_app *app)
{
    static const struct {
        const char *name;
        int (*run)(cli_app *app);
    } actions[] = {{"learn", learn}, {"apply", apply}, {"compare", compare}, {"show", show}};
    size_t i = 0;
    while (strcmp(app->args[0], actions[i].name) != 0) /* one of them: the parser has looked */
        ++i;
    return actions[i].run(app);
}
