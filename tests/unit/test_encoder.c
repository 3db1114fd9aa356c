/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders of bags: every kind against its formula given the same words, pyramids cell by cell, empty bags, order,
 * threads; EM raises the likelihood, one Gaussian is the moments. */
#include "encoder_of.h"
#include "ref_encode.h"

#include <float.h>

/* x projected, in double. */
static float *projected(const tn_encoder *e, const float *x, size_t n)
{
    float *y = malloc((n * e->dim + 1) * sizeof *y);
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < e->dim; ++k) {
            double sum = 0;
            for (size_t j = 0; j < e->from; ++j)
                sum += e->projection.to ? (double)e->projection.basis[k * e->from + j] *
                                              ((double)x[i * e->from + j] - (double)e->projection.mean[j])
                                        : (j == k ? (double)x[i * e->from + j] : 0);
            y[i * e->dim + k] = (float)sum;
        }
    return y;
}

static void reference(const tn_encoder *e, const float *y, size_t n, ref_float *want)
{
    size_t k = tn_encoder_words(e), d = e->dim;
    if (e->kind == TNP_FISHER)
        ref_fisher(y, n, d, e->mixture.weights, e->mixture.means, e->mixture.variances, k, want);
    else if (e->kind == TNP_VLAD)
        ref_vlad(y, n, d, e->words.centres, k, want);
    else if (e->kind == TNP_BOVW)
        ref_bovw(y, n, d, e->words.centres, k, want);
    else
        ref_llc(y, n, d, e->words.centres, k, e->neighbours, want);
}

/* Largest difference over the largest value. */
static double relative(const float *got, const ref_float *want, size_t n)
{
    double off = 0, most = 0;
    for (size_t i = 0; i < n; ++i) {
        off = fmax(off, fabs((double)got[i] - (double)want[i]));
        most = fmax(most, fabs((double)want[i]));
    }
    return off / most;
}

static void check_kind(const char *options, double offset, double tolerance)
{
    bag_set s = bags_of(6, 150, 10, offset);
    tn_encoder *e = encoder_of(&s, options, NULL);
    size_t cols = tn_encoder_cols(e);
    ref_float *want = malloc(cols * sizeof *want);
    for (size_t b = 0; b < 2; ++b) {
        float *got = encoded(e, &s, b), *y = projected(e, s.x + s.offsets[b] * 10, 150);
        reference(e, y, 150, want);
        double off = relative(got, want, cols);
        if (off > tolerance)
            print_error("%s: relative difference %.3g > %.3g\n", options, off, tolerance);
        assert_true(off <= tolerance);
        free(got);
        free(y);
    }
    free(want);
    tn_encoder_free(e);
    free_bags(&s);
}

/* Posteriors: exponents of sums of 6 terms of size up to 100 in float, 1e-5; everything else is less. LLC solves systems
 * of condition up to 1e4 in double from differences of floats: eps 1e4. An offset of 100 costs the projection 100 eps
 * of values of size 1, which the posteriors see as 1e-4. */
static void every_kind_is_its_formula(void **state)
{
    (void)state;
    check_kind("kind=fisher words=8 pca=6 norm=raw", 0, 2e-5);
    check_kind("kind=fisher words=5 pca=0 norm=raw", 0, 2e-5);
    check_kind("kind=fisher words=5 pca=4 norm=raw", 100, 5e-4);
    check_kind("kind=vlad words=8 pca=6 norm=raw", 0, 1e-5);
    check_kind("kind=bovw words=40 pca=6 norm=raw", 0, 1e-6);
    check_kind("kind=llc words=40 pca=6 norm=raw neighbours=5", 0, 1e-3);
    check_kind("kind=llc words=3 pca=6 norm=raw neighbours=3", 0, 1e-3);
}

