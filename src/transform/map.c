/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps: what they are made of, their tables, rows through them.
 *
 *   x = scale * x / |x|_1      out[j * width + k] = phi_k(x_j)
 *
 * A table in single precision holds phi at knots; between them the map is linear, in either precision, so that narrow
 * and wide reads see the same function. Learned maps have cells of equal width on [0, 1] and |x| beyond 1 is clamped:
 * an extrapolated polynomial or period would be made of nothing that was learned. chi2 and its kin behave like sqrt(x)
 * at 0, so their cells are named by the leading bits of the number, the same number of cells for every octave; below
 * 2^-40 and from 2 on, where the table ends, phi is computed. A square root needs no table. Tables are made at the
 * first use, by tnp_map_ready. Oracle: tests/ref/ref_map.c. */
#include "transform/map.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    LOWEST = 127 - 40, /* exponent of the first octave with a table, as a float stores it */
    OCTAVES = 41,
    KNOTS = 256, /* knots that are one piece of work */
    LINE = 64    /* bytes of a cache line */
};

static const char *const names[] = {[TNP_PHI_HELLINGER] = "hellinger",
                                    [TNP_PHI_CHI2] = "chi2",
                                    [TNP_PHI_INTERSECTION] = "intersection",
                                    [TNP_PHI_JS] = "js",
                                    [TNP_PHI_LEARNED] = "learned"};
_Static_assert(TNP_PHI_LEARNED == 4, "the named maps come before the learned one");

/* ---- making ---- */

typedef struct fill_job {
    const tn_map *map;
    const tnp_knots *table;
    float *rows;
    size_t count;
} fill_job;

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* phi of one sign at x >= 0, rank values. */
static void phi(const tn_map *map, double x, double *out)
{
    if (map->kind == TNP_PHI_LEARNED)
        tnp_basis_phi(&map->made_of, fmin(x, 1), out);
    else if (map->kind == TNP_PHI_HELLINGER)
        out[0] = sqrt(x);
    else
        tnp_waves_phi(&map->waves, x, out);
}

/* Knots of cells by bits: 0, then those of the cells. The last knot of equal cells stands twice: x = 1 needs a
 * neighbour. */
static double knot_at(const tnp_knots *table, size_t i)
{
    if (!table->shift)
        return (double)tnp_min(i, table->cells) / table->cells;
    return i ? (double)float_of((table->first + (uint32_t)i - 1) << table->shift) : 0;
}

static void fill_knots(void *arg, size_t block)
{
    const fill_job *job = arg;
    const tnp_knots *table = job->table;
    double values[TN_BASIS_SIZE];
    for (size_t i = block * KNOTS; i < tnp_min(job->count, (block + 1) * KNOTS); ++i) {
        phi(job->map, knot_at(table, i), values);
        for (size_t k = 0; k < table->rank; ++k)
            job->rows[i * table->pad + k] = (float)values[k];
    }
}

static tnp_knots shape_of(const tn_map *map)
{
    tnp_knots table = {.rank = map->made_of.rank};
    table.pad = (table.rank + 7) / 8 * 8;
    table.split = map->made_of.sign == TN_SIGNED_SPLIT;
    table.zero = map->kind != TNP_PHI_LEARNED || map->made_of.basis == TN_BASIS_SCALED_FOURIER;
    if (map->kind == TNP_PHI_LEARNED) {
        table.cells = tnp_basis_cells(&map->made_of);
    } else {
        int bits = tnp_waves_bits(&map->waves);
        table.shift = 23 - bits;
        table.first = (uint32_t)LOWEST << bits;
        table.cells = (uint32_t)OCTAVES << bits;
    }
    return table;
}

/* One block: the shape in its first cache line, the rows behind it. */
static tn_status make_table(tn_ctx *ctx, const tn_map *map, tnp_knots **out)
{
    char *block = NULL;
    tnp_knots shape = shape_of(map);
    fill_job job = {map, &shape, NULL, (size_t)shape.cells + 2};
    _Static_assert(sizeof shape <= LINE, "the rows begin on a cache line");
    tn_status st = tnp_alloc(ctx, LINE + job.count * shape.pad * sizeof *job.rows, 1, &block);
    if (st != TN_OK)
        return st;
    shape.rows = job.rows = (float *)(void *)(block + LINE);
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)job.count * (1000 + 40 * (double)shape.rank)),
                 (job.count - 1) / KNOTS + 1, fill_knots, &job);
    *out = memcpy(block, &shape, sizeof shape);
    return TN_OK;
}

