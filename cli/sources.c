/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sources of a transfer: files of scores, heads, and folders of heads. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char suffix[] = ".safetensors";

static bool ends_with_suffix(const char *path)
{
    size_t length = strlen(path), n = sizeof suffix - 1;
    return length > n && strcmp(path + length - n, suffix) == 0;
}

/* Room for one more; the new one is empty. */
static int add_slot(cli_app *app, cli_sources *sources)
{
    size_t n = sources->count + 1;
    tn_source *list = realloc(sources->list, n * sizeof *list);
    sources->list = list ? list : sources->list;
    char **names = list ? realloc(sources->names, n * sizeof *names) : NULL;
    sources->names = names ? names : sources->names;
    if (!list || !names)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu sources", n);
    sources->list[n - 1] = (tn_source){NULL, NULL, NULL};
    sources->names[n - 1] = NULL;
    sources->count = n;
    return EXIT_FINE;
}

/* NAME of [NAME=]PATH, or the file's name up to its first dot, as of a representation. */
static int set_name(cli_app *app, cli_sources *sources, const char *word, const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = path != word ? (size_t)(path - word) - 1 : strcspn(base, ".");
    char *name = strndup(path != word ? word : base, length);
    if (!name)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused a name");
    sources->names[sources->count - 1] = name;
    sources->list[sources->count - 1].name = name;
    return EXIT_FINE;
}

/* Takes the head over, also when it fails. */
static int add_head(cli_app *app, cli_sources *sources, const char *word, const char *path, tn_head *head)
{
    int code = add_slot(app, sources);
    if (code != EXIT_FINE) {
        tn_head_free(head);
        return code;
    }
    sources->list[sources->count - 1].head = head;
    return set_name(app, sources, word, path);
}

static int load_head(cli_app *app, cli_sources *sources, const char *path)
{
    tn_head *head = NULL;
    int code = cli_check(app, tn_head_load(app->ctx, path, &head));
    return code == EXIT_FINE ? add_head(app, sources, path, path, head) : code;
}

static int add_scores(cli_app *app, cli_sources *sources, const char *word)
{
    int code = EXIT_FINE;
    tn_features *scores = NULL;
    CLI_TRY(add_slot(app, sources));
    CLI_TRY(cli_check(app, tn_features_open(app->ctx, word, &scores)));
    sources->list[sources->count - 1].scores = scores;
    sources->list[sources->count - 1].name = tn_features_name(scores);
done:
    return code;
}

static int is_head_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && ends_with_suffix(entry->d_name);
}

/* All heads of a folder, in the order of their names; *found tells whether there is one. */
static int add_folder(cli_app *app, cli_sources *sources, const char *folder, bool *found)
{
    int code = EXIT_FINE;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_head_file, alphasort);
    *found = count > 0;
    for (int i = 0; i < count && code == EXIT_FINE; ++i) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        code = length > 0 && (size_t)length < sizeof path
                   ? load_head(app, sources, path)
                   : cli_fail(app, EXIT_INPUT, "%s: the name is too long", folder);
    }
    for (int i = 0; i < count; ++i)
        free(entries[i]);
    free(entries);
    return code;
}

/* A head, when the file says that it is one; a safetensors file without a key may also be codes of a quantiser. */
static int add_one(cli_app *app, cli_sources *sources, const char *word)
{
    const char *sign = strchr(word, '='), *path = sign ? sign + 1 : word;
    struct stat info;
    bool found = false;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        int code = add_folder(app, sources, path, &found);
        if (code != EXIT_FINE || found)
            return code;
    }
    tn_head *head = NULL;
    if (ends_with_suffix(path) && tn_head_load(app->ctx, path, &head) == TN_OK)
        return add_head(app, sources, word, path, head);
    return add_scores(app, sources, word);
}

int cli_sources_open(cli_app *app, const tn_words *words, cli_sources *out)
{
    int code = EXIT_FINE;
    for (size_t i = 0; i < words->count && code == EXIT_FINE; ++i)
        code = add_one(app, out, words->items[i]);
    return code;
}

void cli_sources_close(cli_sources *sources)
{
    for (size_t i = 0; i < sources->count; ++i) {
        tn_features_close((tn_features *)(uintptr_t)sources->list[i].scores);
        tn_head_free((tn_head *)(uintptr_t)sources->list[i].head);
        free(sources->names[i]);
    }
    free(sources->names);
    free(sources->list);
}
