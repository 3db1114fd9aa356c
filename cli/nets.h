/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of a command line (nets.c). */
#ifndef TENON_CLI_NETS_H
#define TENON_CLI_NETS_H

#include "cli.h"

/* All of them; the last is for commands that apply heads. The first few, for a command with many options: the rest of the
 * preparation stands in JSON beside the network. */
enum { CLI_NET_FIELDS = 15, CLI_NET_MAIN = 5 };
extern const tn_field cli_net_fields[CLI_NET_FIELDS];

typedef struct cli_networks {
    tn_network **items;
    char **names; /* NAME of NAME=FILE, or the file's name up to its first dot */
    size_t count;
} cli_networks;

/* Those that app->head remembers, by --net of the same name from another place; without such a head those of --net.
 * Owned by the caller, also after a failure. */
int cli_networks_open(cli_app *app, cli_networks *out);
void cli_networks_close(cli_networks *networks);
const tn_network *const *cli_networks_view(const cli_networks *networks);

/* A folder, a list, or a picture, by its name. */
bool cli_is_image(const char *word);
enum { CLI_AS_BAG = 4 }; /* word of --as */
/* The file that --net gives for a name; NULL: none. */
const char *cli_net_given_for(const cli_app *app, const char *name);
/* Did an encoder make the rows of representation i? */
bool cli_remembers_encoder(const tn_head *head, size_t i);
/* Are these words IMAGES? With --encoder or --net; where the head remembers networks or encoders and the first is no file
 * of a representation; and where none is applied and the first is a picture, holds pictures, or lists them. */
bool cli_takes_images(const cli_app *app, const char *const *words, size_t count);
/* Rows of app->pictures by every network, behind those that are in `out`, which has memory for them. */
int cli_features_of_networks(cli_app *app, cli_features *out);
int cli_info_network(cli_app *app, FILE *out, const char *path);

#endif
