/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The seam between learners and rows: every operation of the host's rows, and of rows in three parts, against loops;
 * and every learner that uses it, on both. A learner on the parts has nothing but the interface: it is given no design.
 *
 * Tolerances. Sums of n terms are within n u of the sum of their absolute values, u = 2^-24 or 2^-53. Trainings are
 * held to what they claim: an objective is that of a literal loop to 1e-6 (costs are float), both are within their
 * certified gaps of the same minimum, and so differ by no more than the larger gap. */
#include "three_parts.h"
#include "learn/linear/certify.h"
#include "learn/linear/exact.h"
#include "learn/linear/linear.h"
#include "learn/softmax/softmax_exact.h"

/* ---- operations against loops ---- */

enum { N = 83, D = 37, K = 5 };

typedef struct scene {
    setting s;
    tnp_design *design;
    three *parts;
    tnp_rows x[2]; /* the host's, the parts' */
    const double *row;
    float w[K * (D + 1)], state[N * K];
    double wide_w[K * (D + 1)], wide_state[N * K];
} scene;

static scene *scene_of(void)
{
    scene *c = ref_alloc(1, sizeof *c);
    ref_rng rng = ref_rng_of(11);
    c->s = setting_of(REF_SIGNED, N, D, K, TN_TASK_MULTICLASS, AS_F32);
    c->design = design_of(&c->s);
    cut(c->design, 30, false);
    c->parts = three_of(&c->s);
    c->x[0] = tnp_design_rows(c->design);
    c->x[1] = rows_of_three(c->parts);
    c->row = c->s.p.x;
    for (size_t i = 0; i < K * (D + 1); ++i)
        c->wide_w[i] = (double)(c->w[i] = (float)ref_normal(&rng));
    for (size_t i = 0; i < N * K; ++i)
        c->wide_state[i] = (double)(c->state[i] = i % 7 ? (float)ref_normal(&rng) : 0);
    return c;
}

static void scene_free(scene *c)
{
    three_free(c->parts);
    tnp_design_free(c->design);
    setting_free(&c->s);
    free(c);
}

/* Score of row i, column j, and the size of its terms. */
static ref_real score(const scene *c, size_t i, size_t j, ref_real *size)
{
    ref_real sum = c->w[j * (D + 1) + D];
    *size = fabsl(sum);
    for (size_t a = 0; a < D; ++a) {
        ref_real term = (ref_real)c->row[i * D + a] * (ref_real)c->w[j * (D + 1) + a];
        sum += term;
        *size += fabsl(term);
    }
    return sum;
}

/* t = state times a score, or state alone; sums: of t, by column, and the rows. Calls must be such as were allowed. */
static void times_state(void *arg, const tnp_panel *at)
{
    const scene *c = arg;
    assert_true(at->count <= 13 && at->start + at->count <= N);
    for (size_t i = 0; i < at->count * K; ++i) {
        at->t[i] = c->state[at->start * K + i] * (at->s ? at->s[i] : 1);
        at->sums[i % K] += (double)at->t[i];
    }
    at->sums[K] += (double)at->count;
    at->scratch[0] = at->scratch[1] = 1; /* nobody else's */
}

static void times_state_wide(void *arg, const tnp_wide_panel *at)
{
    const scene *c = arg;
    assert_true(at->count <= 13 && at->start + at->count <= N);
    for (size_t i = 0; i < at->count * K; ++i) {
        at->t[i] = c->wide_state[at->start * K + i] * (at->s ? at->s[i] : 1);
        at->sums[i % K] += at->t[i];
    }
    at->sums[K] += (double)at->count;
    at->scratch[0] = at->scratch[1] = 1;
}

/* back (K, D + 1) = t'X with t as times_state has it, sums last. */
static void check_back(const scene *c, bool scored, double u, const double *back)
{
    for (size_t j = 0; j < K; ++j)
        for (size_t a = 0; a <= D; ++a) {
            ref_real want = 0, all = 0, size;
            for (size_t i = 0; i < N; ++i) {
                ref_real s = scored ? score(c, i, j, &size) : (size = 1);
                ref_real by = (ref_real)c->state[i * K + j] * (a < D ? (ref_real)c->row[i * D + a] : 1);
                want += by * s;
                all += fabsl(by) * (fabsl(s) + size);
            }
            assert_true(fabsl((ref_real)back[j * (D + 1) + a] - want) <= (N + D + 5) * (ref_real)u * all);
        }
}

