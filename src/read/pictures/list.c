/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IMAGES as a list of files with what is known of them:
 *
 *   a folder          folders.c
 *   a text file       one line per picture: path, or path TAB names joined by |; paths are relative to the text
 *   pictures          each path a picture
 *
 * A path is one of the last when its name ends in .jpg, .jpeg or .png; what it holds decides how it is decoded. The id
 * of a picture is its path as the list has it: within the folder, in the text, on the command line. Labels of a text
 * are read as those of a label file are (labels_text.c): -1 or nothing is unlabelled. */
#define _POSIX_C_SOURCE 200809L
#include "read/pictures/list.h"

#include "base/text.h"
#include "read/labels/labels.h"
#include "read/pictures/picture.h"
#include "read/text.h"

#include <string.h>
#include <sys/stat.h>

tn_status tnp_pictures_add(tn_ctx *ctx, tn_pictures *pictures, const char *before, tnp_span name, size_t id)
{
    tn_status st = TN_OK;
    size_t n = strlen(before), slash = n != 0 && before[n - 1] != '/', size = n + slash + name.length + 1;
    if (pictures->count == pictures->capacity) {
        size_t next = pictures->capacity ? 2 * pictures->capacity : 64;
        TN_TRY(tnp_grow(ctx, &pictures->files, pictures->capacity, next, sizeof *pictures->files));
        pictures->capacity = next;
    }
    tnp_picture_file *file = pictures->files + pictures->count;
    *file = (tnp_picture_file){.id = id};
    TN_TRY(tnp_alloc(ctx, size, 1, &file->path));
    memcpy(file->path, before, n);
    if (slash)
        file->path[n] = '/';
    memcpy(file->path + n + slash, name.text, name.length);
    ++pictures->count;
done:
    return st;
}

/* ---- a text ---- */

/* Bytes of the folder that a path lies in, without the slash; 0: the current one. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? tnp_max(1, (size_t)(slash - path)) : 0;
}

static tn_status add_line(tn_ctx *ctx, tn_pictures *pictures, const char *folder, tnp_span line, size_t number)
{
    tn_status st = TN_OK;
    const char *tab = line.length ? memchr(line.text, '\t', line.length) : NULL;
    tnp_span name = {line.text, tab ? (size_t)(tab - line.text) : line.length};
    tnp_labelled kind = tab ? TNP_BY_LINE : TNP_UNLABELLED;
    if (tnp_trim(name).length == 0 || memchr(name.text, 0, name.length))
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: line %zu: no path of a picture", pictures->origin, number));
    if (pictures->count != 0 && kind != pictures->labelled)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: line %zu: %s, but line 1 has %s", pictures->origin, number,
                        tab ? "a tab and labels" : "no tab", tab ? "none" : "labels"));
    pictures->labelled = kind;
    bool absolute = name.text[0] == '/';
    size_t n = strlen(folder);
    TN_TRY(tnp_pictures_add(ctx, pictures, absolute ? "" : folder, name,
                            absolute || n == 0 ? 0 : n + (folder[n - 1] != '/')));
    if (tab)
        TN_TRY(tnp_strndup(ctx, tab + 1, line.length - name.length - 1, &pictures->files[pictures->count - 1].label));
done:
    return st;
}

static tn_status add_text(tn_ctx *ctx, tn_pictures *pictures, const char *path)
{
    tn_status st = TN_OK;
    tnp_window window = {.ctx = NULL};
    tnp_lines lines;
    tnp_span line;
    char *folder = NULL;
    bool more = false;
    TN_TRY(tnp_window_open(ctx, path, &window));
    TN_TRY(tnp_strndup(ctx, path, folder_length(path), &folder));
    tnp_lines_through(&lines, &window);
    for (;;) {
        TN_TRY(tnp_lines_next(&lines, &line, &more));
        if (!more)
            break;
        TN_TRY(add_line(ctx, pictures, folder, line, lines.number));
    }
done:
    tnp_free(folder);
    tnp_window_close(&window);
    return st;
}

/* ---- opening ---- */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static tn_status fill(tn_ctx *ctx, tn_pictures *pictures, const char *const *images, size_t count)
{
    tn_status st = TN_OK;
    if (count == 1 && is_folder(images[0]))
        return tnp_pictures_add_folder(ctx, pictures, images[0]);
    if (count == 1 && !tnp_is_picture_name(images[0]))
        return add_text(ctx, pictures, images[0]);
    for (size_t i = 0; i < count; ++i) {
        if (is_folder(images[i]) || !tnp_is_picture_name(images[i]))
            TN_TRY(tnp_fail(ctx, TN_ERR_ARG,
                            "%s: a folder or a list stands alone; several arguments are pictures (.jpg, .jpeg, .png)",
                            images[i]));
        TN_TRY(tnp_pictures_add(ctx, pictures, "", (tnp_span){images[i], strlen(images[i])}, 0));
    }
done:
    return st;
}

