/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Representations stored as codes, and quantisers as files: what is read are the centroids that the codes name, for every
 * rectangle of rows and columns; one file a defect. */
#include "fixtures/problems.h"
#include "fixtures/tensors.h"
#include "ref_pq.h"
#include "tenon/store.h"
#include "encode/pq.h"

/* 4 rows of 5 columns, 2 a code: 3 groups, 3 centroids. Centroid c is 10 c + column. */
enum { ROWS = 4, COLS = 5, SUB = 2, GROUPS = 3, COUNT = 3, BYTES = COUNT * COLS * 4 + ROWS * GROUPS };

static const unsigned char codes[ROWS * GROUPS] = {0, 1, 2, 2, 2, 2, 1, 0, 1, 0, 0, 1};
static const entry good_meta[] = {{"format", "\"tenon-codes\""}, {"version", "\"1\""}, {"sub", "\"2\""}};
static const entry good_tensors[] = {
    {"centroids", "{\"dtype\":\"F32\",\"shape\":[3,5],\"data_offsets\":[0,60]}"},
    {"codes", "{\"dtype\":\"U8\",\"shape\":[4,3],\"data_offsets\":[60,72]}"},
};

static void fill(unsigned char data[BYTES])
{
    for (size_t i = 0; i < COUNT * COLS; ++i)
        put_value(data + 4 * i, (double)(10 * (i / COLS) + i % COLS), AS_F32);
    memcpy(data + COUNT * COLS * 4, codes, sizeof codes);
}

static const char *write_codes(const char *name, const entry *change, const unsigned char *data)
{
    bytes b = {.n = 0};
    put_container(&b, good_meta, 3, good_tensors, 2, change, data, BYTES);
    return write_bytes(name, &b);
}

static float value(size_t row, size_t col)
{
    return (float)(10 * codes[row * GROUPS + col / SUB] + col);
}

static void every_rectangle(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    fill(data);
    tn_features *features = open_features(write_codes("c.train.safetensors", NULL, data));
    const size_t index[] = {3, 0, 0, 2};
    assert_string_equal(tn_features_name(features), "c");
    assert_string_equal(tn_features_format(features), "codes");
    assert_int_equal(tn_features_rows(features), ROWS);
    assert_int_equal(tn_features_cols(features), COLS);
    assert_int_equal(tn_features_dtype(features), TN_F32);
    assert_false(tn_features_is_wide(features));
    for (size_t row = 0; row <= ROWS; ++row)
        for (size_t n = 0; n <= ROWS - row; ++n)
            for (size_t col = 0; col <= COLS; ++col)
                for (size_t m = 0; m <= COLS - col; ++m)
                    for (int listed = 0; listed < 2; ++listed) {
                        float narrow[ROWS * COLS + 1];
                        double wide[ROWS * COLS + 1];
                        const size_t *rows = listed ? index : NULL;
                        narrow[n * m] = -7;
                        wide[n * m] = -7;
                        assert_fine(test_ctx, tn_features_read(test_ctx, features, rows, row, n, col, m, narrow));
                        assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, rows, row, n, col, m, wide));
                        for (size_t i = 0; i < n * m; ++i) {
                            float want = value(listed ? index[row + i / m] : row + i / m, col + i % m);
                            assert_true(narrow[i] == want && wide[i] == (double)want);
                        }
                        assert_true(narrow[n * m] == -7 && wide[n * m] == -7);
                    }
    tn_features_close(features);
    /* With a key it is the tensor as it stands. */
    char rep[600];
    snprintf(rep, sizeof rep, "%s:codes", file_path("c.train.safetensors"));
    features = open_features(rep);
    assert_int_equal(tn_features_cols(features), GROUPS);
    assert_int_equal(tn_features_dtype(features), TN_U8);
    tn_features_close(features);
}

/* Pieces of a row that begin and end with a group of eight, and others, are the same pieces of the whole. */
static void assert_rectangles(const tn_features *features, const float *whole, size_t n, size_t d)
{
    static const size_t from[] = {0, 8, 16, 264, 3}, width[] = {8, 16, 256, 320, 5};
    float *out = ref_alloc(n * d, sizeof *out);
    for (size_t f = 0; f < 5; ++f)
        for (size_t w = 0; w < 5; ++w) {
            if (from[f] + width[w] > d)
                continue;
            assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 1, n - 1, from[f], width[w], out));
            for (size_t i = 0; i < n - 1; ++i)
                assert_memory_equal(out + i * width[w], whole + (i + 1) * d + from[f], width[w] * sizeof *out);
        }
    free(out);
}

