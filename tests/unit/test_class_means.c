/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nearest class mean against distances by loops in long double, and its leave-one-out against means that are really
 * made without the row.
 *
 * Tolerances. Scores are of size 1, sums of d products of values below V = 1 + |offset| in double, so that they are
 * within 4 d V eps of the loops' scores in leave-one-out; the head's are within the rounding of its float weights and
 * intercept, 2^-23 (1 + sum |w_j x_j|). */
#include "ridge_of.h"
#include "learn/ridge/class_means.h"

#include <float.h>

/* Weighted means of the rows of x (n, d) but `without` (SIZE_MAX: none), and the scores (k) of row `at` by the head of
 * class_means.c. */
static void scores_by_loops(const setting *s, size_t without, size_t at, bool intercept, ref_real *out)
{
    size_t n = s->p.n, d = s->p.d, k = s->p.k, present = 0;
    ref_real *mean = ref_alloc(k * d, sizeof *mean), *centre = ref_alloc(d, sizeof *centre), total = 0;
    ref_real *sizes = ref_alloc(k, sizeof *sizes);
    for (size_t i = 0; i < n; ++i)
        if (i != without) {
            size_t c = s->labels->cls[s->labels->first[i]];
            ref_real weight = s->y.weight ? (ref_real)s->y.weight[i] : 1;
            present += sizes[c] == 0;
            sizes[c] += weight;
            for (size_t j = 0; j < d; ++j)
                mean[c * d + j] += weight * (ref_real)s->p.x[i * d + j];
        }
    for (size_t c = 0; c < k; ++c)
        for (size_t j = 0; j < d && sizes[c] > 0; ++j) {
            mean[c * d + j] /= sizes[c];
            centre[j] += intercept ? mean[c * d + j] / (ref_real)present : 0;
        }
    for (size_t c = 0; c < k; ++c) {
        ref_real far = 0, own = 0, square = 0, product = 0;
        for (size_t j = 0; j < d && sizes[c] > 0; ++j) {
            ref_real x = (ref_real)s->p.x[at * d + j], m = mean[c * d + j];
            far += (x - centre[j]) * (x - centre[j]);
            own += (x - m) * (x - m);
            square += (m - centre[j]) * (m - centre[j]);
            product += x * m;
        }
        total += intercept ? square : sqrtl(square);
        out[c] = intercept ? (far - own) / 2 : square > 0 ? product / sqrtl(square) : 0;
    }
    for (size_t c = 0; c < k; ++c)
        out[c] = sizes[c] == 0 ? 0 : (intercept ? 0.5L : 0) + out[c] * (ref_real)present / total;
    free(mean);
    free(centre);
    free(sizes);
}

/* A problem whose class 0 has a third of the rows and more, class k - 2 none, class k - 1 one. */
static setting uneven(size_t n, size_t d, size_t k, double offset)
{
    setting s = {.p = ref_problem_of(REF_SIGNED, n, d, k, n + d)};
    ref_rng rng = ref_rng_of(n * 3 + d);
    for (size_t i = 0; i < n; ++i) {
        size_t c = i == 1 ? k - 1 : i % 3 == 0 ? 0 : ref_below(&rng, k - 2);
        for (size_t j = 0; j < k; ++j)
            s.p.y[i * k + j] = j == c;
        for (size_t j = 0; j < d; ++j)
            s.p.x[i * d + j] += offset;
    }
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    return s;
}

static tnp_class_means *means_of(const setting *s, const bool *skip, bool intercept)
{
    tnp_class_means *m = NULL;
    assert_fine(test_ctx,
                tnp_class_means_new(test_ctx, (const tn_feed *const *)s->feed, 2, &s->y, skip, intercept, &m));
    return m;
}

static void check_head(const setting *s, bool intercept)
{
    size_t n = s->p.n, d = s->p.d, k = s->p.k;
    tnp_class_means *m = means_of(s, NULL, intercept);
    float *w = ref_alloc(k * d, sizeof *w), *b = ref_alloc(k, sizeof *b);
    ref_real *want = ref_alloc(k, sizeof *want);
    tnp_class_means_weights(m, w, b);
    for (size_t i = 0; i < n; ++i) {
        scores_by_loops(s, SIZE_MAX, i, intercept, want);
        for (size_t c = 0; c < k; ++c) {
            double score = (double)b[c], size = 1;
            for (size_t j = 0; j < d; ++j) {
                score += (double)w[c * d + j] * s->p.x[i * d + j];
                size += 2 * fabs((double)w[c * d + j] * s->p.x[i * d + j]);
            }
            if (m->sizes[c] > 0)
                assert_near_at(i, score, (double)want[c], 0x1p-23 * size);
        }
    }
    free(w);
    free(b);
    free(want);
    tnp_class_means_free(m);
}

