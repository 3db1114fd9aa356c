/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 10, report: results as JSON, as tables, as pictures. Texts are owned by the caller, free
 * with tn_text_free. Files are written beside and renamed; a failure leaves nothing. */
#ifndef TENON_REPORT_H
#define TENON_REPORT_H

#include "tenon/evaluate.h"
#include "tenon/select.h"
#include "tenon/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* k1(x, y) at TN_MAP_BINS^2 places as text: a first line of y, then x and a line of values each. */
TN_API tn_status tn_map_csv_save(tn_ctx *ctx, const tn_map *map, const char *path);
/* The same in colours with the histogram of entries below, as SVG; `name` is its title. */
TN_API tn_status tn_map_picture_save(tn_ctx *ctx, const tn_map *map, const char *name, const char *path);

/* One JSON object in the keys of the command-line contract, no newline at the end; NaN and infinity as null. */
TN_API tn_status tn_ranking_json(tn_ctx *ctx, const tn_ranking *ranking, char **out);
TN_API tn_status tn_evidence_json(tn_ctx *ctx, const tn_evidence *evidence, char **out);
TN_API tn_status tn_fit_json(tn_ctx *ctx, const tn_fit_info *info, const char *model, char **out);
TN_API tn_status tn_transfer_json(tn_ctx *ctx, const tn_transfer_info *info, const char *model, char **out);
/* scores: the file that held-out scores were written to, or NULL. */
TN_API tn_status tn_cv_json(tn_ctx *ctx, const tn_cv_result *result, const char *scores, char **out);
TN_API tn_status tn_metrics_json(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names, char **out);

/* A kernel that was learned, and one as it is; kernel, name: what its file is called. */
TN_API tn_status tn_map_learn_json(tn_ctx *ctx, const tn_map_info *info, const tn_map *map, const char *kernel,
                                   char **out);
TN_API tn_status tn_map_json(tn_ctx *ctx, const tn_map *map, const char *name, char **out);

/* For people: a table and a sentence; color adds terminal colours. */
TN_API tn_status tn_ranking_table(tn_ctx *ctx, const tn_ranking *ranking, bool color, char **out);
TN_API tn_status tn_fit_table(tn_ctx *ctx, const tn_fit_info *info, const char *model, bool color, char **out);
TN_API tn_status tn_transfer_table(tn_ctx *ctx, const tn_transfer_info *info, const char *model, bool color,
                                   char **out);
TN_API tn_status tn_cv_table(tn_ctx *ctx, const tn_cv_result *result, const char *scores, bool color, char **out);
TN_API tn_status tn_metrics_table(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names,
                                  bool per_class, bool color, char **out);

TN_API tn_status tn_map_learn_text(tn_ctx *ctx, const tn_map_info *info, const tn_map *map, const char *kernel,
                                   bool color, char **out);
TN_API tn_status tn_map_text(tn_ctx *ctx, const tn_map *map, const char *name, bool color, char **out);

/* ---- a page for a browser ---- */

/* Results as one HTML page that needs no network: figures, tables and charts that can be read without a script, aloud and
 * on paper. Only aggregates are shown, and thumbnails where rows are pictures. */
typedef struct tn_page tn_page;

/* Owned by the caller, free with tn_page_free. TN_ERR_MEMORY. */
TN_API tn_status tn_page_new(tn_ctx *ctx, tn_page **out);
/* NULL is legal. */
TN_API void tn_page_free(tn_page *page);
/* Adds a result: the JSON object that a command prints, with its member "command"; name: its file, or what it is called.
 * Both are copied. TN_ERR_FORMAT for what is no such object, TN_ERR_BUDGET, TN_ERR_MEMORY. */
TN_API tn_status tn_page_add(tn_ctx *ctx, tn_page *page, const char *name, const char *json);
/* Rows of the results are these pictures, row i the i-th: borrowed while the page lives. */
TN_API void tn_page_set_pictures(tn_page *page, const tn_pictures *pictures);
/* The page, for tn_text_write; free with tn_text_free. TN_ERR_ARG without a result. O(size of the results). */
TN_API tn_status tn_page_html(tn_ctx *ctx, const tn_page *page, char **out);

#ifdef __cplusplus
}
#endif
#endif
