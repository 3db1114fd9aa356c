/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 8, report: heads to and from files, results as JSON and as tables. Texts are owned by the caller, free
 * with tn_text_free. Files are written beside and renamed; a failure leaves nothing. */
#ifndef TENON_REPORT_H
#define TENON_REPORT_H

#include "tenon/encode.h"
#include "tenon/evaluate.h"
#include "tenon/select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A head as .safetensors, layout in docs/formats.md. `command` is recorded in created_by; may be NULL.
 * TN_ERR_OUTPUT. */
TN_API tn_status tn_head_save(tn_ctx *ctx, const tn_head *head, const char *command, const char *path);
/* TN_ERR_IO, TN_ERR_FORMAT, TN_ERR_UNSUPPORTED (a later version). Owned by the caller, free with tn_head_free. */
TN_API tn_status tn_head_load(tn_ctx *ctx, const char *path, tn_head **out);

/* Statistics as .safetensors: gram, shift, sum, xty, ysum, yy, exact to the last bit. Failures as for heads. */
TN_API tn_status tn_stats_save(tn_ctx *ctx, const tn_stats *stats, const char *path);
TN_API tn_status tn_stats_load(tn_ctx *ctx, const char *path, tn_stats **out);

/* A product quantiser as .safetensors, layout in docs/formats.md. Failures as for heads. */
TN_API tn_status tn_pq_save(tn_ctx *ctx, const tn_pq *pq, const char *command, const char *path);
TN_API tn_status tn_pq_load(tn_ctx *ctx, const char *path, tn_pq **out);
/* Every row of src as codes, with the centroids they stand for: a representation that tn_source_open reads without another
 * file. Rows are read, encoded and written in blocks. info may be NULL. Besides TN_ERR_OUTPUT: TN_ERR_SHAPE when src has
 * other columns than the quantiser, TN_ERR_DATA for a row with NaN or infinity. */
TN_API tn_status tn_codes_save(tn_ctx *ctx, const tn_pq *pq, const tn_source *src, const char *command,
                               const char *path, tn_pq_info *info);

/* A learned map as .safetensors, layout in docs/formats.md. Failures as for heads; TN_ERR_ARG for a named map, which needs
 * no file. */
TN_API tn_status tn_map_save(tn_ctx *ctx, const tn_map *map, const char *command, const char *path);
TN_API tn_status tn_map_load(tn_ctx *ctx, const char *path, tn_map **out);

/* Every row of src through the map, normalised, as float32 .npy: rows x (columns x tn_map_width). Read, mapped and written in
 * blocks. TN_ERR_OUTPUT; TN_ERR_DATA for a row with NaN or infinity unless nan is TN_NAN_ZERO. */
TN_API tn_status tn_map_rows_save(tn_ctx *ctx, const tn_map *map, const tn_source *src, tn_normalize normalize,
                                  tn_nan_policy nan, const char *path);
/* k1(x, y) at TN_MAP_BINS^2 places as text: a first line of y, then x and a line of values each. */
TN_API tn_status tn_map_csv_save(tn_ctx *ctx, const tn_map *map, const char *path);
/* The same in colours with the histogram of entries below, as SVG; `name` is its title. */
TN_API tn_status tn_map_picture_save(tn_ctx *ctx, const tn_map *map, const char *name, const char *path);

/* A float32 .npy written row block by row block. */
typedef struct tn_npy_writer tn_npy_writer;
TN_API tn_status tn_npy_writer_open(tn_ctx *ctx, const char *path, size_t rows, size_t cols, tn_npy_writer **out);
TN_API tn_status tn_npy_writer_rows(tn_ctx *ctx, tn_npy_writer *writer, const float *data, size_t rows);
/* Gives the file its name; TN_ERR_SHAPE when rows are missing. */
TN_API tn_status tn_npy_writer_commit(tn_ctx *ctx, tn_npy_writer *writer);
/* NULL is legal; without commit the file is removed. */
TN_API void tn_npy_writer_close(tn_npy_writer *writer);

/* One JSON object in the keys of the command-line contract, no newline at the end; NaN and infinity as null. */
TN_API tn_status tn_ranking_json(tn_ctx *ctx, const tn_ranking *ranking, char **out);
TN_API tn_status tn_fit_json(tn_ctx *ctx, const tn_fit_info *info, const char *model, char **out);
TN_API tn_status tn_transfer_json(tn_ctx *ctx, const tn_transfer_info *info, const char *model, char **out);
TN_API tn_status tn_metrics_json(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names, char **out);

/* A kernel that was learned, and one as it is; kernel, name: what its file is called. */
TN_API tn_status tn_map_learn_json(tn_ctx *ctx, const tn_map_info *info, const tn_map *map, const char *kernel,
                                   char **out);
TN_API tn_status tn_map_json(tn_ctx *ctx, const tn_map *map, const char *name, char **out);

/* For JSON of your own: the character at `text` as it stands in a JSON string, into out, terminated; returns the bytes
 * of `text` it took, 0 at the end. Quotes, backslashes, control characters and what tn_plain_char shows by number are escaped; a byte that is not UTF-8
 * becomes U+FFFD, so that the output is always valid JSON. */
TN_API size_t tn_json_char(const char *text, char out[8]);

/* For lines of your own: the character at `text` as people are shown it, so that names and metadata from files are read and
 * never obeyed by a terminal, and one line stays one line. \n, \t, \r; \x1b for other control characters below 0x80 and for
 * bytes that are not UTF-8; \u{202e} for C1 controls, line and paragraph separators and marks that turn the direction of
 * writing. Everything else, backslashes too, stays as it is. Returns the bytes of `text` it took, 0 at the end. */
TN_API size_t tn_plain_char(const char *text, char out[12]);

/* The same for people: a table and a sentence; color adds terminal colours. */
TN_API tn_status tn_ranking_table(tn_ctx *ctx, const tn_ranking *ranking, bool color, char **out);
TN_API tn_status tn_fit_table(tn_ctx *ctx, const tn_fit_info *info, const char *model, bool color, char **out);
TN_API tn_status tn_transfer_table(tn_ctx *ctx, const tn_transfer_info *info, const char *model, bool color,
                                   char **out);
TN_API tn_status tn_metrics_table(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names,
                                  bool per_class, bool color, char **out);

TN_API tn_status tn_map_learn_text(tn_ctx *ctx, const tn_map_info *info, const tn_map *map, const char *kernel,
                                   bool color, char **out);
TN_API tn_status tn_map_text(tn_ctx *ctx, const tn_map *map, const char *name, bool color, char **out);

TN_API void tn_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
