/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures, bags and encoders of a command line (pictures.c, encoders.c). */
#ifndef TENON_CLI_PICTURES_H
#define TENON_CLI_PICTURES_H

#include "cli.h"

enum { CLI_STOP, CLI_SKIP }; /* words of --on-error */

typedef struct cli_encoders {
    tn_encoder **items;
    char **names;          /* NAME of NAME=FILE, or the file's name up to its first dot */
    tn_network **networks; /* that make their bags; NULL: pictures are described */
    size_t count;
} cli_encoders;

/* IMAGES into app->pictures, in the place of those that were there; broken ones left out with --on-error skip. */
int cli_images_open(cli_app *app, const char *const *images, size_t count);
/* The files of --encoder. Owned by the caller, also after a failure. */
int cli_encoders_open(cli_app *app, cli_encoders *out);
void cli_encoders_close(cli_encoders *encoders);
/* app->encoders, once per command: those that app->head remembers, those of --encoder, and, learned from app->pictures,
 * the default ones and one for every --net that makes bags. */
int cli_encoders_prepare(cli_app *app);
/* Vectors of IMAGES by all of them, and by every other --net. */
int cli_features_of_images(cli_app *app, const char *const *images, size_t count, cli_features *out);
/* --bags with --offsets. */
int cli_bags_open(cli_app *app, tn_bags **out);
/* What an encoder is, as members of a JSON object (cmd_encoder.c). */
void cli_put_encoder(FILE *out, const tn_encoder *encoder);
/* tenon encoder refine (cmd_refine.c). */
int cli_refine(cli_app *app);

#endif
