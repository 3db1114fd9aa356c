/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from arrays and text, and their mapping to other class names. */
#include "labels_of.h"

static const char *write_ints(const char *descr, const char *shape, bool fortran, size_t width, size_t n,
                              const int64_t *values)
{
    bytes b = {.n = 0};
    put_npy(&b, descr, fortran, shape);
    for (size_t i = 0; i < n; ++i)
        put_int(&b, (uint64_t)values[i], width, descr[0] == '>');
    return write_bytes("y.npy", &b);
}

/* ---- arrays ---- */

static void integers_are_classes_sorted_as_numbers(void **state)
{
    (void)state;
    const int64_t values[] = {10, 9, -1, 2, 10};
    const char *path = write_ints("<i8", "(5,)", false, 8, 5, values);
    check(open_labels(path, TN_TASK_AUTO), TN_TASK_MULTICLASS, "2 9 10", "2 1 ? 0 2");
    check(open_labels(path, TN_TASK_MULTILABEL), TN_TASK_MULTILABEL, "2 9 10", "2 1 ? 0 2");
    path = write_ints(">i2", "(5, 1)", true, 2, 5, values);
    check(open_labels(path, TN_TASK_MULTICLASS), TN_TASK_MULTICLASS, "2 9 10", "2 1 ? 0 2");
    path = write_ints("|b1", "(3,)", false, 1, 3, (const int64_t[]){1, 0, 1});
    check(open_labels(path, TN_TASK_AUTO), TN_TASK_MULTICLASS, "0 1", "1 0 1");
    /* neighbours that a double cannot tell apart */
    path = write_ints("<i8", "(2,)", false, 8, 2, (const int64_t[]){INT64_MAX, INT64_MAX - 1});
    check(open_labels(path, TN_TASK_AUTO), TN_TASK_MULTICLASS, "9223372036854775806 9223372036854775807", "1 0");
}

static void zeros_and_ones_are_several_labels(void **state)
{
    (void)state;
    const int64_t values[] = {0, 1, 1, 0, 0, 0, 1, 1, 1}, turned[] = {0, 0, 1, 1, 0, 1, 1, 0, 1};
    check(open_labels(write_ints("|u1", "(3, 3)", false, 1, 9, values), TN_TASK_AUTO), TN_TASK_MULTILABEL, "0 1 2",
          "1,2 - 0,1,2");
    check(open_labels(write_ints(">i4", "(3, 3)", true, 4, 9, turned), TN_TASK_AUTO), TN_TASK_MULTILABEL, "0 1 2",
          "1,2 - 0,1,2");
    check(open_labels(write_ints("|b1", "(1, 9)", false, 1, 9, values), TN_TASK_MULTILABEL), TN_TASK_MULTILABEL,
          "0 1 2 3 4 5 6 7 8", "1,2,6,7,8");
}

static void label_values_out_of_range(void **state)
{
    (void)state;
    expect(write_ints("<i4", "(3,)", false, 4, 3, (const int64_t[]){0, 1, -2}), TN_TASK_AUTO, TN_ERR_DATA,
           "y.npy: row 2: class -2 is out of range");
    expect(write_ints("<i4", "(2, 2)", false, 4, 4, (const int64_t[]){0, 1, 1, 2}), TN_TASK_AUTO, TN_ERR_DATA,
           "y.npy: row 1, column 1: value 2, expected 0 or 1");
    expect(write_ints("<i4", "(2, 2)", false, 4, 4, (const int64_t[]){0, -1, 1, 0}), TN_TASK_AUTO, TN_ERR_DATA,
           "y.npy: row 0, column 1: value -1");
    expect(write_ints("<u8", "(2,)", false, 8, 2, (const int64_t[]){0, -1}), TN_TASK_AUTO, TN_ERR_DATA,
           "y.npy: row 1: value is above");
    expect(write_ints("<i4", "(2,)", false, 4, 2, (const int64_t[]){-1, -1}), TN_TASK_AUTO, TN_ERR_DATA,
           "y.npy: every row is unlabelled");
    expect(write_ints("<i4", "(2, 2)", false, 4, 4, (const int64_t[]){0, 1, 1, 1}), TN_TASK_MULTICLASS, TN_ERR_DATA,
           "y.npy: row 1 has 2 of the 2 classes, expected one");
    expect(write_ints("<i4", "(2, 2)", false, 4, 4, (const int64_t[]){0, 1, 0, 0}), TN_TASK_MULTICLASS, TN_ERR_DATA,
           "y.npy: row 1 has 0 of the 2 classes, expected one");
    expect(write_ints("<i4", "(0,)", false, 4, 0, NULL), TN_TASK_AUTO, TN_ERR_DATA, "y.npy: no rows");
    expect(write_ints("<i4", "(1, 2, 2)", false, 4, 4, (const int64_t[]){0, 1, 1, 0}), TN_TASK_AUTO, TN_ERR_UNSUPPORTED,
           "shape (1, 2, 2)");
}

