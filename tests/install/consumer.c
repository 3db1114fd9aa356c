/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stranger's program: without arguments it prints the library's version; with the demo folder it ranks two
 * representations and expects the network that was trained on photographs to beat the one trained on doodles. */
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPS = 2, PATH_SIZE = 4096 };

static tn_status rank(tn_ctx *ctx, const char *folder, tn_ranking **ranking)
{
    static const char *const reps[REPS] = {"doodle", "mobilenetv2"};
    tn_features *features[REPS] = {NULL, NULL};
    tn_labels *labels = NULL;
    char path[PATH_SIZE];
    tn_status st = TN_OK;
    for (size_t i = 0; i < REPS && st == TN_OK; ++i) {
        snprintf(path, sizeof path, "%s/%s.train.npy", folder, reps[i]);
        st = tn_features_open(ctx, path, &features[i]);
    }
    snprintf(path, sizeof path, "%s/labels.train.txt", folder);
    if (st == TN_OK)
        st = tn_labels_open(ctx, path, TN_TASK_AUTO, &labels);
    if (st == TN_OK)
        st = tn_rank(ctx, (const tn_features *const *)features, REPS, labels, NULL, ranking);
    tn_labels_free(labels);
    for (size_t i = 0; i < REPS; ++i)
        tn_features_close(features[i]);
    return st;
}

int main(int argc, char **argv)
{
    tn_ctx *ctx = NULL;
    tn_ranking *ranking = NULL;
    int bad = 1;
    if (argc < 2)
        return puts(tn_version()) < 0;
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    if (rank(ctx, argv[1], &ranking) != TN_OK) {
        fprintf(stderr, "%s\n", tn_ctx_message(ctx));
    } else {
        bad = ranking->count != REPS || strcmp(ranking->candidates[0]->name, "mobilenetv2") != 0 ||
              !isfinite(ranking->candidates[0]->log_evidence);
        for (size_t i = 0; i < ranking->count; ++i)
            printf("%-12s %.2f\n", ranking->candidates[i]->name, ranking->candidates[i]->log_evidence);
    }
    tn_ranking_free(ranking);
    tn_ctx_free(ctx);
    return bad;
}
