/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows that are pictures: the most confident mistakes and a typical row per class as thumbnails of at most SIDE pixels,
 * JPEG of quality 75, in the page itself. Thumbnails beyond BYTES are left out, and the page says so: a page that is
 * sent around stays small. A picture that cannot be read is named instead.
 *
 * A row whose id is that of a picture is this picture; one without is picture i of the list where the result has as many
 * rows as there are pictures, and none otherwise. */
#include "report/page/page.h"

#include <math.h>
#include <setjmp.h>
#include <string.h>

#include <jpeglib.h>

enum { SIDE = 112, BYTES = 700000, ROWS = 24 };

/* libjpeg ends the program by default: failures come back here instead. */
typedef struct failure {
    struct jpeg_error_mgr manager;
    jmp_buf back;
} failure;

static void leave(j_common_ptr info)
{
    failure *f = (failure *)(void *)info->err;
    longjmp(f->back, 1);
}

/* The buffer is there already, and is the memory that the budget counts: jpeg_mem_dest would take its own. */
static void nothing(j_compress_ptr info)
{
    (void)info;
}

static boolean refuse_more(j_compress_ptr info)
{
    leave((j_common_ptr)info);
    return FALSE;
}

/* Bytes of the JPEG in out, which has room for `most`; 0 after a failure. pixels: width * height * 3 bytes. */
static size_t pack(const unsigned char *pixels, size_t width, size_t height, unsigned char *out, size_t most)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_destination_mgr target = {out, most, nothing, refuse_more, nothing};
    failure failed;
    volatile size_t size = 0;
    jpeg.err = jpeg_std_error(&failed.manager);
    failed.manager.error_exit = leave;
    jpeg_create_compress(&jpeg);
    jpeg.dest = &target;
    if (setjmp(failed.back) == 0) {
        jpeg.image_width = (JDIMENSION)width;
        jpeg.image_height = (JDIMENSION)height;
        jpeg.input_components = 3;
        jpeg.in_color_space = JCS_RGB;
        jpeg_set_defaults(&jpeg);
        jpeg_set_quality(&jpeg, 75, TRUE);
        jpeg_start_compress(&jpeg, TRUE);
        while (jpeg.next_scanline < jpeg.image_height) {
            JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + jpeg.next_scanline * width * 3);
            jpeg_write_scanlines(&jpeg, &row, 1);
        }
        jpeg_finish_compress(&jpeg);
        size = most - target.free_in_buffer;
    }
    jpeg_destroy_compress(&jpeg);
    return size;
}

/* Values of 0 to 1, grey or coloured, as bytes of three colours. */
static void to_bytes(const tn_picture *picture, unsigned char *out)
{
    for (size_t i = 0; i < picture->width * picture->height; ++i)
        for (size_t c = 0; c < 3; ++c) {
            float value = picture->pixels[i * picture->channels + (picture->channels == 3 ? c : 0)];
            out[3 * i + c] = (unsigned char)lrintf(255 * fminf(fmaxf(value, 0), 1));
        }
}

/* The picture in a data: address; *used grows by its bytes. False where it cannot be read, or there is no place left. */
static tn_status add_picture(tnp_sheet *sheet, const char *path, size_t *used, bool *shown)
{
    tn_status st = TN_OK;
    tn_picture *picture = NULL;
    unsigned char *pixels = NULL, *packed = NULL;
    *shown = false;
    st = tn_picture_read(sheet->ctx, path, (size_t)SIDE * SIDE, &picture);
    if (st == TN_ERR_IO || st == TN_ERR_FORMAT || st == TN_ERR_UNSUPPORTED || st == TN_ERR_DATA)
        return TN_OK; /* named by the caller */
    TN_TRY(st);
    const size_t raw = picture->width * picture->height * 3, most = raw + 4096; /* and its headers */
    TN_TRY(tnp_alloc_raw(sheet->ctx, raw, 1, &pixels));
    TN_TRY(tnp_alloc_raw(sheet->ctx, most, 1, &packed));
    to_bytes(picture, pixels);
    size_t size = pack(pixels, picture->width, picture->height, packed, most);
    if (size > 0 && *used + size <= BYTES) {
        tnp_text_raw(&sheet->body, "<img alt=\"\" src=\"data:image/jpeg;base64,");
        tnp_html_base64(&sheet->body, packed, size);
        tnp_text_add(&sheet->body, "\" width=\"%zu\" height=\"%zu\">", picture->width, picture->height);
        *used += size;
        *shown = true;
    }
done:
    tnp_free_all(packed, pixels);
    tn_picture_free(picture);
    return st;
}

