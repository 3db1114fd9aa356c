/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spatial pyramids (Lazebnik, Schmid, Ponce, CVPR 2006). A level of R x C has cells [i/R, (i+1)/R) x [j/C, (j+1)/C); 3x1
 * is three stripes one above the other. Sums over cells come from sums over atoms, so that a descriptor is assigned once,
 * however many levels there are. */
#include "encode/pyramid.h"

#include <math.h>
#include <string.h>

/* Adds the edges of n equal parts; keeps them ascending and distinct. */
static size_t add_edges(double *edges, size_t count, size_t n)
{
    for (size_t i = 0; i <= n; ++i) {
        double edge = (double)i / (double)n;
        size_t at = 0;
        while (at < count && edges[at] < edge - 1e-9)
            ++at;
        if (at < count && edges[at] < edge + 1e-9)
            continue;
        memmove(edges + at + 1, edges + at, (count - at) * sizeof *edges);
        edges[at] = edge;
        ++count;
    }
    return count;
}

static const char *read_number(const char *text, size_t *out)
{
    size_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value < 100; ++at)
        value = 10 * value + (size_t)(*at - '0');
    *out = value;
    return at != text && value >= 1 && value <= 8 ? at : NULL;
}

static tn_status refuse(tn_ctx *ctx, const char *text)
{
    return tnp_fail(ctx, TN_ERR_ARG,
                    "option pyramid: got '%.60s', expected up to %d levels ROWSxCOLUMNS of 1 to 8: 1x1,2x2,3x1", text,
                    TNP_MOST_LEVELS);
}

tn_status tnp_pyramid_parse(tn_ctx *ctx, const char *text, tnp_pyramid *out)
{
    tnp_pyramid made = {.levels = 0};
    const char *at = text;
    size_t edges_x = 0, edges_y = 0;
    if (strlen(text) >= sizeof made.text)
        return refuse(ctx, text);
    strcpy(made.text, text);
    for (;;) {
        size_t level = made.levels;
        if (level == TNP_MOST_LEVELS || !(at = read_number(at, &made.rows[level])) || *at != 'x' ||
            !(at = read_number(at + 1, &made.columns[level])))
            return refuse(ctx, text);
        made.cells += made.rows[level] * made.columns[level];
        edges_y = add_edges(made.y, edges_y, made.rows[level]);
        edges_x = add_edges(made.x, edges_x, made.columns[level]);
        ++made.levels;
        if (!*at)
            break;
        if (*at++ != ',')
            return refuse(ctx, text);
    }
    if (made.cells > TNP_MOST_CELLS)
        return refuse(ctx, text);
    made.across = edges_x - 1;
    made.down = edges_y - 1;
    *out = made;
    return TN_OK;
}

static size_t part_of(const double *edges, size_t count, double at)
{
    size_t i = 0;
    while (i + 1 < count && !(at < edges[i + 1] - 1e-9))
        ++i;
    return i;
}

size_t tnp_pyramid_atom(const tnp_pyramid *p, double x, double y)
{
    return part_of(p->y, p->down, y) * p->across + part_of(p->x, p->across, x);
}

bool tnp_pyramid_holds(const tnp_pyramid *p, size_t cell, size_t atom)
{
    size_t level = 0, i = atom % p->across, j = atom / p->across;
    while (cell >= p->rows[level] * p->columns[level]) {
        cell -= p->rows[level] * p->columns[level];
        ++level;
    }
    double x = 0.5 * (p->x[i] + p->x[i + 1]) * (double)p->columns[level];
    double y = 0.5 * (p->y[j] + p->y[j + 1]) * (double)p->rows[level];
    return (size_t)y == cell / p->columns[level] && (size_t)x == cell % p->columns[level];
}
