/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the bytes of one file to a picture: the plan (sizes, memory), the decoder of its kind, the turn that EXIF asks
 * for. With (x, y) of the picture as it is looked at, W x H, the stored pixel is
 *
 *   1  (x, y)          2  (W-1-x, y)          3  (W-1-x, H-1-y)        4  (x, H-1-y)
 *   5  (y, x)          6  (y, W-1-x)          7  (H-1-y, W-1-x)        8  (H-1-y, x)
 *
 * The size that is kept (resize.c) is that of the stored picture, which the turn only swaps. A JPEG decoder can leave
 * out high frequencies and give 1/2, 1/4 or 1/8 of the size: taken only where what it gives is still twice what is
 * kept along both sides, so that our own antialiasing decides what is seen. It saves 20 to 40 % of decoding a
 * photograph; with less than twice, descriptors change. */
#include "read/pictures/picture.h"

#include <math.h>
#include <string.h>

void tnp_picture_options_default(tnp_picture_options *options)
{
    *options = (tnp_picture_options){.pixels = 100000, .side = 0, .largest = (size_t)1 << 27, .on_error = 0};
}

const tn_field *tnp_picture_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"pixels", TN_FIELD_INT, offsetof(tnp_picture_options, pixels), 0, 1e12, "N",
         "pixels that a picture is shrunk to, if it has more; 0: as it is"},
        {"side", TN_FIELD_INT, offsetof(tnp_picture_options, side), 0, 1e9, "N",
         "longer side that a picture is shrunk to; 0: any"},
        {"largest", TN_FIELD_INT, offsetof(tnp_picture_options, largest), 1, 1e12, "N",
         "pixels that a file may declare; one with more is broken"},
        {"on-error", TN_FIELD_CHOICE, offsetof(tnp_picture_options, on_error), 0, 0, "stop|skip",
         "what a broken picture does"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

tn_status tnp_picture_new(tn_ctx *ctx, size_t width, size_t height, size_t channels, tn_picture **out)
{
    tn_status st = TN_OK;
    tn_picture *picture = NULL;
    size_t values = 0;
    TN_TRY(tnp_mul(ctx, width, channels, &values));
    TN_TRY(tnp_mul(ctx, values, height, &values));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *picture, &picture));
    picture->width = width;
    picture->height = height;
    picture->channels = channels;
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *picture->pixels, &picture->pixels));
    *out = picture;
    picture = NULL;
done:
    tn_picture_free(picture);
    return st;
}

void tn_picture_free(tn_picture *picture)
{
    if (!picture)
        return;
    tnp_free_all(picture->pixels, picture);
}

/* ---- the plan ---- */

static tn_status check(tn_ctx *ctx, const char *path, const tnp_picture_head *head, const tnp_picture_options *options)
{
    if (head->width > options->largest / head->height)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: declares %zu x %zu pixels, more than the %zu that option largest allows",
                        path, head->width, head->height, options->largest);
    if (head->kind == TNP_PICTURE_JPEG && head->components != 1 && head->components != 3 && head->components != 4)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: JPEG of %zu components, expected 1, 3 or 4", path,
                        head->components);
    return TN_OK;
}

/* A picture that is longer than so many times its shorter side is squeezed to that: of a line of 1 x 60000 pixels
 * nobody wants a tape of gigabytes. */
enum { MOST_LONG = 32 };

/* The size of the stored picture that is kept. */
static void pick_size(const tnp_picture_head *head, const tnp_picture_options *options, size_t *width, size_t *height)
{
    bool turned = head->orientation > 4;
    if (options->width != 0) {
        *width = turned ? options->height : options->width;
        *height = turned ? options->width : options->height;
    } else if (options->shorter != 0) {
        double factor = (double)options->shorter / (double)tnp_min(head->width, head->height);
        size_t most = MOST_LONG * options->shorter;
        *width = tnp_min(most, tnp_max(options->shorter, (size_t)((double)head->width * factor + 1e-9)));
        *height = tnp_min(most, tnp_max(options->shorter, (size_t)((double)head->height * factor + 1e-9)));
    } else
        tnp_resize_size(head->width, head->height, options->pixels, options->side, width, height);
}

tn_status tnp_picture_size(tn_ctx *ctx, const char *path, tnp_bytes bytes, const tnp_picture_options *options,
                           size_t *width, size_t *height)
{
    tnp_picture_head head;
    tn_status st = tnp_picture_head_read(ctx, path, bytes, &head);
    if (st == TN_OK)
        st = check(ctx, path, &head, options);
    if (st == TN_OK && head.orientation > 4)
        pick_size(&head, options, height, width);
    else if (st == TN_OK)
        pick_size(&head, options, width, height);
    return st;
}

size_t tnp_picture_middle(size_t left)
{
    return (size_t)nearbyint((double)left / 2);
}

/* Of a picture that is kept at width x height only its middle. What is left over on one side, when it is odd, is one more
 * than on the other: as the picture is looked at, so the stored one may have it the other way round. */
static void keep_middle(const tnp_picture_options *options, int orientation, tnp_resize *resize)
{
    bool turned = orientation > 4, middle = options->middle_width != 0;
    size_t width = turned ? options->middle_height : options->middle_width;
    size_t height = turned ? options->middle_width : options->middle_height;
    bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (!middle || width > resize->width || height > resize->height)
        return;
    size_t left = resize->width - width, above = resize->height - height;
    size_t x = tnp_picture_middle(left), y = tnp_picture_middle(above);
    tnp_resize_window(resize, from_right ? left - x : x, from_below ? above - y : y, width, height);
}

