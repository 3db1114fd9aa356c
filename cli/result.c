/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results on standard output, and the warnings that belong to them. A warning is one line on standard error at once,
 * also with --quiet: it may be the reason not to use the result. It is kept for "warnings" at the end of the JSON
 * object, a key that is there only when something was to be told. What was said once is not said again.
 *
 * Names and metadata that came from files go to the terminal through cli_plain, cli_say and cli_print_error only; the
 * library's tables have shown theirs already. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool was_told(const cli_app *app, const char *text)
{
    for (size_t i = 0; i < app->warning_count; ++i)
        if (strcmp(app->warnings[i], text) == 0)
            return true;
    return false;
}

/* As tn_warning_fn. A warning that finds no memory to be kept is printed all the same. */
static void take_warning(void *user, const char *told)
{
    cli_app *app = user;
    char text[1400];
    snprintf(text, sizeof text, "%s", told);
    cli_add_dashes(text);
    if (was_told(app, text))
        return;
    cli_print_error(app, "warning: ", text);
    size_t n = strlen(text) + 1;
    char **list = realloc(app->warnings, (app->warning_count + 1) * sizeof *list), *copy = malloc(n);
    app->warnings = list ? list : app->warnings;
    if (list && copy)
        list[app->warning_count++] = memcpy(copy, text, n);
    else
        free(copy);
}

void cli_watch_warnings(cli_app *app)
{
    tn_ctx_set_warning(app->ctx, take_warning, app);
}

void cli_forget_warnings(cli_app *app)
{
    for (size_t i = 0; i < app->warning_count; ++i)
        free(app->warnings[i]);
    free(app->warnings);
    app->warnings = NULL;
    app->warning_count = 0;
}

void cli_json_end(const cli_app *app, FILE *out)
{
    for (size_t i = 0; i < app->warning_count; ++i) {
        fputs(i ? "," : ",\"warnings\":[", out);
        cli_json_string(out, app->warnings[i]);
    }
    fputs(app->warning_count ? "]" : "", out);
    if (app->options.report)
        cli_json_provenance(app, out);
    fputs("}\n", out);
}

bool cli_says_nothing(const cli_app *app)
{
    return app->options.quiet && app->options.output && !app->options.json;
}

void cli_print_result(const cli_app *app, char *text)
{
    cli_progress_clear();
    if (!app->options.json) {
        cli_add_dashes(text);
        if (!cli_says_nothing(app))
            fputs(text, stdout);
        return;
    }
    fwrite(text, 1, strlen(text) - 1, stdout); /* all but the brace that ends the object */
    cli_json_end(app, stdout);
}

void cli_plain(FILE *out, const char *text)
{
    char piece[12];
    for (size_t n; *text; text += n) {
        for (n = 0; text[n] >= ' ' && text[n] <= '~';) /* most of it, in one go */
            ++n;
        fwrite(text, 1, n, out);
        if (n == 0) {
            n = tn_plain_char(text, piece);
            fputs(piece, out);
        }
    }
}

void cli_say(FILE *out, const char *format, ...)
{
    va_list args, again;
    size_t length = strlen(format);
    bool ends = length != 0 && format[length - 1] == '\n';
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text) {
        vsnprintf(text, (size_t)size + 1, format, again);
        text[(size_t)size - ends] = 0;
        cli_plain(out, text);
        fputs(ends ? "\n" : "", out);
    } else {
        fputs("memory: the system refused room for a line\n", out);
    }
    free(text);
    va_end(again);
    va_end(args);
}
