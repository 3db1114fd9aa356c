/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learned maps as files; the layout is described in docs/formats.md.
 *
 *   tensors    weight (39 x K), and where it comes from, as far as that is known: singular_values (39), vectors (39 x
 *              39), histogram (256), all F64
 *   metadata   format = tenon-kernel, version, basis, signed, scale, power, tasks, rows, created_by
 *
 * Contributing rates are not kept: they are sums of squared singular values. Numbers of the metadata have the digits
 * that give the same double back. */
#include "store/store.h"
#include "tenon/store.h"

#include <math.h>
#include <string.h>

enum { M = TN_BASIS_SIZE, PARTS = 4, BLOCK_VALUES = 1 << 22 };

static const char format_name[] = "tenon-kernel", format_version[] = "1", in_memory[] = "kernel in memory";
static const char *const bases[] = {[TN_BASIS_SCALED_FOURIER] = "scaled-fourier", [TN_BASIS_FOURIER] = "fourier"};
static const char *const signs[] = {[TN_SIGNED_ODD] = "odd", [TN_SIGNED_SPLIT] = "split"};

/* ---- saving ---- */

static tn_status put(tn_ctx *ctx, const tn_map *map, const char *command, const tnp_store_to *to)
{
    tn_status st = TN_OK;
    const tn_map_spec *made = tn_map_made_of(map);
    char *created = NULL, scale[32], power[32], tasks[32], rows[32];
    tnp_tensor tensors[PARTS] = {{"weight", TN_F64, {M, made->rank}, 2, made->weight}};
    const tnp_tensor others[PARTS - 1] = {{"singular_values", TN_F64, {M, 0}, 1, made->singular_values},
                                          {"vectors", TN_F64, {M, M}, 2, made->vectors},
                                          {"histogram", TN_F64, {TN_MAP_BINS, 0}, 1, made->histogram}};
    size_t count = 1;
    if (!made->weight)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: the %s map is known by its name, only learned ones are saved", to->path,
                        tn_map_name(map));
    for (size_t i = 0; i < PARTS - 1; ++i)
        if (others[i].data)
            tensors[count++] = others[i];
    tnp_format(scale, sizeof scale, "%.17g", made->scale);
    tnp_format(power, sizeof power, "%.17g", made->power);
    snprintf(tasks, sizeof tasks, "%zu", made->tasks);
    snprintf(rows, sizeof rows, "%zu", made->rows);
    TN_TRY(tnp_store_created_by(ctx, command, &created));
    const tnp_meta meta[] = {{"format", format_name},
                             {"version", format_version},
                             {"basis", bases[made->basis]},
                             {"signed", signs[made->sign]},
                             {"scale", scale},
                             {"power", power},
                             {"tasks", tasks},
                             {"rows", rows},
                             {"created_by", created}};
    TN_TRY(tnp_store_write(ctx, to, meta, sizeof meta / sizeof *meta, tensors, count));
done:
    tn_text_free(created);
    return st;
}

tn_status tn_map_save(tn_ctx *ctx, const tn_map *map, const char *command, const char *path)
{
    return put(ctx, map, command, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_map_to_bytes(tn_ctx *ctx, const tn_map *map, const char *command, void **bytes, size_t *size)
{
    return put(ctx, map, command, &(tnp_store_to){in_memory, bytes, size});
}

/* ---- loading ---- */

/* What a file holds, before it is a map. */
typedef struct contents {
    double weight[M * M], singular_values[M], vectors[M * M], histogram[TN_MAP_BINS], rates[M];
    tn_map_spec spec;
} contents;

static tn_status bad_meta(tn_ctx *ctx, const char *path, const char *key, const char *value, const char *expected)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: its %s is '%.40s', expected %s", path, key, value ? value : "missing",
                    expected);
}

/* Which of the two words the metadata name. */
static tn_status read_word(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *key,
                           const char *const words[2], const char *expected, int *out)
{
    const char *value = tnp_safetensors_meta(file, key);
    for (*out = 0; *out < 2; ++*out)
        if (value && strcmp(value, words[*out]) == 0)
            return TN_OK;
    return bad_meta(ctx, path, key, value, expected);
}

static tn_status read_meta(tn_ctx *ctx, const tnp_safetensors *file, const char *path, tn_map_spec *spec)
{
    tn_status st = TN_OK;
    int basis = 0, sign = 0;
    const char *scale = tnp_safetensors_meta(file, "scale"), *power = tnp_safetensors_meta(file, "power");
    const char *tasks = tnp_safetensors_meta(file, "tasks"), *rows = tnp_safetensors_meta(file, "rows");
    TN_TRY(read_word(ctx, file, path, "basis", bases, TN_BASIS_WORDS, &basis));
    TN_TRY(read_word(ctx, file, path, "signed", signs, TN_SIGNED_WORDS, &sign));
    spec->basis = (tn_basis)basis;
    spec->sign = (tn_signed)sign;
    if (!scale || !tnp_number((tnp_span){scale, strlen(scale)}, &spec->scale) || !(spec->scale > 0) ||
        !isfinite(spec->scale))
        TN_TRY(bad_meta(ctx, path, "scale", scale, "a number above 0"));
    if (!power || !tnp_number((tnp_span){power, strlen(power)}, &spec->power) ||
        !(spec->power >= 0 && spec->power <= 1))
        TN_TRY(bad_meta(ctx, path, "power", power, "a number from 0 to 1"));
    if (!tasks || !tnp_digits(tasks, &spec->tasks))
        TN_TRY(bad_meta(ctx, path, "tasks", tasks, "a whole number"));
    if (!rows || !tnp_digits(rows, &spec->rows))
        TN_TRY(bad_meta(ctx, path, "rows", rows, "a whole number"));
done:
    return st;
}

