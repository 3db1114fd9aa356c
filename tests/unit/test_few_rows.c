/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heads of few rows, from one row of each class up: what they predict, against the nearest class mean by loops, and
 * what is said of them, against models that are really made without the rows. */
#include "ridge_of.h"
#include "learn/head/folds.h"
#include "learn/head/head.h"
#include "ref_ridge.h"
#include "tenon/report.h"
#include "options_of.h"

/* A problem of the given class of each row. Class centres lie `apart` from each other in units of the noise. */
static setting problem(const size_t *cls, size_t n, size_t d, size_t k, double apart, tn_task task, uint64_t seed)
{
    setting s = {.p = {n, d, k, ref_alloc(n * d, sizeof(double)), ref_alloc(n * k, sizeof(double))}};
    ref_rng rng = ref_rng_of(seed);
    double *centre = ref_alloc(k * d, sizeof *centre), *half = ref_alloc(n * d, sizeof *half);
    for (size_t j = 0; j < k * d; ++j)
        centre[j] = apart * ref_normal(&rng);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < d; ++j)
            s.p.x[i * d + j] = (double)(float)(centre[cls[i] * d + j] + ref_normal(&rng));
        for (size_t c = 0; c < k; ++c)
            s.p.y[i * k + c] = task == TN_TASK_REGRESSION ? s.p.x[i * d] + (double)c : cls[i] == c;
    }
    for (size_t f = 0; f < 2; ++f) {
        size_t from = f ? d / 2 : 0, cols = f ? d - d / 2 : d / 2;
        for (size_t i = 0; i < n; ++i)
            memcpy(half + i * cols, s.p.x + i * d + from, cols * sizeof *half);
        s.features[f] = array_of(f ? "b" : "a", half, n, cols, AS_F32);
        s.feed[f] = feed_of(s.features[f], TN_NORM_NONE);
    }
    s.labels = labels_of(s.p.y, n, k, task);
    s.y = targets_of(s.labels);
    free(centre);
    free(half);
    return s;
}

/* n rows of each of k classes. */
static setting even(size_t n, size_t d, size_t k, double apart, uint64_t seed)
{
    size_t cls[400];
    for (size_t i = 0; i < n * k; ++i)
        cls[i] = (i * 7) % (n * k) % k;
    return problem(cls, n * k, d, k, apart, TN_TASK_MULTICLASS, seed);
}

static tnp_fit_options options_of(int method, const char *lambda)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.lambda = lambda_of(lambda);
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "none";
    opt.rank.loo = TNP_ALL;
    return opt;
}

typedef struct fitted {
    tn_fit_info *info;
    tn_head *head;
    char *text, *json;
} fitted;

static fitted fit(const setting *s, const tnp_fit_options *opt)
{
    fitted f = {0};
    assert_fine(test_ctx,
                tnp_fit(test_ctx, (const tn_features *const *)s->features, 2, s->labels, opt, &f.info, &f.head));
    assert_fine(test_ctx, tn_fit_table(test_ctx, f.info, NULL, false, &f.text));
    assert_fine(test_ctx, tn_fit_json(test_ctx, f.info, NULL, &f.json));
    for (size_t i = 0; i < s->p.k * s->p.d; ++i)
        assert_true(isfinite(tn_head_weight(f.head)[i]));
    for (size_t i = 0; i < s->p.k; ++i)
        assert_true(isfinite(tn_head_bias(f.head)[i]));
    return f;
}

static void fitted_free(fitted *f)
{
    tn_fit_info_free(f->info);
    tn_head_free(f->head);
    tn_text_free(f->text);
    tn_text_free(f->json);
}

/* The class that the head's own numbers give x, and the second best score's distance. */
static size_t best_of(const tn_head *head, const double *x, double *lead)
{
    size_t k = tn_head_classes(head), d = tn_head_dim(head), best = 0;
    double first = -INFINITY, second = -INFINITY;
    for (size_t c = 0; c < k; ++c) {
        double score = (double)tn_head_bias(head)[c];
        for (size_t j = 0; j < d; ++j)
            score += (double)tn_head_weight(head)[c * d + j] * x[j];
        second = score > first ? first : fmax(second, score);
        best = score > first ? c : best;
        first = fmax(first, score);
    }
    *lead = first - second;
    return best;
}

