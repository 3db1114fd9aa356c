/* SPDX-License-Identifier: BSD-3-Clause
 *
 * .onnx files without an engine: what is read of a graph, what is cut off, what is refused, and what pictures become. */
#include "fixtures/networks.h"
#include "describe/net/network.h"

#include <float.h>

static tnp_onnx parsed(message m)
{
    tnp_onnx o = {.path = NULL};
    assert_fine(test_ctx, tnp_onnx_parse(test_ctx, "made.onnx", (tnp_bytes){m.data, m.size}, &o));
    return o;
}

static bool is_called(tnp_bytes name, const char *text)
{
    return name.size == strlen(text) && memcmp(name.data, text, name.size) == 0;
}

static void a_graph_is_read(void **state)
{
    (void)state;
    message m = conv_model(8, false);
    tnp_onnx o = parsed(m);
    const tnp_onnx_value *in = NULL;
    assert_int_equal(o.node_count, 6);
    assert_int_equal(o.layer_count, 6);
    assert_int_equal(o.constant_count, 3);
    assert_int_equal(o.output_count, 3);
    assert_int_equal(o.opset, 17);
    assert_fine(test_ctx, tnp_onnx_input(test_ctx, &o, &in));
    assert_true(is_called(in->name, "image"));
    assert_int_equal(in->type, 1);
    assert_int_equal(in->rank, 4);
    assert_int_equal(in->dims[0], -1);
    assert_int_equal(in->dims[3], 8);
    assert_false(o.branches);
    tnp_onnx_free(&o);
    free(m.data);
}

/* feat needs conv, relu, pool and flatten, with w and b; relu ends before the pool. */
static void what_does_not_lead_to_the_layer_is_cut(void **state)
{
    (void)state;
    static const struct {
        const char *layer;
        size_t nodes, constants;
    } wanted[] = {{"feat", 4, 2}, {"relu", 2, 2}, {"logits", 5, 3}, {"extra", 2, 2}};
    message m = conv_model(8, false);
    tnp_onnx o = parsed(m);
    for (size_t i = 0; i < 4; ++i) {
        tnp_bytes layer = {(const unsigned char *)wanted[i].layer, strlen(wanted[i].layer)};
        tnp_text text;
        tnp_text_init(&text, test_ctx);
        assert_fine(test_ctx, tnp_onnx_cut(test_ctx, &o, NULL, &layer, 1, &text));
        tnp_onnx cut = parsed((message){(unsigned char *)text.data, text.used});
        assert_int_equal(cut.node_count, wanted[i].nodes);
        assert_int_equal(cut.constant_count, wanted[i].constants);
        assert_int_equal(cut.output_count, 1);
        assert_true(is_called(cut.outputs[0].name, wanted[i].layer));
        tnp_onnx_free(&cut);
        tnp_text_destroy(&text);
    }
    tnp_onnx_free(&o);
    free(m.data);
}

/* Where the front of a graph ends, "" for none; of the layer feat unless another is named. */
static const char *front_end(message m, const char *layer, tnp_front *front)
{
    static char name[40];
    tnp_onnx o = parsed(m);
    tnp_bytes end = {(const unsigned char *)layer, strlen(layer)};
    bool found = tnp_onnx_front(&o, &o.inputs[0], true, end, front);
    assert_int_equal(found, front->name.size != 0);
    snprintf(name, sizeof name, "%.*s", (int)front->name.size, found ? (const char *)front->name.data : "");
    front->name = (tnp_bytes){NULL, 0};
    tnp_onnx_free(&o);
    free(m.data);
    return name;
}

