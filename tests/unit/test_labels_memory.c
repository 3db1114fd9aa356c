/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from memory: what every constructor makes of small tables that are written out here, what it refuses, and that
 * files of the same content give the same labels. */
#include "labels_of.h"
#include "ref_random.h"
#include "tenon/pipeline.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "pipeline/options.h"

static const char *const animals[] = {"zebra", "ape", "cow"};

/* ---- class numbers ---- */

static void numbers_with_names_keep_their_order(void **state)
{
    (void)state;
    const int64_t numbers[] = {2, 0, -1, 1, INT64_MIN};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 5, animals, 3, &l));
    assert_string_equal(tn_labels_path(l), "labels in memory");
    check(l, TN_TASK_MULTICLASS, "zebra ape cow", "2 0 ? 1 ?");
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 5, NULL, 4, &l));
    check(l, TN_TASK_MULTICLASS, "0 1 2 3", "2 0 ? 1 ?");
}

static void numbers_without_classes_are_what_occurs(void **state)
{
    (void)state;
    const int64_t numbers[] = {1000000000000, 7, -1, 70, 7};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 5, NULL, 0, &l));
    check(l, TN_TASK_MULTICLASS, "7 70 1000000000000", "2 0 ? 1 0");
}

static void expect_numbers(const int64_t *numbers, size_t rows, const char *const *names, size_t classes,
                           tn_status status, const char *part)
{
    size_t blocks = tnp_live_blocks(test_ctx);
    tn_labels *l = NULL;
    assert_fails(test_ctx, status, part, tn_labels_from_numbers(test_ctx, numbers, rows, names, classes, &l));
    assert_null(l);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void numbers_that_are_no_classes(void **state)
{
    (void)state;
    const int64_t above[] = {0, 2, 3}, none[] = {-1, -2, -3}, fine[] = {0, 1};
    expect_numbers(above, 3, animals, 3, TN_ERR_DATA, "labels in memory: row 2: class 3, but there are 3 classes");
    expect_numbers(none, 3, animals, 3, TN_ERR_DATA, "every row is unlabelled");
    expect_numbers(none, 3, NULL, 0, TN_ERR_DATA, "every row is unlabelled");
    expect_numbers(fine, 0, animals, 3, TN_ERR_DATA, "every row is unlabelled");
    expect_numbers(fine, 2, NULL, ((size_t)1 << 24) + 1, TN_ERR_DATA, "at most 16777216 are handled");
}

/* A head with such names could not be loaded again. */
static void names_that_tell_nothing_apart(void **state)
{
    (void)state;
    const int64_t fine[] = {0, 1};
    const char *const twice[] = {"a", "b", "a"}, *const empty[] = {"a", ""}, *const missing[] = {NULL, "a"},
                      *const not_text[] = {"a", "b\xff"};
    expect_numbers(fine, 2, twice, 3, TN_ERR_DATA, "'a' stands there twice");
    expect_numbers(fine, 2, empty, 2, TN_ERR_ARG, "the name of class 1 is empty");
    expect_numbers(fine, 2, missing, 2, TN_ERR_ARG, "the name of class 0 is empty");
    expect_numbers(fine, 2, not_text, 2, TN_ERR_DATA, "the name of class 1: byte 1 of it is not UTF-8");
}

/* Classes of files are sorted, so that equal numbers are neighbours; those of memory need not be. */
static void two_spellings_of_one_number_that_are_not_neighbours(void **state)
{
    (void)state;
    const int64_t numbers[] = {0, 1, 2};
    const char *const spelled[] = {"1", "0", "01"};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 3, spelled, 3, &l));
    assert_fails(test_ctx, TN_ERR_DATA, "classes 1 and 01 are the same number",
                 tn_labels_name(test_ctx, l, animals, 3));
    check(l, TN_TASK_MULTICLASS, "1 0 01", "0 1 2");
}

/* ---- lists ---- */

