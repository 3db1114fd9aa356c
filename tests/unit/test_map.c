/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps of additive kernels against literal formulas in long double. */
#include "ref_map.h"
#include "ref_random.h"
#include "spectrum_of.h"
#include "transform/map.h"

#include <float.h>

static const char *const named[] = {"hellinger", "chi2", "intersection", "js"};

static tn_ctx *ctx;

static int begin(void **state)
{
    (void)state;
    ctx = ctx_of(2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    ctx_done(ctx);
    return 0;
}

/* W with entries of both signs and a decay over the columns, as learned ones have. */
static void random_weight(double *w, size_t rank, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < TN_BASIS_SIZE * rank; ++i)
        w[i] = ref_normal(&rng) * pow(0.7, (double)(i % rank));
}

static tn_map *learned_of(tn_basis basis, tn_signed sign, size_t rank, double scale, uint64_t seed)
{
    double w[TN_BASIS_SIZE * TN_BASIS_SIZE];
    tn_map *map = NULL;
    random_weight(w, rank, seed);
    assert_fine(ctx,
                tn_map_new_learned(ctx, &(tn_map_spec){basis, sign, rank, scale, w, .power = 0.5, .tasks = 3}, &map));
    return map;
}

static tn_map *named_of(const char *name, tn_signed sign)
{
    tn_map *map = NULL;
    assert_fine(ctx, tn_map_new_named(ctx, name, sign, &map));
    return map;
}

/* phi and k of the public calls: the reference's sums are long double, 39 terms of at most 39 |W| rounded in double. */
static void test_learned_formula(void **state)
{
    (void)state;
    for (int form = 0; form < 4; ++form)
        for (size_t rank = 1; rank <= TN_BASIS_SIZE; rank += 19) {
            tn_map *map = learned_of((tn_basis)(form & 1), (tn_signed)(form >> 1), rank, 200, 7 + rank);
            const tn_map_spec *spec = tn_map_made_of(map);
            size_t width = tn_map_width(map);
            assert_int_equal(width, rank * (form >> 1 ? 2 : 1));
            assert_true(tn_map_scale(map) == 200 && tn_map_basis_size(map) == 39 && spec->tasks == 3);
            assert_string_equal(tn_map_name(map), "learned");
            ref_rng rng = ref_rng_of(99);
            for (int i = 0; i < 200; ++i) {
                double x = i < 3 ? i - 1 : 2.4 * ref_unit(&rng) - 1.2, y = 2.4 * ref_unit(&rng) - 1.2, got[TN_MAP_MOST];
                ref_real a[TN_MAP_MOST], b[TN_MAP_MOST], k = 0;
                ref_map_learned(form & 1, form >> 1, spec->weight, rank, x, a);
                ref_map_learned(form & 1, form >> 1, spec->weight, rank, y, b);
                tn_map_exact(map, x, got);
                for (size_t c = 0; c < width; ++c) {
                    assert_near_at(c, got[c], (double)a[c], 1e-13);
                    k += a[c] * b[c];
                }
                assert_near_at((size_t)i, tn_map_kernel(map, x, y), (double)k, 1e-12);
            }
            tn_map_free(map);
        }
}

/* The maps of homogeneous kernels: the integrals of the reference are sums of 200,000 midpoints. The closed forms. */
static void test_named_formula(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; ++kind)
        for (int split = 0; split < 2; ++split) {
            tn_map *map = named_of(named[kind], (tn_signed)split);
            size_t width = tn_map_width(map), rank = kind ? 7 : 1;
            assert_true(width == rank * (split ? 2 : 1) && tn_map_scale(map) == 1 && tn_map_basis_size(map) == 0);
            assert_string_equal(tn_map_name(map), named[kind]);
            ref_rng rng = ref_rng_of(5);
            for (int i = 0; i < 60; ++i) {
                double x = pow(10, -9 * ref_unit(&rng)) * (i % 3 ? 1 : -1), y = ref_unit(&rng) * (i % 4 ? 1 : -1);
                double got[TN_MAP_MOST], sign = x * y > 0 ? 1 : split ? 0 : -1;
                ref_real want[TN_MAP_MOST];
                ref_map_named(kind, split, x, want);
                tn_map_exact(map, x, got);
                for (size_t c = 0; c < width; ++c)
                    assert_near_at(c, got[c] / sqrt(fabs(x)), (double)want[c] / sqrt(fabs(x)), 1e-9);
                assert_near(tn_map_kernel(map, x, y), sign * (double)ref_kernel_named(kind, fabs(x), fabs(y)), 1e-15);
                assert_true(tn_map_kernel(map, x, 0) == 0 && tn_map_kernel(map, 0, y) == 0);
            }
            tn_map_free(map);
        }
}

