/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 9, store: fitted objects to and from files, and to and from bytes in memory, which are those of the file. Files
 * are written beside and renamed; a failure leaves nothing. `command` is recorded in created_by; may be NULL.
 *
 *   ..._to_bytes     *size bytes at *bytes, owned by the caller, free with tn_bytes_free
 *   ..._from_bytes   bytes are borrowed until return; name is what messages call them, may be NULL. Failures as of the
 *                    file, but for TN_ERR_IO */
#ifndef TENON_STORE_H
#define TENON_STORE_H

#include "tenon/describe.h"
#include "tenon/encode.h"
#include "tenon/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

TN_API void tn_bytes_free(void *bytes);

/* A head as .safetensors, layout in docs/formats.md. TN_ERR_OUTPUT. */
TN_API tn_status tn_head_save(tn_ctx *ctx, const tn_head *head, const char *command, const char *path);
/* TN_ERR_IO, TN_ERR_FORMAT, TN_ERR_UNSUPPORTED (a later version). Owned by the caller, free with tn_head_free. */
TN_API tn_status tn_head_load(tn_ctx *ctx, const char *path, tn_head **out);
TN_API tn_status tn_head_to_bytes(tn_ctx *ctx, const tn_head *head, const char *command, void **bytes, size_t *size);
TN_API tn_status tn_head_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_head **out);

/* An online learner as .safetensors: the head as of now, which tn_head_load reads too, and the whole state of the
 * learner, to the bit: one that is loaded goes on as if it had never been saved. Failures as for heads, and those of
 * tn_online_head. */
TN_API tn_status tn_online_save(tn_ctx *ctx, const tn_online *online, const char *command, const char *path);
/* Owned by the caller, free with tn_online_free. */
TN_API tn_status tn_online_load(tn_ctx *ctx, const char *path, tn_online **out);
TN_API tn_status tn_online_to_bytes(tn_ctx *ctx, const tn_online *online, const char *command, void **bytes,
                                    size_t *size);
TN_API tn_status tn_online_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_online **out);

/* Statistics as .safetensors: gram, shift, sum, xty, ysum, yy, exact to the last bit. Failures as for heads. */
TN_API tn_status tn_moments_save(tn_ctx *ctx, const tn_moments *moments, const char *path);
TN_API tn_status tn_moments_load(tn_ctx *ctx, const char *path, tn_moments **out);
TN_API tn_status tn_moments_to_bytes(tn_ctx *ctx, const tn_moments *moments, void **bytes, size_t *size);
TN_API tn_status tn_moments_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_moments **out);

/* A tally as .safetensors, layout in docs/formats.md. Failures as for heads. */
TN_API tn_status tn_tally_save(tn_ctx *ctx, const tn_tally *tally, const char *command, const char *path);
TN_API tn_status tn_tally_load(tn_ctx *ctx, const char *path, tn_tally **out);
TN_API tn_status tn_tally_to_bytes(tn_ctx *ctx, const tn_tally *tally, const char *command, void **bytes, size_t *size);
TN_API tn_status tn_tally_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_tally **out);
/* Of several files as one, merged in an order that does not depend on that of the paths: the same files give the same
 * bits. Two of them are in memory at a time. Failures as tn_tally_load and tn_tally_merge, with the path. */
TN_API tn_status tn_tally_open(tn_ctx *ctx, const char *const *paths, size_t count, tn_tally **out);

/* A product quantiser as .safetensors, layout in docs/formats.md. Failures as for heads. */
TN_API tn_status tn_pq_save(tn_ctx *ctx, const tn_pq *pq, const char *command, const char *path);
TN_API tn_status tn_pq_load(tn_ctx *ctx, const char *path, tn_pq **out);
TN_API tn_status tn_pq_to_bytes(tn_ctx *ctx, const tn_pq *pq, const char *command, void **bytes, size_t *size);
TN_API tn_status tn_pq_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_pq **out);
/* Every row of src as codes, with the centroids they stand for: a representation that tn_features_open reads without
 * another file. Rows are read, encoded and written in blocks. info may be NULL. Besides TN_ERR_OUTPUT: TN_ERR_SHAPE
 * when src has other columns than the quantiser, TN_ERR_DATA for a row with NaN or infinity. */
TN_API tn_status tn_codes_save(tn_ctx *ctx, const tn_pq *pq, const tn_features *features, const char *command,
                               const char *path, tn_pq_info *info);

/* An encoder as .safetensors, layout in docs/formats.md. Failures as for heads. */
TN_API tn_status tn_encoder_save(tn_ctx *ctx, const tn_encoder *encoder, const char *command, const char *path);
TN_API tn_status tn_encoder_load(tn_ctx *ctx, const char *path, tn_encoder **out);
TN_API tn_status tn_encoder_to_bytes(tn_ctx *ctx, const tn_encoder *encoder, const char *command, void **bytes,
                                     size_t *size);
TN_API tn_status tn_encoder_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_encoder **out);

/* Kind, hash, sizes and network of an encoder as a JSON object, which heads remember; free with tn_text_free. */
TN_API tn_status tn_encoder_about(tn_ctx *ctx, const tn_encoder *encoder, char **out);
/* The encoder that made the rows of representation i of a head, from pictures, or from bags of a network that is still to
 * be set (tn_encoder_set_network). Owned by the caller, free with tn_encoder_free. TN_ERR_ARG: none did, or it was
 * trained by a version that did not keep it; failures as of its file. */
TN_API tn_status tn_head_encoder(tn_ctx *ctx, const tn_head *head, size_t i, tn_encoder **out);

