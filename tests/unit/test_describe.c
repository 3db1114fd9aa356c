/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense descriptors: every patch against its formula, and what holds without one: light does not matter, a turned
 * picture turns the bins, flat patches are zero, nothing depends on threads. */
#include "describe/describe.h"
#include "one_ctx.h"
#include "ref_describe.h"
#include "tenon/pipeline.h"

enum { W = 61, H = 43 };

/* Smooth and rough parts, all channels different. */
static tn_picture *scene(size_t channels, uint64_t seed)
{
    tn_picture *p = calloc(1, sizeof *p);
    tnp_rng rng;
    p->pixels = malloc(W * H * channels * sizeof *p->pixels);
    p->width = W;
    p->height = H;
    p->channels = channels;
    tnp_rng_init(&rng, seed, 0);
    for (size_t i = 0; i < W * H; ++i)
        for (size_t c = 0; c < channels; ++c)
            p->pixels[i * channels + c] =
                (float)(0.5 + 0.2 * sin(0.3 * (double)(i % W) + (double)c) * cos(0.2 * (double)(i / W)) +
                        0.2 * (tnp_rng_unit(&rng) - 0.5));
    return p;
}

static void free_scene(tn_picture *p)
{
    free(p->pixels);
    free(p);
}

static tnp_describer describer_of(const char *name, size_t step, bool contrast, const double *sides, size_t count)
{
    tnp_describe_options options;
    tnp_describer out;
    tnp_describe_options_default(&options);
    while (strcmp(tn_descriptor_name((size_t)options.descriptor), name) != 0)
        ++options.descriptor;
    options.step = step;
    options.contrast = contrast;
    options.sides = (tnp_reals){sides, count};
    assert_fine(ctx, tnp_describer_make(ctx, &options, &out));
    return out;
}

/* Planes one after the other, as the reference takes them. */
static float *planes_of(const tn_picture *p)
{
    size_t n = p->width * p->height;
    float *out = malloc(n * p->channels * sizeof *out);
    for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < p->channels; ++c)
            out[c * n + i] = p->pixels[i * p->channels + c];
    return out;
}

static void call_reference(const char *name, const ref_patch *patch, double *want)
{
    if (strcmp(name, "sift") == 0 || strcmp(name, "rootsift") == 0)
        ref_sift(patch, name[0] == 'r', want);
    else if (strcmp(name, "csift") == 0)
        ref_csift(patch, want);
    else if (strcmp(name, "lbp") == 0)
        ref_lbp(patch, want);
    else
        ref_gist(patch, want);
}

/* Every `every`-th patch of all, the first and the last among them. */
static void check_patches(const char *name, size_t channels, size_t step, size_t every, double tolerance)
{
    static const double sides[] = {8, 13, 25, 40};
    tnp_describer d = describer_of(name, step, false, sides, 4);
    tn_picture *p = scene(channels, 7);
    tnp_described out = {.count = 0};
    float *planes = planes_of(p);
    double *want = malloc(d.kind->dim * sizeof *want);
    assert_fine(ctx, tnp_describe(ctx, &d, p, &out));
    assert_true(out.count > 20);
    for (size_t n = 0; n < out.count; n += n + 1 < out.count && n + every >= out.count ? out.count - 1 - n : every) {
        const tnp_patch_size *size = out.patches.grid.size;
        while (n >= size->first + size->nx * size->ny)
            ++size;
        size_t i = (n - size->first) % size->nx, j = (n - size->first) / size->nx;
        ref_patch patch = {
            planes, W, H, (double)(size->x + i * step), (double)(size->y + j * step), (double)size->side};
        call_reference(name, &patch, want);
        for (size_t k = 0; k < d.kind->dim; ++k)
            assert_near_at(n * d.kind->dim + k, (double)out.descriptors[n * d.kind->dim + k], want[k], tolerance);
        assert_near((double)out.positions[3 * n], (patch.x + patch.side / 2) / W, 1e-6);
        assert_near((double)out.positions[3 * n + 1], (patch.y + patch.side / 2) / H, 1e-6);
    }
    free(want);
    free(planes);
    free_scene(p);
    tnp_described_free(&out);
}

/* Angles are within 8e-7 of an eighth, lengths within 2e-7, sums of (2 b)^2 = 400 terms of one sign lose a few eps:
 * 5e-6 holds for values up to 1; the root of a value v is off by its error over 2 sqrt v, and v below 1e-6 by 1e-3. */
