/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops around mixtures and vocabularies, in vectors of the compiler: each file of kernels includes them and so compiles
 * them for its own instruction set. */
#ifndef TNP_SIMD_MIXTURE_H
#define TNP_SIMD_MIXTURE_H

#include "simd/simd_patches.h"

#include <float.h>

/* Bit l: lane l of v is at least that of level. Lanes beyond n, of the last pack, are never. */
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

static inline wide_pack all_of(float x)
{
    wide_pack none = {0};
    return none + x;
}

/* The highest of x + level. */
static float highest_value(const float *x, const float *level, size_t n)
{
    wide_pack best = all_of(-HUGE_VALF);
    for (size_t i = 0; i < n; i += PACK_FLOATS) {
        wide_pack v = level_pack(x, level, i, n);
        wide_mask over = v > best;
        best = (wide_pack)((over & (wide_mask)v) | (~over & (wide_mask)best));
    }
#if defined(__FMA__)
    return largest_lane(best);
#else
    return fmaxf(fmaxf(best[0], best[1]), fmaxf(best[2], best[3]));
#endif
}

static size_t mixture_near(const float *x, const float *level, size_t n, float below, uint32_t *which, float *most)
{
    *most = highest_value(x, level, n);
    wide_pack least = all_of(*most - below);
    size_t found = 0;
    for (size_t i = 0; i < n; i += PACK_FLOATS)
        for (unsigned bits = lanes_at_least(level_pack(x, level, i, n), least); bits != 0; bits &= bits - 1)
            which[found++] = (uint32_t)(i + (size_t)__builtin_ctz(bits));
    return found;
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
#if defined(__FMA__)
#if defined(__AVX512F__)
#define HALF(x) _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1))
#else
#define HALF(x) (x)
#endif
    __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(HALF(p), HALF(q)), _mm256_hadd_ps(HALF(r), HALF(s)));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1)));
#undef HALF
#else
    out[0] = sum_of(&p);
    out[1] = sum_of(&q);
    out[2] = sum_of(&r);
    out[3] = sum_of(&s);
#endif
}

/* Four rows at once: what they are compared with is loaded once. */
static void mixture_distances(const float *x, size_t d, const uint32_t *rows, size_t n, const float *m,
                              const float *inverse, float *out)
{
    size_t whole = d - d % PACK_FLOATS;
    for (size_t j = 0; j < n; j += 4) {
        const float *row[4];
        wide_pack p = {0}, q = p, r = p, s = p;
        for (size_t k = 0; k < 4; ++k)
            row[k] = x + rows[j + k < n ? j + k : n - 1] * d;
        for (size_t i = 0; i < whole; i += PACK_FLOATS) {
            wide_pack mean = load_wide_pack(m + i), scale = load_wide_pack(inverse + i);
            wide_pack a = load_wide_pack(row[0] + i) - mean, b = load_wide_pack(row[1] + i) - mean;
            wide_pack c = load_wide_pack(row[2] + i) - mean, e = load_wide_pack(row[3] + i) - mean;
            p = plus_product(a * a, scale, p);
            q = plus_product(b * b, scale, q);
            r = plus_product(c * c, scale, r);
            s = plus_product(e * e, scale, s);
        }
        float sums[4];
        sums_of_four(p, q, r, s, sums);
        for (size_t i = whole; i < d; ++i)
            for (size_t k = 0; k < 4; ++k)
                sums[k] += (row[k][i] - m[i]) * (row[k][i] - m[i]) * inverse[i];
        memcpy(out + j, sums, (n - j < 4 ? n - j : 4) * sizeof *sums);
    }
}

