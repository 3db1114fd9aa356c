/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rectangles of a source, converted. Work is cut into blocks of output rows that the context's threads take one by one; each
 * row depends on nothing else, so the result is the same for every thread count.
 *
 * Values in files are read by position: those that need no conversion straight to where they go, the others through a buffer
 * on the stack, neighbouring rows with one call. A file that became shorter is an error with the byte that is gone.
 *
 * A Fortran-ordered block is read column by column: row by row would be a call for every value. The rows of a block are sorted
 * first, so that those near each other come with one call, and blocks are longer, since a call brings one column. */
#include "matrix/convert.h"
#include "read/codes.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, LONG_BLOCK = 1024, BYTES = 1 << 16, PAGE = 4096, SPAN = 2048, PANEL = 16, STRIDE = LONG_BLOCK + 16 };

/* Where values go: one of the three. */
typedef struct sink {
    float *narrow;
    double *wide;
    int64_t *whole;
} sink;

typedef struct task {
    const tn_features *features;
    const size_t *index; /* NULL: rows are start, start + 1, ... */
    size_t start, count, col0, cols;
    sink out;
    size_t block;     /* rows */
    size_t grow;      /* values made of each that is read */
    tnp_rows_fn then; /* or NULL: what is done with rows just read, while they are in the cache */
    void *arg;
    atomic_int failed; /* 1 from the first fault on, which is: */
    size_t file;
    tnp_fault fault;
    atomic_size_t unfit; /* the first value that int64 does not hold; SIZE_MAX: none */
} task;

static sink sink_at(sink s, size_t i)
{
    return (sink){s.narrow ? s.narrow + i : NULL, s.wide ? s.wide + i : NULL, s.whole ? s.whole + i : NULL};
}

