/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The leading part of X'X (with its constant column) against X'X by loops and its eigenvalues by Jacobi. */
#include "ridge_of.h"
#include "learn/design/design.h"
#include "learn/softmax/sketch.h"

static const double U = 0x1p-24;

/* A design of its own, with `strong` directions well above noise of the given size. */
typedef struct scene {
    size_t n, d;
    double *x;
    tn_features *features;
    tn_feed *feed;
    const tn_feed *feeds[1];
    tnp_design *design;
    ref_real *a; /* (d+1,d+1) = X'X, constant column last */
} scene;

static scene *scene_of(size_t n, size_t d, size_t strong, double noise)
{
    scene *s = ref_alloc(1, sizeof *s);
    ref_rng rng = ref_rng_of(n + d);
    double *left = ref_alloc(n * strong + 1, sizeof *left), *right = ref_alloc(strong * d + 1, sizeof *right);
    ref_real *wide = ref_alloc(n * (d + 1), sizeof *wide);
    s->n = n;
    s->d = d;
    s->x = ref_alloc(n * d, sizeof *s->x);
    for (size_t i = 0; i < n * strong; ++i)
        left[i] = ref_normal(&rng);
    for (size_t i = 0; i < strong * d; ++i)
        right[i] = ref_normal(&rng);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < d; ++j) {
            double v = noise * ref_normal(&rng);
            for (size_t k = 0; k < strong; ++k)
                v += left[i * strong + k] * right[k * d + j];
            s->x[i * d + j] = v;
        }
    s->features = features_of("x", s->x, n, d, AS_F32);
    s->feed = feed_of(s->features, TN_NORM_NONE);
    s->feeds[0] = s->feed;
    assert_fine(test_ctx, tnp_design_new(test_ctx, s->feeds, 1, 0, &s->design));
    s->a = ref_alloc((d + 1) * (d + 1), sizeof *s->a);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= d; ++j)
            wide[i * (d + 1) + j] = j < d ? (ref_real)s->x[i * d + j] : 1;
    ref_gram(wide, n, d + 1, s->a);
    free(left);
    free(right);
    free(wide);
    return s;
}

static void scene_free(scene *s)
{
    tnp_design_free(s->design);
    tn_feed_free(s->feed);
    tn_features_close(s->features);
    free(s->x);
    free(s->a);
    free(s);
}

static ref_real trace(const ref_real *a, size_t n)
{
    ref_real sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += a[i * n + i];
    return sum;
}

static tnp_sketch *sketch_of(const scene *s, size_t rank, uint64_t seed)
{
    tnp_sketch *k = NULL;
    tnp_rows x = tnp_design_rows(s->design);
    assert_fine(test_ctx, tnp_sketch_new(test_ctx, &x, rank, seed, &k));
    assert_int_equal(k->width, s->d + 1);
    return k;
}

/* U'U = 1: computed in double from a Gram of condition up to 1 / (2 u), stored in float. */
static void check_orthonormal(const tnp_sketch *k)
{
    for (size_t a = 0; a < k->rank; ++a)
        for (size_t b = 0; b <= a; ++b) {
            double dot = 0;
            for (size_t j = 0; j < k->width; ++j)
                dot += (double)k->u[a * k->width + j] * (double)k->u[b * k->width + j];
            assert_near_at(a, dot, a == b, 1e-5);
        }
    for (size_t a = 1; a < k->rank; ++a)
        assert_true(k->values[a] <= k->values[a - 1] && k->values[a] >= 0);
}

/* Frobenius norm of X'X less the sketch's matrix. */
static double error_of(const scene *s, const tnp_sketch *k)
{
    double sum = 0;
    size_t w = k->width;
    for (size_t i = 0; i < w; ++i)
        for (size_t j = 0; j < w; ++j) {
            ref_real left = s->a[i * w + j];
            for (size_t r = 0; r < k->rank; ++r)
                left -= (ref_real)k->values[r] * (ref_real)k->u[r * w + i] * (ref_real)k->u[r * w + j];
            sum += (double)(left * left);
        }
    return sqrt(sum);
}

/* Eigenvalues of X'X, descending. */
static ref_real *eigenvalues(const scene *s)
{
    size_t w = s->d + 1;
    ref_real *a = ref_alloc(w * w, sizeof *a), *values = ref_alloc(w, sizeof *values), *v = ref_alloc(w * w, sizeof *v);
    memcpy(a, s->a, w * w * sizeof *a);
    ref_jacobi(a, w, values, v);
    for (size_t i = 0; i < w; ++i)
        for (size_t j = i + 1; j < w; ++j)
            if (values[j] > values[i]) {
                ref_real keep = values[i];
                values[i] = values[j];
                values[j] = keep;
            }
    free(a);
    free(v);
    return values;
}

