/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of single rows against their formulas in long double: values, slopes, second derivatives, for all columns and for
 * some of them, with costs, weights and folds.
 *
 * Tolerance. Scores and costs are given in float, and the functions round a handful of times in float: 8 u of the terms that
 * are summed. expf and logf are good to an ulp or two; a score of size s makes exp(s) relative to s u. */
#include "fixtures/files.h"
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

enum { ROWS = 150 }; /* several chunks */

/* Rows of the softmax; returns the tolerance of their sums. */
static double fill_rows(size_t *starts, uint32_t *own, float *weight, float *s, float *z, double *tolerance)
{
    ref_rng rng = ref_rng_of(3);
    double total = 0;
    for (size_t i = 0; i < ROWS; ++i) {
        double scale = i % 2 ? 2 : 50, most = 0; /* 50: probabilities that underflow */
        starts[i] = i;
        own[i] = (uint32_t)(i * 7 % K);
        weight[i] = (float)(i % 3) * 0.5f;
        for (size_t k = i * K; k < (i + 1) * K; ++k) {
            s[k] = (float)(scale * ref_normal(&rng));
            z[k] = (float)ref_normal(&rng);
            most = fmax(most, fabs((double)s[k]) + fabs((double)z[k]));
        }
        tolerance[i] = 16 * U * fmax(1, 2 * most) * 0.75 * (double)weight[i];
        total += tolerance[i] * 16; /* a direction's square is below 16 here */
    }
    starts[ROWS] = ROWS;
    return total;
}

/* All passes over rows of the softmax. */
static void softmax_loss(void **state)
{
    (void)state;
    size_t starts[ROWS + 1];
    uint32_t own[ROWS];
    float weight[ROWS], s[ROWS * K], z[ROWS * K], given[ROWS * K], p[ROWS * K], g[ROWS * K], moved[ROWS * K];
    const tnp_targets y = {ROWS, K, starts, own, NULL};
    const tnp_softmax soft = {&y, 0.75f, weight};
    tnp_softmax_rows rows;
    ref_real value = 0, slope[K] = {0}, bent[K] = {0}, line[2] = {0}, t = 0.25L;
    double tolerance[ROWS], sums[K], weights[K], one, two;
    double total = fill_rows(starts, own, weight, s, z, tolerance);
    memcpy(given, z, sizeof z);
    memcpy(moved, s, sizeof s);
    assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &soft, &rows));
    double got = tnp_softmax_value(&rows, s, p);
    tnp_softmax_slope(&rows, p, g, sums);
    tnp_softmax_curve(&rows, p, z);
    tnp_softmax_weight(&rows, p, weights);
    tnp_softmax_line(&rows, s, given, (double)t, &one, &two);
    tnp_softmax_move(&rows, (double)t, given, moved);
    tnp_softmax_rows_destroy(&rows);
    for (size_t i = 0; i < ROWS; ++i) {
        ref_real q[K], c = 0.75L * (ref_real)weight[i], mean = 0, square = 0;
        value += c * (softmax(s + i * K, q) - (ref_real)s[i * K + own[i]]);
        for (size_t k = 0; k < K; ++k)
            mean += q[k] * (ref_real)given[i * K + k];
        for (size_t k = 0; k < K; ++k) {
            ref_real d = c * (q[k] - (k == own[i] ? 1 : 0));
            assert_true(fabsl((ref_real)p[i * K + k] - q[k]) * c <= tolerance[i]);
            assert_true(fabsl((ref_real)g[i * K + k] - d) <= tolerance[i]);
            assert_true(fabsl((ref_real)z[i * K + k] - c * q[k] * ((ref_real)given[i * K + k] - mean)) <=
                        4 * tolerance[i]);
            assert_true(moved[i * K + k] == s[i * K + k] + 0.25f * given[i * K + k]);
            slope[k] += d;
            bent[k] += c * q[k] * (1 - q[k]);
        }
        softmax(moved + i * K, q);
        mean = 0;
        for (size_t k = 0; k < K; ++k) {
            mean += q[k] * (ref_real)given[i * K + k];
            square += q[k] * (ref_real)given[i * K + k] * (ref_real)given[i * K + k];
        }
        line[0] += c * (mean - (ref_real)given[i * K + own[i]]);
        line[1] += c * (square - mean * mean);
    }
    assert_true(fabsl((ref_real)got - value) <= total);
    for (size_t k = 0; k < K; ++k) {
        assert_true(fabsl((ref_real)sums[k] - slope[k]) <= total);
        assert_true(fabsl((ref_real)weights[k] - bent[k]) <= total);
    }
    assert_true(fabsl((ref_real)one - line[0]) <= total);
    assert_true(fabsl((ref_real)two - line[1]) <= total);
}

