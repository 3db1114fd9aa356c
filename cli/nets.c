/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of a command line: their options, opening them, and those that a head remembers. */
#define _POSIX_C_SOURCE 200809L
#include "nets.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT(member) offsetof(cli_options, member)

/* Names as the library has them, but for the first two and the last, which is for heads only. */
const tn_field cli_net_fields[CLI_NET_FIELDS] = {
    {"net", TN_FIELD_WORDS, AT(nets), 0, 0, "MODEL...",
     "take pictures (IMAGES) and see them through these networks: [NAME=]FILE.onnx[:LAYER]"},
    {"cache", TN_FIELD_TEXT, AT(cache), 0, 0, "DIR",
     "keep what encoders and networks make of pictures there; what is there is not computed again"},
    {"layer", TN_FIELD_TEXT, AT(layer), 0, 0, "NAME",
     "the layer whose values are the feature, as tenon info lists them; default: the output that looks like one"},
    {"as", TN_FIELD_CHOICE, AT(as), 0, 0, "auto|mean|max|token|bag",
     "what a map or tokens become: mean, maximum, first token, or a bag of all; auto: mean of a map, first token"},
    {"views", TN_FIELD_CHOICE, AT(views), 0, 0, "centre|flip|ten",
     "what is averaged: the middle, it and its mirror image, or those of the middle and four corners"},
    {"size", TN_FIELD_INT, AT(size), 0, 8192, "N",
     "width and height that networks see; 0: as the graph or the JSON beside it tells, else 224"},
    {"crop", TN_FIELD_REAL, AT(crop), 0, 1, "X",
     "share of the shorter side that is kept, in the middle; 0: as the JSON tells, else 0.875"},
    {"mean", TN_FIELD_TEXT, AT(mean), 0, 0, "R,G,B", "taken off colours, once they are scaled"},
    {"std", TN_FIELD_TEXT, AT(std), 0, 0, "R,G,B", "what they are divided by then"},
    {"scale", TN_FIELD_REAL, AT(scale), 0, 1e6, "X",
     "factor of colours from 0 to 255, first of all; 0: as the JSON tells, else 1/255"},
    {"resample", TN_FIELD_CHOICE, AT(resample), 0, 0, "auto|bilinear|bicubic", "how pictures are resized"},
    {"channels", TN_FIELD_CHOICE, AT(channels), 0, 0, "rgb|bgr", "order of colours"},
    {"layout", TN_FIELD_CHOICE, AT(layout), 0, 0, "auto|nchw|nhwc",
     "where the input has its colours; auto: by its shape"},
    {"config", TN_FIELD_TEXT, AT(config), 0, 0, "FILE.json",
     "what tells of the preparation in the place of the JSON beside the network"},
    {"other-net", TN_FIELD_FLAG, AT(other_net), 0, 0, NULL,
     "let a head take another network or encoder than the one it was trained with"},
};
enum { FIRST_OF_LIBRARY = 2, END_OF_LIBRARY = CLI_NET_FIELDS - 1 };

/* ---- opening ---- */

static int make_options(const cli_app *app, tn_options **out)
{
    char text[256];
    int code = cli_check(app, tn_options_new(app->ctx, "network", out));
    for (size_t i = FIRST_OF_LIBRARY; code == 0 && i < END_OF_LIBRARY; ++i) {
        const tn_field *f = &cli_net_fields[i];
        const char *value = f->kind == TN_FIELD_TEXT ? *(const char *const *)((const char *)&app->options + f->offset)
                                                     : tn_field_text(f, &app->options, text, sizeof text);
        bool bags = f->offset == AT(as) && app->options.as == CLI_AS_BAG; /* encoder train means them */
        if (bags || cli_was_given(app, f->name))
            code = cli_check(app, tn_options_set(app->ctx, *out, f->name, value));
    }
    return code;
}

/* NAME of [NAME=]FILE, or the file's name up to its first dot, and FILE. */
static char *name_of(const char *word, const char **path)
{
    const char *equals = strchr(word, '='), *dot = strstr(word, ".onnx");
    bool named = equals && (!dot || equals < dot);
    *path = named ? equals + 1 : word;
    const char *slash = strrchr(*path, '/'), *base = named ? word : slash && (!dot || slash < dot) ? slash + 1 : *path;
    size_t n = named ? (size_t)(equals - word) : strcspn(base, ".");
    return strndup(base, n ? n : strlen(base));
}

static int add(const cli_app *app, cli_networks *to, char *name, tn_network *network)
{
    to->names[to->count] = name;
    to->items[to->count++] = network;
    for (size_t i = 0; name && i + 1 < to->count; ++i)
        if (strcmp(to->names[i], name) == 0)
            return cli_fail(app, EXIT_USAGE, "two networks are called %s; give one another name: NAME=FILE.onnx", name);
    return name ? EXIT_FINE : cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
}

static int open_named(cli_app *app, cli_networks *out)
{
    tn_options *options = NULL;
    int code = make_options(app, &options);
    for (size_t i = 0; code == 0 && i < app->options.nets.count; ++i) {
        const char *path = NULL;
        char *name = name_of(app->options.nets.items[i], &path);
        tn_network *network = NULL;
        code = cli_check(app, tn_network_open(app->ctx, path, options, &network));
        if (code != 0)
            free(name);
        else
            code = add(app, out, name, network);
    }
    tn_options_free(options);
    return code;
}