/* A tensor of finite numbers, (rows) or (rows, cols) when cols is not 0, into out. */
static tn_status read_tensor(tn_ctx *ctx, const tnp_safetensors *file, const char *name, size_t rows, size_t cols,
                             double *out)
{
    return tnp_safetensors_values(ctx, file, name, rows, cols, TNP_FINITE, NULL, out);
}

/* The map itself: how many columns W has is told by its shape. */
static tn_status read_weight(tn_ctx *ctx, const tnp_safetensors *file, const char *path, contents *c)
{
    tnp_array a;
    tn_status st = tnp_safetensors_find(ctx, file, "weight", &a);
    if (st != TN_OK)
        return st;
    if (a.ndim != 2 || a.shape[0] != M || a.shape[1] < 1 || a.shape[1] > M)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: 'weight' is no matrix of %d rows and 1 to %d columns", path, M, M);
    c->spec.rank = a.shape[1];
    c->spec.weight = c->weight;
    return read_tensor(ctx, file, "weight", M, a.shape[1], c->weight);
}

/* Singular values that are there, and the rates that follow from them. */
static tn_status read_values(tn_ctx *ctx, const tnp_safetensors *file, const char *path, contents *c)
{
    double total = 0, sum = 0;
    tn_status st = read_tensor(ctx, file, "singular_values", M, 0, c->singular_values);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < M; ++i) {
        if (c->singular_values[i] < 0 || (i > 0 && c->singular_values[i] > c->singular_values[i - 1]))
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: 'singular_values' are not descending and from 0 up", path);
        total += pow(c->singular_values[i] / fmax(c->singular_values[0], 1e-300), 2);
    }
    for (size_t i = 0; i < M; ++i) {
        sum += pow(c->singular_values[i] / fmax(c->singular_values[0], 1e-300), 2);
        c->rates[i] = total > 0 ? sum / total : 0;
    }
    c->spec.singular_values = c->singular_values;
    c->spec.rates = c->rates;
    return TN_OK;
}

static tn_status read_origin(tn_ctx *ctx, const tnp_safetensors *file, const char *path, contents *c)
{
    tn_status st = TN_OK;
    if (tnp_safetensors_has(file, "singular_values"))
        TN_TRY(read_values(ctx, file, path, c));
    if (tnp_safetensors_has(file, "vectors")) {
        TN_TRY(read_tensor(ctx, file, "vectors", M, M, c->vectors));
        c->spec.vectors = c->vectors;
    }
    if (tnp_safetensors_has(file, "histogram")) {
        TN_TRY(read_tensor(ctx, file, "histogram", TN_MAP_BINS, 0, c->histogram));
        for (size_t i = 0; i < TN_MAP_BINS; ++i)
            if (c->histogram[i] < 0)
                TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: 'histogram' counts %g in bin %zu", path, c->histogram[i], i));
        c->spec.histogram = c->histogram;
    }
done:
    return st;
}

/* out: tn_map **. */
static tn_status make_map(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out)
{
    tn_status st = TN_OK;
    contents *c = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    TN_TRY(read_meta(ctx, file, path, &c->spec));
    TN_TRY(read_weight(ctx, file, path, c));
    TN_TRY(read_origin(ctx, file, path, c));
    TN_TRY(tn_map_new_learned(ctx, &c->spec, out));
done:
    tnp_free(c);
    return st;
}

static const tnp_store_kind kind = {format_name, format_version, in_memory, make_map};

tn_status tn_map_load(tn_ctx *ctx, const char *path, tn_map **out)
{
    return tnp_store_load(ctx, path, &kind, out);
}

tn_status tn_map_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_map **out)
{
    return tnp_store_parse(ctx, bytes, size, name, &kind, out);
}

/* ---- mapped rows ---- */

tn_status tn_map_rows_save(tn_ctx *ctx, const tn_map *map, const tn_features *features, tn_normalize normalize,
                           tn_nan_policy nan, const char *path)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    tn_npy_writer *writer = NULL;
    float *x = NULL;
    size_t rows = tn_features_rows(features);
    tnp_share whole = tnp_progress_begin(ctx);
    TN_TRY(tn_feed_new(ctx, features, NULL, rows, normalize, nan, map, &feed));
    size_t cols = tn_feed_cols(feed), block = tnp_max(1, tnp_min(rows, BLOCK_VALUES / tnp_max(cols, 1)));
    TN_TRY(tnp_alloc_raw(ctx, block * cols, sizeof *x, &x));
    TN_TRY(tn_npy_writer_open(ctx, path, rows, cols, &writer));
    for (size_t start = 0, n; start < rows; start += n) {
        n = tnp_min(block, rows - start);
        TN_TRY(tnp_progress_step(ctx, whole, "kernel apply", start, rows));
        TN_TRY(tn_feed_read(ctx, feed, start, n, x, cols));
        TN_TRY(tn_npy_writer_rows(ctx, writer, x, n));
    }
    TN_TRY(tnp_progress_end(ctx));
    TN_TRY(tn_npy_writer_commit(ctx, writer));
done:
    tn_npy_writer_close(writer);
    tnp_free(x);
    tn_feed_free(feed);
    return st;
}
