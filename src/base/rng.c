/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random streams: xoshiro256** (Blackman and Vigna 2018), its state filled by splitmix64 from seed and stream
 * number, so that stream n of a seed is the same on every machine and for every thread count. */
#include "base/base.h"

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void tnp_rng_init(tnp_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed;
    uint64_t mixed = splitmix(&x) ^ (stream * UINT64_C(0xd1342543de82ef95));
    for (int i = 0; i < 4; ++i)
        rng->state[i] = splitmix(&mixed);
}

uint64_t tnp_rng_next(tnp_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

size_t tnp_rng_below(tnp_rng *rng, size_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do
        x = tnp_rng_next(rng);
    while (x >= limit);
    return (size_t)(x % n);
}

double tnp_rng_unit(tnp_rng *rng)
{
    return (double)(tnp_rng_next(rng) >> 11) * 0x1p-53;
}

void tnp_rng_shuffle(tnp_rng *rng, size_t *items, size_t count)
{
    for (size_t i = count; i > 1; --i) {
        size_t j = tnp_rng_below(rng, i), item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
