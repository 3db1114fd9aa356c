/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders: a bag of n descriptors x to one vector, cell by cell of a spatial pyramid. With y the projected descriptors
 * of a cell, m the words, c(i) the word nearest to y[i]:
 *
 *   fisher (2 K d)   mixture.c
 *   vlad   (K d)     a[k] = sum_{i: c(i) = k} (y[i] - m[k])
 *   bovw   (K)       a[k] = share of the y with c(i) = k
 *   llc    (K)       a[k] = max_i b[i,k]: of the M words nearest to y[i], b solves (Z Z' + e tr(Z Z') I) b = 1, Z = m - y[i],
 *                    e = 1e-4, divided by its sum (Wang et al., CVPR 2010, the analytic solution)
 *   norm   root: sign(a) sqrt|a|, then over its length; intra: each word's part over its length, then the whole; l2; raw
 *   auto   root for fisher ("improved") and bovw, intra for vlad, l2 for llc
 *
 * The vector of a pyramid is those of its cells side by side, over its length again unless raw. No descriptors, or a cell
 * without: zeros. Nothing depends on the order of a bag but the rounding of its sums. Sums over cells come from atoms
 * (pyramid.c): descriptors are sorted by atom first. Oracle: tests/ref/ref_encode.c; vl_vlad_encode (tests/peers). */
#include "encode/encoder.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char tnp_encoder_kinds[] = "fisher|vlad|bovw|llc", tnp_encoder_norms[] = "auto|root|intra|l2|raw";

void tn_encoder_free(tn_encoder *encoder)
{
    if (!encoder)
        return;
    tnp_projection_free(&encoder->projection);
    tnp_mixture_free(&encoder->mixture);
    tnp_words_free(&encoder->words);
    tnp_free_all(encoder->network, encoder);
}

static size_t word_count(const tn_encoder *e)
{
    return e->kind == TNP_FISHER ? e->mixture.count : e->words.count;
}

size_t tnp_encoder_cell(const tn_encoder *e)
{
    size_t count = word_count(e);
    return e->kind == TNP_FISHER ? 2 * count * e->dim : e->kind == TNP_VLAD ? count * e->dim : count;
}

size_t tn_encoder_cols(const tn_encoder *encoder)
{
    return encoder->pyramid.cells * tnp_encoder_cell(encoder);
}

size_t tn_encoder_dim(const tn_encoder *encoder)
{
    return encoder->from;
}

size_t tn_encoder_words(const tn_encoder *encoder)
{
    return word_count(encoder);
}

const char *tn_encoder_kind(const tn_encoder *encoder)
{
    static const char *const names[] = {"fisher", "vlad", "bovw", "llc"};
    return names[encoder->kind];
}

const char *tn_encoder_descriptor(const tn_encoder *encoder)
{
    return encoder->describer.kind ? encoder->describer.kind->name : NULL;
}

const char *tn_encoder_network(const tn_encoder *encoder)
{
    return encoder->network;
}

tn_status tn_encoder_set_network(tn_ctx *ctx, tn_encoder *encoder, const tn_network *network)
{
    if (!encoder->network)
        return tnp_fail(ctx, TN_ERR_ARG, "encoder: it was trained without a network");
    if (tn_network_bag(network) == 0 || tn_network_cols(network) != encoder->from)
        return tnp_fail(ctx, TN_ERR_SHAPE, "encoder: %s gives %s of %zu values, expected bags of %zu", network->path,
                        tn_network_bag(network) ? "bags" : "vectors", tn_network_cols(network), encoder->from);
    if (tnp_encoder_needs_places(encoder) && network->across == 0)
        return tnp_fail(ctx, TN_ERR_SHAPE, "encoder: %s gives tokens without places, expected a map", network->path);
    encoder->joined = network;
    return TN_OK;
}

size_t tn_encoder_projected(const tn_encoder *encoder)
{
    return encoder->dim;
}

