/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validated ridge regression against a literal fit for every fold and lambda, in the primal and the dual; and the
 * two pieces it stands on: statistics less a part of their rows, leave-one-out at a lambda of each class.
 *
 * Tolerance of scores. Narrow statistics are float products of blocks and scores float products of rows: 8 u of the
 * targets' size, u = 2^-24, times the condition of the ridge problem: |X|^2 / lambda = 300 for 30 rows of unit norm at
 * the smallest lambda here; less for the others, whose smallest eigenvalue is not 0. */
#include "ridge_of.h"
#include "learn/ridge/loo.h"
#include "learn/head/cross.h"
#include "learn/head/folds.h"
#include "ref_ridge.h"

#include <math.h>

static const double U = 0x1p-24;

/* What the measure is shown, kept for comparison: score of every row at every lambda, in order of the calls. */
typedef struct witness {
    const setting *s;
    const uint32_t *fold;
    size_t folds, calls;
    bool intercept;
    const double *grid;
    size_t count;
    double most;   /* largest difference from the literal fit */
    double *value; /* (count, folds) by the literal fit */
    bool constant; /* all values are equal */
    size_t fail_at;
} witness;

static double accuracy(const ref_problem *p, const size_t *rows, size_t count, const float *scores)
{
    double right = 0;
    for (size_t i = 0; i < count; ++i) {
        size_t best = 0;
        for (size_t c = 1; c < p->k; ++c)
            best = scores[i * p->k + c] > scores[i * p->k + best] ? c : best;
        right += p->y[rows[i] * p->k + best];
    }
    return right / (double)count;
}

/* The problem without the rows of fold f. */
static ref_problem rest_of(const ref_problem *p, const uint32_t *fold, size_t f)
{
    ref_problem q = {0, p->d, p->k, ref_alloc(p->n * p->d, sizeof(double)), ref_alloc(p->n * p->k, sizeof(double))};
    for (size_t i = 0; i < p->n; ++i)
        if (fold[i] != f) {
            memcpy(q.x + q.n * p->d, p->x + i * p->d, p->d * sizeof(double));
            memcpy(q.y + q.n++ * p->k, p->y + i * p->k, p->k * sizeof(double));
        }
    return q;
}

/* Called fold by fold, lambda by lambda: fits the rest again and compares the scores. */
static tn_status watch(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores, double *value)
{
    witness *v = arg;
    const ref_problem *p = &v->s->p;
    size_t f = v->calls / v->count, g = v->calls % v->count, held = 0;
    if (v->fail_at && v->calls + 1 == v->fail_at)
        return tnp_fail(ctx, TN_ERR_DATA, "the measure refuses");
    ref_problem q = rest_of(p, v->fold, f);
    ref_real *w = ref_alloc(p->k * p->d, sizeof *w), *b = ref_alloc(p->k, sizeof *b);
    ref_ridge(&q, v->intercept, (ref_real)v->grid[g], w, b);
    for (size_t i = 0; i < p->n; ++i)
        held += v->fold[i] == f;
    assert_int_equal(count, held);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(v->fold[rows[i]], f);
        for (size_t c = 0; c < p->k; ++c) {
            ref_real s = b[c];
            for (size_t j = 0; j < p->d; ++j)
                s += w[c * p->d + j] * (ref_real)p->x[rows[i] * p->d + j];
            v->most = fmax(v->most, fabs((double)s - (double)scores[i * p->k + c]));
        }
    }
    *value = v->value[g * v->folds + f] = v->constant ? 0.5 : accuracy(p, rows, count, scores);
    ++v->calls;
    ref_problem_free(&q);
    free(w);
    free(b);
    return TN_OK;
}

static tn_status run(const setting *s, witness *v, bool streamed, tnp_cross **cross)
{
    tn_status st = TN_OK;
    tnp_design *x = NULL;
    v->s = s;
    v->calls = 0;
    TN_TRY(tnp_design_new(test_ctx, (const tn_feed *const *)s->feed, 2, 0, &x));
    if (streamed) {
        x->block = 7;
        x->blocks = (x->rows + 6) / 7;
        x->resident = false;
    }
    TN_TRY(tnp_cross_new(test_ctx, v->grid, v->count, v->folds, cross));
    TN_TRY(tnp_ridge_cv(test_ctx, x, &s->y, v->intercept, v->fold, watch, v, *cross));
done:
    tnp_design_free(x);
    return st;
}

