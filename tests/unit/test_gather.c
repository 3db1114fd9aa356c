/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streamed moments against loops over the whole matrix: several feeds side by side, narrow and wide, and products of
 * rows in one band and in several.
 *
 * Tolerances. A sum of n float products, each rounded to 2^-24, taken in blocks of b before it is added in double, is
 * off by at most (b + 2) 2^-24 sum |x_i x_j|; features are rounded once more by the shift, another 2^-24 a factor.
 * Wide sums are off by (n + 16) 2^-52 of the same, the 16 for the frame of the shift. Whole numbers below 2^24 make
 * float products exact. */
#include "fixtures/problems.h"
#include "learn/design/gather.h"

enum { MOST = 3 };

/* Feeds over parts of one wide problem, as different files. */
typedef struct joint {
    ref_problem p; /* all columns; x holds what the files hold */
    tn_labels *labels;
    tn_features *features[MOST];
    tn_feed *feed[MOST];
    size_t count, cols[MOST];
} joint;

static joint joint_of(size_t n, const size_t *cols, const stored *as, size_t count, tn_task task, double offset)
{
    joint j = {.count = count};
    double *all = NULL;
    size_t d = 0;
    for (size_t f = 0; f < count; ++f) {
        ref_problem part = ref_problem_of(REF_SIGNED, n, cols[f], 3, 10 + f);
        char name[8];
        for (size_t i = 0; i < n * cols[f]; ++i)
            part.x[i] += offset;
        snprintf(name, sizeof name, "f%zu", f);
        j.features[f] = features_of(name, part.x, n, cols[f], as[f]);
        j.feed[f] = feed_of(j.features[f], TN_NORM_NONE);
        j.cols[f] = cols[f];
        double *grown = beside(all, d, part.x, cols[f], n);
        free(all);
        all = grown;
        d += cols[f];
        ref_problem_free(&part);
    }
    j.p = ref_problem_of(REF_SIGNED, n, d, 3, 99);
    memcpy(j.p.x, all, n * d * sizeof *all);
    free(all);
    retarget(&j.p, task, 5);
    j.labels = labels_of(j.p.y, n, 3, task);
    return j;
}

static void joint_free(joint *j)
{
    for (size_t f = 0; f < j->count; ++f) {
        tn_feed_free(j->feed[f]);
        tn_features_close(j->features[f]);
    }
    labels_done(j->labels);
    ref_problem_free(&j->p);
}

/* Sum over rows of (a_i - mean a)(b_i - mean b), and of |a_i b_i|. */
static double cross(const double *a, size_t sa, const double *b, size_t sb, size_t n, bool centre, double *size)
{
    ref_real ma = 0, mb = 0, sum = 0;
    *size = 0;
    for (size_t i = 0; i < n && centre; ++i) {
        ma += (ref_real)a[i * sa] / (ref_real)n;
        mb += (ref_real)b[i * sb] / (ref_real)n;
    }
    for (size_t i = 0; i < n; ++i) {
        sum += ((ref_real)a[i * sa] - ma) * ((ref_real)b[i * sb] - mb);
        *size += fabs(a[i * sa] * b[i * sb]);
    }
    return (double)sum;
}

static void expect(double got, double want, double bound, size_t i, size_t k)
{
    if (fabs(got - want) <= bound)
        return;
    print_error("(%zu, %zu): got %.17g, want %.17g, bound %.3g\n", i, k, got, want, bound);
    fail();
}

/* Columns of the joint statistics that `parts` name, against loops. */
static void check_moments(const joint *j, const tnp_moments *s, const tnp_range *parts, size_t count, bool intercept,
                          double unit)
{
    size_t pick[64], d = 0, n = j->p.n, k = j->p.k;
    for (size_t r = 0; r < count; ++r)
        for (size_t c = parts[r].from; c < parts[r].to; ++c)
            pick[d++] = c;
    double *gram = ref_alloc(d * d, 8), *xty = ref_alloc(k * d, 8), *mean = ref_alloc(d, 8), yy[3], ymean[3], size;
    tnp_moments_of(s, parts, count, intercept, gram, xty, yy, mean, ymean);
    for (size_t a = 0; a < d; ++a) {
        for (size_t b = a; b < d; ++b) {
            double want = cross(j->p.x + pick[a], j->p.d, j->p.x + pick[b], j->p.d, n, intercept, &size);
            expect(gram[a * d + b], want, unit * size, a, b);
        }
        for (size_t c = 0; c < k; ++c) {
            double want = cross(j->p.x + pick[a], j->p.d, j->p.y + c, k, n, intercept, &size);
            expect(xty[c * d + a], want, unit * size + 1e-300, a, c);
        }
    }
    for (size_t c = 0; c < k; ++c) {
        double want = cross(j->p.y + c, k, j->p.y + c, k, n, intercept, &size);
        expect(yy[c], want, 1e-13 * size, c, c);
    }
    free(gram);
    free(xty);
    free(mean);
}

