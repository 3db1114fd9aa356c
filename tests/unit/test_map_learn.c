/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learned maps against machines trained on all 39 functions of every entry, written out.
 *
 * Tolerances. Features come from a table that is within 1e-6 of the largest, and B leaves out 1e-9 of their squares:
 * together they move an objective by no more than 1e-5 of it, EXTRA. An objective within g of its optimum has |V -
 * V*|^2 <= 2 g, because it is 1-strongly convex; summed over tasks, with G = sum g and S = sum |V*|^2,
 *     |A - A*| <= 2 sqrt(S) sqrt(2 G) + 2 G. */
#include "map_learn_of.h"
#include "interrupt.h"
#include "learn/map/map_learn.h"
#include "options_of.h"

static const double EXTRA = 1e-5;

static tnp_map_options options_of(void)
{
    tnp_map_options opt;
    tnp_map_options_default(&opt);
    opt.gap = 2e-6;
    opt.max_passes = 20000;
    return opt;
}

static tn_map *learn(const set *sets, size_t count, const tnp_map_options *opt, tn_map_info *info)
{
    tn_map_data data[4];
    tn_map *map = NULL;
    for (size_t d = 0; d < count; ++d)
        data[d] = (tn_map_data){sets[d].features, sets[d].labels};
    assert_fine(test_ctx, tnp_map_learn(test_ctx, data, count, opt, info, &map));
    return map;
}

static double slack_of(const literal *want, double gap)
{
    double g = gap + EXTRA * want->objective;
    return 2 * sqrt(want->squares * 2 * g) + 2 * g;
}

/* What the map carries is the decomposition of A, and W is made of it as the options say. */
static void check_map(const tn_map *map, const tnp_map_options *opt, const tn_map_info *info, const literal *want,
                      double slack)
{
    const tn_map_spec *made = tn_map_made_of(map);
    const double *p = made->vectors, *values = made->singular_values;
    double trace = 0, apart = 0, sum = 0;
    assert_int_equal(made->rank, info->rank);
    assert_int_equal(made->tasks, info->tasks);
    assert_int_equal(made->rows, info->rows);
    assert_true(made->scale == info->scale && made->power == opt->power);
    for (size_t i = 0; i < M; ++i)
        trace += (double)want->a[i * M + i];
    for (size_t i = 0; i < M; ++i)
        for (size_t j = 0; j < M; ++j) {
            double a = 0, dot = 0;
            for (size_t k = 0; k < M; ++k) {
                a += p[i * M + k] * values[k] * values[k] * p[j * M + k];
                dot += p[k * M + i] * p[k * M + j];
            }
            apart += (a - (double)want->a[i * M + j]) * (a - (double)want->a[i * M + j]);
            assert_near(dot, i == j, 1e-12);
        }
    assert_true(sqrt(apart) <= slack);
    assert_true(slack < 0.2 * trace); /* or it would say little */
    for (size_t i = 0; i < M; ++i) {
        assert_true(i == 0 || values[i] <= values[i - 1]);
        sum += values[i] * values[i];
        assert_true(made->rates[i] == info->rates[i] && values[i] == info->singular_values[i]);
    }
    for (size_t i = 0, at = 0; i < M; ++i) {
        double part = 0;
        for (at = 0; at <= i; ++at)
            part += values[at] * values[at];
        assert_near(made->rates[i], part / sum, 1e-12);
    }
    for (size_t m = 0; m < M; ++m)
        for (size_t k = 0; k < made->rank; ++k)
            assert_near(made->weight[m * made->rank + k], p[m * M + k] * pow(values[k], opt->power), 1e-14);
}

static void check_case(const set *sets, size_t count, const tnp_map_options *opt)
{
    tn_map_info info;
    literal *want = ref_alloc(1, sizeof *want);
    tn_map *map = learn(sets, count, opt, &info);
    size_t rows = 0;
    for (size_t d = 0; d < count; ++d) {
        add_literal(&sets[d], opt, info.scale, want);
        rows += sets[d].p.n;
    }
    if (!info.converged)
        print_error("basis %d, signed %d, scale %g: gap %g of %g after %zu passes\n", opt->basis, opt->sign,
                    opt->scale.value, info.gap, info.objective, info.passes);
    assert_true(info.converged);
    assert_int_equal(info.rows, rows);
    assert_int_equal(info.sets, count);
    if (!(fabs(info.objective - want->objective) <= info.gap + EXTRA * want->objective))
        print_error("objective %.9g, expected %.9g\n", info.objective, want->objective);
    assert_true(fabs(info.objective - want->objective) <= info.gap + EXTRA * want->objective);
    assert_true(info.gap <= opt->gap * info.objective);
    check_map(map, opt, &info, want, slack_of(want, info.gap));
    tn_map_free(map);
    free(want);
}

