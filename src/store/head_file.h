/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heads in containers that may hold more than a head. */
#ifndef TNP_HEAD_FILE_H
#define TNP_HEAD_FILE_H

#include "learn/head/head.h"
#include "store/store.h"

/* As tn_head_save, with further tensors beside those of the head. */
tn_status tnp_head_save_with(tn_ctx *ctx, const tn_head *head, const tnp_tensor *more, size_t more_count,
                             const char *command, const tnp_store_to *to);
/* As tn_head_load, of an open container; other tensors in it do not matter. */
tn_status tnp_head_read(tn_ctx *ctx, const tnp_safetensors *file, tn_head **out);

#endif