static void a_front_is_a_table_per_channel(void **state)
{
    (void)state;
    static const float off[] = {123.675F, 116.28F, 103.53F};
    tnp_front front;
    assert_string_equal(front_end(front_model(FRONT_GATHER), "feat", &front), "divided");
    assert_false(front.resizes);
    for (size_t c = 0; c < 3; ++c) {
        assert_int_equal(front.source[c], 2 - c);
        for (size_t i = 0; i < 256; ++i) {
            volatile float minus = (float)i - off[c], divided = minus / 57.375F;
            assert_true(front.table[c][i] == divided);
        }
    }
    assert_string_equal(front_end(front_model(FRONT_RESIZE), "feat", &front), "divided");
    assert_true(front.resizes);
    assert_int_equal(front.step_count, 2);
    assert_int_equal(front.steps[0].op, TNP_FRONT_SUB);
    assert_int_equal(front.steps[1].op, TNP_FRONT_DIV);
    assert_true(front.steps[0].value[1] == off[1] && front.steps[1].value[2] == 57.375F);
    assert_true(front.table[1][77] == 77);
}

/* At what something else looks at, at what is no constant per channel, at another resize, before the layer itself. */
static void a_front_ends_where_something_else_comes(void **state)
{
    (void)state;
    tnp_front front;
    assert_string_equal(front_end(front_model(FRONT_SECOND), "feat", &front), "planes");
    assert_string_equal(front_end(front_model(FRONT_PER_COLUMN), "feat", &front), "planes");
    assert_string_equal(front_end(front_model(FRONT_RESIZE | FRONT_SECOND), "feat", &front), "planes");
    assert_string_equal(front_end(front_model(FRONT_RESIZE | FRONT_NEAREST), "feat", &front), "planes");
    assert_string_equal(front_end(front_model(0), "minus", &front), "planes");
    assert_string_equal(front_end(front_model(0), "planes", &front), "");
    assert_string_equal(front_end(front_model(0), "wide", &front), "");
    assert_string_equal(front_end(conv_model(0, true), "feat", &front), "planes");
}

static void a_graph_may_begin_at_what_is_given(void **state)
{
    (void)state;
    message m = front_model(FRONT_RESIZE);
    tnp_onnx o = parsed(m);
    tnp_bytes layer = {(const unsigned char *)"feat", 4};
    tnp_onnx_given given = {{(const unsigned char *)"divided", 7}, {1, 3, FRONT_SIDE, 300}};
    tnp_text text;
    tnp_text_init(&text, test_ctx);
    assert_fine(test_ctx, tnp_onnx_cut(test_ctx, &o, &given, &layer, 1, &text));
    tnp_onnx cut = parsed((message){(unsigned char *)text.data, text.used});
    assert_int_equal(cut.node_count, 3);
    assert_int_equal(cut.constant_count, 2);
    assert_int_equal(cut.input_count, 1);
    assert_true(is_called(cut.inputs[0].name, "divided"));
    assert_int_equal(cut.inputs[0].type, TNP_ONNX_FLOAT);
    assert_int_equal(cut.inputs[0].rank, 4);
    for (size_t d = 0; d < 4; ++d)
        assert_int_equal(cut.inputs[0].dims[d], given.dims[d]);
    tnp_onnx_free(&cut);
    tnp_text_destroy(&text);
    tnp_onnx_free(&o);
    free(m.data);
}

/* A node that holds a graph may use any name around it. */
static void a_graph_with_branches_keeps_its_nodes(void **state)
{
    (void)state;
    message inner = {NULL, 0}, attribute = {NULL, 0}, node = {NULL, 0}, g = {NULL, 0};
    const int any[] = {1, 3, 8, 8, -1};
    put_node(&inner, "Identity", "image", "inside", NULL, NULL, 0);
    put_words(&attribute, 1, "then_branch");
    put_inside(&attribute, 6, inner);
    put_list(&node, 1, "image");
    put_list(&node, 2, "other");
    put_words(&node, 4, "If");
    put_inside(&node, 5, attribute);
    put_inside(&g, 11, value_of("image", 1, any));
    put_inside(&g, 1, node);
    put_node(&g, "Relu", "image", "feat", NULL, NULL, 0);
    put_inside(&g, 12, value_of("other", 1, any));
    message m = model_of(g, 17);
    tnp_onnx o = parsed(m);
    tnp_bytes layer = {(const unsigned char *)"feat", 4};
    tnp_text text;
    tnp_text_init(&text, test_ctx);
    assert_true(o.branches);
    assert_fine(test_ctx, tnp_onnx_cut(test_ctx, &o, NULL, &layer, 1, &text));
    tnp_onnx cut = parsed((message){(unsigned char *)text.data, text.used});
    assert_int_equal(cut.node_count, 2);
    assert_int_equal(cut.output_count, 1);
    tnp_onnx_free(&cut);
    tnp_text_destroy(&text);
    tnp_onnx_free(&o);
    free(m.data);
}

