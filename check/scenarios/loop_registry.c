/* SPDX-License-Identifier: MIT */
/*
 * The records of a loop by themselves (src/loop/registry.c), on one thread and so many that memory goes back to the system and comes again;
 * and signals, from the handler to the watches. There is one execution of each, but for allocations that fail.
 */
#include "loop_setup.h"

#include "loop/registry.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED(call, status) vgc_assert((call) == (status), "the call is refused")

/* ---- records ---- */

enum {
    GROUP = VG_REGISTRY_GROUP * VG_REGISTRY_CHUNK, /* as many are in chunks before the first of them */
    RECORDS = 2 * GROUP + GROUP / 2,               /* a group, and a part of another */
    KEPT = GROUP / 16
};

typedef struct record {
    vg_registry_head head;
    uint32_t number;
    uint32_t slot;
} record;

static vg_registry slots;
static uint64_t names[RECORDS + GROUP];

static void record_make(uint32_t number)
{
    uint32_t slot = 0;
    record *made = vg_registry_alloc(&slots, &slot);
    vgc_assert(made != NULL, "there is memory");
    made->number = number;
    made->slot = slot;
    names[number] = vg_registry_name(slot, made);
}

static void record_drop(uint32_t number)
{
    const uint32_t slot = vg_registry_find(&slots, names[number]);
    vgc_assert(slot != UINT32_MAX, "a record is found by its name");
    record *found = vg_registry_at(&slots, slot);
    vgc_assert(found->number == number && found->slot == slot, "and is the one that was named");
    vg_registry_free(&slots, slot, found);
    vgc_assert(vg_registry_find(&slots, names[number]) == UINT32_MAX, "a record that is gone is not found");
}

static void records(void)
{
    vg_registry_init(&slots, sizeof(record));
    for (uint32_t i = 0; i < RECORDS; i++)
        record_make(i);
    const uint64_t most = atomic_load_explicit(&slots.bytes, memory_order_relaxed);
    for (uint32_t i = KEPT; i < RECORDS; i++) /* both groups, and some of the chunks before them */
        record_drop(i);
    vg_registry_give_back(&slots);
    vgc_assert(slots.groups == 0 && slots.groups_gone == 2, "memory that nobody uses goes back");
    vgc_assert(atomic_load_explicit(&slots.bytes, memory_order_relaxed) < most, "and is not counted any more");
    for (uint32_t i = KEPT; i < RECORDS; i++)
        vgc_assert(vg_registry_find(&slots, names[i]) == UINT32_MAX, "names of before find nothing");
    for (uint32_t i = 0; i < KEPT; i++)
        vgc_assert(vg_registry_find(&slots, names[i]) != UINT32_MAX, "those that are used stay");
    const uint64_t before = names[GROUP];
    for (uint32_t i = KEPT; i < RECORDS + GROUP / 2; i++) /* the memory comes again, and one group more */
        record_make(i);
    vgc_assert(slots.groups == 2 && slots.groups_gone == 0, "all of it is there again");
    vgc_assert(vg_registry_find(&slots, before) == UINT32_MAX, "a name does not come again with the memory");
    for (uint32_t i = KEPT; i < RECORDS + GROUP / 2; i++)
        if (i != GROUP + 5)
            record_drop(i);
    slots.rest_below = slots.live + 1;
    vg_registry_give_back(&slots);
    vgc_assert(slots.groups == 1, "a group with one record in use stays");
    record_drop(GROUP + 5);
    vg_registry_give_back_slowly(&slots);
    vgc_assert(slots.groups == 0, "and goes with it");
    record_make(KEPT); /* a part of it is given out again, and the rest goes once more */
    vg_registry_destroy(&slots);
}
VGC_REGISTER(records, "loop_alone_records", records, "a record is found by its name as long as it is there",
             .bound = "1 thread, 96 records", .opt.max_steps = 20000);

/* ---- signals ---- */

static vigil_signal watched[4];
static int got[4], lost_raises;

