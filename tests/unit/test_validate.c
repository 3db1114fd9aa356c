/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Validation rows: a hold-out that the judged head has not seen, rows of option valid, and figures that are those of
 * the head that is saved. Every row of the leak has a column of its own, as large as all others together: a head that
 * was trained on the row knows its class, any other must guess. */
#include "fixtures/problems.h"
#include "pipeline/parts.h"
#include "tenon/evaluate.h"
#include "learn/head/head.h"

#include <math.h>

enum { N = 120, NOISE = 4, D = N + NOISE, K = 2 };

typedef struct task {
    tn_features *features;
    tn_labels *labels;
    double *x, y[N * K];
} task;

/* Random classes, columns of noise and, with `own`, a column per row; without, a column that tells the class somewhat. */
static task task_of(size_t seed, bool own, const char *name)
{
    task t = {.x = ref_alloc(N * D, sizeof *t.x)};
    ref_rng rng = ref_rng_of(seed);
    const char *const names[] = {"no", "yes"};
    int64_t classes[N];
    for (size_t i = 0; i < N; ++i) {
        size_t c = ref_below(&rng, K);
        classes[i] = (int64_t)c;
        t.y[i * K + c] = 1;
        for (size_t j = 0; j < NOISE; ++j)
            t.x[i * D + N + j] = 0.1 * (ref_unit(&rng) - 0.5);
        if (own)
            t.x[i * D + i] = 10;
        else
            t.x[i * D] = (c ? 1 : -1) + 4 * (ref_unit(&rng) - 0.5);
    }
    t.features = features_of(name, t.x, N, D, AS_F32);
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, classes, N, names, K, &t.labels));
    return t;
}

static void task_free(task *t)
{
    tn_features_close(t->features);
    tn_labels_free(t->labels);
    free(t->x);
}

static tn_status run(const task *t, const tnp_fit_options *o, tn_fit_info **info, tn_head **head)
{
    const tn_features *one = t->features;
    return tnp_fit(test_ctx, &one, 1, t->labels, o, info, head);
}

static const int batch[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_RIDGE_CV, TNP_METHOD_LDA,        TNP_METHOD_SVM,
                            TNP_METHOD_SVM_CV,   TNP_METHOD_LOGISTIC, TNP_METHOD_LOGISTIC_CV};
enum { BATCH = sizeof batch / sizeof *batch };

/* Share of the rows whose best score is their class's. */
static double accuracy(const tn_head *head, const task *t)
{
    float scores[N * K];
    double right = 0;
    tn_scorer *scorer = NULL;
    const tn_features *one = t->features;
    assert_fine(test_ctx, tn_scorer_new(test_ctx, head, &one, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, N, scores));
    for (size_t i = 0; i < N; ++i)
        right += t->y[i * K + (scores[i * K + 1] > scores[i * K] ? 1 : 0)];
    tn_scorer_free(scorer);
    return right / N;
}

static bool chooses(int method)
{
    return method == TNP_METHOD_RIDGE_CV || method == TNP_METHOD_LDA || method == TNP_METHOD_SVM_CV ||
           method == TNP_METHOD_LOGISTIC_CV;
}

/* Of 40 rows that are guessed 20 are right, with a deviation of 3.2: 32, which a grid of values would need luck to
 * reach, is nearly 4 above. The head, trained on all rows, knows them. */
