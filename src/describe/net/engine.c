/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ONNX Runtime through its C interface: a table of functions, of which new versions have more but never others. So the
 * places of those that we call are written down here, and no header of the engine is needed to build. What a place holds
 * is tested when the library is loaded: a status must give back the code and the words it was made with, and the memory
 * of the processor must be called so (checks()).
 *
 * Found in this order: TENON_ONNXRUNTIME (the library or the folder it is in), what the system's loader finds, the copies
 * that Python's and npm's packages bring. The current folder is not looked at: programs there are not to be run by
 * looking at pictures. A library once loaded stays: engines leave threads' ends behind, and unloading would pull the code
 * away from under them.
 *
 * One thread per session, no spinning: our own threads call it side by side. Two networks on two cores with threads of
 * the engine each wait for one another's spinning. */
#define _GNU_SOURCE /* dladdr, RTLD_NODELETE */
#include "describe/net/engine.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Places in the table; 1.11 is the oldest version whose table is asked for. */
enum { TABLE_VERSION = 11 };
enum {
    CREATE_STATUS = 0,
    GET_ERROR_CODE = 1,
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV_WITH_LOGGER = 4,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_OPTIMIZATION = 23,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    OUTPUT_TYPE_INFO = 34,
    CREATE_TENSOR_WITH_DATA = 49,
    TENSOR_DATA = 51,
    CAST_TO_TENSOR_INFO = 55,
    ELEMENT_TYPE = 60,
    DIMENSION_COUNT = 61,
    DIMENSIONS = 62,
    TYPE_AND_SHAPE = 65,
    CREATE_CPU_MEMORY = 69,
    MEMORY_NAME = 71,
    RELEASE_ENV = 92,
    RELEASE_STATUS = 93,
    RELEASE_MEMORY = 94,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_TYPE_INFO = 98,
    RELEASE_SHAPE = 99,
    RELEASE_SESSION_OPTIONS = 100
};

typedef void function(void);
typedef struct base_table {
    function *const *(*get)(uint32_t version);
    const char *(*version)(void);
} base_table;

struct tnp_engine {
    char version[32], path[512];
    function *const *table;
    void *env, *memory;
};

struct tnp_session {
    const tnp_engine *engine;
    void *session;
};

/* Calls, by the types that they have there: CALL(engine, RELEASE_ENV, void, (void *))(env). A status is NULL when it
 * went well. */
#define CALL(engine, place, type, arguments) ((type(*) arguments)(engine)->table[place])

static void release(const tnp_engine *e, int place, void *object)
{
    if (object)
        CALL(e, place, void, (void *))(object);
}

/* True when it went well; else its words, on one line, and the status is freed. */
static bool fine(const tnp_engine *e, void *status, char message[TNP_ENGINE_MESSAGE])
{
    if (!status)
        return true;
    snprintf(message, TNP_ENGINE_MESSAGE, "%s", CALL(e, GET_ERROR_MESSAGE, const char *, (const void *))(status));
    message[strcspn(message, "\n")] = 0;
    release(e, RELEASE_STATUS, status);
    return false;
}

/* ---- finding ---- */

static const char WAYS[] = "install Debian's or your system's libonnxruntime, or pip install onnxruntime, or npm "
                           "install onnxruntime-node, or name the library by TENON_ONNXRUNTIME";

/* The interface of a library; its own path is put into `path`. */
static const base_table *try_library(const char *name, char *path, size_t size)
{
    const base_table *base = NULL;
    union {
        void *object;
        const base_table *(*call)(void);
    } get;
    Dl_info about;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    get.object = library ? dlsym(library, "OrtGetApiBase") : NULL;
    if (get.object) {
        base = get.call();
        snprintf(path, size, "%s", dladdr(get.object, &about) && about.dli_fname ? about.dli_fname : name);
    }
    if (library)
        dlclose(library);
    return base;
}

static const base_table *try_pattern(const char *pattern, char *path, size_t size)
{
    const base_table *base = NULL;
    glob_t found = {.gl_pathc = 0};
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !base; ++i)
            base = try_library(found.gl_pathv[i], path, size);
    globfree(&found);
    return base;
}

static const char NPM[] = "onnxruntime-node/bin/napi-v*/linux/"
#if defined(__aarch64__)
                          "arm64"
#else
                          "x64"
#endif
                          "/libonnxruntime.so*";

