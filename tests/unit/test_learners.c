/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_fit with every learner besides the evidence: what the head is, what is said of it, and what happens when something
 * is wrong. */
#include "design_of.h"
#include "learn/head/calibrate.h"
#include "learn/head/folds.h"
#include "learn/head/head.h"
#include "tenon/store.h"
#include "interrupt.h"
#include "options_of.h"

static void *const untouched = (void *)test_folder;
static const int methods[] = {TNP_METHOD_RIDGE_CV, TNP_METHOD_SVM, TNP_METHOD_SVM_CV, TNP_METHOD_LOGISTIC};
static const char *const words[] = {"ridge-cv", "svm", "svm-cv", "logistic"};

/* Both representations, as they are, so that the literal problem is the setting's own. */
static tnp_fit_options options_of(int method)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "none";
    opt.learn.gap = 1e-5;
    opt.learn.folds = 3;
    opt.learn.grid = grid_of(method == TNP_METHOD_RIDGE_CV ? "0.1,1,10" : "0.05,0.5");
    return opt;
}

static tn_status fit(const setting *s, const tnp_fit_options *opt, tn_fit_info **info, tn_head **head)
{
    return tnp_fit(test_ctx, (const tn_features *const *)s->features, 2, s->labels, opt, info, head);
}

static void fit_fails(const setting *s, const tnp_fit_options *opt, tn_status status, const char *part)
{
    tn_fit_info *info = untouched;
    tn_head *head = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, fit(s, opt, &info, &head));
    assert_ptr_equal(info, untouched);
    assert_ptr_equal(head, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

/* Scores of all rows, (n,k). Owned by the test. */
static float *scores_of(const setting *s, const tn_head *head)
{
    tn_scorer *scorer = NULL;
    float *out = ref_alloc(s->p.n * s->p.k, sizeof *out);
    assert_fine(test_ctx,
                tn_scorer_new(test_ctx, head, (const tn_features *const *)s->features, 2, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, s->p.n, out));
    tn_scorer_free(scorer);
    return out;
}

/* Share of decisions that are right, on the training rows. */
static double right(const setting *s, const tn_head *head, const float *scores)
{
    double sum = 0;
    size_t k = s->p.k;
    for (size_t i = 0; i < s->p.n; ++i) {
        size_t best = 0;
        for (size_t c = 0; c < k; ++c) {
            best = scores[i * k + c] > scores[i * k + best] ? c : best;
            if (tn_head_task(head) == TN_TASK_MULTILABEL)
                sum += (scores[i * k + c] > tn_head_threshold(head)) == (s->p.y[i * k + c] > 0.5) ? 1.0 / (double)k : 0;
        }
        if (tn_head_task(head) == TN_TASK_MULTICLASS)
            sum += s->p.y[i * k + best];
    }
    return sum / (double)s->p.n;
}

/* Saved, loaded: the same numbers and words. */
static void check_stored(const tn_head *head)
{
    tn_head *copy = NULL;
    const char *path = file_path("head.safetensors");
    size_t k = tn_head_classes(head), d = tn_head_dim(head);
    assert_fine(test_ctx, tn_head_save(test_ctx, head, "tenon fit", path));
    assert_fine(test_ctx, tn_head_load(test_ctx, path, &copy));
    assert_memory_equal(tn_head_weight(copy), tn_head_weight(head), k * d * sizeof(float));
    assert_memory_equal(tn_head_bias(copy), tn_head_bias(head), k * sizeof(float));
    assert_string_equal(tn_head_method(copy), tn_head_method(head));
    assert_string_equal(tn_head_options(copy), tn_head_options(head));
    assert_true(tn_head_temperature(copy) == tn_head_temperature(head));
    assert_true(tn_head_threshold(copy) == tn_head_threshold(head));
    assert_int_equal(tn_head_lambda(copy) != NULL, tn_head_lambda(head) != NULL);
    tn_head_free(copy);
}

/* Sum over classes of the literal objective at the head's weights. */
static double objective_of(const setting *s, const tn_head *head, const tn_fit_info *info, bool bias)
{
    size_t n = s->p.n, d = s->p.d, k = s->p.k;
    double *cost = ref_alloc(n * k, sizeof *cost);
    ref_real *w = ref_alloc(k * (d + 1), sizeof *w);
    bool logistic = strcmp(info->method, "logistic") == 0;
    for (size_t i = 0; i < n * k; ++i)
        cost[i] = (double)(float)info->cost;
    for (size_t c = 0; c < k; ++c) {
        for (size_t j = 0; j < d; ++j)
            w[c * (d + 1) + j] = (ref_real)tn_head_weight(head)[c * d + j];
        w[c * (d + 1) + d] = (ref_real)tn_head_bias(head)[c];
    }
    ref_smooth p = {n,
                    d,
                    k,
                    s->p.x,
                    s->p.y,
                    cost,
                    !logistic                                  ? REF_SQUARED_HINGE
                    : tn_head_task(head) == TN_TASK_MULTICLASS ? REF_SOFTMAX
                                                               : REF_LOGISTIC,
                    bias,
                    !logistic};
    double f = (double)ref_smooth_objective(&p, w);
    free(cost);
    free(w);
    return f;
}

static void check_info(const tn_fit_info *info, const tn_head *head, int m, bool probabilities)
{
    bool linear = methods[m] != TNP_METHOD_RIDGE_CV,
         grid = methods[m] == TNP_METHOD_RIDGE_CV || methods[m] == TNP_METHOD_SVM_CV;
    assert_string_equal(info->method, words[m]);
    assert_string_equal(tn_head_method(head), words[m]);
    assert_int_equal(info->selected_count, 2);
    assert_int_equal(isnan(info->cost) != 0, !linear);
    assert_int_equal(isnan(info->objective) != 0, !linear);
    assert_int_equal(info->lambda == NULL, linear);
    assert_int_equal(tn_head_lambda(head) == NULL, linear);
    assert_true(info->converged);
    assert_int_equal(info->grid_count + info->grid_skipped, !grid ? 0 : methods[m] == TNP_METHOD_RIDGE_CV ? 3 : 2);
    if (info->grid_skipped > 0) /* of two values the larger, where nothing was wrong at the smaller */
        assert_true(info->grid_count == 1 && info->grid_mean[0] == 1);
    for (size_t g = 0; g < info->grid_count; ++g) {
        assert_true(g == 0 || info->grid[g] > info->grid[g - 1]);
        assert_true(info->grid_mean[g] <= info->grid_mean[info->grid_best] && info->grid_se[g] >= 0);
    }
    if (methods[m] == TNP_METHOD_SVM_CV)
        assert_true(info->cost == info->grid[info->grid_best]);
    if (methods[m] == TNP_METHOD_RIDGE_CV)
        assert_true(info->lambda[0] == info->grid[info->grid_best]);
    assert_true(info->temperature == tn_head_temperature(head));
    assert_int_equal(info->temperature > 0, probabilities);
}

static void every_method_and_task(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m)
        for (int form = 0; form < 4; ++form) { /* multi-class, multi-label; intercept */
            bool bias = form & 1;
            setting s = setting_of(REF_SIGNED, 60, 8, 3, form & 2 ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, AS_F32);
            tnp_fit_options opt = options_of(methods[m]);
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            opt.rank.evidence.intercept = bias;
            opt.learn.max_passes = 5000;
            assert_fine(test_ctx, fit(&s, &opt, &info, &head));
            check_info(info, head, m, methods[m] != TNP_METHOD_SVM);
            float *scores = scores_of(&s, head);
            assert_true(right(&s, head, scores) > 0.6);
            if (m > 0) {
                double f = objective_of(&s, head, info, bias);
                assert_near(info->objective / f, 1, 1e-5);
                for (size_t c = 0; c < 3 && !bias; ++c)
                    assert_true(tn_head_bias(head)[c] == 0);
            }
            if (tn_head_temperature(head) > 0) {
                assert_fine(test_ctx, tn_head_probabilities(test_ctx, head, 60, scores));
                for (size_t i = 0; i < 60; ++i)
                    assert_true(form & 2 || fabs((double)scores[i * 3] + (double)scores[i * 3 + 1] +
                                                 (double)scores[i * 3 + 2] - 1) < 1e-6);
            }
            check_stored(head);
            free(scores);
            tn_fit_info_free(info);
            tn_head_free(head);
            setting_free(&s);
        }
}

