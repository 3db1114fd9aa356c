/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What members of a team say to each other. Before anything is sent they vote, by the largest of four numbers:
 *
 *   who failed      size - rank where a member has failed, else 0: the lowest rank that failed is known to all
 *   what is asked   a hash of call and size, and its negative: members that ask for different things are told so, where
 *                   they would wait for each other for ever
 *   how late it is  1 when rank 0 is past its deadline: all stop together
 *
 * A member fails by saying so in tn_team_leave, wherever the others are: their next call is a vote, and all end with the
 * same sentence. That is one small message more per call; a failure that is told by killing the others, as MPI_Abort
 * does, was refused: it leaves no sentence, and no output is closed. A member that dies is the launcher's to notice, who
 * ends the others. */
#define _POSIX_C_SOURCE 200809L
#include "base/ctx.h"
#include "base/team.h"

#include <string.h>

enum { TEXT = 1200 };
enum { FAILED, ASKED, ASKED_NOT, LATE, FINE, VOTES };
typedef enum asked { SUM = 1, MOST, SHARE, GATHER, SAME, LEAVE } asked;

struct tnp_team {
    const tnp_team_engine *engine;
    void *self;
    size_t rank, size, here;
    bool over;    /* some member failed, or all have left: nothing is sent any more */
    bool broken;  /* the engine failed: not even a farewell */
    struct {      /* of the member that failed, as it is sent */
        int code; /* its own; 0: the failure is nobody's */
        char host[64], text[TEXT];
    } why;
    char host[64];
};

tn_status tnp_team_enter(tn_ctx *ctx, const tnp_team_engine *engine)
{
    tn_status st = TN_OK;
    tnp_team *team = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *team, &team));
    team->engine = engine;
    int code = engine->join(&team->self, &team->rank, &team->size, &team->here, team->host, sizeof team->host);
    if (code != 0) {
        char text[200] = "";
        engine->why(code, text, sizeof text);
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "team: cannot be joined: %s", text));
    }
    ctx->team = team;
    team = NULL;
done:
    tnp_free(team);
    return st;
}

void tnp_team_free(tnp_team *team)
{
    if (team && team->self && !team->broken) /* else the launcher sees a process end without it, and ends the others */
        team->engine->leave(team->self);
    tnp_free(team);
}

size_t tn_team_rank(const tn_ctx *ctx)
{
    return ctx->team ? ctx->team->rank : 0;
}

size_t tn_team_size(const tn_ctx *ctx)
{
    return ctx->team ? ctx->team->size : 1;
}

size_t tn_team_here(const tn_ctx *ctx)
{
    return ctx->team ? ctx->team->here : 1;
}

bool tnp_team_shares(const tn_ctx *ctx)
{
    return ctx->team && ctx->team->size > 1 && !ctx->team_paused;
}

size_t tnp_team_size(const tn_ctx *ctx)
{
    return tnp_team_shares(ctx) ? ctx->team->size : 1;
}

/* This member's place among those that share the work. */
static size_t place_of(const tn_ctx *ctx)
{
    return tnp_team_shares(ctx) ? ctx->team->rank : 0;
}

bool tnp_team_pause(tn_ctx *ctx)
{
    bool was = ctx->team_paused;
    ctx->team_paused = true;
    return was;
}

void tnp_team_resume(tn_ctx *ctx, bool was)
{
    ctx->team_paused = was;
}

/* ---- parts ---- */

/* Where the part of a member begins: member r of P has the blocks from ceil(r B / P) on, of B blocks of `unit` rows. */
static size_t cut_at(size_t rows, size_t unit, size_t member, size_t size)
{
    size_t blocks = (rows + unit - 1) / unit, each = blocks / size, left = blocks % size;
    return tnp_min(rows, unit * (member * each + (member * left + size - 1) / size));
}

void tnp_team_part(const tn_ctx *ctx, size_t rows, size_t unit, size_t *from, size_t *to)
{
    *from = cut_at(rows, unit, place_of(ctx), tnp_team_size(ctx));
    *to = cut_at(rows, unit, place_of(ctx) + 1, tnp_team_size(ctx));
}

void tnp_team_own(const tn_ctx *ctx, const size_t *cut, size_t *from, size_t *to)
{
    *from = cut[place_of(ctx)];
    *to = cut[place_of(ctx) + 1];
}

