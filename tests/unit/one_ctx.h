/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One context for all tests of a program; nothing may be left in it at the end. */
#ifndef ONE_CTX_H
#define ONE_CTX_H

#include "near.h"

static tn_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    return tn_ctx_new(&ctx) != TN_OK;
}

static int teardown(void **state)
{
    (void)state;
    size_t left = tnp_live_blocks(ctx);
    tn_ctx_free(ctx);
    return left != 0;
}

#endif
