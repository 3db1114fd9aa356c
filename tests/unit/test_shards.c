/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Directories of .npy shards. */
#include "fixtures/files.h"
#include "tenon/transform.h"

static void make_folder(const char *name)
{
    remove_folder(file_path(name));
    assert_int_equal(mkdir(file_path(name), 0700), 0);
}

static void write_shard(const char *name, const char *descr, tn_dtype type, bool fortran, size_t rows, size_t cols,
                        int base)
{
    bytes b = {.n = 0};
    char shape[64];
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    put_npy(&b, descr, fortran, shape);
    for (size_t i = 0; i < rows * cols; ++i) {
        size_t r = fortran ? i % rows : i / cols, c = fortran ? i / rows : i % cols;
        put_element(&b, type, base + (int)(10 * r + c), descr[0] == '>');
    }
    write_bytes(name, &b);
}

static void shards_are_one_matrix_in_name_order(void **state)
{
    (void)state;
    float out[18];
    const size_t index[] = {5, 0, 4, 2};
    make_folder("feats.train");
    write_shard("feats.train/part-10.npy", "<f4", TN_F32, false, 1, 3, 50);
    write_shard("feats.train/part-02.npy", ">f8", TN_F64, true, 3, 3, 20);
    write_shard("feats.train/part-01.npy", "<f2", TN_F16, false, 2, 3, 0);
    write_shard("feats.train/part-05.npy", "<f2", TN_F16, false, 0, 3, 0);
    write_text("feats.train/notes.txt", "not a shard");
    write_text("feats.train/.hidden.npy", "not a shard");
    tn_features *features = open_features(file_path("feats.train"));
    assert_int_equal(tn_features_rows(features), 6);
    assert_int_equal(tn_features_cols(features), 3);
    assert_int_equal(tn_features_dtype(features), TN_F64);
    assert_true(tn_features_is_wide(features));
    assert_string_equal(tn_features_format(features), "shards");
    assert_string_equal(tn_features_name(features), "feats");
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, 6, 0, 3, out));
    for (size_t i = 0; i < 18; ++i) /* the bases are chosen so that the rows count on */
        assert_near_at(i, out[i], (double)(10 * (i / 3) + i % 3), 0);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, index, 0, 4, 1, 2, out));
    for (size_t i = 0; i < 8; ++i)
        assert_near_at(i, out[i], (double)(10 * index[i / 2] + i % 2 + 1), 0);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 1, 3, 2, 1, out));
    assert_true(out[0] == 12 && out[1] == 22 && out[2] == 32);
    tn_features_close(features);
    assert_features_survive(file_path("feats.train"));
    features = open_features(file_path("feats.train/"));
    assert_string_equal(tn_features_name(features), "feats");
    tn_features_close(features);
}

static void shard_defects_name_the_shard(void **state)
{
    (void)state;
    make_folder("bad");
    assert_features_fail(file_path("bad"), TN_ERR_DATA, "directory without .npy files");
    write_shard("bad/a.npy", "<f4", TN_F32, false, 2, 3, 0);
    write_shard("bad/b.npy", "<f4", TN_F32, false, 2, 4, 0);
    assert_features_fail(file_path("bad"), TN_ERR_SHAPE, "b.npy: 4 columns, but the shards before it have 3");
    write_shard("bad/b.npy", "|u1", TN_U8, false, 2, 3, 0);
    assert_features_fail(file_path("bad"), TN_ERR_FORMAT, "b.npy: type uint8, but the shards before it have float32");
    write_text("bad/b.npy", "rubbish");
    assert_features_fail(file_path("bad"), TN_ERR_FORMAT, "b.npy: byte 0: no .npy magic");
    make_folder("none");
    write_shard("none/a.npy", "<f4", TN_F32, false, 0, 3, 0);
    assert_features_fail(file_path("none"), TN_ERR_DATA, "no rows");
}

static void count_warning(void *user, const char *text)
{
    assert_non_null(
        strstr(text, "b.npy: byte 70: shape (4, 3) needs 48 bytes of values, but 44 follow; its 4 rows are left out"));
    ++*(int *)user;
}

/* Rows keep their places: what is below the shard that was cut has the numbers it had. */
static void a_shard_that_was_cut_is_rows_of_nan_when_asked(void **state)
{
    (void)state;
    tn_features *features = NULL;
    double out[24];
    int told = 0;
    make_folder("cut");
    write_shard("cut/a.npy", "<f2", TN_F16, false, 2, 3, 0);
    write_shard("cut/b.npy", "<f4", TN_F32, false, 4, 3, 20);
    write_shard("cut/c.npy", "<f8", TN_F64, false, 2, 3, 60);
    assert_int_equal(truncate(file_path("cut/b.npy"), 70 + 44), 0);
    assert_features_fail(file_path("cut"), TN_ERR_FORMAT, "needs 48 bytes of values, but 44 follow");
    tn_ctx_set_warning(test_ctx, count_warning, &told);
    assert_fine(test_ctx, tn_features_open_sound(test_ctx, file_path("cut"), &features));
    assert_int_equal(told, 1);
    assert_int_equal(tn_features_rows(features), 8);
    assert_fine(test_ctx, tn_features_read_wide(test_ctx, features, NULL, 0, 8, 0, 3, out));
    for (size_t i = 0; i < 24; ++i) {
        if (i / 3 >= 2 && i / 3 < 6)
            assert_true(isnan(out[i]));
        else
            assert_near_at(i, out[i], (double)(10 * (i / 3) + i % 3), 0);
    }
    bool keep[8] = {true, true, true, true, true, true, true, true};
    assert_fine(test_ctx, tn_rows_finite(test_ctx, features, keep));
    for (size_t i = 0; i < 8; ++i)
        assert_int_equal(keep[i], i < 2 || i >= 6);
    tn_features_close(features);
    write_shard("cut/b.npy", "|u1", TN_U8, false, 4, 3, 20);
    assert_int_equal(truncate(file_path("cut/b.npy"), 72), 0);
    assert_fails(test_ctx, TN_ERR_FORMAT, "rows of whole numbers cannot be left out",
                 tn_features_open_sound(test_ctx, file_path("cut"), &features));
    write_text("cut/b.npy", "rubbish");
    assert_fails(test_ctx, TN_ERR_FORMAT, "b.npy: byte 0: no .npy magic",
                 tn_features_open_sound(test_ctx, file_path("cut"), &features));
    tn_ctx_set_warning(test_ctx, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_one_matrix_in_name_order),
        cmocka_unit_test(a_shard_that_was_cut_is_rows_of_nan_when_asked),
        cmocka_unit_test(shard_defects_name_the_shard),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
