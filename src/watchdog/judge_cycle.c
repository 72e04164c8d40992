/* SPDX-License-Identifier: MIT */
/*
 * judge_cycle.c - tasks and threads that wait for each other in a circle.
 *
 * One node for each worker that waits or sleeps in a mutex, for each loop whose callback does, and for each other thread that holds
 * such a mutex. Arrows:
 *   - A waits for a job or a group that lies on B's stack under B's innermost wait (src/pool/waits.c says why that is enough), or for
 *     the job that B runs while it sleeps. What threads outside the pools wait for is in their rings (record/ring_copy.h).
 *   - A waits for a promise of a loop whose callback B waits itself: only the loop's thread settles it.
 *   - A sleeps in a mutex that B holds (locks.h), or waits for a lock of the library with B as its owner. B may be A itself.
 * Waits are for all of a group's tasks, so one arrow is enough to stand still, and a circle of arrows never ends by itself unless
 * one of its waits has a timeout.
 *
 * Each wait has a number that is never used again on its worker; a mutex is named by its address and the sleeping thread. A circle is
 * reported when it was seen twice with the same names. A number means one unbroken wait, and what lies under it cannot leave its
 * stack before it ends; so all arrows existed at one moment. The finding's key is made of these names: another circle is
 * another finding.
 */
#include "judge_cycle.h"

#include "function.h"
#include "locks.h"
#include "record/ring_copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CYCLE_OWNERS = 64, /* threads outside of pools and loops */
    CYCLE_WAITS = 64   /* waits of threads outside the pools */
};

typedef struct cycle_node {
    const vg_worker_fact *worker; /* NULL: another thread */
    const vg_pool_history *pool;
    const vg_loop_history *loop; /* whose thread it is, or NULL */
    int thread;
    vg_lock_wait lock;
    vg_ring_wait outer; /* of a thread that is no worker; kind VG_WAIT_NONE: none */
    uint32_t from;      /* who led the search here */
    uint8_t mark;       /* 0 not seen, 1 on the path, 2 done */
} cycle_node;

typedef struct cycle_graph {
    cycle_node *nodes;
    size_t count, room;
    uint32_t *path;
    size_t length;
    vg_ring_wait waits[CYCLE_WAITS];
    unsigned wait_count;
} cycle_graph;

static bool waits_for_tasks(const cycle_node *node)
{
    return node->worker != NULL && node->lock.address == 0 && node->worker->wait.what != VG_WAITS_NOT;
}

static bool worker_holds(const vg_worker_fact *worker, uint64_t object)
{
    for (unsigned i = 0; i < worker->hold_count; i++)
        if (worker->holds[i] == object)
            return true;
    return false;
}

static bool has_arrow(const cycle_node *from, const cycle_node *to)
{
    if (from->lock.address != 0)
        return from->lock.owner == to->thread;
    if (from->outer.kind != VG_WAIT_NONE && to->worker != NULL)
        return from->outer.kind == VG_WAIT_JOB ? from->outer.on != 0 && from->outer.on == to->worker->job
                                               : worker_holds(to->worker, from->outer.on);
    if (!waits_for_tasks(from))
        return false;
    const vg_wait_fact *wait = &from->worker->wait;
    if (wait->what == VG_WAITS_LOCK)
        return wait->owner != 0 && wait->owner == to->thread; /* perhaps its own */
    if (wait->what == VG_WAITS_PROMISE)
        return to->loop != NULL && to->loop->serial == wait->object;
    if (from == to || to->worker == NULL)
        return false;
    if (worker_holds(to->worker, wait->object))
        return true;
    /* A worker that sleeps in a mutex has noted nothing: compare the job that it runs. */
    return to->lock.address != 0 && wait->what == VG_WAITS_JOB && wait->id != 0 && wait->id == to->worker->job &&
           wait->function == to->worker->function;
}

static uint64_t waiting_since(const cycle_node *node, const vg_look *look)
{
    if (waits_for_tasks(node))
        return node->worker->wait.since_ns;
    if (node->outer.kind != VG_WAIT_NONE)
        return look->real - node->outer.since_ns;
    const vg_stay *stay = NULL;
    if (node->loop != NULL)
        stay = &node->loop->stay;
    for (size_t i = 0; node->worker != NULL && i < node->pool->facts.count; i++)
        if (&node->pool->facts.worker[i] == node->worker)
            stay = &node->pool->tracks[i].stay;
    return stay != NULL ? look->real - (look->now - stay->since) : look->real - look->stuck_ns;
}

