/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Normalisation of rows.
 *
 *   l2      y = x / ||x||_2
 *   root    y = sign(x) sqrt|x| / sqrt(sum |x|)       the signed root, then l2: its squared norm is sum |x|
 *   l1      y = x / sum |x|
 *   zscore  y[j] = (x[j] - mean[j]) * scale[j]         scale 0 for a constant column
 *   none    y = x
 *
 * A zero row has norm 0 and stays zero: dividing by 1 instead is the convention of scikit-learn's normalize.
 * Norms are summed in double. In single precision a row whose squares leave the range of float is still right,
 * because the squares are never float. */
#include "transform/normalize.h"
#include "base/base.h"

#include <math.h>
#include <string.h>

static const char *const words[TN_NORMALIZE_COUNT] = {[TN_NORM_L2] = "l2",
                                                      [TN_NORM_ROOT] = "root",
                                                      [TN_NORM_L1] = "l1",
                                                      [TN_NORM_ZSCORE] = "zscore",
                                                      [TN_NORM_NONE] = "none"};

const char *tn_normalize_name(tn_normalize kind)
{
    return words[kind];
}

static tn_status parse_word(tn_ctx *ctx, const char *word, size_t length, tn_normalize *kind)
{
    for (int i = 0; i < TN_NORMALIZE_COUNT; ++i)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) {
            *kind = (tn_normalize)i;
            return TN_OK;
        }
    return tnp_fail(ctx, TN_ERR_ARG, "option normalize: got '%.*s', expected %s", (int)tnp_min(length, 40), word,
                    TN_NORMALIZE_WORDS);
}

tn_status tn_normalize_parse(tn_ctx *ctx, const char *text, tn_normalize *kinds, size_t *count)
{
    tn_normalize found[TN_NORMALIZE_COUNT];
    size_t n = 0;
    for (const char *word = text;; ++word) {
        tn_normalize kind = TN_NORM_L2;
        size_t length = strcspn(word, ",");
        tn_status st = parse_word(ctx, word, length, &kind);
        if (st != TN_OK)
            return st;
        for (size_t i = 0; i < n; ++i)
            if (found[i] == kind)
                return tnp_fail(ctx, TN_ERR_ARG, "option normalize: '%s' is named twice", words[kind]);
        found[n++] = kind;
        word += length;
        if (*word == 0)
            break;
    }
    memcpy(kinds, found, n * sizeof *found);
    *count = n;
    return TN_OK;
}

static float inverse_or_one(double norm)
{
    return norm > 0 ? (float)(1 / norm) : 1.0f;
}

void tnp_normalize_row(const tnp_simd *k, tn_normalize kind, const double *means, const double *scales, const float *x,
                       float *y, size_t n)
{
    double norm = 0;
    switch (kind) {
    case TN_NORM_L2:
        norm = sqrt(k->sum_squares(x, n));
        break;
    case TN_NORM_ROOT:
        norm = sqrt(k->sum_abs(x, n));
        break;
    case TN_NORM_L1:
        norm = k->sum_abs(x, n);
        break;
    case TN_NORM_ZSCORE:
        for (size_t j = 0; j < n; ++j)
            y[j] = (float)(((double)x[j] - means[j]) * scales[j]);
        return;
    case TN_NORM_NONE:
        if (x != y)
            memcpy(y, x, n * sizeof *y);
        return;
    }
    if (norm > 0 && (norm < 1e-37 || norm > 1e37)) { /* 1/norm is no normal float: divide in double */
        for (size_t j = 0; j < n; ++j)
            y[j] = (float)((kind == TN_NORM_ROOT ? copysign(sqrt(fabs((double)x[j])), (double)x[j]) : (double)x[j]) /
                           norm);
        return;
    }
    float factor = inverse_or_one(norm);
    if (kind == TN_NORM_ROOT)
        k->scale_root(x, factor, y, n);
    else
        k->scale(x, factor, y, n);
}

enum { LANES = 8 };

static double largest(const double *x, size_t n)
{
    double part[LANES] = {0}, most = 0;
    for (size_t j = 0; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; ++l)
            part[l] = fabs(x[j + l]) > part[l] ? fabs(x[j + l]) : part[l];
    for (size_t j = n / LANES * LANES; j < n; ++j)
        most = fabs(x[j]) > most ? fabs(x[j]) : most;
    for (size_t l = 0; l < LANES; ++l)
        most = part[l] > most ? part[l] : most;
    return most;
}

/* Norm of unit x, and the unit: a power of two that brings the largest |x| to 1 or up to 2, so that squares stay in the
 * range of double and products with it are exact. A row of numbers that have no more digits, below 2^-1022, has
 * 2^1022. */
static double norm_wide(tn_normalize kind, const double *x, size_t n, double *unit)
{
    double part[LANES] = {0}, sum = 0, most = largest(x, n);
    int power = most > 0 ? -ilogb(most) : 0;
    *unit = ldexp(1, power < 1022 ? power : 1022);
    for (size_t j = 0; j < n / LANES * LANES; j += LANES)
        for (size_t l = 0; l < LANES; ++l) {
            double v = fabs(x[j + l] * *unit);
            part[l] += kind == TN_NORM_L2 ? v * v : v;
        }
    for (size_t j = n / LANES * LANES; j < n; ++j) {
        double v = fabs(x[j] * *unit);
        sum += kind == TN_NORM_L2 ? v * v : v;
    }
    for (size_t l = 0; l < LANES; ++l)
        sum += part[l];
    return kind == TN_NORM_L1 ? sum : sqrt(sum);
}

void tnp_normalize_row_wide(tn_normalize kind, const double *means, const double *scales, const double *x, double *y,
                            size_t n)
{
    if (kind == TN_NORM_ZSCORE) {
        for (size_t j = 0; j < n; ++j)
            y[j] = (x[j] - means[j]) * scales[j];
        return;
    }
    if (kind == TN_NORM_NONE) {
        if (x != y)
            memcpy(y, x, n * sizeof *y);
        return;
    }
    double unit = 1, norm = norm_wide(kind, x, n, &unit);
    if (!(norm > 0))
        memset(y, 0, n * sizeof *y);
    else if (kind == TN_NORM_ROOT)
        for (size_t j = 0; j < n; ++j)
            y[j] = copysign(sqrt(fabs(x[j] * unit)), x[j]) / norm;
    else
        for (size_t j = 0; j < n; ++j)
            y[j] = x[j] * unit / norm;
}
