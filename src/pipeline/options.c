/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which options every call has, and the calls that take them by name: the values are checked against the method, then
 * read by member from there on. */
#include "pipeline/options.h"
#include "describe/net/network.h"
#include "encode/encoder.h"
#include "store/extract.h"
#include "encode/pq.h"
#include "pipeline/methods.h"
#include "pipeline/moments/moments.h"
#include "pipeline/online.h"
#include "pipeline/transfer.h"

#include <string.h>

#define DEFAULTS(name)                                                                                                 \
    static void name##_defaults(void *values)                                                                          \
    {                                                                                                                  \
        tnp_##name##_options_default(values);                                                                          \
    }
DEFAULTS(rank)
DEFAULTS(fit)
DEFAULTS(cv)
DEFAULTS(tally)
DEFAULTS(transfer)
DEFAULTS(map)

static const char CANDIDATES[] = "Candidates", EVIDENCE[] = "Evidence", COMMON[] = "Common options";

static const tn_field *object_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"valid", TN_FIELD_FEATURES, offsetof(tnp_valid, features), 0, 0, "features",
         "the same representations of other rows, to choose and to judge by"},
        {"valid-labels", TN_FIELD_LABELS, offsetof(tnp_valid, labels), 0, 0, "labels", "the labels of valid"},
        {"from", TN_FIELD_HEAD, offsetof(tnp_fit_options, from) - offsetof(tnp_fit_options, valid), 0, 0, "a head",
         "go on from this head, whose classes come first in the labels"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static const tn_field *sample_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"rows", TN_FIELD_FEATURES, offsetof(tnp_valid, features), 0, 0, "features",
         "of moments: some of the rows that went in, for leave-one-out"},
        {"labels", TN_FIELD_LABELS, offsetof(tnp_valid, labels), 0, 0, "labels", "the labels of rows"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static const tnp_options_table rank_tables[] = {
    {"Order", tnp_by_fields, 0},
    {CANDIDATES, tnp_rank_fields, 0},
    {EVIDENCE, tnp_evidence_fields, offsetof(tnp_rank_options, evidence)},
    {"Options", sample_fields, offsetof(tnp_rank_options, rows)},
    {COMMON, tnp_seed_fields, offsetof(tnp_rank_options, seed)},
    {NULL, NULL, 0},
};
static const tnp_options_table fit_tables[] = {
    {"Choice and training", tnp_fit_fields, 0},
    {"Methods other than evidence", tnp_learn_fields, offsetof(tnp_fit_options, learn)},
    {"Online methods", tnp_online_fields, offsetof(tnp_fit_options, online)},
    {CANDIDATES, tnp_rank_fields, offsetof(tnp_fit_options, rank)},
    {EVIDENCE, tnp_evidence_fields, offsetof(tnp_fit_options, rank.evidence)},
    {"Options", object_fields, offsetof(tnp_fit_options, valid)},
    {"Options", sample_fields, offsetof(tnp_fit_options, rank.rows)},
    {COMMON, tnp_seed_fields, offsetof(tnp_fit_options, rank.seed)},
    {NULL, NULL, 0},
};
#define IN_FIT(member) (offsetof(tnp_cv_options, fit) + offsetof(tnp_fit_options, member))
static const tnp_options_table cv_tables[] = {
    {"Cross-validation", tnp_cv_fields, 0},
    {"Choice and training", tnp_fit_fields, offsetof(tnp_cv_options, fit)},
    {"Methods other than evidence", tnp_learn_fields, IN_FIT(learn)},
    {"Online methods", tnp_online_fields, IN_FIT(online)},
    {CANDIDATES, tnp_rank_fields, IN_FIT(rank)},
    {EVIDENCE, tnp_evidence_fields, IN_FIT(rank.evidence)},
    {"Options", object_fields, IN_FIT(valid)},
    {COMMON, tnp_seed_fields, IN_FIT(rank.seed)},
    {NULL, NULL, 0},
};
static const tnp_options_table tally_tables[] = {
    {"Rows", tnp_tally_fields, 0},
    {"Preparation", tnp_rank_fields, offsetof(tnp_tally_options, rank)},
    {COMMON, tnp_seed_fields, offsetof(tnp_tally_options, rank.seed)},
    {NULL, NULL, 0},
};
static const tnp_options_table transfer_tables[] = {{"Transfer", tnp_transfer_fields, 0}, {NULL, NULL, 0}};
static const tnp_options_table map_tables[] = {
    {"Learning", tnp_map_fields, 0},
    {COMMON, tnp_seed_fields, offsetof(tnp_map_options, seed)},
    {NULL, NULL, 0},
};

static const tnp_options_kind rank_kind = {
    "rank", sizeof(tnp_rank_options), rank_defaults, rank_tables, NULL, 0, NULL, NULL, 0};
static const tnp_options_kind fit_kind = {
    "fit", sizeof(tnp_fit_options), fit_defaults, fit_tables, tnp_fit_uses, TNP_FIT_USE_COUNT, tnp_method_at, NULL, 0};
static const tnp_options_kind cv_kind = {"cv",
                                         sizeof(tnp_cv_options),
                                         cv_defaults,
                                         cv_tables,
                                         tnp_fit_uses,
                                         TNP_FIT_USE_COUNT,
                                         tnp_method_at,
                                         "checkpoint" /* a file of one fit */,
                                         1};
static const tnp_options_kind tally_kind = {"moments",
                                            sizeof(tnp_tally_options),
                                            tally_defaults,
                                            tally_tables,
                                            NULL,
                                            0,
                                            NULL,
                                            "loo" /* there are no rows left to leave out */,
                                            0};
static const tnp_options_kind transfer_kind = {"transfer",
                                               sizeof(tnp_transfer_options),
                                               transfer_defaults,
                                               transfer_tables,
                                               tnp_transfer_uses,
                                               TNP_TRANSFER_USE_COUNT,
                                               tnp_transfer_method_at,
                                               NULL,
                                               0};
static const tnp_options_kind map_kind = {
    "kernel", sizeof(tnp_map_options), map_defaults, map_tables, NULL, 0, NULL, NULL, 0};

tn_status tn_options_new(tn_ctx *ctx, const char *call, tn_options **out)
{
    static const tnp_options_kind *const kinds[] = {
        &rank_kind,        &fit_kind,        &cv_kind,           &tally_kind,        &transfer_kind,
        &map_kind,         &tnp_pq_kind,     &tnp_evidence_kind, &tnp_describe_kind, &tnp_encoder_kind_of_options,
        &tnp_network_kind, &tnp_extract_kind};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(kinds[i]->name, call) == 0)
            return tnp_options_new(ctx, kinds[i], out);
    return tnp_fail(
        ctx, TN_ERR_ARG,
        "options: got '%s', expected rank, fit, cv, moments, transfer, kernel, pq, evidence, describe, encoder, "
        "network or extract",
        call);
}

