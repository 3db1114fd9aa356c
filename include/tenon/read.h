/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 1, read: features, pictures, labels. Features are rows of numbers, one row per sample, under a name. They come
 * from
 *
 *   a file      or folder, opened by a REP text [NAME=]PATH, where PATH is .npy, file.npz:key, file.safetensors:key,
 *               the codes of a product quantiser (.safetensors, decoded as they are read), .fvecs, .svm/.libsvm, .csv,
 *               .tsv, or a directory of .npy shards taken in name order. Values are read when rows are asked for; only
 *               text and packed arrays are held in memory.
 *   an array    that the caller keeps: any element type, strides and byte order. Nothing is copied.
 *   a producer  callbacks of the caller that compute rows when they are asked for.
 *
 * Whatever takes tn_features takes all of them, and gives the same results for the same values. */
#ifndef TENON_READ_H
#define TENON_READ_H

#include "tenon/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features ---- */

typedef struct tn_features tn_features;

/* Opens a representation and checks its header against its length. The default NAME is the file name up to its
 * first dot. Owned by the caller, free with tn_features_close.
 * TN_ERR_IO missing or unreadable; TN_ERR_FORMAT with the byte position; TN_ERR_UNSUPPORTED; TN_ERR_MEMORY. */
TN_API tn_status tn_features_open(tn_ctx *ctx, const char *rep, tn_features **out);
/* The same, but of a folder shards of floats that end too early are left out, each with a warning: their rows, which
 * the header still tells, stay in their places and hold NaN, so that TN_NAN_DROP leaves them out and labels go on
 * belonging to their rows. */
TN_API tn_status tn_features_open_sound(tn_ctx *ctx, const char *rep, tn_features **out);
/* NULL is legal. */
TN_API void tn_features_close(tn_features *features);
/* The file or folder that a REP names, without NAME and key, into buf, cut to its size. Returns buf. */
TN_API const char *tn_rep_file(const char *rep, char *buf, size_t size);

/* A matrix in the caller's memory: element (r, c) is at  data + r * row_stride + c * col_stride  bytes. Strides may be
 * zero and below zero, and elements need not be aligned: every two-dimensional array of NumPy is one of these. */
typedef struct tn_array {
    const void *data; /* element (0, 0) */
    tn_dtype dtype;
    size_t rows, cols;
    ptrdiff_t row_stride, col_stride; /* bytes */
    bool swapped;                     /* elements are in the other byte order than this machine's */
} tn_array;

/* Row after row without gaps, in this machine's byte order. */
TN_API tn_array tn_array_compact(const void *data, tn_dtype dtype, size_t rows, size_t cols);

/* Features that are an array. Its values are borrowed: they must stay where and as they are until tn_features_close.
 * Owned by the caller, free with tn_features_close. TN_ERR_ARG: no name, no data, an unknown type; TN_ERR_DATA: no rows
 * or columns. */
TN_API tn_status tn_features_from_array(tn_ctx *ctx, const char *name, const tn_array *array, tn_features **out);

#define TN_PRODUCER_MESSAGE 512

/* Rows that are computed when they are asked for: by an encoder, a network, a binding to another language.
 *
 * read fills out with `count` whole rows, compact: float for dtype TN_F32, double for TN_F64. Row i of them is
 * index[start + i], or start + i when index is NULL: below `rows`, in any order, some perhaps twice. It returns TN_OK,
 * or a status, with a sentence that says why in `message` (TN_PRODUCER_MESSAGE bytes): what was asked of the library
 * then fails with both.
 *
 * What a producer promises:
 * - A row has the same bits whenever, beside whichever others and by whichever thread it is asked for. Learners read
 *   rows many times over: where that takes long, the producer keeps them, or they are first put into an array or a
 *   file.
 * - read may be called by several threads at once, which belong to the library.
 * - read does not use the context of the call that it serves; a context of its own is fine.
 * - What it needs besides out does not grow from call to call. */