static void check_scores(const scene *c, double u, const double *s, const float *before)
{
    for (size_t i = 0; i < N * K; ++i) {
        ref_real size, was = before ? (ref_real)before[i] : 0, want = score(c, i / K, i % K, &size) + was;
        assert_true(fabsl((ref_real)s[i] - want) <= (D + 3) * (ref_real)u * (size + fabsl(was)));
    }
}

static void widen(const float *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; ++i)
        to[i] = (double)from[i];
}

static void passes_in_float(void **state)
{
    (void)state;
    scene *c = scene_of();
    for (int way = 0; way < 2; ++way) {
        float s[N * K], back[K * (D + 1)];
        double wide[N * K], sums[K + 1];
        tnp_pass with_body = {.k = K,
                              .most = 13,
                              .body = times_state,
                              .arg = c,
                              .scratch = 2,
                              .back = back,
                              .sum_count = K + 1,
                              .sums = sums};
        tnp_pass passes[] = {{.k = K, .w = c->w, .s = s},
                             {.k = K, .w = c->w, .s = s, .add = true},
                             {.k = K, .t = c->state, .back = back},
                             with_body,
                             with_body};
        passes[4].w = c->w;
        passes[4].most = 0;
        passes[4].chunk = 5;
        passes[4].work = 1e9;
        for (size_t p = 0; p < sizeof passes / sizeof *passes; ++p) {
            memcpy(s, c->state, sizeof s);
            assert_fine(test_ctx, tnp_rows_pass(test_ctx, &c->x[way], &passes[p]));
            if (passes[p].s) {
                widen(s, N * K, wide);
                check_scores(c, U, wide, passes[p].add ? c->state : NULL);
                continue;
            }
            widen(back, K * (D + 1), wide);
            check_back(c, passes[p].w != NULL, U, wide);
            for (size_t j = 0; passes[p].sums && j < K; ++j) /* the pass rounds its sums to float */
                assert_true(fabs(sums[j] - wide[j * (D + 1) + D]) <= 4 * U * (fabs(sums[j]) + N));
            if (passes[p].sums)
                assert_true(sums[K] == N);
        }
    }
    assert_int_equal(c->parts->calls[PASS], 5);
    scene_free(c);
}

static void passes_in_double(void **state)
{
    (void)state;
    scene *c = scene_of();
    ref_real longest = 0;
    for (size_t i = 0; i < N; ++i) {
        ref_real square = 0;
        for (size_t a = 0; a < D; ++a)
            square += (ref_real)c->row[i * D + a] * (ref_real)c->row[i * D + a];
        longest = fmaxl(longest, square);
    }
    for (int way = 0; way < 2; ++way) {
        double s[N * K], back[K * (D + 1)], sums[K + 1], most = -1, u = 0x1p-53;
        tnp_wide_pass with_body = {.k = K,
                                   .most = 13,
                                   .body = times_state_wide,
                                   .arg = c,
                                   .scratch = 2,
                                   .back = back,
                                   .sum_count = K + 1,
                                   .sums = sums};
        tnp_wide_pass passes[] = {{.k = K, .w = c->wide_w, .s = s, .longest = &most},
                                  {.k = K, .t = c->wide_state, .back = back},
                                  with_body,
                                  with_body};
        passes[3].w = c->wide_w;
        passes[3].most = 0;
        passes[3].chunk = 5;
        passes[3].work = 1e9;
        for (size_t p = 0; p < sizeof passes / sizeof *passes; ++p) {
            assert_fine(test_ctx, tnp_rows_wide_pass(test_ctx, &c->x[way], &passes[p]));
            if (passes[p].s)
                check_scores(c, u, s, NULL);
            else
                check_back(c, passes[p].w != NULL, u, back);
            for (size_t j = 0; passes[p].sums && j < K; ++j)
                assert_true(fabs(sums[j] - back[j * (D + 1) + D]) <= N * u * (fabs(sums[j]) + N));
        }
        assert_true(fabsl((ref_real)most - longest) <= D * (ref_real)u * longest);
        /* one column goes another way: its scores and products are those of column 0 among K */
        double alone[N], column[N], first[D + 1];
        for (size_t i = 0; i < N; ++i)
            column[i] = c->wide_state[i * K];
        assert_fine(test_ctx,
                    tnp_rows_wide_pass(test_ctx, &c->x[way], &(tnp_wide_pass){.k = 1, .w = c->wide_w, .s = alone}));
        assert_fine(test_ctx,
                    tnp_rows_wide_pass(test_ctx, &c->x[way], &(tnp_wide_pass){.k = 1, .t = column, .back = first}));
        assert_fine(test_ctx, tnp_rows_wide_pass(test_ctx, &c->x[way], &passes[1]));
        for (size_t i = 0; i < N; ++i)
            assert_true(fabs(alone[i] - s[i * K]) <= 1e-13 * (1 + fabs(s[i * K])));
        for (size_t a = 0; a <= D; ++a)
            assert_true(fabs(first[a] - back[a]) <= 1e-12 * (1 + fabs(back[a])));
    }
    scene_free(c);
}

