/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags one after the other, whatever they come from. Pictures are decoded a few ahead, side by side; each is described
 * when its bag is asked for. Those of a network go through it a few at once, which are kept. Memory is that of the
 * pictures or bags ahead and of the largest bag. */
#include "encode/encoder.h"

#include <math.h>
#include <string.h>

enum { AHEAD = 4 }; /* pictures decoded at once for each thread: enough that all of them are busy to the end */

tn_status tnp_bag_stream_pictures(tn_ctx *ctx, const tn_pictures *pictures, const tnp_describer *describer,
                                  const tnp_picture_options *options, tnp_bag_stream *out)
{
    out->pictures = pictures;
    out->describer = describer;
    out->picture = *options;
    out->count = tn_pictures_count(pictures);
    out->dim = describer->kind->dim;
    out->has_places = true;
    out->capacity = AHEAD * tn_ctx_threads(ctx);
    return tnp_alloc(ctx, out->capacity, sizeof(tn_picture *), &out->decoded);
}

tn_status tnp_bag_stream_bags(tn_ctx *ctx, const tn_bags *bags, tnp_bag_stream *out)
{
    (void)ctx;
    out->bags = bags;
    out->count = tn_bags_count(bags);
    out->dim = tn_features_cols(tn_bags_descriptors(bags));
    out->has_places = tn_bags_positions(bags) != NULL;
    return TN_OK;
}

/* Middles of the places of a map, (rows, 3), row by row; the side of a place as a share of sqrt(width height). */
static void place_grid(const tn_network *network, float *out)
{
    size_t across = network->across, down = network->down;
    float side = (float)(1 / sqrt((double)(across * down)));
    for (size_t i = 0; i < across * down; ++i) {
        out[3 * i] = ((float)(i % across) + 0.5F) / (float)across;
        out[3 * i + 1] = ((float)(i / across) + 0.5F) / (float)down;
        out[3 * i + 2] = side;
    }
}

tn_status tnp_bag_stream_network(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *network,
                                 tnp_bag_stream *out)
{
    tn_status st = TN_OK;
    size_t values = 0;
    if (tn_network_bag(network) == 0)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "%s: gives one vector per picture, expected a map or tokens with option as bag", network->path);
    out->pictures = pictures;
    out->network = network;
    out->count = tn_pictures_count(pictures);
    out->dim = network->dim;
    out->rows_capacity = network->count;
    out->capacity = tnp_networks_block(ctx);
    TN_TRY(tnp_mul(ctx, out->capacity, tnp_network_values(network), &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *out->x, &out->x));
    out->has_places = network->across != 0;
    if (out->has_places) {
        TN_TRY(tnp_alloc_raw(ctx, network->count * 3, sizeof *out->places, &out->places));
        place_grid(network, out->places);
    }
done:
    return st;
}

static void drop_decoded(tnp_bag_stream *s)
{
    for (size_t i = 0; s->decoded && i < s->some; ++i)
        tn_picture_free(s->decoded[i]);
    s->some = 0;
}

void tnp_bag_stream_close(tnp_bag_stream *s)
{
    drop_decoded(s);
    tnp_free_all(s->decoded, s->x, s->places);
    tnp_described_free(&s->described);
    memset(s, 0, sizeof *s);
}

tn_status tnp_bag_stream_picture(tn_ctx *ctx, tnp_bag_stream *s, size_t i, const tn_picture **out)
{
    tn_status st = TN_OK;
    if (i < s->first || i >= s->first + s->some) {
        drop_decoded(s);
        size_t some = tnp_min(s->capacity, s->count - i);
        TN_TRY(tnp_pictures_decode(ctx, s->pictures, i, some, &s->picture, s->decoded));
        s->first = i;
        s->some = some;
    }
    *out = s->decoded[i - s->first];
done:
    return st;
}

static tn_status describe_picture(tn_ctx *ctx, tnp_bag_stream *s, size_t i, tnp_bag *out)
{
    tn_status st = TN_OK;
    const tn_picture *picture = NULL;
    TN_TRY(tnp_bag_stream_picture(ctx, s, i, &picture));
    if (picture)
        TN_TRY(tnp_describe(ctx, s->describer, picture, &s->described));
    *out = (tnp_bag){s->described.descriptors, s->described.positions, picture ? s->described.count : 0, !picture};
done:
    return st;
}

static tn_status read_bag(tn_ctx *ctx, tnp_bag_stream *s, size_t i, tnp_bag *out)
{
    tn_status st = TN_OK;
    const size_t *offsets = tn_bags_offsets(s->bags);
    size_t rows = offsets[i + 1] - offsets[i], values = 0;
    if (rows > s->rows_capacity || !s->x) {
        tnp_free_all(s->x, s->places);
        s->x = s->places = NULL;
        s->rows_capacity = rows;
        TN_TRY(tnp_mul(ctx, rows, s->dim, &values));
        TN_TRY(tnp_alloc_raw(ctx, values, sizeof *s->x, &s->x));
        if (s->has_places)
            TN_TRY(tnp_alloc_raw(ctx, rows * 3, sizeof *s->places, &s->places));
    }
    TN_TRY(tn_bags_read(ctx, s->bags, i, 1, s->x, s->places));
    *out = (tnp_bag){s->x, s->places, rows, false};
done:
    return st;
}

static tn_status see_bag(tn_ctx *ctx, tnp_bag_stream *s, size_t i, tnp_bag *out)
{
    tn_status st = TN_OK;
    if (i < s->first || i >= s->first + s->some) {
        size_t some = tnp_min(s->capacity, s->count - i);
        s->some = 0;
        TN_TRY(tnp_networks_rows(ctx, &s->network, 1, s->pictures, i, some, &s->x));
        s->first = i;
        s->some = some;
    }
    *out = (tnp_bag){s->x + (i - s->first) * tnp_network_values(s->network), s->places, s->rows_capacity, false};
done:
    return st;
}

tn_status tnp_bag_stream_get(tn_ctx *ctx, tnp_bag_stream *s, size_t i, tnp_bag *out)
{
    tn_status st = tnp_cancelled(ctx);
    if (st == TN_OK)
        st = s->bags      ? read_bag(ctx, s, i, out)
             : s->network ? see_bag(ctx, s, i, out)
                          : describe_picture(ctx, s, i, out);
    return st;
}
