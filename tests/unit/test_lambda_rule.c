/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One lambda by generalised cross-validation against the hat matrix written out, the scalar minimiser on known
 * functions, and the words that name a rule. */
#include "ref_evidence.h"
#include "select/evidence.h"
#include "spectrum_of.h"
#include "options_of.h"

#include <stdlib.h>

/* Least GCV by the oracle: a grid of half decades, then thirds around the best; infinity is asked apart. */
static ref_real least_gcv(const ref_problem *p, bool intercept, ref_real largest, ref_real *lambda)
{
    ref_real best = INFINITY, at = 0, step = logl(10) / 2, low = logl(1e-11L * largest);
    for (int g = 0; g <= 34; ++g) {
        ref_real v = ref_gcv(p, intercept, expl(low + step * g));
        if (v < best) {
            best = v;
            at = low + step * g;
        }
    }
    ref_real a = at - step, b = at + step;
    for (int i = 0; i < 32; ++i) {
        ref_real l = a + (b - a) / 3, r = b - (b - a) / 3;
        if (ref_gcv(p, intercept, expl(l)) > ref_gcv(p, intercept, expl(r)))
            a = l;
        else
            b = r;
    }
    *lambda = expl((a + b) / 2);
    return fminl(best, ref_gcv(p, intercept, *lambda));
}

/* GCV at the library's lambda is the oracle's least to 1e-9: near a minimum the value is flat, and 24 golden sections
 * of two steps of the scan place log lambda to 1e-5 or better, whose square is 1e-10. */
static void test_gcv(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{30, 8}, {24, 20}, {40, 1}, {20, 12}, {36, 30}};
    tn_ctx *ctx = ctx_of(1);
    size_t inner = 0;
    for (size_t i = 0; i < 5; ++i)
        for (int kind = REF_SIGNED; kind <= REF_NOISE; ++kind)
            for (int form = 0; form < 4; ++form) {
                bool dual = form & 1, intercept = form & 2, constant[3] = {false};
                ref_problem p = ref_problem_of((ref_kind)kind, shapes[i][0], shapes[i][1], 3, i);
                tnp_spectrum *s = spectrum_of(ctx, &p, dual, intercept);
                double lambda = 0;
                ref_real at = 0, best = least_gcv(&p, intercept, s->largest, &at);
                ref_real null = ref_gcv(&p, intercept, 1e30L * s->largest);
                assert_fine(ctx, tnp_gcv_lambda(ctx, s, p.n, intercept, constant, &lambda));
                ref_real got = isinf(lambda) ? null : ref_gcv(&p, intercept, lambda);
                if (!(got <= fminl(best, null) * (1 + 1e-9L))) {
                    print_error("%zu x %zu, %s, form %d: GCV %.12Lg at %.6g, least %.12Lg at %.6Lg, null %.12Lg\n", p.n,
                                p.d, ref_kind_name((ref_kind)kind), form, got, lambda, best, at, null);
                    fail();
                }
                inner += isfinite(lambda) && fabs(lambda / (double)at - 1) < 1e-3;
                tnp_spectrum_free(s);
                ref_problem_free(&p);
            }
    assert_true(inner >= 20); /* not all at the ends */
    ctx_done(ctx);
}

/* A constant class is left out: the same lambda as without it. */
static void test_gcv_constant(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_problem p = ref_problem_of(REF_SIGNED, 30, 6, 2, 4), q = ref_problem_of(REF_SIGNED, 30, 6, 3, 4);
    memcpy(q.x, p.x, 30 * 6 * sizeof *q.x);
    for (size_t i = 0; i < 30; ++i) {
        q.y[i * 3] = p.y[i * 2];
        q.y[i * 3 + 1] = 1;
        q.y[i * 3 + 2] = p.y[i * 2 + 1];
    }
    tnp_spectrum *a = spectrum_of(ctx, &p, false, false), *b = spectrum_of(ctx, &q, false, false);
    double without = 0, with = 0;
    assert_fine(ctx, tnp_gcv_lambda(ctx, a, 30, false, (bool[]){false, false}, &without));
    assert_fine(ctx, tnp_gcv_lambda(ctx, b, 30, false, (bool[]){false, true, false}, &with));
    assert_true(isfinite(with));
    assert_near(with / without, 1,
                1e-6); /* sums of residuals differ in rounding only; log lambda is placed to 1e-5 of that */
    tnp_spectrum_free(a);
    tnp_spectrum_free(b);
    ref_problem_free(&p);
    ref_problem_free(&q);
    ctx_done(ctx);
}

