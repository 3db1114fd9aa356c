/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options by name. The values lie in one struct, where the code that uses them reads them by member; beside every field
 * the object keeps the value as text, whatever the value owns, and whether it was set on purpose: what nobody asked for
 * may be of no use, what somebody did may not. */
#include "base/options.h"
#include "base/text.h"

#include <string.h>

typedef struct option {
    const tn_field *field;
    const char *title;
    void *member;
    char *text;    /* the value */
    void *owned;   /* what the member points to: a text, or a list of numbers */
    char *methods; /* that have a use for it, as people read them; NULL: all have */
    unsigned use;  /* their bit; 0: all */
    bool given;
} option;

struct tn_options {
    const tnp_options_kind *kind;
    void *values;
    size_t count;
    option *items;
};

static const option *find(const tn_options *options, const char *name)
{
    for (size_t i = 0; i < options->count; ++i)
        if (strcmp(options->items[i].field->name, name) == 0)
            return &options->items[i];
    return NULL;
}

static tn_status find_to_set(tn_ctx *ctx, tn_options *options, const char *name, option **out)
{
    *out = (option *)(uintptr_t)find(options, name);
    return *out ? TN_OK
                : tnp_fail(ctx, TN_ERR_ARG, "options of %s: there is none called '%s'", options->kind->name, name);
}

/* ---- which methods have a use for an option ---- */

enum { MANY = 6 }; /* methods of a family that are told by the first and the last */

/* The methods of `bit`, a family of many that all have it as "perceptron to scw2". */
static tn_status name_methods(tn_ctx *ctx, const tnp_options_kind *kind, unsigned bit, char **out)
{
    tnp_text text;
    const tnp_method_uses *m = NULL;
    bool first = true;
    tnp_text_init(&text, ctx);
    for (size_t i = 0; (m = kind->method(i)); ++i) {
        if (!(m->uses & bit))
            continue;
        size_t last = i;
        for (const tnp_method_uses *n; (n = kind->method(last + 1)) && n->family == m->family && (n->uses & bit);)
            ++last;
        tnp_text_add(&text, "%s%s", first ? "" : ", ", m->word);
        first = false;
        if (last + 1 - i >= MANY) {
            tnp_text_add(&text, " to %s", kind->method(last)->word);
            i = last;
        }
    }
    return tnp_text_take(&text, out);
}

static const tnp_use *use_of(const tnp_options_kind *kind, const char *name)
{
    for (size_t i = 0; i < kind->use_count; ++i)
        if (tnp_find_choice(kind->uses[i].options, name) >= 0)
            return &kind->uses[i];
    return NULL;
}

static tn_status find_use(tn_ctx *ctx, const tnp_options_kind *kind, option *o)
{
    const tnp_use *use = use_of(kind, o->field->name);
    if (!use)
        return TN_OK;
    o->use = use->bit;
    return use->text ? tnp_strdup(ctx, use->text, &o->methods) : name_methods(ctx, kind, use->bit, &o->methods);
}

/* Whether the method that an option names has a use for another; before: words that stand before the methods. */
static bool method_uses(const tn_options *options, const option *method, size_t before, unsigned use)
{
    int index = 0;
    memcpy(&index, method->member, sizeof index);
    return (size_t)index >= before && (options->kind->method((size_t)index - before)->uses & use) != 0;
}

/* Of use to one of the methods that the call compares, or to its only one. */
static bool is_of_use(const tn_options *options, const option *o)
{
    const option *method = o->use ? find(options, "method") : NULL, *against = find(options, "against");
    return !method || method_uses(options, method, 0, o->use) || (against && method_uses(options, against, 1, o->use));
}

/* ---- the object ---- */

/* The field of a value that lies by itself. */
static tn_field alone(const option *o)
{
    tn_field field = *o->field;
    field.offset = 0;
    return field;
}

static bool is_left_out(const tn_options *options, const char *name)
{
    const char *without = options->kind->without;
    return find(options, name) || (without && tnp_find_choice(without, name) >= 0);
}

