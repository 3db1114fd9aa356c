/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps of additive kernels against literal formulas in long double, scikit-learn's sampler, and identities. */
#include "fixtures/maps/sklearn_chi2.h"
#include "ref_map.h"
#include "ref_random.h"
#include "spectrum_of.h"
#include "transform/map.h"

#include <float.h>
#include <pthread.h>

static const char *const named[] = {"hellinger", "chi2", "intersection", "js"};

static tn_ctx *ctx;

static int begin(void **state)
{
    (void)state;
    ctx = ctx_of(2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    ctx_done(ctx);
    return 0;
}

/* W with entries of both signs and a decay over the columns, as learned ones have. */
static void random_weight(double *w, size_t rank, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < TN_BASIS_SIZE * rank; ++i)
        w[i] = ref_normal(&rng) * pow(0.7, (double)(i % rank));
}

static tn_map *learned_of(tn_basis basis, tn_signed sign, size_t rank, double scale, uint64_t seed)
{
    double w[TN_BASIS_SIZE * TN_BASIS_SIZE];
    tn_map *map = NULL;
    random_weight(w, rank, seed);
    assert_fine(ctx,
                tn_map_new_learned(ctx, &(tn_map_spec){basis, sign, rank, scale, w, .power = 0.5, .tasks = 3}, &map));
    assert_fine(ctx, tnp_map_ready(ctx, map));
    return map;
}

static tn_map *named_of(const char *name, tn_signed sign)
{
    tn_map *map = NULL;
    assert_fine(ctx, tn_map_new_named(ctx, name, sign, &map));
    assert_fine(ctx, tnp_map_ready(ctx, map));
    return map;
}

/* phi and k of the public calls: the reference's sums are long double, 39 terms of at most 39 |W| rounded in double. */
static void test_learned_formula(void **state)
{
    (void)state;
    for (int form = 0; form < 4; ++form)
        for (size_t rank = 1; rank <= TN_BASIS_SIZE; rank += 19) {
            tn_map *map = learned_of((tn_basis)(form & 1), (tn_signed)(form >> 1), rank, 200, 7 + rank);
            const tn_map_spec *spec = tn_map_made_of(map);
            size_t width = tn_map_width(map);
            assert_int_equal(width, rank * (form >> 1 ? 2 : 1));
            assert_true(tn_map_scale(map) == 200 && tn_map_basis_size(map) == 39 && spec->tasks == 3);
            assert_string_equal(tn_map_name(map), "learned");
            ref_rng rng = ref_rng_of(99);
            for (int i = 0; i < 200; ++i) {
                double x = i < 3 ? i - 1 : 2.4 * ref_unit(&rng) - 1.2, y = 2.4 * ref_unit(&rng) - 1.2, got[TN_MAP_MOST];
                ref_real a[TN_MAP_MOST], b[TN_MAP_MOST], k = 0;
                ref_map_learned(form & 1, form >> 1, spec->weight, rank, x, a);
                ref_map_learned(form & 1, form >> 1, spec->weight, rank, y, b);
                tn_map_exact(map, x, got);
                for (size_t c = 0; c < width; ++c) {
                    assert_near_at(c, got[c], (double)a[c], 1e-13);
                    k += a[c] * b[c];
                }
                assert_near_at((size_t)i, tn_map_kernel(map, x, y), (double)k, 1e-12);
            }
            tn_map_free(map);
        }
}

