/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a ranking goes by, through tnp_rank: every figure against models fitted again without the row and against double
 * loops, order, leads and their standard errors from their definitions, and what is refused.
 *
 * Tolerances. Scores of the closed form are within 1e-8 of refits (test_loo.c) and rounded to float for the log-loss:
 * 2^-24 of scores about 1 over temperatures of 0.1 and more is below 1e-6. Neighbours: test_knn.c, whose error is below
 * 1e-4 here, while no two classes of a row are as near as that. */
#include "scene_of.h"
#include "ref_metrics.h"
#include "ref_ridge.h"

enum { N = 60, DA = 8, DB = 13 };

static tn_ranking *ranked(const scene *s, tnp_by by)
{
    tnp_rank_options opt;
    tn_ranking *r = NULL;
    tnp_rank_options_default(&opt);
    opt.loo = TNP_ALL;
    opt.by = (int)by;
    assert_fine(test_ctx, rank(s, &opt, &r));
    assert_int_equal(r->count, REPS);
    return r;
}

static size_t rep_of(const char *name)
{
    return name[0] == 'b';
}

static const tn_candidate *candidate_of(const tn_ranking *r, size_t rep)
{
    return r->candidates[rep_of(r->candidates[0]->name) == rep ? 0 : 1];
}

/* Leave-one-out scores (N, K) by refits at the candidate's shared lambda. Owned by the test. */
static double *refits(const scene *s, const tn_ranking *r, size_t rep)
{
    double *x = normalised(s->x[rep], s->n, s->cols[rep], TN_NORM_L2), *out = ref_alloc(s->n * K, sizeof *out);
    ref_real *wide = ref_alloc(s->n * K, sizeof *wide);
    ref_problem p = {s->n, s->cols[rep], K, x, s->y};
    ref_loo(&p, true, candidate_of(r, rep)->lambda_shared, wide);
    for (size_t i = 0; i < s->n * K; ++i)
        out[i] = (double)wide[i];
    free(wide);
    free(x);
    return out;
}

/* The weighted mean of labels of the ten nearest other rows. Owned by the test. */
static double *nearest(const scene *s, size_t rep)
{
    enum { NEAREST = 10 };
    double *x = normalised(s->x[rep], s->n, s->cols[rep], TN_NORM_L2), *out = ref_alloc(s->n * K, sizeof *out);
    size_t d = s->cols[rep];
    for (size_t i = 0; i < s->n; ++i) {
        double near[NEAREST + 1], sum = 0;
        size_t row[NEAREST + 1] = {0};
        bool taken[N] = {false};
        for (size_t n = 0; n <= NEAREST; ++n) {
            near[n] = -2;
            for (size_t j = 0; j < s->n; ++j) {
                double product = 0;
                for (size_t c = 0; c < d; ++c)
                    product += x[i * d + c] * x[j * d + c];
                if (j != i && !taken[j] && product > near[n]) {
                    near[n] = product;
                    row[n] = j;
                }
            }
            taken[row[n]] = true;
        }
        for (size_t n = 0; n < NEAREST; ++n)
            for (size_t c = 0; c < K; ++c) {
                double w = near[n] - near[NEAREST] + 0x1p-20;
                sum += c == 0 ? w : 0;
                out[i * K + c] += w * s->y[row[n] * K + c];
            }
        for (size_t c = 0; c < K; ++c)
            out[i * K + c] /= sum;
    }
    free(x);
    return out;
}

/* ---- units from their definitions ---- */

