/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops around mixtures and vocabularies, in vectors of the compiler: each file of kernels includes them and so compiles
 * them for its own instruction set. */
#ifndef TNP_SIMD_MIXTURE_H
#define TNP_SIMD_MIXTURE_H

#include "simd/simd_patches.h"

#include <float.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* Bit l: lane l of v is at least that of level. */
static inline unsigned lanes_at_least(wide_pack v, wide_pack level)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(v, level, _CMP_GE_OQ);
#elif defined(__FMA__)
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, level, _CMP_GE_OQ));
#else
    unsigned bits = 0;
    for (unsigned l = 0; l < PACK_FLOATS; ++l)
        bits |= (unsigned)(v[l] >= level[l]) << l;
    return bits;
#endif
}

/* Places i .. of x + level; those beyond n are below everything. */
static inline wide_pack level_pack(const float *x, const float *level, size_t i, size_t n)
{
    wide_pack rest;
    if (i + PACK_FLOATS <= n)
        return load_wide_pack(x + i) + load_wide_pack(level + i);
    for (size_t l = 0; l < PACK_FLOATS; ++l)
        rest[l] = i + l < n ? x[i + l] + level[i + l] : -HUGE_VALF;
    return rest;
}

/* By insertion; packs in which nothing is higher than the last of them are passed over. */
static void mixture_highest(const float *x, const float *level, size_t n, size_t count, uint32_t *which)
{
    float best[TNP_MOST_HIGHEST];
    wide_pack least = all_of(-HUGE_VALF);
    size_t have = 0;
    for (size_t i = 0; i < n; i += PACK_FLOATS) {
        wide_pack v = level_pack(x, level, i, n);
        unsigned bits = lanes_at_least(v, least);
        for (; bits != 0; bits &= bits - 1) {
            size_t lane = (size_t)__builtin_ctz(bits), at = have < count ? have : count - 1;
            float value = x[i + lane < n ? i + lane : 0] + level[i + lane < n ? i + lane : 0];
            if (i + lane >= n || (have == count && !(value > best[at])))
                continue;
            for (; at > 0 && value > best[at - 1]; --at) {
                best[at] = best[at - 1];
                which[at] = which[at - 1];
            }
            best[at] = value;
            which[at] = (uint32_t)(i + lane);
            have += have < count;
            if (have == count)
                least = all_of(best[count - 1]);
        }
    }
}

/* The sums over the lanes of each of four packs. */
static inline void sums_of_four(wide_pack p, wide_pack q, wide_pack r, wide_pack s, float *out)
{
#if defined(__AVX512F__) /* within quarters, where the four come to lie side by side, then over quarters */
    __m512d pq = _mm512_castps_pd(_mm512_unpacklo_ps(p, q) + _mm512_unpackhi_ps(p, q));
    __m512d rs = _mm512_castps_pd(_mm512_unpacklo_ps(r, s) + _mm512_unpackhi_ps(r, s));
    __m512 all = _mm512_castpd_ps(_mm512_unpacklo_pd(pq, rs)) + _mm512_castpd_ps(_mm512_unpackhi_pd(pq, rs));
    __m256 sums = _mm512_castps512_ps256(all) + _mm512_extractf32x8_ps(all, 1);
    _mm_storeu_ps(out, _mm256_castps256_ps128(sums) + _mm256_extractf128_ps(sums, 1));
#elif defined(__FMA__)
    __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(p, q), _mm256_hadd_ps(r, s));
    _mm_storeu_ps(out, _mm256_castps256_ps128(sums) + _mm256_extractf128_ps(sums, 1));
#else
    out[0] = sum_of(&p);
    out[1] = sum_of(&q);
    out[2] = sum_of(&r);
    out[3] = sum_of(&s);
#endif
}