static void on_signal(vigil_loop *of, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    const int number = (int)(intptr_t)arg;
    vgc_assert(of == loop && signal.id == watched[number].id, "the watch is told as itself");
    vgc_assert(info->signo == (number == 3 ? SIGUSR2 : SIGUSR1) && info->code == SI_TKILL, "the signal is told");
    got[number]++;
    if (number == 0 && got[0] == 1) {
        vgc_assert(vigil_signal_remove(of, watched[1]) == 0, "another is removed while the signal is delivered");
        REFUSED(vigil_signal_remove(of, watched[1]), -ESTALE);
        vigil_raise(-EDOM); /* takes the signal from nobody */
    }
}

static void count_raise(void *user, const vigil_uncaught *it)
{
    (void)user;
    vgc_assert(it->status == -EDOM, "the raise is told");
    lost_raises++;
}

static void send_signals(void *arg)
{
    (void)arg;
    vgc_assert(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0, "two signals");
}

static void stop_watching(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)timer;
    (void)arg;
    vgc_assert(got[0] == 1 && got[1] == 0 && got[2] == 1 && got[3] == 1,
               "each that is still there gets the signal, and no other");
    vgc_assert(vigil_signal_unref(of, watched[3]) == 0, "nothing keeps the loop any more");
    if (the_setup()->end == SHUTDOWN)
        send_signals(NULL); /* in the pipe when the loop ends */
}

static void signals(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    vigil_timer timer;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    vgc_assert(sigaction(SIGUSR1, &usual, NULL) == 0 && sigaction(SIGUSR2, &usual, NULL) == 0,
               "the kernel's table is the real one: it may have been left by another scenario");
    options.fast_path = the_setup()->bed;
    options.on_uncaught = count_raise;
    vgc_assert(vigil_loop_create(&loop, &options) == 0, "the loop is made");
    REFUSED(vigil_signal_ref(loop, watched[0]), -ESTALE);
    REFUSED(vigil_signal_add(loop, SIGKILL, on_signal, NULL, NULL), -EINVAL);
    REFUSED(vigil_signal_add(loop, SIGSEGV, on_signal, NULL, NULL), -EINVAL);
    REFUSED(vigil_signal_add(loop, 0, on_signal, NULL, NULL), -EINVAL);
    REFUSED(vigil_signal_add(loop, SIGUSR1, NULL, NULL, NULL), -EINVAL);
    REFUSED(vigil_signal_add(NULL, SIGUSR1, on_signal, NULL, NULL), -EINVAL);
    for (int i = 0; i < 4; i++)
        vgc_assert(vigil_signal_add(loop, i == 3 ? SIGUSR2 : SIGUSR1, on_signal, (void *)(intptr_t)i, &watched[i]) == 0,
                   "it is watched");
    vgc_assert(vigil_signal_ref(loop, watched[3]) == 0 && vigil_signal_ref(loop, watched[3]) == 0,
               "one keeps the loop");
    vgc_assert(vigil_loop_call(loop, send_signals, NULL, NULL) == 0, "a post");
    vgc_assert(vigil_timer_start(loop, 1000, stop_watching, NULL, &timer) == 0, "a timer");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0 && lost_raises == 1, "the loop runs to its end");
    if (the_setup()->end == SHUTDOWN) {
        vgc_assert(got[0] == 2 && got[2] == 2 && got[3] == 2, "what came before the end is delivered");
    } else {
        for (int i = 0; i < 4; i++)
            if (i != 1)
                vgc_assert(vigil_signal_remove(loop, watched[i]) == 0, "it is not watched any more");
    }
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    struct sigaction now;
    vgc_assert(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL, "the signal does what it did before");
}
#define SIGNALS "each watch gets a signal once, and the process is left as it was"
LOOP(alone_signals, signals, SIGNALS, "1 thread", FUTEX, CLOSE, 0, .opt.allow_leaks = true);
LOOP(alone_signals_epoll, signals, SIGNALS, "1 thread", EPOLL, CLOSE, 0, .opt.allow_leaks = true);
LOOP(alone_signals_end, signals, SIGNALS, "1 thread", EPOLL, SHUTDOWN, 0, .opt.allow_leaks = true);
