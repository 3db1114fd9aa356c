/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from files that a test has written, and what they should hold. */
#ifndef TN_TESTS_LABELS_OF_H
#define TN_TESTS_LABELS_OF_H

#include "fixtures/files.h"

static inline tn_labels *open_labels(const char *path, tn_task task)
{
    tn_labels *labels = NULL;
    assert_fine(test_ctx, tn_labels_open(test_ctx, path, task, &labels));
    return labels;
}

static inline void expect(const char *path, tn_task task, tn_status status, const char *part)
{
    size_t blocks = tnp_live_blocks(test_ctx);
    tn_labels *const untouched = (tn_labels *)(void *)test_folder;
    tn_labels *labels = untouched;
    assert_fails(test_ctx, status, part, tn_labels_open(test_ctx, path, task, &labels));
    assert_ptr_equal(labels, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

/* "cat dog": class names joined by blanks, whatever their order in memory. */
static inline void check_names(const tn_labels *labels, const char *want)
{
    char got[256] = "";
    for (size_t i = 0; i < labels->classes; ++i)
        snprintf(got + strlen(got), sizeof got - strlen(got), i ? " %s" : "%s", labels->names[i]);
    assert_string_equal(got, want);
}

/* "0 1,2 ? -": the classes of each row; ? is unlabelled, - labelled without a class. */
static inline void check_rows(const tn_labels *labels, const char *want)
{
    char got[256] = "";
    assert_int_equal(labels->first[0], 0);
    for (size_t i = 0; i < labels->rows; ++i) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s", i ? " " : "",
                 !labels->known[i]                          ? "?"
                 : labels->first[i] == labels->first[i + 1] ? "-"
                                                            : "");
        for (size_t j = labels->first[i]; j < labels->first[i + 1]; ++j) {
            n = strlen(got);
            snprintf(got + n, sizeof got - n, "%s%u", j > labels->first[i] ? "," : "", (unsigned)labels->cls[j]);
        }
    }
    assert_string_equal(got, want);
    assert_null(labels->values);
}

static inline void check(tn_labels *labels, tn_task task, const char *names, const char *rows)
{
    assert_int_equal(labels->task, task);
    check_names(labels, names);
    check_rows(labels, rows);
    tn_labels_free(labels);
}

static inline tn_labels *text_labels(const char *text, tn_task task)
{
    return open_labels(write_text("l.txt", text), task);
}

#endif
