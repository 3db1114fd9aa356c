/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_fit with the online methods: the head against the literal loop over the rows of both representations in file
 * order, and what happens with little memory, at an interrupt, and after one. */
#include "scene_of.h"
#include "learn/head/head.h"
#include "learn/online/online.h"
#include "ref_online.h"
#include "interrupt.h"

static void *const untouched = (void *)test_folder;

static tnp_fit_options options_of(int method)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "none";
    opt.online.shuffle = false;
    opt.online.epochs = 3;
    opt.online.eta = 0.8;
    opt.learn.cost = 0.5;
    return opt;
}

/* What the head must be: weights (K, d + 1), intercepts last. start (K, d + 1) or NULL. Owned by the test. */
static double *literal(const scene *s, const tnp_fit_options *opt, const double *weight, const double *side,
                       const double *start)
{
    size_t d = s->cols[0] + s->cols[1], close = 0;
    double *x = beside(s->x[0], s->cols[0], s->x[1], s->cols[1], s->n), *w = ref_alloc(K * (d + 1), sizeof *w);
    bool *positive = ref_alloc(s->n * K, sizeof *positive);
    int rule = opt->method - TNP_METHOD_PERCEPTRON;
    for (size_t i = 0; i < s->n * K; ++i)
        positive[i] = s->y[i] > 0.5;
    const ref_online_job job = {
        .rule = (ref_rule)rule,
        .cost = opt->learn.cost,
        .phi = tnp_rule_new((tnp_online_rule)rule, 1, opt->online.eta).phi,
        .ovr = opt->online.multiclass == TNP_ONLINE_U_OVR || s->task == TN_TASK_MULTILABEL,
        .average = !opt->online.no_average,
        .bias = opt->rank.evidence.intercept,
        .n = s->n,
        .d = d,
        .k = K,
        .passes = opt->online.epochs,
        .x = x,
        .positive = positive,
        .weight = weight,
        .side = side,
        .start = start,
    };
    assert_true(ref_online(&job, w, &close) > 0);
    free(x);
    free(positive);
    return w;
}

/* 1e-5 of the largest weight, as in test_online.c. */
static void check_head(const tn_head *head, const double *want)
{
    size_t d = head->dim;
    double most = 0;
    for (size_t i = 0; i < K * (d + 1); ++i)
        most = fmax(most, fabs(want[i]));
    for (size_t i = 0; i < K * (d + 1); ++i) {
        size_t c = i / (d + 1), j = i % (d + 1);
        double got = (double)(j < d ? head->weight[c * d + j] : head->bias[c]);
        assert_near_at(i, got / most, want[i] / most, 1e-5);
    }
}

static tn_head *fitted(const scene *s, const tnp_fit_options *opt)
{
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    assert_fine(test_ctx, fit(s, opt, &info, &head));
    assert_int_equal(info->epoch_count, opt->online.epochs);
    tn_fit_info_free(info);
    return head;
}

static void heads_of_the_literal_loop(void **state)
{
    (void)state;
    for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method)
        for (int mode = 0; mode < 6; ++mode) {
            scene s = scene_of(60, 9, 20, mode == 4 ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, AS_F32);
            tnp_fit_options opt = options_of(method);
            opt.online.multiclass = mode == 1 ? TNP_ONLINE_U_OVR : TNP_ONLINE_MUL;
            opt.online.no_average = mode == 2;
            opt.rank.evidence.intercept = mode != 3;
            opt.online.epochs =
                mode == 4 && method == TNP_METHOD_CW ? 1 : 3; /* CW on labels that contradict each other */
            double *want = literal(&s, &opt, NULL, NULL, NULL);
            tn_head *head = fitted(&s, &opt);
            check_head(head, want);
            tn_head_free(head);
            free(want);
            scene_free(&s);
        }
}

