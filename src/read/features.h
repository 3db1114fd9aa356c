/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of features. Stored values, whatever the container, are one or more parts, one below the other:
 *
 *   element (r, c) of a part is at  base + r * row_step + c * col_step  bytes
 *
 * so that C order, Fortran order, a prefix before each row, shards, slices of arrays and either byte order are all
 * strides and a flag, and one reader (rows.c) serves them all. Bytes are those of files, read when rows are asked for,
 * of one block that the features own, or of an array that they borrow. Computed values come from a producer instead; it
 * may have parts, in files that the features hold for it: those that it reads. */
#ifndef TNP_FEATURES_H
#define TNP_FEATURES_H

#include "base/base.h"
#include "tenon/read.h"

enum { TNP_MAX_DIMS = 8, TNP_MAX_COLUMNS = 1 << 24, TNP_SHAPE_TEXT = 200 };
#define TNP_NO_FILE SIZE_MAX

/* An array as its container declares it: its bytes were checked to lie inside the file. */
typedef struct tnp_array {
    tn_dtype dtype;
    char text;   /* 'U' or 'S' for fixed-length text, which has no tn_dtype; 0 for numbers */
    size_t item; /* bytes of one element */
    bool swap;   /* the other byte order than this machine's */
    bool fortran;
    size_t ndim, shape[TNP_MAX_DIMS];
    size_t at;                 /* byte of the file where it begins */
    const unsigned char *data; /* or in memory; NULL for the file */
} tnp_array;

typedef struct tnp_part {
    const unsigned char *base;    /* in memory, or NULL */
    size_t at;                    /* else where it begins in its file */
    size_t first, rows;           /* rows [first, first + rows) of the features */
    ptrdiff_t row_step, col_step; /* above zero in files */
    tn_dtype dtype;
    bool swap;
    size_t file; /* index into files, or TNP_NO_FILE */
} tnp_part;

struct tn_features {
    char *name, *path;
    size_t rows, cols;
    tn_dtype dtype;     /* of the widest part */
    const char *format; /* static storage */
    char **ids;         /* rows, one block with its text (text.h), or NULL */
    tnp_file **files;
    tnp_part *parts;
    size_t file_count, part_count;
    void *owned;          /* inflated or parsed values, or NULL */
    tn_producer producer; /* read NULL: values are stored */
    char *about;          /* what made them, JSON (tn_features_set_about), or NULL */
    void *maker;          /* what made them, the bytes of an encoder's file, or NULL */
    size_t maker_size;
    bool sound_only;  /* shards that end too early are left out */
    bool from_memory; /* made of an array or a producer of the caller: the path is a name */
};

/* Features without rows yet, their name as tn_features_name shows it; NULL: the default of the path. */
tn_status tnp_features_new(tn_ctx *ctx, const char *path, const char *name, tn_features **out);
/* The bytes of what made them, copied: heads that are trained on them keep it. */
tn_status tnp_features_set_maker(tn_ctx *ctx, tn_features *features, const void *bytes, size_t size);
/* A REP into its NAME, or NULL, which the caller frees, and its PATH within rep. */
tn_status tnp_rep_split(tn_ctx *ctx, const char *rep, char **name, const char **path);

/* Opens PATH (with its key), no NAME= before it; name NULL: the default. */
tn_status tnp_features_open_path(tn_ctx *ctx, const char *path, const char *name, tn_features **out);

/* True when PATH names an array container: .npy, .npz, .safetensors with or without a key, or a directory. */
bool tnp_path_is_array(const char *path);
/* What a file is called when nothing else is said: its name up to the first dot; one that starts with a dot is kept
 * whole. */
tn_status tnp_default_name(tn_ctx *ctx, const char *path, char **out);

/* Whole rows into one of narrow and wide, (count, cols) compact; as soon as some of them, [first, first + n) of this
 * call, are there, then(arg, first, n) is called by the thread that read them: it must not fail or allocate. It makes
 * `grow` values of each that is read, so that more threads and shorter runs of rows are worth while. */
typedef void (*tnp_rows_fn)(void *arg, size_t first, size_t n);
tn_status tnp_features_read_then(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                 size_t count, float *narrow, double *wide, size_t grow, tnp_rows_fn then, void *arg);

