/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network is opened once and then only asked, by any number of threads. Which tensor is the feature: the layer that is
 * named, else an output whose name says that it is one (feat, embedding, pooler_output, last_hidden_state), else the
 * first output. What its shape means, for one picture:
 *
 *   (1, D)         the feature itself
 *   (1, T, D)      T tokens, the first the class token of a vision transformer        auto: token
 *   (1, C, H, W)   a map of H x W places                                              auto: mean
 *
 *   token   row = x[0]       mean   row[j] = sum_t x[t,j] / T       max   row[j] = max_t x[t,j]       bag   all x[t]
 *
 * The file does not tell shapes of layers, and engines infer only some: one run on an empty picture does, so that
 * everything that can be wrong is wrong before the first picture is decoded. */
#include "describe/net/network.h"

#include "base/text.h"
#include "read/json.h"

#include <inttypes.h>
#include <string.h>

static const char AS_WORDS[] = "auto|mean|max|token|bag", VIEW_WORDS[] = "centre|flip|ten";
static const char *const as_names[] = {"auto", "mean", "max", "token", "bag"};
static const char *const view_names[] = {"centre", "flip", "ten"};

/* ---- options ---- */

static void defaults(void *values)
{
    tnp_network_options *o = values;
    *o = (tnp_network_options){.layer = NULL};
    tnp_recipe_options_default(&o->recipe);
}

static const tn_field *own_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"layer", TN_FIELD_TEXT, offsetof(tnp_network_options, layer), 0, 0, "NAME",
         "the layer whose values are the feature, as info lists them; default: the output that looks like one"},
        {"as", TN_FIELD_CHOICE, offsetof(tnp_network_options, as), 0, 0, AS_WORDS,
         "what a map or tokens become: their mean, maximum, first token, or a bag of all; auto: mean of a map, first "
         "token"},
        {"views", TN_FIELD_CHOICE, offsetof(tnp_network_options, views), 0, 0, VIEW_WORDS,
         "what is averaged: the middle, it and its mirror image, or those of the middle and the four corners"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static const tnp_options_table tables[] = {{"Networks", own_fields, 0},
                                           {"Networks", tnp_recipe_fields, offsetof(tnp_network_options, recipe)},
                                           {NULL, NULL, 0}};
const tnp_options_kind tnp_network_kind = {
    "network", sizeof(tnp_network_options), defaults, tables, NULL, 0, NULL, NULL, 0};

/* ---- the layer ---- */

/* Words in the name of an output that say it is a feature, the best first. */
static const tnp_onnx_value *pick_output(const tnp_onnx *o)
{
    static const char *const words[] = {"feat", "embed", "pooler_output", "last_hidden_state"};
    for (size_t w = 0; w < sizeof words / sizeof *words; ++w)
        for (size_t i = 0; i < o->output_count; ++i) {
            tnp_bytes name = o->outputs[i].name;
            size_t n = strlen(words[w]);
            for (size_t at = 0; at + n <= name.size; ++at)
                if (memcmp(name.data + at, words[w], n) == 0)
                    return &o->outputs[i];
        }
    return &o->outputs[0];
}

static tn_status pick_layer(tn_ctx *ctx, const tnp_onnx *o, const char *layer, char **out)
{
    if (!layer || !*layer) {
        tnp_bytes name = pick_output(o)->name;
        return tnp_strndup(ctx, (const char *)name.data, name.size, out);
    }
    tn_status st = tnp_onnx_check_layer(ctx, o, layer);
    return st == TN_OK ? tnp_strdup(ctx, layer, out) : st;
}

/* ---- loading ---- */

static tn_status load(tn_ctx *ctx, const tnp_onnx *o, const tnp_onnx_value *in, tn_network *n)
{
    tn_status st = TN_OK;
    tnp_bytes layer = {(const unsigned char *)n->layer, strlen(n->layer)};
    tnp_onnx_given given = {.dims = {1, 3, 0, 0}};
    tnp_text bytes;
    tnp_text_init(&bytes, ctx);
    TN_TRY(tnp_engine_open(ctx, &n->engine));
    TN_TRY(tnp_network_find_front(ctx, o, in, n));
    if (n->front) {
        given.name = n->front->plan.name;
        given.dims[2] = n->front->plan.height;
        given.dims[3] = n->front->plan.width;
    }
    TN_TRY(tnp_onnx_cut(ctx, o, n->front ? &given : NULL, &layer, 1, &bytes));
    TN_TRY(tnp_session_open(ctx, n->engine, o->path, bytes.data, bytes.used, false, &n->session));
done:
    tnp_text_destroy(&bytes);
    return st;
}

static tn_status wrong_shape(tn_ctx *ctx, const tn_network *n, const tnp_result *r, const char *expected)
{
    char shape[160] = "";
    for (size_t i = 0, used = 0; i < r->rank && used < sizeof shape - 24; ++i)
        used += (size_t)snprintf(shape + used, sizeof shape - used, i ? " x %zu" : "%zu", r->dims[i]);
    return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: layer '%s' gives %s, expected %s", n->path, n->layer, shape,
                    expected);
}

