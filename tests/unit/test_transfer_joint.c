/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Classes that an arg-max compares: scales of groups, the value that all classes share and what is predicted without a
 * row, all against literal loops on the rows that stay; the error of the arg-max and its standard error by hand. */
#include "transfer/loo.h"
#include "transfer_task.h"

enum { MOST = 5 };

static ref_real lambda_of(const task *t, const bool *stay, size_t count)
{
    ref_real loss = 0;
    return lambda_at(t, stay, 0, count, 0, &loss);
}

/* What class k, fitted on the rows that stay, says of the others; ridge on `count` columns, or greedy with at most
 * `most` picks. */
static void predict(const task *t, const bool *stay, size_t k, ref_real lambda, size_t count, size_t most, double *out)
{
    size_t picks[COLS], n = count;
    ref_real w[COLS], b = -1, objective[COLS];
    bool there = members(t, stay, k) > 0, alone = true;
    for (size_t i = 0; i < t->rows; ++i)
        alone &= !stay[i] || t->class_of[i] == k;
    for (size_t j = 0; j < COLS; ++j)
        picks[j] = j;
    if (there && !alone) {
        ref_transfer r = literal(t, stay, k);
        if (most)
            n = ref_transfer_greedy(&r, lambda, 1e-3L, most, picks, objective);
        ref_transfer_ridge(&r, r.y, picks, n, lambda, w, &b);
        ref_transfer_free(&r);
    }
    for (size_t i = 0; i < t->rows; ++i) {
        ref_real sum = there && alone ? 1 : b;
        for (size_t c = 0; there && !alone && c < n; ++c)
            sum += w[c] * t->x[i * COLS + picks[c]];
        if (!stay[i])
            out[k * t->rows + i] = (double)sum;
    }
}

/* Rows class by class, dealt out in turn: stay (rows) of part `which`. */
static void leave(const task *t, size_t many, size_t which, bool *stay)
{
    size_t next = 0;
    for (size_t k = 0; k < t->classes; ++k)
        for (size_t i = 0; i < t->rows; ++i)
            if (t->class_of[i] == k)
                stay[i] = next++ % many != which;
}

/* fixed > 0: greedy with that lambda; 0: greedy with that of all columns; < 0: ridge. Weights of raw columns have
 * condition 1e5 at worst, long double against double. */
static void check_leave(tn_ctx *ctx, const task *t, double fixed, tnp_ridge_method method)
{
    const tnp_joint joint = joint_of(t);
    size_t most[8], rls_at[64], many = t->rows > 32 ? 32 : t->rows;
    double *want = ref_alloc(t->classes * t->rows, sizeof *want);
    bool *stay = ref_alloc(t->rows, sizeof *stay), greedy = fixed >= 0;
    for (size_t k = 0; k < 8; ++k)
        most[k] = MOST - k % 2;
    for (size_t i = 0; i < 64; ++i)
        rls_at[i] = SIZE_MAX;
    const tnp_joint_model model = {greedy, method, fixed > 0 ? fixed : -1, 1e-3, most, rls_at};
    tnp_joint_left left;
    assert_fine(ctx, tnp_joint_leave(ctx, &joint, &model, &left, NULL));
    tnp_joint_left_destroy(&left); /* and again, with the values that RLS found */
    assert_fine(ctx, tnp_joint_leave(ctx, &joint, &model, &left, NULL));
    assert_int_equal(left.steps, greedy ? MOST + 1 : 1);
    for (size_t which = 0; which < many; ++which) {
        size_t count = greedy || method == TNP_TRANSFER_RLS ? COLS : FEATURES;
        leave(t, many, which, stay);
        ref_real lambda = fixed > 0 ? fixed : lambda_of(t, stay, count);
        for (size_t k = 0; k < t->classes; ++k)
            predict(t, stay, k, lambda, count, greedy ? most[k] : 0, want);
    }
    double loss = 0;
    for (size_t k = 0; k < t->classes; ++k)
        for (size_t i = 0; i < t->rows; ++i) {
            double y = t->class_of[i] == k ? 1 : -1, off = y - want[k * t->rows + i];
            size_t n = members(t, NULL, t->class_of[i]);
            assert_near_at(k * t->rows + i, left.predicted[k * t->rows + i], want[k * t->rows + i], 1e-8);
            double whole = t->balanced ? (double)t->rows / (double)t->classes / mass(t, NULL, t->class_of[i]) : 1;
            if (n > 1)
                loss += off * off * whole * row_weight(t, i);
        }
    assert_near(left.loss[left.steps - 1], loss, 1e-7 * loss);
    for (size_t k = 0; k < t->classes; ++k) {
        double wrong[2] = {0}, n[2] = {0};
        for (size_t i = 0; i < t->rows; ++i) {
            int side = t->class_of[i] == k;
            n[side] += 1;
            wrong[side] += !((side ? 1 : -1) * want[k * t->rows + i] > 0);
        }
        assert_near(left.error[k * left.steps + left.steps - 1], (wrong[0] / n[0] + wrong[1] / n[1]) / 2, 1e-12);
    }
    tnp_joint_left_destroy(&left);
    free(want);
    free(stay);
}

