/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every other header needs: status codes, the context, option fields.
 *
 * A tn_ctx carries everything a call may need besides its data: thread count, memory budget, callbacks for
 * progress and warnings, cancel flag, and the text of the last error. Use one context per calling thread. Objects made
 * with a context (features, labels, heads, maps, results and all others) outlive it: they may be used with any other
 * context and freed in any order, before or after the one that made them.
 *
 * The library is a guest in its process. It never prints, exits or aborts; signal handlers (but for tn_map_files),
 * locale, floating-point state, umask, current folder and the thread count of OpenBLAS are after every call as they
 * were before it. A forked child may free everything, and work with every context that no other thread was using at the
 * fork. */
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
/* NULL is legal. What was made with the context stays; its bytes are counted by nobody then. */
TN_API void tn_ctx_free(tn_ctx *ctx);

/* Threads used by later calls; 0 means all available cores. Never changes a choice the library makes; numbers
 * agree to rounding. */
TN_API void tn_ctx_set_threads(tn_ctx *ctx, size_t threads);
TN_API size_t tn_ctx_threads(const tn_ctx *ctx);

/* Upper bound in bytes for what the library allocates (pages of files are not counted); 0 means none. */
TN_API void tn_ctx_set_memory(tn_ctx *ctx, size_t bytes);
/* Bytes allocated through this context and not yet freed, whoever frees them, now and at the highest moment. */
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

/* Asks running work to stop with TN_ERR_INTERRUPTED. Async-signal-safe; may be called from any thread. It stays asked:
 * later calls end with the same status until tn_ctx_reset, so that a Ctrl-C between two calls is not lost. */
TN_API void tn_ctx_cancel(tn_ctx *ctx);
/* Takes a tn_ctx_cancel back: later calls work again. Call it when the interrupt has been dealt with, before new work.
 * The same freedom as tn_ctx_cancel. */
TN_API void tn_ctx_reset(tn_ctx *ctx);

/* One line about the last failure on this context: the stage, what came, what was expected; "" if none. Options go by
 * the name that tn_field gives them, "option C: got 0, ...": so do they in warnings and tables. A program may show its
 * own form of it. Borrowed until the next call with the context. */
TN_API const char *tn_ctx_message(const tn_ctx *ctx);

/* Name of a status, e.g. "TN_ERR_SHAPE". Static storage. */
TN_API const char *tn_status_name(tn_status status);

/* Version of the library, e.g. "0.1.0". */
TN_API const char *tn_version(void);

/* ---- options: set by name, described by the tables that make the command line ---- */

typedef enum tn_field_kind {
    TN_FIELD_FLAG,   /* bool, true when named: --json */
    TN_FIELD_YESNO,  /* bool: --intercept yes|no */
    TN_FIELD_INT,    /* size_t within [lo, hi] */
    TN_FIELD_REAL,   /* double within [lo, hi] */
    TN_FIELD_BYTES,  /* size_t with optional suffix K, M, G, T (powers of 1024) */
    TN_FIELD_CHOICE, /* int: index into the words of `choices`, joined by | */
    TN_FIELD_TEXT,   /* const char *, borrowed; `choices` names its form for the help text */
    TN_FIELD_WORDS,  /* tn_words, borrowed: --valid a.npy b.npy. Set by whoever has the words, not by tn_field_set */
    /* Of tn_options only: */
    TN_FIELD_INT_OR_WORD,  /* a whole number or one of the words of `choices`, where a capital stands for the number */
    TN_FIELD_REAL_OR_WORD, /* the same with a real number */
    TN_FIELD_REALS,        /* real numbers, each within [lo, hi] */
    TN_FIELD_FEATURES,     /* objects: see tn_options_set_features, tn_options_set_labels, tn_options_set_head */
    TN_FIELD_LABELS,
    TN_FIELD_HEAD
} tn_field_kind;

typedef struct tn_words {
    const char *const *items;
    size_t count;
} tn_words;

typedef struct tn_field {
    const char *name; /* as on the command line, without the dashes */
    tn_field_kind kind;
    size_t offset;       /* of the member in its struct; in fields of tn_options of no meaning to callers */
    double lo, hi;       /* bounds of numbers; none when both are 0 */
    const char *choices; /* "aitken|mackay": words of CHOICE; else a placeholder for the help: "FILE" */
    const char *help;    /* one sentence, lower case, no full stop */
} tn_field;

/* What a call can be told: made by tn_options_new (tenon/pipeline.h) for that call, with all defaults. Options are set
 * and asked for by name; texts, numbers and lists are copied. Not to be changed while a call uses them. A name that is
 * none of the call's is TN_ERR_ARG when it is set, NULL or false when it is asked for. NULL is legal for
 * tn_options_free, and as the options of a call: all defaults. */
typedef struct tn_options tn_options;
TN_API void tn_options_free(tn_options *options);

/* From text, as on the command line; flags take "yes", "no" or NULL. TN_ERR_ARG with a message that names the option,
 * what came and what was expected; the value is then as it was. */
TN_API tn_status tn_options_set(tn_ctx *ctx, tn_options *options, const char *name, const char *text);
TN_API tn_status tn_options_set_number(tn_ctx *ctx, tn_options *options, const char *name, double value);
TN_API tn_status tn_options_set_numbers(tn_ctx *ctx, tn_options *options, const char *name, const double *values,
                                        size_t count);
/* FLAG and YESNO. */
TN_API tn_status tn_options_set_flag(tn_ctx *ctx, tn_options *options, const char *name, bool value);

