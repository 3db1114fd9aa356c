/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures to bags of local descriptors: those of patches on a grid, or the places of a network's map. Nothing is kept,
 * a picture is described when its bag is read. Reads one bag, then trains a VLAD encoder on all of them and encodes each.
 * Introduces tn_pictures_open, tn_bags_from_pictures, tn_network_open, tn_bags_from_network and tn_bags_read. Where
 * vectors are all that is wanted, tn_encoder_train and tn_extract take the pictures themselves.
 *
 *   07_bags_of_pictures IMAGES [MODEL.onnx:LAYER]      IMAGES: a folder with a sub-folder per class, or one without */
#include <tenon/tenon.h>

#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 100000 }; /* that pictures are shrunk to */

static tn_status describe(tn_ctx *ctx, const tn_pictures *pictures, tn_bags **out)
{
    tn_options *options = NULL;
    tn_status st = tn_options_new(ctx, "describe", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "descriptor", "rootsift");
    if (st == TN_OK)
        st = tn_bags_from_pictures(ctx, pictures, PIXELS, options, out);
    tn_options_free(options);
    return st;
}

/* The network must live as long as the bags. */
static tn_status look(tn_ctx *ctx, const tn_pictures *pictures, const char *path, tn_network **network, tn_bags **out)
{
    tn_options *options = NULL;
    tn_status st = tn_options_new(ctx, "network", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "as", "bag");
    if (st == TN_OK)
        st = tn_network_open(ctx, path, options, network);
    if (st == TN_OK)
        st = tn_bags_from_network(ctx, pictures, *network, out);
    tn_options_free(options);
    return st;
}

static tn_status train(tn_ctx *ctx, const tn_bags *bags, tn_encoder **out)
{
    tn_options *options = NULL;
    tn_status st = tn_options_new(ctx, "encoder", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "kind", "vlad");
    if (st == TN_OK)
        st = tn_options_set_number(ctx, options, "words", 16);
    if (st == TN_OK)
        st = tn_encoder_train_bags(ctx, bags, options, NULL, out);
    tn_options_free(options);
    return st;
}

static tn_status encode(tn_ctx *ctx, const tn_encoder *encoder, const tn_bags *bags, size_t i)
{
    size_t rows = tn_bags_offsets(bags)[i + 1] - tn_bags_offsets(bags)[i], dim = tn_encoder_dim(encoder);
    float *x = malloc((rows * dim + 1) * sizeof *x), *vector = malloc(tn_encoder_cols(encoder) * sizeof *vector);
    tn_view none = {NULL, 0, 0, 0}; /* no pyramid: nobody asks where descriptors were taken */
    tn_status st = x && vector ? tn_bags_read(ctx, bags, i, 1, x, NULL) : TN_ERR_MEMORY;
    if (st == TN_OK)
        st = tn_encoder_encode(ctx, encoder, (tn_view){x, rows, dim, dim}, none, vector);
    if (st == TN_OK)
        printf("%s: %zu descriptors of %zu values, %zu values, the first %.3f\n", tn_bags_ids(bags)[i], rows, dim,
               tn_encoder_cols(encoder), (double)vector[0]);
    free(x);
    free(vector);
    return st;
}

int main(int argc, char **argv)
{
    tn_ctx *ctx = NULL;
    tn_pictures *pictures = NULL;
    tn_network *network = NULL;
    tn_bags *bags = NULL;
    tn_encoder *encoder = NULL;
    const char *images[] = {argc > 1 ? argv[1] : "."};
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    tn_status st = tn_pictures_open(ctx, images, 1, &pictures);
    if (st == TN_OK)
        st = argc > 2 ? look(ctx, pictures, argv[2], &network, &bags) : describe(ctx, pictures, &bags);
    if (st == TN_OK)
        st = train(ctx, bags, &encoder);
    for (size_t i = 0; st == TN_OK && i < tn_bags_count(bags); ++i)
        st = encode(ctx, encoder, bags, i);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_encoder_free(encoder);
    tn_bags_free(bags);
    tn_network_free(network);
    tn_pictures_free(pictures);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
