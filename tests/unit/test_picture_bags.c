/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of pictures against what each picture is described as by itself, and against what a network says of them: in any
 * order, by any number of threads; pictures that are empty, turned, shrunk, broken, or change meanwhile. */
#include "network_of.h"

enum { KEPT = 3000, COUNT = 5, EMPTY = 1 }; /* pixels; pictures; the one that no patch fits into */

static char folder[400];

static const char *path_of(const char *name)
{
    static char path[500];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void store_png(const char *name, size_t width, size_t height)
{
    unsigned char *rows = smooth_rows(width, height, 3);
    png_write(&(png_form){.width = width,
                          .height = height,
                          .depth = 8,
                          .type = PNG_COLOR_TYPE_RGB,
                          .rows = rows,
                          .row_bytes = 3 * width},
              path_of(name));
    free(rows);
}

static void store_turned_jpeg(const char *name, size_t width, size_t height)
{
    unsigned char *rows = smooth_rows(width, height, 1), exif[64];
    picture_bytes made =
        jpeg_bytes(&(jpeg_form){width, height, 1, false, false, rows, exif, exif_block(true, 6, exif)});
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
    assert_int_equal(fclose(file), 0);
    free(made.data);
    free(rows);
}

static tn_pictures *stored_pictures(const char *name)
{
    const char *images[] = {folder};
    tn_pictures *pictures = NULL;
    snprintf(folder, sizeof folder, "%s/%s", test_folder, name);
    mkdir(folder, 0700);
    store_png("a.png", 40, 30);
    store_png("b.png", 7, 50);
    store_turned_jpeg("c.jpg", 52, 28);
    store_png("d.png", 90, 70);
    store_png("e.png", 16, 16);
    assert_fine(test_ctx, tn_pictures_open(test_ctx, images, 1, &pictures));
    assert_int_equal(tn_pictures_count(pictures), COUNT);
    return pictures;
}

static tn_options *describing(const char *descriptor)
{
    tn_options *options = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "describe", &options));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "descriptor", descriptor));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "sides", "12,16"));
    return options;
}

/* Descriptors and positions of one picture by the calls that know of one only. */
static void check_bag(const tn_bags *bags, const tn_pictures *pictures, const tn_options *options, size_t i)
{
    tn_picture *picture = NULL;
    tn_mat *d = NULL, *p = NULL;
    assert_fine(test_ctx, tn_picture_read(test_ctx, tn_pictures_path(pictures, i), KEPT, &picture));
    assert_fine(test_ctx, tn_describe(test_ctx, picture, options, &d, &p));
    const size_t *offsets = tn_bags_offsets(bags);
    size_t rows = offsets[i + 1] - offsets[i];
    assert_int_equal(rows, d->rows);
    assert_int_equal(rows == 0, i == EMPTY);
    float *x = malloc((rows * d->cols + 1) * sizeof *x), *places = malloc((rows * 3 + 1) * sizeof *places);
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, i, 1, x, places));
    if (rows) {
        assert_memory_equal(x, d->data, rows * d->cols * sizeof *x);
        assert_memory_equal(places, p->data, rows * 3 * sizeof *places);
    }
    free(x);
    free(places);
    tn_mat_free(d);
    tn_mat_free(p);
    tn_picture_free(picture);
}

static void a_bag_is_what_its_picture_is_described_as(void **state)
{
    static const char *const names[] = {"rootsift", "lbp", "csift"};
    (void)state;
    tn_pictures *pictures = stored_pictures("described");
    for (size_t n = 0; n < 3; ++n) {
        tn_options *options = describing(names[n]);
        tn_bags *bags = NULL;
        tn_ctx_set_threads(test_ctx, n + 1);
        assert_fine(test_ctx, tn_bags_from_pictures(test_ctx, pictures, KEPT, options, &bags));
        assert_int_equal(tn_bags_count(bags), COUNT);
        assert_string_equal(tn_bags_ids(bags)[2], "c.jpg");
        for (size_t i = 0; i < COUNT; ++i)
            check_bag(bags, pictures, options, (3 * i + 2) % COUNT);
        tn_bags_free(bags);
        tn_options_free(options);
    }
    tn_ctx_set_threads(test_ctx, 0);
    tn_pictures_free(pictures);
}