static void one_hot_with_the_multiclass_task(void **state)
{
    (void)state;
    const char *path = write_ints("|u1", "(3, 3)", false, 1, 9, (const int64_t[]){0, 0, 1, 1, 0, 0, 0, 0, 1});
    check(open_labels(path, TN_TASK_MULTICLASS), TN_TASK_MULTICLASS, "0 1 2", "2 0 2");
    check(open_labels(path, TN_TASK_AUTO), TN_TASK_MULTILABEL, "0 1 2", "2 0 2");
}

static const char *write_doubles(const char *shape, size_t n, const double *values)
{
    bytes b = {.n = 0};
    put_npy(&b, "<f8", false, shape);
    for (size_t i = 0; i < n; ++i)
        put_int(&b, double_bits(values[i]), 8, false);
    return write_bytes("f.npy", &b);
}

static void floats_of_whole_numbers_are_classes(void **state)
{
    (void)state;
    check(open_labels(write_doubles("(5,)", 5, (const double[]){10, 9, -1, NAN, 10}), TN_TASK_AUTO), TN_TASK_MULTICLASS,
          "9 10", "1 0 ? ? 1");
    check(open_labels(write_doubles("(2, 1)", 2, (const double[]){-0.0, 9007199254740992.0}), TN_TASK_MULTICLASS),
          TN_TASK_MULTICLASS, "0 9007199254740992", "0 1");
    check(open_labels(write_doubles("(2, 2)", 4, (const double[]){1, 1, 0, 1}), TN_TASK_AUTO), TN_TASK_MULTILABEL,
          "0 1", "0,1 1");
    expect(write_doubles("(2,)", 2, (const double[]){1, 0.5}), TN_TASK_AUTO, TN_ERR_DATA,
           "f.npy: row 1: 0.5 is not a whole number that names a class; for values give option task regression");
    expect(write_doubles("(1,)", 1, (const double[]){9007199254740994.0}), TN_TASK_AUTO, TN_ERR_DATA, "f.npy: row 0");
    expect(write_doubles("(1,)", 1, (const double[]){INFINITY}), TN_TASK_AUTO, TN_ERR_DATA, "f.npy: row 0: inf");
    expect(write_doubles("(1, 2)", 2, (const double[]){1, NAN}), TN_TASK_AUTO, TN_ERR_DATA, "f.npy: row 0, column 1");
    expect(write_doubles("(2,)", 2, (const double[]){NAN, -1}), TN_TASK_AUTO, TN_ERR_DATA, "every row is unlabelled");
}

/* Text as numpy stores it: fixed width, zeros behind; four bytes a character or one. */
static const char *write_words(const char *descr, const char *shape, size_t chars, size_t n, const char *const *words)
{
    bytes b = {.n = 0};
    put_npy(&b, descr, false, shape);
    for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < chars; ++c) {
            unsigned char letter = c < strlen(words[i]) ? (unsigned char)words[i][c] : 0;
            put_int(&b, letter, descr[1] == 'U' ? 4 : 1, descr[0] == '>');
        }
    return write_bytes("w.npy", &b);
}

