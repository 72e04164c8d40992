/* SPDX-License-Identifier: MIT */
/*
 * A hundred million promises of every kind, and the memory stays flat: what the slab has taken after the first hundredth is
 * all that it ever takes. And a world of dice: promises that are chained, adopted, combined, settled here and there, and
 * dropped at any moment, with every value accounted for at the end.
 * VIGIL_TEST_SEED in the environment repeats a run's dice (not its timing).
 */
#include "promise/promise_test.h"

#include <unistd.h>

/* ---- flat memory ------------------------------------------------------------------------------------------------- */

enum {
    ROUND = 64 /* chains in one callback; each is 10 promises, and a list */
};

static struct {
    uint64_t wanted;
    uint64_t chunks;
    long pages;
    uint64_t handled;
} soak;

static long resident(void)
{
    long size = 0;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    must(file != NULL);
    must_equal(fscanf(file, "%ld %ld", &size, &pages), 2);
    must_equal(fclose(file), 0);
    return pages;
}

static vigil_value count_up(vigil_value *value, void *arg)
{
    (void)arg;
    soak.handled++;
    return vigil_value_int(value->kind == VIGIL_INT ? value->integer + 1 : 0);
}

static vigil_value adopt_one(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_promise(resolved(vigil_value_int(5)));
}

static vigil_value finally_nothing(void *arg)
{
    (void)arg;
    return vigil_value_none();
}

/* Ten promises. */
static void one_of_each(void)
{
    vigil_promise *root = pending();
    vigil_promise *p = vigil_promise_ref(root);
    p = vigil_promise_chain(p, count_up, NULL, NULL);
    p = vigil_promise_chain(p, adopt_one, NULL, NULL); /* and the one that it makes */
    p = vigil_promise_chain(p, NULL, must_not_run, NULL);
    vigil_promise *last = NULL;
    must_equal(vigil_promise_finally(p, finally_nothing, NULL, &last), 0);
    then(p, count_up, NULL, NULL);
    vigil_promise *both[] = {last, root};
    vigil_promise *all = NULL;
    must_equal(vigil_promise_all(loop, both, 2, &all), 0);
    then(all, count_up, NULL, NULL);
    resolve(root, vigil_value_pointer(&soak, NULL));
    drop(pending()); /* the tenth: nobody settles it */
    drop(root);
    drop(p);
    drop(last);
    drop(all);
}

static void soak_round(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUND; i++)
        one_of_each();
    vigil_promise_stats stats = promise_stats();
    if (soak.chunks == 0 && stats.created >= soak.wanted / 100) {
        soak.chunks = stats.chunks;
        soak.pages = resident();
    }
    if (stats.created < soak.wanted)
        must_equal(vigil_loop_immediate_call(loop, soak_round, NULL, NULL), 0);
}

