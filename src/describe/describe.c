/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture to its descriptors: planes, contrast, the phases of its descriptor.
 *
 *   grey = 0.299 R + 0.587 G + 0.114 B                    a grey picture is red, green and blue alike where colour is wanted
 *   contrast: every plane becomes (v - m) / s, m and s mean and standard deviation of the grey plane; s = 0: v - m
 *
 * but for csift, whose ratios need light that is not below 0. Work is cut into bands of rows and groups of columns of
 * patches, each done by one thread, none depending on another: the same bits for every number of threads. */
#include "describe/describe.h"

#include "base/options.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { BAND = 32 };

static const tnp_descriptor *const table[] = {&tnp_sift, &tnp_root_sift, &tnp_csift, &tnp_lbp, &tnp_gist};

const tnp_descriptor *tnp_descriptor_at(size_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const char *tn_descriptor_name(size_t i)
{
    return tnp_descriptor_at(i) ? table[i]->name : NULL;
}

size_t tn_descriptor_dim(size_t i)
{
    return tnp_descriptor_at(i) ? table[i]->dim : 0;
}

/* ---- options ---- */

void tnp_describe_options_default(tnp_describe_options *options)
{
    static const double sides[] = {16, 25, 36, 49, 64};
    *options = (tnp_describe_options){
        .descriptor = 0, .step = 0, .sides = {sides, sizeof sides / sizeof *sides}, .contrast = true};
}

const tn_field *tnp_describe_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"descriptor", TN_FIELD_CHOICE, offsetof(tnp_describe_options, descriptor), 0, 0,
         "sift|rootsift|csift|lbp|gist", "what a patch of a picture becomes"},
        {"step", TN_FIELD_INT, offsetof(tnp_describe_options, step), 0, 1024, "N",
         "pixels from patch to patch; 0: 4 for sift and rootsift, else 6"},
        {"sides", TN_FIELD_REALS, offsetof(tnp_describe_options, sides), 8, 1024, "N,N,...",
         "sides of patches in pixels"},
        {"contrast", TN_FIELD_YESNO, offsetof(tnp_describe_options, contrast), 0, 0, NULL,
         "give every picture mean 0 and deviation 1 first"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

tn_status tnp_describer_make(tn_ctx *ctx, const tnp_describe_options *options, tnp_describer *out)
{
    const tnp_descriptor *kind = tnp_descriptor_at((size_t)options->descriptor);
    tnp_describer made = {.kind = kind, .step = options->step ? options->step : kind->step};
    made.contrast = options->contrast;
    made.side_count = options->sides.count;
    if (made.side_count == 0 || made.side_count > TNP_MOST_SIZES)
        return tnp_fail(ctx, TN_ERR_ARG, "option sides: %zu of them, expected 1 to %d", made.side_count,
                        TNP_MOST_SIZES);
    for (size_t i = 0; i < made.side_count; ++i) {
        double side = options->sides.items[i];
        if (side != floor(side) || side < 8 || side > 1024)
            return tnp_fail(ctx, TN_ERR_ARG, "option sides: got %g, expected whole numbers from 8 to 1024", side);
        made.sides[i] = (size_t)side;
    }
    *out = made;
    return TN_OK;
}

/* ---- planes ---- */

static float grey_of(const float *rgb)
{
    return 0.299F * rgb[0] + 0.587F * rgb[1] + 0.114F * rgb[2];
}

static void split_planes(const tn_picture *picture, bool colour, float *planes)
{
    size_t n = picture->width * picture->height;
    for (size_t i = 0; i < n; ++i) {
        const float *pixel = picture->pixels + i * picture->channels;
        if (!colour)
            planes[i] = picture->channels == 1 ? *pixel : grey_of(pixel);
        for (size_t c = 0; colour && c < 3; ++c)
            planes[c * n + i] = pixel[picture->channels == 1 ? 0 : c];
    }
}

/* Mean and deviation of the grey plane, in double. */
static void measure(const tn_picture *picture, double *mean, double *deviation)
{
    size_t n = picture->width * picture->height;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) {
        const float *pixel = picture->pixels + i * picture->channels;
        double v = (double)(picture->channels == 1 ? *pixel : grey_of(pixel)) - 0.5;
        sum += v;
        squares += v * v;
    }
    *mean = sum / (double)n + 0.5;
    double variance = squares / (double)n - sum / (double)n * (sum / (double)n);
    *deviation = variance > 1e-12 ? sqrt(variance) : 0;
}

static void normalise(const tn_picture *picture, size_t count, float *planes)
{
    double mean = 0, deviation = 0;
    measure(picture, &mean, &deviation);
    float middle = (float)mean, factor = deviation > 0 ? (float)(1 / deviation) : 1;
    for (size_t i = 0; i < count; ++i)
        planes[i] = (planes[i] - middle) * factor;
}

/* ---- describing ---- */

typedef struct job {
    const tnp_describer *describer;
    tnp_described *to;
    size_t phase, groups, scratch; /* floats of scratch that each worker has */
    atomic_size_t next;            /* group of columns that nobody has begun */
} job;

static void prepare_band(void *arg, size_t band)
{
    const job *j = arg;
    size_t row = band * BAND;
    j->describer->kind->prepare(&j->to->patches, j->phase, row, tnp_min(BAND, j->to->patches.grid.height - row));
}