static size_t nearest_mean(const setting *s, const double *x)
{
    size_t best = 0, d = s->p.d;
    double least = INFINITY;
    for (size_t c = 0; c < s->p.k; ++c) {
        double distance = 0, rows = 0;
        for (size_t i = 0; i < s->p.n; ++i)
            rows += s->p.y[i * s->p.k + c];
        for (size_t j = 0; j < d; ++j) {
            double mean = 0;
            for (size_t i = 0; i < s->p.n; ++i)
                mean += s->p.y[i * s->p.k + c] * s->p.x[i * d + j] / rows;
            distance += (x[j] - mean) * (x[j] - mean);
        }
        if (rows > 0 && distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

/* The head gives random rows the class of the nearest mean; ties within the rounding of float weights, 1e-5, are not
 * looked at. */
static void check_nearest(const setting *s, const tn_head *head)
{
    ref_rng rng = ref_rng_of(99);
    size_t named[64] = {0}, different = 0;
    for (int t = 0; t < 200; ++t) {
        double x[64], lead;
        for (size_t j = 0; j < s->p.d; ++j)
            x[j] = s->p.x[ref_below(&rng, s->p.n) * s->p.d + j] + ref_normal(&rng);
        size_t got = best_of(head, x, &lead);
        if (lead > 1e-5)
            assert_int_equal(got, nearest_mean(s, x));
        different += named[got]++ == 0;
    }
    assert_true(different > s->p.k / 2);
}

/* ---- one row of each class ---- */

static void one_row_a_class_named_class_0_for_everything(void **state)
{
    (void)state;
    static const char *const rules[] = {"auto", "shared", "per-class", "gcv", "loo", "1e12"};
    const size_t shapes[][2] = {{16, 40}, {16, 8}, {2, 6}, {5, 4}}; /* classes, columns */
    for (size_t z = 0; z < 4; ++z)
        for (size_t r = 0; r < sizeof rules / sizeof *rules; ++r) {
            setting s = even(1, shapes[z][1], shapes[z][0], 1, 7 + z);
            tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, rules[r]);
            fitted f = fit(&s, &opt);
            double lead;
            for (size_t i = 0; i < s.p.n; ++i)
                assert_true(s.p.y[i * s.p.k + best_of(f.head, s.p.x + i * s.p.d, &lead)] == 1);
            /* A class that gains by itself while all together do not: the rule per-class takes none of them then. */
            if (f.info->class_means == 1)
                check_nearest(&s, f.head);
            assert_true(f.info->class_means == 1 || strcmp(rules[r], "per-class") == 0);
            assert_true(isnan(f.info->chosen->loo_accuracy) && f.info->loo_note);
            assert_true(f.info->temperature == 0 && f.info->temperature_note);
            assert_non_null(strstr(f.json, "\"loo_accuracy\":null"));
            assert_non_null(strstr(f.json, "\"temperature\":null"));
            assert_null(strstr(f.text, "explains the labels"));
            assert_null(strstr(f.text, "LOO accuracy  0"));
            if (f.info->class_means == 1) {
                assert_non_null(strstr(f.json, "\"class_means\":1"));
                assert_non_null(strstr(f.text, "Warning: "));
                assert_true(isinf(f.info->lambda[0]) && isinf(tn_head_lambda(f.head)[0]));
            }
            fitted_free(&f);
            setting_free(&s);
        }
}

/* Cross-validation said 0.0000 for every C, and a temperature of 1.7e+04. */
static void cross_validation_of_single_rows(void **state)
{
    (void)state;
    setting s = even(1, 12, 8, 1, 3);
    for (int m = TNP_METHOD_RIDGE_CV; m <= TNP_METHOD_SVM_CV; ++m) {
        tnp_fit_options opt = options_of(m, "auto");
        double lead;
        opt.learn.cost = 3;
        fitted f = fit(&s, &opt);
        assert_int_equal(f.info->grid_count, 0);
        assert_true(f.info->temperature == 0);
        assert_true(m == TNP_METHOD_SVM || f.info->grid_note);
        assert_true(m != TNP_METHOD_SVM_CV || f.info->cost == 3);
        assert_true(m != TNP_METHOD_RIDGE_CV || f.info->class_means == 1);
        assert_true(m != TNP_METHOD_LDA || f.info->class_means == 0);
        assert_true(m == TNP_METHOD_SVM || strstr(f.json, "\"cross_validation\":null"));
        for (size_t i = 0; i < 8; ++i)
            assert_true(s.p.y[i * 8 + best_of(f.head, s.p.x + i * 12, &lead)] == 1);
        fitted_free(&f);
        opt.learn.calibrate = TNP_CALIBRATE_YES; /* what cannot be is refused when it is asked for */
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        assert_fails(test_ctx, TN_ERR_DATA, "option calibrate yes",
                     tnp_fit(test_ctx, (const tn_features *const *)s.features, 2, s.labels, &opt, &info, &head));
    }
    setting_free(&s);
}

/* ---- leave-one-out ---- */

/* Scores of row i (k) by ridge regression, a lambda for each class, on all rows but those where `without` is true. */
static void refit(const setting *s, const bool *without, const double *lambda, size_t row, ref_real *out)
{
    size_t n = 0, d = s->p.d, k = s->p.k;
    ref_problem p = {0, d, k, ref_alloc(s->p.n * d, sizeof(double)), ref_alloc(s->p.n * k, sizeof(double))};
    ref_real *w = ref_alloc(k * d, sizeof *w), *b = ref_alloc(k, sizeof *b);
    for (size_t i = 0; i < s->p.n; ++i)
        if (!without[i]) {
            memcpy(p.x + n * d, s->p.x + i * d, d * sizeof *p.x);
            memcpy(p.y + n * k, s->p.y + i * k, k * sizeof *p.y);
            ++n;
        }
    p.n = n;
    for (size_t c = 0; c < k; ++c) {
        if (c == 0 || lambda[c] != lambda[c - 1])
            ref_ridge(&p, true, (ref_real)lambda[c], w, b);
        out[c] = b[c];
        for (size_t j = 0; j < d; ++j)
            out[c] += w[c * d + j] * (ref_real)s->p.x[row * d + j];
    }
    ref_problem_free(&p);
    free(w);
    free(b);
}

/* Share of rows that are right when each is left out with all rows of its group. */
static double accuracy_by_refits(const setting *s, const uint32_t *group, const double *lambda)
{
    size_t k = s->p.k;
    double right = 0, judged = 0;
    for (size_t i = 0; i < s->p.n; ++i) {
        bool without[400] = {0};
        ref_real scores[32];
        size_t best = 0, own = 0, others = 0;
        for (size_t j = 0; j < s->p.n; ++j)
            without[j] = group[j] == group[i];
        for (size_t c = 0; c < k; ++c)
            own = s->p.y[i * k + c] == 1 ? c : own;
        for (size_t j = 0; j < s->p.n; ++j)
            others += j != i && s->p.y[j * k + own] == 1;
        if (others == 0)
            continue;
        refit(s, without, lambda, i, scores);
        for (size_t c = 1; c < k; ++c)
            best = scores[c] > scores[best] ? c : best;
        right += best == own;
        judged += 1;
    }
    return right / judged;
}

/* Was that of the shared lambda whatever the head had. */
static void leave_one_out_is_that_of_the_saved_head(void **state)
{
    (void)state;
    static const char *const rules[] = {"shared", "per-class", "gcv", "loo", "30", "cv"};
    double seen[6];
    size_t different = 0;
    for (int wide = 0; wide < 2; ++wide) {
        setting s = even(9, wide ? 36 : 6, 4, 0.6, 21);
        uint32_t alone[36];
        for (size_t i = 0; i < 36; ++i)
            alone[i] = (uint32_t)i;
        for (size_t r = 0; r < 6; ++r) {
            bool cv = strcmp(rules[r], "cv") == 0;
            tnp_fit_options opt = options_of(cv ? TNP_METHOD_RIDGE_CV : TNP_METHOD_EVIDENCE, cv ? "auto" : rules[r]);
            opt.learn.grid = grid_of("500");
            fitted f = fit(&s, &opt);
            assert_true(f.info->class_means == 0);
            seen[r] = f.info->chosen->loo_accuracy;
            assert_near_at(r, seen[r], accuracy_by_refits(&s, alone, f.info->lambda), 1e-12);
            different += seen[r] != seen[0];
            fitted_free(&f);
        }
        setting_free(&s);
    }
    assert_true(different > 2); /* or the shared lambda's figure would pass */
}

/* Two to eight rows per class: one of every class is left out at a time. */
static void small_classes_lose_a_row_each(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 8; n += n < 4 ? 1 : 4)
        for (int wide = 0; wide < 2; ++wide) {
            setting s = even(n, wide ? 26 : 5, 5, 0.8, 60 + n);
            uint32_t *group = NULL;
            assert_fine(test_ctx, tnp_folds_new(test_ctx, &s.y, TN_TASK_MULTICLASS, n, 4, &group));
            for (int own = 0; own < 2; ++own) {
                tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, own ? "per-class" : "0.7");
                opt.rank.seed = 4;
                fitted f = fit(&s, &opt);
                assert_near(f.info->chosen->loo_accuracy, accuracy_by_refits(&s, group, f.info->lambda), 1e-12);
                assert_true(f.info->temperature > 0);
                fitted_free(&f);
            }
            tnp_free(group);
            setting_free(&s);
        }
}

