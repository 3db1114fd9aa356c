/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line: words one a line, the first byte chooses the command. And every line as a number, a size, a grid, a rule for
 * lambda, a list of normalisations. What tnp_number takes is what strtod takes it for, and what an option takes it can print. */
#include "fuzz_cli.h"
#include "learn/linear/linear.h"
#include "tenon/select.h"

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

static void check_texts(tn_ctx *ctx, const char *word)
{
    size_t digits = 0, count = 0;
    double *grid = NULL, value = 0;
    const double standard[] = {1, 2};
    tn_lambda_rule rule = TN_LAMBDA_AUTO;
    tn_normalize kinds[TN_NORMALIZE_COUNT];
    check_number(word);
    if (tnp_digits(word, &digits) && strspn(word, "0123456789") != strlen(word))
        abort();
    if (tnp_grid_new(ctx, word, standard, 2, &grid, &count) == TN_OK)
        for (size_t i = 0; i < count; ++i)
            if (!(grid[i] >= 1e-30 && grid[i] <= 1e30))
                abort();
    tnp_free(grid);
    if (tn_lambda_parse(ctx, word, &rule, &value) == TN_OK && rule == TN_LAMBDA_FIXED &&
        !(value > 0 && isfinite(value)))
        abort();
    (void)tn_normalize_parse(ctx, word, kinds, &count);
}

/* Every option of the command as it stands now, as text, and that text set again. */
static void check_options(cli_app *app)
{
    char text[256];
    for (const cli_table *t = app->command->tables; t->title; ++t) {
        size_t count = 0;
        const tn_field *fields = cli_table_fields(t, &count);
        void *options = (char *)&app->options + t->offset;
        for (size_t i = 0; i < count; ++i) {
            tn_field_text(&fields[i], options, text, sizeof text);
            bool numeric = fields[i].kind == TN_FIELD_INT || fields[i].kind == TN_FIELD_REAL ||
                           fields[i].kind == TN_FIELD_BYTES || fields[i].kind == TN_FIELD_CHOICE;
            if (numeric && tn_field_set(app->ctx, &fields[i], options, text) != TN_OK)
                abort();
        }
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
    for (int i = 0; i < count; ++i)
        check_texts(ctx, words[i]);
    fuzz_program program;
    fuzz_program_begin(&program, ctx, commands[command % (sizeof commands / sizeof *commands)]);
    program.app.args = args;
    program.app.words = lists;
    int code = cli_parse(&program.app, count, words);
    if (code == EXIT_FINE)
        check_options(&program.app);
    program.app.options.json = false; /* nothing was run, nothing is printed */
    fuzz_program_end(&program, code);
    fuzz_end(ctx, "");
    return 0;
}
