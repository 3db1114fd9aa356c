/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The help, from the tables of commands.c and topics.c, as text, as Markdown (docs/cli.md) and as a manual page
 * (docs/tenon.1). Examples come first: most readers want the line to copy. Defaults are read from the default
 * options, so that they cannot differ from what the program does. */
#include "cli.h"

#include <string.h>

enum { WIDTH = 88, COLUMN = 26 };

/* ---- the three ways to write a piece ---- */

/* Words of `text` (length bytes), broken at WIDTH; the first line begins at column `at`, the others at `indent`. */
static void wrap(FILE *out, const char *text, size_t length, size_t at, size_t indent)
{
    size_t column = at;
    bool first = true;
    for (size_t i = 0; i < length;) {
        size_t n = 0;
        while (i + n < length && text[i + n] != ' ')
            ++n;
        if (!first && column + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)n, text + i);
        column += n + !first;
        first = false;
        i += n + (i + n < length);
    }
    fputc('\n', out);
}

/* Text for a manual page: backslashes and hyphens are letters, a dot at the beginning of a line too. */
static void roff(FILE *out, const char *text, size_t length)
{
    if (length && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < length; ++i) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void heading(FILE *out, cli_format format, int level, const char *title)
{
    if (format == CLI_MARKDOWN)
        fprintf(out, "\n%.*s %s\n\n", level, "####", title);
    else if (format == CLI_TEXT)
        fprintf(out, "\n%s:\n", title);
    else if (level == 2) {
        fputs(".SH ", out);
        for (const char *p = title; *p; ++p)
            fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, out);
        fputc('\n', out);
    } else
        fprintf(out, ".SS %s\n", title);
}

static void paragraph(FILE *out, cli_format format, const char *text, size_t length)
{
    if (format == CLI_TEXT) {
        fputs("  ", out);
        wrap(out, text, length, 2, 2);
    } else if (format == CLI_MARKDOWN) {
        fprintf(out, "%.*s\n", (int)length, text);
    } else {
        fputs(".PP\n", out);
        roff(out, text, length);
        fputc('\n', out);
    }
}

/* A term and what it means. */
static void item(FILE *out, cli_format format, const char *term, size_t length, const char *text, size_t text_length)
{
    if (format == CLI_MARKDOWN) {
        fprintf(out, "- `%.*s`: %.*s\n", (int)length, term, (int)text_length, text);
    } else if (format == CLI_MAN) {
        fputs(".TP\n.B ", out);
        roff(out, term, length);
        fputc('\n', out);
        roff(out, text, text_length);
        fputc('\n', out);
    } else {
        fprintf(out, "  %.*s", (int)length, term);
        if (length + 4 > COLUMN)
            fprintf(out, "\n%*s", COLUMN, "");
        else
            fprintf(out, "%*s", (int)(COLUMN - 2 - length), "");
        wrap(out, text, text_length, COLUMN, COLUMN);
    }
}

static void code_lines(FILE *out, cli_format format, const char *lines)
{
    if (format != CLI_TEXT)
        fputs(format == CLI_MARKDOWN ? "```sh\n" : ".PP\n.nf\n", out);
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        if (format == CLI_MAN)
            roff(out, lines, n);
        else
            fprintf(out, "%s%.*s", format == CLI_TEXT ? "  " : "", (int)n, lines);
        fputc('\n', out);
        lines += n + (lines[n] != 0);
    }
    if (format != CLI_TEXT)
        fputs(format == CLI_MARKDOWN ? "```\n" : ".fi\n", out);
}

/* Paragraphs and items of a topic or of a command's details; see cli_topic. */
static void body(FILE *out, cli_format format, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *dash = strstr(text, " -- ");
        if (n == 0)
            fputs(format == CLI_MAN ? "" : "\n", out);
        else if (strncmp(text, "  ", 2) == 0 && dash && dash < text + n)
            item(out, format, text + 2, (size_t)(dash - text - 2), dash + 4, (size_t)(text + n - dash - 4));
        else
            paragraph(out, format, text, n);
        text += n + (text[n] != 0);
    }
}

