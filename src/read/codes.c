/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Representations as the codes of a product quantiser (encode/pq.c makes them): a .safetensors file with
 *
 *   centroids  (count, dim) F32    columns [g sub, (g + 1) sub) of row c are centroid c of group g; 1 <= count <= 256
 *   codes      (rows, groups) U8   groups = ceil(dim / sub), each code below count
 *   metadata   format = tenon-codes, version = 1, sub
 *
 *   value (i, j) = centroids[codes[i, j / sub], j]
 *
 * The codes stay in the file; the centroids, 1 KB a column, are copied group by group, so that a row finds those of
 * neighbouring columns together. Only rows that are asked for are decoded. Consecutive rows are decoded in bands of BAND
 * groups, whose centroids stay in the cache: 0.7 us a row of 4096 columns instead of 1.1.
 *
 * With 256 centroids every byte is a code. With fewer, all codes are looked at once, when the file is opened; the table has
 * room for 256 all the same, filled with NaN, so that a file changed afterwards leads nowhere.
 * Refused: other types and shapes, centroids that are NaN or infinite. Oracle: tests/ref/ref_pq.c. */
#include "read/codes.h"

#include "matrix/convert.h"

#include <math.h>
#include <string.h>

enum { BAND = 32, PIECE = 1 << 16 };

tn_status tnp_codebook_new(tn_ctx *ctx, size_t dim, size_t sub, size_t count, tnp_codebook *out)
{
    size_t values = 0;
    tnp_codebook book = {.dim = dim, .sub = tnp_min(sub, dim), .count = count};
    book.groups = (dim - 1) / book.sub + 1;
    tn_status st = tnp_mul(ctx, dim, TNP_CODES, &values);
    if (st == TN_OK)
        st = tnp_alloc_raw(ctx, values, sizeof *book.table, &book.table);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < values; ++i)
        book.table[i] = NAN;
    *out = book;
    return TN_OK;
}

/* ---- opening ---- */

static tn_status read_sub(tn_ctx *ctx, const tnp_safetensors *file, size_t *out)
{
    const char *text = tnp_safetensors_meta(file, "sub");
    if (!text || !tnp_digits(text, out) || *out == 0)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: 'sub' in its metadata is '%.40s', expected columns of a code",
                        tnp_safetensors_path(file), text ? text : "missing");
    return TN_OK;
}

/* One row of centroids after the other into the table. */
static tn_status fill_table(tn_ctx *ctx, const tnp_safetensors *file, const tnp_array *centroids, float *row,
                            tnp_codebook *book)
{
    tn_status st = TN_OK;
    size_t bytes = book->dim * sizeof *row;
    for (size_t c = 0; c < book->count; ++c) {
        TN_TRY(tnp_safetensors_bytes(ctx, file, centroids, c * bytes, bytes, row));
        if (centroids->swap)
            tnp_to_float(TN_F32, true, (const unsigned char *)row, sizeof *row, book->dim, row);
        for (size_t j = 0; j < book->dim; ++j)
            if (!isfinite(row[j]))
                TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: centroids: row %zu, column %zu is NaN or infinite",
                                tnp_safetensors_path(file), c, j));
        for (size_t g = 0; g < book->groups; ++g) {
            size_t width = tnp_codebook_width(book, g);
            memcpy(tnp_codebook_group(book, g) + c * width, row + g * book->sub, width * sizeof *row);
        }
    }
done:
    return st;
}

tn_status tnp_codebook_load(tn_ctx *ctx, const tnp_safetensors *file, tnp_codebook *out)
{
    tn_status st = TN_OK;
    const char *path = tnp_safetensors_path(file);
    tnp_codebook book = {.table = NULL};
    tnp_array a;
    float *row = NULL;
    char shape[TNP_SHAPE_TEXT];
    size_t sub = 0;
    TN_TRY(read_sub(ctx, file, &sub));
    TN_TRY(tnp_safetensors_find(ctx, file, "centroids", &a));
    if (a.dtype != TN_F32 || a.ndim != 2 || a.shape[0] == 0 || a.shape[0] > TNP_CODES || a.shape[1] == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: centroids: %s %s, expected float32 (1 to 256, columns)", path,
                        tn_dtype_name(a.dtype), tnp_shape_text(&a, shape)));
    if (sub > a.shape[1])
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: 'sub' in its metadata is %zu, but there are %zu columns", path, sub,
                        a.shape[1]));
    /* The table has room for 256 centroids however few there are. */
    TN_TRY(tnp_unfold_check(ctx, path, a.shape[0] * a.shape[1] * sizeof(float),
                            (double)a.shape[1] * TNP_CODES * sizeof(float)));
    TN_TRY(tnp_codebook_new(ctx, a.shape[1], sub, a.shape[0], &book));
    TN_TRY(tnp_alloc_raw(ctx, a.shape[1], sizeof *row, &row));
    TN_TRY(fill_table(ctx, file, &a, row, &book));
    *out = book;
    book.table = NULL;
