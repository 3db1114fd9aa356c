/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rectangles of features, converted. Work is cut into blocks of output rows that the context's threads take one by one;
 * each row depends on nothing else, so the result is the same for every thread count.
 *
 * Values in files are read by position: those that need no conversion straight to where they go, the others through a
 * buffer on the stack, neighbouring rows with one call. A file that became shorter is an error with the byte that is
 * gone.
 *
 * A Fortran-ordered block is read column by column: row by row would be a call for every value. The rows of a block are
 * sorted first, so that those near each other come with one call, and blocks are longer, since a call brings one
 * column.
 *
 * A producer fills blocks of whole rows where they go. When they are wanted in another type, or only some of their
 * columns, they go through memory, some rows at a time, and are read from there as an array is. Columns are not asked
 * of producers: few could make one without the others. */
#include "matrix/convert.h"
#include "read/features.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 64,
    LONG_BLOCK = 1024,
    BYTES = 1 << 16,
    PAGE = 4096,
    SPAN = 2048,
    PANEL = 16,
    STRIDE = LONG_BLOCK + 16,
    PRODUCED = 1 << 22 /* bytes of rows that wait to be converted, but one row */
};

/* Where values go: one of the three. */
typedef struct sink {
    float *narrow;
    double *wide;
    int64_t *whole;
} sink;

typedef struct request {
    const tn_features *features;
    const size_t *index; /* NULL: rows are start, start + 1, ... */
    size_t start, count, col0, cols;
    sink out;
    size_t block;     /* rows */
    size_t grow;      /* values made of each that is read */
    tnp_rows_fn then; /* or NULL: what is done with rows just read, while they are in the cache */
    void *arg;
    size_t before;     /* rows of the call that came before these */
    atomic_int failed; /* 1 from the first failure on, which is: */
    tn_status status;
    const char *where;
    char message[TN_PRODUCER_MESSAGE];
    atomic_size_t unfit; /* the first value that int64 does not hold; SIZE_MAX: none */
} request;

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

/* Fortran order: values of a column are neighbours, those of a row are not. */
static bool by_column(const tnp_part *part)
{
    ptrdiff_t size = (ptrdiff_t)tn_dtype_size(part->dtype);
    return part->col_step != size && part->row_step == size;
}

/* Where a value is: in memory, or counted from the part's first byte in its file. */
static const unsigned char *in_memory(const tnp_part *part, size_t row, size_t col)
{
    return part->base + (ptrdiff_t)row * part->row_step + (ptrdiff_t)col * part->col_step;
}

static size_t in_file(const tnp_part *part, size_t row, size_t col)
{
    return row * (size_t)part->row_step + col * (size_t)part->col_step;
}

/* Row i of the request. */
static size_t row_of(const request *job, size_t i)
{
    return job->index ? job->index[job->start + i] : job->start + i;
}

/* Keeps the first failure; false: nothing of the request matters any more. */
static bool note_failure(request *job, tn_status status, const char *where, const char *message)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&job->failed, &none, 1)) {
        job->status = status;
        job->where = where;
        snprintf(job->message, sizeof job->message, "%s", message);
    }
    return false;
}

/* Bytes of a part in a file. */
static bool fetch(request *job, const tnp_part *part, size_t offset, size_t size, void *out)
{
    const tnp_file *file = job->features->files[part->file];
    char text[TN_PRODUCER_MESSAGE];
    tnp_fault fault = tnp_file_copy(file, part->at + offset, size, out);
    if (fault.code == 0)
        return true;
    tnp_fault_text(fault, text, sizeof text);
    return note_failure(job, TN_ERR_IO, tnp_file_path(file), text);
}

/* n values, `step` bytes apart; returns how many came before the first that int64 does not hold, which only whole
 * numbers meet. */
static size_t convert(const tnp_part *part, const unsigned char *in, ptrdiff_t step, size_t n, sink to)
{
    if (to.whole)
        return tnp_to_int64(part->dtype, part->swap, in, step, n, to.whole);
    if (to.narrow)
        tnp_to_float(part->dtype, part->swap, in, step, n, to.narrow);
    else
        tnp_to_double(part->dtype, part->swap, in, step, n, to.wide);
    return n;
}

/* The value at this place of the output does not fit. */
static void note_unfit(request *job, size_t place)
{
    size_t least = atomic_load(&job->unfit);
    while (place < least && !atomic_compare_exchange_weak(&job->unfit, &least, place))
        ;
}

