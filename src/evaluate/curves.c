/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points of the ROC and precision-recall curves of every class against the rest, and the ranking metrics of every
 * resample. Groups g of equal score, and what is counted of them, are those of ranking_metrics.c.
 *
 *   roc[c, k]   true positive rate at false positive rate x = k / 40: the largest on the polyline through
 *               (fp, tp) after each group, which is a slope where positives and negatives tie
 *   pr[c, k]    largest precision at a recall of k / 40 or more
 *   resample b  pos, tie and gap are sums of weights[i, b]; ap, ap_voc07, auc of a class as for single rows, means over
 *               the classes that have both kinds of rows in the resample
 *
 * Where a row falls among the groups does not depend on the resample: it is looked up once per class, and LANES resamples
 * are then counted together, so that the compiler makes vectors of them. Classes are dealt to SLOTS stretches of
 * scratch, whatever the number of threads, and sums are added in the order of the slots.
 * Oracle: scikit-learn's roc_curve and precision_recall_curve, tests/metrics/run. */
#include "evaluate/details.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, SLOTS = 8, KINDS = 3 };

typedef struct slot {
    float *v;                /* most positives */
    size_t *pos, *tie, *gap; /* most positives */
    uint32_t *rows, *place;  /* scored rows that are in a group or above one, and which; labels->rows */
    unsigned char *truth;    /* of those rows */
    uint32_t *acc;           /* (most positives, KINDS, LANES) */
    double *sums;            /* (KINDS + 1, resamples): ap, voc07, auc, classes */
    size_t groups, used, positives;
} slot;

typedef struct job {
    tn_view scores;
    tn_details *d;
    size_t slots;
    slot slot[SLOTS];
} job;

/* Groups of class c, the place of every row that matters, and the counts of single rows. */
static void find_groups(const job *work, slot *s, size_t c)
{
    const tn_details *d = work->d;
    size_t used = 0;
    s->positives = 0;
    for (size_t i = 0; i < d->labels->rows; ++i)
        if (d->scored[i] && tnp_metrics_has(d->labels, i, c))
            s->v[s->positives++] = work->scores.data[i * work->scores.stride + c];
    s->groups = tnp_rank_groups(s->v, s->pos, s->tie, s->gap, s->positives);
    for (size_t i = 0; s->groups > 0 && i < d->labels->rows; ++i) {
        if (!d->scored[i])
            continue;
        float score = work->scores.data[i * work->scores.stride + c];
        size_t g = tnp_rank_place(s->v, s->groups, score);
        if (g == s->groups)
            continue;
        bool there = tnp_metrics_has(d->labels, i, c), equal = s->v[g] == score;
        s->tie[g] += equal && !there;
        s->gap[g] += !equal;
        s->rows[used] = (uint32_t)i;
        s->place[used] = (uint32_t)g;
        s->truth[used++] = there ? 0 : equal ? 1 : 2;
    }
    s->used = used;
}

/* ---- curves ---- */

static void draw_roc(const slot *s, double negatives, double *roc)
{
    double tp = 0, fp = 0, positives = (double)s->positives;
    size_t k = 0;
    for (size_t g = 0; g < s->groups; ++g) {
        double from = fp + (double)s->gap[g], to = from + (double)s->tie[g], next = tp + (double)s->pos[g];
        for (; k < TNP_POINTS && (double)k * negatives < from * (TNP_POINTS - 1); ++k)
            roc[k] = tp / positives;
        for (; k < TNP_POINTS && (double)k * negatives < to * (TNP_POINTS - 1); ++k) {
            double x = (double)k * negatives / (TNP_POINTS - 1);
            roc[k] = (tp + (x - from) / (to - from) * (double)s->pos[g]) / positives;
        }
        fp = to;
        tp = next;
    }
    for (; k < TNP_POINTS; ++k)
        roc[k] = 1;
}

static void draw_pr(const slot *s, double *pr)
{
    double tp = 0, fp = 0, best = 0;
    for (size_t g = 0; g < s->groups; ++g) {
        tp += (double)s->pos[g];
        fp += (double)(s->gap[g] + s->tie[g]);
    }
    size_t k = TNP_POINTS; /* levels from k up are done */
    for (size_t g = s->groups; g-- > 0;) {
        double before = tp - (double)s->pos[g];
        best = fmax(best, tp / (tp + fp));
        for (; k > 0 && (g == 0 || before * (TNP_POINTS - 1) < (double)(k - 1) * (double)s->positives); --k)
            pr[k - 1] = best;
        fp -= (double)(s->gap[g] + s->tie[g]);
        tp = before;
    }
}

/* ---- resamples ---- */

/* acc of LANES resamples from b on; those behind the last count rows of weight 0. */
static void accumulate(const tn_details *d, const slot *s, size_t b)
{
    const size_t lanes = tnp_min(LANES, d->resamples - b);
    memset(s->acc, 0, s->groups * KINDS * LANES * sizeof *s->acc);
    for (size_t r = 0; r < s->used; ++r) {
        uint32_t *restrict sum = s->acc + ((size_t)s->place[r] * KINDS + s->truth[r]) * LANES;
        const uint8_t *restrict weight = d->weights + (size_t)s->rows[r] * d->resamples + b;
        if (lanes == LANES)
            for (size_t l = 0; l < LANES; ++l)
                sum[l] += weight[l];
        else
            for (size_t l = 0; l < lanes; ++l)
                sum[l] += weight[l];
    }
}

