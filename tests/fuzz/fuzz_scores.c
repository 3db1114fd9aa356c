/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon eval --scores: any bytes as scores and any bytes as labels. A first byte: bit 0 JSON, bit 1 probabilities, bit
 * 2 a line a class, bit 3 labels in .npy, bits 4 and 5 the task, bits 6 and 7 what is done with NaN. Then two parts. */
#include "fuzz_cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char scores[FUZZ_PATH], labels[FUZZ_PATH];
    fuzz_input in = {data, size};
    fuzz_program program;
    uint8_t how = fuzz_byte(&in);
    tn_ctx *ctx = fuzz_begin();
    fuzz_part_file(&in, "-scores.npy", scores);
    fuzz_part_file(&in, how & 8 ? "-labels.npy" : "-labels.txt", labels);
    fuzz_program_begin(&program, ctx, "eval");
    cli_options *options = &program.app.options;
    options->scores = scores;
    options->labels = labels;
    options->json = how & 1;
    options->proba = (how & 2) != 0;
    options->per_class = (how & 4) != 0;
    options->task = how >> 4 & 3;
    options->nan = (how >> 6) % 3;
    fuzz_program_end(&program, cmd_eval(&program.app));
    unlink(scores);
    fuzz_end(ctx, labels);
    return 0;
}
