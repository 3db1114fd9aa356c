/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options by name, for tests in which making and setting them must succeed. */
#ifndef TN_OPTIONS_BY_NAME_H
#define TN_OPTIONS_BY_NAME_H

#include "ctx_of.h"
#include "tenon/pipeline.h"

static inline tn_options *options_new(const char *call)
{
    tn_options *o = NULL;
    assert_fine(test_ctx, tn_options_new(test_ctx, call, &o));
    return o;
}

static inline void set(tn_options *o, const char *name, const char *text)
{
    assert_fine(test_ctx, tn_options_set(test_ctx, o, name, text));
}

#endif
