/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private side of the base: failure with a sentence, checked allocation, threads, random streams, files
 * read by position, files written beside and renamed. Everything here is usable from every stage. */
#ifndef TNP_BASE_H
#define TNP_BASE_H

#include "tenon/base.h"

#include <stdarg.h>
#include <stdatomic.h>
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
/* TN_ERR_INTERRUPTED once tn_ctx_cancel was called, or the deadline has passed; long loops ask once a block. */
tn_status tnp_cancelled(tn_ctx *ctx);
bool tnp_was_cancelled(const tn_ctx *ctx);
/* When work that asks tnp_cancelled is to end, in seconds of tnp_seconds; 0: never. Who sets it takes it back. */
void tnp_set_deadline(tn_ctx *ctx, double when);

/* ---- progress (progress.c); from the calling thread only ---- */

/* A part of all that a call does, of [0, 1]. */
typedef struct tnp_share {
    double from, to;
} tnp_share;

/* A call of the library begins: nothing is done yet. For what callers outside call, and nothing within. */
tnp_share tnp_progress_begin(tn_ctx *ctx);
/* It is done. */
tn_status tnp_progress_end(tn_ctx *ctx);
/* Calls that begin from now on are a part of another call: theirs is that part of its work. Returns what was so before,
 * {0, 0} for none around, to be given back when they are done, also after a failure. */
