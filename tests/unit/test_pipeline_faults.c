/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_rank and tn_fit when something is wrong: arguments without sense, no memory, an interrupt at any moment; outputs
 * stay untouched and nothing is left behind. And that the number of threads changes no choice. */
#include "scene_of.h"
#include "learn/head/head.h"
#include "interrupt.h"
#include "options_of.h"

static void *const untouched = (void *)test_folder;

static void fit_fails(const scene *s, const tnp_fit_options *opt, tn_status status, const char *part)
{
    tn_fit_info *info = untouched;
    tn_head *head = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, fit(s, opt, &info, &head));
    assert_ptr_equal(info, untouched);
    assert_ptr_equal(head, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void rank_fails(const scene *s, const tnp_rank_options *opt, tn_status status, const char *part)
{
    tn_ranking *r = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, rank(s, opt, &r));
    assert_ptr_equal(r, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void arguments_without_sense(void **state)
{
    (void)state;
    static const char *const bad_normalize[] = {"", "l5", "l2,", "l2,l2"};
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tnp_fit_options opt;
    tn_ranking *r = NULL;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    opt.lambda = (tnp_real_or_word){TNP_LAMBDA_FIXED, 0};
    fit_fails(&s, &opt, TN_ERR_ARG, "option lambda");
    opt.lambda.word = TNP_LAMBDA_FIXED + 1;
    fit_fails(&s, &opt, TN_ERR_ARG, "option lambda");
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    for (size_t i = 0; i < sizeof bad_normalize / sizeof *bad_normalize; ++i) {
        opt.rank.normalize = bad_normalize[i];
        rank_fails(&s, &opt.rank, TN_ERR_ARG, "normalize");
    }
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    assert_fails(test_ctx, TN_ERR_ARG, "at least one", tnp_rank(test_ctx, NULL, 0, s.labels, &opt.rank, &r));
    opt.lambda = lambda_of("loo");
    opt.rank.loo = 0;
    fit_fails(&s, &opt, TN_ERR_ARG, "option loo is 0");
    scene_free(&s);
}

static void legal_loo_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {"0", "1", "7", "20", "1000000", "all"};
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    double all = 0;
    for (size_t i = 6; i-- > 0;) {
        tnp_rank_options opt;
        tn_ranking *r = NULL;
        tnp_rank_options_default(&opt);
        opt.loo = loo_of(texts[i]);
        assert_fine(test_ctx, rank(&s, &opt, &r));
        assert_int_equal(isnan(r->candidates[0]->loo_accuracy) != 0, i == 0);
        if (i == 5)
            all = r->candidates[0]->loo_accuracy;
        else if (i >= 3) /* more rows than there are: all of them */
            assert_near(r->candidates[0]->loo_accuracy, all, 1e-12);
        tn_ranking_free(r);
    }
    scene_free(&s);
}

/* Representations are found by name when the head is applied: two of one name could not be told apart. */
static void two_representations_of_one_name(void **state)
{
    (void)state;
    scene s = scene_of(20, 4, 4, TN_TASK_MULTICLASS, AS_F32);
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_features_close(s.features[1]);
    s.features[1] = array_of("a", s.x[1], 20, 4, AS_F32);
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    opt.select = TNP_SEARCH_ALL;
    tn_status st = fit(&s, &opt, &info, &head);
    tn_fit_info_free(info);
    tn_head_free(head);
    scene_free(&s);
    assert_int_equal(st, TN_ERR_ARG);
}

static void labels_among_the_representations(void **state)
{
    (void)state;
    scene s = scene_of(20, 4, 4, TN_TASK_MULTICLASS, AS_F32);
    char *before = s.labels->path;
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    /* A name is no path: an array may be called as the file of the labels is. */
    s.labels->path = (char *)(uintptr_t)tn_features_name(s.features[1]);
    tn_status named = fit(&s, &opt, &info, &head);
    tn_fit_info_free(info);
    tn_head_free(head);
    tn_features_close(s.features[1]);
    s.features[1] = open_features(write_matrix("b.npy", s.x[1], 20, 4, AS_F32));
    s.labels->path = (char *)(uintptr_t)tn_features_path(s.features[1]);
    tn_status st = fit(&s, &opt, &info, &head);
    s.labels->path = before;
    scene_free(&s);
    assert_int_equal(named, TN_OK);
    assert_int_equal(st, TN_ERR_ARG);
    assert_non_null(strstr(tn_ctx_message(test_ctx), "holds the labels"));
}

static void data_without_sense(void **state)
{
    (void)state;
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    for (size_t i = 0; i < 20; ++i)
        s.labels->cls[i] = 2;
    fit_fails(&s, &opt, TN_ERR_DATA, "one class only ('class2')");
    for (size_t i = 0; i < 20; ++i)
        s.labels->known[i] = false;
    rank_fails(&s, &opt.rank, TN_ERR_DATA, "no labelled rows");
    scene_free(&s);
    s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    s.x[1][7 * 5 + 2] = NAN;
    tn_features_close(s.features[1]);
    s.features[1] = array_of("b", s.x[1], 20, 5, AS_F32);
    fit_fails(&s, &opt, TN_ERR_DATA, "b: row 7");
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    opt.rank.nan = TN_NAN_DROP;
    assert_fine(test_ctx, fit(&s, &opt, &info, &head));
    assert_int_equal(info->ranking->rows, 19);
    assert_int_equal(info->ranking->rows_left_out, 1);
    tn_fit_info_free(info);
    tn_head_free(head);
    scene_free(&s);
}

/* The same choices, and the same numbers to `tolerance`. */
static void expect_the_same(const tn_fit_info *a, const tn_fit_info *b, double tolerance)
{
    assert_int_equal(a->selected_count, b->selected_count);
    for (size_t m = 0; m < a->selected_count; ++m)
        assert_string_equal(a->selected[m], b->selected[m]);
    assert_int_equal(a->step_count, b->step_count);
    for (size_t i = 0; i < a->step_count; ++i) {
        assert_string_equal(a->steps[i].candidate, b->steps[i].candidate);
        assert_int_equal(a->steps[i].accepted, b->steps[i].accepted);
        assert_near_at(i, a->steps[i].log_evidence, b->steps[i].log_evidence, tolerance);
    }
    for (size_t i = 0; i < a->ranking->count; ++i) {
        const tn_candidate *m = a->ranking->candidates[i], *n = b->ranking->candidates[i];
        assert_string_equal(m->name, n->name);
        assert_near_at(i, m->log_evidence, n->log_evidence, tolerance);
        assert_near_at(i, m->log_evidence_shared, n->log_evidence_shared, tolerance);
        assert_near_at(i, m->loo_accuracy, n->loo_accuracy, 1e-10);
        assert_int_equal(m->iterations_max, n->iterations_max);
    }
}

/* Any number of threads: the same to 1e-10 from double features. Products of float ones round as the BLAS cuts them,
 * which some of its kernels do by threads: the same to 1e-6, by which they are promised to be right (docs/math.md
 * 1.4). */
static void threads_change_nothing(void **state)
{
    (void)state;
    const size_t threads[] = {1, 2, 3, 7}, shapes[][3] = {{1200, 40, 70}, {60, 200, 30}};
    for (size_t z = 0; z < 4; ++z) {
        bool wide = z % 2 == 1;
        const size_t *shape = shapes[z / 2];
        scene s = scene_of(shape[0], shape[1], shape[2], TN_TASK_MULTICLASS, wide ? AS_F64 : AS_F32);
        tn_fit_info *first = NULL;
        tn_head *head_first = NULL;
        for (size_t t = 0; t < 4; ++t) {
            tnp_fit_options opt;
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            tnp_fit_options_default(&opt);
            opt.method = TNP_METHOD_EVIDENCE;
            opt.rank.normalize = "l2,root";
            opt.rank.loo = 200;
            tn_ctx_set_threads(test_ctx, threads[t]);
            assert_fine(test_ctx, fit(&s, &opt, &info, &head));
            if (t == 0) {
                first = info;
                head_first = head;
                continue;
            }
            expect_the_same(info, first, wide ? 1e-10 : 1e-6);
            for (size_t i = 0; i < K * tn_head_dim(head); ++i)
                assert_near_at(i, tn_head_weight(head)[i], tn_head_weight(head_first)[i], 1e-6);
            tn_fit_info_free(info);
            tn_head_free(head);
        }
        tn_fit_info_free(first);
        tn_head_free(head_first);
        scene_free(&s);
    }
    tn_ctx_set_threads(test_ctx, 0);
}

/* With the k-th allocation failing, for every k until it succeeds. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{20, 4, 5}, {9, 12, 5}};
    static const char *const lambdas[] = {"auto", "loo", "gcv"};
    tn_ctx_set_threads(test_ctx, 1);
    for (size_t z = 0; z < 2; ++z)
        for (int l = 0; l < 3; ++l) {
            scene s = scene_of(shapes[z][0], shapes[z][1], shapes[z][2], TN_TASK_MULTICLASS, AS_F32);
            tnp_fit_options opt;
            size_t blocks = tnp_live_blocks(test_ctx), k = 1;
            tnp_fit_options_default(&opt);
            opt.method = TNP_METHOD_EVIDENCE;
            opt.rank.normalize = "zscore,l2";
            opt.rank.nan = TN_NAN_DROP;
            opt.lambda = lambda_of(lambdas[l]);
            opt.select = z ? TNP_SEARCH_EXHAUSTIVE : TNP_SEARCH_GREEDY;
            for (;; ++k) {
                tn_fit_info *info = untouched;
                tn_head *head = untouched;
                tnp_fail_allocation(test_ctx, k);
                tn_status st = fit(&s, &opt, &info, &head);
                tnp_fail_allocation(test_ctx, 0);
                if (st == TN_OK) {
                    tn_fit_info_free(info);
                    tn_head_free(head);
                    break;
                }
                assert_int_equal(st, TN_ERR_MEMORY);
                assert_ptr_equal(info, untouched);
                assert_ptr_equal(head, untouched);
                assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            }
            assert_true(k > 200);
            for (k = 1; l == 0; ++k) {
                tn_ranking *r = untouched;
                tnp_fail_allocation(test_ctx, k);
                tn_status st = rank(&s, &opt.rank, &r);
                tnp_fail_allocation(test_ctx, 0);
                if (st == TN_OK) {
                    tn_ranking_free(r);
                    break;
                }
                assert_int_equal(st, TN_ERR_MEMORY);
                assert_ptr_equal(r, untouched);
                assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            }
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            scene_free(&s);
        }
    tn_ctx_set_threads(test_ctx, 0);
}

/* Cancelled at the n-th progress call, for every n: the call stops at once, in whatever stage. */
static void an_interrupt_at_any_moment(void **state)
{
    (void)state;
    scene s = scene_of(30, 6, 8, TN_TASK_MULTICLASS, AS_F32);
    tn_ctx *usual = test_ctx;
    size_t n = 1;
    for (bool stopped = true; stopped; ++n) {
        interrupt i = {NULL, 0, n};
        tnp_fit_options opt;
        tn_fit_info *info = untouched;
        tn_head *head = untouched;
        i.ctx = ctx_of(0); /* a cancelled context stays so */
        tn_ctx_set_progress(i.ctx, cancel_at, &i);
        tnp_fit_options_default(&opt);
        opt.method = TNP_METHOD_EVIDENCE;
        opt.rank.normalize = "zscore,root";
        opt.rank.nan = TN_NAN_DROP;
        opt.lambda = lambda_of("loo");
        test_ctx = i.ctx;
        tn_status st = fit(&s, &opt, &info, &head);
        test_ctx = usual;
        stopped = i.calls >= n;
        if (stopped) {
            assert_int_equal(st, TN_ERR_INTERRUPTED);
            assert_int_equal(i.calls, n);
            assert_ptr_equal(info, untouched);
            assert_ptr_equal(head, untouched);
        } else {
            assert_int_equal(st, TN_OK);
            tn_fit_info_free(info);
            tn_head_free(head);
        }
        ctx_done(i.ctx);
    }
    assert_true(n > 20);
    scene_free(&s);
}

/* A budget too small for anything is refused with its figure, and leaves nothing. */
static void a_small_budget(void **state)
{
    (void)state;
    scene s = scene_of(300, 60, 50, TN_TASK_MULTICLASS, AS_F32);
    tnp_fit_options opt;
    size_t refused = 0;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    for (size_t room = 1 << 10; room < (size_t)64 << 20; room *= 2) {
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        size_t blocks = tnp_live_blocks(test_ctx), now = tn_ctx_memory_now(test_ctx);
        tn_ctx_set_memory(test_ctx, now + room);
        tn_status st = fit(&s, &opt, &info, &head);
        tn_ctx_set_memory(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_BUDGET);
        refused += st != TN_OK;
        if (st != TN_OK)
            assert_non_null(strstr(tn_ctx_message(test_ctx), "the budget is"));
        tn_fit_info_free(info);
        tn_head_free(head);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(refused > 4 && refused < 16);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_without_sense),
        cmocka_unit_test(legal_loo_texts),
        cmocka_unit_test(two_representations_of_one_name),
        cmocka_unit_test(labels_among_the_representations),
        cmocka_unit_test(data_without_sense),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_interrupt_at_any_moment),
        cmocka_unit_test(a_small_budget),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