/* Made at the first feed and not with the map: a head that is loaded to be looked at, or a kernel to be compared, would
 * spend all its time on a table that nobody reads. The map is the owner, so that feeds of many representations share
 * one table. Of threads that make it at the same time the first keeps its own, they are equal; a lock was refused: a
 * process that is forked while it is held would find it locked for ever. */
tn_status tnp_map_ready(tn_ctx *ctx, const tn_map *shared)
{
    tn_map *map = (tn_map *)(uintptr_t)shared; /* all maps are made below, none is a constant object */
    const tnp_knots *none = NULL;
    tnp_knots *table = NULL;
    if (map->kind == TNP_PHI_HELLINGER || atomic_load(&map->table))
        return TN_OK;
    tn_status st = make_table(ctx, map, &table);
    if (st == TN_OK && !atomic_compare_exchange_strong(&map->table, &none, table))
        tnp_free(table);
    return st;
}

tn_status tn_map_new_named(tn_ctx *ctx, const char *name, tn_signed sign, tn_map **out)
{
    tn_status st = TN_OK;
    tn_map *map = NULL;
    int kind = 0;
    while (kind < TNP_PHI_LEARNED && strcmp(name, names[kind]) != 0)
        ++kind;
    if (kind == TNP_PHI_LEARNED)
        return tnp_fail(ctx, TN_ERR_ARG, "map: got '%.40s', expected %s", name, TN_MAP_WORDS);
    if (sign != TN_SIGNED_ODD && sign != TN_SIGNED_SPLIT)
        return tnp_fail(ctx, TN_ERR_ARG, "map: signed is %d, expected %s", (int)sign, TN_SIGNED_WORDS);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *map, &map));
    map->kind = (tnp_map_kind)kind;
    map->made_of.sign = sign;
    map->made_of.scale = 1;
    map->made_of.rank = kind == TNP_PHI_HELLINGER ? 1 : TNP_PHI_HOMOGENEOUS;
    if (kind != TNP_PHI_HELLINGER)
        map->waves = tnp_waves_of(map->kind);
    *out = map;
done:
    return st;
}

static tn_status check(tn_ctx *ctx, const tn_map_spec *spec)
{
    if (spec->basis != TN_BASIS_SCALED_FOURIER && spec->basis != TN_BASIS_FOURIER)
        return tnp_fail(ctx, TN_ERR_ARG, "map: basis is %d, expected %s", (int)spec->basis, TN_BASIS_WORDS);
    if (spec->sign != TN_SIGNED_ODD && spec->sign != TN_SIGNED_SPLIT)
        return tnp_fail(ctx, TN_ERR_ARG, "map: signed is %d, expected %s", (int)spec->sign, TN_SIGNED_WORDS);
    if (spec->rank < 1 || spec->rank > TN_BASIS_SIZE)
        return tnp_fail(ctx, TN_ERR_ARG, "map: rank is %zu, expected 1 to %d", spec->rank, TN_BASIS_SIZE);
    if (!(spec->scale > 0) || !isfinite(spec->scale))
        return tnp_fail(ctx, TN_ERR_ARG, "map: scale is %g, expected a number above 0", spec->scale);
    if (!spec->weight)
        return tnp_fail(ctx, TN_ERR_ARG, "map: no weights, expected %d times %zu", TN_BASIS_SIZE, spec->rank);
    for (size_t i = 0; i < TN_BASIS_SIZE * spec->rank; ++i)
        if (!isfinite(spec->weight[i]))
            return tnp_fail(ctx, TN_ERR_ARG, "map: weight %zu of function %zu is not a finite number", i % spec->rank,
                            i / spec->rank);
    return TN_OK;
}

/* NULL stays NULL. */
static tn_status copy_values(tn_ctx *ctx, const double *values, size_t count, const double **out)
{
    double *copy = NULL;
    tn_status st = values ? tnp_alloc_raw(ctx, count, sizeof *copy, &copy) : TN_OK;
    if (st == TN_OK && values)
        memcpy(copy, values, count * sizeof *copy);
    *out = copy;
    return st;
}

