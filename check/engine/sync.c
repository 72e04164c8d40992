/* SPDX-License-Identifier: MIT */
/*
 * What the locks and meeting points of POSIX have in common: mutexes and condition variables (sync_mutex.c),
 * semaphores, read-write locks, once and barriers (sync_counts.c). C11 and C++ come here too (sync_c11.c): their types are the same objects in this libc.
 *
 * Each object is a location without a value of its own (size 0); what it counts lies in the object's memory, so that
 * snapshots and the stateful search see it. A thread that wants to take an object is in its list of waiters, and can
 * be scheduled exactly while blocked() is false: so an execution has one step for a lock, however long it waited.
 *
 * Order. An unlock or post publishes what its thread has seen, and who takes the object next takes that over. Readers
 * publish to writers only. A condition variable orders nothing: its mutex does.
 *
 * Freedom. A signal wakes any one of those that wait, by choice. Waits on condition variables may return for no reason
 * (opt.spurious), timed ones early (opt.early_timeouts). A thread is on a condition variable's list before it unlocks
 * the mutex, as in glibc: a signal may hit it in between.
 *
 * The end. Destroying an object is a step that leaves a mark in the object's memory, until it is initialised again: a use that comes
 * later, in any order of the threads, is refused.
 */
#define _GNU_SOURCE
#include "sync.h"
#include <errno.h>
#include <string.h>

struct location *sync_object_at(const void *object, size_t size, const void *pc)
{
    heap_check((uintptr_t)object, size, true, pc);
    stack_check((uintptr_t)object, pc);
    return location_at((uintptr_t)object, 0, pc);
}

static bool was_destroyed(const struct location *l)
{
    uint64_t mark = 0;
    memcpy(&mark, (const void *)l->address, sizeof mark);
    return mark == sync_destroyed;
}

void sync_refuse_destroyed(const struct location *l, const char *what)
{
    if (was_destroyed(l))
        fail(VGC_MISUSE, "use of a %s that was destroyed", what);
}

clock_vec *sync_clock_of(clock_vec **clock)
{
    if (*clock == NULL) {
        *clock = &G.message_next++->hb; /* the pool of messages has room for a clock */
        memset(*clock, 0, sizeof **clock);
    }
    return *clock;
}

void sync_take_over(const clock_vec *published)
{
    if (published != NULL && !BROKEN(VGC_RULE_MUTEX))
        clock_join(&ME->hb, published);
}

/* Nobody can take the object in this way now. (What was destroyed holds nobody up: who takes it is refused.) */
static bool blocked(const struct location *l, uint8_t kind)
{
    const struct sync_counts *c = sync_counts_of(l);
    switch (kind) {
    case OP_LOCK:
        return l->locked;
    case OP_SEM_WAIT:
        return c->first == 0;
    case OP_READ_LOCK:
        return c->second != 0 && !was_destroyed(l);
    case OP_WRITE_LOCK:
        return (c->first != 0 || c->second != 0) && !was_destroyed(l);
    case OP_ONCE:
        return c->first == ONCE_RUNS;
    default:
        return false;
    }
}

/* The object has changed: who waits for it can be scheduled, or no longer. */
void sync_sleepers_changed(struct location *l)
{
    for (uint32_t rest = l->waiters; rest != 0; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        struct thread *thread = &G.threads[t];
        if (thread->timed && thread->timed_out)
            continue; /* its time is over: it goes on in any case */
        if (blocked(l, thread->op.kind)) {
            dpor_blocked(t, l);
            thread->status = T_LOCKING;
            G.enabled &= ~(1u << t);
        } else {
            sched_wake(t, 0);
        }
    }
}

/* Makes the step `kind` as soon as it can be made. 0: the caller changes the object and ends the step. EBUSY, ETIMEDOUT: the step has
 * ended, and nothing was taken. */
int sync_take(struct location *l, uint8_t kind, bool try_only, bool timed, uint64_t deadline, const void *pc)
{
    struct thread *me = ME;
    struct op op = {.kind = try_only ? OP_TRYLOCK : kind, .memory = USE_WRITE, .address = l->address, .pc = pc};
    if (!try_only) {
        l->waiters |= 1u << G.current;
        me->waiting_at = l;
    }
    /* Also where nothing holds it up yet: another thread may take the object before this step is made. */
    me->timed = timed && !try_only;
    me->timed_out = me->timed && (deadline <= G.now || risk(&G.budget_timeout));
    me->deadline = deadline;
    if (me->timed_out)
        op.kind = OP_TRYLOCK; /* it can be made before the owner's unlock, which the search must know */
    if (!try_only && blocked(l, kind) && !me->timed_out) {
        me->op = op;
        dpor_blocked(G.current, l);
        sched_block(T_LOCKING);
    } else {
        sched_point(&op);
    }
    const bool late = me->timed && me->timed_out;
    l->waiters &= ~(1u << G.current);
    me->waiting_at = NULL;
    me->timed = false;
    if (!blocked(l, kind))
        return 0;
    event_current()->op.memory = USE_READ;
    event_end_at(l);
    if (late && deadline > G.now)
        G.now = deadline;
    if (late)
        spin_progress();
    if (G.tracing) {
        struct trace_line *t = trace_add(try_only ? OP_TRYLOCK : kind, pc);
        t->address = l->address;
        __builtin_snprintf(t->text, sizeof t->text, "%s", late ? "time is over" : "fails");
    }
    return late ? ETIMEDOUT : EBUSY;
}

/* Ends a step that has changed the object. */
void sync_changed(struct location *l, uint8_t kind, const void *pc)
{
    event_end_at(l);
    sync_sleepers_changed(l);
    spin_progress();
    if (G.tracing)
        trace_add(kind, pc)->address = l->address;
}

/* Any other step that changes the object. */
void sync_change_step(struct location *l, uint8_t kind, const void *pc)
{
    struct op op = {.kind = kind, .memory = USE_WRITE, .address = l->address, .pc = pc};
    sched_point(&op);
}

struct location *sync_destroy_step(void *object, size_t size, const void *pc)
{
    struct location *l = sync_object_at(object, size, pc);
    sync_change_step(l, OP_DESTROY, pc);
    event_end_at(l);
    spin_progress();
    if (G.tracing)
        trace_add(OP_DESTROY, pc)->address = l->address;
    return l;
}
