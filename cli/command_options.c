/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of every command, besides those of the library's calls. */
#include "command_options.h"
#include "nets.h"

#include <stddef.h>

#define AT(member) offsetof(cli_options, member)
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LIST(heading, array)                                                                                           \
    {                                                                                                                  \
        .title = (heading), .fields = (array), .count = COUNT(array)                                                   \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        .title = NULL                                                                                                  \
    }

/* ---- options of the program itself ---- */

static const tn_field common_fields[] = {
    {"json", TN_FIELD_FLAG, AT(json), 0, 0, NULL, "print one JSON object instead of a table"},
    {"quiet", TN_FIELD_FLAG, AT(quiet), 0, 0, NULL,
     "print warnings and errors only, and results that are not written to a file"},
    {"progress", TN_FIELD_FLAG, AT(progress), 0, 0, NULL, "show progress even when standard error is no terminal"},
    {"no-color", TN_FIELD_FLAG, AT(no_color), 0, 0, NULL, "print without colours, as NO_COLOR does"},
    {"threads", TN_FIELD_INT, AT(threads), 0, 4096, "N", "threads to use; 0: all cores"},
    {"seed", TN_FIELD_INT, AT(seed), 0, 9007199254740992.0, "N", "seed of everything random"},
    {"mem", TN_FIELD_BYTES, AT(mem), 0, 0, "SIZE",
     "memory budget, e.g. 8G: work that needs more is refused at its start; 0: 80 % of what is free"},
    {"help", TN_FIELD_FLAG, AT(help), 0, 0, NULL, "print the help of this command"},
};

#define LABELS                                                                                                         \
    {                                                                                                                  \
        "labels", TN_FIELD_TEXT, AT(labels), 0, 0, "FILE", "the labels, one for each row of the representations"       \
    }
#define CLASSES                                                                                                        \
    {                                                                                                                  \
        "classes", TN_FIELD_TEXT, AT(classes), 0, 0, "FILE",                                                           \
            "names of classes that are numbers in the labels, one name per line, the first for 0"                      \
    }
#define TASK                                                                                                           \
    {                                                                                                                  \
        "task", TN_FIELD_CHOICE, AT(task), 0, 0, "auto|multiclass|multilabel|regression",                              \
            "what the labels mean; auto: by their file"                                                                \
    }
#define NAN_POLICY                                                                                                     \
    {                                                                                                                  \
        "nan", TN_FIELD_CHOICE, AT(nan), 0, 0, TN_NAN_WORDS,                                                           \
            "rows with NaN or infinity: refuse them, leave them out, or put zeros in their place"                      \
    }

#define FORCE                                                                                                          \
    {                                                                                                                  \
        "force", TN_FIELD_FLAG, AT(force), 0, 0, NULL, "let an output overwrite an input"                              \
    }

#define REPORT                                                                                                         \
    {                                                                                                                  \
        "report", TN_FIELD_TEXT, AT(report), 0, 0, "FILE.html", "write the result as a page for a browser too"         \
    }
#define PICTURES                                                                                                       \
    {                                                                                                                  \
        "images", TN_FIELD_WORDS, AT(images), 0, 0, "IMAGES",                                                          \
            "the rows are these pictures: the page shows mistakes and typical rows of the classes"                     \
    }
#define ENCODER                                                                                                        \
    {                                                                                                                  \
        "encoder", TN_FIELD_WORDS, AT(encoders), 0, 0, "ENC...",                                                       \
            "see pictures (IMAGES) through these, [NAME=]FILE, or default: those that are learned from the pictures "  \
            "where neither --encoder nor --net is given"                                                               \
    }
#define ON_ERROR                                                                                                       \
    {                                                                                                                  \
        "on-error", TN_FIELD_CHOICE, AT(on_error), 0, 0, "stop|skip",                                                  \
            "a broken picture, or shard that ends too early: end the work, or leave it out and say so"                 \
    }
#define BAGS                                                                                                           \
    {"bags",                                                                                                           \
     TN_FIELD_TEXT,                                                                                                    \
     AT(bags),                                                                                                         \
     0,                                                                                                                \
     0,                                                                                                                \
     "FILE",                                                                                                           \
     "descriptors in the place of IMAGES: .npz, .npy (N, T, D), or .npy with --offsets"},                              \
    {                                                                                                                  \
        "offsets", TN_FIELD_TEXT, AT(offsets), 0, 0, "FILE.npy",                                                       \
            "where the bags of --bags begin: one number more than bags"                                                \
    }

