/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The zip archive, as far as .npz needs it: end record, zip64 end record, central directory, local headers, stored and
 * deflated members. Offsets and sizes come from the central directory alone; the local header only tells where the data
 * starts. Encryption, split archives and other methods are refused, and so are members whose CRC-32 is not that of
 * their bytes, which for a stored one means to read it once at opening: by all threads, in pieces whose checksums are
 * then joined.
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
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

enum { END = 22, LOCATOR = 20, END64 = 56, ENTRY = 46, LOCAL = 30, BYTES = 1 << 16, PIECE = 1 << 22 };

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

/* What the end record says about the directory. */
typedef struct directory {
    uint64_t entries, length, start;
    size_t end; /* it must lie before this byte */
} directory;

/* The end record is searched from the end on, since a comment of any length follows it. `tail` is the file from `low`
 * on. */
static tn_status find_end(tn_ctx *ctx, const tnp_zip *zip, const unsigned char *tail, size_t low, size_t size,
                          size_t *out)
{
    size_t at = size - END;
    while (!(signature(tail + (at - low), 5, 6) && get(tail + (at - low) + 20, 2) == size - END - at)) {
        if (at == low)
            return bad(ctx, zip, size, "no end record, the archive is cut off");
        --at;
    }
    *out = at;
    return TN_OK;
}

/* The 64-bit record in the place of the end record at `at`, when the 20 bytes before it point to one. */
static tn_status read_end64(tn_ctx *ctx, const tnp_zip *zip, size_t at, directory *d)
{
    tn_status st = TN_OK;
    unsigned char locator[LOCATOR], record[END64];
    if (at < LOCATOR)
        return TN_OK;
    TN_TRY(tnp_file_read(ctx, zip->file, at - LOCATOR, LOCATOR, locator));
    if (!signature(locator, 6, 7))
        goto done;
    uint64_t place = get(locator + 8, 8);
    d->end = at - LOCATOR;
    bool lies_within = d->end >= END64 && place <= d->end - END64;
    if (lies_within)
        TN_TRY(tnp_file_read(ctx, zip->file, (size_t)place, END64, record));
    if (!lies_within || !signature(record, 6, 6))
        TN_TRY(bad(ctx, zip, d->end, "zip64 locator points to no zip64 end record"));
    *d = (directory){get(record + 32, 8), get(record + 40, 8), get(record + 48, 8), (size_t)place};
done:
    return st;
}

static tn_status find_directory(tn_ctx *ctx, const tnp_zip *zip, directory *d)
{
    tn_status st = TN_OK;
    unsigned char first[2] = {0, 0}, *tail = NULL;
    size_t size = tnp_file_size(zip->file), low = size > END + 65535 ? size - END - 65535 : 0, at = 0;
    if (size >= END)
        TN_TRY(tnp_file_read(ctx, zip->file, 0, sizeof first, first));
    if (size < END || first[0] != 'P' || first[1] != 'K')
        TN_TRY(bad(ctx, zip, 0, size == 0 ? "empty, expected a zip archive" : "not a zip archive"));
    TN_TRY(tnp_alloc_raw(ctx, size - low, 1, &tail));
    TN_TRY(tnp_file_read(ctx, zip->file, low, size - low, tail));
    TN_TRY(find_end(ctx, zip, tail, low, size, &at));
    const unsigned char *record = tail + (at - low);
    *d = (directory){get(record + 10, 2), get(record + 12, 4), get(record + 16, 4), at};
    TN_TRY(read_end64(ctx, zip, at, d));
    if (d->start > d->end || d->length > d->end - d->start || d->entries > d->length / ENTRY)
        TN_TRY(bad(ctx, zip, at, "end record describes a directory that does not fit the file"));
done:
    tnp_free(tail);
    return st;
}

