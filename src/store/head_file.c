/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heads as files and as bytes, which are the same; the layout is described in docs/formats.md.
 *
 *   tensors    lambda, alpha, beta (K, F64), zscore_mean, zscore_scale (D, F64), transform.<r>.weight (39 x rank, F64)
 *              where representation r goes through a learned kernel, weight (K x D, F32), bias (K, F32); centre (D,
 *              F64) and centre_bias (K, F32) where a column has a centre: bias is that of plain columns then; thresholds
 *              (K, F64) where multi-label classes have their own; encoder.<r> (bytes, U8), a file of its own, where
 *              representation r is made of pictures by an encoder
 *   metadata   format, version, task, classes, representations, method, options, log_evidence, threshold, temperature,
 *              created_by
 *
 * Everything read is checked: counts against tensors, names, sizes, so that a damaged file is an error here and not a
 * crash later. */
#include "read/json.h"
#include "store/head_file.h"
#include "tenon/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Version 2 has thresholds per class: a program that knows version 1 alone would decide by another one. */
static const char format_name[] = "tenon-head", format_versions[] = "1|2", in_memory[] = "head in memory";

/* ---- writing ---- */

static tn_status classes_json(tn_ctx *ctx, const tn_head *head, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_quotes(&text, (const char *const *)head->names, head->classes);
    return tnp_text_take(&text, out);
}

static bool is_learned(const tn_map *map)
{
    return map && tn_map_made_of(map)->weight;
}

/* What of a map is no matrix; nothing but its name where it is as one expects. */
static void add_transform(tnp_text *text, const tnp_rep *rep)
{
    tnp_text_add(text, ",\"transform\":");
    tnp_text_quote(text, rep->map ? rep->transform : "none");
    if (rep->map && tn_map_made_of(rep->map)->sign == TN_SIGNED_SPLIT)
        tnp_text_add(text, ",\"signed\":\"split\"");
    if (is_learned(rep->map))
        tnp_text_add(text, ",\"basis\":\"%s\",\"scale\":%.17g",
                     tn_map_made_of(rep->map)->basis == TN_BASIS_FOURIER ? "fourier" : "scaled-fourier",
                     tn_map_scale(rep->map));
}

static tn_status reps_json(tn_ctx *ctx, const tn_head *head, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "[");
    for (size_t r = 0; r < head->rep_count; ++r) {
        tnp_text_add(&text, "%s{\"name\":", r ? "," : "");
        tnp_text_quote(&text, head->reps[r].name);
        tnp_text_add(&text, ",\"dim\":%zu,\"normalize\":\"%s\"", head->reps[r].dim,
                     tn_normalize_name(head->reps[r].normalize));
        add_transform(&text, &head->reps[r]);
        if (head->reps[r].about) {
            tnp_text_add(&text, ",\"about\":");
            tnp_text_quote(&text, head->reps[r].about);
        }
        tnp_text_add(&text, "}");
    }
    tnp_text_add(&text, "]");
    return tnp_text_take(&text, out);
}

static tn_status sources_json(tn_ctx *ctx, const tn_head *head, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "[");
    for (size_t i = 0; i < head->source_count; ++i) {
        const tnp_head_source *s = &head->sources[i];
        tnp_text_add(&text, "%s{\"kind\":\"%s\",\"name\":", i ? "," : "", s->is_head ? "head" : "scores");
        tnp_text_quote(&text, s->name);
        tnp_text_add(&text, ",\"column\":%zu,\"label\":", s->column);
        tnp_text_quote(&text, s->label);
        tnp_text_add(&text, "}");
    }
    tnp_text_add(&text, "]");
    return tnp_text_take(&text, out);
}

static tnp_map_name name_of_map(size_t r)
{
    tnp_map_name name;
    tnp_format(name.text, sizeof name.text, "transform.%zu.weight", r);
    return name;
}

