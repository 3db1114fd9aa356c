/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of local descriptors: offsets into one matrix of descriptors,
 *
 *   bag i = rows [offsets[i], offsets[i + 1])        offsets (count + 1), ascending, the last at most the rows
 *
 * so that descriptors and positions are features like any others, read a block of bags at a time. A list of arrays, one
 * per bag, was refused: half a million small blocks of memory for what is one file.
 *
 * As a file: an .npz with members offsets, descriptors, and optionally positions (descriptors, 3) and ids, one per bag.
 * */
#include "read/features.h"

#include "matrix/convert.h"
#include "read/text.h"

#include <inttypes.h>
#include <string.h>

enum { PLACE = 3 }; /* x, y, scale */

struct tn_bags {
    const size_t *offsets;
    size_t count;
    const tn_features *descriptors, *positions;
    char **ids;
    /* Of bags that were opened: what the members above point to. */
    size_t *own_offsets;
    tn_features *own_descriptors, *own_positions;
};

static tn_status check(tn_ctx *ctx, const tn_bags *bags)
{
    const tn_features *of = bags->descriptors, *at = bags->positions;
    if (bags->count == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: no bags", of->path);
    for (size_t i = 0; i < bags->count; ++i)
        if (bags->offsets[i] > bags->offsets[i + 1])
            return tnp_fail(ctx, TN_ERR_DATA, "%s: offset %zu is %zu, below the %zu before it", of->path, i + 1,
                            bags->offsets[i + 1], bags->offsets[i]);
    if (bags->offsets[bags->count] > of->rows)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: the last offset is %zu, but there are %zu descriptors", of->path,
                        bags->offsets[bags->count], of->rows);
    if (at && (at->rows != of->rows || at->cols != PLACE))
        return tnp_fail(ctx, TN_ERR_SHAPE,
                        "%s: %zu x %zu positions, expected %zu x %d: x, y and scale of each descriptor", at->path,
                        at->rows, at->cols, of->rows, PLACE);
    return TN_OK;
}

tn_status tn_bags_new(tn_ctx *ctx, const size_t *offsets, size_t count, const tn_features *descriptors,
                      const tn_features *positions, tn_bags **out)
{
    tn_status st = TN_OK;
    tn_bags *bags = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *bags, &bags));
    *bags = (tn_bags){.offsets = offsets, .count = count, .descriptors = descriptors, .positions = positions};
    TN_TRY(check(ctx, bags));
    *out = bags;
    bags = NULL;
done:
    tn_bags_free(bags);
    return st;
}

tn_status tnp_bags_own(tn_ctx *ctx, size_t *offsets, size_t count, tn_features *descriptors, tn_features *positions,
                       const char *const *ids, tn_bags **out)
{
    tn_status st = TN_OK;
    tn_bags *bags = NULL;
    TN_TRY(tn_bags_new(ctx, offsets, count, descriptors, positions, &bags));
    TN_TRY(tnp_strings_copy(ctx, ids, count, &bags->ids));
    bags->own_offsets = offsets;
    bags->own_descriptors = descriptors;
    bags->own_positions = positions;
    *out = bags;
    bags = NULL;
done:
    tn_bags_free(bags);
    return st;
}

void tn_bags_free(tn_bags *bags)
{
    if (!bags)
        return;
    tn_features_close(bags->own_descriptors);
    tn_features_close(bags->own_positions);
    tnp_free_all(bags->own_offsets, bags->ids, bags);
}

/* ---- files ---- */

static tn_status open_member(tn_ctx *ctx, const char *path, const char *key, const char *name, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    tnp_text text;
    char *member = NULL;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "%s:%s", path, key);
    TN_TRY(tnp_text_take(&text, &member));
    TN_TRY(tnp_features_new(ctx, member, name, &features));
    TN_TRY(tnp_npz_open(ctx, features, path, key, false));
    if (features->rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows", member));
    *out = features;
    features = NULL;
done:
    tn_text_free(member);
    tn_features_close(features);
    return st;
}

static tn_status read_offsets(tn_ctx *ctx, const tn_features *member, tn_bags *bags)
{
    tn_status st = TN_OK;
    int64_t *whole = NULL;
    if (member->cols != 1 || tnp_dtype_is_float(member->dtype))
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: %zu columns of %s, expected one of whole numbers", member->path,
                        member->cols, tn_dtype_name(member->dtype));
    TN_TRY(tnp_alloc_raw(ctx, member->rows, sizeof *whole, &whole));
    TN_TRY(tnp_alloc_raw(ctx, member->rows, sizeof *bags->own_offsets, &bags->own_offsets));
    TN_TRY(tnp_features_read_ints(ctx, member, 0, member->rows, whole));
    for (size_t i = 0; i < member->rows; ++i) {
        if (whole[i] < 0)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: entry %zu is %" PRId64 ", expected no number below 0", member->path,
                            i, whole[i]));
        bags->own_offsets[i] = (size_t)whole[i];
    }
    bags->offsets = bags->own_offsets;
    bags->count = member->rows - 1;
done:
    tnp_free(whole);
    return st;
}