static void a_wrong_layer_has_the_nearest_name(void **state)
{
    (void)state;
    message m = conv_model(8, false);
    tnp_onnx o = parsed(m);
    assert_fine(test_ctx, tnp_onnx_check_layer(test_ctx, &o, "pooled"));
    assert_fails(test_ctx, TN_ERR_ARG, "did you mean pooled?", tnp_onnx_check_layer(test_ctx, &o, "pooling"));
    assert_fails(test_ctx, TN_ERR_ARG, "did you mean logits?", tnp_onnx_check_layer(test_ctx, &o, "gits"));
    assert_fails(test_ctx, TN_ERR_ARG, "no layer 'last_hidden_state' among 6, which tenon info lists",
                 tnp_onnx_check_layer(test_ctx, &o, "last_hidden_state"));
    assert_fails(test_ctx, TN_ERR_ARG, "no layer ''", tnp_onnx_check_layer(test_ctx, &o, ""));
    tnp_onnx_free(&o);
    free(m.data);
}

/* ---- what is refused ---- */

static void refuse(message m, tn_status status, const char *part)
{
    tnp_onnx o = {.path = NULL};
    assert_fails(test_ctx, status, part, tnp_onnx_parse(test_ctx, "made.onnx", (tnp_bytes){m.data, m.size}, &o));
    tnp_onnx_free(&o);
    free(m.data);
}

/* A graph whose one tensor is this, as an initialiser, or within a node as the value of a constant. */
static message model_around(message tensor, bool in_node)
{
    message g = {NULL, 0}, node = {NULL, 0}, attribute = {NULL, 0};
    const int any[] = {1, 3, 8, 8, -1};
    if (in_node) {
        put_words(&attribute, 1, "value");
        put_inside(&attribute, 5, tensor);
        put_list(&node, 2, "c");
        put_words(&node, 4, "Constant");
        put_inside(&node, 5, attribute);
        put_inside(&g, 1, node);
    } else
        put_inside(&g, 5, tensor);
    put_inside(&g, 11, value_of("image", 1, any));
    put_node(&g, "Relu", "image", "feat", NULL, NULL, 0);
    put_inside(&g, 12, value_of("feat", 1, any));
    return model_of(g, 17);
}

static message external_tensor(bool by_location)
{
    message t = {NULL, 0}, entry = {NULL, 0};
    put_number(&t, 1, 4);
    put_number(&t, 2, 1);
    put_words(&t, 8, "w");
    put_words(&entry, 1, "location");
    put_words(&entry, 2, "../../etc/passwd");
    if (by_location) {
        put_number(&t, 14, 1);
        free(entry.data);
    } else
        put_inside(&t, 13, entry);
    return t;
}

static void tensors_in_other_files_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i)
        refuse(model_around(external_tensor(i & 1), i & 2), TN_ERR_UNSUPPORTED, "another file");
}

static void tensors_larger_than_their_bytes_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        message t = {NULL, 0}, packed = {NULL, 0};
        put_varint(&packed, 1u << 30);
        put_varint(&packed, 1u << 30);
        put_inside(&t, 1, packed);
        put_number(&t, 2, 1);
        put_bytes(&t, 9, "abcd", 4);
        refuse(model_around(t, i), TN_ERR_FORMAT, "more elements than it has bytes for");
        message negative = {NULL, 0};
        put_number(&negative, 1, (uint64_t)-4);
        put_number(&negative, 2, 1);
        refuse(model_around(negative, i), TN_ERR_FORMAT, "negative");
    }
}

