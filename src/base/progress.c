/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress: the share of a call's whole work that is done, which rises from 0 to 1 and never falls, though the work is
 * nested (candidates, in each of them reading, in that blocks of rows) and nobody knows the number of all its stages
 * beforehand.
 *
 * Code that knows its steps deals out parts of the whole: candidate c of n is [c/n, (c+1)/n]. What is told within a
 * part and is no step of anything is a stage: it takes half of what is left of the part,
 *
 *   from = max(share, part.from)     to = from + (part.to - from) / 2     share = from + (to - from) done / total
 *
 * so there is always room for the next. Equal shares for all stages were refused: they need their number. */
#define _POSIX_C_SOURCE 200809L
#include "base/ctx.h"

#include <stdio.h>
#include <string.h>

static const double STAGE = 0.5; /* of what is left of the part */

/* ---- parts ---- */

static void enter(tn_ctx *ctx, tnp_share part)
{
    ctx->part = part;
    ctx->stage[0] = '\0';
}

static bool is_within(const tn_ctx *ctx)
{
    return ctx->root.to > 0;
}

tnp_share tnp_progress_begin(tn_ctx *ctx)
{
    bool within = is_within(ctx);
    if (!within) {
        ctx->share = 0;
        ctx->title[0] = '\0';
    }
    enter(ctx, within ? ctx->root : (tnp_share){0, 1});
    return ctx->part;
}

tnp_share tnp_progress_within(tn_ctx *ctx, tnp_share part)
{
    tnp_share before = ctx->root;
    ctx->root = part;
    return before;
}

tnp_share tnp_progress_now(const tn_ctx *ctx)
{
    return ctx->part;
}

tnp_share tnp_progress_part(tn_ctx *ctx, tnp_share whole, double from, double to)
{
    double size = whole.to - whole.from;
    enter(ctx, (tnp_share){whole.from + size * from, whole.from + size * to});
    return ctx->part;
}

/* ---- telling ---- */

void tnp_progress_title(tn_ctx *ctx, const char *title)
{
    snprintf(ctx->title, sizeof ctx->title, "%s", title);
}

bool tnp_progress_is_titled(const tn_ctx *ctx)
{
    return ctx->title[0] != '\0';
}

void tn_ctx_set_progress(tn_ctx *ctx, tn_progress_fn fn, void *user)
{
    ctx->progress = fn;
    ctx->progress_user = user;
    (void)tnp_progress_begin(ctx);
}

/* Rounding of parts of parts must not lead below what was told, or above 1. */
static tn_status tell(tn_ctx *ctx, const char *stage, double share)
{
    share = share < 1 ? share : 1;
    ctx->share = share > ctx->share ? share : ctx->share;
    if (ctx->progress)
        ctx->progress(ctx->progress_user, ctx->title[0] ? ctx->title : stage, ctx->share);
    return tnp_cancelled(ctx);
}

/* A name that was not the last, or a stage that goes back, is a new one. */
static void enter_stage(tn_ctx *ctx, const char *stage, double done)
{
    if (strncmp(stage, ctx->stage, sizeof ctx->stage - 1) == 0 && done >= ctx->stage_done)
        return;
    snprintf(ctx->stage, sizeof ctx->stage, "%s", stage);
    double from = ctx->share > ctx->part.from ? ctx->share : ctx->part.from;
    double left = ctx->part.to > from ? ctx->part.to - from : 0;
    ctx->stage_part = (tnp_share){from, from + STAGE * left};
}

tn_status tnp_progress(tn_ctx *ctx, const char *stage, size_t done, size_t total)
{
    double share = total ? (double)done / (double)total : 0;
    enter_stage(ctx, stage, share);
    ctx->stage_done = share;
    return tell(ctx, stage, ctx->stage_part.from + share * (ctx->stage_part.to - ctx->stage_part.from));
}

tn_status tnp_progress_step(tn_ctx *ctx, tnp_share whole, const char *stage, size_t done, size_t total)
{
    double step = 1 / (double)tnp_max(total, 1);
    tnp_share part = tnp_progress_part(ctx, whole, (double)done * step, (double)(done + 1) * step);
    return tell(ctx, stage, part.from);
}

tn_status tnp_progress_end(tn_ctx *ctx)
{
    return is_within(ctx) ? tell(ctx, ctx->stage, ctx->root.to) : tell(ctx, "done", 1);
}
