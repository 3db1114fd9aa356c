/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moments with what is behind them: how parts that were made anywhere become those of all rows.
 *
 *   merge      classes united by name; sums about into's shift and offset (matrix/moments.c); lists of rows joined
 *   subtract   the same with the other sign, for parts that are in
 *
 * All sums are double, whatever the files hold: nobody can go back to the rows for more digits, and the order of merging
 * is then a matter of 1e-16 of a sum. Subtracting leaves the rounding of all that ever was in: of a column's variance v
 * in what is left, and its sum of squares g about the shift before, log10(g / v) of 15 digits are gone at most.
 *
 * A part that lacks a class knows of no row of it: its targets are 0 there. Oracle: tests/unit/test_tally.c, the moments
 * of all rows at once. */
#include "learn/tally/tally.h"
#include "read/labels/labels.h"
#include "read/text.h"

#include <math.h>
#include <string.h>

void tn_tally_free(tn_tally *t)
{
    if (!t)
        return;
    tn_head_free(t->like);
    for (size_t f = 0; t->fold && f < t->folds; ++f)
        tn_moments_free(t->fold[f]);
    tnp_free_all(t->fold, t->offset);
    tnp_inputs_free(t->inputs, t->input_count);
    tnp_free(t);
}

tn_status tnp_tally_new(tn_ctx *ctx, tn_head *like, size_t folds, size_t seed, tn_tally **out)
{
    tn_status st = TN_OK;
    tn_tally *t = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *t, &t));
    t->like = like;
    like = NULL;
    t->folds = folds;
    t->seed = seed;
    TN_TRY(tnp_alloc(ctx, folds, sizeof *t->fold, &t->fold));
    TN_TRY(tnp_alloc(ctx, t->like->classes, sizeof *t->offset, &t->offset));
    for (size_t f = 0; f < folds; ++f)
        TN_TRY(tnp_moments_new(ctx, t->like->dim, t->like->classes, true, &t->fold[f]));
    *out = t;
    t = NULL;
done:
    tn_head_free(like);
    tn_tally_free(t);
    return st;
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t tnp_hash_doubles(const double *x, size_t count, uint64_t seed)
{
    enum { LANES = 4 }; /* that do not wait for one another */
    uint64_t h[LANES] = {seed, seed + 1, seed + 2, seed + 3}, bits[LANES], all = count;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        memcpy(bits, x + i, sizeof bits);
        for (size_t l = 0; l < LANES; ++l) {
            h[l] = (h[l] ^ bits[l]) * UINT64_C(0x9e3779b97f4a7c15);
            h[l] ^= h[l] >> 29;
        }
    }
    for (; i < count; ++i) {
        memcpy(bits, x + i, sizeof *bits);
        h[0] = mix(h[0] ^ *bits) + UINT64_C(0x9e3779b97f4a7c15);
    }
    for (size_t l = 0; l < LANES; ++l)
        all = mix(all + h[l]);
    return all;
}

size_t tnp_tally_fold(const tn_tally *t, const char *id, size_t row)
{
    uint64_t of = t->seed;
    for (; *id; ++id)
        of = mix(of + (unsigned char)*id + 1);
    return (size_t)(mix(mix(of + UINT64_C(0x9e3779b97f4a7c15)) + row) % t->folds);
}

tn_status tnp_tally_add_input(tn_ctx *ctx, tn_tally *t, const tnp_input *input)
{
    tn_status st = TN_OK;
    tnp_input *list = NULL;
    size_t count = 0;
    TN_TRY(tnp_inputs_check(ctx, t->inputs, t->input_count, input, 1));
    TN_TRY(tnp_inputs_join(ctx, t->inputs, t->input_count, input, 1, &list, &count));
    tnp_inputs_free(t->inputs, t->input_count);
    t->inputs = list;
    t->input_count = count;
done:
    return st;
}

/* ---- classes ---- */

/* Two lists of names as one: where each class of either has its place. */
typedef struct union_of {
    char **names; /* one block, as tnp_strings_new makes them */
    size_t count;
    size_t *into, *from; /* places of the classes of both */
} union_of;