/* From a head: its weights are where the loop begins; its classes are all of them. */
static void going_on_from_a_head(void **state)
{
    (void)state;
    for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method) {
        scene s = scene_of(60, 9, 20, TN_TASK_MULTICLASS, AS_F32);
        tnp_fit_options opt = options_of(TNP_METHOD_PA);
        opt.online.epochs = 1;
        tn_head *from = fitted(&s, &opt);
        size_t d = from->dim;
        double *start = ref_alloc(K * (d + 1), sizeof *start);
        for (size_t i = 0; i < K * (d + 1); ++i)
            start[i] =
                (double)(i % (d + 1) < d ? from->weight[i / (d + 1) * d + i % (d + 1)] : from->bias[i / (d + 1)]);
        opt = options_of(method);
        opt.from = from;
        double *want = literal(&s, &opt, NULL, NULL, start);
        tn_head *head = fitted(&s, &opt);
        check_head(head, want);
        tn_head_free(head);
        tn_head_free(from);
        free(want);
        free(start);
        scene_free(&s);
    }
}

/* Weights of rows multiply C: quarters, exact in the file. */
static void check_rows(int method, tn_task task)
{
    scene s = scene_of(60, 9, 20, task, AS_F32);
    tnp_fit_options opt = options_of(method);
    opt.online.epochs = method == TNP_METHOD_CW ? 1 : 3;
    double weight[60];
    char text[60 * 8] = "";
    for (size_t i = 0; i < 60; ++i) {
        weight[i] = (double)(i * 7 % 5 + 1) / 4;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.2f\n", weight[i]);
    }
    assert_fine(test_ctx, tn_labels_open_weights(test_ctx, s.labels, write_text("weights.csv", text)));
    double *want = literal(&s, &opt, weight, NULL, NULL);
    tn_head *head = fitted(&s, &opt);
    check_head(head, want);
    tn_head_free(head);
    free(want);
    scene_free(&s);
}

static void weights_of_rows(void **state)
{
    (void)state;
    for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method) {
        check_rows(method, TN_TASK_MULTICLASS);
        check_rows(method, TN_TASK_MULTILABEL);
    }
}

/* Rows of each class, and what a class of that many weighs when all are balanced. */
static void balance(const scene *s, double *row_weight, double *side)
{
    double size[K] = {0};
    for (size_t i = 0; i < s->n * K; ++i)
        size[i % K] += s->y[i];
    for (size_t c = 0; c < K; ++c) {
        side[2 * c] = (double)(float)((double)s->n / (2 * ((double)s->n - size[c])));
        side[2 * c + 1] = (double)(float)((double)s->n / (2 * size[c]));
    }
    for (size_t i = 0; i < s->n * K; ++i)
        if (s->y[i] > 0.5)
            row_weight[i / K] = (double)(float)((double)s->n / (K * size[i % K]));
}

/* Balanced classes: N / (K n_class) for each row of many classes, N / (2 n_side) for each side of a label. Labels
 * ignored it. */
static void balanced_classes_of_labels_too(void **state)
{
    (void)state;
    for (int method = TNP_METHOD_PERCEPTRON; method <= TNP_METHOD_SCW2; ++method)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
            scene s = scene_of(60, 9, 20, (tn_task)task, AS_F32);
            tnp_fit_options opt = options_of(method);
            double weight[60] = {0}, side[2 * K];
            balance(&s, weight, side);
            opt.learn.class_weight = TNP_WEIGHT_BALANCED;
            opt.online.epochs = method == TNP_METHOD_CW ? 1 : 3;
            bool many = task == TN_TASK_MULTICLASS;
            double *want = literal(&s, &opt, many ? weight : NULL, many ? NULL : side, NULL);
            tn_head *head = fitted(&s, &opt);
            check_head(head, want);
            tn_head_free(head);
            free(want);
            scene_free(&s);
        }
}

/* As many negatives as positives are balanced already: what is weighed is what a pass visits. */
static void balanced_samples_of_negatives(void **state)
{
    (void)state;
    scene s = scene_of(60, 9, 20, TN_TASK_MULTILABEL, AS_F32);
    tnp_fit_options opt = options_of(TNP_METHOD_PA);
    for (size_t i = 0; i < s.n * K; ++i) /* fewer positives than negatives in every class */
        s.y[i] = s.y[i] > 0.5 && i / K % 2 == 0;
    labels_done(s.labels);
    s.labels = labels_of(s.y, s.n, K, TN_TASK_MULTILABEL);
    opt.online.multiclass = TNP_ONLINE_E_OVR;
    tn_head *plain = fitted(&s, &opt);
    opt.learn.class_weight = TNP_WEIGHT_BALANCED;
    tn_head *balanced = fitted(&s, &opt);
    assert_memory_equal(balanced->weight, plain->weight, K * plain->dim * sizeof *plain->weight);
    tn_head_free(plain);
    tn_head_free(balanced);
    scene_free(&s);
}