/* c - a b, rounded once where the instruction set can. */
static inline wide_pack less_products(wide_pack a, wide_pack b, wide_pack c)
{
#if defined(__AVX512F__)
    return _mm512_fnmadd_ps(a, b, c);
#elif defined(__FMA__)
    return _mm256_fnmadd_ps(a, b, c);
#else
    return c - a * b;
#endif
}

/* Four pairs at once: what their rows are compared with is loaded once. Differences are the other way round, m - x, since
 * what is taken from memory for a subtraction is what is subtracted: the sum is that of -(m - x) (a - b (m - x)). */
static void mixture_slopes(const float *x, size_t d, const uint32_t *rows, size_t n, const float *m, const float *a,
                           const float *b, float level, float *out)
{
    for (size_t j = 0; j < n; j += 4) {
        const float *row[4] = {x + rows[j] * d, x + rows[j + 1] * d, x + rows[j + 2] * d, x + rows[j + 3] * d};
        wide_pack p = {-level}, q = p, r = p, s = p;
        size_t i = 0;
        for (; i + PACK_FLOATS <= d; i += PACK_FLOATS) {
            wide_pack mean = load_wide_pack(m + i), one = load_wide_pack(a + i), two = load_wide_pack(b + i);
            wide_pack y = mean - load_wide_pack(row[0] + i), z = mean - load_wide_pack(row[1] + i);
            wide_pack v = mean - load_wide_pack(row[2] + i), w = mean - load_wide_pack(row[3] + i);
            p = less_products(y, less_products(two, y, one), p);
            q = less_products(z, less_products(two, z, one), q);
            r = less_products(v, less_products(two, v, one), r);
            s = less_products(w, less_products(two, w, one), s);
        }
        sums_of_four(p, q, r, s, out + j);
        for (; i < d; ++i)
            for (size_t k = 0; k < 4; ++k)
                out[j + k] += (row[k][i] - m[i]) * (a[i] + b[i] * (row[k][i] - m[i]));
    }
}

/* Sums of one pack of columns over rows: of shares times differences, and of these times differences. */
static inline void add_share(wide_pack share, const float *x, wide_pack mean, wide_pack *first, wide_pack *second)
{
    wide_pack z = load_wide_pack(x) - mean, part = share * z;
    *first += part;
    *second = plus_product(part, z, *second);
}

static inline void add_to_pack(float *to, wide_pack v)
{
    store_wide_pack(load_wide_pack(to) + v, to);
}

/* Four packs of columns: their sums stay in registers while the rows pass. */
static inline void add_four_packs(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n,
                                  const float *m, float *first, float *second)
{
    enum { B = PACK_FLOATS, C = 2 * PACK_FLOATS, D = 3 * PACK_FLOATS };
    wide_pack ma = load_wide_pack(m), mb = load_wide_pack(m + B), mc = load_wide_pack(m + C);
    wide_pack md = load_wide_pack(m + D), fa = {0}, fb = fa, fc = fa, fd = fa, sa = fa, sb = fa, sc = fa, sd = fa;
    for (size_t j = 0; j < n; ++j) {
        const float *row = x + rows[j] * d;
        wide_pack share = all_of(q[j]);
        add_share(share, row, ma, &fa, &sa);
        add_share(share, row + B, mb, &fb, &sb);
        add_share(share, row + C, mc, &fc, &sc);
        add_share(share, row + D, md, &fd, &sd);
    }
    add_to_pack(first, fa);
    add_to_pack(first + B, fb);
    add_to_pack(first + C, fc);
    add_to_pack(first + D, fd);
    add_to_pack(second, sa);
    add_to_pack(second + B, sb);
    add_to_pack(second + C, sc);
    add_to_pack(second + D, sd);
}

static inline void add_two_packs(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n,
                                 const float *m, float *first, float *second)
{
    enum { B = PACK_FLOATS };
    wide_pack ma = load_wide_pack(m), mb = load_wide_pack(m + B), fa = {0}, fb = fa, sa = fa, sb = fa;
    for (size_t j = 0; j < n; ++j) {
        const float *row = x + rows[j] * d;
        wide_pack share = all_of(q[j]);
        add_share(share, row, ma, &fa, &sa);
        add_share(share, row + B, mb, &fb, &sb);
    }
    add_to_pack(first, fa);
    add_to_pack(first + B, fb);
    add_to_pack(second, sa);
    add_to_pack(second + B, sb);
}

