/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON to a stream, for results that are as long as the data and must not be held in memory. The program never calls
 * setlocale: numbers have a decimal point. */
#include "cli.h"

#include <math.h>

void cli_json_string(FILE *out, const char *text)
{
    char piece[8];
    fputc('"', out);
    for (size_t n; (n = tn_json_char(text, piece)) != 0; text += n)
        fputs(piece, out);
    fputc('"', out);
}

void cli_json_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.17g", value);
    else
        fputs("null", out);
}
