/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plug-in of a team: found, loaded, and asked whether it is of the same MPI as the launcher. MPI is linked by the
 * plug-in alone, since a library that links it starts on no machine without it, and two kinds of MPI cannot be linked by
 * one program: that of the launcher is known when the program runs.
 *
 * Looked for in this order: TENON_MPI (a file), beside the program or library that this code is in, in ../lib of it,
 * where the system's loader looks. The current folder is not looked at. A plug-in stays loaded: MPI leaves threads and
 * handlers behind. */
#define _GNU_SOURCE /* dladdr, RTLD_NODELETE, readlink */
#include "base/ctx.h"
#include "base/team.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PLUGIN[] = "libtenon_mpi.so";

/* ---- how the process was started ---- */

static bool number_of(const char *name, size_t *out)
{
    const char *text = getenv(name);
    return text && tnp_digits(text, out);
}

static bool is_refused(void)
{
    const char *wish = getenv("TENON_MPI");
    return wish && (strcmp(wish, "no") == 0 || strcmp(wish, "0") == 0);
}

bool tn_team_started(size_t *rank, size_t *size)
{
    /* Open MPI; MPICH, Intel MPI and Slurm's PMI; Slurm's and others' PMIx, which tell no size. */
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", ""}};
    *rank = *size = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !is_refused(); ++i)
        if (number_of(names[i][0], rank) && (!*names[i][1] || number_of(names[i][1], size)))
            return !*names[i][1] || *size > 1;
    *rank = *size = 0;
    return false;
}

/* ---- the plug-in ---- */

static const tnp_team_engine *try_plugin(const char *name, char *path, size_t path_size)
{
    const tnp_team_engine *engine = NULL;
    union {
        void *object;
        tnp_team_entry call;
    } get;
    Dl_info about;
    /* Global: parts that Open MPI loads itself look for its names there. */
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    get.object = library ? dlsym(library, TNP_TEAM_ENTRY) : NULL;
    if (get.object) {
        engine = get.call();
        snprintf(path, path_size, "%s", dladdr(get.object, &about) && about.dli_fname ? about.dli_fname : name);
    }
    if (library)
        dlclose(library);
    return engine && engine->version == TNP_TEAM_VERSION ? engine : NULL;
}

/* The file that holds this function; false: nobody knows. Of a program that was found by PATH the loader knows the word
 * that was typed. */
static bool own_file(char *file, size_t size)
{
    Dl_info about;
    union {
        bool (*call)(size_t *, size_t *);
        void *object;
    } own = {.call = tn_team_started};
    if (dladdr(own.object, &about) && about.dli_fname && strchr(about.dli_fname, '/')) {
        snprintf(file, size, "%s", about.dli_fname);
        return true;
    }
    ssize_t length = readlink("/proc/self/exe", file, size - 1);
    if (length < 0)
        return false;
    file[length] = '\0';
    return strchr(file, '/') != NULL;
}

/* Beside that file, or below the folder that its folder is in. */
static const tnp_team_engine *try_beside(const char *below, char *path, size_t path_size)
{
    char file[512], name[600];
    if (!own_file(file, sizeof file))
        return NULL;
    snprintf(name, sizeof name, "%.*s/%s%s", (int)(strrchr(file, '/') - file), file, below, PLUGIN);
    return try_plugin(name, path, path_size);
}

static const tnp_team_engine *find_plugin(char *path, size_t path_size)
{
    static const char *const below[] = {"", "../lib/", "../lib/x86_64-linux-gnu/", "../lib/aarch64-linux-gnu/"};
    const char *wish = getenv("TENON_MPI");
    const tnp_team_engine *engine = NULL;
    if (wish && *wish && !is_refused())
        return try_plugin(wish, path, path_size);
    for (size_t i = 0; i < sizeof below / sizeof *below && !engine; ++i)
        engine = try_beside(below[i], path, path_size);
    return engine ? engine : try_plugin(PLUGIN, path, path_size);
}

static tn_status no_plugin(tn_ctx *ctx)
{
    const char *wish = getenv("TENON_MPI"), *why = dlerror();
    if (wish && *wish && !is_refused())
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "TENON_MPI: %s is no plug-in of this version: %s", wish,
                        why ? why : "it has no " TNP_TEAM_ENTRY);
    return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                    "%s, the plug-in for MPI, is not found; build tenon where mpicc is installed (Debian: "
                    "libopenmpi-dev), or name the plug-in by TENON_MPI",
                    PLUGIN);
}

tn_status tn_team_look(tn_ctx *ctx, char name[128], char path[512])
{
    const tnp_team_engine *engine = find_plugin(path, 512);
    if (!engine)
        return no_plugin(ctx);
    engine->name(name, 128);
    return TN_OK;
}

tn_status tn_team_join(tn_ctx *ctx)
{
    char path[512], name[128];
    size_t rank, size;
    bool started = tn_team_started(&rank, &size);
    const tnp_team_engine *engine = find_plugin(path, sizeof path);
    if (!engine)
        return no_plugin(ctx);
    tn_status st = tnp_team_enter(ctx, engine);
    if (st != TN_OK || !started || size == 0 || (tn_team_size(ctx) == size && tn_team_rank(ctx) == rank))
        return st;
    engine->name(name, sizeof name);
    return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                    "%s: made for %s, which finds rank %zu of %zu where the launcher started rank %zu of %zu: another "
                    "MPI; name a plug-in of the launcher's MPI by TENON_MPI",
                    path, name, tn_team_rank(ctx), tn_team_size(ctx), rank, size);
}
