/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The path along C: its decisions about held-out rows against cold solutions of scikit-learn, the grid that is found
 * against the formula, and the rule by which the path ends or goes on, on curves that are made up. */
#include "design_of.h"
#include "fixtures/learners/sklearn_path.h"
#include "learn/head/calibrate.h"
#include "learn/head/cross.h"
#include "learn/head/folds.h"

enum { N = PATH_ROWS, D = PATH_COLS, K = PATH_CLASSES, MOST_ROWS = 900, MOST_COLS = 300 };

typedef struct scene {
    setting s;
    tnp_task *task;
    tnp_design *x;
    tnp_learn_options options;
    uint32_t fold[MOST_ROWS];
    float alpha[MOST_ROWS * PATH_FOLDS * K], w[PATH_FOLDS * K * (MOST_COLS + 1)], scores[MOST_ROWS * K];
    tnp_linear linear;
    const tnp_cross *cross;
    size_t calls;
    const double *grid, *curve; /* values of C, and what folds say of them (values, folds): the measure goes by it */
    double rise;                /* without a curve: what the measure gains with every factor of e in C */
} scene;

/* Training of the problem e->s.p, in two representations as a setting has them. */
static void open_scene(scene *e, tn_task kind, bool logistic)
{
    size_t rows = e->s.p.n, all = e->s.p.d;
    double *half = ref_alloc(rows * all, sizeof *half);
    for (size_t f = 0; f < 2; ++f) {
        size_t from = f ? all / 2 : 0, cols = f ? all - all / 2 : all / 2;
        for (size_t i = 0; i < rows; ++i)
            memcpy(half + i * cols, e->s.p.x + i * all + from, cols * sizeof *half);
        e->s.features[f] = array_of(f ? "b" : "a", half, rows, cols, AS_F32);
        e->s.feed[f] = feed_of(e->s.features[f], TN_NORM_NONE);
    }
    e->s.labels = labels_of(e->s.p.y, rows, K, kind);
    e->s.y = targets_of(e->s.labels);
    free(half);
    assert_fine(test_ctx, tnp_task_new(test_ctx, (const tn_features *const *)e->s.features, 2, e->s.labels,
                                       TN_NAN_ERROR, true, &e->task));
    e->x = design_of(&e->s);
    tnp_learn_options_default(&e->options);
    e->options.gap = 1e-9;
    e->options.max_passes = 20000;
    e->linear = (tnp_linear){.rows = tnp_design_rows(e->x),
                             .design = e->x,
                             .task = e->task,
                             .options = &e->options,
                             .logistic = logistic,
                             .bias = true,
                             .row_fold = e->fold,
                             .folds = PATH_FOLDS,
                             .alpha = logistic ? NULL : e->alpha};
}

/* The rows of the fixture. */
static scene *scene_of(tn_task kind, bool logistic)
{
    scene *e = ref_alloc(1, sizeof *e);
    e->s.p = (ref_problem){N, D, K, ref_alloc(N * D, sizeof(double)), ref_alloc(N * K, sizeof(double))};
    for (size_t i = 0; i < N * D; ++i)
        e->s.p.x[i] = path_x[i] / 64.0;
    for (size_t i = 0; i < N; ++i) {
        e->s.p.y[i * K + path_y[i]] = 1;
        e->fold[i] = (uint32_t)(i * 7 % 4);
        e->fold[i] = e->fold[i] < PATH_FOLDS ? e->fold[i] : TNP_NO_FOLD;
    }
    open_scene(e, kind, logistic);
    return e;
}

/* One whose models need not be good: the measure does not look at them. */
static scene *made_up(void)
{
    scene *e = scene_of(TN_TASK_MULTILABEL, false);
    e->options.gap = 1;
    e->options.max_passes = 1;
    return e;
}

static void scene_free(scene *e)
{
    tnp_task_free(e->task);
    tnp_design_free(e->x);
    setting_free(&e->s);
    free(e);
}