/* Expected error of a sketch of rank r in the spectral norm (Frangella, Tropp, Udell, Proposition 2.2): the least over
 * p of (1 + 2 (r-p) / (p-1)) l_{r-p+1} + 2 e^2 r / (p^2 - 1) sum_{j > r-p} l_j. */
static double expected_error(const ref_real *l, size_t w, size_t r)
{
    double best = INFINITY;
    for (size_t p = 2; p <= r; ++p) {
        double tail = 0;
        for (size_t j = r - p; j < w; ++j)
            tail += (double)l[j];
        best = fmin(best, (1 + 2.0 * (double)(r - p) / ((double)p - 1)) * (double)l[r - p] +
                              2 * 7.389 * (double)r / ((double)(p * p) - 1) * tail);
    }
    return best;
}

/* The strong directions are found and their values with them. Float products are as if A had noise of the size of the
 * shift that keeps the core definite, 2 u |A Omega|, |Omega| about sqrt(rank): both are added to every eigenvalue. */
static void low_rank_and_noise(void **state)
{
    (void)state;
    const double noises[] = {0, 1e-3, 0.05};
    for (size_t z = 0; z < 3; ++z) {
        scene *s = scene_of(200, 40, 6, noises[z]);
        ref_real *l = eigenvalues(s), *noisy = eigenvalues(s);
        double size = 0;
        for (size_t j = 0; j < 41; ++j)
            size += (double)(l[j] * l[j]);
        for (size_t j = 0; j < 41; ++j)
            noisy[j] += 2 * 2 * U * sqrt(16 * size);
        for (uint64_t seed = 0; seed < 5; ++seed) {
            tnp_sketch *k = sketch_of(s, 16, seed);
            double error = 4 * expected_error(noisy, 41, 16);
            check_orthonormal(k);
            assert_true(k->rank >= 7 && k->rank <= 16);
            assert_true(error_of(s, k) <= sqrt(41.0) * error);
            assert_true(error_of(s, k) <= 0.05 * (double)l[0]);
            for (size_t r = 0; r < 7; ++r) { /* six directions and the constant; a sketch never overstates */
                assert_true(k->values[r] <= (double)noisy[r]);
                assert_true(k->values[r] >= (double)l[r] - error);
            }
            tnp_sketch_free(k);
        }
        free(noisy);
        free(l);
        scene_free(s);
    }
}

/* As many directions as columns: nothing is left out but rounding. */
static void full_rank_is_exact(void **state)
{
    (void)state;
    scene *s = scene_of(60, 12, 0, 1);
    ref_real *l = eigenvalues(s);
    tnp_sketch *k = sketch_of(s, 128, 1);
    assert_int_equal(k->rank, 13);
    check_orthonormal(k);
    assert_true(error_of(s, k) <= 64 * 13 * U * (double)l[0]);
    tnp_sketch_free(k);
    free(l);
    scene_free(s);
    s = scene_of(5, 12, 0, 1); /* fewer rows than columns: no more than the rows */
    k = sketch_of(s, 128, 1);
    assert_int_equal(k->rank, 5);
    check_orthonormal(k);
    tnp_sketch_free(k);
    scene_free(s);
}

/* Rows of zeros: only the constant column is left. One row. */
static void degenerate_rows(void **state)
{
    (void)state;
    scene *s = scene_of(30, 8, 0, 0);
    tnp_sketch *k = sketch_of(s, 4, 1);
    check_orthonormal(k);
    assert_near(k->values[0], 30, 1e-5);
    assert_near(fabs((double)k->u[8]), 1, 1e-5);
    for (size_t r = 1; r < k->rank; ++r)
        assert_true(k->values[r] < 30 * 1e-5);
    tnp_sketch_free(k);
    scene_free(s);
    s = scene_of(1, 3, 0, 1);
    k = sketch_of(s, 128, 1);
    assert_int_equal(k->rank, 1);
    assert_true(error_of(s, k) <= 1e-5 * (double)(s->a[0] + s->a[5] + s->a[10] + s->a[15]));
    tnp_sketch_free(k);
    scene_free(s);
}

