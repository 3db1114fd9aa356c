/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics made in parts, merged, saved and loaded: the evidence is that of all rows, and files are exact to the
 * bit. */
#include "fixtures/problems.h"
#include "fixtures/tensors.h"
#include "ref_evidence.h"
#include "tenon/store.h"
#include "select/options.h"

enum { N = 90, D = 8, K = 3, SHARDS = 3 };

static ref_problem problem;
static const size_t from[SHARDS + 1] = {0, 20, 70, N};

static int setup(void **state)
{
    problem = ref_problem_of(REF_SIGNED, N, D, K, 4);
    return files_setup(state);
}

static int teardown(void **state)
{
    ref_problem_free(&problem);
    return files_teardown(state);
}

static tn_moments *gather(size_t begin, size_t end, stored as, tn_task task)
{
    tn_features *features = features_of("part", problem.x + begin * D, end - begin, D, as);
    tn_labels *labels = labels_of(problem.y + begin * K, end - begin, K, task);
    tn_moments *s = NULL;
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_NONE, TN_NAN_ERROR, &s));
    assert_int_equal(tn_moments_rows(s), end - begin);
    assert_int_equal(tn_moments_cols(s), D);
    assert_int_equal(tn_moments_classes(s), K);
    labels_done(labels);
    tn_features_close(features);
    return s;
}

static void assert_same_bits(const tn_moments *a, const tn_moments *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->dim, b->dim);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->wide, b->wide);
    for (size_t i = 0; i < a->dim; ++i)
        assert_memory_equal(a->gram + i * a->dim + i, b->gram + i * a->dim + i, (a->dim - i) * sizeof(double));
    assert_memory_equal(a->shift, b->shift, a->dim * sizeof(double));
    assert_memory_equal(a->sum, b->sum, a->dim * sizeof(double));
    assert_memory_equal(a->xty, b->xty, a->classes * a->dim * sizeof(double));
    assert_memory_equal(a->ysum, b->ysum, a->classes * sizeof(double));
    assert_memory_equal(a->yy, b->yy, a->classes * sizeof(double));
}

static tn_moments *through_a_file(tn_moments *s)
{
    const char *path = file_path("s.safetensors");
    tn_moments *back = NULL;
    assert_fine(test_ctx, tn_moments_save(test_ctx, s, path));
    assert_fine(test_ctx, tn_moments_load(test_ctx, path, &back));
    assert_same_bits(s, back);
    tn_moments_free(s);
    return back;
}

static double evidence_of(const tn_moments *s, bool intercept)
{
    tnp_evidence_options opt;
    tn_evidence *e = NULL;
    tnp_evidence_options_default(&opt);
    opt.intercept = intercept;
    assert_fine(test_ctx, tnp_moments_evidence(test_ctx, s, &opt, &e));
    double value = e->log_evidence;
    tn_evidence_free(e);
    return value;
}

static double oracle(bool intercept)
{
    ref_eigen q = ref_eigen_of(&problem, intercept);
    ref_real sum = 0, at;
    for (size_t c = 0; c < K; ++c) {
        ref_real best = ref_best(&q, c, 1e-12L * q.largest, 1e6L * q.largest, 241, &at), null = ref_f(&q, c, INFINITY);
        sum += best > null ? best : null;
    }
    ref_eigen_free(&q);
    return (double)sum;
}

/* Wide sums differ by rounding only, 1e-12 of the evidence; float products by 2^-24 a product, 1e-6 of N K. */
static void three_shards_equal_all_rows(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; ++wide)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            stored as = wide ? AS_F64 : AS_F32;
            tn_moments *all = gather(0, N, as, (tn_task)task),
                       *sum = through_a_file(gather(from[0], from[1], as, (tn_task)task));
            for (size_t s = 1; s < SHARDS; ++s) {
                tn_moments *part = through_a_file(gather(from[s], from[s + 1], as, (tn_task)task));
                assert_fine(test_ctx, tn_moments_merge(test_ctx, sum, part));
                tn_moments_free(part);
                sum = through_a_file(sum);
            }
            assert_int_equal(tn_moments_rows(sum), N);
            for (int intercept = 0; intercept < 2; ++intercept) {
                double whole = evidence_of(all, intercept != 0), merged = evidence_of(sum, intercept != 0);
                double scale = wide ? 1 : N * K;
                assert_near(merged / scale, whole / scale, wide ? 1e-12 : 1e-6);
                assert_near(whole / (N * K), oracle(intercept != 0) / (N * K), wide ? 1e-9 : 1e-6);
            }
            tn_moments_free(all);
            tn_moments_free(sum);
        }
}

