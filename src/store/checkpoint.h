/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of an online training as a file, from which a run that was killed goes on. */
#ifndef TNP_CHECKPOINT_H
#define TNP_CHECKPOINT_H

#include "learn/online/online_search.h"

/* `run` names options and data: a checkpoint is for the run that wrote it only. Written beside and renamed: the one
 * before stays until this one is whole. TN_ERR_OUTPUT. */
tn_status tnp_checkpoint_save(tn_ctx *ctx, const char *path, const char *run, const tnp_online_search *search);
/* Puts a search that has not begun where the checkpoint was. *found false: there is no such file. TN_ERR_DATA when it
 * is of another run, TN_ERR_FORMAT when it is none. */
tn_status tnp_checkpoint_load(tn_ctx *ctx, const char *path, const char *run, const tnp_online_plan *plan,
                              tnp_online_search *search, bool *found);

#endif