/* The part that holds a row. */
static size_t find_part(const tn_features *features, size_t row)
{
    size_t low = 0, high = features->part_count - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (features->parts[middle].first <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static bool by_column(const tnp_part *part)
{
    return part->col_step != tn_dtype_size(part->dtype);
}

/* Row i of the task in the source. */
static size_t row_of(const task *job, size_t i)
{
    return job->index ? job->index[job->start + i] : job->start + i;
}

/* Bytes of a part in a file; false when they did not come: then nothing of the task matters any more. */
static bool fetch(task *job, const tnp_part *part, size_t offset, size_t size, void *out)
{
    int none = 0;
    tnp_fault fault = tnp_file_copy(job->features->files[part->file], part->at + offset, size, out);
    if (fault.code == 0)
        return true;
    if (atomic_compare_exchange_strong(&job->failed, &none, 1)) {
        job->file = part->file;
        job->fault = fault;
    }
    return false;
}

/* n values, side by side; returns how many came before the first that int64 does not hold, which only whole numbers meet. */
static size_t convert(const tnp_part *part, const unsigned char *in, size_t n, sink to)
{
    size_t size = tn_dtype_size(part->dtype);
    if (to.whole)
        return tnp_to_int64(part->dtype, part->swap, in, size, n, to.whole);
    if (to.narrow)
        tnp_to_float(part->dtype, part->swap, in, size, n, to.narrow);
    else
        tnp_to_double(part->dtype, part->swap, in, size, n, to.wide);
    return n;
}

/* The value at this place of the output does not fit. */
static void note_unfit(task *job, size_t place)
{
    size_t least = atomic_load(&job->unfit);
    while (place < least && !atomic_compare_exchange_weak(&job->unfit, &least, place))
        ;
}

/* n values to places place, place + 1, ... */
static void put_values(task *job, const tnp_part *part, const unsigned char *in, size_t n, size_t place)
{
    size_t fit = convert(part, in, n, sink_at(job->out, place));
    if (fit != n)
        note_unfit(job, place + fit);
}

/* ---- rows whose values are neighbours ---- */

/* Where values of a file go as they are; NULL when they must be converted. */
static void *as_they_are(const tnp_part *part, sink to)
{
    if (part->swap)
        return NULL;
    return part->dtype == TN_F32 ? (void *)to.narrow : part->dtype == TN_F64 ? (void *)to.wide : NULL;
}

/* One row through the buffer, however long it is. */
static bool read_long_row(task *job, const tnp_part *part, size_t offset, size_t place, unsigned char *buffer)
{
    size_t size = tn_dtype_size(part->dtype), n;
    for (size_t c = 0; c < job->cols; c += n) {
        n = tnp_min(job->cols - c, BYTES / size);
        if (!fetch(job, part, offset + c * size, n * size, buffer))
            return false;
        put_values(job, part, buffer, n, place + c);
    }
    return true;
}

/* n rows that follow each other in a file. */
static bool read_file_rows(task *job, const tnp_part *part, size_t offset, size_t n, size_t place)
{
    unsigned char buffer[BYTES];
    size_t size = tn_dtype_size(part->dtype), step = part->row_step, bytes = job->cols * size, k;
    void *to = as_they_are(part, sink_at(job->out, place));
    if (to && step == bytes)
        return fetch(job, part, offset, n * bytes, to);
    /* A little of every row: the rest would cost more than the calls. */
    bool alone = bytes > BYTES || step > 4 * bytes || (to && bytes >= PAGE);
    for (size_t i = 0; i < n; i += k, offset += k * step, place += k * job->cols) {
        k = alone ? 1 : tnp_min(n - i, (BYTES - bytes) / step + 1);
        to = alone ? as_they_are(part, sink_at(job->out, place)) : NULL;
        if (to              ? !fetch(job, part, offset, bytes, to)
            : bytes > BYTES ? !read_long_row(job, part, offset, place, buffer)
                            : !fetch(job, part, offset, (k - 1) * step + bytes, buffer))
            return false;
        size_t together = step == bytes ? k : 1;
        for (size_t j = 0; !to && bytes <= BYTES && j < k; j += together)
            put_values(job, part, buffer + j * step, together * job->cols, place + j * job->cols);
    }
    return true;
}

static bool read_rows(task *job, const tnp_part *part, size_t row, size_t n, size_t place)
{
    size_t size = tn_dtype_size(part->dtype), offset = row * part->row_step + job->col0 * size;
    if (!part->base)
        return read_file_rows(job, part, offset, n, place);
    size_t together = part->row_step == job->cols * size ? n : 1;
    for (size_t j = 0; j < n; j += together, place += together * job->cols)
        put_values(job, part, part->base + offset + j * part->row_step, together * job->cols, place);
    return true;
}

/* n consecutive rows of codes. */
static bool read_codes(task *job, const tnp_part *part, size_t row, size_t n, size_t place)
{
    unsigned char buffer[BYTES];
    const tnp_codebook *book = &job->features->book;
    size_t end = job->col0 + job->cols, k = 1, cols;
    for (size_t i = 0; i < n; i += k)
        for (size_t col = job->col0; col < end; col += cols) {
            size_t first = col / book->sub, groups = tnp_min((end - 1) / book->sub + 1 - first, BYTES);
            cols = tnp_min(end, (first + groups) * book->sub) - col;
            k = cols == job->cols ? tnp_min(n - i, (BYTES - groups) / part->row_step + 1) : 1;
            if (!fetch(job, part, (row + i) * part->row_step + first, (k - 1) * part->row_step + groups, buffer))
                return false;
            sink to = sink_at(job->out, place + i * job->cols + col - job->col0);
            tnp_codes_decode(book, buffer, first, part->row_step, k, col, cols, to.narrow, to.wide);
        }
    return true;
}

/* ---- columns whose values are neighbours ---- */

/* A row of a part and its place in the output. */
typedef struct wanted {
    size_t row, place;
    size_t near; /* of the first of several that come with one call: their number */
    bool gaps;   /* they do not just follow each other */
} wanted;

static int compare_wanted(const void *a, const void *b)
{
    size_t x = ((const wanted *)a)->row, y = ((const wanted *)b)->row;
    return (x > y) - (x < y);
}

/* Rows, ascending, come with one call as long as the gaps between them are less than a page. */
static void join_near(wanted *rows, size_t n, size_t size)
{
    for (size_t i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n; ++k) {
            size_t gap = rows[i + k].row - rows[i + k - 1].row;
            if (gap * size > PAGE || rows[i + k].row - rows[i].row >= SPAN)
                break;
            rows[i].gaps |= gap != 1;
        }
        rows[i].near = k;
    }
}

/* Values of one column of n rows side by side; in[] begins with that of the first row. */
static void pick(const wanted *rows, size_t n, size_t size, const unsigned char *in, unsigned char *out)
{
    for (size_t j = 0; j < n; ++j)
        memcpy(out + j * size, in + (rows[j].row - rows[0].row) * size, size);
}

/* Column `column` of n rows into values. */
static bool read_column(task *job, const tnp_part *part, const wanted *rows, size_t n, size_t column, sink values)
{
    unsigned char buffer[SPAN * 8], picked[LONG_BLOCK * 8];
    size_t size = tn_dtype_size(part->dtype), k;
    for (size_t i = 0; i < n; i += k) {
        k = rows[i].near;
        size_t span = rows[i + k - 1].row - rows[i].row + 1;
        size_t offset = rows[i].row * size + (job->col0 + column) * part->col_step;
        const unsigned char *in = part->base ? part->base + offset : buffer;
        if (!part->base && !fetch(job, part, offset, span * size, buffer))
            return false;
        if (rows[i].gaps) {
            pick(rows + i, k, size, in, picked);
            in = picked;
        }
        size_t fit = convert(part, in, k, sink_at(values, i));
        if (fit != k)
            note_unfit(job, rows[i + fit].place * job->cols + column);
    }
    return true;
}

/* The values of `width` columns, STRIDE apart, to their rows of the output from column `first` on. */
static void turn(const task *job, const wanted *rows, size_t n, size_t first, size_t width, sink values)
{
    for (size_t j = 0; j < n; ++j) {
        sink to = sink_at(job->out, rows[j].place * job->cols + first);
        for (size_t c = 0; to.narrow && c < width; ++c)
            to.narrow[c] = values.narrow[c * STRIDE + j];
        for (size_t c = 0; to.wide && c < width; ++c)
            to.wide[c] = values.wide[c * STRIDE + j];
        for (size_t c = 0; to.whole && c < width; ++c)
            to.whole[c] = values.whole[c * STRIDE + j];
    }
}

/* A cache line of columns at a time: single values a whole row apart would all fall on the same places of the cache. */
static bool read_columns(task *job, const tnp_part *part, const wanted *rows, size_t n)
{
    union {
        float narrow[PANEL * STRIDE];
        double wide[PANEL * STRIDE];
        int64_t whole[PANEL * STRIDE];
    } v;
    const sink values = {job->out.narrow ? v.narrow : NULL, job->out.wide ? v.wide : NULL,
                         job->out.whole ? v.whole : NULL};
    for (size_t first = 0, width; first < job->cols; first += width) {
        width = tnp_min(PANEL, job->cols - first);
        for (size_t c = 0; c < width; ++c)
            if (!read_column(job, part, rows, n, first + c, sink_at(values, c * STRIDE)))
                return false;
        turn(job, rows, n, first, width, values);
    }
    return true;
}

/* As many of the rows [i, end) of the task as are in this part, in any order; their number in *n. */
static bool read_by_column(task *job, const tnp_part *part, size_t i, size_t end, size_t *n)
{
    wanted rows[LONG_BLOCK];
    size_t count = 0;
    for (size_t row; i < end && count < LONG_BLOCK; ++i, ++count) {
        row = row_of(job, i);
        if (row < part->first || row - part->first >= part->rows)
            break;
        rows[count] = (wanted){.row = row - part->first, .place = i};
    }
    if (job->index)
        qsort(rows, count, sizeof *rows, compare_wanted);
    join_near(rows, count, tn_dtype_size(part->dtype));
    *n = count;
    return read_columns(job, part, rows, count);
}

/* ---- blocks ---- */

/* How many of the rows [i, end) follow each other in the part that has row i. */
static size_t run_length(const task *job, const tnp_part *part, size_t i, size_t end)
{
    size_t row = row_of(job, i), most = tnp_min(end - i, part->first + part->rows - row), n = 1;
    if (!job->index)
        return most;
    while (n < most && row_of(job, i + n) == row + n)
        ++n;
    return n;
}

static void read_block(void *arg, size_t block)
{
    task *job = arg;
    size_t first = block * job->block, end = tnp_min(job->count, first + job->block), n = 0;
    bool fine = atomic_load(&job->failed) == 0;
    for (size_t i = first; fine && i < end; i += n) {
        size_t row = row_of(job, i);
        const tnp_part *part = &job->features->parts[find_part(job->features, row)];
        n = run_length(job, part, i, end);
        if (job->features->book.table)
            fine = read_codes(job, part, row - part->first, n, i * job->cols);
        else if (by_column(part))
            fine = read_by_column(job, part, i, end, &n);
        else
            fine = read_rows(job, part, row - part->first, n, i * job->cols);
    }
    if (fine && job->then)
        job->then(job->arg, first, end - first);
}

/* Bounds of the rectangle; *low and *high are its first and last row. */
static tn_status check(tn_ctx *ctx, const task *job, size_t *low, size_t *high)
{
    const tn_features *features = job->features;
    if (job->col0 > features->cols || job->cols > features->cols - job->col0)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: columns %zu to %zu asked for, it has %zu", features->path, job->col0,
                        job->col0 + job->cols, features->cols);
    if (!job->index && (job->start > features->rows || job->count > features->rows - job->start))
        return tnp_fail(ctx, TN_ERR_ARG, "%s: rows %zu to %zu asked for, it has %zu", features->path, job->start,
                        job->start + job->count, features->rows);
    *low = job->index ? SIZE_MAX : job->start;
    *high = job->index ? 0 : job->start + (job->count ? job->count - 1 : 0);
    for (size_t i = 0; job->index && i < job->count; ++i) {
        size_t row = row_of(job, i);
        if (row >= features->rows)
            return tnp_fail(ctx, TN_ERR_ARG, "%s: row %zu asked for, it has %zu", features->path, row, features->rows);
        *low = tnp_min(*low, row);
        *high = tnp_max(*high, row);
    }
    return TN_OK;
}