static inline void add_one_pack(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n,
                                const float *m, float *first, float *second)
{
    wide_pack mean = load_wide_pack(m), f = {0}, s = f;
    for (size_t j = 0; j < n; ++j)
        add_share(all_of(q[j]), x + rows[j] * d, mean, &f, &s);
    add_to_pack(first, f);
    add_to_pack(second, s);
}

static void mixture_add(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n, const float *m,
                        float *first, float *second)
{
    size_t i = 0;
    for (; i + 4 * PACK_FLOATS <= d; i += 4 * PACK_FLOATS)
        add_four_packs(x + i, d, rows, q, n, m + i, first + i, second + i);
    for (; i + 2 * PACK_FLOATS <= d; i += 2 * PACK_FLOATS)
        add_two_packs(x + i, d, rows, q, n, m + i, first + i, second + i);
    for (; i + PACK_FLOATS <= d; i += PACK_FLOATS)
        add_one_pack(x + i, d, rows, q, n, m + i, first + i, second + i);
    for (size_t j = 0; j < n; ++j)
        for (size_t k = i; k < d; ++k) {
            float z = x[rows[j] * d + k] - m[k];
            first[k] += q[j] * z;
            second[k] += q[j] * z * z;
        }
}

/* What columns of rows are compared with: mean, inverse, a, 2 b. */
typedef struct pull_packs {
    wide_pack mean, inverse, one, two;
} pull_packs;

static inline pull_packs load_pull(const float *m, const float *inverse, const float *a, const float *b)
{
    return (pull_packs){load_wide_pack(m), load_wide_pack(inverse), load_wide_pack(a), all_of(2) * load_wide_pack(b)};
}

/* to += q (one + z (two - bend inverse)), z = x - mean taken the other way round as in mixture_slopes. */
static inline void pull_pack(const pull_packs *p, const float *x, wide_pack q, wide_pack bend, float *to)
{
    wide_pack z = p->mean - load_wide_pack(x), along = less_products(bend, p->inverse, p->two);
    store_wide_pack(plus_product(q, less_products(along, z, p->one), load_wide_pack(to)), to);
}

/* Two packs of columns: what the rows are compared with stays in registers while they pass. */
static void mixture_pull(const float *x, size_t d, const uint32_t *rows, const float *q, const float *slope,
                         const float *mean, size_t n, const float *m, const float *inverse, const float *a,
                         const float *b, float *out)
{
    enum { P = PACK_FLOATS };
    size_t i = 0;
    for (; i + 2 * P <= d; i += 2 * P) {
        pull_packs low = load_pull(m + i, inverse + i, a + i, b + i);
        pull_packs high = load_pull(m + i + P, inverse + i + P, a + i + P, b + i + P);
        for (size_t j = 0; j < n; ++j) {
            size_t at = rows[j] * d + i;
            wide_pack share = all_of(q[j]), bend = all_of(slope[j] - mean[rows[j]]);
            pull_pack(&low, x + at, share, bend, out + at);
            pull_pack(&high, x + at + P, share, bend, out + at + P);
        }
    }
    for (size_t j = 0; i < d && j < n; ++j)
        for (size_t k = i; k < d; ++k) {
            float z = x[rows[j] * d + k] - m[k], bend = slope[j] - mean[rows[j]];
            out[rows[j] * d + k] += q[j] * (a[k] + z * (2 * b[k] - bend * inverse[k]));
        }
}

/* ---- all components of a panel of rows ---- */

