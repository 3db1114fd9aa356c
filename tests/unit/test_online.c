/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The blocked learner against the literal loop over samples: blocks of 1 to 256, thread counts, many classes, no
 * constant, weights of samples, a warm start, several passes, rows of zeros. */
#include "one_ctx.h"

#include "learn/online/online.h"
#include "ref_online.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>

typedef struct scene {
    size_t n, d, k;
    double *x, *weight, *start;
    float *xf, *weight_f;
    bool *positive, *skip;
    size_t *first;
    uint32_t *cls;
    unsigned char *skip_bytes;
} scene;

static void *room(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

/* Two columns a class, another pair for each as long as there are any. */
static bool leans_on(size_t c, size_t column, size_t d)
{
    return column == c % d || column == (5 * c + 7 + c / d) % d;
}

/* Samples lean on the columns of their classes, enough to be learned: CW takes variances to nothing where labels
 * contradict each other. Values are exact in float. Every third sample of a multi-label scene has two labels; some of
 * class 0 are zero. */
static scene scene_of(size_t n, size_t d, size_t k, bool multilabel, uint64_t seed)
{
    scene s = {n,
               d,
               k,
               room(n * d, sizeof(double)),
               room(n, sizeof(double)),
               room(k * (d + 1), sizeof(double)),
               room(n * d, sizeof(float)),
               room(n, sizeof(float)),
               room(n * k, sizeof(bool)),
               room(n * k, sizeof(bool)),
               room(n + 1, sizeof(size_t)),
               room(n * k, sizeof(uint32_t)),
               room(n * k, 1)};
    ref_rng rng = ref_rng_of(seed);
    size_t at = 0;
    for (size_t i = 0; i < n; ++i) {
        bool zero = i % k == 0 && i % 7 == 5;
        size_t y = i % k, z = multilabel && !zero && i % 3 == 0 ? (y + 2) % k : y;
        for (size_t j = 0; j < d; ++j) {
            bool own = leans_on(y, j, d) || leans_on(z, j, d);
            double lean = !own ? 0 : d == 1 && y == 1 ? -1.2 : 1.2;
            double value = zero ? 0 : floor((ref_unit(&rng) - 0.5 + lean) * 1024) / 1024;
            s.xf[i * d + j] = (float)value;
            s.x[i * d + j] = value;
        }
        s.weight_f[i] = (float)ref_below(&rng, 5) / 4; /* 0 to 1 by quarters */
        s.weight[i] = (double)s.weight_f[i];
        s.positive[i * k + y] = s.positive[i * k + z] = true;
        s.first[i] = at;
        for (size_t c = 0; c < k; ++c) {
            if (s.positive[i * k + c])
                s.cls[at++] = (uint32_t)c;
            s.skip[i * k + c] = !s.positive[i * k + c] && ref_unit(&rng) < 0.5;
            s.skip_bytes[i * k + c] = s.skip[i * k + c];
        }
    }
    s.first[n] = at;
    for (size_t i = 0; i < k * (d + 1); ++i)
        s.start[i] = floor((ref_unit(&rng) - 0.5) * 256) / 1024;
    return s;
}

static void scene_free(scene *s)
{
    void *all[] = {s->x,        s->weight, s->start, s->xf,  s->weight_f,
                   s->positive, s->skip,   s->first, s->cls, s->skip_bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
}

/* How a scene is learned. */
typedef struct way {
    tnp_online_rule rule;
    bool ovr, average, no_bias, skipping, weighted, warm;
    size_t passes;
} way;

static const double COST = 0.5, ETA = 0.8;

static tnp_online *learner_of(const scene *s, const way *how, size_t block)
{
    tnp_online *o = NULL;
    tnp_rule r = tnp_rule_new(how->rule, COST, ETA);
    tnp_online_shape shape = {how->ovr ? TNP_OVR : TNP_MUL, how->average, !how->no_bias, s->k, s->d, block};
    assert_fine(ctx, tnp_online_new(ctx, &r, &shape, &o));
    for (size_t c = 0; how->warm && c < s->k; ++c)
        for (size_t j = 0; j < s->d + !how->no_bias; ++j)
            o->mu[c * o->width + j] = (float)s->start[c * (s->d + 1) + j];
    return o;
}

static void show(tnp_online *o, const scene *s, const way *how, size_t start, size_t n)
{
    const tnp_samples in = {n,
                            s->xf + start * s->d,
                            s->first + start,
                            s->cls,
                            how->weighted ? s->weight_f + start : NULL,
                            how->skipping ? s->skip_bytes + start * s->k : NULL,
                            NULL};
    tnp_online_update(ctx, o, &in);
}

/* The weights without what pads their rows, which must have stayed 0. Owned by the test. */
static float *weights_of(const tnp_online *o)
{
    size_t wide = o->shape.dim + 1;
    float *w = room(o->shape.classes * wide, sizeof *w), *padded = room(o->shape.classes * o->width, sizeof *w);
    tnp_online_weights(o, padded);
    for (size_t c = 0; c < o->shape.classes; ++c) {
        memcpy(w + c * wide, padded + c * o->width, wide * sizeof *w);
        for (size_t j = wide - !o->shape.bias; j < o->width; ++j)
            assert_true(padded[c * o->width + j] == 0);
    }
    free(padded);
    return w;
}

/* Feeds the scene in blocks of `block`. */
static float *learn(const scene *s, const way *how, size_t block, size_t *updates)
{
    tnp_online *o = learner_of(s, how, block);
    for (size_t pass = 0; pass < how->passes; ++pass)
        for (size_t start = 0; start < s->n; start += block)
            show(o, s, how, start, start + block < s->n ? block : s->n - start);
    assert_int_equal(o->seen, s->n * how->passes);
    *updates = (size_t)o->updates;
    float *w = weights_of(o);
    tnp_online_free(o);
    return w;
}

static double *literal(const scene *s, const way *how, size_t *updates, size_t *close)
{
    double *w = room(s->k * (s->d + 1), sizeof *w), *start = room(s->k * (s->d + 1), sizeof *start);
    memcpy(start, s->start, s->k * (s->d + 1) * sizeof *start);
    for (size_t c = 0; how->no_bias && c < s->k; ++c)
        start[c * (s->d + 1) + s->d] = 0;
    const ref_online_job job = {
        .rule = (ref_rule)how->rule,
        .cost = COST,
        .phi = tnp_rule_new(how->rule, COST, ETA).phi,
        .ovr = how->ovr,
        .average = how->average,
        .bias = !how->no_bias,
        .n = s->n,
        .d = s->d,
        .k = s->k,
        .passes = how->passes,
        .x = s->x,
        .positive = s->positive,
        .skip = how->skipping ? s->skip : NULL,
        .weight = how->weighted ? s->weight : NULL,
        .start = how->warm ? start : NULL,
    };
    *updates = ref_online(&job, w, close);
    free(start);
    return w;
}

/* Float state against double: every update rounds at 6e-8, scores have d terms; 1e-5 of the largest weight is what the
 * users are promised. The same updates, but for decisions that hang on rounding: hardly ever one. */
static void compare(const scene *s, const way *how, const size_t *blocks, size_t count)
{
    size_t want = 0, close = 0, size = s->k * (s->d + 1);
    double *exact = literal(s, how, &want, &close), most = 0;
    for (size_t i = 0; i < size; ++i)
        most = fmax(most, fabs(exact[i]));
    assert_true(want > 0 && most > 0 && close <= want / 4);
    for (size_t b = 0; b < count; ++b) {
        size_t got = 0;
        float *w = learn(s, how, blocks[b], &got);
        if (got > want + close || got + close < want)
            print_error("rule %d, ovr %d, block %zu\n", (int)how->rule, how->ovr, blocks[b]);
        assert_in_range(got + close, want, want + 2 * close);
        for (size_t i = 0; i < size; ++i)
            assert_near_at(i, (double)w[i] / most, exact[i] / most, 1e-5);
        free(w);
    }
    free(exact);
}

static void blocked_equals_sequential(void **state)
{
    (void)state;
    static const size_t blocks[] = {1, 2, 7, 16, 32, 64, 100, 256};
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int mode = 0; mode < 8; ++mode) {
            const way how = {
                .rule = (tnp_online_rule)rule, .ovr = mode & 1, .average = mode & 2, .skipping = mode & 4, .passes = 1};
            if (how.skipping && !how.ovr)
                continue;
            scene s = scene_of(300, 12, 5, how.ovr, 7 + (uint64_t)mode);
            compare(&s, &how, blocks, sizeof blocks / sizeof *blocks);
            scene_free(&s);
        }
}

/* Dimensions around whole cache lines, each with another mix of what may be asked for. */
static void blocked_equals_sequential_in_other_ways(void **state)
{
    (void)state;
    static const size_t blocks[] = {1, 13, 64, 256}, dims[] = {1, 15, 16, 17, 31, 33};
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (size_t i = 0; i < sizeof dims / sizeof *dims; ++i)
            for (int ovr = 0; ovr < 2; ++ovr) {
                const way how = {.rule = (tnp_online_rule)rule,
                                 .ovr = ovr,
                                 .average = i % 2 == 0,
                                 .no_bias = i % 3 == 1,
                                 .weighted = i % 3 != 2,
                                 .warm = i >= 2,
                                 .passes = 1 + i % 3};
                scene s = scene_of(120, dims[i], dims[i] == 1 ? 2 : 4, false, 50 + i);
                compare(&s, &how, blocks, sizeof blocks / sizeof *blocks);
                scene_free(&s);
            }
}

/* 300 classes: 19 groups of them, the last one short; a block of 256 touches most classes. */
static void many_classes(void **state)
{
    (void)state;
    static const size_t blocks[] = {50, 128, 256};
    scene s = scene_of(620, 40, 300, false, 91);
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int ovr = 0; ovr < 2; ++ovr) {
            const way how = {.rule = (tnp_online_rule)rule, .ovr = ovr, .average = true, .passes = 1};
            compare(&s, &how, blocks, sizeof blocks / sizeof *blocks);
        }
    scene_free(&s);
}