static tn_status walk(scene *e, tnp_measure_fn measure, tnp_cross *cross)
{
    e->calls = 0;
    e->cross = cross;
    return tnp_linear_cv(test_ctx, &e->linear, measure, e, cross, e->w, e->scores);
}

static size_t decide(const float *s)
{
    size_t best = 0;
    for (size_t c = 1; c < K; ++c)
        best = s[c] > s[best] ? c : best;
    return best;
}

/* ---- against cold solutions ---- */

/* Every decision is the fixture's; the value is the share of right ones. */
static tn_status compare(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores, double *value)
{
    scene *e = arg;
    size_t g = 0, f = e->fold[rows[0]], right = 0;
    while (path_grid[g] != e->cross->trying)
        ++g;
    const unsigned char *want = path_class + ((e->linear.logistic ? PATH_COSTS : 0) + g) * N;
    (void)ctx;
    for (size_t i = 0; i < count; ++i) {
        size_t got = decide(scores + i * K);
        assert_int_equal(e->fold[rows[i]], f);
        if (got != want[rows[i]])
            print_error("C %g, row %zu: got class %zu, want %d\n", path_grid[g], rows[i], got, want[rows[i]]);
        assert_int_equal(got, want[rows[i]]);
        right += got == path_y[rows[i]];
    }
    *value = (double)right / (double)count;
    ++e->calls;
    return TN_OK;
}

static void decisions_of_cold_solutions(void **state)
{
    (void)state;
    for (int logistic = 0; logistic < 2; ++logistic) {
        scene *e = scene_of(TN_TASK_MULTICLASS, logistic);
        tnp_cross *cross = NULL;
        size_t best = 0;
        assert_fine(test_ctx, tnp_cross_new(test_ctx, path_grid, PATH_COSTS, PATH_FOLDS, &cross));
        assert_fine(test_ctx, tnp_cross_want_loss(test_ctx, cross));
        assert_fine(test_ctx, walk(e, compare, cross));
        size_t judged = 0, skipped = 0;
        for (size_t g = 0; g < cross->count; ++g) {
            judged += cross->judged[g];
            if (cross->judged[g] == PATH_FOLDS)
                best = cross->mean[g] > cross->mean[best] ? g : best;
        }
        assert_int_equal(e->calls, judged);
        assert_true(cross->count >= 3);
        assert_int_equal(cross->best, best);
        while (path_grid[skipped] != cross->grid[best])
            ++skipped;
        const unsigned char *want = path_class + ((logistic ? PATH_COSTS : 0) + skipped) * N;
        for (size_t i = 0; i < N; ++i) /* the scores are those of the best C, and so are the weights */
            if (e->fold[i] < PATH_FOLDS) {
                double s = (double)e->w[e->fold[i] * K * (D + 1) + D];
                for (size_t j = 0; j < D; ++j)
                    s += (double)e->w[e->fold[i] * K * (D + 1) + j] * e->s.p.x[i * D + j];
                assert_int_equal(decide(e->scores + i * K), want[i]);
                assert_true(fabs(s - (double)e->scores[i * K]) <= 64 * U * (1 + fabs(s)));
            } else {
                assert_true(isnan(e->scores[i * K]));
            }
        tnp_cross_free(cross);
        scene_free(e);
    }
}