static void graphs_within_graphs_have_a_limit(void **state)
{
    (void)state;
    message g = {NULL, 0};
    for (int depth = 0; depth < 40; ++depth) {
        message attribute = {NULL, 0}, node = {NULL, 0}, around = {NULL, 0};
        put_inside(&attribute, 6, g);
        put_inside(&node, 5, attribute);
        put_inside(&around, 1, node);
        g = around;
    }
    refuse(model_of(g, 17), TN_ERR_FORMAT, "too deep");
}

/* Cut off anywhere, or with any byte changed, a file is read or refused; never more than that. */
static void broken_files_are_refused(void **state)
{
    (void)state;
    message m = conv_model(8, false);
    for (size_t i = 0; i < m.size; ++i) {
        tnp_onnx o = {.path = NULL};
        unsigned char *copy = malloc(i + 1); /* of its own, so that a sanitizer sees the end */
        memcpy(copy, m.data, i);
        assert_int_not_equal(tnp_onnx_parse(test_ctx, "cut", (tnp_bytes){copy, i}, &o), TN_OK);
        tnp_onnx_free(&o);
        free(copy);
        memset(&o, 0, sizeof o);
        m.data[i] ^= 0x55;
        (void)tnp_onnx_parse(test_ctx, "changed", (tnp_bytes){m.data, m.size}, &o);
        tnp_onnx_free(&o);
        m.data[i] ^= 0x55;
    }
    free(m.data);
    refuse((message){calloc(1, 1), 0}, TN_ERR_FORMAT, "no graph");
}

/* ---- preparation ---- */

static tnp_recipe recipe_of(const char *json, bool of_bytes, const tnp_recipe_options *options)
{
    tnp_recipe r;
    tnp_recipe_options none;
    tnp_recipe_options_default(&none);
    const char *path = store_model("recipe.onnx", conv_model(0, of_bytes));
    char beside[500];
    snprintf(beside, sizeof beside, "%s/recipe.json", test_folder);
    remove(beside);
    if (json) {
        FILE *file = fopen(beside, "w");
        fputs(json, file);
        fclose(file);
    }
    tnp_bytes owned = {NULL, 0};
    tnp_onnx o = {.path = NULL};
    assert_fine(test_ctx, tnp_onnx_open(test_ctx, path, &owned, &o));
    assert_fine(test_ctx, tnp_recipe_make(test_ctx, &o, options ? options : &none, &r));
    tnp_onnx_free(&o);
    tnp_bytes_free(&owned);
    remove(beside);
    return r;
}

static void preparation_comes_from_the_graph(void **state)
{
    (void)state;
    tnp_recipe r = recipe_of(NULL, false, NULL);
    assert_int_equal(r.width, 224);
    assert_int_equal(r.shorter, 256);
    assert_false(r.nhwc);
    assert_false(r.bytes);
    assert_near(r.mean[0], 0.485, 0);
    r = recipe_of(NULL, true, NULL);
    assert_true(r.nhwc);
    assert_true(r.bytes);
}

static void preparation_comes_from_hugging_face(void **state)
{
    (void)state;
    tnp_recipe r = recipe_of("{\"do_resize\":true,\"size\":{\"shortest_edge\":232},\"crop_size\":{\"height\":200,"
                             "\"width\":192},\"do_center_crop\":true,\"resample\":3,\"rescale_factor\":0.5,"
                             "\"image_mean\":[0.1,0.2,0.3],\"image_std\":[1,2,4]}",
                             false, NULL);
    assert_int_equal(r.width, 192);
    assert_int_equal(r.height, 200);
    assert_int_equal(r.shorter, 232);
    assert_int_equal(r.kernel, TNP_CUBIC);
    assert_near(r.scale, 0.5, 0);
    assert_near(r.mean[2], 0.3, 0);
    assert_near(r.std[2], 4, 0);
    r = recipe_of("{\"size\":{\"height\":96,\"width\":80},\"do_normalize\":false,\"image_mean\":[9,9,9]}", false, NULL);
    assert_int_equal(r.shorter, 0);
    assert_int_equal(r.resize_width, 80);
    assert_int_equal(r.height, 96);
    assert_near(r.mean[0], 0, 0);
    assert_near(r.std[0], 1, 0);
}

