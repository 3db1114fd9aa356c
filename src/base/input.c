/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input files, read by position. A mapping alone was refused: a page that a truncation takes away ends the process with
 * SIGBUS. Every reader converts what it reads, so that the copy out of the page cache is the one that a mapping makes
 * too; 819 MB take 5 ms more than through a fresh mapping. Only single rows in random order, a call each, take twice as
 * long: they are copied from a mapping where the program has installed the handler for it (guard.c).
 *
 * A representation may have thousands of shards, a process a thousand descriptors: a context keeps KEPT of them, the
 * files beyond are opened again for every read and recognised by device, inode and size. */
#define _GNU_SOURCE
#include "base/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEPT = 256, PIECE = 1 << 24, LITTLE = 1 << 14 };

struct tnp_file {
    tnp_ledger *ledger; /* of the context that opened it, which may be gone */
    char *path;
    int fd;                   /* -1: opened for every read */
    const unsigned char *map; /* or NULL */
    size_t size;
    dev_t device;
    ino_t inode;
};

/* ---- faults for tests ---- */

void tnp_watch_io(tn_ctx *ctx, tnp_io_fn fn, void *arg)
{
    ctx->ledger->io_watch = fn;
    ctx->ledger->io_arg = arg;
}

void tnp_fail_io(tn_ctx *ctx, size_t k)
{
    atomic_store(&ctx->ledger->io_countdown, k);
}

int tnp_io_ask(tnp_ledger *ledger, tnp_io what, const char *path)
{
    size_t k = atomic_load(&ledger->io_countdown);
    while (k != 0 && !atomic_compare_exchange_weak(&ledger->io_countdown, &k, k - 1))
        ;
    return k == 1 ? EIO : ledger->io_watch ? ledger->io_watch(ledger->io_arg, what, path) : 0;
}

/* ---- opening ---- */

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* A descriptor, or -1 with errno. O_NONBLOCK: a pipe that took the name meanwhile must not make anybody wait. */
static int open_input(tnp_ledger *ledger, const char *path, struct stat *info)
{
    errno = tnp_io_ask(ledger, TNP_IO_OPEN, path);
    int fd = errno > 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, info) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

tn_status tnp_file_open(tn_ctx *ctx, const char *path, tnp_file **out)
{
    tn_status st = TN_OK;
    tnp_file *file = NULL;
    struct stat info;
    int fd = -1;
    /* Asked before opening: opening alone makes some devices act. */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return tnp_fail(ctx, TN_ERR_IO, "%s: is %s, expected a regular file", path, kind_of(info.st_mode));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *file, &file));
    *file = (tnp_file){.ledger = ctx->ledger, .fd = -1};
    TN_TRY(tnp_strdup(ctx, path, &file->path));
    fd = open_input(ctx->ledger, path, &info);
    if (fd < 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_IO, "%s: %s", path, strerror(errno)));
    if (!S_ISREG(info.st_mode))
        TN_TRY(tnp_fail(ctx, TN_ERR_IO, "%s: is %s, expected a regular file", path, kind_of(info.st_mode)));
    file->size = (size_t)info.st_size;
    file->device = info.st_dev;
    file->inode = info.st_ino;
    void *map =
        file->size != 0 && tnp_guard_works() ? mmap(NULL, file->size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    file->map = map == MAP_FAILED ? NULL : map;
    if (atomic_fetch_add(&ctx->ledger->kept_files, 1) < KEPT) {
        file->fd = fd;
        fd = -1;
    } else {
        atomic_fetch_sub(&ctx->ledger->kept_files, 1);
    }
    *out = file;
    file = NULL;
done:
    if (fd >= 0)
        close(fd);
    tnp_file_close(file);
    return st;
}

void tnp_file_close(tnp_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0) {
        close(file->fd);
        atomic_fetch_sub(&file->ledger->kept_files, 1);
    }
    if (file->map)
        munmap((void *)(uintptr_t)file->map, file->size);
    tnp_free_all(file->path, file);
}

size_t tnp_file_size(const tnp_file *file)
{
    return file->size;
}

const char *tnp_file_path(const tnp_file *file)
{
    return file->path;
}

/* ---- reading ---- */

static int open_again(const tnp_file *file, tnp_fault *fault)
{
    struct stat info;
    int fd = open_input(file->ledger, file->path, &info);
    if (fd < 0) {
        fault->code = errno;
    } else if (info.st_dev != file->device || info.st_ino != file->inode) {
        fault->code = TNP_FAULT_REPLACED;
        close(fd);
        fd = -1;
    }
    return fd;
}

