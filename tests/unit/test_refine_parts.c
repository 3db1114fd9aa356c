/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of a refinement: directions of descent by their equations, slopes of the machines by differences of their
 * solved objective, the gradient of the whole by differences along itself, descriptors as halves, crews. */
#include "pipeline/refine/run.h"
#include "refine_of.h"

#include <unistd.h>

/* ---- steps ---- */

/* The newest pair: H y = s, whatever the older ones (the secant equation); without pairs -g. */
static void directions_obey_the_secant_equation(void **state)
{
    (void)state;
    enum { N = 7 };
    tnp_steps steps = {.size = 0};
    tnp_rng rng;
    double s[N], y[N], d[N];
    tnp_rng_init(&rng, 3, 0);
    assert_fine(ctx, tnp_steps_new(ctx, N, &steps));
    for (size_t pair = 0; pair < TNP_STEPS_MEMORY + 3; ++pair) {
        for (size_t i = 0; i < N; ++i) {
            s[i] = normal(&rng);
            y[i] = (1 + (double)i) * s[i] + 0.1 * normal(&rng); /* of a curved valley */
        }
        tnp_steps_keep(&steps, s, y);
        tnp_steps_direction(&steps, y, d);
        for (size_t i = 0; i < N; ++i)
            assert_near_at(i, d[i], -s[i], 1e-9);
    }
    assert_int_equal(steps.count, TNP_STEPS_MEMORY);
    for (size_t i = 0; i < N; ++i)
        y[i] = -s[i];
    tnp_steps_keep(&steps, s, y); /* no curvature: left out */
    tnp_steps_direction(&steps, y, d);
    assert_int_equal(steps.count, TNP_STEPS_MEMORY);
    steps.count = 0;
    tnp_steps_direction(&steps, y, d);
    for (size_t i = 0; i < N; ++i)
        assert_true(d[i] == -y[i]);
    tnp_steps_free(&steps);
}

/* Two steps by hand: m/(1 - 0.9^t) and v/(1 - 0.999^t) of a constant gradient are the gradient and its square. */
static void adam_takes_steps_of_its_rate(void **state)
{
    (void)state;
    tnp_steps steps = {.size = 0};
    const double g[3] = {4, -0.5, 1e-3};
    double d[3];
    assert_fine(ctx, tnp_steps_new(ctx, 3, &steps));
    for (int t = 0; t < 2; ++t) {
        tnp_steps_adam(&steps, g, 0.05, d);
        for (size_t i = 0; i < 3; ++i)
            assert_near_at(i, d[i], -0.05 * g[i] / (fabs(g[i]) + 1e-8), 1e-12);
    }
    tnp_steps_free(&steps);
}

/* ---- machines ---- */

/* d f / d phi by differences of two solutions. phi is float and changes by h = 2^-8: f is known to the certified gap,
 * 1e-9, so that differences are known to 1e-9 / h = 3e-7, and their own error is h^2; of cv, whose f is no minimum, it
 * is known to the root of the gap. */
static void check_slopes(int objective, double tolerance)
{
    enum { ROWS = 30, DIM = 4 };
    const float h = 0x1p-8F;
    static float phi[ROWS * DIM];
    size_t first[ROWS + 1];
    uint32_t cls[ROWS];
    double slope[DIM];
    tnp_refine_options options;
    tnp_machines m = {.rows = 0};
    tnp_rng rng;
    tnp_rng_init(&rng, 11, 0);
    tnp_refine_options_default(&options);
    options.objective = objective;
    for (size_t i = 0; i < ROWS; ++i) {
        first[i] = i;
        cls[i] = (uint32_t)(i % 2); /* class 2 has no row: it is left out */
        for (size_t j = 0; j < DIM; ++j)
            phi[i * DIM + j] = (float)(normal(&rng) + (j == cls[i] ? 0.7 : 0));
    }
    first[ROWS] = ROWS;
    tnp_targets y = {.rows = ROWS, .classes = 3, .first = first, .cls = cls};
    assert_fine(ctx, tnp_machines_new(ctx, &y, DIM, &options, 1, &m));
    assert_true(m.constant[2] && !m.constant[0]);
    m.cost = 30;
    for (size_t i = 0; i < ROWS; i += 7)
        for (size_t j = 0; j < DIM; ++j) {
            double f[2];
            float was = phi[i * DIM + j];
            for (int side = 0; side < 2; ++side) {
                phi[i * DIM + j] = was + (side ? h : -h);
                assert_fine(ctx, tnp_machines_solve(ctx, &m, phi, 1e-9));
                f[side] = m.objective;
            }
            phi[i * DIM + j] = was;
            assert_fine(ctx, tnp_machines_solve(ctx, &m, phi, 1e-9));
            assert_fine(ctx, tnp_machines_turn(ctx, &m, phi));
            tnp_machines_slope(&m, i, slope);
            assert_near_at(j, slope[j], (f[1] - f[0]) / (2 * (double)h), tolerance);
        }
    tnp_machines_free(&m);
}

