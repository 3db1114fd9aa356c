/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The maps of chi2, intersection and js against VLFeat's: order 3, rectangular window, its default period.
 *
 * VLFeat has a table too, 32 cells an octave: off by (1/32)^2/8 (1/4 + rate^2) of an amplitude between its knots (the
 * formula is at the head of map_homogeneous.c), and its integrals end at the frequency w = 200/period. The part cut off
 * is less than its first lobe, 2/(pi w) times the spectrum there, which for intersection is 2/pi/(1 + 4 w^2) and for
 * the others nothing: with steps of 1 and amplitudes of at least 0.2 that is 2e-5 of sqrt(x). */
#include "spectrum_of.h"
#include "transform/map.h"

#include <vl/homkermap.h>

static const struct {
    const char *name;
    VlHomogeneousKernelType type;
} kinds[] = {{"chi2", VlHomogeneousKernelChi2},
             {"intersection", VlHomogeneousKernelIntersection},
             {"js", VlHomogeneousKernelJS}};

static const double CUT = 2e-5;

static double cell_slack(const tn_map *map, size_t k)
{
    double rate = (double)((k + 1) / 2) * map->waves.step, one[TNP_PHI_HOMOGENEOUS];
    tn_map_exact(map, 1, one); /* cos 0 = 1: the amplitudes stand at the odd places */
    return (1.0 / 32) * (1.0 / 32) / 8 * (0.25 + rate * rate) * one[k ? (k - 1) / 2 * 2 + 1 : 0];
}

/* At powers of two both are at a knot, elsewhere VLFeat interpolates; both signs. */
static void test_values(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t kind = 0; kind < 3; ++kind) {
        VlHomogeneousKernelMap *other =
            vl_homogeneouskernelmap_new(kinds[kind].type, 1.0, 3, -1, VlHomogeneousKernelMapWindowRectangular);
        tn_map *map = NULL;
        ref_rng rng = ref_rng_of(kind + 1);
        assert_fine(ctx, tn_map_new_named(ctx, kinds[kind].name, TN_SIGNED_ODD, &map));
        assert_int_equal(vl_homogeneouskernelmap_get_dimension(other), tn_map_width(map));
        for (int i = 0; i < 600; ++i) {
            bool knot = i < 36;
            double x = (i % 2 ? -1 : 1) * (knot ? ldexp(1, -i / 2) : pow(2, -18 * ref_unit(&rng)));
            double want[TNP_PHI_HOMOGENEOUS], got[TNP_PHI_HOMOGENEOUS];
            vl_homogeneouskernelmap_evaluate_d(other, want, 1, x);
            tn_map_exact(map, x, got);
            for (size_t k = 0; k < TNP_PHI_HOMOGENEOUS; ++k) {
                double slack = sqrt(fabs(x)) * (CUT + (knot ? 0 : cell_slack(map, k)));
                assert_true(fabs(got[k] - want[k]) <= slack);
            }
        }
        tn_map_free(map);
        vl_homogeneouskernelmap_delete(other);
    }
    ctx_done(ctx);
}

/* A row of unit L1 norm through our table, entry by entry through theirs. Ours adds 1e-6 of the largest value of the
 * octave and two roundings of x to float. Entries below 2^-18 are left out: VLFeat's table ends there, and it gives
 * 0. */
static void test_row(void **state)
{
    (void)state;
    enum { N = 500 };
    tn_ctx *ctx = ctx_of(1);
    static float x[N], out[N * TNP_PHI_HOMOGENEOUS];
    for (size_t kind = 0; kind < 3; ++kind) {
        VlHomogeneousKernelMap *other =
            vl_homogeneouskernelmap_new(kinds[kind].type, 1.0, 3, -1, VlHomogeneousKernelMapWindowRectangular);
        tn_map *map = NULL;
        ref_rng rng = ref_rng_of(kind + 1);
        double sum = 0;
        assert_fine(ctx, tn_map_new_named(ctx, kinds[kind].name, TN_SIGNED_ODD, &map));
        for (size_t j = 0; j < N; ++j) {
            x[j] = j % 3 ? (float)((j % 2 ? 1 : -1) * pow(2, -8 * ref_unit(&rng))) : 0.0f;
            sum += fabs((double)x[j]);
        }
        float row[N];
        memcpy(row, x, sizeof row);
        assert_fine(ctx, tnp_map_ready(ctx, map));
        tnp_map_row(tnp_simd_get(), map, row, N, out);
        for (size_t j = 0; j < N; ++j) {
            double want[TNP_PHI_HOMOGENEOUS], v = (double)x[j] / sum;
            vl_homogeneouskernelmap_evaluate_d(other, want, 1, v);
            for (size_t k = 0; k < TNP_PHI_HOMOGENEOUS; ++k) {
                double slack = sqrt(fabs(v)) * (CUT + cell_slack(map, k) + 2e-6);
                assert_true(fabs((double)out[j * TNP_PHI_HOMOGENEOUS + k] - want[k]) <= slack);
            }
        }
        tn_map_free(map);
        vl_homogeneouskernelmap_delete(other);
    }
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
