/* SPDX-License-Identifier: MIT */
/*
 * A page of the patient may never arrive: it belongs to a userfaultfd that nobody serves, or to a file on a disk or
 * server that does not answer. Whoever reads it then waits in the kernel, and only SIGKILL ends that. So a page is read
 * directly if the kernel says that it is in memory (pagemap); all others are read by a child, for a limited time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "memory.h"
#include "child.h"
#include "core.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MEMORY_PAGE = 4096,
    MEMORY_PIECES = 64,
    MEMORY_MOST_MS = 5000 /* for a page to arrive: from a slow disk, on a full machine */
};
#define MEMORY_PRESENT (UINT64_C(1) << 63)
#define MEMORY_SWAPPED (UINT64_C(1) << 62)

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

int vg_memory_pagemap(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* How many bytes from `address` on lie in pages with one of these bits. Everything, if the kernel does not say. */
static size_t bytes_there(int pagemap, uint64_t bits, uint64_t address, size_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t there = 0;
    while (there < bytes) {
        const uint64_t at = address + there;
        uint64_t entry = 0;
        if (pread(pagemap, &entry, sizeof entry, (off_t)(at / page * sizeof entry)) != (ssize_t)sizeof entry)
            return there == 0 ? bytes : there;
        if ((entry & bits) == 0)
            break;
        there += (size_t)(page - at % page);
    }
    return there < bytes ? there : bytes;
}

bool vg_memory_there(pid_t pid, uint64_t address, size_t bytes)
{
    const int pagemap = vg_memory_pagemap(pid);
    if (pagemap < 0)
        return true;
    const size_t there = bytes_there(pagemap, MEMORY_PRESENT | MEMORY_SWAPPED, address, bytes);
    (void)close(pagemap);
    return there == bytes;
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
                             bytes_there(p->pagemap, MEMORY_PRESENT | MEMORY_SWAPPED, address, bytes));
    const int pagemap = vg_memory_pagemap(p->pid);
    const size_t there = pagemap < 0 ? bytes : bytes_there(pagemap, MEMORY_PRESENT, address, bytes);
    if (pagemap >= 0)
        (void)close(pagemap);
    return there == bytes ? read_directly(p->pid, address, to, bytes) : read_absent(exam, process, address, to, bytes);
}

bool vg_memory_read(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes)
{
    return address != 0 && vg_memory_read_some(exam, process, address, to, bytes) == bytes;
}