/* h and mean as a learner gives them, and without. */
static void grams(void **state)
{
    (void)state;
    scene *c = scene_of();
    double h[N], mean[D], a[(D + 1) * (D + 1)];
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < N; ++i)
        h[i] = i % 3 ? fabs(ref_normal(&rng)) : 0;
    for (size_t j = 0; j < D; ++j)
        mean[j] = ref_normal(&rng);
    for (int way = 0; way < 2; ++way)
        for (int form = 0; form < 16; ++form) {
            tnp_gram gram = {form & 1 ? h : NULL, form & 2 ? mean : NULL, form & 4, form & 8};
            size_t width = D + gram.constant;
            assert_fine(test_ctx, c->x[way].ops->gram(test_ctx, c->x[way].self, &gram, a));
            for (size_t p = 0; p < width; ++p)
                for (size_t q = p; q < (gram.diagonal ? p + 1 : width); ++q) {
                    ref_real want = 0, size = 0;
                    for (size_t i = 0; i < N; ++i) {
                        ref_real left = p < D ? (ref_real)c->row[i * D + p] - (gram.mean ? mean[p] : 0) : 1;
                        ref_real right = q < D ? (ref_real)c->row[i * D + q] - (gram.mean ? mean[q] : 0) : 1;
                        ref_real term = (gram.h ? h[i] : 1) * left * right;
                        want += term;
                        size += fabsl(term);
                    }
                    double got = gram.diagonal ? a[p] : a[p * width + q];
                    assert_true(fabsl((ref_real)got - want) <= (N + 8) * 0x1p-53L * size);
                }
        }
    scene_free(c);
}

static void groups_and_picked_rows(void **state)
{
    (void)state;
    scene *c = scene_of();
    const size_t which[] = {0, 1, 10, 11, 29, 30, 52, 53, 54, 82};
    enum { PICKED = sizeof which / sizeof *which, GROUPS = 4, STRIDE = 9 };
    size_t group[N];
    for (size_t i = 0; i < N; ++i)
        group[i] = i * i % GROUPS;
    for (int way = 0; way < 2; ++way) {
        const tnp_rows *x = &c->x[way];
        double sums[GROUPS * D];
        float out[PICKED * D], *kept = NULL;
        const float *sample = NULL;
        size_t ld = 0;
        assert_fine(test_ctx, x->ops->cross(test_ctx, x->self, group, GROUPS, sums));
        for (size_t e = 0; e < GROUPS * D; ++e) {
            ref_real want = 0, size = 0;
            for (size_t i = 0; i < N; ++i)
                if (group[i] == e / D) {
                    want += (ref_real)c->row[i * D + e % D];
                    size += fabsl((ref_real)c->row[i * D + e % D]);
                }
            assert_true(fabsl((ref_real)sums[e] - want) <= N * 0x1p-53L * size);
        }
        assert_fine(test_ctx, x->ops->pick(test_ctx, x->self, which, PICKED, out));
        assert_fine(test_ctx, x->ops->sample(test_ctx, x->self, STRIDE, &sample, &ld, &kept));
        for (size_t j = 0; j < D; ++j) {
            for (size_t i = 0; i < PICKED; ++i)
                assert_true((double)out[i * D + j] == c->row[which[i] * D + j]);
            for (size_t i = 0; i * STRIDE < N; ++i)
                assert_true((double)sample[i * ld + j] == c->row[i * STRIDE * D + j]);
        }
        tnp_free(kept);
    }
    scene_free(c);
}

