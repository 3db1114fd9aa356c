/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method lda against discriminants by loops in long double: the head, and the choice of lambda, by folds, a hold-out
 * and other rows.
 *
 * Tolerance of scores: weights are those of a ridge, floats, through a matrix M = c Q^-1 of classes by classes. By the
 * identities at the head of discriminant.c (Q^-1)_kk = 1/n_k + m_k'P m_k, which loops give, and M_ab^2 <= M_aa M_bb as
 * Q is positive. So the score of class a may be wrong by 2^-22 sum_b sqrt(M_aa M_bb) s_b: s_b the size of the ridge's
 * score, 1 + |b| + sum_j |w_j x_j|, a rounding of the weight, one of the product, and as many for the discriminants'
 * own. */
#include "ridge_of.h"
#include "learn/head/folds.h"
#include "learn/head/head.h"
#include "options_of.h"
#include "ref_lda.h"
#include "ref_ridge.h"
#include "tenon/report.h"

static tnp_fit_options options_of(const char *lambda, const char *grid)
{
    tnp_fit_options o;
    tnp_fit_options_default(&o);
    o.method = TNP_METHOD_LDA;
    o.lambda = lambda_of(lambda);
    o.learn.grid = grid_of(grid);
    o.learn.folds = 3;
    o.select = TNP_SEARCH_ALL;
    o.rank.normalize = "none";
    return o;
}

static tn_status fit(const setting *s, const tnp_fit_options *o, tn_fit_info **info, tn_head **head)
{
    return tnp_fit(test_ctx, (const tn_features *const *)s->features, 2, s->labels, o, info, head);
}

/* The scores of all rows by a head are those of the loops at its lambda. */
static void check_head(const setting *s, const tn_head *head)
{
    const ref_problem *p = &s->p;
    size_t n = p->n, d = p->d, k = p->k;
    double lambda = tn_head_lambda(head)[0], bias;
    ref_real *want = ref_alloc(n * k, sizeof *want), *q = ref_alloc(k, sizeof *q), *w = ref_alloc(k * d, sizeof *w),
             *b = ref_alloc(k, sizeof *b);
    float *scores = ref_alloc(n * k, sizeof *scores);
    tn_scorer *scorer = NULL;
    ref_lda(p, NULL, (ref_real)lambda, p->x, n, want, q);
    ref_ridge(p, true, (ref_real)lambda, w, b);
    for (size_t c = 0; c < k; ++c) {
        double size = 0;
        for (size_t i = 0; i < n; ++i)
            size += p->y[i * k + c];
        q[c] = sqrtl((ref_real)n * (q[c] + 1 / (ref_real)size)); /* the root of M_cc, a little more */
    }
    assert_fine(test_ctx,
                tn_scorer_new(test_ctx, head, (const tn_features *const *)s->features, 2, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, n, scores));
    for (size_t i = 0; i < n; ++i) {
        ref_real all = 0;
        for (size_t c = 0; c < k; ++c) {
            bias = fabs((double)b[c]);
            ref_real size = 1 + (ref_real)bias;
            for (size_t j = 0; j < d; ++j)
                size += fabsl(w[c * d + j] * (ref_real)p->x[i * d + j]);
            all += q[c] * size;
        }
        for (size_t c = 0; c < k; ++c)
            assert_near_at(i, (double)scores[i * k + c], (double)want[i * k + c], 0x1p-22 * (double)(q[c] * all));
    }
    tn_scorer_free(scorer);
    free(want);
    free(q);
    free(w);
    free(b);
    free(scores);
}

/* Share of the rows of fold f that discriminants of all others are right about. */
static double accuracy_without(const ref_problem *p, const uint32_t *fold, size_t f, double lambda)
{
    ref_problem rest = {0, p->d, p->k, ref_alloc(p->n * p->d, sizeof(double)), ref_alloc(p->n * p->k, sizeof(double))};
    ref_real *scores = ref_alloc(p->n * p->k, sizeof *scores);
    double right = 0, all = 0;
    for (size_t i = 0; i < p->n; ++i)
        if (fold[i] != f) {
            memcpy(rest.x + rest.n * p->d, p->x + i * p->d, p->d * sizeof(double));
            memcpy(rest.y + rest.n++ * p->k, p->y + i * p->k, p->k * sizeof(double));
        }
    ref_lda(&rest, NULL, (ref_real)lambda, p->x, p->n, scores, NULL);
    for (size_t i = 0; i < p->n; ++i) {
        size_t best = 0;
        for (size_t c = 1; c < p->k; ++c)
            best = scores[i * p->k + c] > scores[i * p->k + best] ? c : best;
        all += fold[i] == f;
        right += fold[i] == f && p->y[i * p->k + best] == 1;
    }
    ref_problem_free(&rest);
    free(scores);
    return right / all;
}