/* Regression: ridge-cv by R^2; the others have no classes to learn. */
static void regression(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 60, 8, 3, TN_TASK_REGRESSION, AS_F32);
    for (int m = 0; m < 4; ++m) {
        tnp_fit_options opt = options_of(methods[m]);
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        if (m > 0) {
            fit_fails(&s, &opt, TN_ERR_ARG, "needs classes, but the task is a regression");
            continue;
        }
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        assert_string_equal(info->grid_metric, "r2");
        assert_true(info->grid_mean[info->grid_best] > 0.5 && info->temperature == 0);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    setting_free(&s);
}

/* ---- arguments and data without sense ---- */

static void arguments_without_sense(void **state)
{
    (void)state;
    static const double bad_costs[] = {0, -1, NAN, INFINITY, 1e300}; /* the last is beyond float */
    setting s = setting_of(REF_SIGNED, 20, 8, 3, TN_TASK_MULTICLASS, AS_F32);
    size_t wrong = 0;
    for (int m = 1; m < 4; m += 2)
        for (size_t i = 0; i < 5; ++i) {
            tnp_fit_options opt = options_of(methods[m]);
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            opt.learn.cost = bad_costs[i];
            opt.learn.max_passes = 50;
            tn_status st = fit(&s, &opt, &info, &head);
            bool sane =
                st == TN_ERR_ARG || st == TN_ERR_NUMERIC || (st == TN_OK && i == 4 && isfinite(info->objective));
            if (!sane)
                print_error("--C %g with %s gives %s, objective %g\n", bad_costs[i], words[m], tn_status_name(st),
                            info ? info->objective : NAN);
            wrong += !sane;
            tn_fit_info_free(info);
            tn_head_free(head);
        }
    for (int m = 0; m < 3; m += 2) {
        tnp_fit_options opt = options_of(methods[m]);
        opt.learn.folds = 1;
        fit_fails(&s, &opt, TN_ERR_ARG, "option folds");
        opt.learn.folds = 21;
        fit_fails(&s, &opt, TN_ERR_DATA, "20 rows for 21 folds");
        opt.learn.folds = 3;
        opt.learn.grid = grid_of("1,-2");
        fit_fails(&s, &opt, TN_ERR_ARG, "option grid: got a value");
    }
    tnp_fit_options opt = options_of(TNP_METHOD_SVM);
    opt.learn.loss = TNP_SVM_HINGE;
    opt.learn.penalise_bias = false;
    fit_fails(&s, &opt, TN_ERR_ARG, "option loss hinge needs option penalise-bias yes");
    opt = options_of(TNP_METHOD_SVM);
    opt.learn.calibrate = TNP_CALIBRATE_YES;
    opt.learn.folds = 21;
    fit_fails(&s, &opt, TN_ERR_DATA, "20 rows for 21 folds");
    for (size_t i = 0; i < 20; ++i)
        s.labels->known[i] = false;
    for (int m = 0; m < 4; ++m) {
        opt = options_of(methods[m]);
        fit_fails(&s, &opt, TN_ERR_DATA, "no labelled rows");
    }
    setting_free(&s);
    assert_int_equal(wrong, 0);
}

