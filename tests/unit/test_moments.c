/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streaming moments against literal sums in long double.
 *
 * Tolerances. An entry is a sum of n products of shifted values, so it is off by at most (n + c) u sqrt(G_ii G_jj), G
 * the Gram about the shift and u half an ulp of the arithmetic: 2^-53 for wide blocks; for narrow ones 2^-24 over the
 * rows of one block (blocks are added in double), with c for the rounding of the shift itself. */
#include "matrix/moments.h"
#include "ref_dense.h"
#include "ref_random.h"
#include "spectrum_of.h"

#include <stdlib.h>

typedef struct set {
    ref_problem p; /* y (n,k) dense, whatever the targets are made of */
    tnp_targets y;
    size_t *first;
    uint32_t *cls;
} set;

typedef enum target_kind { ONE_CLASS, LISTS, VALUES } target_kind;

static set set_of(target_kind kind, size_t n, size_t d, size_t k, double offset, uint64_t seed)
{
    set s = {.p = ref_problem_of(REF_SIGNED, n, d, k, seed)};
    ref_rng rng = ref_rng_of(seed + 1);
    s.first = ref_alloc(n + 1, sizeof *s.first);
    s.cls = ref_alloc(n * k, sizeof *s.cls);
    for (size_t i = 0; i < n * d; ++i) /* float values, so that narrow and wide see the same numbers */
        s.p.x[i] = (double)(float)(s.p.x[i] + offset * (double)(1 + i % d));
    for (size_t i = 0; i < n; ++i) {
        s.first[i + 1] = s.first[i];
        for (size_t c = 0; c < k; ++c) {
            double *v = &s.p.y[i * k + c];
            *v = kind == VALUES ? ref_normal(&rng) : kind == LISTS ? (double)(ref_below(&rng, 3) == 0) : *v;
            if (*v == 1)
                s.cls[s.first[i + 1]++] = (uint32_t)c;
        }
    }
    s.y = (tnp_targets){.rows = n, .classes = k, .first = s.first, .cls = s.cls};
    if (kind == VALUES)
        s.y = (tnp_targets){.rows = n, .classes = k, .values = s.p.y};
    return s;
}

static void set_free(set *s)
{
    ref_problem_free(&s->p);
    free(s->first);
    free(s->cls);
}

/* Rows [from, to) in blocks of `block`. */
static void add_rows(tn_ctx *ctx, tnp_moments *moments, const set *s, size_t from, size_t to, size_t block)
{
    size_t d = s->p.d;
    float *narrow = ref_alloc(block * d, sizeof *narrow);
    double *wide = ref_alloc(block * d, sizeof *wide);
    assert_true(block <= tnp_moments_block(d, moments->wide));
    for (size_t start = from; start < to; start += block) {
        size_t count = tnp_min(block, to - start);
        for (size_t i = 0; i < count * d; ++i) {
            wide[i] = s->p.x[start * d + i];
            narrow[i] = (float)wide[i];
        }
        if (moments->wide)
            assert_fine(ctx, tnp_moments_add_wide(ctx, moments, wide, &s->y, start, count));
        else
            assert_fine(ctx, tnp_moments_add(ctx, moments, narrow, &s->y, start, count));
    }
    free(narrow);
    free(wide);
}

static tnp_moments *sums_of(tn_ctx *ctx, const set *s, bool wide, size_t from, size_t to, size_t block)
{
    tnp_moments *moments = NULL;
    assert_fine(ctx, tnp_moments_new(ctx, s->p.d, s->p.k, wide, &moments));
    add_rows(ctx, moments, s, from, to, block);
    assert_int_equal(moments->rows, to - from);
    return moments;
}

typedef struct central {
    size_t d, k;
    double *gram, *xty, *yy, *mean, *ymean;
} central;

