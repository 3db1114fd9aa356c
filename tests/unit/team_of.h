/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team without MPI: its members are threads of one process, each with a context of its own, which meet at a barrier.
 * What is tested on it runs everywhere, under every sanitizer; the same with MPI is tests/mpi. Members make no
 * assertions: what they find is looked at when all have ended. */
#ifndef TN_TESTS_TEAM_OF_H
#define TN_TESTS_TEAM_OF_H

#include "ctx_of.h"
#include "base/team.h"

#include <pthread.h>
#include <string.h>

enum { TEAM_MOST = 5 };

typedef struct meeting {
    size_t size;
    pthread_barrier_t barrier;
    void *brought[TEAM_MOST];
} meeting;

typedef tn_status (*member_fn)(tn_ctx *ctx, size_t rank, void *arg);

typedef struct member {
    meeting *where;
    size_t rank;
    member_fn work;
    void *arg;
    tn_status status; /* of the work */
    int code;         /* of tn_team_leave */
    size_t left;      /* blocks that the work has left behind */
    char message[1024];
} member;

static _Thread_local member *me;

static inline void meet(member *m, void *x)
{
    m->where->brought[m->rank] = x;
    pthread_barrier_wait(&m->where->barrier);
}

static inline void part(member *m)
{
    pthread_barrier_wait(&m->where->barrier);
}

static inline void thread_name(char *text, size_t size)
{
    snprintf(text, size, "threads");
}

static inline int thread_join(void **self, size_t *rank, size_t *size, size_t *here, char *host, size_t host_size)
{
    *self = me;
    *rank = me->rank;
    *size = *here = me->where->size;
    snprintf(host, host_size, "host%zu", me->rank);
    return 0;
}

/* Rank 0 does it for all. */
static inline int thread_reduce(member *m, double *x, size_t n, bool most)
{
    meet(m, x);
    for (size_t r = 1; m->rank == 0 && r < m->where->size; ++r)
        for (size_t i = 0; i < n; ++i) {
            double other = ((double *)m->where->brought[r])[i];
            x[i] = most ? fmax(x[i], other) : x[i] + other;
        }
    part(m);
    if (m->rank > 0 && n > 0)
        memcpy(x, m->where->brought[0], n * sizeof *x);
    part(m);
    return 0;
}

static inline int thread_sum(void *self, double *x, size_t n)
{
    return thread_reduce(self, x, n, false);
}

static inline int thread_most(void *self, double *x, size_t n)
{
    return thread_reduce(self, x, n, true);
}

static inline int thread_share(void *self, size_t from, void *x, size_t n)
{
    member *m = self;
    meet(m, x);
    if (m->rank != from && n > 0)
        memcpy(x, m->where->brought[from], n);
    part(m);
    return 0;
}

static inline int thread_gather(void *self, void *x, size_t item, const size_t *cut)
{
    member *m = self;
    meet(m, x);
    for (size_t r = 0; r < m->where->size; ++r)
        if (r != m->rank && cut[r + 1] > cut[r])
            memcpy((char *)x + cut[r] * item, (char *)m->where->brought[r] + cut[r] * item,
                   (cut[r + 1] - cut[r]) * item);
    part(m);
    return 0;
}

static inline void thread_why(int code, char *text, size_t size)
{
    snprintf(text, size, "code %d", code);
}

static inline void thread_leave(void *self)
{
    (void)self;
}

static inline void *run_member(void *arg)
{
    static const tnp_team_engine engine = {TNP_TEAM_VERSION, thread_name,   thread_join, thread_sum,  thread_most,
                                           thread_share,     thread_gather, thread_why,  thread_leave};
    member *m = arg;
    tn_ctx *ctx = NULL;
    me = m;
    m->status = tn_ctx_new(&ctx);
    if (m->status != TN_OK)
        return NULL;
    tn_ctx_set_threads(ctx, 1);
    m->status = tnp_team_enter(ctx, &engine);
    if (m->status == TN_OK)
        m->status = m->work(ctx, m->rank, m->arg);
    snprintf(m->message, sizeof m->message, "%s", tn_ctx_message(ctx));
    tnp_fail_allocation(ctx, 0);
    m->left = tnp_live_blocks(ctx) - 1; /* the team itself */
    m->code = tn_team_leave(ctx, (int)m->status, m->message);
    snprintf(m->message, sizeof m->message, "%s", tn_ctx_message(ctx));
    tn_ctx_free(ctx);
    return NULL;
}

/* All members do `work`; each has an element of args, `arg_size` bytes apart, or the same one when that is 0. */
static inline void team_run(size_t size, member_fn work, void *args, size_t arg_size, member members[TEAM_MOST])
{
    meeting where = {.size = size};
    pthread_t threads[TEAM_MOST];
    assert_int_equal(pthread_barrier_init(&where.barrier, NULL, (unsigned)size), 0);
    for (size_t r = 0; r < size; ++r) {
        members[r] = (member){.where = &where, .rank = r, .work = work, .arg = (char *)args + r * arg_size};
        assert_int_equal(pthread_create(&threads[r], NULL, run_member, &members[r]), 0);
    }
    for (size_t r = 0; r < size; ++r)
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    pthread_barrier_destroy(&where.barrier);
}

/* The same, of work that must go well for all. */
static inline void team_do(size_t size, member_fn work, void *args, size_t arg_size)
{
    member members[TEAM_MOST];
    team_run(size, work, args, arg_size, members);
    for (size_t r = 0; r < size; ++r) {
        if (members[r].status != TN_OK || members[r].code != 0)
            fail_msg("rank %zu of %zu: %s", r, size, members[r].message);
    }
}

#endif
