/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners one sample at a time, in double, from the table of update rules. */
#ifndef REF_ONLINE_H
#define REF_ONLINE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ref_rule {
    REF_PERCEPTRON,
    REF_SGD,
    REF_PA,
    REF_PA2,
    REF_CW,
    REF_AROW,
    REF_NHERD,
    REF_SCW,
    REF_SCW2
} ref_rule;

/* n samples of d features and k classes; rows of w and start are (k, d + 1), the intercept last. */
typedef struct ref_online_job {
    ref_rule rule;
    double cost, phi; /* phi: the normal quantile of eta */
    bool ovr, average, bias;
    size_t n, d, k, passes;
    const double *x;      /* (n,d) */
    const bool *positive; /* (n,k): the sample's classes */
    const bool *skip;     /* (n,k) or NULL: one-vs-rest pairs that are not seen */
    const double *weight; /* n or NULL: multiplies the cost */
    const double *side;   /* (k,2) or NULL: times the weight of negatives and of positives of a class, one-vs-rest */
    const double *start;  /* NULL: zeros */
} ref_online_job;

/* w receives the mean of the weights after every sample of every pass, or the last. Returns the number of updates. *close
 * counts decisions m < E that 1e-5 of max(1, |E|) would turn: float state may take them otherwise. */
size_t ref_online(const ref_online_job *job, double *w, size_t *close);

#endif
