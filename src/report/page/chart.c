/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Charts as SVG, and the picture of a confusion matrix as PNG: a cell per pixel, for a rectangle per cell makes a page
 * of 1000 classes that no browser opens. The PNG has a palette of two colours in 15 strengths of opacity, so that it
 * looks right on light and on dark paper. */
#include "report/page/chart.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

enum { WIDTH = 640, NAMES = 190, ROW = 22, HEIGHT = 300, LEFT = 60, BOTTOM = 40, TOP = 12, RIGHT = 16 };

/* ---- bars ---- */

static double place_x(double value, double from, double to)
{
    return NAMES + (value - from) / (to - from) * (WIDTH - NAMES - 70);
}

static void add_bar(tnp_text *html, const tnp_bar *bar, double y, double from, double to)
{
    char shown[32];
    double zero = fmin(fmax(0, from), to), a = place_x(fmin(bar->value, zero), from, to),
           b = place_x(fmax(bar->value, zero), from, to), end = b;
    tnp_text_add(html, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">", NAMES - 8, y + 15);
    tnp_html_short(html, bar->name, 26);
    tnp_text_add(html, "</text><rect class=\"%s\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"16\"><title>",
                 bar->best ? "best" : "bar", a, y + 3, fmax(b - a, 1));
    tnp_html_text(html, bar->name);
    tnp_text_raw(html, ": ");
    tnp_html_number(html, bar->value);
    tnp_text_raw(html, "</title></rect>");
    if (!isnan(bar->low)) {
        double low = place_x(bar->low, from, to), high = place_x(bar->high, from, to);
        tnp_text_add(html, "<path class=\"whisker\" d=\"M%.1f %.0fH%.1fM%.1f %.0fv8M%.1f %.0fv8\"/>", low, y + 11, high,
                     low, y + 7, high, y + 7);
        end = fmax(end, high);
    }
    tnp_format(shown, sizeof shown, "%.1f", end + 6);
    tnp_text_add(html, "<text x=\"%s\" y=\"%.0f\">", shown, y + 15);
    tnp_html_number(html, bar->value);
    tnp_text_raw(html, "</text>");
}

void tnp_chart_bars(tnp_text *html, const char *label, const tnp_bar *bars, size_t count, double from, double to)
{
    tnp_text_add(html, "<figure><svg role=\"img\" viewBox=\"0 0 %d %zu\" width=\"%d\" aria-label=\"%s\">", WIDTH,
                 count * ROW + 4, WIDTH, label);
    for (size_t i = 0; i < count; ++i)
        add_bar(html, &bars[i], (double)(i * ROW), from, to);
    tnp_text_add(html, "</svg><figcaption>%s</figcaption></figure>\n", label);
}

/* ---- plots ---- */