tn_status tnp_zip_open(tn_ctx *ctx, const tnp_file *file, tnp_zip *out)
{
    tn_status st = TN_OK;
    directory d = {0, 0, 0, 0};
    *out = (tnp_zip){.file = file, .path = tnp_file_path(file)};
    TN_TRY(find_directory(ctx, out, &d));
    out->start = (size_t)d.start;
    out->size = (size_t)d.length;
    out->left = (size_t)d.entries;
    TN_TRY(tnp_alloc_raw(ctx, out->size, 1, &out->directory));
    TN_TRY(tnp_file_read(ctx, file, out->start, out->size, out->directory));
done:
    return st;
}

void tnp_zip_close(tnp_zip *zip)
{
    tnp_free(zip->directory);
    zip->directory = NULL;
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
    *more = zip->left != 0;
    if (!*more)
        return TN_OK;
    const unsigned char *p = zip->directory + zip->at;
    size_t place = zip->start + zip->at, bytes = zip->size - zip->at;
    if (bytes < ENTRY || !signature(p, 1, 2))
        return bad(ctx, zip, place, "no directory entry");
    size_t name = (size_t)get(p + 28, 2), extra = (size_t)get(p + 30, 2), comment = (size_t)get(p + 32, 2);
    if (name + extra + comment > bytes - ENTRY)
        return bad(ctx, zip, place, "directory entry is longer than the directory");
    uint64_t unpacked = get(p + 24, 4), packed = get(p + 20, 4), header = get(p + 42, 4);
    if (!read_zip64(p + ENTRY + name, extra, (uint64_t *[3]){&unpacked, &packed, &header}))
        return bad(ctx, zip, place + ENTRY + name, "zip64 extra field is missing or short");
    *out = (tnp_zip_entry){.name = {(const char *)p + ENTRY, name},
                           .flags = (unsigned)get(p + 8, 2),
                           .method = (unsigned)get(p + 10, 2),
                           .crc = (uint32_t)get(p + 16, 4),
                           .packed = (size_t)packed,
                           .unpacked = (size_t)unpacked,
                           .header = (size_t)header};
    zip->at += ENTRY + name + extra + comment;
    --zip->left;
    return TN_OK;
}

tn_status tnp_zip_locate(tn_ctx *ctx, const tnp_zip *zip, tnp_zip_entry *entry)
{
    tn_status st = TN_OK;
    unsigned char local[LOCAL];
    size_t at = entry->header, size = tnp_file_size(zip->file);
    bool lies_within = at <= size && size - at >= LOCAL;
    if (lies_within)
        TN_TRY(tnp_file_read(ctx, zip->file, at, LOCAL, local));
    if (!lies_within || !signature(local, 3, 4))
        TN_TRY(bad(ctx, zip, at, "no local header of a member"));
    size_t data = LOCAL + (size_t)get(local + 26, 2) + (size_t)get(local + 28, 2);
    if (data > size - at || entry->packed > size - at - data)
        TN_TRY(bad(ctx, zip, at, "member reaches past the end of the file"));
    if (entry->flags & 1)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: byte %zu: member is encrypted", zip->path, at));
    if (entry->method != 0 && entry->method != 8)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: byte %zu: compression method %u, expected stored or deflated",
                        zip->path, at, entry->method));
    /* Deflate cannot shrink more than 1032 times: a larger claim is a lie, whatever the ratio that is accepted. */
    if (entry->method == 0 ? entry->packed != entry->unpacked : entry->unpacked / 1032 > entry->packed)
        TN_TRY(bad(ctx, zip, at, "unpacked size cannot be right for the packed size"));
    TN_TRY(tnp_unfold_check(ctx, zip->path, entry->packed, (double)entry->unpacked));
    entry->data = at + data;
done:
    return st;
}

/* ---- checksums ---- */

typedef struct summing {
    const tnp_zip *zip;
    const tnp_zip_entry *entry;
    uint32_t *crc; /* a piece each */
    atomic_int failed;
    tnp_fault fault; /* the first, once failed is set */
} summing;

