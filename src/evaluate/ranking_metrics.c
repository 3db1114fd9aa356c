/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Average precision, VOC 2007 average precision and area under the ROC curve of every class against the rest.
 *
 *   v[0] > v[1] > .. > v[G-1]   the distinct scores of the class's P positive rows; N rows are negative
 *   pos[g]                      positives with score v[g]
 *   tie[g]                      negatives with score v[g]
 *   gap[g]                      negatives strictly between v[g] and v[g-1] (above v[0] for g = 0)
 *   tp[g] = pos[0] + .. + pos[g]        fp[g] = gap[0] + tie[0] + .. + gap[g] + tie[g]
 *   precision[g] = tp[g] / (tp[g] + fp[g])
 *
 *   ap       = sum_g pos[g] / P * precision[g]
 *   ap_voc07 = 1/11 sum_{i=0..10} max { precision[g] : 10 tp[g] >= i P }
 *   auc      = sum_g pos[g] (2 (N - fp[g]) + tie[g]) / (2 P N)
 *
 * Only the positives are sorted: a threshold that no positive has leaves the recall where it was and lowers the
 * precision, so none of the three sees it, and a negative needs no more than its place among the v, found by
 * bisection. Sorting all rows of a class was refused: it costs a copy of N scores for each class in work and
 * walks a column of a row-major matrix, a cache line per score. Here up to 16 neighbouring classes go down the
 * rows together. All counts are whole numbers, so ties, the order of rows and the number of threads leave no trace.
 *
 * Scratch holds the positives of as many classes as make up BATCH of them, so that dense multi-label targets do
 * not need rows x classes of it.
 * Oracle: tests/ref/ref_metrics.c, double loops over rows; scikit-learn by tests/fixtures/make_metrics.py.
 * Everingham et al., IJCV 2010, section 4.2 (11 points). */
#include "evaluate/evaluate.h"

#include <math.h>

enum {
    BATCH = 1 << 21, /* positives in work, 28 bytes each */
    CLASSES = 256,   /* in work: between batches the work can be interrupted */
    WIDTH = 16       /* classes a block: a cache line of scores */
};

typedef struct tally {
    size_t filled;       /* positives gathered */
    size_t groups;       /* G */
    size_t yes, yes_pos; /* rows, positive rows, with score > threshold */
} tally;

/* Scratch of class c begins at offset[c] - offset[begin] in each array. */
typedef struct batch {
    tn_view scores;
    const tn_labels *labels;
    const unsigned char *scored;
    size_t rows;
    const double *thresholds; /* classes */
    size_t begin, end, width; /* classes in work, classes a block */
    const size_t *offset;
    float *v;
    size_t *pos, *tie, *gap;
    tally *tallies; /* one per class, all classes */
    tn_class_metrics *out;
} batch;

static void sift_down(float *heap, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            ++child;
        if (heap[root] <= heap[child])
            return;
        float top = heap[root];
        heap[root] = heap[child];
        heap[child] = top;
    }
}

/* Heap sort, because qsort may allocate and this runs inside tnp_parallel. */
static void sort_descending(float *items, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(items, i, count);
    for (size_t last = count; last-- > 1;) {
        float least = items[0];
        items[0] = items[last];
        items[last] = least;
        sift_down(items, 0, last);
    }
}

