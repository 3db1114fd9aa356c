/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A kernel as a table of k(x, y) on [0, 1]^2, for looking at it and for comparing two. Each on its own scaled axis:
 * what is compared is the form of the kernel, not the units of the rows. Oracle: tests/unit/test_map_table.c. */
#include "transform/map.h"

#include <math.h>

static double centre(size_t i, size_t bins)
{
    return ((double)i + 0.5) / (double)bins;
}

tn_status tn_map_table(tn_ctx *ctx, const tn_map *map, size_t bins, double *out)
{
    tn_status st = TN_OK;
    const size_t width = tn_map_width(map);
    double *phi = NULL; /* (bins, width) of a learned map */
    if (map->kind == TNP_PHI_LEARNED)
        TN_TRY(tnp_alloc_raw(ctx, bins * width, sizeof *phi, &phi));
    for (size_t i = 0; phi && i < bins; ++i)
        tn_map_exact(map, centre(i, bins), phi + i * width);
    for (size_t i = 0; i < bins; ++i)
        for (size_t j = 0; j < bins; ++j) {
            double sum = phi ? 0 : tn_map_kernel(map, centre(i, bins), centre(j, bins));
            for (size_t k = 0; phi && k < width; ++k)
                sum += phi[i * width + k] * phi[j * width + k];
            out[i * bins + j] = sum;
        }
done:
    tnp_free(phi);
    return st;
}

tn_status tn_map_similarity(tn_ctx *ctx, const tn_map *a, const tn_map *b, double *out)
{
    tn_status st = TN_OK;
    const size_t values = (size_t)TN_MAP_BINS * TN_MAP_BINS;
    double *tables = NULL, ab = 0, aa = 0, bb = 0;
    TN_TRY(tnp_alloc_raw(ctx, 2 * values, sizeof *tables, &tables));
    TN_TRY(tn_map_table(ctx, a, TN_MAP_BINS, tables));
    TN_TRY(tn_map_table(ctx, b, TN_MAP_BINS, tables + values));
    for (size_t i = 0; i < values; ++i) {
        ab += tables[i] * tables[values + i];
        aa += tables[i] * tables[i];
        bb += tables[values + i] * tables[values + i];
    }
    *out = aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : (double)NAN;
done:
    tnp_free(tables);
    return st;
}