/* Rows by a list of them, backwards and some of several bags in turn, are those that come in order. */
static void rows_in_any_order(void **state)
{
    enum { SOME = 40 };
    (void)state;
    tn_pictures *pictures = stored_pictures("order");
    tn_options *options = describing("sift");
    tn_bags *bags = NULL;
    assert_fine(test_ctx, tn_bags_from_pictures(test_ctx, pictures, KEPT, options, &bags));
    const tn_features *of = tn_bags_descriptors(bags);
    size_t rows = tn_features_rows(of), cols = tn_features_cols(of), index[SOME];
    float *all = malloc(rows * cols * sizeof *all), *some = malloc(SOME * cols * sizeof *some);
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, 0, COUNT, all, NULL));
    for (size_t i = 0; i < SOME; ++i)
        index[i] = i % 2 ? rows - 1 - i : i * (rows / SOME);
    assert_fine(test_ctx, tn_features_read(test_ctx, of, index, 0, SOME, 0, cols, some));
    for (size_t i = 0; i < SOME; ++i)
        assert_memory_equal(some + i * cols, all + index[i] * cols, cols * sizeof *all);
    free(all);
    free(some);
    tn_bags_free(bags);
    tn_options_free(options);
    tn_pictures_free(pictures);
}

/* Trained on pictures and on the bags of them it is the same encoder. */
static void encoders_of_bags_and_of_pictures(void **state)
{
    static const char *const settings[][2] = {
        {"kind", "vlad"}, {"words", "4"}, {"pca", "8"}, {"sides", "12,16"}, {"descriptor", "rootsift"}};
    (void)state;
    tn_pictures *pictures = stored_pictures("encoders");
    tn_options *options = NULL, *describe = describing("rootsift");
    tn_encoder *by_pictures = NULL, *by_bags = NULL;
    tn_bags *bags = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "encoder", &options));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, settings[i][0], settings[i][1]));
    assert_fine(test_ctx, tn_options_set_number(test_ctx, options, "pixels", KEPT));
    assert_fine(test_ctx, tn_bags_from_pictures(test_ctx, pictures, KEPT, describe, &bags));
    assert_fine(test_ctx, tn_encoder_train(test_ctx, pictures, options, NULL, &by_pictures));
    assert_fine(test_ctx, tn_encoder_train_bags(test_ctx, bags, options, NULL, &by_bags));
    size_t cols = tn_encoder_cols(by_bags), dim = tn_encoder_dim(by_bags), rows = tn_bags_offsets(bags)[1];
    assert_int_equal(tn_encoder_cols(by_pictures), cols);
    float *x = malloc(rows * dim * sizeof *x), *a = malloc(cols * sizeof *a), *b = malloc(cols * sizeof *b);
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, 0, 1, x, NULL));
    tn_view all = {x, rows, dim, dim}, none = {NULL, 0, 0, 0};
    assert_fine(test_ctx, tn_encoder_encode(test_ctx, by_pictures, all, none, a));
    assert_fine(test_ctx, tn_encoder_encode(test_ctx, by_bags, all, none, b));
    assert_memory_equal(a, b, cols * sizeof *a);
    free(x);
    free(a);
    free(b);
    tn_bags_free(bags);
    tn_encoder_free(by_pictures);
    tn_encoder_free(by_bags);
    tn_options_free(options);
    tn_options_free(describe);
    tn_pictures_free(pictures);
}

