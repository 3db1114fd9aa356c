/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of single rows against their formulas in long double: values, slopes, second derivatives, for all columns and
 * for some of them, with costs, weights and folds.
 *
 * Tolerance. Scores and costs are given in float, and the functions round a handful of times in float: 8 u of the terms
 * that are summed. expf and logf are good to an ulp or two; a score of size s makes exp(s) relative to s u. */
#include "fixtures/files.h"
#include "near.h"
#include "learn/linear/margin_loss.h"
#include "learn/softmax/softmax_loss.h"
#include "ref_logistic.h"
#include "ref_random.h"

enum { N = 5, K = 4, FOLDS = 3, COUNT = K * FOLDS };

static const double U = 0x1p-24;
/* Row 2 has no class, row 4 has all. */
static const size_t first[N + 1] = {0, 1, 3, 3, 4, 8};
static const uint32_t cls[8] = {2, 0, 3, 1, 0, 1, 2, 3};
static const tnp_targets targets = {.rows = N, .classes = K, .first = first, .cls = cls};
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
    return (tnp_columns){&targets,
                         folds ? COUNT : K,
                         folds ? c->fold : NULL,
                         folds ? row_fold : NULL,
                         weights ? row_weight : NULL,
                         c->positive,
                         c->negative,
                         NULL};
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

/* Adds what row i of every third, whose direction is row i / 3 of given, has along it at t = 1/4. */
static void third_row(const float *s, const float *given, const uint32_t *own, size_t i, ref_real c, ref_real *sums)
{
    const float *z = given + i / 3 * K;
    float there[K];
    ref_real q[K], mean = 0, square = 0;
    for (size_t k = 0; k < K; ++k)
        there[k] = s[i * K + k] + 0.25f * z[k];
    softmax(there, q);
    for (size_t k = 0; k < K; ++k) {
        mean += q[k] * (ref_real)z[k];
        square += q[k] * (ref_real)z[k] * (ref_real)z[k];
    }
    sums[0] += c * (mean - (ref_real)z[own[i]]);
    sums[1] += c * (square - mean * mean);
}

/* All passes over rows of the softmax. */
static void softmax_loss(void **state)
{
    (void)state;
    size_t starts[ROWS + 1];
    uint32_t own[ROWS];
    float weight[ROWS], s[ROWS * K], z[ROWS * K], given[ROWS * K], g[ROWS * K], moved[ROWS * K];
    const tnp_targets y = {.rows = ROWS, .classes = K, .first = starts, .cls = own};
    const tnp_softmax soft = {&y, 0.75f, weight};
    tnp_softmax_rows rows;
    ref_real value = 0, slope[K] = {0}, bent[K] = {0}, line[2] = {0}, few[2] = {0}, t = 0.25L;
    double tolerance[ROWS], sums[1 + 2 * K] = {0}, along[2] = {0}, third[2] = {0};
    double total = fill_rows(starts, own, weight, s, z, tolerance);
    memcpy(given, z, sizeof z);
    assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &soft, &rows));
    assert_true(rows.block >= ROWS);
    for (size_t start = 0; start < ROWS; start += 100) { /* two calls, whose sums add up */
        tnp_softmax_range range = {start, 1, tnp_min(100, ROWS - start)};
        tnp_softmax_slope(&rows, range, s, g + start * K, sums);
        tnp_softmax_curve(&rows, range, s, z + start * K);
        tnp_softmax_line(&rows, range, s, given + start * K, (double)t, along);
    }
    for (size_t i = 0; i < ROWS * K; ++i)
        moved[i] = s[i] + 0.25f * given[i];
    tnp_softmax_line(&rows, (tnp_softmax_range){2, 3, (ROWS - 2 + 2) / 3}, s, given, (double)t, third);
    tnp_softmax_rows_destroy(&rows);
    for (size_t i = 0; i < ROWS; ++i) {
        ref_real q[K], c = 0.75L * (ref_real)weight[i], mean = 0, square = 0;
        value += c * (softmax(s + i * K, q) - (ref_real)s[i * K + own[i]]);
        for (size_t k = 0; k < K; ++k)
            mean += q[k] * (ref_real)given[i * K + k];
        for (size_t k = 0; k < K; ++k) {
            ref_real d = c * (q[k] - (k == own[i] ? 1 : 0));
            assert_true(fabsl((ref_real)g[i * K + k] - d) <= tolerance[i]);
            assert_true(fabsl((ref_real)z[i * K + k] - c * q[k] * ((ref_real)given[i * K + k] - mean)) <=
                        4 * tolerance[i]);
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
        if (i % 3 == 2)
            third_row(s, given, own, i, c, few);
    }
    assert_true(fabsl((ref_real)sums[0] - value) <= total);
    for (size_t k = 0; k < K; ++k) {
        assert_true(fabsl((ref_real)sums[1 + k] - slope[k]) <= total);
        assert_true(fabsl((ref_real)sums[1 + K + k] - bent[k]) <= total);
    }
    for (int i = 0; i < 2; ++i) {
        assert_true(fabsl((ref_real)along[i] - line[i]) <= total);
        assert_true(fabsl((ref_real)third[i] - few[i]) <= total);
    }
}

/* One direction for all rows, by probabilities that are kept and by those that are made anew; and a slope does not show
 * whether they are. */
