/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoding of one bag and its gradient, by processor time of one thread, the best of RUNS, in turn. It is made of the
 * program's own objects and of the test's reference, whose headers it sees.
 *
 * Usage: fisher_stages bag ENC IMAGES RUNS T...  bags of T descriptors each, put together from those of the folder
 * IMAGES: a
 *                                                JSON array of {"rows", "encode", "back", "product", "project", "turn"},
 *                                                product: [y, y^2] times the mixture; project: descriptors by the
 *                                                projection; turn: the gradient with that of the projection
 *        fisher_stages literal RUNS K D T        formulas (7) to (12) in long double, the reverse pass in double and float
 *        fisher_stages peak RUNS                 flops per second of a large product */
#define _POSIX_C_SOURCE 200809L
#include "algebra/blas.h"
#include "encode/fisher_back.h"
#include "ref_fisher_back.h"
#include "tenon/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(tn_ctx *ctx, tn_status st)
{
    if (st != TN_OK) {
        fprintf(stderr, "fisher_stages: %s\n", tn_ctx_message(ctx));
        exit(1);
    }
}

/* ---- a bag ---- */

typedef struct bag {
    tn_ctx *ctx;
    tn_encoder *e;
    tnp_fisher_point point, both; /* both: with the projection */
    float *rows, *raw, *psi, *phi, *powers, *linear, *logs;
    double *wide, *slope, *gradient;
    size_t n, starts[2];
} bag;

static void make_bag(tn_ctx *ctx, tn_encoder *e, bag *b)
{
    size_t cols = tn_encoder_cols(e);
    *b = (bag){.ctx = ctx, .e = e};
    must(ctx, tnp_fisher_point_new(ctx, e, false, &b->point));
    must(ctx, tnp_fisher_point_new(ctx, e, e->projection.to != 0, &b->both));
    tnp_fisher_take(e, &b->point);
    tnp_fisher_take(e, &b->both);
    b->psi = calloc(cols, sizeof *b->psi);
    b->phi = calloc(cols, sizeof *b->phi);
    b->wide = calloc(cols, sizeof *b->wide);
    b->slope = calloc(cols, sizeof *b->slope);
    b->gradient = calloc(b->both.size, sizeof *b->gradient);
    for (size_t i = 0; i < cols; ++i)
        b->slope[i] = sin((double)i);
}

static void encode(bag *b)
{
    size_t cols = tn_encoder_cols(b->e);
    must(b->ctx, tnp_encode_raw(b->ctx, b->e, b->rows, b->starts, b->psi));
    memcpy(b->phi, b->psi, cols * sizeof *b->phi);
    tnp_encode_norm(b->e, b->phi);
}

static tnp_fisher_bag seen(const bag *b)
{
    return (tnp_fisher_bag){.rows = b->rows, .raw = b->raw, .starts = b->starts, .psi = b->wide, .slope = b->slope};
}

static void back_to(bag *b, const tnp_fisher_point *point)
{
    for (size_t i = 0; i < tn_encoder_cols(b->e); ++i)
        b->wide[i] = (double)b->psi[i];
    tnp_fisher_bag from = seen(b);
    must(b->ctx, tnp_fisher_back(b->ctx, b->e, point, &from, &(tnp_fisher_options){.soften = 0}, b->gradient));
}

static void back(bag *b)
{
    back_to(b, &b->point);
}

static void turn(bag *b)
{
    back_to(b, &b->both);
}

static void project(bag *b)
{
    const tn_encoder *e = b->e;
    must(b->ctx, tnp_sgemm_nt(b->ctx, b->n, e->dim, e->from, b->raw, e->from, e->projection.basis, e->from, 0, b->rows,
                              e->dim));
}

static void product(bag *b)
{
    const tnp_mixture *m = &b->e->mixture;
    enum { BLOCK = 512 };
    for (size_t i = 0; i < b->n; i += BLOCK)
        must(b->ctx, tnp_sgemm_nt(b->ctx, tnp_min(BLOCK, b->n - i), m->count, 2 * m->dim, b->powers, 2 * m->dim,
                                  b->linear, 2 * m->dim, 0, b->logs, m->count));
}