static tn_status open_all(tn_ctx *ctx, const char *path, const char *name, tn_bags *bags)
{
    tn_status st = TN_OK;
    tn_features *offsets = NULL;
    bool positions = false;
    TN_TRY(open_member(ctx, path, "offsets", name, &offsets));
    TN_TRY(read_offsets(ctx, offsets, bags));
    TN_TRY(tnp_npz_bag_names(ctx, offsets->files[0], bags->count, &positions, &bags->ids));
    TN_TRY(open_member(ctx, path, "descriptors", name, &bags->own_descriptors));
    if (positions)
        TN_TRY(open_member(ctx, path, "positions", name, &bags->own_positions));
    bags->descriptors = bags->own_descriptors;
    bags->positions = bags->own_positions;
    TN_TRY(check(ctx, bags));
done:
    tn_features_close(offsets);
    return st;
}

tn_status tn_bags_open(tn_ctx *ctx, const char *rep, tn_bags **out)
{
    tn_status st = TN_OK;
    tn_bags *bags = NULL;
    char *name = NULL;
    const char *path = NULL;
    TN_TRY(tnp_rep_split(ctx, rep, &name, &path));
    if (!name)
        TN_TRY(tnp_default_name(ctx, path, &name));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *bags, &bags));
    TN_TRY(open_all(ctx, path, name, bags));
    *out = bags;
    bags = NULL;
done:
    tnp_free(name);
    tn_bags_free(bags);
    return st;
}

/* (N, T, D): N bags of T descriptors each. */
static tn_status split_evenly(tn_ctx *ctx, const char *path, tn_bags *bags)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    tnp_array array;
    char shape[TNP_SHAPE_TEXT];
    size_t index = 0, count = 0;
    TN_TRY(tnp_features_new(ctx, path, NULL, &features));
    features->format = "npy";
    TN_TRY(tnp_features_file(ctx, features, path, &index));
    TN_TRY(tnp_npy_read(ctx, features->files[index], 0, tnp_file_size(features->files[index]), &array));
    if (array.ndim != 3 || array.fortran || array.text || array.shape[0] == 0 || array.shape[1] == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE,
                        "%s: %s%s, expected (bags, descriptors, values) in C order, or option offsets", path,
                        tnp_shape_text(&array, shape), array.fortran ? " in Fortran order" : ""));
    count = array.shape[0];
    size_t each = array.shape[1];
    array.ndim = 2;
    array.shape[0] = count * each;
    array.shape[1] = array.shape[2];
    TN_TRY(tnp_features_add(ctx, features, path, &array, index));
    TN_TRY(tnp_alloc_raw(ctx, count + 1, sizeof *bags->own_offsets, &bags->own_offsets));
    for (size_t i = 0; i <= count; ++i)
        bags->own_offsets[i] = i * each;
    bags->offsets = bags->own_offsets;
    bags->count = count;
    bags->descriptors = bags->own_descriptors = features;
    features = NULL;
done:
    tn_features_close(features);
    return st;
}

static tn_status split_by(tn_ctx *ctx, const char *path, const char *offsets, tn_bags *bags)
{
    tn_status st = TN_OK;
    tn_features *where = NULL;
    TN_TRY(tnp_features_open_path(ctx, offsets, NULL, &where));
    TN_TRY(read_offsets(ctx, where, bags));
    TN_TRY(tnp_features_open_path(ctx, path, NULL, &bags->own_descriptors));
    bags->descriptors = bags->own_descriptors;
done:
    tn_features_close(where);
    return st;
}

tn_status tn_bags_open_arrays(tn_ctx *ctx, const char *descriptors, const char *offsets, tn_bags **out)
{
    tn_status st = TN_OK;
    tn_bags *bags = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *bags, &bags));
    TN_TRY(offsets ? split_by(ctx, descriptors, offsets, bags) : split_evenly(ctx, descriptors, bags));
    TN_TRY(check(ctx, bags));
    *out = bags;
    bags = NULL;
done:
    tn_bags_free(bags);
    return st;
}

/* ---- what bags hold ---- */

size_t tn_bags_count(const tn_bags *bags)
{
    return bags->count;
}

const size_t *tn_bags_offsets(const tn_bags *bags)
{
    return bags->offsets;
}

const tn_features *tn_bags_descriptors(const tn_bags *bags)
{
    return bags->descriptors;
}

const tn_features *tn_bags_positions(const tn_bags *bags)
{
    return bags->positions;
}

const char *const *tn_bags_ids(const tn_bags *bags)
{
    return (const char *const *)bags->ids;
}

tn_status tn_bags_read(tn_ctx *ctx, const tn_bags *bags, size_t first, size_t count, float *descriptors,
                       float *positions)
{
    const char *path = bags->descriptors->path;
    if (first > bags->count || count > bags->count - first)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: bags %zu to %zu asked for, there are %zu", path, first, first + count,
                        bags->count);
    if (positions && !bags->positions)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: positions asked for, there are none", path);
    size_t start = bags->offsets[first], rows = bags->offsets[first + count] - start;
    tn_status st = tn_features_read(ctx, bags->descriptors, NULL, start, rows, 0, bags->descriptors->cols, descriptors);
    if (st == TN_OK && positions)
        st = tn_features_read(ctx, bags->positions, NULL, start, rows, 0, PLACE, positions);
    return st;
}
