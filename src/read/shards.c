/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A directory of .npy shards: its files in byte order of their names, one below the other. Hidden files and
 * other suffixes are left alone. Shards of different precision may be mixed, floats with integers may not. One that ends
 * too early is an error, or, where that was asked for, rows of NaN: what is left of its values is not used, for nobody
 * knows what cut it. */
#define _POSIX_C_SOURCE 200809L
#include "read/features.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_shard(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".npy") == 0;
}

static tn_status add_name(tn_ctx *ctx, const char *folder, const char *name, char ***names, size_t *count)
{
    tn_status st = TN_OK;
    size_t n = *count, size = strlen(folder) + strlen(name) + 2;
    if ((n & (n - 1)) == 0)
        TN_TRY(tnp_grow(ctx, names, n, n ? 2 * n : 1, sizeof **names));
    TN_TRY(tnp_alloc(ctx, size, 1, &(*names)[n]));
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    snprintf((*names)[n], size, "%s%s%s", folder, slash, name);
    *count = n + 1;
done:
    return st;
}

static tn_status list(tn_ctx *ctx, const char *folder, char ***names, size_t *count)
{
    tn_status st = TN_OK;
    DIR *dir = opendir(folder);
    if (!dir)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", folder, strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (is_shard(entry->d_name))
            TN_TRY(add_name(ctx, folder, entry->d_name, names, count));
    if (*count != 0)
        qsort(*names, *count, sizeof **names, compare_names);
done:
    closedir(dir);
    return st;
}

/* A shard whose values cannot be read; `why` is told. */
static tn_status leave_out(tn_ctx *ctx, tn_features *features, const char *name, const tnp_file *file)
{
    tn_status st = TN_OK;
    char why[600];
    tnp_array array;
    size_t before = features->rows;
    snprintf(why, sizeof why, "%s", tn_ctx_message(ctx));
    TN_TRY(tnp_npy_head(ctx, file, &array));
    TN_TRY(tnp_features_add_missing(ctx, features, name, &array));
    tnp_warn(ctx, "%s; its %zu rows are left out", why, features->rows - before);
done:
    return st;
}

static tn_status add_shard(tn_ctx *ctx, tn_features *features, const char *name)
{
    tn_status st = TN_OK;
    size_t index = 0;
    tnp_array array;
    TN_TRY(tnp_features_file(ctx, features, name, &index));
    st = tnp_npy_read(ctx, features->files[index], 0, tnp_file_size(features->files[index]), &array);
    if (st == TN_ERR_FORMAT && features->sound_only)
        return leave_out(ctx, features, name, features->files[index]);
    TN_TRY(st);
    TN_TRY(tnp_features_add(ctx, features, name, &array, index));
done:
    return st;
}

tn_status tnp_shards_open(tn_ctx *ctx, tn_features *features, const char *folder)
{
    tn_status st = TN_OK;
    char **names = NULL;
    size_t count = 0;
    features->format = "shards";
    TN_TRY(list(ctx, folder, &names, &count));
    if (count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: directory without .npy files", folder));
    for (size_t i = 0; i < count; ++i) {
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(add_shard(ctx, features, names[i]));
    }
done:
    for (size_t i = 0; i < count; ++i)
        tnp_free(names[i]);
    tnp_free(names);
    return st;
}
