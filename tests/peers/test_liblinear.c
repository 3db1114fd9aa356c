/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Support vector machines against LIBLINEAR on the same numbers: its solvers 1 and 2 (squared hinge, dual and primal)
 * and 3 (hinge, dual) at their tightest tolerance, one class against the rest, with an appended 1 and without.
 * Objectives of both are computed here, in long double, from the weights.
 *
 * Never worse. Ours stops at a duality gap of GAP times f, so that f(w) - f* <= GAP f, plus what float products hide:
 * the score of row i is a sum of d + 1 products; their roundings have random sign, and e_i = sqrt(d + 3) u sum_j |x_ij
 * w_j| is beyond several standard deviations, because partial sums are far below the sum of sizes. The objective sees
 * c_i |loss'| e_i, of random sign again from row to row: rounding = sqrt(sum_i (c_i |loss'| e_i)^2). Primal and dual
 * both enter the gap. Theirs is at least f*. So
 *     ours <= theirs + GAP f + 2 rounding,
 * and the two agree to 1e-4. Decisions agree on 99.9 % of the rows. */
#include "design_of.h"
#include "learn/linear/exact.h"
#include "learn/linear/svm_dual.h"
#include "ref_map_learn.h"
#include "pipeline/options.h"

#include <linear.h>

static const double GAP = 1e-6;

/* LIBLINEAR says so when its own iterations run out: then theirs is no optimum to be equal to. */
static bool they_gave_up;

static void listen(const char *text)
{
    they_gave_up = they_gave_up || strstr(text, "reaching max number");
}

/* ---- the data, for both ---- */

typedef struct data {
    size_t n, d, k;
    double *x;
    size_t *cls;
    struct feature_node *room;
    struct feature_node **rows;
    double *sign;
} data;

/* Room for n rows; x and cls are to be filled. */
static data data_of(size_t n, size_t d, size_t k)
{
    return (data){n,
                  d,
                  k,
                  ref_alloc(n * d, sizeof(double)),
                  ref_alloc(n, sizeof(size_t)),
                  ref_alloc(n * (d + 2), sizeof(struct feature_node)),
                  ref_alloc(n, sizeof(struct feature_node *)),
                  ref_alloc(n, sizeof(double))};
}

static void data_free(data *a)
{
    free(a->x);
    free(a->cls);
    free(a->room);
    free(a->rows);
    free(a->sign);
}

/* LIBLINEAR's rows: all features, the 1 when there is an intercept, an end mark. */
static void fill_rows(data *a, bool bias)
{
    for (size_t i = 0; i < a->n; ++i) {
        struct feature_node *row = a->rows[i] = a->room + i * (a->d + 2);
        for (size_t j = 0; j < a->d; ++j)
            row[j] = (struct feature_node){(int)j + 1, a->x[i * a->d + j]};
        row[a->d] = bias ? (struct feature_node){(int)a->d + 1, 1} : (struct feature_node){-1, 0};
        row[a->d + 1] = (struct feature_node){-1, 0};
    }
}

/* Their weights of class c against the rest, (d+1), the intercept last. */
static void their_weights(data *a, size_t c, int solver, double cost, double eps, bool bias, ref_real *w)
{
    struct problem problem = {(int)a->n, (int)(a->d + (bias ? 1 : 0)), a->sign, a->rows, bias ? 1 : -1};
    struct parameter parameter = {.solver_type = solver, .eps = eps, .C = cost};
    for (size_t i = 0; i < a->n; ++i)
        a->sign[i] = a->cls[i] == c ? 1 : -1;
    assert_null(check_parameter(&problem, &parameter));
    they_gave_up = false;
    struct model *model = train(&problem, &parameter);
    for (size_t j = 0; j <= a->d; ++j)
        w[j] = j < a->d || bias ? (ref_real)(model->label[0] == 1 ? model->w[j] : -model->w[j]) : 0;
    free_and_destroy_model(&model);
}

