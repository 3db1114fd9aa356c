/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PNG by libpng: grey, colour and palette, 1 to 16 bits, with and without transparency, interlaced or not.
 *
 *   value = stored / (2^bits - 1)          with alpha a:  value a + (1 - a), the picture on white
 *
 * On white, because the colours of pixels that nobody sees are whatever a program left there, and because that is how
 * such pictures are looked at. Gamma and colour profiles are not applied: descriptors are made of what is stored, as
 * with JPEG. The library reports failure by a function that may not return: it jumps back to tnp_png_run. */
#include "read/pictures/picture.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

typedef struct reading {
    tnp_decoding *d;
    png_structp png;
    png_infop info;
    size_t at; /* bytes that were read */
    jmp_buf back;
} reading;

static void fail(png_structp png, png_const_charp text)
{
    reading *r = png_get_error_ptr(png);
    snprintf(r->d->message, sizeof r->d->message, "%.200s", text);
    longjmp(r->back, 1);
}

static void stay_silent(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void next_bytes(png_structp png, png_bytep out, size_t size)
{
    reading *r = png_get_io_ptr(png);
    if (size > r->d->bytes.size - r->at)
        png_error(png, "the file ends before the picture does");
    memcpy(out, r->d->bytes.data + r->at, size);
    r->at += size;
}

/* Value k of a row of 8 or 16 bits, the latter in the file's byte order. */
static float value_at(const unsigned char *row, size_t k, bool deep)
{
    unsigned v = deep ? (unsigned)row[2 * k] << 8 | row[2 * k + 1] : row[k];
    return (float)v / (deep ? 65535.0F : 255.0F);
}

/* A row of 1 to 4 values per pixel (the last of 2 and 4 is alpha) as 1 or 3. */
static void to_numbers(const unsigned char *row, size_t width, size_t stored, size_t channels, bool deep, float *line)
{
    bool clear = stored == 2 || stored == 4;
    for (size_t i = 0; i < width; ++i) {
        float alpha = clear ? value_at(row, stored * i + stored - 1, deep) : 1;
        for (size_t c = 0; c < channels; ++c)
            line[channels * i + c] = value_at(row, stored * i + c, deep) * alpha + (1 - alpha);
    }
}

static void decode(reading *r)
{
    tnp_decoding *d = r->d;
    size_t width = d->head.width, height = d->head.height, bytes = 0;
    png_set_user_limits(r->png, (png_uint_32)width, (png_uint_32)height);
    png_set_read_fn(r->png, r, next_bytes);
    png_read_info(r->png, r->info);
    png_set_expand(r->png);
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    bytes = png_get_rowbytes(r->png, r->info);
    size_t stored = png_get_channels(r->png, r->info), channels = stored < 3 ? 1 : 3;
    bool deep = png_get_bit_depth(r->png, r->info) == 16;
    if (bytes > width * d->head.components || channels != d->resize.channels || (passes > 1) != d->head.at_once)
        png_error(r->png, "the first chunk stands there twice and differs");
    for (int pass = 0; pass < passes; ++pass)
        for (size_t i = 0; i < height; ++i) {
            unsigned char *row = d->rows + (passes > 1 ? i * width * d->head.components : 0);
            png_read_row(r->png, row, NULL);
            if (pass + 1 < passes)
                continue;
            to_numbers(row, width, stored, channels, deep, d->line);
            tnp_resize_row(&d->resize, d->line);
        }
}

/* Apart from tnp_png_run, whose variables the jump leaves as they are. */
static void attempt(reading *r)
{
    if (setjmp(r->back) != 0)
        return;
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, fail, stay_silent);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (r->info)
        decode(r);
    else
        snprintf(r->d->message, sizeof r->d->message, "no memory for its decoder");
}

void tnp_png_run(tnp_decoding *d)
{
    reading r;
    memset(&r, 0, sizeof r);
    r.d = d;
    attempt(&r);
    png_destroy_read_struct(&r.png, &r.info, NULL);
}
