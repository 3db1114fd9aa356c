/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a list of pictures. */
#ifndef TNP_PICTURES_LIST_H
#define TNP_PICTURES_LIST_H

#include "base/base.h"
#include "tenon/read.h"

typedef enum tnp_labelled { TNP_UNLABELLED, TNP_BY_FOLDER, TNP_BY_LINE } tnp_labelled;

typedef struct tnp_picture_file {
    char *path;
    size_t id;   /* where the id begins in path */
    char *label; /* TNP_BY_LINE: the text behind the tab, else NULL */
    size_t cls;  /* TNP_BY_FOLDER: number of the sub-folder */
} tnp_picture_file;

struct tn_pictures {
    char *origin; /* for messages: the first of IMAGES */
    tnp_picture_file *files;
    size_t count, capacity;
    char **classes; /* names of sub-folders in sorted order, UTF-8 */
    size_t class_count;
    tnp_labelled labelled;
    const char **ids; /* (count), pointing into files */
};

/* A file is added: path = before + "/" + name, or name alone when before is ""; its id begins at `id` of that path. */
tn_status tnp_pictures_add(tn_ctx *ctx, tn_pictures *pictures, const char *before, tnp_span name, size_t id);
/* A folder, with a sub-folder per class or without (folders.c). */
tn_status tnp_pictures_add_folder(tn_ctx *ctx, tn_pictures *pictures, const char *folder);
/* The bytes of picture i as they are stored; free with tnp_bytes_free. TN_ERR_IO. */
tn_status tnp_picture_bytes(tn_ctx *ctx, const tn_pictures *pictures, size_t i, tnp_bytes *out);
/* By its name: .jpg, .jpeg or .png in any case. */
bool tnp_is_picture_name(const char *name);
/* Forgets the pictures that are not to be kept (count flags): those that were broken. */
void tnp_pictures_keep(tn_pictures *pictures, const bool *keep);

#endif
