/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For targets that run code of the program itself: an application without a command line, its standard output caught
 * and judged. Exit statuses must be documented ones; JSON must be JSON; and no byte that a terminal would obey may come
 * out, whatever a file calls its classes. */
#ifndef TN_FUZZ_CLI_H
#define TN_FUZZ_CLI_H

#define _GNU_SOURCE /* open_memstream; stdout and stderr are variables that may be set */
#include "fuzz.h"

#include "cli.h"

#include <jansson.h>

typedef struct fuzz_program {
    cli_app app;
    const char *args[8];
    FILE *kept; /* the real standard output */
    char *text; /* what was printed */
    size_t size;
} fuzz_program;

/* The fuzzer keeps its own stderr: it took the stream when it was loaded. */
static inline void fuzz_be_quiet(void)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        abort();
    stderr = nowhere;
}

static inline void fuzz_program_begin(fuzz_program *p, tn_ctx *ctx, const char *command)
{
    *p = (fuzz_program){.app = {.ctx = ctx, .command = cli_find_command(command), .line = "fuzz"}, .kept = stdout};
    if (cli_options_new(&p->app) != EXIT_FINE)
        abort();
    p->app.args = p->args;
    fuzz_be_quiet();
    stdout = open_memstream(&p->text, &p->size);
    if (!stdout)
        abort();
}

/* The character at p, of UTF-8, and its length; a byte that is none stands for itself. */
static inline uint32_t fuzz_char(const unsigned char *p, size_t left, size_t *length)
{
    static const struct {
        unsigned mask, lead, bits;
    } forms[] = {{0xe0, 0xc0, 0x1f}, {0xf0, 0xe0, 0x0f}, {0xf8, 0xf0, 0x07}};
    *length = 1;
    for (size_t n = 2; n <= 4; ++n) {
        if ((p[0] & forms[n - 2].mask) != forms[n - 2].lead || left < n)
            continue;
        uint32_t c = p[0] & forms[n - 2].bits;
        size_t i = 1;
        for (; i < n && (p[i] & 0xc0) == 0x80; ++i)
            c = c << 6 | (p[i] & 0x3fu);
        if (i < n)
            break;
        *length = n;
        return c;
    }
    return p[0];
}

/* C0 but for line ends and tabs, C1, and the marks that turn the direction of what follows. */
static inline bool fuzz_is_command(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e ||
           c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static inline void fuzz_judge(const fuzz_program *p, int code)
{
    static const int known[] = {EXIT_FINE,  EXIT_FAILED, EXIT_USAGE,  EXIT_DATA,
                                EXIT_INPUT, EXIT_OUTPUT, EXIT_BUDGET, EXIT_INTERRUPTED};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        found |= code == known[i];
    if (!found || (code != EXIT_FINE && p->size != 0))
        abort();
    for (size_t i = 0, n; i < p->size; i += n)
        if (fuzz_is_command(fuzz_char((const unsigned char *)p->text + i, p->size - i, &n)))
            abort();
    if (code == EXIT_FINE && p->app.options.json) {
        json_t *json = json_loadb(p->text, p->size, 0, NULL);
        if (!json)
            abort();
        json_decref(json);
    }
}

static inline void fuzz_program_end(fuzz_program *p, int code)
{
    FILE *caught = stdout;
    stdout = p->kept;
    if (fclose(caught) != 0)
        abort();
    fuzz_judge(p, code);
    tn_options_free(p->app.library);
    free(p->text);
}

#endif
