/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Product quantisers: what they encode is the nearest centroid of every group, what they decode is that centroid, and
 * neither training nor encoding depends on the number of threads. */
#include "fixtures/problems.h"
#include "fixtures/tensors.h"
#include "encode/pq.h"
#include "ref_pq.h"
#include "tenon/store.h"

#include <float.h>

static tn_pq *fit(tn_features *features, size_t sub, size_t centroids, size_t sample, tn_pq_info *info)
{
    tnp_pq_options opt;
    tn_pq *pq = NULL;
    tnp_pq_options_default(&opt);
    opt.sub = sub;
    opt.centroids = centroids;
    opt.sample = sample;
    assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &opt, info, &pq));
    return pq;
}

static float *read_all(const tn_features *features)
{
    size_t n = tn_features_rows(features), d = tn_features_cols(features);
    float *x = ref_alloc(n * d, sizeof *x);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, n, 0, d, x));
    return x;
}

/* The centroids (count, dim), by decoding: row c is what code c stands for in every group. */
static float *centroids_of(const tn_pq *pq)
{
    size_t count = tn_pq_centroids(pq), groups = tn_pq_groups(pq);
    uint8_t *codes = ref_alloc(count * groups, 1);
    float *out = ref_alloc(count * tn_pq_dim(pq), sizeof *out);
    for (size_t i = 0; i < count * groups; ++i)
        codes[i] = (uint8_t)(i / groups);
    assert_fine(test_ctx, tn_pq_decode(test_ctx, pq, codes, count, out));
    free(codes);
    return out;
}

/* x of a group of a row, and the group's centroids one after the other, for the oracle. */
static size_t group_of(const float *centroids, size_t count, size_t dim, size_t sub, size_t g, float *out)
{
    size_t width = tnp_min(sub, dim - g * sub);
    for (size_t c = 0; c < count; ++c)
        memcpy(out + c * width, centroids + c * dim + g * sub, width * sizeof *out);
    return width;
}

/* Encoded against the nearest centroid in long double: the distance of the code chosen is within 8 sub eps of the least
 * (derived in test_kernel.c). Decoded: exactly the centroid. The error told is the sum of those distances. */
static void assert_codes(const tn_pq *pq, const float *x, size_t n)
{
    size_t d = tn_pq_dim(pq), sub = tn_pq_sub(pq), groups = tn_pq_groups(pq), count = tn_pq_centroids(pq);
    uint8_t *codes = ref_alloc(n * groups + 1, 1);
    float *back = ref_alloc(n * d, sizeof *back), *centroids = centroids_of(pq),
          *group = ref_alloc(count * sub, sizeof *group);
    double error = -1;
    ref_real want = 0;
    codes[n * groups] = 99;
    assert_fine(test_ctx, tn_pq_encode(test_ctx, pq, (tn_view){x, n, d, d}, codes, &error));
    assert_fine(test_ctx, tn_pq_decode(test_ctx, pq, codes, n, back));
    assert_int_equal(codes[n * groups], 99);
    for (size_t g = 0; g < groups; ++g) {
        size_t width = group_of(centroids, count, d, sub, g, group);
        for (size_t i = 0; i < n; ++i) {
            const float *row = x + i * d + g * sub;
            size_t got = codes[i * groups + g];
            ref_real least = ref_distance(row, group + ref_nearest(row, group, count, width) * width, width);
            want += least;
            assert_true(got < count);
            assert_true(ref_distance(row, group + got * width, width) <=
                        least * (1 + 8 * (ref_real)width * FLT_EPSILON));
            for (size_t j = 0; j < width; ++j)
                assert_true(back[i * d + g * sub + j] ==
                            ref_decoded(centroids, d, sub, codes + i * groups, g * sub + j));
        }
    }
    assert_near(error, (double)want, 8 * (double)sub * (double)FLT_EPSILON);
    free(codes);
    free(back);
    free(centroids);
    free(group);
}

