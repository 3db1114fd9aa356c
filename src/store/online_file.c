/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners as files: a head as of now (head_file.c) and, beside its tensors, the state to the bit:
 *
 *   online.settings (SETTINGS)   rule, multiclass, average, intercept, nan, C, eta, ratio, expectations   all doubles,
 *   online.counts (COUNTS)       samples, updates, mistakes                                       exact below 2^53
 *   online.seed (2)              high and low 32 bits
 *   online.draws (DRAWS)         rows expected, rows left of them, state of the random stream in halves of 32 bits
 *   online.expected (K x 3)      positives, negatives still wanted, still to come; both where rows are expected
 *   online.mu, .u, .sigma        (K x D + 1): weights, the averaging sum, variances, those of the intercept last;
 *                                floats, as the rule has them
 *
 * Everything read is checked, as in head_file.c: variances too, for bounds go by Sigma <= 1. */
#include "algebra/blas.h"
#include "learn/online/online_chunks.h"
#include "store/head_file.h"
#include "tenon/store.h"

#include <math.h>
#include <string.h>

enum { SETTINGS = 9, COUNTS = 3, SEED = 2, RNG = 8, DRAWS = 2 + RNG, PER_CLASS = 3, PARTS = 3, TENSORS = 5 + PARTS };

/* The state as the file has it. */
typedef struct numbers {
    double settings[SETTINGS], counts[COUNTS], seed[SEED], draws[DRAWS];
    double *expected;    /* (classes, PER_CLASS); NULL: no rows are expected */
    float *parts[PARTS]; /* (classes, dim + 1): mu, u, sigma; NULL where the rule has none */
} numbers;

static const char in_memory[] = "online learner in memory";
static const double exact = 9007199254740992; /* 2^53 */

static void split(uint64_t value, double *halves)
{
    halves[0] = (double)(value >> 32);
    halves[1] = (double)(value & UINT32_MAX);
}

static uint64_t join(const double *halves)
{
    return (uint64_t)halves[0] << 32 | (uint64_t)halves[1];
}

static tn_status numbers_alloc(tn_ctx *ctx, const tn_online *o, numbers *n)
{
    tn_status st = TN_OK;
    const tnp_online *l = o->learner;
    const float *const state[PARTS] = {l->mu, l->u, l->sigma};
    size_t k = l->shape.classes;
    if (o->negatives)
        TN_TRY(tnp_alloc(ctx, k * PER_CLASS, sizeof *n->expected, &n->expected));
    for (size_t i = 0; i < PARTS; ++i)
        if (state[i])
            TN_TRY(tnp_alloc_raw(ctx, k * (l->shape.dim + 1), sizeof *n->parts[i], &n->parts[i]));
done:
    return st;
}

static void numbers_free(numbers *n)
{
    tnp_free(n->expected);
    for (size_t i = 0; i < PARTS; ++i)
        tnp_free(n->parts[i]);
}

/* Between the learner's padded rows and those of the file. */
static void copy_parts(const tnp_online *l, const numbers *n, bool to_learner)
{
    float *const state[PARTS] = {l->mu, l->u, l->sigma};
    size_t values = l->shape.dim + 1;
    for (size_t i = 0; i < PARTS; ++i)
        for (size_t c = 0; state[i] && c < l->shape.classes; ++c) {
            float *padded = state[i] + c * l->width, *compact = n->parts[i] + c * values;
            memcpy(to_learner ? padded : compact, to_learner ? compact : padded, values * sizeof *padded);
        }
}

/* Returns how many there are. */
static size_t list_tensors(const tnp_online *l, numbers *n, tnp_tensor *out)
{
    static const char *const names[PARTS] = {"online.mu", "online.u", "online.sigma"};
    size_t k = l->shape.classes, count = 0;
    out[count++] = (tnp_tensor){"online.settings", TN_F64, {SETTINGS, 0}, 1, n->settings};
    out[count++] = (tnp_tensor){"online.counts", TN_F64, {COUNTS, 0}, 1, n->counts};
    out[count++] = (tnp_tensor){"online.seed", TN_F64, {SEED, 0}, 1, n->seed};
    if (n->expected) {
        out[count++] = (tnp_tensor){"online.draws", TN_F64, {DRAWS, 0}, 1, n->draws};
        out[count++] = (tnp_tensor){"online.expected", TN_F64, {k, PER_CLASS}, 2, n->expected};
    }
    for (size_t i = 0; i < PARTS; ++i)
        if (n->parts[i])
            out[count++] = (tnp_tensor){names[i], TN_F32, {k, l->shape.dim + 1}, 2, n->parts[i]};
    return count;
}

