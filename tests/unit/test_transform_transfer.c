/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --transform in transfer: the head is that of a file whose rows were mapped by the loops of ref_map.c, its scores are
 * such rows times the picks' weights, and lists, which would be candidates, are refused. */
#include "mapped_of.h"
#include "transfer_scene.h"
#include "tenon/store.h"

/* The scene with a representation in the place of a. */
static scene with_target(const scene *s, tn_features *target)
{
    scene other = *s;
    other.features[0] = target;
    return other;
}

static float *scores_of(const scene *s, const tn_head *head, const tn_source *source)
{
    float *scores = ref_alloc(ROWS * K, sizeof *scores);
    tn_scorer *scorer = NULL;
    assert_fine(test_ctx, tn_scorer_new_transfer(test_ctx, head, (const tn_features *const *)s->features, 1, source, 1,
                                                 TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores));
    tn_scorer_free(scorer);
    return scores;
}

/* Entries come from a table and are within 2e-6 of the largest of their row (test_map_table.c); lambda = 1 beside a
 * trace of 16 to 106 makes some hundred times that of it in a weight, and a row has up to five picks: 1e-3. */
static const double near_enough = 1e-3;

/* x (ROWS, cols): rows of the target mapped by loops. */
static void check_by_hand(const scene *s, const double *x, size_t cols, const tn_transfer_info *info,
                          const tn_head *head, const float *scores)
{
    for (size_t c = 0; c < K; ++c)
        for (size_t i = 0; i < ROWS; ++i) {
            double sum = (double)tn_head_bias(head)[c];
            for (size_t p = 0; p < info->results[c].pick_count; ++p) {
                const tn_pick *pick = &info->results[c].picks[p];
                sum += pick->weight * (pick->is_source ? s->x[1][i * DB + pick->index] : x[i * cols + pick->index]);
            }
            assert_near_at(i, (double)scores[i * K + c], sum, 1e-4 * fmax(1, fabs(sum)));
        }
}

/* One map: with --transform, and on a file of mapped rows. */
static void check_map(const scene *s, int kind, bool split)
{
    const tn_source source = {"b", s->features[1], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_GREEDYTL);
    tn_transfer_info *info = NULL, *plain = NULL;
    tn_head *head = NULL, *back = NULL, *other = NULL;
    size_t width = 0;
    double *x = mapped(s->x[0], ROWS, DA, kind, split, &width);
    scene written = with_target(s, open_features(write_matrix("mapped.npy", x, ROWS, DA * width, AS_F64)));
    opt.lambda = 1;
    opt.k = 5;
    assert_fine(test_ctx, transfer(&written, &source, 1, &opt, &plain, &other));
    opt.transform = words[kind];
    opt.sign = split ? TN_SIGNED_SPLIT : TN_SIGNED_ODD;
    assert_fine(test_ctx, transfer(s, &source, 1, &opt, &info, &head));
    assert_int_equal(info->features, DA * width);
    assert_string_equal(tn_head_rep(head, 0).transform, words[kind]);
    assert_int_equal(tn_head_rep(head, 0).dim, DA);
    assert_fine(test_ctx, tn_head_save(test_ctx, head, "test", file_path("t.safetensors")));
    assert_fine(test_ctx, tn_head_load(test_ctx, file_path("t.safetensors"), &back));
    assert_non_null(strstr(tn_head_options(back), split ? "\"signed\":\"split\"" : "\"signed\":\"odd\""));
    float *got = scores_of(s, back, &source), *want = scores_of(&written, other, &source);
    check_by_hand(s, x, DA * width, info, back, got);
    for (size_t i = 0; i < ROWS * K; ++i)
        assert_near_at(i, (double)got[i], (double)want[i], near_enough * fmax(1, fabs((double)want[i])));
    for (size_t c = 0; c < K; ++c) {
        assert_int_equal(info->results[c].pick_count, plain->results[c].pick_count);
        for (size_t p = 0; p < info->results[c].pick_count; ++p)
            assert_int_equal(info->results[c].picks[p].index, plain->results[c].picks[p].index);
    }
    free(got);
    free(want);
    free(x);
    tn_features_close(written.features[0]);
    tn_transfer_info_free(info);
    tn_transfer_info_free(plain);
    tn_head_free(head);
    tn_head_free(back);
    tn_head_free(other);
}

static void a_map_is_a_file_of_mapped_rows(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind)
        for (int split = 0; split < 2; ++split) {
            scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
            check_map(&s, kind, split);
            scene_free(&s);
        }
}

static void lists_are_refused(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_RLS);
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    opt.transform = "none,chi2";
    assert_int_equal(transfer(&s, &source, 1, &opt, &info, &head), TN_ERR_ARG);
    assert_non_null(strstr(tn_ctx_message(test_ctx), "transform: got none,chi2, expected one word"));
    opt.transform = "ch2";
    assert_int_equal(transfer(&s, &source, 1, &opt, &info, &head), TN_ERR_ARG);
    assert_null(head);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_a_file_of_mapped_rows),
        cmocka_unit_test(lists_are_refused),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
