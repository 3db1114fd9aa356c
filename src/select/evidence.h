/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Evidence of a ridge problem in tridiagonal form, and one lambda by generalised cross-validation. */
#ifndef TNP_EVIDENCE_H
#define TNP_EVIDENCE_H

#include "learn/ridge/loo.h"
#include "select/options.h"

/* rows, dim: of the problem, for the record and for EM. constant (classes): targets that never change, left out.
 * Owned by the caller, free with tn_evidence_free. */
tn_status tnp_evidence_new(tn_ctx *ctx, const tnp_spectrum *spectrum, size_t rows, size_t dim, const bool *constant,
                           const tnp_evidence_options *options, tn_evidence **out);

/* Estimates how far rounding of the moments may have moved the log evidence, relative to it: out->error. */
tn_status tnp_evidence_error(tn_ctx *ctx, const tnp_spectrum *spectrum, tn_evidence *out);
/* The same without a look at the weights: never less. */
tn_status tnp_evidence_error_bound(tn_ctx *ctx, const tnp_spectrum *spectrum, const tn_evidence *evidence,
                                   double *error);

/* The lambda that minimises N sum_k |y_k - Xw_k|^2 / (N - gamma - intercept)^2; infinite when no features is
 * best. spectrum: of the ridge that loo was made for. */
tn_status tnp_gcv_lambda(tn_ctx *ctx, const tnp_spectrum *spectrum, size_t rows, bool intercept, const bool *constant,
                         double *lambda);

/* Minimises f over log lambda in [log floor, log 1e6 largest]: a scan by decades, then golden section around the
 * best. f may fail. Infinite lambda is not considered here. */
tn_status tnp_minimise_lambda(tn_ctx *ctx, const tnp_spectrum *spectrum,
                              tn_status (*f)(tn_ctx *ctx, void *arg, double lambda, double *value), void *arg,
                              double *lambda, double *value);

/* The lambda with the least leave-one-out squared error over all classes; infinite when no features is
 * best. spectrum: of the ridge that loo was made for. */
tn_status tnp_loo_lambda(tn_ctx *ctx, tnp_loo *loo, const tnp_spectrum *spectrum, double *lambda);

#endif
