/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Eigenvalues of a tridiagonal T by QL steps on its diagonal d and the squares b of what is beside it, without square
 * roots (Pal, Walker and Kahan; Parlett, The Symmetric Eigenvalue Problem, 8.15). One step with shift x on rows [l, m]:
 *
 *   c = 1, s = 0, g = d_m - x, p = g^2     then for i = m-1 .. l, with d = d_i and r = p + b_i:
 *   b_(i+1) = s r     c = p / r     s = b_i / r     g' = c (d - x) - s g     d_(i+1) = g + d - g'     p = g'^2 / c
 *
 * One number waits for the one before it: what counts is how long that takes. With h = p (d - x) - b_i g, made while
 * 1/r is, g' = h / r and p = g' h / p: a division and three products from p to p, where the formula as it stands has
 * five. Blocks of LONG rows take TNP_LANES steps that wait for it together (simd/simd_sweeps.h), with the eigenvalues
 * of their first TNP_LANES rows for shifts: these rows part from the others all at once, after half as many steps again
 * as one by one. LAPACK's dsterf was refused: five times as long, and from 8192 columns on a second in which nobody
 * hears an interrupt.
 *
 * A block is turned so that its small end comes first, where QL finds eigenvalues, each to its own last digits where T is
 * graded. Oracle: LAPACK's of the dense matrix, tests/unit/test_band.c. */
#include "algebra/band.h"
#include "base/ctx.h"
#include "simd/simd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_EACH = 30, LONG = 64 };
enum { PATIENCE = 6 }; /* times that a block takes steps together without a split; then one by one, which always ends */

typedef struct tridiagonal {
    double *d, *b; /* (n): diagonal; squares of the entries beside it, b[n-1] unused */
    size_t steps;  /* that may still be taken */
} tridiagonal;

/* What is beside the diagonal is a rounding of it, or its square is near the end of numbers: 1e-145 of the largest
 * entry. */
static bool is_split(const tridiagonal *t, size_t i)
{
    return t->b[i] <= DBL_EPSILON * DBL_EPSILON / 4 * fabs(t->d[i] * t->d[i + 1]) || t->b[i] <= 1e-290;
}

/* Ends of values turned around. */
static void turn(double *x, size_t n)
{
    for (size_t i = 0; i < n / 2; ++i) {
        double at = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = at;
    }
}

/* Both eigenvalues of rows l and l + 1: the one further from 0 by the formula, the other from the determinant, which
 * loses no digits. */
static void solve_pair(tridiagonal *t, size_t l)
{
    double one = t->d[l], other = t->d[l + 1], b = t->b[l], sum = one + other, half = (one - other) / 2;
    double root = sqrt(half * half + b), far = sum / 2 + (sum < 0 ? -root : root);
    bool first = fabs(one) > fabs(other);
    double large = first ? one : other, small = first ? other : one;
    t->d[l] = sum == 0 ? -root : large / far * small - b / far;
    t->d[l + 1] = far;
    t->b[l] = 0;
}

/* Wilkinson's shift at the end l. */
static double shift_at(const tridiagonal *t, size_t l)
{
    double beside = sqrt(t->b[l]), half = (t->d[l + 1] - t->d[l]) / (2 * beside), root = sqrt(half * half + 1);
    return t->d[l] - beside / (half + (half < 0 ? -root : root));
}

static void step(tridiagonal *t, size_t l, size_t m)
{
    double x = shift_at(t, l), c = 1, s = 0, g = t->d[m] - x, p = g * g;
    for (size_t i = m; i-- > l;) {
        double b = t->b[i], d = t->d[i], r = p + b, inverse = 1 / r, of_p = 1 / p, h = p * (d - x) - b * g;
        double next = h * inverse, along = next * (h * of_p), without = c * b;
        t->b[i + 1] = i + 1 < m ? s * r : t->b[i + 1];
        t->d[i + 1] = g + (d - next);
        c = p * inverse;
        s = b * inverse;
        p = p == 0 ? without : along;
        g = next;
    }
    t->b[l] = s * p;
    t->d[l] = x + g;
}

