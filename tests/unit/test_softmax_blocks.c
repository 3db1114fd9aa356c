/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The blocks of classes against matrices made entry by entry from their formula and solved in long double, for more
 * rows than columns and fewer. */
#include "learn/softmax/softmax_blocks.h"
#include "one_ctx.h"
#include "ref_dense.h"
#include "ref_random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3 }; /* no more than the pairs that are taken per row: all are */

typedef struct scene {
    size_t n, d;
    float *x, *s, *in;
    size_t *first;
    uint32_t *cls;
    tnp_targets y;
} scene;

static scene scene_of(size_t n, size_t d)
{
    ref_rng rng = ref_rng_of(7);
    scene c = {.n = n,
               .d = d,
               .x = ref_alloc(n * d, sizeof(float)),
               .s = ref_alloc(n * CLASSES, sizeof(float)),
               .in = ref_alloc(CLASSES * (d + 1), sizeof(float)),
               .first = ref_alloc(n + 1, sizeof(size_t)),
               .cls = ref_alloc(n, sizeof(uint32_t))};
    for (size_t i = 0; i < n * d; ++i)
        c.x[i] = (float)(2 + ref_normal(&rng));
    for (size_t i = 0; i < n * CLASSES; ++i)
        c.s[i] = (float)ref_normal(&rng);
    for (size_t i = 0; i < CLASSES * (d + 1); ++i)
        c.in[i] = (float)ref_normal(&rng);
    for (size_t i = 0; i < n; ++i) {
        c.first[i + 1] = i + 1;
        c.cls[i] = (uint32_t)(i % CLASSES);
    }
    c.y = (tnp_targets){.rows = n, .classes = CLASSES, .first = c.first, .cls = c.cls};
    return c;
}

static void scene_free(scene *c)
{
    free(c->x);
    free(c->s);
    free(c->in);
    free(c->first);
    free(c->cls);
}

/* Of entry j of the input over the classes. */
static ref_real mean_of(const scene *c, size_t j)
{
    size_t w = c->d + 1;
    return ((ref_real)c->in[j] + (ref_real)c->in[w + j] + (ref_real)c->in[2 * w + j]) / CLASSES;
}

/* out (d + 1) = M_k^-1 (in - its mean over the classes), M_k = (1 + r spread) diag(1, .., 1, 0) + r m m' + sum h z z',
 * z = (x, 1), m its mean, r a thousandth of sum h: no pair is left out. */
static void solve_block(const scene *c, double cost, size_t k, ref_real *out)
{
    size_t w = c->d + 1;
    ref_real rest = 0, spread = 0;
    ref_real *a = ref_alloc(w * w, sizeof *a), *mean = ref_alloc(w, sizeof *mean), *z = ref_alloc(w, sizeof *z);
    for (size_t i = 0; i < c->n; ++i)
        for (size_t j = 0; j < c->d; ++j)
            mean[j] += (ref_real)c->x[i * c->d + j] / (ref_real)c->n;
    mean[c->d] = 1;
    for (size_t i = 0; i < c->n; ++i) {
        ref_real sum = 0, h;
        for (size_t j = 0; j < CLASSES; ++j)
            sum += expl((ref_real)c->s[i * CLASSES + j]);
        h = expl((ref_real)c->s[i * CLASSES + k]) / sum;
        h = (ref_real)cost * h * (1 - h);
        rest += h * 1e-3L;
        for (size_t j = 0; j < c->d; ++j)
            spread += powl((ref_real)c->x[i * c->d + j] - mean[j], 2) / (ref_real)(c->n * c->d);
        for (size_t j = 0; j < w; ++j)
            z[j] = j < c->d ? (ref_real)c->x[i * c->d + j] : 1;
        for (size_t p = 0; p < w * w; ++p)
            a[p] += h * z[p / w] * z[p % w] + h * 1e-3L * mean[p / w] * mean[p % w];
    }
    for (size_t j = 0; j < c->d; ++j)
        a[j * w + j] += 1 + rest * spread;
    for (size_t j = 0; j < w; ++j)
        out[j] = (ref_real)c->in[k * w + j] - mean_of(c, j);
    assert_true(ref_cholesky(a, w));
    ref_cholesky_solve(a, w, out);
    free(a);
    free(mean);
    free(z);
}

/* Probabilities of the scores, as floats. */
static float *softmax_of(const scene *c)
{
    float *p = ref_alloc(c->n * CLASSES, sizeof *p);
    for (size_t i = 0; i < c->n; ++i) {
        ref_real sum = 0;
        for (size_t j = 0; j < CLASSES; ++j)
            sum += expl((ref_real)c->s[i * CLASSES + j]);
        for (size_t j = 0; j < CLASSES; ++j)
            p[i * CLASSES + j] = (float)(expl((ref_real)c->s[i * CLASSES + j]) / sum);
    }
    return p;
}

/* With probabilities made from the scores, and with known ones. */
static void blocks_are_inverses_of_their_formula(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{60, 9}, {20, 40}, {40, 40}};
    for (size_t t = 0; t < 6; ++t) {
        scene c = scene_of(shapes[t % 3][0], shapes[t % 3][1]);
        float *known = t < 3 ? NULL : softmax_of(&c);
        size_t w = c.d + 1;
        tnp_softmax loss = {&c.y, 5, NULL};
        tnp_blocks b = {0};
        float *out = ref_alloc(CLASSES * w, sizeof *out);
        ref_real *want = ref_alloc(CLASSES * w, sizeof *want), off = 0, size = 0;
        assert_fine(ctx, tnp_blocks_init(ctx, &loss, (tnp_block_rows){c.x, c.d, 1, c.n}, c.d, true, false, &b));
        assert_fine(ctx, tnp_blocks_update(&b, c.s, known));
        tnp_blocks_apply(&b, c.in, out);
        for (size_t k = 0; k < CLASSES; ++k)
            solve_block(&c, 5, k, want + k * w);
        for (size_t j = 0; j < w; ++j) {
            ref_real mean = (want[j] + want[w + j] + want[2 * w + j]) / CLASSES - (j < c.d ? mean_of(&c, j) : 0);
            for (size_t k = 0; k < CLASSES; ++k) {
                off += powl((ref_real)out[k * w + j] - (want[k * w + j] - mean), 2);
                size += powl(want[k * w + j] - mean, 2);
            }
        }
        /* The largest eigenvalue of M is below 5/4 n |z|^2 ~ 75 * 40, the least 1: that many roundings of float. */
        assert_true(sqrtl(off / size) <= 3000 * 0x1p-24);
        tnp_blocks_destroy(&b);
        free(out);
        free(want);
        free(known);
        scene_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_inverses_of_their_formula)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
