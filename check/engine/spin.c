/* SPDX-License-Identifier: MIT */
/*
 * Loops that poll. A thread that goes round a loop of loads, comes back to the same instruction with the same
 * registers and the same stack, reads the same message as before and has written nothing in between, will go round for
 * ever until something that it read changes. Such a round has no effect, so an execution with it says nothing that the
 * one without it does not: the thread is held back until one of the locations of the loop gets a new message. If it
 * had read an old message somewhere, and nobody else can move, it is sent round once more with the newest ones (a
 * store becomes visible in finite time). If that does not help and nobody else can move, the loop is endless, and that
 * is a finding.
 *
 * With partial-order reduction it is held back for good, before it begins the round again. The execution in which it makes its first look later is
 * explored anyway (the store that it waits for races with that look), and says all that going on here would; this one only shows what the others
 * do without it. If something in the loop has changed when nobody else can move, it is given up as redundant; if nothing has, it waits for what
 * a thread in vgc_quiesce or the clock may still do, and else the loop is endless.
 *
 * A loop that counts its rounds, or writes, is not in the same state and runs on; the step bound ends it.
 */
#include "internal.h"

uint64_t hash_words(const void *start, const void *end, uint64_t seed)
{
    uint64_t h = seed;
    for (const uint64_t *p = start; p < (const uint64_t *)end; p++) {
        h ^= *p;
        h *= 0x9E3779B97F4A7C15ULL;
        h ^= h >> 29;
    }
    return h;
}

static uint64_t own_state(void)
{
    const struct thread *me = ME;
    return hash_words(me->user_sp, me->stack_top, 0x1234567);
}

void spin_progress(void)
{
    struct thread *me = ME;
    me->spin_count = 0;
    me->force_left = 0;
}

/* The first look of a round, and the same state again: the round had no effect. */
void spin_before_load(uintptr_t address, const void *pc)
{
    struct thread *me = ME;
    me->spin_hashed = false;
    if (G.opt.mode != VGC_DPOR || G.alone || me->force_left > 0 || G.opt.broken_rules != 0)
        return;
    me->user_sp = vgc_user_sp;
    me->spin_state = own_state();
    me->spin_hashed = true;
    for (int i = 0; i < me->spin_count; i++) {
        const struct spin_entry *s = &me->spin[i];
        if (s->pc != pc || s->location->address != address || !s->first_hashed || s->first_state != me->spin_state)
            continue;
        me->spin_first = i;
        me->spin_for_good = true;
        me->waiting_at = s->location;
        me->op = (struct op){.kind = OP_RESUME, .pc = pc};
        sched_block(T_SPINNING);
        event_end();
        me->waiting_at = NULL;
        me->spin_count = 0;
        me->spin_hashed = false;
        return;
    }
}

/* Everything rests, and now a thread in vgc_quiesce goes on, or the clock. What they do comes after every look that could be made, so no other
 * execution has the look behind it: the thread waits like any other. */
void spin_wait_after_all(int thread)
{
    struct thread *t = &G.threads[thread];
    t->spin_for_good = false;
    t->read_old = false;
    for (int i = t->spin_first; i < t->spin_count; i++)
        t->spin[i].location->spinners |= 1u << thread;
}

/* Something that it has read in its last round has changed since. */
bool spin_outdated(const struct thread *t)
{
    for (int i = t->spin_first; i < t->spin_count; i++)
        if (t->spin[i].message != t->spin[i].location->newest)
            return true;
    return false;
}

/* True: the thread was held back and must repeat its load. */
bool spin_check(struct location *location, struct message *message, const void *pc)
{
    struct thread *me = ME;
    for (int i = 0; i < me->spin_count; i++) {
        struct spin_entry *s = &me->spin[i];
        if (s->pc != pc || s->location != location || s->message != message)
            continue;
        uint64_t state = own_state();
        if (!s->hashed || s->state != state) {
            s->state = state;
            s->hashed = true;
            /* What lies between belongs to a round of its own; keep the order of the
       * latest round. */
            struct spin_entry again = *s;
            for (int j = i; j + 1 < me->spin_count; j++)
                me->spin[j] = me->spin[j + 1];
            me->spin[me->spin_count - 1] = again;
            return false;
        }
        bool read_old = false;
        for (int j = i; j < me->spin_count; j++) {
            me->spin[j].location->spinners |= 1u << G.current;
            read_old |= me->spin[j].message != me->spin[j].location->newest;
        }
        me->read_old = read_old;
        me->loop_length = me->spin_count - i;
        me->waiting_at = location;
        me->spin_count = 0;
        /* Coming back is a step without effect; the load itself follows as a step
     * of its own. */
        me->op = (struct op){.kind = OP_RESUME, .pc = pc};
        sched_block(T_SPINNING);
        event_end();
        me->waiting_at = NULL;
        return true;
    }
    if (me->spin_count == MAX_SPIN) {
        for (int j = 0; j + 1 < MAX_SPIN; j++)
            me->spin[j] = me->spin[j + 1];
        me->spin_count--;
    }
    me->spin[me->spin_count++] = (struct spin_entry){.pc = pc,
                                                     .location = location,
                                                     .message = message,
                                                     .first_state = me->spin_state,
                                                     .first_hashed = me->spin_hashed};
    me->spin_hashed = false;
    return false;
}
