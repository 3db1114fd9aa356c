/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of an extraction, for the table of options. */
#ifndef TNP_EXTRACT_H
#define TNP_EXTRACT_H

#include "base/options.h"
#include "tenon/store.h"

extern const tnp_options_kind tnp_extract_kind;

#endif