/* count, dim and grid from what came out. */
static tn_status understand(tn_ctx *ctx, tn_network *n, const tnp_result *r)
{
    const size_t *d = r->dims;
    if (r->type != TNP_ONNX_FLOAT && r->type != TNP_ONNX_DOUBLE && r->type != TNP_ONNX_FLOAT16)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                        "%s: layer '%s' has elements of type %d, expected numbers with a point", n->path, n->layer,
                        r->type);
    if (r->rank < 2 || r->rank > 4 || d[0] != 1)
        return wrong_shape(ctx, n, r, "1 x D, 1 x tokens x D or 1 x C x H x W");
    n->type = r->type;
    n->rank = r->rank;
    n->dim = r->rank == 3 ? d[2] : d[1];
    n->count = r->rank == 2 ? 1 : r->rank == 3 ? d[1] : d[2] * d[3];
    n->elements = n->count * n->dim;
    if (n->elements == 0)
        return wrong_shape(ctx, n, r, "some values");
    if (r->rank == 2 && n->as == TNP_AS_BAG)
        return wrong_shape(ctx, n, r, "a map or tokens for option as bag");
    if (n->as == TNP_AS_AUTO)
        n->as = r->rank == 3 ? TNP_AS_TOKEN : TNP_AS_MEAN;
    if (r->rank == 4 && n->as == TNP_AS_TOKEN)
        return wrong_shape(ctx, n, r, "tokens for option as token");
    if (n->as == TNP_AS_BAG && r->rank == 4) {
        n->across = d[3];
        n->down = d[2];
    }
    if (n->as != TNP_AS_BAG)
        n->count = 1;
    return TN_OK;
}

static tn_status probe(tn_ctx *ctx, tn_network *n)
{
    tn_status st = TN_OK;
    char message[TNP_ENGINE_MESSAGE] = "";
    void *tensor = NULL;
    float *space = NULL;
    tnp_result result = {.value = NULL};
    TN_TRY(tnp_alloc(ctx, tnp_recipe_bytes(&n->recipe), 1, &tensor));
    TN_TRY(tnp_alloc(ctx, tnp_network_space(n), sizeof *space, &space));
    if (!tnp_network_run(n, tensor, space, &result, message))
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: refuses a picture of %zu x %zu: %s", n->path, n->recipe.width,
                        n->recipe.height, message));
    TN_TRY(understand(ctx, n, &result));
done:
    if (n->session)
        tnp_result_free(n->session, &result);
    tnp_free_all(tensor, space);
    return st;
}

/* ---- what it is, for heads, sidecars and people ---- */

static tn_status make_about(tn_ctx *ctx, tn_network *n)
{
    const tnp_recipe *r = &n->recipe;
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"network\":");
    tnp_text_quote(&text, n->path);
    tnp_text_add(&text, ",\"hash\":\"%016" PRIx64 "\",\"layer\":", n->hash);
    tnp_text_quote(&text, n->layer);
    tnp_text_add(&text, ",\"as\":\"%s\",\"views\":\"%s\",\"width\":%zu,\"height\":%zu,\"shorter\":%zu", as_names[n->as],
                 view_names[n->views], r->width, r->height, r->shorter);
    tnp_text_add(&text, ",\"resize_width\":%zu,\"resize_height\":%zu,\"resample\":\"%s\"", r->resize_width,
                 r->resize_height, r->kernel == TNP_CUBIC ? "bicubic" : "bilinear");
    tnp_text_value(&text, "scale", r->scale);
    tnp_text_numbers(&text, "mean", r->mean, 3);
    tnp_text_numbers(&text, "std", r->std, 3);
    tnp_text_add(&text, ",\"channels\":\"%s\",\"layout\":\"%s\"}", r->bgr ? "bgr" : "rgb", r->nhwc ? "nhwc" : "nchw");
    return tnp_text_take(&text, &n->about);
}

