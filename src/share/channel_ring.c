/* SPDX-License-Identifier: MIT */
/*
 * channel_ring.c - a bounded queue for many on both sides, after Vyukov. A position is a lap and an index; each slot
 * has a stamp that says whose turn it is: the position of the send that may fill it, or that plus one, when it is
 * full. Positions are taken by compare-exchange; the bit `mark` of the tail says closed.
 */
#include "channel.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>

typedef struct ring_slot {
    _Atomic uint64_t stamp;
    char data[];
} ring_slot;

static ring_slot *ring_slot_at(const vigil_channel *channel, uint64_t position)
{
    return (ring_slot *)(void *)(channel->slots + (position & (channel->mark - 1)) * channel->stride);
}

static uint64_t ring_next(const vigil_channel *channel, uint64_t position)
{
    const uint64_t lap = 2 * channel->mark;
    return (position & (channel->mark - 1)) + 1 < channel->capacity ? position + 1 : (position & ~(lap - 1)) + lap;
}

int vg_channel_ring_make(vigil_channel *channel)
{
    uint64_t mark = 1;
    while (mark < channel->capacity + 1)
        mark *= 2;
    channel->mark = mark;
    channel->stride = (sizeof(ring_slot) + channel->element + 7) & ~(size_t)7;
    if (channel->capacity > SIZE_MAX / 4 / channel->stride)
        return -ENOMEM;
    channel->slots = malloc(channel->capacity * channel->stride);
    if (channel->slots == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < channel->capacity; i++)
        atomic_init(&ring_slot_at(channel, i)->stamp, i);
    return 0;
}

int vg_channel_ring_send(vigil_channel *channel, const void *element)
{
    uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_relaxed);
    unsigned looks = 0;
    for (;;) {
        if ((tail & channel->mark) != 0)
            return VG_CHANNEL_CLOSED;
        ring_slot *slot = ring_slot_at(channel, tail);
        /* C1 acquire: the slot was read; pairs with C4 */
        const uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
        if (stamp == tail) {
            /* C5 seq_cst: the new tail before the word of the receivers' list is read; pairs with C6 */
            if (atomic_compare_exchange_weak_explicit(&channel->tail, &tail, ring_next(channel, tail),
                                                      memory_order_seq_cst, memory_order_relaxed)) {
                vg_channel_copy(slot->data, element, channel->element);
                /* C2 release: the message; pairs with C3 */
                atomic_store_explicit(&slot->stamp, tail + 1, memory_order_release);
                return VG_CHANNEL_DONE;
            }
            continue;
        }
        if (stamp + 2 * channel->mark == tail + 1) {
            /* Full, or a receive has taken its position and not yet read. relaxed: an old head says full to a sender
               that will look again before it sleeps (C8) */
            if (atomic_load_explicit(&channel->head, memory_order_relaxed) + 2 * channel->mark == tail)
                return VG_CHANNEL_WAIT;
        }
        vg_channel_await_step(&looks);
        tail = atomic_load_explicit(&channel->tail, memory_order_relaxed);
    }
}

int vg_channel_ring_receive(vigil_channel *channel, void *element)
{
    uint64_t head = atomic_load_explicit(&channel->head, memory_order_relaxed);
    unsigned looks = 0;
    for (;;) {
        ring_slot *slot = ring_slot_at(channel, head);
        const uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire); /* C3: pairs with C2 */
        if (stamp == head + 1) {
            /* C7 seq_cst: the new head before the word of the senders' list is read; pairs with C8 */
            if (atomic_compare_exchange_weak_explicit(&channel->head, &head, ring_next(channel, head),
                                                      memory_order_seq_cst, memory_order_relaxed)) {
                vg_channel_copy(element, slot->data, channel->element);
                /* C4 release: the message was read; pairs with C1 */
                atomic_store_explicit(&slot->stamp, head + 2 * channel->mark, memory_order_release);
                return VG_CHANNEL_DONE;
            }
            continue;
        }
        if (stamp == head) {
            /* Empty, or a send has taken its position and not yet written. relaxed: an old tail says empty to a
               receiver that will look again before it sleeps (C6) */
            const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_relaxed);
            if ((tail & ~channel->mark) == head)
                return (tail & channel->mark) != 0 ? VG_CHANNEL_CLOSED : VG_CHANNEL_WAIT;
        }
        vg_channel_await_step(&looks);
        head = atomic_load_explicit(&channel->head, memory_order_relaxed);
    }
}

bool vg_channel_ring_can_receive(vigil_channel *channel)
{
    /* C6 seq_cst: the word of our list was set before; pairs with C5 and with the close */
    const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_seq_cst);
    return (tail & channel->mark) != 0 || tail != atomic_load_explicit(&channel->head, memory_order_relaxed);
}

bool vg_channel_ring_can_send(vigil_channel *channel)
{
    /* C8 seq_cst, both: the word of our list was set before; pairs with C7 and with the close */
    const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_seq_cst);
    const uint64_t head = atomic_load_explicit(&channel->head, memory_order_seq_cst);
    return (tail & channel->mark) != 0 || head + 2 * channel->mark != tail;
}

size_t vg_channel_ring_count(const vigil_channel *channel)
{
    /* relaxed: a number that may be old already */
    const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_relaxed) & ~channel->mark;
    const uint64_t head = atomic_load_explicit(&channel->head, memory_order_relaxed);
    const uint64_t in = channel->mark - 1;
    if (tail == head)
        return 0;
    const uint64_t from = head & in;
    const uint64_t to = tail & in;
    const uint64_t count = to > from ? to - from : channel->capacity - from + to;
    return count > channel->capacity ? channel->capacity : (size_t)count;
}
