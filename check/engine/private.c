/* SPDX-License-Identifier: MIT */
/*
 * Places that one thread alone uses, or that nobody writes. A membarrier puts a fence into every thread, so its order with respect to each of
 * their steps would matter, and executions multiply. But whether the fence comes before or after an atomic access to a
 * place that nobody else ever uses, or writes, cannot be seen by anybody: such steps need not be ordered with membarriers. The stateful search
 * makes such steps at once, and of what such a place holds only the newest value belongs to the state.
 *
 * Which places these are is not known before all executions have been seen. So every place is taken to be private
 * until two threads are seen to use it, one of which writes. Then it is noted, for the rest of the exploration, and if anything was
 * left out because of it the exploration begins again. That misses nothing: take any execution in which this happens, up to the second
 * use. Up to there the reduction was right, so an equivalent beginning is explored, and in it the same use comes next.
 *
 * What thread 0 does before it starts the first other thread does not count.
 */
#include "internal.h"
#include "state.h"
#include <string.h>

enum {
    ROOM = 1 << 12
};

ENGINE_STATE static struct {
    uintptr_t shared[ROOM]; /* open hashing; 0: free */
    int count;
    bool relied, again;
} places;

/* What a checkpoint keeps. */
void *private_memory(size_t *size)
{
    *size = sizeof places;
    return &places;
}

void private_begin(void)
{
    memset(&places, 0, sizeof places);
}

/* Must the exploration begin again? */
bool private_again(void)
{
    const bool again = places.again;
    places.again = places.relied = false;
    return again;
}

static uintptr_t *find(uintptr_t address)
{
    size_t at = (size_t)((address >> 2) * 0x9E3779B97F4A7C15ULL >> 40) & (ROOM - 1);
    while (places.shared[at] != 0 && places.shared[at] != address)
        at = (at + 1) & (ROOM - 1);
    return &places.shared[at];
}

/* Does the order of this step and a membarrier of another thread matter? */
bool private_step(const struct op *op)
{
    if (op->kind != OP_LOAD && op->kind != OP_STORE && op->kind != OP_RMW && op->kind != OP_CAS)
        return false;
    return private_place(op->address);
}

/* Is this place used by one thread alone, or only read? */
bool private_place(uintptr_t address)
{
    if (G.opt.mode != VGC_DPOR && G.opt.mode != VGC_STATEFUL && G.opt.mode != VGC_PREEMPT)
        return false;
    if (G.opt.mode == VGC_STATEFUL && state_forgotten(address))
        return true;
    if (places.count >= ROOM / 2 || *find(address) != 0)
        return false;
    places.relied = true;
    return true;
}

/* The current thread has used this place. */
void private_use(struct location *l)
{
    l->written |= event_current()->op.memory == USE_WRITE;
    if (l->user == 0)
        l->user = (int8_t)(G.current + 1);
    else if (l->user != G.current + 1)
        l->user = -1;
    if (l->user >= 0 || !l->written)
        return;
    uintptr_t *place = find(l->address);
    if (*place != 0 || places.count >= ROOM / 2)
        return;
    *place = l->address;
    places.count++;
    places.again |= places.relied;
}
