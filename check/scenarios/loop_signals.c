/* SPDX-License-Identifier: MIT */
/*
 * The list of sinks that signal handlers read (src/loop/SIGNALS.md, "The list"). A handler is a thread that may stand still
 * anywhere. Properties: a sink that was removed is never touched again, so its memory may be freed; one that stays gets every signal.
 */
#include <vigil_check.h>

#include "loop/sinks.h"

#include <signal.h>
#include <stdlib.h>

typedef struct counted_sink {
    vg_sink sink;
    int touched; /* plain: a touch after the free, or beside another's, is found */
    _Atomic int got;
} counted_sink;

static vg_sinks sinks;
static counted_sink *made[2];

static void count_signal(vg_sink *sink, const vg_signal_record *record)
{
    counted_sink *counted = (counted_sink *)(void *)sink;
    vgc_assert(record->signo == SIGTERM, "a sink gets what it wants");
    vgc_assert(counted->touched == 1, "a sink is whole while a handler is inside");
    (void)atomic_fetch_add_explicit(&counted->got, 1, memory_order_relaxed);
}

static counted_sink *sink_make(void)
{
    counted_sink *counted = calloc(1, sizeof *counted);
    vgc_assert(counted != NULL, "there is memory");
    counted->sink.put = count_signal;
    counted->touched = 1;
    atomic_init(&counted->sink.wanted, vg_sink_bit(SIGTERM));
    vg_sinks_add(&sinks, &counted->sink);
    return counted;
}

static void sink_drop(int which)
{
    vg_sinks_remove(&sinks, &made[which]->sink);
    made[which]->touched = 0;
    free(made[which]);
}

static void *handle(void *arg)
{
    const vg_signal_record record = {.signo = SIGTERM};
    (void)arg;
    (void)vg_sinks_put(&sinks, &record);
    return NULL;
}

static void handlers_against(int handlers, int removed)
{
    pthread_t threads[2];
    vg_sinks_init(&sinks);
    for (int i = 0; i < removed; i++)
        made[i] = sink_make();
    counted_sink *stays = sink_make();
    for (int i = 0; i < handlers; i++)
        threads[i] = vgc_thread_start(handle, NULL);
    for (int i = 0; i < removed; i++)
        sink_drop(i);
    for (int i = 0; i < handlers; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(atomic_load_explicit(&stays->got, memory_order_relaxed) == handlers,
               "the one that stays gets each signal");
    vg_sinks_remove(&sinks, &stays->sink);
    free(stays);
}

#define SINKS "a removed sink is never touched, one that stays gets every signal"

VGC_SCENARIO(signals_rest, SINKS, .bound = "2 handlers, nothing is removed while they run")
{
    handlers_against(2, 0);
}

VGC_SCENARIO(signals_one, SINKS, .bound = "1 handler against a removal")
{
    handlers_against(1, 1);
}

VGC_SCENARIO(signals_twice, SINKS, .bound = "1 handler against two removals")
{
    handlers_against(1, 2);
}

VGC_SCENARIO(signals_two, SINKS, .opt.mode = VGC_PCT, .opt.runs = 10000, .bound = "2 handlers against two removals")
{
    handlers_against(2, 2);
}

static void *add_and_handle(void *arg)
{
    (void)arg;
    made[1] = sink_make(); /* the only writer here */
    return NULL;
}

VGC_SCENARIO(signals_comes, SINKS, .bound = "1 handler against an addition")
{
    vg_sinks_init(&sinks);
    pthread_t writer = vgc_thread_start(add_and_handle, NULL);
    (void)handle(NULL);
    vgc_thread_join(writer);
    sink_drop(1);
}

static void *two_come_and_one_goes(void *arg)
{
    (void)arg;
    made[0] = sink_make();
    made[1] = sink_make();
    sink_drop(1);
    return NULL;
}

VGC_SCENARIO(signals_comes_and_goes, SINKS, .bound = "1 handler against two additions and a removal")
{
    vg_sinks_init(&sinks);
    pthread_t writer = vgc_thread_start(two_come_and_one_goes, NULL);
    (void)handle(NULL);
    vgc_thread_join(writer);
    sink_drop(0);
}
