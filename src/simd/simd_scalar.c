/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The specification of every kernel, in plain C. */
#include "simd/simd_sweeps.h"
#include "simd/simd_coarse.h"
#include "simd/simd_lanes.h"
#include "simd/simd_listed.h"
#include "simd/simd_mixture.h"
#include "simd/simd_pairs.h"
#include "simd/simd_table.h"

#include <math.h>
#include <string.h>

/* Half precision: sign 1, exponent 5 (bias 15), fraction 10. Subnormals are fraction * 2^-24. */
static float half_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 1023u, bits;
    float value;
    if (exponent == 0) {
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    bits = exponent == 31 ? sign | 0x7f800000u | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void half_to_float(const uint16_t *in, float *out, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        out[i] = half_value(in[i]);
}

static double sum_squares(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static double sum_abs(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += fabs((double)x[i]);
    return sum;
}

static void add_to_double(const float *x, double *acc, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        acc[i] += (double)x[i];
}

static void shift_scale(const float *x, const float *shift, float scale, float *y, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        y[i] = (x[i] - shift[i]) * scale;
}

static void scale(const float *x, float factor, float *y, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        y[i] = x[i] * factor;
}

static void scale_root(const float *x, float factor, float *y, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        y[i] = copysignf(sqrtf(fabsf(x[i])), x[i]) * factor;
}

static void roots(const double *x, double more, double *y, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        y[i] = sqrt(fabs(x[i]) + more);
}

static double dot(const float *x, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static double weighted_squares(const float *x, const float *w, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += (double)x[i] * (double)x[i] * (double)w[i];
    return sum;
}

static void add_scaled(float a, const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        y[i] += a * x[i];
}

static void confident_move(const float *x, float a, float b, float late, float *mu, float *u, float *sigma, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        float sx = sigma[i] * x[i], d = a * sx;
        mu[i] += d;
        if (u)
            u[i] += late * d;
        sigma[i] /= 1 + b * sx * x[i];
    }
}

static bool all_within(const float *x, size_t n, float most)
{
    bool fine = true;
    for (size_t i = 0; i < n; ++i)
        fine &= fabsf(x[i]) <= most;
    return fine;
}

static double softmax(const float *s, float *p, size_t n)
{
    float most = s[0];
    double sum = 0;
    for (size_t i = 1; i < n; ++i)
        most = s[i] > most ? s[i] : most;
    for (size_t i = 0; i < n; ++i) {
        p[i] = expf(fmaxf(s[i] - most, -87.0f));
        sum += (double)p[i];
    }
    for (size_t i = 0; i < n; ++i)
        p[i] *= (float)(1 / sum);
    return (double)most + log(sum);
}

static void softmax_slope(const tnp_slope_rows *a)
{
    for (size_t r = 0, at = 0; r < a->rows; ++r, at += a->k) {
        a->whole[r] = softmax(a->s + at, a->p + at, a->k);
        for (size_t j = 0; j < a->k; ++j) {
            float p = a->p[at + j], g = a->cost[r] * p;
            a->g[at + j] = g;
            a->slope[j] += (double)g;
            a->weight[j] += (double)(g * (1 - p));
        }
    }
}

static void softmax_line(const float *s, const float *z, float t, size_t n, double *out)
{
    float most = -INFINITY;
    double sum = 0;
    out[0] = out[1] = 0;
    for (size_t i = 0; i < n; ++i)
        most = fmaxf(most, s[i] + t * z[i]);
    for (size_t i = 0; i < n; ++i) {
        double e = (double)expf(fmaxf(s[i] + t * z[i] - most, -87.0f));
        sum += e;
        out[0] += e * (double)z[i];
        out[1] += e * (double)z[i] * (double)z[i];
    }
    out[0] /= sum;
    out[1] /= sum;
}

static void softmax_curve(const float *p, float cost, float *z, size_t n)
{
    float mean = (float)dot(p, z, n);
    for (size_t i = 0; i < n; ++i)
        z[i] = cost * p[i] * (z[i] - mean);
}

static void softmax_curve_sums(const tnp_curve_rows *a)
{
    for (size_t r = 0; r < a->rows; ++r) {
        const float *p = a->p + r * a->k;
        float mean = (float)dot(p, a->z, a->k);
        for (size_t j = 0; j < a->k; ++j)
            a->sum[j] += (double)(a->cost[r] * p[j] * (a->z[j] - mean));
    }
}

static void probe_row(const tnp_probe_row *a)
{
    double most = (double)a->s[0], total = 0, *theta = a->scratch;
    for (size_t j = 1; j < a->k; ++j)
        most = fmax(most, (double)a->s[j]);
    for (size_t j = 0; j < a->k; ++j)
        total += theta[j] = exp(fmax((double)a->s[j] - most, -708));
    for (size_t j = 0; j < a->k; ++j) {
        double p = a->cost * theta[j] / total;
        a->mass[j] += p;
        a->disorder[j] += p * (most - (double)a->s[j] + log(total));
        theta[j] = p - (j == a->own ? a->cost : 0);
        for (size_t l = 0; l < TNP_LANES; ++l)
            a->turned[j * TNP_LANES + l] += theta[j] * a->probed[l];
    }
    *a->loss += a->cost * (most - (double)a->s[a->own] + log(total));
    for (size_t l = 0; l < TNP_PROBES; ++l) {
        double off = -a->probed[TNP_LANES + l];
        for (size_t j = 0; j < a->k; ++j)
            off += a->by_class[l * a->stride + j] * (double)a->s[j];
        *a->off += off * off;
    }
}

static void softmax_moments(const float *s, size_t n, double most, double t, double *out)
{
    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0; i < n; ++i) {
        double d = (double)s[i] - most, e = exp(t * d);
        if (!(t * d > -708))
            continue;
        out[0] += e;
        out[1] += e * d;
        out[2] += e * d * d;
    }
}

/* T + lambda I = L D L' with unit lower bidiagonal L: d[i] = diag[i] + lambda - off[i-1]^2 / d[i-1].
 * Forward: g[i] = h[i] - off[i-1]/d[i-1] g[i-1];  back: u[i] = (g[i] - off[i] u[i+1]) / d[i].
 * h'u = sum g^2/d: a sum of squares, so it never cancels. pivot keeps 1/d; u keeps g until the way back. */
static void tri_solve(size_t n, const double *diag, const double *off, const double *lambda, const double *h, double *u,
                      double *pivot, tnp_tri_out *out)
{
    for (size_t l = 0; l < TNP_LANES; ++l) {
        double inverse = 0, g = 0, hu = 0, next = 0, uu = 0, utu = 0;
        for (size_t i = 0; i < n; ++i) {
            double e = i ? off[i - 1] : 0, ratio = e * inverse;
            g = h[i * TNP_LANES + l] - ratio * g;
            inverse = 1 / (diag[i] + lambda[l] - e * ratio);
            hu += g * g * inverse;
            u[i * TNP_LANES + l] = g;
            pivot[i * TNP_LANES + l] = inverse;
        }
        for (size_t i = n; i-- > 0;) {
            double e = i + 1 < n ? off[i] : 0;
            double value = (u[i * TNP_LANES + l] - e * next) * pivot[i * TNP_LANES + l];
            uu += value * value;
            utu += value * (diag[i] * value + 2 * e * next);
            u[i * TNP_LANES + l] = next = value;
        }
        out->hu[l] = hu;
        out->uu[l] = uu;
        out->utu[l] = utu;
    }
}

static void tri_solve_known(size_t n, const double *diag, const double *off, const double *inverse, const double *h,
                            double *u, tnp_tri_out *out)
{
    for (size_t l = 0; l < TNP_LANES; ++l) {
        double g = 0, hu = 0, next = 0, uu = 0, utu = 0;
        for (size_t i = 0; i < n; ++i) {
            g = h[i * TNP_LANES + l] - (i ? off[i - 1] * inverse[i - 1] : 0) * g;
            hu += g * g * inverse[i];
            u[i * TNP_LANES + l] = g;
        }
        for (size_t i = n; i-- > 0;) {
            double e = i + 1 < n ? off[i] : 0, value = (u[i * TNP_LANES + l] - e * next) * inverse[i];
            uu += value * value;
            utu += value * (diag[i] * value + 2 * e * next);
            u[i * TNP_LANES + l] = next = value;
        }
        out->hu[l] = hu;
        out->uu[l] = uu;
        out->utu[l] = utu;
    }
}

/* sum_j (x[j] - c[j])^2 and not |c|^2/2 - x'c, which costs half as much: far from zero that difference has no digits
 * left. The centroids are the inner loop: a distance each, side by side. */
static void nearest(const float *x, size_t stride, size_t n, size_t d, const float *lanes, size_t count, uint8_t *code,
                    size_t step, float *distance)
{
    float far[TNP_CODES];
    for (size_t i = 0; i < n; ++i) {
        for (size_t c = 0; c < count; ++c)
            far[c] = 0;
        for (size_t j = 0; j < d; ++j)
            for (size_t c = 0; c < count; ++c) {
                float gap = x[i * stride + j] - lanes[j * TNP_CODES + c];
                far[c] += gap * gap;
            }
        size_t best = 0;
        for (size_t c = 1; c < count; ++c)
            if (far[c] < far[best])
                best = c;
        code[i * step] = (uint8_t)best;
        distance[i] = far[best];
    }
}

/* Cell of size >= 0 and the place in it, 0 <= t < 1. */
static uint32_t cell_of(const tnp_knots *knots, float size, float *t, size_t *outside)
{
    uint32_t bits, cell;
    *t = 0;
    if (!knots->shift) {
        float at = fminf(size, 1) * (float)knots->cells;
        cell = (uint32_t)at;
        *t = at - (float)cell;
        return cell;
    }
    memcpy(&bits, &size, sizeof bits);
    cell = (bits >> knots->shift) - knots->first;
    if (size == 0 || cell >= knots->cells) {
        *outside += size != 0;
        return 0;
    }
    *t = (float)(bits & ((1u << knots->shift) - 1)) / (float)(1u << knots->shift);
    return cell + 1;
}

/* Between two knots: a low + b high with a = sign (1 - t), b = sign t, so that a knot itself comes out exactly. */
static size_t map_entries(const tnp_knots *knots, const float *x, float factor, size_t n, float *out)
{
    const size_t rank = knots->rank, parts = knots->split ? 2 : 1;
    size_t outside = 0;
    for (size_t j = 0; j < n; ++j)
        for (size_t part = 0; part < parts; ++part, out += rank) {
            float v = x[j] * factor, t, sign = !knots->split && v < 0 ? -1.0f : 1.0f;
            float size = !knots->split ? fabsf(v) : part ? fmaxf(-v, 0) : fmaxf(v, 0);
            const float *low = knots->rows + cell_of(knots, size, &t, &outside) * knots->pad, *high = low + knots->pad;
            for (size_t k = 0; k < rank; ++k)
                out[k] = sign * (1 - t) * low[k] + sign * t * high[k];
        }
    return outside;
}

static void outer_add(const float *a, const uint16_t *place, size_t n, size_t rank, const float *b, float *tile)
{
    for (size_t i = 0; i < n; ++i) {
        float *to = tile + (size_t)place[i] * TNP_PANEL;
        for (size_t m = 0; m < rank; ++m)
            for (size_t l = 0; l < TNP_PANEL; ++l)
                to[l] += a[i * rank + m] * b[m * TNP_PANEL + l];
    }
}

static void row_products(size_t n, const float *x, size_t ldx, size_t m, const float *y, size_t ldy, size_t dim,
                         bool add, float *out, size_t ldo)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < m; ++j) {
            float sum = add ? out[i * ldo + j] : 0;
            for (size_t l = 0; l < dim; ++l)
                sum += x[i * ldx + l] * y[j * ldy + l];
            out[i * ldo + j] = sum;
        }
}

