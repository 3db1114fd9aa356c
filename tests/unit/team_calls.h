/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A problem, a call of the library on it, by one process or by the members of a team, what the call found, and
 * comparisons of that. */
#ifndef TN_TESTS_TEAM_CALLS_H
#define TN_TESTS_TEAM_CALLS_H

#include "team_of.h"
#include "learn/design/gather.h"
#include "learn/head/task.h"
#include "matrix/moments.h"
#include "tenon/tenon.h"

enum { A = 12, B = 30, K = 4, CELLS = K * (A + B + 1) };

/* Rows of two representations; the last class is of the first ROW_OF_ONE rows only, so that one member alone has it. */
enum { ROW_OF_ONE = 20 };
typedef struct data {
    size_t n;
    float *a, *b;
    int64_t *cls;
    uint8_t *marks;
    double *values, *weight;
    tn_task task;
} data;

static inline double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

static inline data data_of(size_t n, tn_task task)
{
    data d = {.n = n, .task = task};
    uint64_t state = 7 + n;
    d.a = calloc(n * A, sizeof *d.a);
    d.b = calloc(n * B, sizeof *d.b);
    d.cls = calloc(n, sizeof *d.cls);
    d.marks = calloc(n * K, sizeof *d.marks);
    d.values = calloc(n * K, sizeof *d.values);
    d.weight = calloc(n, sizeof *d.weight);
    for (size_t i = 0; i < n; ++i) {
        size_t cls = i < ROW_OF_ONE && i % 2 ? K - 1 : i % (K - 1);
        d.cls[i] = (int64_t)cls;
        d.weight[i] = 0.5 + 0.1 * (double)(i % 7);
        for (size_t j = 0; j < A; ++j)
            d.a[i * A + j] = (float)(2 * draw(&state) + (j % K == cls ? 0.7 : 0) + 3);
        for (size_t j = 0; j < B; ++j)
            d.b[i * B + j] = (float)(draw(&state) + (j % 5 == cls ? 0.2 : 0));
        for (size_t k = 0; k < K; ++k) {
            d.marks[i * K + k] = k == cls || (i + k) % 5 == 0;
            d.values[i * K + k] = (double)d.a[i * A + k] - (double)d.b[i * B + k] + draw(&state);
        }
    }
    return d;
}

static inline void data_free(data *d)
{
    void *all[] = {d->a, d->b, d->cls, d->marks, d->values, d->weight};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
}

/* ---- one call ---- */

/* What a call found, for comparison. */
typedef struct found {
    double figure[64], lambda[16];
    size_t figures, lambdas;
    double objective, gap; /* of a training; NaN */
    double cell[CELLS];    /* weights and biases, of the columns that the head has */
    size_t cells;
    char names[200];
    float *scores; /* (n, K), the caller's */
    double *moments;
    size_t moment_count;
} found;

typedef struct call {
    const data *d;
    const char *kind;       /* "rank", "fit", "cv", "moments" */
    const char *options[8]; /* name, value, ... */
    bool both;              /* representations; else b alone */
    bool weighted;
} call;

typedef struct member_call {
    const call *c;
    found out;
} member_call;

static inline void keep(found *f, double value)
{
    if (f->figures < sizeof f->figure / sizeof *f->figure)
        f->figure[f->figures++] = value;
}

static inline tn_status open_labels(tn_ctx *ctx, const data *d, bool weighted, tn_labels **out)
{
    static const char *const names[K] = {"p", "q", "r", "s"};
    tn_status st = d->task == TN_TASK_MULTICLASS ? tn_labels_from_numbers(ctx, d->cls, d->n, names, K, out)
                   : d->task == TN_TASK_MULTILABEL
                       ? tn_labels_from_matrix(ctx, d->marks, d->n, K, K, 1, names, TN_TASK_MULTILABEL, out)
                       : tn_labels_from_values(ctx, d->values, d->n, K, names, out);
    return st == TN_OK && weighted ? tn_labels_set_weights(ctx, *out, d->weight, d->n) : st;
}

static inline tn_status do_rank(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
                                const tn_options *o, found *out)
{
    tn_ranking *r = NULL;
    tn_status st = tn_rank(ctx, f, count, labels, o, &r);
    for (size_t i = 0; st == TN_OK && i < r->count; ++i) {
        const tn_candidate *c = r->candidates[i];
        size_t used = strlen(out->names);
        snprintf(out->names + used, sizeof out->names - used, "%s ", c->name);
        keep(out, c->log_evidence);
        out->lambda[out->lambdas++] = c->lambda_shared;
        keep(out, c->loo_accuracy);
        keep(out, c->loo_r2);
        keep(out, c->score);
    }
    tn_ranking_free(r);
    return st;
}