/* Log-loss of the scores at the best C by a literal loop, at a temperature that no other beats. */
static void log_loss_of_the_held_out_rows(void **state)
{
    (void)state;
    for (int logistic = 0; logistic < 2; ++logistic) {
        scene *e = scene_of(TN_TASK_MULTICLASS, logistic);
        tnp_cross *cross = NULL;
        assert_fine(test_ctx, tnp_cross_new(test_ctx, path_grid, PATH_COSTS, PATH_FOLDS, &cross));
        assert_fine(test_ctx, tnp_cross_want_loss(test_ctx, cross));
        assert_fine(test_ctx, walk(e, compare, cross));
        double loss[3] = {0}, t = cross->temperature[cross->best], rows = 0;
        for (size_t i = 0; i < N; ++i) {
            const float *s = e->scores + i * K;
            for (size_t way = 0; way < 3 && e->fold[i] < PATH_FOLDS; ++way) {
                double at = t * (way == 0 ? 1 : way == 1 ? 1.01 : 0.99), total = 0;
                for (size_t c = 0; c < K; ++c)
                    total += exp((double)s[c] / at);
                loss[way] += log(total) - (double)s[path_y[i]] / at;
            }
            rows += e->fold[i] < PATH_FOLDS;
        }
        assert_near(cross->log_loss[cross->best], loss[0] / rows, 1e-9);
        assert_true(loss[0] <= loss[1] && loss[0] <= loss[2]);
        tnp_cross_free(cross);
        scene_free(e);
    }
}

/* ---- the grid ---- */

/* Mean |x - mean|^2, or |x|^2. */
static double spread_of(const scene *e, bool centred)
{
    double sum = 0;
    for (size_t j = 0; j < D; ++j) {
        double mean = 0;
        for (size_t i = 0; i < N; ++i)
            mean += centred ? e->s.p.x[i * D + j] / N : 0;
        for (size_t i = 0; i < N; ++i)
            sum += (e->s.p.x[i * D + j] - mean) * (e->s.p.x[i * D + j] - mean) / N;
    }
    return sum;
}

/* Eleven rungs of 1 and 3 times a power of ten, the first the largest with C s^2 <= 0.01; C of weighted rows, and the
 * mean cost, are made up for. */
static void a_grid_goes_by_the_size_of_the_rows(void **state)
{
    (void)state;
    const double ladder[] = {1e-5, 3e-5, 1e-4, 3e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1,  3,
                             10,   30,   100,  300,  1000,  3000,  1e4,  3e4,  1e5, 3e5, 1e6};
    float weight[N];
    for (size_t i = 0; i < N; ++i)
        weight[i] = 100.0f + (i % 2 ? 50.0f : -50.0f);
    for (int form = 0; form < 6; ++form) {
        scene *e = scene_of(TN_TASK_MULTICLASS, form & 1);
        tnp_cross *c = NULL;
        e->linear.bias = form != 1;
        e->linear.row_weight = form == 2 || form == 4 ? weight : NULL;
        e->options.mean_cost = form >= 3;
        double scale = spread_of(e, form != 1) * (e->linear.row_weight ? 100 : 1) / (form >= 3 ? N : 1);
        size_t first = 0;
        while (ladder[first + 1] * scale <= 0.01)
            ++first;
        assert_fine(test_ctx, tnp_cross_found(test_ctx, &e->linear, PATH_FOLDS, &c));
        assert_near(c->scale, scale, 1e-6 * scale);
        assert_int_equal(c->count, 11);
        assert_int_equal(c->planned, 11);
        for (size_t g = 0; g < 11; ++g)
            assert_near(c->grid[g], ladder[first + g], 1e-14 * ladder[first + g]);
        tnp_cross_free(c);
        scene_free(e);
    }
}

/* ---- where the path ends ---- */

/* As the curve says of the C that is tried and the fold of the rows. */
static tn_status follow(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores, double *value)
{
    scene *e = arg;
    size_t g = 0;
    (void)ctx;
    (void)count;
    (void)scores;
    ++e->calls;
    *value = e->rise * log(e->cross->trying);
    if (e->curve) {
        while (e->grid[g] != e->cross->trying)
            ++g;
        *value = e->curve[g * e->linear.folds + e->fold[rows[0]]];
    }
    return TN_OK;
}

enum { LONGEST = 9 };

/* What is measured at 0.01, 0.01 ratio, ...: folds a little above, at, and a little below the mean, by `noise` with signs
 * that change from value to value. */
typedef struct made_curve {
    double ratio, scale, mean[LONGEST], noise;
    size_t count;
} made_curve;

