/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a head file: a head whose every part can be read and saved again, or an error. */
#include "fuzz.h"
#include "tenon/store.h"

#include <string.h>

static void use(tn_ctx *ctx, const tn_head *head)
{
    size_t length = strlen(tn_head_method(head)) + strlen(tn_head_options(head)) + strlen(tn_head_created_by(head)),
           dim = 0;
    double sum = tn_head_log_evidence(head) + tn_head_threshold(head);
    for (size_t k = 0; k < tn_head_classes(head); ++k) {
        length += strlen(tn_head_class_names(head)[k]);
        sum += (double)tn_head_bias(head)[k];
        if (tn_head_lambda(head))
            sum += tn_head_lambda(head)[k] + tn_head_alpha(head)[k] + tn_head_beta(head)[k];
    }
    for (size_t i = 0; i < tn_head_classes(head) * tn_head_dim(head); ++i)
        sum += (double)tn_head_weight(head)[i];
    for (size_t r = 0; r < tn_head_rep_count(head); ++r) {
        tn_rep rep = tn_head_rep(head, r);
        double values[TN_MAP_MOST] = {0};
        if (rep.map)
            tn_map_exact(rep.map, 0.3, values);
        sum += values[0];
        length += strlen(rep.name) + strlen(rep.transform);
        dim += rep.cols;
    }
    char path[FUZZ_PATH];
    tn_head *again = NULL;
    fuzz_path(path, "-again.safetensors");
    if (dim != tn_head_dim(head) || tn_head_save(ctx, head, NULL, path) != TN_OK ||
        tn_head_load(ctx, path, &again) != TN_OK || tn_head_dim(again) != dim)
        abort();
    tn_head_free(again);
    unlink(path);
    volatile double sink = sum + (double)length;
    (void)sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_head *head = NULL;
    fuzz_write(path, "safetensors", data, size);
    if (tn_head_load(ctx, path, &head) == TN_OK)
        use(ctx, head);
    tn_head_free(head);
    fuzz_end(ctx, path);
    return 0;
}
