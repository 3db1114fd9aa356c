/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scores of rows by models that were made without them, for the figures of a set and of a head.
 *
 * One row at a time, in closed form (evaluate/loo.c, learn/class_means.c), unless classes are small. A class of two
 * rows that loses one is half as large as the others, and so are its scores: leave-one-out then calls heads 20 % right
 * that are right about 70 % of new rows. So where no class has more than FEW rows one row of every class is left out at
 * a time, and the model is really made again without them: classes keep their shares, and the figure is that of a head
 * with one row less of each class.
 *
 * Oracle: literal refits, tests/unit/test_few_rows.c. */
#include "pipeline/parts.h"
#include "learn/head/folds.h"
#include "learn/ridge/discriminant.h"

#include <math.h>
#include <string.h>

enum { FEW = 8 };

tn_status tnp_few_rows(tn_ctx *ctx, const tnp_task *task, size_t dim, size_t *few)
{
    const double cubes = 1e11;
    size_t *sizes = NULL, most = 0, n = task->y.rows;
    double order = (double)tnp_min(n, dim);
    *few = 0;
    if (task->kind != TN_TASK_MULTICLASS || n > FEW * task->y.classes)
        return TN_OK;
    tn_status st = tnp_alloc(ctx, task->y.classes, sizeof *sizes, &sizes);
    for (size_t i = 0; st == TN_OK && i < n; ++i)
        most = tnp_max(most, ++sizes[task->y.cls[task->y.first[i]]]);
    tnp_free(sizes);
    *few = most <= FEW && most > 1 && (double)most * order * order * order <= cubes ? most : 0;
    return st;
}

/* Who is told what tnp_ridge_cv scores, lambda by lambda. */
typedef struct collected {
    const tnp_cross *cross;
    const tnp_also *also;
    size_t also_count, classes;
} collected;

/* Scores of the rows of a fold by the discriminants of its ridge problem. */
static tn_status take_discriminants(tn_ctx *ctx, const collected *job, const tnp_also *also, size_t g,
                                    const size_t *rows, size_t count, const float *scores)
{
    tn_status st = TN_OK;
    tnp_discriminant *d = NULL;
    float *mapped = NULL;
    TN_TRY(tnp_alloc_raw(ctx, count * job->classes, sizeof *mapped, &mapped));
    st = tnp_discriminant_new(ctx, job->cross->ridge, also->grid[g], &d);
    if (st == TN_ERR_UNSUPPORTED) {
        st = TN_OK;
        goto done;
    }
    TN_TRY(st);
    memcpy(mapped, scores, count * job->classes * sizeof *mapped);
    TN_TRY(tnp_discriminant_scores(ctx, d, count, mapped));
    TN_TRY(also->take(ctx, also->arg, g, rows, count, mapped));
done:
    tnp_discriminant_free(d);
    tnp_free(mapped);
    return st;
}

static tn_status collect(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores, double *value)
{
    tn_status st = TN_OK;
    const collected *job = arg;
    for (const tnp_also *a = job->also; a < job->also + job->also_count; ++a)
        for (size_t g = 0; g < a->count; ++g)
            if (a->grid[g] == job->cross->trying)
                TN_TRY(a->discriminants ? take_discriminants(ctx, job, a, g, rows, count, scores)
                                        : a->take(ctx, a->arg, g, rows, count, scores));
    *value = NAN;
done:
    return st;
}

/* Adds the finite lambdas that are not among the n of out yet; the caller has room for all. */
static size_t add_distinct(const double *lambda, size_t count, double *out, size_t n)
{
    for (size_t k = 0; k < count; ++k) {
        bool known = !isfinite(lambda[k]);
        for (size_t i = 0; i < n && !known; ++i)
            known = out[i] == lambda[k];
        if (!known)
            out[n++] = lambda[k];
    }
    return n;
}

