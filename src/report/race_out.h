/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What method auto tried, for the reports of a fit. */
#ifndef TNP_RACE_OUT_H
#define TNP_RACE_OUT_H

#include "report/cells.h"
#include "tenon/select.h"

/* Members of the fit's object, each with a comma before it. */
void tnp_race_json(tnp_text *text, const tn_fit_info *info);
void tnp_race_table(tnp_text *text, const tn_fit_info *info, bool color);
/* Sentences about how it ended. */
void tnp_race_remarks(tnp_text *text, const tn_fit_info *info);
/* What was chosen, or NULL. */
const tn_tried *tnp_race_chosen(const tn_fit_info *info);

#endif
