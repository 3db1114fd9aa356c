/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners: steps computed by hand, the blocked learner against the literal loop, limits that must not divide by zero. */
#include "near.h"

#include "learn/online.h"
#include "ref_online.h"

#include <stdlib.h>
#include <string.h>

enum { N = 300, D = 12, K = 5 };

static tn_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    return tn_ctx_new(&ctx) != TN_OK;
}

static int teardown(void **state)
{
    (void)state;
    tn_ctx_free(ctx);
    return 0;
}

/* A small generator of the test's own: 31-bit linear congruences. */
static double unit(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return (double)(*seed >> 8) / 16777216.0;
}

typedef struct scene {
    double x[N * D], w[K * (D + 1)];
    float xf[N * D];
    bool positive[N * K], skip[N * K];
    size_t first[N + 1];
    uint32_t cls[N * K];
    unsigned char skip_bytes[N * K];
} scene;

/* Samples lean on the columns of their classes, enough to be learned: CW takes variances to nothing where labels contradict
 * each other. Values are exact in float. Every third sample of a multi-label scene has two labels. */
static scene *scene_of(unsigned seed, bool multilabel)
{
    scene *s = calloc(1, sizeof *s);
    size_t at = 0;
    for (size_t i = 0; i < N; ++i) {
        size_t y = i % K, z = multilabel && i % 3 == 0 ? (y + 2) % K : y;
        for (size_t j = 0; j < D; ++j) {
            s->xf[i * D + j] = (float)(floor((unit(&seed) - 0.5 + (j % K == y || j % K == z ? 1.2 : 0)) * 1024) / 1024);
            s->x[i * D + j] = (double)s->xf[i * D + j];
        }
        s->positive[i * K + y] = s->positive[i * K + z] = true;
        s->first[i] = at;
        for (size_t c = 0; c < K; ++c) {
            if (s->positive[i * K + c])
                s->cls[at++] = (uint32_t)c;
            s->skip[i * K + c] = !s->positive[i * K + c] && unit(&seed) < 0.5;
            s->skip_bytes[i * K + c] = s->skip[i * K + c];
        }
    }
    s->first[N] = at;
    return s;
}

/* The weights without what pads their rows. */
static void weights_of(const tnp_online *o, float *w)
{
    size_t wide = o->shape.dim + 1;
    float *padded = calloc(o->shape.classes * o->width, sizeof *padded);
    tnp_online_weights(o, padded);
    for (size_t c = 0; c < o->shape.classes; ++c)
        memcpy(w + c * wide, padded + c * o->width, wide * sizeof *w);
    free(padded);
}

/* Feeds the scene in blocks of `block`; weights into w. */
static size_t learn(const scene *s, tnp_online_rule rule, double c, double eta, tnp_online_scheme scheme, bool average,
                    bool skipping, size_t block, float *w)
{
    tnp_online *o = NULL;
    tnp_rule r = tnp_rule_new(rule, c, eta);
    tnp_online_shape shape = {scheme, average, true, K, D, block};
    assert_fine(ctx, tnp_online_new(ctx, &r, &shape, &o));
    for (size_t start = 0; start < N; start += block) {
        size_t n = start + block < N ? block : N - start, first[N + 1];
        for (size_t i = 0; i <= n; ++i)
            first[i] = s->first[start + i];
        tnp_samples in = {n, s->xf + start * D, first, s->cls, NULL, skipping ? s->skip_bytes + start * K : NULL};
        assert_fine(ctx, tnp_online_update(ctx, o, &in));
    }
    size_t updates = (size_t)o->updates;
    weights_of(o, w);
    tnp_online_free(o);
    return updates;
}

/* Float state against double: N updates each round at 6e-8, and scores of D terms; 1e-5 of the largest weight is what the
 * users are promised. */
static void blocked_equals_sequential(void **state)
{
    (void)state;
    static const size_t blocks[] = {1, 7, 32, 256};
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int mode = 0; mode < 8; ++mode) {
            bool ovr = mode & 1, average = mode & 2, skipping = mode & 4;
            if (skipping && !ovr)
                continue;
            scene *s = scene_of(7u + (unsigned)mode, ovr);
            double phi = tnp_rule_new((tnp_online_rule)rule, 0.5, 0.8).phi;
            size_t want = ref_online((ref_rule)rule, 0.5, phi, ovr, average, s->x, s->positive,
                                     skipping ? s->skip : NULL, N, D, K, s->w);
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; ++b) {
                float w[K * (D + 1)];
                double most = 0;
                size_t got =
                    learn(s, (tnp_online_rule)rule, 0.5, 0.8, ovr ? TNP_OVR : TNP_MUL, average, skipping, blocks[b], w);
                for (size_t i = 0; i < K * (D + 1); ++i)
                    most = fmax(most, fabs(s->w[i]));
                assert_int_equal(got, want);
                for (size_t i = 0; i < K * (D + 1); ++i)
                    assert_near_at(i, (double)w[i] / most, s->w[i] / most, 1e-5);
            }
            free(s);
        }
}

/* x = (3, 4), constant 1: |x|^2 = 26. Multi-class with two classes, PA-I, C = 1: the first sample of class 0 has m = 0 and moves by
 * (1 - 0) / 52; then m = 2 * 26 / 52 = 1: met, nothing moves. The same sample as class 1: m = -1, a = 2 / 52. */
