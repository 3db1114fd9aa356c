/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 4, transform: a representation as the learners see it. A feed joins a source, the rows that take part,
 * the policy for NaN and infinity, the explicit map of an additive kernel if one is wanted, and a normalisation; blocks
 * come out ready for matrix products. */
#ifndef TENON_TRANSFORM_H
#define TENON_TRANSFORM_H

#include "tenon/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* l2: rows to unit Euclidean norm. root: signed square root, then l2. l1: rows to unit sum of absolute values.
 * zscore: columns to mean 0 and variance 1 over the training rows. All-zero rows and constant columns stay 0. */
typedef enum tn_normalize { TN_NORM_L2, TN_NORM_ROOT, TN_NORM_L1, TN_NORM_ZSCORE, TN_NORM_NONE } tn_normalize;
#define TN_NORMALIZE_WORDS "l2|root|l1|zscore|none"
#define TN_NORMALIZE_COUNT 5

TN_API const char *tn_normalize_name(tn_normalize kind);
/* Reads a list such as "l2,root" into kinds (room for TN_NORMALIZE_COUNT), each at most once. TN_ERR_ARG. */
TN_API tn_status tn_normalize_parse(tn_ctx *ctx, const char *text, tn_normalize *kinds, size_t *count);

/* What to do with rows that hold NaN or infinity: refuse them, leave them out, or put zeros in their place. */
typedef enum tn_nan_policy { TN_NAN_ERROR, TN_NAN_DROP, TN_NAN_ZERO } tn_nan_policy;
#define TN_NAN_WORDS "error|drop|zero"

/* ---- maps ---- */

/* The explicit map of an additive kernel k(x, y) = sum_j k1(x_j, y_j): every entry of a row becomes `width` values phi,
 * such that <phi(a), phi(b)> is k1(a, b) or near it. The row is brought to the map's axis first, x = scale * x / |x|_1;
 * an all-zero row stays zero there. The values of an entry lie side by side: out[j * width + k]. A map is not changed
 * by using it: any number of threads may share one. docs/math.md, section 6. */
typedef struct tn_map tn_map;

/* The functions f of a learned map, M = TN_BASIS_SIZE, a = 2 pi eta with eta = 0, 0.1 .. 0.9, 1 .. 10:
 *   scaled-fourier  x, x cos ax, x sin ax        zero stays zero
 *   fourier         1, cos ax, sin ax            f(0) is not 0: the one map that makes something of a zero entry */
typedef enum tn_basis { TN_BASIS_SCALED_FOURIER, TN_BASIS_FOURIER } tn_basis;
#define TN_BASIS_WORDS "scaled-fourier|fourier"
#define TN_BASIS_SIZE 39

/* Entries below zero. odd: phi(-x) = -phi(x). split: twice as many values, [phi(max(x, 0)), phi(max(-x, 0))]. */
typedef enum tn_signed { TN_SIGNED_ODD, TN_SIGNED_SPLIT } tn_signed;
#define TN_SIGNED_WORDS "odd|split"

#define TN_MAP_WORDS "hellinger|chi2|intersection|js"
#define TN_MAP_BINS 256
#define TN_MAP_MOST 78 /* no map has more values per entry: 39 functions, split */

/* What a map is made of, and all that a file of it must hold. */
typedef struct tn_map_spec {
    tn_basis basis;
    tn_signed sign;
    size_t rank;          /* values of one sign, 1 .. TN_BASIS_SIZE */
    double scale;         /* > 0: what rows of unit L1 norm are multiplied with. Beyond 1, |x| is clamped to 1 */
    const double *weight; /* W (TN_BASIS_SIZE, rank): phi(x) = W'f(x). NULL in the spec of a named map */
    /* Where a learned map comes from. The map does not use these, it carries them. */
    double power;                  /* p of W = P diag(singular values)^p */
    size_t tasks, rows;            /* one-vs-rest tasks and rows that it was learned from */
    const double *rates;           /* contributing rates tau(1) .. tau(TN_BASIS_SIZE), or NULL */
    const double *singular_values; /* TN_BASIS_SIZE, descending, or NULL */
    const double *vectors;         /* P (TN_BASIS_SIZE, TN_BASIS_SIZE), a column a singular value, or NULL */
    const double *histogram; /* learning entries other than 0 with |x| in each of TN_MAP_BINS equal parts of [0, 1] on
                                      the scaled axis, the last with all beyond; or NULL */
} tn_map_spec;

/* A map of TN_MAP_WORDS, scale 1: hellinger sign(x) sqrt|x|, one value; chi2, intersection and js, 7 values that
 * approximate 2xy/(x+y), min(x, y) and x/2 log2((x+y)/x) + y/2 log2((x+y)/y). TN_ERR_ARG when the name is none of them.
 * Owned by the caller, free with tn_map_free. */
