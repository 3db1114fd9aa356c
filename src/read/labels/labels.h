/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the label readers. `names` and `ids` of a tn_labels are single blocks as tnp_strings_new makes them;
 * every array of it is released by one tnp_free. */
#ifndef TNP_LABELS_H
#define TNP_LABELS_H

#include "base/base.h"
#include "tenon/read.h"

enum { TNP_MAX_CLASSES = 1 << 24 };

/* Both fill labels whose path and task are set; task is AUTO when the file decides. */
tn_status tnp_labels_from_array(tn_ctx *ctx, tn_labels *labels);
tn_status tnp_labels_from_text(tn_ctx *ctx, tn_labels *labels);
/* The text itself, borrowed until return. */
tn_status tnp_labels_from_lines(tn_ctx *ctx, tn_labels *labels, const tnp_bytes *text);
/* *words tells whether the file is a .npy of text, from which the labels are then filled. */
tn_status tnp_labels_from_words(tn_ctx *ctx, tn_labels *labels, bool *words);

/* The name of the first row's class, when no other row has it and it reads like the head of a column; else NULL. */
const char *tnp_labels_header(const tn_labels *labels);

/* Names "0" .. "count-1". */
tn_status tnp_labels_number(tn_ctx *ctx, tn_labels *labels, size_t count);
/* Sorts the classes of each row and drops repetitions; first and cls must be set. */
void tnp_labels_tidy(tn_labels *labels);
/* Allocates known, and values (regression) or first (else). */
tn_status tnp_labels_rows(tn_ctx *ctx, tn_labels *labels, size_t rows);

#endif
