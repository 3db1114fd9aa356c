/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output files: a full disk, an error, an interrupt or a kill leaves the old file, or none.
 *
 * The bytes go to a file without a name (O_TMPFILE), which vanishes with its process. commit gives it a name that
 * nobody can guess, ".tenon-HASH-RANDOM.part", and renames that over the final one. File systems without nameless files
 * get the random name at once, made by O_EXCL, so that no link that lies there is followed. HASH is of the final name:
 * the next run that writes it removes what a killed one left, which it knows by the lock (flock) that a living writer
 * holds and a dead one lost. Process numbers instead of locks were refused: they come again, and mean nothing on a
 * shared disk.
 *
 * Names are given relative to the open folder, so that its own length does not matter. Of a team only rank 0 writes:
 * outputs of the others are asked whether they could be written, and take everything without a trace. */
#define _GNU_SOURCE
#include "base/ctx.h"
#include "base/team.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, TRIES = 16, PREFIX = 24, BESIDE = 48 };

/* ---- where it goes: asked the same way before the work and when it is written ---- */

typedef struct target {
    char path[PATH_MAX]; /* symbolic links followed, so that a link survives */
    bool exists;
    mode_t mode; /* permissions of the file that is there */
    uid_t owner;
} target;

static tn_status refuse_output(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: %s", path, what);
}

/* The folder's name in a path; the slash that ends it is left away unless it is all there is. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    int length = !slash ? 0 : slash == path ? 1 : (int)(slash - path);
    snprintf(folder, PATH_MAX, "%.*s", length ? length : 1, length ? path : ".");
}

/* `name` is what the caller calls the target. */
static tn_status check_folder(tn_ctx *ctx, const char *name, const target *where)
{
    char folder[PATH_MAX];
    struct stat info;
    folder_of(where->path, folder);
    bool found = stat(folder, &info) == 0;
    if (found && !S_ISDIR(info.st_mode))
        return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: %s is not a folder", name, folder);
    if (!found || access(folder, W_OK | X_OK) != 0)
        return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: folder %s: %s", name, folder, strerror(errno));
    uid_t me = geteuid();
    if (where->exists && (info.st_mode & S_ISVTX) && me != 0 && me != info.st_uid && me != where->owner)
        return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: belongs to another user, and folder %s lets only its owner replace it",
                        name, folder);
    return TN_OK;
}

static tn_status find_target(tn_ctx *ctx, const char *path, target *out)
{
    struct stat info;
    size_t length = strlen(path);
    *out = (target){.exists = stat(path, &info) == 0};
    int why = out->exists ? 0 : errno;
    if (length >= PATH_MAX || why == ENAMETOOLONG || why == ELOOP)
        return refuse_output(ctx, path, strerror(length >= PATH_MAX ? ENAMETOOLONG : why));
    if (out->exists && S_ISDIR(info.st_mode))
        return refuse_output(ctx, path, "is a folder, expected a file name");
    /* The new file takes the name over: a device must not lose its own to it. */
    if (out->exists && !S_ISREG(info.st_mode))
        return refuse_output(ctx, path, "is not a regular file");
    if (length == 0 || path[length - 1] == '/')
        return refuse_output(ctx, path, "names a folder, expected a file name");
    if (out->exists) {
        out->mode = info.st_mode & 0777;
        out->owner = info.st_uid;
        if (!realpath(path, out->path))
            return refuse_output(ctx, path, strerror(errno));
    } else {
        if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) /* a file may have come since */
            return refuse_output(ctx, path, "is a symbolic link to nothing");
        memcpy(out->path, path, length + 1);
    }
    return check_folder(ctx, path, out);
}

tn_status tn_output_check(tn_ctx *ctx, const char *path)
{
    target where;
    return find_target(ctx, path, &where);
}

/* ---- the file in the making ---- */

struct tn_output {
    tn_ctx *ctx;
    char *path; /* as the caller calls it, for messages */
    char *name; /* the final one, in the folder */
    int folder, fd;
    char beside[BESIDE]; /* the name until then; "": none yet */
    unsigned char *buffer;
    size_t used;
    bool silent; /* another member of the team writes it */
};

static tn_status output_failed(tn_ctx *ctx, const tn_output *output, int why)
{
    return tnp_fail(ctx, TN_ERR_OUTPUT, "%s: cannot be written: %s", output->path, strerror(why));
}

