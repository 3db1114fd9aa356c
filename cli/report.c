/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --report FILE.html: the page of a result, which then, as its JSON, also tells where it comes from: the command line,
 * every file that it names with its size and SHA-256, options, seed, version and machine. Files above HASHED are named
 * without a hash: reading them again could take longer than the work. */
#define _XOPEN_SOURCE 700
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const long long hashed = 1LL << 30;

typedef struct listing {
    const cli_app *app;
    FILE *out;
    size_t count;
} listing;

/* As cli_input_fn. */
static void add_file(void *user, const char *option, const char *word)
{
    listing *list = user;
    char path[PATH_MAX], hash[65];
    struct stat info;
    (void)option;
    if (stat(tn_rep_file(word, path, sizeof path), &info) != 0)
        return;
    fputs(list->count++ ? ",{\"path\":" : "{\"path\":", list->out);
    cli_json_string(list->out, path);
    if (S_ISREG(info.st_mode)) {
        fprintf(list->out, ",\"bytes\":%lld", (long long)info.st_size);
        if (info.st_size <= hashed && tn_file_sha256(list->app->ctx, path, hash) == TN_OK)
            fprintf(list->out, ",\"sha256\":\"%s\"", hash);
    }
    fputc('}', list->out);
}

static void add_options(const cli_app *app, FILE *out)
{
    fputs(",\"options\":{", out);
    for (size_t i = 0, shown = 0; app->library && i < tn_options_count(app->library); ++i) {
        const tn_field *field = tn_options_field(app->library, i);
        const char *value = tn_options_text(app->library, field->name);
        if (!value || !*value)
            continue;
        fputs(shown++ ? "," : "", out);
        cli_json_string(out, field->name);
        fputc(':', out);
        cli_json_string(out, value);
    }
    fputc('}', out);
}

void cli_json_provenance(const cli_app *app, FILE *out)
{
    tn_machine machine;
    listing list = {app, out, 0};
    if (app->rank > 0) /* inputs are hashed once */
        return;
    tn_machine_look(&machine);
    fputs(",\"provenance\":{\"command_line\":", out);
    cli_json_string(out, app->line);
    fputs(",\"version\":", out);
    cli_json_string(out, tn_version());
    fprintf(out, ",\"seed\":%zu,\"machine\":", app->options.seed);
    cli_json_string(out, machine.cpu);
    fprintf(out, ",\"cores\":%zu,\"kernels\":", machine.cores);
    cli_json_string(out, machine.simd);
    fputs(",\"files\":[", out);
    cli_each_input(app, add_file, &list);
    fputc(']', out);
    add_options(app, out);
    fputc('}', out);
}

/* The result with where it comes from and the warnings, as a text of ours. */
static int complete(cli_app *app, const char *json, char **out)
{
    size_t size = 0;
    FILE *stream = open_memstream(out, &size);
    if (!stream)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    fwrite(json, 1, strlen(json) - 1, stream); /* all but the brace that ends the object */
    cli_json_end(app, stream);
    bool failed = ferror(stream) != 0;
    return fclose(stream) != 0 || failed ? cli_fail(app, EXIT_FAILED, "memory: the system refused to give any")
                                         : EXIT_FINE;
}

int cli_page_write(cli_app *app, tn_page *page, const char *path)
{
    int code = EXIT_FINE;
    tn_pictures *own = NULL;
    char *html = NULL;
    const tn_words *images = &app->options.images;
    if (images->count != 0)
        CLI_TRY(cli_check(app, tn_pictures_open(app->ctx, images->items, images->count, &own)));
    if (own || app->pictures)
        tn_page_set_pictures(page, own ? own : app->pictures);
    CLI_TRY(cli_check(app, tn_page_html(app->ctx, page, &html)));
    CLI_TRY(cli_check(app, tn_text_write(app->ctx, html, path)));
done:
    tn_text_free(html);
    tn_pictures_free(own);
    return code;
}

int cli_report(cli_app *app, tn_status made, char **json, char **more)
{
    int code = EXIT_FINE;
    tn_page *page = NULL;
    char *whole = NULL;
    CLI_TRY(cli_check(app, made));
    if (app->rank > 0) /* the first one writes it */
        goto done;
    CLI_TRY(complete(app, *json, &whole));
    CLI_TRY(cli_check(app, tn_page_new(app->ctx, &page)));
    CLI_TRY(cli_check(app, tn_page_add(app->ctx, page, app->command->name, whole)));
    if (more && *more)
        CLI_TRY(cli_check(app, tn_page_add(app->ctx, page, "what was learned", *more)));
    CLI_TRY(cli_page_write(app, page, app->options.report));
done:
    free(whole);
    tn_page_free(page);
    tn_text_free(*json);
    *json = NULL;
    return code;
}
