/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows that are learned in chunks: here a chunk is the rows that have a label in it. Half way the learner is saved and
 * loaded, and goes on as if nothing had happened. Any other chunking of the same rows in the same order gives the same
 * head, to the bit. Introduces tn_online_new, _update, _save, _load and _head.
 *
 *   05_learn_in_chunks data/demo FOLDER_FOR_THE_LEARNER */
#include <tenon/tenon.h>

#include <stdio.h>

enum { CHUNKS = 6, MOST_ROWS = 1024, PATH_SIZE = 4096 };

static tn_status open_all(tn_ctx *ctx, const char *folder, tn_features **features, tn_labels **labels)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/mobilenetv2.train.npy", folder);
    tn_status st = tn_features_open(ctx, path, features);
    snprintf(path, sizeof path, "%s/labels.train.txt", folder);
    return st == TN_OK ? tn_labels_open(ctx, path, TN_TASK_MULTICLASS, labels) : st;
}

/* Chunk c: every CHUNKS-th row, for rows that lie sorted by class would be a bad order to learn in. */
static tn_status learn_chunk(tn_ctx *ctx, tn_online *online, const tn_features *features, const tn_labels *labels,
                             size_t c)
{
    bool known[MOST_ROWS];
    tn_labels chunk = *labels;
    if (labels->rows > MOST_ROWS)
        return TN_ERR_SHAPE;
    for (size_t i = 0; i < labels->rows; ++i)
        known[i] = labels->known[i] && i % CHUNKS == c;
    chunk.known = known;
    return tn_online_update(ctx, online, &features, 1, &chunk, NULL);
}

static tn_status save_and_load(tn_ctx *ctx, const char *path, tn_online **online)
{
    tn_status st = tn_online_save(ctx, *online, "05_learn_in_chunks", path);
    tn_online_free(*online);
    *online = NULL;
    return st == TN_OK ? tn_online_load(ctx, path, online) : st;
}

static tn_status learn_all(tn_ctx *ctx, const tn_features *features, const tn_labels *labels, const char *path)
{
    tn_fit_options options;
    tn_online *online = NULL;
    tn_head *head = NULL;
    tn_fit_options_default(&options);
    options.method = TN_METHOD_AROW;
    tn_status st =
        tn_online_new(ctx, &options, TN_TASK_MULTICLASS, (const char *const *)labels->names, labels->classes, &online);
    for (size_t c = 0; st == TN_OK && c < CHUNKS; ++c) {
        st = learn_chunk(ctx, online, features, labels, c);
        if (st == TN_OK && c == CHUNKS / 2)
            st = save_and_load(ctx, path, &online);
        if (st == TN_OK)
            printf("%zu rows, %zu of them on the wrong side\n", tn_online_samples(online), tn_online_mistakes(online));
    }
    if (st == TN_OK)
        st = tn_online_head(ctx, online, &head); /* for tn_scorer_new or tn_head_save */
    if (st == TN_OK)
        printf("a head of %zu classes and %zu columns\n", tn_head_classes(head), tn_head_dim(head));
    tn_head_free(head);
    tn_online_free(online);
    return st;
}

int main(int argc, char **argv)
{
    char path[PATH_SIZE];
    tn_ctx *ctx = NULL;
    tn_features *features = NULL;
    tn_labels *labels = NULL;
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    snprintf(path, sizeof path, "%s/learner.safetensors", argc > 2 ? argv[2] : ".");
    tn_status st = open_all(ctx, argc > 1 ? argv[1] : "data/demo", &features, &labels);
    if (st == TN_OK)
        st = learn_all(ctx, features, labels, path);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_labels_free(labels);
    tn_features_close(features);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
