/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of networks in files, features and the cache; what a head remembers of its networks; failing allocations. Without
 * ONNX Runtime most are skipped, see tests/skips.txt. */
#include "network_of.h"

static void assert_same_values(const tn_features *features, const float *want, size_t cols)
{
    float *got = calloc(PICTURES * cols, sizeof *got);
    assert_int_equal(tn_features_rows(features), PICTURES);
    assert_int_equal(tn_features_cols(features), cols);
    assert_fine(test_ctx, tn_features_read(test_ctx, features, NULL, 0, PICTURES, 0, cols, got));
    assert_memory_equal(got, want, PICTURES * cols * sizeof *got);
    free(got);
}

/* Files in the folders of a cache. */
static size_t blocks_in(const char *cache)
{
    size_t count = 0;
    DIR *dir = opendir(cache);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.') {
            char path[900];
            snprintf(path, sizeof path, "%s/%s/000000.npy", cache, entry->d_name);
            count += access(path, R_OK) == 0;
        }
    if (dir)
        closedir(dir);
    return count;
}

static void features_come_from_the_cache(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("cached");
    tn_network *conv = opened(store_model("c.onnx", conv_model(SIDE, false)), NULL, 0);
    const tn_network *const networks[] = {conv};
    const char *const names[] = {"conv"};
    float *want = rows_of(conv, pictures);
    char cache[400];
    snprintf(cache, sizeof cache, "%s/cache", test_folder);
    for (size_t pass = 0; pass < 4; ++pass) {
        tn_features *features = NULL;
        assert_fine(test_ctx,
                    tn_features_from_networks(test_ctx, names, pictures, networks, 1, pass ? cache : NULL, &features));
        assert_same_values(features, want, CONV_OUT);
        assert_string_equal(tn_features_name(features), "conv");
        assert_string_equal(tn_features_about(features), tn_network_about(conv));
        assert_string_equal(tn_features_ids(features)[3], "03.png");
        tn_features_close(features);
        assert_int_equal(blocks_in(cache), pass ? 1 : 0);
        if (pass == 2) { /* a block that is cut off is made again */
            DIR *dir = opendir(cache);
            for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
                if (entry->d_name[0] != '.') {
                    char path[900];
                    snprintf(path, sizeof path, "%s/%s/000000.npy", cache, entry->d_name);
                    assert_int_equal(truncate(path, 200), 0);
                }
            closedir(dir);
        }
    }
    const named_text other[] = {{"views", "flip"}};
    tn_network *flipped = opened(store_model("c.onnx", conv_model(SIDE, false)), other, 1);
    const tn_network *const second[] = {flipped};
    tn_features *features = NULL;
    assert_fine(test_ctx, tn_features_from_networks(test_ctx, names, pictures, second, 1, cache, &features));
    assert_int_equal(blocks_in(cache), 2); /* other options, another place */
    tn_features_close(features);
    tn_network_free(flipped);
    free(want);
    tn_network_free(conv);
    tn_pictures_free(pictures);
}

static void bags_are_arrays_of_three_dimensions(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("bags");
    const named_text more[] = {{"as", "bag"}};
    tn_network *tokens = opened(store_model("d.onnx", token_model()), more, 1);
    const tn_network *const networks[] = {tokens};
    float *want = rows_of(tokens, pictures), got[5 * TOKEN_DIM];
    char path[400];
    const char *const paths[] = {path};
    tn_bags *bags = NULL;
    tn_features *features = NULL;
    const char *const names[] = {"tokens"};
    snprintf(path, sizeof path, "%s/tokens.npy", test_folder);
    assert_fine(test_ctx, tn_extract_networks(test_ctx, pictures, networks, 1, paths, NULL, NULL));
    assert_fine(test_ctx, tn_bags_open_arrays(test_ctx, path, NULL, &bags));
    assert_int_equal(tn_bags_count(bags), PICTURES);
    assert_fine(test_ctx, tn_bags_read(test_ctx, bags, 7, 1, got, NULL));
    assert_memory_equal(got, want + 7 * 5 * TOKEN_DIM, sizeof got);
    assert_fails(test_ctx, TN_ERR_ARG, "makes bags",
                 tn_features_from_networks(test_ctx, names, pictures, networks, 1, NULL, &features));
    tn_bags_free(bags);
    free(want);
    tn_network_free(tokens);
    tn_pictures_free(pictures);
}

/* ---- heads ---- */