static void lists_in_any_order_with_repetitions(void **state)
{
    (void)state;
    const size_t first[] = {1, 3, 3, 4, 8, 9}; /* the list need not begin at 0 */
    const int64_t numbers[] = {99, 2, 0, -1, 1, 0, 1, 0, 2};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_lists(test_ctx, first, numbers, 5, animals, 3, &l));
    size_t count = 9;
    assert_null(tn_labels_of(l, 2, &count));
    assert_int_equal(count, 0);
    const uint32_t *own = tn_labels_of(l, 3, &count);
    assert_int_equal(count, 2);
    assert_true(own[0] == 0 && own[1] == 1);
    check(l, TN_TASK_MULTILABEL, "zebra ape cow", "0,2 - ? 0,1 2");
}

static void expect_lists(const size_t *first, const int64_t *numbers, size_t rows, size_t classes, tn_status status,
                         const char *part)
{
    size_t blocks = tnp_live_blocks(test_ctx);
    tn_labels *l = NULL;
    assert_fails(test_ctx, status, part, tn_labels_from_lists(test_ctx, first, numbers, rows, NULL, classes, &l));
    assert_null(l);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void lists_that_are_none(void **state)
{
    (void)state;
    const size_t backwards[] = {0, 2, 1}, fine[] = {0, 2, 4}, single[] = {0, 1, 2};
    const int64_t numbers[] = {0, 1, 2, 1}, among[] = {0, 1, 1, -1}, none[] = {-1, -1};
    expect_lists(backwards, numbers, 2, 3, TN_ERR_ARG, "row 1: its list begins at 2 and ends at 1");
    expect_lists(fine, numbers, 2, 2, TN_ERR_DATA, "row 1: class 2, but there are 2 classes");
    expect_lists(fine, among, 2, 2, TN_ERR_DATA, "row 1: -1 among its classes");
    expect_lists(fine, numbers, 2, 0, TN_ERR_ARG, "no classes");
    expect_lists(single, none, 2, 2, TN_ERR_DATA, "every row is unlabelled");
}

/* ---- 0 and 1 ---- */

/* The same table by rows, by columns, from its end, and as every other byte. */
static void marks_with_any_strides(void **state)
{
    (void)state;
    const uint8_t by_rows[] = {0, 1, 1, 0, 0, 0}, by_columns[] = {0, 0, 1, 0, 1, 0};
    const uint8_t apart[] = {0, 7, 1, 7, 1, 7, 0, 7, 0, 7, 0, 7};
    const struct {
        const uint8_t *data;
        ptrdiff_t row, col;
    } tables[] = {{by_rows, 3, 1}, {by_columns, 1, 2}, {apart, 6, 2}};
    for (size_t t = 0; t < 3; ++t) {
        tn_labels *l = NULL;
        assert_fine(test_ctx, tn_labels_from_matrix(test_ctx, tables[t].data, 2, 3, tables[t].row, tables[t].col,
                                                    animals, TN_TASK_AUTO, &l));
        check(l, TN_TASK_MULTILABEL, "zebra ape cow", "1,2 -");
    }
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_matrix(test_ctx, by_rows + 5, 2, 3, -3, -1, NULL, TN_TASK_MULTILABEL, &l));
    check(l, TN_TASK_MULTILABEL, "0 1 2", "- 0,1");
}

static void marks_of_one_class_per_row(void **state)
{
    (void)state;
    const uint8_t one[] = {0, 1, 1, 0}, two[] = {0, 1, 1, 1}, odd[] = {0, 1, 2, 0};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_matrix(test_ctx, one, 2, 2, 2, 1, NULL, TN_TASK_MULTICLASS, &l));
    check(l, TN_TASK_MULTICLASS, "0 1", "1 0");
    l = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "row 1 has 2 of the 2 classes, expected one",
                 tn_labels_from_matrix(test_ctx, two, 2, 2, 2, 1, NULL, TN_TASK_MULTICLASS, &l));
    assert_fails(test_ctx, TN_ERR_DATA, "row 1, column 0: value 2, expected 0 or 1",
                 tn_labels_from_matrix(test_ctx, odd, 2, 2, 2, 1, NULL, TN_TASK_MULTILABEL, &l));
    assert_fails(test_ctx, TN_ERR_ARG, "no regression",
                 tn_labels_from_matrix(test_ctx, one, 2, 2, 2, 1, NULL, TN_TASK_REGRESSION, &l));
    assert_null(l);
}

/* ---- values ---- */

