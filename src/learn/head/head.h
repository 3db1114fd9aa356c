/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a head: for the learners that make one and the report stage that stores it. */
#ifndef TNP_HEAD_H
#define TNP_HEAD_H

#include "base/base.h"
#include "tenon/learn.h"

typedef struct tnp_rep {
    char *name;
    size_t dim; /* columns of its file */
    tn_normalize normalize;
    char *transform; /* name of the map; NULL without one */
    tn_map *map;     /* or NULL */
    char *about;     /* what made its rows, JSON, or NULL: tn_features_about */
    void *maker;     /* the encoder that made them, the bytes of its file, or NULL */
    size_t maker_size;
} tnp_rep;

/* A column of scores that another classifier gives. */
typedef struct tnp_head_source {
    char *name;    /* of the file of scores, or of the head, that gives it */
    char *label;   /* class of that head, or the column's number */
    size_t column; /* in it */
    bool is_head;
} tnp_head_source;

struct tn_head {
    tn_task task;
    size_t classes, dim, rep_count;
    char **names;        /* classes */
    tnp_rep *reps;       /* rep_count, in column order; their columns and source_count sum to dim */
    size_t source_count; /* columns of the weights behind those of the representations; 0 but for transfer */
    tnp_head_source *sources;
    float *weight, *bias;          /* (classes, dim), (classes): of columns as they are prepared, less their centre */
    double *lambda, *alpha, *beta; /* classes; NULL unless a ridge head, of which discriminants have lambda alone */
    double *means, *scales;        /* (dim): z-scores, 0 and 1 in other columns; NULL when no representation has them */
    double *centre; /* (dim), finite: taken off prepared columns, 0 where a column has none; NULL when none has one */
    char *method, *options, *created_by;
    double log_evidence, threshold;
    double temperature; /* of probabilities; 0: none */
    double *thresholds; /* classes: where decisions are made, in the place of threshold; NULL: there */
};

/* An empty head with room for its numbers: names are copied; reps have room for rep_count, names NULL. */
tn_status tnp_head_new(tn_ctx *ctx, tn_task task, const char *const *names, size_t classes, size_t dim,
                       size_t rep_count, const char *method, tn_head **out);
/* Names, widths, maps, normalisations, z-scores and centres of its representations, from the feeds (rep_count) they
 * were trained on. What a map is called the caller knows: he sets `transform` where there is one. */
tn_status tnp_head_set_reps(tn_ctx *ctx, const tn_feed *const *feeds, tn_head *head);
/* A representation of this name and width, prepared as another one; what was copied is the caller's also after a
 * failure. */
tn_status tnp_rep_copy(tn_ctx *ctx, const tnp_rep *from, const char *name, size_t dim, tnp_rep *to);
/* A head that prepares its rows as `like` does, with its method and options but other classes; its numbers are 0.
 * Sources are not copied. */
tn_status tnp_head_like(tn_ctx *ctx, const tn_head *like, const char *const *names, size_t classes, tn_head **out);
/* Names that tell classes apart: none is empty, no two are the same; else `status`, and a sentence that begins with
 * `where`. */
tn_status tnp_check_class_names(tn_ctx *ctx, tn_status status, const char *where, const char *const *names,
                                size_t count);
/* The encoder of a representation; bytes are copied. */
tn_status tnp_rep_set_maker(tn_ctx *ctx, tnp_rep *rep, const void *bytes, size_t size);
/* Columns of the weights that belong to a representation. */
size_t tnp_rep_cols(const tnp_rep *rep);
/* Room for sources: the last `count` columns of its dim. */
tn_status tnp_head_add_sources(tn_ctx *ctx, tn_head *head, size_t count);
/* Room for lambda; for lambda, alpha, beta; for means and scales (0 and 1). */
tn_status tnp_head_add_lambda(tn_ctx *ctx, tn_head *head);
tn_status tnp_head_add_ridge(tn_ctx *ctx, tn_head *head);
tn_status tnp_head_add_zscore(tn_ctx *ctx, tn_head *head);
/* Room for thresholds (the head's one). */
tn_status tnp_head_add_thresholds(tn_ctx *ctx, tn_head *head);
/* Room for the centre (zeros). */
tn_status tnp_head_add_centre(tn_ctx *ctx, tn_head *head);
/* A head is finished: TN_ERR_NUMERIC where one of its weights, intercepts, its thresholds or its temperature is no
 * finite number. */
tn_status tnp_head_check(tn_ctx *ctx, const tn_head *head);
/* out (classes): intercepts of columns that are not centred, bias - weight centre, in double and then rounded. False:
 * one is no float, so that the head is none for a linear layer. */
bool tnp_head_plain_bias(const tn_head *head, float *out);

/* Whether the representations of two heads are the same by name, columns, map and normalisation. */
bool tnp_reps_alike(const tn_head *a, const tn_head *b);
/* Whether two heads prepare their rows in the same way. Neither has sources. */
bool tnp_heads_alike(const tn_head *a, const tn_head *b);
/* A feed for each representation of a head into feeds (rep_count, NULL first; the caller frees those that were made,
 * also after a failure), over some rows (NULL: all) of the features, matched by name: TN_ERR_ARG when one is missing,
 * TN_ERR_SHAPE. */
tn_status tnp_head_feeds(tn_ctx *ctx, const tn_head *head, const tn_features *const *features, size_t count,
                         const size_t *rows, size_t row_count, tn_nan_policy nan, tn_feed **feeds);
/* out (row_count, sum of classes): scores of heads that are alike for some rows of the sources, which are matched by
 * name; errors as of tn_scorer_new and its reading. Rows to be dropped are not among them. One matrix product for all.
 * */
tn_status tnp_heads_score(tn_ctx *ctx, const tn_head *const *heads, size_t head_count,
                          const tn_features *const *sources, size_t count, const size_t *rows, size_t row_count,
                          tn_nan_policy nan, float *out);

#endif
