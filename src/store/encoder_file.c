/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders as files; the layout is described in docs/formats.md.
 *
 *   tensors    fisher: weights (K), means (K x d), variances (K x d); others: words (K x d); where there is a projection
 *              mean (D) and basis (p x D); all F32. d = p, or D without a projection, and 2 more with places
 *   metadata   format = tenon-encoder, version, kind, norm, dim (D), pyramid, neighbours, places (scale of x and y; 0:
 *              none), descriptor ("" for bags), step, sides, contrast, pixels, side, largest, created_by; network, what a
 *              head remembers of one, where it makes the bags
 *
 * Everything that is needed to encode, and nothing else: what training was told is in created_by. Sizes of tensors are
 * those of each other, so that none is taken on trust. */
#include "encode/encoder.h"
#include "store/store.h"
#include "tenon/store.h"

#include <math.h>
#include <string.h>

enum { TENSORS = 5, NUMBER = 32, SIDES = 128 };

static const char format_name[] = "tenon-encoder", format_version[] = "1", in_memory[] = "encoder in memory";
static const char *const kinds[] = {"fisher", "vlad", "bovw", "llc"};
static const char *const norms[] = {NULL, "root", "intra", "l2", "raw"};

/* ---- saving ---- */

static size_t list_tensors(const tn_encoder *e, tnp_tensor *out)
{
    size_t k = tn_encoder_words(e), n = 0;
    if (e->kind == TNP_FISHER) {
        out[n++] = (tnp_tensor){"weights", TN_F32, {k, 0}, 1, e->mixture.weights};
        out[n++] = (tnp_tensor){"means", TN_F32, {k, e->dim}, 2, e->mixture.means};
        out[n++] = (tnp_tensor){"variances", TN_F32, {k, e->dim}, 2, e->mixture.variances};
    } else {
        out[n++] = (tnp_tensor){"words", TN_F32, {k, e->dim}, 2, e->words.centres};
    }
    if (e->projection.to) {
        out[n++] = (tnp_tensor){"mean", TN_F32, {e->from, 0}, 1, e->projection.mean};
        out[n++] = (tnp_tensor){"basis", TN_F32, {e->projection.to, e->from}, 2, e->projection.basis};
    }
    return n;
}

/* Numbers as texts, which the list of metadata points to. */
typedef struct texts {
    char dim[NUMBER], neighbours[NUMBER], places[NUMBER], step[NUMBER], pixels[NUMBER], side[NUMBER], largest[NUMBER];
    char sides[SIDES];
} texts;

static void write_texts(const tn_encoder *e, texts *t)
{
    size_t used = 0;
    snprintf(t->dim, NUMBER, "%zu", e->from);
    snprintf(t->neighbours, NUMBER, "%zu", e->neighbours);
    tnp_format(t->places, NUMBER, "%.9g", e->places ? (double)e->place_scale : 0);
    snprintf(t->step, NUMBER, "%zu", e->describer.step);
    snprintf(t->pixels, NUMBER, "%zu", e->picture.pixels);
    snprintf(t->side, NUMBER, "%zu", e->picture.side);
    snprintf(t->largest, NUMBER, "%zu", e->picture.largest);
    t->sides[0] = 0;
    for (size_t i = 0; i < e->describer.side_count; ++i)
        used += (size_t)snprintf(t->sides + used, SIDES - used, "%s%zu", i ? "," : "", e->describer.sides[i]);
}