/* Columns that 8 divides and does not, one column, groups wider than the row, constant columns, zero rows, types. */
static void codes_are_nearest_and_decode_to_them(void **state)
{
    (void)state;
    static const struct {
        size_t n, d, sub, centroids;
        stored as;
    } cases[] = {{300, 16, 8, 256, AS_F32}, {300, 21, 8, 200, AS_F64}, {70, 1, 8, 256, AS_F32}, {150, 5, 3, 16, AS_I8},
                 {90, 7, 100, 17, AS_F16},  {1, 9, 8, 256, AS_F32},    {130, 12, 1, 3, AS_F32}, {200, 9, 4, 1, AS_F32}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; ++t)
        for (int kind = 0; kind < REF_KINDS; ++kind) {
            ref_problem p = ref_problem_of((ref_kind)kind, cases[t].n, cases[t].d, 1, t);
            tn_features *features = features_of("x", p.x, p.n, p.d, cases[t].as);
            tn_pq_info info = {0};
            tn_pq *pq = fit(features, cases[t].sub, cases[t].centroids, 0, &info);
            float *x = read_all(features);
            double energy = 0, error = -1;
            assert_int_equal(tn_pq_dim(pq), p.d);
            assert_int_equal(tn_pq_sub(pq), tnp_min(cases[t].sub, p.d));
            assert_int_equal(tn_pq_groups(pq), (p.d + tn_pq_sub(pq) - 1) / tn_pq_sub(pq));
            assert_int_equal(tn_pq_centroids(pq), tnp_min(cases[t].centroids, p.n));
            assert_int_equal(info.rows, p.n);
            for (size_t i = 0; i < p.n * p.d; ++i)
                energy += (double)x[i] * (double)x[i];
            assert_near(info.energy, energy, 1e-12);
            assert_codes(pq, x, p.n);
            uint8_t *codes = ref_alloc(p.n * tn_pq_groups(pq), 1);
            assert_fine(test_ctx, tn_pq_encode(test_ctx, pq, (tn_view){x, p.n, p.d, p.d}, codes, &error));
            assert_near(error, info.error, 1e-12); /* the same distances, added in another order */
            if (cases[t].centroids >= p.n)
                assert_true(info.error == 0); /* a centroid a row */
            free(codes);
            free(x);
            tn_pq_free(pq);
            tn_features_close(features);
            ref_problem_free(&p);
        }
}

/* A cloud about each of 4 points, 100 times as far apart as wide: 4 centroids must leave the clouds' own spread only. */
static void clusters_are_found(void **state)
{
    (void)state;
    enum { N = 400, D = 16 };
    static double x[N * D];
    ref_rng rng = ref_rng_of(5);
    tn_pq_info info = {0};
    for (size_t i = 0; i < N; ++i)
        for (size_t j = 0; j < D; ++j)
            x[i * D + j] = 100 * (double)((i % 4) >> (j % 2) & 1) + ref_normal(&rng);
    tn_features *features = features_of("clouds", x, N, D, AS_F32);
    double best = INFINITY;
    for (uint64_t seed = 0; seed < 8; ++seed) { /* a start may be unlucky in a group, eight are not */
        tnp_pq_options opt;
        tn_pq *pq = NULL;
        tnp_pq_options_default(&opt);
        opt.centroids = 4;
        opt.seed = seed;
        assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &opt, &info, &pq));
        best = fmin(best, info.error);
        tn_pq_free(pq);
    }
    /* chi^2 of (N - 4) D degrees of freedom: 6336 +- 113. */
    assert_true(best > 5600 && best < 7000);
    tn_features_close(features);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    ref_problem p = ref_problem_of(REF_NONNEG, 700, 203, 1, 9);
    tn_features *features = features_of("x", p.x, p.n, p.d, AS_F32);
    float *x = read_all(features), *first = NULL;
    uint8_t *codes = NULL;
    double error = 0;
    static const size_t threads[] = {1, 2, 3, 7};
    for (size_t t = 0; t < 4; ++t) {
        tn_ctx_set_threads(test_ctx, threads[t]);
        tn_pq_info info = {0};
        tn_pq *pq = fit(features, 8, 100, 600, &info);
        float *centroids = centroids_of(pq);
        uint8_t *now = ref_alloc(p.n * tn_pq_groups(pq), 1);
        double sum = 0;
        assert_int_equal(info.rows, 600);
        assert_fine(test_ctx, tn_pq_encode(test_ctx, pq, (tn_view){x, p.n, p.d, p.d}, now, &sum));
        if (t == 0) {
            first = centroids;
            codes = now;
            error = sum;
        } else {
            assert_memory_equal(centroids, first, 100 * p.d * sizeof *first);
            assert_memory_equal(now, codes, p.n * tn_pq_groups(pq));
            assert_true(sum == error);
            free(centroids);
            free(now);
        }
        tn_pq_free(pq);
    }
    tn_ctx_set_threads(test_ctx, 0);
    free(first);
    free(codes);
    free(x);
    tn_features_close(features);
    ref_problem_free(&p);
}

/* The sample is drawn by the seed, and its rows are rows of the source: with one centroid a row, centroids are rows. */
static void the_sample_is_rows(void **state)
{
    (void)state;
    enum { N = 500, D = 3 };
    static double x[N * D];
    for (size_t i = 0; i < N * D; ++i)
        x[i] = (double)(i / D);
    tn_features *features = features_of("x", x, N, D, AS_F32);
    size_t common = 0;
    float *before = NULL;
    for (uint64_t seed = 0; seed < 2; ++seed) {
        tnp_pq_options opt;
        tn_pq *pq = NULL;
        tnp_pq_options_default(&opt);
        opt.sample = 40;
        opt.seed = seed;
        assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
        assert_int_equal(tn_pq_centroids(pq), 40);
        float *centroids = centroids_of(pq);
        for (size_t c = 0; c < 40; ++c) {
            float v = centroids[c * D];
            assert_true(v == floorf(v) && v >= 0 && v < N && centroids[c * D + 2] == v);
            for (size_t b = 0; before && b < 40; ++b)
                common += before[b * D] == v;
        }
        free(before);
        before = centroids;
        tn_pq_free(pq);
    }
    assert_true(common < 20); /* 3.2 expected */
    free(before);
    tn_features_close(features);
}

