/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels that can hardly be meant, looked at before a training. A file is read as it stands, and most mistakes in one
 * still make classes: identifiers before the names, values instead of classes, a header line. What cannot be meant is
 * an error; what may be is a warning that says what was understood and what to give instead. --task, given on purpose,
 * settles what it can settle.
 *
 *   error     names are numbers and some have a fraction; every name is "identifier,label"; one word above nothing but
 *             numbers
 *   warning   (nearly) as many classes as rows, all labelled; a first line that reads like a header; classes of one
 *             row; the largest class UNEVEN times the smallest; a 0/1 table that has one 1 in every row
 *
 * UNEVEN = 20: there the smaller class is below 5 % of the two, and a classifier that never says it is right 95 % of
 * the time. */
#include "read/labels/labels.h"
#include "read/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNEVEN = 20 };

/* Rows of the classes. */
typedef struct tally {
    const tn_labels *labels;
    size_t *count;        /* classes */
    size_t rows;          /* labelled */
    size_t used, singles; /* classes that have rows, and one row */
    size_t least, most;   /* of those that have: the classes with the fewest and with the most rows */
} tally;

static tn_status take(tn_ctx *ctx, const tn_labels *labels, tally *t)
{
    tn_status st = tnp_alloc(ctx, labels->classes, sizeof *t->count, &t->count);
    if (st != TN_OK)
        return st;
    for (size_t row = 0; row < labels->rows; ++row)
        t->rows += labels->known[row];
    for (size_t i = 0; i < labels->first[labels->rows]; ++i)
        ++t->count[labels->cls[i]];
    for (size_t k = 0; k < labels->classes; ++k) {
        if (t->count[k] == 0)
            continue;
        if (t->used == 0 || t->count[k] < t->count[t->least])
            t->least = k;
        if (t->used == 0 || t->count[k] > t->count[t->most])
            t->most = k;
        ++t->used;
        t->singles += t->count[k] == 1;
    }
    return TN_OK;
}

static tnp_span name_of(const tally *t, size_t k)
{
    return (tnp_span){t->labels->names[k], strlen(t->labels->names[k])};
}

static bool is_number(tnp_span name, double *value)
{
    return tnp_number(name, value) && isfinite(*value);
}

/* ---- errors ---- */

static tn_status check_fractions(tn_ctx *ctx, const tally *t)
{
    size_t fraction = SIZE_MAX;
    for (size_t k = 0; k < t->labels->classes; ++k) {
        double value = 0;
        if (!is_number(name_of(t, k), &value))
            return TN_OK;
        if (value != floor(value) && fraction == SIZE_MAX)
            fraction = k;
    }
    if (fraction == SIZE_MAX)
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_DATA,
                    "%s: the labels are numbers, and %s has a fraction: give option task regression for values, option "
                    "task multiclass "
                    "for names of classes",
                    t->labels->path, t->labels->names[fraction]);
}

/* The class of row 0, when no other row has it; else SIZE_MAX. */
static size_t first_alone(const tn_labels *labels)
{
    if (labels->first[1] != 1)
        return SIZE_MAX;
    for (size_t i = 1; i < labels->first[labels->rows]; ++i)
        if (labels->cls[i] == labels->cls[0])
            return SIZE_MAX;
    return labels->cls[0];
}

static tn_status check_header(tn_ctx *ctx, const tally *t)
{
    size_t first = first_alone(t->labels);
    double value = 0;
    if (first == SIZE_MAX || t->used < 3 || is_number(name_of(t, first), &value))
        return TN_OK;
    for (size_t k = 0; k < t->labels->classes; ++k)
        if (k != first && !is_number(name_of(t, k), &value))
            return TN_OK;
    return tnp_fail(
        ctx, TN_ERR_DATA,
        "%s: '%.60s' stands above nothing but numbers and looks like a header: remove the line, or give option task "
        "multiclass if it is a class",
        t->labels->path, t->labels->names[first]);
}

/* What stands behind the last `mark`; length 0 when there is none, or nothing before it. */
static tnp_span tail_of(tnp_span name, char mark)
{
    size_t i = name.length;
    while (i > 0 && name.text[i - 1] != mark)
        --i;
    return i < 2 ? (tnp_span){name.text, 0} : tnp_trim((tnp_span){name.text + i, name.length - i});
}

/* A blank stands in many honest names: before it there must be what only a path has. */
static bool has_identifier(tnp_span name, char mark)
{
    size_t length = (size_t)((const char *)memchr(name.text, mark, name.length) - name.text);
    return mark != ' ' || memchr(name.text, '.', length) || memchr(name.text, '/', length);
}

static int compare_spans(const void *a, const void *b)
{
    return tnp_span_compare(*(const tnp_span *)a, *(const tnp_span *)b);
}

