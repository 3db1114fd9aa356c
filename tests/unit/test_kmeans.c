/* SPDX-License-Identifier: BSD-3-Clause
 *
 * k-means of one group: its steps against the literal ones, the objective that never rises, empty centres, sets with
 * fewer distinct rows than centres. */
#include "encode/kmeans.h"
#include "near.h"
#include "ref_pq.h"
#include "ref_random.h"

#include <float.h>

enum { N = 300, D = 5, K = 24 };

static float x[N * D], centers[TNP_CODES * D], lanes[D * TNP_CODES], distance[N];
static uint8_t code[N];
static double sums[TNP_CODES * D];
static size_t members[TNP_CODES];

/* Whole numbers: sums of squares and of rows are exact in float and double. */
static tnp_kmeans set_of(size_t rows, size_t dim, size_t count, int most, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < rows * dim; ++i)
        x[i] = (float)ref_below(&rng, (size_t)most + 1);
    tnp_kmeans km = {.x = x,
                     .rows = rows,
                     .dim = dim,
                     .count = count,
                     .centers = centers,
                     .lanes = lanes,
                     .code = code,
                     .distance = distance,
                     .sums = sums,
                     .members = members};
    tnp_rng_init(&km.rng, seed, 1);
    return km;
}

static bool is_row(const float *row, size_t rows, size_t dim)
{
    for (size_t i = 0; i < rows; ++i)
        if (memcmp(row, x + i * dim, dim * sizeof *row) == 0)
            return true;
    return false;
}

static void the_start_is_distinct_rows(void **state)
{
    (void)state;
    tnp_kmeans km = set_of(N, 1, K, 0, 3);
    size_t seen[N] = {0}, first = 0;
    for (size_t i = 0; i < N; ++i)
        x[i] = (float)i;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        tnp_rng_init(&km.rng, seed, 1);
        tnp_kmeans_start(&km);
        for (size_t c = 0; c < K; ++c) {
            assert_true(c == 0 || centers[c] > centers[c - 1]);
            ++seen[(size_t)centers[c]];
        }
    }
    /* Each row is taken in K/N of 400 draws, 32 +- 5.4; six deviations leave 2e-9 a row. */
    for (size_t i = 0; i < N; ++i)
        assert_true(seen[i] > 0 && seen[i] < 65);
    km.count = TNP_CODES;
    km.rows = TNP_CODES;
    tnp_kmeans_start(&km);
    for (size_t i = 0; i < TNP_CODES; ++i)
        first += centers[i] == x[i];
    assert_int_equal(first, TNP_CODES);
}

/* Values 0 .. 9: distances are exact, so codes and objective are the oracle's; means are rounded once to float. */
static void steps_are_the_literal_ones(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; ++seed) {
        tnp_kmeans km = set_of(N, D, K, 9, seed);
        static size_t want_code[N];
        static ref_real means[K * D];
        tnp_kmeans_start(&km);
        for (size_t c = 0; c < K; ++c)
            assert_true(is_row(centers + c * D, N, D));
        ref_real want = ref_lloyd(x, N, centers, K, D, want_code, means);
        assert_true((ref_real)tnp_kmeans_assign(&km) == want);
        for (size_t i = 0; i < N; ++i)
            assert_int_equal(code[i], want_code[i]);
        size_t moved = tnp_kmeans_update(&km), empty = 0;
        for (size_t c = 0; c < K; ++c) {
            size_t rows = 0;
            for (size_t i = 0; i < N; ++i)
                rows += want_code[i] == c;
            empty += rows == 0;
            for (size_t j = 0; rows && j < D; ++j)
                assert_true(fabsl(centers[c * D + j] - means[c * D + j]) <= FLT_EPSILON / 2 * means[c * D + j]);
            for (size_t j = 0; j < D; ++j)
                assert_true(lanes[j * TNP_CODES + c] == centers[c * D + j]);
        }
        for (size_t c = K; c < TNP_CODES; ++c)
            assert_true(isinf(lanes[c]));
        assert_int_equal(moved, empty);
    }
}

/* Neither step raises it, and moving empty centres does not either; two thirds of the rows are equal, so that there are
 * empty ones. Centres are rounded
 * to float and distances are sums of D squares in float: 2 D eps of the objective is what it may seem to rise. */
static void the_objective_never_rises(void **state)
{
    (void)state;
    size_t moved = 0;
    for (int most = 1; most <= 40; most += 3)
        for (size_t count = 1; count <= TNP_CODES; count = 2 * count + 1) {
            tnp_kmeans km = set_of(N, D, tnp_min(count, TNP_CODES), most, (uint64_t)most);
            for (size_t i = 0; i < N * D; ++i)
                x[i] *= (float)(i / D % 3 == 0);
            tnp_kmeans_start(&km);
            double before = tnp_kmeans_assign(&km);
            for (size_t step = 0; step < 12; ++step) {
                moved += tnp_kmeans_update(&km);
                double now = tnp_kmeans_assign(&km);
                assert_true(now <= before * (1 + 2 * D * (double)FLT_EPSILON));
                before = now;
            }
        }
    assert_true(moved > 100);
}

/* 3 distinct rows, 8 centres: every row gets a centre of its own, wherever the start was. */
static void fewer_distinct_rows_than_centres(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        tnp_kmeans km = set_of(60, 2, 8, 0, seed);
        double objective = -1;
        bool finished = false;
        for (size_t i = 0; i < 60; ++i)
            x[2 * i] = i < 58 ? 0 : (float)i;
        size_t updates = tnp_kmeans_run(&km, 25, &objective, &finished);
        assert_true(objective == 0 && finished && updates <= 3);
        for (size_t i = 0; i < 60; ++i)
            assert_true(centers[code[i] * 2] == x[2 * i] && centers[code[i] * 2 + 1] == 0);
    }
}

/* Clusters far apart compared with their size: the optimum is known, and one more iteration changes nothing. */
static void run_ends_where_nothing_moves(void **state)
{
    (void)state;
    static size_t want[N];
    static ref_real means[K * D];
    tnp_kmeans km = set_of(N, D, K, 9, 7);
    double objective = -1, limited = -1;
    bool finished = false;
    for (size_t i = 0; i < N; ++i)
        x[i * D] += 1000 * (float)(i % 3);
    km.count = 3;
    assert_int_equal(tnp_kmeans_run(&km, 0, &limited, &finished), 0);
    assert_false(finished);
    tnp_rng_init(&km.rng, 7, 1);
    size_t updates = tnp_kmeans_run(&km, 100, &objective, &finished);
    assert_true(finished && updates < 100 && objective <= limited);
    ref_real least = ref_lloyd(x, N, centers, 3, D, want, means);
    assert_near(objective, (double)least, N * D * (double)FLT_EPSILON);
    for (size_t i = 0; i < 3 * D; ++i)
        assert_near_at(i, (double)centers[i], (double)means[i], 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_is_distinct_rows),   cmocka_unit_test(steps_are_the_literal_ones),
        cmocka_unit_test(the_objective_never_rises),    cmocka_unit_test(fewer_distinct_rows_than_centres),
        cmocka_unit_test(run_ends_where_nothing_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
