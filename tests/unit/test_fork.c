/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forked children: with one thread where the parent had many they free what the parent made and work themselves, and the
 * parent goes on. A child that hangs is ended by its own alarm, a parent that hangs by the test's. */
#define _POSIX_C_SOURCE 200809L
#include "demo_of.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WATCHDOG = 120 }; /* seconds: only what hangs takes that long */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_THREADS_IN_CHILDREN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define NO_THREADS_IN_CHILDREN 1
#endif

/* ThreadSanitizer does not follow threads that a child starts. */
static void need_threads_in_children(void)
{
#ifdef NO_THREADS_IN_CHILDREN
    skip();
#endif
}

typedef struct family {
    tn_ctx *ctx;
    demo data;
    tn_head *head;
    float *scores; /* of the training rows by the head, as the parent computed them */
} family;

static void add_one(void *arg, size_t i)
{
    atomic_size_t *sum = arg;
    atomic_fetch_add(sum, i);
}

/* Pool and BLAS have threads. */
static family family_of(size_t threads)
{
    family f = {.ctx = ctx_of(threads)};
    atomic_size_t sum = 0;
    f.data = demo_of(f.ctx);
    tnp_parallel(f.ctx, threads, 100, add_one, &sum);
    assert_fine(f.ctx, demo_fit(f.ctx, &f.data, "evidence", &f.head));
    assert_fine(f.ctx, demo_scores(f.ctx, &f.data, f.head, &f.scores));
    return f;
}

static void family_free(family *f)
{
    tn_head_free(f->head);
    demo_free(&f->data);
    tn_ctx_free(f->ctx);
    free(f->scores);
}

/* Runs child(arg) in a child, which must end with 0. */
static void in_child(int (*child)(family *f), family *f)
{
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(WATCHDOG / 4);
        _exit(child(f));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        print_error("the child was ended by signal %d\n", WTERMSIG(status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int free_all(family *f)
{
    family_free(f);
    return 0;
}

static void test_child_frees_what_the_parent_made(void **state)
{
    (void)state;
    family f = family_of(4);
    in_child(free_all, &f);
    family_free(&f);
}

/* Every index once, by threads of the child's own. */
static int use_pool(family *f)
{
    for (size_t threads = 2; threads <= 4; ++threads) {
        atomic_size_t sum = 0;
        tnp_parallel(f->ctx, threads, 1000, add_one, &sum);
        if (atomic_load(&sum) != 499500)
            return 1;
    }
    tn_ctx_set_threads(f->ctx, 3); /* ends one pool and asks for another */
    atomic_size_t sum = 0;
    tnp_parallel(f->ctx, 3, 1000, add_one, &sum);
    return atomic_load(&sum) != 499500;
}

static void test_child_makes_threads_of_its_own(void **state)
{
    (void)state;
    need_threads_in_children();
    family f = family_of(4);
    in_child(use_pool, &f);
    family_free(&f);
}

/* The same bytes as the parent's: same data, same thread count, same machine. */
static int fit_again(family *f)
{
    tn_head *head = NULL;
    float *scores = NULL;
    size_t count = tn_features_rows(f->data.features[0]) * tn_head_classes(f->head);
    if (demo_fit(f->ctx, &f->data, "evidence", &head) != TN_OK || demo_scores(f->ctx, &f->data, head, &scores) != TN_OK)
        return 2;
    int differs = memcmp(scores, f->scores, count * sizeof *scores) != 0;
    free(scores);
    tn_head_free(head);
    family_free(f);
    return differs ? 3 : 0;
}

static void test_child_fits_with_the_parents_context(void **state)
{
    (void)state;
    need_threads_in_children();
    for (size_t threads = 1; threads <= 2; ++threads) {
        family f = family_of(threads);
        in_child(fit_again, &f);
        assert_int_equal(fit_again(&f), 0); /* and the parent can still */
    }
}

static void fork_in_progress(void *user, const char *stage, double share)
{
    pid_t *pid = user;
    (void)stage, (void)share;
    if (*pid < 0)
        *pid = fork();
}

/* Forked by the calling thread amid its work, both processes come to its end. */
static void test_both_end_a_fit_that_was_forked(void **state)
{
    (void)state;
    need_threads_in_children();
    family f = family_of(2);
    pid_t pid = -1;
    int status = -1;
    tn_ctx_set_progress(f.ctx, fork_in_progress, &pid);
    int code = fit_again(&f);
    if (pid == 0)
        _exit(code);
    assert_true(pid > 0);
    assert_int_equal(code, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

typedef struct worker {
    pthread_t thread;
    demo *data;
    atomic_bool stop;
    atomic_int failed, rounds;
} worker;

static void *fit_until_stopped(void *arg)
{
    worker *w = arg;
    tn_ctx *ctx = NULL;
    if (tn_ctx_new(&ctx) != TN_OK)
        atomic_store(&w->failed, 1);
    tn_ctx_set_threads(ctx, 2);
    while (!atomic_load(&w->stop) && !atomic_load(&w->failed)) {
        tn_head *head = NULL;
        if (demo_fit(ctx, w->data, "evidence", &head) != TN_OK)
            atomic_store(&w->failed, 1);
        atomic_fetch_add(&w->rounds, 1);
        tn_head_free(head);
    }
    tn_ctx_free(ctx);
    return NULL;
}

/* Another thread of the parent is inside a fit all the time, mostly in the BLAS, with other contexts than the child's.
 * Neither of the processes hangs, neither is wrong. */
static void test_fork_while_another_thread_fits(void **state)
{
    (void)state;
    need_threads_in_children();
    family f = family_of(2);
    worker w = {.data = &f.data};
    assert_int_equal(pthread_create(&w.thread, NULL, fit_until_stopped, &w), 0);
    for (int i = 0; i < 12; ++i)
        in_child(fit_again, &f);
    atomic_store(&w.stop, true);
    assert_int_equal(pthread_join(w.thread, NULL), 0);
    assert_int_equal(atomic_load(&w.failed), 0);
    family_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_frees_what_the_parent_made),
        cmocka_unit_test(test_child_makes_threads_of_its_own),
        cmocka_unit_test(test_child_fits_with_the_parents_context),
        cmocka_unit_test(test_both_end_a_fit_that_was_forked),
        cmocka_unit_test(test_fork_while_another_thread_fits),
    };
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