const char *tn_encoder_pyramid(const tn_encoder *encoder)
{
    return encoder->pyramid.text;
}

bool tnp_encoder_needs_places(const tn_encoder *e)
{
    return e->places || e->pyramid.across * e->pyramid.down > 1;
}

tn_status tnp_encoder_project(tn_ctx *ctx, const tn_encoder *e, const float *x, const float *places, size_t n,
                              float *out)
{
    tn_status st = TN_OK;
    size_t d = e->dim, kept = e->projection.to ? e->projection.to : e->from;
    if (e->projection.to && n != 0)
        TN_TRY(tnp_projection_apply(ctx, &e->projection, x, n, out, d));
    for (size_t i = 0; i < n; ++i) {
        if (!e->projection.to)
            memcpy(out + i * d, x + i * e->from, kept * sizeof *out);
        for (size_t j = 0; e->places && j < 2; ++j)
            out[i * d + kept + j] = (places[3 * i + j] - 0.5F) * e->place_scale;
    }
done:
    return st;
}

/* ---- what is summed of some rows: zero (K), first and second (K, d) as the kind needs them ---- */

static tn_status add_hard(tn_ctx *ctx, const tn_encoder *e, const float *y, size_t n, tnp_mixture_sums *to)
{
    tn_status st = TN_OK;
    size_t d = e->dim;
    uint32_t *which = NULL;
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *which, &which));
    TN_TRY(tnp_words_nearest(ctx, &e->words, y, n, 1, which, NULL));
    for (size_t i = 0; i < n; ++i) {
        size_t k = which[i];
        to->zero[k] += 1;
        for (size_t j = 0; e->kind == TNP_VLAD && j < d; ++j)
            to->first[k * d + j] += (double)y[i * d + j] - (double)e->words.centres[k * d + j];
    }
    to->rows += n;
done:
    tnp_free(which);
    return st;
}

/* a (m, m) symmetric positive definite: b = a^-1 1, by Cholesky's decomposition, in place. */
static void solve_ones(double *a, size_t m, double *b)
{
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            double sum = a[i * m + j];
            for (size_t k = 0; k < j; ++k)
                sum -= a[i * m + k] * a[j * m + k];
            a[i * m + j] = i == j ? sqrt(fmax(sum, DBL_MIN)) : sum / a[j * m + j];
        }
        b[i] = 1;
        for (size_t k = 0; k < i; ++k)
            b[i] -= a[i * m + k] * b[k];
        b[i] /= a[i * m + i];
    }
    for (size_t i = m; i-- > 0;) {
        for (size_t k = i + 1; k < m; ++k)
            b[i] -= a[k * m + i] * b[k];
        b[i] /= a[i * m + i];
    }
}

/* The weights b (m) of one row on its nearest words. A row on all of them has equal weights. */
static void local_weights(const tn_encoder *e, const float *y, const uint32_t *which, size_t m, double *b)
{
    double a[TNP_MOST_NEAREST * TNP_MOST_NEAREST], trace = 0, sum = 0;
    size_t d = e->dim;
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j <= i; ++j) {
            const float *p = e->words.centres + which[i] * d, *q = e->words.centres + which[j] * d;
            double dot = 0;
            for (size_t k = 0; k < d; ++k)
                dot += ((double)p[k] - (double)y[k]) * ((double)q[k] - (double)y[k]);
            a[i * m + j] = a[j * m + i] = dot;
            trace += i == j ? dot : 0;
        }
    double ridge = trace > 0 ? 1e-4 * trace : 1;
    for (size_t i = 0; i < m; ++i)
        a[i * m + i] += ridge;
    solve_ones(a, m, b);
    for (size_t i = 0; i < m; ++i)
        sum += b[i];
    for (size_t i = 0; i < m; ++i)
        b[i] /= sum;
}

typedef struct local_job {
    const tn_encoder *e;
    const float *y;
    const uint32_t *which;
    size_t rows, nearest;
    double *weights; /* (rows, nearest) */
} local_job;

