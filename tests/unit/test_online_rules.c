/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules of the online learners: three steps of each in exact arithmetic (fixtures/make_online_steps.py), two more
 * by hand, and the limits that must not divide by zero. */
#include "one_ctx.h"

#include "learn/online/online.h"

#include <stdbool.h>

#include "fixtures/learners/online_steps.h"

#include <float.h>
#include <stdlib.h>

enum { CASES = sizeof online_steps_cases / sizeof *online_steps_cases };

/* Float state. A step rounds: the score of 4 terms 8 times, a and b once each, Sigma x and its product with a twice,
 * the sum once, Sigma 5 times; that is below 20, relative to numbers of the size of the largest weight, and the three
 * steps add up. Rules amplify what comes in: |da/dm| |x| |Sigma x| <= 2 for these samples of length 1.1 to 2. */
static void check_state(const online_steps *want, const char *what, size_t step, const float *got, size_t width,
                        const double *exact)
{
    size_t classes = want->mul ? 3 : 1, size = classes * STEPS_WIDE;
    double most = 0;
    for (size_t i = 0; i < size; ++i)
        most = fmax(most, fabs(exact[i]));
    for (size_t i = 0; i < size; ++i) {
        double mine = (double)got[i / STEPS_WIDE * width + i % STEPS_WIDE];
        if (fabs(mine - exact[i]) <= 2 * 20 * (double)(step + 1) * (double)(FLT_EPSILON / 2) * most)
            continue;
        print_error("%s: %s[%zu] after step %zu: got %.9g, want %.9g\n", want->name, what, i, step + 1, mine, exact[i]);
        fail();
    }
}

static tnp_online *learner_of(const online_steps *c, size_t block)
{
    tnp_online *o = NULL;
    tnp_rule rule = tnp_rule_new(c->rule, c->cost, steps_eta);
    tnp_online_shape shape = {c->mul ? TNP_MUL : TNP_OVR, true, true, c->mul ? 3 : 1, STEPS_DIM, block};
    assert_fine(ctx, tnp_online_new(ctx, &rule, &shape, &o));
    return o;
}

/* Lists of positive classes: a negative of the only class has none. */
static void label_steps(const online_steps *c, size_t first[STEPS + 1], uint32_t cls[STEPS])
{
    first[0] = 0;
    for (size_t t = 0; t < STEPS; ++t) {
        bool any = c->mul || steps_binary[t] != 0;
        cls[first[t]] = c->mul ? steps_classes[t] : 0;
        first[t + 1] = first[t] + any;
    }
}

static void three_steps_one_by_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; ++i) {
        const online_steps *c = &online_steps_cases[i];
        tnp_online *o = learner_of(c, 1);
        size_t first[STEPS + 1], size = (c->mul ? 3 : 1) * STEPS_WIDE, updates = 0;
        uint32_t cls[STEPS];
        float *mean = calloc(o->shape.classes * o->width, sizeof *mean);
        label_steps(c, first, cls);
        for (size_t t = 0; t < STEPS; ++t) {
            const tnp_samples in = {1, steps_x + t * STEPS_DIM, first + t, cls, NULL, NULL, NULL};
            tnp_online_update(ctx, o, &in);
            updates += c->moved[t];
            assert_int_equal(o->updates, updates);
            check_state(c, "mu", t, o->mu, o->width, c->mu + t * size);
            assert_true((o->sigma != NULL) == (c->sigma != NULL));
            if (c->sigma)
                check_state(c, "sigma", t, o->sigma, o->width, c->sigma + t * size);
        }
        tnp_online_weights(o, mean);
        check_state(c, "mean", STEPS - 1, mean, o->width, c->mean);
        free(mean);
        tnp_online_free(o);
    }
}

static void three_steps_in_one_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; ++i) {
        const online_steps *c = &online_steps_cases[i];
        tnp_online *o = learner_of(c, STEPS);
        size_t first[STEPS + 1], size = (c->mul ? 3 : 1) * STEPS_WIDE;
        uint32_t cls[STEPS];
        label_steps(c, first, cls);
        const tnp_samples in = {STEPS, steps_x, first, cls, NULL, NULL, NULL};
        tnp_online_update(ctx, o, &in);
        assert_int_equal(o->updates, c->moved[0] + c->moved[1] + c->moved[2]);
        assert_int_equal(o->seen, STEPS);
        check_state(c, "mu", STEPS - 1, o->mu, o->width, c->mu + (STEPS - 1) * size);
        if (c->sigma)
            check_state(c, "sigma", STEPS - 1, o->sigma, o->width, c->sigma + (STEPS - 1) * size);
        tnp_online_free(o);
    }
}

/* x = (3, 4), constant 1: |x|^2 = 26. Two classes, PA-I, C = 1: the first sample of class 0 has m = 0 and moves by
 * (1 - 0) / 52; then m = 2 * 26 / 52 = 1: met, nothing moves. The same sample as class 1: m = -1, a = 2 / 52. */
