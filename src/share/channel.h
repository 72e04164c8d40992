/* SPDX-License-Identifier: MIT */
/*
 * channel.h - a channel, and its three flavors: ring (bounded), list (unbounded), hand (capacity 0).
 */
#ifndef VG_SHARE_CHANNEL_H
#define VG_SHARE_CHANNEL_H

#include "sleeper.h"

#include <stdalign.h>
#include <string.h>
#include <vigil/channel.h>

/* What a try gives. CHANNEL_WAIT: full or empty. */
enum {
    VG_CHANNEL_DONE = 0,
    VG_CHANNEL_WAIT = 1,
    VG_CHANNEL_CLOSED = -EPIPE,
    VG_CHANNEL_NO_MEMORY = -ENOMEM
};

typedef enum vg_channel_flavor {
    VG_CHANNEL_RING,
    VG_CHANNEL_LIST,
    VG_CHANNEL_HAND
} vg_channel_flavor;

typedef struct vg_channel_block vg_channel_block;

/* Those who wait to receive, or to send. waiters.vg_word: the list is not empty. */
typedef struct vg_channel_side {
    alignas(64) vigil_waiters waiters;
    _Atomic uint32_t doubt; /* does it pay to spin? see side_is_patient */
} vg_channel_side;

struct vigil_channel {
    alignas(64) _Atomic uint64_t tail; /* of ring and list: where the next message goes, and a bit: closed */
    _Atomic(vg_channel_block *) tail_block;
    alignas(64) _Atomic uint64_t head;
    _Atomic(vg_channel_block *) head_block;
    alignas(64) vg_channel_flavor flavor; /* what follows is written by the maker alone, but `closed` and `spare` */
    size_t element;
    size_t capacity;
    uint64_t mark;    /* of a ring: the bit that says closed */
    size_t stride;    /* of a slot */
    char *slots;      /* of a ring */
    bool hand_closed; /* under the guard of receivers */
    _Atomic(vg_channel_block *) spare;
    vg_channel_side receivers; /* of a hand: its guard protects both lists */
    vg_channel_side senders;
};

static inline void vg_channel_copy(void *to, const void *from, size_t size)
{
    if (size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
}

/* Another thread is between two steps of a few instructions. Look again soon; if it takes long, it has lost its
   processor, and gets ours. */
static inline void vg_channel_await_step(unsigned *looks)
{
    if (++*looks % 32 != 0)
        vg_spin_pause();
    else
        vg_thread_yield();
}

/* Another thread was faster. Two processors that try again at once take the line from each other for every message. So
   a loser tries again with the position that it lost against (false): it loses again while the winner is still at it,
   and waits longer each time, and the winner does many messages in a row. After some losses it takes part again with
   the position of that moment (true), so nobody is kept out for long. */
enum {
#ifdef VIGIL_CHECK
    CHANNEL_LOSSES = 2,
#else
    CHANNEL_LOSSES = 12,
#endif
    CHANNEL_LOSS_STEPS = 6
};

static inline bool vg_channel_back_off(unsigned *losses)
{
    const unsigned steps = *losses < CHANNEL_LOSS_STEPS ? *losses : CHANNEL_LOSS_STEPS;
    for (unsigned i = 0; i < 1U << steps; i++)
        vg_spin_pause();
    return ++*losses >= CHANNEL_LOSSES;
}

/* Each returns one of the codes above, and wakes nobody. */
int vg_channel_ring_send(vigil_channel *channel, const void *element);
int vg_channel_ring_receive(vigil_channel *channel, void *element);
int vg_channel_ring_make(vigil_channel *channel);
size_t vg_channel_ring_count(const vigil_channel *channel);
bool vg_channel_ring_can_send(vigil_channel *channel); /* or it is closed; ordered against the word of the side */
bool vg_channel_ring_can_receive(vigil_channel *channel);

int vg_channel_list_send(vigil_channel *channel, const void *element);
int vg_channel_list_receive(vigil_channel *channel, void *element);
int vg_channel_list_make(vigil_channel *channel);
void vg_channel_list_free(vigil_channel *channel);
size_t vg_channel_list_count(const vigil_channel *channel);
bool vg_channel_list_can_receive(vigil_channel *channel);

/* A case of a wait, with its entry. */
typedef struct vg_channel_wait {
    vigil_channel *channel;
    const void *send; /* NULL: receive */
    void *receive;
    vg_entry entry;
} vg_channel_wait;

/* Send or receive at once, and wake those that can go on now. */
int vg_channel_try(vigil_channel *channel, const void *send, void *receive);

/* Try the cases once, beginning with `from`. The index of the one that was done, or -1; its answer in *status. */
int vg_channel_try_cases(const vg_channel_wait *waits, size_t count, size_t from, int *status);

/* What a select asks of its cases. 0, and the first channel; or an error. */
int vg_channel_check_cases(const vigil_channel_case *cases, size_t count, vigil_channel **first);

/* sleeper.chosen of a wait that nobody has claimed. */
#define VG_CHANNEL_NONE UINT32_C(0x7fffffff)

/* Of a hand: do it, or join the list; one look at the channel. */
int vg_channel_hand_join(vg_channel_wait *wait, vg_sleeper *sleeper, bool front);

/* Join the lists. True: it may be possible now, look again. */
bool vg_channel_join(vg_channel_wait *waits, size_t count, vg_sleeper *sleeper, bool front);
void vg_channel_leave(vg_channel_wait *waits, size_t count);

/* A waiter that was woken for this case did not use it: wake another. */
void vg_channel_pass_on(const vg_channel_wait *wait);

#endif