const char *cli_net_given_for(const cli_app *app, const char *wanted)
{
    const char *found = NULL;
    for (size_t i = 0; i < app->options.nets.count && !found; ++i) {
        const char *path = NULL;
        char *name = name_of(app->options.nets.items[i], &path);
        if (name && strcmp(name, wanted) == 0)
            found = path;
        free(name);
    }
    return found;
}

static bool remembers(const tn_head *head, size_t i)
{
    const char *about = tn_head_about(head, i);
    return about && strncmp(about, "{\"network\":", 11) == 0;
}

static int open_remembered(cli_app *app, cli_networks *out)
{
    int code = EXIT_FINE;
    const tn_head *head = app->head;
    for (size_t i = 0; code == 0 && i < tn_head_rep_count(head); ++i) {
        const char *name = tn_head_rep(head, i).name;
        bool known = false;
        for (size_t k = 0; k < out->count; ++k)
            known = known || strcmp(out->names[k], name) == 0;
        if (known || !remembers(head, i))
            continue;
        tn_network *network = NULL;
        code = cli_check(app, tn_network_recall(app->ctx, tn_head_about(head, i), cli_net_given_for(app, name),
                                                app->options.other_net, &network));
        if (code == 0)
            code = add(app, out, strdup(name), network);
    }
    return code;
}

static bool has_remembered(const cli_app *app)
{
    for (size_t i = 0; app->head && i < tn_head_rep_count(app->head); ++i)
        if (remembers(app->head, i) || cli_remembers_encoder(app->head, i))
            return true;
    return false;
}

int cli_networks_open(cli_app *app, cli_networks *out)
{
    bool remembered = has_remembered(app);
    size_t most = app->options.nets.count + (app->head ? tn_head_rep_count(app->head) : 0);
    out->items = calloc(most + 1, sizeof *out->items);
    out->names = calloc(most + 1, sizeof *out->names);
    if (!out->items || !out->names)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu networks", most);
    return remembered ? open_remembered(app, out) : open_named(app, out);
}

void cli_networks_close(cli_networks *networks)
{
    for (size_t i = 0; i < networks->count; ++i) {
        tn_network_free(networks->items[i]);
        free(networks->names[i]);
    }
    free(networks->items);
    free(networks->names);
}

const tn_network *const *cli_networks_view(const cli_networks *networks)
{
    return (const tn_network *const *)networks->items;
}

/* ---- pictures, or not ---- */

static bool is_picture(const char *name)
{
    return cli_ends_with(name, ".jpg") || cli_ends_with(name, ".jpeg") || cli_ends_with(name, ".png");
}

bool cli_is_image(const char *word)
{
    struct stat about;
    return is_picture(word) || cli_ends_with(word, ".txt") || (stat(word, &about) == 0 && S_ISDIR(about.st_mode));
}

/* A folder of shards has .npy files; one of pictures has pictures in it, or, `deep`, in its sub-folders. */
static bool holds_pictures(const char *folder, bool deep)
{
    bool found = false, shards = false;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !shards && (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        shards = deep && cli_ends_with(entry->d_name, ".npy");
        if (found || entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        found = is_picture(entry->d_name) || (deep && holds_pictures(path, false));
    }
    if (dir)
        closedir(dir);
    return found && !shards;
}

/* The first line begins with the path of a picture. */
static bool lists_pictures(const char *path)
{
    char line[PATH_MAX] = "";
    FILE *file = cli_ends_with(path, ".txt") ? fopen(path, "r") : NULL;
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    line[strcspn(line, "\t\r\n")] = 0;
    return read && is_picture(line);
}

bool cli_takes_images(const cli_app *app, const char *const *words, size_t count)
{
    if (app->options.encoders.count != 0 || app->options.nets.count != 0)
        return true;
    if (count == 0 || app->head)
        return count != 0 && has_remembered(app) && cli_is_image(words[0]);
    return is_picture(words[0]) || holds_pictures(words[0], true) || lists_pictures(words[0]);
}

int cli_features_of_networks(cli_app *app, cli_features *out)
{
    cli_networks networks = {NULL, NULL, 0};
    bool bags = !app->head && app->options.as == CLI_AS_BAG; /* which encoders see */
    int code = bags ? EXIT_FINE : cli_networks_open(app, &networks);
    if (code == 0 && networks.count != 0)
        code = cli_check(app, tn_features_from_networks(app->ctx, (const char *const *)networks.names, app->pictures,
                                                        cli_networks_view(&networks), networks.count,
                                                        app->options.cache, out->items + out->count));
    if (code == 0)
        out->count += networks.count;
    cli_networks_close(&networks);
    return code;
}

/* ---- what a network is ---- */

int cli_info_network(cli_app *app, FILE *out, const char *path)
{
    char *text = NULL;
    int code = cli_check(app, tn_network_look(app->ctx, path, app->options.json, &text));
    if (code == 0)
        fputs(text, out);
    tn_text_free(text);
    return code;
}