static void sift_is_its_formula(void **state)
{
    (void)state;
    check_patches("sift", 1, 3, 7, 5e-6);
    check_patches("rootsift", 1, 5, 7, 1e-3);
    check_patches("csift", 3, 5, 11, 2e-5); /* ratios of values near 0.5 / 0.9 lose another two bits */
}

static void lbp_is_its_formula(void **state)
{
    (void)state;
    check_patches("lbp", 1, 3, 5, 1e-6);
}

/* Filters of at most 37 taps twice, sums along 61 columns of values below 1: 40 eps of them over cells of 4 pixels. */
static void gist_is_its_formula(void **state)
{
    (void)state;
    check_patches("gist", 3, 6, 61, 2e-5);
}

static const double default_sides[] = {16, 25, 36};

static float *described(const char *name, const tn_picture *p, bool contrast, size_t *count, size_t *dim)
{
    tnp_describer d = describer_of(name, 4, contrast, default_sides, 3);
    tnp_described out = {.count = 0};
    assert_fine(ctx, tnp_describe(ctx, &d, p, &out));
    *count = out.count;
    *dim = d.kind->dim;
    float *copy = malloc(out.count * d.kind->dim * sizeof *copy + 1);
    memcpy(copy, out.descriptors, out.count * d.kind->dim * sizeof *copy);
    tnp_described_free(&out);
    return copy;
}

/* a I + b: with contrast normalisation every descriptor but CSIFT is the same to rounding. */
static void light_does_not_matter(void **state)
{
    (void)state;
    static const char *const names[] = {"sift", "rootsift", "lbp", "gist"};
    for (size_t k = 0; k < 4; ++k) {
        tn_picture *p = scene(3, 9);
        size_t n = 0, dim = 0;
        float *a = described(names[k], p, true, &n, &dim);
        for (size_t i = 0; i < W * H * 3; ++i)
            p->pixels[i] = 0.25F * p->pixels[i] + 0.5F; /* exact but for the last two bits */
        float *b = described(names[k], p, true, &n, &dim);
        double off = 0, size = 0;
        for (size_t i = 0; i < n * dim; ++i) {
            off += pow((double)a[i] - (double)b[i], 2);
            size += pow((double)a[i], 2);
        }
        assert_true(sqrt(off / size) < (k == 2 ? 0.05 : 1e-3)); /* ties of LBP may fall the other way */
        free(a);
        free(b);
        free_scene(p);
    }
}

/* A picture turned by a quarter: bin (j, i, o) of patch (x, y) is found at (i, 3 - j, o + 2) of the turned one. */
static void a_turned_picture_turns_the_bins(void **state)
{
    (void)state;
    static const double sides[] = {20};
    tnp_describer d = describer_of("sift", 1, false, sides, 1);
    tn_picture *p = scene(1, 11), *q = scene(1, 11);
    tnp_described a = {.count = 0}, b = {.count = 0};
    q->width = H;
    q->height = W;
    for (size_t y = 0; y < H; ++y)
        for (size_t x = 0; x < W; ++x)
            q->pixels[x * H + (H - 1 - y)] = p->pixels[y * W + x];
    assert_fine(ctx, tnp_describe(ctx, &d, p, &a));
    assert_fine(ctx, tnp_describe(ctx, &d, q, &b));
    size_t nx = W - 20 + 1, ny = H - 20 + 1;
    assert_int_equal(a.count, nx * ny);
    for (size_t y = 0; y < ny; y += 5)
        for (size_t x = 0; x < nx; x += 5)
            for (size_t j = 0; j < 4; ++j)
                for (size_t i = 0; i < 4; ++i)
                    for (size_t o = 0; o < 8; ++o)
                        assert_near(
                            (double)b.descriptors[(x * ny + (ny - 1 - y)) * 128 + (i * 4 + 3 - j) * 8 + (o + 2) % 8],
                            (double)a.descriptors[(y * nx + x) * 128 + (j * 4 + i) * 8 + o], 5e-6);
    tnp_described_free(&a);
    tnp_described_free(&b);
    free_scene(p);
    free_scene(q);
}

