/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of rows X (N,D) and targets Y (N,K): everything a ridge model needs, in O(D^2 + K D) memory. Built by
 * blocks of rows, mergeable, and cut by columns for ensembles. This is the tn_moments of tenon/learn.h. */
#ifndef TNP_MOMENTS_H
#define TNP_MOMENTS_H

#include "base/base.h"

/* Targets of N rows: lists of positive classes (first, cls: as in tn_labels), or dense values (N,K). weight: of every
 * row in a weighted problem, above 0; NULL: all 1. Borrowed. */
typedef struct tnp_targets {
    size_t rows, classes;
    const size_t *first;
    const uint32_t *cls;
    const double *values;
    const double *weight;
} tnp_targets;

/* Sums are taken of x - shift; shift is the mean of the first block where it is large, so that offsets cost no digits,
 * else 0. With weights every term of every sum is multiplied by that of its row. */
typedef struct tnp_moments {
    size_t rows, dim, classes;
    double weight;     /* of all rows together: as many as rows without weights */
    double log_weight; /* sum of the logarithms of the weights */
    bool wide;         /* blocks come in double */
    bool framed;       /* shift was given, not taken from the first block */
    double trace;      /* of gram as its blocks were added: about the shift they had then */
    double noise;      /* variance of the rounding error of gram: its squared Frobenius norm */
    double *shift;     /* (D) */
    double *gram;      /* (D,D), upper triangle: sum (x - shift)(x - shift)' */
    double *sum;       /* (D): sum (x - shift) */
    double *xty;       /* (K,D): sum y (x - shift)' */
    double *ysum;      /* (K) */
    double *yy;        /* (K): sum y^2 */
    float *shift_f32;  /* (D), narrow only: shift is rounded to float, so both are equal */
    double *excess;    /* (D), narrow only: the diagonal of gram less the squares added up in double */
    double *squares;   /* (D), narrow only: the diagonal of one block's product */
    void *scratch;     /* narrow only: of tnp_gram_scratch bytes for a block */
} tnp_moments;

/* Rows that one block should have: few enough that a float product keeps its digits, many enough that adding it
 * to the double sum costs little. */
size_t tnp_moments_block(size_t dim, bool wide);
/* Bytes that tnp_moments_new will allocate, SIZE_MAX when that overflows; and those that tnp_moments_complete frees. */
size_t tnp_moments_bytes(size_t dim, size_t classes, bool wide);
size_t tnp_moments_scratch(size_t dim, bool wide);

TN_API void tn_moments_free(tnp_moments *moments);
TN_API size_t tn_moments_rows(const tnp_moments *moments);
TN_API size_t tn_moments_cols(const tnp_moments *moments);
TN_API size_t tn_moments_classes(const tnp_moments *moments);
TN_API tn_status tn_moments_merge(tn_ctx *ctx, tnp_moments *into, const tnp_moments *from);

tn_status tnp_moments_new(tn_ctx *ctx, size_t dim, size_t classes, bool wide, tnp_moments **out);
/* Gives empty statistics their shift (D), where a better one is known than the first block will have; floats for narrow
 * ones. */
void tnp_moments_frame(tnp_moments *moments, const double *shift);
/* Of a team (base/team.h): rank 0's shift, which its first block gave it, for the empty statistics of the others; and
 * the sums of all members, of one frame, for all. */
tn_status tnp_moments_share_frame(tn_ctx *ctx, tnp_moments *moments);
tn_status tnp_moments_sum(tn_ctx *ctx, tnp_moments *moments);

/* Adds rows [start, start + count) of the targets with their features x (count, D), compact. x is used as scratch: its
 * contents are undefined afterwards. At most tnp_moments_block rows at once. Weighted rows are added in double only. */
tn_status tnp_moments_add(tn_ctx *ctx, tnp_moments *moments, float *x, const tnp_targets *y, size_t start,
                          size_t count);
tn_status tnp_moments_add_wide(tn_ctx *ctx, tnp_moments *moments, double *x, const tnp_targets *y, size_t start,
                               size_t count);

