/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a network wants to see. The graph tells the type, the layout and mostly the size of its input; how much is cut
 * away and how colours are scaled it does not tell, unless it does that itself and takes bytes. That stands in JSON
 * beside it, in the first of
 *
 *   MODEL.json     preprocessor_config.json     ../preprocessor_config.json, where the folder is called onnx
 *
 * or in options. Where nobody tells: 224 x 224, of pictures whose shorter side is 8/7 of that, mean and deviation of
 * ImageNet: what most networks were trained with. */
#define _POSIX_C_SOURCE 200809L
#include "read/onnx/recipe.h"

#include "read/json.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Of a graph that takes any size LEAST is asked for: maps that shrink to nothing end engines by a division by zero. */
enum { USUAL_SIZE = 224, LARGEST = 8192, LEAST = 32 };
static const double USUAL_CROP = 0.875;

void tnp_recipe_options_default(tnp_recipe_options *options)
{
    *options = (tnp_recipe_options){.size = 0};
}

const tn_field *tnp_recipe_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"size", TN_FIELD_INT, offsetof(tnp_recipe_options, size), 0, LARGEST, "N",
         "width and height that the network sees; 0: as its graph or its JSON tells, else 224"},
        {"crop", TN_FIELD_REAL, offsetof(tnp_recipe_options, crop), 0, 1, "X",
         "share of the shorter side that is kept, in the middle; 0: as the JSON tells, else 0.875"},
        {"mean", TN_FIELD_REALS, offsetof(tnp_recipe_options, mean), -1e6, 1e6, "R,G,B",
         "taken off colours, once they are scaled"},
        {"std", TN_FIELD_REALS, offsetof(tnp_recipe_options, std), 1e-6, 1e6, "R,G,B", "what they are divided by then"},
        {"scale", TN_FIELD_REAL, offsetof(tnp_recipe_options, scale), 0, 1e6, "X",
         "factor of colours from 0 to 255, first of all; 0: as the JSON tells, else 1/255"},
        {"resample", TN_FIELD_CHOICE, offsetof(tnp_recipe_options, resample), 0, 0, "auto|bilinear|bicubic",
         "how pictures are resized, without aliasing"},
        {"channels", TN_FIELD_CHOICE, offsetof(tnp_recipe_options, channels), 0, 0, "rgb|bgr", "order of colours"},
        {"layout", TN_FIELD_CHOICE, offsetof(tnp_recipe_options, layout), 0, 0, "auto|nchw|nhwc",
         "where the input has its colours; auto: by its shape"},
        {"config", TN_FIELD_TEXT, offsetof(tnp_recipe_options, config), 0, 0, "FILE.json",
         "the JSON that tells these, in the place of the one beside the network"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

/* ---- the graph ---- */

static bool is_colours(int64_t dim)
{
    return dim == 1 || dim == 3;
}

static tn_status from_graph(tn_ctx *ctx, const tnp_onnx *o, const tnp_onnx_value *in, int layout, tnp_recipe *r)
{
    static const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
    const int64_t *d = in->dims;
    if (in->type != TNP_ONNX_FLOAT && in->type != TNP_ONNX_UINT8)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: its input has elements of type %d, expected float or uint8",
                        o->path, (int)in->type);
    if (in->rank != 4)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: its input has %zd dimensions, expected 4: a picture", o->path,
                        in->rank == SIZE_MAX ? (ptrdiff_t)-1 : (ptrdiff_t)in->rank);
    if (d[0] > 1)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: it takes %zd pictures at once, expected 1 or any number", o->path,
                        (ptrdiff_t)d[0]);
    r->nhwc = layout == 2 || (layout == 0 && is_colours(d[3]) && !is_colours(d[1]));
    int64_t colours = r->nhwc ? d[3] : d[1], height = r->nhwc ? d[1] : d[2], width = r->nhwc ? d[2] : d[3];
    if (colours > 0 && !is_colours(colours))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: its input has %zd channels, expected 1 or 3", o->path,
                        (ptrdiff_t)colours);
    if (width > LARGEST || height > LARGEST)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: its input is %zd x %zd, expected at most %d", o->path,
                        (ptrdiff_t)width, (ptrdiff_t)height, LARGEST);
    r->channels = colours > 0 ? (size_t)colours : 3;
    r->bytes = in->type == TNP_ONNX_UINT8;
    r->width = width > 0 ? (size_t)width : 0;
    r->height = height > 0 ? (size_t)height : 0;
    r->scale = 1.0 / 255;
    memcpy(r->mean, mean, sizeof mean);
    memcpy(r->std, std, sizeof std);
    return TN_OK;
}

