/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checked allocation: alignment, zeroes, counts, budget, overflow; and the promise of the whole numerical core that any
 * allocation may fail without a leak and without a touched output. */
#include "matrix/moments.h"
#include "ref_dense.h"
#include "select/evidence.h"
#include "spectrum_of.h"

#include <stdlib.h>

static void test_zeroed_and_aligned(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t count = 0; count < 300; count = count * 2 + 1) {
        unsigned char *a = NULL;
        assert_fine(ctx, tnp_alloc(ctx, count, 3, &a));
        assert_non_null(a);
        assert_int_equal((uintptr_t)a % 64, 0);
        for (size_t i = 0; i < count * 3; ++i)
            assert_int_equal(a[i], 0);
        memset(a, 0xee, count * 3);
        assert_int_equal(tn_ctx_memory_now(ctx), count * 3);
        tnp_free(a);
    }
    tnp_free(NULL);
    ctx_done(ctx);
}

static void test_counts(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char *a = NULL, *b = NULL;
    assert_fine(ctx, tnp_alloc(ctx, 1000, 1, &a));
    assert_fine(ctx, tnp_alloc_raw(ctx, 500, 4, &b));
    assert_int_equal(tn_ctx_memory_now(ctx), 3000);
    assert_int_equal(tnp_live_blocks(ctx), 2);
    tnp_free(b);
    assert_int_equal(tn_ctx_memory_now(ctx), 1000);
    assert_int_equal(tn_ctx_memory_peak(ctx), 3000);
    tnp_free(a);
    assert_int_equal(tn_ctx_memory_now(ctx), 0);
    assert_int_equal(tn_ctx_memory_peak(ctx), 3000);
    ctx_done(ctx);
}

static void test_grow_and_strings(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    uint32_t *a = NULL;
    assert_fine(ctx, tnp_grow(ctx, &a, 0, 4, sizeof *a));
    for (uint32_t i = 0; i < 4; ++i)
        a[i] = i + 7;
    assert_fine(ctx, tnp_grow(ctx, &a, 4, 100, sizeof *a));
    for (uint32_t i = 0; i < 100; ++i)
        assert_int_equal(a[i], i < 4 ? i + 7 : 0);
    uint32_t *before = a;
    tnp_fail_allocation(ctx, 1);
    assert_fails(ctx, TN_ERR_MEMORY, "memory", tnp_grow(ctx, &a, 100, 200, sizeof *a));
    assert_true(a == before && a[3] == 10);
    tnp_free(a);
    char *text = NULL;
    assert_fine(ctx, tnp_strdup(ctx, "greenfinch", &text));
    assert_string_equal(text, "greenfinch");
    tnp_free(text);
    assert_fine(ctx, tnp_strndup(ctx, "greenfinch", 5, &text));
    assert_string_equal(text, "green");
    tnp_free(text);
    ctx_done(ctx);
}

/* Products that wrap round, and a size to which the header cannot be added. */
static void test_overflow(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char marker = 0, *out = &marker;
    size_t product = 5;
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tnp_alloc(ctx, SIZE_MAX / 2, 3, &out));
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tnp_alloc_raw(ctx, (size_t)1 << 33, (size_t)1 << 33, &out));
    assert_fails(ctx, TN_ERR_MEMORY, "memory", tnp_alloc_raw(ctx, SIZE_MAX, 1, &out));
    assert_ptr_equal(out, &marker);
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tnp_mul(ctx, SIZE_MAX, 2, &product));
    assert_int_equal(product, 5);
    assert_fine(ctx, tnp_mul(ctx, SIZE_MAX, 1, &product));
    assert_true(product == SIZE_MAX);
    assert_fine(ctx, tnp_mul(ctx, SIZE_MAX, 0, &product));
    assert_int_equal(product, 0);
    assert_int_equal(tn_ctx_memory_now(ctx), 0);
    ctx_done(ctx);
}

/* Exact to the byte; freed memory can be used again; a budget below what is in use refuses, and does not wrap. */
static void test_budget(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char *a = NULL, *b = NULL;
    tn_ctx_set_memory(ctx, 3 << 20);
    assert_fine(ctx, tnp_alloc(ctx, 2 << 20, 1, &a));
    assert_fine(ctx, tnp_alloc(ctx, 1 << 20, 1, &b));
    tnp_free(b);
    b = NULL;
    assert_fails(ctx, TN_ERR_BUDGET, "needs 3.0 MB of memory, the budget is 3.0 MB",
                 tnp_alloc(ctx, (1 << 20) + 1, 1, &b));
    assert_null(b);
    assert_fine(ctx, tnp_need(ctx, 1 << 20, "evidence"));
    assert_fails(ctx, TN_ERR_BUDGET, "evidence: needs 5.0 MB", tnp_need(ctx, 3 << 20, "evidence"));
    assert_fails(ctx, TN_ERR_BUDGET, "evidence", tnp_need(ctx, SIZE_MAX, "evidence"));
    tn_ctx_set_memory(ctx, 1 << 20);
    assert_fails(ctx, TN_ERR_BUDGET, "memory", tnp_alloc(ctx, 1, 1, &b));
    tn_ctx_set_memory(ctx, 0);
    assert_fine(ctx, tnp_alloc(ctx, 1, 1, &b));
    tnp_free(a);
    tnp_free(b);
    ctx_done(ctx);
}

