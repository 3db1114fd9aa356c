/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass over pictures for several encoders that describe them: each picture is decoded once, and described once for
 * all encoders that describe alike. A few pictures at once, each by one thread with a context of its own, so that
 * products and errors of one do not meet those of another. A row does not depend on the rows beside it or on the number
 * of threads. */
#include "store/extract_rows.h"

#include <stdatomic.h>
#include <string.h>

static bool alike(const tnp_describer *a, const tnp_describer *b)
{
    return a->kind == b->kind && a->step == b->step && a->contrast == b->contrast && a->side_count == b->side_count &&
           memcmp(a->sides, b->sides, a->side_count * sizeof *a->sides) == 0;
}

/* The encoder before e, or e itself, whose descriptors it can use. */
static size_t describes_for(const tnp_extraction *x, size_t e)
{
    size_t first = 0;
    while (!alike(&x->encoders[first]->describer, &x->encoders[e]->describer))
        ++first;
    return first;
}

/* The vectors of a picture into row `at`. */
static tn_status encode_picture(const tnp_extraction *x, tnp_extraction_worker *w, const tn_picture *picture, size_t at)
{
    tn_status st = TN_OK;
    for (size_t e = 0; e < x->count; ++e) {
        size_t from = describes_for(x, e);
        tnp_described *d = w->described + from;
        if (from == e)
            TN_TRY(tnp_describe(w->ctx, &x->encoders[e]->describer, picture, d));
        TN_TRY(tnp_encode(w->ctx, x->encoders[e], d->descriptors, d->positions, d->count,
                          x->rows[e] + at * tn_encoder_cols(x->encoders[e])));
    }
done:
    return st;
}

/* `count` of the pictures that are decoded, from the one numbered `skip` on, to rows 0 .. */
typedef struct job {
    tnp_extraction *x;
    size_t skip, count;
    atomic_size_t next;  /* picture that nobody has begun */
    atomic_bool stopped; /* one has failed */
    tn_status *status;   /* (count) */
    size_t *by;          /* (count): whose context says why */
} job;

static void encode_some(void *arg, size_t number)
{
    job *j = arg;
    size_t i;
    while ((i = atomic_fetch_add(&j->next, 1)) < j->count && !atomic_load(&j->stopped)) {
        j->by[i] = number;
        j->status[i] = encode_picture(j->x, j->x->workers + number, j->x->stream.decoded[j->skip + i], i);
        if (j->status[i] != TN_OK)
            atomic_store(&j->stopped, true);
    }
}

/* As many pictures from `first` on as are decoded at once, at most `most`. */
static tn_status encode_pictures(tn_ctx *ctx, tnp_extraction *x, size_t first, size_t most, size_t *count)
{
    tn_status st = TN_OK;
    const tn_picture *picture = NULL;
    job j = {.x = x};
    x->stream.capacity = tnp_min(x->capacity, most);
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(tnp_bag_stream_picture(ctx, &x->stream, first, &picture));
    j.skip = first - x->stream.first;
    *count = j.count = tnp_min(most, x->stream.some - j.skip);
    TN_TRY(tnp_alloc(ctx, j.count, sizeof *j.status, &j.status));
    TN_TRY(tnp_alloc(ctx, j.count, sizeof *j.by, &j.by));
    tnp_parallel(ctx, x->worker_count, x->worker_count, encode_some, &j);
    for (size_t i = 0; st == TN_OK && i < j.count; ++i) {
        const tn_ctx *told = x->workers[j.by[i]].ctx;
        st = j.status[i];
        if (st != TN_OK && told != ctx)
            (void)tnp_fail(ctx, st, "%s", tn_ctx_message(told));
    }
done:
    tnp_free_all(j.status, j.by);
    return st;
}

static tn_status encode_bag(tn_ctx *ctx, tnp_extraction *x, size_t i)
{
    tn_status st = TN_OK;
    tnp_bag bag;
    TN_TRY(tnp_bag_stream_get(ctx, &x->stream, i, &bag));
    size_t dim = x->stream.dim;
    tn_view places = {bag.places, bag.rows, 3, 3};
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(tn_encoder_encode(ctx, x->encoders[e], (tn_view){bag.x, bag.rows, dim, dim}, places, x->rows[e]));
done:
    return st;
}

