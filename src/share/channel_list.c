/* SPDX-License-Identifier: MIT */
/*
 * channel_list.c - an unbounded queue for many on both sides: a list of blocks. A position counts slots, and one that
 * does not exist at the end of each block: a thread there waits until the next block is in place. Bit 0 of the tail
 * says closed; bit 0 of the head says that the tail is in a later block, so the tail need not be read.
 *
 * A block is freed by its last reader. The receiver of the last slot begins; a slot that is still being read gets
 * BLOCK_FREE, and its reader goes on from there.
 */
#include "channel.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>

enum {
#ifdef VIGIL_CHECK
    BLOCK_LAP = 3,
#else
    BLOCK_LAP = 32,
#endif
    BLOCK_SLOTS = BLOCK_LAP - 1,
    BLOCK_STEP = 2, /* a position, above the bit */
    BLOCK_BIT = 1
};
/* A slot's state. */
enum {
    SLOT_WRITTEN = 1,
    SLOT_READ = 2,
    SLOT_FREE = 4
};

struct vg_channel_block {
    _Atomic(vg_channel_block *) next;
    char slots[];
};

typedef struct list_slot {
    _Atomic uint64_t state;
    char data[];
} list_slot;

static list_slot *list_slot_at(const vigil_channel *channel, vg_channel_block *block, unsigned at)
{
    return (list_slot *)(void *)(block->slots + at * channel->stride);
}

static unsigned list_offset(uint64_t position)
{
    return (unsigned)(position / BLOCK_STEP % BLOCK_LAP);
}

static vg_channel_block *block_make(vigil_channel *channel)
{
    /* acquire: its last reader's touches; pairs with the release in block_done */
    vg_channel_block *block = atomic_exchange_explicit(&channel->spare, NULL, memory_order_acquire);
    if (block == NULL)
        block = malloc(sizeof *block + BLOCK_SLOTS * channel->stride);
    if (block == NULL)
        return NULL;
    atomic_init(&block->next, NULL);
    for (unsigned i = 0; i < BLOCK_SLOTS; i++)
        atomic_init(&list_slot_at(channel, block, i)->state, 0U);
    return block;
}

static void block_keep(vigil_channel *channel, vg_channel_block *block)
{
    /* release: our touches; pairs with the acquire in block_make. acquire: to free the other one */
    free(atomic_exchange_explicit(&channel->spare, block, memory_order_acq_rel));
}

/* The slots before `from` are read: free the block, or leave it to a reader. */
static void block_done(vigil_channel *channel, vg_channel_block *block, unsigned from)
{
    for (unsigned i = from; i < BLOCK_SLOTS - 1; i++) { /* the last one began */
        list_slot *slot = list_slot_at(channel, block, i);
        /* D1 acq_rel: its reader is done, or sees what we and those before us have; pairs with D2 */
        if ((atomic_load_explicit(&slot->state, memory_order_acquire) & SLOT_READ) == 0 &&
            (atomic_fetch_add_explicit(&slot->state, SLOT_FREE, memory_order_acq_rel) & SLOT_READ) == 0)
            return;
    }
    block_keep(channel, block);
}

int vg_channel_list_make(vigil_channel *channel)
{
    channel->mark = BLOCK_BIT;
    channel->stride = (sizeof(list_slot) + channel->element + 7) & ~(size_t)7;
    vg_channel_block *block = block_make(channel);
    if (block == NULL)
        return -ENOMEM;
    atomic_init(&channel->tail_block, block);
    atomic_init(&channel->head_block, block);
    return 0;
}

void vg_channel_list_free(vigil_channel *channel)
{
    vg_channel_block *block = atomic_load_explicit(&channel->head_block, memory_order_relaxed); /* we are alone */
    while (block != NULL) {
        vg_channel_block *next = atomic_load_explicit(&block->next, memory_order_relaxed);
        free(block);
        block = next;
    }
    free(atomic_load_explicit(&channel->spare, memory_order_relaxed));
}

/* Until the position has left the place that does not exist. */
static void list_await_block(const _Atomic uint64_t *position)
{
    unsigned looks = 0;
    /* relaxed: the caller looks again */
    while (list_offset(atomic_load_explicit(position, memory_order_relaxed)) == BLOCK_SLOTS)
        vg_channel_await_step(&looks);
}

int vg_channel_list_send(vigil_channel *channel, const void *element)
{
    vg_channel_block *fresh = NULL;
    unsigned losses = 0;
    int answer = VG_CHANNEL_DONE;
    /* E1 acquire: the block of this position; pairs with E2 */
    uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_acquire);
    for (;;) {
        vg_channel_block *block = atomic_load_explicit(&channel->tail_block, memory_order_acquire); /* pairs with E3 */
        const unsigned at = list_offset(tail);
        if ((tail & BLOCK_BIT) != 0) {
            answer = VG_CHANNEL_CLOSED;
            break;
        }
        if (at == BLOCK_SLOTS) { /* the next block is being put in place */
            list_await_block(&channel->tail);
            tail = atomic_load_explicit(&channel->tail, memory_order_acquire); /* E1 */
            continue;
        }
        if (at + 1 == BLOCK_SLOTS && fresh == NULL && (fresh = block_make(channel)) == NULL) {
            answer = VG_CHANNEL_NO_MEMORY;
            break;
        }
        /* C5 seq_cst: the new tail before the word of the receivers' list is read; pairs with C6. It succeeds only if
           the tail has not moved since E1, so the block is that of the position. If it fails it is E1 itself. */
        if (!atomic_compare_exchange_weak_explicit(&channel->tail, &tail, tail + BLOCK_STEP, memory_order_seq_cst,
                                                   memory_order_acquire)) {
            if (vg_channel_back_off(&losses))
                tail = atomic_load_explicit(&channel->tail, memory_order_acquire); /* E1 */
            continue;
        }
        if (at + 1 == BLOCK_SLOTS) {
            /* E3 release: the block is empty; pairs with the load beside E1 */
            atomic_store_explicit(&channel->tail_block, fresh, memory_order_release);
            /* E2 release: the block before the position; pairs with E1. An addition: the bit stays. */
            (void)atomic_fetch_add_explicit(&channel->tail, BLOCK_STEP, memory_order_release);
            /* E4 release: the block is empty; pairs with E5 */
            atomic_store_explicit(&block->next, fresh, memory_order_release);
            fresh = NULL;
        }
        list_slot *slot = list_slot_at(channel, block, at);
        vg_channel_copy(slot->data, element, channel->element);
        /* C2 release: the message; pairs with C3. Nobody else changes the state before it is written, but
           block_done. */
        (void)atomic_fetch_or_explicit(&slot->state, SLOT_WRITTEN, memory_order_release);
        break;
    }
    if (fresh != NULL)
        block_keep(channel, fresh);
    return answer;
}

