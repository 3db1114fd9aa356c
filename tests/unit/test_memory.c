/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory does not grow with the rows: features are mapped and streamed, what is kept of a row is its place and its label.
 * Files are sparse, a few hundred rows written and holes between them, so that the test is quick and needs no disk. */
#include "fixtures/problems.h"
#include "options_of.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* a sanitizer's own memory would be measured, and its speed */
#endif

enum { K = 10, WRITTEN = 400 };

/* A float32 .npy of rows x cols: zeros, and WRITTEN rows of noise about the centre of their class spread over it. */
static tn_features *sparse_file(const char *name, size_t rows, size_t cols)
{
    bytes head = {.n = 0};
    char shape[64];
    ref_rng rng = ref_rng_of(cols);
    float *row = ref_alloc(cols, sizeof *row);
    const char *path = file_path(name);
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    put_npy(&head, "<f4", false, shape);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, head.data, head.n, 0), head.n);
    assert_int_equal(ftruncate(fd, (off_t)(head.n + rows * cols * sizeof *row)), 0);
    for (size_t i = 0; i < WRITTEN; ++i) {
        size_t step = rows / WRITTEN, at = i * step + i * 7 % step, size = cols * sizeof *row;
        for (size_t j = 0; j < cols; ++j)
            row[j] = (float)ref_normal(&rng) + (j % K == at % K ? 2.0f : 0.0f);
        assert_int_equal(pwrite(fd, row, size, (off_t)(head.n + at * size)), size);
    }
    close(fd);
    free(row);
    return open_features(path);
}

/* Row i has class i mod K. */
static tn_labels *cyclic_labels(size_t rows)
{
    double none[K] = {1};
    tn_labels *l = labels_of(none, 1, K, TN_TASK_MULTICLASS);
    free(l->first);
    free(l->cls);
    free(l->known);
    l->rows = rows;
    l->first = ref_alloc(rows + 1, sizeof *l->first);
    l->cls = ref_alloc(rows, sizeof *l->cls);
    l->known = ref_alloc(rows, sizeof *l->known);
    for (size_t i = 0; i < rows; ++i) {
        l->first[i + 1] = i + 1;
        l->cls[i] = (uint32_t)(i % K);
        l->known[i] = true;
    }
    return l;
}

/* Peak bytes of a ranking by a context of its own. */
static size_t peak_of(size_t rows, size_t cols, const char *loo, const char *normalize, const char *transform,
                      size_t threads)
{
    tn_features *features = sparse_file("m.npy", rows, cols);
    tn_labels *labels = cyclic_labels(rows);
    tn_ctx *ctx = ctx_of(0);
    tnp_rank_options opt;
    tn_ranking *r = NULL;
    tn_ctx_set_threads(ctx, threads);
    tnp_rank_options_default(&opt);
    opt.loo = loo_of(loo);
    opt.normalize = normalize;
    opt.transform = transform;
    assert_fine(ctx, tnp_rank(ctx, (const tn_features *const *)&features, 1, labels, &opt, &r));
    assert_int_equal(r->rows, rows);
    size_t peak = tn_ctx_memory_peak(ctx);
    tn_ranking_free(r);
    ctx_done(ctx);
    labels_done(labels);
    tn_features_close(features);
    unlink(file_path("m.npy"));
    return peak;
}

/* Per row: its place (8 bytes), the start of its list (8), its class (4), a mark (1); with leave-one-out the permutation
 * (8). Nothing else may depend on the rows. */
static void memory_does_not_grow_with_rows(void **state)
{
    (void)state;
    static const char *const kinds[] = {"l2", "zscore", "l2"}, *const transforms[] = {"none", "none", "chi2"};
    const size_t cols[] = {256, 256, 36}; /* 252 through chi2 */
    for (int loo = 0; loo < 2; ++loo)
        for (int z = 0; z < 3; ++z) {
            size_t few = peak_of(20000, cols[z], loo ? "500" : "0", kinds[z], transforms[z], 2);
            size_t many = peak_of(80000, cols[z], loo ? "500" : "0", kinds[z], transforms[z], 2);
            size_t a_row = 21 + (loo ? 8 : 0);
            assert_true(many >= few);
            if (many - few > a_row * 60000 + 4096) {
                print_error("%zu bytes for 20000 rows, %zu for 80000: %zu a row\n", few, many, (many - few) / 60000);
                fail();
            }
            assert_true(few < (size_t)16 << 20); /* 20 MB of features */
        }
}

/* ---- what the process really holds ---- */