/* The maps of homogeneous kernels: the integrals of the reference are sums of 20,000 midpoints. The closed forms. */
static void test_named_formula(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; ++kind)
        for (int split = 0; split < 2; ++split) {
            tn_map *map = named_of(named[kind], (tn_signed)split);
            size_t width = tn_map_width(map), rank = kind ? 7 : 1;
            assert_true(width == rank * (split ? 2 : 1) && tn_map_scale(map) == 1 && tn_map_basis_size(map) == 0);
            assert_string_equal(tn_map_name(map), named[kind]);
            ref_rng rng = ref_rng_of(5);
            for (int i = 0; i < 60; ++i) {
                double x = pow(10, -9 * ref_unit(&rng)) * (i % 3 ? 1 : -1), y = ref_unit(&rng) * (i % 4 ? 1 : -1);
                double got[TN_MAP_MOST], sign = x * y > 0 ? 1 : split ? 0 : -1;
                ref_real want[TN_MAP_MOST];
                ref_map_named(kind, split, x, want);
                tn_map_exact(map, x, got);
                for (size_t c = 0; c < width; ++c)
                    assert_near_at(c, got[c] / sqrt(fabs(x)), (double)want[c] / sqrt(fabs(x)), 1e-9);
                assert_near(tn_map_kernel(map, x, y), sign * (double)ref_kernel_named(kind, fabs(x), fabs(y)), 1e-15);
                assert_true(tn_map_kernel(map, x, 0) == 0 && tn_map_kernel(map, 0, y) == 0);
            }
            tn_map_free(map);
        }
}

/* The largest |phi| of a learned map, at 1001 points. */
static double largest(const tn_map *map)
{
    double values[TN_MAP_MOST], most = 0;
    for (int i = 0; i <= 1000; ++i) {
        tn_map_exact(map, i / 1000.0, values);
        for (size_t k = 0; k < tn_map_width(map); ++k)
            most = fmax(most, fabs(values[k]));
    }
    return most;
}

/* What both precisions of a row give is within the stated bound of the formula: 1e-6 of the largest |phi|, and phi
 * rounded to float. The narrow row also carries x rounded to float, twice. */
static void test_rows(void **state)
{
    (void)state;
    enum { N = 301 };
    static float x[N], out[N * TN_MAP_MOST];
    static double wide[N], out_wide[N * TN_MAP_MOST];
    for (int form = 0; form < 8; ++form) {
        bool learned = form < 4;
        tn_map *map = learned ? learned_of((tn_basis)(form & 1), (tn_signed)(form >> 1), 6, 40, 3)
                              : named_of(named[form - 4], TN_SIGNED_ODD);
        size_t width = tn_map_width(map);
        ref_rng rng = ref_rng_of((uint64_t)form + 1);
        double sum = 0, top = learned ? largest(map) : 0;
        for (size_t j = 0; j < N; ++j) {
            double v = ref_normal(&rng) * pow(10, -6 * ref_unit(&rng));
            x[j] = j % 5 == 0 ? 0.0f : (float)v;
            wide[j] = (double)x[j];
            sum += fabs(wide[j]);
        }
        tnp_map_row_wide(map, wide, N, out_wide);
        tnp_map_row(tnp_simd_get(), map, x, N, out);
        for (size_t j = 0; j < N; ++j) {
            double want[TN_MAP_MOST], next[TN_MAP_MOST], v = tn_map_scale(map) * wide[j] / sum, most = top;
            tn_map_exact(map, v, want);
            tn_map_exact(map, v * (1 + 0x1p-22), next);
            for (size_t k = 0; k < width && !learned; ++k)
                most = fmax(most, fabs(want[k]));
            for (size_t k = 0; k < width; ++k) {
                double slack = (1e-6 + 0x1p-23) * most;
                assert_true(fabs(out_wide[j * width + k] - want[k]) <= slack);
                assert_true(fabs((double)out[j * width + k] - want[k]) <= slack + 2 * fabs(next[k] - want[k]));
                if (wide[j] == 0 && form != 1 && form != 3)
                    assert_true(out[j * width + k] == 0 && out_wide[j * width + k] == 0);
            }
        }
        tn_map_free(map);
    }
}

/* Value k of the map's table at x >= 0, by a row of two entries whose L1 norm is the map's scale. */
static void table_at(const tn_map *map, double x, double *out)
{
    double row[2] = {x, tn_map_scale(map) - x}, both[2 * TN_MAP_MOST];
    tnp_map_row_wide(map, row, 2, both);
    memcpy(out, both, tn_map_width(map) * sizeof *out);
}

