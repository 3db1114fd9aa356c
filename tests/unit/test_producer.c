/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that a producer computes, against its formula: whole rows as they are and through memory, lists of rows,
 * blocks of every size, several threads; failures with their sentence; what is refused. */
#include "fixtures/files.h"

#include "read/features.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROWS = 1000, COLS = 7 };

typedef struct maker {
    tn_dtype dtype;
    size_t bad;   /* row that fails; SIZE_MAX: none */
    bool silent;  /* it fails without a word */
    bool endless; /* and fills the whole message */
    atomic_size_t calls, rows, most;
    int released;
} maker;

static double formula(size_t row, size_t col)
{
    return 0.125 * (double)(row % 251) - (double)(col * col);
}

static tn_status make(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    maker *m = user;
    size_t most = atomic_load(&m->most);
    atomic_fetch_add(&m->calls, 1);
    atomic_fetch_add(&m->rows, count);
    while (count > most && !atomic_compare_exchange_weak(&m->most, &most, count))
        ;
    for (size_t i = 0; i < count; ++i) {
        size_t row = index ? index[start + i] : start + i;
        if (row == m->bad && !m->silent)
            snprintf(message, TN_PRODUCER_MESSAGE, "row %zu has no picture", row);
        if (row == m->bad && m->endless)
            memset(message, 'x', TN_PRODUCER_MESSAGE);
        if (row == m->bad)
            return TN_ERR_DATA;
        for (size_t j = 0; j < COLS; ++j)
            if (m->dtype == TN_F32)
                ((float *)out)[i * COLS + j] = (float)formula(row, j);
            else
                ((double *)out)[i * COLS + j] = formula(row, j);
    }
    return TN_OK;
}

static void release(void *user)
{
    ++((maker *)user)->released;
}

static maker maker_of(tn_dtype dtype)
{
    return (maker){.dtype = dtype, .bad = SIZE_MAX};
}

static tn_features *features_by(maker *m, size_t block)
{
    const tn_producer producer = {m, ROWS, COLS, m->dtype, block, make, release};
    tn_features *features = NULL;
    assert_fine(test_ctx, tn_features_from_producer(test_ctx, "net", &producer, &features));
    return features;
}

static void check(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start, size_t count,
                  size_t col0, size_t cols)
{
    float *narrow = calloc(count * cols + 1, sizeof *narrow);
    double *wide = calloc(count * cols + 1, sizeof *wide);
    assert_true(narrow && wide);
    assert_fine(ctx, tn_features_read(ctx, features, index, start, count, col0, cols, narrow));
    assert_fine(ctx, tn_features_read_wide(ctx, features, index, start, count, col0, cols, wide));
    for (size_t i = 0; i < count * cols; ++i) {
        size_t row = index ? index[start + i / cols] : start + i / cols;
        double want = formula(row, col0 + i % cols); /* an eighth: exact in both types */
        assert_true((double)narrow[i] == want && wide[i] == want);
    }
    assert_true(narrow[count * cols] == 0 && wide[count * cols] == 0);
    free(narrow);
    free(wide);
}

static void check_all(tn_ctx *ctx, const tn_features *features)
{
    size_t index[300];
    for (size_t i = 0; i < 300; ++i)
        index[i] = i % 5 == 4 ? index[i - 1] : (i * 377 + 11) % ROWS;
    check(ctx, features, NULL, 0, ROWS, 0, COLS);
    check(ctx, features, NULL, 123, 456, 0, COLS);
    check(ctx, features, NULL, 10, 70, 2, 3);
    check(ctx, features, index, 0, 300, 0, COLS);
    check(ctx, features, index, 7, 200, COLS - 1, 1);
    check(ctx, features, NULL, ROWS, 0, 0, COLS);
}

static void whole_rows_parts_and_lists(void **state)
{
    (void)state;
    static const size_t blocks[] = {0, 1, 33, 5000, SIZE_MAX};
    for (size_t v = 0; v < 2 * 5 * 2; ++v) {
        maker m = maker_of(v % 2 ? TN_F64 : TN_F32);
        size_t block = blocks[v / 2 % 5];
        tn_ctx_set_threads(test_ctx, v / 10 ? 3 : 1);
        tn_features *features = features_by(&m, block);
        assert_string_equal(tn_features_format(features), "producer");
        assert_string_equal(tn_features_path(features), "net");
        assert_int_equal(tn_features_is_wide(features), m.dtype == TN_F64);
        check_all(test_ctx, features);
        assert_true(m.most <= (block ? block : 64));
        tn_features_close(features);
        assert_int_equal(m.released, 1);
    }
}

/* Rows that go where they are wanted are made once, in one call if the producer likes. */
static void rows_are_asked_for_once(void **state)
{
    (void)state;
    static float out[ROWS * COLS];
    maker m = maker_of(TN_F32);
    tn_features *features = features_by(&m, SIZE_MAX);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, out));
    assert_int_equal(m.calls, 1);
    assert_int_equal(m.rows, ROWS);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, ROWS, 3, 2, out));
    assert_int_equal(m.rows, 2 * ROWS);
    tn_features_close(features);
}