static void against_all_functions(void **state)
{
    (void)state;
    static const char *const scales[] = {"auto", "1.5"};
    set s[3] = {set_of("a", REF_NONNEG, 36, 5, 3, TN_TASK_MULTICLASS),
                set_of("b", REF_SIGNED, 30, 4, 2, TN_TASK_MULTILABEL),
                set_of("c", REF_ZERO_ROWS, 28, 6, 3, TN_TASK_MULTICLASS)};
    for (int form = 0; form < 8; ++form) {
        tnp_map_options opt = options_of();
        opt.basis = form & 1;
        opt.gap = form & 1 ? 2e-5 : 2e-6; /* the plain basis has long rows of nearly the same direction */
        opt.sign = form & 2 ? TN_SIGNED_SPLIT : TN_SIGNED_ODD;
        opt.scale = scale_of(scales[form >> 2]);
        opt.cost = form & 4 ? 0.05 : 1;
        opt.power = 0.25 * form / 2;
        for (size_t d = 0; d < 3; ++d)
            check_case(&s[d], 1, &opt);
    }
    tnp_map_options opt = options_of();
    check_case(s, 3, &opt); /* 5, 4 and 6 columns together */
    for (size_t d = 0; d < 3; ++d)
        set_free(&s[d]);
}

/* The same by passes over the rows instead of their products, streamed, which is all that the budget allows. */
static void within_a_budget(void **state)
{
    (void)state;
    enum { N = 2000, D = 100 };
    set s = set_of("tight", REF_NONNEG, N, D, 3, TN_TASK_MULTICLASS);
    tnp_map_options opt = options_of();
    tn_map_info free_info, tight_info;
    opt.gap = 1e-4;
    opt.rank = M;
    tn_map *open = learn(&s, 1, &opt, &free_info);
    /* features 2300 wide: 18 MB whole, 8.4 a block; products of rows 16 MB and a block more; counts and tables some */
    tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + ((size_t)22 << 20));
    tn_map *tight = learn(&s, 1, &opt, &tight_info);
    tn_ctx_set_memory(test_ctx, 0);
    assert_true(free_info.objective != tight_info.objective); /* other visits: it was another way */
    double g = free_info.gap + tight_info.gap, size = 0, apart = 0;
    assert_true(fabs(free_info.objective - tight_info.objective) <= g + 1e-6 * free_info.objective);
    const tn_map_spec *a = tn_map_made_of(open), *b = tn_map_made_of(tight);
    for (size_t i = 0; i < M; ++i)
        for (size_t j = 0; j < M; ++j) {
            double x = 0, y = 0;
            for (size_t k = 0; k < M; ++k) {
                x += a->vectors[i * M + k] * pow(a->singular_values[k], 2) * a->vectors[j * M + k];
                y += b->vectors[i * M + k] * pow(b->singular_values[k], 2) * b->vectors[j * M + k];
            }
            size += i == j ? x : 0;
            apart += (x - y) * (x - y);
        }
    assert_true(sqrt(apart) <= 2 * sqrt(size * 2 * (g + 1e-6 * free_info.objective)) + 2 * g);
    tn_map_free(open);
    tn_map_free(tight);
    set_free(&s);
}

/* Any number of threads: the same scale and histogram, bit by bit, and weights within the certificate. */
static void threads(void **state)
{
    (void)state;
    set s = set_of("threads", REF_NONNEG, 200, 12, 4, TN_TASK_MULTICLASS);
    tnp_map_options opt = options_of();
    tn_map_info one, info;
    size_t before = tn_ctx_threads(test_ctx);
    tn_ctx_set_threads(test_ctx, 1);
    tn_map *first = learn(&s, 1, &opt, &one);
    const size_t counts[] = {2, 3, 7};
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx_set_threads(test_ctx, counts[t]);
        tn_map *map = learn(&s, 1, &opt, &info);
        assert_true(info.scale == one.scale && info.functions == one.functions && info.zeros == one.zeros);
        assert_memory_equal(tn_map_made_of(map)->histogram, tn_map_made_of(first)->histogram,
                            TN_MAP_BINS * sizeof(double));
        assert_true(fabs(info.objective - one.objective) <= info.gap + one.gap);
        for (size_t i = 0; i < M; ++i) /* 2 |A - A'| / trace, as in within_a_budget */
            assert_near(info.rates[i], one.rates[i], 2 * (2 * sqrt(2 * (info.gap + one.gap) / one.objective)));
        tn_map_free(map);
    }
    tn_ctx_set_threads(test_ctx, before);
    tn_map_free(first);
    set_free(&s);
}

