/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The context: settings, the last message, the cancel flag. It and its ledger are allocated with calloc because they
 * are what counts every other allocation. */
#define _POSIX_C_SOURCE 200809L
#include "base/ctx.h"
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

tn_status tn_ctx_new(tn_ctx **out)
{
    tn_ctx *ctx = calloc(1, sizeof *ctx);
    tnp_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ctx || !ledger) {
        free(ctx);
        free(ledger);
        return TN_ERR_MEMORY;
    }
    atomic_store(&ledger->holders, 1);
    ctx->ledger = ledger;
    tn_ctx_set_threads(ctx, 0);
    *out = ctx;
    return TN_OK;
}

tn_status tnp_ctx_beside(tn_ctx *ctx, size_t threads, size_t share, tn_ctx **out)
{
    size_t left = tnp_budget_left(ctx);
    if (tn_ctx_new(out) != TN_OK)
        return tnp_fail(ctx, TN_ERR_MEMORY, "memory: the system refused to give any");
    tn_ctx_set_threads(*out, threads);
    if (left != SIZE_MAX)
        tn_ctx_set_memory(*out, tnp_max(1, left / share));
    return TN_OK;
}

void tn_ctx_free(tn_ctx *ctx)
{
    if (!ctx)
        return;
    tnp_pool_free(ctx->pool);
    tnp_team_free(ctx->team);
    tnp_ledger_leave(ctx->ledger);
    free(ctx);
}

void tn_ctx_set_threads(tn_ctx *ctx, size_t threads)
{
    if (threads == 0)
        threads = tnp_max(tnp_usable_cores(), 1);
    if (threads != ctx->threads) {
        tnp_pool_free(ctx->pool);
        ctx->pool = NULL;
    }
    ctx->threads = threads;
}

size_t tn_ctx_threads(const tn_ctx *ctx)
{
    return ctx->threads;
}

void tn_ctx_set_memory(tn_ctx *ctx, size_t bytes)
{
    ctx->budget = bytes;
}

size_t tn_ctx_memory_now(const tn_ctx *ctx)
{
    return atomic_load(&ctx->ledger->live_bytes);
}

size_t tn_ctx_memory_peak(const tn_ctx *ctx)
{
    return atomic_load(&ctx->ledger->peak_bytes);
}

void tn_ctx_set_warning(tn_ctx *ctx, tn_warning_fn fn, void *user)
{
    ctx->warning = fn;
    ctx->warning_user = user;
}

void tn_ctx_cancel(tn_ctx *ctx)
{
    atomic_store(&ctx->cancelled, 1);
}

void tn_ctx_reset(tn_ctx *ctx)
{
    atomic_store(&ctx->cancelled, 0);
}

const char *tn_ctx_message(const tn_ctx *ctx)
{
    return ctx->message;
}

const char *tn_status_name(tn_status status)
{
    static const char *const names[] = {
        [TN_OK] = "TN_OK",
        [TN_ERR_ARG] = "TN_ERR_ARG",
        [TN_ERR_SHAPE] = "TN_ERR_SHAPE",
        [TN_ERR_MEMORY] = "TN_ERR_MEMORY",
        [TN_ERR_IO] = "TN_ERR_IO",
        [TN_ERR_FORMAT] = "TN_ERR_FORMAT",
        [TN_ERR_NUMERIC] = "TN_ERR_NUMERIC",
        [TN_ERR_UNSUPPORTED] = "TN_ERR_UNSUPPORTED",
        [TN_ERR_OUTPUT] = "TN_ERR_OUTPUT",
        [TN_ERR_BUDGET] = "TN_ERR_BUDGET",
        [TN_ERR_INTERRUPTED] = "TN_ERR_INTERRUPTED",
        [TN_ERR_DATA] = "TN_ERR_DATA",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown status";
}

const char *tn_version(void)
{
    return TN_VERSION;
}

tn_status tnp_fail(tn_ctx *ctx, tn_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tnp_format_list(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    return status;
}

void tnp_warn(tn_ctx *ctx, const char *format, ...)
{
    char text[sizeof ctx->message];
    if (!ctx->warning)
        return;
    va_list args;
    va_start(args, format);
    tnp_format_list(text, sizeof text, format, args);
    va_end(args);
    ctx->warning(ctx->warning_user, text);
}

bool tnp_was_cancelled(const tn_ctx *ctx)
{
    return atomic_load(&ctx->cancelled) != 0 || (ctx->caller && tnp_was_cancelled(ctx->caller));
}

void tnp_set_deadline(tn_ctx *ctx, double when)
{
    ctx->deadline = when;
}

tn_status tnp_cancelled(tn_ctx *ctx)
{
    if (tnp_was_cancelled(ctx))
        return tnp_fail(ctx, TN_ERR_INTERRUPTED, "interrupted");
    /* Members of a team are late together, when they next meet (team.c). */
    if (ctx->deadline > 0 && !ctx->team && tnp_seconds() > ctx->deadline)
        return tnp_fail(ctx, TN_ERR_INTERRUPTED, "out of time");
    return TN_OK;
}

double tnp_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