static void arrays_of_text_are_names(void **state)
{
    (void)state;
    const char *const words[] = {"dog", "cat", "", "-1", "cat"}, *const several[] = {"a|b", "b"},
                      *const number[] = {"7", "1.5"};
    check(open_labels(write_words("<U3", "(5,)", 3, 5, words), TN_TASK_AUTO), TN_TASK_MULTICLASS, "cat dog",
          "1 0 ? ? 0");
    check(open_labels(write_words(">U4", "(5, 1)", 4, 5, words), TN_TASK_AUTO), TN_TASK_MULTICLASS, "cat dog",
          "1 0 ? ? 0");
    check(open_labels(write_words("|S3", "(5,)", 3, 5, words), TN_TASK_MULTICLASS), TN_TASK_MULTICLASS, "cat dog",
          "1 0 ? ? 0");
    check(open_labels(write_words("|S3", "(2,)", 3, 2, several), TN_TASK_AUTO), TN_TASK_MULTILABEL, "a b", "0,1 1");
    /* U+00E4 is two bytes of UTF-8 */
    check(open_labels(write_words("<U1", "(1,)", 1, 1, (const char *const[]){"\xe4"}), TN_TASK_AUTO),
          TN_TASK_MULTICLASS, "\xc3\xa4", "0");
    tn_labels *values = open_labels(write_words("|S3", "(2,)", 3, 2, number), TN_TASK_REGRESSION);
    assert_true(values->values[0] == 7 && values->values[1] == 1.5);
    tn_labels_free(values);
    expect(write_words("|S3", "(1,)", 3, 1, (const char *const[]){"a\nb"}), TN_TASK_AUTO, TN_ERR_DATA,
           "w.npy: row 0: a tab or a line end");
    expect(write_words("|S3", "(1,)", 3, 1, (const char *const[]){"a\tb"}), TN_TASK_AUTO, TN_ERR_DATA, "row 0: a tab");
    expect(write_words("|S1", "(1,)", 1, 1, (const char *const[]){"\xff"}), TN_TASK_AUTO, TN_ERR_FORMAT,
           "w.npy: row 0: not text");
    expect(write_words("|S1", "(1, 2)", 1, 2, (const char *const[]){"a", "b"}), TN_TASK_AUTO, TN_ERR_UNSUPPORTED,
           "text of shape (1, 2), expected one name per row");
    expect(write_words("|S1", "(0,)", 1, 0, NULL), TN_TASK_AUTO, TN_ERR_DATA, "w.npy: no rows");
}

static void numbers_need_the_regression_task(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    put_npy(&b, "<f8", false, "(3, 2)");
    for (int i = 0; i < 6; ++i)
        put_int(&b, double_bits(i == 3 ? NAN : 0.1 * i), 8, false);
    const char *path = write_bytes("r.npy", &b);
    expect(path, TN_TASK_AUTO, TN_ERR_DATA, "give option task regression");
    expect(path, TN_TASK_MULTICLASS, TN_ERR_DATA, "give option task regression");
    tn_labels *labels = open_labels(path, TN_TASK_REGRESSION);
    check_names(labels, "0 1");
    assert_null(labels->first);
    assert_null(labels->cls);
    assert_true(labels->known[0] && !labels->known[1] && labels->known[2]);
    assert_true(labels->values[1] == 0.1 && labels->values[5] == 0.1 * 5);
    tn_labels_free(labels);
    labels = open_labels(write_ints("<i4", "(2,)", false, 4, 2, (const int64_t[]){-1, 7}), TN_TASK_REGRESSION);
    check_names(labels, "value");
    assert_true(labels->known[0] && labels->known[1] && labels->values[0] == -1 && labels->values[1] == 7);
    tn_labels_free(labels);
    b.n = 0;
    put_npy(&b, "<f4", false, "(2,)");
    put_int(&b, float_bits(1), 4, false);
    put_int(&b, float_bits(-INFINITY), 4, false);
    expect(write_bytes("r.npy", &b), TN_TASK_REGRESSION, TN_ERR_DATA, "r.npy: row 1, column 0: value is infinite");
    b.n = 0;
    put_npy(&b, "<f4", false, "(1,)");
    put_int(&b, float_bits(NAN), 4, false);
    expect(write_bytes("r.npy", &b), TN_TASK_REGRESSION, TN_ERR_DATA, "r.npy: every row is unlabelled");
}

