/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trainings of linear classifiers as a task asks for them: costs, weights, intercepts, folds; against literal optima,
 * against scikit-learn's, and against the same data with rows repeated.
 *
 * Tolerances. A training stops at a certified gap of `gap` times f; float products hide ref_svm_rounding or
 * ref_smooth_rounding at (d + 3 + products) u on top, below 1e-5 f on these small problems. */
#include "design_of.h"
#include "fixtures/learners/sklearn_learners.h"
#include "learn/linear/linear.h"
#include "pipeline/options.h"

typedef struct job {
    tnp_task *task;
    tnp_design *x;
    tnp_learn_options options;
    float *row_weight;
    float *w;
    tnp_linear linear;
    tnp_training out;
} job;

/* A setting as a task; options as they are by default, but closer to the optimum. */
static job *job_of(const setting *s, bool logistic, bool bias)
{
    job *j = ref_alloc(1, sizeof *j);
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)s->features, 2, s->labels, TN_NAN_ERROR,
                                       true, &j->task));
    j->x = design_of(s);
    tnp_learn_options_default(&j->options);
    j->options.gap = 1e-6;
    j->options.max_passes = 20000;
    j->w = ref_alloc(s->p.k * 8 * (s->p.d + 1), sizeof *j->w);
    j->linear = (tnp_linear){.rows = tnp_design_rows(j->x),
                             .design = j->x,
                             .task = j->task,
                             .options = &j->options,
                             .logistic = logistic,
                             .bias = bias,
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

static void train(job *j, double cost)
{
    tnp_free(j->row_weight);
    j->row_weight = NULL;
    assert_fine(test_ctx, tnp_row_weights(test_ctx, j->task, &j->options, &j->row_weight));
    j->linear.row_weight = j->row_weight;
    memset(j->w, 0, j->task->y.classes * j->linear.folds * (j->x->dim + 1) * sizeof *j->w);
    assert_fine(test_ctx, tnp_linear_train(test_ctx, &j->linear, cost, j->w, &j->out));
}

/* ---- scikit-learn ---- */

static setting setting_of_case(const learners_case *c)
{
    setting s = {.p = {c->rows, c->cols, c->classes, ref_alloc(c->rows * c->cols, sizeof(double)),
                       ref_alloc(c->rows * c->classes, sizeof(double))}};
    size_t left = c->cols / 2, right = c->cols - left;
    double *part[2] = {ref_alloc(c->rows * left, sizeof(double)), ref_alloc(c->rows * right, sizeof(double))};
    for (size_t i = 0; i < c->rows * c->classes; ++i)
        s.p.y[i] = c->y[i];
    for (size_t i = 0; i < c->rows; ++i)
        for (size_t j = 0; j < c->cols; ++j) {
            s.p.x[i * c->cols + j] = c->x[i * c->cols + j] / 64.0;
            *(j < left ? &part[0][i * left + j] : &part[1][i * right + j - left]) = s.p.x[i * c->cols + j];
        }
    s.features[0] = array_of("a", part[0], c->rows, left, AS_F32);
    s.features[1] = array_of("b", part[1], c->rows, right, AS_F32);
    for (int f = 0; f < 2; ++f) {
        s.feed[f] = feed_of(s.features[f], TN_NORM_NONE);
        free(part[f]);
    }
    s.labels = labels_of(s.p.y, s.p.n, s.p.k, c->task);
    s.y = targets_of(s.labels);
    return s;
}

/* The sum of f over classes at our weights, in long double. */
static double objective_of(const setting *s, const job *j, const learners_result *r)
{
    side_by_side c = columns_of(s, r->cost, r->cost, 1, NULL, NULL);
    double sum = 0;
    if (r->method == LEARN_LOGISTIC) {
        double *cost = ref_alloc(s->p.n * s->p.k, sizeof *cost);
        for (size_t i = 0; i < s->p.n * s->p.k; ++i)
            cost[i] = (double)(float)r->cost;
        ref_real *w = widened(j->w, s->p.k * (s->p.d + 1));
        ref_smooth p = {s->p.n,
                        s->p.d,
                        s->p.k,
                        s->p.x,
                        s->p.y,
                        cost,
                        j->task->kind == TN_TASK_MULTICLASS ? REF_SOFTMAX : REF_LOGISTIC,
                        r->bias,
                        false};
        sum = (double)ref_smooth_objective(&p, w);
        free(w);
        free(cost);
    }
    for (size_t k = 0; r->method != LEARN_LOGISTIC && k < s->p.k; ++k) {
        ref_svm p = svm_of(s, &c, k, r->method == LEARN_SQUARED_HINGE, r->bias);
        ref_real *w = widened(j->w + k * (s->p.d + 1), s->p.d + 1);
        sum += (double)ref_svm_primal(&p, w);
        free(w);
    }
    columns_free(&c);
    return sum;
}

/* Logistic losses equal scikit-learn's to 1e-6; those of the hinges to 1e-4 and are never worse than by our own gap. */
static void objectives_of_scikit_learn(void **state)
{
    (void)state;
    for (size_t z = 0; z < sizeof learners_cases / sizeof *learners_cases; ++z) {
        setting s = setting_of_case(&learners_cases[z]);
        for (size_t i = 0; i < sizeof learners_results / sizeof *learners_results; ++i) {
            const learners_result *r = &learners_results[i];
            if (r->problem != z)
                continue;
            job *j = job_of(&s, r->method == LEARN_LOGISTIC, r->bias);
            j->options.loss = r->method == LEARN_HINGE ? TNP_SVM_HINGE : TNP_SVM_SQUARED_HINGE;
            j->options.gap = 2e-7;
            train(j, r->cost);
            double f = objective_of(&s, j, r), excess = f / r->objective - 1;
            bool logistic = r->method == LEARN_LOGISTIC;
            if (!(fabs(excess) <= (logistic ? 1e-6 : 1e-4)) || !(f - r->objective <= j->out.gap + 1e-6 * f))
                print_error(
                    "%s, method %d, C %g, bias %d: %.10g, scikit-learn %.10g, excess %.3g, gap %.3g, converged %d\n",
                    learners_cases[z].name, r->method, r->cost, r->bias, f, r->objective, excess, j->out.gap / f,
                    j->out.converged);
            assert_true(fabs(excess) <= (logistic ? 1e-6 : 1e-4));
            assert_true(f - r->objective <= j->out.gap + 1e-6 * f);
            assert_near(j->out.objective / f, 1, 1e-5);
            job_free(j);
        }
        setting_free(&s);
    }
}

/* ---- weights of rows and classes ---- */

/* The same problem with row i repeated times[i] times. */
static setting repeated(const setting *s, const double *times, tn_task task)
{
    enum { D = 6, HALF = 3, MOST = 200 };
    setting t = {.p = {0, D, 3, ref_alloc(MOST * D, sizeof(double)), ref_alloc(MOST * 3, sizeof(double))}};
    double *part[2] = {ref_alloc(MOST * HALF, sizeof(double)), ref_alloc(MOST * HALF, sizeof(double))};
    for (size_t i = 0; i < s->p.n; ++i)
        for (double r = 0; r < times[i]; ++r, ++t.p.n) {
            assert_true(t.p.n < MOST);
            memcpy(t.p.x + t.p.n * D, s->p.x + i * D, D * sizeof(double));
            memcpy(t.p.y + t.p.n * 3, s->p.y + i * 3, 3 * sizeof(double));
            for (int f = 0; f < 2; ++f)
                memcpy(part[f] + t.p.n * HALF, s->p.x + i * D + (f ? HALF : 0), HALF * sizeof(double));
        }
    t.features[0] = array_of("ra", part[0], t.p.n, HALF, AS_F32);
    t.features[1] = array_of("rb", part[1], t.p.n, HALF, AS_F32);
    for (int f = 0; f < 2; ++f) {
        t.feed[f] = feed_of(t.features[f], TN_NORM_NONE);
        free(part[f]);
    }
    t.labels = labels_of(t.p.y, t.p.n, 3, task);
    t.y = targets_of(t.labels);
    return t;
}

/* A weight is that many copies of the row, for every learner; weight 0 is none. f of both within their gaps of one
 * optimum, so that weights are within 2 sqrt(2 gap); a free intercept is as close, the losses being steep there. */
static void weights_are_repetitions(void **state)
{
    (void)state;
    double times[40];
    for (size_t i = 0; i < 40; ++i)
        times[i] = (double)(i % 4);
    for (int form = 0; form < 5;
         ++form) { /* squared hinge, hinge, softmax, binary logistic, squared hinge with free intercept */
        tn_task task = form == 3 ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS;
        setting s = setting_of(REF_SIGNED, 40, 6, 3, task, AS_F32), t = repeated(&s, times, task);
        job *one = job_of(&s, form == 2 || form == 3, true), *two = job_of(&t, form == 2 || form == 3, true);
        assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s.labels, times, 40));
        one->options.loss = two->options.loss = form == 1 ? TNP_SVM_HINGE : TNP_SVM_SQUARED_HINGE;
        one->options.penalise_bias = two->options.penalise_bias = form != 4;
        train(one, 0.5);
        train(two, 0.5);
        assert_true(one->out.converged && two->out.converged);
        assert_near(one->out.objective / two->out.objective, 1, 1e-5);
        double close =
            sqrt(2 * (one->out.gap + 1e-6 * one->out.objective)) + sqrt(2 * (two->out.gap + 1e-6 * two->out.objective));
        for (size_t i = 0; i < 21; ++i)
            assert_true(fabs((double)one->w[i] - (double)two->w[i]) <= close);
        job_free(one);
        job_free(two);
        setting_free(&s);
        setting_free(&t);
    }
}