static void passive_aggressive_by_hand(void **state)
{
    (void)state;
    const float x[] = {3, 4, 3, 4, 3, 4};
    const size_t first[] = {0, 1, 2, 3};
    const uint32_t cls[] = {0, 0, 1};
    tnp_rule rule = tnp_rule_new(TNP_PA, 1, 0.9);
    tnp_online *o = NULL;
    float w[6];
    assert_fine(ctx, tnp_online_new(ctx, &rule, &(tnp_online_shape){TNP_MUL, false, true, 2, 2, 3}, &o));
    tnp_samples in = {3, x, first, cls, NULL, NULL};
    assert_fine(ctx, tnp_online_update(ctx, o, &in));
    weights_of(o, w);
    assert_int_equal(o->updates, 2);
    const double want[] = {-3.0 / 52, -4.0 / 52, -1.0 / 52, 3.0 / 52, 4.0 / 52, 1.0 / 52};
    for (size_t i = 0; i < 6; ++i)
        assert_near_at(i, (double)w[i], want[i], 1e-7);
    tnp_online_free(o);
}

/* AROW, C = 1, one-vs-rest, x = 2 with the constant: v = 5, m = 0: a = 1/6; mu = (2/6, 1/6), Sigma = (1/5, 1/2). Again: m = 5/6, v =
 * 4/5 + 1/2 = 1.3, a = (1/6) / 2.3; mu += a (2/5, 1/2). */
static void arow_by_hand(void **state)
{
    (void)state;
    const float x[] = {2, 2};
    const size_t first[] = {0, 1, 2};
    const uint32_t cls[] = {0, 0};
    tnp_rule rule = tnp_rule_new(TNP_AROW, 1, 0.9);
    tnp_online *o = NULL;
    float w[2];
    assert_fine(ctx, tnp_online_new(ctx, &rule, &(tnp_online_shape){TNP_OVR, false, true, 1, 1, 2}, &o));
    tnp_samples in = {2, x, first, cls, NULL, NULL};
    assert_fine(ctx, tnp_online_update(ctx, o, &in));
    weights_of(o, w);
    double a = 1.0 / 6 / 2.3;
    assert_near((double)w[0], 2.0 / 6 + a * 0.4, 1e-6);
    assert_near((double)w[1], 1.0 / 6 + a * 0.5, 1e-6);
    tnp_online_free(o);
}

static void limits_of_the_rules(void **state)
{
    (void)state;
    for (int kind = TNP_PERCEPTRON; kind <= TNP_SCW2; ++kind) {
        static const double etas[] = {0.5, 0.9};
        for (size_t e = 0; e < 2; ++e) {
            tnp_rule r = tnp_rule_new((tnp_online_rule)kind, 1, etas[e]);
            double a = NAN, b = NAN;
            assert_false(tnp_rule_step(&r, 1, 1e9, 1, 1, &a, &b)); /* a margin that is met changes nothing */
            bool moved = tnp_rule_step(&r, 1, -0.5, 0, 0, &a, &b); /* no length, no variance */
            assert_true(!moved || (isfinite(a) && isfinite(b) && a > 0));
            moved = tnp_rule_step(&r, 1, -0.5, 2, 3, &a, &b);
            assert_true(moved && isfinite(a) && isfinite(b) && b >= 0);
            assert_false(tnp_rule_step(&r, 0, -0.5, 2, 3, &a, &b)); /* a weight of 0 */
        }
    }
    assert_near(tnp_rule_new(TNP_CW, 1, 0.975).phi, 1.959963984540054, 1e-12);
    assert_true(tnp_rule_new(TNP_CW, 1, 0.5).phi == 0);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    scene *s = scene_of(3, true);
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule) {
        float one[K * (D + 1)], many[K * (D + 1)];
        tn_ctx_set_threads(ctx, 1);
        learn(s, (tnp_online_rule)rule, 1, 0.9, TNP_OVR, true, false, 64, one);
        tn_ctx_set_threads(ctx, 3);
        learn(s, (tnp_online_rule)rule, 1, 0.9, TNP_OVR, true, false, 64, many);
        for (size_t i = 0; i < K * (D + 1); ++i) /* products of another thread count round otherwise */
            assert_near_at(i, (double)many[i], (double)one[i], 1e-5);
    }
    tn_ctx_set_threads(ctx, 0);
    free(s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene *s = scene_of(5, false);
    for (int rule = TNP_PA; rule <= TNP_AROW; rule += TNP_AROW - TNP_PA)
        for (size_t k = 1;; ++k) {
            tnp_rule r = tnp_rule_new((tnp_online_rule)rule, 1, 0.9);
            tnp_online *o = NULL;
            size_t before = tnp_live_blocks(ctx);
            tnp_samples in = {16, s->xf, s->first, s->cls, NULL, NULL};
            tnp_fail_allocation(ctx, k);
            tn_status st = tnp_online_new(ctx, &r, &(tnp_online_shape){TNP_MUL, true, true, K, D, 16}, &o);
            if (st == TN_OK)
                st = tnp_online_update(ctx, o, &in);
            tnp_fail_allocation(ctx, 0);
            tnp_online_free(o);
            assert_int_equal(tnp_live_blocks(ctx), before);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
        }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passive_aggressive_by_hand), cmocka_unit_test(arow_by_hand),
        cmocka_unit_test(limits_of_the_rules),        cmocka_unit_test(blocked_equals_sequential),
        cmocka_unit_test(threads_change_nothing),     cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