/* ---- learners ---- */

typedef enum form { SQUARED, SQUARED_FREE, HINGE, LOGISTIC, SOFTMAX, FORMS } form;

/* A training, on a design (which dual coordinate descent may use) or on three parts. */
typedef struct job {
    setting s;
    tnp_task *task;
    tnp_design *design;
    three *parts;
    tnp_learn_options options;
    tnp_linear linear;
    float *w;
    tnp_training out;
} job;

static job *job_of(form f, size_t n, size_t d, size_t k, bool in_parts)
{
    job *j = ref_alloc(1, sizeof *j);
    j->s = setting_of(REF_SIGNED, n, d, k, f == LOGISTIC ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, AS_F32);
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)j->s.features, 2, j->s.labels,
                                       TN_NAN_ERROR, true, &j->task));
    j->design = in_parts ? NULL : design_of(&j->s);
    j->parts = in_parts ? three_of(&j->s) : NULL;
    tnp_learn_options_default(&j->options);
    j->options.gap = 1e-4;
    j->options.loss = f == HINGE ? TNP_SVM_HINGE : TNP_SVM_SQUARED_HINGE;
    j->options.penalise_bias = f != SQUARED_FREE;
    j->linear = (tnp_linear){.rows = in_parts ? rows_of_three(j->parts) : tnp_design_rows(j->design),
                             .design = j->design,
                             .task = j->task,
                             .options = &j->options,
                             .logistic = f == LOGISTIC || f == SOFTMAX,
                             .bias = true,
                             .folds = 1};
    j->w = ref_alloc(3 * k * (d + 1), sizeof *j->w);
    return j;
}

static void job_free(job *j)
{
    if (j->parts)
        three_free(j->parts);
    tnp_design_free(j->design);
    tnp_task_free(j->task);
    setting_free(&j->s);
    free(j->w);
    free(j);
}

/* The objective at C = 1 by its formula; classes that all rows have, or none, have no problem of their own. */
static ref_real literal(const job *j, form f)
{
    const ref_problem *p = &j->s.p;
    ref_real sum = 0;
    for (size_t i = 0; i < p->n; ++i) {
        ref_real total = 0, own = 0;
        for (size_t c = 0; c < p->k; ++c) {
            const float *w = j->w + c * (p->d + 1);
            ref_real s = (ref_real)w[p->d], sign = p->y[i * p->k + c] > 0.5 ? 1 : -1;
            for (size_t a = 0; a < p->d; ++a)
                s += (ref_real)w[a] * (ref_real)p->x[i * p->d + a];
            ref_real slack = fmaxl(0, 1 - sign * s);
            total += expl(s);
            own += sign > 0 ? s : 0;
            if (f == SOFTMAX || j->task->constant[c])
                continue;
            sum += f == LOGISTIC ? log1pl(expl(-sign * s)) : f == HINGE ? slack : slack * slack;
        }
        sum += f == SOFTMAX ? logl(total) - own : 0;
    }
    for (size_t e = 0; e < p->k * (p->d + 1); ++e)
        if (e % (p->d + 1) < p->d || f == SQUARED || f == HINGE)
            sum += (ref_real)j->w[e] * (ref_real)j->w[e] / 2;
    return sum;
}

