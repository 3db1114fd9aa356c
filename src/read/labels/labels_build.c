/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one way in which labels are put together, and labels from memory. Class numbers are int64, as most programs have
 * them; a list grows by doubling, so that a file is read once and not counted first: at worst twice the 4 bytes per
 * positive. */
#include "read/labels/labels.h"
#include "read/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char in_memory[] = "labels in memory";

/* ---- parts ---- */

tn_status tnp_labels_new(tn_ctx *ctx, const char *path, tn_task task, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *labels, &labels));
    labels->task = task;
    TN_TRY(tnp_strdup(ctx, path, &labels->path));
    *out = labels;
    labels = NULL;
done:
    tn_labels_free(labels);
    return st;
}

tn_status tnp_labels_rows(tn_ctx *ctx, tn_labels *labels, size_t rows)
{
    tn_status st = TN_OK;
    size_t count = 0;
    labels->rows = rows;
    TN_TRY(tnp_alloc(ctx, rows, sizeof *labels->known, &labels->known));
    if (labels->task == TN_TASK_REGRESSION) {
        TN_TRY(tnp_mul(ctx, rows, labels->classes, &count));
        TN_TRY(tnp_alloc(ctx, count, sizeof *labels->values, &labels->values));
    } else {
        TN_TRY(tnp_alloc(ctx, rows + 1, sizeof *labels->first, &labels->first));
        TN_TRY(tnp_alloc(ctx, rows, sizeof *labels->cls, &labels->cls));
        labels->capacity = rows;
    }
done:
    return st;
}

tn_status tnp_labels_limit(tn_ctx *ctx, const tn_labels *labels, size_t classes)
{
    return classes <= TNP_MAX_CLASSES ? TN_OK
                                      : tnp_fail(ctx, TN_ERR_DATA, "%s: %zu classes, at most %d are handled",
                                                 labels->path, classes, TNP_MAX_CLASSES);
}

tn_status tnp_labels_number(tn_ctx *ctx, tn_labels *labels, const int64_t *values, size_t count)
{
    char *text = NULL, digits[24];
    tn_status st = tnp_labels_limit(ctx, labels, count);
    if (st == TN_OK)
        st = tnp_strings_new(ctx, count, count * sizeof digits, &labels->names, &text);
    for (size_t i = 0; st == TN_OK && i < count; ++i) {
        int n = snprintf(digits, sizeof digits, "%" PRId64, values ? values[i] : (int64_t)i);
        labels->names[i] = tnp_strings_put(&text, (tnp_span){digits, (size_t)n});
    }
    labels->classes = count;
    return st;
}

/* Names that a caller gives; NULL: numbers. */
static tn_status set_names(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count)
{
    tn_status st = TN_OK;
    size_t wrong = 0;
    if (count == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: no classes, expected at least one", labels->path);
    if (!names)
        return tnp_labels_number(ctx, labels, NULL, count);
    TN_TRY(tnp_labels_limit(ctx, labels, count));
    for (size_t k = 0; k < count; ++k) {
        if (!names[k] || !*names[k])
            TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: the name of class %zu is empty", labels->path, k));
        if (!tnp_utf8((tnp_span){names[k], strlen(names[k])}, &wrong))
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: the name of class %zu: byte %zu of it is not UTF-8 text",
                            labels->path, k, wrong));
    }
    TN_TRY(tnp_names_differ(ctx, labels->path, names, count));
    TN_TRY(tnp_strings_copy(ctx, names, count, &labels->names));
    labels->classes = count;
done:
    return st;
}

tn_status tnp_labels_put(tn_ctx *ctx, tn_labels *labels, size_t row, const uint32_t *cls, size_t count)
{
    size_t used = labels->first[row];
    if (count > labels->capacity - used) {
        size_t capacity = used + tnp_max(count, used);
        tn_status st = tnp_grow(ctx, &labels->cls, used, capacity, sizeof *labels->cls);
        if (st != TN_OK)
            return st;
        labels->capacity = capacity;
    }
    if (count != 0)
        memcpy(labels->cls + used, cls, count * sizeof *cls);
    labels->known[row] = true;
    labels->first[row + 1] = used + count;
    return TN_OK;
}

static void put_unlabelled(tn_labels *labels, size_t row)
{
    labels->known[row] = false;
    labels->first[row + 1] = labels->first[row];
}

static tn_status check_any(tn_ctx *ctx, const tn_labels *labels)
{
    return memchr(labels->known, true, labels->rows)
               ? TN_OK
               : tnp_fail(ctx, TN_ERR_DATA, "%s: every row is unlabelled", labels->path);
}

