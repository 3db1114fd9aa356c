/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A refinement as JSON: what it learned from, its rounds, which was kept, and figures beside. */
#include "base/text.h"
#include "tenon/pipeline.h"

static void add_round(tnp_text *text, const tn_refine_round *round)
{
    tnp_text_add(text, "{\"objective\":");
    tnp_text_number(text, round->objective);
    tnp_text_value(text, "loss", round->loss);
    tnp_text_value(text, "step", round->step);
    tnp_text_value(text, "mean_ap", round->valid);
    tnp_text_value(text, "seconds", round->seconds);
    tnp_text_value(text, "trials", (double)round->trials);
    tnp_text_add(text, "}");
}

tn_status tn_refine_json(tn_ctx *ctx, const tn_refine_info *info, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"classes\":%zu,\"training\":%zu,\"validation\":%zu,\"descriptors\":%zu", info->classes,
                 info->training, info->validation, info->descriptors);
    tnp_text_value(&text, "C", info->cost);
    tnp_text_add(&text, ",\"rounds\":[");
    for (size_t i = 0; i < info->round_count; ++i) {
        tnp_text_add(&text, i ? "," : "");
        add_round(&text, info->rounds + i);
    }
    tnp_text_add(&text, "],\"best\":%zu,\"stopped\":\"%s\",\"advice\":\"%s\"", info->best, info->stopped, info->advice);
    tnp_text_value(&text, "given_mean_ap", info->rounds[0].valid);
    tnp_text_value(&text, "refined_mean_ap", info->rounds[info->best].valid);
    tnp_text_value(&text, "twice_mean_ap", info->twice_valid);
    tnp_text_value(&text, "encode_seconds", info->encode_seconds);
    tnp_text_value(&text, "solve_seconds", info->solve_seconds);
    tnp_text_value(&text, "gradient_seconds", info->gradient_seconds);
    tnp_text_value(&text, "seconds", info->seconds);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}
