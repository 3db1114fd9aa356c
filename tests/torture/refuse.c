/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded: the k-th request for memory that the program or one of its small libraries makes is refused, k from
 * TORTURE_REFUSE; with a plus sign all from the k-th on. Requests of the BLAS and of the loader, which end the program
 * by themselves when they get none, go through, and so do those of jansson: its lexer does not look whether its buffer
 * grew, and asserts or reads beyond it. TORTURE_COUNT names a file that gets the number of requests and refusals at the
 * end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long requests, refused;
static long k;
static bool onwards, ready;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("TORTURE_REFUSE");
    k = text ? atol(text) : 0;
    onwards = text && strchr(text, '+');
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TORTURE_COUNT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd >= 0) {
        dprintf(fd, "%ld %ld\n", (long)requests, (long)refused);
        close(fd);
    }
}

/* dladdr may ask for memory itself. */
static _Thread_local bool asking;

static bool is_ours(void *caller)
{
    Dl_info info;
    asking = true;
    bool found = dladdr(caller, &info) != 0 && info.dli_fname && !strstr(info.dli_fname, "blas") &&
                 !strstr(info.dli_fname, "ld-linux") && !strstr(info.dli_fname, "libgfortran") &&
                 !strstr(info.dli_fname, "libc.so") && !strstr(info.dli_fname, "jansson");
    asking = false;
    return found;
}

static bool refuse(void *caller)
{
    if (!ready || asking || !is_ours(caller))
        return false;
    long n = atomic_fetch_add(&requests, 1) + 1;
    bool now = k > 0 && (onwards ? n >= k : n == k);
    if (now) {
        atomic_fetch_add(&refused, 1);
        errno = ENOMEM;
    }
    return now;
}

void *malloc(size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return refuse(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *made = refuse(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
    if (made)
        *out = made;
    return made ? 0 : ENOMEM;
}