tn_status tn_map_new_learned(tn_ctx *ctx, const tn_map_spec *spec, tn_map **out)
{
    tn_status st = TN_OK;
    tn_map *map = NULL;
    TN_TRY(check(ctx, spec));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *map, &map));
    map->kind = TNP_PHI_LEARNED;
    map->made_of = *spec;
    map->made_of.weight = map->made_of.rates = map->made_of.histogram = NULL;
    map->made_of.singular_values = map->made_of.vectors = NULL;
    TN_TRY(copy_values(ctx, spec->weight, TN_BASIS_SIZE * spec->rank, &map->made_of.weight));
    TN_TRY(copy_values(ctx, spec->rates, TN_BASIS_SIZE, &map->made_of.rates));
    TN_TRY(copy_values(ctx, spec->singular_values, TN_BASIS_SIZE, &map->made_of.singular_values));
    TN_TRY(copy_values(ctx, spec->vectors, (size_t)TN_BASIS_SIZE * TN_BASIS_SIZE, &map->made_of.vectors));
    TN_TRY(copy_values(ctx, spec->histogram, TN_MAP_BINS, &map->made_of.histogram));
    *out = map;
    map = NULL;
done:
    tn_map_free(map);
    return st;
}

tn_status tn_map_copy(tn_ctx *ctx, const tn_map *map, tn_map **out)
{
    return map->kind == TNP_PHI_LEARNED ? tn_map_new_learned(ctx, &map->made_of, out)
                                        : tn_map_new_named(ctx, names[map->kind], map->made_of.sign, out);
}

void tn_map_free(tn_map *map)
{
    if (!map)
        return;
    const double *const owned[] = {map->made_of.weight, map->made_of.rates, map->made_of.singular_values,
                                   map->made_of.vectors, map->made_of.histogram};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i)
        tnp_free((void *)(uintptr_t)owned[i]);
    tnp_free((void *)(uintptr_t)atomic_load(&map->table));
    tnp_free(map);
}

/* ---- asking ---- */

const char *tn_map_name(const tn_map *map)
{
    return names[map->kind];
}

const tn_map_spec *tn_map_made_of(const tn_map *map)
{
    return &map->made_of;
}

size_t tn_map_width(const tn_map *map)
{
    return map->made_of.rank * (map->made_of.sign == TN_SIGNED_SPLIT ? 2 : 1);
}

double tn_map_scale(const tn_map *map)
{
    return map->made_of.scale;
}

size_t tn_map_basis_size(const tn_map *map)
{
    return map->kind == TNP_PHI_LEARNED ? TN_BASIS_SIZE : 0;
}

bool tnp_map_same(const tn_map *a, const tn_map *b)
{
    if (!a || !b)
        return a == b;
    const tn_map_spec *p = &a->made_of, *q = &b->made_of;
    return a->kind == b->kind && p->sign == q->sign && p->basis == q->basis && p->rank == q->rank &&
           p->scale == q->scale &&
           (a->kind != TNP_PHI_LEARNED ||
            memcmp(p->weight, q->weight, TN_BASIS_SIZE * p->rank * sizeof *p->weight) == 0);
}

void tn_map_exact(const tn_map *map, double x, double *out)
{
    const size_t rank = map->made_of.rank;
    if (map->made_of.sign == TN_SIGNED_SPLIT) {
        phi(map, fmax(x, 0), out);
        phi(map, fmax(-x, 0), out + rank);
        return;
    }
    phi(map, fabs(x), out);
    for (size_t k = 0; k < rank && x < 0; ++k)
        out[k] = -out[k];
}

double tn_map_kernel(const tn_map *map, double x, double y)
{
    if (map->kind == TNP_PHI_LEARNED) {
        double a[TN_MAP_MOST], b[TN_MAP_MOST], sum = 0;
        tn_map_exact(map, x, a);
        tn_map_exact(map, y, b);
        for (size_t k = 0; k < tn_map_width(map); ++k)
            sum += a[k] * b[k];
        return sum;
    }
    if (x == 0 || y == 0)
        return 0;
    double sign = (x < 0) == (y < 0) ? 1 : map->made_of.sign == TN_SIGNED_SPLIT ? 0 : -1;
    return sign * tnp_homogeneous_kernel(map->kind, fabs(x), fabs(y));
}

/* ---- rows ---- */

