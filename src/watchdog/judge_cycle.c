/* SPDX-License-Identifier: MIT */
/*
 * judge_cycle.c - tasks and threads that wait for each other in a circle.
 *
 * One node for each worker that waits or sleeps in a lock, for each loop whose callback does, and for each other thread
 * that does (strangers.h) or that holds such a lock. Arrows:
 *   - A waits for a job or a group that lies on B's stack under B's innermost wait (src/pool/waits.c says why that is
 *     enough), or for the job that B runs, or a group of which B runs a task, while B sleeps in a lock. What threads
 *     outside the pools wait for is in their rings (record/ring_copy.h).
 *   - A waits for a pool to become idle, and B waits inside a task of that pool.
 *   - A waits for a promise of a loop whose callback B waits itself: only the loop's thread settles it.
 *   - A sleeps in a lock of the C library that B holds, or joins B (locks.h), or waits for a lock of ours with B as its
 *     owner. B may be A itself.
 * Waits are for all of a group's tasks, so one arrow is enough to stand still, and a circle of arrows never ends by
 * itself unless one of its waits has a timeout.
 *
 * Each wait has a number that is never used again on its worker; a lock is named by its address and the sleeping
 * thread. A circle is reported when it was seen twice with the same names. A number means one unbroken wait, and what
 * lies under it cannot leave its stack before it ends; so all arrows existed at one moment. The finding's key is made
 * of these names: another circle is another finding.
 */
#include "judge_cycle.h"

#include "cycle.h"
#include "strangers.h"

#include <stdlib.h>

enum {
    CYCLE_OWNERS = 64 /* threads outside of pools and loops that hold what others want */
};

static bool worker_holds(const vg_worker_fact *worker, uint64_t object)
{
    for (unsigned i = 0; i < worker->hold_count; i++)
        if (worker->holds[i] == object)
            return true;
    return false;
}

/* B has noted what it holds up; if it sleeps in a lock of the C library it has noted nothing, and its task tells. */
static bool stands_in_group(const vg_cycle_node *to, uint64_t group)
{
    return to->worker != NULL && (worker_holds(to->worker, group) || (to->group != 0 && to->group == group));
}

/* From a thread that is no worker. */
static bool has_outer_arrow(const vg_cycle_node *from, const vg_cycle_node *to)
{
    const uint64_t on = from->outer.on;
    switch (from->outer.kind) {
    case VG_WAIT_JOB:
        return to->worker != NULL && on != 0 && on == to->worker->job;
    case VG_WAIT_GROUP:
        return stands_in_group(to, on);
    case VG_WAIT_IDLE:
        return to->worker != NULL && to->pool->serial == on;
    case VG_WAIT_PROMISE:
        return to->loop != NULL && to->loop->serial == on;
    case VG_WAIT_LOCK:
        return from->outer_owner != 0 && from->outer_owner == to->thread;
    default:
        return false;
    }
}

static bool has_arrow(const vg_cycle_node *from, const vg_cycle_node *to)
{
    if (from->lock.address != 0)
        return from->lock.owner == to->thread;
    if (from->outer.kind != VG_WAIT_NONE)
        return has_outer_arrow(from, to);
    if (!vg_cycle_noted(from))
        return false;
    const vg_wait_fact *wait = &from->worker->wait;
    if (wait->what == VG_WAITS_LOCK)
        return wait->owner != 0 && wait->owner == to->thread; /* perhaps its own */
    if (wait->what == VG_WAITS_PROMISE)
        return to->loop != NULL && to->loop->serial == wait->object;
    if (from == to || to->worker == NULL)
        return false;
    if (wait->what == VG_WAITS_GROUP ? stands_in_group(to, wait->object) : worker_holds(to->worker, wait->object))
        return true;
    return to->lock.address != 0 && wait->what == VG_WAITS_JOB && wait->id != 0 && wait->id == to->worker->job &&
           wait->function == to->worker->function;
}