/* Decisions of a head on the rows of a scene. */
static void decide(const scene *s, const tn_head *head, bool *yes)
{
    size_t da = s->cols[0], d = da + s->cols[1];
    for (size_t i = 0; i < s->n * K; ++i) {
        size_t row = i / K, c = i % K;
        double score = (double)head->bias[c];
        for (size_t j = 0; j < d; ++j)
            score +=
                (double)head->weight[c * d + j] * (j < da ? s->x[0][row * da + j] : s->x[1][row * s->cols[1] + j - da]);
        yes[i] = score > head->threshold;
    }
}

/* A ridge head of labels decides at 1/2, an online head at 0: going on without a step must decide the same, and goes on
 * from 2 s - 1. */
static void going_on_from_a_ridge_head_kept_no_threshold(void **state)
{
    (void)state;
    scene s = scene_of(60, 9, 20, TN_TASK_MULTILABEL, AS_F32);
    tnp_fit_options opt = options_of(TNP_METHOD_EVIDENCE);
    tn_fit_info *info = NULL;
    tn_head *from = NULL;
    bool before[60 * K], after[60 * K];
    assert_fine(test_ctx, fit(&s, &opt, &info, &from));
    tn_fit_info_free(info);
    assert_true(from->threshold == 0.5);
    size_t d = from->dim;
    double *start = ref_alloc(K * (d + 1), sizeof *start);
    for (size_t c = 0; c < K; ++c)
        for (size_t j = 0; j <= d; ++j)
            start[c * (d + 1) + j] =
                (double)(float)(j < d ? 2 * (double)from->weight[c * d + j] : 2 * (double)from->bias[c] - 1);
    for (int method = TNP_METHOD_SGD; method <= TNP_METHOD_NHERD; ++method) {
        opt = options_of(method);
        opt.from = from;
        double *want = literal(&s, &opt, NULL, NULL, start);
        tn_head *head = fitted(&s, &opt);
        check_head(head, want);
        tn_head_free(head);
        free(want);
    }
    opt = options_of(TNP_METHOD_SGD);
    opt.from = from;
    opt.learn.cost = 1e-20; /* no step that a float can hold */
    tn_head *head = fitted(&s, &opt);
    decide(&s, from, before);
    decide(&s, head, after);
    assert_true(head->threshold == 0);
    assert_memory_equal(before, after, sizeof before);
    opt.rank.evidence.intercept = false;
    assert_fails(test_ctx, TN_ERR_ARG, "decides at 0.5", fit(&s, &opt, &info, &head));
    tn_head_free(head);
    tn_head_free(from);
    free(start);
    scene_free(&s);
}

/* ---- when something is wrong ---- */

/* Validation on the rows themselves, --tune, a head to go on from, a checkpoint: everything that allocates. */
typedef struct whole {
    scene s;
    tn_labels *labels;
    tnp_valid valid;
    tn_head *from;
    tnp_fit_options opt;
    char checkpoint[512];
} whole;

static whole *whole_of(tn_task task)
{
    whole *w = ref_alloc(1, sizeof *w);
    char text[60 * 24] = "";
    w->s = scene_of(30, 4, 5, task, AS_F16);
    for (size_t i = 0; i < w->s.n; ++i) {
        bool any = false;
        for (size_t c = 0; c < K; ++c)
            if (w->s.y[i * K + c] > 0.5) {
                size_t used = strlen(text);
                snprintf(text + used, sizeof text - used, "%sclass%zu", any ? "|" : "", c);
                any = true;
            }
        strcat(text, "\n");
    }
    assert_fine(test_ctx, tn_labels_open(test_ctx, write_text("valid.txt", text), task, &w->labels));
    w->opt = options_of(TNP_METHOD_PA);
    w->opt.online.epochs = 1;
    w->from = fitted(&w->s, &w->opt);
    w->valid = (tnp_valid){(const tn_features *const *)w->s.features, REPS, w->labels};
    snprintf(w->checkpoint, sizeof w->checkpoint, "%s", file_path("run.ckpt"));
    w->opt = options_of(TNP_METHOD_SCW);
    w->opt.online.epochs = 2;
    w->opt.online.tune = true;
    w->opt.online.multiclass = TNP_ONLINE_W_OVR;
    w->opt.online.checkpoint = w->checkpoint;
    w->opt.valid = w->valid;
    w->opt.from = w->from;
    return w;
}