/* ---- with class means ---- */

/* What a class learned from the rows that stay: its columns, raw weights, and distances of its mean from the centre
 * there. */
typedef struct learned {
    size_t picks[COLS], count;
    ref_real w[COLS], b, away[COLS];
} learned;

/* away of all classes, and the mean of the class means (COLS), in the scale of the problem; a class of no rows has no
 * mean. */
static void learn_means(const task *t, const bool *stay, const ref_real *scale, learned *l, ref_real *centre)
{
    ref_real mean[8][COLS] = {{0}};
    size_t present = 0;
    memset(centre, 0, COLS * sizeof *centre);
    for (size_t k = 0; k < t->classes; ++k)
        present += members(t, stay, k) > 0;
    for (size_t i = 0; i < t->rows; ++i)
        for (size_t j = 0, k = t->class_of[i]; stay[i] && j < COLS; ++j)
            if (scale[j] > 0) {
                ref_real share = row_weight(t, i) / mass(t, stay, k);
                mean[k][j] += t->x[i * COLS + j] / scale[j] * share;
                centre[j] += t->x[i * COLS + j] / scale[j] * share / (ref_real)present;
            }
    for (size_t k = 0; k < t->classes; ++k)
        for (size_t c = 0; c < l[k].count; ++c)
            l[k].away[c] = members(t, stay, k) > 0 ? mean[k][l[k].picks[c]] - centre[l[k].picks[c]] : 0;
}

/* 11/16 s_k + 5/16 (2 ncm_k - 1) of row i. */
static ref_real mixed_score(const task *t, const learned *l, const ref_real *scale, const ref_real *centre, ref_real c,
                            size_t i)
{
    ref_real s = l->b, product = 0, square = 0;
    for (size_t n = 0; n < l->count; ++n) {
        size_t j = l->picks[n];
        s += l->w[n] * t->x[i * COLS + j];
        product += scale[j] > 0 ? l->away[n] * (t->x[i * COLS + j] / scale[j] - centre[j]) : 0;
        square += l->away[n] * l->away[n];
    }
    return 0.6875L * s + 0.3125L * (2 * (0.5L + c * (product - square / 2)) - 1);
}

/* out (classes, rows) of the rows that leave, everything from those that stay; ridge on `count` columns, or greedy with
 * most (classes) picks. */
static void predict_mixed(const task *t, const bool *stay, ref_real lambda, size_t count, const size_t *most,
                          double *out)
{
    learned l[8];
    ref_real scale[COLS] = {0}, centre[COLS], objective[COLS], squares = 0;
    size_t present = 0;
    for (size_t k = 0; k < t->classes; ++k)
        present += members(t, stay, k) > 0;
    for (size_t k = 0; k < t->classes; ++k) {
        l[k].count = 0;
        if (present < 2 || members(t, stay, k) == 0)
            continue;
        ref_transfer r = literal(t, stay, k);
        for (size_t j = 0; j < COLS; ++j)
            l[k].picks[j] = j;
        l[k].count = most ? ref_transfer_greedy(&r, lambda, 1e-3L, most[k], l[k].picks, objective) : count;
        ref_transfer_ridge(&r, r.y, l[k].picks, l[k].count, lambda, l[k].w, &l[k].b);
        memcpy(scale, r.scale, sizeof scale);
        ref_transfer_free(&r);
    }
    learn_means(t, stay, scale, l, centre);
    for (size_t k = 0; k < t->classes; ++k)
        for (size_t c = 0; c < l[k].count; ++c)
            squares += l[k].away[c] * l[k].away[c];
    for (size_t k = 0; k < t->classes; ++k)
        for (size_t i = 0; i < t->rows; ++i) {
            double one = members(t, stay, k) > 0 ? 1 : -1; /* all there is to say of one class, or of none */
            if (!stay[i])
                out[k * t->rows + i] =
                    l[k].count ? (double)mixed_score(t, &l[k], scale, centre, (ref_real)present / squares, i) : one;
        }
}