static void train(job *j, form f)
{
    assert_fine(test_ctx, tnp_linear_train(test_ctx, &j->linear, 1, j->w, &j->out));
    assert_true(j->out.converged && j->out.gap <= j->options.gap * j->out.objective);
    assert_true(fabsl(literal(j, f) - (ref_real)j->out.objective) <= 1e-6L * (ref_real)j->out.objective);
}

/* Wide and tall shapes: the steps of learn/exact_step.c go by rows or by columns, and 30 classes have the certificate
 * by probes. */
static void trainings_on_parts_claim_what_holds(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{150, 12, 4}, {40, 90, 3}, {220, 40, 30}};
    size_t calls[ASKED] = {0};
    for (size_t z = 0; z < 3; ++z)
        for (int f = 0; f < FORMS; ++f) {
            job *host = job_of((form)f, shapes[z][0], shapes[z][1], shapes[z][2], false);
            job *parts = job_of((form)f, shapes[z][0], shapes[z][1], shapes[z][2], true);
            train(host, (form)f);
            train(parts, (form)f);
            assert_true(fabs(host->out.objective - parts->out.objective) <= fmax(host->out.gap, parts->out.gap));
            for (size_t a = 0; a < ASKED; ++a)
                calls[a] += parts->parts->calls[a];
            job_free(host);
            job_free(parts);
        }
    for (asked a = PASS; a < ASKED; ++a) /* folds and ridge have tests of their own */
        assert_true(calls[a] > 0 || a == SCORES_BY || a == MOMENTS);
}

/* The last resorts, which the trainings above need not reach: from zero, at a tolerance that float products do not
 * reach. */
static void exact_routes_on_parts(void **state)
{
    (void)state;
    for (int tall = 0; tall < 2; ++tall) {
        job *j = job_of(SOFTMAX, tall ? 120 : 50, tall ? 9 : 70, 3, true);
        size_t width = j->s.p.d + 1, k = 3, passes = 0, cols[3] = {0, 1, 2};
        double objective[3], gap[3], tolerance = 1e-7;
        float one[3] = {1, 1, 1};
        tnp_columns columns = {.y = &j->s.y, .count = k, .positive_cost = one, .negative_cost = one};
        for (tnp_margin loss = TNP_HINGE; loss <= TNP_LOGISTIC; ++loss) {
            tnp_exact_options options = {loss, true, loss == TNP_HINGE, tolerance, 1000};
            memset(j->w, 0, k * width * sizeof *j->w);
            for (size_t c = 0; c < k; ++c)
                gap[c] = objective[c] = INFINITY;
            assert_fine(test_ctx, tnp_exact_solve(test_ctx, &j->linear.rows, &columns, cols, k, &options, NULL, j->w,
                                                  objective, gap, &passes));
            double sum = 0, said[3], certain[3];
            tnp_claim claim = {&columns, loss, true, loss == TNP_HINGE, k, cols, j->w, NULL};
            assert_fine(test_ctx, tnp_certify(test_ctx, &j->linear.rows, &claim, said, certain));
            for (size_t c = 0; c < k; ++c) {
                assert_true(gap[c] <= tolerance * objective[c] && certain[c] >= 0);
                assert_true(fabs(said[c] - objective[c]) <= 1e-12 * objective[c]);
                sum += objective[c];
            }
            ref_real want = literal(j, loss == TNP_HINGE ? HINGE : loss == TNP_LOGISTIC ? LOGISTIC : SQUARED_FREE);
            assert_true(fabsl(want - (ref_real)sum) <= 1e-12L * want);
        }
        tnp_softmax loss = {&j->s.y, 1, NULL};
        double f = INFINITY, distance = INFINITY;
        passes = 0;
        memset(j->w, 0, k * width * sizeof *j->w);
        assert_fine(test_ctx, tnp_softmax_exact(test_ctx, &j->linear.rows, &loss, true, tolerance, 5000, j->w, &f,
                                                &distance, &passes));
        assert_true(distance <= tolerance * f);
        assert_true(fabsl(literal(j, SOFTMAX) - (ref_real)f) <= 1e-12L * (ref_real)f);
        assert_true(j->parts->calls[GRAM] > 0 && (tall || j->parts->calls[PICK] > 0));
        job_free(j);
    }
}

