/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .csv reader. */
#include "fixtures/files.h"

static void check_values(const char *text, size_t rows, size_t cols, const double *want)
{
    double out[64];
    tn_features *features = open_features(write_text("a.csv", text));
    assert_int_equal(tn_features_rows(features), rows);
    assert_int_equal(tn_features_cols(features), cols);
    assert_string_equal(tn_features_format(features), "csv");
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, NULL, 0, rows, 0, cols, out));
    for (size_t i = 0; i < rows * cols; ++i)
        if (isnan(want[i]))
            assert_true(isnan(out[i]));
        else
            assert_near_at(i, out[i], want[i], 0);
    tn_features_close(features);
}

static void numbers_with_and_without_header(void **state)
{
    (void)state;
    const double want[] = {1, 2.5, -3, 4, 5e-1, 6};
    check_values("1,2.5,-3\n4,5e-1,6\n", 2, 3, want);
    check_values("1, 2.5 ,-3\r\n4,5e-1,6", 2, 3, want);
    check_values("\xef\xbb\xbf"
                 "a,b,c\n1,2.5,-3\n4,5e-1,6\n\r\n\n",
                 2, 3, want);
    check_values("1,\"b\",2\n\"1\",2.5,-3\n4,\" 5e-1\",6\n", 2, 3, want);
    check_values("1\n2.5\n-3\n4\n0.5\n6\n", 6, 1, want);
}

static void tabs_stand_between_the_cells_of_a_tsv(void **state)
{
    (void)state;
    double out[4];
    tn_features *features = open_features(write_text("a.tsv", "x,1\tid\ty\n1\ta, b\t2\n\"3\"\tc\t\n"));
    assert_string_equal(tn_features_format(features), "tsv");
    assert_int_equal(tn_features_cols(features), 2);
    assert_string_equal(tn_features_ids(features)[0], "a, b");
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, NULL, 0, 2, 0, 2, out));
    assert_true(out[0] == 1 && out[1] == 2 && out[2] == 3 && isnan(out[3]));
    tn_features_close(features);
    assert_features_fail(write_text("a.tsv", "1\t2\n3,4\n"), TN_ERR_FORMAT, "a.tsv: line 2, byte 4, column 1: '3,4'");
}

static void empty_cell_is_nan(void **state)
{
    (void)state;
    const double want[] = {1, NAN, 3, NAN, NAN, NAN};
    check_values("1,,3\n,nan,\n", 2, 3, want);
}

static void column_named_id_names_the_rows(void **state)
{
    (void)state;
    const char *text = "x,id,y\n1,\"a, \"\"b\"\"\n c\",2\n3,d,4\n5,,6\n";
    float out[6];
    tn_features *features = open_features(write_text("i.csv", text));
    const char *const *ids = tn_features_ids(features);
    assert_int_equal(tn_features_cols(features), 2);
    assert_int_equal(tn_features_dtype(features), TN_F32);
    assert_string_equal(ids[0], "a, \"b\"\n c");
    assert_string_equal(ids[1], "d");
    assert_string_equal(ids[2], "");
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 3, 0, 2, out));
    for (size_t i = 0; i < 6; ++i)
        assert_near_at(i, out[i], (double)(i + 1), 0);
    tn_features_close(features);
    assert_features_survive(file_path("i.csv"));
}

static void csv_without_rows_or_columns(void **state)
{
    (void)state;
    assert_features_fail(write_text("e.csv", ""), TN_ERR_DATA, "e.csv: no rows");
    assert_features_fail(write_text("e.csv", "\n\n\r\n"), TN_ERR_DATA, "e.csv: no rows");
    assert_features_fail(write_text("e.csv", "a,b\n"), TN_ERR_DATA, "e.csv: no rows after the header");
    assert_features_fail(write_text("e.csv", "id\nx\n"), TN_ERR_DATA, "e.csv: line 1: 0 columns");
}