typedef struct tn_producer {
    void *user; /* handed to the callbacks */
    size_t rows, cols;
    tn_dtype dtype; /* TN_F32, or TN_F64 where float would lose digits */
    /* Rows per call at most. 0: 64 or fewer, several calls at once. SIZE_MAX: one call for all rows that are wanted at
     * the time, by the thread that asks, for producers with threads of their own. */
    size_t block;
    tn_status (*read)(void *user, const size_t *index, size_t start, size_t count, void *out, char *message);
    void (*release)(void *user); /* called once, by tn_features_close; NULL: nothing to do */
} tn_producer;

/* Features of a producer, whose struct is copied. Owned by the caller, free with tn_features_close; on failure release
 * is not called. TN_ERR_ARG: no name, no read, another type; TN_ERR_DATA: no rows or columns. */
TN_API tn_status tn_features_from_producer(tn_ctx *ctx, const char *name, const tn_producer *producer,
                                           tn_features **out);

/* Names the rows (tn_features_rows texts, copied), in the place of the names that they have; before features are used.
 * */
TN_API tn_status tn_features_set_ids(tn_ctx *ctx, tn_features *features, const char *const *ids);

/* What made them, as a JSON object (tn_network_about), copied: heads that are trained on them remember it. */
TN_API tn_status tn_features_set_about(tn_ctx *ctx, tn_features *features, const char *about);
/* NULL: nobody said. */
TN_API const char *tn_features_about(const tn_features *features);

/* Borrowed while the features live. */
TN_API const char *tn_features_name(const tn_features *features);
/* Where they come from, for messages: the path; the name, when there is no file. */
TN_API const char *tn_features_path(const tn_features *features);
TN_API size_t tn_features_rows(const tn_features *features);
TN_API size_t tn_features_cols(const tn_features *features);
TN_API tn_dtype tn_features_dtype(const tn_features *features);
/* Short name of the container: "npy", "npz", "safetensors", "codes", "fvecs", "libsvm", "csv", "tsv", "shards",
 * "array", "producer", "pictures". */
TN_API const char *tn_features_format(const tn_features *features);
/* Names of the rows, if they have some (CSV column named id, npz member ids, tn_features_set_ids), else NULL. */
TN_API const char *const *tn_features_ids(const tn_features *features);
/* True when float would lose digits of the stored values (float64, integers of 32 bits and more). */
TN_API bool tn_features_is_wide(const tn_features *features);

/* Copies a rectangle, converted, into out (count x cols, compact). Row i is index[start + i], or start + i when index
 * is NULL. Values are as stored: NaN and infinity come through. Safe to call concurrently on the same features with
 * different contexts. Fails with TN_ERR_ARG when the rectangle is outside, TN_ERR_IO when the file shrank, and as their
 * producer fails. */
TN_API tn_status tn_features_read(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                  size_t count, size_t col0, size_t cols, float *out);
TN_API tn_status tn_features_read_wide(tn_ctx *ctx, const tn_features *features, const size_t *index, size_t start,
                                       size_t count, size_t col0, size_t cols, double *out);

/* ---- bags of local descriptors ---- */

/* Many descriptors per sample, as many as each has: bag i is the rows [offsets[i], offsets[i + 1]) of `descriptors`.
 * With positions, row r of those says where in its picture descriptor r was taken: x, y, scale. */
typedef struct tn_bags tn_bags;

/* `count` bags: offsets has count + 1 entries, ascending (a bag may be empty), the last at most the rows of
 * descriptors; positions (rows of descriptors x 3) may be NULL. A block of bags is bags again: offsets + first.
 * Everything is borrowed while the bags live. Owned by the caller, free with tn_bags_free. TN_ERR_ARG: no bags;
 * TN_ERR_DATA: offsets that descend or lie outside; TN_ERR_SHAPE: positions of another shape. */
TN_API tn_status tn_bags_new(tn_ctx *ctx, const size_t *offsets, size_t count, const tn_features *descriptors,
                             const tn_features *positions, tn_bags **out);
/* From [NAME=]file.npz with members offsets (whole numbers), descriptors, and optionally positions and ids (one per
 * bag). */
