/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Temperatures against a dense search of the same likelihood in long double, and probabilities made with them. */
#include "fixtures/problems.h"
#include "learn/head/calibrate.h"
#include "learn/head/head.h"

enum { N = 60, K = 4 };

typedef struct sample {
    tn_labels *labels;
    tnp_targets y;
    float scores[N * K];
    double weight[N];
    tn_task task;
    double threshold;
} sample;

/* Scores that favour the right class by `signal` over noise of size 1, all times `scale`. */
static sample *sample_of(tn_task task, double signal, double scale, double threshold, uint64_t seed)
{
    sample *s = ref_alloc(1, sizeof *s);
    ref_rng rng = ref_rng_of(seed);
    double y[N * K] = {0};
    for (size_t i = 0; i < N; ++i) {
        size_t own = ref_below(&rng, K);
        s->weight[i] = (double)(1 + ref_below(&rng, 3));
        for (size_t k = 0; k < K; ++k) {
            y[i * K + k] = task == TN_TASK_MULTICLASS ? k == own : ref_below(&rng, 3) == 0;
            s->scores[i * K + k] = (float)(threshold + scale * (signal * (y[i * K + k] - 0.5) + ref_normal(&rng)));
        }
    }
    s->labels = labels_of(y, N, K, task);
    s->y = targets_of(s->labels);
    s->task = task;
    s->threshold = threshold;
    return s;
}

static void sample_free(sample *s)
{
    labels_done(s->labels);
    free(s);
}

static bool has(const sample *s, size_t i, size_t k)
{
    for (size_t p = s->y.first[i]; p < s->y.first[i + 1]; ++p)
        if (s->y.cls[p] == k)
            return true;
    return false;
}

/* Probability that a row's labels are what they are, as minus its logarithm, at one temperature. */
static ref_real row_likelihood(const sample *s, size_t i, ref_real temperature)
{
    const float *v = s->scores + i * K;
    ref_real sum = 0, most = -INFINITY, own = 0;
    for (size_t k = 0; k < K; ++k) {
        ref_real z = ((ref_real)v[k] - (s->task == TN_TASK_MULTILABEL ? (ref_real)s->threshold : 0)) / temperature;
        if (s->task == TN_TASK_MULTILABEL) {
            ref_real m = has(s, i, k) ? z : -z;
            sum += m > 0 ? log1pl(expl(-m)) : -m + log1pl(expl(m));
        }
        most = fmaxl(most, z);
        own = has(s, i, k) ? z : own;
    }
    if (s->task == TN_TASK_MULTILABEL)
        return sum;
    for (size_t k = 0; k < K; ++k)
        sum += expl((ref_real)v[k] / temperature - most);
    return most + logl(sum) - own;
}

static ref_real likelihood(const sample *s, const size_t *rows, size_t count, bool weighted, ref_real temperature)
{
    ref_real sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += (weighted ? (ref_real)s->weight[i] : 1) * row_likelihood(s, rows ? rows[i] : i, temperature);
    return sum;
}

/* No temperature of a fine grid, nor of a finer one about the answer, is better by more than rounding. */
static void check_fit(const sample *s, bool weighted)
{
    double t = 0;
    assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s->y, s->task, s->threshold, NULL, N,
                                              weighted ? s->weight : NULL, s->scores, &t));
    assert_true(t > 0 && isfinite(t));
    ref_real got = likelihood(s, NULL, N, weighted, t);
    for (int g = -300; g <= 300; ++g) {
        assert_true(likelihood(s, NULL, N, weighted, t * powl(10, g / 100.0L)) >= got * (1 - 1e-12L));
        assert_true(likelihood(s, NULL, N, weighted, t * (1 + g * 1e-6L)) >= got * (1 - 1e-12L));
    }
}

static void the_best_temperature(void **state)
{
    (void)state;
    const double scales[] = {1e-3, 1, 50};
    for (int multilabel = 0; multilabel < 2; ++multilabel)
        for (size_t z = 0; z < 3; ++z)
            for (uint64_t seed = 1; seed < 4; ++seed)
                for (int weighted = 0; weighted < 2; ++weighted) {
                    sample *s = sample_of(multilabel ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, 1.5, scales[z],
                                          multilabel ? 0.5 : 0, seed);
                    check_fit(s, weighted);
                    sample_free(s);
                }
}

