/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Refinement of encoders of a network's maps and tokens: from pictures through the network it is, to the bit, that from
 * the same values as bags. These tests need ONNX Runtime, see tests/skips.txt. */
#include "network_of.h"

#include "encode/encoder.h"

static tn_options *options_of(const named_text *list, size_t count)
{
    tn_options *options = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "encoder", &options));
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, list[i].name, list[i].value));
    return options;
}

static tn_labels *some_labels(void)
{
    int64_t numbers[PICTURES];
    tn_labels *labels = NULL;
    for (size_t i = 0; i < PICTURES; ++i)
        numbers[i] = (int64_t)(i % 3 == 0);
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, numbers, PICTURES, NULL, 0, &labels));
    return labels;
}

static void assert_same_encoder(const tn_encoder *a, const tn_encoder *b)
{
    size_t kd = a->mixture.count * a->dim;
    assert_int_equal(a->mixture.count, b->mixture.count);
    assert_int_equal(a->projection.to, b->projection.to);
    assert_memory_equal(a->mixture.weights, b->mixture.weights, a->mixture.count * sizeof(float));
    assert_memory_equal(a->mixture.means, b->mixture.means, kd * sizeof(float));
    assert_memory_equal(a->mixture.variances, b->mixture.variances, kd * sizeof(float));
    if (a->projection.to)
        assert_memory_equal(a->projection.basis, b->projection.basis, a->projection.to * a->from * sizeof(float));
}

/* An encoder of the network's bags, refined from pictures and from an array. */
static void check_network(const tn_network *network, const char *folder, const char *pyramid, const char *learn)
{
    const named_text words[] = {{"words", "2"}, {"pca", "3"}, {"pyramid", pyramid}, {"norm", "l2"}};
    const named_text rounds[] = {{"rounds", "3"}, {"C", "100"},    {"holdout", "0"},
                                 {"twice", "no"}, {"soften", "0"}, {"learn", learn}};
    tn_pictures *pictures = made_pictures(folder);
    network_bags array = bags_of_network(network, pictures);
    tn_labels *labels = some_labels();
    tn_options *train = options_of(words, 4), *refine = options_of(rounds, 6);
    tn_encoder *ours = NULL, *theirs = NULL, *seen = NULL, *given = NULL;
    tn_refine_info *info = NULL;
    tn_refine_data from_pictures = {pictures, NULL, labels}, from_bags = {NULL, array.bags, labels};
    assert_fine(test_ctx, tn_encoder_train_network(test_ctx, pictures, network, train, NULL, &ours));
    assert_fine(test_ctx, tn_encoder_train_bags(test_ctx, array.bags, train, NULL, &theirs));
    assert_fine(test_ctx, tn_encoder_refine(test_ctx, ours, &from_pictures, NULL, refine, &info, &seen));
    assert_fine(test_ctx, tn_encoder_refine(test_ctx, theirs, &from_bags, NULL, refine, NULL, &given));
    assert_true(info->round_count > 1 && info->rounds[1].objective < info->rounds[0].objective);
    assert_int_equal(info->descriptors, PICTURES * tn_network_bag(network));
    assert_same_encoder(seen, given);
    assert_true(memcmp(seen->mixture.means, ours->mixture.means, 2 * ours->dim * sizeof(float)) != 0 ||
                memcmp(seen->projection.basis, ours->projection.basis, 3 * ours->from * sizeof(float)) != 0);
    assert_string_equal(tn_encoder_network(seen), tn_encoder_network(ours)); /* it remembers the network */
    tn_refine_info_free(info);
    tn_encoder_free(ours);
    tn_encoder_free(theirs);
    tn_encoder_free(seen);
    tn_encoder_free(given);
    tn_options_free(train);
    tn_options_free(refine);
    tn_labels_free(labels);
    free_network_bags(&array);
    tn_pictures_free(pictures);
}

static void maps_and_tokens_are_refined_as_bags_are(void **state)
{
    (void)state;
    need_engine();
    const named_text map[] = {{"as", "bag"}, {"layer", "relu"}}, bag[] = {{"as", "bag"}};
    tn_network *maps = opened(store_model("refined_maps.onnx", conv_model(SIDE, false)), map, 2);
    tn_network *tokens = opened(store_model("refined_tokens.onnx", token_model()), bag, 1);
    check_network(maps, "refined_maps", "1x1,2x2", "mixture");
    check_network(maps, "refined_maps", "1x1,2x2", "both");
    check_network(tokens, "refined_tokens", "1x1", "projection");
    tn_network_free(maps);
    tn_network_free(tokens);
}

/* An encoder from a file knows its network by name only. */
static void a_network_must_be_there(void **state)
{
    (void)state;
    need_engine();
    const named_text map[] = {{"as", "bag"}, {"layer", "relu"}}, words[] = {{"words", "2"}},
                     rounds[] = {{"rounds", "1"}};
    tn_network *network = opened(store_model("alone.onnx", conv_model(SIDE, false)), map, 2);
    tn_pictures *pictures = made_pictures("alone");
    tn_labels *labels = some_labels();
    tn_options *train = options_of(words, 1), *refine = options_of(rounds, 1);
    tn_encoder *made = NULL, *again = NULL, *refined = NULL;
    void *stored = NULL;
    size_t size = 0;
    tn_refine_data data = {pictures, NULL, labels};
    assert_fine(test_ctx, tn_encoder_train_network(test_ctx, pictures, network, train, NULL, &made));
    assert_fine(test_ctx, tn_encoder_to_bytes(test_ctx, made, NULL, &stored, &size));
    assert_fine(test_ctx, tn_encoder_from_bytes(test_ctx, stored, size, NULL, &again));
    assert_fails(test_ctx, TN_ERR_ARG, "bags of a network, which must be set",
                 tn_encoder_refine(test_ctx, again, &data, NULL, refine, NULL, &refined));
    assert_null(refined);
    assert_fine(test_ctx, tn_encoder_set_network(test_ctx, again, network));
    assert_fine(test_ctx, tn_encoder_refine(test_ctx, again, &data, NULL, refine, NULL, &refined));
    tn_bytes_free(stored);
    tn_encoder_free(made);
    tn_encoder_free(again);
    tn_encoder_free(refined);
    tn_options_free(train);
    tn_options_free(refine);
    tn_labels_free(labels);
    tn_pictures_free(pictures);
    tn_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps_and_tokens_are_refined_as_bags_are),
                                       cmocka_unit_test(a_network_must_be_there)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
