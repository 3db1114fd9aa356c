/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target of the label readers. The first byte chooses: bits 0 and 1 the task, bit 2 text or .npy. What opens
 * must keep the promises of tn_labels, also after it was mapped to its own names. */
#include "fuzz.h"
#include "read/labels/labels.h"

static void check(const tn_labels *labels)
{
    if (labels->rows == 0 || labels->classes == 0 || labels->task == TN_TASK_AUTO)
        abort();
    for (size_t i = 0; labels->first && i < labels->rows; ++i) {
        if (labels->first[i] > labels->first[i + 1] || (!labels->known[i] && labels->first[i] != labels->first[i + 1]))
            abort();
        for (size_t j = labels->first[i]; j < labels->first[i + 1]; ++j)
            if (labels->cls[j] >= labels->classes || (j > labels->first[i] && labels->cls[j - 1] >= labels->cls[j]))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_labels *labels = NULL;
    if (size == 0)
        return 0;
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, data[0] & 4 ? "npy" : "txt", data + 1, size - 1);
    if (tn_labels_open(ctx, path, (tn_task)(data[0] & 3), &labels) == TN_OK) {
        check(labels);
        tn_status st = tn_labels_map(ctx, labels, (const char *const *)labels->names, labels->classes);
        if (st != TN_OK && st != TN_ERR_BUDGET)
            abort();
        check(labels);
    }
    tn_labels_free(labels);
    fuzz_end(ctx, path);
    return 0;
}