/* The largest |phi| of a learned map, at 1001 points. */
static double largest(const tn_map *map)
{
    double values[TN_MAP_MOST], most = 0;
    for (int i = 0; i <= 1000; ++i) {
        tn_map_exact(map, i / 1000.0, values);
        for (size_t k = 0; k < tn_map_width(map); ++k)
            most = fmax(most, fabs(values[k]));
    }
    return most;
}

/* What both precisions of a row give is within the stated bound of the formula: 1e-6 of the largest |phi|, and phi rounded to
 * float. The narrow row also carries x rounded to float, twice. */
static void test_rows(void **state)
{
    (void)state;
    enum { N = 301 };
    static float x[N], out[N * TN_MAP_MOST];
    static double wide[N], out_wide[N * TN_MAP_MOST];
    for (int form = 0; form < 8; ++form) {
        bool learned = form < 4;
        tn_map *map = learned ? learned_of((tn_basis)(form & 1), (tn_signed)(form >> 1), 6, 40, 3)
                              : named_of(named[form - 4], TN_SIGNED_ODD);
        size_t width = tn_map_width(map);
        ref_rng rng = ref_rng_of((uint64_t)form + 1);
        double sum = 0, top = learned ? largest(map) : 0;
        for (size_t j = 0; j < N; ++j) {
            double v = ref_normal(&rng) * pow(10, -6 * ref_unit(&rng));
            x[j] = j % 5 == 0 ? 0.0f : (float)v;
            wide[j] = (double)x[j];
            sum += fabs(wide[j]);
        }
        tnp_phi_row_wide(map, wide, N, out_wide);
        tnp_phi_row(tnp_kernels_get(), map, x, N, out);
        for (size_t j = 0; j < N; ++j) {
            double want[TN_MAP_MOST], next[TN_MAP_MOST], v = tn_map_scale(map) * wide[j] / sum, most = top;
            tn_map_exact(map, v, want);
            tn_map_exact(map, v * (1 + 0x1p-22), next);
            for (size_t k = 0; k < width && !learned; ++k)
                most = fmax(most, fabs(want[k]));
            for (size_t k = 0; k < width; ++k) {
                double slack = (1e-6 + 0x1p-23) * most;
                assert_true(fabs(out_wide[j * width + k] - want[k]) <= slack);
                assert_true(fabs((double)out[j * width + k] - want[k]) <= slack + 2 * fabs(next[k] - want[k]));
                if (wide[j] == 0 && form != 1 && form != 3)
                    assert_true(out[j * width + k] == 0 && out_wide[j * width + k] == 0);
            }
        }
        tn_map_free(map);
    }
}

static void test_refused(void **state)
{
    (void)state;
    double w[TN_BASIS_SIZE * 40] = {1};
    tn_map *map = NULL;
    tn_map_spec good = {TN_BASIS_FOURIER, TN_SIGNED_ODD, 2, 1, w, .power = 1}, bad = good;
    bad.rank = 40;
    assert_fails(ctx, TN_ERR_ARG, "rank is 40, expected 1 to 39", tn_map_new_learned(ctx, &bad, &map));
    bad.rank = 0;
    assert_fails(ctx, TN_ERR_ARG, "rank is 0", tn_map_new_learned(ctx, &bad, &map));
    bad = good;
    bad.scale = 0;
    assert_fails(ctx, TN_ERR_ARG, "scale is 0", tn_map_new_learned(ctx, &bad, &map));
    bad.scale = INFINITY;
    assert_fails(ctx, TN_ERR_ARG, "scale is inf", tn_map_new_learned(ctx, &bad, &map));
    bad = good;
    bad.basis = (tn_basis)2;
    assert_fails(ctx, TN_ERR_ARG, TN_BASIS_WORDS, tn_map_new_learned(ctx, &bad, &map));
    bad = good;
    bad.sign = (tn_signed)2;
    assert_fails(ctx, TN_ERR_ARG, TN_SIGNED_WORDS, tn_map_new_learned(ctx, &bad, &map));
    assert_fails(ctx, TN_ERR_ARG, TN_SIGNED_WORDS, tn_map_new_named(ctx, "chi2", (tn_signed)2, &map));
    assert_fails(ctx, TN_ERR_ARG, "got 'chi3', expected " TN_MAP_WORDS,
                 tn_map_new_named(ctx, "chi3", TN_SIGNED_ODD, &map));
    assert_fails(ctx, TN_ERR_ARG, "got 'learned'", tn_map_new_named(ctx, "learned", TN_SIGNED_ODD, &map));
    w[5] = NAN;
    assert_fails(ctx, TN_ERR_ARG, "weight 1 of function 2 is not", tn_map_new_learned(ctx, &good, &map));
    assert_null(map);
    tn_map_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learned_formula),
        cmocka_unit_test(test_named_formula),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
