/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon info: what is in a file. A container that calls itself tenon-head is a head, tenon-pq a quantiser, tenon-kernel a kernel, text is
 * labels, everything else a representation; a .npy of one column of integers is labels too. All files are looked at
 * before anything is printed, so that a failure leaves no half object on standard output. */
#define _POSIX_C_SOURCE 200809L
#include "info.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* The metadata stand in the header at the beginning of the file; this much of it is looked at. */
enum { SNIFF = 1 << 16 };

static bool calls_itself(const char *path, const char *format)
{
    char word[40];
    size_t length = (size_t)snprintf(word, sizeof word, "\"%s\"", format);
    bool found = false;
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(SNIFF);
    size_t count = file && bytes ? fread(bytes, 1, SNIFF, file) : 0;
    bool is_container = count > 8 && bytes[8] == '{'; /* 8 bytes of length, then JSON */
    for (size_t i = 8; is_container && !found && i + length <= count; ++i)
        found = memcmp(bytes + i, word, length) == 0;
    free(bytes);
    if (file)
        fclose(file);
    return found;
}

static bool looks_like_labels(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
        return false;
    static const char *const matrices[] = {".npy", ".npz", ".safetensors", ".fvecs", ".svm", ".libsvm", ".csv"};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
        if (ends_with(path, matrices[i]))
            return false;
    return true;
}

/* Numbers alone do not tell classes from features: one column of integers is taken for classes. */
static bool is_label_array(const cli_app *app, const tn_source *source)
{
    tn_dtype type = tn_source_dtype(source);
    bool column = tn_source_cols(source) == 1 && type >= TN_I8 && type <= TN_U64;
    return ends_with(tn_source_path(source), ".npy") && (column || app->options.task != TN_TASK_AUTO);
}

static int one_file(cli_app *app, FILE *out, const char *path)
{
    if (calls_itself(path, "tenon-head"))
        return info_head(app, out, path);
    if (calls_itself(path, "tenon-pq"))
        return info_pq(app, out, path);
    if (calls_itself(path, "tenon-kernel"))
        return info_kernel(app, out, path);
    if (looks_like_labels(path))
        return info_labels(app, out, path);
    tn_source *source = NULL;
    int code = cli_check(app, tn_source_open(app->ctx, path, &source));
    if (code != 0)
        return code;
    code = is_label_array(app, source) ? info_labels(app, out, path) : info_source(app, out, source);
    tn_source_close(source);
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
