/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A guest in another program's process: what the program has set is as it was after every call, its objects live as
 * long as it wants them, and a cancel ends what it was meant to end. */
#define _GNU_SOURCE /* fegetexcept */
#include "demo_of.h"

#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* The host's own BLAS, the same that the library uses. */
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);
__attribute__((weak)) int openblas_thread_timeout(void); /* 0: the usual one */

static char folder[] = "/tmp/tenon-guest-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* ---- the calls: all that use the BLAS, files or threads ---- */

typedef struct visit {
    tn_ctx *ctx;
    demo data;
    tn_head *head;
} visit;

static tn_status do_rank(visit *v)
{
    tn_ranking *ranking = NULL;
    tn_status st = tn_rank(v->ctx, demo_features(&v->data), DEMO_REPS, v->data.labels, NULL, &ranking);
    tn_ranking_free(ranking);
    return st;
}

static tn_status do_fit(visit *v, const char *method)
{
    tn_head *head = NULL;
    tn_status st = demo_fit(v->ctx, &v->data, method, &head);
    tn_head_free(head);
    return st;
}

static tn_status do_evidence(visit *v)
{
    return do_fit(v, "evidence");
}

static tn_status do_ridge_cv(visit *v)
{
    return do_fit(v, "ridge-cv");
}

static tn_status do_lda(visit *v)
{
    return do_fit(v, "lda");
}

static tn_status do_svm(visit *v)
{
    return do_fit(v, "svm");
}

static tn_status do_logistic(visit *v)
{
    return do_fit(v, "logistic");
}

static tn_status do_online(visit *v)
{
    return do_fit(v, "pa");
}

static tn_status do_predict(visit *v)
{
    float *scores = NULL;
    tn_status st = demo_scores(v->ctx, &v->data, v->head, &scores);
    free(scores);
    return st;
}

static tn_status do_transfer(visit *v)
{
    tn_options *options = NULL;
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    tn_source source = {.name = "head", .head = v->head};
    tn_status st = tn_options_new(v->ctx, "transfer", &options);
    if (st == TN_OK)
        st = tn_options_set(v->ctx, options, "method", "greedytl");
    if (st == TN_OK)
        st = tn_options_set_flag(v->ctx, options, "features", false); /* few columns: quick */
    if (st == TN_OK)
        st = tn_transfer(v->ctx, demo_features(&v->data), DEMO_REPS, v->data.labels, &source, 1, options, &info, &head);
    tn_options_free(options);
    tn_transfer_info_free(info);
    tn_head_free(head);
    return st;
}

static tn_status do_quantise(visit *v)
{
    tn_pq *pq = NULL;
    tn_status st = tn_pq_fit(v->ctx, v->data.features[1], NULL, NULL, &pq);
    tn_pq_free(pq);
    return st;
}

static tn_status do_map(visit *v)
{
    tn_options *options = NULL;
    tn_map *map = NULL;
    tn_map_data data = {v->data.features[1], v->data.labels};
    tn_status st = tn_options_new(v->ctx, "kernel", &options);
    if (st == TN_OK)
        st = tn_options_set_number(v->ctx, options, "gap", 0.1);
    if (st == TN_OK)
        st = tn_map_learn(v->ctx, &data, 1, options, NULL, &map);
    tn_options_free(options);
    tn_map_free(map);
    return st;
}

static tn_status do_save_and_load(visit *v)
{
    char path[sizeof folder + 20];
    tn_head *head = NULL;
    snprintf(path, sizeof path, "%s/head.safetensors", folder);
    tn_status st = tn_head_save(v->ctx, v->head, "test", path);
    if (st == TN_OK)
        st = tn_head_load(v->ctx, path, &head);
    tn_head_free(head);
    unlink(path);
    return st;
}

static tn_status do_speed(visit *v)
{
    double speed = 0;
    return tn_machine_gemm_speed(v->ctx, 200, &speed);
}

static tn_status (*const calls[])(visit *) = {do_rank,     do_evidence,      do_ridge_cv, do_lda,      do_svm,
                                              do_logistic, do_online,        do_predict,  do_transfer, do_quantise,
                                              do_map,      do_save_and_load, do_speed};
enum { CALLS = sizeof calls / sizeof *calls };

