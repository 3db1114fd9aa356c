/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The zip archive, as far as .npz needs it: end record, zip64 end record, central directory, local headers,
 * stored and deflated members. Offsets and sizes come from the central directory alone; the local header only
 * tells where the data starts. Encryption, split archives and other methods are refused.
 *
 *   end record       50 4b 05 06 .. entries 10 (2)  directory size 12 (4)  offset 16 (4)  comment length 20 (2)
 *   zip64 locator    50 4b 06 07 .. offset of the zip64 end record 8 (8)      the 20 bytes before the end record
 *   zip64 end        50 4b 06 06 .. entries 32 (8)  directory size 40 (8)  offset 48 (8)
 *   directory entry  50 4b 01 02 .. flags 8  method 10  crc 16  packed 20  unpacked 24  name 28  extra 30
 *                    comment 32  local header 42, then name, extra, comment
 *   local header     50 4b 03 04 .. name 26  extra 28, then name, extra, data at 30 + name + extra
 *
 * A 32-bit field of all ones means: see the zip64 extra field, number 1, which holds the replaced fields in the
 * order unpacked, packed, local header. */
#include "read/zip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

enum { END = 22, LOCATOR = 20, END64 = 56, ENTRY = 46, LOCAL = 30 };

static uint64_t get(const unsigned char *p, size_t width)
{
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

static bool signature(const unsigned char *p, unsigned char third, unsigned char fourth)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == third && p[3] == fourth;
}

static tn_status bad(tn_ctx *ctx, const tnp_zip *zip, size_t at, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: %s", zip->path, at, what);
}

tn_status tnp_zip_init(tn_ctx *ctx, const char *path, const unsigned char *bytes, size_t size, tnp_zip *out)
{
    tnp_zip zip = {path, bytes, size, 0, 0, 0};
    if (size < END || bytes[0] != 'P' || bytes[1] != 'K')
        return bad(ctx, &zip, 0, size == 0 ? "empty, expected a zip archive" : "not a zip archive");
    size_t at = size - END, low = at > 65535 ? at - 65535 : 0;
    while (!(signature(bytes + at, 5, 6) && get(bytes + at + 20, 2) == size - END - at)) {
        if (at == low)
            return bad(ctx, &zip, size, "no end record, the archive is cut off");
        --at;
    }
    uint64_t entries = get(bytes + at + 10, 2), length = get(bytes + at + 12, 4), start = get(bytes + at + 16, 4);
    size_t end = at;
    if (at >= LOCATOR && signature(bytes + at - LOCATOR, 6, 7)) {
        uint64_t record = get(bytes + at - LOCATOR + 8, 8);
        end = at - LOCATOR;
        if (end < END64 || record > end - END64 || !signature(bytes + record, 6, 6))
            return bad(ctx, &zip, end, "zip64 locator points to no zip64 end record");
        entries = get(bytes + record + 32, 8);
        length = get(bytes + record + 40, 8);
        start = get(bytes + record + 48, 8);
        end = (size_t)record;
    }
    if (start > end || length > end - start || entries > length / ENTRY)
        return bad(ctx, &zip, at, "end record describes a directory that does not fit the file");
    zip.at = (size_t)start;
    zip.end = (size_t)(start + length);
    zip.left = (size_t)entries;
    *out = zip;
    return TN_OK;
}

/* Replaces fields of all ones by those of the zip64 extra field; false when they are not there. */
static bool read_zip64(const unsigned char *extra, size_t length, uint64_t *fields[3])
{
    bool wanted = *fields[0] == UINT32_MAX || *fields[1] == UINT32_MAX || *fields[2] == UINT32_MAX;
    while (wanted && length >= 4) {
        size_t id = (size_t)get(extra, 2), size = (size_t)get(extra + 2, 2);
        extra += 4;
        length -= 4;
        if (size > length)
            return false;
        if (id == 1) {
            for (size_t i = 0, at = 0; i < 3; ++i) {
                if (*fields[i] != UINT32_MAX)
                    continue;
                if (size - at < 8)
                    return false;
                *fields[i] = get(extra + at, 8);
                at += 8;
            }
            return true;
        }
        extra += size;
        length -= size;
    }
    return !wanted;
}