/* ---- the calls ---- */

static tn_status make(tn_ctx *ctx, const tnp_onnx *o, const tnp_network_options *options, const tnp_recipe *recipe,
                      tn_network **out)
{
    tn_status st = TN_OK;
    tn_network *n = NULL;
    const tnp_onnx_value *in = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *n, &n));
    n->recipe = *recipe;
    n->hash = o->hash;
    n->as = (tnp_as)options->as;
    n->views = (tnp_views)options->views;
    if (n->as == TNP_AS_BAG && n->views != TNP_VIEW_CENTRE)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option views: bags of several views have no average; expected centre"));
    TN_TRY(tnp_strdup(ctx, o->path, &n->path));
    TN_TRY(tnp_onnx_input(ctx, o, &in));
    TN_TRY(tnp_strndup(ctx, (const char *)in->name.data, in->name.size, &n->input));
    TN_TRY(pick_layer(ctx, o, options->layer, &n->layer));
    TN_TRY(load(ctx, o, in, n));
    TN_TRY(probe(ctx, n));
    TN_TRY(make_about(ctx, n));
    *out = n;
    n = NULL;
done:
    tn_network_free(n);
    return st;
}

/* FILE.onnx:LAYER as FILE.onnx and LAYER, NULL without one. */
static tn_status split(tn_ctx *ctx, const char *text, char **path, const char **layer)
{
    const char *colon = strstr(text, ".onnx:");
    size_t length = colon ? (size_t)(colon - text) + 5 : strlen(text);
    *layer = colon ? text + length + 1 : NULL;
    return tnp_strndup(ctx, text, length, path);
}

tn_status tn_network_open(tn_ctx *ctx, const char *path, const tn_options *options, tn_network **out)
{
    tn_status st = TN_OK;
    tnp_network_options values;
    tnp_recipe recipe;
    tnp_bytes bytes = {NULL, 0};
    tnp_onnx onnx = {.path = NULL};
    char *file = NULL;
    const char *layer = NULL;
    TN_TRY(tnp_options_read(ctx, options, &tnp_network_kind, &values));
    TN_TRY(split(ctx, path, &file, &layer));
    values.layer = layer ? layer : values.layer;
    TN_TRY(tnp_onnx_open(ctx, file, &bytes, &onnx));
    TN_TRY(tnp_recipe_make(ctx, &onnx, &values.recipe, &recipe));
    TN_TRY(make(ctx, &onnx, &values, &recipe, out));
done:
    tnp_onnx_free(&onnx);
    tnp_bytes_free(&bytes);
    tnp_free(file);
    return st;
}

void tn_network_free(tn_network *n)
{
    if (!n)
        return;
    tnp_network_front_free(n);
    tnp_session_close(n->session);
    tnp_engine_close(n->engine);
    tnp_free_all(n->path, n->layer, n->input);
    tn_text_free(n->about);
    tnp_free(n);
}

size_t tn_network_cols(const tn_network *network)
{
    return network->dim;
}

size_t tn_network_bag(const tn_network *network)
{
    return network->as == TNP_AS_BAG ? network->count : 0;
}

const char *tn_network_layer(const tn_network *network)
{
    return network->layer;
}

const char *tn_network_about(const tn_network *network)
{
    return network->about;
}

tn_status tn_engine_look(tn_ctx *ctx, tn_engine *out)
{
    tnp_engine *engine = NULL;
    tn_status st = tnp_engine_open(ctx, &engine);
    if (st == TN_OK) {
        snprintf(out->version, sizeof out->version, "%s", tnp_engine_version(engine));
        snprintf(out->path, sizeof out->path, "%s", tnp_engine_path(engine));
    }
    tnp_engine_close(engine);
    return st;
}

