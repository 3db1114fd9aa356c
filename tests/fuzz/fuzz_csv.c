/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target of the .csv reader. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_features("csv", data, size);
}
