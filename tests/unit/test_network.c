/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks in an engine: small graphs against the same sums in double, on the same pixels; layers, views, bags; cut
 * graphs against whole ones; threads, several networks at once; what is refused. Without ONNX Runtime these are
 * skipped, see tests/skips.txt. */
#include "network_of.h"

/* relu(conv) at a pixel, in double. */
static double relu_at(size_t picture, size_t x, size_t y, size_t out, double divisor)
{
    double sum = (double)weight_at(100 + out);
    for (size_t c = 0; c < 3; ++c)
        sum += (double)weight_at(out * 3 + c) * (double)byte_of(picture, x, y, c) / divisor;
    return fmax(0, sum);
}

static double mean_of_relu(size_t picture, size_t out, double divisor)
{
    double sum = 0;
    for (size_t y = 0; y < SIDE; ++y)
        for (size_t x = 0; x < SIDE; ++x)
            sum += relu_at(picture, x, y, out, divisor);
    return sum / (SIDE * SIDE);
}

/* Sums of 4 terms of size 1, then of 64 of them: (4 + 64) roundings of float at most, of values up to 4. */
static const double SMALL = 4 * 68 * (double)FLT_EPSILON;

static void the_feature_is_the_sum_it_should_be(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("plain");
    tn_network *network = opened(store_model("conv.onnx", conv_model(SIDE, false)), NULL, 0);
    assert_string_equal(tn_network_layer(network), "feat"); /* of three outputs the one that is called so */
    assert_int_equal(tn_network_cols(network), CONV_OUT);
    assert_int_equal(tn_network_bag(network), 0);
    float *rows = rows_of(network, pictures);
    for (size_t i = 0; i < PICTURES; ++i)
        for (size_t j = 0; j < CONV_OUT; ++j)
            assert_near_at(i * CONV_OUT + j, (double)rows[i * CONV_OUT + j], mean_of_relu(i, j, 255), SMALL);
    free(rows);
    tn_network_free(network);
    tn_pictures_free(pictures);
}

/* A graph of bytes, colours last, of any size. Values are 255 times as large, and so is the rounding. */
static void bytes_with_colours_last(void **state)
{
    (void)state;
    need_engine();
    static const named_text layer[] = {{"layer", "pooled"}};
    message g = conv_model(SIDE, true);
    tn_pictures *pictures = made_pictures("bytes");
    const char *path = store_model("bytes.onnx", g);
    tn_network *network = NULL;
    tn_options *options = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "network", &options));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "layer", layer[0].value));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "size", "8"));
    assert_fails(test_ctx, TN_ERR_ARG, "expected at least 32", tn_network_open(test_ctx, path, options, &network));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "size", "32"));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "crop", "1"));
    assert_fine(test_ctx, tn_network_open(test_ctx, path, options, &network));
    float *rows = rows_of(network, pictures);
    tn_picture *picture = NULL;
    tnp_picture_options seen = tnp_recipe_picture(&network->recipe, network->views);
    assert_fine(test_ctx, tnp_pictures_decode(test_ctx, pictures, 3, 1, &seen, &picture));
    unsigned char tensor[32 * 32 * 3];
    tnp_recipe_fill(&network->recipe, picture, 0, tensor);
    for (size_t j = 0; j < CONV_OUT; ++j) {
        double sum = 0;
        for (size_t p = 0; p < 32 * 32; ++p) {
            double value = (double)weight_at(100 + j);
            for (size_t c = 0; c < 3; ++c)
                value += (double)weight_at(j * 3 + c) * tensor[p * 3 + c];
            sum += fmax(0, value);
        }
        /* 1024 + 4 roundings of sums of values up to 770 */
        assert_near(rows[3 * CONV_OUT + j] / 1024.0, sum / 1024.0 / 1024.0, 1028 * (double)FLT_EPSILON);
    }
    free(rows);
    tn_picture_free(picture);
    tn_options_free(options);
    tn_network_free(network);
    tn_pictures_free(pictures);
}

