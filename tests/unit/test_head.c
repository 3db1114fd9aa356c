/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The head object: what goes in comes out, nothing is shared with the caller, nothing leaks. */
#include "learn/head/head.h"
#include "ctx_of.h"

static const char *const names[] = {"cat", "dog", ""};

static tn_head *make(tn_ctx *ctx)
{
    tn_head *h = NULL;
    assert_fine(ctx, tnp_head_new(ctx, TN_TASK_MULTILABEL, names, 3, 5, 2, "evidence", &h));
    return h;
}

static void a_new_head_is_empty(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_head *h = make(ctx);
    assert_int_equal(tn_head_task(h), TN_TASK_MULTILABEL);
    assert_int_equal(tn_head_classes(h), 3);
    assert_int_equal(tn_head_dim(h), 5);
    assert_int_equal(tn_head_rep_count(h), 2);
    assert_string_equal(tn_head_method(h), "evidence");
    assert_string_equal(tn_head_options(h), "{}");
    assert_string_equal(tn_head_created_by(h), "");
    assert_true(tn_head_threshold(h) == 0.5);
    assert_null(tn_head_lambda(h));
    assert_null(tn_head_alpha(h));
    assert_null(tn_head_beta(h));
    for (size_t i = 0; i < 15; ++i)
        assert_true(tn_head_weight(h)[i] == 0);
    for (size_t k = 0; k < 3; ++k) {
        assert_true(tn_head_bias(h)[k] == 0);
        assert_string_equal(tn_head_class_names(h)[k], names[k]);
        assert_ptr_not_equal(tn_head_class_names(h)[k], names[k]);
    }
    tn_head_free(h);
    tn_head_free(NULL);
    ctx_done(ctx);
}

static void room_for_ridge_and_zscores(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_head *h = make(ctx);
    assert_fine(ctx, tnp_head_add_ridge(ctx, h));
    assert_fine(ctx, tnp_head_add_zscore(ctx, h));
    for (size_t k = 0; k < 3; ++k) {
        h->lambda[k] = (double)k;
        h->alpha[k] = 10 + (double)k;
        h->beta[k] = 20 + (double)k;
    }
    assert_true(tn_head_lambda(h)[2] == 2 && tn_head_alpha(h)[2] == 12 && tn_head_beta(h)[2] == 22);
    for (size_t j = 0; j < 5; ++j)
        assert_true(h->means[j] == 0 && h->scales[j] == 1);
    assert_fine(ctx, tnp_strdup(ctx, "vgg", &h->reps[1].name));
    h->reps[1].dim = 4;
    h->reps[1].normalize = TN_NORM_ROOT;
    tn_rep rep = tn_head_rep(h, 1);
    assert_string_equal(rep.name, "vgg");
    assert_int_equal(rep.dim, 4);
    assert_int_equal(rep.normalize, TN_NORM_ROOT);
    tn_head_free(h);
    ctx_done(ctx);
}

static void sizes_that_overflow(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_head *h = NULL;
    assert_fails(ctx, TN_ERR_MEMORY, "", tnp_head_new(ctx, TN_TASK_MULTICLASS, names, 3, SIZE_MAX / 2, 1, "x", &h));
    assert_fails(ctx, TN_ERR_MEMORY, "", tnp_head_new(ctx, TN_TASK_MULTICLASS, names, 3, SIZE_MAX / 8, 1, "x", &h));
    assert_null(h);
    tn_ctx_set_memory(ctx, 1 << 20);
    assert_fails(ctx, TN_ERR_BUDGET, "", tnp_head_new(ctx, TN_TASK_MULTICLASS, names, 3, 1 << 20, 1, "x", &h));
    assert_null(h);
    ctx_done(ctx);
}

/* Whichever method made it. */
static void a_head_with_a_number_that_is_none_is_refused(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_head *h = NULL;
    assert_fine(ctx, tnp_head_new(ctx, TN_TASK_MULTICLASS, names, 3, 5, 1, "x", &h));
    h->threshold = 0;
    assert_fine(ctx, tnp_head_check(ctx, h));
    float *number[] = {&h->weight[2 * 5 + 4], &h->bias[2]}, bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 2; ++i)
        for (size_t j = 0; j < 3; ++j) {
            *number[i] = bad[j];
            assert_fails(ctx, TN_ERR_NUMERIC, names[2], tnp_head_check(ctx, h));
            *number[i] = 0;
        }
    h->temperature = (double)NAN;
    assert_fails(ctx, TN_ERR_NUMERIC, "temperature", tnp_head_check(ctx, h));
    h->temperature = 0;
    h->threshold = (double)INFINITY;
    assert_fails(ctx, TN_ERR_NUMERIC, "threshold", tnp_head_check(ctx, h));
    tn_head_free(h);
    tn_ctx_free(ctx);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    size_t k = 1;
    for (;; ++k) {
        tn_head *h = NULL;
        tnp_fail_allocation(ctx, k);
        tn_status st = tnp_head_new(ctx, TN_TASK_MULTICLASS, names, 3, 5, 2, "evidence", &h);
        assert_true(st == TN_OK || h == NULL);
        if (st == TN_OK)
            st = tnp_head_add_ridge(ctx, h);
        if (st == TN_OK)
            st = tnp_head_add_zscore(ctx, h);
        tnp_fail_allocation(ctx, 0);
        tn_head_free(h);
        assert_int_equal(tnp_live_blocks(ctx), 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_int_equal(k, 5 + 3 + 1 + 3 + 2 + 1); /* struct and arrays, names, method, ridge, z-scores, then none */
    tn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_head_is_empty),       cmocka_unit_test(room_for_ridge_and_zscores),
        cmocka_unit_test(sizes_that_overflow),       cmocka_unit_test(a_head_with_a_number_that_is_none_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
