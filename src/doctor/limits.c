/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "limits.h"
#include "diagnoses.h"
#include "procfs.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FULL_PERCENT = 80,
    UNFAIR_PART = 30,   /* of what everybody would get */
    STARVED_PART = 100, /* a thread that could run and got less than one in so many of the time is starved */
    STARVED_NS = 350000000,
    SLICE_NS = 4000000, /* what each sharer of a processor gets before the next one */
    ROUNDS = 4
};

vg_starving vg_limits_starving(void)
{
    char text[128];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    vg_starving rule = {.part = STARVED_PART, .least_ns = STARVED_NS};
    if (processors <= 0 || vg_proc_read(text, sizeof text, "/proc/loadavg") <= 0)
        return rule;
    /* "1.20 0.90 0.40 3/512 4711": the load of the last minute, and how many threads can run now. */
    const double load = strtod(text, NULL);
    const char *slash = strchr(text, '/'), *runnable = slash;
    while (runnable != NULL && runnable > text && runnable[-1] != ' ')
        runnable--;
    const double now = runnable != NULL ? strtod(runnable, NULL) : 0;
    const uint64_t sharers = (uint64_t)((load > now ? load : now) / (double)processors) + 1;
    /* A fair share is for equals: one of nice 10 gets a tenth of it. */
    if (sharers * UNFAIR_PART > rule.part)
        rule.part = sharers * UNFAIR_PART;
    if (sharers * ROUNDS * SLICE_NS > rule.least_ns)
        rule.least_ns = sharers * ROUNDS * SLICE_NS;
    return rule;
}

/* The directory of a controller's cgroup. A path of the patient's namespace that is not below the mount gives none. */
static bool cgroup_path(pid_t pid, const char *controller, char *to, size_t room)
{
    char text[8192];
    if (vg_proc_read(text, sizeof text, "/proc/%d/cgroup", (int)pid) <= 0)
        return false;
    for (char *line = text, *next; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        char *names = strchr(line, ':');
        char *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL || strstr(path, "..") != NULL)
            continue;
        *path++ = '\0';
        names++;
        const bool unified = names[0] == '\0';
        if (unified && path[1] != '\0')
            (void)snprintf(to, room, "/sys/fs/cgroup%s", path);
        else if (!unified && strcmp(names, controller) == 0)
            (void)snprintf(to, room, "/sys/fs/cgroup/%s%s", controller, path);
        else if (!unified && strcmp(controller, "cpu") == 0 && strstr(names, "cpu,cpuacct") != NULL)
            (void)snprintf(to, room, "/sys/fs/cgroup/cpu,cpuacct%s", path);
        else
            continue;
        return true;
    }
    return false;
}

static uint64_t word_in(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return strtoull(line + length + 1, NULL, 10);
    return 0;
}

/* Does the process's own memory fill the limit? Files that were read are cached up to it and given back: no illness. */
static bool memory_is_full(pid_t pid)
{
    char path[512], text[4096], most[64];
    if (!cgroup_path(pid, "memory", path, sizeof path) ||
        vg_proc_read(text, sizeof text, "%s/memory.stat", path) <= 0 ||
        (vg_proc_read(most, sizeof most, "%s/memory.max", path) <= 0 &&
         vg_proc_read(most, sizeof most, "%s/memory.limit_in_bytes", path) <= 0))
        return false;
    const uint64_t limit = strtoull(most, NULL, 10), anonymous = word_in(text, "anon") + word_in(text, "total_rss");
    return limit > 0 && anonymous >= limit / 100 * FULL_PERCENT;
}

/* Frozen by its cgroup (docker pause, systemd): of version 1 that looks like state D. */
static void judge_frozen_group(vg_exam *exam)
{
    char path[512], text[1024];
    const pid_t pid = exam->processes[0].pid;
    const bool old = cgroup_path(pid, "freezer", path, sizeof path) &&
                     vg_proc_read(text, sizeof text, "%s/freezer.state", path) > 0 && strncmp(text, "FROZEN", 6) == 0;
    if (!old && !(cgroup_path(pid, "", path, sizeof path) &&
                  vg_proc_read(text, sizeof text, "%s/cgroup.events", path) > 0 && word_in(text, "frozen") == 1))
        return;
    unsigned kept = 0; /* what no thaw would mend; the rest was caught in the middle of something */
    for (unsigned i = 0; i < exam->finding_count; i++)
        if (exam->findings[i].kind <= VG_DIAGNOSIS_ORPHAN)
            exam->findings[kept++] = exam->findings[i];
    exam->finding_count = kept;
    vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_STOPPED, true);
    (void)snprintf(f->title, sizeof f->title, "Process %d is frozen by its cgroup, %.300s.", (int)pid, path);
    (void)snprintf(f->advice, sizeof f->advice, "Thaw it: docker unpause, systemctl thaw, or write %s.",
                   old ? "THAWED into freezer.state" : "0 into cgroup.freeze");
}