tn_status tnp_zip_next(tn_ctx *ctx, tnp_zip *zip, tnp_zip_entry *out, bool *more)
{
    if (zip->left == 0) {
        *more = false;
        return TN_OK;
    }
    const unsigned char *p = zip->bytes + zip->at;
    if (zip->end - zip->at < ENTRY || !signature(p, 1, 2))
        return bad(ctx, zip, zip->at, "no directory entry");
    size_t name = (size_t)get(p + 28, 2), extra = (size_t)get(p + 30, 2), comment = (size_t)get(p + 32, 2);
    if (name + extra + comment > zip->end - zip->at - ENTRY)
        return bad(ctx, zip, zip->at, "directory entry is longer than the directory");
    uint64_t unpacked = get(p + 24, 4), packed = get(p + 20, 4), header = get(p + 42, 4);
    if (!read_zip64(p + ENTRY + name, extra, (uint64_t *[3]){&unpacked, &packed, &header}))
        return bad(ctx, zip, zip->at + ENTRY + name, "zip64 extra field is missing or short");
    *out = (tnp_zip_entry){.name = {(const char *)p + ENTRY, name},
                           .flags = (unsigned)get(p + 8, 2),
                           .method = (unsigned)get(p + 10, 2),
                           .crc = (uint32_t)get(p + 16, 4),
                           .packed = (size_t)packed,
                           .unpacked = (size_t)unpacked,
                           .header = (size_t)header};
    zip->at += ENTRY + name + extra + comment;
    --zip->left;
    *more = true;
    return TN_OK;
}

tn_status tnp_zip_locate(tn_ctx *ctx, const tnp_zip *zip, tnp_zip_entry *entry)
{
    size_t at = entry->header;
    if (at > zip->size || zip->size - at < LOCAL || !signature(zip->bytes + at, 3, 4))
        return bad(ctx, zip, at, "no local header where the directory says");
    size_t data = LOCAL + (size_t)get(zip->bytes + at + 26, 2) + (size_t)get(zip->bytes + at + 28, 2);
    if (data > zip->size - at || entry->packed > zip->size - at - data)
        return bad(ctx, zip, at, "member reaches past the end of the file");
    if (entry->flags & 1)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: byte %zu: member is encrypted", zip->path, at);
    if (entry->method != 0 && entry->method != 8)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: byte %zu: compression method %u, expected stored or deflated",
                        zip->path, at, entry->method);
    /* Deflate cannot shrink more than 1032 times: a larger claim would only make us allocate. */
    if (entry->method == 0 ? entry->packed != entry->unpacked : entry->unpacked / 1032 > entry->packed)
        return bad(ctx, zip, at, "unpacked size cannot be right for the packed size");
    entry->data = at + data;
    return TN_OK;
}

static void *zip_alloc(void *ctx, uInt count, uInt size)
{
    void *block = NULL;
    return tnp_alloc(ctx, count, size, &block) == TN_OK ? block : NULL;
}

static void zip_free(void *ctx, void *block)
{
    (void)ctx;
    tnp_free(block);
}

/* zlib counts in 32 bits, so both sides are handed over in pieces. Returns zlib's last word. */
static int inflate_all(z_stream *z, const unsigned char *in, size_t packed, unsigned char *out, size_t unpacked)
{
    int word = Z_OK;
    z->next_in = (unsigned char *)(uintptr_t)in;
    z->next_out = out;
    while (word == Z_OK) {
        size_t in_left = packed - (size_t)(z->next_in - in), out_left = unpacked - (size_t)(z->next_out - out);
        z->avail_in = (uInt)tnp_min(in_left, UINT_MAX / 2);
        z->avail_out = (uInt)tnp_min(out_left, UINT_MAX / 2);
        word = inflate(z, Z_NO_FLUSH);
    }
    return word;
}

tn_status tnp_zip_inflate(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry, unsigned char **out)
{
    tn_status st = TN_OK;
    unsigned char *block = NULL;
    z_stream z = {.zalloc = zip_alloc, .zfree = zip_free, .opaque = ctx};
    TN_TRY(tnp_alloc_raw(ctx, entry->unpacked, 1, &block));
    int word = inflateInit2(&z, -MAX_WBITS);
    if (word == Z_OK) {
        word = inflate_all(&z, zip->bytes + entry->data, entry->packed, block, entry->unpacked);
        inflateEnd(&z);
    }
    if (word == Z_MEM_ERROR)
        TN_TRY(tnp_fail(ctx, TN_ERR_MEMORY, "%s: no memory to inflate", zip->path));
    if (word != Z_STREAM_END || z.total_out != entry->unpacked || z.total_in != entry->packed)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: member does not inflate to its %zu bytes%s%s", zip->path,
                        entry->data, entry->unpacked, z.msg ? ": " : "", z.msg ? z.msg : ""));
    if (crc32_z(0, block, entry->unpacked) != entry->crc)
        TN_TRY(bad(ctx, zip, entry->data, "member's checksum is wrong"));
    *out = block;
    block = NULL;
done:
    tnp_free(block);
    return st;
}
