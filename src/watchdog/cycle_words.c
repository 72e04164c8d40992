/* SPDX-License-Identifier: MIT */
/*
 * cycle_words.c - a circle as a finding: who waits for whom, since when, and what to do.
 */
#include "cycle.h"

#include "function.h"

#include <inttypes.h>

uint64_t vg_cycle_since(const vg_cycle_node *node, const vg_look *look)
{
    if (vg_cycle_noted(node))
        return node->worker->wait.since_ns;
    if (node->outer.kind != VG_WAIT_NONE)
        return look->real - node->outer.since_ns;
    if (node->since != 0)
        return node->since;
    const vg_stay *stay = NULL;
    if (node->loop != NULL)
        stay = &node->loop->stay;
    for (size_t i = 0; node->worker != NULL && i < node->pool->facts.count; i++)
        if (&node->pool->facts.worker[i] == node->worker)
            stay = &node->pool->tracks[i].stay;
    return stay != NULL ? look->real - (look->now - stay->since) : look->real - look->stuck_ns;
}

static bool rejectable_first(const vg_cycle_node *a, const vg_cycle_node *b)
{
    const bool first = vg_cycle_noted(a) && a->worker->wait.rejectable;
    const bool second = vg_cycle_noted(b) && b->worker->wait.rejectable;
    if (first != second)
        return first;
    if ((a->worker != NULL) != (b->worker != NULL))
        return a->worker != NULL;
    return vg_cycle_noted(a) && vg_cycle_noted(b) && a->worker->wait.since_ns > b->worker->wait.since_ns;
}

static bool arrow_is_lock(const vg_cycle_node *node)
{
    if (node->lock.address != 0)
        return node->lock.what != VG_LOCK_JOIN;
    return node->outer.kind == VG_WAIT_LOCK || (vg_cycle_noted(node) && node->worker->wait.what == VG_WAITS_LOCK);
}

/* The same for the same waits, wherever the circle was entered. */
static uint64_t cycle_key(const vg_cycle_node *node)
{
    uint64_t key_part = (uint64_t)(uint32_t)node->thread * UINT64_C(0x100000001b3) ^ node->lock.address;
    if (node->outer.kind != VG_WAIT_NONE)
        key_part ^= node->outer.on;
    if (vg_cycle_noted(node))
        key_part = (uint64_t)(uintptr_t)node->worker->self ^ node->worker->wait.number * UINT64_C(0x9e3779b97f4a7c15);
    key_part ^= key_part >> 31;
    return key_part * UINT64_C(0xbf58476d1ce4e5b9);
}

static void say_node(vg_words *to, const vg_cycle_node *node, bool one_pool)
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

/* What a node waits for that is not a lock of the C library. */
static vg_wait_what awaits(const vg_cycle_node *node)
{
    if (node->worker != NULL)
        return node->worker->wait.what;
    switch (node->outer.kind) {
    case VG_WAIT_JOB:
        return VG_WAITS_JOB;
    case VG_WAIT_GROUP:
        return VG_WAITS_GROUP;
    case VG_WAIT_PROMISE:
        return VG_WAITS_PROMISE;
    case VG_WAIT_LOCK:
        return VG_WAITS_LOCK;
    default:
        return VG_WAITS_NOT; /* the end of all tasks */
    }
}

/* " for a job (build) that cannot end before " */
static void say_awaited(vg_words *to, const vg_cycle_node *from, const vg_cycle_node *next)
{
    const vg_wait_what what = awaits(from);
    const void *function = NULL;
    switch (what) {
    case VG_WAITS_PROMISE:
        vg_say(to, " for a promise that cannot be settled before ");
        return;
    case VG_WAITS_LOCK:
        vg_say(to, " for the lock at 0x%" PRIx64 " that ",
               from->worker != NULL ? from->worker->wait.object : from->outer.on);
        return;
    case VG_WAITS_NOT:
        vg_say(to, " for the pool to become idle, which cannot be before ");
        return;
    case VG_WAITS_JOB:
        function = from->worker != NULL ? from->worker->wait.function : next->worker->function;
        break;
    default:
        break;
    }
    vg_say(to, " for a %s", what == VG_WAITS_JOB ? "job" : what == VG_WAITS_GROUP ? "group" : "signal");
    if (function != NULL) {
        char name[128];
        vg_function_name(function, name, sizeof name);
        vg_say(to, " (%s)", name);
    }
    vg_say(to, " that cannot end before ");
}

