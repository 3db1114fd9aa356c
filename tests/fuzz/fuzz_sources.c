/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sources of a transfer: a folder of two files that may be heads, and one file that may be a head or scores. */
#include "fuzz_cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[FUZZ_PATH], inside[2][FUZZ_PATH], file[FUZZ_PATH], named[FUZZ_PATH + 2];
    fuzz_input in = {data, size};
    fuzz_program program;
    uint8_t how = fuzz_byte(&in);
    tn_ctx *ctx = fuzz_begin();
    fuzz_path(folder, "-sources");
    if (mkdir(folder, 0700) != 0 && access(folder, W_OK) != 0)
        abort();
    fuzz_part_file(&in, "-sources/a.safetensors", inside[0]);
    fuzz_part_file(&in, how & 1 ? "-sources/b.safetensors" : "-sources/b.npy", inside[1]);
    fuzz_part_file(&in, how & 2 ? "-source.safetensors" : "-source.npy", file);
    snprintf(named, sizeof named, "d=%s", file);
    fuzz_program_begin(&program, ctx, "predict");
    const char *words[] = {folder, named};
    cli_sources sources = {NULL, NULL, 0};
    int code = cli_sources_open(&program.app, &(tn_words){words, 2}, &sources);
    for (size_t i = 0; code == EXIT_FINE && i < sources.count; ++i)
        if (!sources.list[i].name || !sources.list[i].scores == !sources.list[i].head)
            abort();
    cli_sources_close(&sources);
    fuzz_program_end(&program, code);
    unlink(inside[0]);
    unlink(inside[1]);
    rmdir(folder);
    fuzz_end(ctx, file);
    return 0;
}
