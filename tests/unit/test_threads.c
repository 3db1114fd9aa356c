/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool: every index exactly once, whatever the sizes, over many small jobs and changing thread counts. */
#include "spectrum_of.h"

#include <stdatomic.h>

enum { MOST = 5000 };

typedef struct tally {
    atomic_int seen[MOST];
    atomic_size_t calls;
} tally;

static void count_one(void *arg, size_t i)
{
    tally *t = arg;
    atomic_fetch_add(&t->seen[i], 1);
    atomic_fetch_add(&t->calls, 1);
}

static tally board;

static void run_once(tn_ctx *ctx, size_t threads, size_t count)
{
    for (size_t i = 0; i < MOST; ++i)
        atomic_store(&board.seen[i], 0);
    atomic_store(&board.calls, 0);
    tnp_parallel(ctx, threads, count, count_one, &board);
    assert_int_equal(atomic_load(&board.calls), count);
    for (size_t i = 0; i < MOST; ++i)
        assert_int_equal(atomic_load(&board.seen[i]), i < count ? 1 : 0);
}

static void test_every_index_once(void **state)
{
    (void)state;
    static const size_t threads[] = {1, 2, 3, 7, 16}, counts[] = {0, 1, 2, 3, 7, 64, 1000, MOST};
    for (size_t t = 0; t < 5; ++t) {
        tn_ctx *ctx = ctx_of(threads[t]);
        for (size_t c = 0; c < 8; ++c)
            for (size_t asked = 1; asked <= 20; asked += 6) /* more than the context has is cut to what it has */
                run_once(ctx, asked, counts[c]);
        ctx_done(ctx);
    }
}

typedef struct sums {
    size_t from[64];
    size_t to[64];
} sums;

static void copy_one(void *arg, size_t i)
{
    sums *s = arg;
    s->to[i] = s->from[i] * 3 + i;
}

/* Jobs so small that workers come late: none may run a body of the job before, nor be missing at the end. */
static void test_many_small_jobs(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(4);
    for (size_t job = 0; job < 20000; ++job) {
        sums s;
        size_t count = 2 + job % 5;
        memset(&s, 0, sizeof s);
        for (size_t i = 0; i < count; ++i)
            s.from[i] = job + i;
        tnp_parallel(ctx, 4, count, copy_one, &s);
        for (size_t i = 0; i < 64; ++i)
            assert_int_equal(s.to[i], i < count ? (job + i) * 3 + i : 0);
    }
    ctx_done(ctx);
}

static void test_changing_threads(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t round = 0; round < 60; ++round) {
        tn_ctx_set_threads(ctx, 1 + round * 5 % 9);
        run_once(ctx, 16, 200);
    }
    ctx_done(ctx);
}

/* One rule: little work stays on the caller, no more threads than the context has, more work never fewer threads. */
static void test_threads_for(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(6);
    size_t before = 1;
    assert_int_equal(tnp_threads_for(ctx, 0), 1);
    assert_int_equal(tnp_threads_for(ctx, 1e4), 1);
    for (double flops = 1; flops < 1e15; flops *= 3) {
        size_t now = tnp_threads_for(ctx, flops);
        assert_true(now >= before && now <= 6);
        before = now;
    }
    assert_int_equal(before, 6);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_many_small_jobs),
        cmocka_unit_test(test_changing_threads),
        cmocka_unit_test(test_threads_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
