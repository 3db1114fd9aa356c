/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Applies a loaded head: scores and probabilities of three rows, the sources of a transfer head given as a file of
 * scores or as a second head, and an online learner that goes on from it, which it must refuse where there are sources.
 * Three parts: the head, the source's head, values of the rows. */
#include "fuzz.h"
#include "pipeline/options.h"
#include "tenon/store.h"

enum { ROWS = 3, MOST_COLS = 64, MOST_REPS = 4, MOST_CLASSES = 16 };

/* A float32 file of ROWS rows whose values are those of the input, again and again. */
static void write_rows(tn_ctx *ctx, const char *path, size_t cols, fuzz_input values)
{
    static float row[ROWS * MOST_COLS];
    tn_npy_writer *writer = NULL;
    for (size_t i = 0; i < ROWS * cols; ++i) {
        float v = (float)i / 8 - 1;
        if (values.size >= (i % 8 + 1) * sizeof v)
            memcpy(&v, values.data + i % 8 * sizeof v, sizeof v);
        row[i] = v;
    }
    if (tn_npy_writer_open(ctx, path, ROWS, cols, &writer) != TN_OK ||
        tn_npy_writer_rows(ctx, writer, row, ROWS) != TN_OK || tn_npy_writer_commit(ctx, writer) != TN_OK)
        abort();
    tn_npy_writer_close(writer);
}

/* NAME=path, unless the name cannot stand there; what it gives is one of the representations of the head, in memory. */
static tn_features *rows_as(tn_ctx *ctx, const char *name, size_t cols, const char *end, fuzz_input values)
{
    char path[FUZZ_PATH], rep[2 * FUZZ_PATH];
    tn_features *features = NULL;
    if (cols > MOST_COLS || strlen(name) >= FUZZ_PATH || strpbrk(name, "=/"))
        return NULL;
    fuzz_path(path, end);
    write_rows(ctx, path, cols, values);
    snprintf(rep, sizeof rep, "%s=%s", name, path);
    if (tn_features_open(ctx, rep, &features) != TN_OK)
        features = NULL;
    return features;
}

static void remove_rows(const char *end)
{
    char path[FUZZ_PATH];
    fuzz_path(path, end);
    unlink(path);
}

static void go_on(tn_ctx *ctx, const tn_head *head, const tn_features *const *features, size_t count)
{
    char path[FUZZ_PATH];
    tnp_fit_options options;
    tn_fit_info *info = NULL;
    tn_head *next = NULL;
    tn_labels *labels = NULL;
    static const char lines[] = "a\nb\na\n";
    fuzz_path(path, ".txt");
    fuzz_store(path, (const uint8_t *)lines, sizeof lines - 1);
    tnp_fit_options_default(&options);
    options.method = TNP_METHOD_PA;
    options.select = TNP_SEARCH_ALL;
    options.online.epochs = 1;
    options.from = head;
    if (tn_labels_open(ctx, path, TN_TASK_AUTO, &labels) == TN_OK &&
        tn_labels_join(ctx, labels, tn_head_class_names(head), tn_head_classes(head)) == TN_OK)
        if (tnp_fit(ctx, features, count, labels, &options, &info, &next) == TN_OK && tn_head_source_count(head) != 0)
            abort(); /* weights of sources have no columns to stand in */
    tn_head_free(next);
    tn_fit_info_free(info);
    tn_labels_free(labels);
    unlink(path);
}

static void apply(tn_ctx *ctx, const tn_head *head, const tn_head *source, fuzz_input values)
{
    static const char *const ends[MOST_REPS] = {"-0.npy", "-1.npy", "-2.npy", "-3.npy"};
    static float scores[ROWS * MOST_CLASSES];
    tn_features *features[MOST_REPS] = {NULL}, *given = NULL;
    tn_scorer *scorer = NULL;
    size_t count = 0, named = tn_head_source_count(head);
    for (; count < tn_head_rep_count(head) && count < MOST_REPS; ++count) {
        tn_rep rep = tn_head_rep(head, count);
        features[count] = rows_as(ctx, rep.name, rep.dim, ends[count], values);
        if (!features[count])
            break;
    }
    const char *name = named ? tn_head_source_at(head, 0).name : "none";
    given = rows_as(ctx, "scores", 4, "-scores.npy", values);
    const tn_source sources[] = {{name, given, NULL}, {name, NULL, source}};
    bool by_head = named && tn_head_source_at(head, 0).is_head && source;
    const tn_features *const *list = (const tn_features *const *)features;
    if (tn_head_classes(head) <= MOST_CLASSES &&
        tn_scorer_new_transfer(ctx, head, list, count, sources + by_head, 1, TN_NAN_DROP, &scorer) == TN_OK &&
        tn_scorer_read(ctx, scorer, 0, tn_scorer_rows(scorer), scores) == TN_OK)
        (void)tn_head_probabilities(ctx, head, ROWS, scores);
    if (count > 0)
        go_on(ctx, head, list, count);
    tn_scorer_free(scorer);
    for (size_t i = 0; i < MOST_REPS; ++i) {
        tn_features_close(features[i]);
        remove_rows(ends[i]);
    }
    tn_features_close(given);
    remove_rows("-scores.npy");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[2][FUZZ_PATH];
    fuzz_input in = {data, size};
    tn_head *head = NULL, *source = NULL;
    tn_ctx *ctx = fuzz_begin();
    fuzz_part_file(&in, "-head.safetensors", path[0]);
    fuzz_part_file(&in, "-source.safetensors", path[1]);
    if (tn_head_load(ctx, path[1], &source) != TN_OK)
        source = NULL;
    if (tn_head_load(ctx, path[0], &head) == TN_OK)
        apply(ctx, head, source, in);
    tn_head_free(head);
    tn_head_free(source);
    unlink(path[1]);
    fuzz_end(ctx, path[0]);
    return 0;
}