/* The head has left the last slot of the block: put it on the next one. */
static void list_next_block(vigil_channel *channel, vg_channel_block *block, uint64_t head)
{
    vg_channel_block *next = NULL;
    unsigned looks = 0;
    while ((next = atomic_load_explicit(&block->next, memory_order_acquire)) == NULL) /* E5: pairs with E4 */
        vg_channel_await_step(&looks);
    head = (head & ~(uint64_t)BLOCK_BIT) + BLOCK_STEP;
    if (atomic_load_explicit(&next->next, memory_order_relaxed) != NULL)
        head |= BLOCK_BIT;
    /* E6 release: the block is as its maker left it; pairs with the load beside E7 */
    atomic_store_explicit(&channel->head_block, next, memory_order_release);
    /* E8 release: the block before the position; pairs with E7 */
    atomic_store_explicit(&channel->head, head, memory_order_release);
}

int vg_channel_list_receive(vigil_channel *channel, void *element)
{
    unsigned losses = 0;
    uint64_t head = atomic_load_explicit(&channel->head, memory_order_acquire); /* E7: pairs with E8 */
    for (;;) {
        vg_channel_block *block = atomic_load_explicit(&channel->head_block, memory_order_acquire); /* pairs with E6 */
        const unsigned at = list_offset(head);
        if (at == BLOCK_SLOTS) {
            list_await_block(&channel->head);
            head = atomic_load_explicit(&channel->head, memory_order_acquire); /* E7 */
            continue;
        }
        uint64_t next = head + BLOCK_STEP;
        if ((head & BLOCK_BIT) == 0) {
            /* relaxed: the tail is not older than the head, which came with E7; an old one says empty to a receiver
               that will look again before it sleeps (C6) */
            const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_relaxed);
            if (head / BLOCK_STEP == tail / BLOCK_STEP)
                return (tail & BLOCK_BIT) != 0 ? VG_CHANNEL_CLOSED : VG_CHANNEL_WAIT;
            if (head / BLOCK_STEP / BLOCK_LAP != tail / BLOCK_STEP / BLOCK_LAP)
                next |= BLOCK_BIT;
        }
        /* E9 acq_rel: the block is still that of the position, as in the send; the next receiver sees the tail that we
           saw; pairs with E7. If it fails it is E7 itself. */
        if (!atomic_compare_exchange_weak_explicit(&channel->head, &head, next, memory_order_acq_rel,
                                                   memory_order_acquire)) {
            if (vg_channel_back_off(&losses))
                head = atomic_load_explicit(&channel->head, memory_order_acquire); /* E7 */
            continue;
        }
        if (at + 1 == BLOCK_SLOTS)
            list_next_block(channel, block, next);
        list_slot *slot = list_slot_at(channel, block, at);
        unsigned looks = 0;
        while ((atomic_load_explicit(&slot->state, memory_order_acquire) & SLOT_WRITTEN) == 0) /* C3: pairs with C2 */
            vg_channel_await_step(&looks);
        vg_channel_copy(element, slot->data, channel->element);
        /* D2 acq_rel: we have read, and go on with the block if asked to; pairs with D1 */
        if (at + 1 == BLOCK_SLOTS)
            block_done(channel, block, 0);
        else if ((atomic_fetch_add_explicit(&slot->state, SLOT_READ, memory_order_acq_rel) & SLOT_FREE) != 0)
            block_done(channel, block, at + 1);
        return VG_CHANNEL_DONE;
    }
}

bool vg_channel_list_can_receive(vigil_channel *channel)
{
    /* C6 seq_cst: the word of our list was set before; pairs with C5 and with the close */
    const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_seq_cst);
    const uint64_t head = atomic_load_explicit(&channel->head, memory_order_relaxed);
    return (tail & BLOCK_BIT) != 0 || tail / BLOCK_STEP != head / BLOCK_STEP;
}

size_t vg_channel_list_count(const vigil_channel *channel)
{
    /* relaxed: a number that may be old already */
    const uint64_t tail = atomic_load_explicit(&channel->tail, memory_order_relaxed) / BLOCK_STEP;
    const uint64_t head = atomic_load_explicit(&channel->head, memory_order_relaxed) / BLOCK_STEP;
    if (tail <= head)
        return 0;
    return (size_t)((tail - tail / BLOCK_LAP) - (head - head / BLOCK_LAP)); /* without the slots that do not exist */
}
