/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counted entries against sorted ones, and the directions of a basis against its literal second moment. */
#include "fixtures/problems.h"
#include "learn/map/map_moments.h"
#include "ref_map_learn.h"

enum { N = 300, D = 40, M = TN_BASIS_SIZE };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows of unit L1 norm: long tails, both signs, half of the entries zero; row 7 is all zero. */
static double *rows_of(uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    double *x = ref_alloc((size_t)N * D, sizeof *x);
    for (size_t i = 0; i < (size_t)N * D; ++i)
        x[i] = i / D == 7 || ref_unit(&rng) < 0.5 ? 0 : (ref_unit(&rng) < 0.3 ? -1 : 1) * exp(2 * ref_normal(&rng));
    for (size_t i = 0; i < N; ++i)
        normalise_row(x + i * D, D, TN_NORM_L1);
    round_values(x, (size_t)N * D, AS_F32);
    return x;
}

/* Counts the rows twice over, from two feeds. */
static tnp_entries entries_of(double *x)
{
    tnp_entries entries;
    tn_features *features = features_of("entries", x, N, D, AS_F32);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    assert_fine(test_ctx, tnp_entries_init(test_ctx, &entries));
    for (int twice = 0; twice < 2; ++twice)
        assert_fine(test_ctx, tnp_entries_add(test_ctx, &entries, feed));
    tn_feed_free(feed);
    tn_features_close(features);
    return entries;
}

/* A bin is 1/2048 of an octave wide: the quantile is within 2^-11 of the value in its place and its neighbours. */
static void quantiles(void **state)
{
    (void)state;
    double *x = rows_of(3), *sorted = ref_alloc((size_t)N * D, sizeof *sorted);
    tnp_entries entries = entries_of(x);
    size_t zeros = 0;
    for (size_t i = 0; i < (size_t)N * D; ++i) {
        sorted[i] = fabs(x[i]);
        zeros += x[i] == 0;
    }
    qsort(sorted, (size_t)N * D, sizeof *sorted, ascending);
    assert_int_equal(entries.total, 2 * N * D);
    assert_int_equal(entries.zeros, 2 * zeros);
    const double shares[] = {0.2, 0.6, 0.9, 0.99, 0.9999, 1};
    for (size_t s = 0; s < 6; ++s) {
        double place = shares[s] * N * D, got = tnp_entries_quantile(&entries, shares[s]);
        double low = sorted[(size_t)fmax(0, ceil(place) - 2)], high = sorted[(size_t)fmin(place + 1, N * D - 1)];
        assert_true(got >= low * (1 - 0x1p-11) && got <= high * (1 + 0x1p-11));
    }
    assert_true(tnp_entries_quantile(&entries, 0.2) == 0 && tnp_entries_quantile(&entries, 0.6) > 0);
    tnp_entries_destroy(&entries);
    free(x);
    free(sorted);
}

/* Entries whose bin of the histogram is beyond doubt are counted there: those near an edge may be on its other side. */
static void histograms(void **state)
{
    (void)state;
    double *x = rows_of(4), bins[TN_MAP_BINS], beyond = 0, scale = 5, sum = 0, outside = 0;
    tnp_entries entries = entries_of(x);
    double sure[TN_MAP_BINS] = {0}, doubtful[TN_MAP_BINS + 1] = {0};
    tnp_entries_histogram(&entries, scale, bins, &beyond);
    for (size_t i = 0; i < (size_t)N * D; ++i) {
        double at = scale * fabs(x[i]) * TN_MAP_BINS;
        size_t bin = (size_t)fmin(at, TN_MAP_BINS - 1), low = (size_t)fmin(at * (1 - 0x1p-11), TN_MAP_BINS - 1),
               high = (size_t)fmin(at * (1 + 0x1p-11), TN_MAP_BINS - 1);
        if (at == 0)
            continue;
        outside += 2 * (scale * fabs(x[i]) > 1);
        if (low == high)
            sure[bin] += 2;
        else
            doubtful[high] += 2;
    }
    for (size_t b = 0; b < TN_MAP_BINS; ++b) {
        double most = sure[b] + doubtful[b] + (b + 1 < TN_MAP_BINS ? doubtful[b + 1] : 0);
        assert_true(bins[b] >= sure[b] && bins[b] <= most);
        sum += bins[b];
    }
    assert_true(sum == (double)(entries.total - entries.zeros));
    assert_true(outside > 20 && fabs(beyond - outside) <= 0.02 * outside);
    tnp_entries_destroy(&entries);
    free(x);
}