tn_status tnp_extraction_rows(tn_ctx *ctx, tnp_extraction *x, size_t first, size_t most, size_t *count)
{
    *count = 1;
    return x->stream.describer ? encode_pictures(ctx, x, first, most, count) : encode_bag(ctx, x, first);
}

static tn_status check(tn_ctx *ctx, const tn_encoder *const *encoders, size_t count, bool pictures)
{
    if (count == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "extract: no encoder");
    for (size_t e = 0; e < count; ++e) {
        if (pictures && encoders[e]->network && !encoders[e]->joined)
            return tnp_fail(ctx, TN_ERR_ARG, "extract: encoder %zu takes what a network makes; set it first", e);
        if (pictures && encoders[e]->joined != encoders[0]->joined)
            return tnp_fail(ctx, TN_ERR_ARG,
                            "extract: encoders 0 and %zu see pictures through different networks; extract them apart",
                            e);
        if (pictures && !encoders[e]->describer.kind && !encoders[e]->network)
            return tnp_fail(ctx, TN_ERR_ARG, "extract: encoder %zu was trained on bags and does not know pictures", e);
        if (e > 0 && pictures &&
            (encoders[e]->picture.pixels != encoders[0]->picture.pixels ||
             encoders[e]->picture.side != encoders[0]->picture.side))
            return tnp_fail(ctx, TN_ERR_ARG,
                            "extract: encoders 0 and %zu want pictures of different sizes; extract them apart", e);
    }
    return TN_OK;
}

static tn_status make_workers(tn_ctx *ctx, tnp_extraction *x, size_t count)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, count, sizeof *x->workers, &x->workers));
    for (; x->worker_count < count; ++x->worker_count) {
        tnp_extraction_worker *w = x->workers + x->worker_count;
        TN_TRY(tnp_alloc(ctx, x->count, sizeof *w->described, &w->described));
        w->ctx = ctx;
        st = count == 1 ? TN_OK : tnp_ctx_beside(ctx, 1, 2 * count, &w->ctx);
        if (st != TN_OK) {
            tnp_free(w->described);
            return st;
        }
    }
done:
    return st;
}

void tnp_extraction_end(tn_ctx *ctx, tnp_extraction *x)
{
    for (size_t i = 0; i < x->worker_count; ++i) {
        tnp_extraction_worker *w = x->workers + i;
        for (size_t e = 0; e < x->count; ++e)
            tnp_described_free(w->described + e);
        tnp_free(w->described);
        if (w->ctx != ctx)
            tn_ctx_free(w->ctx);
    }
    for (size_t e = 0; x->rows && e < x->count; ++e)
        tnp_free(x->rows[e]);
    tnp_free_all(x->workers, x->rows);
    tnp_bag_stream_close(&x->stream);
}

tn_status tnp_extraction_begin(tn_ctx *ctx, const tn_pictures *pictures, const tn_bags *bags, tnp_extraction *x)
{
    tn_status st = TN_OK;
    TN_TRY(check(ctx, x->encoders, x->count, pictures != NULL));
    if (pictures && x->encoders[0]->joined) {
        TN_TRY(tnp_bag_stream_network(ctx, pictures, x->encoders[0]->joined, &x->stream));
    } else if (pictures) {
        TN_TRY(
            tnp_bag_stream_pictures(ctx, pictures, &x->encoders[0]->describer, &x->encoders[0]->picture, &x->stream));
        TN_TRY(make_workers(ctx, x, tn_ctx_threads(ctx)));
    } else {
        TN_TRY(tnp_bag_stream_bags(ctx, bags, &x->stream));
    }
    x->stream.picture.on_error = TNP_ON_ERROR_STOP; /* rows are promised */
    x->capacity = x->stream.describer ? x->stream.capacity : 1;
    TN_TRY(tnp_alloc(ctx, x->count, sizeof *x->rows, &x->rows));
    for (size_t e = 0; e < x->count; ++e)
        TN_TRY(tnp_alloc(ctx, x->capacity * tn_encoder_cols(x->encoders[e]), sizeof(float), &x->rows[e]));
done:
    return st;
}
