/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One block per class k, of the rows A_k where its probability is least settled, and for the mean of the classes 1:
 *
 *   M_k = B_k + sum_{i in A_k} h_ik z_i z_i',   z_i = (x_i - m, 1),   h_ik = c_i p_ik (1 - p_ik)
 *
 * in weights w and intercepts b + m'w; with r_k the sum of the h_ik that are left out, B_k is 1 +
 * r_k spread for the weights, spread the mean of (x_ij - m_j)^2, and r_k for the intercept.
 *
 * The pairs (i, k) with the largest h are taken, two or three per row over all classes: of a row that is nearly decided,
 * and at large C most are, two classes hold nearly all curvature. So the blocks cost a few products with X however many
 * classes there are, where all N k pairs would cost k Gram matrices. With v_i = sqrt(h_ik) B_k^-1/2 z_i as rows of V
 *
 *   few rows    M^-1 = B^-1/2 (I - V'(I + V V')^-1 V) B^-1/2,    V is read from X where it lies
 *   many rows   M^-1 = B^-1/2 (I + V'V)^-1 B^-1/2
 *
 * The intercept belongs into the block: with a diagonal of its own, steps are twice as many. Curvature between classes
 * is left out: what it is worth, the pairs of the quasi-Newton method find. A Kronecker product of the mean curvature
 * of classes with X'X was refused: it knows them, but not that every class has other rows near its border, and takes
 * four times as many steps at C = 1000. */
#include "learn/softmax/softmax_blocks.h"
#include "algebra/blas.h"
#include "base/crew.h"
#include "simd/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PAIRS = 3, MANY = 32, PARTS = 16, BINS = 1 << 12, BIN_SHIFT = 19, MOST_ORDER = 512, ALWAYS = 1 << 20 };
static const float LEAST = 1e-4f; /* of the largest h: not worth a pair */
static const float MOST = 3e5f;   /* of a product of rows of V: its rounding is 2 per cent of what V V' is added to */
static const double FREE = 1e-3;  /* of the curvature of a class: the least that counts as left out */

/* Pairs per row, on average: one less where few classes have that many more of them each, whose factors then cost more
 * than the rounds that they save. */
static size_t pairs_per_row(size_t k)
{
    return tnp_min(k > PAIRS && k < MANY ? PAIRS - 1 : PAIRS, k);
}

/* Of all factors: as the scores, or a few MB. */
static size_t most_numbers(size_t rows, size_t dim, size_t k)
{
    size_t order = tnp_min(MOST_ORDER, tnp_min(rows, dim + 1));
    return tnp_min(rows * k + ALWAYS, k * order * order);
}

/* Bytes that a factor needs while it is made. */
static size_t factor_bytes(size_t rows, size_t dim)
{
    size_t order = tnp_min(MOST_ORDER, tnp_min(rows, dim + 1));
    return 12 * tnp_min(MOST_ORDER, rows) * (dim + 1) + 8 * order * order;
}

size_t tnp_blocks_bytes(size_t rows, size_t dim, size_t k)
{
    return 8 * pairs_per_row(k) * rows + 4 * most_numbers(rows, dim, k) + 12 * (dim + 1) +
           k * (sizeof(tnp_class_block) + 8) + PARTS * (4 * BINS + 20 * k) + factor_bytes(rows, dim) + 1024;
}

/* Mean and spread of the rows. */
static tn_status centre(tnp_blocks *b)
{
    tn_status st = TN_OK;
    double *sum = NULL, square = 0, n = (double)b->rows.count;
    TN_TRY(tnp_alloc(b->ctx, tnp_max(1, b->dim), sizeof *sum, &sum));
    for (size_t i = 0; i < b->rows.count; ++i) {
        tnp_simd_get()->add_to_double(b->rows.x + i * b->rows.ld, sum, b->dim);
        square += tnp_simd_get()->sum_squares(b->rows.x + i * b->rows.ld, b->dim);
    }
    for (size_t j = 0; j < b->dim && b->bias; ++j) {
        b->mean[j] = (float)(sum[j] / n);
        square -= sum[j] * sum[j] / n;
    }
    b->spread = fmax(0, square) / (n * (double)tnp_max(1, b->dim));
done:
    tnp_free(sum);
    return st;
}

tn_status tnp_blocks_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_block_rows rows, size_t dim, bool bias,
                          bool penalised, tnp_blocks *b)
{
    tn_status st = TN_OK;
    size_t k = loss->y->classes;
    *b = (tnp_blocks){.ctx = ctx,
                      .loss = loss,
                      .rows = rows,
                      .k = k,
                      .dim = dim,
                      .most = most_numbers(rows.count, dim, k),
                      .bias = bias,
                      .penalised = penalised,
                      .pairs = pairs_per_row(k) * rows.count};
    TN_TRY(tnp_alloc(ctx, tnp_max(1, dim), sizeof *b->mean, &b->mean));
    TN_TRY(tnp_alloc(ctx, 2 * (dim + 1), sizeof *b->common, &b->common));
    TN_TRY(tnp_alloc(ctx, k, sizeof *b->block, &b->block));
    TN_TRY(tnp_alloc(ctx, k, sizeof *b->curve, &b->curve));
    TN_TRY(tnp_alloc_raw(ctx, b->pairs, sizeof *b->row, &b->row));
    TN_TRY(tnp_alloc_raw(ctx, b->pairs, sizeof *b->root, &b->root));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, b->most), sizeof *b->t, &b->t));
    TN_TRY(centre(b));