/* Orthonormal, and the entries leave no more than was said outside their span, and more with one direction less. Sizes
 * are known to 2^-12: f moves by as much of its slope, below 2 pi 10 x, so that the moment does by 2^-6 at most and its
 * tail likewise. */
static void check_directions(tn_basis basis, double left_out)
{
    double *x = rows_of(5), *f = ref_alloc(M * (size_t)D, sizeof *f), b[M * M], total = 0, outside = 0, less = 0;
    tnp_entries entries = entries_of(x);
    size_t r = 0;
    assert_fine(test_ctx, tnp_entries_directions(test_ctx, &entries, basis, 4, left_out, b, &r));
    assert_true(r > 3 && r < M);
    for (size_t i = 0; i < r; ++i)
        for (size_t j = 0; j < r; ++j) {
            double dot = 0;
            for (size_t m = 0; m < M; ++m)
                dot += b[m * r + i] * b[m * r + j];
            assert_near(dot, i == j, 1e-12);
        }
    for (size_t i = 0; i < N; ++i) {
        ref_map_features(basis == TN_BASIS_FOURIER, 0, 4, x + i * D, 1, D, f);
        for (size_t e = 0; e < D; ++e) {
            double square = 0, inside = 0, last = 0;
            for (size_t m = 0; m < M; ++m)
                square += f[e * M + m] * f[e * M + m];
            for (size_t c = 0; c < r; ++c) {
                last = 0;
                for (size_t m = 0; m < M; ++m)
                    last += b[m * r + c] * f[e * M + m];
                inside += last * last;
            }
            total += square;
            outside += square - inside;
            less += square - inside + last * last;
        }
    }
    assert_true(outside <= 1.1 * left_out * total + 1e-13 * total);
    assert_true(less > 0.9 * left_out * total);
    tnp_entries_destroy(&entries);
    free(x);
    free(f);
}

static void directions(void **state)
{
    (void)state;
    check_directions(TN_BASIS_SCALED_FOURIER, 1e-2);
    check_directions(TN_BASIS_SCALED_FOURIER, 1e-5);
    check_directions(TN_BASIS_FOURIER, 1e-3);
}

static void one_value_has_one_direction(void **state)
{
    (void)state;
    double x[6] = {0.5, 0.5, -0.5, 0.5, 0.5, 0.5}, b[M * M], f[M];
    tnp_entries entries;
    size_t r = 0;
    tn_features *features = features_of("one", x, 3, 2, AS_F32);
    tn_feed *feed = feed_of(features, TN_NORM_L1);
    assert_fine(test_ctx, tnp_entries_init(test_ctx, &entries));
    assert_fine(test_ctx, tnp_entries_add(test_ctx, &entries, feed));
    assert_fine(test_ctx, tnp_entries_directions(test_ctx, &entries, TN_BASIS_SCALED_FOURIER, 1, 1e-9, b, &r));
    assert_int_equal(r, 1);
    double half = 0.5, dot = 0, square = 0; /* along f(1/2), as the middle of its bin is within 2^-12 of it */
    ref_map_features(0, 0, 0.5, &half, 1, 1, f);
    for (size_t m = 0; m < M; ++m) {
        dot += b[m] * f[m];
        square += f[m] * f[m];
    }
    assert_near(fabs(dot) / sqrt(square), 1, 1e-3);
    tnp_entries_destroy(&entries);
    tn_feed_free(feed);
    tn_features_close(features);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),
        cmocka_unit_test(histograms),
        cmocka_unit_test(directions),
        cmocka_unit_test(one_value_has_one_direction),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
