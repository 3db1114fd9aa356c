/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that tenon info prints. The first byte chooses: bits 0 to 2 the suffix, bit 3 JSON, bits 4 and 5 the
 * task. */
#include "fuzz_cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const suffixes[] = {"safetensors", "npy", "txt", "csv", "svm", "npz", "fvecs", "safetensors"};
    char path[FUZZ_PATH];
    fuzz_program program;
    if (size == 0)
        return 0;
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, suffixes[data[0] & 7], data + 1, size - 1);
    fuzz_program_begin(&program, ctx, "info");
    program.app.options.json = (data[0] & 8) != 0;
    program.app.options.task = data[0] >> 4 & 3;
    program.args[program.app.arg_count++] = path;
    fuzz_program_end(&program, cmd_info(&program.app));
    fuzz_end(ctx, path);
    return 0;
}
