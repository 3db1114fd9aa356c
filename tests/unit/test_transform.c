/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --transform in rank, against rows that were mapped beforehand by the loops of ref_map.c: a ranking through the map is
 * the ranking of a file of such rows. Heads are test_transform_head.c.
 *
 * Tolerances. Values of chi2, intersection and js come from a table and are within e = 1e-6 of the largest value of
 * their octave (tenon/transform.h); hellinger is a square root, in double files exact to their rounding. A relative
 * error e of all columns is one of 2e in every eigenvalue and in R, and F is a sum of N K halves of logarithms of them:
 * 2e on the scale N K. */
#include "mapped_of.h"
#include "options_of.h"

/* What "b+chi2+root" says: representation, map (-1: none) and normalisation. */
static void parse(const char *name, size_t *rep, int *kind, const char **normalize)
{
    const char *last = strrchr(name, '+'), *middle = strchr(name, '+');
    *rep = name[0] == 'b';
    *kind = -1;
    *normalize = last + 1;
    for (int k = 0; k < KINDS && middle != last; ++k)
        if (strlen(words[k]) == (size_t)(last - middle) - 1 && strncmp(middle + 1, words[k], strlen(words[k])) == 0)
            *kind = k;
    assert_true(middle == last || *kind >= 0);
    assert_true(name[1] == '+');
}

/* ---- rank ---- */

static void check_rank(size_t n, size_t da, size_t db, stored as, bool split)
{
    scene s = scene_of(n, da, db, TN_TASK_MULTICLASS, as);
    double scale = (double)(n * K);
    tnp_rank_options opt;
    tn_ranking *r = NULL;
    tnp_rank_options_default(&opt);
    opt.transform = "none,hellinger,chi2,intersection,js";
    opt.sign = split ? TN_SIGNED_SPLIT : TN_SIGNED_ODD;
    opt.normalize = "l2,root,zscore";
    opt.loo = TNP_ALL;
    assert_fine(test_ctx, rank(&s, &opt, &r));
    assert_int_equal(r->count, 30);
    for (size_t i = 0; i < r->count; ++i) {
        const tn_candidate *c = r->candidates[i];
        size_t rep, width;
        int kind;
        const char *normalize;
        parse(c->name, &rep, &kind, &normalize);
        double *x = mapped(s.x[rep], n, s.cols[rep], kind, split, &width);
        tn_candidate want = rank_file(&s, x, s.cols[rep] * width, normalize);
        double e = as != AS_F64 || kind > 0 ? 2e-6 : 1e-9;
        assert_string_equal(c->transform, kind < 0 ? "none" : words[kind]);
        assert_int_equal(c->dim, s.cols[rep] * width);
        assert_near_at(i, c->log_evidence_shared / scale, want.log_evidence_shared / scale, e);
        assert_near_at(i, c->log_evidence / scale, want.log_evidence / scale, e);
        assert_near_at(i, c->loo_accuracy, want.loo_accuracy, 1e-9);
        for (size_t j = 0; j < i; ++j)
            assert_string_not_equal(c->name, r->candidates[j]->name);
        free(x);
    }
    tn_ranking_free(r);
    scene_free(&s);
}

/* Few rows: mapped columns are many, and the problem is that of the rows. Many rows: that of the columns. */
static void ranking_equals_that_of_rows_mapped_before(void **state)
{
    (void)state;
    check_rank(400, 5, 9, AS_F64, false);
    check_rank(400, 5, 9, AS_F32, true);
    check_rank(60, 11, 7, AS_F64, true);
    check_rank(60, 11, 7, AS_F32, false);
}

