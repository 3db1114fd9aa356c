/* SPDX-License-Identifier: BSD-3-Clause */
#include "read/onnx/proto.h"

static bool get_varint(tnp_message *m, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        unsigned char byte = *m->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool skip(tnp_message *m, uint64_t size, tnp_bytes *out)
{
    if (size > (uint64_t)(m->end - m->at))
        return false;
    *out = (tnp_bytes){m->at, (size_t)size};
    m->at += size;
    return true;
}

static bool get_payload(tnp_message *m, tnp_proto_field *f)
{
    uint64_t size = 0;
    switch (f->wire) {
    case 0:
        return get_varint(m, &f->value);
    case 1:
        return skip(m, 8, &f->inside);
    case 2:
        return get_varint(m, &size) && skip(m, size, &f->inside);
    case 5:
        return skip(m, 4, &f->inside);
    default:
        return false;
    }
}

bool tnp_message_next(tnp_message *m, tnp_proto_field *out)
{
    uint64_t key = 0;
    const unsigned char *begin = m->at;
    *out = (tnp_proto_field){.number = 0};
    if (m->bad || m->at == m->end)
        return false;
    m->bad = !get_varint(m, &key);
    out->number = key >> 3;
    out->wire = (unsigned)(key & 7);
    m->bad = m->bad || out->number == 0 || !get_payload(m, out);
    out->whole = (tnp_bytes){begin, (size_t)(m->at - begin)};
    return !m->bad;
}

static void put_varint(tnp_text *text, uint64_t value)
{
    char byte;
    for (; value >= 0x80; value >>= 7) {
        byte = (char)(0x80 | (value & 0x7F));
        tnp_text_bytes(text, &byte, 1);
    }
    byte = (char)value;
    tnp_text_bytes(text, &byte, 1);
}

void tnp_proto_put_head(tnp_text *text, unsigned number, size_t size)
{
    put_varint(text, (uint64_t)number << 3 | 2);
    put_varint(text, size);
}

void tnp_proto_put(tnp_text *text, unsigned number, const void *bytes, size_t size)
{
    tnp_proto_put_head(text, number, size);
    tnp_text_bytes(text, bytes, size);
}

void tnp_proto_put_number(tnp_text *text, unsigned number, uint64_t value)
{
    put_varint(text, (uint64_t)number << 3);
    put_varint(text, value);
}

size_t tnp_proto_varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        ++size;
    return size;
}
