/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of a long extraction in parts on the disk, so that an interrupted one goes on where it was. */
#ifndef TNP_EXTRACT_PARTS_H
#define TNP_EXTRACT_PARTS_H

#include "base/base.h"

enum { TNP_PART_ROWS = 128 };

typedef struct tnp_parts {
    char *folder, *file; /* PATH.parts; scratch for the name of a file in it */
    size_t file_size, rows, cols;
} tnp_parts;

/* The folder of parts for `path`, made where it is not there. key: what the rows are made from; TN_ERR_ARG when parts of
 * another key are there. All zero before, tnp_parts_close after; what is on the disk stays. */
tn_status tnp_parts_open(tn_ctx *ctx, const char *path, const char *key, size_t rows, size_t cols, tnp_parts *out);
void tnp_parts_close(tnp_parts *parts);

size_t tnp_parts_count(const tnp_parts *parts);
/* Name of part i, until the next is asked for. */
const char *tnp_parts_name(tnp_parts *parts, size_t i);
bool tnp_parts_has(tnp_parts *parts, size_t i);
size_t tnp_parts_rows(const tnp_parts *parts, size_t i);
/* The rows of part i into out (its rows, cols). */
tn_status tnp_parts_read(tn_ctx *ctx, tnp_parts *parts, size_t i, float *out);
/* Takes all of it from the disk. */
void tnp_parts_remove(tnp_parts *parts);

#endif
