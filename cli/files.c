/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of a command line, looked at before any work. An output that would take the place of an input, or that two
 * options name, costs somebody a file: it is refused. Names are no help, x and ./x and a link to x are one file: files
 * that exist are compared by device and number, others by their folder and their name in it. What stays open: a file
 * that somebody else makes between this look and the writing. */
#define _XOPEN_SOURCE 700
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct identity {
    bool exists, is_folder;
    dev_t device, folder_device;
    ino_t number, folder_number;
    char name[NAME_MAX + 1]; /* in its folder */
} identity;

/* The folder that a path stands in, and its name there; links of a file that exists are followed. */
static void look_at_folder(const char *path, identity *out)
{
    char real[PATH_MAX], folder[PATH_MAX] = ".";
    struct stat info;
    const char *from = out->exists && realpath(path, real) ? real : path, *slash = strrchr(from, '/');
    snprintf(out->name, sizeof out->name, "%.*s", NAME_MAX, slash ? slash + 1 : from);
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", slash == from ? 1 : (int)(slash - from), from);
    if (stat(folder, &info) == 0) {
        out->folder_device = info.st_dev;
        out->folder_number = info.st_ino;
    }
}

static identity identity_of(const char *path)
{
    identity id = {.exists = false};
    struct stat info;
    if (stat(path, &info) == 0) {
        id.exists = true;
        id.is_folder = S_ISDIR(info.st_mode);
        id.device = info.st_dev;
        id.number = info.st_ino;
    }
    look_at_folder(path, &id);
    return id;
}

static bool is_same(const identity *a, const identity *b)
{
    if (a->exists || b->exists)
        return a->exists && b->exists && a->device == b->device && a->number == b->number;
    return a->folder_device == b->folder_device && a->folder_number == b->folder_number &&
           strcmp(a->name, b->name) == 0;
}

/* A shard, or a head of a library. */
static bool is_in_folder(const identity *file, const identity *folder)
{
    return folder->is_folder && file->exists && file->folder_device == folder->device &&
           file->folder_number == folder->number;
}

/* ---- what the line names ---- */

typedef struct named {
    const char *option, *word; /* option "" for an argument */
} named;

/* A file of the library's options; NULL where there is none. */
static const char *path_of(const cli_app *app, const char *name)
{
    const char *path = app->library ? tn_options_text(app->library, name) : NULL;
    return path && *path ? path : NULL;
}

/* Every command has its own, and those it has not are empty. */
enum { OUTPUTS = 7 };

static size_t outputs_of(const cli_app *app, named out[OUTPUTS])
{
    const cli_options *o = &app->options;
    bool scores = o->scores && app->command->run != cmd_eval; /* which reads them */
    const named all[OUTPUTS] = {{"-o ", o->output},
                                {"--checkpoint ", path_of(app, "checkpoint")},
                                {"--scores ", scores ? o->scores : NULL},
                                {"--labels-out ", o->labels_out},
                                {"--csv ", o->csv},
                                {"--picture ", o->picture},
                                {"--report ", o->report}};
    size_t count = 0;
    for (size_t i = 0; i < OUTPUTS; ++i)
        if (all[i].word)
            out[count++] = all[i];
    return count;
}

/* Files of --transform, which are joined by commas; words that are no files are the names of kernels. */
static void each_transform(const char *list, cli_input_fn use, void *user)
{
    for (size_t n; *list; list += n + (list[n] != 0)) {
        char path[PATH_MAX];
        n = strcspn(list, ",");
        snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : 0), list);
        use(user, "--transform ", path);
    }
}

void cli_each_input(const cli_app *app, cli_input_fn use, void *user)
{
    const cli_options *o = &app->options;
    bool scores = app->command->run == cmd_eval;
    const char *weights = path_of(app, "sample-weight"), *transform = path_of(app, "transform");
    const struct {
        const char *option;
        const char *const *words;
        size_t count;
    } lists[] = {{"", app->args, app->arg_count},
                 {"--labels ", &o->labels, 1},
                 {"--classes ", &o->classes, 1},
                 {"--valid ", o->valid.items, o->valid.count},
                 {"--valid-labels ", &o->valid_labels, 1},
                 {"--from ", &o->from, 1},
                 {"--sample-weight ", &weights, 1},
                 {"--sample-weight ", &o->weights, 1},
                 {"--moments ", o->moments.items, o->moments.count},
                 {"--rows ", o->rows.items, o->rows.count},
                 {"--target ", o->target.items, o->target.count},
                 {"--source ", o->features.items, o->features.count},
                 {"--groups ", &o->groups, 1},
                 {"--fold-file ", &o->fold_file, 1},
                 {"--data ", o->data.items, o->data.count},
                 {"--encoder ", o->encoders.items, o->encoders.count},
                 {"--net ", o->nets.items, o->nets.count},
                 {"--bags ", &o->bags, 1},
                 {"--offsets ", &o->offsets, 1},
                 {"--compare ", &o->compare, 1},
                 {"--ids ", &o->ids, 1},
                 {"--images ", o->images.items, o->images.count},
                 {"--scores ", &o->scores, scores ? 1 : 0}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
        for (size_t k = 0; k < lists[i].count; ++k)
            if (lists[i].words[k] && *lists[i].words[k])
                use(user, lists[i].option, lists[i].words[k]);
    if (transform)
        each_transform(transform, use, user);
}

typedef struct search {
    const identity *file;
    const char *option; /* of the input that it is or would be part of; NULL: none so far */
    char word[PATH_MAX];
} search;

/* As cli_input_fn. */
static void compare_input(void *user, const char *option, const char *word)
{
    search *s = user;
    char path[PATH_MAX];
    if (s->option)
        return;
    identity id = identity_of(tn_rep_file(word, path, sizeof path));
    if (!id.exists || !(is_same(s->file, &id) || is_in_folder(s->file, &id)))
        return;
    s->option = option;
    snprintf(s->word, sizeof s->word, "%s", word);
}

int cli_check_files(const cli_app *app)
{
    named outputs[OUTPUTS];
    identity ids[OUTPUTS];
    size_t count = outputs_of(app, outputs);
    for (size_t i = 0; i < count; ++i) {
        ids[i] = identity_of(outputs[i].word);
        for (size_t j = 0; j < i; ++j)
            if (is_same(&ids[i], &ids[j]))
                return cli_fail(app, EXIT_USAGE, "%s%s and %s%s are the same file; give them different names",
                                outputs[j].option, outputs[j].word, outputs[i].option, outputs[i].word);
        search found = {.file = &ids[i]};
        if (!app->options.force)
            cli_each_input(app, compare_input, &found);
        if (found.option)
            return cli_fail(app, EXIT_USAGE,
                            "%s%s would overwrite an input, %s%s; give it another name, or -f when that is meant",
                            outputs[i].option, outputs[i].word, found.option, found.word);
    }
    return EXIT_FINE;
}