typedef void (*stage)(bag *b);
enum { STAGES = 5 };

static void time_bag(bag *b, size_t runs, size_t n)
{
    static const stage stages[STAGES] = {encode, back, product, project, turn};
    static const char *comma = "";
    double best[STAGES] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    b->n = b->starts[1] = n;
    for (size_t r = 0; r <= runs; ++r) /* the first warms up */
        for (size_t s = 0; s < STAGES; ++s) {
            double begin = processor_seconds();
            stages[s](b);
            if (r > 0)
                best[s] = fmin(best[s], processor_seconds() - begin);
        }
    printf("%s{\"rows\": %zu, \"encode\": %.9f, \"back\": %.9f, \"product\": %.9f, \"project\": %.9f, \"turn\": %.9f}",
           comma, n, best[0], best[1], best[2], best[3], best[4]);
    comma = ", ";
}

/* More memory for `used` floats and what follows, at the start of a cache line as the program's own is: rows that lie
 * across two lines cost the gradient, which meets them more often, more than the encoding. */
static float *grown(tn_ctx *ctx, float *old, size_t used, size_t wanted)
{
    float *made = NULL;
    must(ctx, tnp_alloc_raw(ctx, wanted, sizeof *made, &made));
    if (used != 0)
        memcpy(made, old, used * sizeof *made);
    tnp_free(old);
    return made;
}

/* At least n descriptors of pictures, less their mean and as the words are compared with, again from the first when
 * there are no more. */
static void describe(tn_ctx *ctx, const tn_encoder *e, const char *folder, size_t n, bag *b)
{
    tn_pictures *pictures = NULL;
    tnp_bag_stream stream = {.count = 0};
    size_t have = 0, most = 0;
    must(ctx, tn_pictures_open(ctx, &folder, 1, &pictures));
    must(ctx, tnp_bag_stream_pictures(ctx, pictures, &e->describer, &e->picture, &stream));
    for (size_t i = 0; have < n; i = (i + 1) % stream.count) {
        tnp_bag one;
        must(ctx, tnp_bag_stream_get(ctx, &stream, i, &one));
        if (have + one.rows > most) {
            most = 2 * (have + one.rows);
            b->rows = grown(ctx, b->rows, have * e->dim, most * e->dim);
            b->raw = grown(ctx, b->raw, have * e->from, most * e->from);
        }
        for (size_t k = 0; k < one.rows * e->from; ++k)
            b->raw[have * e->from + k] = one.x[k] - e->projection.mean[k % e->from];
        must(ctx, tnp_encoder_arrange(ctx, e, one.x, one.places, one.rows, b->rows + have * e->dim, b->starts));
        have += one.rows;
    }
    tnp_bag_stream_close(&stream);
    tn_pictures_free(pictures);
    b->starts[0] = 0;
}

static int time_bags(tn_ctx *ctx, char **words, int count)
{
    tn_encoder *e = NULL;
    bag b;
    size_t runs = strtoul(words[2], NULL, 10), most = 0;
    must(ctx, tn_encoder_load(ctx, words[0], &e));
    make_bag(ctx, e, &b);
    for (int i = 3; i < count; ++i)
        most = tnp_max(most, strtoul(words[i], NULL, 10));
    b.powers = calloc(512 * 2 * e->dim, sizeof *b.powers);
    b.linear = calloc(e->mixture.count * 2 * e->dim, sizeof *b.linear);
    b.logs = calloc(512 * e->mixture.count, sizeof *b.logs);
    describe(ctx, e, words[1], most, &b);
    printf("[");
    for (int i = 3; i < count; ++i)
        time_bag(&b, runs, strtoul(words[i], NULL, 10));
    printf("]\n");
    return 0;
}

/* ---- the literal formulas ---- */

