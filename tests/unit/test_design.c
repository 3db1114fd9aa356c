/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows for many passes: the same floats whether kept or read again, block by block, and what a budget makes of them. */
#include "ridge_of.h"
#include "learn/design/design_sparse.h"

/* Every block holds the rows it says, feeds side by side; twice, for the second pass; then in the opposite order. */
static void check_blocks(tnp_design *x, const double *want)
{
    for (int pass = 0; pass < 3; ++pass) {
        size_t seen = 0;
        for (size_t b = 0; b < x->blocks; ++b) {
            size_t at = pass == 2 ? x->blocks - 1 - b : b, start = 99, count = 99;
            const float *rows = NULL;
            assert_fine(test_ctx, tnp_design_block(test_ctx, x, at, &rows, &start, &count));
            assert_int_equal(start, at * x->block);
            assert_true(count > 0 && count <= x->block);
            for (size_t i = 0; i < count * x->dim; ++i)
                assert_true((double)rows[i] == want[start * x->dim + i]);
            seen += count;
        }
        assert_int_equal(seen, x->rows);
    }
}

static void kept_in_memory(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 300, 8, 3, TN_TASK_MULTICLASS, AS_F32);
    tnp_design *x = NULL;
    assert_fine(test_ctx, tnp_design_new(test_ctx, (const tn_feed *const *)s.feed, 2, 0, &x));
    assert_true(x->resident);
    assert_int_equal(x->rows, 300);
    assert_int_equal(x->dim, 8);
    check_blocks(x, s.p.x);
    const size_t blocks[] = {1, 7, 299, 300}; /* any partition: the last block is the short one */
    for (size_t i = 0; i < 4; ++i)
        for (int resident = 0; resident < 2; ++resident) {
            x->block = blocks[i];
            x->blocks = (300 + blocks[i] - 1) / blocks[i];
            x->resident = resident;
            if (!resident)
                assert_fine(test_ctx,
                            tn_feed_read(test_ctx, s.feed[0], 5, 1, x->data, 8)); /* stale rows are not used */
            else
                for (int f = 0; f < 2; ++f)
                    assert_fine(test_ctx, tn_feed_read(test_ctx, s.feed[f], 0, 300, x->data + (f ? 4 : 0), 8));
            check_blocks(x, s.p.x);
        }
    tnp_design_free(x);
    setting_free(&s);
}