/* Turned weights make another map of the same kernel. */
static void rotations_change_no_kernel(void **state)
{
    (void)state;
    set s = set_of("turn", REF_SIGNED, 40, 5, 3, TN_TASK_MULTICLASS);
    tnp_map_options opt = options_of();
    tn_map_info info;
    opt.rank = 4;
    tn_map *map = learn(&s, 1, &opt, &info), *turned = NULL;
    ref_rng rng = ref_rng_of(9);
    ref_real q[16];
    double w[M * 4];
    for (size_t i = 0; i < 16; ++i)
        q[i] = (ref_real)ref_normal(&rng);
    ref_orthonormalise(q, 4);
    tn_map_spec spec = *tn_map_made_of(map);
    for (size_t m = 0; m < M; ++m)
        for (size_t k = 0; k < 4; ++k) {
            w[m * 4 + k] = 0;
            for (size_t l = 0; l < 4; ++l)
                w[m * 4 + k] += spec.weight[m * 4 + l] * (double)q[l * 4 + k];
        }
    spec.weight = w;
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, &spec, &turned));
    double size = tn_map_kernel(map, 1, 1);
    for (double x = -1.2; x < 1.3; x += 0.1)
        for (double y = -1.2; y < 1.3; y += 0.1)
            assert_near(tn_map_kernel(map, x, y) / size, tn_map_kernel(turned, x, y) / size, 1e-12);
    tn_map_free(map);
    tn_map_free(turned);
    set_free(&s);
}

/* ---- ranks, rates, scales ---- */

static void ranks_and_rates(void **state)
{
    (void)state;
    set s = set_of("ranks", REF_NONNEG, 40, 5, 3, TN_TASK_MULTICLASS);
    tnp_map_options opt = options_of();
    tn_map_info info, other;
    tn_map_data data = {s.features, s.labels};
    tn_map *const untouched = (tn_map *)(void *)test_folder, *map = untouched;
    opt.rank = M + 1;
    assert_fails(test_ctx, TN_ERR_ARG, "rank", tnp_map_learn(test_ctx, &data, 1, &opt, &info, &map));
    opt.rank = 0;
    assert_fails(test_ctx, TN_ERR_ARG, "rank", tnp_map_learn(test_ctx, &data, 1, &opt, &info, &map));
    assert_ptr_equal(map, untouched);
    opt.rank = M; /* more than the data hold: lowered, and told */
    tn_map_free(learn(&s, 1, &opt, &info));
    assert_int_equal(info.wanted, M);
    assert_true(info.rank <= info.functions && info.functions < M);
    for (double rate = 0.1; rate < 1; rate += 0.2) {
        opt.rate = rate;
        tn_map_free(learn(&s, 1, &opt, &other));
        assert_true(other.rates[other.rank - 1] >= rate);
        assert_true(other.rank == 1 || other.rates[other.rank - 2] < rate);
    }
    set_free(&s);
}