static void softmax_curve_sums(void **state)
{
    (void)state;
    size_t starts[ROWS + 1];
    uint32_t own[ROWS];
    float weight[ROWS], s[ROWS * K], z[ROWS * K], g[2][ROWS * K];
    const tnp_targets y = {.rows = ROWS, .classes = K, .first = starts, .cls = own};
    const tnp_softmax soft = {&y, 0.75f, weight};
    double tolerance[ROWS], total = fill_rows(starts, own, weight, s, z, tolerance);
    ref_real want[K] = {0};
    for (size_t i = 0; i < ROWS; ++i) {
        ref_real q[K], mean = 0;
        softmax(s + i * K, q);
        for (size_t k = 0; k < K; ++k)
            mean += q[k] * (ref_real)z[k];
        for (size_t k = 0; k < K; ++k)
            want[k] += 0.75L * (ref_real)weight[i] * q[k] * ((ref_real)z[k] - mean);
    }
    for (int kept = 0; kept < 2; ++kept) {
        tnp_softmax_rows rows;
        tnp_softmax_range all = {0, 1, ROWS};
        double slopes[1 + 2 * K] = {0}, sums[K] = {0};
        assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &soft, &rows));
        assert_non_null(rows.p);
        if (!kept) {
            tnp_free(rows.p);
            rows.p = NULL;
        }
        tnp_softmax_slope(&rows, all, s, g[kept], slopes);
        tnp_softmax_curve_sums(&rows, all, s, z, sums);
        for (size_t k = 0; k < K; ++k)
            assert_true(fabsl((ref_real)sums[k] - want[k]) <= total);
        tnp_softmax_rows_destroy(&rows);
    }
    assert_memory_equal(g[0], g[1], sizeof g[0]);
}

/* Slope and bend of sum_i w_i log(1 + exp(a_i t + b_i)) + c t + r t^2 / 2, literally. */
typedef struct bowl {
    double w[5], a[5], b[5], c, r;
    size_t calls;
} bowl;

static tn_status bowl_line(void *arg, double t, double *slope, double *bend)
{
    bowl *q = arg;
    ++q->calls;
    *slope = q->c + q->r * t;
    *bend = q->r;
    for (size_t i = 0; i < 5; ++i) {
        double p = 1 / (1 + exp(-(q->a[i] * t + q->b[i])));
        *slope += q->w[i] * q->a[i] * p;
        *bend += q->w[i] * q->a[i] * q->a[i] * p * (1 - p);
    }
    return TN_OK;
}

static tn_status no_line(void *arg, double t, double *slope, double *bend)
{
    (void)arg, (void)t, (void)slope, (void)bend;
    return TN_ERR_NUMERIC;
}

/* The step stops where the slope has fallen to a tenth; uphill there is none; an error passes through. */
static void line_search(void **state)
{
    (void)state;
    size_t found = 0;
    double t = 0;
    for (uint64_t turn = 0; turn < 60; ++turn) {
        ref_rng rng = ref_rng_of(turn);
        bowl q = {.c = ref_normal(&rng) - 1, .r = turn % 2 ? 0.5 : 30};
        double slope, there, bend, length = pow(10, (double)(turn % 5) - 2);
        for (size_t i = 0; i < 5; ++i) {
            q.w[i] = fabs(ref_normal(&rng));
            q.a[i] = length * ref_normal(&rng);
            q.b[i] = ref_normal(&rng);
        }
        q.c *= length;
        q.r *= length * length;
        bowl_line(&q, 0, &slope, &bend);
        q.calls = 0;
        assert_fine(test_ctx, tnp_line_search(bowl_line, &q, slope, 0.1, &t));
        if (slope >= 0) {
            assert_true(t == 0 && q.calls == 0);
            continue;
        }
        ++found;
        bowl_line(&q, t, &there, &bend);
        assert_true(t > 0 && fabs(there) <= 0.1 * fabs(slope));
    }
    assert_true(found > 20);
    assert_int_equal(tnp_line_search(no_line, NULL, -1, 0.1, &t), TN_ERR_NUMERIC);
}

/* Scores beyond the range of exp: values grow as they should, nothing is NaN. */
static void enormous_scores(void **state)
{
    (void)state;
    costs room;
    tnp_columns c = columns_of(&room, false, false);
    static const size_t cols[K] = {0, 1, 2, 3};
    static const size_t one[2] = {0, 1};
    const tnp_targets y = {.rows = 1, .classes = K, .first = one, .cls = cls}; /* row 0 has class 2 */
    const tnp_softmax soft = {&y, 1, NULL};
    const tnp_loss loss = tnp_binary_logistic(&c);
    tnp_softmax_rows rows;
    assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &soft, &rows));
    for (int l = 0; l < 2; ++l)
        for (int sign = -1; sign < 2; sign += 2) {
            float s[K] = {0, 0, (float)sign * 1e6f, 0}, scratch[K], g[K], z[K] = {1, 1, 1, 1};
            double value[K] = {0}, sum[K] = {0};
            if (l) {
                tnp_softmax_range all = {0, 1, 1};
                double sums[1 + 2 * K] = {0};
                tnp_softmax_slope(&rows, all, s, g, sums);
                tnp_softmax_curve(&rows, all, s, z);
                value[0] = sums[0];
                memcpy(sum, sums + 1, sizeof sum);
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
        cmocka_unit_test(signed_costs),       cmocka_unit_test(margin_losses), cmocka_unit_test(softmax_loss),
        cmocka_unit_test(softmax_curve_sums), cmocka_unit_test(line_search),   cmocka_unit_test(enormous_scores),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