tn_status tnp_ridge_folds(tn_ctx *ctx, const tnp_ridge *ridge, const tn_feed *const *feeds, size_t count,
                          const tnp_targets *y, const tnp_also *also, size_t also_count, const uint32_t *fold,
                          size_t folds)
{
    tn_status st = TN_OK;
    size_t values = 0;
    double *grid = NULL;
    tnp_cross *cross = NULL;
    tnp_design *design = NULL;
    for (size_t a = 0; a < also_count; ++a)
        values += also[a].count;
    TN_TRY(tnp_alloc(ctx, values, sizeof *grid, &grid));
    values = 0;
    for (size_t a = 0; a < also_count; ++a)
        values = add_distinct(also[a].grid, also[a].count, grid, values);
    TN_TRY(tnp_cross_new(ctx, grid, values, folds, &cross));
    TN_TRY(tnp_design_new(ctx, feeds, count, 0, &design));
    collected job = {cross, also, also_count, y->classes};
    TN_TRY(tnp_ridge_cv_wide(ctx, design, y, ridge->intercept, ridge->wide ? ridge->mean : NULL, fold, collect, &job,
                             cross));
done:
    tnp_free(grid);
    tnp_cross_free(cross);
    tnp_design_free(design);
    return st;
}

/* Scores at one lambda per class. */
typedef struct own_scores {
    const double *lambda, *grid; /* classes; those of them that differ */
    size_t classes;
    double *out; /* (rows, classes), zero first: what a class without a lambda keeps */
} own_scores;

static tn_status take_own(tn_ctx *ctx, void *arg, size_t g, const size_t *rows, size_t count, const float *scores)
{
    const own_scores *own = arg;
    (void)ctx;
    for (size_t i = 0; i < count; ++i)
        for (size_t k = 0; k < own->classes; ++k)
            if (own->lambda[k] == own->grid[g])
                own->out[rows[i] * own->classes + k] = (double)scores[i * own->classes + k];
    return TN_OK;
}

/* out as of own_scores. */
static tn_status ridge_by_folds(tn_ctx *ctx, const tnp_left_out *l, const tnp_also *also, size_t also_count,
                                const uint32_t *fold, size_t folds, double *out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &l->selection->task->y;
    double *grid = NULL;
    tnp_also *all = NULL;
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *grid, &grid));
    TN_TRY(tnp_alloc(ctx, also_count + 1, sizeof *all, &all));
    own_scores own = {l->lambda, grid, y->classes, out};
    all[0] = (tnp_also){grid, add_distinct(l->lambda, y->classes, grid, 0), false, take_own, &own};
    for (size_t a = 0; a < also_count; ++a)
        all[a + 1] = also[a];
    TN_TRY(tnp_ridge_folds(ctx, l->ridge, l->feeds, l->count, y, all, also_count + 1, fold, folds));
done:
    tnp_free_all(grid, all);
    return st;
}

/* rows and skip (rows) are scratch. */
static tn_status means_without(tn_ctx *ctx, const tnp_left_out *l, const uint32_t *fold, size_t f, size_t *rows,
                               bool *skip, double *out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &l->selection->task->y;
    tnp_class_means *means = NULL;
    double *scores = NULL;
    size_t n = 0, k = y->classes;
    for (size_t i = 0; i < y->rows; ++i) {
        skip[i] = fold[i] == f;
        if (skip[i])
            rows[n++] = i;
    }
    TN_TRY(tnp_class_means_new(ctx, l->feeds, l->count, y, skip, l->ridge->intercept, &means));
    TN_TRY(tnp_alloc_raw(ctx, n * k, sizeof *scores, &scores));
    TN_TRY(tnp_class_means_scores(ctx, means, l->feeds, l->count, rows, n, scores));
    for (size_t i = 0; i < n; ++i)
        memcpy(out + rows[i] * k, scores + i * k, k * sizeof *out);
done:
    tnp_class_means_free(means);
    tnp_free(scores);
    return st;
}