/* The state after the scene, byte by byte; owned by the test. */
static float *state_of(const scene *s, const way *how, size_t block, size_t *size)
{
    tnp_online *o = learner_of(s, how, block);
    for (size_t start = 0; start < s->n; start += block)
        show(o, s, how, start, start + block < s->n ? block : s->n - start);
    size_t part = s->k * o->width;
    float *all = room(3 * part, sizeof *all);
    memcpy(all, o->mu, part * sizeof *all);
    memcpy(all + part, o->u, part * sizeof *all);
    if (o->sigma)
        memcpy(all + 2 * part, o->sigma, part * sizeof *all);
    tnp_online_free(o);
    *size = 3 * part * sizeof *all;
    return all;
}

/* With blocks of several sizes and any number of threads, against one thread that learns row by row. */
static void compare_bytes(const scene *s, const way *how, const size_t *blocks, size_t count)
{
    static const size_t threads[] = {1, 2, 7};
    size_t size = 0;
    tn_ctx_set_threads(ctx, 1);
    float *want = state_of(s, how, 1, &size);
    for (size_t t = 0; t < 3; ++t)
        for (size_t b = 0; b < count; ++b) {
            tn_ctx_set_threads(ctx, threads[t]);
            float *got = state_of(s, how, blocks[b], &size);
            if (memcmp(got, want, size) != 0)
                fail_msg("rule %d, ovr %d, %zu threads, block %zu: other bytes", (int)how->rule, how->ovr, threads[t],
                         blocks[b]);
            free(got);
        }
    tn_ctx_set_threads(ctx, 0);
    free(want);
}