static void test_countdown(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char *a[4] = {NULL};
    tnp_fail_allocation(ctx, 3);
    assert_fine(ctx, tnp_alloc(ctx, 8, 1, &a[0]));
    assert_fine(ctx, tnp_alloc(ctx, 8, 1, &a[1]));
    assert_fails(ctx, TN_ERR_MEMORY, "refused", tnp_alloc(ctx, 8, 1, &a[2]));
    assert_null(a[2]);
    assert_fine(ctx, tnp_alloc(ctx, 8, 1, &a[3]));
    for (size_t i = 0; i < 4; ++i)
        tnp_free(a[i]);
    ctx_done(ctx);
}

/* ---- the k-th failure of each constructor ---- */

typedef struct inputs {
    ref_problem p;
    tnp_spectrum *s;
} inputs;

typedef tn_status maker(tn_ctx *ctx, const inputs *in, void **out);

static tn_status make_spectrum(tn_ctx *ctx, const inputs *in, void **out)
{
    tn_status st = TN_OK;
    size_t d = in->p.d, k = in->p.k;
    double *a = NULL, *rhs = NULL, yy[8] = {0};
    tnp_spectrum *s = NULL;
    TN_TRY(tnp_alloc(ctx, d * d, sizeof *a, &a));
    TN_TRY(tnp_alloc(ctx, d * k, sizeof *rhs, &rhs));
    ref_moments(&in->p, false, true, a, rhs, yy);
    TN_TRY(tnp_spectrum_new(ctx, false, d, k, (double)in->p.n - 1, a, rhs, yy, &s));
    a = NULL;
    *out = s;
done:
    tnp_free(a);
    tnp_free(rhs);
    return st;
}

static tn_status make_evidence(tn_ctx *ctx, const inputs *in, void **out)
{
    bool constant[8] = {false};
    tnp_evidence_options opt;
    tn_evidence *e = NULL;
    tnp_evidence_options_default(&opt);
    tn_status st = tnp_evidence_new(ctx, in->s, in->p.n, in->p.d, constant, &opt, &e);
    if (st == TN_OK)
        *out = e;
    else
        assert_null(e);
    return st;
}

static tn_status make_stats(tn_ctx *ctx, const inputs *in, void **out)
{
    tnp_moments *s = NULL;
    tn_status st = tnp_moments_new(ctx, in->p.d, in->p.k, false, &s);
    if (st == TN_OK)
        *out = s;
    else
        assert_null(s);
    return st;
}

static tn_status make_lambda(tn_ctx *ctx, const inputs *in, void **out)
{
    bool constant[8] = {false};
    double lambda = -1;
    tn_status st = tnp_gcv_lambda(ctx, in->s, in->p.n, true, constant, &lambda);
    if (st == TN_OK)
        *out = NULL;
    else
        assert_true(lambda == -1);
    return st;
}

/* Runs `make` with the 1st, 2nd, ... allocation failing until it succeeds; returns how many failed. */
static size_t every_failure(tn_ctx *ctx, const inputs *in, maker *make, void **out)
{
    size_t live = tnp_live_blocks(ctx), bytes = tn_ctx_memory_now(ctx), k = 1;
    for (;; ++k) {
        int marker = 0;
        *out = &marker;
        tnp_fail_allocation(ctx, k);
        tn_status st = make(ctx, in, out);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK)
            return k - 1;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_ptr_equal(*out, &marker);
        assert_int_equal(tnp_live_blocks(ctx), live);
        assert_int_equal(tn_ctx_memory_now(ctx), bytes);
        assert_true(strlen(tn_ctx_message(ctx)) > 0);
    }
}

static void test_every_failure(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    inputs in = {ref_problem_of(REF_SIGNED, 30, 7, 3, 1), NULL};
    void *out = NULL;
    assert_true(every_failure(ctx, &in, make_spectrum, &out) >= 9);
    in.s = out;
    assert_true(every_failure(ctx, &in, make_evidence, &out) >= 12);
    tn_evidence_free(out);
    assert_true(every_failure(ctx, &in, make_stats, &out) >= 9);
    tn_moments_free(out);
    assert_true(every_failure(ctx, &in, make_lambda, &out) >= 2);
    tnp_spectrum_free(in.s);
    ref_problem_free(&in.p);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_and_aligned),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_grow_and_strings),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_countdown),
        cmocka_unit_test(test_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
