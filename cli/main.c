/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program: finds the command, reads its options, sets up the context, runs it. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is opened while 0, 1 or 2 is closed takes its number, and what is printed goes into it. Closed ones are
 * filled with nothing; without a standard output there is nowhere for a result to go: that is told before any work. */
static int hold_streams(const cli_app *app)
{
    bool lost = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (fcntl(fd, F_GETFD) != -1)
            continue;
        lost |= fd == STDOUT_FILENO;
        if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return EXIT_OUTPUT;
    }
    return lost ? cli_fail(app, EXIT_OUTPUT, "standard output is closed; results would have nowhere to go") : EXIT_FINE;
}

static char *join_words(int argc, char **argv)
{
    size_t size = 1;
    for (int i = 0; i < argc; ++i)
        size += strlen(argv[i]) + 1;
    char *line = calloc(size, 1);
    for (int i = 0; line && i < argc; ++i) {
        if (i)
            strcat(line, " ");
        strcat(line, i ? argv[i] : "tenon");
    }
    return line;
}

/* Settings that every command shares. */
static int apply_common(cli_app *app)
{
    const cli_options *options = &app->options;
    const char *no_color = getenv("NO_COLOR");
    /* A terminal that mpirun makes for its processes is nobody's. */
    app->color = !options->no_color && !app->joined && !(no_color && *no_color) && isatty(STDOUT_FILENO);
    tn_machine machine;
    tn_machine_look(&machine);
    tn_ctx_set_threads(app->ctx, options->threads ? options->threads : cli_team_threads(app, machine.cores));
    tn_ctx_set_memory(app->ctx,
                      options->mem ? options->mem : machine.memory_available / 5 * 4 / tn_team_here(app->ctx));
    int code = cli_check(app, tn_team_level(app->ctx));
    if (code != 0)
        return code;
    if (app->rank == 0)
        cli_progress_start(app->ctx, options);
    bool seeded = app->library && tn_options_text(app->library, "seed");
    return seeded ? cli_check(app, tn_options_set_number(app->ctx, app->library, "seed", (double)options->seed))
                  : EXIT_FINE;
}

static int run_command(cli_app *app, int argc, char **argv)
{
    int code = cli_options_new(app);
    if (code == 0)
        code = cli_parse(app, argc - 2, argv + 2);
    if (code != 0)
        return code;
    if (app->options.help) {
        if (app->brief)
            cli_help_brief(stdout, app);
        else
            code = cli_help_command(app, stdout, CLI_TEXT, app->command);
        int written = cli_finish_output(app);
        return code != 0 ? code : written;
    }
    code = cli_check_files(app);
    if (code == 0)
        code = cli_check(app, tn_simd_check(app->ctx));
    if (code == 0 && app->options.report)
        code = cli_check(app, tn_output_check(app->ctx, app->options.report));
    if (code != 0)
        return code;
    code = apply_common(app);
    if (code == 0)
        code = app->command->run(app);
    cli_progress_clear();
    int written = cli_finish_output(app);
    return code != 0 ? code : written;
}

/* Freed memory stays with the program, up to a limit: pictures and blocks of rows come and go by the megabyte, and pages
 * that go back to the system each time cost more than decoding. Larger pieces go back at once. Who tunes the allocator
 * himself is left alone. */
static void keep_memory(void)
{
    enum { PIECE = 4 << 20, KEPT = 64 << 20 };
    if (getenv("GLIBC_TUNABLES"))
        return;
    mallopt(M_MMAP_THRESHOLD, PIECE);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}

int main(int argc, char **argv)
{
    char failure[CLI_LINE] = "";
    cli_app app = {.command = NULL, .failure = failure};
    keep_memory();
    int held = hold_streams(&app);
    if (held != 0)
        return held;
    if (argc < 2) {
        cli_help_short(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tenon %s\n", tn_version());
        return cli_finish_output(&app);
    }
    if (strcmp(argv[1], "-h") == 0) {
        cli_help_short(stdout);
        return cli_finish_output(&app);
    }
    const char *name = strcmp(argv[1], "--help") == 0 ? "help" : argv[1];
    app.command = cli_find_command(name);
    if (!app.command)
        return cli_no_such_command(&app, argv[1]);
    cli_use_best_kernels(argv);
    tn_machine_calm_blas();
    int code = EXIT_FAILED;
    char *line = join_words(argc, argv);
    app.line = line;
    app.args = calloc((size_t)argc, sizeof *app.args);
    app.words = calloc((size_t)argc, sizeof *app.words);
    if (!line || !app.args || !app.words || tn_ctx_new(&app.ctx) != TN_OK) {
        code = cli_fail(&app, EXIT_FAILED, "memory: the system refused to give any");
    } else {
        cli_watch_signals(app.ctx);
        cli_watch_warnings(&app);
        code = cli_team_begin(&app);
        if (code == 0 && !app.idle)
            code = run_command(&app, argc, argv);
        code = cli_team_end(&app, code);
    }
    cli_forget_warnings(&app);
    tn_options_free(app.library);
    cli_forget_pictures(&app);
    tn_ctx_free(app.ctx);
    free(app.args);
    free(app.words);
    free(line);
    return code;
}
