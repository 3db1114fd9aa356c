/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leading directions of scaled sums of groups of rows:
 *
 *   B (groups, dim): b_g = sum of its rows / sqrt(their number),   B B' = V S V',   U' = S^-1/2 V' B
 *
 * A class is one group, or several when there are fewer classes than directions are wanted; more than MOST_GROUPS
 * classes share. Sums cost no matrix product, where the leading directions of X'X cost two with as many columns as
 * directions; and of the same rank they hold far more of what tells classes apart. Double throughout: the directions
 * are orthonormal to float's last digit although B B' squares their scale. */
#include "learn/softmax/class_space.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { MOST_GROUPS = 512 };
static const double LEAST = 1e-8; /* of the largest value: what is smaller is rounding */

static size_t group_count(size_t classes, size_t most)
{
    size_t each = tnp_max(1, (most + classes - 1) / classes);
    return tnp_min(classes * each, MOST_GROUPS);
}

size_t tnp_class_space_bytes(size_t rows, size_t dim, size_t classes, size_t most)
{
    size_t groups = group_count(classes, most), rank = tnp_min(most, dim);
    return 8 * groups * (dim + 3 * groups + 16) + 8 * dim + 12 * rank * dim + 8 * (rows + classes) +
           64; /* LAPACK takes 2 groups^2 */
}

/* b (groups + 1, dim), the last for rows that take no part. */
static tn_status sum_groups(tn_ctx *ctx, const tnp_rows *x, const tnp_targets *y, const float *row_weight,
                            size_t groups, double *b)
{
    tn_status st = TN_OK;
    size_t *group = NULL, *size = NULL, *seen = NULL, each = tnp_max(1, groups / y->classes);
    TN_TRY(tnp_alloc(ctx, x->rows, sizeof *group, &group));
    TN_TRY(tnp_alloc(ctx, groups + 1, sizeof *size, &size));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *seen, &seen));
    for (size_t i = 0; i < x->rows; ++i) {
        size_t c = y->cls[y->first[i]];
        bool out = row_weight && row_weight[i] == 0;
        group[i] = out ? groups : (c + y->classes * (seen[c]++ % each)) % groups;
        ++size[group[i]];
    }
    TN_TRY(x->ops->cross(ctx, x->self, group, groups + 1, b));
    for (size_t g = 0; g < groups; ++g)
        for (size_t i = 0; i < x->dim; ++i)
            b[g * x->dim + i] /= sqrt((double)tnp_max(1, size[g]));
done:
    tnp_free_all(group, size, seen);
    return st;
}

tn_status tnp_class_space(tn_ctx *ctx, const tnp_rows *x, const tnp_targets *y, const float *row_weight, size_t most,
                          float **out, size_t *rank)
{
    tn_status st = TN_OK;
    size_t dim = x->dim, groups = group_count(y->classes, most), r = 0;
    double *b = NULL, *products = NULL, *values = NULL, *wide = NULL;
    float *u = NULL;
    TN_TRY(tnp_alloc(ctx, (groups + 1) * dim, sizeof *b, &b));
    TN_TRY(tnp_alloc(ctx, groups * groups, sizeof *products, &products));
    TN_TRY(tnp_alloc(ctx, groups, sizeof *values, &values));
    TN_TRY(sum_groups(ctx, x, y, row_weight, groups, b));
    TN_TRY(tnp_dsyrk_rows(ctx, groups, dim, b, dim, 0, products));
    TN_TRY(tnp_eigen(ctx, groups, products, values));
    while (r < tnp_min(groups, tnp_min(most, dim)) && values[groups - 1 - r] > LEAST * values[groups - 1])
        ++r;
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, r * dim), sizeof *wide, &wide));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, r * dim), sizeof *u, &u));
    if (r > 0)
        TN_TRY(tnp_dgemm_nn(ctx, r, dim, groups, products + (groups - r) * groups, groups, b, dim, 0, wide, dim));
    for (size_t j = 0; j < r; ++j) /* largest first */
        for (size_t i = 0; i < dim; ++i)
            u[j * dim + i] = (float)(wide[(r - 1 - j) * dim + i] / sqrt(values[groups - 1 - j]));
    *out = u;
    *rank = r;
    u = NULL;
done:
    tnp_free_all(b, products, values, wide, u);
    return st;
}
