/* SPDX-License-Identifier: MIT */
/* promise-cost: how often the library asks for memory. The linker sends its calls of malloc and its kind through the functions below
   (--wrap, see CMakeLists.txt), which count them. */
#include "../peer/peer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/promise.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static atomic_llong allocations;

static void counted(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *__wrap_malloc(size_t size)
{
    counted();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    counted();
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    counted();
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    counted();
    return __real_aligned_alloc(alignment, size);
}

static vigil_loop *loop;
static vigil_pool *pool;
static long handled, wanted, target;

static void must(int rc)
{
    bench_must(rc == 0, "a call of ours");
}

static vigil_value adopts(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    vigil_promise *p;
    must(vigil_promise_resolved(loop, vigil_value_int(1), &p));
    return vigil_value_promise(p);
}

static vigil_value count(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    if (++handled == target)
        must(vigil_loop_pause(loop));
    return vigil_value_none();
}

/* Ten promises: a chain of nine, one of which adopts the tenth. */
static void chain(void)
{
    vigil_promise *root;
    must(vigil_promise_create(&root, loop));
    vigil_promise *p = vigil_promise_ref(root);
    for (int i = 0; i < 7; i++)
        p = vigil_promise_chain(p, i == 3 ? adopts : NULL, NULL, NULL);
    p = vigil_promise_chain(p, count, NULL, NULL);
    vigil_promise_unref(p);
    must(vigil_promise_resolve(root, vigil_value_int(1)));
    vigil_promise_unref(root);
}

static void all(void)
{
    vigil_promise *them[10];
    vigil_promise *p;
    for (int i = 0; i < 10; i++)
        must(vigil_promise_resolved(loop, vigil_value_int(i), &them[i]));
    must(vigil_promise_all(loop, them, 10, &p));
    for (int i = 0; i < 10; i++)
        vigil_promise_unref(them[i]);
    must(vigil_promise_then(p, count, NULL, NULL, NULL));
    vigil_promise_unref(p);
}

static vigil_value work(void *arg)
{
    (void)arg;
    return vigil_value_none();
}

static void call(void)
{
    vigil_promise *p;
    must(vigil_async(loop, pool, work, NULL, NULL, &p));
    must(vigil_promise_then(p, count, NULL, NULL, NULL));
    vigil_promise_unref(p);
}

static void (*body)(void);

static void turn(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50 && wanted > 0; i++, wanted--)
        body();
    if (wanted > 0)
        must(vigil_loop_immediate_call(loop, turn, NULL, NULL));
}

static void run(void (*what)(void), long times)
{
    body = what;
    wanted = target = times;
    handled = 0;
    must(vigil_loop_call(loop, turn, NULL, NULL));
    bench_must(vigil_loop_run(loop, VIGIL_RUN) == 1, "a loop that is stopped by the last handler");
}

static double per(void (*what)(void), long times)
{
    run(what, times / 5 + 1); /* warm-up */
    long long before = atomic_load(&allocations);
    run(what, times);
    return (double)(atomic_load(&allocations) - before) / (double)times;
}

int main(int argc, char **argv)
{
    struct bench_args args = bench_parse(argc, argv);
    if (strcmp(args.bench, "promise-cost") != 0)
        bench_trouble("this peer does not know %s", args.bench);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = args.workers;
    must(vigil_pool_create(&pool, &options));
    must(vigil_loop_create(&loop, NULL));
    bench_print("allocs_per_promise", per(chain, args.n / 10) / 10);
    bench_print("allocs_per_all", per(all, args.n / 20));
    bench_print("allocs_per_call", per(call, args.n / 10));
    must(vigil_loop_destroy(loop));
    must(vigil_pool_destroy(pool));
    return 0;
}