/* ---- from what a head remembers ---- */

static bool number(const json_t *root, const char *key, double lo, double hi, double *out)
{
    const json_t *v = json_object_get(root, key);
    *out = json_is_number(v) ? json_number_value(v) : lo - 1;
    return *out >= lo && *out <= hi;
}

static bool sizes(const json_t *root, tnp_recipe *r)
{
    static const char *const keys[] = {"width", "height", "shorter", "resize_width", "resize_height"};
    size_t *const members[] = {&r->width, &r->height, &r->shorter, &r->resize_width, &r->resize_height};
    for (size_t i = 0; i < 5; ++i) {
        double value = 0;
        if (!number(root, keys[i], i < 2 ? 1 : 0, 65536, &value))
            return false;
        *members[i] = (size_t)value;
    }
    return r->shorter != 0 || (r->resize_width != 0 && r->resize_height != 0);
}

static bool colours(const json_t *root, const char *key, double lo, double out[3])
{
    const json_t *list = json_object_get(root, key);
    for (size_t i = 0; i < 3; ++i) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_number(v) || !(json_number_value(v) >= lo && json_number_value(v) <= 1e6))
            return false;
        out[i] = json_number_value(v);
    }
    return true;
}

static bool word(const json_t *root, const char *key, const char *words, int *out)
{
    const char *text = json_string_value(json_object_get(root, key));
    *out = text ? tnp_find_choice(words, text) : -1;
    return *out >= 0;
}

/* The recipe and options of `about`, on top of what the graph tells. */
static bool recall(const json_t *root, tnp_recipe *r, tnp_network_options *o)
{
    int kernel = 0, channels = 0, layout = 0;
    o->layer = json_string_value(json_object_get(root, "layer"));
    bool all = o->layer && sizes(root, r) && number(root, "scale", 1e-9, 1e6, &r->scale) &&
               colours(root, "mean", -1e6, r->mean) && colours(root, "std", 1e-6, r->std) &&
               word(root, "as", AS_WORDS, &o->as) && word(root, "views", VIEW_WORDS, &o->views) &&
               word(root, "resample", "bilinear|bicubic", &kernel) && word(root, "channels", "rgb|bgr", &channels) &&
               word(root, "layout", "nchw|nhwc", &layout);
    r->kernel = kernel;
    r->bgr = channels == 1;
    r->nhwc = layout == 1;
    return all;
}

static tn_status check_hash(tn_ctx *ctx, const tnp_onnx *o, const json_t *root, bool force)
{
    char hash[20];
    const char *known = json_string_value(json_object_get(root, "hash"));
    snprintf(hash, sizeof hash, "%016" PRIx64, o->hash);
    if (force || (known && strcmp(known, hash) == 0))
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_DATA, "%s: hash %s, but the head was trained with a network of hash %.20s", o->path,
                    hash, known ? known : "unknown");
}

tn_status tn_network_recall(tn_ctx *ctx, const char *about, const char *path, bool force, tn_network **out)
{
    tn_status st = TN_OK;
    tnp_json json = {.root = NULL};
    tnp_network_options options;
    tnp_recipe recipe = {.width = 0};
    tnp_bytes bytes = {NULL, 0};
    tnp_onnx onnx = {.path = NULL};
    defaults(&options);
    TN_TRY(tnp_json_parse(ctx, "network", "what a head remembers of it", 0, about, strlen(about), &json));
    path = path ? path : json_string_value(json_object_get(json.root, "network"));
    if (!path)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "network: the head does not name its file"));
    TN_TRY(tnp_onnx_open(ctx, path, &bytes, &onnx));
    TN_TRY(check_hash(ctx, &onnx, json.root, force));
    TN_TRY(tnp_recipe_of_graph(ctx, &onnx, 0, &recipe));
    if (!recall(json.root, &recipe, &options))
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: what the head remembers of its preparation is not complete", path));
    TN_TRY(make(ctx, &onnx, &options, &recipe, out));
done:
    tnp_json_free(&json);
    tnp_onnx_free(&onnx);
    tnp_bytes_free(&bytes);
    return st;
}
