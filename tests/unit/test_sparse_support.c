/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The jump to the minimum over coordinates of given signs: its optimality conditions, written out in long double; that
 * it turns no sign, raises no model, and keeps its books; that it leaves alone what it cannot do. */
#include "transfer/sparse_support.h"
#include "ctx_of.h"
#include "ref_dense.h"
#include "ref_random.h"

typedef struct model {
    size_t rows, stride, count;
    double *a, *bent, *g, *h, *gradient, *w, *inverse, *next, *move;
    double ridge, bound, shift, slope, curvature;
} model;

/* Every ninth row is left out; a third of the coordinates is 0, and one has no diagonal. */
static model model_of(size_t rows, size_t count, double ridge, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    model m = {.rows = rows, .stride = (rows + 7) / 8 * 8, .count = count, .ridge = ridge, .bound = 0.2, .shift = 0.3};
    double **arrays[] = {&m.a, &m.bent, &m.g, &m.h, &m.gradient, &m.w, &m.inverse, &m.next, &m.move};
    for (size_t i = 0; i < 9; ++i)
        *arrays[i] = ref_alloc((count + 1) * m.stride, sizeof(double));
    for (size_t i = 0; i < rows; ++i) {
        m.g[i] = i % 9 == 8 ? 0 : ref_normal(&rng);
        m.h[i] = i % 9 == 8 ? 0 : 0.05 + ref_unit(&rng);
        m.move[i] = m.shift;
        m.slope += m.g[i];
        m.curvature += m.h[i];
    }
    for (size_t k = 0; k < count; ++k) {
        double diag = ridge;
        m.w[k] = ref_normal(&rng);
        m.next[k] = k % 3 == 1 ? 0 : ref_normal(&rng);
        m.gradient[k] = ridge * m.w[k];
        for (size_t i = 0; i < rows; ++i) {
            double a = m.a[k * m.stride + i] = ref_normal(&rng);
            m.bent[k * m.stride + i] = a * m.h[i];
            m.gradient[k] += a * m.g[i];
            diag += a * a * m.h[i];
            m.move[i] += a * (m.next[k] - m.w[k]);
        }
        m.inverse[k] = k == 2 ? 0 : 1 / diag;
    }
    return m;
}

static void model_free(model *m)
{
    double *arrays[] = {m->a, m->bent, m->g, m->h, m->gradient, m->w, m->inverse, m->next, m->move};
    for (size_t i = 0; i < 9; ++i)
        free(arrays[i]);
}

static tnp_descent descent_of(const model *m)
{
    return (tnp_descent){m->count,   m->stride, m->a,     m->bent, m->gradient, m->w,
                         m->inverse, m->ridge,  m->bound, m->next, m->move};
}

static ref_real value_of(const model *m)
{
    ref_real sum = 0;
    for (size_t i = 0; i < m->rows; ++i)
        sum += (ref_real)m->g[i] * m->move[i] + 0.5L * m->h[i] * m->move[i] * m->move[i];
    for (size_t k = 0; k < m->count; ++k)
        sum += 0.5L * m->ridge * m->next[k] * m->next[k] + (ref_real)m->bound * fabs(m->next[k]);
    return sum;
}

/* The move is that of the weights and the intercept. */
static void check_books(const model *m)
{
    for (size_t i = 0; i < m->rows; ++i) {
        ref_real want = m->shift;
        for (size_t k = 0; k < m->count; ++k)
            want += (ref_real)m->a[k * m->stride + i] * ((ref_real)m->next[k] - m->w[k]);
        assert_near_at(i, m->move[i], (double)want, 1e-10);
    }
    for (size_t i = m->rows; i < m->stride; ++i)
        assert_true(m->move[i] == 0);
}