enum { LOCAL_ROWS = 64 };

static void weigh_rows(void *arg, size_t part)
{
    const local_job *j = arg;
    size_t first = part * LOCAL_ROWS, end = tnp_min(j->rows, first + LOCAL_ROWS);
    for (size_t i = first; i < end; ++i)
        local_weights(j->e, j->y + i * j->e->dim, j->which + i * j->nearest, j->nearest, j->weights + i * j->nearest);
}

/* zero holds the largest weights; a word that nobody is near to has 0. */
static tn_status add_local(tn_ctx *ctx, const tn_encoder *e, const float *y, size_t n, tnp_mixture_sums *to)
{
    tn_status st = TN_OK;
    local_job job = {.e = e, .y = y, .rows = n, .nearest = tnp_min(e->neighbours, e->words.count)};
    uint32_t *which = NULL;
    TN_TRY(tnp_alloc_raw(ctx, n * job.nearest, sizeof *which, &which));
    TN_TRY(tnp_alloc_raw(ctx, n * job.nearest, sizeof *job.weights, &job.weights));
    TN_TRY(tnp_words_nearest(ctx, &e->words, y, n, job.nearest, which, NULL));
    job.which = which;
    tnp_parallel(ctx, tnp_threads_for(ctx, 30.0 * (double)n * (double)e->dim), (n + LOCAL_ROWS - 1) / LOCAL_ROWS,
                 weigh_rows, &job);
    for (size_t i = 0; i < n * job.nearest; ++i)
        to->zero[which[i]] = fmax(to->zero[which[i]], job.weights[i]);
    to->rows += n;
done:
    tnp_free_all(which, job.weights);
    return st;
}

static tn_status add_some(tn_ctx *ctx, const tn_encoder *e, const float *y, size_t n, tnp_mixture_sums *to)
{
    if (n == 0)
        return TN_OK;
    if (e->kind == TNP_FISHER)
        return tnp_mixture_add(ctx, &e->mixture, y, n, to);
    return e->kind == TNP_LLC ? add_local(ctx, e, y, n, to) : add_hard(ctx, e, y, n, to);
}

/* Which of the sums a kind uses. */
static size_t sum_sizes(const tn_encoder *e, size_t sizes[3])
{
    size_t count = word_count(e), all = count * e->dim;
    sizes[0] = count;
    sizes[1] = e->kind == TNP_FISHER || e->kind == TNP_VLAD ? all : 0;
    sizes[2] = e->kind == TNP_FISHER ? all : 0;
    return sizes[0] + sizes[1] + sizes[2];
}

static void join(const tn_encoder *e, const double *from, size_t size, double *to)
{
    for (size_t i = 0; i < size; ++i)
        to[i] = e->kind == TNP_LLC ? fmax(to[i], from[i]) : to[i] + from[i];
}

/* ---- vectors ---- */

static void over_length(float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += (double)x[i] * (double)x[i];
    float factor = sum > 0 ? (float)(1 / sqrt(sum)) : 0;
    for (size_t i = 0; i < n; ++i)
        x[i] *= factor;
}

static void normalise_cell(const tn_encoder *e, float *x)
{
    size_t n = tnp_encoder_cell(e), word = e->kind == TNP_FISHER || e->kind == TNP_VLAD ? e->dim : 1;
    if (e->norm == TNP_NORM_RAW)
        return;
    for (size_t i = 0; e->norm == TNP_NORM_ROOT && i < n; ++i)
        x[i] = copysignf(sqrtf(fabsf(x[i])), x[i]);
    for (size_t i = 0; e->norm == TNP_NORM_INTRA && i < n; i += word)
        over_length(x + i, word);
    over_length(x, n);
}

