/* SPDX-License-Identifier: MIT */
/*
 * container.h - from a member to the struct that contains it.
 */
#ifndef VG_BASE_CONTAINER_H
#define VG_BASE_CONTAINER_H

#include <stddef.h>

/* The `type` whose `member` is at `pointer`. The conditional compares the types, so a wrong pointer does not
   compile. */
#define vg_container_of(pointer, type, member) \
    ((type *)(void *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

#endif
