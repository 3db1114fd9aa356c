/* SPDX-License-Identifier: BSD-3-Clause
 *
 * REP texts, rectangles of sources, and agreement of rows. */
#include "fixtures/files.h"

static const char *joined(const char *name, const char *path)
{
    static char rep[600];
    snprintf(rep, sizeof rep, "%s=%s", name, path);
    return rep;
}

static void expect_name(const char *rep, const char *name)
{
    tn_features *features = open_features(rep);
    assert_string_equal(tn_features_name(features), name);
    tn_features_close(features);
}

static void names_of_representations(void **state)
{
    (void)state;
    char here[512];
    expect_name(write_grid("vgg.train.npy", 2, 2, 0), "vgg");
    expect_name(joined("my net", file_path("vgg.train.npy")), "my net");
    expect_name(joined("a=b", write_grid("a=b.npy", 2, 2, 0)) + 4, "a=b");
    expect_name(write_grid(".hidden.npy", 2, 2, 0), ".hidden.npy");
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(test_folder), 0);
    expect_name("a=b.npy", "a=b");       /* the file of the whole name wins */
    expect_name("c=vgg.train.npy", "c"); /* no such file: NAME=PATH */
    expect_name("c=a=b.npy", "c");
    expect_name("./a=b.npy", "a=b");
    assert_features_fail("./c=vgg.train.npy", TN_ERR_IO, "./c=vgg.train.npy");
    char file[16];
    assert_string_equal(tn_rep_file("a=b.npy", file, sizeof file), "a=b.npy");
    assert_string_equal(tn_rep_file("c=a=b.npy", file, sizeof file), "a=b.npy");
    assert_string_equal(tn_rep_file("./c=a.npy", file, sizeof file), "./c=a.npy");
    assert_string_equal(tn_rep_file("n=none.npz:key", file, sizeof file), "none.npz");
    assert_string_equal(tn_rep_file("m.safetensors:k", file, sizeof file), "m.safetensors");
    assert_string_equal(tn_rep_file("longer than there is room", file, sizeof file), "longer than the");
    assert_int_equal(chdir(here), 0);
}

static void texts_that_name_no_file(void **state)
{
    (void)state;
    assert_features_fail("", TN_ERR_ARG, "expected [NAME=]PATH");
    assert_features_fail(NULL, TN_ERR_ARG, "expected [NAME=]PATH");
    assert_features_fail("=x.npy", TN_ERR_ARG, "'=x.npy': expected [NAME=]PATH");
    assert_features_fail("x=", TN_ERR_ARG, "'x=': expected [NAME=]PATH");
    assert_features_fail(file_path("none.csv"), TN_ERR_IO, "none.csv: No such file");
    assert_features_fail(file_path("none.npz:key"), TN_ERR_IO, "none.npz: No such file");
    assert_features_fail(write_text("a.txt", "1"), TN_ERR_UNSUPPORTED, "a.txt: unknown suffix");
    assert_features_fail(write_text("npy", "1"), TN_ERR_UNSUPPORTED, "npy: unknown suffix");
    tn_features_close(NULL);
}

/* rows x cols of int16 in either order, element (r, c) = 100 r + c. */
static const char *write_shorts(const char *name, size_t rows, size_t cols, bool fortran)
{
    bytes b = {.n = 0};
    char shape[64];
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    put_npy(&b, "<i2", fortran, shape);
    for (size_t i = 0; i < rows * cols; ++i) {
        size_t r = fortran ? i % rows : i / cols, c = fortran ? i / rows : i % cols;
        put_int(&b, 100 * r + c, 2, false);
    }
    return write_bytes(name, &b);
}