/* One row of every class leaves at a time. Tolerances as above. */
static void check_mixed(tn_ctx *ctx, const task *t, double fixed, tnp_ridge_method method)
{
    const tnp_joint joint = joint_of(t);
    size_t most[8], some[8], many = 0;
    double *want = ref_alloc(t->classes * t->rows, sizeof *want);
    bool *stay = ref_alloc(t->rows, sizeof *stay), greedy = fixed >= 0;
    for (size_t k = 0; k < 8; ++k)
        most[k] = MOST - k % 2;
    for (size_t k = 0; k < t->classes; ++k)
        many = members(t, NULL, k) > many ? members(t, NULL, k) : many;
    const tnp_joint_model model = {greedy, method, fixed > 0 ? fixed : -1, 1e-3, most, NULL};
    tnp_joint_left left, mixed;
    assert_fine(ctx, tnp_joint_leave(ctx, &joint, &model, &left, &mixed));
    for (size_t s = greedy ? 1 : 0; s < mixed.steps; ++s) {
        for (size_t k = 0; k < 8; ++k)
            some[k] = s < most[k] ? s : most[k];
        for (size_t which = 0; which < many; ++which) {
            size_t count = greedy || method == TNP_TRANSFER_RLS ? COLS : FEATURES;
            leave(t, many, which, stay);
            ref_real lambda = fixed > 0 ? fixed : lambda_of(t, stay, count);
            predict_mixed(t, stay, lambda, count, greedy ? some : NULL, want);
        }
        for (size_t k = 0; k < t->classes; ++k) {
            double wrong[2] = {0}, n[2] = {0};
            for (size_t i = 0; i < t->rows; ++i) {
                int side = t->class_of[i] == k;
                n[side] += 1;
                wrong[side] += !((side ? 1 : -1) * want[k * t->rows + i] > 0);
                if (s + 1 == mixed.steps)
                    assert_near_at(k * t->rows + i, mixed.predicted[k * t->rows + i], want[k * t->rows + i], 1e-8);
            }
            assert_near(mixed.error[k * mixed.steps + s], (wrong[0] / n[0] + wrong[1] / n[1]) / 2, 1e-12);
        }
    }
    tnp_joint_left_destroy(&left);
    tnp_joint_left_destroy(&mixed);
    free(want);
    free(stay);
}

/* Scores of few rows are half the class means', on the columns that the class itself picked without the row. */
static void class_means_are_made_again_without_the_rows(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{9, 3}, {7, 4}, {13, 3}};
    tn_ctx *ctx = ctx_of(1);
    for (size_t shape = 0; shape < 3; ++shape)
        for (int option = 0; option < 8; ++option) {
            task t = task_of(ctx, shapes[shape][0], shapes[shape][1], option % 2, option / 2 % 2, 15 + shape);
            if (option >= 4)
                weigh_task(&t, shape);
            check_mixed(ctx, &t, 0.7, TNP_TRANSFER_RLS);
            check_mixed(ctx, &t, -1, TNP_TRANSFER_RLS);
            check_mixed(ctx, &t, -1, TNP_TRANSFER_NONE);
            check_mixed(ctx, &t, 0, TNP_TRANSFER_RLS);
            task_free(&t);
        }
    ctx_done(ctx);
}

