/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that a team does, against the same calls of one process, for one to five members: moments, rankings, heads of every
 * method, scores, cross-validation. Rows are more and fewer than the blocks that they are dealt out in.
 *
 * Tolerances. Moments are sums of the same block products in another order: n u of their terms, 1e-12. Evidences and figures made
 * of them: 1e-9, and lambda, where F is largest and so flat, to the root of that. Ridge weights are floats of the same doubles: 1e-6 of the largest. Trainings to a gap are of the same objective,
 * and both within their gap of its least value. */
#define _GNU_SOURCE /* barriers */
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

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

static data data_of(size_t n, tn_task task)
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

static void data_free(data *d)
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

static void keep(found *f, double value)
{
    if (f->figures < sizeof f->figure / sizeof *f->figure)
        f->figure[f->figures++] = value;
}

static tn_status open_labels(tn_ctx *ctx, const data *d, bool weighted, tn_labels **out)
{
    static const char *const names[K] = {"p", "q", "r", "s"};
    tn_status st = d->task == TN_TASK_MULTICLASS ? tn_labels_from_numbers(ctx, d->cls, d->n, names, K, out)
                   : d->task == TN_TASK_MULTILABEL
                       ? tn_labels_from_matrix(ctx, d->marks, d->n, K, K, 1, names, TN_TASK_MULTILABEL, out)
                       : tn_labels_from_values(ctx, d->values, d->n, K, names, out);
    return st == TN_OK && weighted ? tn_labels_set_weights(ctx, *out, d->weight, d->n) : st;
}