static visit visit_of(size_t threads)
{
    visit v = {.ctx = ctx_of(threads)};
    v.data = demo_of(v.ctx);
    assert_fine(v.ctx, demo_fit(v.ctx, &v.data, "evidence", &v.head));
    return v;
}

static void visit_end(visit *v)
{
    tn_head_free(v->head);
    demo_free(&v->data);
    assert_int_equal(tnp_live_blocks(v->ctx), 0);
    tn_ctx_free(v->ctx);
}

/* ---- cancelling ---- */

static void test_cancel_can_be_reset(void **state)
{
    (void)state;
    visit v = visit_of(1);
    tn_ctx_cancel(v.ctx); /* between calls, as a Ctrl-C may come: not lost, and not spent by the call that it ends */
    for (int i = 0; i < 2; ++i)
        assert_fails(v.ctx, TN_ERR_INTERRUPTED, "interrupted", do_rank(&v));
    tn_ctx_reset(v.ctx);
    assert_fine(v.ctx, do_rank(&v));
    tn_ctx_reset(v.ctx); /* nothing to take back */
    assert_fine(v.ctx, do_rank(&v));
    tn_ctx_cancel(v.ctx);
    assert_fails(v.ctx, TN_ERR_INTERRUPTED, "interrupted", do_rank(&v));
    visit_end(&v);
}

/* ---- the BLAS thread count ---- */

static void watch_count(void *user, const char *stage, double share)
{
    const int *host = user;
    (void)stage, (void)share;
    assert_int_equal(openblas_get_num_threads(), *host);
}

static void test_blas_count_is_the_hosts_after_every_call(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 7};
    const int before = openblas_get_num_threads();
    visit v = visit_of(2);
    assert_int_equal(openblas_get_num_threads(), before);
    for (size_t c = 0; c < 3; ++c) {
        openblas_set_num_threads(counts[c]);
        tn_ctx_set_threads(v.ctx, 1 + c % 2);
        tn_ctx_set_progress(v.ctx, watch_count, (void *)(uintptr_t)&counts[c]);
        for (size_t i = 0; i < CALLS; ++i) {
            assert_fine(v.ctx, calls[i](&v));
            assert_int_equal(openblas_get_num_threads(), counts[c]);
        }
    }
    openblas_set_num_threads(before);
    visit_end(&v);
}

static void cancel_after_first(void *user, const char *stage, double share)
{
    visit *v = user;
    (void)stage;
    if (share > 0)
        tn_ctx_cancel(v->ctx);
}

static void test_blas_count_is_the_hosts_after_failures(void **state)
{
    (void)state;
    const int before = openblas_get_num_threads();
    visit v = visit_of(2);
    openblas_set_num_threads(3);
    tn_ctx_set_progress(v.ctx, cancel_after_first, &v);
    for (size_t i = 0; i < CALLS; ++i) {
        (void)calls[i](&v); /* some end before they can be told to */
        assert_int_equal(openblas_get_num_threads(), 3);
        tn_ctx_reset(v.ctx);
    }
    tn_ctx_set_progress(v.ctx, NULL, NULL);
    for (size_t k = 5; k < 100; k *= 4)
        for (size_t i = 0; i < CALLS; ++i) {
            tnp_fail_allocation(v.ctx, k);
            (void)calls[i](&v);
            assert_int_equal(openblas_get_num_threads(), 3);
        }
    tnp_fail_allocation(v.ctx, 0);
    openblas_set_num_threads(before);
    visit_end(&v);
}

typedef struct guest {
    pthread_t thread;
    size_t threads;
    tn_status status;
    float *scores;
} guest;

static void *visit_often(void *arg)
{
    guest *g = arg;
    visit v = visit_of(g->threads);
    for (int i = 0; i < 6 && g->status == TN_OK; ++i)
        g->status = i % 2 ? do_rank(&v) : do_evidence(&v);
    if (g->status == TN_OK)
        g->status = demo_scores(v.ctx, &v.data, v.head, &g->scores);
    visit_end(&v);
    return NULL;
}

/* Four contexts of two counts at the same time: afterwards the count is the host's; and each ran with its own count, so
 * that contexts of the same count have the same bytes, whoever ran beside them. */
