/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Explicit maps of homogeneous kernels, after Vedaldi, Zisserman, "Efficient Additive Kernels via Explicit Feature
 * Maps" (2012).
 *
 * k(x, y) = sqrt(xy) S(log y/x) has the signature S:
 *   chi2          2xy/(x+y)                                              S(u) = 1/cosh(u/2)
 *   intersection  min(x, y)                                              S(u) = exp(-|u|/2)
 *   js            x/2 log2((x+y)/x) + y/2 log2((x+y)/y)                  S(u) = k(exp(-u/2), exp(u/2))
 *
 * Cut to |u| <= Lambda/2 and repeated with the period Lambda, S is a Fourier series of frequencies j step, step = 2
 * pi/Lambda; its first n = 3 give, with c_j = 2/Lambda integral_0^{Lambda/2} S(u) cos(j step u) du, negative ones taken
 * as 0,
 *
 *   phi(x) = sqrt(x) [ sqrt(c_0), sqrt(2 c_j) cos(j step log x), sqrt(2 c_j) sin(j step log x), j = 1 .. n ]
 *
 * (the rectangular window of the paper; sampling the spectrum of S itself, which has closed forms, was refused: with so
 * few frequencies it is off by more). Lambda for n frequencies is the paper's fit, the one that VLFeat has as its
 * default.
 *
 * Table: phi(x) = Re z exp((1/2 + i j step) log x), so x^2 phi'' = |1/4 + (j step)^2| phi, and between knots x (1 + i
 * 2^-b) the interpolation is off by at most 2^-2b/8 (1/4 + (j step)^2) sqrt(2 c_j x): cells by the leading bits of the
 * number itself. Oracles: tests/ref/ref_map.c, VLFeat, scikit-learn. */
#include "transform/map.h"

#include <math.h>

enum { PARTS = 2048 }; /* of Simpson's rule: (Lambda/2/PARTS)^4/180 times the fourth derivative is below 1e-13 */

static const double PI = 3.14159265358979323846;

double tnp_homogeneous_kernel(tnp_map_kind kind, double x, double y)
{
    switch (kind) {
    case TNP_PHI_CHI2:
        return 2 * x * y / (x + y);
    case TNP_PHI_INTERSECTION:
        return fmin(x, y);
    case TNP_PHI_JS:
        return (x * log2(1 + y / x) + y * log2(1 + x / y)) / 2;
    default:
        return sqrt(x * y);
    }
}

static double period_of(tnp_map_kind kind)
{
    const double n = TNP_PHI_ORDER;
    if (kind == TNP_PHI_CHI2)
        return 8.80 * sqrt(n + 4.44) - 12.6;
    return kind == TNP_PHI_JS ? 9.63 * sqrt(n + 1.00) - 2.93 : 2.00 * log(n + 0.99) + 3.52;
}

tnp_waves tnp_waves_of(tnp_map_kind kind)
{
    const double period = period_of(kind), h = period / 2 / PARTS;
    tnp_waves waves = {.step = 2 * PI / period};
    for (int j = 0; j <= TNP_PHI_ORDER; ++j) {
        double sum = 0;
        for (int i = 0; i <= PARTS; ++i) {
            double u = i * h, weight = i == 0 || i == PARTS ? 1 : i % 2 ? 4 : 2;
            sum += weight * tnp_homogeneous_kernel(kind, exp(-u / 2), exp(u / 2)) * cos(j * waves.step * u);
        }
        double c = fmax(0, 2 / period * sum * h / 3);
        waves.amplitude[j] = sqrt(j ? 2 * c : c);
    }
    return waves;
}

void tnp_waves_phi(const tnp_waves *waves, double x, double *out)
{
    double root = sqrt(x), phase = x > 0 ? waves->step * log(x) : 0;
    out[0] = waves->amplitude[0] * root;
    for (int j = 1; j <= TNP_PHI_ORDER; ++j) {
        out[2 * j - 1] = waves->amplitude[j] * root * cos(j * phase);
        out[2 * j] = waves->amplitude[j] * root * sin(j * phase);
    }
}

int tnp_waves_bits(const tnp_waves *waves)
{
    double most = 0, bend = 0;
    int bits = 0;
    for (int j = 0; j <= TNP_PHI_ORDER; ++j) {
        double rate = j * waves->step;
        most = fmax(most, waves->amplitude[j]);
        bend = fmax(bend, waves->amplitude[j] * (0.25 + rate * rate));
    }
    while (ldexp(bend, -2 * bits) > 8e-6 * most)
        ++bits;
    return bits;
}
