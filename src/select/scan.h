/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The coarse scan of F over lambda, one pass for all classes: what brackets every maximum. */
#ifndef TNP_SCAN_H
#define TNP_SCAN_H

#include "learn/ridge/spectrum.h"
#include "select/options.h"

enum { TNP_SCAN = 37, TNP_SCAN_MOST = 129 };

typedef struct tnp_scan {
    size_t count; /* points from the spectrum's floor to 1e6 times its largest eigenvalue, half a decade apart: TNP_SCAN
                                for the usual 18 decades, more below it */
    double x[TNP_SCAN_MOST]; /* log lambda */
    double *f, *slope;       /* (tiles, count, TNP_LANES): F and dF/dlog lambda of every class */
} tnp_scan;

/* The spectrum must have a rank above 0. */
tn_status tnp_scan_init(tn_ctx *ctx, const tnp_spectrum *spectrum, tnp_scan *scan);
void tnp_scan_destroy(tnp_scan *scan);

/* F from log det(I + X'X/lambda) and R(lambda). */
double tnp_log_evidence(const tnp_spectrum *spectrum, double logdet, double r);

/* The one lambda that maximises the sum over the classes that are not constant: out->lambda_shared and
 * out->log_evidence_shared, from out->log_null and out->degenerate_classes. */
tn_status tnp_shared_lambda(tn_ctx *ctx, const tnp_spectrum *spectrum, const tnp_scan *scan, const bool *constant,
                            double tolerance, tn_evidence *out);

#endif
