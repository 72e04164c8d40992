/* SPDX-License-Identifier: MIT */
#include "heap.h"

#include <errno.h>

enum {
    VG_HEAP_LEAST = 64 /* entries, the three before the root included */
};

void vg_heap_init(vg_heap *heap)
{
    *heap = (vg_heap){.end = VG_HEAP_ROOT, .room = VG_HEAP_ROOT};
}

void vg_heap_destroy(vg_heap *heap)
{
    vg_room_free(&heap->memory);
    vg_heap_init(heap);
}

static int heap_resize(vg_heap *heap, size_t entries)
{
    if (entries > PTRDIFF_MAX / sizeof(vg_heap_entry) - VG_HEAP_LEAST)
        return -ENOMEM;
    const size_t room = entries + VG_HEAP_ROOT < VG_HEAP_LEAST ? VG_HEAP_LEAST : entries + VG_HEAP_ROOT;
    const size_t used = heap->memory.at == NULL ? 0 : heap->end * sizeof *heap->at;
    const int rc = vg_room_resize(&heap->memory, room * sizeof *heap->at, used);
    if (rc != 0)
        return rc;
    heap->at = heap->memory.at;
    heap->room = heap->memory.bytes / sizeof *heap->at;
    return 0;
}

int vg_heap_reserve(vg_heap *heap, size_t entries)
{
    return entries <= heap->room - VG_HEAP_ROOT ? 0 : heap_resize(heap, entries);
}

void vg_heap_give_back(vg_heap *heap)
{
    if (heap->memory.bytes >= VG_HUGE_PAGE && vg_heap_size(heap) < heap->room / 8)
        (void)heap_resize(heap, 2 * vg_heap_size(heap)); /* without memory it stays as it is */
}

/* The least of `count` (at least 1) entries. Compiles to conditional moves: the branch would be unpredictable. */
static inline size_t least_child(const vg_heap_entry *at, size_t first, size_t count)
{
    size_t least = first;
    for (size_t i = first + 1; i < first + count; i++)
        least = vg_heap_before(at[i], at[least]) ? i : least;
    return least;
}

void vg_heap_sift_down(vg_heap *heap, size_t hole, vg_heap_entry entry)
{
    vg_heap_entry *at = heap->at;
    size_t end = heap->end;
    for (;;) {
        size_t first = VG_HEAP_CHILDREN * (hole - 2);
        if (first >= end)
            break;
        size_t least = least_child(at, first, end - first < VG_HEAP_CHILDREN ? end - first : VG_HEAP_CHILDREN);
        if (!vg_heap_before(at[least], entry))
            break;
        at[hole] = at[least];
        hole = least;
    }
    at[hole] = entry;
}

vg_heap_entry vg_heap_pop(vg_heap *heap)
{
    vg_heap_entry *at = heap->at;
    vg_heap_entry top = at[VG_HEAP_ROOT];
    vg_heap_entry last = at[--heap->end];
    size_t end = heap->end;
    if (end == VG_HEAP_ROOT)
        return top;
    /* The last entry nearly always belongs to the bottom. So the hole goes down without comparing with it, and the
       entry goes up from there. */
    size_t hole = VG_HEAP_ROOT;
    for (;;) {
        size_t first = VG_HEAP_CHILDREN * (hole - 2);
        size_t least;
        if (first + VG_HEAP_CHILDREN <= end)
            least = least_child(at, first, VG_HEAP_CHILDREN);
        else if (first < end)
            least = least_child(at, first, end - first);
        else
            break;
        at[hole] = at[least];
        hole = least;
    }
    vg_heap_sift_up(heap, hole, last);
    return top;
}

size_t vg_heap_filter(vg_heap *heap, bool (*dead)(const vg_heap_entry *entry, void *arg), void *arg)
{
    size_t before = heap->end;
    size_t kept = VG_HEAP_ROOT;
    for (size_t i = VG_HEAP_ROOT; i < before; i++) {
        if (!dead(&heap->at[i], arg))
            heap->at[kept++] = heap->at[i];
    }
    heap->end = kept;
    if (kept == before)
        return 0;
    /* From the last parent up to the root: O(n). */
    if (kept > VG_HEAP_ROOT + 1) {
        for (size_t i = (kept - 1) / VG_HEAP_CHILDREN + 2; i >= VG_HEAP_ROOT; i--)
            vg_heap_sift_down(heap, i, heap->at[i]);
    }
    return before - kept;
}
