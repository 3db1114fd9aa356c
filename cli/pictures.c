/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures and bags of a command line: IMAGES in the place of representations. */
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

/* Half of the memory that is free, or of --mem, for vectors: learners need some too. */
static bool too_much(const cli_app *app, const cli_encoders *encoders)
{
    tn_machine machine;
    tn_machine_look(&machine);
    double bytes = 0, most = 0.5 * (double)(app->options.mem ? app->options.mem : machine.memory_available);
    for (size_t i = 0; i < encoders->count; ++i)
        bytes += 4.0 * (double)tn_encoder_cols(encoders->items[i]) * (double)tn_pictures_count(app->pictures);
    return most > 0 && bytes > most;
}

/* Pictures of their own: those of app may be replaced by others while the features live. */
static int keep_pictures(cli_app *app, const char *const *images, size_t count, cli_features *out)
{
    tn_pictures *others = app->pictures;
    app->pictures = NULL;
    int code = cli_images_open(app, images, count);
    out->pictures = app->pictures;
    app->pictures = others;
    return code;
}

/* A row is encoded whenever it is asked for. */
static int stream(cli_app *app, const char *const *images, size_t count, cli_features *out)
{
    int code = EXIT_FINE;
    const cli_encoders *encoders = app->encoders;
    CLI_TRY(keep_pictures(app, images, count, out));
    for (size_t i = 0; i < encoders->count; ++i) {
        CLI_TRY(cli_check(app, tn_features_stream_pictures(app->ctx, encoders->names[i], out->pictures,
                                                           encoders->items[i], &out->items[i])));
        out->count = i + 1;
    }
done:
    return code;
}

static int encode(cli_app *app, cli_features *out)
{
    const cli_encoders *encoders = app->encoders;
    cli_progress_count("pictures", tn_pictures_count(app->pictures));
    int code = cli_check(app, tn_features_from_encoders(app->ctx, (const char *const *)encoders->names, app->pictures,
                                                        (const tn_encoder *const *)encoders->items, encoders->count,
                                                        app->options.cache, out->items));
    out->count = code == EXIT_FINE ? encoders->count : 0;
    return code;
}

int cli_features_of_images(cli_app *app, const char *const *images, size_t count, cli_features *out)
{
    int code = EXIT_FINE;
    CLI_TRY(cli_images_open(app, images, count));
    CLI_TRY(cli_encoders_prepare(app));
    size_t networks = app->options.nets.count + (app->head ? tn_head_rep_count(app->head) : 0);
    out->items = calloc(app->encoders->count + networks + 1, sizeof *out->items);
    if (!out->items)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused to give any"));
    if (app->encoders->count != 0)
        CLI_TRY(!app->options.cache && too_much(app, app->encoders) ? stream(app, images, count, out)
                                                                    : encode(app, out));
    cli_progress_count("pictures", tn_pictures_count(app->pictures));
    CLI_TRY(cli_features_of_networks(app, out));
    cli_progress_count(NULL, 0);
done:
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
