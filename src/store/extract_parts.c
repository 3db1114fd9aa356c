/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PATH.parts/ holds `key`, a text that says what the rows are made from, and 00000000.npy, .. of TNP_PART_ROWS rows each
 * in float32. Every part is written beside and renamed: one that is there is whole, whatever ended the run that made it.
 * A row does not depend on the rows beside it, so that parts of several runs join to the bytes of one.
 *
 * One growing file was refused: after a lost power supply nobody knows how much of it is on the disk. */
#define _POSIX_C_SOURCE 200809L
#include "store/extract_parts.h"
#include "tenon/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 16, NPY_HEAD = 128 }; /* of our own writer: npy_writer.c */

static const char *file_named(tnp_parts *p, const char *name)
{
    snprintf(p->file, p->file_size, "%s/%s", p->folder, name);
    return p->file;
}

static tn_status check_key(tn_ctx *ctx, tnp_parts *p, const char *key)
{
    tn_status st = TN_OK;
    tnp_bytes bytes = {0};
    struct stat about;
    if (stat(file_named(p, "key"), &about) != 0)
        return tn_text_write(ctx, key, p->file);
    TN_TRY(tnp_bytes_read(ctx, p->file, &bytes));
    if (bytes.size != strlen(key) || memcmp(bytes.data, key, bytes.size) != 0)
        st = tnp_fail(ctx, TN_ERR_ARG,
                      "%s: rows of another extraction (other pictures, encoder or version); remove the folder to begin "
                      "anew",
                      p->folder);
done:
    tnp_bytes_free(&bytes);
    return st;
}

tn_status tnp_parts_open(tn_ctx *ctx, const char *path, const char *key, size_t rows, size_t cols, tnp_parts *out)
{
    tn_status st = TN_OK;
    size_t size = strlen(path) + sizeof ".parts";
    out->rows = rows;
    out->cols = cols;
    out->file_size = size + NAME;
    TN_TRY(tnp_alloc(ctx, size, 1, &out->folder));
    TN_TRY(tnp_alloc(ctx, out->file_size, 1, &out->file));
    snprintf(out->folder, size, "%s.parts", path);
    if (mkdir(out->folder, 0777) != 0 && errno != EEXIST)
        st = tnp_fail(ctx, TN_ERR_OUTPUT, "%s: %s", out->folder, strerror(errno));
    if (st == TN_OK)
        TN_TRY(check_key(ctx, out, key));
done:
    return st;
}

void tnp_parts_close(tnp_parts *parts)
{
    tnp_free_all(parts->folder, parts->file);
}

size_t tnp_parts_count(const tnp_parts *parts)
{
    return (parts->rows + TNP_PART_ROWS - 1) / TNP_PART_ROWS;
}

size_t tnp_parts_rows(const tnp_parts *parts, size_t i)
{
    return tnp_min(TNP_PART_ROWS, parts->rows - i * TNP_PART_ROWS);
}

const char *tnp_parts_name(tnp_parts *parts, size_t i)
{
    char name[NAME];
    snprintf(name, sizeof name, "%08zu.npy", i % 100000000);
    return file_named(parts, name);
}

bool tnp_parts_has(tnp_parts *parts, size_t i)
{
    struct stat about;
    return stat(tnp_parts_name(parts, i), &about) == 0;
}

tn_status tnp_parts_read(tn_ctx *ctx, tnp_parts *parts, size_t i, float *out)
{
    tn_status st = TN_OK;
    tnp_bytes bytes = {0};
    size_t size = tnp_parts_rows(parts, i) * parts->cols * sizeof *out;
    TN_TRY(tnp_bytes_read(ctx, tnp_parts_name(parts, i), &bytes));
    if (bytes.size == NPY_HEAD + size)
        memcpy(out, bytes.data + NPY_HEAD, size);
    else
        st = tnp_fail(ctx, TN_ERR_FORMAT, "%s: %zu bytes, expected %zu; remove it to make it anew", parts->file,
                      bytes.size, NPY_HEAD + size);
done:
    tnp_bytes_free(&bytes);
    return st;
}

void tnp_parts_remove(tnp_parts *parts)
{
    for (size_t i = 0; i < tnp_parts_count(parts); ++i)
        (void)unlink(tnp_parts_name(parts, i));
    (void)unlink(file_named(parts, "key"));
    (void)rmdir(parts->folder);
}