static void check_joint(size_t n, const size_t *cols, const stored *as, size_t count, tn_task task, double offset,
                        bool wide)
{
    joint j = joint_of(n, cols, as, count, task, offset);
    tnp_targets y = targets_of(j.labels);
    tnp_moments *s = NULL;
    double unit = wide ? ((double)n + 16) * 0x1p-52 : (256 + 4) * 0x1p-24;
    assert_fine(test_ctx, tnp_gather_moments(test_ctx, (const tn_feed *const *)j.feed, count, &y, &s));
    assert_int_equal(s->rows, n);
    assert_int_equal(s->dim, j.p.d);
    assert_int_equal(s->wide, wide);
    tnp_range all = {0, j.p.d}, first = {0, cols[0]}, last = {j.p.d - cols[count - 1], j.p.d};
    tnp_range ends[2] = {first, last};
    for (int intercept = 0; intercept < 2; ++intercept) {
        check_moments(&j, s, &all, 1, intercept != 0, unit);
        check_moments(&j, s, &last, 1, intercept != 0, unit);
        check_moments(&j, s, ends, 2, intercept != 0, unit);
    }
    tn_moments_free(s);
    joint_free(&j);
}

static void feeds_side_by_side_equal_the_whole_matrix(void **state)
{
    (void)state;
    const size_t two[] = {7, 12}, three[] = {1, 9, 20};
    const stored narrow[] = {AS_F32, AS_F16, AS_F32}, wide[] = {AS_F64, AS_F64, AS_F64};
    const stored mixed[] = {AS_F32, AS_F64, AS_F16};
    check_joint(50, two, narrow, 2, TN_TASK_MULTICLASS, 0, false);
    check_joint(700, three, narrow, 3, TN_TASK_MULTICLASS, 0, false);
    check_joint(700, three, wide, 3, TN_TASK_MULTICLASS, 0, true);
    check_joint(1300, three, mixed, 3, TN_TASK_MULTILABEL, 0, true);
    check_joint(1300, two, narrow, 2, TN_TASK_REGRESSION, 0, false);
    check_joint(2, two, wide, 2, TN_TASK_REGRESSION, 0, true);
}

/* Columns far from zero: centring by the first block's mean must leave digits of the variance. Without the shift the
 * float products would be off by 256 2^-24 1e6, more than the variances themselves. */
static void a_large_offset_costs_no_digits(void **state)
{
    (void)state;
    const size_t cols[] = {4, 5};
    const stored narrow[] = {AS_F32, AS_F32};
    joint j = joint_of(900, cols, narrow, 2, TN_TASK_MULTICLASS, 1000);
    tnp_targets y = targets_of(j.labels);
    tnp_moments *s = NULL;
    double gram[81], xty[27], yy[3], mean[9], ymean[3], size;
    tnp_range all = {0, 9};
    assert_fine(test_ctx, tnp_gather_moments(test_ctx, (const tn_feed *const *)j.feed, 2, &y, &s));
    tnp_moments_of(s, &all, 1, true, gram, xty, yy, mean, ymean);
    for (size_t a = 0; a < 9; ++a)
        for (size_t b = a; b < 9; ++b) {
            double want = cross(j.p.x + a, 9, j.p.x + b, 9, 900, true, &size);
            double spread_a = cross(j.p.x + a, 9, j.p.x + a, 9, 900, true, &size);
            double spread_b = cross(j.p.x + b, 9, j.p.x + b, 9, 900, true, &size);
            expect(gram[a * 9 + b], want, 260 * 0x1p-24 * sqrt(spread_a * spread_b), a, b);
        }
    tn_moments_free(s);
    joint_free(&j);
}