/* As distances. */
static void mixture_slopes(const float *x, size_t d, const uint32_t *rows, size_t n, const float *m, const float *a,
                           const float *b, float *out)
{
    size_t whole = d - d % PACK_FLOATS;
    for (size_t j = 0; j < n; j += 4) {
        const float *row[4];
        wide_pack p = {0}, q = p, r = p, s = p;
        for (size_t k = 0; k < 4; ++k)
            row[k] = x + rows[j + k < n ? j + k : n - 1] * d;
        for (size_t i = 0; i < whole; i += PACK_FLOATS) {
            wide_pack mean = load_wide_pack(m + i), one = load_wide_pack(a + i), two = load_wide_pack(b + i);
            wide_pack y = load_wide_pack(row[0] + i) - mean, z = load_wide_pack(row[1] + i) - mean;
            wide_pack v = load_wide_pack(row[2] + i) - mean, w = load_wide_pack(row[3] + i) - mean;
            p = plus_product(y, plus_product(two, y, one), p);
            q = plus_product(z, plus_product(two, z, one), q);
            r = plus_product(v, plus_product(two, v, one), r);
            s = plus_product(w, plus_product(two, w, one), s);
        }
        float sums[4];
        sums_of_four(p, q, r, s, sums);
        for (size_t i = whole; i < d; ++i)
            for (size_t k = 0; k < 4; ++k)
                sums[k] += (row[k][i] - m[i]) * (a[i] + b[i] * (row[k][i] - m[i]));
        memcpy(out + j, sums, (n - j < 4 ? n - j : 4) * sizeof *sums);
    }
}

/* z is loaded and its mean taken away once for both. */
static void mixture_both(const float *x, size_t d, size_t n, const float *m, const float *inverse, const float *a,
                         const float *b, float *distance, float *slope)
{
    size_t whole = d - d % PACK_FLOATS;
    for (size_t j = 0; j < n; j += 4) {
        const float *row[4];
        wide_pack p = {0}, q = p, r = p, s = p, e = p, f = p, g = p, h = p;
        for (size_t k = 0; k < 4; ++k)
            row[k] = x + (j + k < n ? j + k : n - 1) * d;
        for (size_t i = 0; i < whole; i += PACK_FLOATS) {
            wide_pack mean = load_wide_pack(m + i), scale = load_wide_pack(inverse + i);
            wide_pack one = load_wide_pack(a + i), two = load_wide_pack(b + i);
            wide_pack y = load_wide_pack(row[0] + i) - mean, z = load_wide_pack(row[1] + i) - mean;
            wide_pack v = load_wide_pack(row[2] + i) - mean, w = load_wide_pack(row[3] + i) - mean;
            p = plus_product(y * y, scale, p);
            q = plus_product(z * z, scale, q);
            r = plus_product(v * v, scale, r);
            s = plus_product(w * w, scale, s);
            e = plus_product(y, plus_product(two, y, one), e);
            f = plus_product(z, plus_product(two, z, one), f);
            g = plus_product(v, plus_product(two, v, one), g);
            h = plus_product(w, plus_product(two, w, one), h);
        }
        float sums[8];
        sums_of_four(p, q, r, s, sums);
        sums_of_four(e, f, g, h, sums + 4);
        for (size_t i = whole; i < d; ++i)
            for (size_t k = 0; k < 4; ++k) {
                float z = row[k][i] - m[i];
                sums[k] += z * z * inverse[i];
                sums[4 + k] += z * (a[i] + b[i] * z);
            }
        memcpy(distance + j, sums, (n - j < 4 ? n - j : 4) * sizeof *sums);
        memcpy(slope + j, sums + 4, (n - j < 4 ? n - j : 4) * sizeof *sums);
    }
}

