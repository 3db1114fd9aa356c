/* SPDX-License-Identifier: BSD-3-Clause
 *
 * file.npz:key, a zip archive of .npy members named key.npy. A stored member (numpy.savez) is used in place; a deflated
 * one (savez_compressed) is inflated once, at opening. The checksum of both is checked then. The key may be left out
 * when there is one array besides `ids`; a member `ids` (text or whole numbers) names the rows. */
#include "matrix/convert.h"
#include "read/features.h"
#include "read/zip.h"

#include <inttypes.h>
#include <string.h>

typedef struct found {
    tnp_zip_entry array, ids;
    size_t arrays; /* candidates for `array` */
    bool has_ids;
    char keys[200]; /* of the candidates, as many as fit, for the message */
} found;

/* Member name without .npy. */
static tnp_span key_of(tnp_span name)
{
    if (name.length > 4 && memcmp(name.text + name.length - 4, ".npy", 4) == 0)
        name.length -= 4;
    return name;
}

static void list_key(found *out, tnp_span key)
{
    size_t used = strlen(out->keys);
    if (used + key.length + 8 < sizeof out->keys)
        snprintf(out->keys + used, sizeof out->keys - used, "%s%.*s", used ? ", " : "", (int)key.length, key.text);
    else if (used + 6 < sizeof out->keys && out->keys[used - 1] != '.')
        snprintf(out->keys + used, sizeof out->keys - used, ", ...");
}

static tn_status find(tn_ctx *ctx, tnp_zip zip, const char *key, found *out)
{
    tn_status st = TN_OK;
    bool more = true;
    tnp_zip_entry entry;
    for (;;) {
        TN_TRY(tnp_zip_next(ctx, &zip, &entry, &more));
        if (!more)
            break;
        tnp_span name = key_of(entry.name);
        bool ids = tnp_span_is(name, "ids");
        if (ids && !out->has_ids) {
            out->ids = entry;
            out->has_ids = true;
        }
        if (key ? tnp_span_is(name, key) || tnp_span_is(entry.name, key) : !ids) {
            list_key(out, name);
            if (out->arrays++ == 0)
                out->array = entry;
        }
    }
    if (out->arrays == 0)
        TN_TRY(key ? tnp_fail(ctx, TN_ERR_FORMAT, "%s: no array '%s' in it", zip.path, key)
                   : tnp_fail(ctx, TN_ERR_FORMAT, "%s: no array in it", zip.path));
    if (!key && out->arrays != 1)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: %zu arrays in it, expected one of them: %s:KEY with KEY one of %s",
                        zip.path, out->arrays, zip.path, out->keys));
    if (key && strcmp(key, "ids") == 0)
        out->has_ids = false;
done:
    return st;
}

/* The member as an array; *owned is its bytes, or NULL when they are left in the file. */
static tn_status load(tn_ctx *ctx, const tnp_zip *zip, tnp_zip_entry *entry, bool in_memory, unsigned char **owned,
                      tnp_array *out)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_zip_locate(ctx, zip, entry));
    if (in_memory || entry->method == 8) {
        TN_TRY(tnp_zip_unpack(ctx, zip, entry, owned));
        TN_TRY(tnp_npy_parse(ctx, zip->path, *owned, entry->unpacked, out));
    } else {
        TN_TRY(tnp_npy_read(ctx, zip->file, entry->data, entry->unpacked, out));
        TN_TRY(tnp_zip_verify(ctx, zip, entry));
    }
done:
    return st;
}

static size_t utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> n & 0xffu) | code);
    return n;
}

