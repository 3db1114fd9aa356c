/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors of several encoders as features: the bytes of each alone, from memory and from a cache, whatever the cache held
 * before; heads keep the encoders they were trained with; bags of a network are those of an array with the same values.
 * Tests of networks need ONNX Runtime, see tests/skips.txt. */
#include "network_of.h"

#include "encode/encoder.h"
#include "read/pictures/list.h"

enum { DRAWN = 300, WIDE = 24 }; /* more than a block of the cache */

/* Pictures of waves and noise in two folders. */
static tn_pictures *drawn_pictures(void)
{
    static char folder[400];
    snprintf(folder, sizeof folder, "%s/drawn", test_folder);
    mkdir(folder, 0700);
    for (size_t i = 0; i < DRAWN; ++i) {
        unsigned char rows[WIDE * WIDE * 3];
        char name[500];
        tnp_rng rng;
        tnp_rng_init(&rng, i, 5);
        for (size_t k = 0; k < sizeof rows; ++k)
            rows[k] = (unsigned char)(100 + 60 * sin((double)(1 + i % 2) * (double)(k % (3 * WIDE)) / 9) +
                                      (double)tnp_rng_below(&rng, 60));
        png_form form = {
            .width = WIDE, .height = WIDE, .depth = 8, .type = PNG_COLOR_TYPE_RGB, .rows = rows, .row_bytes = WIDE * 3};
        snprintf(name, sizeof name, "%s/%s", folder, i % 2 ? "odd" : "even");
        mkdir(name, 0700);
        snprintf(name, sizeof name, "%s/%s/%03zu.png", folder, i % 2 ? "odd" : "even", i);
        png_write(&form, name);
    }
    tn_pictures *pictures = NULL;
    const char *images[] = {folder};
    assert_fine(test_ctx, tn_pictures_open(test_ctx, images, 1, &pictures));
    return pictures;
}

static tn_options *options_with(const named_text *more, size_t count)
{
    static const named_text small[] = {{"sides", "8,12"}, {"step", "4"}, {"words", "3"}, {"pca", "4"}};
    tn_options *options = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "encoder", &options));
    for (size_t i = 0; i < 4; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, small[i].name, small[i].value));
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, more[i].name, more[i].value));
    return options;
}

static tn_encoder *trained(const tn_pictures *pictures, const char *descriptor, const char *pixels)
{
    const named_text more[] = {{"descriptor", descriptor}, {"pixels", pixels}, {"pictures", "20"}};
    tn_options *options = options_with(more, 3);
    tn_encoder_info info;
    tn_encoder *encoder = NULL;
    assert_fine(test_ctx, tn_encoder_train(test_ctx, pictures, options, &info, &encoder));
    assert_int_equal(info.bags, 20);
    tn_options_free(options);
    return encoder;
}

static float *values_of(const tn_features *features)
{
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features);
    float *values = malloc(rows * cols * sizeof *values);
    assert_non_null(values);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, rows, 0, cols, values));
    return values;
}

static void assert_same_rows(const tn_features *a, const tn_features *b)
{
    float *x = values_of(a), *y = values_of(b);
    assert_int_equal(tn_features_rows(a), tn_features_rows(b));
    assert_int_equal(tn_features_cols(a), tn_features_cols(b));
    assert_memory_equal(x, y, tn_features_rows(a) * tn_features_cols(a) * sizeof *x);
    free(x);
    free(y);
}

typedef struct scene {
    tn_pictures *pictures;
    const tn_encoder *encoders[3];
    tn_features *alone[3];
} scene;

static const char *const names[] = {"root", "colour", "small"};

/* The first two share a pass; the third wants smaller pictures. */
static scene made_scene(void)
{
    scene s = {.pictures = drawn_pictures()};
    s.encoders[0] = trained(s.pictures, "rootsift", "1000");
    s.encoders[1] = trained(s.pictures, "csift", "1000");
    s.encoders[2] = trained(s.pictures, "rootsift", "300");
    for (size_t e = 0; e < 3; ++e)
        assert_fine(test_ctx, tn_features_from_pictures(test_ctx, names[e], s.pictures, s.encoders[e], &s.alone[e]));
    return s;
}

static void drop_scene(scene *s)
{
    for (size_t e = 0; e < 3; ++e) {
        tn_features_close(s->alone[e]);
        tn_encoder_free((tn_encoder *)s->encoders[e]);
    }
    tn_pictures_free(s->pictures);
}