static central central_of(const tnp_moments *moments, const tnp_range *parts, size_t count, bool intercept)
{
    size_t d = 0, k = moments->classes;
    for (size_t i = 0; i < count; ++i)
        d += parts[i].to - parts[i].from;
    central m = {d, k, ref_alloc(d * d, 8), ref_alloc(k * d, 8), ref_alloc(k, 8), ref_alloc(d, 8), ref_alloc(k, 8)};
    tnp_moments_of(moments, parts, count, intercept, m.gram, m.xty, m.yy, m.mean, m.ymean);
    return m;
}

static void central_free(central *m)
{
    free(m->gram);
    free(m->xty);
    free(m->yy);
    free(m->mean);
    free(m->ymean);
}

/* About the column means, or about zero, by two plain passes. `about` are the values errors are measured against:
 * the sums of squares about the shift (intercept) or about zero. */
static void check_moments(const set *s, const central *m, bool intercept, const double *shift, double slack)
{
    size_t n = s->p.n, d = s->p.d, k = s->p.k;
    ref_real *x = ref_widen(s->p.x, n * d), *y = ref_widen(s->p.y, n * k), *g = ref_alloc(d * d, sizeof *g);
    ref_real *about = ref_alloc(d + k, sizeof *about);
    for (size_t i = 0; i < n * d; ++i)
        about[i % d] += (x[i] - (intercept ? shift[i % d] : 0)) * (x[i] - (intercept ? shift[i % d] : 0));
    for (size_t i = 0; i < n * k; ++i)
        about[d + i % k] += y[i] * y[i];
    for (size_t j = 0; j < d + k && intercept; ++j) {
        ref_real mean = 0, *at = j < d ? x + j : y + j - d;
        size_t step = j < d ? d : k;
        for (size_t i = 0; i < n; ++i)
            mean += at[i * step] / (ref_real)n;
        for (size_t i = 0; i < n; ++i)
            at[i * step] -= mean;
        ref_real got = j < d ? m->mean[j] : m->ymean[j - d];
        assert_true(fabsl(got - mean) <= slack * sqrtl(about[j]) + 4 * 2.3e-16L * fabsl(mean));
    }
    ref_gram(x, n, d, g);
    for (size_t i = 0; i < d; ++i)
        for (size_t j = i; j < d; ++j)
            assert_true(fabsl(m->gram[i * d + j] - g[i * d + j]) <= slack * sqrtl(about[i] * about[j]));
    for (size_t c = 0; c < k; ++c) {
        ref_real square = 0;
        for (size_t j = 0; j < d; ++j) {
            ref_real sum = 0;
            for (size_t i = 0; i < n; ++i)
                sum += y[i * k + c] * x[i * d + j];
            assert_true(fabsl(m->xty[c * d + j] - sum) <= slack * sqrtl(about[j] * about[d + c]));
        }
        for (size_t i = 0; i < n; ++i)
            square += y[i * k + c] * y[i * k + c];
        assert_true(fabsl(m->yy[c] - square) <= slack * about[d + c]);
        assert_true(intercept || m->ymean[c] == 0);
    }
    free(x);
    free(y);
    free(g);
    free(about);
}

static double slack_of(bool wide, size_t n, size_t block)
{
    double doubles = 2 * (double)(n + 8) * 0x1p-53;
    return wide ? doubles : doubles + (double)(block + 4) * 0x1p-24;
}

static void check_all(tn_ctx *ctx, const set *s, bool wide, size_t block)
{
    tnp_moments *moments = sums_of(ctx, s, wide, 0, s->p.n, block);
    for (int intercept = 0; intercept < 2; ++intercept) {
        central m = central_of(moments, &(tnp_range){0, s->p.d}, 1, intercept);
        check_moments(s, &m, intercept, moments->shift, slack_of(wide, s->p.n, block));
        central_free(&m);
    }
    tn_moments_free(moments);
}

