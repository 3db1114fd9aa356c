/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors of pictures as features that are made whenever they are asked for, where they do not fit into memory
 * (encoder_rows.c). What the encoding needs meanwhile comes from half of the budget that is left. */
#include "read/features.h"
#include "store/extract.h"
#include "store/extract_rows.h"
#include "tenon/store.h"

#include <pthread.h>
#include <string.h>

typedef struct streaming {
    tn_ctx *ctx; /* of its own: the one that asks may be at work */
    const tn_encoder *encoder;
    tnp_extraction x;
    pthread_mutex_t lock; /* one thread at a time */
} streaming;

static void release(void *user)
{
    streaming *s = user;
    tn_ctx *ctx = s->ctx;
    tnp_extraction_end(ctx, &s->x);
    pthread_mutex_destroy(&s->lock);
    tnp_free(s);
    tn_ctx_free(ctx);
}

static tn_status read_encoded(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    streaming *s = user;
    size_t cols = tn_encoder_cols(s->encoder);
    tn_status st = TN_OK;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0, some = 0; st == TN_OK && i < count; i += some) {
        size_t first = index ? index[start + i] : start + i, run = 1;
        while (i + run < count && (index ? index[start + i + run] : start + i + run) == first + run)
            ++run;
        st = tnp_extraction_rows(s->ctx, &s->x, first, run, &some);
        if (st == TN_OK)
            memcpy((float *)out + i * cols, s->x.rows[0], some * cols * sizeof(float));
    }
    if (st != TN_OK)
        snprintf(message, TN_PRODUCER_MESSAGE, "%s", tn_ctx_message(s->ctx));
    pthread_mutex_unlock(&s->lock);
    return st;
}

static tn_status begin_streaming(tn_ctx *ctx, const tn_pictures *pictures, const tn_encoder *encoder, streaming **out)
{
    tn_ctx *own = NULL;
    streaming *s = NULL;
    tn_status st = tnp_ctx_beside(ctx, tn_ctx_threads(ctx), 2, &own);
    if (st != TN_OK)
        return st;
    st = tnp_alloc(own, 1, sizeof *s, &s);
    if (st == TN_OK && pthread_mutex_init(&s->lock, NULL) != 0) {
        tnp_free(s);
        s = NULL;
        st = TN_ERR_MEMORY;
    }
    if (!s) {
        tn_ctx_free(own);
        return tnp_fail(ctx, st, "memory: the system refused to give any");
    }
    s->ctx = own;
    s->encoder = encoder;
    s->x = (tnp_extraction){.encoders = &s->encoder, .count = 1};
    st = tnp_extraction_begin(own, pictures, NULL, &s->x);
    if (st != TN_OK) {
        (void)tnp_fail(ctx, st, "%s", tn_ctx_message(own));
        release(s);
        return st;
    }
    *out = s;
    return TN_OK;
}

tn_status tn_features_stream_pictures(tn_ctx *ctx, const char *name, const tn_pictures *pictures,
                                      const tn_encoder *encoder, tn_features **out)
{
    tn_status st = TN_OK;
    streaming *s = NULL;
    tn_features *features = NULL;
    TN_TRY(begin_streaming(ctx, pictures, encoder, &s));
    tn_producer producer = {.user = s,
                            .rows = tn_pictures_count(pictures),
                            .cols = tn_encoder_cols(encoder),
                            .dtype = TN_F32,
                            .block = SIZE_MAX,
                            .read = read_encoded,
                            .release = release};
    TN_TRY(tn_features_from_producer(ctx, name, &producer, &features));
    s = NULL;
    TN_TRY(tn_features_set_ids(ctx, features, tn_pictures_ids(pictures)));
    TN_TRY(tnp_features_made_by(ctx, features, encoder));
    *out = features;
    features = NULL;
done:
    if (s)
        release(s);
    tn_features_close(features);
    return st;
}
