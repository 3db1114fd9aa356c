/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a network: an .onnx model that is loaded, the layer that is wanted of it, and how pictures go in. */
#ifndef TNP_NETWORK_H
#define TNP_NETWORK_H

#include "base/options.h"
#include "describe/net/engine.h"
#include "read/onnx/front.h"
#include "read/onnx/recipe.h"
#include "read/pictures/picture.h"
#include "tenon/describe.h"

typedef enum tnp_as { TNP_AS_AUTO, TNP_AS_MEAN, TNP_AS_MAX, TNP_AS_TOKEN, TNP_AS_BAG } tnp_as;
typedef enum tnp_views { TNP_VIEW_CENTRE, TNP_VIEW_FLIP, TNP_VIEW_TEN } tnp_views;

typedef struct tnp_network_options {
    const char *layer;
    int as, views;
    tnp_recipe_options recipe;
} tnp_network_options;

extern const tnp_options_kind tnp_network_kind;

/* One place along an axis of a resize: the samples on both sides and what they count. */
typedef struct tnp_front_tap {
    size_t low, high;
    float of_low, of_high;
} tnp_front_tap;

/* What is done before the engine in its place: see front.c. */
typedef struct tnp_network_front {
    char *name; /* of the tensor that the engine begins at */
    tnp_front plan;
    bool plain;           /* up to the resize bytes only become floats, colours last, in their order */
    tnp_front_tap *x, *y; /* (plan.width), (plan.height) */
} tnp_network_front;

struct tn_network {
    char *path, *layer, *input, *about;
    uint64_t hash;
    tnp_recipe recipe;
    tnp_as as;
    tnp_views views;
    tnp_engine *engine;
    tnp_session *session;
    tnp_network_front *front; /* NULL: the engine does all of it */
    int type;                 /* of the layer's elements */
    size_t rank, elements;    /* of the layer, for one picture */
    size_t count, dim;        /* descriptors, and their values; of a vector one */
    size_t across, down;      /* the grid that a bag comes from; 0: it has none */
};

/* Values of a picture: count x dim of a bag. */
static inline size_t tnp_network_values(const tn_network *network)
{
    return network->count * network->dim;
}

/* The tensor of one view into out: width x height x channels of the recipe. view < tnp_network_view_count. */
void tnp_recipe_fill(const tnp_recipe *recipe, const tn_picture *picture, size_t view, void *out);
size_t tnp_recipe_bytes(const tnp_recipe *recipe);
void tnp_recipe_dims(const tnp_recipe *recipe, int64_t dims[4]);
size_t tnp_view_count(tnp_views views);
/* What a picture is decoded to for it: the middle only, unless its corners are looked at. */
tnp_picture_options tnp_recipe_picture(const tnp_recipe *recipe, tnp_views views);

/* Finds the front of a network whose engine is there and whose session is not; none where ours differs in a bit. */
tn_status tnp_network_find_front(tn_ctx *ctx, const tnp_onnx *onnx, const tnp_onnx_value *input, tn_network *network);
void tnp_network_front_free(tn_network *network);
/* The tensor of the recipe through the front, into out: tnp_network_space floats, the first of them what comes out. */
void tnp_front_fill(const tnp_network_front *front, const tnp_recipe *recipe, const unsigned char *bytes, float *out);
size_t tnp_network_space(const tn_network *network);

/* Runs the network once on a tensor of its recipe; space: tnp_network_space floats. False with the engine's words. */
bool tnp_network_run(const tn_network *network, const void *tensor, float *space, tnp_result *out, char *message);
/* What a layer's values (elements floats) become, times weight, is added to row. */
void tnp_network_pool(const tn_network *network, const float *values, const size_t *dims, float weight, float *row);

/* Rows of pictures [first, first + count) by every network: rows[k] is (count, values of network k). Pictures are
 * decoded once for all networks that see them at one size. One that is broken stops it. */
tn_status tnp_networks_rows(tn_ctx *ctx, const tn_network *const *networks, size_t network_count,
                            const tn_pictures *pictures, size_t first, size_t count, float *const *rows);
/* Pictures that are best asked for at once: all threads are busy, memory is bounded. */
size_t tnp_networks_block(const tn_ctx *ctx);

#endif