/* Every decision is made by the score of one sample and one class: neither blocks nor threads leave a trace. The second
 * scene is large enough for rounding, products and averages to be shared among threads, the third for the scores of
 * rivals, which all tie at first. */
static void bytes_do_not_depend_on_blocks_and_threads(void **state)
{
    (void)state;
    static const size_t small[] = {1, 7, 32, 64, 100, 256}, large[] = {192}, one[] = {12};
    scene scenes[] = {scene_of(200, 70, 90, false, 37), scene_of(192, 700, 90, false, 38),
                      scene_of(12, 20000, 60, false, 39)};
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int ovr = 0; ovr < 2; ++ovr) {
            const way how = {.rule = (tnp_online_rule)rule, .ovr = ovr, .average = true};
            compare_bytes(&scenes[0], &how, small, sizeof small / sizeof *small);
            compare_bytes(&scenes[1], &how, large, 1);
            compare_bytes(&scenes[2], &how, one, 1);
        }
    for (size_t i = 0; i < 3; ++i)
        scene_free(&scenes[i]);
}

/* One-vs-rest with a few negatives a class makes no estimates; blocks that are seen whole come between. */
static void classes_that_see_few_samples(void **state)
{
    (void)state;
    static const size_t blocks[] = {1, 32, 64};
    scene s = scene_of(320, 40, 70, false, 41);
    for (size_t i = 0; i < s.n * s.k; ++i) {
        bool whole = i / s.k >= 128 && i / s.k < 192;
        s.skip[i] = !s.positive[i] && !whole && i % 31 != 0;
        s.skip_bytes[i] = s.skip[i];
    }
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule) {
        const way how = {
            .rule = (tnp_online_rule)rule, .ovr = true, .average = rule % 2, .skipping = true, .passes = 2};
        compare(&s, &how, blocks, sizeof blocks / sizeof *blocks);
    }
    scene_free(&s);
}

