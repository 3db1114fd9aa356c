/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rectangles of files of every layout against the formula their values come from: C and Fortran order, either byte
 * order, values that go straight and those that are converted, rows longer than the buffer, a few columns of long rows,
 * rows in order, in runs, at random and twice; by system calls and through a mapping. */
#include "fixtures/files.h"

#include "read/features.h"

typedef struct layout {
    const char *descr;
    size_t rows, cols;
    bool fortran;
} layout;

static int value_at(size_t r, size_t c)
{
    return (int)((31 * r + 7 * c) % 251);
}

static void write_value(FILE *f, const char *descr, int value)
{
    bytes b = {.n = 0};
    static const struct {
        const char *code;
        tn_dtype type;
    } types[] = {{"f2", TN_F16}, {"f4", TN_F32}, {"f8", TN_F64}, {"u1", TN_U8}, {"i2", TN_I16}, {"u8", TN_U64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(descr + 1, types[i].code) == 0)
            put_element(&b, types[i].type, value, descr[0] == '>');
    assert_int_equal(fwrite(b.data, 1, b.n, f), b.n);
}

static tn_features *open_layout(const layout *l)
{
    bytes b = {.n = 0};
    char shape[64];
    const char *path = file_path("l.npy");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    snprintf(shape, sizeof shape, "(%zu, %zu)", l->rows, l->cols);
    put_npy(&b, l->descr, l->fortran, shape);
    assert_int_equal(fwrite(b.data, 1, b.n, f), b.n);
    for (size_t i = 0; i < l->rows * l->cols; ++i)
        write_value(f, l->descr, l->fortran ? value_at(i % l->rows, i / l->rows) : value_at(i / l->cols, i % l->cols));
    assert_int_equal(fclose(f), 0);
    return open_features(path);
}

static void check(const tn_features *features, const size_t *index, size_t start, size_t count, size_t col0,
                  size_t cols)
{
    float *narrow = calloc(count * cols + 1, sizeof *narrow);
    double *wide = calloc(count * cols + 1, sizeof *wide);
    assert_true(narrow && wide);
    narrow[count * cols] = -7; /* nothing is written behind */
    wide[count * cols] = -7;
    assert_fine(test_ctx, tn_features_read(test_ctx, features, index, start, count, col0, cols, narrow));
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, index, start, count, col0, cols, wide));
    for (size_t i = 0; i < count * cols; ++i) {
        size_t row = index ? index[start + i / cols] : start + i / cols;
        int want = value_at(row, col0 + i % cols);
        if (narrow[i] != (float)want || wide[i] != (double)want)
            print_error("row %zu, column %zu: %g, %g, want %d\n", row, col0 + i % cols, (double)narrow[i], wide[i],
                        want);
        assert_true(narrow[i] == (float)want && wide[i] == (double)want);
    }
    assert_true(narrow[count * cols] == -7 && wide[count * cols] == -7);
    free(narrow);
    free(wide);
}

static void check_ints(const tn_features *features)
{
    size_t n = tn_features_rows(features) * tn_features_cols(features);
    int64_t *out = calloc(n, sizeof *out);
    assert_non_null(out);
    assert_fine(test_ctx, tnp_features_read_ints(test_ctx, features, 0, tn_features_rows(features), out));
    for (size_t i = 0; i < n; ++i)
        assert_int_equal(out[i], value_at(i / tn_features_cols(features), i % tn_features_cols(features)));
    free(out);
}

/* Rows in runs, at random, twice and backwards. */
static size_t *make_index(size_t rows, size_t count)
{
    size_t *index = malloc(count * sizeof *index);
    assert_non_null(index);
    for (size_t i = 0; i < count; ++i)
        index[i] = i % 5 < 3 ? (i / 5 * 17 + i % 5) % rows : i % 5 == 3 ? index[i - 1] : (rows - 1) - i * 7 % rows;
    return index;
}

static void check_layout(const layout *l)
{
    tn_features *features = open_layout(l);
    size_t count = tnp_min(2 * l->rows, 3000), *index = make_index(l->rows, count);
    for (size_t threads = 1; threads <= 3; threads += 2) {
        tn_ctx_set_threads(test_ctx, threads);
        check(features, NULL, 0, l->rows, 0, l->cols);
        check(features, NULL, l->rows / 3, l->rows / 2, l->cols / 4, tnp_max(l->cols / 3, 1));
        check(features, NULL, 0, l->rows, l->cols - 1, 1);
        check(features, index, 0, count, 0, l->cols);
        check(features, index, 1, count - 1, l->cols / 2, tnp_max(l->cols / 5, 1));
    }
    if (!tn_features_is_wide(features) && (l->descr[1] == 'u' || l->descr[1] == 'i'))
        check_ints(features);
    tn_features_close(features);
    free(index);
}

static const layout layouts[] = {
    {"<f4", 2600, 37, false}, {"<f4", 2600, 37, true},  {">f4", 300, 37, false},  {">f4", 2600, 3, true},
    {"<f8", 1500, 19, false}, {"<f8", 1500, 19, true},  {"|u1", 2600, 41, false}, {"|u1", 5000, 17, true},
    {">i2", 900, 33, false},  {">i2", 900, 33, true},   {"<f2", 500, 1, false},   {"<f4", 2600, 1, true},
    {"<f4", 3, 40000, false}, {"<f8", 3, 20000, false}, {"<f2", 4, 70000, false}, {"<f8", 3, 20000, true},
};

static void every_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i)
        check_layout(&layouts[i]);
}

/* The same once more where rows come from mappings. */
static void every_layout_mapped(void **state)
{
    assert_true(tn_map_files());
    every_layout(state);
}

/* uint64 values that no int64 holds: the first of them is named, whatever the order of the file. */
static void whole_numbers_that_do_not_fit(void **state)
{
    (void)state;
    for (int fortran = 0; fortran < 2; ++fortran) {
        bytes b = {.n = 0};
        int64_t out[8];
        put_npy(&b, "<u8", fortran, "(4, 2)");
        for (size_t i = 0; i < 8; ++i)
            put_int(&b, i == (fortran ? 6u : 5u) || i == 7 ? UINT64_C(1) << 63 : i, 8, false);
        tn_features *features = open_features(write_bytes("u.npy", &b));
        assert_fails(test_ctx, TN_ERR_DATA, "u.npy: row 2: value is above 9223372036854775807",
                     tnp_features_read_ints(test_ctx, features, 0, 4, out));
        assert_fine(test_ctx, tnp_features_read_ints(test_ctx, features, 0, 2, out));
        assert_int_equal(out[3], fortran ? 5 : 3);
        tn_features_close(features);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout),
        cmocka_unit_test(every_layout_mapped),
        cmocka_unit_test(whole_numbers_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
