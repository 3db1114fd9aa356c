/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon extract: pictures or bags to vectors. */
#define _POSIX_C_SOURCE 200809L
#include "pictures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int check_line(const cli_app *app)
{
    if (app->options.encoders.count == 0)
        return cli_fail(app, EXIT_USAGE, "--encoder is missing; usage: tenon extract %s", app->command->arguments);
    if (!app->options.output)
        return cli_fail(app, EXIT_USAGE, "-o is missing; usage: tenon extract %s", app->command->arguments);
    if (!app->options.bags && app->arg_count == 0)
        return cli_fail(app, EXIT_USAGE, "expected IMAGES or --bags; usage: tenon extract %s", app->command->arguments);
    if (app->options.bags && (app->options.encoders.count != 1 || app->options.labels_out))
        return cli_fail(app, EXIT_USAGE, "--bags takes one --encoder and has no labels to write");
    return EXIT_FINE;
}

/* -o itself for one encoder, FOLDER/NAME.npy for several; free each. */
static int make_paths(const cli_app *app, const cli_encoders *encoders, char **paths)
{
    const char *output = app->options.output;
    struct stat about;
    bool folder = encoders->count > 1 || (stat(output, &about) == 0 && S_ISDIR(about.st_mode));
    if (folder && mkdir(output, 0777) != 0 && errno != EEXIST)
        return cli_fail(app, EXIT_OUTPUT, "%s: %s", output, strerror(errno));
    for (size_t i = 0; i < encoders->count; ++i) {
        size_t size = strlen(output) + strlen(encoders->names[i]) + 8;
        paths[i] = malloc(size);
        if (!paths[i])
            return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
        if (folder)
            snprintf(paths[i], size, "%s/%s.npy", output, encoders->names[i]);
        else
            snprintf(paths[i], size, "%s", output);
        int code = cli_check(app, tn_output_check(app->ctx, paths[i]));
        if (code != 0)
            return code;
    }
    return EXIT_FINE;
}

/* One line per row: the names of its classes, joined by |. */
static int write_labels(cli_app *app)
{
    tn_labels *labels = NULL;
    char *text = NULL;
    int code = cli_check(app, tn_pictures_labels(app->ctx, app->pictures, &labels));
    if (code == 0)
        code = cli_check(app, tn_labels_text(app->ctx, labels, &text));
    if (code == 0)
        code = cli_check(app, tn_text_write(app->ctx, text, app->options.labels_out));
    tn_text_free(text);
    tn_labels_free(labels);
    return code;
}

static int extract(cli_app *app, const cli_encoders *encoders, char **paths, size_t *rows)
{
    int code = EXIT_FINE;
    tn_bags *bags = NULL;
    if (app->options.bags) {
        CLI_TRY(cli_bags_open(app, &bags));
        *rows = tn_bags_count(bags);
    } else {
        CLI_TRY(cli_images_open(app, app->args, app->arg_count));
        *rows = tn_pictures_count(app->pictures);
        if (app->options.labels_out)
            CLI_TRY(write_labels(app));
    }
    cli_progress_count(bags ? "bags" : "pictures", *rows);
    CLI_TRY(cli_check(app, tn_extract_rows(app->ctx, bags ? NULL : app->pictures, bags,
                                           (const tn_encoder *const *)encoders->items, encoders->count,
                                           (const char *const *)paths, app->line, app->library)));
done:
    tn_bags_free(bags);
    return code;
}

static void print(const cli_app *app, const cli_encoders *encoders, char *const *paths, size_t rows)
{
    cli_progress_clear();
    if (app->options.json) {
        printf("{\"command\":\"extract\",\"rows\":%zu,\"representations\":[", rows);
        for (size_t i = 0; i < encoders->count; ++i) {
            fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
            cli_json_string(stdout, encoders->names[i]);
            printf(",\"cols\":%zu,\"file\":", tn_encoder_cols(encoders->items[i]));
            cli_json_string(stdout, paths[i]);
            fputc('}', stdout);
        }
        fputc(']', stdout);
        cli_json_end(app, stdout);
    } else if (!cli_says_nothing(app)) {
        for (size_t i = 0; i < encoders->count; ++i)
            cli_say(stdout, "%s: %zu rows x %zu columns\n", paths[i], rows, tn_encoder_cols(encoders->items[i]));
    }
}

int cmd_extract(cli_app *app)
{
    int code = EXIT_FINE;
    cli_encoders encoders = {NULL, NULL, 0};
    char **paths = calloc(app->options.encoders.count + 1, sizeof *paths);
    size_t rows = 0;
    if (!paths)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    CLI_TRY(check_line(app));
    CLI_TRY(cli_encoders_open(app, &encoders));
    CLI_TRY(make_paths(app, &encoders, paths));
    CLI_TRY(extract(app, &encoders, paths, &rows));
    print(app, &encoders, paths, rows);
done:
    for (size_t i = 0; i < app->options.encoders.count; ++i)
        free(paths[i]);
    free(paths);
    cli_encoders_close(&encoders);
    return code;
}
