/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures decoded: every kind of PNG to the value that was written, JPEG to what its encoder keeps of a smooth picture,
 * EXIF orientations, and what is broken, cut off, of another kind or too large. */
#include "fixtures/pictures.h"
#include "read/pictures/picture.h"

#include <float.h>

enum { W = 23, H = 17 };

/* ---- PNG ---- */

/* Bit patterns that differ from pixel to pixel and channel to channel. */
static unsigned pattern(size_t x, size_t y, size_t c, int depth)
{
    return (unsigned)((x * 37 + y * 101 + c * 59 + x * y * 13) & ((1U << depth) - 1));
}

static void put_bits(unsigned char *row, size_t k, int depth, unsigned value)
{
    size_t bit = k * (size_t)depth;
    if (depth == 16) {
        row[2 * k] = (unsigned char)(value >> 8);
        row[2 * k + 1] = (unsigned char)value;
    } else {
        row[bit / 8] = (unsigned char)(row[bit / 8] | value << (8 - (size_t)depth - bit % 8));
    }
}

static unsigned char *pattern_rows(size_t channels, int depth, size_t *row_bytes)
{
    *row_bytes = (W * channels * (size_t)depth + 7) / 8;
    unsigned char *rows = calloc(H, *row_bytes);
    for (size_t y = 0; y < H; ++y)
        for (size_t x = 0; x < W; ++x)
            for (size_t c = 0; c < channels; ++c)
                put_bits(rows + y * *row_bytes, x * channels + c, depth, pattern(x, y, c, depth));
    return rows;
}

/* Every value within 4 roundings of what was written, on white. */
static void check_png(int type, size_t stored, int depth, bool interlaced)
{
    png_form form = {.width = W, .height = H, .depth = depth, .type = type, .interlaced = interlaced};
    unsigned char *rows = pattern_rows(stored, depth, &form.row_bytes);
    form.rows = rows;
    picture_bytes made = png_bytes(&form);
    tn_picture *p = picture_of(made, 0);
    size_t channels = stored < 3 ? 1 : 3;
    double most = (double)((1U << depth) - 1);
    assert_int_equal(p->width, W);
    assert_int_equal(p->height, H);
    assert_int_equal(p->channels, channels);
    for (size_t y = 0; y < H; ++y)
        for (size_t x = 0; x < W; ++x)
            for (size_t c = 0; c < channels; ++c) {
                double alpha = stored % 2 ? 1 : pattern(x, y, stored - 1, depth) / most;
                double want = pattern(x, y, c, depth) / most * alpha + 1 - alpha;
                assert_near_at(y * W + x, (double)p->pixels[(y * W + x) * channels + c], want, 4 * FLT_EPSILON);
            }
    tn_picture_free(p);
    free(rows);
    free(made.data);
}

static void every_kind_of_png(void **state)
{
    (void)state;
    for (int interlaced = 0; interlaced < 2; ++interlaced) {
        for (int depth = 1; depth <= 16; depth *= 2)
            check_png(PNG_COLOR_TYPE_GRAY, 1, depth, interlaced);
        for (int depth = 8; depth <= 16; depth *= 2) {
            check_png(PNG_COLOR_TYPE_GRAY_ALPHA, 2, depth, interlaced);
            check_png(PNG_COLOR_TYPE_RGB, 3, depth, interlaced);
            check_png(PNG_COLOR_TYPE_RGB_ALPHA, 4, depth, interlaced);
        }
    }
}

static void palette_with_transparency(void **state)
{
    (void)state;
    png_color palette[256];
    unsigned char alphas[256];
    for (size_t i = 0; i < 256; ++i) {
        palette[i] = (png_color){(png_byte)(i * 7), (png_byte)(255 - i), (png_byte)(i * 3)};
        alphas[i] = (unsigned char)(i * 5);
    }
    png_form form = {.width = W, .height = H, .depth = 4, .type = PNG_COLOR_TYPE_PALETTE, .palette = palette};
    form.alphas = alphas;
    unsigned char *rows = pattern_rows(1, 4, &form.row_bytes);
    form.rows = rows;
    picture_bytes made = png_bytes(&form);
    tn_picture *p = picture_of(made, 0);
    assert_int_equal(p->channels, 3);
    for (size_t y = 0; y < H; ++y)
        for (size_t x = 0; x < W; ++x) {
            unsigned i = pattern(x, y, 0, 4);
            double a = alphas[i] / 255.0, want = palette[i].green / 255.0 * a + 1 - a;
            assert_near_at(y * W + x, (double)p->pixels[(y * W + x) * 3 + 1], want, 4 * FLT_EPSILON);
        }
    tn_picture_free(p);
    free(rows);
    free(made.data);
}

