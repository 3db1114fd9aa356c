/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shuffled passes over rows on disk. Rows that fit STRETCH bytes together are shuffled plainly. More rows are cut into
 * runs of RUN bytes of neighbours; the runs are shuffled, gathered into stretches, and the rows of a stretch are
 * shuffled: a disk then reads a thousand long pieces from all over the file for every stretch, and a file sorted by
 * class is as well mixed as a thousand random places of it. Shuffling whole stretches of neighbours was refused (a
 * sorted file would come class by class), and so was a plain shuffle of everything (every row a disk access of its
 * own). */
#include "learn/online/visit_order.h"

static const size_t STRETCH = (size_t)256 << 20, RUN = (size_t)256 << 10;

tn_status tnp_visit_order_init(tn_ctx *ctx, size_t rows, size_t row_bytes, bool shuffle, tnp_visit_order *out)
{
    tn_status st = TN_OK;
    tnp_visit_order o = {.rows = rows, .run = 1, .stretch = rows, .shuffle = shuffle};
    bool plain = rows <= STRETCH / tnp_max(row_bytes, 1);
    if (!plain) {
        o.run = tnp_max(RUN / row_bytes, 1);
        o.stretch = tnp_max(STRETCH / row_bytes, 1) / o.run * o.run;
        o.stretch = tnp_max(o.stretch, o.run);
        o.run_count = (rows + o.run - 1) / o.run;
        TN_TRY(tnp_alloc(ctx, o.run_count, sizeof *o.runs, &o.runs));
    }
    TN_TRY(tnp_alloc(ctx, rows, sizeof *o.order, &o.order));
    *out = o;
    o = (tnp_visit_order){0};
done:
    tnp_visit_order_destroy(&o);
    return st;
}

void tnp_visit_order_destroy(tnp_visit_order *o)
{
    tnp_free_all(o->order, o->runs);
    o->order = o->runs = NULL;
}

void tnp_visit_order_draw(tnp_visit_order *o, uint64_t seed, size_t pass)
{
    enum { STREAM = 1 << 20 }; /* away from the streams that are numbered by other things */
    tnp_rng rng;
    tnp_rng_init(&rng, seed, STREAM + pass);
    for (size_t r = 0; r < o->run_count; ++r)
        o->runs[r] = r;
    if (o->shuffle && o->runs)
        tnp_rng_shuffle(&rng, o->runs, o->run_count);
    for (size_t r = 0, at = 0; r < o->run_count; ++r)
        for (size_t i = o->runs[r] * o->run, end = tnp_min(o->rows, i + o->run); i < end; ++i)
            o->order[at++] = i;
    for (size_t i = 0; !o->runs && i < o->rows; ++i)
        o->order[i] = i;
    for (size_t start = 0; o->shuffle && start < o->rows; start += o->stretch)
        tnp_rng_shuffle(&rng, o->order + start, tnp_min(o->stretch, o->rows - start));
}