/* Rows [start, start + count) as whole numbers, (count, cols) compact; the features hold integers. TN_ERR_DATA for one
 * that int64 does not hold. */
tn_status tnp_features_read_ints(tn_ctx *ctx, const tn_features *features, size_t start, size_t count, int64_t *out);

/* Advice to the system, see tnp_file_soon and tnp_file_later: rows [start, start + count), or, ascending, the `count`
 * rows from index[start] on will be read soon, or are no longer needed. */
void tnp_features_expect(const tn_features *features, const size_t *index, size_t start, size_t count, bool soon);

/* ---- for the openers: they fill features that the caller closes on failure ---- */

/* Opens a file into the features; *index is its place in files. */
tn_status tnp_features_file(tn_ctx *ctx, tn_features *features, const char *path, size_t *index);
/* The same for a file that is open: taken over, *file is NULL then. */
tn_status tnp_features_take(tn_ctx *ctx, tn_features *features, tnp_file **file, size_t *index);
/* Adds a 1-D (as one column) or 2-D array of numbers below the parts that are there. `label` names it in
 * messages. Columns and kind (floating or whole numbers) must agree with the parts before it. */
tn_status tnp_features_add(tn_ctx *ctx, tn_features *features, const char *label, const tnp_array *array, size_t file);
/* Adds so many rows of NaN in the place of an array of floats whose values are not there. */
tn_status tnp_features_add_missing(tn_ctx *ctx, tn_features *features, const char *label, const tnp_array *array);
/* Makes an array the one part. */
tn_status tnp_features_borrow(tn_ctx *ctx, tn_features *features, const tn_array *array);
/* The same of features->owned: rows x cols compact values. */
tn_status tnp_features_own(tn_ctx *ctx, tn_features *features, tn_dtype dtype, size_t rows, size_t cols);
/* "(5, 5, 2)" into buf; returns buf. */
const char *tnp_shape_text(const tnp_array *array, char buf[TNP_SHAPE_TEXT]);
/* Entry i of an array of text or integers as UTF-8 into buf, which holds its bytes, and 24; returns the
 * length, or SIZE_MAX when it is not text. */
size_t tnp_array_text(const tnp_array *array, size_t i, char *buf);
/* Bytes that an array's shape needs; false when that is more than size_t holds. */
bool tnp_array_bytes(const tnp_array *array, size_t *bytes);

/* One opener per container. `file` is the path without the key; key may be NULL where the format has keys. */
tn_status tnp_npy_open(tn_ctx *ctx, tn_features *features, const char *file);
/* named: a member `ids` names the rows. */
tn_status tnp_npz_open(tn_ctx *ctx, tn_features *features, const char *file, const char *key, bool named);
/* Bags that own all of it on success: offsets (count + 1), descriptors, positions, which may be NULL. ids (count) are
 * copied. */
tn_status tnp_bags_own(tn_ctx *ctx, size_t *offsets, size_t count, tn_features *descriptors, tn_features *positions,
                       const char *const *ids, tn_bags **out);
/* Of an open archive of bags: has it positions, and the names of its `count` bags, left alone where it has none. */
tn_status tnp_npz_bag_names(tn_ctx *ctx, const tnp_file *file, size_t count, bool *positions, char ***ids);
tn_status tnp_safetensors_open(tn_ctx *ctx, tn_features *features, const char *file, const char *key);
tn_status tnp_fvecs_open(tn_ctx *ctx, tn_features *features, const char *file);
tn_status tnp_libsvm_open(tn_ctx *ctx, tn_features *features, const char *file);
tn_status tnp_csv_open(tn_ctx *ctx, tn_features *features, const char *file);
tn_status tnp_shards_open(tn_ctx *ctx, tn_features *features, const char *folder);

/* Reads the header of a .npy array of `size` bytes: at byte `at` of a file, or in memory, where `at` counts for
 * messages only. The values must end exactly where the bytes end. */
tn_status tnp_npy_read(tn_ctx *ctx, const tnp_file *file, size_t at, size_t size, tnp_array *out);
/* The header of a .npy file, whatever follows it. */
tn_status tnp_npy_head(tn_ctx *ctx, const tnp_file *file, tnp_array *out);
tn_status tnp_npy_parse(tn_ctx *ctx, const char *path, const unsigned char *bytes, size_t size, tnp_array *out);

#endif
