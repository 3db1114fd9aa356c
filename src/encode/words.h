/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vocabularies: the nearest of many centres, and k-means of any number of them from blocks of rows. */
#ifndef TNP_WORDS_H
#define TNP_WORDS_H

#include "base/base.h"
#include "simd/simd.h"

enum { TNP_MOST_NEAREST = TNP_MOST_HIGHEST };

typedef struct tnp_words_table {
    size_t count, dim;
    float *centres; /* (count, dim) */
    float *half;    /* (count): -(1/2) |centre - shift|^2, made by tnp_words_ready */
    float *moved;   /* (count, dim): centre - shift */
    float *shift;   /* (dim): the mean of the centres */
} tnp_words_table;

/* all zero before, tnp_words_free after. */
tn_status tnp_words_new(tn_ctx *ctx, size_t count, size_t dim, tnp_words_table *out);
void tnp_words_free(tnp_words_table *words);
/* To be called when centres are set. */
void tnp_words_ready(tnp_words_table *words);

/* The `nearest` (at most TNP_MOST_NEAREST and count) centres of each row of x (n, dim), nearest first, the lower number
 * of equals, into which (n, nearest). distance (n), unless NULL: squared, of the first. */
tn_status tnp_words_nearest(tn_ctx *ctx, const tnp_words_table *words, const float *x, size_t n, size_t nearest,
                            uint32_t *which, float *distance);

/* Sums of one pass over all rows: what moves the centres. */
typedef struct tnp_words_sums {
    double *sums, *members, objective; /* (count, dim), (count) */
    double *squares;                   /* (count, dim): of x - centre, or NULL when nobody asks */
    size_t rows;
    float *far;      /* (TNP_MOST_NEAREST, dim): rows far from their centres, for those that have none */
    float *far_away; /* (TNP_MOST_NEAREST): how far, squared, descending */
    size_t far_count;
} tnp_words_sums;

tn_status tnp_words_sums_new(tn_ctx *ctx, const tnp_words_table *words, bool squares, tnp_words_sums *out);
void tnp_words_sums_clear(const tnp_words_table *words, tnp_words_sums *sums);
void tnp_words_sums_free(tnp_words_sums *sums);
tn_status tnp_words_add(tn_ctx *ctx, const tnp_words_table *words, const float *x, size_t n, tnp_words_sums *sums);
/* Centres to the means of their rows; those without rows to rows that are far from theirs. Returns how many of these. */
size_t tnp_words_update(tnp_words_table *words, const tnp_words_sums *sums);
/* The start, by k-means++: count rows of x (n, dim), each drawn with probability proportional to its squared distance
 * from those before. n >= 1; rows that all are equal are taken more than once. */
tn_status tnp_words_start(tn_ctx *ctx, tnp_words_table *words, const float *x, size_t n, uint64_t seed);

#endif