/* The files that rows [low, high] came from are as long as they were. */
static tn_status still_there(tn_ctx *ctx, const tn_features *features, size_t low, size_t high)
{
    tn_status st = TN_OK;
    for (size_t p = find_part(features, low), last = find_part(features, high); st == TN_OK && p <= last; ++p)
        if (features->parts[p].file != TNP_NO_FILE)
            st = tnp_file_failed(ctx, features->files[features->parts[p].file],
                                 tnp_file_still(features->files[features->parts[p].file]));
    return st;
}

static tn_status run(tn_ctx *ctx, task *job)
{
    size_t low = 0, high = 0;
    tn_status st = check(ctx, job, &low, &high);
    if (st != TN_OK || job->count == 0 || job->cols == 0)
        return st;
    size_t most = by_column(&job->features->parts[0]) ? LONG_BLOCK : BLOCK;
    job->block = tnp_max(1, most / tnp_max(job->grow, 1));
    size_t blocks = (job->count - 1) / job->block + 1;
    double values = (double)job->count * (double)job->cols * (double)tnp_max(job->grow, 1);
    tnp_parallel(ctx, tnp_threads_for(ctx, values), blocks, read_block, job);
    if (atomic_load(&job->failed))
        return tnp_file_failed(ctx, job->features->files[job->file], job->fault);
    return still_there(ctx, job->features, low, high);
}

