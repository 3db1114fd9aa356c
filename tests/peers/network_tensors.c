/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What our networks see and what they make of it, for another program to compare:
 *
 *   network_tensors FOLDER IMAGES MODEL...     FOLDER/K.in (tensors of all pictures), FOLDER/K.out (their rows), and a
 *                                              line of JSON per model on standard output
 *
 * IMAGES "made": small graphs are written to FOLDER and used in the place of MODEL, on pictures that are made. */
#include "fixtures/networks.h"
#include "describe/net/network.h"

enum { MOST = 16 };

static void store(const char *folder, size_t k, const char *end, const void *data, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%zu.%s", folder, k, end);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void compare(const char *folder, size_t k, const char *model, const tn_pictures *pictures)
{
    tn_network *n = NULL;
    assert_fine(test_ctx, tn_network_open(test_ctx, model, NULL, &n));
    const tn_network *const networks[] = {n};
    size_t count = tnp_min(MOST, tn_pictures_count(pictures)), tensor = tnp_recipe_bytes(&n->recipe);
    size_t values = tnp_network_values(n);
    unsigned char *in = malloc(count * tensor);
    float *out = calloc(count * values, sizeof *out);
    assert_fine(test_ctx, tnp_networks_rows(test_ctx, networks, 1, pictures, 0, count, &out));
    for (size_t i = 0; i < count; ++i) {
        tn_picture *picture = NULL;
        tnp_picture_options seen = tnp_recipe_picture(&n->recipe, n->views);
        assert_fine(test_ctx, tnp_pictures_decode(test_ctx, pictures, i, 1, &seen, &picture));
        tnp_recipe_fill(&n->recipe, picture, 0, in + i * tensor);
        tn_picture_free(picture);
    }
    store(folder, k, "in", in, count * tensor);
    store(folder, k, "out", out, count * values * sizeof *out);
    const tnp_recipe *r = &n->recipe;
    printf("{\"model\":\"%s\",\"input\":\"%s\",\"layer\":\"%s\",\"count\":%zu,\"bytes\":%s,\"dims\":[1,%zu,%zu,%zu],"
           "\"values\":%zu}\n",
           model, n->input, n->layer, count, r->bytes ? "true" : "false", r->nhwc ? r->height : r->channels,
           r->nhwc ? r->width : r->height, r->nhwc ? r->channels : r->width, values);
    free(in);
    free(out);
    tn_network_free(n);
}

/* Pictures of 40 x 30 that are resized and cropped to what each graph wants. */
static void make(const char *folder)
{
    for (size_t i = 0; i < MOST; ++i) {
        char path[600];
        unsigned char *rows = smooth_rows(40 + i, 30, 3);
        jpeg_form form = {.width = 40 + i, .height = 30, .components = 3, .rows = rows};
        picture_bytes made = jpeg_bytes(&form);
        snprintf(path, sizeof path, "%s/%02zu.jpg", folder, i);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fwrite(made.data, 1, made.size, file);
        fclose(file);
        free(made.data);
        free(rows);
    }
}

int main(int argc, char **argv)
{
    tn_engine engine;
    tn_pictures *pictures = NULL;
    if (argc < 3 || tn_ctx_new(&test_ctx) != TN_OK)
        return 2;
    if (tn_engine_look(test_ctx, &engine) != TN_OK)
        return 77;
    snprintf(test_folder, sizeof test_folder, "%s", argv[1]);
    bool made = strcmp(argv[2], "made") == 0;
    const char *images[] = {made ? argv[1] : argv[2]};
    const char *models[64];
    size_t count = 0;
    if (made) {
        make(argv[1]);
        models[count++] = store_model("conv.onnx", conv_model(8, false));
        models[count++] = store_model("bytes.onnx", conv_model(0, true));
        models[count++] = store_model("tokens.onnx", token_model());
    }
    for (int i = 3; i < argc && count < 64; ++i)
        models[count++] = argv[i];
    assert_fine(test_ctx, tn_pictures_open(test_ctx, images, 1, &pictures));
    for (size_t k = 0; k < count; ++k)
        compare(argv[1], k, models[k], pictures);
    tn_pictures_free(pictures);
    ctx_done(test_ctx);
    return 0;
}