/* ---- writing ---- */

static void take_draws(const tnp_negatives *d, numbers *n)
{
    n->draws[0] = (double)d->rows;
    n->draws[1] = (double)d->rows_left;
    for (size_t i = 0; i < RNG / 2; ++i)
        split(d->rng.state[i], n->draws + 2 + 2 * i);
    for (size_t c = 0; c < d->classes; ++c) {
        const double row[PER_CLASS] = {(double)d->positives[c], (double)d->wanted[c], (double)d->left[c]};
        memcpy(n->expected + c * PER_CLASS, row, sizeof row);
    }
}

static void take_numbers(const tn_online *o, numbers *n)
{
    const double settings[SETTINGS] = {(double)o->rule.kind,
                                       (double)o->options.multiclass,
                                       (double)o->shape.average,
                                       (double)o->shape.bias,
                                       (double)o->nan,
                                       o->rule.cost,
                                       o->eta,
                                       o->options.ratio,
                                       (double)o->expectations};
    const double counts[COUNTS] = {(double)o->learner->seen, (double)o->learner->updates, (double)o->learner->mistakes};
    memcpy(n->settings, settings, sizeof settings);
    memcpy(n->counts, counts, sizeof counts);
    split(o->seed, n->seed);
    copy_parts(o->learner, n, false);
    if (n->expected)
        take_draws(o->negatives, n);
}

static tn_status put(tn_ctx *ctx, const tn_online *o, const char *command, const tnp_store_to *to)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    numbers n = {.expected = NULL};
    tnp_tensor tensors[TENSORS];
    TN_TRY(tn_online_head(ctx, o, &head));
    TN_TRY(numbers_alloc(ctx, o, &n));
    take_numbers(o, &n);
    TN_TRY(tnp_head_save_with(ctx, head, tensors, list_tensors(o->learner, &n, tensors), command, to));
done:
    tn_head_free(head);
    numbers_free(&n);
    return st;
}

