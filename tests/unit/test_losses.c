/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of single rows against their formulas in long double: values, slopes, second derivatives, for all columns and for
 * some of them, with costs, weights and folds.
 *
 * Tolerance. Scores and costs are given in float, and the functions round a handful of times in float: 8 u of the terms that
 * are summed. expf and logf are good to an ulp or two; a score of size s makes exp(s) relative to s u. */
#include "near.h"
#include "learn/margin_loss.h"
#include "learn/softmax_loss.h"
#include "ref_logistic.h"
#include "ref_random.h"

enum { N = 5, K = 4, FOLDS = 3, COUNT = K * FOLDS };

static const double U = 0x1p-24;
/* Row 2 has no class, row 4 has all. */
static const size_t first[N + 1] = {0, 1, 3, 3, 4, 8};
static const uint32_t cls[8] = {2, 0, 3, 1, 0, 1, 2, 3};
static const tnp_targets targets = {N, K, first, cls, NULL};
static const uint32_t row_fold[N] = {0, 1, 2, 0, 1};
static const float row_weight[N] = {1, 0.5f, 3, 0, 2};

static bool has(size_t row, size_t k)
{
    for (size_t p = first[row]; p < first[row + 1]; ++p)
        if (cls[p] == k)
            return true;
    return false;
}

typedef struct costs {
    uint32_t fold[COUNT];
    float positive[COUNT], negative[COUNT];
} costs;

static tnp_columns columns_of(costs *c, bool folds, bool weights)
{
    for (size_t j = 0; j < COUNT; ++j) {
        c->fold[j] = (uint32_t)(j / K);
        c->positive[j] = 0.25f * (float)(j + 1);
        c->negative[j] = 0.125f * (float)(COUNT - j);
    }
    return (tnp_columns){
        &targets,    folds ? COUNT : K, folds ? c->fold : NULL, folds ? row_fold : NULL, weights ? row_weight : NULL,
        c->positive, c->negative};
}

/* y times the cost, by definition; these products are exact in float. */
static double signed_cost(const tnp_columns *c, size_t row, size_t column)
{
    double w = c->row_weight ? (double)c->row_weight[row] : 1;
    if (c->fold && c->fold[column] == c->row_fold[row])
        return 0;
    return has(row, column % K) ? w * (double)c->positive_cost[column] : -w * (double)c->negative_cost[column];
}

/* Every ascending subset of the columns. */
static void signed_costs(void **state)
{
    (void)state;
    costs room;
    for (int form = 0; form < 4; ++form) {
        tnp_columns c = columns_of(&room, form & 1, form & 2);
        for (size_t set = 0; set < (size_t)1 << c.count; ++set)
            for (size_t row = 0; row < N; ++row) {
                size_t cols[COUNT], k = 0;
                float a[COUNT + 1];
                for (size_t j = 0; j < c.count; ++j)
                    if (set >> j & 1)
                        cols[k++] = j;
                a[k] = 77;
                tnp_signed_costs(&c, row, cols, k, a);
                for (size_t j = 0; j < k; ++j)
                    assert_true((double)a[j] == signed_cost(&c, row, cols[j]));
                assert_true(a[k] == 77);
            }
    }
}

static void margin_formulas(double a, double s, bool logistic, ref_real *value, ref_real *slope, ref_real *curve)
{
    ref_real y = a < 0 ? -1 : 1, c = fabs(a), m = y * (ref_real)s;
    if (logistic) {
        ref_real q = 1 / (1 + expl(m));
        *value = c * log1pl(expl(-m));
        *slope = -c * y * q;
        *curve = c * q * (1 - q);
    } else {
        ref_real v = fmaxl(0, 1 - m);
        *value = c * v * v;
        *slope = -2 * c * y * v;
        *curve = v > 0 ? 2 * c : 0;
    }
}

static void margin_losses(void **state)
{
    (void)state;
    const size_t cols[] = {0, 3, 4, 5, 9, 11};
    const float scores[] = {0, 0.5f, -3, 2, 40, -70};
    costs room;
    tnp_columns c = columns_of(&room, true, true);
    for (int logistic = 0; logistic < 2; ++logistic) {
        tnp_loss loss = logistic ? tnp_binary_logistic(&c) : tnp_squared_hinge(&c);
        assert_false(loss.coupled);
        for (size_t row = 0; row < N; ++row)
            for (size_t turn = 0; turn < 6; ++turn) {
                float s[6], scratch[6], g[6], z[6];
                double value[6], sum[6];
                for (size_t j = 0; j < 6; ++j) {
                    s[j] = scores[(j + turn) % 6];
                    z[j] = (float)j - 2.5f;
                    value[j] = sum[j] = 10;
                }
                loss.slope(loss.arg, row, cols, 6, s, scratch, g, value);
                loss.curve(loss.arg, row, cols, 6, s, scratch, z);
                loss.weight(loss.arg, row, cols, 6, s, scratch, sum);
                for (size_t j = 0; j < 6; ++j) {
                    double a = signed_cost(&c, row, cols[j]);
                    ref_real f, d, h;
                    margin_formulas(a, (double)s[j], logistic, &f, &d, &h);
                    double tolerance = 8 * U * (logistic ? fmax(1, fabs((double)s[j])) : 1);
                    assert_true(fabsl(value[j] - 10 - f) <= 8 * U * f + 1e-14L);
                    assert_true(fabsl((ref_real)g[j] - d) <= tolerance * fabsl(d));
                    assert_true(fabsl((ref_real)z[j] - h * ((ref_real)j - 2.5L)) <=
                                tolerance * 2.5 * fabs(a) * (logistic ? 1 : 2));
                    assert_true(fabsl(sum[j] - 10 - h) <= tolerance * fabs(a) * (logistic ? 1 : 2));
                }
            }
    }
}