/* No rows will be added any more: frees the scratch. */
void tnp_moments_complete(tnp_moments *moments);

/* into -= from, which holds some of its rows: a training fold is everything less the fold held out. */
void tnp_moments_subtract(tnp_moments *into, const tnp_moments *from);

/* How the targets of one part are those of another. */
typedef struct tnp_match {
    const size_t *place; /* classes of the part: which class of the whole each is; NULL: the same ones */
    const double *moved; /* the same: what the whole's targets are above the part's; NULL: nothing */
} tnp_match;
/* into += from or into -= from with such targets; both have a frame. */
void tnp_moments_add_part(tnp_moments *into, const tnp_moments *from, const tnp_match *match);
void tnp_moments_take_part(tnp_moments *into, const tnp_moments *from, const tnp_match *match);
/* Sums of other classes: class k of the moments becomes place[k], SIZE_MAX: gone; others begin at 0. Then they are given
 * to the moments, in exchange for those that they have. Destroy is legal after failure, and on zeros. */
typedef struct tnp_class_sums {
    size_t classes;
    double *xty, *ysum, *yy;
} tnp_class_sums;
tn_status tnp_class_sums_init(tn_ctx *ctx, const tnp_moments *moments, size_t classes, const size_t *place,
                              tnp_class_sums *out);
void tnp_class_sums_destroy(tnp_class_sums *sums);
void tnp_moments_swap_sums(tnp_moments *moments, tnp_class_sums *sums);
/* Targets y become y + by (classes). */
void tnp_moments_move_targets(tnp_moments *moments, const double *by);

typedef struct tnp_range {
    size_t from, to;
} tnp_range;
/* How many columns such ranges have together. */
size_t tnp_range_columns(const tnp_range *parts, size_t count);

/* Whether every column is of a size whose squares float can hold: none overflows, none that varies vanishes. */
bool tnp_moments_in_range(const tnp_moments *moments);
/* Sets noise and trace from gram alone, for statistics that come from a file: blocks of the usual size and alike. */
void tnp_moments_assume_noise(tnp_moments *moments);
/* Variance of the rounding of `rows` products added up in one block whose products have this trace: of the Frobenius
 * norm. */
double tnp_block_noise(size_t rows, bool wide, double trace);

/* What the rounding of moments may have done to a symmetric matrix A: estimates, one standard deviation. */
typedef struct tnp_noise {
    double norm; /* spectral norm of the error of A */
    double
        share;   /* of an entry, against the root of the product of its two diagonal entries before they were centred */
    double form; /* error of u'Au for any unit vector u: no more than that */
    double entry; /* error of one feature of one row, as it went into the moments */
    size_t flat;  /* columns that never change: so many eigenvalues of A are zero by right */
    size_t twins; /* products of rows: rows that are the same as an earlier one, each a zero of A too */
    size_t faint; /* columns that do change, by less than the noise */
} tnp_noise;
/* Of the moments below, on the same columns; scale (d): those diagonal entries. */
void tnp_moments_noise(const tnp_moments *moments, const tnp_range *parts, size_t count, bool intercept, double *scale,
                       tnp_noise *out);

/* The moments of a ridge model on the columns given by `parts` ranges [from, to), ascending:
 *   gram (d,d) upper, xty (K,d), yy (K), mean (d), ymean (K), centred when intercept, else about zero, means 0.
 * Arrays are the caller's; gram may be the statistics' own when all columns are taken. */
void tnp_moments_of(const tnp_moments *moments, const tnp_range *parts, size_t count, bool intercept, double *gram,
                    double *xty, double *yy, double *mean, double *ymean);
/* What of them is of the targets. */
void tnp_moments_targets(const tnp_moments *moments, const tnp_range *parts, size_t count, bool intercept, double *xty,
                         double *yy, double *ymean);
/* Moments of the columns `rows` with the columns `columns`, none of which is in both: out (rows, columns). */
void tnp_moments_cross(const tnp_moments *moments, const tnp_range *rows, size_t row_count, const tnp_range *columns,
                       size_t column_count, bool intercept, double *out);

#endif