/* All entries of the upper triangle for small n. */
static void check_products(size_t n, size_t d, stored as, bool shifted, double unit)
{
    ref_problem p = ref_problem_of(REF_SIGNED, n, d, 2, n + d);
    tn_features *features = features_of("p", p.x, n, d, as);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    double *products = ref_alloc(n * n, sizeof *products), size;
    memset(products, 0xff, n * n * sizeof *products);
    assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, shifted, products));
    for (size_t c = 0; c < d && shifted; ++c) { /* one band: the shift is the mean of all rows */
        double mean = 0;
        for (size_t i = 0; i < n; ++i)
            mean += p.x[i * d + c] / (double)n;
        for (size_t i = 0; i < n; ++i)
            p.x[i * d + c] -= mean;
    }
    for (size_t a = 0; a < n; ++a)
        for (size_t b = a; b < n; ++b) {
            double want = cross(p.x + a * d, 1, p.x + b * d, 1, d, false, &size);
            double scale = 0;
            for (size_t c = 0; c < d; ++c)
                scale += fabs(p.x[a * d + c]) + fabs(p.x[b * d + c]) + 1;
            expect(products[a * n + b], want, unit * (size + (shifted ? 10 * scale : 0)), a, b);
        }
    free(products);
    tn_feed_free(feed);
    tn_features_close(features);
    ref_problem_free(&p);
}

static void products_of_rows_equal_loops(void **state)
{
    (void)state;
    for (int shifted = 0; shifted < 2; ++shifted) {
        check_products(30, 200, AS_F32, shifted != 0, 1026 * 0x1p-24);
        check_products(20, 3000, AS_F32, shifted != 0, 1026 * 0x1p-24);
        check_products(30, 200, AS_F64, shifted != 0, 400 * 0x1p-52);
        check_products(1, 5, AS_F32, shifted != 0, 1026 * 0x1p-24);
        check_products(17, 1, AS_F64, shifted != 0, 400 * 0x1p-52);
    }
    check_products(40, 2500, AS_I8, false, 0);
    check_products(25, 100, AS_I32, false, 0);
}

/* K_ij - K_il - K_kj + K_kl = (x_i - x_k)'(x_j - x_l) whatever common vector was taken off, if it was one for all rows.
 * Values are at most 2, so a product of d of them is off by at most 1026 2^-24 4 d. */
static void check_contrasts(const double *x, size_t n, size_t d, const double *products, ref_rng *rng)
{
    for (size_t t = 0; t < 100; ++t) {
        size_t row[4], place[4] = {0, 0, 0, 0};
        double want = 0;
        for (size_t r = 0; r < 4; ++r)
            row[r] = ref_below(rng, n);
        for (size_t r = 0; r < 4; ++r) { /* the pairs ij, il, kj, kl */
            size_t left = row[r / 2 ? 1 : 0], right = row[r % 2 ? 3 : 2];
            place[r] = (left < right ? left : right) * n + (left < right ? right : left);
        }
        for (size_t c = 0; c < d; ++c)
            want += (x[row[0] * d + c] - x[row[1] * d + c]) * (x[row[2] * d + c] - x[row[3] * d + c]);
        double got = products[place[0]] - products[place[1]] - products[place[2]] + products[place[3]];
        expect(got, want, 4 * 1026 * 0x1p-24 * 4 * (double)d, row[0], row[2]);
    }
}

/* Rows so wide that a band (32 MB, or 64 rows) does not hold them all. Small whole numbers: products are exact, so
 * bands, their border and the transposed half must agree to the bit with loops; with a shift, after centring. */