static void the_arg_max_is_asked_without_the_row(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{9, 3}, {7, 4}, {13, 3}, {36, 4}};
    tn_ctx *ctx = ctx_of(1);
    for (size_t shape = 0; shape < 4; ++shape)
        for (int option = 0; option < 8; ++option) {
            bool lonely = option % 2, balanced = option / 2 % 2;
            task t = task_of(ctx, shapes[shape][0], shapes[shape][1], lonely, balanced, 5 + shape);
            if (option >= 4)
                weigh_task(&t, shape);
            check_leave(ctx, &t, 0.7, TNP_TRANSFER_RLS);
            if (t.rows <= 9) { /* 13 lambdas for every row that stays, of every row that leaves */
                check_leave(ctx, &t, -1, TNP_TRANSFER_RLS);
                check_leave(ctx, &t, -1, TNP_TRANSFER_NONE);
                check_leave(ctx, &t, 0, TNP_TRANSFER_RLS);
            }
            task_free(&t);
        }
    ctx_done(ctx);
}

/* With one row of each class a row that leaves takes its class along. */
static void one_row_a_class(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    task t = task_of(ctx, 5, 5, false, false, 3);
    const tnp_joint joint = joint_of(&t);
    const double weights[5] = {1, 1, 1, 1, 1};
    double counts[5], y[5];
    tnp_transfer_problem *problem = NULL;
    tnp_ridge_basis *basis = NULL;
    size_t at = SIZE_MAX;
    check_leave(ctx, &t, -1, TNP_TRANSFER_RLS);
    check_leave(ctx, &t, 0, TNP_TRANSFER_RLS);
    assert_false(tnp_joint_counts(&joint, weights, counts));
    tnp_joint_score score = tnp_joint_score_of(&joint, counts, (const double[25]){0});
    assert_true(isnan(score.error) && isnan(score.se) && score.rows == 0);
    tnp_joint_labels(&joint, 0, y);
    assert_fine(ctx, tnp_transfer_problem_new(ctx, t.columns, y, weights, &problem));
    assert_fine(ctx, tnp_joint_ridge(ctx, &joint, problem, weights, TNP_TRANSFER_RLS, &basis, &at));
    assert_int_equal(at, 3);
    double share = -1;
    assert_fine(ctx, tnp_joint_share(ctx, &joint, problem, weights, &share));
    assert_true(share == 0);
    assert_int_equal(tnp_joint_without(TNP_TRANSFER_DAM), 3 * TNP_TAUS + 3);
    tnp_ridge_basis_free(basis);
    tnp_transfer_problem_free(problem);
    task_free(&t);
    ctx_done(ctx);
}

/* DAM's lambda and tau: all pairs, on the target (y + tau mean of the sources)/(1 + tau). */
static void check_pair(tn_ctx *ctx, const task *t, tnp_transfer_problem *problem, const double *weights,
                       const bool *stay)
{
    const tnp_joint joint = joint_of(t);
    tnp_ridge_basis *basis = NULL;
    ref_real least = INFINITY, lambda = 0, loss = 0;
    size_t at = 0, tau = 0;
    for (size_t s = 0; s < TNP_TAUS; ++s) {
        ref_real here = lambda_at(t, stay, 0, FEATURES, powl(10, (ref_real)s - 3), &loss);
        if (loss < least) {
            least = loss;
            lambda = here;
            tau = s;
        }
    }
    assert_fine(ctx, tnp_joint_ridge(ctx, &joint, problem, weights, TNP_TRANSFER_DAM, &basis, &at));
    assert_int_equal(at % TNP_TAUS, tau);
    assert_near(tnp_ridge_lambda(problem, basis, at / TNP_TAUS), (double)lambda, 1e-12 * (double)lambda);
    tnp_ridge_basis_free(basis);
}