done:
    return st;
}

void tnp_blocks_destroy(tnp_blocks *b)
{
    tnp_free_all(b->mean, b->common, b->block, b->curve, b->row, b->root, b->t);
}

/* ---- which pairs ---- */

/* Parts of the rows, each by one call: first counts of h by size, then the pairs. */
typedef struct pick_job {
    tnp_blocks *b;
    const float *s, *known;
    uint32_t *bins; /* (PARTS, BINS) */
    size_t *taken;  /* (PARTS, k): how many pairs of a class, then where the next one goes */
    double *curve;  /* (PARTS, k): sums of h */
    float *p;       /* (PARTS, k) */
    float least;    /* h of a pair that is taken */
} pick_job;

static uint32_t bin_of(float h)
{
    uint32_t bits;
    memcpy(&bits, &h, sizeof bits);
    return bits >> BIN_SHIFT;
}

/* p (k) = h of a row of the blocks. */
static void curvatures(const pick_job *job, size_t i, float *p)
{
    const tnp_blocks *b = job->b;
    size_t row = i * b->rows.stride;
    float cost = (float)((double)b->rows.stride * tnp_softmax_cost(b->loss, row));
    const float *from = job->known ? job->known + row * b->k : p;
    if (!job->known)
        tnp_simd_get()->softmax(job->s + row * b->k, p, b->k);
    for (size_t j = 0; j < b->k; ++j)
        p[j] = cost * from[j] * (1 - from[j]);
}

static size_t part_start(const tnp_blocks *b, size_t part)
{
    return part * b->rows.count / PARTS;
}

static void count_part(void *arg, size_t part)
{
    const pick_job *job = arg;
    size_t k = job->b->k;
    float *p = job->p + part * k;
    for (size_t i = part_start(job->b, part); i < part_start(job->b, part + 1); ++i) {
        curvatures(job, i, p);
        for (size_t j = 0; j < k; ++j) {
            ++job->bins[part * BINS + bin_of(fmaxf(0, p[j])) % BINS];
            job->curve[part * k + j] += (double)p[j];
        }
    }
}

static void count_pairs(void *arg, size_t part)
{
    const pick_job *job = arg;
    size_t k = job->b->k;
    float *p = job->p + part * k;
    for (size_t i = part_start(job->b, part); i < part_start(job->b, part + 1); ++i) {
        curvatures(job, i, p);
        for (size_t j = 0; j < k; ++j)
            job->taken[part * k + j] += p[j] >= job->least;
    }
}

static void take_pairs(void *arg, size_t part)
{
    const pick_job *job = arg;
    const tnp_blocks *b = job->b;
    float *p = job->p + part * b->k;
    for (size_t i = part_start(b, part); i < part_start(b, part + 1); ++i) {
        curvatures(job, i, p);
        for (size_t j = 0; j < b->k; ++j)
            if (p[j] >= job->least) {
                size_t at = job->taken[part * b->k + j]++;
                b->row[at] = (uint32_t)i;
                b->root[at] = sqrtf(p[j]);
            }
    }
}