/* A walk over all of it; usual: which value is that, from 1 on, 0 for none. */
static tnp_cross *walk_along(const made_curve *m, size_t usual)
{
    scene *e = made_up();
    double grid[LONGEST], curve[LONGEST * PATH_FOLDS];
    tnp_cross *c = NULL;
    for (size_t g = 0; g < m->count; ++g) {
        grid[g] = 0.01 * pow(m->ratio, (double)g);
        for (size_t f = 0; f < PATH_FOLDS; ++f)
            curve[g * PATH_FOLDS + f] = m->mean[g] + ((double)f - 1) * (g % 2 ? 1 : -1) * m->noise;
    }
    e->grid = grid;
    e->curve = curve;
    assert_fine(test_ctx, tnp_cross_new(test_ctx, grid, m->count, PATH_FOLDS, &c));
    c->scale = m->scale;
    c->usual = usual > 0 ? grid[usual - 1] : 0;
    assert_fine(test_ctx, walk(e, follow, c));
    scene_free(e);
    return c;
}

/* With three folds that are `noise` apart, in turn above and below, a standard error is 1.16 times that. */
static void where_the_path_ends_and_what_it_takes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        made_curve curve;
        size_t tried, best; /* best: of those that were tried */
        size_t usual;
    } cases[] = {
        {"two clearly worse values over a factor of ten", {3.2, 100, {0.5, 0.6, 0.7, 0.6, 0.5, 0.4}, 0.01, 6}, 5, 2, 0},
        {"one worse value, then the best again", {3.2, 100, {0.5, 0.7, 0.6, 0.7, 0.6, 0.5, 0.4}, 0.01, 7}, 6, 1, 0},
        {"less than a standard error", {3.2, 100, {0.5, 0.7, 0.699, 0.698, 0.697}, 0.1, 5}, 5, 1, 0},
        {"two worse values, but close together",
         {1.5, 100, {0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05}, 0.01, 8},
         7,
         0,
         0},
        {"far apart, but one value only", {100, 100, {0.5, 0.7, 0.1}, 0.01, 3}, 3, 1, 0},
        {"a fall before anything was learned", {3.2, 1e-9, {0.7, 0.5, 0.4, 0.3, 0.8}, 0.01, 5}, 5, 4, 0},
        {"level", {3.2, 100, {0.5, 0.5, 0.5, 0.5, 0.5}, 0, 5}, 5, 0, 0},
        /* C s^2 from 0.001 on: the walk begins at 0.105, the fifth value */
        {"a rise from where it begins on", {3.2, 0.1, {0.1, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9}, 0.01, 8}, 4, 3, 0},
        {"nothing below is better", {3.2, 0.1, {0.2, 0.3, 0.4, 0.7, 0.6, 0.5, 0.4, 0.3}, 0.01, 8}, 6, 2, 0},
        {"nothing was wrong", {3.2, 100, {0.5, 1, 1, 1, 1}, 0, 5}, 2, 1, 0},
        {"nothing was wrong, nor is it below", {3.2, 0.1, {0.9, 0.95, 1, 1, 1, 1, 1, 1}, 0, 8}, 5, 2, 0},
        {"the best is below", {3.2, 0.1, {0.6, 0.7, 0.9, 0.7, 0.6, 0.5, 0.4, 0.3}, 0.01, 8}, 7, 2, 0},
        {"none is better than the usual by more", {3.2, 100, {0.5, 0.605, 0.6, 0.605, 0.5}, 0.01, 5}, 5, 2, 3},
        {"one is better than the usual by more", {3.2, 100, {0.5, 0.55, 0.6, 0.65, 0.6}, 0.01, 5}, 5, 3, 3},
        {"the usual after one that is better by less", {3.2, 100, {0.605, 0.6, 0.59, 0.58}, 0.01, 4}, 4, 1, 2},
        {"the usual after one that is better by more", {3.2, 100, {0.7, 0.6, 0.5, 0.4}, 0.01, 4}, 3, 0, 2},
        {"all are as the usual", {3.2, 100, {0.6, 0.6, 0.6, 0.6}, 0, 4}, 4, 2, 3},
    };
    for (size_t z = 0; z < sizeof cases / sizeof *cases; ++z) {
        tnp_cross *c = walk_along(&cases[z].curve, cases[z].usual);
        if (c->count != cases[z].tried || c->best != cases[z].best)
            print_error("%s: tried %zu, best %zu\n", cases[z].name, c->count, c->best);
        assert_int_equal(c->count, cases[z].tried);
        assert_int_equal(c->best, cases[z].best);
        assert_int_equal(c->skipped, cases[z].curve.count - cases[z].tried);
        assert_int_equal(c->added, 0);
        tnp_cross_free(c);
    }
}