static void labels_from_a_safetensors_member(void **state)
{
    (void)state;
    bytes b = {.n = 0};
    char path[600];
    const char *header = "{\"y\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}";
    put_int(&b, strlen(header), 8, false);
    put_text(&b, header);
    put(&b, "\3\1\3", 3);
    snprintf(path, sizeof path, "%s:y", write_bytes("y.safetensors", &b));
    check(open_labels(path, TN_TASK_AUTO), TN_TASK_MULTICLASS, "1 3", "1 0 1");
}

/* ---- text ---- */

static void lines_are_class_names(void **state)
{
    (void)state;
    check(text_labels("dog\ncat\n\n-1\ncat", TN_TASK_AUTO), TN_TASK_MULTICLASS, "cat dog", "1 0 ? ? 0");
    check(text_labels("\xef\xbb\xbf"
                      "dog \r\n cat\r\n",
                      TN_TASK_AUTO),
          TN_TASK_MULTICLASS, "cat dog", "1 0");
    check(text_labels("10\n9\n-3\n010\n", TN_TASK_AUTO), TN_TASK_MULTICLASS, "-3 9 010 10", "3 1 0 2");
    check(text_labels("10\n9\nx\n", TN_TASK_AUTO), TN_TASK_MULTICLASS, "10 9 x", "0 1 2");
    check(text_labels("-10\n-9\n100000000000000000000000\n99999999999999999999999\n", TN_TASK_AUTO), TN_TASK_MULTICLASS,
          "-10 -9 99999999999999999999999 100000000000000000000000", "0 1 3 2");
    check(text_labels("\xc3\xa4gel\nzebra\nca\ncat\n", TN_TASK_AUTO), TN_TASK_MULTICLASS, "ca cat zebra \xc3\xa4gel",
          "3 2 0 1");
    check(text_labels("a b\n", TN_TASK_MULTILABEL), TN_TASK_MULTILABEL, "a b", "0");
}

