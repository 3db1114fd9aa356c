/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress bar: one line on standard error with what is being done, how much of the whole is, and about how long
 * the rest takes. Redrawn at most ten times a second, never backwards, and gone before anything else is printed. Only
 * for a terminal, or when asked for. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <time.h>
#include <unistd.h>

enum { BAR = 30 };
static const double REDRAW = 0.1, /* seconds */
    PATIENCE = 2,                 /* seconds before an estimate of the rest is worth reading */
    WEIGHT = 0.1;                 /* of the newest estimate in the one that is shown */

static struct {
    bool wanted, drawn;
    double begin, last; /* seconds: of the start, of the last redraw */
    double share;       /* the largest told */
    double left;        /* seconds that the rest will take, smoothed; 0: no estimate yet */
    const char *what;   /* is counted, or NULL */
    double count;       /* of them in all */
} bar;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The rest takes as long for its share as what is done took for its own. Shares are rough: the estimate of the last
 * redraw, less the time since, keeps its weight. */
static void estimate_left(double now)
{
    double newest = bar.share > 0 ? (now - bar.begin) * (1 - bar.share) / bar.share : 0;
    double kept = bar.left - (now - bar.last);
    bar.left = bar.left > 0 && kept > 0 ? kept + WEIGHT * (newest - kept) : newest;
}

/* In steps that a reader can follow: seconds below ten, then fives, then minutes, then hours. */
static void print_left(double left)
{
    if (left < 10)
        fprintf(stderr, ", about %.0f s left", left < 1 ? 1 : left);
    else if (left < 90)
        fprintf(stderr, ", about %d s left", 5 * (int)(left / 5 + 0.5));
    else if (left < 5400)
        fprintf(stderr, ", about %.0f min left", left / 60);
    else
        fprintf(stderr, ", about %.1f h left", left / 3600);
}

/* So many of them, all of the work together. */
void cli_progress_count(const char *what, size_t count)
{
    bar.what = what;
    bar.count = (double)count;
    bar.share = bar.left = 0;
    bar.begin = bar.last = seconds();
}

static void print_rate(double now)
{
    double rate = bar.share * bar.count / (now - bar.begin);
    fprintf(stderr, ", %.*f %s/s", rate < 10 ? 1 : 0, rate, bar.what);
}

void cli_progress_show(const char *stage, double share)
{
    double now = seconds();
    bar.share = share > bar.share ? share : bar.share;
    if (!bar.wanted || (bar.drawn && now - bar.last < REDRAW))
        return;
    estimate_left(now);
    int filled = (int)(bar.share * BAR);
    fputs("\r\033[K", stderr);
    cli_say(stderr, "%-18.40s", stage);
    fputs(" [", stderr);
    for (int i = 0; i < BAR; ++i)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", 100 * bar.share);
    if (bar.what && bar.share > 0 && now - bar.begin > PATIENCE)
        print_rate(now);
    if (now - bar.begin > PATIENCE && bar.left > 0 && bar.share < 1)
        print_left(bar.left);
    fflush(stderr);
    bar.drawn = true;
    bar.last = now;
}

static void told(void *user, const char *stage, double share)
{
    (void)user;
    cli_progress_show(stage, share);
}

void cli_progress_start(tn_ctx *ctx, const cli_options *options)
{
    bar.wanted = (options->progress || isatty(STDERR_FILENO)) && !options->quiet;
    bar.begin = bar.last = seconds();
    if (bar.wanted)
        tn_ctx_set_progress(ctx, told, NULL);
}

void cli_progress_clear(void)
{
    if (bar.drawn)
        fputs("\r\033[K", stderr);
    bar.drawn = false;
}
