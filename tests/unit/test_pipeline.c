/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_rank and tn_fit as a user calls them, on files, against the dense likelihood, literal ridge regression and brute
 * force over sets. What they do when something is wrong is test_pipeline_faults.c.
 *
 * Tolerances. F is a sum of N K logarithms, each with the relative error e of its argument, so it is compared on that
 * scale: e = 1e-9 for double files, 1e-6 for float and half ones. */
#include "scene_of.h"
#include "learn/head/head.h"
#include "ref_metrics.h"
#include "ref_evidence.h"
#include "ref_ridge.h"
#include "options_of.h"

enum { MOST = 4 }; /* candidates: both, with l2 and root */

/* ---- oracles ---- */

/* The candidates `mask` of (a+l2, a+root, b+l2, b+root) side by side. p.y is the scene's. */
static ref_problem concatenated(const scene *s, size_t mask)
{
    ref_problem p = {s->n, 0, K, NULL, s->y};
    for (size_t c = 0; c < MOST; ++c) {
        if (!(mask >> c & 1))
            continue;
        double *x = normalised(s->x[c / 2], s->n, s->cols[c / 2], c % 2 ? TN_NORM_ROOT : TN_NORM_L2);
        double *grown = beside(p.x, p.d, x, s->cols[c / 2], s->n);
        free(x);
        free(p.x);
        p.x = grown;
        p.d += s->cols[c / 2];
    }
    return p;
}

typedef struct truth {
    double evidence, shared, null;
} truth;

static truth truth_of(const scene *s, size_t mask, bool intercept)
{
    ref_problem p = concatenated(s, mask);
    ref_eigen q = ref_eigen_of(&p, intercept);
    ref_real at, low = 1e-12L * q.largest, high = 1e6L * q.largest;
    truth t = {0, 0, 0};
    for (size_t c = 0; c < K; ++c) {
        ref_real best = ref_best(&q, c, low, high, 241, &at), null = ref_f(&q, c, INFINITY);
        t.evidence += (double)(best > null ? best : null);
        t.null += (double)null;
    }
    t.shared = fmax((double)ref_best(&q, K, low, high, 241, &at), t.null);
    ref_eigen_free(&q);
    free(p.x);
    return t;
}

static size_t candidate_index(const char *name)
{
    static const char *const names[MOST] = {"a+l2", "a+root", "b+l2", "b+root"};
    for (size_t c = 0; c < MOST; ++c)
        if (strcmp(name, names[c]) == 0)
            return c;
    fail_msg("no candidate is called %s", name);
    return MOST;
}

/* ---- rank ---- */

static void check_rank(size_t n, size_t da, size_t db, tn_task task, stored as, bool intercept)
{
    scene s = scene_of(n, da, db, task, as);
    double e = as == AS_F64 ? 1e-9 : 1e-6, scale = (double)(n * K);
    tnp_rank_options opt;
    tn_ranking *r = NULL;
    size_t seen = 0;
    tnp_rank_options_default(&opt);
    opt.normalize = "l2,root";
    opt.loo = 0;
    opt.evidence.intercept = intercept;
    assert_fine(test_ctx, rank(&s, &opt, &r));
    assert_int_equal(r->count, MOST);
    assert_int_equal(r->task, task);
    assert_int_equal(r->rows, n);
    assert_int_equal(r->rows_left_out, 0);
    assert_int_equal(r->classes, K);
    assert_int_equal(r->degenerate_classes, 0);
    for (size_t i = 0; i < MOST; ++i) {
        const tn_candidate *c = r->candidates[i];
        size_t at = candidate_index(c->name);
        truth t = truth_of(&s, (size_t)1 << at, intercept);
        seen |= (size_t)1 << at;
        assert_int_equal(c->dim, s.cols[at / 2]);
        assert_near_at(i, c->log_evidence / scale, t.evidence / scale, e);
        assert_near_at(i, c->log_evidence_shared / scale, t.shared / scale, e);
        assert_near_at(i, r->null_log_evidence / scale, t.null / scale, e);
        assert_near_at(i, c->gain_per_label, (t.evidence - t.null) / scale, e);
        assert_true(i == 0 || c->log_evidence <= r->candidates[i - 1]->log_evidence);
        assert_true(isnan(c->loo_accuracy) && isnan(c->loo_se) && isnan(c->loo_r2));
    }
    assert_int_equal(seen, (1 << MOST) - 1);
    tn_ranking_free(r);
    scene_free(&s);
}

