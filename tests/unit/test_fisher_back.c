/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reverse pass of Fisher vectors, to the mixture and to the projection before it: the paper's formulas (7) to (13)
 * and differences of the encoding, both in long double, against the pass in double; that against the one in float;
 * empty bags, single descriptors, samples, thresholds, dead components and posteriors that are 0 or 1, threads, memory.
 * */
#include "encode/fisher_back.h"
#include "one_ctx.h"
#include "ref_fisher_back.h"

typedef struct scene {
    tn_encoder e;
    tnp_fisher_point point;
    double *theta, *psi, *slope; /* of the encoder's bag at hand */
    float *rows, *raw;           /* raw (n, width): before the projection, if one is learned */
    size_t n, size, width, *starts;
} scene;

/* What a scene is like. spread: deviations of the components beside the distances of their means; below 0.05 posteriors
 * are 0 or 1. dead: the first component has a weight of 1e-6. from: columns before a projection that is learned, 0 for
 * none, as many as it makes at least; places: the last two columns are not projected. */
typedef struct shape {
    size_t k, d, n;
    tnp_encoder_norm norm;
    const char *pyramid;
    double spread;
    bool dead;
    size_t from;
    bool places;
} shape;

static double normal(tnp_rng *rng)
{
    double sum = 0;
    for (int i = 0; i < 12; ++i)
        sum += tnp_rng_unit(rng);
    return sum - 6;
}

/* Basis [T | R], T lower triangular with ones on its diagonal: descriptors that it takes to given rows are found from
 * the first column on, whatever stands behind the square. Entries are floats, as those of the encoder. */
static void make_basis(scene *s, tnp_rng *rng)
{
    size_t to = s->e.projection.to, from = s->e.from;
    double *basis = s->theta + s->size - to * from;
    for (size_t i = 0; i < to * from; ++i) {
        size_t k = i / from, j = i % from;
        basis[i] = j == k ? 1 : j > k && j < to ? 0 : (double)(float)(0.4 * normal(rng));
    }
}

/* Descriptors of the rows, and then the rows as floats that they are projected to. */
static void make_raw(scene *s, tnp_rng *rng)
{
    size_t to = s->e.projection.to, from = s->e.from, d = s->e.dim;
    const double *basis = s->theta + s->size - to * from;
    for (size_t t = 0; t < s->n; ++t) {
        float *raw = s->raw + t * s->width, *row = s->rows + t * d;
        for (size_t j = to; j < from; ++j)
            raw[j] = (float)normal(rng);
        for (size_t k = 0; k < to; ++k) {
            double left = (double)row[k], sum = 0;
            for (size_t j = 0; j < from; ++j)
                left -= j < k || j >= to ? basis[k * from + j] * (double)raw[j] : 0;
            raw[k] = (float)left;
            for (size_t j = 0; j < from; ++j)
                sum += j <= k || j >= to ? basis[k * from + j] * (double)raw[j] : 0;
            row[k] = (float)sum;
        }
        memcpy(raw + from, row + to, (d - to) * sizeof *raw);
    }
}

static tnp_fisher_bag bag_of(const scene *s)
{
    return (tnp_fisher_bag){.rows = s->rows, .raw = s->raw, .starts = s->starts, .psi = s->psi, .slope = s->slope};
}

static void draw_mixture(scene *s, const shape *like, tnp_rng *rng)
{
    size_t k = like->k, kd = k * like->d;
    for (size_t i = 0; i < k + 2 * kd; ++i) /* means and deviations are floats: so are those of the mixture */
        s->theta[i] = i < k        ? normal(rng) / 2
                      : i < k + kd ? (double)(float)normal(rng)
                                   : log(like->spread) + 0.3 * normal(rng);
    if (like->dead)
        s->theta[0] = -14;
    for (size_t i = 0; i < s->n; ++i) {
        size_t near = tnp_rng_below(rng, k);
        for (size_t j = 0; j < like->d; ++j)
            s->rows[i * like->d + j] = (float)(s->theta[k + near * like->d + j] + 1.2 * like->spread * normal(rng));
    }
}

