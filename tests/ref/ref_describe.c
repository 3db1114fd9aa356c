/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The formulas at the heads of describe/sift.c, lbp.c and gist.c as loops. */
#include "ref_describe.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double turn = 6.283185307179586477;

/* Beyond the picture its edge goes on. */
static double pixel(const ref_patch *p, size_t plane, long x, long y)
{
    long w = (long)p->width, h = (long)p->height;
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    return (double)p->plane[(plane * p->height + (size_t)y) * p->width + (size_t)x];
}

/* ---- SIFT of any plane that a function gives ---- */

typedef double (*plane_fn)(const ref_patch *p, int which, long x, long y);

static double grey(const ref_patch *p, int which, long x, long y)
{
    (void)which;
    return pixel(p, 0, x, y);
}

static double invariant(const ref_patch *p, int which, long x, long y)
{
    double r = pixel(p, 0, x, y), g = pixel(p, 1, x, y), b = pixel(p, 2, x, y);
    double o1 = (r - g) / sqrt(2), o2 = (r + g - 2 * b) / sqrt(6), o3 = (r + g + b) / sqrt(3);
    return which == 0 ? o3 : (which == 1 ? o1 : o2) / (o3 + 1.0 / 255);
}

static double slope(const ref_patch *p, plane_fn f, int which, long x, long y, bool down)
{
    long end = (long)(down ? p->height : p->width) - 1, at = down ? y : x;
    double behind = down ? f(p, which, x, y + 1) : f(p, which, x + 1, y);
    double before = down ? f(p, which, x, y - 1) : f(p, which, x - 1, y);
    return (behind - before) * (at == 0 || at == end ? 1 : 0.5);
}

/* The cell of a pixel; outside that of the nearest inside. */
static void cell(const ref_patch *p, plane_fn f, int which, long x, long y, double out[8])
{
    x = x < 0 ? 0 : x >= (long)p->width ? (long)p->width - 1 : x;
    y = y < 0 ? 0 : y >= (long)p->height ? (long)p->height - 1 : y;
    double gx = slope(p, f, which, x, y, false), gy = slope(p, f, which, x, y, true);
    double angle = atan2(gy, gx) / turn * 8, length = hypot(gx, gy);
    angle = angle < 0 ? angle + 8 : angle;
    int k = (int)floor(angle);
    double r = angle - k;
    memset(out, 0, 8 * sizeof *out);
    out[k % 8] += (1 - r) * length;
    out[(k + 1) % 8] += r * length;
}

static double window(double b, int i)
{
    double sum = 0, middle = b * (i - 1.5), reach = ceil(b) - 1;
    for (double x = -reach; x <= reach; ++x)
        sum += exp(-(x - middle) * (x - middle) / (8 * b * b));
    return sum / (2 * reach + 1);
}

static double tri(double u)
{
    return fabs(u) < 1 ? 1 - fabs(u) : 0;
}

static double length_of(const double *d, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += d[i] * d[i];
    return sqrt(sum);
}

static void sift_of(const ref_patch *p, plane_fn f, int which, double *d)
{
    double b = p->side / 4, c[8];
    memset(d, 0, 128 * sizeof *d);
    for (long y = (long)floor(p->y - b); y <= (long)ceil(p->y + 5 * b); ++y)
        for (long x = (long)floor(p->x - b); x <= (long)ceil(p->x + 5 * b); ++x) {
            cell(p, f, which, x, y, c);
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 4; ++i)
                    for (int o = 0; o < 8; ++o)
                        d[(j * 4 + i) * 8 + o] += window(b, j) * window(b, i) * c[o] *
                                                  tri(((double)y - (p->y + (j + 0.5) * b - 0.5)) / b) *
                                                  tri(((double)x - (p->x + (i + 0.5) * b - 0.5)) / b) / (b * b);
        }
    double length = length_of(d, 128);
    for (int k = 0; k < 128; ++k)
        d[k] = length > 1e-6 ? fmin(d[k] / length, 0.2) : 0;
    length = length_of(d, 128);
    for (int k = 0; k < 128 && length > 0; ++k)
        d[k] /= length;
}

void ref_sift(const ref_patch *patch, bool root, double *d)
{
    double sum = 0;
    sift_of(patch, grey, 0, d);
    for (int k = 0; k < 128; ++k)
        sum += d[k];
    for (int k = 0; root && sum > 0 && k < 128; ++k)
        d[k] = sqrt(d[k] / sum);
}

void ref_csift(const ref_patch *patch, double *d)
{
    for (int which = 0; which < 3; ++which) {
        sift_of(patch, invariant, which, d + 128 * which);
        for (int k = 0; k < 128; ++k)
            d[128 * which + k] /= sqrt(3);
    }
}

void ref_lbp(const ref_patch *p, double *d)
{
    static const int along[] = {1, 1, 0, -1, -1, -1, 0, 1}, down[] = {0, 1, 1, 1, 0, -1, -1, -1};
    long side = (long)p->side;
    memset(d, 0, 1024 * sizeof *d);
    for (long v = 0; v < side; ++v)
        for (long u = 0; u < side; ++u) {
            long x = (long)p->x + u, y = (long)p->y + v, cell_of = 2 * (v >= side / 2) + (u >= side / 2);
            int code = 0;
            for (int k = 0; k < 8; ++k)
                if (pixel(p, 0, x + along[k], y + down[k]) >= pixel(p, 0, x, y))
                    code += 1 << k;
            d[cell_of * 256 + code] += 1.0 / (double)(side * side);
        }
    for (int k = 0; k < 1024; ++k)
        d[k] = sqrt(d[k]);
}

/* |G * I| at one pixel, two-dimensional as it is written. */
static double response(const ref_patch *p, size_t plane, int level, double a, long x, long y)
{
    double f = 0.3 / pow(1.85, level), s = 0.56 / f, norm = 0;
    long reach = (long)(3 * s);
    double complex sum = 0;
    for (long v = -reach; v <= reach; ++v)
        for (long u = -reach; u <= reach; ++u) {
            double g = exp(-(double)(u * u + v * v) / (2 * s * s));
            norm += g;
            sum += g * cexp(I * turn * f * ((double)u * cos(a) + (double)v * sin(a))) * pixel(p, plane, x - u, y - v);
        }
    return cabs(sum) / norm;
}

void ref_gist(const ref_patch *p, double *d)
{
    static const int directions[] = {8, 8, 4};
    long side = (long)p->side;
    size_t k = 0;
    for (size_t c = 0; c < 3; ++c)
        for (int level = 0; level < 3; ++level)
            for (int g = 0; g < directions[level]; ++g)
                for (long cell_of = 0; cell_of < 16; ++cell_of, ++k) {
                    long i = cell_of % 4, j = cell_of / 4, x0 = i * side / 4, x1 = (i + 1) * side / 4;
                    long y0 = j * side / 4, y1 = (j + 1) * side / 4;
                    d[k] = 0;
                    for (long y = y0; y < y1; ++y)
                        for (long x = x0; x < x1; ++x)
                            d[k] += response(p, c, level, turn / 2 * g / directions[level], (long)p->x + x,
                                             (long)p->y + y) /
                                    (double)((x1 - x0) * (y1 - y0));
                }
    double length = length_of(d, 960);
    for (k = 0; k < 960; ++k)
        d[k] /= length;
}
