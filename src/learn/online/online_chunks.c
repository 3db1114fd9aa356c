/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A learner that is given its rows in chunks. A sample meets the weights that all samples before it left, whatever
 * block or chunk they came in (online.c), so the state after any chunking of the same rows is the same to the bit. What
 * would need to be known of rows that are still to come is told before (tn_online_expect) or refused: the sizes of
 * classes where negatives are drawn or classes balanced, means and deviations of columns where they are z-scored or
 * centred.
 *
 * A chunk is not undone when it fails in its middle: that would take a copy of the whole state for every chunk. The
 * object is spent then, and every later call says why. */
#include "learn/online/online_chunks.h"
#include "algebra/blas.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

tn_status tnp_online_usable(tn_ctx *ctx, const tn_online *o)
{
    return o->spent == TN_OK ? TN_OK : tnp_fail(ctx, o->spent, "%s", o->why);
}

void tn_online_free(tn_online *o)
{
    if (!o)
        return;
    tnp_free(o->prepare.transform);
    tn_map_free(o->prepare.map);
    tn_head_free(o->head);
    tnp_online_free(o->learner);
    tnp_negatives_free(o->negatives);
    tnp_free(o);
}

size_t tn_online_samples(const tn_online *o)
{
    return o->learner ? o->learner->seen : 0;
}

size_t tn_online_updates(const tn_online *o)
{
    return o->learner ? o->learner->updates : 0;
}

size_t tn_online_mistakes(const tn_online *o)
{
    return o->learner ? o->learner->mistakes : 0;
}

size_t tn_online_classes(const tn_online *o)
{
    return o->head->classes;
}

const char *const *tn_online_class_names(const tn_online *o)
{
    return (const char *const *)o->head->names;
}

/* ---- weights ---- */

tn_status tnp_online_check_start(tn_ctx *ctx, const tn_head *from, bool ovr, bool bias)
{
    bool has_place = bias || !ovr || from->threshold == 0;
    if (from->source_count != 0)
        return tnp_fail(
            ctx, TN_ERR_ARG,
            "option from: the head was made by transfer and has weights of %zu sources beside those of its features; "
            "expected a head of fit",
            from->source_count);
    for (size_t k = 0; !bias && has_place && k < from->classes; ++k)
        has_place = from->bias[k] == 0;
    return has_place
               ? TN_OK
               : tnp_fail(
                     ctx, TN_ERR_ARG,
                     "option from: the head has intercepts, or decides at %g, which option intercept no has no place "
                     "for",
                     from->threshold);
}

/* Intercept of class k for columns with another centre: b + w (c - its own c). */
static double start_bias(const tn_head *from, size_t k, const double *centre)
{
    const float *w = from->weight + k * from->dim;
    double bias = (double)from->bias[k];
    for (size_t j = 0; centre && j < from->dim; ++j)
        bias += (double)w[j] * (centre[j] - (from->centre ? from->centre[j] : 0));
    return bias;
}

/* One-vs-rest rules decide at 0 and want margins of 1: a head that was fitted to 0 and 1, and decides at 1/2, goes on
 * as 2 s - 1, any other threshold moves to 0. Margins between classes need neither. */
void tnp_online_start(const tn_head *from, const double *centre, bool ovr, bool bias, float *start)
{
    size_t width = tnp_row_stride(from->dim + 1);
    double threshold = ovr ? from->threshold : 0, scale = threshold == 0.5 ? 2 : 1;
    for (size_t k = 0; k < from->classes; ++k, start += width) {
        for (size_t j = 0; j < from->dim; ++j)
            start[j] = (float)(scale * (double)from->weight[k * from->dim + j]);
        start[from->dim] = bias ? (float)(scale * (start_bias(from, k, centre) - threshold)) : 0;
    }
}

void tnp_online_fill(const float *w, tn_head *head)
{
    size_t width = tnp_row_stride(head->dim + 1);
    for (size_t k = 0; k < head->classes; ++k) {
        memcpy(head->weight + k * head->dim, w + k * width, head->dim * sizeof *w);
        head->bias[k] = w[k * width + head->dim];
    }
    head->threshold = 0;
    head->log_evidence = NAN;
}

tn_status tn_online_head(tn_ctx *ctx, const tn_online *o, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    float *w = NULL;
    TN_TRY(tnp_online_usable(ctx, o));
    if (!o->learner)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "online: no row was learned yet, so that nothing is known of the columns"));
    TN_TRY(tnp_head_like(ctx, o->head, tn_online_class_names(o), o->head->classes, &head));
    TN_TRY(tnp_alloc_raw(ctx, o->head->classes * o->learner->width, sizeof *w, &w));
    tnp_online_weights(o->learner, w);
    tnp_online_fill(w, head);
    TN_TRY(tnp_head_check(ctx, head));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_free(w);
    return st;
}

/* ---- learning ---- */

tn_status tnp_online_learner(tn_ctx *ctx, const tn_online *o, size_t classes, size_t dim, tnp_online **out)
{
    tnp_online_shape shape = o->shape;
    shape.classes = classes;
    shape.dim = dim;
    return tnp_online_new(ctx, &o->rule, &shape, out);
}

