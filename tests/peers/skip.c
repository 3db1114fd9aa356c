/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for the test against a peer that is not installed; MISSING names it. */
#include <stdio.h>

int main(void)
{
    puts("skipped: " MISSING " is not installed");
    return 77;
}