static void a_hundred_million_promises_keep_the_memory_flat(void **state)
{
    (void)state;
    memset(&soak, 0, sizeof soak);
    soak.wanted = scaled(TEST_SANITIZED ? 20000000 : 100000000, 200000);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.microtasks = VIGIL_MICROTASK_EXHAUSTIVE;
    must_equal(vigil_loop_create(&loop, &options), 0);
    must_equal(vigil_loop_call(loop, soak_round, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    vigil_promise_stats stats = promise_stats();
    must(stats.created >= soak.wanted);
    must_equal(stats.alive, 0);
    must_equal(stats.chunks, soak.chunks);
    must_equal(soak.handled, stats.created / 10 * 3);
#if !TEST_SANITIZED
    must_be_between(resident() - soak.pages, -1000000, 256); /* a megabyte of noise, for gigabytes that went through */
#endif
    must_equal(vigil_loop_destroy(loop), 0);
}

/* Made and settled by one thread, handled and freed by another. */
struct stream {
    uint64_t rounds;
    uint64_t chunks;
};

static vigil_value take_number(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_none();
}

static void add_handler(void *arg)
{
    then(arg, take_number, must_not_run, NULL);
    drop(arg);
}

static void *stream_thread(void *arg)
{
    struct stream *stream = arg;
    for (uint64_t i = 0; i < stream->rounds; i++) {
        vigil_promise *p = pending();
        must_equal(vigil_loop_call(loop, add_handler, NULL, vigil_promise_ref(p)), 0);
        resolve(p, counted((int64_t)i));
        if (i % 64 == 63) /* not more than so many on their way */
            must_equal(vigil_promise_wait(p, VIGIL_FOREVER, NULL), VIGIL_FULFILLED);
        drop(p);
        if (i == stream->rounds / 10)
            stream->chunks = promise_stats().chunks;
    }
    must_equal(vigil_loop_unref(loop), 0);
    return NULL;
}

static void promises_of_another_thread_keep_it_flat_too(void **state)
{
    (void)state;
    struct stream stream = {.rounds = scaled(1000000, 5000)};
    loop_open();
    must_equal(vigil_loop_ref(loop), 0);
    pthread_t thread = start_thread(stream_thread, &stream);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    join_thread(thread);
    must_equal(promise_stats().alive, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_be_between(promise_stats().chunks, 1, stream.chunks + 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- dice -------------------------------------------------------------------------------------------------------- */

enum {
    SHELF = 64
};

static struct {
    uint64_t dice;
    uint64_t steps;
    vigil_promise *shelf[SHELF]; /* references of ours; some are roots */
    vigil_pool *pool;
    vigil_cancel_source *source;
    bool lists;
} world;

static uint32_t roll(uint32_t sides)
{
    uint64_t x = world.dice;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    world.dice = x;
    return (uint32_t)(x >> 33) % sides;
}

static vigil_promise **place(void)
{
    return &world.shelf[roll(SHELF)];
}

static vigil_value some_value(void)
{
    switch (roll(6)) {
    case 0:
        return vigil_value_error(-EIO);
    case 1: {
        vigil_promise *other = *place();
        return other != NULL ? vigil_value_promise(vigil_promise_ref(other)) : vigil_value_none();
    }
    case 2:
        return vigil_value_int(1);
    default:
        return counted(1);
    }
}

static vigil_value some_handler(vigil_value *value, void *arg)
{
    (void)arg;
    switch (roll(8)) {
    case 0:
        vigil_raise(-EPROTO);
    case 1:
        return *value;
    default:
        if (!world.lists)
            break;
        return some_value(); /* a value goes into a list or is moved, not both */
    }
    switch (roll(6)) {
    case 2:
        return vigil_value_move(value);
    case 3: {
        vigil_value mine = vigil_value_move(value);
        vigil_value_destroy(&mine);
        return vigil_value_none();
    }
    default:
        return some_value();
    }
}

static vigil_value some_finally(void *arg)
{
    (void)arg;
    return some_value();
}

static vigil_value some_work(void *arg)
{
    (void)arg;
    return counted(3);
}

static void put(vigil_promise *promise)
{
    vigil_promise **at = place();
    drop(*at);
    *at = promise;
}

static void combine_some(void)
{
    vigil_promise *some[5];
    size_t count = 0;
    for (int i = 0; i < 5; i++)
        if ((some[count] = *place()) != NULL)
            count++;
    static int (*const kinds[])(vigil_loop *, vigil_promise *const *, size_t, vigil_promise **) = {
        vigil_promise_all, vigil_promise_all_settled, vigil_promise_any, vigil_promise_race};
    vigil_promise *made = NULL;
    must_equal(kinds[roll(4)](loop, some, count, &made), 0);
    put(made);
}

static void one_step(void)
{
    vigil_promise *it = *place();
    vigil_promise *made = NULL;
    switch (roll(10)) {
    case 0:
    case 1:
        put(pending());
        break;
    case 2:
        if (it != NULL) {
            vigil_value value = some_value();
            if (vigil_promise_resolve(it, value) != 0)
                vigil_value_destroy(&value);
        }
        break;
    case 3:
    case 4:
        if (it != NULL) {
            must_equal(vigil_promise_then(it, some_handler, roll(2) == 0 ? some_handler : NULL, NULL,
                                          roll(3) == 0 ? NULL : &made),
                       0);
            if (made != NULL)
                put(made);
        }
        break;
    case 5:
        if (it != NULL) {
            must_equal(vigil_promise_finally(it, some_finally, NULL, &made), 0);
            put(made);
        }
        break;
    case 6:
        put(NULL);
        break;
    case 7:
        must_equal(
            vigil_promise_sleep(loop, roll(1000), roll(2) == 0 ? vigil_cancel_token_of(world.source) : NULL, &made), 0);
        put(made);
        break;
    case 8:
        if (roll(4) == 0)
            must_equal(vigil_async(loop, world.pool, some_work, NULL, NULL, &made), 0);
        else if (it != NULL)
            must_equal(vigil_promise_guard(it, vigil_cancel_token_of(world.source), roll(2000) + 1, &made), 0);
        if (made != NULL)
            put(made);
        break;
    default:
        if (roll(20) == 0) {
            (void)vigil_cancel_abort(world.source, -EINTR, NULL);
            vigil_cancel_destroy(world.source);
            must_equal(vigil_cancel_create(&world.source), 0);
        }
        break;
    }
}

static void steps(void *arg)
{
    for (uint32_t i = 1 + roll(30); i > 0 && world.steps > 0; i--, world.steps--) {
        if (world.lists && roll(10) == 0)
            combine_some();
        else
            one_step();
    }
    if (world.steps > 0)
        must_equal(vigil_loop_immediate_call(loop, steps, NULL, arg), 0);
    else if (roll(2) == 0)
        must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
}

static void live(uint64_t seed)
{
    memset(&world, 0, sizeof world);
    world.dice = seed | 1;
    world.steps = 2000;
    world.lists = roll(2) == 0;
    world.pool = pool_of(1);
    must_equal(vigil_cancel_create(&world.source), 0);
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_loop_call(loop, steps, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    for (int i = 0; i < SHELF; i++) {
        must(world.shelf[i] == NULL || vigil_promise_state_get(world.shelf[i]) != VIGIL_PENDING);
        drop(world.shelf[i]);
    }
    pool_close(world.pool);
    must_equal(promise_stats().alive, 0);
    must_equal(promise_stats().in_flight, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    vigil_cancel_destroy(world.source);
}

static void whatever_is_done_with_promises_nothing_is_left(void **state)
{
    (void)state;
    const char *seed = getenv("VIGIL_TEST_SEED");
    if (seed != NULL) {
        live(strtoull(seed, NULL, 10));
        return;
    }
    uint64_t start = now_ns();
    fprintf(stderr, "seeds: VIGIL_TEST_SEED=%llu and those behind it\n", (unsigned long long)start + 1);
    for (uint64_t i = scaled(500, 20); i > 0; i--) {
        live(start + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_hundred_million_promises_keep_the_memory_flat),
        test(promises_of_another_thread_keep_it_flat_too),
        test(whatever_is_done_with_promises_nothing_is_left),
    };
    return run_all(tests);
}