/* Scores of x (k) by the nearest class mean as docs/math.md writes it, of the rows where `without` is false. */
static void mean_scores(const setting *s, const bool *without, const double *x, ref_real *out)
{
    size_t d = s->p.d, k = s->p.k;
    ref_real *mean = ref_alloc(k * d, sizeof *mean), *centre = ref_alloc(d, sizeof *centre), total = 0;
    for (size_t c = 0; c < k; ++c) {
        ref_real rows = 0;
        for (size_t i = 0; i < s->p.n; ++i)
            for (size_t j = 0; j < d && !without[i] && s->p.y[i * k + c] == 1; ++j) {
                mean[c * d + j] += (ref_real)s->p.x[i * d + j];
                rows += j == 0;
            }
        for (size_t j = 0; j < d; ++j) {
            mean[c * d + j] /= rows;
            centre[j] += mean[c * d + j] / (ref_real)k;
        }
    }
    for (size_t c = 0; c < k; ++c) {
        ref_real far = 0, near = 0;
        for (size_t j = 0; j < d; ++j) {
            far += ((ref_real)x[j] - centre[j]) * ((ref_real)x[j] - centre[j]);
            near += ((ref_real)x[j] - mean[c * d + j]) * ((ref_real)x[j] - mean[c * d + j]);
            total += (mean[c * d + j] - centre[j]) * (mean[c * d + j] - centre[j]);
        }
        out[c] = (far - near) / 2;
    }
    for (size_t c = 0; c < k; ++c)
        out[c] = 0.5L + out[c] * (ref_real)k / total;
    free(mean);
    free(centre);
}