/* ---- JPEG ---- */

/* At quality 100 without subsampling each coefficient is off by half a step, and there are 64: 4 grey levels hold. */
static void check_jpeg(int components, bool progressive, bool adobe)
{
    unsigned char *rows = smooth_rows(W, H, (size_t)components);
    jpeg_form form = {W, H, components, progressive, adobe, rows, NULL, 0};
    picture_bytes made = jpeg_bytes(&form);
    tn_picture *p = picture_of(made, 0);
    size_t channels = components == 1 ? 1 : 3;
    assert_int_equal(p->channels, channels);
    for (size_t y = 0; y < H; ++y)
        for (size_t x = 0; x < W; ++x)
            for (size_t c = 0; c < channels; ++c) {
                double v = smooth_value(x, y, c) / 255.0, k = smooth_value(x, y, 3) / 255.0, want = v;
                if (components == 4)
                    want = adobe ? v * k : (1 - v) * (1 - k);
                assert_near_at(y * W + x, (double)p->pixels[(y * W + x) * channels + c], want, 6.0 / 255);
            }
    tn_picture_free(p);
    free(rows);
    free(made.data);
}

static void every_kind_of_jpeg(void **state)
{
    (void)state;
    for (int progressive = 0; progressive < 2; ++progressive) {
        check_jpeg(1, progressive, false);
        check_jpeg(3, progressive, false);
        check_jpeg(4, progressive, true);
        check_jpeg(4, progressive, false);
    }
}

/* The decoder's own shrinking is a mean over 4 pixels, which lowers the wave by 1 - sin(0.22)/0.22, below 1 level of its
 * 100. At the edge the last sample stands for part of a block, a pixel off at most, at 11 levels a pixel and with a
 * weight of about a quarter: 4 levels in all. */
static void a_large_jpeg_is_shrunk_by_its_decoder(void **state)
{
    (void)state;
    enum { BIG_W = 331, BIG_H = 203 };
    unsigned char *rows = smooth_rows(BIG_W, BIG_H, 3);
    jpeg_form form = {BIG_W, BIG_H, 3, false, false, rows, NULL, 0};
    picture_bytes made = jpeg_bytes(&form);
    tn_picture *small = picture_of(made, BIG_W * BIG_H / 100), *whole = picture_of(made, 0);
    tnp_resize r = {.row = 0};
    float *want = malloc(small->width * small->height * 3 * sizeof *want);
    assert_int_equal(small->width, 33);
    assert_int_equal(small->height, 20);
    assert_fine(test_ctx, tnp_resize_new(test_ctx, BIG_W, BIG_H, BIG_W, BIG_H, small->width, small->height, 3, &r));
    tnp_resize_begin(&r, want);
    for (size_t y = 0; y < BIG_H; ++y)
        tnp_resize_row(&r, whole->pixels + y * BIG_W * 3);
    for (size_t i = 0; i < small->width * small->height * 3; ++i)
        assert_near_at(i, (double)small->pixels[i], (double)want[i], 4.0 / 255);
    tnp_resize_free(&r);
    free(want);
    tn_picture_free(small);
    tn_picture_free(whole);
    free(rows);
    free(made.data);
}

/* ---- EXIF ---- */

/* Where pixel (x, y) of the upright picture is stored, W x H being the stored size: by the standard's words, row 0 is
 * the named side, column 0 the other. */
static void stored_at(unsigned o, size_t x, size_t y, size_t *sx, size_t *sy)
{
    switch (o) {
    case 2:
        *sx = W - 1 - x, *sy = y;
        return; /* top, right */
    case 3:
        *sx = W - 1 - x, *sy = H - 1 - y;
        return; /* bottom, right */
    case 4:
        *sx = x, *sy = H - 1 - y;
        return; /* bottom, left */
    case 5:
        *sx = y, *sy = x;
        return; /* left, top */
    case 6:
        *sx = y, *sy = H - 1 - x;
        return; /* right, top */
    case 7:
        *sx = W - 1 - y, *sy = H - 1 - x;
        return; /* right, bottom */
    case 8:
        *sx = W - 1 - y, *sy = x;
        return; /* left, bottom */
    default:
        *sx = x, *sy = y;
    }
}