/* Follow the arrows from the last of the path. Depth first, with the path itself as the stack. */
static void follow_waits(vg_cycle_graph *all, const vg_look *look)
{
    while (all->length != 0) {
        const uint32_t at = all->path[all->length - 1];
        vg_cycle_node *here = &all->nodes[at];
        uint32_t next = here->from;
        for (; next < all->count; next++)
            if (all->nodes[next].mark != 2 && has_arrow(here, &all->nodes[next]))
                break;
        here->from = next + 1; /* where to go on when we come back */
        if (next >= all->count) {
            here->mark = 2;
            all->length--;
            continue;
        }
        if (all->nodes[next].mark == 1) {
            size_t begin = 0;
            while (all->path[begin] != next)
                begin++;
            vg_cycle_find(all, begin, look);
            here->mark = 2; /* one circle through it is enough */
            all->length--;
            continue;
        }
        all->nodes[next].mark = 1;
        all->path[all->length++] = next;
    }
}

/* ---- nodes ---- */

static bool cycle_has_thread(const vg_cycle_graph *all, int thread)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->nodes[i].thread == thread)
            return true;
    return false;
}

static void add_node(vg_cycle_graph *all, vg_cycle_node node)
{
    if (all->count < all->room)
        all->nodes[all->count++] = node;
}

/* What a thread that is no worker waits for, for long, if a circle could go through it. */
static void read_outer(const vg_cycle_graph *all, vg_cycle_node *node, const vg_look *look)
{
    for (unsigned i = 0; i < all->wait_count; i++) {
        const vg_ring_wait *wait = &all->waits[i];
        const bool known = wait->kind == VG_WAIT_JOB || wait->kind == VG_WAIT_GROUP || wait->kind == VG_WAIT_IDLE ||
                           wait->kind == VG_WAIT_PROMISE || wait->kind == VG_WAIT_LOCK;
        if (wait->thread != node->thread || !known || wait->since_ns < look->stuck_ns)
            continue;
        node->outer = *wait;
        node->outer_limited = vg_futex_limited(node->thread);
        if (wait->kind == VG_WAIT_LOCK)
            node->outer_owner = vg_own_lock_owner(wait->on);
        return;
    }
}

static void add_workers(vg_cycle_graph *all, const vg_pool_history *pool, const vg_look *look)
{
    for (size_t i = 0; i < pool->facts.count; i++) {
        const vg_worker_fact *worker = &pool->facts.worker[i];
        vg_cycle_node node = {.worker = worker, .pool = pool, .thread = worker->thread};
        const bool inside = worker->doing == VG_DOING_TASK || worker->doing == VG_DOING_BLOCKED;
        if (inside && i < pool->track_count && vg_stays(pool, i, look) >= look->stuck_ns)
            node.lock = vg_lock_wait_of(worker->thread);
        if (node.lock.address != 0)
            node.group = vg_own_word(worker->group_word);
        /* A worker that runs a job somebody may wait for is the end of an arrow. */
        if (worker->wait.what != VG_WAITS_NOT || node.lock.address != 0)
            add_node(all, node);
    }
}

static void add_loops(vg_cycle_graph *all, vg_loop_history *const *loops, size_t count, const vg_look *look)
{
    for (size_t i = 0; i < count; i++) {
        const vg_loop_history *loop = loops[i];
        if (!loop->facts.runs || !loop->any || look->now - loop->stay.since < look->stuck_ns)
            continue;
        vg_cycle_node node = {.loop = loop, .thread = loop->facts.thread, .lock = vg_lock_wait_of(loop->facts.thread)};
        if (node.lock.address == 0)
            read_outer(all, &node, look);
        if (node.lock.address != 0 || node.outer.kind != VG_WAIT_NONE)
            add_node(all, node);
    }
}

typedef struct cycle_known {
    vg_pool_history *const *pools;
    vg_loop_history *const *loops;
    size_t pool_count, loop_count;
} cycle_known;

