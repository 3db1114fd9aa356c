/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for test_vlfeat.c where VLFeat is not installed. */
#include <stdio.h>

int main(void)
{
    puts("skipped: VLFeat (libvlfeat-dev) is not installed");
    return 77;
}
