/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   file   "tenon-descriptors\n" and zeros to 32 bytes | halves of all rows, bag by bag, atom by atom | starts, 8 bytes
 *          each | tail: bags, atoms, dim, rows, key, ORDER, 8 bytes each, in the order of this machine
 *
 * Values are kept as halves of (x - shift) / scale, shift being the mean of the mixture and scale its deviation in this
 * column, down to a power of two: 11 bits whatever the size of a column, 2^-12 of a deviation where most descriptors
 * lie. Floats were refused: twice the file for digits that no descriptor has. The tail stands behind, since nobody
 * knows the number of rows before the last picture.
 *
 * Before the projection shift is its mean, and the deviation of column j is what the mixture says of it through the
 * projection y = B (x - mean), whose rows are orthogonal when they are principal components:
 *
 *   var_j = sum_k (B[k,j] / |B[k]|^2)^2 var(y_k) + what was left out: the least of var(y_k) / |B[k]|^2 at most */
#include "store/descriptors.h"

#include "matrix/convert.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 32, TAIL = 6 };
static const char magic[HEAD] = "tenon-descriptors\n";
static const uint64_t ORDER = 0x0102030405060708u;

void tnp_descriptors_free(tnp_descriptors *d)
{
    tnp_free_all(d->starts, d->shift, d->scale, d->halves);
    tnp_file_close(d->file);
    *d = (tnp_descriptors){.bags = 0};
}

size_t tnp_descriptors_rows(const tnp_descriptors *d)
{
    return d->starts[d->bags * d->atoms];
}

static size_t bag_rows(const tnp_descriptors *d, size_t bag)
{
    return d->starts[(bag + 1) * d->atoms] - d->starts[bag * d->atoms];
}

static void find_most(tnp_descriptors *d)
{
    for (size_t i = 0; i < d->bags; ++i)
        d->most = tnp_max(d->most, bag_rows(d, i));
}

/* Mean and variance of a column under the mixture. */
static double column_variance(const tnp_mixture *m, size_t j, double *mean)
{
    double var = 0;
    *mean = 0;
    for (size_t k = 0; k < m->count; ++k)
        *mean += (double)m->weights[k] * (double)m->means[k * m->dim + j];
    for (size_t k = 0; k < m->count; ++k)
        var += (double)m->weights[k] *
               ((double)m->variances[k * m->dim + j] + pow((double)m->means[k * m->dim + j] - *mean, 2));
    return var;
}

static float power_below(double var)
{
    return var > 0 ? (float)exp2(floor(log2(sqrt(var)))) : 1;
}

