/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several of this program, started by mpirun. Commands that share their rows run on all of them; others run on rank 0,
 * and the rest end at once. Only rank 0 prints: results of the others go nowhere, and an error is kept until all have
 * heard of it, so that it is told once, with the rank and the machine that it happened on. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <unistd.h>

int cli_team_begin(cli_app *app)
{
    size_t size;
    if (!tn_team_started(&app->rank, &size))
        return EXIT_FINE;
    if (app->rank > 0 && !freopen("/dev/null", "w", stdout))
        return EXIT_OUTPUT;
    app->idle = !app->command->team && app->rank > 0;
    if (!app->command->team)
        return EXIT_FINE;
    int code = cli_check(app, tn_team_join(app->ctx));
    app->joined = code == 0;
    if (code == 0)
        app->rank = tn_team_rank(app->ctx);
    return code;
}

int cli_team_end(cli_app *app, int code)
{
    if (!app->joined)
        return code;
    code = tn_team_leave(app->ctx, code, app->failure);
    app->joined = false;
    const char *why = tn_ctx_message(app->ctx);
    if (code != 0 && *why)
        cli_print_error(app, "", why);
    return code;
}

size_t cli_team_threads(const cli_app *app, size_t cores)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t here = tn_team_here(app->ctx);
    if (here < 2 || online < 1 || cores < (size_t)online)
        return cores;
    return cores > here ? cores / here : 1;
}