/* Columns [j, j + 4) of four rows. */
static inline void turn_four(const float *const row[4], size_t j, float *panel)
{
#if defined(__SSE__)
    __m128 a = _mm_loadu_ps(row[0] + j), b = _mm_loadu_ps(row[1] + j);
    __m128 c = _mm_loadu_ps(row[2] + j), d = _mm_loadu_ps(row[3] + j);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(panel, a);
    _mm_storeu_ps(panel + TNP_ABREAST, b);
    _mm_storeu_ps(panel + 2 * TNP_ABREAST, c);
    _mm_storeu_ps(panel + 3 * TNP_ABREAST, d);
#else
    for (size_t c = 0; c < 4; ++c)
        for (size_t r = 0; r < 4; ++r)
            panel[c * TNP_ABREAST + r] = row[r][j + c];
#endif
}

static void mixture_turn(const float *x, size_t n, size_t d, float *panel)
{
    for (size_t i = 0; i < TNP_ABREAST; i += 4) {
        const float *row[4];
        size_t j = 0;
        for (size_t r = 0; r < 4; ++r)
            row[r] = x + (i + r < n ? i + r : n - 1) * d;
        for (; j + 4 <= d; j += 4)
            turn_four(row, j, panel + j * TNP_ABREAST + i);
        for (; j < d; ++j)
            for (size_t r = 0; r < 4; ++r)
                panel[j * TNP_ABREAST + i + r] = row[r][j];
    }
}

/* What two packs of rows are compared with at once. */
typedef struct four_gaussians {
    const float *mean[4], *inverse[4];
} four_gaussians;

static inline wide_pack plus_far(wide_pack x, wide_pack mean, wide_pack inverse, wide_pack sum)
{
    wide_pack z = x - mean;
    return plus_product(z * z, inverse, sum);
}

/* Adds columns [begin, end) of two packs of rows to sums (4, two packs). */
static inline void add_columns(const float *panel, size_t begin, size_t end, const four_gaussians *g, float *sums)
{
    wide_pack a = {0}, b = a, c = a, d = a, e = a, f = a, h = a, i = a;
    for (size_t j = begin; j < end; ++j) {
        wide_pack x = load_wide_pack(panel + j * TNP_ABREAST),
                  y = load_wide_pack(panel + j * TNP_ABREAST + PACK_FLOATS);
        wide_pack mean = all_of(g->mean[0][j]), inverse = all_of(g->inverse[0][j]);
        a = plus_far(x, mean, inverse, a);
        b = plus_far(y, mean, inverse, b);
        mean = all_of(g->mean[1][j]);
        inverse = all_of(g->inverse[1][j]);
        c = plus_far(x, mean, inverse, c);
        d = plus_far(y, mean, inverse, d);
        mean = all_of(g->mean[2][j]);
        inverse = all_of(g->inverse[2][j]);
        e = plus_far(x, mean, inverse, e);
        f = plus_far(y, mean, inverse, f);
        mean = all_of(g->mean[3][j]);
        inverse = all_of(g->inverse[3][j]);
        h = plus_far(x, mean, inverse, h);
        i = plus_far(y, mean, inverse, i);
    }
    add_to_pack(sums, a);
    add_to_pack(sums + PACK_FLOATS, b);
    add_to_pack(sums + 2 * PACK_FLOATS, c);
    add_to_pack(sums + 3 * PACK_FLOATS, d);
    add_to_pack(sums + 4 * PACK_FLOATS, e);
    add_to_pack(sums + 5 * PACK_FLOATS, f);
    add_to_pack(sums + 6 * PACK_FLOATS, h);
    add_to_pack(sums + 7 * PACK_FLOATS, i);
}

/* The higher of each lane; b where a is NaN. */
static inline wide_pack higher_of(wide_pack a, wide_pack b)
{
#if defined(__FMA__)
    return larger(a, b);
#else
    wide_mask over = a > b;
    return (wide_pack)((over & (wide_mask)a) | (~over & (wide_mask)b));
#endif
}

/* Sums of COLUMNS terms are added up: rounding grows with COLUMNS + d / COLUMNS, not with d. Four components at once, the
 * last of them again where there are not as many. */
