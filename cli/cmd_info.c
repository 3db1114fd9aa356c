/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon info: what is in a file. A container that calls itself tenon-head is a head, tenon-pq a quantiser, tenon-kernel
 * a kernel, tenon-moments moments, text is labels, everything else a representation; a .npy of one column of integers
 * is labels too. All files are looked at before anything is printed, so that a failure leaves no half object on
 * standard output. */
#define _POSIX_C_SOURCE 200809L
#include "info.h"
#include "nets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool looks_like_labels(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
        return false;
    static const char *const matrices[] = {".npy", ".npz", ".safetensors", ".fvecs", ".svm", ".libsvm", ".csv", ".tsv"};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
        if (cli_ends_with(path, matrices[i]))
            return false;
    return true;
}

/* Numbers alone do not tell classes from features: one column of integers is taken for classes. */
static bool is_label_array(const cli_app *app, const tn_features *features)
{
    tn_dtype type = tn_features_dtype(features);
    bool column = tn_features_cols(features) == 1 && cli_is_whole(type);
    return cli_ends_with(tn_features_path(features), ".npy") && (column || app->options.task != TN_TASK_AUTO);
}

/* Text in a .npy, names behind tabs in a .tsv: no representation, but labels. */
static bool holds_labels(const cli_app *app, const char *path)
{
    tn_labels *labels = NULL;
    bool fine = (cli_ends_with(path, ".npy") || cli_ends_with(path, ".tsv")) &&
                tn_labels_open(app->ctx, path, (tn_task)app->options.task, &labels) == TN_OK;
    tn_labels_free(labels);
    return fine;
}

static int one_file(cli_app *app, FILE *out, const char *path)
{
    if (cli_calls_itself(path, "tenon-head"))
        return info_head(app, out, path);
    if (cli_calls_itself(path, "tenon-encoder"))
        return info_encoder(app, out, path);
    if (cli_calls_itself(path, "tenon-moments"))
        return info_moments(app, out, path);
    if (cli_calls_itself(path, "tenon-pq"))
        return info_pq(app, out, path);
    if (cli_calls_itself(path, "tenon-kernel"))
        return info_kernel(app, out, path);
    if (cli_ends_with(path, ".onnx"))
        return cli_info_network(app, out, path);
    if (looks_like_labels(path))
        return info_labels(app, out, path);
    tn_features *features = NULL;
    tn_status status = tn_features_open(app->ctx, path, &features);
    /* What memory or an interrupt prevented says nothing of the file. */
    bool other = status != TN_OK && status != TN_ERR_MEMORY && status != TN_ERR_BUDGET && status != TN_ERR_INTERRUPTED;
    if (other && holds_labels(app, path))
        return info_labels(app, out, path);
    int code = features ? EXIT_FINE : cli_check(app, tn_features_open(app->ctx, path, &features));
    if (code != 0)
        return code;
    code = is_label_array(app, features) ? info_labels(app, out, path) : info_features(app, out, features);
    tn_features_close(features);
    return code;
}

int cmd_info(cli_app *app)
{
    char *text = NULL;
    size_t size = 0;
    bool json = app->options.json;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    if (json)
        fputs("{\"command\":\"info\",\"files\":[", out);
    int code = EXIT_FINE;
    for (size_t i = 0; code == 0 && i < app->arg_count; ++i) {
        if (i)
            fputs(json ? "," : "\n", out);
        code = one_file(app, out, app->args[i]);
    }
    if (json) {
        fputs("]", out);
        cli_json_end(app, out);
    }
    if (fclose(out) != 0 && code == 0)
        code = cli_fail(app, EXIT_FAILED, "memory: the system refused to give any");
    cli_progress_clear();
    if (code == 0)
        fputs(text, stdout);
    free(text);
    return code;
}