/* Every name is "identifier MARK label", and labels repeat though names do not. */
static tn_status has_identifiers(tn_ctx *ctx, const tally *t, char mark, bool *out)
{
    tn_status st = TN_OK;
    size_t distinct = 0, n = t->labels->classes;
    tnp_span *tails = NULL;
    *out = false;
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *tails, &tails));
    for (size_t k = 0; k < n; ++k) {
        tails[k] = tail_of(name_of(t, k), mark);
        if (tails[k].length == 0 || !has_identifier(name_of(t, k), mark))
            goto done;
    }
    qsort(tails, n, sizeof *tails, compare_spans);
    for (size_t k = 0; k < n; ++k)
        distinct += k == 0 || tnp_span_compare(tails[k - 1], tails[k]) != 0;
    *out = 2 * distinct <= n;
done:
    tnp_free(tails);
    return st;
}

static tn_status check_identifiers(tn_ctx *ctx, const tally *t)
{
    enum { FEWEST = 4 };
    static const char marks[] = ",; ";
    for (size_t m = 0; t->used == t->rows && t->rows >= FEWEST && marks[m]; ++m) {
        bool found = false;
        tn_status st = has_identifiers(ctx, t, marks[m], &found);
        if (st != TN_OK)
            return st;
        if (found)
            return tnp_fail(
                ctx, TN_ERR_DATA,
                "%s: every row is a class of its own, such as '%.60s', which looks like an identifier and a "
                "label: put a tab between them, or give the labels alone",
                t->labels->path, t->labels->names[0]);
    }
    return TN_OK;
}

/* ---- warnings ---- */

const char *tnp_labels_header(const tn_labels *labels)
{
    static const char *const words[] = {"label",  "labels",  "class",    "classes",    "class_name", "classname",
                                        "target", "targets", "category", "categories", "name",       "y"};
    size_t first = labels->task == TN_TASK_REGRESSION ? SIZE_MAX : first_alone(labels);
    for (size_t i = 0; first != SIZE_MAX && i < sizeof words / sizeof *words; ++i) {
        const char *a = labels->names[first], *b = words[i];
        while (*a && *b && (*a == *b || (*a >= 'A' && *a <= 'Z' && *a - 'A' + 'a' == *b))) {
            ++a;
            ++b;
        }
        if (!*a && !*b)
            return labels->names[first];
    }
    return NULL;
}

static void warn_of_rows(tn_ctx *ctx, const tally *t, bool balanced)
{
    const tn_labels *labels = t->labels;
    const char *path = labels->path;
    /* Who left rows without a label has chosen those that have one. */
    bool chosen = t->rows < labels->rows;
    if (labels->task == TN_TASK_MULTICLASS && !chosen && 10 * t->used >= 9 * t->rows && t->rows > 2) {
        tnp_warn(ctx,
                 "%s: %zu classes in %zu rows: %s row is a class of its own; values need option task regression, "
                 "identifiers a tab "
                 "before the label",
                 path, t->used, t->rows, t->used == t->rows ? "every" : "nearly every");
        return;
    }
    if (t->singles != 0)
        tnp_warn(ctx, "%s: %zu of %zu classes have one row only, '%.60s' is one: nothing is left to check them by",
                 path, t->singles, t->used, labels->names[t->least]);
    if (labels->task == TN_TASK_MULTICLASS && !balanced && t->count[t->most] > UNEVEN * t->count[t->least])
        tnp_warn(
            ctx,
            "%s: classes are uneven, '%.60s' has %zu rows and '%.60s' %zu; training with option class-weight balanced "
            "counts them alike",
            path, labels->names[t->most], t->count[t->most], labels->names[t->least], t->count[t->least]);
}

static void warn_of_one_hot(tn_ctx *ctx, const tally *t)
{
    const tn_labels *labels = t->labels;
    for (size_t row = 0; row < labels->rows; ++row)
        if (labels->known[row] && labels->first[row + 1] - labels->first[row] != 1)
            return;
    if (labels->classes > 1)
        tnp_warn(
            ctx,
            "%s: every row has one of the %zu classes, but is taken as multi-label, where each class is learned by "
            "itself; give option task multiclass for one class a row",
            labels->path, labels->classes);
}

tn_status tn_labels_judge(tn_ctx *ctx, const tn_labels *labels, tn_task asked, bool balanced)
{
    tn_status st = TN_OK;
    tally t = {.labels = labels};
    if (labels->task == TN_TASK_REGRESSION)
        return TN_OK;
    TN_TRY(take(ctx, labels, &t));
    if (labels->task == TN_TASK_MULTICLASS) {
        TN_TRY(check_identifiers(ctx, &t));
        if (asked == TN_TASK_AUTO)
            TN_TRY(check_fractions(ctx, &t));
        if (asked == TN_TASK_AUTO)
            TN_TRY(check_header(ctx, &t));
    }
    const char *header = tnp_labels_header(labels);
    if (labels->task == TN_TASK_MULTILABEL && asked == TN_TASK_AUTO)
        warn_of_one_hot(ctx, &t);
    if (header)
        tnp_warn(ctx, "%s: its first row, '%.60s', is taken for a class; remove it if it is a header", labels->path,
                 header);
    else
        warn_of_rows(ctx, &t, balanced);
done:
    tnp_free(t.count);
    return st;
}
