/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the shell sees of a failure: an exit status and one line. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* The one map from library statuses to exit statuses. */
static int exit_of(tn_status status)
{
    switch (status) {
    case TN_OK:
        return EXIT_FINE;
    case TN_ERR_ARG:
        return EXIT_USAGE;
    case TN_ERR_SHAPE:
    case TN_ERR_FORMAT:
    case TN_ERR_NUMERIC:
    case TN_ERR_UNSUPPORTED:
    case TN_ERR_DATA:
        return EXIT_DATA;
    case TN_ERR_IO:
        return EXIT_INPUT;
    case TN_ERR_OUTPUT:
        return EXIT_OUTPUT;
    case TN_ERR_BUDGET:
        return EXIT_BUDGET;
    case TN_ERR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case TN_ERR_MEMORY:
        return EXIT_FAILED;
    }
    return EXIT_FAILED;
}

void cli_print_error(const cli_app *app, const char *kind, const char *text)
{
    if (app->joined && !*kind && !*app->failure)
        snprintf(app->failure, CLI_LINE, "%s", text);
    if (app->rank > 0 || (app->joined && !*kind))
        return;
    cli_progress_clear();
    fprintf(stderr, "tenon%s%s: %s", app->command ? " " : "", app->command ? app->command->name : "", kind);
    cli_plain(stderr, text);
    fputc('\n', stderr);
}

int cli_fail(const cli_app *app, int code, const char *format, ...)
{
    char text[CLI_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_add_dashes(text);
    cli_print_error(app, "", text);
    return code;
}

int cli_check(const cli_app *app, tn_status status)
{
    if (status == TN_OK)
        return EXIT_FINE;
    const char *message = tn_ctx_message(app->ctx);
    return cli_fail(app, exit_of(status), "%s", *message ? message : tn_status_name(status));
}

/* The write that failed may lie far back, and its errno with it: the pipe itself is asked. */
static bool reader_is_gone(void)
{
    struct pollfd ask = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&ask, 1, 0) == 1 && (ask.revents & POLLERR) != 0;
}

int cli_finish_output(const cli_app *app)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_FINE;
    int why = errno ? errno : EIO;
    if (why == EPIPE || reader_is_gone())
        return EXIT_OUTPUT;
    return cli_fail(app, EXIT_OUTPUT, "standard output: cannot be written: %s", strerror(why));
}