/* Scores of chosen rows: score i belongs to rows[i]. */
static void of_some_rows(void **state)
{
    (void)state;
    sample *s = sample_of(TN_TASK_MULTICLASS, 1.5, 1, 0, 5);
    size_t rows[N / 2];
    float part[N / 2 * K];
    double t = 0;
    for (size_t i = 0; i < N / 2; ++i) {
        rows[i] = 2 * i + 1;
        memcpy(part + i * K, s->scores + rows[i] * K, K * sizeof *part);
    }
    assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s->y, s->task, 0, rows, N / 2, s->weight, part, &t));
    ref_real got = likelihood(s, rows, N / 2, true, t);
    for (int g = -300; g <= 300; ++g)
        assert_true(likelihood(s, rows, N / 2, true, t * powl(10, g / 100.0L)) >= got * (1 - 1e-12L));
    sample_free(s);
}

/* Root mean square distance from the row's mean, or from the threshold. */
static double spread(const sample *s)
{
    double sum = 0;
    for (size_t i = 0; i < N; ++i) {
        double mean = 0;
        for (size_t k = 0; k < K; ++k)
            mean += (double)s->scores[i * K + k] / K;
        for (size_t k = 0; k < K; ++k) {
            double d = (double)s->scores[i * K + k] - (s->task == TN_TASK_MULTICLASS ? mean : s->threshold);
            sum += d * d / (N * K);
        }
    }
    return sqrt(sum);
}

/* What the head of calibrate.c says of decisions that are all right: their likelihood and one more decision, wrong by
 * their mean margin. */
static ref_real with_one_error(const sample *s, ref_real temperature)
{
    ref_real margins = 0;
    size_t n = 0;
    for (size_t i = 0; i < N; ++i)
        for (size_t k = 0; k < K; ++k) {
            const float *v = s->scores + i * K;
            ref_real rival = -INFINITY, m = (ref_real)v[k] - (ref_real)s->threshold;
            for (size_t l = 0; l < K; ++l)
                rival = l == k ? rival : fmaxl(rival, (ref_real)v[l]);
            if (s->task == TN_TASK_MULTILABEL) {
                margins += has(s, i, k) ? m : -m;
                ++n;
            } else if (has(s, i, k)) {
                margins += (ref_real)v[k] - rival;
                ++n;
            }
        }
    return likelihood(s, NULL, N, false, temperature) + log1pl(expl(margins / n / temperature));
}

/* Decisions that are all wrong have no finite optimum: spread * 1e6, the same probability for every class. Decisions
 * that are all right must not claim certainty: 60 of them, or 240, allow for about one error. */
static void certainty_from_few_rows(void **state)
{
    (void)state;
    for (int multilabel = 0; multilabel < 2; ++multilabel)
        for (int wrong = 0; wrong < 2; ++wrong)
            for (double scale = 1e-4; scale < 1e5; scale *= 1e4) {
                sample *s =
                    sample_of(multilabel ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, wrong ? -30 : 30, scale, 0, 6);
                double t = 0, end = spread(s) * 1e6;
                assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s->y, s->task, 0, NULL, N, NULL, s->scores, &t));
                if (wrong)
                    assert_near(t / end, 1, 1e-6);
                ref_real got = with_one_error(s, t);
                for (int g = -300; !wrong && g <= 300; ++g)
                    assert_true(with_one_error(s, t * powl(10, g / 100.0L)) >= got * (1 - 1e-12L));
                sample_free(s);
            }
}

/* NaN: no model that could know. The temperature is that of the same scores without the class and the rows; with
 * nothing left there is none. */
