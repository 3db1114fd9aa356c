/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows beside a ridge problem, for leave-one-out: with A, h_k of learn/ridge/spectrum.h and rows x in its original
 * coordinates, x'(A + lambda I)^-1 x and x'(A + lambda I)^-1 Q h_k for any lambda. */
#ifndef TNP_FORMS_H
#define TNP_FORMS_H

#include "learn/ridge/spectrum.h"

typedef struct tnp_forms tnp_forms;

/* rows (count, order) are taken over, also on failure. The spectrum is borrowed. */
tn_status tnp_forms_new(tn_ctx *ctx, const tnp_spectrum *spectrum, size_t count, double *rows, tnp_forms **out);
void tnp_forms_free(tnp_forms *forms);

/* Says that so many more lambdas are going to be asked for: from the second on it pays to bring the rows to the
 * coordinates of a form, 2 count order^2 flops, for many to those of the tridiagonal one. */
tn_status tnp_forms_expect(tn_ctx *ctx, tnp_forms *forms, size_t lambdas);
/* out (count): x'(A + lambda I)^-1 x. */
tn_status tnp_forms_at(tn_ctx *ctx, tnp_forms *forms, double lambda, double *out);
/* out (count, classes): x'(A + lambda_k I)^-1 Q h_k, zeros where lambda is infinite. */
tn_status tnp_forms_scores(tn_ctx *ctx, tnp_forms *forms, const double *lambda, double *out);

#endif