/* The order of merging is a matter of rounding. */
static void merging_in_any_order(void **state)
{
    (void)state;
    double first = 0;
    for (size_t turn = 0; turn < SHARDS; ++turn) {
        tn_moments *sum = gather(from[turn], from[turn + 1], AS_F64, TN_TASK_MULTICLASS);
        for (size_t s = 1; s < SHARDS; ++s) {
            size_t at = (turn + s) % SHARDS;
            tn_moments *part = gather(from[at], from[at + 1], AS_F64, TN_TASK_MULTICLASS);
            assert_fine(test_ctx, tn_moments_merge(test_ctx, sum, part));
            tn_moments_free(part);
        }
        double value = evidence_of(sum, true);
        if (turn == 0)
            first = value;
        assert_near(value, first, 1e-12);
        tn_moments_free(sum);
    }
}

static void what_cannot_be_gathered_or_merged(void **state)
{
    (void)state;
    double x[4 * 2] = {1, 2, 3, 4, 5, 6, 7, 8}, y[4 * 2] = {1, 0, 0, 1, 1, 0, 0, 1};
    tn_features *features = features_of("x", x, 4, 2, AS_F64);
    tn_labels *labels = labels_of(y, 4, 2, TN_TASK_MULTICLASS);
    tn_moments *s = NULL, *big = gather(0, N, AS_F64, TN_TASK_MULTICLASS);
    tn_evidence *e = NULL;
    tnp_evidence_options opt;
    tnp_evidence_options_default(&opt);
    assert_fails(test_ctx, TN_ERR_ARG, "z-scores",
                 tn_moments_gather(test_ctx, features, labels, TN_NORM_ZSCORE, TN_NAN_ERROR, &s));
    assert_null(s);
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_L2, TN_NAN_ERROR, &s));
    double before = evidence_of(big, true);
    assert_fails(test_ctx, TN_ERR_SHAPE, "", tn_moments_merge(test_ctx, big, s));
    assert_true(evidence_of(big, true) == before);
    assert_fine(test_ctx, tnp_moments_evidence(test_ctx, s, &opt, &e));
    tn_evidence_free(e);
    e = NULL;
    tn_moments_free(s);
    labels->known[0] = false; /* 3 rows of 2 columns with an intercept: not enough */
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_L2, TN_NAN_ERROR, &s));
    assert_fails(test_ctx, TN_ERR_DATA, "3 rows of 2 columns", tnp_moments_evidence(test_ctx, s, &opt, &e));
    opt.intercept = false;
    assert_fine(test_ctx, tnp_moments_evidence(test_ctx, s, &opt, &e));
    tn_evidence_free(e);
    e = NULL;
    tn_moments_free(s);
    for (size_t i = 0; i < 4; ++i) {
        labels->known[i] = true;
        labels->cls[i] = 1;
    }
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_L2, TN_NAN_ERROR, &s));
    assert_fails(test_ctx, TN_ERR_DATA, "constant", tnp_moments_evidence(test_ctx, s, &opt, &e));
    assert_null(e);
    tn_moments_free(s);
    tn_moments_free(big);
    labels_done(labels);
    tn_features_close(features);
}

/* Unlabelled and dropped rows do not count. */
static void rows_left_out(void **state)
{
    (void)state;
    double x[6 * 2] = {1, 2, NAN, 4, 5, 7, 7, 8, 1, 1, 2, 9}, y[6 * 2] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
    tn_moments *s = NULL;
    y[4 * 2] = NAN;
    tn_features *features = features_of("x", x, 6, 2, AS_F64);
    tn_labels *labels = labels_of(y, 6, 2, TN_TASK_MULTICLASS);
    assert_fails(test_ctx, TN_ERR_DATA, "row 1",
                 tn_moments_gather(test_ctx, features, labels, TN_NORM_L2, TN_NAN_ERROR, &s));
    assert_null(s);
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_NONE, TN_NAN_DROP, &s));
    assert_int_equal(tn_moments_rows(s), 4);
    assert_true(s->ysum[0] == 2 && s->ysum[1] == 2);
    tn_moments_free(s);
    labels_done(labels);
    tn_features_close(features);
}

