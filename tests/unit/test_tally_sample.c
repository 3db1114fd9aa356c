/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out from moments and a sample of their rows: against ridge regressions that are made again without the row,
 * in long double, and against the same rows in memory. Figures are means over rows of doubles that agree to 1e-9 and of
 * decisions, which are then the same; 1e-9. */
#include "tally_of.h"
#include "options_of.h"
#include "ref_dense.h"

static double weight_at(const tally_scene *s, size_t i)
{
    return s->labels->weights ? s->labels->weights[i] : 1;
}

/* Targets of row i without its row: weights of the others alone. columns [from, to) of s->x. */
static void predict_without(const tally_scene *s, size_t row, size_t from, size_t to, bool intercept, double lambda,
                            long double *out)
{
    enum { W = TALLY_D + 1 };
    long double a[W * W] = {0}, rhs[TALLY_K][W] = {{0}};
    size_t d = to - from, w = d + 1;
    for (size_t i = 0; i < TALLY_N; ++i) {
        long double z[W], g = weight_at(s, i);
        for (size_t j = 0; j < w; ++j)
            z[j] = j < d ? s->x[i * TALLY_D + from + j] : intercept ? 1 : 0;
        for (size_t j = 0; i != row && s->labels->known[i] && j < w; ++j) {
            for (size_t l = 0; l < w; ++l)
                a[j * w + l] += g * z[j] * z[l];
            for (size_t k = 0; k < TALLY_K; ++k)
                rhs[k][j] += g * z[j] * s->a.y[i * TALLY_K + k];
        }
    }
    for (size_t j = 0; j < w; ++j)
        a[j * w + j] += j < d ? lambda : intercept ? 0 : 1;
    assert_true(ref_cholesky(a, w));
    for (size_t k = 0; k < TALLY_K; ++k) {
        ref_cholesky_solve(a, w, rhs[k]);
        out[k] = rhs[k][d];
        for (size_t j = 0; j < d; ++j)
            out[k] += rhs[k][j] * s->x[row * TALLY_D + from + j];
    }
}

/* How right a row's decisions are. */
static double right(const tally_scene *s, size_t row, const long double *score)
{
    const double *y = s->a.y + row * TALLY_K;
    size_t best = 0;
    double share = 0;
    for (size_t k = 0; k < TALLY_K; ++k) {
        best = score[k] > score[best] ? k : best;
        share += ((score[k] > 0.5L) == (y[k] > 0.5)) / (double)TALLY_K;
    }
    return s->task == TN_TASK_MULTICLASS ? (double)(y[best] > 0.5) : share;
}

/* Accuracy and its standard error, or R^2, of the rows `rows`. */
static void figures_by_refits(const tally_scene *s, const size_t *rows, size_t count, size_t from, size_t to,
                              bool intercept, double lambda, double *accuracy, double *se, double *r2)
{
    double *is_right = ref_alloc(count, sizeof *is_right), mean = 0, square = 0;
    long double error[TALLY_K] = {0}, average[TALLY_K] = {0}, spread[TALLY_K] = {0}, score[TALLY_K];
    for (size_t i = 0; i < count; ++i) {
        predict_without(s, rows[i], from, to, intercept, lambda, score);
        is_right[i] = right(s, rows[i], score);
        mean += is_right[i] / (double)count;
        for (size_t k = 0; k < TALLY_K; ++k) {
            long double y = s->a.y[rows[i] * TALLY_K + k];
            error[k] += (y - score[k]) * (y - score[k]);
            average[k] += y / (long double)count;
        }
    }
    *r2 = 0;
    for (size_t k = 0; k < TALLY_K; ++k) {
        for (size_t i = 0; i < count; ++i)
            spread[k] += powl(s->a.y[rows[i] * TALLY_K + k] - average[k], 2);
        *r2 += (double)(1 - error[k] / spread[k]) / TALLY_K;
    }
    for (size_t i = 0; i < count; ++i)
        square += (is_right[i] - mean) * (is_right[i] - mean);
    *accuracy = mean;
    *se = sqrt(square) / (double)count;
    free(is_right);
}

/* ---- samples ---- */

typedef struct sample {
    tn_features *features[2];
    tn_labels *labels;
    tnp_valid rows;
} sample;