/* ---- options ---- */

static const char *placeholder(const tn_field *field)
{
    switch (field->kind) {
    case TN_FIELD_FLAG:
        return NULL;
    case TN_FIELD_YESNO:
        return "yes|no";
    case TN_FIELD_REAL:
        return field->choices ? field->choices : "X";
    case TN_FIELD_BYTES:
        return field->choices ? field->choices : "SIZE";
    default:
        return field->choices ? field->choices : "N";
    }
}

/* A command and the options of its call, as they are before anything is set. */
typedef struct described {
    const cli_command *command;
    const tn_options *library;
    cli_options defaults;
} described;

static void option(FILE *out, cli_format format, const described *d, const tn_field *field)
{
    char term[160], text[600], buffer[120] = "";
    const char *place = placeholder(field), *value = buffer;
    const char *letter = strcmp(field->name, "output") == 0 ? "-o, " : strcmp(field->name, "force") == 0 ? "-f, " : "";
    snprintf(term, sizeof term, "%s--%s%s%s", letter, field->name, place ? " " : "", place ? place : "");
    if (place && cli_is_own(d->command, field))
        tn_field_text(field, &d->defaults, buffer, sizeof buffer);
    else if (place)
        value = tn_options_text(d->library, field->name);
    const char *who = cli_users_of(d->command, d->library, field->name);
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", field->help, who || *value ? " (" : "", who ? who : "",
             who && *value ? "; " : "", *value ? "default: " : "", value, who || *value ? ")" : "");
    cli_add_dashes(text);
    item(out, format, term, strlen(term), text, strlen(text));
}

/* The options that all commands have, or all others. */
static void option_list(FILE *out, cli_format format, const described *d, bool common)
{
    const tn_field *field = NULL;
    const char *title = NULL, *before = "";
    for (size_t i = 0; (field = cli_field(d->command, d->library, i, &title)); ++i) {
        if ((i < d->command->tables->count) != common)
            continue;
        if (strcmp(title, before) != 0)
            heading(out, format, 3, title);
        before = title;
        option(out, format, d, field);
    }
}

/* ---- whole texts ---- */

enum { BRIEF_EXAMPLES = 3 };

/* The names of options on as few lines as they take, under their headings: what -h shows of them. */
static void option_names(FILE *out, const cli_app *app, bool common)
{
    const tn_field *field = NULL;
    const char *title = NULL, *before = "";
    char names[1200] = "";
    size_t used = 0;
    for (size_t i = 0; (field = cli_field(app->command, app->library, i, &title)); ++i) {
        if ((i < app->command->tables->count) != common)
            continue;
        if (strcmp(title, before) != 0) {
            if (used)
                paragraph(out, CLI_TEXT, names, used);
            heading(out, CLI_TEXT, 3, title);
            used = 0;
        }
        before = title;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s", used ? " " : "", field->name);
    }
    if (used)
        paragraph(out, CLI_TEXT, names, used);
}

void cli_help_brief(FILE *out, const cli_app *app)
{
    const cli_command *command = app->command;
    fprintf(out, "tenon %s: %s\n\nExamples:\n", command->name, command->summary);
    const char *line = command->examples;
    for (int i = 0; i < BRIEF_EXAMPLES && *line; ++i) {
        size_t n = strcspn(line, "\n");
        fprintf(out, "  %.*s\n", (int)n, line);
        line += n + (line[n] != 0);
    }
    fprintf(out, "\nUsage:\n  tenon %s %s\n", command->name, command->arguments);
    option_names(out, app, false);
    option_names(out, app, true);
    fprintf(out, "\nSee tenon help %s for what they mean, and for more examples.\n", command->name);
}