/* The bound itself: in the middle of every cell the table is within 1e-6 of the largest |phi|, and half as many cells
 * would not be. The second derivative is a second difference over 1e-4: 1e-5 of it, and 1e-15/1e-8 of rounding. */
static void test_bound_of_equal_cells(void **state)
{
    (void)state;
    for (int basis = 0; basis < 2; ++basis)
        for (size_t rank = 1; rank <= 21; rank += 20) {
            tn_map *map = learned_of((tn_basis)basis, TN_SIGNED_ODD, rank, 2, 17 + rank);
            double most = largest(map), got[TN_MAP_MOST], a[TN_MAP_MOST], b[TN_MAP_MOST], c[TN_MAP_MOST], bend = 0;
            const double cells = map->table->cells, h = 1e-4;
            for (uint32_t i = 0; i < map->table->cells; ++i) {
                tn_map_exact(map, (i + 0.5) / cells, a);
                table_at(map, (i + 0.5) / cells, got);
                for (size_t k = 0; k < rank; ++k)
                    assert_true(fabs(got[k] - a[k]) <= (1e-6 + 0x1p-23) * most);
            }
            for (int i = 1; i < 10000; ++i) {
                tn_map_exact(map, (i - 1) * h, a);
                tn_map_exact(map, i * h, b);
                tn_map_exact(map, (i + 1) * h, c);
                for (size_t k = 0; k < rank; ++k)
                    bend = fmax(bend, fabs(a[k] - 2 * b[k] + c[k]) / (h * h));
            }
            assert_true(bend / (8 * cells * cells) <= 1.001e-6 * most);
            assert_true(4 * bend / (8 * cells * cells) > 0.999e-6 * most);
            tn_map_free(map);
        }
}

/* The same by octaves, and one bit fewer would not do; where the table ends nothing is lost
 * but that x is within 4 ulp of the row's, log x, near 35, within two of its own, 64 epsilon, and a rate is at most 3. */
static void test_bound_of_octaves(void **state)
{
    (void)state;
    for (int kind = 1; kind < 4; ++kind) {
        tn_map *map = named_of(named[kind], TN_SIGNED_ODD);
        const int cells = 1 << (23 - map->table->shift);
        double got[2 * TN_MAP_MOST], want[TN_MAP_MOST], worst = 0;
        for (int octave = -50; octave <= -1; ++octave)
            for (int i = 0; i < cells; i += octave < -3 ? 7 : 1) {
                double x = ldexp(1 + (i + 0.5) / cells, octave), row[2] = {x, 1 - x};
                tnp_map_row_wide(map, row, 2, got);
                tn_map_exact(map, x, want);
                for (size_t k = 0; k < 7; ++k) {
                    double off = fabs(got[k] - want[k]) / map->waves.amplitude[0] / sqrt(x);
                    assert_true(off <= (octave < -40 ? 200 * DBL_EPSILON : 1e-6 + 0x1p-23));
                    worst = fmax(worst, off);
                }
            }
        assert_true(4 * (worst + 0x1p-23) > 1e-6);
        tn_map_free(map);
    }
}

/* f(x)' WW' f(y), literally. */
static double literal_kernel(const double *w, size_t rank, double x, double y)
{
    static double unit[TN_BASIS_SIZE * TN_BASIS_SIZE];
    ref_real f[TN_BASIS_SIZE], g[TN_BASIS_SIZE], sum = 0;
    for (size_t m = 0; m < TN_BASIS_SIZE; ++m)
        unit[m * TN_BASIS_SIZE + m] = 1;
    ref_map_learned(0, 0, unit, TN_BASIS_SIZE, x, f);
    ref_map_learned(0, 0, unit, TN_BASIS_SIZE, y, g);
    for (size_t p = 0; p < TN_BASIS_SIZE; ++p)
        for (size_t q = 0; q < TN_BASIS_SIZE; ++q)
            for (size_t k = 0; k < rank; ++k)
                sum += f[p] * (ref_real)w[p * rank + k] * (ref_real)w[q * rank + k] * g[q];
    return (double)sum;
}

