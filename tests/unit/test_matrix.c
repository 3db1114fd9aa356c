/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Owned matrices. */
#include "ctx_of.h"
#include "tenon/matrix.h"

static void matrix_is_zeroed_and_compact(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_mat *mat = NULL;
    assert_fine(ctx, tn_mat_new(ctx, 3, 5, &mat));
    tn_view view = tn_mat_view(mat);
    assert_ptr_equal(view.data, mat->data);
    assert_int_equal(view.rows, 3);
    assert_int_equal(view.cols, 5);
    assert_int_equal(view.stride, 5);
    for (size_t i = 0; i < 15; ++i)
        assert_true(view.data[i] == 0);
    tn_mat_free(mat);
    tn_mat_free(NULL);
    ctx_done(ctx);
}

static void matrix_without_elements_is_legal(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_mat *mat = NULL;
    assert_fine(ctx, tn_mat_new(ctx, 0, 5, &mat));
    assert_int_equal(tn_mat_view(mat).rows, 0);
    tn_mat_free(mat);
    tn_ctx_free(ctx);
}

static void matrix_size_overflow_is_refused(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_mat *mat = NULL;
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tn_mat_new(ctx, SIZE_MAX / 2, 3, &mat));
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tn_mat_new(ctx, SIZE_MAX / 3, 1, &mat));
    tn_ctx_set_memory(ctx, 1000);
    assert_fails(ctx, TN_ERR_BUDGET, "budget", tn_mat_new(ctx, 100, 100, &mat));
    assert_null(mat);
    ctx_done(ctx);
}

static void matrix_survives_failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_mat *mat = NULL;
    size_t k = 1;
    for (;; ++k) {
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_mat_new(ctx, 2, 2, &mat);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(mat);
        assert_int_equal(tnp_live_blocks(ctx), 0);
    }
    assert_int_equal(k, 3);
    tnp_fail_allocation(ctx, 0);
    tn_mat_free(mat);
    tn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_is_zeroed_and_compact),
        cmocka_unit_test(matrix_without_elements_is_legal),
        cmocka_unit_test(matrix_size_overflow_is_refused),
        cmocka_unit_test(matrix_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
