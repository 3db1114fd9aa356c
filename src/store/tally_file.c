/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tallies as files and as bytes, which are the same; the layout is described in docs/formats.md.
 *
 *   tensors    all F64, for F folds, D columns, K classes: counts (F x 5: rows, weight, sum of log weights, and the trace
 *              and variance by which rounding is told), gram (F x D(D+1)/2: the upper triangles row by row), shift (D), sum
 *              (F x D), xty (F K x D), ysum, yy (F x K), offset (K); transform.<r>.weight as in heads
 *   metadata   format, version, task, classes, representations (as in heads), inputs, left_out, seed, created_by
 *
 * Half of a symmetric matrix is not kept: these files travel. */
#include "learn/tally/tally.h"
#include "read/json.h"
#include "store/head_file.h"
#include "tenon/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char format_name[] = "tenon-moments", format_version[] = "1", in_memory[] = "moments in memory";

enum { COUNTS = 5, TENSORS = 8, MOST_FOLDS = 1000 };

/* ---- writing ---- */

/* What the tensors of a tally are made of, fold by fold in one block each. */
typedef struct packed {
    size_t folds, dim, classes, triangle;
    double *counts, *gram, *sum, *xty, *ysum, *yy;
} packed;

static void packed_destroy(packed *p)
{
    tnp_free_all(p->counts, p->gram, p->sum, p->xty, p->ysum, p->yy);
}

static tn_status packed_init(tn_ctx *ctx, size_t folds, size_t dim, size_t classes, packed *p)
{
    tn_status st = TN_OK;
    *p = (packed){.folds = folds, .dim = dim, .classes = classes, .triangle = dim * (dim + 1) / 2};
    TN_TRY(tnp_alloc(ctx, folds * COUNTS, sizeof(double), &p->counts));
    TN_TRY(tnp_alloc_raw(ctx, folds * p->triangle, sizeof(double), &p->gram));
    TN_TRY(tnp_alloc(ctx, folds * dim, sizeof(double), &p->sum));
    TN_TRY(tnp_alloc(ctx, folds * classes * dim, sizeof(double), &p->xty));
    TN_TRY(tnp_alloc(ctx, folds * classes, sizeof(double), &p->ysum));
    TN_TRY(tnp_alloc(ctx, folds * classes, sizeof(double), &p->yy));
done:
    return st;
}

static void pack(const tn_tally *t, packed *p)
{
    size_t dim = p->dim, k = p->classes;
    for (size_t f = 0; f < t->folds; ++f) {
        const tnp_moments *m = t->fold[f];
        const double counts[COUNTS] = {(double)m->rows, m->weight, m->log_weight, m->trace, m->noise};
        double *row = p->gram + f * p->triangle;
        memcpy(p->counts + f * COUNTS, counts, sizeof counts);
        for (size_t i = 0; i < dim; row += dim - i++)
            memcpy(row, m->gram + i * dim + i, (dim - i) * sizeof *row);
        memcpy(p->sum + f * dim, m->sum, dim * sizeof *m->sum);
        memcpy(p->xty + f * k * dim, m->xty, k * dim * sizeof *m->xty);
        memcpy(p->ysum + f * k, m->ysum, k * sizeof *m->ysum);
        memcpy(p->yy + f * k, m->yy, k * sizeof *m->yy);
    }
}

static void unpack(const packed *p, tn_tally *t)
{
    size_t dim = p->dim, k = p->classes;
    for (size_t f = 0; f < t->folds; ++f) {
        tnp_moments *m = t->fold[f];
        const double *counts = p->counts + f * COUNTS, *row = p->gram + f * p->triangle;
        m->rows = (size_t)counts[0];
        m->weight = counts[1];
        m->log_weight = counts[2];
        m->trace = counts[3];
        m->noise = counts[4];
        m->framed = true;
        for (size_t i = 0; i < dim; row += dim - i++)
            memcpy(m->gram + i * dim + i, row, (dim - i) * sizeof *row);
        memcpy(m->sum, p->sum + f * dim, dim * sizeof *m->sum);
        memcpy(m->xty, p->xty + f * k * dim, k * dim * sizeof *m->xty);
        memcpy(m->ysum, p->ysum + f * k, k * sizeof *m->ysum);
        memcpy(m->yy, p->yy + f * k, k * sizeof *m->yy);
        if (f > 0)
            memcpy(m->shift, t->fold[0]->shift, dim * sizeof *m->shift);
    }
}

