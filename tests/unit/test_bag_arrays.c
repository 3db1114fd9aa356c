/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags from plain arrays: (N, T, D) as N bags of T, and rows with offsets. */
#include "fixtures/files.h"

static const char *write_array(const char *name, const char *descr, bool fortran, const char *shape, size_t values)
{
    bytes b = {.n = 0};
    put_npy(&b, descr, fortran, shape);
    for (size_t i = 0; i < values; ++i)
        put_element(&b, descr[1] == 'f' ? TN_F32 : TN_I64, (int)i, false);
    return write_bytes(name, &b);
}

static void three_dimensions_are_bags_of_equal_size(void **state)
{
    (void)state;
    tn_bags *bags = NULL;
    float x[6];
    assert_fine(test_ctx,
                tn_bags_open_arrays(test_ctx, write_array("t.npy", "<f4", false, "(4, 2, 3)", 24), NULL, &bags));
    assert_int_equal(tn_bags_count(bags), 4);
    assert_int_equal(tn_features_cols(tn_bags_descriptors(bags)), 3);
    assert_null(tn_bags_positions(bags));
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, 2, 1, x, NULL));
    for (size_t i = 0; i < 6; ++i)
        assert_true(x[i] == (float)(12 + i));
    tn_bags_free(bags);
}

static void rows_with_offsets(void **state)
{
    (void)state;
    tn_bags *bags = NULL;
    const char *rows = write_array("r.npy", "<f4", false, "(3, 2)", 6);
    assert_fine(test_ctx, tn_bags_open_arrays(test_ctx, rows, write_array("o.npy", "<i8", false, "(4,)", 4), &bags));
    assert_int_equal(tn_bags_count(bags), 3);
    tn_bags_free(bags);
    bags = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "the last offset is 4, but there are 3 descriptors",
                 tn_bags_open_arrays(test_ctx, rows, write_array("o.npy", "<i8", false, "(5,)", 5), &bags));
    assert_fails(test_ctx, TN_ERR_FORMAT, "expected one of whole numbers",
                 tn_bags_open_arrays(test_ctx, rows, rows, &bags));
    assert_null(bags);
}

static void arrays_of_other_shapes(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(24,)", "(4, 6)", "(2, 2, 2, 3)", "(0, 2, 3)"};
    tn_bags *bags = NULL;
    for (size_t i = 0; i < 4; ++i)
        assert_fails(
            test_ctx, TN_ERR_SHAPE, "expected (bags, descriptors, values) in C order",
            tn_bags_open_arrays(test_ctx, write_array("t.npy", "<f4", false, shapes[i], i == 3 ? 0 : 24), NULL, &bags));
    assert_fails(test_ctx, TN_ERR_SHAPE, "in Fortran order",
                 tn_bags_open_arrays(test_ctx, write_array("t.npy", "<f4", true, "(4, 2, 3)", 24), NULL, &bags));
    assert_fails(test_ctx, TN_ERR_IO, "none.npy", tn_bags_open_arrays(test_ctx, file_path("none.npy"), NULL, &bags));
    assert_null(bags);
}

/* A text of labels reads back as the same labels. */
static void labels_as_text(void **state)
{
    (void)state;
    tn_labels *labels = NULL, *again = NULL;
    char *text = NULL;
    static const int64_t numbers[] = {1, 0, -1, 2, 1};
    static const char *const names[] = {"a", "b c", "d"}, *const wrong[] = {"a", "b|c", "d"};
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 5, names, 3, &labels));
    assert_fine(test_ctx, tn_labels_text(test_ctx, labels, &text));
    assert_string_equal(text, "b c\na\n-1\nd\nb c\n");
    assert_fine(test_ctx, tn_text_write(test_ctx, text, file_path("l.txt")));
    assert_fine(test_ctx, tn_labels_open(test_ctx, file_path("l.txt"), TN_TASK_AUTO, &again));
    assert_int_equal(tn_labels_rows(again), 5);
    assert_string_equal(tn_labels_class_names(again)[1], "b c");
    tn_labels_free(again);
    tn_labels_free(labels);
    tn_text_free(text);
    labels = NULL;
    text = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 5, wrong, 3, &labels));
    assert_fails(test_ctx, TN_ERR_DATA, "class 'b|c' cannot stand", tn_labels_text(test_ctx, labels, &text));
    tn_labels_free(labels);
    assert_fails(test_ctx, TN_ERR_OUTPUT, "none", tn_text_write(test_ctx, "x", file_path("none/l.txt")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_dimensions_are_bags_of_equal_size),
                                       cmocka_unit_test(rows_with_offsets), cmocka_unit_test(arrays_of_other_shapes),
                                       cmocka_unit_test(labels_as_text)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
