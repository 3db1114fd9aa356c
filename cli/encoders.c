/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders of a command line: from files, from the head that is applied, or learned from the pictures of the line, which
 * is what rank, fit and cv do where none is named. Learning looks at pictures, never at labels: one encoder serves all
 * folds of cv. */
#define _POSIX_C_SOURCE 200809L
#include "nets.h"
#include "pictures.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char default_word[] = "default", remembered[] = "{\"encoder\":";

static int no_memory(const cli_app *app)
{
    return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
}

static int make_list(const cli_app *app, size_t most, cli_encoders *out)
{
    out->items = calloc(most + 1, sizeof *out->items);
    out->names = calloc(most + 1, sizeof *out->names);
    out->networks = calloc(most + 1, sizeof *out->networks);
    return out->items && out->names && out->networks ? EXIT_FINE : no_memory(app);
}

void cli_encoders_close(cli_encoders *encoders)
{
    for (size_t i = 0; i < encoders->count; ++i) {
        tn_encoder_free(encoders->items[i]);
        tn_network_free(encoders->networks[i]);
        free(encoders->names[i]);
    }
    free(encoders->items);
    free(encoders->names);
    free(encoders->networks);
}

static size_t find(const cli_encoders *list, const char *name)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->names[i], name) != 0)
        ++i;
    return i;
}

/* All three are the list's from here on; network may be NULL. */
static int add(const cli_app *app, cli_encoders *to, char *name, tn_encoder *encoder, tn_network *network)
{
    bool twice = name && find(to, name) < to->count;
    to->items[to->count] = encoder;
    to->networks[to->count] = network;
    to->names[to->count++] = name;
    if (twice)
        return cli_fail(app, EXIT_USAGE, "two encoders are called %s; give one another name: NAME=FILE", name);
    return name ? EXIT_FINE : no_memory(app);
}

/* NAME of [NAME=]FILE, or the file's name up to its first dot, and FILE. */
static char *name_of(const char *word, const char **path)
{
    const char *equals = strchr(word, '=');
    *path = equals ? equals + 1 : word;
    const char *slash = strrchr(*path, '/'), *base = equals ? word : slash ? slash + 1 : *path;
    size_t n = equals ? (size_t)(equals - word) : strcspn(base, ".");
    return strndup(base, n ? n : strlen(base));
}

/* The network that an encoder was trained with, by --net of that name from another place. */
static int join(cli_app *app, const char *name, tn_encoder *encoder, tn_network **out)
{
    int code = EXIT_FINE;
    if (!tn_encoder_network(encoder))
        return code;
    CLI_TRY(cli_check(app, tn_network_recall(app->ctx, tn_encoder_network(encoder), cli_net_given_for(app, name),
                                             app->options.other_net, out)));
    CLI_TRY(cli_check(app, tn_encoder_set_network(app->ctx, encoder, *out)));
done:
    return code;
}

/* An encoder that was made, with its network; the list's or freed. */
static int take(cli_app *app, cli_encoders *to, char *name, tn_encoder *encoder)
{
    tn_network *network = NULL;
    int code = name ? join(app, name, encoder, &network) : EXIT_FINE;
    if (code == EXIT_FINE)
        return add(app, to, name, encoder, network);
    tn_network_free(network);
    tn_encoder_free(encoder);
    free(name);
    return code;
}

static int open_file(cli_app *app, const char *word, cli_encoders *out)
{
    const char *path = NULL;
    tn_encoder *encoder = NULL;
    char *name = name_of(word, &path);
    int code = name ? cli_check(app, tn_encoder_load(app->ctx, path, &encoder)) : no_memory(app);
    if (code == EXIT_FINE)
        return take(app, out, name, encoder);
    free(name);
    return code;
}

int cli_encoders_open(cli_app *app, cli_encoders *out)
{
    const tn_words *words = &app->options.encoders;
    int code = make_list(app, words->count, out);
    for (size_t i = 0; code == EXIT_FINE && i < words->count; ++i)
        code = strcmp(words->items[i], default_word) == 0
                   ? cli_fail(app, EXIT_USAGE, "--encoder default is learned by rank, fit and cv; expected a file")
                   : open_file(app, words->items[i], out);
    return code;
}

/* ---- of the head that is applied ---- */

/* The file that --encoder gives for a name of the head; NULL: none. */
static const char *given_for(const cli_app *app, const char *wanted)
{
    const char *found = NULL;
    for (size_t i = 0; i < app->options.encoders.count && !found; ++i) {
        const char *path = NULL;
        char *name = name_of(app->options.encoders.items[i], &path);
        if (name && strcmp(name, wanted) == 0)
            found = path;
        free(name);
    }
    return found;
}

/* Refuses an encoder that is another one than that of representation i. */
static int check_same(cli_app *app, size_t i, const tn_encoder *encoder, const char *path)
{
    char *about = NULL;
    int code = cli_check(app, tn_encoder_about(app->ctx, encoder, &about));
    if (code == EXIT_FINE && strcmp(about, tn_head_about(app->head, i)) != 0 && !app->options.other_net)
        code = cli_fail(app, EXIT_DATA,
                        "%s: another encoder than the head was trained with; without --encoder it takes "
                        "its own, with --other-net this one",
                        path);
    tn_text_free(about);
    return code;
}