/* ---- JSON ---- */

typedef struct reading {
    tn_ctx *ctx;
    const char *path;
    const json_t *root;
} reading;

static tn_status wrong(const reading *in, const char *key, const char *expected)
{
    return tnp_fail(in->ctx, TN_ERR_FORMAT, "%s: '%s' is not %s", in->path, key, expected);
}

static bool flag(const reading *in, const char *key, bool otherwise)
{
    const json_t *v = json_object_get(in->root, key);
    return v ? json_is_true(v) : otherwise;
}

static tn_status number(const reading *in, const char *key, double lo, double hi, double *out)
{
    const json_t *v = json_object_get(in->root, key);
    if (!v || json_is_null(v))
        return TN_OK;
    if (!json_is_number(v) || !(json_number_value(v) >= lo && json_number_value(v) <= hi))
        return wrong(in, key, "a number that pictures can be prepared with");
    *out = json_number_value(v);
    return TN_OK;
}

/* Three numbers, or one for all. */
static tn_status colours(const reading *in, const char *key, double lo, double out[3])
{
    const json_t *v = json_object_get(in->root, key);
    if (!v || json_is_null(v))
        return TN_OK;
    size_t n = json_is_array(v) ? json_array_size(v) : 0;
    if (n != 1 && n != 3)
        return wrong(in, key, "a list of 3 numbers");
    for (size_t i = 0; i < 3; ++i) {
        const json_t *x = json_array_get(v, n == 3 ? i : 0);
        if (!json_is_number(x) || !(json_number_value(x) >= lo && json_number_value(x) <= 1e6))
            return wrong(in, key, "a list of 3 numbers that colours can be scaled by");
        out[i] = json_number_value(x);
    }
    return TN_OK;
}

static bool side(const json_t *v, size_t *out)
{
    bool fine = json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) <= LARGEST;
    if (fine)
        *out = (size_t)json_integer_value(v);
    return fine;
}

/* 224, {"height":224,"width":224} or {"shortest_edge":224}, which is *edge then. Absent, nothing changes. */
static tn_status sizes(const reading *in, const char *key, size_t *width, size_t *height, size_t *edge)
{
    const json_t *v = json_object_get(in->root, key), *s = json_object_get(v, "shortest_edge");
    if (!v || json_is_null(v))
        return TN_OK;
    if (side(v, width)) {
        *height = *width;
        return TN_OK;
    }
    if (s ? side(s, edge) : side(json_object_get(v, "width"), width) && side(json_object_get(v, "height"), height))
        return TN_OK;
    return wrong(in, key, "a size from 1 to 8192");
}

static tn_status hugging_face(const reading *in, tnp_recipe *r)
{
    tn_status st = TN_OK;
    size_t width = 0, height = 0, edge = 0, crop_width = 0, crop_height = 0, unused = 0;
    double factor = r->scale, crop = 0, resample = 2;
    TN_TRY(sizes(in, "size", &width, &height, &edge));
    TN_TRY(sizes(in, "crop_size", &crop_width, &crop_height, &unused));
    TN_TRY(number(in, "rescale_factor", 1e-9, 1e6, &factor));
    TN_TRY(number(in, "crop_pct", 0.01, 1, &crop));
    TN_TRY(number(in, "resample", 0, 5, &resample));
    bool cropped = flag(in, "do_center_crop", crop_width != 0) && crop_width != 0;
    if (edge == 0 && cropped && width == height)
        edge = width; /* one number with a crop behind it is the shorter side */
    r->width = cropped ? crop_width : width ? width : edge ? edge : r->width;
    r->height = cropped ? crop_height : height ? height : edge ? edge : r->height;
    if (edge != 0)
        r->shorter = crop > 0 && !cropped ? (size_t)((double)edge / crop + 1e-9) : edge;
    else if (width != 0) {
        r->shorter = 0;
        r->resize_width = width;
        r->resize_height = height;
    }
    r->kernel = resample == 1 || resample == 3 ? TNP_CUBIC : TNP_TRIANGLE;
    r->scale = flag(in, "do_rescale", true) ? factor : 1;
    TN_TRY(colours(in, "image_mean", -1e6, r->mean));
    TN_TRY(colours(in, "image_std", 1e-6, r->std));
    for (size_t i = 0; i < 3 && !flag(in, "do_normalize", true); ++i) {
        r->mean[i] = 0;
        r->std[i] = 1;
    }
done:
    return st;
}

