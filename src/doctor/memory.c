/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "memory.h"
#include "core.h"

#include <sys/uio.h>

enum {
    MEMORY_PAGE = 4096,
    MEMORY_PIECES = 64
};

size_t vg_memory_read_some(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes)
{
    if (exam->core != NULL)
        return vg_core_read(exam->core, address, to, bytes);
    size_t done = 0;
    while (done < bytes) {
        /* Page by page: the copy ends where the mapping does. */
        struct iovec from[MEMORY_PIECES];
        size_t asked = 0, pieces = 0;
        while (pieces < MEMORY_PIECES && done + asked < bytes) {
            const uint64_t at = address + done + asked;
            size_t piece = MEMORY_PAGE - (size_t)(at % MEMORY_PAGE);
            if (piece > bytes - done - asked)
                piece = bytes - done - asked;
            from[pieces++] = (struct iovec){(void *)(uintptr_t)at, piece}; // NOLINT(performance-no-int-to-ptr)
            asked += piece;
        }
        struct iovec into = {(char *)to + done, asked};
        const ssize_t got = process_vm_readv(exam->processes[process].pid, &into, 1, from, pieces, 0);
        if (got <= 0)
            break;
        done += (size_t)got;
        if ((size_t)got < asked)
            break;
    }
    return done;
}

bool vg_memory_read(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes)
{
    return address != 0 && vg_memory_read_some(exam, process, address, to, bytes) == bytes;
}
