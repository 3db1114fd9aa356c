/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a finished head tells of how it was made: the cost it was trained with, and the columns that a transfer picked.
 *
 * Picked are all columns of sources, and those of features that have a weight, unless most of them do: then nothing was
 * picked among them. The weight of a column is that of the second class where there are two, which mirror each other,
 * else of the class that leans on it most; of equals the first. */
#include "learn/head/head.h"

#include <math.h>
#include <string.h>

static bool is_one_of(const char *word, const char *words)
{
    return tnp_find_choice(words, word) >= 0;
}

double tn_head_cost(const tn_head *head)
{
    static const char key[] = "\"C\":\"";
    const char *found = strstr(tn_head_options(head), key);
    double cost = NAN;
    if (found && !is_one_of(head->method, "auto|evidence|ridge-cv|lda|perceptron|cw")) {
        found += sizeof key - 1;
        (void)tnp_number((tnp_span){found, strcspn(found, "\"")}, &cost);
    }
    return cost;
}

bool tn_head_is_transfer(const tn_head *head)
{
    return head->source_count > 0 || is_one_of(head->method, "greedytl|forward|l1-logistic|elastic-net|transfer");
}

static tn_head_pick column_of(const tn_head *head, size_t column)
{
    tn_head_pick pick = {.column = column, .cls = head->classes == 2 ? 1 : 0, .source = SIZE_MAX, .place = column};
    for (size_t k = 0; head->classes > 2 && k < head->classes; ++k)
        if (fabsf(head->weight[k * head->dim + column]) > fabsf(head->weight[pick.cls * head->dim + column]))
            pick.cls = k;
    pick.weight = (double)head->weight[pick.cls * head->dim + column];
    return pick;
}

/* Which representation or source the column belongs to, and its place there. */
static void find_owner(const tn_head *head, tn_head_pick *pick)
{
    size_t features = head->dim - head->source_count, r = 0;
    if (pick->column >= features) {
        pick->source = pick->column - features;
        pick->name = head->sources[pick->source].name;
        pick->place = head->sources[pick->source].column;
        return;
    }
    for (; pick->place >= tnp_rep_cols(&head->reps[r]); ++r)
        pick->place -= tnp_rep_cols(&head->reps[r]);
    pick->name = head->reps[r].name;
}

tn_status tn_head_picks(tn_ctx *ctx, const tn_head *head, tn_head_pick **out, size_t *count)
{
    size_t features = head->dim - head->source_count, used = 0, n = 0;
    tn_head_pick *picks = NULL;
    for (size_t j = 0; tn_head_is_transfer(head) && j < features; ++j)
        used += column_of(head, j).weight != 0;
    bool sparse = 2 * used <= features;
    tn_status st = tnp_alloc(ctx, (sparse ? used : 0) + head->source_count, sizeof *picks, &picks);
    if (st != TN_OK)
        return st;
    for (size_t j = sparse && used > 0 ? 0 : features; j < head->dim; ++j) {
        tn_head_pick pick = column_of(head, j);
        if (j < features && pick.weight == 0)
            continue;
        find_owner(head, &pick);
        picks[n++] = pick;
    }
    *out = picks;
    *count = n;
    return TN_OK;
}

void tn_head_picks_free(tn_head_pick *picks)
{
    tnp_free(picks);
}
