/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The update rules of the online learners, as functions of margin, variance and squared length. */
#ifndef TNP_ONLINE_RULES_H
#define TNP_ONLINE_RULES_H

#include <stdbool.h>

typedef enum tnp_online_rule {
    TNP_PERCEPTRON,
    TNP_SGD,
    TNP_PA,
    TNP_PA2,
    TNP_CW,
    TNP_AROW,
    TNP_NHERD,
    TNP_SCW,
    TNP_SCW2
} tnp_online_rule;

typedef struct tnp_rule {
    tnp_online_rule kind;
    double cost;           /* C */
    double phi, psi, zeta; /* of the confidence eta */
} tnp_rule;

tnp_rule tnp_rule_new(tnp_online_rule kind, double cost, double eta);
/* Keeps a variance for every weight. */
bool tnp_rule_second_order(tnp_online_rule kind);
/* The variance is needed to know whether to update at all. */
bool tnp_rule_margin_needs_variance(tnp_online_rule kind);
/* With a margin above this nothing moves, if the variance is most_v or less. */
double tnp_rule_passive_margin(const tnp_rule *rule, double most_v);

/* Step for margin m, variance v (second-order rules) and squared length l; weight multiplies C. False: passive, nothing
 * changes. mu moves by a Sigma x, 1/Sigma grows by b x^2. */
bool tnp_rule_step(const tnp_rule *rule, double weight, double m, double v, double l, double *a, double *b);

#endif