static void slopes_are_those_of_the_solved_objective(void **state)
{
    (void)state;
    check_slopes(TNP_OBJECTIVE_SVM, 1e-3);
    check_slopes(TNP_OBJECTIVE_MULTINOMIAL, 1e-3);
    check_slopes(TNP_OBJECTIVE_CV, 1e-2);
}

/* From weights beyond every margin no row is active; the solution is that from nothing. */
static void a_start_beyond_every_margin_is_no_fault(void **state)
{
    (void)state;
    float phi[8] = {1, 0, -1, 0, 1.2F, 0.1F, -0.9F, 0.2F};
    const size_t first[5] = {0, 1, 1, 2, 2};
    const uint32_t cls[2] = {0, 0};
    tnp_targets y = {.rows = 4, .classes = 1, .first = first, .cls = cls};
    tnp_machines m = {.rows = 0};
    tnp_refine_options options;
    tnp_refine_options_default(&options);
    assert_fine(ctx, tnp_machines_new(ctx, &y, 2, &options, 1, &m));
    m.cost = 100;
    assert_fine(ctx, tnp_machines_solve(ctx, &m, phi, 1e-6));
    double want = m.objective;
    m.w[0] = 50;
    assert_fine(ctx, tnp_machines_solve(ctx, &m, phi, 1e-6));
    assert_near(m.objective, want, 2e-6);
    tnp_machines_free(&m);
}

/* ---- the objective ---- */

/* Along the gradient g itself: (f(x + t g) - f(x - t g)) / 2t = |g|^2, t g being `step` deviations at most. f is solved
 * to 1e-5 of it, which is 1e-2 of the change that is measured; the rest is curvature. */
static void check_gradient(const char *encoder, const char *text, double step, double tolerance)
{
    refine_scene s = scene_with(24, 40, 4, encoder);
    tnp_refining r = {.size = 0};
    tn_options *options = encoder_options(text);
    tnp_encoder_options values;
    tn_refine_data data = {NULL, s.bags.list, s.labels};
    double mean_ap, f[2], square = 0, most = 0;
    assert_fine(ctx, tnp_options_read(ctx, options, &tnp_encoder_kind_of_options, &values));
    assert_fine(ctx, tnp_refining_open(ctx, s.e, &data, NULL, &values, &r));
    assert_fine(ctx, tnp_refining_choose_cost(ctx, &r, &mean_ap));
    double *g = malloc(r.size * sizeof *g), *x = malloc(r.size * sizeof *x), *at = malloc(r.size * sizeof *x);
    for (size_t i = 0; i < r.size; ++i) /* away from the start, where the penalty has no slope */
        x[i] = r.start[i] + 0.05 * sin((double)i);
    assert_fine(ctx, tnp_refining_at(ctx, &r, x, TNP_AT_SOLVE));
    assert_fine(ctx, tnp_refining_slope(ctx, &r, g));
    for (size_t i = 0; i < r.size; ++i) {
        square += g[i] * g[i];
        most = fmax(most, fabs(g[i]));
    }
    double t = step / most;
    for (int side = 0; side < 2; ++side) {
        for (size_t i = 0; i < r.size; ++i)
            at[i] = x[i] + (side ? t : -t) * g[i];
        assert_fine(ctx, tnp_refining_at(ctx, &r, at, TNP_AT_SOLVE));
        f[side] = r.objective;
    }
    double found = (f[1] - f[0]) / (2 * t);
    if (fabs(found - square) > tolerance * square)
        print_error("%s: slope %.6g, difference %.6g\n", text, square, found);
    assert_true(fabs(found - square) <= tolerance * square);
    free(g);
    free(x);
    free(at);
    tnp_refining_close(ctx, &r);
    tn_options_free(options);
    free_refine(&s);
}

