/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program: commands described by tables. A command is its name, texts for the help, the tables of its options
 * and the function that does it; parser, help, manual and completions are all made from that description. */
#ifndef TENON_CLI_H
#define TENON_CLI_H

#include <stdio.h>
#include <tenon/tenon.h>

/* ---- exit status (status.c) ---- */

enum {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 65,
    EXIT_INPUT = 66,
    EXIT_OUTPUT = 73,
    EXIT_BUDGET = 75,
    EXIT_INTERRUPTED = 130
};

/* ---- options ---- */

/* What any command can be told besides the options of the library's calls, which are a tn_options. Tables hold offsets
 * into it, so that a default is a value of this struct. */
typedef struct cli_options {
    bool help, json, quiet, progress, no_color;
    size_t threads, seed, mem;
    const char *labels, *classes, *output, *scores, *valid_labels, *from, *csv, *picture, *positive, *groups,
        *fold_file;
    const char *bags, *offsets, *labels_out, *compare, *ids, *report, *weights;
    tn_words valid, target, features, data, encoders, images, moments, rows;
    int task, format, normalize, nan, on_error;
    size_t top, resamples;
    bool per_class, proba, force;
    /* of networks: nets.c */
    tn_words nets;
    const char *cache, *layer, *mean, *std, *config;
    int as, views, resample, channels, layout;
    size_t size;
    double crop, scale;
    bool other_net;
} cli_options;

void cli_options_default(cli_options *options);

typedef struct cli_app cli_app;
/* All options of app->command at their defaults; needs a context. Free app->library with tn_options_free. */
int cli_options_new(cli_app *app);

typedef struct cli_table {
    const char *title; /* heading in the help; NULL ends a list of tables */
    const tn_field *fields;
    size_t count;
} cli_table;

/* Options that only some actions of a command have a use for: {"csv|picture", "show", "show"}. */
typedef struct cli_use {
    const char *options, *words; /* both joined by | */
    const char *text;            /* the words as people read them */
} cli_use;

typedef struct cli_command {
    const char *name;
    const char *summary;   /* one line, lower case, no full stop */
    const char *arguments; /* after the name in the usage line */
    const char *examples;  /* one a line */
    const char *details;   /* paragraphs separated by an empty line; may be NULL */
    const char *actions;   /* "train|apply": words that the first argument must be one of; NULL: it is free */
    size_t min_args, max_args;
    const cli_table *tables;
    bool team;           /* processes that mpirun started share its rows; else it runs on the first of them */
    const char *library; /* the call whose options come behind those of the tables; NULL: none */
    const cli_use *uses; /* options of some actions only; the last has no words; NULL: none are */
    int (*run)(cli_app *app);
} cli_command;

enum { CLI_MOST_GIVEN = 100 }; /* more than any command has */

struct cli_app {
    const cli_command *command;
    cli_options options;
    tn_options *library; /* options of the command's call */
    tn_ctx *ctx;
    const char **args; /* positional arguments */
    size_t arg_count;
    const char **words; /* of options that take lists, side by side */
    size_t word_count;
    const tn_field *given[CLI_MOST_GIVEN]; /* options that stand on the line, each once */
    size_t given_count;
    const char *line; /* the whole command line, for created_by */
    bool brief;       /* help was asked for by -h: a screen of it */
    bool color;       /* on standard output */
    char **warnings;  /* of the library, told so far: result.c */
    size_t warning_count;
    const tn_head *head;   /* that predict and eval apply, which may remember networks; NULL before it is read */
    size_t rank;           /* among processes that were started together; 0: the only one that prints */
    bool joined;           /* they share their work */
    bool idle;             /* this one has none */
    char *failure;         /* the first error of one that shares, until all have heard of it: CLI_LINE bytes */
    tn_pictures *pictures; /* IMAGES that were opened last, which labels come from where none are named */
    struct cli_encoders *encoders; /* of IMAGES, NULL before they are asked for: encoders.c */
};