static inline tn_status score_all(tn_ctx *ctx, const tn_head *head, const tn_features *const *f, size_t count,
                                  found *out)
{
    tn_status st = TN_OK;
    tn_scorer *scorer = NULL;
    TN_TRY(tn_scorer_new(ctx, head, f, count, TN_NAN_DROP, &scorer));
    TN_TRY(tn_scorer_read(ctx, scorer, 0, tn_scorer_rows(scorer), out->scores));
done:
    tn_scorer_free(scorer);
    return st;
}

static inline tn_status do_fit(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
                               const tn_options *o, found *out)
{
    tn_status st = TN_OK;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    TN_TRY(tn_fit(ctx, f, count, labels, o, &info, &head));
    for (size_t m = 0; m < info->selected_count; ++m) {
        size_t used = strlen(out->names);
        snprintf(out->names + used, sizeof out->names - used, "%s ", info->selected[m]);
    }
    size_t dim = tn_head_dim(head);
    out->cells = K * (dim + 1);
    for (size_t k = 0; k < K; ++k) {
        for (size_t j = 0; j < dim; ++j)
            out->cell[k * (dim + 1) + j] = (double)tn_head_weight(head)[k * dim + j];
        out->cell[k * (dim + 1) + dim] = (double)tn_head_bias(head)[k];
    }
    keep(out, info->chosen->log_evidence);
    keep(out, info->chosen->loo_accuracy);
    keep(out, (double)info->grid_best);
    out->objective = info->objective;
    out->gap = info->gap;
    TN_TRY(score_all(ctx, head, f, count, out));
done:
    tn_fit_info_free(info);
    tn_head_free(head);
    return st;
}

static inline tn_status do_cv(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
                              const tn_options *o, found *out)
{
    tn_cv_result *r = NULL;
    tn_status st = tn_cv(ctx, f, count, labels, o, &r);
    for (size_t i = 0; st == TN_OK && tn_cv_metric(r, i); ++i) {
        const double *values = tn_cv_values(r, 0, tn_cv_metric(r, i));
        for (size_t j = 0; values && j < tn_cv_folds(r); ++j)
            keep(out, values[j]);
    }
    tn_cv_free(r);
    return st;
}

/* Upper triangle, sums, class sums of both representations side by side. */
static inline tn_status do_moments(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
                                   found *out)
{
    tn_status st = TN_OK;
    tnp_task *task = NULL;
    tn_feed *feeds[2] = {NULL, NULL};
    tnp_moments *m = NULL;
    size_t at = 0, dim;
    TN_TRY(tnp_task_rows(ctx, f, count, labels, TN_NAN_DROP, &task));
    task->y.weight = labels->weights;
    for (size_t i = 0; i < count; ++i)
        TN_TRY(tn_feed_new(ctx, f[i], task->rows, task->y.rows, i ? TN_NORM_ZSCORE : TN_NORM_NONE, TN_NAN_DROP, NULL,
                           &feeds[i]));
    TN_TRY(tnp_gather_moments(ctx, (const tn_feed *const *)feeds, count, &task->y, &m));
    dim = m->dim;
    for (size_t i = 0; i < dim; ++i) {
        for (size_t j = i; j < dim; ++j)
            out->moments[at++] = m->gram[i * dim + j];
        out->moments[at++] = m->sum[i];
        out->moments[at++] = m->shift[i];
        for (size_t k = 0; k < m->classes; ++k)
            out->moments[at++] = m->xty[k * dim + i];
    }
    out->moment_count = at;
    keep(out, (double)m->rows);
    keep(out, m->weight);
    keep(out, m->log_weight);
    keep(out, m->trace);
    keep(out, m->noise);
    keep(out, (double)m->framed);
done:
    tn_moments_free(m);
    tn_feed_free(feeds[0]);
    tn_feed_free(feeds[1]);
    tnp_task_free(task);
    return st;
}

static inline tn_status do_call(tn_ctx *ctx, size_t rank, void *arg)
{
    tn_status st = TN_OK;
    member_call *mine = arg;
    const call *c = mine->c;
    found *out = &mine->out;
    const tn_array a = tn_array_compact(c->d->a, TN_F32, c->d->n, A), b = tn_array_compact(c->d->b, TN_F32, c->d->n, B);
    tn_features *f[2] = {NULL, NULL};
    tn_labels *labels = NULL;
    tn_options *o = NULL;
    (void)rank;
    TN_TRY(tn_features_from_array(ctx, "b", &b, &f[0]));
    TN_TRY(tn_features_from_array(ctx, "a", &a, &f[1]));
    TN_TRY(open_labels(ctx, c->d, c->weighted, &labels));
    const tn_features *const *features = (const tn_features *const *)f;
    size_t count = c->both ? 2 : 1;
    if (strcmp(c->kind, "moments") == 0) {
        TN_TRY(do_moments(ctx, features, count, labels, out));
        goto done;
    }
    TN_TRY(tn_options_new(ctx, c->kind, &o));
    for (size_t i = 0; i + 1 < sizeof c->options / sizeof *c->options && c->options[i]; i += 2)
        TN_TRY(tn_options_set(ctx, o, c->options[i], c->options[i + 1]));
    TN_TRY(strcmp(c->kind, "rank") == 0  ? do_rank(ctx, features, count, labels, o, out)
           : strcmp(c->kind, "fit") == 0 ? do_fit(ctx, features, count, labels, o, out)
                                         : do_cv(ctx, features, count, labels, o, out));
done:
    tn_options_free(o);
    tn_labels_free(labels);
    tn_features_close(f[0]);
    tn_features_close(f[1]);
    return st;
}

