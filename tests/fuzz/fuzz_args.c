/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line: words one a line, the first byte chooses the command. And every line as a number, a size, a value
 * of every option of a fit, a list of normalisations. What tnp_number takes is what strtod takes it for, and what an
 * option takes it can print. */
#include "fuzz_cli.h"

#include <math.h>

enum { MOST_WORDS = 24 };

static void check_number(const char *word)
{
    double value = 0;
    char *end = NULL;
    if (!tnp_number((tnp_span){word, strlen(word)}, &value))
        return;
    double want = strtod(word, &end); /* the fuzzers never set a locale */
    if (*end != 0 || (want != value && !(isnan(want) && isnan(value))))
        abort();
}

/* Whatever an option takes it can say, and takes again. */
static void check_options(tn_ctx *ctx, tn_options *options, const char *word)
{
    for (size_t i = 0; i < tn_options_count(options); ++i) {
        const tn_field *field = tn_options_field(options, i);
        double value = 0;
        if (word && tn_options_set(ctx, options, field->name, word) != TN_OK)
            continue;
        const char *text = tn_options_text(options, field->name);
        bool bounded = field->lo < field->hi && tn_options_number(options, field->name, &value);
        if (bounded && !(value >= field->lo && value <= field->hi))
            abort();
        if (*text && field->kind < TN_FIELD_FEATURES && field->kind != TN_FIELD_REALS &&
            tn_options_set(ctx, options, field->name, text) != TN_OK)
            abort();
    }
}

static void check_texts(tn_ctx *ctx, tn_options *options, const char *word)
{
    size_t digits = 0, count = 0;
    tn_normalize kinds[TN_NORMALIZE_COUNT];
    check_number(word);
    if (tnp_digits(word, &digits) && strspn(word, "0123456789") != strlen(word))
        abort();
    check_options(ctx, options, word);
    (void)tn_normalize_parse(ctx, word, kinds, &count);
}

/* Every option of the program as it stands now, as text, and that text set again. */
static void check_own(cli_app *app)
{
    char text[256];
    const tn_field *field = NULL;
    const char *title = NULL;
    for (size_t i = 0; (field = cli_field(app->command, NULL, i, &title)); ++i) {
        tn_field_text(field, &app->options, text, sizeof text);
        bool numeric = field->kind == TN_FIELD_INT || field->kind == TN_FIELD_REAL || field->kind == TN_FIELD_BYTES ||
                       field->kind == TN_FIELD_CHOICE;
        if (numeric && tn_field_set(app->ctx, field, &app->options, text) != TN_OK)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char lines[FUZZ_VALUES];
    static const char *const commands[] = {"rank", "fit",    "predict", "eval", "transfer",
                                           "pq",   "kernel", "info",    "help", "doctor"};
    char *words[MOST_WORDS];
    const char *args[MOST_WORDS], *lists[MOST_WORDS];
    int count = 0;
    fuzz_input in = {data, size};
    uint8_t command = fuzz_byte(&in);
    size_t length = tnp_min(in.size, sizeof lines - 1);
    if (length != 0)
        memcpy(lines, in.data, length);
    lines[length] = 0;
    tn_ctx *ctx = fuzz_begin();
    for (char *p = lines; count < MOST_WORDS && p < lines + length; p += strlen(p) + 1) {
        p[strcspn(p, "\n")] = 0;
        words[count++] = p;
    }
    tn_options *options = NULL;
    if (tn_options_new(ctx, "fit", &options) != TN_OK)
        abort();
    for (int i = 0; i < count; ++i)
        check_texts(ctx, options, words[i]);
    tn_options_free(options);
    fuzz_program program;
    fuzz_program_begin(&program, ctx, commands[command % (sizeof commands / sizeof *commands)]);
    program.app.args = args;
    program.app.words = lists;
    int code = cli_parse(&program.app, count, words);
    if (code == EXIT_FINE)
        check_own(&program.app);
    if (code == EXIT_FINE && program.app.library)
        check_options(ctx, program.app.library, NULL);
    program.app.options.json = false; /* nothing was run, nothing is printed */
    fuzz_program_end(&program, code);
    fuzz_end(ctx, "");
    return 0;
}
