/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private side of the base: failure with a sentence, checked allocation, threads, random streams, files
 * written beside and renamed, mapped input. Everything here is usable from every stage. */
#ifndef TNP_BASE_H
#define TNP_BASE_H

#include "tenon/base.h"

#include <stdarg.h>
#include <stdio.h>

/* Owners are NULL first, TN_TRY jumps, done: frees. No other macro hides a jump. */
#define TN_TRY(call)                                                                                                   \
    do {                                                                                                               \
        st = (call);                                                                                                   \
        if (st != TN_OK)                                                                                               \
            goto done;                                                                                                 \
    } while (0)

/* ---- failure (ctx.c) ---- */

/* Keeps the sentence in ctx and returns `status`: return tnp_fail(ctx, TN_ERR_SHAPE, "...", ...). */
tn_status tnp_fail(tn_ctx *ctx, tn_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Tells the warning callback, if any, and goes on: tnp_warn(ctx, "%s: 3 of 5 classes have one row", path). Worded as a
 * failure is: the file or stage, what came, what to give instead. From the calling thread only. The message of the last
 * failure stays as it was. */
void tnp_warn(tn_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* TN_ERR_INTERRUPTED once tn_ctx_cancel was called; long loops ask once a block. */
tn_status tnp_cancelled(tn_ctx *ctx);
/* Tells the progress callback, if any, and asks tnp_cancelled. */
tn_status tnp_progress(tn_ctx *ctx, const char *stage, size_t done, size_t total);

/* ---- memory (alloc.c) ---- */

/* Zeroed array of count elements of `size` bytes, 64-byte aligned; *out is written on success only. count 0 gives
 * a valid pointer. Overflow and system refusal are TN_ERR_MEMORY, the budget TN_ERR_BUDGET. */
tn_status tnp_alloc(tn_ctx *ctx, size_t count, size_t size, void *out);
/* Same, contents undefined: for large scratch that is written before it is read. */
tn_status tnp_alloc_raw(tn_ctx *ctx, size_t count, size_t size, void *out);
/* Grows an array made by tnp_alloc, keeping `old` elements; *array may be NULL when old is 0. */
tn_status tnp_grow(tn_ctx *ctx, void *array, size_t old, size_t count, size_t size);
tn_status tnp_strdup(tn_ctx *ctx, const char *text, char **out);
tn_status tnp_strndup(tn_ctx *ctx, const char *text, size_t length, char **out);
/* NULL is legal. */
void tnp_free(void *pointer);
/* a * b, or TN_ERR_MEMORY "too large". */
tn_status tnp_mul(tn_ctx *ctx, size_t a, size_t b, size_t *out);
/* Refuses work that needs `bytes` more than now, before it starts, with the figure: TN_ERR_BUDGET. */
tn_status tnp_need(tn_ctx *ctx, size_t bytes, const char *what);
/* Bytes that the budget still allows; SIZE_MAX without a budget. */
size_t tnp_room(const tn_ctx *ctx);
/* Tests only: the k-th allocation from now (1 = next) fails once; 0 switches off. */
void tnp_fail_allocation(tn_ctx *ctx, size_t k);
/* Tests only: blocks that are alive. */
size_t tnp_live_blocks(const tn_ctx *ctx);

/* ---- threads (threads.c) ---- */

/* Threads worth waking for this much work: one rule for the whole library. */
size_t tnp_threads_for(const tn_ctx *ctx, double flops);
/* Runs body(arg, i) for i in [0, count) on up to `threads` threads. Indices are handed out one by one, so results
 * must depend on i only, never on the thread. Bodies do not allocate, fail or call BLAS. */
void tnp_parallel(tn_ctx *ctx, size_t threads, size_t count, void (*body)(void *arg, size_t i), void *arg);

/* ---- option fields (fields.c) ---- */

/* Every number and choice of an options struct within its field's bounds, for callers who filled it themselves: TN_ERR_ARG
 * naming the first that is not. */
/* Index of `word` among the words of `choices` joined by |, or -1. */
int tnp_find_choice(const char *choices, const char *word);
tn_status tnp_fields_check(tn_ctx *ctx, const tn_field *fields, size_t count, const void *options);

/* ---- random streams (rng.c) ---- */

typedef struct tnp_rng {
    uint64_t state[4];
} tnp_rng;

/* Stream number `stream` of a seed; streams are numbered by block or repetition, never by thread. */
void tnp_rng_init(tnp_rng *rng, uint64_t seed, uint64_t stream);
uint64_t tnp_rng_next(tnp_rng *rng);
/* Uniform in [0, n), n > 0, without modulo bias. */
size_t tnp_rng_below(tnp_rng *rng, size_t n);
/* Uniform in [0, 1). */
double tnp_rng_unit(tnp_rng *rng);
void tnp_rng_shuffle(tnp_rng *rng, size_t *items, size_t count);

/* ---- numbers in text (number.c): the locale of the host program does not matter ---- */

/* A piece of a text, not terminated. */
typedef struct tnp_span {
    const char *text;
    size_t length;
} tnp_span;

/* Decimal number, or nan, inf, infinity in any case with a sign; the whole span, correctly rounded. False, with *out as
 * it was, for anything else: white space, hexadecimal, more than 511 characters that are not simple. */
bool tnp_number(tnp_span span, double *out);
/* A whole number of decimal digits and nothing else; false when it is none or does not fit. */
bool tnp_digits(const char *text, size_t *out);
/* snprintf and vsnprintf with a decimal point. Everything this library writes goes through them when it may hold a
 * number with a fraction. */
int tnp_format(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int tnp_format_list(char *buf, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/* ---- files (file.c) ---- */

/* A whole file, mapped read-only; an empty file has data NULL and size 0. */
typedef struct tnp_map {
    const unsigned char *data;
    size_t size;
} tnp_map;

/* TN_ERR_IO when missing, a directory or unreadable. */
tn_status tnp_map_open(tn_ctx *ctx, const char *path, tnp_map *out);
void tnp_map_close(tnp_map *map);
/* Tells the system that bytes [offset, offset + size) will be read soon, or that nobody will need them for a while. Advice: it
 * never fails, and changes time and resident memory only. */
void tnp_map_soon(const tnp_map *map, size_t offset, size_t size);
void tnp_map_later(const tnp_map *map, size_t offset, size_t size);
/* Warns when `path` is larger on paper than on disk: TN_ERR_IO if the file is now shorter than when mapped. */
tn_status tnp_map_still_there(tn_ctx *ctx, const char *path, size_t size);

/* An output in the making: written to a hidden file beside `path`, renamed by commit. Closing without commit
 * removes it, so a failure or an interrupt leaves nothing. All failures are TN_ERR_OUTPUT and name the path: those of
 * tn_output_check too. The target of a symbolic link is replaced, not the link; a file that is there keeps its
 * permissions, a new one gets what the umask leaves. */
typedef struct tnp_output tnp_output;
tn_status tnp_output_open(tn_ctx *ctx, const char *path, tnp_output **out);
tn_status tnp_output_write(tn_ctx *ctx, tnp_output *output, const void *bytes, size_t size);
tn_status tnp_output_commit(tn_ctx *ctx, tnp_output *output);
/* NULL is legal; frees also after commit. */
void tnp_output_close(tnp_output *output);

/* ---- small things ---- */

static inline size_t tnp_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t tnp_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Seconds of a clock that never goes back. */
double tnp_seconds(void);

#endif