static void a_head_remembers_its_network(void **state)
{
    (void)state;
    need_engine();
    const char *path = store_model("i.onnx", conv_model(SIDE, false)), *other;
    const named_text more[] = {{"layer", "relu"}, {"as", "max"}, {"views", "flip"}, {"resample", "bicubic"}};
    tn_network *network = opened(path, more, 4), *again = NULL;
    tn_pictures *pictures = made_pictures("heads");
    float *want = rows_of(network, pictures);
    assert_fine(test_ctx, tn_network_recall(test_ctx, tn_network_about(network), NULL, false, &again));
    assert_string_equal(tn_network_about(again), tn_network_about(network));
    float *got = rows_of(again, pictures);
    assert_memory_equal(got, want, PICTURES * CONV_OUT * sizeof *got);
    tn_network_free(again);
    again = NULL;
    other = store_model("j.onnx", token_model());
    assert_fails(test_ctx, TN_ERR_DATA, "but the head was trained with a network of hash",
                 tn_network_recall(test_ctx, tn_network_about(network), other, false, &again));
    assert_fails(test_ctx, TN_ERR_ARG, "no layer 'relu'",
                 tn_network_recall(test_ctx, tn_network_about(network), other, true, &again));
    static const char *const broken[] = {"", "[]", "{}", "{\"network\":3}"};
    for (size_t i = 0; i < 4; ++i)
        assert_fails(test_ctx, TN_ERR_FORMAT, "network", tn_network_recall(test_ctx, broken[i], NULL, false, &again));
    free(got);
    free(want);
    tn_network_free(network);
    tn_pictures_free(pictures);
}

/* Through bytes of a head and back. */
static void what_made_features_goes_with_the_head(void **state)
{
    (void)state;
    static float x[8 * 2] = {0, 1, 1, 0, 0, 2, 2, 0, 0, 3, 3, 0, 1, 4, 4, 1};
    const int64_t numbers[] = {0, 1, 0, 1, 0, 1, 0, 1};
    tn_array array = tn_array_compact(x, TN_F32, 8, 2);
    tn_features *features = NULL;
    tn_labels *labels = NULL;
    tn_options *options = NULL;
    tn_head *head = NULL, *again = NULL;
    tn_fit_info *info = NULL;
    void *whole = NULL;
    size_t size = 0;
    assert_fine(test_ctx, tn_features_from_array(test_ctx, "x", &array, &features));
    assert_null(tn_features_about(features));
    assert_fine(test_ctx, tn_features_set_about(test_ctx, features, "{\"network\":\"a \\\"b\\\"\"}"));
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, 8, NULL, 0, &labels));
    assert_fine(test_ctx, tn_options_new(test_ctx, "fit", &options));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "method", "evidence"));
    const tn_features *const list[] = {features};
    assert_fine(test_ctx, tn_fit(test_ctx, list, 1, labels, options, &info, &head));
    assert_fine(test_ctx, tn_head_to_bytes(test_ctx, head, NULL, &whole, &size));
    assert_fine(test_ctx, tn_head_from_bytes(test_ctx, whole, size, NULL, &again));
    assert_string_equal(tn_head_about(again, 0), "{\"network\":\"a \\\"b\\\"\"}");
    tn_bytes_free(whole);
    tn_head_free(again);
    tn_head_free(head);
    tn_fit_info_free(info);
    tn_options_free(options);
    tn_labels_free(labels);
    tn_features_close(features);
}

/* Without an engine too: a sentence with the ways to get one. */
static void no_engine_is_a_sentence(void **state)
{
    (void)state;
    tn_engine engine;
    const char *before = getenv("TENON_ONNXRUNTIME");
    char *kept = before ? strdup(before) : NULL;
    setenv("TENON_ONNXRUNTIME", test_folder, 1);
    assert_fails(test_ctx, TN_ERR_UNSUPPORTED, "names no ONNX Runtime; install", tn_engine_look(test_ctx, &engine));
    if (kept)
        setenv("TENON_ONNXRUNTIME", kept, 1);
    else
        unsetenv("TENON_ONNXRUNTIME");
    free(kept);
}

static tn_status open_and_run(void *arg)
{
    tn_pictures *pictures = arg;
    tn_network *network = NULL;
    tn_features *features = NULL;
    const char *const names[] = {"x"};
    char path[400];
    snprintf(path, sizeof path, "%s/alloc.onnx", test_folder);
    tn_status st = tn_network_open(test_ctx, path, NULL, &network);
    const tn_network *const networks[] = {network};
    if (st == TN_OK)
        st = tn_features_from_networks(test_ctx, names, pictures, networks, 1, NULL, &features);
    tn_features_close(features);
    tn_network_free(network);
    return st;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("alloc");
    store_model("alloc.onnx", conv_model(SIDE, false));
    size_t live = tnp_live_blocks(test_ctx), k = 1;
    tn_status st = TN_ERR_MEMORY;
    for (; st == TN_ERR_MEMORY && k < 2000; ++k) {
        tnp_fail_allocation(test_ctx, k);
        st = open_and_run(pictures);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), live);
    }
    assert_int_equal(st, TN_OK);
    assert_true(k > 20);
    tn_pictures_free(pictures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_come_from_the_cache), cmocka_unit_test(bags_are_arrays_of_three_dimensions),
        cmocka_unit_test(a_head_remembers_its_network), cmocka_unit_test(what_made_features_goes_with_the_head),
        cmocka_unit_test(no_engine_is_a_sentence),      cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
