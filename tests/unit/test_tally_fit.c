/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranking and fitting from moments against the same from rows: evidence to 1e-9, the same picks, weights to 1e-6; and
 * ridge-cv against folds that are fitted and judged row by row. The files are in double, so that rows lose no digits that
 * moments keep. */
#include "tally_of.h"
#include "options_of.h"
#include "read/features.h"
#include "tenon/store.h"

static int setup(void **state)
{
    return files_setup(state);
}

static int teardown(void **state)
{
    return files_teardown(state);
}

/* Of three parts, through files. */
static tn_tally *tally_of_parts(tally_scene *s)
{
    static const size_t cuts[] = {0, 60, 200, TALLY_N};
    static char paths[3][600];
    const char *list[3];
    tn_tally *all = NULL;
    for (size_t p = 0; p < 3; ++p) {
        tn_tally *part = tally_of(s, cuts[p], cuts[p + 1]);
        snprintf(paths[p], sizeof paths[p], "%s/part%zu.safetensors", test_folder, p);
        assert_fine(test_ctx, tn_tally_save(test_ctx, part, NULL, paths[p]));
        tn_tally_free(part);
        list[2 - p] = paths[p];
    }
    assert_fine(test_ctx, tn_tally_open(test_ctx, list, 3, &all));
    return all;
}

static void same_rankings(const tn_ranking *got, const tn_ranking *want)
{
    assert_int_equal(got->count, want->count);
    assert_int_equal(got->rows, want->rows);
    assert_int_equal(got->rows_left_out, want->rows_left_out);
    assert_int_equal(got->classes, want->classes);
    assert_int_equal(got->degenerate_classes, want->degenerate_classes);
    assert_int_equal(got->single_classes, want->single_classes);
    assert_near(got->null_log_evidence, want->null_log_evidence, 1e-9);
    for (size_t c = 0; c < got->count; ++c) {
        const tn_candidate *g = got->candidates[c], *w = want->candidates[c];
        assert_string_equal(g->name, w->name);
        assert_true(!g->transform == !w->transform);
        if (g->transform)
            assert_string_equal(g->transform, w->transform);
        assert_int_equal(g->dim, w->dim);
        assert_near(g->log_evidence, w->log_evidence, 1e-9);
        assert_near(g->log_evidence_shared, w->log_evidence_shared, 1e-9);
        assert_near(g->gain_per_label, w->gain_per_label, 1e-9);
        assert_int_equal(g->null_classes, w->null_classes);
    }
}

static void rankings_are_those_of_rows(void **state)
{
    (void)state;
    static const char *const kinds[] = {"l2", "none", "l2,root"};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int turn = 0; turn < 3; ++turn)
            for (int intercept = 0; intercept < 2; ++intercept) {
                tally_scene s = tally_scene_of((tn_task)task, turn == 1, turn == 2 ? "l2" : kinds[turn]);
                tnp_rank_options o;
                tn_ranking *rows = NULL, *sums = NULL;
                tnp_rank_options_default(&o);
                o.loo = 0;
                o.evidence.intercept = intercept != 0;
                s.options.rank.normalize = o.normalize = kinds[turn];
                if (turn == 0)
                    s.options.rank.transform = o.transform = "none,chi2";
                s.options.folds = turn == 1 ? 2 : 1;
                tn_tally *t = tally_of_parts(&s);
                assert_fine(test_ctx, tnp_rank(test_ctx, tally_features(&s), 2, s.labels, &o, &rows));
                assert_fine(test_ctx, tnp_tally_rank(test_ctx, t, &o, &sums));
                same_rankings(sums, rows);
                assert_true(isnan(sums->candidates[0]->loo_accuracy));
                tn_ranking_free(rows);
                tn_ranking_free(sums);
                tn_tally_free(t);
                tally_scene_free(&s);
            }
}

