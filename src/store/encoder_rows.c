/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors of pictures by several encoders, as features: in memory, or in a cache (row_cache.c) and read from there.
 *
 * Encoders are taken in groups that one pass serves: those that want pictures of the same size, each decoded once and
 * described once for all that describe alike; every encoder of a network's bags goes by itself. A cache has the rows of
 * each encoder apart: those that are complete there are in no group, so that a new candidate costs its own pass only.
 *
 * Features remember their encoder, as the bytes of its file: a head that is trained on them needs no file but its own. */
#include "base/text.h"
#include "read/features.h"
#include "store/extract.h"
#include "store/extract_rows.h"
#include "store/row_cache.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCK_ROWS = 256 };

typedef struct work {
    const tn_pictures *pictures;
    const tn_encoder *const *encoders;
    size_t count, rows;
    tnp_row_cache *caches; /* (count); NULL: there are none */
    tn_features **features;
    bool *done; /* (count): all rows are there */
} work;

/* Encoders of one pass. */
typedef struct group {
    const tn_encoder **encoders;
    size_t *places; /* in the work */
    size_t count;
    tnp_extraction x;
    float **block; /* (count): rows of one block, for the cache */
} group;

/* ---- what made them ---- */

tn_status tn_encoder_about(tn_ctx *ctx, const tn_encoder *e, char **out)
{
    uint64_t hash = 0;
    tnp_text text;
    tn_status st = tnp_encoder_hash(ctx, e, &hash);
    if (st != TN_OK)
        return st;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"encoder\":\"%s\",\"hash\":\"%016" PRIx64 "\",\"descriptor\":", tn_encoder_kind(e), hash);
    tnp_text_quote(&text, tn_encoder_descriptor(e) ? tn_encoder_descriptor(e) : "");
    tnp_text_add(&text, ",\"words\":%zu,\"pyramid\":\"%s\"", tn_encoder_words(e), tn_encoder_pyramid(e));
    if (e->network) {
        tnp_text_add(&text, ",\"network\":");
        tnp_text_raw(&text, e->network);
    }
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

tn_status tnp_features_made_by(tn_ctx *ctx, tn_features *features, const tn_encoder *encoder)
{
    tn_status st = TN_OK;
    char *about = NULL;
    void *bytes = NULL;
    size_t size = 0;
    TN_TRY(tn_encoder_about(ctx, encoder, &about));
    TN_TRY(tn_features_set_about(ctx, features, about));
    TN_TRY(tn_encoder_to_bytes(ctx, encoder, NULL, &bytes, &size));
    TN_TRY(tnp_features_set_maker(ctx, features, bytes, size));
done:
    tn_text_free(about);
    tn_bytes_free(bytes);
    return st;
}

/* ---- the cache ---- */

static tn_status open_caches(tn_ctx *ctx, work *w, const char *cache)
{
    tn_status st = TN_OK;
    uint64_t pictures = 0;
    char *about = NULL;
    TN_TRY(tnp_pictures_hash(ctx, w->pictures, &pictures));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof *w->caches, &w->caches));
    for (size_t e = 0; e < w->count; ++e) {
        tn_text_free(about);
        about = NULL;
        TN_TRY(tn_encoder_about(ctx, w->encoders[e], &about));
        TN_TRY(tnp_row_cache_open(ctx, cache, pictures, about, w->rows, tn_encoder_cols(w->encoders[e]), BLOCK_ROWS,
                                  &w->caches[e]));
        w->done[e] = true;
        for (size_t first = 0; first < w->rows && w->done[e]; first += BLOCK_ROWS)
            TN_TRY(tnp_row_cache_get(ctx, &w->caches[e], first, NULL, &w->done[e]));
    }
done:
    tn_text_free(about);
    return st;
}

/* ---- one pass ---- */

static tn_status compute_block(tn_ctx *ctx, const work *w, group *g, tnp_share whole, size_t first, size_t end)
{
    tn_status st = TN_OK;
    for (size_t i = first, count = 0; i < end; i += count) {
        TN_TRY(tnp_progress_step(ctx, whole, "encode", i, w->rows));
        TN_TRY(tnp_extraction_rows(ctx, &g->x, i, end - i, &count));
        for (size_t k = 0; k < g->count; ++k) {
            size_t cols = tn_encoder_cols(g->encoders[k]);
            float *to =
                w->caches ? g->block[k] + (i - first) * cols : (float *)w->features[g->places[k]]->owned + i * cols;
            memcpy(to, g->x.rows[k], count * cols * sizeof *to);
        }
    }
    for (size_t k = 0; w->caches && k < g->count; ++k)
        TN_TRY(tnp_row_cache_put(ctx, &w->caches[g->places[k]], first, g->block[k]));
done:
    return st;
}

/* Is the block in the caches of all? */
static tn_status has_block(tn_ctx *ctx, const work *w, const group *g, size_t first, bool *found)
{
    tn_status st = TN_OK;
    *found = w->caches != NULL;
    for (size_t k = 0; st == TN_OK && *found && k < g->count; ++k)
        st = tnp_row_cache_get(ctx, &w->caches[g->places[k]], first, NULL, found);
    return st;
}