static void check_orientation(unsigned o, bool little)
{
    unsigned char *rows = smooth_rows(W, H, 1), exif[64];
    jpeg_form form = {W, H, 1, false, false, rows, exif, exif_block(little, o, exif)};
    picture_bytes made = jpeg_bytes(&form);
    tn_picture *p = picture_of(made, 0);
    assert_int_equal(p->width, o > 4 ? H : W);
    assert_int_equal(p->height, o > 4 ? W : H);
    for (size_t y = 0; y < p->height; ++y)
        for (size_t x = 0; x < p->width; ++x) {
            size_t sx = 0, sy = 0;
            stored_at(o, x, y, &sx, &sy);
            assert_near_at(y * p->width + x, (double)p->pixels[y * p->width + x], smooth_value(sx, sy, 0) / 255.0,
                           6.0 / 255);
        }
    tn_picture_free(p);
    free(rows);
    free(made.data);
}

static void all_orientations(void **state)
{
    (void)state;
    for (unsigned o = 1; o <= 8; ++o) {
        check_orientation(o, false);
        check_orientation(o, true);
    }
}

static tn_picture *decoded(picture_bytes made, const tnp_picture_options *options)
{
    tnp_decoding d = {.held = 0};
    tn_picture *picture = NULL;
    assert_fine(test_ctx, tnp_decoding_begin(test_ctx, "made", (tnp_bytes){made.data, made.size}, options, &d));
    tnp_decoding_run(&d);
    assert_fine(test_ctx, tnp_decoding_take(test_ctx, "made", &d, &picture));
    tnp_decoding_end(test_ctx, &d);
    return picture;
}

/* The middle alone has the bits that it has in the whole picture: smaller, larger, much larger, and turned every way.
 * What is left over is odd along one side, so that it tells from which side it is counted. */
static void the_middle_is_a_part_of_the_whole(void **state)
{
    (void)state;
    static const size_t sides[] = {5, 40, 400};
    for (unsigned o = 1; o <= 8; ++o)
        for (size_t s = 0; s < 3; ++s) {
            unsigned char *rows = smooth_rows(W, H, 3), exif[64];
            jpeg_form form = {W, H, 3, false, false, rows, exif, exif_block(true, o, exif)};
            picture_bytes made = jpeg_bytes(&form);
            tnp_picture_options options;
            tnp_picture_options_default(&options);
            options.shorter = sides[s];
            tn_picture *whole = decoded(made, &options);
            options.middle_width = sides[s] - 3;
            options.middle_height = sides[s] - 2;
            tn_picture *middle = decoded(made, &options);
            assert_int_equal(middle->width, options.middle_width);
            assert_int_equal(middle->height, options.middle_height);
            size_t x = tnp_picture_middle(whole->width - middle->width);
            size_t y = tnp_picture_middle(whole->height - middle->height);
            for (size_t i = 0; i < middle->height; ++i)
                assert_memory_equal(middle->pixels + i * middle->width * 3,
                                    whole->pixels + ((y + i) * whole->width + x) * 3,
                                    middle->width * 3 * sizeof(float));
            tn_picture_free(whole);
            tn_picture_free(middle);
            free(made.data);
            free(rows);
        }
    assert_int_equal(tnp_picture_middle(3), 2);
    assert_int_equal(tnp_picture_middle(5), 2);
}

static void odd_exif_is_upright(void **state)
{
    (void)state;
    unsigned char block[64];
    size_t size = exif_block(true, 6, block);
    assert_int_equal(tnp_exif_orientation(block + 6, size - 6), 6);
    for (size_t cut = 0; cut + 6 < size - 8; ++cut)
        assert_int_equal(tnp_exif_orientation(block + 6, cut), 1);
    block[size - 8] = 9;
    assert_int_equal(tnp_exif_orientation(block + 6, size - 6), 1);
    block[10] = block[11] = 0xFF; /* a directory beyond the end */
    assert_int_equal(tnp_exif_orientation(block + 6, size - 6), 1);
}

/* ---- what is refused ---- */

static void refuse(const unsigned char *data, size_t size, tn_status status, const char *part)
{
    tn_picture *p = NULL;
    assert_fails(test_ctx, status, part, tn_picture_decode(test_ctx, data, size, "made", 0, &p));
    assert_null(p);
}