/* No features at all: infinite. */
static void test_gcv_rank_zero(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_problem p = ref_problem_of(REF_SIGNED, 10, 2, 2, 4);
    memset(p.x, 0, 20 * sizeof *p.x);
    tnp_spectrum *s = spectrum_of(ctx, &p, false, true);
    double lambda = 0;
    assert_fine(ctx, tnp_gcv_lambda(ctx, s, 10, true, (bool[]){false, false}, &lambda));
    assert_true(isinf(lambda));
    tnp_spectrum_free(s);
    ref_problem_free(&p);
    ctx_done(ctx);
}

typedef struct hill {
    double at;
    size_t calls, fail_at;
} hill;

static tn_status parabola(tn_ctx *ctx, void *arg, double lambda, double *value)
{
    hill *h = arg;
    if (++h->calls == h->fail_at)
        return tnp_fail(ctx, TN_ERR_DATA, "told to");
    double x = log(lambda) - h->at;
    *value = x * x + 3;
    return TN_OK;
}

/* A parabola in log lambda: found wherever it lies in the range, and at the ends when it lies beyond. */
static void test_minimise(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    tnp_spectrum s = {.largest = 10, .floor = 1e-11};
    double low = log(1e-11), high = log(1e7), lambda = 0, value = 0;
    for (double at = low - 5; at < high + 5; at += 0.37) {
        hill h = {at, 0, 0};
        assert_fine(ctx, tnp_minimise_lambda(ctx, &s, parabola, &h, &lambda, &value));
        double want = fmin(fmax(at, low), high), error = log(lambda) - want;
        /* two steps of the scan (1.73 each) shrunk by 0.618^24; a parabola is flat to sqrt(3 eps) = 2.6e-8 */
        assert_true(fabs(error) <= 3.46 * pow(0.6180339887498949, 24) + 1e-7);
        assert_true(value >= 3 && value <= 3 + (want - at) * (want - at) * (1 + 1e-6) + 1e-8);
    }
    for (size_t k = 1; k < 60; k += 7) {
        hill h = {0, 0, k};
        double kept = -1;
        tn_status st = tnp_minimise_lambda(ctx, &s, parabola, &h, &kept, &value);
        assert_int_equal(st, h.calls >= k ? TN_ERR_DATA : TN_OK);
        assert_true(st == TN_OK || kept == -1);
    }
    ctx_done(ctx);
}

static void test_parse(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    static const struct {
        const char *text;
        tnp_lambda_rule rule;
        double value;
    } good[] = {
        {"auto", TNP_LAMBDA_AUTO, 0},     {"shared", TNP_LAMBDA_SHARED, 0}, {"per-class", TNP_LAMBDA_PER_CLASS, 0},
        {"gcv", TNP_LAMBDA_GCV, 0},       {"loo", TNP_LAMBDA_LOO, 0},       {"0.25", TNP_LAMBDA_FIXED, 0.25},
        {"1e-9", TNP_LAMBDA_FIXED, 1e-9}, {"3", TNP_LAMBDA_FIXED, 3},       {"+2.5", TNP_LAMBDA_FIXED, 2.5}};
    static const char *const bad[] = {"0",   "-1",   "nan", "inf",   "Shared", "shared ",  "per_class", "1e",
                                      "1,5", "0.5x", "1 2", "1e999", "-inf",   "auto,loo", "gc"};
    const tn_field *field = field_called(tnp_fit_fields, "lambda");
    tnp_fit_options opt;
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        assert_fine(ctx, tn_field_set(ctx, field, &opt, good[i].text));
        assert_int_equal(opt.lambda.word, good[i].rule);
        assert_true(opt.lambda.value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        opt.lambda = (tnp_real_or_word){TNP_LAMBDA_LOO, 42};
        assert_fails(ctx, TN_ERR_ARG, bad[i], tn_field_set(ctx, field, &opt, bad[i]));
        assert_fails(ctx, TN_ERR_ARG, "per-class", tn_field_set(ctx, field, &opt, bad[i]));
        assert_true(opt.lambda.word == TNP_LAMBDA_LOO && opt.lambda.value == 42);
    }
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gcv),      cmocka_unit_test(test_gcv_constant), cmocka_unit_test(test_gcv_rank_zero),
        cmocka_unit_test(test_minimise), cmocka_unit_test(test_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