/* ---- damaged files ---- */

static const entry good_meta[] = {
    {"format", "\"tenon-stats\""}, {"version", "\"1\""}, {"rows", "\"9\""}, {"wide", "\"1\""}};
static const entry good_tensors[] = {
    {"gram", "{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[0,32]}"},
    {"shift", "{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[32,48]}"},
    {"sum", "{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[48,64]}"},
    {"xty", "{\"dtype\":\"F64\",\"shape\":[3,2],\"data_offsets\":[64,112]}"},
    {"ysum", "{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[112,136]}"},
    {"yy", "{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[136,160]}"},
};

typedef struct damage {
    entry change;
    tn_status status;
} damage;

static const damage damages[] = {
    {{"format", NULL}, TN_ERR_FORMAT},
    {{"format", "\"tenon-head\""}, TN_ERR_FORMAT},
    {{"version", NULL}, TN_ERR_UNSUPPORTED},
    {{"version", "\"2\""}, TN_ERR_UNSUPPORTED},
    {{"rows", NULL}, TN_ERR_FORMAT},
    {{"rows", "\"\""}, TN_ERR_FORMAT},
    {{"rows", "\"9x\""}, TN_ERR_FORMAT},
    {{"rows", "9"}, TN_ERR_FORMAT},
    {{"rows", "\"-1\""}, TN_ERR_FORMAT},
    {{"rows", "\"99999999999999999999999\""}, TN_ERR_FORMAT},
    {{"wide", NULL}, TN_ERR_FORMAT},
    {{"wide", "\"maybe\""}, TN_ERR_FORMAT},
    {{"gram", NULL}, TN_ERR_FORMAT},
    {{"gram", "{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,32]}"}, TN_ERR_FORMAT},
    {{"gram", "{\"dtype\":\"F64\",\"shape\":[1,4],\"data_offsets\":[0,32]}"}, TN_ERR_FORMAT},
    {{"gram", "{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}"}, TN_ERR_FORMAT},
    {{"gram", "{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[140,172]}"}, TN_ERR_FORMAT},
    {{"shift", NULL}, TN_ERR_FORMAT},
    {{"shift", "{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[32,48]}"}, TN_ERR_FORMAT},
    {{"shift", "{\"dtype\":\"F64\",\"shape\":[2,1,1],\"data_offsets\":[32,48]}"}, TN_ERR_FORMAT},
    {{"shift", "{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[32,40]}"}, TN_ERR_FORMAT},
    {{"sum", NULL}, TN_ERR_FORMAT},
    {{"sum", "{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[48,56]}"}, TN_ERR_FORMAT},
    {{"xty", NULL}, TN_ERR_FORMAT},
    {{"xty", "{\"dtype\":\"F64\",\"shape\":[6],\"data_offsets\":[64,112]}"}, TN_ERR_FORMAT},
    {{"xty", "{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[64,112]}"}, TN_ERR_FORMAT},
    {{"xty", "{\"dtype\":\"F64\",\"shape\":[0,0],\"data_offsets\":[64,64]}"}, TN_ERR_FORMAT},
    {{"xty", "{\"dtype\":\"F64\",\"shape\":[0,100000],\"data_offsets\":[64,64]}"}, TN_ERR_FORMAT},
    {{"xty", "{\"dtype\":\"F64\",\"shape\":[100000000,0],\"data_offsets\":[64,64]}"}, TN_ERR_FORMAT},
    {{"ysum", NULL}, TN_ERR_FORMAT},
    {{"yy", NULL}, TN_ERR_FORMAT},
    {{"yy", "{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[136,152]}"}, TN_ERR_FORMAT},
};

static void put_stats(bytes *b, const entry *change)
{
    unsigned char data[160] = {0};
    b->n = 0;
    put_container(b, good_meta, 4, good_tensors, 6, change, data, sizeof data);
}