/* Precisions are looked through from the last group back; tp and fp are those of all groups at first. */
static double voc07(const slot *s, size_t lane, double tp, double fp)
{
    double sum = 0, best = 0, positives = tp;
    size_t level = 11; /* recall levels 10 .. level are in the sum */
    for (size_t g = s->groups; g-- > 0;) {
        const uint32_t *acc = s->acc + g * KINDS * LANES + lane;
        double before = tp - acc[0];
        best = fmax(best, tp > 0 ? tp / (tp + fp) : 0);
        while (level > 0 && (g == 0 || 10 * before < (double)(level - 1) * positives)) {
            sum += best;
            --level;
        }
        tp = before;
        fp -= acc[LANES] + (double)acc[2 * LANES];
    }
    return sum / 11;
}

static void take_figures(const tn_details *d, const slot *s, size_t b, size_t lane)
{
    double positives = 0, tp = 0, fp = 0, ap = 0, pairs = 0;
    for (size_t g = 0; g < s->groups; ++g)
        positives += s->acc[g * KINDS * LANES + lane];
    const double negatives = (double)d->rows - positives;
    if (positives == 0 || negatives <= 0)
        return;
    for (size_t g = 0; g < s->groups; ++g) {
        const uint32_t *acc = s->acc + g * KINDS * LANES + lane;
        double pos = acc[0], tie = acc[LANES], gap = acc[2 * LANES];
        tp += pos;
        fp += gap + tie;
        if (pos > 0)
            ap += pos / positives * (tp / (tp + fp));
        pairs += pos * (2 * (negatives - fp) + tie);
    }
    s->sums[b] += ap;
    s->sums[d->resamples + b] += voc07(s, lane, tp, fp);
    s->sums[2 * d->resamples + b] += pairs / (2 * positives * negatives);
    s->sums[KINDS * d->resamples + b] += 1;
}

static void work_class(const job *work, slot *s, size_t c)
{
    const tn_details *d = work->d;
    double *roc = d->roc + c * TNP_POINTS, *pr = d->pr + c * TNP_POINTS;
    find_groups(work, s, c);
    if (s->positives == 0 || s->positives == d->rows) {
        for (size_t k = 0; k < TNP_POINTS; ++k)
            roc[k] = pr[k] = (double)NAN;
        return;
    }
    draw_roc(s, (double)(d->rows - s->positives), roc);
    draw_pr(s, pr);
    for (size_t b = 0; b < d->resamples; b += LANES) {
        accumulate(d, s, b);
        for (size_t lane = 0; lane < tnp_min(LANES, d->resamples - b); ++lane)
            take_figures(d, s, b + lane, lane);
    }
}

static void work_slot(void *arg, size_t i)
{
    job *work = arg;
    for (size_t c = i; c < work->d->labels->classes; c += work->slots)
        work_class(work, &work->slot[i], c);
}

static tn_status slot_new(tn_ctx *ctx, const tn_details *d, size_t most, slot *s)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *s->v, &s->v));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *s->pos, &s->pos));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *s->tie, &s->tie));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *s->gap, &s->gap));
    TN_TRY(tnp_alloc_raw(ctx, d->labels->rows, sizeof *s->rows, &s->rows));
    TN_TRY(tnp_alloc_raw(ctx, d->labels->rows, sizeof *s->place, &s->place));
    TN_TRY(tnp_alloc_raw(ctx, d->labels->rows, sizeof *s->truth, &s->truth));
    TN_TRY(tnp_alloc_raw(ctx, most * KINDS * LANES, sizeof *s->acc, &s->acc));
    TN_TRY(tnp_alloc(ctx, (KINDS + 1) * d->resamples, sizeof *s->sums, &s->sums));
done:
    return st;
}

static void slot_free(slot *s)
{
    tnp_free_all(s->v, s->pos, s->tie, s->gap, s->rows, s->place, s->truth, s->acc, s->sums);
}

static void take_means(const job *work)
{
    static const size_t figures[KINDS] = {TNP_CV_MEAN_AP, TNP_CV_MEAN_AP_VOC07, TNP_CV_MEAN_AUC};
    const tn_details *d = work->d;
    for (size_t kind = 0; kind < KINDS; ++kind)
        for (size_t b = 0; b < d->resamples; ++b) {
            double sum = 0, classes = 0;
            for (size_t i = 0; i < work->slots; ++i) {
                sum += work->slot[i].sums[kind * d->resamples + b];
                classes += work->slot[i].sums[KINDS * d->resamples + b];
            }
            d->values[figures[kind] * d->resamples + b] = classes > 0 ? sum / classes : (double)NAN;
        }
}

tn_status tnp_details_curves(tn_ctx *ctx, tn_details *d, tn_view scores)
{
    tn_status st = TN_OK;
    const size_t classes = d->labels->classes;
    job work = {.scores = scores, .d = d, .slots = tnp_min(SLOTS, classes)};
    size_t most = 0;
    for (size_t c = 0; c < classes; ++c)
        most = tnp_max(most, d->tallies[c].support);
    TN_TRY(tnp_alloc(ctx, classes * TNP_POINTS, sizeof *d->roc, &d->roc));
    TN_TRY(tnp_alloc(ctx, classes * TNP_POINTS, sizeof *d->pr, &d->pr));
    for (size_t i = 0; i < work.slots; ++i)
        TN_TRY(slot_new(ctx, d, most, &work.slot[i]));
    TN_TRY(tnp_progress(ctx, "intervals", 0, 1));
    double flops = (double)d->rows * (double)classes * (30 + (double)d->resamples);
    tnp_parallel(ctx, tnp_threads_for(ctx, flops), work.slots, work_slot, &work);
    take_means(&work);
done:
    for (size_t i = 0; i < work.slots; ++i)
        slot_free(&work.slot[i]);
    return st;
}
