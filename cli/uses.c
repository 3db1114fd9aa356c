/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that were given but that the method, or the action of the command, has no use for: refused rather than
 * ignored, with those that have. Which they are is told by tables, from which the help is made too; some have a use
 * under a condition only. */
#include "cli.h"

#include <string.h>

bool cli_was_given(const cli_app *app, const char *name)
{
    for (size_t i = 0; i < app->given_count; ++i)
        if (strcmp(app->given[i]->name, name) == 0)
            return true;
    return false;
}

bool cli_has_value(const cli_app *app, const char *name, const char *value)
{
    const char *text = app->library ? tn_options_text(app->library, name) : NULL;
    return text && strcmp(text, value) == 0;
}

static const cli_use *use_of(const cli_command *command, const char *option)
{
    for (const cli_use *use = command->uses; use && use->words; ++use)
        if (cli_is_one_of(use->options, option))
            return use;
    return NULL;
}

const char *cli_users_of(const cli_command *command, const tn_options *library, const char *option)
{
    const cli_use *use = use_of(command, option);
    return use ? use->text : library ? tn_options_methods(library, option) : NULL;
}

/* ---- options of use under a condition only ---- */

static size_t count_words(const char *list)
{
    size_t n = 1;
    for (; *list; ++list)
        n += *list == ',';
    return n;
}

static const char *value_of(const cli_app *app, const char *name)
{
    return tn_options_text(app->library, name);
}

/* Nothing asks for the evidence: the head is no ridge and there is one set to take. */
static bool without_evidence(const cli_app *app)
{
    size_t candidates =
        app->arg_count * count_words(value_of(app, "transform")) * count_words(value_of(app, "normalize"));
    const char *against = value_of(app, "against");
    return !tn_method_needs_evidence(value_of(app, "method")) && !(against && tn_method_needs_evidence(against)) &&
           (candidates < 2 || cli_has_value(app, "select", "all") || app->options.from);
}

static bool without_loo(const cli_app *app)
{
    return without_evidence(app) && !cli_has_value(app, "loo", "0");
}

/* No word of the list is a map that goes by its name. */
static bool without_named_map(const cli_app *app)
{
    const char *list = value_of(app, "transform");
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

/* Of a single C or lambda, which needs no choice. */
static bool without_choice(const cli_app *app)
{
    return cli_is_one_of("svm|logistic", value_of(app, "method")) ||
           (cli_has_value(app, "method", "lda") && !cli_has_value(app, "lambda", "auto"));
}

static bool without_calibration(const cli_app *app)
{
    return without_choice(app) && !cli_has_value(app, "calibrate", "yes");
}

static bool chosen_by_rows(const cli_app *app)
{
    return !without_choice(app) && (app->options.valid.count != 0 || !cli_has_value(app, "holdout", "0"));
}

static bool without_ratio(const cli_app *app)
{
    return !cli_has_value(app, "multiclass", "w-ovr");
}

static bool without_valid(const cli_app *app)
{
    return app->options.valid.count == 0;
}

static int check_conditions(const cli_app *app)
{
#define BY_EVIDENCE                                                                                                    \
    "--method auto, evidence, ridge-cv, lda, and for the choice among several candidates; here nothing is chosen by "  \
    "evidence"
    static const struct {
        const char *commands, *options;
        bool (*pointless)(const cli_app *app);
        const char *needs;
    } conditions[] = {
        {"fit|cv", "optimizer|tolerance|max-iterations|start", without_evidence, BY_EVIDENCE},
        {"fit|cv", "loo", without_loo, BY_EVIDENCE},
        {"fit|cv|rank|transfer", "signed", without_named_map, "--transform " TN_MAP_WORDS},
        {"fit", "folds", without_calibration,
         "--method auto, ridge-cv, lda, svm-cv, logistic-cv, with --calibrate yes also svm, logistic; here nothing is "
         "cross-validated"},
        {"fit", "folds", chosen_by_rows,
         "choices by cross-validation; here the rows of --holdout or --valid choose: leave out one of the two"},
        {"fit|cv", "ratio", without_ratio, "--multiclass w-ovr"},
        {"fit|cv", "patience", without_valid, "--valid REP... --valid-labels FILE"},
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
    const cli_command *command = app->command;
    if (app->options.help)
        return EXIT_FINE;
    for (size_t i = 0; i < app->given_count; ++i) {
        const char *option = app->given[i]->name;
        const cli_use *use = use_of(command, option);
        if (use && !cli_is_one_of(use->words, app->args[0]))
            return cli_fail(app, EXIT_USAGE, "--%s is for tenon %s %s; got %s", option, command->name, use->text,
                            app->args[0]);
        const char *methods = app->library ? tn_options_methods(app->library, option) : NULL;
        if (methods && !tn_options_of_use(app->library, option))
            return cli_fail(app, EXIT_USAGE, "--%s is for --method %s; got --method %s", option, methods,
                            value_of(app, "method"));
    }
    return check_conditions(app);
}
