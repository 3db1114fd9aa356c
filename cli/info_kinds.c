/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon info, kind by kind: a representation is read once for its norms, labels are counted, a head, a quantiser and a
 * kernel are quoted. */
#include "info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void json_text(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%s\"%s\":", *key == '{' ? "{" : ",", *key == '{' ? key + 1 : key);
    cli_json_string(out, value);
}

static void json_number(FILE *out, const char *key, double value)
{
    fprintf(out, ",\"%s\":", key);
    cli_json_number(out, value);
}

/* JSON that a file holds, which is an object: on one line, and what stands in its strings escaped as in strings of our
 * own. */
static void json_object(FILE *out, const char *text)
{
    char piece[12];
    for (size_t n; (n = tn_json_char(text, piece)) != 0; text += n)
        if (strchr("\n\t\r", *text))
            fputc(' ', out);
        else if (strchr("\"\\", *text))
            fputc(*text, out);
        else
            fputs(piece, out);
}

/* ---- a representation ---- */

typedef struct figures {
    size_t rows, finite, first_bad, zeros, values;
    double least, most, sum; /* of the norms of the finite rows */
} figures;

/* The norm of a finite row whose squares are no doubles, or zeros. */
static double norm_of(const double *row, size_t cols)
{
    double most = 0, squares = 0;
    for (size_t j = 0; j < cols; ++j)
        most = fmax(most, fabs(row[j]));
    for (size_t j = 0; j < cols && most > 0; ++j)
        squares += row[j] / most * (row[j] / most);
    return most * sqrt(squares);
}

static void add_row(figures *f, const double *row, size_t cols)
{
    double squares = 0;
    bool finite = true;
    size_t zeros = 0;
    for (size_t j = 0; j < cols; ++j) {
        finite = finite && isfinite(row[j]);
        zeros += row[j] == 0;
        squares += row[j] * row[j];
    }
    f->zeros += zeros;
    f->values += cols;
    if (finite) {
        double norm = squares > 1e-290 && squares < 1e290 ? sqrt(squares) : norm_of(row, cols);
        f->least = f->finite ? fmin(f->least, norm) : norm;
        f->most = f->finite ? fmax(f->most, norm) : norm;
        f->sum += norm;
        ++f->finite;
    } else if (f->rows == f->finite) {
        f->first_bad = f->rows;
    }
    ++f->rows;
}

static int read_figures(cli_app *app, const tn_features *features, figures *f)
{
    int code = EXIT_FINE;
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features);
    size_t block = ((size_t)1 << 20) / (cols ? cols : 1) + 1;
    double *buffer = malloc((block < rows ? block : rows) * cols * sizeof *buffer + 1);
    if (!buffer)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu columns", cols));
    for (size_t start = 0; start < rows; start += block) {
        size_t count = rows - start < block ? rows - start : block;
        CLI_TRY(cli_check(app, tn_features_read_wide(app->ctx, features, NULL, start, count, 0, cols, buffer)));
        for (size_t i = 0; i < count; ++i)
            add_row(f, buffer + i * cols, cols);
    }
done:
    free(buffer);
    return code;
}

static void source_json(FILE *out, const tn_features *features, const figures *f)
{
    json_text(out, "{path", tn_features_path(features));
    json_text(out, "kind", "representation");
    json_text(out, "name", tn_features_name(features));
    json_text(out, "format", tn_features_format(features));
    json_text(out, "dtype", tn_dtype_name(tn_features_dtype(features)));
    fprintf(out, ",\"rows\":%zu,\"cols\":%zu,\"bad_rows\":%zu,\"first_bad_row\":", f->rows, tn_features_cols(features),
            f->rows - f->finite);
    if (f->finite < f->rows)
        fprintf(out, "%zu", f->first_bad);
    else
        fputs("null", out);
    json_number(out, "norm_min", f->finite ? f->least : NAN);
    json_number(out, "norm_mean", f->finite ? f->sum / (double)f->finite : NAN);
    json_number(out, "norm_max", f->finite ? f->most : NAN);
    json_number(out, "zero_share", f->values ? (double)f->zeros / (double)f->values : NAN);
    fputc('}', out);
}