/* Calls use(path) for every block of a cache; how many there are. */
static size_t each_block_of(const char *cache, void (*use)(const char *path))
{
    size_t count = 0;
    DIR *dir = opendir(cache);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        for (size_t i = 0; entry->d_name[0] != '.' && i < 2; ++i) {
            char path[900];
            snprintf(path, sizeof path, "%s/%s/%06zu.npy", cache, entry->d_name, i);
            bool there = access(path, R_OK) == 0;
            count += there;
            if (there && use)
                use(path);
        }
    if (dir)
        closedir(dir);
    return count;
}

static void cut_off(const char *path)
{
    assert_int_equal(truncate(path, 200), 0);
}

static void check_together(const scene *s, size_t count, const char *cache)
{
    tn_features *together[3] = {NULL};
    assert_fine(test_ctx, tn_features_from_encoders(test_ctx, names, s->pictures, s->encoders, count, cache, together));
    for (size_t e = 0; e < count; ++e) {
        char *about = NULL;
        assert_fine(test_ctx, tn_encoder_about(test_ctx, s->encoders[e], &about));
        assert_same_rows(together[e], s->alone[e]);
        assert_string_equal(tn_features_name(together[e]), names[e]);
        assert_string_equal(tn_features_about(together[e]), about);
        assert_string_equal(tn_features_ids(together[e])[3], "even/006.png");
        tn_text_free(about);
        tn_features_close(together[e]);
    }
}

static void together_as_alone_and_from_the_cache(void **state)
{
    (void)state;
    scene s = made_scene();
    char cache[400];
    snprintf(cache, sizeof cache, "%s/rows", test_folder);
    for (size_t threads = 1; threads <= 3; threads += 2) {
        tn_ctx_set_threads(test_ctx, threads);
        check_together(&s, 3, NULL);
    }
    check_together(&s, 1, cache);
    assert_int_equal(each_block_of(cache, NULL), 2);
    check_together(&s, 3, cache); /* two that are new, one that is there */
    assert_int_equal(each_block_of(cache, NULL), 6);
    (void)each_block_of(cache, cut_off); /* all are made again */
    check_together(&s, 3, cache);
    check_together(&s, 3, cache);
    drop_scene(&s);
}

/* What is read is what the cache has: nobody encodes again. */
static void mark(const char *path)
{
    FILE *file = fopen(path, "r+b");
    const float value = 12345;
    assert_non_null(file);
    assert_int_equal(fseek(file, 128, SEEK_SET), 0);
    assert_int_equal(fwrite(&value, sizeof value, 1, file), 1);
    fclose(file);
}

static void rows_of_a_cache_are_not_made_again(void **state)
{
    (void)state;
    scene s = made_scene();
    char cache[400];
    tn_features *features = NULL;
    snprintf(cache, sizeof cache, "%s/marked", test_folder);
    check_together(&s, 1, cache);
    (void)each_block_of(cache, mark);
    assert_fine(test_ctx, tn_features_from_encoders(test_ctx, names, s.pictures, s.encoders, 1, cache, &features));
    float *values = values_of(features);
    assert_true(values[0] == 12345);
    free(values);
    tn_features_close(features);
    drop_scene(&s);
}

/* ---- heads ---- */

static tn_head *head_on(tn_features *features, const tn_labels *labels)
{
    tn_options *options = NULL;
    tn_head *head = NULL;
    tn_fit_info *info = NULL;
    const tn_features *const list[] = {features};
    assert_fine(test_ctx, tn_options_new(test_ctx, "fit", &options));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "method", "evidence"));
    assert_fine(test_ctx, tn_fit(test_ctx, list, 1, labels, options, &info, &head));
    tn_fit_info_free(info);
    tn_options_free(options);
    return head;
}

