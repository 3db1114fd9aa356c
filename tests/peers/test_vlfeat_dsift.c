/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense SIFT against VLFeat's vl_dsift with a flat window, at the same geometry: patches of an odd number of bins' halves
 * would lie between its pixels, so sides are those whose bins are centred on pixels, 4 b with b odd. VLFeat's angles and
 * lengths come from approximations of its own (vl_fast_atan2_f, vl_fast_sqrt_f), of about 1e-3: so the cosine, not the
 * value, is compared. */
#include "describe/describe.h"
#include "one_ctx.h"

#include <vl/dsift.h>

enum { W = 160, H = 120, STEP = 3 };

static float *noisy_scene(void)
{
    float *x = malloc(W * H * sizeof *x);
    tnp_rng rng;
    tnp_rng_init(&rng, 21, 0);
    for (size_t i = 0; i < W * H; ++i)
        x[i] = (float)(0.5 + 0.3 * sin(0.11 * (double)(i % W)) * cos(0.07 * (double)(i / W)) +
                       0.1 * (tnp_rng_unit(&rng) - 0.5));
    for (size_t y = 40; y < 80; ++y) /* a flat part */
        for (size_t i = 60; i < 110; ++i)
            x[y * W + i] = 0.4F;
    return x;
}

/* Bins of side b = 2 m + 1 have their middles at whole pixels m, m + b, ..: those of a patch whose edge is at e. */
static void compare(size_t b, double *worst, size_t *compared)
{
    double side = 4.0 * (double)b;
    float *x = noisy_scene();
    tn_picture p = {x, W, H, 1};
    tnp_describe_options options;
    tnp_describer d;
    tnp_described out = {.count = 0};
    tnp_describe_options_default(&options);
    options.step = STEP;
    options.contrast = false;
    options.sides = (tnp_reals){&side, 1};
    assert_fine(ctx, tnp_describer_make(ctx, &options, &d));
    assert_fine(ctx, tnp_describe(ctx, &d, &p, &out));
    const tnp_patch_size *size = out.patches.grid.size;
    VlDsiftFilter *filter = vl_dsift_new_basic(W, H, STEP, (int)b);
    vl_dsift_set_flat_window(filter, 1);
    size_t first_x = size->x + (b - 1) / 2, first_y = size->y + (b - 1) / 2;
    vl_dsift_set_bounds(filter, (int)first_x, (int)first_y, (int)(first_x + (size->nx - 1) * STEP + 3 * b),
                        (int)(first_y + (size->ny - 1) * STEP + 3 * b));
    vl_dsift_process(filter, x);
    assert_int_equal(vl_dsift_get_keypoint_num(filter), out.count);
    const float *theirs = vl_dsift_get_descriptors(filter);
    for (size_t n = 0; n < out.count; ++n) {
        double ab = 0, aa = 0, bb = 0;
        for (size_t k = 0; k < 128; ++k) {
            ab += (double)out.descriptors[n * 128 + k] * (double)theirs[n * 128 + k];
            aa += pow((double)out.descriptors[n * 128 + k], 2);
            bb += pow((double)theirs[n * 128 + k], 2);
        }
        if (aa == 0)
            continue; /* flat */
        *worst = fmin(*worst, ab / sqrt(aa * bb));
        ++*compared;
    }
    vl_dsift_delete(filter);
    tnp_described_free(&out);
    free(x);
}

static void cosine_with_vlfeat_is_above_0_999(void **state)
{
    (void)state;
    static const size_t bins[] = {3, 5, 7, 9};
    double worst = 1;
    size_t compared = 0;
    for (size_t i = 0; i < 4; ++i)
        compare(bins[i], &worst, &compared);
    assert_true(compared > 5000);
    if (worst < 0.999)
        print_error("worst cosine %.6f\n", worst);
    assert_true(worst >= 0.999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cosine_with_vlfeat_is_above_0_999)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
