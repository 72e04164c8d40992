/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - other libraries on this loop: before the poll, at the last look, after the poll.
 */
#include "hooks.h"
#include "guard.h"
#include "micro.h"
#include "note.h"
#include "sleep.h"
#include "tally.h"
#include "base/clock.h"

#include "base/options.h"

int vigil_hook_add(vigil_loop *loop, const vigil_hook_calls *calls, void *arg, vigil_hook *hook)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    vigil_hook_calls ours;
    if (calls == NULL || vg_options_take(&ours, sizeof ours, calls, calls->size, sizeof ours, "calls") != 0)
        return calls == NULL ? VG_WHY_NULL("calls") : -EINVAL;
    uint32_t slot;
    vg_hook *made = vg_registry_alloc(&loop->hook_slots, &slot);
    if (made == NULL)
        return vg_why(-ENOMEM, "no memory for another hook");
    made->slot = slot;
    made->alive = true;
    made->number = ++loop->hooks_added;
    made->calls = ours;
    made->arg = arg;
    made->next = NULL;
    vg_hook **link = &loop->hooks;
    while (*link != NULL)
        link = &(*link)->next;
    *link = made;
    if (hook != NULL)
        hook->id = vg_registry_name(slot, made);
    return 0;
}

int vigil_hook_remove(vigil_loop *loop, vigil_hook hook)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    uint32_t slot = vg_registry_find(&loop->hook_slots, hook.id);
    vg_hook *found = slot == UINT32_MAX ? NULL : vg_registry_at(&loop->hook_slots, slot);
    if (found == NULL || !found->alive)
        return -ESTALE;
    found->alive = false; /* it may be running; unlinked at the end of the turn */
    loop->hooks_dead = true;
    return 0;
}

void vg_hooks_sweep(vigil_loop *loop)
{
    vg_hook **link = &loop->hooks;
    while (*link != NULL) {
        vg_hook *hook = *link;
        if (hook->alive) {
            link = &hook->next;
            continue;
        }
        *link = hook->next;
        vg_registry_free(&loop->hook_slots, hook->slot, hook);
    }
    loop->hooks_dead = false;
}

/* The next living hook of this step; hook_at is NULL before the first. Hooks added in this step wait for the next
   turn. */
static vg_hook *next_hook(vigil_loop *loop)
{
    vg_hook *hook = loop->hook_at == NULL ? loop->hooks : loop->hook_at->next;
    while (hook != NULL && !hook->alive)
        hook = hook->next;
    if (hook == NULL || hook->number > loop->hooks_last)
        return NULL;
    loop->hook_at = hook;
    return hook;
}

void vg_hooks_prepare(vigil_loop *loop)
{
    for (vg_hook *hook; !vg_interrupted(loop) && (hook = next_hook(loop)) != NULL;) {
        if (hook->calls.prepare == NULL)
            continue;
        vg_tally(&loop->shared->prepares_run, 1);
        vg_loop_note_call(loop, (uintptr_t)hook->calls.prepare);
        int64_t most = hook->calls.prepare(loop, hook->arg);
        vg_loop_note_called(loop);
        if (most >= 0) {
            uint64_t deadline = most == 0 ? 0 : vg_deadline_after(most);
            if (deadline < loop->prepare_deadline)
                loop->prepare_deadline = deadline;
        }
        vg_checkpoint(loop);
    }
    if (!vg_interrupted(loop))
        loop->hook_at = NULL;
}

bool vg_hooks_recheck(vigil_loop *loop)
{
    if (loop->hooks == NULL)
        return false;
    const uint64_t last = loop->hooks_added;
    const uint64_t timers = vg_timers_next(&loop->timers);
    for (vg_hook *hook = loop->hooks; hook != NULL && hook->number <= last; hook = hook->next) {
        if (hook->alive && hook->calls.recheck != NULL && hook->calls.recheck(loop, hook->arg))
            return true;
    }
    /* A hook may have queued work or set a timer, whatever it answered. */
    return vg_loop_pending(loop) || vg_timers_next(&loop->timers) < timers;
}

void vg_hooks_check(vigil_loop *loop)
{
    for (vg_hook *hook; !vg_interrupted(loop) && (hook = next_hook(loop)) != NULL;) {
        if (hook->calls.check == NULL)
            continue;
        vg_tally(&loop->shared->checks_run, 1);
        vg_loop_note_call(loop, (uintptr_t)hook->calls.check);
        hook->calls.check(loop, hook->arg);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
    if (!vg_interrupted(loop))
        loop->hook_at = NULL;
}