/* Group g of all groups of columns, those of the first size first. */
static void describe_group(const job *j, size_t g, float *scratch)
{
    const tnp_grid *grid = &j->to->patches.grid;
    size_t size = 0;
    for (;; ++size) {
        size_t groups = (grid->size[size].nx + TNP_PATCH_COLUMNS - 1) / TNP_PATCH_COLUMNS;
        if (g < groups)
            break;
        g -= groups;
    }
    size_t column = g * TNP_PATCH_COLUMNS;
    j->describer->kind->describe(&j->to->patches, size, column,
                                 tnp_min(TNP_PATCH_COLUMNS, grid->size[size].nx - column), scratch, j->to->descriptors);
}

/* One worker: a group after the other, all with the same scratch, which stays in its cache. */
static void describe_some(void *arg, size_t worker)
{
    job *j = arg;
    size_t g;
    while ((g = atomic_fetch_add(&j->next, 1)) < j->groups)
        describe_group(j, g, j->to->scratch + worker * j->scratch);
}

/* Grows a block that nothing is kept of. */
static tn_status make_space(tn_ctx *ctx, size_t want, float **block, size_t *have)
{
    if (want <= *have)
        return TN_OK;
    tnp_free(*block);
    *block = NULL;
    *have = 0;
    tn_status st = tnp_alloc_raw(ctx, want, sizeof **block, block);
    if (st == TN_OK)
        *have = want;
    return st;
}

static tn_status make_all_space(tn_ctx *ctx, const tnp_describer *d, tnp_described *out)
{
    tn_status st = TN_OK;
    const tnp_grid *grid = &out->patches.grid;
    size_t pixels = grid->width * grid->height, values = 0, scratch = 0;
    TN_TRY(tnp_mul(ctx, grid->count, d->kind->dim, &values));
    TN_TRY(tnp_mul(ctx, tn_ctx_threads(ctx), d->kind->scratch(grid), &scratch));
    TN_TRY(make_space(ctx, pixels * (d->kind->colour ? 3 : 1), &out->planes, &out->plane_size));
    TN_TRY(make_space(ctx, d->kind->prepared(grid), &out->patches.prepared, &out->prepared_size));
    TN_TRY(make_space(ctx, scratch, &out->scratch, &out->scratch_size));
    TN_TRY(make_space(ctx, values, &out->descriptors, &out->descriptor_size));
    TN_TRY(make_space(ctx, 3 * grid->count, &out->positions, &out->position_size));
done:
    return st;
}

tn_status tnp_describe(tn_ctx *ctx, const tnp_describer *d, const tn_picture *picture, tnp_described *out)
{
    tn_status st = TN_OK;
    tnp_grid *grid = &out->patches.grid;
    size_t threads = tn_ctx_threads(ctx), pixels = picture->width * picture->height;
    tnp_grid_make(picture->width, picture->height, d->step, d->sides, d->side_count, grid);
    job j = {.describer = d, .to = out, .scratch = d->kind->scratch(grid)};
    for (size_t s = 0; s < grid->size_count; ++s)
        j.groups += (grid->size[s].nx + TNP_PATCH_COLUMNS - 1) / TNP_PATCH_COLUMNS;
    out->count = grid->count;
    if (grid->count == 0)
        goto done;
    TN_TRY(make_all_space(ctx, d, out));
    split_planes(picture, d->kind->colour, out->planes);
    if (d->contrast && d->kind != &tnp_csift)
        normalise(picture, pixels * (d->kind->colour ? 3 : 1), out->planes);
    out->patches.pixels = out->planes;
    for (; j.phase < d->kind->phases; ++j.phase)
        tnp_parallel(ctx, threads, (grid->height + BAND - 1) / BAND, prepare_band, &j);
    tnp_parallel(ctx, threads, threads, describe_some, &j);
    tnp_grid_positions(grid, out->positions);
done:
    return st;
}

void tnp_described_free(tnp_described *d)
{
    tnp_free_all(d->planes, d->patches.prepared, d->scratch, d->descriptors, d->positions);
    memset(d, 0, sizeof *d);
}

/* ---- the call ---- */

static void defaults(void *values)
{
    tnp_describe_options_default(values);
}

static const tnp_options_table tables[] = {{"Descriptors", tnp_describe_fields, 0}, {NULL, NULL, 0}};
const tnp_options_kind tnp_describe_kind = {
    "describe", sizeof(tnp_describe_options), defaults, tables, NULL, 0, NULL, NULL, 0};

tn_status tn_describe(tn_ctx *ctx, const tn_picture *picture, const tn_options *options, tn_mat **descriptors,
                      tn_mat **positions)
{
    tn_status st = TN_OK;
    tnp_describe_options values;
    tnp_describer describer;
    tnp_described described = {.count = 0};
    tn_mat *d = NULL, *p = NULL;
    TN_TRY(tnp_options_read(ctx, options, &tnp_describe_kind, &values));
    TN_TRY(tnp_describer_make(ctx, &values, &describer));
    TN_TRY(tnp_describe(ctx, &describer, picture, &described));
    TN_TRY(tn_mat_new(ctx, described.count, describer.kind->dim, &d));
    TN_TRY(tn_mat_new(ctx, described.count, 3, &p));
    if (described.count != 0) {
        memcpy(d->data, described.descriptors, described.count * describer.kind->dim * sizeof *d->data);
        memcpy(p->data, described.positions, described.count * 3 * sizeof *p->data);
    }
    *descriptors = d;
    *positions = p;
    d = p = NULL;
done:
    tn_mat_free(d);
    tn_mat_free(p);
    tnp_described_free(&described);
    return st;
}