/* Before any normalisation. */
static void write_cell(const tn_encoder *e, const tnp_mixture_sums *sums, float *out)
{
    size_t n = tnp_encoder_cell(e);
    if (e->kind == TNP_FISHER)
        tnp_fisher(&e->mixture, sums, out);
    for (size_t i = 0; e->kind == TNP_VLAD && i < n; ++i)
        out[i] = (float)sums->first[i];
    for (size_t i = 0; e->kind == TNP_LLC && i < n; ++i)
        out[i] = (float)sums->zero[i];
    for (size_t i = 0; e->kind == TNP_BOVW && i < n; ++i)
        out[i] = sums->rows ? (float)(sums->zero[i] / (double)sums->rows) : 0;
}

void tnp_encode_norm(const tn_encoder *e, float *out)
{
    size_t cell = tnp_encoder_cell(e);
    for (size_t c = 0; c < e->pyramid.cells; ++c)
        normalise_cell(e, out + c * cell);
    if (e->pyramid.cells > 1 && e->norm != TNP_NORM_RAW)
        over_length(out, e->pyramid.cells * cell);
}

/* ---- a bag ---- */

/* Rows sorted by atom: y stays as it is, sorted (n, dim), starts (atoms + 1). */
static void sort_by_atom(const tn_encoder *e, const float *y, const float *places, size_t n, float *sorted,
                         size_t *atom, size_t *starts)
{
    const tnp_pyramid *p = &e->pyramid;
    size_t atoms = p->across * p->down, d = e->dim;
    memset(starts, 0, (atoms + 1) * sizeof *starts);
    for (size_t i = 0; i < n; ++i) {
        atom[i] = tnp_pyramid_atom(p, (double)places[3 * i], (double)places[3 * i + 1]);
        ++starts[atom[i] + 1];
    }
    for (size_t a = 0; a < atoms; ++a)
        starts[a + 1] += starts[a];
    for (size_t i = 0; i < n; ++i)
        memcpy(sorted + starts[atom[i]]++ * d, y + i * d, d * sizeof *sorted);
    memmove(starts + 1, starts, atoms * sizeof *starts);
    starts[0] = 0;
}

size_t tnp_encoder_atoms(const tn_encoder *e)
{
    return e->pyramid.across * e->pyramid.down;
}

tn_status tnp_encoder_arrange(tn_ctx *ctx, const tn_encoder *e, const float *x, const float *places, size_t n,
                              float *rows, size_t *starts)
{
    tn_status st = TN_OK;
    size_t atoms = tnp_encoder_atoms(e), values = 0, *atom = NULL;
    float *y = NULL;
    starts[0] = 0;
    starts[1] = n;
    if (atoms == 1)
        return tnp_encoder_project(ctx, e, x, places, n, rows);
    TN_TRY(tnp_mul(ctx, n, e->dim, &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *y, &y));
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *atom, &atom));
    TN_TRY(tnp_encoder_project(ctx, e, x, places, n, y));
    sort_by_atom(e, y, places, n, rows, atom, starts);
done:
    tnp_free_all(y, atom);
    return st;
}

void tnp_encoder_cell_rows(const tn_encoder *e, const size_t *starts, size_t *rows)
{
    size_t atoms = tnp_encoder_atoms(e);
    for (size_t c = 0; c < e->pyramid.cells; ++c) {
        rows[c] = 0;
        for (size_t a = 0; a < atoms; ++a)
            rows[c] += tnp_pyramid_holds(&e->pyramid, c, a) ? starts[a + 1] - starts[a] : 0;
    }
}

static tnp_mixture_sums sums_at(double *block, const size_t sizes[3])
{
    return (tnp_mixture_sums){.zero = block, .first = block + sizes[0], .second = block + sizes[0] + sizes[1]};
}

