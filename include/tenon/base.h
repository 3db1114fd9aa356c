/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every other header needs: status codes, the context, option fields.
 *
 * A tn_ctx carries everything a call may need besides its data: thread count, memory budget, callbacks for
 * progress and warnings, cancel flag, and the text of the last error. Use one context per calling thread. Objects made with
 * a context must be freed before it. The library never prints, exits or aborts. */
#ifndef TENON_BASE_H
#define TENON_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are part of the ABI: never reused, only added to. */
typedef enum tn_status {
    TN_OK = 0,
    TN_ERR_ARG = 1,          /* the caller's arguments make no sense, whatever the data */
    TN_ERR_SHAPE = 2,        /* sizes that should agree do not */
    TN_ERR_MEMORY = 3,       /* the system gave no memory */
    TN_ERR_IO = 4,           /* an input is missing or cannot be read */
    TN_ERR_FORMAT = 5,       /* an input's bytes are not what its format promises */
    TN_ERR_NUMERIC = 6,      /* a computation left the range of its number type */
    TN_ERR_UNSUPPORTED = 7,  /* a valid input of a kind that is not handled */
    TN_ERR_OUTPUT = 8,       /* an output cannot be written */
    TN_ERR_BUDGET = 9,       /* the work needs more than the memory budget */
    TN_ERR_INTERRUPTED = 10, /* tn_ctx_cancel was called */
    TN_ERR_DATA = 11         /* well-formed data that the method cannot use: NaN, one class only, no rows */
} tn_status;

typedef struct tn_ctx tn_ctx;

/* Makes a context: threads = available cores, no memory budget, no progress. Owned by the caller, free with
 * tn_ctx_free. Fails with TN_ERR_MEMORY only. */
TN_API tn_status tn_ctx_new(tn_ctx **out);
/* NULL is legal. Every object made with the context must be gone. */
TN_API void tn_ctx_free(tn_ctx *ctx);

/* Threads used by later calls; 0 means all available cores. Never changes a choice the library makes; numbers
 * agree to rounding. */
TN_API void tn_ctx_set_threads(tn_ctx *ctx, size_t threads);
TN_API size_t tn_ctx_threads(const tn_ctx *ctx);

/* Upper bound in bytes for what the library allocates (pages of files are not counted); 0 means none. */
TN_API void tn_ctx_set_memory(tn_ctx *ctx, size_t bytes);
/* Bytes allocated through this context now, and at the highest moment. */
TN_API size_t tn_ctx_memory_now(const tn_ctx *ctx);
TN_API size_t tn_ctx_memory_peak(const tn_ctx *ctx);

/* Called now and then from the calling thread during long work. share: how much of the call's whole work is done, by a
 * rough estimate; from 0 to 1, and never less than before within one call. stage: what is being done, in a word or two,
 * borrowed until the callback returns. */
typedef void (*tn_progress_fn)(void *user, const char *stage, double share);
TN_API void tn_ctx_set_progress(tn_ctx *ctx, tn_progress_fn fn, void *user);

/* Called from the calling thread when work goes on but its result may not be what was meant, or claims less than was
 * asked for: classes that are very uneven, a solver that stopped before its goal. One line, without a full stop, as
 * tn_ctx_message words it; borrowed until the callback returns. Without a callback nobody is told. */
typedef void (*tn_warning_fn)(void *user, const char *text);
TN_API void tn_ctx_set_warning(tn_ctx *ctx, tn_warning_fn fn, void *user);

/* Asks running work to stop with TN_ERR_INTERRUPTED. Async-signal-safe; may be called from any thread. */
TN_API void tn_ctx_cancel(tn_ctx *ctx);

/* One line about the last failure on this context: the stage, what came, what was expected; "" if none.
 * Borrowed until the next call with the context. */
TN_API const char *tn_ctx_message(const tn_ctx *ctx);

/* Name of a status, e.g. "TN_ERR_SHAPE". Static storage. */
TN_API const char *tn_status_name(tn_status status);

/* Version of the library, e.g. "0.1.0". */
TN_API const char *tn_version(void);

/* ---- option fields: one table an options struct; flags, help, manual and bindings are made from it ---- */

typedef enum tn_field_kind {
    TN_FIELD_FLAG,   /* bool, true when named: --json */
    TN_FIELD_YESNO,  /* bool: --intercept yes|no */
    TN_FIELD_INT,    /* size_t within [lo, hi] */
    TN_FIELD_REAL,   /* double within [lo, hi] */
    TN_FIELD_BYTES,  /* size_t with optional suffix K, M, G, T (powers of 1024) */
    TN_FIELD_CHOICE, /* int: index into the words of `choices`, joined by | */
    TN_FIELD_TEXT,   /* const char *, borrowed; `choices` names its form for the help text */
    TN_FIELD_WORDS   /* tn_words, borrowed: --valid a.npy b.npy. Set by whoever has the words, not by tn_field_set */
} tn_field_kind;