static int compare_classes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void tnp_labels_tidy(tn_labels *labels)
{
    size_t from = 0, to = 0;
    for (size_t row = 0; row < labels->rows; ++row) {
        size_t end = labels->first[row + 1], begin = to;
        if (end - from > 1)
            qsort(labels->cls + from, end - from, sizeof *labels->cls, compare_classes);
        for (; from < end; ++from)
            if (to == begin || labels->cls[to - 1] != labels->cls[from])
                labels->cls[to++] = labels->cls[from];
        labels->first[row + 1] = to;
    }
}

/* ---- class numbers ---- */

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The numbers from 0 up that occur, ascending. */
static tn_status find_distinct(tn_ctx *ctx, const int64_t *numbers, size_t rows, int64_t **out, size_t *count)
{
    size_t labelled = 0;
    int64_t *distinct = NULL;
    tn_status st = tnp_alloc(ctx, rows, sizeof *distinct, &distinct);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < rows; ++i)
        if (numbers[i] >= 0)
            distinct[labelled++] = numbers[i];
    qsort(distinct, labelled, sizeof *distinct, compare_values);
    for (size_t i = 0; i < labelled; ++i)
        if (*count == 0 || distinct[*count - 1] != distinct[i])
            distinct[(*count)++] = distinct[i];
    *out = distinct;
    return TN_OK;
}

/* The class that a number from 0 up names: itself, or its place among those that occur. */
static tn_status find_class(tn_ctx *ctx, const tn_labels *labels, size_t row, int64_t number, const int64_t *distinct,
                            uint32_t *out)
{
    if (distinct) {
        const int64_t *place = bsearch(&number, distinct, labels->classes, sizeof *distinct, compare_values);
        number = place - distinct;
    }
    if (number >= (int64_t)labels->classes)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: class %" PRId64 ", but there are %zu classes, from 0 up",
                        labels->path, row, number, labels->classes);
    *out = (uint32_t)number;
    return TN_OK;
}

tn_status tnp_labels_put_numbers(tn_ctx *ctx, tn_labels *labels, const int64_t *numbers, size_t rows)
{
    tn_status st = TN_OK;
    int64_t *distinct = NULL;
    size_t count = 0;
    uint32_t cls = 0;
    TN_TRY(tnp_labels_rows(ctx, labels, rows));
    if (!labels->names) {
        TN_TRY(find_distinct(ctx, numbers, rows, &distinct, &count));
        TN_TRY(tnp_labels_number(ctx, labels, distinct, count));
    }
    for (size_t i = 0; i < rows; ++i) {
        if (numbers[i] < 0) {
            put_unlabelled(labels, i);
            continue;
        }
        TN_TRY(find_class(ctx, labels, i, numbers[i], distinct, &cls));
        TN_TRY(tnp_labels_put(ctx, labels, i, &cls, 1));
    }
    TN_TRY(check_any(ctx, labels));
done:
    tnp_free(distinct);
    return st;
}

tn_status tn_labels_from_numbers(tn_ctx *ctx, const int64_t *numbers, size_t rows, const char *const *names,
                                 size_t classes, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    TN_TRY(tnp_labels_new(ctx, in_memory, TN_TASK_MULTICLASS, &labels));
    if (classes != 0)
        TN_TRY(set_names(ctx, labels, names, classes));
    TN_TRY(tnp_labels_put_numbers(ctx, labels, numbers, rows));
    *out = labels;
    labels = NULL;
done:
    tn_labels_free(labels);
    return st;
}

/* ---- lists ---- */

/* Row `row` by its class numbers; scratch has as many places. */
static tn_status put_list(tn_ctx *ctx, tn_labels *labels, size_t row, const int64_t *numbers, size_t count,
                          uint32_t *scratch)
{
    if (count == 1 && numbers[0] < 0) {
        put_unlabelled(labels, row);
        return TN_OK;
    }
    for (size_t i = 0; i < count; ++i) {
        if (numbers[i] < 0)
            return tnp_fail(ctx, TN_ERR_DATA,
                            "%s: row %zu: %" PRId64 " among its classes; it stands alone when unlabelled", labels->path,
                            row, numbers[i]);
        tn_status st = find_class(ctx, labels, row, numbers[i], NULL, &scratch[i]);
        if (st != TN_OK)
            return st;
    }
    return tnp_labels_put(ctx, labels, row, scratch, count);
}

static tn_status longest_list(tn_ctx *ctx, const size_t *first, size_t rows, size_t *out)
{
    for (size_t i = 0; i < rows; ++i) {
        if (first[i + 1] < first[i])
            return tnp_fail(ctx, TN_ERR_ARG, "%s: row %zu: its list begins at %zu and ends at %zu", in_memory, i,
                            first[i], first[i + 1]);
        *out = tnp_max(*out, first[i + 1] - first[i]);
    }
    return TN_OK;
}

