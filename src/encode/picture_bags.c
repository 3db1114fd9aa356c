/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of pictures: descriptors and positions as features that are made whenever they are asked for. How many descriptors
 * a picture has is known from its size, which the first bytes of its file tell, and from the grid; so bags are opened
 * without a picture being decoded, and take the memory of the few that are ahead (bag_stream.c). All descriptors in one
 * array were refused: a thousand pictures have twelve gigabytes of them.
 *
 * Both features share one stream and the bag that was asked for last: reading a bag's descriptors and then its positions
 * describes it once. */
#include "encode/encoder.h"
#include "read/features.h"
#include "read/pictures/list.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PLACE = 3 }; /* x, y, scale */

typedef struct source {
    tn_ctx *ctx; /* of its own: the one that asks may be at work */
    tnp_describer describer;
    tnp_bag_stream stream;
    const size_t *offsets; /* (stream.count + 1): of the bags */
    size_t at;             /* the bag at hand; SIZE_MAX: none */
    tnp_bag bag;
    size_t users;         /* features that read from it, and who is making them */
    pthread_mutex_t lock; /* one thread at a time */
} source;

static tn_status source_new(tn_ctx *ctx, source **out)
{
    tn_ctx *own = NULL;
    source *s = NULL;
    tn_status st = tnp_ctx_beside(ctx, tn_ctx_threads(ctx), 2, &own);
    if (st != TN_OK)
        return st;
    st = tnp_alloc(own, 1, sizeof *s, &s);
    if (st == TN_OK && pthread_mutex_init(&s->lock, NULL) != 0)
        st = TN_ERR_MEMORY;
    if (st != TN_OK) {
        tnp_free(s);
        tn_ctx_free(own);
        return tnp_fail(ctx, st, "memory: the system refused to give any");
    }
    s->ctx = own;
    s->at = SIZE_MAX;
    s->users = 1;
    *out = s;
    return TN_OK;
}

/* One user less; NULL is legal. */
static void release(void *user)
{
    source *s = user;
    if (!s || --s->users != 0)
        return;
    tn_ctx *ctx = s->ctx;
    tnp_bag_stream_close(&s->stream);
    pthread_mutex_destroy(&s->lock);
    tnp_free(s);
    tn_ctx_free(ctx);
}

/* What the source's own context says, to the caller. */
static tn_status pass_on(tn_ctx *ctx, const source *s, tn_status st)
{
    return st == TN_OK ? st : tnp_fail(ctx, st, "%s", tn_ctx_message(s->ctx));
}

/* ---- reading ---- */

/* The bag that has row `row`; empty ones have none. */
static size_t bag_of(const source *s, size_t row)
{
    return tnp_count_below(s->offsets, s->stream.count, row + 1) - 1;
}

static tn_status take_bag(source *s, size_t i)
{
    if (i == s->at)
        return TN_OK;
    s->at = SIZE_MAX;
    tn_status st = tnp_bag_stream_get(s->ctx, &s->stream, i, &s->bag);
    size_t expected = s->offsets[i + 1] - s->offsets[i];
    if (st == TN_OK && s->bag.rows != expected)
        st =
            tnp_fail(s->ctx, TN_ERR_DATA, "%s: %zu descriptors, there were %zu when its bag was opened: it has changed",
                     tn_pictures_path(s->stream.pictures, i), s->bag.rows, expected);
    s->at = st == TN_OK ? i : SIZE_MAX;
    return st;
}

/* Rows in runs that lie in one bag. */
static tn_status read_rows(source *s, bool places, const size_t *index, size_t start, size_t count, float *out,
                           char *message)
{
    size_t cols = places ? PLACE : s->stream.dim;
    tn_status st = TN_OK;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0, run = 0; st == TN_OK && i < count; i += run) {
        size_t row = index ? index[start + i] : start + i, bag = bag_of(s, row), end = s->offsets[bag + 1];
        for (run = 1; i + run < count && row + run < end; ++run)
            if (index && index[start + i + run] != row + run)
                break;
        st = take_bag(s, bag);
        if (st == TN_OK)
            memcpy(out + i * cols, (places ? s->bag.places : s->bag.x) + (row - s->offsets[bag]) * cols,
                   run * cols * sizeof *out);
    }
    if (st != TN_OK)
        snprintf(message, TN_PRODUCER_MESSAGE, "%s", tn_ctx_message(s->ctx));
    pthread_mutex_unlock(&s->lock);
    return st;
}

static tn_status read_descriptors(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    return read_rows(user, false, index, start, count, out, message);
}

static tn_status read_positions(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    return read_rows(user, true, index, start, count, out, message);
}

