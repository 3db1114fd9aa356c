/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of kernels against the kernel at every place, and their cosines against closed forms written out here. */
#include "ctx_of.h"
#include "ref_random.h"
#include "tenon/transform.h"

static tn_map *named(tn_ctx *ctx, const char *name, tn_signed sign)
{
    tn_map *map = NULL;
    assert_fine(ctx, tn_map_new_named(ctx, name, sign, &map));
    return map;
}

static tn_map *learned(tn_ctx *ctx, uint64_t seed, double factor, tn_signed sign)
{
    double weight[TN_BASIS_SIZE * 3];
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < TN_BASIS_SIZE * 3; ++i)
        weight[i] = factor * ref_normal(&rng);
    tn_map_spec spec = {.rank = 3, .scale = 7, .sign = sign, .weight = weight};
    tn_map *map = NULL;
    assert_fine(ctx, tn_map_new_learned(ctx, &spec, &map));
    return map;
}

static void tables(void **state)
{
    tn_ctx *ctx = *state;
    const size_t sizes[] = {1, 3, 16};
    for (int kind = 0; kind < 4; ++kind) {
        tn_map *map = kind == 0   ? named(ctx, "chi2", TN_SIGNED_ODD)
                      : kind == 1 ? named(ctx, "intersection", TN_SIGNED_SPLIT)
                                  : learned(ctx, 5, 1, kind == 2 ? TN_SIGNED_ODD : TN_SIGNED_SPLIT);
        for (size_t s = 0; s < 3; ++s) {
            size_t n = sizes[s];
            double out[256];
            assert_fine(ctx, tn_map_table(ctx, map, n, out));
            for (size_t i = 0; i < n; ++i)
                for (size_t j = 0; j < n; ++j) {
                    double x = (2 * (double)i + 1) / (2 * (double)n), y = (2 * (double)j + 1) / (2 * (double)n);
                    assert_near_at(i * n + j, out[i * n + j], tn_map_kernel(map, x, y), 1e-13);
                    assert_true(kind != 1 || out[i * n + j] == fmin(x, y));
                }
        }
        tn_map_free(map);
    }
}

/* Sums over 256 x 256 places, in long double. */
static double cosine(long double (*a)(long double, long double), long double (*b)(long double, long double))
{
    long double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < TN_MAP_BINS; ++i)
        for (int j = 0; j < TN_MAP_BINS; ++j) {
            long double x = (i + 0.5L) / TN_MAP_BINS, y = (j + 0.5L) / TN_MAP_BINS, u = a(x, y), v = b(x, y);
            ab += u * v;
            aa += u * u;
            bb += v * v;
        }
    return (double)(ab / sqrtl(aa * bb));
}

static long double root(long double x, long double y)
{
    return sqrtl(x * y);
}

static long double least(long double x, long double y)
{
    return fminl(x, y);
}

static long double harmonic(long double x, long double y)
{
    return 2 * x * y / (x + y);
}

static void cosines(void **state)
{
    tn_ctx *ctx = *state;
    tn_map *maps[3] = {named(ctx, "hellinger", TN_SIGNED_ODD), named(ctx, "intersection", TN_SIGNED_ODD),
                       named(ctx, "chi2", TN_SIGNED_SPLIT)};
    long double (*const forms[3])(long double, long double) = {root, least, harmonic};
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j) {
            double got = 0;
            assert_fine(ctx, tn_map_similarity(ctx, maps[i], maps[j], &got));
            assert_near(got, cosine(forms[i], forms[j]), 1e-12);
        }
    /* the size of a kernel does not matter, its form does; a kernel of nothing is like none */
    tn_map *a = learned(ctx, 1, 1, TN_SIGNED_ODD), *b = learned(ctx, 1, 1e-3, TN_SIGNED_ODD),
           *c = learned(ctx, 2, 1, TN_SIGNED_ODD), *zero = learned(ctx, 1, 0, TN_SIGNED_ODD);
    double same = 0, other = 0, none = 0;
    assert_fine(ctx, tn_map_similarity(ctx, a, b, &same));
    assert_fine(ctx, tn_map_similarity(ctx, a, c, &other));
    assert_fine(ctx, tn_map_similarity(ctx, a, zero, &none));
    assert_near(same, 1, 1e-12);
    assert_true(fabs(other) < 0.9 && isnan(none));
    tn_map *const all[] = {maps[0], maps[1], maps[2], a, b, c, zero};
    for (size_t i = 0; i < 7; ++i)
        tn_map_free(all[i]);
}

static void every_allocation_may_fail(void **state)
{
    tn_ctx *ctx = *state;
    tn_map *a = learned(ctx, 1, 1, TN_SIGNED_ODD), *b = named(ctx, "js", TN_SIGNED_ODD);
    size_t blocks = tnp_live_blocks(ctx), k = 1;
    for (;; ++k) {
        double out = 7;
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_map_similarity(ctx, a, b, &out);
        tnp_fail_allocation(ctx, 0);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_true(out == 7);
    }
    assert_true(k > 2);
    tn_map_free(a);
    tn_map_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(cosines, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
