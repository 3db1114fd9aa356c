/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Fourier bases of learned maps, phi(x) = W'f(x) on [0, 1], W (M, rank), M = 39.
 *
 *   a = 2 pi eta,  eta = 0.1 .. 0.9, 1 .. 10, the i-th of them at f[2i - 1], f[2i]:
 *   scaled-fourier  f = x, x cos ax, x sin ax      f'' = 0, -2a sin ax - a^2 x cos ax, 2a cos ax - a^2 x sin ax
 *   fourier         f = 1, cos ax, sin ax          f'' = 0, -a^2 cos ax, -a^2 sin ax
 *
 * Linear interpolation between knots h apart is off by at most h^2/8 max|phi''|. The number of cells is the smallest
 * power of two that makes this 1e-6 of max|phi|, both taken over all values; the maxima are those at 4097 points, 400
 * of them a period of the fastest function. Oracle: tests/ref/ref_map.c. */
#include "transform/map.h"

#include <math.h>

enum { RATES = (TN_BASIS_SIZE - 1) / 2, SAMPLES = 4096, FEWEST = 1 << 6, MOST = 1 << 18 };

static const double PI = 3.14159265358979323846;

void tnp_basis_values(tn_basis basis, double x, double *f, double *bent)
{
    bool scaled = basis == TN_BASIS_SCALED_FOURIER;
    double factor = scaled ? x : 1;
    f[0] = factor;
    if (bent)
        bent[0] = 0;
    for (int i = 1; i <= RATES; ++i) {
        double a = 2 * PI * (i < 10 ? i / 10.0 : i - 9), c = cos(a * x), s = sin(a * x);
        f[2 * i - 1] = factor * c;
        f[2 * i] = factor * s;
        if (bent) {
            bent[2 * i - 1] = -a * a * factor * c - (scaled ? 2 * a * s : 0);
            bent[2 * i] = -a * a * factor * s + (scaled ? 2 * a * c : 0);
        }
    }
}

/* out (rank) = W'f. */
static void weigh(const tn_map_spec *spec, const double *f, double *out)
{
    for (size_t k = 0; k < spec->rank; ++k)
        out[k] = 0;
    for (size_t m = 0; m < TN_BASIS_SIZE; ++m)
        for (size_t k = 0; k < spec->rank; ++k)
            out[k] += spec->weight[m * spec->rank + k] * f[m];
}

void tnp_basis_phi(const tn_map_spec *spec, double x, double *out)
{
    double f[TN_BASIS_SIZE];
    tnp_basis_values(spec->basis, x, f, NULL);
    weigh(spec, f, out);
}

uint32_t tnp_basis_cells(const tn_map_spec *spec)
{
    double f[TN_BASIS_SIZE], bent[TN_BASIS_SIZE], out[TN_BASIS_SIZE], most = 0, bend = 0;
    for (int i = 0; i <= SAMPLES; ++i) {
        tnp_basis_values(spec->basis, (double)i / SAMPLES, f, bent);
        weigh(spec, f, out);
        for (size_t k = 0; k < spec->rank; ++k)
            most = fmax(most, fabs(out[k]));
        weigh(spec, bent, out);
        for (size_t k = 0; k < spec->rank; ++k)
            bend = fmax(bend, fabs(out[k]));
    }
    uint32_t cells = FEWEST;
    while (cells < MOST && bend > 8e-6 * most * cells * cells)
        cells *= 2;
    return cells;
}
