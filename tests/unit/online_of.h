/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A scene in which the weights tell what was learned. Row i has a 1 in column i and a constant; every step is C times
 * the sample (SGD with steps so small that no margin is ever met), C a power of two or a small multiple of one: all
 * sums are exact. So weight (c, i) is C times the number of times that class c saw row i, negative when i is not of c,
 * and the constant's weight is C (positives - negatives). Comes first in its test, as problems.h does. */
#ifndef TN_TESTS_ONLINE_OF_H
#define TN_TESTS_ONLINE_OF_H

#include "fixtures/problems.h"
#include "learn/online/online_search.h"

typedef struct tally {
    size_t rows, classes;
    double *x, *y;
    tn_features *features;
    tn_feed *feed;
    tn_labels *labels;
    tnp_targets targets;
} tally;

/* Class of row i: i % classes, but for class 0, which takes only rows below 8 so that it is rare. Multi-label: every
 * fifth row is also of the last class. */
static inline tally tally_of(size_t rows, size_t classes, bool multilabel, stored as)
{
    tally t = {.rows = rows, .classes = classes};
    t.x = ref_alloc(rows * rows, sizeof *t.x);
    t.y = ref_alloc(rows * classes, sizeof *t.y);
    for (size_t i = 0; i < rows; ++i) {
        size_t c = i % classes;
        t.x[i * rows + i] = 1;
        t.y[i * classes + (c == 0 && i >= 8 ? 1 : c)] = 1;
        if (multilabel && i % 5 == 0)
            t.y[i * classes + classes - 1] = 1;
    }
    t.features = array_of("tally", t.x, rows, rows, as);
    t.feed = feed_of(t.features, TN_NORM_NONE);
    t.labels = labels_of(t.y, rows, classes, multilabel ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS);
    t.targets = targets_of(t.labels);
    return t;
}

static inline void tally_free(tally *t)
{
    tn_feed_free(t->feed);
    tn_features_close(t->features);
    labels_done(t->labels);
    free(t->x);
    free(t->y);
}

static inline tnp_online_data tally_data(const tally *t)
{
    return (tnp_online_data){(const tn_feed *const *)&t->feed, 1, &t->targets, NULL, false, NULL};
}

static inline tnp_online_options online_options_of(int multiclass)
{
    tnp_online_options o;
    tnp_online_options_default(&o);
    o.multiclass = multiclass;
    return o;
}

#endif