/* The place of a row's picture in the list; SIZE_MAX: there is none. */
static size_t picture_of(const tn_pictures *pictures, const json_t *row, double rows)
{
    const char *id = tnp_member_text(row, "id");
    size_t count = tn_pictures_count(pictures);
    double at = tnp_member(row, "row");
    for (size_t i = 0; id && i < count; ++i)
        if (strcmp(id, tn_pictures_ids(pictures)[i]) == 0)
            return i;
    return rows == (double)count && at >= 0 && at < rows ? (size_t)at : SIZE_MAX;
}

static tn_status add_rows(tnp_sheet *sheet, const json_t *rows, double all, const char *title, size_t *used)
{
    tnp_text *html = &sheet->body;
    const tn_pictures *pictures = sheet->page->pictures;
    if (!rows)
        return TN_OK;
    tnp_text_add(html, "<h3>%s</h3>\n<ul class=\"thumbs\">\n", title);
    for (size_t i = 0; i < json_array_size(rows); ++i) {
        const json_t *row = json_array_get(rows, i);
        size_t at = picture_of(pictures, row, all);
        double p = tnp_member(row, "probability");
        const char *truth = tnp_member_text(row, "true"), *predicted = tnp_member_text(row, "predicted");
        bool shown = false;
        if (at == SIZE_MAX)
            continue;
        tnp_text_raw(html, "<li>");
        tn_status st = add_picture(sheet, tn_pictures_path(pictures, at), used, &shown);
        if (st != TN_OK)
            return st;
        tnp_html_text(html, truth);
        if (truth && predicted && strcmp(truth, predicted) != 0) {
            tnp_text_raw(html, " taken for ");
            tnp_html_text(html, predicted);
        }
        if (!isnan(p))
            tnp_text_add(html, " (%.2f)", p);
        if (!shown) {
            tnp_text_raw(html, ", not shown: ");
            tnp_html_text(html, tn_pictures_ids(pictures)[at]);
        }
        tnp_text_raw(html, "</li>\n");
    }
    tnp_text_raw(html, "</ul>\n");
    return TN_OK;
}

/* A line per mistake, whether rows are pictures or not. */
static void list_rows(tnp_text *html, const json_t *rows)
{
    bool probable = !isnan(tnp_member(json_array_get(rows, 0), "probability"));
    tnp_grid_begin(html, NULL, "Wrong rows of largest confidence");
    tnp_grid_head(html, "row", true);
    tnp_grid_head(html, "id", false);
    tnp_grid_head(html, "true", false);
    tnp_grid_head(html, "taken for", false);
    tnp_grid_head(html, probable ? "probability" : "lead", true);
    tnp_grid_body(html);
    for (size_t i = 0; i < tnp_min(ROWS, json_array_size(rows)); ++i) {
        const json_t *row = json_array_get(rows, i);
        tnp_grid_row(html, false);
        tnp_grid_count(html, tnp_member(row, "row"));
        tnp_grid_text(html, tnp_member_text(row, "id"));
        tnp_grid_text(html, tnp_member_text(row, "true"));
        tnp_grid_text(html, tnp_member_text(row, "predicted"));
        tnp_grid_number(html, tnp_member(row, probable ? "probability" : "lead"));
    }
    tnp_grid_end(html);
}

tn_status tnp_section_pictures(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *mistakes = tnp_member_list(r->json.root, "mistakes"),
                 *typical = tnp_member_list(r->json.root, "typical");
    tn_status st = TN_OK;
    double rows = tnp_member(r->json.root, "rows");
    size_t used = 0;
    if (!mistakes)
        return TN_OK;
    tnp_section_begin(sheet, r, "Mistakes");
    if (sheet->page->pictures) {
        TN_TRY(add_rows(sheet, mistakes, rows, "Most confident mistakes", &used));
        TN_TRY(add_rows(sheet, typical, rows, "Typical rows of the classes", &used));
    }
    list_rows(&sheet->body, mistakes);
    tnp_section_end(sheet);
done:
    return st;
}