static void one_thing_changed_is_an_error(void **state)
{
    (void)state;
    bytes b;
    tn_moments *s = NULL;
    size_t wrong = 0, blocks = tnp_live_blocks(test_ctx);
    put_stats(&b, NULL);
    assert_fine(test_ctx, tn_moments_load(test_ctx, write_bytes("good.safetensors", &b), &s));
    assert_int_equal(tn_moments_rows(s), 9);
    assert_int_equal(tn_moments_cols(s), 2);
    assert_int_equal(tn_moments_classes(s), 3);
    tn_moments_free(s);
    tn_ctx_set_memory(test_ctx, 64 << 20); /* stands for the machine's memory */
    for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
        const damage *d = &damages[i];
        s = NULL;
        put_stats(&b, &d->change);
        tn_status st = tn_moments_load(test_ctx, write_bytes("bad.safetensors", &b), &s);
        if (st != d->status || s || (st != TN_OK && !strstr(tn_ctx_message(test_ctx), "bad.safetensors"))) {
            print_error("%s = %s: got %s (%s), want %s\n", d->change.key, d->change.text ? d->change.text : "left out",
                        tn_status_name(st), st == TN_OK ? "" : tn_ctx_message(test_ctx), tn_status_name(d->status));
            ++wrong;
        }
        tn_moments_free(s);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    for (size_t n = 0; n < 8; ++n) {
        put_stats(&b, NULL);
        s = NULL;
        assert_fails(test_ctx, TN_ERR_FORMAT, "cut",
                     tn_moments_load(test_ctx, write_file("cut.safetensors", b.data, b.n - 1 - 20 * n), &s));
        assert_null(s);
    }
    tn_ctx_set_memory(test_ctx, 0);
    assert_int_equal(wrong, 0);
}

static void statistics_that_are_no_numbers(void **state)
{
    (void)state;
    const double values[] = {NAN, INFINITY};
    for (size_t v = 0; v < 2; ++v) {
        tn_moments *s = gather(0, N, AS_F64, TN_TASK_MULTICLASS), *back = NULL;
        s->gram[1] = values[v];
        assert_fine(test_ctx, tn_moments_save(test_ctx, s, file_path("nan.safetensors")));
        assert_fails(test_ctx, TN_ERR_FORMAT, "value 1 of 'gram' is NaN or infinite",
                     tn_moments_load(test_ctx, file_path("nan.safetensors"), &back));
        assert_null(back);
        tn_moments_free(s);
    }
}

/* Numbers that no rows can give: an error or a figure, never a crash. */
static void numbers_without_sense(void **state)
{
    (void)state;
    const double values[] = {-1, 1e308};
    for (size_t v = 0; v < 2; ++v) {
        tn_moments *s = gather(0, N, AS_F64, TN_TASK_MULTICLASS);
        tn_evidence *e = NULL;
        tnp_evidence_options opt;
        tnp_evidence_options_default(&opt);
        for (size_t i = 0; i < D * D; ++i)
            s->gram[i] = values[v];
        s = through_a_file(s);
        tn_status st = tnp_moments_evidence(test_ctx, s, &opt, &e);
        if (st == TN_OK)
            assert_true(!isnan(e->log_evidence));
        tn_evidence_free(e);
        tn_moments_free(s);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_moments *s = gather(0, N, AS_F32, TN_TASK_MULTICLASS);
    const char *path = file_path("m.safetensors");
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    assert_fine(test_ctx, tn_moments_save(test_ctx, s, path));
    for (;; ++k) {
        tn_moments *back = NULL;
        tn_evidence *e = NULL;
        tnp_evidence_options opt;
        tnp_evidence_options_default(&opt);
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_moments_load(test_ctx, path, &back);
        assert_true((st == TN_OK) == (back != NULL));
        if (st == TN_OK)
            st = tnp_moments_evidence(test_ctx, back, &opt, &e);
        tnp_fail_allocation(test_ctx, 0);
        assert_true((st == TN_OK) == (e != NULL));
        tn_evidence_free(e);
        tn_moments_free(back);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 15);
    tn_moments_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_shards_equal_all_rows),
        cmocka_unit_test(merging_in_any_order),
        cmocka_unit_test(what_cannot_be_gathered_or_merged),
        cmocka_unit_test(rows_left_out),
        cmocka_unit_test(one_thing_changed_is_an_error),
        cmocka_unit_test(statistics_that_are_no_numbers),
        cmocka_unit_test(numbers_without_sense),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