/* Classes with a single row, with fewer rows than folds, absent; two classes; zero rows and constant columns. */
static void awkward_data(void **state)
{
    (void)state;
    const ref_kind kinds[] = {REF_SIGNED, REF_ZERO_ROWS, REF_CONSTANT, REF_DUPLICATED};
    for (int m = 0; m < 4; ++m)
        for (size_t z = 0; z < 4; ++z)
            for (int form = 0; form < 3; ++form) {
                setting s = form == 2 ? setting_of(kinds[z], 24, 6, 2, TN_TASK_MULTICLASS, AS_F32)
                                      : setting_of(kinds[z], 24, 6, 4, TN_TASK_MULTICLASS, AS_F32);
                tnp_fit_options opt = options_of(methods[m]);
                tn_fit_info *info = NULL;
                tn_head *head = NULL;
                for (size_t i = 0; form < 2 && i < 24; ++i) /* class 3: once (form 0), never (form 1); class 2: twice */
                    s.labels->cls[i] = i == 5 && form == 0 ? 3 : i == 7 || i == 9 ? 2 : (uint32_t)(i % 2);
                opt.learn.folds = 5;
                opt.learn.max_passes = 20000;
                assert_fine(test_ctx, fit(&s, &opt, &info, &head));
                for (size_t i = 0; i < tn_head_classes(head) * 6; ++i)
                    assert_true(isfinite(tn_head_weight(head)[i]));
                for (size_t c = 0; c < tn_head_classes(head); ++c)
                    assert_true(isfinite(tn_head_bias(head)[c]));
                float *scores = scores_of(&s, head);
                for (size_t i = 0; form == 1 && i < 24; ++i) /* what never occurred is never the answer */
                    assert_true(scores[i * 4 + 3] < fmaxf(scores[i * 4], fmaxf(scores[i * 4 + 1], scores[i * 4 + 2])));
                free(scores);
                tn_fit_info_free(info);
                tn_head_free(head);
                setting_free(&s);
            }
}