/* Layer relu, (1, 5, 8, 8), as its mean, its maximum, and as a bag of 64 descriptors. */
static void a_map_is_pooled_or_a_bag(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("maps");
    const char *path = store_model("maps.onnx", conv_model(SIDE, false));
    static const char *const ways[] = {"mean", "max", "bag"};
    for (size_t w = 0; w < 3; ++w) {
        const named_text more[] = {{"layer", "relu"}, {"as", ways[w]}};
        tn_network *network = opened(path, more, 2);
        float *rows = rows_of(network, pictures);
        assert_int_equal(tn_network_bag(network), w == 2 ? SIDE * SIDE : 0);
        for (size_t j = 0; j < CONV_OUT; ++j) {
            double most = 0;
            for (size_t y = 0; y < SIDE; ++y)
                for (size_t x = 0; x < SIDE; ++x) {
                    double v = relu_at(2, x, y, j, 255);
                    most = fmax(most, v);
                    if (w == 2)
                        assert_near(rows[(2 * SIDE * SIDE + y * SIDE + x) * CONV_OUT + j], v, SMALL);
                }
            if (w < 2)
                assert_near(rows[2 * CONV_OUT + j], w == 0 ? mean_of_relu(2, j, 255) : most, SMALL);
        }
        free(rows);
        tn_network_free(network);
    }
    tn_pictures_free(pictures);
}

/* Token t of the model of tokens: layer normalisation, product, Gelu, in double. */
static void token_at(size_t picture, size_t t, double out[TOKEN_DIM])
{
    double x[TOKEN_DIM], mean = 0, variance = 0;
    for (size_t d = 0; d < TOKEN_DIM; ++d) {
        x[d] = t == 0 ? (double)weight_at(300 + d) : 0;
        for (size_t k = 0; t > 0 && k < 3 * PATCH * PATCH; ++k) {
            size_t c = k / (PATCH * PATCH), y = k / PATCH % PATCH, px = k % PATCH;
            size_t gx = (t - 1) % 2 * PATCH + px, gy = (t - 1) / 2 * PATCH + y;
            x[d] += (double)weight_at(d * 3 * PATCH * PATCH + k) * byte_of(picture, gx, gy, c) / 255;
        }
        mean += x[d] / TOKEN_DIM;
    }
    for (size_t d = 0; d < TOKEN_DIM; ++d)
        variance += (x[d] - mean) * (x[d] - mean) / TOKEN_DIM;
    for (size_t e = 0; e < TOKEN_DIM; ++e) {
        double sum = 0;
        for (size_t d = 0; d < TOKEN_DIM; ++d)
            sum += ((x[d] - mean) / sqrt(variance + 1e-5) * (double)weight_at(400 + d) + (double)weight_at(500 + d)) *
                   (double)weight_at(600 + d * TOKEN_DIM + e);
        out[e] = 0.5 * sum * (1 + erf(sum / sqrt(2)));
    }
}

/* Sums of 48 and 6 terms, divided by a deviation of about 1, erf of the engine good to 1e-6. */
static const double TOKENS = 1e-5;

static void tokens_of_a_transformer(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("tokens");
    const char *path = store_model("tokens.onnx", token_model());
    static const char *const ways[] = {"auto", "mean", "bag"};
    for (size_t w = 0; w < 3; ++w) {
        const named_text more[] = {{"as", ways[w]}};
        tn_network *network = opened(path, more, 1);
        float *rows = rows_of(network, pictures);
        for (size_t i = 0; i < PICTURES; ++i) {
            double token[TOKEN_DIM], mean[TOKEN_DIM] = {0};
            for (size_t t = 0; t < 5; ++t) {
                token_at(i, t, token);
                for (size_t d = 0; d < TOKEN_DIM; ++d) {
                    mean[d] += token[d] / 5;
                    if (w == 2)
                        assert_near(rows[(i * 5 + t) * TOKEN_DIM + d], token[d], TOKENS);
                    if (w == 0 && t == 0)
                        assert_near(rows[i * TOKEN_DIM + d], token[d], TOKENS);
                }
            }
            for (size_t d = 0; w == 1 && d < TOKEN_DIM; ++d)
                assert_near(rows[i * TOKEN_DIM + d], mean[d], TOKENS);
        }
        free(rows);
        tn_network_free(network);
    }
    tn_pictures_free(pictures);
}

/* A mirrored picture has the mean of its pixels; of one that is not square the windows differ. The mean over views is
 * that of the tensors of all views, each through the network. */
