/* SPDX-License-Identifier: MIT */
/*
 * record.h - how the rooms above write to the recorder.
 *
 * There is one recorder in a process. It comes with the first pool or loop and goes with the last. Each of these takes blocks from
 * it (vg_block_get): memory that lies in the recorder's file (format.h), or, when the recorder is off or the file has no
 * room, in anonymous memory, so that whoever counts never has to ask. Threads take a ring for their events from it.
 *
 * The price: an event is four stores and one more for the head, into memory of its own thread; the clock is read by the
 * caller, who often has the time already. A value for a histogram is three additions.
 *
 * Forks: the child's mappings are replaced by anonymous memory before it runs (record.c), so it can never write into its
 * parent's file. What it makes anew goes to a recorder of its own. `epoch` tells the two apart.
 */
#ifndef VG_RECORD_RECORD_H
#define VG_RECORD_RECORD_H

#include "base/clock.h"
#include "format.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

typedef struct vg_record_block {
    void *memory; /* zeroed when it is got; NULL: none */
    size_t bytes;
    uint64_t serial; /* names the object in the file; also when it lies outside the file */
    uint32_t epoch;
    uint32_t place; /* in the directory; VG_FILE_BLOCKS: it lies outside the file */
} vg_record_block;

/* A pool, loop or other object begins and ends to use the recorder. hold gives the level that is in force
   (vigil_watch_level); it makes the recorder if there is none, and never fails. release takes what hold returned in *epoch. */
unsigned vg_record_hold(uint32_t *epoch);
void vg_record_release(uint32_t epoch);

/* Memory for `bytes` of the given kind, zeroed, aligned to a page. The caller holds the recorder. 0; -ENOMEM. */
int vg_block_get(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner, uint64_t entries);
/* Show it to readers: what is not a cell has been filled in. */
void vg_block_show(const vg_record_block *block);
/* Give it back. A block without memory is allowed. In the child of a fork: just the memory. */
void vg_block_put(vg_record_block *block);

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* What a thread knows of its ring. */
typedef struct vg_own_ring {
    vg_event *events; /* NULL: it has none */
    uint64_t mask;
    uint64_t head;
    vg_file_thread *thread; /* NULL as events */
    uint64_t serial;
    uint32_t epoch; /* 0: it has not asked for one */
    uint32_t place;
} vg_own_ring;

extern _Thread_local vg_own_ring vg_my_ring;
extern _Atomic uint32_t vg_record_epoch; /* of the recorder that there is; changes when it comes and goes. Never 0 */

/* Take a ring for the calling thread, which has none of this epoch, or count that there is none to be had. */
void vg_ring_attach(vg_thread_role role, uint64_t owner, uint64_t index);
/* Give it back; the thread ends, or changes its role. Its events stay readable until another thread needs the place. */
void vg_ring_detach(void);
void vg_event_drop(void);