static void norms_are_what_they_say(void **state)
{
    (void)state;
    bag_set s = bags_of(4, 120, 8, 0);
    tn_encoder *raw = encoder_of(&s, "kind=fisher words=6 pca=5 norm=raw", NULL);
    tn_encoder *root = encoder_of(&s, "kind=fisher words=6 pca=5", NULL);
    tn_encoder *vlad = encoder_of(&s, "kind=vlad words=6 pca=5", NULL);
    size_t cols = tn_encoder_cols(raw);
    float *a = encoded(raw, &s, 1), *b = encoded(root, &s, 1), *c = encoded(vlad, &s, 1);
    ref_float want[60];
    assert_int_equal(cols, 60);
    for (size_t i = 0; i < cols; ++i)
        want[i] = (ref_float)a[i];
    ref_root(want, cols); /* the same training gives the same mixture: only the norm differs */
    assert_true(relative(b, want, cols) < 1e-6);
    double whole = 0;
    for (size_t k = 0; k < 6; ++k) { /* every word that has descriptors is as long as the others */
        double part = 0;
        for (size_t j = 0; j < 5; ++j)
            part += pow((double)c[k * 5 + j], 2);
        whole += part;
        assert_near(part, 1.0 / 6, 1e-5);
    }
    assert_near(whole, 1, 1e-5);
    free(a);
    free(b);
    free(c);
    tn_encoder_free(raw);
    tn_encoder_free(root);
    tn_encoder_free(vlad);
    free_bags(&s);
}

/* A cell of a pyramid is the encoding of the descriptors in it. */
static void check_pyramid(const char *kind)
{
    char text[128];
    bag_set s = bags_of(4, 200, 6, 0);
    snprintf(text, sizeof text, "kind=%s words=7 pca=4 norm=raw pyramid=1x1,2x2,3x1", kind);
    tn_encoder *e = encoder_of(&s, text, NULL);
    size_t cell = tnp_encoder_cell(e), c = 0;
    static const size_t rows[] = {1, 2, 3}, columns[] = {1, 2, 1};
    assert_int_equal(tn_encoder_cols(e), 8 * cell);
    float *got = encoded(e, &s, 2), *some = malloc(200 * 6 * sizeof *some);
    ref_float *want = malloc(cell * sizeof *want);
    for (size_t level = 0; level < 3; ++level)
        for (size_t j = 0; j < rows[level]; ++j)
            for (size_t i = 0; i < columns[level]; ++i, ++c) {
                size_t n = 0;
                for (size_t r = s.offsets[2]; r < s.offsets[3]; ++r)
                    if ((size_t)(s.places[3 * r] * (float)columns[level]) == i &&
                        (size_t)(s.places[3 * r + 1] * (float)rows[level]) == j)
                        memcpy(some + n++ * 6, s.x + r * 6, 6 * sizeof *some);
                float *y = projected(e, some, n);
                reference(e, y, n, want);
                assert_true(relative(got + c * cell, want, cell) < 1e-3);
                free(y);
            }
    free(want);
    free(some);
    free(got);
    tn_encoder_free(e);
    free_bags(&s);
}

static void cells_of_pyramids(void **state)
{
    (void)state;
    check_pyramid("fisher");
    check_pyramid("vlad");
    check_pyramid("bovw");
    check_pyramid("llc");
}

static void pyramids_that_are_wrong(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",       "1", "1x", "1x1,", "0x1", "9x1", "1x1;2x2", "1x1,1x1,1x1,1x1,1x1",
                                        "8x8,1x1"};
    tnp_pyramid p;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        assert_fails(ctx, TN_ERR_ARG, "option pyramid: got '", tnp_pyramid_parse(ctx, wrong[i], &p));
    assert_fine(ctx, tnp_pyramid_parse(ctx, "8x8", &p));
    assert_int_equal(p.cells, 64);
    assert_fine(ctx, tnp_pyramid_parse(ctx, "1x1,2x2,3x1", &p));
    assert_int_equal(p.across * p.down, 8);
    assert_int_equal(tnp_pyramid_atom(&p, -1, -1), 0);
    assert_int_equal(tnp_pyramid_atom(&p, 2, 2), 7);
    assert_int_equal(tnp_pyramid_atom(&p, 0.5, 0.5), 5);
}

