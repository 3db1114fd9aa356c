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

/* x (n,d); positive (n,k): the sample's classes; skip (n,k) or NULL: one-vs-rest pairs that are not seen. w (k,d+1) receives
 * the weights, intercept last: the mean over all samples, or the last. Returns the number of updates. eta_phi is the normal
 * quantile of eta. */
size_t ref_online(ref_rule rule, double cost, double phi, bool ovr, bool average, const double *x, const bool *positive,
                  const bool *skip, size_t n, size_t d, size_t k, double *w);

#endif
