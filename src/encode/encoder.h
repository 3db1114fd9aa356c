/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of an encoder: what turns a bag of descriptors into one vector, and how bags are made of pictures. */
#ifndef TNP_ENCODER_H
#define TNP_ENCODER_H

#include "describe/describe.h"
#include "describe/net/network.h"
#include "encode/mixture.h"
#include "encode/projection.h"
#include "encode/pyramid.h"
#include "encode/words.h"
#include "read/pictures/picture.h"
#include "tenon/encode.h"

typedef enum tnp_encoder_kind { TNP_FISHER, TNP_VLAD, TNP_BOVW, TNP_LLC } tnp_encoder_kind;
typedef enum tnp_encoder_norm {
    TNP_NORM_AUTO,
    TNP_NORM_ROOT,
    TNP_NORM_INTRA,
    TNP_NORM_L2,
    TNP_NORM_RAW
} tnp_encoder_norm;

typedef enum tnp_refine_way { TNP_REFINE_LBFGS, TNP_REFINE_GD, TNP_REFINE_ADAM } tnp_refine_way;

typedef enum tnp_refine_objective {
    TNP_OBJECTIVE_SVM,
    TNP_OBJECTIVE_CV,
    TNP_OBJECTIVE_MULTINOMIAL
} tnp_refine_objective;

typedef enum tnp_refine_learn { TNP_LEARN_MIXTURE, TNP_LEARN_PROJECTION, TNP_LEARN_BOTH } tnp_refine_learn;

/* Of the refinement of a mixture (refine_options.c says why each default). */
typedef struct tnp_refine_options {
    const char *task;      /* "shared": all classes; else the name of one */
    int learn;             /* tnp_refine_learn */
    int optimizer;         /* tnp_refine_way */
    int objective;         /* tnp_refine_objective */
    size_t rounds;         /* at most */
    tnp_real_or_word cost; /* C of the support vector machines, over the number of bags; auto: by validation */
    double penalty;        /* of moves, times C */
    double soften;         /* of the root, see encode/fisher_back.h */
    double rate;           /* of adam, in deviations */
    double part;           /* of the descriptors, for the gradient */
    double dropout;        /* of the descriptors, from everything */
    double threshold;      /* of posteriors */
    double holdout;        /* share of the bags to choose by */
    size_t patience;       /* rounds without a better figure before the end; 0: never */
    bool intercept;
    bool twice;                     /* an EM mixture of twice the size beside it */
    int precision;                  /* 0: f32, 1: f64 */
    const char *cache, *checkpoint; /* files; "": none */
} tnp_refine_options;

void tnp_refine_options_default(tnp_refine_options *options);
const tn_field *tnp_refine_fields(size_t *count);

typedef struct tnp_encoder_options {
    tnp_picture_options picture;
    tnp_describe_options describe;
    int kind, norm;
    size_t words;        /* 0: 64 for fisher and vlad, 2048, the online paper's, for bovw and llc */
    size_t pca;          /* 64, both papers'; 0 or as many as there are: none */
    bool whiten, places; /* no; no */
    const char *pyramid; /* "1x1" */
    size_t neighbours;   /* of LLC; 5, its paper's */
    size_t sample;       /* descriptors to learn from; 0: all, in passes */
    size_t iterations;   /* at most, of k-means and of EM each */
    double floor;        /* of variances, as a share of those of all descriptors */
    size_t seed;
    size_t pictures; /* to learn from at most; 0: all */
    tnp_refine_options refine;
} tnp_encoder_options;

void tnp_encoder_options_default(tnp_encoder_options *options);
extern const tnp_options_kind tnp_encoder_kind_of_options;

