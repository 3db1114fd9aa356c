/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels that cannot be meant, and names for classes that are numbers. */
#include "labels_of.h"

static void keep_warning(void *user, const char *text)
{
    char *all = user;
    snprintf(all + strlen(all), 400 - strlen(all), "%s;", text);
}

/* What tn_labels_judge says of a text: a failure's message, or all warnings, of which `part` must be a part; "" for
 * silence. */
static void judged(const char *text, tn_task asked, bool balanced, tn_status status, const char *part)
{
    char told[400] = "";
    tn_labels *labels = text_labels(text, asked);
    tn_ctx_set_warning(test_ctx, keep_warning, told);
    assert_int_equal(tn_labels_judge(test_ctx, labels, asked, balanced), status);
    tn_ctx_set_warning(test_ctx, NULL, NULL);
    const char *said = status == TN_OK ? told : tn_ctx_message(test_ctx);
    if (!strstr(said, part) || (*part == 0 && *said))
        fail_msg("'%s' says '%s', expected '%s'", text, said, part);
    tn_labels_free(labels);
}

static void labels_that_cannot_be_meant(void **state)
{
    (void)state;
    judged("a\na\nb\nb\n", TN_TASK_AUTO, false, TN_OK, "");
    judged("1.jpg,a\n2.jpg,a\n3.jpg,b\n4.jpg,b\n", TN_TASK_AUTO, false, TN_ERR_DATA,
           "'1.jpg,a', which looks like an identifier");
    judged("1,a\n2,a\n3,b\n4,b\n", TN_TASK_MULTICLASS, false, TN_ERR_DATA, "identifier");
    judged("x/1 a\nx/2 a\nx/3 b\nx/4 b\n", TN_TASK_AUTO, false, TN_ERR_DATA, "identifier");
    /* honest names with blanks and commas, one row each */
    judged("big dog\nold dog\nbig cat\nold cat\n", TN_TASK_AUTO, false, TN_OK, "4 classes in 4 rows: every row");
    judged("tench, T. tinca\ngoldfish, C. auratus\nowl, S. nebulosa\npike, E. lucius\n", TN_TASK_AUTO, false, TN_OK,
           "4 classes in 4 rows");
    judged("0.5\n1\n0.5\n1\n", TN_TASK_AUTO, false, TN_ERR_DATA, "0.5 has a fraction: give option task regression");
    judged("0.5\n1\n0.5\n1\n", TN_TASK_MULTICLASS, false, TN_OK, "");
    judged("0.5\na\n0.5\na\n", TN_TASK_AUTO, false, TN_OK, ""); /* not all are numbers */
    judged("1e3\n2.0\n1e3\n2.0\n", TN_TASK_AUTO, false, TN_OK, "");
    judged("class\n1\n2\n1\n2\n", TN_TASK_AUTO, false, TN_ERR_DATA, "'class' stands above nothing but numbers");
    judged("class\n1\n2\n1\n2\n", TN_TASK_MULTICLASS, false, TN_OK, "its first row, 'class', is taken for a class");
    judged("Label\na\nb\na\nb\n", TN_TASK_AUTO, false, TN_OK, "'Label', is taken for a class");
    judged("Label\na\nLabel\na\n", TN_TASK_AUTO, false, TN_OK, "");
    judged("labelled\na\na\nb\nb\n", TN_TASK_AUTO, false, TN_OK, "1 of 3 classes have one row only, 'labelled'");
    judged("a\n\nb\n-1\nc\n", TN_TASK_AUTO, false, TN_OK, "3 of 3 classes have one row only, 'a' is one");
    judged("a|b\na\nb\n", TN_TASK_AUTO, false, TN_OK, "");
    judged("1\n2\n\n", TN_TASK_REGRESSION, false, TN_OK, "");
}

/* 20 times as many rows are borne, 21 are told, unless they are weighted; rows without a label do not count. */
static void uneven_classes(void **state)
{
    (void)state;
    char text[200] = "b\nb\n\n";
    for (int i = 0; i < 40; ++i)
        strcat(text, "a\n");
    judged(text, TN_TASK_AUTO, false, TN_OK, "");
    strcat(text, "a\n");
    judged(text, TN_TASK_AUTO, false, TN_OK, "'a' has 41 rows and 'b' 2");
    judged(text, TN_TASK_AUTO, true, TN_OK, "");
    judged(text, TN_TASK_MULTILABEL, false, TN_OK, "");
}

static void judging_and_naming_survive_failing_allocations(void **state)
{
    (void)state;
    tn_labels *labels = text_labels("1,a\n2,a\n3,b\n4,b\n5,b\n", TN_TASK_AUTO),
              *numbers = text_labels("0\n2\n", TN_TASK_AUTO);
    const char *path = write_text("names.txt", "x\ny\nz\n\n");
    size_t blocks = tnp_live_blocks(test_ctx), k = 1, count = 0;
    tn_status st = TN_ERR_MEMORY;
    for (; st == TN_ERR_MEMORY; ++k) {
        tnp_fail_allocation(test_ctx, k);
        st = tn_labels_judge(test_ctx, labels, TN_TASK_AUTO, false);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_int_equal(st, TN_ERR_DATA);
    char **names = NULL;
    for (st = TN_ERR_MEMORY, k = 1; st == TN_ERR_MEMORY; ++k) {
        tnp_fail_allocation(test_ctx, k);
        st = tn_class_names_open(test_ctx, path, &names, &count);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks + (st == TN_OK));
    }
    assert_true(st == TN_OK && count == 3 && k > 3);
    for (st = TN_ERR_MEMORY, k = 1; st == TN_ERR_MEMORY; ++k) {
        tnp_fail_allocation(test_ctx, k);
        st = tn_labels_name(test_ctx, numbers, (const char *const *)names, count);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks + 1);
    }
    assert_int_equal(st, TN_OK);
    tn_class_names_free(names);
    check(numbers, TN_TASK_MULTICLASS, "x z", "0 1");
    tn_labels_free(labels);
}

static void classes_that_have_no_name(void **state)
{
    (void)state;
    const char *const names[] = {"x", "y"};
    tn_labels *labels = text_labels("01\n1\n", TN_TASK_AUTO);
    assert_fails(test_ctx, TN_ERR_DATA, "classes 01 and 1 are the same number",
                 tn_labels_name(test_ctx, labels, names, 2));
    tn_labels_free(labels);
    labels = text_labels("1\n2\n", TN_TASK_AUTO);
    assert_fails(test_ctx, TN_ERR_DATA,
                 "class 2, but option classes has 2 names, for 0 to 1; classes that begin with 1",
                 tn_labels_name(test_ctx, labels, names, 2));
    check_names(labels, "1 2");
    tn_labels_free(labels);
    labels = text_labels("0\n-3\n", TN_TASK_AUTO);
    assert_fails(test_ctx, TN_ERR_DATA, "class '-3' is no number from 0 up",
                 tn_labels_name(test_ctx, labels, names, 2));
    tn_labels_free(labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_cannot_be_meant),
        cmocka_unit_test(uneven_classes),
        cmocka_unit_test(judging_and_naming_survive_failing_allocations),
        cmocka_unit_test(classes_that_have_no_name),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
