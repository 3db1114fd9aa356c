/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conversion of file elements in two steps: up to CHUNK elements are staged (gathered, aligned, put in this
 * machine's byte order) and then converted by one plain loop a type. A contiguous aligned run in native order
 * skips the staging, so that the common case is one pass over the bytes.
 * One loop for every combination of type, order and stride was refused: 13 x 2 x 2 x 2 of them.
 * int64 and uint64 go to float directly, since rounding by way of double rounds twice. */
#include "matrix/convert.h"

#include "base/base.h"
#include "simd/simd.h"

#include <string.h>

enum { CHUNK = 512 };

typedef union staging {
    uint8_t u8[CHUNK];
    uint16_t u16[CHUNK];
    uint32_t u32[CHUNK];
    uint64_t u64[CHUNK];
} staging;

size_t tn_dtype_size(tn_dtype type)
{
    static const unsigned char sizes[] = {
        [TN_F16] = 2, [TN_BF16] = 2, [TN_F32] = 4, [TN_F64] = 8, [TN_I8] = 1,  [TN_U8] = 1,  [TN_I16] = 2,
        [TN_U16] = 2, [TN_I32] = 4,  [TN_U32] = 4, [TN_I64] = 8, [TN_U64] = 8, [TN_BOOL] = 1};
    return (size_t)type < sizeof sizes ? sizes[type] : 0;
}

const char *tn_dtype_name(tn_dtype type)
{
    static const char *const names[] = {
        [TN_F16] = "float16", [TN_BF16] = "bfloat16", [TN_F32] = "float32", [TN_F64] = "float64", [TN_I8] = "int8",
        [TN_U8] = "uint8",    [TN_I16] = "int16",     [TN_U16] = "uint16",  [TN_I32] = "int32",   [TN_U32] = "uint32",
        [TN_I64] = "int64",   [TN_U64] = "uint64",    [TN_BOOL] = "bool"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

bool tnp_dtype_is_float(tn_dtype type)
{
    return type == TN_F16 || type == TN_BF16 || type == TN_F32 || type == TN_F64;
}

bool tnp_host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static uint16_t turn16(uint16_t x)
{
    return (uint16_t)(x >> 8 | x << 8);
}

static uint32_t turn32(uint32_t x)
{
    return (uint32_t)turn16((uint16_t)x) << 16 | turn16((uint16_t)(x >> 16));
}

static uint64_t turn64(uint64_t x)
{
    return (uint64_t)turn32((uint32_t)x) << 32 | turn32((uint32_t)(x >> 32));
}

static const unsigned char *at(const unsigned char *in, ptrdiff_t step, size_t i)
{
    return in + (ptrdiff_t)i * step;
}

/* n <= CHUNK elements as an aligned array in native order: `in` itself when it is one, else a copy in `to`. */
static const void *stage(size_t size, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, staging *to)
{
    if (step == (ptrdiff_t)size && (!swap || size == 1) && (uintptr_t)in % size == 0)
        return in;
    switch (size) {
    case 1:
        for (size_t i = 0; i < n; ++i)
            to->u8[i] = *at(in, step, i);
        break;
    case 2:
        for (size_t i = 0; i < n; ++i) {
            memcpy(&to->u16[i], at(in, step, i), 2);
            to->u16[i] = swap ? turn16(to->u16[i]) : to->u16[i];
        }
        break;
    case 4:
        for (size_t i = 0; i < n; ++i) {
            memcpy(&to->u32[i], at(in, step, i), 4);
            to->u32[i] = swap ? turn32(to->u32[i]) : to->u32[i];
        }
        break;
    default:
        for (size_t i = 0; i < n; ++i) {
            memcpy(&to->u64[i], at(in, step, i), 8);
            to->u64[i] = swap ? turn64(to->u64[i]) : to->u64[i];
        }
        break;
    }
    return to;
}

/* bfloat16 is the upper half of a float32. */
static void brain_to_float(const uint16_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; ++i) {
        uint32_t bits = (uint32_t)in[i] << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static void small_to_float(tn_dtype type, const void *in, size_t n, float *out)
{
    switch (type) {
    case TN_I8:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const int8_t *)in)[i];
        break;
    case TN_U8:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const uint8_t *)in)[i];
        break;
    case TN_I16:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const int16_t *)in)[i];
        break;
    case TN_U16:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const uint16_t *)in)[i];
        break;
    default:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const uint8_t *)in)[i] != 0;
        break;
    }
}