/* Rows of both representations as files of their own, under the names that the moments know. */
static sample sample_of(const tally_scene *s, const size_t *rows, size_t count)
{
    static const char *const names[TALLY_K] = {"class0", "class1", "class2", "class3"};
    sample m = {.labels = NULL};
    double *a = ref_alloc(count * TALLY_A, sizeof *a), *b = ref_alloc(count * TALLY_B, sizeof *b);
    double *values = ref_alloc(count * TALLY_K, sizeof *values), *weight = ref_alloc(count, sizeof *weight);
    uint8_t *marks = ref_alloc(count * TALLY_K, sizeof *marks);
    int64_t *cls = ref_alloc(count, sizeof *cls);
    char path[600];
    for (size_t i = 0; i < count; ++i) {
        memcpy(a + i * TALLY_A, s->a.x + rows[i] * TALLY_A, TALLY_A * sizeof *a);
        memcpy(b + i * TALLY_B, s->b.x + rows[i] * TALLY_B, TALLY_B * sizeof *b);
        memcpy(values + i * TALLY_K, s->a.y + rows[i] * TALLY_K, TALLY_K * sizeof *values);
        weight[i] = weight_at(s, rows[i]);
        for (size_t k = 0; k < TALLY_K; ++k) {
            marks[i * TALLY_K + k] = values[i * TALLY_K + k] > 0.5;
            cls[i] = marks[i * TALLY_K + k] ? (int64_t)k : cls[i];
        }
    }
    snprintf(path, sizeof path, "a=%s", write_matrix("sample_a.npy", a, count, TALLY_A, AS_F64));
    assert_fine(test_ctx, tn_features_open(test_ctx, path, &m.features[0]));
    snprintf(path, sizeof path, "b=%s", write_matrix("sample_b.npy", b, count, TALLY_B, AS_F64));
    assert_fine(test_ctx, tn_features_open(test_ctx, path, &m.features[1]));
    if (s->task == TN_TASK_MULTICLASS)
        assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, cls, count, names, TALLY_K, &m.labels));
    else if (s->task == TN_TASK_MULTILABEL)
        assert_fine(test_ctx, tn_labels_from_matrix(test_ctx, marks, count, TALLY_K, TALLY_K, 1, names,
                                                    TN_TASK_MULTILABEL, &m.labels));
    else
        assert_fine(test_ctx, tn_labels_from_values(test_ctx, values, count, TALLY_K, names, &m.labels));
    if (s->labels->weights)
        assert_fine(test_ctx, tn_labels_set_weights(test_ctx, m.labels, weight, count));
    free(a);
    free(b);
    free(values);
    free(weight);
    free(marks);
    free(cls);
    return m;
}

/* Every step-th row that has a label. */
static size_t rows_of(const tally_scene *s, size_t step, size_t *rows)
{
    size_t count = 0;
    for (size_t i = step / 2; i < TALLY_N; i += step)
        if (s->labels->known[i])
            rows[count++] = i;
    return count;
}

static const tnp_valid *given(sample *m)
{
    m->rows = (tnp_valid){(const tn_features *const *)m->features, 2, m->labels};
    return &m->rows;
}

static void sample_free(sample *m)
{
    tn_features_close(m->features[0]);
    tn_features_close(m->features[1]);
    tn_labels_free(m->labels);
}

/* ---- tests ---- */

static void figures_equal_refits(void **state)
{
    (void)state;
    size_t judged = 0;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int turn = 0; turn < 3; ++turn) {
            tally_scene s = tally_scene_of((tn_task)task, turn == 1, turn == 1 ? "none" : "l2");
            size_t rows[TALLY_N], count = rows_of(&s, 5, rows);
            tn_tally *t = tally_of(&s, 0, TALLY_N);
            sample m = sample_of(&s, rows, count);
            tnp_rank_options o;
            tn_ranking *ranking = NULL;
            tnp_rank_options_default(&o);
            o.evidence.intercept = turn != 2;
            o.rows = *given(&m);
            assert_fine(test_ctx, tnp_tally_rank(test_ctx, t, &o, &ranking));
            for (size_t c = 0; c < 2; ++c) {
                const tn_candidate *got = ranking->candidates[c];
                bool first = strcmp(got->name, "a") == 0;
                double accuracy, se, r2;
                if (!isfinite(got->lambda_shared)) {
                    assert_true(task != TN_TASK_MULTICLASS || isnan(got->loo_accuracy));
                    continue;
                }
                ++judged;
                figures_by_refits(&s, rows, count, first ? 0 : TALLY_A, first ? TALLY_A : TALLY_D, turn != 2,
                                  got->lambda_shared, &accuracy, &se, &r2);
                if (task == TN_TASK_REGRESSION) {
                    assert_near(got->loo_r2, r2, 1e-9);
                } else {
                    assert_near(got->loo_accuracy, accuracy, 1e-9);
                    assert_near(got->loo_se, se, 1e-9);
                }
            }
            tn_ranking_free(ranking);
            sample_free(&m);
            tn_tally_free(t);
            tally_scene_free(&s);
        }
    assert_true(judged > 12); /* of 18: noise has no lambda */
}