/* The least h such that no more pairs are taken than there is memory for. */
static float threshold(const pick_job *job)
{
    size_t bin = BINS, count = 0;
    uint32_t bits;
    float least, largest = 0;
    while (bin-- > 1) {
        size_t here = 0;
        for (size_t part = 0; part < PARTS; ++part)
            here += job->bins[part * BINS + bin];
        if (here > 0 && largest == 0) {
            bits = (uint32_t)bin << BIN_SHIFT;
            memcpy(&largest, &bits, sizeof largest);
        }
        if (count + here > job->b->pairs)
            break;
        count += here;
    }
    bits = (uint32_t)(bin + 1) << BIN_SHIFT;
    memcpy(&least, &bits, sizeof least);
    return fmaxf(least, LEAST * largest);
}

static tn_status pick(tnp_blocks *b, const float *s, const float *known)
{
    tn_status st = TN_OK;
    size_t k = b->k, at = 0;
    pick_job job = {.b = b, .s = s, .known = known};
    size_t threads = tnp_threads_for(b->ctx, 32.0 * (double)b->rows.count * (double)k);
    TN_TRY(tnp_alloc(b->ctx, PARTS * BINS, sizeof *job.bins, &job.bins));
    TN_TRY(tnp_alloc(b->ctx, PARTS * k, sizeof *job.taken, &job.taken));
    TN_TRY(tnp_alloc(b->ctx, PARTS * k, sizeof *job.curve, &job.curve));
    TN_TRY(tnp_alloc_raw(b->ctx, PARTS * k, sizeof *job.p, &job.p));
    tnp_parallel(b->ctx, threads, PARTS, count_part, &job);
    job.least = threshold(&job);
    tnp_parallel(b->ctx, threads, PARTS, count_pairs, &job);
    for (size_t j = 0; j < k; ++j) {
        b->block[j] = (tnp_class_block){.first = at};
        b->curve[j] = 0;
        for (size_t part = 0; part < PARTS; ++part) {
            size_t count = job.taken[part * k + j];
            job.taken[part * k + j] = at;
            at += count;
            b->curve[j] += job.curve[part * k + j];
        }
        b->block[j].count = at - b->block[j].first;
    }
    tnp_parallel(b->ctx, threads, PARTS, take_pairs, &job);
done:
    tnp_free_all(job.bins, job.taken, job.curve, job.p);
    return st;
}

/* ---- factors ---- */

/* Order of a class's factor when none may be larger than `most`. */
static size_t order_of(const tnp_blocks *b, const tnp_class_block *c, size_t most)
{
    return tnp_min(tnp_min(c->count, b->dim + 1), most);
}

/* Of more pairs than rows of the factor every n-th stays, for n. */
static void thin(tnp_blocks *b, tnp_class_block *c, size_t most)
{
    size_t step = (c->count + most - 1) / tnp_max(1, most), kept = 0;
    for (size_t i = 0; i < c->count; i += step, ++kept) {
        b->row[c->first + kept] = b->row[c->first + i];
        b->root[c->first + kept] = b->root[c->first + i] * sqrtf((float)step);
    }
    c->count = kept;
}

/* Orders and places of the factors, and bases. */
static void plan(tnp_blocks *b)
{
    size_t most = MOST_ORDER, sum;
    float *t = b->t;
    do {
        sum = 0;
        for (size_t j = 0; j < b->k; ++j) {
            size_t order = order_of(b, &b->block[j], most);
            sum += order * order;
        }
        most = sum > b->most ? most / 2 : most;
    } while (sum > b->most);
    for (size_t j = 0; j < b->k; ++j) {
        tnp_class_block *c = &b->block[j];
        c->wide = b->dim + 1 <= most && c->count > b->dim + 1;
        if (!c->wide && c->count > most)
            thin(b, c, most);
        c->order = order_of(b, c, most);
        c->t = t;
        t += c->order * c->order;
        double rest = b->curve[j];
        for (size_t i = 0; i < c->count; ++i)
            rest -= (double)b->root[c->first + i] * (double)b->root[c->first + i];
        rest = fmax(rest, FREE * b->curve[j]);
        double last = rest + (b->penalised ? 1 : 0);
        c->weight = (float)(1 / sqrt(1 + rest * b->spread));
        c->last = b->bias && last > 0 ? (float)(1 / sqrt(last)) : 0;
    }
}