static void test_blas_count_is_the_hosts_after_contexts_at_the_same_time(void **state)
{
    (void)state;
    const int before = openblas_get_num_threads();
    guest guests[4] = {{.threads = 1}, {.threads = 2}, {.threads = 1}, {.threads = 2}};
    visit v = visit_of(1);
    size_t bytes = tn_features_rows(v.data.features[0]) * tn_head_classes(v.head) * sizeof(float);
    openblas_set_num_threads(5);
    for (size_t i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&guests[i].thread, NULL, visit_often, &guests[i]), 0);
    for (size_t i = 0; i < 4; ++i) {
        pthread_join(guests[i].thread, NULL);
        assert_int_equal(guests[i].status, TN_OK);
    }
    assert_int_equal(openblas_get_num_threads(), 5);
    assert_memory_equal(guests[0].scores, guests[2].scores, bytes);
    assert_memory_equal(guests[1].scores, guests[3].scores, bytes);
    for (size_t i = 0; i < 4; ++i)
        free(guests[i].scores);
    openblas_set_num_threads(before);
    visit_end(&v);
}

/* ---- objects and their contexts ---- */

static void test_objects_outlive_their_context(void **state)
{
    (void)state;
    tn_ctx *first = ctx_of(2), *second = ctx_of(1);
    demo d = demo_of(first);
    tn_head *head = NULL, *again = NULL;
    tn_map *map = NULL;
    float *scores = NULL;
    assert_fine(first, demo_fit(first, &d, "evidence", &head));
    assert_fine(first, tn_map_new_named(first, "chi2", TN_SIGNED_ODD, &map));
    assert_true(tn_ctx_memory_now(first) > 0);
    tn_ctx_free(first);
    assert_fine(second, demo_scores(second, &d, head, &scores));
    assert_fine(second, demo_fit(second, &d, "evidence", &again));
    assert_int_equal(tn_head_dim(head), tn_head_dim(again));
    char path[sizeof folder + 20];
    snprintf(path, sizeof path, "%s/rows.npy", folder);
    assert_fine(second, tn_map_rows_save(second, map, d.features[1], TN_NORM_NONE, TN_NAN_ERROR, path));
    unlink(path);
    tn_head_free(again);
    tn_ctx_free(second); /* the table of the map was made with it */
    free(scores);
    tn_head_free(head);
    demo_free(&d);
    tn_map_free(map);
}

static void *free_head(void *head)
{
    tn_head_free(head);
    return NULL;
}

/* Freed by many threads at once, without a context: the count of the last one is the count of all. */
static void test_objects_are_freed_by_any_thread(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    demo d = demo_of(ctx);
    pthread_t threads[8];
    tn_head *heads[8] = {NULL};
    for (size_t i = 0; i < 8; ++i)
        assert_fine(ctx, demo_fit(ctx, &d, "evidence", &heads[i]));
    for (size_t i = 0; i < 8; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, free_head, heads[i]), 0);
    tn_ctx_free(ctx);
    demo_free(&d);
    for (size_t i = 0; i < 8; ++i)
        pthread_join(threads[i], NULL);
}

/* Bytes go back to the context that counted them, not to the one that was used last. */
static void test_memory_is_counted_by_the_context_that_took_it(void **state)
{
    (void)state;
    tn_ctx *first = ctx_of(1), *second = ctx_of(1);
    demo d = demo_of(first);
    tn_head *head = NULL;
    size_t opened = tn_ctx_memory_now(first);
    assert_fine(second, demo_fit(second, &d, "evidence", &head));
    assert_int_equal(tn_ctx_memory_now(first), opened);
    assert_true(tn_ctx_memory_now(second) > 0);
    demo_free(&d);
    assert_int_equal(tn_ctx_memory_now(first), 0);
    tn_head_free(head);
    assert_int_equal(tn_ctx_memory_now(second), 0);
    tn_ctx_free(first);
    tn_ctx_free(second);
}

/* ---- the rest of the process ---- */

typedef struct process {
    void (*handlers[32])(int);
    int flags[32];
    sigset_t mask;
    char locale[256], path[4096];
    locale_t thread_locale;
    int rounding, trapped;
    unsigned control; /* of SSE, without what has happened so far */
    mode_t mode;
    int open_files;
} process;

static int count_files(void)
{
    int count = 0;
    for (int fd = 0; fd < 1000; ++fd)
        count += dup2(fd, fd) == fd;
    return count;
}

