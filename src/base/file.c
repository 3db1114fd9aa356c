/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input files are mapped; output files are written beside their final name and renamed, so that a full disk, an
 * error or an interrupt leaves the old file, or none. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

tn_status tnp_map_open(tn_ctx *ctx, const char *path, tnp_map *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", path, strerror(errno));
    struct stat info;
    tn_status st = TN_OK;
    tnp_map map = {NULL, 0};
    if (fstat(fd, &info) != 0)
        st = tnp_fail(ctx, TN_ERR_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        st = tnp_fail(ctx, TN_ERR_IO, "%s: not a regular file", path);
    else if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            st = tnp_fail(ctx, TN_ERR_IO, "%s: cannot be mapped: %s", path, strerror(errno));
        } else {
            map.data = data;
            map.size = (size_t)info.st_size;
        }
    }
    close(fd);
    if (st == TN_OK)
        *out = map;
    return st;
}

void tnp_map_close(tnp_map *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size);
    map->data = NULL;
    map->size = 0;
}

/* Pages that are cut belong to it: dropped for their other half too, they come back at the cost of a fault, while pages that
 * no advice ever covers would stay resident, two for every piece of a file. */
static void advise(const tnp_map *map, size_t offset, size_t size, int advice)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t from = offset / page * page, to = tnp_min(map->size, offset + size);
    if (map->data && from < to)
        (void)madvise((void *)(uintptr_t)(map->data + from), to - from, advice);
}

void tnp_map_soon(const tnp_map *map, size_t offset, size_t size)
{
    advise(map, offset, size, MADV_WILLNEED);
}

void tnp_map_later(const tnp_map *map, size_t offset, size_t size)
{
    advise(map, offset, size, MADV_DONTNEED);
}

/* Reading a mapped page that a truncation removed would end the process with SIGBUS. The length is asked
 * again before each block; the window that remains is one block. */
tn_status tnp_map_still_there(tn_ctx *ctx, const char *path, size_t size)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", path, strerror(errno));
    if ((size_t)info.st_size < size)
        return tnp_fail(ctx, TN_ERR_IO, "%s: shrank from %zu to %zu bytes while it was read", path, size,
                        (size_t)info.st_size);
    return TN_OK;
}

/* Where an output goes, asked the same way before the work and when it is written. */
typedef struct target {
    char path[PATH_MAX]; /* symbolic links followed, so that a link survives */
    bool exists;
    mode_t mode; /* permissions of the file that is there */
} target;

static tn_status refuse_output(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: %s", path, what);
}

/* Bytes of the folder's name in a path, the slash that ends it not counted unless it is all there is. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

/* `path` is what the folder is taken from, `name` what the caller calls it. */
static tn_status check_folder(tn_ctx *ctx, const char *name, const char *path)
{
    char folder[PATH_MAX] = ".";
    struct stat info;
    size_t length = folder_length(path);
    if (length != 0)
        snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    bool found = stat(folder, &info) == 0;
    if (found && !S_ISDIR(info.st_mode))
        return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: %s is not a folder", name, folder);
    if (!found || access(folder, W_OK | X_OK) != 0)
        return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: folder %s: %s", name, folder, strerror(errno));
    return TN_OK;
}

static tn_status find_target(tn_ctx *ctx, const char *path, target *out)
{
    struct stat info;
    size_t length = strlen(path);
    *out = (target){.exists = stat(path, &info) == 0};
    if (length >= PATH_MAX)
        return refuse_output(ctx, path, strerror(ENAMETOOLONG));
    if (out->exists && S_ISDIR(info.st_mode))
        return refuse_output(ctx, path, "is a folder, expected a file name");
    /* The new file takes the name over: a device must not lose its own to it. */
    if (out->exists && !S_ISREG(info.st_mode))
        return refuse_output(ctx, path, "is not a regular file");
    if (length == 0 || path[length - 1] == '/')
        return refuse_output(ctx, path, "names a folder, expected a file name");
    if (out->exists) {
        out->mode = info.st_mode & 0777;
        if (!realpath(path, out->path))
            return refuse_output(ctx, path, strerror(errno));
    } else {
        if (lstat(path, &info) == 0)
            return refuse_output(ctx, path, "is a symbolic link to nothing");
        memcpy(out->path, path, length + 1);
    }
    return check_folder(ctx, path, out->path);
}

tn_status tn_output_check(tn_ctx *ctx, const char *path)
{
    target where;
    return find_target(ctx, path, &where);
}

struct tnp_output {
    FILE *file;
    char *path; /* as the caller calls it, for messages */
    char *final, *beside;
};

static tn_status output_failed(tn_ctx *ctx, const tnp_output *output)
{
    return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: cannot be written: %s", output->path, strerror(errno));
}

tn_status tnp_output_open(tn_ctx *ctx, const char *path, tnp_output **out)
{
    tn_status st = TN_OK;
    tnp_output *output = NULL;
    char *beside = NULL;
    target where;
    TN_TRY(find_target(ctx, path, &where));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *output, &output));
    TN_TRY(tnp_strdup(ctx, path, &output->path));
    TN_TRY(tnp_strdup(ctx, where.path, &output->final));
    const char *slash = strrchr(where.path, '/'), *name = slash ? slash + 1 : where.path;
    size_t size = strlen(where.path) + 32;
    TN_TRY(tnp_alloc(ctx, size, 1, &beside));
    snprintf(beside, size, "%.*s.%s.%ld.part", (int)(name - where.path), where.path, name, (long)getpid());
    output->file = fopen(beside, "wb");
    if (!output->file)
        TN_TRY(output_failed(ctx, output));
    output->beside = beside; /* only from now on is it ours to remove */
    beside = NULL;
    if (where.exists && fchmod(fileno(output->file), where.mode) != 0)
        TN_TRY(output_failed(ctx, output));
    *out = output;
    output = NULL;
done:
    tnp_free(beside);
    tnp_output_close(output);
    return st;
}

tn_status tnp_output_write(tn_ctx *ctx, tnp_output *output, const void *bytes, size_t size)
{
    if (size != 0 && fwrite(bytes, 1, size, output->file) != size)
        return output_failed(ctx, output);
    return TN_OK;
}

tn_status tnp_output_commit(tn_ctx *ctx, tnp_output *output)
{
    /* Data must be on the disk before the new name is, or a power cut could leave an empty file under it. */
    bool written = fflush(output->file) == 0 && fsync(fileno(output->file)) == 0;
    int why = errno;
    if (fclose(output->file) != 0)
        written = false;
    else if (!written)
        errno = why;
    output->file = NULL;
    if (!written || rename(output->beside, output->final) != 0)
        return output_failed(ctx, output);
    tnp_free(output->beside);
    output->beside = NULL;
    return TN_OK;
}

void tnp_output_close(tnp_output *output)
{
    if (!output)
        return;
    if (output->file)
        fclose(output->file);
    if (output->beside)
        remove(output->beside);
    tnp_free(output->beside);
    tnp_free(output->final);
    tnp_free(output->path);
    tnp_free(output);
}