/* Too large for the budget together with the learner's reserve: read again, within the budget. */
static void streamed_within_a_budget(void **state)
{
    (void)state;
    enum { N = 600, D = 8192, RESERVE = 1 << 20 };
    ref_rng rng = ref_rng_of(4);
    double *v = ref_alloc((size_t)N * D, sizeof *v);
    for (size_t i = 0; i < (size_t)N * D; ++i)
        v[i] = (double)ref_below(&rng, 255) - 127;
    tn_features *features = features_of("wide", v, N, D, AS_I8);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    const tn_feed *feeds[] = {feed};
    size_t whole = (size_t)N * D * 4, now = tn_ctx_memory_now(test_ctx), block = 256 * (size_t)D * 4;
    tnp_design *x = NULL;
    for (int tight = 0; tight < 2; ++tight) {
        tn_ctx_set_memory(test_ctx, now + whole + RESERVE + 4096 - (tight ? 8192 : 0));
        assert_fine(test_ctx, tnp_design_new(test_ctx, feeds, 1, RESERVE, &x));
        assert_int_equal(x->resident, !tight);
        assert_int_equal(x->block, 256); /* 8 MB */
        assert_int_equal(x->blocks, 3);
        check_blocks(x, v);
        if (tight)
            assert_true(tn_ctx_memory_now(test_ctx) - now < block + 4096);
        tnp_design_free(x);
    }
    size_t blocks = tnp_live_blocks(test_ctx);
    tnp_design *const untouched = (tnp_design *)(void *)test_folder;
    x = untouched;
    tn_ctx_set_memory(test_ctx, now + block + RESERVE - 4096);
    assert_fails(test_ctx, TN_ERR_BUDGET, "training: needs", tnp_design_new(test_ctx, feeds, 1, RESERVE, &x));
    assert_ptr_equal(x, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    tn_ctx_set_memory(test_ctx, 0);
    tn_feed_free(feed);
    tn_features_close(features);
    free(v);
}

/* Products of integers are exact: every entry is the literal sum, on both sides, whatever the blocks and bands; the
 * second call gives the same array. */
static void products_of_rows(void **state)
{
    (void)state;
    enum { N = 1100, D = 6 };
    ref_rng rng = ref_rng_of(5);
    double v[2][N * D / 2];
    for (size_t i = 0; i < N * D; ++i)
        v[i % 2][i / 2] = (double)ref_below(&rng, 21) - 10;
    tn_features *features[2] = {features_of("left", v[0], N, D / 2, AS_I8),
                                features_of("right", v[1], N, D / 2, AS_I8)};
    tn_feed *feed[2] = {feed_of(features[0], TN_NORM_NONE), feed_of(features[1], TN_NORM_NONE)};
    const size_t blocks[] = {N, 1, 7, 512, 1099};
    for (size_t z = 0; z < 10; ++z) {
        tnp_design *x = NULL;
        const float *gram = NULL, *again = NULL;
        assert_fine(test_ctx, tnp_design_new(test_ctx, (const tn_feed *const *)feed, 2, 0, &x));
        x->block = blocks[z % 5];
        x->blocks = (N + x->block - 1) / x->block;
        x->resident = z < 5;
        if (z == 9) /* room for a band of one block only */
            tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + 4 * (size_t)N * N + 7 * x->block * D);
        assert_fine(test_ctx, tnp_design_gram(test_ctx, x, &gram));
        assert_fine(test_ctx, tnp_design_gram(test_ctx, x, &again));
        tn_ctx_set_memory(test_ctx, 0);
        assert_ptr_equal(gram, again);
        for (size_t i = 0; i < N; ++i)
            for (size_t j = 0; j < N; ++j) {
                double sum = 0;
                for (size_t c = 0; c < D / 2; ++c)
                    sum +=
                        v[0][i * (D / 2) + c] * v[0][j * (D / 2) + c] + v[1][i * (D / 2) + c] * v[1][j * (D / 2) + c];
                if ((double)gram[i * N + j] != sum)
                    fail_msg("case %zu, rows %zu and %zu: %g, expected %g", z, i, j, (double)gram[i * N + j], sum);
            }
        tnp_design_free(x);
    }
    for (int f = 0; f < 2; ++f) {
        tn_feed_free(feed[f]);
        tn_features_close(features[f]);
    }
}

/* Rows behind a map, most entries zero; two feeds side by side. */
typedef struct mapped {
    tn_map *map;
    tn_features *features[2];
    tn_feed *feed[2];
    tnp_design *x;
} mapped;

static mapped mapped_of(size_t n, size_t d, size_t rank, double zeros, tn_signed sign)
{
    mapped m = {.map = NULL};
    ref_rng rng = ref_rng_of(n + rank);
    double weight[TN_BASIS_SIZE * TN_BASIS_SIZE], *v = ref_alloc(n * d, sizeof *v);
    for (size_t i = 0; i < TN_BASIS_SIZE * rank; ++i)
        weight[i] = ref_normal(&rng);
    tn_map_spec spec = {.rank = rank, .scale = 5, .sign = sign, .weight = weight};
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, &spec, &m.map));
    for (int f = 0; f < 2; ++f) {
        for (size_t i = 0; i < n * d; ++i)
            v[i] = ref_unit(&rng) < zeros ? 0 : ref_normal(&rng);
        m.features[f] = features_of(f ? "map.b" : "map.a", v, n, d, AS_F32);
        assert_fine(test_ctx,
                    tn_feed_new(test_ctx, m.features[f], NULL, n, TN_NORM_L2, TN_NAN_ERROR, m.map, &m.feed[f]));
    }
    assert_fine(test_ctx, tnp_design_new(test_ctx, (const tn_feed *const *)m.feed, 2, 0, &m.x));
    free(v);
    return m;
}

