/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Details of metrics: members of the JSON object of eval, and what its table says of them. */
#ifndef TNP_DETAILS_OUT_H
#define TNP_DETAILS_OUT_H

#include "base/text.h"
#include "evaluate/details.h"

/* Members that are not the first of their object: of class k, and of the whole. */
void tnp_class_details_json(tnp_text *text, const tn_details *details, size_t k);
void tnp_details_json(tnp_text *text, const tn_metrics *metrics, const char *const *names);

/* A class in the order of what went wrong: more rows missed first, then the lower value, then the lower index. */
typedef struct tnp_ranked {
    double missed, value; /* value: the larger the better */
    size_t index;
} tnp_ranked;
int tnp_order_worst(const void *a, const void *b);

/* Order of the classes by what went wrong, worst first: rows of the class that were missed, then recall (several labels:
 * F1; regression: r2). Free with tnp_free. */
tn_status tnp_worst_first(tn_ctx *ctx, const tn_metrics *metrics, size_t **out);
/* Class that rows of class k are most often taken for, and how many; SIZE_MAX: none. */
size_t tnp_taken_for(const tn_details *details, size_t k, size_t *count);
/* Pairs that are confused most, where rows are of one class each, and the comparison, for people. */
void tnp_details_text(tnp_text *text, const tn_metrics *metrics, const char *const *names, bool color);

#endif