static void values_and_rows_without(void **state)
{
    (void)state;
    const double values[] = {1.5, -2, 0.25, NAN, 3, 4}, infinite[] = {1, INFINITY}, none[] = {NAN, NAN};
    const char *const names[] = {"height", "width"};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_values(test_ctx, values, 3, 2, names, &l));
    assert_int_equal(tn_labels_task(l), TN_TASK_REGRESSION);
    assert_int_equal(tn_labels_rows(l), 3);
    assert_int_equal(tn_labels_classes(l), 2);
    check_names(l, "height width");
    assert_true(tn_labels_known(l, 0) && !tn_labels_known(l, 1) && tn_labels_known(l, 2));
    assert_memory_equal(tn_labels_values(l), values, sizeof values);
    size_t count = 9;
    assert_null(tn_labels_of(l, 0, &count));
    assert_int_equal(count, 0);
    tn_labels_free(l);
    assert_fine(test_ctx, tn_labels_from_values(test_ctx, values, 3, 1, NULL, &l));
    check_names(l, "value");
    tn_labels_free(l);
    assert_fine(test_ctx, tn_labels_from_values(test_ctx, values, 2, 3, NULL, &l));
    check_names(l, "0 1 2");
    tn_labels_free(l);
    l = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "row 1, column 0: value is infinite",
                 tn_labels_from_values(test_ctx, infinite, 2, 1, NULL, &l));
    assert_fails(test_ctx, TN_ERR_DATA, "every row is unlabelled",
                 tn_labels_from_values(test_ctx, none, 2, 1, NULL, &l));
    assert_fails(test_ctx, TN_ERR_ARG, "no values", tn_labels_from_values(test_ctx, values, 2, 0, NULL, &l));
    assert_null(l);
}

/* ---- files and memory ---- */

static void assert_same_labels(const tn_labels *a, const tn_labels *b)
{
    assert_int_equal(a->task, b->task);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->classes, b->classes);
    for (size_t k = 0; k < a->classes; ++k)
        assert_string_equal(a->names[k], b->names[k]);
    assert_memory_equal(a->known, b->known, a->rows * sizeof *a->known);
    assert_memory_equal(a->first, b->first, (a->rows + 1) * sizeof *a->first);
    assert_memory_equal(a->cls, b->cls, a->first[a->rows] * sizeof *a->cls);
}

/* Rows of 0 to 4 labels among 5, some without: a text of names joined by |, lists of numbers and, where all are
 * labelled, marks. */
static void a_file_and_memory_give_the_same_labels(void **state)
{
    (void)state;
    enum { ROWS = 200, CLASSES = 5 };
    static const char *const names[CLASSES] = {"a", "b", "c", "d", "e"}; /* in the order that a file has them */
    char text[ROWS * 16] = "";
    size_t first[ROWS + 1] = {0}, used = 0;
    int64_t numbers[ROWS * CLASSES];
    uint8_t marks[ROWS * CLASSES] = {0};
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t k = CLASSES; k-- > 0;) /* backwards, and both orders mean the same */
            if (ref_unit(&rng) < 0.4) {
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", used > first[i] ? "|" : "", names[k]);
                numbers[used++] = (int64_t)k;
                marks[i * CLASSES + k] = 1;
            }
        if (used == first[i]) { /* a text cannot say "labelled, with no class" */
            numbers[used++] = -1;
            marks[i * CLASSES] = 1;
        }
        strcat(text, "\n");
        first[i + 1] = used;
    }
    tn_labels *file = text_labels(text, TN_TASK_AUTO), *lists = NULL, *matrix = NULL;
    assert_fine(test_ctx, tn_labels_from_lists(test_ctx, first, numbers, ROWS, names, CLASSES, &lists));
    assert_same_labels(file, lists);
    for (size_t i = 0; i < ROWS; ++i)
        numbers[first[i]] = numbers[first[i]] < 0 ? 0 : numbers[first[i]];
    tn_labels_free(lists);
    assert_fine(test_ctx, tn_labels_from_lists(test_ctx, first, numbers, ROWS, names, CLASSES, &lists));
    assert_fine(test_ctx,
                tn_labels_from_matrix(test_ctx, marks, ROWS, CLASSES, CLASSES, 1, names, TN_TASK_AUTO, &matrix));
    assert_same_labels(lists, matrix);
    tn_labels_free(file);
    tn_labels_free(lists);
    tn_labels_free(matrix);
}

