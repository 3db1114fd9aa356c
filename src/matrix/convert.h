/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of files to numbers: n elements of a type, `step` bytes apart (any number, below zero too), aligned or not,
 * in either byte order. `swap` says that the bytes are in the other order than this machine's. No allocation, no
 * failure. */
#ifndef TNP_CONVERT_H
#define TNP_CONVERT_H

#include "tenon/matrix.h"

/* Rounded to nearest; a boolean is 1 when its byte is not 0. */
void tnp_to_float(tn_dtype type, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, float *out);
void tnp_to_double(tn_dtype type, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, double *out);
/* Integers and booleans only. Returns how many fit before the first that does not (uint64 of 2^63 and more):
 * n when all do. */
size_t tnp_to_int64(tn_dtype type, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, int64_t *out);

/* The nearest half, the even one of two, of a value below TNP_HALF_END in size, from where on it would be infinite; NaN
 * stays NaN. */
#define TNP_HALF_END 65520.0F
uint16_t tnp_half_of(float value);

/* float16, bfloat16, float32, float64. */
bool tnp_dtype_is_float(tn_dtype type);
/* True when the first byte of a number in memory is its highest. */
bool tnp_host_is_big_endian(void);

#endif
