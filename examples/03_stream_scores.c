/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scores for more rows than fit in memory: the head is applied block by block, each block goes to a .npy file at
 * once, and the file gets its name only when it is complete. Introduces tn_head_rep, tn_npy_writer_* and tn_mat.
 * Run 02_fit_and_predict before: it leaves the head that this one loads.
 *
 *   03_stream_scores data/demo FOLDER_OF_THE_HEAD */
#include <tenon/tenon.h>

#include <stdio.h>

enum { MOST_REPS = 8, BLOCK = 128, PATH_SIZE = 4096 };

/* Opens what the head asks for, by name: the files of another day need only bear the same names. */
static tn_status open_wanted(tn_ctx *ctx, const tn_head *head, const char *folder, tn_features **features)
{
    char path[PATH_SIZE];
    tn_status st = tn_head_rep_count(head) > MOST_REPS ? TN_ERR_SHAPE : TN_OK;
    for (size_t i = 0; st == TN_OK && i < tn_head_rep_count(head); ++i) {
        snprintf(path, sizeof path, "%s/%s.test.npy", folder, tn_head_rep(head, i).name);
        st = tn_features_open(ctx, path, &features[i]);
    }
    return st;
}

static tn_status stream(tn_ctx *ctx, const tn_head *head, tn_scorer *scorer, const char *path)
{
    size_t rows = tn_scorer_rows(scorer), classes = tn_head_classes(head);
    tn_npy_writer *writer = NULL;
    tn_mat *block = NULL;
    tn_status st = tn_mat_new(ctx, BLOCK, classes, &block);
    if (st == TN_OK)
        st = tn_npy_writer_open(ctx, path, rows, classes, &writer);
    for (size_t start = 0; st == TN_OK && start < rows; start += BLOCK) {
        size_t count = rows - start < BLOCK ? rows - start : BLOCK;
        st = tn_scorer_read(ctx, scorer, start, count, block->data);
        if (st == TN_OK)
            st = tn_npy_writer_rows(ctx, writer, block->data, count);
    }
    if (st == TN_OK)
        st = tn_npy_writer_commit(ctx, writer);
    if (st == TN_OK)
        printf("%zu x %zu scores in blocks of %d rows\n", rows, classes, BLOCK);
    tn_npy_writer_close(writer);
    tn_mat_free(block);
    return st;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "data/demo", *work = argc > 2 ? argv[2] : ".";
    char path[PATH_SIZE];
    tn_ctx *ctx = NULL;
    tn_head *head = NULL;
    tn_scorer *scorer = NULL;
    tn_features *features[MOST_REPS] = {NULL};
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    snprintf(path, sizeof path, "%s/example.safetensors", work);
    tn_status st = tn_head_load(ctx, path, &head);
    if (st == TN_OK)
        st = open_wanted(ctx, head, folder, features);
    if (st == TN_OK)
        st = tn_scorer_new(ctx, head, (const tn_features *const *)features, tn_head_rep_count(head), TN_NAN_ERROR,
                           &scorer);
    snprintf(path, sizeof path, "%s/example.scores.npy", work);
    if (st == TN_OK)
        st = stream(ctx, head, scorer, path);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_scorer_free(scorer);
    tn_head_free(head);
    for (size_t i = 0; i < MOST_REPS; ++i)
        tn_features_close(features[i]);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
