/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the figures of folds say about a method, and about two of them. */
#ifndef TNP_RESAMPLED_H
#define TNP_RESAMPLED_H

#include <stddef.h>

typedef struct tnp_resampled {
    size_t count;    /* figures that exist */
    double mean, se; /* NaN of none; se NaN of fewer than two */
    double t, p;     /* of the mean against 0, two-sided; NaN where se is */
} tnp_resampled;

/* Of values (count); NaN is a figure that does not exist. ratio: rows that a model was judged by over rows that it was
 * trained on. */
tnp_resampled tnp_resample(const double *values, size_t count, double ratio);
/* The same of a[i] - b[i], where both exist. */
tnp_resampled tnp_resample_pairs(const double *a, const double *b, size_t count, double ratio);
/* P(|T| >= |t|) of Student's distribution with so many degrees of freedom, from 1. */
double tnp_student_p(double t, size_t freedom);

#endif
