/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JPEG by libjpeg-turbo, scan line by scan line: grey, RGB, CMYK and YCCK, any order of scans that the library knows.
 *
 *   CMYK   r = (1 - c)(1 - k), and so on; files of Adobe's, which say so, store 1 - c instead of c
 *
 * The library reports failure by a function that may not return: it jumps back to tnp_jpeg_run. What it calls warnings
 * is failure too where picture data is missing or wrong; PyTorch's and Pillow's loaders refuse such files as well. A
 * file with a thousand scans, each a walk over the whole picture, is refused: it is there to waste time.
 *
 * The decoder shrinks by 2, 4 or 8 where the result stays twice what is kept, see decode.c. */
#include "read/pictures/picture.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
/* clang-format off: needs size_t and FILE before it */
#include <jpeglib.h>
#include <jerror.h>
/* clang-format on */

enum { MOST_SCANS = 500 };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    tnp_decoding *d;
} reading;

static void fail(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    snprintf(r->d->message, sizeof r->d->message, "%.200s", text);
    longjmp(r->back, 1);
}

/* level -1: damaged data. Stray bytes between segments harm nobody. */
static void judge(j_common_ptr jpeg, int level)
{
    int code = jpeg->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR)
        fail(jpeg);
}

static void count_scans(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    if (r->jpeg.input_scan_number > MOST_SCANS) {
        snprintf(r->d->message, sizeof r->d->message, "more than %d scans, which no picture needs", MOST_SCANS);
        longjmp(r->back, 1);
    }
}

static void stay_silent(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void open_reading(reading *r)
{
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = fail;
    r->errors.emit_message = judge;
    r->errors.output_message = stay_silent;
    r->jpeg.client_data = r;
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.client_data = r;
    r->progress.progress_monitor = count_scans;
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, r->d->bytes.data, r->d->bytes.size);
}

/* A scan line of the decoder as numbers from 0 to 1; CMYK becomes RGB. */
static void to_numbers(const reading *r, const unsigned char *row, float *line)
{
    const float unit = 1.0F / 255;
    size_t width = r->jpeg.output_width, n = width * (size_t)r->jpeg.output_components;
    if (r->jpeg.out_color_space != JCS_CMYK) {
        for (size_t i = 0; i < n; ++i)
            line[i] = (float)row[i] * unit;
        return;
    }
    for (size_t i = 0; i < width; ++i)
        for (size_t c = 0; c < 3; ++c) {
            unsigned ink = row[4 * i + c], black = row[4 * i + 3];
            unsigned light = r->jpeg.saw_Adobe_marker ? ink : 255 - ink,
                     lit = r->jpeg.saw_Adobe_marker ? black : 255 - black;
            line[3 * i + c] = (float)light * (float)lit * unit * unit;
        }
}

static void decode(reading *r)
{
    tnp_decoding *d = r->d;
    bool ink = false;
    jpeg_read_header(&r->jpeg, TRUE);
    ink = r->jpeg.jpeg_color_space == JCS_CMYK || r->jpeg.jpeg_color_space == JCS_YCCK;
    r->jpeg.out_color_space = ink ? JCS_CMYK : r->jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    r->jpeg.scale_num = 1;
    r->jpeg.scale_denom = (unsigned)d->divisor;
    jpeg_calc_output_dimensions(&r->jpeg);
    size_t channels = r->jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
    if (r->jpeg.output_width != d->resize.x.from || r->jpeg.output_height != d->resize.y.from ||
        channels != d->resize.channels) {
        snprintf(d->message, sizeof d->message, "two frames of different sizes");
        return;
    }
    jpeg_start_decompress(&r->jpeg);
    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        JSAMPROW row =
            d->rows + 1; /* into an aligned row libjpeg-turbo stores past the caches, where it is read next */
        jpeg_read_scanlines(&r->jpeg, &row, 1);
        to_numbers(r, row, d->line);
        tnp_resize_row(&d->resize, d->line);
    }
    jpeg_finish_decompress(&r->jpeg);
}

/* Apart from tnp_jpeg_run, whose variables the jump leaves as they are. */
static void attempt(reading *r)
{
    if (setjmp(r->back) == 0) {
        open_reading(r);
        decode(r);
    }
}

void tnp_jpeg_run(tnp_decoding *d)
{
    reading r;
    memset(&r, 0, sizeof r);
    r.d = d;
    attempt(&r);
    jpeg_destroy_decompress(&r.jpeg);
}