/* balanced: multi-class rows weigh n / (classes present * size of their class); multi-label columns have positives and
 * negatives of the same weight in all, C n / 2 each. */
static void balanced_classes(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 30, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    job *j = job_of(&s, false, true);
    size_t sizes[3] = {0};
    assert_fine(test_ctx, tnp_row_weights(test_ctx, j->task, &j->options, &j->row_weight));
    assert_null(j->row_weight);
    j->options.class_weight = TNP_WEIGHT_BALANCED;
    train(j, 2);
    for (size_t i = 0; i < 30; ++i)
        ++sizes[s.labels->cls[i]];
    float weight[30];
    for (size_t i = 0; i < 30; ++i) {
        weight[i] = (float)(30.0 / (3.0 * (double)sizes[s.labels->cls[i]]));
        assert_near_at(i, (double)j->row_weight[i], (double)weight[i], 1e-6);
    }
    side_by_side c = columns_of(&s, 2, 2, 1, NULL, weight);
    double want = 0;
    ref_real w[7];
    for (size_t k = 0; k < 3; ++k) {
        ref_svm p = svm_of(&s, &c, k, true, true);
        want += (double)ref_svm_solve(&p, NULL, w);
    }
    assert_near(j->out.objective / want, 1, 1e-5);
    columns_free(&c);
    job_free(j);
    setting_free(&s);

    s = setting_of(REF_SIGNED, 30, 6, 3, TN_TASK_MULTILABEL, AS_F32);
    for (int logistic = 0; logistic < 2; ++logistic) {
        j = job_of(&s, logistic, true);
        j->options.class_weight = TNP_WEIGHT_BALANCED;
        train(j, 2);
        want = 0;
        for (size_t k = 0; k < 3; ++k) {
            double positives = 0, y[30], cost[30];
            for (size_t i = 0; i < 30; ++i)
                positives += y[i] = s.p.y[i * 3 + k];
            for (size_t i = 0; i < 30; ++i)
                cost[i] = 2 * 15 / (y[i] > 0.5 ? positives : 30 - positives);
            ref_smooth p = {30, 6, 1, s.p.x, y, cost, logistic ? REF_LOGISTIC : REF_SQUARED_HINGE, true, !logistic};
            want += (double)ref_smooth_solve(&p, w);
        }
        assert_near(j->out.objective / want, 1, 1e-5);
        job_free(j);
    }
    setting_free(&s);
}

