/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fisher vectors, VLAD and one step of EM against VLFeat's, given the same parameters. VLFeat works in float throughout,
 * its posteriors are good to about 1e-5. */
#include "encode/encoder.h"
#include "one_ctx.h"

#include <vl/fisher.h>
#include <vl/gmm.h>
#include <vl/vlad.h>

enum { N = 3000, D = 16, K = 12 };

static float *descriptors(void)
{
    float *x = malloc(N * D * sizeof *x);
    tnp_rng rng;
    tnp_rng_init(&rng, 5, 0);
    for (size_t i = 0; i < N; ++i) {
        size_t middle = tnp_rng_below(&rng, 9);
        for (size_t j = 0; j < D; ++j)
            x[i * D + j] = (float)(sin((double)(3 * middle + j)) + 0.5 * (tnp_rng_unit(&rng) + tnp_rng_unit(&rng) - 1));
    }
    return x;
}

static tnp_mixture mixture_of(const float *x)
{
    tnp_mixture m = {.count = 0};
    assert_fine(ctx, tnp_mixture_new(ctx, K, D, &m));
    for (size_t k = 0; k < K; ++k) {
        m.weights[k] = (float)(k + 1) / (K * (K + 1) / 2);
        for (size_t j = 0; j < D; ++j) {
            m.means[k * D + j] = x[(k * 211) * D + j];
            m.variances[k * D + j] = 0.1F + 0.01F * (float)((k + j) % 5);
        }
    }
    tnp_mixture_ready(&m);
    return m;
}

static double relative(const float *a, const float *b, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; ++i) {
        off += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(off / size);
}

static void fisher_vectors_agree(void **state)
{
    (void)state;
    float *x = descriptors(), ours[2 * K * D], theirs[2 * K * D];
    tnp_mixture m = mixture_of(x);
    tnp_mixture_sums sums = {.rows = 0};
    assert_fine(ctx, tnp_mixture_sums_new(ctx, &m, &sums));
    assert_fine(ctx, tnp_mixture_add(ctx, &m, x, N, &sums));
    tnp_fisher(&m, &sums, ours);
    vl_fisher_encode(theirs, VL_TYPE_FLOAT, m.means, D, K, m.variances, m.weights, x, N, 0);
    assert_true(relative(ours, theirs, 2 * K * D) < 1e-4);
    tnp_mixture_sums_free(&sums);
    tnp_mixture_free(&m);
    free(x);
}

static void posteriors_and_a_step_of_em_agree(void **state)
{
    (void)state;
    float *x = descriptors(), *q = malloc(N * K * sizeof *q), *theirs = malloc(N * K * sizeof *theirs);
    tnp_mixture m = mixture_of(x);
    tnp_mixture_sums sums = {.rows = 0};
    double floor[D] = {0};
    assert_fine(ctx, tnp_mixture_sums_new(ctx, &m, &sums));
    assert_fine(ctx, tnp_mixture_posteriors(ctx, &m, x, N, q));
    assert_fine(ctx, tnp_mixture_add(ctx, &m, x, N, &sums));
    double likelihood = vl_get_gmm_data_posteriors_f(theirs, K, N, m.weights, m.means, D, m.variances, x);
    assert_true(relative(q, theirs, N * K) < 1e-4);
    assert_near(sums.log_likelihood, likelihood, 1e-4);
    VlGMM *gmm = vl_gmm_new(VL_TYPE_FLOAT, D, K);
    vl_gmm_set_initialization(gmm, VlGMMCustom);
    vl_gmm_set_means(gmm, m.means);
    vl_gmm_set_covariances(gmm, m.variances);
    vl_gmm_set_priors(gmm, m.weights);
    vl_gmm_set_max_num_iterations(gmm, 1);
    vl_gmm_cluster(gmm, x, N);
    tnp_mixture_update(&m, &sums, floor);
    /* Whether it stops after one step or two is its own matter: ours is one of them. */
    double first = relative(m.means, vl_gmm_get_means(gmm), K * D);
    tnp_mixture_sums_clear(&m, &sums);
    assert_fine(ctx, tnp_mixture_add(ctx, &m, x, N, &sums));
    tnp_mixture_update(&m, &sums, floor);
    double second = relative(m.means, vl_gmm_get_means(gmm), K * D);
    assert_true(fmin(first, second) < 1e-4);
    vl_gmm_delete(gmm);
    tnp_mixture_sums_free(&sums);
    tnp_mixture_free(&m);
    free(x);
    free(q);
    free(theirs);
}

static void vlad_agrees(void **state)
{
    (void)state;
    float *x = descriptors(), *hard = calloc(N * K, sizeof *hard), ours[K * D], theirs[K * D];
    uint32_t *which = malloc(N * sizeof *which);
    tn_encoder e = {.from = D, .dim = D, .kind = TNP_VLAD, .norm = TNP_NORM_RAW};
    assert_fine(ctx, tnp_pyramid_parse(ctx, "1x1", &e.pyramid));
    assert_fine(ctx, tnp_words_new(ctx, K, D, &e.words));
    memcpy(e.words.centres, x, K * D * sizeof *x);
    tnp_words_ready(&e.words);
    assert_fine(ctx, tnp_words_nearest(ctx, &e.words, x, N, 1, which, NULL));
    for (size_t i = 0; i < N; ++i)
        hard[i * K + which[i]] = 1;
    assert_fine(ctx, tnp_encode(ctx, &e, x, NULL, N, ours));
    vl_vlad_encode(theirs, VL_TYPE_FLOAT, e.words.centres, D, K, x, N, hard, VL_VLAD_FLAG_UNNORMALIZED);
    assert_true(relative(ours, theirs, K * D) < 1e-4);
    tnp_words_free(&e.words);
    free(which);
    free(hard);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fisher_vectors_agree),
                                       cmocka_unit_test(posteriors_and_a_step_of_em_agree),
                                       cmocka_unit_test(vlad_agrees)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
