/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first SIGINT or SIGTERM asks the work to stop, so that it can remove what it had begun to write; the second
 * finds the default action again. A closed pipe and a limit on the size of files are errors of a write, not signals; a
 * mapped file that shrinks is an error of a read. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <signal.h>
#include <string.h>

static tn_ctx *volatile watched;

static void on_signal(int number)
{
    (void)number;
    tn_ctx_cancel(watched);
}

void cli_watch_signals(tn_ctx *ctx)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    (void)tn_map_files(); /* without it rows are read another way */
    watched = ctx;
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
