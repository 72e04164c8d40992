/* SPDX-License-Identifier: MIT */
/*
 * channel.c - what the flavors share: waiting, waking, closing, select. CHANNELS.md is the argument.
 *
 * A wait first tries, then joins the lists of its cases, looks again, and sleeps. Any change of a ring or list looks
 * at the word of the other side's list afterwards and wakes one waiter, who tries again. In a hand the message goes
 * from waiter to waker directly.
 */
#include "channel.h"

#include "base/why.h"
#include "patience.h"

#include <stdlib.h>

enum {
    CHANNEL_CASES = 64,
#ifdef VIGIL_CHECK
    CHANNEL_SPIN_STEPS = 0,
    CHANNEL_YIELDS = 0,
    CHANNEL_HAND_SPINS = 0,
#else
    CHANNEL_SPIN_STEPS = 6, /* 1, 2, 4, ... pauses */
    CHANNEL_YIELDS = 4,
    CHANNEL_HAND_SPINS = 100,
#endif
};

/* ---- waking ------------------------------------------------------------------------------------------------------ */

/* The list may have become empty. */
static void side_settle(vg_channel_side *side)
{
    if (vg_waiters_first(&side->waiters) == NULL) /* relaxed: it is set again under the same guard */
        atomic_store_explicit(&side->waiters.vg_word, 0, memory_order_relaxed);
}

static void side_wake(vg_channel_side *side)
{
    /* C9 seq_cst: after the change of the queue (C5, C7); pairs with the store of the word before C6 and C8 */
    if (__builtin_expect(atomic_load_explicit(&side->waiters.vg_word, memory_order_seq_cst) == 0, 1))
        return;
    vg_guard_lock(&side->waiters);
    vg_entry *entry = vg_waiters_claim_entry(&side->waiters);
    side_settle(side);
    vg_guard_unlock(&side->waiters);
    if (entry != NULL) {
        entry->sleeper->chosen = entry->index;
        vg_sleeper_end(entry->sleeper, VG_SLEEP_RETRY);
    }
}

static vg_entry *side_claim_all(vg_channel_side *side)
{
    vg_entry *chain = vg_waiters_claim_all(&side->waiters);
    for (vg_entry *entry = chain; entry != NULL; entry = entry->next)
        entry->sleeper->chosen = entry->index;
    side_settle(side);
    return chain;
}

static vg_channel_side *side_of(const vg_channel_wait *wait)
{
    return wait->send != NULL ? &wait->channel->senders : &wait->channel->receivers;
}

/* ---- trying ------------------------------------------------------------------------------------------------------ */

/* Meet somebody who waits; else join the list with `own`, if it is not NULL. */
static int hand_meet(vigil_channel *channel, const void *send, void *receive, vg_entry *own, bool front)
{
    vg_guard_lock(&channel->receivers.waiters);
    vg_channel_side *others = send != NULL ? &channel->receivers : &channel->senders;
    vg_channel_side *ours = send != NULL ? &channel->senders : &channel->receivers;
    vg_entry *entry = vg_waiters_claim_entry(&others->waiters);
    const bool closed = channel->hand_closed;
    if (entry == NULL && !closed && own != NULL) {
        if (front)
            vg_waiters_push_front(&ours->waiters, own);
        else
            vg_waiters_push_back(&ours->waiters, own);
    }
    vg_guard_unlock(&channel->receivers.waiters);
    if (entry == NULL)
        return closed ? VG_CHANNEL_CLOSED : VG_CHANNEL_WAIT;
    /* Claimed: its data stays until the end. */
    if (send != NULL)
        vg_channel_copy(entry->data, send, channel->element);
    else
        vg_channel_copy(receive, entry->data, channel->element);
    entry->sleeper->chosen = entry->index;
    vg_sleeper_end(entry->sleeper, VG_SLEEP_GIVEN);
    return VG_CHANNEL_DONE;
}

