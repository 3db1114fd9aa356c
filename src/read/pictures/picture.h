/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of pictures: from the bytes of a file to a tn_picture, in two steps, so that many can be decoded at once.
 *
 *   tnp_decoding_begin   by the calling thread: looks at the head, refuses what is too large, allocates everything
 *   tnp_decoding_run     by any thread: decodes, row by row, into the resize; allocates nothing of ours
 *
 * Rows are resized as they come, so that memory grows with the picture that is kept, not with the one that is stored;
 * but for interlaced PNG and JPEG in several scans, whose decoders need all of it. */
#ifndef TNP_PICTURE_H
#define TNP_PICTURE_H

#include "base/base.h"
#include "read/pictures/resize.h"
#include "tenon/read.h"

enum { TNP_PICTURE_MESSAGE = 256 };

typedef struct tnp_picture_options {
    size_t pixels;  /* that are kept at most; 100,000: deep Fisher's; 0: all */
    size_t side;    /* the longer one at most; 0: any */
    size_t largest; /* pixels that a file may declare; 2^27, a gigabyte and a half as floats of three channels */
    int on_error;   /* TNP_ON_ERROR_STOP */
    /* Of networks, in the place of pixels and side; enlarging, too. All 0: none of it. */
    size_t shorter;                     /* what the shorter side becomes */
    size_t width, height;               /* what both become, as the picture is looked at */
    size_t middle_width, middle_height; /* the middle of that, which alone is computed; 0: all of it */
    tnp_kernel kernel;
} tnp_picture_options;
enum { TNP_ON_ERROR_STOP, TNP_ON_ERROR_SKIP };

void tnp_picture_options_default(tnp_picture_options *options);
const tn_field *tnp_picture_fields(size_t *count);

typedef enum tnp_picture_kind { TNP_PICTURE_NONE, TNP_PICTURE_JPEG, TNP_PICTURE_PNG } tnp_picture_kind;

/* What the first bytes say. */
typedef struct tnp_picture_head {
    tnp_picture_kind kind;
    size_t width, height;
    size_t components; /* JPEG: values per pixel; PNG: bytes per pixel at most, once expanded */
    size_t channels;   /* of the picture it becomes: 1 (grey) or 3 */
    int orientation;   /* EXIF: 1 to 8 */
    bool at_once;      /* the decoder must hold all of it: interlaced, several scans */
} tnp_picture_head;

/* TN_ERR_UNSUPPORTED for what is neither JPEG nor PNG, TN_ERR_FORMAT for a broken head. */
tn_status tnp_picture_head_read(tn_ctx *ctx, const char *path, tnp_bytes bytes, tnp_picture_head *out);
/* The orientation that an EXIF block (a TIFF header and its first directory) tells; 1 when it tells none. */
int tnp_exif_orientation(const unsigned char *tiff, size_t size);

/* Width and height, as it is looked at, of what a picture with these bytes becomes; only its head is read. As
 * tnp_decoding_begin fails. */
tn_status tnp_picture_size(tn_ctx *ctx, const char *path, tnp_bytes bytes, const tnp_picture_options *options,
                           size_t *width, size_t *height);

/* Where the middle begins when so much is left over: at half of it, rounded to even. */
size_t tnp_picture_middle(size_t left);

/* One picture on its way. */
typedef struct tnp_decoding {
    tnp_picture_head head;
    tnp_bytes bytes;     /* borrowed */
    size_t divisor;      /* JPEG: the decoder itself shrinks by 1, 2, 4 or 8 */
    size_t held;         /* bytes that the decoder takes, counted by tnp_hold */
    tnp_resize resize;   /* of rows as they are stored */
    unsigned char *rows; /* scan line, or all of them when head.at_once and PNG */
    float *line;         /* (width, channels): one row as numbers from 0 to 1 */
    float *stored;       /* (resize.height, resize.width, 3): what comes out, not yet turned */
    tn_picture *picture;
    char message[TNP_PICTURE_MESSAGE]; /* "" when it went well */
} tnp_decoding;

/* All zero before; tnp_decoding_end after, also on failure. path: for messages. */
tn_status tnp_decoding_begin(tn_ctx *ctx, const char *path, tnp_bytes bytes, const tnp_picture_options *options,
                             tnp_decoding *out);
void tnp_decoding_run(tnp_decoding *decoding);
/* Hands the picture over unless it is NULL; TN_ERR_FORMAT when it did not go well. */
tn_status tnp_decoding_take(tn_ctx *ctx, const char *path, tnp_decoding *decoding, tn_picture **out);
void tnp_decoding_end(tn_ctx *ctx, tnp_decoding *decoding);

/* The decoders: fill d->line for every row and hand it to d->resize; d->message on failure. */
void tnp_jpeg_run(tnp_decoding *d);
void tnp_png_run(tnp_decoding *d);

tn_status tnp_picture_new(tn_ctx *ctx, size_t width, size_t height, size_t channels, tn_picture **out);

/* Pictures [first, first + count) of a list into out (count), decoded side by side. One that is broken stops it, or, by
 * options->on_error, is told as a warning and left NULL. */
tn_status tnp_pictures_decode(tn_ctx *ctx, const tn_pictures *pictures, size_t first, size_t count,
                              const tnp_picture_options *options, tn_picture **out);

#endif
