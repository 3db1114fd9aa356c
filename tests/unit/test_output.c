/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Outputs: what commit leaves, what everything else does not leave, and what cannot be opened. Most of it twice: with a
 * file that has no name until commit, and, where the system is said to have none, with one of a random name. */
#define _GNU_SOURCE
#include "spectrum_of.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tenon_file_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[2][160];
    static int turn;
    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Names in the folder, hidden ones too. */
static size_t entries(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void check_content(const char *path, const char *want)
{
    char text[64] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_int_equal(size, strlen(want));
    assert_string_equal(text, want);
}

static void test_commit(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const char *path = in_folder("out.txt");
    for (int round = 0; round < 2; ++round) { /* the second replaces the first */
        tn_output *out = NULL;
        assert_fine(ctx, tn_output_open(ctx, path, &out));
        assert_fine(ctx, tn_output_write(ctx, out, "hello ", 6));
        assert_fine(ctx, tn_output_write(ctx, out, NULL, 0));
        assert_fine(ctx, tn_output_write(ctx, out, round ? "two" : "one", 3));
        if (round == 0)
            assert_int_not_equal(access(path, F_OK), 0);
        else
            check_content(path, "hello one");
        assert_fine(ctx, tn_output_commit(ctx, out));
        tn_output_close(out);
        check_content(path, round ? "hello two" : "hello one");
        assert_int_equal(entries(folder), 1);
    }
    unlink(path);
    ctx_done(ctx);
}

static void test_abort(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const char *path = in_folder("out.txt");
    tn_output *out = NULL;
    assert_fine(ctx, tn_output_open(ctx, path, &out));
    assert_fine(ctx, tn_output_write(ctx, out, "half", 4));
    tn_output_close(out);
    assert_int_equal(entries(folder), 0);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("old", f);
    fclose(f);
    assert_fine(ctx, tn_output_open(ctx, path, &out));
    assert_fine(ctx, tn_output_write(ctx, out, "new", 3));
    tn_output_close(out);
    check_content(path, "old");
    assert_int_equal(entries(folder), 1);
    unlink(path);
    tn_output_close(NULL);
    ctx_done(ctx);
}

static void test_refused_targets(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    tn_output *out = NULL;
    assert_fails(ctx, TN_ERR_OUTPUT, folder, tn_output_open(ctx, folder, &out));
    assert_fails(ctx, TN_ERR_OUTPUT, "no_such/out.txt", tn_output_open(ctx, in_folder("no_such/out.txt"), &out));
    assert_null(out);
    assert_int_equal(entries(folder), 0);
    const char *closed = in_folder("closed");
    char inside[200];
    assert_int_equal(mkdir(closed, 0500), 0);
    snprintf(inside, sizeof inside, "%s/out.txt", closed);
    if (geteuid() != 0) /* root may write anywhere */
        assert_fails(ctx, TN_ERR_OUTPUT, "closed/out.txt", tn_output_open(ctx, inside, &out));
    assert_null(out);
    assert_int_equal(rmdir(closed), 0);
    ctx_done(ctx);
}

/* Taking the name of a pipe or a device over would destroy it: refused, and it is still there. */
static void test_special_targets(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const char *pipe = in_folder("pipe"), *link_name = in_folder("link");
    struct stat info;
    tn_output *out = NULL;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink("pipe", link_name), 0);
    assert_fails(ctx, TN_ERR_OUTPUT, "pipe: is not a regular file", tn_output_open(ctx, pipe, &out));
    assert_fails(ctx, TN_ERR_OUTPUT, "link: is not a regular file", tn_output_open(ctx, link_name, &out));
    assert_fails(ctx, TN_ERR_OUTPUT, "/dev/null: is not a regular file", tn_output_open(ctx, "/dev/null", &out));
    assert_fails(ctx, TN_ERR_OUTPUT, "pipe: is not a regular file", tn_output_check(ctx, pipe));
    assert_true(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    unlink(pipe);
    assert_fails(ctx, TN_ERR_OUTPUT, "link: is a symbolic link to nothing", tn_output_open(ctx, link_name, &out));
    assert_fails(ctx, TN_ERR_OUTPUT, "expected a file name", tn_output_open(ctx, "", &out));
    assert_null(out);
    assert_int_equal(entries(folder), 1);
    unlink(link_name);
    ctx_done(ctx);
}

static void write_output(tn_ctx *ctx, const char *path, const char *text)
{
    tn_output *out = NULL;
    assert_fine(ctx, tn_output_check(ctx, path));
    assert_fine(ctx, tn_output_open(ctx, path, &out));
    assert_fine(ctx, tn_output_write(ctx, out, text, strlen(text)));
    assert_fine(ctx, tn_output_commit(ctx, out));
    tn_output_close(out);
}

/* A link keeps pointing, its target gets the bytes, in the target's own folder. */
static void test_link(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char sub[100], path[128];
    struct stat info;
    const char *link_name = in_folder("link");
    snprintf(sub, sizeof sub, "%s/sub", folder);
    snprintf(path, sizeof path, "%s/out.txt", sub);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(symlink("sub/out.txt", link_name), 0);
    write_output(ctx, path, "old");
    write_output(ctx, link_name, "new");
    check_content(path, "new");
    assert_true(lstat(link_name, &info) == 0 && S_ISLNK(info.st_mode));
    assert_int_equal(entries(folder), 2);
    assert_int_equal(entries(sub), 1);
    unlink(link_name);
    unlink(path);
    assert_int_equal(rmdir(sub), 0);
    ctx_done(ctx);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static void test_permissions(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const char *path = in_folder("out.txt");
    mode_t before = umask(027);
    write_output(ctx, path, "one");
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(chmod(path, 0604), 0);
    write_output(ctx, path, "two");
    assert_int_equal(mode_of(path), 0604);
    umask(before);
    check_content(path, "two");
    unlink(path);
    ctx_done(ctx);
}

/* The folder vanishes between open and commit: the rename fails and says so. */
static void test_lost_folder(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char sub[100], path[128], command[160];
    tn_output *out = NULL;
    snprintf(sub, sizeof sub, "%s/sub", folder);
    snprintf(path, sizeof path, "%s/out.txt", sub);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_fine(ctx, tn_output_open(ctx, path, &out));
    snprintf(command, sizeof command, "rm -r '%s'", sub);
    assert_int_equal(system(command), 0);
    assert_fails(ctx, TN_ERR_OUTPUT, "out.txt", tn_output_commit(ctx, out));
    tn_output_close(out);
    ctx_done(ctx);
}

/* A disk that fills up, played by a limit on the size of files: the write or the commit fails, nothing is left. */
static void test_full_disk(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    struct rlimit before, small;
    tn_output *out = NULL;
    static const char bytes[1 << 16];
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tn_status opened = tn_output_open(ctx, in_folder("out.txt"), &out), st = opened;
    for (int i = 0; i < 4 && st == TN_OK; ++i)
        st = tn_output_write(ctx, out, bytes, sizeof bytes);
    if (st == TN_OK)
        st = tn_output_commit(ctx, out);
    tn_output_close(out);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(opened, TN_OK);
    assert_int_equal(st, TN_ERR_OUTPUT);
    assert_non_null(strstr(tn_ctx_message(ctx), "out.txt"));
    assert_int_equal(entries(folder), 0);
    ctx_done(ctx);
}

/* A system without nameless files. */
static int no_nameless(void *arg, tnp_io what, const char *path)
{
    size_t *creations = arg;
    (void)path;
    return what == TNP_IO_CREATE && (*creations)++ % 2 == 0 ? EOPNOTSUPP : 0;
}

/* The only hidden name in the folder, or "". */
static void hidden_name(char out[300])
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    *out = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] == '.' && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            snprintf(out, 300, "%s", e->d_name);
    closedir(dir);
}