/* A label that every row has, and one that none has: told right, with finite numbers. */
static void labels_of_one_side(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        setting s = setting_of(REF_SIGNED, 30, 6, 3, TN_TASK_MULTILABEL, AS_F32);
        double y[90];
        for (size_t i = 0; i < 90; ++i)
            y[i] = i % 3 == 0 ? s.p.y[i] : i % 3 == 1;
        labels_done(s.labels);
        s.labels = labels_of(y, 30, 3, TN_TASK_MULTILABEL);
        memcpy(s.p.y, y, sizeof y);
        tnp_fit_options opt = options_of(methods[m]);
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        float *scores = scores_of(&s, head);
        for (size_t i = 0; i < 30; ++i) {
            assert_true(isfinite(scores[i * 3]));
            assert_true(isfinite(scores[i * 3 + 1]) && scores[i * 3 + 1] > tn_head_threshold(head));
            assert_true(isfinite(scores[i * 3 + 2]) && scores[i * 3 + 2] < tn_head_threshold(head));
        }
        free(scores);
        tn_fit_info_free(info);
        tn_head_free(head);
        setting_free(&s);
    }
}

/* auto: where held-out scores are there anyway; yes: by folds where not; no: never. Logistic scores are log-odds, and
 * have temperature 1 until one is asked for. */
static void calibration_when_asked(void **state)
{
    (void)state;
    const bool want[3][4] = {{true, false, true, true}, {true, true, true, true}, {false, false, false, true}};
    setting s = setting_of(REF_SIGNED, 60, 8, 3, TN_TASK_MULTICLASS, AS_F32);
    for (int m = 0; m < 4; ++m)
        for (int c = 0; c < 3; ++c) {
            tnp_fit_options opt = options_of(methods[m]);
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            opt.learn.calibrate = c;
            assert_fine(test_ctx, fit(&s, &opt, &info, &head));
            assert_int_equal(tn_head_temperature(head) > 0, want[c][m]);
            if (methods[m] == TNP_METHOD_LOGISTIC && c != TNP_CALIBRATE_YES)
                assert_true(tn_head_temperature(head) == 1);
            tn_fit_info_free(info);
            tn_head_free(head);
        }
    setting_free(&s);
}