/* The head of a few rows scores by the mean of both, and is judged as such; a rule that is named gives the ridge alone.
 * Float weights: 1e-5 of scores near 1. */
static void few_rows_share_the_head_with_class_means(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 8; n += 3) {
        setting s = even(n, 30, 5, 1, 80 + n);
        size_t rows = s.p.n, right = 0;
        bool none[64] = {0};
        uint32_t *group = NULL;
        tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, "shared");
        fitted f = fit(&s, &opt);
        assert_true(f.info->class_means == 0);
        fitted_free(&f);
        opt = options_of(TNP_METHOD_EVIDENCE, "auto");
        f = fit(&s, &opt);
        assert_true(f.info->class_means == 0.5 && isfinite(f.info->lambda[0]));
        assert_non_null(strstr(f.json, "\"class_means\":0.5"));
        assert_fine(test_ctx, tnp_folds_new(test_ctx, &s.y, TN_TASK_MULTICLASS, n, 0, &group));
        for (size_t i = 0; i < rows; ++i) {
            ref_real ridge[5], means[5];
            bool without[64] = {0};
            size_t best = 0;
            refit(&s, none, f.info->lambda, i, ridge);
            mean_scores(&s, none, s.p.x + i * 30, means);
            for (size_t c = 0; c < 5; ++c) {
                double score = (double)tn_head_bias(f.head)[c];
                for (size_t j = 0; j < 30; ++j)
                    score += (double)tn_head_weight(f.head)[c * 30 + j] * s.p.x[i * 30 + j];
                assert_near_at(i, score, (double)(ridge[c] + means[c]) / 2, 1e-5);
            }
            for (size_t j = 0; j < rows; ++j)
                without[j] = group[j] == group[i];
            refit(&s, without, f.info->lambda, i, ridge);
            mean_scores(&s, without, s.p.x + i * 30, means);
            for (size_t c = 1; c < 5; ++c)
                best = ridge[c] + means[c] > ridge[best] + means[best] ? c : best;
            right += s.p.y[i * 5 + best] == 1;
        }
        assert_near(f.info->chosen->loo_accuracy, (double)right / (double)rows, 1e-12);
        tnp_free(group);
        fitted_free(&f);
        setting_free(&s);
    }
}

/* One column of noise a hundred times as long as those that tell the classes: distances are that column's, and rows
 * that are left out say so. */
