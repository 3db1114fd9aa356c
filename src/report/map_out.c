/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels as JSON and for people: how one was learned, what one is, and the table of k(x, y) as CSV. The picture is
 * report/map_picture.c. */
#include "report/cells.h"
#include "tenon/report.h"

#include <math.h>

enum { M = TN_BASIS_SIZE, BINS = TN_MAP_BINS, COARSE = 8, RATES_SHOWN = 12, BAR = 40 };

static const char *basis_name(const tn_map_spec *made)
{
    return made->basis == TN_BASIS_FOURIER ? "fourier" : "scaled-fourier";
}

static const char *sign_name(const tn_map_spec *made)
{
    return made->sign == TN_SIGNED_SPLIT ? "split" : "odd";
}

/* ---- JSON ---- */

/* What the map itself is. */
static void add_map(tnp_text *text, const tn_map *map)
{
    const tn_map_spec *made = tn_map_made_of(map);
    tnp_text_add(text, ",\"rank\":%zu,\"width\":%zu,\"signed\":\"%s\"", made->rank, tn_map_width(map), sign_name(made));
    tnp_text_value(text, "scale", made->scale);
    if (!made->weight)
        return;
    tnp_text_add(text, ",\"basis\":\"%s\"", basis_name(made));
    tnp_text_value(text, "power", made->power);
    tnp_text_add(text, ",\"tasks\":%zu,\"rows\":%zu", made->tasks, made->rows);
    if (made->rates)
        tnp_text_numbers(text, "contributing_rate", made->rates, M);
    if (made->singular_values)
        tnp_text_numbers(text, "singular_values", made->singular_values, M);
    if (made->histogram)
        tnp_text_numbers(text, "histogram", made->histogram, BINS);
}

tn_status tn_map_learn_json(tn_ctx *ctx, const tn_map_info *info, const tn_map *map, const char *kernel, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"kernel learn\"");
    add_map(&text, map);
    tnp_text_add(&text, ",\"wanted_rank\":%zu,\"sets\":%zu,\"functions\":%zu", info->wanted, info->sets,
                 info->functions);
    tnp_text_value(&text, "zeros", info->zeros);
    tnp_text_value(&text, "beyond_scale", info->beyond);
    tnp_text_value(&text, "objective", info->objective);
    tnp_text_value(&text, "gap", info->gap);
    tnp_text_add(&text, ",\"passes\":%zu,\"converged\":%s,\"seconds\":{\"svm\":", info->passes,
                 info->converged ? "true" : "false");
    tnp_text_number(&text, info->svm_seconds);
    tnp_text_value(&text, "svd", info->svd_seconds);
    tnp_text_value(&text, "total", info->seconds);
    tnp_text_add(&text, "},\"kernel\":");
    tnp_text_quote(&text, kernel);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

tn_status tn_map_json(tn_ctx *ctx, const tn_map *map, const char *name, char **out)
{
    double table[COARSE * COARSE];
    tnp_text text;
    tn_status st = tn_map_table(ctx, map, COARSE, table);
    if (st != TN_OK)
        return st;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"kernel show\",\"kernel\":");
    tnp_text_quote(&text, name);
    tnp_text_add(&text, ",\"kind\":\"%s\"", tn_map_name(map));
    add_map(&text, map);
    tnp_text_add(&text, ",\"table\":[");
    for (size_t i = 0; i < COARSE * COARSE; ++i) {
        tnp_text_add(&text, i % COARSE ? "," : i ? "],[" : "[");
        tnp_text_number(&text, table[i]);
    }
    tnp_text_add(&text, "]]}");
    return tnp_text_take(&text, out);
}

/* ---- for people ---- */

static void add_rates(tnp_text *text, const double *rates, size_t rank)
{
    tnp_text_add(text, "rates      ");
    for (size_t i = 0; i < RATES_SHOWN; ++i)
        tnp_text_add(text, " %zu:%.1f%%%s", i + 1, 100 * rates[i], i + 1 == rank ? " |" : "");
    tnp_text_add(text, "\n");
}

/* Entries other than 0, in eighths of the axis. */
static void add_histogram(tnp_text *text, const double *histogram)
{
    double bars[COARSE] = {0}, most = 0, sum = 0;
    for (size_t i = 0; i < BINS; ++i)
        bars[i * COARSE / BINS] += histogram[i];
    for (size_t i = 0; i < COARSE; ++i) {
        most = fmax(most, bars[i]);
        sum += bars[i];
    }
    tnp_text_add(text, "entries other than 0 on the scaled axis\n");
    for (size_t i = 0; sum > 0 && i < COARSE; ++i) {
        tnp_text_add(text, "  %.3f - %.3f %8.4f %%  ", (double)i / COARSE, (double)(i + 1) / COARSE,
                     100 * bars[i] / sum);
        for (size_t j = 0; j < (size_t)ceil(BAR * bars[i] / most); ++j)
            tnp_text_add(text, "#");
        tnp_text_add(text, "\n");
    }
}

