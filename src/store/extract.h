/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of an extraction, for the table of options; what is remembered of encoders. */
#ifndef TNP_EXTRACT_H
#define TNP_EXTRACT_H

#include "base/options.h"
#include "tenon/store.h"

extern const tnp_options_kind tnp_extract_kind;

/* FNV-1a, 64 bits, of an encoder's tensors and settings as they are saved: it tells encoders apart, not forgeries. */
tn_status tnp_encoder_hash(tn_ctx *ctx, const tn_encoder *encoder, uint64_t *out);
/* Features get tn_encoder_about, and the bytes of the encoder's file. */
tn_status tnp_features_made_by(tn_ctx *ctx, tn_features *features, const tn_encoder *encoder);

#endif