/* Scores of all rows; heads may have another centre, and are then the same function. */
static float *scores_of(const tally_scene *s, const tn_head *head)
{
    float *scores = ref_alloc(TALLY_N * TALLY_K, sizeof *scores);
    tn_scorer *scorer = NULL;
    assert_fine(test_ctx, tn_scorer_new(test_ctx, head, tally_features(s), 2, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, TALLY_N, scores));
    tn_scorer_free(scorer);
    return scores;
}

/* What the fit by rows and that by sums gave. */
static void free_both(tn_fit_info *rows, tn_fit_info *sums, tn_head *a, tn_head *b)
{
    tn_fit_info_free(rows);
    tn_fit_info_free(sums);
    tn_head_free(a);
    tn_head_free(b);
}

/* Weights are float: 1e-6 of the largest is eight of its last bits. */
static void same_heads(const tally_scene *s, const tn_head *got, const tn_head *want)
{
    double most = 0, largest = 0;
    assert_int_equal(got->dim, want->dim);
    assert_int_equal(got->rep_count, want->rep_count);
    assert_int_equal(got->task, want->task);
    assert_string_equal(got->method, want->method);
    for (size_t r = 0; r < got->rep_count; ++r)
        assert_string_equal(got->reps[r].name, want->reps[r].name);
    for (size_t i = 0; i < want->classes * want->dim; ++i)
        most = fmax(most, fabs((double)want->weight[i]));
    for (size_t i = 0; i < want->classes * want->dim; ++i)
        assert_near_at(i, (double)got->weight[i] / most, (double)want->weight[i] / most, 1e-6);
    for (size_t k = 0; k < want->classes; ++k) {
        assert_string_equal(got->names[k], want->names[k]);
        assert_true(isfinite(got->lambda[k]) == isfinite(want->lambda[k]));
        if (isfinite(want->lambda[k]))
            assert_near(got->lambda[k] / want->lambda[k], 1, 1e-5); /* found to 1e-6 each */
    }
    float *a = scores_of(s, got), *b = scores_of(s, want);
    for (size_t i = 0; i < TALLY_N * TALLY_K; ++i)
        largest = fmax(largest, fabs((double)b[i]));
    for (size_t i = 0; i < TALLY_N * TALLY_K; ++i)
        assert_near_at(i, (double)a[i] / largest, (double)b[i] / largest, 2e-6);
    free(a);
    free(b);
}

static void heads_are_those_of_rows(void **state)
{
    (void)state;
    static const char *const rules[] = {"shared", "per-class", "gcv", "0.3"};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int turn = 0; turn < 8; ++turn) {
            tally_scene s = tally_scene_of((tn_task)task, turn == 1, turn == 3 ? "none" : "l2");
            tnp_fit_options o;
            tn_fit_info *rows = NULL, *sums = NULL;
            tn_head *a = NULL, *b = NULL;
            tnp_fit_options_default(&o);
            o.method = TNP_METHOD_EVIDENCE;
            o.rank.loo = 0;
            o.rank.normalize = s.options.rank.normalize;
            o.rank.evidence.intercept = turn != 5;
            o.learn.calibrate = TNP_CALIBRATE_NO;
            o.select = turn % (TNP_SEARCH_ALL + 1);
            o.lambda = lambda_of(rules[turn % 4]);
            tn_tally *t = tally_of_parts(&s);
            assert_fine(test_ctx, tnp_fit(test_ctx, tally_features(&s), 2, s.labels, &o, &rows, &a));
            assert_fine(test_ctx, tnp_tally_fit(test_ctx, t, &o, &sums, &b));
            same_heads(&s, b, a);
            assert_int_equal(sums->selected_count, rows->selected_count);
            assert_int_equal(sums->step_count, rows->step_count);
            assert_near(sums->chosen->log_evidence, rows->chosen->log_evidence, 1e-9);
            assert_string_equal(sums->lambda_rule, rows->lambda_rule);
            assert_non_null(sums->loo_note);
            free_both(rows, sums, a, b);
            tn_tally_free(t);
            tally_scene_free(&s);
        }
}