static void add_products(size_t n, size_t k, const float *delta, size_t ldd, const float *x, size_t ldx, size_t dim,
                         float *w, size_t ldw)
{
    for (size_t t = 0; t < n; ++t)
        for (size_t j = 0; j < k; ++j)
            for (size_t l = 0; l < dim; ++l)
                w[j * ldw + l] += delta[t * ldd + j] * x[t * ldx + l];
}

/* A cost of 0 keeps its multiplier at 0. A hinge without curvature has a row of zeros: no w can help it, and its
 * multiplier is full. */
static void visit(const tnp_visits *v, size_t t, size_t j)
{
    float a = v->cost[t * v->apart + j], c = fabsf(a), y = a < 0 ? -1.0f : 1.0f,
          soft = v->squared && c > 0 ? 0.5f / c : 0;
    float curve = v->gram[t * v->n + t] + v->bias + soft, *alpha = v->alpha + v->rows[t] * v->stride + j;
    float next = *alpha - (y * v->s[t * v->apart + j] - 1 + *alpha * soft) / curve;
    next = next > 0 ? next : 0;
    next = !v->squared && next > c ? c : next;
    next = curve > 0 ? next : c;
    next = c > 0 ? next : 0;
    v->delta[t * v->apart + j] = y * (next - *alpha);
    *alpha = next;
    for (size_t u = t + 1; u < v->n; ++u)
        v->s[u * v->apart + j] += (v->gram[t * v->n + u] + v->bias) * v->delta[t * v->apart + j];
}

static void visits(const tnp_visits *v)
{
    for (size_t t = 0; t < v->n; ++t)
        for (size_t j = 0; j < v->k; ++j)
            visit(v, t, j);
}

static const tnp_product_loops product_loops = {false, row_products, add_products};

const tnp_simd *tnp_simd_scalar(void)
{
    static const tnp_simd table = TNP_SIMD_TABLE("scalar", pair_products);
    return &table;
}
