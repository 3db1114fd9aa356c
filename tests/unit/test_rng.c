/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random streams against the published xoshiro256** and splitmix64, written out here once more, and against what a
 * uniform source must do. */
#include "near.h"

#include <stdlib.h>

/* splitmix64 as published: state += golden ratio, three xor-shift-multiply rounds. */
static uint64_t published_splitmix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z ^= z >> 30;
    z *= 0xbf58476d1ce4e5b9u;
    z ^= z >> 27;
    z *= 0x94d049bb133111ebu;
    z ^= z >> 31;
    return z;
}

static uint64_t left(uint64_t x, unsigned k)
{
    return x << k | x >> (64u - k);
}

/* xoshiro256** as published: output from s1, then the linear engine. */
static uint64_t published_xoshiro(uint64_t s[4])
{
    uint64_t answer = left(s[1] * 5u, 7) * 9u, shifted = s[1] << 17;
    s[2] = s[2] ^ s[0];
    s[3] = s[3] ^ s[1];
    s[1] = s[1] ^ s[2];
    s[0] = s[0] ^ s[3];
    s[2] = s[2] ^ shifted;
    s[3] = left(s[3], 45);
    return answer;
}

/* The reference implementation's first outputs from the state 1, 2, 3, 4. */
static void test_known_values(void **state)
{
    (void)state;
    static const uint64_t known[] = {11520, 0, 1509978240, 1215971899390074240u};
    tnp_rng rng = {{1, 2, 3, 4}};
    uint64_t literal[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < 4; ++i)
        assert_true(tnp_rng_next(&rng) == known[i]);
    for (size_t i = 0; i < 4; ++i)
        published_xoshiro(literal);
    for (size_t i = 0; i < 10000; ++i)
        assert_true(tnp_rng_next(&rng) == published_xoshiro(literal));
}

/* The state is four outputs of splitmix64 in a row; the first one, with the stream mixed in, was its seed. */
static void test_seeding(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; ++seed)
        for (uint64_t stream = 0; stream < 5; ++stream) {
            tnp_rng rng;
            uint64_t x = seed, start;
            tnp_rng_init(&rng, seed, stream);
            start = published_splitmix(&x) ^ stream * 0xd1342543de82ef95u;
            for (size_t i = 0; i < 4; ++i)
                assert_true(rng.state[i] == published_splitmix(&start));
        }
}

/* Equal seed and stream, equal numbers; any other pair shares no 64-bit output in the first thousand: with 40 streams
 * the chance of an accidental match is 40000^2 / 2^65 < 1e-10. */
static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_streams(void **state)
{
    (void)state;
    enum { STREAMS = 40, DRAWS = 1000 };
    static uint64_t all[STREAMS * DRAWS];
    for (size_t s = 0; s < STREAMS; ++s) {
        tnp_rng rng, again;
        tnp_rng_init(&rng, s / 8, s % 8);
        tnp_rng_init(&again, s / 8, s % 8);
        for (size_t i = 0; i < DRAWS; ++i) {
            all[s * DRAWS + i] = tnp_rng_next(&rng);
            assert_true(tnp_rng_next(&again) == all[s * DRAWS + i]);
        }
    }
    qsort(all, STREAMS * DRAWS, sizeof *all, by_value);
    for (size_t i = 1; i < STREAMS * DRAWS; ++i)
        assert_true(all[i - 1] != all[i]);
}

/* Bits of neighbouring streams agree in half the places: 64000 fair coins, six deviations are 6 sqrt(16000) = 759. */
static void test_streams_uncorrelated(void **state)
{
    (void)state;
    for (uint64_t stream = 0; stream < 20; ++stream) {
        tnp_rng a, b;
        long same = 0;
        tnp_rng_init(&a, 1, stream);
        tnp_rng_init(&b, 1, stream + 1);
        for (int i = 0; i < 1000; ++i) {
            uint64_t equal = ~(tnp_rng_next(&a) ^ tnp_rng_next(&b));
            for (; equal; equal &= equal - 1)
                ++same;
        }
        assert_true(labs(same - 32000) < 759);
    }
}

/* Chi-square of n cells: mean n - 1, variance 2 (n - 1); seven deviations. A modulo bias cannot be seen at small n, so
 * the last size is 3/4 of the range, where plain modulo would give the lower third twice the share. */
static void test_below(void **state)
{
    (void)state;
    tnp_rng rng;
    tnp_rng_init(&rng, 7, 0);
    for (size_t n = 1; n <= 64; n += 7) {
        size_t cells[64] = {0};
        double draws = 2000 * (double)n, chi = 0;
        for (size_t i = 0; i < 2000 * n; ++i) {
            size_t x = tnp_rng_below(&rng, n);
            assert_true(x < n);
            ++cells[x];
        }
        for (size_t i = 0; i < n; ++i)
            chi += ((double)cells[i] - 2000) * ((double)cells[i] - 2000) / (draws / (double)n);
        assert_true(fabs(chi - ((double)n - 1)) <= 7 * sqrt(2 * (double)n));
    }
    size_t huge = SIZE_MAX / 4 * 3, low = 0;
    for (int i = 0; i < 30000; ++i)
        low += tnp_rng_below(&rng, huge) < huge / 3;
    assert_true(fabs((double)low - 10000) < 6 * sqrt(30000.0 * 2 / 9));
}

/* Mean 1/2 and variance 1/12 of 100000 draws, six deviations of each estimate. */
static void test_unit(void **state)
{
    (void)state;
    tnp_rng rng;
    double sum = 0, squares = 0;
    tnp_rng_init(&rng, 11, 3);
    for (int i = 0; i < 100000; ++i) {
        double x = tnp_rng_unit(&rng);
        assert_true(x >= 0 && x < 1);
        sum += x;
        squares += (x - 0.5) * (x - 0.5);
    }
    assert_true(fabs(sum / 1e5 - 0.5) < 6 * sqrt(1 / 12.0 / 1e5));
    assert_true(fabs(squares / 1e5 - 1 / 12.0) < 6 * sqrt(1 / 180.0 / 1e5));
}

static void test_shuffle(void **state)
{
    (void)state;
    enum { N = 97 };
    tnp_rng rng;
    tnp_rng_init(&rng, 5, 0);
    size_t places[4][4] = {{0}};
    for (int round = 0; round < 100; ++round) {
        size_t items[N];
        bool seen[N] = {false};
        for (size_t i = 0; i < N; ++i)
            items[i] = i;
        tnp_rng_shuffle(&rng, items, N);
        for (size_t i = 0; i < N; ++i) {
            assert_true(items[i] < N && !seen[items[i]]);
            seen[items[i]] = true;
        }
    }
    /* every item in every place equally often: 24000 / 4 each, six deviations */
    for (int round = 0; round < 24000; ++round) {
        size_t items[4] = {0, 1, 2, 3};
        tnp_rng_shuffle(&rng, items, 4);
        for (size_t i = 0; i < 4; ++i)
            ++places[i][items[i]];
    }
    for (size_t i = 0; i < 16; ++i)
        assert_true(fabs((double)places[i / 4][i % 4] - 6000) < 6 * sqrt(24000 * 3 / 16.0));
    tnp_rng_shuffle(&rng, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values), cmocka_unit_test(test_seeding),
        cmocka_unit_test(test_streams),      cmocka_unit_test(test_streams_uncorrelated),
        cmocka_unit_test(test_below),        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