/* ---- forms of the problem ---- */

/* --mean-cost: C / n, to the bit. */
static void mean_cost(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 32, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    for (int logistic = 0; logistic < 2; ++logistic) {
        job *a = job_of(&s, logistic, true), *b = job_of(&s, logistic, true);
        a->options.mean_cost = true;
        train(a, 8);
        train(b, 8.0 / 32);
        assert_memory_equal(a->w, b->w, 21 * sizeof(float));
        assert_true(a->out.objective == b->out.objective);
        job_free(a);
        job_free(b);
    }
    setting_free(&s);
}

/* A free intercept is one: the gradient in it vanishes, and it is not shrunk. The hinge has none, and says so. */
static void free_intercept(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 40, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    job *j = job_of(&s, false, true);
    double want = 0, shrunk, y[40], cost[40];
    train(j, 3);
    shrunk = j->out.objective;
    j->options.penalise_bias = false;
    train(j, 3);
    for (size_t k = 0; k < 3; ++k) {
        ref_real w[7];
        for (size_t i = 0; i < 40; ++i) {
            y[i] = s.p.y[i * 3 + k];
            cost[i] = 3;
        }
        ref_smooth p = {40, 6, 1, s.p.x, y, cost, REF_SQUARED_HINGE, true, false};
        want += (double)ref_smooth_solve(&p, w);
        for (size_t i = 0; i < 7; ++i)
            assert_near_at(i, (double)j->w[k * 7 + i], (double)w[i], 2e-2);
    }
    assert_near(j->out.objective / want, 1, 1e-5);
    assert_true(shrunk > want);
    j->options.loss = TNP_SVM_HINGE;
    assert_fails(test_ctx, TN_ERR_ARG, "option loss hinge needs option penalise-bias yes",
                 tnp_linear_train(test_ctx, &j->linear, 1, j->w, &j->out));
    j->linear.bias = false; /* no intercept, nothing to penalise */
    train(j, 1);
    assert_true(j->out.converged && j->w[6] == 0);
    job_free(j);
    setting_free(&s);
}

