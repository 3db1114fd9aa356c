/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon encoder refine: the mixture of an encoder, or its projection, learned together with the classifier above it; for
 * all classes, for one, or for each of them, one file per class in a folder. */
#define _POSIX_C_SOURCE 200809L
#include "pictures.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the line names. */
typedef struct inputs {
    tn_encoder *encoder;
    tn_network *network;      /* that it was trained with, or NULL */
    tn_pictures *pictures[2]; /* to learn from, to judge by */
    tn_bags *bags[2];
    tn_labels *labels[2];
    tn_refine_data data[2];
} inputs;

static void close_inputs(inputs *in)
{
    tn_encoder_free(in->encoder);
    tn_network_free(in->network);
    for (size_t i = 0; i < 2; ++i) {
        tn_pictures_free(in->pictures[i]);
        tn_bags_free(in->bags[i]);
        tn_labels_free(in->labels[i]);
    }
}

/* ---- inputs ---- */

static int check_line(const cli_app *app)
{
    const cli_options *o = &app->options;
    if (!o->output)
        return cli_fail(app, EXIT_USAGE, "-o is missing; usage: tenon encoder %s", app->command->arguments);
    if (app->arg_count < 2 || (!o->bags && app->arg_count < 3))
        return cli_fail(app, EXIT_USAGE, "expected ENC and IMAGES or --bags; usage: tenon encoder %s",
                        app->command->arguments);
    if (o->bags && app->arg_count > 2)
        return cli_fail(app, EXIT_USAGE, "got both --bags and %s, expected one of them", app->args[2]);
    if (o->bags && !o->labels)
        return cli_fail(app, EXIT_USAGE, "--labels is missing: bags bring none");
    if (o->bags && o->valid.count != 0 && (o->valid.count != 1 || !o->valid_labels))
        return cli_fail(app, EXIT_USAGE, "with --bags, --valid takes one file of bags, and --valid-labels its labels");
    if (o->valid_labels && o->valid.count == 0)
        return cli_fail(app, EXIT_USAGE, "--valid-labels is given without --valid");
    if (!cli_has_value(app, "task", "each"))
        return cli_check(app, tn_output_check(app->ctx, o->output));
    return EXIT_FINE;
}

/* Set i: 0 to learn from, 1 to judge by. */
static int open_pictures(cli_app *app, inputs *in, size_t i, const char *const *images, size_t count)
{
    int code = cli_check(app, tn_pictures_open(app->ctx, images, count, &in->pictures[i]));
    if (code == 0 && cli_has_value(app, "on-error", "skip"))
        code = cli_check(app, tn_pictures_drop_broken(app->ctx, in->pictures[i], NULL));
    return code;
}

static int open_bags(cli_app *app, inputs *in, size_t i, const char *path, const char *offsets)
{
    if (cli_ends_with(path, ".npz") && !offsets)
        return cli_check(app, tn_bags_open(app->ctx, path, &in->bags[i]));
    return cli_check(app, tn_bags_open_arrays(app->ctx, path, offsets, &in->bags[i]));
}

static int open_labels(cli_app *app, inputs *in, size_t i, const char *path)
{
    tn_task task = i ? tn_labels_task(in->labels[0]) : TN_TASK_AUTO;
    if (path)
        return cli_labels_open(app, path, task, &in->labels[i]);
    return cli_check(app, tn_pictures_labels(app->ctx, in->pictures[i], &in->labels[i]));
}

static int open_encoder(cli_app *app, inputs *in)
{
    int code = EXIT_FINE;
    CLI_TRY(cli_check(app, tn_encoder_load(app->ctx, app->args[1], &in->encoder)));
    if (!tn_encoder_network(in->encoder) || app->options.bags)
        goto done;
    CLI_TRY(cli_check(app, tn_network_recall(app->ctx, tn_encoder_network(in->encoder), NULL, false, &in->network)));
    CLI_TRY(cli_check(app, tn_encoder_set_network(app->ctx, in->encoder, in->network)));
done:
    return code;
}

