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

static void option(FILE *out, cli_format format, const cli_command *command, const tn_field *field,
                   const void *defaults)
{
    char term[160], text[600], value[120] = "";
    const char *place = placeholder(field);
    const char *letter = strcmp(field->name, "output") == 0 ? "-o, " : strcmp(field->name, "force") == 0 ? "-f, " : "";
    snprintf(term, sizeof term, "%s--%s%s%s", letter, field->name, place ? " " : "", place ? place : "");
    if (place)
        tn_field_text(field, defaults, value, sizeof value);
    const tn_use *use = cli_use_of(command, field->name);
    const char *who = use ? use->text : NULL;
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", field->help, who || *value ? " (" : "", who ? who : "",
             who && *value ? "; " : "", *value ? "default: " : "", value, who || *value ? ")" : "");
    item(out, format, term, strlen(term), text, strlen(text));
}

static void option_table(FILE *out, cli_format format, const cli_command *command, const cli_table *table)
{
    cli_options defaults;
    cli_options_default(&defaults);
    size_t count = 0;
    const tn_field *fields = cli_table_fields(table, &count);
    bool begun = false;
    for (size_t i = 0; i < count; ++i) {
        if (!cli_field_is_first(command, &fields[i]))
            continue;
        if (!begun)
            heading(out, format, 3, table->title);
        begun = true;
        option(out, format, command, &fields[i], (const char *)&defaults + table->offset);
    }
}

/* ---- whole texts ---- */

enum { BRIEF_EXAMPLES = 3 };

/* The names of a table's options on as few lines as they take: what -h shows of them. */
static void option_names(FILE *out, const cli_command *command, const cli_table *table)
{
    size_t count = 0, used = 0;
    const tn_field *fields = cli_table_fields(table, &count);
    char names[1200] = "";
    for (size_t i = 0; i < count && used < sizeof names; ++i)
        if (cli_field_is_first(command, &fields[i]))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s", used ? " " : "", fields[i].name);
    if (used == 0)
        return;
    heading(out, CLI_TEXT, 3, table->title);
    paragraph(out, CLI_TEXT, names, strlen(names));
}

void cli_help_brief(FILE *out, const cli_command *command)
{
    fprintf(out, "tenon %s: %s\n\nExamples:\n", command->name, command->summary);
    const char *line = command->examples;
    for (int i = 0; i < BRIEF_EXAMPLES && *line; ++i) {
        size_t n = strcspn(line, "\n");
        fprintf(out, "  %.*s\n", (int)n, line);
        line += n + (line[n] != 0);
    }
    fprintf(out, "\nUsage:\n  tenon %s %s\n", command->name, command->arguments);
    for (const cli_table *t = command->tables + 1; t->title; ++t)
        option_names(out, command, t);
    option_names(out, command, command->tables);
    fprintf(out, "\nSee tenon help %s for what they mean, and for more examples.\n", command->name);
}

static void one_command(FILE *out, cli_format format, const cli_command *command, bool with_common)
{
    char line[400];
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
    for (const cli_table *t = command->tables + 1; t->title; ++t)
        option_table(out, format, command, t);
    if (with_common)
        option_table(out, format, command, command->tables);
}

void cli_help_command(FILE *out, cli_format format, const cli_command *command)
{
    if (format == CLI_MAN)
        fprintf(out, ".TH TENON 1 \"\" \"tenon %s\"\n", tn_version());
    one_command(out, format, command, true);
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

void cli_help_all(FILE *out, cli_format format)
{
    if (format == CLI_TEXT)
        cli_help_short(out);
    else
        all_head(out, format);
    if (format != CLI_TEXT)
        for (const cli_command *c = cli_commands; c->name; ++c)
            one_command(out, format, c, false);
    const cli_command *any = cli_commands;
    if (format != CLI_TEXT)
        heading(out, format, 2, "Options of every command");
    option_table(out, format, any, any->tables);
    for (const cli_topic *t = cli_topics; t->title; ++t) {
        heading(out, format, 2, t->title);
        body(out, format, t->text);
    }
}

int cmd_help(cli_app *app)
{
    cli_format format = (cli_format)app->options.format;
    if (app->arg_count == 0) {
        cli_help_all(stdout, format);
        return EXIT_FINE;
    }
    const cli_command *command = cli_find_command(app->args[0]);
    if (!command)
        return cli_no_such_command(app, app->args[0]);
    cli_help_command(stdout, format, command);
    return EXIT_FINE;
}