size_t tnp_like_maps(const tn_head *head, tnp_map_name *names, tnp_tensor *t)
{
    size_t n = 0;
    for (size_t r = 0; r < head->rep_count; ++r)
        if (is_learned(head->reps[r].map)) {
            const tn_map_spec *spec = tn_map_made_of(head->reps[r].map);
            names[r] = name_of_map(r);
            t[n++] = (tnp_tensor){names[r].text, TN_F64, {TN_BASIS_SIZE, spec->rank}, 2, spec->weight};
        }
    return n;
}

tn_status tnp_like_json(tn_ctx *ctx, const tn_head *head, char **classes, char **reps)
{
    tn_status st = classes_json(ctx, head, classes);
    return st == TN_OK ? reps_json(ctx, head, reps) : st;
}

enum { TENSORS = 10 }; /* at most, besides those of representations, which have two each */

/* names (2 rep_count) holds what those of maps and encoders are called; plain (classes): intercepts of columns without a
 * centre. */
static size_t list_tensors(const tn_head *head, const float *plain, tnp_map_name *names, tnp_tensor *t)
{
    size_t n = 0, k = head->classes, d = head->dim;
    if (head->lambda)
        t[n++] = (tnp_tensor){"lambda", TN_F64, {k, 0}, 1, head->lambda};
    if (head->alpha) {
        t[n++] = (tnp_tensor){"alpha", TN_F64, {k, 0}, 1, head->alpha};
        t[n++] = (tnp_tensor){"beta", TN_F64, {k, 0}, 1, head->beta};
    }
    if (head->means) {
        t[n++] = (tnp_tensor){"zscore_mean", TN_F64, {d, 0}, 1, head->means};
        t[n++] = (tnp_tensor){"zscore_scale", TN_F64, {d, 0}, 1, head->scales};
    }
    if (head->centre)
        t[n++] = (tnp_tensor){"centre", TN_F64, {d, 0}, 1, head->centre};
    if (head->thresholds)
        t[n++] = (tnp_tensor){"thresholds", TN_F64, {k, 0}, 1, head->thresholds};
    n += tnp_like_maps(head, names, t + n);
    t[n++] = (tnp_tensor){"weight", TN_F32, {k, d}, 2, head->weight};
    t[n++] = (tnp_tensor){"bias", TN_F32, {k, 0}, 1, plain};
    if (head->centre)
        t[n++] = (tnp_tensor){"centre_bias", TN_F32, {k, 0}, 1, head->bias};
    n += tnp_like_encoders(head, names + head->rep_count, t + n);
    return n;
}

tn_status tnp_head_save_with(tn_ctx *ctx, const tn_head *head, const tnp_tensor *more, size_t more_count,
                             const char *command, const tnp_store_to *to)
{
    tn_status st = TN_OK;
    char *classes = NULL, *reps = NULL, *sources = NULL, *created = NULL;
    char evidence[40], threshold[40], temperature[40];
    tnp_tensor *tensors = NULL;
    tnp_map_name *names = NULL;
    float *plain = NULL;
    TN_TRY(tnp_alloc(ctx, more_count + TENSORS + 2 * head->rep_count, sizeof *tensors, &tensors));
    TN_TRY(tnp_alloc(ctx, 2 * head->rep_count, sizeof *names, &names));
    TN_TRY(tnp_alloc(ctx, head->classes, sizeof *plain, &plain));
    if (!tnp_head_plain_bias(head, plain) && head->centre)
        TN_TRY(tnp_fail(ctx, TN_ERR_NUMERIC, "%s: an intercept of the head leaves the range of float32", to->path));
    TN_TRY(tnp_like_json(ctx, head, &classes, &reps));
    TN_TRY(sources_json(ctx, head, &sources));
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    tnp_format(evidence, sizeof evidence, "%.17g", head->log_evidence);
    tnp_format(threshold, sizeof threshold, "%.17g", head->threshold);
    tnp_format(temperature, sizeof temperature, "%.17g", head->temperature);
    const tnp_meta meta[] = {
        {"format", format_name},
        {"version", head->thresholds ? "2" : "1"},
        {"task", tn_task_name(head->task)},
        {"classes", classes},
        {"representations", reps},
        {"method", head->method},
        {"options", tn_head_options(head)},
        {"log_evidence", evidence},
        {"threshold", threshold},
        {"temperature", temperature},
        {"created_by", created},
        {"sources", sources}, /* last, because only transfer heads have them */
    };
    size_t count = sizeof meta / sizeof *meta - (head->source_count == 0);
    size_t all = list_tensors(head, plain, names, tensors);
    for (size_t i = 0; i < more_count; ++i) /* wide ones first, so that all data is aligned to its type */
        if (more[i].dtype == TN_F64) {
            memmove(tensors + 1, tensors, all++ * sizeof *tensors);
            tensors[0] = more[i];
        } else {
            tensors[all++] = more[i];
        }
    TN_TRY(tnp_store_write(ctx, to, meta, count, tensors, all));
done:
    tnp_free_all(tensors, names, plain);
    tn_text_free(classes);
    tn_text_free(reps);
    tn_text_free(sources);
    tn_text_free(created);
    return st;
}