/* ---- opening ---- */

static tn_status make_features(tn_ctx *ctx, source *s, bool places, tn_features **out)
{
    tn_producer producer = {.user = s,
                            .rows = s->offsets[s->stream.count],
                            .cols = places ? PLACE : s->stream.dim,
                            .dtype = TN_F32,
                            .block = SIZE_MAX,
                            .read = places ? read_positions : read_descriptors,
                            .release = release};
    tn_status st = tn_features_from_producer(ctx, s->stream.pictures->origin, &producer, out);
    s->users += st == TN_OK;
    return st;
}

/* Bags that own offsets (of all pictures) and features; offsets are theirs on success. */
static tn_status make_bags(tn_ctx *ctx, source *s, size_t *offsets, tn_bags **out)
{
    tn_status st = TN_OK;
    const tn_pictures *pictures = s->stream.pictures;
    tn_features *descriptors = NULL, *positions = NULL;
    s->offsets = offsets;
    if (offsets[s->stream.count] == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no descriptors: every picture is smaller than the smallest patch",
                        pictures->origin));
    TN_TRY(make_features(ctx, s, false, &descriptors));
    if (s->stream.has_places)
        TN_TRY(make_features(ctx, s, true, &positions));
    TN_TRY(tnp_bags_own(ctx, offsets, s->stream.count, descriptors, positions, tn_pictures_ids(pictures), out));
    descriptors = positions = NULL;
done:
    tn_features_close(descriptors);
    tn_features_close(positions);
    return st;
}

/* Descriptors of picture i, by its size. */
static tn_status count_descriptors(tn_ctx *ctx, const source *s, size_t i, size_t *out)
{
    tn_status st = TN_OK;
    tnp_bytes bytes = {NULL, 0};
    size_t width = 0, height = 0;
    tnp_grid grid;
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(tnp_picture_bytes(ctx, s->stream.pictures, i, &bytes));
    TN_TRY(tnp_picture_size(ctx, tn_pictures_path(s->stream.pictures, i), bytes, &s->stream.picture, &width, &height));
    tnp_grid_make(width, height, s->describer.step, s->describer.sides, s->describer.side_count, &grid);
    *out = grid.count;
done:
    tnp_bytes_free(&bytes);
    return st;
}

static tn_status begin_describing(tn_ctx *ctx, const tn_pictures *pictures, size_t pixels, const tn_options *options,
                                  source *s)
{
    tnp_describe_options values;
    tnp_picture_options picture;
    tn_status st = tnp_options_read(ctx, options, &tnp_describe_kind, &values);
    if (st == TN_OK)
        st = tnp_describer_make(ctx, &values, &s->describer);
    tnp_picture_options_default(&picture);
    picture.pixels = pixels;
    if (st == TN_OK)
        st = pass_on(ctx, s, tnp_bag_stream_pictures(s->ctx, pictures, &s->describer, &picture, &s->stream));
    return st;
}

tn_status tn_bags_from_pictures(tn_ctx *ctx, const tn_pictures *pictures, size_t pixels, const tn_options *options,
                                tn_bags **out)
{
    tn_status st = TN_OK;
    source *s = NULL;
    size_t *offsets = NULL, count = tn_pictures_count(pictures);
    TN_TRY(source_new(ctx, &s));
    TN_TRY(begin_describing(ctx, pictures, pixels, options, s));
    TN_TRY(tnp_alloc(ctx, count + 1, sizeof *offsets, &offsets));
    for (size_t i = 0; i < count; ++i) {
        TN_TRY(count_descriptors(ctx, s, i, &offsets[i + 1]));
        offsets[i + 1] += offsets[i];
    }
    TN_TRY(make_bags(ctx, s, offsets, out));
    offsets = NULL;
done:
    tnp_free(offsets);
    release(s);
    return st;
}

tn_status tn_bags_from_network(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *network, tn_bags **out)
{
    tn_status st = TN_OK;
    source *s = NULL;
    size_t *offsets = NULL, count = tn_pictures_count(pictures);
    TN_TRY(source_new(ctx, &s));
    TN_TRY(pass_on(ctx, s, tnp_bag_stream_network(s->ctx, pictures, network, &s->stream)));
    TN_TRY(tnp_alloc(ctx, count + 1, sizeof *offsets, &offsets));
    for (size_t i = 0; i <= count; ++i)
        offsets[i] = i * tn_network_bag(network);
    TN_TRY(make_bags(ctx, s, offsets, out));
    offsets = NULL;
done:
    tnp_free(offsets);
    release(s);
    return st;
}
