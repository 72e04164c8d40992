/* SPDX-License-Identifier: MIT */
/*
 * cell.h - words of the file that may change at any time.
 */
#ifndef VG_RECORD_CELL_H
#define VG_RECORD_CELL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t vg_cell;

/* A cell with one writer. relaxed: each stands for itself. */
static inline void vg_cell_set(vg_cell *cell, uint64_t value)
{
    atomic_store_explicit(cell, value, memory_order_relaxed);
}

static inline void vg_cell_add(vg_cell *cell, uint64_t more)
{
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + more, memory_order_relaxed);
}

/*
 * Words that belong together, behind a count that is odd during a change. One writer at a time. A reader copies count,
 * words, count: equal and even, they are of one change.
 */
static inline void vg_change_begin(vg_cell *writes)
{
    vg_cell_add(writes, 1);
    /* release: a reader of any word below sees at least the odd count; pairs with the reader's second fence */
    atomic_thread_fence(memory_order_release);
}

static inline void vg_change_end(vg_cell *writes)
{
    /* release: the words before the even count; pairs with the reader's first fence */
    atomic_store_explicit(writes, atomic_load_explicit(writes, memory_order_relaxed) + 1, memory_order_release);
}

typedef uint64_t __attribute__((may_alias)) vg_any_word;

/* Copy whole words; zeros if from is NULL. relaxed: as vg_event_word. */
static inline void vg_words_put(void *to, const void *from, size_t bytes)
{
    vg_any_word *words = to;
    const vg_any_word *source = from;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        __atomic_store_n(&words[i], source != NULL ? source[i] : 0, __ATOMIC_RELAXED);
}

/* Replace an entry, which begins with its count, by `from`. */
static inline void vg_entry_put(void *entry, const void *from, size_t bytes)
{
    vg_change_begin(entry);
    vg_words_put((char *)entry + sizeof(vg_cell), (const char *)from + sizeof(vg_cell), bytes - sizeof(vg_cell));
    vg_change_end(entry);
}

#endif
