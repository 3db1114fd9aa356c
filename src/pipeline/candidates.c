/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Candidates: every triple of representation, transform and normalisation, each with its feed over the task's rows. A
 * transform is a map that stands between the file and the normalisation, and is done while rows are read: no candidate
 * has a copy of its columns anywhere.
 *
 * A candidate goes by the representation's name, "+" and the transform where several compete and it has one, "+" and
 * the normalisation where several compete: vgg, vgg+chi2, vgg+root, vgg+chi2+root. */
#include "pipeline/parts.h"
#include "read/features.h"
#include "base/text.h"
#include "tenon/store.h"
#include "transform/feed.h"

#include <string.h>
#include <unistd.h>

/* ---- transforms ---- */

static bool is_taken(const char *word)
{
    return tnp_find_choice(TNP_TRANSFORM_WORDS, word) >= 0;
}

/* A learned kernel goes by the name of its file. A word that is neither the name of a map nor a file is a slip of
 * either: what looks like a path was meant as one. */
static tn_status load_kernel(tn_ctx *ctx, const char *path, tnp_transform *out)
{
    tn_status st = TN_OK;
    if (access(path, F_OK) != 0)
        TN_TRY(tnp_fail(ctx, strpbrk(path, "./") ? TN_ERR_IO : TN_ERR_ARG,
                        "option transform: got '%s', expected %s or a kernel file; there is no such file", path,
                        TNP_TRANSFORM_WORDS));
    TN_TRY(tnp_default_name(ctx, path, &out->name));
    if (is_taken(out->name))
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG,
                        "option transform: %s would go by the name '%s', which is taken; rename the file", path,
                        out->name));
    TN_TRY(tn_map_load(ctx, path, &out->map));
done:
    return st;
}

tn_status tnp_transform_read(tn_ctx *ctx, const char *word, tn_signed sign, tnp_transform *out)
{
    if (!is_taken(word))
        return load_kernel(ctx, word, out);
    tn_status st = tnp_strdup(ctx, word, &out->name);
    return st == TN_OK && strcmp(word, "none") != 0 ? tn_map_new_named(ctx, word, sign, &out->map) : st;
}

static tn_status read_transforms(tn_ctx *ctx, const char *text, tn_signed sign, tnp_candidates *c)
{
    tn_status st = TN_OK;
    char *word = NULL;
    size_t commas = 0;
    for (const char *p = text; *p; ++p)
        commas += *p == ',';
    TN_TRY(tnp_alloc(ctx, commas + 1, sizeof *c->transforms, &c->transforms));
    for (size_t length; c->transform_count <= commas; text += length + 1) {
        tnp_transform *t = &c->transforms[c->transform_count++];
        length = strcspn(text, ",");
        TN_TRY(tnp_strndup(ctx, text, length, &word));
        TN_TRY(tnp_transform_read(ctx, word, sign, t));
        for (const tnp_transform *other = c->transforms; other < t; ++other)
            if (strcmp(other->name, t->name) == 0)
                TN_TRY(tnp_fail(
                    ctx, TN_ERR_ARG,
                    "option transform: '%s' is named twice; a kernel file goes by its name up to the first dot",
                    t->name));
        tnp_free(word);
        word = NULL;
    }
done:
    tnp_free(word);
    return st;
}

/* ---- candidates ---- */

/* The next candidate; its transform is asked for by the report where there is more to say than "none". */
static tn_status add(tn_ctx *ctx, const tn_features *features, const tnp_task *task, const tnp_transform *transform,
                     tn_normalize kind, bool several_kinds, tn_nan_policy nan, tnp_candidates *c)
{
    tn_status st = TN_OK;
    const bool several = c->transform_count > 1;
    const char *parts[] = {several && transform->map ? transform->name : NULL,
                           several_kinds ? tn_normalize_name(kind) : NULL};
    size_t at = c->count++;
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "%s", tn_features_name(features));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (parts[i])
            tnp_text_add(&text, "+%s", parts[i]);
    TN_TRY(tnp_text_take(&text, &c->names[at]));
    c->transform_names[at] = several || transform->map ? transform->name : NULL;
    TN_TRY(tn_feed_new(ctx, features, task->rows, task->y.rows, kind, nan, transform->map, &c->feeds[at]));
done:
    return st;
}

tn_status tnp_candidates_new(tn_ctx *ctx, const tn_features *const *features, size_t count, const tnp_task *task,
                             const tnp_rank_options *options, tnp_candidates **out)
{
    tn_status st = TN_OK;
    tnp_candidates *c = NULL;
    tn_normalize kinds[TN_NORMALIZE_COUNT];
    size_t kind_count = 0, most = 0;
    TN_TRY(tn_normalize_parse(ctx, options->normalize, kinds, &kind_count));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    TN_TRY(read_transforms(ctx, options->transform, (tn_signed)options->sign, c));
    most = count * c->transform_count * kind_count;
    TN_TRY(tnp_alloc(ctx, most, sizeof *c->feeds, &c->feeds));
    TN_TRY(tnp_alloc(ctx, most, sizeof *c->names, &c->names));
    TN_TRY(tnp_alloc(ctx, most, sizeof *c->transform_names, &c->transform_names));
    for (size_t s = 0; s < count; ++s)
        for (size_t t = 0; t < c->transform_count; ++t)
            for (size_t k = 0; k < kind_count; ++k)
                TN_TRY(add(ctx, features[s], task, &c->transforms[t], kinds[k], kind_count > 1,
                           (tn_nan_policy)options->nan, c));
    *out = c;
    c = NULL;
done:
    tnp_candidates_free(c);
    return st;
}

tn_status tnp_candidates_survey(tn_ctx *ctx, tnp_candidates *c, double far, double limit)
{
    tn_status st = TN_OK;
    for (size_t i = 0; i < c->count; ++i) {
        tnp_feed_set_limit(c->feeds[i], limit);
        TN_TRY(tnp_feed_learn_centre(ctx, c->feeds[i], far));
    }
done:
    return st;
}

void tnp_candidates_free(tnp_candidates *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; ++i) {
        tn_feed_free(c->feeds[i]);
        tnp_free(c->names[i]);
    }
    for (size_t t = 0; t < c->transform_count; ++t) {
        tnp_free(c->transforms[t].name);
        tn_map_free(c->transforms[t].map);
    }
    tnp_free_all(c->transforms, c->transform_names, c->feeds, c->names, c);
}