static void union_destroy(union_of *u)
{
    tnp_free_all(u->names, u->into, u->from);
}

/* Place of a name in a list of spans that order sorts. */
static size_t place_of(const char *name, const tnp_span *names, size_t count, tnp_span_order order)
{
    tnp_span span = {name, strlen(name)};
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int way = order(&names[middle], &span);
        if (way == 0)
            return middle;
        if (way < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

static tn_status unite(tn_ctx *ctx, const tn_head *a, const tn_head *b, union_of *u)
{
    tn_status st = TN_OK;
    tnp_span *names = NULL;
    size_t all = a->classes + b->classes, bytes = 0;
    char *text = NULL;
    TN_TRY(tnp_alloc(ctx, all, sizeof *names, &names));
    TN_TRY(tnp_alloc(ctx, a->classes, sizeof *u->into, &u->into));
    TN_TRY(tnp_alloc(ctx, b->classes, sizeof *u->from, &u->from));
    for (size_t k = 0; k < all; ++k) {
        const char *name = k < a->classes ? a->names[k] : b->names[k - a->classes];
        names[k] = (tnp_span){name, strlen(name)};
    }
    tnp_span_order order = NULL;
    u->count = tnp_distinct_names(names, all, &order);
    for (size_t k = 0; k < u->count; ++k)
        bytes += names[k].length + 1;
    TN_TRY(tnp_strings_new(ctx, u->count, bytes, &u->names, &text));
    for (size_t k = 0; k < u->count; ++k)
        u->names[k] = tnp_strings_put(&text, names[k]);
    for (size_t k = 0; k < a->classes; ++k)
        u->into[k] = place_of(a->names[k], names, u->count, order);
    for (size_t k = 0; k < b->classes; ++k)
        u->from[k] = place_of(b->names[k], names, u->count, order);
done:
    tnp_free(names);
    return st;
}

/* Place of every class of b among those of a: SIZE_MAX where there is none; *missing: how many those are. */
static tn_status find_classes(tn_ctx *ctx, const tn_head *a, const tn_head *b, size_t **place, size_t *missing)
{
    tn_status st = TN_OK;
    union_of u = {NULL, 0, NULL, NULL};
    size_t *back = NULL, *found = NULL;
    TN_TRY(unite(ctx, a, b, &u));
    TN_TRY(tnp_alloc(ctx, u.count, sizeof *back, &back));
    TN_TRY(tnp_alloc(ctx, b->classes, sizeof *found, &found));
    *missing = u.count - a->classes;
    for (size_t k = 0; k < u.count; ++k)
        back[k] = SIZE_MAX;
    for (size_t k = 0; k < a->classes; ++k)
        back[u.into[k]] = k;
    for (size_t k = 0; k < b->classes; ++k)
        found[k] = back[u.from[k]];
    *place = found;
    found = NULL;
done:
    union_destroy(&u);
    tnp_free_all(back, found);
    return st;
}

/* Gives the tally other classes: place (of those that it has) says which become which, SIZE_MAX: gone. */
static tn_status set_classes(tn_ctx *ctx, tn_tally *t, const char *const *names, size_t count, const size_t *place)
{
    tn_status st = TN_OK;
    tn_head *like = NULL;
    double *offset = NULL;
    tnp_class_sums *sums = NULL;
    TN_TRY(tnp_head_like(ctx, t->like, names, count, &like));
    TN_TRY(tnp_alloc(ctx, count, sizeof *offset, &offset));
    for (size_t k = 0; k < t->like->classes; ++k)
        if (place[k] != SIZE_MAX)
            offset[place[k]] = t->offset[k];
    TN_TRY(tnp_alloc(ctx, t->folds, sizeof *sums, &sums));
    for (size_t f = 0; f < t->folds; ++f)
        TN_TRY(tnp_class_sums_init(ctx, t->fold[f], count, place, &sums[f]));
    for (size_t f = 0; f < t->folds; ++f)
        tnp_moments_swap_sums(t->fold[f], &sums[f]);
    tn_head_free(t->like);
    tnp_free(t->offset);
    t->like = like;
    t->offset = offset;
    like = NULL;
    offset = NULL;
done:
    for (size_t f = 0; sums && f < t->folds; ++f)
        tnp_class_sums_destroy(&sums[f]);
    tnp_free(sums);
    tn_head_free(like);
    tnp_free(offset);
    return st;
}

/* ---- merging ---- */

static tn_status check_alike(tn_ctx *ctx, const tn_tally *a, const tn_tally *b)
{
    if (a->like->task != b->like->task)
        return tnp_fail(ctx, TN_ERR_DATA, "moments: a part is for a %s task, the others for a %s one",
                        tn_task_name(b->like->task), tn_task_name(a->like->task));
    if (!tnp_reps_alike(a->like, b->like))
        return tnp_fail(ctx, TN_ERR_SHAPE,
                        "moments: a part has %zu columns of %s..., the others %zu of %s...; expected the same "
                        "representations by name, columns, transform and normalisation: NAME=FILE names them",
                        b->like->dim, b->like->reps[0].name, a->like->dim, a->like->reps[0].name);
    if (a->folds != b->folds || (a->folds > 1 && a->seed != b->seed))
        return tnp_fail(ctx, TN_ERR_SHAPE, "moments: a part has %zu folds by seed %zu, the others %zu by seed %zu",
                        b->folds, b->seed, a->folds, a->seed);
    return TN_OK;
}

/* The first class of b that a lacks. */
static const char *first_missing(const tn_tally *b, const size_t *place)
{
    size_t k = 0;
    while (place[k] != SIZE_MAX)
        ++k;
    return b->like->names[k];
}

/* The frame of moments that have no rows yet is that of the others. */
static void take_frame(tn_tally *into, const tn_tally *from, const size_t *place)
{
    bool empty = true;
    for (size_t f = 0; f < into->folds; ++f)
        empty &= into->fold[f]->rows == 0;
    if (!empty)
        return;
    for (size_t f = 0; f < into->folds; ++f)
        tnp_moments_frame(into->fold[f], from->fold[0]->shift);
    for (size_t k = 0; k < from->like->classes; ++k)
        into->offset[place[k]] = from->offset[k];
}

/* into += or -= from, whose class k is place[k] of into. moved (classes of from) is scratch. */
static void combine(tn_tally *into, const tn_tally *from, bool add, const size_t *place, double *moved)
{
    for (size_t k = 0; k < from->like->classes; ++k)
        moved[k] = from->offset[k] - into->offset[place[k]];
    const tnp_match match = {place, from->like->task == TN_TASK_REGRESSION ? moved : NULL};
    for (size_t f = 0; f < into->folds; ++f)
        if (from->fold[f]->rows > 0)
            (add ? tnp_moments_add_part : tnp_moments_take_part)(into->fold[f], from->fold[f], &match);
}

/* Classes of both, where into lacks some of from's; and where from's are then. */
static tn_status widen(tn_ctx *ctx, tn_tally *into, const tn_tally *from, size_t **place)
{
    tn_status st = TN_OK;
    union_of u = {NULL, 0, NULL, NULL};
    TN_TRY(unite(ctx, into->like, from->like, &u));
    TN_TRY(set_classes(ctx, into, (const char *const *)u.names, u.count, u.into));
    tnp_free(*place);
    *place = u.from;
    u.from = NULL;
done:
    union_destroy(&u);
    return st;
}

tn_status tn_tally_merge(tn_ctx *ctx, tn_tally *into, const tn_tally *from)
{
    tn_status st = TN_OK;
    size_t *place = NULL, missing = 0, count = 0;
    double *moved = NULL;
    tnp_input *inputs = NULL;
    TN_TRY(check_alike(ctx, into, from));
    TN_TRY(tnp_inputs_check(ctx, into->inputs, into->input_count, from->inputs, from->input_count));
    TN_TRY(tnp_inputs_join(ctx, into->inputs, into->input_count, from->inputs, from->input_count, &inputs, &count));
    TN_TRY(tnp_alloc(ctx, from->like->classes, sizeof *moved, &moved));
    TN_TRY(find_classes(ctx, into->like, from->like, &place, &missing));
    if (into->like->task == TN_TASK_REGRESSION && (missing > 0 || from->like->classes != into->like->classes))
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "moments: a part has %zu outputs, the others %zu, or of other names",
                        from->like->classes, into->like->classes));
    if (missing > 0)
        TN_TRY(widen(ctx, into, from, &place));
    take_frame(into, from, place);
    combine(into, from, true, place, moved);
    into->left_out += from->left_out;
    tnp_inputs_free(into->inputs, into->input_count);
    into->inputs = inputs;
    into->input_count = count;
    inputs = NULL;
done:
    tnp_inputs_free(inputs, count);
    tnp_free_all(place, moved);
    return st;
}

