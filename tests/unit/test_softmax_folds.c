/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial logistic regression of folds along C, each value started from the one before, with subspaces that are kept
 * between them and without: the same bytes whatever the number of threads and the budget, and an objective within the
 * gap of that of a cold training to a small one. Objectives are by a literal loop in double.
 *
 * Tolerance. What is claimed is f - min f <= gap f by sums of floats: n k U of the scores' size, far below the gap. */
#include "design_of.h"
#include "learn/head/folds.h"
#include "learn/linear/train_softmax.h"
#include "learn/softmax/softmax_coarse.h"

enum { N = 300, D = 40, K = 5, FOLDS = 4, COSTS = 4, WIDTH = D + 1, SIZE = FOLDS * K * WIDTH };
static const double COST[COSTS] = {0.3, 3, 30, 1};

typedef struct scene {
    setting s;
    tnp_task *task;
    tnp_design *x;
    tnp_learn_options options;
    uint32_t fold[N];
    tnp_coarse kept[FOLDS];
    tnp_linear linear;
    float w[COSTS][SIZE]; /* after each C */
} scene;

/* The classes differ in some columns, by about what is random in all. */
static scene *scene_of(void)
{
    scene *e = ref_alloc(1, sizeof *e);
    e->s = setting_of(REF_SIGNED, N, D, K, TN_TASK_MULTICLASS, AS_F32);
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)e->s.features, 2, e->s.labels,
                                       TN_NAN_ERROR, true, &e->task));
    e->x = design_of(&e->s);
    tnp_learn_options_default(&e->options);
    e->options.gap = 1e-2;
    for (size_t i = 0; i < N; ++i)
        e->fold[i] = (uint32_t)(i * 7 % (FOLDS + 1));
    for (size_t i = 0; i < N; ++i)
        e->fold[i] = e->fold[i] < FOLDS ? e->fold[i] : TNP_NO_FOLD;
    e->linear = (tnp_linear){.rows = tnp_design_rows(e->x),
                             .design = e->x,
                             .task = e->task,
                             .options = &e->options,
                             .logistic = true,
                             .bias = true,
                             .row_fold = e->fold,
                             .folds = FOLDS};
    return e;
}

static void forget(scene *e)
{
    for (size_t f = 0; f < FOLDS; ++f) {
        tnp_coarse_destroy(&e->kept[f]);
        e->kept[f] = (tnp_coarse){0};
    }
}

static void scene_free(scene *e)
{
    forget(e);
    tnp_task_free(e->task);
    tnp_design_free(e->x);
    setting_free(&e->s);
    free(e);
}

/* Along all C into e->w. */
static tn_status walk(scene *e, bool keep)
{
    tn_status st = TN_OK;
    tnp_training said;
    forget(e);
    memset(e->w, 0, sizeof e->w);
    e->linear.kept = keep ? e->kept : NULL;
    for (size_t c = 0; c < COSTS && st == TN_OK; ++c) {
        if (c > 0)
            memcpy(e->w[c], e->w[c - 1], sizeof e->w[c]);
        st = tnp_linear_train(test_ctx, &e->linear, COST[c], e->w[c], &said);
    }
    return st;
}

/* f of fold f's model by a loop over the rows outside the fold. */
static double objective(const scene *e, double cost, size_t f, const float *w)
{
    double sum = 0;
    for (size_t i = 0; i < K * WIDTH; ++i)
        sum += i % WIDTH < D ? (double)w[i] * (double)w[i] / 2 : 0;
    for (size_t i = 0; i < N; ++i) {
        double total = 0, own = 0;
        for (size_t k = 0; k < K; ++k) {
            double s = (double)w[k * WIDTH + D];
            for (size_t j = 0; j < D; ++j)
                s += (double)w[k * WIDTH + j] * e->s.p.x[i * D + j];
            total += exp(s);
            own += e->s.p.y[i * K + k] > 0.5 ? s : 0;
        }
        sum += e->fold[i] == f ? 0 : cost * (log(total) - own);
    }
    return sum;
}