static void views_are_averaged(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("views");
    const char *path = store_model("views.onnx", token_model());
    static const char *const words[] = {"flip", "ten"};
    for (size_t w = 0; w < 2; ++w) {
        const named_text more[] = {{"views", words[w]}, {"crop", "0.6"}};
        tn_network *network = opened(path, more, 2);
        float *rows = rows_of(network, pictures), values[3 * SIDE * SIDE];
        tn_picture *picture = NULL;
        tnp_picture_options seen = tnp_recipe_picture(&network->recipe, TNP_VIEW_TEN);
        double mean[TOKEN_DIM] = {0};
        size_t views = w ? 10 : 2;
        assert_fine(test_ctx, tnp_pictures_decode(test_ctx, pictures, 4, 1, &seen, &picture));
        assert_int_equal(picture->width, 13); /* 8 / 0.6 */
        for (size_t v = 0; v < views; ++v) {
            tnp_result result;
            char text[TNP_ENGINE_MESSAGE];
            tnp_recipe_fill(&network->recipe, picture, v, values);
            assert_true(tnp_network_run(network, values, NULL, &result, text));
            for (size_t d = 0; d < TOKEN_DIM; ++d)
                mean[d] += (double)((const float *)result.data)[d] / (double)views;
            tnp_result_free(network->session, &result);
        }
        for (size_t d = 0; d < TOKEN_DIM; ++d)
            assert_near(rows[4 * TOKEN_DIM + d], mean[d], 20 * (double)FLT_EPSILON);
        tn_picture_free(picture);
        free(rows);
        tn_network_free(network);
    }
    tn_pictures_free(pictures);
}

/* The whole graph and the one that ends at the layer. */
static void what_is_cut_changes_no_bit(void **state)
{
    (void)state;
    need_engine();
    message m = conv_model(SIDE, false);
    tnp_onnx o = {.path = NULL};
    tnp_engine *engine = NULL;
    tnp_session *whole = NULL;
    tn_network *network = opened(store_model("cut.onnx", conv_model(SIDE, false)), NULL, 0);
    tnp_result a, b;
    float tensor[3 * SIDE * SIDE];
    char text[TNP_ENGINE_MESSAGE];
    const int64_t dims[] = {1, 3, SIDE, SIDE};
    for (size_t i = 0; i < 3 * SIDE * SIDE; ++i)
        tensor[i] = weight_at(i);
    assert_fine(test_ctx, tnp_onnx_parse(test_ctx, "whole", (tnp_bytes){m.data, m.size}, &o));
    assert_fine(test_ctx, tnp_engine_open(test_ctx, &engine));
    assert_fine(test_ctx, tnp_session_open(test_ctx, engine, "whole", m.data, m.size, false, &whole));
    assert_true(tnp_network_run(network, tensor, NULL, &a, text));
    assert_true(tnp_session_run(whole, "image", 1, tensor, sizeof tensor, dims, 4, "feat", &b, text));
    assert_memory_equal(a.data, b.data, CONV_OUT * sizeof(float));
    tnp_result_free(whole, &b);
    tnp_result_free(network->session, &a);
    tnp_session_close(whole);
    tnp_engine_close(engine);
    tnp_onnx_free(&o);
    tn_network_free(network);
    free(m.data);
}

/* What is done before the engine against the engine on the whole graph: bytes of noise, of any width and height. */
static void a_front_changes_no_bit(void **state)
{
    (void)state;
    need_engine();
    static const int kinds[] = {0,
                                FRONT_GATHER,
                                FRONT_RESIZE,
                                FRONT_RESIZE | FRONT_GATHER,
                                FRONT_RESIZE | FRONT_SECOND,
                                FRONT_RESIZE | FRONT_NEAREST,
                                FRONT_RESIZE | FRONT_PER_COLUMN};
    static const char *const ends[] = {"divided", "divided", "divided", "divided", "planes", "planes", "resized"};
    enum { WIDE = 37 };
    static const named_text size[] = {{"size", "37"}};
    unsigned char noise[WIDE * WIDE * 3];
    for (size_t i = 0; i < sizeof noise; ++i)
        noise[i] = (unsigned char)(128 + 127 * sin(0.7 * (double)i * (double)i));
    for (size_t k = 0; k < 7; ++k) {
        message m = front_model(kinds[k]);
        const int64_t dims[] = {1, WIDE, WIDE, 3};
        tnp_session *whole = NULL;
        tnp_result a, b;
        char text[TNP_ENGINE_MESSAGE];
        tn_network *network = opened(store_model("front.onnx", front_model(kinds[k])), size, 1);
        assert_non_null(network->front);
        assert_string_equal(network->front->name, ends[k]);
        float *space = malloc(tnp_network_space(network) * sizeof *space);
        assert_fine(test_ctx, tnp_session_open(test_ctx, network->engine, "whole", m.data, m.size, false, &whole));
        assert_true(tnp_network_run(network, noise, space, &a, text));
        assert_true(tnp_session_run(whole, "img", TNP_ONNX_UINT8, noise, sizeof noise, dims, 4, "feat", &b, text));
        assert_memory_equal(a.data, b.data, CONV_OUT * sizeof(float));
        tnp_result_free(whole, &b);
        tnp_result_free(network->session, &a);
        tnp_session_close(whole);
        tn_network_free(network);
        free(space);
        free(m.data);
    }
}

