/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_cv when something goes wrong within a fold: no memory, an interrupt at any moment, a small budget; nothing is left
 * behind. And that the number of threads changes no figure. */
#include "scene_of.h"
#include "evaluate/cv_result.h"
#include "interrupt.h"

static void *const untouched = (void *)test_folder;

static tnp_cv_options options_of(int method, int against)
{
    tnp_cv_options o;
    tnp_cv_options_default(&o);
    o.fit.method = method;
    o.against = against;
    o.folds = 3;
    o.scores = true;
    o.fit.online.epochs = 2;
    return o;
}

static tn_status cv(const scene *s, const tnp_cv_options *o, tn_cv_result **out)
{
    return tnp_cv(test_ctx, (const tn_features *const *)s->features, REPS, s->labels, o, out);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const tn_task tasks[] = {TN_TASK_MULTICLASS, TN_TASK_MULTILABEL, TN_TASK_REGRESSION};
    double group[18 * 6] = {0};
    for (size_t i = 0; i < 18; ++i)
        group[i * 6 + i % 6] = 1;
    tn_labels *groups = labels_of(group, 18, 6, TN_TASK_MULTICLASS);
    tn_ctx_set_threads(test_ctx, 1);
    for (size_t t = 0; t < 3; ++t) {
        scene s = scene_of(18, 3, 2, tasks[t], AS_F32);
        tnp_cv_options o = options_of(TNP_METHOD_EVIDENCE, 0);
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        o.groups = t == 0 ? groups : NULL;
        o.fit.rank.nan = TN_NAN_DROP;
        o.fit.rank.loo = 0;
        for (tn_status st = TN_ERR_MEMORY; st != TN_OK; k += t == 0 ? 2 : 7) {
            tn_cv_result *r = untouched;
            tnp_fail_allocation(test_ctx, k);
            st = cv(&s, &o, &r);
            tnp_fail_allocation(test_ctx, 0);
            if (st == TN_OK) {
                tn_cv_free(r);
                break;
            }
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_ptr_equal(r, untouched);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(k > 100);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        scene_free(&s);
    }
    labels_done(groups);
    tn_ctx_set_threads(test_ctx, 0);
}

/* Cancelled at the n-th progress call; and what was begun within the call is over: the next one starts from 0. */
static void an_interrupt_at_any_moment(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 3, TN_TASK_MULTICLASS, AS_F32);
    tn_ctx *usual = test_ctx;
    size_t n = 1;
    for (bool stopped = true; stopped; n += 7) {
        interrupt i = {NULL, 0, n};
        tnp_cv_options o = options_of(TNP_METHOD_EVIDENCE, 1 + TNP_METHOD_PA);
        tn_cv_result *r = untouched;
        i.ctx = ctx_of(0);
        tn_ctx_set_progress(i.ctx, cancel_at, &i);
        test_ctx = i.ctx;
        tn_status st = cv(&s, &o, &r);
        stopped = i.calls >= n;
        if (stopped) {
            assert_int_equal(st, TN_ERR_INTERRUPTED);
            assert_int_equal(i.calls, n);
            assert_ptr_equal(r, untouched);
            tn_ctx_reset(i.ctx);
            tnp_share whole = tnp_progress_begin(i.ctx);
            assert_true(whole.from == 0 && whole.to == 1);
        } else {
            assert_int_equal(st, TN_OK);
            tn_cv_free(r);
        }
        test_ctx = usual;
        ctx_done(i.ctx);
    }
    assert_true(n > 50);
    scene_free(&s);
}

static void a_small_budget(void **state)
{
    (void)state;
    scene s = scene_of(300, 60, 50, TN_TASK_MULTICLASS, AS_F32);
    tnp_cv_options o = options_of(TNP_METHOD_EVIDENCE, 0);
    size_t refused = 0, blocks = tnp_live_blocks(test_ctx);
    for (size_t spare = 1 << 10; spare < (size_t)64 << 20; spare *= 4) {
        tn_cv_result *r = NULL;
        tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + spare);
        tn_status st = cv(&s, &o, &r);
        tn_ctx_set_memory(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_BUDGET);
        refused += st != TN_OK;
        tn_cv_free(r);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(refused > 2 && refused < 8);
    scene_free(&s);
}

/* Memory is that of one fit and the scores, however many folds and repeats. */
static void more_folds_need_no_more_memory(void **state)
{
    (void)state;
    scene s = scene_of(400, 30, 20, TN_TASK_MULTICLASS, AS_F32);
    size_t peak[2];
    for (size_t i = 0; i < 2; ++i) {
        tn_ctx *usual = test_ctx;
        tnp_cv_options o = options_of(TNP_METHOD_EVIDENCE, 0);
        tn_cv_result *r = NULL;
        test_ctx = ctx_of(1);
        o.folds = i ? 20 : 4;
        assert_fine(test_ctx, cv(&s, &o, &r));
        peak[i] = tn_ctx_memory_peak(test_ctx);
        tn_cv_free(r);
        ctx_done(test_ctx);
        test_ctx = usual;
    }
    /* A training set of 19/20 instead of 3/4 of the rows: a quarter more of whatever goes by rows. */
    assert_true((double)peak[1] < 1.27 * (double)peak[0]);
    scene_free(&s);
}

/* The same folds, choices and shares of right decisions; log-likelihoods as close as fits are. */
static void threads_change_nothing(void **state)
{
    (void)state;
    const size_t threads[] = {1, 2, 3, 7};
    scene s = scene_of(300, 20, 30, TN_TASK_MULTICLASS, AS_F32);
    tn_cv_result *first = NULL;
    for (size_t t = 0; t < 4; ++t) {
        tnp_cv_options o = options_of(TNP_METHOD_EVIDENCE, 1 + TNP_METHOD_SCW);
        tn_cv_result *r = NULL;
        o.fit.rank.loo = 100;
        tn_ctx_set_threads(test_ctx, threads[t]);
        assert_fine(test_ctx, cv(&s, &o, &r));
        if (t == 0) {
            first = r;
            continue;
        }
        for (size_t m = 0; m < 2; ++m)
            for (size_t j = 0; j < 3; ++j) {
                assert_string_equal(tn_cv_selected(r, m, j), tn_cv_selected(first, m, j));
                for (size_t i = 0; i < TNP_CV_METRICS; ++i)
                    if (tnp_cv_exists(first, i) && !isnan(tnp_cv_values(first, m, i)[j]))
                        assert_near_at(i, tnp_cv_values(r, m, i)[j], tnp_cv_values(first, m, i)[j], 1e-6);
            }
        assert_memory_equal(tn_cv_fold_of(r, 0), tn_cv_fold_of(first, 0), 300 * sizeof(uint32_t));
        tn_cv_free(r);
    }
    tn_cv_free(first);
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_interrupt_at_any_moment),
        cmocka_unit_test(a_small_budget),
        cmocka_unit_test(more_folds_need_no_more_memory),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
