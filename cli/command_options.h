/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of options, a list per command, and which actions have a use for them. */
#ifndef TENON_CLI_COMMAND_OPTIONS_H
#define TENON_CLI_COMMAND_OPTIONS_H

#include "cli.h"

extern const cli_table cli_rank_tables[], cli_fit_tables[], cli_cv_tables[], cli_moments_tables[],
    cli_transfer_tables[], cli_predict_tables[], cli_eval_tables[], cli_report_tables[], cli_encoder_tables[],
    cli_extract_tables[], cli_pq_tables[], cli_kernel_tables[], cli_info_tables[], cli_plain_tables[],
    cli_help_tables[];
extern const cli_use cli_encoder_uses[], cli_pq_uses[], cli_kernel_uses[];

#endif