static void a_holdout_is_not_trained_on(void **state)
{
    (void)state;
    task t = task_of(3, true, "leak");
    for (size_t m = 0; m < BATCH; ++m) {
        tnp_fit_options o;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fit_options_default(&o);
        o.method = batch[m];
        o.rank.normalize = "none";
        o.learn.holdout = 1.0 / 3;
        assert_fine(test_ctx, run(&t, &o, &info, &head));
        if (!(info->validation_value < 0.8))
            print_error("method %s: %g of the rows held out are right\n", info->method, info->validation_value);
        assert_true(info->validation_value < 0.8 && info->validation_value > 0.1);
        assert_string_equal(info->validation, "holdout");
        assert_string_equal(info->validation_metric, "accuracy");
        assert_in_range(info->validation_rows, 39, 41);
        assert_int_equal(info->folds, chooses(batch[m]) ? 1 : 0);
        if (batch[m] == TNP_METHOD_SVM || batch[m] == TNP_METHOD_LOGISTIC)
            assert_true(accuracy(head, &t) == 1);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    task_free(&t);
}

/* The same seed holds the same rows out, another one others; the error is that of a share of the rows. */
static void holdouts_are_seeded(void **state)
{
    (void)state;
    task t = task_of(5, false, "seeds");
    double value[3];
    for (size_t run_ = 0; run_ < 3; ++run_) {
        tnp_fit_options o;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fit_options_default(&o);
        o.method = TNP_METHOD_LOGISTIC;
        o.rank.normalize = "none";
        o.rank.seed = run_ / 2;
        o.learn.holdout = 0.3;
        assert_fine(test_ctx, run(&t, &o, &info, &head));
        value[run_] = info->validation_value;
        assert_near(info->validation_se, sqrt(value[run_] * (1 - value[run_]) / (double)info->validation_rows), 1e-12);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    assert_true(value[0] == value[1]);
    assert_true(value[0] !=
                value[2]); /* 36 of 120 rows each: two draws agree by chance once in seven, this one does not */
    task_free(&t);
}

/* The figure is that of the head that is saved, on rows that are no part of its training, which is that of the same fit
 * without them. */
static void valid_rows_are_not_trained_on(void **state)
{
    (void)state;
    task t = task_of(7, false, "f"), v = task_of(8, false, "f");
    for (size_t m = 0; m < BATCH; ++m) {
        const tn_features *given = v.features;
        tnp_fit_options o;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fit_options_default(&o);
        o.method = batch[m];
        o.rank.normalize = "none";
        o.valid = (tnp_valid){&given, 1, v.labels};
        assert_fine(test_ctx, run(&t, &o, &info, &head));
        assert_string_equal(info->validation, "valid");
        assert_int_equal(info->validation_rows, N);
        assert_near(info->validation_value, accuracy(head, &v), 1e-12);
        assert_true(info->validation_value > 0.6); /* the column tells 3 rows of 4 */
        if (!chooses(batch[m])) {
            tn_head *plain = NULL;
            tn_fit_info *other = NULL;
            o.valid = (tnp_valid){NULL, 0, NULL};
            assert_fine(test_ctx, run(&t, &o, &other, &plain));
            assert_memory_equal(plain->weight, head->weight, K * D * sizeof *head->weight);
            assert_null(other->validation);
            tn_head_free(plain);
            tn_fit_info_free(other);
        }
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    task_free(&t);
    task_free(&v);
}

static void what_cannot_be_validated(void **state)
{
    (void)state;
    task t = task_of(7, false, "f"), v = task_of(8, false, "f");
    const tn_features *given = v.features;
    tnp_fit_options o;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&o);
    o.method = TNP_METHOD_EVIDENCE;
    o.rank.normalize = "none";
    o.valid = (tnp_valid){&given, 1, v.labels};
    o.learn.holdout = 0.1;
    assert_fails(test_ctx, TN_ERR_ARG, "option valid and option holdout: got both", run(&t, &o, &info, &head));
    o.valid = (tnp_valid){NULL, 0, NULL};
    o.learn.holdout = 1;
    assert_fails(test_ctx, TN_ERR_ARG, "option holdout: got 1, expected a share below it", run(&t, &o, &info, &head));
    for (size_t m = 0; m < BATCH; ++m) {
        o.method = batch[m];
        o.learn.holdout = 1e-3;
        assert_fails(test_ctx, TN_ERR_DATA, "option holdout 0.001: of 120 rows 0 can be held out",
                     run(&t, &o, &info, &head));
        o.learn.holdout = 0;
        memset(v.labels->known, 0, N * sizeof *v.labels->known);
        o.valid = (tnp_valid){&given, 1, v.labels};
        assert_fails(test_ctx, TN_ERR_DATA, "no row has a label, expected some to validate by",
                     run(&t, &o, &info, &head));
        o.valid = (tnp_valid){NULL, 0, NULL};
    }
    assert_null(info);
    assert_null(head);
    task_free(&t);
    task_free(&v);
}

/* Share of a regression's variance that is explained, by a literal loop. */
static void a_regression_is_validated_by_r2(void **state)
{
    (void)state;
    task t = task_of(7, false, "f"), v = task_of(8, false, "f");
    double y[N], z[N], mean = 0, left = 0, all = 0;
    float scores[N];
    ref_rng rng = ref_rng_of(2);
    for (size_t i = 0; i < N; ++i) {
        y[i] = 1000 + t.x[i * D] + 0.2 * ref_unit(&rng);
        z[i] = 1100 + v.x[i * D] + 0.2 * ref_unit(&rng); /* R^2 far below 0: an offset that was lost would show */
    }
    tn_labels *ly = NULL, *lz = NULL;
    assert_fine(test_ctx, tn_labels_from_values(test_ctx, y, N, 1, NULL, &ly));
    assert_fine(test_ctx, tn_labels_from_values(test_ctx, z, N, 1, NULL, &lz));
    const tn_features *one = t.features, *two = v.features;
    for (size_t m = 0; m < 2; ++m) {
        tnp_fit_options o;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tn_scorer *scorer = NULL;
        tnp_fit_options_default(&o);
        o.method = batch[m];
        o.rank.normalize = "none";
        o.valid = (tnp_valid){&two, 1, lz};
        assert_fine(test_ctx, tnp_fit(test_ctx, &one, 1, ly, &o, &info, &head));
        assert_fine(test_ctx, tn_scorer_new(test_ctx, head, &two, 1, TN_NAN_ERROR, &scorer));
        assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, N, scores));
        mean = left = all = 0;
        for (size_t i = 0; i < N; ++i)
            mean += z[i] / N;
        for (size_t i = 0; i < N; ++i) {
            left += (z[i] - (double)scores[i]) * (z[i] - (double)scores[i]);
            all += (z[i] - mean) * (z[i] - mean);
        }
        assert_string_equal(info->validation_metric, "r2");
        assert_near(info->validation_value, 1 - left / all, 1e-5 * left / all); /* scores of 1100 as floats */
        tn_fit_info_free(info);
        tn_scorer_free(scorer);
        tn_head_free(head);
        info = NULL;
        head = NULL;
        o.valid = (tnp_valid){NULL, 0, NULL};
        o.learn.holdout = 0.25;
        assert_fine(test_ctx, tnp_fit(test_ctx, &one, 1, ly, &o, &info, &head));
        assert_int_equal(info->validation_rows, 30);
        assert_true(info->validation_value > 0.9 && info->validation_value < 1);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    tn_labels_free(ly);
    tn_labels_free(lz);
    task_free(&t);
    task_free(&v);
}

/* The short way to an accuracy is the one that tn_metrics_compute takes, equal scores included; rows of classes that
 * are in no other row do not count. */
static void accuracies_are_those_of_eval(void **state)
{
    (void)state;
    enum { CLASSES = 5, ROWS = 60, OUT = 20 };
    ref_rng rng = ref_rng_of(4);
    for (int trial = 0; trial < 20; ++trial) {
        double y[ROWS * CLASSES] = {0}, value;
        float scores[OUT * CLASSES];
        size_t rows[OUT], right = 0, all = 0;
        for (size_t i = 0; i < ROWS; ++i) /* class 4 is among the rows that are judged only */
            y[i * CLASSES + (i < OUT && i % 7 == 0 ? 4 : ref_below(&rng, 4))] = 1;
        for (size_t i = 0; i < OUT * CLASSES; ++i)
            scores[i] = (float)ref_below(&rng, 3);
        tn_labels *labels = labels_of(y, ROWS, CLASSES, TN_TASK_MULTICLASS);
        tnp_task judged = {.kind = TN_TASK_MULTICLASS, .y = targets_of(labels)};
        for (size_t i = 0; i < OUT; ++i) {
            size_t best = 0;
            rows[i] = i;
            for (size_t c = 1; c < CLASSES; ++c)
                best = scores[i * CLASSES + c] > scores[i * CLASSES + best] ? c : best;
            all += y[i * CLASSES + 4] == 0;
            right += y[i * CLASSES + 4] == 0 && y[i * CLASSES + best] == 1;
        }
        assert_fine(test_ctx, tnp_measure_rows(test_ctx, &judged, rows, OUT, scores, &value));
        assert_near(value, (double)right / (double)all, 1e-15);
        assert_fine(test_ctx, tnp_measure_valid(test_ctx, &judged, rows, OUT, scores, &value));
        tn_labels part = *labels;
        tn_metrics *metrics = NULL;
        part.rows = OUT;
        assert_fine(test_ctx,
                    tn_metrics_compute(test_ctx, (tn_view){scores, OUT, CLASSES, CLASSES}, &part, 0, &metrics));
        assert_true(value == metrics->accuracy);
        tn_metrics_free(metrics);
        labels_done(labels);
    }
}

static void faults(void **state)
{
    (void)state;
    task t = task_of(7, false, "f"), v = task_of(8, false, "f");
    const tn_features *given = v.features;
    size_t blocks = tnp_live_blocks(test_ctx);
    for (int form = 0; form < 5; ++form) {
        tnp_fit_options o;
        tnp_fit_options_default(&o);
        o.rank.normalize = "none";
        o.method = form < 2    ? TNP_METHOD_EVIDENCE
                   : form == 2 ? TNP_METHOD_RIDGE_CV
                   : form == 3 ? TNP_METHOD_LDA
                               : TNP_METHOD_LOGISTIC_CV;
        o.learn.grid = (tnp_reals){(double[]){1}, 1};
        o.learn.holdout = form == 0 ? 0.3 : 0;
        if (form > 0)
            o.valid = (tnp_valid){&given, 1, v.labels};
        tn_status st = TN_ERR_MEMORY;
        for (size_t k = 1; st != TN_OK; k += k < 40 ? 1 : 7) {
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            tnp_fail_allocation(test_ctx, k);
            st = run(&t, &o, &info, &head);
            tnp_fail_allocation(test_ctx, 0);
            assert_true(st == TN_OK || st == TN_ERR_MEMORY);
            tn_fit_info_free(info);
            tn_head_free(head);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
    }
    task_free(&t);
    task_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holdout_is_not_trained_on),
        cmocka_unit_test(holdouts_are_seeded),
        cmocka_unit_test(valid_rows_are_not_trained_on),
        cmocka_unit_test(what_cannot_be_validated),
        cmocka_unit_test(a_regression_is_validated_by_r2),
        cmocka_unit_test(accuracies_are_those_of_eval),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