/* ---- subtracting ---- */

/* No fold has fewer rows or less weight than what is taken from it. */
static tn_status check_rows(tn_ctx *ctx, const tn_tally *into, const tn_tally *from)
{
    for (size_t f = 0; f < into->folds; ++f)
        if (into->fold[f]->rows < from->fold[f]->rows || !(into->fold[f]->weight >= from->fold[f]->weight * (1 - 1e-9)))
            return tnp_fail(ctx, TN_ERR_DATA, "moments: %zu rows of a fold cannot be taken from %zu",
                            from->fold[f]->rows, into->fold[f]->rows);
    return TN_OK;
}

/* Sums of squares about the shift, or variances times rows, (dim) each, of all folds. */
static void squares(const tn_tally *t, bool centred, double *out)
{
    size_t dim = t->like->dim;
    for (size_t j = 0; j < dim; ++j) {
        double square = 0, sum = 0, weight = 0;
        for (size_t f = 0; f < t->folds; ++f) {
            square += t->fold[f]->gram[j * dim + j];
            sum += t->fold[f]->sum[j];
            weight += t->fold[f]->weight;
        }
        out[j] = centred && weight > 0 ? square - sum * sum / weight : square;
    }
}

/* Decimal digits that the worst column loses; a column that is constant in what is left has none to lose. */
static double digits_lost(const double *before, const double *left, size_t dim)
{
    double worst = 1;
    for (size_t j = 0; j < dim; ++j)
        if (left[j] > 1e-14 * before[j])
            worst = fmax(worst, before[j] / left[j]);
    return log10(worst);
}