/* Four packs of columns: their sums stay in registers while the rows pass. */
static inline void add_panel(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n, const float *m,
                             float *first, float *second)
{
    wide_pack ma = load_wide_pack(m), mb = load_wide_pack(m + PACK_FLOATS);
    wide_pack mc = load_wide_pack(m + 2 * PACK_FLOATS), md = load_wide_pack(m + 3 * PACK_FLOATS);
    wide_pack fa = {0}, fb = fa, fc = fa, fd = fa, sa = fa, sb = fa, sc = fa, sd = fa;
    for (size_t j = 0; j < n; ++j) {
        const float *row = x + rows[j] * d;
        wide_pack share = all_of(q[j]), a = load_wide_pack(row) - ma, b = load_wide_pack(row + PACK_FLOATS) - mb;
        wide_pack c = load_wide_pack(row + 2 * PACK_FLOATS) - mc, e = load_wide_pack(row + 3 * PACK_FLOATS) - md;
        fa = plus_product(share, a, fa);
        fb = plus_product(share, b, fb);
        fc = plus_product(share, c, fc);
        fd = plus_product(share, e, fd);
        sa = plus_product(share * a, a, sa);
        sb = plus_product(share * b, b, sb);
        sc = plus_product(share * c, c, sc);
        sd = plus_product(share * e, e, sd);
    }
    store_wide_pack(load_wide_pack(first) + fa, first);
    store_wide_pack(load_wide_pack(first + PACK_FLOATS) + fb, first + PACK_FLOATS);
    store_wide_pack(load_wide_pack(first + 2 * PACK_FLOATS) + fc, first + 2 * PACK_FLOATS);
    store_wide_pack(load_wide_pack(first + 3 * PACK_FLOATS) + fd, first + 3 * PACK_FLOATS);
    store_wide_pack(load_wide_pack(second) + sa, second);
    store_wide_pack(load_wide_pack(second + PACK_FLOATS) + sb, second + PACK_FLOATS);
    store_wide_pack(load_wide_pack(second + 2 * PACK_FLOATS) + sc, second + 2 * PACK_FLOATS);
    store_wide_pack(load_wide_pack(second + 3 * PACK_FLOATS) + sd, second + 3 * PACK_FLOATS);
}

static void mixture_add(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n, const float *m,
                        float *first, float *second)
{
    enum { PANEL = 4 * PACK_FLOATS };
    size_t i = 0;
    for (; i + PANEL <= d; i += PANEL)
        add_panel(x + i, d, rows, q, n, m + i, first + i, second + i);
    for (size_t j = 0; j < n; ++j)
        for (size_t k = i; k < d; ++k) {
            float z = x[rows[j] * d + k] - m[k];
            first[k] += q[j] * z;
            second[k] += q[j] * z * z;
        }
}

/* sum + q (one + two z) - s z scale, two being 2 b already. */
static inline wide_pack pulled(wide_pack sum, wide_pack z, wide_pack q, wide_pack s, wide_pack scale, wide_pack one,
                               wide_pack two)
{
    return plus_product(s * scale, z, plus_product(q, plus_product(two, z, one), sum));
}

/* Two packs of columns: what the rows are compared with stays in registers while they pass. */
static void mixture_pull(const float *x, size_t d, const uint32_t *rows, const float *q, const float *s, size_t n,
                         const float *m, const float *inverse, const float *a, const float *b, float *out)
{
    enum { P = PACK_FLOATS };
    size_t i = 0;
    for (; i + 2 * P <= d; i += 2 * P) {
        wide_pack m0 = load_wide_pack(m + i), m1 = load_wide_pack(m + i + P);
        wide_pack v0 = load_wide_pack(inverse + i), v1 = load_wide_pack(inverse + i + P);
        wide_pack a0 = load_wide_pack(a + i), a1 = load_wide_pack(a + i + P);
        wide_pack b0 = all_of(2) * load_wide_pack(b + i), b1 = all_of(2) * load_wide_pack(b + i + P);
        for (size_t j = 0; j < n; ++j) {
            const float *row = x + rows[j] * d + i;
            float *to = out + rows[j] * d + i;
            wide_pack share = all_of(q[j]), slope = all_of(-s[j]);
            store_wide_pack(pulled(load_wide_pack(to), load_wide_pack(row) - m0, share, slope, v0, a0, b0), to);
            store_wide_pack(pulled(load_wide_pack(to + P), load_wide_pack(row + P) - m1, share, slope, v1, a1, b1),
                            to + P);
        }
    }
    for (size_t j = 0; j < n; ++j)
        for (size_t k = i; k < d; ++k) {
            float z = x[rows[j] * d + k] - m[k];
            out[rows[j] * d + k] += q[j] * (a[k] + 2 * b[k] * z) - s[j] * z * inverse[k];
        }
}