static void point_ids(tn_pictures *pictures)
{
    for (size_t i = 0; i < pictures->count; ++i)
        pictures->ids[i] = pictures->files[i].path + pictures->files[i].id;
}

tn_status tn_pictures_open(tn_ctx *ctx, const char *const *images, size_t count, tn_pictures **out)
{
    tn_status st = TN_OK;
    tn_pictures *pictures = NULL;
    if (count == 0 || !images[0] || !*images[0])
        return tnp_fail(ctx, TN_ERR_ARG, "pictures: no path given");
    TN_TRY(tnp_alloc(ctx, 1, sizeof *pictures, &pictures));
    TN_TRY(tnp_strdup(ctx, images[0], &pictures->origin));
    TN_TRY(fill(ctx, pictures, images, count));
    if (pictures->count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no pictures in it (.jpg, .jpeg, .png)", images[0]));
    TN_TRY(tnp_alloc(ctx, pictures->count, sizeof *pictures->ids, &pictures->ids));
    point_ids(pictures);
    *out = pictures;
    pictures = NULL;
done:
    tn_pictures_free(pictures);
    return st;
}

tn_status tnp_picture_bytes(tn_ctx *ctx, const tn_pictures *pictures, size_t i, tnp_bytes *out)
{
    return tnp_bytes_read(ctx, pictures->files[i].path, out);
}

static void free_file(tnp_picture_file *file)
{
    tnp_free_all(file->path, file->label);
}

void tn_pictures_free(tn_pictures *pictures)
{
    if (!pictures)
        return;
    for (size_t i = 0; i < pictures->count; ++i)
        free_file(pictures->files + i);
    for (size_t i = 0; i < pictures->class_count; ++i)
        tnp_free(pictures->classes[i]);
    tnp_free_all(pictures->classes, pictures->files, pictures->ids, pictures->origin, pictures);
}

void tnp_pictures_keep(tn_pictures *pictures, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < pictures->count; ++i)
        if (keep[i])
            pictures->files[kept++] = pictures->files[i];
        else
            free_file(pictures->files + i);
    pictures->count = kept;
    point_ids(pictures);
}

size_t tn_pictures_count(const tn_pictures *pictures)
{
    return pictures->count;
}

const char *tn_pictures_path(const tn_pictures *pictures, size_t i)
{
    return pictures->files[i].path;
}

const char *const *tn_pictures_ids(const tn_pictures *pictures)
{
    return pictures->ids;
}

bool tn_pictures_labelled(const tn_pictures *pictures)
{
    return pictures->labelled != TNP_UNLABELLED;
}

/* ---- labels ---- */

static tn_status folder_labels(tn_ctx *ctx, const tn_pictures *pictures, tn_labels **out)
{
    tn_status st = TN_OK;
    int64_t *numbers = NULL;
    TN_TRY(tnp_alloc_raw(ctx, pictures->count, sizeof *numbers, &numbers));
    for (size_t i = 0; i < pictures->count; ++i)
        numbers[i] = (int64_t)pictures->files[i].cls;
    TN_TRY(tn_labels_from_numbers(ctx, numbers, pictures->count, (const char *const *)pictures->classes,
                                  pictures->class_count, out));
done:
    tnp_free(numbers);
    return st;
}

static tn_status line_labels(tn_ctx *ctx, const tn_pictures *pictures, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    char *lines = NULL;
    tnp_text text;
    tnp_text_init(&text, ctx);
    for (size_t i = 0; i < pictures->count; ++i) {
        tnp_text_raw(&text, pictures->files[i].label);
        tnp_text_raw(&text, "\n");
    }
    TN_TRY(tnp_text_take(&text, &lines));
    TN_TRY(tnp_labels_new(ctx, pictures->origin, TN_TASK_AUTO, &labels));
    TN_TRY(tnp_labels_from_lines(ctx, labels, &(tnp_bytes){(const unsigned char *)lines, strlen(lines)}));
    *out = labels;
    labels = NULL;
done:
    tn_text_free(lines);
    tn_labels_free(labels);
    return st;
}

tn_status tn_pictures_labels(tn_ctx *ctx, const tn_pictures *pictures, tn_labels **out)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    if (pictures->labelled == TNP_UNLABELLED)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: pictures without labels, expected a sub-folder per class or a list",
                        pictures->origin);
    TN_TRY(pictures->labelled == TNP_BY_FOLDER ? folder_labels(ctx, pictures, &labels)
                                               : line_labels(ctx, pictures, &labels));
    TN_TRY(tn_labels_set_ids(ctx, labels, pictures->ids));
    *out = labels;
    labels = NULL;