typedef struct reader {
    const tn_features *features;
    tn_ctx *ctx;
    bool fine;
} reader;

static void *read_all(void *arg)
{
    reader *r = arg;
    double *out = malloc(ROWS * COLS * sizeof *out);
    r->fine = out && tn_features_read_wide(r->ctx, r->features, NULL, 0, ROWS, 0, COLS, out) == TN_OK;
    for (size_t i = 0; r->fine && i < ROWS * COLS; ++i)
        r->fine = out[i] == formula(i / COLS, i % COLS);
    free(out);
    return NULL;
}

static void several_contexts_read_at_once(void **state)
{
    (void)state;
    enum { READERS = 4 };
    maker m = maker_of(TN_F32);
    tn_features *features = features_by(&m, 0);
    pthread_t threads[READERS];
    reader readers[READERS];
    for (size_t i = 0; i < READERS; ++i) {
        readers[i] = (reader){.features = features};
        readers[i].ctx = ctx_of(0);
        tn_ctx_set_threads(readers[i].ctx, 2);
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (size_t i = 0; i < READERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(readers[i].fine);
        tn_ctx_free(readers[i].ctx);
    }
    assert_int_equal(m.rows, READERS * ROWS);
    tn_features_close(features);
}

static void a_failing_producer_gives_its_sentence(void **state)
{
    (void)state;
    static float narrow[ROWS * COLS];
    static double wide[ROWS * COLS];
    for (size_t threads = 1; threads <= 3; threads += 2) {
        maker m = maker_of(TN_F32);
        tn_features *features = features_by(&m, 0);
        tn_ctx_set_threads(test_ctx, threads);
        m.bad = 700;
        assert_fails(test_ctx, TN_ERR_DATA, "net: row 700 has no picture",
                     tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, narrow));
        assert_fails(test_ctx, TN_ERR_DATA, "net: row 700 has no picture",
                     tn_features_read_wide(test_ctx, features, NULL, 0, ROWS, 0, COLS, wide));
        assert_fails(test_ctx, TN_ERR_DATA, "net: row 700 has no picture",
                     tn_features_read(test_ctx, features, NULL, 650, 100, 1, 2, narrow));
        assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 700, 0, COLS, narrow));
        m.silent = true;
        assert_fails(test_ctx, TN_ERR_DATA, "net: its producer failed",
                     tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, narrow));
        m.endless = true;
        assert_fails(test_ctx, TN_ERR_DATA, "net: xxxxx",
                     tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, narrow));
        m.bad = SIZE_MAX;
        check_all(test_ctx, features);
        tn_features_close(features);
    }
}

static void refuse(const char *name, tn_producer producer, tn_status status, const char *part)
{
    tn_features *const untouched = (tn_features *)(void *)test_folder;
    tn_features *features = untouched;
    maker *m = producer.user;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, tn_features_from_producer(test_ctx, name, &producer, &features));
    assert_ptr_equal(features, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    assert_int_equal(m->released, 0);
}

static void what_cannot_produce_is_refused(void **state)
{
    (void)state;
    maker m = maker_of(TN_F32);
    refuse(NULL, (tn_producer){&m, 2, 2, TN_F32, 0, make, release}, TN_ERR_ARG, "no name");
    refuse("p", (tn_producer){&m, 0, 2, TN_F32, 0, make, release}, TN_ERR_DATA, "p: 0 rows");
    refuse("p", (tn_producer){&m, 2, 0, TN_F32, 0, make, release}, TN_ERR_DATA, "of 0 columns");
    refuse("p", (tn_producer){&m, 2, 2, TN_F16, 0, make, release}, TN_ERR_ARG, "float16, expected float32 or float64");
    refuse("p", (tn_producer){&m, 2, 2, TN_F32, 0, NULL, release}, TN_ERR_ARG, "no read");
    refuse("p", (tn_producer){&m, 2, SIZE_MAX / 2, TN_F32, 0, make, release}, TN_ERR_MEMORY, "");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double out[5 * 2];
    tn_status st = TN_ERR_MEMORY;
    for (size_t k = 1; st != TN_OK; ++k) {
        maker m = maker_of(TN_F32);
        const tn_producer producer = {&m, ROWS, COLS, TN_F32, 0, make, release};
        tn_features *features = NULL;
        size_t blocks = tnp_live_blocks(test_ctx);
        tnp_fail_allocation(test_ctx, k);
        st = tn_features_from_producer(test_ctx, "p", &producer, &features);
        if (st == TN_OK)
            st = tn_features_read_wide(test_ctx, features, NULL, 0, 5, 0, 2, out);
        tnp_fail_allocation(test_ctx, 0);
        tn_features_close(features);
        assert_int_equal(m.released, features != NULL);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        assert_true(k < 20 && (st == TN_OK || st == TN_ERR_MEMORY));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_rows_parts_and_lists),     cmocka_unit_test(rows_are_asked_for_once),
        cmocka_unit_test(several_contexts_read_at_once),  cmocka_unit_test(a_failing_producer_gives_its_sentence),
        cmocka_unit_test(what_cannot_produce_is_refused), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
