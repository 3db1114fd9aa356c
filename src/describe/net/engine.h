/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ONNX Runtime, found and loaded when it is asked for. Everything that we know of its C interface stands in engine.c. */
#ifndef TNP_ENGINE_H
#define TNP_ENGINE_H

#include "base/base.h"

enum { TNP_ENGINE_MESSAGE = 256, TNP_TENSOR_RANK = 8 };

typedef struct tnp_engine tnp_engine;
typedef struct tnp_session tnp_session;

/* A tensor of the engine, borrowed until tnp_result_free. */
typedef struct tnp_result {
    void *value;
    const void *data;
    int type; /* of elements: TNP_ONNX_FLOAT .. */
    size_t rank, dims[TNP_TENSOR_RANK];
} tnp_result;

/* TN_ERR_UNSUPPORTED with the ways to get one when there is none, or when it is too old. */
tn_status tnp_engine_open(tn_ctx *ctx, tnp_engine **out);
void tnp_engine_close(tnp_engine *engine);
const char *tnp_engine_version(const tnp_engine *engine);
const char *tnp_engine_path(const tnp_engine *engine);

/* A model, of its bytes, with one thread of its own: whoever calls tnp_session_run. plain: without rewriting the graph,
 * for looking at it. The engine outlives it. TN_ERR_UNSUPPORTED: what the engine refuses, in its words. */
tn_status tnp_session_open(tn_ctx *ctx, const tnp_engine *engine, const char *path, const void *bytes, size_t size,
                           bool plain, tnp_session **out);
void tnp_session_close(tnp_session *session);
/* Type and shape that the engine knows of output i, -1 where it does not; false: nothing. */
bool tnp_session_output(const tnp_session *session, size_t i, int *type, size_t *rank, int64_t dims[TNP_TENSOR_RANK]);

/* One input, one output; by any thread, several at once. False: why, in message. */
bool tnp_session_run(const tnp_session *session, const char *input, int type, const void *data, size_t bytes,
                     const int64_t *dims, size_t rank, const char *output, tnp_result *out,
                     char message[TNP_ENGINE_MESSAGE]);
void tnp_result_free(const tnp_session *session, tnp_result *result);

#endif