/* Pictures to vectors in one pass: paths[e] becomes the float32 .npy of encoders[e], rows in the order of the pictures,
 * with a .json beside it that has ids, encoder and command. A broken picture stops it: tn_pictures_drop_broken first
 * where they are to be left out. TN_ERR_ARG: encoders of bags, or of pictures of different sizes; TN_ERR_OUTPUT. */
TN_API tn_status tn_extract(tn_ctx *ctx, const tn_pictures *pictures, const tn_encoder *const *encoders, size_t count,
                            const char *const *paths, const char *command);
/* The same of bags, by one encoder. */
TN_API tn_status tn_extract_bags(tn_ctx *ctx, const tn_bags *bags, const tn_encoder *encoder, const char *path,
                                 const char *command);
/* Either of these with options, of "extract"; the other of pictures and bags is NULL. Values may be halves; with `resume`
 * rows are kept in the folder paths[e].parts until all are there, and the same call goes on from those that one which was
 * interrupted, or killed, has left: to the same bytes. TN_ERR_ARG too: the folder holds rows of another extraction. */
TN_API tn_status tn_extract_rows(tn_ctx *ctx, const tn_pictures *pictures, const tn_bags *bags,
                                 const tn_encoder *const *encoders, size_t count, const char *const *paths,
                                 const char *command, const tn_options *options);
/* Vectors of pictures as features, without a file: all of them in memory, since learners read rows many times; or, with a
 * cache (NULL: none), a folder where rows are kept as those of networks are, read from there. A pass for all encoders
 * that want pictures of one size, one for every encoder of a network. They remember their encoders: heads keep them.
 * count features, each owned by the caller, free with tn_features_close. TN_ERR_OUTPUT, and as tn_extract_rows
 * fails. */
TN_API tn_status tn_features_from_encoders(tn_ctx *ctx, const char *const *names, const tn_pictures *pictures,
                                           const tn_encoder *const *encoders, size_t count, const char *cache,
                                           tn_features **out);
/* The same by one encoder, in memory. */
TN_API tn_status tn_features_from_pictures(tn_ctx *ctx, const char *name, const tn_pictures *pictures,
                                           const tn_encoder *encoder, tn_features **out);
/* The same without the memory for them: a row is encoded whenever it is asked for. Pictures and encoder are borrowed
 * until tn_features_close. */
TN_API tn_status tn_features_stream_pictures(tn_ctx *ctx, const char *name, const tn_pictures *pictures,
                                             const tn_encoder *encoder, tn_features **out);

/* Rows of networks in one pass over the pictures: paths[k] becomes the float32 .npy of networks[k], of shape (rows,
 * cols), or (rows, descriptors, cols) of one that makes bags, with a .json beside it. cache, unless NULL, is a folder
 * where rows are kept, in blocks, under the hash of the pictures (paths, sizes, times), the network and its options:
 * blocks that are there are not computed again, whoever left them, also after a kill; several programs may share it. A
 * broken picture stops it. TN_ERR_OUTPUT, and as networks and pictures fail. */
TN_API tn_status tn_extract_networks(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *const *networks,
                                     size_t count, const char *const *paths, const char *cache, const char *command);
/* The same as features (count of them, each the caller's), which remember their network: in memory, or, with a cache,
 * read from there. TN_ERR_ARG for a network that makes bags. */
TN_API tn_status tn_features_from_networks(tn_ctx *ctx, const char *const *names, const tn_pictures *pictures,
                                           const tn_network *const *networks, size_t count, const char *cache,
                                           tn_features **out);

/* A learned map as .safetensors, layout in docs/formats.md. Failures as for heads; TN_ERR_ARG for a named map, which
 * needs no file. */
TN_API tn_status tn_map_save(tn_ctx *ctx, const tn_map *map, const char *command, const char *path);
TN_API tn_status tn_map_load(tn_ctx *ctx, const char *path, tn_map **out);
TN_API tn_status tn_map_to_bytes(tn_ctx *ctx, const tn_map *map, const char *command, void **bytes, size_t *size);
TN_API tn_status tn_map_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_map **out);

/* Every row of src through the map, normalised, as float32 .npy: rows x (columns x tn_map_width). Read, mapped and
 * written in blocks. TN_ERR_OUTPUT; TN_ERR_DATA for a row with NaN or infinity unless nan is TN_NAN_ZERO. */
TN_API tn_status tn_map_rows_save(tn_ctx *ctx, const tn_map *map, const tn_features *features, tn_normalize normalize,
                                  tn_nan_policy nan, const char *path);
/* A float32 .npy written row block by row block. */
typedef struct tn_npy_writer tn_npy_writer;
TN_API tn_status tn_npy_writer_open(tn_ctx *ctx, const char *path, size_t rows, size_t cols, tn_npy_writer **out);
/* The same with values of TN_F32 or TN_F16; rows are given as floats. Halves: TN_ERR_DATA for a value beyond them. */
TN_API tn_status tn_npy_writer_open_as(tn_ctx *ctx, const char *path, size_t rows, size_t cols, tn_dtype dtype,
                                       tn_npy_writer **out);
TN_API tn_status tn_npy_writer_rows(tn_ctx *ctx, tn_npy_writer *writer, const float *data, size_t rows);
/* Gives the file its name; TN_ERR_SHAPE when rows are missing. */
TN_API tn_status tn_npy_writer_commit(tn_ctx *ctx, tn_npy_writer *writer);
/* NULL is legal; without commit the file is removed. */
TN_API void tn_npy_writer_close(tn_npy_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