static void mapped_free(mapped *m)
{
    tnp_design_free(m->x);
    for (int f = 0; f < 2; ++f) {
        tn_feed_free(m->feed[f]);
        tn_features_close(m->features[f]);
    }
    tn_map_free(m->map);
}

/* Groups of zeros are left out of the products, whose sums are those of all columns to rounding: rows have norm sqrt
 * 2. */
static void check_sparse(size_t n, size_t d, size_t rank, double zeros, tn_signed sign, size_t block, bool resident)
{
    mapped m = mapped_of(n, d, rank, zeros, sign);
    bool sparse = false;
    const float *gram = NULL, *x = m.x->data;
    size_t dim = m.x->dim;
    float *rows = ref_alloc(n * dim, sizeof *rows);
    memcpy(rows, x, n * dim * sizeof *rows);
    assert_int_equal(tnp_design_group(m.x), rank);
    assert_fine(test_ctx, tnp_design_is_sparse(test_ctx, m.x, rank, &sparse));
    assert_true(sparse);
    m.x->block = block;
    m.x->blocks = (n + block - 1) / block;
    m.x->resident = resident;
    assert_fine(test_ctx, tnp_design_gram(test_ctx, m.x, &gram));
    for (size_t i = 0; i<n; i += n> 400 ? 7 : 1)
        for (size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (size_t c = 0; c < dim; ++c)
                sum += (double)rows[i * dim + c] * (double)rows[j * dim + c];
            if (!(fabs((double)gram[i * n + j] - sum) <= ((double)dim + 2) * 0x1p-24 * 2))
                fail_msg("rows %zu and %zu: %g, expected %g", i, j, (double)gram[i * n + j], sum);
            assert_true(gram[i * n + j] == gram[j * n + i]);
        }
    free(rows);
    mapped_free(&m);
}

static void products_of_sparse_rows(void **state)
{
    (void)state;
    check_sparse(1100, 9, 5, 0.8, TN_SIGNED_ODD, 1100, true);
    check_sparse(1100, 9, 5, 0.8, TN_SIGNED_ODD, 90, false);
    check_sparse(700, 9, 20, 0.3, TN_SIGNED_SPLIT, 513, true); /* half of the groups are zero by their sign */
    check_sparse(65, 33, 12, 0.7, TN_SIGNED_ODD, 64, false);
    check_sparse(3, 40, 39, 0.6, TN_SIGNED_ODD, 2, false);
    check_sparse(1, 40, 8, 0.9, TN_SIGNED_ODD, 1, true);
}

static void sparse_products_do_not_depend_on_threads(void **state)
{
    (void)state;
    mapped m = mapped_of(700, 20, 9, 0.7, TN_SIGNED_ODD);
    size_t size = 700 * 700 * sizeof(float), before = tn_ctx_threads(test_ctx);
    float *one = ref_alloc(700 * 700, sizeof *one), *other = ref_alloc(700 * 700, sizeof *other);
    tn_ctx_set_threads(test_ctx, 1);
    assert_fine(test_ctx, tnp_design_gram_sparse(test_ctx, m.x, 9, one));
    const size_t threads[] = {2, 3, 7};
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx_set_threads(test_ctx, threads[t]);
        memset(other, 0, size);
        assert_fine(test_ctx, tnp_design_gram_sparse(test_ctx, m.x, 9, other));
        for (size_t i = 0; i < 700; ++i)
            assert_memory_equal(one + i * 700 + i, other + i * 700 + i, (700 - i) * sizeof *one);
    }
    tn_ctx_set_threads(test_ctx, before);
    free(one);
    free(other);
    mapped_free(&m);
}