/* A thread that its cgroup holds back waits for a processor: that is not a second illness. */
static void drop_starved(vg_exam *exam)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < exam->finding_count; i++) {
        const vg_diagnosis *f = &exam->findings[i];
        if (f->kind != VG_DIAGNOSIS_STARVED || exam->threads[f->chain[f->count - 1]].process != 0)
            exam->findings[kept++] = exam->findings[i];
    }
    exam->finding_count = kept;
}

/* Children that have ended and were not waited for. */
static void find_ended(const vg_exam *exam, vg_limits *limits)
{
    const vg_exam_process *process = &exam->processes[0];
    pid_t *tids;
    const int count = vg_proc_numbers(&tids, "/proc/%d/task", (int)process->pid);
    for (int i = 0; i < count; i++) {
        char text[8192], status[64];
        char *end;
        if (vg_proc_read(text, sizeof text, "/proc/%d/task/%d/children", (int)process->pid, (int)tids[i]) <= 0)
            continue;
        for (const char *at = text; limits->ended_count < sizeof limits->ended / sizeof limits->ended[0]; at = end) {
            const long pid = strtol(at, &end, 10);
            if (end == at)
                break;
            const ssize_t got = vg_proc_read(status, sizeof status, "/proc/%ld/stat", pid);
            const char *name_end = got > 0 ? strrchr(status, ')') : NULL;
            if (name_end != NULL && strncmp(name_end, ") Z", 3) == 0)
                limits->ended[limits->ended_count++] = (pid_t)pid;
        }
    }
    free(tids);
}

static void judge_ended(vg_exam *exam, const vg_limits *before, const vg_limits *now)
{
    unsigned same = 0;
    pid_t one = 0;
    for (unsigned i = 0; i < now->ended_count; i++)
        for (unsigned k = 0; k < before->ended_count; k++)
            if (now->ended[i] == before->ended[k]) {
                same++;
                one = now->ended[i];
            }
    if (same == 1)
        vg_exam_note(exam, "Child process %d has ended, and nobody has waited for it (a zombie).", (int)one);
    else if (same > 1)
        vg_exam_note(exam, "%u%s child processes have ended, and nobody has waited for them (zombies; %d is one).",
                     same, same == sizeof now->ended / sizeof now->ended[0] ? " or more" : "", (int)one);
}

void vg_limits_begin(const vg_exam *exam, vg_limits *limits)
{
    char path[512], text[4096];
    memset(limits, 0, sizeof *limits);
    limits->at_ns = vg_now_ns();
    const pid_t pid = exam->processes[0].pid;
    find_ended(exam, limits);
    if (cgroup_path(pid, "cpu", path, sizeof path) && vg_proc_read(text, sizeof text, "%s/cpu.stat", path) > 0) {
        limits->known = true;
        limits->periods_throttled = word_in(text, "nr_throttled");
        limits->throttled_ns = word_in(text, "throttled_time") + word_in(text, "throttled_usec") * 1000;
    }
    if (cgroup_path(pid, "memory", path, sizeof path)) {
        if (vg_proc_read(text, sizeof text, "%s/memory.events", path) > 0)
            limits->memory_refused = word_in(text, "max") + word_in(text, "oom");
        else if (vg_proc_read(text, sizeof text, "%s/memory.failcnt", path) > 0)
            limits->memory_refused = strtoull(text, NULL, 10);
    }
}

