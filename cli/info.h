/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tenon info says of each kind of file, as a JSON object or as lines. */
#ifndef TENON_CLI_INFO_H
#define TENON_CLI_INFO_H

#include "cli.h"

int info_features(cli_app *app, FILE *out, const tn_features *features);
int info_labels(cli_app *app, FILE *out, const char *path);
int info_head(cli_app *app, FILE *out, const char *path);
int info_encoder(cli_app *app, FILE *out, const char *path); /* cmd_encoder.c */
int info_pq(cli_app *app, FILE *out, const char *path);
int info_moments(cli_app *app, FILE *out, const char *path);
int info_kernel(cli_app *app, FILE *out, const char *path);

#endif
