/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protocol buffers, as far as .onnx files need them: fields of a message one after the other, bounded by its bytes.
 *
 *   field = key payload      key = varint (number << 3 | wire)
 *   wire 0: varint       1: 8 bytes       2: varint length, then so many bytes       5: 4 bytes
 *
 * Groups (wires 3 and 4) are refused: onnx.proto has none. */
#ifndef TNP_PROTO_H
#define TNP_PROTO_H

#include "base/text.h"

typedef struct tnp_message {
    const unsigned char *at, *end;
    bool bad; /* what comes next is no field */
} tnp_message;

typedef struct tnp_proto_field {
    uint64_t number;
    unsigned wire;
    uint64_t value;   /* wire 0 */
    tnp_bytes inside; /* wire 2 */
    tnp_bytes whole;  /* key and payload */
} tnp_proto_field;

static inline tnp_message tnp_message_of(tnp_bytes in)
{
    return (tnp_message){in.data, in.size ? in.data + in.size : in.data, false};
}

/* The next field; false at the end, and where the bytes are broken, which `bad` then tells. */
bool tnp_message_next(tnp_message *message, tnp_proto_field *out);

/* Fields for a text of bytes: the key and length of `size` bytes that follow; a whole field of bytes; a number. */
void tnp_proto_put_head(tnp_text *text, unsigned number, size_t size);
void tnp_proto_put(tnp_text *text, unsigned number, const void *bytes, size_t size);
void tnp_proto_put_number(tnp_text *text, unsigned number, uint64_t value);
/* Bytes that a number takes, without its key. */
size_t tnp_proto_varint_size(uint64_t value);

#endif
