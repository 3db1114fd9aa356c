/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures, bags and encoders of a command line: IMAGES in the place of representations. */
#define _POSIX_C_SOURCE 200809L
#include "nets.h"
#include "pictures.h"

#include <stdlib.h>
#include <string.h>

int cli_images_open(cli_app *app, const char *const *images, size_t count)
{
    tn_pictures_free(app->pictures);
    app->pictures = NULL;
    int code = cli_check(app, tn_pictures_open(app->ctx, images, count, &app->pictures));
    if (code == 0 && app->options.on_error == CLI_SKIP)
        code = cli_check(app, tn_pictures_drop_broken(app->ctx, app->pictures, NULL));
    return code;
}

int cli_encoders_open(cli_app *app, cli_encoders *out)
{
    const tn_words *words = &app->options.encoders;
    out->items = calloc(words->count + 1, sizeof *out->items);
    out->names = calloc(words->count + 1, sizeof *out->names);
    if (!out->items || !out->names)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu encoders", words->count);
    for (size_t i = 0; i < words->count; ++i) {
        const char *equals = strchr(words->items[i], '='), *path = equals ? equals + 1 : words->items[i];
        const char *slash = strrchr(path, '/'), *base = equals ? words->items[i] : slash ? slash + 1 : path;
        size_t n = equals ? (size_t)(equals - words->items[i]) : strcspn(base, ".");
        int code = cli_check(app, tn_encoder_load(app->ctx, path, &out->items[i]));
        if (code != 0)
            return code;
        out->count = i + 1;
        out->names[i] = strndup(base, n ? n : strlen(base));
        if (!out->names[i])
            return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
        for (size_t j = 0; j < i; ++j)
            if (strcmp(out->names[j], out->names[i]) == 0)
                return cli_fail(app, EXIT_USAGE, "%s and %s are both called %s; give one another name: NAME=%s",
                                words->items[j], words->items[i], out->names[i], path);
    }
    return EXIT_FINE;
}

void cli_encoders_close(cli_encoders *encoders)
{
    for (size_t i = 0; i < encoders->count; ++i) {
        tn_encoder_free(encoders->items[i]);
        free(encoders->names[i]);
    }
    free(encoders->items);
    free(encoders->names);
}

int cli_features_of_images(cli_app *app, const char *const *images, size_t count, cli_features *out)
{
    int code = EXIT_FINE;
    cli_encoders encoders = {NULL, NULL, 0};
    CLI_TRY(cli_images_open(app, images, count));
    CLI_TRY(cli_encoders_open(app, &encoders));
    size_t networks = app->options.nets.count + (app->head ? tn_head_rep_count(app->head) : 0);
    out->items = calloc(encoders.count + networks + 1, sizeof *out->items);
    if (!out->items)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused to give any"));
    for (size_t i = 0; i < encoders.count; ++i) {
        CLI_TRY(cli_check(app, tn_features_from_pictures(app->ctx, encoders.names[i], app->pictures, encoders.items[i],
                                                         &out->items[i])));
        out->count = i + 1;
    }
    CLI_TRY(cli_features_of_networks(app, out));
done:
    cli_encoders_close(&encoders);
    return code;
}

int cli_bags_open(cli_app *app, tn_bags **out)
{
    const cli_options *o = &app->options;
    if (app->arg_count > 1)
        return cli_fail(app, EXIT_USAGE, "got both --bags and %s, expected one of them", app->args[1]);
    if (cli_ends_with(o->bags, ".npz") && !o->offsets)
        return cli_check(app, tn_bags_open(app->ctx, o->bags, out));
    return cli_check(app, tn_bags_open_arrays(app->ctx, o->bags, o->offsets, out));
}