static void test_part_file_is_unpredictable(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    size_t creations = 0;
    char names[2][300];
    const char *path = in_folder("out.txt");
    tnp_watch_io(ctx, no_nameless, &creations);
    for (int i = 0; i < 2; ++i) {
        tn_output *out = NULL;
        assert_fine(ctx, tn_output_open(ctx, path, &out));
        assert_int_equal(entries(folder), 1);
        hidden_name(names[i]);
        tn_output_close(out);
        assert_int_equal(entries(folder), 0);
    }
    assert_int_equal(strlen(names[0]), 45);
    assert_memory_equal(names[0], names[1], 24); /* of the final name */
    assert_string_not_equal(names[0], names[1]);
    tnp_watch_io(ctx, NULL, NULL);
    tn_output *out = NULL; /* and where the system has them there is no name at all */
    assert_fine(ctx, tn_output_open(ctx, path, &out));
    assert_int_equal(entries(folder), 0);
    tn_output_close(out);
    ctx_done(ctx);
}

/* A run that is killed with its file half written leaves it; the next run of the same output removes it, but neither
 * the file of a living writer nor anything else. */
static void test_part_file_of_killed_run(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    size_t creations = 0;
    int ready[2];
    char byte;
    const char *path = in_folder("out.txt"), *other = in_folder(".tenon-0123456789abcdef-0123456789abcdef.part");
    FILE *f = fopen(other, "wb");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        tn_ctx *own = NULL;
        tn_output *half = NULL;
        bool fine = tn_ctx_new(&own) == TN_OK;
        if (fine)
            tnp_watch_io(own, no_nameless, &creations);
        fine = fine && tn_output_open(own, path, &half) == TN_OK && write(ready[1], "y", 1) == 1;
        if (fine)
            pause();
        _exit(1);
    }
    assert_true(child > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(entries(folder), 2);
    write_output(ctx, path, "beside a living writer");
    assert_int_equal(entries(folder), 3);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(entries(folder), 3);
    write_output(ctx, path, "after its death");
    check_content(path, "after its death");
    assert_int_equal(entries(folder), 2);
    close(ready[0]);
    unlink(path);
    unlink(other);
    ctx_done(ctx);
}

