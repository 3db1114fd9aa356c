/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The representations of a command line, and the files it must name. */
#include "nets.h"
#include "pictures.h"

#include <stdlib.h>
#include <string.h>

/* Rows of shards that are left out are NaN: they go without a word, unless one was said. */
static int open_one(cli_app *app, const char *rep, tn_features **out)
{
    bool skip = app->options.on_error == CLI_SKIP;
    tn_status status = (skip ? tn_features_open_sound : tn_features_open)(app->ctx, rep, out);
    if (status != TN_OK)
        return cli_features_failed(app, rep, status);
    if (!skip || cli_was_given(app, "nan"))
        return EXIT_FINE;
    app->options.nan = TN_NAN_DROP;
    return app->library && tn_options_text(app->library, "nan")
               ? cli_check(app, tn_options_set(app->ctx, app->library, "nan", "drop"))
               : EXIT_FINE;
}

int cli_features_open(cli_app *app, const char *const *reps, size_t count, cli_features *out)
{
    if (cli_takes_images(app, reps, count))
        return cli_features_of_images(app, reps, count, out);
    out->items = calloc(count ? count : 1, sizeof *out->items);
    if (!out->items)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu representations", count);
    for (size_t i = 0; i < count; ++i) {
        int code = cli_check_features(app, reps[i]);
        if (code != 0)
            return code;
        code = open_one(app, reps[i], &out->items[i]);
        out->count = i + (out->items[i] ? 1 : 0);
        if (code != 0)
            return code;
        code = cli_check_column(app, reps[i], out->items[i]);
        if (code != 0)
            return code;
        const char *name = tn_features_name(out->items[i]);
        for (size_t j = 0; j < i; ++j)
            if (strcmp(name, tn_features_name(out->items[j])) == 0)
                return cli_fail(app, EXIT_USAGE, "%s and %s are both called %s; give one another name: NAME=%s",
                                tn_features_path(out->items[j]), tn_features_path(out->items[i]), name,
                                tn_features_path(out->items[i]));
    }
    return EXIT_FINE;
}

void cli_features_close(cli_features *features)
{
    for (size_t i = 0; i < features->count; ++i)
        tn_features_close(features->items[i]);
    free(features->items);
    tn_pictures_free(features->pictures);
}

const tn_features *const *cli_features_view(const cli_features *features)
{
    return (const tn_features *const *)features->items;
}

/* The names of --classes are handed to `use`; without the option nothing happens. */
static int with_classes(cli_app *app, tn_labels *labels,
                        tn_status (*use)(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count))
{
    char **names = NULL;
    size_t count = 0;
    if (!app->options.classes)
        return EXIT_FINE;
    int code = cli_check(app, tn_class_names_open(app->ctx, app->options.classes, &names, &count));
    if (code == 0)
        code = cli_check(app, use(app->ctx, labels, (const char *const *)names, count));
    tn_class_names_free(names);
    return code;
}

/* From their file, or, where none is named, from the pictures. */
static tn_status read_labels(cli_app *app, const char *path, tn_task task, tn_labels **out)
{
    return path || !app->pictures ? tn_labels_open(app->ctx, path, task, out)
                                  : tn_pictures_labels(app->ctx, app->pictures, out);
}

int cli_labels_open(cli_app *app, const char *path, tn_task task, tn_labels **out)
{
    int code = cli_check(app, read_labels(app, path, task, out));
    return code != 0 ? code : with_classes(app, *out, tn_labels_name);
}

int cli_labels_train(cli_app *app, const char *path, bool weighted, tn_labels **out)
{
    tn_task asked = (tn_task)app->options.task;
    int code = cli_check(app, read_labels(app, path, asked, out));
    if (code == 0)
        code = cli_check(app, tn_labels_judge(app->ctx, *out, asked, weighted));
    return code != 0 ? code : with_classes(app, *out, tn_labels_name);
}

int cli_labels_all(cli_app *app, tn_labels *labels)
{
    return with_classes(app, labels, tn_labels_map);
}

int cli_need_output(const cli_app *app)
{
    if (!app->options.output)
        return cli_fail(app, EXIT_USAGE, "-o is missing; usage: tenon %s %s", app->command->name,
                        app->command->arguments);
    return cli_check(app, tn_output_check(app->ctx, app->options.output));
}

int cli_need_labels(const cli_app *app)
{
    bool applied = app->command->run == cmd_eval;
    bool images = applied && app->arg_count > 1 && cli_is_image(app->args[1]);
    if (app->options.labels || images || cli_takes_images(app, app->args, applied ? 0 : app->arg_count))
        return EXIT_FINE;
    return cli_fail(app, EXIT_USAGE, "--labels is missing; usage: tenon %s %s", app->command->name,
                    app->command->arguments);
}
