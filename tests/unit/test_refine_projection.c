/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The projection of an encoder learned with its mixture, or alone: the objective falls, what is not learned stays, and
 * the encoder that comes of it makes the vectors that the last round saw. */
#include "pipeline/refine/refining.h"
#include "refine_of.h"

static const char projected[] = "kind=fisher words=3 pca=3 iterations=8";

/* Every step of the exact gradient is one down; the mixture stays where only the projection is
 * learned; and what comes of it is an encoder whose file has the learned basis. */
static void the_projection_is_learned(void **state)
{
    (void)state;
    static const char *const ways[] = {"learn=projection", "learn=both", "learn=both optimizer=gd",
                                       "learn=projection dropout=0.2 part=0.5 soften=0.05"};
    refine_scene s = scene_with(60, 60, 6, projected);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
        tn_refine_info *info = NULL;
        tn_encoder *e = NULL, *again = NULL;
        void *bytes = NULL;
        char text[200];
        size_t n = 0, mixture = 3 * 3 * sizeof(float), basis = 3 * 6 * sizeof(float);
        snprintf(text, sizeof text, "soften=0 %s rounds=8 C=100 twice=no holdout=0", ways[w]);
        assert_fine(ctx, refine(&s, text, &info, &e));
        assert_true(info->round_count >= 4);
        for (size_t i = 1; w < 3 && i < info->round_count; ++i)
            assert_true(info->rounds[i].objective < info->rounds[i - 1].objective);
        assert_true(memcmp(e->projection.basis, s.e->projection.basis, basis) != 0);
        assert_memory_equal(e->projection.mean, s.e->projection.mean, 6 * sizeof(float));
        bool same = memcmp(e->mixture.means, s.e->mixture.means, mixture) == 0;
        assert_true(same == (w == 0 || w == 3));
        assert_fine(ctx, tn_encoder_to_bytes(ctx, e, NULL, &bytes, &n));
        assert_fine(ctx, tn_encoder_from_bytes(ctx, bytes, n, NULL, &again));
        assert_memory_equal(again->projection.basis, e->projection.basis, basis);
        tn_bytes_free(bytes);
        tn_encoder_free(again);
        tn_refine_info_free(info);
        tn_encoder_free(e);
    }
    free_refine(&s);
}

/* The objective at the end is that of the encoder that comes of it: its vectors, made from the bags as extract makes
 * them, are those that the last round saw, but for halves (2^-11 of a descriptor) and rounding. */
static void the_learned_projection_is_the_one_that_is_kept(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 40, 6, "kind=fisher words=2 pca=3 places=yes iterations=8 norm=l2");
    tn_options *options = encoder_options("learn=both rounds=4 C=100 twice=no holdout=0");
    tnp_encoder_options values;
    tn_refine_data data = {NULL, s.bags.list, s.labels};
    tn_encoder *e = NULL, *copy = NULL;
    tnp_refining r = {.size = 0};
    double mean_ap;
    assert_fine(ctx, tn_encoder_refine(ctx, s.e, &data, NULL, options, NULL, &e));
    assert_fine(ctx, tnp_options_read(ctx, options, &tnp_encoder_kind_of_options, &values));
    /* descriptors as the first encoder keeps them */
    assert_fine(ctx, tnp_refining_open(ctx, s.e, &data, NULL, &values, &r));
    assert_fine(ctx, tnp_encoder_copy(ctx, e, &copy));
    assert_fine(ctx, tnp_refining_take(ctx, &r, copy));
    assert_fine(ctx, tnp_refining_choose_cost(ctx, &r, &mean_ap));
    for (size_t b = 0; b < 30; ++b) {
        float *want = encoded(e, &s.bags, b);
        for (size_t i = 0; i < tn_encoder_cols(e); ++i)
            assert_near_at(i, (double)r.train.phi[b * tn_encoder_cols(e) + i], (double)want[i], 1e-3);
        free(want);
    }
    tnp_refining_close(ctx, &r);
    tn_options_free(options);
    tn_encoder_free(e);
    free_refine(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_projection_is_learned),
                                       cmocka_unit_test(the_learned_projection_is_the_one_that_is_kept)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
