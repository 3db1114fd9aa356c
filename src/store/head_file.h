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

/* ---- what of a head is no number: task, classes, representations; other containers have it too ---- */

/* The name of the tensor of a learned map, or of an encoder. */
typedef struct tnp_map_name {
    char text[48];
} tnp_map_name;

/* Metadata classes and representations; both are the caller's, free with tn_text_free, also after a failure. */
tn_status tnp_like_json(tn_ctx *ctx, const tn_head *head, char **classes, char **reps);
/* Tensors of learned maps, as many as are returned; names (rep_count) holds what they are called. */
size_t tnp_like_maps(const tn_head *head, tnp_map_name *names, tnp_tensor *tensors);
/* Tensors of encoders, the same way; their sizes are multiples of 4. */
size_t tnp_like_encoders(const tn_head *head, tnp_map_name *names, tnp_tensor *tensors);
/* The encoder that makes representation r, where there is one; what it holds is looked at when it is used. */
tn_status tnp_like_load_encoder(tn_ctx *ctx, const tnp_safetensors *file, const char *path, size_t r, tnp_rep *rep);
/* From the metadata task, classes and representations: a head of so many classes and columns, which they must have. */
tn_status tnp_like_read(tn_ctx *ctx, const tnp_safetensors *file, size_t classes, size_t dim, const char *method,
                        tn_head **out);

#endif
