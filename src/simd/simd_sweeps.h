/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TNP_LANES steps of algebra/values.c in turn, each a lane two rows behind the one before: what a lane makes of a row is
 * what the next one takes, a row later. A step alone waits for a division per row; here eight wait for it together.
 *
 *   time t: lane q at row n-2 - (t - 2q), its first at t = 2q; row -1 of a lane, with d = x and nothing beside it, gives
 *   its last values:  d_0 = g + x,  b_0 = s p
 *
 * Rows may part between two steps of a wave, and the next one meets a b of zero: a b or p below WAVE_NOTHING, whose
 * root is a rounding of anything (algebra/values.c splits there long before), counts as that, so that nothing is
 * divided by zero. */
#ifndef TNP_SIMD_SWEEPS_H
#define TNP_SIMD_SWEEPS_H

#include "simd/simd_band.h"

#define WAVE_NOTHING 1e-295
enum { WAVE_FIRST = 2 * TNP_LANES - 1 }; /* first time at which all lanes are on their way */

typedef struct wave {
    double c[TNP_LANES], s[TNP_LANES], g[TNP_LANES], p[TNP_LANES];
    double d[TNP_LANES], b[TNP_LANES]; /* of the rows to be taken next */
} wave;

/* Lanes one place up, `first` in the lowest. */
#if PACK_BYTES == 64
#define PACK_UP(before, x) __builtin_shufflevector(before, x, 7, 8, 9, 10, 11, 12, 13, 14)
#elif PACK_BYTES == 32
#define PACK_UP(before, x) __builtin_shufflevector(before, x, 3, 4, 5, 6)
#else
#define PACK_UP(before, x) __builtin_shufflevector(before, x, 1, 2)
#endif
static inline void move_up(double first, pack *x)
{
    pack before = ALL_LANES(first);
    UNROLLED for (size_t q = 0; q < PACKS; ++q)
    {
        pack moved = PACK_UP(before, x[q]);
        before = x[q];
        x[q] = moved;
    }
}

/* Rows of all lanes at times [from, to). What lanes make that have not begun, or have ended, is of no use to anybody. */
static void wave_rows(wave *w, size_t n, size_t from, size_t to, const double *shifts, double *diag, double *beside)
{
    pack c[PACKS], s[PACKS], g[PACKS], p[PACKS], d[PACKS], b[PACKS], x[PACKS];
    UNROLLED for (size_t q = 0; q < PACKS; ++q)
    {
        load_pack(w->c + q * PACK, &c[q]);
        load_pack(w->s + q * PACK, &s[q]);
        load_pack(w->g + q * PACK, &g[q]);
        load_pack(w->p + q * PACK, &p[q]);
        load_pack(w->d + q * PACK, &d[q]);
        load_pack(w->b + q * PACK, &b[q]);
        load_pack(shifts + q * PACK, &x[q]);
    }
    for (size_t t = from; t < to; ++t) {
        UNROLLED for (size_t q = 0; q < PACKS; ++q)
        {
            pack nothing = ALL_LANES(WAVE_NOTHING);
            pack_mask some = b[q] > nothing, none = p[q] < nothing;
            b[q] = (pack)(((pack_mask)b[q] & some) | ((pack_mask)nothing & ~some));
            pack r = p[q] + b[q], inverse = 1 / r, of_p = 1 / p[q];
            pack h = LESS_FUSED(b[q], g[q], p[q] * (d[q] - x[q])), next = h * inverse;
            pack along = next * (h * of_p), without = c[q] * b[q];
            d[q] = g[q] + (d[q] - next);
            c[q] = p[q] * inverse;
            p[q] = (pack)(((pack_mask)without & none) | ((pack_mask)along & ~none));
            pack before = s[q];
            s[q] = b[q] * inverse;
            b[q] = before * r;
            g[q] = next;
        }
        if (t >= WAVE_FIRST - 1) {
            diag[n - 1 + WAVE_FIRST - 1 - t] = d[PACKS - 1][PACK - 1];
            beside[n - 1 + WAVE_FIRST - 1 - t] = b[PACKS - 1][PACK - 1];
        }
        size_t row = t + 3 <= n ? n - 3 - t : 0;
        move_up(diag[row], d);
        move_up(beside[row], b);
    }
    UNROLLED for (size_t q = 0; q < PACKS; ++q)
    {
        store_pack(&c[q], w->c + q * PACK);
        store_pack(&s[q], w->s + q * PACK);
        store_pack(&g[q], w->g + q * PACK);
        store_pack(&p[q], w->p + q * PACK);
        store_pack(&d[q], w->d + q * PACK);
        store_pack(&b[q], w->b + q * PACK);
    }
}

/* Lane q before its first row, from the last of diag. */
static void wave_begin(wave *w, size_t q, double last, const double *shifts)
{
    w->c[q] = 1;
    w->s[q] = 0;
    w->g[q] = last - shifts[q];
    w->p[q] = w->g[q] * w->g[q];
}

static void sweeps(size_t n, const double *shifts, double *diag, double *beside)
{
    wave w = {.d = {diag[n - 2]}, .b = {beside[n - 2]}};
    size_t end = n + WAVE_FIRST - 1;
    wave_begin(&w, 0, diag[n - 1], shifts);
    for (size_t t = 0; t < end;) {
        bool all = t >= WAVE_FIRST && t + 1 < n;
        size_t to = all ? n - 1 : t + 1, starts = t % 2 && t < WAVE_FIRST ? (t + 1) / 2 : 0;
        size_t ends = t + 1 >= n && (t + 1 - n) % 2 == 0 ? (t + 1 - n) / 2 : TNP_LANES;
        double last = w.d[starts];
        if (ends < TNP_LANES) {
            w.d[ends] = shifts[ends];
            w.b[ends] = 0;
        }
        wave_rows(&w, n, t, to, shifts, diag, beside);
        if (starts > 0)
            wave_begin(&w, starts, last, shifts);
        t = to;
    }
}

static const tnp_band_loops band_loops = {
    .block_add = block_add,
    .reflect = reflect,
    .reflect_four = reflect_four,
    .chase_diagonal = chase_diagonal,
    .chase_below = chase_below,
    .reflection = band_reflection,
    .sweeps = sweeps,
};

#endif
