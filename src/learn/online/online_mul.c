/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The true class against the best wrong one, on a block. The screen estimates all scores at the weights the block
 * begins with and names the classes that can be the best wrong one; of these and of the true class the scores are taken
 * at the weights of the moment, which are written at once, sample by sample as in the literal algorithm. Where the
 * estimates alone prove that the margin is met, nothing is taken at all.
 *
 *   first order    the screen follows moves by the samples' products; the average takes the moves of a block at its
 *                  end, classes in parallel, each in the order of its moves
 *   second order   moves by a Sigma x are followed by how far they go, |Sigma x| <= sqrt(x'Sigma x) as Sigma <= 1 */
#include "learn/online/online_block.h"

#include <math.h>

/* Full scores of one sample's rivals: in parallel where they are many or long. */
typedef struct rivalry {
    const tnp_visit *v;
    size_t t;
} rivalry;

static void score_rival(void *arg, size_t i)
{
    const rivalry *r = arg;
    tnp_screen *s = r->v->o->scratch->screen;
    s->rival_scores[i] = tnp_class_score(r->v, s->rivals[i], r->t);
}

/* The place of the best of the rivals, ties to the lower class. */
static size_t best_rival(tn_ctx *ctx, const tnp_visit *v, size_t t, size_t count)
{
    rivalry r = {v, t};
    const float *scores = v->o->scratch->screen->rival_scores;
    size_t best = 0;
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)count * (double)v->o->shape.dim), count, score_rival, &r);
    for (size_t i = 1; i < count; ++i)
        best = scores[i] > scores[best] ? i : best;
    return best;
}

static void note_move(tnp_online_scratch *r, size_t t, size_t c, float step)
{
    uint32_t place = (uint32_t)r->move_count++;
    r->moves[place] = (tnp_move){(uint32_t)t, 0, step};
    if (r->end[c] != 0)
        r->moves[r->end[c] - 1].after = place + 1;
    else {
        r->begin[c] = place + 1;
        r->touched[r->touched_count++] = (uint32_t)c;
    }
    r->end[c] = place + 1;
}

static void move_first(const tnp_visit *v, size_t c, size_t t, float step)
{
    tnp_online_scratch *r = v->o->scratch;
    tnp_class_add(v, c, t, step, v->o->mu);
    if (r->estimated)
        tnp_screen_move(r->screen, t, v->in->count, c, step);
    else
        tnp_screen_drift(r->screen, c, fabs((double)step) * (double)r->screen->size[t]);
    if (v->o->u)
        note_move(r, t, c, step);
}

/* All classes but y, of which nothing is known. */
static size_t all_rivals(tnp_screen *s, size_t y, float *above)
{
    size_t count = 0;
    for (size_t c = 0; c < s->classes; ++c)
        if (c != y)
            s->rivals[count++] = (uint32_t)c;
    *above = -HUGE_VALF;
    return count;
}

static void visit_sample(tn_ctx *ctx, const tnp_visit *v, size_t t)
{
    tnp_online *o = v->o;
    tnp_screen *screen = o->scratch->screen;
    bool second = tnp_rule_second_order(o->rule.kind);
    size_t y = v->in->cls[v->in->first[t]];
    double length = 2 * screen->length[t], passive = tnp_rule_passive_margin(&o->rule, length); /* as Sigma <= 1 */
    float above;
    size_t count = o->scratch->estimated ? tnp_screen_rivals(screen, t, y, &above) : all_rivals(screen, y, &above);
    if ((double)above > passive)
        return;
    size_t best = best_rival(ctx, v, t, count), wrong = screen->rivals[best];
    double m = (double)tnp_class_score(v, y, t) - (double)screen->rival_scores[best], own = 0, other = 0, a = 0, b = 0;
    o->mistakes += m <= 0;
    if (second && m <= passive) {
        own = tnp_class_variance(v, y, t);
        other = tnp_class_variance(v, wrong, t);
    }
    if (!tnp_rule_step(&o->rule, (double)tnp_sample_weight(v->in, t), m, own + other, length, &a, &b))
        return;
    ++o->updates;
    if (second) {
        tnp_class_move(v, y, t, a, b);
        tnp_class_move(v, wrong, t, -a, b);
        tnp_screen_drift(screen, y, a * sqrt(own));
        tnp_screen_drift(screen, wrong, a * sqrt(other));
    } else {
        move_first(v, y, t, (float)a);
        move_first(v, wrong, t, -(float)a);
    }
}

/* Brings the moves of one class into its average, and forgets them. */
static void average_class(void *arg, size_t i)
{
    const tnp_visit *v = arg;
    const tnp_online_scratch *r = v->o->scratch;
    size_t c = r->touched[i];
    for (uint32_t place = r->begin[c]; place != 0; place = r->moves[place - 1].after) {
        const tnp_move *m = &r->moves[place - 1];
        tnp_class_add(v, c, m->sample, m->step * (float)(v->o->seen + m->sample), v->o->u);
    }
    r->begin[c] = r->end[c] = 0;
}

void tnp_online_mul(tn_ctx *ctx, tnp_visit *v)
{
    tnp_online *o = v->o;
    tnp_online_scratch *r = o->scratch;
    r->estimated = v->in->count > TNP_FULL_SCORES;
    if (r->estimated)
        tnp_screen_estimate(ctx, r->screen, o->mu, o->width, v->in->x, v->in->count);
    else
        tnp_screen_lengths(ctx, r->screen, v->in->x, v->in->count);
    for (size_t t = 0; t < v->in->count; ++t)
        visit_sample(ctx, v, t);
    tnp_parallel(ctx, tnp_threads_for(ctx, 4.0 * (double)r->move_count * (double)o->shape.dim), r->touched_count,
                 average_class, v);
    r->touched_count = r->move_count = 0;
}
