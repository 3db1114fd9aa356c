/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A context a test as its state; nothing may be left in it. */
#ifndef CTX_STATE_H
#define CTX_STATE_H

#include "near.h"

static inline int make(void **state)
{
    tn_ctx *ctx = NULL;
    assert_int_equal(tn_ctx_new(&ctx), TN_OK);
    *state = ctx;
    return 0;
}

static inline int drop(void **state)
{
    assert_int_equal(tnp_live_blocks(*state), 0);
    tn_ctx_free(*state);
    return 0;
}

#endif
