/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team of processes from inside. The rule that everything else follows from: every member runs the same code on the
 * same numbers. Who loops over rows takes its part, tnp_team_part, and adds up or gathers behind the loop; what is not
 * shared is done by all, which is slower and as right. Sums come back to all members with the same bits, so that all
 * take the same way from there on.
 *
 * Without a team all of these return at once: code that shares its rows has no second way for one process. They are
 * called from the calling thread only, never by bodies of tnp_parallel. */
#ifndef TNP_TEAM_H
#define TNP_TEAM_H

#include "base/base.h"
#include "tenon/team.h"

typedef struct tnp_team tnp_team;

/* What the plug-in gives. All return 0, or a number that `why` has words for. Members call them in the same order with
 * the same sizes. */
enum { TNP_TEAM_VERSION = 1 };
typedef struct tnp_team_engine {
    size_t version;
    void (*name)(char *text, size_t size);
    int (*join)(void **self, size_t *rank, size_t *size, size_t *here, char *host, size_t host_size);
    int (*sum)(void *self, double *x, size_t n);                        /* the same bits for all */
    int (*most)(void *self, double *x, size_t n);                       /* the largest of every x[i] */
    int (*share)(void *self, size_t from, void *x, size_t n);           /* n bytes of member `from` to all */
    int (*gather)(void *self, void *x, size_t item, const size_t *cut); /* items [cut[r], cut[r + 1]) are member r's */
    void (*why)(int code, char *text, size_t size);
    void (*leave)(void *self);
} tnp_team_engine;
/* The one function of a plug-in. */
#define TNP_TEAM_ENTRY "tenon_team_engine"
typedef const tnp_team_engine *(*tnp_team_entry)(void);

/* Makes ctx a member; free with tn_team_leave, or with the context. */
tn_status tnp_team_enter(tn_ctx *ctx, const tnp_team_engine *engine);

/* Rows [*from, *to) are this member's: parts follow each other, are as even as whole multiples of `unit` rows allow, and
 * the first is empty only where there are no rows. Rows that are read from files are shared by their bytes instead:
 * tnp_feeds_cut, in transform/feed.h. */
void tnp_team_part(const tn_ctx *ctx, size_t rows, size_t unit, size_t *from, size_t *to);
/* The same where parts begin at the rows cut (members + 1). */
void tnp_team_own(const tn_ctx *ctx, const size_t *cut, size_t *from, size_t *to);
/* Whether there is another member at all, and how many share the work: 1 without a team, and while it is paused. */
bool tnp_team_shares(const tn_ctx *ctx);
size_t tnp_team_size(const tn_ctx *ctx);

/* x[i] of all members added up, or the largest; of rank 0. */
tn_status tnp_team_sum(tn_ctx *ctx, double *x, size_t n);
tn_status tnp_team_most(tn_ctx *ctx, double *x, size_t n);
tn_status tnp_team_share(tn_ctx *ctx, void *bytes, size_t n);
/* Items of `size` bytes, one per row: every member has its part of tnp_team_part, and gets all others. */
tn_status tnp_team_gather(tn_ctx *ctx, void *items, size_t rows, size_t unit, size_t size);
/* The same of parts that begin at the rows cut (members + 1). */
tn_status tnp_team_gather_cut(tn_ctx *ctx, void *items, const size_t *cut, size_t size);
/* And of any list: rows (count), ascending; items of those that are in the member's part. */
tn_status tnp_team_gather_picked(tn_ctx *ctx, void *items, const size_t *rows, size_t count, const size_t *cut,
                                 size_t size);
/* Which of a list of rows, ascending, are in the member's part: rows[*from .. *to). */
void tnp_team_picked(const tn_ctx *ctx, const size_t *rows, size_t count, const size_t *cut, size_t *from, size_t *to);
/* TN_ERR_DATA where members have other bytes, as of a file that not all of them see alike; `what` names it. */
tn_status tnp_team_same(tn_ctx *ctx, const char *what, const void *bytes, size_t n);

/* The least that any member has left of its memory: for decisions that all must take alike. */
tn_status tnp_team_budget_left(tn_ctx *ctx, size_t *left);

/* Calls between the two are this member's own: as if there were no team, but for deadlines. */
bool tnp_team_pause(tn_ctx *ctx);
void tnp_team_resume(tn_ctx *ctx, bool was);

#endif
