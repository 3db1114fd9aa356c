/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The honest rival of a refined mixture: one of twice the size, learned by EM as encoder train does it, from the same
 * training descriptors, judged on the same validation bags with a C of its own. */
#include "pipeline/refine/run.h"

#include <string.h>

enum { SAMPLE = 100000 };

/* About SAMPLE rows, evenly from the training bags, as an encoder sees them: *x (*rows, dim). */
static tn_status draw(tn_ctx *ctx, const tnp_refining *r, const tn_encoder *e, float **x, size_t *rows)
{
    tn_status st = TN_OK;
    const tnp_descriptors *from = r->train.from;
    tnp_seen seen = {.rows = NULL};
    size_t *starts, quota = (SAMPLE + r->train.count - 1) / r->train.count, capacity = 0;
    *rows = 0;
    TN_TRY(tnp_seen_new(ctx, r, from, &seen));
    starts = seen.bag.starts;
    for (size_t i = 0; i < r->train.count; ++i) {
        TN_TRY(tnp_descriptors_get(ctx, from, r->train.bags[i], &seen.bag));
        size_t all = starts[from->atoms];
        if (all > quota)
            tnp_described_bag_thin(from, (double)quota / (double)all, r->seed, i, &seen.bag);
        TN_TRY(tnp_seen_look(ctx, e, from, &seen));
        size_t some = starts[from->atoms];
        if (*rows + some > capacity) {
            size_t next = tnp_max(*rows + some, 2 * capacity);
            TN_TRY(tnp_grow(ctx, x, capacity * e->dim, next * e->dim, sizeof **x));
            capacity = next;
        }
        memcpy(*x + *rows * e->dim, seen.rows, some * e->dim * sizeof **x);
        *rows += some;
    }
done:
    tnp_seen_free(&seen);
    return st;
}

static tn_status learn(tn_ctx *ctx, const tnp_refining *r, const tn_encoder *given, tn_encoder **out)
{
    tn_status st = TN_OK;
    float *x = NULL;
    size_t offsets[2] = {0, 0};
    tn_features *features = NULL;
    tn_bags *bags = NULL;
    tn_options *options = NULL;
    tnp_share around = tnp_progress_within(ctx, tnp_progress_now(ctx));
    TN_TRY(draw(ctx, r, given, &x, &offsets[1]));
    tn_array array = tn_array_compact(x, TN_F32, offsets[1], given->dim);
    TN_TRY(tn_features_from_array(ctx, "descriptors", &array, &features));
    TN_TRY(tn_bags_new(ctx, offsets, 1, features, NULL, &bags));
    TN_TRY(tnp_options_new(ctx, &tnp_encoder_kind_of_options, &options));
    TN_TRY(tn_options_set_number(ctx, options, "words", (double)(2 * given->mixture.count)));
    TN_TRY(tn_options_set_number(ctx, options, "pca", 0));
    TN_TRY(tn_options_set_number(ctx, options, "sample", (double)tnp_max(1, offsets[1])));
    TN_TRY(tn_options_set_number(ctx, options, "seed", (double)r->seed));
    TN_TRY(tn_encoder_train_bags(ctx, bags, options, NULL, out));
done:
    tnp_progress_within(ctx, around);
    tn_options_free(options);
    tn_bags_free(bags);
    tn_features_close(features);
    tnp_free(x);
    return st;
}

tn_status tnp_refine_twice(tn_ctx *ctx, tnp_refining *r, const tn_encoder *given, double *mean_ap)
{
    tn_status st = TN_OK;
    tn_encoder *learned = NULL, *larger = NULL;
    TN_TRY(learn(ctx, r, given, &learned));
    TN_TRY(tnp_encoder_copy(ctx, given, &larger));
    tnp_mixture mixture = larger->mixture;
    larger->mixture = learned->mixture;
    learned->mixture = mixture;
    st = tnp_refining_take(ctx, r, larger); /* its own, also after a failure */
    larger = NULL;
    TN_TRY(st);
    TN_TRY(tnp_refining_choose_cost(ctx, r, mean_ap));
done:
    tn_encoder_free(learned);
    tn_encoder_free(larger);
    return st;
}
