/* SPDX-License-Identifier: MIT */
/*
 * value.h - copying a value.
 */
#ifndef VG_PROMISE_VALUE_H
#define VG_PROMISE_VALUE_H

#include <vigil/promise.h>

#include <string.h>

/* A value is often read just after it was written word by word. A 16-byte read would wait for the store buffer, some
   5 ns. (src/CMakeLists.txt keeps the compiler from merging the words.) */
static inline void vg_value_copy(vigil_value *to, const vigil_value *from)
{
    uint64_t head;
    memcpy(&head, from, sizeof head); /* kind and status */
    int64_t body = from->integer;
    void (*destroy)(void *pointer) = from->destroy;
    memcpy(to, &head, sizeof head);
    to->integer = body;
    to->destroy = destroy;
}

#endif