/* Ready for the list of its case. */
static void entry_prepare(vg_channel_wait *wait, vg_sleeper *sleeper, size_t index)
{
    wait->entry = (vg_entry){.sleeper = sleeper, .index = (uint32_t)index};
    wait->entry.data = wait->send != NULL ? (void *)(uintptr_t)wait->send : wait->receive;
}

int vg_channel_hand_join(vg_channel_wait *wait, vg_sleeper *sleeper, bool front)
{
    sleeper->chosen = VG_CHANNEL_NONE;
    atomic_store_explicit(&sleeper->word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
    entry_prepare(wait, sleeper, 0);
    return hand_meet(wait->channel, wait->send, wait->receive, &wait->entry, front);
}

int vg_channel_try(vigil_channel *channel, const void *send, void *receive)
{
    int answer = 0;
    switch (channel->flavor) {
    case VG_CHANNEL_RING:
        answer = send != NULL ? vg_channel_ring_send(channel, send) : vg_channel_ring_receive(channel, receive);
        if (answer == VG_CHANNEL_DONE)
            side_wake(send != NULL ? &channel->receivers : &channel->senders);
        return answer;
    case VG_CHANNEL_LIST:
        if (send == NULL)
            return vg_channel_list_receive(channel, receive);
        answer = vg_channel_list_send(channel, send);
        if (answer == VG_CHANNEL_DONE)
            side_wake(&channel->receivers);
        return answer;
    default:
        return hand_meet(channel, send, receive, NULL, false);
    }
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static bool hand_has_partner(const vg_channel_wait *wait)
{
    vigil_channel *channel = wait->channel;
    const vg_channel_side *others = wait->send != NULL ? &channel->receivers : &channel->senders;
    if (channel->hand_closed)
        return true;
    for (const vg_entry *entry = vg_waiters_first(&others->waiters); entry != NULL; entry = entry->next)
        if (entry->sleeper != wait->entry.sleeper)
            return true;
    return false;
}

static bool can_go_on(const vg_channel_wait *wait)
{
    vigil_channel *channel = wait->channel;
    switch (channel->flavor) {
    case VG_CHANNEL_RING:
        return wait->send != NULL ? vg_channel_ring_can_send(channel) : vg_channel_ring_can_receive(channel);
    case VG_CHANNEL_LIST:
        return wait->send != NULL || vg_channel_list_can_receive(channel);
    default: {
        vg_guard_lock(&channel->receivers.waiters);
        const bool partner = hand_has_partner(wait);
        vg_guard_unlock(&channel->receivers.waiters);
        return partner;
    }
    }
}

static void join_one(vg_channel_wait *wait, bool front)
{
    vigil_channel *channel = wait->channel;
    vg_channel_side *side = side_of(wait);
    vigil_waiters *guard = channel->flavor == VG_CHANNEL_HAND ? &channel->receivers.waiters : &side->waiters;
    vg_guard_lock(guard);
    if (front)
        vg_waiters_push_front(&side->waiters, &wait->entry);
    else
        vg_waiters_push_back(&side->waiters, &wait->entry);
    /* seq_cst: before the queue is looked at (C6, C8); pairs with C9 */
    atomic_store_explicit(&side->waiters.vg_word, 1, memory_order_seq_cst);
    vg_guard_unlock(guard);
}

bool vg_channel_join(vg_channel_wait *waits, size_t count, vg_sleeper *sleeper, bool front)
{
    sleeper->chosen = VG_CHANNEL_NONE;
    atomic_store_explicit(&sleeper->word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guards publish it */
    for (size_t i = 0; i < count; i++) {
        vg_channel_wait *wait = &waits[i];
        entry_prepare(wait, sleeper, i);
        if (wait->channel != NULL)
            join_one(wait, front);
    }
    for (size_t i = 0; i < count; i++)
        if (waits[i].channel != NULL && can_go_on(&waits[i]))
            return true;
    return false;
}

void vg_channel_leave(vg_channel_wait *waits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vigil_channel *channel = waits[i].channel;
        if (channel == NULL)
            continue;
        vg_channel_side *side = side_of(&waits[i]);
        vigil_waiters *guard = channel->flavor == VG_CHANNEL_HAND ? &channel->receivers.waiters : &side->waiters;
        vg_guard_lock(guard);
        vg_waiters_remove(&side->waiters, &waits[i].entry);
        side_settle(side);
        vg_guard_unlock(guard);
    }
}

void vg_channel_pass_on(const vg_channel_wait *wait)
{
    if (wait->channel->flavor != VG_CHANNEL_HAND)
        side_wake(side_of(wait));
}

int vg_channel_try_cases(const vg_channel_wait *waits, size_t count, size_t from, int *status)
{
    for (size_t n = 0; n < count; n++) {
        const size_t i = from + n < count ? from + n : from + n - count;
        if (waits[i].channel == NULL)
            continue;
        const int answer = vg_channel_try(waits[i].channel, waits[i].send, waits[i].receive);
        if (answer != VG_CHANNEL_WAIT) {
            *status = answer;
            return (int)i;
        }
    }
    return -1;
}

/* The same, again and again for a moment: a partner on another processor is often just about to come. */
static int try_for_a_moment(const vg_channel_wait *waits, size_t count, size_t from, int *status)
{
    int done = vg_channel_try_cases(waits, count, from, status);
    for (unsigned step = 0; done < 0 && step < CHANNEL_SPIN_STEPS; step++) {
        for (unsigned i = 0; i < 1U << step; i++)
            vg_spin_pause();
        done = vg_channel_try_cases(waits, count, from, status);
    }
    for (unsigned i = 0; done < 0 && i < CHANNEL_YIELDS; i++) {
        vg_thread_yield();
        done = vg_channel_try_cases(waits, count, from, status);
    }
    return done;
}

static int try_patiently(const vg_channel_wait *wait, uint64_t deadline_ns, int *status)
{
    vg_channel_side *side = side_of(wait);
    if (!side_is_patient(side))
        return -1;
    const uint64_t until = patient_until(deadline_ns);
    unsigned turn = 0;
    int done = -1;
    do {
        patient_pause(turn++);
        done = vg_channel_try_cases(wait, 1, 0, status);
    } while (done < 0 && (turn % 8 != 0 || vg_now_ns() < until));
    side_was_patient(side, done >= 0);
    return done;
}

/* Do one of the cases. Its index, and its answer in *status; or an error. */
static int wait_for_cases(vg_channel_wait *waits, size_t count, vigil_channel *first, vg_sleep_how *how, int *status)
{
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_CHANNEL, first);
    uint32_t woken = VG_CHANNEL_NONE; /* the case that we were woken for */
    size_t from = (size_t)(vg_ticks() >> 5) % count;
    for (;;) {
        int done = try_for_a_moment(waits, count, from, status);
        if (done < 0 && count == 1)
            done = try_patiently(waits, how->deadline_ns, status);
        if (done >= 0) {
            if (woken != VG_CHANNEL_NONE && (uint32_t)done != woken)
                vg_channel_pass_on(&waits[woken]);
            return done;
        }
        if (vg_channel_join(waits, count, &sleeper, woken != VG_CHANNEL_NONE))
            (void)vg_sleeper_leave(&sleeper, VG_SLEEP_RETRY);
        const uint32_t end = vg_sleeper_wait(&sleeper, how, 0);
        vg_channel_leave(waits, count);
        if (end == VG_SLEEP_GIVEN || end == VG_SLEEP_CLOSED) {
            *status = end == VG_SLEEP_GIVEN ? VG_CHANNEL_DONE : VG_CHANNEL_CLOSED;
            return (int)sleeper.chosen;
        }
        if (end != VG_SLEEP_RETRY)
            return vg_sleeper_error(end, how->token);
        woken = sleeper.chosen;
        from = woken != VG_CHANNEL_NONE ? woken : (from + 1) % count;
    }
}

static void await_patiently(const vg_sleeper *sleeper, vg_channel_side *side, uint64_t deadline_ns)
{
    if (!side_is_patient(side))
        return;
    const uint64_t until = patient_until(deadline_ns);
    unsigned turn = 0;
    bool ended = false;
    do {
        patient_pause(turn++);
        /* relaxed: vg_sleeper_wait acquires (Z2) */
        ended = atomic_load_explicit(&sleeper->word, memory_order_relaxed) >= VG_SLEEP_GIVEN;
    } while (!ended && (turn % 8 != 0 || vg_now_ns() < until));
    side_was_patient(side, ended);
}

/* Of a hand: the next one meets us while we wait, so there is nothing to try again. */
static int wait_in_hand(vg_channel_wait *wait, vg_sleep_how *how)
{
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_CHANNEL, wait->channel);
    how->yields = CHANNEL_YIELDS;
    const int answer = vg_channel_hand_join(wait, &sleeper, false);
    if (answer != VG_CHANNEL_WAIT)
        return answer;
    await_patiently(&sleeper, side_of(wait), how->deadline_ns);
    const uint32_t end = vg_sleeper_wait(&sleeper, how, CHANNEL_HAND_SPINS);
    if (end == VG_SLEEP_GIVEN || end == VG_SLEEP_CLOSED) /* the claimer has taken us out */
        return end == VG_SLEEP_GIVEN ? VG_CHANNEL_DONE : VG_CHANNEL_CLOSED;
    vg_channel_leave(wait, 1);
    return vg_sleeper_error(end, how->token);
}