/* ---- comparisons ---- */

static inline found found_of(size_t n)
{
    size_t dim = A + B;
    return (found){.objective = NAN,
                   .gap = NAN,
                   .scores = calloc(n * K + 1, sizeof(float)),
                   .moments = calloc(dim * (dim + K + 4), sizeof(double))};
}

static inline void found_free(found *f)
{
    free(f->scores);
    free(f->moments);
}

static inline void check_figures(const found *got, const found *want, double tolerance)
{
    assert_string_equal(got->names, want->names);
    assert_int_equal(got->figures, want->figures);
    for (size_t i = 0; i < want->figures; ++i) {
        if (isfinite(want->figure[i]))
            assert_near_at(i, got->figure[i], want->figure[i], tolerance);
        else
            assert_not_finite(got->figure[i], want->figure[i]);
    }
}

static inline void check_lambdas(const found *got, const found *want)
{
    assert_int_equal(got->lambdas, want->lambdas);
    for (size_t i = 0; i < want->lambdas; ++i)
        if (isfinite(want->lambda[i]))
            assert_near_at(i, got->lambda[i], want->lambda[i], 3.2e-5);
        else
            assert_not_finite(got->lambda[i], want->lambda[i]);
}

static inline void check_moments(const found *got, const found *want)
{
    double largest = 1;
    assert_int_equal(got->moment_count, want->moment_count);
    for (size_t i = 0; i < want->moment_count; ++i)
        largest = fmax(largest, fabs(want->moments[i]));
    for (size_t i = 0; i < want->moment_count; ++i)
        assert_near_at(i, got->moments[i] / largest, want->moments[i] / largest, 1e-12);
}

static inline void check_cells(const found *got, const found *want)
{
    double largest = 0;
    assert_int_equal(got->cells, want->cells);
    for (size_t i = 0; i < want->cells; ++i)
        largest = fmax(largest, fabs(want->cell[i]));
    for (size_t i = 0; i < want->cells; ++i)
        assert_near_at(i, got->cell[i] / largest, want->cell[i] / largest, 1e-6);
}

/* Members agree to the last bit. */
static inline void check_alike(const found *a, const found *b, size_t n)
{
    assert_memory_equal(a->cell, b->cell, a->cells * sizeof *a->cell);
    assert_memory_equal(a->figure, b->figure, a->figures * sizeof *a->figure);
    assert_memory_equal(a->moments, b->moments, a->moment_count * sizeof *a->moments);
    if (a->cells > 0)
        assert_memory_equal(a->scores, b->scores, n * K * sizeof *a->scores);
}

typedef enum compared { AS_FIGURES, AS_WEIGHTS, AS_OBJECTIVE } compared;

static inline void check_call(const call *c, compared how)
{
    tn_ctx *ctx = ctx_of(1);
    member_call alone = {c, found_of(c->d->n)};
    assert_fine(ctx, do_call(ctx, 0, &alone));
    for (size_t size = 1; size <= TEAM_MOST; ++size) {
        member_call members[TEAM_MOST];
        for (size_t r = 0; r < size; ++r)
            members[r] = (member_call){c, found_of(c->d->n)};
        team_do(size, do_call, members, sizeof *members);
        const found *got = &members[0].out;
        for (size_t r = 1; r < size; ++r)
            check_alike(got, &members[r].out, c->d->n);
        check_moments(got, &alone.out);
        check_lambdas(got, &alone.out);
        if (how == AS_OBJECTIVE)
            assert_true(fabs(got->objective - alone.out.objective) <= fmax(got->gap, alone.out.gap));
        else
            check_figures(got, &alone.out, 1e-9);
        if (how == AS_WEIGHTS)
            check_cells(got, &alone.out);
        for (size_t r = 0; r < size; ++r)
            found_free(&members[r].out);
    }
    found_free(&alone.out);
    ctx_done(ctx);
}

#endif