/* Order: sums in float of 150 terms differ by 150 eps at most; the root of a value near 0 by its root. */
static void the_order_of_a_bag_does_not_matter(void **state)
{
    (void)state;
    static const char *const kinds[] = {"kind=fisher words=6 norm=raw", "kind=vlad words=6 norm=l2",
                                        "kind=bovw words=6", "kind=llc words=6"};
    for (size_t k = 0; k < 4; ++k) {
        bag_set s = bags_of(3, 150, 7, 0);
        tn_encoder *e = encoder_of(&s, kinds[k], NULL);
        float *a = encoded(e, &s, 0);
        for (size_t i = 0; i < 75; ++i)
            for (size_t j = 0; j < 7; ++j) {
                float swap = s.x[i * 7 + j];
                s.x[i * 7 + j] = s.x[(149 - i) * 7 + j];
                s.x[(149 - i) * 7 + j] = swap;
            }
        float *b = encoded(e, &s, 0);
        for (size_t i = 0; i < tn_encoder_cols(e); ++i)
            assert_near_at(i, (double)b[i], (double)a[i], 150 * FLT_EPSILON);
        free(a);
        free(b);
        tn_encoder_free(e);
        free_bags(&s);
    }
}

static void empty_bags_and_bags_of_one(void **state)
{
    (void)state;
    static const char *const kinds[] = {"kind=fisher words=6", "kind=vlad words=6", "kind=bovw words=6",
                                        "kind=llc words=6 pyramid=2x2"};
    for (size_t k = 0; k < 4; ++k) {
        bag_set s = bags_of(3, 100, 7, 0);
        tn_encoder *e = encoder_of(&s, kinds[k], NULL);
        size_t n = tn_encoder_cols(e);
        float *out = malloc(n * sizeof *out);
        double length = 0;
        assert_fine(ctx, tn_encoder_encode(ctx, e, (tn_view){s.x, 0, 7, 7}, (tn_view){s.places, 0, 3, 3}, out));
        for (size_t i = 0; i < n; ++i)
            assert_true(out[i] == 0);
        assert_fine(ctx, tn_encoder_encode(ctx, e, (tn_view){s.x, 1, 7, 7}, (tn_view){s.places, 1, 3, 3}, out));
        for (size_t i = 0; i < n; ++i)
            length += (double)out[i] * (double)out[i];
        assert_near(length, 1, 1e-5);
        s.x[3] = NAN;
        assert_fails(ctx, TN_ERR_DATA, "descriptor 0 holds NaN",
                     tn_encoder_encode(ctx, e, (tn_view){s.x, 1, 7, 7}, (tn_view){s.places, 1, 3, 3}, out));
        assert_fails(ctx, TN_ERR_SHAPE, "descriptors of 6 values",
                     tn_encoder_encode(ctx, e, (tn_view){s.x, 1, 6, 6}, (tn_view){s.places, 1, 3, 3}, out));
        free(out);
        tn_encoder_free(e);
        free_bags(&s);
    }
}

/* ---- training ---- */

/* The objective after more iterations is never worse, to rounding. */
static void iterations_never_make_it_worse(void **state)
{
    (void)state;
    bag_set s = bags_of(5, 300, 6, 3);
    char text[128];
    double likelihood = -HUGE_VAL, error = HUGE_VAL;
    for (size_t i = 0; i < 12; ++i) {
        tn_encoder_info info;
        snprintf(text, sizeof text, "kind=fisher words=7 pca=0 iterations=%zu floor=0.000001", i);
        tn_encoder_free(encoder_of(&s, text, &info));
        if (i > 10) /* k-means, whose iterations count as well, ends at 10 */
            assert_true(info.objective >= likelihood - 1e-5 * fabs(likelihood));
        likelihood = info.objective;
        snprintf(text, sizeof text, "kind=vlad words=7 pca=0 iterations=%zu", i);
        tn_encoder_free(encoder_of(&s, text, &info));
        assert_true(info.objective <= error * (1 + 1e-6));
        error = info.objective;
        assert_int_equal(info.descriptors, 1500);
    }
    free_bags(&s);
}

