/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weighted rows in least squares. A whole weight is the row so many times over, as far as the fit goes: weights and
 * leave-one-out are compared with ridge regression of the repeated rows, in long double. The evidence is not that of
 * repeated rows, which would be more observations: it is compared with the Gaussian density of rows times the roots of
 * their weights.
 *
 * Tolerances: the problems have condition numbers below 1e4, so that double leaves 1e-10 of every figure; heads are
 * float. */
#include "scene_of.h"
#include "learn/ridge/loo.h"
#include "ref_evidence.h"
#include "ref_ridge.h"
#include "select/ensemble.h"
#include "select/evidence.h"

#include <math.h>
#include <stdlib.h>

enum { ROUTES = 2, MOST = 80 }; /* moments; singular values */

typedef struct weighted {
    ref_problem p;
    double weight[MOST];
    tn_features *features;
    tn_feed *feed;
    tn_labels *labels;
    tnp_targets y;
    tnp_ridge *ridge;
    tn_evidence *evidence;
} weighted;

static void begin(weighted *v, size_t n, size_t d, bool intercept, int route)
{
    const bool constant[K] = {false};
    const size_t member = 0;
    tnp_evidence_options opt;
    tnp_ensemble *e = NULL;
    *v = (weighted){.p = ref_problem_of(REF_SIGNED, n, d, K, 5 * n + d)};
    for (size_t i = 0; i < n; ++i)
        v->weight[i] = 1 + (double)(i * i % 4);
    v->features = features_of("x", v->p.x, n, d, AS_F64);
    v->feed = feed_of(v->features, TN_NORM_NONE);
    v->labels = labels_of(v->p.y, n, K, TN_TASK_MULTICLASS);
    v->y = targets_of(v->labels);
    v->y.weight = v->weight;
    tnp_evidence_options_default(&opt);
    opt.intercept = intercept;
    const tn_feed *const *feeds = (const tn_feed *const *)&v->feed;
    if (route == 0) {
        assert_fine(test_ctx, tnp_ensemble_new(test_ctx, feeds, 1, &v->y, intercept, false, &e));
        assert_fine(test_ctx, tnp_ensemble_ridge(test_ctx, e, &member, 1, &v->ridge));
        tnp_ensemble_free(e);
    } else {
        assert_fine(test_ctx, tnp_ridge_root(test_ctx, feeds, 1, &v->y, intercept, &v->ridge));
    }
    assert_fine(test_ctx, tnp_evidence_new(test_ctx, v->ridge->spectrum, n, d, constant, &opt, &v->evidence));
}

static void end(weighted *v)
{
    tnp_ridge_free(v->ridge);
    tn_evidence_free(v->evidence);
    labels_done(v->labels);
    tn_feed_free(v->feed);
    tn_features_close(v->features);
    ref_problem_free(&v->p);
}

/* Every row as often as its weight says, all copies of `skip` left out. */
static ref_problem repeated(const weighted *v, size_t skip)
{
    size_t d = v->p.d, total = 0;
    ref_problem p = {0, d, K, ref_alloc(4 * v->p.n * d, sizeof(double)), ref_alloc(4 * v->p.n * K, sizeof(double))};
    for (size_t i = 0; i < v->p.n; ++i)
        for (size_t copy = 0; i != skip && copy < (size_t)v->weight[i]; ++copy, ++total) {
            memcpy(p.x + total * d, v->p.x + i * d, d * sizeof *p.x);
            memcpy(p.y + total * K, v->p.y + i * K, K * sizeof *p.y);
        }
    p.n = total;
    return p;
}

static const size_t shapes[][2] = {{60, 5}, {30, 20}, {14, 25}};

typedef void check_fn(weighted *v, bool intercept);

static void everywhere(check_fn *check)
{
    for (size_t z = 0; z < sizeof shapes / sizeof *shapes; ++z)
        for (int route = 0; route < ROUTES; ++route)
            for (int intercept = 0; intercept < 2; ++intercept) {
                weighted v;
                begin(&v, shapes[z][0], shapes[z][1], intercept != 0, route);
                check(&v, intercept != 0);
                end(&v);
            }
}

/* log N(y | 0, W^-1/beta + XX'/alpha) = log N(ry | 0, I/beta + (rX)(rX)'/alpha) + 1/2 sum log g, r = sqrt g; a flat
 * intercept takes -1/2 log(sum g / n), so that one weight for all is none. */
