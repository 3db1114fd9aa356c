/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from a .npy of text, '<U12' or '|S12' as numpy has them: every entry is a line of a text of labels and is read
 * as one, so that names joined by |, -1 and nothing mean the same in both. An entry holds no tab and no line end. */
#include "read/labels/labels.h"
#include "read/features.h"
#include "read/text.h"

#include <string.h>

/* N entries, or (N, 1): one per row. */
static tn_status check(tn_ctx *ctx, const char *path, const tnp_array *array)
{
    char shape[TNP_SHAPE_TEXT];
    size_t cols = 1;
    for (size_t i = 1; i < array->ndim; ++i)
        cols *= array->shape[i];
    if (!array->text || array->ndim == 0 || cols != 1)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: text of shape %s, expected one name per row", path,
                        tnp_shape_text(array, shape));
    return TN_OK;
}

/* The entries as lines, (*size) bytes at *out. */
static tn_status join(tn_ctx *ctx, const char *path, const tnp_array *array, char **out, size_t *size)
{
    tn_status st = TN_OK;
    char *text = NULL;
    size_t rows = array->shape[0], most = 0, used = 0;
    TN_TRY(tnp_mul(ctx, rows, array->item + 1, &most));
    TN_TRY(tnp_alloc_raw(ctx, most + array->item + 1, 1, &text));
    for (size_t i = 0; i < rows; ++i) {
        size_t n = tnp_array_text(array, i, text + used);
        if (n == SIZE_MAX)
            TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: row %zu: not text", path, i));
        if (memchr(text + used, '\t', n) || memchr(text + used, '\n', n))
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: a tab or a line end in a class name", path, i));
        used += n;
        text[used++] = '\n';
    }
    *out = text;
    *size = used;
    text = NULL;
done:
    tnp_free(text);
    return st;
}

/* Is it a .npy of text? What is wrong with a file of another kind is told by its own reader. */
static tn_status look(tn_ctx *ctx, const char *path, tnp_array *array, bool *words)
{
    tnp_file *file = NULL;
    tn_status st = tnp_file_open(ctx, path, &file);
    if (st == TN_OK)
        st = tnp_npy_read(ctx, file, 0, tnp_file_size(file), array);
    tnp_file_close(file);
    *words = st == TN_OK && array->text;
    return st == TN_ERR_MEMORY || st == TN_ERR_BUDGET || st == TN_ERR_INTERRUPTED ? st : TN_OK;
}

tn_status tnp_labels_from_words(tn_ctx *ctx, tn_labels *labels, bool *words)
{
    tn_status st = TN_OK;
    tnp_bytes bytes = {NULL, 0}, lines = {NULL, 0};
    tnp_array array;
    char *text = NULL;
    const char *path = labels->path;
    size_t length = strlen(path);
    *words = false;
    if (length < 4 || strcmp(path + length - 4, ".npy") != 0)
        return TN_OK;
    TN_TRY(look(ctx, path, &array, words));
    if (!*words)
        goto done;
    TN_TRY(check(ctx, path, &array));
    TN_TRY(tnp_bytes_read(ctx, path, &bytes));
    TN_TRY(tnp_npy_parse(ctx, path, bytes.data, bytes.size, &array)); /* again: it may be another file by now */
    TN_TRY(check(ctx, path, &array));
    TN_TRY(join(ctx, path, &array, &text, &lines.size));
    lines.data = (const unsigned char *)text;
    TN_TRY(tnp_labels_from_lines(ctx, labels, &lines));
done:
    tnp_free(text);
    tnp_bytes_free(&bytes);
    return st;
}