/* Groups of eight have a way of their own: through files of every width, against the centroids written beside. */
static void a_quantiser_and_its_codes_as_files(void **state)
{
    (void)state;
    static const size_t widths[] = {8, 600, 603, 13};
    for (size_t t = 0; t < 4; ++t) {
        ref_problem p = ref_problem_of(REF_SIGNED, 150, widths[t], 1, t);
        tn_features *features = features_of("x", p.x, p.n, p.d, AS_F32), *coded = NULL;
        size_t d = p.d, groups = (d + 7) / 8;
        tnp_pq_options opt;
        tn_pq_info info = {0};
        tn_pq *pq = NULL, *back = NULL;
        tnp_pq_options_default(&opt);
        opt.centroids = t == 0 ? 256 : 60;
        assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
        assert_fine(test_ctx, tn_pq_save(test_ctx, pq, "a test", file_path("q.safetensors")));
        assert_fine(test_ctx, tn_pq_load(test_ctx, file_path("q.safetensors"), &back));
        assert_fine(test_ctx, tn_codes_save(test_ctx, back, features, "a test", file_path("k.safetensors"), &info));
        assert_int_equal(info.rows, p.n);
        size_t size = 0, shape[2], range[2], count = tn_pq_centroids(pq);
        unsigned char *whole = read_whole(file_path("k.safetensors"), &size);
        char type[8];
        size_t header = (size_t)whole[0] | (size_t)whole[1] << 8;
        assert_non_null(strstr((char *)whole + 8, ": a test\""));
        assert_true(tensor_entry((char *)whole + 8, "centroids", type, shape, range));
        assert_true(strcmp(type, "F32") == 0 && shape[0] == count && shape[1] == d && range[0] == 0);
        const unsigned char *values = whole + 8 + header;
        assert_true(tensor_entry((char *)whole + 8, "codes", type, shape, range));
        assert_true(strcmp(type, "U8") == 0 && shape[0] == p.n && shape[1] == groups);
        assert_int_equal(8 + header + range[1], size);
        float *centroids = ref_alloc(count * d, sizeof *centroids), *out = ref_alloc(p.n * d, sizeof *out);
        memcpy(centroids, values, count * d * sizeof *centroids);
        coded = open_features(file_path("k.safetensors"));
        assert_fine(test_ctx, tn_features_read(test_ctx, coded, NULL, 0, p.n, 0, d, out));
        double error = 0, energy = 0;
        for (size_t i = 0; i < p.n * d; ++i) {
            assert_true(out[i] == ref_decoded(centroids, d, 8, values + range[0] + i / d * groups, i % d));
            error += (p.x[i] - (double)out[i]) * (p.x[i] - (double)out[i]);
            energy += p.x[i] * p.x[i];
        }
        assert_rectangles(coded, out, p.n, d);
        assert_near(info.error, error, 1e-5); /* distances are sums of 8 in float */
        assert_near(info.energy, energy, 1e-12);
        /* What is decoded is its own nearest centroid: encoded again nothing is lost. */
        assert_fine(test_ctx, tn_codes_save(test_ctx, pq, coded, "a test", file_path("again.safetensors"), &info));
        assert_true(info.error == 0);
        free(whole);
        free(centroids);
        free(out);
        tn_features_close(coded);
        tn_features_close(features);
        tn_pq_free(pq);
        tn_pq_free(back);
        ref_problem_free(&p);
    }
}

typedef struct damage {
    entry change;
    tn_status status;
    const char *part;
} damage;

static const damage damages[] = {
    {{"version", NULL}, TN_ERR_UNSUPPORTED, "version missing"},
    {{"version", "\"2\""}, TN_ERR_UNSUPPORTED, "version 2"},
    {{"sub", NULL}, TN_ERR_FORMAT, "'missing'"},
    {{"sub", "2"}, TN_ERR_FORMAT, "sub"},
    {{"sub", "\"0\""}, TN_ERR_FORMAT, "'0'"},
    {{"sub", "\"-2\""}, TN_ERR_FORMAT, "'-2'"},
    {{"sub", "\"6\""}, TN_ERR_FORMAT, "6, but there are 5 columns"},
    {{"sub", "\"1\""}, TN_ERR_FORMAT, "expected uint8 (rows, 5)"},
    {{"sub", "\"99999999999999999999999\""}, TN_ERR_FORMAT, "sub"},
    {{"codes", NULL}, TN_ERR_FORMAT, "no tensor 'codes'"},
    {{"codes", "{\"dtype\":\"U8\",\"shape\":[12],\"data_offsets\":[60,72]}"}, TN_ERR_FORMAT, "(12,)"},
    {{"codes", "{\"dtype\":\"U8\",\"shape\":[3,4],\"data_offsets\":[60,72]}"}, TN_ERR_FORMAT, "(3, 4)"},
    {{"codes", "{\"dtype\":\"I8\",\"shape\":[4,3],\"data_offsets\":[60,72]}"}, TN_ERR_FORMAT, "int8"},
    {{"codes", "{\"dtype\":\"U8\",\"shape\":[0,3],\"data_offsets\":[60,60]}"}, TN_ERR_FORMAT, "12 bytes behind"},
    {{"codes", "{\"dtype\":\"U8\",\"shape\":[5,3],\"data_offsets\":[60,75]}"}, TN_ERR_FORMAT, "72 bytes follow"},
    {{"centroids", NULL}, TN_ERR_FORMAT, "no tensor 'centroids'"},
    {{"centroids", "{\"dtype\":\"F32\",\"shape\":[15],\"data_offsets\":[0,60]}"}, TN_ERR_FORMAT, "(15,)"},
    {{"centroids", "{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[0,0]}"}, TN_ERR_FORMAT, "behind a hole"},
    {{"centroids", "{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]}"}, TN_ERR_FORMAT, "behind a hole"},
    {{"centroids", "{\"dtype\":\"F16\",\"shape\":[6,5],\"data_offsets\":[0,60]}"}, TN_ERR_FORMAT, "float16"},
    {{"centroids", "{\"dtype\":\"F32\",\"shape\":[300,0],\"data_offsets\":[0,0]}"}, TN_ERR_FORMAT, "behind a hole"},
};