/* Takes out classes that no row of a positive target is left of, but not all of them. */
static tn_status drop_empty(tn_ctx *ctx, tn_tally *t, const double *before)
{
    tn_status st = TN_OK;
    size_t *place = NULL, left = 0, k = t->like->classes;
    const char **names = NULL;
    TN_TRY(tnp_alloc(ctx, k, sizeof *place, &place));
    TN_TRY(tnp_alloc(ctx, k, sizeof *names, &names));
    for (size_t c = 0; c < k; ++c) {
        double sum = 0;
        for (size_t f = 0; f < t->folds; ++f)
            sum += t->fold[f]->ysum[c];
        bool gone = before[c] > 0 && sum <= 1e-12 * before[c];
        place[c] = gone ? SIZE_MAX : left;
        if (!gone)
            names[left++] = t->like->names[c];
    }
    if (left < k && left > 0)
        TN_TRY(set_classes(ctx, t, names, left, place));
done:
    tnp_free_all(place, names);
    return st;
}

static tn_status check_classes(tn_ctx *ctx, const tn_tally *from, const size_t *place)
{
    for (size_t k = 0; k < from->like->classes; ++k)
        if (place[k] == SIZE_MAX)
            return tnp_fail(ctx, TN_ERR_DATA, "moments: what is to be taken out has class '%s', which is not in",
                            first_missing(from, place));
    return TN_OK;
}