/* Quality unit by unit: rows, or labels of a multi-label task; their number. */
static size_t quality(const scene *s, const double *scores, double *unit)
{
    if (s->task == TN_TASK_MULTILABEL) {
        for (size_t c = 0; c < K; ++c) {
            float own[N];
            bool y[N];
            for (size_t i = 0; i < s->n; ++i) {
                own[i] = (float)scores[i * K + c];
                y[i] = s->y[i * K + c] > 0.5;
            }
            unit[c] = ref_ap(own, 1, y, s->n);
        }
        return K;
    }
    for (size_t i = 0; i < s->n; ++i) {
        size_t best = 0;
        for (size_t c = 1; c < K; ++c)
            best = scores[i * K + c] > scores[i * K + best] ? c : best;
        unit[i] = s->task == TN_TASK_MULTICLASS ? s->y[i * K + best] : 1;
        for (size_t c = 0; s->task == TN_TASK_REGRESSION && c < K; ++c) {
            double mean = 0, total = 0, e = s->y[i * K + c] - scores[i * K + c];
            for (size_t j = 0; j < s->n; ++j)
                mean += s->y[j * K + c] / (double)s->n;
            for (size_t j = 0; j < s->n; ++j)
                total += (s->y[j * K + c] - mean) * (s->y[j * K + c] - mean);
            unit[i] -= (double)s->n * e * e / total / K;
        }
    }
    return s->n;
}

static double row_loss(const scene *s, const double *scores, size_t i, double temperature)
{
    const double *v = scores + i * K;
    double sum = 0, own = 0;
    for (size_t c = 0; c < K; ++c) {
        bool in = s->y[i * K + c] > 0.5;
        if (s->task == TN_TASK_MULTILABEL)
            sum += log1p(exp((in ? -1 : 1) * (v[c] - 0.5) / temperature)) / K;
        else
            sum += exp(v[c] / temperature);
        own = in ? v[c] / temperature : own;
    }
    return s->task == TN_TASK_MULTILABEL ? sum : log(sum) - own;
}

static double total_loss(const scene *s, const double *scores, double log_temperature)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; ++i)
        sum += row_loss(s, scores, i, exp(log_temperature));
    return sum;
}

/* Log-loss row by row at the best temperature, by thirds: the loss is convex in 1 / T, so it has one valley. */
static size_t loss(const scene *s, const double *scores, double *unit)
{
    double low = log(1e-3), high = log(10);
    for (int step = 0; step < 100; ++step) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (total_loss(s, scores, a) < total_loss(s, scores, b))
            high = b;
        else
            low = a;
    }
    for (size_t i = 0; i < s->n; ++i)
        unit[i] = row_loss(s, scores, i, exp(low));
    return s->n;
}

static void mean_and_error(const double *a, const double *b, size_t n, double *mean, double *se)
{
    double square = 0;
    *mean = 0;
    for (size_t i = 0; i < n; ++i)
        *mean += (a[i] - (b ? b[i] : 0)) / (double)n;
    for (size_t i = 0; i < n; ++i)
        square += (a[i] - (b ? b[i] : 0) - *mean) * (a[i] - (b ? b[i] : 0) - *mean);
    *se = sqrt(square) / (double)n;
}

/* ---- figures and order ---- */

static const tn_opinion *opinion_of(const tn_ranking *r, const char *by)
{
    for (size_t i = 0; i < r->opinion_count; ++i)
        if (strcmp(r->opinions[i].by, by) == 0)
            return &r->opinions[i];
    fail_msg("no opinion by %s", by);
    return NULL;
}

static void check_by(const scene *s, tnp_by by, double tolerance)
{
    static const char *const words[] = {"evidence", "loo", "nll", "knn", "cv"};
    tn_ranking *r = ranked(s, by);
    double unit[REPS][N], mean[REPS], se[REPS], lead, lead_se;
    size_t n = 0, first = rep_of(r->candidates[0]->name), units = s->task == TN_TASK_MULTILABEL && by != TNP_RANK_NLL;
    assert_string_equal(r->by, words[by]);
    for (size_t rep = 0; rep < REPS; ++rep) {
        double *scores = by == TNP_RANK_KNN ? nearest(s, rep) : refits(s, r, rep);
        n = by == TNP_RANK_NLL ? loss(s, scores, unit[rep]) : quality(s, scores, unit[rep]);
        mean_and_error(unit[rep], NULL, n, &mean[rep], &se[rep]);
        assert_near_at(rep, candidate_of(r, rep)->score, mean[rep], tolerance);
        if (units)
            assert_true(isnan(candidate_of(r, rep)->score_se));
        else
            assert_near_at(rep, candidate_of(r, rep)->score_se, se[rep], tolerance);
        free(scores);
    }
    assert_true(by == TNP_RANK_NLL ? mean[first] <= mean[!first] + tolerance : mean[first] >= mean[!first] - tolerance);
    mean_and_error(unit[first], unit[!first], n, &lead, &lead_se);
    assert_near(r->lead, by == TNP_RANK_NLL ? -lead : lead, 2 * tolerance);
    assert_near(r->lead_se, lead_se, 2 * tolerance);
    const tn_opinion *own = opinion_of(r, words[by]);
    assert_string_equal(own->first, r->candidates[0]->name);
    assert_true(own->lead == 0 && own->score == own->other && own->score == r->candidates[0]->score);
    tn_ranking_free(r);
}