/* Relative to the largest size, as whole per cents: a table of eight by eight says the form. */
static tn_status add_table(tn_ctx *ctx, tnp_text *text, const tn_map *map, bool color)
{
    double table[COARSE * COARSE], most = 0;
    tnp_table rows;
    tn_status st = tn_map_table(ctx, map, COARSE, table);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < COARSE * COARSE; ++i)
        most = fmax(most, fabs(table[i]));
    tnp_text_add(text, "k(x, y) in %% of its largest size, %.4g\n", most);
    tnp_table_init(&rows, ctx, "rrrrrrrrr");
    tnp_table_cell(&rows, "x \\ y");
    for (size_t j = 0; j < COARSE; ++j)
        tnp_table_cell(&rows, "%.4f", ((double)j + 0.5) / COARSE);
    for (size_t i = 0; i < COARSE; ++i) {
        tnp_table_cell(&rows, "%.4f", ((double)i + 0.5) / COARSE);
        for (size_t j = 0; j < COARSE; ++j)
            tnp_table_cell(&rows, "%.0f", most > 0 ? 100 * table[i * COARSE + j] / most + 0.0 : 0);
    }
    tnp_table_finish(&rows, text, color);
    return TN_OK;
}

static void add_head(tnp_text *text, const tn_map *map, const char *name, bool color)
{
    const tn_map_spec *made = tn_map_made_of(map);
    tnp_text_strong(text, color, name);
    tnp_text_add(text, ": %s kernel\n", tn_map_name(map));
    tnp_text_add(text, "values      %zu an entry; entries below zero: %s\n", tn_map_width(map), sign_name(made));
    if (!made->weight)
        return;
    tnp_text_add(text, "basis       %s, power %.4g\n", basis_name(made), made->power);
    tnp_text_add(text, "scale       %.6g\n", made->scale);
    tnp_text_add(text, "learned on  %zu rows, %zu tasks\n", made->rows, made->tasks);
    if (made->rates)
        add_rates(text, made->rates, made->rank);
}

tn_status tn_map_text(tn_ctx *ctx, const tn_map *map, const char *name, bool color, char **out)
{
    const tn_map_spec *made = tn_map_made_of(map);
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    add_head(&text, map, name, color);
    if (made->histogram) {
        tnp_text_add(&text, "\n");
        add_histogram(&text, made->histogram);
    }
    tnp_text_add(&text, "\n");
    tn_status st = add_table(ctx, &text, map, color);
    if (st != TN_OK) {
        tnp_text_destroy(&text);
        return st;
    }
    return tnp_text_take(&text, out);
}

tn_status tn_map_learn_text(tn_ctx *ctx, const tn_map_info *info, const tn_map *map, const char *kernel, bool color,
                            char **out)
{
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    add_head(&text, map, kernel, color);
    if (info->rank < info->wanted)
        tnp_text_add(&text, "rank        %zu values were wanted, the data hold no more than %zu\n", info->wanted,
                     info->rank);
    tnp_text_add(&text, "entries     %.1f %% are 0, %.2g %% are beyond the scale and taken for it\n", 100 * info->zeros,
                 100 * info->beyond);
    tnp_text_add(&text, "machines    objective %.6g, certainly within %.2g of its optimum%s\n", info->objective,
                 info->gap, info->converged ? "" : "; stopped by option max-passes");
    tnp_text_add(&text, "seconds     %.2f: machines %.2f, decomposition %.3f\n", info->seconds, info->svm_seconds,
                 info->svd_seconds);
    return tnp_text_take(&text, out);
}

/* ---- CSV ---- */

tn_status tn_map_csv_save(tn_ctx *ctx, const tn_map *map, const char *path)
{
    tn_status st = TN_OK;
    double *table = NULL;
    tnp_text text;
    tnp_text_init(&text, ctx);
    TN_TRY(tnp_alloc_raw(ctx, (size_t)BINS * BINS, sizeof *table, &table));
    TN_TRY(tn_map_table(ctx, map, BINS, table));
    tnp_text_add(&text, "x");
    for (size_t j = 0; j < BINS; ++j)
        tnp_text_add(&text, ",%.9g", ((double)j + 0.5) / BINS);
    for (size_t i = 0; i < (size_t)BINS * BINS; ++i) {
        if (i % BINS == 0)
            tnp_text_add(&text, "\n%.9g", ((double)(i / BINS) + 0.5) / BINS);
        tnp_text_add(&text, ",%.9g", table[i]);
    }
    tnp_text_add(&text, "\n");
    TN_TRY(tnp_text_save(&text, path));
done:
    tnp_text_destroy(&text);
    tnp_free(table);
    return st;
}