/* All tensors but those of maps; without classes there are fewer. */
static size_t list_tensors(const packed *p, double *shift, double *offset, tnp_tensor *t)
{
    size_t n = 0, f = p->folds, d = p->dim, k = p->classes;
    t[n++] = (tnp_tensor){"counts", TN_F64, {f, COUNTS}, 2, p->counts};
    t[n++] = (tnp_tensor){"gram", TN_F64, {f, p->triangle}, 2, p->gram};
    t[n++] = (tnp_tensor){"shift", TN_F64, {d, 0}, 1, shift};
    t[n++] = (tnp_tensor){"sum", TN_F64, {f, d}, 2, p->sum};
    if (k == 0)
        return n;
    t[n++] = (tnp_tensor){"xty", TN_F64, {f * k, d}, 2, p->xty};
    t[n++] = (tnp_tensor){"ysum", TN_F64, {f, k}, 2, p->ysum};
    t[n++] = (tnp_tensor){"yy", TN_F64, {f, k}, 2, p->yy};
    t[n++] = (tnp_tensor){"offset", TN_F64, {k, 0}, 1, offset};
    return n;
}

static tn_status inputs_json(tn_ctx *ctx, const tn_tally *t, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "[");
    for (size_t i = 0; i < t->input_count; ++i) {
        const tnp_input *in = &t->inputs[i];
        tnp_text_add(&text, "%s{\"id\":\"%s\",\"from\":%zu,\"to\":%zu,\"used\":%zu,\"digest\":\"%016llx\",\"path\":",
                     i ? "," : "", in->id, in->from, in->to, in->used, (unsigned long long)in->digest);
        tnp_text_quote(&text, in->path);
        tnp_text_add(&text, "}");
    }
    tnp_text_add(&text, "]");
    return tnp_text_take(&text, out);
}

static tn_status put(tn_ctx *ctx, const tn_tally *t, const char *command, const tnp_store_to *to)
{
    tn_status st = TN_OK;
    packed p = {.folds = 0};
    char *classes = NULL, *reps = NULL, *inputs = NULL, *created = NULL, left_out[32], seed[32];
    tnp_tensor *tensors = NULL;
    tnp_map_name *names = NULL;
    TN_TRY(tnp_alloc(ctx, TENSORS + 2 * t->like->rep_count, sizeof *tensors, &tensors));
    TN_TRY(tnp_alloc(ctx, 2 * t->like->rep_count, sizeof *names, &names));
    TN_TRY(packed_init(ctx, t->folds, t->like->dim, t->like->classes, &p));
    pack(t, &p);
    TN_TRY(tnp_like_json(ctx, t->like, &classes, &reps));
    TN_TRY(inputs_json(ctx, t, &inputs));
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    snprintf(left_out, sizeof left_out, "%zu", t->left_out);
    snprintf(seed, sizeof seed, "%zu", t->seed);
    const tnp_meta meta[] = {{"format", format_name},
                             {"version", format_version},
                             {"task", tn_task_name(t->like->task)},
                             {"classes", classes},
                             {"representations", reps},
                             {"inputs", inputs},
                             {"left_out", left_out},
                             {"seed", seed},
                             {"created_by", created}};
    size_t count = list_tensors(&p, t->fold[0]->shift, t->offset, tensors);
    count += tnp_like_maps(t->like, names, tensors + count);
    count += tnp_like_encoders(t->like, names + t->like->rep_count, tensors + count);
    TN_TRY(tnp_store_write(ctx, to, meta, sizeof meta / sizeof *meta, tensors, count));
done:
    packed_destroy(&p);
    tnp_free_all(tensors, names);
    tn_text_free(classes);
    tn_text_free(reps);
    tn_text_free(inputs);
    tn_text_free(created);
    return st;
}