static bool rejectable_first(const cycle_node *a, const cycle_node *b)
{
    const bool first = waits_for_tasks(a) && a->worker->wait.rejectable;
    const bool second = waits_for_tasks(b) && b->worker->wait.rejectable;
    if (first != second)
        return first;
    if ((a->worker != NULL) != (b->worker != NULL))
        return a->worker != NULL;
    return waits_for_tasks(a) && waits_for_tasks(b) && a->worker->wait.since_ns > b->worker->wait.since_ns;
}

/* The same for the same waits, wherever the circle was entered. */
static uint64_t cycle_key(const cycle_node *node)
{
    uint64_t key_part = (uint64_t)(uint32_t)node->thread * UINT64_C(0x100000001b3) ^ node->lock.address;
    if (node->outer.kind != VG_WAIT_NONE)
        key_part ^= node->outer.on;
    if (waits_for_tasks(node))
        key_part = (uint64_t)(uintptr_t)node->worker->self ^ node->worker->wait.number * UINT64_C(0x9e3779b97f4a7c15);
    key_part ^= key_part >> 31;
    return key_part * UINT64_C(0xbf58476d1ce4e5b9);
}

static void say_node(vg_words *to, const cycle_node *node, bool one_pool)
{
    if (node->worker != NULL) {
        vg_say(to, "worker %u", node->worker->index);
        if (!one_pool)
            vg_say(to, " of pool \"%s\"", node->pool->facts.name);
    } else if (node->loop != NULL) {
        vg_say(to, "loop \"%s\"", node->loop->facts.name);
    } else {
        vg_say(to, "thread %d", node->thread);
    }
}

static void say_arrow(vg_words *to, const cycle_node *from, const cycle_node *next, const vg_look *look, bool one_pool)
{
    say_node(to, from, one_pool);
    if (from->worker != NULL || from->loop != NULL)
        vg_say(to, " (thread %d)", from->thread);
    const uint64_t since = waiting_since(from, look);
    vg_say(to, ": has waited ");
    vg_say_time(to, look->real > since ? look->real - since : 0);
    if (from->lock.address != 0) {
        vg_say(to, " for the mutex at 0x%" PRIx64 " that ", from->lock.address);
        if (from->lock.owner == from->thread)
            vg_say(to, "it holds itself");
        else
            say_node(to, next, one_pool);
        vg_say(to, from->lock.owner == from->thread ? "" : " holds");
        const void *function = from->worker != NULL ? from->worker->function
                               : from->loop != NULL ? from->loop->facts.function
                                                    : NULL;
        if (function != NULL) {
            vg_say(to, ", inside");
            vg_say_function_name(to, function);
        }
    } else if (from->worker != NULL && from->worker->wait.what == VG_WAITS_PROMISE) {
        vg_say(to, ", inside");
        vg_say_function_name(to, from->worker->function);
        vg_say(to, ", for a promise that cannot be settled before ");
        say_node(to, next, one_pool);
        vg_say(to, " goes on");
    } else {
        static const char *const words[] = {
            [VG_WAITS_NOT] = "task",  [VG_WAITS_JOB] = "job",         [VG_WAITS_GROUP] = "group",
            [VG_WAITS_LOCK] = "lock", [VG_WAITS_PROMISE] = "promise", [VG_WAITS_OTHER] = "signal"};
        const vg_wait_what what = from->worker != NULL              ? from->worker->wait.what
                                  : from->outer.kind == VG_WAIT_JOB ? VG_WAITS_JOB
                                                                    : VG_WAITS_GROUP;
        const void *function = from->worker != NULL   ? from->worker->wait.function
                               : what == VG_WAITS_JOB ? next->worker->function
                                                      : NULL;
        if (from->loop != NULL && from->loop->facts.function != NULL) {
            vg_say(to, ", inside");
            vg_say_function_name(to, from->loop->facts.function);
            vg_say(to, ",");
        }
        vg_say(to, " for a %s", words[what]);
        if (function != NULL) {
            char name[128];
            vg_function_name(function, name, sizeof name);
            vg_say(to, " (%s)", name);
        }
        vg_say(to, " that cannot end before ");
        say_node(to, next, one_pool);
        vg_say(to, " goes on");
    }
    vg_say(to, "\n");
}