TN_API tn_status tn_bags_open(tn_ctx *ctx, const char *rep, tn_bags **out);
/* From a representation of descriptors and one of offsets (one column of whole numbers); offsets NULL: a .npy of shape
 * (bags, descriptors, values), bags of equal size. TN_ERR_SHAPE, and as of files. */
TN_API tn_status tn_bags_open_arrays(tn_ctx *ctx, const char *descriptors, const char *offsets, tn_bags **out);
/* NULL is legal. */
TN_API void tn_bags_free(tn_bags *bags);

TN_API size_t tn_bags_count(const tn_bags *bags);
/* count + 1 entries. This, and what follows, borrowed while the bags live. */
TN_API const size_t *tn_bags_offsets(const tn_bags *bags);
TN_API const tn_features *tn_bags_descriptors(const tn_bags *bags);
/* NULL: there are none. */
TN_API const tn_features *tn_bags_positions(const tn_bags *bags);
/* Names of the bags, count of them, or NULL. */
TN_API const char *const *tn_bags_ids(const tn_bags *bags);
/* The bags [first, first + count), one below the other: offsets[first + count] - offsets[first] rows of descriptors,
 * and of 3 positions unless that is NULL. TN_ERR_ARG: outside, or positions that are not there. */
TN_API tn_status tn_bags_read(tn_ctx *ctx, const tn_bags *bags, size_t first, size_t count, float *descriptors,
                              float *positions);

typedef struct tn_labels tn_labels;

/* ---- pictures ---- */

/* A picture as numbers from 0 to 1: value c of pixel (x, y) is pixels[(y * width + x) * channels + c]. */
typedef struct tn_picture {
    float *pixels;
    size_t width, height, channels; /* channels: 1 (grey) or 3 (red, green, blue) */
} tn_picture;

/* Decodes a JPEG (also CMYK) or PNG (1 to 16 bits, palette, transparent on white, interlaced), whatever its name ends
 * in, turned upright as EXIF tells, and shrunk without aliasing to at most `pixels` pixels; 0: as large as it is. Owned
 * by the caller, free with tn_picture_free. TN_ERR_IO; TN_ERR_UNSUPPORTED: of another kind; TN_ERR_FORMAT: broken or cut
 * off; TN_ERR_DATA: declares more than 2^27 pixels, which is seen before anything is allocated. Memory grows with what
 * is kept, but for interlaced PNG and JPEG in several scans. */
TN_API tn_status tn_picture_read(tn_ctx *ctx, const char *path, size_t pixels, tn_picture **out);
/* The same of the bytes of such a file, borrowed until return; name is what messages call them, may be NULL. */
TN_API tn_status tn_picture_decode(tn_ctx *ctx, const void *bytes, size_t size, const char *name, size_t pixels,
                                   tn_picture **out);
/* NULL is legal. */
TN_API void tn_picture_free(tn_picture *picture);

/* Files of pictures, in order, with what is known of them. Nothing is decoded yet. */
typedef struct tn_pictures tn_pictures;

/* From IMAGES: one folder with a sub-folder per class (in byte order, looked through to the bottom), one folder of
 * pictures, one text file of lines `path` or `path TAB label|label` (paths relative to it), or paths of pictures (.jpg,
 * .jpeg, .png). Owned by the caller, free with tn_pictures_free. TN_ERR_IO: missing, unreadable, a folder that contains
 * itself; TN_ERR_FORMAT with the line; TN_ERR_DATA: no pictures, or some beside sub-folders; TN_ERR_ARG. */
TN_API tn_status tn_pictures_open(tn_ctx *ctx, const char *const *images, size_t count, tn_pictures **out);
/* NULL is legal. */
TN_API void tn_pictures_free(tn_pictures *pictures);
TN_API size_t tn_pictures_count(const tn_pictures *pictures);
/* Borrowed while the pictures live; ids are paths as the list has them: within the folder, in the text, as given. */
TN_API const char *tn_pictures_path(const tn_pictures *pictures, size_t i);
TN_API const char *const *tn_pictures_ids(const tn_pictures *pictures);
/* Decodes every picture once and forgets those that are broken, each told as a warning; *dropped, unless NULL: how many.
 * TN_ERR_DATA when none is left. */