tn_status tn_tally_subtract(tn_ctx *ctx, tn_tally *into, const tn_tally *from, double *digits)
{
    tn_status st = TN_OK;
    size_t *place = NULL, missing = 0, count = 0, dim = into->like->dim, k = into->like->classes;
    double *moved = NULL, *before = NULL, *left = NULL, *positives = NULL;
    tnp_input *inputs = NULL;
    TN_TRY(check_alike(ctx, into, from));
    TN_TRY(check_rows(ctx, into, from));
    TN_TRY(tnp_inputs_drop(ctx, into->inputs, into->input_count, from->inputs, from->input_count, &inputs, &count));
    TN_TRY(tnp_alloc(ctx, from->like->classes, sizeof *moved, &moved));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *before, &before));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *left, &left));
    TN_TRY(tnp_alloc(ctx, k, sizeof *positives, &positives));
    TN_TRY(find_classes(ctx, into->like, from->like, &place, &missing));
    TN_TRY(check_classes(ctx, from, place));
    squares(into, false, before);
    for (size_t c = 0; into->like->task != TN_TASK_REGRESSION && c < k; ++c)
        for (size_t f = 0; f < into->folds; ++f)
            positives[c] += into->fold[f]->ysum[c];
    combine(into, from, false, place, moved);
    into->left_out -= tnp_min(from->left_out, into->left_out);
    tnp_inputs_free(into->inputs, into->input_count);
    into->inputs = inputs;
    into->input_count = count;
    inputs = NULL;
    squares(into, true, left);
    if (digits)
        *digits = digits_lost(before, left, dim);
    TN_TRY(drop_empty(ctx, into, positives));
done:
    tnp_inputs_free(inputs, count);
    tnp_free_all(place, moved, before, left, positives);
    return st;
}

/* ---- looking ---- */

tn_status tnp_tally_all(tn_ctx *ctx, const tn_tally *t, bool raw_targets, tnp_moments **owned,
                        const tnp_moments **borrowed)
{
    tn_status st = TN_OK;
    tnp_moments *all = NULL;
    bool moved = false;
    for (size_t k = 0; raw_targets && k < t->like->classes; ++k)
        moved |= t->offset[k] != 0;
    if (t->folds == 1 && !moved) {
        *borrowed = t->fold[0];
        return TN_OK;
    }
    TN_TRY(tnp_moments_new(ctx, t->like->dim, t->like->classes, true, &all));
    for (size_t f = 0; f < t->folds; ++f)
        TN_TRY(tn_moments_merge(ctx, all, t->fold[f]));
    if (moved)
        tnp_moments_move_targets(all, t->offset);
    *owned = all;
    *borrowed = all;
    all = NULL;
done:
    tn_moments_free(all);
    return st;
}

size_t tn_tally_rows(const tn_tally *t)
{
    size_t rows = 0;
    for (size_t f = 0; f < t->folds; ++f)
        rows += t->fold[f]->rows;
    return rows;
}

size_t tn_tally_left_out(const tn_tally *t)
{
    return t->left_out;
}

size_t tn_tally_cols(const tn_tally *t)
{
    return t->like->dim;
}

size_t tn_tally_folds(const tn_tally *t)
{
    return t->folds;
}

tn_task tn_tally_task(const tn_tally *t)
{
    return t->like->task;
}

size_t tn_tally_classes(const tn_tally *t)
{
    return t->like->classes;
}

const char *const *tn_tally_class_names(const tn_tally *t)
{
    return (const char *const *)t->like->names;
}

double tn_tally_positives(const tn_tally *t, size_t k)
{
    double sum = 0;
    for (size_t f = 0; f < t->folds; ++f)
        sum += t->fold[f]->ysum[k] + t->offset[k] * t->fold[f]->weight;
    return sum;
}

size_t tn_tally_rep_count(const tn_tally *t)
{
    return t->like->rep_count;
}

tn_rep tn_tally_rep(const tn_tally *t, size_t i)
{
    return tn_head_rep(t->like, i);
}

size_t tn_tally_input_count(const tn_tally *t)
{
    return t->input_count;
}

tn_tally_input tn_tally_input_at(const tn_tally *t, size_t i)
{
    const tnp_input *input = &t->inputs[i];
    return (tn_tally_input){input->path, input->id, input->from, input->to, input->used};
}