/* The first failure ends a function: `code` is its exit status, `done` frees. */
#define CLI_TRY(call)                                                                                                  \
    do {                                                                                                               \
        code = (call);                                                                                                 \
        if (code != 0)                                                                                                 \
            goto done;                                                                                                 \
    } while (0)

enum { CLI_LINE = 1400 }; /* bytes of a line */

/* One line on standard error, "tenon rank: ...", and back comes `code`. */
int cli_fail(const cli_app *app, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* That line: "tenon rank: ", what kind of line it is, and the text. */
void cli_print_error(const cli_app *app, const char *kind, const char *text);
/* The exit status of a library call; prints the context's message when it failed. */
int cli_check(const cli_app *app, tn_status status);
/* Flushes standard output; a full disk is told, a closed pipe is not: nobody is there to read. */
int cli_finish_output(const cli_app *app);

/* ---- commands (commands.c), their names and parsing (args.c) ---- */

extern const cli_command cli_commands[]; /* the last one has no name */
const cli_command *cli_find_command(const char *name);
/* Says so, with the nearest name there is. */
int cli_no_such_command(const cli_app *app, const char *name);

/* The i-th option of a command: those of its tables, then those of its call that the tables do not have, each with the
 * heading it stands under, which may be NULL. NULL behind the last. */
const tn_field *cli_field(const cli_command *command, const tn_options *library, size_t i, const char **title);
/* Is it one of the tables, and its member in cli_options? Else the library has it. */
bool cli_is_own(const cli_command *command, const tn_field *field);
/* Reads argv after the command's name. app->args and app->words must have room for argc pointers each. */
int cli_parse(cli_app *app, int argc, char **argv);
/* True when `word` is one of `words`, joined by |. */
bool cli_is_one_of(const char *words, const char *word);
/* Edits (insert, delete, change, swap neighbours) from one word to the other. */
size_t cli_distance(const char *a, const char *b);
/* True when so many edits of a word are a slip rather than another word. */
bool cli_is_near(const char *word, size_t distance);

/* ---- several processes (team.c) ---- */

/* Joins the processes that were started together with this one, if there are any and the command shares its rows. */
int cli_team_begin(cli_app *app);
/* Waits for them; the exit status of the first that failed, whose error is printed, or of all. */
int cli_team_end(cli_app *app, int code);
/* Threads of this process by default: its share of the cores, unless the launcher has dealt them out. */
size_t cli_team_threads(const cli_app *app, size_t cores);

/* ---- which options are of use (uses.c) ---- */

bool cli_was_given(const cli_app *app, const char *name);
/* Does an option of the library have this value? */
bool cli_has_value(const cli_app *app, const char *name, const char *value);
/* Refuses an option that was given and that the chosen method or action has no use for. */
int cli_check_uses(const cli_app *app);
/* The methods or actions that have a use for an option; NULL when all have. */
const char *cli_users_of(const cli_command *command, const tn_options *library, const char *option);

int cmd_rank(cli_app *app);
int cmd_fit(cli_app *app);
int cmd_cv(cli_app *app);
int cmd_moments(cli_app *app);
int cmd_transfer(cli_app *app);
int cmd_predict(cli_app *app);
int cmd_eval(cli_app *app);
int cmd_report(cli_app *app);
int cmd_encoder(cli_app *app);
int cmd_extract(cli_app *app);
int cmd_pq(cli_app *app);
int cmd_kernel(cli_app *app);
int cmd_info(cli_app *app);
int cmd_doctor(cli_app *app);
int cmd_help(cli_app *app);
int cmd_completion(cli_app *app);

/* ---- help (help.c, topics.c) ---- */

typedef enum cli_format { CLI_TEXT, CLI_MARKDOWN, CLI_MAN } cli_format;

int cli_help_command(const cli_app *app, FILE *out, cli_format format, const cli_command *command);
int cli_help_all(const cli_app *app, FILE *out, cli_format format);
void cli_help_short(FILE *out);
/* What -h prints: the first examples, the usage, the names of the options; a screen and no more. */
void cli_help_brief(FILE *out, const cli_app *app);

typedef struct cli_topic {
    const char *title; /* NULL ends the list */
    const char *text;  /* paragraphs separated by an empty line; a line that begins with two blanks is an item */
} cli_topic;
extern const cli_topic cli_topics[];

/* ---- surroundings ---- */

/* Restarts the program once with better BLAS kernels when the BLAS did not pick them itself (blas_kernels.c). */
void cli_use_best_kernels(char **argv);
/* Who chose the kernels: "tenon", "user" or "blas". */
const char *cli_kernels_chosen_by(void);
/* SIGINT and SIGTERM cancel `ctx`; a second one ends the program (signals.c). */
void cli_watch_signals(tn_ctx *ctx);
/* A bar on standard error where it is wanted (progress.c). */
void cli_progress_start(tn_ctx *ctx, const cli_options *options);
/* share of the command that is done, from 0 to 1; less than before is as much as before. */
void cli_progress_show(const char *stage, double share);
void cli_progress_clear(void);
/* What is counted beside the bar from now on, per second: pictures. */
void cli_progress_count(const char *what, size_t count);

/* ---- files (files.c) ---- */

/* Refuses outputs that are inputs, unless --force, or one another. */
int cli_check_files(const cli_app *app);
/* Every file and folder that the line names as an input, as it stands there: FILE of --data FILE, NAME=FILE. */
typedef void (*cli_input_fn)(void *user, const char *option, const char *word);
void cli_each_input(const cli_app *app, cli_input_fn use, void *user);

/* ---- files in the place of others (slips.c) ---- */

/* Whatever the case of the letters. */
bool cli_ends_with(const char *text, const char *end);
/* A container whose metadata name the format: tenon-head, tenon-kernel, tenon-pq. */
bool cli_calls_itself(const char *path, const char *format);
/* Refuses a line where a later argument is the file of that format that should stand at `place`. */
int cli_check_order(const cli_app *app, size_t place, const char *format, const char *what);
/* Refuses, before it is opened, a representation that says it is something else, or that is the file of --labels. */
int cli_check_features(const cli_app *app, const char *rep);
/* The exit status of a representation that could not be opened; says what it is instead where that is known. */
int cli_features_failed(const cli_app *app, const char *rep, tn_status status);
bool cli_is_whole(tn_dtype type);
/* Refuses a representation that looks like labels where labels are given; NAME=FILE says that a feature is meant. */
int cli_check_column(const cli_app *app, const char *rep, const tn_features *features);

/* ---- inputs (inputs.c) ---- */

typedef struct cli_features {
    tn_features **items;
    size_t count;
    tn_pictures *pictures; /* of features that are encoded when they are asked for, or NULL */
} cli_features;

/* Opens representations; two of one name are wrong usage. Owned by the caller, also after a failure: free with
 * cli_features_close. */
int cli_features_open(cli_app *app, const char *const *reps, size_t count, cli_features *out);
void cli_features_close(cli_features *features);
/* Frees app->pictures and app->encoders. */
void cli_forget_pictures(cli_app *app);
/* The same list as the library takes it. */
const tn_features *const *cli_features_view(const cli_features *features);
/* tn_rows_agree; a folder that was meant for several representations is told (slips.c). */
int cli_rows_agree(cli_app *app, const cli_features *features, const tn_labels *labels);
/* Refuses a command line without -o, or one whose output cannot be written. */
int cli_need_output(const cli_app *app);
/* Sources of a transfer (sources.c): files of scores, heads, folders of heads. */
typedef struct cli_sources {
    tn_source *list;
    char **names; /* count: of heads; NULL for files, which know their own */
    size_t count;
} cli_sources;

/* Owned by the caller, also after a failure: free with cli_sources_close. */
int cli_sources_open(cli_app *app, const tn_words *words, cli_sources *out);
void cli_sources_close(cli_sources *sources);

/* Everything that is opened for a fit (cmd_fit.c); objects among its options are set. */
typedef struct cli_fit_inputs {
    cli_features features, valid_features;
    tn_labels *labels, *valid_labels;
    tn_head *from;
} cli_fit_inputs;

/* Refuses a line without --labels, or with half of a validation set. */
int cli_check_valid(const cli_app *app);
/* The caller's also after a failure: close with cli_fit_close. */
int cli_fit_open(cli_app *app, cli_fit_inputs *in);
void cli_fit_close(cli_fit_inputs *in);

/* What --moments of rank and fit names, in the place of representations, as one, and the rows of --rows beside it
 * (cmd_moments.c). The caller's also after a failure: close with cli_moments_close. */
typedef struct cli_moments {
    tn_tally *tally;
    cli_features rows;
    tn_labels *labels; /* of rows */
} cli_moments;
int cli_moments_open(cli_app *app, cli_moments *in);
void cli_moments_close(cli_moments *in);
/* Wrong usage where --rows is given without them. */
int cli_no_sample(const cli_app *app);

/* Labels with the names that --classes gives them; owned by the caller. */
int cli_labels_open(cli_app *app, const char *path, tn_task task, tn_labels **out);
/* The same to learn from: what can hardly be meant is told. weighted: uneven classes are seen to, or cannot be. */
int cli_labels_train(cli_app *app, const char *path, bool weighted, tn_labels **out);
/* Makes all names of --classes, if it is given, the classes of the labels, those that no row has too. */
int cli_labels_all(cli_app *app, tn_labels *labels);
/* Refuses a command line without --labels. */
int cli_need_labels(const cli_app *app);

/* ---- results and warnings (result.c) ---- */

/* From here on warnings of the library are printed and kept. */
void cli_watch_warnings(cli_app *app);
void cli_forget_warnings(cli_app *app);
/* True where --quiet leaves nothing to print: the result is a file, and nobody asked for JSON. */
bool cli_says_nothing(const cli_app *app);
/* Prints what the library made of a result: a table, which gets its dashes, or a JSON object, which gets the warnings.
 * */
void cli_print_result(const cli_app *app, char *text);
/* Gives options in a text of the library their dashes, in place: it becomes shorter (dashes.c). */
void cli_add_dashes(char *text);
/* Text from outside, shown as tn_plain_char does. */
void cli_plain(FILE *out, const char *text);
/* printf of a line or a piece of one whose arguments came from outside; a line end stands at the end of the format
 * only. */
void cli_say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends a JSON object that the program writes itself: the warnings, with --report where the result comes from, the brace,
 * the end of the line. */
void cli_json_end(const cli_app *app, FILE *out);

/* ---- pages (report.c) ---- */

/* --report: the page of a result. *json is the library's text of it, made with that status, and is freed; more: a second
 * one, or NULL. */
int cli_report(cli_app *app, tn_status made, char **json, char **more);
/* Adds the member provenance to an object that has others. */
void cli_json_provenance(const cli_app *app, FILE *out);
/* Writes a page, with the pictures of --images or of the command. */
int cli_page_write(cli_app *app, tn_page *page, const char *path);

/* ---- tables as CSV (csv.c) ---- */

typedef struct cli_csv cli_csv;

/* The caller's also after a failure: free with cli_csv_free; the file is there after commit only. */
int cli_csv_new(cli_app *app, const char *path, cli_csv **out);
/* Cells, NaN as an empty one; a number of rows stays whole up to 1e9. */
void cli_csv_text(cli_csv *csv, const char *text);
void cli_csv_number(cli_csv *csv, double value);
/* A cell in pieces. */
void cli_csv_open(cli_csv *csv);
void cli_csv_more(cli_csv *csv, const char *text);
void cli_csv_close(cli_csv *csv);
/* The line is done. */
void cli_csv_end(cli_csv *csv);
int cli_csv_commit(cli_app *app, cli_csv *csv);
void cli_csv_free(cli_csv *csv);

/* ---- JSON for the commands whose result is no library object (json.c) ---- */

void cli_json_string(FILE *out, const char *text);
void cli_json_number(FILE *out, double value);

#endif
