/* SPDX-License-Identifier: MIT */
/*
 * container.h - from a member to the struct that contains it.
 */
#ifndef VG_BASE_CONTAINER_H
#define VG_BASE_CONTAINER_H

#include <stddef.h>

/* The `type` whose `member` is at `pointer`. A pointer of another type than the member's does not compile cleanly: the
   conditional compares the two types and is folded away. */
#define vg_container_of(pointer, type, member) \
    ((type *)(void *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

#endif
