/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of descriptors to vectors: patch tokens, sound frames, anything of which a sample has many. Trains a VLAD
 * encoder on bags in memory, saves it, loads it again and encodes one bag. Introduces tn_bags_new, tn_options_set,
 * tn_encoder_train_bags, tn_encoder_save, tn_encoder_load and tn_encoder_encode. With pictures it is tn_pictures_open,
 * tn_encoder_train and tn_extract.
 *
 *   06_encode_bags data/demo FOLDER */
#include <tenon/tenon.h>

#include <stdio.h>
#include <stdlib.h>

enum { BAGS = 20, EACH = 50, DIM = 8, PATH_SIZE = 4096 };

/* EACH descriptors a bag, around a middle that depends on the bag. */
static void make_descriptors(float *x, size_t *offsets)
{
    for (size_t b = 0; b <= BAGS; ++b)
        offsets[b] = b * EACH;
    for (size_t i = 0; i < BAGS * EACH; ++i)
        for (size_t j = 0; j < DIM; ++j)
            x[i * DIM + j] = (float)((i / EACH % 4 + 1) * (j + 1) % 5) + (float)((17 * i + 5 * j) % 11) / 20;
}

static tn_status train(tn_ctx *ctx, const tn_bags *bags, const char *path)
{
    tn_options *options = NULL;
    tn_encoder *encoder = NULL;
    tn_encoder_info info;
    tn_status st = tn_options_new(ctx, "encoder", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "kind", "vlad");
    if (st == TN_OK)
        st = tn_options_set_number(ctx, options, "words", 4);
    if (st == TN_OK)
        st = tn_encoder_train_bags(ctx, bags, options, &info, &encoder);
    if (st == TN_OK) {
        printf("%zu descriptors of %zu bags, %zu iterations\n", info.descriptors, info.bags, info.iterations);
        st = tn_encoder_save(ctx, encoder, "06_encode_bags", path);
    }
    tn_encoder_free(encoder);
    tn_options_free(options);
    return st;
}

static tn_status encode(tn_ctx *ctx, const float *bag, const char *path)
{
    tn_encoder *encoder = NULL;
    float *vector = NULL;
    tn_view none = {NULL, 0, 0, 0}; /* no pyramid: nobody asks where descriptors were taken */
    tn_status st = tn_encoder_load(ctx, path, &encoder);
    if (st == TN_OK)
        vector = malloc(tn_encoder_cols(encoder) * sizeof *vector);
    if (st == TN_OK && vector)
        st = tn_encoder_encode(ctx, encoder, (tn_view){bag, EACH, DIM, DIM}, none, vector);
    if (st == TN_OK && vector)
        printf("%s of %zu words: %zu values, the first %.3f\n", tn_encoder_kind(encoder), tn_encoder_words(encoder),
               tn_encoder_cols(encoder), (double)vector[0]);
    free(vector);
    tn_encoder_free(encoder);
    return st;
}

int main(int argc, char **argv)
{
    static float x[BAGS * EACH * DIM];
    static size_t offsets[BAGS + 1];
    tn_ctx *ctx = NULL;
    tn_features *descriptors = NULL;
    tn_bags *bags = NULL;
    char path[PATH_SIZE];
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    make_descriptors(x, offsets);
    snprintf(path, sizeof path, "%s/vlad.safetensors", argc > 2 ? argv[2] : ".");
    tn_array array = tn_array_compact(x, TN_F32, BAGS * EACH, DIM);
    tn_status st = tn_features_from_array(ctx, "tokens", &array, &descriptors);
    if (st == TN_OK)
        st = tn_bags_new(ctx, offsets, BAGS, descriptors, NULL, &bags);
    if (st == TN_OK)
        st = train(ctx, bags, path);
    if (st == TN_OK)
        st = encode(ctx, x, path);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_bags_free(bags);
    tn_features_close(descriptors);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
