/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .npy reader: every type in both orders and byte orders against whole numbers put in by the test, and one
 * small file a defect with status and byte position. */
#include "fixtures/files.h"

static const struct kind {
    const char *code;
    tn_dtype dtype;
} kinds[] = {{"f2", TN_F16}, {"f4", TN_F32}, {"f8", TN_F64}, {"i1", TN_I8},  {"u1", TN_U8},  {"i2", TN_I16},
             {"u2", TN_U16}, {"i4", TN_I32}, {"u4", TN_U32}, {"i8", TN_I64}, {"u8", TN_U64}, {"b1", TN_BOOL}};

static int number(tn_dtype type, size_t r, size_t c)
{
    return type == TN_BOOL ? (int)((r + c) % 2) : (int)(7 * r + c);
}

static void check_grid(const tn_features *features, tn_dtype type, size_t rows, size_t cols)
{
    float narrow[200];
    double wide[200];
    assert_int_equal(tn_features_rows(features), rows);
    assert_int_equal(tn_features_cols(features), cols);
    assert_int_equal(tn_features_dtype(features), type);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, rows, 0, cols, narrow));
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, NULL, 0, rows, 0, cols, wide));
    for (size_t i = 0; i < rows * cols; ++i) {
        assert_near_at(i, narrow[i], number(type, i / cols, i % cols), 0);
        assert_near_at(i, wide[i], number(type, i / cols, i % cols), 0);
    }
}

static void every_type_in_both_orders_and_byte_orders(void **state)
{
    (void)state;
    enum { ROWS = 9, COLS = 7 };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (int variant = 0; variant < 4; ++variant) {
            bool fortran = variant & 1, big = variant & 2;
            bytes b = {.n = 0};
            char descr[8];
            bool single = tn_dtype_size(kinds[k].dtype) == 1;
            snprintf(descr, sizeof descr, "%c%s", single ? '|' : big ? '>' : '<', kinds[k].code);
            put_npy(&b, descr, fortran, "(9, 7)");
            for (size_t i = 0; i < ROWS * COLS; ++i)
                put_element(&b, kinds[k].dtype,
                            fortran ? number(kinds[k].dtype, i % ROWS, i / ROWS)
                                    : number(kinds[k].dtype, i / COLS, i % COLS),
                            big);
            tn_features *features = open_features(write_bytes("grid.npy", &b));
            check_grid(features, kinds[k].dtype, ROWS, COLS);
            assert_string_equal(tn_features_format(features), "npy");
            assert_string_equal(tn_features_name(features), "grid");
            bool wide = kinds[k].dtype == TN_F64 || (k >= 7 && k <= 10);
            assert_int_equal(tn_features_is_wide(features), wide);
            tn_features_close(features);
        }
}

static void versions_two_and_three(void **state)
{
    (void)state;
    for (unsigned char version = 2; version <= 3; ++version) {
        bytes b = {.n = 0};
        const char *dict = "{'shape': (2, 2), \"descr\": '=u1' , 'fortran_order':False}      \n";
        put(&b, "\x93NUMPY", 6);
        put(&b, &version, 1);
        put(&b, "", 1);
        put_int(&b, strlen(dict), 4, false);
        put_text(&b, dict);
        for (size_t i = 0; i < 4; ++i)
            put_int(&b, (uint64_t)number(TN_U8, i / 2, i % 2), 1, false);
        tn_features *features = open_features(write_bytes("v.npy", &b));
        check_grid(features, TN_U8, 2, 2);
        tn_features_close(features);
    }
}

static void vector_is_one_column(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    put_npy(&b, "<i2", false, "(3,)");
    for (int i = 0; i < 3; ++i)
        put_int(&b, (uint64_t)(7 * i), 2, false);
    tn_features *features = open_features(write_bytes("vector.npy", &b));
    check_grid(features, TN_I16, 3, 1);
    tn_features_close(features);
}

/* ---- defects ---- */

static void expect(const char *file, tn_status status, const char *part)
{
    char named[64];
    assert_features_fail(file, status, part);
    snprintf(named, sizeof named, "%s", strrchr(file, '/') + 1);
    assert_non_null(strstr(tn_ctx_message(test_ctx), named));
}

static void expect_dict(const char *dict, size_t data, tn_status status, const char *part)
{
    bytes b = {.n = 0};
    put_npy_header(&b, dict);
    for (size_t i = 0; i < data; ++i)
        put(&b, "", 1);
    expect(write_bytes("bad.npy", &b), status, part);
}

static void npy_missing_or_not_a_file(void **state)
{
    (void)state;
    assert_features_fail(file_path("none.npy"), TN_ERR_IO, "none.npy: No such file");
}