static void ranking_equals_the_dense_likelihood(void **state)
{
    (void)state;
    const stored types[] = {AS_F64, AS_F32, AS_F16};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (size_t t = 0; t < 3; ++t) {
            check_rank(45, 8, 13, (tn_task)task, types[t], true);
            check_rank(14, 20, 6, (tn_task)task, types[t], true);
            if (task != TN_TASK_REGRESSION) /* without intercept targets near 1000 are all intercept */
                check_rank(30, 8, 40, (tn_task)task, types[t], false);
        }
}

/* One normalisation: candidates have the plain names. z-scores and l1 against their definition. */
static void plain_names_and_other_normalisations(void **state)
{
    (void)state;
    static const char *const kinds[] = {"l1", "zscore", "none"};
    const tn_normalize kind_of[] = {TN_NORM_L1, TN_NORM_ZSCORE, TN_NORM_NONE};
    for (size_t z = 0; z < 3; ++z) {
        scene s = scene_of(40, 6, 9, TN_TASK_MULTICLASS, AS_F64);
        tnp_rank_options opt;
        tn_ranking *r = NULL;
        tnp_rank_options_default(&opt);
        opt.normalize = kinds[z];
        opt.loo = 0;
        assert_fine(test_ctx, rank(&s, &opt, &r));
        assert_int_equal(r->count, REPS);
        for (size_t i = 0; i < REPS; ++i) {
            size_t at = strcmp(r->candidates[i]->name, "b") == 0;
            ref_real best, sum = 0;
            assert_string_equal(r->candidates[i]->name, at ? "b" : "a");
            ref_problem p = {40, s.cols[at], K, normalised(s.x[at], 40, s.cols[at], kind_of[z]), s.y};
            ref_eigen q = ref_eigen_of(&p, true);
            for (size_t c = 0; c < K; ++c)
                sum += fmaxl(ref_best(&q, c, 1e-12L * q.largest, 1e6L * q.largest, 241, &best), ref_f(&q, c, INFINITY));
            assert_near(r->candidates[i]->log_evidence / 120, (double)sum / 120, 1e-9);
            ref_eigen_free(&q);
            free(p.x);
        }
        tn_ranking_free(r);
        scene_free(&s);
    }
}

/* Mean over classes of the average precision of 30 rows; order of scores only, so that float rounding moves nothing but
 * near-ties. */
static double mean_ap_of(const ref_real *scores, const double *y)
{
    double ap = 0;
    for (size_t k = 0; k < K; ++k) {
        float column[30];
        bool positive[30];
        for (size_t n = 0; n < 30; ++n) {
            column[n] = (float)scores[n * K + k];
            positive[n] = y[n * K + k] > 0.5;
        }
        ap += ref_ap(column, 1, positive, 30) / K;
    }
    return ap;
}

/* Leave-one-out of all rows at the shared lambda, by refits. */
static void leave_one_out_beside_the_evidence(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        scene s = scene_of(30, 5, 40, (tn_task)task, AS_F64);
        tnp_rank_options opt;
        tn_ranking *r = NULL;
        tnp_rank_options_default(&opt);
        opt.normalize = "l2,root";
        opt.loo = TNP_ALL;
        assert_fine(test_ctx, rank(&s, &opt, &r));
        for (size_t i = 0; i < MOST; ++i) {
            const tn_candidate *c = r->candidates[i];
            ref_problem p = concatenated(&s, (size_t)1 << candidate_index(c->name));
            ref_real out[30 * K], r2 = 0, right = 0;
            ref_loo(&p, true, c->lambda_shared, out);
            for (size_t k = 0; k < K; ++k) {
                ref_real mean = 0, error = 0, total = 0;
                for (size_t n = 0; n < 30; ++n)
                    mean += (ref_real)p.y[n * K + k] / 30;
                for (size_t n = 0; n < 30; ++n) {
                    ref_real y = p.y[n * K + k];
                    error += (y - out[n * K + k]) * (y - out[n * K + k]);
                    total += (y - mean) * (y - mean);
                    right += (out[n * K + k] > 0.5L) == (y > 0.5L) ? 1.0L / (30 * K) : 0;
                }
                r2 += (1 - error / total) / K;
            }
            if (task == TN_TASK_MULTICLASS) {
                right = 0;
                for (size_t n = 0; n < 30; ++n) {
                    size_t best = 0;
                    for (size_t k = 1; k < K; ++k)
                        best = out[n * K + k] > out[n * K + best] ? k : best;
                    right += (ref_real)p.y[n * K + best] / 30;
                }
            }
            if (task == TN_TASK_MULTILABEL)
                assert_near_at(i, c->loo_mean_ap, mean_ap_of(out, p.y), 1e-12);
            if (task == TN_TASK_REGRESSION) {
                assert_near_at(i, c->loo_r2, (double)r2, 1e-7);
                assert_true(isnan(c->loo_accuracy));
            } else {
                assert_near_at(i, c->loo_accuracy, (double)right, 1e-9);
                assert_true(isnan(c->loo_r2));
                assert_true(c->loo_se >= 0 && c->loo_se <= 0.5 / sqrt(30) + 1e-9);
            }
            free(p.x);
        }
        tn_ranking_free(r);
        scene_free(&s);
    }
}