static void any_number_of_threads(void **state)
{
    (void)state;
    static const size_t threads[] = {1, 2, 3, 7}, blocks[] = {64};
    scene s = scene_of(256, 200, 70, false, 17);
    for (size_t t = 0; t < 4; ++t) {
        tn_ctx_set_threads(ctx, threads[t]);
        for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
            for (int ovr = 0; ovr < 2; ++ovr) {
                const way how = {.rule = (tnp_online_rule)rule, .ovr = ovr, .average = true, .passes = 1};
                compare(&s, &how, blocks, 1);
            }
    }
    tn_ctx_set_threads(ctx, 0);
    scene_free(&s);
}

/* Weights a thousand times as long meet every margin (CW: phi sqrt(v) is below 10): not a byte of the state changes. */
static void a_margin_that_is_met_changes_nothing(void **state)
{
    (void)state;
    scene s = scene_of(60, 12, 5, false, 23);
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int ovr = 0; ovr < 2; ++ovr) {
            const way how = {.rule = (tnp_online_rule)rule, .ovr = ovr, .average = true, .passes = 1};
            tnp_online *o = learner_of(&s, &how, 16);
            size_t size = s.k * o->width;
            float *before = room(3 * size, sizeof *before);
            for (size_t c = 0; c < s.k; ++c) /* one feature a class, and a constant that rejects */
                for (size_t j = 0; j <= s.d; ++j)
                    o->mu[c * o->width + j] = j == c ? 1000 : j == s.d && ovr ? -500 : 0;
            for (size_t i = 0; i < s.n * s.d; ++i)
                s.xf[i] = i % s.d == i / s.d % s.k ? 1 : 0;
            memcpy(before, o->mu, size * sizeof *before);
            if (o->sigma)
                memcpy(before + size, o->sigma, size * sizeof *before);
            for (size_t start = 0; start < s.n; start += 16)
                show(o, &s, &how, start, start + 16 < s.n ? 16 : s.n - start);
            assert_int_equal(o->updates, 0);
            assert_int_equal(o->mistakes, 0);
            assert_memory_equal(o->mu, before, size * sizeof *before);
            assert_memory_equal(o->u, before + 2 * size, size * sizeof *before);
            if (o->sigma)
                assert_memory_equal(o->sigma, before + size, size * sizeof *before);
            free(before);
            tnp_online_free(o);
        }
    scene_free(&s);
}