static tn_status put(tn_ctx *ctx, const tn_encoder *e, const char *command, const tnp_store_to *to)
{
    tn_status st = TN_OK;
    tnp_tensor tensors[TENSORS];
    texts t;
    char *created = NULL;
    size_t count = list_tensors(e, tensors);
    const char *descriptor = tn_encoder_descriptor(e);
    write_texts(e, &t);
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    const tnp_meta meta[] = {{"format", format_name},
                             {"version", format_version},
                             {"kind", kinds[e->kind]},
                             {"norm", norms[e->norm]},
                             {"dim", t.dim},
                             {"pyramid", e->pyramid.text},
                             {"neighbours", t.neighbours},
                             {"places", t.places},
                             {"descriptor", descriptor ? descriptor : ""},
                             {"step", t.step},
                             {"sides", t.sides},
                             {"contrast", e->describer.contrast ? "yes" : "no"},
                             {"pixels", t.pixels},
                             {"side", t.side},
                             {"largest", t.largest},
                             {"created_by", created},
                             {"network", e->network}}; /* last, because few have one */
    size_t metas = sizeof meta / sizeof *meta - !e->network;
    TN_TRY(tnp_store_write(ctx, to, meta, metas, tensors, count));
done:
    tn_text_free(created);
    return st;
}