/* A mean is where its rows pull it; the last iteration moved the objective by less than 1e-4 of it, and the spread of a
 * middle is 0.4 in each of 6 columns: centres are within 0.05 of the means of the rows that are nearest to them. */
static void words_are_the_means_of_their_rows(void **state)
{
    (void)state;
    bag_set s = bags_of(5, 300, 6, 3);
    tn_encoder_info none, all;
    tn_encoder_free(encoder_of(&s, "kind=vlad words=9 pca=0 iterations=0", &none));
    tn_encoder *e = encoder_of(&s, "kind=vlad words=9 pca=0 iterations=500", &all);
    assert_true(all.iterations > 1 && all.finished);
    assert_false(none.finished);
    assert_true(all.objective < 0.98 * none.objective);
    float *v = malloc(54 * sizeof *v);
    tn_encoder *raw = encoder_of(&s, "kind=vlad words=9 pca=0 iterations=500 norm=raw", NULL);
    assert_fine(ctx, tn_encoder_encode(ctx, raw, (tn_view){s.x, 1500, 6, 6}, (tn_view){NULL, 0, 0, 0}, v));
    for (size_t i = 0; i < 54; ++i) /* the sum of what is left over, of about 1500 / 9 rows per word */
        assert_true(fabs((double)v[i]) < 0.05 * 1500 / 9);
    free(v);
    tn_encoder_free(e);
    tn_encoder_free(raw);
    free_bags(&s);
}

static void one_gaussian_is_mean_and_variance(void **state)
{
    (void)state;
    bag_set s = bags_of(3, 200, 4, 50);
    tn_encoder *e = encoder_of(&s, "kind=fisher words=1 pca=0 norm=raw", NULL);
    for (size_t j = 0; j < 4; ++j) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < 600; ++i)
            sum += (double)s.x[i * 4 + j] / 600;
        for (size_t i = 0; i < 600; ++i)
            squares += pow((double)s.x[i * 4 + j] - sum, 2) / 600;
        assert_near((double)e->mixture.means[j], sum, 1e-6);
        assert_near((double)e->mixture.variances[j], squares, 1e-4);
    }
    assert_near((double)e->mixture.weights[0], 1, 1e-6);
    tn_encoder_free(e);
    free_bags(&s);
}

/* At convergence the Fisher vector of all that it was fitted to vanishes: the gradient of the likelihood is zero. */
static void fisher_vector_of_its_own_sample_vanishes(void **state)
{
    (void)state;
    bag_set s = bags_of(1, 3000, 4, 0);
    tn_encoder *e = encoder_of(&s, "kind=fisher words=6 pca=0 norm=raw iterations=1000 floor=0.000001", NULL);
    tnp_mixture_sums sums = {.rows = 0};
    double floor[4] = {1e-9, 1e-9, 1e-9, 1e-9};
    assert_fine(ctx, tnp_mixture_sums_new(ctx, &e->mixture, &sums));
    for (size_t i = 0; i < 300; ++i) {
        tnp_mixture_sums_clear(&e->mixture, &sums);
        assert_fine(ctx, tnp_mixture_add(ctx, &e->mixture, s.x, 3000, &sums));
        tnp_mixture_update(&e->mixture, &sums, floor);
    }
    float *v = encoded(e, &s, 0);
    for (size_t i = 0; i < tn_encoder_cols(e); ++i)
        assert_near_at(i, (double)v[i], 0, 1e-3);
    free(v);
    tnp_mixture_sums_free(&sums);
    tn_encoder_free(e);
    free_bags(&s);
}

