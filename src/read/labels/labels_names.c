/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names for classes that are numbers: a text of one name per line, line i + 1 for class i. */
#include "read/labels/labels.h"
#include "base/text.h"
#include "read/text.h"

#include <stdlib.h>
#include <string.h>

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tn_status tnp_names_differ(tn_ctx *ctx, const char *path, const char *const *names, size_t count)
{
    tn_status st = TN_OK;
    const char **sorted = NULL;
    TN_TRY(tnp_alloc_raw(ctx, count, sizeof *sorted, &sorted));
    for (size_t i = 0; i < count; ++i)
        sorted[i] = names[i];
    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < count; ++i)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: '%.60s' stands there twice, expected another name for each class",
                            path, sorted[i]));
done:
    tnp_free(sorted);
    return st;
}

/* One pass: counts names and bytes, and fills `names` when it is there. Empty lines are allowed at the end only. */
static tn_status walk(tn_ctx *ctx, const char *path, const tnp_bytes *file, char **names, char *text, size_t *count,
                      size_t *bytes)
{
    tnp_lines lines;
    tnp_span line;
    bool more = true;
    size_t wrong = 0, empty = 0;
    *count = *bytes = 0;
    tnp_lines_start(&lines, file);
    for (;;) {
        tn_status st = tnp_lines_next(&lines, &line, &more);
        if (st != TN_OK || !more)
            return st;
        line = tnp_trim(line);
        if (!tnp_utf8(line, &wrong))
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: line %zu: byte %zu of it is not UTF-8 text", path, lines.number,
                            wrong);
        if (line.length == 0) {
            empty = empty ? empty : lines.number;
            continue;
        }
        if (empty)
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: line %zu is empty, expected a class name", path, empty);
        if (names)
            names[*count] = tnp_strings_put(&text, line);
        ++*count;
        *bytes += line.length + 1;
    }
}

tn_status tn_class_names_open(tn_ctx *ctx, const char *path, char ***out, size_t *count)
{
    tn_status st = TN_OK;
    tnp_bytes file = {NULL, 0};
    char **names = NULL, *text = NULL;
    size_t n = 0, bytes = 0;
    TN_TRY(tnp_bytes_read(ctx, path, &file));
    TN_TRY(walk(ctx, path, &file, NULL, NULL, &n, &bytes));
    if (n == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no names", path));
    TN_TRY(tnp_strings_new(ctx, n, bytes, &names, &text));
    TN_TRY(walk(ctx, path, &file, names, text, &n, &bytes));
    TN_TRY(tnp_names_differ(ctx, path, (const char *const *)names, n));
    *out = names;
    *count = n;
    names = NULL;
done:
    tnp_free(names);
    tnp_bytes_free(&file);
    return st;
}

void tn_class_names_free(char **names)
{
    tnp_free(names);
}

static tn_status refuse(tn_ctx *ctx, const tn_labels *labels, const char *class, size_t count)
{
    size_t number = 0, least = 0;
    bool from_one = tnp_digits(labels->names[0], &least) && least == 1;
    if (!tnp_digits(class, &number))
        return tnp_fail(ctx, TN_ERR_DATA,
                        "%s: class '%.60s' is no number from 0 up: option classes names those that are", labels->path,
                        class);
    return tnp_fail(ctx, TN_ERR_DATA, "%s: class %s, but option classes has %zu names, for 0 to %zu%s", labels->path,
                    class, count, count - 1,
                    from_one && number == count ? "; classes that begin with 1 need a line before them" : "");
}

tn_status tn_labels_name(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count)
{
    tn_status st = TN_OK;
    const char **own = NULL;
    char **copy = NULL;
    size_t *taken = NULL; /* by number: 1 + the class that has it */
    if (labels->task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: values of a regression are no classes to be named", labels->path);
    TN_TRY(tnp_alloc_raw(ctx, labels->classes, sizeof *own, &own));
    TN_TRY(tnp_alloc(ctx, count, sizeof *taken, &taken));
    for (size_t k = 0; k < labels->classes; ++k) {
        size_t number = 0;
        if (!tnp_digits(labels->names[k], &number) || number >= count)
            TN_TRY(refuse(ctx, labels, labels->names[k], count));
        if (taken[number])
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: classes %s and %s are the same number", labels->path,
                            labels->names[taken[number] - 1], labels->names[k]));
        own[k] = names[number];
        taken[number] = k + 1;
    }
    TN_TRY(tnp_strings_copy(ctx, own, labels->classes, &copy));
    tnp_free(labels->names);
    labels->names = copy;
done:
    tnp_free_all(own, taken);
    return st;
}

/* A name that would be read back as something else. */
static bool is_unwritable(const char *name)
{
    return strpbrk(name, "|\t\n\r") || strcmp(name, "-1") == 0 || !*name || *name == ' ' ||
           name[strlen(name) - 1] == ' ';
}

tn_status tn_labels_text(tn_ctx *ctx, const tn_labels *labels, char **out)
{
    tnp_text text;
    if (labels->task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: values of a regression, expected classes", labels->path);
    for (size_t c = 0; c < labels->classes; ++c)
        if (is_unwritable(labels->names[c]))
            return tnp_fail(ctx, TN_ERR_DATA, "%s: class '%.40s' cannot stand in a text of labels", labels->path,
                            labels->names[c]);
    tnp_text_init(&text, ctx);
    for (size_t i = 0; i < labels->rows; ++i) {
        for (size_t k = labels->first[i]; k < labels->first[i + 1]; ++k) {
            tnp_text_raw(&text, k > labels->first[i] ? "|" : "");
            tnp_text_raw(&text, labels->names[labels->cls[k]]);
        }
        tnp_text_raw(&text, labels->known[i] ? "\n" : "-1\n");
    }
    return tnp_text_take(&text, out);
}