static void find_cycle(const cycle_graph *all, size_t begin, const vg_look *look)
{
    const size_t length = all->length - begin;
    const cycle_node *youngest = &all->nodes[all->path[begin]];
    uint64_t newest = 0;
    bool limited = false;
    bool one_pool = true;
    size_t mutexes = 0;
    size_t outside = 0; /* loops and threads that wait for tasks */
    for (size_t i = begin; i < all->length; i++) {
        const cycle_node *at = &all->nodes[all->path[i]];
        const uint64_t since = waiting_since(at, look);
        limited = limited || (waits_for_tasks(at) ? at->worker->wait.limited : at->lock.limited);
        mutexes += at->lock.address != 0;
        outside += at->outer.kind != VG_WAIT_NONE;
        newest = since > newest ? since : newest;
        if (rejectable_first(at, youngest))
            youngest = at;
    }
    for (size_t i = begin; i < all->length; i++)
        one_pool = one_pool && all->nodes[all->path[i]].pool == youngest->pool;
    if (look->real < newest + look->stuck_ns)
        return; /* too young to matter */
    const char *name = youngest->pool != NULL   ? youngest->pool->facts.name
                       : youngest->loop != NULL ? youngest->loop->facts.name
                                                : "";
    vg_finding *finding = vg_find(look, VIGIL_STALL_WAIT_CYCLE, limited ? VIGIL_SEVERITY_WARNING : VIGIL_SEVERITY_ERROR,
                                  NULL, name, look->now);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->since_ns = newest; /* the last arrow closed the circle */
    verdict->thread = youngest->thread;
    if (youngest->worker != NULL) {
        verdict->worker = (int)youngest->worker->index;
        verdict->function = youngest->worker->function;
        verdict->subject = youngest->pool->object;
        finding->serial = youngest->pool->serial;
    } else if (youngest->loop != NULL) {
        finding->serial = youngest->loop->serial;
    }
    for (size_t i = begin; i < all->length; i++)
        finding->key += cycle_key(&all->nodes[all->path[i]]);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    if (length == 1)
        vg_say(&reason, "A task waits for a mutex that its own thread holds: ");
    else
        vg_say(&reason, "%zu %s wait for each other in a circle: ", length,
               mutexes + outside == 0 ? "tasks" : "threads");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    for (size_t i = begin; i < all->length; i++) {
        const cycle_node *at = &all->nodes[all->path[i]];
        const cycle_node *next = &all->nodes[all->path[i + 1 < all->length ? i + 1 : begin]];
        if (i - begin < VG_FINDING_THREADS)
            finding->parts[i - begin] = at->pool != NULL ? at->pool->serial : at->loop != NULL ? at->loop->serial : 0;
        if (i < begin + VG_MANY) {
            say_node(&reason, at, one_pool);
            vg_say(&reason, at->lock.address != 0 ? " -> (mutex) " : " -> ");
            say_arrow(&evidence, at, next, look, one_pool);
        }
        vg_find_thread(finding, at->thread,
                       at->worker != NULL ? at->worker->function
                       : at->loop != NULL ? at->loop->facts.function
                                          : NULL);
        finding->no_stacks = finding->no_stacks || (at->pool != NULL && at->pool->facts.small_stacks);
    }
    if (length > VG_MANY)
        vg_say(&reason, "... -> ");
    say_node(&reason, &all->nodes[all->path[begin]], one_pool);
    vg_say(&reason, ".%s", limited ? " One of the waits has a timeout, which will break it." : "");
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    if (mutexes >= 2)
        vg_say(&advice, "Take the mutexes in the same order everywhere. The stacks show where each was wanted; the "
                        "circle does not end by itself.");
    else if (mutexes == 1)
        vg_say(&advice, "Do not hold a mutex over a wait: the wait may run or need a task that wants the same mutex. "
                        "Unlock before vigil_group_wait, vigil_job_wait or any other wait.");
    else if (outside != 0)
        vg_say(&advice, "Do not wait inside a callback: the loop settles its promises itself, and does nothing else "
                        "while it waits. Let the job's end come back as a promise (vigil_async) or a post.");
    else
        vg_say(&advice, "A task must not wait for one that may wait for it: split the work at the wait, or submit a "
                        "follow-up instead of waiting. VIGIL_RECOVER_REJECT breaks the circle: its youngest wait for a "
                        "job returns -EDEADLK.");
    if (waits_for_tasks(youngest) && youngest->worker->wait.rejectable) {
        finding->reject_serial = youngest->pool->serial;
        finding->reject_worker = youngest->worker->index;
        finding->reject_wait = youngest->worker->wait.number;
    }
}