tn_status tn_features_read(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start, size_t count,
                           size_t col0, size_t cols, float *out)
{
    task job = {.features = features,
                .index = index,
                .start = start,
                .count = count,
                .col0 = col0,
                .cols = cols,
                .out = {.narrow = out}};
    return run(ctx, &job);
}

tn_status tn_features_read_wide(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                size_t count, size_t col0, size_t cols, double *out)
{
    task job = {.features = features,
                .index = index,
                .start = start,
                .count = count,
                .col0 = col0,
                .cols = cols,
                .out = {.wide = out}};
    return run(ctx, &job);
}

tn_status tnp_features_read_then(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                 size_t count, float *narrow, double *wide, size_t grow, tnp_rows_fn then, void *arg)
{
    task job = {.features = features,
                .index = index,
                .start = start,
                .count = count,
                .cols = features->cols,
                .out = {.narrow = narrow, .wide = wide},
                .grow = grow,
                .then = then,
                .arg = arg};
    return run(ctx, &job);
}

tn_status tnp_features_read_ints(tn_ctx *ctx, const tn_features *features, size_t start, size_t count, int64_t *out)
{
    task job = {.features = features,
                .start = start,
                .count = count,
                .cols = features->cols,
                .out = {.whole = out},
                .unfit = SIZE_MAX};
    tn_status st = run(ctx, &job);
    if (st == TN_OK && job.unfit != SIZE_MAX)
        st = tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: value is above %" PRId64, features->path,
                      start + job.unfit / features->cols, INT64_MAX);
    return st;
}

void tnp_features_expect(const tn_features *features, const size_t *index, size_t start, size_t count, bool soon)
{
    if (count == 0)
        return;
    size_t low = index ? index[start] : start, high = index ? index[start + count - 1] : start + count - 1;
    for (size_t p = find_part(features, low), last = find_part(features, high); p <= last; ++p) {
        const tnp_part *part = &features->parts[p];
        if (part->file == TNP_NO_FILE || by_column(part)) /* columns: a row touches every page anyway */
            continue;
        size_t from = low > part->first ? low - part->first : 0, to = tnp_min(part->rows, high + 1 - part->first);
        size_t at = part->at + from * part->row_step, size = (to - from) * part->row_step;
        if (soon)
            tnp_file_soon(features->files[part->file], at, size);
        else
            tnp_file_later(features->files[part->file], at, size);
    }
}