static void check_loo(const setting *s, bool intercept, double tolerance)
{
    size_t n = s->p.n, k = s->p.k;
    tnp_class_means *m = means_of(s, NULL, intercept);
    size_t *rows = ref_alloc(n, sizeof *rows);
    double *got = ref_alloc(n * k, sizeof *got);
    ref_real *want = ref_alloc(k, sizeof *want);
    for (size_t i = 0; i < n; ++i)
        rows[i] = n - 1 - i;
    assert_fine(test_ctx, tnp_class_means_loo(test_ctx, m, (const tn_feed *const *)s->feed, 2, &s->y, rows, n, got));
    for (size_t i = 0; i < n; ++i) {
        bool alone = m->sizes[s->y.cls[rows[i]]] == 1;
        scores_by_loops(s, rows[i], rows[i], intercept, want);
        for (size_t c = 0; c < k; ++c)
            assert_near_at(i, got[i * k + c], alone ? 0 : (double)want[c], tolerance);
    }
    free(rows);
    free(got);
    free(want);
    tnp_class_means_free(m);
}

static void nearest_class_mean_by_distances(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{30, 6, 4}, {9, 20, 5}, {300, 3, 6}};
    for (size_t z = 0; z < 3; ++z)
        for (int intercept = 0; intercept < 2; ++intercept) {
            setting s = uneven(shapes[z][0], shapes[z][1], shapes[z][2], 0);
            check_head(&s, intercept);
            check_loo(&s, intercept, 1e-12);
            setting_free(&s);
        }
}

static void weights_of_rows_move_the_class_means(void **state)
{
    (void)state;
    for (int intercept = 0; intercept < 2; ++intercept) {
        double weight[40];
        setting s = uneven(40, 6, 5, 0);
        ref_rng rng = ref_rng_of(11);
        for (size_t i = 0; i < 40; ++i)
            weight[i] = 0.25 * (double)(1 + ref_below(&rng, 20));
        s.y.weight = weight;
        check_head(&s, intercept);
        check_loo(&s, intercept, 1e-11); /* as above, by the ratio of weights, 20 at most */
        setting_free(&s);
    }
}

/* Means without some rows, and scores of a row by them: the loops leave out one. */
static void rows_that_take_no_part(void **state)
{
    (void)state;
    for (int intercept = 0; intercept < 2; ++intercept) {
        setting s = uneven(30, 6, 4, 0);
        for (size_t i = 0; i < 30; ++i) {
            bool skip[30] = {0};
            double got[4];
            ref_real want[4];
            skip[i] = true;
            tnp_class_means *m = means_of(&s, skip, intercept);
            assert_fine(test_ctx, tnp_class_means_scores(test_ctx, m, (const tn_feed *const *)s.feed, 2, &i, 1, got));
            scores_by_loops(&s, i, i, intercept, want);
            for (size_t c = 0; c < 4; ++c)
                assert_near_at(c, got[c], (double)want[c], 1e-12);
            tnp_class_means_free(m);
        }
        setting_free(&s);
    }
}

/* Offsets of 1e6 spreads: means about the first row keep their digits, 1e6 d eps of a score. */
static void an_offset_costs_no_digits(void **state)
{
    (void)state;
    setting s = uneven(40, 7, 5, 1e6);
    check_loo(&s, true, 1e-8);
    setting_free(&s);
}

/* One row of each class: a row is nearest to itself. Rows that are all the same say nothing. */
static void one_row_of_each_class(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 7, 12, 7, TN_TASK_MULTICLASS, AS_F64);
    tnp_class_means *m = means_of(&s, NULL, true);
    assert_int_equal(m->present, 7);
    check_head(&s, true);
    check_loo(&s, true, 0);
    tnp_class_means_free(m);
    setting_free(&s);
    s = setting_of(REF_SIGNED, 4, 3, 2, TN_TASK_MULTICLASS, AS_F64);
    tn_feed_free(s.feed[0]);
    tn_feed_free(s.feed[1]);
    for (int f = 0; f < 2; ++f) {
        double same[12] = {0};
        tn_features_close(s.features[f]);
        s.features[f] = array_of(f ? "b" : "a", same, 4, 1, AS_F64);
        s.feed[f] = feed_of(s.features[f], TN_NORM_NONE);
    }
    m = means_of(&s, NULL, true);
    assert_true(m->scale == 0);
    tnp_class_means_free(m);
    setting_free(&s);
}

static void failing_allocations(void **state)
{
    (void)state;
    setting s = uneven(30, 6, 4, 0);
    tnp_class_means *const untouched = (tnp_class_means *)(void *)test_folder;
    tn_status st = TN_ERR_MEMORY;
    size_t tries = 0;
    for (size_t k = 1; st != TN_OK; ++k) {
        tnp_class_means *m = untouched;
        double out[30 * 4];
        const size_t rows[2] = {3, 5};
        tnp_fail_allocation(test_ctx, k);
        st = tnp_class_means_new(test_ctx, (const tn_feed *const *)s.feed, 2, &s.y, NULL, true, &m);
        if (st != TN_OK)
            assert_ptr_equal(m, untouched);
        else
            st = tnp_class_means_loo(test_ctx, m, (const tn_feed *const *)s.feed, 2, &s.y, rows, 2, out);
        tnp_fail_allocation(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        tnp_class_means_free(m == untouched ? NULL : m);
        tries = k;
    }
    assert_true(tries > 7);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_class_mean_by_distances), cmocka_unit_test(weights_of_rows_move_the_class_means),
        cmocka_unit_test(rows_that_take_no_part),          cmocka_unit_test(an_offset_costs_no_digits),
        cmocka_unit_test(one_row_of_each_class),           cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
