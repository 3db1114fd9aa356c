/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon extract: pictures or bags to vectors. */
#define _POSIX_C_SOURCE 200809L
#include "nets.h"
#include "pictures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int check_line(const cli_app *app)
{
    if (app->options.encoders.count == 0 && app->options.nets.count == 0)
        return cli_fail(app, EXIT_USAGE, "--encoder and --net are missing; usage: tenon extract %s",
                        app->command->arguments);
    if (!app->options.output)
        return cli_fail(app, EXIT_USAGE, "-o is missing; usage: tenon extract %s", app->command->arguments);
    if (!app->options.bags && app->arg_count == 0)
        return cli_fail(app, EXIT_USAGE, "expected IMAGES or --bags; usage: tenon extract %s", app->command->arguments);
    if (app->options.bags && (app->options.encoders.count != 1 || app->options.nets.count || app->options.labels_out))
        return cli_fail(app, EXIT_USAGE, "--bags takes one --encoder and has no labels to write");
    if (app->options.nets.count && (cli_was_given(app, "type") || cli_was_given(app, "resume")))
        return cli_fail(app, EXIT_USAGE, "--type and --resume are for --encoder; --cache keeps what networks make");
    return EXIT_FINE;
}

/* What the command makes: encoders, then networks, a file each. */
typedef struct makers {
    cli_encoders encoders;
    cli_networks networks;
    char **paths;
} makers;

static size_t count_of(const makers *m)
{
    return m->encoders.count + m->networks.count;
}

static const char *name_of(const makers *m, size_t i)
{
    return i < m->encoders.count ? m->encoders.names[i] : m->networks.names[i - m->encoders.count];
}

static size_t cols_of(const makers *m, size_t i)
{
    return i < m->encoders.count ? tn_encoder_cols(m->encoders.items[i])
                                 : tn_network_cols(m->networks.items[i - m->encoders.count]);
}

/* Descriptors per picture; 0: one vector. */
static size_t bag_of(const makers *m, size_t i)
{
    return i < m->encoders.count ? 0 : tn_network_bag(m->networks.items[i - m->encoders.count]);
}

/* -o itself for one, FOLDER/NAME.npy for several. */
static int make_paths(const cli_app *app, makers *m)
{
    const char *output = app->options.output;
    struct stat about;
    bool folder = count_of(m) > 1 || (stat(output, &about) == 0 && S_ISDIR(about.st_mode));
    if (folder && mkdir(output, 0777) != 0 && errno != EEXIST)
        return cli_fail(app, EXIT_OUTPUT, "%s: %s", output, strerror(errno));
    for (size_t i = 0; i < count_of(m); ++i) {
        size_t size = strlen(output) + strlen(name_of(m, i)) + 8;
        m->paths[i] = malloc(size);
        if (!m->paths[i])
            return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
        if (folder)
            snprintf(m->paths[i], size, "%s%s%s.npy", output, output[strlen(output) - 1] == '/' ? "" : "/",
                     name_of(m, i));
        else
            snprintf(m->paths[i], size, "%s", output);
        for (size_t j = 0; j < i; ++j)
            if (strcmp(m->paths[i], m->paths[j]) == 0)
                return cli_fail(app, EXIT_USAGE, "two are called %s; give one another name: NAME=FILE", name_of(m, i));
        int code = cli_check(app, tn_output_check(app->ctx, m->paths[i]));
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

static int extract_pictures(cli_app *app, const makers *m, size_t *rows)
{
    int code = EXIT_FINE;
    const cli_encoders *encoders = &m->encoders;
    const char *const *paths = (const char *const *)m->paths;
    CLI_TRY(cli_images_open(app, app->args, app->arg_count));
    *rows = tn_pictures_count(app->pictures);
    if (app->options.labels_out)
        CLI_TRY(write_labels(app));
    cli_progress_count("pictures", *rows);
    if (encoders->count != 0)
        CLI_TRY(
            cli_check(app, tn_extract_rows(app->ctx, app->pictures, NULL, (const tn_encoder *const *)encoders->items,
                                           encoders->count, paths, app->line, app->library)));
    if (m->networks.count != 0)
        CLI_TRY(cli_check(app, tn_extract_networks(app->ctx, app->pictures, cli_networks_view(&m->networks),
                                                   m->networks.count, paths + encoders->count, app->options.cache,
                                                   app->line)));
done:
    return code;
}

static int extract_bags(cli_app *app, const makers *m, size_t *rows)
{
    tn_bags *bags = NULL;
    int code = cli_bags_open(app, &bags);
    if (code == 0) {
        *rows = tn_bags_count(bags);
        cli_progress_count("bags", *rows);
        code = cli_check(app, tn_extract_rows(app->ctx, NULL, bags, (const tn_encoder *const *)m->encoders.items, 1,
                                              (const char *const *)m->paths, app->line, app->library));
    }
    tn_bags_free(bags);
    return code;
}

static void print(const cli_app *app, const makers *m, size_t rows)
{
    cli_progress_clear();
    if (app->options.json)
        printf("{\"command\":\"extract\",\"rows\":%zu,\"representations\":[", rows);
    for (size_t i = 0; i < count_of(m); ++i) {
        size_t bag = bag_of(m, i), cols = cols_of(m, i);
        if (app->options.json) {
            fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
            cli_json_string(stdout, name_of(m, i));
            printf(",\"cols\":%zu,\"file\":", cols);
            cli_json_string(stdout, m->paths[i]);
            if (bag)
                printf(",\"bag\":%zu", bag);
            fputc('}', stdout);
        } else if (bag && !cli_says_nothing(app))
            cli_say(stdout, "%s: %zu bags of %zu descriptors x %zu columns\n", m->paths[i], rows, bag, cols);
        else if (!cli_says_nothing(app))
            cli_say(stdout, "%s: %zu rows x %zu columns\n", m->paths[i], rows, cols);
    }
    if (app->options.json) {
        fputc(']', stdout);
        cli_json_end(app, stdout);
    }
}

int cmd_extract(cli_app *app)
{
    int code = EXIT_FINE;
    makers m = {.paths = calloc(app->options.encoders.count + app->options.nets.count + 1, sizeof(char *))};
    size_t rows = 0;
    if (!m.paths)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    CLI_TRY(check_line(app));
    CLI_TRY(cli_encoders_open(app, &m.encoders));
    CLI_TRY(cli_networks_open(app, &m.networks));
    CLI_TRY(make_paths(app, &m));
    CLI_TRY(app->options.bags ? extract_bags(app, &m, &rows) : extract_pictures(app, &m, &rows));
    print(app, &m, rows);
done:
    for (size_t i = 0; i < count_of(&m); ++i)
        free(m.paths[i]);
    free(m.paths);
    cli_encoders_close(&m.encoders);
    cli_networks_close(&m.networks);
    return code;
}