tn_status tn_online_save(tn_ctx *ctx, const tn_online *o, const char *command, const char *path)
{
    return put(ctx, o, command, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_online_to_bytes(tn_ctx *ctx, const tn_online *o, const char *command, void **bytes, size_t *size)
{
    return put(ctx, o, command, &(tnp_store_to){in_memory, bytes, size});
}

/* ---- reading ---- */

static tn_status damaged(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable online learner: %s", path, what);
}

/* Settings within the bounds that the options have. */
static tn_status give_settings(tn_ctx *ctx, const char *path, const double *s, tn_online *o)
{
    size_t count = 0;
    const tn_field *fields = tnp_online_fields(&count);
    bool ovr = s[1] != TNP_ONLINE_MUL || o->head->task == TN_TASK_MULTILABEL;
    bool whole = tnp_whole_below(s[0], TNP_SCW2 + 1) && tnp_whole_below(s[1], TNP_ONLINE_W_OVR + 1) &&
                 tnp_whole_below(s[2], 2) && tnp_whole_below(s[3], 2) && tnp_whole_below(s[4], TN_NAN_ZERO + 1) &&
                 tnp_whole_below(s[8], exact);
    if (!whole || !(s[5] > 0))
        return damaged(ctx, path, "its settings are out of bounds");
    tnp_online_options_default(&o->options);
    o->options.multiclass = (int)s[1];
    o->options.eta = o->eta = s[6];
    o->options.ratio = s[7];
    o->options.shuffle = false;
    o->rule = tnp_rule_new((tnp_online_rule)s[0], s[5], s[6]);
    o->shape = (tnp_online_shape){ovr ? TNP_OVR : TNP_MUL, s[2] > 0, s[3] > 0, 0, 0, TNP_ONLINE_BLOCK};
    o->nan = (tn_nan_policy)s[4];
    o->expectations = (size_t)s[8];
    return tnp_fields_check(ctx, fields, count, &o->options) == TN_OK
               ? TN_OK
               : damaged(ctx, path, "its settings are out of bounds");
}

static bool give_draws(const numbers *n, tnp_negatives *d)
{
    bool fine = tnp_whole_below(n->draws[0], exact) && tnp_whole_below(n->draws[1], n->draws[0] + 1);
    for (size_t i = 2; i < DRAWS; ++i)
        fine = fine && tnp_whole_below(n->draws[i], 0x1p32);
    for (size_t c = 0; fine && c < d->classes; ++c) {
        const double *row = n->expected + c * PER_CLASS;
        fine = tnp_whole_below(row[0], n->draws[0] + 1) && tnp_whole_below(row[2], n->draws[1] + 1) &&
               tnp_whole_below(row[1], row[2] + 1);
        d->positives[c] = fine ? (size_t)row[0] : 0;
        d->wanted[c] = fine ? (size_t)row[1] : 0;
        d->left[c] = fine ? (size_t)row[2] : 0;
    }
    if (!fine)
        return false;
    d->rows = (size_t)n->draws[0];
    d->rows_left = (size_t)n->draws[1];
    for (size_t i = 0; i < RNG / 2; ++i)
        d->rng.state[i] = join(n->draws + 2 + 2 * i);
    return true;
}

static tn_status give_counts(tn_ctx *ctx, const char *path, const numbers *n, tn_online *o)
{
    bool fine = tnp_whole_below(n->seed[0], 0x1p32) && tnp_whole_below(n->seed[1], 0x1p32);
    const float *sigma = n->parts[PARTS - 1];
    for (size_t i = 0; i < COUNTS; ++i)
        fine = fine && tnp_whole_below(n->counts[i], exact);
    for (size_t i = 0; fine && sigma && i < o->head->classes * (o->head->dim + 1); ++i)
        fine = sigma[i] >= 0 && sigma[i] <= 1;
    if (!fine || (o->negatives && !give_draws(n, o->negatives)))
        return damaged(ctx, path, "its counts or variances are out of bounds");
    copy_parts(o->learner, n, true);
    o->seed = join(n->seed);
    o->learner->seen = (uint64_t)n->counts[0];
    o->learner->updates = (uint64_t)n->counts[1];
    o->learner->mistakes = (uint64_t)n->counts[2];
    if (o->negatives)
        o->negatives->seed = o->seed;
    return TN_OK;
}

/* The object as the head and the settings describe it; its state is still to be read. */
static tn_status begin(tn_ctx *ctx, const tnp_safetensors *file, tn_online *o, numbers *n)
{
    tn_status st = TN_OK;
    const char *path = tnp_safetensors_path(file);
    const tnp_tensor settings = {"online.settings", TN_F64, {SETTINGS, 0}, 1, n->settings};
    TN_TRY(tnp_head_read(ctx, file, &o->head));
    if (!tnp_safetensors_has(file, settings.name))
        TN_TRY(damaged(ctx, path, "a head without the state of a learner"));
    if (o->head->source_count > 0 || o->head->task == TN_TASK_REGRESSION)
        TN_TRY(damaged(ctx, path, "no online method makes such a head"));
    TN_TRY(tnp_store_read(ctx, file, &settings, TNP_FINITE));
    TN_TRY(give_settings(ctx, path, n->settings, o));
    TN_TRY(tnp_online_learner(ctx, o, o->head->classes, o->head->dim, &o->learner));
    if (tnp_safetensors_has(file, "online.expected"))
        TN_TRY(tnp_negatives_new(ctx, o->head->classes, tnp_negatives_share(&o->options), 0, &o->negatives));
    TN_TRY(numbers_alloc(ctx, o, n));
done:
    return st;
}

/* bytes NULL: of the file. */
static tn_status get(tn_ctx *ctx, const char *path, const tnp_bytes *bytes, tn_online **out)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    tn_online *o = NULL;
    numbers n = {.expected = NULL};
    tnp_tensor tensors[TENSORS];
    TN_TRY(tnp_safetensors_parse(ctx, path, bytes, &file));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *o, &o));
    TN_TRY(begin(ctx, file, o, &n));
    size_t count = list_tensors(o->learner, &n, tensors);
    for (size_t i = 0; i < count; ++i)
        TN_TRY(tnp_store_read(ctx, file, &tensors[i], TNP_FINITE));
    TN_TRY(give_counts(ctx, path, &n, o));
    *out = o;
    o = NULL;
done:
    tnp_safetensors_close(file);
    tn_online_free(o);
    numbers_free(&n);
    return st;
}

tn_status tn_online_load(tn_ctx *ctx, const char *path, tn_online **out)
{
    return get(ctx, path, NULL, out);
}

tn_status tn_online_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_online **out)
{
    return get(ctx, name ? name : in_memory, &(tnp_bytes){bytes, size}, out);
}
