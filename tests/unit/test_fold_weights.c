/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models of folds against models that are trained on nothing but the rows outside the fold: balanced class weights and
 * the mean cost must count those rows, not all. Classes are uneven, and so are the folds, so that totals over all rows
 * would be seen.
 *
 * Tolerance. Both models are within `gap` of the minimum of the same 1-strongly convex function, so that their weights
 * differ by sqrt(2 gap) each at most; costs are rounded to floats, which moves f by 1e-6 of itself. */
#include "design_of.h"
#include "learn/linear/linear.h"

enum { N = 60, D = 5, K = 3, FOLDS = 3 };

typedef struct job {
    tnp_task *task;
    tnp_design *x;
    float *row_weight, *w;
    tnp_learn_options options;
    tnp_linear linear;
    tnp_training out;
} job;

/* Rows of x and y where keep is true, as a setting. */
static setting part_of(const setting *s, const bool *keep, tn_task task)
{
    setting p = {.p = {0, D, K, ref_alloc(N * D, sizeof(double)), ref_alloc(N * K, sizeof(double))}};
    double *half = ref_alloc(N * D, sizeof *half);
    for (size_t i = 0; i < N; ++i)
        if (keep[i]) {
            memcpy(p.p.x + p.p.n * D, s->p.x + i * D, D * sizeof *p.p.x);
            memcpy(p.p.y + p.p.n++ * K, s->p.y + i * K, K * sizeof *p.p.y);
        }
    for (size_t f = 0; f < 2; ++f) {
        size_t from = f ? D / 2 : 0, cols = f ? D - D / 2 : D / 2;
        for (size_t i = 0; i < p.p.n; ++i)
            memcpy(half + i * cols, p.p.x + i * D + from, cols * sizeof *half);
        p.features[f] = array_of(f ? "part_b" : "part_a", half, p.p.n, cols, AS_F32);
        p.feed[f] = feed_of(p.features[f], TN_NORM_NONE);
    }
    p.labels = labels_of(p.p.y, p.p.n, K, task);
    p.y = targets_of(p.labels);
    free(half);
    return p;
}

static job *job_of(const setting *s, const tnp_learn_options *options, bool logistic)
{
    job *j = ref_alloc(1, sizeof *j);
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)s->features, 2, s->labels, TN_NAN_ERROR,
                                       true, &j->task));
    j->x = design_of(s);
    j->options = *options;
    assert_fine(test_ctx, tnp_row_weights(test_ctx, j->task, &j->options, &j->row_weight));
    j->w = ref_alloc(FOLDS * K * (D + 1), sizeof *j->w);
    j->linear = (tnp_linear){.rows = tnp_design_rows(j->x),
                             .design = j->x,
                             .task = j->task,
                             .options = &j->options,
                             .logistic = logistic,
                             .bias = true,
                             .row_weight = j->row_weight,
                             .folds = 1};
    return j;
}

static void job_free(job *j)
{
    tnp_free(j->row_weight);
    tnp_task_free(j->task);
    tnp_design_free(j->x);
    free(j->w);
    free(j);
}

/* Class 0 has most rows, class 2 few, and fold 0 most of those. */
static setting uneven(tn_task task, uint32_t *fold)
{
    setting s = setting_of(REF_SIGNED, N, D, K, TN_TASK_MULTICLASS, AS_F32);
    labels_done(s.labels);
    for (size_t i = 0; i < N; ++i) {
        size_t c = i % 10 == 0 ? 2 : i % 3 == 0 ? 1 : 0;
        fold[i] = (uint32_t)(c == 2 ? i / 10 % 4 == 3 : i % 5 == 0 ? 1 : i % 2 * 2);
        for (size_t k = 0; k < K; ++k)
            s.p.y[i * K + k] = k == c || (task == TN_TASK_MULTILABEL && k == 1 && i % 7 == 0);
    }
    s.labels = labels_of(s.p.y, N, K, task);
    s.y = targets_of(s.labels);
    return s;
}

/* The models of all folds against those of the rows outside each. Returns by how much they would differ by weights of
 * all rows. */
static void check(tn_task task, const tnp_learn_options *options, bool logistic)
{
    uint32_t fold[N];
    setting s = uneven(task, fold);
    job *all = job_of(&s, options, logistic);
    all->linear.row_fold = fold;
    all->linear.folds = FOLDS;
    assert_fine(test_ctx, tnp_linear_train(test_ctx, &all->linear, 2, all->w, &all->out));
    for (size_t f = 0; f < FOLDS; ++f) {
        bool keep[N];
        for (size_t i = 0; i < N; ++i)
            keep[i] = fold[i] != f;
        setting part = part_of(&s, keep, task);
        job *one = job_of(&part, options, logistic);
        assert_fine(test_ctx, tnp_linear_train(test_ctx, &one->linear, 2, one->w, &one->out));
        double close = 2 * sqrt(2 * (options->gap + 2e-6) * one->out.objective);
        for (size_t i = 0; i < K * (D + 1); ++i) {
            double got = (double)all->w[f * K * (D + 1) + i], want = (double)one->w[i];
            if (!(fabs(got - want) <= close))
                print_error("fold %zu, weight %zu: got %g, want %g within %g\n", f, i, got, want, close);
            assert_true(fabs(got - want) <= close);
        }
        job_free(one);
        setting_free(&part);
    }
    job_free(all);
    setting_free(&s);
}

static void folds_counted_all_rows(void **state)
{
    (void)state;
    for (int weights = 1; weights < 4; ++weights)
        for (int multilabel = 0; multilabel < 2; ++multilabel)
            for (int way = 0; way < 3; ++way) { /* dual, Newton with a free intercept, logistic */
                tnp_learn_options options;
                tnp_learn_options_default(&options);
                options.gap = 1e-8;
                options.max_passes = 20000;
                options.class_weight = weights & 1 ? TNP_WEIGHT_BALANCED : TNP_WEIGHT_NONE;
                options.mean_cost = weights & 2;
                options.penalise_bias = way != 1;
                check(multilabel ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, &options, way == 2);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(folds_counted_all_rows)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
