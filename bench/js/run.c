/* SPDX-License-Identifier: MIT */
/* One repetition by one runtime (JS_EXECUTABLE, with the words of JS_WORDS before the script): starts it, passes on what the script says,
   and adds what the process has cost. js-start is measured here alone, over n starts. */
#include "../peer/peer.h"
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char folder[64];

static double cpu_ms(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1e3 +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e3;
}

/* Runs the script with these words; what it has cost. */
static struct rusage start(const char *script, char **rest, int quiet)
{
    static char before[] = JS_WORDS;
    char *words[24] = {JS_EXECUTABLE};
    char copy[sizeof before], *next = copy;
    int count = 1, status = 0;
    struct rusage used = {0};
    memcpy(copy, before, sizeof copy);
    for (char *word; (word = strsep(&next, " ")) != NULL;)
        if (*word)
            words[count++] = word;
    words[count++] = (char *)script;
    while (*rest && count < 23)
        words[count++] = *rest++;
    pid_t child = vfork();
    if (child == 0) {
        if (quiet) {
            int null = open("/dev/null", O_WRONLY);
            dup2(null, STDOUT_FILENO);
        }
        execve(words[0], words, environ);
        _exit(127);
    }
    bench_must(child > 0, "a process");
    while (wait4(child, &status, 0, &used) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_trouble("it did not run %s (status %d)", script, status);
    return used;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The first start, which meets cold caches, is not counted. */
static void starts(long n)
{
    static char *none[] = {NULL};
    double *wall = bench_alloc((size_t)n, sizeof *wall), *cpu = bench_alloc((size_t)n, sizeof *cpu);
    start(JS_FOLDER "/empty.cjs", none, 1);
    for (long i = 0; i < n; i++) {
        const uint64_t before = bench_now();
        const struct rusage used = start(JS_FOLDER "/empty.cjs", none, 1);
        wall[i] = (double)(bench_now() - before) / 1e6;
        cpu[i] = cpu_ms(&used);
    }
    qsort(wall, (size_t)n, sizeof *wall, by_value);
    qsort(cpu, (size_t)n, sizeof *cpu, by_value);
    bench_print("ms", wall[n / 2]);
    bench_print("cpu_ms", cpu[n / 2]);
    free(wall);
    free(cpu);
}

/* ---- files to read ---------------------------------------------------------------------------------------------- */

static void each_file(long n, int make)
{
    char path[128], bytes[1024];
    memset(bytes, 'x', sizeof bytes);
    for (long i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%ld", folder, i);
        if (!make) {
            unlink(path);
            continue;
        }
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        bench_must(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes && close(fd) == 0,
                   "a file to read");
    }
    if (!make)
        rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    char n[40], param[40], where[80];
    char *words[] = {argv[1], n, param, where, NULL};
    const int files = strcmp(args.bench, "js-files") == 0;
    if (strcmp(args.bench, "js-start") == 0) {
        starts(args.n);
        return 0;
    }
    if (strcmp(args.bench, "js-http") == 0) {
        bench_http(&args);
        return 0;
    }
    if (files) {
        /* All of them may be open at once. */
        struct rlimit limit;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        snprintf(folder, sizeof folder, "/tmp/vigil-bench-js-XXXXXX");
        bench_must(mkdtemp(folder) != NULL, "a folder for files");
        each_file(args.n, 1);
    }
    snprintf(n, sizeof n, "n=%ld", args.n);
    snprintf(param, sizeof param, "param=%ld", args.param);
    snprintf(where, sizeof where, "folder=%s", folder);
    const struct rusage used = start(JS_FOLDER "/bench.cjs", words, 0);
    bench_print("cpu_ms", cpu_ms(&used));
    if (files)
        each_file(args.n, 0);
    return 0;
}
