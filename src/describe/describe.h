/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense descriptors: the table of them, and what each provides. A picture is prepared once (cells of gradients, codes,
 * responses), by bands of rows; then patches of one size are described, a few columns of the grid at a time. Both are
 * done by any thread: they do not allocate or fail. */
#ifndef TNP_DESCRIBE_H
#define TNP_DESCRIBE_H

#include "base/options.h"
#include "describe/grid.h"
#include "tenon/describe.h"

typedef struct tnp_describe_options {
    int descriptor;  /* place in the table: sift */
    size_t step;     /* pixels between patches; 0: the table's */
    tnp_reals sides; /* of patches in pixels: 16, 25, 36, 49, 64, the online paper's */
    bool contrast;   /* pictures get mean 0 and deviation 1 first, as in deep Fisher */
} tnp_describe_options;

void tnp_describe_options_default(tnp_describe_options *options);
const tn_field *tnp_describe_fields(size_t *count);

/* What a descriptor works on. */
typedef struct tnp_patches {
    tnp_grid grid;
    const float *pixels; /* (planes of the descriptor, height, width), planes one after the other */
    float *prepared;
} tnp_patches;

typedef struct tnp_descriptor {
    const char *name;
    size_t dim;
    bool colour; /* wants red, green and blue; else one grey plane */
    size_t step; /* by default */
    /* Floats of what is prepared, and of scratch that one call of `describe` needs. */
    size_t (*prepared)(const tnp_grid *grid);
    size_t (*scratch)(const tnp_grid *grid);
    /* Rows [row, row + rows) of what is prepared, in so many phases, each from what those before it made of all rows. */
    size_t phases;
    void (*prepare)(const tnp_patches *patches, size_t phase, size_t row, size_t rows);
    /* Patches of columns [column, column + columns) of a size, all rows: into their places of out (count, dim). */
    void (*describe)(const tnp_patches *patches, size_t size, size_t column, size_t columns, float *scratch,
                     float *out);
} tnp_descriptor;

enum { TNP_PATCH_COLUMNS = 32 }; /* that one call of describe gets at most */

/* NULL behind the last. */
const tnp_descriptor *tnp_descriptor_at(size_t i);

extern const tnp_descriptor tnp_sift, tnp_root_sift, tnp_csift, tnp_lbp, tnp_gist;

/* How pictures are described: options that were checked. */
typedef struct tnp_describer {
    const tnp_descriptor *kind;
    size_t step, side_count, sides[TNP_MOST_SIZES];
    bool contrast;
} tnp_describer;

extern const tnp_options_kind tnp_describe_kind;

tn_status tnp_describer_make(tn_ctx *ctx, const tnp_describe_options *options, tnp_describer *out);

/* Memory for one picture after the other, which grows to the largest. All zero before; tnp_described_free after. */
typedef struct tnp_described {
    tnp_patches patches;
    float *planes, *scratch, *descriptors, *positions;
    size_t plane_size, prepared_size, scratch_size, descriptor_size, position_size; /* floats there is memory for */
    size_t count; /* descriptors (count, dim) and positions (count, 3) of the picture */
} tnp_described;

/* Describes a picture in parallel. */
tn_status tnp_describe(tn_ctx *ctx, const tnp_describer *describer, const tn_picture *picture, tnp_described *out);
void tnp_described_free(tnp_described *described);

#endif