/* A sample that is everything, and passes over all bags, learn the same: only the order of sums differs. */
static void all_descriptors_in_passes(void **state)
{
    (void)state;
    bag_set s = bags_of(5, 200, 6, 0);
    tn_encoder_info a, b;
    tn_encoder *sample = encoder_of(&s, "kind=fisher words=6 pca=4 sample=1000", &a);
    tn_encoder *all = encoder_of(&s, "kind=fisher words=6 pca=4 sample=0", &b);
    assert_int_equal(a.sample, 1000);
    assert_int_equal(b.sample, 1000);
    for (size_t i = 0; i < 24; ++i) {
        assert_near_at(i, (double)sample->mixture.means[i], (double)all->mixture.means[i], 1e-4);
        assert_near_at(i, (double)sample->mixture.variances[i], (double)all->mixture.variances[i], 1e-4);
    }
    tn_encoder_free(sample);
    tn_encoder_free(all);
    free_bags(&s);
}

static void threads_and_seeds(void **state)
{
    (void)state;
    bag_set s = bags_of(5, 400, 6, 0);
    tn_encoder *e[3];
    static const size_t threads[] = {1, 2, 3};
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx_set_threads(ctx, threads[t]);
        e[t] = encoder_of(&s, "kind=fisher words=6 pca=4 sample=700", NULL);
    }
    for (size_t t = 1; t < 3; ++t)
        for (size_t i = 0; i < 24; ++i)
            assert_near_at(i, (double)e[t]->mixture.means[i], (double)e[0]->mixture.means[i], 1e-5);
    for (size_t t = 0; t < 3; ++t)
        tn_encoder_free(e[t]);
    tn_ctx_set_threads(ctx, 0);
    free_bags(&s);
}

/* Rows of the basis are orthonormal, and the covariance times each is its variance times it. */
static void components_are_eigenvectors(void **state)
{
    (void)state;
    bag_set s = bags_of(4, 300, 9, 20);
    tn_encoder_info info;
    tn_encoder *e = encoder_of(&s, "kind=bovw words=4 pca=5", &info);
    const tnp_projection *p = &e->projection;
    double c[9][9] = {{0}}, mean[9] = {0}, n = 1200;
    for (size_t i = 0; i < 1200; ++i)
        for (size_t j = 0; j < 9; ++j)
            mean[j] += (double)s.x[i * 9 + j] / n;
    for (size_t i = 0; i < 1200; ++i)
        for (size_t j = 0; j < 9; ++j)
            for (size_t k = 0; k < 9; ++k)
                c[j][k] += ((double)s.x[i * 9 + j] - mean[j]) * ((double)s.x[i * 9 + k] - mean[k]) / n;
    for (size_t a = 0; a < 5; ++a) {
        double value = 0, image[9] = {0};
        for (size_t j = 0; j < 9; ++j)
            for (size_t k = 0; k < 9; ++k)
                image[j] += c[j][k] * (double)p->basis[a * 9 + k];
        for (size_t j = 0; j < 9; ++j)
            value += image[j] * (double)p->basis[a * 9 + j];
        for (size_t j = 0; j < 9; ++j)
            assert_near(image[j], value * (double)p->basis[a * 9 + j], 1e-5);
        for (size_t b = 0; b < 5; ++b) {
            double dot = 0;
            for (size_t j = 0; j < 9; ++j)
                dot += (double)p->basis[a * 9 + j] * (double)p->basis[b * 9 + j];
            assert_near(dot, a == b, 1e-6);
        }
    }
    assert_true(info.kept > 0.5 && info.kept < 1);
    tn_encoder_free(e);
    free_bags(&s);
}