static void check_evidence(weighted *v, bool intercept)
{
    ref_eigen q = ref_eigen_exact(&v->p, v->weight, intercept);
    ref_real constant = 0, total = 0;
    for (size_t i = 0; i < v->p.n; ++i) {
        constant += logl(v->weight[i]) / 2;
        total += v->weight[i];
    }
    constant -= intercept ? logl(total / (ref_real)v->p.n) / 2 : 0;
    for (size_t c = 0; c < K; ++c) {
        double lambda = v->evidence->lambda[c];
        ref_real null = ref_f(&q, c, INFINITY) + constant;
        assert_near_at(c, v->evidence->log_class_null[c], (double)null, 1e-10);
        assert_near_at(c, v->evidence->log_class[c], (double)(ref_f(&q, c, lambda) + constant), 1e-9);
        for (double move = 0.99; move < 1.02; move += 0.02)
            assert_true(ref_f(&q, c, lambda * move) <= ref_f(&q, c, lambda) + 1e-9L);
    }
    ref_eigen_free(&q);
}

static void weighted_evidence_equals_the_density(void **state)
{
    (void)state;
    everywhere(check_evidence);
}

static void check_weights(weighted *v, bool intercept)
{
    const double lambda[K] = {0.3, 2, 10};
    float *got = ref_alloc(K * v->p.d, sizeof *got), bias[K];
    ref_real *want = ref_alloc(K * v->p.d, sizeof *want), b[K];
    ref_problem p = repeated(v, SIZE_MAX);
    assert_fine(test_ctx,
                tnp_ridge_weights(test_ctx, v->ridge, (const tn_feed *const *)&v->feed, 1, lambda, got, bias));
    for (size_t c = 0; c < K; ++c) {
        ref_ridge(&p, intercept, lambda[c], want, b);
        for (size_t j = 0; j < v->p.d; ++j)
            assert_near_at(j, (double)got[c * v->p.d + j], (double)want[c * v->p.d + j], 1e-6);
        assert_near_at(c, (double)bias[c], (double)b[c], 1e-6);
    }
    ref_problem_free(&p);
    free(got);
    free(want);
}

static void weighted_fit_equals_that_of_repeated_rows(void **state)
{
    (void)state;
    everywhere(check_weights);
}

static void check_loo(weighted *v, bool intercept)
{
    tnp_sample *sample = NULL;
    tnp_loo *loo = NULL;
    double *got = ref_alloc(v->p.n * K, sizeof *got);
    ref_real *w = ref_alloc(K * v->p.d, sizeof *w), b[K];
    const double lambdas[] = {0.5, 5, INFINITY};
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &v->y, TN_TASK_MULTICLASS, SIZE_MAX, 1, &sample));
    assert_fine(test_ctx, tnp_loo_new(test_ctx, v->ridge, (const tn_feed *const *)&v->feed, 1, &v->y, sample, &loo));
    for (size_t z = 0; z < 3; ++z) {
        assert_fine(test_ctx, tnp_loo_predict(test_ctx, loo, lambdas[z], got));
        for (size_t i = 0; i < v->p.n; ++i) {
            ref_problem p = repeated(v, i);
            ref_ridge(&p, intercept, lambdas[z], w, b);
            for (size_t c = 0; c < K; ++c) {
                ref_real want = b[c];
                for (size_t j = 0; j < v->p.d; ++j)
                    want += w[c * v->p.d + j] * (ref_real)v->p.x[i * v->p.d + j];
                assert_near_at(i, got[i * K + c], (double)want, 1e-8);
            }
            ref_problem_free(&p);
        }
    }
    tnp_loo_free(loo);
    tnp_sample_free(sample);
    free(got);
    free(w);
}

static void weighted_leave_one_out_equals_refits(void **state)
{
    (void)state;
    everywhere(check_loo);
}

/* ---- the whole way ---- */

typedef struct fitted {
    tn_fit_info *info;
    tn_head *head;
} fitted;

/* weight: of each row, or NULL. */
static fitted fit_with(const scene *s, int method, int class_weight, const double *weight)
{
    fitted f = {0};
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.learn.class_weight = class_weight;
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s->labels, weight, s->n));
    assert_fine(test_ctx, fit(s, &opt, &f.info, &f.head));
    return f;
}

static void fitted_free(fitted *f)
{
    tn_fit_info_free(f->info);
    tn_head_free(f->head);
}