#define ENCODER_OF_HEAD                                                                                                \
    {                                                                                                                  \
        "encoder", TN_FIELD_WORDS, AT(encoders), 0, 0, "ENC...",                                                       \
            "encoders of IMAGES, [NAME=]FILE, in the place of those that the head keeps"                               \
    }

#define MOMENTS                                                                                                        \
    {                                                                                                                  \
        "moments", TN_FIELD_WORDS, AT(moments), 0, 0, "FILE...",                                                       \
            "in the place of representations and labels: sums over rows that are elsewhere, by tenon moments"          \
    }
#define WEIGHTS                                                                                                        \
    {                                                                                                                  \
        "sample-weight", TN_FIELD_TEXT, AT(weights), 0, 0, "FILE",                                                     \
            "how much each row counts, a representation of one column"                                                 \
    }
#define SAMPLE                                                                                                         \
    {                                                                                                                  \
        "rows", TN_FIELD_WORDS, AT(rows), 0, 0, "REP...",                                                              \
            "with --moments: some of the rows that went in, [NAME=]FILE, and --labels of them, for leave-one-out"      \
    }

static const tn_field rank_fields[] = {LABELS, CLASSES, TASK, MOMENTS, SAMPLE, REPORT, FORCE, ENCODER, ON_ERROR};
static const tn_field fit_fields[] = {
    LABELS,
    CLASSES,
    TASK,
    MOMENTS,
    SAMPLE,
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "HEAD", "the head file to write, .safetensors"},
    REPORT,
    FORCE,
    {"valid", TN_FIELD_WORDS, AT(valid), 0, 0, "REP...",
     "the same representations of other rows: lda and methods that end in -cv choose by them, online ones the pass "
     "and, with "
     "--tune, C and eta; the others report how well they do on them"},
    {"valid-labels", TN_FIELD_TEXT, AT(valid_labels), 0, 0, "FILE", "the labels of --valid"},
    {"from", TN_FIELD_TEXT, AT(from), 0, 0, "HEAD", "go on from this head; classes that it does not know are added"},
    ENCODER,
    ON_ERROR,
};
static const tn_field cv_fields[] = {
    LABELS,
    CLASSES,
    TASK,
    ENCODER,
    ON_ERROR,
    {"groups", TN_FIELD_TEXT, AT(groups), 0, 0, "FILE",
     "a group per row (patient, scene, video), as labels are given: its rows are never on both sides of a fold"},
    {"fold-file", TN_FIELD_TEXT, AT(fold_file), 0, 0, "FILE",
     "the fold of every row instead, as labels are given; rows without one always train and are never judged"},
    {"scores", TN_FIELD_TEXT, AT(scores), 0, 0, "FILE.npy",
     "write scores of the held-out rows there, rows x classes in the order of the files, of the first repeat"},
    REPORT,
    FORCE,
    {"valid", TN_FIELD_WORDS, AT(valid), 0, 0, "REP...",
     "the same representations of rows of no fold, by which lda and methods that end in -cv choose, online ones the "
     "pass and, "
     "with --tune, C and eta"},
    {"valid-labels", TN_FIELD_TEXT, AT(valid_labels), 0, 0, "FILE", "the labels of --valid"},
    {"from", TN_FIELD_TEXT, AT(from), 0, 0, "HEAD", "go on from this head in every fold; it must not know these rows"},
};
#define CLASS(help)                                                                                                    \
    {                                                                                                                  \
        "class", TN_FIELD_TEXT, AT(positive), 0, 0, "NAME", help                                                       \
    }
#define SOURCE(help)                                                                                                   \
    {                                                                                                                  \
        "source", TN_FIELD_WORDS, AT(features), 0, 0, "REP_OR_HEAD...", help                                           \
    }