static void scales(void **state)
{
    (void)state;
    static const double bad[] = {0, -1, INFINITY, NAN, 1e31};
    double x[40 * 2]; /* sizes 1/101 and 100/101, and rows of zeros */
    double y[40 * 2] = {0};
    for (size_t i = 0; i < 40; ++i) {
        x[2 * i] = i % 4 == 3 ? 0 : i % 2 ? 1 : 100;
        x[2 * i + 1] = i % 4 == 3 ? 0 : i % 2 ? 100 : 1;
        y[2 * i + i % 2] = 1;
    }
    tn_features *features = features_of("scales", x, 40, 2, AS_F32);
    tn_labels *labels = labels_of(y, 40, 2, TN_TASK_MULTICLASS);
    tn_map_data data = {features, labels};
    tnp_map_options opt = options_of();
    tn_map_info info;
    tn_map *map = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        opt.scale = (tnp_real_or_word){0, bad[i]};
        assert_fails(test_ctx, TN_ERR_ARG, "option scale", tnp_map_learn(test_ctx, &data, 1, &opt, &info, &map));
    }
    opt.scale = scale_of("auto"); /* to the bin of the count */
    assert_fine(test_ctx, tnp_map_learn(test_ctx, &data, 1, &opt, &info, &map));
    assert_true(fabs(info.scale * 100 / 101 - 1) <= 0x1p-10);
    assert_near(info.zeros, 0.25, 1e-15);
    assert_int_equal(info.rank, 2); /* two sizes are all there is */
    assert_int_equal(info.wanted, 6);
    tn_map_free(map);
    opt.scale = scale_of("2");
    assert_fine(test_ctx, tnp_map_learn(test_ctx, &data, 1, &opt, &info, &map));
    assert_true(info.scale == 2);
    assert_near(info.beyond, 0.375, 1e-15); /* 1.98 in 30 rows of 80 entries */
    assert_near(tn_map_made_of(map)->histogram[TN_MAP_BINS - 1], 30, 1e-15);
    assert_near(tn_map_made_of(map)->histogram[5], 30, 1e-15); /* 2 / 101 * 256 = 5.07 */
    tn_map_free(map);
    labels_done(labels);
    tn_features_close(features);
}

/* ---- what is left out, what is refused ---- */

/* Rows without a label and rows with NaN change nothing but their number. */
static void rows_that_do_not_count(void **state)
{
    (void)state;
    set s = set_of("clean", REF_NONNEG, 40, 5, 3, TN_TASK_MULTICLASS);
    double *x = ref_alloc(50 * 5, sizeof *x), *y = ref_alloc(50 * 3, sizeof *y);
    for (size_t i = 0, from = 0; i < 50; ++i) {
        bool extra = i % 5 == 2;
        for (size_t j = 0; j < 5; ++j)
            x[i * 5 + j] = extra ? (i % 2 ? NAN : 3.0) : s.p.x[from * 5 + j];
        for (size_t k = 0; k < 3; ++k)
            y[i * 3 + k] = extra ? (i % 2 ? (k == 0) : NAN) : s.p.y[from * 3 + k];
        from += !extra;
    }
    tn_features *features = features_of("dirty", x, 50, 5, AS_F32);
    tn_labels *labels = labels_of(y, 50, 3, TN_TASK_MULTICLASS);
    tn_map_data data = {features, labels};
    tnp_map_options opt = options_of();
    tn_map_info clean, dirty;
    tn_map *a = learn(&s, 1, &opt, &clean), *b = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "NaN", tnp_map_learn(test_ctx, &data, 1, &opt, &dirty, &b));
    opt.nan = TN_NAN_DROP;
    assert_fine(test_ctx, tnp_map_learn(test_ctx, &data, 1, &opt, &dirty, &b));
    assert_int_equal(dirty.rows, 40);
    assert_true(dirty.objective == clean.objective && dirty.scale == clean.scale);
    assert_memory_equal(tn_map_made_of(a)->weight, tn_map_made_of(b)->weight, M * clean.rank * sizeof(double));
    tn_map_free(b);
    opt.nan = TN_NAN_ZERO;
    assert_fine(test_ctx, tnp_map_learn(test_ctx, &data, 1, &opt, &dirty, &b));
    assert_int_equal(dirty.rows, 45);
    tn_map_free(a);
    tn_map_free(b);
    labels_done(labels);
    tn_features_close(features);
    free(x);
    free(y);
    set_free(&s);
}

/* One task; features that never change beside some that do; a class of one row. */
static void odd_but_fine(void **state)
{
    (void)state;
    set single = set_of("single", REF_SIGNED, 30, 4, 1, TN_TASK_MULTILABEL);
    set fixed = set_of("fixed", REF_CONSTANT, 30, 6, 3, TN_TASK_MULTICLASS);
    tnp_map_options opt = options_of();
    tn_map_info info;
    check_case(&single, 1, &opt);
    check_case(&fixed, 1, &opt);
    tn_map_free(learn(&single, 1, &opt, &info));
    assert_int_equal(info.tasks, 1);
    for (size_t i = 0; i < 30; ++i) /* class 2 has the last row only, class 1 none */
        for (size_t k = 0; k < 3; ++k)
            fixed.p.y[i * 3 + k] = i < 29 ? k == 0 : k == 2;
    labels_done(fixed.labels);
    fixed.labels = labels_of(fixed.p.y, 30, 3, TN_TASK_MULTICLASS);
    check_case(&fixed, 1, &opt);
    tn_map_free(learn(&fixed, 1, &opt, &info));
    assert_int_equal(info.tasks, 2);
    set_free(&single);
    set_free(&fixed);
}