static scene scene_like(shape like)
{
    size_t k = like.k, d = like.d, n = like.n, to = like.from ? d - (like.places ? 2 : 0) : 0;
    scene s = {.n = n, .size = tnp_fisher_size(k, d) + to * like.from, .width = like.from ? like.from + d - to : 0};
    tnp_rng rng;
    tnp_rng_init(&rng, 5 * k + d, n);
    s.e = (tn_encoder){
        .from = like.from ? like.from : d, .dim = d, .kind = TNP_FISHER, .norm = like.norm, .neighbours = 1};
    s.e.projection = (tnp_projection){.from = like.from, .to = to, .basis = calloc(to * like.from + 1, sizeof(float))};
    assert_fine(ctx, tnp_pyramid_parse(ctx, like.pyramid, &s.e.pyramid));
    assert_fine(ctx, tnp_mixture_new(ctx, k, d, &s.e.mixture));
    assert_fine(ctx, tnp_fisher_point_new(ctx, &s.e, like.from != 0, &s.point));
    assert_int_equal(s.point.size, s.size);
    size_t atoms = tnp_encoder_atoms(&s.e), cols = tn_encoder_cols(&s.e);
    s.theta = malloc(s.size * sizeof *s.theta);
    s.psi = malloc(cols * sizeof *s.psi);
    s.slope = malloc(cols * sizeof *s.slope);
    s.rows = malloc((n * d + 1) * sizeof *s.rows);
    s.raw = like.from ? malloc((n * s.width + 1) * sizeof *s.raw) : NULL;
    s.starts = malloc((atoms + 1) * sizeof *s.starts);
    draw_mixture(&s, &like, &rng);
    make_basis(&s, &rng);
    if (s.raw)
        make_raw(&s, &rng);
    for (size_t a = 0; a <= atoms; ++a)
        s.starts[a] = a * n / atoms;
    for (size_t i = 0; i < cols; ++i)
        s.slope[i] = normal(&rng);
    tnp_fisher_point_set(&s.point, s.theta);
    tnp_fisher_give(&s.point, &s.e);
    tnp_fisher_bag bag = bag_of(&s);
    assert_fine(ctx, tnp_fisher_wide(ctx, &s.e, &s.point, &bag, s.psi));
    return s;
}

static scene scene_of(size_t k, size_t d, size_t n, tnp_encoder_norm norm, const char *pyramid, double spread,
                      bool dead)
{
    return scene_like((shape){k, d, n, norm, pyramid, spread, dead, 0, false});
}

static void free_scene(scene *s)
{
    tnp_mixture_free(&s->e.mixture);
    tnp_fisher_point_free(&s->point);
    free(s->theta);
    free(s->psi);
    free(s->slope);
    free(s->rows);
    free(s->raw);
    free(s->starts);
    free(s->e.projection.basis);
}

static double *gradient_of(const scene *s, bool wide)
{
    double *g = calloc(s->size, sizeof *g);
    tnp_fisher_bag bag = bag_of(s);
    assert_fine(ctx, tnp_fisher_back(ctx, &s->e, &s->point, &bag, &(tnp_fisher_options){.wide = wide}, g));
    return g;
}

/* ---- the oracle ---- */

static void over_length(ref_float *x, size_t n)
{
    ref_float sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += x[i] * x[i];
    for (size_t i = 0; i < n && sum > 0; ++i)
        x[i] /= sqrtl(sum);
}

/* Row t as the mixture sees it: y = P x, and what P leaves alone. */
static void see(const scene *s, const ref_float *theta, size_t t, ref_float *out)
{
    size_t d = s->e.dim, to = s->e.projection.to, from = s->e.from;
    const ref_float *basis = theta + s->size - to * from;
    for (size_t k = 0; k < d; ++k) {
        out[k] = k < to ? 0 : s->raw ? (ref_float)s->raw[t * s->width + from + k - to] : (ref_float)s->rows[t * d + k];
        for (size_t j = 0; k < to && j < from; ++j)
            out[k] += basis[k * from + j] * (ref_float)s->raw[t * s->width + j];
    }
}