/* With all rows in the sample: what rank and fit find by the rows themselves. */
static void figures_are_those_of_rows(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int weighted = 0; weighted < 2; ++weighted) {
            tally_scene s = tally_scene_of((tn_task)task, weighted != 0, "l2");
            size_t rows[TALLY_N], count = rows_of(&s, 1, rows);
            tn_tally *t = tally_of(&s, 0, TALLY_N);
            sample m = sample_of(&s, rows, count);
            tnp_fit_options o;
            tn_ranking *want = NULL, *got = NULL;
            tn_fit_info *a = NULL, *b = NULL;
            tn_head *x = NULL, *y = NULL;
            tnp_fit_options_default(&o);
            o.method = TNP_METHOD_EVIDENCE;
            o.select = TNP_SEARCH_ALL;
            o.rank.loo = TNP_ALL;
            assert_fine(test_ctx, tnp_rank(test_ctx, tally_features(&s), 2, s.labels, &o.rank, &want));
            assert_fine(test_ctx, tnp_fit(test_ctx, tally_features(&s), 2, s.labels, &o, &a, &x));
            o.rank.rows = *given(&m);
            assert_fine(test_ctx, tnp_tally_rank(test_ctx, t, &o.rank, &got));
            assert_fine(test_ctx, tnp_tally_fit(test_ctx, t, &o, &b, &y));
            for (size_t c = 0; c <= 2; ++c) {
                const tn_candidate *w = c < 2 ? want->candidates[c] : a->chosen,
                                   *g = c < 2 ? got->candidates[c] : b->chosen;
                assert_string_equal(g->name, w->name);
                if (task == TN_TASK_MULTICLASS && !isfinite(w->lambda_shared))
                    continue; /* class means, of all rows */
                if (task == TN_TASK_REGRESSION) {
                    assert_near(g->loo_r2, w->loo_r2, 1e-9);
                } else {
                    assert_near(g->loo_accuracy, w->loo_accuracy, 1e-9);
                    assert_near(g->loo_se, w->loo_se, 1e-9);
                    assert_near(g->loo_mean_ap, w->loo_mean_ap, 1e-9);
                }
            }
            assert_null(b->loo_note);
            tn_ranking_free(want);
            tn_ranking_free(got);
            tn_fit_info_free(a);
            tn_fit_info_free(b);
            tn_head_free(x);
            tn_head_free(y);
            sample_free(&m);
            tn_tally_free(t);
            tally_scene_free(&s);
        }
}

static void samples_that_cannot_be_are_refused(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "none"),
                weighted = tally_scene_of(TN_TASK_MULTICLASS, true, "none"),
                other = tally_scene_of(TN_TASK_REGRESSION, false, "none");
    size_t rows[TALLY_N], count = rows_of(&s, 9, rows);
    tn_tally *t = tally_of(&s, 0, TALLY_N);
    tnp_rank_options o;
    tn_ranking *ranking = NULL;
    tnp_rank_options_default(&o);
    sample m = sample_of(&s, rows, count);
    o.rows = *given(&m);
    o.rows.count = 1;
    assert_fails(test_ctx, TN_ERR_ARG, "the moments are of 'b' too", tnp_tally_rank(test_ctx, t, &o, &ranking));
    o.rows.count = 2;
    o.rows.labels = NULL;
    assert_fails(test_ctx, TN_ERR_ARG, "needs the labels", tnp_tally_rank(test_ctx, t, &o, &ranking));
    assert_fails(test_ctx, TN_ERR_ARG, "option rows is for moments",
                 tnp_rank(test_ctx, tally_features(&s), 2, s.labels, &o, &ranking));
    const tn_features *wrong[2] = {m.features[0], s.features[1]};
    o.rows = (tnp_valid){wrong, 2, m.labels};
    assert_fails(test_ctx, TN_ERR_SHAPE, "rows", tnp_tally_rank(test_ctx, t, &o, &ranking));
    sample_free(&m);
    m = sample_of(&weighted, rows, count);
    o.rows = *given(&m);
    assert_fails(test_ctx, TN_ERR_DATA, "rows without weights, the sample has some",
                 tnp_tally_rank(test_ctx, t, &o, &ranking));
    sample_free(&m);
    m = sample_of(&other, rows, count);
    o.rows = *given(&m);
    assert_fails(test_ctx, TN_ERR_DATA, "regression labels, but the moments are of a multiclass task",
                 tnp_tally_rank(test_ctx, t, &o, &ranking));
    sample_free(&m);
    for (size_t j = 0; j < TALLY_A; ++j) /* a row far outside of all that went in */
        s.a.x[rows[3] * TALLY_A + j] *= 1e4;
    m = sample_of(&s, rows, count);
    o.rows = *given(&m);
    assert_fails(test_ctx, TN_ERR_DATA, "row 3 of", tnp_tally_rank(test_ctx, t, &o, &ranking));
    sample_free(&m);
    assert_null(ranking);
    tn_tally_free(t);
    tally_scene_free(&s);
    tally_scene_free(&weighted);
    tally_scene_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_equal_refits),
        cmocka_unit_test(figures_are_those_of_rows),
        cmocka_unit_test(samples_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