static void one_thing_changed_is_an_error(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    fill(data);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
        assert_features_fail(write_codes("bad.safetensors", &damages[i].change, data), damages[i].status,
                             damages[i].part);
        assert_non_null(strstr(tn_ctx_message(test_ctx), "bad.safetensors"));
    }
}

static void codes_without_a_centroid(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    fill(data);
    data[COUNT * COLS * 4 + 7] = COUNT;
    assert_features_fail(write_codes("bad.safetensors", NULL, data), TN_ERR_FORMAT,
                         "row 2, group 1 holds 3, but there are 3 centroids");
}

static void centroids_that_are_no_numbers(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; ++i) {
        fill(data);
        put_value(data + 4 * 8, odd[i], AS_F32);
        assert_features_fail(write_codes("bad.safetensors", NULL, data), TN_ERR_FORMAT, "row 1, column 3");
    }
}

static void files_cut_short(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    bytes b = {.n = 0};
    fill(data);
    put_container(&b, good_meta, 3, good_tensors, 2, NULL, data, BYTES);
    for (size_t n = 0; n < b.n; ++n)
        assert_features_fail(write_file("cut.safetensors", b.data, n), TN_ERR_FORMAT, "cut.safetensors");
    tn_features *features = open_features(write_bytes("shrinks.safetensors", &b));
    float out[ROWS * COLS];
    assert_int_equal(truncate(file_path("shrinks.safetensors"), 100), 0);
    assert_fails(test_ctx, TN_ERR_IO, "shrinks", tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, out));
    tn_features_close(features);
}

/* Neither is the other: a quantiser is no representation of codes, codes are no quantiser. */
static void quantisers_are_checked_too(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    tn_pq *pq = NULL;
    const entry as_pq = {"format", "\"tenon-pq\""};
    fill(data);
    assert_fails(test_ctx, TN_ERR_FORMAT, "expected tenon-pq",
                 tn_pq_load(test_ctx, write_codes("q.safetensors", NULL, data), &pq));
    assert_fails(test_ctx, TN_ERR_IO, "none", tn_pq_load(test_ctx, file_path("none.safetensors"), &pq));
    assert_fine(test_ctx, tn_pq_load(test_ctx, write_codes("q.safetensors", &as_pq, data), &pq));
    assert_int_equal(tn_pq_dim(pq), COLS);
    assert_int_equal(tn_pq_sub(pq), SUB);
    assert_int_equal(tn_pq_groups(pq), GROUPS);
    assert_int_equal(tn_pq_centroids(pq), COUNT);
    float out[ROWS * COLS];
    assert_fine(test_ctx, tn_pq_decode(test_ctx, pq, codes, ROWS, out));
    for (size_t i = 0; i < ROWS * COLS; ++i)
        assert_true(out[i] == value(i / COLS, i % COLS));
    double x[2 * 4] = {0}, y[2 * COLS] = {1, 1, 1, 1, 1, 1, NAN};
    tn_features *narrow = features_of("narrow", x, 2, 4, AS_F32), *odd = features_of("odd", y, 2, COLS, AS_F32);
    assert_fails(test_ctx, TN_ERR_SHAPE, "4 columns, but the quantiser was trained on 5",
                 tn_codes_save(test_ctx, pq, narrow, NULL, file_path("out.safetensors"), NULL));
    assert_fails(test_ctx, TN_ERR_DATA, "odd: row 1 holds NaN",
                 tn_codes_save(test_ctx, pq, odd, NULL, file_path("out.safetensors"), NULL));
    assert_fails(test_ctx, TN_ERR_OUTPUT, "missing",
                 tn_codes_save(test_ctx, pq, odd, NULL, file_path("missing/out.safetensors"), NULL));
    assert_int_equal(access(file_path("out.safetensors"), F_OK), -1);
    tn_features_close(narrow);
    tn_features_close(odd);
    tn_pq_free(pq);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    unsigned char data[BYTES];
    fill(data);
    assert_features_survive(write_codes("m.safetensors", NULL, data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rectangle),
        cmocka_unit_test(a_quantiser_and_its_codes_as_files),
        cmocka_unit_test(one_thing_changed_is_an_error),
        cmocka_unit_test(codes_without_a_centroid),
        cmocka_unit_test(centroids_that_are_no_numbers),
        cmocka_unit_test(files_cut_short),
        cmocka_unit_test(quantisers_are_checked_too),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
