/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress bar: one line on standard error, redrawn at most ten times a second and gone before anything else
 * is printed. Only for a terminal, or when asked for. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

static struct {
    bool drawn;
    double last; /* seconds of the last redraw */
} bar;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void draw(void *user, const char *stage, size_t done, size_t total)
{
    (void)user;
    double now = seconds();
    if (bar.drawn && now - bar.last < 0.1)
        return;
    double share = total ? (double)done / (double)total : 0;
    share = share > 1 ? 1 : share;
    int filled = (int)(share * BAR);
    fputs("\r\033[K", stderr);
    cli_say(stderr, "%-24.48s", stage);
    fputs(" [", stderr);
    for (int i = 0; i < BAR; ++i)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", 100 * share);
    fflush(stderr);
    bar.drawn = true;
    bar.last = now;
}

void cli_progress_start(tn_ctx *ctx, const cli_options *options)
{
    bool wanted = options->progress || isatty(STDERR_FILENO);
    if (wanted && !options->quiet)
        tn_ctx_set_progress(ctx, draw, NULL);
}

void cli_progress_clear(void)
{
    if (bar.drawn)
        fputs("\r\033[K", stderr);
    bar.drawn = false;
}