tn_status tnp_options_new(tn_ctx *ctx, const tnp_options_kind *kind, tn_options **out)
{
    tn_status st = TN_OK;
    tn_options *o = NULL;
    size_t total = 0, count = 0;
    for (const tnp_options_table *t = kind->tables; t->title; ++t, total += count)
        (void)t->fields(&count);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *o, &o));
    o->kind = kind;
    TN_TRY(tnp_alloc(ctx, 1, kind->size, &o->values));
    kind->defaults(o->values);
    TN_TRY(tnp_alloc(ctx, total, sizeof *o->items, &o->items));
    for (const tnp_options_table *t = kind->tables; t->title; ++t) {
        const tn_field *fields = t->fields(&count);
        for (size_t i = 0; i < count; ++i) {
            if (is_left_out(o, fields[i].name))
                continue;
            option *item = &o->items[o->count++];
            item->field = &fields[i];
            item->title = t->title;
            item->member = (char *)o->values + t->offset + fields[i].offset;
            const tn_field value = alone(item);
            TN_TRY(tnp_field_value(ctx, &value, item->member, &item->text));
            if ((size_t)(t - kind->tables) >= kind->own)
                TN_TRY(find_use(ctx, kind, item));
        }
    }
    *out = o;
    o = NULL;
done:
    tn_options_free(o);
    return st;
}

void tn_options_free(tn_options *options)
{
    if (!options)
        return;
    for (size_t i = 0; i < options->count; ++i)
        tnp_free_all(options->items[i].text, options->items[i].owned, options->items[i].methods);
    tnp_free_all(options->items, options->values, options);
}

/* ---- asking ---- */

size_t tn_options_count(const tn_options *options)
{
    return options->count;
}

const tn_field *tn_options_field(const tn_options *options, size_t i)
{
    return i < options->count ? options->items[i].field : NULL;
}

const char *tn_options_group(const tn_options *options, const char *name)
{
    const option *o = find(options, name);
    return o ? o->title : NULL;
}

const char *tn_options_methods(const tn_options *options, const char *name)
{
    const option *o = find(options, name);
    return o ? o->methods : NULL;
}

bool tn_options_of_use(const tn_options *options, const char *name)
{
    const option *o = find(options, name);
    return o && is_of_use(options, o);
}

bool tn_options_given(const tn_options *options, const char *name)
{
    const option *o = find(options, name);
    return o && o->given;
}

const char *tn_options_text(const tn_options *options, const char *name)
{
    const option *o = find(options, name);
    return o ? o->text : NULL;
}

bool tn_options_number(const tn_options *options, const char *name, double *value)
{
    const option *o = find(options, name);
    return o && tnp_field_number(o->field, o->member, value);
}

/* ---- setting ---- */

static size_t member_size(tn_field_kind kind)
{
    switch (kind) {
    case TN_FIELD_FLAG:
    case TN_FIELD_YESNO:
        return sizeof(bool);
    case TN_FIELD_CHOICE:
        return sizeof(int);
    case TN_FIELD_TEXT:
        return sizeof(char *);
    case TN_FIELD_REAL:
        return sizeof(double);
    case TN_FIELD_REAL_OR_WORD:
        return sizeof(tnp_real_or_word);
    case TN_FIELD_REALS:
        return sizeof(tnp_reals);
    case TN_FIELD_FEATURES:
        return sizeof(tnp_objects);
    default:
        return sizeof(size_t);
    }
}

/* A value from its text; *owned: what it points to, a copy of a text or a list. */
static tn_status parse(tn_ctx *ctx, const tn_field *field, const char *text, void *value, void **owned)
{
    char *copy = NULL;
    tn_status st = TN_OK;
    if (field->kind == TN_FIELD_REALS)
        return tnp_reals_parse(ctx, field, text, value, owned);
    if (field->kind == TN_FIELD_FLAG && text)
        return tnp_flag_parse(ctx, field, text, value);
    if (field->kind == TN_FIELD_TEXT && text)
        st = tnp_strdup(ctx, text, &copy);
    *owned = copy;
    return st == TN_OK ? tn_field_set(ctx, field, value, copy ? copy : text) : st;
}

/* Everything that can fail is done before anything changes. */
tn_status tn_options_set(tn_ctx *ctx, tn_options *options, const char *name, const char *text)
{
    tn_status st = TN_OK;
    option *o = NULL;
    void *owned = NULL;
    char *shown = NULL;
    union {
        tnp_reals list;
        tnp_real_or_word either;
        size_t whole;
    } value;
    TN_TRY(find_to_set(ctx, options, name, &o));
    const tn_field field = alone(o);
    TN_TRY(parse(ctx, &field, text, &value, &owned));
    TN_TRY(tnp_field_value(ctx, &field, &value, &shown));
    memcpy(o->member, &value, member_size(field.kind));
    tnp_free_all(o->owned, o->text);
    o->owned = owned;
    o->text = shown;
    o->given = true;
    owned = NULL;
done:
    tnp_free(owned);
    return st;
}

