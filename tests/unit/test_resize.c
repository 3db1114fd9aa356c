/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The resize against its formula in long double, and what holds without one: the same size is the identity, a constant
 * stays one, every pixel has its share. */
#include "read/pictures/resize.h"
#include "one_ctx.h"

#include <float.h>

static float *noise(size_t count)
{
    float *x = malloc(count * sizeof *x);
    tnp_rng rng;
    assert_non_null(x);
    tnp_rng_init(&rng, 3, 0);
    for (size_t i = 0; i < count; ++i)
        x[i] = (float)tnp_rng_unit(&rng);
    return x;
}

static float *resized(const float *x, size_t w, size_t h, double ex, double ey, size_t to_w, size_t to_h, size_t c)
{
    tnp_resize r = {.row = 0};
    float *out = malloc(to_w * to_h * c * sizeof *out);
    assert_fine(ctx, tnp_resize_new(ctx, w, h, ex, ey, to_w, to_h, c, &r));
    tnp_resize_begin(&r, out);
    for (size_t y = 0; y < h; ++y)
        tnp_resize_row(&r, x + y * w * c);
    tnp_resize_free(&r);
    return out;
}

/* The triangle of result i at sample j, not yet divided by the sum. */
static long double triangle(size_t i, size_t j, double extent, size_t to)
{
    long double scale = (long double)extent / (long double)to, radius = scale > 1 ? scale : 1;
    long double d = fabsl((long double)j + 0.5L - ((long double)i + 0.5L) * scale) / radius;
    return d < 1 ? 1 - d : 0;
}

static long double reference(const float *x, size_t w, size_t h, double ex, double ey, size_t to_w, size_t to_h,
                             size_t c, size_t channel, size_t px, size_t py)
{
    long double sum = 0, total = 0;
    for (size_t y = 0; y < h; ++y)
        for (size_t k = 0; k < w; ++k) {
            long double weight = triangle(px, k, ex, to_w) * triangle(py, y, ey, to_h);
            sum += weight * (long double)x[(y * w + k) * c + channel];
            total += weight;
        }
    return sum / total;
}

/* Values are at most 1 and weights sum to 1: along each axis the error is at most (taps + 2) eps of float, weights and
 * sum together. */
static void check(size_t w, size_t h, double ex, double ey, size_t to_w, size_t to_h, size_t c)
{
    float *x = noise(w * h * c), *got = resized(x, w, h, ex, ey, to_w, to_h, c);
    double taps = 2 * (double)(w / to_w + h / to_h) + 8;
    for (size_t y = 0; y < to_h; ++y)
        for (size_t k = 0; k < to_w; ++k)
            for (size_t v = 0; v < c; ++v)
                assert_near_at(y * to_w + k, (double)got[(y * to_w + k) * c + v],
                               (double)reference(x, w, h, ex, ey, to_w, to_h, c, v, k, y), taps * FLT_EPSILON);
    free(x);
    free(got);
}

static void the_formula(void **state)
{
    (void)state;
    check(37, 23, 37, 23, 11, 7, 1);
    check(37, 23, 37, 23, 11, 7, 3);
    check(5, 4, 5, 4, 13, 9, 3);
    check(40, 30, 40, 30, 39, 29, 1);
    check(1, 61, 1, 61, 1, 7, 3);
    check(61, 1, 61, 1, 5, 1, 1);
    check(13, 9, 12.5, 8.25, 6, 4, 3); /* what a decoder that shrinks by 2 or 4 hands over */
}

static void the_same_size_is_the_identity(void **state)
{
    (void)state;
    float *x = noise(31 * 17 * 3), *got = resized(x, 31, 17, 31, 17, 31, 17, 3);
    assert_memory_equal(x, got, 31 * 17 * 3 * sizeof *x);
    free(x);
    free(got);
}

static void a_constant_stays(void **state)
{
    (void)state;
    float x[50 * 20];
    for (size_t i = 0; i < 1000; ++i)
        x[i] = 0.7F;
    float *got = resized(x, 50, 20, 50, 20, 9, 3, 1);
    for (size_t i = 0; i < 27; ++i)
        assert_near_at(i, (double)got[i], 0.7, 40 * FLT_EPSILON);
    free(got);
}

static void assert_size(size_t w, size_t h, size_t pixels, size_t side, size_t want_w, size_t want_h)
{
    size_t got_w = 0, got_h = 0;
    tnp_resize_size(w, h, pixels, side, &got_w, &got_h);
    assert_int_equal(got_w, want_w);
    assert_int_equal(got_h, want_h);
}

static void sizes_that_are_kept(void **state)
{
    (void)state;
    assert_size(300, 200, 0, 0, 300, 200);
    assert_size(300, 200, 60000, 0, 300, 200);
    assert_size(600, 400, 60000, 0, 300, 200);
    assert_size(601, 400, 60000, 0, 300, 199);
    assert_size(600, 400, 0, 300, 300, 200);
    assert_size(400, 600, 60000, 150, 100, 150);
    assert_size(1, 5000, 100000, 0, 1, 5000);
    assert_size(1, 5000, 1000, 0, 1, 1000); /* one side cannot shrink: the other makes up for it */
    assert_size(5000, 1, 0, 100, 100, 1);
    assert_size(1, 1, 100000, 10, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_formula), cmocka_unit_test(the_same_size_is_the_identity),
                                       cmocka_unit_test(a_constant_stays), cmocka_unit_test(sizes_that_are_kept)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