typedef struct tn_words {
    const char *const *items;
    size_t count;
} tn_words;

typedef struct tn_field {
    const char *name; /* as on the command line, without the dashes */
    tn_field_kind kind;
    size_t offset;       /* of the member in its struct */
    double lo, hi;       /* bounds of INT and REAL */
    const char *choices; /* "aitken|mackay": words of CHOICE; placeholder of TEXT, INT, REAL in help: "FILE" */
    const char *help;    /* one sentence, lower case, no full stop */
} tn_field;

/* Sets one member from its text. TN_ERR_ARG with a message that names the field, what came and what was
 * expected. FLAG takes text NULL. */
TN_API tn_status tn_field_set(tn_ctx *ctx, const tn_field *field, void *options, const char *text);
/* Writes a member's value as text into buf, e.g. for help ("default: l2"); returns buf. */
TN_API const char *tn_field_text(const tn_field *field, const void *options, char *buf, size_t size);

/* Options that only some words of a choice have a use for: {"loss|penalise-bias", "svm|svm-cv", "svm, svm-cv"}. */
typedef struct tn_use {
    const char *options, *words; /* both joined by | */
    const char *text;            /* the words as people read them */
} tn_use;

/* The row that names the option; NULL when there is none: all words have a use for it. */
TN_API const tn_use *tn_use_find(const tn_use *uses, size_t count, const char *option);

/* ---- texts ---- */

/* Texts that a call hands over. */
TN_API void tn_text_free(char *text);

/* For JSON of your own: the character at `text` as it stands in a JSON string, into out, terminated; returns the bytes
 * of `text` it took, 0 at the end. Quotes, backslashes, control characters and what tn_plain_char shows by number are escaped; a byte that is not UTF-8
 * becomes U+FFFD, so that the output is always valid JSON. */
TN_API size_t tn_json_char(const char *text, char out[8]);

/* For lines of your own: the character at `text` as people are shown it, so that names and metadata from files are read and
 * never obeyed by a terminal, and one line stays one line. \n, \t, \r; \x1b for other control characters below 0x80 and for
 * bytes that are not UTF-8; \u{202e} for C1 controls, line and paragraph separators and marks that turn the direction of
 * writing. Everything else, backslashes too, stays as it is. Returns the bytes of `text` it took, 0 at the end. */
TN_API size_t tn_plain_char(const char *text, char out[12]);

/* ---- files ---- */

/* Lets the library read single rows of files through mappings, which takes half the time of a system call for each. A mapped
 * file that shrinks raises SIGBUS: this installs a handler, which turns that into TN_ERR_IO where the library was reading and
 * hands every other SIGBUS to the handler that was there before. For programs, once, before other threads run; a library should
 * leave its process alone. False when there can be no handler: files are then read by system calls, as without this. */
TN_API bool tn_map_files(void);

/* Can a file be written under this path? For asking before the work, so that an hour of it is not lost to a mistyped
 * folder; the writers ask again. TN_ERR_OUTPUT names the path and why not: a folder, device, pipe or a link to nothing of
 * that name, a folder that is missing or closed. Symbolic links are followed. */
TN_API tn_status tn_output_check(tn_ctx *ctx, const char *path);

/* ---- the machine ---- */

typedef struct tn_machine {
    size_t cores;            /* this process may use */
    size_t memory_total;     /* bytes */
    size_t memory_available; /* bytes */
    char cpu[96];            /* the processor's own name */
    char simd[16];           /* kernels of this library in use: scalar, avx2, avx512 */
    char blas[160];          /* BLAS configuration string */
    char blas_kernels[32];   /* kernels the BLAS picked, e.g. SkylakeX */
    char blas_advice[32];    /* kernels it should use on this processor; "" when it already does */
} tn_machine;

/* Looks at the machine; never fails, unknown entries are empty or 0. */
TN_API void tn_machine_look(tn_machine *out);
/* Is TN_SIMD, where it is set, one of scalar, avx2 and avx512? Without asking, another word is as none. A level that the processor
 * lacks is a warning: the next lower one is used. TN_ERR_ARG. */
TN_API tn_status tn_simd_check(tn_ctx *ctx);
/* Speed in GFLOP/s of this machine's own matrix product (single precision, square of order n) with the
 * context's threads: the yardstick of every benchmark. */
TN_API tn_status tn_machine_gemm_speed(tn_ctx *ctx, size_t n, double *gflops);

#ifdef __cplusplus
}
#endif
#endif