static void mixture_densities(const float *panel, size_t d, size_t count, const float *means, const float *inverse,
                              const float *whole, size_t apart, float *logs, float *most)
{
    enum { COLUMNS = 16, PAIR = 2 * PACK_FLOATS };
    for (size_t k = 0; k < count; k += 4)
        for (size_t i = 0; i < TNP_ABREAST; i += PAIR) {
            four_gaussians g;
            float sums[4 * PAIR] = {0};
            for (size_t c = 0; c < 4; ++c) {
                size_t at = k + c < count ? k + c : count - 1;
                g.mean[c] = means + at * d;
                g.inverse[c] = inverse + at * d;
            }
            for (size_t j = 0; j < d; j += COLUMNS)
                add_columns(panel + i, j, d - j < COLUMNS ? d : j + COLUMNS, &g, sums);
            for (size_t c = 0; c < 4 && k + c < count; ++c)
                for (size_t r = 0; r < PAIR; r += PACK_FLOATS) {
                    wide_pack l = all_of(whole[k + c]) - all_of(0.5F) * load_wide_pack(sums + c * PAIR + r);
                    store_wide_pack(l, logs + (k + c) * apart + i + r);
                    store_wide_pack(higher_of(l, load_wide_pack(most + i + r)), most + i + r);
                }
        }
}

static inline wide_pack exp_pack(wide_pack x)
{
#if defined(__FMA__)
    return exp_below(x);
#else
    for (size_t l = 0; l < PACK_FLOATS; ++l)
        x[l] = expf(x[l]);
    return x;
#endif
}

enum { PANEL_PACKS = TNP_ABREAST / PACK_FLOATS };

static void mixture_weigh(float *x, size_t n, const float *most, float reach, uint32_t *near, float *sum)
{
    const wide_pack least = all_of(-reach);
    for (size_t i = 0; i < n; i += TNP_ABREAST, x += TNP_ABREAST, most += TNP_ABREAST, sum += TNP_ABREAST) {
        uint32_t told = 0;
        for (size_t p = 0; p < PANEL_PACKS; ++p) {
            wide_pack far = load_wide_pack(x + p * PACK_FLOATS) - load_wide_pack(most + p * PACK_FLOATS);
            uint32_t bits = lanes_at_least(far, least);
            if (bits == 0)
                continue;
            wide_pack e = (wide_pack)((wide_mask)exp_pack(far) & (far >= least));
            store_wide_pack(e, x + p * PACK_FLOATS);
            add_to_pack(sum + p * PACK_FLOATS, e);
            told |= bits << p * PACK_FLOATS;
        }
        near[i / TNP_ABREAST] = n - i < TNP_ABREAST ? told & ((1U << (n - i)) - 1) : told;
    }
}

/* Lanes of v whose bit is set, one after the other, and their places; returns how many. */
static inline size_t keep_lanes(wide_pack v, unsigned bits, size_t base, uint32_t *which, float *out)
{
#if defined(__AVX512F__) /* compressing into memory is slow on some processors */
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i places = _mm512_add_epi32(_mm512_set1_epi32((int)base), lanes);
    _mm512_storeu_si512(which, _mm512_maskz_compress_epi32((__mmask16)bits, places));
    _mm512_storeu_ps(out, _mm512_maskz_compress_ps((__mmask16)bits, v));
    return (size_t)__builtin_popcount(bits);
#else
    float lanes[PACK_FLOATS];
    size_t found = 0;
    store_wide_pack(v, lanes);
    for (; bits != 0; bits &= bits - 1) {
        unsigned lane = (unsigned)__builtin_ctz(bits);
        which[found] = (uint32_t)base + lane;
        out[found++] = lanes[lane];
    }
    return found;
#endif
}