TN_API tn_status tn_pictures_drop_broken(tn_ctx *ctx, tn_pictures *pictures, size_t *dropped);
/* Do folders or lines give labels? Those, with the ids; owned by the caller. TN_ERR_DATA when there are none. */
TN_API bool tn_pictures_labelled(const tn_pictures *pictures);
TN_API tn_status tn_pictures_labels(tn_ctx *ctx, const tn_pictures *pictures, tn_labels **out);

/* ---- labels ---- */

typedef enum tn_task { TN_TASK_AUTO, TN_TASK_MULTICLASS, TN_TASK_MULTILABEL, TN_TASK_REGRESSION } tn_task;

/* Word of the command line: "auto", "multiclass", "multilabel", "regression". */
TN_API const char *tn_task_name(tn_task task);

/* tn_labels: what is known of each row: classes, or values; and how much it counts. */

/* Reads LABELS: .npy (N whole numbers or texts; N x K of 0/1; other floats for regression), or text, one line per row:
 * a name, names joined by |, optionally preceded by an id and a tab; -1 or an empty line: unlabelled. TN_TASK_AUTO
 * decides by the file. Owned by the caller, free with tn_labels_free. */
TN_API tn_status tn_labels_open(tn_ctx *ctx, const char *path, tn_task task, tn_labels **out);
TN_API void tn_labels_free(tn_labels *labels);

/* The same from memory, everything copied. names (classes) may be NULL: "0", "1", ... They keep their order; TN_ERR_ARG
 * for an empty one, TN_ERR_DATA for one that stands there twice or is not UTF-8, for a number that is no class, naming
 * the row, and when every row is unlabelled. */

/* Multi-class, by class number; below 0: unlabelled. classes 0: those numbers that occur, ascending, as in a file. */
TN_API tn_status tn_labels_from_numbers(tn_ctx *ctx, const int64_t *numbers, size_t rows, const char *const *names,
                                        size_t classes, tn_labels **out);
/* Multi-label: row i has the classes numbers[first[i]] .. numbers[first[i+1]-1], in any order; none is a row that has
 * no class, one number below 0 an unlabelled row. first: rows + 1. */
TN_API tn_status tn_labels_from_lists(tn_ctx *ctx, const size_t *first, const int64_t *numbers, size_t rows,
                                      const char *const *names, size_t classes, tn_labels **out);
/* By 0 and 1, that of row i and class k being marks[i * row_step + k * col_step]. task: TN_TASK_MULTILABEL, as which
 * AUTO counts, or TN_TASK_MULTICLASS, where a row must have one 1. */
TN_API tn_status tn_labels_from_matrix(tn_ctx *ctx, const uint8_t *marks, size_t rows, size_t classes,
                                       ptrdiff_t row_step, ptrdiff_t col_step, const char *const *names, tn_task task,
                                       tn_labels **out);
/* Regression: values (rows x outputs, compact); a row with a NaN is unlabelled. names NULL: "value" if there is one
 * output. */
TN_API tn_status tn_labels_from_values(tn_ctx *ctx, const double *values, size_t rows, size_t outputs,
                                       const char *const *names, tn_labels **out);
/* Of an array of any type and order, as tn_labels_open reads one from a file; its ids come along. */
TN_API tn_status tn_labels_from_features(tn_ctx *ctx, const tn_features *features, tn_task task, tn_labels **out);

/* Identifiers of the rows (rows, copied; NULL: none), which tn_rows_agree compares. */
TN_API tn_status tn_labels_set_ids(tn_ctx *ctx, tn_labels *labels, const char *const *ids);
/* How much each row counts in tn_fit and tn_rank: numbers from 0 up for the rows that take part, of which others need
 * none. A row of weight 0 is left out, as if it had no label. From memory, copied (NULL: no weights), or from a
 * representation of one column. TN_ERR_SHAPE when they are not one per row. */