/* ---- fit ---- */

/* The head against literal ridge regression of the chosen columns at its own lambdas. */
static void check_head(const scene *s, const tn_fit_info *info, const tn_head *head)
{
    size_t mask = 0, d;
    for (size_t m = 0; m < info->selected_count; ++m) {
        size_t c = candidate_index(info->selected[m]);
        tn_rep rep = tn_head_rep(head, m);
        mask |= (size_t)1 << c;
        assert_string_equal(rep.name, c / 2 ? "b" : "a");
        assert_int_equal(rep.dim, s->cols[c / 2]);
        assert_int_equal(rep.normalize, c % 2 ? TN_NORM_ROOT : TN_NORM_L2);
    }
    ref_problem p = concatenated(s, mask);
    ref_eigen q = ref_eigen_of(&p, true);
    d = p.d;
    assert_int_equal(tn_head_dim(head), d);
    assert_int_equal(tn_head_rep_count(head), info->selected_count);
    assert_int_equal(tn_head_task(head), s->task);
    ref_real *w = ref_alloc(K * d, sizeof *w), b[K];
    for (size_t c = 0; c < K; ++c) {
        double lambda = info->lambda[c], largest = 1e-3;
        assert_true(tn_head_lambda(head)[c] == lambda);
        ref_ridge(&p, true, lambda, w, b);
        for (size_t j = 0; j < d; ++j)
            largest = fmax(largest, (double)fabsl(w[c * d + j]));
        for (size_t j = 0; j < d; ++j)
            assert_near_at(j, (double)tn_head_weight(head)[c * d + j] / largest, (double)w[c * d + j] / largest, 1e-6);
        assert_near_at(c, (double)tn_head_bias(head)[c], (double)b[c], 1e-6);
        double beta = (double)((ref_real)(s->n - 1) / ref_r(&q, c, lambda));
        assert_near_at(c, tn_head_beta(head)[c], beta, 1e-8);
        if (!isinf(lambda))
            assert_near_at(c, tn_head_alpha(head)[c], lambda * beta, 1e-8);
    }
    assert_near(tn_head_log_evidence(head), info->chosen->log_evidence, 0);
    ref_eigen_free(&q);
    free(w);
    free(p.x);
}

/* What each search must choose, by its definition on the oracle's evidences. */
static size_t expected_set(const double *value, tnp_search_kind how)
{
    size_t best = 0, order[MOST], chosen = 0;
    for (size_t c = 0; c < MOST; ++c) {
        size_t at = c;
        for (; at > 0 && value[(size_t)1 << order[at - 1]] < value[(size_t)1 << c]; --at)
            order[at] = order[at - 1];
        order[at] = c;
    }
    if (how == TNP_SEARCH_ALL)
        return (1 << MOST) - 1;
    if (how == TNP_SEARCH_BEST)
        return (size_t)1 << order[0];
    for (size_t c = 0; how == TNP_SEARCH_GREEDY && c < MOST; ++c)
        if (chosen == 0 || value[chosen | (size_t)1 << order[c]] > value[chosen])
            chosen |= (size_t)1 << order[c];
    if (how == TNP_SEARCH_GREEDY)
        return chosen;
    if (how == TNP_SEARCH_EXHAUSTIVE) {
        for (size_t mask = 2, at = 1; mask < 1 << MOST; ++mask)
            best = at = value[mask] > value[at] ? mask : at;
        return best;
    }
    for (;;) {
        size_t add = MOST;
        for (size_t c = 0; c < MOST; ++c)
            if (!(chosen >> c & 1) &&
                (add == MOST || value[chosen | (size_t)1 << c] > value[chosen | (size_t)1 << add]))
                add = c;
        if (add == MOST || (chosen && value[chosen | (size_t)1 << add] <= value[chosen]))
            return chosen;
        chosen |= (size_t)1 << add;
    }
}