static tn_status timm(const reading *in, tnp_recipe *r)
{
    tn_status st = TN_OK;
    const json_t *input = json_object_get(in->root, "input_size");
    const char *mode = json_string_value(json_object_get(in->root, "crop_mode"));
    const char *kernel = json_string_value(json_object_get(in->root, "interpolation"));
    double crop = USUAL_CROP;
    if (input && (!side(json_array_get(input, 1), &r->height) || !side(json_array_get(input, 2), &r->width)))
        TN_TRY(wrong(in, "input_size", "[channels, height, width]"));
    TN_TRY(number(in, "crop_pct", 0.01, 1, &crop));
    TN_TRY(colours(in, "mean", -1e6, r->mean));
    TN_TRY(colours(in, "std", 1e-6, r->std));
    r->kernel = kernel && strcmp(kernel, "bicubic") == 0 ? TNP_CUBIC : TNP_TRIANGLE;
    size_t least = tnp_min(r->width ? r->width : USUAL_SIZE, r->height ? r->height : USUAL_SIZE);
    r->shorter = (size_t)((double)least / crop + 1e-9);
    if (mode && strcmp(mode, "squash") == 0) {
        r->resize_width = (size_t)((double)(r->width ? r->width : USUAL_SIZE) / crop + 1e-9);
        r->resize_height = (size_t)((double)(r->height ? r->height : USUAL_SIZE) / crop + 1e-9);
        r->shorter = 0;
    }
done:
    return st;
}

tn_status tnp_recipe_from_json(tn_ctx *ctx, const char *path, const char *text, size_t size, tnp_recipe *recipe)
{
    tn_status st = TN_OK;
    tnp_json json = {.root = NULL};
    TN_TRY(tnp_json_parse(ctx, path, "the preparation of pictures", 0, text, size, &json));
    reading in = {ctx, path, json.root};
    if (!json_is_object(json.root))
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: no JSON object", path));
    if (json_is_object(json_object_get(json.root, "pretrained_cfg")))
        in.root = json_object_get(json.root, "pretrained_cfg");
    bool faces = json_object_get(in.root, "image_mean") || json_object_get(in.root, "size") ||
                 json_object_get(in.root, "do_resize");
    bool timms = json_object_get(in.root, "input_size") || json_object_get(in.root, "crop_pct") ||
                 json_object_get(in.root, "mean");
    if (faces || timms)
        TN_TRY(faces ? hugging_face(&in, recipe) : timm(&in, recipe));
    else
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT,
                        "%s: none of the keys of preprocessor_config.json or pretrained_cfg: size, image_mean, "
                        "input_size, mean",
                        path));
done:
    tnp_json_free(&json);
    return st;
}

/* ---- files beside the network ---- */

static tn_status from_file(tn_ctx *ctx, const char *path, tnp_recipe *recipe)
{
    tnp_bytes bytes = {NULL, 0};
    tn_status st = tnp_bytes_read(ctx, path, &bytes);
    if (st == TN_OK)
        st = tnp_recipe_from_json(ctx, path, (const char *)bytes.data, bytes.size, recipe);
    tnp_bytes_free(&bytes);
    return st;
}

/* The first of the three that is there; none is fine. */
static tn_status from_beside(tn_ctx *ctx, const char *model, char *name, size_t capacity, tnp_recipe *recipe)
{
    const char *slash = strrchr(model, '/'), *dot = strrchr(slash ? slash : model, '.');
    int folder = slash ? (int)(slash - model) + 1 : 0, stem = dot ? (int)(dot - model) : (int)strlen(model);
    bool in_onnx =
        folder >= 5 && strncmp(model + folder - 5, "onnx/", 5) == 0 && (folder == 5 || model[folder - 6] == '/');
    for (int i = 0; i < (in_onnx ? 3 : 2); ++i) {
        snprintf(name, capacity, "%.*s%s", i ? folder : stem, model,
                 i == 0   ? ".json"
                 : i == 1 ? "preprocessor_config.json"
                          : "../preprocessor_config.json");
        if (access(name, F_OK) == 0)
            return from_file(ctx, name, recipe);
    }
    name[0] = 0;
    return TN_OK;
}