/* A grid that was found goes on up to C s^2 = 10^6 and down to 10^-6 as long as its end is the best; one that was given
 * never does. */
static void a_found_grid_goes_on_past_its_ends(void **state)
{
    (void)state;
    for (int form = 0; form < 3; ++form) {
        scene *e = made_up();
        tnp_cross *c = NULL;
        e->rise = form == 1 ? -1 : 1;
        if (form < 2)
            assert_fine(test_ctx, tnp_cross_found(test_ctx, &e->linear, PATH_FOLDS, &c));
        else
            assert_fine(test_ctx, tnp_cross_new(test_ctx, path_grid, PATH_COSTS, PATH_FOLDS, &c));
        double first = c->grid[0];
        assert_fine(test_ctx, walk(e, follow, c));
        for (size_t g = 1; g < c->count; ++g)
            assert_true(c->grid[g] > 2.9 * c->grid[g - 1] && c->grid[g] < 10.1 * c->grid[g - 1]);
        if (form == 0) {
            assert_int_equal(c->best, c->count - 1);
            assert_int_equal(c->added, c->count + c->skipped - 11);
            assert_true(c->grid[c->best] * c->scale <= 1e6 && 3.4 * c->grid[c->best] * c->scale > 1e6);
        } else if (form == 1) { /* the smaller the better: it ends at once where it may, then goes below the first */
            assert_true(c->skipped > 0 && c->added > 0);
            assert_int_equal(c->best, 0);
            assert_true(c->grid[c->added] == first);
            assert_true(c->grid[0] * c->scale >= 1e-6 && c->grid[0] * c->scale < 3.4e-6);
        } else {
            assert_int_equal(c->count, PATH_COSTS);
            assert_int_equal(c->added, 0);
        }
        tnp_cross_free(c);
        scene_free(e);
    }
}

/* ---- values that are given up ---- */

/* Three classes whose rows differ in two of many columns, by less than what is random in them: a large C learns the
 * random. */
static scene *noisy(bool logistic)
{
    scene *e = ref_alloc(1, sizeof *e);
    uint64_t state = 7;
    size_t rows = MOST_ROWS, cols = MOST_COLS;
    e->s.p = (ref_problem){rows, cols, K, ref_alloc(rows * cols, sizeof(double)), ref_alloc(rows * K, sizeof(double))};
    for (size_t i = 0; i < rows; ++i) {
        size_t own = i % K;
        e->s.p.y[i * K + own] = 1;
        e->fold[i] = (uint32_t)(i / K % PATH_FOLDS);
        for (size_t j = 0; j < cols; ++j) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            e->s.p.x[i * cols + j] = (double)(state >> 40) / (1 << 24) - 0.5 + (j == own ? 0.4 : 0);
        }
    }
    open_scene(e, TN_TASK_MULTICLASS, logistic);
    return e;
}

typedef struct looks {
    scene *e;
    double right[LONGEST][MOST_ROWS]; /* by value of the grid: 1 right, 0 wrong, NaN not asked */
    const double *grid;
} looks;