/* One direction far above the rest, as of columns far from zero: float products are off by more than the rest is long,
 * and the shift that keeps the core definite must cover it. Rows whose products leave the range of float give no
 * direction at all. */
static void one_strong_direction_leaves_a_definite_core(void **state)
{
    (void)state;
    for (size_t n = 20; n <= 200; n += 20)
        for (double noise = 1e-7; noise < 0.1; noise *= 10) {
            scene *s = scene_of(n, 16, 1, noise);
            tnp_sketch *k = sketch_of(s, 128, n);
            assert_true(k->rank >= 1);
            assert_near_at(n, k->values[0] / (double)trace(s->a, 17), 1, 0.5);
            tnp_sketch_free(k);
            scene_free(s);
        }
    scene *s = scene_of(30, 4, 1, 0);
    for (size_t i = 0; i < 30 * 4; ++i)
        s->design->data[i] *= 1e25f;
    tnp_sketch *k = sketch_of(s, 128, 1);
    assert_int_equal(k->rank, 0);
    tnp_sketch_free(k);
    scene_free(s);
}

/* The same seed gives the same directions however the rows come; another seed others. */
static void blocks_and_seeds(void **state)
{
    (void)state;
    scene *s = scene_of(200, 20, 5, 0.01);
    tnp_sketch *one = sketch_of(s, 10, 7), *same = sketch_of(s, 10, 7), *other = sketch_of(s, 10, 8);
    s->design->block = 37;
    s->design->blocks = 6;
    tnp_sketch *blocked = sketch_of(s, 10, 7);
    s->design->resident = false;
    tnp_sketch *streamed = sketch_of(s, 10, 7);
    assert_memory_equal(one->u, same->u, 10 * 21 * sizeof *one->u);
    assert_memory_equal(blocked->u, streamed->u, 10 * 21 * sizeof *one->u);
    assert_true(memcmp(one->u, other->u, 10 * 21 * sizeof *one->u) != 0);
    for (size_t r = 0; r < 6; ++r)
        assert_near_at(r, streamed->values[r] / one->values[r], 1, 1e-4);
    tnp_sketch_free(one);
    tnp_sketch_free(same);
    tnp_sketch_free(other);
    tnp_sketch_free(blocked);
    tnp_sketch_free(streamed);
    scene_free(s);
}

/* (I + rho X'X) out = (1 + rho last) in, when the sketch is all of X'X. Out is off by the condition times u. */
static void applied(void **state)
{
    (void)state;
    scene *s = scene_of(60, 12, 0, 1);
    tnp_sketch *k = sketch_of(s, 128, 1);
    ref_rng rng = ref_rng_of(5);
    const double rho[] = {0, 0.01, 3};
    float in[3 * 13], out[3 * 13], scratch[3 * 13];
    for (size_t i = 0; i < 39; ++i)
        in[i] = (float)ref_normal(&rng);
    assert_fine(test_ctx, tnp_sketch_apply(test_ctx, k, 3, rho, in, scratch, out));
    for (size_t c = 0; c < 3; ++c) {
        double last = k->values[k->rank - 1], condition = (1 + rho[c] * k->values[0]) / (1 + rho[c] * last);
        for (size_t i = 0; i < 13; ++i) {
            double got = (double)out[c * 13 + i];
            for (size_t j = 0; j < 13; ++j)
                got += rho[c] * (double)s->a[i * 13 + j] * (double)out[c * 13 + j];
            assert_near_at(i, got / (1 + rho[c] * last), (double)in[c * 13 + i], 64 * 13 * U * condition);
        }
    }
    k->rank = 0; /* nothing known: the identity */
    assert_fine(test_ctx, tnp_sketch_apply(test_ctx, k, 3, rho, in, scratch, out));
    assert_memory_equal(in, out, sizeof in);
    tnp_sketch_free(k);
    scene_free(s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene *s = scene_of(20, 6, 2, 0.1);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tnp_sketch *sketch = NULL;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tnp_rows x = tnp_design_rows(s->design);
        tn_status st = tnp_sketch_new(test_ctx, &x, 4, 1, &sketch);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(sketch);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(k > 10);
    tnp_sketch_free(sketch);
    tnp_sketch_free(NULL);
    scene_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_rank_and_noise),        cmocka_unit_test(full_rank_is_exact),
        cmocka_unit_test(degenerate_rows),           cmocka_unit_test(one_strong_direction_leaves_a_definite_core),
        cmocka_unit_test(blocks_and_seeds),          cmocka_unit_test(applied),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