tn_status tn_tally_save(tn_ctx *ctx, const tn_tally *tally, const char *command, const char *path)
{
    return put(ctx, tally, command, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_tally_to_bytes(tn_ctx *ctx, const tn_tally *tally, const char *command, void **bytes, size_t *size)
{
    return put(ctx, tally, command, &(tnp_store_to){in_memory, bytes, size});
}

/* ---- reading ---- */

static tn_status bad(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable file of moments: %s", path, what);
}

/* Folds, columns and classes, by the shapes of the smallest tensors that tell. */
static tn_status find_sizes(tn_ctx *ctx, const tnp_safetensors *file, const char *path, size_t *folds, size_t *dim,
                            size_t *classes)
{
    tn_status st = TN_OK;
    tnp_array counts, shift, ysum = {.ndim = 0};
    TN_TRY(tnp_safetensors_find(ctx, file, "counts", &counts));
    TN_TRY(tnp_safetensors_find(ctx, file, "shift", &shift));
    if (tnp_safetensors_has(file, "ysum"))
        TN_TRY(tnp_safetensors_find(ctx, file, "ysum", &ysum));
    if (counts.ndim != 2 || counts.shape[0] == 0 || counts.shape[0] > MOST_FOLDS || counts.shape[1] != COUNTS)
        TN_TRY(bad(ctx, path, "'counts' is no matrix of 1 to 1000 rows and 5 columns"));
    if (shift.ndim != 1 || shift.shape[0] == 0 || shift.shape[0] > TNP_MAX_COLUMNS)
        TN_TRY(bad(ctx, path, "'shift' is no list of numbers"));
    if (ysum.ndim != 0 && (ysum.ndim != 2 || ysum.shape[0] != counts.shape[0]))
        TN_TRY(bad(ctx, path, "'ysum' has not a row per fold"));
    *folds = counts.shape[0];
    *dim = shift.shape[0];
    *classes = ysum.ndim ? ysum.shape[1] : 0;
done:
    return st;
}

/* Every tensor is there in the shape that the sizes ask for. */
static tn_status check_shapes(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const tnp_tensor *tensors,
                              size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const tnp_tensor *t = &tensors[i];
        tnp_array a;
        tn_status st = tnp_safetensors_find(ctx, file, t->name, &a);
        if (st != TN_OK)
            return st;
        bool alike = a.dtype == TN_F64 && a.ndim == t->ndim && a.shape[0] == t->shape[0] &&
                     (t->ndim == 1 || a.shape[1] == t->shape[1]);
        if (!alike)
            return tnp_fail(ctx, TN_ERR_FORMAT,
                            "%s: '%s' has another type or shape than 'counts', 'shift' and 'ysum' ask for", path,
                            t->name);
    }
    return TN_OK;
}

static tn_status check_counts(tn_ctx *ctx, const char *path, const packed *p)
{
    for (size_t f = 0; f < p->folds; ++f) {
        const double *c = p->counts + f * COUNTS;
        bool whole = c[0] >= 0 && c[0] < 9007199254740992.0 && c[0] == floor(c[0]);
        if (!whole || !(c[1] >= 0) || (c[0] > 0) != (c[1] > 0) || !(c[3] >= 0) || !(c[4] >= 0))
            return bad(ctx, path, "'counts' has numbers of rows, weights or errors that cannot be");
    }
    return TN_OK;
}

static bool is_id(const char *text)
{
    return !*text || (strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32);
}

static bool number_in(const json_t *entry, const char *key, size_t *out)
{
    const json_t *value = json_object_get(entry, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static tn_status read_input(tn_ctx *ctx, const char *path, const json_t *entry, tnp_input *out)
{
    const char *id = json_string_value(json_object_get(entry, "id"));
    const char *where = json_string_value(json_object_get(entry, "path"));
    const char *digest = json_string_value(json_object_get(entry, "digest"));
    bool fine = id && where && digest && is_id(id) && strlen(digest) == 16 &&
                strspn(digest, "0123456789abcdef") == 16 && number_in(entry, "from", &out->from) &&
                number_in(entry, "to", &out->to) && number_in(entry, "used", &out->used);
    if (!fine || out->from > out->to || out->used > out->to - out->from)
        return bad(ctx, path, "one of its inputs lacks id, rows, digest or path, or has rows that cannot be");
    snprintf(out->id, sizeof out->id, "%s", id);
    out->digest = strtoull(digest, NULL, 16);
    return tnp_strdup(ctx, where, &out->path);
}

/* Those that took part are the rows of the folds. */
static tn_status read_inputs(tn_ctx *ctx, const tnp_safetensors *file, const char *path, tn_tally *t)
{
    tn_status st = TN_OK;
    const char *text = tnp_safetensors_meta(file, "inputs");
    tnp_json list = {.root = NULL};
    tnp_input *inputs = NULL;
    size_t count = 0, n = 0, used = 0;
    if (!text)
        TN_TRY(bad(ctx, path, "no 'inputs' in its metadata"));
    TN_TRY(tnp_json_parse(ctx, path, "'inputs' in its metadata", 0, text, strlen(text), &list));
    if (!json_is_array(list.root))
        TN_TRY(bad(ctx, path, "'inputs' is no list"));
    count = json_array_size(list.root);
    TN_TRY(tnp_alloc(ctx, count, sizeof *inputs, &inputs));
    for (; n < count; ++n) {
        TN_TRY(read_input(ctx, path, json_array_get(list.root, n), &inputs[n]));
        used += inputs[n].used;
    }
    if (used != tn_tally_rows(t))
        TN_TRY(bad(ctx, path, "its inputs have not as many rows as its folds"));
    TN_TRY(tnp_inputs_join(ctx, inputs, count, NULL, 0, &t->inputs, &t->input_count));
done:
    tnp_inputs_free(inputs, count);
    tnp_json_free(&list);
    return st;
}

static tn_status read_numbers(tn_ctx *ctx, const tnp_safetensors *file, const char *path, tn_tally *t)
{
    const char *left_out = tnp_safetensors_meta(file, "left_out"), *seed = tnp_safetensors_meta(file, "seed");
    if (!left_out || !seed || !tnp_digits(left_out, &t->left_out) || !tnp_digits(seed, &t->seed))
        return bad(ctx, path, "its metadata lacks whole numbers 'left_out' and 'seed'");
    return TN_OK;
}

/* out: tn_tally **. */
static tn_status make_tally(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out)
{
    tn_status st = TN_OK;
    tn_tally *t = NULL;
    tn_head *like = NULL;
    packed p = {.folds = 0};
    tnp_tensor tensors[TENSORS];
    size_t folds = 0, dim = 0, classes = 0, count = 0;
    TN_TRY(find_sizes(ctx, file, path, &folds, &dim, &classes));
    p = (packed){.folds = folds, .dim = dim, .classes = classes, .triangle = dim * (dim + 1) / 2};
    count = list_tensors(&p, NULL, NULL, tensors);
    TN_TRY(check_shapes(ctx, file, path, tensors, count)); /* before anything of that size is allocated */
    TN_TRY(tnp_like_read(ctx, file, classes, dim, "moments", &like));
    st = tnp_tally_new(ctx, like, folds, 0, &t);
    like = NULL; /* taken over, also on failure */
    TN_TRY(st);
    TN_TRY(packed_init(ctx, folds, dim, classes, &p));
    count = list_tensors(&p, t->fold[0]->shift, t->offset, tensors);
    for (size_t i = 0; i < count; ++i)
        TN_TRY(tnp_store_read(ctx, file, &tensors[i], TNP_FINITE));
    TN_TRY(check_counts(ctx, path, &p));
    unpack(&p, t);
    TN_TRY(read_numbers(ctx, file, path, t));
    TN_TRY(read_inputs(ctx, file, path, t));
    *(tn_tally **)out = t;
    t = NULL;
done:
    tn_head_free(like);
    packed_destroy(&p);
    tn_tally_free(t);
    return st;
}

static const tnp_store_kind kind = {format_name, format_version, in_memory, make_tally};

tn_status tn_tally_load(tn_ctx *ctx, const char *path, tn_tally **out)
{
    return tnp_store_load(ctx, path, &kind, out);
}

tn_status tn_tally_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_tally **out)
{
    return tnp_store_parse(ctx, bytes, size, name, &kind, out);
}

/* ---- several files as one ---- */

typedef struct keyed {
    const char *path;
    char *inputs; /* of its metadata: what it is sorted by */
} keyed;

static int by_inputs(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = strcmp(x->inputs, y->inputs);
    return order != 0 ? order : strcmp(x->path, y->path);
}

static tn_status key_of(tn_ctx *ctx, const char *path, keyed *out)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    TN_TRY(tnp_safetensors_load(ctx, path, &file));
    TN_TRY(tnp_store_check(ctx, file, path, format_name, format_version));
    const char *inputs = tnp_safetensors_meta(file, "inputs");
    out->path = path;
    TN_TRY(tnp_strdup(ctx, inputs ? inputs : "", &out->inputs));
done:
    tnp_safetensors_close(file);
    return st;
}

/* The file's name before what is wrong with it among the others. */
static tn_status merge_named(tn_ctx *ctx, const char *path, tn_tally *into, const tn_tally *from)
{
    char why[600];
    tn_status st = tn_tally_merge(ctx, into, from);
    if (st != TN_ERR_SHAPE && st != TN_ERR_DATA)
        return st;
    snprintf(why, sizeof why, "%s", tn_ctx_message(ctx));
    return tnp_fail(ctx, st, "%s: %s", path, why);
}

tn_status tn_tally_open(tn_ctx *ctx, const char *const *paths, size_t count, tn_tally **out)
{
    tn_status st = TN_OK;
    keyed *files = NULL;
    tn_tally *all = NULL, *part = NULL;
    TN_TRY(tnp_alloc(ctx, count, sizeof *files, &files));
    if (count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "moments: no file, expected at least one"));
    for (size_t i = 0; i < count; ++i)
        TN_TRY(key_of(ctx, paths[i], &files[i]));
    qsort(files, count, sizeof *files, by_inputs);
    for (size_t i = 0; i < count; ++i) {
        TN_TRY(tnp_progress(ctx, "merging", i, count));
        TN_TRY(tn_tally_load(ctx, files[i].path, all ? &part : &all));
        if (part)
            TN_TRY(merge_named(ctx, files[i].path, all, part));
        tn_tally_free(part);
        part = NULL;
    }
    *out = all;
    all = NULL;
done:
    for (size_t i = 0; files && i < count; ++i)
        tnp_free(files[i].inputs);
    tnp_free(files);
    tn_tally_free(all);
    tn_tally_free(part);
    return st;
}