tnp_share tnp_progress_within(tn_ctx *ctx, tnp_share part);
/* The part that we are in. */
tnp_share tnp_progress_now(const tn_ctx *ctx);
/* What is told from now on goes by this name, whatever the stages are called: "" takes it back. */
void tnp_progress_title(tn_ctx *ctx, const char *title);
bool tnp_progress_is_titled(const tn_ctx *ctx);
/* What is told from now on is [from, to] of `whole`: part = tnp_progress_part(ctx, whole, 0.5, 1). */
tnp_share tnp_progress_part(tn_ctx *ctx, tnp_share whole, double from, double to);
/* `done` of `total` equal steps of `whole` are done, and what is told from now on is the next. */
tn_status tnp_progress_step(tn_ctx *ctx, tnp_share whole, const char *stage, size_t done, size_t total);
/* A stage of which nobody knows what share of the part it is; a name that was not the last begins the next. Tells the
 * callback, if any, and asks tnp_cancelled, as the other two do. */
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
/* tnp_free of each: tnp_free_all(a, b, c). */
#define tnp_free_all(...)                                                                                              \
    tnp_free_each((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void tnp_free_each(void *const *pointers, size_t count);
/* a * b, or TN_ERR_MEMORY "too large". */
tn_status tnp_mul(tn_ctx *ctx, size_t a, size_t b, size_t *out);
/* Refuses work that needs `bytes` more than now, before it starts, with the figure: TN_ERR_BUDGET. */
tn_status tnp_need(tn_ctx *ctx, size_t bytes, const char *what);
/* Counts memory that another library takes for us as if it were ours; TN_ERR_BUDGET when it does not fit. */
tn_status tnp_hold(tn_ctx *ctx, size_t bytes, const char *what);
void tnp_release(tn_ctx *ctx, size_t bytes);
/* Bytes that the budget still allows; SIZE_MAX without a budget. */
size_t tnp_budget_left(const tn_ctx *ctx);
/* A context of its own for work beside ctx: so many threads, and 1 / share of what the budget still allows. */
tn_status tnp_ctx_beside(tn_ctx *ctx, size_t threads, size_t share, tn_ctx **out);
/* Tests only: the k-th allocation from now (1 = next) fails once; 0 switches off. */
void tnp_fail_allocation(tn_ctx *ctx, size_t k);
/* Tests only: blocks that are alive. */
size_t tnp_live_blocks(const tn_ctx *ctx);

/* ---- threads (threads.c) ---- */

/* Threads worth waking for this much work: one rule for the whole library. */
size_t tnp_threads_for(const tn_ctx *ctx, double flops);
/* Runs body(arg, i) for i in [0, count) on up to `threads` threads. Indices are handed out in their order, one by one or,
 * of many, some at a time, so results must depend on i only, never on the thread. Bodies do not allocate from ctx, fail
 * it or call BLAS with it; one that has to has a context of its own with one thread (store/extract_rows.c). */
void tnp_parallel(tn_ctx *ctx, size_t threads, size_t count, void (*body)(void *arg, size_t i), void *arg);
/* Waits until `value` is at least `least`. A body may wait for what one of a smaller index does, and for nothing else:
 * indices are handed out in ascending order, so that the least one at work never waits. */
void tnp_await(const atomic_size_t *value, size_t least);

/* ---- option fields (fields.c) ---- */

/* Members of the kinds that callers of the library do not have. word: place among the choices, the number's being that
 * of its letter: lambda "auto|shared|X". */
typedef struct tnp_real_or_word {
    int word;
    double value; /* 0 when a word was given */
} tnp_real_or_word;

typedef struct tnp_reals {
    const double *items;
    size_t count;
} tnp_reals;

/* Index of `word` among the words of `choices` joined by |, or -1. */
int tnp_find_choice(const char *choices, const char *word);
/* A list of numbers from its text; *owned, which *out points into, is the caller's: free with tnp_free. */
tn_status tnp_reals_parse(tn_ctx *ctx, const tn_field *field, const char *text, tnp_reals *out, void **owned);
/* A flag from "yes" or "no". */
tn_status tnp_flag_parse(tn_ctx *ctx, const tn_field *field, const char *text, void *member);
/* tn_field_text of any length. Free with tnp_free. */
tn_status tnp_field_value(tn_ctx *ctx, const tn_field *field, const void *options, char **out);
/* The number that a member is; false when it is something else. */
bool tnp_field_number(const tn_field *field, const void *member, double *value);
/* Every value of an options struct is one that its field allows: TN_ERR_ARG naming the first that is not. For structs
 * that were filled by hand; what came by name was checked when it was set. */
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

/* ---- input files (input.c) ---- */

/* A regular file open for reading; bytes come by position into the caller's memory. May be read by several threads. */
typedef struct tnp_file tnp_file;

/* Why bytes did not come, for threads that cannot leave a sentence; code 0: they came. */
typedef struct tnp_fault {
    int code;    /* errno, or one of the two below */
    size_t byte; /* of the file */
} tnp_fault;
enum { TNP_FAULT_GONE = -1, TNP_FAULT_REPLACED = -2 };

/* TN_ERR_IO when missing, unreadable or no regular file: a pipe, a device or a folder is refused before anything waits
 * for it. */
tn_status tnp_file_open(tn_ctx *ctx, const char *path, tnp_file **out);
/* NULL is legal. */
void tnp_file_close(tnp_file *file);
/* As it was when the file was opened. */
size_t tnp_file_size(const tnp_file *file);
const char *tnp_file_path(const tnp_file *file);
/* All bytes [offset, offset + size), or TN_ERR_IO: one that is gone names its position. */
tn_status tnp_file_read(tn_ctx *ctx, const tnp_file *file, size_t offset, size_t size, void *out);
tnp_fault tnp_file_get(const tnp_file *file, size_t offset, size_t size, void *out);
/* What a fault is, without the path, into buf. */
void tnp_fault_text(tnp_fault fault, char *buf, size_t size);
/* The sentence of a fault; TN_OK when there is none. */
tn_status tnp_file_failed(tn_ctx *ctx, const tnp_file *file, tnp_fault fault);
/* As tnp_file_get, a little perhaps through a mapping, see tn_map_files. Behind the end of a file that shrank there may
 * be zeros then: tnp_file_still must be asked before the bytes are believed. */
tnp_fault tnp_file_copy(const tnp_file *file, size_t offset, size_t size, void *out);
/* A fault when the file is shorter than when it was opened. */
tnp_fault tnp_file_still(const tnp_file *file);
/* Tells the system that these bytes will be read soon, or that nobody will need them for a while. Advice: it changes
 * time and resident memory only. */
void tnp_file_soon(const tnp_file *file, size_t offset, size_t size);
void tnp_file_later(const tnp_file *file, size_t offset, size_t size);

/* guard.c: did tn_map_files succeed? Copies mapped bytes; false when some of them are gone. */
bool tnp_guard_works(void);
bool tnp_guarded_copy(void *out, const unsigned char *in, size_t size);

/* A whole file in one block, for text that is kept while it is worked on; an empty file has size 0. */
typedef struct tnp_bytes {
    const unsigned char *data;
    size_t size;
} tnp_bytes;
tn_status tnp_bytes_read(tn_ctx *ctx, const char *path, tnp_bytes *out);
void tnp_bytes_free(tnp_bytes *bytes);

/* TN_ERR_DATA when `unfolded` bytes of memory are asked for by an input of `size` bytes and that is more than
 * TNP_UNFOLD_FREE and more than TNP_UNFOLD_RATIO times its size: no features shrink that much, such a file means harm.
 * */
enum { TNP_UNFOLD_FREE = 64 << 20, TNP_UNFOLD_RATIO = 200 };
tn_status tnp_unfold_check(tn_ctx *ctx, const char *path, size_t size, double unfolded);

/* ---- faults of the system, for tests ---- */

typedef enum tnp_io { TNP_IO_OPEN, TNP_IO_READ, TNP_IO_CREATE, TNP_IO_WRITE, TNP_IO_SYNC, TNP_IO_RENAME } tnp_io;
/* Tests only: asked before every system call of these kinds on files of the context, by whichever thread makes it. 0:
 * go on; an errno: the call fails with it; TNP_IO_SHORT: a read or write moves one byte. It may change the file itself.
 * NULL ends it. */
enum { TNP_IO_SHORT = -1 };
typedef int (*tnp_io_fn)(void *arg, tnp_io what, const char *path);
void tnp_watch_io(tn_ctx *ctx, tnp_io_fn fn, void *arg);
/* Calls that a signal interrupted are made again, so often without a byte between them: a system that answers nothing
 * else is an error, not a reason to wait for ever. */
enum { TNP_MOST_INTERRUPTS = 10000 };
/* Tests only: the k-th such call from now (1 = next) fails once with EIO; 0 switches off. */
void tnp_fail_io(tn_ctx *ctx, size_t k);

/* ---- small things ---- */

static inline size_t tnp_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t tnp_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* How many of an ascending list are below `value`. */
static inline size_t tnp_count_below(const size_t *ascending, size_t count, size_t value)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (ascending[middle] < value)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Seconds of a clock that never goes back. */
double tnp_seconds(void);

#endif
