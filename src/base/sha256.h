/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHA-256 (FIPS 180-4) of bytes that come in pieces. */
#ifndef TNP_SHA256_H
#define TNP_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct tnp_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
} tnp_sha256;

void tnp_sha256_init(tnp_sha256 *sha);
void tnp_sha256_add(tnp_sha256 *sha, const void *bytes, size_t size);
void tnp_sha256_end(tnp_sha256 *sha, uint8_t out[32]);

#endif