static process look(void)
{
    process p;
    memset(&p, 0, sizeof p);
    for (int s = 1; s < 32; ++s) {
        struct sigaction action;
        if (sigaction(s, NULL, &action) == 0) {
            p.handlers[s] = action.sa_handler;
            p.flags[s] = action.sa_flags;
        }
    }
    pthread_sigmask(SIG_SETMASK, NULL, &p.mask);
    snprintf(p.locale, sizeof p.locale, "%s", setlocale(LC_ALL, NULL));
    p.thread_locale = uselocale((locale_t)0);
    assert_non_null(getcwd(p.path, sizeof p.path));
    p.rounding = fegetround();
    p.trapped = fegetexcept();
#if defined(__SSE__)
    p.control = _mm_getcsr() & ~0x3fu;
#endif
    p.mode = umask(022);
    umask(p.mode);
    p.open_files = count_files();
    return p;
}

static void on_signal(int number)
{
    (void)number;
}

/* A host that has everything set in a way of its own: signals, locale, rounding, mask of new files, folder. */
static void test_process_is_left_as_it_was(void **state)
{
    (void)state;
    static const int own[] = {SIGINT, SIGTERM, SIGBUS, SIGSEGV, SIGFPE, SIGPIPE, SIGALRM, SIGCHLD, SIGUSR1};
    char before_path[4096];
    const mode_t before_mode = umask(027);
    struct sigaction action, kept[sizeof own / sizeof *own];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    visit v = visit_of(2);
    assert_non_null(getcwd(before_path, sizeof before_path));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
        sigaction(own[i], &action, &kept[i]);
    locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0), before_locale = uselocale(locale);
    for (size_t i = 0; i < CALLS; ++i) {
        assert_int_equal(fesetround(FE_UPWARD), 0);
#if defined(__SSE__)
        _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
        process before = look();
        (void)calls[i](&v); /* what comes out under such a rounding is the host's risk */
        process after = look();
        fesetenv(FE_DFL_ENV);
        assert_memory_equal(&before, &after, sizeof before);
    }
    uselocale(before_locale);
    freelocale(locale);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
        sigaction(own[i], &kept[i], NULL);
    umask(before_mode);
    assert_int_equal(chdir(before_path), 0);
    visit_end(&v);
}

/* A matrix product of threads that were begun anew is what it was. */
static void test_calm_blas(void **state)
{
    (void)state;
    static const char NAME[] = "OPENBLAS_THREAD_TIMEOUT";
    int given = openblas_thread_timeout ? openblas_thread_timeout() : 0;
    visit v = visit_of(2);
    tn_ranking *before = NULL, *after = NULL;
    assert_int_equal(tn_rank(v.ctx, demo_features(&v.data), DEMO_REPS, v.data.labels, NULL, &before), TN_OK);
    assert_int_equal(setenv(NAME, "20", 1), 0);
    tn_machine_calm_blas();
    assert_string_equal(getenv(NAME), "20");
    assert_true(!openblas_thread_timeout || openblas_thread_timeout() == given);
    assert_int_equal(unsetenv(NAME), 0);
    for (int round = 0; round < 3; ++round) {
        tn_machine_calm_blas();
        assert_null(getenv(NAME));
        assert_true(!openblas_thread_timeout || openblas_thread_timeout() == 18);
        assert_int_equal(tn_rank(v.ctx, demo_features(&v.data), DEMO_REPS, v.data.labels, NULL, &after), TN_OK);
        for (size_t c = 0; c < DEMO_REPS; ++c)
            assert_true(after->candidates[c]->log_evidence == before->candidates[c]->log_evidence);
        tn_ranking_free(after);
    }
    tn_ranking_free(before);
    visit_end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_can_be_reset),
        cmocka_unit_test(test_blas_count_is_the_hosts_after_every_call),
        cmocka_unit_test(test_blas_count_is_the_hosts_after_failures),
        cmocka_unit_test(test_blas_count_is_the_hosts_after_contexts_at_the_same_time),
        cmocka_unit_test(test_objects_outlive_their_context),
        cmocka_unit_test(test_objects_are_freed_by_any_thread),
        cmocka_unit_test(test_memory_is_counted_by_the_context_that_took_it),
        cmocka_unit_test(test_process_is_left_as_it_was),
        cmocka_unit_test(test_calm_blas),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