static const size_t shapes[][3] = {{60, 6, 3}, {150, 12, 5}, {40, 60, 4}, {30, 80, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static setting shape(size_t z)
{
    return setting_of(REF_SIGNED, shapes[z][0], shapes[z][1], shapes[z][2], TN_TASK_MULTICLASS, AS_F64);
}

/* Every figure of the grid, and the best: of equals the largest. */
static void lambda_is_chosen_by_folds(void **state)
{
    (void)state;
    for (size_t z = 0; z < SHAPES; ++z)
        for (int held = 0; held < 2; ++held) {
            setting s = shape(z);
            tnp_fit_options o = options_of("auto", "0.03,0.3,3,30,300");
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            uint32_t *fold = NULL;
            size_t best = 0, folds = held ? 1 : 3, rows = 0;
            o.learn.holdout = held ? 0.3 : 0;
            assert_fine(test_ctx, held ? tnp_holdout_new(test_ctx, &s.y, TN_TASK_MULTICLASS, 0.3, 0, &fold, &rows)
                                       : tnp_folds_new(test_ctx, &s.y, TN_TASK_MULTICLASS, 3, 0, &fold));
            assert_fine(test_ctx, fit(&s, &o, &info, &head));
            assert_int_equal(info->grid_count, 5);
            assert_int_equal(info->folds, folds);
            assert_string_equal(info->lambda_rule, "cv");
            for (size_t g = 0; g < 5; ++g) {
                double mean = 0;
                for (size_t f = 0; f < folds; ++f)
                    mean += accuracy_without(&s.p, fold, f, info->grid[g]) / (double)folds;
                assert_near_at(g, info->grid_mean[g], mean, 1e-12);
                best = info->grid_mean[g] >= info->grid_mean[best] ? g : best;
            }
            assert_int_equal(info->grid_best, best);
            assert_true(tn_head_lambda(head)[0] == info->grid[best]);
            assert_null(tn_head_alpha(head));
            assert_string_equal(tn_head_method(head), "lda");
            assert_true(!held || info->validation_value == info->grid_mean[best]);
            assert_true(info->temperature > 0);
            check_head(&s, head);
            tnp_free(fold);
            tn_fit_info_free(info);
            tn_head_free(head);
            setting_free(&s);
        }
}

/* Without a grid: powers of 16 about the lambda that the evidence shares, of which the fourth is that. */
static void the_usual_grid_is_about_the_evidence(void **state)
{
    (void)state;
    setting s = shape(1);
    tnp_fit_options o = options_of("auto", "");
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    assert_fine(test_ctx, fit(&s, &o, &info, &head));
    assert_int_equal(info->grid_count, 6);
    for (size_t g = 0; g < 6; ++g)
        assert_true(info->grid[g] == ldexp(info->chosen->lambda_shared, 4 * ((int)g - 3)));
    check_head(&s, head);
    tn_fit_info_free(info);
    tn_head_free(head);
    setting_free(&s);
}

/* Nothing is held out for it but for a temperature that is asked for, and weights are those of the same lambda by
 * folds. */
static void a_lambda_that_is_given(void **state)
{
    (void)state;
    for (size_t z = 0; z < SHAPES; ++z) {
        setting s = shape(z);
        float *weight = NULL;
        for (int way = 0; way < 3; ++way) {
            tnp_fit_options o = options_of(way == 2 ? "auto" : "2.5", way == 2 ? "2.5" : "");
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            o.learn.calibrate = way == 1 ? TNP_CALIBRATE_YES : TNP_CALIBRATE_AUTO;
            assert_fine(test_ctx, fit(&s, &o, &info, &head));
            size_t size = s.p.k * s.p.d * sizeof *weight;
            assert_int_equal(info->folds, way == 0 ? 0 : 3);
            assert_int_equal(info->grid_count, way == 2);
            assert_string_equal(info->lambda_rule, way == 2 ? "cv" : "fixed");
            assert_true((info->temperature == 1) == (way == 0));
            assert_true(tn_head_lambda(head)[1] == 2.5);
            check_head(&s, head);
            if (!weight) {
                weight = ref_alloc(s.p.k * s.p.d, sizeof *weight);
                memcpy(weight, tn_head_weight(head), size);
            }
            assert_memory_equal(tn_head_weight(head), weight, size);
            tn_fit_info_free(info);
            tn_head_free(head);
        }
        free(weight);
        setting_free(&s);
    }
}

/* Rows of option valid choose as the same heads, one by one, would. */
static void other_rows_choose(void **state)
{
    (void)state;
    setting s = shape(1), v = setting_of(REF_SIGNED, 151, 12, 5, TN_TASK_MULTICLASS, AS_F64);
    const tn_features *const others[] = {v.features[0], v.features[1]};
    tnp_fit_options o = options_of("auto", "0.03,3,300");
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_labels *labels = NULL; /* that the call may rewrite */
    int64_t classes[151];
    size_t best = 0;
    for (size_t i = 0; i < 151; ++i)
        classes[i] = (int64_t)v.y.cls[v.y.first[i]];
    assert_fine(test_ctx,
                tn_labels_from_numbers(test_ctx, classes, 151, (const char *const *)s.labels->names, 5, &labels));
    o.valid = (tnp_valid){others, 2, labels};
    assert_fine(test_ctx, fit(&s, &o, &info, &head));
    for (size_t g = 0; g < 3; ++g) {
        double right = 0;
        ref_real scores[151 * 5];
        ref_lda(&s.p, NULL, (ref_real)info->grid[g], v.p.x, 151, scores, NULL);
        for (size_t i = 0; i < 151; ++i) {
            size_t first = 0;
            for (size_t c = 1; c < 5; ++c)
                first = scores[i * 5 + c] > scores[i * 5 + first] ? c : first;
            right += v.p.y[i * 5 + first];
        }
        assert_near_at(g, info->grid_mean[g], right / 151, 1e-12);
        best = info->grid_mean[g] >= info->grid_mean[best] ? g : best;
    }
    assert_int_equal(info->grid_best, best);
    assert_true(info->validation_value == info->grid_mean[best]);
    check_head(&s, head);
    tn_fit_info_free(info);
    tn_head_free(head);
    tn_labels_free(labels);
    setting_free(&s);
    setting_free(&v);
}

/* ---- method auto ---- */

/* Many classes in few columns, which a ridge masks, of sizes that differ too much for a penalty: discriminants win
 * alone, and the head is that of the method at their lambda. */
static void a_race_that_they_win(void **state)
{
    (void)state;
    enum { ROWS = 360, COLS = 6, CLASSES = 12 };
    setting s = {.p = ref_problem_of(REF_SIGNED, ROWS, COLS, CLASSES, 2)};
    double centre[CLASSES * COLS];
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < CLASSES * COLS; ++i)
        centre[i] = 3 * ref_normal(&rng);
    for (size_t i = 0; i < ROWS * COLS; ++i)
        s.p.x[i] = ldexp(centre[i / COLS % CLASSES * COLS + i % COLS] + ref_normal(&rng), -2 * (int)(i % COLS));
    for (size_t i = 0; i < ROWS * CLASSES; ++i)
        s.p.y[i] = i / CLASSES % CLASSES == i % CLASSES;
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    tnp_fit_options o = options_of("auto", "");
    tn_fit_info *won = NULL, *info = NULL;
    tn_head *winner = NULL, *head = NULL;
    const tn_tried *chosen = NULL;
    o.method = TNP_METHOD_AUTO;
    assert_fine(test_ctx, fit(&s, &o, &won, &winner));
    for (size_t i = 0; i < won->tried_count; ++i)
        chosen = won->tried[i]->chosen ? won->tried[i] : chosen;
    assert_string_equal(chosen->method, "lda");
    assert_string_equal(tn_head_method(winner), "lda");
    assert_true(tn_head_lambda(winner)[0] == chosen->lambda && won->lambda[0] == chosen->lambda);
    assert_true(won->temperature > 0 && chosen->mean > 0.9);
    check_head(&s, winner);
    o = options_of("1", "");
    o.lambda.value = chosen->lambda;
    assert_fine(test_ctx, fit(&s, &o, &info, &head));
    assert_memory_equal(tn_head_weight(winner), tn_head_weight(head), CLASSES * COLS * sizeof(float));
    assert_memory_equal(tn_head_bias(winner), tn_head_bias(head), CLASSES * sizeof(float));
    tn_fit_info_free(won);
    tn_fit_info_free(info);
    tn_head_free(winner);
    tn_head_free(head);
    setting_free(&s);
}

/* ---- few rows ---- */

/* One row of every class: the nearest class mean whatever lambda is, and nobody knows how sure it is. */
static void one_row_of_every_class(void **state)
{
    (void)state;
    static const char *const lambdas[] = {"auto", "0.01", "100"};
    setting s = {.p = ref_problem_of(REF_SIGNED, 7, 12, 7, 5)};
    for (size_t i = 0; i < 49; ++i)
        s.p.y[i] = i % 8 == 0;
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    for (size_t l = 0; l < 3; ++l) {
        tnp_fit_options o = options_of(lambdas[l], "");
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        assert_fine(test_ctx, fit(&s, &o, &info, &head));
        assert_true(info->temperature == 0 && info->temperature_note);
        assert_true(isfinite(tn_head_lambda(head)[0]) && tn_head_lambda(head)[0] > 0);
        check_head(&s, head);
        tn_fit_info_free(info);
        tn_head_free(head);
        o.learn.calibrate = TNP_CALIBRATE_YES;
        assert_fails(test_ctx, TN_ERR_DATA, "calibrate yes", fit(&s, &o, &info, &head));
    }
    setting_free(&s);
}

/* Rows of a class that are all the same have no scatter: lambda is all there is. */
static void rows_that_repeat(void **state)
{
    (void)state;
    setting s = {.p = ref_problem_of(REF_SIGNED, 90, 5, 3, 9)};
    for (size_t i = 0; i < 90; ++i)
        for (size_t j = 0; j < 5; ++j) {
            s.p.x[i * 5 + j] = s.p.x[i % 3 * 5 + j];
            if (j < 3)
                s.p.y[i * 3 + j] = j == i % 3;
        }
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    for (int fine = 0; fine < 2; ++fine) {
        tnp_fit_options o = options_of(fine ? "0.5" : "auto", "");
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        assert_fine(test_ctx, fit(&s, &o, &info, &head));
        if (fine)
            check_head(&s, head);
        assert_true(tn_head_lambda(head)[0] > 0);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    setting_free(&s);
}

/* ---- what it is not for ---- */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *lambda, *grid, *why;
        tn_task task;
        bool intercept;
    } cases[] = {
        {"auto", "", "needs one class per row, but the task is multilabel", TN_TASK_MULTILABEL, true},
        {"auto", "", "needs one class per row, but the task is regression", TN_TASK_REGRESSION, true},
        {"auto", "", "got option intercept no", TN_TASK_MULTICLASS, false},
        {"shared", "", "option lambda shared is for option method evidence; lda takes auto or a number",
         TN_TASK_MULTICLASS, true},
        {"2", "1,2", "option lambda and option grid: got both", TN_TASK_MULTICLASS, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        setting s = setting_of(REF_SIGNED, 40, 6, 3, cases[i].task, AS_F64);
        tnp_fit_options o = options_of(cases[i].lambda, cases[i].grid);
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        o.rank.evidence.intercept = cases[i].intercept;
        assert_fails(test_ctx, TN_ERR_ARG, cases[i].why, fit(&s, &o, &info, &head));
        setting_free(&s);
    }
}

/* Leave-one-out in closed form is the ridge's, and the report must not say that it is the head's. */
static void the_report_says_whose_figures_are(void **state)
{
    (void)state;
    setting s = shape(1);
    tnp_fit_options o = options_of("auto", "");
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    char *text = NULL;
    assert_fine(test_ctx, fit(&s, &o, &info, &head));
    assert_fine(test_ctx, tn_fit_table(test_ctx, info, NULL, false, &text));
    assert_non_null(strstr(text, "(of a ridge head)"));
    assert_non_null(strstr(text, "method        lda"));
    tn_text_free(text);
    tn_fit_info_free(info);
    tn_head_free(head);
    setting_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    setting s = shape(0);
    size_t blocks = tnp_live_blocks(test_ctx);
    for (int fixed = 0; fixed < 2; ++fixed) {
        tnp_fit_options o = options_of(fixed ? "1" : "auto", fixed ? "" : "1,10");
        tn_status st = TN_ERR_MEMORY;
        for (size_t k = 1; st != TN_OK; k += k < 40 ? 1 : 5) {
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            tnp_fail_allocation(test_ctx, k);
            st = fit(&s, &o, &info, &head);
            tnp_fail_allocation(test_ctx, 0);
            assert_true(st == TN_OK || st == TN_ERR_MEMORY);
            tn_fit_info_free(info);
            tn_head_free(head);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
    }
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lambda_is_chosen_by_folds),
        cmocka_unit_test(the_usual_grid_is_about_the_evidence),
        cmocka_unit_test(a_lambda_that_is_given),
        cmocka_unit_test(other_rows_choose),
        cmocka_unit_test(a_race_that_they_win),
        cmocka_unit_test(one_row_of_every_class),
        cmocka_unit_test(rows_that_repeat),
        cmocka_unit_test(refusals),
        cmocka_unit_test(the_report_says_whose_figures_are),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