static void class_means_that_harm_are_not_taken(void **state)
{
    (void)state;
    const size_t n = 8, d = 6, k = 4;
    setting s = even(n, d, k, 4, 31);
    double *a = ref_alloc(n * k * 3, sizeof *a);
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < n * k; ++i) {
        s.p.x[i * d] = (double)(float)(400 * ref_normal(&rng));
        memcpy(a + i * 3, s.p.x + i * d, 3 * sizeof *a);
    }
    tn_feed_free(s.feed[0]);
    tn_features_close(s.features[0]);
    s.features[0] = array_of("a", a, n * k, 3, AS_F32);
    s.feed[0] = feed_of(s.features[0], TN_NORM_NONE);
    tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, "auto");
    fitted f = fit(&s, &opt);
    assert_true(f.info->class_means == 0);
    assert_true(f.info->chosen->loo_accuracy > 0.8);
    fitted_free(&f);
    setting_free(&s);
    free(a);
}

/* Rows that are alone in their class are not counted as errors. */
static void single_rows_among_larger_classes(void **state)
{
    (void)state;
    size_t cls[29];
    uint32_t alone[29];
    for (size_t i = 0; i < 29; ++i) {
        cls[i] = i == 3 ? 3 : i == 8 ? 4 : i % 3;
        alone[i] = (uint32_t)i;
    }
    setting s = problem(cls, 29, 9, 5, 0.8, TN_TASK_MULTICLASS, 5);
    tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, "2");
    fitted f = fit(&s, &opt);
    assert_near(f.info->chosen->loo_accuracy, accuracy_by_refits(&s, alone, f.info->lambda), 1e-12);
    assert_int_equal(f.info->ranking->single_classes, 2);
    assert_non_null(strstr(f.json, "\"single_row_classes\":2"));
    assert_non_null(strstr(f.text, "2 of 5 classes have one row"));
    fitted_free(&f);
    for (int m = TNP_METHOD_RIDGE_CV; m <= TNP_METHOD_SVM_CV; m += m == TNP_METHOD_LDA ? 2 : 1) {
        opt = options_of(m, "auto");
        f = fit(&s, &opt);
        assert_true(f.info->grid_count > 0 && f.info->grid_best < f.info->grid_count);
        assert_true(f.info->temperature > 0 && f.info->temperature < 100);
        fitted_free(&f);
    }
    setting_free(&s);
}

/* ---- features that say nothing ---- */

/* 270 rows of one class, 30 of another, and noise: class means would be right half of the time, the larger class is in
 * 9 of 10. */
static void noise_still_names_the_largest_class(void **state)
{
    (void)state;
    size_t cls[300];
    for (size_t i = 0; i < 300; ++i)
        cls[i] = i % 10 != 3;
    setting s = problem(cls, 300, 6, 2, 0, TN_TASK_MULTICLASS, 8);
    tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, "1e15");
    fitted f = fit(&s, &opt);
    assert_true(f.info->class_means == 0);
    for (size_t j = 0; j < 12; ++j)
        assert_true(tn_head_weight(f.head)[j] == 0);
    assert_near((double)tn_head_bias(f.head)[1], 0.9, 1e-6);
    assert_non_null(strstr(f.text, "of little use"));
    fitted_free(&f);
    setting_free(&s);
}

/* ---- other tasks, other shapes ---- */

/* Two rows: evidence and generalised cross-validation are flat in lambda, and rounding must not choose one. */
/* Of three rows a fold takes one and leaves two, where other classes keep three: their figure is too low, and says so. */
static void fewer_rows_than_folds(void **state)
{
    (void)state;
    for (int logistic = 0; logistic < 2; ++logistic)
        for (size_t rows = 3; rows <= 5; ++rows) {
            setting s = even(rows, 12, 6, 1, 3);
            tnp_fit_options opt = options_of(logistic ? TNP_METHOD_LOGISTIC_CV : TNP_METHOD_SVM_CV, "auto");
            fitted f = fit(&s, &opt);
            assert_int_equal(f.info->folds, 5);
            assert_true((f.info->grid_note != NULL) == (rows < 5));
            assert_true((strstr(f.text, "fewer left to learn from") != NULL) == (rows < 5));
            fitted_free(&f);
            setting_free(&s);
        }
}