static void test_moments(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    static const size_t shapes[][3] = {{1, 1, 1}, {2, 5, 2}, {7, 3, 2}, {40, 17, 5}, {90, 66, 4}, {300, 20, 3}};
    for (size_t i = 0; i < 6; ++i)
        for (int kind = ONE_CLASS; kind <= VALUES; ++kind)
            for (int wide = 0; wide < 2; ++wide)
                for (size_t block = 7; block <= 256; block += 249) {
                    set s = set_of((target_kind)kind, shapes[i][0], shapes[i][1], shapes[i][2], 0, i);
                    check_all(ctx, &s, wide, block);
                    set_free(&s);
                }
    ctx_done(ctx);
}

/* Columns around 1e4, 2e4, ...: without the shift a float product would keep nothing of a deviation of 1. The bound is
 * the same as without offset, because it is measured about the shift. */
static void test_offset(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (int wide = 0; wide < 2; ++wide) {
        set s = set_of(ONE_CLASS, 200, 12, 3, 1e4, 3);
        tnp_moments *moments = sums_of(ctx, &s, wide, 0, 200, 64);
        central m = central_of(moments, &(tnp_range){0, 12}, 1, true);
        for (size_t j = 0; j < 12; ++j) /* deviations of about 1.5 a column, not of 1e4 */
            assert_true(m.gram[j * 12 + j] > 100 && m.gram[j * 12 + j] < 2000);
        check_moments(&s, &m, true, moments->shift, slack_of(wide, 200, 64));
        central_free(&m);
        tn_moments_free(moments);
        set_free(&s);
    }
    ctx_done(ctx);
}

/* Two parts with shifts of their own, merged either way, and into empty statistics. The parts are 100 apart, so the
 * deviations about the shift are too: errors are measured against those. */
static void test_merge(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (int form = 0; form < 8; ++form) {
        bool wide = form & 1, swap = form & 2, empty = form & 4;
        set s = set_of(LISTS, 80, 9, 4, 2, 4);
        for (size_t i = 50 * 9; i < 80 * 9; ++i)
            s.p.x[i] += 100;
        tnp_moments *a = sums_of(ctx, &s, wide, 0, 50, 16), *b = sums_of(ctx, &s, wide, 50, 80, 16), *c = NULL;
        assert_true(a->shift[0] != b->shift[0]);
        assert_fine(ctx, tnp_moments_new(ctx, 9, 4, wide, &c));
        tnp_moments *into = empty ? c : swap ? b : a;
        if (empty)
            assert_fine(ctx, tn_moments_merge(ctx, into, swap ? b : a));
        assert_fine(ctx, tn_moments_merge(ctx, into, swap ? a : b));
        assert_int_equal(into->rows, 80);
        for (int intercept = 0; intercept < 2; ++intercept) {
            central m = central_of(into, &(tnp_range){0, 9}, 1, intercept);
            check_moments(&s, &m, intercept, into->shift, 2 * slack_of(wide, 80, 16));
            central_free(&m);
        }
        tn_moments_free(a);
        tn_moments_free(b);
        tn_moments_free(c);
        set_free(&s);
    }
    ctx_done(ctx);
}

static void test_merge_continues(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    set s = set_of(ONE_CLASS, 60, 5, 2, 3, 8);
    tnp_moments *part = sums_of(ctx, &s, false, 0, 20, 10), *all = NULL;
    assert_fine(ctx, tnp_moments_new(ctx, 5, 2, false, &all));
    assert_fine(ctx, tn_moments_merge(ctx, all, part));
    add_rows(ctx, all, &s, 20, 60, 10);
    central m = central_of(all, &(tnp_range){0, 5}, 1, true);
    check_moments(&s, &m, true, all->shift, slack_of(false, 60, 10));
    central_free(&m);
    tn_moments_free(part);
    tn_moments_free(all);
    tnp_moments *other = NULL;
    assert_fine(ctx, tnp_moments_new(ctx, 6, 2, false, &other));
    part = sums_of(ctx, &s, false, 0, 20, 10);
    assert_fails(ctx, TN_ERR_SHAPE, "5 columns", tn_moments_merge(ctx, other, part));
    assert_int_equal(other->rows, 0);
    tn_moments_free(part);
    tn_moments_free(other);
    set_free(&s);
    ctx_done(ctx);
}

