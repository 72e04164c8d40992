/* SPDX-License-Identifier: MIT */
/*
 * One repetition is one fresh process: no peer meets the heap, the threads or the CPU history of another, and a peer that
 * hangs or crashes costs its own row alone.
 */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Longer than any repetition of any peer on a slow and busy machine. */
#define PEER_TIMEOUT_S 120

static void peer_path(const struct options *options, const char *family, const struct bench_peer *peer, char *path,
                      size_t room)
{
    snprintf(path, room, "%s/%s-%s", options->peer_dir, family, peer->name);
}

bool peer_exists(const struct options *options, const char *family, const struct bench_peer *peer)
{
    char path[8192];
    peer_path(options, family, peer, path, sizeof path);
    return access(path, X_OK) == 0;
}

/* Reads until the other end is closed, the buffer is full or the time is over (then false). */
static bool read_all(int fd, char *text, size_t room)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + PEER_TIMEOUT_S;
    size_t used = 0;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        if (now.tv_sec >= end)
            return false;
        const int ready = poll(&readable, 1, (int)(end - now.tv_sec) * 1000);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        char rest[512];
        const bool full = used + 1 >= room;
        const ssize_t got = full ? read(fd, rest, sizeof rest) : read(fd, text + used, room - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (!full)
            used += (size_t)got;
    }
    text[used] = '\0';
    return true;
}

/* A peer's output is lines of "key value"; "trouble ..." says why there is no number, "unranked ..." why it does not
   compare with the others. */
static bool parse(const struct bench_def *bench, char *text, struct sample *sample)
{
    bool seen[BENCH_MAX_METRICS] = {false};
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *value = line;
        const char *key = strsep(&value, " ");
        if (!value)
            continue;
        if (strcmp(key, "trouble") == 0) {
            snprintf(sample->trouble, sizeof sample->trouble, "%s", value);
            return false;
        }
        if (strcmp(key, "unranked") == 0) {
            snprintf(sample->unranked, sizeof sample->unranked, "%s", value);
            sample->unranked_runs++;
        }
        for (unsigned m = 0; m < metric_count(bench); m++) {
            char *end;
            const double number = strtod(value, &end);
            if (strcmp(key, bench->metrics[m].key) == 0 && end != value) {
                sample->values[m][sample->runs] = number;
                seen[m] = true;
            }
        }
    }
    for (unsigned m = 0; m < metric_count(bench); m++) {
        if (!seen[m]) {
            snprintf(sample->trouble, sizeof sample->trouble, "it printed no %s", bench->metrics[m].key);
            return false;
        }
    }
    return true;
}

/* CPU time that was not idle, of the whole machine, in seconds; time taken away by the hypervisor is not idle either. */
static double machine_busy(void)
{
    double words[8] = {0}; /* user nice system idle iowait irq softirq steal */
    FILE *file = fopen("/proc/stat", "r");
    const bool complete = file && fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &words[0], &words[1], &words[2],
                                         &words[3], &words[4], &words[5], &words[6], &words[7]) == 8;
    if (file)
        fclose(file);
    if (!complete)
        return 0;
    return (words[0] + words[1] + words[2] + words[5] + words[6] + words[7]) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One process. `disturbed` is the part of the machine that others used during that time. */
static bool run_process(const struct options *options, const char *family, const struct bench_def *bench,
                        const struct bench_case *at, struct sample *sample, double *disturbed)
{
    char path[8192], workers[32], producers[32], n[32], param[32];
    peer_path(options, family, sample->program, path, sizeof path);
    snprintf(workers, sizeof workers, "workers=%u", at->workers);
    snprintf(producers, sizeof producers, "producers=%u", at->producers);
    long operations = options->quick || options->smoke ? bench->n_quick : bench->n;
    if (options->smoke && bench->n_smoke)
        operations = bench->n_smoke;
    snprintf(n, sizeof n, "n=%ld", operations);
    snprintf(param, sizeof param, "param=%ld", at->param);

    const double busy_before = machine_busy(), clock_before = clock_seconds();
    struct rusage used = {0};
    int channel[2];
    if (pipe2(channel, O_CLOEXEC) != 0) {
        snprintf(sample->trouble, sizeof sample->trouble, "no pipe: %s", strerror(errno));
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(channel[1], STDOUT_FILENO);
        if (sample->program != sample->peer)
            setenv("VIGIL_RECORD", "off", 1);
        execl(path, path, bench->name, workers, producers, n, param, (char *)NULL);
        _exit(127);
    }
    close(channel[1]);
    char text[4096];
    const bool answered = child > 0 && read_all(channel[0], text, sizeof text);
    close(channel[0]);
    int status = 0;
    if (child > 0) {
        if (!answered)
            kill(child, SIGKILL);
        while (wait4(child, &status, 0, &used) < 0 && errno == EINTR)
            ;
    }
    const double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    const double others = machine_busy() - busy_before - seconds_of(used.ru_utime) - seconds_of(used.ru_stime);
    *disturbed = others / ((clock_seconds() - clock_before) * cpus);
    if (child < 0)
        snprintf(sample->trouble, sizeof sample->trouble, "no process: %s", strerror(errno));
    else if (!answered)
        snprintf(sample->trouble, sizeof sample->trouble, "it did not finish within %d s and was killed",
                 PEER_TIMEOUT_S);
    else if (WIFSIGNALED(status))
        snprintf(sample->trouble, sizeof sample->trouble, "it died of signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (parse(bench, text, sample)) {
        sample->runs++;
        return true;
    }
    return false;
}

/* The kernel counts in steps of 10 ms, so short runs look more or less disturbed than they were by a step or two. */
#define CALM_SHARE 0.05
#define CALM_TRIES 50

bool run_once(const struct options *options, const char *family, const struct bench_def *bench,
              const struct bench_case *at, struct sample *sample)
{
    double disturbed;
    for (int try = 1;; try++) {
        const unsigned unranked = sample->unranked_runs;
        if (!run_process(options, family, bench, at, sample, &disturbed))
            return false;
        if (!options->calm || disturbed <= CALM_SHARE)
            return true;
        if (try == CALM_TRIES) {
            sample->disturbed_runs++;
            return true;
        }
        sample->runs--;
        sample->unranked_runs = unranked;
        usleep(200000);
    }
}
