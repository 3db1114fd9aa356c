/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random problems for tests, from a generator of its own (xorshift64*), so that the library's can be judged too. */
#ifndef TN_REF_RANDOM_H
#define TN_REF_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ref_rng {
    uint64_t state;
} ref_rng;

ref_rng ref_rng_of(uint64_t seed);
uint64_t ref_bits(ref_rng *rng);
/* Uniform in [0, 1), uniform in [0, n), standard normal. */
double ref_unit(ref_rng *rng);
size_t ref_below(ref_rng *rng, size_t n);
double ref_normal(ref_rng *rng);

typedef enum ref_kind {
    REF_SIGNED,     /* class centres plus normal noise */
    REF_NONNEG,     /* the same, rectified, rows of unit norm */
    REF_NOISE,      /* labels drawn independently of the features */
    REF_LOW_RANK,   /* rank about a third of the smaller side */
    REF_DUPLICATED, /* the second half of the columns repeats the first */
    REF_CONSTANT,   /* every third column is the same number in all rows */
    REF_ZERO_ROWS,  /* every fourth row is all zero */
    REF_KINDS
} ref_kind;

const char *ref_kind_name(ref_kind kind);

/* x (n,d) and y (n,k), one 1 a row: every class occurs when n >= k. */
typedef struct ref_problem {
    size_t n, d, k;
    double *x, *y;
} ref_problem;

ref_problem ref_problem_of(ref_kind kind, size_t n, size_t d, size_t k, uint64_t seed);
void ref_problem_free(ref_problem *p);

/* The moments of a ridge problem, summed in long double and rounded once: primal a (d,d) = X'X, rhs (k,d) = Y'X;
 * dual a (n,n) = XX', rhs (k,n) = Y'. Both sides centred when intercept. yy (k). */
void ref_moments(const ref_problem *p, bool dual, bool intercept, double *a, double *rhs, double *yy);

#endif
