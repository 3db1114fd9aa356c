/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A matrix of float32 or float16 as .npy, row block by row block, so that scores of any number of rows need the memory
 * of one block. Format version 1.0:
 *
 *   \x93 N U M P Y  1 0  | length of the header, 2 bytes little-endian | header | rows * cols values, row-major
 *
 * Halves are the nearest ones, the even one of two; a value that would become infinite is refused.
 *
 * The header is a Python dictionary, padded with blanks so that the data begins at a multiple of 64. */
#include "matrix/convert.h"
#include "store/store.h"
#include "tenon/store.h"

#include <string.h>

enum { PREFIX = 10, HEADER = 118 }; /* 128 together: shapes of 20 digits each still fit */

struct tn_npy_writer {
    tn_output *output;
    char *path;
    size_t rows, cols, written;
    tn_dtype dtype;
    size_t bag; /* descriptors that the columns of a row are; 0: it is one vector */
};

static bool little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first = 0;
    memcpy(&first, &one, 1);
    return first == 1;
}

static tn_status write_header(tn_ctx *ctx, const tn_npy_writer *writer)
{
    unsigned char bytes[PREFIX + HEADER + 1] = "\x93NUMPY\x01";
    bytes[8] = HEADER;
    char *header = (char *)bytes + PREFIX;
    char shape[70];
    if (writer->bag)
        snprintf(shape, sizeof shape, "%zu, %zu, %zu", writer->rows, writer->bag, writer->cols / writer->bag);
    else
        snprintf(shape, sizeof shape, "%zu, %zu", writer->rows, writer->cols);
    int used = snprintf(header, HEADER, "{'descr': '%cf%d', 'fortran_order': False, 'shape': (%s), }",
                        little_endian() ? '<' : '>', writer->dtype == TN_F16 ? 2 : 4, shape);
    memset(header + used, ' ', (size_t)(HEADER - used));
    header[HEADER - 1] = '\n';
    return tn_output_write(ctx, writer->output, bytes, PREFIX + HEADER);
}

static tn_status open_writer(tn_ctx *ctx, const char *path, size_t rows, size_t bag, size_t cols, tn_dtype dtype,
                             tn_npy_writer **out)
{
    tn_status st = TN_OK;
    tn_npy_writer *writer = NULL;
    if (dtype != TN_F32 && dtype != TN_F16)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: rows are written as float32 or float16", path);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *writer, &writer));
    writer->dtype = dtype;
    writer->rows = rows;
    writer->cols = cols;
    writer->bag = bag;
    TN_TRY(tnp_strdup(ctx, path, &writer->path));
    TN_TRY(tn_output_open(ctx, path, &writer->output));
    TN_TRY(write_header(ctx, writer));
    *out = writer;
    writer = NULL;
done:
    tn_npy_writer_close(writer);
    return st;
}

tn_status tn_npy_writer_open(tn_ctx *ctx, const char *path, size_t rows, size_t cols, tn_npy_writer **out)
{
    return open_writer(ctx, path, rows, 0, cols, TN_F32, out);
}

tn_status tn_npy_writer_open_as(tn_ctx *ctx, const char *path, size_t rows, size_t cols, tn_dtype dtype,
                                tn_npy_writer **out)
{
    return open_writer(ctx, path, rows, 0, cols, dtype, out);
}

tn_status tnp_npy_writer_open_bags(tn_ctx *ctx, const char *path, size_t rows, size_t bag, size_t cols,
                                   tn_npy_writer **out)
{
    return open_writer(ctx, path, rows, bag, cols, TN_F32, out);
}

enum { HALVES = 4096 };

static tn_status write_halves(tn_ctx *ctx, tn_npy_writer *writer, const float *data, size_t values)
{
    uint16_t halves[HALVES];
    tn_status st = TN_OK;
    for (size_t i = 0; st == TN_OK && i < values; i += HALVES) {
        size_t n = tnp_min(HALVES, values - i);
        for (size_t j = 0; j < n; ++j) {
            float v = data[i + j];
            if ((v >= TNP_HALF_END || v <= -TNP_HALF_END) && v - v == 0)
                return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu holds %g, which is beyond float16", writer->path,
                                writer->written + (i + j) / writer->cols, (double)v);
            halves[j] = tnp_half_of(v);
        }
        st = tn_output_write(ctx, writer->output, halves, n * sizeof *halves);
    }
    return st;
}

tn_status tn_npy_writer_rows(tn_ctx *ctx, tn_npy_writer *writer, const float *data, size_t rows)
{
    size_t values = 0, bytes = 0;
    if (rows > writer->rows - writer->written)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: got %zu rows after %zu, expected %zu in all", writer->path, rows,
                        writer->written, writer->rows);
    tn_status st = tnp_mul(ctx, rows, writer->cols, &values);
    if (st == TN_OK)
        st = tnp_mul(ctx, values, sizeof *data, &bytes);
    if (st == TN_OK)
        st = writer->dtype == TN_F16 ? write_halves(ctx, writer, data, values)
                                     : tn_output_write(ctx, writer->output, data, bytes);
    if (st == TN_OK)
        writer->written += rows;
    return st;
}

tn_status tn_npy_writer_commit(tn_ctx *ctx, tn_npy_writer *writer)
{
    if (writer->written != writer->rows)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: got %zu rows, expected %zu", writer->path, writer->written,
                        writer->rows);
    return tn_output_commit(ctx, writer->output);
}

void tn_npy_writer_close(tn_npy_writer *writer)
{
    if (!writer)
        return;
    tn_output_close(writer->output);
    tnp_free_all(writer->path, writer);
}