void tnp_range_add(double *low, double *high, double value)
{
    if (isfinite(value)) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

void tnp_range_tidy(double *low, double *high)
{
    if (!(*low <= *high))
        *low = *high = 0;
    double pad = *high > *low ? 0.04 * (*high - *low) : fmax(1e-6, 0.05 * fabs(*high));
    *low -= pad;
    *high += pad;
}

static double at_x(const tnp_plot *p, double x)
{
    return LEFT + (x - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const tnp_plot *p, double y)
{
    return HEIGHT - BOTTOM - (y - p->y0) / (p->y1 - p->y0) * (HEIGHT - BOTTOM - TOP);
}

void tnp_plot_begin(tnp_plot *p, const char *label, const char *x, const char *y)
{
    tnp_text *html = p->html;
    tnp_text_add(html, "<figure><svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" aria-label=\"%s\">", WIDTH, HEIGHT,
                 WIDTH, label);
    tnp_text_add(html, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
    for (int i = 0; i <= 4; ++i) {
        double u = p->x0 + (p->x1 - p->x0) * i / 4, v = p->y0 + (p->y1 - p->y0) * i / 4;
        tnp_text_add(html, "<text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g</text>", at_x(p, u),
                     HEIGHT - BOTTOM + 16, fabs(u) < 1e-9 * (p->x1 - p->x0) ? 0 : u);
        tnp_text_add(html, "<text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>", LEFT - 6,
                     at_y(p, v) + 4, fabs(v) < 1e-9 * (p->y1 - p->y0) ? 0 : v);
    }
    tnp_text_add(html, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>", (WIDTH + LEFT) / 2, HEIGHT - 6, x);
    tnp_text_add(html, "<text transform=\"translate(13 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>", HEIGHT / 2,
                 y);
}

void tnp_plot_line(const tnp_plot *p, const char *style, const double *x, const double *y, size_t count)
{
    bool open = false;
    tnp_text_add(p->html, "<path class=\"%s\" d=\"", style);
    for (size_t i = 0; i < count; ++i) {
        bool there = isfinite(x[i]) && isfinite(y[i]);
        if (there)
            tnp_text_add(p->html, "%c%.1f %.1f", open ? 'L' : 'M', at_x(p, x[i]), at_y(p, y[i]));
        open = there;
    }
    tnp_text_raw(p->html, "\"/>");
}

void tnp_plot_dot(const tnp_plot *p, const char *style, double x, double y, const char *title)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    tnp_text_add(p->html, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>", style, at_x(p, x),
                 at_y(p, y));
    tnp_html_text(p->html, title);
    tnp_text_raw(p->html, "</title></circle>");
}

void tnp_plot_column(const tnp_plot *p, const char *style, double x0, double x1, double y)
{
    if (!isfinite(y))
        return;
    double zero = at_y(p, fmax(p->y0, 0)), top = at_y(p, y);
    tnp_text_add(p->html, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", style,
                 at_x(p, x0) + 1, fmin(top, zero), fmax(at_x(p, x1) - at_x(p, x0) - 2, 1), fabs(zero - top));
}

void tnp_plot_end(const tnp_plot *p, const char *caption)
{
    tnp_text_add(p->html, "</svg><figcaption>%s</figcaption></figure>\n", caption);
}

/* ---- PNG ---- */

enum { LEVELS = 15, COLOURS = 2 * LEVELS + 1 };

static void put32(unsigned char *out, unsigned long value)
{
    for (int i = 0; i < 4; ++i)
        out[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Length, kind, bytes, checksum. */
static size_t put_chunk(unsigned char *out, const char *kind, const unsigned char *bytes, size_t size)
{
    put32(out, size);
    memcpy(out + 4, kind, 4);
    if (size)
        memcpy(out + 8, bytes, size);
    put32(out + 8 + size, crc32(0, out + 4, (uInt)size + 4));
    return size + 12;
}

static size_t put_header(unsigned char *out, size_t size)
{
    static const unsigned char magic[] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10};
    unsigned char header[13] = {0}, colours[3 * COLOURS] = {0}, opacity[COLOURS] = {0};
    size_t at = sizeof magic;
    memcpy(out, magic, sizeof magic);
    put32(header, size);
    put32(header + 4, size);
    header[8] = 8;
    header[9] = 3;
    for (size_t i = 1; i < COLOURS; ++i) {
        const unsigned char right[] = {0x2a, 0x7f, 0xd4}, wrong[] = {0xe0, 0x48, 0x3e};
        size_t level = (i - 1) % LEVELS + 1;
        memcpy(colours + 3 * i, i <= LEVELS ? right : wrong, 3);
        opacity[i] = (unsigned char)(40 + level * 215 / LEVELS);
    }
    at += put_chunk(out + at, "IHDR", header, sizeof header);
    at += put_chunk(out + at, "PLTE", colours, sizeof colours);
    return at + put_chunk(out + at, "tRNS", opacity, sizeof opacity);
}

tn_status tnp_chart_png(tn_ctx *ctx, tnp_text *html, const unsigned char *places, size_t size)
{
    tn_status st = TN_OK;
    unsigned char *lines = NULL, *packed = NULL, *png = NULL;
    size_t raw = 0;
    TN_TRY(tnp_mul(ctx, size, size + 1, &raw));
    uLong bound = compressBound((uLong)raw), length = bound;
    TN_TRY(tnp_alloc(ctx, raw, 1, &lines)); /* every line begins with its filter, none */
    TN_TRY(tnp_alloc_raw(ctx, bound, 1, &packed));
    TN_TRY(tnp_alloc_raw(ctx, bound + 512, 1, &png));
    for (size_t i = 0; i < size; ++i)
        memcpy(lines + i * (size + 1) + 1, places + i * size, size);
    if (compress2(packed, &length, lines, (uLong)raw, 9) != Z_OK)
        TN_TRY(tnp_fail(ctx, TN_ERR_MEMORY, "report: a picture of %zu classes could not be packed", size));
    size_t at = put_header(png, size);
    at += put_chunk(png + at, "IDAT", packed, length);
    at += put_chunk(png + at, "IEND", NULL, 0);
    tnp_text_raw(html, "data:image/png;base64,");
    tnp_html_base64(html, png, at);
done:
    tnp_free_all(lines, packed, png);
    return st;
}
