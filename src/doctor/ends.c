/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ends.h"
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENDS_MOST = 1 << 18
};
#define ENDS_EVENTFD (UINT64_C(1) << 63) /* eventfds share one inode: they have numbers of their own */
#define ENDS_KERNEL  (UINT64_C(1) << 62) /* not an end, but something through which the kernel writes to eventfds */

uint64_t vg_ends_key(pid_t pid, int fd, const char *link)
{
    if (strncmp(link, "pipe:[", 6) == 0 || strncmp(link, "socket:[", 8) == 0)
        return strtoull(strchr(link, '[') + 1, NULL, 10);
    if (strcmp(link, "anon_inode:[eventfd]") == 0) {
        char info[512];
        const uint64_t none = UINT64_MAX;
        const uint64_t id = vg_proc_read(info, sizeof info, "/proc/%d/fdinfo/%d", (int)pid, fd) > 0
                                ? vg_proc_field(info, "eventfd-id", 10, none)
                                : none;
        return id != none ? ENDS_EVENTFD | id : 0;
    }
    if (link[0] == '/') {
        char path[64];
        struct stat status;
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
            return status.st_ino;
    }
    return 0;
}

static bool is_of_kernel(const char *link)
{
    static const char *const names[] = {"anon_inode:[io_uring]", "anon_inode:kvm", "anon_inode:[vfio", "/dev/vhost"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(link, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void enter_end(vg_peers *peers, pid_t pid, int fd)
{
    char link[128], info[512];
    if (vg_proc_link(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd) <= 0)
        return;
    uint64_t key = 0;
    if (is_of_kernel(link))
        key = ENDS_KERNEL;
    else if (strncmp(link, "/dev/", 5) != 0)
        key = vg_ends_key(pid, fd, link);
    if (key == 0 || peers->count == ENDS_MOST)
        return;
    if (peers->count == peers->room) {
        const size_t room = peers->room == 0 ? 1024 : peers->room * 2;
        vg_end *more = realloc(peers->ends, room * sizeof *more);
        if (more == NULL)
            return;
        peers->ends = more;
        peers->room = room;
    }
    vg_end end = {.key = key, .pid = pid, .reads = true, .writes = true};
    const bool is_pipe = key < ENDS_KERNEL && link[0] != 's';
    if (is_pipe && vg_proc_read(info, sizeof info, "/proc/%d/fdinfo/%d", (int)pid, fd) > 0) {
        const uint64_t flags = vg_proc_field(info, "flags", 8, 0) & O_ACCMODE;
        end.reads = flags != O_WRONLY;
        end.writes = flags != O_RDONLY;
    }
    peers->ends[peers->count++] = end;
}

void vg_ends_gather(vg_peers *peers)
{
    if (peers->gathered)
        return;
    peers->gathered = true;
    pid_t *pids;
    const int count = vg_proc_numbers(&pids, "/proc");
    for (int i = 0; i < count; i++) {
        pid_t *fds;
        if (pids[i] == getpid())
            continue;
        const int many = vg_proc_numbers(&fds, "/proc/%d/fd", (int)pids[i]);
        if (many < 0) {
            peers->blind = peers->blind || many == -EACCES || many == -EPERM;
            continue;
        }
        for (int j = 0; j < many; j++)
            enter_end(peers, pids[i], fds[j]);
        free(fds);
    }
    free(pids);
}

static bool has_end(const vg_peers *peers, uint64_t key, pid_t pid)
{
    for (size_t i = 0; i < peers->count; i++)
        if (peers->ends[i].key == key && peers->ends[i].pid == pid)
            return true;
    return false;
}

bool vg_ends_kernel_writes(const vg_peers *peers, uint64_t key)
{
    for (size_t i = 0; i < peers->count; i++)
        if (peers->ends[i].key == key && has_end(peers, ENDS_KERNEL, peers->ends[i].pid))
            return true;
    return false;
}