/* Literal softmax of one row. */
static ref_real softmax(const float *s, ref_real *p)
{
    ref_real total = 0, most = (ref_real)s[0];
    for (size_t k = 1; k < K; ++k)
        most = fmaxl(most, (ref_real)s[k]);
    for (size_t k = 0; k < K; ++k)
        total += expl((ref_real)s[k] - most);
    for (size_t k = 0; k < K; ++k)
        p[k] = expl((ref_real)s[k] - most) / total;
    return most + logl(total);
}

static void softmax_loss(void **state)
{
    (void)state;
    static const size_t one[4] = {0, 1, 2, 3};
    static const uint32_t own[3] = {2, 0, 3};
    static const size_t cols[K] = {0, 1, 2, 3};
    const tnp_targets y = {3, K, one, own, NULL};
    const float weight[3] = {1, 0.5f, 4};
    const tnp_softmax soft = {&y, 0.75f, weight};
    tnp_loss loss = tnp_softmax_loss(&soft);
    ref_rng rng = ref_rng_of(3);
    assert_true(loss.coupled);
    for (size_t turn = 0; turn < 60; ++turn) {
        size_t row = turn % 3;
        double scale = turn < 30 ? 2 : 200, c = 0.75 * (double)weight[row]; /* 200: probabilities that underflow */
        float s[K], z[K], given[K], scratch[K], g[K];
        double value[K] = {10, 11, 12, 13}, sum[K] = {0}, most = 0;
        ref_real p[K], mean = 0, total;
        for (size_t k = 0; k < K; ++k) {
            s[k] = (float)(scale * ref_normal(&rng));
            given[k] = z[k] = (float)ref_normal(&rng);
            most = fmax(most, fabs((double)s[k]));
        }
        total = softmax(s, p);
        for (size_t k = 0; k < K; ++k)
            mean += p[k] * (ref_real)given[k];
        loss.slope(loss.arg, row, cols, K, s, scratch, g, value);
        loss.curve(loss.arg, row, cols, K, s, scratch, z);
        loss.weight(loss.arg, row, cols, K, s, scratch, sum);
        double tolerance = 8 * U * fmax(1, 2 * most) * c;
        assert_true(fabsl(value[0] - 10 - c * (total - (ref_real)s[own[row]])) <= tolerance);
        assert_true(value[1] == 11 && value[2] == 12 && value[3] == 13);
        for (size_t k = 0; k < K; ++k) {
            assert_true(fabsl((ref_real)g[k] - c * (p[k] - (k == own[row] ? 1 : 0))) <= tolerance);
            assert_true(fabsl((ref_real)z[k] - c * p[k] * ((ref_real)given[k] - mean)) <= 4 * tolerance);
            assert_true(fabsl(sum[k] - c * p[k] * (1 - p[k])) <= tolerance);
        }
    }
}

/* Scores beyond the range of exp: values grow as they should, nothing is NaN. */
static void enormous_scores(void **state)
{
    (void)state;
    costs room;
    tnp_columns c = columns_of(&room, false, false);
    static const size_t cols[K] = {0, 1, 2, 3};
    static const size_t one[2] = {0, 1};
    const tnp_targets y = {1, K, one, cls, NULL}; /* row 0 has class 2 */
    const tnp_softmax soft = {&y, 1, NULL};
    const tnp_loss losses[] = {tnp_binary_logistic(&c), tnp_softmax_loss(&soft)};
    for (int l = 0; l < 2; ++l)
        for (int sign = -1; sign < 2; sign += 2) {
            float s[K] = {0, 0, (float)sign * 1e6f, 0}, scratch[K], g[K], z[K] = {1, 1, 1, 1};
            double value[K] = {0}, sum[K] = {0};
            losses[l].slope(losses[l].arg, 0, cols, K, s, scratch, g, value);
            losses[l].curve(losses[l].arg, 0, cols, K, s, scratch, z);
            losses[l].weight(losses[l].arg, 0, cols, K, s, scratch, sum);
            for (size_t k = 0; k < K; ++k)
                assert_true(isfinite(value[k]) && isfinite(g[k]) && isfinite(z[k]) && isfinite(sum[k]));
            double cost = l ? 1 : signed_cost(&c, 0, 2), got = value[l ? 0 : 2];
            assert_near(got, sign < 0 ? cost * 1e6 + (l ? log(3) : 0) : 0, 1e-7);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_costs),
        cmocka_unit_test(margin_losses),
        cmocka_unit_test(softmax_loss),
        cmocka_unit_test(enormous_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
