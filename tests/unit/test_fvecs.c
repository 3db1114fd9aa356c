/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .fvecs reader. */
#include "fixtures/files.h"

static void put_row(bytes *b, int prefix, size_t values, float base)
{
    put_int(b, (uint64_t)prefix, 4, false);
    for (size_t i = 0; i < values; ++i)
        put_int(b, float_bits(base + (float)i), 4, false);
}

static void rows_come_without_their_prefix(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    float out[12];
    for (int r = 0; r < 4; ++r)
        put_row(&b, 3, 3, (float)(10 * r));
    tn_features *features = open_features(write_bytes("base.x.fvecs", &b));
    assert_int_equal(tn_features_rows(features), 4);
    assert_int_equal(tn_features_cols(features), 3);
    assert_int_equal(tn_features_dtype(features), TN_F32);
    assert_string_equal(tn_features_format(features), "fvecs");
    assert_string_equal(tn_features_name(features), "base");
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 4, 0, 3, out));
    for (size_t i = 0; i < 12; ++i)
        assert_near_at(i, out[i], (double)(10 * (i / 3) + i % 3), 0);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 1, 2, 1, 2, out));
    assert_true(out[0] == 11 && out[1] == 12 && out[2] == 21 && out[3] == 22);
    tn_features_close(features);
    assert_features_survive(file_path("base.x.fvecs"));
}

static void fvecs_defects(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    assert_features_fail(write_text("e.fvecs", ""), TN_ERR_FORMAT, "e.fvecs: byte 0: the file ends");
    assert_features_fail(write_text("e.fvecs", "abc"), TN_ERR_FORMAT, "e.fvecs: byte 3: the file ends");
    put_row(&b, -1, 2, 0);
    assert_features_fail(write_bytes("n.fvecs", &b), TN_ERR_FORMAT, "n.fvecs: byte 0: row of length -1");
    b.n = 0;
    put_row(&b, 0, 2, 0);
    assert_features_fail(write_bytes("z.fvecs", &b), TN_ERR_FORMAT, "z.fvecs: byte 0: row of length 0");
    b.n = 0;
    put_row(&b, 1 << 30, 2, 0);
    assert_features_fail(write_bytes("h.fvecs", &b), TN_ERR_FORMAT, "h.fvecs: byte 0: row of length 1073741824");
    b.n = 0;
    put_row(&b, 3, 2, 0);
    assert_features_fail(write_bytes("t.fvecs", &b), TN_ERR_FORMAT,
                         "t.fvecs: byte 0: row needs 16 bytes, but 12 follow");
    b.n = 0;
    put_row(&b, 2, 2, 0);
    put_row(&b, 2, 1, 0);
    assert_features_fail(write_bytes("t.fvecs", &b), TN_ERR_FORMAT,
                         "t.fvecs: byte 12: row needs 12 bytes, but 8 follow");
}

static void fvecs_rows_with_differing_lengths(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    put_row(&b, 2, 2, 0);
    put_row(&b, 2, 2, 0);
    put_row(&b, 1, 1, 0);
    put_row(&b, 3, 3, 0); /* 8 + 16 bytes: the length of the file alone shows nothing */
    assert_features_fail(write_bytes("d.fvecs", &b), TN_ERR_FORMAT,
                         "d.fvecs: byte 24: row of length 1, but the rows before it have 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_without_their_prefix),
        cmocka_unit_test(fvecs_defects),
        cmocka_unit_test(fvecs_rows_with_differing_lengths),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