/* Scores (n,k) of every row by literal logistic regressions on the rows outside its fold. */
static void literal_held_out(const setting *s, const uint32_t *fold, size_t folds, bool multilabel, float *scores)
{
    size_t n = s->p.n, d = s->p.d, k = s->p.k;
    double *cost = ref_alloc(n * k, sizeof *cost);
    ref_real *w = ref_alloc(k * (d + 1), sizeof *w);
    for (size_t f = 0; f < folds; ++f) {
        for (size_t i = 0; i < n * k; ++i)
            cost[i] = fold[i / k] == f ? 0 : 1;
        ref_smooth p = {n, d, k, s->p.x, s->p.y, cost, multilabel ? REF_LOGISTIC : REF_SOFTMAX, true, false};
        ref_smooth_solve(&p, w);
        for (size_t i = 0; i < n * k; ++i) {
            ref_real sum = w[i % k * (d + 1) + d];
            for (size_t j = 0; j < d; ++j)
                sum += w[i % k * (d + 1) + j] * (ref_real)s->p.x[i / k * d + j];
            if (fold[i / k] == f)
                scores[i] = (float)sum;
        }
    }
    free(cost);
    free(w);
}

/* --calibrate yes of a logistic regression: the temperature of the scores of models that did not see the row. A gap of
 * 1e-7 of f moves scores by sqrt(2 gap) |x|, below 1e-2 here, and the temperature by no more than that, relatively. */
static void logistic_temperature_by_folds(void **state)
{
    (void)state;
    for (int multilabel = 0; multilabel < 2; ++multilabel) {
        tn_task task = multilabel ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS;
        setting s = setting_of(REF_SIGNED, 60, 4, 3, task, AS_F32);
        tnp_fit_options opt = options_of(TNP_METHOD_LOGISTIC);
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        uint32_t *fold = NULL;
        float scores[60 * 3];
        double want = 0;
        opt.learn.calibrate = TNP_CALIBRATE_YES;
        opt.learn.gap = 1e-7;
        opt.rank.seed = 5;
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        assert_fine(test_ctx, tnp_folds_new(test_ctx, &s.y, task, 3, 5, &fold));
        literal_held_out(&s, fold, 3, multilabel, scores);
        assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s.y, task, 0, NULL, 60, NULL, scores, &want));
        assert_true(want > 0.2 && want < 5 && fabs(want - 1) > 0.02); /* so that 1 would be seen */
        assert_near(info->temperature / want, 1, 1e-2);
        tnp_free(fold);
        tn_fit_info_free(info);
        tn_head_free(head);
        setting_free(&s);
    }
}

/* ---- threads, memory, interrupts ---- */