/* Rows [from, from + count) of V into v. */
static void gather(const tnp_blocks *b, const tnp_class_block *c, size_t from, size_t count, float *v)
{
    for (size_t i = 0; i < count; ++i, v += b->dim + 1) {
        size_t at = c->first + from + i;
        tnp_simd_get()->shift_scale(b->rows.x + b->row[at] * b->rows.ld, b->mean, b->root[at] * c->weight, v, b->dim);
        v[b->dim] = b->root[at] * c->last;
    }
}

/* Rows of V that are gathered at a time. */
static size_t rows_at_once(const tnp_class_block *c)
{
    return tnp_min(c->count, MOST_ORDER);
}

/* t of a class in floats, which is half the price; v (rows at once, dim + 1) is scratch. *found is false where they do
 * not do, as in linear/factor.c. */
static tn_status factor_in_float(tn_ctx *ctx, const tnp_blocks *b, const tnp_class_block *c, float *v, bool *found)
{
    tn_status st = TN_OK;
    size_t n = c->order, width = b->dim + 1, most = rows_at_once(c);
    for (size_t from = 0; from < c->count; from += most) {
        size_t count = tnp_min(most, c->count - from);
        gather(b, c, from, count, v);
        TN_TRY(c->wide ? tnp_ssyrk_cols(ctx, count, width, v, width, from ? 1 : 0, c->t)
                       : tnp_ssyrk_rows(ctx, n, width, v, width, 0, c->t));
    }
    *found = true;
    for (size_t i = 0; i < n; ++i) {
        *found &= c->t[i * n + i] <= MOST;
        c->t[i * n + i] += 1;
    }
    if (*found)
        st = tnp_cholesky_float(ctx, n, c->t);
    *found &= st == TN_OK;
    st = st == TN_ERR_NUMERIC ? TN_OK : st;
done:
    return st;
}

/* The same in double; a factor that does not exist leaves the diagonal. */
static tn_status factor_in_double(tn_ctx *ctx, const tnp_blocks *b, tnp_class_block *c, float *v)
{
    tn_status st = TN_OK;
    size_t n = c->order, width = b->dim + 1, most = rows_at_once(c);
    double *wide = NULL, *a = NULL;
    TN_TRY(tnp_alloc_raw(ctx, most * width, sizeof *wide, &wide));
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *a, &a));
    for (size_t from = 0; from < c->count; from += most) {
        size_t count = tnp_min(most, c->count - from);
        gather(b, c, from, count, v);
        for (size_t i = 0; i < count * width; ++i)
            wide[i] = (double)v[i];
        TN_TRY(c->wide ? tnp_dsyrk_cols(ctx, count, width, wide, width, from ? 1 : 0, a)
                       : tnp_dsyrk_rows(ctx, n, width, wide, width, 0, a));
    }
    for (size_t i = 0; i < n; ++i)
        a[i * n + i] += 1;
    st = tnp_cholesky(ctx, n, a);
    c->order = st == TN_OK ? n : 0;
    for (size_t i = 0; i < c->order * n; ++i)
        c->t[i] = (float)a[i];
    st = st == TN_ERR_NUMERIC ? TN_OK : st;
done:
    tnp_free_all(wide, a);
    return st;
}

static tn_status factor_class(tn_ctx *ctx, void *arg, size_t j)
{
    tn_status st = TN_OK;
    const tnp_blocks *b = arg;
    tnp_class_block *c = &b->block[j];
    float *v = NULL;
    bool found = false;
    if (c->order == 0)
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, rows_at_once(c) * (b->dim + 1), sizeof *v, &v));
    TN_TRY(factor_in_float(ctx, b, c, v, &found));
    if (!found)
        TN_TRY(factor_in_double(ctx, b, c, v));
done:
    tnp_free(v);
    return st;
}

