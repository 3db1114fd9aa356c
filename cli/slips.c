/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files in the place of others: a head behind the representations, labels among them, a folder of networks for one of
 * shards. They are recognised by what they say they are, and told with the line to type instead. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* The metadata stand in the header at the beginning of the file; this much of it is looked at. */
enum { SNIFF = 1 << 16 };

bool cli_calls_itself(const char *path, const char *format)
{
    char word[40];
    size_t length = (size_t)snprintf(word, sizeof word, "\"%s\"", format);
    bool found = false;
    static char bytes[SNIFF]; /* no memory is asked for: a refusal would make another kind of file of it */
    struct stat info;
    int file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t count = 0;
    for (ssize_t n = 1; file >= 0 && n > 0 && count<SNIFF; count += n> 0 ? (size_t)n : 0)
        n = read(file, bytes + count, SNIFF - count);
    bool is_container = count > 8 && bytes[8] == '{'; /* 8 bytes of length, then JSON */
    for (size_t i = 8; is_container && !found && i + length <= count; ++i)
        found = memcmp(bytes + i, word, length) == 0;
    if (file >= 0)
        close(file);
    return found;
}

int cli_check_order(const cli_app *app, size_t place, const char *format, const char *what)
{
    char line[80];
    if (app->arg_count <= place || cli_calls_itself(app->args[place], format))
        return EXIT_FINE;
    snprintf(line, sizeof line, "%s%s%s", app->command->name, place ? " " : "", place ? app->args[0] : "");
    for (size_t i = place + 1; i < app->arg_count; ++i)
        if (cli_calls_itself(app->args[i], format))
            return cli_fail(app, EXIT_USAGE, "%s is no %s, but %s is, and comes first: tenon %s %s %s",
                            app->args[place], what, app->args[i], line, app->args[i], app->args[place]);
    return EXIT_FINE;
}

/* The name of a folder, with its slash. In place: there is room, or the name is cut. */
static const char *with_slash(char path[PATH_MAX])
{
    size_t n = strlen(path);
    if (n != 0 && path[n - 1] != '/' && n + 1 < PATH_MAX)
        memcpy(path + n, "/", 2);
    return path;
}

static bool has_suffix(const char *folder, const char *suffix)
{
    bool found = false;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !found && (entry = readdir(dir)) != NULL;)
        found = cli_ends_with(entry->d_name, suffix);
    if (dir)
        closedir(dir);
    return found;
}

/* What a file that is no representation is, and how it is used; NULL when it does not say. */
static const char *other_use(const char *path)
{
    static const char *const kinds[][2] = {
        {"tenon-head", "a head: tenon predict applies it, --source takes it for transfer"},
        {"tenon-kernel", "a kernel: --transform takes it, tenon kernel apply applies it"},
        {"tenon-pq", "a quantiser: tenon pq apply applies it"},
        {"tenon-moments", "moments: --moments of rank and fit takes them"},
        {"tenon-encoder", "an encoder: --encoder takes it, tenon extract applies it"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (cli_calls_itself(path, kinds[i][0]))
            return kinds[i][1];
    return NULL;
}

static bool is_one_file(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cli_check_features(const cli_app *app, const char *rep)
{
    char path[PATH_MAX];
    const char *labels = app->options.labels;
    bool keyed = !cli_ends_with(rep, tn_rep_file(rep, path, sizeof path));
    const char *use = keyed || !cli_ends_with(path, ".safetensors") ? NULL : other_use(path);
    if (use)
        return cli_fail(app, EXIT_USAGE, "%s is no representation but %s", path, use);
    if (labels && strcmp(path, rep) == 0 && is_one_file(path, labels))
        return cli_fail(app, EXIT_USAGE, "%s is given as --labels and as a representation; leave it out of these", rep);
    return EXIT_FINE;
}

int cli_features_failed(const cli_app *app, const char *rep, tn_status status)
{
    char path[PATH_MAX], message[1024];
    struct stat info;
    snprintf(message, sizeof message, "%s", tn_ctx_message(app->ctx));
    bool folder = stat(tn_rep_file(rep, path, sizeof path), &info) == 0 && S_ISDIR(info.st_mode);
    if (folder && status == TN_ERR_SHAPE)
        return cli_fail(app, EXIT_DATA,
                        "%s; a folder is one representation in shards, for several give its files: %s*.npy", message,
                        with_slash(path));
    if (folder && status == TN_ERR_DATA && has_suffix(path, ".onnx"))
        return cli_fail(app, EXIT_DATA,
                        "%s: holds networks (.onnx), expected .npy files of the features that they give", path);
    return cli_check(app, status);
}

bool cli_is_whole(tn_dtype type)
{
    _Static_assert(TN_U64 - TN_I8 == 7, "whole numbers of 8, 16, 32 and 64 bits follow each other");
    return type >= TN_I8 && type <= TN_U64;
}

int cli_check_column(const cli_app *app, const char *rep, const tn_features *features)
{
    char path[PATH_MAX];
    tn_dtype type = tn_features_dtype(features);
    bool named = strcmp(tn_rep_file(rep, path, sizeof path), rep) != 0;
    if (app->options.labels && !named && tn_features_cols(features) == 1 && cli_is_whole(type))
        return cli_fail(
            app, EXIT_USAGE,
            "%s is one column of whole numbers and looks like labels; leave it out, or name it, feature=%s, if it "
            "is a feature",
            rep, rep);
    return EXIT_FINE;
}

int cli_rows_agree(cli_app *app, const cli_features *features, const tn_labels *labels)
{
    tn_status status = tn_rows_agree(app->ctx, cli_features_view(features), features->count, labels);
    for (size_t i = 0; status == TN_ERR_SHAPE && i < features->count; ++i) {
        const tn_features *one = features->items[i];
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s", tn_features_path(one));
        if (strcmp(tn_features_format(one), "shards") == 0 && tn_features_rows(one) != tn_labels_rows(labels))
            return cli_fail(app, EXIT_DATA,
                            "%s: %zu rows in its files, one below the other, but %s has %zu; if they are several "
                            "representations give them as %s*.npy",
                            tn_features_path(one), tn_features_rows(one), tn_labels_path(labels),
                            tn_labels_rows(labels), with_slash(path));
    }
    return cli_check(app, status);
}
