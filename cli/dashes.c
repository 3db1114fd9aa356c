/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library names options as every program that uses it knows them, "option C"; on a command line they have dashes,
 * "--C". What follows the word must be the whole name of an option, and no dot behind it: files called like that stay
 * as they are. */
#include "cli.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool is_name(const tn_field *field, const char *name, size_t length)
{
    return strlen(field->name) == length && strncmp(field->name, name, length) == 0;
}

/* Options of a call of the library, made once for each command that has one, with a context that no message disturbs;
 * they last as long as the program. Without memory for them names stay without dashes. */
static const tn_options *library_of(const cli_command *command)
{
    static tn_ctx *ctx;
    static tn_options *kept[32];
    size_t i = (size_t)(command - cli_commands);
    if (!command->library || i >= sizeof kept / sizeof *kept || (!ctx && tn_ctx_new(&ctx) != TN_OK))
        return NULL;
    if (!kept[i] && tn_options_new(ctx, command->library, &kept[i]) != TN_OK)
        return NULL;
    return kept[i];
}

static bool is_option_of(const cli_command *command, const char *name, size_t length)
{
    const char *title = NULL;
    const tn_field *field = NULL;
    const tn_options *library = library_of(command);
    for (size_t i = 0; (field = cli_field(command, library, i, &title)); ++i)
        if (is_name(field, name, length))
            return true;
    return false;
}

/* Letters of an option's name that stand here and end before anything but a dot, which files have behind theirs; 0:
 * none. */
static size_t option_name(const char *text)
{
    size_t length = 0;
    while (is_letter(text[length]))
        ++length;
    for (const cli_command *command = cli_commands; command->name && text[length] != '.'; ++command)
        if (is_option_of(command, text, length))
            return length;
    return 0;
}

void cli_add_dashes(char *text)
{
    static const char word[] = "option ";
    const size_t skip = sizeof word - 1;
    char *out = text, before = ' ';
    for (const char *at = text; *at; before = *at++) {
        if (!is_letter(before) && strncmp(at, word, skip) == 0 && option_name(at + skip) != 0) {
            *out++ = '-';
            *out++ = '-';
            at += skip;
        }
        *out++ = *at;
    }
    *out = 0;
}
