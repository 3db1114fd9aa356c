/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .safetensors reader: types, keys, metadata, and one header a defect. */
#include "fixtures/files.h"
#include "read/safetensors.h"

static const char *write_tensors(const char *name, const char *header, const bytes *values)
{
    bytes b = {.n = 0};
    put_int(&b, strlen(header), 8, false);
    put_text(&b, header);
    put(&b, values->data, values->n);
    return write_bytes(name, &b);
}

static const char *keyed(const char *path, const char *key)
{
    static char rep[600];
    snprintf(rep, sizeof rep, "%s:%s", path, key);
    return rep;
}

static void every_type(void **state)
{
    (void)state;
    static const char *const names[] = {"F16", "BF16", "F32", "F64", "I8",  "U8",  "I16",
                                        "U16", "I32",  "U32", "I64", "U64", "BOOL"};
    for (int t = 0; t <= TN_BOOL; ++t) {
        bytes values = {.n = 0};
        char header[256];
        double out[6];
        for (int i = 0; i < 6; ++i)
            put_element(&values, (tn_dtype)t, t == TN_BOOL ? i % 2 : 20 * i, false);
        snprintf(header, sizeof header, "{\"x\":{\"dtype\":\"%s\",\"shape\":[3,2],\"data_offsets\":[0,%zu]}}  ",
                 names[t], values.n);
        tn_features *features = open_features(write_tensors("t.safetensors", header, &values));
        assert_int_equal(tn_features_rows(features), 3);
        assert_int_equal(tn_features_cols(features), 2);
        assert_int_equal(tn_features_dtype(features), t);
        assert_string_equal(tn_features_format(features), "safetensors");
        assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, NULL, 0, 3, 0, 2, out));
        for (int i = 0; i < 6; ++i)
            assert_near_at((size_t)i, out[i], t == TN_BOOL ? i % 2 : 20 * i, 0);
        tn_features_close(features);
    }
}

static const char *const two = "{\"__metadata__\":{\"format\":\"tenon-head\",\"task\":\"multiclass\"},"
                               "\"a.b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
                               "\"w\":{\"dtype\":\"U8\",\"shape\":[1,3],\"data_offsets\":[3,6]},"
                               "\"q\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}";

static void keys_choose_the_tensor(void **state)
{
    (void)state;
    bytes values = {.n = 0};
    float out[3];
    put(&values, "\1\2\3\4\5\6", 6);
    const char *path = write_tensors("two.safetensors", two, &values);
    tn_features *features = open_features(path); /* w is the only one with two dimensions */
    assert_int_equal(tn_features_cols(features), 3);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 1, 0, 3, out));
    assert_true(out[0] == 4 && out[1] == 5 && out[2] == 6);
    tn_features_close(features);
    features = open_features(keyed(path, "a.b"));
    assert_int_equal(tn_features_rows(features), 2);
    assert_string_equal(tn_features_name(features), "two");
    assert_string_equal(tn_features_path(features), keyed(path, "a.b"));
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 2, 0, 1, out));
    assert_true(out[0] == 2 && out[1] == 3);
    tn_features_close(features);
    assert_features_fail(keyed(path, "q"), TN_ERR_UNSUPPORTED, "tensor 'q': type F8_E4M3");
    assert_features_fail(keyed(path, "none"), TN_ERR_FORMAT, "two.safetensors: no tensor 'none'");
    assert_features_fail(keyed(path, "__metadata__"), TN_ERR_FORMAT, "no tensor '__metadata__'");
    assert_features_survive(keyed(path, "a.b"));
}

