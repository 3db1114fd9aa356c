/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a map, and rows through it. Functions here begin with tnp_map_: tnp_map_ are mapped files. */
#ifndef TNP_TRANSFORM_MAP_H
#define TNP_TRANSFORM_MAP_H

#include "base/base.h"
#include "simd/simd.h"
#include "tenon/transform.h"

#include <stdatomic.h>

enum {
    TNP_PHI_ORDER = 3,
    TNP_PHI_HOMOGENEOUS = 2 * TNP_PHI_ORDER + 1
}; /* frequencies and values of chi2 and its kin */

typedef enum tnp_map_kind {
    TNP_PHI_HELLINGER,
    TNP_PHI_CHI2,
    TNP_PHI_INTERSECTION,
    TNP_PHI_JS,
    TNP_PHI_LEARNED
} tnp_map_kind;

/* Frequency step and amplitudes of a homogeneous kernel's map, see map_homogeneous.c. */
typedef struct tnp_waves {
    double step, amplitude[TNP_PHI_ORDER + 1];
} tnp_waves;

struct tn_map {
    tnp_map_kind kind;
    tn_map_spec made_of; /* its pointers are owned */
    tnp_waves waves;
    _Atomic(const tnp_knots *) table; /* of tnp_map_ready; NULL: not made yet */
};

/* ---- rows ---- */

/* Makes the table, unless it is there: once before the first row. A map that is only looked at, or saved, needs none.
 * Safe to call concurrently with different contexts; the table is counted by the context that made it. TN_ERR_MEMORY,
 * TN_ERR_BUDGET. */
tn_status tnp_map_ready(tn_ctx *ctx, const tn_map *map);
/* phi of a whole row x (n), out (n * width). x is brought to the map's axis first; in single precision it may be
 * overwritten. */
void tnp_map_row(const tnp_simd *k, const tn_map *map, float *x, size_t n, float *out);
void tnp_map_row_wide(const tn_map *map, const double *x, size_t n, double *out);

/* ---- map_basis.c ---- */

/* f(x), TN_BASIS_SIZE values, and its second derivatives unless bent is NULL. */
void tnp_basis_values(tn_basis basis, double x, double *f, double *bent);
/* Cells of [0, 1] that keep linear interpolation within 1e-6 of the largest |phi|: a power of two, so that x * cells is
 * exact. */
uint32_t tnp_basis_cells(const tn_map_spec *spec);
/* phi(x), rank values, 0 <= x <= 1. */
void tnp_basis_phi(const tn_map_spec *spec, double x, double *out);

/* ---- map_homogeneous.c: kind is chi2, intersection or js ---- */

tnp_waves tnp_waves_of(tnp_map_kind kind);
/* phi(x), x >= 0, and k(x, y), x and y > 0. */
void tnp_waves_phi(const tnp_waves *waves, double x, double *out);
double tnp_homogeneous_kernel(tnp_map_kind kind, double x, double y);
/* Leading bits of the mantissa that name a cell: enough to keep linear interpolation within 1e-6 of the largest
 * amplitude. */
int tnp_waves_bits(const tnp_waves *waves);
/* Whether two maps, either of which may be NULL, do the same to every row. */
bool tnp_map_same(const tn_map *a, const tn_map *b);

#endif