/* floor(192 / 0.9) = 213; squashed 96 / 0.8 = 120. */
static void preparation_comes_from_timm(void **state)
{
    (void)state;
    tnp_recipe r = recipe_of("{\"architecture\":\"x\",\"pretrained_cfg\":{\"input_size\":[3,192,192],\"crop_pct\":0.9,"
                             "\"interpolation\":\"bicubic\",\"mean\":[0.5,0.5,0.5],\"std\":[0.5,0.5,0.5]}}",
                             false, NULL);
    assert_int_equal(r.width, 192);
    assert_int_equal(r.shorter, 213);
    assert_int_equal(r.kernel, TNP_CUBIC);
    assert_near(r.std[1], 0.5, 0);
    r = recipe_of("{\"input_size\":[3,96,96],\"crop_pct\":0.8,\"crop_mode\":\"squash\"}", false, NULL);
    assert_int_equal(r.shorter, 0);
    assert_int_equal(r.resize_width, 120);
}

static void options_win(void **state)
{
    (void)state;
    const double mean[] = {7};
    tnp_recipe_options o;
    tnp_recipe_options_default(&o);
    o.size = 64;
    o.crop = 0.5;
    o.mean = (tnp_reals){mean, 1};
    o.channels = 1;
    tnp_recipe r = recipe_of("{\"input_size\":[3,192,192],\"crop_pct\":0.9}", false, &o);
    assert_int_equal(r.width, 64);
    assert_int_equal(r.shorter, 128);
    assert_near(r.mean[1], 7, 0);
    assert_true(r.bgr);
}

static void broken_preparation_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"[]",
                                        "{\"size\":-3}",
                                        "{\"image_mean\":[1,2]}",
                                        "{\"mean\":\"x\"}",
                                        "{\"input_size\":[3]}",
                                        "{\"crop_pct\":0}",
                                        "{\"model\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        tnp_recipe r = {.width = 0};
        assert_fails(test_ctx, TN_ERR_FORMAT, "beside.json",
                     tnp_recipe_from_json(test_ctx, "beside.json", texts[i], strlen(texts[i]), &r));
    }
}

/* The formula at the head of run.c, in double; a float has 24 bits, and three operations are made with it. */
static void tensors_are_what_the_formula_says(void **state)
{
    (void)state;
    enum { W = 10, H = 7, TW = 5, TH = 3 };
    float pixels[W * H * 3];
    for (size_t i = 0; i < W * H * 3; ++i)
        pixels[i] = (float)(0.5 + 0.6 * sin(0.7 * (double)i)); /* leaves [0, 1] */
    tn_picture p = {pixels, W, H, 3};
    for (int form = 0; form < 8; ++form) {
        tnp_recipe r = {.width = TW, .height = TH, .shorter = H, .scale = 1.0 / 255, .channels = 3};
        r.nhwc = form & 1;
        r.bgr = form & 2;
        r.bytes = form & 4;
        for (size_t c = 0; c < 3; ++c) {
            r.mean[c] = 0.1 * (double)c;
            r.std[c] = 0.2 + 0.1 * (double)c;
        }
        for (size_t view = 0; view < 10; ++view) {
            static const size_t x0[] = {2, 0, 5, 0, 5}, y0[] = {2, 0, 0, 4, 4}; /* 5 / 2 rounds to even */
            float out[TW * TH * 3];
            unsigned char *whole = (unsigned char *)out;
            tnp_recipe_fill(&r, &p, view, out);
            for (size_t y = 0; y < TH; ++y)
                for (size_t x = 0; x < TW; ++x)
                    for (size_t c = 0; c < 3; ++c) {
                        size_t px = x0[view / 2] + (view % 2 ? TW - 1 - x : x), py = y0[view / 2] + y;
                        double v = fmin(1, fmax(0, (double)pixels[(py * W + px) * 3 + (r.bgr ? 2 - c : c)]));
                        size_t at = r.nhwc ? (y * TW + x) * 3 + c : (c * TH + y) * TW + x;
                        if (r.bytes)
                            assert_int_equal(whole[at], (int)floor(255 * v + 0.5));
                        else
                            assert_near_at(at, (double)out[at], (v - r.mean[c]) / r.std[c], 8 * (double)FLT_EPSILON);
                    }
        }
    }
}

