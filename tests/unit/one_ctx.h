/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One context for all tests of a program; nothing may be left in it at the end. */
#ifndef ONE_CTX_H
#define ONE_CTX_H

#include "ctx_of.h"

static tn_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    ctx = ctx_of(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(ctx);
    return 0;
}

#endif