static void judge_descriptors(vg_exam *exam)
{
    char text[8192];
    const pid_t pid = exam->processes[0].pid;
    if (vg_proc_read(text, sizeof text, "/proc/%d/limits", (int)pid) <= 0)
        return;
    const char *line = strstr(text, "Max open files");
    const uint64_t most = line != NULL ? strtoull(line + 14, NULL, 10) : 0;
    pid_t *fds;
    const int count = vg_proc_numbers(&fds, "/proc/%d/fd", (int)pid);
    free(fds);
    if (most > 0 && count > 0 && (uint64_t)count >= most) {
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_DESCRIPTORS, true);
        (void)snprintf(f->title, sizeof f->title,
                       "Process %d has used up its descriptors: %d are open, and %" PRIu64 " may be.", (int)pid, count,
                       most);
        (void)snprintf(
            f->advice, sizeof f->advice,
            "ls -l /proc/%d/fd shows what they are: mostly one kind means that it is never closed. accept and open "
            "fail with EMFILE until one is. prlimit --pid %d --nofile=N raises the limit.",
            (int)pid, (int)pid);
    }
    line = strstr(text, "Max address space");
    const uint64_t space = line != NULL ? strtoull(line + 17, NULL, 10) : 0;
    (void)vg_proc_read(text, sizeof text, "/proc/%d/status", (int)pid);
    const uint64_t used = vg_proc_field(text, "VmSize", 10, 0) * 1024;
    if (space > 0 && used >= space / 100 * 98) {
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_MEMORY, true);
        (void)snprintf(f->title, sizeof f->title,
                       "Process %d has used up its address space: %" PRIu64 " of %" PRIu64 " MiB.", (int)pid,
                       used >> 20, space >> 20);
        (void)snprintf(f->advice, sizeof f->advice,
                       "malloc, mmap and new threads fail. prlimit --pid %d --as=N raises the limit.", (int)pid);
    }
}

static void judge_threads(vg_exam *exam)
{
    char path[512], most[64], now[64];
    const pid_t pid = exam->processes[0].pid;
    if (!cgroup_path(pid, "pids", path, sizeof path) || vg_proc_read(most, sizeof most, "%s/pids.max", path) <= 0 ||
        vg_proc_read(now, sizeof now, "%s/pids.current", path) <= 0 || most[0] == 'm')
        return;
    const uint64_t limit = strtoull(most, NULL, 10), used = strtoull(now, NULL, 10);
    if (used < limit)
        return;
    vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_THREADS, true);
    (void)snprintf(f->title, sizeof f->title,
                   "The cgroup of process %d may have no more threads: %" PRIu64 " of %" PRIu64 " exist.", (int)pid,
                   used, limit);
    (void)snprintf(
        f->advice, sizeof f->advice,
        "pthread_create and fork fail with EAGAIN. Raise pids.max, or find what starts threads without end.");
}

void vg_limits_judge(vg_exam *exam, const vg_limits *before)
{
    vg_limits now;
    if (exam->core != NULL || exam->processes[0].gone)
        return;
    vg_limits_begin(exam, &now);
    const int pid = (int)exam->processes[0].pid;
    const uint64_t span = now.at_ns - before->at_ns, held = now.throttled_ns - before->throttled_ns;
    if (now.known && before->known && now.periods_throttled > before->periods_throttled && span > 0 &&
        held > span / 5) {
        drop_starved(exam);
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_THROTTLED, true);
        (void)snprintf(
            f->title, sizeof f->title,
            "Process %d is throttled: its cgroup has used its share of the processors, and was held back in %" PRIu64
            " periods during the looks.",
            pid, now.periods_throttled - before->periods_throttled);
        (void)snprintf(f->advice, sizeof f->advice,
                       "Raise cpu.max (cpu.cfs_quota_us), the container's limit of processors, or use fewer threads.");
    }
    if (now.memory_refused > before->memory_refused && memory_is_full(exam->processes[0].pid)) {
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_MEMORY, true);
        (void)snprintf(f->title, sizeof f->title,
                       "The cgroup of process %d is at its limit of memory: it was hit %" PRIu64
                       " times during the looks.",
                       pid, now.memory_refused - before->memory_refused);
        (void)snprintf(f->advice, sizeof f->advice,
                       "Threads wait for memory to be freed, and may be killed. Raise memory.max, or use less.");
    }
    judge_ended(exam, before, &now);
    judge_descriptors(exam);
    judge_threads(exam);
    judge_frozen_group(exam);
}
