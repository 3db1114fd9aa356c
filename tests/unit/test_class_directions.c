/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The head of directions of class means against a Cholesky factor by loops in long double, of the K equations of its
 * definition whatever the shape.
 *
 * Tolerance: the Gram matrix of unit rows + 3 I has eigenvalues of 3 to K + 3, so that the solution loses K / 3 + 1 times
 * what its sums lose, max(K, d) eps; far below the rounding of the float weights and of the intercept, 2^-23 (1 + sum
 * |w_j x_j|) in a score, which is of size 1. */
#include "ridge_of.h"
#include "learn/ridge/class_means.h"

/* Of one row x_i per class i: out (k, d) = scale (D D' + 3 I)^-1 D, centre (d). */
static void weights_by_loops(size_t k, size_t d, const double *x, bool intercept, ref_real *out, ref_real *centre)
{
    ref_real *gram = ref_alloc(k * k, sizeof *gram), *away = ref_alloc(k * d, sizeof *away), own = 0;
    ref_real *column = ref_alloc(k, sizeof *column);
    for (size_t j = 0; j < d; ++j)
        for (size_t i = 0; i < k; ++i)
            centre[j] += intercept ? (ref_real)x[i * d + j] / (ref_real)k : 0;
    for (size_t i = 0; i < k; ++i) {
        ref_real square = 0;
        for (size_t j = 0; j < d; ++j) {
            away[i * d + j] = (ref_real)x[i * d + j] - centre[j];
            square += away[i * d + j] * away[i * d + j];
        }
        for (size_t j = 0; j < d; ++j)
            out[i * d + j] = square > 0 ? away[i * d + j] / sqrtl(square) : 0;
    }
    for (size_t a = 0; a < k; ++a)
        for (size_t b = 0; b < k; ++b) {
            gram[a * k + b] = a == b ? 3 : 0;
            for (size_t j = 0; j < d; ++j)
                gram[a * k + b] += out[a * d + j] * out[b * d + j];
        }
    assert_true(ref_cholesky(gram, k));
    for (size_t j = 0; j < d; ++j) {
        for (size_t i = 0; i < k; ++i)
            column[i] = out[i * d + j];
        ref_cholesky_solve(gram, k, column);
        for (size_t i = 0; i < k; ++i) {
            out[i * d + j] = column[i];
            own += column[i] * away[i * d + j];
        }
    }
    for (size_t i = 0; i < k * d; ++i)
        out[i] *= (ref_real)k / own;
    free(gram);
    free(away);
    free(column);
}

static void weights_of(const setting *s, bool intercept, float *w, float *b)
{
    tnp_class_means *m = NULL;
    assert_fine(test_ctx,
                tnp_class_means_new(test_ctx, (const tn_feed *const *)s->feed, 2, &s->y, NULL, intercept, &m));
    assert_fine(test_ctx, tnp_class_directions_weights(test_ctx, m, w, b));
    tnp_class_means_free(m);
}

/* k rows of k classes, in this order, times `by` and with an offset. */
static setting one_row_each(size_t k, size_t d, double by, double offset)
{
    setting s = {.p = ref_problem_of(REF_SIGNED, k, d, k, k * 31 + d)};
    for (size_t i = 0; i < k * d; ++i)
        s.p.x[i] = by * s.p.x[i] + offset;
    for (size_t i = 0; i < k * k; ++i)
        s.p.y[i] = i % (k + 1) == 0;
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    return s;
}

static void check(size_t k, size_t d, bool intercept)
{
    setting s = one_row_each(k, d, 1, 0);
    float *w = ref_alloc(k * d, sizeof *w), *b = ref_alloc(k, sizeof *b);
    ref_real *want = ref_alloc(k * d, sizeof *want), *centre = ref_alloc(d, sizeof *centre);
    weights_of(&s, intercept, w, b);
    weights_by_loops(k, d, s.p.x, intercept, want, centre);
    for (size_t i = 0; i < k; ++i)
        for (size_t c = 0; c < k; ++c) {
            double got = (double)b[c], size = 1;
            ref_real score = 0;
            for (size_t j = 0; j < d; ++j) {
                got += (double)w[c * d + j] * s.p.x[i * d + j];
                size += fabs((double)w[c * d + j] * s.p.x[i * d + j]);
                score += want[c * d + j] * ((ref_real)s.p.x[i * d + j] - centre[j]);
            }
            assert_near_at(i, got, (double)score, 0x1p-23 * size);
        }
    free(w);
    free(b);
    free(want);
    free(centre);
    setting_free(&s);
}

static void directions_by_loops(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{2, 4}, {7, 30}, {12, 12}, {40, 6}};
    for (size_t z = 0; z < sizeof shapes / sizeof *shapes; ++z)
        for (int intercept = 0; intercept < 2; ++intercept)
            check(shapes[z][0], shapes[z][1], intercept);
}

/* Rows times a and moved by b have the same directions: weights are 1 / a of what they were. Values are rounded at the
 * size of the offset, 1e3 / eps of what lies between rows, and weights to float. */
static void size_and_place_of_the_rows_do_not_matter(void **state)
{
    (void)state;
    enum { K = 9, D = 14 };
    setting one = one_row_each(K, D, 1, 0), two = one_row_each(K, D, 1e-4, 0.1);
    float w1[K * D], b1[K], w2[K * D], b2[K];
    weights_of(&one, true, w1, b1);
    weights_of(&two, true, w2, b2);
    for (size_t i = 0; i < K * D; ++i)
        assert_near_at(i, 1e-4 * (double)w2[i], (double)w1[i], 0x1p-22);
    setting_free(&one);
    setting_free(&two);
}

/* A class that lies at the centre has no direction, and takes none from the others. */
static void a_class_without_a_direction(void **state)
{
    (void)state;
    const double x[3 * 2] = {1, 0, -1, 0, 0, 0}, y[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    float w[3 * 2], b[3];
    tn_features *features = array_of("a", x, 3, 2, AS_F64);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    tn_labels *labels = labels_of(y, 3, 3, TN_TASK_MULTICLASS);
    tnp_targets targets = targets_of(labels);
    tnp_class_means *m = NULL;
    assert_fine(test_ctx, tnp_class_means_new(test_ctx, (const tn_feed *const *)&feed, 1, &targets, NULL, true, &m));
    assert_fine(test_ctx, tnp_class_directions_weights(test_ctx, m, w, b));
    assert_true(w[0] > 0 && w[2] == -w[0] && w[4] == 0 && w[5] == 0 && b[2] == 0);
    tnp_class_means_free(m);
    labels_done(labels);
    tn_feed_free(feed);
    tn_features_close(features);
}

static void failing_allocations(void **state)
{
    (void)state;
    setting s = one_row_each(5, 8, 1, 0);
    tnp_class_means *m = NULL;
    float w[5 * 8], b[5];
    size_t tries = 0;
    assert_fine(test_ctx, tnp_class_means_new(test_ctx, (const tn_feed *const *)s.feed, 2, &s.y, NULL, true, &m));
    for (tn_status st = TN_ERR_MEMORY; st != TN_OK;) {
        tnp_fail_allocation(test_ctx, ++tries);
        st = tnp_class_directions_weights(test_ctx, m, w, b);
        tnp_fail_allocation(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
    }
    assert_true(tries > 4);
    tnp_class_means_free(m);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_by_loops),
        cmocka_unit_test(size_and_place_of_the_rows_do_not_matter),
        cmocka_unit_test(a_class_without_a_direction),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