static int one_command(const cli_app *app, FILE *out, cli_format format, const cli_command *command, bool with_common)
{
    char line[400];
    described d = {.command = command};
    tn_options *library = NULL;
    if (format == CLI_TEXT)
        fprintf(out, "tenon %s: %s\n", command->name, command->summary);
    snprintf(line, sizeof line, "tenon %s", command->name);
    if (format != CLI_TEXT) {
        heading(out, format, 2, line);
        snprintf(line, sizeof line, "`tenon %s` %s.", command->name, command->summary);
        if (format == CLI_MAN)
            snprintf(line, sizeof line, "tenon %s %s.", command->name, command->summary);
        paragraph(out, format, line, strlen(line));
    }
    heading(out, format, 3, "Examples");
    code_lines(out, format, command->examples);
    heading(out, format, 3, "Usage");
    snprintf(line, sizeof line, "tenon %s %s", command->name, command->arguments);
    code_lines(out, format, line);
    if (command->details) {
        fputs(format == CLI_MAN ? "" : "\n", out);
        body(out, format, command->details);
    }
    /* The common options stand first for the parser and last for the reader. */
    int code = command->library ? cli_check(app, tn_options_new(app->ctx, command->library, &library)) : EXIT_FINE;
    if (code != 0)
        return code;
    d.library = library;
    cli_options_default(&d.defaults);
    option_list(out, format, &d, false);
    if (with_common)
        option_list(out, format, &d, true);
    tn_options_free(library);
    return EXIT_FINE;
}

int cli_help_command(const cli_app *app, FILE *out, cli_format format, const cli_command *command)
{
    if (format == CLI_MAN)
        fprintf(out, ".TH TENON 1 \"\" \"tenon %s\"\n", tn_version());
    return one_command(app, out, format, command, true);
}

void cli_help_short(FILE *out)
{
    fputs("tenon joins pre-trained representations to new tasks\n\nUsage: tenon COMMAND [options] [arguments]\n\n",
          out);
    for (const cli_command *c = cli_commands; c->name; ++c)
        item(out, CLI_TEXT, c->name, strlen(c->name), c->summary, strlen(c->summary));
    fputs("\nSee tenon COMMAND -h, tenon help COMMAND, tenon help, tenon --version.\n", out);
}

static void all_head(FILE *out, cli_format format)
{
    if (format == CLI_MARKDOWN) {
        fputs("# The command line\n\nMade by `tenon help --format markdown`; do not edit.\n\n"
              "    tenon COMMAND [options] [arguments]\n",
              out);
        return;
    }
    fprintf(out, ".\\\" Made by tenon help --format man; do not edit.\n.TH TENON 1 \"\" \"tenon %s\"\n", tn_version());
    fputs(".SH NAME\ntenon \\- joins pre\\-trained representations to new tasks\n.SH SYNOPSIS\n.B tenon\n"
          ".I COMMAND\n[options] [arguments]\n",
          out);
}

int cli_help_all(const cli_app *app, FILE *out, cli_format format)
{
    int code = EXIT_FINE;
    if (format == CLI_TEXT)
        cli_help_short(out);
    else
        all_head(out, format);
    if (format != CLI_TEXT)
        for (const cli_command *c = cli_commands; code == 0 && c->name; ++c)
            code = one_command(app, out, format, c, false);
    described any = {.command = cli_commands};
    cli_options_default(&any.defaults);
    if (format != CLI_TEXT)
        heading(out, format, 2, "Options of every command");
    option_list(out, format, &any, true);
    for (const cli_topic *t = cli_topics; t->title; ++t) {
        heading(out, format, 2, t->title);
        body(out, format, t->text);
    }
    return code;
}

int cmd_help(cli_app *app)
{
    cli_format format = (cli_format)app->options.format;
    if (app->arg_count == 0)
        return cli_help_all(app, stdout, format);
    const cli_command *command = cli_find_command(app->args[0]);
    if (!command)
        return cli_no_such_command(app, app->args[0]);
    return cli_help_command(app, stdout, format, command);
}