typedef struct meter {
    const char *field; /* RssAnon: not backed by a file; VmRSS: mapped pages with it */
    atomic_bool stop;
    size_t kilobytes; /* the most seen */
    pthread_t thread;
} meter;

static size_t status_kilobytes(const char *field)
{
    char line[256];
    size_t found = 0, length = strlen(field);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, length) == 0 && sscanf(line + length, ": %zu", &found) == 1)
            break;
    if (file)
        fclose(file);
    return found;
}

static void *watch(void *arg)
{
    meter *m = arg;
    const struct timespec pause = {0, 3000000};
    while (!atomic_load(&m->stop)) {
        size_t now = status_kilobytes(m->field);
        m->kilobytes = now > m->kilobytes ? now : m->kilobytes;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Skips the test where the system tells nothing. */
static void meter_start(meter *m, const char *field)
{
    *m = (meter){.field = field};
    if (status_kilobytes(field) == 0)
        skip();
    assert_int_equal(pthread_create(&m->thread, NULL, watch, m), 0);
}

static void meter_stop(meter *m)
{
    atomic_store(&m->stop, true);
    pthread_join(m->thread, NULL);
}

static void assert_at_most_megabytes(const meter *m, size_t most)
{
    if (m->kilobytes > most * 1024)
        print_error("%s: %zu kB\n", m->field, m->kilobytes);
    assert_true(m->kilobytes <= most * 1024);
}

/* 200,000 x 1024 floats are 800 MB; ranking them with all defaults stays within 400 MB, threads, BLAS and test
 * included. */
static void two_hundred_thousand_rows_in_400_megabytes(void **state)
{
    (void)state;
    meter m;
    size_t rows = SANITIZED ? 20000 : 200000;
    meter_start(&m, "RssAnon");
    size_t peak = peak_of(rows, 1024, "2000", "l2", "none", 0);
    meter_stop(&m);
    assert_true(peak < (size_t)200 << 20);
    if (!SANITIZED) {
        assert_true(m.kilobytes > peak / 1024 / 2); /* the meter saw the work */
        assert_at_most_megabytes(&m, 400);
    }
}

/* One pass of PA over 300,000 x 1024 floats, 1.2 GB, shuffled: two stretches of 256 MB are mapped in at a time and given
 * back; what is ours stays within a budget of 32 MB. */
static void an_online_pass_holds_two_stretches_of_its_file(void **state)
{
    (void)state;
    meter m;
    size_t rows = SANITIZED ? 20000 : 300000;
    assert_true(tn_map_files());
    meter_start(&m, "VmRSS");
    tn_features *features = sparse_file("m.npy", rows, 1024);
    tn_labels *labels = cyclic_labels(rows);
    tn_ctx *ctx = ctx_of(0);
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_ctx_set_memory(ctx, (size_t)32 << 20);
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_PA;
    opt.select = TNP_SEARCH_ALL;
    opt.online.epochs = 1;
    assert_fine(ctx, tnp_fit(ctx, (const tn_features *const *)&features, 1, labels, &opt, &info, &head));
    meter_stop(&m);
    assert_true(info->epochs[0].updates > 0);
    if (!SANITIZED) {
        assert_true(m.kilobytes > 256 * 1024); /* the meter saw a stretch */
        assert_at_most_megabytes(&m, 700);
    }
    tn_head_free(head);
    tn_fit_info_free(info);
    tn_ctx_free(ctx);
    labels_done(labels);
    tn_features_close(features);
    unlink(file_path("m.npy"));
}

/* The dual holds N x N, not N x D: a wide file in memory that is a fraction of it. */
static void the_dual_does_not_hold_the_file(void **state)
{
    (void)state;
    size_t peak = peak_of(2 * WRITTEN, 20000, "0", "l2", "none", 2);  /* 128 MB as doubles, 4 bands */
    size_t wider = peak_of(2 * WRITTEN, 60000, "0", "l2", "none", 2); /* 384 MB as doubles, 12 bands */
    assert_true(peak < (size_t)100 << 20);
    assert_true(wider < (size_t)160 << 20);
    /* The same width by a map: the file's own rows of a band beside it, a seventh, and the map's table. */
    size_t mapped = peak_of(2 * WRITTEN, 20000 / 7, "0", "l2", "chi2", 2);
    assert_true(mapped < peak + peak / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_rows),
        cmocka_unit_test(two_hundred_thousand_rows_in_400_megabytes),
        cmocka_unit_test(an_online_pass_holds_two_stretches_of_its_file),
        cmocka_unit_test(the_dual_does_not_hold_the_file),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