/* cells (cells, sums): of every cell, from those of its atoms; part (sums) is scratch. */
static tn_status sum_atoms(tn_ctx *ctx, const tn_encoder *e, const size_t sizes[3], const float *rows,
                           const size_t *starts, double *part, double *cells)
{
    tn_status st = TN_OK;
    size_t atoms = tnp_encoder_atoms(e), all = sizes[0] + sizes[1] + sizes[2];
    for (size_t a = 0; a < atoms; ++a) {
        size_t n = starts[a + 1] - starts[a];
        tnp_mixture_sums sums = sums_at(part, sizes);
        memset(part, 0, all * sizeof *part);
        TN_TRY(add_some(ctx, e, rows + starts[a] * e->dim, n, &sums));
        for (size_t c = 0; n != 0 && c < e->pyramid.cells; ++c)
            if (tnp_pyramid_holds(&e->pyramid, c, a))
                join(e, part, all, cells + c * all);
    }
done:
    return st;
}

tn_status tnp_encode_raw(tn_ctx *ctx, const tn_encoder *e, const float *rows, const size_t *starts, float *out)
{
    tn_status st = TN_OK;
    size_t sizes[3], all = sum_sizes(e, sizes), cell = tnp_encoder_cell(e), counts[TNP_MOST_CELLS];
    double *cells = NULL, *part = NULL;
    TN_TRY(tnp_alloc(ctx, e->pyramid.cells * all, sizeof *cells, &cells));
    TN_TRY(tnp_alloc(ctx, all, sizeof *part, &part));
    TN_TRY(sum_atoms(ctx, e, sizes, rows, starts, part, cells));
    tnp_encoder_cell_rows(e, starts, counts);
    for (size_t c = 0; c < e->pyramid.cells; ++c) {
        tnp_mixture_sums sums = sums_at(cells + c * all, sizes);
        sums.rows = counts[c];
        write_cell(e, &sums, out + c * cell);
    }
done:
    tnp_free_all(cells, part);
    return st;
}

tn_status tnp_encode(tn_ctx *ctx, const tn_encoder *e, const float *x, const float *places, size_t n, float *out)
{
    tn_status st = TN_OK;
    bool as_they_are = !e->projection.to && !e->places && tnp_encoder_atoms(e) == 1;
    size_t values = 0, *starts = NULL;
    float *rows = NULL;
    TN_TRY(tnp_mul(ctx, n, e->dim, &values));
    TN_TRY(tnp_alloc(ctx, tnp_encoder_atoms(e) + 1, sizeof *starts, &starts));
    starts[1] = n;
    if (!as_they_are) {
        TN_TRY(tnp_alloc_raw(ctx, values, sizeof *rows, &rows));
        TN_TRY(tnp_encoder_arrange(ctx, e, x, places, n, rows, starts));
    }
    TN_TRY(tnp_encode_raw(ctx, e, as_they_are ? x : rows, starts, out));
    tnp_encode_norm(e, out);
done:
    tnp_free_all(rows, starts);
    return st;
}

static tn_status check(tn_ctx *ctx, const tn_encoder *e, tn_view x, tn_view places)
{
    if (x.cols != e->from || x.stride != x.cols)
        return tnp_fail(ctx, TN_ERR_SHAPE,
                        "encoder: descriptors of %zu values (stride %zu), it was trained on %zu, compact", x.cols,
                        x.stride, e->from);
    if (tnp_encoder_needs_places(e) &&
        (!places.data || places.rows != x.rows || places.cols != 3 || places.stride != 3))
        return tnp_fail(ctx, TN_ERR_SHAPE, "encoder: %s needs the positions of descriptors, (%zu, 3) compact",
                        e->places ? "option places" : "a pyramid", x.rows);
    for (size_t i = 0; i < x.rows * x.cols; ++i)
        if (!isfinite(x.data[i]))
            return tnp_fail(ctx, TN_ERR_DATA, "encoder: descriptor %zu holds NaN or infinity", i / x.cols);
    return TN_OK;
}

tn_status tn_encoder_encode(tn_ctx *ctx, const tn_encoder *encoder, tn_view descriptors, tn_view positions, float *out)
{
    tn_status st = check(ctx, encoder, descriptors, positions);
    return st == TN_OK ? tnp_encode(ctx, encoder, descriptors.data, positions.data, descriptors.rows, out) : st;
}