/* Keys' cubic with a = -1/2 in long double, its sum divided off, along both axes. */
static long double cubic(size_t i, size_t j, size_t from, size_t to)
{
    long double scale = (long double)from / (long double)to, radius = scale > 1 ? scale : 1, a = -0.5L;
    long double t = fabsl((long double)j + 0.5L - ((long double)i + 0.5L) * scale) / radius;
    return t < 1   ? (a + 2) * t * t * t - (a + 3) * t * t + 1
           : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a
                   : 0;
}

/* Weights sum to 1 and are at most 1.2 in sum of sizes along an axis: taps + 4 roundings each. */
static void check_cubic(size_t w, size_t h, size_t to_w, size_t to_h)
{
    tnp_resize r = {.row = 0};
    float *x = malloc(w * h * sizeof *x), *out = malloc(to_w * to_h * sizeof *out);
    for (size_t i = 0; i < w * h; ++i)
        x[i] = (float)(0.5 + 0.5 * sin(1.3 * (double)i));
    assert_fine(test_ctx, tnp_resize_new_by(test_ctx, TNP_CUBIC, w, h, (double)w, (double)h, to_w, to_h, 1, &r));
    tnp_resize_begin(&r, out);
    for (size_t y = 0; y < h; ++y)
        tnp_resize_row(&r, x + y * w);
    double taps = 4 * (double)(w / to_w + h / to_h) + 16;
    for (size_t py = 0; py < to_h; ++py)
        for (size_t px = 0; px < to_w; ++px) {
            long double sum = 0, total = 0;
            for (size_t y = 0; y < h; ++y)
                for (size_t k = 0; k < w; ++k) {
                    long double weight = cubic(px, k, w, to_w) * cubic(py, y, h, to_h);
                    sum += weight * (long double)x[y * w + k];
                    total += weight;
                }
            assert_near_at(py * to_w + px, (double)out[py * to_w + px], (double)(sum / total),
                           1.5 * (taps + 8) * (double)FLT_EPSILON);
        }
    tnp_resize_free(&r);
    free(x);
    free(out);
}

static void the_cubic_is_its_formula(void **state)
{
    (void)state;
    check_cubic(17, 11, 5, 6);
    check_cubic(5, 4, 11, 9);
    check_cubic(8, 8, 8, 8);
    check_cubic(1, 3, 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_read),
        cmocka_unit_test(what_does_not_lead_to_the_layer_is_cut),
        cmocka_unit_test(a_front_is_a_table_per_channel),
        cmocka_unit_test(a_front_ends_where_something_else_comes),
        cmocka_unit_test(a_graph_may_begin_at_what_is_given),
        cmocka_unit_test(a_graph_with_branches_keeps_its_nodes),
        cmocka_unit_test(a_wrong_layer_has_the_nearest_name),
        cmocka_unit_test(tensors_in_other_files_are_refused),
        cmocka_unit_test(tensors_larger_than_their_bytes_are_refused),
        cmocka_unit_test(graphs_within_graphs_have_a_limit),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(preparation_comes_from_the_graph),
        cmocka_unit_test(preparation_comes_from_hugging_face),
        cmocka_unit_test(preparation_comes_from_timm),
        cmocka_unit_test(options_win),
        cmocka_unit_test(broken_preparation_is_refused),
        cmocka_unit_test(tensors_are_what_the_formula_says),
        cmocka_unit_test(the_cubic_is_its_formula),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