static void flat_patches_are_zero(void **state)
{
    (void)state;
    static const char *const names[] = {"sift", "rootsift", "csift", "gist"};
    for (size_t k = 0; k < 4; ++k) {
        tn_picture *p = scene(3, 1);
        size_t n = 0, dim = 0;
        for (size_t i = 0; i < W * H * 3; ++i)
            p->pixels[i] = 0.3F;
        float *d = described(names[k], p, true, &n, &dim);
        for (size_t i = 0; i < n * dim; ++i)
            assert_true(d[i] == 0);
        free(d);
        free_scene(p);
    }
}

/* A ramp to the right has one direction, 0; down is 2 eighths further. */
static void a_ramp_has_one_direction(void **state)
{
    (void)state;
    for (size_t down = 0; down < 2; ++down) {
        tn_picture *p = scene(1, 1);
        size_t n = 0, dim = 0;
        for (size_t i = 0; i < W * H; ++i)
            p->pixels[i] = 0.01F * (float)(down ? i / W : i % W);
        float *d = described("sift", p, false, &n, &dim);
        for (size_t i = 0; i < n * dim; ++i)
            assert_true(i % 8 == 2 * down ? d[i] > 0.1F : d[i] < 1e-4F);
        free(d);
        free_scene(p);
    }
}

static void pictures_smaller_than_every_patch(void **state)
{
    (void)state;
    float pixel = 0.5F;
    tn_picture p = {&pixel, 1, 1, 1};
    tn_mat *d = NULL, *at = NULL;
    assert_fine(ctx, tn_describe(ctx, &p, NULL, &d, &at));
    assert_int_equal(d->rows, 0);
    assert_int_equal(d->cols, 128);
    tn_mat_free(d);
    tn_mat_free(at);
    float *strip = calloc(5000, sizeof *strip);
    tn_picture long_one = {strip, 1, 5000, 1};
    assert_fine(ctx, tn_describe(ctx, &long_one, NULL, &d, &at));
    assert_int_equal(d->rows, 0);
    tn_mat_free(d);
    tn_mat_free(at);
    free(strip);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for (size_t k = 0; tn_descriptor_name(k); ++k) {
        tn_picture *p = scene(3, 5);
        size_t n = 0, dim = 0;
        tn_ctx_set_threads(ctx, 1);
        float *one = described(tn_descriptor_name(k), p, true, &n, &dim);
        tn_ctx_set_threads(ctx, 3);
        float *three = described(tn_descriptor_name(k), p, true, &n, &dim);
        assert_memory_equal(one, three, n * dim * sizeof *one);
        free(one);
        free(three);
        free_scene(p);
    }
    tn_ctx_set_threads(ctx, 0);
}

static void options_are_checked(void **state)
{
    (void)state;
    tn_options *options = NULL;
    float pixel = 0.5F;
    tn_picture p = {&pixel, 1, 1, 1};
    tn_mat *d = NULL, *at = NULL;
    assert_fine(ctx, tn_options_new(ctx, "describe", &options));
    assert_fine(ctx, tn_options_set(ctx, options, "sides", "16,20.5"));
    assert_fails(ctx, TN_ERR_ARG, "option sides: got 20.5", tn_describe(ctx, &p, options, &d, &at));
    assert_fails(ctx, TN_ERR_ARG, "option sides", tn_options_set(ctx, options, "sides", "4"));
    assert_fails(ctx, TN_ERR_ARG, "option descriptor", tn_options_set(ctx, options, "descriptor", "surf"));
    tn_options_free(options);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_picture *p = scene(3, 2);
    size_t k = 1;
    for (;; ++k) {
        tn_mat *d = NULL, *at = NULL;
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_describe(ctx, p, NULL, &d, &at);
        tnp_fail_allocation(ctx, 0);
        tn_mat_free(d);
        tn_mat_free(at);
        assert_int_equal(tnp_live_blocks(ctx), 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 5);
    free_scene(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sift_is_its_formula),
        cmocka_unit_test(lbp_is_its_formula),
        cmocka_unit_test(gist_is_its_formula),
        cmocka_unit_test(light_does_not_matter),
        cmocka_unit_test(a_turned_picture_turns_the_bins),
        cmocka_unit_test(flat_patches_are_zero),
        cmocka_unit_test(a_ramp_has_one_direction),
        cmocka_unit_test(pictures_smaller_than_every_patch),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