TN_API tn_status tn_map_new_named(tn_ctx *ctx, const char *name, tn_signed sign, tn_map **out);
/* A learned map; everything spec points to is copied. TN_ERR_ARG for a rank that is 0 or above TN_BASIS_SIZE, a scale
 * that is not a positive number, weights that are missing or not finite. O(table), some 1e4 rows of `rank` values. */
TN_API tn_status tn_map_new_learned(tn_ctx *ctx, const tn_map_spec *spec, tn_map **out);
TN_API tn_status tn_map_copy(tn_ctx *ctx, const tn_map *map, tn_map **out);
/* NULL is legal. */
TN_API void tn_map_free(tn_map *map);

/* One of TN_MAP_WORDS, or "learned". */
TN_API const char *tn_map_name(const tn_map *map);
/* What it is made of, borrowed while the map lives. Named maps: their rank, sign and scale 1, the rest 0 and NULL. */
TN_API const tn_map_spec *tn_map_made_of(const tn_map *map);
/* Values an entry: rank, twice that when split. */
TN_API size_t tn_map_width(const tn_map *map);
TN_API double tn_map_scale(const tn_map *map);
/* Functions of the basis; 0 for a named map. */
TN_API size_t tn_map_basis_size(const tn_map *map);
/* phi(x), tn_map_width values, x on the scaled axis: the formula itself in double. Blocks of a feed come from a table
 * that is within 1e-6 of it, relative to the largest |phi| (of the octave of x, for chi2, intersection and js). */
TN_API void tn_map_exact(const tn_map *map, double x, double *out);
/* k1(x, y) on the scaled axis: <phi(x), phi(y)> of a learned map, the closed form that a named map approximates. */
TN_API double tn_map_kernel(const tn_map *map, double x, double y);
/* out (bins x bins): k1 at the centres of bins^2 equal squares of [0, 1]^2, x down, y across. */
TN_API tn_status tn_map_table(tn_ctx *ctx, const tn_map *map, size_t bins, double *out);
/* Cosine of the two tables of TN_MAP_BINS; NaN when one is zero everywhere. */
TN_API tn_status tn_map_similarity(tn_ctx *ctx, const tn_map *a, const tn_map *b, double *out);

/* ---- feeds ---- */

typedef struct tn_feed tn_feed;

/* Makes a feed over `count` rows of src: row i is rows[i], or i when rows is NULL. With a map (NULL: none) every column
 * becomes tn_map_width columns, and what is normalised is the mapped row. src, rows and map are borrowed while the feed
 * lives. TN_NORM_ZSCORE reads the rows once here to learn its columns' means and deviations.
 * With TN_NAN_ERROR and TN_NAN_DROP a bad row met later is TN_ERR_DATA naming file and row: rows to be
 * dropped are left out of `rows` by the caller, see tn_rows_finite. Owned by the caller, free with tn_feed_free. */
TN_API tn_status tn_feed_new(tn_ctx *ctx, const tn_features *features, const size_t *rows, size_t count,
                             tn_normalize normalize, tn_nan_policy nan, const tn_map *map, tn_feed **out);
TN_API void tn_feed_free(tn_feed *feed);

TN_API size_t tn_feed_rows(const tn_feed *feed);
TN_API size_t tn_feed_cols(const tn_feed *feed);
TN_API const tn_features *tn_feed_features(const tn_feed *feed);
/* The map it was made with, or NULL. */
TN_API const tn_map *tn_feed_map(const tn_feed *feed);
TN_API tn_normalize tn_feed_normalize(const tn_feed *feed);
/* Column means and reciprocal deviations of a z-score, cols values each; NULL for other normalisations. */
TN_API const double *tn_feed_means(const tn_feed *feed);
TN_API const double *tn_feed_scales(const tn_feed *feed);
/* Gives a feed the means and scales of a trained one (prediction). cols values each, copied. */
TN_API tn_status tn_feed_set_zscore(tn_ctx *ctx, tn_feed *feed, const double *means, const double *scales);

/* Rows [start, start+count), normalised, into out: row i begins at out[i * stride]. O(count * cols). Where neither
 * normalisation nor map bounds the values, one beyond 2^100 is TN_ERR_DATA naming file, row and column. */
TN_API tn_status tn_feed_read(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, float *out, size_t stride);
TN_API tn_status tn_feed_read_wide(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, double *out,
                                   size_t stride);

/* Marks in keep (rows of src) every row that holds NaN or infinity as false. O(rows * cols). */
TN_API tn_status tn_rows_finite(tn_ctx *ctx, const tn_features *features, bool *keep);

#ifdef __cplusplus
}
#endif
#endif