static void an_array_of_any_type_as_labels(void **state)
{
    (void)state;
    tn_features *features = NULL;
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_features_open(test_ctx, write_text("l.csv", "id,y\nx,7\ny,-1\nz,3\n"), &features));
    assert_fine(test_ctx, tn_labels_from_features(test_ctx, features, TN_TASK_AUTO, &l));
    tn_features_close(features);
    assert_string_equal(tn_labels_ids(l)[2], "z");
    assert_non_null(strstr(tn_labels_path(l), "l.csv"));
    check(l, TN_TASK_MULTICLASS, "3 7", "1 ? 0");
}

/* ---- ids, weights, forgetting ---- */

static void ids_are_compared_with_those_of_the_features(void **state)
{
    (void)state;
    const int64_t numbers[] = {0, 1};
    const char *const ids[] = {"x", "y"}, *const others[] = {"x", "z"};
    tn_features *features = NULL;
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_features_open(test_ctx, write_text("f.csv", "id,v\nx,1\ny,2\n"), &features));
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 2, NULL, 0, &l));
    assert_null(tn_labels_ids(l));
    assert_fine(test_ctx, tn_labels_set_ids(test_ctx, l, ids));
    assert_fine(test_ctx, tn_rows_agree(test_ctx, (const tn_features *const *)&features, 1, l));
    assert_fine(test_ctx, tn_labels_set_ids(test_ctx, l, others));
    assert_fails(test_ctx, TN_ERR_DATA, "row 1 is 'y', but labels in memory has 'z'",
                 tn_rows_agree(test_ctx, (const tn_features *const *)&features, 1, l));
    assert_fine(test_ctx, tn_labels_set_ids(test_ctx, l, NULL));
    assert_null(tn_labels_ids(l));
    tn_labels_free(l);
    tn_features_close(features);
}

static void weights_from_memory_and_from_files(void **state)
{
    (void)state;
    const int64_t numbers[] = {0, 1, 0};
    const double weights[] = {0.5, 2, 0.1};
    tn_labels *l = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 3, NULL, 0, &l));
    assert_null(tn_labels_weights(l));
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, l, weights, 3));
    assert_memory_equal(tn_labels_weights(l), weights, sizeof weights);
    assert_fails(test_ctx, TN_ERR_SHAPE, "weights in memory: 2 of them, expected one weight for each of 3 rows",
                 tn_labels_set_weights(test_ctx, l, weights, 2));
    assert_fails(test_ctx, TN_ERR_SHAPE, "short.csv: 2 x 1, expected one weight for each of 3 rows",
                 tn_labels_open_weights(test_ctx, l, write_text("short.csv", "1\n2\n")));
    assert_fails(test_ctx, TN_ERR_SHAPE, "wide.csv: 3 x 2, expected one weight for each of 3 rows",
                 tn_labels_open_weights(test_ctx, l, write_text("wide.csv", "1,2\n2,3\n3,4\n")));
    assert_fails(test_ctx, TN_ERR_IO, "missing.npy", tn_labels_open_weights(test_ctx, l, file_path("missing.npy")));
    assert_memory_equal(tn_labels_weights(l), weights, sizeof weights); /* a failure changes nothing */
    assert_fine(test_ctx, tn_labels_open_weights(test_ctx, l, write_text("w.csv", "3\n0\n1.25\n")));
    assert_true(tn_labels_weights(l)[0] == 3 && tn_labels_weights(l)[1] == 0 && tn_labels_weights(l)[2] == 1.25);
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, l, NULL, 0));
    assert_null(tn_labels_weights(l));
    tn_labels_forget(l, 1);
    assert_false(tn_labels_known(l, 1));
    tn_labels_free(l);
}

