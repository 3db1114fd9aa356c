/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A race of methods for the head of a set: contenders are trained without the rows they are judged by, all on the same
 * folds, so that what is compared is the difference row by row. */
#ifndef TNP_PIPELINE_RACE_H
#define TNP_PIPELINE_RACE_H

#include "pipeline/parts.h"

/* What was found on the way. */
typedef struct tnp_found {
    const uint32_t *fold; /* of the round that it was found in; NULL: not yet, or nothing */
    double lambda;        /* one for all classes, the best of a grid */
    float *scores;        /* (rows, classes) by models without the row */
} tnp_found;

/* Where a race is run: the rows (all of the task, or a sample of them) and a set of feeds over these rows. */
typedef struct tnp_course {
    const tnp_chosen *chosen; /* the set that was chosen on all rows: options, ridge problem, evidence */
    const tnp_task *task;     /* the rows that are raced */
    const tn_feed **feeds;
    size_t feed_count, dim;
    float *row_weight;    /* task rows, or NULL */
    tnp_design *design;   /* of the feeds, made by the first contender that passes over them many times */
    tnp_task *sampled;    /* the task where it is a sample, else NULL */
    tn_feed *own;         /* storage of feeds */
    size_t epochs;        /* passes of the online learners */
    tnp_found ridge, lda; /* by whichever ridge is judged first: all have the same tridiagonal forms */
} tnp_course;

/* A race over the chosen set on at most about `most` rows. Everything of c is borrowed while it lives. Owned by the
 * caller, free with tnp_course_free. */
tn_status tnp_course_new(tn_ctx *ctx, const tnp_chosen *c, size_t most, tnp_course **out);
void tnp_course_free(tnp_course *course);

/* Folds as of learn/head/folds.h: a row in none of them always trains and is never judged. */
typedef struct tnp_round {
    const uint32_t *fold;
    size_t folds;
} tnp_round;

typedef struct tnp_contender tnp_contender;

/* One contender in a race. */
typedef struct tnp_entry {
    const tnp_contender *who;
    double value;  /* of its C or lambda; NaN: it has none, or none was found yet */
    float *scores; /* (rows, classes) by models that did not see the row; NaN where there are none */
    double
        *unit; /* what it got by row (multi-class) or by fold, NaN where there is nothing to judge: see race_judge.c */
    double mean, se;    /* of unit */
    double log_loss;    /* per judged row at the temperature that suits its scores best; NaN unless multi-class */
    double temperature; /* that; 0: there is none */
    double seconds;
    size_t judged;    /* rows */
    const char *note; /* why it went no further; NULL: it did not leave */
} tnp_entry;