/* Rows that are mostly not zero, maps of few values, feeds with different maps or none: by the BLAS. */
static void where_zeros_do_not_pay(void **state)
{
    (void)state;
    bool sparse = true;
    mapped dense = mapped_of(50, 9, 20, 0.1, TN_SIGNED_ODD), narrow = mapped_of(50, 9, 3, 0.9, TN_SIGNED_ODD);
    assert_fine(test_ctx, tnp_design_is_sparse(test_ctx, dense.x, 20, &sparse));
    assert_false(sparse);
    assert_int_equal(tnp_design_group(narrow.x), 1);
    const tn_feed *feeds[2] = {dense.feed[0], narrow.feed[0]};
    tnp_design *x = NULL;
    assert_fine(test_ctx, tnp_design_new(test_ctx, feeds, 2, 0, &x));
    assert_int_equal(tnp_design_group(x), 1);
    tnp_design_free(x);
    mapped_free(&narrow);
    mapped_free(&dense);
    mapped wide = mapped_of(50, 9, 20, 0.9, TN_SIGNED_ODD); /* a budget without room for the tiles */
    tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + 100000);
    assert_fine(test_ctx, tnp_design_is_sparse(test_ctx, wide.x, 20, &sparse));
    tn_ctx_set_memory(test_ctx, 0);
    assert_false(sparse);
    mapped_free(&wide);
}

static void sparse_faults(void **state)
{
    (void)state;
    mapped m = mapped_of(100, 9, 6, 0.8, TN_SIGNED_ODD);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    m.x->block = 30;
    m.x->blocks = 4;
    for (;; ++k) {
        const float *gram = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_design_gram(test_ctx, m.x, &gram);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(m.x->gram);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(k > 12);
    mapped_free(&m);
}

/* Cancelled, a bad row in the file, no memory: the status comes through and nothing is left. */
static void faults(void **state)
{
    (void)state;
    double v[12] = {1, 2, 3, 4, 5, 6, 7, 8, NAN, 10, 11, 12};
    tn_features *features = array_of("bad", v, 6, 2, AS_F32);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    const tn_feed *feeds[] = {feed};
    size_t blocks = tnp_live_blocks(test_ctx);
    tnp_design *x = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "row 4", tnp_design_new(test_ctx, feeds, 1, 0, &x));
    assert_null(x);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    tn_feed_free(feed);
    tn_features_close(features);

    setting s = setting_of(REF_SIGNED, 30, 8, 3, TN_TASK_MULTICLASS, AS_F32);
    size_t k = 1;
    blocks = tnp_live_blocks(test_ctx);
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_design_new(test_ctx, (const tn_feed *const *)s.feed, 2, 0, &x);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(x);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(k > 2);
    tnp_design_free(x);
    tnp_design_free(NULL);
    tn_ctx *other = ctx_of(0);
    x = NULL;
    assert_fine(other, tnp_design_new(other, (const tn_feed *const *)s.feed, 2, 0, &x));
    tn_ctx_cancel(other);
    const float *rows = NULL;
    size_t start, count;
    assert_fails(other, TN_ERR_INTERRUPTED, "", tnp_design_block(other, x, 0, &rows, &start, &count));
    tnp_design *none = NULL;
    assert_fails(other, TN_ERR_INTERRUPTED, "", tnp_design_new(other, (const tn_feed *const *)s.feed, 2, 0, &none));
    assert_null(none);
    tnp_design_free(x);
    ctx_done(other);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_in_memory),
        cmocka_unit_test(streamed_within_a_budget),
        cmocka_unit_test(products_of_rows),
        cmocka_unit_test(products_of_sparse_rows),
        cmocka_unit_test(sparse_products_do_not_depend_on_threads),
        cmocka_unit_test(where_zeros_do_not_pay),
        cmocka_unit_test(sparse_faults),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