static tn_status look(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores, double *value)
{
    looks *k = arg;
    size_t g = 0;
    (void)ctx;
    while (k->grid[g] != k->e->cross->trying)
        ++g;
    *value = 0;
    for (size_t i = 0; i < count; ++i) {
        k->right[g][rows[i]] = k->e->s.p.y[rows[i] * K + decide(scores + i * K)];
        *value += k->right[g][rows[i]] / (double)count;
    }
    return TN_OK;
}

/* Sum of best - other over the rows of the first `folds` folds beside its standard error. */
static double errors_below(const looks *k, size_t best, size_t other, size_t folds)
{
    double n = 0, sum = 0, square = 0;
    for (size_t i = 0; i < MOST_ROWS; ++i)
        if (k->e->fold[i] < folds) {
            double d = k->right[best][i] - k->right[other][i];
            n += 1;
            sum += d;
            square += d * d;
        }
    return sum / sqrt((square - sum * sum / n) * n / (n - 1));
}

/* A value is given up after a fold where it is two standard errors below the best before it, row by row, and only there,
 * and it is the last on the way up where weights have learned something; the choice is that of trainings one by one, cold
 * and to a small gap, which never give up. */
static void values_without_hope_are_given_up(void **state)
{
    (void)state;
    static const double grid[] = {0.005, 0.2, 2, 40, 800}; /* C s^2 from 0.08 on, then 3.3: none is set aside */
    enum { COUNT = sizeof grid / sizeof *grid };
    for (int logistic = 0; logistic < 2; ++logistic) {
        scene *e = noisy(logistic);
        looks *k = ref_alloc(1, sizeof *k);
        tnp_cross *c = NULL;
        size_t given_up = 0, ended = 0, exact = 0;
        double top = 0;
        *k = (looks){.e = e, .grid = grid};
        e->options.gap = 1e-3;
        assert_fine(test_ctx, tnp_cross_new(test_ctx, grid, COUNT, PATH_FOLDS, &c));
        e->cross = c;
        assert_fine(test_ctx, tnp_linear_cv(test_ctx, &e->linear, look, k, c, e->w, e->scores));
        size_t offset = 0;
        while (grid[offset] != c->grid[0])
            ++offset;
        for (size_t g = c->best + 1; g < c->count; ++g) { /* after the best all are compared with it */
            bool last = c->judged[g] == PATH_FOLDS;
            given_up += !last;
            if (!last)
                assert_true(errors_below(k, offset + c->best, offset + g, c->judged[g]) > 2);
            for (size_t folds = logistic ? 1 : c->judged[g]; folds < c->judged[g]; ++folds)
                assert_true(errors_below(k, offset + c->best, offset + g, folds) <= 2);
            if (c->grid[g] * c->scale >= 1 && errors_below(k, offset + c->best, offset + g, c->judged[g]) > 2) {
                assert_int_equal(g + 1, c->count);
                ended += offset + c->count < COUNT;
            }
        }
        assert_true(given_up > 0 && ended > 0);
        for (size_t g = 0; g < COUNT; ++g) {
            tnp_cross *one = NULL;
            e->options.gap = 1e-6;
            assert_fine(test_ctx, tnp_cross_new(test_ctx, grid + g, 1, PATH_FOLDS, &one));
            e->cross = one;
            assert_fine(test_ctx, tnp_linear_cv(test_ctx, &e->linear, look, k, one, e->w, e->scores));
            exact = one->mean[0] > top ? g : exact;
            top = fmax(top, one->mean[0]);
            tnp_cross_free(one);
        }
        assert_true(grid[exact] == c->grid[c->best]);
        tnp_cross_free(c);
        free(k);
        scene_free(e);
    }
}

/* Folds of logistic regression that are trained side by side, though the one before them gives the value up, leave
 * nothing behind: the same values, judged by as many folds, for every number of threads. */