static void every_select_chooses_by_its_definition(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{40, 6, 5}, {16, 20, 6}};
    for (size_t z = 0; z < 2; ++z)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            scene s = scene_of(shapes[z][0], shapes[z][1], shapes[z][2], (tn_task)task, AS_F64);
            double value[1 << MOST] = {0};
            for (size_t mask = 1; mask < 1 << MOST; ++mask)
                value[mask] = truth_of(&s, mask, true).evidence;
            for (int how = TNP_SEARCH_BEST; how <= TNP_SEARCH_ALL; ++how) {
                tnp_fit_options opt;
                tn_fit_info *info = NULL;
                tn_head *head = NULL;
                size_t mask = 0;
                tnp_fit_options_default(&opt);
                opt.method = TNP_METHOD_EVIDENCE;
                opt.rank.normalize = "l2,root";
                opt.rank.loo = 0;
                opt.select = how;
                if (task == TN_TASK_MULTICLASS) /* 16 rows are few: auto would share the head with class means */
                    opt.lambda = lambda_of("shared");
                assert_fine(test_ctx, fit(&s, &opt, &info, &head));
                for (size_t m = 0; m < info->selected_count; ++m)
                    mask |= (size_t)1 << candidate_index(info->selected[m]);
                assert_int_equal(mask, expected_set(value, (tnp_search_kind)how));
                assert_near(info->chosen->log_evidence / (double)(s.n * K), value[mask] / (double)(s.n * K), 1e-9);
                assert_int_equal(info->step_count, how == TNP_SEARCH_EXHAUSTIVE                      ? 15
                                                   : how == TNP_SEARCH_BEST || how == TNP_SEARCH_ALL ? 1
                                                   : how == TNP_SEARCH_GREEDY                        ? MOST
                                                                              : info->step_count);
                if (task != TN_TASK_REGRESSION) /* float biases near 1000 */
                    check_head(&s, info, head);
                tn_fit_info_free(info);
                tn_head_free(head);
            }
            scene_free(&s);
        }
}

/* No lambda of a fine grid, and not the null model, is better by the rule than the chosen one. */
static void check_rule(const scene *s, const tn_fit_info *info, const ref_problem *p)
{
    const char *rule = info->lambda_rule;
    ref_eigen q = ref_eigen_of(p, true);
    ref_real lambda = info->lambda[0], grid[2] = {INFINITY, INFINITY}, at, low = 1e-12L * q.largest,
             high = 1e6L * q.largest;
    for (int g = -60; g <= 60; ++g) {
        ref_real x = powl(10, (ref_real)g / 10);
        grid[0] = fminl(grid[0], ref_gcv(p, true, x));
        grid[1] = fminl(grid[1], strcmp(rule, "loo") == 0 ? ref_loo_error(p, true, x) : 0);
    }
    if (strcmp(rule, "shared") == 0)
        assert_true(ref_f_sum(&q, lambda) >=
                    fmaxl(ref_best(&q, K, low, high, 241, &at), ref_f_sum(&q, INFINITY)) - 1e-6L);
    else if (strcmp(rule, "per-class") == 0)
        for (size_t c = 0; c < K; ++c)
            assert_true(ref_f(&q, c, info->lambda[c]) >= ref_best(&q, c, low, high, 241, &at) - 1e-6L);
    else if (strcmp(rule, "gcv") == 0)
        assert_true(ref_gcv(p, true, lambda) <= grid[0] * (1 + 1e-7L));
    else if (strcmp(rule, "loo") == 0)
        assert_true(ref_loo_error(p, true, lambda) <= grid[1] * (1 + 1e-7L));
    else
        assert_true(lambda == 3.5L);
    for (size_t c = 1; c < K && strcmp(rule, "per-class") != 0; ++c)
        assert_true(info->lambda[c] == info->lambda[0]);
    (void)s;
    ref_eigen_free(&q);
}

static void every_lambda_rule(void **state)
{
    (void)state;
    static const char *const given[] = {"auto", "shared", "per-class", "gcv", "loo", "3.5"};
    static const char *const used[] = {NULL, "shared", "per-class", "gcv", "loo", "fixed"};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task)
        for (size_t i = 0; i < 6; ++i) {
            scene s = scene_of(24, 5, 4, (tn_task)task, AS_F64);
            tnp_fit_options opt;
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            tnp_fit_options_default(&opt);
            opt.method = TNP_METHOD_EVIDENCE;
            opt.rank.normalize = "l2,root";
            opt.rank.loo = TNP_ALL;
            opt.select = TNP_SEARCH_BEST;
            opt.lambda = lambda_of(given[i]);
            assert_fine(test_ctx, fit(&s, &opt, &info, &head));
            assert_string_equal(info->lambda_rule, used[i]                      ? used[i]
                                                   : task == TN_TASK_MULTICLASS ? "shared"
                                                                                : "per-class");
            ref_problem p = concatenated(&s, (size_t)1 << candidate_index(info->selected[0]));
            check_rule(&s, info, &p);
            check_head(&s, info, head);
            free(p.x);
            tn_fit_info_free(info);
            tn_head_free(head);
            scene_free(&s);
        }
}