tn_status tn_options_set_features(tn_ctx *ctx, tn_options *options, const char *name,
                                  const tn_features *const *features, size_t count)
{
    return tnp_options_set_objects(ctx, options, name, TN_FIELD_FEATURES, (const void *const *)features, count);
}

tn_status tn_options_set_labels(tn_ctx *ctx, tn_options *options, const char *name, tn_labels *labels)
{
    const void *object = labels;
    return tnp_options_set_objects(ctx, options, name, TN_FIELD_LABELS, &object, 1);
}

tn_status tn_options_set_head(tn_ctx *ctx, tn_options *options, const char *name, const tn_head *head)
{
    const void *object = head;
    return tnp_options_set_objects(ctx, options, name, TN_FIELD_HEAD, &object, 1);
}

/* ---- the calls ---- */

tn_status tn_rank(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                  const tn_options *options, tn_ranking **out)
{
    tnp_rank_options values;
    tn_status st = tnp_options_read(ctx, options, &rank_kind, &values);
    return st == TN_OK ? tnp_rank(ctx, features, count, labels, &values, out) : st;
}

tn_status tn_fit(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                 const tn_options *options, tn_fit_info **info, tn_head **head)
{
    tnp_fit_options values;
    tn_status st = tnp_options_read(ctx, options, &fit_kind, &values);
    return st == TN_OK ? tnp_fit(ctx, features, count, labels, &values, info, head) : st;
}

void tnp_fit_options_for(const tnp_fit_options *options, int method, tnp_fit_options *out)
{
    tnp_fit_options defaults;
    tnp_fit_options_default(&defaults);
    *out = *options;
    out->method = method;
    tnp_options_reset(&fit_kind, (size_t)method, &defaults, out);
}

tn_status tn_cv(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                const tn_options *options, tn_cv_result **out)
{
    tnp_cv_options values;
    tn_status st = tnp_options_read(ctx, options, &cv_kind, &values);
    return st == TN_OK ? tnp_cv(ctx, features, count, labels, &values, out) : st;
}

tn_status tn_tally_gather(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                          const tn_options *options, tn_tally **out)
{
    tnp_tally_options values;
    tn_status st = tnp_options_read(ctx, options, &tally_kind, &values);
    return st == TN_OK ? tnp_tally_gather(ctx, features, count, labels, &values, out) : st;
}

tn_status tn_tally_rank(tn_ctx *ctx, const tn_tally *tally, const tn_options *options, tn_ranking **out)
{
    tnp_rank_options values;
    tn_status st = tnp_options_read(ctx, options, &rank_kind, &values);
    return st == TN_OK ? tnp_tally_rank(ctx, tally, &values, out) : st;
}

tn_status tn_tally_fit(tn_ctx *ctx, const tn_tally *tally, const tn_options *options, tn_fit_info **info,
                       tn_head **head)
{
    tnp_fit_options values;
    tn_status st = tnp_options_read(ctx, options, &fit_kind, &values);
    return st == TN_OK ? tnp_tally_fit(ctx, tally, &values, info, head) : st;
}

tn_status tn_online_new(tn_ctx *ctx, const tn_options *options, tn_task task, const char *const *names, size_t count,
                        tn_online **out)
{
    tnp_fit_options values;
    tn_status st = tnp_options_read(ctx, options, &fit_kind, &values);
    return st == TN_OK ? tnp_online_begin(ctx, &values, task, names, count, out) : st;
}

tn_status tn_transfer(tn_ctx *ctx, const tn_features *const *targets, size_t count, const tn_labels *labels,
                      const tn_source *sources, size_t source_count, const tn_options *options, tn_transfer_info **info,
                      tn_head **head)
{
    tnp_transfer_options values;
    tn_status st = tnp_options_read(ctx, options, &transfer_kind, &values);
    return st == TN_OK ? tnp_transfer(ctx, targets, count, labels, sources, source_count, &values, info, head) : st;
}

tn_status tn_map_learn(tn_ctx *ctx, const tn_map_data *data, size_t count, const tn_options *options, tn_map_info *info,
                       tn_map **out)
{
    tnp_map_options values;
    tn_status st = tnp_options_read(ctx, options, &map_kind, &values);
    return st == TN_OK ? tnp_map_learn(ctx, data, count, &values, info, out) : st;
}