static void whole_free(whole *w)
{
    unlink(w->checkpoint);
    tn_head_free(w->from);
    tn_labels_free(w->labels);
    scene_free(&w->s);
    free(w);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    whole *w = whole_of(TN_TASK_MULTILABEL);
    size_t blocks = tnp_live_blocks(test_ctx);
    w->opt.method = TNP_METHOD_AROW; /* five trials */
    tn_ctx_set_threads(test_ctx, 1);
    for (size_t k = 1, step = 1;; k += step) {
        tn_fit_info *info = untouched;
        tn_head *head = untouched;
        unlink(w->checkpoint);
        tnp_fail_allocation(test_ctx, k);
        tn_status st = fit(&w->s, &w->opt, &info, &head);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK) {
            assert_true(k > 100);
            tn_fit_info_free(info);
            tn_head_free(head);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_ptr_equal(info, untouched);
        assert_ptr_equal(head, untouched);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        step = k < 200 ? 1 : 1 + k / 50; /* the passes repeat themselves */
    }
    tn_ctx_set_threads(test_ctx, 0);
    whole_free(w);
}

/* Cancelled at the n-th progress call, over and over until the run ends: each time it goes on from its checkpoint, or
 * begins anew, and the head has the bytes of one that was never cancelled. */
static void interrupted_again_and_again(void **state)
{
    (void)state;
    whole *w = whole_of(TN_TASK_MULTICLASS);
    tn_ctx *usual = test_ctx;
    tn_fit_info *info = NULL;
    tn_head *want = NULL;
    size_t rounds = 2, n = 1;
    w->opt.online.epochs = 6;
    w->opt.online.patience = 0;
    assert_fine(test_ctx, fit(&w->s, &w->opt, &info, &want));
    tn_fit_info_free(info);
    for (; rounds > 1; ++n) {
        tn_head *head = NULL;
        size_t reached = n;
        rounds = 0;
        unlink(w->checkpoint);
        for (tn_status st = TN_ERR_INTERRUPTED; st != TN_OK; ++rounds) {
            interrupt i = {NULL, 0, reached};
            info = NULL;
            i.ctx = ctx_of(0);
            assert_fine(i.ctx, tn_labels_open(i.ctx, file_path("valid.txt"), w->s.task, &w->opt.valid.labels));
            tn_ctx_set_progress(i.ctx, cancel_at, &i);
            test_ctx = i.ctx;
            st = fit(&w->s, &w->opt, &info, &head);
            test_ctx = usual;
            assert_true(st == TN_OK || (st == TN_ERR_INTERRUPTED && !head && !info));
            if (st == TN_OK) {
                size_t bytes_of = want->classes * want->dim * sizeof *want->weight;
                assert_memory_equal(head->weight, want->weight, bytes_of);
                assert_memory_equal(head->bias, want->bias, want->classes * sizeof *want->bias);
                assert_string_equal(head->options, want->options);
            }
            tn_fit_info_free(info);
            tn_head_free(head);
            tn_labels_free(w->opt.valid.labels);
            ctx_done(i.ctx);
            reached += access(w->checkpoint, F_OK) == 0 ? 0 : 1; /* too early for a pass: later next time */
        }
    }
    assert_true(n > 6); /* each pass tells its progress */
    tn_head_free(want);
    whole_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_of_the_literal_loop),
        cmocka_unit_test(going_on_from_a_head),
        cmocka_unit_test(weights_of_rows),
        cmocka_unit_test(balanced_classes_of_labels_too),
        cmocka_unit_test(balanced_samples_of_negatives),
        cmocka_unit_test(going_on_from_a_ridge_head_kept_no_threshold),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(interrupted_again_and_again),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
