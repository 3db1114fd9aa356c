/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies out of mapped files that may shrink. Touching a page that is gone raises SIGBUS; a thread that copies says
 * from where, and the handler, if the fault lies there, jumps back to it. Every other SIGBUS goes to whoever handled it
 * before. The mask of signals is restored by the handler, not by sigsetjmp, which would ask the system every time: so
 * the guard costs a few nanoseconds. */
#define _GNU_SOURCE
#include "base/base.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

typedef struct guard {
    sigjmp_buf back;
    const unsigned char *from, *to; /* the bytes that this thread is copying; NULL: none */
} guard;

static _Thread_local guard mine;
static atomic_int installed;
static struct sigaction before;

static void on_fault(int number, siginfo_t *info, void *context)
{
    const unsigned char *at = info->si_addr;
    if (mine.from && at >= mine.from && at < mine.to) {
        mine.from = NULL;
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(mine.back, 1);
    }
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(number, &before, NULL); /* the same fault comes again and finds the old action */
}

bool tn_map_files(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    if (!atomic_load(&installed) && sigaction(SIGBUS, &action, &before) == 0)
        atomic_store(&installed, 1);
    return tnp_guard_works();
}

bool tnp_guard_works(void)
{
    return atomic_load(&installed) != 0;
}

bool tnp_guarded_copy(void *out, const unsigned char *in, size_t size)
{
    mine.to = in + size;
    if (sigsetjmp(mine.back, 0) != 0)
        return false;
    mine.from = in;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(out, in, size);
    atomic_signal_fence(memory_order_seq_cst);
    mine.from = NULL;
    return true;
}