static int open_inputs(cli_app *app, inputs *in)
{
    int code = EXIT_FINE;
    const cli_options *o = &app->options;
    CLI_TRY(open_encoder(app, in));
    CLI_TRY(o->bags ? open_bags(app, in, 0, o->bags, o->offsets)
                    : open_pictures(app, in, 0, app->args + 2, app->arg_count - 2));
    CLI_TRY(open_labels(app, in, 0, o->labels));
    if (o->valid.count != 0) {
        CLI_TRY(o->bags ? open_bags(app, in, 1, o->valid.items[0], NULL)
                        : open_pictures(app, in, 1, o->valid.items, o->valid.count));
        CLI_TRY(open_labels(app, in, 1, o->valid_labels));
    }
    for (size_t i = 0; i < 2; ++i)
        in->data[i] = (tn_refine_data){in->pictures[i], in->bags[i], in->labels[i]};
done:
    return code;
}

/* ---- what came of it ---- */

/* One object without its braces. */
static int put_task(cli_app *app, FILE *out, const char *task, const tn_encoder *e, const tn_refine_info *info,
                    const char *path)
{
    char *text = NULL;
    int code = cli_check(app, tn_refine_json(app->ctx, info, &text));
    if (code != EXIT_FINE)
        return code;
    fputs("\"task\":", out);
    cli_json_string(out, task);
    fputc(',', out);
    cli_put_encoder(out, e);
    fprintf(out, ",%.*s,\"file\":", (int)strlen(text) - 2, text + 1);
    cli_json_string(out, path);
    tn_text_free(text);
    return EXIT_FINE;
}

static void say_figure(int width, int digits, double value)
{
    if (isnan(value))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, digits, value);
}

static void say_advice(const tn_refine_info *info)
{
    const tn_refine_round *best = info->rounds + info->best;
    printf("kept       round %zu", info->best);
    if (info->validation)
        printf(": mean AP %.2f %% on %zu pictures that did not teach it, %.2f %% before", 100 * best->valid,
               info->validation, 100 * info->rounds[0].valid);
    if (!isnan(info->twice_valid))
        printf(", %.2f %% with %zu Gaussians by EM", 100 * info->twice_valid, 2 * info->words);
    fputc('\n', stdout);
    if (strcmp(info->advice, "twice") == 0)
        printf("advice     use an EM mixture of twice the size: tenon encoder train --words %zu\n", 2 * info->words);
    else if (*info->advice)
        printf("advice     use %s\n", strcmp(info->advice, "refined") == 0
                                          ? "the refined encoder"
                                          : "the encoder as it was: nothing was gained");
}

static void say_task(const char *task, const tn_refine_info *info, const char *path)
{
    cli_say(stdout, "refined    fisher, %zu Gaussians, task %s: %zu %s, C %g over the pictures\n", info->words, task,
            info->classes, info->classes == 1 ? "class" : "classes", info->cost);
    printf("  learned  from %zu descriptors of %zu and %zu to judge by, in %.2f s; stopped by %s\n", info->descriptors,
           info->training, info->validation, info->seconds, info->stopped);
    printf("  %5s %12s %12s %9s %9s\n", "round", "objective", "loss", "step", "mean AP");
    for (size_t i = 0; i < info->round_count; ++i) {
        const tn_refine_round *r = info->rounds + i;
        printf("  %5zu %12.5g %12.5g ", i, r->objective, r->loss);
        say_figure(9, 3, i ? r->step : (double)NAN);
        say_figure(10, 2, 100 * r->valid);
        printf("%s\n", i == info->best ? "  kept" : "");
    }
    say_advice(info);
    cli_say(stdout, "saved as   %s\n", path);
}

/* ---- tasks ---- */

/* JSON goes to out, to be printed when all is well. */
static int refine_one(cli_app *app, const inputs *in, const char *task, const char *path, FILE *out)
{
    int code = EXIT_FINE;
    tn_encoder *made = NULL;
    tn_refine_info *info = NULL;
    CLI_TRY(cli_check(app, tn_options_set(app->ctx, app->library, "task", task)));
    CLI_TRY(
        cli_check(app, tn_encoder_refine(app->ctx, in->encoder, &in->data[0],
                                         app->options.valid.count ? &in->data[1] : NULL, app->library, &info, &made)));
    CLI_TRY(cli_check(app, tn_encoder_save(app->ctx, made, app->line, path)));
    cli_progress_clear();
    if (app->options.json)
        CLI_TRY(put_task(app, out, task, made, info, path));
    else if (!cli_says_nothing(app))
        say_task(task, info, path);
done:
    tn_refine_info_free(info);
    tn_encoder_free(made);
    return code;
}

