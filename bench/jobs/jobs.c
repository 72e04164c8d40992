/* SPDX-License-Identifier: MIT */
/*
 * vigil-bench-jobs WHERE [COUNT [ROW]]: what a queue of vigil/jobs.h does on that engine, with empty handlers. Prints
 * one line per figure. The queue should be new: a file that is not there, or an empty schema.
 *
 *   all           (default) the first five
 *   enqueue       jobs per second: one by one, and by 256
 *   run           claim to complete, jobs per second: as it batches by itself
 *   single        the same with one job in flight
 *   latency       from enqueue to the start of the handler, idle queue, in microseconds
 *   plain         the floor: a plain table and a loop, without leases, priorities and history (plain.h)
 *   waiting=N     run, with N jobs more that wait
 *   ended=N       run, with N jobs that have ended
 *   foreign       PostgreSQL: run, while a foreign transaction keeps its snapshot; the figure of each tenth
 *   processes=N   run in N processes; how many jobs each had
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vigil/jobs.h>

#include "plain.h"

static _Atomic uint64_t ran, started_ns;

uint64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

double bench_cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, vigil_jobs_why());
    exit(1);
}

static int nothing(vigil_jobs_run *run, void *arg)
{
    (void)run, (void)arg;
    atomic_store_explicit(&started_ns, bench_now_ns(), memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&ran, 1, memory_order_release);
    return 0;
}

static vigil_jobs *open_queue(const char *where, unsigned workers, bool single)
{
    vigil_jobs *jobs;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = workers;
    options.no_prefetch = single;
    if (vigil_jobs_open(&jobs, where, &options) != 0)
        fail("open");
    if (vigil_jobs_handle(jobs, "nothing", nothing, NULL, NULL) != 0)
        fail("handle");
    return jobs;
}

static void say(const char *name, uint64_t count, double seconds, double cpu)
{
    printf("%-28s %10.0f /s   %7.3f CPU ms per 1000\n", name, (double)count / seconds, cpu * 1e6 / (double)count);
    (void)fflush(stdout);
}

static void enqueue_many(vigil_jobs *jobs, uint64_t count)
{
    vigil_jobs_item items[256];
    for (int i = 0; i < 256; i++)
        items[i] = (vigil_jobs_item){.kind = "nothing", .payload = "12345678", .length = 8};
    for (uint64_t left = count; left > 0;) {
        uint64_t some = left < 256 ? left : 256;
        if (vigil_jobs_enqueue_many(jobs, items, some) < 0)
            fail("enqueue");
        left -= some;
    }
}

static bool is_pq(const char *where)
{
    return strstr(where, "://") != NULL;
}

static uint64_t completed(vigil_jobs *jobs)
{
    vigil_jobs_stats stats = VIGIL_JOBS_STATS_INIT;
    (void)vigil_jobs_stats_get(jobs, &stats);
    return stats.completed;
}

/* Until this queue has completed so many. */
static void run_until(vigil_jobs *jobs, uint64_t count)
{
    struct timespec pause = {.tv_nsec = 1000000};
    while (completed(jobs) < count)
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void run_row(const char *name, const char *where, uint64_t count, unsigned workers, bool single)
{
    vigil_jobs *jobs = open_queue(where, workers, single);
    enqueue_many(jobs, count);
    uint64_t start = bench_now_ns();
    double cpu = bench_cpu_seconds();
    if (vigil_jobs_start(jobs) != 0)
        fail("start");
    run_until(jobs, count);
    say(name, count, (double)(bench_now_ns() - start) / 1e9, bench_cpu_seconds() - cpu);
    vigil_jobs_stats stats = VIGIL_JOBS_STATS_INIT;
    (void)vigil_jobs_stats_get(jobs, &stats);
    printf("%28s %10.1f jobs per transaction\n", "", (double)stats.completed / (double)stats.exchanges);
    vigil_jobs_close(jobs);
}

/* Also the rows that were put in are run; what counts is the time of the first `count`. */
static void filled_row(const char *where, uint64_t count, uint64_t rows, bool ended)
{
    char name[64];
    vigil_jobs_close(open_queue(where, 1, true)); /* makes the tables */
    if (is_pq(where))
        fill_pq(where, rows, ended);
    else
        fill_sqlite(where, rows, ended);
    (void)snprintf(name, sizeof name, "run, %llu %s", (unsigned long long)rows, ended ? "ended" : "waiting");
    run_row(name, where, count, 2, false);
}

static void foreign_row(const char *where, uint64_t count)
{
    char name[64];
    vigil_jobs *jobs = open_queue(where, 2, false);
    enqueue_many(jobs, count);
    void *foreign = foreign_begin(where);
    if (vigil_jobs_start(jobs) != 0)
        fail("start");
    for (uint64_t part = 1; part <= 10; part++) {
        uint64_t start = bench_now_ns(), before = completed(jobs);
        double cpu = bench_cpu_seconds();
        run_until(jobs, count * part / 10);
        (void)snprintf(name, sizeof name, "foreign transaction, %llu/10", (unsigned long long)part);
        say(name, completed(jobs) - before, (double)(bench_now_ns() - start) / 1e9, bench_cpu_seconds() - cpu);
    }
    foreign_end(foreign);
    vigil_jobs_close(jobs);
}

/* What the processes have completed, in memory that they share: counting in the database would cost more than the
   jobs. */
struct tallies {
    _Atomic int stop;
    _Atomic uint64_t had[64];
};

static _Noreturn void be_one_of_many(const char *where, struct tallies *tallies, unsigned number)
{
    vigil_jobs *jobs = open_queue(where, 1, false);
    if (vigil_jobs_start(jobs) != 0)
        fail("start");
    while (atomic_load(&tallies->stop) == 0) {
        atomic_store(&tallies->had[number], completed(jobs));
        (void)usleep(2000);
    }
    vigil_jobs_close(jobs);
    _exit(0);
}

static void processes_row(const char *where, uint64_t count, unsigned number)
{
    vigil_jobs *jobs = open_queue(where, 1, true);
    enqueue_many(jobs, count);
    vigil_jobs_close(jobs); /* a queue does not outlive a fork */
    struct tallies *tallies = mmap(NULL, sizeof *tallies, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tallies == MAP_FAILED)
        exit(1);
    uint64_t start = bench_now_ns(), sum;
    for (unsigned i = 0; i < number; i++)
        if (fork() == 0)
            be_one_of_many(where, tallies, i);
    do {
        (void)usleep(1000);
        sum = 0;
        for (unsigned i = 0; i < number; i++)
            sum += atomic_load(&tallies->had[i]);
    } while (sum < count);
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    atomic_store(&tallies->stop, 1);
    while (wait(NULL) > 0) {
    }
    printf("%u processes                  %10.0f /s   each had", number, (double)count / seconds);
    for (unsigned i = 0; i < number; i++)
        printf(" %.0f%%", 100 * (double)atomic_load(&tallies->had[i]) / (double)count);
    printf(" of the jobs\n");
    (void)munmap(tallies, sizeof *tallies);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void latency(const char *where)
{
    enum {
        TIMES = 300
    };
    static uint64_t times[TIMES];
    vigil_jobs *jobs = open_queue(where, 1, false);
    if (vigil_jobs_start(jobs) != 0)
        fail("start");
    for (int i = 0; i < TIMES; i++) {
        struct timespec pause = {.tv_nsec = 3000000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        uint64_t before = atomic_load_explicit(&ran, memory_order_relaxed), start = bench_now_ns();
        if (vigil_jobs_enqueue(jobs, "nothing", NULL, 0, NULL, NULL) != 0)
            fail("enqueue");
        while (atomic_load_explicit(&ran, memory_order_acquire) == before)
            (void)usleep(20);
        times[i] = atomic_load_explicit(&started_ns, memory_order_relaxed) - start;
    }
    qsort(times, TIMES, sizeof *times, by_size);
    printf("%-28s p50 %.0f us, p99 %.0f us\n", "enqueue to start, idle", (double)times[TIMES / 2] / 1e3,
           (double)times[TIMES * 99 / 100] / 1e3);
    vigil_jobs_close(jobs);
}

static void plain_row(const char *where, uint64_t count, int batch)
{
    char name[64];
    struct plain_result result = is_pq(where) ? plain_pq(where, count, batch) : plain_sqlite(where, count, batch);
    (void)snprintf(name, sizeof name, "plain table, batch %d", batch);
    say(name, result.done, result.seconds, result.cpu);
}

static void enqueue_row(const char *where, uint64_t count)
{
    vigil_jobs *queue = open_queue(where, 1, true);
    uint64_t start = bench_now_ns(), singles = count / 50 + 1;
    double cpu = bench_cpu_seconds();
    for (uint64_t i = 0; i < singles; i++)
        if (vigil_jobs_enqueue(queue, "stays", "12345678", 8, NULL, NULL) != 0)
            fail("enqueue");
    say("enqueue, one by one", singles, (double)(bench_now_ns() - start) / 1e9, bench_cpu_seconds() - cpu);
    start = bench_now_ns(), cpu = bench_cpu_seconds();
    enqueue_many(queue, count);
    say("enqueue, by 256", count, (double)(bench_now_ns() - start) / 1e9, bench_cpu_seconds() - cpu);
    if (vigil_jobs_start(queue) != 0)
        fail("start");
    run_until(queue, count); /* the next row starts without them */
    vigil_jobs_close(queue);
}

static bool row(const char *name, const char *where, uint64_t count)
{
    bool all = strcmp(name, "all") == 0, known = all;
    const char *value = strchr(name, '=');
    uint64_t number = value != NULL ? strtoull(value + 1, NULL, 10) : 0;
    if (all || strcmp(name, "enqueue") == 0)
        known = true, enqueue_row(where, count);
    if (all || strcmp(name, "run") == 0)
        known = true, run_row("run, batches", where, count, 2, false);
    if (all || strcmp(name, "single") == 0)
        known = true, run_row("run, one in flight", where, count / 20 + 1, 1, true);
    if (all || strcmp(name, "latency") == 0)
        known = true, latency(where);
    if (all || strcmp(name, "plain") == 0) {
        known = true;
        plain_row(where, count / 20 + 1, 1);
        plain_row(where, count, 64);
        plain_row(where, count, 256);
        plain_row(where, count, 512);
    }
    if (number > 0 && (strncmp(name, "waiting=", 8) == 0 || strncmp(name, "ended=", 6) == 0))
        known = true, filled_row(where, count, number, name[0] == 'e');
    if (number > 0 && number <= 64 && strncmp(name, "processes=", 10) == 0)
        known = true, processes_row(where, count, (unsigned)number);
    if (strcmp(name, "foreign") == 0 && is_pq(where))
        known = true, foreign_row(where, count);
    return known;
}

int main(int count, char **words)
{
    if (count < 2 || !row(count > 3 ? words[3] : "all", words[1], count > 2 ? strtoull(words[2], NULL, 10) : 100000)) {
        (void)fprintf(stderr,
                      "usage: vigil-bench-jobs WHERE [COUNT [all|enqueue|run|single|latency|plain|waiting=N|ended=N|"
                      "foreign|processes=N]]\n");
        return 2;
    }
    return 0;
}
