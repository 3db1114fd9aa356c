/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout of the context: for src/base only. */
#ifndef TNP_CTX_H
#define TNP_CTX_H

#include "base/base.h"

#include <stdatomic.h>

struct tnp_pool;
struct tnp_team;

/* What the objects of a context need of it as long as they live. Every block holds it, so that objects may be freed in
 * any order, the context among them: the last one frees it. */
typedef struct tnp_ledger {
    atomic_size_t holders; /* blocks that are alive, and the context */
    atomic_size_t live_bytes, peak_bytes;
    atomic_size_t kept_files;   /* descriptors that input files hold, see input.c */
    atomic_size_t io_countdown; /* tests: 0 off, 1 fails the next call on a file */
    tnp_io_fn io_watch;         /* tests: asked before calls on files */
    void *io_arg;
} tnp_ledger;

struct tn_ctx {
    tnp_ledger *ledger;
    size_t threads;
    bool holds_gate;       /* of tnp_blas_hold */
    struct tnp_pool *pool; /* made on first use, see threads.c */
    size_t budget;         /* bytes; 0: none */
    size_t fail_countdown; /* tests: 0 off, 1 fails the next allocation */
    atomic_int cancelled;
    const struct tn_ctx *caller; /* of one of a crew: whose interrupts are its own; NULL: nobody's */
    double deadline;             /* of tnp_seconds; 0: none */
    tn_progress_fn progress;
    void *progress_user;
    double share; /* of the whole that is done, see progress.c */
    tnp_share part, stage_part;
    tnp_share root; /* of a call within a call; {0, 0}: there is none around */
    char stage[40];
    char title[64];    /* told instead of stages; "": none */
    double stage_done; /* of the stage */
    tn_warning_fn warning;
    void *warning_user;
    struct tnp_team *team; /* NULL: alone, see team.h */
    bool team_paused;
    char message[1024];
};

void tnp_pool_free(struct tnp_pool *pool);
/* Without a word to the others: tn_team_leave has told them, or the process ends. NULL is legal. */
void tnp_team_free(struct tnp_team *team);
/* One holder less. */
void tnp_ledger_leave(tnp_ledger *ledger);

/* What tests want to happen to the next call on a file, see tnp_watch_io. */
int tnp_io_ask(tnp_ledger *ledger, tnp_io what, const char *path);

#endif
