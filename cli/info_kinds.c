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

/* JSON that a file holds, which is an object: on one line, and what stands in its strings escaped as in strings of our own. */
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
    counted *list = calloc(labels->classes + 1, sizeof *list);
    if (!list)
        return NULL;
    for (size_t k = 0; k < labels->classes; ++k)
        list[k] = (counted){labels->names[k], 0, k};
    for (size_t i = 0; labels->cls && i < labels->first[labels->rows]; ++i)
        ++list[labels->cls[i]].count;
    qsort(list, labels->classes, sizeof *list, largest_first);
    return list;
}

enum { SHOWN = 10 };

static void print_labels(const cli_app *app, FILE *out, const char *path, const tn_labels *labels, const counted *list)
{
    size_t unknown = 0;
    bool counts = labels->task != TN_TASK_REGRESSION;
    for (size_t i = 0; i < labels->rows; ++i)
        unknown += !labels->known[i];
    if (app->options.json) {
        json_text(out, "{path", path);
        json_text(out, "kind", "labels");
        json_text(out, "task", tn_task_name(labels->task));
        fprintf(out, ",\"rows\":%zu,\"unlabelled\":%zu,\"classes\":%zu", labels->rows, unknown, labels->classes);
        fputs(",\"counts\":[", out);
        for (size_t k = 0; counts && k < labels->classes; ++k) {
            fputs(k ? "," : "", out);
            json_text(out, "{class", list[k].name);
            fprintf(out, ",\"count\":%zu}", list[k].count);
        }
        fputs("]}", out);
        return;
    }
    cli_say(out, "%s: labels, %s\n", path, tn_task_name(labels->task));
    cli_say(out, "  rows     %zu, %zu of them unlabelled\n", labels->rows, unknown);
    cli_say(out, "  %s  %zu\n", counts ? "classes" : "outputs", labels->classes);
    for (size_t k = 0; counts && k < labels->classes && k < SHOWN; ++k)
        cli_say(out, "  %7zu  %s\n", list[k].count, list[k].name);
    if (counts && labels->classes > SHOWN)
        cli_say(out, "      ...  %zu classes more, none larger\n", labels->classes - SHOWN);
}

int info_labels(cli_app *app, FILE *out, const char *path)
{
    int code = EXIT_FINE;
    tn_labels *labels = NULL;
    counted *list = NULL;
    CLI_TRY(cli_check(app, tn_labels_open(app->ctx, path, (tn_task)app->options.task, &labels)));
    list = count_classes(labels);
    if (!list)
        CLI_TRY(cli_fail(app, EXIT_FAILED, "memory: the system refused room for %zu classes", labels->classes));
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

/* C of an svm or logistic head, from the options it was made with; NaN for others. */
static double cost_of(const tn_head *head)
{
    const char *method = tn_head_method(head), *found = strstr(tn_head_options(head), "\"C\":\"");
    static const char *const without[] = {"evidence", "ridge-cv", "perceptron", "cw"};
    bool has = true;
    for (size_t i = 0; i < sizeof without / sizeof *without; ++i)
        has &= strcmp(method, without[i]) != 0;
    return has && found ? strtod(found + 5, NULL) : (double)NAN;
}

/* The largest weight of a column: of the second class where there are two, else of the class that leans on it most. */
static double column_weight(const tn_head *head, size_t column, size_t *class)
{
    size_t classes = tn_head_classes(head), dim = tn_head_dim(head);
    const float *w = tn_head_weight(head);
    *class = classes == 2 ? 1 : 0;
    for (size_t k = 0; classes > 2 && k < classes; ++k)
        if (fabsf(w[k * dim + column]) > fabsf(w[*class * dim + column]))
            *class = k;
    return (double)w[*class * dim + column];
}

/* Columns of a transfer head that were picked: all its sources, and the features that have a weight unless most of them do. */
typedef struct picked {
    const tn_head *head;
    size_t features; /* columns before those of the sources */
    bool sparse;
} picked;

/* Only transfer picks columns; its methods may also have picked no source. */
static bool picks_columns(const tn_head *head)
{
    static const char *const methods[] = {"greedytl", "forward", "l1-logistic", "elastic-net", "transfer"};
    bool found = tn_head_source_count(head) > 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i)
        found |= strcmp(tn_head_method(head), methods[i]) == 0;
    return found;
}

static picked picked_of(const tn_head *head)
{
    picked p = {head, tn_head_dim(head) - tn_head_source_count(head), false};
    size_t used = 0, class = 0;
    for (size_t j = 0; j < p.features; ++j)
        used += column_weight(head, j, &class) != 0;
    p.sparse = 2 * used <= p.features;
    return p;
}

static bool is_picked(const picked *p, size_t column)
{
    size_t class = 0;
    return column >= p->features || (p->sparse && column_weight(p->head, column, &class) != 0);
}