/* A word of an event. relaxed: a reader may copy it just now, and throws away what it may have got by halves. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes it */
static inline void vg_event_word(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Write an event. The caller is inside a call on an object that holds the recorder, whose level is EVENTS. */
static inline void vg_event_put(uint64_t ticks, uint64_t what, uint64_t a, uint64_t b)
{
    vg_own_ring *ring = &vg_my_ring;
    /* relaxed: the epoch changes only while nobody is inside such a call */
    if (__builtin_expect(ring->epoch != atomic_load_explicit(&vg_record_epoch, memory_order_relaxed), 0))
        vg_ring_attach(VG_ROLE_OTHER, 0, 0);
    if (__builtin_expect(ring->events == NULL, 0)) {
        vg_event_drop();
        return;
    }
    vg_event *event = &ring->events[ring->head & ring->mask];
    /* release: a reader that has copied any of the words below sees at least the head that was there before them, and knows by it
       that the event a whole ring older is gone; pairs with the second fence in reader_events.c. On x86-64 it costs nothing. */
    atomic_thread_fence(memory_order_release);
    vg_event_word(&event->ticks, ticks);
    vg_event_word(&event->what, what);
    vg_event_word(&event->a, a);
    vg_event_word(&event->b, b);
    /* release: a reader that sees the new head sees the event; pairs with the first fence in reader_events.c */
    atomic_store_explicit(&ring->thread->head, ++ring->head, memory_order_release);
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* A cell with one writer. relaxed: each says something by itself. */
static inline void vg_cell_set(vg_cell *cell, uint64_t value)
{
    atomic_store_explicit(cell, value, memory_order_relaxed);
}

static inline void vg_cell_add(vg_cell *cell, uint64_t more)
{
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + more, memory_order_relaxed);
}

/* ---- what changes together --------------------------------------------------------------------------------------- */

/*
 * Words that say something only together, with a count before them that is odd while they change. One writer at a time. The reader
 * copies the count, the words, and the count again (reader_entries.c, vg_raw_wait): even and the same, they are of one change.
 */
static inline void vg_change_begin(vg_cell *writes)
{
    vg_cell_add(writes, 1);
    /* release: a reader that has copied any of the words below sees at least the odd count; pairs with the reader's second fence */
    atomic_thread_fence(memory_order_release);
}

static inline void vg_change_end(vg_cell *writes)
{
    /* release: a reader that sees the even count sees the words; pairs with the reader's first fence */
    atomic_store_explicit(writes, atomic_load_explicit(writes, memory_order_relaxed) + 1, memory_order_release);
}

typedef uint64_t __attribute__((may_alias)) vg_any_word;

/* Put `bytes`, which are whole words, in the place of others; all zero if from is NULL. relaxed: as vg_event_word. */
static inline void vg_words_put(void *to, const void *from, size_t bytes)
{
    vg_any_word *words = to;
    const vg_any_word *source = from;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        __atomic_store_n(&words[i], source != NULL ? source[i] : 0, __ATOMIC_RELAXED);
}

/* An entry of a section, which begins with its count, becomes what `from` is but for that. */
static inline void vg_entry_put(void *entry, const void *from, size_t bytes)
{
    vg_change_begin(entry);
    vg_words_put((char *)entry + sizeof(vg_cell), (const char *)from + sizeof(vg_cell), bytes - sizeof(vg_cell));
    vg_change_end(entry);
}

/* The owner's state has changed. */
static inline void vg_history_put(vg_file_change *history, vg_cell *changes, uint64_t state, uint64_t now)
{
    const uint64_t n = atomic_load_explicit(changes, memory_order_relaxed);
    vg_file_change *change = &history[n % VG_FILE_HISTORY];
    /* release: a reader that has copied any of the two words below sees at least n, and knows by it that what lay here is gone; pairs
       with its second fence (reader_snapshot.c, pool/stats.c) */
    atomic_thread_fence(memory_order_release);
    vg_cell_set(&change->since, now);
    vg_cell_set(&change->state, state);
    /* release: a reader that sees the count sees the change; pairs with its first fence */
    atomic_store_explicit(changes, n + 1, memory_order_release);
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

/* Only the calling thread adds to this histogram. */
static inline void vg_hist_put(vg_file_hist *hist, uint64_t ticks, uint64_t times)
{
    vg_cell_add(&hist->buckets[vg_hist_bucket(ticks)], times);
    vg_cell_add(&hist->sum, ticks * times);
    if (ticks > atomic_load_explicit(&hist->longest, memory_order_relaxed))
        vg_cell_set(&hist->longest, ticks);
}

/* Others add to it at the same time. */
void vg_hist_put_shared(vg_file_hist *hist, uint64_t ticks, uint64_t times);

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* The calling thread waits, and has waited. The first four are what it waits with, the worker's or its ring's. */
static inline void vg_wait_begin(vg_file_wait *wait, vg_wait_kind kind, uint64_t on, uint64_t where, uint64_t now)
{
    vg_change_begin(&wait->writes);
    vg_cell_set(&wait->on, on);
    vg_cell_set(&wait->where, where);
    vg_cell_set(&wait->since, now);
    vg_cell_set(&wait->kind, kind);
    vg_change_end(&wait->writes);
}

/* relaxed, and no change of its own: with this or without, what a reader has copied was true a moment ago */
static inline void vg_wait_end(vg_file_wait *wait)
{
    vg_cell_set(&wait->kind, VG_WAIT_NONE);
}

/* ---- for the watchdog -------------------------------------------------------------------------------------------- */

/* The header of the recorder's file, or of the anonymous memory in its stead; NULL when the recorder is off. The caller holds
   the recorder. */
vg_file_header *vg_record_header(void);
vg_file_verdict *vg_record_verdicts(void); /* VG_FILE_VERDICTS of them */
vg_file_act *vg_record_acts(void);         /* VG_FILE_ACTS of them */
/* Write both clocks into the header, and look whether libraries have come. */
void vg_record_mark(void);
/* Say something to the user through the log hook, if there is one. */
void vg_record_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
