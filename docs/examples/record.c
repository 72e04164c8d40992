/* SPDX-License-Identifier: MIT */
/* Examples of vigil/record.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <vigil/pool.h>
#include <vigil/record.h>

/* vigil_record_configure: choose what is recorded, and where */
static void say(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

static int record_counters_only(void)
{
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.level = VIGIL_RECORD_COUNTERS;
    options.log = say;
    return vigil_record_configure(&options); /* before the first pool */
}

/* vigil_record_path: get the path of this process's record */
static void print_the_path(void)
{
    char path[256];
    if (vigil_record_path(path, sizeof path) >= 0)
        printf("vigil report %s\n", path);
}

/* vigil_record_stats_get: count what the recorder has written */
static void count_events(void)
{
    vigil_record_stats stats = VIGIL_RECORD_STATS_INIT;
    if (vigil_record_stats_get(&stats) == 0)
        printf("%llu events, %llu dropped\n",
               (unsigned long long)stats.events,
               (unsigned long long)stats.dropped);
}

/* vigil_record_name: give a function the name that viewers show */
static int run_one_turn(void *bot)
{
    (void)bot;
    return 0;
}

static int name_a_function(void)
{
    return VIGIL_RECORD_NAME(run_one_turn, "bot turn");
}

/* vigil_record_mark: write an event of your own */
static void mark_the_frame(uint64_t frame)
{
    if (vigil_record_mark("frame", frame) < 0)
        return; /* events are not recorded: no harm done */
}

/* ---- all of them ---- */

int main(void)
{
    vigil_pool *pool;
    if (record_counters_only() < 0 || name_a_function() < 0)
        return 1;
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    vigil_pool_call(pool, run_one_turn, NULL, NULL, VIGIL_NORMAL);
    vigil_pool_wait_idle(pool, VIGIL_FOREVER);
    print_the_path();
    mark_the_frame(1);
    count_events();
    vigil_pool_destroy(pool);
    return 0;
}