static void folds_are_within_their_gap(void **state)
{
    (void)state;
    scene *loose = scene_of(), *tight = scene_of();
    tight->options.gap = 1e-7;
    for (size_t c = 0; c < COSTS; ++c) {
        tnp_training said;
        assert_fine(test_ctx, tnp_linear_train(test_ctx, &tight->linear, COST[c], tight->w[c], &said));
        assert_true(said.converged);
    }
    for (int keep = 0; keep < 2; ++keep) {
        assert_fine(test_ctx, walk(loose, keep));
        for (size_t c = 0; c < COSTS; ++c)
            for (size_t f = 0; f < FOLDS; ++f) {
                double got = objective(loose, COST[c], f, loose->w[c] + f * K * WIDTH);
                double least = objective(tight, COST[c], f, tight->w[c] + f * K * WIDTH);
                if (!(got <= least * (1 + loose->options.gap)))
                    print_error("C %g, fold %zu: got %g, want %g\n", COST[c], f, got, least);
                assert_true(got <= least * (1 + loose->options.gap));
            }
    }
    scene_free(loose);
    scene_free(tight);
}

static void the_same_bytes_for_every_number_of_threads(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; ++keep) {
        scene *one = scene_of(), *more = scene_of();
        tn_ctx_set_threads(test_ctx, 1);
        assert_fine(test_ctx, walk(one, keep));
        for (size_t threads = 2; threads <= 6; ++threads) {
            tn_ctx_set_threads(test_ctx, threads);
            assert_int_equal(tnp_softmax_folds_at_once(test_ctx, &more->linear), threads);
            assert_fine(test_ctx, walk(more, keep));
            assert_memory_equal(more->w, one->w, sizeof one->w);
        }
        tn_ctx_set_threads(test_ctx, 0);
        scene_free(one);
        scene_free(more);
    }
}

/* From a budget that is too small on, in small steps, to one that has memory for folds side by side and for what they
 * keep: it fails by the budget or gives the same model within the gap, and never fails again once it did not. */
static void a_budget_changes_no_result(void **state)
{
    (void)state;
    scene *e = scene_of();
    size_t live = tn_ctx_memory_now(test_ctx), done = 0, refused = 0;
    tn_ctx_set_threads(test_ctx, 3);
    for (double more = 2e4; more < 4e7; more *= 1.15) {
        tn_ctx_set_memory(test_ctx, live + (size_t)more);
        tn_status st = walk(e, true);
        assert_true(st == TN_OK || (st == TN_ERR_BUDGET && done == 0));
        done += st == TN_OK;
        refused += st != TN_OK;
        for (size_t f = 0; st == TN_OK && f < FOLDS; ++f) {
            double first = objective(e, COST[1], f, e->w[1] + f * K * WIDTH);
            double last = objective(e, COST[2], f, e->w[2] + f * K * WIDTH);
            assert_true(first < last); /* the larger C has the larger minimum */
        }
        forget(e);
        assert_int_equal(tn_ctx_memory_now(test_ctx), live);
    }
    assert_true(done > 5 && refused > 1);
    tn_ctx_set_memory(test_ctx, 0);
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(e);
}

static void faults(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 2; ++threads) {
        scene *e = scene_of();
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        tn_status st = TN_ERR_MEMORY;
        tn_ctx_set_threads(test_ctx, threads);
        for (; st != TN_OK; k += 1 + k / 16) {
            tnp_fail_allocation(test_ctx, k);
            st = walk(e, true);
            tnp_fail_allocation(test_ctx, 0);
            assert_true(st == TN_OK || st == TN_ERR_MEMORY);
            forget(e);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(k > 8);
        tn_ctx_set_threads(test_ctx, 0);
        scene_free(e);
    }
}

static void an_interrupt_ends_it(void **state)
{
    (void)state;
    scene *e = scene_of();
    for (size_t threads = 1; threads <= 3; ++threads) {
        tn_ctx_set_threads(test_ctx, threads);
        tn_ctx_cancel(test_ctx);
        assert_fails(test_ctx, TN_ERR_INTERRUPTED, "interrupted", walk(e, true));
        tn_ctx_reset(test_ctx);
        assert_fine(test_ctx, walk(e, true));
    }
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_within_their_gap), cmocka_unit_test(the_same_bytes_for_every_number_of_threads),
        cmocka_unit_test(a_budget_changes_no_result), cmocka_unit_test(faults),
        cmocka_unit_test(an_interrupt_ends_it),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