/* Without a constant a row of zeros has neither length nor variance; with weights of 0 nothing has: the state stays. */
static void nothing_to_learn_from(void **state)
{
    (void)state;
    scene s = scene_of(40, 9, 3, false, 29);
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int mode = 0; mode < 4; ++mode) {
            const way how = {
                .rule = (tnp_online_rule)rule, .ovr = mode & 1, .average = true, .no_bias = true, .weighted = mode & 2};
            tnp_online *o = learner_of(&s, &how, 8);
            if (how.weighted)
                memset(s.weight_f, 0, s.n * sizeof *s.weight_f);
            else
                memset(s.xf, 0, s.n * s.d * sizeof *s.xf);
            for (size_t start = 0; start < s.n; start += 8)
                show(o, &s, &how, start, 8);
            for (size_t i = 0; i < s.k * o->width; ++i)
                assert_true(o->mu[i] == 0 && o->u[i] == 0 && (!o->sigma || o->sigma[i] == 1));
            assert_true(!how.weighted || o->updates == 0);
            tnp_online_free(o);
        }
    scene_free(&s);
}

/* Scores that tie: the wrong class is the lowest other one. */
static void ties_go_to_the_lower_class(void **state)
{
    (void)state;
    const float x[] = {1, 1};
    const size_t first[] = {0, 1, 2};
    const uint32_t cls[] = {0, 2};
    for (int rule = TNP_PERCEPTRON; rule <= TNP_AROW; rule += TNP_AROW - TNP_PERCEPTRON) {
        tnp_online *o = NULL;
        tnp_rule r = tnp_rule_new((tnp_online_rule)rule, 1, 0.9);
        assert_fine(ctx, tnp_online_new(ctx, &r, &(tnp_online_shape){TNP_MUL, false, false, 4, 1, 2}, &o));
        const tnp_samples in = {1, x, first, cls, NULL, NULL, NULL};
        tnp_online_update(ctx, o, &in); /* 0 against 1, 2, 3 that tie */
        assert_true(o->mu[0] > 0 && o->mu[o->width] < 0 && o->mu[2 * o->width] == 0 && o->mu[3 * o->width] == 0);
        tnp_online_free(o);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene s = scene_of(32, 12, 5, false, 5);
    for (int rule = TNP_PERCEPTRON; rule <= TNP_SCW2; ++rule)
        for (int ovr = 0; ovr < 2; ++ovr)
            for (size_t k = 1;; ++k) {
                tnp_rule r = tnp_rule_new((tnp_online_rule)rule, 1, 0.9);
                tnp_online *const untouched = (tnp_online *)(void *)&r;
                tnp_online *o = untouched;
                size_t before = tnp_live_blocks(ctx);
                const tnp_samples in = {16, s.xf, s.first, s.cls, NULL, NULL, NULL};
                const tnp_online_shape shape = {ovr ? TNP_OVR : TNP_MUL, true, true, s.k, s.d, 16};
                tnp_fail_allocation(ctx, k);
                tn_status st = tnp_online_new(ctx, &r, &shape, &o);
                bool made = st == TN_OK;
                if (made)
                    tnp_online_update(ctx, o, &in);
                tnp_fail_allocation(ctx, 0);
                assert_true(made || o == untouched);
                tnp_online_free(made ? o : NULL);
                assert_int_equal(tnp_live_blocks(ctx), before);
                if (st == TN_OK)
                    break;
                assert_int_equal(st, TN_ERR_MEMORY);
            }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_equals_sequential),
        cmocka_unit_test(blocked_equals_sequential_in_other_ways),
        cmocka_unit_test(many_classes),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(bytes_do_not_depend_on_blocks_and_threads),
        cmocka_unit_test(classes_that_see_few_samples),
        cmocka_unit_test(a_margin_that_is_met_changes_nothing),
        cmocka_unit_test(nothing_to_learn_from),
        cmocka_unit_test(ties_go_to_the_lower_class),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
