/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a refinement after a round:
 *
 *   tensors    numbers (10): done, best, pairs, steps of Adam, moved, eta, C, classes, converged, top   all doubles
 *              rounds (done x 6): as tn_refine_round; ap (done x classes)
 *              x, best, move, before, mean, square (1 x size), s and y (10 x size)
 *              w (machines x columns + 1)                                                   floats
 *   metadata   format = tenon-refinement, version, run
 *
 * Everything is stored to the bit. Vectors are not: they are made again from x, which gives the same, and with the
 * weights at hand nothing is solved twice. */
#include "pipeline/refine/run.h"

#include "store/store.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char format_name[] = "tenon-refinement", format_version[] = "1";

enum { NUMBERS = 10, PER_ROUND = 6, TENSORS = 12, FIGURES = 3, KEY = 20 };

/* ---- what a run is ---- */

static uint64_t add(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* Of data, targets and all options that change a round; how many rounds there are to be may change. */
static void write_key(const tnp_refining *r, char key[KEY])
{
    const tnp_refine_options *o = r->options;
    const double values[] = {(double)o->objective,
                             (double)o->optimizer,
                             o->cost.value,
                             o->penalty,
                             o->soften,
                             o->rate,
                             o->part,
                             o->dropout,
                             o->threshold,
                             o->holdout,
                             o->intercept,
                             (double)o->precision,
                             (double)r->seed};
    uint64_t hash = add(r->key, values, sizeof values);
    if (o->learn != TNP_LEARN_MIXTURE) /* checkpoints from before there was a choice go on */
        hash = add(hash, &o->learn, sizeof o->learn);
    hash = add(hash, r->first, (r->train.count + 1) * sizeof *r->first);
    hash = add(hash, r->cls, r->first[r->train.count] * sizeof *r->cls);
    hash = add(hash, r->valid.bags, r->valid.count * sizeof *r->valid.bags);
    snprintf(key, KEY, "%016llx", (unsigned long long)hash);
}

/* ---- tensors ---- */

typedef struct pages {
    double numbers[NUMBERS];
    double *rounds; /* (done, PER_ROUND) */
    tnp_tensor tensors[TENSORS];
} pages;

static void list_tensors(const tnp_refine_run *run, size_t done, pages *p)
{
    const tnp_machines *m = &run->r.machines;
    size_t size = run->r.size;
    const tnp_tensor all[TENSORS] = {
        {"numbers", TN_F64, {NUMBERS, 1}, 2, p->numbers},
        {"rounds", TN_F64, {done, PER_ROUND}, 2, p->rounds},
        {"ap", TN_F64, {done, m->classes}, 2, run->ap},
        {"x", TN_F64, {1, size}, 2, run->x},
        {"best", TN_F64, {1, size}, 2, run->best_x},
        {"move", TN_F64, {1, size}, 2, run->move},
        {"before", TN_F64, {1, size}, 2, run->before},
        {"mean", TN_F64, {1, size}, 2, run->steps.mean},
        {"square", TN_F64, {1, size}, 2, run->steps.square},
        {"s", TN_F64, {TNP_STEPS_MEMORY, size}, 2, run->steps.s},
        {"y", TN_F64, {TNP_STEPS_MEMORY, size}, 2, run->steps.y},
        {"w", TN_F32, {m->columns, m->dim + 1}, 2, m->w},
    };
    memcpy(p->tensors, all, sizeof all);
}

tn_status tnp_refine_save(tn_ctx *ctx, const tnp_refine_run *run, const char *path)
{
    tn_status st = TN_OK;
    char key[KEY];
    pages p = {.rounds = NULL};
    const tnp_meta meta[] = {{"format", format_name}, {"version", format_version}, {"run", key}};
    const double numbers[NUMBERS] = {
        (double)run->done,    (double)run->best, (double)run->steps.count, (double)run->steps.taken,
        run->moved,           run->eta,          run->r.machines.cost,     (double)run->r.machines.classes,
        run->stopped != NULL, (double)run->top};
    write_key(&run->r, key);
    memcpy(p.numbers, numbers, sizeof numbers);
    TN_TRY(tnp_alloc(ctx, run->done * PER_ROUND, sizeof *p.rounds, &p.rounds));
    for (size_t i = 0; i < run->done; ++i) {
        const tn_refine_round *t = run->rounds + i;
        const double row[PER_ROUND] = {t->objective, t->loss, t->step, t->valid, (double)t->trials, t->seconds};
        memcpy(p.rounds + i * PER_ROUND, row, sizeof row);
    }
    list_tensors(run, run->done, &p);
    TN_TRY(tnp_store_save(ctx, path, meta, sizeof meta / sizeof *meta, p.tensors, TENSORS));
done:
    tnp_free(p.rounds);
    return st;
}

/* ---- reading ---- */

static tn_status damaged(tn_ctx *ctx, const char *path)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable checkpoint; remove it to begin anew", path);
}

