/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows that come in chunks, as from a camera or a network: every chunk lies in memory, is learned, and may be forgotten.
 * Half way the learner is saved and loaded, and goes on as if nothing had happened. Any other chunking of the same rows
 * in the same order gives the same head, to the bit. Introduces tn_features_from_array, tn_labels_from_numbers and
 * tn_online_new, _update, _save, _load and _head.
 *
 *   05_learn_in_chunks data/demo FOLDER_FOR_THE_LEARNER */
#include <tenon/tenon.h>

#include <stdio.h>

enum { CHUNKS = 6, PATH_SIZE = 4096 };

/* What is to be learned, in the place of the camera. */
typedef struct stream {
    tn_features *features;
    tn_labels *labels;
} stream;

static tn_status open_stream(tn_ctx *ctx, const char *folder, stream *s)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/mobilenetv2.train.npy", folder);
    tn_status st = tn_features_open(ctx, path, &s->features);
    snprintf(path, sizeof path, "%s/labels.train.txt", folder);
    return st == TN_OK ? tn_labels_open(ctx, path, TN_TASK_MULTICLASS, &s->labels) : st;
}

/* Chunk c: every CHUNKS-th row, for rows that lie sorted by class would be a bad order to learn in. */
static tn_status next_chunk(tn_ctx *ctx, const stream *s, size_t c, tn_mat *x, int64_t *numbers)
{
    tn_status st = TN_OK;
    for (size_t i = 0; st == TN_OK && i < x->rows; ++i) {
        size_t row = c + i * CHUNKS, count = 0;
        const uint32_t *classes = tn_labels_of(s->labels, row, &count);
        numbers[i] = count > 0 ? (int64_t)classes[0] : -1;
        st = tn_features_read(ctx, s->features, NULL, row, 1, 0, x->cols, x->data + i * x->cols);
    }
    return st;
}

/* From arrays to learned rows. The learner knows representations and classes by name. */
static tn_status learn(tn_ctx *ctx, tn_online *online, const tn_mat *x, const int64_t *numbers,
                       const char *const *names, size_t classes)
{
    const tn_array array = tn_array_compact(x->data, TN_F32, x->rows, x->cols);
    tn_features *features = NULL;
    tn_labels *labels = NULL;
    tn_status st = tn_features_from_array(ctx, "mobilenetv2", &array, &features);
    if (st == TN_OK)
        st = tn_labels_from_numbers(ctx, numbers, x->rows, names, classes, &labels);
    if (st == TN_OK)
        st = tn_online_update(ctx, online, (const tn_features *const *)&features, 1, labels);
    tn_labels_free(labels);
    tn_features_close(features);
    return st;
}

static tn_status save_and_load(tn_ctx *ctx, const char *path, tn_online **online)
{
    tn_status st = tn_online_save(ctx, *online, "05_learn_in_chunks", path);
    tn_online_free(*online);
    *online = NULL;
    return st == TN_OK ? tn_online_load(ctx, path, online) : st;
}

static tn_status learn_all(tn_ctx *ctx, const stream *s, tn_mat *x, int64_t *numbers, const char *path)
{
    tn_options *options = NULL;
    tn_online *online = NULL;
    tn_head *head = NULL;
    const char *const *names = tn_labels_class_names(s->labels);
    size_t classes = tn_labels_classes(s->labels);
    tn_status st = tn_options_new(ctx, "fit", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "method", "arow");
    if (st == TN_OK)
        st = tn_online_new(ctx, options, TN_TASK_MULTICLASS, names, classes, &online);
    for (size_t c = 0; st == TN_OK && c < CHUNKS; ++c) {
        st = next_chunk(ctx, s, c, x, numbers);
        if (st == TN_OK)
            st = learn(ctx, online, x, numbers, names, classes);
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
    tn_options_free(options);
    return st;
}

int main(int argc, char **argv)
{
    char path[PATH_SIZE];
    tn_ctx *ctx = NULL;
    stream s = {NULL, NULL};
    tn_mat *x = NULL;
    int64_t numbers[1024];
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    snprintf(path, sizeof path, "%s/learner.safetensors", argc > 2 ? argv[2] : ".");
    tn_status st = open_stream(ctx, argc > 1 ? argv[1] : "data/demo", &s);
    size_t rows = st == TN_OK ? tn_features_rows(s.features) / CHUNKS : 0;
    if (st == TN_OK && rows > sizeof numbers / sizeof *numbers)
        st = TN_ERR_SHAPE;
    if (st == TN_OK)
        st = tn_mat_new(ctx, rows, tn_features_cols(s.features), &x);
    if (st == TN_OK)
        st = learn_all(ctx, &s, x, numbers, path);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_mat_free(x);
    tn_labels_free(s.labels);
    tn_features_close(s.features);
    tn_ctx_free(ctx);
    return st != TN_OK;
}