/* Ranges of columns: entries of the whole, bit for bit, and the moments of the columns taken alone. */
static void test_ranges(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    enum { D = 15, K = 3 };
    static const tnp_range parts[] = {{1, 4}, {4, 5}, {9, 15}};
    set s = set_of(VALUES, 70, D, K, 5, 6), sub = set_of(VALUES, 70, 10, K, 0, 6);
    size_t column[10], at = 0;
    for (size_t p = 0; p < 3; ++p)
        for (size_t j = parts[p].from; j < parts[p].to; ++j)
            column[at++] = j;
    for (size_t i = 0; i < 70 * 10; ++i)
        sub.p.x[i] = s.p.x[i / 10 * D + column[i % 10]];
    memcpy(sub.p.y, s.p.y, 70 * K * sizeof *sub.p.y);
    tnp_moments *moments = sums_of(ctx, &s, true, 0, 70, 32);
    for (int intercept = 0; intercept < 2; ++intercept) {
        central all = central_of(moments, &(tnp_range){0, D}, 1, intercept),
                m = central_of(moments, parts, 3, intercept);
        double shift[10];
        for (size_t i = 0; i < 10; ++i) {
            shift[i] = moments->shift[column[i]];
            for (size_t j = i; j < 10; ++j)
                assert_true(m.gram[i * 10 + j] == all.gram[column[i] * D + column[j]]);
            for (size_t c = 0; c < K; ++c)
                assert_true(m.xty[c * 10 + i] == all.xty[c * D + column[i]]);
        }
        check_moments(&sub, &m, intercept, shift, slack_of(true, 70, 32));
        central_free(&all);
        central_free(&m);
    }
    tn_moments_free(moments);
    set_free(&s);
    set_free(&sub);
    ctx_done(ctx);
}

/* The order of additions in sums and xty never depends on threads: equal bits. The Gram is the BLAS's: to rounding. */
static void test_threads(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 3, 7};
    enum { N = 512, D = 450, K = 3 };
    set s = set_of(LISTS, N, D, K, 1, 2);
    for (int wide = 0; wide < 2; ++wide) {
        tn_ctx *ctx = ctx_of(1);
        tnp_moments *one = sums_of(ctx, &s, wide, 0, N, 256);
        for (size_t t = 0; t < 3; ++t) {
            tn_ctx_set_threads(ctx, counts[t]);
            tnp_moments *many = sums_of(ctx, &s, wide, 0, N, 256);
            assert_memory_equal(many->shift, one->shift, D * sizeof(double));
            assert_memory_equal(many->sum, one->sum, D * sizeof(double));
            assert_memory_equal(many->xty, one->xty, K * D * sizeof(double));
            for (size_t i = 0; i < D; ++i)
                for (size_t j = i; j < D; ++j)
                    assert_true(fabs(many->gram[i * D + j] - one->gram[i * D + j]) <=
                                2 * slack_of(wide, N, 256) * sqrt(one->gram[i * D + i] * one->gram[j * D + j]));
            tn_moments_free(many);
        }
        tn_moments_free(one);
        ctx_done(ctx);
    }
    set_free(&s);
}

static void test_sizes(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (int wide = 0; wide < 2; ++wide)
        for (size_t d = 1; d < 60; d += 13) {
            tnp_moments *moments = NULL;
            size_t before = tn_ctx_memory_now(ctx);
            assert_fine(ctx, tnp_moments_new(ctx, d, 4, wide, &moments));
            assert_int_equal(tn_ctx_memory_now(ctx) - before - sizeof *moments, tnp_moments_bytes(d, 4, wide));
            tn_moments_free(moments);
        }
    assert_true(tnp_moments_bytes((size_t)1 << 40, 1, true) == SIZE_MAX);
    tnp_moments *none = NULL;
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tnp_moments_new(ctx, (size_t)1 << 40, 1, true, &none));
    assert_null(none);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),         cmocka_unit_test(test_offset), cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_continues), cmocka_unit_test(test_ranges), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