static void passive_aggressive_by_hand(void **state)
{
    (void)state;
    const float x[] = {3, 4, 3, 4, 3, 4};
    const size_t first[] = {0, 1, 2, 3};
    const uint32_t cls[] = {0, 0, 1};
    const double want[] = {-3.0 / 52, -4.0 / 52, -1.0 / 52, 3.0 / 52, 4.0 / 52, 1.0 / 52};
    tnp_rule rule = tnp_rule_new(TNP_PA, 1, 0.9);
    tnp_online *o = NULL;
    assert_fine(ctx, tnp_online_new(ctx, &rule, &(tnp_online_shape){TNP_MUL, false, true, 2, 2, 3}, &o));
    const tnp_samples in = {3, x, first, cls, NULL, NULL, NULL};
    tnp_online_update(ctx, o, &in);
    assert_int_equal(o->updates, 2);
    for (size_t i = 0; i < 6; ++i)
        assert_near_at(i, (double)o->mu[i / 3 * o->width + i % 3], want[i], 1e-7);
    tnp_online_free(o);
}

/* AROW, C = 1, one-vs-rest, x = 2 with the constant: v = 5, m = 0: a = 1/6; mu = (2/6, 1/6), Sigma = (1/5, 1/2). Again:
 * m = 5/6, v = 4/5 + 1/2 = 1.3, a = (1/6) / 2.3; mu += a (2/5, 1/2). */
static void arow_by_hand(void **state)
{
    (void)state;
    const float x[] = {2, 2};
    const size_t first[] = {0, 1, 2};
    const uint32_t cls[] = {0, 0};
    const double a = 1.0 / 6 / 2.3;
    tnp_rule rule = tnp_rule_new(TNP_AROW, 1, 0.9);
    tnp_online *o = NULL;
    assert_fine(ctx, tnp_online_new(ctx, &rule, &(tnp_online_shape){TNP_OVR, false, true, 1, 1, 2}, &o));
    const tnp_samples in = {2, x, first, cls, NULL, NULL, NULL};
    tnp_online_update(ctx, o, &in);
    assert_near((double)o->mu[0], 2.0 / 6 + a * 0.4, 1e-6);
    assert_near((double)o->mu[1], 1.0 / 6 + a * 0.5, 1e-6);
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
    assert_true(tnp_rule_new(TNP_CW, 1, 0.5).phi == 0);
}

/* Exactly at E: m < E does not hold. The Perceptron moves at 0. */
static void at_the_margin_nothing_moves(void **state)
{
    (void)state;
    double a, b;
    for (int kind = TNP_SGD; kind <= TNP_SCW2; ++kind) {
        tnp_rule r = tnp_rule_new((tnp_online_rule)kind, 1, 0.9);
        bool wide = tnp_rule_margin_needs_variance((tnp_online_rule)kind);
        double asked = wide ? r.phi * sqrt(4.0) : 1;
        assert_false(tnp_rule_step(&r, 1, asked, 4, 4, &a, &b));
        assert_true(tnp_rule_step(&r, 1, asked - 1e-3, 4, 4, &a, &b));
    }
    tnp_rule perceptron = tnp_rule_new(TNP_PERCEPTRON, 1, 0.9);
    assert_true(tnp_rule_step(&perceptron, 1, 0, 0, 1, &a, &b));
    assert_false(tnp_rule_step(&perceptron, 1, 1e-300, 0, 1, &a, &b));
}

/* eta = 0.5: phi = 0 asks for m < 0 only, moves by -m / v and leaves the variances alone. */
static void half_confidence_keeps_variances(void **state)
{
    (void)state;
    double a, b;
    tnp_rule cw = tnp_rule_new(TNP_CW, 1, 0.5), scw = tnp_rule_new(TNP_SCW, 0.125, 0.5);
    assert_true(tnp_rule_step(&cw, 1, -0.5, 2, 2, &a, &b));
    assert_true(a == 0.25 && b == 0);
    assert_false(tnp_rule_step(&cw, 1, 0, 2, 2, &a, &b));
    assert_true(tnp_rule_step(&scw, 1, -0.5, 2, 2, &a, &b));
    assert_true(a == 0.125 && b == 0);
}

/* Two forms of b: about ten roundings of ours in double; the literal one cancels, but has 11 bits more to lose. */
static void growth_of_confidence(void **state)
{
    (void)state;
    tnp_rule r = tnp_rule_new(TNP_CW, 1, 0.9);
    for (double v = 1e-3; v < 1e3; v *= 10) {
        double a, b;
        assert_true(tnp_rule_step(&r, 1, -1, v, 1, &a, &b));
        long double q = (long double)a * a * r.phi * r.phi;
        long double want = 2 / (-v + sqrtl((long double)v * v + 4 * v / q));
        assert_true(fabsl(b - want) <= oracle_tolerance(1e-14) * want);
    }
}

/* The distribution function is good to eps, so its inverse to a few eps / density. */
static void confidence_is_a_normal_quantile(void **state)
{
    (void)state;
    assert_near(tnp_rule_new(TNP_CW, 1, steps_eta).phi, steps_phi, 1e-14);
    assert_near(tnp_rule_new(TNP_CW, 1, 0.975).phi, 1.959963984540054, 1e-14);
    assert_near(tnp_rule_new(TNP_CW, 1, 0.999).phi, 3.090232306167813, 1e-12);
    assert_near(tnp_rule_new(TNP_CW, 1, 0.999999).phi, 4.753424308817087, 1e-10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_steps_one_by_one),
        cmocka_unit_test(three_steps_in_one_block),
        cmocka_unit_test(passive_aggressive_by_hand),
        cmocka_unit_test(arow_by_hand),
        cmocka_unit_test(limits_of_the_rules),
        cmocka_unit_test(at_the_margin_nothing_moves),
        cmocka_unit_test(half_confidence_keeps_variances),
        cmocka_unit_test(growth_of_confidence),
        cmocka_unit_test(confidence_is_a_normal_quantile),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
