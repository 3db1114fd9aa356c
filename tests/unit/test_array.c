/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that borrow an array: rectangles of every type, byte order and layout against the numbers that were written;
 * strides of zero; what is refused. */
#include "fixtures/arrays.h"

#include "read/features.h"

enum { ROWS = 150, COLS = 5 };

static double x[ROWS * COLS];

/* Numbers that the type holds; bfloat16 has eight bits. */
static void fill(tn_dtype type)
{
    for (size_t i = 0; i < ROWS * COLS; ++i)
        x[i] = type == TN_BOOL ? (double)(i * 7 % 3 == 1) : (double)(i * 31 % 127);
}

static void check(const tn_features *features, const size_t *index, size_t start, size_t count, size_t col0,
                  size_t cols)
{
    float narrow[ROWS * COLS + 1];
    double wide[ROWS * COLS + 1];
    narrow[count * cols] = -7;
    wide[count * cols] = -7;
    assert_fine(test_ctx, tn_features_read(test_ctx, features, index, start, count, col0, cols, narrow));
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, index, start, count, col0, cols, wide));
    for (size_t i = 0; i < count * cols; ++i) {
        size_t row = index ? index[start + i / cols] : start + i / cols;
        double want = x[row * COLS + col0 + i % cols];
        assert_true((double)narrow[i] == want && wide[i] == want);
    }
    assert_true(narrow[count * cols] == -7 && wide[count * cols] == -7);
}

static void check_ints(const tn_features *features)
{
    int64_t whole[ROWS * COLS];
    assert_fine(test_ctx, tnp_features_read_ints(test_ctx, features, 0, ROWS, whole));
    for (size_t i = 0; i < ROWS * COLS; ++i)
        assert_int_equal(whole[i], (int64_t)x[i]);
}

static void every_type_order_and_layout(void **state)
{
    (void)state;
    size_t index[ROWS];
    for (size_t i = 0; i < ROWS; ++i)
        index[i] = i % 4 == 3 ? index[i - 1] : i * 67 % ROWS;
    for (size_t v = 0; v < TYPES * ORDERS * 2; ++v) {
        tn_dtype type = (tn_dtype)(v % TYPES);
        fill(type);
        memory m = memory_of(x, ROWS, COLS, type, (order)(v / TYPES % ORDERS), v / TYPES / ORDERS != 0);
        tn_features *features = array_features("a", &m);
        assert_int_equal(tn_features_dtype(features), type);
        assert_int_equal(tn_features_rows(features), ROWS);
        assert_int_equal(tn_features_cols(features), COLS);
        check(features, NULL, 0, ROWS, 0, COLS);
        check(features, NULL, 3, 70, 1, 3);
        check(features, NULL, ROWS, 0, 0, COLS);
        check(features, index, 0, ROWS, 0, COLS);
        check(features, index, 10, 50, COLS - 1, 1);
        if (!tnp_dtype_is_float(type))
            check_ints(features);
        tn_features_close(features);
        free(m.block);
    }
}

static void strides_of_zero_repeat_values(void **state)
{
    (void)state;
    const float row[COLS] = {1, 2, 3, 4, 5};
    float out[3 * COLS];
    tn_array array = tn_array_compact(row, TN_F32, 3, COLS);
    array.row_stride = 0;
    for (int columns = 0; columns < 2; ++columns) {
        tn_features *features = NULL;
        assert_fine(test_ctx, tn_features_from_array(test_ctx, "row", &array, &features));
        assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 3, 0, COLS, out));
        for (size_t i = 0; i < 3 * COLS; ++i)
            assert_true(out[i] == row[columns ? 0 : i % COLS]);
        tn_features_close(features);
        array.col_stride = 0;
    }
}

