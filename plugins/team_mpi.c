/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libtenon_mpi.so: the engine of a team (src/base/team.h) by MPI. One process is one rank of MPI_COMM_WORLD, of which
 * this has a copy, so that a host program's own messages do not meet ours.
 *
 * Sums go to rank 0 and come back from there: all ranks then have the same bits, which MPI_Allreduce does not promise.
 * The price is one way more through the machine at small sizes, nothing at large ones. Arrays go in pieces, since counts
 * are int, and since what MPI holds of them meanwhile is then a piece, whatever the size of a Gram. */
#include "base/team.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* numbers, 8 MB of them */
static const size_t BYTES = (size_t)1 << 26;

typedef struct team_mpi {
    MPI_Comm world;
    int rank, size;
    int *count, *start; /* size, of gather */
} team_mpi;

static void mpi_name(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    for (char *c = version; *c; ++c) /* MPICH has a tab in it */
        *c = *c == '\t' ? ' ' : *c;
    snprintf(text, size, "%s", version);
}

static void mpi_why(int code, char *text, size_t size)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, words, &length);
    words[strcspn(words, "\n")] = 0;
    snprintf(text, size, "MPI: %s", words);
}

static void mpi_leave(void *self)
{
    team_mpi *t = self;
    int over = 0;
    MPI_Comm_free(&t->world);
    free(t->count);
    free(t->start);
    free(t);
    if (MPI_Finalized(&over) == MPI_SUCCESS && !over)
        MPI_Finalize();
}

/* Members on this machine. */
static int count_here(MPI_Comm world, size_t *here)
{
    MPI_Comm local = MPI_COMM_NULL;
    int size = 1, code = MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(local, &size);
    if (local != MPI_COMM_NULL)
        MPI_Comm_free(&local);
    *here = (size_t)size;
    return code;
}

static int mpi_join(void **self, size_t *rank, size_t *size, size_t *here, char *host, size_t host_size)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int begun = 0, given = 0, length = 0, code = MPI_Initialized(&begun);
    team_mpi *t = calloc(1, sizeof *t);
    if (code == MPI_SUCCESS && !begun)
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    if (code == MPI_SUCCESS && !t)
        code = MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(MPI_COMM_WORLD, &t->world);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(t->world, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(t->world, &t->rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(t->world, &t->size);
    if (code == MPI_SUCCESS)
        code = MPI_Get_processor_name(name, &length);
    if (code == MPI_SUCCESS)
        code = count_here(t->world, here);
    if (code == MPI_SUCCESS) {
        t->count = calloc((size_t)t->size, sizeof *t->count);
        t->start = calloc((size_t)t->size, sizeof *t->start);
        code = t->count && t->start ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (code != MPI_SUCCESS)
        return code;
    snprintf(host, host_size, "%s", name);
    *rank = (size_t)t->rank;
    *size = (size_t)t->size;
    *self = t;
    return MPI_SUCCESS;
}

static int mpi_sum(void *self, double *x, size_t n)
{
    const team_mpi *t = self;
    int code = MPI_SUCCESS;
    for (size_t at = 0; at < n && code == MPI_SUCCESS; at += PIECE) {
        int count = (int)(n - at < PIECE ? n - at : PIECE);
        code = t->rank == 0 ? MPI_Reduce(MPI_IN_PLACE, x + at, count, MPI_DOUBLE, MPI_SUM, 0, t->world)
                            : MPI_Reduce(x + at, NULL, count, MPI_DOUBLE, MPI_SUM, 0, t->world);
        if (code == MPI_SUCCESS)
            code = MPI_Bcast(x + at, count, MPI_DOUBLE, 0, t->world);
    }
    return code;
}

static int mpi_most(void *self, double *x, size_t n)
{
    const team_mpi *t = self;
    int code = MPI_SUCCESS;
    for (size_t at = 0; at < n && code == MPI_SUCCESS; at += PIECE)
        code = MPI_Allreduce(MPI_IN_PLACE, x + at, (int)(n - at < PIECE ? n - at : PIECE), MPI_DOUBLE, MPI_MAX,
                             t->world);
    return code;
}

static int mpi_share(void *self, size_t from, void *x, size_t n)
{
    const team_mpi *t = self;
    int code = MPI_SUCCESS;
    for (size_t at = 0; at < n && code == MPI_SUCCESS; at += BYTES)
        code = MPI_Bcast((char *)x + at, (int)(n - at < BYTES ? n - at : BYTES), MPI_BYTE, (int)from, t->world);
    return code;
}

/* Few items: one call for all. Many: each member's in turn, in pieces, which is as many bytes. */
static int mpi_gather(void *self, void *x, size_t item, const size_t *cut)
{
    const team_mpi *t = self;
    int code = MPI_SUCCESS;
    if (cut[t->size] * item <= BYTES) {
        for (int r = 0; r < t->size; ++r) {
            t->start[r] = (int)(cut[r] * item);
            t->count[r] = (int)((cut[r + 1] - cut[r]) * item);
        }
        return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, t->count, t->start, MPI_BYTE, t->world);
    }
    for (int r = 0; r < t->size && code == MPI_SUCCESS; ++r)
        code = mpi_share(self, (size_t)r, (char *)x + cut[r] * item, (cut[r + 1] - cut[r]) * item);
    return code;
}

const tnp_team_engine *tenon_team_engine(void);

TN_API const tnp_team_engine *tenon_team_engine(void)
{
    static const tnp_team_engine engine = {
        TNP_TEAM_VERSION, mpi_name, mpi_join, mpi_sum, mpi_most, mpi_share, mpi_gather, mpi_why, mpi_leave};
    return &engine;
}