static void check_cross(const witness *v, const tnp_cross *cross)
{
    size_t best = 0;
    double most = -INFINITY;
    assert_int_equal(v->calls, v->count * v->folds);
    for (size_t g = 0; g < v->count; ++g) {
        double mean = 0, square = 0, n = (double)v->folds;
        for (size_t f = 0; f < v->folds; ++f) {
            assert_true(cross->value[g * v->folds + f] == v->value[g * v->folds + f]);
            mean += v->value[g * v->folds + f] / n;
        }
        for (size_t f = 0; f < v->folds; ++f)
            square += (v->value[g * v->folds + f] - mean) * (v->value[g * v->folds + f] - mean);
        assert_near_at(g, cross->mean[g], mean, 1e-14);
        assert_near_at(g, cross->se[g], sqrt(square / (n - 1) / n), 1e-14);
        if (cross->mean[g] >= most) { /* of equals the largest lambda */
            most = cross->mean[g];
            best = g;
        }
    }
    assert_int_equal(cross->best, best);
}

/* Many rows (primal), few rows (dual), rows that come in one fold more than in others. */
static void every_fold_and_lambda(void **state)
{
    (void)state;
    const double grid[] = {0.1, 1, 3, 100, 1e5};
    const size_t shapes[][2] = {{80, 6}, {24, 40}, {30, 23}, {30, 22}, {30, 21}};
    for (size_t z = 0; z < 5; ++z)
        for (int form = 0; form < 12; ++form) {
            size_t n = shapes[z][0];
            tn_task task = form < 4 ? TN_TASK_MULTICLASS : form < 8 ? TN_TASK_MULTILABEL : TN_TASK_REGRESSION;
            setting s = setting_of(z % 2 ? REF_NONNEG : REF_SIGNED, n, shapes[z][1], 3, task, AS_F32);
            uint32_t fold[80];
            double value[5 * 4];
            for (size_t i = 0; i < n; ++i) {
                fold[i] = (uint32_t)(i * 7 % 4);
                for (size_t c = 0; task == TN_TASK_REGRESSION && c < 3;
                     ++c) /* as the task stage gives them: about zero */
                    s.p.y[i * 3 + c] = s.labels->values[i * 3 + c] -= 1000;
            }
            witness v = {.fold = fold, .folds = 4, .intercept = form & 1, .grid = grid, .count = 5, .value = value};
            tnp_cross *cross = NULL;
            double size = 0;
            for (size_t i = 0; i < n * 3; ++i)
                size = fmax(size, fabs(s.p.y[i]));
            assert_fine(test_ctx, run(&s, &v, form & 2, &cross));
            if (!(v.most <= 8 * 300 * U * size))
                print_error("%zu x %zu, form %d: scores off by %g of %g\n", n, shapes[z][1], form, v.most, size);
            assert_true(v.most <= 8 * 300 * U * size);
            check_cross(&v, cross);
            tnp_cross_free(cross);
            setting_free(&s);
        }
}

/* One fold beside rows that are in none, which train in every fold and are never shown to the measure. With one fold the
 * smallest training was taken to have no rows. */
static void rows_of_no_fold_always_train(void **state)
{
    (void)state;
    const double grid[] = {0.1, 1, 100};
    const size_t shapes[][2] = {{60, 6}, {24, 40}};
    for (size_t z = 0; z < 2; ++z)
        for (size_t folds = 1; folds < 3; ++folds) {
            size_t n = shapes[z][0];
            setting s = setting_of(REF_SIGNED, n, shapes[z][1], 3, TN_TASK_MULTICLASS, AS_F32);
            uint32_t fold[60];
            double value[3 * 2];
            tnp_cross *cross = NULL;
            for (size_t i = 0; i < n; ++i)
                fold[i] = i % 4 < folds ? (uint32_t)(i % 4) : i % 2 ? TNP_NO_FOLD : (uint32_t)folds;
            witness v = {.fold = fold, .folds = folds, .intercept = true, .grid = grid, .count = 3, .value = value};
            assert_fine(test_ctx, run(&s, &v, false, &cross));
            assert_true(v.most <= 8 * 300 * U);
            assert_int_equal(v.calls, 3 * folds);
            for (size_t g = 0; g < 3; ++g)
                assert_true(isnan(cross->se[g]) == (folds == 1));
            tnp_cross_free(cross);
            setting_free(&s);
        }
}

