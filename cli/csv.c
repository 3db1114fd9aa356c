/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table as CSV (RFC 4180, lines end in LF), written beside its place until it is whole: cells left to right, a line
 * at a time. Texts that hold a comma, a quote or a line end are quoted. A failure is remembered and told by commit. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cli_csv {
    tn_ctx *ctx;
    tn_output *output;
    tn_status status;
    bool begun; /* the line has a cell */
};

static void put(cli_csv *csv, const char *bytes, size_t size)
{
    if (csv->status == TN_OK)
        csv->status = tn_output_write(csv->ctx, csv->output, bytes, size);
}

int cli_csv_new(cli_app *app, const char *path, cli_csv **out)
{
    cli_csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    csv->ctx = app->ctx;
    *out = csv;
    return cli_check(app, tn_output_open(app->ctx, path, &csv->output));
}

void cli_csv_open(cli_csv *csv)
{
    put(csv, ",\"", csv->begun ? 2 : 0);
    if (!csv->begun)
        put(csv, "\"", 1);
    csv->begun = true;
}

void cli_csv_more(cli_csv *csv, const char *text)
{
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"");
        put(csv, text, n);
        if (text[n] == '"') {
            put(csv, "\"\"", 2);
            ++n;
        }
    }
}

void cli_csv_close(cli_csv *csv)
{
    put(csv, "\"", 1);
}

static void put_plain(cli_csv *csv, const char *text)
{
    put(csv, ",", csv->begun ? 1 : 0);
    put(csv, text, strlen(text));
    csv->begun = true;
}

void cli_csv_text(cli_csv *csv, const char *text)
{
    if (!strpbrk(text, "\",\n\r")) {
        put_plain(csv, text);
        return;
    }
    cli_csv_open(csv);
    cli_csv_more(csv, text);
    cli_csv_close(csv);
}

void cli_csv_number(cli_csv *csv, double value)
{
    char text[32] = "";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.9g", value);
    put_plain(csv, text);
}

void cli_csv_end(cli_csv *csv)
{
    put(csv, "\n", 1);
    csv->begun = false;
}

int cli_csv_commit(cli_app *app, cli_csv *csv)
{
    if (csv->status == TN_OK)
        csv->status = tn_output_commit(csv->ctx, csv->output);
    return cli_check(app, csv->status);
}

void cli_csv_free(cli_csv *csv)
{
    if (!csv)
        return;
    tn_output_close(csv->output);
    free(csv);
}