static void same_head(const fitted *a, const fitted *b)
{
    assert_int_equal(tn_head_dim(a->head), tn_head_dim(b->head));
    for (size_t c = 0; c < K; ++c)
        assert_near_at(c, tn_head_lambda(a->head)[c] / tn_head_lambda(b->head)[c], 1, 1e-6);
    for (size_t i = 0; i < K * tn_head_dim(a->head); ++i)
        assert_near_at(i, (double)tn_head_weight(a->head)[i], (double)tn_head_weight(b->head)[i], 1e-6);
    assert_near(a->info->chosen->log_evidence, b->info->chosen->log_evidence, 1e-7);
}

static const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_RIDGE_CV, TNP_METHOD_LDA};

/* Balanced is N / (K n_class) for the rows of a class; one weight for all rows is none. */
static void balanced_classes_are_the_weights_they_say(void **state)
{
    (void)state;
    double weight[70], same[70];
    size_t sizes[K] = {0};
    scene s = scene_of(70, 6, 9, TN_TASK_MULTICLASS, AS_F32);
    for (size_t i = 0; i < 70; ++i)
        ++sizes[s.labels->cls[i]];
    for (size_t i = 0; i < 70; ++i) {
        weight[i] = 70.0 / (K * (double)sizes[s.labels->cls[i]]);
        same[i] = 3;
    }
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        fitted a = fit_with(&s, methods[m], TNP_WEIGHT_BALANCED, NULL),
               b = fit_with(&s, methods[m], TNP_WEIGHT_NONE, weight);
        same_head(&a, &b);
        fitted_free(&a);
        fitted_free(&b);
    }
    fitted a = fit_with(&s, TNP_METHOD_EVIDENCE, TNP_WEIGHT_NONE, NULL),
           b = fit_with(&s, TNP_METHOD_EVIDENCE, TNP_WEIGHT_NONE, same);
    assert_near(a.info->chosen->log_evidence / b.info->chosen->log_evidence, 1, 1e-6); /* the first in float products */
    assert_near(a.info->chosen->lambda_shared * 3 / b.info->chosen->lambda_shared, 1, 1e-4);
    fitted_free(&a);
    fitted_free(&b);
    scene_free(&s);
}

/* Rows of weight 0 are rows without a label; the ridge's choice of a set goes by the weights too. */
static void rows_of_weight_zero_leave(void **state)
{
    (void)state;
    double weight[60];
    scene s = scene_of(60, 6, 9, TN_TASK_MULTICLASS, AS_F64), t = scene_of(60, 6, 9, TN_TASK_MULTICLASS, AS_F64);
    for (size_t i = 0; i < 60; ++i) {
        weight[i] = i % 5 ? 1 + (double)(i % 3) : 0;
        t.labels->known[i] = weight[i] > 0;
    }
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        fitted a = fit_with(&s, methods[m], TNP_WEIGHT_NONE, weight),
               b = fit_with(&t, methods[m], TNP_WEIGHT_NONE, weight);
        assert_int_equal(a.info->ranking->rows, 48);
        assert_int_equal(a.info->ranking->rows_left_out, 12);
        same_head(&a, &b);
        fitted_free(&a);
        fitted_free(&b);
    }
    scene_free(&s);
    scene_free(&t);
}

/* The same to the bit for every method that visits rows one by one: a row that is not there has no turn. */
static void rows_of_weight_zero_have_no_turn(void **state)
{
    (void)state;
    static const int others[] = {TNP_METHOD_SVM, TNP_METHOD_LOGISTIC, TNP_METHOD_PA};
    double weight[60];
    scene s = scene_of(60, 6, 9, TN_TASK_MULTICLASS, AS_F64), t = scene_of(60, 6, 9, TN_TASK_MULTICLASS, AS_F64);
    for (size_t i = 0; i < 60; ++i) {
        weight[i] = i % 5 ? 1 + (double)(i % 3) : 0;
        t.labels->known[i] = weight[i] > 0;
    }
    for (size_t m = 0; m < sizeof others / sizeof *others; ++m) {
        fitted a = fit_with(&s, others[m], TNP_WEIGHT_NONE, weight),
               b = fit_with(&t, others[m], TNP_WEIGHT_NONE, weight);
        assert_memory_equal(tn_head_weight(a.head), tn_head_weight(b.head), K * tn_head_dim(a.head) * sizeof(float));
        fitted_free(&a);
        fitted_free(&b);
    }
    scene_free(&s);
    scene_free(&t);
}

/* Weights by which only the first class matters: lambda is infinite, and naming that class is right for all that counts.
 * Class means, right for most rows, are not taken. */
