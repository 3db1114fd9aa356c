/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a head: one whose every part can be read, and whose own bytes are those of its copy, or an error.
 * Through a file come the heads of fuzz_apply.c. */
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
    tn_head *again = NULL;
    void *bytes[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    if (dim != tn_head_dim(head) || tn_head_to_bytes(ctx, head, NULL, &bytes[0], &size[0]) != TN_OK ||
        tn_head_from_bytes(ctx, bytes[0], size[0], NULL, &again) != TN_OK || tn_head_dim(again) != dim ||
        tn_head_to_bytes(ctx, again, NULL, &bytes[1], &size[1]) != TN_OK || size[0] != size[1] ||
        memcmp(bytes[0], bytes[1], size[0]) != 0)
        abort();
    tn_head_free(again);
    tn_bytes_free(bytes[0]);
    tn_bytes_free(bytes[1]);
    volatile double sink = sum + (double)length;
    (void)sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_ctx *ctx = fuzz_begin();
    tn_head *head = NULL;
    if (tn_head_from_bytes(ctx, data, size, NULL, &head) == TN_OK)
        use(ctx, head);
    tn_head_free(head);
    fuzz_end(ctx, "");
    return 0;
}