static void folds_side_by_side_change_no_choice(void **state)
{
    (void)state;
    static const double grid[] = {0.005, 0.02, 0.035, 0.045, 0.055, 0.065, 0.075, 0.085, 0.1};
    enum { COUNT = sizeof grid / sizeof *grid };
    scene *e = noisy(true);
    looks *k = ref_alloc(1, sizeof *k);
    tnp_cross *one = NULL;
    size_t midway = 0;
    *k = (looks){.e = e, .grid = grid};
    e->options.gap = 1e-3;
    for (size_t threads = 1; threads <= 4; ++threads) {
        tnp_cross *c = NULL;
        tn_ctx_set_threads(test_ctx, threads);
        assert_fine(test_ctx, tnp_cross_new(test_ctx, grid, COUNT, PATH_FOLDS, &c));
        e->cross = c;
        assert_fine(test_ctx, tnp_linear_cv(test_ctx, &e->linear, look, k, c, e->w, e->scores));
        one = one ? one : c;
        assert_int_equal(c->count, one->count);
        assert_int_equal(c->best, one->best);
        for (size_t g = 0; g < c->count; ++g) {
            assert_int_equal(c->judged[g], one->judged[g]);
            midway += c->judged[g] == 2;
            for (size_t f = 0; f < c->judged[g]; ++f)
                assert_true(c->value[g * PATH_FOLDS + f] == one->value[g * PATH_FOLDS + f]);
            for (size_t f = c->judged[g]; f < PATH_FOLDS; ++f)
                assert_true(isnan(c->value[g * PATH_FOLDS + f]));
        }
        if (c != one)
            tnp_cross_free(c);
    }
    assert_true(midway > 0);
    tn_ctx_set_threads(test_ctx, 0);
    tnp_cross_free(one);
    free(k);
    scene_free(e);
}

/* ---- one fold ---- */

/* A hold-out has the standard error of its rows, right or wrong. */
static void a_holdout_has_an_error(void **state)
{
    (void)state;
    scene *e = scene_of(TN_TASK_MULTICLASS, false);
    tnp_cross *c = NULL;
    for (size_t i = 0; i < N; ++i)
        e->fold[i] = e->fold[i] == 0 ? 0 : TNP_NO_FOLD;
    e->linear.folds = 1;
    e->grid = e->curve = path_grid;
    assert_fine(test_ctx, tnp_cross_new(test_ctx, path_grid, 2, 1, &c));
    assert_fine(test_ctx, walk(e, follow, c));
    assert_int_equal(c->count, 2);
    assert_int_equal(c->best, 1);
    double right = 0, n = 0;
    for (size_t i = 0; i < N; ++i)
        if (e->fold[i] == 0) {
            right += decide(e->scores + i * K) == path_y[i];
            n += 1;
        }
    assert_near(c->se[1], sqrt(right / n * (1 - right / n) / (n - 1)), 1e-12);
    tnp_cross_free(c);
    scene_free(e);
}

static void faults(void **state)
{
    (void)state;
    scene *e = scene_of(TN_TASK_MULTICLASS, true);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tn_status st = TN_ERR_MEMORY;
    for (; st != TN_OK; ++k) {
        tnp_cross *c = NULL;
        e->rise = 1;
        tnp_fail_allocation(test_ctx, k);
        st = tnp_cross_found(test_ctx, &e->linear, PATH_FOLDS, &c);
        if (st == TN_OK)
            st = tnp_cross_want_loss(test_ctx, c);
        if (st == TN_OK) {
            c->count = c->planned = c->capacity = 1;
            st = walk(e, follow, c);
        }
        tnp_fail_allocation(test_ctx, 0);
        tnp_cross_free(c);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
    }
    assert_true(k > 15);
    scene_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_of_cold_solutions),
        cmocka_unit_test(log_loss_of_the_held_out_rows),
        cmocka_unit_test(a_grid_goes_by_the_size_of_the_rows),
        cmocka_unit_test(where_the_path_ends_and_what_it_takes),
        cmocka_unit_test(a_found_grid_goes_on_past_its_ends),
        cmocka_unit_test(values_without_hope_are_given_up),
        cmocka_unit_test(folds_side_by_side_change_no_choice),
        cmocka_unit_test(a_holdout_has_an_error),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
