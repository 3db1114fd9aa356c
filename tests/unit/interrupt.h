/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A progress callback that cancels its context at the n-th call. */
#ifndef TN_TESTS_INTERRUPT_H
#define TN_TESTS_INTERRUPT_H

#include "near.h"

typedef struct interrupt {
    tn_ctx *ctx;
    size_t calls, at;
} interrupt;

static inline void cancel_at(void *user, const char *stage, double share)
{
    interrupt *i = user;
    (void)stage;
    assert_true(share >= 0 && share <= 1);
    if (++i->calls == i->at)
        tn_ctx_cancel(i->ctx);
}

#endif
