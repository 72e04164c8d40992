/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The beginning of a small file as text; 0 if there is nothing. */
static size_t read_small_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, room - 1);
    (void)close(fd);
    if (got <= 0)
        return 0;
    text[got] = 0;
    return (size_t)got;
}

static size_t read_of_thread(int thread, const char *file, char *text, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, file);
    return read_small_file(path, text, room);
}

void vg_thread_look_at(int thread, vg_thread_look *look)
{
    char text[512];
    memset(look, 0, sizeof *look);
    if (thread <= 0)
        return;
    if (read_of_thread(thread, "stat", text, sizeof text) != 0) {
        const char *end = strrchr(text, ')'); /* the name before it may hold anything */
        if (end != NULL && end[1] == ' ' && end[2] != 0) {
            look->known = true;
            look->state = end[2];
        }
    }
    if (read_of_thread(thread, "schedstat", text, sizeof text) != 0) {
        char *rest = NULL;
        look->run_ns = strtoull(text, &rest, 10);
        look->delay_ns = strtoull(rest, NULL, 10);
        look->timed = look->run_ns != 0;
    }
    if (look->state != 'R' && read_of_thread(thread, "wchan", text, sizeof text) != 0 && strcmp(text, "0") != 0)
        (void)snprintf(look->where, sizeof look->where, "%.31s", text);
}

bool vg_thread_gone(int thread, const vg_thread_look *look)
{
    if (look->known)
        return look->state == 'Z' || look->state == 'X';
    return thread > 0 && syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

static uint64_t posix_clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t vg_process_cpu_ns(void)
{
    return posix_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t vg_thread_cpu_ns(void)
{
    return posix_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool vg_thread_set_back(int thread)
{
    return sched_getscheduler(thread) == SCHED_IDLE || getpriority(PRIO_PROCESS, (id_t)thread) > 0;
}

unsigned vg_machine_runnable(void)
{
    char text[128];
    if (read_small_file("/proc/loadavg", text, sizeof text) == 0)
        return 0;
    const char *at = text; /* "0.20 0.18 0.12 3/80 11206" */
    for (int i = 0; i < 3 && at != NULL; i++)
        at = (at = strchr(at, ' ')) != NULL ? at + 1 : NULL;
    const unsigned long running = at != NULL ? strtoul(at, NULL, 10) : 0;
    return running > 1 ? (unsigned)running - 1 : 0;
}

const char *vg_cgroup_root = "/sys/fs/cgroup";

/* Of a cpu.stat: microseconds in version 2, nanoseconds in version 1. */
static bool read_throttled(const char *path, uint64_t *ns)
{
    char text[1024];
    if (read_small_file(path, text, sizeof text) == 0)
        return false;
    const char *at = strstr(text, "throttled_usec ");
    if (at != NULL) {
        *ns = strtoull(at + strlen("throttled_usec "), NULL, 10) * 1000;
        return true;
    }
    at = strstr(text, "throttled_time ");
    if (at != NULL)
        *ns = strtoull(at + strlen("throttled_time "), NULL, 10);
    return at != NULL;
}

bool vg_cgroup_throttled(uint64_t *ns)
{
    static const char *const controllers[] = {"", "/unified", "/cpu", "/cpu,cpuacct"};
    char groups[2048];
    if (read_small_file("/proc/self/cgroup", groups, sizeof groups) == 0)
        return false;
    char *rest = NULL;
    for (char *line = strtok_r(groups, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *group = strrchr(line, ':');
        if (group == NULL)
            continue;
        for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
            char path[512];
            (void)snprintf(path, sizeof path, "%.60s%s%.400s/cpu.stat", vg_cgroup_root, controllers[i], group + 1);
            if (read_throttled(path, ns))
                return true;
            /* Inside a container the path is the host's, and the root is the container's own. */
            (void)snprintf(path, sizeof path, "%.60s%s/cpu.stat", vg_cgroup_root, controllers[i]);
            if (read_throttled(path, ns))
                return true;
        }
    }
    return false;
}