static void threads_change_no_decision(void **state)
{
    (void)state;
    const size_t threads[] = {1, 2, 3, 7};
    for (int m = 0; m < 4; ++m) {
        setting s = setting_of(REF_NONNEG, 400, 40, 3, TN_TASK_MULTICLASS, AS_F32);
        size_t first[400];
        double temperature = 0, cost = 0;
        for (size_t t = 0; t < 4; ++t) {
            tnp_fit_options opt = options_of(methods[m]);
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            tn_ctx_set_threads(test_ctx, threads[t]);
            assert_fine(test_ctx, fit(&s, &opt, &info, &head));
            float *scores = scores_of(&s, head);
            for (size_t i = 0; i < 400; ++i) {
                size_t best = 0;
                for (size_t c = 1; c < 3; ++c)
                    best = scores[i * 3 + c] > scores[i * 3 + best] ? c : best;
                first[i] = t ? first[i] : best;
                assert_int_equal(first[i], best);
            }
            temperature = t ? temperature : info->temperature;
            cost = t ? cost : info->grid_count ? info->grid[info->grid_best] : 0;
            assert_near(info->temperature, temperature, 1e-3);
            assert_true(info->grid_count == 0 || info->grid[info->grid_best] == cost);
            free(scores);
            tn_fit_info_free(info);
            tn_head_free(head);
        }
        setting_free(&s);
    }
    tn_ctx_set_threads(test_ctx, 0);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_ctx_set_threads(test_ctx, 1);
    for (int m = 0; m < 4; ++m) {
        setting s = setting_of(REF_SIGNED, 18, 6, 3, TN_TASK_MULTICLASS, AS_F32);
        double weight[18];
        for (size_t i = 0; i < 18; ++i)
            weight[i] = 1 + (double)i / 8;
        if (m)
            assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s.labels, weight, 18));
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        tnp_fit_options opt = options_of(methods[m]);
        opt.learn.gap = 1e-2;
        opt.learn.calibrate = TNP_CALIBRATE_YES;
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
        assert_true(k > 100);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        setting_free(&s);
    }
    tn_ctx_set_threads(test_ctx, 0);
}

/* Cancelled at the n-th progress call, for every n. */
static void an_interrupt_at_any_moment(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        setting s = setting_of(REF_SIGNED, 24, 6, 3, TN_TASK_MULTICLASS, AS_F32);
        tn_ctx *usual = test_ctx;
        size_t n = 1;
        for (bool stopped = true; stopped; ++n) {
            interrupt i = {NULL, 0, n};
            tnp_fit_options opt = options_of(methods[m]);
            tn_fit_info *info = untouched;
            tn_head *head = untouched;
            opt.learn.gap = 1e-2;
            i.ctx = ctx_of(0); /* a cancelled context stays so */
            tn_ctx_set_progress(i.ctx, cancel_at, &i);
            test_ctx = i.ctx;
            tn_status st = fit(&s, &opt, &info, &head);
            test_ctx = usual;
            stopped = i.calls >= n;
            assert_int_equal(st, stopped ? TN_ERR_INTERRUPTED : TN_OK);
            if (stopped) {
                assert_int_equal(i.calls, n);
                assert_ptr_equal(info, untouched);
                assert_ptr_equal(head, untouched);
            } else {
                tn_fit_info_free(info);
                tn_head_free(head);
            }
            ctx_done(i.ctx);
        }
        assert_true(n > 5);
        setting_free(&s);
    }
}

/* Any budget: either the work is done within it, or refused with the figure; nothing is left. */
static void budgets(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        setting s = setting_of(REF_SIGNED, 700, 60, 3, TN_TASK_MULTICLASS, AS_F32);
        size_t refused = 0, blocks = tnp_live_blocks(test_ctx), now = tn_ctx_memory_now(test_ctx);
        for (size_t room = 1 << 12; room < (size_t)64 << 20; room *= 2) {
            tnp_fit_options opt = options_of(methods[m]);
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            opt.learn.gap = 1e-2;
            tn_ctx_set_memory(test_ctx, now + room);
            tn_status st = fit(&s, &opt, &info, &head);
            tn_ctx_set_memory(test_ctx, 0);
            assert_true(st == TN_OK || st == TN_ERR_BUDGET);
            if (st != TN_OK)
                assert_non_null(strstr(tn_ctx_message(test_ctx), "the budget is"));
            refused += st != TN_OK;
            tn_fit_info_free(info);
            tn_head_free(head);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(refused > 1 && refused < 12);
        setting_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_and_task),
        cmocka_unit_test(regression),
        cmocka_unit_test(arguments_without_sense),
        cmocka_unit_test(awkward_data),
        cmocka_unit_test(labels_of_one_side),
        cmocka_unit_test(calibration_when_asked),
        cmocka_unit_test(logistic_temperature_by_folds),
        cmocka_unit_test(threads_change_no_decision),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_interrupt_at_any_moment),
        cmocka_unit_test(budgets),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