static void what_training_refuses(void **state)
{
    (void)state;
    bag_set s = bags_of(2, 50, 5, 0);
    tn_encoder *e = NULL;
    tn_bags *bare = NULL;
    tn_options *options = encoder_options("pyramid=2x2");
    assert_fine(ctx, tn_bags_new(ctx, s.offsets, 2, s.features, NULL, &bare));
    assert_fails(ctx, TN_ERR_ARG, "option pyramid: bags without positions",
                 tn_encoder_train_bags(ctx, bare, options, NULL, &e));
    tn_bags_free(bare);
    tn_options_free(options);
    s.x[7] = INFINITY;
    assert_fails(ctx, TN_ERR_DATA, "bag 0, descriptor 1 holds NaN or infinity",
                 tn_encoder_train_bags(ctx, s.list, NULL, NULL, &e));
    free_bags(&s);
}

static void more_words_than_descriptors(void **state)
{
    (void)state;
    bag_set s = bags_of(2, 5, 4, 0);
    tn_encoder *e = encoder_of(&s, "kind=vlad words=64", NULL);
    assert_int_equal(tn_encoder_words(e), 10);
    tn_encoder_free(e);
    e = encoder_of(&s, "kind=fisher words=64", NULL);
    float *v = encoded(e, &s, 0);
    for (size_t i = 0; i < tn_encoder_cols(e); ++i)
        assert_true(isfinite(v[i]));
    free(v);
    tn_encoder_free(e);
    free_bags(&s);
}

static void equal_descriptors(void **state)
{
    (void)state;
    bag_set s = bags_of(2, 20, 4, 0);
    for (size_t i = 0; i < 160; ++i)
        s.x[i] = 1;
    static const char *const kinds[] = {"kind=fisher words=3", "kind=vlad words=3", "kind=llc words=3 neighbours=2"};
    for (size_t k = 0; k < 3; ++k) {
        tn_encoder *e = encoder_of(&s, kinds[k], NULL);
        float *v = encoded(e, &s, 1);
        for (size_t i = 0; i < tn_encoder_cols(e); ++i)
            assert_true(isfinite(v[i]));
        free(v);
        tn_encoder_free(e);
    }
    free_bags(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    bag_set s = bags_of(2, 60, 5, 0);
    static const char *const kinds[] = {"kind=fisher words=3 pca=3 iterations=2 pyramid=1x1,2x1",
                                        "kind=llc words=4 pca=3 iterations=2 places=yes"};
    size_t blocks = tnp_live_blocks(ctx);
    for (size_t kind = 0; kind < 2; ++kind) {
        tn_options *options = encoder_options(kinds[kind]);
        size_t with = tnp_live_blocks(ctx), k = 1;
        for (;; ++k) {
            tn_encoder *e = NULL;
            float out[400];
            tnp_fail_allocation(ctx, k);
            tn_status st = tn_encoder_train_bags(ctx, s.list, options, NULL, &e);
            if (st == TN_OK)
                st = tn_encoder_encode(ctx, e, (tn_view){s.x, 60, 5, 5}, (tn_view){s.places, 60, 3, 3}, out);
            tnp_fail_allocation(ctx, 0);
            tn_encoder_free(e);
            assert_int_equal(tnp_live_blocks(ctx), with);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
        }
        assert_true(k > 40);
        tn_options_free(options);
    }
    assert_int_equal(tnp_live_blocks(ctx), blocks);
    free_bags(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_its_formula),
        cmocka_unit_test(norms_are_what_they_say),
        cmocka_unit_test(cells_of_pyramids),
        cmocka_unit_test(pyramids_that_are_wrong),
        cmocka_unit_test(the_order_of_a_bag_does_not_matter),
        cmocka_unit_test(empty_bags_and_bags_of_one),
        cmocka_unit_test(iterations_never_make_it_worse),
        cmocka_unit_test(words_are_the_means_of_their_rows),
        cmocka_unit_test(one_gaussian_is_mean_and_variance),
        cmocka_unit_test(fisher_vector_of_its_own_sample_vanishes),
        cmocka_unit_test(all_descriptors_in_passes),
        cmocka_unit_test(threads_and_seeds),
        cmocka_unit_test(components_are_eigenvectors),
        cmocka_unit_test(what_training_refuses),
        cmocka_unit_test(more_words_than_descriptors),
        cmocka_unit_test(equal_descriptors),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
