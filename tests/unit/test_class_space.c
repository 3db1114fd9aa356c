/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The space of class means: orthonormal, and with room for all groups it holds every class mean. With less room it
 * holds the most of them: what is left over is what the smaller eigenvalues (by Jacobi) say. */
#include "design_of.h"
#include "learn/softmax/class_space.h"

/* |mean of class c, scaled by the root of its rows|^2, and the part of it outside the space. */
static double outside(const setting *s, const float *u, size_t rank, size_t c, double *whole)
{
    size_t d = s->p.d, n = 0;
    double left = 0, *mean = ref_alloc(d, sizeof *mean);
    for (size_t i = 0; i < s->p.n; ++i)
        if (s->p.y[i * s->p.k + c] > 0.5) {
            ++n;
            for (size_t j = 0; j < d; ++j)
                mean[j] += (double)(float)s->p.x[i * d + j];
        }
    *whole = 0;
    for (size_t j = 0; j < d; ++j) {
        mean[j] /= sqrt((double)(n ? n : 1));
        *whole += mean[j] * mean[j];
    }
    for (size_t r = 0; r < rank; ++r) {
        double part = 0;
        for (size_t j = 0; j < d; ++j)
            part += mean[j] * (double)u[r * d + j];
        for (size_t j = 0; j < d; ++j)
            mean[j] -= part * (double)u[r * d + j];
    }
    for (size_t j = 0; j < d; ++j)
        left += mean[j] * mean[j];
    free(mean);
    return left;
}

static void orthonormal_and_holds_the_means(void **state)
{
    (void)state;
    enum { D = 30, CLASSES = 5 };
    const size_t rooms[] = {2, CLASSES, 12, 40};
    for (size_t z = 0; z < 4; ++z)
        for (int way = 0; way < 3; ++way) {
            setting s = setting_of(REF_NONNEG, 80, D, CLASSES, TN_TASK_MULTICLASS, AS_F32);
            tnp_design *x = design_of(&s);
            float *u = NULL;
            size_t rank = 0;
            tnp_rows rows = tnp_design_rows(x);
            if (way)
                cut(x, 23, way == 1);
            assert_fine(test_ctx, tnp_class_space(test_ctx, &rows, &s.y, NULL, rooms[z], &u, &rank));
            assert_true(rank > 0 && rank <= rooms[z] && rank <= D);
            for (size_t a = 0; a < rank; ++a)
                for (size_t b = a; b < rank; ++b) {
                    double sum = 0;
                    for (size_t j = 0; j < D; ++j)
                        sum += (double)u[a * D + j] * (double)u[b * D + j];
                    assert_true(fabs(sum - (a == b)) <= 4 * U); /* entries rounded to float, sums of squares 1 */
                }
            for (size_t c = 0; c < CLASSES && rooms[z] == CLASSES; ++c) {
                double whole, left = outside(&s, u, rank, c, &whole);
                assert_true(left <= 1e-12 * whole);
            }
            tnp_free(u);
            tnp_design_free(x);
            setting_free(&s);
        }
}

/* Rows of weight 0 take no part, neither they nor their classes: a training without them is not to know them. */
static void held_out_rows_were_in_the_class_space(void **state)
{
    (void)state;
    enum { D = 30, CLASSES = 5, ROWS = 80 };
    setting s = setting_of(REF_NONNEG, ROWS, D, CLASSES, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    tnp_rows rows = tnp_design_rows(x);
    float weight[ROWS], *u = NULL, *other = NULL;
    size_t rank = 0, again = 0;
    for (size_t i = 0; i < ROWS; ++i)
        weight[i] = i % 4 ? 1.0f : 0.0f;
    assert_fine(test_ctx, tnp_class_space(test_ctx, &rows, &s.y, weight, CLASSES, &u, &rank));
    for (size_t i = 0; i < ROWS; i += 4) {
        uint32_t *cls = (uint32_t *)(uintptr_t)&s.y.cls[s.y.first[i]];
        *cls = (*cls + 1) % CLASSES;
        x->data[i * D] += 100;
    }
    assert_fine(test_ctx, tnp_class_space(test_ctx, &rows, &s.y, weight, CLASSES, &other, &again));
    assert_int_equal(rank, again);
    assert_memory_equal(u, other, rank * D * sizeof *u);
    tnp_free(u);
    tnp_free(other);
    tnp_design_free(x);
    setting_free(&s);
}

/* Two directions of five: no other two could leave less, by the eigenvalues of the products of the scaled means. */
static void holds_the_most(void **state)
{
    (void)state;
    enum { D = 30, CLASSES = 5, MOST = 2 };
    setting s = setting_of(REF_NONNEG, 80, D, CLASSES, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = design_of(&s);
    float *u = NULL;
    size_t rank = 0, sizes[CLASSES] = {0};
    double left = 0, whole = 0, one;
    ref_real means[CLASSES * D] = {0}, products[CLASSES * CLASSES] = {0}, values[CLASSES], vectors[CLASSES * CLASSES];
    tnp_rows rows = tnp_design_rows(x);
    assert_fine(test_ctx, tnp_class_space(test_ctx, &rows, &s.y, NULL, MOST, &u, &rank));
    assert_int_equal(rank, MOST);
    for (size_t i = 0; i < s.p.n; ++i)
        for (size_t c = 0; c < CLASSES; ++c) {
            bool in = s.p.y[i * CLASSES + c] > 0.5;
            sizes[c] += in;
            for (size_t j = 0; in && j < D; ++j)
                means[c * D + j] += (ref_real)(float)s.p.x[i * D + j];
        }
    for (size_t a = 0; a < CLASSES; ++a)
        for (size_t b = 0; b < CLASSES; ++b)
            for (size_t j = 0; j < D; ++j)
                products[a * CLASSES + b] +=
                    means[a * D + j] * means[b * D + j] / sqrtl((ref_real)sizes[a] * (ref_real)sizes[b]);
    ref_jacobi(products, CLASSES, values, vectors);
    for (size_t c = 0; c < CLASSES; ++c) {
        left += outside(&s, u, rank, c, &one);
        whole += one;
    }
    ref_real least = 0, largest[2] = {0};
    for (size_t c = 0; c < CLASSES; ++c) {
        least += values[c];
        largest[1] = fmaxl(largest[1], fminl(largest[0], values[c]));
        largest[0] = fmaxl(largest[0], values[c]);
    }
    least -= largest[0] + largest[1];
    assert_true(fabsl((ref_real)left - least) <= 64 * U * whole);
    tnp_free(u);
    tnp_design_free(x);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orthonormal_and_holds_the_means),
        cmocka_unit_test(held_out_rows_were_in_the_class_space),
        cmocka_unit_test(holds_the_most),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