static const tn_field transfer_fields[] = {
    {"target", TN_FIELD_WORDS, AT(target), 0, 0, "REP...", "features of the rows to learn from"},
    LABELS,
    CLASSES,
    TASK,
    WEIGHTS,
    CLASS("learn this class against all others only: a head of two classes"),
    SOURCE("other classifiers: files of scores, with one row for each row of the target; heads; folders of heads"),
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "HEAD", "the head file to write, .safetensors"},
    REPORT,
    FORCE,
};
static const tn_field moments_fields[] = {
    LABELS, CLASSES, TASK, {"output", TN_FIELD_TEXT, AT(output), 0, 0, "FILE", "the moments to write, .safetensors"},
    FORCE,  WEIGHTS,
};
static const tn_field predict_fields[] = {
    SOURCE("the sources that a transfer head names"),
    {"top", TN_FIELD_INT, AT(top), 0, 1e9, "N",
     "print the N best classes as name:probability, name:score where the head has no probabilities; 0: the decision "
     "only"},
    {"proba", TN_FIELD_FLAG, AT(proba), 0, 0, NULL,
     "probabilities instead of scores, also in --scores; the head must have been calibrated"},
    {"csv", TN_FIELD_TEXT, AT(csv), 0, 0, "FILE.csv",
     "write a line per row there: its id, or its number from 0, and what was decided"},
    {"ids", TN_FIELD_TEXT, AT(ids), 0, 0, "FILE", "a label file whose ids name the rows in --csv and --json"},
    {"scores", TN_FIELD_TEXT, AT(scores), 0, 0, "FILE.npy", "write all scores there, rows x classes"},
    FORCE,
    NAN_POLICY,
    ENCODER_OF_HEAD,
    ON_ERROR,
};
static const tn_field eval_fields[] = {
    LABELS,
    CLASSES,
    TASK,
    CLASS("take the labels as this class against all others, as transfer --class did"),
    SOURCE("the sources that a transfer head names"),
    {"scores", TN_FIELD_TEXT, AT(scores), 0, 0, "FILE.npy", "measure these scores (rows x classes) instead of a head"},
    {"proba", TN_FIELD_FLAG, AT(proba), 0, 0, NULL, "those scores are probabilities: nll and ece too"},
    {"per-class", TN_FIELD_FLAG, AT(per_class), 0, 0, NULL,
     "print a line per class too, the worst first; --json always has them"},
    {"compare", TN_FIELD_TEXT, AT(compare), 0, 0, "HEAD",
     "measure this head too, with --scores this file of scores, and test the difference row by row"},
    {"resamples", TN_FIELD_INT, AT(resamples), 0, 10000, "N",
     "bootstrap resamples of the rows for the intervals, fewer where rows x classes are many; 0: no such intervals"},
    REPORT,
    PICTURES,
    FORCE,
    NAN_POLICY,
    ENCODER_OF_HEAD,
    ON_ERROR,
};
static const tn_field report_fields[] = {
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "FILE.html", "the page to write"},
    FORCE,
    PICTURES,
};
static const tn_field encoder_fields[] = {
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "ENC",
     "the encoder to write, .safetensors; a folder for refine --task each"},
    FORCE,
    BAGS,
    {"labels", TN_FIELD_TEXT, AT(labels), 0, 0, "FILE",
     "what the pictures or bags show, one line each; pictures in folders of classes and lists bring their own"},
    CLASSES,
    {"valid", TN_FIELD_WORDS, AT(valid), 0, 0, "IMAGES...",
     "other pictures, or bags, that choose C and the round instead of --holdout"},
    {"valid-labels", TN_FIELD_TEXT, AT(valid_labels), 0, 0, "FILE", "the labels of --valid"},
};
static const tn_field extract_fields[] = {
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "FILE.npy", "the vectors to write; a folder for several encoders"},
    FORCE,
    {"encoder", TN_FIELD_WORDS, AT(encoders), 0, 0, "ENC...",
     "what makes vectors: [NAME=]FILE, one file of vectors each"},
    {"labels-out", TN_FIELD_TEXT, AT(labels_out), 0, 0, "FILE.txt",
     "write the labels that come with the pictures there"},
    ON_ERROR,
    BAGS,
};
static const tn_field pq_fields[] = {
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "FILE", "the quantiser or the codes to write, .safetensors"},
    FORCE,
};
static const tn_field kernel_fields[] = {
    {"data", TN_FIELD_WORDS, AT(data), 0, 0, "REP LABELS", "rows and their labels; give it again for more sets"},
    {"output", TN_FIELD_TEXT, AT(output), 0, 0, "FILE", "the kernel (.safetensors) or the mapped rows (.npy) to write"},
    REPORT,
    FORCE,
    CLASSES,
    TASK,
    {"normalize", TN_FIELD_CHOICE, AT(normalize), 0, 0, TN_NORMALIZE_WORDS, "normalisation of the mapped rows"},
    {"csv", TN_FIELD_TEXT, AT(csv), 0, 0, "FILE", "write 256 x 256 values of k(x, y) there"},
    {"picture", TN_FIELD_TEXT, AT(picture), 0, 0, "FILE.svg", "draw them there, with the histogram of entries"},
};
static const tn_field info_fields[] = {
    {"task", TN_FIELD_CHOICE, AT(task), 0, 0, "auto|multiclass|multilabel|regression",
     "look at a .npy as labels of this kind; auto: only when it is one column of integers"},
};
static const tn_field help_fields[] = {
    {"format", TN_FIELD_CHOICE, AT(format), 0, 0, "text|markdown|man", "form of the text"},
};