/* n values to places place, place + 1, ... */
static void put_values(request *job, const tnp_part *part, const unsigned char *in, size_t n, size_t place)
{
    size_t fit = convert(part, in, part->col_step, n, sink_at(job->out, place));
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
static bool read_long_row(request *job, const tnp_part *part, size_t offset, size_t place, unsigned char *buffer)
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
static bool read_file_rows(request *job, const tnp_part *part, size_t offset, size_t n, size_t place)
{
    unsigned char buffer[BYTES];
    size_t size = tn_dtype_size(part->dtype), step = (size_t)part->row_step, bytes = job->cols * size, k;
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

static bool read_rows(request *job, const tnp_part *part, size_t row, size_t n, size_t place)
{
    ptrdiff_t size = (ptrdiff_t)tn_dtype_size(part->dtype);
    if (!part->base)
        return read_file_rows(job, part, in_file(part, row, job->col0), n, place);
    bool compact = part->col_step == size && part->row_step == (ptrdiff_t)job->cols * size;
    size_t together = compact ? n : 1;
    for (size_t j = 0; j < n; j += together, place += together * job->cols)
        put_values(job, part, in_memory(part, row + j, job->col0), together * job->cols, place);
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
static bool read_column(request *job, const tnp_part *part, const wanted *rows, size_t n, size_t column, sink values)
{
    unsigned char buffer[SPAN * 8], picked[LONG_BLOCK * 8];
    size_t size = tn_dtype_size(part->dtype), k;
    for (size_t i = 0; i < n; i += k) {
        k = rows[i].near;
        size_t span = rows[i + k - 1].row - rows[i].row + 1;
        const unsigned char *in = part->base ? in_memory(part, rows[i].row, job->col0 + column) : buffer;
        if (!part->base && !fetch(job, part, in_file(part, rows[i].row, job->col0 + column), span * size, buffer))
            return false;
        if (rows[i].gaps) {
            pick(rows + i, k, size, in, picked);
            in = picked;
        }
        size_t fit = convert(part, in, (ptrdiff_t)size, k, sink_at(values, i));
        if (fit != k)
            note_unfit(job, rows[i + fit].place * job->cols + column);
    }
    return true;
}

/* The values of `width` columns, STRIDE apart, to their rows of the output from column `first` on. */
static void turn(const request *job, const wanted *rows, size_t n, size_t first, size_t width, sink values)
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
static bool read_columns(request *job, const tnp_part *part, const wanted *rows, size_t n)
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

/* As many of the rows [i, end) of the request as are in this part, in any order; their number in *n. */
static bool read_by_column(request *job, const tnp_part *part, size_t i, size_t end, size_t *n)
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
static size_t run_length(const request *job, const tnp_part *part, size_t i, size_t end)
{
    size_t row = row_of(job, i), most = tnp_min(end - i, part->first + part->rows - row), n = 1;
    if (!job->index)
        return most;
    while (n < most && row_of(job, i + n) == row + n)
        ++n;
    return n;
}

/* Rows [first, first + n) of the request, whole and in the producer's own type. */
static bool produce(request *job, size_t first, size_t n)
{
    const tn_producer *producer = &job->features->producer;
    char message[TN_PRODUCER_MESSAGE] = "";
    sink to = sink_at(job->out, first * job->cols);
    tn_status st = producer->read(producer->user, job->index, job->start + first, n,
                                  to.narrow ? (void *)to.narrow : (void *)to.wide, message);
    message[sizeof message - 1] = 0;
    return st == TN_OK || note_failure(job, st, job->features->path, message[0] ? message : "its producer failed");
}

static bool read_parts(request *job, size_t first, size_t end)
{
    bool fine = true;
    for (size_t i = first, n = 0; fine && i < end; i += n) {
        size_t row = row_of(job, i);
        const tnp_part *part = &job->features->parts[find_part(job->features, row)];
        n = run_length(job, part, i, end);
        if (by_column(part))
            fine = read_by_column(job, part, i, end, &n);
        else
            fine = read_rows(job, part, row - part->first, n, i * job->cols);
    }
    return fine;
}

static void read_block(void *arg, size_t block)
{
    request *job = arg;
    size_t first = block * job->block, end = tnp_min(job->count, first + job->block);
    if (atomic_load(&job->failed))
        return;
    bool fine = job->features->producer.read ? produce(job, first, end - first) : read_parts(job, first, end);
    if (fine && job->then)
        job->then(job->arg, job->before + first, end - first);
}

/* Bounds of the rectangle; *low and *high are its first and last row. */
static tn_status check(tn_ctx *ctx, const request *job, size_t *low, size_t *high)
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
    if (features->part_count == 0)
        return TN_OK;
    for (size_t p = find_part(features, low), last = find_part(features, high); st == TN_OK && p <= last; ++p)
        if (features->parts[p].file != TNP_NO_FILE)
            st = tnp_file_failed(ctx, features->files[features->parts[p].file],
                                 tnp_file_still(features->files[features->parts[p].file]));
    return st;
}

/* Rows of a block: as many as the producer wants, else few enough that threads share the work. */
static size_t block_rows(const request *job)
{
    const tn_features *features = job->features;
    if (features->producer.block != 0)
        return tnp_min(features->producer.block, job->count);
    size_t most = !features->producer.read && by_column(&features->parts[0]) ? LONG_BLOCK : BLOCK;
    return tnp_max(1, most / tnp_max(job->grow, 1));
}

static tn_status run_blocks(tn_ctx *ctx, request *job)
{
    job->block = block_rows(job);
    size_t blocks = (job->count - 1) / job->block + 1;
    double values = (double)job->count * (double)job->cols * (double)tnp_max(job->grow, 1);
    /* Nobody knows what rows of a caller's producer cost, but more than their copies do. */
    bool costly = job->features->from_memory && job->features->producer.read;
    size_t threads = costly ? tn_ctx_threads(ctx) : tnp_threads_for(ctx, values);
    tnp_parallel(ctx, threads, blocks, read_block, job);
    return atomic_load(&job->failed) ? tnp_fail(ctx, job->status, "%s: %s", job->where, job->message) : TN_OK;
}

/* Can the producer's rows go where they are wanted as they are? */
static bool is_direct(const request *job)
{
    const tn_features *features = job->features;
    return job->cols == features->cols && (features->dtype == TN_F32 ? (void *)job->out.narrow : (void *)job->out.wide);
}

/* A producer's rows through memory. */
static tn_status run_through(tn_ctx *ctx, request *job)
{
    tn_status st = TN_OK;
    const tn_features *from = job->features;
    size_t bytes = from->cols * tn_dtype_size(from->dtype), most = tnp_min(PRODUCED, tnp_budget_left(ctx) / 2) / bytes;
    tn_features array = {.path = from->path};
    most = tnp_max(1, tnp_min(most, job->count));
    TN_TRY(tnp_alloc_raw(ctx, most, bytes, &array.owned));
    TN_TRY(tnp_features_own(ctx, &array, from->dtype, most, from->cols));
    for (size_t done = 0, n; done < job->count; done += n) {
        n = tnp_min(most, job->count - done);
        request whole = {
            .features = from, .index = job->index, .start = job->start + done, .count = n, .cols = from->cols};
        whole.out.narrow = from->dtype == TN_F32 ? array.owned : NULL;
        whole.out.wide = from->dtype == TN_F64 ? array.owned : NULL;
        TN_TRY(run_blocks(ctx, &whole));
        request part = {.features = &array,
                        .count = n,
                        .col0 = job->col0,
                        .cols = job->cols,
                        .out = sink_at(job->out, done * job->cols),
                        .grow = job->grow,
                        .then = job->then,
                        .arg = job->arg,
                        .before = done};
        TN_TRY(run_blocks(ctx, &part));
    }
done:
    tnp_free_all(array.parts, array.owned);
    return st;
}

static tn_status run(tn_ctx *ctx, request *job)
{
    size_t low = 0, high = 0;
    tn_status st = check(ctx, job, &low, &high);
    if (st != TN_OK || job->count == 0 || job->cols == 0)
        return st;
    st = job->features->producer.read && !is_direct(job) ? run_through(ctx, job) : run_blocks(ctx, job);
    return st == TN_OK ? still_there(ctx, job->features, low, high) : st;
}

static tn_status read_part(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start, size_t count,
                           size_t col0, size_t cols, sink out)
{
    request job = {
        .features = features, .index = index, .start = start, .count = count, .col0 = col0, .cols = cols, .out = out};
    return run(ctx, &job);
}

tn_status tn_features_read(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start, size_t count,
                           size_t col0, size_t cols, float *out)
{
    return read_part(ctx, features, index, start, count, col0, cols, (sink){.narrow = out});
}

tn_status tn_features_read_wide(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                size_t count, size_t col0, size_t cols, double *out)
{
    return read_part(ctx, features, index, start, count, col0, cols, (sink){.wide = out});
}

tn_status tnp_features_read_then(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                 size_t count, float *narrow, double *wide, size_t grow, tnp_rows_fn then, void *arg)
{
    request job = {.features = features,
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
    request job = {.features = features,
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
    if (count == 0 || features->part_count == 0)
        return;
    size_t low = index ? index[start] : start, high = index ? index[start + count - 1] : start + count - 1;
    for (size_t p = find_part(features, low), last = find_part(features, high); p <= last; ++p) {
        const tnp_part *part = &features->parts[p];
        if (part->file == TNP_NO_FILE || by_column(part)) /* columns: a row touches every page anyway */
            continue;
        size_t from = low > part->first ? low - part->first : 0, to = tnp_min(part->rows, high + 1 - part->first);
        size_t at = part->at + in_file(part, from, 0), size = in_file(part, to - from, 0);
        if (soon)
            tnp_file_soon(features->files[part->file], at, size);
        else
            tnp_file_later(features->files[part->file], at, size);
    }
}
