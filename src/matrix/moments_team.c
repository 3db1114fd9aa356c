/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moments of rows that a team shares. All members have the frame of rank 0, whose first block is the first of all rows,
 * so that sums are plain sums, and parts are whole blocks: every block's product has the bits that it has in one
 * process, and only the order differs in which they are added up in double. Frames of their own, brought together
 * afterwards as tn_moments_merge does it, were refused: a second rounding for nothing. */
#include "base/team.h"
#include "matrix/moments.h"

#include <string.h>

enum { PIECE = 1 << 20 }; /* numbers that are sent at once */

tn_status tnp_moments_share_frame(tn_ctx *ctx, tnp_moments *s)
{
    tn_status st = tnp_team_share(ctx, s->shift, s->dim * sizeof *s->shift);
    if (st == TN_OK && tnp_team_shares(ctx) && tn_team_rank(ctx) > 0)
        tnp_moments_frame(s, s->shift);
    return st;
}

/* Copies between gram's upper triangle and `piece`, from entry (*row, *col) on; returns how many there were. */
static size_t walk_triangle(tnp_moments *s, size_t *row, size_t *col, double *piece, size_t most, bool back)
{
    size_t at = 0;
    while (*row < s->dim && at < most) {
        size_t n = tnp_min(most - at, s->dim - *col);
        double *gram = s->gram + *row * s->dim + *col;
        memcpy(back ? gram : piece + at, back ? piece + at : gram, n * sizeof *gram);
        at += n;
        *col += n;
        if (*col == s->dim)
            *col = ++*row;
    }
    return at;
}

static tn_status sum_triangle(tn_ctx *ctx, tnp_moments *s)
{
    tn_status st = TN_OK;
    double *piece = NULL;
    size_t most = tnp_min(PIECE, s->dim * (s->dim + 1) / 2), row = 0, col = 0;
    TN_TRY(tnp_alloc_raw(ctx, most, sizeof *piece, &piece));
    while (row < s->dim) {
        size_t back_row = row, back_col = col, n = walk_triangle(s, &row, &col, piece, most, false);
        TN_TRY(tnp_team_sum(ctx, piece, n));
        (void)walk_triangle(s, &back_row, &back_col, piece, n, true);
    }
done:
    tnp_free(piece);
    return st;
}

tn_status tnp_moments_sum(tn_ctx *ctx, tnp_moments *s)
{
    tn_status st = TN_OK;
    double few[] = {(double)s->rows, s->weight, s->log_weight, s->trace, s->noise};
    if (!tnp_team_shares(ctx))
        return TN_OK;
    TN_TRY(tnp_team_sum(ctx, few, sizeof few / sizeof *few));
    s->rows = (size_t)few[0];
    s->weight = few[1];
    s->log_weight = few[2];
    s->trace = few[3];
    s->noise = few[4];
    TN_TRY(tnp_team_sum(ctx, s->sum, s->dim));
    TN_TRY(tnp_team_sum(ctx, s->xty, s->classes * s->dim));
    TN_TRY(tnp_team_sum(ctx, s->ysum, s->classes));
    TN_TRY(tnp_team_sum(ctx, s->yy, s->classes));
    if (s->excess)
        TN_TRY(tnp_team_sum(ctx, s->excess, s->dim));
    TN_TRY(sum_triangle(ctx, s));
done:
    return st;
}