/* Copies of Python's and npm's packages, below folders that belong to the system or to the user. */
static const base_table *try_packages(char *path, size_t size)
{
    static const char *const folders[][3] = {
        /* variable that names the folder, or NULL; below it; of npm? */
        {"VIRTUAL_ENV", "lib/python3*/site-packages", NULL},
        {"CONDA_PREFIX", "lib/python3*/site-packages", NULL},
        {"CONDA_PREFIX", "lib", "conda"},
        {"HOME", ".local/lib/python3*/site-packages", NULL},
        {NULL, "/usr/local/lib/python3*/dist-packages", NULL},
        {NULL, "/usr/local/lib/python3*/site-packages", NULL},
        {NULL, "/usr/lib/python3*/site-packages", NULL},
        {NULL, "/usr/lib/python3/dist-packages", NULL},
        {"NPM_CONFIG_PREFIX", "lib/node_modules", "npm"},
        {"HOME", "node_modules", "npm"},
        {NULL, "/usr/local/lib/node_modules", "npm"},
        {NULL, "/usr/lib/node_modules", "npm"},
    };
    const base_table *base = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !base; ++i) {
        char pattern[1024];
        const char *before = folders[i][0] ? getenv(folders[i][0]) : "";
        const char *kind = folders[i][2];
        if (!before || (folders[i][0] && !*before))
            continue;
        snprintf(pattern, sizeof pattern, "%s%s%s/%s", before, *before ? "/" : "", folders[i][1],
                 !kind                      ? "onnxruntime/capi/libonnxruntime.so*"
                 : strcmp(kind, "npm") == 0 ? NPM
                                            : "libonnxruntime.so*");
        base = try_pattern(pattern, path, size);
    }
    return base;
}

static const base_table *find(const char *named, char *path, size_t size)
{
    static const char *const usual[] = {"libonnxruntime.so.1", "libonnxruntime.so", "libonnxruntime.dylib"};
    const base_table *base = NULL;
    if (named && *named) {
        char pattern[1024];
        snprintf(pattern, sizeof pattern, "%s/libonnxruntime.so*", named);
        base = try_library(named, path, size);
        return base ? base : try_pattern(pattern, path, size);
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !base; ++i)
        base = try_library(usual[i], path, size);
    return base ? base : try_packages(path, size);
}

/* ---- loading ---- */

static void say_nothing(void *arg, int level, const char *category, const char *id, const char *place, const char *text)
{
    (void)arg;
    (void)level;
    (void)category;
    (void)id;
    (void)place;
    (void)text;
}

/* Do the places hold what we think? */
static bool checks(const tnp_engine *e)
{
    static const char words[] = "tenon";
    const char *name = NULL;
    void *status = CALL(e, CREATE_STATUS, void *, (int, const char *))(2, words);
    bool right = status && CALL(e, GET_ERROR_CODE, int, (const void *))(status) == 2 &&
                 strcmp(CALL(e, GET_ERROR_MESSAGE, const char *, (const void *))(status), words) == 0;
    release(e, RELEASE_STATUS, status);
    return right && !CALL(e, MEMORY_NAME, void *, (const void *, const char **))(e->memory, &name) && name &&
           strcmp(name, "Cpu") == 0;
}

static tn_status start(tn_ctx *ctx, tnp_engine *e)
{
    char message[TNP_ENGINE_MESSAGE];
    typedef void logger(void *, int, const char *, const char *, const char *, const char *);
    if (!fine(e, CALL(e, CREATE_CPU_MEMORY, void *, (int, int, void **))(1, 0, &e->memory), message) ||
        !fine(e,
              CALL(e, CREATE_ENV_WITH_LOGGER, void *,
                   (logger *, void *, int, const char *, void **))(say_nothing, NULL, 4, "tenon", &e->env),
              message))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: does not start: %s", e->path, message);
    if (!checks(e))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: ONNX Runtime %s has another interface than is known here",
                        e->path, e->version);
    return TN_OK;
}

tn_status tnp_engine_open(tn_ctx *ctx, tnp_engine **out)
{
    tn_status st = TN_OK;
    tnp_engine *e = NULL;
    const char *named = getenv("TENON_ONNXRUNTIME");
    TN_TRY(tnp_alloc(ctx, 1, sizeof *e, &e));
    const base_table *base = find(named, e->path, sizeof e->path);
    if (!base && named && *named)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: TENON_ONNXRUNTIME names no ONNX Runtime; %s", named, WAYS));
    if (!base)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "no ONNX Runtime found; %s", WAYS));
    snprintf(e->version, sizeof e->version, "%s", base->version());
    if (strncmp(e->version, "1.", 2) == 0 && atoi(e->version + 2) >= TABLE_VERSION)
        e->table = base->get(TABLE_VERSION);
    if (!e->table)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: ONNX Runtime %s, expected 1.%d or later of 1", e->path,
                        e->version, TABLE_VERSION));
    TN_TRY(start(ctx, e));
    *out = e;
    e = NULL;
done:
    tnp_engine_close(e);
    return st;
}

void tnp_engine_close(tnp_engine *e)
{
    if (!e)
        return;
    if (e->table) {
        release(e, RELEASE_MEMORY, e->memory);
        release(e, RELEASE_ENV, e->env);
    }
    tnp_free(e);
}

const char *tnp_engine_version(const tnp_engine *e)
{
    return e->version;
}

const char *tnp_engine_path(const tnp_engine *e)
{
    return e->path;
}

/* ---- sessions ---- */

