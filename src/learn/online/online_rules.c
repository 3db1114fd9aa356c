/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Update when m < E by a, b (Ushiku et al. 2014, Table 1), phi = Phi^-1(eta), psi = 1 + phi^2/2, zeta = 1 + phi^2:
 *
 *   Perceptron  E 0 (m <= 0)    a = C
 *   SGD         E 1             a = C                              hinge, constant step, no shrinkage
 *   PA-I        E 1             a = min(C, (1 - m) / l)
 *   PA-II       E 1             a = (1 - m) / (l + 1/(2C))
 *   CW          E phi sqrt(v)   a = max(0, (-m psi + sqrt(m^2 phi^4/4 + v phi^2 zeta)) / (v zeta))
 *   AROW        E 1             a = (1 - m) / (v + 1/C)            b = C
 *   NHERD       E 1             a = (1 - m) / (v + 1/C)            b = 2C + C^2 v
 *   SCW-I       E phi sqrt(v)   a = min(C, as CW)
 *   SCW-II      E phi sqrt(v)   a = max(0, (-(2 m n + phi^2 m v) + g) / (2 (n^2 + n v phi^2))), n = v + 1/(2C),
 *                               g = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2))        (Wang, Zhao, Hoi 2012)
 *   CW, SCW                                                        b = 2 / (-v + sqrt(v^2 + 4 v / (a^2 phi^2)))
 *                                                                    = (q + sqrt(q^2 + 4 q / v)) / 2, q = a^2 phi^2
 *
 * The second form of b has nothing to cancel: where labels contradict each other CW takes v to 0 and a to infinity.
 * Below EXHAUSTED a variance is used up and the sample is passed over.
 *
 * The Perceptron moves at m = 0, or all-zero weights would never move. v = 0, l = 0 and a = 0 are passive; phi = 0 (eta
 * = 0.5) leaves b at 0. */
#include "learn/online/online_rules.h"

#include <math.h>

static const double EXHAUSTED = 1e-18; /* of a start at 1; keeps a^2 within float */

/* Inverse of the normal distribution function, by Newton on erfc from a rough start. */
static double normal_quantile(double p)
{
    double x = 0;
    for (int i = 0; i < 60; ++i) {
        double error = 0.5 * erfc(-x * 0.70710678118654752440) - p;
        double density = 0.39894228040143267794 * exp(-x * x / 2);
        double step = error / density;
        step = fmax(-1, fmin(1, step));
        x -= step;
        if (fabs(step) < 1e-15 * fmax(1, fabs(x)))
            break;
    }
    return x;
}

tnp_rule tnp_rule_new(tnp_online_rule kind, double cost, double eta)
{
    double phi = eta > 0.5 ? normal_quantile(eta) : 0;
    return (tnp_rule){kind, cost, phi, 1 + phi * phi / 2, 1 + phi * phi};
}

bool tnp_rule_second_order(tnp_online_rule kind)
{
    _Static_assert(TNP_PA2 + 1 == TNP_CW && TNP_SCW2 - TNP_CW == 4, "rules of second order are the last five");
    return kind >= TNP_CW;
}

bool tnp_rule_margin_needs_variance(tnp_online_rule kind)
{
    return kind == TNP_CW || kind == TNP_SCW || kind == TNP_SCW2;
}

double tnp_rule_passive_margin(const tnp_rule *r, double most_v)
{
    if (tnp_rule_margin_needs_variance(r->kind))
        return r->phi * sqrt(most_v);
    return r->kind == TNP_PERCEPTRON ? 0 : 1;
}

static double confidence_step(const tnp_rule *r, double m, double v)
{
    double p2 = r->phi * r->phi;
    return fmax(0, (-m * r->psi + sqrt(m * m * p2 * p2 / 4 + v * p2 * r->zeta)) / (v * r->zeta));
}

static double soft_squared_step(const tnp_rule *r, double c, double m, double v)
{
    double p2 = r->phi * r->phi, n = v + 0.5 / c;
    double g = r->phi * sqrt(p2 * m * m * v * v + 4 * n * v * (n + v * p2));
    return fmax(0, (-(2 * m * n + p2 * m * v) + g) / (2 * (n * n + n * v * p2)));
}

static double confidence_growth(const tnp_rule *r, double a, double v)
{
    double q = a * r->phi * a * r->phi;
    return (q + sqrt(q * q + 4 * q / v)) / 2;
}

bool tnp_rule_step(const tnp_rule *r, double weight, double m, double v, double l, double *a, double *b)
{
    double c = r->cost * weight, step = 0;
    *b = 0;
    switch (r->kind) {
    case TNP_PERCEPTRON:
        step = m <= 0 ? c : 0;
        break;
    case TNP_SGD:
        step = m < 1 ? c : 0;
        break;
    case TNP_PA:
        step = m < 1 && l > 0 ? fmin(c, (1 - m) / l) : 0;
        break;
    case TNP_PA2:
        step = m < 1 && c > 0 ? (1 - m) / (l + 0.5 / c) : 0;
        break;
    case TNP_AROW:
        step = m < 1 && c > 0 ? (1 - m) / (v + 1 / c) : 0;
        *b = c;
        break;
    case TNP_NHERD:
        step = m < 1 && c > 0 ? (1 - m) / (v + 1 / c) : 0;
        *b = 2 * c + c * c * v;
        break;
    case TNP_CW:
    case TNP_SCW:
    case TNP_SCW2:
        if (!(v > EXHAUSTED) || !(c > 0) || !(m < r->phi * sqrt(v)))
            return false;
        step = r->kind == TNP_SCW2 ? soft_squared_step(r, c, m, v) : confidence_step(r, m, v);
        step = r->kind == TNP_SCW ? fmin(c, step) : step;
        *b = confidence_growth(r, step, v);
        break;
    }
    *a = step;
    return step > 0;
}