static void pictures_that_are_cut_off(void **state)
{
    (void)state;
    unsigned char *rows = smooth_rows(64, 64, 3);
    jpeg_form jpeg = {64, 64, 3, false, false, rows, NULL, 0};
    png_form png = {.width = 64, .height = 64, .depth = 8, .type = PNG_COLOR_TYPE_RGB, .rows = rows, .row_bytes = 192};
    picture_bytes a = jpeg_bytes(&jpeg), b = png_bytes(&png);
    refuse(a.data, a.size / 2, TN_ERR_FORMAT, "made: ");
    refuse(b.data, b.size / 2, TN_ERR_FORMAT, "made: the file ends before the picture does");
    refuse(a.data, 20, TN_ERR_FORMAT, "made: byte ");
    refuse(b.data, 20, TN_ERR_FORMAT, "made: byte 8: PNG without its first chunk, IHDR");
    refuse(a.data, 0, TN_ERR_FORMAT, "made: empty file, expected a JPEG or PNG picture");
    refuse((const unsigned char *)"GIF89a", 6, TN_ERR_UNSUPPORTED, "made: bytes of another kind");
    for (size_t cut = 0; cut < a.size; cut += 7) { /* wherever it is cut: a status, and nothing left behind */
        tn_picture *p = NULL;
        (void)tn_picture_decode(test_ctx, a.data, cut, "made", 0, &p);
        tn_picture_free(p);
    }
    free(rows);
    free(a.data);
    free(b.data);
}

static void declared_sizes_beyond_the_limit_are_refused_before_allocation(void **state)
{
    (void)state;
    unsigned char *rows = smooth_rows(8, 8, 1);
    jpeg_form jpeg = {8, 8, 1, false, false, rows, NULL, 0};
    png_form png = {.width = 8, .height = 8, .depth = 8, .type = PNG_COLOR_TYPE_GRAY, .rows = rows, .row_bytes = 8};
    picture_bytes a = jpeg_bytes(&jpeg), b = png_bytes(&png);
    size_t peak = tn_ctx_memory_peak(test_ctx);
    for (size_t i = 0; i + 9 < a.size; ++i)
        if (a.data[i] == 0xFF && a.data[i + 1] == 0xC0) /* 20,000 x 20,000 */
            memcpy(a.data + i + 5, "\x4E\x20\x4E\x20", 4);
    memcpy(b.data + 16, "\x00\x00\x4E\x20\x00\x00\x4E\x20", 8);
    refuse(a.data, a.size, TN_ERR_DATA, "made: declares 20000 x 20000 pixels, more than the 134217728");
    refuse(b.data, b.size, TN_ERR_DATA, "made: declares 20000 x 20000 pixels");
    memcpy(b.data + 16, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    refuse(b.data, b.size, TN_ERR_DATA, "made: declares 4294967295 x 4294967295 pixels");
    memcpy(b.data + 16, "\x00\x00\x00\x00\x00\x00\x00\x01", 8);
    refuse(b.data, b.size, TN_ERR_FORMAT, "made: a picture of 0 x 1 pixels");
    assert_int_equal(tn_ctx_memory_peak(test_ctx), peak);
    free(rows);
    free(a.data);
    free(b.data);
}

static void pictures_of_one_pixel_and_of_one_column(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {1, 5000}, {5000, 1}};
    for (size_t i = 0; i < 3; ++i) {
        size_t w = sizes[i][0], h = sizes[i][1];
        unsigned char *rows = smooth_rows(w, h, 3);
        jpeg_form form = {w, h, 3, false, false, rows, NULL, 0};
        picture_bytes made = jpeg_bytes(&form);
        tn_picture *p = picture_of(made, 1000);
        assert_true(p->width * p->height <= 1000);
        assert_int_equal(p->width, w < 1000 ? w : 1000);
        assert_near((double)p->pixels[0], smooth_value(0, 0, 0) / 255.0, w + h > 2 ? 0.2 : 6.0 / 255);
        tn_picture_free(p);
        free(rows);
        free(made.data);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    unsigned char *rows = smooth_rows(W, H, 3), exif[64];
    jpeg_form form = {W, H, 3, true, false, rows, exif, exif_block(false, 6, exif)};
    picture_bytes made = jpeg_bytes(&form);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tn_picture *p = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_picture_decode(test_ctx, made.data, made.size, "made", 0, &p);
        tnp_fail_allocation(test_ctx, 0);
        tn_picture_free(p);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 8);
    free(rows);
    free(made.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_png),
        cmocka_unit_test(palette_with_transparency),
        cmocka_unit_test(every_kind_of_jpeg),
        cmocka_unit_test(a_large_jpeg_is_shrunk_by_its_decoder),
        cmocka_unit_test(all_orientations),
        cmocka_unit_test(the_middle_is_a_part_of_the_whole),
        cmocka_unit_test(odd_exif_is_upright),
        cmocka_unit_test(pictures_that_are_cut_off),
        cmocka_unit_test(declared_sizes_beyond_the_limit_are_refused_before_allocation),
        cmocka_unit_test(pictures_of_one_pixel_and_of_one_column),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
