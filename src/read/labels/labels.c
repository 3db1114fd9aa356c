/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels: the object, its mapping to other class names, and the check that rows agree. How they are put together is
 * labels_build.c; the two kinds of files are labels_array.c and labels_text.c. */
#include "read/labels/labels.h"

#include "read/features.h"
#include "read/text.h"

#include <stdlib.h>
#include <string.h>

const char *tn_task_name(tn_task task)
{
    static const char *const names[] = {[TN_TASK_AUTO] = "auto",
                                        [TN_TASK_MULTICLASS] = "multiclass",
                                        [TN_TASK_MULTILABEL] = "multilabel",
                                        [TN_TASK_REGRESSION] = "regression"};
    return (size_t)task < sizeof names / sizeof *names ? names[task] : "unknown";
}

/* ---- the object ---- */

/* The array of a file: of text, or of numbers. */
static tn_status from_array(tn_ctx *ctx, tn_labels *labels)
{
    bool words = false;
    tn_features *features = NULL;
    tn_status st = tnp_labels_from_words(ctx, labels, &words);
    if (st == TN_OK && !words)
        st = tnp_features_open_path(ctx, labels->path, NULL, &features);
    if (st == TN_OK && !words)
        st = tnp_labels_from_features(ctx, labels, features);
    tn_features_close(features);
    return st;
}

tn_status tn_labels_open(tn_ctx *ctx, const char *path, tn_task task, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    if (!path || !*path)
        return tnp_fail(ctx, TN_ERR_ARG, "labels: no file named");
    TN_TRY(tnp_labels_new(ctx, path, task, &labels));
    TN_TRY(tnp_path_is_array(path) ? from_array(ctx, labels) : tnp_labels_from_text(ctx, labels));
    *out = labels;
    labels = NULL;
done:
    tn_labels_free(labels);
    return st;
}

void tn_labels_free(tn_labels *labels)
{
    if (!labels)
        return;
    tnp_free_all(labels->names, labels->first, labels->cls, labels->known, labels->values, labels->ids, labels->weights,
                 labels->path, labels->weights_path, labels);
}

tn_task tn_labels_task(const tn_labels *labels)
{
    return labels->task;
}

size_t tn_labels_rows(const tn_labels *labels)
{
    return labels->rows;
}

size_t tn_labels_classes(const tn_labels *labels)
{
    return labels->classes;
}

const char *const *tn_labels_class_names(const tn_labels *labels)
{
    return (const char *const *)labels->names;
}

const char *tn_labels_path(const tn_labels *labels)
{
    return labels->path;
}

const char *const *tn_labels_ids(const tn_labels *labels)
{
    return (const char *const *)labels->ids;
}

bool tn_labels_known(const tn_labels *labels, size_t row)
{
    return labels->known[row];
}

const uint32_t *tn_labels_of(const tn_labels *labels, size_t row, size_t *count)
{
    bool listed = labels->first && labels->known[row];
    *count = listed ? labels->first[row + 1] - labels->first[row] : 0;
    return listed ? labels->cls + labels->first[row] : NULL;
}

const double *tn_labels_values(const tn_labels *labels)
{
    return labels->values;
}

const double *tn_labels_weights(const tn_labels *labels)
{
    return labels->weights;
}

void tn_labels_forget(tn_labels *labels, size_t row)
{
    labels->known[row] = false;
}

tn_status tn_labels_set_ids(tn_ctx *ctx, tn_labels *labels, const char *const *ids)
{
    char **copy = NULL;
    tn_status st = ids ? tnp_strings_copy(ctx, ids, labels->rows, &copy) : TN_OK;
    if (st != TN_OK)
        return st;
    tnp_free(labels->ids);
    labels->ids = copy;
    return TN_OK;
}

/* ---- mapping ---- */

static int compare_strings(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

/* New index of each class, by name; UINT32_MAX for a class that is not among the names. */
static tn_status match(tn_ctx *ctx, const tn_labels *labels, const char *const *names, size_t count, uint32_t *to)
{
    const char *const **sorted = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *sorted, &sorted);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < count; ++i)
        sorted[i] = &names[i];
    qsort(sorted, count, sizeof *sorted, compare_strings);
    for (size_t i = 0; i < labels->classes; ++i) {
        const char *name = labels->names[i], *const *key = &name;
        const char *const **found = bsearch(&key, sorted, count, sizeof *sorted, compare_strings);
        to[i] = found ? (uint32_t)(*found - names) : UINT32_MAX;
    }
    tnp_free(sorted);
    return TN_OK;
}

/* Every class that a row uses must have a place. */
static tn_status check_used(tn_ctx *ctx, const tn_labels *labels, const uint32_t *to)
{
    for (size_t row = 0; row < labels->rows; ++row)
        for (size_t i = labels->first[row]; i < labels->first[row + 1]; ++i)
            if (to[labels->cls[i]] == UINT32_MAX)
                return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: class '%s' is not one of the head's", labels->path, row,
                                labels->names[labels->cls[i]]);
    return TN_OK;
}