static void npy_prefix_defects(void **state)
{
    (void)state;
    expect(write_text("empty.npy", ""), TN_ERR_FORMAT, "byte 0: empty");
    expect(write_text("m.npy", "hellohellohello"), TN_ERR_FORMAT, "byte 0: no .npy magic");
    expect(write_file("m.npy", "\x93NUM", 4), TN_ERR_FORMAT, "byte 0: no .npy magic");
    expect(write_file("v.npy", "\x93NUMPY", 6), TN_ERR_FORMAT, "byte 6: the file ends");
    expect(write_file("v.npy", "\x93NUMPY\4\0\0\0", 10), TN_ERR_FORMAT, "byte 6: unknown version");
    expect(write_file("v.npy", "\x93NUMPY\0\0\0\0", 10), TN_ERR_FORMAT, "byte 6: unknown version");
    expect(write_file("l.npy", "\x93NUMPY\1\0\5", 9), TN_ERR_FORMAT, "byte 8: the file ends");
    expect(write_file("l.npy", "\x93NUMPY\2\0\5\0\0", 11), TN_ERR_FORMAT, "byte 8: the file ends");
}

static void npy_header_longer_than_file(void **state)
{
    (void)state;
    expect(write_file("h.npy", "\x93NUMPY\1\0\xe8\xfd{}", 12), TN_ERR_FORMAT,
           "byte 8: header of 65000 bytes, but only 2 follow");
    expect(write_file("h.npy", "\x93NUMPY\2\0\xff\xff\xff\xff{}", 14), TN_ERR_FORMAT,
           "byte 8: header of 4294967295 bytes, but only 2 follow");
}

static void npy_dict_defects(void **state)
{
    (void)state;
    const char *fine = "'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)";
    char text[256];
    expect_dict("[1, 2]", 4, TN_ERR_FORMAT, "byte 10: header is not a dict");
    expect_dict("{'descr': '<f4', 'fortran_order': False}", 4, TN_ERR_FORMAT, "byte 50: header has no 'shape'");
    expect_dict("{'descr': '<f4', 'shape': (1, 1)}", 4, TN_ERR_FORMAT, "byte 43: header has no 'fortran_order'");
    expect_dict("{'fortran_order': False, 'shape': (1, 1)}", 4, TN_ERR_FORMAT, "byte 51: header has no 'descr'");
    snprintf(text, sizeof text, "{%s, 'x': 1}", fine);
    expect_dict(text, 4, TN_ERR_FORMAT, "byte 68: unknown key");
    snprintf(text, sizeof text, "{%s, 'descr': '<f4'}", fine);
    expect_dict(text, 4, TN_ERR_FORMAT, "byte 68: key twice");
    snprintf(text, sizeof text, "{%s} x", fine);
    expect_dict(text, 4, TN_ERR_FORMAT, "byte 68: text after");
    snprintf(text, sizeof text, "{%s", fine);
    expect_dict(text, 4, TN_ERR_FORMAT, "byte 67: expected ',' or '}'");
    expect_dict("{'descr' '<f4'}", 4, TN_ERR_FORMAT, "byte 19: expected ':'");
    expect_dict("{descr: '<f4'}", 4, TN_ERR_FORMAT, "byte 11: expected a quoted string");
    expect_dict("{'descr", 4, TN_ERR_FORMAT, "byte 17: string in the header is malformed");
    expect_dict("{'a key that is much too long': 1}", 4, TN_ERR_FORMAT, "byte 27: string in the header is malformed");
    expect_dict("{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 1)}", 4, TN_ERR_FORMAT, "byte 44: expected True");
}

static void npy_types_that_are_not_handled(void **state)
{
    (void)state;
    static const char *const types[] = {"|O", "<c8", "<M8[s]", "<f16", "|V2", "<i3", "<f", "<U0", "<U99999999999"};
    char dict[128];
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 1), }", types[i]);
        expect_dict(dict, 8, TN_ERR_UNSUPPORTED, "byte 20: type '");
    }
    expect_dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 1), }", 8, TN_ERR_UNSUPPORTED,
                "byte 20: structured type");
    expect_dict("{'descr': 'f4', 'fortran_order': False, 'shape': (1, 1), }", 4, TN_ERR_FORMAT,
                "byte 20: type does not");
    expect_dict("{'descr': '', 'fortran_order': False, 'shape': (1, 1), }", 4, TN_ERR_FORMAT, "byte 20: type does not");
    expect_dict("{'descr': '|f4', 'fortran_order': False, 'shape': (1, 1), }", 4, TN_ERR_FORMAT,
                "byte 20: type of several");
    expect_dict("{'descr': '<U2', 'fortran_order': False, 'shape': (1, 1), }", 8, TN_ERR_UNSUPPORTED, "holds text");
}

static void expect_shape(const char *shape, size_t data, tn_status status, const char *part)
{
    char dict[256];
    snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    expect_dict(dict, data, status, part);
}