/* What tests want; 0 almost always. */
static int refused(const tn_output *output, tnp_io what)
{
    int why = tnp_io_ask(output->ctx->ledger, what, output->path);
    return why > 0 ? why : 0;
}

/* What all names beside a final name begin with: ".tenon-", 16 digits of FNV-1a, "-". */
static void prefix_of(const char *name, char out[PREFIX + 1])
{
    uint64_t hash = 14695981039346656037u;
    for (; *name; ++name)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    snprintf(out, PREFIX + 1, ".tenon-%016llx-", (unsigned long long)hash);
}

static void draw_name(const tn_output *output, char out[BESIDE])
{
    char prefix[PREFIX + 1];
    unsigned long long random = 0;
    struct timespec now;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        clock_gettime(CLOCK_REALTIME, &now); /* O_EXCL makes any name safe; it should only be free */
        random = (unsigned long long)now.tv_nsec << 32 ^ (unsigned long long)now.tv_sec ^ (unsigned long long)getpid();
    }
    prefix_of(output->name, prefix);
    snprintf(out, BESIDE, "%s%016llx.part", prefix, random);
}

/* Removes one name beside ours if whoever made it is dead. */
static void remove_stale(const tn_output *output, const char *name)
{
    struct stat info;
    int fd = openat(output->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(output->folder, name, 0);
    close(fd);
}

static void remove_all_stale(const tn_output *output)
{
    char prefix[PREFIX + 1];
    prefix_of(output->name, prefix);
    int fd = openat(output->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return; /* a folder that may not be listed: nothing is known to be stale */
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, prefix, PREFIX) == 0)
            remove_stale(output, e->d_name);
    closedir(dir);
}

/* A nameless file; 0, or errno. Without /proc it could not get a name later. */
static int create_nameless(tn_output *output)
{
    char in_proc[40];
    int why = refused(output, TNP_IO_CREATE);
    if (why != 0)
        return why;
    output->fd = openat(output->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (output->fd < 0)
        return errno;
    snprintf(in_proc, sizeof in_proc, "/proc/self/fd/%d", output->fd);
    if (access(in_proc, F_OK) == 0) {
        (void)flock(output->fd, LOCK_EX | LOCK_NB);
        return 0;
    }
    close(output->fd);
    output->fd = -1;
    return EOPNOTSUPP;
}

/* Between making the file and locking it another run may have taken it for stale: then once more. */
static int create_beside(tn_output *output)
{
    struct stat info;
    for (int i = 0; i < TRIES; ++i) {
        int why = refused(output, TNP_IO_CREATE);
        if (why != 0)
            return why;
        draw_name(output, output->beside);
        output->fd = openat(output->folder, output->beside, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0666);
        if (output->fd < 0 && errno == EEXIST)
            continue;
        if (output->fd < 0) {
            why = errno;
            *output->beside = 0;
            return why;
        }
        bool taken = flock(output->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!taken && fstat(output->fd, &info) == 0 && info.st_nlink != 0)
            return 0;
        (void)unlinkat(output->folder, output->beside, 0);
        close(output->fd);
        output->fd = -1;
    }
    *output->beside = 0;
    return EEXIST;
}

static int create(tn_output *output)
{
    int why = create_nameless(output);
    bool unknown = why == EOPNOTSUPP || why == EISDIR || why == EINVAL || why == ENOENT;
    return unknown ? create_beside(output) : why;
}

tn_status tn_output_open(tn_ctx *ctx, const char *path, tn_output **out)
{
    tn_status st = TN_OK;
    tn_output *output = NULL;
    target where;
    char folder[PATH_MAX];
    TN_TRY(find_target(ctx, path, &where));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *output, &output));
    *output = (tn_output){.ctx = ctx, .folder = -1, .fd = -1, .silent = tn_team_rank(ctx) > 0};
    TN_TRY(tnp_strdup(ctx, path, &output->path));
    if (output->silent) {
        *out = output;
        return TN_OK;
    }
    const char *slash = strrchr(where.path, '/');
    TN_TRY(tnp_strdup(ctx, slash ? slash + 1 : where.path, &output->name));
    TN_TRY(tnp_alloc_raw(ctx, BUFFER, 1, &output->buffer));
    folder_of(where.path, folder);
    output->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (output->folder < 0)
        TN_TRY(output_failed(ctx, output, errno));
    remove_all_stale(output);
    int why = create(output);
    if (why == 0 && where.exists && fchmod(output->fd, where.mode) != 0)
        why = errno;
    if (why != 0)
        TN_TRY(output_failed(ctx, output, why));
    *out = output;
    output = NULL;