/* lambda of all rows against literal refits. */
static void all_classes_share_one_value(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 12; ++seed) {
        task t = task_of(ctx, 12, 3, seed % 2, seed / 2 % 2, seed);
        if (seed >= 6)
            weigh_task(&t, seed);
        const tnp_joint joint = joint_of(&t);
        double weights[12], y[12];
        bool stay[12];
        tnp_transfer_problem *problem = NULL;
        for (size_t i = 0; i < 12; ++i) {
            stay[i] = true;
            weights[i] = 1;
        }
        tnp_joint_weigh(&joint, weights);
        tnp_joint_labels(&joint, 0, y);
        assert_fine(ctx, tnp_transfer_problem_new(ctx, t.columns, y, weights, &problem));
        for (int method = 0; method < 2; ++method) {
            tnp_ridge_basis *basis = NULL;
            size_t at = 0;
            assert_fine(ctx, tnp_joint_ridge(ctx, &joint, problem, weights,
                                             method ? TNP_TRANSFER_RLS : TNP_TRANSFER_NONE, &basis, &at));
            ref_real want = lambda_of(&t, stay, method ? COLS : FEATURES);
            assert_near(tnp_ridge_lambda(problem, basis, at), (double)want, 1e-12 * (double)want);
            tnp_ridge_basis_free(basis);
        }
        check_pair(ctx, &t, problem, weights, stay);
        tnp_transfer_problem_free(problem);
        task_free(&t);
    }
    ctx_done(ctx);
}

/* Of ridge on features, on both and on sources, the mean share, weights L^(-n/2), n = 12 or 11 rows that count. Losses
 * have 1e-10. */
static void sources_count_for_what_left_out_rows_say(void **state)
{
    (void)state;
    static const size_t first[3] = {0, 0, FEATURES}, count[3] = {FEATURES, COLS, COLS - FEATURES};
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 12; ++seed) {
        task t = task_of(ctx, 12, 3 + seed % 2, seed % 2, seed / 2 % 2, seed);
        if (seed >= 6)
            weigh_task(&t, seed);
        const tnp_joint joint = joint_of(&t);
        const ref_real shares[3] = {0, 1.0L / (TARGETS + 1), 1};
        ref_real loss = 0, sum = 0, mean = 0, rows = seed % 2 ? 11 : 12;
        double weights[12], y[12], got = -1;
        bool stay[12];
        tnp_transfer_problem *problem = NULL;
        for (size_t i = 0; i < 12; ++i) {
            stay[i] = true;
            weights[i] = 1;
        }
        for (size_t m = 0; m < 3; ++m) {
            (void)lambda_at(&t, stay, first[m], count[m], 0, &loss);
            sum += powl(loss, -rows / 2);
            mean += powl(loss, -rows / 2) * shares[m];
        }
        tnp_joint_weigh(&joint, weights);
        tnp_joint_labels(&joint, 0, y);
        assert_fine(ctx, tnp_transfer_problem_new(ctx, t.columns, y, weights, &problem));
        assert_fine(ctx, tnp_joint_share(ctx, &joint, problem, weights, &got));
        assert_near_at(seed, got, (double)(mean / sum), 1e-8);
        tnp_transfer_problem_free(problem);
        task_free(&t);
    }
    ctx_done(ctx);
}

/* Scales against literal ones: 1e-12, sums of a few squares. */
static void groups_have_one_scale(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    task t = task_of(ctx, 11, 3, false, false, 9);
    for (size_t round = 0; round < 2 * GROUPS; ++round) { /* one group after the other becomes constant */
        size_t dead = round / 2;
        t.columns->share = round % 2 ? 0.2 : 0;
        bool stay[11];
        double y[11];
        tnp_transfer_problem *p = NULL;
        for (size_t i = 0; i < t.rows; ++i) {
            stay[i] = true;
            y[i] = t.class_of[i] == 0 ? 1 : -1;
            for (size_t j = dead > 1 ? ends[dead - 2] : 0; dead > 0 && j < ends[dead - 1]; ++j)
                t.x[i * COLS + j] = 2;
            tnp_transfer_put_wide(t.columns, i, 0, COLS, t.x + i * COLS);
        }
        assert_fine(ctx, tnp_transfer_problem_new(ctx, t.columns, y, NULL, &p));
        ref_transfer r = literal(&t, stay, 0);
        for (size_t j = 0; j < COLS; ++j) {
            ref_real square = 0, inverse = r.scale[j] > 0 ? 1 / r.scale[j] : 0;
            for (size_t i = 0; i < r.m; ++i)
                square += r.z[i * COLS + j] * r.z[i * COLS + j];
            assert_near_at(j, p->inverse[j], (double)inverse, 1e-12 * (double)inverse);
            if (inverse > 0)
                assert_near_at(j, tnp_transfer_power(p, j), (double)square, 1e-12);
        }
        ref_transfer_free(&r);
        tnp_transfer_problem_free(p);
    }
    task_free(&t);
    ctx_done(ctx);
}

