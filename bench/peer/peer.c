/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bench_args bench_parse(int argc, char **argv)
{
    struct bench_args args = {.bench = argc > 1 ? argv[1] : "", .workers = 1, .producers = 1, .n = 1};
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        bench_must(value != NULL, "a word of the form name=number");
        const long number = strtol(value + 1, NULL, 10);
        if (strncmp(argv[i], "workers=", 8) == 0)
            args.workers = (unsigned)number;
        else if (strncmp(argv[i], "producers=", 10) == 0)
            args.producers = (unsigned)number;
        else if (strncmp(argv[i], "n=", 2) == 0)
            args.n = number;
        else if (strncmp(argv[i], "param=", 6) == 0)
            args.param = number;
        else
            bench_trouble("unknown word %s", argv[i]);
    }
    return args;
}

void bench_print(const char *key, double value)
{
    printf("%s %.6f\n", key, value);
}

void bench_trouble(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    printf("trouble ");
    vprintf(format, words);
    printf("\n");
    va_end(words);
    fflush(stdout);
    _exit(3);
}

void bench_must(int holds, const char *what)
{
    if (!holds)
        bench_trouble("failed: %s", what);
}

void *bench_alloc(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    bench_must(memory != NULL, "memory");
    memset(memory, 0, count * size);
    return memory;
}

uint64_t bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void bench_sleep(uint64_t ns)
{
    struct timespec rest = {.tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
        ;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

void bench_print_percentiles(uint64_t *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, by_value);
    bench_print("p50_us", (double)samples[n / 2] / 1e3);
    bench_print("p99_us", (double)samples[n * 99 / 100] / 1e3);
}

#define MAX_SLOTS 2048
static struct bench_slot slots[MAX_SLOTS] __attribute__((aligned(128)));
static unsigned slot_count;
__thread struct bench_slot *bench_my_slot;

struct bench_slot *bench_take_slot(void)
{
    const unsigned index = __atomic_fetch_add(&slot_count, 1, __ATOMIC_RELAXED);
    bench_must(index < MAX_SLOTS, "a counter for each thread");
    return bench_my_slot = &slots[index];
}

void bench_count_call(void)
{
    bench_count();
}

uint64_t bench_counted(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < MAX_SLOTS && i < __atomic_load_n(&slot_count, __ATOMIC_RELAXED); i++)
        sum += __atomic_load_n(&slots[i].count, __ATOMIC_ACQUIRE); /* pairs with the release in bench_count */
    return sum;
}

void bench_wait_counted(uint64_t total)
{
    while (bench_counted() < total)
        bench_sleep(100000);
}

static uint64_t number_after(const char *path, const char *label)
{
    FILE *file = fopen(path, "r");
    uint64_t number = 0;
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, label, strlen(label)) == 0) {
            number = strtoull(line + strlen(label), NULL, 10);
            break;
        }
    }
    if (file)
        fclose(file);
    return number;
}

struct bench_activity bench_activity_now(void)
{
    struct bench_activity sum = {0};
    DIR *tasks = opendir("/proc/self/task");
    bench_must(tasks != NULL, "/proc/self/task");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == gettid())
            continue;
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        sum.switches += number_after(path, "voluntary_ctxt_switches:");
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        sum.cpu_ns += number_after(path, ""); /* its first number: ns on a CPU */
        sum.threads++;
    }
    closedir(tasks);
    return sum;
}

void bench_pin(int to_first)
{
    static cpu_set_t all; /* as the process was given them, at the first call */
    if (CPU_COUNT(&all) == 0)
        sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2)
        bench_trouble("it needs two CPUs");
    cpu_set_t mine = all, first;
    CPU_ZERO(&first);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &first);
            CPU_CLR(cpu, &mine);
            break;
        }
    }
    bench_must(sched_setaffinity(0, sizeof mine, to_first ? &first : &mine) == 0, "sched_setaffinity");
}

uint64_t bench_work(uint64_t rounds)
{
    uint64_t x = rounds | 1;
    for (uint64_t i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        __asm__ volatile("" : "+r"(x)); /* each step is made, one after the other */
    }
    return x;
}

uint64_t bench_rounds(uint64_t ns)
{
    const uint64_t rounds = 200000;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        const uint64_t start = bench_now();
        bench_work(rounds);
        const uint64_t took = bench_now() - start;
        best = took < best ? took : best;
    }
    return (rounds * ns + best / 2) / best;
}