/* A lambda that is given takes no rows. */
static void discriminants_are_those_of_rows(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; ++turn) {
        tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, turn == 1, turn == 2 ? "none" : "l2");
        tnp_fit_options o;
        tn_fit_info *rows = NULL, *sums = NULL;
        tn_head *a = NULL, *b = NULL;
        tnp_fit_options_default(&o);
        o.method = TNP_METHOD_LDA;
        o.rank.normalize = s.options.rank.normalize;
        o.select = TNP_SEARCH_ALL;
        o.lambda = lambda_of("0.3");
        tn_tally *t = tally_of_parts(&s);
        assert_fine(test_ctx, tnp_fit(test_ctx, tally_features(&s), 2, s.labels, &o, &rows, &a));
        assert_fine(test_ctx, tnp_tally_fit(test_ctx, t, &o, &sums, &b));
        same_heads(&s, b, a);
        assert_true(a->temperature == 1 && b->temperature == 1 && sums->temperature == 1 && !sums->temperature_note);
        assert_string_equal(sums->lambda_rule, "fixed");
        assert_null(b->alpha);
        free_both(rows, sums, a, b);
        tn_tally_free(t);
        tally_scene_free(&s);
    }
}

/* Columns a million deviations from zero, and targets as far: digits are kept by centres. */
static void far_columns_and_targets(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_REGRESSION, false, "none");
    tnp_fit_options o;
    tn_fit_info *rows = NULL, *sums = NULL;
    tn_head *a = NULL, *b = NULL;
    for (size_t i = 0; i < TALLY_N * TALLY_A; ++i)
        s.a.x[i] += 1e6;
    for (size_t i = 0; i < TALLY_N * TALLY_K; ++i)
        s.labels->values[i] += 1e5;
    tn_features_close(s.features[0]);
    assert_fine(test_ctx,
                tn_features_open(test_ctx, write_matrix("a.npy", s.a.x, TALLY_N, TALLY_A, AS_F64), &s.features[0]));
    tnp_fit_options_default(&o);
    o.method = TNP_METHOD_EVIDENCE;
    o.rank.loo = 0;
    o.rank.normalize = "none";
    o.select = TNP_SEARCH_ALL;
    tn_tally *t = tally_of_parts(&s);
    assert_fine(test_ctx, tnp_fit(test_ctx, tally_features(&s), 2, s.labels, &o, &rows, &a));
    assert_fine(test_ctx, tnp_tally_fit(test_ctx, t, &o, &sums, &b));
    assert_non_null(b->centre);
    same_heads(&s, b, a);
    free_both(rows, sums, a, b);
    tn_tally_free(t);
    tally_scene_free(&s);
}

/* ---- ridge-cv ---- */