/* A training whose labels never were a file. */
static void a_head_from_labels_in_memory(void **state)
{
    (void)state;
    const int64_t numbers[] = {0, 0, 0, 1, 1, 1, -1};
    const char *const names[] = {"low", "high"};
    tn_features *features = NULL;
    tn_labels *l = NULL;
    tnp_fit_options options;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    assert_fine(test_ctx, tn_features_open(test_ctx, write_text("f.csv", "1,0\n1,0.5\n1,0.3\n0,1\n0.2,1\n0.1,1\n9,9\n"),
                                           &features));
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 7, names, 2, &l));
    tnp_fit_options_default(&options);
    assert_fine(test_ctx, tnp_fit(test_ctx, (const tn_features *const *)&features, 1, l, &options, &info, &head));
    assert_string_equal(tn_head_class_names(head)[0], "low");
    assert_string_equal(tn_head_class_names(head)[1], "high");
    assert_true(tn_head_weight(head)[0] > 0 && tn_head_weight(head)[2] < 0); /* column 0 speaks for "low" */
    tn_head_free(head);
    tn_fit_info_free(info);
    tn_labels_free(l);
    tn_features_close(features);
}

/* ---- failing allocations ---- */

typedef tn_status (*make_fn)(tn_labels **out);

static tn_status make_numbers(tn_labels **out)
{
    return tn_labels_from_numbers(test_ctx, (const int64_t[]){2, 0, -1}, 3, animals, 3, out);
}

static tn_status make_occurring(tn_labels **out)
{
    return tn_labels_from_numbers(test_ctx, (const int64_t[]){2, 0, -1}, 3, NULL, 0, out);
}

static tn_status make_lists(tn_labels **out)
{
    return tn_labels_from_lists(test_ctx, (const size_t[]){0, 3, 6}, (const int64_t[]){0, 1, 2, 2, 1, 0}, 2, animals, 3,
                                out);
}

static tn_status make_matrix(tn_labels **out)
{
    return tn_labels_from_matrix(test_ctx, (const uint8_t[]){1, 1, 1, 1, 1, 0}, 2, 3, 3, 1, NULL, TN_TASK_AUTO, out);
}

static tn_status make_values(tn_labels **out)
{
    return tn_labels_from_values(test_ctx, (const double[]){1, 2}, 2, 1, NULL, out);
}

static tn_status make_weighted(tn_labels **out)
{
    tn_labels *l = NULL;
    tn_status st = make_numbers(&l);
    if (st == TN_OK)
        st = tn_labels_set_ids(test_ctx, l, animals);
    if (st == TN_OK)
        st = tn_labels_set_weights(test_ctx, l, (const double[]){1, 2, 3}, 3);
    if (st == TN_OK)
        st = tn_labels_open_weights(test_ctx, l, file_path("w.csv"));
    if (st == TN_OK)
        *out = l;
    else
        tn_labels_free(l);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const make_fn makers[] = {make_numbers, make_occurring, make_lists, make_matrix, make_values, make_weighted};
    write_text("w.csv", "3\n0\n1.25\n");
    for (size_t m = 0; m < sizeof makers / sizeof *makers; ++m) {
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        for (;; ++k) {
            tn_labels *l = NULL;
            tnp_fail_allocation(test_ctx, k);
            tn_status st = makers[m](&l);
            tnp_fail_allocation(test_ctx, 0);
            if (st == TN_OK) {
                tn_labels_free(l);
                break;
            }
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_null(l);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(k > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_names_keep_their_order),
        cmocka_unit_test(numbers_without_classes_are_what_occurs),
        cmocka_unit_test(numbers_that_are_no_classes),
        cmocka_unit_test(names_that_tell_nothing_apart),
        cmocka_unit_test(two_spellings_of_one_number_that_are_not_neighbours),
        cmocka_unit_test(lists_in_any_order_with_repetitions),
        cmocka_unit_test(lists_that_are_none),
        cmocka_unit_test(marks_with_any_strides),
        cmocka_unit_test(marks_of_one_class_per_row),
        cmocka_unit_test(values_and_rows_without),
        cmocka_unit_test(a_file_and_memory_give_the_same_labels),
        cmocka_unit_test(an_array_of_any_type_as_labels),
        cmocka_unit_test(ids_are_compared_with_those_of_the_features),
        cmocka_unit_test(weights_from_memory_and_from_files),
        cmocka_unit_test(a_head_from_labels_in_memory),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