/* Derivatives by the intercept and by every coordinate that moved are 0. */
static void check_minimum(const model *m, const double *before)
{
    ref_real pull = 0;
    for (size_t i = 0; i < m->rows; ++i)
        pull += m->g[i] + (ref_real)m->h[i] * m->move[i];
    assert_near((double)pull, 0, 1e-9);
    for (size_t k = 0; k < m->count; ++k) {
        ref_real sum = m->ridge * m->next[k] + copysign(m->bound, m->next[k]);
        for (size_t i = 0; i < m->rows; ++i)
            sum += (ref_real)m->a[k * m->stride + i] * (m->g[i] + (ref_real)m->h[i] * m->move[i]);
        if (before[k] != 0 && m->inverse[k] != 0)
            assert_near_at(k, (double)sum, 0, 1e-8);
    }
}

/* True when it went all the way; stays: it is not to move at all. */
static bool check_jump(tn_ctx *ctx, model *m, bool stays)
{
    tnp_support support;
    double *before = ref_alloc(m->count, sizeof *before);
    ref_real value = value_of(m);
    bool whole = true, any = false;
    tnp_descent d = descent_of(m);
    memcpy(before, m->next, m->count * sizeof *before);
    assert_fine(ctx, tnp_support_init(ctx, m->rows, &support));
    assert_fine(ctx, tnp_support_reserve(ctx, &support, m->count));
    tnp_support_jump(&support, &d, m->h, m->slope, m->curvature, &m->shift);
    for (size_t k = 0; k < m->count; ++k) {
        assert_true(m->next[k] * before[k] >= 0);
        assert_true((before[k] != 0 && m->inverse[k] != 0) || m->next[k] == before[k]);
        whole &= before[k] == 0 || m->next[k] != 0;
        any |= before[k] != 0 && m->inverse[k] != 0;
    }
    check_books(m);
    assert_true(value_of(m) <= value + 1e-10L);
    if (stays)
        assert_memory_equal(m->next, before, m->count * sizeof *before);
    else if (whole && any) /* with nothing to move it leaves the intercept alone, too */
        check_minimum(m, before);
    tnp_support_destroy(&support);
    free(before);
    return whole;
}

/* Jumps that end at a sign leave one coordinate less; in the end one goes all the way. Both systems: fewer coordinates
 * than rows, and more. */
static void jumps_end_at_the_minimum(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{5, 1}, {5, 3}, {12, 7}, {20, 12}, {20, 60}, {9, 200}};
    tn_ctx *ctx = ctx_of(0);
    for (uint64_t seed = 0; seed < 10; ++seed)
        for (size_t shape = 0; shape < 6; ++shape)
            for (int none = 0; none < 2; ++none) {
                size_t rows = shapes[shape][0], count = shapes[shape][1];
                if (none && count >= rows) /* no unique minimum without a ridge */
                    continue;
                model m = model_of(rows, count, none ? 0 : 0.1, seed);
                size_t jumps = 1;
                while (!check_jump(ctx, &m, false) && jumps <= count + 1)
                    ++jumps;
                assert_true(jumps <= count + 1);
                model_free(&m);
            }
    ctx_done(ctx);
}

/* All 0; more coordinates than rows and no ridge, where the system has no inverse; more unknowns than pay. */
static void stays_where_it_cannot_jump(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{20, 6}, {8, 40}, {300, 290}};
    tn_ctx *ctx = ctx_of(0);
    for (size_t shape = 0; shape < 3; ++shape) {
        model m = model_of(shapes[shape][0], shapes[shape][1], shape == 2 ? 0.1 : 0, 5);
        double shift = m.shift;
        if (shape == 0) {
            memset(m.next, 0, m.count * sizeof *m.next);
            memset(m.w, 0, m.count * sizeof *m.w);
            for (size_t i = 0; i < m.rows; ++i)
                m.move[i] = m.shift;
        }
        (void)check_jump(ctx, &m, true);
        assert_true(m.shift == shift);
        model_free(&m);
    }
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jumps_end_at_the_minimum),
                                       cmocka_unit_test(stays_where_it_cannot_jump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