/* Every call on the file system fails once: the old file is there, or the new one and the failure was that of the last
 * sync; nothing else ever is. */
static void fail_every_call(tn_ctx *ctx, tnp_io_fn watch, size_t *creations, size_t at_least)
{
    static const char large[200000]; /* more than the buffer */
    const char *path = in_folder("out.txt");
    size_t k = 1, late = 0;
    for (tn_status st = TN_ERR_OUTPUT; st != TN_OK; ++k) {
        tn_output *out = NULL;
        struct stat info;
        write_output(ctx, path, "old");
        *creations = 0;
        tnp_watch_io(ctx, watch, creations);
        tnp_fail_io(ctx, k);
        st = tn_output_open(ctx, path, &out);
        if (st == TN_OK)
            st = tn_output_write(ctx, out, "new", 3);
        if (st == TN_OK)
            st = tn_output_write(ctx, out, large, sizeof large);
        if (st == TN_OK)
            st = tn_output_commit(ctx, out);
        tnp_fail_io(ctx, 0);
        tnp_watch_io(ctx, NULL, NULL);
        tn_output_close(out);
        assert_int_equal(stat(path, &info), 0);
        late += st != TN_OK && info.st_size != 3;
        assert_true(info.st_size == 3 || info.st_size == 3 + (off_t)sizeof large);
        assert_int_equal(entries(folder), 1);
        assert_int_equal(tnp_live_blocks(ctx), 0);
        if (st != TN_OK)
            assert_fails(ctx, TN_ERR_OUTPUT, "out.txt: cannot be written: Input/output error", st);
    }
    assert_int_equal(late, 1);
    assert_true(k > at_least);
    unlink(path);
}

static void test_every_call_fails(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    size_t creations = 0;
    fail_every_call(ctx, NULL, &creations, 6);
    fail_every_call(ctx, no_nameless, &creations, 6);
    ctx_done(ctx);
}

static int one_byte(void *arg, tnp_io what, const char *path)
{
    (void)arg;
    (void)path;
    return what == TNP_IO_WRITE ? TNP_IO_SHORT : 0;
}

static void test_short_writes(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const char *path = in_folder("out.txt");
    tnp_watch_io(ctx, one_byte, NULL);
    write_output(ctx, path, "byte by byte");
    check_content(path, "byte by byte");
    unlink(path);
    ctx_done(ctx);
}

/* The longest name there may be is written; one byte more is found before the work. */
static void test_name_too_long(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    char path[400];
    size_t start = (size_t)snprintf(path, sizeof path, "%s/", folder), creations = 0;
    memset(path + start, 'x', 256);
    path[start + 256] = 0;
    assert_fails(ctx, TN_ERR_OUTPUT, "File name too long", tn_output_check(ctx, path));
    path[start + 255] = 0;
    write_output(ctx, path, "one");
    tnp_watch_io(ctx, no_nameless, &creations);
    write_output(ctx, path, "two");
    check_content(path, "two");
    unlink(path);
    ctx_done(ctx);
}

static void test_no_memory(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const char *path = in_folder("out.txt");
    size_t k = 1;
    for (;; ++k) {
        tn_output *out = NULL;
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_output_open(ctx, path, &out);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK) {
            tn_output_close(out);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(out);
        assert_int_equal(tnp_live_blocks(ctx), 0);
        assert_int_equal(entries(folder), 0);
    }
    assert_true(k > 3);
    assert_int_equal(entries(folder), 0);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_refused_targets),
        cmocka_unit_test(test_lost_folder),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_special_targets),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_part_file_is_unpredictable),
        cmocka_unit_test(test_part_file_of_killed_run),
        cmocka_unit_test(test_every_call_fails),
        cmocka_unit_test(test_short_writes),
        cmocka_unit_test(test_name_too_long),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
