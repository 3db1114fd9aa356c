/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Members of a zip archive, read only. */
#ifndef TNP_ZIP_H
#define TNP_ZIP_H

#include "base/base.h"
#include "read/text.h"

typedef struct tnp_zip {
    const tnp_file *file;
    const char *path;         /* the file's */
    unsigned char *directory; /* the central one, in memory */
    size_t start, size;       /* where it is in the file, and its bytes */
    size_t at, left;          /* of those not handed out yet: the first byte, and their number */
} tnp_zip;

typedef struct tnp_zip_entry {
    tnp_span name;          /* in the directory */
    unsigned method, flags; /* method: 0 stored, 8 deflated */
    uint32_t crc;
    size_t packed, unpacked; /* bytes */
    size_t header;           /* where the local header is */
    size_t data;             /* where the bytes are; set by tnp_zip_locate */
} tnp_zip_entry;

/* Reads the central directory. `file` is borrowed while the zip is used; tnp_zip_close it, also after a failure. */
tn_status tnp_zip_open(tn_ctx *ctx, const tnp_file *file, tnp_zip *out);
void tnp_zip_close(tnp_zip *zip);
/* The next entry; *more is false at the end. */
tn_status tnp_zip_next(tn_ctx *ctx, tnp_zip *zip, tnp_zip_entry *out, bool *more);
/* Checks the local header, the method and that the packed bytes lie inside the file. */
tn_status tnp_zip_locate(tn_ctx *ctx, const tnp_zip *zip, tnp_zip_entry *entry);
/* The bytes of an entry, inflated or copied; the block is the caller's, tnp_free it. Size and checksum are checked. */
tn_status tnp_zip_unpack(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry, unsigned char **out);
/* Checks the checksum of a stored entry that is used in place. */
tn_status tnp_zip_verify(tn_ctx *ctx, const tnp_zip *zip, const tnp_zip_entry *entry);

#endif
