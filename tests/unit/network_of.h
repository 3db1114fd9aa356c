/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of the fixtures in an engine, and pictures for them. */
#ifndef NETWORK_OF_H
#define NETWORK_OF_H

#include "fixtures/networks.h"
#include "describe/net/network.h"
#include "tenon/tenon.h"

#include <float.h>

enum { SIDE = 8, PICTURES = 11 };

/* Before anything is allocated: nothing after it is run. */
static inline void need_engine(void)
{
    tn_engine engine;
    if (tn_engine_look(test_ctx, &engine) != TN_OK)
        skip();
}

/* PICTURES pictures of SIDE x SIDE, each of its own colours, as one folder; resizing such leaves them alone. */
static inline tn_pictures *made_pictures(const char *folder)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", test_folder, folder);
    mkdir(path, 0700);
    for (size_t i = 0; i < PICTURES; ++i) {
        unsigned char rows[SIDE * SIDE * 3];
        for (size_t k = 0; k < sizeof rows; ++k)
            rows[k] = (unsigned char)(128 + 120 * sin(0.37 * (double)(k + 17 * i)));
        png_form form = {
            .width = SIDE, .height = SIDE, .depth = 8, .type = PNG_COLOR_TYPE_RGB, .rows = rows, .row_bytes = SIDE * 3};
        char name[500];
        snprintf(name, sizeof name, "%s/%02zu.png", path, i);
        png_write(&form, name);
    }
    tn_pictures *pictures = NULL;
    const char *images[] = {path};
    assert_fine(test_ctx, tn_pictures_open(test_ctx, images, 1, &pictures));
    return pictures;
}

static inline unsigned char byte_of(size_t picture, size_t x, size_t y, size_t c)
{
    return (unsigned char)(128 + 120 * sin(0.37 * (double)((y * SIDE + x) * 3 + c + 17 * picture)));
}

typedef struct named_text {
    const char *name, *value;
} named_text;

/* Of pictures that are exactly as large as the network wants, mean 0, deviation 1: values are v / 255. */
static inline tn_network *opened(const char *path, const named_text *more, size_t count)
{
    static const named_text plain[] = {{"crop", "1"}, {"mean", "0"}, {"std", "1"}};
    tn_network *network = NULL;
    tn_options *options = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, "network", &options));
    for (size_t i = 0; i < 3; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, plain[i].name, plain[i].value));
    for (size_t i = 0; i < count; ++i)
        assert_fine(test_ctx, tn_options_set(test_ctx, options, more[i].name, more[i].value));
    assert_fine(test_ctx, tn_network_open(test_ctx, path, options, &network));
    tn_options_free(options);
    return network;
}

static inline float *rows_of(const tn_network *network, const tn_pictures *pictures)
{
    float *rows = calloc(PICTURES * tnp_network_values(network), sizeof *rows);
    assert_non_null(rows);
    assert_fine(test_ctx, tnp_networks_rows(test_ctx, &network, 1, pictures, 0, PICTURES, &rows));
    return rows;
}

/* Middles of the places of all pictures; maps of the test network are square. */
static inline void fill_places(float *where, size_t places)
{
    size_t side = (size_t)(sqrt((double)places) + 0.5);
    for (size_t i = 0; i < PICTURES * places; ++i) {
        size_t k = i % places;
        const double place[] = {((double)(k % side) + 0.5) / (double)side, ((double)(k / side) + 0.5) / (double)side,
                                1 / (double)side};
        for (size_t c = 0; c < 3; ++c)
            where[3 * i + c] = (float)place[c];
    }
}

/* What a network makes of pictures, as an array of bags. */
typedef struct network_bags {
    float *values, *where; /* (PICTURES places, values), (PICTURES places, 3) */
    size_t *offsets;
    tn_features *x, *at;
    tn_bags *bags;
} network_bags;

static inline network_bags bags_of_network(const tn_network *network, const tn_pictures *pictures)
{
    network_bags out = {.values = rows_of(network, pictures)};
    size_t places = tn_network_bag(network);
    out.offsets = malloc((PICTURES + 1) * sizeof *out.offsets);
    for (size_t i = 0; i <= PICTURES; ++i)
        out.offsets[i] = i * places;
    out.where = malloc(PICTURES * places * 3 * sizeof *out.where);
    fill_places(out.where, places);
    tn_array all = tn_array_compact(out.values, TN_F32, PICTURES * places, tn_network_cols(network));
    tn_array spots = tn_array_compact(out.where, TN_F32, PICTURES * places, 3);
    assert_fine(test_ctx, tn_features_from_array(test_ctx, "x", &all, &out.x));
    assert_fine(test_ctx, tn_features_from_array(test_ctx, "at", &spots, &out.at));
    assert_fine(test_ctx, tn_bags_new(test_ctx, out.offsets, PICTURES, out.x, out.at, &out.bags));
    return out;
}

static inline void free_network_bags(network_bags *b)
{
    tn_bags_free(b->bags);
    tn_features_close(b->x);
    tn_features_close(b->at);
    free(b->values);
    free(b->where);
    free(b->offsets);
}

#endif