static void the_gradient_is_that_of_the_objective(void **state)
{
    (void)state;
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "C=100 penalty=0", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "C=100 penalty=0.5", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "C=100 precision=f64", 0.01, 0.02);
    check_gradient("kind=fisher words=2 pca=3 pyramid=1x1,2x1 norm=l2", "C=100", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "C=100 dropout=0.5", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=3 norm=l2", "C=100 learn=projection", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=3 norm=l2", "C=100 learn=both penalty=0.5 precision=f64", 0.01, 0.02);
    check_gradient("kind=fisher words=2 pca=2 places=yes pyramid=1x1,2x1 norm=l2", "C=100 learn=both", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "optimizer=gd C=100", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "C=100 objective=multinomial", 0.01, 0.02);
    check_gradient("kind=fisher words=3 pca=0 norm=l2", "C=100 objective=cv", 0.01, 0.05);
    /* the root bends within a thousandth of a deviation where psi is near 0 */
    check_gradient("kind=fisher words=3 pca=0", "soften=0 C=100", 2e-4, 0.1);
    check_gradient("kind=fisher words=3 pca=0", "soften=0 C=100 precision=f64", 2e-4, 0.1);
}

/* ---- descriptors ---- */

/* Halves of values in deviations: within 2^-11 of their size there, and of the smallest half; in a file as in memory.
 * */
static void descriptors_keep_eleven_bits(void **state)
{
    (void)state;
    for (int scale = 0; scale < 2; ++scale) {
        bag_set s = bags_of(5, 30, 4, scale ? 1e4 : 0);
        tn_encoder *e = encoder_of(&s, "kind=fisher words=3 pca=0", NULL);
        for (int file = 0; file < 2; ++file) {
            tnp_bag_stream stream = {.count = 0};
            tnp_descriptors d = {.bags = 0};
            tnp_described_bag bag = {NULL, NULL, NULL};
            assert_fine(ctx, tnp_bag_stream_bags(ctx, s.list, &stream));
            assert_fine(ctx, tnp_descriptors_new(ctx, e, false, &stream, file ? "parts.cache" : "", 7, &d));
            assert_fine(ctx, tnp_described_bag_new(ctx, &d, &bag));
            assert_int_equal(tnp_descriptors_rows(&d), 150);
            for (size_t b = 0; b < 5; ++b) {
                assert_fine(ctx, tnp_descriptors_get(ctx, &d, b, &bag));
                assert_int_equal(bag.starts[1], 30);
                for (size_t i = 0; i < 120; ++i) {
                    double want = (double)s.x[b * 120 + i], away = fabs(want - (double)d.shift[i % 4]);
                    double allowed = away * 0x1p-11 + (double)d.scale[i % 4] * 0x1p-24 + 2e-7 * fabs(want);
                    assert_true(fabs((double)bag.rows[i] - want) <= allowed);
                }
            }
            tnp_described_bag_thin(&d, 0.5, 1, 1, &bag);
            assert_true(bag.starts[1] > 5 && bag.starts[1] < 25);
            tnp_described_bag_free(&bag);
            tnp_descriptors_free(&d);
            tnp_bag_stream_close(&stream);
        }
        unlink("parts.cache");
        tn_encoder_free(e);
        free_bags(&s);
    }
}

/* Before the projection: x less the projection's mean within 2^-11, and of what the columns' deviations are taken for,
 * the largest that can be; places behind. One column is 1e-4 of the others, one is constant. */