static void loading_finds_tensors_and_metadata(void **state)
{
    (void)state;
    bytes values = {.n = 0};
    tnp_safetensors *file = NULL;
    tnp_array array;
    put(&values, "\1\2\3\4\5\6", 6);
    assert_fine(test_ctx, tnp_safetensors_load(test_ctx, write_tensors("h.safetensors", two, &values), &file));
    assert_string_equal(tnp_safetensors_meta(file, "task"), "multiclass");
    assert_null(tnp_safetensors_meta(file, "none"));
    assert_true(tnp_safetensors_has(file, "w"));
    assert_false(tnp_safetensors_has(file, "__metadata__"));
    assert_string_equal(tnp_safetensors_name(file, 0), "a.b");
    assert_string_equal(tnp_safetensors_name(file, 2), "q");
    assert_null(tnp_safetensors_name(file, 3));
    assert_fine(test_ctx, tnp_safetensors_find(test_ctx, file, "w", &array));
    assert_int_equal(array.ndim, 2);
    assert_int_equal(array.shape[1], 3);
    unsigned char first = 0;
    assert_fine(test_ctx, tnp_safetensors_bytes(test_ctx, file, &array, 0, 1, &first));
    assert_int_equal(first, 4);
    assert_int_equal(truncate(file_path("h.safetensors"), 20), 0);
    assert_fails(test_ctx, TN_ERR_IO, "is gone", tnp_safetensors_bytes(test_ctx, file, &array, 0, 1, &first));
    tnp_safetensors_close(file);
    tnp_safetensors_close(NULL);
}

static void expect(const char *header, size_t size, tn_status status, const char *part)
{
    bytes values = {.n = size};
    memset(values.data, 0, size);
    assert_features_fail(write_tensors("b.safetensors", header, &values), status, part);
    assert_non_null(strstr(tn_ctx_message(test_ctx), "b.safetensors"));
}

static void safetensors_header_longer_than_file(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    put_int(&b, UINT64_C(1) << 60, 8, false);
    put_text(&b, "{}");
    assert_features_fail(write_bytes("l.safetensors", &b), TN_ERR_FORMAT,
                         "l.safetensors: byte 0: header of 1152921504606846976 bytes, but only 2 follow");
    b.n = 0;
    put_int(&b, 3, 8, false);
    put_text(&b, "{}");
    assert_features_fail(write_bytes("l.safetensors", &b), TN_ERR_FORMAT, "header of 3 bytes, but only 2 follow");
    assert_features_fail(write_text("l.safetensors", ""), TN_ERR_FORMAT, "l.safetensors: byte 0: the file ends");
    assert_features_fail(write_text("l.safetensors", "1234567"), TN_ERR_FORMAT, "l.safetensors: byte 7: the file ends");
}

static void safetensors_header_defects(void **state)
{
    (void)state;
    expect("", 0, TN_ERR_FORMAT, "byte 8: header: ");
    expect("[]", 0, TN_ERR_FORMAT, "byte 8: header is not an object");
    expect("{\"x\": nul}", 0, TN_ERR_FORMAT, "byte 17: header: ");
    expect("{}", 0, TN_ERR_FORMAT, "0 tensors in it");
    expect("{\"x\":{},\"x\":{}}", 0, TN_ERR_FORMAT, "header: duplicate object key");
    expect("{\"x\":3}", 0, TN_ERR_FORMAT, "byte 8: tensor 'x': no dtype");
    expect("{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, TN_ERR_FORMAT, "byte 8: tensor 'x': shape is not");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,-1],\"data_offsets\":[0,4]}}", 4, TN_ERR_FORMAT,
           "shape is not a list");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1.5],\"data_offsets\":[0,4]}}", 4, TN_ERR_FORMAT,
           "shape is not a list");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1]}}", 4, TN_ERR_FORMAT, "data_offsets are not two sizes");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0]}}", 4, TN_ERR_FORMAT, "not two sizes");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[-4,0]}}", 4, TN_ERR_FORMAT, "not two sizes");
    expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[0,1]},"
           "\"b\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[1,2]}}",
           2, TN_ERR_ARG, "2 tensors in it, 2 with two dimensions");
}