static void source_lines(FILE *out, const tn_features *features, const figures *f)
{
    cli_say(out, "%s: representation %s\n", tn_features_path(features), tn_features_name(features));
    if (strcmp(tn_features_format(features), "codes") == 0)
        cli_say(out, "  format  codes of a product quantiser, decoded to float32 as they are read\n");
    else
        cli_say(out, "  format  %s, %s\n", tn_features_format(features), tn_dtype_name(tn_features_dtype(features)));
    cli_say(out, "  shape   %zu rows x %zu columns\n", f->rows, tn_features_cols(features));
    if (f->finite == f->rows)
        cli_say(out, "  finite  every row\n");
    else
        cli_say(out, "  finite  no: rows with NaN or infinity: %zu, the first is row %zu\n", f->rows - f->finite,
                f->first_bad);
    if (f->finite)
        cli_say(out, "  norms   %.4g to %.4g, mean %.4g\n", f->least, f->most, f->sum / (double)f->finite);
    if (f->values)
        cli_say(out, "  zeros   %.1f %%\n", 100 * (double)f->zeros / (double)f->values);
}

int info_features(cli_app *app, FILE *out, const tn_features *features)
{
    figures f = {0};
    int code = read_figures(app, features, &f);
    if (code == 0 && app->options.json)
        source_json(out, features, &f);
    else if (code == 0)
        source_lines(out, features, &f);
    return code;
}

/* ---- labels ---- */

typedef struct counted {
    const char *name;
    size_t count, index;
} counted;

