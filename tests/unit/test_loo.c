/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out in closed form against fitting again without the row, in long double, and the figures drawn from it
 * against their definitions. */
#include "ridge_of.h"
#include "learn/ridge/loo.h"
#include "select/evidence.h"
#include "ref_ridge.h"

enum { K = 3 };

typedef struct left_out {
    setting s;
    tnp_ridge *ridge;
    tnp_sample *sample;
    tnp_loo *loo;
} left_out;

static left_out loo_of(setting s, bool dual, bool intercept, size_t most)
{
    left_out v = {.s = s, .ridge = ridge_of(&s, dual, intercept)};
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &s.y, s.labels->task, most, 1, &v.sample));
    /* what it borrows must not be a copy on this function's stack */
    static tnp_targets targets;
    targets = s.y;
    assert_fine(test_ctx,
                tnp_loo_new(test_ctx, v.ridge, (const tn_feed *const *)s.feed, 2, &targets, v.sample, &v.loo));
    return v;
}

static void loo_done(left_out *v)
{
    tnp_loo_free(v->loo);
    tnp_sample_free(v->sample);
    tnp_ridge_free(v->ridge);
}

static setting problem(ref_kind kind, size_t n, size_t d, tn_task task)
{
    setting s = setting_of(kind, n, d, K, task, AS_F64);
    for (size_t i = 0; task == TN_TASK_REGRESSION && i < n * K; ++i)
        s.p.y[i] = s.labels->values[i] -= 1000;
    return s;
}

/* Twice: a first lambda may go by the matrix, further ones go by its form. */
static void check_predictions(const setting *s, bool dual, bool intercept, double lambda, size_t most)
{
    left_out v = loo_of(*s, dual, intercept, most);
    double *got = ref_alloc(v.sample->count * K, sizeof *got);
    ref_real *want = ref_alloc(s->p.n * K, sizeof *want);
    ref_loo(&s->p, intercept, lambda, want);
    for (int time = 0; time < 2; ++time) {
        assert_fine(test_ctx, tnp_loo_predict(test_ctx, v.loo, lambda, got));
        for (size_t i = 0; i < v.sample->count; ++i)
            for (size_t c = 0; c < K; ++c)
                assert_near_at(v.sample->rows[i], got[i * K + c], (double)want[v.sample->rows[i] * K + c], 1e-8);
    }
    free(got);
    free(want);
    loo_done(&v);
}

static void predictions_equal_refits(void **state)
{
    (void)state;
    const size_t sizes[][2] = {{25, 6}, {12, 30}, {16, 15}, {15, 16}, {16, 16}, {4, 2}};
    const double lambdas[] = {1e-2, 1, 100, INFINITY};
    for (size_t z = 0; z < 6; ++z)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            setting s = problem(REF_SIGNED, sizes[z][0], sizes[z][1], (tn_task)task);
            for (int bits = 0; bits < 4; ++bits)
                for (size_t l = 0; l < 4; ++l)
                    check_predictions(&s, bits & 1, bits & 2, lambdas[l], l % 2 ? SIZE_MAX : s.p.n / 2);
            setting_free(&s);
        }
}

/* Where features interpolate the labels, lambda may go to the spectrum's floor, and the scan for the best one does:
 * 1 - H_ii is then of the order of lambda, a small difference of numbers near 1/N unless it is formed otherwise. Only
 * the library's own regime here: the dual as soon as D >= N - 1. */
static void predictions_at_tiny_lambda(void **state)
{
    (void)state;
    const double lambdas[] = {1e-4, 1e-7, 1e-9};
    for (int intercept = 0; intercept < 2; ++intercept)
        for (size_t l = 0; l < 3; ++l) {
            setting s = problem(REF_SIGNED, 9, 20, TN_TASK_MULTICLASS);
            check_predictions(&s, true, intercept != 0, lambdas[l], SIZE_MAX);
            setting_free(&s);
        }
}

/* Data of other kinds, at one lambda. */
static void predictions_of_odd_data(void **state)
{
    (void)state;
    for (int kind = 0; kind < REF_KINDS; ++kind) {
        for (int tall = 0; tall < 2; ++tall) {
            setting s = problem((ref_kind)kind, tall ? 18 : 11, tall ? 9 : 14, TN_TASK_MULTICLASS);
            for (int bits = 0; bits < 4; ++bits)
                check_predictions(&s, bits & 1, bits & 2, 0.1, SIZE_MAX);
            setting_free(&s);
        }
    }
}