/* <phi(x), phi(y)> = f(x)' WW' f(y), of the public call and of the table; a rotation of W changes no value. */
static void test_kernel_of_the_basis(void **state)
{
    (void)state;
    enum { RANK = 6 };
    double w[TN_BASIS_SIZE * RANK], turned[TN_BASIS_SIZE * RANK] = {0}, top = 0;
    ref_real turn[RANK * RANK];
    ref_rng rng = ref_rng_of(31);
    tn_map *maps[2] = {NULL, NULL};
    random_weight(w, RANK, 5);
    for (size_t i = 0; i < RANK * RANK; ++i)
        turn[i] = (ref_real)ref_normal(&rng);
    ref_orthonormalise(turn, RANK);
    for (size_t m = 0; m < TN_BASIS_SIZE; ++m)
        for (size_t i = 0; i < RANK * RANK; ++i)
            turned[m * RANK + i % RANK] += w[m * RANK + i / RANK] * (double)turn[i];
    assert_fine(ctx, tn_map_new_learned(ctx, &(tn_map_spec){.rank = RANK, .scale = 2, .weight = w}, &maps[0]));
    assert_fine(ctx, tn_map_new_learned(ctx, &(tn_map_spec){.rank = RANK, .scale = 2, .weight = turned}, &maps[1]));
    assert_fine(ctx, tnp_map_ready(ctx, maps[0]));
    assert_fine(ctx, tnp_map_ready(ctx, maps[1]));
    for (int i = 0; i <= 1000; ++i)
        top = fmax(top, tn_map_kernel(maps[0], i / 1000.0, i / 1000.0));
    for (int i = 0; i < 300; ++i) {
        double x = ref_unit(&rng), y = ref_unit(&rng), want = literal_kernel(w, RANK, x, y);
        for (int m = 0; m < 2; ++m) {
            double a[RANK], b[RANK], sum = 0;
            assert_true(fabs(tn_map_kernel(maps[m], x, y) - want) <= 1e-12 * top);
            table_at(maps[m], x, a);
            table_at(maps[m], y, b);
            for (size_t k = 0; k < RANK; ++k)
                sum += a[k] * b[k];
            assert_true(fabs(sum - want) <= 1e-6 * top);
        }
    }
    tn_map_free(maps[0]);
    tn_map_free(maps[1]);
}

/* A named map is as near its kernel as the frequencies that it leaves out allow: within a period the series is off by
 * at most the sum of 2 |c_j| beyond the third. The signature falls and has one corner a period, of slopes below 1:
 * |c_j| is below 2 (1 + 1) / (period (j step)^2) < 1/(j step)^2. */
static void test_named_maps_are_near_their_kernels(void **state)
{
    (void)state;
    enum { KNOWN = 60 };
    for (int kind = 1; kind < 4; ++kind) {
        tn_map *map = named_of(named[kind], TN_SIGNED_ODD);
        const double step = map->waves.step;
        double left = 2 / (step * step * (KNOWN - 1));
        for (int j = 4; j < KNOWN; ++j)
            left += 2 * fabs((double)ref_signature_coefficient(kind, j, 5000));
        assert_true(left < 0.3);
        for (double u = 0; u <= 3.14 / step; u += 0.05) {
            double x = exp(-u / 2), y = exp(u / 2), a[7], b[7], sum = 0;
            tn_map_exact(map, x, a);
            tn_map_exact(map, y, b);
            for (size_t k = 0; k < 7; ++k)
                sum += a[k] * b[k];
            assert_true(fabs(sum - (double)ref_kernel_named(kind, x, y)) <= left);
        }
        tn_map_free(map);
    }
}