static void a_head_keeps_its_encoder(void **state)
{
    (void)state;
    scene s = made_scene();
    tn_labels *labels = NULL;
    void *stored = NULL;
    size_t size = 0;
    tn_head *again = NULL;
    tn_encoder *kept = NULL;
    tn_features *by_kept = NULL;
    assert_fine(test_ctx, tn_pictures_labels(test_ctx, s.pictures, &labels));
    tn_head *head = head_on(s.alone[1], labels);
    assert_fine(test_ctx, tn_head_to_bytes(test_ctx, head, NULL, &stored, &size));
    assert_fine(test_ctx, tn_head_from_bytes(test_ctx, stored, size, NULL, &again));
    assert_fine(test_ctx, tn_head_encoder(test_ctx, again, 0, &kept));
    assert_fine(test_ctx, tn_features_from_pictures(test_ctx, "x", s.pictures, kept, &by_kept));
    assert_same_rows(by_kept, s.alone[1]);
    assert_string_equal(tn_features_about(by_kept), tn_head_about(again, 0));
    tn_features_close(by_kept);
    tn_encoder_free(kept);
    tn_head_free(again);
    tn_head_free(head);
    tn_bytes_free(stored);
    tn_labels_free(labels);
    drop_scene(&s);
}

/* One without: a sentence. */
static void a_head_of_other_features_has_none(void **state)
{
    (void)state;
    static float x[8 * 2] = {0, 1, 1, 0, 0, 2, 2, 0, 0, 3, 3, 0, 1, 4, 4, 1};
    const int64_t numbers[] = {0, 1, 0, 1, 0, 1, 0, 1};
    tn_array array = tn_array_compact(x, TN_F32, 8, 2);
    tn_features *features = NULL;
    tn_labels *labels = NULL;
    tn_encoder *encoder = NULL;
    assert_fine(test_ctx, tn_features_from_array(test_ctx, "x", &array, &features));
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 8, NULL, 0, &labels));
    tn_head *head = head_on(features, labels);
    assert_fails(test_ctx, TN_ERR_ARG, "x was not made by an encoder", tn_head_encoder(test_ctx, head, 0, &encoder));
    tn_head_free(head);
    tn_labels_free(labels);
    tn_features_close(features);
}

/* ---- defaults ---- */

static void default_encoders_are_options_of_encoders(void **state)
{
    (void)state;
    size_t count = 0;
    tn_options *options = NULL;
    for (; tn_default_encoder_name(count); ++count) {
        assert_fine(test_ctx, tn_options_new(test_ctx, "encoder", &options));
        assert_fine(test_ctx, tn_default_encoder_options(test_ctx, count, options));
        assert_non_null(strstr(tn_default_encoder_name(count), tn_options_text(options, "descriptor")));
        assert_non_null(strstr(tn_default_encoder_name(count), tn_options_text(options, "kind")));
        tn_options_free(options);
    }
    assert_true(count > 0);
    assert_fine(test_ctx, tn_options_new(test_ctx, "encoder", &options));
    assert_fine(test_ctx, tn_default_encoder_options(test_ctx, SIZE_MAX, options));
    assert_fails(test_ctx, TN_ERR_ARG, "no default encoder", tn_default_encoder_options(test_ctx, count, options));
    tn_options_free(options);
}

/* ---- bags of networks ---- */