tn_status tn_labels_map(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count)
{
    tn_status st = TN_OK;
    char **copy = NULL;
    uint32_t *to = NULL;
    if (count == 0 || count > TNP_MAX_CLASSES)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: %zu class names to map to, expected 1 to %d", labels->path, count,
                        TNP_MAX_CLASSES);
    if (labels->task == TN_TASK_REGRESSION && labels->classes != count)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu values per row, but the head has %zu", labels->path,
                        labels->classes, count);
    TN_TRY(tnp_strings_copy(ctx, names, count, &copy));
    if (labels->task != TN_TASK_REGRESSION) {
        TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *to, &to));
        TN_TRY(match(ctx, labels, names, count, to));
        TN_TRY(check_used(ctx, labels, to));
        for (size_t i = 0; i < labels->first[labels->rows]; ++i)
            labels->cls[i] = to[labels->cls[i]];
        tnp_labels_tidy(labels);
    }
    tnp_free(labels->names);
    labels->names = copy;
    labels->classes = count;
    copy = NULL;
done:
    tnp_free_all(copy, to);
    return st;
}

tn_status tn_labels_join(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count)
{
    tn_status st = TN_OK;
    const char **all = NULL;
    uint32_t *to = NULL;
    size_t total = count;
    TN_TRY(tnp_alloc(ctx, count + labels->classes, sizeof *all, &all));
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *to, &to));
    TN_TRY(match(ctx, labels, names, count, to));
    memcpy(all, names, count * sizeof *all);
    for (size_t k = 0; k < labels->classes; ++k)
        if (to[k] == UINT32_MAX)
            all[total++] = labels->names[k];
    TN_TRY(tn_labels_map(ctx, labels, all, total));
done:
    tnp_free_all(all, to);
    return st;
}

tn_status tn_labels_against_rest(tn_ctx *ctx, tn_labels *labels, const char *name)
{
    tn_status st = TN_OK;
    size_t own = 0, size = strlen(name) + sizeof "not ";
    char *rest = NULL, **names = NULL;
    uint32_t *cls = NULL;
    if (labels->task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: values of a regression have no class '%.60s'", labels->path, name);
    while (own < labels->classes && strcmp(labels->names[own], name) != 0)
        ++own;
    if (own == labels->classes)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: no class is called '%.60s'; one of its %zu is '%.60s'", labels->path,
                        name, labels->classes, labels->classes ? labels->names[0] : "");
    TN_TRY(tnp_alloc_raw(ctx, size, 1, &rest));
    snprintf(rest, size, "not %s", name);
    TN_TRY(tnp_strings_copy(ctx, (const char *const[]){rest, name}, 2, &names));
    TN_TRY(tnp_alloc_raw(ctx, labels->rows, sizeof *cls, &cls));
    for (size_t row = 0, from = 0, count = 0; row < labels->rows; ++row) {
        bool has = false;
        for (; from < labels->first[row + 1]; ++from)
            has |= labels->cls[from] == own;
        if (labels->known[row])
            cls[count++] = has;
        labels->first[row + 1] = count;
    }
    tnp_free_all(labels->cls, labels->names);
    labels->cls = cls;
    labels->names = names;
    labels->classes = 2;
    labels->task = TN_TASK_MULTICLASS;
    cls = NULL;
    names = NULL;
done:
    tnp_free_all(rest, names, cls);
    return st;
}

/* ---- agreement ---- */

static tn_status compare_ids(tn_ctx *ctx, const char *path, const char *const *ids, const char *other_path,
                             const char *const *other, size_t rows)
{
    for (size_t i = 0; i < rows; ++i)
        if (strcmp(ids[i], other[i]) != 0)
            return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu is '%.60s', but %s has '%.60s'", path, i, ids[i], other_path,
                            other[i]);
    return TN_OK;
}

/* labels: whose rows they are that another number is compared with, or NULL. */
static tn_status disagree(tn_ctx *ctx, const tn_features *features, const char *path, size_t rows,
                          const tn_labels *labels)
{
    const char *header = labels && rows == features->rows + 1 ? tnp_labels_header(labels) : NULL;
    if (header)
        return tnp_fail(ctx, TN_ERR_SHAPE,
                        "%s: %zu rows, but %s has %zu: its first, '%.60s', looks like a header; remove it",
                        features->path, features->rows, path, rows, header);
    return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu rows, but %s has %zu", features->path, features->rows, path, rows);
}

tn_status tn_rows_agree(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels)
{
    if (count == 0)
        return TN_OK;
    const char *path = labels ? labels->path : features[0]->path, *id_path = path;
    size_t rows = labels ? labels->rows : features[0]->rows;
    const char *const *ids = labels ? (const char *const *)labels->ids : NULL;
    for (size_t i = 0; i < count; ++i) {
        if (features[i]->rows != rows)
            return disagree(ctx, features[i], path, rows, labels);
        const char *const *mine = tn_features_ids(features[i]);
        if (!mine)
            continue;
        tn_status st = ids ? compare_ids(ctx, features[i]->path, mine, id_path, ids, rows) : TN_OK;
        if (st != TN_OK)
            return st;
        if (!ids) {
            ids = mine;
            id_path = features[i]->path;
        }
    }
    return TN_OK;
}
