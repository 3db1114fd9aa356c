/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one way to make a context in a test, and to end it: nothing may be left in it. */
#ifndef TN_TESTS_CTX_OF_H
#define TN_TESTS_CTX_OF_H

#include "near.h"

/* threads 0: as many as a context has by itself. */
static inline tn_ctx *ctx_of(size_t threads)
{
    tn_ctx *ctx = NULL;
    assert_int_equal(tn_ctx_new(&ctx), TN_OK);
    if (threads != 0)
        tn_ctx_set_threads(ctx, threads);
    return ctx;
}

static inline void ctx_done(tn_ctx *ctx)
{
    assert_int_equal(tnp_live_blocks(ctx), 0);
    tn_ctx_free(ctx);
}

/* Setup and teardown of cmocka: the context is the test's state. */
static inline int ctx_setup(void **state)
{
    *state = ctx_of(0);
    return 0;
}

static inline int ctx_teardown(void **state)
{
    ctx_done(*state);
    return 0;
}

#endif