tn_status tn_head_save(tn_ctx *ctx, const tn_head *head, const char *command, const char *path)
{
    return tnp_head_save_with(ctx, head, NULL, 0, command, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_head_to_bytes(tn_ctx *ctx, const tn_head *head, const char *command, void **bytes, size_t *size)
{
    return tnp_head_save_with(ctx, head, NULL, 0, command, &(tnp_store_to){in_memory, bytes, size});
}

/* ---- reading ---- */

/* What a container calls itself, for messages. */
static const char *kind_of(const tnp_safetensors *file)
{
    const char *format = tnp_safetensors_meta(file, "format");
    return format && strcmp(format, "tenon-moments") == 0 ? "file of moments" : "head";
}

static tn_status bad(tn_ctx *ctx, const tnp_safetensors *file, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable %s: %s", tnp_safetensors_path(file), kind_of(file), what);
}

static tn_status meta_text(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *key,
                           const char **out)
{
    *out = tnp_safetensors_meta(file, key);
    return *out
               ? TN_OK
               : tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable %s: no '%s' in its metadata", path, kind_of(file), key);
}

/* A metadata string that is JSON itself. */
static tn_status meta_json(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *key, tnp_json *out)
{
    const char *text = NULL;
    char what[40];
    tn_status st = meta_text(ctx, file, path, key, &text);
    if (st != TN_OK)
        return st;
    snprintf(what, sizeof what, "'%s' in its metadata", key);
    return tnp_json_parse(ctx, path, what, 0, text, strlen(text), out);
}

static tn_status json_list(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *key, tnp_json *out)
{
    tn_status st = meta_json(ctx, file, path, key, out);
    if (st != TN_OK)
        return st;
    bool may_be_empty = strcmp(key, "representations") == 0 ? tnp_safetensors_meta(file, "sources") != NULL
                                                            : strcmp(kind_of(file), "head") != 0;
    if (!json_is_array(out->root) || (json_array_size(out->root) == 0 && !may_be_empty))
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable %s: '%s' is no list", path, kind_of(file), key);
    return TN_OK;
}

/* A tensor of the given shape (cols 0: one dimension), all finite: F64 as doubles or F32 as floats. */
static tn_status load_tensor(tn_ctx *ctx, const tnp_safetensors *file, const char *name, size_t rows, size_t cols,
                             float *narrow, double *wide)
{
    return tnp_safetensors_values(ctx, file, name, rows, cols, TNP_FINITE, narrow, wide);
}

/* The centre, and the intercepts that belong to it in the place of those for plain columns. Older files have none. */
static tn_status load_centre(tn_ctx *ctx, const tnp_safetensors *file, tn_head *head)
{
    tn_status st = TN_OK;
    float *plain = NULL;
    if (!tnp_safetensors_has(file, "centre"))
        return TN_OK;
    TN_TRY(tnp_head_add_centre(ctx, head));
    TN_TRY(load_tensor(ctx, file, "centre", head->dim, 0, NULL, head->centre));
    TN_TRY(load_tensor(ctx, file, "centre_bias", head->classes, 0, head->bias, NULL));
    TN_TRY(tnp_alloc(ctx, head->classes, sizeof *plain, &plain));
    if (!tnp_head_plain_bias(head, plain))
        TN_TRY(bad(ctx, file, "'weight' times 'centre' leaves the range of float32"));
    for (size_t j = head->dim - head->source_count; j < head->dim; ++j)
        if (head->centre[j] != 0)
            TN_TRY(bad(ctx, file, "'centre' moves the scores of a source, expected 0 there"));
done:
    tnp_free(plain);
    return st;
}

/* Lambda, infinite for a class without weights; alpha and beta, which discriminants do not have, are not used again:
 * whatever they are for few rows. */
static tn_status load_ridge(tn_ctx *ctx, const tnp_safetensors *file, tn_head *head)
{
    tn_status st = TN_OK;
    bool alone = !tnp_safetensors_has(file, "alpha") && !tnp_safetensors_has(file, "beta");
    TN_TRY(alone ? tnp_head_add_lambda(ctx, head) : tnp_head_add_ridge(ctx, head));
    TN_TRY(tnp_safetensors_values(ctx, file, "lambda", head->classes, 0, TNP_NOT_NAN, NULL, head->lambda));
    if (alone)
        return TN_OK;
    TN_TRY(tnp_safetensors_values(ctx, file, "alpha", head->classes, 0, TNP_ANY, NULL, head->alpha));
    TN_TRY(tnp_safetensors_values(ctx, file, "beta", head->classes, 0, TNP_ANY, NULL, head->beta));
done:
    return st;
}

static tn_status load_numbers(tn_ctx *ctx, const tnp_safetensors *file, tn_head *head)
{
    tn_status st = TN_OK;
    TN_TRY(load_tensor(ctx, file, "weight", head->classes, head->dim, head->weight, NULL));
    TN_TRY(load_tensor(ctx, file, "bias", head->classes, 0, head->bias, NULL));
    if (tnp_safetensors_has(file, "lambda"))
        TN_TRY(load_ridge(ctx, file, head));
    for (size_t r = 0; r < head->rep_count && !head->means; ++r)
        if (head->reps[r].normalize == TN_NORM_ZSCORE) {
            TN_TRY(tnp_head_add_zscore(ctx, head));
            TN_TRY(load_tensor(ctx, file, "zscore_mean", head->dim, 0, NULL, head->means));
            TN_TRY(load_tensor(ctx, file, "zscore_scale", head->dim, 0, NULL, head->scales));
        }
    TN_TRY(load_centre(ctx, file, head));
    if (tnp_safetensors_has(file, "thresholds")) {
        TN_TRY(tnp_head_add_thresholds(ctx, head));
        TN_TRY(load_tensor(ctx, file, "thresholds", head->classes, 0, NULL, head->thresholds));
    }
done:
    return st;
}

/* A string of a representation as its place among words; absent it is the first. */
static bool word_of(const json_t *entry, const char *key, const char *words, int *place)
{
    const json_t *value = json_object_get(entry, key);
    *place = !value ? 0 : json_is_string(value) ? tnp_find_choice(words, json_string_value(value)) : -1;
    return *place >= 0;
}

/* The kernel that representation r goes through, from its weights and what its entry says. */
static tn_status load_learned(tn_ctx *ctx, const tnp_safetensors *file, const json_t *entry, size_t r,
                              tn_map_spec *spec, tn_map **out)
{
    tn_status st = TN_OK;
    double weight[TN_BASIS_SIZE * TN_BASIS_SIZE];
    const tnp_map_name name = name_of_map(r);
    const json_t *scale = json_object_get(entry, "scale");
    tnp_array a;
    int basis = 0;
    TN_TRY(tnp_safetensors_find(ctx, file, name.text, &a));
    if (a.ndim != 2 || a.shape[0] != TN_BASIS_SIZE || a.shape[1] == 0 || a.shape[1] > TN_BASIS_SIZE)
        TN_TRY(bad(ctx, file, "the weights of a transform have another shape than 39 x rank"));
    if (!word_of(entry, "basis", TN_BASIS_WORDS, &basis) || !json_is_number(scale))
        TN_TRY(bad(ctx, file, "a transform has no scale, or an unknown basis"));
    TN_TRY(load_tensor(ctx, file, name.text, TN_BASIS_SIZE, a.shape[1], NULL, weight));
    spec->basis = (tn_basis)basis;
    spec->rank = a.shape[1];
    spec->scale = json_number_value(scale);
    spec->weight = weight;
    st = tn_map_new_learned(ctx, spec, out);
    if (st == TN_ERR_ARG)
        st = bad(ctx, file, "the weights or the scale of a transform are no numbers to calculate with");
done:
    return st;
}

static tn_status load_map(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const json_t *entry, size_t r,
                          tnp_rep *rep)
{
    const json_t *transform = json_object_get(entry, "transform");
    const char *name = json_string_value(transform);
    int sign = 0;
    tn_map_spec spec = {.weight = NULL};
    if (!transform || (name && strcmp(name, "none") == 0))
        return TN_OK;
    if (!name || !word_of(entry, "signed", TN_SIGNED_WORDS, &sign))
        return bad(ctx, file, "a transform, or what it does with signed entries, is no known string");
    spec.sign = (tn_signed)sign;
    tn_status st = tnp_strdup(ctx, name, &rep->transform);
    if (st == TN_OK && tnp_find_choice(TN_MAP_WORDS, name) >= 0)
        return tn_map_new_named(ctx, name, spec.sign, &rep->map);
    if (st == TN_OK && !tnp_safetensors_has(file, name_of_map(r).text))
        st = tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: its transform '%.40s' is not known to this version", path, name);
    return st == TN_OK ? load_learned(ctx, file, entry, r, &spec, &rep->map) : st;
}

static tn_status load_reps(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const json_t *list,
                           tn_head *head)
{
    size_t sum = 0;
    for (size_t r = 0; r < head->rep_count; ++r) {
        const json_t *entry = json_array_get(list, r), *dim = json_object_get(entry, "dim");
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *normalize = json_string_value(json_object_get(entry, "normalize"));
        tnp_rep *rep = &head->reps[r];
        size_t count = 0;
        if (!name || !normalize || !json_is_integer(dim) || json_integer_value(dim) <= 0)
            return bad(ctx, file, "a representation lacks name, dim or normalize");
        if (!*name)
            return bad(ctx, file, "the name of a representation is empty");
        if (strchr(normalize, ',') || tn_normalize_parse(ctx, normalize, &rep->normalize, &count) != TN_OK)
            return bad(ctx, file, "unknown normalisation");
        tn_status st = tnp_strdup(ctx, name, &rep->name);
        const char *about = json_string_value(json_object_get(entry, "about"));
        if (st == TN_OK && about)
            st = tnp_strdup(ctx, about, &rep->about);
        if (st == TN_OK)
            st = load_map(ctx, file, path, entry, r, rep);
        if (st == TN_OK)
            st = tnp_like_load_encoder(ctx, file, path, r, rep);
        if (st != TN_OK)
            return st;
        rep->dim = (size_t)json_integer_value(dim);
        for (size_t q = 0; q < r; ++q)
            if (strcmp(head->reps[q].name, rep->name) == 0 && head->reps[q].dim != rep->dim)
                return bad(ctx, file, "two representations of one name have different columns");
        if (rep->dim > (head->dim - head->source_count - sum) / (rep->map ? tn_map_width(rep->map) : 1))
            return bad(ctx, file, "its representations are wider than its weights");
        sum += tnp_rep_cols(rep);
    }
    return sum + head->source_count == head->dim ? TN_OK
                                                 : bad(ctx, file, "its representations are narrower than its weights");
}

/* The sources of a transfer head, whose weights are its last columns; other heads have none. */
static tn_status load_sources(tn_ctx *ctx, const tnp_safetensors *file, const char *path, tn_head *head)
{
    tn_status st = TN_OK;
    tnp_json list = {.root = NULL};
    if (!tnp_safetensors_meta(file, "sources"))
        return TN_OK;
    TN_TRY(json_list(ctx, file, path, "sources", &list));
    if (json_array_size(list.root) > head->dim)
        TN_TRY(bad(ctx, file, "it has more sources than weights"));
    TN_TRY(tnp_head_add_sources(ctx, head, json_array_size(list.root)));
    for (size_t i = 0; i < head->source_count; ++i) {
        const json_t *entry = json_array_get(list.root, i), *column = json_object_get(entry, "column");
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *label = json_string_value(json_object_get(entry, "label"));
        const char *kind = json_string_value(json_object_get(entry, "kind"));
        bool is_head = kind && strcmp(kind, "head") == 0;
        bool known = is_head || (kind && strcmp(kind, "scores") == 0);
        if (!known || !name || !label || !json_is_integer(column) || json_integer_value(column) < 0)
            TN_TRY(bad(ctx, file, "a source lacks kind, name, column or label"));
        TN_TRY(tnp_strdup(ctx, name, &head->sources[i].name));
        TN_TRY(tnp_strdup(ctx, label, &head->sources[i].label));
        head->sources[i].column = (size_t)json_integer_value(column);
        head->sources[i].is_head = is_head;
    }
done:
    tnp_json_free(&list);
    return st;
}

static tn_status load_task(tn_ctx *ctx, const tnp_safetensors *file, const char *path, tn_task *task)
{
    const char *text = NULL;
    tn_status st = meta_text(ctx, file, path, "task", &text);
    _Static_assert(TN_TASK_REGRESSION - TN_TASK_MULTICLASS == 2, "the tasks of heads follow each other");
    for (int t = TN_TASK_MULTICLASS; st == TN_OK && t <= TN_TASK_REGRESSION; ++t)
        if (strcmp(text, tn_task_name((tn_task)t)) == 0) {
            *task = (tn_task)t;
            return TN_OK;
        }
    return st != TN_OK ? st : bad(ctx, file, "unknown task");
}

/* A number of the metadata; as it was where the file says nothing. */
static tn_status meta_number(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *key, double *out)
{
    const char *text = tnp_safetensors_meta(file, key);
    if (!text || tnp_number((tnp_span){text, strlen(text)}, out))
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable head: '%s' is '%.40s', expected a number", path, key, text);
}

static tn_status load_texts(tn_ctx *ctx, const tnp_safetensors *file, const char *path, tn_head *head)
{
    tn_status st = TN_OK;
    const char *created = tnp_safetensors_meta(file, "created_by");
    tnp_json options = {.root = NULL};
    TN_TRY(meta_json(ctx, file, path, "options", &options));
    if (!json_is_object(options.root))
        TN_TRY(bad(ctx, file, "its options are no JSON object"));
    TN_TRY(tnp_strdup(ctx, tnp_safetensors_meta(file, "options"), &head->options));
    TN_TRY(tnp_strdup(ctx, created ? created : "", &head->created_by));
    head->log_evidence = NAN;
    head->threshold = 0.5;
    TN_TRY(meta_number(ctx, file, path, "log_evidence", &head->log_evidence));
    TN_TRY(meta_number(ctx, file, path, "threshold", &head->threshold));
    TN_TRY(meta_number(ctx, file, path, "temperature", &head->temperature));
    if (isinf(head->log_evidence) || !isfinite(head->threshold))
        TN_TRY(bad(ctx, file, "its log_evidence is infinite, or its threshold is no finite number"));
    if (!(head->temperature >= 0) || isinf(head->temperature))
        TN_TRY(bad(ctx, file, "its temperature is no finite number from 0 up"));
done:
    tnp_json_free(&options);
    return st;
}

/* The head with its names and space for its numbers, from classes and the shape of the weights. */
static tn_status begin_head(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const json_t *classes,
                            size_t reps, size_t dim, const char *method, tn_head **out)
{
    tn_status st = TN_OK;
    const char **names = NULL;
    tn_task task = TN_TASK_AUTO;
    char where[1024];
    size_t count = json_array_size(classes);
    TN_TRY(load_task(ctx, file, path, &task));
    TN_TRY(tnp_alloc(ctx, count, sizeof *names, &names));
    for (size_t k = 0; k < count; ++k) {
        names[k] = json_string_value(json_array_get(classes, k));
        if (!names[k])
            TN_TRY(bad(ctx, file, "a class name is no string"));
    }
    snprintf(where, sizeof where, "%s: not a usable %s", path, kind_of(file));
    TN_TRY(tnp_check_class_names(ctx, TN_ERR_FORMAT, where, names, count));
    TN_TRY(tnp_head_new(ctx, task, names, count, dim, reps, method, out));
done:
    tnp_free(names);
    return st;
}

/* Columns of the weights, which have a row per class. */
static tn_status weight_columns(tn_ctx *ctx, const tnp_safetensors *file, size_t classes, size_t *dim)
{
    tnp_array weight;
    tn_status st = tnp_safetensors_find(ctx, file, "weight", &weight);
    if (st == TN_OK && (weight.ndim != 2 || weight.shape[0] != classes || weight.shape[1] == 0))
        st = bad(ctx, file, "'weight' is no matrix with one row per class");
    if (st == TN_OK)
        *dim = weight.shape[1];
    return st;
}

/* out: tn_head **. */
static tn_status make_head(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out)
{
    tn_status st = TN_OK;
    tnp_json classes = {.root = NULL}, reps = {.root = NULL};
    tn_head *head = NULL;
    const char *method = NULL;
    size_t dim = 0;
    TN_TRY(json_list(ctx, file, path, "classes", &classes));
    TN_TRY(json_list(ctx, file, path, "representations", &reps));
    TN_TRY(weight_columns(ctx, file, json_array_size(classes.root), &dim));
    TN_TRY(meta_text(ctx, file, path, "method", &method));
    TN_TRY(begin_head(ctx, file, path, classes.root, json_array_size(reps.root), dim, method, &head));
    TN_TRY(load_sources(ctx, file, path, head));
    TN_TRY(load_reps(ctx, file, path, reps.root, head));
    TN_TRY(load_texts(ctx, file, path, head));
    TN_TRY(load_numbers(ctx, file, head));
    *(tn_head **)out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_json_free(&classes);
    tnp_json_free(&reps);
    return st;
}

tn_status tnp_like_read(tn_ctx *ctx, const tnp_safetensors *file, size_t count, size_t dim, const char *method,
                        tn_head **out)
{
    tn_status st = TN_OK;
    const char *path = tnp_safetensors_path(file);
    tnp_json classes = {.root = NULL}, reps = {.root = NULL};
    tn_head *head = NULL;
    TN_TRY(json_list(ctx, file, path, "classes", &classes));
    TN_TRY(json_list(ctx, file, path, "representations", &reps));
    if (json_array_size(classes.root) != count)
        TN_TRY(bad(ctx, file, "it has not as many classes as sums"));
    TN_TRY(begin_head(ctx, file, path, classes.root, json_array_size(reps.root), dim, method, &head));
    TN_TRY(load_reps(ctx, file, path, reps.root, head));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_json_free(&classes);
    tnp_json_free(&reps);
    return st;
}

tn_status tnp_head_read(tn_ctx *ctx, const tnp_safetensors *file, tn_head **out)
{
    const char *path = tnp_safetensors_path(file);
    tn_status st = tnp_store_check(ctx, file, path, format_name, format_versions);
    return st == TN_OK ? make_head(ctx, file, path, out) : st;
}

static const tnp_store_kind kind = {format_name, format_versions, in_memory, make_head};

tn_status tn_head_load(tn_ctx *ctx, const char *path, tn_head **out)
{
    return tnp_store_load(ctx, path, &kind, out);
}

tn_status tn_head_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_head **out)
{
    return tnp_store_parse(ctx, bytes, size, name, &kind, out);
}