static void safetensors_values_outside_the_file(void **state)
{
    (void)state;
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[50,10],\"data_offsets\":[0,2000000]}}", 10, TN_ERR_FORMAT,
           "byte 72: tensor 'x' has data_offsets [0, 2000000], but 10 bytes follow");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[8,4]}}", 10, TN_ERR_FORMAT,
           "data_offsets [8, 4]");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,4]}}", 4, TN_ERR_FORMAT,
           "byte 64: tensor 'x' of shape (2, 1) and type F32 has 4 bytes");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,9223372036854775807],\"data_offsets\":[0,4]}}", 4,
           TN_ERR_FORMAT, "has 4 bytes");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,1],\"data_offsets\":[0,0]}}", 0, TN_ERR_FORMAT,
           "has 0 bytes");
    expect("{\"x\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999,1],\"data_offsets\":[0,0]}}", 0, TN_ERR_FORMAT,
           "too big integer");
}

static void safetensors_shapes_that_are_no_matrix(void **state)
{
    (void)state;
    expect("{\"x\":{\"dtype\":\"U8\",\"shape\":[1,2,2],\"data_offsets\":[0,4]}}", 4, TN_ERR_UNSUPPORTED,
           "shape (1, 2, 2)");
    expect("{\"x\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, TN_ERR_UNSUPPORTED, "shape ()");
    expect("{\"x\":{\"dtype\":\"U8\",\"shape\":[0,4],\"data_offsets\":[0,0]}}", 0, TN_ERR_DATA, "no rows");
    expect("{\"x\":{\"dtype\":\"U8\",\"shape\":[4,0],\"data_offsets\":[0,0]}}", 0, TN_ERR_DATA, "no columns");
}

/* Every byte of the values belongs to one tensor, in whatever order the header names them. */
static void safetensors_overlaps_and_holes(void **state)
{
    (void)state;
#define BYTES_OF(name, from, to) "\"" name "\":{\"dtype\":\"U8\",\"shape\":[1,2],\"data_offsets\":[" from "," to "]}"
    expect("{" BYTES_OF("a", "0", "2") "," BYTES_OF("b", "1", "3") "}", 3, TN_ERR_FORMAT,
           "tensor 'b' begins at 1 of the values, inside the one before it, which ends at 2");
    expect("{" BYTES_OF("a", "0", "2") "," BYTES_OF("b", "0", "2") "}", 2, TN_ERR_FORMAT, "inside the one before it");
    expect("{" BYTES_OF("a", "0", "2") "," BYTES_OF("b", "3", "5") "}", 5, TN_ERR_FORMAT,
           "tensor 'b' begins at 3 of the values, behind a hole from 2");
    expect("{" BYTES_OF("a", "1", "3") "}", 3, TN_ERR_FORMAT, "behind a hole from 0");
    expect("{" BYTES_OF("a", "0", "2") "}", 3, TN_ERR_FORMAT, "1 bytes behind the last tensor");
    expect("{\"__metadata__\":[]}", 0, TN_ERR_FORMAT, "__metadata__ is not an object");
    bytes values = {.n = 4};
    memcpy(values.data, "\1\2\3\4", 4);
    tn_features *features = open_features(keyed(
        write_tensors("o.safetensors", "{" BYTES_OF("b", "2", "4") "," BYTES_OF("a", "0", "2") "}", &values), "b"));
    float out[2];
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 1, 0, 2, out));
    assert_true(out[0] == 3 && out[1] == 4);
    tn_features_close(features);
#undef BYTES_OF
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(keys_choose_the_tensor),
        cmocka_unit_test(loading_finds_tensors_and_metadata),
        cmocka_unit_test(safetensors_header_longer_than_file),
        cmocka_unit_test(safetensors_header_defects),
        cmocka_unit_test(safetensors_values_outside_the_file),
        cmocka_unit_test(safetensors_shapes_that_are_no_matrix),
        cmocka_unit_test(safetensors_overlaps_and_holes),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