static void a_map_of_a_network(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("seen");
    const named_text more[] = {{"layer", "relu"}, {"as", "bag"}};
    const char *path = store_model("maps.onnx", conv_model(SIDE, false));
    tn_network *network = opened(path, more, 2), *vectors = opened(path, NULL, 0);
    tn_bags *bags = NULL;
    float *want = rows_of(network, pictures), got[SIDE * SIDE * CONV_OUT], places[SIDE * SIDE * 3];
    assert_fails(test_ctx, TN_ERR_ARG, "gives one vector per picture",
                 tn_bags_from_network(test_ctx, pictures, vectors, &bags));
    assert_fine(test_ctx, tn_bags_from_network(test_ctx, pictures, network, &bags));
    assert_int_equal(tn_bags_count(bags), PICTURES);
    for (size_t i = PICTURES; i-- > 0;) {
        assert_fine(test_ctx, tn_bags_read(test_ctx, bags, i, 1, got, places));
        assert_memory_equal(got, want + i * SIDE * SIDE * CONV_OUT, sizeof got);
    }
    for (size_t at = 0; at < SIDE * SIDE; ++at) { /* middles of a grid of SIDE x SIDE, row by row */
        assert_near_at(at, (double)places[3 * at], ((double)(at % SIDE) + 0.5) / SIDE, FLT_EPSILON);
        assert_near_at(at, (double)places[3 * at + 1], ((double)(at / SIDE) + 0.5) / SIDE, FLT_EPSILON);
    }
    tn_bags_free(bags);
    free(want);
    tn_network_free(network);
    tn_network_free(vectors);
    tn_pictures_free(pictures);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    tn_pictures *pictures = stored_pictures("broken");
    tn_options *options = describing("sift"), *large = describing("sift");
    tn_bags *const untouched = (tn_bags *)(void *)folder;
    tn_bags *bags = untouched;
    float *x = malloc((size_t)1 << 22);
    assert_fine(test_ctx, tn_options_set(test_ctx, large, "sides", "200"));
    assert_fails(test_ctx, TN_ERR_DATA, "smaller than the smallest patch",
                 tn_bags_from_pictures(test_ctx, pictures, KEPT, large, &bags));
    assert_ptr_equal(bags, untouched);
    assert_fine(test_ctx, tn_bags_from_pictures(test_ctx, pictures, KEPT, options, &bags));
    store_png("d.png", 40, 90); /* another shape than was counted */
    assert_fails(test_ctx, TN_ERR_DATA, "d.png: ", tn_bags_read(test_ctx, bags, 3, 1, x, NULL));
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, 4, 1, x, NULL));
    store_png("d.png", 90, 70);
    assert_int_equal(truncate(path_of("a.png"), 300), 0); /* the head is whole */
    assert_fails(test_ctx, TN_ERR_FORMAT, "a.png: ", tn_bags_read(test_ctx, bags, 0, 1, x, NULL));
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, 2, 1, x, NULL));
    tn_bags_free(bags);
    bags = untouched;
    assert_int_equal(truncate(path_of("a.png"), 5), 0);
    assert_fails(test_ctx, TN_ERR_UNSUPPORTED,
                 "a.png: ", tn_bags_from_pictures(test_ctx, pictures, KEPT, options, &bags));
    assert_int_equal(remove(path_of("a.png")), 0);
    assert_fails(test_ctx, TN_ERR_IO, "a.png: ", tn_bags_from_pictures(test_ctx, pictures, KEPT, options, &bags));
    assert_ptr_equal(bags, untouched);
    free(x);
    tn_options_free(options);
    tn_options_free(large);
    tn_pictures_free(pictures);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    tn_pictures *pictures = stored_pictures("memory");
    tn_options *options = describing("sift");
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tn_bags *bags = NULL;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_bags_from_pictures(test_ctx, pictures, KEPT, options, &bags);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(bags);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    assert_true(k > COUNT);
    tn_bags_free(bags);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    tn_options_free(options);
    tn_pictures_free(pictures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_bag_is_what_its_picture_is_described_as),
                                       cmocka_unit_test(rows_in_any_order),
                                       cmocka_unit_test(encoders_of_bags_and_of_pictures),
                                       cmocka_unit_test(a_map_of_a_network),
                                       cmocka_unit_test(what_cannot_be_is_told),
                                       cmocka_unit_test(memory_may_end_anywhere)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
