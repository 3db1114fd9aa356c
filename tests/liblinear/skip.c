/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for test_liblinear.c where LIBLINEAR is not installed. */
#include <stdio.h>

int main(void)
{
    puts("skipped: LIBLINEAR (liblinear-dev) is not installed");
    return 77;
}
