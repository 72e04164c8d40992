/* SPDX-License-Identifier: MIT */
/*
 * pool-cost: what Vigil asks of others. The linker sends the library's calls of malloc and its kind, mmap, syscall and
 * sched_yield through the functions below (--wrap, see CMakeLists.txt), which count them. What libc does inside itself,
 * such as a new thread's stack, is not seen, and not meant.
 */
#include "../peer/peer.h"

#include <malloc.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vigil/pool.h>

static atomic_llong allocations, system_calls, live_bytes;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
long __real_syscall(long number, ...);
int __real_sched_yield(void);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
long __wrap_syscall(long number, ...);
int __wrap_sched_yield(void);

static void *allocated(void *memory)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_bytes, (long long)malloc_usable_size(memory), memory_order_relaxed);
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return allocated(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocated(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    atomic_fetch_sub_explicit(&live_bytes, (long long)malloc_usable_size(memory), memory_order_relaxed);
    return allocated(__real_realloc(memory, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allocated(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    atomic_fetch_sub_explicit(&live_bytes, (long long)malloc_usable_size(memory), memory_order_relaxed);
    __real_free(memory);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_bytes, (long long)size, memory_order_relaxed);
    return __real_mmap(address, size, protection, flags, fd, offset);
}

long __wrap_syscall(long number, ...)
{
    va_list words;
    long word[6];
    va_start(words, number);
    for (int i = 0; i < 6; i++)
        word[i] = va_arg(words, long);
    va_end(words);
    atomic_fetch_add_explicit(&system_calls, 1, memory_order_relaxed);
    return __real_syscall(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

int __wrap_sched_yield(void)
{
    atomic_fetch_add_explicit(&system_calls, 1, memory_order_relaxed);
    return __real_sched_yield();
}

static long long read_count(atomic_llong *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

#define START_WORKERS 64
#define WINDOW        1000 /* tasks at a time, so that warming up reaches the largest backlog */

static vigil_pool *pool;
static vigil_task *tasks;
static atomic_uint started, blocking;
static sem_t gate;

static int nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

static int call_nothing(void *argument)
{
    (void)argument;
    return 0;
}

static int block(vigil_task *task)
{
    (void)task;
    atomic_fetch_add_explicit(&blocking, 1, memory_order_release);
    while (sem_wait(&gate) != 0)
        ;
    return 0;
}

static void on_start(void *user, unsigned worker)
{
    (void)user;
    (void)worker;
    atomic_fetch_add_explicit(&started, 1, memory_order_release);
}

static void start(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.require_all_threads = true;
    options.on_worker_start = on_start;
    bench_must(vigil_pool_create(&pool, &options) == 0, "vigil_pool_create");
}

static void wait_idle(void)
{
    bench_must(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "vigil_pool_wait_idle");
}

static void submit(long n, bool calls)
{
    for (long i = 0; i < n; i++) {
        if (calls)
            bench_must(vigil_pool_call(pool, call_nothing, NULL, NULL, VIGIL_NORMAL) == 0, "vigil_pool_call");
        else
            bench_must(vigil_pool_submit(pool, &tasks[i], VIGIL_NORMAL) == 0, "vigil_pool_submit");
    }
}

/* Allocations per submit, both ways of submitting, once the largest backlog has been there before. */
static void measure_allocations(long n)
{
    long long before = 0;
    for (long done = -10L * WINDOW; done < n; done += WINDOW) {
        if (done == 0)
            before = read_count(&allocations);
        submit(WINDOW, true);
        submit(WINDOW, false);
        wait_idle();
    }
    bench_print("allocs_per_submit", (double)(read_count(&allocations) - before) / (double)(2 * n));
}

/* System calls of the whole process while n tasks are submitted and every worker is inside a task; and, as nobody else
   wants a CPU then, what a submit costs the one who calls it. */
static void measure_busy(unsigned workers, long n)
{
    for (unsigned i = 0; i < workers; i++) {
        vigil_task_init(&tasks[n + i], block, NULL);
        bench_must(vigil_pool_submit(pool, &tasks[n + i], VIGIL_NORMAL) == 0, "vigil_pool_submit");
    }
    while (atomic_load_explicit(&blocking, memory_order_acquire) < workers)
        bench_sleep(100000);
    const long long before = read_count(&system_calls);
    const uint64_t begin = bench_now();
    submit(n, false);
    bench_print("busy_ns_per_submit", (double)(bench_now() - begin) / (double)n);
    bench_print("busy_syscalls_per_submit", (double)(read_count(&system_calls) - before) / (double)n);
    for (unsigned i = 0; i < workers; i++)
        sem_post(&gate);
    wait_idle();
}

/* The same while the workers run the tasks as they come, as in pool-submit. */
static void measure_stream(long n)
{
    const long long before = read_count(&system_calls);
    submit(n, false);
    wait_idle();
    bench_print("syscalls_per_submit", (double)(read_count(&system_calls) - before) / (double)n);
}

/* From the call of create until each of the workers has come up; and what they hold once they are parked. */
static void measure_start(void)
{
    const long long bytes = read_count(&live_bytes);
    const uint64_t begin = bench_now();
    start(START_WORKERS);
    while (atomic_load_explicit(&started, memory_order_acquire) < START_WORKERS)
        bench_sleep(50000);
    bench_print("start_64_ms", (double)(bench_now() - begin) / 1e6);
    submit(WINDOW, false);
    wait_idle();
    bench_print("kib_per_worker", (double)(read_count(&live_bytes) - bytes) / 1024 / START_WORKERS);
    vigil_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    if (strcmp(args.bench, "pool-cost") != 0)
        bench_trouble("this peer has no %s", args.bench);
    tasks = bench_alloc((size_t)args.n + args.workers, sizeof *tasks);
    for (long i = 0; i < args.n; i++)
        vigil_task_init(&tasks[i], nothing, NULL);
    sem_init(&gate, 0, 0);
    measure_start();
    start(args.workers);
    measure_allocations(args.n);
    measure_busy(args.workers, args.n);
    measure_stream(args.n);
    vigil_pool_destroy(pool);
    return 0;
}