/* One transform: every representation goes through it, and goes by its plain name. */
static void one_transform_and_plain_names(void **state)
{
    (void)state;
    scene s = scene_of(40, 6, 5, TN_TASK_MULTICLASS, AS_F64);
    tnp_rank_options opt;
    tn_ranking *r = NULL, *root = NULL;
    tnp_rank_options_default(&opt);
    opt.transform = "hellinger";
    assert_fine(test_ctx, rank(&s, &opt, &r));
    opt.transform = "none";
    opt.normalize = "root";
    assert_fine(test_ctx, rank(&s, &opt, &root));
    assert_int_equal(r->count, REPS);
    for (size_t i = 0; i < REPS; ++i) { /* the root of a row of any length, then l2, is the same */
        assert_string_equal(r->candidates[i]->name, root->candidates[i]->name);
        assert_string_equal(r->candidates[i]->transform, "hellinger");
        assert_null(root->candidates[i]->transform);
        assert_near(r->candidates[i]->log_evidence, root->candidates[i]->log_evidence, 1e-9);
    }
    tn_ranking_free(r);
    tn_ranking_free(root);
    scene_free(&s);
}

static void transforms_without_sense(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "got ''"},          {"chi3", "got 'chi3'"},   {"chi2,", "got ''"},
        {",chi2", "got ''"},     {"Chi2", "got 'Chi2'"},   {"chi2,js,chi2", "'chi2' is named twice"},
        {"none,none", "'none'"}, {"chi2 ", "got 'chi2 '"}, {"chi2|js", "got 'chi2|js'"},
    };
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        tnp_rank_options opt;
        tn_ranking *r = (tn_ranking *)(void *)test_folder;
        size_t blocks = tnp_live_blocks(test_ctx);
        tnp_rank_options_default(&opt);
        opt.transform = bad[i][0];
        assert_fails(test_ctx, TN_ERR_ARG, bad[i][1], rank(&s, &opt, &r));
        assert_non_null(strstr(tn_ctx_message(test_ctx), "option transform"));
        assert_ptr_equal(r, test_folder);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    scene_free(&s);
}

/* With the k-th allocation failing, for every k until it succeeds. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tnp_fit_options opt;
    tn_ctx_set_threads(test_ctx, 1);
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    opt.rank.transform = "hellinger,none,chi2";
    opt.rank.normalize = "zscore,l2";
    opt.select = TNP_SEARCH_ALL;
    for (;; ++k) {
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = fit(&s, &opt, &info, &head);
        tnp_fail_allocation(test_ctx, 0);
        assert_true((st == TN_OK) == (info != NULL) && (st == TN_OK) == (head != NULL));
        tn_fit_info_free(info);
        tn_head_free(head);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 200);
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(&s);
}

/* The same choices and, to rounding of the BLAS, the same numbers with any number of threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    const size_t threads[] = {1, 2, 3, 7};
    scene s = scene_of(700, 30, 40, TN_TASK_MULTICLASS, AS_F32);
    tn_fit_info *first = NULL;
    tn_head *head_first = NULL;
    for (size_t t = 0; t < 4; ++t) {
        tnp_fit_options opt;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fit_options_default(&opt);
        opt.method = TNP_METHOD_EVIDENCE;
        opt.rank.transform = "chi2,hellinger";
        opt.rank.loo = 0;
        tn_ctx_set_threads(test_ctx, threads[t]);
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        if (t == 0) {
            first = info;
            head_first = head;
            continue;
        }
        for (size_t i = 0; i < info->ranking->count; ++i) {
            assert_string_equal(info->ranking->candidates[i]->name, first->ranking->candidates[i]->name);
            assert_near_at(i, info->ranking->candidates[i]->log_evidence, first->ranking->candidates[i]->log_evidence,
                           1e-10);
        }
        assert_int_equal(tn_head_dim(head), tn_head_dim(head_first));
        for (size_t i = 0; i < K * tn_head_dim(head); ++i)
            assert_near_at(i, tn_head_weight(head)[i], tn_head_weight(head_first)[i], 1e-6);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    tn_fit_info_free(first);
    tn_head_free(head_first);
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranking_equals_that_of_rows_mapped_before),
        cmocka_unit_test(one_transform_and_plain_names),
        cmocka_unit_test(transforms_without_sense),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