static tn_status run_group(tn_ctx *ctx, const work *w, group *g)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_begin(ctx);
    g->x = (tnp_extraction){.encoders = g->encoders, .count = g->count};
    TN_TRY(tnp_extraction_begin(ctx, w->pictures, NULL, &g->x));
    for (size_t k = 0; w->caches && k < g->count; ++k)
        TN_TRY(tnp_alloc_raw(ctx, tnp_min(BLOCK_ROWS, w->rows) * tn_encoder_cols(g->encoders[k]), sizeof(float),
                             &g->block[k]));
    for (size_t first = 0; first < w->rows; first += BLOCK_ROWS) {
        bool found = false;
        TN_TRY(has_block(ctx, w, g, first, &found));
        if (!found)
            TN_TRY(compute_block(ctx, w, g, whole, first, tnp_min(first + BLOCK_ROWS, w->rows)));
    }
    TN_TRY(tnp_progress_end(ctx));
done:
    tnp_extraction_end(ctx, &g->x);
    for (size_t k = 0; k < g->count; ++k) {
        tnp_free(g->block[k]);
        g->block[k] = NULL;
    }
    return st;
}

/* Can one pass serve both? */
static bool share_pass(const tn_encoder *a, const tn_encoder *b)
{
    return !a->network && !b->network && a->picture.pixels == b->picture.pixels && a->picture.side == b->picture.side;
}

static tn_status run_all(tn_ctx *ctx, work *w)
{
    tn_status st = TN_OK;
    group g = {.count = 0};
    TN_TRY(tnp_alloc(ctx, w->count, sizeof(tn_encoder *), &g.encoders));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof *g.places, &g.places));
    TN_TRY(tnp_alloc(ctx, w->count, sizeof(float *), &g.block));
    for (size_t first = 0; first < w->count; ++first) {
        g.count = 0;
        for (size_t e = first; e < w->count; ++e)
            if (!w->done[e] && (e == first || share_pass(w->encoders[first], w->encoders[e]))) {
                g.places[g.count] = e;
                g.encoders[g.count++] = w->encoders[e];
            }
        if (w->done[first] || g.count == 0)
            continue;
        TN_TRY(run_group(ctx, w, &g));
        for (size_t k = 0; k < g.count; ++k)
            w->done[g.places[k]] = true;
    }
done:
    tnp_free_all(g.encoders, g.places, g.block);
    return st;
}

/* ---- features ---- */

/* Features without values yet; those of a cache are opened when it is full. */
static tn_status make_features(tn_ctx *ctx, const work *w, size_t e, const char *name)
{
    tn_status st = TN_OK;
    size_t values = 0;
    TN_TRY(tnp_features_new(ctx, name, name, &w->features[e]));
    TN_TRY(tnp_mul(ctx, w->rows, tn_encoder_cols(w->encoders[e]), &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof(float), &w->features[e]->owned));
done:
    return st;
}

static tn_status finish_features(tn_ctx *ctx, const work *w, size_t e, const char *name)
{
    tn_status st = TN_OK;
    if (w->caches) {
        TN_TRY(tnp_row_cache_features(ctx, &w->caches[e], name, &w->features[e]));
    } else {
        TN_TRY(tnp_features_own(ctx, w->features[e], TN_F32, w->rows, tn_encoder_cols(w->encoders[e])));
        w->features[e]->format = "pictures";
        w->features[e]->from_memory = true;
    }
    TN_TRY(tn_features_set_ids(ctx, w->features[e], tn_pictures_ids(w->pictures)));
    TN_TRY(tnp_features_made_by(ctx, w->features[e], w->encoders[e]));
done:
    return st;
}

tn_status tn_features_from_encoders(tn_ctx *ctx, const char *const *names, const tn_pictures *pictures,
                                    const tn_encoder *const *encoders, size_t count, const char *cache,
                                    tn_features **out)
{
    tn_status st = TN_OK;
    work w = {.pictures = pictures, .encoders = encoders, .count = count, .rows = tn_pictures_count(pictures)};
    TN_TRY(tnp_alloc(ctx, count, sizeof(tn_features *), &w.features));
    TN_TRY(tnp_alloc(ctx, count, sizeof *w.done, &w.done));
    if (cache)
        TN_TRY(open_caches(ctx, &w, cache));
    for (size_t e = 0; !cache && e < count; ++e)
        TN_TRY(make_features(ctx, &w, e, names[e]));
    TN_TRY(run_all(ctx, &w));
    for (size_t e = 0; e < count; ++e)
        TN_TRY(finish_features(ctx, &w, e, names[e]));
    memcpy(out, w.features, count * sizeof *out);
    memset(w.features, 0, count * sizeof *w.features);
done:
    for (size_t e = 0; e < count; ++e) {
        if (w.features)
            tn_features_close(w.features[e]);
        if (w.caches)
            tnp_row_cache_close(&w.caches[e]);
    }
    tnp_free_all(w.features, w.done, w.caches);
    return st;
}

tn_status tn_features_from_pictures(tn_ctx *ctx, const char *name, const tn_pictures *pictures,
                                    const tn_encoder *encoder, tn_features **out)
{
    return tn_features_from_encoders(ctx, &name, pictures, &encoder, 1, NULL, out);
}