static void sum_piece(void *arg, size_t i)
{
    summing *job = arg;
    unsigned char buffer[BYTES];
    size_t at = i * PIECE, end = tnp_min(at + PIECE, job->entry->packed), n;
    int none = 0;
    uLong crc = 0;
    for (; at < end && atomic_load(&job->failed) == 0; at += n) {
        n = tnp_min(BYTES, end - at);
        tnp_fault fault = tnp_file_get(job->zip->file, job->entry->data + at, n, buffer);
        if (fault.code != 0 && atomic_compare_exchange_strong(&job->failed, &none, 1))
            job->fault = fault;
        crc = crc32_z(crc, buffer, fault.code == 0 ? n : 0);
    }
    job->crc[i] = (uint32_t)crc;
}

tn_status tnp_zip_verify(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry)
{
    tn_status st = TN_OK;
    summing job = {.zip = zip, .entry = entry};
    size_t count = entry->packed / PIECE + (entry->packed % PIECE != 0);
    uLong crc = 0;
    TN_TRY(tnp_alloc(ctx, count, sizeof *job.crc, &job.crc));
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)entry->packed), count, sum_piece, &job);
    if (atomic_load(&job.failed))
        TN_TRY(tnp_file_failed(ctx, zip->file, job.fault));
    for (size_t i = 0; i < count; ++i)
        crc = crc32_combine(crc, job.crc[i], (z_off_t)tnp_min(PIECE, entry->packed - i * PIECE));
    if (crc != entry->crc)
        TN_TRY(bad(ctx, zip, entry->data, "member's checksum is wrong"));
done:
    tnp_free(job.crc);
    return st;
}

/* ---- unpacking ---- */

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

/* The packed bytes come through a buffer; zlib counts in 32 bits, so the output is handed over in pieces. *word is
 * zlib's last. */
static tn_status inflate_all(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry, z_stream *z,
                             unsigned char *out, int *word)
{
    tn_status st = TN_OK;
    unsigned char buffer[BYTES];
    size_t at = 0;
    z->next_out = out;
    for (*word = Z_OK; *word == Z_OK;) {
        if (z->avail_in == 0) {
            size_t n = tnp_min(BYTES, entry->packed - at);
            TN_TRY(tnp_cancelled(ctx));
            TN_TRY(tnp_file_read(ctx, zip->file, entry->data + at, n, buffer));
            z->next_in = buffer;
            z->avail_in = (uInt)n;
            at += n;
        }
        z->avail_out = (uInt)tnp_min(entry->unpacked - (size_t)(z->next_out - out), UINT_MAX / 2);
        *word = inflate(z, Z_NO_FLUSH);
    }
done:
    return st;
}

static tn_status inflate_entry(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry, unsigned char *block)
{
    z_stream z = {.zalloc = zip_alloc, .zfree = zip_free, .opaque = ctx};
    tn_status st = TN_OK;
    int word = inflateInit2(&z, -MAX_WBITS);
    if (word == Z_OK) {
        st = inflate_all(ctx, zip, entry, &z, block, &word);
        inflateEnd(&z);
    }
    if (st == TN_OK && word == Z_MEM_ERROR)
        st = tnp_fail(ctx, TN_ERR_MEMORY, "%s: no memory to inflate", zip->path);
    else if (st == TN_OK && (word != Z_STREAM_END || z.total_out != entry->unpacked || z.total_in != entry->packed))
        st = tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: member does not inflate to its %zu bytes%s%s", zip->path,
                      entry->data, entry->unpacked, z.msg ? ": " : "", z.msg ? z.msg : "");
    return st;
}

tn_status tnp_zip_unpack(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry, unsigned char **out)
{
    tn_status st = TN_OK;
    unsigned char *block = NULL;
    TN_TRY(tnp_alloc_raw(ctx, entry->unpacked, 1, &block));
    if (entry->method == 8)
        TN_TRY(inflate_entry(ctx, zip, entry, block));
    else
        TN_TRY(tnp_file_read(ctx, zip->file, entry->data, entry->unpacked, block));
    if (crc32_z(0, block, entry->unpacked) != entry->crc)
        TN_TRY(bad(ctx, zip, entry->data, "member's checksum is wrong"));
    *out = block;
    block = NULL;
done:
    tnp_free(block);
    return st;
}