static void what_is_refused(void **state)
{
    (void)state;
    double x[4 * 3] = {1, 2, 3, 4, 5, 6, 7, NAN, 9, 1, 1, 1};
    float row[4] = {1, 2, INFINITY, 4};
    uint8_t codes[4] = {0, 9, 9, 9};
    float out[12];
    tnp_pq_options opt;
    tn_pq *pq = NULL;
    tn_features *features = features_of("x", x, 4, 3, AS_F32);
    tnp_pq_options_default(&opt);
    assert_fails(test_ctx, TN_ERR_DATA, "row 2 holds NaN", tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    opt.centroids = 257;
    assert_fails(test_ctx, TN_ERR_ARG, "centroids", tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    opt.centroids = 0;
    assert_fails(test_ctx, TN_ERR_ARG, "centroids", tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    opt.centroids = 2;
    opt.sub = 0;
    assert_fails(test_ctx, TN_ERR_ARG, "sub", tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    assert_null(pq);
    tn_features_close(features);
    x[7] = 8;
    features = features_of("x", x, 4, 3, AS_F32);
    opt.sub = 2;
    assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    assert_fails(test_ctx, TN_ERR_SHAPE, "4 columns", tn_pq_encode(test_ctx, pq, (tn_view){row, 1, 4, 4}, codes, NULL));
    assert_fails(test_ctx, TN_ERR_DATA, "row 0", tn_pq_encode(test_ctx, pq, (tn_view){row, 1, 3, 3}, codes, NULL));
    assert_fine(test_ctx, tn_pq_encode(test_ctx, pq, (tn_view){row, 0, 3, 3}, codes, NULL));
    assert_int_equal(codes[1], 9);
    assert_fails(test_ctx, TN_ERR_DATA, "group 1 holds code 9", tn_pq_decode(test_ctx, pq, codes, 1, out));
    tn_pq_free(pq);
    pq = NULL;
    tn_ctx_set_memory(test_ctx, 1000);
    assert_fails(test_ctx, TN_ERR_BUDGET, "", tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    tn_ctx_set_memory(test_ctx, 0);
    assert_null(pq);
    tn_pq_free(NULL);
    tn_features_close(features);
}

static void cancel_at_once(void *user, const char *stage, double share)
{
    (void)share;
    if (strncmp(stage, "pq", 2) == 0)
        tn_ctx_cancel(user);
}

static void work_can_be_interrupted(void **state)
{
    (void)state;
    ref_problem p = ref_problem_of(REF_SIGNED, 50, 40, 1, 1);
    tn_features *features = features_of("x", p.x, p.n, p.d, AS_F32);
    tn_ctx *ctx = ctx_of(0);
    tnp_pq_options opt;
    tn_pq *pq = NULL;
    tnp_pq_options_default(&opt);
    tn_ctx_set_progress(ctx, cancel_at_once, ctx);
    assert_int_equal(tnp_pq_fit(ctx, features, &opt, NULL, &pq), TN_ERR_INTERRUPTED);
    assert_null(pq);
    ctx_done(ctx);
    tn_features_close(features);
    ref_problem_free(&p);
}

/* Training, saving, loading and coding with every allocation failing once. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_problem p = ref_problem_of(REF_SIGNED, 60, 11, 1, 2);
    tn_features *features = features_of("x", p.x, p.n, p.d, AS_F32);
    tnp_pq_options opt;
    tnp_pq_options_default(&opt);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    char file[600], codes[600];
    snprintf(file, sizeof file, "%s", file_path("m.safetensors"));
    snprintf(codes, sizeof codes, "%s", file_path("mc.safetensors"));
    for (;; ++k) {
        tn_pq *pq = NULL, *back = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_pq_fit(test_ctx, features, &opt, NULL, &pq);
        assert_true((st == TN_OK) == (pq != NULL));
        if (st == TN_OK)
            st = tn_pq_save(test_ctx, pq, "test", file);
        if (st == TN_OK)
            st = tn_pq_load(test_ctx, file, &back);
        assert_true(st != TN_OK || back != NULL);
        if (st == TN_OK)
            st = tn_codes_save(test_ctx, back, features, "test", codes, NULL);
        tnp_fail_allocation(test_ctx, 0);
        tn_pq_free(pq);
        tn_pq_free(back);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 25);
    tn_features_close(features);
    ref_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_nearest_and_decode_to_them),
        cmocka_unit_test(clusters_are_found),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(the_sample_is_rows),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(work_can_be_interrupted),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
