/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LIBSVM text. */
#include "fixtures/files.h"

static void rows_are_dense_and_comments_are_skipped(void **state)
{
    (void)state;
    static const double want[4][4] = {{0.5, 0, -2, 0}, {0, 0, 0, 0}, {0, 0, 0, 1e-3}, {7, 8, 9, 10}};
    double out[16];
    const char *text = "# a comment\n+1 1:0.5 3:-2 # and here 9:9\r\n\n-1\n  2.5\t4:1e-3  \n1,2 1:7 2:8 3:9 4:10";
    tn_features *features = open_features(write_text("a.svm", text));
    assert_int_equal(tn_features_rows(features), 4);
    assert_int_equal(tn_features_cols(features), 4);
    assert_string_equal(tn_features_format(features), "libsvm");
    assert_int_equal(tn_features_dtype(features), TN_F64); /* 1e-3 is no float */
    assert_true(tn_features_is_wide(features));
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, NULL, 0, 4, 0, 4, out));
    assert_memory_equal(out, want, sizeof want);
    tn_features_close(features);
    assert_features_survive(file_path("a.svm"));
}

static void values_that_are_floats_stay_floats(void **state)
{
    (void)state;
    float out[2];
    tn_features *features = open_features(write_text("f.libsvm", "0 1:0.5 2:nan\n"));
    assert_int_equal(tn_features_dtype(features), TN_F32);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 1, 0, 2, out));
    assert_true(out[0] == 0.5f && isnan(out[1]));
    tn_features_close(features);
}

static void libsvm_defects(void **state)
{
    (void)state;
    assert_features_fail(write_text("e.svm", ""), TN_ERR_DATA, "e.svm: no rows");
    assert_features_fail(write_text("e.svm", "# nothing\n\n"), TN_ERR_DATA, "e.svm: no rows");
    assert_features_fail(write_text("e.svm", "1\n2\n"), TN_ERR_DATA, "e.svm: no index:value in any row");
    assert_features_fail(write_text("b.svm", "1 1:2\n1 0:1\n"), TN_ERR_FORMAT, "b.svm: line 2: index 0");
    assert_features_fail(write_text("b.svm", "1 2:2 2:3\n"), TN_ERR_FORMAT, "b.svm: line 1: index 2 after 2");
    assert_features_fail(write_text("b.svm", "1 1:1\n\n1 5:2 4:3\n"), TN_ERR_FORMAT, "b.svm: line 3: index 4 after 5");
    assert_features_fail(write_text("b.svm", "1 16777217:1\n"), TN_ERR_FORMAT,
                         "b.svm: line 1: index of '16777217:1' is above");
    assert_features_fail(write_text("b.svm", "1 99999999999999999999999:1\n"), TN_ERR_FORMAT, "line 1: index of '999");
    assert_features_fail(write_text("b.svm", "1 -1:1\n"), TN_ERR_FORMAT, "b.svm: line 1: '-1:1', expected index:value");
    assert_features_fail(write_text("b.svm", "1 1:\n"), TN_ERR_FORMAT, "b.svm: line 1: '1:', expected");
    assert_features_fail(write_text("b.svm", "1 1\n"), TN_ERR_FORMAT, "b.svm: line 1: '1', expected");
    assert_features_fail(write_text("b.svm", "1 1:x\n"), TN_ERR_FORMAT, "b.svm: line 1: '1:x', expected");
    assert_features_fail(write_text("b.svm", "1 qid:3 1:1\n"), TN_ERR_FORMAT, "b.svm: line 1: 'qid:3', expected");
    assert_features_fail(write_text("b.svm", "1:1 2:1\n"), TN_ERR_FORMAT, "b.svm: line 1: starts with '1:1'");
    assert_features_fail(write_file("b.svm", "1 1:\0\n", 6), TN_ERR_FORMAT, "b.svm: line 1: '1:?', expected");
}

static void libsvm_large_index_meets_the_budget(void **state)
{
    (void)state;
    tn_ctx_set_memory(test_ctx, 1 << 20);
    assert_features_fail(write_text("big.svm", "1 8388608:1\n1 1:1\n"), TN_ERR_BUDGET, "64.0 MB");
    tn_ctx_set_memory(test_ctx, 0);
}

/* 370 bytes whose dense rows would be a gigabyte. */
static void libsvm_tiny_file_asks_for_gigabytes(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    for (int i = 0; i < 20; ++i)
        put_text(&b, "1 1:1 16777216:0.5\n");
    assert_features_fail(write_bytes("bomb.svm", &b), TN_ERR_DATA, "bomb.svm: 380 bytes would unfold to 1280.0 MB");
    assert_features_fail(write_text("bomb.svm", "1 1000000000:1\n"), TN_ERR_FORMAT, "is above 16777216");
}

/* Lines of all lengths across the buffer's ends. */
static void libsvm_larger_than_its_buffer(void **state)
{
    (void)state;
    enum { ROWS = 30000 };
    const char *path = file_path("large.svm");
    FILE *f = fopen(path, "wb");
    float out[3];
    assert_non_null(f);
    for (size_t i = 0; i < ROWS; ++i)
        fprintf(f, "%zu 1:%zu%*s3:0.25%s", i % 5, i, (int)(1 + i % 11), "", i % 3 ? "\n" : " # comment\r\n");
    assert_int_equal(fclose(f), 0);
    tn_features *features = open_features(path);
    assert_int_equal(tn_features_rows(features), ROWS);
    for (size_t i = 0; i < ROWS; ++i) {
        assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, i, 1, 0, 3, out));
        assert_true(out[0] == (float)i && out[1] == 0 && out[2] == 0.25f);
    }
    tn_features_close(features);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_dense_and_comments_are_skipped),
        cmocka_unit_test(values_that_are_floats_stay_floats),
        cmocka_unit_test(libsvm_defects),
        cmocka_unit_test(libsvm_large_index_meets_the_budget),
        cmocka_unit_test(libsvm_tiny_file_asks_for_gigabytes),
        cmocka_unit_test(libsvm_larger_than_its_buffer),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
