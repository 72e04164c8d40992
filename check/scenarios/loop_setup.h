/* SPDX-License-Identifier: MIT */
/*
 * What the scenarios of the whole loop share: how it is made, how it ends, and the macros that register them.
 */
#ifndef VIGIL_CHECK_LOOP_SETUP_H
#define VIGIL_CHECK_LOOP_SETUP_H

#include "loop_common.h"

typedef enum ending {
    AT_REST,
    SHUTDOWN, /* graceful */
    CLOSE     /* at once */
} ending;

typedef struct setup {
    vigil_fast_path bed;
    ending end;
    int pushes;
    bool watched; /* with the recorder on */
} setup;

static inline const setup *the_setup(void)
{
    return vgc_arg();
}

static inline void make(bool stay)
{
    vg_checked_level = the_setup()->watched ? VIGIL_RECORD_EVENTS : VIGIL_RECORD_OFF;
    loop_make(the_setup()->bed, stay);
}

static inline void *produce(void *arg)
{
    const int number = (int)(intptr_t)arg;
    for (int i = 0; i < the_setup()->pushes; i++)
        post_number(number * the_setup()->pushes + i, 1 + number);
    return NULL;
}

static inline void numbers_agree(void)
{
    vigil_loop_stats stats = {.size = sizeof stats};
    vgc_assert(vigil_loop_stats_get(loop, &stats) == 0, "the numbers can be had");
    vgc_assert(stats.posts_accepted == stats.posts_run + stats.posts_cancelled && stats.posts_queued == 0,
               "accepted is what ran and what was cancelled");
}

static inline void destroy(void)
{
    numbers_agree();
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* As the setup says, with the threads that are under way; the first of them runs the loop. */
static inline void finish(const pthread_t *threads, int count)
{
    const ending end = the_setup()->end;
    if (end == AT_REST) {
        vgc_quiesce();
        vgc_assert(asleep(), "the loop sleeps when nothing is to be done");
    } else {
        vgc_assert((end == CLOSE ? vigil_loop_close(loop, VIGIL_FOREVER) : vigil_loop_shutdown(loop, VIGIL_FOREVER)) ==
                       0,
                   "the loop ends");
    }
    for (int i = end == AT_REST ? 1 : 0; i < count; i++)
        vgc_thread_join(threads[i]);
    each_post_ended_once(end != CLOSE);
    if (end != AT_REST)
        destroy();
}

#define BY_CHANCE .opt.mode = VGC_PCT, .opt.runs = 4000

#define LOOP(id, function, property_text, size, bed_, end_, pushes_, ...) \
    LOOP_AT(id, false, function, property_text, size, bed_, end_, pushes_, ##__VA_ARGS__)
/* The same body with everything written down. */
#define WATCHED(id, function, property_text, size, bed_, end_, pushes_) \
    LOOP_AT(id##_watched, true, function, property_text, size "; recorder on", bed_, end_, pushes_, BY_CHANCE)
#define LOOP_AT(id, watched_, function, property_text, size, bed_, end_, pushes_, ...)                          \
    static const setup setup_##id = {.bed = (bed_), .end = (end_), .pushes = (pushes_), .watched = (watched_)}; \
    VGC_REGISTER(id, "loop_" #id, function, property_text, .arg = &setup_##id, .bound = (size),                 \
                 .opt.max_steps = 20000, .opt.allow_sleepers = (end_) == AT_REST,                               \
                 .opt.allow_leaks = (end_) == AT_REST, ##__VA_ARGS__)

#define FUTEX VIGIL_FAST_PATH_AUTO
#define EPOLL VIGIL_FAST_PATH_DISABLED

#endif