/* How right each row is, by refits. */
static void right_of(const setting *s, bool intercept, double lambda, double *right)
{
    size_t n = s->p.n;
    ref_real *out = ref_alloc(n * K, sizeof *out);
    ref_loo(&s->p, intercept, lambda, out);
    for (size_t i = 0; i < n; ++i) {
        size_t best = 0;
        right[i] = 0;
        for (size_t c = 0; c < K; ++c) {
            best = out[i * K + c] > out[i * K + best] ? c : best;
            if (s->labels->task == TN_TASK_MULTILABEL && (out[i * K + c] > 0.5L) == (s->p.y[i * K + c] > 0.5))
                right[i] += 1.0 / K;
        }
        if (s->labels->task == TN_TASK_MULTICLASS)
            right[i] = s->p.y[i * K + best];
    }
    free(out);
}

/* Every fifth row gets a wrong class, so that no model is right everywhere. */
static void spoil(setting *s)
{
    for (size_t i = 0; s->labels->task == TN_TASK_MULTICLASS && i < s->p.n; i += 5) {
        uint32_t *cls = &s->labels->cls[i];
        s->p.y[i * K + *cls] = 0;
        *cls = (*cls + 1) % K;
        s->p.y[i * K + *cls] = 1;
    }
}

/* Figures of the predictions at lambda. */
static tn_status measure(const left_out *v, tn_task task, double lambda, tnp_loo_result *out)
{
    double *predicted = ref_alloc(v->sample->count * K, sizeof *predicted);
    tn_status st = tnp_loo_predict(test_ctx, v->loo, lambda, predicted);
    if (st == TN_OK)
        tnp_loo_judge(v->sample, &v->s.y, task, predicted, out);
    free(predicted);
    return st;
}

static void check_accuracy(tn_task task, size_t n, size_t d, bool intercept, size_t most)
{
    setting s = problem(REF_SIGNED, n, d, task);
    spoil(&s);
    double right[64], mean = 0, variance = 0, weights = 0;
    left_out v = loo_of(s, d + 1 >= n, intercept, most);
    tnp_loo_result result;
    right_of(&s, intercept, 0.5, right);
    for (size_t i = 0; i < v.sample->count; ++i) {
        mean += v.sample->weight[i] * right[v.sample->rows[i]];
        weights += v.sample->weight[i] * v.sample->weight[i];
    }
    for (size_t i = 0; i < v.sample->count; ++i)
        variance += (right[v.sample->rows[i]] - mean) * (right[v.sample->rows[i]] - mean) / (double)v.sample->count;
    assert_fine(test_ctx, measure(&v, task, 0.5, &result));
    assert_near(result.accuracy, mean, 1e-12);
    assert_near(result.se, sqrt(variance * weights), 1e-12);
    assert_true(isnan(result.r2));
    if (most == SIZE_MAX && task == TN_TASK_MULTICLASS) /* the textbook's: sqrt(p (1 - p) / N) */
        assert_near(result.se, sqrt(mean * (1 - mean) / (double)n), 1e-12);
    assert_true(mean > 0.3 && mean < 1); /* or the comparison says little */
    loo_done(&v);
    setting_free(&s);
}

static void accuracy_and_its_error(void **state)
{
    (void)state;
    for (int intercept = 0; intercept < 2; ++intercept) {
        check_accuracy(TN_TASK_MULTICLASS, 40, 5, intercept != 0, SIZE_MAX);
        check_accuracy(TN_TASK_MULTICLASS, 20, 25, intercept != 0, SIZE_MAX);
        check_accuracy(TN_TASK_MULTICLASS, 40, 5, intercept != 0, 15);
        check_accuracy(TN_TASK_MULTILABEL, 40, 5, intercept != 0, SIZE_MAX);
        check_accuracy(TN_TASK_MULTILABEL, 40, 5, intercept != 0, 17);
    }
}

static void r2_of_regression(void **state)
{
    (void)state;
    setting s = problem(REF_SIGNED, 30, 5, TN_TASK_REGRESSION);
    for (size_t i = 0; i < 30; ++i)
        s.p.y[i * K + 2] = s.labels->values[i * K + 2] = 0; /* a constant output has no r2 and must not count */
    left_out v = loo_of(s, false, true, SIZE_MAX);
    ref_real out[30 * K], sum = 0;
    tnp_loo_result result;
    ref_loo(&s.p, true, 0.5L, out);
    for (size_t c = 0; c < 2; ++c) {
        ref_real mean = 0, error = 0, total = 0;
        for (size_t i = 0; i < 30; ++i)
            mean += (ref_real)s.p.y[i * K + c] / 30;
        for (size_t i = 0; i < 30; ++i) {
            error += (out[i * K + c] - (ref_real)s.p.y[i * K + c]) * (out[i * K + c] - (ref_real)s.p.y[i * K + c]);
            total += ((ref_real)s.p.y[i * K + c] - mean) * ((ref_real)s.p.y[i * K + c] - mean);
        }
        sum += (1 - error / total) / 2;
    }
    assert_fine(test_ctx, measure(&v, TN_TASK_REGRESSION, 0.5, &result));
    assert_near(result.r2, (double)sum, 1e-8);
    assert_true(isnan(result.accuracy) && isnan(result.se));
    loo_done(&v);
    setting_free(&s);
}

