/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses an ensemble, trains and saves a head, loads it again and names the class of the first test pictures.
 * Introduces tn_options_new, tn_options_set, tn_fit, tn_head_save, tn_head_load, tn_scorer_new and tn_scorer_read.
 *
 *   02_fit_and_predict data/demo FOLDER_FOR_THE_HEAD */
#include <tenon/tenon.h>

#include <stdio.h>

enum { REPS = 2, ROWS = 5, MOST_CLASSES = 64, PATH_SIZE = 4096 };
static const char *const reps[REPS] = {"squeezenet", "mobilenetv2"};

static tn_status open_all(tn_ctx *ctx, const char *folder, const char *part, tn_features **features)
{
    char path[PATH_SIZE];
    tn_status st = TN_OK;
    for (size_t i = 0; i < REPS && st == TN_OK; ++i) {
        snprintf(path, sizeof path, "%s/%s.%s.npy", folder, reps[i], part);
        st = tn_features_open(ctx, path, &features[i]);
    }
    return st;
}

static void close_all(tn_features **features)
{
    for (size_t i = 0; i < REPS; ++i)
        tn_features_close(features[i]);
}

/* The head remembers names, normalisation and classes: nothing of the options is needed to use it later. */
static tn_status fit_and_save(tn_ctx *ctx, const char *folder, const char *head_path)
{
    tn_features *features[REPS] = {NULL};
    tn_labels *labels = NULL;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_options *options = NULL;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/labels.train.txt", folder);
    tn_status st = open_all(ctx, folder, "train", features);
    if (st == TN_OK)
        st = tn_labels_open(ctx, path, TN_TASK_AUTO, &labels);
    if (st == TN_OK)
        st = tn_options_new(ctx, "fit", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "select", "forward");
    if (st == TN_OK)
        st = tn_options_set_number(ctx, options, "loo", 500);
    if (st == TN_OK)
        st = tn_fit(ctx, (const tn_features *const *)features, REPS, labels, options, &info, &head);
    for (size_t i = 0; st == TN_OK && i < info->selected_count; ++i)
        printf("selected %s\n", info->selected[i]);
    if (st == TN_OK)
        st = tn_head_save(ctx, head, "02_fit_and_predict", head_path);
    tn_head_free(head);
    tn_fit_info_free(info);
    tn_labels_free(labels);
    tn_options_free(options);
    close_all(features);
    return st;
}

static void print_classes(const tn_head *head, const float *scores)
{
    size_t classes = tn_head_classes(head);
    for (size_t i = 0; i < ROWS; ++i) {
        size_t best = 0;
        for (size_t k = 1; k < classes; ++k)
            if (scores[i * classes + k] > scores[i * classes + best])
                best = k;
        printf("row %zu: %s\n", i, tn_head_class_names(head)[best]);
    }
}

static tn_status load_and_predict(tn_ctx *ctx, const char *folder, const char *head_path)
{
    tn_features *features[REPS] = {NULL};
    tn_head *head = NULL;
    tn_scorer *scorer = NULL;
    float scores[ROWS * MOST_CLASSES];
    tn_status st = open_all(ctx, folder, "test", features);
    if (st == TN_OK)
        st = tn_head_load(ctx, head_path, &head);
    if (st == TN_OK && tn_head_classes(head) > MOST_CLASSES)
        st = TN_ERR_SHAPE;
    if (st == TN_OK)
        st = tn_scorer_new(ctx, head, (const tn_features *const *)features, REPS, TN_NAN_ERROR, &scorer);
    if (st == TN_OK)
        st = tn_scorer_read(ctx, scorer, 0, ROWS, scores);
    if (st == TN_OK)
        print_classes(head, scores);
    tn_scorer_free(scorer);
    tn_head_free(head);
    close_all(features);
    return st;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "data/demo";
    char head_path[PATH_SIZE];
    tn_ctx *ctx = NULL;
    snprintf(head_path, sizeof head_path, "%s/example.safetensors", argc > 2 ? argv[2] : ".");
    if (tn_ctx_new(&ctx) != TN_OK)
        return 1;
    tn_status st = fit_and_save(ctx, folder, head_path);
    if (st == TN_OK)
        st = load_and_predict(ctx, folder, head_path);
    if (st != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(st), tn_ctx_message(ctx));
    tn_ctx_free(ctx);
    return st != TN_OK;
}
