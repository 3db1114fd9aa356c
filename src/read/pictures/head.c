/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a picture says of itself before it is decoded: kind, size, orientation. By its first bytes, never by its name.
 *
 *   JPEG   FF D8, then segments FF marker, length (2, big-endian, itself included): SOFn has precision, height, width,
 *          components; APP1 that begins with "Exif\0\0" holds a TIFF header. The last stands before the entropy-coded
 *          data, which SOS begins
 *   PNG    8 bytes of signature, then chunks length (4, big-endian), type (4), data, CRC (4); the first is IHDR: width,
 *          height, depth, colour type, compression, filter, interlace; eXIf holds a TIFF header and may stand anywhere
 *   TIFF   "II*\0" or "MM\0*", offset (4) of a directory: count (2), entries of 12: tag, type, count, value. Tag 0x0112,
 *          type 3 (16 bits): the orientation
 *
 * Read here by hand, and again by the decoders: sizes must be known before anything is allocated or a decoder begun. */
#include "read/pictures/picture.h"

#include <string.h>

static size_t big16(const unsigned char *p)
{
    return (size_t)p[0] << 8 | p[1];
}

static size_t big32(const unsigned char *p)
{
    return big16(p) << 16 | big16(p + 2);
}

/* ---- EXIF ---- */

static size_t tiff16(const unsigned char *p, bool little)
{
    return little ? (size_t)p[1] << 8 | p[0] : big16(p);
}

static size_t tiff32(const unsigned char *p, bool little)
{
    return little ? tiff16(p + 2, true) << 16 | tiff16(p, true) : big32(p);
}

int tnp_exif_orientation(const unsigned char *tiff, size_t size)
{
    enum { ENTRY = 12, ORIENTATION = 0x0112, SHORT = 3 };
    if (size < 8 || (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0))
        return 1;
    bool little = tiff[0] == 'I';
    size_t at = tiff32(tiff + 4, little);
    if (at > size - 2)
        return 1;
    size_t count = tiff16(tiff + at, little);
    at += 2;
    for (size_t i = 0; i < count && size - at >= ENTRY; ++i, at += ENTRY)
        if (tiff16(tiff + at, little) == ORIENTATION && tiff16(tiff + at + 2, little) == SHORT) {
            size_t value = tiff16(tiff + at + 8, little);
            return value >= 1 && value <= 8 ? (int)value : 1;
        }
    return 1;
}

/* ---- JPEG ---- */

/* Markers that begin a frame: SOF0 to SOF15 without DHT, JPG and DAC. */
static bool is_frame(unsigned marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static bool has_no_length(unsigned marker)
{
    return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
}

/* One segment of `size` bytes of data. */
static void look_at_segment(unsigned marker, const unsigned char *data, size_t size, tnp_picture_head *head)
{
    static const char exif[] = {'E', 'x', 'i', 'f', 0, 0};
    if (marker == 0xE1 && size > sizeof exif && memcmp(data, exif, sizeof exif) == 0)
        head->orientation = tnp_exif_orientation(data + sizeof exif, size - sizeof exif);
    if (is_frame(marker) && size >= 6) {
        head->height = big16(data + 1);
        head->width = big16(data + 3);
        head->components = data[5];
        head->channels = data[5] == 1 ? 1 : 3;
        head->at_once = marker == 0xC2 || marker == 0xCA; /* progressive */
    }
    /* A scan of fewer components than the frame has is the first of several. */
    if (marker == 0xDA && size >= 1 && data[0] < head->components)
        head->at_once = true;
}

static tn_status read_jpeg(tn_ctx *ctx, const char *path, tnp_bytes b, tnp_picture_head *head)
{
    size_t at = 2;
    unsigned marker = 0;
    while (marker != 0xDA) {
        while (at < b.size && b.data[at] != 0xFF)
            ++at; /* bytes between segments, which decoders skip too */
        while (at < b.size && b.data[at] == 0xFF)
            ++at;
        if (at >= b.size || b.data[at] == 0xD9)
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: JPEG that ends before its picture begins", path, at);
        marker = b.data[at++];
        if (has_no_length(marker))
            continue;
        size_t length = b.size - at >= 2 ? big16(b.data + at) : 0;
        if (length < 2 || length > b.size - at)
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: JPEG segment that reaches beyond the file", path, at);
        look_at_segment(marker, b.data + at + 2, length - 2, head);
        at += length;
    }
    return TN_OK;
}

/* ---- PNG ---- */

static tn_status read_png(tn_ctx *ctx, const char *path, tnp_bytes b, tnp_picture_head *head)
{
    enum { SIGNATURE = 8, AROUND = 12, IHDR = 13 };
    if (b.size < SIGNATURE + AROUND + IHDR || big32(b.data + SIGNATURE) != IHDR ||
        memcmp(b.data + SIGNATURE + 4, "IHDR", 4) != 0)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %d: PNG without its first chunk, IHDR", path, SIGNATURE);
    const unsigned char *ihdr = b.data + SIGNATURE + 8;
    head->width = big32(ihdr);
    head->height = big32(ihdr + 4);
    head->components = 4 * (ihdr[8] > 8 ? 2 : 1);
    head->channels = ihdr[9] == 0 || ihdr[9] == 4 ? 1 : 3; /* grey, grey with alpha */
    head->at_once = ihdr[12] != 0;
    for (size_t at = SIGNATURE; b.size - at >= AROUND;) {
        size_t length = big32(b.data + at);
        if (length > b.size - at - AROUND)
            break; /* cut off: the decoder tells whether it matters */
        if (memcmp(b.data + at + 4, "eXIf", 4) == 0)
            head->orientation = tnp_exif_orientation(b.data + at + 8, length);
        at += length + AROUND;
    }
    return TN_OK;
}

tn_status tnp_picture_head_read(tn_ctx *ctx, const char *path, tnp_bytes bytes, tnp_picture_head *out)
{
    static const unsigned char jpeg[] = {0xFF, 0xD8, 0xFF}, png[] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10};
    tnp_picture_head head = {.orientation = 1};
    tn_status st = TN_OK;
    if (bytes.size >= sizeof jpeg && memcmp(bytes.data, jpeg, sizeof jpeg) == 0) {
        head.kind = TNP_PICTURE_JPEG;
        st = read_jpeg(ctx, path, bytes, &head);
    } else if (bytes.size >= sizeof png && memcmp(bytes.data, png, sizeof png) == 0) {
        head.kind = TNP_PICTURE_PNG;
        st = read_png(ctx, path, bytes, &head);
    } else {
        return tnp_fail(ctx, bytes.size == 0 ? TN_ERR_FORMAT : TN_ERR_UNSUPPORTED,
                        "%s: %s, expected a JPEG or PNG picture", path,
                        bytes.size == 0 ? "empty file" : "bytes of another kind");
    }
    if (st == TN_OK && (head.width == 0 || head.height == 0))
        st = tnp_fail(ctx, TN_ERR_FORMAT, "%s: a picture of %zu x %zu pixels", path, head.width, head.height);
    if (st == TN_OK)
        *out = head;
    return st;
}