/* Follow the arrows from the last of the path. Depth first, with the path itself as the stack. */
static void follow_waits(cycle_graph *all, const vg_look *look)
{
    while (all->length != 0) {
        const uint32_t at = all->path[all->length - 1];
        cycle_node *here = &all->nodes[at];
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
            find_cycle(all, begin, look);
            here->mark = 2; /* one circle through it is enough */
            all->length--;
            continue;
        }
        all->nodes[next].mark = 1;
        all->path[all->length++] = next;
    }
}

/* ---- nodes ---- */

static bool cycle_has_thread(const cycle_graph *all, int thread)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->nodes[i].thread == thread)
            return true;
    return false;
}

/* What a thread that is no worker waits for, for long. */
static vg_ring_wait outer_wait(const cycle_graph *all, int thread, const vg_look *look)
{
    for (unsigned i = 0; i < all->wait_count; i++) {
        const vg_ring_wait *wait = &all->waits[i];
        if (wait->thread == thread && (wait->kind == VG_WAIT_JOB || wait->kind == VG_WAIT_GROUP) &&
            wait->since_ns >= look->stuck_ns)
            return *wait;
    }
    return (vg_ring_wait){.kind = VG_WAIT_NONE};
}

static void add_node(cycle_graph *all, cycle_node node)
{
    if (all->count < all->room)
        all->nodes[all->count++] = node;
}

static void add_workers(cycle_graph *all, const vg_pool_history *pool, const vg_look *look)
{
    for (size_t i = 0; i < pool->facts.count; i++) {
        const vg_worker_fact *worker = &pool->facts.worker[i];
        cycle_node node = {.worker = worker, .pool = pool, .thread = worker->thread};
        const bool inside = worker->doing == VG_DOING_TASK || worker->doing == VG_DOING_BLOCKED;
        if (inside && i < pool->track_count && vg_stays(pool, i, look) >= look->stuck_ns)
            node.lock = vg_lock_wait_of(worker->thread);
        /* A worker that runs a job somebody may wait for is the end of an arrow. */
        if (worker->wait.what != VG_WAITS_NOT || node.lock.address != 0)
            add_node(all, node);
    }
}

/* The owners of mutexes that are not there yet, and the owners of those that these wait for. */
static void add_owners(cycle_graph *all, vg_pool_history *const *pools, size_t pool_count, const vg_look *look)
{
    for (size_t i = 0; i < all->count; i++) {
        const int owner =
            all->nodes[i].lock.address != 0 && !all->nodes[i].lock.owner_gone ? all->nodes[i].lock.owner : 0;
        if (owner == 0 || cycle_has_thread(all, owner))
            continue;
        cycle_node node = {.thread = owner, .lock = vg_lock_wait_of(owner)};
        for (size_t p = 0; p < pool_count; p++)
            for (size_t w = 0; w < pools[p]->facts.count; w++)
                if (pools[p]->facts.worker[w].thread == owner) {
                    node.worker = &pools[p]->facts.worker[w];
                    node.pool = pools[p];
                }
        if (node.worker == NULL && node.lock.address == 0)
            node.outer = outer_wait(all, owner, look);
        add_node(all, node);
    }
}

void vg_judge_cycles(vg_pool_history *const *pools, size_t pool_count, vg_loop_history *const *loops, size_t loop_count,
                     const vg_look *look)
{
    cycle_graph all = {.room = loop_count + CYCLE_OWNERS};
    for (size_t p = 0; p < pool_count; p++)
        all.room += pools[p]->facts.count;
    all.nodes = calloc(all.room, sizeof *all.nodes);
    all.path = calloc(all.room, sizeof *all.path);
    if (all.nodes != NULL && all.path != NULL) {
        all.wait_count = vg_ring_waits(all.waits, CYCLE_WAITS);
        for (size_t p = 0; p < pool_count; p++)
            add_workers(&all, pools[p], look);
        for (size_t i = 0; i < loop_count; i++)
            if (loops[i]->facts.runs && loops[i]->any && look->now - loops[i]->stay.since >= look->stuck_ns) {
                cycle_node node = {.loop = loops[i],
                                   .thread = loops[i]->facts.thread,
                                   .lock = vg_lock_wait_of(loops[i]->facts.thread)};
                if (node.lock.address == 0)
                    node.outer = outer_wait(&all, node.thread, look);
                if (node.lock.address != 0 || node.outer.kind != VG_WAIT_NONE)
                    add_node(&all, node);
            }
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