TN_API tn_status tn_labels_set_weights(tn_ctx *ctx, tn_labels *labels, const double *weights, size_t count);
TN_API tn_status tn_labels_open_weights(tn_ctx *ctx, tn_labels *labels, const char *rep);
/* Makes a row unlabelled. */
TN_API void tn_labels_forget(tn_labels *labels, size_t row);

/* Borrowed while the labels live and are not changed. */
TN_API tn_task tn_labels_task(const tn_labels *labels); /* never TN_TASK_AUTO */
/* Labels as a text of them: one line per row, names joined by |, -1 for unlabelled. Free with tn_text_free. TN_ERR_ARG
 * for a regression, TN_ERR_DATA for a name that such a text cannot hold. */
TN_API tn_status tn_labels_text(tn_ctx *ctx, const tn_labels *labels, char **out);
TN_API size_t tn_labels_rows(const tn_labels *labels);
TN_API size_t tn_labels_classes(const tn_labels *labels); /* or outputs of a regression */
/* Of files they are sorted: as numbers when all are whole numbers, else by bytes. */
TN_API const char *const *tn_labels_class_names(const tn_labels *labels);
TN_API const char *tn_labels_path(const tn_labels *labels);       /* as in messages */
TN_API const char *const *tn_labels_ids(const tn_labels *labels); /* rows, or NULL */
/* False: unlabelled, left out of training. */
TN_API bool tn_labels_known(const tn_labels *labels, size_t row);
/* The classes of a row, ascending: *count numbers; NULL for a row that is unlabelled or of a regression. */
TN_API const uint32_t *tn_labels_of(const tn_labels *labels, size_t row, size_t *count);
TN_API const double *tn_labels_values(const tn_labels *labels);  /* rows x outputs of a regression, else NULL */
TN_API const double *tn_labels_weights(const tn_labels *labels); /* rows, or NULL: all alike */

/* Labels that can hardly be meant, to be asked before a training. `asked` is the task that tn_labels_open was given:
 * one that was given on purpose settles what it can. Warnings (tn_ctx_set_warning): nearly as many classes as rows,
 * classes of one row, a first row like a header, a 0/1 table with one 1 per row read as multi-label, and, unless
 * balanced, very uneven classes. TN_ERR_DATA where training would be nonsense: numbers with fractions as classes,
 * identifiers before the labels, a header above numbers. */
TN_API tn_status tn_labels_judge(tn_ctx *ctx, const tn_labels *labels, tn_task asked, bool balanced);

/* Names of classes from a text, one per line, the first for class 0. Owned by the caller, free with
 * tn_class_names_free. TN_ERR_IO; TN_ERR_FORMAT; TN_ERR_DATA: none, or one twice. */
TN_API tn_status tn_class_names_open(tn_ctx *ctx, const char *path, char ***names, size_t *count);
TN_API void tn_class_names_free(char **names);
/* Gives classes that are numbers their names: class "7" becomes names[7]. The order of the classes stays. TN_ERR_DATA
 * for a class that is no number, or none below count; TN_ERR_ARG for a regression. */
TN_API tn_status tn_labels_name(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count);

/* Rewrites the labels over the given class names (a head's), so that indices agree with score columns.
 * A label that is not among them is TN_ERR_DATA, naming it. */
TN_API tn_status tn_labels_map(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count);

/* The same, but labels that are not among them become further classes, behind them and in their own order. */
TN_API tn_status tn_labels_join(tn_ctx *ctx, tn_labels *labels, const char *const *names, size_t count);

/* One class against the rest, in place: two classes, "not NAME" and NAME, of a multi-class task, whatever it was
 * before. Rows without a label stay without. TN_ERR_DATA when there is no such class, TN_ERR_ARG for a regression. */
TN_API tn_status tn_labels_against_rest(tn_ctx *ctx, tn_labels *labels, const char *name);

/* Checks that rows agree, and ids where both carry them: "dino.npy: 4999 rows, but labels.npy has 5000". */
TN_API tn_status tn_rows_agree(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels);

#ifdef __cplusplus
}
#endif
#endif
