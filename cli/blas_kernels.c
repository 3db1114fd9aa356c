/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenBLAS picks its kernels when it is loaded, by a table of processors it knows. On one it does not know, or
 * behind a hypervisor that hides the name, it falls back to kernels of twenty years ago and the matrix product
 * runs at a fraction of its speed. OPENBLAS_CORETYPE overrides the choice but is read at load time only: so the
 * program sets it and starts itself again, once. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char CORETYPE[] = "OPENBLAS_CORETYPE", GUARD[] = "TENON_REEXEC";

void cli_use_best_kernels(char **argv)
{
    if (getenv(GUARD) || getenv(CORETYPE))
        return;
    tn_machine machine;
    tn_machine_look(&machine);
    if (!machine.blas_advice[0])
        return;
    if (setenv(CORETYPE, machine.blas_advice, 1) != 0 || setenv(GUARD, "1", 1) != 0)
        return;
    execv("/proc/self/exe", argv);
    /* Not to be had here: slower, but right. */
    unsetenv(CORETYPE);
    unsetenv(GUARD);
}

const char *cli_kernels_chosen_by(void)
{
    if (getenv(GUARD))
        return "tenon";
    return getenv(CORETYPE) ? "user" : "blas";
}
