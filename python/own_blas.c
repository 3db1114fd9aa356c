/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the library of the Python package, which carries OpenBLAS, jansson and libpng in itself: what their archives need
 * besides the C library, and the kernels of OpenBLAS.
 *
 * The kernels that OpenBLAS should use are
 * chosen here, when the library is loaded and before OpenBLAS chooses. The program starts itself again with
 * OPENBLAS_CORETYPE set; an interpreter cannot, and has often loaded a BLAS of its own before, which is left alone.
 *
 * OpenBLAS chooses once, in gotoblas_dynamic_init; gotoblas_dynamic_quit forgets the choice, and nothing is allocated
 * or computed in between. The variable is set for the second choice only. What the user has set stays. */
#define _GNU_SOURCE
#include "algebra/blas.h"
#include "base/cpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char CORETYPE[] = "OPENBLAS_CORETYPE";

/* Of OpenBLAS with DYNAMIC_ARCH only. */
__attribute__((weak)) void gotoblas_dynamic_init(void);
__attribute__((weak)) void gotoblas_dynamic_quit(void);

/* 101 is the first that programs may use; OpenBLAS has no number, and comes later. */
__attribute__((constructor(101))) static void choose_kernels(void)
{
    if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit || getenv(CORETYPE))
        return;
    tnp_cpu cpu = tnp_cpu_look();
    gotoblas_dynamic_init();
    const char *advice = tnp_blas_advice(tnp_blas_config(), tnp_blas_kernels(), cpu.avx2, cpu.avx512, cpu.intel);
    if (!advice || setenv(CORETYPE, advice, 1) != 0)
        return;
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv(CORETYPE);
}

/* The one routine of Fortran's run-time library that the LAPACK of OpenBLAS asks for where tenon uses it: a // b, cut or
 * filled with blanks. The library itself cannot be linked into a shared object. */
void _gfortran_concat_string(size_t size, char *out, size_t a_size, const char *a, size_t b_size, const char *b);
void _gfortran_concat_string(size_t size, char *out, size_t a_size, const char *a, size_t b_size, const char *b)
{
    size_t from_a = a_size < size ? a_size : size, left = size - from_a;
    size_t from_b = b_size < left ? b_size : left;
    memcpy(out, a, from_a);
    memcpy(out + from_a, b, from_b);
    memset(out + from_a + from_b, ' ', left - from_b);
}

/* The archives of jansson and libpng are not made for shared libraries and want the streams of the C library nearby: the
 * linker is told to take these (cmake/python.cmake). jansson compares with stdin in a function that tenon never calls;
 * stderr, which OpenBLAS writes to as well, gets the value that it has elsewhere. */
extern void *tnp_no_stream, *tnp_error_stream;
void *tnp_no_stream, *tnp_error_stream;

__attribute__((constructor(101))) static void find_streams(void)
{
    void **found = dlsym(RTLD_DEFAULT, "stderr");
    if (found)
        tnp_error_stream = *found;
}