/* The chosen lambda beats every lambda of a fine grid and the model without features. Golden section leaves log lambda
 * within 1e-4 of the minimum, where the error is flat: its relative excess is below 1e-7. */
static size_t check_lambda(ref_kind kind, size_t n, size_t d, bool intercept, uint64_t turn)
{
    setting s = problem(kind, n, d, turn % 2 ? TN_TASK_MULTICLASS : TN_TASK_REGRESSION);
    left_out v = loo_of(s, d + 1 >= n, intercept, SIZE_MAX);
    double lambda = -1;
    ref_real null = ref_loo_error(&s.p, intercept, INFINITY), best = null, got;
    bool no_features = true;
    assert_fine(test_ctx, tnp_loo_lambda(test_ctx, v.loo, v.ridge->spectrum, &lambda));
    assert_true(lambda > 0);
    for (int g = -40; g <= 60; ++g) {
        ref_real error = ref_loo_error(&s.p, intercept, powl(10, (ref_real)g / 10));
        no_features &= error > null;
        best = error < best ? error : best;
    }
    got = ref_loo_error(&s.p, intercept, lambda);
    if (!(got <= best * (1 + 1e-7L))) {
        print_error("%s N %zu D %zu: lambda %g has error %Lg, the grid %Lg\n", ref_kind_name(kind), n, d, lambda, got,
                    best);
        fail();
    }
    assert_true(isinf(lambda) || !no_features);
    loo_done(&v);
    setting_free(&s);
    return no_features;
}

static void the_best_lambda_by_brute_force(void **state)
{
    (void)state;
    size_t no_features = 0;
    for (uint64_t turn = 0; turn < 4; ++turn) {
        check_lambda(REF_SIGNED, 20, 5, turn & 1, turn / 2);
        check_lambda(REF_NONNEG, 18, 4, turn & 1, turn / 2);
        for (size_t d = 1; d < 6; ++d)
            no_features += check_lambda(REF_NOISE, 20, d + 1, turn & 1, 1);
        check_lambda(REF_SIGNED, 9, 12, turn & 1, turn / 2);
        check_lambda(REF_LOW_RANK, 16, 9, turn & 1, turn / 2);
    }
    assert_true(no_features > 0); /* noise is best left alone now and then, and then lambda is infinite */
}

/* Features that are all zero have no spectrum: no features is the only answer. */
static void zero_features_have_infinite_lambda(void **state)
{
    (void)state;
    enum { N = 10 };
    double x[N * 2] = {0}, lambda = 0;
    ref_problem p = ref_problem_of(REF_SIGNED, N, 2, K, 1);
    setting s = {.p = p, .labels = labels_of(p.y, N, K, TN_TASK_MULTICLASS)};
    s.y = targets_of(s.labels);
    for (int f = 0; f < 2; ++f) {
        s.features[f] = features_of(f ? "b" : "a", x, N, 1, AS_F64);
        s.feed[f] = feed_of(s.features[f], TN_NORM_NONE);
    }
    left_out v = loo_of(s, false, true, SIZE_MAX);
    assert_fine(test_ctx, tnp_loo_lambda(test_ctx, v.loo, v.ridge->spectrum, &lambda));
    assert_true(isinf(lambda));
    loo_done(&v);
    setting_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    setting s = problem(REF_SIGNED, 20, 5, TN_TASK_MULTICLASS);
    for (int dual = 0; dual < 2; ++dual) {
        left_out v = loo_of(s, dual != 0, true, 8);
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        for (;; ++k) {
            tnp_loo *loo = NULL;
            tnp_loo_result r = {-1, -1, -1};
            tnp_fail_allocation(test_ctx, k);
            tn_status st = tnp_loo_new(test_ctx, v.ridge, (const tn_feed *const *)s.feed, 2, &s.y, v.sample, &loo);
            assert_true(st == TN_OK || loo == NULL);
            if (st == TN_OK)
                st = measure(&(left_out){.s = s, .sample = v.sample, .loo = loo}, TN_TASK_MULTICLASS, 1, &r);
            tnp_fail_allocation(test_ctx, 0);
            tnp_loo_free(loo);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_true(r.accuracy == -1);
        }
        assert_true(k > 8);
        loo_done(&v);
    }
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_equal_refits),
        cmocka_unit_test(predictions_at_tiny_lambda),
        cmocka_unit_test(predictions_of_odd_data),
        cmocka_unit_test(accuracy_and_its_error),
        cmocka_unit_test(r2_of_regression),
        cmocka_unit_test(the_best_lambda_by_brute_force),
        cmocka_unit_test(zero_features_have_infinite_lambda),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
