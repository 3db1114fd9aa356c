/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 3, encode: encoders turn a bag of descriptors into one vector; quantisers turn vectors into codes.
 *
 * Product quantisation: the columns of a representation are cut into groups of `sub`, and each group
 * of a row is replaced by the number of the nearest of at most 256 centroids, one byte. Representations of codes are
 * opened by tn_features_open like any other. Files: tn_pq_save, tn_pq_load, tn_codes_save in report.h. */
#ifndef TENON_ENCODE_H
#define TENON_ENCODE_H

#include "tenon/describe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_pq tn_pq;

typedef struct tn_pq_info {
    size_t rows;       /* trained on, or encoded */
    size_t iterations; /* of the group that took most; training only */
    size_t unfinished; /* groups that were stopped by the limit on iterations; training only */
    double error;      /* sum of squared differences between the rows and what their codes stand for */
    double energy;     /* sum of the squares of the rows */
    double seconds;
} tn_pq_info;

/* Trains a quantiser on a sample of the rows of src, as they are stored, group by group: Lloyd's k-means until an
 * iteration lowers the error by less than 1e-4 of it. options: of "pq". features are borrowed until return; info may be
 * NULL. Owned by the caller, free with tn_pq_free. TN_ERR_ARG; TN_ERR_DATA for a row with NaN or infinity; TN_ERR_IO,
 * TN_ERR_MEMORY, TN_ERR_BUDGET. O(iterations * sample * centroids * columns), the memory of about 4 million values. The
 * same for every number of threads. */
TN_API tn_status tn_pq_fit(tn_ctx *ctx, const tn_features *features, const tn_options *options, tn_pq_info *info,
                           tn_pq **out);
TN_API void tn_pq_free(tn_pq *pq);

TN_API size_t tn_pq_dim(const tn_pq *pq);       /* columns of a row */
TN_API size_t tn_pq_sub(const tn_pq *pq);       /* columns of a code */
TN_API size_t tn_pq_groups(const tn_pq *pq);    /* codes of a row: ceil(dim / sub) */
TN_API size_t tn_pq_centroids(const tn_pq *pq); /* of a group */

/* The codes of the rows of x (rows x dim) into codes (rows x groups); of equally near centroids the first. *error,
 * unless NULL, becomes the sum of squared differences. TN_ERR_SHAPE; TN_ERR_DATA for a row with NaN or infinity. Safe
 * to call concurrently on one quantiser with different contexts. O(rows * dim * centroids). */
TN_API tn_status tn_pq_encode(tn_ctx *ctx, const tn_pq *pq, tn_view x, uint8_t *codes, double *error);
/* What the codes (rows x groups) stand for, into out (rows x dim, compact). TN_ERR_DATA for a code that has no
 * centroid. */
TN_API tn_status tn_pq_decode(tn_ctx *ctx, const tn_pq *pq, const uint8_t *codes, size_t rows, float *out);

/* ---- bags of pictures ---- */

/* One bag for each picture, its descriptors and their positions; the ids are those of the pictures. Nothing is kept: a
 * picture is decoded, shrunk to at most `pixels` pixels (0: as large as it is) and described, by options of "describe",
 * whenever descriptors or positions of its bag are read; in order, a bag at a time, costs least. Opening reads the head
 * of every file. Pictures are borrowed while the bags live. Owned by the caller, free with tn_bags_free. TN_ERR_ARG;
 * TN_ERR_DATA: no picture has space for a patch; as pictures fail: a broken one stops what reads it, and
 * tn_pictures_drop_broken forgets those. A picture without space for a patch has an empty bag. */
TN_API tn_status tn_bags_from_pictures(tn_ctx *ctx, const tn_pictures *pictures, size_t pixels,
                                       const tn_options *options, tn_bags **out);
/* The same of what a network with the option `as` bag makes of pictures, a few of which go through it at once: the places
 * of a map, with positions, or tokens, without. The network too is borrowed while the bags live. TN_ERR_ARG: one that
 * makes vectors. */
TN_API tn_status tn_bags_from_network(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *network,
                                      tn_bags **out);

/* ---- encoders: a bag of descriptors to one vector ---- */

/* Projection, words or mixture, pooling; and, of one that was trained on pictures, how pictures become bags. */
typedef struct tn_encoder tn_encoder;