static void threads_and_company_change_no_bit(void **state)
{
    (void)state;
    need_engine();
    tn_pictures *pictures = made_pictures("threads");
    tn_network *conv = opened(store_model("a.onnx", conv_model(SIDE, false)), NULL, 0);
    tn_network *tokens = opened(store_model("b.onnx", token_model()), NULL, 0);
    const tn_network *const both[] = {conv, tokens};
    float *alone[2] = {rows_of(conv, pictures), rows_of(tokens, pictures)};
    for (size_t threads = 1; threads <= 7; threads += 3) {
        float *rows[2] = {calloc(PICTURES * CONV_OUT, sizeof(float)), calloc(PICTURES * TOKEN_DIM, sizeof(float))};
        tn_ctx_set_threads(test_ctx, threads);
        assert_fine(test_ctx, tnp_networks_rows(test_ctx, both, 2, pictures, 0, PICTURES, rows));
        assert_memory_equal(rows[0], alone[0], PICTURES * CONV_OUT * sizeof(float));
        assert_memory_equal(rows[1], alone[1], PICTURES * TOKEN_DIM * sizeof(float));
        free(rows[0]);
        free(rows[1]);
    }
    tn_ctx_set_threads(test_ctx, 0);
    free(alone[0]);
    free(alone[1]);
    tn_network_free(conv);
    tn_network_free(tokens);
    tn_pictures_free(pictures);
}

/* ---- failures ---- */

static void refuse_model(const char *path, const named_text *more, size_t count, tn_status status, const char *part)
{
    tn_network *network = NULL;
    tn_options *options = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "network", &options));
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, more[i].name, more[i].value));
    assert_fails(test_ctx, status, part, tn_network_open(test_ctx, path, options, &network));
    assert_null(network);
    tn_options_free(options);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    need_engine();
    const char *conv = store_model("e.onnx", conv_model(SIDE, false));
    const named_text layer[] = {{"layer", "poled"}}, size[] = {{"size", "64"}}, bag[] = {{"as", "bag"}},
                     views[] = {{"layer", "relu"}, {"as", "bag"}, {"views", "flip"}}, list[] = {{"mean", "1,2"}};
    refuse_model(conv, layer, 1, TN_ERR_ARG, "did you mean pooled?");
    refuse_model(conv, size, 1, TN_ERR_ARG, "its input is 8 x 8");
    refuse_model(conv, bag, 1, TN_ERR_UNSUPPORTED, "expected a map or tokens");
    refuse_model(conv, views, 3, TN_ERR_ARG, "have no average");
    refuse_model(conv, list, 1, TN_ERR_ARG, "got 2 numbers");
    refuse_model("nowhere.onnx", NULL, 0, TN_ERR_IO, "nowhere.onnx");
    message text = {NULL, 0}, m, opset = conv_model(SIDE, false);
    put_raw(&text, "not a network at all", 20);
    refuse_model(store_model("f.onnx", text), NULL, 0, TN_ERR_FORMAT, "expected an .onnx model");
    free(opset.data);
    m = (message){NULL, 0};
    const int in[] = {1, 3, SIDE, SIDE, -1};
    put_inside(&m, 11, value_of("image", 1, in));
    put_node(&m, "Imagined", "image", "feat", NULL, NULL, 0);
    put_inside(&m, 12, value_of("feat", 1, in));
    refuse_model(store_model("g.onnx", model_of(m, 17)), NULL, 0, TN_ERR_UNSUPPORTED, "refuses it");
    m = (message){NULL, 0};
    put_inside(&m, 11, value_of("image", 1, in));
    put_node(&m, "Relu", "image", "feat", NULL, NULL, 0);
    put_inside(&m, 12, value_of("feat", 1, in));
    refuse_model(store_model("h.onnx", model_of(m, 999)), NULL, 0, TN_ERR_UNSUPPORTED, "refuses it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_feature_is_the_sum_it_should_be),
        cmocka_unit_test(bytes_with_colours_last),
        cmocka_unit_test(a_map_is_pooled_or_a_bag),
        cmocka_unit_test(tokens_of_a_transformer),
        cmocka_unit_test(views_are_averaged),
        cmocka_unit_test(what_is_cut_changes_no_bit),
        cmocka_unit_test(a_front_changes_no_bit),
        cmocka_unit_test(threads_and_company_change_no_bit),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
