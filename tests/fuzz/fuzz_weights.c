/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a file of sample weights, for every method that may take one; the first byte chooses the method and, in
 * bit 7, balanced classes. What is trained has finite weights. */
#include "fuzz.h"
#include "pipeline/options.h"

#include <math.h>

enum { ROWS = 6 };

static const char npy_start[] = "\x93NUMPY\1\0\x3f\0{'descr': '<f4', 'fortran_order': False, 'shape': (6, 2), }   \n";
static const float rows_of_features[ROWS * 2] = {1, 0.5f, -0.25f, 2, 0.5f, 0.5f, -1, -1, 0.125f, -2, 3, 0.75f};
static const char label_lines[] = "a\nb\na\nb\na\nb\n";

static void check(const tn_head *head)
{
    for (size_t i = 0; i < tn_head_classes(head) * tn_head_dim(head); ++i)
        if (!isfinite(tn_head_weight(head)[i]))
            abort();
    for (size_t k = 0; k < tn_head_classes(head); ++k)
        if (!isfinite(tn_head_bias(head)[k]))
            abort();
}

static void train(tn_ctx *ctx, const tn_features *features, const tn_labels *labels, uint8_t how)
{
    static const int methods[] = {TNP_METHOD_SVM,  TNP_METHOD_LOGISTIC, TNP_METHOD_PA,    TNP_METHOD_EVIDENCE,
                                  TNP_METHOD_AROW, TNP_METHOD_RIDGE_CV, TNP_METHOD_SVM_CV};
    tnp_fit_options options;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&options);
    options.method = methods[(how & 0x7f) % (sizeof methods / sizeof *methods)];
    options.learn.class_weight = how & 0x80 ? TNP_WEIGHT_BALANCED : TNP_WEIGHT_NONE;
    options.learn.max_passes = 20;
    options.learn.folds = 2;
    static const double one[] = {1};
    options.learn.grid = (tnp_reals){one, 1};
    options.online.epochs = 2;
    if (tnp_fit(ctx, &features, 1, labels, &options, &info, &head) == TN_OK)
        check(head);
    tn_head_free(head);
    tn_fit_info_free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t npy[sizeof npy_start - 1 + sizeof rows_of_features];
    char path[FUZZ_PATH], weights[FUZZ_PATH], lines[FUZZ_PATH];
    fuzz_input in = {data, size};
    uint8_t how = fuzz_byte(&in);
    tn_features *features = NULL;
    tn_labels *labels = NULL;
    tn_ctx *ctx = fuzz_begin();
    memcpy(npy, npy_start, sizeof npy_start - 1);
    memcpy(npy + sizeof npy_start - 1, rows_of_features, sizeof rows_of_features);
    fuzz_write(path, "npy", npy, sizeof npy);
    fuzz_path(weights, "-weights.npy");
    fuzz_store(weights, in.data, in.size);
    fuzz_path(lines, ".txt");
    fuzz_store(lines, (const uint8_t *)label_lines, sizeof label_lines - 1);
    if (tn_features_open(ctx, path, &features) != TN_OK || tn_labels_open(ctx, lines, TN_TASK_AUTO, &labels) != TN_OK)
        abort();
    if (tn_labels_open_weights(ctx, labels, weights) == TN_OK)
        train(ctx, features, labels, how);
    tn_labels_free(labels);
    tn_features_close(features);
    unlink(weights);
    unlink(lines);
    fuzz_end(ctx, path);
    return 0;
}
