/* SPDX-License-Identifier: MIT */
#include "ingress.h"

#include "base/thread.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(vg_chunk) <= VG_CHUNK_BYTES, "a chunk fits");
_Static_assert((VG_CHUNK_BYTES >> VG_INGRESS_CHUNK_SHIFT) == 1, "the low bits of a chunk's address are free");

static uint64_t word_for(const vg_chunk *chunk, uint64_t count)
{
    return (uint64_t)((uintptr_t)chunk >> VG_INGRESS_CHUNK_SHIFT) << VG_INGRESS_ADDRESS_SHIFT | count;
}

/* Places of the newest chunk that were really given out. */
static uint64_t given_out(uint64_t word)
{
    return vg_ingress_count(word) < VG_CHUNK_SLOTS ? vg_ingress_count(word) : VG_CHUNK_SLOTS;
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

static vg_chunk *chunk_new(vg_ingress *queue)
{
    vg_chunk *chunk = (vg_chunk *)vg_chunk_take(&queue->pool);
    if (chunk != NULL && (uint64_t)(uintptr_t)chunk >> (64 - VG_INGRESS_ADDRESS_SHIFT + VG_INGRESS_CHUNK_SHIFT) != 0) {
        vg_chunk_give(&queue->pool, &chunk->head); /* the word cannot hold it; no known system has such addresses */
        return NULL;
    }
    return chunk;
}

static bool slot_is_left(const vg_ingress_slot *slot)
{
    /* acquire: the producer's last touch comes before our reuse or the end of the loop; pairs with the release in
       vg_ingress_leave */
    return (atomic_load_explicit(&slot->run, memory_order_acquire) & VG_INGRESS_LEFT) != 0;
}

static bool chunk_is_left(const vg_chunk *chunk)
{
    for (int i = 0; i < VG_CHUNK_SLOTS; i++) {
        if (!slot_is_left(&chunk->slots[i]))
            return false;
    }
    return true;
}

/* Nothing of its past stays (I4). */
static void chunk_wipe(vg_chunk *chunk)
{
    for (int i = 0; i < VG_CHUNK_SLOTS; i++) {
        atomic_store_explicit(&chunk->slots[i].run, 0, memory_order_relaxed);
        chunk->slots[i].arg = NULL;
    }
    /* relaxed: set before the place was published, which the owner has seen */
    if (atomic_load_explicit(&chunk->any_cancel, memory_order_relaxed) != 0) {
        memset(chunk->cancels, 0, sizeof chunk->cancels);
        atomic_store_explicit(&chunk->any_cancel, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
}

/* Owner: a chunk of which every place was taken. */
static void chunk_retire(vg_ingress *queue, vg_chunk *chunk)
{
    /* The limbo is nearly always empty: a producer was preempted in its last instructions. */
    atomic_store_explicit(&chunk->next, queue->limbo, memory_order_relaxed);
    queue->limbo = chunk;
    vg_chunk *keep = NULL;
    for (vg_chunk *each = queue->limbo, *next; each != NULL; each = next) {
        next = atomic_load_explicit(&each->next, memory_order_relaxed);
        if (chunk_is_left(each)) {
            chunk_wipe(each);
            vg_chunk_give(&queue->pool, &each->head);
        } else {
            atomic_store_explicit(&each->next, keep, memory_order_relaxed);
            keep = each;
        }
    }
    queue->limbo = keep;
}

/* ---- producers -------------------------------------------------------------------------------------------------- */

int vg_ingress_place_slowly(vg_ingress *queue, vg_ingress_place *place)
{
    vg_chunk *mine = NULL;
    int rc = 0;
    /* relaxed, like every mere look at the word here: a thread that touches a chunk has first added to the word or
       exchanged it, and these acquire */
    uint64_t word = atomic_load_explicit(&queue->word, memory_order_relaxed);
    for (;;) {
        if ((word & VG_INGRESS_CLOSED) != 0) {
            rc = -ESHUTDOWN;
            break;
        }
        if (vg_ingress_count(word) < VG_CHUNK_SLOTS) {
            /* acquire: the chunk's zeros; pairs with the release of the compare-exchange below */
            word = atomic_fetch_add_explicit(&queue->word, 1, memory_order_acquire);
            if (vg_ingress_count(word) < VG_CHUNK_SLOTS && (word & VG_INGRESS_CLOSED) == 0) {
                *place = (vg_ingress_place){vg_ingress_chunk(word), vg_ingress_count(word)};
                break;
            }
            word = atomic_load_explicit(&queue->word, memory_order_relaxed);
            continue;
        }
        if (mine == NULL)
            mine = chunk_new(queue);
        if (mine == NULL) {
            /* Take back the surplus (I5). On failure another producer is at it. */
            (void)atomic_compare_exchange_strong_explicit(&queue->word, &word,
                                                          word_for(vg_ingress_chunk(word), VG_CHUNK_SLOTS),
                                                          memory_order_relaxed, memory_order_relaxed);
            rc = -ENOMEM;
            break;
        }
        /* release: the new chunk's zeros, for producers that add to the word. acquire: the zeros of the full chunk, so
           that our link is not placed before its NULL. Each pairs with the other, and with the additions. INGRESS.md
           says why a reused `full` is harmless. */
        vg_chunk *full = vg_ingress_chunk(word);
        if (atomic_compare_exchange_strong_explicit(&queue->word, &word, word_for(mine, 1), memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            *place = (vg_ingress_place){mine, 0};
            (void)atomic_fetch_add_explicit(&queue->installed, 1, memory_order_relaxed);
            /* release: the zeros, for the owner that follows the link; pairs with the acquire in
               vg_ingress_next_chunk */
            atomic_store_explicit(&full->next, mine, memory_order_release);
            mine = NULL;
            break;
        }
    }
    if (mine != NULL)
        vg_chunk_give(&queue->pool, &mine->head);
    return rc;
}

/* One more waits, unless the bound is reached. */
static bool count_in(vg_ingress *queue, uint64_t bound)
{
    uint64_t waiting = atomic_load_explicit(&queue->waiting, memory_order_relaxed);
    do {
        if (waiting >= bound)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&queue->waiting, &waiting, waiting + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

int vg_ingress_push_bounded(vg_ingress *queue, uint64_t bound, vg_call_fn run, vg_call_fn cancel, void *arg,
                            vigil_post **known, vg_ingress_slot **place)
{
    if (!count_in(queue, bound))
        return -EAGAIN;
    int rc = vg_ingress_put(queue, run, cancel, arg, known, place);
    if (rc != 0)
        (void)atomic_fetch_sub_explicit(&queue->waiting, 1, memory_order_relaxed);
    return rc;
}

int vg_ingress_push_unbounded(vg_ingress *queue, vg_call_fn run, vg_call_fn cancel, void *arg, vg_ingress_slot **place)
{
    if (atomic_load_explicit(&queue->door, memory_order_relaxed))
        return -ESHUTDOWN;
    if (atomic_load_explicit(&queue->bound, memory_order_relaxed) != 0)
        return vg_ingress_push_bounded(queue, UINT64_MAX, run, cancel, arg, NULL, place);
    return vg_ingress_put(queue, run, cancel, arg, NULL, place);
}

/* ---- the owner -------------------------------------------------------------------------------------------------- */

bool vg_ingress_next_chunk(vg_ingress *queue)
{
    vg_chunk *used = queue->head;
    /* acquire: the next chunk's zeros; pairs with the release in vg_ingress_place_slowly */
    vg_chunk *next = atomic_load_explicit(&used->next, memory_order_acquire);
    if (next == NULL)
        return false;
    queue->head = next;
    queue->at = 0;
    chunk_retire(queue, used);
    return true;
}

bool vg_ingress_withdraw(vg_ingress *queue, uintptr_t place, const void *arg, void *instead)
{
    uint32_t from = queue->at;
    for (vg_chunk *chunk = queue->head; chunk != NULL; from = 0) {
        const uintptr_t first = (uintptr_t)&chunk->slots[from];
        const uintptr_t end = (uintptr_t)&chunk->slots[VG_CHUNK_SLOTS];
        if (place >= first && place < end) {
            vg_ingress_slot *slot = &chunk->slots[(place - (uintptr_t)chunk->slots) / sizeof *slot];
            /* acquire: arg; pairs with the release in vg_ingress_put */
            if (atomic_load_explicit(&slot->run, memory_order_acquire) == 0 || slot->arg != arg)
                return false;
            slot->arg = instead;
            return true;
        }
        /* acquire: the next chunk's zeros; pairs with the release in vg_ingress_place_slowly */
        chunk = atomic_load_explicit(&chunk->next, memory_order_acquire);
    }
    return false;
}

bool vg_ingress_ready(const vg_ingress *queue)
{
    const vg_chunk *chunk = queue->head;
    uint32_t at = queue->at;
    if (at == VG_CHUNK_SLOTS) {
        /* acquire: the next chunk's zeros; pairs with the release in vg_ingress_place_slowly */
        chunk = atomic_load_explicit(&chunk->next, memory_order_acquire);
        at = 0;
    }
    /* acquire: the word that gave this place out, so that vg_ingress_end lies behind it; else the turn could spin on an
       old word. Pairs with the release in vg_ingress_put */
    return chunk != NULL && atomic_load_explicit(&chunk->slots[at].run, memory_order_acquire) != 0;
}

bool vg_ingress_idle(vg_ingress *queue)
{
    /* Adds nothing, but orders us with every producer; pairs with the acquires of the additions and of the
       compare-exchange that give places out. Relaxed is enough: INGRESS.md. */
    uint64_t word = atomic_fetch_add_explicit(&queue->word, 0, memory_order_relaxed);
    vg_ingress_mark end = {.chunk = vg_ingress_chunk(word), .at = (uint32_t)given_out(word)};
    return vg_ingress_at_end(queue, end);
}

/* The word, or its value when it was closed (I3); 0 while a closer has yet to store that. */
static uint64_t effective_word(const vg_ingress *queue)
{
    uint64_t word = atomic_load_explicit(&queue->word, memory_order_relaxed);
    return (word & VG_INGRESS_CLOSED) == 0 ? word : atomic_load_explicit(&queue->last_word, memory_order_relaxed);
}

vg_ingress_mark vg_ingress_end(const vg_ingress *queue)
{
    uint64_t word =
        effective_word(queue); /* 0 gives a mark that is never reached: published posts may still be taken */
    vg_ingress_mark end = {.chunk = vg_ingress_chunk(word), .at = (uint32_t)given_out(word)};
    return end;
}

uint64_t vg_ingress_accepted(const vg_ingress *queue)
{
    uint64_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
    uint64_t installed;
    uint64_t word;
    int tries = 8;
    do {
        /* relaxed: statistics; may lag while posts arrive, exact when none do */
        installed = atomic_load_explicit(&queue->installed, memory_order_relaxed);
        word = effective_word(queue);
    } while (installed != atomic_load_explicit(&queue->installed, memory_order_relaxed) && --tries > 0);
    uint64_t accepted = installed * VG_CHUNK_SLOTS + given_out(word);
    return accepted > taken ? accepted : taken;
}

static void say_closed(vg_ingress *queue, uint64_t word)
{
    atomic_store_explicit(&queue->last_word, word, memory_order_relaxed);
    atomic_store_explicit(&queue->door, true, memory_order_relaxed);
}

void vg_ingress_close(vg_ingress *queue)
{
    uint64_t word = atomic_load_explicit(&queue->word, memory_order_relaxed);
    do {
        if ((word & VG_INGRESS_CLOSED) != 0)
            return;
    } while (!atomic_compare_exchange_weak_explicit(&queue->word, &word, word | VG_INGRESS_CLOSED, memory_order_relaxed,
                                                    memory_order_relaxed)); /* I3: this is the instant */
    say_closed(queue, word);
}

bool vg_ingress_close_if_drained(vg_ingress *queue)
{
    uint64_t word = atomic_load_explicit(&queue->word, memory_order_relaxed);
    do {
        vg_ingress_mark end = {.chunk = vg_ingress_chunk(word), .at = (uint32_t)given_out(word)};
        if ((word & VG_INGRESS_CLOSED) != 0)
            return true;
        if (!vg_ingress_at_end(queue, end))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&queue->word, &word, word | VG_INGRESS_CLOSED, memory_order_relaxed,
                                                    memory_order_relaxed)); /* I3 */
    say_closed(queue, word);
    return true;
}

bool vg_ingress_drained(const vg_ingress *queue)
{
    return vg_ingress_at_end(queue, vg_ingress_end(queue));
}

void vg_ingress_quiesce(vg_ingress *queue)
{
    for (uint32_t i = 0; i < queue->at; i++) {
        while (!slot_is_left(&queue->head->slots[i]))
            vg_thread_yield();
    }
    for (vg_chunk *each = queue->limbo; each != NULL; each = atomic_load_explicit(&each->next, memory_order_relaxed)) {
        while (!chunk_is_left(each))
            vg_thread_yield();
    }
}

static void run_nothing(void *arg)
{
    (void)arg;
}

void vg_ingress_after_fork(vg_ingress *queue)
{
    vg_mutex_init(&queue->pool.lock); /* its holder may be a thread that is not here */
    /* We are alone: every access may be relaxed. */
    uint64_t word = effective_word(queue);
    if (word == 0) { /* the closer is not here; believing the count loses nothing */
        word = atomic_load_explicit(&queue->word, memory_order_relaxed);
        say_closed(queue, word);
    }
    vg_chunk *newest = vg_ingress_chunk(word);
    uint32_t from = queue->at;
    for (vg_chunk *each = queue->head;; from = 0) {
        uint32_t to = each == newest ? (uint32_t)given_out(word) : VG_CHUNK_SLOTS;
        for (uint32_t i = 0; i < to; i++) {
            uint64_t run = atomic_load_explicit(&each->slots[i].run, memory_order_relaxed);
            if (i >= from && run == 0) {
                each->cancels[i] = NULL;
                run = (uint64_t)(uintptr_t)run_nothing;
            }
            atomic_store_explicit(&each->slots[i].run, run | VG_INGRESS_LEFT, memory_order_relaxed);
        }
        if (each == newest)
            break;
        vg_chunk *next = atomic_load_explicit(&each->next, memory_order_relaxed);
        if (next == NULL) {
            /* The producer of its successor had swung the word and not linked yet. That successor is the newest, unless
               the fork hit two producers a whole chunk apart: then what lies between is lost. */
            next = newest;
            atomic_store_explicit(&each->next, next, memory_order_relaxed);
        }
        each = next;
    }
    for (vg_chunk *each = queue->limbo; each != NULL; each = atomic_load_explicit(&each->next, memory_order_relaxed)) {
        for (int i = 0; i < VG_CHUNK_SLOTS; i++)
            atomic_store_explicit(&each->slots[i].run, VG_INGRESS_LEFT,
                                  memory_order_relaxed); /* nothing is taken from it */
    }
}

int vg_ingress_init(vg_ingress *queue, uint64_t bound)
{
    memset(queue, 0, sizeof *queue);
    vg_chunk_pool_init(&queue->pool);
    vg_chunk *first = chunk_new(queue);
    if (first == NULL)
        return -ENOMEM;
    queue->head = first;
    atomic_init(&queue->word, word_for(first, 0));
    atomic_init(&queue->bound, bound);
    return 0;
}

static void give_back_list(vg_ingress *queue, vg_chunk *list)
{
    while (list != NULL) {
        vg_chunk *next = atomic_load_explicit(&list->next, memory_order_relaxed);
        vg_chunk_give(&queue->pool, &list->head);
        list = next;
    }
}

void vg_ingress_destroy(vg_ingress *queue)
{
    give_back_list(queue, queue->head);
    give_back_list(queue, queue->limbo);
    vg_chunk_pool_destroy(&queue->pool);
}