/* Name of the representation that has a column, and its number there. */
static const char *feature_of(const tn_head *head, size_t *column)
{
    size_t r = 0;
    tn_rep rep = tn_head_rep(head, 0);
    for (; *column >= rep.cols; rep = tn_head_rep(head, ++r))
        *column -= rep.cols;
    return rep.name;
}

static void picked_json(FILE *out, const tn_head *head)
{
    picked p = picked_of(head);
    const char *comma = "";
    fputs(",\"sources\":[", out);
    for (size_t i = 0; i < tn_head_source_count(head); ++i) {
        tn_head_source features = tn_head_source_at(head, i);
        size_t class = 0;
        double weight = column_weight(head, p.features + i, &class);
        fputs(i ? "," : "", out);
        json_text(out, "{kind", features.is_head ? "head" : "scores");
        json_text(out, "name", features.name);
        json_text(out, "label", features.label);
        fprintf(out, ",\"column\":%zu", features.column);
        json_text(out, "class", tn_head_class_names(head)[class]);
        json_number(out, "weight", weight);
        fputc('}', out);
    }
    fputs("],\"features\":[", out);
    for (size_t j = 0; j < p.features; ++j) {
        size_t class = 0, column = j;
        if (!is_picked(&p, j))
            continue;
        double weight = column_weight(head, j, &class);
        fputs(comma, out);
        json_text(out, "{name", feature_of(head, &column));
        fprintf(out, ",\"column\":%zu", column);
        json_text(out, "class", tn_head_class_names(head)[class]);
        json_number(out, "weight", weight);
        fputc('}', out);
        comma = ",";
    }
    fputc(']', out);
}

/* The picked column of the largest weight after `last`, or of all when that is the number of columns, which is also the answer
 * when there is none; of equals the first. */
static size_t next_picked(const picked *p, size_t last)
{
    size_t count = tn_head_dim(p->head), found = count, class = 0;
    double limit = last < count ? fabs(column_weight(p->head, last, &class)) : INFINITY, most = -1;
    for (size_t j = 0; j < count; ++j) {
        double size = fabs(column_weight(p->head, j, &class));
        if ((size < limit || (size == limit && j > last)) && size > most && is_picked(p, j)) {
            most = size;
            found = j;
        }
    }
    return found;
}

static void picked_line(FILE *out, const picked *p, size_t j)
{
    size_t class = 0;
    double weight = column_weight(p->head, j, &class);
    const char *name = tn_head_class_names(p->head)[class];
    if (j < p->features) {
        const char *rep = feature_of(p->head, &j);
        cli_say(out, "  feature: '%s'[%zu] %.3g for '%s'\n", rep, j, weight, name);
        return;
    }
    tn_head_source features = tn_head_source_at(p->head, j - p->features);
    cli_say(out, "  source: '%s'%s%s%s %.3g for '%s'\n", features.is_head ? features.label : features.name,
            features.is_head ? " of " : "[", features.is_head ? features.name : features.label,
            features.is_head ? "" : "]", weight, name);
}

static void picked_lines(FILE *out, const tn_head *head)
{
    picked p = picked_of(head);
    size_t total = 0, shown = 0, dim = tn_head_dim(head);
    for (size_t j = 0; j < dim; ++j)
        total += is_picked(&p, j);
    for (size_t at = next_picked(&p, dim); at < dim && shown < SHOWN; at = next_picked(&p, at), ++shown)
        picked_line(out, &p, at);
    if (total > SHOWN)
        cli_say(out, "  and %zu more that were picked\n", total - SHOWN);
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

static void head_json(FILE *out, const char *path, const tn_head *head)
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
    if (picks_columns(head))
        picked_json(out, head);
    json_number(out, "lambda_min", low);
    json_number(out, "lambda_max", high);
    json_number(out, "C", cost_of(head));
    json_number(out, "temperature", tn_head_temperature(head) > 0 ? tn_head_temperature(head) : (double)NAN);
    json_number(out, "log_evidence", tn_head_log_evidence(head));
    fputs(",\"options\":", out);
    json_object(out, tn_head_options(head));
    json_text(out, "created_by", tn_head_created_by(head));
    fputc('}', out);
}

static void head_lines(FILE *out, const char *path, const tn_head *head)
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
    if (picks_columns(head))
        picked_lines(out, head);
    if (low < high)
        cli_say(out, "  lambda           %.4g to %.4g\n", low, high);
    else if (!isnan(low))
        cli_say(out, "  lambda           %.4g\n", low);
    if (!isnan(cost_of(head)))
        cli_say(out, "  C                %.4g\n", cost_of(head));
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
    int code = cli_check(app, tn_head_load(app->ctx, path, &head));
    if (code == 0 && app->options.json)
        head_json(out, path, head);
    else if (code == 0)
        head_lines(out, path, head);
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