/* An absent class scores 0, one that is always there 1, and neither touches the others. */
static void constant_classes(void **state)
{
    (void)state;
    scene s = scene_of(30, 5, 4, TN_TASK_MULTILABEL, AS_F64);
    for (size_t i = 0; i < 30; ++i) {
        s.y[i * K + 1] = 0;
        s.y[i * K + 2] = 1;
    }
    for (int turn = 0; turn < 4; ++turn) {
        int intercept = turn % 2;
        tn_labels *labels = labels_of(s.y, 30, K, TN_TASK_MULTILABEL);
        tnp_fit_options opt;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fit_options_default(&opt);
        opt.method = TNP_METHOD_EVIDENCE;
        opt.rank.evidence.intercept = intercept != 0;
        opt.rank.loo = TNP_ALL;
        opt.lambda = lambda_of(turn < 2 ? "auto" : "0.5");
        assert_fine(test_ctx,
                    tnp_fit(test_ctx, (const tn_features *const *)s.features, REPS, labels, &opt, &info, &head));
        assert_int_equal(info->ranking->degenerate_classes, 2);
        assert_int_equal(info->chosen->degenerate_classes, 2);
        for (size_t c = 1; c < K; ++c) {
            assert_true(isinf(info->lambda[c]));
            assert_true(tn_head_bias(head)[c] == (c == 1 ? 0.0f : 1.0f));
            for (size_t j = 0; j < tn_head_dim(head); ++j)
                assert_true(tn_head_weight(head)[c * tn_head_dim(head) + j] == 0);
        }
        ref_problem p = {30, s.cols[0], 1, normalised(s.x[0], 30, s.cols[0], TN_NORM_L2),
                         ref_alloc(30, sizeof(double))};
        for (size_t i = 0; i < 30; ++i)
            p.y[i] = s.y[i * K];
        ref_eigen q = ref_eigen_of(&p, intercept != 0);
        ref_real at,
            best = fmaxl(ref_best(&q, 0, 1e-12L * q.largest, 1e6L * q.largest, 241, &at), ref_f(&q, 0, INFINITY));
        for (size_t i = 0; i < REPS; ++i)
            if (strcmp(info->ranking->candidates[i]->name, "a") == 0)
                assert_near(info->ranking->candidates[i]->log_evidence / 30, (double)best / 30, 1e-9);
        ref_eigen_free(&q);
        ref_problem_free(&p);
        tn_fit_info_free(info);
        tn_head_free(head);
        labels_done(labels);
    }
    scene_free(&s);
}

/* Means and reciprocal deviations of the training rows go into the head, each representation's in its columns. */
static void zscores_of_two_representations(void **state)
{
    (void)state;
    scene s = scene_of(40, 6, 9, TN_TASK_MULTICLASS, AS_F64);
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    opt.rank.normalize = "zscore";
    opt.select = TNP_SEARCH_ALL;
    assert_fine(test_ctx, fit(&s, &opt, &info, &head));
    assert_int_equal(tn_head_dim(head), 15);
    for (size_t j = 0; j < 15; ++j) {
        size_t r = j < 6 ? 0 : 1, d = s.cols[r], c = j - 6 * r;
        double mean = 0, square = 0;
        for (size_t i = 0; i < 40; ++i)
            mean += s.x[r][i * d + c] / 40;
        for (size_t i = 0; i < 40; ++i)
            square += (s.x[r][i * d + c] - mean) * (s.x[r][i * d + c] - mean) / 40;
        assert_near_at(j, head->means[j], mean, 1e-12);
        assert_near_at(j, head->scales[j] * sqrt(square), 1, 1e-12);
    }
    tn_fit_info_free(info);
    tn_head_free(head);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranking_equals_the_dense_likelihood),
        cmocka_unit_test(plain_names_and_other_normalisations),
        cmocka_unit_test(leave_one_out_beside_the_evidence),
        cmocka_unit_test(every_select_chooses_by_its_definition),
        cmocka_unit_test(every_lambda_rule),
        cmocka_unit_test(constant_classes),
        cmocka_unit_test(zscores_of_two_representations),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
