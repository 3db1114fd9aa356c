/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One class and one sample: true scores, variances and moves. */
#include "learn/online/online_block.h"

static const float *sample(const tnp_visit *v, size_t t)
{
    return v->in->x + t * v->o->shape.dim;
}

float tnp_class_score(const tnp_visit *v, size_t c, size_t t)
{
    const tnp_online *o = v->o;
    const float *mu = o->mu + c * o->width;
    return (float)o->scratch->simd->dot(mu, sample(v, t), o->shape.dim) + mu[o->shape.dim];
}

double tnp_class_variance(const tnp_visit *v, size_t c, size_t t)
{
    const tnp_online *o = v->o;
    const float *sigma = o->sigma + c * o->width;
    double sum = o->scratch->simd->weighted_squares(sample(v, t), sigma, o->shape.dim);
    return o->shape.bias ? sum + (double)sigma[o->shape.dim] : sum;
}

void tnp_class_add(const tnp_visit *v, size_t c, size_t t, float step, float *target)
{
    const tnp_online *o = v->o;
    float *row = target + c * o->width;
    o->scratch->simd->add_scaled(step, sample(v, t), row, o->shape.dim);
    row[o->shape.dim] += o->shape.bias ? step : 0;
}

void tnp_class_move(const tnp_visit *v, size_t c, size_t t, double a, double b)
{
    static const float one = 1;
    const tnp_online *o = v->o;
    const tnp_simd *k = o->scratch->simd;
    size_t dim = o->shape.dim, at = c * o->width;
    float late = (float)(o->seen + t), step = (float)a, grow = (float)b;
    k->confident_move(sample(v, t), step, grow, late, o->mu + at, o->u ? o->u + at : NULL, o->sigma + at, dim);
    at += dim;
    if (o->shape.bias)
        k->confident_move(&one, step, grow, late, o->mu + at, o->u ? o->u + at : NULL, o->sigma + at, 1);
}
