/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that a program has in memory or computes: a head is fitted to an array and to rows that a callback makes,
 * and the scores of other rows go into an array; no file of features or scores is written. The arrays are filled from
 * the demo here; yours come from a network or from another language. Introduces tn_array_compact,
 * tn_features_from_array and tn_features_from_producer.
 *
 *   04_arrays data/demo */
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>

enum { REPS = 2, PATH_SIZE = 4096 };

/* What a program would have: rows of floats. */
static tn_status load_array(tn_ctx *ctx, const char *folder, const char *name, const char *part, tn_mat **out)
{
    char path[PATH_SIZE];
    tn_features *file = NULL;
    snprintf(path, sizeof path, "%s/%s.%s.npy", folder, name, part);
    tn_status st = tn_features_open(ctx, path, &file);
    if (st == TN_OK)
        st = tn_mat_new(ctx, tn_features_rows(file), tn_features_cols(file), out);
    if (st == TN_OK)
        st = tn_features_read(ctx, file, NULL, 0, (*out)->rows, 0, (*out)->cols, (*out)->data);
    tn_features_close(file);
    return st;
}

/* A producer: x / (1 + |x|) of an array, made when it is asked for. It only reads, so that several threads may call it
 * at once. */
static tn_status squash(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    const tn_mat *from = user;
    float *to = out;
    for (size_t i = 0; i < count; ++i) {
        size_t row = index ? index[start + i] : start + i;
        for (size_t j = 0; j < from->cols; ++j) {
            float x = from->data[row * from->cols + j];
            if (!isfinite(x)) {
                snprintf(message, TN_PRODUCER_MESSAGE, "row %zu, column %zu: %g, expected a finite number", row, j,
                         (double)x);
                return TN_ERR_DATA;
            }
            *to++ = x / (1 + (x < 0 ? -x : x));
        }
    }
    return TN_OK;
}

/* The arrays must stay where they are while the features live. */
static tn_status wrap(tn_ctx *ctx, tn_mat *const *arrays, tn_features **features)
{
    tn_array array = tn_array_compact(arrays[0]->data, TN_F32, arrays[0]->rows, arrays[0]->cols);
    tn_producer producer = {
        .user = arrays[1], .rows = arrays[1]->rows, .cols = arrays[1]->cols, .dtype = TN_F32, .read = squash};
    tn_status st = tn_features_from_array(ctx, "squeezenet", &array, &features[0]);
    if (st == TN_OK)
        st = tn_features_from_producer(ctx, "squashed mobilenetv2", &producer, &features[1]);
    return st;
}

static tn_status open_part(tn_ctx *ctx, const char *folder, const char *part, tn_mat **arrays, tn_features **features,
                           tn_labels **labels)
{
    char path[PATH_SIZE];
    tn_status st = load_array(ctx, folder, "squeezenet", part, &arrays[0]);
    if (st == TN_OK)
        st = load_array(ctx, folder, "mobilenetv2", part, &arrays[1]);
    if (st == TN_OK)
        st = wrap(ctx, arrays, features);
    snprintf(path, sizeof path, "%s/labels.%s.txt", folder, part);
    if (st == TN_OK)
        st = tn_labels_open(ctx, path, TN_TASK_AUTO, labels);
    return st;
}

static void close_part(tn_mat **arrays, tn_features **features, tn_labels *labels)
{
    for (size_t i = 0; i < REPS; ++i) {
        tn_features_close(features[i]);
        tn_mat_free(arrays[i]);
    }
    tn_labels_free(labels);
}

static tn_status fit(tn_ctx *ctx, const char *folder, tn_head **head)
{
    tn_mat *arrays[REPS] = {NULL};
    tn_features *features[REPS] = {NULL};
    tn_labels *labels = NULL;
    tn_fit_info *info = NULL;
    tn_status st = open_part(ctx, folder, "train", arrays, features, &labels);
    if (st == TN_OK)
        st = tn_fit(ctx, (const tn_features *const *)features, REPS, labels, NULL, &info, head);
    for (size_t i = 0; st == TN_OK && i < info->selected_count; ++i)
        printf("selected %s\n", info->selected[i]);
    tn_fit_info_free(info);
    close_part(arrays, features, labels);
    return st;
}

static tn_status score_and_measure(tn_ctx *ctx, const char *folder, const tn_head *head)
{
    tn_mat *arrays[REPS] = {NULL}, *scores = NULL;
    tn_features *features[REPS] = {NULL};
    tn_labels *labels = NULL;
    tn_scorer *scorer = NULL;
    tn_metrics *metrics = NULL;
    tn_status st = open_part(ctx, folder, "test", arrays, features, &labels);
    if (st == TN_OK)
        st = tn_labels_map(ctx, labels, tn_head_class_names(head), tn_head_classes(head));
    if (st == TN_OK)
        st = tn_scorer_new(ctx, head, (const tn_features *const *)features, REPS, TN_NAN_ERROR, &scorer);
    if (st == TN_OK)
        st = tn_mat_new(ctx, tn_scorer_rows(scorer), tn_head_classes(head), &scores);
    if (st == TN_OK)
        st = tn_scorer_read(ctx, scorer, 0, scores->rows, scores->data);
    if (st == TN_OK)
        st = tn_metrics_compute(ctx, tn_mat_view(scores), labels, tn_head_threshold(head), &metrics);
    if (st == TN_OK)
        printf("accuracy %.3f on %zu rows\n", metrics->accuracy, scores->rows);
    tn_metrics_free(metrics);
    tn_scorer_free(scorer);
    tn_mat_free(scores);
    close_part(arrays, features, labels);
    return st;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "data/demo";
    tn_ctx *ctx = NULL;
    tn_head *head = NULL;
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    tn_status st = fit(ctx, folder, &head);
    if (st == TN_OK)
        st = score_and_measure(ctx, folder, head);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_head_free(head);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