/* The sampler's values are ours once both are divided by their amplitudes; its own are printed with 16 digits. */
static void test_sampler_of_scikit_learn(void **state)
{
    (void)state;
    tn_map *map = named_of("chi2", TN_SIGNED_ODD);
    double one[7], got[7];
    tn_map_exact(map, 1, one);
    for (size_t i = 0; i < CHI2_COUNT; ++i) {
        tn_map_exact(map, chi2_x[i], got);
        for (size_t k = 0; k < 7; ++k) {
            double ours = one[k ? (k - 1) / 2 * 2 + 1 : 0], theirs = chi2_amplitude[(k + 1) / 2];
            assert_near_at(i * 7 + k, got[k] / ours, chi2_phi[i * 7 + k] / theirs, 1e-13);
        }
    }
    tn_map_free(map);
}

/* Rows whose sum of magnitudes leaves the range of float on either side, and a scale that does. */
static void test_extremes(void **state)
{
    (void)state;
    static const float sizes[] = {1e-42f, 1e-38f, 1, 1e38f, 3e38f};
    for (int form = 0; form < 6; ++form) {
        tn_map *map = form < 2 ? learned_of(TN_BASIS_SCALED_FOURIER, (tn_signed)form, 5, form ? 1e300 : 3, 4)
                               : named_of(named[form - 2], TN_SIGNED_SPLIT);
        size_t width = tn_map_width(map);
        double most = form < 2 ? largest(map) : 1, want[TN_MAP_MOST];
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            float x[5] = {sizes[s], -sizes[s] / 2, 0, sizes[s] / 4, 0}, out[5 * TN_MAP_MOST];
            double wide[5], out_wide[5 * TN_MAP_MOST], sum = 0;
            for (size_t j = 0; j < 5; ++j)
                sum += fabs(wide[j] = (double)x[j]);
            tnp_map_row(tnp_simd_get(), map, x, 5, out);
            tnp_map_row_wide(map, wide, 5, out_wide);
            for (size_t j = 0; j < 5; ++j) {
                tn_map_exact(map, wide[j] / sum * tn_map_scale(map), want);
                for (size_t k = 0; k < width; ++k) {
                    assert_true(fabs((double)out[j * width + k] - want[k]) <= 1e-5 * most);
                    assert_true(fabs(out_wide[j * width + k] - want[k]) <= (1e-6 + 0x1p-23) * most);
                }
            }
        }
        tn_map_free(map);
    }
}

/* All-zero rows: zeros, or phi(0) of the plain Fourier basis. Beyond the scale: phi(1), and that of -1. */
static void test_zeros_and_clamps(void **state)
{
    (void)state;
    for (int form = 0; form < 8; ++form) {
        bool plain = form == 1 || form == 3;
        tn_map *map = form < 4 ? learned_of((tn_basis)(form & 1), (tn_signed)(form >> 1), 7, 50, 4)
                               : named_of(named[form - 4], (tn_signed)(form & 1));
        size_t width = tn_map_width(map);
        float x[20] = {0}, out[20 * TN_MAP_MOST];
        double wide[20] = {0}, out_wide[20 * TN_MAP_MOST], zero[TN_MAP_MOST], one[TN_MAP_MOST], less[TN_MAP_MOST];
        tn_map_exact(map, 0, zero);
        tn_map_exact(map, 1, one);
        tn_map_exact(map, -1, less);
        x[7] = -0.0f;
        tnp_map_row(tnp_simd_get(), map, x, 20, out);
        tnp_map_row_wide(map, wide, 20, out_wide);
        for (size_t i = 0; i < 20 * width; ++i) {
            assert_true(plain ? out[i] == (float)zero[i % width] : out[i] == 0);
            assert_true(plain ? out_wide[i] == (double)out[i] : out_wide[i] == 0);
        }
        x[3] = 2;
        x[12] = -2;
        tnp_map_row(tnp_simd_get(), map, x, 20, out); /* half the scale each: far beyond 1 for the learned */
        for (size_t k = 0; k < width && form < 4; ++k) {
            assert_true(out[3 * width + k] == (float)one[k] && out[12 * width + k] == (float)less[k]);
            assert_true(out[4 * width + k] == (float)zero[k]);
        }
        tn_map_free(map);
    }
}

