/* SPDX-License-Identifier: MIT */
/*
 * A page of the patient may never arrive: it belongs to a userfaultfd that nobody serves, or to a file on a disk or
 * server that does not answer. A reader then waits in the kernel, and only SIGKILL ends that. So a page is read
 * directly if the kernel says that it is in memory (pagemap); all others are read by a child, for a limited time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "memory.h"
#include "child.h"
#include "core.h"
#include "base/present.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MEMORY_PAGE = 4096,
    MEMORY_PIECES = 64,
    MEMORY_MOST_MS = 5000 /* for a page to arrive: from a slow disk, on a full machine */
};

static size_t read_directly(pid_t pid, uint64_t address, void *to, size_t bytes)
{
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
        const ssize_t got = process_vm_readv(pid, &into, 1, from, pieces, 0);
        if (got <= 0)
            break;
        done += (size_t)got;
        if ((size_t)got < asked)
            break;
    }
    return done;
}

typedef struct absent_read {
    pid_t pid;
    uint64_t address;
    size_t bytes, done;
    char data[];
} absent_read;

static void read_absent_in_child(void *arg)
{
    absent_read *read = arg;
    read->done = read_directly(read->pid, read->address, read->data, read->bytes);
}

static size_t read_absent(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes)
{
    if (exam->absent[process]) /* one wait for each process is enough */
        return 0;
    const size_t room = sizeof(absent_read) + bytes;
    absent_read *read = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (read == MAP_FAILED)
        return 0;
    read->pid = exam->processes[process].pid;
    read->address = address;
    read->bytes = bytes;
    vg_child child;
    const vg_child_end end = vg_child_start(&child, read_absent_in_child, read)
                                 ? vg_child_await(&child, (uint64_t)MEMORY_MOST_MS * 1000000)
                                 : VG_CHILD_FAILED;
    size_t done = 0;
    if (end == VG_CHILD_DONE && read->done <= bytes) {
        done = read->done;
        memcpy(to, read->data, done);
    }
    exam->absent[process] = end == VG_CHILD_LATE || end == VG_CHILD_LOST;
    if (end != VG_CHILD_LOST) /* else the child may still write */
        (void)munmap(read, room);
    return done;
}

size_t vg_memory_read_some(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes)
{
    const vg_exam_process *p = &exam->processes[process];
    if (exam->core != NULL)
        return vg_core_read(exam->core, address, to, bytes);
    if (p->pagemap == VG_MEMORY_DIRECT)
        return read_directly(p->pid, address, to, bytes);
    if (p->pagemap > 0)
        return read_directly(p->pid, address, to,
                             vg_present_bytes(p->pagemap, VG_PRESENT_IN_MEMORY | VG_PRESENT_SWAPPED, address, bytes));
    const int pagemap = vg_present_open(p->pid);
    const size_t there = pagemap < 0 ? bytes : vg_present_bytes(pagemap, VG_PRESENT_IN_MEMORY, address, bytes);
    if (pagemap >= 0)
        (void)close(pagemap);
    return there == bytes ? read_directly(p->pid, address, to, bytes) : read_absent(exam, process, address, to, bytes);
}

bool vg_memory_read(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes)
{
    return address != 0 && vg_memory_read_some(exam, process, address, to, bytes) == bytes;
}