static void bars_join_several_names(void **state)
{
    (void)state;
    check(text_labels("dog|cat\ncat\n\ncow | cat |dog\ncat|cat\n", TN_TASK_AUTO), TN_TASK_MULTILABEL, "cat cow dog",
          "0,2 0 ? 0,1,2 0");
    expect(write_text("l.txt", "a\nb|a\n"), TN_TASK_MULTICLASS, TN_ERR_DATA, "l.txt: line 2: several names");
    expect(write_text("l.txt", "a\nb|\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 2: empty name");
    expect(write_text("l.txt", "|\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 1: empty name");
    expect(write_text("l.txt", "b|-1\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 1: -1 among names");
}

static void ids_before_a_tab(void **state)
{
    (void)state;
    tn_labels *labels = text_labels("img 1\tdog\n b\tcat|dog\r\nc\t\n\t-1\n", TN_TASK_AUTO);
    assert_string_equal(labels->ids[0], "img 1");
    assert_string_equal(labels->ids[1], "b");
    assert_string_equal(labels->ids[2], "c");
    assert_string_equal(labels->ids[3], "");
    check(labels, TN_TASK_MULTILABEL, "cat dog", "1 0,1 ? ?");
    expect(write_text("l.txt", "a\tx\ny\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 2: no id and tab");
    expect(write_text("l.txt", "x\na\ty\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 2: id and tab, but line 1");
    expect(write_text("l.txt", "a\tx\ty\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 1: second tab");
}

static void label_text_defects(void **state)
{
    (void)state;
    expect(file_path("none.txt"), TN_TASK_AUTO, TN_ERR_IO, "none.txt: No such file");
    expect("", TN_TASK_AUTO, TN_ERR_ARG, "labels: no file named");
    expect(write_text("l.txt", ""), TN_TASK_AUTO, TN_ERR_DATA, "l.txt: no rows");
    expect(write_text("l.txt", "\n-1\n"), TN_TASK_AUTO, TN_ERR_DATA, "l.txt: every row is unlabelled");
    expect(write_text("l.txt", "a\nb\xff\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 2: byte 1 of it is not UTF-8");
    expect(write_file("l.txt", "a\0b\n", 4), TN_TASK_AUTO, TN_ERR_FORMAT, "l.txt: line 1: byte 1 of it");
    expect(write_text("l.txt", "\xc0\x80\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "line 1: byte 0");
    expect(write_text("l.txt", "\xed\xa0\x80\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "line 1: byte 0");
    expect(write_text("l.txt", "\xf4\x90\x80\x80\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "line 1: byte 0");
    expect(write_text("l.txt", "\xe2\x82\n"), TN_TASK_AUTO, TN_ERR_FORMAT, "line 1: byte 0");
}

static void text_numbers_for_regression(void **state)
{
    (void)state;
    tn_labels *labels = text_labels("a\t0.1\nb\t\nc\t-1\nd\tnan\n", TN_TASK_REGRESSION);
    check_names(labels, "value");
    assert_int_equal(labels->rows, 4);
    assert_true(labels->known[0] && !labels->known[1] && labels->known[2] && !labels->known[3]);
    assert_true(labels->values[0] == 0.1 && labels->values[2] == -1);
    assert_string_equal(labels->ids[3], "d");
    tn_labels_free(labels);
    expect(write_text("l.txt", "1\ncat\n"), TN_TASK_REGRESSION, TN_ERR_DATA, "l.txt: line 2: expected a number");
    expect(write_text("l.txt", "1\ninf\n"), TN_TASK_REGRESSION, TN_ERR_DATA, "l.txt: line 2: value is infinite");
    expect(write_text("l.txt", "nan\n\n"), TN_TASK_REGRESSION, TN_ERR_DATA, "every row is unlabelled");
}

/* ---- mapping ---- */

static void labels_are_mapped_by_name(void **state)
{
    (void)state;
    const char *const names[] = {"zebra", "cat", "cow", "dog"};
    tn_labels *labels = text_labels("dog|cat\ncat\n\ncow|dog|cat\n", TN_TASK_AUTO);
    assert_fine(test_ctx, tn_labels_map(test_ctx, labels, names, 4));
    assert_ptr_not_equal(labels->names[0], names[0]);
    check(labels, TN_TASK_MULTILABEL, "zebra cat cow dog", "1,3 1 ? 1,2,3");
}

static void label_that_the_head_does_not_know(void **state)
{
    (void)state;
    const char *const names[] = {"cat", "cow"};
    size_t blocks = tnp_live_blocks(test_ctx);
    tn_labels *labels = text_labels("cat\ndog\n", TN_TASK_AUTO);
    assert_fails(test_ctx, TN_ERR_DATA, "l.txt: row 1: class 'dog'", tn_labels_map(test_ctx, labels, names, 2));
    assert_fails(test_ctx, TN_ERR_ARG, "0 class names", tn_labels_map(test_ctx, labels, names, 0));
    check(labels, TN_TASK_MULTICLASS, "cat dog", "0 1");
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    /* a column without positives needs no name */
    const char *const two[] = {"1", "0"};
    labels = open_labels(write_ints("|u1", "(2, 3)", false, 1, 6, (const int64_t[]){1, 1, 0, 0, 1, 0}), TN_TASK_AUTO);
    assert_fine(test_ctx, tn_labels_map(test_ctx, labels, two, 2));
    check(labels, TN_TASK_MULTILABEL, "1 0", "0,1 0");
}

static void regression_maps_by_count(void **state)
{
    (void)state;
    const char *const names[] = {"age", "weight"};
    tn_labels *labels = text_labels("1\n2\n", TN_TASK_REGRESSION);
    assert_fails(test_ctx, TN_ERR_SHAPE, "1 values per row, but the head has 2",
                 tn_labels_map(test_ctx, labels, names, 2));
    assert_fine(test_ctx, tn_labels_map(test_ctx, labels, names, 1));
    check_names(labels, "age");
    tn_labels_free(labels);
}

/* Known classes keep their place, new ones come behind in their own order; a class of the head that no row has stays. */
static void new_classes_are_appended(void **state)
{
    (void)state;
    const char *const names[] = {"zebra", "cat", "cow"};
    tn_labels *labels = text_labels("dog\ncat\n\nant\ncow\n", TN_TASK_AUTO);
    assert_fine(test_ctx, tn_labels_join(test_ctx, labels, names, 3));
    check(labels, TN_TASK_MULTICLASS, "zebra cat cow ant dog", "4 1 ? 3 2");
    labels = text_labels("dog|cat\nowl\nzebra|ant|cat\n", TN_TASK_AUTO);
    assert_fine(test_ctx, tn_labels_join(test_ctx, labels, names, 3));
    check(labels, TN_TASK_MULTILABEL, "zebra cat cow ant dog owl", "1,4 5 0,1,3");
    labels = text_labels("cow\ncat\n", TN_TASK_AUTO); /* nothing new */
    assert_fine(test_ctx, tn_labels_join(test_ctx, labels, names, 3));
    check(labels, TN_TASK_MULTICLASS, "zebra cat cow", "2 1");
    labels = text_labels("cow\ncat\n", TN_TASK_AUTO); /* nothing known */
    assert_fine(test_ctx, tn_labels_join(test_ctx, labels, names, 1));
    check(labels, TN_TASK_MULTICLASS, "zebra cat cow", "2 1");
    labels = text_labels("cow\ncat\n", TN_TASK_AUTO); /* no names at all */
    assert_fine(test_ctx, tn_labels_join(test_ctx, labels, names, 0));
    check(labels, TN_TASK_MULTICLASS, "cat cow", "1 0");
}

static void joining_that_fails_changes_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"zebra", "cat"};
    size_t blocks = tnp_live_blocks(test_ctx);
    tn_labels *labels = text_labels("dog|cat\ncat\n", TN_TASK_AUTO);
    size_t alive = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_labels_join(test_ctx, labels, names, 2);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_int_equal(tnp_live_blocks(test_ctx), alive);
        check_names(labels, "cat dog");
        check_rows(labels, "0,1 0");
    }
    assert_true(k > 3);
    check(labels, TN_TASK_MULTILABEL, "zebra cat dog", "1,2 1");
    labels = text_labels("1\n2\n", TN_TASK_REGRESSION);
    assert_fails(test_ctx, TN_ERR_SHAPE, "1 values per row", tn_labels_join(test_ctx, labels, names, 2));
    tn_labels_free(labels);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void one_class_against_the_rest(void **state)
{
    (void)state;
    size_t k = 1;
    tn_labels *labels = text_labels("dog\ncat\n\ncow\ncat\n", TN_TASK_AUTO);
    assert_fine(test_ctx, tn_labels_against_rest(test_ctx, labels, "cat"));
    assert_string_equal(labels->names[0], "not cat");
    assert_string_equal(labels->names[1], "cat");
    assert_int_equal(labels->classes, 2);
    check_rows(labels, "0 1 ? 0 1");
    tn_labels_free(labels);
    labels = text_labels("dog|cat\ncow|dog|owl\nowl\n", TN_TASK_AUTO);
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_labels_against_rest(test_ctx, labels, "dog");
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        check_names(labels, "cat cow dog owl");
        check_rows(labels, "0,2 1,2,3 3");
    }
    assert_int_equal(k, 4);
    assert_int_equal(labels->task, TN_TASK_MULTICLASS);
    check_rows(labels, "1 1 0");
    assert_fails(test_ctx, TN_ERR_DATA, "no class is called 'owl'", tn_labels_against_rest(test_ctx, labels, "owl"));
    tn_labels_free(labels);
    labels = text_labels("1\n2\n", TN_TASK_REGRESSION);
    assert_fails(test_ctx, TN_ERR_ARG, "have no class '1'", tn_labels_against_rest(test_ctx, labels, "1"));
    tn_labels_free(labels);
}

static void survives(const char *path, tn_task task)
{
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tn_labels *labels = NULL;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_labels_open(test_ctx, path, task, &labels);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(labels);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(k > 5);
    char *before = labels->names[0];
    const char *const names[] = {"cat", "dog", "0", "1"};
    size_t alive = tnp_live_blocks(test_ctx), count = task == TN_TASK_REGRESSION ? 1 : 4;
    for (k = 1;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_labels_map(test_ctx, labels, names, count);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_ptr_equal(labels->names[0], before);
        assert_int_equal(tnp_live_blocks(test_ctx), alive);
    }
    assert_true(k > 1);
    tn_labels_free(labels);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void labels_survive_failing_allocations(void **state)
{
    (void)state;
    survives(write_text("l.txt", "a\tcat|dog\nb\tcat\n"), TN_TASK_AUTO);
    survives(write_text("l.txt", "a\t1\nb\t2\n"), TN_TASK_REGRESSION);
    survives(write_ints("<i4", "(3,)", false, 4, 3, (const int64_t[]){0, 1, 1}), TN_TASK_AUTO);
    survives(write_ints("<i4", "(2, 2)", false, 4, 4, (const int64_t[]){0, 1, 1, 0}), TN_TASK_AUTO);
    survives(write_ints("<i4", "(2,)", false, 4, 2, (const int64_t[]){0, 1}), TN_TASK_REGRESSION);
    survives(write_doubles("(2,)", 2, (const double[]){0, 1}), TN_TASK_AUTO);
    survives(write_words("<U1", "(2,)", 1, 2, (const char *const[]){"0", "1"}), TN_TASK_AUTO);
}

static void names_of_tasks(void **state)
{
    (void)state;
    assert_string_equal(tn_task_name(TN_TASK_AUTO), "auto");
    assert_string_equal(tn_task_name(TN_TASK_MULTICLASS), "multiclass");
    assert_string_equal(tn_task_name(TN_TASK_MULTILABEL), "multilabel");
    assert_string_equal(tn_task_name(TN_TASK_REGRESSION), "regression");
    assert_string_equal(tn_task_name((tn_task)9), "unknown");
    tn_labels_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_classes_sorted_as_numbers),
        cmocka_unit_test(zeros_and_ones_are_several_labels),
        cmocka_unit_test(label_values_out_of_range),
        cmocka_unit_test(numbers_need_the_regression_task),
        cmocka_unit_test(one_hot_with_the_multiclass_task),
        cmocka_unit_test(floats_of_whole_numbers_are_classes),
        cmocka_unit_test(arrays_of_text_are_names),
        cmocka_unit_test(labels_from_a_safetensors_member),
        cmocka_unit_test(lines_are_class_names),
        cmocka_unit_test(bars_join_several_names),
        cmocka_unit_test(ids_before_a_tab),
        cmocka_unit_test(label_text_defects),
        cmocka_unit_test(text_numbers_for_regression),
        cmocka_unit_test(labels_are_mapped_by_name),
        cmocka_unit_test(label_that_the_head_does_not_know),
        cmocka_unit_test(regression_maps_by_count),
        cmocka_unit_test(new_classes_are_appended),
        cmocka_unit_test(joining_that_fails_changes_nothing),
        cmocka_unit_test(one_class_against_the_rest),
        cmocka_unit_test(labels_survive_failing_allocations),
        cmocka_unit_test(names_of_tasks),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