static void npy_shape_defects(void **state)
{
    (void)state;
    expect_shape("(-5, 10)", 200, TN_ERR_FORMAT, "byte 61: negative size");
    expect_shape("(5, -10)", 200, TN_ERR_FORMAT, "byte 64: negative size");
    expect_shape("[5, 1]", 20, TN_ERR_FORMAT, "byte 60: expected a tuple");
    expect_shape("(5)", 20, TN_ERR_FORMAT, "byte 63: shape is a number in parentheses");
    expect_shape("(5 1)", 20, TN_ERR_FORMAT, "byte 63: expected ',' or ')'");
    expect_shape("(5.0, 1)", 20, TN_ERR_FORMAT, "byte 62: expected ',' or ')'");
    expect_shape("(, 1)", 20, TN_ERR_FORMAT, "byte 61: expected a whole number");
    expect_shape("(5, 5, 2)", 200, TN_ERR_UNSUPPORTED, "shape (5, 5, 2) has 3 dimensions");
    expect_shape("()", 4, TN_ERR_UNSUPPORTED, "shape () has 0 dimensions");
    expect_shape("(1, 1, 1, 1, 1, 1, 1, 1, 1)", 4, TN_ERR_UNSUPPORTED, "byte 85: shape has more than 8 dimensions");
}

/* Pooled maps of networks: (rows, columns, 1, 1), and whatever else is a matrix with dimensions of 1 between. */
static void npy_dimensions_of_one(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(3, 2, 1, 1)", "(3, 1, 1, 2)", "(3, 1, 2)"};
    for (size_t s = 0; s < 6; ++s) {
        bytes b = {.n = 0};
        float out[6];
        bool fortran = s % 2;
        put_npy(&b, "<f4", fortran, shapes[s / 2]);
        for (size_t i = 0; i < 6; ++i) /* element (r, c) is 10 r + c */
            put_int(&b, float_bits((float)(fortran ? 10 * (i % 3) + i / 3 : 10 * (i / 2) + i % 2)), 4, false);
        tn_features *features = open_features(write_bytes("p.npy", &b));
        assert_int_equal(tn_features_rows(features), 3);
        assert_int_equal(tn_features_cols(features), 2);
        assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 3, 0, 2, out));
        for (size_t i = 0; i < 6; ++i)
            assert_true(out[i] == (float)(10 * (i / 2) + i % 2));
        tn_features_close(features);
    }
    expect_shape("(1, 2, 1, 2)", 16, TN_ERR_UNSUPPORTED, "shape (1, 2, 1, 2) has 4 dimensions");
}

static void npy_shape_overflow(void **state)
{
    (void)state;
    expect_shape("(9223372036854775807, 9223372036854775807)", 64, TN_ERR_FORMAT,
                 "byte 106: shape (9223372036854775807,");
    expect_shape("(99999999999999999999999, 1)", 64, TN_ERR_FORMAT, "byte 80: size in the shape is too large");
    /* 2^62 elements of 4 bytes: the count fits, the bytes wrap to 0 */
    expect_shape("(4611686018427387904, 1)", 0, TN_ERR_FORMAT, "is too large");
}

static void npy_without_rows_or_columns(void **state)
{
    (void)state;
    expect_shape("(0, 10)", 0, TN_ERR_DATA, "no rows");
    expect_shape("(10, 0)", 0, TN_ERR_DATA, "shape (10, 0) has no columns");
    expect_shape("(0,)", 0, TN_ERR_DATA, "no rows");
}

static void npy_values_cut_off_or_followed_by_more(void **state)
{
    (void)state;
    expect_shape("(3, 4)", 47, TN_ERR_FORMAT, "byte 70: shape (3, 4) needs 48 bytes of values, but 47 follow");
    expect_shape("(3, 4)", 0, TN_ERR_FORMAT, "needs 48 bytes of values, but 0 follow");
    expect_shape("(3, 4)", 49, TN_ERR_FORMAT, "byte 70: shape (3, 4) needs 48 bytes of values, but 49 follow");
}

static void npy_survives_failing_allocations(void **state)
{
    (void)state;
    assert_features_survive(write_grid("a.npy", 3, 2, 0));
}

static void npy_truncated_at_every_length(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    put_npy(&b, "<f4", false, "(2, 2)");
    for (int i = 0; i < 4; ++i)
        put_int(&b, float_bits(1), 4, false);
    for (size_t n = 0; n < b.n; ++n)
        expect(write_file("cut.npy", b.data, n), TN_ERR_FORMAT, "byte ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_in_both_orders_and_byte_orders),
        cmocka_unit_test(versions_two_and_three),
        cmocka_unit_test(vector_is_one_column),
        cmocka_unit_test(npy_missing_or_not_a_file),
        cmocka_unit_test(npy_prefix_defects),
        cmocka_unit_test(npy_header_longer_than_file),
        cmocka_unit_test(npy_dict_defects),
        cmocka_unit_test(npy_types_that_are_not_handled),
        cmocka_unit_test(npy_shape_defects),
        cmocka_unit_test(npy_shape_overflow),
        cmocka_unit_test(npy_dimensions_of_one),
        cmocka_unit_test(npy_without_rows_or_columns),
        cmocka_unit_test(npy_values_cut_off_or_followed_by_more),
        cmocka_unit_test(npy_survives_failing_allocations),
        cmocka_unit_test(npy_truncated_at_every_length),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
