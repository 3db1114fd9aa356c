/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded before OpenBLAS: calls its kernels Prescott, as it does on a processor it does not know, until
 * OPENBLAS_CORETYPE asks for others; then the library itself answers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

char *openblas_get_corename(void);

char *openblas_get_corename(void)
{
    static char old[] = "Prescott";
    union {
        void *object;
        char *(*function)(void);
    } real;
    if (!getenv("OPENBLAS_CORETYPE"))
        return old;
    real.object = dlsym(RTLD_NEXT, "openblas_get_corename");
    return real.object ? real.function() : old;
}
