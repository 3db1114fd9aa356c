/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log evidence of a set from a few lambdas, for a set that is a measured one with further columns beside it. */
#ifndef TNP_ROUGH_H
#define TNP_ROUGH_H

#include "learn/ridge/border.h"
#include "select/evidence.h"

/* Lambdas that are looked at: about so many, and at most. */
enum { TNP_ROUGH_USUAL = 8, TNP_ROUGH_MOST = 14 };

/* The set that is known, and the one it is to become. */
typedef struct tnp_rough_of {
    const tnp_spectrum *known;   /* its form */
    const tn_evidence *evidence; /* and evidence */
    const tnp_noise *noise;      /* of the columns of both */
    const bool *constant;        /* (classes): targets that never change */
    double own_least, own_most;  /* log lambda of the further columns by themselves: the ends of what is finite */
    double size;                 /* their mean square in that of the known ones */
} tnp_rough_of;

/* Whether it may be asked: every class of the known set has its maximum inside, and the further columns none far away. */
bool tnp_rough_may_begin(const tnp_rough_of *of);
/* *sure: *value is within TNP_ROUGH of what tnp_evidence_new gives for all columns (select/search.h), and neither needs
 * more digits than the moments have. If not, *value means nothing. */
tn_status tnp_rough_evidence(tn_ctx *ctx, const tnp_rough_of *of, tnp_border *border, double *value, bool *sure);

#endif