static void check_rectangle(const tn_features *features, const size_t *index, size_t start, size_t count, size_t col0,
                            size_t cols)
{
    static float narrow[4096];
    static double wide[4096];
    narrow[count * cols] = -1;
    wide[count * cols] = -1;
    assert_fine(test_ctx, tn_features_read(test_ctx, features, index, start, count, col0, cols, narrow));
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, index, start, count, col0, cols, wide));
    for (size_t i = 0; i < count * cols; ++i) {
        size_t row = index ? index[start + i / cols] : start + i / cols;
        assert_near_at(i, narrow[i], (double)(100 * row + col0 + i % cols), 0);
        assert_near_at(i, wide[i], (double)(100 * row + col0 + i % cols), 0);
    }
    assert_true(narrow[count * cols] == -1 && wide[count * cols] == -1);
}

static void rectangles_of_both_orders(void **state)
{
    (void)state;
    static const size_t index[] = {0, 199, 3, 3, 64, 63, 1};
    for (int fortran = 0; fortran < 2; ++fortran) {
        tn_features *features = open_features(write_shorts("r.npy", 200, 11, fortran));
        for (size_t threads = 1; threads <= 3; ++threads) {
            tn_ctx_set_threads(test_ctx, threads);
            check_rectangle(features, NULL, 0, 200, 0, 11);
            check_rectangle(features, NULL, 0, 200, 3, 5);
            check_rectangle(features, NULL, 63, 66, 10, 1);
            check_rectangle(features, NULL, 199, 1, 0, 11);
            check_rectangle(features, NULL, 200, 0, 0, 11);
            check_rectangle(features, NULL, 5, 7, 11, 0);
            check_rectangle(features, index, 0, 7, 0, 11);
            check_rectangle(features, index, 2, 4, 1, 3);
        }
        tn_features_close(features);
    }
    tn_ctx_set_threads(test_ctx, 0);
}

/* Large enough that several threads take part. */
static void threads_do_not_change_values(void **state)
{
    (void)state;
    enum { ROWS = 3000, COLS = 500 };
    bytes b = {.n = 0};
    float *one = malloc(sizeof *one * ROWS * COLS), *many = malloc(sizeof *many * ROWS * COLS);
    unsigned char *values = malloc((size_t)2 * ROWS * COLS);
    for (size_t i = 0; i < (size_t)ROWS * COLS; ++i) {
        values[2 * i] = (unsigned char)(i * 31);
        values[2 * i + 1] = (unsigned char)(i / 700 % 120); /* halves below 2^15, never NaN */
    }
    put_npy(&b, "<f2", true, "(3000, 500)");
    FILE *file = fopen(write_bytes("big.npy", &b), "ab");
    assert_int_equal(fwrite(values, 2, (size_t)ROWS * COLS, file), (size_t)ROWS * COLS);
    fclose(file);
    tn_features *features = open_features(file_path("big.npy"));
    tn_ctx_set_threads(test_ctx, 1);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, one));
    for (size_t threads = 2; threads <= 7; threads += 5) {
        tn_ctx_set_threads(test_ctx, threads);
        assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, ROWS, 0, COLS, many));
        assert_memory_equal(one, many, sizeof *one * ROWS * COLS);
    }
    tn_ctx_set_threads(test_ctx, 0);
    tn_features_close(features);
    free(one);
    free(many);
    free(values);
}

static void rectangles_outside_are_refused(void **state)
{
    (void)state;
    float out[64];
    const size_t index[] = {0, 5};
    tn_features *features = open_features(write_shorts("o.npy", 5, 4, false));
    assert_fails(test_ctx, TN_ERR_ARG, "rows 3 to 6", tn_features_read(test_ctx, features, NULL, 3, 3, 0, 4, out));
    assert_fails(test_ctx, TN_ERR_ARG, "has 5", tn_features_read(test_ctx, features, NULL, SIZE_MAX, 2, 0, 4, out));
    assert_fails(test_ctx, TN_ERR_ARG, "columns 2 to 5", tn_features_read(test_ctx, features, NULL, 0, 1, 2, 3, out));
    assert_fails(test_ctx, TN_ERR_ARG, "has 4", tn_features_read(test_ctx, features, NULL, 0, 1, SIZE_MAX, 2, out));
    assert_fails(test_ctx, TN_ERR_ARG, "row 5 asked for", tn_features_read(test_ctx, features, index, 0, 2, 0, 4, out));
    tn_features_close(features);
}

