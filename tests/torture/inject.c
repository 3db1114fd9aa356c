/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a program under ptrace and lets its k-th system call of a kind fail, come short, be the moment of a signal, or
 * the moment at which somebody changes a file: what a full disk, a network file system, a kill and a colleague do, at a
 * place that can be told and repeated. A preloaded library was refused: the C library's own streams never ask it.
 *
 *   inject REPORT RULE... -- PROGRAM ARGUMENT...
 *   RULE = KIND:WHEN:ACTION
 *     KIND    all, or open read write close sync rename map stat unlink size; KIND@PATH counts from where PATH is opened
 *     WHEN    k: the k-th; k+: from the k-th on; k*: every k-th
 *     ACTION  errno=N; short: half the bytes asked for; signal=N; or what becomes of a file: truncate=PATH (to a third),
 *             empty=PATH, rewrite=PATH (in place), grow=PATH, replace=PATH (by another of its name), remove=PATH
 *
 * Counting begins when the program sets its action for SIGPIPE, which tenon does before any work: what the loader and
 * the BLAS do before is not its own. REPORT gets one line: system calls seen, matched by the first rule, faults
 * injected. The exit status is the program's; of a signal this process dies too. 125: no ptrace here, or not x86-64. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_HERE = 125, MOST_RULES = 4, MOST_THREADS = 64 };

#if defined(__x86_64__)

typedef struct rule {
    const char *kind, *action, *value;
    const char *after; /* counting waits until this file is opened; NULL: it does not */
    long k;
    char form; /* 0, + or * */
    long matched;
} rule;

typedef struct thread {
    pid_t pid;
    bool inside;       /* between entry and exit of a system call */
    long long pretend; /* result to give at the exit; 0: leave it */
} thread;

static rule rules[MOST_RULES];
static thread threads[MOST_THREADS];
static size_t rule_count, thread_count;
static long seen, injected;
static bool armed;

static bool is_kind(const char *kind, const struct user_regs_struct *r)
{
    static const struct {
        const char *kind;
        long number;
    } calls[] = {
        {"open", SYS_open},       {"open", SYS_openat},      {"read", SYS_read},       {"read", SYS_pread64},
        {"read", SYS_getdents64}, {"write", SYS_write},      {"write", SYS_pwrite64},  {"write", SYS_writev},
        {"close", SYS_close},     {"sync", SYS_fsync},       {"sync", SYS_fdatasync},  {"rename", SYS_rename},
        {"rename", SYS_renameat}, {"rename", SYS_renameat2}, {"rename", SYS_link},     {"rename", SYS_linkat},
        {"stat", SYS_stat},       {"stat", SYS_fstat},       {"stat", SYS_lstat},      {"stat", SYS_newfstatat},
        {"stat", SYS_access},     {"stat", SYS_faccessat},   {"stat", SYS_faccessat2}, {"unlink", SYS_unlink},
        {"unlink", SYS_unlinkat}, {"size", SYS_ftruncate},   {"size", SYS_fallocate},  {"stat", SYS_readlink},
    };
    long number = (long)r->orig_rax;
    if (strcmp(kind, "all") == 0)
        return true;
    if (strcmp(kind, "map") == 0)
        return number == SYS_mmap && (int)r->r8 >= 0; /* of a file; memory without one is malloc's affair */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        if (calls[i].number == number && strcmp(calls[i].kind, kind) == 0)
            return true;
    return false;
}

/* ---- somebody else changes a file ---- */

/* Text stays text, with more fields and lines than a reader that counted them first has room for; other files get other
 * bytes. */
static char other_byte(const char *path, char c, off_t at)
{
    const char *suffix = strrchr(path, '.');
    static int commas; /* of this line: the fourth ends it, so that lines of 8 cells, points now commas, are two of 8 */
    if (suffix && strcmp(suffix, ".csv") == 0) {
        commas = c == '\n' ? 0 : commas + (c == ',');
        return c == '.' ? ',' : c == ',' && commas == 4 ? '\n' : c;
    }
    if (suffix && strcmp(suffix, ".svm") == 0)
        return c == ' ' && at % 2 ? '\n' : c;
    if (suffix && strcmp(suffix, ".txt") == 0)
        return at % 2 ? '\n' : c;
    return at % 7 ? c : (char)(c ^ 0x15);
}

static void rewrite(int fd, off_t size, const char *path)
{
    char block[4096];
    for (off_t at = 0; at < size; at += (off_t)sizeof block) {
        ssize_t n = pread(fd, block, sizeof block, at);
        for (ssize_t i = 0; i < n; ++i)
            block[i] = other_byte(path, block[i], at + i);
        if (n <= 0 || pwrite(fd, block, (size_t)n, at) != n)
            return;
    }
}