static int largest_first(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static counted *count_classes(const tn_labels *labels)
{
    size_t classes = tn_labels_classes(labels), count = 0;
    counted *list = calloc(classes + 1, sizeof *list);
    if (!list)
        return NULL;
    for (size_t k = 0; k < classes; ++k)
        list[k] = (counted){tn_labels_class_names(labels)[k], 0, k};
    for (size_t row = 0; row < tn_labels_rows(labels); ++row) {
        const uint32_t *own = tn_labels_of(labels, row, &count);
        for (size_t i = 0; i < count; ++i)
            ++list[own[i]].count;
    }
    qsort(list, classes, sizeof *list, largest_first);
    return list;
}

enum { SHOWN = 10 };

static void print_labels(const cli_app *app, FILE *out, const char *path, const tn_labels *labels, const counted *list)
{
    size_t unknown = 0, rows = tn_labels_rows(labels), classes = tn_labels_classes(labels);
    const char *task = tn_task_name(tn_labels_task(labels));
    bool counts = tn_labels_task(labels) != TN_TASK_REGRESSION;
    for (size_t i = 0; i < rows; ++i)
        unknown += !tn_labels_known(labels, i);
    if (app->options.json) {
        json_text(out, "{path", path);
        json_text(out, "kind", "labels");
        json_text(out, "task", task);
        fprintf(out, ",\"rows\":%zu,\"unlabelled\":%zu,\"classes\":%zu", rows, unknown, classes);
        fputs(",\"counts\":[", out);
        for (size_t k = 0; counts && k < classes; ++k) {
            fputs(k ? "," : "", out);
            json_text(out, "{class", list[k].name);
            fprintf(out, ",\"count\":%zu}", list[k].count);
        }
        fputs("]}", out);
        return;
    }
    cli_say(out, "%s: labels, %s\n", path, task);
    cli_say(out, "  rows     %zu, %zu of them unlabelled\n", rows, unknown);
    cli_say(out, "  %s  %zu\n", counts ? "classes" : "outputs", classes);
    for (size_t k = 0; counts && k < classes && k < SHOWN; ++k)
        cli_say(out, "  %7zu  %s\n", list[k].count, list[k].name);
    if (counts && classes > SHOWN)
        cli_say(out, "      ...  %zu classes more, none larger\n", classes - SHOWN);
}

int info_labels(cli_app *app, FILE *out, const char *path)
{
    int code = EXIT_FINE;
    tn_labels *labels = NULL;
    counted *list = NULL;
    CLI_TRY(cli_check(app, tn_labels_open(app->ctx, path, (tn_task)app->options.task, &labels)));
    list = count_classes(labels);
    if (!list)
        CLI_TRY(
            cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu classes", tn_labels_classes(labels)));
    print_labels(app, out, path, labels, list);
done:
    free(list);
    tn_labels_free(labels);
    return code;
}

/* ---- a head ---- */

static void lambda_range(const tn_head *head, double *low, double *high)
{
    const double *lambda = tn_head_lambda(head);
    *low = *high = NAN;
    for (size_t k = 0; lambda && k < tn_head_classes(head); ++k)
        if (isfinite(lambda[k])) {
            *low = fmin(*low, lambda[k]);
            *high = fmax(*high, lambda[k]);
        }
}

/* Columns that a transfer picked. */
typedef struct picked {
    tn_head_pick *list;
    size_t count;
} picked;

static int largest_weight_first(const void *a, const void *b)
{
    const tn_head_pick *x = a, *y = b;
    if (fabs(x->weight) != fabs(y->weight))
        return fabs(x->weight) < fabs(y->weight) ? 1 : -1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static void picked_json(FILE *out, const tn_head *head, const picked *p)
{
    for (int sources = 1; sources >= 0; --sources) {
        const char *comma = "";
        fprintf(out, ",\"%s\":[", sources ? "sources" : "features");
        for (size_t i = 0; i < p->count; ++i) {
            const tn_head_pick *pick = &p->list[i];
            if ((pick->source != SIZE_MAX) != (sources == 1))
                continue;
            fputs(comma, out);
            comma = ",";
            if (sources) {
                tn_head_source source = tn_head_source_at(head, pick->source);
                json_text(out, "{kind", source.is_head ? "head" : "scores");
                json_text(out, "name", pick->name);
                json_text(out, "label", source.label);
            } else {
                json_text(out, "{name", pick->name);
            }
            fprintf(out, ",\"column\":%zu", pick->place);
            json_text(out, "class", tn_head_class_names(head)[pick->cls]);
            json_number(out, "weight", pick->weight);
            fputc('}', out);
        }
        fputc(']', out);
    }
}

static void picked_line(FILE *out, const tn_head *head, const tn_head_pick *pick)
{
    const char *class = tn_head_class_names(head)[pick->cls];
    if (pick->source == SIZE_MAX) {
        cli_say(out, "  feature: '%s'[%zu] %.3g for '%s'\n", pick->name, pick->place, pick->weight, class);
        return;
    }
    tn_head_source source = tn_head_source_at(head, pick->source);
    cli_say(out, "  source: '%s'%s%s%s %.3g for '%s'\n", source.is_head ? source.label : source.name,
            source.is_head ? " of " : "[", source.is_head ? source.name : source.label, source.is_head ? "" : "]",
            pick->weight, class);
}

static void picked_lines(FILE *out, const tn_head *head, const picked *p)
{
    qsort(p->list, p->count, sizeof *p->list, largest_weight_first);
    for (size_t i = 0; i < p->count && i < SHOWN; ++i)
        picked_line(out, head, &p->list[i]);
    if (p->count > SHOWN)
        cli_say(out, "  and %zu more that were picked\n", p->count - SHOWN);
}

/* Columns [from, from + count) of a head that have a centre. */
static size_t centred(const tn_head *head, size_t from, size_t count)
{
    const double *centre = tn_head_centre(head);
    size_t n = 0;
    for (size_t j = from; centre && j < from + count; ++j)
        n += centre[j] != 0;
    return n;
}

static void head_json(FILE *out, const char *path, const tn_head *head, const picked *p)
{
    double low = 0, high = 0;
    lambda_range(head, &low, &high);
    json_text(out, "{path", path);
    json_text(out, "kind", "head");
    json_text(out, "task", tn_task_name(tn_head_task(head)));
    json_text(out, "method", tn_head_method(head));
    fputs(",\"classes\":[", out);
    for (size_t k = 0; k < tn_head_classes(head); ++k) {
        fputs(k ? "," : "", out);
        cli_json_string(out, tn_head_class_names(head)[k]);
    }
    fprintf(out, "],\"dim\":%zu,\"representations\":[", tn_head_dim(head));
    for (size_t i = 0, at = 0; i < tn_head_rep_count(head); ++i) {
        tn_rep rep = tn_head_rep(head, i);
        size_t moved = centred(head, at, rep.cols);
        at += rep.cols;
        fputs(i ? "," : "", out);
        json_text(out, "{name", rep.name);
        fprintf(out, ",\"dim\":%zu", rep.dim);
        json_text(out, "normalize", tn_normalize_name(rep.normalize));
        json_text(out, "transform", rep.transform);
        if (rep.map)
            fprintf(out, ",\"width\":%zu", tn_map_width(rep.map));
        if (moved)
            fprintf(out, ",\"centred\":%zu", moved);
        fputc('}', out);
    }
    fputc(']', out);
    if (tn_head_is_transfer(head))
        picked_json(out, head, p);
    json_number(out, "lambda_min", low);
    json_number(out, "lambda_max", high);
    json_number(out, "C", tn_head_cost(head));
    json_number(out, "temperature", tn_head_temperature(head) > 0 ? tn_head_temperature(head) : (double)NAN);
    json_number(out, "log_evidence", tn_head_log_evidence(head));
    fputs(",\"options\":", out);
    json_object(out, tn_head_options(head));
    json_text(out, "created_by", tn_head_created_by(head));
    fputc('}', out);
}

static void head_lines(FILE *out, const char *path, const tn_head *head, const picked *p)
{
    double low = 0, high = 0;
    lambda_range(head, &low, &high);
    cli_say(out, "%s: head, %s\n", path, tn_task_name(tn_head_task(head)));
    cli_say(out, "  method           %s\n", tn_head_method(head));
    cli_say(out, "  classes          %zu:", tn_head_classes(head));
    for (size_t k = 0; k < tn_head_classes(head) && k < SHOWN; ++k)
        cli_say(out, " %s", tn_head_class_names(head)[k]);
    cli_say(out, "%s\n", tn_head_classes(head) > SHOWN ? " ..." : "");
    for (size_t i = 0, at = 0; i < tn_head_rep_count(head); ++i) {
        tn_rep rep = tn_head_rep(head, i);
        size_t moved = centred(head, at, rep.cols);
        at += rep.cols;
        cli_say(out, "  %s  %s, %zu columns, ", i ? "               " : "representations", rep.name, rep.dim);
        if (rep.map)
            cli_say(out, "%zu through %s, ", rep.cols, rep.transform);
        cli_say(out, "normalised %s", tn_normalize_name(rep.normalize));
        if (moved)
            cli_say(out, ", %zu columns far from zero and centred", moved);
        cli_say(out, "\n");
    }
    picked_lines(out, head, p);
    if (low < high)
        cli_say(out, "  lambda           %.4g to %.4g\n", low, high);
    else if (!isnan(low))
        cli_say(out, "  lambda           %.4g\n", low);
    if (!isnan(tn_head_cost(head)))
        cli_say(out, "  C                %.4g\n", tn_head_cost(head));
    if (tn_head_thresholds(head))
        cli_say(out, "  thresholds       one per class\n");
    if (tn_head_temperature(head) > 0)
        cli_say(out, "  probabilities    yes, temperature %.4g\n", tn_head_temperature(head));
    else if (tn_head_task(head) != TN_TASK_REGRESSION)
        cli_say(out, "  probabilities    no; see fit --calibrate\n");
    if (!isnan(tn_head_log_evidence(head)))
        cli_say(out, "  log evidence     %.2f\n", tn_head_log_evidence(head));
    cli_say(out, "  options          %s\n", tn_head_options(head));
    cli_say(out, "  created by       %s\n", tn_head_created_by(head));
}

int info_head(cli_app *app, FILE *out, const char *path)
{
    tn_head *head = NULL;
    picked p = {NULL, 0};
    int code = cli_check(app, tn_head_load(app->ctx, path, &head));
    if (code == 0)
        code = cli_check(app, tn_head_picks(app->ctx, head, &p.list, &p.count));
    if (code == 0 && app->options.json)
        head_json(out, path, head, &p);
    else if (code == 0)
        head_lines(out, path, head, &p);
    tn_head_picks_free(p.list);
    tn_head_free(head);
    return code;
}

/* ---- a product quantiser ---- */

int info_pq(cli_app *app, FILE *out, const char *path)
{
    tn_pq *pq = NULL;
    int code = cli_check(app, tn_pq_load(app->ctx, path, &pq));
    if (code != 0)
        return code;
    size_t dim = tn_pq_dim(pq), sub = tn_pq_sub(pq), groups = tn_pq_groups(pq), centroids = tn_pq_centroids(pq);
    if (app->options.json) {
        json_text(out, "{path", path);
        json_text(out, "kind", "quantiser");
        fprintf(out, ",\"dim\":%zu,\"sub\":%zu,\"groups\":%zu,\"centroids\":%zu}", dim, sub, groups, centroids);
    } else {
        cli_say(out, "%s: product quantiser\n", path);
        cli_say(out, "  columns    %zu, %zu a code\n", dim, sub);
        cli_say(out, "  codes      %zu bytes per row, %.4g times smaller than float32\n", groups,
                (double)(4 * dim) / (double)groups);
        cli_say(out, "  centroids  %zu a code\n", centroids);
    }
    tn_pq_free(pq);
    return EXIT_FINE;
}

/* ---- moments ---- */

static void moments_json(FILE *out, const char *path, const tn_tally *t)
{
    json_text(out, "{path", path);
    json_text(out, "kind", "moments");
    json_text(out, "task", tn_task_name(tn_tally_task(t)));
    fprintf(out, ",\"rows\":%zu,\"rows_left_out\":%zu,\"folds\":%zu,\"classes\":[", tn_tally_rows(t),
            tn_tally_left_out(t), tn_tally_folds(t));
    for (size_t k = 0; k < tn_tally_classes(t); ++k) {
        fputs(k ? "," : "", out);
        cli_json_string(out, tn_tally_class_names(t)[k]);
    }
    fputs("],\"representations\":[", out);
    for (size_t r = 0; r < tn_tally_rep_count(t); ++r) {
        tn_rep rep = tn_tally_rep(t, r);
        json_text(out, r ? ",{name" : "{name", rep.name);
        fprintf(out, ",\"dim\":%zu,\"columns\":%zu", rep.dim, rep.cols);
        json_text(out, "normalize", tn_normalize_name(rep.normalize));
        json_text(out, "transform", rep.transform);
        fputs("}", out);
    }
    fputs("],\"inputs\":[", out);
    for (size_t i = 0; i < tn_tally_input_count(t); ++i) {
        tn_tally_input in = tn_tally_input_at(t, i);
        json_text(out, i ? ",{path" : "{path", in.path);
        json_text(out, "id", in.id);
        fprintf(out, ",\"from\":%zu,\"to\":%zu,\"used\":%zu}", in.from, in.to, in.used);
    }
    fputs("]}", out);
}

static void moments_lines(FILE *out, const char *path, const tn_tally *t)
{
    cli_say(out, "%s: moments, %s\n", path, tn_task_name(tn_tally_task(t)));
    cli_say(out, "  rows       %zu, and %zu left out\n", tn_tally_rows(t), tn_tally_left_out(t));
    cli_say(out, "  classes    %zu\n", tn_tally_classes(t));
    if (tn_tally_folds(t) > 1)
        cli_say(out, "  folds      %zu\n", tn_tally_folds(t));
    for (size_t r = 0; r < tn_tally_rep_count(t); ++r) {
        tn_rep rep = tn_tally_rep(t, r);
        cli_say(out, "  %-9s  %s: %zu columns, normalize %s, transform %s\n", r ? "" : "features", rep.name, rep.dim,
                tn_normalize_name(rep.normalize), rep.transform);
    }
    size_t count = tn_tally_input_count(t);
    for (size_t i = 0; i < count && i < SHOWN; ++i) {
        tn_tally_input in = tn_tally_input_at(t, i);
        cli_say(out, "  %-9s  %s rows %zu to %zu, %zu of them\n", i ? "" : "inputs", in.path, in.from, in.to, in.used);
    }
    if (count > SHOWN)
        cli_say(out, "             and %zu more\n", count - SHOWN);
}

int info_moments(cli_app *app, FILE *out, const char *path)
{
    tn_tally *tally = NULL;
    int code = cli_check(app, tn_tally_load(app->ctx, path, &tally));
    if (code != 0)
        return code;
    (app->options.json ? moments_json : moments_lines)(out, path, tally);
    tn_tally_free(tally);
    return EXIT_FINE;
}

/* ---- a kernel ---- */

int info_kernel(cli_app *app, FILE *out, const char *path)
{
    tn_map *map = NULL;
    int code = cli_check(app, tn_map_load(app->ctx, path, &map));
    if (code != 0)
        return code;
    const tn_map_spec *made = tn_map_made_of(map);
    const char *basis = made->basis == TN_BASIS_FOURIER ? "fourier" : "scaled-fourier";
    const char *sign = made->sign == TN_SIGNED_SPLIT ? "split" : "odd";
    double rate = made->rates ? made->rates[made->rank - 1] : (double)NAN;
    if (app->options.json) {
        json_text(out, "{path", path);
        json_text(out, "kind", "kernel");
        json_text(out, "basis", basis);
        json_text(out, "signed", sign);
        fprintf(out, ",\"rank\":%zu", made->rank);
        json_number(out, "scale", made->scale);
        json_number(out, "power", made->power);
        json_number(out, "contributing_rate", rate);
        fprintf(out, ",\"tasks\":%zu,\"rows\":%zu}", made->tasks, made->rows);
    } else {
        cli_say(out, "%s: kernel, %s basis\n", path, basis);
        cli_say(out, "  values      %zu an entry; entries below zero: %s\n", tn_map_width(map), sign);
        cli_say(out, "  scale       %.6g, power %.4g\n", made->scale, made->power);
        if (!isnan(rate))
            cli_say(out, "  rate        %.1f %% of the machines' weights\n", 100 * rate);
        cli_say(out, "  learned on  %zu rows, %zu tasks\n", made->rows, made->tasks);
    }
    tn_map_free(map);
    return EXIT_FINE;
}