static tn_status do_rank(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
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

static tn_status score_all(tn_ctx *ctx, const tn_head *head, const tn_features *const *f, size_t count, found *out)
{
    tn_status st = TN_OK;
    tn_scorer *scorer = NULL;
    TN_TRY(tn_scorer_new(ctx, head, f, count, TN_NAN_DROP, &scorer));
    TN_TRY(tn_scorer_read(ctx, scorer, 0, tn_scorer_rows(scorer), out->scores));
done:
    tn_scorer_free(scorer);
    return st;
}

static tn_status do_fit(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
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

static tn_status do_cv(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels,
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
static tn_status do_moments(tn_ctx *ctx, const tn_features *const *f, size_t count, const tn_labels *labels, found *out)
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

static tn_status do_call(tn_ctx *ctx, size_t rank, void *arg)
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

static found found_of(size_t n)
{
    size_t dim = A + B;
    return (found){.objective = NAN,
                   .gap = NAN,
                   .scores = calloc(n * K + 1, sizeof(float)),
                   .moments = calloc(dim * (dim + K + 4), sizeof(double))};
}

static void found_free(found *f)
{
    free(f->scores);
    free(f->moments);
}

static void check_figures(const found *got, const found *want, double tolerance)
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

static void check_lambdas(const found *got, const found *want)
{
    assert_int_equal(got->lambdas, want->lambdas);
    for (size_t i = 0; i < want->lambdas; ++i)
        if (isfinite(want->lambda[i]))
            assert_near_at(i, got->lambda[i], want->lambda[i], 3.2e-5);
        else
            assert_not_finite(got->lambda[i], want->lambda[i]);
}

static void check_moments(const found *got, const found *want)
{
    double largest = 1;
    assert_int_equal(got->moment_count, want->moment_count);
    for (size_t i = 0; i < want->moment_count; ++i)
        largest = fmax(largest, fabs(want->moments[i]));
    for (size_t i = 0; i < want->moment_count; ++i)
        assert_near_at(i, got->moments[i] / largest, want->moments[i] / largest, 1e-12);
}

static void check_cells(const found *got, const found *want)
{
    double largest = 0;
    assert_int_equal(got->cells, want->cells);
    for (size_t i = 0; i < want->cells; ++i)
        largest = fmax(largest, fabs(want->cell[i]));
    for (size_t i = 0; i < want->cells; ++i)
        assert_near_at(i, got->cell[i] / largest, want->cell[i] / largest, 1e-6);
}

/* Members agree to the last bit. */
static void check_alike(const found *a, const found *b, size_t n)
{
    assert_memory_equal(a->cell, b->cell, a->cells * sizeof *a->cell);
    assert_memory_equal(a->figure, b->figure, a->figures * sizeof *a->figure);
    assert_memory_equal(a->moments, b->moments, a->moment_count * sizeof *a->moments);
    if (a->cells > 0)
        assert_memory_equal(a->scores, b->scores, n * K * sizeof *a->scores);
}

typedef enum compared { AS_FIGURES, AS_WEIGHTS, AS_OBJECTIVE } compared;

static void check_call(const call *c, compared how)
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

/* ---- tests ---- */

static const size_t sizes[] = {1500, 300, 25};

static void moments_are_those_of_one_process(void **state)
{
    (void)state;
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (tn_task task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
            for (int weighted = 0; weighted < 2; ++weighted) {
                data d = data_of(sizes[z], task);
                d.b[3] = d.b[(d.n - 1) * B] = NAN; /* rows 0 and n - 1 do not take part */
                check_call(&(call){.d = &d, .kind = "moments", .both = true, .weighted = weighted != 0}, AS_FIGURES);
                data_free(&d);
            }
}

static void rankings_are_those_of_one_process(void **state)
{
    (void)state;
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (tn_task task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            data d = data_of(sizes[z], task);
            check_call(&(call){&d, "rank", {"normalize", "l2,zscore,none"}, true, task == TN_TASK_MULTILABEL},
                       AS_FIGURES);
            data_free(&d);
        }
    data d = data_of(600, TN_TASK_MULTICLASS);
    check_call(&(call){&d, "rank", {"by", "knn"}, true, false}, AS_FIGURES);
    check_call(&(call){&d, "rank", {"by", "cv"}, true, false}, AS_FIGURES);
    data_free(&d);
}

static void ridge_heads_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const options[][8] = {{"method", "evidence", "normalize", "zscore,none"},
                                             {"method", "evidence", "lambda", "loo", "select", "best"},
                                             {"method", "ridge-cv", "folds", "3"}};
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
            data d = data_of(sizes[z], i == 2 ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS);
            call c = {.d = &d, .kind = "fit", .both = true};
            memcpy(c.options, options[i], sizeof options[i]);
            check_call(&c, AS_WEIGHTS);
            data_free(&d);
        }
}

static void linear_heads_are_within_their_gaps(void **state)
{
    (void)state;
    static const char *const options[][8] = {
        {"method", "svm", "C", "1"},
        {"method", "svm", "C", "3", "loss", "hinge"},
        {"method", "svm", "C", "1", "penalise-bias", "no"},
        {"method", "logistic", "C", "10"},
        {"method", "svm-cv", "folds", "3", "grid", "0.1,1,10"},
        {"method", "logistic-cv", "folds", "3", "grid", "0.1,1,10"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        for (tn_task task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
            data d = data_of(task == TN_TASK_MULTICLASS ? 400 : 150, task);
            call c = {.d = &d, .kind = "fit", .both = i % 2 == 0};
            memcpy(c.options, options[i], sizeof options[i]);
            check_call(&c, AS_OBJECTIVE);
            data_free(&d);
        }
}

static void cross_validations_are_those_of_one_process(void **state)
{
    (void)state;
    data d = data_of(900, TN_TASK_MULTICLASS);
    check_call(&(call){&d, "cv", {"method", "evidence", "folds", "3"}, true, false}, AS_FIGURES);
    data_free(&d);
}

/* The default goes through every family; what it chooses by is within rounding, and its figures are those of the evidence. */
static void the_race_ends_alike(void **state)
{
    (void)state;
    data d = data_of(400, TN_TASK_MULTICLASS);
    call c = {.d = &d, .kind = "fit", .options = {"method", "auto"}, .both = true};
    tn_ctx *ctx = ctx_of(1);
    member_call alone = {&c, found_of(d.n)}, members[3];
    assert_fine(ctx, do_call(ctx, 0, &alone));
    for (size_t r = 0; r < 3; ++r)
        members[r] = (member_call){&c, found_of(d.n)};
    team_do(3, do_call, members, sizeof *members);
    for (size_t r = 0; r < 3; ++r) {
        check_alike(&members[0].out, &members[r].out, d.n);
        assert_near(members[r].out.figure[0], alone.out.figure[0], 1e-9);
    }
    for (size_t r = 0; r < 3; ++r)
        found_free(&members[r].out);
    found_free(&alone.out);
    ctx_done(ctx);
    data_free(&d);
}

/* ---- online ---- */

/* One pass, last weights: the mean, by rows, of what one process learns of every part. */
static void one_pass_of_online_learners_is_the_mean_of_the_parts(void **state)
{
    (void)state;
    static const char *const methods[] = {"pa", "perceptron", "sgd", "arow"};
    data d = data_of(333, TN_TASK_MULTICLASS);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i)
        for (size_t size = 1; size <= 4; ++size)
            for (int averaged = 0; averaged < 2; ++averaged) {
                call c = {.d = &d, .kind = "fit", .options = {"method", methods[i], "epochs", "1"}};
                c.options[4] = averaged ? NULL : "no-average";
                c.options[5] = averaged ? NULL : "yes";
                member_call members[TEAM_MOST];
                double want[CELLS] = {0};
                for (size_t r = 0; r < size; ++r)
                    members[r] = (member_call){&c, found_of(d.n)};
                team_do(size, do_call, members, sizeof *members);
                for (size_t r = 0; r < size; ++r) {
                    size_t from = (d.n * r + size - 1) / size, to = (d.n * (r + 1) + size - 1) / size;
                    data part = {to - from, d.a + from * A, d.b + from * B, d.cls + from, NULL, NULL, NULL, d.task};
                    call own = c;
                    own.d = &part;
                    member_call alone = {&own, found_of(d.n)};
                    tn_ctx *ctx = ctx_of(1);
                    assert_fine(ctx, do_call(ctx, 0, &alone));
                    for (size_t j = 0; j < alone.out.cells; ++j)
                        want[j] += (double)part.n / (double)d.n * alone.out.cell[j];
                    found_free(&alone.out);
                    ctx_done(ctx);
                }
                for (size_t r = 0; r < size; ++r) {
                    check_alike(&members[0].out, &members[r].out, d.n);
                    for (size_t j = 0; j < members[r].out.cells; ++j) /* floats, of weights of about 1 */
                        assert_near_at(j, members[r].out.cell[j], want[j], 1e-6);
                }
                for (size_t r = 0; r < size; ++r)
                    found_free(&members[r].out);
            }
    data_free(&d);
}

static double accuracy(const found *f, const data *d)
{
    double right = 0;
    for (size_t i = 0; i < d->n; ++i) {
        size_t best = 0;
        for (size_t k = 1; k < K; ++k)
            best = f->scores[i * K + k] > f->scores[i * K + best] ? k : best;
        right += (int64_t)best == d->cls[i];
    }
    return right / (double)d->n;
}

/* Ten passes, each from the mean: as good as one process, within three standard errors of 900 rows. */
static void passes_from_the_mean_learn_as_well(void **state)
{
    (void)state;
    static const char *const methods[] = {"pa", "arow", "scw"};
    data d = data_of(900, TN_TASK_MULTICLASS);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        call c = {.d = &d, .kind = "fit", .options = {"method", methods[i], "C", "0.1"}, .both = true};
        if (i == 2)
            c.options[2] = NULL;
        tn_ctx *ctx = ctx_of(1);
        member_call alone = {&c, found_of(d.n)}, members[4];
        assert_fine(ctx, do_call(ctx, 0, &alone));
        for (size_t r = 0; r < 4; ++r)
            members[r] = (member_call){&c, found_of(d.n)};
        team_do(4, do_call, members, sizeof *members);
        double one = accuracy(&alone.out, &d);
        assert_true(one > 0.6);
        for (size_t r = 0; r < 4; ++r) {
            assert_true(fabs(accuracy(&members[r].out, &d) - one) < 3 * sqrt(one * (1 - one) / (double)d.n));
            found_free(&members[r].out);
        }
        found_free(&alone.out);
        ctx_done(ctx);
    }
    data_free(&d);
}

/* ---- failures ---- */

/* A row that only the last member reads. */
static void a_bad_row_of_one_member_ends_all(void **state)
{
    (void)state;
    data d = data_of(1500, TN_TASK_MULTICLASS);
    d.b[1400 * B + 2] = INFINITY;
    call c = {.d = &d, .kind = "rank", .options = {"normalize", "none"}, .both = true};
    member_call mine[4];
    member members[TEAM_MOST];
    for (size_t r = 0; r < 4; ++r)
        mine[r] = (member_call){&c, found_of(d.n)};
    team_run(4, do_call, mine, sizeof *mine, members);
    for (size_t r = 0; r < 4; ++r) {
        assert_int_equal(members[r].code, TN_ERR_DATA);
        assert_non_null(strstr(members[r].message, "rank 3 of 4 (host3): b: row 1400 holds NaN or infinity"));
        found_free(&mine[r].out);
    }
    data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_one_process),
        cmocka_unit_test(rankings_are_those_of_one_process),
        cmocka_unit_test(ridge_heads_are_those_of_one_process),
        cmocka_unit_test(linear_heads_are_within_their_gaps),
        cmocka_unit_test(cross_validations_are_those_of_one_process),
        cmocka_unit_test(the_race_ends_alike),
        cmocka_unit_test(one_pass_of_online_learners_is_the_mean_of_the_parts),
        cmocka_unit_test(passes_from_the_mean_learn_as_well),
        cmocka_unit_test(a_bad_row_of_one_member_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