/* The value as text, of fresh options the default; "" for objects. Borrowed until it is set again. */
TN_API const char *tn_options_text(const tn_options *options, const char *name);
/* The value as a number; false when it is something else: a word, a text, a list. */
TN_API bool tn_options_number(const tn_options *options, const char *name, double *value);
/* Was it set? What was set and is of no use to the method that was chosen is refused by the call. */
TN_API bool tn_options_given(const tn_options *options, const char *name);
TN_API bool tn_options_of_use(const tn_options *options, const char *name);
/* The methods that have a use for it, as people read them: "svm, svm-cv"; NULL when all have. */
TN_API const char *tn_options_methods(const tn_options *options, const char *name);
/* Heading that it stands under in a help text. */
TN_API const char *tn_options_group(const tn_options *options, const char *name);
/* All of them, in the order of the help text. NULL from tn_options_count on. */
TN_API size_t tn_options_count(const tn_options *options);
TN_API const tn_field *tn_options_field(const tn_options *options, size_t i);

/* For tables of your own, as the program has them. Sets one member of your struct from its text. TN_ERR_ARG with a
 * message that names the field, what came and what was expected. FLAG takes text NULL; TEXT is borrowed. */
TN_API tn_status tn_field_set(tn_ctx *ctx, const tn_field *field, void *options, const char *text);
/* Writes a member's value as text into buf, e.g. for help ("default: l2"); returns buf. */
TN_API const char *tn_field_text(const tn_field *field, const void *options, char *buf, size_t size);

/* ---- texts ---- */

/* Texts that a call hands over. */
TN_API void tn_text_free(char *text);

/* For JSON of your own: the character at `text` as it stands in a JSON string, into out, terminated; returns the bytes
 * of `text` it took, 0 at the end. Quotes, backslashes, control characters and what tn_plain_char shows by number are
 * escaped; a byte that is not UTF-8 becomes U+FFFD, so that the output is always valid JSON. */
TN_API size_t tn_json_char(const char *text, char out[8]);

/* For lines of your own: the character at `text` as people are shown it, so that names and metadata from files are read
 * and never obeyed by a terminal, and one line stays one line. \n, \t, \r; \x1b for other control characters below 0x80
 * and for bytes that are not UTF-8; \u{202e} for C1 controls, line and paragraph separators and marks that turn the
 * direction of writing. Everything else, backslashes too, stays as it is. Returns the bytes of `text` it took, 0 at the
 * end. */
TN_API size_t tn_plain_char(const char *text, char out[12]);

/* ---- files ---- */

/* Lets the library read single rows of files through mappings, which takes half the time of a system call for each. A
 * mapped file that shrinks raises SIGBUS: this installs a handler, which turns that into TN_ERR_IO where the library
 * was reading and hands every other SIGBUS to the handler that was there before. For programs, once, before other
 * threads run; a library should leave its process alone. False when there can be no handler: files are then read by
 * system calls, as without this. */
TN_API bool tn_map_files(void);

/* Can a file be written under this path? For asking before the work, so that an hour of it is not lost to a mistyped
 * folder; the writers ask again. TN_ERR_OUTPUT names the path and why not: a folder, device, pipe or a link to nothing
 * of that name, a folder that is missing or closed. Symbolic links are followed. */
TN_API tn_status tn_output_check(tn_ctx *ctx, const char *path);

/* An output in the making: a file without a name where the file system has them, else one with a random name beside
 * `path`; commit gives it the name. Closing without commit, a failure or an interrupt leave nothing, and what a killed
 * run left is removed by the next one with the same path. All failures are TN_ERR_OUTPUT and name the path: those of
 * tn_output_check too. The target of a symbolic link is replaced, not the link; a file that is there keeps its
 * permissions, a new one gets what the umask leaves. Owned by the caller, free with tn_output_close. */
typedef struct tn_output tn_output;
TN_API tn_status tn_output_open(tn_ctx *ctx, const char *path, tn_output **out);
TN_API tn_status tn_output_write(tn_ctx *ctx, tn_output *output, const void *bytes, size_t size);
/* On the disk under its name, file and folder, when this is TN_OK. */
TN_API tn_status tn_output_commit(tn_ctx *ctx, tn_output *output);
/* NULL is legal; frees also after commit. */
TN_API void tn_output_close(tn_output *output);

/* SHA-256 of a file as 64 hexadecimal digits and a NUL. TN_ERR_IO, TN_ERR_INTERRUPTED. */
TN_API tn_status tn_file_sha256(tn_ctx *ctx, const char *path, char out[65]);

/* Writes a text to a file, beside it first. TN_ERR_OUTPUT. */
TN_API tn_status tn_text_write(tn_ctx *ctx, const char *text, const char *path);

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
/* Threads of an OpenBLAS that have nothing to do look for work for 2^26 cycles, some 25 milliseconds, before they
 * sleep, on processors that the library's own threads want: a tenth to a fifth of the time of a fit of a second. From
 * here on it is 2^18, in the whole process. For a program to call at its start, while it has one thread: the
 * environment is changed meanwhile. Does nothing where OPENBLAS_THREAD_TIMEOUT is set, or the BLAS is another. */
TN_API void tn_machine_calm_blas(void);
/* Is TN_SIMD, where it is set, one of scalar, avx2 and avx512? Without asking, another word is as none. A level that
 * the processor lacks is a warning: the next lower one is used. TN_ERR_ARG. */
TN_API tn_status tn_simd_check(tn_ctx *ctx);
/* Speed in GFLOP/s of this machine's own matrix product (single precision, square of order n) with the
 * context's threads: the yardstick of every benchmark. */
TN_API tn_status tn_machine_gemm_speed(tn_ctx *ctx, size_t n, double *gflops);

#ifdef __cplusplus
}
#endif
#endif