/* Equal everywhere: the largest lambda; a grid of one; a class that occurs in one fold only. */
static void ties_and_rare_classes(void **state)
{
    (void)state;
    const double grid[] = {1, 10, 100};
    for (int dual = 0; dual < 2; ++dual) {
        setting s = setting_of(REF_SIGNED, 40, dual ? 60 : 6, 3, TN_TASK_MULTICLASS, AS_F32);
        uint32_t fold[40];
        double value[3 * 4];
        tnp_cross *cross = NULL;
        for (size_t i = 0; i < 40; ++i) /* every row of class 2 is in fold 3 */
            fold[i] = s.p.y[i * 3 + 2] > 0.5 ? 3 : (uint32_t)(i % 3);
        witness v = {
            .fold = fold, .folds = 4, .intercept = true, .grid = grid, .count = 3, .value = value, .constant = true};
        assert_fine(test_ctx, run(&s, &v, false, &cross));
        assert_true(v.most <= 8 * 300 * U);
        check_cross(&v, cross);
        assert_int_equal(cross->best, 2);
        tnp_cross_free(cross);
        cross = NULL;
        v.count = 1;
        v.constant = false;
        assert_fine(test_ctx, run(&s, &v, false, &cross));
        check_cross(&v, cross);
        tnp_cross_free(cross);
        setting_free(&s);
    }
}