/* Our weights of all classes, (k, d+1), from a file that holds the same numbers. */
static void our_weights(const data *a, tn_feed *feed, bool squared, double cost, bool bias, bool gram, float *w)
{
    const tn_feed *feeds[] = {feed};
    size_t *first = ref_alloc(a->n + 1, sizeof *first);
    uint32_t *cls = ref_alloc(a->n, sizeof *cls);
    float *costs = ref_alloc(a->k, sizeof *costs);
    double *objective = ref_alloc(a->k, sizeof *objective), *gap = ref_alloc(a->k, sizeof *gap);
    tnp_design *design = NULL;
    tnp_dual_info info;
    tnp_rows rows;
    for (size_t i = 0; i < a->n; ++i) {
        first[i + 1] = i + 1;
        cls[i] = (uint32_t)a->cls[i];
    }
    for (size_t c = 0; c < a->k; ++c)
        costs[c] = (float)cost;
    tnp_targets y = {.rows = a->n, .classes = a->k, .first = first, .cls = cls};
    tnp_columns columns = {&y, a->k, NULL, NULL, NULL, costs, costs, NULL};
    tnp_dual_options options = {squared, bias, GAP, 3000, 1, gram, true, false};
    tnp_exact_options exact = {squared ? TNP_SQUARED_HINGE : TNP_HINGE, bias, true, GAP, 3000};
    size_t *unsolved = ref_alloc(a->k, sizeof *unsolved), count = 0, passes = 0;
    assert_fine(test_ctx, tnp_design_new(test_ctx, feeds, 1, 0, &design));
    rows = tnp_design_rows(design);
    assert_fine(test_ctx, tnp_dual_solve(test_ctx, design, &columns, &options, NULL, w, objective, gap, &info));
    for (size_t c = 0; c < a->k; ++c)
        if (gap[c] > GAP * objective[c])
            unsolved[count++] = c;
    assert_true(info.converged == (count == 0));
    assert_fine(test_ctx,
                tnp_exact_solve(test_ctx, &rows, &columns, unsolved, count, &exact, NULL, w, objective, gap, &passes));
    for (size_t c = 0; c < a->k; ++c)
        assert_true(gap[c] <= GAP * objective[c]);
    free(unsolved);
    tnp_design_free(design);
    free(first);
    free(cls);
    free(costs);
    free(objective);
    free(gap);
}

/* ---- the comparison ---- */

static ref_real score(const ref_real *w, const double *x, size_t d)
{
    ref_real s = w[d];
    for (size_t j = 0; j < d; ++j)
        s += w[j] * (ref_real)x[j];
    return s;
}

static size_t decision(const ref_real *w, const double *x, size_t d, size_t k)
{
    size_t best = 0;
    for (size_t c = 1; c < k; ++c)
        if (score(w + c * (d + 1), x, d) > score(w + best * (d + 1), x, d))
            best = c;
    return best;
}

/* Rows whose decisions were compared, and how many differed, over the problems of a test: sets of a few hundred rows
 * cannot show 99.9 %. */
static size_t rows_compared, rows_apart;

/* A decision may differ only where it is a tie by what is known of the weights: f is 1-strongly convex, so that a class
 * whose objective is `above` the optimum has a score within sqrt(2 above) |x| of the best. */
static void compare_decisions(const data *fresh, const ref_real *ours, const ref_real *theirs, const double *above,
                              bool bias)
{
    size_t d = fresh->d, width = d + 1;
    for (size_t i = 0; i < fresh->n; ++i) {
        const double *x = fresh->x + i * d;
        size_t a = decision(ours, x, d, fresh->k), b = decision(theirs, x, d, fresh->k);
        double size = bias;
        ++rows_compared;
        if (a == b)
            continue;
        ++rows_apart;
        for (size_t j = 0; j < d; ++j)
            size += x[j] * x[j];
        double lead = (double)(score(theirs + b * width, x, d) - score(theirs + a * width, x, d));
        assert_true(lead <= 2 * (sqrt(2 * above[a]) + sqrt(2 * above[b])) * sqrt(size));
    }
}

static double rounding_of(const ref_svm *p, const ref_real *w)
{
    ref_real sum = 0;
    for (size_t i = 0; i < p->n; ++i) {
        ref_real s = w[p->d], size = fabsl(w[p->d]);
        for (size_t j = 0; j < p->d; ++j) {
            s += (ref_real)p->x[i * p->d + j] * w[j];
            size += fabsl((ref_real)p->x[i * p->d + j] * w[j]);
        }
        ref_real slack = fmaxl(0, 1 - (ref_real)p->y[i] * s), slope = p->squared ? 2 * slack : slack > 0;
        sum += powl((ref_real)p->c[i] * slope * sqrtl((ref_real)p->d + 3) * (ref_real)U * size, 2);
    }
    return (double)sqrtl(sum);
}