static bool make_options(const tnp_engine *e, bool plain, void **options, char *message)
{
    typedef void *set(void *, int);
    return fine(e, CALL(e, CREATE_SESSION_OPTIONS, void *, (void **))(options), message) &&
           fine(e, ((set *)e->table[SET_INTRA_THREADS])(*options, 1), message) &&
           fine(e, ((set *)e->table[SET_INTER_THREADS])(*options, 1), message) &&
           fine(e, ((set *)e->table[SET_OPTIMIZATION])(*options, plain ? 0 : 99), message);
}

tn_status tnp_session_open(tn_ctx *ctx, const tnp_engine *e, const char *path, const void *bytes, size_t size,
                           bool plain, tnp_session **out)
{
    tn_status st = TN_OK;
    char message[TNP_ENGINE_MESSAGE];
    void *options = NULL;
    tnp_session *s = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->engine = e;
    if (!make_options(e, plain, &options, message) ||
        !fine(e,
              CALL(e, CREATE_SESSION_FROM_ARRAY, void *, (const void *, const void *, size_t, const void *, void **))(
                  e->env, bytes, size, options, &s->session),
              message))
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: ONNX Runtime %s refuses it: %s", path, e->version, message));
    *out = s;
    s = NULL;
done:
    release(e, RELEASE_SESSION_OPTIONS, options);
    tnp_session_close(s);
    return st;
}

void tnp_session_close(tnp_session *s)
{
    if (!s)
        return;
    release(s->engine, RELEASE_SESSION, s->session);
    tnp_free(s);
}

static bool shape_of(const tnp_engine *e, const void *info, int *type, size_t *rank, int64_t dims[TNP_TENSOR_RANK],
                     char *message)
{
    return fine(e, CALL(e, ELEMENT_TYPE, void *, (const void *, int *))(info, type), message) &&
           fine(e, CALL(e, DIMENSION_COUNT, void *, (const void *, size_t *))(info, rank), message) &&
           *rank <= TNP_TENSOR_RANK &&
           fine(e, CALL(e, DIMENSIONS, void *, (const void *, int64_t *, size_t))(info, dims, *rank), message);
}

bool tnp_session_output(const tnp_session *s, size_t i, int *type, size_t *rank, int64_t dims[TNP_TENSOR_RANK])
{
    const tnp_engine *e = s->engine;
    char message[TNP_ENGINE_MESSAGE];
    void *about = NULL;
    const void *tensor = NULL;
    bool told =
        fine(e, CALL(e, OUTPUT_TYPE_INFO, void *, (const void *, size_t, void **))(s->session, i, &about), message) &&
        fine(e, CALL(e, CAST_TO_TENSOR_INFO, void *, (const void *, const void **))(about, &tensor), message) &&
        tensor && shape_of(e, tensor, type, rank, dims, message);
    release(e, RELEASE_TYPE_INFO, about);
    return told;
}

static bool look(const tnp_engine *e, tnp_result *r, char *message)
{
    void *shape = NULL, *data = NULL;
    int64_t dims[TNP_TENSOR_RANK];
    snprintf(message, TNP_ENGINE_MESSAGE, "what came out is no tensor of up to %d dimensions", TNP_TENSOR_RANK);
    bool told = fine(e, CALL(e, TYPE_AND_SHAPE, void *, (const void *, void **))(r->value, &shape), message) &&
                shape_of(e, shape, &r->type, &r->rank, dims, message) &&
                fine(e, CALL(e, TENSOR_DATA, void *, (void *, void **))(r->value, &data), message);
    for (size_t i = 0; told && i < r->rank; ++i)
        r->dims[i] = (size_t)dims[i];
    r->data = data;
    release(e, RELEASE_SHAPE, shape);
    return told;
}

bool tnp_session_run(const tnp_session *s, const char *input, int type, const void *data, size_t bytes,
                     const int64_t *dims, size_t rank, const char *output, tnp_result *out,
                     char message[TNP_ENGINE_MESSAGE])
{
    const tnp_engine *e = s->engine;
    union {
        const void *in;
        void *p;
    } tensor = {data};
    void *value = NULL;
    typedef void *make(const void *, void *, size_t, const int64_t *, size_t, int, void **);
    typedef void *run(void *, const void *, const char *const *, const void *const *, size_t, const char *const *,
                      size_t, void **);
    *out = (tnp_result){.value = NULL};
    bool went =
        fine(e, ((make *)e->table[CREATE_TENSOR_WITH_DATA])(e->memory, tensor.p, bytes, dims, rank, type, &value),
             message) &&
        fine(e,
             ((run *)e->table[RUN])(s->session, NULL, &input, (const void *const *)&value, 1, &output, 1, &out->value),
             message) &&
        look(e, out, message);
    release(e, RELEASE_VALUE, value);
    if (!went)
        tnp_result_free(s, out);
    return went;
}

void tnp_result_free(const tnp_session *s, tnp_result *r)
{
    release(s->engine, RELEASE_VALUE, r->value);
    *r = (tnp_result){.value = NULL};
}