static void scores_of_models_that_cannot_know(void **state)
{
    (void)state;
    sample *s = sample_of(TN_TASK_MULTICLASS, 1.5, 1, 0, 9);
    size_t first[N + 1] = {0}, left = 0;
    uint32_t cls[N];
    float part[N * (K - 1)];
    double t = 0, want = 0;
    for (size_t i = 0; i < N; ++i) {
        s->scores[i * K + 2] = NAN;
        if (s->y.cls[i] == 2)
            continue;
        cls[left] = s->y.cls[i] - (s->y.cls[i] > 2);
        for (size_t k = 0; k < K; ++k)
            if (k != 2)
                part[left * (K - 1) + k - (k > 2)] = s->scores[i * K + k];
        first[left + 1] = left + 1;
        ++left;
    }
    assert_true(left > 20 && left < N);
    const tnp_targets y = {.rows = left, .classes = K - 1, .first = first, .cls = cls};
    assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s->y, s->task, 0, NULL, N, NULL, s->scores, &t));
    assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &y, s->task, 0, NULL, left, NULL, part, &want));
    assert_near(t, want, 1e-8); /* both stop at 1e-9 of t */
    for (size_t i = 0; i < N * K; ++i)
        s->scores[i] = NAN;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
        t = 7;
        assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s->y, (tn_task)task, 0, NULL, N, NULL, s->scores, &t));
        assert_true(t == 0);
    }
    sample_free(s);
}

static void scores_that_say_nothing(void **state)
{
    (void)state;
    sample *s = sample_of(TN_TASK_MULTICLASS, 1, 1, 0, 6);
    double t = 0;
    for (size_t i = 0; i < N * K; ++i)
        s->scores[i] = 0.25f;
    assert_fine(test_ctx, tnp_temperature_fit(test_ctx, &s->y, s->task, 0, NULL, N, NULL, s->scores, &t));
    assert_true(t == 1);
    t = 7;
    assert_fails(test_ctx, TN_ERR_ARG, "regression",
                 tnp_temperature_fit(test_ctx, &s->y, TN_TASK_REGRESSION, 0, NULL, N, NULL, s->scores, &t));
    assert_true(t == 7);
    sample_free(s);
}

/* Probabilities: softmax or logistic of the scores over the temperature; they sum to 1, and keep the order. */
static void probabilities(void **state)
{
    (void)state;
    const char *const names[K] = {"a", "b", "c", "d"};
    for (int multilabel = 0; multilabel < 2; ++multilabel)
        for (double scale = 0.01; scale < 1e7; scale *= 1e4) {
            tn_task task = multilabel ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS;
            sample *s = sample_of(task, 1, scale, 0.5, 8);
            tn_head *head = NULL;
            float p[N * K];
            assert_fine(test_ctx, tnp_head_new(test_ctx, task, names, K, 2, 1, "svm", &head));
            memcpy(p, s->scores, sizeof p);
            assert_true(tn_head_temperature(head) == 0);
            assert_fails(test_ctx, TN_ERR_UNSUPPORTED, "option calibrate yes",
                         tn_head_probabilities(test_ctx, head, N, p));
            assert_memory_equal(p, s->scores, sizeof p);
            head->temperature = 0.7;
            head->threshold = 0.5;
            assert_fine(test_ctx, tn_head_probabilities(test_ctx, head, N, p));
            for (size_t i = 0; i < N; ++i) {
                double sum = 0;
                for (size_t k = 0; k < K; ++k) {
                    ref_real want = 0;
                    for (size_t l = 0; !multilabel && l < K; ++l)
                        want += expl(((ref_real)s->scores[i * K + l] - (ref_real)s->scores[i * K + k]) / 0.7L);
                    want = multilabel ? 1 / (1 + expl(-((ref_real)s->scores[i * K + k] - 0.5L) / 0.7L)) : 1 / want;
                    assert_near_at(i, (double)p[i * K + k], (double)want, 0x1p-23);
                    assert_true(p[i * K + k] >= 0 && p[i * K + k] <= 1);
                    sum += (double)p[i * K + k];
                    for (size_t l = 0; l < K; ++l)
                        assert_true(s->scores[i * K + k] < s->scores[i * K + l] || p[i * K + k] >= p[i * K + l]);
                }
                assert_true(multilabel || fabs(sum - 1) <= K * 0x1p-24);
            }
            tn_head_free(head);
            sample_free(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_temperature),    cmocka_unit_test(of_some_rows),
        cmocka_unit_test(certainty_from_few_rows), cmocka_unit_test(scores_of_models_that_cannot_know),
        cmocka_unit_test(scores_that_say_nothing), cmocka_unit_test(probabilities),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