done:
    tnp_free(row);
    tnp_free(book.table);
    return st;
}

static tn_status check_codes(tn_ctx *ctx, const tnp_safetensors *file, const tnp_array *codes, const tnp_codebook *book)
{
    tn_status st = TN_OK;
    unsigned char buffer[PIECE];
    char shape[TNP_SHAPE_TEXT];
    const char *path = tnp_safetensors_path(file);
    if (codes->dtype != TN_U8 || codes->ndim != 2 || codes->shape[1] != book->groups)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: codes: %s %s, expected uint8 (rows, %zu): %zu columns, %zu a code",
                        path, tn_dtype_name(codes->dtype), tnp_shape_text(codes, shape), book->groups, book->dim,
                        book->sub));
    size_t count = book->count == TNP_CODES ? 0 : codes->shape[0] * book->groups;
    for (size_t at = 0, n; at < count; at += n) {
        n = tnp_min(PIECE, count - at);
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_safetensors_bytes(ctx, file, codes, at, n, buffer));
        for (size_t i = 0; i < n; ++i)
            if (buffer[i] >= book->count)
                TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT,
                                "%s: codes: row %zu, group %zu holds %d, but there are %zu centroids", path,
                                (at + i) / book->groups, (at + i) % book->groups, (int)buffer[i], book->count));
    }
done:
    return st;
}

tn_status tnp_codes_open(tn_ctx *ctx, tn_features *features, tnp_safetensors *tensors)
{
    tn_status st = TN_OK;
    tnp_array codes;
    size_t index = 0;
    const char *version = tnp_safetensors_meta(tensors, "version");
    features->format = "codes";
    if (!version || strcmp(version, "1") != 0)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: tenon-codes version %.40s, this program reads version 1",
                        tnp_safetensors_path(tensors), version ? version : "missing");
    TN_TRY(tnp_codebook_load(ctx, tensors, &features->book));
    TN_TRY(tnp_safetensors_find(ctx, tensors, "codes", &codes));
    TN_TRY(check_codes(ctx, tensors, &codes, &features->book));
    TN_TRY(tnp_safetensors_give(ctx, tensors, features, &index));
    TN_TRY(tnp_features_add(ctx, features, features->path, &codes, index));
    features->cols = features->book.dim;
    features->dtype = TN_F32;
done:
    return st;
}

/* ---- decoding ---- */

/* Columns [col0, col0 + cols) of one row, whose first code here is that of group `first`. */
static void decode_row(const tnp_codebook *book, const unsigned char *codes, size_t first, size_t col0, size_t cols,
                       float *narrow, double *wide)
{
    size_t n;
    for (size_t c = 0; c < cols; c += n) {
        size_t g = (col0 + c) / book->sub, skip = col0 + c - g * book->sub, width = tnp_codebook_width(book, g);
        const float *from = tnp_codebook_group(book, g) + codes[g - first] * width + skip;
        n = tnp_min(width - skip, cols - c);
        if (narrow)
            memcpy(narrow + c, from, n * sizeof *narrow);
        for (size_t j = 0; wide && j < n; ++j)
            wide[c + j] = (double)from[j];
    }
}

/* The usual case: whole groups of eight, known to the compiler. codes begin with group g. */
static void decode_eights(const tnp_codebook *book, const unsigned char *codes, size_t step, size_t n, size_t ldo,
                          size_t g, size_t count, float *out)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < count; ++j)
            memcpy(out + i * ldo + j * 8, book->table + ((g + j) * TNP_CODES + codes[i * step + j]) * 8,
                   8 * sizeof *out);
}

void tnp_codes_decode(const tnp_codebook *book, const unsigned char *codes, size_t first, size_t step, size_t n,
                      size_t col0, size_t cols, float *narrow, double *wide)
{
    bool eights = narrow && book->sub == 8 && col0 % 8 == 0 && cols % 8 == 0;
    size_t begin = col0 / 8, end = (col0 + cols) / 8;
    for (size_t g = begin; eights && g < end; g += BAND)
        decode_eights(book, codes + (g - first), step, n, cols, g, tnp_min(BAND, end - g), narrow + (g - begin) * 8);
    for (size_t i = 0; !eights && i < n; ++i)
        decode_row(book, codes + i * step, first, col0, cols, narrow ? narrow + i * cols : NULL,
                   wide ? wide + i * cols : NULL);
}