static void compare(data *a, const data *fresh, tn_feed *feed, int solver, double cost, double eps, bool bias,
                    bool gram)
{
    size_t width = a->d + 1, given_up = 0;
    bool squared = solver != L2R_L1LOSS_SVC_DUAL;
    float *w = ref_alloc(a->k * width, sizeof *w);
    double *costs = ref_alloc(a->n, sizeof *costs), *above = ref_alloc(a->k, sizeof *above);
    ref_real *theirs = ref_alloc(a->k * width, sizeof *theirs);
    fill_rows(a, bias);
    our_weights(a, feed, squared, cost, bias, gram, w);
    ref_real *ours = widened(w, a->k * width);
    for (size_t i = 0; i < a->n; ++i)
        costs[i] = (double)(float)cost;
    for (size_t c = 0; c < a->k; ++c) {
        their_weights(a, c, solver, cost, eps, bias, theirs + c * width);
        ref_svm p = {a->n, a->d, a->x, a->sign, costs, squared, bias};
        double f = (double)ref_svm_primal(&p, ours + c * width), g = (double)ref_svm_primal(&p, theirs + c * width);
        double rounding = rounding_of(&p, ours + c * width);
        given_up += they_gave_up;
        above[c] = GAP * f + 2 * rounding + fmax(0, g - f);
        if (!(f <= g + GAP * f + 2 * rounding) || !(they_gave_up || fabs(f / g - 1) <= 1e-4))
            print_error("solver %d, C %g, bias %d, class %zu: ours %.10g, theirs %.10g, rounding %.3g\n", solver, cost,
                        bias, c, f, g, rounding / g);
        assert_true(f <= g + GAP * f + 2 * rounding);
        assert_true(2 * rounding <= 5e-5 * g); /* or the line above would say no more than the next */
        assert_true(they_gave_up || fabs(f / g - 1) <= 1e-4);
    }
    if (given_up == 0)
        compare_decisions(fresh, ours, theirs, above, bias);
    free(w);
    free(ours);
    free(theirs);
    free(costs);
    free(above);
}

/* Normal features about class centres, rows of unit length, in a file. */
static void random_problem(size_t n, size_t d, size_t k, uint64_t seed, double spread)
{
    data a = data_of(n, d, k), fresh = data_of(3000, d, k);
    ref_rng rng = ref_rng_of(seed);
    double *centre = ref_alloc(k * d, sizeof *centre);
    for (size_t i = 0; i < k * d; ++i)
        centre[i] = ref_normal(&rng);
    for (size_t i = 0; i < n + fresh.n; ++i) {
        data *to = i < n ? &a : &fresh;
        size_t row = i < n ? i : i - n;
        to->cls[row] = i < k ? i : ref_below(&rng, k);
        for (size_t j = 0; j < d; ++j)
            to->x[row * d + j] = centre[to->cls[row] * d + j] + spread * ref_normal(&rng);
        normalise_row(to->x + row * d, d, TN_NORM_L2);
    }
    tn_features *features = features_of("random", a.x, n, d, AS_F32);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    const double costs[] = {0.1, 1, 10};
    for (int solver = L2R_L2LOSS_SVC_DUAL; solver <= L2R_L1LOSS_SVC_DUAL; ++solver)
        for (size_t c = 0; c < 3; ++c)
            for (int form = 0; form < 4; ++form)
                compare(&a, &fresh, feed, solver, costs[c], solver == L2R_L2LOSS_SVC ? 1e-12 : 1e-9, form & 1,
                        form & 2);
    tn_feed_free(feed);
    tn_features_close(features);
    free(centre);
    data_free(&a);
    data_free(&fresh);
}

static void random_problems(void **state)
{
    (void)state;
    rows_compared = rows_apart = 0;
    random_problem(80, 10, 3, 1, 1);
    random_problem(150, 40, 4, 2, 2);
    random_problem(60, 200, 3, 3, 1); /* fewer rows than features: separable */
    assert_true(rows_compared >= (size_t)40 * 3000);
    assert_true((double)rows_apart <= 0.001 * (double)rows_compared);
}

/* Rows and classes of the demonstration data; classes are numbered as they first occur in the training labels. */
static data demo_part(const char *part, tn_feed **feed, tn_features **features, char names[][64])
{
    char path[512], line[64];
    size_t k = 0;
    snprintf(path, sizeof path, "%s/data/demo/mobilenetv2.%s.npy", TN_SOURCE_DIR, part);
    *features = open_features(path);
    *feed = feed_of(*features, TN_NORM_L2);
    data a = data_of(tn_features_rows(*features), tn_features_cols(*features), 20);
    float *rows = ref_alloc(a.n * a.d, sizeof *rows);
    assert_fine(test_ctx, tn_feed_read(test_ctx, *feed, 0, a.n, rows, a.d));
    for (size_t i = 0; i < a.n * a.d; ++i)
        a.x[i] = (double)rows[i];
    free(rows);
    snprintf(path, sizeof path, "%s/data/demo/labels.%s.txt", TN_SOURCE_DIR, part);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t i = 0; i < a.n; ++i) {
        assert_non_null(fgets(line, sizeof line, file));
        for (k = 0; k < 20 && names[k][0] && strcmp(names[k], line) != 0; ++k)
            ;
        assert_true(k < 20);
        strcpy(names[k], line);
        a.cls[i] = k;
    }
    fclose(file);
    return a;
}