static void figures_equal_refits_without_the_row(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        scene s = scene_of(N, DA, DB, (tn_task)task, AS_F64);
        check_by(&s, TNP_RANK_LOO, 1e-6);
        check_by(&s, TNP_RANK_KNN, 1e-4);
        if (task != TN_TASK_REGRESSION)
            check_by(&s, TNP_RANK_NLL, 1e-6);
        scene_free(&s);
    }
}

/* The default ranks by evidence and lets leave-one-out speak; both figures are where they were. */
static void opinions_beside_the_evidence(void **state)
{
    (void)state;
    scene s = scene_of(N, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    tn_ranking *r = ranked(&s, TNP_RANK_EVIDENCE), *by_loo = ranked(&s, TNP_RANK_LOO);
    assert_int_equal(r->opinion_count, 2);
    assert_true(r->candidates[0]->log_evidence >= r->candidates[1]->log_evidence);
    assert_true(r->candidates[0]->score == r->candidates[0]->log_evidence && isnan(r->candidates[0]->score_se));
    assert_near(r->lead, r->candidates[0]->gain_per_label - r->candidates[1]->gain_per_label, 1e-12);
    const tn_opinion *loo = opinion_of(r, "loo"), *evidence = opinion_of(by_loo, "evidence");
    assert_string_equal(loo->first, by_loo->candidates[0]->name);
    assert_string_equal(evidence->first, r->candidates[0]->name);
    assert_near(loo->score, by_loo->candidates[0]->loo_accuracy, 1e-12);
    assert_near(by_loo->candidates[0]->score_se, by_loo->candidates[0]->loo_se, 1e-12);
    assert_near(loo->lead, loo->score - loo->other, 1e-12);
    tn_ranking_free(r);
    tn_ranking_free(by_loo);
    scene_free(&s);
}

/* Two names for the same features: every figure is the same, and the order goes by evidence, then by name. */
static void equal_figures_go_by_evidence_then_by_name(void **state)
{
    (void)state;
    scene s = scene_of(N, DA, DA, TN_TASK_MULTICLASS, AS_F64);
    tn_features *twins[REPS] = {array_of("b", s.x[0], N, DA, AS_F64), array_of("a", s.x[0], N, DA, AS_F64)};
    for (int by = 0; by < TNP_RANK_COUNT; ++by) {
        tnp_rank_options opt;
        tn_ranking *r = NULL;
        tnp_rank_options_default(&opt);
        opt.by = by;
        assert_fine(test_ctx, tnp_rank(test_ctx, (const tn_features *const *)twins, REPS, s.labels, &opt, &r));
        assert_string_equal(r->candidates[0]->name, "a");
        assert_true(r->lead == 0);
        for (size_t i = 0; i < r->opinion_count; ++i)
            assert_string_equal(r->opinions[i].first, "a");
        tn_ranking_free(r);
    }
    for (int f = 0; f < REPS; ++f)
        tn_features_close(twins[f]);
    scene_free(&s);
}

/* Folds against tn_cv of one candidate alone, whose held-out scores are those of the heads (test_cv.c): quality over all
 * rows together. Scores are float: 1e-6 of R^2. */
static void folds_equal_a_cross_validation(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        scene s = scene_of(N, DA, DB, (tn_task)task, AS_F64);
        tn_ranking *r = ranked(&s, TNP_RANK_CV);
        assert_string_equal(r->by, "cv");
        for (size_t rep = 0; rep < REPS; ++rep) {
            tnp_cv_options opt;
            tn_cv_result *cv = NULL;
            double scores[N * K], unit[N], mean, se;
            tnp_cv_options_default(&opt);
            opt.fit.method = TNP_METHOD_EVIDENCE;
            opt.fit.rank.loo = TNP_ALL;
            opt.folds = 5;
            opt.scores = true;
            assert_fine(test_ctx,
                        tnp_cv(test_ctx, (const tn_features *const *)&s.features[rep], 1, s.labels, &opt, &cv));
            for (size_t i = 0; i < (size_t)N * K; ++i)
                scores[i] = (double)tn_cv_scores(cv)[i];
            mean_and_error(unit, NULL, quality(&s, scores, unit), &mean, &se);
            assert_near_at(rep, candidate_of(r, rep)->score, mean, 1e-6);
            tn_cv_free(cv);
        }
        assert_true(r->candidates[0]->score >= r->candidates[1]->score);
        tn_ranking_free(r);
        scene_free(&s);
    }
}