static void check_bands(size_t n, size_t d, stored as)
{
    ref_rng rng = ref_rng_of(n + d);
    double *x = ref_alloc(n * d, sizeof *x), *products = ref_alloc(n * n, sizeof *products);
    for (size_t i = 0; i < n * d; ++i)
        x[i] = (double)ref_below(&rng, 5) - 2;
    tn_features *features = array_of("band", x, n, d, as);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    size_t before = tn_ctx_memory_now(test_ctx), planned = tnp_gather_products_bytes(feed);
    assert_true(planned > (size_t)80 << 20); /* two bands, or this test tests nothing */
    assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, false, products));
    assert_true(tn_ctx_memory_peak(test_ctx) - before <= planned + planned / 50);
    for (size_t t = 0; t < 300; ++t) {
        size_t a = t < n ? t : ref_below(&rng, n), b = t % 3 ? n - 1 - t % 7 : ref_below(&rng, n);
        double want = 0;
        for (size_t c = 0; c < d; ++c)
            want += x[a * d + c] * x[b * d + c];
        assert_true(products[(a < b ? a : b) * n + (a < b ? b : a)] == want);
    }
    assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, true, products));
    check_contrasts(x, n, d, products, &rng);
    free(x);
    free(products);
    tn_feed_free(feed);
    tn_features_close(features);
}

static void rows_wider_than_a_band(void **state)
{
    (void)state;
    check_bands(180, 100000, AS_I8);
    check_bands(90, 100000, AS_I32);
}

/* A band and the rows that are mapped into it: what is planned is what is used. */
static void a_map_is_planned_for(void **state)
{
    (void)state;
    enum { N = 90, D = 100000 };
    double *x = ref_alloc(N * D, sizeof *x), *products = ref_alloc(N * N, sizeof *products);
    for (size_t i = 0; i < N * D; ++i)
        x[i] = (double)(i % 5);
    tn_features *features = array_of("mapped", x, N, D, AS_I8);
    tn_ctx *ctx = ctx_of(0);
    tn_map *map = NULL;
    tn_feed *feed = NULL;
    assert_fine(ctx, tn_map_new_named(ctx, "hellinger", TN_SIGNED_ODD, &map));
    assert_fine(ctx, tn_feed_new(ctx, features, NULL, N, TN_NORM_NONE, TN_NAN_ERROR, map, &feed));
    size_t before = tn_ctx_memory_now(ctx), planned = tnp_gather_products_bytes(feed);
    assert_fine(ctx, tnp_gather_products(ctx, feed, false, products));
    size_t used = tn_ctx_memory_peak(ctx) - before;
    assert_true(used <= planned + planned / 50 && used >= planned - planned / 50);
    tn_feed_free(feed);
    tn_map_free(map);
    tn_ctx_free(ctx);
    tn_features_close(features);
    free(x);
    free(products);
}

/* Products with a shift, centred, equal products without, centred: K -> HKH does not see a common vector. */
static void a_shift_vanishes_after_centring(void **state)
{
    (void)state;
    enum { N = 25, D = 60 };
    ref_problem p = ref_problem_of(REF_NONNEG, N, D, 2, 3);
    tn_features *features = features_of("s", p.x, N, D, AS_F64);
    tn_feed *feed = feed_of(features, TN_NORM_L2);
    static double a[N * N], b[N * N];
    assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, false, a));
    assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, true, b));
    double *both[2] = {a, b}, centred[2][N * N];
    for (int w = 0; w < 2; ++w)
        for (size_t i = 0; i < N; ++i)
            for (size_t j = i; j < N; ++j) {
                double sum = both[w][i * N + j];
                for (size_t r = 0; r < N; ++r) {
                    sum -= both[w][(i < r ? i : r) * N + (i < r ? r : i)] / N;
                    sum -= both[w][(j < r ? j : r) * N + (j < r ? r : j)] / N;
                    for (size_t q = 0; q < N; ++q)
                        sum += both[w][(q < r ? q : r) * N + (q < r ? r : q)] / (N * N);
                }
                centred[w][i * N + j] = sum;
            }
    for (size_t i = 0; i < N; ++i)
        for (size_t j = i; j < N; ++j)
            assert_near_at(i * N + j, centred[1][i * N + j], centred[0][i * N + j], 1e-13);
    tn_feed_free(feed);
    tn_features_close(features);
    ref_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feeds_side_by_side_equal_the_whole_matrix),
        cmocka_unit_test(a_large_offset_costs_no_digits),
        cmocka_unit_test(products_of_rows_equal_loops),
        cmocka_unit_test(rows_wider_than_a_band),
        cmocka_unit_test(a_map_is_planned_for),
        cmocka_unit_test(a_shift_vanishes_after_centring),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