static void demo_features(void **state)
{
    (void)state;
    char names[20][64] = {{0}};
    rows_compared = rows_apart = 0;
    tn_feed *feed = NULL, *other_feed = NULL;
    tn_features *features = NULL, *other_src = NULL;
    data a = demo_part("train", &feed, &features, names), fresh = demo_part("test", &other_feed, &other_src, names);
    compare(&a, &fresh, feed, L2R_L2LOSS_SVC, 1, 1e-9, true, true);
    compare(&a, &fresh, feed, L2R_L2LOSS_SVC, 10, 1e-9, false, false);
    compare(&a, &fresh, feed, L2R_L2LOSS_SVC_DUAL, 0.1, 1e-9, false, false);
    compare(&a, &fresh, feed, L2R_L2LOSS_SVC_DUAL, 1, 1e-9, true, true);
    compare(&a, &fresh, feed, L2R_L1LOSS_SVC_DUAL, 1, 1e-9, true, true);
    compare(&a, &fresh, feed, L2R_L1LOSS_SVC_DUAL, 0.1, 1e-9, false, false);
    compare(&a, &fresh, feed, L2R_L1LOSS_SVC_DUAL, 1, 1e-9, false, true);
    assert_int_equal(rows_compared, 7 * fresh.n);
    assert_true((double)rows_apart <= 0.001 * (double)rows_compared);
    tn_feed_free(feed);
    tn_feed_free(other_feed);
    tn_features_close(features);
    tn_features_close(other_src);
    data_free(&a);
    data_free(&fresh);
}

/* The machines of kernel learning, which see a compressed basis through products of rows, against LIBLINEAR on all 39
 * functions of every entry: the sum of objectives to 1e-4. */
static void kernel_learning(void **state)
{
    (void)state;
    enum { N = 60, D = 8, K = 3, WIDTH = D * TN_BASIS_SIZE };
    ref_rng rng = ref_rng_of(12);
    data a = data_of(N, WIDTH, K);
    double *x = ref_alloc((size_t)N * D, sizeof *x), *y = ref_alloc((size_t)N * K, sizeof *y), theirs = 0;
    double *costs = ref_alloc(N, sizeof *costs);
    for (size_t i = 0; i < N; ++i) {
        a.cls[i] = i % K;
        y[i * K + i % K] = 1;
        costs[i] = 1;
        for (size_t j = 0; j < D; ++j)
            x[i * D + j] = fmax(0, ref_normal(&rng) + (j % K == i % K ? 0.7 : 0));
    }
    tn_features *features = features_of("kernel", x, N, D, AS_F32);
    tn_labels *labels = labels_of(y, N, K, TN_TASK_MULTICLASS);
    tn_map_data set = {features, labels};
    tnp_map_options opt;
    tn_map_info info;
    tn_map *map = NULL;
    tnp_map_options_default(&opt);
    opt.gap = 2e-5;
    assert_fine(test_ctx, tnp_map_learn(test_ctx, &set, 1, &opt, &info, &map));
    assert_true(info.converged);
    ref_map_features(0, 0, info.scale, x, N, D, a.x);
    fill_rows(&a, true);
    ref_real *w = ref_alloc(WIDTH + 1, sizeof *w);
    for (size_t c = 0; c < K; ++c) {
        their_weights(&a, c, L2R_L1LOSS_SVC_DUAL, 1, 1e-9, true, w);
        assert_false(they_gave_up);
        ref_svm p = {N, WIDTH, a.x, a.sign, costs, false, true};
        theirs += (double)ref_svm_primal(&p, w);
    }
    assert_true(fabs(info.objective / theirs - 1) <= 1e-4);
    tn_map_free(map);
    tn_features_close(features);
    labels_done(labels);
    data_free(&a);
    free(x);
    free(y);
    free(costs);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(demo_features),
        cmocka_unit_test(kernel_learning),
    };
    set_print_string_function(listen);
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