/* Draws of negatives go by the rows that were expected: there may be no others. */
static tn_status check_expected(tn_ctx *ctx, const tn_online *o, const tnp_targets *y)
{
    tn_status st = TN_OK;
    const tnp_negatives *n = o->negatives;
    size_t *positives = NULL;
    if (!isfinite(tnp_negatives_share(&o->options)))
        return TN_OK;
    if (!n)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "online: multiclass e-ovr and w-ovr show every class a number of negatives that goes by its "
                        "positives, which must be known before the first row: call tn_online_expect");
    TN_TRY(tnp_alloc(ctx, n->classes, sizeof *positives, &positives));
    for (size_t p = y->first[0]; p < y->first[y->rows]; ++p)
        ++positives[y->cls[p]];
    for (size_t c = 0; c < n->classes; ++c)
        if (y->rows > n->rows_left || positives[c] > n->rows_left - n->left[c] || y->rows - positives[c] > n->left[c])
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                            "online: %zu rows, %zu of class '%s', but %zu and %zu are left of those expected", y->rows,
                            positives[c], o->head->names[c], n->rows_left, n->rows_left - n->left[c]));
done:
    tnp_free(positives);
    return st;
}

tn_status tnp_online_take(tn_ctx *ctx, tn_online *o, tnp_online *learner, const tnp_online_data *data, bool *taken)
{
    tn_status st = TN_OK;
    tnp_passes *passes = NULL;
    uint64_t before = learner->seen;
    tnp_online_data part = *data;
    part.negatives = o->negatives;
    TN_TRY(check_expected(ctx, o, data->y));
    TN_TRY(tnp_passes_new(ctx, &part, &o->options, o->seed, o->shape.block, &passes));
    TN_TRY(tnp_passes_run(ctx, passes, 0, &learner, 1));
done:
    *taken = learner->seen > before;
    if (st != TN_OK && *taken) {
        o->spent = st;
        tnp_format(o->why, sizeof o->why, "online: spent, a chunk failed after some of its rows: %s",
                   tn_ctx_message(ctx));
        st = tnp_online_usable(ctx, o);
    }
    tnp_passes_free(passes);
    return st;
}

tn_status tn_online_expect(tn_ctx *ctx, tn_online *o, size_t rows, const size_t *positives)
{
    tn_status st = TN_OK;
    tnp_negatives *n = NULL;
    size_t k = o->head->classes;
    TN_TRY(tnp_online_usable(ctx, o));
    TN_TRY(tnp_negatives_new(ctx, k, tnp_negatives_share(&o->options), o->seed, &n));
    n->rows = rows;
    for (size_t c = 0; c < k; ++c) {
        if (positives[c] > rows)
            TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "online: %zu rows of class '%s' are expected among %zu", positives[c],
                            o->head->names[c], rows));
        n->positives[c] = positives[c];
    }
    tnp_negatives_begin(n, o->expectations++);
    tnp_negatives_free(o->negatives);
    o->negatives = n;
    n = NULL;
done:
    tnp_negatives_free(n);
    return st;
}

/* ---- classes ---- */

/* State of the classes that were there; NULL where the rule has none. */
static void copy_rows(const float *from, const tnp_online *learner, float *to)
{
    if (from)
        memcpy(to, from, learner->shape.classes * learner->width * sizeof *to);
}

tn_status tn_online_add_classes(tn_ctx *ctx, tn_online *o, const char *const *names, size_t count)
{
    tn_status st = TN_OK;
    size_t old = o->head->classes;
    const char **all = NULL;
    tn_head *head = NULL;
    tnp_online *learner = NULL;
    TN_TRY(tnp_online_usable(ctx, o));
    TN_TRY(tnp_alloc(ctx, old + count, sizeof *all, &all));
    for (size_t k = 0; k < old + count; ++k)
        all[k] = k < old ? o->head->names[k] : names[k - old];
    TN_TRY(tnp_check_class_names(ctx, TN_ERR_ARG, "online", all, old + count));
    TN_TRY(tnp_head_like(ctx, o->head, all, old + count, &head));
    if (o->learner) {
        TN_TRY(tnp_online_learner(ctx, o, old + count, o->head->dim, &learner));
        copy_rows(o->learner->mu, o->learner, learner->mu);
        copy_rows(o->learner->u, o->learner, learner->u);
        copy_rows(o->learner->sigma, o->learner, learner->sigma);
        learner->seen = o->learner->seen;
        learner->updates = o->learner->updates;
        learner->mistakes = o->learner->mistakes;
    }
    tn_head_free(o->head);
    tnp_online_free(o->learner);
    tnp_negatives_free(o->negatives); /* its counts lack the new classes */
    o->head = head;
    o->learner = learner;
    o->negatives = NULL;
    head = NULL;
    learner = NULL;
done:
    tnp_free(all);
    tn_head_free(head);
    tnp_online_free(learner);
    return st;
}