/* Entries that the table does not reach, once the kernel has counted some. */
static void compute_outside(const tn_map *map, const float *x, float factor, size_t n, float *out)
{
    const tnp_knots *table = atomic_load(&map->table);
    const size_t width = tn_map_width(map);
    const float low = float_of(table->first << table->shift),
                high = float_of((table->first + table->cells) << table->shift);
    double values[TN_MAP_MOST];
    for (size_t j = 0; j < n; ++j) {
        float v = x[j] * factor, size = fabsf(v);
        if (size == 0 || (size >= low && size < high))
            continue;
        tn_map_exact(map, (double)v, values);
        for (size_t k = 0; k < width; ++k)
            out[j * width + k] = (float)values[k];
    }
}

/* sqrt(x+), sqrt(x-), each times factor. */
static void split_roots(const float *x, float factor, size_t n, float *out)
{
    for (size_t j = 0; j < n; ++j) {
        float root = sqrtf(fabsf(x[j])) * factor;
        out[2 * j] = x[j] > 0 ? root : 0;
        out[2 * j + 1] = x[j] < 0 ? root : 0;
    }
}

void tnp_map_row(const tnp_simd *k, const tn_map *map, float *x, size_t n, float *out)
{
    double sum = k->sum_abs(x, n), exact = sum > 0 ? fmin(map->made_of.scale / sum, DBL_MAX) : 0;
    float factor = (float)exact;
    if (sum > 0 && (exact < 1e-30 || exact > 1e30)) { /* x * factor in float would lose digits or overflow */
        for (size_t j = 0; j < n; ++j)
            x[j] = (float)((double)x[j] * exact);
        factor = 1;
    }
    if (map->kind == TNP_PHI_HELLINGER && map->made_of.sign == TN_SIGNED_SPLIT)
        split_roots(x, sqrtf(factor), n, out);
    else if (map->kind == TNP_PHI_HELLINGER)
        k->scale_root(x, sqrtf(factor), out, n);
    else if (k->map_entries(atomic_load(&map->table), x, factor, n, out) > 0)
        compute_outside(map, x, factor, n, out);
}

/* Cell and place in it of size >= 0, as the kernel's; false where the table does not reach. */
static bool find_cell(const tnp_knots *table, double size, size_t *cell, double *t)
{
    if (!table->shift) {
        double at = fmin(size, 1) * table->cells;
        *cell = (size_t)at;
        *t = at - (double)*cell;
        return true;
    }
    int bits;
    double part = frexp(size, &bits) * 2 - 1; /* size = (1 + part) 2^(bits - 1) */
    double at = part * (double)(1u << (23 - table->shift));
    int64_t octave = bits - 1 + 127 - (int64_t)(table->first >> (23 - table->shift));
    if (size == 0 || octave < 0 || octave >= (int64_t)(table->cells >> (23 - table->shift)))
        return false;
    *cell = 1 + ((size_t)octave << (23 - table->shift)) + (size_t)at;
    *t = at - floor(at);
    return true;
}

/* phi of one sign at size >= 0, times sign. */
static void entry_wide(const tn_map *map, double size, double sign, double *out)
{
    const tnp_knots *table = atomic_load(&map->table);
    const size_t rank = map->made_of.rank;
    size_t cell = 0;
    double t = 0;
    if (map->kind == TNP_PHI_HELLINGER || !find_cell(table, size, &cell, &t)) {
        phi(map, size, out);
        for (size_t k = 0; k < rank; ++k)
            out[k] *= sign;
        return;
    }
    const float *low = table->rows + cell * table->pad, *high = low + table->pad;
    for (size_t k = 0; k < rank; ++k)
        out[k] = sign * ((double)low[k] + t * ((double)high[k] - (double)low[k]));
}

void tnp_map_row_wide(const tn_map *map, const double *x, size_t n, double *out)
{
    const size_t rank = map->made_of.rank;
    double most = 0, sum = 0;
    for (size_t j = 0; j < n; ++j)
        most = fmax(most, fabs(x[j]));
    for (size_t j = 0; j < n && most > 0; ++j)
        sum += fabs(x[j] / most); /* the sum itself may leave the range of double */
    for (size_t j = 0; j < n; ++j) {
        double v = most > 0 ? x[j] / most / sum * map->made_of.scale : 0;
        if (map->made_of.sign == TN_SIGNED_SPLIT) {
            entry_wide(map, fmax(v, 0), 1, out + 2 * j * rank);
            entry_wide(map, fmax(-v, 0), 1, out + (2 * j + 1) * rank);
        } else {
            entry_wide(map, fabs(v), v < 0 ? -1 : 1, out + j * rank);
        }
    }
}
