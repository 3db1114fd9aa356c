/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of many bags as an encoder compares them with its words, or as they are before its projection, made once
 * and read many times: halves, in a file or in memory. */
#ifndef TNP_DESCRIPTORS_H
#define TNP_DESCRIPTORS_H

#include "encode/encoder.h"

typedef struct tnp_descriptors {
    size_t bags, atoms, dim;
    size_t *starts;       /* (bags * atoms + 1): first row of every atom of every bag */
    size_t most;          /* rows of the largest bag */
    float *shift, *scale; /* (dim): a value is shift + scale half; scales are powers of two */
    bool raw;             /* before the projection, less its mean: a value is scale half */
    uint16_t *halves;     /* (rows, dim), or NULL: they are in the file */
    tnp_file *file;
} tnp_descriptors;

/* Of all bags of the stream. raw: as they are before the projection, which the encoder must have, less its mean;
 * places, if the encoder has any, follow as they do behind projected ones. path: the file to keep them in, "" for
 * memory. A file that is there is taken as it is when it is of the same bags and encoder, told by `key`, and refused
 * else (TN_ERR_DATA). TN_ERR_DATA for NaN, and for a value beyond 65504 deviations. All zero before,
 * tnp_descriptors_free after. */
tn_status tnp_descriptors_new(tn_ctx *ctx, const tn_encoder *encoder, bool raw, tnp_bag_stream *stream,
                              const char *path, uint64_t key, tnp_descriptors *out);
void tnp_descriptors_free(tnp_descriptors *descriptors);
size_t tnp_descriptors_rows(const tnp_descriptors *descriptors);

/* Where the rows of one bag are put. */
typedef struct tnp_described_bag {
    float *rows;      /* (most, dim) */
    size_t *starts;   /* (atoms + 1) */
    uint16_t *halves; /* (most, dim): scratch */
} tnp_described_bag;

tn_status tnp_described_bag_new(tn_ctx *ctx, const tnp_descriptors *descriptors, tnp_described_bag *out);
void tnp_described_bag_free(tnp_described_bag *bag);
/* By any thread, with its own context. */
tn_status tnp_descriptors_get(tn_ctx *ctx, const tnp_descriptors *descriptors, size_t bag, tnp_described_bag *out);
/* Keeps each row with probability `keep`, drawn by seed and stream, of every atom in order; starts are those of what is
 * left. */
void tnp_described_bag_thin(const tnp_descriptors *descriptors, double keep, uint64_t seed, uint64_t stream,
                            tnp_described_bag *bag);

#endif