static void csv_ragged_rows(void **state)
{
    (void)state;
    assert_features_fail(write_text("r.csv", "1,2\n3\n"), TN_ERR_FORMAT, "r.csv: line 2, byte 4: 1 cells, expected 2");
    assert_features_fail(write_text("r.csv", "a,b\n1,2\n3,4,5\n"), TN_ERR_FORMAT,
                         "r.csv: line 3, byte 8: 3 cells, expected 2");
    assert_features_fail(write_text("r.csv", "1,2\n\n3,4\n"), TN_ERR_FORMAT,
                         "r.csv: line 2, byte 4: 1 cells, expected 2");
}

static void csv_cells_that_are_no_numbers(void **state)
{
    (void)state;
    assert_features_fail(write_text("c.csv", "a,b\n1,cat\n"), TN_ERR_FORMAT, "c.csv: line 2, byte 6, column 2: 'cat'");
    assert_features_fail(write_text("c.csv", "1,2\n1,0x1\n"), TN_ERR_FORMAT, "c.csv: line 2, byte 6, column 2: '0x1'");
    assert_features_fail(write_text("c.csv", "1,2\n\"3\"\"\",4\n"), TN_ERR_FORMAT, "c.csv: line 2, byte 4, column 1");
}

static void csv_quotes_that_are_wrong(void **state)
{
    (void)state;
    assert_features_fail(write_text("q.csv", "id,x\n\"a,1\n"), TN_ERR_FORMAT, "q.csv: line 2, byte 5, column 1");
    assert_features_fail(write_text("q.csv", "id,x\n\"a\"b,1\n"), TN_ERR_FORMAT, "text after the closing quote");
    assert_features_fail(write_text("q.csv", "id,id\n1,2\n"), TN_ERR_FORMAT,
                         "q.csv: line 1, byte 3, column 2: 'id': second");
    assert_features_fail(write_text("q.csv", "id,x\n\xff,1\n"), TN_ERR_FORMAT, "q.csv: line 2, byte 5, column 1");
}

/* 40,000 rows of cells of all lengths, quoted with quotes, commas and line ends in them: whatever a buffer cuts, at any
 * place, is put together again. One identifier is longer than the buffer itself. */
static void csv_larger_than_its_buffer(void **state)
{
    (void)state;
    enum { ROWS = 40000, LONG = 300000, LONG_ROW = 20011 };
    const char *path = file_path("large.csv");
    FILE *f = fopen(path, "wb");
    float out[2];
    assert_non_null(f);
    fputs("\xef\xbb\xbfx,id,y\r\n", f);
    for (size_t i = 0; i < ROWS; ++i) {
        fprintf(f, "%zu,\"n\"\"%zu\"\",\n", i, i);
        for (size_t j = 0; i == LONG_ROW && j < LONG; ++j)
            fputc('z', f);
        fprintf(f, "\",%.*s0.5%s", (int)(i % 7), "       ", i % 2 ? "\r\n" : "\n");
    }
    fputs("\n\r\n", f);
    assert_int_equal(fclose(f), 0);
    tn_features *features = open_features(path);
    assert_int_equal(tn_features_rows(features), ROWS);
    assert_int_equal(tn_features_cols(features), 2);
    for (size_t i = 0; i < ROWS; ++i) {
        char id[40];
        snprintf(id, sizeof id, "n\"%zu\",\n", i);
        assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, i, 1, 0, 2, out));
        assert_true(out[0] == (float)i && out[1] == 0.5f);
        assert_memory_equal(tn_features_ids(features)[i], id, strlen(id));
        assert_int_equal(strlen(tn_features_ids(features)[i]), strlen(id) + (i == LONG_ROW ? LONG : 0));
    }
    tn_features_close(features);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_and_without_header),
        cmocka_unit_test(empty_cell_is_nan),
        cmocka_unit_test(tabs_stand_between_the_cells_of_a_tsv),
        cmocka_unit_test(column_named_id_names_the_rows),
        cmocka_unit_test(csv_without_rows_or_columns),
        cmocka_unit_test(csv_ragged_rows),
        cmocka_unit_test(csv_cells_that_are_no_numbers),
        cmocka_unit_test(csv_quotes_that_are_wrong),
        cmocka_unit_test(csv_larger_than_its_buffer),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