tn_status tn_encoder_save(tn_ctx *ctx, const tn_encoder *encoder, const char *command, const char *path)
{
    return put(ctx, encoder, command, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_encoder_to_bytes(tn_ctx *ctx, const tn_encoder *encoder, const char *command, void **bytes, size_t *size)
{
    return put(ctx, encoder, command, &(tnp_store_to){in_memory, bytes, size});
}

/* ---- loading ---- */

typedef struct reading {
    tn_ctx *ctx;
    const tnp_safetensors *file;
    const char *path;
} reading;

static tn_status bad(const reading *r, const char *key, const char *expected)
{
    const char *value = tnp_safetensors_meta(r->file, key);
    return tnp_fail(r->ctx, TN_ERR_FORMAT, "%s: its %s is '%.40s', expected %s", r->path, key,
                    value ? value : "missing", expected);
}

static tn_status read_word(const reading *r, const char *key, const char *const *words, int first, int count, int *out)
{
    const char *value = tnp_safetensors_meta(r->file, key);
    for (*out = first; *out < count; ++*out)
        if (value && strcmp(value, words[*out]) == 0)
            return TN_OK;
    return bad(r, key, "one of its words");
}

static tn_status read_whole(const reading *r, const char *key, size_t least, size_t most, size_t *out)
{
    const char *value = tnp_safetensors_meta(r->file, key);
    if (!value || !tnp_digits(value, out) || *out < least || *out > most)
        return bad(r, key, "a whole number of its range");
    return TN_OK;
}

static tn_status read_sides(const reading *r, tnp_describer *d)
{
    const char *at = tnp_safetensors_meta(r->file, "sides");
    while (at && *at && d->side_count < TNP_MOST_SIZES) {
        size_t side = 0, digits = 0;
        for (; at[digits] >= '0' && at[digits] <= '9' && side <= 1024; ++digits)
            side = 10 * side + (size_t)(at[digits] - '0');
        if (digits == 0 || side < 8 || side > 1024)
            break;
        d->sides[d->side_count++] = side;
        at += digits;
        if (*at == ',')
            ++at;
    }
    return at && !*at && d->side_count != 0 ? TN_OK : bad(r, "sides", "1 to 16 whole numbers from 8 to 1024");
}

/* How pictures become bags, of an encoder that knows. */
static tn_status read_describer(const reading *r, tn_encoder *e)
{
    tn_status st = TN_OK;
    const char *name = tnp_safetensors_meta(r->file, "descriptor"),
               *contrast = tnp_safetensors_meta(r->file, "contrast");
    if (!name)
        return bad(r, "descriptor", "a descriptor, or nothing");
    if (!*name)
        return TN_OK;
    for (size_t i = 0; tnp_descriptor_at(i); ++i)
        if (strcmp(tnp_descriptor_at(i)->name, name) == 0)
            e->describer.kind = tnp_descriptor_at(i);
    if (!e->describer.kind)
        return bad(r, "descriptor", "sift, rootsift, csift, lbp or gist");
    TN_TRY(read_whole(r, "step", 1, 1024, &e->describer.step));
    TN_TRY(read_sides(r, &e->describer));
    if (!contrast || (strcmp(contrast, "yes") != 0 && strcmp(contrast, "no") != 0))
        TN_TRY(bad(r, "contrast", "yes or no"));
    e->describer.contrast = strcmp(contrast, "yes") == 0;
    TN_TRY(read_whole(r, "pixels", 0, (size_t)1 << 40, &e->picture.pixels));
    TN_TRY(read_whole(r, "side", 0, (size_t)1 << 30, &e->picture.side));
    TN_TRY(read_whole(r, "largest", 1, (size_t)1 << 40, &e->picture.largest));
    if (e->describer.kind->dim != e->from)
        TN_TRY(tnp_fail(r->ctx, TN_ERR_FORMAT, "%s: its dim is %zu, but %s has %zu values", r->path, e->from, name,
                        e->describer.kind->dim));
done:
    return st;
}

static tn_status read_meta(const reading *r, tn_encoder *e)
{
    tn_status st = TN_OK;
    int kind = 0, norm = 0;
    double scale = 0;
    const char *pyramid = tnp_safetensors_meta(r->file, "pyramid"), *places = tnp_safetensors_meta(r->file, "places");
    TN_TRY(read_word(r, "kind", kinds, 0, 4, &kind));
    TN_TRY(read_word(r, "norm", norms, 1, 5, &norm));
    e->kind = (tnp_encoder_kind)kind;
    e->norm = (tnp_encoder_norm)norm;
    TN_TRY(read_whole(r, "dim", 1, TNP_MAX_COLUMNS, &e->from));
    TN_TRY(read_whole(r, "neighbours", 1, TNP_MOST_NEAREST, &e->neighbours));
    if (!pyramid || tnp_pyramid_parse(r->ctx, pyramid, &e->pyramid) != TN_OK)
        TN_TRY(bad(r, "pyramid", "ROWSxCOLUMNS,... as 1x1,2x2"));
    if (!places || !tnp_number((tnp_span){places, strlen(places)}, &scale) || !(scale >= 0 && scale < 1e30))
        TN_TRY(bad(r, "places", "a number from 0 up"));
    e->places = scale > 0;
    e->place_scale = (float)scale;
    TN_TRY(read_describer(r, e));
    const char *network = tnp_safetensors_meta(r->file, "network");
    if (network && e->describer.kind)
        TN_TRY(bad(r, "network", "none, for it describes pictures itself"));
    if (network)
        TN_TRY(tnp_strdup(r->ctx, network, &e->network));
done:
    return st;
}

/* Rows of a matrix of so many columns, told by its own shape. */
static tn_status find_rows(const reading *r, const char *name, size_t cols, size_t *rows)
{
    tnp_array a;
    char shape[TNP_SHAPE_TEXT];
    tn_status st = tnp_safetensors_find(r->ctx, r->file, name, &a);
    if (st != TN_OK)
        return st;
    if (a.ndim != 2 || a.shape[0] == 0 || a.shape[1] != cols)
        return tnp_fail(r->ctx, TN_ERR_FORMAT, "%s: '%s' is %s, expected (rows, %zu)", r->path, name,
                        tnp_shape_text(&a, shape), cols);
    *rows = a.shape[0];
    return TN_OK;
}

static tn_status read_projection(const reading *r, tn_encoder *e)
{
    tn_status st = TN_OK;
    tnp_projection *p = &e->projection;
    size_t to = 0;
    e->dim = e->from;
    if (tnp_safetensors_has(r->file, "basis")) {
        TN_TRY(find_rows(r, "basis", e->from, &to));
        p->from = e->from;
        TN_TRY(tnp_alloc_raw(r->ctx, e->from, sizeof *p->mean, &p->mean));
        TN_TRY(tnp_alloc_raw(r->ctx, to * e->from, sizeof *p->basis, &p->basis));
        TN_TRY(tnp_safetensors_values(r->ctx, r->file, "mean", e->from, 0, TNP_FINITE, p->mean, NULL));
        TN_TRY(tnp_safetensors_values(r->ctx, r->file, "basis", to, e->from, TNP_FINITE, p->basis, NULL));
        e->dim = p->to = to;
    }
    e->dim += e->places ? 2 : 0;
done:
    return st;
}

static tn_status read_mixture(const reading *r, tn_encoder *e)
{
    tn_status st = TN_OK;
    tnp_mixture *m = &e->mixture;
    size_t count = 0, d = e->dim;
    TN_TRY(find_rows(r, "means", d, &count));
    TN_TRY(tnp_mixture_new(r->ctx, count, d, m));
    TN_TRY(tnp_safetensors_values(r->ctx, r->file, "weights", count, 0, TNP_FINITE, m->weights, NULL));
    TN_TRY(tnp_safetensors_values(r->ctx, r->file, "means", count, d, TNP_FINITE, m->means, NULL));
    TN_TRY(tnp_safetensors_values(r->ctx, r->file, "variances", count, d, TNP_FINITE, m->variances, NULL));
    for (size_t k = 0; k < count; ++k)
        if (!(m->weights[k] > 0 && m->weights[k] <= 1.0001F))
            TN_TRY(tnp_fail(r->ctx, TN_ERR_FORMAT, "%s: 'weights' holds %g, expected numbers above 0 up to 1", r->path,
                            (double)m->weights[k]));
    for (size_t i = 0; i < count * d; ++i)
        if (!(m->variances[i] > 1e-35F && m->variances[i] < 1e30F) || fabsf(m->means[i]) > 1e15F)
            TN_TRY(tnp_fail(r->ctx, TN_ERR_FORMAT, "%s: Gaussian %zu has mean %g, variance %g in column %zu", r->path,
                            i / d, (double)m->means[i], (double)m->variances[i], i % d));
    tnp_mixture_ready(m);
done:
    return st;
}

static tn_status read_words(const reading *r, tn_encoder *e)
{
    tn_status st = TN_OK;
    size_t count = 0;
    TN_TRY(find_rows(r, "words", e->dim, &count));
    if (count > UINT32_MAX)
        TN_TRY(tnp_fail(r->ctx, TN_ERR_UNSUPPORTED, "%s: %zu words", r->path, count));
    TN_TRY(tnp_words_new(r->ctx, count, e->dim, &e->words));
    TN_TRY(tnp_safetensors_values(r->ctx, r->file, "words", count, e->dim, TNP_FINITE, e->words.centres, NULL));
    tnp_words_ready(&e->words);
done:
    return st;
}

/* out: tn_encoder **. */
static tn_status make_encoder(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out)
{
    tn_status st = TN_OK;
    reading r = {ctx, file, path};
    tn_encoder *e = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *e, &e));
    TN_TRY(read_meta(&r, e));
    TN_TRY(read_projection(&r, e));
    TN_TRY(e->kind == TNP_FISHER ? read_mixture(&r, e) : read_words(&r, e));
    if (tn_encoder_cols(e) / e->pyramid.cells != tnp_encoder_cell(e) || tn_encoder_cols(e) > TNP_MAX_COLUMNS)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: vectors of %zu values, at most %d", path, tn_encoder_cols(e),
                        TNP_MAX_COLUMNS));
    *(tn_encoder **)out = e;
    e = NULL;
done:
    tn_encoder_free(e);
    return st;
}

static const tnp_store_kind kind_of_file = {format_name, format_version, in_memory, make_encoder};

tn_status tn_encoder_load(tn_ctx *ctx, const char *path, tn_encoder **out)
{
    return tnp_store_load(ctx, path, &kind_of_file, out);
}

tn_status tn_encoder_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_encoder **out)
{
    return tnp_store_parse(ctx, bytes, size, name, &kind_of_file, out);
}