static double square_length(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* vars (from): of the columns before the projection; none below 1e-12 of the largest, so that no scale is. */
static void add_raw_variances(const tn_encoder *e, double *vars)
{
    const tnp_projection *p = &e->projection;
    double least = HUGE_VAL, most = 0, mean;
    for (size_t k = 0; k < p->to; ++k) {
        const float *row = p->basis + k * p->from;
        double square = square_length(row, p->from), var = column_variance(&e->mixture, k, &mean);
        if (square == 0)
            continue;
        least = fmin(least, var / square);
        for (size_t j = 0; j < p->from; ++j)
            vars[j] += pow((double)row[j] / square, 2) * var;
    }
    for (size_t j = 0; j < p->from; ++j)
        most = fmax(most, vars[j]);
    for (size_t j = 0; j < p->from; ++j)
        vars[j] = fmax(vars[j] + (p->to < p->from && isfinite(least) ? least : 0), 1e-12 * most);
}

static tn_status make_scales(tn_ctx *ctx, const tn_encoder *e, tnp_descriptors *d)
{
    tn_status st = TN_OK;
    size_t before = d->raw ? e->projection.from : 0, after = d->raw ? e->projection.to : 0;
    double *vars = NULL, mean;
    TN_TRY(tnp_alloc(ctx, d->dim, sizeof *d->shift, &d->shift));
    TN_TRY(tnp_alloc(ctx, d->dim, sizeof *d->scale, &d->scale));
    TN_TRY(tnp_alloc(ctx, before, sizeof *vars, &vars));
    if (d->raw) {
        add_raw_variances(e, vars);
        memcpy(d->shift, e->projection.mean, before * sizeof *d->shift);
    }
    for (size_t j = 0; j < before; ++j)
        d->scale[j] = power_below(vars[j]);
    for (size_t j = before; j < d->dim; ++j) {
        d->scale[j] = power_below(column_variance(&e->mixture, j - before + after, &mean));
        d->shift[j] = d->raw ? 0 : (float)mean; /* places are near 0 */
    }
done:
    tnp_free(vars);
    return st;
}

/* ---- making them ---- */

typedef struct making {
    const tn_encoder *e;
    tnp_bag_stream *stream;
    tnp_descriptors *d;
    tn_output *output; /* NULL: into memory */
    size_t rows, capacity, scratch_rows;
    float *scratch;   /* (scratch_rows, dim) */
    uint16_t *halves; /* the same, of a file */
} making;

static tn_status check_bag(tn_ctx *ctx, size_t i, const tnp_bag *bag, size_t dim)
{
    for (size_t k = 0; k < bag->rows * dim; ++k)
        if (!isfinite(bag->x[k]))
            return tnp_fail(ctx, TN_ERR_DATA, "refine: bag %zu, descriptor %zu holds NaN or infinity", i, k / dim);
    return TN_OK;
}

static tn_status make_scratch(tn_ctx *ctx, making *m, size_t rows)
{
    tn_status st = TN_OK;
    size_t d = m->d->dim, next = tnp_max(m->rows + rows, 2 * m->capacity);
    if (rows > m->scratch_rows || !m->scratch) {
        tnp_free_all(m->scratch, m->halves);
        m->scratch = NULL;
        m->halves = NULL;
        TN_TRY(tnp_alloc_raw(ctx, rows * d, sizeof *m->scratch, &m->scratch));
        if (m->output)
            TN_TRY(tnp_alloc_raw(ctx, rows * d, sizeof *m->halves, &m->halves));
        m->scratch_rows = rows;
    }
    if (!m->output && m->rows + rows > m->capacity) {
        TN_TRY(tnp_grow(ctx, &m->d->halves, m->capacity * d, next * d, sizeof *m->d->halves));
        m->capacity = next;
    }
done:
    return st;
}

static tn_status to_halves(tn_ctx *ctx, const making *m, size_t bag, size_t rows, uint16_t *out)
{
    size_t d = m->d->dim;
    for (size_t i = 0; i < rows * d; ++i) {
        float value = (m->scratch[i] - m->d->shift[i % d]) / m->d->scale[i % d];
        if (!(fabsf(value) < TNP_HALF_END))
            return tnp_fail(ctx, TN_ERR_DATA,
                            "refine: bag %zu, descriptor %zu is %.3g deviations from the mean in column %zu, expected "
                            "at most 65504",
                            bag, i / d, (double)value, i % d);
        out[i] = tnp_half_of(value);
    }
    return TN_OK;
}

static tn_status add_bag(tn_ctx *ctx, making *m, size_t i)
{
    tn_status st = TN_OK;
    tnp_descriptors *d = m->d;
    tnp_bag bag;
    size_t *starts = d->starts + i * d->atoms;
    TN_TRY(tnp_bag_stream_get(ctx, m->stream, i, &bag));
    TN_TRY(check_bag(ctx, i, &bag, m->stream->dim));
    TN_TRY(make_scratch(ctx, m, bag.rows));
    TN_TRY(tnp_encoder_arrange(ctx, m->e, bag.x, bag.places, bag.rows, m->scratch, starts));
    for (size_t a = 0; a <= d->atoms; ++a)
        starts[a] += m->rows;
    uint16_t *to = m->output ? m->halves : d->halves + m->rows * d->dim;
    TN_TRY(to_halves(ctx, m, i, bag.rows, to));
    if (m->output)
        TN_TRY(tn_output_write(ctx, m->output, to, bag.rows * d->dim * sizeof *to));
    m->rows += bag.rows;
done:
    return st;
}

static tn_status write_tail(tn_ctx *ctx, making *m, uint64_t key)
{
    tn_status st = TN_OK;
    const tnp_descriptors *d = m->d;
    uint64_t tail[TAIL] = {d->bags, d->atoms, d->dim, m->rows, key, ORDER};
    for (size_t i = 0; i <= d->bags * d->atoms; ++i) {
        uint64_t start = d->starts[i];
        TN_TRY(tn_output_write(ctx, m->output, &start, sizeof start));
    }
    TN_TRY(tn_output_write(ctx, m->output, tail, sizeof tail));
    TN_TRY(tn_output_commit(ctx, m->output));
done:
    return st;
}

static tn_status make(tn_ctx *ctx, const tn_encoder *e, tnp_bag_stream *stream, const char *path, uint64_t key,
                      tnp_descriptors *d)
{
    tn_status st = TN_OK;
    making m = {.e = e, .stream = stream, .d = d};
    if (*path) {
        TN_TRY(tn_output_open(ctx, path, &m.output));
        TN_TRY(tn_output_write(ctx, m.output, magic, HEAD));
    }
    TN_TRY(tnp_alloc(ctx, d->bags * d->atoms + 1, sizeof *d->starts, &d->starts));
    for (size_t i = 0; i < d->bags; ++i) {
        TN_TRY(tnp_progress(ctx, "descriptors", i, d->bags));
        TN_TRY(add_bag(ctx, &m, i));
    }
    if (m.output)
        TN_TRY(write_tail(ctx, &m, key));
done:
    tn_output_close(m.output);
    tnp_free_all(m.scratch, m.halves);
    return st;
}

/* ---- a file that is there ---- */

static tn_status other_file(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_DATA, "%s: %s; remove it to have it made anew", path, what);
}