static void faults(void **state)
{
    (void)state;
    const double grid[] = {1, 10};
    for (int dual = 0; dual < 2; ++dual) {
        setting s = setting_of(REF_SIGNED, 20, dual ? 24 : 4, 3, TN_TASK_MULTICLASS, AS_F32);
        uint32_t fold[20];
        double value[2 * 3];
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        for (size_t i = 0; i < 20; ++i)
            fold[i] = (uint32_t)(i % 3);
        for (;; ++k) {
            witness v = {.fold = fold, .folds = 3, .intercept = true, .grid = grid, .count = 2, .value = value};
            tnp_cross *cross = NULL;
            tnp_fail_allocation(test_ctx, k);
            tn_status st = run(&s, &v, false, &cross);
            tnp_fail_allocation(test_ctx, 0);
            tnp_cross_free(cross);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
        }
        assert_true(k > 30);
        for (size_t call = 1; call <= 6; ++call) { /* the measure's own failure comes through */
            witness v = {.fold = fold, .folds = 3, .grid = grid, .count = 2, .value = value, .fail_at = call};
            tnp_cross *cross = NULL;
            assert_fails(test_ctx, TN_ERR_DATA, "the measure refuses", run(&s, &v, false, &cross));
            tnp_cross_free(cross);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        setting_free(&s);
    }
}

/* ---- what it stands on ---- */

/* All rows less some are the others: moments in the frame of all rows, to the digits of the larger. */
static void statistics_less_a_part(void **state)
{
    (void)state;
    enum { N = 90, D = 5, K = 3 };
    setting s = setting_of(REF_SIGNED, N, D, K, TN_TASK_MULTILABEL, AS_F32);
    uint32_t fold[N];
    for (size_t i = 0; i < N; ++i)
        fold[i] = i < 30; /* the part is at the front, so that its frame is another than that of the rest */
    tnp_moments *all = NULL, *part = NULL;
    tnp_targets first = s.y;
    tn_feed *feed[2];
    for (int f = 0; f < 2; ++f)
        assert_fine(test_ctx,
                    tn_feed_new(test_ctx, s.features[f], NULL, 30, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed[f]));
    first.rows = 30;
    assert_fine(test_ctx, tnp_gather_moments(test_ctx, (const tn_feed *const *)s.feed, 2, &s.y, &all));
    assert_fine(test_ctx, tnp_gather_moments(test_ctx, (const tn_feed *const *)feed, 2, &first, &part));
    for (int round = 0; round < 2; ++round) { /* taken off, put back, taken off again */
        tnp_moments_subtract(all, part);
        assert_int_equal(tn_moments_rows(all), 60);
        ref_problem q = rest_of(&s.p, fold, 1);
        for (int intercept = 0; intercept < 2; ++intercept) {
            double gram[D * D], xty[K * D], yy[K], mean[D], ymean[K], want[D * D], rhs[K * D], want_yy[K];
            tnp_range every = {0, D};
            tnp_moments_of(all, &every, 1, intercept, gram, xty, yy, mean, ymean);
            ref_moments(&q, false, intercept, want, rhs, want_yy);
            double size = 0; /* of the Gram of all rows: what cancels */
            for (size_t i = 0; i < N * D; ++i)
                size += s.p.x[i] * s.p.x[i];
            for (size_t i = 0; i < D; ++i)
                for (size_t j = i; j < D; ++j)
                    assert_true(fabs(gram[i * D + j] - want[i * D + j]) <= (N + 8) * U * size);
            for (size_t i = 0; i < K * D; ++i)
                assert_true(fabs(xty[i] - rhs[i]) <= (N + 8) * U * size);
            for (size_t c = 0; c < K; ++c)
                assert_true(fabs(yy[c] - want_yy[c]) <= 1e-12 * N);
        }
        ref_problem_free(&q);
        assert_fine(test_ctx, tn_moments_merge(test_ctx, all, part));
        assert_int_equal(tn_moments_rows(all), N);
    }
    tn_moments_free(all);
    tn_moments_free(part);
    for (int f = 0; f < 2; ++f)
        tn_feed_free(feed[f]);
    setting_free(&s);
}

/* Leave-one-out with a lambda of each class is, class by class, leave-one-out by fitting again at that lambda. */
static void leave_one_out_at_lambdas_of_their_own(void **state)
{
    (void)state;
    const double lambdas[][4] = {{0.5, 0.5, 20, INFINITY}, {INFINITY, 3, INFINITY, 3}, {7, 7, 7, 7}};
    for (int dual = 0; dual < 2; ++dual)
        for (int intercept = 0; intercept < 2; ++intercept)
            for (size_t z = 0; z < 3; ++z) {
                setting s = setting_of(REF_SIGNED, 24, dual ? 30 : 5, 4, TN_TASK_MULTICLASS, AS_F64);
                tnp_ridge *ridge = ridge_of(&s, dual, intercept);
                tnp_sample *sample = NULL;
                tnp_loo *loo = NULL;
                double out[24 * 4];
                ref_real want[24 * 4];
                assert_fine(test_ctx, tnp_sample_new(test_ctx, &s.y, TN_TASK_MULTICLASS, SIZE_MAX, 0, &sample));
                assert_fine(test_ctx,
                            tnp_loo_new(test_ctx, ridge, (const tn_feed *const *)s.feed, 2, &s.y, sample, &loo));
                assert_fine(test_ctx, tnp_loo_predict_each(test_ctx, loo, lambdas[z], out));
                for (size_t c = 0; c < 4; ++c) {
                    ref_loo(&s.p, intercept, (ref_real)lambdas[z][c], want);
                    for (size_t i = 0; i < 24; ++i)
                        assert_near_at(i, out[i * 4 + c], (double)want[i * 4 + c], 1e-8);
                }
                tnp_loo_free(loo);
                tnp_sample_free(sample);
                tnp_ridge_free(ridge);
                setting_free(&s);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fold_and_lambda),  cmocka_unit_test(rows_of_no_fold_always_train),
        cmocka_unit_test(ties_and_rare_classes),  cmocka_unit_test(faults),
        cmocka_unit_test(statistics_less_a_part), cmocka_unit_test(leave_one_out_at_lambdas_of_their_own),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
