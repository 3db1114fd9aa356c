/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Thresholds of the largest F1 against all cuts by brute force, and what becomes of them: they decide in a saved head, in
 * the metrics, and in nothing that goes by probabilities. */
#include "ridge_of.h"
#include "learn/head/head.h"
#include "learn/head/thresholds.h"
#include "options_of.h"
#include "tenon/evaluate.h"
#include "tenon/store.h"

/* F1 of the decisions score > t about class k; NaN scores do not count. */
static double f1_at(const tnp_targets *y, const float *scores, size_t k, double t)
{
    double both = 0, taken = 0, positives = 0;
    for (size_t i = 0; i < y->rows; ++i) {
        float s = scores[i * y->classes + k];
        bool yes = (double)s > t, is = tnp_target(y, i, k) > 0.5;
        if (isnan(s))
            continue;
        both += yes && is;
        taken += yes;
        positives += is;
    }
    return taken + positives > 0 ? 2 * both / (taken + positives) : 0;
}

/* The largest F1 of any threshold: below all scores, and at every score. */
static double best_f1(const tnp_targets *y, const float *scores, size_t k)
{
    double best = f1_at(y, scores, k, -1e30);
    for (size_t i = 0; i < y->rows; ++i)
        if (!isnan(scores[i * y->classes + k]))
            best = fmax(best, f1_at(y, scores, k, (double)scores[i * y->classes + k]));
    return best;
}

static void thresholds_have_the_largest_f1_of_all_cuts(void **state)
{
    (void)state;
    enum { N = 60, K = 7 };
    setting s = setting_of(REF_NONNEG, N, 4, K, TN_TASK_MULTILABEL, AS_F32);
    ref_rng rng = ref_rng_of(3);
    float scores[N * K];
    double found[K];
    for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < N * K; ++i) {
            double v = ref_normal(&rng) + 0.7 * s.p.y[i];
            scores[i] = (float)(round % 2 ? v : floor(2 * v) / 2); /* with ties every second time */
            if (round > 10 && i % 11 == 3)
                scores[i] = NAN;
        }
        assert_fine(test_ctx, tnp_f1_thresholds(test_ctx, &s.y, NULL, N, scores, 0.25, found));
        for (size_t k = 0; k < K; ++k)
            assert_true(f1_at(&s.y, scores, k, found[k]) ==
                        best_f1(&s.y, scores, k)); /* the same counts: no rounding */
    }
    setting_free(&s);
}

static void a_class_without_judged_positives_keeps_the_usual_threshold(void **state)
{
    (void)state;
    enum { N = 20, K = 3 };
    setting s = setting_of(REF_NONNEG, N, 4, K, TN_TASK_MULTILABEL, AS_F32);
    float scores[N * K];
    double found[K];
    for (size_t i = 0; i < N * K; ++i)
        scores[i] = s.p.y[i] > 0.5 && i % K == 1 ? NAN : (float)i;
    assert_fine(test_ctx, tnp_f1_thresholds(test_ctx, &s.y, NULL, N, scores, 0.25, found));
    assert_true(found[1] == 0.25);
    assert_true(found[0] != 0.25 && found[2] != 0.25);
    setting_free(&s);
}

/* The evidence head with --threshold f1: its file has them, and decisions go by them. */
static void thresholds_survive_the_file_and_decide_in_metrics(void **state)
{
    (void)state;
    enum { N = 90, K = 4 };
    setting s = setting_of(REF_NONNEG, N, 6, K, TN_TASK_MULTILABEL, AS_F32);
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL, *back = NULL;
    void *written = NULL;
    size_t size = 0;
    float scores[N * K];
    tn_metrics *m = NULL;
    tn_scorer *scorer = NULL;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "none";
    opt.threshold.word = TNP_THRESHOLD_F1;
    const tn_features *const *features = (const tn_features *const *)s.features;
    assert_fine(test_ctx, tnp_fit(test_ctx, features, 2, s.labels, &opt, &info, &head));
    assert_string_equal(info->threshold_rule, "f1");
    assert_fine(test_ctx, tn_head_to_bytes(test_ctx, head, "test", &written, &size));
    assert_fine(test_ctx, tn_head_from_bytes(test_ctx, written, size, NULL, &back));
    for (size_t k = 0; k < K; ++k)
        assert_true(tn_head_thresholds(back)[k] == tn_head_thresholds(head)[k]);
    assert_fine(test_ctx, tn_scorer_new(test_ctx, back, features, 2, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, N, scores));
    assert_fine(test_ctx,
                tn_metrics_compute_at(test_ctx, (tn_view){scores, N, K, K}, s.labels, tn_head_thresholds(back), &m));
    double right = 0;
    for (size_t i = 0; i < N * K; ++i)
        right += ((double)scores[i] > tn_head_thresholds(back)[i % K]) == (s.p.y[i] > 0.5);
    assert_near(m->accuracy, right / (N * K), 1e-12);
    tn_metrics_free(m);
    tn_scorer_free(scorer);
    tn_bytes_free(written);
    tn_head_free(back);
    tn_head_free(head);
    tn_fit_info_free(info);
    opt.threshold = (tnp_real_or_word){TNP_THRESHOLD_FIXED, 0.125};
    assert_fine(test_ctx, tnp_fit(test_ctx, features, 2, s.labels, &opt, &info, &head));
    for (size_t k = 0; k < K; ++k)
        assert_true(tn_head_thresholds(head)[k] == 0.125);
    tn_head_free(head);
    tn_fit_info_free(info);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_have_the_largest_f1_of_all_cuts),
        cmocka_unit_test(a_class_without_judged_positives_keeps_the_usual_threshold),
        cmocka_unit_test(thresholds_survive_the_file_and_decide_in_metrics),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
