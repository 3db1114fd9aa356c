/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .npz reader on archives built byte by byte: stored, deflated, with and without zip64 records. */
#include "fixtures/zips.h"

static void make_grid(bytes *b, size_t rows, size_t cols)
{
    char shape[64];
    b->n = 0;
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    put_npy(b, "<f4", false, shape);
    for (size_t i = 0; i < rows * cols; ++i)
        put_int(b, float_bits((float)i), 4, false);
}

static void check_grid(const char *rep, size_t rows, size_t cols)
{
    float out[64];
    tn_features *features = open_features(rep);
    assert_int_equal(tn_features_rows(features), rows);
    assert_int_equal(tn_features_cols(features), cols);
    assert_string_equal(tn_features_format(features), "npz");
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, rows, 0, cols, out));
    for (size_t i = 0; i < rows * cols; ++i)
        assert_near_at(i, out[i], (double)i, 0);
    assert_null(tn_features_ids(features));
    tn_features_close(features);
}

static const char *keyed(const char *path, const char *key)
{
    static char rep[600];
    snprintf(rep, sizeof rep, "%s:%s", path, key);
    return rep;
}

static void stored_and_deflated_with_and_without_zip64(void **state)
{
    (void)state;
    static bytes a, b;
    const spoil none = {0};
    make_grid(&a, 3, 5);
    make_grid(&b, 7, 2);
    for (int v = 0; v < 8; ++v) {
        const member members[] = {{"a.npy", &a, v & 1, v & 2}, {"b.c.npy", &b, !(v & 1), v & 2}};
        const char *path = write_zip("two.npz", members, 2, v & 4, &none);
        check_grid(keyed(path, "a"), 3, 5);
        check_grid(keyed(path, "b.c"), 7, 2);
        check_grid(keyed(path, "b.c.npy"), 7, 2);
    }
}

static void key_may_be_left_out_when_there_is_one(void **state)
{
    (void)state;
    static bytes a;
    const spoil none = {0};
    make_grid(&a, 2, 2);
    const member members[] = {{"x.npy", &a, false, false}, {"y.npy", &a, false, false}};
    check_grid(write_zip("one.npz", members, 1, false, &none), 2, 2);
    assert_features_fail(write_zip("two.npz", members, 2, false, &none), TN_ERR_ARG,
                         "two.npz:KEY with KEY one of x, y");
    assert_features_fail(keyed(file_path("two.npz"), "z"), TN_ERR_FORMAT, "two.npz: no array 'z'");
    assert_features_fail(keyed(file_path("two.npz"), ""), TN_ERR_ARG, "nothing after the colon");
    assert_features_fail(write_zip("no.npz", members, 0, false, &none), TN_ERR_FORMAT, "no.npz: no array in it");
}

static void check_ids(const bytes *grid, const bytes *ids, bool deflated, const char *const *want)
{
    const spoil none = {0};
    const member members[] = {{"ids.npy", ids, deflated, false}, {"x.npy", grid, deflated, true}};
    tn_features *features = open_features(write_zip("ids.npz", members, 2, true, &none));
    const char *const *got = tn_features_ids(features);
    for (size_t i = 0; i < 2; ++i)
        assert_string_equal(got[i], want[i]);
    tn_features_close(features);
    assert_features_survive(file_path("ids.npz"));
}