void tnp_team_picked(const tn_ctx *ctx, const size_t *rows, size_t count, const size_t *cut, size_t *from, size_t *to)
{
    tnp_team_own(ctx, cut, from, to);
    *from = tnp_count_below(rows, count, *from);
    *to = tnp_count_below(rows, count, *to);
}

/* ---- votes ---- */

static tn_status is_over(tn_ctx *ctx, const tnp_team *team)
{
    return tnp_fail(ctx, TN_ERR_IO, "%s", team->why.text);
}

/* The engine itself failed: nobody can be told. */
static tn_status engine_failed(tn_ctx *ctx, tnp_team *team, int code)
{
    char text[200] = "";
    team->engine->why(code, text, sizeof text);
    team->over = team->broken = true;
    team->why.code = 0;
    tnp_format(team->why.text, sizeof team->why.text, "team: rank %zu of %zu (%s): %s", team->rank, team->size,
               team->host, text);
    return is_over(ctx, team);
}

/* The sentence of the member that failed, for all; one that failed everywhere needs no rank. */
static tn_status hear_failure(tn_ctx *ctx, tnp_team *team, size_t member, bool all)
{
    char text[TEXT];
    int code = team->engine->share(team->self, member, &team->why, sizeof team->why);
    if (code != 0)
        return engine_failed(ctx, team, code);
    team->over = true;
    if (!all) {
        memcpy(text, team->why.text, sizeof text);
        tnp_format(team->why.text, sizeof team->why.text, "rank %zu of %zu (%s): %.*s", member, team->size,
                   team->why.host, TEXT - 200, text);
    }
    return is_over(ctx, team);
}

/* As every member finds at once. */
static tn_status come_apart(tn_ctx *ctx, tnp_team *team)
{
    team->over = true;
    team->why.code = 0;
    tnp_format(team->why.text, sizeof team->why.text,
               "team: the %zu ranks do not go the same way: other arguments, other files or other kinds of processors; "
               "start all alike, with one value of option mem, TN_SIMD and OPENBLAS_CORETYPE",
               team->size);
    return is_over(ctx, team);
}

/* Call and size as a whole number that a double holds. */
static double hash_of(asked what, size_t n)
{
    uint64_t hash = ((uint64_t)what * 0x9e3779b97f4a7c15u) ^ ((uint64_t)n + 1) * 0xc2b2ae3d27d4eb4fu;
    return (double)(hash >> 12);
}

static tn_status vote(tn_ctx *ctx, asked what, size_t n, bool failed)
{
    tnp_team *team = ctx->team;
    double hash = hash_of(what, n), votes[VOTES] = {0};
    if (team->over)
        return is_over(ctx, team);
    bool late = team->rank == 0 && ctx->deadline > 0 && tnp_seconds() > ctx->deadline;
    votes[FAILED] = failed ? (double)(team->size - team->rank) : 0;
    votes[ASKED] = failed ? 0 : hash;
    votes[ASKED_NOT] = failed ? -0x1p60 : -hash;
    votes[LATE] = late ? 1 : 0;
    votes[FINE] = failed ? 0 : 1;
    int code = team->engine->most(team->self, votes, VOTES);
    if (code != 0)
        return engine_failed(ctx, team, code);
    if (votes[FAILED] > 0)
        return hear_failure(ctx, team, team->size - (size_t)votes[FAILED], votes[FINE] == 0);
    if (votes[ASKED] != -votes[ASKED_NOT])
        return come_apart(ctx, team);
    if (votes[LATE] > 0 && what != LEAVE)
        return tnp_fail(ctx, TN_ERR_INTERRUPTED, "out of time");
    return TN_OK;
}

static tn_status meet(tn_ctx *ctx, asked what, size_t n)
{
    tn_status st = tnp_was_cancelled(ctx) ? tnp_fail(ctx, TN_ERR_INTERRUPTED, "interrupted") : TN_OK;
    return st == TN_OK ? vote(ctx, what, n, false) : st;
}

static tn_status met(tn_ctx *ctx, int code)
{
    return code == 0 ? TN_OK : engine_failed(ctx, ctx->team, code);
}

/* ---- what is sent ---- */

tn_status tnp_team_sum(tn_ctx *ctx, double *x, size_t n)
{
    if (!tnp_team_shares(ctx))
        return TN_OK;
    tn_status st = meet(ctx, SUM, n);
    return st == TN_OK ? met(ctx, ctx->team->engine->sum(ctx->team->self, x, n)) : st;
}