static void file_truncated_after_opening_is_no_crash(void **state)
{
    (void)state;
    static float out[200 * 11];
    const char *path = write_shorts("shrink.npy", 200, 11, false);
    tn_features *features = open_features(path);
    assert_int_equal(truncate(path, 100), 0);
    assert_fails(test_ctx, TN_ERR_IO, "shrink.npy: changed while it was read: byte 100 is gone",
                 tn_features_read(test_ctx, features, NULL, 0, 200, 0, 11, out));
    assert_int_equal(unlink(path), 0);
    assert_fails(test_ctx, TN_ERR_IO, "shrink.npy: changed while it was read: byte",
                 tn_features_read(test_ctx, features, NULL, 0, 1, 0, 11, out));
    tn_features_close(features);
}

static void text_sources_need_their_file_no_more(void **state)
{
    (void)state;
    float out[2];
    const char *path = write_text("gone.csv", "1,2\n");
    tn_features *features = open_features(path);
    assert_int_equal(unlink(path), 0);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 1, 0, 2, out));
    assert_true(out[0] == 1 && out[1] == 2);
    tn_features_close(features);
}

static void rows_and_ids_must_agree(void **state)
{
    (void)state;
    tn_labels *labels = NULL, *plain = NULL;
    tn_features *grid = open_features(write_grid("dino.npy", 3, 2, 0)),
                *shorter = open_features(write_grid("s.npy", 2, 2, 0));
    tn_features *named = open_features(write_text("n.csv", "id,x\na,1\nb,2\nc,3\n"));
    tn_features *other = open_features(write_text("o.csv", "id,x\na,1\nB,2\nc,3\n"));
    assert_fine(test_ctx,
                tn_labels_open(test_ctx, write_text("l.txt", "a\tcat\nb\tdog\nc\tcat\n"), TN_TASK_AUTO, &labels));
    assert_fine(test_ctx, tn_labels_open(test_ctx, write_text("p.txt", "cat\ndog\ncat\n"), TN_TASK_AUTO, &plain));
    const tn_features *const fine[] = {grid, named}, *const rows[] = {grid, shorter},
                             *const ids[] = {grid, named, other};
    assert_fine(test_ctx, tn_rows_agree(test_ctx, fine, 2, labels));
    assert_fine(test_ctx, tn_rows_agree(test_ctx, fine, 2, plain));
    assert_fine(test_ctx, tn_rows_agree(test_ctx, fine, 2, NULL));
    assert_fine(test_ctx, tn_rows_agree(test_ctx, NULL, 0, labels));
    assert_fails(test_ctx, TN_ERR_SHAPE, "s.npy: 2 rows, but ", tn_rows_agree(test_ctx, rows, 2, labels));
    assert_non_null(strstr(tn_ctx_message(test_ctx), "l.txt has 3"));
    assert_fails(test_ctx, TN_ERR_SHAPE, "dino.npy has 3", tn_rows_agree(test_ctx, rows, 2, NULL));
    assert_fails(test_ctx, TN_ERR_DATA, "o.csv: row 1 is 'B', but ", tn_rows_agree(test_ctx, ids, 3, plain));
    assert_non_null(strstr(tn_ctx_message(test_ctx), "n.csv has 'b'"));
    assert_fails(test_ctx, TN_ERR_DATA, "l.txt has 'b'", tn_rows_agree(test_ctx, ids + 2, 1, labels));
    tn_labels_free(labels);
    tn_labels_free(plain);
    tn_features_close(grid);
    tn_features_close(shorter);
    tn_features_close(named);
    tn_features_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_representations),
        cmocka_unit_test(texts_that_name_no_file),
        cmocka_unit_test(rectangles_of_both_orders),
        cmocka_unit_test(threads_do_not_change_values),
        cmocka_unit_test(rectangles_outside_are_refused),
        cmocka_unit_test(file_truncated_after_opening_is_no_crash),
        cmocka_unit_test(text_sources_need_their_file_no_more),
        cmocka_unit_test(rows_and_ids_must_agree),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
