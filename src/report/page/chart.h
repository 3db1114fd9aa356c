/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Charts as SVG, coloured by the page's style sheet only. Every figure of a chart stands in a table beside it: the label
 * says what the picture shows, and where names come from files they are escaped here. */
#ifndef TNP_CHART_H
#define TNP_CHART_H

#include "report/page/html.h"

typedef struct tnp_bar {
    const char *name;
    double value, low, high; /* low, high: ends of the whisker; NaN: none */
    bool best;
} tnp_bar;

/* Horizontal bars from `from` to `to`, which hold all ends. */
void tnp_chart_bars(tnp_text *html, const char *label, const tnp_bar *bars, size_t count, double from, double to);

/* Axes from (0, 0) to (1, 1) of the data range, into which lines, dots and bars are drawn between begin and end. */
typedef struct tnp_plot {
    tnp_text *html;
    double x0, x1, y0, y1; /* the range; x1 > x0, y1 > y0 */
} tnp_plot;

void tnp_plot_begin(tnp_plot *plot, const char *label, const char *x, const char *y);
void tnp_plot_line(const tnp_plot *plot, const char *style, const double *x, const double *y, size_t count);
/* title: shown where the pointer rests; escaped. */
void tnp_plot_dot(const tnp_plot *plot, const char *style, double x, double y, const char *title);
void tnp_plot_column(const tnp_plot *plot, const char *style, double x0, double x1, double y);
/* caption: ours. */
void tnp_plot_end(const tnp_plot *plot, const char *caption);

/* A range that holds `value` too; start with x0 = INFINITY, x1 = -INFINITY. tidy makes it wider than nothing. */
void tnp_range_add(double *low, double *high, double value);
void tnp_range_tidy(double *low, double *high);

/* Picture of size * size places as a PNG of a palette: 0 nothing, 1 .. 15 right, 16 .. 30 wrong, fainter and stronger,
 * in a data: address. TN_ERR_MEMORY. */
tn_status tnp_chart_png(tn_ctx *ctx, tnp_text *html, const unsigned char *places, size_t size);

#endif
