/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmocka with what it lacks: comparisons of numbers that print the failing place, and of what a call said. */
#ifndef TN_TESTS_NEAR_H
#define TN_TESTS_NEAR_H

/* clang-format off: cmocka.h needs these four before it, in this order */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* |got - want| <= tolerance * max(1, |want|), both finite: two equal infinities are no agreement unless asked for. */
#define assert_near(got, want, tolerance) check_near((got), (want), (tolerance), 0, __FILE__, __LINE__)
/* The same for element `place` of an array: the place is printed. */
#define assert_near_at(place, got, want, tolerance) check_near((got), (want), (tolerance), (place), __FILE__, __LINE__)
/* Both the same infinity, or both NaN. */
#define assert_not_finite(got, want) check_not_finite((got), (want), __FILE__, __LINE__)
/* A call that must succeed; prints the context's message when it does not. */
#define assert_fine(ctx, call) check_status((ctx), (call), TN_OK, "", __FILE__, __LINE__)
/* A call that must fail with `status` and a message that contains `part`. */
#define assert_fails(ctx, status, part, call) check_status((ctx), (call), (status), (part), __FILE__, __LINE__)

/* Under valgrind long double has 53 bits instead of 64. An oracle whose rounding stayed within a tolerance stays within
 * 2^11 times it there, so that is what comparisons with an oracle allow; what needs more bits than that skips by
 * skip_under_valgrind. */
static inline double oracle_tolerance(double tolerance)
{
    return getenv("TN_VALGRIND") ? ldexp(tolerance, 11) : tolerance;
}

/* The reason stands in tests/skips.txt. Before anything is allocated: nothing after it is run. */
static inline void skip_under_valgrind(void)
{
    if (getenv("TN_VALGRIND"))
        skip();
}

static inline bool is_near(double got, double want, double tolerance)
{
    return isfinite(got) && isfinite(want) && fabs(got - want) <= tolerance * fmax(1.0, fabs(want));
}

/* The same infinity, or NaN, in both. */
static inline bool is_not_finite(double got, double want)
{
    return !isfinite(want) && (isnan(want) ? isnan(got) : got == want);
}

static inline void check_near(double got, double want, double tolerance, size_t place, const char *file, int line)
{
    tolerance = oracle_tolerance(tolerance);
    if (!is_near(got, want, tolerance)) {
        print_error("place %zu: got %.17g, want %.17g, difference %.3g > %.3g\n", place, got, want, fabs(got - want),
                    tolerance * fmax(1.0, fabs(want)));
        _fail(file, line);
    }
}

static inline void check_not_finite(double got, double want, const char *file, int line)
{
    if (!is_not_finite(got, want)) {
        print_error("got %.17g, want %.17g, which is to be infinite or NaN\n", got, want);
        _fail(file, line);
    }
}

static inline void check_status(tn_ctx *ctx, tn_status got, tn_status want, const char *part, const char *file,
                                int line)
{
    const char *text = tn_ctx_message(ctx), *p = text;
    size_t n = 0;
    while (part[n])
        ++n;
    while (*p && n != 0 && strncmp(p, part, n) != 0)
        ++p;
    if (got != want || (want != TN_OK && n != 0 && *p == 0)) {
        print_error("got %s (%s), want %s containing \"%s\"\n", tn_status_name(got), text, tn_status_name(want), part);
        _fail(file, line);
    }
}

#endif