/* First entry of row i's class list that is not below `cls`. */
static size_t list_from(const tn_labels *labels, size_t i, size_t cls)
{
    size_t lo = labels->first[i], hi = labels->first[i + 1];
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (labels->cls[mid] < cls)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void gather_positives(const batch *job, size_t lo, size_t hi)
{
    const tn_labels *labels = job->labels;
    for (size_t i = 0; i < labels->rows; ++i) {
        if (!job->scored[i])
            continue;
        for (size_t p = list_from(labels, i, lo); p < labels->first[i + 1] && labels->cls[p] < hi; ++p) {
            size_t c = labels->cls[p];
            float score = job->scores.data[i * job->scores.stride + c];
            tally *t = &job->tallies[c];
            job->v[job->offset[c] - job->offset[job->begin] + t->filled++] = score;
            t->yes_pos += (double)score > job->thresholds[c];
        }
    }
}

size_t tnp_rank_groups(float *v, size_t *pos, size_t *tie, size_t *gap, size_t count)
{
    size_t groups = 0;
    sort_descending(v, count);
    for (size_t i = 0; i < count; ++i) {
        if (groups == 0 || v[groups - 1] != v[i]) {
            v[groups] = v[i];
            pos[groups] = tie[groups] = gap[groups] = 0;
            ++groups;
        }
        ++pos[groups - 1];
    }
    return groups;
}

/* Counts every scored row, positive or not: the positives, all in tie, are taken off at the end. */
static void count_rows(const batch *job, size_t lo, size_t hi)
{
    for (size_t i = 0; i < job->labels->rows; ++i) {
        if (!job->scored[i])
            continue;
        const float *row = job->scores.data + i * job->scores.stride;
        for (size_t c = lo; c < hi; ++c) {
            size_t at = job->offset[c] - job->offset[job->begin];
            tally *t = &job->tallies[c];
            t->yes += (double)row[c] > job->thresholds[c];
            size_t g = t->groups == 0 ? 0 : tnp_rank_place(job->v + at, t->groups, row[c]);
            if (g == t->groups)
                continue;
            if (job->v[at + g] == row[c])
                ++job->tie[at + g];
            else
                ++job->gap[at + g];
        }
    }
}

/* tp and fp of length groups > 0, rising. */
static double voc07(const size_t *tp, const size_t *fp, size_t groups, size_t positives)
{
    double sum = 0, best = 0;
    size_t level = 11; /* recall levels 10 .. level are in the sum */
    for (size_t g = groups; g-- > 0;) {
        best = fmax(best, (double)tp[g] / (double)(tp[g] + fp[g]));
        while (level > 0 && (g == 0 || 10 * tp[g - 1] < (level - 1) * positives)) {
            sum += best;
            --level;
        }
    }
    return sum / 11;
}

static void finish_class(const batch *job, size_t c)
{
    tn_class_metrics *m = &job->out[c];
    const tally *t = &job->tallies[c];
    const size_t positives = m->positives, negatives = job->rows - positives;
    const bool both = positives != 0 && negatives != 0;
    if (job->labels->task == TN_TASK_MULTILABEL) {
        size_t true_no = negatives - (t->yes - t->yes_pos);
        m->accuracy = (double)(t->yes_pos + true_no) / (double)job->rows;
        if (both)
            m->balanced_accuracy = 0.5 * ((double)t->yes_pos / (double)positives + (double)true_no / (double)negatives);
    }
    if (!both)
        return;
    size_t at = job->offset[c] - job->offset[job->begin], tp = 0, fp = 0;
    uint64_t half_pairs = 0;
    double ap = 0;
    for (size_t g = at; g < at + t->groups; ++g) {
        size_t pos = job->pos[g], tie = job->tie[g] - pos;
        tp += pos;
        fp += job->gap[g] + tie;
        ap += (double)pos / (double)positives * ((double)tp / (double)(tp + fp));
        half_pairs += (uint64_t)pos * (2 * (negatives - fp) + tie);
        job->pos[g] = tp;
        job->gap[g] = fp;
    }
    m->ap = ap;
    m->ap_voc07 = voc07(job->pos + at, job->gap + at, t->groups, positives);
    m->auc = (double)half_pairs / (2 * (double)positives * (double)negatives);
}

static void rank_block(void *arg, size_t b)
{
    const batch *job = arg;
    size_t lo = job->begin + b * job->width, hi = tnp_min(lo + job->width, job->end);
    gather_positives(job, lo, hi);
    for (size_t c = lo; c < hi; ++c) {
        size_t at = job->offset[c] - job->offset[job->begin];
        job->tallies[c].groups =
            tnp_rank_groups(job->v + at, job->pos + at, job->tie + at, job->gap + at, job->tallies[c].filled);
    }
    count_rows(job, lo, hi);
    for (size_t c = lo; c < hi; ++c)
        finish_class(job, c);
}

/* End of the batch that starts at class `begin`: at least one class. */
static size_t batch_end(const size_t *offset, size_t classes, size_t begin)
{
    size_t end = begin + 1;
    while (end < classes && end - begin < CLASSES && offset[end + 1] - offset[begin] <= BATCH)
        ++end;
    return end;
}

tn_status tnp_metrics_rank(tn_ctx *ctx, tn_view scores, const tn_labels *labels, const unsigned char *scored,
                           size_t rows, const double *thresholds, tn_class_metrics *per_class)
{
    tn_status st = TN_OK;
    const size_t classes = labels->classes;
    batch job = {
        .scores = scores, .labels = labels, .scored = scored, .rows = rows, .thresholds = thresholds, .out = per_class};
    size_t *offset = NULL, most = 0;
    TN_TRY(tnp_alloc(ctx, classes + 1, sizeof *offset, &offset));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *job.tallies, &job.tallies));
    for (size_t c = 0; c < classes; ++c)
        offset[c + 1] = offset[c] + per_class[c].positives;
    for (size_t begin = 0, end; begin < classes; begin = end) {
        end = batch_end(offset, classes, begin);
        most = tnp_max(most, offset[end] - offset[begin]);
    }
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *job.v, &job.v));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *job.pos, &job.pos));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *job.tie, &job.tie));
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *job.gap, &job.gap));
    job.offset = offset;
    for (size_t begin = 0; begin < classes; begin = job.end) {
        TN_TRY(tnp_progress(ctx, "evaluate", begin, classes));
        job.begin = begin;
        job.end = batch_end(offset, classes, begin);
        size_t count = job.end - begin;
        size_t threads = tnp_threads_for(ctx, 30 * (double)rows * (double)count);
        job.width = tnp_max(1, tnp_min(WIDTH, count / threads));
        tnp_parallel(ctx, threads, (count + job.width - 1) / job.width, rank_block, &job);
    }
done:
    tnp_free_all(job.gap, job.tie, job.pos, job.v, job.tallies, offset);
    return st;
}
