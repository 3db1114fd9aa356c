/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress goes forward only: over every command that takes long the shares that are told do not fall, lie in [0, 1]
 * and end at 1. */
#include "map_learn_of.h"
#include "transfer_scene.h"
#include "encode/pq.h"
#include "tenon/store.h"

typedef struct record {
    size_t count, distinct;
    double first, last;
    bool fell, led; /* led: a C at work was told beside the best so far */
    char stage[64]; /* where it fell */
} record;

static void take_down(void *user, const char *stage, double share)
{
    record *r = user;
    r->fell |= !(share >= r->last) || share < 0 || share > 1;
    if (r->fell && r->stage[0] == '\0')
        snprintf(r->stage, sizeof r->stage, "%s", stage);
    r->led |= strncmp(stage, "C ", 2) == 0 && strstr(stage, "(best ");
    r->distinct += share > r->last;
    r->first = r->count++ == 0 ? share : r->first;
    r->last = share;
}

/* least: different shares that must have been told. */
static void check(const char *what, const record *r, size_t least)
{
    if (r->fell || r->last != 1 || r->first > 0.25 || r->distinct < least)
        fail_msg("%s: %zu calls, %zu shares, from %g to %g%s%s", what, r->count, r->distinct, r->first, r->last,
                 r->fell ? ", fell in " : "", r->stage);
}

static void shares_of_rank_and_fit_never_fall(void **state)
{
    (void)state;
    static const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_RIDGE_CV, TNP_METHOD_LDA,         TNP_METHOD_SVM,
                                  TNP_METHOD_SVM_CV,   TNP_METHOD_LOGISTIC, TNP_METHOD_LOGISTIC_CV, TNP_METHOD_AROW};
    scene s = scene_of(40, 6, 8, TN_TASK_MULTICLASS, AS_F32);
    tnp_fit_options opt;
    tn_ranking *ranking = NULL;
    record r = {0};
    tnp_fit_options_default(&opt);
    opt.rank.normalize = "l2,root";
    tn_ctx_set_progress(test_ctx, take_down, &r);
    assert_fine(test_ctx, rank(&s, &opt.rank, &ranking));
    check("rank", &r, 8);
    tn_ranking_free(ranking);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m)
        for (int search = TNP_SEARCH_BEST; search <= TNP_SEARCH_ALL; ++search) {
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            r = (record){0};
            opt.method = methods[m];
            opt.select = search;
            assert_fine(test_ctx, fit(&s, &opt, &info, &head));
            check("fit", &r, 4);
            assert_int_equal(r.led, methods[m] == TNP_METHOD_SVM_CV || methods[m] == TNP_METHOD_LOGISTIC_CV);
            tn_fit_info_free(info);
            tn_head_free(head);
        }
    tn_ctx_set_progress(test_ctx, NULL, NULL);
    scene_free(&s);
}

/* Fits within folds begin and end as calls do: nobody outside may see it. And a ranking within another call. */
static void shares_of_cv_never_fall(void **state)
{
    (void)state;
    static const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_SVM_CV, TNP_METHOD_AROW};
    scene s = scene_of(40, 6, 8, TN_TASK_MULTICLASS, AS_F32);
    const tn_features *const *features = (const tn_features *const *)s.features;
    record r = {0};
    tn_ctx_set_progress(test_ctx, take_down, &r);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        tnp_cv_options opt;
        tn_cv_result *result = NULL;
        tnp_cv_options_default(&opt);
        opt.fit.method = methods[m];
        opt.against = 1 + TNP_METHOD_PA;
        opt.repeats = 2;
        r = (record){0};
        assert_fine(test_ctx, tnp_cv(test_ctx, features, REPS, s.labels, &opt, &result));
        check("cv", &r, 40);
        tn_cv_free(result);
    }
    tnp_rank_options rank;
    tnp_rank_options_default(&rank);
    r = (record){0};
    tnp_share whole = tnp_progress_begin(test_ctx);
    for (size_t c = 0; c < 2; ++c) {
        assert_fine(test_ctx, tnp_progress_step(test_ctx, whole, "candidate", c, 2));
        tnp_share around = tnp_progress_within(test_ctx, tnp_progress_now(test_ctx));
        tn_cv_result *result = NULL;
        assert_fine(test_ctx,
                    tnp_cv_candidate(test_ctx, features, s.labels, &rank, c, TNP_METHOD_EVIDENCE, 5, &result));
        tn_cv_free(result);
        (void)tnp_progress_within(test_ctx, around);
        assert_near(r.last, 0.5 * (double)(c + 1), 1e-12);
    }
    assert_fine(test_ctx, tnp_progress_end(test_ctx));
    check("candidates", &r, 10);
    tn_ctx_set_progress(test_ctx, NULL, NULL);
    scene_free(&s);
}