static void change(const char *how, const char *path)
{
    struct stat info;
    char beside[4096], garbage[8192];
    int fd = open(path, O_RDWR);
    memset(garbage, '7', sizeof garbage);
    if (fd < 0 || fstat(fd, &info) != 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    bool empty = strcmp(how, "empty") == 0;
    if ((empty || strcmp(how, "truncate") == 0) && ftruncate(fd, empty ? 0 : info.st_size / 3) != 0)
        perror("inject: truncate");
    if (strcmp(how, "rewrite") == 0)
        rewrite(fd, info.st_size, path);
    if (strcmp(how, "grow") == 0 && pwrite(fd, garbage, sizeof garbage, info.st_size) < 0)
        perror("inject: grow");
    close(fd);
    if (strcmp(how, "remove") == 0)
        unlink(path);
    if (strcmp(how, "replace") == 0 && snprintf(beside, sizeof beside, "%s.other", path) < (int)sizeof beside) {
        fd = open(beside, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0 && write(fd, garbage, 100) == 100)
            rename(beside, path);
        if (fd >= 0)
            close(fd);
    }
}

/* ---- faults ---- */

static bool is_due(rule *r)
{
    ++r->matched;
    return r->form == '*' ? r->matched % r->k == 0 : r->form == '+' ? r->matched >= r->k : r->matched == r->k;
}

static void act(const rule *rule, thread *t, struct user_regs_struct *r, pid_t child)
{
    ++injected;
    if (strcmp(rule->action, "errno") == 0) {
        t->pretend = -atoll(rule->value);
        r->orig_rax = (unsigned long long)-1; /* no such call: nothing happens */
        ptrace(PTRACE_SETREGS, t->pid, NULL, r);
    } else if (strcmp(rule->action, "short") == 0) {
        if (r->rdx > 1) {
            r->rdx = (r->rdx + 1) / 2;
            ptrace(PTRACE_SETREGS, t->pid, NULL, r);
        }
    } else if (strcmp(rule->action, "signal") == 0) {
        kill(child, atoi(rule->value));
    } else {
        change(rule->action, rule->value);
    }
}

/* True for a call that opens `path`, named by the same bytes. */
static bool opens(pid_t pid, const struct user_regs_struct *r, const char *path)
{
    char name[256] = "";
    bool is_open = r->orig_rax == SYS_open || r->orig_rax == SYS_openat;
    size_t length = strlen(path) + 1;
    struct iovec here = {name, length},
                 there = {(void *)(uintptr_t)(r->orig_rax == SYS_open ? r->rdi : r->rsi), length};
    return is_open && length <= sizeof name && process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)length &&
           memcmp(name, path, length) == 0;
}

static void entry(thread *t, pid_t child)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, t->pid, NULL, &r) != 0)
        return;
    t->pretend = 0;
    if (!armed) {
        armed = r.orig_rax == SYS_rt_sigaction && r.rdi == SIGPIPE && r.rsi != 0;
        return;
    }
    ++seen;
    for (size_t i = 0; i < rule_count; ++i) {
        if (rules[i].after && opens(t->pid, &r, rules[i].after))
            rules[i].after = NULL;
        if (!rules[i].after && is_kind(rules[i].kind, &r) && is_due(&rules[i]))
            act(&rules[i], t, &r, child);
    }
}

static void leave(const thread *t)
{
    struct user_regs_struct r;
    if (t->pretend == 0 || ptrace(PTRACE_GETREGS, t->pid, NULL, &r) != 0)
        return;
    r.rax = (unsigned long long)t->pretend;
    ptrace(PTRACE_SETREGS, t->pid, NULL, &r);
}

static thread *thread_of(pid_t pid)
{
    for (size_t i = 0; i < thread_count; ++i)
        if (threads[i].pid == pid)
            return &threads[i];
    if (thread_count == MOST_THREADS)
        exit(NOT_HERE);
    threads[thread_count] = (thread){.pid = pid};
    return &threads[thread_count++];
}

/* One stop of one thread; what it goes on with. */
static int handle(pid_t pid, int status, pid_t child)
{
    thread *t = thread_of(pid);
    int sig = WSTOPSIG(status), event = status >> 16;
    if (sig == (SIGTRAP | 0x80)) {
        t->inside = !t->inside;
        if (t->inside)
            entry(t, child);
        else
            leave(t);
        return 0;
    }
    if (event == PTRACE_EVENT_EXEC)
        t->inside = true; /* the exit of execve comes next */
    return event != 0 || sig == SIGSTOP || sig == SIGTRAP ? 0 : sig;
}

/* Until the program is gone; its wait status. */
static int follow(pid_t child)
{
    int status = 0;
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0)
            exit(NOT_HERE);
        if (WIFSTOPPED(status))
            ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)handle(pid, status, child));
        else if (pid == child)
            return status;
    }
}

static bool parse(char *text, rule *out)
{
    char *when = strchr(text, ':'), *action = when ? strchr(when + 1, ':') : NULL, *end = NULL;
    if (!action)
        return false;
    *when++ = 0;
    *action++ = 0;
    char *value = strchr(action, '=');
    if (value)
        *value++ = 0;
    char *after = strchr(text, '@');
    if (after)
        *after++ = 0;
    *out = (rule){
        .kind = text, .after = after, .action = action, .value = value ? value : "", .k = strtol(when, &end, 10)};
    out->form = *end;
    return out->k > 0;
}

static void start(char **argv)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(NOT_HERE);
    raise(SIGSTOP);
    execv(argv[0], argv);
    _exit(NOT_HERE);
}

int main(int argc, char **argv)
{
    int i = 2, status = 0;
    for (; i < argc && strcmp(argv[i], "--") != 0; ++i)
        if (rule_count == MOST_RULES || !parse(argv[i], &rules[rule_count++]))
            return NOT_HERE;
    if (i + 1 >= argc)
        return NOT_HERE;
    pid_t child = fork();
    if (child == 0)
        start(argv + i + 1);
    long options =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options) != 0)
        return NOT_HERE;
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    status = follow(child);
    int report = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (report >= 0) {
        dprintf(report, "%ld %ld %ld\n", seen, rule_count ? rules[0].matched : 0, injected);
        close(report);
    }
    if (WIFSIGNALED(status)) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

#else

int main(void)
{
    return NOT_HERE;
}

#endif
