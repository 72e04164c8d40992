/* SPDX-License-Identifier: MIT */
#include "../peer/peer.h"

#include <string.h>
#include <time.h>
#include <vigil/promise.h>

enum {
    BATCH = 500,
    WARM = 200
};

static vigil_loop *loop;
static vigil_pool *pool;
static uint64_t handled;

static void must(int rc)
{
    bench_must(rc == 0, "a call of ours");
}

static vigil_value add(vigil_value *value, void *arg)
{
    (void)arg;
    handled++;
    return vigil_value_int(value->integer + 1);
}

static vigil_value count(vigil_value *value, void *arg)
{
    (void)arg;
    (void)value;
    handled++;
    return vigil_value_none();
}

/* ---- what is measured -------------------------------------------------------------------------------------------- */

static void create(void)
{
    for (int i = 0; i < BATCH; i++) {
        vigil_promise *p;
        must(vigil_promise_create(&p, loop));
        vigil_promise_unref(p);
    }
}

static void then(void)
{
    for (int i = 0; i < BATCH / 10; i++) {
        vigil_promise *p;
        must(vigil_promise_create(&p, loop));
        for (int k = 0; k < 10; k++)
            must(vigil_promise_then(p, add, NULL, NULL, NULL));
        vigil_promise_unref(p);
    }
}

static void resolve(void)
{
    for (int i = 0; i < BATCH; i++) {
        vigil_promise *p;
        must(vigil_promise_create(&p, loop));
        must(vigil_promise_then(p, add, NULL, NULL, NULL));
        must(vigil_promise_resolve(p, vigil_value_int(1)));
        vigil_promise_unref(p);
    }
}

static void chain(void)
{
    vigil_promise *first;
    must(vigil_promise_create(&first, loop));
    vigil_promise *p = vigil_promise_ref(first);
    for (int i = 0; i < 100; i++)
        p = vigil_promise_chain(p, add, NULL, NULL);
    vigil_promise_unref(p);
    must(vigil_promise_resolve(first, vigil_value_int(1)));
    vigil_promise_unref(first);
}

static void all(void)
{
    vigil_promise *them[100];
    vigil_promise *p;
    for (int i = 0; i < 100; i++)
        must(vigil_promise_create(&them[i], loop));
    must(vigil_promise_all(loop, them, 100, &p));
    must(vigil_promise_then(p, count, NULL, NULL, NULL));
    vigil_promise_unref(p);
    for (int i = 0; i < 100; i++) {
        must(vigil_promise_resolve(them[i], vigil_value_int(1)));
        vigil_promise_unref(them[i]);
    }
}

static const struct measured {
    const char *bench;
    const char *key;
    void (*body)(void);
    long per;      /* operations in one body */
    double scale;  /* of a nanosecond */
    long handlers; /* that each body runs */
} table[] = {
    {"promise-create", "ns_per_op", create, BATCH, 1, 0},
    {"promise-then", "ns_per_op", then, BATCH, 1, 0},
    {"promise-resolve", "ns_per_op", resolve, BATCH, 1, BATCH},
    {"promise-chain", "us_per_chain", chain, 1, 1e-3, 100},
    {"promise-all", "us_per_all", all, 1, 1e-3, 1},
    {0},
};

static const struct measured *it;
static long left;

static uint64_t cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void turn(void *arg)
{
    it->body();
    left -= it->per;
    if (left > 0)
        must(vigil_loop_immediate_call(loop, turn, NULL, arg));
}

static uint64_t run(long operations)
{
    left = operations;
    handled = 0;
    long bodies = (operations + it->per - 1) / it->per;
    must(vigil_loop_call(loop, turn, NULL, NULL));
    must(vigil_loop_ref(loop)); /* so that it does not end */
    uint64_t before = cpu_now();
    while (left > 0 || handled < (uint64_t)(bodies * it->handlers))
        (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    uint64_t used = cpu_now() - before;
    must(vigil_loop_unref(loop));
    return used;
}

/* ---- promise-async ----------------------------------------------------------------------------------------------- */

static uint64_t *samples, began, gap_ns;
static size_t total, done;

static vigil_value work(void *arg)
{
    return vigil_value_pointer(arg, NULL);
}

static void start(void);

static void next(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    start();
}

static vigil_value came(vigil_value *value, void *arg)
{
    (void)arg;
    (void)value;
    if (done >= WARM)
        samples[done - WARM] = bench_now() - began;
    if (++done == total)
        return vigil_value_none();
    if (gap_ns == 0)
        start();
    else
        must(vigil_timer_start(loop, (int64_t)gap_ns, next, NULL, NULL));
    return vigil_value_none();
}

static void start(void)
{
    vigil_promise *p;
    began = bench_now();
    must(vigil_async(loop, pool, work, NULL, NULL, &p));
    must(vigil_promise_then(p, came, NULL, NULL, NULL));
    vigil_promise_unref(p);
}

static void first(void *arg)
{
    (void)arg;
    start();
}

static void async(const struct bench_args *args)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = args->workers;
    must(vigil_pool_create(&pool, &options));
    gap_ns = (uint64_t)args->param * 1000;
    total = (size_t)args->n + WARM;
    samples = bench_alloc((size_t)args->n, sizeof *samples);
    must(vigil_loop_call(loop, first, NULL, NULL));
    must(vigil_loop_run(loop, VIGIL_RUN));
    bench_print_percentiles(samples, (size_t)args->n);
    must(vigil_pool_destroy(pool));
}

int main(int argc, char **argv)
{
    struct bench_args args = bench_parse(argc, argv);
    must(vigil_loop_create(&loop, NULL));
    if (strcmp(args.bench, "promise-async") == 0) {
        async(&args);
    } else {
        for (it = table; it->bench != NULL && strcmp(it->bench, args.bench) != 0; it++) {
        }
        if (it->bench == NULL)
            bench_trouble("this peer does not know %s", args.bench);
        (void)run(args.n / 10);
        bench_print(it->key, (double)run(args.n) / (double)args.n * it->scale);
    }
    must(vigil_loop_destroy(loop));
    return 0;
}