static void class_means_are_judged_by_the_weights(void **state)
{
    (void)state;
    enum { N = 60, D = 2 };
    double x[N * D], weight[N];
    int64_t y[N];
    ref_rng rng = ref_rng_of(5);
    for (size_t i = 0; i < N; ++i) {
        y[i] = (int64_t)(i % 2);
        weight[i] = i % 2 ? 1e-4 : 1000;
        for (size_t j = 0; j < D; ++j)
            x[i * D + j] = ref_normal(&rng) + (i % 2 ? 0.5 : -0.5);
    }
    tn_features *features = features_of("x", x, N, D, AS_F64);
    tn_labels *labels = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, y, N, NULL, 2, &labels));
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, labels, weight, N));
    assert_fine(test_ctx, tn_fit(test_ctx, (const tn_features *const *)&features, 1, labels, NULL, &info, &head));
    assert_true(info->class_means == 0);
    assert_true(tn_head_bias(head)[0] > tn_head_bias(head)[1]);
    tn_fit_info_free(info);
    tn_head_free(head);
    tn_labels_free(labels);
    tn_features_close(features);
}

static void weights_that_least_squares_cannot_have(void **state)
{
    (void)state;
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    double none[40] = {0};
    scene s = scene_of(40, 4, 5, TN_TASK_MULTILABEL, AS_F64), r = scene_of(40, 4, 5, TN_TASK_REGRESSION, AS_F64);
    tnp_fit_options_default(&opt);
    opt.learn.class_weight = TNP_WEIGHT_BALANCED;
    for (size_t m = 0; m < 2; ++m) {
        opt.method = methods[m];
        assert_fails(test_ctx, TN_ERR_ARG, "use option method svm or logistic", fit(&s, &opt, &info, &head));
        assert_fails(test_ctx, TN_ERR_ARG, "needs classes", fit(&r, &opt, &info, &head));
    }
    opt.learn.class_weight = TNP_WEIGHT_NONE;
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s.labels, none, 40));
    assert_fails(test_ctx, TN_ERR_DATA, "no labelled rows of a weight above 0", fit(&s, &opt, &info, &head));
    scene_free(&s);
    scene_free(&r);
}

/* A ranking and the ranking inside a fit are one: both go by the weights of the labels. A head names them. */
static void a_ranking_goes_by_the_weights_of_the_labels(void **state)
{
    (void)state;
    double weight[60];
    tnp_rank_options options;
    tn_ranking *even = NULL, *by_weight = NULL;
    scene s = scene_of(60, 6, 9, TN_TASK_MULTICLASS, AS_F64);
    for (size_t i = 0; i < 60; ++i)
        weight[i] = 1 + (double)(i % 4);
    tnp_rank_options_default(&options);
    assert_fine(test_ctx, rank(&s, &options, &even));
    fitted f = fit_with(&s, TNP_METHOD_EVIDENCE, TNP_WEIGHT_NONE, weight);
    assert_fine(test_ctx, rank(&s, &options, &by_weight));
    assert_int_equal(by_weight->count, f.info->ranking->count);
    for (size_t c = 0; c < by_weight->count; ++c) {
        assert_string_equal(by_weight->candidates[c]->name, f.info->ranking->candidates[c]->name);
        /* the moments of one candidate and the blocks of all of them are sums in another order */
        assert_near_at(c, by_weight->candidates[c]->log_evidence, f.info->ranking->candidates[c]->log_evidence, 1e-7);
        assert_true(fabs(by_weight->candidates[c]->log_evidence - even->candidates[c]->log_evidence) > 1e-3);
    }
    assert_non_null(strstr(tn_head_options(f.head), "\"sample-weight\":\"weights in memory\""));
    tn_ranking_free(even);
    tn_ranking_free(by_weight);
    fitted_free(&f);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_evidence_equals_the_density),
        cmocka_unit_test(weighted_fit_equals_that_of_repeated_rows),
        cmocka_unit_test(weighted_leave_one_out_equals_refits),
        cmocka_unit_test(balanced_classes_are_the_weights_they_say),
        cmocka_unit_test(rows_of_weight_zero_leave),
        cmocka_unit_test(rows_of_weight_zero_have_no_turn),
        cmocka_unit_test(class_means_are_judged_by_the_weights),
        cmocka_unit_test(weights_that_least_squares_cannot_have),
        cmocka_unit_test(a_ranking_goes_by_the_weights_of_the_labels),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