/* ---- together ---- */

static void from_options(const tnp_recipe_options *o, tnp_recipe *r)
{
    size_t n = o->size;
    if (n != 0) {
        r->width = r->height = n;
        r->shorter = (size_t)((double)n / USUAL_CROP + 1e-9);
    }
    r->width = r->width ? r->width : USUAL_SIZE;
    r->height = r->height ? r->height : USUAL_SIZE;
    size_t least = tnp_min(r->width, r->height);
    if (o->crop > 0)
        r->shorter = (size_t)((double)least / o->crop + 1e-9);
    else if (r->shorter == 0 && r->resize_width == 0)
        r->shorter = (size_t)((double)least / USUAL_CROP + 1e-9);
    for (size_t i = 0; i < 3; ++i) {
        r->mean[i] = o->mean.count ? o->mean.items[o->mean.count == 3 ? i : 0] : r->mean[i];
        r->std[i] = o->std.count ? o->std.items[o->std.count == 3 ? i : 0] : r->std[i];
    }
    r->scale = o->scale > 0 ? o->scale : r->scale;
    r->kernel = o->resample == 1 ? TNP_TRIANGLE : o->resample == 2 ? TNP_CUBIC : r->kernel;
    r->bgr = o->channels == 1;
}

static tn_status check(tn_ctx *ctx, const tnp_onnx *o, const tnp_recipe *r, const tnp_recipe *graph, const char *config)
{
    size_t width = r->shorter ? r->shorter : r->resize_width, height = r->shorter ? r->shorter : r->resize_height;
    if ((graph->width && graph->width != r->width) || (graph->height && graph->height != r->height))
        return tnp_fail(ctx, TN_ERR_ARG, "%s: its input is %zu x %zu, %s asks for %zu x %zu", o->path, graph->width,
                        graph->height, *config ? config : "option size", r->width, r->height);
    if (!graph->width && tnp_min(r->width, r->height) < LEAST)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: pictures of %zu x %zu, expected at least %d on a side", o->path, r->width,
                        r->height, LEAST);
    if (r->width > width || r->height > height)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: %zu x %zu cannot be cut out of pictures that are resized to %zu", o->path,
                        r->width, r->height, tnp_min(width, height));
    return TN_OK;
}

static tn_status check_lists(tn_ctx *ctx, const tnp_recipe_options *o)
{
    const tnp_reals *lists[] = {&o->mean, &o->std};
    for (size_t i = 0; i < 2; ++i)
        if (lists[i]->count != 0 && lists[i]->count != 1 && lists[i]->count != 3)
            return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %zu numbers, expected 1 or 3", i ? "std" : "mean",
                            lists[i]->count);
    return TN_OK;
}

tn_status tnp_recipe_of_graph(tn_ctx *ctx, const tnp_onnx *onnx, int layout, tnp_recipe *out)
{
    const tnp_onnx_value *in = NULL;
    tn_status st = tnp_onnx_input(ctx, onnx, &in);
    return st == TN_OK ? from_graph(ctx, onnx, in, layout, out) : st;
}

tn_status tnp_recipe_make(tn_ctx *ctx, const tnp_onnx *onnx, const tnp_recipe_options *options, tnp_recipe *out)
{
    tn_status st = TN_OK;
    tnp_recipe recipe = {.width = 0}, graph;
    char *name = NULL;
    size_t capacity = strlen(onnx->path) + 40;
    TN_TRY(check_lists(ctx, options));
    TN_TRY(tnp_recipe_of_graph(ctx, onnx, options->layout, &recipe));
    graph = recipe;
    TN_TRY(tnp_alloc(ctx, capacity, 1, &name));
    if (options->config && *options->config)
        TN_TRY(from_file(ctx, options->config, &recipe));
    else
        TN_TRY(from_beside(ctx, onnx->path, name, capacity, &recipe));
    from_options(options, &recipe);
    TN_TRY(check(ctx, onnx, &recipe, &graph, options->size ? "" : options->config ? options->config : name));
    *out = recipe;
done:
    tnp_free(name);
    return st;
}