/* L = <slope, phi> of the scene with other parameters. */
static ref_float number_of(const scene *s, const ref_float *theta)
{
    size_t cell = tnp_encoder_cell(&s->e), d = s->e.dim, cells = s->e.pyramid.cells, cols = cells * cell;
    ref_float *phi = calloc(cols, sizeof *phi), sum = 0, *rows = malloc((s->n * d + 1) * sizeof *rows);
    for (size_t c = 0; c < cells; ++c) {
        size_t n = 0;
        ref_float *at = phi + c * cell;
        for (size_t a = 0; a < tnp_encoder_atoms(&s->e); ++a)
            for (size_t i = s->starts[a]; tnp_pyramid_holds(&s->e.pyramid, c, a) && i < s->starts[a + 1]; ++i)
                see(s, theta, i, rows + n++ * d);
        if (n != 0)
            ref_fisher_of(&(ref_theta){s->point.count, d, theta}, rows, n, at);
        if (s->e.norm == TNP_NORM_ROOT)
            ref_root(at, cell);
        for (size_t w = 0; s->e.norm == TNP_NORM_INTRA && w < cell; w += d)
            over_length(at + w, d);
        if (s->e.norm != TNP_NORM_RAW)
            over_length(at, cell);
    }
    if (s->e.norm != TNP_NORM_RAW && cells > 1)
        over_length(phi, cols);
    for (size_t i = 0; i < cols; ++i)
        sum += (ref_float)s->slope[i] * phi[i];
    free(phi);
    free(rows);
    return sum;
}

/* Five-point differences: the error is h^4 / 30 of the fifth derivative, which near psi = 0, where the root bends, is
 * up to 1e20 times the first, and rounding is 1e-19 / h. */
static ref_float difference(const scene *s, ref_float *theta, size_t i)
{
    const ref_float h = 2e-7L;
    ref_float was = theta[i], sum = 0;
    const ref_float at[4] = {-2, -1, 1, 2}, times[4] = {1, -8, 8, -1};
    for (size_t p = 0; p < 4; ++p) {
        theta[i] = was + at[p] * h;
        sum += times[p] * number_of(s, theta);
    }
    theta[i] = was;
    return sum / (12 * h);
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; ++i)
        most = fmax(most, fabs(x[i]));
    return most;
}

static void check_differences(scene s)
{
    double *got = gradient_of(&s, true), most = largest(got, s.size);
    ref_float *theta = malloc(s.size * sizeof *theta);
    for (size_t i = 0; i < s.size; ++i)
        theta[i] = (ref_float)s.theta[i];
    assert_true(most > 0);
    for (size_t i = 0; i < s.size; ++i) {
        double want = (double)difference(&s, theta, i);
        double allowed = oracle_tolerance(1e-6 * fabs(want) + 1e-11 * most);
        if (!(fabs(got[i] - want) <= allowed))
            print_error("parameter %zu of %zu: got %.12g, want %.12g\n", i, s.size, got[i], want);
        assert_true(fabs(got[i] - want) <= allowed);
    }
    free(theta);
    free(got);
    free_scene(&s);
}

static void every_parameter_is_its_difference(void **state)
{
    (void)state;
    const tnp_encoder_norm norms[] = {TNP_NORM_RAW, TNP_NORM_ROOT, TNP_NORM_INTRA, TNP_NORM_L2};
    for (size_t i = 0; i < 4; ++i) {
        check_differences(scene_of(4, 3, 40, norms[i], "1x1", 0.7, false));
        check_differences(scene_of(3, 2, 31, norms[i], "1x1,2x2", 0.7, false));
    }
    check_differences(scene_of(5, 3, 60, TNP_NORM_ROOT, "1x1", 0.7, true));   /* a component that is nearly dead */
    check_differences(scene_of(4, 3, 50, TNP_NORM_ROOT, "1x1", 0.02, false)); /* posteriors of 0 and 1 */
    check_differences(scene_of(4, 3, 50, TNP_NORM_ROOT, "1x1", 0.02, true));
    check_differences(scene_of(1, 4, 20, TNP_NORM_ROOT, "1x1", 1, false));
    check_differences(scene_of(3, 3, 1, TNP_NORM_ROOT, "1x1", 1, false)); /* one descriptor */
}

