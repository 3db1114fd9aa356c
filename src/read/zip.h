/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Members of a zip archive in mapped memory, read only. */
#ifndef TNP_ZIP_H
#define TNP_ZIP_H

#include "base/base.h"
#include "read/text.h"

typedef struct tnp_zip {
    const char *path;
    const unsigned char *bytes;
    size_t size;
    size_t at, end; /* of the part of the central directory not handed out yet */
    size_t left;    /* entries in it */
} tnp_zip;

typedef struct tnp_zip_entry {
    tnp_span name;
    unsigned method, flags; /* method: 0 stored, 8 deflated */
    uint32_t crc;
    size_t packed, unpacked; /* bytes */
    size_t header;           /* where the local header is */
    size_t data;             /* where the bytes are; set by tnp_zip_locate */
} tnp_zip_entry;

/* Finds the central directory. `bytes` and `path` are borrowed while the zip is used. */
tn_status tnp_zip_init(tn_ctx *ctx, const char *path, const unsigned char *bytes, size_t size, tnp_zip *out);
/* The next entry; *more is false at the end. */
tn_status tnp_zip_next(tn_ctx *ctx, tnp_zip *zip, tnp_zip_entry *out, bool *more);
/* Checks the local header, the method and that the packed bytes lie inside the file. */
tn_status tnp_zip_locate(tn_ctx *ctx, const tnp_zip *zip, tnp_zip_entry *entry);
/* Inflates a deflated entry; the block is the caller's, tnp_free it. Size and checksum are checked. */
tn_status tnp_zip_inflate(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry, unsigned char **out);

#endif