static void refusals(void **state)
{
    (void)state;
    set s = set_of("fine", REF_NONNEG, 20, 4, 2, TN_TASK_MULTICLASS);
    set real = set_of("real", REF_NONNEG, 20, 4, 2, TN_TASK_REGRESSION);
    double zeros[20 * 4] = {0}, one[20 * 2] = {0};
    for (size_t i = 0; i < 20; ++i)
        one[2 * i] = 1;
    tn_features *empty = features_of("zeros", zeros, 20, 4, AS_F32);
    tn_labels *constant = labels_of(one, 20, 2, TN_TASK_MULTICLASS);
    tn_features *longer = features_of("longer", zeros, 40, 2, AS_F32);
    tnp_map_options opt = options_of();
    tn_map *map = NULL;
    const tn_map_data bad[] = {
        {real.features, real.labels}, {empty, s.labels}, {s.features, constant}, {longer, s.labels}};
    const tn_status status[] = {TN_ERR_DATA, TN_ERR_DATA, TN_ERR_DATA, TN_ERR_SHAPE};
    const char *const text[] = {"real numbers", "every entry", "one class only", "longer: "};
    for (size_t i = 0; i < 4; ++i)
        assert_fails(test_ctx, status[i], text[i], tnp_map_learn(test_ctx, &bad[i], 1, &opt, NULL, &map));
    assert_fails(test_ctx, TN_ERR_ARG, "no data sets", tnp_map_learn(test_ctx, NULL, 0, &opt, NULL, &map));
    opt.power = 1.5;
    tn_map_data good = {s.features, s.labels};
    assert_fails(test_ctx, TN_ERR_ARG, "power", tnp_map_learn(test_ctx, &good, 1, &opt, NULL, &map));
    assert_null(map);
    tn_features_close(empty);
    tn_features_close(longer);
    labels_done(constant);
    set_free(&s);
    set_free(&real);
}

/* ---- faults ---- */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    set s = set_of("fail", REF_NONNEG, 20, 3, 2, TN_TASK_MULTICLASS);
    tn_map_data data[2] = {{s.features, s.labels}, {s.features, s.labels}};
    tnp_map_options opt = options_of();
    tn_map_info info = {.rows = 77};
    tn_map *map = NULL;
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    opt.gap = 1e-2;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_map_learn(test_ctx, data, 2, &opt, &info, &map);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        assert_true(map == NULL && info.rows == 77);
    }
    assert_true(k > 40);
    tn_map_free(map);
    set_free(&s);
}

static void interrupted_anywhere(void **state)
{
    (void)state;
    set s = set_of("stop", REF_NONNEG, 20, 3, 2, TN_TASK_MULTICLASS);
    tn_map_data data = {s.features, s.labels};
    tnp_map_options opt = options_of();
    opt.gap = 1e-2; /* a progress call a pass: few passes are enough */
    tn_status st = TN_ERR_INTERRUPTED;
    size_t at = 1;
    for (; st == TN_ERR_INTERRUPTED; ++at) {
        tn_ctx *ctx = NULL;
        tn_map *map = NULL;
        ctx = ctx_of(0);
        interrupt user = {ctx, 0, at};
        tn_ctx_set_progress(ctx, cancel_at, &user);
        st = tnp_map_learn(ctx, &data, 1, &opt, NULL, &map);
        assert_true(st == TN_OK || (st == TN_ERR_INTERRUPTED && !map));
        tn_map_free(map);
        ctx_done(ctx);
    }
    assert_true(at > 6);
    set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_all_functions),
        cmocka_unit_test(within_a_budget),
        cmocka_unit_test(threads),
        cmocka_unit_test(rotations_change_no_kernel),
        cmocka_unit_test(ranks_and_rates),
        cmocka_unit_test(scales),
        cmocka_unit_test(rows_that_do_not_count),
        cmocka_unit_test(odd_but_fine),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(interrupted_anywhere),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