static tn_status means_by_folds(tn_ctx *ctx, const tnp_left_out *l, const uint32_t *fold, size_t folds, double *out)
{
    tn_status st = TN_OK;
    size_t *rows = NULL, n = l->selection->task->y.rows;
    bool *skip = NULL;
    TN_TRY(tnp_alloc(ctx, n, sizeof *rows, &rows));
    TN_TRY(tnp_alloc(ctx, n, sizeof *skip, &skip));
    for (size_t f = 0; f < folds; ++f)
        TN_TRY(means_without(ctx, l, fold, f, rows, skip, out));
done:
    tnp_free_all(rows, skip);
    return st;
}

tn_status tnp_left_out_folds(tn_ctx *ctx, const tnp_left_out *l, const tnp_also *also, size_t also_count,
                             const uint32_t *fold, size_t folds, double *out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &l->selection->task->y;
    double *ridge = NULL;
    size_t size = y->rows * y->classes;
    TN_TRY(tnp_alloc(ctx, size, sizeof *ridge, &ridge));
    memset(out, 0, size * sizeof *out);
    if (l->share > 0)
        TN_TRY(means_by_folds(ctx, l, fold, folds, out));
    if (l->share < 1)
        TN_TRY(ridge_by_folds(ctx, l, also, also_count, fold, folds, ridge));
    for (size_t i = 0; i < size; ++i)
        out[i] = l->share * out[i] + (1 - l->share) * ridge[i];
done:
    tnp_free(ridge);
    return st;
}

/* One row of every class at a time. */
static tn_status by_folds(tn_ctx *ctx, const tnp_left_out *l, size_t folds, const tnp_sample *sample, double *out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &l->selection->task->y;
    uint32_t *fold = NULL;
    double *all = NULL;
    size_t k = y->classes;
    TN_TRY(tnp_folds_new(ctx, y, TN_TASK_MULTICLASS, folds, l->selection->options->seed, &fold));
    TN_TRY(tnp_alloc_raw(ctx, y->rows * k, sizeof *all, &all));
    TN_TRY(tnp_left_out_folds(ctx, l, NULL, 0, fold, folds, all));
    for (size_t i = 0; i < sample->count; ++i)
        memcpy(out + i * k, all + sample->rows[i] * k, k * sizeof *out);
done:
    tnp_free_all(fold, all);
    return st;
}

/* A head without any weights has nothing to be made again. */
static bool has_lambda(const tnp_left_out *l)
{
    for (size_t k = 0; k < l->selection->task->y.classes; ++k)
        if (isfinite(l->lambda[k]))
            return true;
    return false;
}

tn_status tnp_left_out_scores(tn_ctx *ctx, const tnp_left_out *l, const tnp_sample *sample, double *out)
{
    tn_status st = TN_OK;
    tnp_loo *loo = NULL;
    const tnp_targets *y = &l->selection->task->y;
    size_t few = 0;
    TN_TRY(tnp_few_rows(ctx, l->selection->task, l->ridge->dim, &few));
    if (few > 0 && (l->share > 0 || has_lambda(l)))
        return by_folds(ctx, l, few, sample, out);
    if (l->share > 0)
        return tnp_class_means_loo(ctx, l->means, l->feeds, l->count, y, sample->rows, sample->count, out);
    TN_TRY(tnp_loo_new(ctx, l->ridge, l->feeds, l->count, y, sample, &loo));
    TN_TRY(tnp_loo_predict_each(ctx, loo, l->lambda, out));
done:
    tnp_loo_free(loo);
    return st;
}

tn_status tnp_left_out_again(tn_ctx *ctx, const tnp_left_out *l, const tnp_sample *sample, double *out)
{
    const tnp_ridge *r = l->ridge;
    bool same = l->share == 0 && r->left_out && r->left_out_sample == sample;
    for (size_t k = 0; same && k < r->classes; ++k)
        same = r->left_out_lambda[k] == l->lambda[k];
    if (!same)
        return tnp_left_out_scores(ctx, l, sample, out);
    memcpy(out, r->left_out, sample->count * r->classes * sizeof *out);
    return TN_OK;
}