struct tn_encoder {
    /* How bags come: by this from pictures; when it has no kind, by a network, or from elsewhere. */
    tnp_describer describer;
    char *network;            /* tn_network_about of the one that it was trained with, or NULL */
    const tn_network *joined; /* borrowed: the one that makes its bags now, or NULL */
    tnp_picture_options picture;
    size_t from;               /* values of a descriptor */
    tnp_projection projection; /* to 0: none */
    bool places;               /* x and y, times place_scale, follow the projected descriptor */
    float place_scale;
    size_t dim; /* of words: projected, places included */
    tnp_encoder_kind kind;
    tnp_encoder_norm norm; /* never AUTO */
    size_t neighbours;
    tnp_pyramid pyramid;
    tnp_mixture mixture;   /* fisher */
    tnp_words_table words; /* the others */
};

extern const char tnp_encoder_kinds[], tnp_encoder_norms[]; /* joined by | */

/* Values of one cell. */
size_t tnp_encoder_cell(const tn_encoder *encoder);
/* Descriptors as words are compared with: (n, dim). places may be NULL where they are not needed. */
tn_status tnp_encoder_project(tn_ctx *ctx, const tn_encoder *encoder, const float *x, const float *places, size_t n,
                              float *out);
/* Atoms of its pyramid. */
size_t tnp_encoder_atoms(const tn_encoder *encoder);
/* Descriptors x (n, from) as words are compared with, those of one atom after those of another: rows (n, dim), atom a
 * from starts[a] to starts[a + 1] (atoms + 1). */
tn_status tnp_encoder_arrange(tn_ctx *ctx, const tn_encoder *encoder, const float *x, const float *places, size_t n,
                              float *rows, size_t *starts);
/* Descriptors of each cell, from those of each atom. */
void tnp_encoder_cell_rows(const tn_encoder *encoder, const size_t *starts, size_t *rows);
/* The vector of such rows before any normalisation, cell by cell; and normalised, in place. */
tn_status tnp_encode_raw(tn_ctx *ctx, const tn_encoder *encoder, const float *rows, const size_t *starts, float *out);
void tnp_encode_norm(const tn_encoder *encoder, float *out);
/* The vector of a bag; values were checked to be finite. */
tn_status tnp_encode(tn_ctx *ctx, const tn_encoder *encoder, const float *x, const float *places, size_t n, float *out);
/* Does it need to know where descriptors were taken? */
bool tnp_encoder_needs_places(const tn_encoder *encoder);

/* ---- bags, one after the other (bag_stream.c) ---- */

typedef struct tnp_bag {
    const float *x, *places; /* (rows, dim), (rows, 3) or NULL; borrowed until the next is asked for */
    size_t rows;
    bool missing; /* a broken picture that is skipped */
} tnp_bag;

/* Either pictures, described or seen by a network, or bags; asked in ascending order. */
typedef struct tnp_bag_stream {
    const tn_pictures *pictures;
    const tn_bags *bags;
    size_t count, dim;
    bool has_places;
    const tnp_describer *describer; /* of pictures; NULL: the network */
    const tn_network *network;
    tnp_picture_options picture;
    tnp_described described;
    tn_picture **decoded; /* pictures [first, first + some) */
    size_t first, some, capacity;
    float *x, *places; /* of bags; of a network: bags [first, first + some), and the places of all */
    size_t rows_capacity;
} tnp_bag_stream;

/* all zero before, tnp_bag_stream_close after. */
tn_status tnp_bag_stream_pictures(tn_ctx *ctx, const tn_pictures *pictures, const tnp_describer *describer,
                                  const tnp_picture_options *options, tnp_bag_stream *out);
/* Pictures through a network that makes bags. */
tn_status tnp_bag_stream_network(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *network,
                                 tnp_bag_stream *out);
tn_status tnp_bag_stream_bags(tn_ctx *ctx, const tn_bags *bags, tnp_bag_stream *out);
void tnp_bag_stream_close(tnp_bag_stream *stream);
tn_status tnp_bag_stream_get(tn_ctx *ctx, tnp_bag_stream *stream, size_t i, tnp_bag *out);
/* The decoded picture i, of a stream of pictures; NULL: broken and skipped. */
tn_status tnp_bag_stream_picture(tn_ctx *ctx, tnp_bag_stream *stream, size_t i, const tn_picture **out);

#endif
