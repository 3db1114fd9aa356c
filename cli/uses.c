/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that were given but that the method, or the action of the command, has no use for: refused rather than ignored,
 * with those that have. Which they are is told by tables, from which the help is made too. */
#include "cli.h"

#include <string.h>

bool cli_was_given(const cli_app *app, const char *name)
{
    for (size_t i = 0; i < app->given_count; ++i)
        if (strcmp(app->given[i]->name, name) == 0)
            return true;
    return false;
}

const tn_use *cli_use_of(const cli_command *command, const char *option)
{
    size_t count = 0;
    const tn_use *uses = command->uses ? command->uses(&count) : NULL;
    return tn_use_find(uses, count, option);
}

/* The word that was chosen. */
static const char *chosen_word(const cli_app *app, char *buf, size_t size)
{
    const cli_table *table = NULL;
    const tn_field *method = cli_find_field(app->command, "method", &table);
    if (app->command->actions)
        return app->args[0];
    return method ? tn_field_text(method, (const char *)&app->options + table->offset, buf, size) : "";
}

int cli_check_uses(const cli_app *app)
{
    char buf[64];
    const cli_command *command = app->command;
    if (!command->uses || app->options.help)
        return EXIT_FINE;
    const char *word = chosen_word(app, buf, sizeof buf);
    for (size_t i = 0; i < app->given_count; ++i) {
        const char *option = app->given[i]->name;
        const tn_use *use = cli_use_of(command, option);
        if (!use || cli_is_one_of(use->words, word))
            continue;
        if (command->actions)
            return cli_fail(app, EXIT_USAGE, "--%s is for tenon %s %s; got %s", option, command->name, use->text, word);
        return cli_fail(app, EXIT_USAGE, "--%s is for --method %s; got --method %s", option, use->text, word);
    }
    return EXIT_FINE;
}