static int open_remembered(cli_app *app, size_t i, cli_encoders *out)
{
    const char *name = tn_head_rep(app->head, i).name, *path = given_for(app, name);
    tn_encoder *encoder = NULL;
    int code = cli_check(app, path ? tn_encoder_load(app->ctx, path, &encoder)
                                   : tn_head_encoder(app->ctx, app->head, i, &encoder));
    if (code == EXIT_FINE && path)
        code = check_same(app, i, encoder, path);
    if (code == EXIT_FINE)
        return take(app, out, strdup(name), encoder);
    tn_encoder_free(encoder);
    return code;
}

bool cli_remembers_encoder(const tn_head *head, size_t i)
{
    const char *about = tn_head_about(head, i);
    return about && strncmp(about, remembered, sizeof remembered - 1) == 0;
}

/* ---- learned here ---- */

/* The default encoder number i, or with a network the one of its bags. */
static int learn(cli_app *app, size_t i, const tn_network *network, tn_encoder **out)
{
    int code = EXIT_FINE;
    tn_options *options = NULL;
    cli_progress_count("pictures", tn_pictures_count(app->pictures));
    CLI_TRY(cli_check(app, tn_options_new(app->ctx, "encoder", &options)));
    CLI_TRY(cli_check(app, tn_default_encoder_options(app->ctx, i, options)));
    CLI_TRY(cli_check(app, tn_options_set_number(app->ctx, options, "seed", (double)app->options.seed)));
    CLI_TRY(cli_check(app, network ? tn_encoder_train_network(app->ctx, app->pictures, network, options, NULL, out)
                                   : tn_encoder_train(app->ctx, app->pictures, options, NULL, out)));
done:
    tn_options_free(options);
    return code;
}

static int learn_defaults(cli_app *app, cli_encoders *out)
{
    int code = EXIT_FINE;
    for (size_t i = 0; code == EXIT_FINE && tn_default_encoder_name(i); ++i) {
        tn_encoder *encoder = NULL;
        code = learn(app, i, NULL, &encoder);
        if (code == EXIT_FINE)
            code = add(app, out, strdup(tn_default_encoder_name(i)), encoder, NULL);
    }
    return code;
}

/* Networks of --net that make bags become encoders. */
static int learn_bags(cli_app *app, cli_networks *from, cli_encoders *out)
{
    int code = EXIT_FINE;
    for (size_t i = 0; code == EXIT_FINE && i < from->count; ++i) {
        tn_encoder *encoder = NULL;
        if (tn_network_bag(from->items[i]) == 0)
            continue;
        code = learn(app, SIZE_MAX, from->items[i], &encoder);
        if (code != EXIT_FINE)
            continue;
        code = add(app, out, strdup(from->names[i]), encoder, from->items[i]);
        from->items[i] = NULL; /* handed over */
    }
    return code;
}

/* ---- all of them ---- */

static int prepare(cli_app *app, cli_encoders *out)
{
    int code = EXIT_FINE;
    const tn_words *words = &app->options.encoders;
    size_t reps = app->head ? tn_head_rep_count(app->head) : 0, defaults = 0;
    cli_networks networks = {NULL, NULL, 0};
    while (tn_default_encoder_name(defaults))
        ++defaults;
    CLI_TRY(make_list(app, words->count * defaults + defaults + reps + words->count + app->options.nets.count, out));
    for (size_t i = 0; i < reps; ++i)
        if (cli_remembers_encoder(app->head, i) && find(out, tn_head_rep(app->head, i).name) == out->count)
            CLI_TRY(open_remembered(app, i, out));
    for (size_t i = 0, known = out->count; i < words->count; ++i) {
        const char *path = NULL;
        char *name = name_of(words->items[i], &path);
        bool is_known = name && find(out, name) < known;
        free(name);
        if (!app->head && strcmp(words->items[i], default_word) == 0)
            CLI_TRY(learn_defaults(app, out));
        else if (!is_known)
            CLI_TRY(open_file(app, words->items[i], out));
    }
    if (!app->head && words->count == 0 && app->options.nets.count == 0)
        CLI_TRY(learn_defaults(app, out));
    if (!app->head && app->options.nets.count != 0 && app->options.as == CLI_AS_BAG) {
        CLI_TRY(cli_networks_open(app, &networks));
        CLI_TRY(learn_bags(app, &networks, out));
    }
done:
    cli_networks_close(&networks);
    return code;
}

int cli_encoders_prepare(cli_app *app)
{
    if (app->encoders)
        return EXIT_FINE;
    app->encoders = calloc(1, sizeof *app->encoders);
    return app->encoders ? prepare(app, app->encoders) : no_memory(app);
}

void cli_forget_pictures(cli_app *app)
{
    tn_pictures_free(app->pictures);
    if (app->encoders)
        cli_encoders_close(app->encoders);
    free(app->encoders);
}
