/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmocka with what it lacks: comparisons of numbers that print the failing place, and a context a test. */
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

/* |got - want| <= tolerance * max(1, |want|); NaN never passes. */
#define assert_near(got, want, tolerance) check_near((got), (want), (tolerance), 0, __FILE__, __LINE__)
/* The same for element `place` of an array: the place is printed. */
#define assert_near_at(place, got, want, tolerance) check_near((got), (want), (tolerance), (place), __FILE__, __LINE__)
/* A call that must succeed; prints the context's message when it does not. */
#define assert_fine(ctx, call) check_status((ctx), (call), TN_OK, "", __FILE__, __LINE__)
/* A call that must fail with `status` and a message that contains `part`. */
#define assert_fails(ctx, status, part, call) check_status((ctx), (call), (status), (part), __FILE__, __LINE__)

static inline void check_near(double got, double want, double tolerance, size_t place, const char *file, int line)
{
    double bound = tolerance * fmax(1.0, fabs(want));
    if (getenv(
            "TN_VALGRIND")) /* its long double has 53 bits, too few for many oracles: there only memory is looked at */
        return;
    if (!(fabs(got - want) <= bound) && !(got == want)) {
        print_error("place %zu: got %.17g, want %.17g, difference %.3g > %.3g\n", place, got, want, fabs(got - want),
                    bound);
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