static void test_copy(void **state)
{
    (void)state;
    double w[TN_BASIS_SIZE * 3], rates[TN_BASIS_SIZE], histogram[TN_MAP_BINS], p[TN_BASIS_SIZE * TN_BASIS_SIZE];
    tn_map *map = NULL, *copy = NULL;
    random_weight(w, 3, 1);
    for (size_t i = 0; i < TN_MAP_BINS; ++i)
        histogram[i] = (double)i;
    for (size_t i = 0; i < TN_BASIS_SIZE; ++i)
        rates[i] = 1 - 1 / (double)(i + 2);
    for (size_t i = 0; i < TN_BASIS_SIZE * TN_BASIS_SIZE; ++i)
        p[i] = (double)i / 3;
    tn_map_spec spec = {TN_BASIS_FOURIER, TN_SIGNED_SPLIT, 3, 17, w, 0.5, 12, 99, rates, p, p, histogram};
    assert_fine(ctx, tn_map_new_learned(ctx, &spec, &map));
    assert_fine(ctx, tn_map_copy(ctx, map, &copy));
    tn_map_free(map);
    const tn_map_spec *got = tn_map_made_of(copy);
    assert_true(got->basis == spec.basis && got->sign == spec.sign && got->rank == 3 && got->scale == 17);
    assert_true(got->power == 0.5 && got->tasks == 12 && got->rows == 99 && got->weight != w && got->rates != rates);
    assert_memory_equal(got->weight, w, sizeof w);
    assert_memory_equal(got->rates, rates, sizeof rates);
    assert_memory_equal(got->histogram, histogram, sizeof histogram);
    assert_memory_equal(got->singular_values, p, TN_BASIS_SIZE * sizeof *p);
    assert_memory_equal(got->vectors, p, sizeof p);
    tn_map_free(copy);
    map = named_of("js", TN_SIGNED_SPLIT);
    assert_fine(ctx, tn_map_copy(ctx, map, &copy));
    assert_string_equal(tn_map_name(copy), "js");
    got = tn_map_made_of(copy);
    assert_true(got->sign == TN_SIGNED_SPLIT && got->rank == 7 && !got->weight && !got->rates && !got->histogram);
    tn_map_free(map);
    tn_map_free(copy);
}

/* Tables of 1, 2 and 7 threads are the same bytes. */
static void test_threads(void **state)
{
    (void)state;
    static const size_t threads[] = {1, 2, 7};
    for (int form = 0; form < 2; ++form) {
        tn_map *maps[3];
        for (size_t i = 0; i < 3; ++i) {
            tn_ctx_set_threads(ctx, threads[i]);
            maps[i] = form ? named_of("chi2", TN_SIGNED_ODD) : learned_of(TN_BASIS_FOURIER, TN_SIGNED_ODD, 9, 1, 2);
            const tnp_knots *table = maps[i]->table;
            if (i > 0)
                assert_memory_equal(table->rows, maps[0]->table->rows, (table->cells + 2) * table->pad * sizeof(float));
        }
        for (size_t i = 0; i < 3; ++i)
            tn_map_free(maps[i]);
    }
    tn_ctx_set_threads(ctx, 2);
}

/* The k-th allocation fails, for every k that there is. */
static void test_no_memory(void **state)
{
    (void)state;
    double values[TN_BASIS_SIZE * 8] = {1, 2};
    tn_map_spec spec = {.rank = 1, .scale = 1, .weight = values, .rates = values, .histogram = values};
    size_t live = tnp_live_blocks(ctx);
    for (int form = 0; form < 2; ++form) {
        size_t k = 1;
        for (;; ++k) {
            tn_map *map = NULL;
            tnp_fail_allocation(ctx, k);
            tn_status st =
                form ? tn_map_new_named(ctx, "js", TN_SIGNED_ODD, &map) : tn_map_new_learned(ctx, &spec, &map);
            bool made = st == TN_OK;
            if (made)
                st = tnp_map_ready(ctx, map);
            tnp_fail_allocation(ctx, 0);
            assert_int_equal(map != NULL, made);
            tn_map_free(map);
            assert_int_equal(tnp_live_blocks(ctx), live);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
        }
        assert_int_equal(k, form ? 3 : 6); /* the map and its table; weights, rates and histogram */
    }
}

