/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders in heads: where representation r is made from pictures by an encoder, the tensor encoder.<r> (bytes, U8) is
 * the encoder's own file. A reference to a file beside the head was refused: heads travel alone, and encoders are small
 * beside the weights of their columns. */
#include "store/head_file.h"
#include "tenon/store.h"

static tnp_map_name name_of_encoder(size_t r)
{
    tnp_map_name name;
    tnp_format(name.text, sizeof name.text, "encoder.%zu", r);
    return name;
}

size_t tnp_like_encoders(const tn_head *head, tnp_map_name *names, tnp_tensor *t)
{
    size_t n = 0;
    for (size_t r = 0; r < head->rep_count; ++r)
        if (head->reps[r].maker) {
            names[r] = name_of_encoder(r);
            t[n++] = (tnp_tensor){names[r].text, TN_U8, {head->reps[r].maker_size, 0}, 1, head->reps[r].maker};
        }
    return n;
}

tn_status tnp_like_load_encoder(tn_ctx *ctx, const tnp_safetensors *file, const char *path, size_t r, tnp_rep *rep)
{
    tn_status st = TN_OK;
    const tnp_map_name name = name_of_encoder(r);
    tnp_array a;
    if (!tnp_safetensors_has(file, name.text))
        return TN_OK;
    TN_TRY(tnp_safetensors_find(ctx, file, name.text, &a));
    if (a.ndim != 1 || a.dtype != TN_U8 || a.shape[0] == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: '%s' is no list of bytes, expected the file of an encoder", path,
                        name.text));
    TN_TRY(tnp_alloc_raw(ctx, a.shape[0], 1, &rep->maker));
    rep->maker_size = a.shape[0];
    TN_TRY(tnp_safetensors_bytes(ctx, file, &a, 0, a.shape[0], rep->maker));
done:
    return st;
}

tn_status tn_head_encoder(tn_ctx *ctx, const tn_head *head, size_t i, tn_encoder **out)
{
    const tnp_rep *rep = &head->reps[i];
    if (!rep->maker)
        return tnp_fail(ctx, TN_ERR_ARG, "head: representation %s was not made by an encoder", rep->name);
    return tn_encoder_from_bytes(ctx, rep->maker, rep->maker_size, rep->name, out);
}
