/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHA-256 against the examples of FIPS 180-4, at every length around a block, in pieces, and of files. */
#include "base/sha256.h"
#include "ctx_of.h"

#include <stdlib.h>
#include <string.h>

static void hex_of(const void *bytes, size_t size, size_t piece, char out[65])
{
    tnp_sha256 sha;
    uint8_t digest[32];
    tnp_sha256_init(&sha);
    for (size_t at = 0; at < size; at += piece)
        tnp_sha256_add(&sha, (const char *)bytes + at, size - at < piece ? size - at : piece);
    tnp_sha256_end(&sha, digest);
    for (size_t i = 0; i < 32; ++i)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void examples_of_the_standard(void **state)
{
    (void)state;
    const char *const two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char hex[65], *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    hex_of("", 0, 1, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hex_of("abc", 3, 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hex_of(two, strlen(two), 5, hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    hex_of(million, 1000000, 999, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* Pieces make no difference, whatever the length. */
static void pieces(void **state)
{
    (void)state;
    char bytes[200], whole[65], parts[65];
    for (size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = (char)(i * 37);
    for (size_t size = 0; size <= sizeof bytes; ++size)
        for (size_t piece = 1; piece < 70; piece += 7) {
            hex_of(bytes, size, sizeof bytes, whole);
            hex_of(bytes, size, piece, parts);
            assert_string_equal(parts, whole);
        }
}

static void of_a_file(void **state)
{
    char hex[65] = "untouched";
    assert_fine(*state, tn_text_write(*state, "abc", "sha256.tmp"));
    assert_fine(*state, tn_file_sha256(*state, "sha256.tmp", hex));
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    remove("sha256.tmp");
    assert_int_equal(tn_file_sha256(*state, "sha256.tmp", hex), TN_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_standard),
        cmocka_unit_test(pieces),
        cmocka_unit_test_setup_teardown(of_a_file, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
