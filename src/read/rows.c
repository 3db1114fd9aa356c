/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rectangles of a source, converted. Work is cut into blocks of BLOCK output rows that the context's threads
 * take one by one; each row depends on nothing else, so the result is the same for every thread count.
 *
 * A Fortran-ordered block is read column by column through a small buffer: row by row would touch as many
 * pages as there are columns for every row. The lengths of the files are asked again before the bytes are
 * touched, so that a file truncated meanwhile is an error and not SIGBUS. */
#include "matrix/convert.h"
#include "read/codes.h"

enum { BLOCK = 64 };

typedef struct task {
    const tn_source *src;
    const size_t *index; /* NULL: rows are start, start + 1, ... */
    size_t start, count, col0, cols;
    size_t block;  /* rows, at most BLOCK */
    float *narrow; /* one of the two is the output */
    double *wide;
    tnp_rows_fn then; /* or NULL: what is done with rows just read, while they are in the cache */
    void *arg;
} task;

/* The part that holds a row. */
static size_t find_part(const tn_source *src, size_t row)
{
    size_t low = 0, high = src->part_count - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (src->parts[middle].first <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void convert(const task *job, const tnp_part *part, size_t row, size_t n, size_t out)
{
    const unsigned char *in = part->base + row * part->row_step + job->col0 * part->col_step;
    if (job->narrow)
        tnp_to_float(part->dtype, part->swap, in, part->col_step, n, job->narrow + out);
    else
        tnp_to_double(part->dtype, part->swap, in, part->col_step, n, job->wide + out);
}

/* n <= BLOCK consecutive rows of a part whose columns are the contiguous direction. */
static void convert_columns(const task *job, const tnp_part *part, size_t row, size_t n, size_t out)
{
    float narrow[BLOCK];
    double wide[BLOCK];
    for (size_t c = 0; c < job->cols; ++c) {
        const unsigned char *in = part->base + row * part->row_step + (job->col0 + c) * part->col_step;
        if (job->narrow) {
            tnp_to_float(part->dtype, part->swap, in, part->row_step, n, narrow);
            for (size_t i = 0; i < n; ++i)
                job->narrow[out + i * job->cols + c] = narrow[i];
        } else {
            tnp_to_double(part->dtype, part->swap, in, part->row_step, n, wide);
            for (size_t i = 0; i < n; ++i)
                job->wide[out + i * job->cols + c] = wide[i];
        }
    }
}

/* n consecutive rows of codes. */
static void decode(const task *job, const tnp_part *part, size_t row, size_t n, size_t out)
{
    tnp_codes_decode(&job->src->book, part->base + row * part->row_step, n, job->col0, job->cols,
                     job->narrow ? job->narrow + out : NULL, job->wide ? job->wide + out : NULL);
}

static void read_block(void *arg, size_t block)
{
    const task *job = arg;
    size_t first = block * job->block, end = tnp_min(job->count, first + job->block), run;
    for (size_t i = first; i < end; i += run) {
        size_t row = job->index ? job->index[job->start + i] : job->start + i;
        const tnp_part *part = &job->src->parts[find_part(job->src, row)];
        size_t size = tn_dtype_size(part->dtype), out = i * job->cols;
        row -= part->first;
        run = job->index ? 1 : tnp_min(end - i, part->rows - row);
        bool compact = part->col_step == size && part->row_step == job->cols * size;
        if (job->src->book.table)
            decode(job, part, row, run, out);
        else if (compact)
            convert(job, part, row, run * job->cols, out);
        else if (part->col_step != size && run > 1)
            convert_columns(job, part, row, run, out);
        else
            for (size_t j = 0; j < run; ++j)
                convert(job, part, row + j, job->cols, out + j * job->cols);
    }
    if (job->then)
        job->then(job->arg, first, end - first);
}

/* Bounds of the rectangle; *low and *high are its first and last row in the file. */
static tn_status check(tn_ctx *ctx, const task *job, size_t *low, size_t *high)
{
    const tn_source *src = job->src;
    if (job->col0 > src->cols || job->cols > src->cols - job->col0)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: columns %zu to %zu asked for, it has %zu", src->path, job->col0,
                        job->col0 + job->cols, src->cols);
    if (!job->index && (job->start > src->rows || job->count > src->rows - job->start))
        return tnp_fail(ctx, TN_ERR_ARG, "%s: rows %zu to %zu asked for, it has %zu", src->path, job->start,
                        job->start + job->count, src->rows);
    *low = job->index ? SIZE_MAX : job->start;
    *high = job->index ? 0 : job->start + (job->count ? job->count - 1 : 0);
    for (size_t i = 0; job->index && i < job->count; ++i) {
        size_t row = job->index[job->start + i];
        if (row >= src->rows)
            return tnp_fail(ctx, TN_ERR_ARG, "%s: row %zu asked for, it has %zu", src->path, row, src->rows);
        *low = tnp_min(*low, row);
        *high = tnp_max(*high, row);
    }
    return TN_OK;
}

static tn_status run(tn_ctx *ctx, task *job)
{
    size_t low = 0, high = 0;
    tn_status st = check(ctx, job, &low, &high);
    if (st != TN_OK || job->count == 0 || job->cols == 0)
        return st;
    for (size_t p = find_part(job->src, low), last = find_part(job->src, high); p <= last; ++p) {
        if (job->src->parts[p].file == TNP_NO_FILE)
            continue;
        const tnp_file *file = &job->src->files[job->src->parts[p].file];
        st = tnp_map_still_there(ctx, file->path, file->map.size);
        if (st != TN_OK)
            return st;
    }
    size_t blocks = (job->count - 1) / job->block + 1;
    double values = (double)job->count * (double)job->cols * (double)(BLOCK / job->block);
    tnp_parallel(ctx, tnp_threads_for(ctx, values), blocks, read_block, job);
    return TN_OK;
}

tn_status tn_source_read(tn_ctx *ctx, const tn_source *src, const size_t *index, size_t start, size_t count,
                         size_t col0, size_t cols, float *out)
{
    task job = {src, index, start, count, col0, cols, BLOCK, out, NULL, NULL, NULL};
    return run(ctx, &job);
}

tn_status tn_source_read_wide(tn_ctx *ctx, const tn_source *src, const size_t *index, size_t start, size_t count,
                              size_t col0, size_t cols, double *out)
{
    task job = {src, index, start, count, col0, cols, BLOCK, NULL, out, NULL, NULL};
    return run(ctx, &job);
}

tn_status tnp_source_read_then(tn_ctx *ctx, const tn_source *src, const size_t *index, size_t start, size_t count,
                               float *narrow, double *wide, size_t grow, tnp_rows_fn then, void *arg)
{
    size_t block = tnp_max(1, BLOCK / tnp_max(grow, 1));
    task job = {src, index, start, count, 0, src->cols, block, narrow, wide, then, arg};
    return run(ctx, &job);
}

void tnp_source_expect(const tn_source *src, const size_t *index, size_t start, size_t count, bool soon)
{
    if (count == 0)
        return;
    size_t low = index ? index[start] : start, high = index ? index[start + count - 1] : start + count - 1;
    for (size_t p = find_part(src, low), last = find_part(src, high); p <= last; ++p) {
        const tnp_part *part = &src->parts[p];
        if (part->file == TNP_NO_FILE || part->row_step < part->col_step) /* columns: a row touches every page anyway */
            continue;
        const tnp_map *map = &src->files[part->file].map;
        size_t from = low > part->first ? low - part->first : 0, to = tnp_min(part->rows, high + 1 - part->first);
        size_t offset = (size_t)(part->base - map->data) + from * part->row_step, size = (to - from) * part->row_step;
        if (soon)
            tnp_map_soon(map, offset, size);
        else
            tnp_map_later(map, offset, size);
    }
}