static size_t mixture_share(const float *x, size_t n, const float *factor, const uint32_t *near, size_t base,
                            uint32_t *which, float *out, float *total)
{
    wide_pack sum = {0};
    size_t found = 0;
    for (size_t i = 0; i < n; i += TNP_ABREAST)
        for (size_t p = 0; near[i / TNP_ABREAST] != 0 && p < PANEL_PACKS; ++p) {
            size_t at = i + p * PACK_FLOATS;
            unsigned bits = near[i / TNP_ABREAST] >> p * PACK_FLOATS & ((1U << PACK_FLOATS) - 1);
            if (bits == 0)
                continue;
            wide_pack v = load_wide_pack(x + at) * load_wide_pack(factor + at);
            sum += v;
            found += keep_lanes(v, bits, base + at, which + found, out + found);
        }
    *total += sum_of(&sum);
    return found;
}

/* Pairs of a component that has a share of more than one row in FEW are met a pack of rows at a time where lanes can be
 * moved by bits: without an index, which costs as much as a pair of 16 columns. */
enum { FEW = 4 };
#if defined(__AVX512F__)
static inline unsigned bits_of_pack(const uint32_t *near, size_t i)
{
    return near[i / TNP_ABREAST] >> i % TNP_ABREAST & ((1U << PACK_FLOATS) - 1);
}

static void spread_packs(const float *q, const float *slope, const uint32_t *near, size_t n, float *mean)
{
    for (size_t i = 0; i < n; i += PACK_FLOATS) {
        unsigned bits = bits_of_pack(near, i);
        add_to_pack(mean + i, _mm512_maskz_expand_ps((__mmask16)bits, load_wide_pack(q) * load_wide_pack(slope)));
        q += __builtin_popcount(bits);
        slope += __builtin_popcount(bits);
    }
}

static void bend_packs(const float *q, const float *slope, const uint32_t *near, size_t n, const float *mean,
                       float *out, float *total)
{
    wide_pack sum = {0};
    for (size_t i = 0; i < n; i += PACK_FLOATS) {
        unsigned bits = bits_of_pack(near, i), found = (unsigned)__builtin_popcount(bits);
        wide_pack off = load_wide_pack(slope) - _mm512_maskz_compress_ps((__mmask16)bits, load_wide_pack(mean + i));
        wide_pack v = _mm512_maskz_mul_ps((__mmask16)((1U << found) - 1), load_wide_pack(q), off);
        store_wide_pack(v, out);
        sum += v;
        q += found;
        slope += found;
        out += found;
    }
    *total += sum_of(&sum);
}
#endif

static void mixture_spread(const float *q, const float *slope, const uint32_t *places, size_t count,
                           const uint32_t *near, size_t n, float *mean)
{
#if defined(__AVX512F__)
    if (count * FEW > n) {
        spread_packs(q, slope, near, n, mean);
        return;
    }
#endif
    (void)near;
    (void)n;
    for (size_t j = 0; j < count; ++j)
        mean[places[j]] += q[j] * slope[j];
}

static void mixture_bend(const float *q, const float *slope, const uint32_t *places, size_t count, const uint32_t *near,
                         size_t n, const float *mean, float *out, float *total)
{
#if defined(__AVX512F__)
    if (count * FEW > n) {
        bend_packs(q, slope, near, n, mean, out, total);
        return;
    }
#endif
    (void)near;
    (void)n;
    float sum[4] = {0}; /* which do not wait for each other */
    size_t j = 0;
    for (; j + 4 <= count; j += 4)
        for (size_t l = 0; l < 4; ++l)
            sum[l] += out[j + l] = q[j + l] * (slope[j + l] - mean[places[j + l]]);
    for (; j < count; ++j)
        sum[0] += out[j] = q[j] * (slope[j] - mean[places[j]]);
    *total += (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static const tnp_mixture_loops mixture_loops = {mixture_highest, mixture_turn,   mixture_densities, mixture_weigh,
                                                mixture_share,   mixture_slopes, mixture_spread,    mixture_bend,
                                                mixture_add,     mixture_pull};

#endif
