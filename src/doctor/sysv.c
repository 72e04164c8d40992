/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sysv.h"
#include "memory.h"
#include "procfs.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/sem.h>

enum {
    STEPS_MOST = 64 /* of one call that are looked at */
};

/* Numbers of semaphores mean something in their own namespace alone. */
static bool has_our_names(pid_t pid)
{
    char its[64], ours[64];
    return vg_proc_link(its, sizeof its, "/proc/%d/ns/ipc", (int)pid) > 0 &&
           vg_proc_link(ours, sizeof ours, "/proc/self/ns/ipc") > 0 && strcmp(its, ours) == 0;
}

static void add_last(const vg_exam_thread *thread, const vg_exam *exam, int set, unsigned number, char *text,
                     size_t room)
{
    const size_t length = strlen(text);
    const int last = semctl(set, (int)number, GETPID);
    char raw[64], name[64];
    if (last <= 0)
        return;
    if (last == exam->processes[thread->process].pid)
        (void)snprintf(text + length, room - length, "; this process itself changed it last");
    else if (vg_proc_read(raw, sizeof raw, "/proc/%d/comm", last) <= 0)
        (void)snprintf(text + length, room - length, "; process %d changed it last, and has ended", last);
    else {
        vg_text_copy(name, sizeof name, raw, strcspn(raw, "\n"), false);
        (void)snprintf(text + length, room - length, "; process %d (%s) changed it last", last, name);
    }
}

bool vg_sysv_semaphore(const vg_exam *exam, const vg_exam_thread *thread, char *text, size_t room)
{
    struct sembuf steps[STEPS_MOST];
    const uint64_t count = thread->arg[2];
    const int set = (int)thread->arg[0];
    if (count == 0 || count > STEPS_MOST || !has_our_names(exam->processes[thread->process].pid) ||
        !vg_memory_read(exam, thread->process, thread->arg[1], steps, count * sizeof *steps))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const int value = semctl(set, steps[i].sem_num, GETVAL);
        if (value < 0)
            return false; /* we may not, or it is gone */
        if (steps[i].sem_op > 0 || (steps[i].sem_op < 0 ? value >= -steps[i].sem_op : value == 0))
            continue;
        (void)snprintf(text, room, "the System V semaphore %u of set %d: it is %d and has to be %s%d",
                       (unsigned)steps[i].sem_num, set, value, steps[i].sem_op < 0 ? "at least " : "",
                       -steps[i].sem_op);
        add_last(thread, exam, set, steps[i].sem_num, text, room);
        return true;
    }
    return false;
}