tn_status tn_options_set_number(tn_ctx *ctx, tn_options *options, const char *name, double value)
{
    char text[400]; /* whole numbers have up to 309 digits */
    option *o = NULL;
    tn_status st = find_to_set(ctx, options, name, &o);
    if (st != TN_OK)
        return st;
    bool whole =
        o->field->kind == TN_FIELD_INT || o->field->kind == TN_FIELD_INT_OR_WORD || o->field->kind == TN_FIELD_BYTES;
    if (o->field->kind == TN_FIELD_CHOICE || o->field->kind == TN_FIELD_TEXT)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got a number, expected %s", name,
                        o->field->choices ? o->field->choices : "a text");
    tnp_format(text, sizeof text, whole && value == (double)(uint64_t)value ? "%.0f" : "%.17g", value);
    return tn_options_set(ctx, options, name, text);
}

tn_status tn_options_set_flag(tn_ctx *ctx, tn_options *options, const char *name, bool value)
{
    option *o = NULL;
    tn_status st = find_to_set(ctx, options, name, &o);
    if (st != TN_OK)
        return st;
    if (o->field->kind != TN_FIELD_FLAG && o->field->kind != TN_FIELD_YESNO)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got yes or no, expected %s", name,
                        o->field->choices ? o->field->choices : "a number");
    return tn_options_set(ctx, options, name, value ? "yes" : "no");
}

tn_status tn_options_set_numbers(tn_ctx *ctx, tn_options *options, const char *name, const double *values, size_t count)
{
    tnp_text text;
    char *list = NULL;
    tnp_text_init(&text, ctx);
    for (size_t i = 0; i < count; ++i)
        tnp_text_add(&text, "%s%.17g", i ? "," : "", values[i]);
    tn_status st = tnp_text_take(&text, &list);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, name, list);
    tn_text_free(list);
    return st;
}

tn_status tnp_options_set_objects(tn_ctx *ctx, tn_options *options, const char *name, tn_field_kind kind,
                                  const void *const *objects, size_t count)
{
    tn_status st = TN_OK;
    option *o = NULL;
    const void **copy = NULL;
    TN_TRY(find_to_set(ctx, options, name, &o));
    if (o->field->kind != kind)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option %s: got an object, expected %s", name,
                        o->field->choices ? o->field->choices : "a number"));
    TN_TRY(tnp_alloc(ctx, count, sizeof *copy, &copy));
    for (size_t i = 0; i < count; ++i)
        copy[i] = objects[i];
    o->given = count > 0 && copy[0];
    if (kind == TN_FIELD_FEATURES)
        memcpy(o->member, &(tnp_objects){copy, count}, sizeof(tnp_objects));
    else
        memcpy(o->member, copy, sizeof *copy);
    tnp_free(o->owned);
    o->owned = copy;
done:
    return st;
}

const tn_field *tnp_seed_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"seed", TN_FIELD_INT, 0, 0, 9007199254740992.0, "N", "seed of everything random"},
    };
    *count = 1;
    return fields;
}

/* ---- for the call ---- */

tn_status tnp_options_read(tn_ctx *ctx, const tn_options *options, const tnp_options_kind *kind, void *values)
{
    if (!options) {
        kind->defaults(values);
        return TN_OK;
    }
    if (options->kind != kind)
        return tnp_fail(ctx, TN_ERR_ARG, "got options of %s, expected those of %s", options->kind->name, kind->name);
    for (size_t i = 0; i < options->count; ++i) {
        const option *o = &options->items[i];
        if (o->given && !is_of_use(options, o))
            return tnp_fail(ctx, TN_ERR_ARG, "%s is for method %s; got method %s", o->field->name, o->methods,
                            find(options, "method")->text);
    }
    memcpy(values, options->values, kind->size);
    return TN_OK;
}

void tnp_options_reset(const tnp_options_kind *kind, size_t method, const void *defaults, void *values)
{
    size_t count = 0;
    for (const tnp_options_table *t = kind->tables; t->title; ++t) {
        const tn_field *fields = t->fields(&count);
        for (size_t i = 0; i < count; ++i) {
            const tnp_use *use = use_of(kind, fields[i].name);
            size_t at = t->offset + fields[i].offset;
            if (use && !(kind->method(method)->uses & use->bit))
                memcpy((char *)values + at, (const char *)defaults + at, member_size(fields[i].kind));
        }
    }
}
