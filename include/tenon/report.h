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

#ifdef __cplusplus
}
#endif
#endif
