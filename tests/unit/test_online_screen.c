/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The screen's promises, against products in double: no score is further from its estimate than the bound says, before
 * and after moves; the best wrong class is among the rivals; and bounds are so narrow that classes well below are not. */
#include "simd_tables.h"
#include "one_ctx.h"

#include "learn/online/online_screen.h"
#include "ref_random.h"

#include <float.h>

static int setup_with_tables(void **state)
{
    return find_tables(state) != 0 || setup(state) != 0;
}

typedef enum kind { PLAIN, PEAKS, SPARSE, TINY, LARGE, MIXED, KINDS } kind;

/* A value of a row: peaks are one large value among small ones, mixed rows are of very different lengths. */
static float value_of(kind what, size_t row, size_t j, ref_rng *rng)
{
    static const double lengths[] = {1, 1e-12, 1e9, 0, 1e-25, 300};
    double v = ref_normal(rng);
    switch (what) {
    case PEAKS:
        return (float)(j == row % 7 ? 1000 * v : v);
    case SPARSE:
        return ref_below(rng, 5) == 0 ? (float)fabs(v) : 0;
    case TINY:
        return (float)(1e-14 * v);
    case LARGE:
        return (float)(1e12 * v);
    case MIXED:
        return (float)(lengths[row % 6] * v);
    default:
        return (float)v;
    }
}

typedef struct scene {
    size_t n, d, k, width;
    bool bias;
    float *x, *mu;
    double *now; /* (k, d + 1): the weights in double, moves included */
    tnp_screen *screen;
} scene;

static scene scene_of(kind what, size_t n, size_t d, size_t k, bool bias, bool gram, const tnp_simd *kernels)
{
    scene s = {.n = n, .d = d, .k = k, .width = d + 3, .bias = bias};
    ref_rng rng = ref_rng_of(11 + (uint64_t)what);
    s.x = calloc(n * d, sizeof *s.x);
    s.mu = calloc(k * s.width, sizeof *s.mu);
    s.now = calloc(k * (d + 1), sizeof *s.now);
    assert_true(s.x && s.mu && s.now);
    for (size_t i = 0; i < n * d; ++i)
        s.x[i] = value_of(what, i / d, i % d, &rng);
    for (size_t c = 0; c < k; ++c)
        for (size_t j = 0; j < d + bias; ++j) {
            s.mu[c * s.width + j] = value_of(what, c + 1, j, &rng);
            s.now[c * (d + 1) + j] = (double)s.mu[c * s.width + j];
        }
    assert_fine(ctx, tnp_screen_new(ctx, k, d, n, bias, gram, &s.screen));
    s.screen->simd = kernels;
    tnp_screen_estimate(ctx, s.screen, s.mu, s.width, s.x, n);
    return s;
}

static void scene_free(scene *s)
{
    tnp_screen_free(s->screen);
    free(s->x);
    free(s->mu);
    free(s->now);
}

static double score_of(const scene *s, size_t c, size_t t)
{
    double sum = s->bias ? s->now[c * (s->d + 1) + s->d] : 0;
    for (size_t j = 0; j < s->d; ++j)
        sum += s->now[c * (s->d + 1) + j] * (double)s->x[t * s->d + j];
    return sum;
}

/* Of samples `from` and later. */
static void check_bounds(const scene *s, size_t from)
{
    for (size_t t = from; t < s->n; ++t)
        for (size_t c = 0; c < s->k; ++c) {
            double true_score = score_of(s, c, t), estimate = (double)s->screen->s[t * s->k + c];
            if (!(fabs(estimate - true_score) <= tnp_screen_bound(s->screen, c, t)))
                fail_msg("%s: sample %zu, class %zu: estimate %.9g within %.3g, but it is %.9g", s->screen->simd->name,
                         t, c, estimate, tnp_screen_bound(s->screen, c, t), true_score);
        }
}

/* mu_c += a x_t in the oracle. */
static void move_oracle(scene *s, size_t c, size_t t, double a)
{
    for (size_t j = 0; j < s->d; ++j)
        s->now[c * (s->d + 1) + j] += a * (double)s->x[t * s->d + j];
    s->now[c * (s->d + 1) + s->d] += s->bias ? a : 0;
}

static void every_estimate_is_within_its_bound(void **state)
{
    (void)state;
    static const size_t dims[] = {1, 2, 33, 1000};
    for (size_t table = 0; table < table_count; ++table)
        for (int what = PLAIN; what < KINDS; ++what)
            for (size_t i = 0; i < 4; ++i) {
                scene s = scene_of((kind)what, 40, dims[i], 37, i % 2, true, tables[table]);
                check_bounds(&s, 0);
                for (size_t t = 0; t < s.n; ++t) {
                    float step = (float)(t % 5) * 0.25f - 0.5f;
                    size_t c = t * 7 % 10;
                    tnp_screen_move(s.screen, t, s.n, c, step);
                    move_oracle(&s, c, t, (double)step);
                    check_bounds(&s, t + 1);
                }
                scene_free(&s);
            }
}

/* A move in any direction: here away from the later samples, as far as was told. */
static void drifts_widen_the_bound(void **state)
{
    (void)state;
    scene s = scene_of(PLAIN, 10, 50, 6, true, false, tables[table_count - 1]);
    for (size_t t = 0; t + 1 < s.n; ++t) {
        double length = sqrt((double)s.screen->length[t + 1]), by = 0.5;
        move_oracle(&s, t % 6, t + 1, -by / length);
        tnp_screen_drift(s.screen, t % 6, by);
        check_bounds(&s, t + 1);
    }
    scene_free(&s);
}