/* Factors of so few rows keep one thread busy each: they are made side by side. */
tn_status tnp_blocks_update(tnp_blocks *b, const float *s, const float *p)
{
    tn_status st = TN_OK;
    tnp_crew crew = {0};
    TN_TRY(pick(b, s, p));
    plan(b);
    TN_TRY(tnp_crew_new(b->ctx, factor_bytes(b->rows.count, b->dim), &crew));
    TN_TRY(tnp_crew_run(b->ctx, &crew, NULL, b->k, factor_class, b));
done:
    tnp_crew_free(b->ctx, &crew);
    return st;
}

/* ---- products ---- */

typedef struct apply_job {
    const tnp_blocks *b;
    const float *in;
    float *out;
} apply_job;

/* a (n) <- (t't)^-1 a. */
static void solve(const float *t, size_t n, float *a)
{
    const tnp_simd *simd = tnp_simd_get();
    for (size_t i = 0; i < n; ++i) {
        a[i] /= t[i * n + i];
        simd->add_scaled(-a[i], t + i * n + i + 1, a + i + 1, n - i - 1);
    }
    for (size_t i = n; i-- > 0;)
        a[i] = (a[i] - (float)simd->dot(t + i * n + i + 1, a + i + 1, n - i - 1)) / t[i * n + i];
}

/* out (dim + 1) -= V' (I + V V')^-1 V out. */
static void take_off_rows(const tnp_blocks *b, const tnp_class_block *c, float *out)
{
    const tnp_simd *simd = tnp_simd_get();
    float a[MOST_ORDER], *last = out + b->dim, aside = c->last * *last, sum = 0;
    aside -= c->weight * (float)simd->dot(b->mean, out, b->dim);
    for (size_t i = 0; i < c->count; ++i) {
        const float *x = b->rows.x + b->row[c->first + i] * b->rows.ld;
        a[i] = b->root[c->first + i] * (c->weight * (float)simd->dot(x, out, b->dim) + aside);
    }
    solve(c->t, c->order, a);
    for (size_t i = 0; i < c->count; ++i) {
        float by = a[i] * b->root[c->first + i];
        simd->add_scaled(-by * c->weight, b->rows.x + b->row[c->first + i] * b->rows.ld, out, b->dim);
        sum += by;
    }
    simd->add_scaled(sum * c->weight, b->mean, out, b->dim);
    *last -= sum * c->last;
}

static void apply_class(void *arg, size_t j)
{
    const apply_job *job = arg;
    const tnp_blocks *b = job->b;
    const tnp_class_block *c = &b->block[j];
    size_t dim = b->dim;
    const float *in = job->in + j * (dim + 1);
    float *out = job->out + j * (dim + 1);
    float last = in[dim] - b->common[dim];
    for (size_t i = 0; i < dim; ++i)
        out[i] = c->weight * (in[i] - b->common[i] - last * b->mean[i]);
    out[dim] = c->last * last;
    if (c->order > 0 && c->wide)
        solve(c->t, c->order, out);
    else if (c->order > 0)
        take_off_rows(b, c, out);
    for (size_t i = 0; i < dim; ++i)
        out[i] *= c->weight;
    out[dim] = c->last * out[dim] - (float)tnp_simd_get()->dot(b->mean, out, dim);
}

/* common (dim + 1) = mean over the classes of a. */
static void mean_class(const tnp_blocks *b, const float *a, float *common)
{
    size_t width = b->dim + 1;
    memset(common, 0, width * sizeof *common);
    for (size_t j = 0; j < b->k; ++j)
        tnp_simd_get()->add_scaled(1 / (float)b->k, a + j * width, common, width);
}

/* The same vector added to all classes changes no probability, and only the ridge is felt along it: the mean of the
 * classes is taken as it is, and the blocks have what is left. */
void tnp_blocks_apply(const tnp_blocks *b, const float *in, float *out)
{
    apply_job job = {b, in, out};
    size_t width = b->dim + 1;
    float *after = b->common + width;
    mean_class(b, in, b->common);
    tnp_parallel(b->ctx, tnp_threads_for(b->ctx, 4.0 * (double)(b->pairs * b->dim)), b->k, apply_class, &job);
    mean_class(b, out, after);
    tnp_simd_get()->add_scaled(-1, b->common, after, b->dim + (b->penalised ? 1 : 0));
    for (size_t j = 0; j < b->k; ++j)
        tnp_simd_get()->add_scaled(-1, after, out + j * width, width);
}
