/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon completion: a shell's completion script, made from the command tables. Words of a choice are offered
 * after their option; everything else completes to file names. */
#include "cli.h"

#include <string.h>

typedef void (*field_fn)(const cli_command *command, const tn_field *field);

static void each_field(const cli_command *command, field_fn visit)
{
    for (const cli_table *t = command->tables; t->title; ++t) {
        size_t count = 0;
        const tn_field *fields = cli_table_fields(t, &count);
        for (size_t i = 0; i < count; ++i)
            if (cli_field_is_first(command, &fields[i]))
                visit(command, &fields[i]);
    }
}

static void print_words(const char *choices)
{
    for (const char *p = choices; *p; ++p)
        putchar(*p == '|' ? ' ' : *p);
}

static const char *words_of(const tn_field *field)
{
    if (field->kind == TN_FIELD_YESNO)
        return "yes|no";
    return field->kind == TN_FIELD_CHOICE ? field->choices : NULL;
}

static void print_command_names(void)
{
    for (const cli_command *c = cli_commands; c->name; ++c)
        printf("%s%s", c == cli_commands ? "" : " ", c->name);
}

/* ---- bash ---- */

static void bash_name(const cli_command *command, const tn_field *field)
{
    (void)command;
    printf(" --%s", field->name);
}

static void bash_choice(const cli_command *command, const tn_field *field)
{
    const char *words = words_of(field);
    if (!words)
        return;
    printf("    %s:--%s) words='", command->name, field->name);
    print_words(words);
    printf("' ;;\n");
}

static void bash_script(void)
{
    printf("# bash completion of tenon; made by: tenon completion bash\n"
           "_tenon() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    print_command_names();
    printf(" --version' -- \"$current\")\n        return\n    fi\n"
           "    case ${COMP_WORDS[1]}:$previous in\n");
    for (const cli_command *c = cli_commands; c->name; ++c)
        each_field(c, bash_choice);
    printf("    help:help) words='");
    print_command_names();
    printf("' ;;\n");
    for (const cli_command *c = cli_commands; c->name; ++c)
        if (c->actions) {
            printf("    %s:%s) words='", c->name, c->name);
            print_words(c->actions);
            printf("' ;;\n");
        }
    printf("    esac\n"
           "    if [ -z \"$words\" ] && [[ $current == -* ]]; then\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (const cli_command *c = cli_commands; c->name; ++c) {
        printf("        %s) words='", c->name);
        each_field(c, bash_name);
        printf("' ;;\n");
    }
    printf("        esac\n    fi\n"
           "    if [ -n \"$words\" ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
           "    fi\n}\n"
           "complete -o default -F _tenon tenon\n");
}

/* ---- zsh ---- */

/* Text inside a single-quoted _arguments specification. */
static void zsh_text(const char *text)
{
    for (const char *p = text; *p; ++p) {
        if (*p == '\'')
            printf("'\\''");
        else if (strchr("[]:\\", *p))
            printf("\\%c", *p);
        else
            putchar(*p);
    }
}

static void zsh_field(const cli_command *command, const tn_field *field)
{
    (void)command;
    const char *words = words_of(field);
    char help[600];
    snprintf(help, sizeof help, "%s", field->help);
    cli_add_dashes(help);
    printf(" \\\n            '--%s[", field->name);
    zsh_text(help);
    printf("]");
    if (words) {
        printf(":%s:(", field->name);
        print_words(words);
        printf(")");
    } else if (field->kind == TN_FIELD_TEXT) {
        printf(":%s:_files", field->name);
    } else if (field->kind != TN_FIELD_FLAG) {
        printf(":%s:", field->name);
    }
    printf("'");
}

static void zsh_script(void)
{
    printf("#compdef tenon\n# zsh completion of tenon; made by: tenon completion zsh\n"
           "_tenon() {\n    local -a commands\n    commands=(\n");
    for (const cli_command *c = cli_commands; c->name; ++c) {
        printf("        '%s:", c->name);
        zsh_text(c->summary);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (const cli_command *c = cli_commands; c->name; ++c) {
        printf("    %s)\n        _arguments", c->name);
        each_field(c, zsh_field);
        if (strcmp(c->name, "help") == 0) {
            printf(" \\\n            '1:command:(");
            print_command_names();
            printf(")'");
        } else if (c->actions) {
            printf(" \\\n            '1:action:(");
            print_words(c->actions);
            printf(")'");
        }
        if (c->max_args > 1) {
            printf(" \\\n            '*:file:_files'");
        }
        printf("\n        ;;\n");
    }
    printf("    esac\n}\n_tenon \"$@\"\n");
}

int cmd_completion(cli_app *app)
{
    if (strcmp(app->args[0], "bash") == 0)
        bash_script();
    else
        zsh_script();
    return EXIT_FINE;
}