done:
    tn_labels_free(labels);
    return st;
}

/* ---- decoding many ---- */

typedef struct batch {
    tnp_decoding *items;
} batch;

static void run_one(void *arg, size_t i)
{
    batch *b = arg;
    if (b->items[i].picture)
        tnp_decoding_run(&b->items[i]);
}

/* Failures that are one picture's, not the run's. */
static bool is_broken(tn_status st)
{
    return st == TN_ERR_IO || st == TN_ERR_FORMAT || st == TN_ERR_UNSUPPORTED || st == TN_ERR_DATA;
}

/* What a failure of one picture means: TN_OK, after a warning, where it is to be skipped. */
static tn_status forgive(tn_ctx *ctx, const tnp_picture_options *options, tn_status st)
{
    char text[TNP_PICTURE_MESSAGE + 256];
    if (st == TN_OK || options->on_error != TNP_ON_ERROR_SKIP || !is_broken(st))
        return st;
    snprintf(text, sizeof text, "%s", tn_ctx_message(ctx));
    tnp_warn(ctx, "%s; skipped", text);
    return TN_OK;
}

static tn_status begin_one(tn_ctx *ctx, const char *path, const tnp_picture_options *options, tnp_bytes *bytes,
                           tnp_decoding *item)
{
    tn_status st = tnp_bytes_read(ctx, path, bytes);
    if (st == TN_OK)
        st = tnp_decoding_begin(ctx, path, *bytes, options, item);
    if (st != TN_OK)
        tnp_decoding_end(ctx, item);
    return st;
}

static tn_status decode_all(tn_ctx *ctx, const tn_pictures *pictures, size_t first, size_t count,
                            const tnp_picture_options *options, tnp_bytes *bytes, tnp_decoding *items, tn_picture **out)
{
    tn_status st = TN_OK;
    batch b = {items};
    for (size_t i = 0; i < count; ++i)
        TN_TRY(forgive(ctx, options, begin_one(ctx, pictures->files[first + i].path, options, bytes + i, items + i)));
    tnp_parallel(ctx, tn_ctx_threads(ctx), count, run_one, &b);
    for (size_t i = 0; i < count; ++i)
        if (items[i].picture)
            TN_TRY(forgive(ctx, options, tnp_decoding_take(ctx, pictures->files[first + i].path, items + i, out + i)));
done:
    return st;
}

tn_status tnp_pictures_decode(tn_ctx *ctx, const tn_pictures *pictures, size_t first, size_t count,
                              const tnp_picture_options *options, tn_picture **out)
{
    tn_status st = TN_OK;
    tnp_decoding *items = NULL;
    tnp_bytes *bytes = NULL;
    memset(out, 0, count * sizeof *out);
    TN_TRY(tnp_alloc(ctx, count, sizeof *items, &items));
    TN_TRY(tnp_alloc(ctx, count, sizeof *bytes, &bytes));
    TN_TRY(decode_all(ctx, pictures, first, count, options, bytes, items, out));
done:
    for (size_t i = 0; i < count; ++i) {
        if (items)
            tnp_decoding_end(ctx, items + i);
        if (bytes)
            tnp_bytes_free(bytes + i);
        if (st != TN_OK) {
            tn_picture_free(out[i]);
            out[i] = NULL;
        }
    }
    tnp_free_all(items, bytes);
    return st;
}

tn_status tn_pictures_drop_broken(tn_ctx *ctx, tn_pictures *pictures, size_t *dropped)
{
    tn_status st = TN_OK;
    size_t some = 4 * tn_ctx_threads(ctx), count = pictures->count;
    tn_picture **decoded = NULL;
    bool *keep = NULL;
    tnp_picture_options options;
    tnp_picture_options_default(&options);
    options.on_error = TNP_ON_ERROR_SKIP;
    TN_TRY(tnp_alloc(ctx, some, sizeof(tn_picture *), &decoded));
    TN_TRY(tnp_alloc(ctx, count, sizeof *keep, &keep));
    for (size_t start = 0; start < count; start += some) {
        size_t n = tnp_min(some, count - start);
        TN_TRY(tnp_progress(ctx, "check", start, count));
        TN_TRY(tnp_pictures_decode(ctx, pictures, start, n, &options, decoded));
        for (size_t i = 0; i < n; ++i) {
            keep[start + i] = decoded[i] != NULL;
            tn_picture_free(decoded[i]);
        }
    }
    tnp_pictures_keep(pictures, keep);
    if (pictures->count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: all of its %zu pictures are broken", pictures->origin, count));
    if (dropped)
        *dropped = count - pictures->count;
done:
    tnp_free_all(decoded, keep);
    return st;
}
