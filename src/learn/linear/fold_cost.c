/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Balanced classes have the weight n / (present classes * rows of the class), of the rows that are trained on. */
#include "learn/linear/fold_cost.h"

#include <string.h>

size_t tnp_count_training(const tnp_linear *l, size_t f, size_t *sizes)
{
    const tnp_targets *y = &l->task->y;
    size_t n = 0;
    memset(sizes, 0, y->classes * sizeof *sizes);
    for (size_t i = 0; i < y->rows; ++i) {
        if (l->row_fold && l->row_fold[i] == f)
            continue;
        ++n;
        for (size_t p = y->first[i]; p < y->first[i + 1]; ++p)
            ++sizes[y->cls[p]];
    }
    return n;
}

/* Weight of a class of `size` rows among `n` rows of `present` classes. */
static double balanced_weight(size_t n, size_t present, size_t size)
{
    return (double)n / ((double)present * (double)size);
}

static size_t count_present(const size_t *sizes, size_t classes)
{
    size_t present = 0;
    for (size_t k = 0; k < classes; ++k)
        present += sizes[k] > 0;
    return present;
}

void tnp_fold_weights(const tnp_linear *l, size_t *sizes, float *weight)
{
    size_t k = l->task->y.classes, *outside = sizes + k;
    tnp_linear whole = *l;
    whole.row_fold = NULL;
    size_t n = tnp_count_training(&whole, 0, sizes), present = count_present(sizes, k);
    for (size_t f = 0; f < l->folds; ++f) {
        size_t left = tnp_count_training(l, f, outside), still = count_present(outside, k);
        for (size_t c = 0; c < k; ++c)
            weight[f * k + c] =
                outside[c] == 0
                    ? 1
                    : (float)(balanced_weight(left, still, outside[c]) / balanced_weight(n, present, sizes[c]));
    }
}

bool tnp_balances_folds(const tnp_linear *l)
{
    return l->row_fold && l->options->class_weight == TNP_WEIGHT_BALANCED && l->task->kind == TN_TASK_MULTICLASS;
}

double tnp_cost_of(const tnp_linear *l, double cost, size_t n)
{
    return l->options->mean_cost ? cost / (double)tnp_max(n, 1) : cost;
}