/* Scores of every row by the models that were trained without its fold, against a loop. */
static void held_out_scores_on_parts(void **state)
{
    (void)state;
    job *j = job_of(SQUARED_FREE, 60, 10, 3, true);
    uint32_t fold[60];
    float scores[60 * 3];
    for (size_t i = 0; i < 60; ++i)
        fold[i] = (uint32_t)(i * 7 % 3);
    j->linear.row_fold = fold;
    j->linear.folds = 3;
    assert_fine(test_ctx, tnp_linear_train(test_ctx, &j->linear, 1, j->w, &j->out));
    assert_fine(test_ctx, tnp_linear_held_out(test_ctx, &j->linear, j->w, scores));
    assert_int_equal(j->parts->calls[SCORES_BY], 1);
    for (size_t i = 0; i < 60; ++i)
        for (size_t c = 0; c < 3; ++c) {
            const float *w = j->w + (fold[i] * 3 + c) * 11;
            ref_real want = (ref_real)w[10], size = fabsl(want);
            for (size_t a = 0; a < 10; ++a) {
                ref_real term = (ref_real)w[a] * (ref_real)j->s.p.x[i * 10 + a];
                want += term;
                size += fabsl(term);
            }
            assert_true(fabsl((ref_real)scores[i * 3 + c] - want) <= 12 * (ref_real)U * size);
        }
    job_free(j);
}

/* The weights of a ridge at lambda solve (Z'Z + lambda I) w = Z'y, Z and y centred: the residual by loops, of weights
 * from moments that three parts merged. Moments are float products: an entry is off by n u of its terms. */
static void ridge_from_merged_moments(void **state)
{
    (void)state;
    enum { ROWS = 140, COLS = 11, CLASSES = 3 };
    job *j = job_of(SOFTMAX, ROWS, COLS, CLASSES, true);
    const double *x = j->s.p.x, *y = j->s.p.y, lambda[CLASSES] = {0.5, 2, 8};
    tnp_moments *moments = NULL;
    tnp_ridge *ridge = NULL;
    tnp_range all = {0, COLS};
    float w[CLASSES * COLS], b[CLASSES];
    assert_fine(test_ctx, j->linear.rows.ops->moments(test_ctx, j->parts, &j->s.y, NULL, &moments));
    assert_int_equal(tn_moments_rows(moments), ROWS);
    assert_fine(test_ctx, tnp_ridge_primal(test_ctx, moments, &all, 1, true, &ridge));
    assert_fine(test_ctx, tnp_ridge_weights(test_ctx, ridge, NULL, 0, lambda, w, b));
    for (size_t c = 0; c < CLASSES; ++c)
        for (size_t a = 0; a < COLS; ++a) {
            ref_real left = 0, size = 0, mean = 0;
            for (size_t i = 0; i < ROWS; ++i)
                mean += (ref_real)x[i * COLS + a] / ROWS;
            for (size_t i = 0; i < ROWS; ++i) {
                ref_real z = (ref_real)x[i * COLS + a] - mean, e = (ref_real)y[i * CLASSES + c] - (ref_real)b[c];
                size += fabsl(z * e);
                for (size_t q = 0; q < COLS; ++q) {
                    ref_real term = (ref_real)w[c * COLS + q] * (ref_real)x[i * COLS + q];
                    e -= term;
                    size += fabsl(z * term);
                }
                left += z * e;
            }
            left -= (ref_real)lambda[c] * (ref_real)w[c * COLS + a];
            assert_true(fabsl(left) <= ROWS * (ref_real)U * size);
        }
    tnp_ridge_free(ridge);
    tn_moments_free(moments);
    job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_in_float),
        cmocka_unit_test(passes_in_double),
        cmocka_unit_test(grams),
        cmocka_unit_test(groups_and_picked_rows),
        cmocka_unit_test(trainings_on_parts_claim_what_holds),
        cmocka_unit_test(exact_routes_on_parts),
        cmocka_unit_test(held_out_scores_on_parts),
        cmocka_unit_test(ridge_from_merged_moments),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
