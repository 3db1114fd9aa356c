/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds of whole groups: never split, even, seeded; what is too few is refused. */
#include "fixtures/problems.h"
#include "learn/head/group_folds.h"

enum { N = 240, K = 4 };

typedef struct scene {
    uint32_t group[N], cls[N];
    size_t first[N + 1], groups;
    tnp_targets y;
} scene;

/* Rows of `groups` groups of very different sizes in scattered order; classes go with groups, but not wholly. */
static scene *scene_of(size_t groups, uint64_t seed)
{
    scene *s = ref_alloc(1, sizeof *s);
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 1);
    s->groups = groups;
    for (size_t i = 0; i < N; ++i) {
        size_t g = i < groups ? i : tnp_min(tnp_rng_below(&rng, groups), tnp_rng_below(&rng, groups));
        s->group[i] = (uint32_t)g;
        s->cls[i] = (uint32_t)(tnp_rng_below(&rng, 3) ? g % K : tnp_rng_below(&rng, K));
        s->first[i + 1] = i + 1;
    }
    s->y = (tnp_targets){.rows = N, .classes = K, .first = s->first, .cls = s->cls};
    return s;
}

static uint32_t *deal(const scene *s, size_t folds, size_t seed)
{
    uint32_t *fold = NULL;
    assert_fine(test_ctx, tnp_group_folds_new(test_ctx, &s->y, s->group, s->groups, folds, seed, &fold));
    return fold;
}

/* Most rows of a fold less fewest; and the same of class c. */
static size_t spread(const scene *s, const uint32_t *fold, size_t folds, size_t c)
{
    size_t count[16] = {0}, most = 0, least = N;
    for (size_t i = 0; i < N; ++i)
        count[fold[i]] += c == SIZE_MAX || s->cls[i] == c;
    for (size_t f = 0; f < folds; ++f) {
        most = tnp_max(most, count[f]);
        least = tnp_min(least, count[f]);
    }
    return most - least;
}

static size_t largest_group(const scene *s)
{
    size_t count[N] = {0}, most = 0;
    for (size_t i = 0; i < N; ++i)
        most = tnp_max(most, ++count[s->group[i]]);
    return most;
}

static void groups_are_never_split(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < 20; ++seed)
        for (size_t folds = 2; folds <= 8; folds += 3) {
            scene *s = scene_of(8 + 7 * seed, seed);
            uint32_t *fold = deal(s, folds, seed), of[N];
            size_t used[8] = {0};
            memset(of, 0xff, sizeof of);
            for (size_t i = 0; i < N; ++i) {
                assert_true(fold[i] < folds);
                assert_true(of[s->group[i]] == UINT32_MAX || of[s->group[i]] == fold[i]);
                of[s->group[i]] = fold[i];
                ++used[fold[i]];
            }
            for (size_t f = 0; f < folds; ++f)
                assert_true(used[f] > 0);
            tnp_free(fold);
            free(s);
        }
}

/* A greedy deal of the large first: folds differ by less than two of the largest groups, whatever the classes want; and
 * in all by less than a random deal leaves, rows and classes. */
static void folds_and_classes_are_even(void **state)
{
    (void)state;
    enum { FOLDS = 5 };
    size_t rows[2] = {0}, classes[2] = {0};
    for (size_t seed = 0; seed < 20; ++seed) {
        scene *s = scene_of(60, seed);
        uint32_t *fold = deal(s, FOLDS, seed), any[N], of[N];
        tnp_rng rng;
        tnp_rng_init(&rng, seed, 9);
        for (size_t g = 0; g < N; ++g)
            of[g] = (uint32_t)tnp_rng_below(&rng, FOLDS);
        for (size_t i = 0; i < N; ++i)
            any[i] = of[s->group[i]];
        assert_true(spread(s, fold, FOLDS, SIZE_MAX) < 2 * largest_group(s));
        for (int random = 0; random < 2; ++random) {
            rows[random] += spread(s, random ? any : fold, FOLDS, SIZE_MAX);
            for (size_t c = 0; c < K; ++c)
                classes[random] += spread(s, random ? any : fold, FOLDS, c);
        }
        tnp_free(fold);
        free(s);
    }
    assert_true(4 * rows[0] < rows[1]);
    assert_true(2 * classes[0] < classes[1]);
}

/* Groups of one row each are rows: folds and classes differ by few. */
static void a_group_per_row(void **state)
{
    (void)state;
    scene *s = scene_of(N, 3);
    for (size_t i = 0; i < N; ++i)
        s->group[i] = (uint32_t)(N - 1 - i);
    uint32_t *fold = deal(s, 5, 1);
    assert_true(spread(s, fold, 5, SIZE_MAX) <= 2);
    for (size_t c = 0; c < K; ++c)
        assert_true(spread(s, fold, 5, c) <= 2);
    tnp_free(fold);
    free(s);
}

static void seeded(void **state)
{
    (void)state;
    scene *s = scene_of(40, 7);
    uint32_t *a = deal(s, 4, 1), *b = deal(s, 4, 1), *c = deal(s, 4, 2);
    assert_memory_equal(a, b, N * sizeof *a);
    assert_memory_not_equal(a, c, N * sizeof *a);
    tnp_free(a);
    tnp_free(b);
    tnp_free(c);
    free(s);
}

/* A regression has no classes; groups without a row do not count. */
static void values_and_empty_groups(void **state)
{
    (void)state;
    scene *s = scene_of(12, 5);
    uint32_t *fold = NULL;
    double values[N] = {0};
    s->y = (tnp_targets){.rows = N, .classes = 1, .values = values};
    for (size_t i = 0; i < N; ++i)
        s->group[i] = 3 * (s->group[i] % 4);
    assert_fine(test_ctx, tnp_group_folds_new(test_ctx, &s->y, s->group, 12, 4, 0, &fold));
    tnp_free(fold);
    fold = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "4 groups for 5 folds",
                 tnp_group_folds_new(test_ctx, &s->y, s->group, 12, 5, 0, &fold));
    assert_null(fold);
    free(s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene *s = scene_of(40, 7);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (tn_status st = TN_ERR_MEMORY; st != TN_OK; ++k) {
        uint32_t *fold = NULL;
        tnp_fail_allocation(test_ctx, k);
        st = tnp_group_folds_new(test_ctx, &s->y, s->group, s->groups, 4, 0, &fold);
        tnp_fail_allocation(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        assert_true((fold != NULL) == (st == TN_OK));
        tnp_free(fold);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(k > 8);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_never_split),  cmocka_unit_test(folds_and_classes_are_even),
        cmocka_unit_test(a_group_per_row),         cmocka_unit_test(seeded),
        cmocka_unit_test(values_and_empty_groups), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