static tn_status check_numbers(tn_ctx *ctx, const tnp_refine_run *run, const char *path, const double *n)
{
    bool fine = tnp_whole_below(n[0], 1e6) && n[0] >= 1 && tnp_whole_below(n[1], n[0]) &&
                tnp_whole_below(n[2], TNP_STEPS_MEMORY + 1) && tnp_whole_below(n[3], 1e6) && tnp_whole_below(n[4], 2) &&
                n[5] >= 0 && n[6] > 0 && n[7] == (double)run->r.machines.classes && tnp_whole_below(n[8], 2) &&
                tnp_whole_below(n[9], n[0]);
    return fine ? TN_OK : damaged(ctx, path);
}

static void give_rounds(tnp_refine_run *run, const pages *p)
{
    for (size_t i = 0; i < run->done; ++i) {
        const double *row = p->rounds + i * PER_ROUND;
        run->rounds[i] = (tn_refine_round){row[0], row[1], row[2], row[3], (size_t)fmax(0, row[4]), row[5]};
    }
}

/* Both places are ones that rounds can have come to: nearer than any number of them goes. */
static tn_status check_places(tn_ctx *ctx, const tnp_refine_run *run, const char *path)
{
    const double most = 1e4;
    for (size_t i = 0; i < run->r.size; ++i)
        if (!(fabs(run->x[i] - run->r.start[i]) < most && fabs(run->best_x[i] - run->r.start[i]) < most))
            return damaged(ctx, path);
    return TN_OK;
}

static tn_status read_all(tn_ctx *ctx, tnp_refine_run *run, const tnp_safetensors *file, const char *path, pages *p)
{
    tn_status st = TN_OK;
    list_tensors(run, 0, p);
    TN_TRY(tnp_store_read(ctx, file, &p->tensors[0], TNP_FINITE));
    TN_TRY(check_numbers(ctx, run, path, p->numbers));
    run->done = (size_t)p->numbers[0];
    run->best = (size_t)p->numbers[1];
    run->steps.count = (size_t)p->numbers[2];
    run->steps.taken = (size_t)p->numbers[3];
    run->moved = p->numbers[4] > 0;
    run->eta = p->numbers[5];
    run->r.machines.cost = p->numbers[6];
    run->stopped = p->numbers[8] > 0 ? "converged" : NULL;
    run->top = (size_t)p->numbers[9];
    if (run->done > run->capacity) {
        TN_TRY(tnp_grow(ctx, &run->rounds, 0, run->done, sizeof *run->rounds));
        TN_TRY(tnp_grow(ctx, &run->ap, 0, run->done * run->r.classes, sizeof *run->ap));
        run->capacity = run->done;
    }
    TN_TRY(tnp_alloc(ctx, run->done * PER_ROUND, sizeof *p->rounds, &p->rounds));
    list_tensors(run, run->done, p);
    for (size_t i = 1; i < TENSORS; ++i)
        TN_TRY(tnp_store_read(ctx, file, &p->tensors[i], i < FIGURES ? TNP_ANY : TNP_FINITE));
    give_rounds(run, p);
    TN_TRY(check_places(ctx, run, path));
done:
    return st;
}

tn_status tnp_refine_load(tn_ctx *ctx, tnp_refine_run *run, const char *path, bool *found)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    pages p = {.rounds = NULL};
    char key[KEY];
    *found = access(path, F_OK) == 0;
    if (!*found)
        return TN_OK;
    write_key(&run->r, key);
    TN_TRY(tnp_safetensors_load(ctx, path, &file));
    TN_TRY(tnp_store_check(ctx, file, path, format_name, format_version));
    const char *whose = tnp_safetensors_meta(file, "run");
    if (!whose || strcmp(whose, key) != 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "%s: a checkpoint of another run (its options or data differ); remove it to begin anew", path));
    TN_TRY(read_all(ctx, run, file, path, &p));
done:
    tnp_safetensors_close(file);
    tnp_free(p.rounds);
    return st;
}
