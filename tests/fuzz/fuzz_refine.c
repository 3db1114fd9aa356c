/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as the checkpoint and as the descriptors of a small refinement: it is refused, or goes on and ends with a
 * mixture of numbers. */
#include "fuzz.h"
#include "tenon/pipeline.h"

#include "encode/encoder.h"

#include <math.h>

enum { BAGS = 6, ROWS = 4, DIM = 2 };

static void fill(float *x)
{
    for (size_t i = 0; i < BAGS * ROWS * DIM; ++i)
        x[i] = (float)sin(3.0 * (double)i) + (i / (ROWS * DIM) % 2 ? 0.5F : 0);
}

static void try_as(tn_ctx *ctx, const tn_encoder *e, const tn_refine_data *data, const char *option, const char *path)
{
    tn_options *options = NULL;
    tn_encoder *made = NULL;
    if (tn_options_new(ctx, "encoder", &options) != TN_OK || tn_options_set(ctx, options, "rounds", "2") != TN_OK ||
        tn_options_set(ctx, options, "C", "100") != TN_OK || tn_options_set(ctx, options, "holdout", "0") != TN_OK ||
        tn_options_set(ctx, options, option, path) != TN_OK)
        abort();
    if (tn_encoder_refine(ctx, e, data, NULL, options, NULL, &made) == TN_OK)
        for (size_t i = 0; i < made->mixture.count * DIM; ++i)
            if (!isfinite(made->mixture.means[i]) || !(made->mixture.variances[i] > 0))
                abort();
    tn_encoder_free(made);
    tn_options_free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static float x[BAGS * ROWS * DIM];
    static const int64_t numbers[BAGS] = {0, 1, 0, 1, 0, 1};
    size_t offsets[BAGS + 1];
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_features *features = NULL;
    tn_bags *bags = NULL;
    tn_labels *labels = NULL;
    tn_encoder *e = NULL;
    tn_options *options = NULL;
    fill(x);
    for (size_t i = 0; i <= BAGS; ++i)
        offsets[i] = i * ROWS;
    tn_array array = tn_array_compact(x, TN_F32, BAGS * ROWS, DIM);
    if (tn_features_from_array(ctx, "x", &array, &features) != TN_OK ||
        tn_bags_new(ctx, offsets, BAGS, features, NULL, &bags) != TN_OK ||
        tn_labels_from_numbers(ctx, numbers, BAGS, NULL, 0, &labels) != TN_OK ||
        tn_options_new(ctx, "encoder", &options) != TN_OK || tn_options_set(ctx, options, "words", "2") != TN_OK ||
        tn_encoder_train_bags(ctx, bags, options, NULL, &e) != TN_OK)
        abort();
    tn_refine_data all = {NULL, bags, labels};
    fuzz_write(path, "refine", data, size);
    try_as(ctx, e, &all, "cache", path);
    fuzz_write(path, "refine", data, size);
    try_as(ctx, e, &all, "checkpoint", path);
    tn_options_free(options);
    tn_encoder_free(e);
    tn_labels_free(labels);
    tn_bags_free(bags);
    tn_features_close(features);
    fuzz_end(ctx, path);
    return 0;
}