/* Nothing is copied: what is written to the array afterwards is read. */
static void values_are_borrowed(void **state)
{
    (void)state;
    float values[4] = {1, 2, 3, 4}, out[4];
    tn_array array = tn_array_compact(values, TN_F32, 2, 2);
    tn_features *features = NULL;
    assert_fine(test_ctx, tn_features_from_array(test_ctx, "mine", &array, &features));
    values[3] = 9;
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 2, 0, 2, out));
    assert_true(out[3] == 9);
    assert_string_equal(tn_features_name(features), "mine");
    assert_string_equal(tn_features_path(features), "mine");
    assert_string_equal(tn_features_format(features), "array");
    assert_fails(test_ctx, TN_ERR_ARG, "mine: row", tn_features_read(test_ctx, features, NULL, 1, 2, 0, 2, out));
    tn_features_close(features);
}

static void rows_get_names(void **state)
{
    (void)state;
    const float values[2] = {1, 2};
    const char *const ids[] = {"one", "two"}, *const others[] = {"three", "two"};
    tn_array array = tn_array_compact(values, TN_F32, 2, 1);
    tn_features *features = NULL;
    assert_fine(test_ctx, tn_features_from_array(test_ctx, "a", &array, &features));
    assert_null(tn_features_ids(features));
    assert_fine(test_ctx, tn_features_set_ids(test_ctx, features, ids));
    assert_fine(test_ctx, tn_features_set_ids(test_ctx, features, others));
    assert_string_equal(tn_features_ids(features)[0], "three");
    assert_string_equal(tn_features_ids(features)[1], "two");
    tn_features_close(features);
}

static void refuse(const char *name, tn_array array, tn_status status, const char *part)
{
    tn_features *const untouched = (tn_features *)(void *)test_folder;
    tn_features *features = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, tn_features_from_array(test_ctx, name, &array, &features));
    assert_ptr_equal(features, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void what_is_no_matrix_is_refused(void **state)
{
    (void)state;
    const float v[4] = {0};
    tn_array far = tn_array_compact(v, TN_F32, 3, 2);
    refuse(NULL, tn_array_compact(v, TN_F32, 2, 2), TN_ERR_ARG, "no name");
    refuse("", tn_array_compact(v, TN_F32, 2, 2), TN_ERR_ARG, "no name");
    refuse("a", tn_array_compact(v, TN_F32, 0, 2), TN_ERR_DATA, "a: 0 rows of 2 columns");
    refuse("a", tn_array_compact(v, TN_F32, 2, 0), TN_ERR_DATA, "2 rows of 0 columns");
    refuse("a", tn_array_compact(NULL, TN_F32, 2, 2), TN_ERR_ARG, "no data");
    refuse("a", tn_array_compact(v, (tn_dtype)TYPES, 2, 2), TN_ERR_ARG, "element type 13");
    far.row_stride = PTRDIFF_MAX / 2;
    refuse("a", far, TN_ERR_ARG, "leave the memory");
    far.row_stride = PTRDIFF_MIN;
    refuse("a", far, TN_ERR_ARG, "leave the memory");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const float v[4] = {0};
    const char *const ids[2] = {"p", "q"};
    tn_array array = tn_array_compact(v, TN_F32, 2, 2);
    tn_features *features = NULL;
    tn_status st = TN_ERR_MEMORY;
    for (size_t k = 1; st != TN_OK; ++k) {
        size_t blocks = tnp_live_blocks(test_ctx);
        tnp_fail_allocation(test_ctx, k);
        st = tn_features_from_array(test_ctx, "a", &array, &features);
        if (st == TN_OK)
            st = tn_features_set_ids(test_ctx, features, ids);
        tnp_fail_allocation(test_ctx, 0);
        tn_features_close(features);
        features = NULL;
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        assert_true(k < 20 && (st == TN_OK || st == TN_ERR_MEMORY));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_order_and_layout),  cmocka_unit_test(strides_of_zero_repeat_values),
        cmocka_unit_test(values_are_borrowed),          cmocka_unit_test(rows_get_names),
        cmocka_unit_test(what_is_no_matrix_is_refused), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