static tn_status solve_block(tn_ctx *ctx, tridiagonal *t, size_t l, size_t end);

/* TNP_LANES steps on rows [l, m]. */
static tn_status steps_together(tn_ctx *ctx, tridiagonal *t, size_t l, size_t m)
{
    double shifts[TNP_LANES], beside[TNP_LANES];
    tridiagonal first = {shifts, beside, STEPS_EACH * TNP_LANES};
    memcpy(shifts, t->d + l, sizeof shifts);
    memcpy(beside, t->b + l, sizeof beside);
    tn_status st = solve_block(ctx, &first, 0, TNP_LANES - 1);
    if (st == TN_OK)
        tnp_simd_get()->bands->sweeps(m - l + 1, shifts, t->d + l, t->b + l);
    return st;
}

/* Eigenvalues of rows [l, end], among which b is not split, in the place of d. */
static tn_status solve_block(tn_ctx *ctx, tridiagonal *t, size_t l, size_t end)
{
    tn_status st = TN_OK;
    size_t waited = 0;
    if (fabs(t->d[end]) < fabs(t->d[l])) {
        turn(t->d + l, end - l + 1);
        turn(t->b + l, end - l);
    }
    while (l < end) {
        size_t m = l;
        while (m < end && !is_split(t, m))
            ++m;
        if (m < end)
            t->b[m] = 0;
        if (m <= l + 1) {
            if (m == l + 1)
                solve_pair(t, l);
            l = m + 1;
            waited = 0;
            TN_TRY(tnp_cancelled(ctx));
            continue;
        }
        if (t->steps-- == 0)
            TN_TRY(tnp_fail(ctx, TN_ERR_NUMERIC, "eigenvalues: %zu of a block do not settle", end - l + 1));
        if (m - l < LONG || ++waited % PATIENCE == 0)
            step(t, l, m);
        else
            TN_TRY(steps_together(ctx, t, l, m));
    }
done:
    return st;
}

/* A power of two that brings the largest entry to about 1, so that squares neither overflow nor vanish; 0: entries are
 * not finite. */
static double scale_of(size_t n, const double *diag, const double *off)
{
    double largest = 0, sum = 0;
    int power = 0;
    for (size_t i = 0; i < n; ++i) {
        double beside = i + 1 < n ? off[i] : 0;
        largest = fmax(largest, fmax(fabs(diag[i]), fabs(beside)));
        sum += diag[i] * 0 + beside * 0;
    }
    (void)frexp(largest, &power);
    return sum == 0 && isfinite(largest) ? ldexp(1, -power) : 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

tn_status tnp_tridiagonal_values(tn_ctx *ctx, size_t n, const double *diag, const double *off, double *values)
{
    tn_status st = TN_OK;
    double scale = scale_of(n, diag, off);
    tridiagonal t = {values, NULL, STEPS_EACH * n};
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(n, 1), sizeof *t.b, &t.b));
    if (!(scale > 0))
        TN_TRY(tnp_fail(ctx, TN_ERR_NUMERIC, "eigenvalues: the tridiagonal form is not finite"));
    for (size_t i = 0; i < n; ++i) {
        values[i] = diag[i] * scale;
        t.b[i] = i + 1 < n ? off[i] * scale * (off[i] * scale) : 0;
    }
    for (size_t l = 0, end = 0; l < n; l = end + 1) {
        for (end = l; end + 1 < n && !is_split(&t, end);)
            ++end;
        TN_TRY(solve_block(ctx, &t, l, end));
    }
    for (size_t i = 0; i < n; ++i)
        values[i] /= scale;
    qsort(values, n, sizeof *values, ascending);
done:
    tnp_free(t.b);
    return st;
}
