/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command lines by table: --name value, --name=value, --flag, -o FILE, -f, -h; -- ends the options; options may stand
 * anywhere among the arguments; of a repeated option the last counts. The word after an option is its value
 * whatever it begins with, so that negative numbers need no care, unless it is itself an option of the command:
 * then the value was forgotten. An option of several words takes all up to the next option. */
#include "cli.h"

#include <stdint.h>
#include <string.h>

void cli_options_default(cli_options *options)
{
    memset(options, 0, sizeof *options);
    options->task = TN_TASK_AUTO;
    options->resamples = 400; /* their standard error is known to 1 / sqrt(800), 4 % */
}

int cli_options_new(cli_app *app)
{
    cli_options_default(&app->options);
    return app->command->library ? cli_check(app, tn_options_new(app->ctx, app->command->library, &app->library))
                                 : EXIT_FINE;
}

static const tn_field *own_field(const cli_command *command, size_t i, const char **title)
{
    for (const cli_table *t = command->tables; t->title; i -= t->count, ++t)
        if (i < t->count) {
            *title = t->title;
            return &t->fields[i];
        }
    return NULL;
}

static size_t count_own(const cli_command *command)
{
    size_t count = 0;
    for (const cli_table *t = command->tables; t->title; ++t)
        count += t->count;
    return count;
}

static const tn_field *find_own(const cli_command *command, const char *name)
{
    const tn_field *field = NULL;
    const char *title = NULL;
    for (size_t i = 0; (field = own_field(command, i, &title)); ++i)
        if (strcmp(field->name, name) == 0)
            return field;
    return NULL;
}

const tn_field *cli_field(const cli_command *command, const tn_options *library, size_t i, const char **title)
{
    size_t own = count_own(command), place = own;
    if (i < own)
        return own_field(command, i, title);
    for (size_t l = 0; library && l < tn_options_count(library); ++l) {
        const tn_field *field = tn_options_field(library, l);
        if (!find_own(command, field->name) && place++ == i) {
            *title = tn_options_group(library, field->name);
            return field;
        }
    }
    return NULL;
}

bool cli_is_own(const cli_command *command, const tn_field *field)
{
    return find_own(command, field->name) == field;
}

static const tn_field *find_field(const cli_app *app, const char *name, size_t length)
{
    const tn_field *field = NULL;
    const char *title = NULL;
    for (size_t i = 0; (field = cli_field(app->command, app->library, i, &title)); ++i)
        if (strlen(field->name) == length && strncmp(field->name, name, length) == 0)
            return field;
    return NULL;
}

enum { LONGEST = 40 };

size_t cli_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), d[LONGEST + 1][LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t i = 0; i <= n; ++i)
        for (size_t j = 0; j <= m; ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

bool cli_is_near(const char *word, size_t distance)
{
    return distance <= (strlen(word) + 1) / 2;
}

/* NULL when no option is near. */
static const char *nearest_field(const cli_app *app, const char *name)
{
    const tn_field *field = NULL;
    const char *best = NULL, *title = NULL;
    size_t least = LONGEST;
    for (size_t i = 0; (field = cli_field(app->command, app->library, i, &title)); ++i) {
        /* A beginning such as --norm is nearer than any edit of another name. */
        bool begins = *name && strncmp(field->name, name, strlen(name)) == 0;
        size_t distance = begins ? 0 : cli_distance(field->name, name);
        if (distance < least) {
            least = distance;
            best = field->name;
        }
    }
    return cli_is_near(name, least) ? best : NULL;
}

static int unknown_option(cli_app *app, const char *name, size_t length)
{
    char word[LONGEST + 1];
    snprintf(word, sizeof word, "%.*s", (int)(length < LONGEST ? length : LONGEST), name);
    const char *near = nearest_field(app, word);
    if (!near)
        return cli_fail(app, EXIT_USAGE, "unknown option --%s; see tenon help %s", word, app->command->name);
    return cli_fail(app, EXIT_USAGE, "unknown option --%s; did you mean --%s?", word, near);
}

static int set_field(cli_app *app, const tn_field *field, const char *value)
{
    if (field->kind == TN_FIELD_FLAG && value)
        return cli_fail(app, EXIT_USAGE, "--%s: got %s, expected no value", field->name, value);
    return cli_check(app, cli_is_own(app->command, field) ? tn_field_set(app->ctx, field, &app->options, value)
                                                          : tn_options_set(app->ctx, app->library, field->name, value));
}

static bool is_option_of(const cli_app *app, const char *word)
{
    return strncmp(word, "--", 2) == 0 && word[2] && find_field(app, word + 2, strcspn(word + 2, "="));
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != 0;
}

/* True when the word names this field: --valid, or --valid=...; *value is then what follows the sign, or NULL. */
static bool names_field(const char *word, const tn_field *field, const char **value)
{
    size_t length = strlen(field->name);
    if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, field->name, length) != 0)
        return false;
    *value = word[2 + length] == '=' ? word + 3 + length : NULL;
    return *value || word[2 + length] == 0;
}

/* All words up to the next option: --valid a.npy b.npy --quiet; or the one behind the sign: --valid=a.npy. An option
 * that comes again adds to its list: at its first time the rest of the line is looked through for the others. */
