/* SPDX-License-Identifier: MIT */
#include "present.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARG_START = 48 /* the field of /proc/PID/stat that says where the command line is; the next one, where it ends */
};

static int open_of(pid_t pid, const char *file)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int vg_present_open(pid_t pid)
{
    return open_of(pid, "pagemap");
}

size_t vg_present_bytes(int pagemap, uint64_t bits, uint64_t address, size_t bytes)
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

bool vg_present(pid_t pid, uint64_t address, size_t bytes)
{
    const int pagemap = vg_present_open(pid);
    if (pagemap < 0)
        return true;
    const size_t there = vg_present_bytes(pagemap, VG_PRESENT_IN_MEMORY | VG_PRESENT_SWAPPED, address, bytes);
    (void)close(pagemap);
    return there == bytes;
}

bool vg_present_command(pid_t pid, size_t bytes)
{
    char text[2048];
    const int fd = open_of(pid, "stat");
    const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (got <= 0)
        return true;
    text[got] = '\0';
    const char *at = strrchr(text, ')'); /* the end of field 2, which may hold anything */
    for (int field = 2; at != NULL && field < ARG_START; field++)
        at = (at = strchr(at, ' ')) != NULL ? at + 1 : NULL;
    char *rest = NULL;
    const uint64_t start = at != NULL ? strtoull(at, &rest, 10) : 0; /* 0: it is not told */
    const uint64_t end = start != 0 ? strtoull(rest, NULL, 10) : 0;
    return start == 0 || vg_present(pid, start, end > start && end - start < bytes ? (size_t)(end - start) : bytes);
}