static void shares_of_transfer_never_fall(void **state)
{
    (void)state;
    static const tn_task tasks[] = {TN_TASK_MULTICLASS, TN_TASK_MULTILABEL};
    for (size_t t = 0; t < 2; ++t) {
        scene s = scene_of(ROWS, DA, DB, tasks[t], AS_F32);
        const tn_source source = {"b", s.features[1], NULL};
        for (int method = TNP_TRANSFER_BY_AUTO; method <= TNP_TRANSFER_BY_DAM; ++method) {
            tnp_transfer_options opt = options_of(method);
            tn_transfer_info *info = NULL;
            tn_head *head = NULL;
            record r = {0};
            tn_ctx_set_progress(test_ctx, take_down, &r);
            assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
            check("transfer", &r, 4);
            tn_ctx_set_progress(test_ctx, NULL, NULL);
            tn_transfer_info_free(info);
            tn_head_free(head);
        }
        scene_free(&s);
    }
}

static void shares_of_kernel_and_pq_never_fall(void **state)
{
    (void)state;
    set s = set_of("k", REF_NONNEG, 30, 5, 3, TN_TASK_MULTICLASS);
    const tn_map_data data[2] = {{s.features, s.labels}, {s.features, s.labels}};
    tnp_map_options opt;
    tnp_pq_options coarse;
    tn_map *map = NULL;
    tn_pq *pq = NULL;
    char path[600];
    record r = {0};
    snprintf(path, sizeof path, "%s/mapped.npy", test_folder);
    tnp_map_options_default(&opt);
    tnp_pq_options_default(&coarse);
    tn_ctx_set_progress(test_ctx, take_down, &r);
    assert_fine(test_ctx, tnp_map_learn(test_ctx, data, 2, &opt, NULL, &map));
    check("kernel learn", &r, 6);
    r = (record){0};
    assert_fine(test_ctx, tn_map_rows_save(test_ctx, map, s.features, TN_NORM_L2, TN_NAN_ERROR, path));
    check("kernel apply", &r, 1);
    r = (record){0};
    assert_fine(test_ctx, tnp_pq_fit(test_ctx, s.features, &coarse, NULL, &pq));
    check("pq train", &r, 1);
    r = (record){0};
    assert_fine(test_ctx, tn_codes_save(test_ctx, pq, s.features, "test", path, NULL));
    check("pq apply", &r, 1);
    tn_ctx_set_progress(test_ctx, NULL, NULL);
    tn_map_free(map);
    tn_pq_free(pq);
    set_free(&s);
}

/* Stages that nobody counted beforehand take half of what is left, steps their part of the whole. */
static void stages_and_steps_share_the_whole(void **state)
{
    (void)state;
    record r = {0};
    tn_ctx_set_progress(test_ctx, take_down, &r);
    tnp_share whole = tnp_progress_begin(test_ctx), half = tnp_progress_part(test_ctx, whole, 0, 0.5);
    assert_fine(test_ctx, tnp_progress(test_ctx, "a", 0, 4));
    assert_true(r.last == 0);
    assert_fine(test_ctx, tnp_progress(test_ctx, "a", 4, 4));
    assert_true(r.last == 0.25);
    assert_fine(test_ctx, tnp_progress(test_ctx, "a", 0, 2)); /* again: a stage of its own */
    assert_fine(test_ctx, tnp_progress(test_ctx, "a", 1, 2));
    assert_true(r.last == 0.25 + 0.125 / 2);
    assert_fine(test_ctx, tnp_progress_step(test_ctx, half, "steps", 0, 2)); /* less than what was told */
    assert_true(r.last == 0.25 + 0.125 / 2 && !r.fell);
    assert_fine(test_ctx, tnp_progress_step(test_ctx, half, "steps", 1, 2));
    assert_fine(test_ctx, tnp_progress(test_ctx, "b", 1, 1));
    assert_true(r.last > 0.25 && r.last <= 0.5);
    (void)tnp_progress_part(test_ctx, whole, 0.5, 1);
    for (size_t i = 0; i < 100; ++i)
        assert_fine(test_ctx, tnp_progress(test_ctx, i % 2 ? "c" : "d", 1, 1));
    assert_true(r.last > 0.9 && r.last <= 1 && !r.fell);
    assert_fine(test_ctx, tnp_progress_end(test_ctx));
    assert_true(r.last == 1);
    r = (record){0};
    (void)tnp_progress_begin(test_ctx);
    assert_fine(test_ctx, tnp_progress(test_ctx, "a", 0, 0));
    assert_true(r.last == 0 && r.count == 1);
    tn_ctx_set_progress(test_ctx, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_and_steps_share_the_whole),
        cmocka_unit_test(shares_of_rank_and_fit_never_fall),
        cmocka_unit_test(shares_of_cv_never_fall),
        cmocka_unit_test(shares_of_transfer_never_fall),
        cmocka_unit_test(shares_of_kernel_and_pq_never_fall),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