static int take_words(cli_app *app, const tn_field *field, int left, char **word, int *used)
{
    tn_words *list = (tn_words *)(void *)((char *)&app->options + field->offset);
    const char *value = NULL;
    bool first = list->count == 0;
    names_field(word[0], field, &value);
    while (!value && *used < left && !is_option(word[*used]))
        ++*used;
    if (!value && *used == 1)
        return cli_fail(app, EXIT_USAGE, "--%s: no value given, expected %s", field->name, field->choices);
    if (first)
        list->items = app->words + app->word_count;
    for (int i = 0; first && i < left && strcmp(word[i], "--") != 0; ++i) {
        if (!names_field(word[i], field, &value))
            continue;
        if (value)
            app->words[app->word_count++] = value;
        for (int k = i + 1; !value && k < left && !is_option(word[k]); ++k)
            app->words[app->word_count++] = word[k];
    }
    if (first)
        list->count = (size_t)(app->words + app->word_count - list->items);
    return EXIT_FINE;
}

static int no_such_option(const cli_app *app, const char *word)
{
    return cli_fail(app, EXIT_USAGE, "unknown option %s; see tenon help %s", word, app->command->name);
}

/* NULL for a letter that is none of ours. */
static const char *long_name(const char *word)
{
    static const char *const names[][2] = {{"-o", "output"}, {"-f", "force"}, {"-h", "help"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(word, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

/* One option and its value; *used counts the words it took. */
static int take_option(cli_app *app, int left, char **word, int *used)
{
    const char *name = word[0] + 2, *value = NULL;
    size_t length = strcspn(name, "=");
    if (word[0][1] != '-') {
        name = long_name(word[0]);
        if (!name)
            return no_such_option(app, word[0]);
        length = strlen(name);
    }
    const tn_field *field = find_field(app, name, length);
    if (!field)
        return word[0][1] == '-' ? unknown_option(app, name, length) : no_such_option(app, word[0]);
    *used = 1;
    app->brief |= strcmp(word[0], "-h") == 0;
    if (!cli_was_given(app, field->name) && app->given_count < CLI_MOST_GIVEN)
        app->given[app->given_count++] = field;
    if (field->kind == TN_FIELD_WORDS)
        return take_words(app, field, left, word, used);
    if (name[length] == '=') {
        value = name + length + 1;
    } else if (field->kind != TN_FIELD_FLAG) {
        if (left < 2 || is_option_of(app, word[1]))
            return cli_fail(app, EXIT_USAGE, "--%s: no value given, expected %s", field->name,
                            field->choices ? field->choices : "one");
        value = word[1];
        *used = 2;
    }
    return set_field(app, field, value);
}

static int check_arity(cli_app *app)
{
    const cli_command *command = app->command;
    size_t least = app->options.moments.count > 0 ? 0 : command->min_args; /* they stand in the place of the rows */
    if (app->options.help || (app->arg_count >= least && app->arg_count <= command->max_args))
        return EXIT_FINE;
    const char *space = *command->arguments ? " " : "";
    if (app->arg_count > command->max_args)
        return cli_fail(app, EXIT_USAGE, "unexpected argument %s; usage: tenon %s%s%s", app->args[command->max_args],
                        command->name, space, command->arguments);
    return cli_fail(app, EXIT_USAGE, "too few arguments; usage: tenon %s%s%s", command->name, space,
                    command->arguments);
}

bool cli_is_one_of(const char *words, const char *word)
{
    size_t length = strlen(word), n;
    for (; *words; words += n + (words[n] != 0)) {
        n = strcspn(words, "|");
        if (n == length && memcmp(words, word, n) == 0)
            return true;
    }
    return false;
}

static int check_action(const cli_app *app)
{
    const char *actions = app->command->actions;
    if (!actions || app->options.help || app->arg_count == 0 || cli_is_one_of(actions, app->args[0]))
        return EXIT_FINE;
    return cli_fail(app, EXIT_USAGE, "got %s, expected %s", app->args[0], actions);
}

int cli_parse(cli_app *app, int argc, char **argv)
{
    bool options_over = false;
    for (int i = 0, used = 1; i < argc; i += used) {
        used = 1;
        bool option = !options_over && is_option(argv[i]);
        if (option && strcmp(argv[i], "--") == 0) {
            options_over = true;
        } else if (option) {
            int code = take_option(app, argc - i, argv + i, &used);
            if (code != 0)
                return code;
        } else {
            app->args[app->arg_count++] = argv[i];
        }
    }
    int code = check_action(app);
    if (code == 0)
        code = check_arity(app);
    return code != 0 ? code : cli_check_uses(app);
}

const cli_command *cli_find_command(const char *name)
{
    for (const cli_command *c = cli_commands; c->name; ++c)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

int cli_no_such_command(const cli_app *app, const char *name)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;
    for (const cli_command *c = cli_commands; c->name; ++c) {
        size_t distance = cli_distance(c->name, name);
        if (distance < least) {
            least = distance;
            best = c->name;
        }
    }
    if (!cli_is_near(name, least))
        return cli_fail(app, EXIT_USAGE, "unknown command %s; see tenon help", name);
    return cli_fail(app, EXIT_USAGE, "unknown command %s; did you mean %s?", name, best);
}
