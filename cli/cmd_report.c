/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon report: results that were kept as JSON, and heads, as one page. */
#define _XOPEN_SOURCE 700
#include "info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000000 }; /* bytes of a result: what the library parses at most */

/* A whole text; the caller's, free with free. */
static int read_text(const cli_app *app, const char *path, char **out)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return cli_fail(app, EXIT_INPUT, "%s: %s", path, strerror(errno));
    size_t used = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    while (text) {
        used += fread(text + used, 1, capacity - used - 1, file);
        if (used + 1 < capacity || capacity > MOST)
            break;
        char *larger = realloc(text, capacity *= 2);
        if (!larger)
            free(text);
        text = larger;
    }
    int failed = ferror(file);
    fclose(file);
    if (!text)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused room for %s", path);
    text[used] = 0;
    *out = text;
    if (failed)
        return cli_fail(app, EXIT_INPUT, "%s: could not be read", path);
    if (strlen(text) != used || used > MOST)
        return cli_fail(app, EXIT_DATA, "%s: got bytes that are no text, expected what tenon prints with --json", path);
    return EXIT_FINE;
}

/* A head, as tenon info tells it. */
static int describe_head(cli_app *app, const char *path, char **out)
{
    size_t size = 0;
    FILE *stream = open_memstream(out, &size);
    if (!stream)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    bool json = app->options.json;
    app->options.json = true;
    fputs("{\"command\":\"head\",\"provenance\":", stream);
    int code = info_head(app, stream, path);
    fputs("}", stream);
    app->options.json = json;
    return fclose(stream) != 0 && code == 0 ? cli_fail(app, EXIT_FAILED, "memory: the system refused to give any")
                                            : code;
}

static int add_result(cli_app *app, tn_page *page, const char *path)
{
    int code = EXIT_FINE;
    char *text = NULL;
    CLI_TRY(cli_calls_itself(path, "tenon-head") ? describe_head(app, path, &text) : read_text(app, path, &text));
    CLI_TRY(cli_check(app, tn_page_add(app->ctx, page, path, text)));
done:
    free(text);
    return code;
}

int cmd_report(cli_app *app)
{
    int code = EXIT_FINE;
    tn_page *page = NULL;
    const char *output = app->options.output;
    CLI_TRY(cli_need_output(app));
    CLI_TRY(cli_check(app, tn_page_new(app->ctx, &page)));
    for (size_t i = 0; i < app->arg_count; ++i)
        CLI_TRY(add_result(app, page, app->args[i]));
    CLI_TRY(cli_page_write(app, page, output));
    if (app->options.json) {
        fputs("{\"command\":\"report\",\"results\":", stdout);
        printf("%zu,\"page\":", app->arg_count);
        cli_json_string(stdout, output);
        cli_json_end(app, stdout);
    } else if (!cli_says_nothing(app)) {
        cli_say(stdout, "%s: a page of %zu result%s\n", output, app->arg_count, app->arg_count == 1 ? "" : "s");
    }
done:
    tn_page_free(page);
    return code;
}
