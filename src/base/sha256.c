/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHA-256 (FIPS 180-4): names the bytes of a file in a report, and a page's own script to its security policy. Not for
 * secrets. The round constants are the first 32 bits of the fractional parts of the cube roots of the first 64 primes,
 * those of the state of the square roots of the first 8.
 * Oracle: test vectors of the standard and sha256sum, tests/unit/test_sha256.c. */
#include "base/sha256.h"

#include "base/base.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void take_block(tnp_sha256 *sha, const uint8_t *p)
{
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; ++i)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (size_t i = 16; i < 64; ++i) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, sha->state, sizeof s);
    for (size_t i = 0; i < 64; ++i) {
        uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                       constants[i] + w[i];
        uint32_t two =
            (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (size_t i = 0; i < 8; ++i)
        sha->state[i] += s[i];
}

void tnp_sha256_init(tnp_sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, start, sizeof start);
    sha->length = 0;
}

void tnp_sha256_add(tnp_sha256 *sha, const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    while (size > 0) {
        size_t used = sha->length % 64, n = tnp_min(64 - used, size);
        memcpy(sha->block + used, p, n);
        sha->length += n;
        p += n;
        size -= n;
        if (used + n == 64)
            take_block(sha, sha->block);
    }
}

void tnp_sha256_end(tnp_sha256 *sha, uint8_t out[32])
{
    const uint64_t bits = sha->length * 8;
    uint8_t end[72] = {0x80};
    size_t pad = 64 - (sha->length + 8) % 64; /* 1 to 64: the mark and zeros up to the last eight bytes */
    for (size_t i = 0; i < 8; ++i)
        end[pad + i] = (uint8_t)(bits >> (56 - 8 * i));
    tnp_sha256_add(sha, end, pad + 8);
    for (size_t i = 0; i < 32; ++i)
        out[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

tn_status tn_file_sha256(tn_ctx *ctx, const char *path, char out[65])
{
    tn_status st = TN_OK;
    tnp_file *file = NULL;
    tnp_sha256 sha;
    uint8_t bytes[1 << 14], digest[32];
    TN_TRY(tnp_file_open(ctx, path, &file));
    tnp_sha256_init(&sha);
    for (size_t at = 0, n; at < tnp_file_size(file); at += n) {
        n = tnp_min(sizeof bytes, tnp_file_size(file) - at);
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_file_read(ctx, file, at, n, bytes));
        tnp_sha256_add(&sha, bytes, n);
    }
    tnp_sha256_end(&sha, digest);
    for (size_t i = 0; i < 32; ++i)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
done:
    tnp_file_close(file);
    return st;
}