/* With the projection: its entries are checked like all others. */
static void every_entry_of_the_projection_is_its_difference(void **state)
{
    (void)state;
    const tnp_encoder_norm norms[] = {TNP_NORM_RAW, TNP_NORM_ROOT, TNP_NORM_INTRA, TNP_NORM_L2};
    for (size_t i = 0; i < 4; ++i)
        check_differences(scene_like((shape){4, 3, 40, norms[i], "1x1", 0.7, false, 5, false}));
    check_differences(scene_like((shape){3, 2, 31, TNP_NORM_ROOT, "1x1,2x2", 0.7, false, 4, false}));
    check_differences(
        scene_like((shape){3, 4, 31, TNP_NORM_ROOT, "1x1", 0.7, false, 3, true})); /* two of four columns */
    check_differences(scene_like((shape){3, 3, 31, TNP_NORM_ROOT, "1x1", 0.7, false, 3, false}));  /* square */
    check_differences(scene_like((shape){5, 3, 60, TNP_NORM_ROOT, "1x1", 0.7, true, 4, false}));   /* nearly dead */
    check_differences(scene_like((shape){4, 3, 50, TNP_NORM_ROOT, "1x1", 0.02, false, 4, false})); /* 0 and 1 */
    check_differences(scene_like((shape){4, 3, 50, TNP_NORM_ROOT, "1x1", 0.02, true, 4, false}));
    check_differences(scene_like((shape){3, 3, 1, TNP_NORM_ROOT, "1x1", 1, false, 4, false})); /* one descriptor */
}

/* (13) and (14) with the Jacobian of (7) to (12), in long double: L = <slope, phi>. Both are sums of the same terms in
 * another order: 1e-10 of the largest. */
static void the_papers_formulas_say_the_same(void **state)
{
    (void)state;
    scene s = scene_of(4, 3, 40, TNP_NORM_ROOT, "1x1", 0.7, false);
    size_t cols = tn_encoder_cols(&s.e);
    double *got = gradient_of(&s, true), most = largest(got, s.size);
    ref_float *jacobian = malloc(cols * s.size * sizeof *jacobian), *theta = malloc(s.size * sizeof *theta), l1 = 0;
    for (size_t i = 0; i < s.size; ++i)
        theta[i] = (ref_float)s.theta[i];
    ref_fisher_jacobian(&(ref_theta){4, 3, theta}, s.rows, s.n, jacobian);
    for (size_t i = 0; i < cols; ++i)
        l1 += fabsl((ref_float)s.psi[i]);
    for (size_t p = 0; p < s.size; ++p) {
        ref_float want = 0, sum = 0;
        for (size_t i = 0; i < cols; ++i)
            sum += (s.psi[i] < 0 ? -1 : 1) * jacobian[i * s.size + p];
        for (size_t i = 0; i < cols; ++i) {
            ref_float psi = (ref_float)s.psi[i], phi = copysignl(sqrtl(fabsl(psi) / l1), psi);
            want += (ref_float)s.slope[i] * phi * (jacobian[i * s.size + p] / (2 * psi) - sum / (2 * l1));
        }
        assert_true(fabs(got[p] - (double)want) <= oracle_tolerance(1e-10) * most);
    }
    free(jacobian);
    free(theta);
    free(got);
    free_scene(&s);
}

/* ---- in float ---- */

/* Weights, means, deviations and the projection each by their largest: posteriors are exponents of sums in float, 1e-5,
 * and components below 2e-6 of a descriptor are left out. */
static void check_float(scene s, double tolerance)
{
    size_t k = s.point.count, kd = k * s.point.dim;
    double *wide = gradient_of(&s, true), *narrow = gradient_of(&s, false);
    const size_t first[5] = {0, k, k + kd, k + 2 * kd, s.size};
    for (size_t b = 0; b < 4; ++b) {
        double most = largest(wide + first[b], first[b + 1] - first[b]);
        for (size_t i = first[b]; i < first[b + 1]; ++i) {
            if (fabs(narrow[i] - wide[i]) > tolerance * most)
                print_error("part %zu: got %.9g, want %.9g of at most %.3g\n", b, narrow[i], wide[i], most);
            assert_true(fabs(narrow[i] - wide[i]) <= tolerance * most);
        }
    }
    free(wide);
    free(narrow);
    free_scene(&s);
}