/* The step stops where the literal slope has fallen to a tenth; uphill there is none. */
static void softmax_search(void **state)
{
    (void)state;
    enum { SOME = 20 };
    size_t starts[SOME + 1], found = 0;
    uint32_t own[SOME];
    float s[SOME * K], z[SOME * K];
    const tnp_targets y = {SOME, K, starts, own, NULL};
    const tnp_softmax soft = {&y, 1, NULL};
    tnp_softmax_rows rows;
    assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &soft, &rows));
    for (uint64_t turn = 0; turn < 60; ++turn) {
        ref_rng rng = ref_rng_of(turn);
        double ridge = turn % 2 ? 0.5 : 30, length = pow(10, (double)(turn % 5) - 2);
        ref_real slope[2] = {0};
        for (size_t i = 0; i < SOME; ++i) {
            starts[i] = i;
            own[i] = (uint32_t)(i % K);
            for (size_t k = 0; k < K; ++k) {
                s[i * K + k] = (float)ref_normal(&rng);
                z[i * K + k] = (float)(length * (ref_normal(&rng) + (k == own[i] ? 0.5 : 0)));
            }
        }
        starts[SOME] = SOME;
        double t = 0;
        for (int at = 0; at < 2; ++at) {
            slope[at] = (ref_real)t * (ref_real)ridge;
            for (size_t i = 0; i < SOME; ++i) {
                float there[K];
                ref_real q[K];
                for (size_t k = 0; k < K; ++k)
                    there[k] = s[i * K + k] + (float)t * z[i * K + k];
                softmax(there, q);
                for (size_t k = 0; k < K; ++k)
                    slope[at] += (q[k] - (k == own[i] ? 1 : 0)) * (ref_real)z[i * K + k];
            }
            if (at == 0)
                t = tnp_softmax_search(&rows, s, z, (double)slope[0], ridge);
        }
        if (slope[0] >= 0) {
            assert_true(t == 0);
            continue;
        }
        ++found;
        assert_true(t > 0 && fabsl(slope[1]) <= 0.1L * fabsl(slope[0]) + 1e-4L * (ref_real)length);
    }
    assert_true(found > 20);
    tnp_softmax_rows_destroy(&rows);
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
    const tnp_loss loss = tnp_binary_logistic(&c);
    tnp_softmax_rows rows;
    assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &soft, &rows));
    for (int l = 0; l < 2; ++l)
        for (int sign = -1; sign < 2; sign += 2) {
            float s[K] = {0, 0, (float)sign * 1e6f, 0}, scratch[K], g[K], z[K] = {1, 1, 1, 1};
            double value[K] = {0}, sum[K] = {0};
            if (l) {
                value[0] = tnp_softmax_value(&rows, s, scratch);
                tnp_softmax_slope(&rows, scratch, g, sum);
                tnp_softmax_curve(&rows, scratch, z);
            } else {
                loss.slope(loss.arg, 0, cols, K, s, scratch, g, value);
                loss.curve(loss.arg, 0, cols, K, s, scratch, z);
                loss.weight(loss.arg, 0, cols, K, s, scratch, sum);
            }
            for (size_t k = 0; k < K; ++k)
                assert_true(isfinite(value[k]) && isfinite(g[k]) && isfinite(z[k]) && isfinite(sum[k]));
            double cost = l ? 1 : signed_cost(&c, 0, 2), got = value[l ? 0 : 2];
            assert_near(got, sign < 0 ? cost * 1e6 + (l ? log(3) : 0) : 0, 1e-7);
        }
    tnp_softmax_rows_destroy(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_costs),   cmocka_unit_test(margin_losses),   cmocka_unit_test(softmax_loss),
        cmocka_unit_test(softmax_search), cmocka_unit_test(enormous_scores),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