/* What moved is rounded anew by the next block: bounds are as narrow as they were at first. */
static void moved_classes_are_rounded_anew(void **state)
{
    (void)state;
    scene s = scene_of(PLAIN, 32, 64, 9, true, true, tables[table_count - 1]);
    float before[9];
    memcpy(before, s.screen->off, sizeof before);
    for (size_t t = 0; t < 8; ++t) {
        tnp_screen_move(s.screen, t, s.n, 4, 0.5f);
        move_oracle(&s, 4, t, 0.5);
    }
    for (size_t j = 0; j <= s.d; ++j) {
        s.mu[4 * s.width + j] = (float)s.now[4 * (s.d + 1) + j];
        s.now[4 * (s.d + 1) + j] = (double)s.mu[4 * s.width + j];
    }
    tnp_screen_estimate(ctx, s.screen, s.mu, s.width, s.x, s.n);
    check_bounds(&s, 0);
    for (size_t c = 0; c < 9; ++c)
        assert_true(c == 4 || s.screen->off[c] == before[c]);
    double length = 0;
    for (size_t j = 0; j <= s.d; ++j)
        length += s.now[4 * (s.d + 1) + j] * s.now[4 * (s.d + 1) + j];
    assert_true((double)s.screen->off[4] < 0.001 * sqrt(length));
    scene_free(&s);
}

/* The best wrong class is a rival; a class that is below it by more than all bounds together is none; y is not. */
static void rivals_are_few_and_the_best_is_one(void **state)
{
    (void)state;
    for (int what = PLAIN; what < KINDS; ++what) {
        scene s = scene_of((kind)what, 40, 600, 300, true, true, tables[table_count - 1]);
        size_t all = 0;
        for (size_t t = 0; t < s.n; ++t) {
            size_t y = t * 5 % s.k, best = y == 0 ? 1 : 0, at = 0;
            float above = 0;
            double widest = 0;
            for (size_t c = 0; c < s.k; ++c) {
                best = c != y && score_of(&s, c, t) > score_of(&s, best, t) ? c : best;
                widest = fmax(widest, tnp_screen_bound(s.screen, c, t));
            }
            size_t found = tnp_screen_rivals(s.screen, t, y, &above);
            all += found;
            double margin = score_of(&s, y, t) - score_of(&s, best, t);
            assert_true((double)above <= margin + 1e-6 * fabs(margin));
            for (size_t i = 0; i < found; ++i) {
                size_t c = s.screen->rivals[i];
                assert_true(c != y && (i == 0 || c > s.screen->rivals[i - 1]));
                assert_true(score_of(&s, c, t) >= score_of(&s, best, t) - 4.001 * widest);
                at += c == best;
            }
            assert_int_equal(at, 1);
        }
        if (what == PLAIN || what == SPARSE)
            assert_true(all < 2 * s.n);
        scene_free(&s);
    }
}

/* Equal scores are all rivals; so is a class whose weights are no numbers, for nothing is known of it. */
static void ties_and_strange_weights_are_rivals(void **state)
{
    (void)state;
    scene s = scene_of(PLAIN, 8, 40, 50, true, true, tables[table_count - 1]);
    float above = 0;
    for (size_t c = 1; c < s.k; ++c)
        memcpy(s.mu + c * s.width, s.mu, s.width * sizeof *s.mu);
    s.mu[20 * s.width + 3] = INFINITY;
    s.mu[30 * s.width + 3] = NAN;
    memset(s.screen->stale, 1, s.k);
    tnp_screen_estimate(ctx, s.screen, s.mu, s.width, s.x, s.n);
    assert_int_equal(tnp_screen_rivals(s.screen, 2, 7, &above), s.k - 1);
    assert_false(above > -1e-3f);
    for (size_t c = 0; c < s.k; ++c)
        for (size_t j = 0; j < s.d; ++j)
            s.mu[c * s.width + j] = c == 9 ? 1 : -1;
    for (size_t j = 0; j < s.d; ++j)
        s.x[j] = 1;
    s.mu[20 * s.width + 3] = INFINITY;
    memset(s.screen->stale, 1, s.k);
    tnp_screen_estimate(ctx, s.screen, s.mu, s.width, s.x, s.n);
    assert_int_equal(tnp_screen_rivals(s.screen, 0, 7, &above), 2);
    assert_true(s.screen->rivals[0] == 9 && s.screen->rivals[1] == 20);
    scene_free(&s);
}

/* An infinite weight times a row of zeros is no number: the class stays a rival, and y is above it by nothing that is
 * known. */
static void nothing_is_known_of_infinity_times_zero(void **state)
{
    (void)state;
    scene s = scene_of(PLAIN, 8, 40, 50, false, true, tables[table_count - 1]);
    float above = 7;
    bool found = false;
    for (size_t j = 0; j < s.d; ++j)
        s.x[3 * s.d + j] = 0;
    s.mu[20 * s.width + 3] = INFINITY;
    memset(s.screen->stale, 1, s.k);
    tnp_screen_estimate(ctx, s.screen, s.mu, s.width, s.x, s.n);
    size_t n = tnp_screen_rivals(s.screen, 3, 7, &above);
    for (size_t i = 0; i < n; ++i)
        found = found || s.screen->rivals[i] == 20;
    assert_true(found);
    assert_false(above > -FLT_MAX);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_estimate_is_within_its_bound),
        cmocka_unit_test(drifts_widen_the_bound),
        cmocka_unit_test(moved_classes_are_rounded_anew),
        cmocka_unit_test(rivals_are_few_and_the_best_is_one),
        cmocka_unit_test(ties_and_strange_weights_are_rivals),
        cmocka_unit_test(nothing_is_known_of_infinity_times_zero),
    };
    return cmocka_run_group_tests(tests, setup_with_tables, teardown);
}