/* Scores of every row by the model that did not see it: one matrix row at a time. */
static void held_out_scores(void **state)
{
    (void)state;
    enum { N = 50, FOLDS = 4 };
    setting s = setting_of(REF_NONNEG, N, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    uint32_t fold[N];
    float scores[N * 3];
    for (size_t i = 0; i < N; ++i)
        fold[i] = (uint32_t)(i * 3 % FOLDS);
    for (int way = 0; way < 3; ++way) {
        job *j = job_of(&s, false, way != 1);
        if (way == 2)
            cut(j->x, 7, false);
        j->linear.row_fold = fold;
        j->linear.folds = FOLDS;
        train(j, 1);
        assert_fine(test_ctx, tnp_linear_held_out(test_ctx, &j->linear, j->w, scores));
        for (size_t i = 0; i < N; ++i)
            for (size_t k = 0; k < 3; ++k) {
                const float *w = j->w + (fold[i] * 3 + k) * 7;
                double want = (double)w[6], size = fabs(want);
                for (size_t d = 0; d < 6; ++d) {
                    want += (double)w[d] * s.p.x[i * 6 + d];
                    size += fabs((double)w[d] * s.p.x[i * 6 + d]);
                }
                assert_true(fabs((double)scores[i * 3 + k] - want) <= 9 * U * size);
            }
        job_free(j);
    }
    setting_free(&s);
}

/* More columns than the budget holds in all rows: read again at every pass, to the same optimum. */
static void streamed_within_a_budget(void **state)
{
    (void)state;
    enum { N = 320, D = 8192 };
    ref_rng rng = ref_rng_of(4);
    double *v = ref_alloc((size_t)N * D, sizeof *v), y[N * 3] = {0};
    for (size_t i = 0; i < (size_t)N * D; ++i) /* a few columns tell the class */
        v[i] = (double)ref_below(&rng, 21) - 10 + (i % D < 60 && i % D % 3 == i / D % 3 ? 12 : 0);
    for (size_t i = 0; i < N; ++i)
        y[i * 3 + i % 3] = 1;
    tn_features *wide = features_of("wide", v, N, D, AS_I8);
    const tn_features *features[] = {wide};
    tn_labels *labels = labels_of(y, N, 3, TN_TASK_MULTICLASS);
    double objective[2], gap[2];
    for (int tight = 0; tight < 2; ++tight) {
        tnp_fit_options opt;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fit_options_default(&opt);
        opt.method = TNP_METHOD_SVM;
        opt.select = TNP_SEARCH_ALL;
        opt.learn.gap = 1e-5;
        size_t whole = (size_t)N * D * sizeof(float), now = tn_ctx_memory_now(test_ctx);
        size_t block = 256 * (size_t)D * sizeof(float), spare = (whole - block) / 2;
        tn_ctx_set_memory(test_ctx, tight ? now + tnp_linear_bytes(N, D, 3, TNP_BY_DUAL) + block + spare : 0);
        tn_status st = tnp_fit(test_ctx, features, 1, labels, &opt, &info, &head);
        tn_ctx_set_memory(test_ctx, 0);
        if (st != TN_OK)
            print_error("%s\n", tn_ctx_message(test_ctx));
        assert_int_equal(st, TN_OK);
        assert_true(info->converged);
        objective[tight] = info->objective;
        gap[tight] = info->gap;
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    assert_true(objective[0] != objective[1]); /* another order of visits: it was streamed */
    assert_true(fabs(objective[0] - objective[1]) <= gap[0] + gap[1] + 1e-6 * objective[0]);
    labels_done(labels);
    tn_features_close(wide);
    free(v);
}

/* Rows that an offset of a thousand deviations makes nearly equal once their length is 1, at a large C: coordinate
 * descent alone does not end within the passes that are allowed, and must leave some to another route. */
static void an_offset_leaves_passes(void **state)
{
    (void)state;
    enum { K = 100, N = 2 * K, D = 300 };
    ref_rng rng = ref_rng_of(7);
    double *v = ref_alloc((size_t)N * D, sizeof *v), *y = ref_alloc((size_t)N * K, sizeof *y);
    for (size_t j = 0; j < D; ++j)
        for (size_t c = 0; c < K; ++c) {
            double mean = 1000 + ref_normal(&rng);
            v[2 * c * D + j] = mean + 0.7 * ref_normal(&rng);
            v[(2 * c + 1) * D + j] = mean + 0.7 * ref_normal(&rng);
        }
    for (size_t i = 0; i < N; ++i)
        y[i * K + i / 2] = 1;
    tn_features *wide = features_of("offset", v, N, D, AS_F32);
    tn_labels *labels = labels_of(y, N, K, TN_TASK_MULTICLASS);
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_SVM;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "l2";
    opt.learn.cost = 1000;
    assert_fine(test_ctx, tnp_fit(test_ctx, (const tn_features *const *)&wide, 1, labels, &opt, &info, &head));
    assert_true(info->converged);
    tn_fit_info_free(info);
    tn_head_free(head);
    labels_done(labels);
    tn_features_close(wide);
    free(v);
    free(y);
}

/* Products of rows for wide shapes only, and only within the budget; with folds, whose multipliers start from the last
 * C. */
static void wide_shapes_go_by_the_gram(void **state)
{
    (void)state;
    tnp_learn_options opt;
    tnp_learn_options_default(&opt);
    assert_int_equal(tnp_linear_method_for(test_ctx, &opt, TNP_BY_DUAL, 500, 4000, 10, 0), TNP_BY_GRAM);
    assert_int_equal(tnp_linear_method_for(test_ctx, &opt, TNP_BY_DUAL, 50000, 400, 10, 0), TNP_BY_DUAL);
    assert_int_equal(tnp_linear_method_for(test_ctx, &opt, TNP_BY_NEWTON, 500, 4000, 10, 0), TNP_BY_NEWTON);
    assert_int_equal(tnp_linear_method_for(test_ctx, &opt, TNP_BY_SOFTMAX, 500, 4000, 10, 0), TNP_BY_SOFTMAX);
    size_t now = tn_ctx_memory_now(test_ctx), need = tnp_linear_bytes(500, 4000, 10, TNP_BY_GRAM), besides = 12345;
    need += tnp_design_block_rows(500, 4000) * 4000 * sizeof(float) + besides;
    tn_ctx_set_memory(test_ctx, now + need);
    tnp_linear_method fits = tnp_linear_method_for(test_ctx, &opt, TNP_BY_DUAL, 500, 4000, 10, besides);
    tn_ctx_set_memory(test_ctx, now + need - 1);
    tnp_linear_method tight = tnp_linear_method_for(test_ctx, &opt, TNP_BY_DUAL, 500, 4000, 10, besides);
    tn_ctx_set_memory(test_ctx, 0);
    assert_int_equal(fits, TNP_BY_GRAM);
    assert_int_equal(tight, TNP_BY_DUAL);

    setting s = setting_of(REF_NONNEG, 60, 100, 3, TN_TASK_MULTICLASS, AS_F32);
    uint32_t fold[60];
    for (size_t i = 0; i < 60; ++i)
        fold[i] = (uint32_t)(i * 7 % 4);
    double objective[2][3], gap[2][3];
    for (int gram = 0; gram < 2; ++gram) {
        job *j = job_of(&s, false, true);
        float *alpha = ref_alloc(60 * 12, sizeof *alpha);
        j->linear.gram = gram;
        j->linear.row_fold = fold;
        j->linear.folds = 4;
        j->linear.alpha = alpha;
        for (size_t c = 0; c < 3; ++c) {
            train(j, 0.5 * (double)(c + 1));
            objective[gram][c] = j->out.objective;
            gap[gram][c] = j->out.gap;
            assert_true(j->out.converged);
        }
        assert_int_equal(j->x->gram != NULL, gram);
        free(alpha);
        job_free(j);
    }
    for (size_t c = 0; c < 3; ++c)
        assert_true(fabs(objective[0][c] - objective[1][c]) <= gap[0][c] + gap[1][c] + 1e-5 * objective[0][c]);
    setting_free(&s);
}

/* ---- texts and files ---- */

static void grids(void **state)
{
    (void)state;
    const double standard[] = {1, 2, 3}, given[] = {10, 0.5, 1e-3};
    const tnp_reals none = {NULL, 0}, list = {given, 3};
    double *grid = NULL;
    size_t count = 0;
    assert_fine(test_ctx, tnp_grid_new(test_ctx, &none, standard, 3, &grid, &count));
    assert_int_equal(count, 3);
    assert_memory_equal(grid, standard, sizeof standard);
    tnp_free(grid);
    assert_fine(test_ctx, tnp_grid_new(test_ctx, &list, standard, 3, &grid, &count));
    assert_int_equal(count, 3);
    assert_memory_equal(grid, given, sizeof given);
    tnp_free(grid);
    double *const untouched = (double *)(void *)test_folder;
    grid = untouched;
    tnp_fail_allocation(test_ctx, 1);
    assert_int_equal(tnp_grid_new(test_ctx, &list, standard, 3, &grid, &count), TN_ERR_MEMORY);
    tnp_fail_allocation(test_ctx, 0);
    assert_ptr_equal(grid, untouched);
}

static void digits(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "1.0", "1e3", "x", "0x10", "99999999999999999999999", "18446744073709551616"};
    size_t n = 7;
    assert_true(tnp_digits("0", &n) && n == 0);
    assert_true(tnp_digits("0012", &n) && n == 12);
    assert_true(tnp_digits("1844674407370955160", &n) && n == 1844674407370955160u);
    n = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        assert_false(tnp_digits(bad[i], &n));
    assert_int_equal(n, 7);
}

/* What is asked of the labels in `s` with these weights, when rows are to be weighed. */
static void expect_weights(const setting *s, const double *weight, tn_status status, const char *part)
{
    tnp_task *task = NULL;
    tnp_learn_options options;
    float *none = NULL;
    tnp_learn_options_default(&options);
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s->labels, weight, 12));
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)s->features, 2, s->labels, TN_NAN_ERROR,
                                       true, &task));
    assert_fails(test_ctx, status, part, tnp_row_weights(test_ctx, task, &options, &none));
    assert_null(none);
    tnp_task_free(task);
}