static __attribute__((noinline)) int wait_for_one(vigil_channel *channel, const void *send, void *receive,
                                                  int64_t timeout_ns, vigil_cancel_token *token, const void *where)
{
    if (timeout_ns == 0)
        return -ETIMEDOUT;
    vg_channel_wait wait = {.channel = channel, .send = send, .receive = receive};
    vg_sleep_how how = {.deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = where};
    if (channel->flavor == VG_CHANNEL_HAND)
        return wait_in_hand(&wait, &how);
    int status = 0;
    const int done = wait_for_cases(&wait, 1, channel, &how, &status);
    return done < 0 ? done : status;
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

int vigil_channel_create(vigil_channel **out, size_t element, size_t capacity)
{
    if (out == NULL)
        return VG_WHY_NULL("channel");
    if (element == 0 || element > 65536)
        return vg_why(-EINVAL, "element must be 1 to 65536 bytes");
    vigil_channel *channel = aligned_alloc(64, sizeof *channel);
    if (channel == NULL)
        return -ENOMEM;
    memset(channel, 0, sizeof *channel); // NOLINT: atomics of zero
    channel->element = element;
    channel->capacity = capacity;
    int error = 0;
    if (capacity == 0) {
        channel->flavor = VG_CHANNEL_HAND;
    } else if (capacity == VIGIL_CHANNEL_UNBOUNDED) {
        channel->flavor = VG_CHANNEL_LIST;
        error = vg_channel_list_make(channel);
    } else {
        channel->flavor = VG_CHANNEL_RING;
        error = vg_channel_ring_make(channel);
    }
    if (error != 0) {
        free(channel);
        return error;
    }
    *out = channel;
    return 0;
}

void vigil_channel_destroy(vigil_channel *channel)
{
    if (channel == NULL)
        return;
    if (channel->flavor == VG_CHANNEL_LIST)
        vg_channel_list_free(channel);
    free(channel->slots);
    free(channel);
}

int vigil_channel_send(vigil_channel *channel, const void *element, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (channel == NULL || element == NULL)
        return channel == NULL ? VG_WHY_NULL("channel") : VG_WHY_NULL("element");
    const int answer = vg_channel_try(channel, element, NULL);
    return __builtin_expect(answer != VG_CHANNEL_WAIT, 1)
               ? answer
               : wait_for_one(channel, element, NULL, timeout_ns, token, __builtin_return_address(0));
}

int vigil_channel_receive(vigil_channel *channel, int64_t timeout_ns, vigil_cancel_token *token, void *element)
{
    if (channel == NULL || element == NULL)
        return channel == NULL ? VG_WHY_NULL("channel") : VG_WHY_NULL("element");
    const int answer = vg_channel_try(channel, NULL, element);
    return __builtin_expect(answer != VG_CHANNEL_WAIT, 1)
               ? answer
               : wait_for_one(channel, NULL, element, timeout_ns, token, __builtin_return_address(0));
}

int vigil_channel_close(vigil_channel *channel)
{
    if (channel == NULL)
        return VG_WHY_NULL("channel");
    const bool hand = channel->flavor == VG_CHANNEL_HAND;
    bool was = false;
    /* seq_cst: before the lists are looked at, as C5 and C7; pairs with C6 and C8 */
    if (!hand)
        was = (atomic_fetch_or_explicit(&channel->tail, channel->mark, memory_order_seq_cst) & channel->mark) != 0;
    vg_guard_lock(&channel->receivers.waiters);
    if (hand) {
        was = channel->hand_closed;
        channel->hand_closed = true;
    }
    vg_entry *receivers = side_claim_all(&channel->receivers);
    vg_entry *senders = hand ? side_claim_all(&channel->senders) : NULL;
    vg_guard_unlock(&channel->receivers.waiters);
    if (!hand) {
        vg_guard_lock(&channel->senders.waiters);
        senders = side_claim_all(&channel->senders);
        vg_guard_unlock(&channel->senders.waiters);
    }
    vg_entries_end(receivers, hand ? VG_SLEEP_CLOSED : VG_SLEEP_RETRY);
    vg_entries_end(senders, hand ? VG_SLEEP_CLOSED : VG_SLEEP_RETRY);
    return was ? -EALREADY : 0;
}

size_t vigil_channel_count(const vigil_channel *channel)
{
    if (channel == NULL || channel->flavor == VG_CHANNEL_HAND)
        return 0;
    return channel->flavor == VG_CHANNEL_RING ? vg_channel_ring_count(channel) : vg_channel_list_count(channel);
}

int vg_channel_check_cases(const vigil_channel_case *cases, size_t count, vigil_channel **first)
{
    if (cases == NULL)
        return VG_WHY_NULL("cases");
    if (count == 0 || count > CHANNEL_CASES)
        return vg_why(-EINVAL, "count must be 1 to 64");
    *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (cases[i].channel == NULL)
            continue;
        if (cases[i].send == NULL && cases[i].receive == NULL)
            return vg_why_say(-EINVAL, "cases[%zu] has nothing to send and nowhere to receive", i);
        *first = *first == NULL ? cases[i].channel : *first;
    }
    return *first == NULL ? vg_why(-EINVAL, "cases has no channel") : 0;
}

int vigil_channel_select(vigil_channel_case *cases, size_t count, int64_t timeout_ns, vigil_cancel_token *token)
{
    vigil_channel *first = NULL;
    const int error = vg_channel_check_cases(cases, count, &first);
    if (error != 0)
        return error;
    vg_channel_wait waits[CHANNEL_CASES];
    for (size_t i = 0; i < count; i++)
        waits[i] = (vg_channel_wait){.channel = cases[i].channel, .send = cases[i].send, .receive = cases[i].receive};
    int status = 0;
    int done = 0;
    if (timeout_ns == 0) {
        done = vg_channel_try_cases(waits, count, (size_t)(vg_ticks() >> 5) % count, &status);
        if (done < 0)
            return -ETIMEDOUT;
    } else {
        vg_sleep_how how = {
            .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
        done = wait_for_cases(waits, count, first, &how, &status);
        if (done < 0)
            return done;
    }
    cases[done].status = status;
    return done;
}
