/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon completion: a shell's completion script, made from the command tables. Words of a choice are offered
 * after their option; everything else completes to file names. */
#include "cli.h"

#include <string.h>

typedef void (*field_fn)(const cli_command *command, const tn_field *field);

static int each_field(const cli_app *app, const cli_command *command, field_fn visit)
{
    tn_options *library = NULL;
    const tn_field *field = NULL;
    const char *title = NULL;
    int code = command->library ? cli_check(app, tn_options_new(app->ctx, command->library, &library)) : EXIT_FINE;
    for (size_t i = 0; code == 0 && (field = cli_field(command, library, i, &title)); ++i)
        visit(command, field);
    tn_options_free(library);
    return code;
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

static int bash_script(const cli_app *app)
{
    int code = EXIT_FINE;
    printf("# bash completion of tenon; made by: tenon completion bash\n"
           "_tenon() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    print_command_names();
    printf(" --version' -- \"$current\")\n        return\n    fi\n"
           "    case ${COMP_WORDS[1]}:$previous in\n");
    for (const cli_command *c = cli_commands; code == 0 && c->name; ++c)
        code = each_field(app, c, bash_choice);
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
    for (const cli_command *c = cli_commands; code == 0 && c->name; ++c) {
        printf("        %s) words='", c->name);
        code = each_field(app, c, bash_name);
        printf("' ;;\n");
    }
    printf("        esac\n    fi\n"
           "    if [ -n \"$words\" ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
           "    fi\n}\n"
           "complete -o default -F _tenon tenon\n");
    return code;
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

static int zsh_script(const cli_app *app)
{
    int code = EXIT_FINE;
    printf("#compdef tenon\n# zsh completion of tenon; made by: tenon completion zsh\n"
           "_tenon() {\n    local -a commands\n    commands=(\n");
    for (const cli_command *c = cli_commands; c->name; ++c) {
        printf("        '%s:", c->name);
        zsh_text(c->summary);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (const cli_command *c = cli_commands; code == 0 && c->name; ++c) {
        printf("    %s)\n        _arguments", c->name);
        code = each_field(app, c, zsh_field);
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
    return code;
}

int cmd_completion(cli_app *app)
{
    return strcmp(app->args[0], "bash") == 0 ? bash_script(app) : zsh_script(app);
}