size_t tnp_array_text(const tnp_array *ids, size_t i, char *buf)
{
    const unsigned char *p = ids->data + i * ids->item;
    size_t n = 0;
    if (!ids->text) {
        int64_t value = 0;
        if (tnp_to_int64(ids->dtype, ids->swap, p, (ptrdiff_t)ids->item, 1, &value) != 1)
            return SIZE_MAX;
        return (size_t)snprintf(buf, 24, "%" PRId64, value);
    }
    size_t width = ids->text == 'U' ? 4 : 1, chars = ids->item / width;
    bool big = tnp_host_is_big_endian() != ids->swap;
    while (chars != 0 && memcmp(p + (chars - 1) * width, "\0\0\0", width) == 0)
        --chars;
    for (size_t c = 0; c < chars; ++c) {
        const unsigned char *q = p + c * width;
        uint32_t code = width == 1 ? q[0]
                        : big      ? (uint32_t)q[0] << 24 | (uint32_t)q[1] << 16 | (uint32_t)q[2] << 8 | q[3]
                                   : (uint32_t)q[3] << 24 | (uint32_t)q[2] << 16 | (uint32_t)q[1] << 8 | q[0];
        if (width == 4 && code > 0x10ffff)
            return SIZE_MAX;
        if (width == 1)
            buf[n++] = (char)code;
        else
            n += utf8_put(code, buf + n);
    }
    size_t wrong;
    return tnp_utf8((tnp_span){buf, n}, &wrong) ? n : SIZE_MAX;
}

/* `what` is named by them: "rows". */
static tn_status take_ids(tn_ctx *ctx, const char *path, const tnp_array *ids, size_t count, const char *what,
                          char ***out)
{
    tn_status st = TN_OK;
    char *buf = NULL, *text = NULL;
    size_t bytes = 0;
    if (!ids->text && tnp_dtype_is_float(ids->dtype))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: ids are %s, expected text or whole numbers", path,
                        tn_dtype_name(ids->dtype));
    if (ids->ndim != 1 || ids->shape[0] != count)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: ids are %zu-dimensional with %zu entries, but there are %zu %s", path,
                        ids->ndim, ids->ndim ? ids->shape[0] : 0, count, what);
    TN_TRY(tnp_alloc(ctx, tnp_max(ids->item, 24), 1, &buf));
    for (size_t i = 0; i < count; ++i) {
        size_t n = tnp_array_text(ids, i, buf);
        if (n == SIZE_MAX)
            TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: ids: entry %zu is not text", path, i));
        bytes += n + 1;
    }
    TN_TRY(tnp_strings_new(ctx, count, bytes, out, &text));
    for (size_t i = 0; i < count; ++i)
        (*out)[i] = tnp_strings_put(&text, (tnp_span){buf, tnp_array_text(ids, i, buf)});
done:
    tnp_free(buf);
    return st;
}

tn_status tnp_npz_open(tn_ctx *ctx, tn_features *features, const char *file, const char *key, bool named)
{
    tn_status st = TN_OK;
    size_t index = 0;
    tnp_zip zip = {.directory = NULL};
    found members = {.arrays = 0};
    tnp_array array, ids;
    unsigned char *values = NULL, *names = NULL;
    features->format = "npz";
    TN_TRY(tnp_features_file(ctx, features, file, &index));
    TN_TRY(tnp_zip_open(ctx, features->files[index], &zip));
    TN_TRY(find(ctx, zip, key, &members));
    TN_TRY(load(ctx, &zip, &members.array, false, &values, &array));
    features->owned = values;
    TN_TRY(tnp_features_add(ctx, features, features->path, &array, values ? TNP_NO_FILE : index));
    if (members.has_ids && named) {
        TN_TRY(load(ctx, &zip, &members.ids, true, &names, &ids));
        TN_TRY(take_ids(ctx, features->path, &ids, features->rows, "rows", &features->ids));
    }
done:
    if (!features->owned)
        tnp_free(values);
    tnp_free(names);
    tnp_zip_close(&zip);
    return st;
}

tn_status tnp_npz_bag_names(tn_ctx *ctx, const tnp_file *file, size_t count, bool *positions, char ***ids)
{
    tn_status st = TN_OK;
    tnp_zip zip = {.directory = NULL};
    unsigned char *names = NULL;
    tnp_array array;
    bool more = true;
    TN_TRY(tnp_zip_open(ctx, file, &zip));
    for (tnp_zip next = zip;;) {
        tnp_zip_entry entry;
        TN_TRY(tnp_zip_next(ctx, &next, &entry, &more));
        if (!more)
            break;
        *positions |= tnp_span_is(key_of(entry.name), "positions");
        if (tnp_span_is(key_of(entry.name), "ids") && !names) {
            TN_TRY(load(ctx, &zip, &entry, true, &names, &array));
            TN_TRY(take_ids(ctx, zip.path, &array, count, "bags", ids));
        }
    }
done:
    tnp_free(names);
    tnp_zip_close(&zip);
    return st;
}
