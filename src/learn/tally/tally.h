/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a tally: moments in double, one per fold, with what is behind them. */
#ifndef TNP_TALLY_H
#define TNP_TALLY_H

#include "learn/head/head.h"
#include "matrix/moments.h"

/* Rows [from, to) of one input: the files of a call, side by side. */
typedef struct tnp_input {
    char *path;      /* of its first representation, for messages */
    char id[33];     /* the same for the same rows in whatever file: hexadecimal; "" for rows that came from memory */
    size_t from, to; /* of memory: 0 and how many */
    size_t used;     /* of them, those that take part */
    uint64_t digest; /* sum of a hash per row that takes part */
} tnp_input;

struct tn_tally {
    tn_head *like;      /* what prepares rows and names classes; its numbers are 0 and mean nothing */
    size_t folds, seed; /* folds 1: none; seed of the rule that deals rows to them */
    tnp_moments **fold; /* folds: in double, all about the same shift */
    double *offset;  /* classes: taken off the targets, so that their squares keep their digits; 0 but in regression */
    size_t left_out; /* rows without a label, dropped for NaN, or of weight 0 */
    tnp_input *inputs; /* sorted by id, then from */
    size_t input_count;
};

/* With moments of no rows; `like` is taken over, also on failure. */
tn_status tnp_tally_new(tn_ctx *ctx, tn_head *like, size_t folds, size_t seed, tn_tally **out);
/* Notes an input; TN_ERR_DATA where some of its rows are in already. path is copied. */
tn_status tnp_tally_add_input(tn_ctx *ctx, tn_tally *tally, const tnp_input *input);
/* The fold of row `row` of an input: a hash of seed, input and row, so that it does not depend on how rows are cut into
 * parts. Dealing class by class was refused: which row gets which fold would then go by what else is in the part. */
size_t tnp_tally_fold(const tn_tally *tally, const char *id, size_t row);
/* A hash of `count` doubles by their bits. */
uint64_t tnp_hash_doubles(const double *x, size_t count, uint64_t seed);
/* Moments of all folds together about the targets as they are, or less their offset; the caller's to free. Where there is
 * one fold and nothing to be moved it is *borrowed and *owned stays NULL. */
tn_status tnp_tally_all(tn_ctx *ctx, const tn_tally *tally, bool raw_targets, tnp_moments **owned,
                        const tnp_moments **borrowed);

/* ---- inputs.c: lists of ranges ---- */

/* Orders by id, then from. */
int tnp_input_compare(const tnp_input *a, const tnp_input *b);
/* TN_ERR_DATA, naming both, where rows of `more` are among those of `inputs`. */
tn_status tnp_inputs_check(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *more,
                           size_t more_count);
/* All of both in order: a new list, with paths of its own. Free with tnp_inputs_free. */
tn_status tnp_inputs_join(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *more, size_t more_count,
                          tnp_input **out, size_t *out_count);
/* The list without the ranges of `less`; TN_ERR_DATA where one of them is none of its own, or is other rows. */
tn_status tnp_inputs_drop(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *less, size_t less_count,
                          tnp_input **out, size_t *out_count);
void tnp_inputs_free(tnp_input *inputs, size_t count);

#endif