static void float_is_near_double(void **state)
{
    (void)state;
    check_float(scene_of(16, 32, 1200, TNP_NORM_ROOT, "1x1", 1.5, false), 1e-3);
    check_float(scene_of(16, 32, 1200, TNP_NORM_ROOT, "1x1,2x2,3x1", 1.5, true), 1e-3);
    check_float(scene_of(7, 33, 700, TNP_NORM_INTRA, "1x1", 1, false), 1e-3);
    check_float(scene_of(7, 5, 700, TNP_NORM_RAW, "1x1", 0.5, false), 1e-3);
    check_float(scene_of(3, 17, 2, TNP_NORM_ROOT, "1x1", 1, false), 1e-3);
    check_float(scene_like((shape){16, 32, 1200, TNP_NORM_ROOT, "1x1", 1.5, false, 60, false}), 1e-3);
    check_float(scene_like((shape){16, 34, 1200, TNP_NORM_ROOT, "1x1,2x2,3x1", 1.5, true, 40, true}), 1e-3);
    check_float(scene_like((shape){80, 9, 1100, TNP_NORM_INTRA, "1x1", 1, false, 12, false}),
                1e-3); /* by the product */
    check_float(scene_like((shape){7, 5, 700, TNP_NORM_RAW, "1x1", 0.5, false, 5, false}), 1e-3);
    check_float(scene_like((shape){3, 17, 2, TNP_NORM_ROOT, "1x1", 1, false, 20, false}), 1e-3);
}

static void it_does_not_depend_on_threads(void **state)
{
    (void)state;
    scene s = scene_of(16, 32, 3000, TNP_NORM_ROOT, "1x1", 1.5, false);
    double *want = NULL;
    for (size_t threads = 1; threads <= 3; ++threads) {
        tn_ctx_set_threads(ctx, threads);
        double *got = gradient_of(&s, false);
        for (size_t i = 0; want && i < s.size; ++i) /* products of other shapes may round otherwise */
            assert_near_at(i, got[i], want[i], 1e-5 * largest(want, s.size));
        if (want)
            free(got);
        else
            want = got;
    }
    tn_ctx_set_threads(ctx, 0);
    free(want);
    free_scene(&s);
}

/* ---- the edges ---- */

static void an_empty_bag_says_nothing(void **state)
{
    (void)state;
    for (size_t from = 0; from < 6; from += 5) {
        scene s = scene_like((shape){3, 4, 0, TNP_NORM_ROOT, "1x1,2x2", 1, false, from, false});
        for (int wide = 0; wide < 2; ++wide) {
            double *g = gradient_of(&s, wide);
            assert_true(largest(g, s.size) == 0);
            free(g);
        }
        free_scene(&s);
    }
}

/* One component, descriptors a deviation to both sides of its mean: both halves of the vector are 0 although there are
 * descriptors. Its length has no derivative, nor has the root: 0 is taken for both, and nothing is infinite. */
static void a_vector_of_length_zero_says_nothing(void **state)
{
    (void)state;
    const tnp_encoder_norm norms[] = {TNP_NORM_ROOT, TNP_NORM_INTRA, TNP_NORM_L2};
    for (size_t i = 0; i < 3; ++i)
        for (size_t from = 0; from < 3; from += 2) {
            scene s = scene_like((shape){1, 1, 2, norms[i], "1x1", 1, false, from, false});
            double theta[5] = {0, 0.5, 0, 1, 0}; /* weight, mean, log deviation, basis */
            memset(s.raw ? s.raw : s.rows, 0, 2 * (from ? from : 1) * sizeof *s.rows);
            s.rows[0] = -0.5F;
            s.rows[1] = 1.5F;
            if (from) {
                s.raw[0] = -0.5F;
                s.raw[2] = 1.5F;
            }
            tnp_fisher_point_set(&s.point, theta);
            tnp_fisher_give(&s.point, &s.e);
            tnp_fisher_bag bag = bag_of(&s);
            assert_fine(ctx, tnp_fisher_wide(ctx, &s.e, &s.point, &bag, s.psi));
            assert_true(s.psi[0] == 0 && s.psi[1] == 0);
            for (int wide = 0; wide < 2; ++wide) {
                double *g = gradient_of(&s, wide);
                assert_true(largest(g, s.size) == 0);
                free(g);
            }
            free_scene(&s);
        }
}

