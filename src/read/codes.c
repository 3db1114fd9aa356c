/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features as the codes of a product quantiser (encode/pq.c makes them), which a producer decodes: a .safetensors file
 * with
 *
 *   centroids  (count, dim) F32    columns [g sub, (g + 1) sub) of row c are centroid c of group g; 1 <= count <= 256
 *   codes      (rows, groups) U8   groups = ceil(dim / sub), each code below count
 *   metadata   format = tenon-codes, version = 1, sub
 *
 *   value (i, j) = centroids[codes[i, j / sub], j]
 *
 * The codes stay in the file; the centroids, 1 KB per column, are copied group by group, so that a row finds those of
 * neighbouring columns together. Only rows that are asked for are decoded. Consecutive rows are decoded in bands of
 * BAND groups, whose centroids stay in the cache: 0.7 us per row of 4096 columns instead of 1.1.
 *
 * With 256 centroids every byte is a code. With fewer, all codes are looked at once, when the file is opened; the table
 * has 256 places all the same, filled with NaN, so that a file changed afterwards leads nowhere. Refused: other types
 * and shapes, centroids that are NaN or infinite. Oracle: tests/ref/ref_pq.c. */
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

/* ---- the table ---- */

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
    /* The table has places for 256 centroids however few there are. */
    TN_TRY(tnp_unfold_check(ctx, path, a.shape[0] * a.shape[1] * sizeof(float),
                            (double)a.shape[1] * TNP_CODES * sizeof(float)));
    TN_TRY(tnp_codebook_new(ctx, a.shape[1], sub, a.shape[0], &book));
    TN_TRY(tnp_alloc_raw(ctx, a.shape[1], sizeof *row, &row));
    TN_TRY(fill_table(ctx, file, &a, row, &book));
    *out = book;
    book.table = NULL;
done:
    tnp_free_all(row, book.table);
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

/* ---- decoding ---- */

/* Groups of any width, one row. */
static void decode_row(const tnp_codebook *book, const unsigned char *codes, size_t first, size_t count, float *out)
{
    for (size_t g = first; g < first + count; ++g) {
        size_t width = tnp_codebook_width(book, g);
        memcpy(out + g * book->sub, tnp_codebook_group(book, g) + codes[g - first] * width, width * sizeof *out);
    }
}

/* The usual case: groups of eight, known to the compiler. */
static void decode_eights(const tnp_codebook *book, const unsigned char *codes, size_t step, size_t n, size_t first,
                          size_t count, float *out)
{
    const float *table = tnp_codebook_group(book, first);
    size_t dim = book->dim;
    out += first * 8;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < count; ++j)
            memcpy(out + i * dim + j * 8, table + (j * TNP_CODES + codes[i * step + j]) * 8, 8 * sizeof *out);
}

void tnp_codes_decode(const tnp_codebook *book, const unsigned char *codes, size_t step, size_t n, size_t first,
                      size_t count, float *out)
{
    bool eights = book->sub == 8 && book->dim % 8 == 0;
    for (size_t g = 0; eights && g < count; g += BAND)
        decode_eights(book, codes + g, step, n, first + g, tnp_min(BAND, count - g), out);
    for (size_t i = 0; !eights && i < n; ++i)
        decode_row(book, codes + i * step, first, count, out + i * book->dim);
}

/* ---- the producer ---- */

typedef struct coded {
    tnp_codebook book;
    const tnp_file *file; /* of the features, which close it later */
    size_t at;            /* byte where the codes begin */
} coded;

static void release(void *user)
{
    coded *c = user;
    tnp_free_all(c->book.table, c);
}

/* n rows that follow each other; rows of more codes than the buffer holds in pieces. */
static tnp_fault decode_rows(const coded *c, size_t row, size_t n, float *out)
{
    unsigned char buffer[PIECE];
    const tnp_codebook *book = &c->book;
    size_t groups = book->groups, most = tnp_max(1, PIECE / groups), k;
    for (size_t i = 0; i < n; i += k) {
        k = tnp_min(n - i, most);
        for (size_t g = 0, count; g < groups; g += count) {
            count = tnp_min(groups - g, PIECE);
            size_t bytes = count == groups ? k * groups : count;
            tnp_fault fault = tnp_file_copy(c->file, c->at + (row + i) * groups + g, bytes, buffer);
            if (fault.code != 0)
                return fault;
            tnp_codes_decode(book, buffer, groups, k, g, count, out + i * book->dim);
        }
    }
    return (tnp_fault){0, 0};
}

static tn_status produce(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    const coded *c = user;
    float *rows = out;
    for (size_t i = 0, n; i < count; i += n) {
        size_t row = index ? index[start + i] : start + i;
        n = index ? 1 : count;
        while (index && i + n < count && index[start + i + n] == row + n)
            ++n;
        tnp_fault fault = decode_rows(c, row, n, rows + i * c->book.dim);
        if (fault.code != 0) {
            tnp_fault_text(fault, message, TN_PRODUCER_MESSAGE);
            return TN_ERR_IO;
        }
    }
    return TN_OK;
}

/* ---- opening ---- */

static tn_status check_version(tn_ctx *ctx, const tnp_safetensors *tensors)
{
    const char *version = tnp_safetensors_meta(tensors, "version");
    if (!version || strcmp(version, "1") != 0)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: tenon-codes version %.40s, this program reads version 1",
                        tnp_safetensors_path(tensors), version ? version : "missing");
    return TN_OK;
}

/* The codes are a part, in a file of the features, so that both are watched and advised as all others are. */
tn_status tnp_codes_open(tn_ctx *ctx, tn_features *features, tnp_safetensors *tensors)
{
    tn_status st = TN_OK;
    tnp_array codes;
    size_t index = 0;
    coded *c = NULL;
    features->format = "codes";
    TN_TRY(check_version(ctx, tensors));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    TN_TRY(tnp_codebook_load(ctx, tensors, &c->book));
    TN_TRY(tnp_safetensors_find(ctx, tensors, "codes", &codes));
    TN_TRY(check_codes(ctx, tensors, &codes, &c->book));
    TN_TRY(tnp_safetensors_give(ctx, tensors, features, &index));
    TN_TRY(tnp_features_add(ctx, features, features->path, &codes, index));
    c->file = features->files[index];
    c->at = codes.at;
    features->cols = c->book.dim;
    features->dtype = TN_F32;
    features->producer = (tn_producer){.user = c, .read = produce, .release = release};
    c = NULL;
done:
    if (c)
        release(c);
    return st;
}