static void refuse(const scene *s, tnp_by by, size_t loo, tn_status status, const char *part)
{
    tnp_rank_options opt;
    tn_ranking *r = NULL;
    tnp_rank_options_default(&opt);
    opt.by = (int)by;
    opt.loo = loo;
    assert_fails(test_ctx, status, part, rank(s, &opt, &r));
    assert_null(r);
}

static void figures_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    scene classes = scene_of(N, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    scene values = scene_of(N, DA, DB, TN_TASK_REGRESSION, AS_F64);
    scene single = scene_of(K, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    for (size_t i = 0; i < K; ++i)
        single.labels->cls[i] = (uint32_t)i;
    refuse(&classes, TNP_RANK_LOO, 0, TN_ERR_ARG, "option by loo needs leave-one-out rows, but option loo is 0");
    refuse(&classes, TNP_RANK_NLL, 0, TN_ERR_ARG, "option by nll needs leave-one-out rows");
    refuse(&classes, TNP_RANK_KNN, 0, TN_ERR_ARG, "option by knn needs leave-one-out rows");
    refuse(&classes, TNP_RANK_COUNT, 10, TN_ERR_ARG, "by");
    refuse(&values, TNP_RANK_NLL, 2000, TN_ERR_ARG, "a regression has no log-loss");
    refuse(&single, TNP_RANK_LOO, 2000, TN_ERR_DATA, "every class has one row");
    refuse(&single, TNP_RANK_KNN, 2000, TN_ERR_DATA, "every class has one row");
    refuse(&single, TNP_RANK_CV, 2000, TN_ERR_DATA, "every class has one row");
    scene_free(&classes);
    scene_free(&values);
    scene_free(&single);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    for (int by = TNP_RANK_NLL; by < TNP_RANK_COUNT; ++by) {
        tnp_rank_options opt;
        size_t blocks = tnp_live_blocks(test_ctx);
        tnp_rank_options_default(&opt);
        opt.by = by;
        for (size_t k = 1;; k += by == TNP_RANK_CV ? 1 + k / 8 : 1) { /* folds: test_cv_faults.c has every one */
            tn_ranking *r = NULL;
            tnp_fail_allocation(test_ctx, k);
            tn_status st = rank(&s, &opt, &r);
            tnp_fail_allocation(test_ctx, 0);
            tn_ranking_free(r);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
        }
    }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_equal_refits_without_the_row),
        cmocka_unit_test(folds_equal_a_cross_validation),
        cmocka_unit_test(opinions_beside_the_evidence),
        cmocka_unit_test(equal_figures_go_by_evidence_then_by_name),
        cmocka_unit_test(figures_that_do_not_exist_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
