/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options by name: what a call can be told, described by a kind, and the object that holds what it was told. A kind has
 * tables of fields that lie in one struct of values, and says which options go with which methods. The object owns its
 * texts and lists, so that callers may forget theirs. */
#ifndef TNP_OPTIONS_H
#define TNP_OPTIONS_H

#include "base/base.h"

/* Fields under one heading, and where their struct begins within the values. */
typedef struct tnp_options_table {
    const char *title; /* NULL ends a list */
    const tn_field *(*fields)(size_t *count);
    size_t offset;
} tnp_options_table;

/* A word of the option `method`, and of `against`, where "none" stands before them: its family, and the options that it
 * has a use for (bits of tnp_use). */
typedef struct tnp_method_uses {
    const char *word;
    int family;
    unsigned uses;
} tnp_method_uses;

/* Options that not every method has a use for. */
typedef struct tnp_use {
    unsigned bit;
    const char *options; /* joined by | */
    const char *text;    /* the methods as people read them; NULL: made from their words */
} tnp_use;

typedef struct tnp_options_kind {
    const char *name;
    size_t size; /* of the values */
    void (*defaults)(void *values);
    const tnp_options_table *tables;
    const tnp_use *uses;
    size_t use_count;
    const tnp_method_uses *(*method)(size_t i); /* NULL behind the last; no function: all options are for every call */
    /* Fields of the tables that are no options of this call, joined by |; NULL: none. Of two fields with one name the
     * first is the option: a call can have another's tables behind its own. */
    const char *without;
    size_t own; /* tables, the first ones, whose options are for every method */
} tnp_options_kind;

/* An object of this kind with its defaults. Owned by the caller, free with tn_options_free. */
tn_status tnp_options_new(tn_ctx *ctx, const tnp_options_kind *kind, tn_options **out);
/* The values into *values (kind->size bytes): the defaults when options is NULL. Texts and lists in them are borrowed
 * from the options. TN_ERR_ARG for options of another kind, and for one that was set though the method has no use for
 * it. */
tn_status tnp_options_read(tn_ctx *ctx, const tn_options *options, const tnp_options_kind *kind, void *values);
/* Values of options that the method (its place in the table) has no use for become those of `defaults`; both are of
 * this kind. */
void tnp_options_reset(const tnp_options_kind *kind, size_t method, const void *defaults, void *values);
/* Objects of the caller for a field of the kind: its member is a pointer, that of TN_FIELD_FEATURES a tnp_objects,
 * whose list is copied. None, or one that is NULL, takes back what was set. */
typedef struct tnp_objects {
    const void *const *items;
    size_t count;
} tnp_objects;
tn_status tnp_options_set_objects(tn_ctx *ctx, tn_options *options, const char *name, tn_field_kind kind,
                                  const void *const *objects, size_t count);

/* The one field of a seed, at the beginning of its table. */
const tn_field *tnp_seed_fields(size_t *count);

#endif