/* One weight for each row of the labels, also for those that are left out, which may hold anything; the others from 0
 * up. */
static void weights_of_rows_that_take_part(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 12, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    double weight[12];
    for (size_t i = 0; i < 12; ++i)
        weight[i] = (double)(i + 1) / 2;
    tn_labels_forget(s.labels, 3);
    tn_labels_forget(s.labels, 8);
    weight[8] = NAN;
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s.labels, weight, 12));
    job *j = job_of(&s, false, true);
    assert_fine(test_ctx, tnp_row_weights(test_ctx, j->task, &j->options, &j->row_weight));
    for (size_t i = 0; i < 10; ++i)
        assert_true((double)j->row_weight[i] == weight[i + (i >= 3) + (i >= 7)]);
    job_free(j);
    weight[9] = -1;
    expect_weights(&s, weight, TN_ERR_DATA,
                   "weights in memory: the weight of row 9 is -1, expected a number from 0 up");
    weight[9] = NAN;
    expect_weights(&s, weight, TN_ERR_DATA, "the weight of row 9 is ");
    weight[9] = 1e39; /* beyond float, in which they are used */
    expect_weights(&s, weight, TN_ERR_DATA, "the weight of row 9 is inf");
    setting_free(&s);
}

/* A path alone is a promise that nobody keeps. */
static void weights_that_are_only_named(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 12, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    job *j = job_of(&s, false, true);
    j->options.sample_weight = "w.npy";
    assert_fails(test_ctx, TN_ERR_ARG, "w.npy: the labels have no weights",
                 tnp_row_weights(test_ctx, j->task, &j->options, &j->row_weight));
    job_free(j);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objectives_of_scikit_learn),
        cmocka_unit_test(weights_are_repetitions),
        cmocka_unit_test(balanced_classes),
        cmocka_unit_test(mean_cost),
        cmocka_unit_test(free_intercept),
        cmocka_unit_test(held_out_scores),
        cmocka_unit_test(streamed_within_a_budget),
        cmocka_unit_test(an_offset_leaves_passes),
        cmocka_unit_test(wide_shapes_go_by_the_gram),
        cmocka_unit_test(grids),
        cmocka_unit_test(digits),
        cmocka_unit_test(weights_of_rows_that_take_part),
        cmocka_unit_test(weights_that_are_only_named),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