static void descriptors_can_be_kept_unprojected(void **state)
{
    (void)state;
    bag_set s = bags_of(5, 30, 5, 0);
    for (size_t i = 0; i < 5 * 30; ++i) {
        s.x[i * 5 + 1] *= 1e-4F;
        s.x[i * 5 + 4] = 7;
    }
    for (int whole = 0; whole < 2; ++whole) {
        const char *made =
            whole ? "kind=fisher words=3 pca=5 whiten=yes places=yes" : "kind=fisher words=3 pca=2 places=yes";
        tn_encoder *e = encoder_of(&s, made, NULL);
        tnp_bag_stream stream = {.count = 0};
        tnp_descriptors d = {.bags = 0};
        tnp_described_bag bag = {NULL, NULL, NULL};
        assert_fine(ctx, tnp_bag_stream_bags(ctx, s.list, &stream));
        assert_fine(ctx, tnp_descriptors_new(ctx, e, true, &stream, "", 7, &d));
        assert_int_equal(d.dim, 7);
        assert_fine(ctx, tnp_described_bag_new(ctx, &d, &bag));
        for (size_t b = 0; b < 5; ++b) {
            assert_fine(ctx, tnp_descriptors_get(ctx, &d, b, &bag));
            for (size_t i = 0; i < 30; ++i)
                for (size_t j = 0; j < 7; ++j) {
                    size_t row = b * 30 + i;
                    double want = j < 5 ? (double)s.x[row * 5 + j] - (double)e->projection.mean[j]
                                        : ((double)s.places[3 * row + j - 5] - 0.5) * (double)e->place_scale;
                    double at = j < 5 ? fabs((double)s.x[row * 5 + j]) : 1; /* rounding of the difference */
                    double allowed = fabs(want) * 0x1p-11 + (double)d.scale[j] * 0x1p-24 + at * 0x1p-22;
                    assert_true(fabs((double)bag.rows[i * 7 + j] - want) <= allowed);
                }
        }
        assert_true(d.scale[1] < (whole ? 1e-3F : 10.0F) * d.scale[0]);
        tnp_described_bag_free(&bag);
        tnp_descriptors_free(&d);
        tnp_bag_stream_close(&stream);
        tn_encoder_free(e);
    }
    free_bags(&s);
}

/* ---- crews ---- */

typedef struct counting {
    size_t done[200], fail;
} counting;

static tn_status count_item(tn_ctx *own, void *arg, size_t item)
{
    counting *c = arg;
    ++c->done[item];
    return item == c->fail ? tnp_fail(own, TN_ERR_DATA, "item %zu", item) : TN_OK;
}

static void a_crew_does_everything_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; ++threads) {
        tnp_crew crew = {0, NULL};
        counting c = {.fail = SIZE_MAX};
        tn_ctx_set_threads(ctx, threads);
        assert_fine(ctx, tnp_crew_new(ctx, 0, &crew));
        assert_fine(ctx, tnp_crew_run(ctx, &crew, "items", 200, count_item, &c));
        for (size_t i = 0; i < 200; ++i)
            assert_int_equal(c.done[i], 1);
        c.fail = 150;
        assert_fails(ctx, TN_ERR_DATA, "item 150", tnp_crew_run(ctx, &crew, "items", 200, count_item, &c));
        tnp_crew_free(ctx, &crew);
    }
    tn_ctx_set_threads(ctx, 0);
}

typedef struct halting {
    tn_ctx *caller;
    bool late;
} halting;

static tn_status halt(tn_ctx *own, void *arg, size_t item)
{
    const halting *h = arg;
    (void)item;
    if (!h->late)
        tn_ctx_cancel(h->caller);
    while (tnp_cancelled(own) == TN_OK) /* for ever, if it did not know */
        ;
    return TN_ERR_INTERRUPTED;
}

/* Work of a crew ends as its caller's does: by an interrupt, and when the time is over. */
static void a_crew_knows_its_callers_end(void **state)
{
    (void)state;
    for (int late = 0; late < 2; ++late) {
        tnp_crew crew = {0, NULL};
        tn_ctx_set_threads(ctx, 2);
        tnp_set_deadline(ctx, late ? tnp_seconds() + 0.01 : 0);
        assert_fine(ctx, tnp_crew_new(ctx, 0, &crew));
        assert_fails(ctx, TN_ERR_INTERRUPTED, late ? "out of time" : "interrupted",
                     tnp_crew_run(ctx, &crew, NULL, 2, halt, &(halting){ctx, late}));
        tn_ctx_reset(ctx);
        tnp_set_deadline(ctx, 0);
        tnp_crew_free(ctx, &crew);
    }
    tn_ctx_set_threads(ctx, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(directions_obey_the_secant_equation),
                                       cmocka_unit_test(adam_takes_steps_of_its_rate),
                                       cmocka_unit_test(slopes_are_those_of_the_solved_objective),
                                       cmocka_unit_test(a_start_beyond_every_margin_is_no_fault),
                                       cmocka_unit_test(the_gradient_is_that_of_the_objective),
                                       cmocka_unit_test(descriptors_keep_eleven_bits),
                                       cmocka_unit_test(descriptors_can_be_kept_unprojected),
                                       cmocka_unit_test(a_crew_does_everything_once),
                                       cmocka_unit_test(a_crew_knows_its_callers_end)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
