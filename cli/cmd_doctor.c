/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon doctor: what this machine gives. The speed of the matrix product is measured, because its name does not
 * tell whether the BLAS uses the processor. */
#include "cli.h"

enum { ORDER = 1024 }; /* 2 GFLOP a product: long enough to measure, short enough to wait for */

typedef struct speeds {
    double one, all;
    size_t threads;
} speeds;

static int measure(cli_app *app, speeds *out)
{
    int code = EXIT_FINE;
    out->threads = tn_ctx_threads(app->ctx);
    tn_ctx_set_threads(app->ctx, 1);
    CLI_TRY(cli_check(app, tn_machine_gemm_speed(app->ctx, ORDER, &out->one)));
    tn_ctx_set_threads(app->ctx, out->threads);
    CLI_TRY(cli_check(app, tn_machine_gemm_speed(app->ctx, ORDER, &out->all)));
done:
    return code;
}

/* The plug-in by which processes share their rows. */
typedef struct plugin {
    char name[128], path[512];
} plugin;

static void print_json(const cli_app *app, const tn_machine *m, const speeds *s, const tn_engine *e, const plugin *mpi)
{
    printf("{\"command\":\"doctor\",\"version\":");
    cli_json_string(stdout, tn_version());
    printf(",\"cores\":%zu,\"memory_total\":%zu,\"memory_available\":%zu", m->cores, m->memory_total,
           m->memory_available);
    const char *const texts[][2] = {
        {"cpu", m->cpu},
        {"simd", m->simd},
        {"blas", m->blas},
        {"blas_kernels", m->blas_kernels},
        {"blas_kernels_chosen_by", cli_kernels_chosen_by()},
        {"blas_advice", m->blas_advice},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        printf(",\"%s\":", texts[i][0]);
        cli_json_string(stdout, texts[i][1]);
    }
    printf(",\"threads\":%zu,\"gemm_gflops_one_thread\":", s->threads);
    cli_json_number(stdout, s->one);
    printf(",\"gemm_gflops\":");
    cli_json_number(stdout, s->all);
    printf(",\"onnxruntime\":");
    cli_json_string(stdout, e->version);
    printf(",\"onnxruntime_path\":");
    cli_json_string(stdout, e->path);
    printf(",\"mpi\":");
    cli_json_string(stdout, mpi->name);
    printf(",\"mpi_path\":");
    cli_json_string(stdout, mpi->path);
    cli_json_end(app, stdout);
}

static void print_table(const tn_machine *m, const speeds *s, const tn_engine *e, const char *no_engine)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    cli_say(stdout, "version       tenon %s\n", tn_version());
    cli_say(stdout, "processor     %s\n", *m->cpu ? m->cpu : "unknown");
    cli_say(stdout, "cores         %zu\n", m->cores);
    cli_say(stdout, "memory        %.1f GiB, %.1f GiB free\n", (double)m->memory_total / gib,
            (double)m->memory_available / gib);
    cli_say(stdout, "SIMD kernels  %s\n", m->simd);
    cli_say(stdout, "BLAS          %s\n", *m->blas ? m->blas : "unknown");
    cli_say(stdout, "BLAS kernels  %s (chosen by %s)\n", *m->blas_kernels ? m->blas_kernels : "unknown",
            cli_kernels_chosen_by());
    if (*m->blas_advice)
        cli_say(stdout, "better ones   %s: set OPENBLAS_CORETYPE=%s\n", m->blas_advice, m->blas_advice);
    cli_say(stdout, "sgemm speed   %.1f GFLOP/s with 1 thread", s->one);
    if (s->threads > 1)
        cli_say(stdout, ", %.1f with %zu", s->all, s->threads);
    cli_say(stdout, "\n");
    if (*e->version)
        cli_say(stdout, "networks      ONNX Runtime %s, %s\n", e->version, e->path);
    else
        cli_say(stdout, "networks      %s\n", no_engine);
}

/* The last line, which may be a reason. */
static void print_plugin(const cli_app *app, const plugin *mpi)
{
    if (*mpi->name)
        cli_say(stdout, "MPI           %s, %s\n", mpi->name, mpi->path);
    else
        cli_say(stdout, "MPI           %s\n", tn_ctx_message(app->ctx));
}

int cmd_doctor(cli_app *app)
{
    tn_machine machine;
    speeds s = {0, 0, 0};
    tn_machine_look(&machine);
    int code = measure(app, &s);
    if (code != 0)
        return code;
    cli_progress_clear();
    tn_engine engine = {.version = ""};
    plugin mpi = {.name = ""};
    bool found = tn_engine_look(app->ctx, &engine) == TN_OK;
    if (!app->options.json)
        print_table(&machine, &s, &engine, found ? "" : tn_ctx_message(app->ctx));
    if (tn_team_look(app->ctx, mpi.name, mpi.path) != TN_OK)
        *mpi.name = *mpi.path = 0;
    if (app->options.json)
        print_json(app, &machine, &s, &engine, &mpi);
    else
        print_plugin(app, &mpi);
    return EXIT_FINE;
}