/* *found: the whole of it is as it should be. */
static tn_status open_file(tn_ctx *ctx, const char *path, uint64_t key, tnp_descriptors *d)
{
    tn_status st = TN_OK;
    char head[HEAD];
    uint64_t tail[TAIL], start = 0;
    TN_TRY(tnp_file_open(ctx, path, &d->file));
    size_t size = tnp_file_size(d->file), count = d->bags * d->atoms + 1;
    if (size < HEAD + sizeof tail)
        TN_TRY(other_file(ctx, path, "not a file of descriptors"));
    TN_TRY(tnp_file_read(ctx, d->file, 0, HEAD, head));
    TN_TRY(tnp_file_read(ctx, d->file, size - sizeof tail, sizeof tail, tail));
    if (memcmp(head, magic, HEAD) != 0 || tail[5] != ORDER)
        TN_TRY(other_file(ctx, path, "not a file of descriptors, or one of another machine"));
    if (tail[0] != d->bags || tail[1] != d->atoms || tail[2] != d->dim || tail[4] != key)
        TN_TRY(other_file(ctx, path, "descriptors of other pictures or of another encoder"));
    if (tail[3] > size || HEAD + tail[3] * d->dim * 2 + count * 8 + sizeof tail != size)
        TN_TRY(other_file(ctx, path, "a file of descriptors that is damaged"));
    TN_TRY(tnp_alloc(ctx, count, sizeof *d->starts, &d->starts));
    for (size_t i = 0; i < count; ++i) {
        TN_TRY(tnp_file_read(ctx, d->file, size - sizeof tail - (count - i) * 8, 8, &start));
        d->starts[i] = (size_t)start;
        if (start > tail[3] || (i > 0 && start < d->starts[i - 1]))
            TN_TRY(other_file(ctx, path, "a file of descriptors that is damaged"));
    }
    if (start != tail[3] || d->starts[0] != 0)
        TN_TRY(other_file(ctx, path, "a file of descriptors that is damaged"));
done:
    return st;
}

tn_status tnp_descriptors_new(tn_ctx *ctx, const tn_encoder *e, bool raw, tnp_bag_stream *stream, const char *path,
                              uint64_t key, tnp_descriptors *out)
{
    tn_status st = TN_OK;
    tn_encoder as_kept = *e; /* its rows are what is kept; nothing in it is freed */
    if (raw) {
        as_kept.projection.to = 0;
        as_kept.dim += e->from - e->projection.to;
    }
    out->raw = raw;
    out->bags = stream->count;
    out->atoms = tnp_encoder_atoms(e);
    out->dim = as_kept.dim;
    TN_TRY(make_scales(ctx, e, out));
    if (!*path || access(path, F_OK) != 0) {
        TN_TRY(make(ctx, &as_kept, stream, path, key, out));
        if (*path) {
            tnp_free(out->starts);
            out->starts = NULL;
        }
    }
    if (*path)
        TN_TRY(open_file(ctx, path, key, out));
    find_most(out);
done:
    return st;
}

/* ---- reading ---- */

tn_status tnp_described_bag_new(tn_ctx *ctx, const tnp_descriptors *d, tnp_described_bag *out)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, d->most * d->dim, sizeof *out->rows, &out->rows));
    TN_TRY(tnp_alloc_raw(ctx, d->atoms + 1, sizeof *out->starts, &out->starts));
    TN_TRY(tnp_alloc_raw(ctx, d->most * d->dim, sizeof *out->halves, &out->halves));
done:
    return st;
}

void tnp_described_bag_free(tnp_described_bag *bag)
{
    tnp_free_all(bag->rows, bag->starts, bag->halves);
}

tn_status tnp_descriptors_get(tn_ctx *ctx, const tnp_descriptors *d, size_t bag, tnp_described_bag *out)
{
    tn_status st = TN_OK;
    const size_t *starts = d->starts + bag * d->atoms;
    size_t values = bag_rows(d, bag) * d->dim;
    const uint16_t *halves = out->halves;
    if (d->file)
        TN_TRY(tnp_file_read(ctx, d->file, HEAD + starts[0] * d->dim * 2, values * 2, out->halves));
    else
        halves = d->halves + starts[0] * d->dim;
    tnp_simd_get()->half_to_float(halves, out->rows, values);
    for (size_t i = 0; i < values; i += d->dim)
        for (size_t j = 0; j < d->dim; ++j)
            out->rows[i + j] = (d->raw ? 0 : d->shift[j]) + d->scale[j] * out->rows[i + j];
    for (size_t a = 0; a <= d->atoms; ++a)
        out->starts[a] = starts[a] - starts[0];
done:
    return st;
}

void tnp_described_bag_thin(const tnp_descriptors *d, double keep, uint64_t seed, uint64_t stream,
                            tnp_described_bag *bag)
{
    tnp_rng rng;
    size_t left = 0, row = 0;
    tnp_rng_init(&rng, seed, stream);
    for (size_t a = 0; a < d->atoms; ++a) {
        size_t end = bag->starts[a + 1];
        bag->starts[a] = left;
        for (; row < end; ++row)
            if (tnp_rng_unit(&rng) < keep)
                memmove(bag->rows + left++ * d->dim, bag->rows + row * d->dim, d->dim * sizeof *bag->rows);
    }
    bag->starts[d->atoms] = left;
}