static void random_bag(size_t k, size_t d, size_t n, bag *b, ref_float *theta)
{
    tnp_rng rng;
    size_t size = tnp_fisher_size(k, d);
    double *values = calloc(size, sizeof *values);
    tnp_rng_init(&rng, 1, 1);
    for (size_t i = 0; i < size; ++i)
        values[i] = i < k ? 0 : i < k + k * d ? 2 * tnp_rng_unit(&rng) : 0.1 * tnp_rng_unit(&rng);
    tnp_fisher_point_set(&b->point, values);
    tnp_fisher_give(&b->point, b->e);
    for (size_t i = 0; i < size; ++i)
        theta[i] = (ref_float)values[i];
    b->rows = calloc(n * d, sizeof *b->rows);
    for (size_t i = 0; i < n * d; ++i)
        b->rows[i] = (float)(3 * tnp_rng_unit(&rng) - 0.5);
    b->n = b->starts[1] = n;
    free(values);
}

static int time_literal(tn_ctx *ctx, char **words)
{
    size_t runs = strtoul(words[0], NULL, 10), k = strtoul(words[1], NULL, 10), d = strtoul(words[2], NULL, 10);
    size_t n = strtoul(words[3], NULL, 10), size = tnp_fisher_size(k, d);
    tn_encoder e = {.from = d, .dim = d, .kind = TNP_FISHER, .norm = TNP_NORM_ROOT, .neighbours = 1};
    bag b;
    ref_float *theta = calloc(size, sizeof *theta), *jacobian = calloc(2 * k * d * size, sizeof *jacobian);
    double best[3] = {INFINITY, INFINITY, INFINITY};
    must(ctx, tnp_pyramid_parse(ctx, "1x1", &e.pyramid));
    must(ctx, tnp_mixture_new(ctx, k, d, &e.mixture));
    for (size_t i = 0; i < k; ++i)
        e.mixture.weights[i] = 1;
    for (size_t i = 0; i < k * d; ++i)
        e.mixture.variances[i] = 1;
    make_bag(ctx, &e, &b);
    random_bag(k, d, n, &b, theta);
    encode(&b);
    back(&b);
    for (size_t r = 0; r < runs; ++r)
        for (size_t s = 0; s < 3; ++s) {
            double begin = processor_seconds();
            tnp_fisher_bag from = seen(&b);
            if (s == 0)
                ref_fisher_jacobian(&(ref_theta){k, d, theta}, b.rows, n, jacobian);
            else if (s == 1)
                must(ctx, tnp_fisher_back(ctx, &e, &b.point, &from, &(tnp_fisher_options){.wide = true}, b.gradient));
            else
                back(&b);
            best[s] = fmin(best[s], processor_seconds() - begin);
        }
    printf("{\"literal\": %.9f, \"f64\": %.9f, \"f32\": %.9f}\n", best[0], best[1], best[2]);
    return 0;
}

static int time_peak(tn_ctx *ctx, size_t runs)
{
    enum { N = 1536 };
    float *a = calloc(N * N, sizeof *a), *c = calloc(N * N, sizeof *c);
    double best = INFINITY;
    for (size_t i = 0; i < N * N; ++i)
        a[i] = (float)(i % 7);
    for (size_t r = 0; r <= runs; ++r) {
        double begin = processor_seconds();
        must(ctx, tnp_sgemm_nt(ctx, N, N, N, a, N, a, N, 0, c, N));
        best = fmin(best, processor_seconds() - begin);
    }
    printf("{\"flops\": %.6g}\n", 2.0 * N * N * N / best);
    return 0;
}

int main(int argc, char **argv)
{
    tn_ctx *ctx = NULL;
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    tn_ctx_set_threads(ctx, 1);
    if (argc >= 6 && strcmp(argv[1], "bag") == 0)
        return time_bags(ctx, argv + 2, argc - 2);
    if (argc == 6 && strcmp(argv[1], "literal") == 0)
        return time_literal(ctx, argv + 2);
    if (argc == 3 && strcmp(argv[1], "peak") == 0)
        return time_peak(ctx, strtoul(argv[2], NULL, 10));
    fputs("usage: fisher_stages bag ENC IMAGES RUNS T... | literal RUNS K D T | peak RUNS\n", stderr);
    return 2;
}
