/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The seam between learners and the place where rows are. A learner knows N rows of D columns, X (N, D), only by what
 * can be asked of all of them: products with weights, back-products, Grams, sums by group, moments, copies of some
 * rows. The host's implementation is design_rows.c, over a tnp_design; team_rows.c is that of several processes;
 * tests/unit/three_parts.h is a third one, of rows that lie in three places, on which tests/unit/test_seam.c runs the
 * learners.
 *
 * Who needs single rows in an order of their own, or rows in double as the files have them, keeps a tnp_design or feeds
 * and runs where the rows are: dual coordinate descent (linear/svm_*.c), online learners, leave-one-out, class means,
 * ridge by products of rows or by singular values. Who needs some rows, and of them only sums, as Newton's method on
 * active rows does (linear/active.c), asks for those at hand and adds up over the team.
 *
 * What another implementation (rows on several machines, on a GPU) must provide and may rely on:
 *
 * - Rows have numbers 0 .. N-1 whatever part of them lies where. State per row (scores, labels, costs: N k numbers
 *   beside the N D of the rows) is the learner's: arrays of all rows, addressed by number. A pass that makes scores
 *   leaves all N in the learner's array when it returns; on several machines that is one exchange of them.
 * - A body runs where its rows are. It reads state, and writes its panel's t and sums, nothing else that outlives it:
 *   so t is multiplied where it was made, and G and sums of the parts are added up. Bodies with a `chunk` are called
 *   from many threads at once, others one at a time: those may use threads themselves. Panels may come in any order.
 * - Sums of parts may be merged in any order, but always in the same one: the same rows in the same places give the
 *   same bits for every number of threads. Another split may differ by rounding: n eps of the terms, in the precision
 *   that the pass has. Only passes in double carry certificates: there no product may be rounded to fewer bits.
 * - Errors, cancellation (tnp_cancelled at least once a block) and memory (tnp_alloc) as everywhere. After a failure
 *   outputs hold anything. Scratch of the host's passes is what tnp_pass_bytes and tnp_wide_pass_bytes say; another
 *   implementation that needs more takes it before the learner plans its own. */
#ifndef TNP_ROWS_H
#define TNP_ROWS_H

#include "base/base.h"
#include "matrix/moments.h"

/* What one call of a body is given: rows [start, start + count). */
typedef struct tnp_panel {
    size_t start, count;
    const float *s; /* (count, k): their scores, NULL where the pass has none */
    float *t;       /* (count, k), to be written where the pass has `back` */
    double *sums;   /* sum_count, to be added to */
    float *scratch; /* of the pass's size */
} tnp_panel;

/* One pass over all rows, panel by panel:
 *
 *   s = x w' + b   body: s, state of the rows -> t, sums   G += t'x
 *
 * forward alone is w and s, backward alone t and back. Everything but k may be left out; without w, back and longest no
 * row is read. */
typedef struct tnp_pass {
    size_t k;       /* columns of s and t */
    const float *w; /* (k, D + 1), intercepts last: scores are made */
    float *s;       /* (N, k): scores to keep, or without w those that the body is given; NULL: none are kept */
    bool add;       /* scores are added to s */
    void (*body)(void *arg, const tnp_panel *panel); /* without it t is s */
    void *arg;
    size_t most;    /* rows of a panel; 0: any number */
    size_t chunk;   /* rows of a call, from many threads, each with its own sums; 0: one call per panel */
    double work;    /* flops of a row, about */
    size_t scratch; /* floats for a call */
    const float *t; /* (N, k): known beforehand, instead of a body's */
    float *back;    /* (k, D + 1) = t'X, sums of t last */
    size_t sum_count;
    double *sums; /* sum_count: set to 0, then what the bodies add */
} tnp_pass;

/* The same in double. */
typedef struct tnp_wide_panel {
    size_t start, count;
    const double *s;
    double *t, *sums, *scratch;
} tnp_wide_panel;

typedef struct tnp_wide_pass {
    size_t k;
    const double *w;
    double *s;
    bool add;
    void (*body)(void *arg, const tnp_wide_panel *panel);
    void *arg;
    size_t most, chunk;
    double work;
    size_t scratch;
    const double *t;
    double *back;
    size_t sum_count;
    double *sums;
    double *longest; /* the largest |x_i|^2 */
} tnp_wide_pass;