static size_t pick_divisor(const tnp_picture_head *head, size_t width, size_t height)
{
    size_t divisor = 8;
    if (head->kind != TNP_PICTURE_JPEG)
        return 1;
    while (divisor > 1 && (head->width / divisor < 2 * width || head->height / divisor < 2 * height))
        divisor /= 2;
    return divisor;
}

/* Bytes of scan lines, and of what the decoder of several scans holds: 2 bytes for each value. */
static tn_status make_rows(tn_ctx *ctx, const char *path, tnp_decoding *d)
{
    tn_status st = TN_OK;
    const tnp_picture_head *head = &d->head;
    size_t line = head->width * head->components,
           rows = head->at_once && head->kind == TNP_PICTURE_PNG ? head->height : 1;
    size_t bytes = 0;
    TN_TRY(tnp_mul(ctx, line, rows, &bytes));
    TN_TRY(tnp_alloc(ctx, bytes + 1, 1, &d->rows)); /* tnp_jpeg_run begins at the second byte */
    if (head->at_once && head->kind == TNP_PICTURE_JPEG) {
        TN_TRY(tnp_mul(ctx, 2 * line, head->height, &bytes));
        TN_TRY(tnp_hold(ctx, bytes, path));
        d->held = bytes;
    }
done:
    return st;
}

tn_status tnp_decoding_begin(tn_ctx *ctx, const char *path, tnp_bytes bytes, const tnp_picture_options *options,
                             tnp_decoding *out)
{
    tn_status st = TN_OK;
    size_t width = 0, height = 0, channels = 0;
    out->bytes = bytes;
    TN_TRY(tnp_picture_head_read(ctx, path, bytes, &out->head));
    const tnp_picture_head *head = &out->head;
    TN_TRY(check(ctx, path, head, options));
    channels = head->channels;
    pick_size(head, options, &width, &height);
    out->divisor = pick_divisor(head, width, height);
    size_t n = out->divisor;
    TN_TRY(tnp_resize_new_by(ctx, options->kernel, (head->width + n - 1) / n, (head->height + n - 1) / n,
                             (double)head->width / (double)n, (double)head->height / (double)n, width, height, channels,
                             &out->resize));
    keep_middle(options, head->orientation, &out->resize);
    width = out->resize.width;
    height = out->resize.height;
    TN_TRY(tnp_alloc_raw(ctx, out->resize.x.from * channels, sizeof *out->line, &out->line));
    TN_TRY(make_rows(ctx, path, out));
    bool turned = head->orientation > 4;
    TN_TRY(tnp_picture_new(ctx, turned ? height : width, turned ? width : height, channels, &out->picture));
    if (head->orientation != 1)
        TN_TRY(tnp_alloc_raw(ctx, width * height * channels, sizeof *out->stored, &out->stored));
done:
    return st;
}

void tnp_decoding_end(tn_ctx *ctx, tnp_decoding *d)
{
    tnp_resize_free(&d->resize);
    tnp_free_all(d->rows, d->line, d->stored);
    tn_picture_free(d->picture);
    if (d->held != 0)
        tnp_release(ctx, d->held);
    memset(d, 0, sizeof *d);
}

/* ---- decoding ---- */

static void turn(const tnp_decoding *d)
{
    const tn_picture *to = d->picture;
    int o = d->head.orientation;
    size_t channels = to->channels, stored_width = d->resize.width;
    bool flip_x = o == 2 || o == 3 || o == 6 || o == 7, flip_y = o == 3 || o == 4 || o == 7 || o == 8;
    for (size_t y = 0; y < to->height; ++y)
        for (size_t x = 0; x < to->width; ++x) {
            size_t a = flip_x ? to->width - 1 - x : x, b = flip_y ? to->height - 1 - y : y;
            size_t from = o > 4 ? a * stored_width + b : b * stored_width + a;
            memcpy(to->pixels + (y * to->width + x) * channels, d->stored + from * channels,
                   channels * sizeof *to->pixels);
        }
}

void tnp_decoding_run(tnp_decoding *d)
{
    d->message[0] = 0;
    tnp_resize_begin(&d->resize, d->stored ? d->stored : d->picture->pixels);
    if (d->head.kind == TNP_PICTURE_JPEG)
        tnp_jpeg_run(d);
    else
        tnp_png_run(d);
    if (d->stored && d->message[0] == 0)
        turn(d);
}

tn_status tnp_decoding_take(tn_ctx *ctx, const char *path, tnp_decoding *d, tn_picture **out)
{
    if (d->message[0] != 0)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: %s", path, d->message);
    *out = d->picture;
    d->picture = NULL;
    return TN_OK;
}

tn_status tn_picture_decode(tn_ctx *ctx, const void *bytes, size_t size, const char *name, size_t pixels,
                            tn_picture **out)
{
    tn_status st = TN_OK;
    tnp_decoding decoding = {.held = 0};
    tnp_picture_options options;
    tnp_picture_options_default(&options);
    options.pixels = pixels;
    name = name ? name : "picture in memory";
    TN_TRY(tnp_decoding_begin(ctx, name, (tnp_bytes){bytes, size}, &options, &decoding));
    tnp_decoding_run(&decoding);
    TN_TRY(tnp_decoding_take(ctx, name, &decoding, out));
done:
    tnp_decoding_end(ctx, &decoding);
    return st;
}

tn_status tn_picture_read(tn_ctx *ctx, const char *path, size_t pixels, tn_picture **out)
{
    tnp_bytes bytes = {NULL, 0};
    tn_status st = tnp_bytes_read(ctx, path, &bytes);
    if (st == TN_OK)
        st = tn_picture_decode(ctx, bytes.data, bytes.size, path, pixels, out);
    tnp_bytes_free(&bytes);
    return st;
}
