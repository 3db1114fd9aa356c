/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that were given but that the method, or the action of the command, has no use for: refused rather than ignored,
 * with those that have. Which they are is told by tables, from which the help is made too; some have a use under a condition only. */
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

/* ---- options of use under a condition only ---- */

static size_t count_words(const char *list)
{
    size_t n = 1;
    for (; *list; ++list)
        n += *list == ',';
    return n;
}

/* Nothing asks for the evidence: the head is no ridge and there is one set to take. */
static bool without_evidence(const cli_app *app)
{
    const tn_fit_options *fit = &app->options.fit;
    size_t candidates = app->arg_count * count_words(fit->rank.transform) * count_words(fit->rank.normalize);
    return fit->method >= TN_METHOD_SVM && (candidates < 2 || fit->select == TN_SEARCH_ALL || app->options.from);
}

static bool without_loo(const cli_app *app)
{
    return without_evidence(app) && strcmp(app->options.fit.rank.loo, "0") != 0;
}

/* No word of the list is a map that goes by its name. */
static bool without_named_map(const cli_app *app)
{
    const cli_options *o = &app->options;
    const char *list = app->command->run == cmd_transfer ? o->transfer.transform : o->fit.rank.transform;
    for (size_t n; *list; list += n + (list[n] != 0)) {
        char word[16] = "";
        n = strcspn(list, ",");
        if (n < sizeof word)
            memcpy(word, list, n);
        if (cli_is_one_of(TN_MAP_WORDS, word))
            return false;
    }
    return true;
}

static bool without_folds(const cli_app *app)
{
    const tn_fit_options *fit = &app->options.fit;
    bool one = fit->method == TN_METHOD_SVM || fit->method == TN_METHOD_LOGISTIC;
    return one && fit->learn.calibrate != TN_CALIBRATE_YES;
}

static bool without_ratio(const cli_app *app)
{
    return app->options.fit.online.multiclass != TN_ONLINE_W_OVR;
}

static bool without_valid(const cli_app *app)
{
    return app->options.valid.count == 0;
}

static int check_conditions(const cli_app *app)
{
#define BY_EVIDENCE                                                                                                    \
    "--method evidence, ridge-cv, and for the choice among several candidates; here nothing is chosen by evidence"
    static const struct {
        const char *commands, *options;
        bool (*pointless)(const cli_app *app);
        const char *needs;
    } conditions[] = {
        {"fit", "optimizer|tolerance|max-iterations|start", without_evidence, BY_EVIDENCE},
        {"fit", "loo", without_loo, BY_EVIDENCE},
        {"fit|rank|transfer", "signed", without_named_map, "--transform " TN_MAP_WORDS},
        {"fit", "folds", without_folds,
         "--method ridge-cv, svm-cv, with --calibrate yes also svm, logistic; here nothing is cross-validated"},
        {"fit", "ratio", without_ratio, "--multiclass w-ovr"},
        {"fit", "patience", without_valid, "--valid REP... --valid-labels FILE"},
    };
    for (size_t i = 0; i < app->given_count; ++i)
        for (size_t c = 0; c < sizeof conditions / sizeof *conditions; ++c)
            if (cli_is_one_of(conditions[c].commands, app->command->name) &&
                cli_is_one_of(conditions[c].options, app->given[i]->name) && conditions[c].pointless(app))
                return cli_fail(app, EXIT_USAGE, "--%s is for %s", app->given[i]->name, conditions[c].needs);
    return EXIT_FINE;
}

int cli_check_uses(const cli_app *app)
{
    char buf[64];
    const cli_command *command = app->command;
    if (app->options.help)
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
    return check_conditions(app);
}