done:
    tn_output_close(output);
    return st;
}

/* 0, or errno. */
static int write_all(const tn_output *output, const unsigned char *bytes, size_t size)
{
    size_t interrupts = 0;
    while (size != 0) {
        int ask = tnp_io_ask(output->ctx->ledger, TNP_IO_WRITE, output->path);
        if (ask > 0)
            return ask;
        ssize_t n = write(output->fd, bytes, ask == TNP_IO_SHORT ? 1 : tnp_min(size, (size_t)1 << 30));
        if (n < 0 && (errno != EINTR || ++interrupts > TNP_MOST_INTERRUPTS))
            return errno;
        if (n == 0)
            return EIO;
        interrupts = n > 0 ? 0 : interrupts;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int flush(tn_output *output)
{
    size_t size = output->used;
    output->used = 0;
    return write_all(output, output->buffer, size);
}

tn_status tn_output_write(tn_ctx *ctx, tn_output *output, const void *bytes, size_t size)
{
    if (output->silent)
        return TN_OK;
    int why = size > BUFFER - output->used ? flush(output) : 0;
    if (why == 0 && size >= BUFFER) {
        why = write_all(output, bytes, size);
    } else if (why == 0 && size != 0) {
        memcpy(output->buffer + output->used, bytes, size);
        output->used += size;
    }
    return why == 0 ? TN_OK : output_failed(ctx, output, why);
}

/* Everything on the disk. Some systems tell only at the end that bytes were lost: a copy of the descriptor is closed,
 * since the lock must live on. */
static int settle(tn_output *output)
{
    int why = flush(output);
    if (why == 0)
        why = refused(output, TNP_IO_SYNC);
    if (why != 0)
        return why;
    int copy = fsync(output->fd) == 0 ? fcntl(output->fd, F_DUPFD_CLOEXEC, 0) : -1;
    return copy < 0 || close(copy) != 0 ? errno : 0;
}

/* Gives a nameless file its first name. */
static int give_name(tn_output *output)
{
    char from[40], name[BESIDE];
    snprintf(from, sizeof from, "/proc/self/fd/%d", output->fd);
    for (int i = 0; i < TRIES; ++i) {
        int why = refused(output, TNP_IO_RENAME);
        if (why != 0)
            return why;
        draw_name(output, name);
        if (linkat(AT_FDCWD, from, output->folder, name, AT_SYMLINK_FOLLOW) == 0) {
            memcpy(output->beside, name, sizeof name);
            return 0;
        }
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

/* The name itself must outlive a power cut, too. A folder that may not be read cannot be synced. */
static int sync_folder(const tn_output *output)
{
    int why = refused(output, TNP_IO_SYNC);
    int fd = why == 0 ? openat(output->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (fsync(fd) != 0 && errno == EIO)
            why = EIO;
        close(fd);
    }
    return why;
}

tn_status tn_output_commit(tn_ctx *ctx, tn_output *output)
{
    if (output->silent)
        return TN_OK;
    int why = settle(output);
    if (why == 0 && !*output->beside)
        why = give_name(output);
    if (why == 0)
        why = refused(output, TNP_IO_RENAME);
    if (why == 0 && renameat(output->folder, output->beside, output->folder, output->name) != 0)
        why = errno;
    if (why != 0)
        return output_failed(ctx, output, why);
    *output->beside = 0;
    why = sync_folder(output);
    return why == 0 ? TN_OK : output_failed(ctx, output, why);
}

void tn_output_close(tn_output *output)
{
    if (!output)
        return;
    if (*output->beside)
        (void)unlinkat(output->folder, output->beside, 0);
    if (output->fd >= 0)
        close(output->fd);
    if (output->folder >= 0)
        close(output->folder);
    tnp_free_all(output->buffer, output->name, output->path, output);
}
