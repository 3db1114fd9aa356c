/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders that pictures are seen through where none is named: two candidates that see different things, shape and shape
 * with colour, as tenon encoder train makes them, in 20 to 50 ms of one core per picture. Local binary patterns were
 * refused: more than twice as slow as colour, and a little worse alone (docs/results/images.md). What a network makes
 * of a picture has tens to hundreds of descriptors, where a grid has thousands: fewer Gaussians. */
#include "base/options.h"
#include "encode/encoder.h"

#include <string.h>

typedef struct named_value {
    const char *option, *value;
} named_value;

enum { VALUES = 4 };

typedef struct default_encoder {
    const char *name;
    named_value values[VALUES]; /* those that are not the options' own defaults; the rest NULL */
} default_encoder;

/* 500 pictures hold a hundred thousand descriptors many times over. */
static const default_encoder encoders[] = {
    {"rootsift-fisher", {{"descriptor", "rootsift"}, {"pictures", "500"}}},
    {"csift-fisher", {{"descriptor", "csift"}, {"pictures", "500"}}},
};
static const default_encoder of_networks = {NULL, {{"words", "16"}, {"pictures", "500"}}};

enum { COUNT = sizeof encoders / sizeof *encoders };

const char *tn_default_encoder_name(size_t i)
{
    return i < COUNT ? encoders[i].name : NULL;
}

tn_status tn_default_encoder_options(tn_ctx *ctx, size_t i, tn_options *options)
{
    tn_status st = TN_OK;
    const default_encoder *e = i < COUNT ? &encoders[i] : &of_networks;
    if (i >= COUNT && i != SIZE_MAX)
        return tnp_fail(ctx, TN_ERR_ARG, "encoder: no default encoder %zu, there are %d", i, COUNT);
    for (size_t k = 0; st == TN_OK && k < VALUES && e->values[k].option; ++k)
        st = tn_options_set(ctx, options, e->values[k].option, e->values[k].value);
    return st;
}