static void stage_to_float(tn_dtype type, const void *in, size_t n, float *out)
{
    switch (type) {
    case TN_F16:
        tnp_simd_get()->half_to_float(in, out, n);
        break;
    case TN_BF16:
        brain_to_float(in, n, out);
        break;
    case TN_F32:
        memcpy(out, in, n * sizeof *out);
        break;
    case TN_F64:
        for (size_t i = 0; i < n; ++i)
            out[i] = (float)((const double *)in)[i];
        break;
    case TN_I32:
        for (size_t i = 0; i < n; ++i)
            out[i] = (float)((const int32_t *)in)[i];
        break;
    case TN_U32:
        for (size_t i = 0; i < n; ++i)
            out[i] = (float)((const uint32_t *)in)[i];
        break;
    case TN_I64:
        for (size_t i = 0; i < n; ++i)
            out[i] = (float)((const int64_t *)in)[i];
        break;
    case TN_U64:
        for (size_t i = 0; i < n; ++i)
            out[i] = (float)((const uint64_t *)in)[i];
        break;
    default:
        small_to_float(type, in, n, out);
        break;
    }
}

static void stage_to_double(tn_dtype type, const void *in, size_t n, double *out)
{
    float narrow[CHUNK];
    switch (type) {
    case TN_F64:
        memcpy(out, in, n * sizeof *out);
        break;
    case TN_I32:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const int32_t *)in)[i];
        break;
    case TN_U32:
        for (size_t i = 0; i < n; ++i)
            out[i] = ((const uint32_t *)in)[i];
        break;
    case TN_I64:
        for (size_t i = 0; i < n; ++i)
            out[i] = (double)((const int64_t *)in)[i];
        break;
    case TN_U64:
        for (size_t i = 0; i < n; ++i)
            out[i] = (double)((const uint64_t *)in)[i];
        break;
    default: /* every other type fits a float exactly */
        stage_to_float(type, in, n, narrow);
        for (size_t i = 0; i < n; ++i)
            out[i] = narrow[i];
        break;
    }
}

void tnp_to_float(tn_dtype type, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, float *out)
{
    staging to;
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = tnp_min(CHUNK, n - i);
        stage_to_float(type, stage(tn_dtype_size(type), swap, at(in, step, i), step, count, &to), count, out + i);
    }
}

void tnp_to_double(tn_dtype type, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, double *out)
{
    staging to;
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = tnp_min(CHUNK, n - i);
        stage_to_double(type, stage(tn_dtype_size(type), swap, at(in, step, i), step, count, &to), count, out + i);
    }
}

/* One staged integer; false when it does not fit. */
static bool one_to_int64(tn_dtype type, const void *in, size_t i, int64_t *out)
{
    switch (type) {
    case TN_I8:
        *out = ((const int8_t *)in)[i];
        return true;
    case TN_U8:
        *out = ((const uint8_t *)in)[i];
        return true;
    case TN_I16:
        *out = ((const int16_t *)in)[i];
        return true;
    case TN_U16:
        *out = ((const uint16_t *)in)[i];
        return true;
    case TN_I32:
        *out = ((const int32_t *)in)[i];
        return true;
    case TN_U32:
        *out = ((const uint32_t *)in)[i];
        return true;
    case TN_I64:
        *out = ((const int64_t *)in)[i];
        return true;
    case TN_U64:
        *out = (int64_t)((const uint64_t *)in)[i];
        return *out >= 0;
    default:
        *out = ((const uint8_t *)in)[i] != 0;
        return true;
    }
}

size_t tnp_to_int64(tn_dtype type, bool swap, const unsigned char *in, ptrdiff_t step, size_t n, int64_t *out)
{
    staging to;
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = tnp_min(CHUNK, n - i);
        const void *staged = stage(tn_dtype_size(type), swap, at(in, step, i), step, count, &to);
        for (size_t j = 0; j < count; ++j)
            if (!one_to_int64(type, staged, j, &out[i + j]))
                return i + j;
    }
    return n;
}

/* Below 2^-14 halves are 2^-24 apart, above it they have 10 bits behind the first. */
uint16_t tnp_half_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu, from = size >> 23;
    if (size >= 0x7f800000u)
        return (uint16_t)(sign | 0x7c00u | (size > 0x7f800000u ? 0x200u : 0));
    if (from < 102) /* less than half of the smallest */
        return (uint16_t)sign;
    uint32_t drop = from < 113 ? 126 - from : 13; /* bits that go */
    uint32_t kept = from < 113 ? (size & 0x7fffffu) | 0x800000u : size - (112u << 23);
    uint32_t half = kept >> drop, rest = kept & ((1u << drop) - 1), middle = 1u << (drop - 1);
    return (uint16_t)(sign | (half + (rest > middle || (rest == middle && (half & 1u)))));
}
