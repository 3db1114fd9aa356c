/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conversion of elements: every type, both byte orders, strides and misalignments, against bytes made by the
 * test from known whole numbers; every half-precision pattern against its arithmetic definition. */
#include "fixtures/files.h"
#include "matrix/convert.h"

enum { TYPES = TN_BOOL + 1 };

/* Whole numbers that the type holds. */
static int number(tn_dtype type, size_t i)
{
    if (type == TN_BOOL)
        return (int)(i % 2);
    bool without_sign = type == TN_U8 || type == TN_U16 || type == TN_U32 || type == TN_U64;
    return (int)(i * 37 % 127) - (without_sign ? 0 : 60);
}

static void every_type_order_stride_and_alignment(void **state)
{
    (void)state;
    float narrow[700];
    double wide[700];
    int64_t whole[700];
    for (int t = 0; t < TYPES; ++t)
        for (size_t variant = 0; variant < 2 * 3 * 3; ++variant) {
            tn_dtype type = (tn_dtype)t;
            size_t n = variant % 3 == 0   ? 1
                       : variant % 3 == 1 ? 511
                                          : 521,
                   gap = variant / 3 % 3, size = tn_dtype_size(type);
            bool big = variant / 9 != 0;
            static bytes b;
            b.n = 0;
            put_text(&b, "x"); /* everything after it is misaligned */
            for (size_t i = 0; i < n && b.n + 16 < sizeof b.data; ++i) {
                put_element(&b, type, number(type, i), big);
                put_text(&b, gap == 0 ? "" : gap == 1 ? "y" : "yyyyyyy");
            }
            ptrdiff_t step = (ptrdiff_t)(size + (gap == 0 ? 0 : gap == 1 ? 1 : 7));
            n = (b.n - 1) / (size_t)step;
            bool swap = big != tnp_host_is_big_endian();
            tnp_to_float(type, swap, b.data + 1, step, n, narrow);
            tnp_to_double(type, swap, b.data + 1, step, n, wide);
            for (size_t i = 0; i < n; ++i) {
                assert_near_at(i, narrow[i], number(type, i), 0);
                assert_near_at(i, wide[i], number(type, i), 0);
            }
            if (!tnp_dtype_is_float(type)) {
                assert_int_equal(tnp_to_int64(type, swap, b.data + 1, step, n, whole), n);
                for (size_t i = 0; i < n; ++i)
                    assert_int_equal(whole[i], number(type, i));
            }
            /* The same from the last to the first. */
            tnp_to_double(type, swap, b.data + 1 + (ptrdiff_t)(n - 1) * step, -step, n, wide);
            for (size_t i = 0; i < n; ++i)
                assert_near_at(i, wide[i], number(type, n - 1 - i), 0);
        }
}

static void aligned_runs_equal_misaligned_ones(void **state)
{
    (void)state;
    union {
        double align;
        unsigned char data[8 * 600 + 8];
    } a, b;
    double one[600], other[600];
    for (size_t i = 0; i < sizeof a.data; ++i)
        a.data[i] = (unsigned char)(i * 89 + i / 7);
    memcpy(b.data + 1, a.data, 8 * 600);
    for (int t = 0; t < TYPES; ++t) {
        tn_dtype type = (tn_dtype)t;
        ptrdiff_t size = (ptrdiff_t)tn_dtype_size(type);
        tnp_to_double(type, false, a.data, size, 600, one);
        tnp_to_double(type, false, b.data + 1, size, 600, other);
        assert_memory_equal(one, other, sizeof one);
    }
}

/* (-1)^s 2^(e-15) (1 + m/1024); e = 0: (-1)^s 2^-14 m/1024; e = 31: infinity or NaN. */
static double half_value(unsigned bits)
{
    int e = (int)(bits >> 10 & 31);
    double m = (bits & 1023) / 1024.0, sign = bits >> 15 ? -1 : 1;
    if (e == 31)
        return m == 0 ? sign * INFINITY : NAN;
    return sign * (e == 0 ? ldexp(m, -14) : ldexp(1 + m, e - 15));
}