tn_status tnp_team_most(tn_ctx *ctx, double *x, size_t n)
{
    if (!tnp_team_shares(ctx))
        return TN_OK;
    tn_status st = meet(ctx, MOST, n);
    return st == TN_OK ? met(ctx, ctx->team->engine->most(ctx->team->self, x, n)) : st;
}

tn_status tnp_team_share(tn_ctx *ctx, void *bytes, size_t n)
{
    if (!tnp_team_shares(ctx))
        return TN_OK;
    tn_status st = meet(ctx, SHARE, n);
    return st == TN_OK ? met(ctx, ctx->team->engine->share(ctx->team->self, 0, bytes, n)) : st;
}

tn_status tnp_team_gather_cut(tn_ctx *ctx, void *items, const size_t *cut, size_t size)
{
    tnp_team *team = ctx->team;
    if (!tnp_team_shares(ctx))
        return TN_OK;
    tn_status st = meet(ctx, GATHER, cut[team->size] * size);
    return st == TN_OK ? met(ctx, team->engine->gather(team->self, items, size, cut)) : st;
}

tn_status tnp_team_gather(tn_ctx *ctx, void *items, size_t rows, size_t unit, size_t size)
{
    tn_status st = TN_OK;
    size_t *cut = NULL, members = tn_team_size(ctx);
    if (!tnp_team_shares(ctx))
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, members + 1, sizeof *cut, &cut));
    for (size_t r = 0; r <= members; ++r)
        cut[r] = cut_at(rows, unit, r, members);
    TN_TRY(tnp_team_gather_cut(ctx, items, cut, size));
done:
    tnp_free(cut);
    return st;
}

tn_status tnp_team_gather_picked(tn_ctx *ctx, void *items, const size_t *rows, size_t count, const size_t *cut,
                                 size_t size)
{
    tn_status st = TN_OK;
    size_t *own = NULL, members = tn_team_size(ctx);
    if (!tnp_team_shares(ctx))
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, members + 1, sizeof *own, &own));
    for (size_t r = 0; r <= members; ++r)
        own[r] = tnp_count_below(rows, count, cut[r]);
    TN_TRY(tnp_team_gather_cut(ctx, items, own, size));
done:
    tnp_free(own);
    return st;
}

tn_status tnp_team_same(tn_ctx *ctx, const char *what, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t hash = 14695981039346656037u;
    if (!tnp_team_shares(ctx))
        return TN_OK;
    for (size_t i = 0; i < n; ++i)
        hash = (hash ^ p[i]) * 1099511628211u; /* FNV-1a */
    double both[2] = {(double)(hash >> 12), -(double)(hash >> 12)};
    tn_status st = meet(ctx, SAME, 0);
    if (st == TN_OK)
        st = met(ctx, ctx->team->engine->most(ctx->team->self, both, 2));
    if (st == TN_OK && both[0] != -both[1])
        st = tnp_fail(ctx, TN_ERR_DATA, "%s: not the same for all %zu ranks, expected the same files on every machine",
                      what, ctx->team->size);
    return st;
}

tn_status tn_team_level(tn_ctx *ctx)
{
    double least[2] = {-(double)ctx->threads, ctx->budget ? -(double)ctx->budget : -0x1p63};
    tn_status st = tnp_team_most(ctx, least, 2);
    if (st != TN_OK || !tnp_team_shares(ctx))
        return st;
    tn_ctx_set_threads(ctx, (size_t)-least[0]);
    ctx->budget = least[1] == -0x1p63 ? 0 : (size_t)-least[1];
    return TN_OK;
}

tn_status tnp_team_budget_left(tn_ctx *ctx, size_t *left)
{
    double least = -(double)tnp_min(tnp_budget_left(ctx), (size_t)1 << 62);
    tn_status st = tnp_team_most(ctx, &least, 1);
    *left = (size_t)-least;
    return st;
}

int tn_team_leave(tn_ctx *ctx, int code, const char *why)
{
    tnp_team *team = ctx->team;
    if (!tnp_team_shares(ctx))
        return code;
    if (!team->over) {
        team->why.code = code;
        memcpy(team->why.host, team->host, sizeof team->host);
        tnp_format(team->why.text, sizeof team->why.text, "%s", why ? why : "");
        tn_status st = vote(ctx, LEAVE, 0, code != 0);
        code = st == TN_OK ? 0 : team->why.code ? team->why.code : 1;
        team->over = true;
        return code;
    }
    (void)is_over(ctx, team);
    return team->why.code ? team->why.code : code;
}
