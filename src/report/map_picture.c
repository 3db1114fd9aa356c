/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A kernel as a picture, SVG: k(x, y) on [0, 1]^2 in colours, and below it, on the same axis of x, how many entries the
 * kernel was learned on, in a scale of logarithms. White is 0, red above, blue below, full colour the largest size.
 *
 * Cells are rectangles, 64 by 64: as many as the eye tells apart at this size, in 200 KB. A bitmap inside the SVG was
 * refused: it would need a PNG writer for no sharper a picture. */
#include "base/text.h"
#include "tenon/report.h"

#include <math.h>
#include <string.h>

enum { CELLS = 64, SIDE = 6, BARS = 120, MARGIN = 40, GAP = 30, EDGE = CELLS * SIDE };

/* Red, green, blue of v in [-1, 1]. */
static void add_color(tnp_text *text, double v)
{
    int fade = (int)lround(255 * (1 - fmin(fabs(v), 1)));
    tnp_text_add(text, "#%02x%02x%02x", v < 0 ? fade : 255, fade, v < 0 ? 255 : fade);
}

/* Rows upwards: y = 0 is at the bottom. */
static tn_status add_cells(tn_ctx *ctx, tnp_text *text, const tn_map *map)
{
    double *table = NULL, most = 0;
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, (size_t)CELLS * CELLS, sizeof *table, &table));
    TN_TRY(tn_map_table(ctx, map, CELLS, table));
    for (size_t i = 0; i < (size_t)CELLS * CELLS; ++i)
        most = fmax(most, fabs(table[i]));
    tnp_text_add(text, "<g shape-rendering=\"crispEdges\">\n");
    for (size_t x = 0; x < CELLS; ++x)
        for (size_t y = 0; y < CELLS; ++y) {
            tnp_text_add(text, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill=\"", MARGIN + x * SIDE,
                         MARGIN + (CELLS - 1 - y) * SIDE, SIDE, SIDE);
            add_color(text, most > 0 ? table[x * CELLS + y] / most : 0);
            tnp_text_add(text, "\"/>\n");
        }
    tnp_text_add(text, "</g>\n");
done:
    tnp_free(table);
    return st;
}

/* Heights go with log(1 + count). */
static void add_bars(tnp_text *text, const double *histogram)
{
    double most = 0;
    int floor_y = MARGIN + EDGE + GAP + BARS;
    for (size_t i = 0; i < TN_MAP_BINS; ++i)
        most = fmax(most, log1p(histogram[i]));
    tnp_text_add(text, "<g fill=\"#555\">\n");
    for (size_t i = 0; most > 0 && i < TN_MAP_BINS; ++i) {
        double height = BARS * log1p(histogram[i]) / most, width = (double)EDGE / TN_MAP_BINS;
        tnp_text_add(text, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", MARGIN + (double)i * width,
                     floor_y - height, width, height);
    }
    tnp_text_add(text, "</g>\n<text x=\"%d\" y=\"%d\">entries, logarithmic</text>\n", MARGIN, floor_y + 20);
}

static void add_frame(tnp_text *text)
{
    tnp_text_add(text, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#000\"/>\n", MARGIN,
                 MARGIN, EDGE, EDGE);
    tnp_text_add(text, "<text x=\"%d\" y=\"%d\">0</text>\n<text x=\"%d\" y=\"%d\">x = 1</text>\n", MARGIN - 14,
                 MARGIN + EDGE + 14, MARGIN + EDGE - 20, MARGIN + EDGE + 16);
    tnp_text_add(text, "<text x=\"%d\" y=\"%d\">y = 1</text>\n", 4, MARGIN + 5);
}

/* The name as text of XML, which knows no control characters. */
static void add_title(tnp_text *text, const tn_map *map, const char *name)
{
    tnp_text_add(text, "<text x=\"%d\" y=\"24\" font-size=\"15\">", MARGIN);
    char piece[12];
    for (size_t n; (n = tn_plain_char(name, piece)) != 0; name += n)
        if (strchr("<&>", *piece))
            tnp_text_add(text, "&#%d;", *piece);
        else
            tnp_text_raw(text, piece);
    tnp_text_add(text, ": k(x, y), %s</text>\n", tn_map_name(map));
}

tn_status tn_map_picture_save(tn_ctx *ctx, const tn_map *map, const char *name, const char *path)
{
    tn_status st = TN_OK;
    const double *histogram = tn_map_made_of(map)->histogram;
    int width = 2 * MARGIN + EDGE, height = MARGIN + EDGE + GAP + (histogram ? BARS + GAP : 0);
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(
        &text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        width, height, width, height);
    add_title(&text, map, name);
    TN_TRY(add_cells(ctx, &text, map));
    add_frame(&text);
    if (histogram)
        add_bars(&text, histogram);
    tnp_text_add(&text, "</svg>\n");
    TN_TRY(tnp_text_save(&text, path));
done:
    tnp_text_destroy(&text);
    return st;
}
