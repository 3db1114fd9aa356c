/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures of a folder. One that has sub-folders holds classes: every sub-folder is one, in byte order of the names,
 * and whatever pictures lie in it, however deep, are of that class. One without sub-folders holds pictures of no class.
 * Pictures beside sub-folders are refused: nobody can tell whether they are to have a class.
 *
 * Hidden entries and files of other names are left alone. Symbolic links are followed; a folder that contains itself by
 * way of one is TN_ERR_IO, seen by the device and number of all folders above. Rows are in byte order of their paths
 * within a class, whatever order the system lists them in. */
#define _POSIX_C_SOURCE 200809L
#include "read/pictures/list.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

/* A folder and those that it lies in. */
typedef struct place {
    const struct place *above;
    dev_t device;
    ino_t number;
    size_t depth;
} place;

typedef struct entries {
    char **names;
    size_t count, capacity;
} entries;

bool tnp_is_picture_name(const char *name)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".png"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        size_t n = strlen(ends[i]);
        if (length > n && strcasecmp(name + length - n, ends[i]) == 0)
            return true;
    }
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static tn_status add_name(tn_ctx *ctx, entries *list, const char *name)
{
    tn_status st = TN_OK;
    if (list->count == list->capacity) {
        size_t next = list->capacity ? 2 * list->capacity : 16;
        TN_TRY(tnp_grow(ctx, &list->names, list->capacity, next, sizeof *list->names));
        list->capacity = next;
    }
    TN_TRY(tnp_strdup(ctx, name, &list->names[list->count]));
    ++list->count;
done:
    return st;
}

static void free_entries(entries *list)
{
    for (size_t i = 0; i < list->count; ++i)
        tnp_free(list->names[i]);
    tnp_free(list->names);
}

/* Free with tnp_free. */
static tn_status join(tn_ctx *ctx, const char *folder, const char *name, char **out)
{
    size_t n = strlen(folder), size = n + strlen(name) + 2;
    tn_status st = tnp_alloc(ctx, size, 1, out);
    if (st == TN_OK)
        snprintf(*out, size, "%s%s%s", folder, n != 0 && folder[n - 1] == '/' ? "" : "/", name);
    return st;
}

/* Sorts what is in a folder into pictures and folders, both in byte order. */
static tn_status look(tn_ctx *ctx, const char *folder, entries *pictures, entries *folders)
{
    tn_status st = TN_OK;
    struct dirent *entry;
    struct stat about;
    char *path = NULL;
    DIR *dir = opendir(folder);
    if (!dir)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", folder, strerror(errno));
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        TN_TRY(join(ctx, folder, entry->d_name, &path));
        if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
            TN_TRY(add_name(ctx, folders, entry->d_name));
        else if (tnp_is_picture_name(entry->d_name))
            TN_TRY(add_name(ctx, pictures, entry->d_name));
        tnp_free(path);
        path = NULL;
    }
    if (pictures->count > 1)
        qsort(pictures->names, pictures->count, sizeof *pictures->names, compare_names);
    if (folders->count > 1)
        qsort(folders->names, folders->count, sizeof *folders->names, compare_names);
done:
    tnp_free(path);
    closedir(dir);
    return st;
}

static tn_status enter(tn_ctx *ctx, const char *folder, const place *above, place *here)
{
    struct stat about;
    if (stat(folder, &about) != 0)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", folder, strerror(errno));
    *here = (place){above, about.st_dev, about.st_ino, above ? above->depth + 1 : 0};
    for (const place *p = above; p; p = p->above)
        if (p->device == about.st_dev && p->number == about.st_ino)
            return tnp_fail(ctx, TN_ERR_IO, "%s: a folder that contains itself, by a link", folder);
    if (here->depth > DEEPEST)
        return tnp_fail(ctx, TN_ERR_IO, "%s: folders within folders, more than %d deep", folder, DEEPEST);
    return tnp_cancelled(ctx);
}

/* All pictures below a folder, of class cls; ids begin at `id` of their paths. */
static tn_status add_below(tn_ctx *ctx, tn_pictures *pictures, const char *folder, size_t id, size_t cls,
                           const place *above)
{
    tn_status st = TN_OK;
    entries files = {NULL, 0, 0}, folders = {NULL, 0, 0};
    char *path = NULL;
    place here;
    TN_TRY(enter(ctx, folder, above, &here));
    TN_TRY(look(ctx, folder, &files, &folders));
    for (size_t i = 0; i < files.count; ++i) {
        TN_TRY(tnp_pictures_add(ctx, pictures, folder, (tnp_span){files.names[i], strlen(files.names[i])}, id));
        pictures->files[pictures->count - 1].cls = cls;
    }
    for (size_t i = 0; i < folders.count; ++i) {
        TN_TRY(join(ctx, folder, folders.names[i], &path));
        TN_TRY(add_below(ctx, pictures, path, id, cls, &here));
        tnp_free(path);
        path = NULL;
    }
done:
    tnp_free(path);
    free_entries(&files);
    free_entries(&folders);
    return st;
}

static tn_status add_classes(tn_ctx *ctx, tn_pictures *pictures, const char *folder, const entries *folders,
                             const place *here)
{
    tn_status st = TN_OK;
    char *path = NULL;
    size_t id = strlen(folder) + (folder[strlen(folder) - 1] != '/');
    TN_TRY(tnp_alloc(ctx, folders->count, sizeof *pictures->classes, &pictures->classes));
    for (size_t i = 0; i < folders->count; ++i) {
        size_t before = pictures->count;
        const char *name = folders->names[i];
        TN_TRY(join(ctx, folder, name, &path));
        TN_TRY(add_below(ctx, pictures, path, id, pictures->class_count, here));
        if (pictures->count == before) {
            tnp_warn(ctx, "%s: no pictures in it; left out", path);
        } else {
            TN_TRY(tnp_utf8_copy(ctx, name, strlen(name), &pictures->classes[pictures->class_count]));
            ++pictures->class_count;
        }
        tnp_free(path);
        path = NULL;
    }
    pictures->labelled = TNP_BY_FOLDER;
done:
    tnp_free(path);
    return st;
}

tn_status tnp_pictures_add_folder(tn_ctx *ctx, tn_pictures *pictures, const char *folder)
{
    tn_status st = TN_OK;
    entries files = {NULL, 0, 0}, folders = {NULL, 0, 0};
    place here;
    size_t id = strlen(folder) + (folder[strlen(folder) - 1] != '/');
    TN_TRY(enter(ctx, folder, NULL, &here));
    TN_TRY(look(ctx, folder, &files, &folders));
    if (files.count != 0 && folders.count != 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "%s: pictures (%s) beside sub-folders (%s), expected either, or one sub-folder per class",
                        folder, files.names[0], folders.names[0]));
    for (size_t i = 0; i < files.count; ++i)
        TN_TRY(tnp_pictures_add(ctx, pictures, folder, (tnp_span){files.names[i], strlen(files.names[i])}, id));
    if (folders.count != 0)
        TN_TRY(add_classes(ctx, pictures, folder, &folders, &here));
done:
    free_entries(&files);
    free_entries(&folders);
    return st;
}