static void all_half_patterns_in_both_orders(void **state)
{
    (void)state;
    static unsigned char in[2][2 * 65536];
    static float narrow[65536];
    static double wide[65536];
    for (unsigned i = 0; i < 65536; ++i) {
        in[0][2 * i] = in[1][2 * i + 1] = (unsigned char)(i & 255);
        in[0][2 * i + 1] = in[1][2 * i] = (unsigned char)(i >> 8);
    }
    for (int big = 0; big < 2; ++big) {
        bool swap = big != tnp_host_is_big_endian();
        tnp_to_float(TN_F16, swap, in[big], 2, 65536, narrow);
        tnp_to_double(TN_F16, swap, in[big], 2, 65536, wide);
        for (unsigned i = 0; i < 65536; ++i) {
            double want = half_value(i);
            if (isnan(want)) {
                assert_true(isnan(narrow[i]) && isnan(wide[i]));
                continue;
            }
            assert_true(narrow[i] == (float)want && wide[i] == want);
            assert_int_equal(signbit(narrow[i]) != 0, i >> 15);
        }
    }
}

static void all_brain_patterns_are_upper_halves(void **state)
{
    (void)state;
    static unsigned char in[2 * 65536];
    static float narrow[65536];
    for (unsigned i = 0; i < 65536; ++i) {
        in[2 * i] = (unsigned char)(i & 255);
        in[2 * i + 1] = (unsigned char)(i >> 8);
    }
    tnp_to_float(TN_BF16, tnp_host_is_big_endian(), in, 2, 65536, narrow);
    for (unsigned i = 0; i < 65536; ++i) {
        int e = (int)(i >> 7 & 255);
        double m = (i & 127) / 128.0, sign = i >> 15 ? -1 : 1;
        if (e == 255)
            assert_true(m == 0 ? narrow[i] == (float)(sign * INFINITY) : isnan(narrow[i]));
        else
            assert_true(narrow[i] == (float)(sign * (e == 0 ? ldexp(m, -126) : ldexp(1 + m, e - 127))));
    }
}

static void extremes_of_whole_numbers(void **state)
{
    skip_under_valgrind(); /* it converts 64-bit integers by way of double, which rounds twice */
    (void)state;
    bytes b = {.n = 0};
    double wide[4];
    float narrow[4];
    int64_t whole[4];
    put_int(&b, UINT64_C(1) << 63, 8, false);
    put_int(&b, UINT64_MAX, 8, false);
    put_int(&b, 5, 8, false);
    bool swap = tnp_host_is_big_endian();
    tnp_to_double(TN_U64, swap, b.data, 8, 3, wide);
    assert_true(wide[0] == 0x1p63 && wide[1] == 0x1p64 && wide[2] == 5);
    tnp_to_double(TN_I64, swap, b.data, 8, 3, wide);
    assert_true(wide[0] == -0x1p63 && wide[1] == -1 && wide[2] == 5);
    assert_int_equal(tnp_to_int64(TN_U64, swap, b.data + 16, 8, 1, whole), 1);
    assert_int_equal(tnp_to_int64(TN_U64, swap, b.data, 8, 3, whole), 0);
    assert_int_equal(tnp_to_int64(TN_I64, swap, b.data, 8, 3, whole), 3);
    assert_true(whole[0] == INT64_MIN && whole[1] == -1 && whole[2] == 5);
    /* 2^24 + 1 + 2^-29 relative: rounding by way of double would round down twice */
    b.n = 0;
    put_int(&b, (UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1, 8, false);
    tnp_to_float(TN_I64, swap, b.data, 8, 1, narrow);
    assert_true(narrow[0] == 0x1p60f + 0x1p37f);
}

static void names_and_sizes_of_types(void **state)
{
    (void)state;
    assert_string_equal(tn_dtype_name(TN_F16), "float16");
    assert_string_equal(tn_dtype_name(TN_BF16), "bfloat16");
    assert_string_equal(tn_dtype_name(TN_F64), "float64");
    assert_string_equal(tn_dtype_name(TN_U8), "uint8");
    assert_string_equal(tn_dtype_name(TN_I64), "int64");
    assert_string_equal(tn_dtype_name(TN_BOOL), "bool");
    assert_string_equal(tn_dtype_name((tn_dtype)99), "unknown");
    assert_int_equal(tn_dtype_size(TN_BF16), 2);
    assert_int_equal(tn_dtype_size(TN_U32), 4);
    assert_int_equal(tn_dtype_size(TN_U64), 8);
    assert_int_equal(tn_dtype_size(TN_BOOL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_order_stride_and_alignment),
        cmocka_unit_test(aligned_runs_equal_misaligned_ones),
        cmocka_unit_test(all_half_patterns_in_both_orders),
        cmocka_unit_test(all_brain_patterns_are_upper_halves),
        cmocka_unit_test(extremes_of_whole_numbers),
        cmocka_unit_test(names_and_sizes_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
