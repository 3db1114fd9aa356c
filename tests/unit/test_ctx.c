/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The context: messages, progress, cancellation, names. */
#include "ref_dense.h"
#include "select/evidence.h"
#include "spectrum_of.h"

#include <stdlib.h>

static void test_messages(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char longer[3000];
    assert_string_equal(tn_ctx_message(ctx), "");
    assert_int_equal(tnp_fail(ctx, TN_ERR_SHAPE, "x.npy: %zu rows, but y has %d", (size_t)4999, 5000), TN_ERR_SHAPE);
    assert_string_equal(tn_ctx_message(ctx), "x.npy: 4999 rows, but y has 5000");
    tnp_fail(ctx, TN_ERR_IO, "second");
    assert_string_equal(tn_ctx_message(ctx), "second");
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    tnp_fail(ctx, TN_ERR_IO, "%s", longer); /* cut, never beyond its room */
    size_t kept = strlen(tn_ctx_message(ctx));
    assert_true(kept >= 255 && kept < sizeof longer - 1);
    assert_memory_equal(tn_ctx_message(ctx), longer, kept);
    ctx_done(ctx);
}

/* Messages and settings of two contexts never mix. */
static void test_two_contexts(void **state)
{
    (void)state;
    tn_ctx *a = ctx_of(1), *b = ctx_of(3);
    tnp_fail(a, TN_ERR_ARG, "of a");
    assert_string_equal(tn_ctx_message(b), "");
    tn_ctx_cancel(b);
    assert_int_equal(tnp_cancelled(a), TN_OK);
    assert_int_equal(tn_ctx_threads(a), 1);
    assert_int_equal(tn_ctx_threads(b), 3);
    ctx_done(a);
    ctx_done(b);
}

static void test_threads_setting(void **state)
{
    (void)state;
    tn_ctx *ctx = NULL;
    tn_machine machine;
    tn_machine_look(&machine);
    assert_int_equal(tn_ctx_new(&ctx), TN_OK);
    assert_true(machine.cores >= 1);
    assert_int_equal(tn_ctx_threads(ctx), machine.cores);
    tn_ctx_set_threads(ctx, 5);
    assert_int_equal(tn_ctx_threads(ctx), 5);
    tn_ctx_set_threads(ctx, 0);
    assert_int_equal(tn_ctx_threads(ctx), machine.cores);
    tn_ctx_free(ctx);
    tn_ctx_free(NULL);
}

typedef struct call_log {
    size_t calls;
    double share;
    const char *stage;
    tn_ctx *cancel_in; /* cancelled at the call number `at` */
    size_t at;
} call_log;

static void note(void *user, const char *stage, double share)
{
    call_log *log = user;
    ++log->calls;
    log->stage = stage;
    log->share = share;
    if (log->cancel_in && log->calls == log->at)
        tn_ctx_cancel(log->cancel_in);
}

static void test_progress_and_cancel(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    call_log log = {0};
    assert_int_equal(tnp_progress(ctx, "quiet", 1, 2), TN_OK);
    tn_ctx_set_progress(ctx, note, &log);
    assert_int_equal(tnp_progress(ctx, "reading", 3, 9), TN_OK);
    assert_true(log.calls == 1 && log.share > 0 && log.share < 1);
    assert_string_equal(log.stage, "reading");
    assert_int_equal(tnp_cancelled(ctx), TN_OK);
    tn_ctx_cancel(ctx);
    assert_fails(ctx, TN_ERR_INTERRUPTED, "interrupted", tnp_cancelled(ctx));
    assert_fails(ctx, TN_ERR_INTERRUPTED, "interrupted", tnp_progress(ctx, "reading", 4, 9));
    ctx_done(ctx);
}

static void keep_text(void *user, const char *text)
{
    snprintf(user, 100, "%s", text);
}

/* Warnings go to their callback only: no failure is forgotten for them, and without one nothing happens. */
static void test_warnings(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char told[100] = "";
    tnp_fail(ctx, TN_ERR_IO, "before");
    tnp_warn(ctx, "nobody hears of %d", 1);
    tn_ctx_set_warning(ctx, keep_text, told);
    tnp_warn(ctx, "%s: %zu of %d classes have one row", "y.npy", (size_t)3, 5);
    assert_string_equal(told, "y.npy: 3 of 5 classes have one row");
    assert_string_equal(tn_ctx_message(ctx), "before");
    tn_ctx_set_warning(ctx, NULL, NULL);
    tnp_warn(ctx, "nor of this");
    assert_string_equal(told, "y.npy: 3 of 5 classes have one row");
    ctx_done(ctx);
}

/* Cancelled from its own progress callback, the long computation stops, leaks nothing and leaves its output alone; the
 * matrix that it would have taken over stays the caller's. */
static void test_cancelled_work(void **state)
{
    (void)state;
    for (size_t at = 1; at <= 2; ++at) {
        tn_ctx *ctx = ctx_of(1);
        ref_problem p = ref_problem_of(REF_SIGNED, 20, 6, 2, 1);
        call_log log = {.cancel_in = ctx, .at = at};
        double *a = NULL, rhs[12], yy[2];
        tnp_spectrum *s = NULL;
        assert_fine(ctx, tnp_alloc(ctx, 36, sizeof *a, &a));
        ref_moments(&p, false, false, a, rhs, yy);
        tn_ctx_set_progress(ctx, note, &log);
        assert_fails(ctx, TN_ERR_INTERRUPTED, "interrupted", tnp_spectrum_new(ctx, false, 6, 2, 20, a, rhs, yy, &s));
        assert_null(s);
        assert_int_equal(tnp_live_blocks(ctx), 1);
        tnp_free(a);
        ref_problem_free(&p);
        ctx_done(ctx);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(tn_status_name(TN_OK), "TN_OK");
    assert_string_equal(tn_status_name(TN_ERR_ARG), "TN_ERR_ARG");
    assert_string_equal(tn_status_name(TN_ERR_FORMAT), "TN_ERR_FORMAT");
    assert_string_equal(tn_status_name(TN_ERR_OUTPUT), "TN_ERR_OUTPUT");
    assert_string_equal(tn_status_name(TN_ERR_DATA), "TN_ERR_DATA");
    assert_non_null(strstr(tn_status_name((tn_status)99), "unknown"));
    assert_true(tn_version()[0] >= '0' && tn_version()[0] <= '9' && strchr(tn_version(), '.'));
    double before = tnp_seconds();
    assert_true(tnp_seconds() >= before);
}

static void test_machine(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    tn_machine m;
    double speed = -1;
    tn_machine_look(&m);
    assert_true(m.memory_total >= m.memory_available && m.memory_available > 0);
    assert_true(strcmp(m.simd, "scalar") == 0 || strcmp(m.simd, "avx2") == 0 || strcmp(m.simd, "avx512") == 0);
    assert_non_null(strstr(m.blas, "OpenBLAS"));
    assert_fails(ctx, TN_ERR_ARG, "positive", tn_machine_gemm_speed(ctx, 0, &speed));
    assert_true(speed == -1);
    assert_fine(ctx, tn_machine_gemm_speed(ctx, 128, &speed));
    assert_true(speed > 0 && speed < 1e6);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),        cmocka_unit_test(test_two_contexts),
        cmocka_unit_test(test_threads_setting), cmocka_unit_test(test_progress_and_cancel),
        cmocka_unit_test(test_cancelled_work),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_machine),         cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