/* The same values in an array: the same words, and the same rows. */
static void bags_of_a_network_are_those_of_an_array(void **state)
{
    (void)state;
    need_engine();
    const named_text bag[] = {{"as", "bag"}, {"layer", "relu"}}, pyramid[] = {{"pyramid", "1x1,2x2"}};
    tn_pictures *pictures = made_pictures("maps");
    tn_network *network = opened(store_model("maps.onnx", conv_model(SIDE, false)), bag, 2), *recalled = NULL;
    size_t places = tn_network_bag(network), dim = tn_network_cols(network), size = 0;
    tn_options *options = options_with(pyramid, 1);
    tn_encoder *ours = NULL, *theirs = NULL, *again = NULL;
    tn_features *rows = NULL;
    void *stored = NULL;
    network_bags array = bags_of_network(network, pictures);
    assert_fine(test_ctx, tn_encoder_train_network(test_ctx, pictures, network, options, NULL, &ours));
    assert_fine(test_ctx, tn_encoder_train_bags(test_ctx, array.bags, options, NULL, &theirs));
    assert_null(tn_encoder_network(theirs));
    assert_fails(test_ctx, TN_ERR_ARG, "without a network", tn_encoder_set_network(test_ctx, theirs, network));
    assert_fine(test_ctx, tn_encoder_to_bytes(test_ctx, ours, NULL, &stored, &size));
    assert_fine(test_ctx, tn_encoder_from_bytes(test_ctx, stored, size, NULL, &again));
    assert_fails(test_ctx, TN_ERR_ARG, "set it first",
                 tn_features_from_pictures(test_ctx, "r", pictures, again, &rows));
    assert_fine(test_ctx, tn_network_recall(test_ctx, tn_encoder_network(again), NULL, false, &recalled));
    assert_fine(test_ctx, tn_encoder_set_network(test_ctx, again, recalled));
    assert_fine(test_ctx, tn_features_from_pictures(test_ctx, "r", pictures, again, &rows));
    float *got = values_of(rows), *want = malloc(tn_encoder_cols(theirs) * sizeof *want);
    assert_int_equal(tn_features_cols(rows), tn_encoder_cols(theirs));
    for (size_t i = 0; i < PICTURES; ++i) {
        assert_fine(test_ctx,
                    tn_encoder_encode(test_ctx, theirs, (tn_view){array.values + i * places * dim, places, dim, dim},
                                      (tn_view){array.where + i * places * 3, places, 3, 3}, want));
        assert_memory_equal(got + i * tn_encoder_cols(theirs), want, tn_encoder_cols(theirs) * sizeof *want);
    }
    free(got);
    free(want);
    tn_bytes_free(stored);
    tn_features_close(rows);
    free_network_bags(&array);
    tn_encoder_free(ours);
    tn_encoder_free(theirs);
    tn_encoder_free(again);
    tn_network_free(network);
    tn_network_free(recalled);
    tn_options_free(options);
    tn_pictures_free(pictures);
}

static void tokens_have_no_places(void **state)
{
    (void)state;
    need_engine();
    const named_text bag[] = {{"as", "bag"}}, pyramid[] = {{"pyramid", "1x1,2x2"}};
    tn_pictures *pictures = made_pictures("tokens");
    tn_network *tokens = opened(store_model("tokens.onnx", token_model()), bag, 1);
    tn_network *vectors = opened(store_model("vectors.onnx", conv_model(SIDE, false)), NULL, 0);
    tn_options *options = options_with(pyramid, 1);
    tn_encoder *encoder = NULL;
    assert_fails(test_ctx, TN_ERR_ARG, "bags without positions",
                 tn_encoder_train_network(test_ctx, pictures, tokens, options, NULL, &encoder));
    assert_fails(test_ctx, TN_ERR_ARG, "one vector per picture",
                 tn_encoder_train_network(test_ctx, pictures, vectors, options, NULL, &encoder));
    tn_options_free(options);
    tn_network_free(tokens);
    tn_network_free(vectors);
    tn_pictures_free(pictures);
}

/* ---- memory ---- */

static tn_status encode_and_keep(const scene *s, const char *cache)
{
    tn_features *features[2] = {NULL, NULL};
    tn_status st = tn_features_from_encoders(test_ctx, names, s->pictures, s->encoders + 1, 2, cache, features);
    tn_features_close(features[0]);
    tn_features_close(features[1]);
    return st;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    scene s = made_scene();
    char cache[400];
    bool keep[DRAWN] = {true, true, true};
    snprintf(cache, sizeof cache, "%s/starved", test_folder);
    tnp_pictures_keep(s.pictures, keep);
    size_t live = tnp_live_blocks(test_ctx);
    tn_ctx_set_threads(test_ctx, 1); /* contexts of other threads have allocations of their own */
    for (size_t cached = 0; cached < 2; ++cached) {
        tn_status st = TN_ERR_MEMORY;
        size_t k = 1;
        for (; st == TN_ERR_MEMORY && k < 5000; ++k) {
            tnp_fail_allocation(test_ctx, k);
            st = encode_and_keep(&s, cached ? cache : NULL);
            tnp_fail_allocation(test_ctx, 0);
            assert_int_equal(tnp_live_blocks(test_ctx), live);
        }
        assert_int_equal(st, TN_OK);
        assert_true(k > 20);
    }
    drop_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(together_as_alone_and_from_the_cache),
        cmocka_unit_test(rows_of_a_cache_are_not_made_again),
        cmocka_unit_test(a_head_keeps_its_encoder),
        cmocka_unit_test(a_head_of_other_features_has_none),
        cmocka_unit_test(default_encoders_are_options_of_encoders),
        cmocka_unit_test(bags_of_a_network_are_those_of_an_array),
        cmocka_unit_test(tokens_have_no_places),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