tn_status tn_labels_from_lists(tn_ctx *ctx, const size_t *first, const int64_t *numbers, size_t rows,
                               const char *const *names, size_t classes, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    uint32_t *scratch = NULL;
    size_t most = 0;
    TN_TRY(longest_list(ctx, first, rows, &most));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *scratch, &scratch));
    TN_TRY(tnp_labels_new(ctx, in_memory, TN_TASK_MULTILABEL, &labels));
    TN_TRY(set_names(ctx, labels, names, classes));
    TN_TRY(tnp_labels_rows(ctx, labels, rows));
    for (size_t i = 0; i < rows; ++i)
        TN_TRY(put_list(ctx, labels, i, numbers + first[i], first[i + 1] - first[i], scratch));
    TN_TRY(check_any(ctx, labels));
    tnp_labels_tidy(labels);
    *out = labels;
    labels = NULL;
done:
    tnp_free(scratch);
    tn_labels_free(labels);
    return st;
}

/* ---- 0 and 1 ---- */

tn_status tnp_labels_put_marks(tn_ctx *ctx, tn_labels *labels, size_t row, const int64_t *has, uint32_t *scratch)
{
    size_t count = 0;
    for (size_t k = 0; k < labels->classes; ++k) {
        if (has[k] != 0 && has[k] != 1)
            return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu, column %zu: value %" PRId64 ", expected 0 or 1",
                            labels->path, row, k, has[k]);
        if (has[k])
            scratch[count++] = (uint32_t)k;
    }
    if (labels->task == TN_TASK_MULTICLASS && count != 1)
        return tnp_fail(ctx, TN_ERR_DATA,
                        "%s: row %zu has %zu of the %zu classes, expected one, as option task multiclass was given",
                        labels->path, row, count, labels->classes);
    return tnp_labels_put(ctx, labels, row, scratch, count);
}

tn_status tn_labels_from_matrix(tn_ctx *ctx, const uint8_t *marks, size_t rows, size_t classes, ptrdiff_t row_step,
                                ptrdiff_t col_step, const char *const *names, tn_task task, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    int64_t *has = NULL;
    uint32_t *scratch = NULL;
    if (task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: marks of classes are no regression", in_memory);
    TN_TRY(tnp_labels_new(ctx, in_memory, task == TN_TASK_AUTO ? TN_TASK_MULTILABEL : task, &labels));
    TN_TRY(set_names(ctx, labels, names, classes));
    TN_TRY(tnp_labels_rows(ctx, labels, rows));
    TN_TRY(tnp_alloc_raw(ctx, classes, sizeof *has, &has));
    TN_TRY(tnp_alloc_raw(ctx, classes, sizeof *scratch, &scratch));
    for (size_t i = 0; i < rows; ++i) {
        for (size_t k = 0; k < classes; ++k)
            has[k] = marks[(ptrdiff_t)i * row_step + (ptrdiff_t)k * col_step];
        TN_TRY(tnp_labels_put_marks(ctx, labels, i, has, scratch));
    }
    TN_TRY(check_any(ctx, labels));
    *out = labels;
    labels = NULL;
done:
    tnp_free_all(has, scratch);
    tn_labels_free(labels);
    return st;
}

/* ---- values ---- */

tn_status tnp_labels_know_values(tn_ctx *ctx, tn_labels *labels)
{
    size_t k = labels->classes;
    for (size_t i = 0; i < labels->rows; ++i) {
        labels->known[i] = true;
        for (size_t c = 0; c < k; ++c) {
            double value = labels->values[i * k + c];
            if (isinf(value))
                return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu, column %zu: value is infinite", labels->path, i, c);
            labels->known[i] &= !isnan(value);
        }
    }
    tn_status st = check_any(ctx, labels);
    if (st != TN_OK || labels->names)
        return st;
    return k == 1 ? tnp_strings_copy(ctx, (const char *[]){"value"}, 1, &labels->names)
                  : tnp_labels_number(ctx, labels, NULL, k);
}

tn_status tn_labels_from_values(tn_ctx *ctx, const double *values, size_t rows, size_t outputs,
                                const char *const *names, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    if (outputs == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: no values in a row, expected at least one", in_memory);
    TN_TRY(tnp_labels_new(ctx, in_memory, TN_TASK_REGRESSION, &labels));
    if (names)
        TN_TRY(set_names(ctx, labels, names, outputs));
    labels->classes = outputs;
    TN_TRY(tnp_labels_rows(ctx, labels, rows));
    memcpy(labels->values, values, rows * outputs * sizeof *values);
    TN_TRY(tnp_labels_know_values(ctx, labels));
    *out = labels;
    labels = NULL;
done:
    tn_labels_free(labels);
    return st;
}

tn_status tn_labels_from_features(tn_ctx *ctx, const tn_features *features, tn_task task, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    TN_TRY(tnp_labels_new(ctx, tn_features_path(features), task, &labels));
    TN_TRY(tnp_labels_from_features(ctx, labels, features));
    *out = labels;
    labels = NULL;
done:
    tn_labels_free(labels);
    return st;
}
