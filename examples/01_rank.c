/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which representation suits the task? Opens every representation of the demo, ranks them by evidence, prints the
 * table; NULL stands for default options. Introduces tn_ctx_new, tn_features_open, tn_labels_open, tn_rank and
 * tn_ranking_table.
 *
 *   01_rank data/demo */
#include <tenon/tenon.h>

#include <stdio.h>

enum { REPS = 5, PATH_SIZE = 4096 };
static const char *const reps[REPS] = {"squeezenet", "mobilenetv1", "mobilenetv2", "darknet", "doodle"};

static tn_status open_all(tn_ctx *ctx, const char *folder, tn_features **features, tn_labels **labels)
{
    char path[PATH_SIZE];
    for (size_t i = 0; i < REPS; ++i) {
        snprintf(path, sizeof path, "%s/%s.train.npy", folder, reps[i]);
        tn_status st = tn_features_open(ctx, path, &features[i]);
        if (st != TN_OK)
            return st;
    }
    snprintf(path, sizeof path, "%s/labels.train.txt", folder);
    return tn_labels_open(ctx, path, TN_TASK_AUTO, labels);
}

static tn_status rank_and_print(tn_ctx *ctx, tn_features *const *features, const tn_labels *labels)
{
    tn_ranking *ranking = NULL;
    char *table = NULL;
    tn_status st = tn_rank(ctx, (const tn_features *const *)features, REPS, labels, NULL, &ranking);
    if (st == TN_OK)
        st = tn_ranking_table(ctx, ranking, false, &table);
    if (st == TN_OK)
        fputs(table, stdout);
    tn_text_free(table);
    tn_ranking_free(ranking);
    return st;
}

int main(int argc, char **argv)
{
    tn_ctx *ctx = NULL;
    tn_features *features[REPS] = {NULL};
    tn_labels *labels = NULL;
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    tn_status st = open_all(ctx, argc > 1 ? argv[1] : "data/demo", features, &labels);
    if (st == TN_OK)
        st = rank_and_print(ctx, features, labels);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_labels_free(labels);
    for (size_t i = 0; i < REPS; ++i)
        tn_features_close(features[i]);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