/* Held-out R^2 of one fold at one lambda: normal equations of the other rows in long double, then row by row. */
static double r2_by_rows(const tally_scene *s, const tn_tally *t, size_t fold, double lambda, bool intercept)
{
    enum { W = TALLY_D + 1 };
    long double a[W * W] = {0}, rhs[TALLY_K][W] = {{0}}, sum = 0;
    size_t judged = 0;
    bool held[TALLY_N];
    for (size_t i = 0; i < TALLY_N; ++i) {
        held[i] = tnp_tally_fold(t, t->inputs[0].id, i) == fold;
        long double z[W], g = s->labels->weights ? s->labels->weights[i] : 1;
        for (size_t j = 0; j < W; ++j)
            z[j] = j < TALLY_D ? s->x[i * TALLY_D + j] : intercept ? 1 : 0;
        for (size_t j = 0; !held[i] && s->labels->known[i] && j < W; ++j) {
            for (size_t l = 0; l < W; ++l)
                a[j * W + l] += g * z[j] * z[l];
            for (size_t k = 0; k < TALLY_K; ++k)
                rhs[k][j] += g * z[j] * s->a.y[i * TALLY_K + k];
        }
    }
    for (size_t j = 0; j < W; ++j)
        a[j * W + j] += j < TALLY_D ? lambda : intercept ? 0 : 1;
    assert_true(ref_cholesky(a, W));
    for (size_t k = 0; k < TALLY_K; ++k) {
        long double error = 0, spread = 0, mean = 0, weight = 0;
        ref_cholesky_solve(a, W, rhs[k]);
        for (int pass = 0; pass < 2; ++pass)
            for (size_t i = 0; i < TALLY_N; ++i) {
                long double y = s->a.y[i * TALLY_K + k], g = s->labels->weights ? s->labels->weights[i] : 1;
                if (!held[i] || !s->labels->known[i])
                    continue;
                if (pass == 0) {
                    mean += g * y;
                    weight += g;
                    continue;
                }
                long double score = rhs[k][TALLY_D];
                for (size_t j = 0; j < TALLY_D; ++j)
                    score += rhs[k][j] * s->x[i * TALLY_D + j];
                error += g * (y - score) * (y - score);
                spread += g * (y - mean / weight) * (y - mean / weight);
            }
        if (spread > 0) {
            sum += 1 - error / spread;
            ++judged;
        }
    }
    return (double)(sum / (long double)judged);
}

/* Double sums against long double ones: 1e-10 of an R^2 near 1. */
static void folds_are_judged_as_by_rows(void **state)
{
    (void)state;
    enum { FOLDS = 3 };
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int turn = 0; turn < 3; ++turn) {
            tally_scene s = tally_scene_of((tn_task)task, turn == 1, turn == 1 ? "none" : "l2");
            tnp_fit_options o;
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            tnp_fit_options_default(&o);
            o.method = TNP_METHOD_RIDGE_CV;
            o.select = TNP_SEARCH_ALL;
            o.rank.evidence.intercept = turn != 2;
            s.options.folds = FOLDS;
            tn_tally *t = tally_of_parts(&s);
            assert_fine(test_ctx, tnp_tally_fit(test_ctx, t, &o, &info, &head));
            assert_int_equal(info->grid_count, 21);
            assert_string_equal(info->grid_metric, "r2");
            assert_int_equal(info->folds, FOLDS);
            size_t best = 0;
            for (size_t g = 0; g < info->grid_count; ++g) {
                double mean = 0;
                for (size_t f = 0; f < FOLDS; ++f)
                    mean += r2_by_rows(&s, t, f, info->grid[g], turn != 2) / FOLDS;
                assert_near_at(g, info->grid_mean[g], mean, 1e-10);
                best = info->grid_mean[g] >= info->grid_mean[best] ? g : best;
            }
            assert_int_equal(info->grid_best, best);
            assert_true(head->lambda[0] == info->grid[best]);
            tn_fit_info_free(info);
            tn_head_free(head);
            tn_tally_free(t);
            tally_scene_free(&s);
        }
}

/* ---- what moments cannot do ---- */

