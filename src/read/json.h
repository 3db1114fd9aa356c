/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON from files. */
#ifndef TNP_READ_JSON_H
#define TNP_READ_JSON_H

#include "base/base.h"

#include <jansson.h>

/* Files with more are refused before they are parsed; docs/formats.md tells users. */
enum { TNP_JSON_DEPTH = 32, TNP_JSON_VALUES = 1 << 22, TNP_JSON_BYTES = 100000000 };

typedef struct tnp_json {
    json_t *root; /* borrowed parts of it live as long as this */
    tn_ctx *ctx;
    size_t held;
} tnp_json;

/* Parses text of `size` bytes; repeated keys are refused. Messages begin with `path` and count bytes from `at`; `what`
 * is the text's name in them. TN_ERR_FORMAT, TN_ERR_BUDGET, TN_ERR_MEMORY. */
tn_status tnp_json_parse(tn_ctx *ctx, const char *path, const char *what, size_t at, const char *text, size_t size,
                         tnp_json *out);
/* One that was never parsed, all zero, is legal. */
void tnp_json_free(tnp_json *json);

#endif