#define COMMON LIST("Common options", common_fields)
#define NETS(many)                                                                                                     \
    {                                                                                                                  \
        .title = "Networks", .fields = cli_net_fields, .count = (many)                                                 \
    }
const cli_table cli_rank_tables[] = {COMMON, LIST("Options", rank_fields), NETS(CLI_NET_FIELDS - 1), END};
const cli_table cli_fit_tables[] = {COMMON, LIST("Options", fit_fields), NETS(CLI_NET_FIELDS - 1), END};
const cli_table cli_cv_tables[] = {COMMON, LIST("Options", cv_fields), NETS(CLI_NET_MAIN), END};
const cli_table cli_moments_tables[] = {COMMON, LIST("Options", moments_fields), END};
const cli_table cli_transfer_tables[] = {COMMON, LIST("Options", transfer_fields), END};
const cli_table cli_predict_tables[] = {COMMON, LIST("Options", predict_fields), NETS(CLI_NET_FIELDS), END};
const cli_table cli_eval_tables[] = {COMMON, LIST("Options", eval_fields), NETS(CLI_NET_FIELDS), END};
const cli_table cli_report_tables[] = {COMMON, LIST("Options", report_fields), END};
/* All but --cache, --as, --views and --other-net, which have nothing to do there. */
const cli_table cli_encoder_tables[] = {
    COMMON,
    LIST("Options", encoder_fields),
    NETS(1),
    {.title = "Networks", .fields = cli_net_fields + 2, .count = 1},
    {.title = "Networks", .fields = cli_net_fields + CLI_NET_MAIN, .count = CLI_NET_FIELDS - CLI_NET_MAIN - 1},
    END};
const cli_table cli_extract_tables[] = {COMMON, LIST("Options", extract_fields), NETS(CLI_NET_FIELDS - 1), END};
const cli_table cli_pq_tables[] = {COMMON, LIST("Options", pq_fields), END};
const cli_table cli_kernel_tables[] = {COMMON, LIST("Options", kernel_fields), END};
const cli_table cli_info_tables[] = {COMMON, LIST("Options", info_fields), END};
const cli_table cli_plain_tables[] = {COMMON, END};
const cli_table cli_help_tables[] = {COMMON, LIST("Options", help_fields), END};

const cli_use cli_encoder_uses[] = {
    {"pixels|side|largest|descriptor|step|sides|contrast|kind|words|pca|whiten|pyramid|places|norm|neighbours|sample|"
     "pictures|iterations|floor|net|layer|size|crop|mean|std|scale|resample|channels|layout|config",
     "train", "train"},
    {"output|force|bags|offsets|on-error", "train|refine", "train, refine"},
    {"labels|classes|valid|valid-labels|task|learn|objective|optimizer|rounds|C|penalty|soften|rate|part|dropout|"
     "threshold|"
     "holdout|patience|intercept|twice|precision|cache|checkpoint",
     "refine", "refine"},
    {NULL, NULL, NULL}};
const cli_use cli_pq_uses[] = {{"sub|centroids|sample|iterations", "train", "train"}, {NULL, NULL, NULL}};
const cli_use cli_kernel_uses[] = {
    {"data|classes|task|report|rank|rate|power|scale|basis|C|gap|max-passes", "learn", "learn"},
    {"normalize", "apply", "apply"},
    {"output|nan", "learn|apply", "learn, apply"},
    {"force", "learn|apply|show", "learn, apply, show"},
    {"csv|picture", "show", "show"},
    {NULL, NULL, NULL},
};