tnp_fault tnp_file_get(const tnp_file *file, size_t offset, size_t size, void *out)
{
    tnp_fault fault = {0, offset};
    unsigned char *to = out;
    size_t interrupts = 0;
    int fd = file->fd >= 0 ? file->fd : open_again(file, &fault);
    while (fault.code == 0 && size != 0) {
        int ask = tnp_io_ask(file->ledger, TNP_IO_READ, file->path);
        size_t piece = ask == TNP_IO_SHORT ? 1 : tnp_min(size, (size_t)1 << 30);
        errno = ask;
        ssize_t got = ask > 0 ? -1 : pread(fd, to, piece, (off_t)fault.byte);
        if (got > 0) {
            to += got;
            size -= (size_t)got;
            fault.byte += (size_t)got;
            interrupts = 0;
        } else if (got == 0 || errno != EINTR || ++interrupts > TNP_MOST_INTERRUPTS) {
            fault.code = got == 0 ? TNP_FAULT_GONE : errno;
        }
    }
    if (fd >= 0 && fd != file->fd)
        close(fd);
    return fault;
}

/* What is asked of a file that tests watch goes by system calls. */
tnp_fault tnp_file_copy(const tnp_file *file, size_t offset, size_t size, void *out)
{
    bool inside = offset <= file->size && size <= file->size - offset;
    if (!file->map || size > LITTLE || !inside || file->ledger->io_watch)
        return tnp_file_get(file, offset, size, out);
    /* Where a page is gone the system knows the byte. */
    return tnp_guarded_copy(out, file->map + offset, size) ? (tnp_fault){0, offset}
                                                           : tnp_file_get(file, offset, size, out);
}

tnp_fault tnp_file_still(const tnp_file *file)
{
    struct stat info;
    if ((file->fd >= 0 ? fstat(file->fd, &info) : stat(file->path, &info)) != 0)
        return (tnp_fault){errno, 0};
    size_t size = (size_t)info.st_size;
    return size < file->size ? (tnp_fault){TNP_FAULT_GONE, size} : (tnp_fault){0, 0};
}

void tnp_fault_text(tnp_fault fault, char *buf, size_t size)
{
    if (fault.code == TNP_FAULT_REPLACED)
        snprintf(buf, size, "changed while it was read: another file has its name");
    else if (fault.code == TNP_FAULT_GONE)
        snprintf(buf, size, "changed while it was read: byte %zu is gone", fault.byte);
    else
        snprintf(buf, size, "byte %zu: %s", fault.byte, strerror(fault.code));
}

tn_status tnp_file_failed(tn_ctx *ctx, const tnp_file *file, tnp_fault fault)
{
    char text[256];
    if (fault.code == 0)
        return TN_OK;
    tnp_fault_text(fault, text, sizeof text);
    return tnp_fail(ctx, TN_ERR_IO, "%s: %s", file->path, text);
}

tn_status tnp_file_read(tn_ctx *ctx, const tnp_file *file, size_t offset, size_t size, void *out)
{
    return tnp_file_failed(ctx, file, tnp_file_get(file, offset, size, out));
}

void tnp_file_soon(const tnp_file *file, size_t offset, size_t size)
{
    if (file->fd >= 0)
        (void)posix_fadvise(file->fd, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
}

/* Pages that are cut belong to it: dropped for their other half too, they come back at the cost of a fault, while pages
 * that no advice ever covers would stay resident, two for every piece of a file. */
void tnp_file_later(const tnp_file *file, size_t offset, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t from = offset / page * page, to = tnp_min(file->size, offset + size);
    if (file->map && from < to)
        (void)madvise((void *)(uintptr_t)(file->map + from), to - from, MADV_DONTNEED);
}

tn_status tnp_bytes_read(tn_ctx *ctx, const char *path, tnp_bytes *out)
{
    tn_status st = TN_OK;
    tnp_file *file = NULL;
    unsigned char *block = NULL;
    TN_TRY(tnp_file_open(ctx, path, &file));
    TN_TRY(tnp_need(ctx, file->size, path));
    TN_TRY(tnp_alloc_raw(ctx, file->size, 1, &block));
    for (size_t at = 0, n; at < file->size; at += n) {
        n = tnp_min(PIECE, file->size - at);
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_file_read(ctx, file, at, n, block + at));
    }
    *out = (tnp_bytes){block, file->size};
    block = NULL;
done:
    tnp_free(block);
    tnp_file_close(file);
    return st;
}

void tnp_bytes_free(tnp_bytes *bytes)
{
    tnp_free((void *)(uintptr_t)bytes->data);
    *bytes = (tnp_bytes){NULL, 0};
}

tn_status tnp_unfold_check(tn_ctx *ctx, const char *path, size_t size, double unfolded)
{
    if (unfolded <= TNP_UNFOLD_FREE || unfolded <= TNP_UNFOLD_RATIO * (double)size)
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_DATA,
                    "%s: %zu bytes would unfold to %.1f MB; beyond %d MB at most %d times its own size is accepted",
                    path, size, unfolded / 1048576, TNP_UNFOLD_FREE >> 20, TNP_UNFOLD_RATIO);
}