/* Sum of h_i z_i z_i' with z_i = x_i - mean, and with `constant` a 1 behind it. */
typedef struct tnp_gram {
    const double *h;    /* N, none below 0; NULL: all 1 */
    const double *mean; /* D, or NULL: 0 */
    bool constant;
    bool diagonal; /* of the sum only the diagonal */
} tnp_gram;

/* Rows in the memory of this process. */
typedef struct tnp_at_hand {
    const float *x; /* rows [first, first + count), stride apart, for as long as the rows live; NULL: not in memory */
    size_t stride, first, count;
    bool parts; /* other members of the team have the others: sums over rows are added up by tnp_team_sum */
} tnp_at_hand;

typedef struct tnp_rows_ops {
    tn_status (*pass)(tn_ctx *ctx, void *self, const tnp_pass *pass);
    tn_status (*wide_pass)(tn_ctx *ctx, void *self, const tnp_wide_pass *pass);
    /* s (N, k): scores of row i by w + model[i] k (D + 1); rows whose model[i] is none of `models` are left as they are.
     * Float. */
    tn_status (*scores_by)(tn_ctx *ctx, void *self, const uint32_t *model, size_t models, size_t k, const float *w,
                           float *s);
    /* a (width, width), upper triangle, or (width): width = D + constant. Double. */
    tn_status (*gram)(tn_ctx *ctx, void *self, const tnp_gram *gram, double *a);
    /* sums (groups, D) of the rows of each group; group (N). Double. */
    tn_status (*cross)(tn_ctx *ctx, void *self, const size_t *group, size_t groups, double *sums);
    /* out (count, D): the rows `rows`, ascending. */
    tn_status (*pick)(tn_ctx *ctx, void *self, const size_t *rows, size_t count, float *out);
    /* Every stride-th row as x, ld apart, for as long as the rows live. *kept is NULL, or the caller's to free with
     * tnp_free: a copy, where the rows are not at hand. */
    tn_status (*sample)(tn_ctx *ctx, void *self, size_t stride, const float **x, size_t *ld, float **kept);
    /* Moments of all rows with the targets y, in double about `shift` (D) where it is given; the caller's to free.
     * Those of parts are put together by tn_moments_merge. */
    tn_status (*moments)(tn_ctx *ctx, void *self, const tnp_targets *y, const double *shift, tnp_moments **out);
    /* All members of a team are told alike whether rows are in memory. */
    tnp_at_hand (*at_hand)(const void *self);
} tnp_rows_ops;

typedef struct tnp_rows {
    size_t rows, dim;
    const tnp_rows_ops *ops;
    void *self;
} tnp_rows;

static inline tn_status tnp_rows_pass(tn_ctx *ctx, const tnp_rows *x, const tnp_pass *pass)
{
    return x->ops->pass(ctx, x->self, pass);
}

static inline tn_status tnp_rows_wide_pass(tn_ctx *ctx, const tnp_rows *x, const tnp_wide_pass *pass)
{
    return x->ops->wide_pass(ctx, x->self, pass);
}

/* Rows that a block of a design of this size has: a good size for the scratch of a body. */
size_t tnp_design_block_rows(size_t rows, size_t dim);
/* Bytes of scratch of the host's passes, each: sums and scratch of a call, in numbers; of its Gram. */
size_t tnp_pass_bytes(size_t rows, size_t dim, size_t k, size_t chunk, size_t each);
size_t tnp_wide_pass_bytes(size_t dim, size_t k, size_t chunk, size_t each);
size_t tnp_rows_gram_bytes(size_t dim);

/* Mean |x - mean|^2 of n rows x, ld apart, or mean |x|^2 where they are not centred. */
tn_status tnp_spread(tn_ctx *ctx, const float *x, size_t ld, size_t n, size_t dim, bool centred, double *out);

/* Inner products in double, in lanes of fixed number. */
double tnp_dot(const float *a, const float *b, size_t n);
double tnp_dot_wide(const double *a, const double *b, size_t n);
/* to += x */
void tnp_add_wide(const double *x, double *to, size_t n);

#endif