/* FOLDER/NAME and what follows it. */
static int name_file(const cli_app *app, const char *folder, const char *name, const char *end, char path[PATH_MAX])
{
    if (strchr(name, '/') || name[0] == '.')
        return cli_fail(app, EXIT_FAILED,
                        "class %s cannot be the name of a file; give --task %s and a file of your own", name, name);
    int length = snprintf(path, PATH_MAX, "%s/%s%s", folder, name, end);
    return length < PATH_MAX ? EXIT_FINE : cli_fail(app, EXIT_FAILED, "%s/%s: the name is too long", folder, name);
}

static int make_folder(const cli_app *app, const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return EXIT_FINE;
    return cli_fail(app, EXIT_OUTPUT, "%s: %s", path, strerror(errno == EEXIST ? ENOTDIR : errno));
}

/* Descriptors are made once, for the first class; a cache that was not asked for goes at the end. */
static int refine_each(cli_app *app, const inputs *in, FILE *out)
{
    int code = EXIT_FINE;
    const char *folder = app->options.output, *const *names = tn_labels_class_names(in->labels[0]);
    char cache[PATH_MAX] = "", path[PATH_MAX], state[PATH_MAX];
    bool asked = *tn_options_text(app->library, "cache"), kept = *tn_options_text(app->library, "checkpoint");
    CLI_TRY(make_folder(app, folder));
    if (!asked) {
        CLI_TRY(name_file(app, folder, "descriptors", ".cache", cache));
        CLI_TRY(cli_check(app, tn_options_set(app->ctx, app->library, "cache", cache)));
    }
    for (size_t c = 0; c < tn_labels_classes(in->labels[0]); ++c) {
        CLI_TRY(name_file(app, folder, names[c], ".safetensors", path));
        CLI_TRY(name_file(app, folder, names[c], ".checkpoint", state));
        if (kept)
            CLI_TRY(cli_check(app, tn_options_set(app->ctx, app->library, "checkpoint", state)));
        fputs(c ? "},{" : "\"tasks\":[{", out);
        CLI_TRY(refine_one(app, in, names[c], path, out));
    }
    for (size_t c = 0; kept && c < tn_labels_classes(in->labels[0]); ++c)
        if (name_file(app, folder, names[c], ".checkpoint", state) == EXIT_FINE)
            remove(state);
done:
    if (!asked && !kept) {
        remove(cache);
        if (name_file(app, folder, "descriptors", ".cache.valid", cache) == EXIT_FINE)
            remove(cache);
    }
    return code;
}

static int refine(cli_app *app, const inputs *in, FILE *out)
{
    int code = EXIT_FINE;
    char task[1024], checkpoint[PATH_MAX];
    snprintf(task, sizeof task, "%s", tn_options_text(app->library, "task"));
    snprintf(checkpoint, sizeof checkpoint, "%s", tn_options_text(app->library, "checkpoint"));
    if (strcmp(task, "each") == 0) {
        CLI_TRY(refine_each(app, in, out));
        fputs("}]", out);
    } else {
        CLI_TRY(refine_one(app, in, task, app->options.output, out));
        if (*checkpoint) /* the encoder is safe: what it could be made from again is not needed */
            remove(checkpoint);
    }
done:
    return code;
}

int cli_refine(cli_app *app)
{
    int code = EXIT_FINE;
    inputs in = {.encoder = NULL};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    CLI_TRY(check_line(app));
    CLI_TRY(open_inputs(app, &in));
    CLI_TRY(refine(app, &in, out));
    fflush(out);
    if (app->options.json) {
        printf("{\"command\":\"encoder refine\",%s", text);
        cli_json_end(app, stdout);
    }
done:
    fclose(out);
    free(text);
    close_inputs(&in);
    return code;
}