static void *make_ready(void *map)
{
    tn_ctx *own = ctx_of(1);
    assert_fine(own, tnp_map_ready(own, map));
    tn_ctx_free(own); /* the table that it made stays with the map */
    return NULL;
}

/* A map has no table until rows are to go through it; threads that ask for it at once, each with a context of its own,
 * get one, and it outlives their contexts. */
static void test_table_at_first_use(void **state)
{
    (void)state;
    tn_map *map = NULL;
    pthread_t threads[4];
    double values[2 * TNP_PHI_HOMOGENEOUS];
    assert_fine(ctx, tn_map_new_named(ctx, "chi2", TN_SIGNED_ODD, &map));
    tn_map_exact(map, 0.25, values);
    assert_null(map->table);
    size_t live = tnp_live_blocks(ctx);
    for (size_t i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, make_ready, map), 0);
    for (size_t i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    assert_non_null(map->table);
    assert_int_equal(tnp_live_blocks(ctx), live);
    tnp_map_row_wide(map, (const double[]){0.5, 0.5}, 2, values);
    tn_map_free(map);
}

static void test_refused(void **state)
{
    (void)state;
    double w[TN_BASIS_SIZE * 40] = {1};
    tn_map *map = NULL;
    tn_map_spec good = {TN_BASIS_FOURIER, TN_SIGNED_ODD, 2, 1, w, .power = 1}, bad = good;
    bad.rank = 40;
    assert_fails(ctx, TN_ERR_ARG, "rank is 40, expected 1 to 39", tn_map_new_learned(ctx, &bad, &map));
    bad.rank = 0;
    assert_fails(ctx, TN_ERR_ARG, "rank is 0", tn_map_new_learned(ctx, &bad, &map));
    bad = good;
    bad.scale = 0;
    assert_fails(ctx, TN_ERR_ARG, "scale is 0", tn_map_new_learned(ctx, &bad, &map));
    bad.scale = INFINITY;
    assert_fails(ctx, TN_ERR_ARG, "scale is inf", tn_map_new_learned(ctx, &bad, &map));
    bad = good;
    bad.basis = (tn_basis)2;
    assert_fails(ctx, TN_ERR_ARG, TN_BASIS_WORDS, tn_map_new_learned(ctx, &bad, &map));
    bad = good;
    bad.sign = (tn_signed)2;
    assert_fails(ctx, TN_ERR_ARG, TN_SIGNED_WORDS, tn_map_new_learned(ctx, &bad, &map));
    assert_fails(ctx, TN_ERR_ARG, TN_SIGNED_WORDS, tn_map_new_named(ctx, "chi2", (tn_signed)2, &map));
    assert_fails(ctx, TN_ERR_ARG, "got 'chi3', expected " TN_MAP_WORDS,
                 tn_map_new_named(ctx, "chi3", TN_SIGNED_ODD, &map));
    assert_fails(ctx, TN_ERR_ARG, "got 'learned'", tn_map_new_named(ctx, "learned", TN_SIGNED_ODD, &map));
    bad = good;
    bad.weight = NULL;
    assert_fails(ctx, TN_ERR_ARG, "no weights, expected 39 times 2", tn_map_new_learned(ctx, &bad, &map));
    w[5] = NAN;
    assert_fails(ctx, TN_ERR_ARG, "weight 1 of function 2 is not", tn_map_new_learned(ctx, &good, &map));
    assert_null(map);
    tn_map_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learned_formula),
        cmocka_unit_test(test_named_formula),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_bound_of_equal_cells),
        cmocka_unit_test(test_bound_of_octaves),
        cmocka_unit_test(test_kernel_of_the_basis),
        cmocka_unit_test(test_named_maps_are_near_their_kernels),
        cmocka_unit_test(test_sampler_of_scikit_learn),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_zeros_and_clamps),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_table_at_first_use),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
