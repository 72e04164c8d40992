/* SPDX-License-Identifier: MIT */
/* test: clock - one promise is a bound on time: 64 workers start in under 10 ms. */
/* P13: names, stack size and CPU affinity of workers on request, and none of it holds up the start. */
#include "support.h"

#include <sched.h>
#include <unistd.h>

/* What each worker says about itself. */
struct portrait {
    char name[16];
    size_t stack;
    cpu_set_t cpus;
};

struct album {
    struct meeting *meeting;
    struct portrait portraits[64];
};

static int draw(void *arg)
{
    struct album *album = arg;
    struct portrait *mine = &album->portraits[vigil_pool_current_worker()];
    pthread_attr_t attributes;
    must_equal(pthread_getname_np(pthread_self(), mine->name, sizeof mine->name), 0);
    must_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    must_equal(pthread_attr_getstacksize(&attributes, &mine->stack), 0);
    must_equal(pthread_attr_destroy(&attributes), 0);
    must_equal(pthread_getaffinity_np(pthread_self(), sizeof mine->cpus, &mine->cpus), 0);
    (void)meeting_join(album->meeting); /* so that each worker draws one */
    return 0;
}

static struct album *album_of(const vigil_pool_options *options)
{
    struct album *album = calloc(1, sizeof *album);
    must(album != NULL);
    struct meeting meeting = {.size = options->workers};
    album->meeting = &meeting;
    vigil_pool *pool = pool_with(options);
    for (unsigned i = 0; i < options->workers; i++)
        must_equal(vigil_pool_call(pool, draw, NULL, album, VIGIL_NORMAL), 0);
    pool_close(pool);
    return album;
}

static void p13_threads_are_called_after_the_pool_and_their_number(void **state)
{
    (void)state;
    static const struct {
        const char *given, *first, *last;
    } cases[] = {
        {NULL, "vigil/0", "vigil/11"},
        {"io", "io/0", "io/11"},
        {"", "/0", "/11"},
    };
    for (size_t i = 0; i < count_of(cases); i++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 12;
        options.name = cases[i].given;
        struct album *album = album_of(&options);
        must_equal(strcmp(album->portraits[0].name, cases[i].first), 0);
        must_equal(strcmp(album->portraits[11].name, cases[i].last), 0);
        free(album);
    }
}

static void p13_a_name_that_is_too_long_is_cut_and_keeps_its_number(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 12;
    options.name = "a-very-long-name-for-a-pool";
    struct album *album = album_of(&options);
    for (int i = 0; i < 12; i++) {
        char number[16];
        const char *name = album->portraits[i].name;
        const char *slash = strrchr(name, '/');
        (void)snprintf(number, sizeof number, "/%d", i);
        must(slash != NULL && strcmp(slash, number) == 0);
        must_be_between(strlen(name), 10, 15);
        must_equal(strncmp(name, options.name, (size_t)(slash - name)), 0);
    }
    free(album);
}

static void p13_workers_have_the_stack_that_was_asked_for(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.stack_size = (size_t)24 << 20; /* more than the default, or libc may hand out a larger one it has kept */
    struct album *album = album_of(&options);
    for (int i = 0; i < 3; i++)
        must_be_between(album->portraits[i].stack, options.stack_size, options.stack_size + 65536);
    free(album);
}

/* musl's default of 128 KiB would not do for code that was written with glibc's 8 MiB in mind. */
static void p13_workers_have_at_least_a_mebibyte_of_stack_by_default(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    struct album *album = album_of(&options);
    for (int i = 0; i < 3; i++)
        must(album->portraits[i].stack >= (size_t)1 << 20);
    free(album);
}

static void p13_workers_are_bound_to_the_cpus_that_were_asked_for(void **state)
{
    (void)state;
    cpu_set_t usable;
    int cpus[2];
    size_t count = 0;
    must_equal(sched_getaffinity(0, sizeof usable, &usable), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++) {
        if (CPU_ISSET((size_t)cpu, &usable))
            cpus[count++] = cpu;
    }
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 5;
    options.cpus = cpus;
    options.cpu_count = count;
    struct album *album = album_of(&options);
    for (size_t i = 0; i < 5; i++) {
        must_equal(CPU_COUNT(&album->portraits[i].cpus), 1);
        must(CPU_ISSET((size_t)cpus[i % count], &album->portraits[i].cpus));
    }
    free(album);
    /* Not asked for: not bound. */
    options.cpus = NULL;
    options.cpu_count = 0;
    album = album_of(&options);
    for (size_t i = 0; i < 5; i++)
        must(CPU_EQUAL(&album->portraits[i].cpus, &usable));
    free(album);
}

static void p13_a_cpu_that_does_not_exist_does_not_hold_up_the_start(void **state)
{
    (void)state;
    int cpus[] = {CPU_SETSIZE - 1};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.cpus = cpus;
    options.cpu_count = 1;
    vigil_pool *pool = pool_with(&options);
    struct hold hold = {0};
    hold_workers(&hold, pool, 2);
    hold_release(&hold);
    pool_close(pool);
}

static void slow_start(void *user, unsigned worker)
{
    if (worker == 1)
        gate_pass(user);
}

static void p13_a_worker_that_is_slow_to_start_holds_up_nobody(void **state)
{
    (void)state;
    struct gate gate = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.on_worker_start = slow_start;
    options.user = &gate;
    vigil_pool *pool = pool_with(&options);
    gate_wait_entered(&gate, 1);
    /* Worker 1 sits in its hook; worker 0 does the work. */
    struct meeting alone = {.size = 1};
    struct album *album = calloc(1, sizeof *album);
    must(album != NULL);
    album->meeting = &alone;
    for (int i = 0; i < 100; i++)
        must_equal(vigil_pool_call(pool, draw, NULL, album, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(strcmp(album->portraits[0].name, "vigil/0"), 0);
    must_equal(album->portraits[1].name[0], '\0');
    gate_open(&gate);
    free(album);
    pool_close(pool);
}

static void p13_64_workers_start_in_under_10_ms(void **state)
{
    (void)state;
    uint64_t best = UINT64_MAX;
    /* The best of several: what is claimed is what the library needs, and not what the rest of the machine leaves it. */
    for (int round = 0; round < 20 && best >= 10000000; round++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 64;
        uint64_t before = now_ns();
        vigil_pool *pool = NULL;
        must_equal(vigil_pool_create(&pool, &options), 0);
        uint64_t took = now_ns() - before;
        best = took < best ? took : best;
        must_equal(vigil_pool_destroy(pool), 0);
    }
    if (!TEST_SANITIZED)
        must_be_between(best, 0, 10000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p13_threads_are_called_after_the_pool_and_their_number),
        test(p13_a_name_that_is_too_long_is_cut_and_keeps_its_number),
        test(p13_workers_have_the_stack_that_was_asked_for),
        test(p13_workers_have_at_least_a_mebibyte_of_stack_by_default),
        test(p13_workers_are_bound_to_the_cpus_that_were_asked_for),
        test(p13_a_cpu_that_does_not_exist_does_not_hold_up_the_start),
        test(p13_a_worker_that_is_slow_to_start_holds_up_nobody),
        test(p13_64_workers_start_in_under_10_ms),
    };
    return run_all(tests);
}
