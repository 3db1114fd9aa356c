/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input files, mapped. */
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