/* A method that may race. */
struct tnp_contender {
    const char *word; /* in the table of what was tried */
    int method;       /* tnp_method_name that trains the head */
    unsigned tasks;   /* that it has a use for: bits 1 << tn_task */
    bool blends;      /* is a member of the blend */
    double threshold; /* of its scores, multi-label */
    /* Scores of the rows of these folds into entry->scores, others stay; where entry->value is NaN, it is found on them
     * first. */
    tn_status (*hold_out)(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
    /* Floating-point operations of a training on `rows` rows, about. */
    double (*work)(const tnp_course *course, size_t rows);
    /* What its head is trained with. */
    void (*settle)(const tnp_course *course, const tnp_entry *entry, tnp_fit_options *options);
};

/* The head of method evidence, which is there before the race begins and the first to run. */
extern const tnp_contender tnp_incumbent;

/* race_ridge.c, race_linear.c, race_online.c */
tn_status tnp_hold_out_evidence(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
tn_status tnp_hold_out_ridge(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
tn_status tnp_hold_out_lda(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
tn_status tnp_hold_out_svm(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
tn_status tnp_hold_out_logistic(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
tn_status tnp_hold_out_online(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
/* The design of a course, made when it is first asked for. */
tn_status tnp_course_design(tn_ctx *ctx, tnp_course *course, size_t reserve);
/* Copies the scores of the rows in these folds. */
void tnp_take_scores(const tnp_course *course, const tnp_round *round, const float *from, float *to);

/* ---- race.c ---- */

typedef struct tnp_race {
    tnp_course *course;
    uint32_t *fold, *look, *rest; /* (rows): all folds; the first alone; all but the first */
    size_t folds, units;
    tnp_entry *entries;
    size_t count, best;            /* best: of the entries, so far */
    size_t *members, member_count; /* entries in the blend, which is the last entry; 0: there is none */
    double most_work;              /* flops that the training of a head may take */
    const char *note;              /* why it ended before its time, or NULL */
    const struct tnp_race *like;   /* whoever left that race stays out of this one; or NULL */
    bool cancelled;                /* by the user */
    bool titled;                   /* by the race, which names who runs on the line of progress */
    bool ridge_only;               /* others cannot hold these numbers */
    bool too_long;                 /* somebody's head would take more than most_work */
} tnp_race;

/* Rows and folds for a race over the chosen set; folds is 0 where no row can be judged. Destroy is legal after
 * failure. */
tn_status tnp_race_init(tn_ctx *ctx, const tnp_chosen *chosen, tnp_race *race);
void tnp_race_destroy(tnp_race *race);
/* Runs every contender that has a use for the task, until no other can win; ends early, with a note, where the deadline
 * has passed or the call was cancelled, but for the first contender. */
tn_status tnp_race_run(tn_ctx *ctx, tnp_race *race);
/* The winner of a race without a row to judge by: nobody runs, and no entry has scores. */
void tnp_race_unjudged(tnp_race *race);
bool tnp_is_blend(const tnp_race *race, size_t entry);
bool tnp_is_directions(const tnp_race *race, size_t entry); /* of the class means */
bool tnp_is_ridge(const tnp_contender *who);                /* its head is that of the ridge problem, or behind it */
/* Its steps. Whoever trails the leader by more than chance allows gets a note; the blend of those that are left becomes
 * one more entry, where it has two members or more; the winner, best, is the blend, or without one the incumbent,
 * unless another is better by more than chance allows. */
void tnp_race_drop(tnp_race *race);
tn_status tnp_race_blend(tn_ctx *ctx, tnp_race *race);
void tnp_race_decide(tnp_race *race);
/* Ends it for the deadline or the user, with a note: both are spent then. */
void tnp_race_stop(tn_ctx *ctx, tnp_race *race);
/* "logistic", or the members of a blend: "evidence + logistic". The caller's, free with tnp_free. */
tn_status tnp_name_entry(tn_ctx *ctx, const tnp_race *race, size_t entry, char **out);

/* ---- race_judge.c ---- */

/* Fills unit, mean, se and judged of an entry from its scores; the first also log_loss and temperature, which take as
 * many passes over the scores as all the rest of a small race. */
tn_status tnp_judge_entry(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, tnp_entry *entry);
tn_status tnp_judge_units(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, tnp_entry *entry);
size_t tnp_round_units(const tnp_task *task, const tnp_round *round);
/* How much better a is than b on the units that both have, and the standard error of that: infinite where they have none
 * in common. */
void tnp_lead(const tnp_entry *a, const tnp_entry *b, size_t units, double *lead, double *se);

/* The temperature for a head whose held-out scores these are: the one that suits them best where it lowers the log loss
 * of rows that it was not fitted to, or where it must be; else 1. 0: there is no score to go by. */
tn_status tnp_choose_temperature(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, const tnp_entry *entry,
                                 bool must, double *temperature);

/* ---- race_sets.c, race_auto.c ---- */

/* A race with one set. Of the set that the evidence chose, chosen is all there is; others own what they are made of. */
typedef struct tnp_set_race {
    tnp_chosen chosen;
    size_t *members;
    const tn_feed **feeds;
    tnp_ridge *ridge;
    tn_evidence *evidence;
    tn_candidate *figures;
    tn_fit_info *info;
    tn_head *first; /* of the incumbent */
    tnp_race race;
} tnp_set_race;
enum { TNP_SETS = 3 };

/* Races with the chosen set and, where that may gain, others, into sets (TNP_SETS, zeros first; the caller's to destroy
 * also after failure); *best of *count. */
tn_status tnp_race_sets(tn_ctx *ctx, const tnp_chosen *chosen, tnp_set_race *sets, size_t *count, size_t *best);
void tnp_set_race_destroy(tnp_set_race *set);
/* Puts a set that owns itself in the place of the chosen one; what it replaces is the set's. */
void tnp_take_set(tnp_set_race *set, const tnp_chosen *chosen);
/* The head of one entry on all rows, as if its method had been named. course: of its race; NULL for the incumbent. */
tn_status tnp_train_entry(tn_ctx *ctx, const tnp_chosen *chosen, const tnp_course *course, const tnp_entry *entry,
                          tn_head **out);

#endif