static bool is_ours(void *arg, int thread)
{
    const cycle_known *known = arg;
    for (size_t p = 0; p < known->pool_count; p++)
        for (size_t w = 0; w < known->pools[p]->facts.count; w++)
            if (known->pools[p]->facts.worker[w].thread == thread)
                return true;
    for (size_t i = 0; i < known->loop_count; i++)
        if (known->loops[i]->facts.thread == thread)
            return true;
    return false;
}

/* Threads of nobody that wait: in a lock of the C library, or for something of ours that their rings tell. */
static void add_strangers(vg_cycle_graph *all, cycle_known *known, const vg_look *look)
{
    unsigned count = 0;
    const vg_stranger *strangers = vg_strangers_look(look, is_ours, known, &count);
    for (unsigned i = 0; i < count; i++)
        if (!cycle_has_thread(all, strangers[i].thread) && look->real - strangers[i].since >= look->stuck_ns)
            add_node(all, (vg_cycle_node){
                              .thread = strangers[i].thread, .lock = strangers[i].lock, .since = strangers[i].since});
    for (unsigned i = 0; i < all->wait_count; i++) {
        vg_cycle_node node = {.thread = all->waits[i].thread};
        if (cycle_has_thread(all, node.thread))
            continue;
        read_outer(all, &node, look);
        if (node.outer.kind != VG_WAIT_NONE)
            add_node(all, node);
    }
}

/* The thread that a node waits for by name; 0: none. */
static int owner_of(const vg_cycle_node *node)
{
    if (node->lock.address != 0)
        return node->lock.owner_gone ? 0 : node->lock.owner;
    if (node->outer.kind == VG_WAIT_LOCK)
        return node->outer_owner;
    return vg_cycle_noted(node) && node->worker->wait.what == VG_WAITS_LOCK ? node->worker->wait.owner : 0;
}

/* The owners of locks that are not there yet, and the owners of those that these wait for. */
static void add_owners(vg_cycle_graph *all, vg_pool_history *const *pools, size_t pool_count, const vg_look *look)
{
    for (size_t i = 0; i < all->count; i++) {
        const int owner = owner_of(&all->nodes[i]);
        if (owner == 0 || cycle_has_thread(all, owner))
            continue;
        vg_cycle_node node = {.thread = owner, .lock = vg_lock_wait_of(owner)};
        for (size_t p = 0; p < pool_count; p++)
            for (size_t w = 0; w < pools[p]->facts.count; w++)
                if (pools[p]->facts.worker[w].thread == owner) {
                    node.worker = &pools[p]->facts.worker[w];
                    node.pool = pools[p];
                }
        if (node.worker == NULL && node.lock.address == 0)
            read_outer(all, &node, look);
        add_node(all, node);
    }
}

void vg_judge_cycles(vg_pool_history *const *pools, size_t pool_count, vg_loop_history *const *loops, size_t loop_count,
                     const vg_look *look)
{
    vg_cycle_graph all = {.room = loop_count + CYCLE_OWNERS + VG_STRANGERS + VG_CYCLE_WAITS};
    for (size_t p = 0; p < pool_count; p++)
        all.room += pools[p]->facts.count;
    all.nodes = calloc(all.room, sizeof *all.nodes);
    all.path = calloc(all.room, sizeof *all.path);
    if (all.nodes != NULL && all.path != NULL) {
        all.wait_count = vg_ring_waits(all.waits, VG_CYCLE_WAITS);
        for (size_t p = 0; p < pool_count; p++)
            add_workers(&all, pools[p], look);
        add_loops(&all, loops, loop_count, look);
        cycle_known known = {.pools = pools, .loops = loops, .pool_count = pool_count, .loop_count = loop_count};
        add_strangers(&all, &known, look);
        add_owners(&all, pools, pool_count, look);
        for (size_t i = 0; i < all.count; i++) {
            if (all.nodes[i].mark != 0)
                continue;
            all.nodes[i].mark = 1;
            all.path[0] = (uint32_t)i;
            all.length = 1;
            follow_waits(&all, look);
        }
    }
    free(all.nodes);
    free(all.path);
}
