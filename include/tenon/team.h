/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several processes that share the rows of one piece of work, on one machine or on many: a team, whose members have
 * ranks from 0 on. Every member makes the same calls with the same arguments; each reads its part of the rows, sums are
 * added up over all, and every member gets the whole result. Only rank 0 writes files. What a call does not share is
 * done by every member, and comes out the same.
 *
 * The engine is MPI, in a plug-in (libtenon_mpi.so) that is loaded when a team is joined: nothing else needs MPI. All
 * members must see the same files. docs/scale.md tells what is sent. */
#ifndef TENON_TEAM_H
#define TENON_TEAM_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Was this process started as one of several, by mpirun or a scheduler's own launcher? By the variables that they set;
 * *size is 0 where they do not tell. Environment TENON_MPI=no: never. */
TN_API bool tn_team_started(size_t *rank, size_t *size);

/* Joins the team that this process was started in; calls with ctx are shared from then on. A process joins once.
 * TN_ERR_UNSUPPORTED, with what to do, when there is no plug-in, or one of another MPI than the launcher's. The plug-in
 * is TENON_MPI, when that is a path, or lies beside the program or library, or where the system's loader finds it. */
TN_API tn_status tn_team_join(tn_ctx *ctx);
/* 0 of 1 for a context that is in no team; here: members on this machine. */
TN_API size_t tn_team_rank(const tn_ctx *ctx);
TN_API size_t tn_team_size(const tn_ctx *ctx);
TN_API size_t tn_team_here(const tn_ctx *ctx);
/* Threads and memory budget become the least that any member has: choices that go by them are then the same. */
TN_API tn_status tn_team_level(tn_ctx *ctx);
/* The last call of a member, which waits for all others. code: 0, or how its work failed, and why in one line. Returns 0
 * when all went well, else the code of the first that failed, whose rank, machine and reason tn_ctx_message then tells.
 * A member that failed must say so here: others that wait for it fail then too. Without a team: code. */
TN_API int tn_team_leave(tn_ctx *ctx, int code, const char *why);

/* Is there a plug-in? name: the MPI that it was made for; path: where it is. TN_ERR_UNSUPPORTED tells how to get it. */
TN_API tn_status tn_team_look(tn_ctx *ctx, char name[128], char path[512]);

#ifdef __cplusplus
}
#endif
#endif