static void two_rows_in_all(void **state)
{
    (void)state;
    static const char *const rules[] = {"auto", "gcv", "per-class"};
    for (size_t r = 0; r < 3; ++r) {
        setting s = even(1, 7, 2, 1, 40 + r);
        tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE, rules[r]);
        fitted f = fit(&s, &opt);
        double lead;
        assert_int_equal(best_of(f.head, s.p.x, &lead), s.p.y[1] == 1);
        assert_int_equal(best_of(f.head, s.p.x + 7, &lead), s.p.y[3] == 1);
        assert_null(strstr(f.text, "explains the labels"));
        fitted_free(&f);
        setting_free(&s);
    }
}

static void few_rows_of_other_tasks(void **state)
{
    (void)state;
    const size_t cls[] = {0, 1, 1, 1, 1};
    static const char *const rules[] = {"auto", "shared", "gcv", "loo", "0.5"};
    for (size_t n = 2; n <= 5; ++n)
        for (size_t r = 0; r < 5; ++r)
            for (int task = TN_TASK_MULTILABEL; task <= TN_TASK_REGRESSION; ++task)
                for (int cv = 0; cv < (task == TN_TASK_REGRESSION ? 2 : 3); ++cv) {
                    const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_RIDGE_CV, TNP_METHOD_SVM_CV};
                    setting s = problem(cls, n, 6, 2, 1, (tn_task)task, n);
                    tnp_fit_options opt = options_of(methods[cv], rules[r]);
                    fitted f = fit(&s, &opt);
                    assert_true(f.info->temperature >= 0 && f.info->temperature < 1e3);
                    assert_true(cv == 0 || f.info->grid_count > 0 || f.info->grid_note);
                    assert_true(cv == 0 || f.info->folds <= n);
                    fitted_free(&f);
                    setting_free(&s);
                }
}

/* Labels of one class more, which no row has; multi-label or not. */
static void relabel(setting *s, size_t classes, tn_task task)
{
    double *y = ref_alloc(s->p.n * classes, sizeof *y);
    for (size_t i = 0; i < s->p.n; ++i)
        memcpy(y + i * classes, s->p.y + i * s->p.k, s->p.k * sizeof *y);
    labels_done(s->labels);
    free(s->p.y);
    s->p.y = y;
    s->p.k = classes;
    s->labels = labels_of(y, s->p.n, classes, task);
    s->y = targets_of(s->labels);
}

/* A class that no row has: its scores are no part of the temperature. Both solvers stop within a gap of 1e-6, which
 * moves scores by sqrt(2e-6) |x| or less, and the temperature by as much; the absent class moved it by more than a
 * tenth. */
static void an_absent_class_distorted_temperatures(void **state)
{
    (void)state;
    size_t cls[48];
    for (size_t i = 0; i < 48; ++i)
        cls[i] = i % 3;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task)
        for (int m = TNP_METHOD_EVIDENCE; m <= TNP_METHOD_SVM_CV; ++m) {
            double temperature[2];
            if (m == TNP_METHOD_LDA && task == TN_TASK_MULTILABEL)
                continue;
            for (size_t absent = 0; absent < 2; ++absent) {
                setting s = problem(cls, 48, 5, 3, 0.7, TN_TASK_MULTICLASS, 9);
                relabel(&s, 3 + absent, (tn_task)task);
                tnp_fit_options opt = options_of(m, "0.9");
                opt.learn.calibrate = TNP_CALIBRATE_YES;
                opt.learn.grid = grid_of(m == TNP_METHOD_LDA ? "" : "0.5");
                opt.learn.gap = 1e-6;
                fitted f = fit(&s, &opt);
                temperature[absent] = f.info->temperature;
                fitted_free(&f);
                setting_free(&s);
            }
            assert_near_at((size_t)m, temperature[1] / temperature[0], 1, 5e-3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_a_class_named_class_0_for_everything),
        cmocka_unit_test(cross_validation_of_single_rows),
        cmocka_unit_test(leave_one_out_is_that_of_the_saved_head),
        cmocka_unit_test(small_classes_lose_a_row_each),
        cmocka_unit_test(few_rows_share_the_head_with_class_means),
        cmocka_unit_test(class_means_that_harm_are_not_taken),
        cmocka_unit_test(single_rows_among_larger_classes),
        cmocka_unit_test(noise_still_names_the_largest_class),
        cmocka_unit_test(fewer_rows_than_folds),
        cmocka_unit_test(two_rows_in_all),
        cmocka_unit_test(few_rows_of_other_tasks),
        cmocka_unit_test(an_absent_class_distorted_temperatures),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