static void mixture_powers(const float *x, const float *shift, size_t n, float *out)
{
    size_t i = 0;
    for (; i + PACK_FLOATS <= n; i += PACK_FLOATS) {
        wide_pack y = load_wide_pack(x + i) - load_wide_pack(shift + i);
        store_wide_pack(y, out + i);
        store_wide_pack(y * y, out + n + i);
    }
    for (; i < n; ++i) {
        float y = x[i] - shift[i];
        out[i] = y;
        out[n + i] = y * y;
    }
}

static void mixture_exp(float *x, size_t n)
{
#if defined(__FMA__)
    for (size_t i = 0; i < n; i += REG)
        store_some(x + i, n - i, exp_below(load_some(x + i, n - i)));
#else
    for (size_t i = 0; i < n; ++i)
        x[i] = expf(fmaxf(x[i], -87));
#endif
}

static inline wide_pack higher_of(wide_pack a, wide_pack b)
{
    wide_mask over = a > b;
    return (wide_pack)((over & (wide_mask)a) | (~over & (wide_mask)b));
}

static void mixture_level(float *x, size_t n, float whole, float *most)
{
    size_t i = 0;
    for (; i + PACK_FLOATS <= n; i += PACK_FLOATS) {
        wide_pack v = all_of(whole) - all_of(0.5F) * load_wide_pack(x + i);
        store_wide_pack(v, x + i);
        store_wide_pack(higher_of(v, load_wide_pack(most + i)), most + i);
    }
    for (; i < n; ++i) {
        x[i] = whole - 0.5F * x[i];
        most[i] = x[i] > most[i] ? x[i] : most[i];
    }
}

static void mixture_weigh(float *x, size_t n, const float *most, float least, float *sum)
{
    size_t i = 0;
    for (size_t k = 0; k < n; ++k)
        x[k] -= most[k];
    mixture_exp(x, n);
    for (; i + PACK_FLOATS <= n; i += PACK_FLOATS) {
        wide_pack v = load_wide_pack(x + i);
        v = (wide_pack)((wide_mask)v & (v >= all_of(least)));
        store_wide_pack(v, x + i);
        store_wide_pack(v + load_wide_pack(sum + i), sum + i);
    }
    for (; i < n; ++i) {
        x[i] = x[i] >= least ? x[i] : 0;
        sum[i] += x[i];
    }
}

static size_t mixture_select(const float *x, size_t n, size_t base, uint32_t *which, float *out)
{
    const wide_pack least = all_of(FLT_MIN);
    size_t found = 0, i = 0;
    for (; i + PACK_FLOATS <= n; i += PACK_FLOATS)
        for (unsigned bits = lanes_at_least(load_wide_pack(x + i), least); bits != 0; bits &= bits - 1) {
            size_t at = i + (size_t)__builtin_ctz(bits);
            which[found] = (uint32_t)(base + at);
            out[found++] = x[at];
        }
    for (; i < n; ++i)
        if (x[i] >= FLT_MIN) {
            which[found] = (uint32_t)(base + i);
            out[found++] = x[i];
        }
    return found;
}

static const tnp_mixture_loops mixture_loops = {mixture_near, mixture_highest, mixture_distances, mixture_slopes,
                                                mixture_both, mixture_add,     mixture_pull,      mixture_powers,
                                                mixture_exp,  mixture_level,   mixture_weigh,     mixture_select};

#endif