static void say_arrow(vg_words *to, const vg_cycle_node *from, const vg_cycle_node *next, const vg_look *look,
                      bool one_pool)
{
    say_node(to, from, one_pool);
    if (from->worker != NULL || from->loop != NULL)
        vg_say(to, " (thread %d)", from->thread);
    const uint64_t since = vg_cycle_since(from, look);
    vg_say(to, ": has waited ");
    vg_say_time(to, look->real > since ? look->real - since : 0);
    if (from->lock.address != 0) {
        vg_say(to, " for ");
        vg_say_lock(to, &from->lock);
        if (from->lock.what == VG_LOCK_JOIN) {
            vg_say(to, ", ");
            say_node(to, next, one_pool);
        } else if (from->lock.owner == from->thread) {
            vg_say(to, " that it holds itself");
        } else {
            vg_say(to, " that ");
            say_node(to, next, one_pool);
            vg_say(to, " holds");
        }
        const void *function = from->worker != NULL ? from->worker->function
                               : from->loop != NULL ? from->loop->facts.function
                                                    : NULL;
        if (function != NULL) {
            vg_say(to, ", inside");
            vg_say_function_name(to, function);
        }
    } else {
        const void *inside = from->worker != NULL ? from->worker->function
                             : from->loop != NULL ? from->loop->facts.function
                                                  : NULL;
        if (inside != NULL) {
            vg_say(to, ", inside");
            vg_say_function_name(to, inside);
            vg_say(to, ",");
        }
        say_awaited(to, from, next);
        say_node(to, next, one_pool);
        vg_say(to, awaits(from) == VG_WAITS_LOCK ? " holds" : " goes on");
    }
    vg_say(to, "\n");
}

void vg_cycle_find(const vg_cycle_graph *all, size_t begin, const vg_look *look)
{
    const size_t length = all->length - begin;
    const vg_cycle_node *youngest = &all->nodes[all->path[begin]];
    uint64_t newest = 0;
    bool limited = false;
    bool one_pool = true;
    size_t mutexes = 0; /* locks of either library */
    size_t joins = 0;
    size_t outside = 0;   /* loops and threads that wait for tasks */
    bool stacked = false; /* a wait lies on that of another task */
    for (size_t i = begin; i < all->length; i++) {
        const vg_cycle_node *at = &all->nodes[all->path[i]];
        const uint64_t since = vg_cycle_since(at, look);
        limited = limited || at->lock.limited || at->outer_limited || (vg_cycle_noted(at) && at->worker->wait.limited);
        joins += at->lock.what == VG_LOCK_JOIN;
        mutexes += arrow_is_lock(at);
        outside += at->outer.kind != VG_WAIT_NONE && at->outer.kind != VG_WAIT_LOCK;
        stacked = stacked || (vg_cycle_noted(at) && at->worker->wait.on_others);
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
               mutexes + outside + joins == 0 ? "tasks" : "threads");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    for (size_t i = begin; i < all->length; i++) {
        const vg_cycle_node *at = &all->nodes[all->path[i]];
        const vg_cycle_node *next = &all->nodes[all->path[i + 1 < all->length ? i + 1 : begin]];
        if (i - begin < VG_FINDING_THREADS)
            finding->parts[i - begin] = at->pool != NULL ? at->pool->serial : at->loop != NULL ? at->loop->serial : 0;
        if (i < begin + VG_MANY) {
            say_node(&reason, at, one_pool);
            vg_say(&reason, at->lock.what == VG_LOCK_JOIN    ? " -> (its end) "
                            : at->lock.what == VG_LOCK_MUTEX ? " -> (mutex) "
                            : arrow_is_lock(at)              ? " -> (lock) "
                                                             : " -> ");
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
        vg_say(&advice, "Take the locks in the same order everywhere. The stacks show where each was wanted; the "
                        "circle does not end by itself.");
    else if (joins != 0)
        vg_say(&advice, "Do not join a thread that needs something of the joining one in order to end: release the "
                        "lock or finish the wait first.");
    else if (mutexes == 1)
        vg_say(&advice, "Do not hold a mutex over a wait: the wait may run or need a task that wants the same mutex. "
                        "Unlock before vigil_group_wait, vigil_job_wait or any other wait.");
    else if (outside != 0)
        vg_say(&advice, "Do not wait inside a callback: the loop settles its promises itself, and does nothing else "
                        "while it waits. Let the job's end come back as a promise (vigil_async) or a post.");
    else
        vg_say(&advice,
               "A task must not wait for one that may wait for it: split the work at the wait, or submit a "
               "follow-up instead of waiting. VIGIL_RECOVER_REJECT breaks the circle: its youngest wait for a "
               "job returns -EDEADLK.%s",
               stacked
                   ? " If the program has no such circle: these tasks lie on the stacks of others that wait, because "
                     "the pool could have no more spares. Raise max_spares."
                   : "");
    if (vg_cycle_noted(youngest) && youngest->worker->wait.rejectable) {
        finding->reject_serial = youngest->pool->serial;
        finding->reject_worker = youngest->worker->index;
        finding->reject_wait = youngest->worker->wait.number;
    }
}