typedef struct tn_encoder_info {
    size_t bags, missing; /* that were read; broken pictures that were skipped */
    size_t descriptors;   /* of all bags */
    size_t sample;        /* of these, learned from */
    double kept;          /* share of the variance that the PCA keeps */
    size_t iterations;    /* of k-means, or of EM for fisher */
    bool finished;        /* by its rule, not by the limit on iterations */
    double objective; /* mean squared distance from the nearest word; mean log likelihood of a descriptor for fisher */
    double seconds;
} tn_encoder_info;

/* Trains an encoder on pictures, or on bags from anywhere. options: of "encoder"; those of pictures and descriptors have
 * no meaning for bags. Everything is borrowed until return; info may be NULL. Owned by the caller, free with
 * tn_encoder_free. TN_ERR_ARG; TN_ERR_DATA: no descriptors, or NaN; as pictures and bags fail. Memory does not grow with
 * their number. The same for every number of threads, to rounding. */
TN_API tn_status tn_encoder_train(tn_ctx *ctx, const tn_pictures *pictures, const tn_options *options,
                                  tn_encoder_info *info, tn_encoder **out);
TN_API tn_status tn_encoder_train_bags(tn_ctx *ctx, const tn_bags *bags, const tn_options *options,
                                       tn_encoder_info *info, tn_encoder **out);
/* The same on what a network that makes bags, its option `as` being bag, makes of pictures: maps of a convolution,
 * tokens. The encoder remembers the network, and borrows it: tn_encoder_set_network. A broken picture stops it.
 * TN_ERR_ARG too: a network of vectors, or a pyramid over tokens, which have no places. */
TN_API tn_status tn_encoder_train_network(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *network,
                                          const tn_options *options, tn_encoder_info *info, tn_encoder **out);
TN_API void tn_encoder_free(tn_encoder *encoder);

TN_API size_t tn_encoder_dim(const tn_encoder *encoder);       /* values of a descriptor */
TN_API size_t tn_encoder_projected(const tn_encoder *encoder); /* values that words have: projected, places included */
TN_API size_t tn_encoder_words(const tn_encoder *encoder);
TN_API size_t tn_encoder_cols(const tn_encoder *encoder);      /* values of the vector of a bag */
TN_API const char *tn_encoder_kind(const tn_encoder *encoder); /* "fisher", "vlad", "bovw", "llc" */
/* What pictures are described by, "sift"; NULL: it was trained on bags, or on those of a network. */
TN_API const char *tn_encoder_descriptor(const tn_encoder *encoder);
/* The network that makes its bags of pictures, as tn_network_recall takes it; NULL: none does. */
TN_API const char *tn_encoder_network(const tn_encoder *encoder);
/* Joins it, after loading, to that network, which is borrowed while the encoder is used on pictures. TN_ERR_ARG: it was
 * trained without one; TN_ERR_SHAPE: other bags than it was trained on. Whether it is the same network by its hash is
 * tn_network_recall's to tell. */
TN_API tn_status tn_encoder_set_network(tn_ctx *ctx, tn_encoder *encoder, const tn_network *network);
TN_API const char *tn_encoder_pyramid(const tn_encoder *encoder); /* "1x1,2x2" */

/* ---- encoders that pictures are seen through where none is named ---- */

/* Name of the i-th; NULL behind the last. Sizes and reasons: docs/encoders.md. */
TN_API const char *tn_default_encoder_name(size_t i);
/* Sets options of "encoder" as the i-th has them, or, i being SIZE_MAX, as those of bags of networks are. */
TN_API tn_status tn_default_encoder_options(tn_ctx *ctx, size_t i, tn_options *options);

/* The vector of one bag into out (tn_encoder_cols): descriptors (n x dim) and their positions (n x 3; data NULL where
 * neither pyramid nor places need them), compact. Without descriptors it is zero. TN_ERR_SHAPE, TN_ERR_DATA for NaN or
 * infinity. Safe to call concurrently on one encoder with different contexts. */
TN_API tn_status tn_encoder_encode(tn_ctx *ctx, const tn_encoder *encoder, tn_view descriptors, tn_view positions,
                                   float *out);

#ifdef __cplusplus
}
#endif
#endif
