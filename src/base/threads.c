/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one owner of threads: a small pool per context that sleeps between jobs.
 *
 * To wake a thread whose processor has gone idle takes 20 microseconds, on virtual machines 50 to 100, and loops that
 * share out some hundred microseconds of work each come one behind the other. So who waits looks for WATCH seconds
 * before it sleeps: that is as much as the next BLAS call may be held up by it.
 *
 * OpenMP was refused: its idle threads spin for milliseconds after a region, on the very cores that the next
 * BLAS call wants, and its run-time differs between compilers. Bodies never call BLAS, so at any moment
 * either this pool works or the BLAS does.
 *
 * A forked child has a copy of the pool and none of its threads. A pool therefore knows the process that made it: in
 * another one it is forgotten, whatever its locks say, and made anew. */
#define _POSIX_C_SOURCE 200809L
#include "base/ctx.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_WORKERS = 255, LOOKS = 64 };
enum {
    TURNS = 64
}; /* of a thread in a loop of many short calls: to count each costs as long as a row of 100 numbers */
static const double WATCH = 50e-6;

struct tnp_pool {
    pid_t process; /* that its threads belong to */
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    size_t workers;       /* threads besides the caller */
    size_t invited;       /* of them, how many may join the present job */
    size_t joined;        /* have picked the job up */
    atomic_size_t busy;   /* are still in it */
    atomic_size_t posted; /* jobs so far, the end among them */
    bool closing;
    void (*body)(void *arg, size_t i);
    void *arg;
    size_t count, step; /* calls of the body; how many a thread takes at once */
    atomic_size_t next;
    pthread_t threads[MAX_WORKERS];
};

static void work(struct tnp_pool *pool)
{
    size_t from;
    while ((from = atomic_fetch_add(&pool->next, pool->step)) < pool->count)
        for (size_t i = from; i < tnp_min(from + pool->step, pool->count); ++i)
            pool->body(pool->arg, i);
}

static void take_breath(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

/* With the lock held, which it lets go meanwhile: looks whether *value is still `old`, for a little while. */
static void watch(struct tnp_pool *pool, const atomic_size_t *value, size_t old)
{
    pthread_mutex_unlock(&pool->lock);
    double end = tnp_seconds() + WATCH;
    bool same = true;
    do
        for (int i = 0; same && i < LOOKS; ++i) {
            same = atomic_load(value) == old;
            take_breath();
        }
    while (same && tnp_seconds() < end);
    pthread_mutex_lock(&pool->lock);
}

static void *worker(void *arg)
{
    struct tnp_pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        if (!pool->closing && pool->joined >= pool->invited)
            watch(pool, &pool->posted, atomic_load(&pool->posted));
        while (!pool->closing && pool->joined >= pool->invited)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->closing)
            break;
        ++pool->joined;
        ++pool->busy;
        pthread_mutex_unlock(&pool->lock);
        work(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* A pool with as many workers as could be started: fewer threads change the time, never the result. */
static struct tnp_pool *pool_new(size_t workers)
{
    struct tnp_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->process = getpid();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    while (pool->workers < tnp_min(workers, MAX_WORKERS) &&
           pthread_create(&pool->threads[pool->workers], NULL, worker, pool) == 0)
        ++pool->workers;
    return pool;
}

/* Ends the threads. Destroying a condition that a thread waits on waits for that thread: not in a child, which has
 * none. */
static void end_threads(struct tnp_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    ++pool->posted;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->workers; ++i)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->idle);
    pthread_mutex_destroy(&pool->lock);
}

static bool is_of_this_process(const struct tnp_pool *pool)
{
    return pool->process == getpid();
}

void tnp_pool_free(struct tnp_pool *pool)
{
    if (pool && is_of_this_process(pool))
        end_threads(pool);
    free(pool);
}

size_t tnp_threads_for(const tn_ctx *ctx, double flops)
{
    /* Some 50 microseconds of plain loops per thread, 10 of vectors. One that still looks for work is there at once; who
     * sleeps and comes too late is not waited for, and costs the caller the 5 microseconds of the call. */
    const double least = 1e5;
    return flops < 2 * least ? 1 : tnp_min(ctx->threads, (size_t)(flops / least));
}

void tnp_await(const atomic_size_t *value, size_t least)
{
    enum { PATIENCE = 2000 }; /* some microseconds: then whoever else wants the processor may have it */
    for (size_t i = 1; atomic_load(value) < least; ++i)
        if (i % PATIENCE == 0)
            sched_yield();
}

void tnp_parallel(tn_ctx *ctx, size_t threads, size_t count, void (*body)(void *arg, size_t i), void *arg)
{
    threads = tnp_min(tnp_min(threads, ctx->threads), count);
    if (threads > 1 && ctx->pool && !is_of_this_process(ctx->pool)) {
        tnp_pool_free(ctx->pool);
        ctx->pool = NULL;
    }
    if (threads > 1 && !ctx->pool)
        ctx->pool = pool_new(ctx->threads - 1);
    struct tnp_pool *pool = ctx->pool;
    if (threads <= 1 || !pool || pool->workers == 0) {
        for (size_t i = 0; i < count; ++i)
            body(arg, i);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->body = body;
    pool->arg = arg;
    pool->count = count;
    pool->step = tnp_max(1, count / (threads * TURNS));
    atomic_store(&pool->next, 0);
    pool->joined = 0;
    pool->invited = tnp_min(threads - 1, pool->workers);
    ++pool->posted;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work(pool);
    pthread_mutex_lock(&pool->lock);
    pool->invited = 0; /* a worker that has not come yet is not needed any more */
    if (pool->busy == 1)
        watch(pool, &pool->busy, 1);
    while (pool->busy != 0)
        pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
