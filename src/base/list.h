/* SPDX-License-Identifier: MIT */
/*
 * list.h - an intrusive doubly linked list; every operation is O(1).
 *
 * The list is a ring through its head. An element contains a vg_list_link; vg_list_entry leads from the link to the
 * element. A link that may be removed twice, or not be in a list, is initialised and removed with vg_list_remove_init.
 * Single owner, or the caller's lock. A list with elements must not be moved.
 */
#ifndef VG_BASE_LIST_H
#define VG_BASE_LIST_H

#include "base/container.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct vg_list_link {
    struct vg_list_link *next;
    struct vg_list_link *previous;
} vg_list_link;

typedef struct vg_list {
    vg_list_link head; /* next: the first element; previous: the last */
} vg_list;

#define VG_LIST_INIT(list)             \
    {                                  \
        {                              \
            &(list).head, &(list).head \
        }                              \
    }

/* The element of `type` whose `member` is the link at `pointer`. */
#define vg_list_entry(pointer, type, member) vg_container_of(pointer, type, member)

// NOLINTBEGIN(bugprone-macro-parentheses): names of variables
/* Visits each link. The body removes none. */
#define vg_list_each(link, list) for (vg_list_link *link = (list)->head.next; link != &(list)->head; link = link->next)

/* The same; the body may remove `link`. */
#define vg_list_each_safe(link, after, list)                                                 \
    for (vg_list_link *link = (list)->head.next, *after = link->next; link != &(list)->head; \
         link = after, after = link->next)
// NOLINTEND(bugprone-macro-parentheses)

static inline void vg_list_init(vg_list *list)
{
    list->head.next = &list->head;
    list->head.previous = &list->head;
}

static inline bool vg_list_empty(const vg_list *list)
{
    return list->head.next == &list->head;
}

static inline void vg_list_link_init(vg_list_link *link)
{
    link->next = link;
    link->previous = link;
}

/* In a list? Only for links that were initialised and removed with vg_list_remove_init. */
static inline bool vg_list_linked(const vg_list_link *link)
{
    return link->next != link;
}

static inline void vg_list_insert_after(vg_list_link *place, vg_list_link *link)
{
    link->next = place->next;
    link->previous = place;
    place->next->previous = link;
    place->next = link;
}

static inline void vg_list_push_front(vg_list *list, vg_list_link *link)
{
    vg_list_insert_after(&list->head, link);
}

static inline void vg_list_push_back(vg_list *list, vg_list_link *link)
{
    vg_list_link *last = list->head.previous; /* vg_list_insert_after would read head.previous->next, a cold line */
    link->next = &list->head;
    link->previous = last;
    last->next = link;
    list->head.previous = link;
}

/* The link keeps its pointers. */
static inline void vg_list_remove(vg_list_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

static inline void vg_list_remove_init(vg_list_link *link)
{
    vg_list_remove(link);
    vg_list_link_init(link);
}

/* NULL: the list is empty. */
static inline vg_list_link *vg_list_first(const vg_list *list)
{
    return vg_list_empty(list) ? NULL : list->head.next;
}

static inline vg_list_link *vg_list_last(const vg_list *list)
{
    return vg_list_empty(list) ? NULL : list->head.previous;
}

/* The link after `link`; NULL: none. */
static inline vg_list_link *vg_list_next(const vg_list *list, const vg_list_link *link)
{
    return link->next == &list->head ? NULL : link->next;
}

/* Remove and return the first; NULL: empty. */
static inline vg_list_link *vg_list_pop_front(vg_list *list)
{
    vg_list_link *link = vg_list_first(list);
    if (link != NULL)
        vg_list_remove_init(link);
    return link;
}

/* Append all of `from`, which is empty afterwards. */
static inline void vg_list_splice_back(vg_list *list, vg_list *from)
{
    if (vg_list_empty(from))
        return;
    from->head.next->previous = list->head.previous;
    list->head.previous->next = from->head.next;
    from->head.previous->next = &list->head;
    list->head.previous = from->head.previous;
    vg_list_init(from);
}

#endif