/* Four rows of two and two classes; ties go to the first class, NaN is wrong, rows that do not count are not asked. */
static void errors_by_hand(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    tnp_transfer_columns *columns = NULL;
    static const size_t class_of[5] = {0, 0, 1, 1, 2};
    static const double counts[5] = {1, 1, 1, 1, 0};
    static const double a[15] = {1, 0, 2, NAN, 9, /* */ 0, 0, 2, 0, 9, /* */ 0, 1, 0, 0, 0};
    static const double b[15] = {1, 1, 0, 0, 9, /* */ 0, 0, 2, NAN, 9, /* */ 0, 0, 0, 0, 0};
    assert_fine(ctx, tnp_transfer_columns_new(ctx, 5, 1, true, &columns));
    const tnp_joint joint = {columns, 1, 3, class_of, false, NULL};
    /* a: right, wrong (class 2), wrong (tie with class 0), right (its rivals are NaN and equal but later). */
    tnp_joint_score score = tnp_joint_score_of(&joint, counts, a);
    assert_near(score.error, 0.5, 0);
    assert_near(score.se, sqrt(4 * 0.25 / (4 * 3)), 1e-15);
    assert_int_equal(score.rows, 4);
    assert_near(tnp_joint_score_of(&joint, counts, b).error, 0.25, 0);
    /* Three standard errors. Three rows better: 9 > 9 (3 - 9/4); two better and one worse: 1 < 9 (3 - 1/4). */
    double one[15] = {1, 1, 0, 0, 0, /* */ 0, 0, 1, 1, 0, /* */ 0, 0, 0, 0, 1};
    double two[15] = {1, 0, 1, 1, 0, /* */ 0, 1, 0, 0, 0, /* */ 0, 0, 0, 0, 1};
    assert_true(tnp_joint_prefers(&joint, counts, one, two));
    assert_false(tnp_joint_prefers(&joint, counts, two, one));
    one[2] = 2, two[2] = -1;
    assert_false(tnp_joint_prefers(&joint, counts, one, two));
    /* Two better, none worse: one standard error, 4 > 2 - 1, but not three. */
    static const double all[15] = {1, 1, 0, 0, 0, /* */ 0, 0, 1, 1, 0}, half[15] = {1, 0, 0, 1, 0, /* */ 0, 1, 1, 0, 0};
    assert_false(tnp_joint_prefers(&joint, counts, all, half));
    tnp_transfer_columns_free(columns);
    ctx_done(ctx);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    task t = task_of(ctx, 6, 3, false, true, 1);
    const tnp_joint joint = joint_of(&t);
    const size_t most[3] = {2, 2, 2}, blocks = tnp_live_blocks(ctx);
    for (int greedy = 0; greedy < 2; ++greedy) {
        const tnp_joint_model model = {greedy, TNP_TRANSFER_NONE, -1, 0, most, NULL};
        size_t k = 1;
        for (tn_status st = TN_ERR_MEMORY; st != TN_OK; ++k) {
            tnp_joint_left left, mixed = {0};
            tnp_fail_allocation(ctx, k);
            st = tnp_joint_leave(ctx, &joint, &model, &left, &mixed);
            tnp_fail_allocation(ctx, 0);
            assert_true(st == TN_OK || st == TN_ERR_MEMORY);
            tnp_joint_left_destroy(&left);
            tnp_joint_left_destroy(&mixed);
            assert_int_equal(tnp_live_blocks(ctx), blocks);
        }
        assert_true(k > 50);
    }
    task_free(&t);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_arg_max_is_asked_without_the_row),
        cmocka_unit_test(class_means_are_made_again_without_the_rows),
        cmocka_unit_test(sources_count_for_what_left_out_rows_say),
        cmocka_unit_test(one_row_a_class),
        cmocka_unit_test(all_classes_share_one_value),
        cmocka_unit_test(groups_have_one_scale),
        cmocka_unit_test(errors_by_hand),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