static void what_needs_rows_is_refused(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tn_tally *t = tally_of_parts(&s), *few = tally_of(&s, 0, TALLY_A + 1);
    tnp_fit_options o, with;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_ranking *ranking = NULL;
    tnp_fit_options_default(&o);
    with = o;
    with.method = TNP_METHOD_SVM;
    assert_fails(test_ctx, TN_ERR_ARG, "svm needs rows", tnp_tally_fit(test_ctx, t, &with, &info, &head));
    with.method = TNP_METHOD_LDA;
    assert_fails(test_ctx, TN_ERR_ARG, "lda chooses lambda by the accuracy of rows",
                 tnp_tally_fit(test_ctx, t, &with, &info, &head));
    with.method = TNP_METHOD_RIDGE_CV;
    assert_fails(test_ctx, TN_ERR_ARG, "moments per fold", tnp_tally_fit(test_ctx, t, &with, &info, &head));
    with = o;
    with.learn.calibrate = TNP_CALIBRATE_YES;
    assert_fails(test_ctx, TN_ERR_ARG, "calibrate yes needs rows", tnp_tally_fit(test_ctx, t, &with, &info, &head));
    with = o;
    with.method = TNP_METHOD_EVIDENCE;
    with.lambda = lambda_of("loo");
    assert_fails(test_ctx, TN_ERR_ARG, "lambda loo needs rows", tnp_tally_fit(test_ctx, t, &with, &info, &head));
    with = o;
    with.learn.holdout = 0.5;
    assert_fails(test_ctx, TN_ERR_ARG, "holdout needs rows", tnp_tally_fit(test_ctx, t, &with, &info, &head));
    with = o;
    with.rank.by = TNP_RANK_KNN;
    assert_fails(test_ctx, TN_ERR_ARG, "knn needs rows", tnp_tally_rank(test_ctx, t, &with.rank, &ranking));
    assert_fails(test_ctx, TN_ERR_DATA, "8 rows of 7 columns", tnp_tally_rank(test_ctx, few, &o.rank, &ranking));
    tn_tally_free(few);
    for (size_t i = 0; i < 10; ++i)
        s.labels->cls[s.labels->first[i]] = 2;
    few = tally_of(&s, 0, 10);
    assert_fails(test_ctx, TN_ERR_DATA, "one class only ('class2')", tnp_tally_rank(test_ctx, few, &o.rank, &ranking));
    assert_null(info);
    assert_null(head);
    assert_null(ranking);
    tn_tally_free(few);
    tn_tally_free(t);
    tally_scene_free(&s);
}

/* A class of all rows, and one of none, have constant scores. */
static void constant_classes(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTILABEL, false, "l2");
    tnp_fit_options o;
    tn_fit_info *rows = NULL, *sums = NULL;
    tn_head *a = NULL, *b = NULL;
    for (size_t i = 0; i < TALLY_N; ++i) {
        s.a.y[i * TALLY_K + 1] = 0;
        s.a.y[i * TALLY_K + 2] = 1;
    }
    labels_done(s.labels);
    s.labels = labels_of(s.a.y, TALLY_N, TALLY_K, s.task);
    tnp_fit_options_default(&o);
    o.method = TNP_METHOD_EVIDENCE;
    o.rank.loo = 0;
    tn_tally *t = tally_of_parts(&s);
    assert_fine(test_ctx, tnp_fit(test_ctx, tally_features(&s), 2, s.labels, &o, &rows, &a));
    assert_fine(test_ctx, tnp_tally_fit(test_ctx, t, &o, &sums, &b));
    same_heads(&s, b, a);
    assert_true(b->bias[1] == 0.0f && b->bias[2] == 1.0f);
    free_both(rows, sums, a, b);
    tn_tally_free(t);
    tally_scene_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tnp_fit_options o;
    tnp_fit_options_default(&o);
    o.method = TNP_METHOD_RIDGE_CV;
    s.options.folds = 2;
    tn_tally *t = tally_of_parts(&s);
    size_t blocks = tnp_live_blocks(test_ctx);
    for (size_t k = 1;; ++k) {
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_tally_fit(test_ctx, t, &o, &info, &head);
        tnp_fail_allocation(test_ctx, 0);
        assert_true((st == TN_OK) == (head != NULL) && (st == TN_OK) == (info != NULL));
        tn_fit_info_free(info);
        tn_head_free(head);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK) {
            assert_true(k > 50);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    tn_tally_free(t);
    tally_scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rankings_are_those_of_rows),
        cmocka_unit_test(heads_are_those_of_rows),
        cmocka_unit_test(discriminants_are_those_of_rows),
        cmocka_unit_test(far_columns_and_targets),
        cmocka_unit_test(folds_are_judged_as_by_rows),
        cmocka_unit_test(what_needs_rows_is_refused),
        cmocka_unit_test(constant_classes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