/* Every descriptor twice, of which one is looked at: the gradient of the sample, times two, is that of all. */
static void a_sample_stands_for_all(void **state)
{
    (void)state;
    scene s = scene_like((shape){4, 3, 40, TNP_NORM_ROOT, "1x1,2x2", 0.7, false, 4, false});
    double *all = gradient_of(&s, true), *some = calloc(s.size, sizeof *some);
    size_t atoms = tnp_encoder_atoms(&s.e), whole[TNP_MOST_EDGES];
    for (size_t a = 0; a <= atoms; ++a)
        whole[a] = 2 * s.starts[a]; /* psi is a mean: that of the doubled bag is the same */
    tnp_fisher_bag bag = bag_of(&s);
    bag.whole = whole;
    assert_fine(ctx, tnp_fisher_back(ctx, &s.e, &s.point, &bag, &(tnp_fisher_options){.wide = true}, some));
    for (size_t i = 0; i < s.size; ++i)
        assert_near_at(i, some[i], all[i], 1e-12 * fmax(1, largest(all, s.size)));
    free(all);
    free(some);
    free_scene(&s);
}

/* Softened, every slope of the root is smaller; the direction stays one of descent: a positive product. With psi = 0 in
 * one column that column says nothing, and nothing is infinite. */
static void the_root_can_be_softened(void **state)
{
    (void)state;
    scene s = scene_of(4, 3, 40, TNP_NORM_ROOT, "1x1", 0.7, false);
    double *exact = gradient_of(&s, true), *soft = calloc(s.size, sizeof *soft), product = 0;
    tnp_fisher_bag bag = bag_of(&s);
    assert_fine(ctx,
                tnp_fisher_back(ctx, &s.e, &s.point, &bag, &(tnp_fisher_options){.soften = 0.05, .wide = true}, soft));
    for (size_t i = 0; i < s.size; ++i)
        product += exact[i] * soft[i];
    assert_true(product > 0);
    s.psi[2] = 0;
    double *zero = gradient_of(&s, true);
    for (size_t i = 0; i < s.size; ++i)
        assert_true(isfinite(zero[i]));
    free(exact);
    free(soft);
    free(zero);
    free_scene(&s);
}

/* A threshold of 1e-5 leaves out posteriors below it: 4 components of 1e-5 of terms of size 10. */
static void a_threshold_changes_little(void **state)
{
    (void)state;
    scene s = scene_of(16, 8, 500, TNP_NORM_ROOT, "1x1", 0.5, false);
    double *all = gradient_of(&s, false), *cut = calloc(s.size, sizeof *cut);
    tnp_fisher_bag bag = bag_of(&s);
    assert_fine(ctx, tnp_fisher_back(ctx, &s.e, &s.point, &bag, &(tnp_fisher_options){.reach = 11.5F}, cut));
    bool same = true;
    for (size_t i = 0; i < s.size; ++i) {
        assert_true(fabs(cut[i] - all[i]) <= 1e-3 * largest(all, s.size));
        same = same && cut[i] == all[i];
    }
    assert_false(same);
    free(all);
    free(cut);
    free_scene(&s);
}

static void memory_may_fail(void **state)
{
    (void)state;
    scene s = scene_like((shape){3, 4, 20, TNP_NORM_ROOT, "1x1", 1, false, 5, false});
    double g[27 + 20] = {0};
    tnp_fisher_bag bag = bag_of(&s);
    for (int wide = 0; wide < 2; ++wide) {
        size_t live = tnp_live_blocks(ctx), k = 1;
        tn_status st = TN_ERR_MEMORY;
        for (; st != TN_OK; ++k) {
            tnp_fail_allocation(ctx, k);
            st = tnp_fisher_back(ctx, &s.e, &s.point, &bag, &(tnp_fisher_options){.wide = wide}, g);
            assert_true(st == TN_OK || st == TN_ERR_MEMORY);
            assert_int_equal(tnp_live_blocks(ctx), live);
        }
        tnp_fail_allocation(ctx, 0);
        assert_true(k > 10);
    }
    free_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_parameter_is_its_difference),
                                       cmocka_unit_test(every_entry_of_the_projection_is_its_difference),
                                       cmocka_unit_test(the_papers_formulas_say_the_same),
                                       cmocka_unit_test(float_is_near_double),
                                       cmocka_unit_test(it_does_not_depend_on_threads),
                                       cmocka_unit_test(an_empty_bag_says_nothing),
                                       cmocka_unit_test(a_vector_of_length_zero_says_nothing),
                                       cmocka_unit_test(a_sample_stands_for_all),
                                       cmocka_unit_test(the_root_can_be_softened),
                                       cmocka_unit_test(a_threshold_changes_little),
                                       cmocka_unit_test(memory_may_fail)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
