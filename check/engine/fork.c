/* SPDX-License-Identifier: MIT */
/*
 * Setting up is the same in every execution, as long as there is nobody to interleave with and nothing to choose. When
 * thread 0 is about to start the first other thread, a snapshot is taken, and later executions begin there. It holds
 * static data, living heap blocks, stack and thread-local data of thread 0, and a few numbers. It does not hold the
 * memory model: all that was done so far is in everybody's past, so each location starts with the value that memory
 * holds.
 */
#include "internal.h"
#include "stacks.h"
#include "state.h"
#include <string.h>

bool heap_save(void);
void heap_restore(void);
size_t thread_save(char *copy, bool restore);
void data_save(char *copy, bool restore);

ENGINE_STATE static struct {
    bool valid, refused;
    struct thread thread;
    char *data, *stack;
    bool membarrier_registered;
    int alloc, thread_budget, spurious, weak, timeout;
    uint64_t now;
    uint32_t alone_steps;
} snapshot;

void fork_forget(void)
{
    snapshot.valid = snapshot.refused = false;
}

/* Called by a thread that is about to start another. */
void fork_point(void)
{
    if (snapshot.valid || snapshot.refused || !G.alone || G.thread_count != 1 || G.depth != 1 || G.tracing ||
        outcome_pending())
        return;
    for (uint32_t i = 1; i < G.location_count; i++)
        if (G.locations[i].locked)
            return;
    struct thread *me = ME;
    me->user_sp = vgc_user_sp;
    int number = G.current;
    G.ending = END_FORK;
    thread_leave_for_fork();
    G.current = number;
    vgc_user_sp = me->user_sp;
}

static void begin_again(void)
{
    if (++G.generation == 0)
        G.generation = 1;
    memory_reset();
    race_reset();
    files_forget_location();
    bounded_begin();
    struct thread *t = &G.threads[0];
    t->spin_count = 0;
    t->last_event = 1;
    G.event_count = 1;
    G.events[0] = (struct event){.thread = 0, .seq = t->seq, .op = {.kind = OP_START}, .dep = t->dep};
    t->last_sc = t->last_sc_fence = 0;
    G.alone = true;
}

/* On the main stack, after fork_point has left. */
void fork_take(void)
{
    if (snapshot.data == NULL) {
        snapshot.data = map_pages((size_t)(G.data_end - G.data_start));
        snapshot.stack = map_pages(STACK_SIZE + ENGINE_STACK_SIZE + 65536);
    }
    snapshot.valid = files_count() == 0 && heap_save(); /* descriptors are set up again each time */
    snapshot.refused = !snapshot.valid;
    if (snapshot.valid) {
        snapshot.thread = G.threads[0];
        data_save(snapshot.data, false);
        thread_save(snapshot.stack, false);
        snapshot.now = G.now;
        snapshot.membarrier_registered = G.membarrier_registered;
        snapshot.alloc = G.budget_alloc;
        snapshot.thread_budget = G.budget_thread;
        snapshot.spurious = G.budget_spurious;
        snapshot.weak = G.budget_weak;
        snapshot.timeout = G.budget_timeout;
        snapshot.alone_steps = G.alone_steps;
    }
    begin_again();
}

/* At the start of an execution, all counters reset. False: there is no snapshot, begin at the beginning. */
bool fork_restore(void)
{
    if (!snapshot.valid || G.tracing)
        return false;
    G.threads[0] = snapshot.thread;
    G.thread_count = G.live = 1;
    G.enabled = 1;
    data_save(snapshot.data, true);
    heap_restore();
    thread_save(snapshot.stack, true);
    G.now = snapshot.now;
    G.membarrier_registered = snapshot.membarrier_registered;
    G.budget_alloc = snapshot.alloc;
    G.budget_thread = snapshot.thread_budget;
    G.budget_spurious = snapshot.spurious;
    G.budget_weak = snapshot.weak;
    G.budget_timeout = snapshot.timeout;
    G.alone_steps = snapshot.alone_steps;
    begin_again();
    return true;
}