static void member_ids_names_the_rows(void **state)
{
    (void)state;
    static bytes a, ids;
    static const uint32_t text[2][4] = {{'c', 0xe4, 0x20ac, 0x1f600}, {'x', 0, 0, 0}};
    make_grid(&a, 2, 3);
    for (int big = 0; big < 2; ++big) {
        ids.n = 0;
        put_npy(&ids, big ? ">U4" : "<U4", false, "(2,)");
        for (size_t i = 0; i < 8; ++i)
            put_int(&ids, text[i / 4][i % 4], 4, big);
        check_ids(&a, &ids, big, (const char *[]){"c\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "x"});
    }
    ids.n = 0;
    put_npy(&ids, "|S3", false, "(2,)");
    put(&ids, "ab\0cde", 6);
    check_ids(&a, &ids, false, (const char *[]){"ab", "cde"});
    ids.n = 0;
    put_npy(&ids, ">i4", false, "(2,)");
    put_int(&ids, (uint64_t)-7, 4, true);
    put_int(&ids, 123456, 4, true);
    check_ids(&a, &ids, true, (const char *[]){"-7", "123456"});
}

static void npz_ids_that_do_not_fit(void **state)
{
    (void)state;
    static bytes a, ids;
    const spoil none = {0};
    const member members[] = {{"x.npy", &a, false, false}, {"ids.npy", &ids, false, false}};
    make_grid(&a, 2, 3);
    make_grid(&ids, 2, 1);
    assert_features_fail(write_zip("i.npz", members, 2, false, &none), TN_ERR_UNSUPPORTED, "ids are float32");
    ids.n = 0;
    put_npy(&ids, "|S1", false, "(3,)");
    put_text(&ids, "abc");
    assert_features_fail(write_zip("i.npz", members, 2, false, &none), TN_ERR_SHAPE, "3 entries, but there are 2 rows");
    ids.n = 0;
    put_npy(&ids, "|S1", false, "(2,)");
    put_text(&ids, "a\xff");
    assert_features_fail(write_zip("i.npz", members, 2, false, &none), TN_ERR_FORMAT, "ids: entry 1 is not text");
    ids.n = 0;
    put_npy(&ids, "<U1", false, "(2,)");
    put_int(&ids, 0x110000, 4, false);
    put_int(&ids, 'a', 4, false);
    assert_features_fail(write_zip("i.npz", members, 2, false, &none), TN_ERR_FORMAT, "ids: entry 0 is not text");
}

static void expect(bool deflated, bool zip64, spoil s, tn_status status, const char *part)
{
    static bytes a;
    const member members[] = {{"x.npy", &a, deflated, zip64}};
    make_grid(&a, 4, 4);
    assert_features_fail(write_zip("s.npz", members, 1, zip64, &s), status, part);
}

static void npz_directory_defects(void **state)
{
    (void)state;
    for (int zip64 = 0; zip64 < 2; ++zip64) {
        expect(false, zip64, (spoil){.entries = 2}, TN_ERR_FORMAT, "directory that does not fit");
        expect(false, zip64, (spoil){.length = 1000}, TN_ERR_FORMAT, "directory that does not fit");
        expect(false, zip64, (spoil){.start = 1000}, TN_ERR_FORMAT, "directory that does not fit");
        expect(false, zip64, (spoil){.start = (uint32_t)-1}, TN_ERR_FORMAT, zip64 ? "directory" : "no directory entry");
        expect(false, zip64, (spoil){.header = 1}, TN_ERR_FORMAT, "s.npz: byte 1: no local header");
        expect(false, zip64, (spoil){.header = 4000000}, TN_ERR_FORMAT, "s.npz: byte 4000000: no local header");
        expect(false, zip64, (spoil){.packed = 4000000, .unpacked = 4000000}, TN_ERR_FORMAT,
               "past the end of the file");
    }
}

static void npz_member_defects(void **state)
{
    (void)state;
    expect(false, false, (spoil){.unpacked = 1}, TN_ERR_FORMAT, "s.npz: byte 0: unpacked size cannot be right");
    expect(true, false, (spoil){.unpacked = 2000000000}, TN_ERR_FORMAT, "s.npz: byte 0: unpacked size cannot be right");
    expect(true, false, (spoil){.unpacked = 5}, TN_ERR_FORMAT, "s.npz: byte 35: member does not inflate to its");
    expect(true, false, (spoil){.unpacked = (uint32_t)-5}, TN_ERR_FORMAT, "s.npz: byte 35: member does not inflate");
    expect(true, false, (spoil){.packed = (uint32_t)-1}, TN_ERR_FORMAT, "s.npz: byte 35: member does not inflate");
    expect(true, false, (spoil){.packed = 1}, TN_ERR_FORMAT, "s.npz: byte 35: member does not inflate");
    expect(true, false, (spoil){.crc = 1}, TN_ERR_FORMAT, "s.npz: byte 35: member's checksum is wrong");
    expect(false, false, (spoil){.method = 8}, TN_ERR_FORMAT, "s.npz: byte 35: member does not inflate");
    expect(false, false, (spoil){.method = 12}, TN_ERR_UNSUPPORTED, "s.npz: byte 0: compression method 12");
    expect(false, false, (spoil){.flags = 1}, TN_ERR_UNSUPPORTED, "s.npz: byte 0: member is encrypted");
}

static void npz_stored_member_with_a_wrong_checksum(void **state)
{
    (void)state;
    static bytes a, ids;
    const spoil wrong = {.crc = 1}, none = {0};
    expect(false, false, wrong, TN_ERR_FORMAT, "s.npz: byte 35: member's checksum is wrong");
    expect(false, true, wrong, TN_ERR_FORMAT, "member's checksum is wrong");
    make_grid(&a, 2, 2);
    ids.n = 0;
    put_npy(&ids, "|S1", false, "(2,)");
    put_text(&ids, "ab");
    const member members[] = {{"ids.npy", &ids, false, false}, {"x.npy", &a, false, false}};
    assert_features_fail(write_zip("i.npz", members, 2, false, &wrong), TN_ERR_FORMAT, "member's checksum is wrong");
    tn_features_close(open_features(write_zip("i.npz", members, 2, false, &none)));
}

/* One member of `size` bytes, zeros behind a header; too large for `bytes`. *packed is its length in the file. */
static const char *write_large(const char *name, size_t size, bool deflated, size_t flipped, size_t *packed)
{
    static bytes head, tail;
    unsigned char *content = calloc(size, 1), *out = malloc(size + 65536);
    char shape[40];
    assert_true(content && out);
    head.n = tail.n = 0;
    snprintf(shape, sizeof shape, "(%zu, 1024)", (size - 1024) / 1024);
    put_npy(&head, "|u1", false, shape);
    size = head.n + (size - 1024) / 1024 * 1024;
    memcpy(content, head.data, head.n);
    uint32_t crc = (uint32_t)crc32_z(0, content, size);
    content[flipped] ^= flipped ? 1 : 0;
    z_stream z = {.next_in = content, .avail_in = (uInt)size, .next_out = out, .avail_out = (uInt)size + 65536};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (deflated)
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed = deflated ? z.total_out : size;
    deflateEnd(&z);
    const member m = {"x.npy", &(bytes){.n = size}, deflated, false};
    static const spoil none;
    head.n = 0;
    put_local(&head, &m, &(bytes){.n = 0}, crc);
    put_entry(&tail, &m, &none, *packed, 0, crc);
    size_t directory = tail.n;
    put(&tail, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    put_int(&tail, directory, 4, false);
    put_int(&tail, head.n + *packed, 4, false);
    put_int(&tail, 0, 2, false);
    FILE *f = fopen(file_path(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(head.data, 1, head.n, f), head.n);
    assert_int_equal(fwrite(deflated ? out : content, 1, *packed, f), *packed);
    assert_int_equal(fwrite(tail.data, 1, tail.n, f), tail.n);
    assert_int_equal(fclose(f), 0);
    free(content);
    free(out);
    return file_path(name);
}

/* 66 MB of zeros in 300 kB: a 1.5 MB file of the kind would ask for more than a gigabyte. */
static void npz_tiny_file_asks_for_gigabytes(void **state)
{
    (void)state;
    size_t packed = 0;
    const char *path = write_large("bomb.npz", (size_t)66 << 20, true, 0, &packed);
    assert_true(packed < ((size_t)66 << 20) / 200);
    assert_features_fail(path, TN_ERR_DATA, "would unfold to 66.0 MB; beyond 64 MB at most 200 times");
    tn_features_close(open_features(write_large("bomb.npz", (size_t)60 << 20, true, 0, &packed)));
    unlink(path);
}

/* The checksums of several pieces, by several threads, are that of the whole. */
static void npz_large_stored_member(void **state)
{
    (void)state;
    const size_t size = (size_t)13 << 20;
    size_t packed = 0;
    for (size_t threads = 1; threads < 5; threads += 3) {
        tn_ctx_set_threads(test_ctx, threads);
        tn_features_close(open_features(write_large("large.npz", size, false, 0, &packed)));
        assert_features_fail(write_large("large.npz", size, false, size - 5000, &packed), TN_ERR_FORMAT,
                             "member's checksum is wrong");
    }
    unlink(file_path("large.npz"));
}

static void npz_array_defects_say_where_in_the_file(void **state)
{
    (void)state;
    static bytes a;
    const spoil none = {0};
    const member members[] = {{"x.npy", &a, false, false}};
    a.n = 0;
    put_npy(&a, "|O", false, "(1, 1)");
    assert_features_fail(write_zip("o.npz", members, 1, false, &none), TN_ERR_UNSUPPORTED, "o.npz: byte 55: type '|O'");
    a.n = 0;
    put_text(&a, "plain text");
    assert_features_fail(write_zip("o.npz", members, 1, false, &none), TN_ERR_FORMAT, "o.npz: byte 35: no .npy magic");
}

static void npz_that_is_no_archive(void **state)
{
    (void)state;
    static bytes a;
    const spoil none = {0};
    const member members[] = {{"x.npy", &a, false, true}};
    assert_features_fail(write_text("e.npz", ""), TN_ERR_FORMAT, "e.npz: byte 0: empty");
    assert_features_fail(write_text("e.npz", "this is not a zip archive, it is text"), TN_ERR_FORMAT,
                         "byte 0: not a zip");
    make_grid(&a, 2, 2);
    const char *path = write_zip("cut.npz", members, 1, true, &none);
    static unsigned char whole[8192];
    FILE *file = fopen(path, "rb");
    size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (size_t n = 0; n < size; ++n)
        assert_features_fail(write_file("cut.npz", whole, n), TN_ERR_FORMAT, "cut.npz: byte ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_and_deflated_with_and_without_zip64),
        cmocka_unit_test(key_may_be_left_out_when_there_is_one),
        cmocka_unit_test(member_ids_names_the_rows),
        cmocka_unit_test(npz_ids_that_do_not_fit),
        cmocka_unit_test(npz_directory_defects),
        cmocka_unit_test(npz_member_defects),
        cmocka_unit_test(npz_stored_member_with_a_wrong_checksum),
        cmocka_unit_test(npz_tiny_file_asks_for_gigabytes),
        cmocka_unit_test(npz_large_stored_member),
        cmocka_unit_test(npz_array_defects_say_where_in_the_file),
        cmocka_unit_test(npz_that_is_no_archive),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
