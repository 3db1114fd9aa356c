/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of a file of kernels, from its functions of these names; what differs is its title and who multiplies
 * pairs. */
#ifndef TNP_SIMD_TABLE_H
#define TNP_SIMD_TABLE_H

#include "simd/simd.h"

#define TNP_SIMD_TABLE(title, pairs)                                                                                   \
    {                                                                                                                  \
        .name = title, .pair_products = pairs, .half_to_float = half_to_float, .sum_squares = sum_squares,             \
        .sum_abs = sum_abs, .add_to_double = add_to_double, .shift_scale = shift_scale, .scale = scale,                \
        .scale_root = scale_root, .roots = roots, .dot = dot, .weighted_squares = weighted_squares,                    \
        .add_scaled = add_scaled, .confident_move = confident_move, .all_within = all_within, .softmax = softmax,      \
        .softmax_slope = softmax_slope, .softmax_line = softmax_line, .softmax_curve = softmax_curve,                  \
        .softmax_curve_sums = softmax_curve_sums, .probe_row = probe_row, .softmax_moments = softmax_moments,          \
        .tri_solve = tri_solve, .tri_solve_known = tri_solve_known, .nearest = nearest, .map_entries = map_entries,    \
        .outer_add = outer_add, .tile_products = tile_products, .centred_products = centred_products,                  \
        .greedy_gains = greedy_gains, .descend = descend, .largest_size = largest_size, .round_steps = round_steps,    \
        .highest_floor = highest_floor, .may_reach = may_reach, .add_listed = add_listed, .patches = &patch_loops,     \
        .mixtures = &mixture_loops, .bands = &band_loops, .products = &product_loops, .visits = visits,                \
    }

#endif
